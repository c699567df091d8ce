// SPDX-License-Identifier: MIT
/* Private to the room: functions as call frame information describes them. */
#ifndef HEADROOM_BINARY_RANGES_H
#define HEADROOM_BINARY_RANGES_H

#include "binary/cfi.h"
#include "binary/image.h"
#include "binary/intervals.h"
#include "binary/rows.h"

/* Adds the range of each function, and sorts. BASE_NOT_FOUND: no such information; BASE_NO_MEMORY. */
enum base_status ranges_load(Elf *elf, struct intervals *ranges);

/* What holds where, of all code; freed with rows_free. BASE_NOT_FOUND, BASE_NO_MEMORY. */
enum base_status frames_load(Elf *elf, struct rows *rows);

/* Hands out each entry; false stops. BASE_NOT_FOUND, BASE_NO_MEMORY. */
enum base_status ranges_visit(Elf *elf, bool (*visit)(void *context, const struct cfi_entry *entry),
                              void *context);

#endif
