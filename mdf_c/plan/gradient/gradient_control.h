/* gradient_control.h - what the files share that derive calls with bodies: gradient_body.c compiles bodies once more,
 * gradient_control.c says what changes smoothly through them, and goes through If, gradient_loop.c through Scan and Loop,
 * gradient_kept.c finds what a loop keeps for its way back, gradient_sums.c sums products over iterations. */
#ifndef MDF_PLAN_GRADIENT_GRADIENT_CONTROL_H
#define MDF_PLAN_GRADIENT_GRADIENT_CONTROL_H

#include "mdf_c/plan/gradient/gradient.h"

enum {
    GRADIENT_ITERATION,
    GRADIENT_CONDITION,
    GRADIENT_FIRST_STATE, /* of a Loop's formals */
    GRADIENT_FIRST_YIELD = 1,
    GRADIENT_FIRST_SCAN = 9 /* the version of Scan that has no batch */
};

/* The row of the Scan that ways back are written with. */
const struct mdf_operator *gradient_scan_row(void);

/* A body once more. */
struct derived_body {
    const struct mdf_code *code;
    struct unit unit;
    struct gradient gradient; /* in that unit */
};

/* A call with bodies. */
struct control {
    size_t at;   /* its instruction */
    size_t call; /* the call that computes its value; another one where the instruction is run again */
    struct derived_body *bodies;
    size_t n_bodies;
    size_t first_formal, first_yield, n_states, n_scan_inputs; /* of Scan and Loop */
    bool *state_is_active;
    bool *state_is_reached; /* a gradient comes to what it is next */
};

/* A body of the calls that are made here. */
struct new_body {
    struct derived_body *body;
    struct list formals, yields; /* mdf_operand, of its unit */
};

/* The Scan that goes backward. */
struct backward {
    struct gradient *gradient;
    struct control *control;
    const struct mdf_code_call *call; /* that it goes through */
    struct new_body made;
    struct list states, scanned;             /* mdf_operand: its inputs */
    struct list receivers, scan_receivers;   /* mdf_operand: whose gradients its outputs are; MDF_NO_OPERAND: a stack for later */
    struct list state_yields, scan_yields;   /* mdf_operand, of its body */
    struct list state_formals, scan_formals; /* the same */
    struct list axes, directions;            /* int64_t: of what is scanned */
    struct list output_axes, output_directions;
    const mdf_operand *stacks; /* of each scan yield, once the Scan is there */
};

/* --- gradient_body.c */
bool gradient_out_of_memory(struct gradient *gradient);
/* NULL: with the error set. */
void *gradient_new_array(struct gradient *gradient, size_t n, size_t size);
bool gradient_add_items(struct compiler *compiler, struct list *list, const void *items, size_t n, size_t size);
/* Begins to derive a body, of which `formals` change smoothly, and captures as the unit around has it. */
bool gradient_begin_body(struct gradient *outer, struct derived_body *body, const bool *formals);
void gradient_end_body(struct derived_body *body);
bool gradient_yield_is_active(struct derived_body *body, size_t yield);
/* The error of a body that draws random numbers, which can not be drawn again. */
bool gradient_refuse_draw(struct gradient *gradient, const struct mdf_operator *draw);
/* Hands the gradient of a yield, an operand of the body's unit, back to what the body takes. */
bool gradient_seed(struct derived_body *body, size_t yield, mdf_operand part);
/* Adds the finished body to the unit around it; its number there goes to `index`. */
bool gradient_finish_body(struct gradient *gradient, struct new_body *made, uint32_t *index);
/* Emits a call of n_bodies bodies; its outputs, n of them, are new. */
bool gradient_emit(struct gradient *gradient, const struct mdf_operator *row, const void *settings, const struct list *inputs,
                   const uint32_t *bodies, size_t n_bodies, mdf_operand *outputs, size_t n);

/* --- gradient_control.c */
bool gradient_is_loop(const struct mdf_code_call *call);
/* But for those of version 8. */
bool gradient_is_scan(const struct mdf_code_call *call);

/* --- gradient_loop.c */
bool gradient_hand_back_loop(struct gradient *gradient, struct control *control, const struct mdf_code_call *call);
/* One more array to scan, its items as `formal` of the body. */
bool gradient_scan(struct backward *backward, mdf_operand whole, mdf_operand formal, int64_t axis, int64_t direction);
/* One more value to stack: `receiver` gets its gradient from that, or nobody. */
bool gradient_stack(struct backward *backward, mdf_operand yield, mdf_operand receiver, int64_t axis, int64_t direction);
struct mdf_ints *gradient_ints(const struct mdf_operator *row, void *settings, const char *name);
/* New settings, those of a call or empty. */
void *gradient_copy_settings(struct gradient *gradient, const struct mdf_operator *row, const void *settings);

/* --- gradient_reached.c */
/* Finds which states of a loop get gradients, from those of its outputs. */
void gradient_find_reached(struct gradient *gradient, struct control *control, const struct mdf_code_call *call);

/* --- gradient_kept.c */
/* Finds which values of the body have one shape in all iterations. */
void gradient_find_stable(struct backward *backward);
/* Has the loop keep what its way back needs and would be dear to compute again; takes out of the body what nobody needs. */
bool gradient_keep(struct backward *backward);

/* --- gradient_sums.c */
/* Has the Scan stack what the products are made of. */
bool gradient_stack_products(struct backward *backward);
/* Behind the Scan: hands the captures what the products sum up to. */
bool gradient_sum_products(struct backward *backward);

#endif
