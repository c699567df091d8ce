// SPDX-License-Identifier: MIT
/*
 * Was a unit compiled without optimization? gcc says so in DW_AT_producer, as does Go's compiler. LLVM does not. What
 * shows there is where parameters are: without optimization each has a place in the stack frame for all of the function;
 * with any, some are in registers, or nowhere.
 */
#include "binary/units.h"

#include <dwarf.h>
#include <string.h>

enum { FUNCTIONS_MAX = 64, PARAMETERS_MAX = 16 };

static const char *producer_of(const struct unit *unit)
{
    Dwarf_Attribute found;
    const char *text =
        dwarf_formstring(dwarf_attr((Dwarf_Die *)&unit->tree, DW_AT_producer, &found));
    if (!text)
        text = dwarf_formstring(dwarf_attr((Dwarf_Die *)&unit->die, DW_AT_producer, &found));
    return text ? text : "";
}

/* The last of several options counts; -O alone is -O1. */
static bool options_optimize(const char *options)
{
    bool optimizes = false;
    for (const char *at = strstr(options, " -O"); at; at = strstr(at + 1, " -O"))
        optimizes = at[3] != '0' || (at[4] && at[4] != ' ');
    return optimizes;
}

/* A place relative to the frame, throughout the function. */
static bool is_in_frame(Dwarf_Die *parameter)
{
    Dwarf_Attribute found;
    Dwarf_Op *operations;
    size_t count;
    if (!dwarf_attr(parameter, DW_AT_location, &found) ||
        (dwarf_whatform(&found) != DW_FORM_exprloc && dwarf_whatform(&found) != DW_FORM_block1))
        return false;
    return dwarf_getlocation(&found, &operations, &count) == 0 && count == 1 &&
           operations[0].atom == DW_OP_fbreg;
}

static bool has_name(Dwarf_Die *parameter)
{
    Dwarf_Attribute found;
    return dwarf_attr_integrate(parameter, DW_AT_name, &found) != NULL;
}

/* False: some are not in the frame, or nowhere. */
static bool look_at_parameters(Dwarf_Die *function, bool *any)
{
    Dwarf_Die die;
    int status = dwarf_child(function, &die);
    for (unsigned i = 0; status == 0 && i < PARAMETERS_MAX; i++) {
        if (dwarf_tag(&die) == DW_TAG_formal_parameter && has_name(&die)) {
            if (!is_in_frame(&die))
                return false;
            *any = true;
        }
        status = dwarf_siblingof(&die, &die);
    }
    return true;
}

static bool parameters_stay(const struct unit *unit)
{
    bool any = false;
    for (size_t i = 0; i < unit->die_count && i < FUNCTIONS_MAX; i++) {
        Dwarf_Die function = unit->dies[i];
        if (!look_at_parameters(&function, &any))
            return false;
    }
    return any;
}

static bool is_unoptimized(const struct unit *unit)
{
    const char *producer = producer_of(unit);
    if (strncmp(producer, "GNU AS", 6) == 0)
        return false;
    if (strncmp(producer, "Go cmd", 6) == 0)
        return strstr(producer, " -N") != NULL;
    if (strncmp(producer, "GNU ", 4) == 0 && strstr(producer, " -"))
        return !options_optimize(producer);
    return parameters_stay(unit);
}

bool unit_unoptimized(struct unit *unit)
{
    if (!unit->judged)
        unit->unoptimized = is_unoptimized(unit);
    unit->judged = true;
    return unit->unoptimized;
}
