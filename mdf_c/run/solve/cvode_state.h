/* cvode_state.h - what the files share that solve by CVODE: solve_cvode.c goes on in time, cvode_events.c finds when conditions
 * act. */
#ifndef MDF_RUN_SOLVE_CVODE_STATE_H
#define MDF_RUN_SOLVE_CVODE_STATE_H

#include "mdf_c/run/solve/cvode_library.h"
#include "mdf_c/run/solve/solve.h"

/* Instructions of the program that compute something of each state from `y`. */
struct mdf_solve_part {
    struct mdf_fast fast;
    struct mdf_lowering_range range;
    struct mdf_lowering_request request;
    enum mdf_state_result first_result;
    size_t n_results;
};

/* Where elements of the states go: what code looks at, what nodes take next, weights of slopes, a direction. */
enum mdf_solve_place { MDF_SOLVE_Y, MDF_SOLVE_NEXT, MDF_SOLVE_WEIGHT, MDF_SOLVE_DIRECTION, MDF_SOLVE_N_PLACES };

/* The values of one parameter that is solved for: as its node has it; of these places, and what code makes of it. NULL: there is no
 * code that needs it. */
struct mdf_solve_state {
    struct mdf_value *node, *at[MDF_SOLVE_N_PLACES];
    const struct mdf_value *results[MDF_STATE_N_RESULTS];
};

/* One state of CVODE for each state of a program. */
struct mdf_solve {
    struct mdf_cvode_library library;
    SUNContext context;
    void *cvode;
    struct mdf_solve_state *states; /* of each of the solver's */
    N_Vector y;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    SUNNonlinearSolver nonlinear;
    size_t n_all, n;          /* elements of all states; of those that are not held, which come first */
    double *held;             /* the others */
    double *left;             /* the first, as the solver left them */
    struct mdf_value *inputs; /* of each of the solver's ports, when it began */
    double time;
    bool has_begun, is_lost; /* is_lost: code of the program failed, and the error is set */
    struct mdf_solve_part evaluate, condition, differentiate, along; /* the last: tangents of slopes and outputs */
    uint32_t *readers; /* of each slot: of what parts compute, their results are all that is looked at */

    /* The Jacobian, where there are derivatives: its band, weights of slopes, and gradients by the states; else NULL. */
    size_t lower, upper;
    double *weights, *gradient;

    /* Jumps of slopes, once an evaluation has taken many steps: cvode_jumps.c. */
    struct mdf_solve_watch {
        uint64_t n_steps;    /* of this evaluation */
        uint64_t n_before;   /* of those before it, as far back as each took many */
        bool is_on, has_last;
        double *last;        /* where slopes were looked at last, and these: 2n; then room for 4n */
        long n_failures;     /* of steps, then */
        int n_turns;         /* jumps that lead back */
    } watch;

    /* Derivatives by parameters: of all states by each of their elements. */
    N_Vector *sensitivities;
    SUNNonlinearSolver nonlinear_sensitivities;
    size_t n_parameters;

    /* Events; NULL where there are none. Of each element: */
    double *conditioned, *holds; /* what its conditions make of it, and whether one holds; one behind the other */
    unsigned char *waits;        /* enum wait */
    int *roots;                  /* one comes to hold */
    double *acted_at;            /* when one acted last */
    int *n_repeats;              /* how often in a row, so that time hardly went on */
    double event_time;           /* of the last event of all */
};

bool mdf_solve_fail(struct mdf_state *state, mdf_status status, const char *what);
bool mdf_solve_out_of_memory(struct mdf_state *state);
bool mdf_solve_end_by(struct mdf_state *state, enum mdf_solver_end end);
/* Its results at elements `y`: of all of them the first, then the next. False: the error is set. */
bool mdf_solve_run_part(struct mdf_state *state, struct mdf_solve_part *part, const double *y, double *results);

/* Of the first `n`, in `y`; of those behind, held. */
double *mdf_solve_element(const struct mdf_solve *solve, size_t i);

/* Sets the weights of slopes that code reads. False: the error is set. */
bool mdf_solve_set_weights(struct mdf_state *state);

/* --- solve_cvode.c */
bool mdf_solve_scatter(struct mdf_state *state, const double *elements, enum mdf_solve_place to);
/* Runs a part as it is; then takes a result of each state. */
bool mdf_solve_run(struct mdf_state *state, struct mdf_solve_part *part);
bool mdf_solve_take(struct mdf_state *state, enum mdf_state_result result, double *elements);
/* CVODE for states that are in their slots: *n elements. */
bool mdf_solve_make_for(struct mdf_state *state, size_t *n);
/* Without events. */
bool mdf_solve_go_to(struct mdf_state *state, double time);

/* --- cvode_sensitivities.c: an evaluation of a program of derivatives. */
bool mdf_solve_derive(struct mdf_state *state);
void mdf_solve_release_sensitivities(struct mdf_solve *solve);

/* --- cvode_jumps.c */
bool mdf_solve_make_watch(struct mdf_state *state);
void mdf_solve_release_watch(struct mdf_solve *solve, struct mdf_memory *memory);
/* An evaluation begins; what was before does not count any more. */
void mdf_solve_begin_watch(struct mdf_solve *solve);
void mdf_solve_end_watch(struct mdf_solve *solve);
/* Steps of CVODE to `time`, or to an event: what CVode returns; CV_TOO_MUCH_WORK: the limit of steps. */
int mdf_solve_steps(struct mdf_state *state, double time);
/* Slopes have been found at `y`. False: the error is set. */
bool mdf_solve_watch(struct mdf_state *state, const double *y, const double *slopes);

/* --- cvode_jacobian.c: the linear solver of BDF, with exact derivatives where there are some. */
bool mdf_solve_make_linear(struct mdf_state *state);
void mdf_solve_release_jacobian(struct mdf_solve *solve, struct mdf_memory *memory);

/* --- cvode_events.c. False: the error is set. */
bool mdf_solve_make_events(struct mdf_state *state);
void mdf_solve_release_events(struct mdf_solve *solve, struct mdf_memory *memory);
/* The solver begins at `y`, at first or again: conditions that hold at first wait until they do not; others act. */
bool mdf_solve_begin_events(struct mdf_state *state);
/* The solver is at an event: its conditions change `y`. The first step behind it is no longer than the next may be away. */
bool mdf_solve_act(struct mdf_state *state, double *first_step);
/* It is where it was to come. */
bool mdf_solve_end_events(struct mdf_state *state);

#endif
