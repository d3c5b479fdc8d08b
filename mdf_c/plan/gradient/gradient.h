/* gradient.h - what the two files that derive share: gradient.c finds the instructions between x and y, gradient_rules.c hands
 * gradients back through them. */
#ifndef MDF_PLAN_GRADIENT_GRADIENT_H
#define MDF_PLAN_GRADIENT_GRADIENT_H

#include "functions/kernel/derivatives.h"
#include "mdf_c/plan/compiler.h"

/* What is known of an operand that was there before. */
struct track {
    mdf_operand value;    /* what stands in its place */
    mdf_operand gradient; /* MDF_NO_OPERAND: none so far */
    unsigned n_writers;
    bool is_needed; /* y depends on it */
    bool is_active; /* it changes smoothly with an x */
    bool is_given;  /* an x or z: what computes it does not matter */
};

struct gradient {
    struct target *target;
    struct compiler *compiler;
    struct unit *unit;
    size_t first[3]; /* of the tracks of slots, constants, captures */
    struct track *tracks;
    size_t n_instructions; /* before this */
    struct list tape;      /* size_t: instructions whose results change smoothly with an x, in order */
};

/* --- gradient.c */
struct track *gradient_track(struct gradient *gradient, mdf_operand operand);
const struct mdf_code_call *gradient_call(const struct gradient *gradient, const struct mdf_instruction *instruction);
/* Whether an input of a call holds no real numbers, as the operator has it. */
bool gradient_is_whole(const struct mdf_code_call *call, size_t input);
/* Where an instruction stands in the model. */
const char *gradient_place(const struct gradient *gradient, const struct mdf_instruction *instruction);

/* --- gradient_rules.c */
/* Adds to the gradients of an instruction's inputs what those of its outputs hand back. */
bool gradient_hand_back(struct gradient *gradient, size_t instruction);
/* Adds to the gradient of an operand what a later one hands back, in its shape and type. */
bool gradient_add(struct gradient *gradient, mdf_operand operand, mdf_operand part);

/* --- custom_call.c: the same for a call of a registered function that has a derivative. */
bool gradient_hand_back_custom(struct gradient *gradient, const struct mdf_code_call *call);

#endif
