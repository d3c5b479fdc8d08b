/* sweep_file.h - the file of mdf-run --sweep: what is swept, what is given, how far, what is recorded. See docs/sweeps.md. */
#ifndef MDF_CLI_SWEEP_SWEEP_FILE_H
#define MDF_CLI_SWEEP_SWEEP_FILE_H

#include "mdf_c/base/arena.h"
#include "mdf_c/mdf.h"
#include "mdf_c/tensor/value.h"

/* Where something stands in the file; line 0: it does not. */
struct sweep_place {
    int line, column;
};

/* A name and an array of numbers. */
struct sweep_entry {
    const char *name;
    struct sweep_place place; /* of the name */
    struct mdf_value values;  /* swept: its first axis goes through the values; given by step: through the steps */
    bool is_drawn;            /* from `distribution` */
    mdf_distribution distribution;
    size_t axis; /* swept: of the instances */
};

/* An axis of the instances, of which the last changes fastest. */
struct sweep_axis {
    const char *name;
    size_t length;
};

/* What is told of many instances together. */
struct sweep_reduction {
    const char *name; /* of a port, or stopped_step, stopped_time; NULL: of all */
    mdf_sweep_reduction_kind kind;
    struct mdf_value points;  /* float64 */
    struct sweep_place place; /* of the name, or of what stands for all */
};

/* An axis that reductions go over. */
struct sweep_reduced_axis {
    const char *name;
    struct sweep_place place;
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
    double dt;          /* NaN: the file does not say */
    const char *record; /* NAME,NAME,...; NULL: the file does not say */
    struct sweep_place record_place, seeds_place, stop_when_place, inputs_place, every_place;
    struct mdf_value seeds; /* one number, or one an instance; NONE: the file does not say */
    const char *stop_when;  /* NULL: nothing */
    size_t n_trials;        /* of each combination of values; 0: one, and no axis of them */
    size_t n_samples;       /* of what is drawn; 0: the file does not say */
    mdf_sampling sampling;
    uint64_t sample_seed;
    struct sweep_axis *axes; /* all that is swept, in order */
    size_t n_axes, n_instances;
    struct sweep_reduction *reductions; /* none: values of each instance are told */
    size_t n_reductions;
    struct sweep_reduced_axis *reduced_axes; /* those that reductions go over; n_reduced_axes 0: all */
    size_t n_reduced_axes;
};

/* Reads the file. False with the error set; release it in either case. */
bool read_sweep_file(struct sweep_file *sweep, struct mdf_memory *memory, const char *path, const mdf_options *options,
                     mdf_error *error);
void release_sweep_file(struct sweep_file *sweep);
/* What `combine` says: "grid" or "zip". */
const char *sweep_combination(const struct sweep_file *sweep);

/* --- sweep_axes.c: once the file is read, what is drawn is, and the axes of the instances are found. False with the error set.
 */
bool make_sweep_axes(struct sweep_file *sweep, const char *path, mdf_error *error);

/* --- sweep_reduce_keys.c: the value of the key `reduce` */
struct mdf_document;
struct mdf_node;
bool read_sweep_reduce(struct sweep_file *sweep, const struct mdf_document *document, const struct mdf_node *node,
                       mdf_error *error);

/* --- sweep_values.c: the values of one name, as a list, an array, or {linspace: [...]} and the like */
bool read_sweep_values(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                       const char *name, struct mdf_value *values, mdf_error *error);
bool is_sweep_range(const struct mdf_node *node); /* {linspace: [...]} and the like */
/* {uniform: [0, 1]} and the like; *is_one: it is such an object. False with the error set. */
bool read_sweep_distribution(const struct mdf_document *document, const struct mdf_node *node, const char *name,
                             mdf_distribution *distribution, bool *is_one, mdf_error *error);

#endif
