// SPDX-License-Identifier: MIT
/* Fuzzes machine models: what is read is sound, and the same when it is written and read again. */
#include "model/model.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct model *model)
{
    const struct model_machine *machine = model_machine(model);
    for (size_t i = 0; i < model_count(model); i++) {
        const char *key;
        const struct model_figures *figures = model_at(model, i, &key);
        require(model_find(model, key, strlen(key)) == figures);
        for (size_t u = 0; u < figures->use_count; u++)
            require(figures->uses[u].units && (machine->unit_count == 64 ||
                                               !(figures->uses[u].units >> machine->unit_count)));
        for (size_t u = 0; u < figures->busy_count; u++)
            require(figures->busy[u].unit < machine->unit_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model *model = NULL, *again = NULL;
    struct util_text text = {0}, second = {0};
    if (model_read((const char *)data, size, &model, NULL) != BASE_OK)
        return 0;
    look_at(model);
    require(model_write(model, &text));
    require(model_read(text.bytes, text.count, &again, NULL) == BASE_OK);
    require(model_write(again, &second));
    /* Once more: figures that were different and are equal when rounded became one. */
    model_close(again);
    util_text_free(&text);
    require(model_read(second.bytes, second.count, &again, NULL) == BASE_OK);
    require(model_write(again, &text));
    require(text.count == second.count && !memcmp(text.bytes, second.bytes, text.count));
    util_text_free(&text);
    util_text_free(&second);
    model_close(model);
    model_close(again);
    return 0;
}
