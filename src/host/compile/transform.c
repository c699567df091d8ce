// SPDX-License-Identifier: MIT
/* From assembly to assembly. */
#include "compile/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The object that the labelled text is assembled to. */
static enum base_status assemble(const struct compile_transform *transform,
                                 const struct asm_file *file, char **object, size_t *bytes)
{
    enum base_status status = BASE_IO;
    int text = compile_memory_file("headroom-labelled"),
        made = compile_memory_file("headroom-object");
    FILE *out = text >= 0 ? fdopen(dup(text), "w") : NULL;
    if (!out || made < 0)
        goto done;
    asm_print_labelled(file, out);
    bool written = fflush(out) == 0 && !ferror(out);
    fclose(out);
    if (!written)
        goto done;
    status = BASE_UNSUPPORTED;
    if (!transform->assemble(transform->context, text, made))
        goto done;
    *object = compile_read(made, bytes);
    status = *object ? BASE_OK : BASE_IO;
done:
    if (text >= 0)
        close(text);
    if (made >= 0)
        close(made);
    return status;
}

static enum base_status rewrite(const struct compile_transform *transform, struct asm_file *file,
                                struct instrument_counts *counts)
{
    char *object = NULL;
    size_t bytes = 0;
    enum base_status status = assemble(transform, file, &object, &bytes);
    if (status == BASE_OK)
        status = asm_decode(file, (const uint8_t *)object, bytes);
    if (status == BASE_OK)
        status = instrument_file(file, &transform->options, counts);
    free(object);
    return status;
}

enum base_status compile_transform(const struct compile_transform *transform, const char *text,
                                   size_t bytes, FILE *out, struct instrument_counts *counts)
{
    struct asm_file *file = NULL;
    enum base_status status = asm_parse(text, bytes, &file);
    if (status == BASE_OK && transform->options.modes)
        status = rewrite(transform, file, counts);
    if (status == BASE_OK) {
        asm_print(file, out);
        if (fflush(out) != 0 || ferror(out))
            status = BASE_IO;
    }
    asm_free(file);
    return status;
}
