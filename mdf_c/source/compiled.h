/* compiled.h - what a shared library made of a program's C source exports as `mdf_compiled`, when it is compiled with
 * -DMDF_COMPILED.
 *
 * The same declarations stand in the generated source (program_interface.c), which includes nothing of this project. */
#ifndef MDF_SOURCE_COMPILED_H
#define MDF_SOURCE_COMPILED_H

#include <stddef.h>
#include <stdint.h>

struct mdf_compiled_port {
    const char *node, *port; /* node NULL: an input of the graph that no port of a node takes */
    int dtype;               /* enum mdf_dtype */
    int is_sequence;         /* 1: a list of arrays, which are the rows of one of that shape */
    size_t rank;
    const int64_t *shape;
    size_t n_elements;
};

struct mdf_compiled {
    const char *version; /* MDF_VERSION of what wrote the source */
    size_t state_bytes;
    void (*init)(void *state);
    void (*seed)(void *state, uint64_t seed); /* random numbers begin from it; init: from 0 */
    size_t n_inputs;
    const struct mdf_compiled_port *inputs; /* program->ports */
    int (*set_input)(void *state, size_t input, const void *elements);
    int (*lend_input)(void *state, size_t input,
                      const void *elements); /* which stay until the step is done, outside of the state */
    int (*step)(void *state, double dt);     /* 0: done */
    int (*steps)(void *state, uint64_t n, double dt, uint64_t *n_done); /* n steps; 0: all are done */
    const char *(*message)(const void *state);
    size_t n_outputs;
    const struct mdf_compiled_port *outputs;                 /* of all nodes, in order */
    const void *(*output)(const void *state, size_t output); /* NULL: its node has not run */
    /* `observer` is told of each node that runs, and of each new set (node SIZE_MAX) with its pass and tick. */
    void (*observe)(void *state, void (*observer)(void *context, size_t node, uint64_t pass, int64_t tick), void *context);
};

#endif
