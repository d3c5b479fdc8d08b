/* ways.h - every way in which the engine runs a model, as a table. A new way of running is a new row. */
#ifndef MDF_TESTS_RANDOM_WAYS_H
#define MDF_TESTS_RANDOM_WAYS_H

#include "tests/random/case.h"
#include "tests/random/trace.h"

struct ways {
    const struct random_case *what;
    struct mdf_memory *memory;
    const char *folder; /* for files of converted models and compiled source */
    mdf_model *model;
    mdf_program *program; /* with the options of random_options; NULL: `error` says why there is none */
    mdf_error error;
    struct trace *own_reference; /* where a way that is held against another reference than the first way writes it */
};

enum random_way_flags {
    WAY_OF_LAST_STEPS = 1,  /* looks at the last step of each phase only */
    WAY_KEEPS_NOTHING = 2,  /* for models only that keep nothing from one evaluation to the next */
    WAY_IS_COMPILED = 4,    /* by C source: where that has a form for the model, and only where it is asked for */
    WAY_HAS_REFERENCE = 8   /* writes its own reference too */
};

struct random_way {
    const char *name;
    unsigned flags; /* enum random_way_flags */
    /* Runs the case. False: this way is not there for it. */
    bool (*run)(struct ways *ways, struct trace *trace);
};

/* The first is the reference; ends with a row without a name. */
extern const struct random_way random_ways[];

/* The method of the case, and the bounds of all ways: an endless model ends alike by each. */
mdf_options random_options(const struct random_case *what);

/* A state that a library solves can not be copied. */
bool random_is_solved_by_library(const struct random_case *what);

/* Sets the inputs of a phase. */
mdf_status random_set_inputs(const struct random_phase *phase, mdf_state *state, mdf_error *error);

/* sweep_way.c */
bool random_run_sweep(struct ways *ways, struct trace *trace);

/* A lowered form that the verifier refused costs only time, and so would not be seen: it is written as an error. */
void random_check_sound(const mdf_state *state, struct trace *trace);

/* series_way.c */
bool random_run_series(struct ways *ways, struct trace *trace);

/* mixed_way.c */
bool random_run_mixed(struct ways *ways, struct trace *trace);

/* compiled_way.c */
bool random_run_compiled(struct ways *ways, struct trace *trace);

#endif
