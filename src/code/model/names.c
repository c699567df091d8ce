// SPDX-License-Identifier: MIT
/* Names of the machine's figures, and of where figures come from. */
#include "model/model.h"

static const struct {
    const char *name, *title;
} figures[MODEL_FIGURES] = {
    [MODEL_WIDTH] = {"width", "slots of the front end a cycle"},
    [MODEL_DECODERS] = {"decoders", "instructions decoded a cycle"},
    [MODEL_TAKEN] = {"taken", "taken branches a cycle"},
    [MODEL_NOT_TAKEN] = {"not-taken", "branches not taken a cycle"},
    [MODEL_LOADS] = {"loads", "loads a cycle"},
    [MODEL_LOADS_VECTOR] = {"loads-vector", "loads of the widest vectors a cycle"},
    [MODEL_STORES] = {"stores", "stores a cycle"},
    [MODEL_STORES_VECTOR] = {"stores-vector", "stores of the widest vectors a cycle"},
    [MODEL_ACCESSES] = {"accesses", "loads and stores together a cycle"},
    [MODEL_LOAD_LATENCY] = {"load-latency", "latency of a load"},
    [MODEL_LOAD_INDEXED] = {"load-indexed", "latency of a load with an index"},
    [MODEL_LOAD_VECTOR] = {"load-vector", "latency of a load of a vector"},
    [MODEL_FORWARD_GENERAL] = {"forward-general", "store to load, general registers"},
    [MODEL_FORWARD_LEAST] = {"forward-least", "store to load, general registers, at best"},
    [MODEL_FORWARD_VECTOR] = {"forward-vector", "store to load, vector registers"},
    [MODEL_FORWARD_FAILED] = {"forward-failed", "store to load that spans stores"},
    [MODEL_REORDER_BUFFER] = {"reorder-buffer", "slots of the reorder buffer"},
    [MODEL_LOOP_BUFFER] = {"loop-buffer", "slots of the loop buffer"},
    [MODEL_FETCH] = {"fetch", "bytes of code predecoded a cycle"},
    [MODEL_DECODED] = {"decoded", "slots from the decoded cache a cycle"},
    [MODEL_FORWARD_STACK] = {"forward-stack", "store to load on the stack"},
    [MODEL_STORE_BLOCK] = {"store-block", "bytes that stores of one cycle have to be in"},
    [MODEL_GENERAL_VECTOR] = {"general-vector", "general to vector register and back"},
};

const char *model_figure_name(enum model_figure_kind kind)
{
    return (size_t)kind < MODEL_FIGURES ? figures[kind].name : "";
}

const char *model_figure_title(enum model_figure_kind kind)
{
    return (size_t)kind < MODEL_FIGURES ? figures[kind].title : "";
}

const char *model_source_text(enum model_source source)
{
    static const char *const texts[MODEL_SOURCES] = {"unknown", "measured", "table", "overlay",
                                                     "derived"};
    return (size_t)source < MODEL_SOURCES ? texts[source] : "";
}
