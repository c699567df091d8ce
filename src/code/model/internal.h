// SPDX-License-Identifier: MIT
/* What the files of room model share: the model itself. */
#ifndef HEADROOM_MODEL_INTERNAL_H
#define HEADROOM_MODEL_INTERNAL_H

#include "model/model.h"

/* Figures are kept once for all forms that have equal ones: a table of 15,000 forms has some hundred. */
struct model {
    struct model_machine machine;
    struct util_strings keys;    /* forms, by number */
    struct util_strings texts;   /* names and reasons */
    struct util_strings reasons; /* number r of the interface: text r - 1 */
    uint32_t *figures_of;        /* by form: index into figures */
    size_t figures_of_count, figures_of_capacity;
    struct model_figures *figures;
    size_t figures_count, figures_capacity;
    struct util_index figures_index;
    uint32_t *order; /* forms in order of their keys, once sealed */
};

/* Made by embed.py of tables.txt: the machines in its order, what else each is called, all of it deflated. */
extern const struct model_entry model_entries[];
extern const char *const model_other_names[]; /* words, a blank before and behind each */
extern const size_t model_entry_count;
extern const size_t model_tables_bytes, model_tables_packed_bytes;
extern const unsigned char model_tables_packed[];

enum base_status model_open_table(const char *name, struct model **model, struct util_text *why);

#endif
