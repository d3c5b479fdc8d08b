/* sweep.h - thousands of runs of one program that differ in parameters, inputs and seeds. See mdf_sweep_options in mdf.h. */
#ifndef MDF_RUN_SWEEP_SWEEP_H
#define MDF_RUN_SWEEP_SWEEP_H

#include "mdf_c/run/state.h"
#include "mdf_c/run/sweep/reduction.h"

/* Values of a parameter, or of an input, found in the caller's array. */
struct mdf_swept_values {
    const char *name;
    mdf_dtype dtype;
    size_t rank;          /* of one value */
    const int64_t *shape; /* of one value */
    const char *data;
    size_t instance_bytes, step_bytes; /* from one instance, one step, to the next; 0: all have the same */
    /* Of values along an axis of the grid: instance i has number i / n_repeats % n_values; n_values 0: number i. */
    size_t n_repeats, n_values;
    bool is_typed;
    const size_t *ports; /* of the program that an input goes to */
    size_t n_ports;
};

/* A port that is recorded, and the form that all its values are brought into. */
struct mdf_swept_record {
    size_t node, output;
    mdf_dtype dtype; /* MDF_DTYPE_NONE: not known yet */
    size_t rank;
    const int64_t *shape;
    size_t n_elements, size_bytes;
    bool has_gaps;   /* the node had not run yet after some step, when the form was found */
    bool is_nothing; /* and not after any */
};

struct mdf_sweep_lanes;

struct mdf_sweep {
    struct mdf_memory memory;
    struct mdf_arena arena;
    const struct mdf_program *program;
    size_t n_instances, first_instance, n_rows;
    uint64_t n_steps, record_every, seed;
    double dt;
    const uint64_t *seeds; /* of each instance; NULL: from `seed` */
    struct mdf_swept_values *parameters, *inputs;
    size_t n_parameters, n_inputs;
    struct mdf_swept_record *records;
    size_t n_records;
    const size_t *grid; /* lengths of its axes; NULL: there is none */
    size_t n_grid;
    int64_t *stopped_steps; /* of each instance; NULL: not wanted */
    const bool *is_reduced; /* of each axis of the grid; NULL: all are */
    struct mdf_reduction_plan plan;
    const mdf_tensor *reduced_forms; /* of each reduction of the plan */
    struct mdf_reduced *reduced;     /* what has come of all instances so far; NULL: there are no reductions */
    int n_threads;
    size_t n_lanes;             /* so many instances are evaluated side by side; 1: one by one; 0, as at first: as many as pay */
    struct mdf_refusal refusal; /* why a thread had none, under the lock of its threads */
    bool has_lanes;             /* a thread had some */
    /* Called when all threads are done, of each that has lanes; NULL: nobody asks. */
    void (*look_at_lanes)(void *context, const struct mdf_sweep_lanes *lanes, const struct mdf_state *state);
    void *look_context;
    bool (*progress)(void *context, size_t n_done, size_t n_instances);
    void *progress_context;
    atomic_size_t n_done;
    atomic_bool interrupted, is_running;
    double end_s; /* of the evaluation under way, by mdf_clock_s; INFINITY: it has no time limit */
};

/* --- sweep.c */
/* What is evaluated from now on has the time that the program gives. */
void mdf_sweep_set_end(struct mdf_sweep *sweep);
struct mdf_sweep *mdf_sweep_create(const struct mdf_program *program, const mdf_sweep_options *options, mdf_error *error);
void mdf_sweep_release(struct mdf_sweep *sweep);

/* Where the rows of the instances from number `first` on go: arrays[record] is [instances, rows, shape of one value], and its
 * instance number first_row is the first of them; stopped_steps[0] is of the first of them. */
struct mdf_sweep_target {
    void *const *arrays;
    int64_t *stopped_steps;
    size_t first, first_row;
    uint64_t *at_once; /* steps that took a short time together, in instances before on this thread; 1 at first */
};

/* --- sweep_reduce.c: what is told of many instances together */
/* Finds out what is to be reduced, once the forms of the records are known. False with the error set. */
bool mdf_sweep_take_reductions(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error);
/* Whether a reduction looks at a record. */
bool mdf_sweep_reduces(const struct mdf_sweep *sweep, size_t record);
/* Instances that have been evaluated, and are reduced together: what each has is brought here. */
struct mdf_sweep_batch {
    size_t n, most;
    size_t *cells;    /* [most] that they belong to */
    int64_t *stopped; /* [most] see mdf_sweep_target */
    double *stopped_times;
    void **rows; /* [most, rows] of each record */
};
/* NULL with the error set. */
struct mdf_sweep_batch *mdf_sweep_batch_new(struct mdf_sweep *sweep, mdf_error *error);
void mdf_sweep_batch_free(struct mdf_sweep *sweep, struct mdf_sweep_batch *batch);
/* Brings an instance whose rows are in the target; those that are there are reduced when there is no more room, and when they are
 * to be. False: memory is refused. */
bool mdf_sweep_batch_add(const struct mdf_sweep *sweep, struct mdf_sweep_batch *batch, struct mdf_reduced *reduced,
                         const struct mdf_sweep_target *target, size_t instance);
bool mdf_sweep_batch_reduce(const struct mdf_sweep *sweep, struct mdf_sweep_batch *batch, struct mdf_reduced *reduced);
/* Rows of so many instances that nobody else keeps: an array for each record. NULL with the error set. */
void **mdf_sweep_new_rows(struct mdf_sweep *sweep, size_t n_instances, mdf_error *error);
void mdf_sweep_free_rows(struct mdf_sweep *sweep, void **rows);

/* --- sweep_instance.c: one instance on one state */
/* Evaluates instance number `instance` and writes its rows to the target. */
mdf_status mdf_sweep_run_instance(const struct mdf_sweep *sweep, struct mdf_state *state, size_t instance,
                                  const struct mdf_sweep_target *target, mdf_error *error);
/* The same of its first steps: n_steps, or up to the one after which it stopped. */
mdf_status mdf_sweep_begin_instance(const struct mdf_sweep *sweep, struct mdf_state *state, size_t number, uint64_t n_steps,
                                    const struct mdf_sweep_target *target, mdf_error *error);
/* Gives a state the values of an instance in a step, and takes its inputs: in the first step, before which it has been restarted,
 * parameters too. */
mdf_status mdf_sweep_give_values(const struct mdf_sweep *sweep, struct mdf_state *state, size_t number, uint64_t step);
/* The seed of an instance. */
uint64_t mdf_sweep_instance_seed(const struct mdf_sweep *sweep, size_t number);
/* Whether an input has other values in other steps. */
bool mdf_sweep_has_series(const struct mdf_sweep *sweep);
/* The same of one instance after the other. */
struct mdf_sweep_places {
    const struct mdf_swept_values *values;
    const char *at;       /* what the instance has */
    size_t n_left, place; /* of values along an axis: instances that have the same, the number of the value */
};
struct mdf_sweep_places mdf_sweep_places_of(const struct mdf_sweep *sweep, const struct mdf_swept_values *values, size_t number,
                                            uint64_t step);
static inline void mdf_sweep_next_place(struct mdf_sweep_places *places)
{
    const struct mdf_swept_values *values = places->values;

    if (values->n_values == 0) {
        places->at += values->instance_bytes;
    } else if (--places->n_left == 0) {
        bool is_last = ++places->place == values->n_values;

        places->n_left = values->n_repeats;
        places->at = is_last ? places->at - (values->n_values - 1) * values->instance_bytes : places->at + values->instance_bytes;
        places->place = is_last ? 0 : places->place;
    }
}
/* Writes a value of an instance as row number `row` of a record. */
/* Where it is written. */
static inline char *mdf_sweep_row_place(const struct mdf_sweep *sweep, const struct mdf_sweep_target *target, size_t number,
                                        size_t row, size_t record)
{
    size_t at = (number - target->first + target->first_row) * sweep->n_rows + row;

    return (char *)target->arrays[record] + at * sweep->records[record].size_bytes;
}
mdf_status mdf_sweep_write_row(const struct mdf_sweep *sweep, struct mdf_state *state, const struct mdf_sweep_target *target,
                               size_t number, size_t row, size_t record, const struct mdf_value *value);
bool mdf_sweep_is_recorded(const struct mdf_sweep *sweep, uint64_t step);
/* How many steps from number `step` on are not; the last step is not among them. */
uint64_t mdf_sweep_count_unseen(const struct mdf_sweep *sweep, uint64_t step);
/* So many instances are evaluated at most to find the forms of ports whose nodes did not run in the first one. */
enum { MDF_SWEEP_SHOWS_FORMS = 100 };

/* Evaluates the first instance to find the forms of the records that have none, and the next ones, where it does not show them.
 */
mdf_status mdf_sweep_find_forms(struct mdf_sweep *sweep, mdf_error *error);

/* What mdf_sweep_seed (mdf.h) says. */
uint64_t mdf_sweep_seed_of(uint64_t seed, uint64_t instance);

/* --- sweep_threads.c: all instances on several threads */
mdf_status mdf_sweep_run_all(struct mdf_sweep *sweep, void *const *arrays, mdf_error *error);

#endif
