/* sweep_file.h - the file of mdf-run --sweep: what is swept, what is given, how far, what is recorded. See docs/sweeps.md. */
#ifndef MDF_CLI_SWEEP_SWEEP_FILE_H
#define MDF_CLI_SWEEP_SWEEP_FILE_H

#include "mdf_c/base/arena.h"
#include "mdf_c/mdf.h"
#include "mdf_c/tensor/value.h"

/* A name and an array of numbers. */
struct sweep_entry {
    const char *name;
    struct mdf_value values; /* swept: its first axis goes through the values; given by step: through the steps */
};

struct sweep_file {
    struct mdf_memory *memory;
    struct mdf_arena arena;
    struct sweep_entry *swept, *given;
    size_t n_swept, n_given;
    bool is_grid; /* each value with each; else one by one */
    bool by_step; /* `given` has a value for each step */
    size_t n_given_steps;
    uint64_t n_steps, every; /* 0: the file does not say */
    bool has_every;
    double dt;              /* NaN: the file does not say */
    const char *record;     /* NAME,NAME,...; NULL: the file does not say */
    struct mdf_value seeds; /* one number, or one an instance; NONE: the file does not say */
};

/* Reads the file. False with the error set; release it in either case. */
bool read_sweep_file(struct sweep_file *sweep, struct mdf_memory *memory, const char *path, const mdf_options *options,
                     mdf_error *error);
void release_sweep_file(struct sweep_file *sweep);

/* --- sweep_values.c: the values of one name, as a list, an array, or {linspace: [...]} and the like */
struct mdf_document;
struct mdf_node;
bool read_sweep_values(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                       const char *name, struct mdf_value *values, mdf_error *error);

#endif
