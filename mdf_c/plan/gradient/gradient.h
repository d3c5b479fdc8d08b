/* gradient.h - what the files that derive share: gradient.c finds the instructions between x and y, gradient_rules.c hands
 * gradients back through them, gradient_regions.c through what jumps choose, gradient_control.c through calls with bodies. */
#ifndef MDF_PLAN_GRADIENT_GRADIENT_H
#define MDF_PLAN_GRADIENT_GRADIENT_H

#include "functions/kernel/derivatives.h"
#include "mdf_c/plan/compiler.h"

/* What is known of an operand that was there before. */
struct track {
    mdf_operand value;    /* what stands in its place */
    mdf_operand gradient; /* MDF_NO_OPERAND: none so far */
    unsigned n_writers;
    size_t first_writer, last_writer;   /* instructions; of an operand that none writes nothing */
    bool is_needed;                     /* y depends on it */
    bool is_active;                     /* it changes smoothly with an x */
    bool is_given;                      /* an x or z: what computes it does not matter */
    bool is_reached;                    /* a gradient comes to it (gradient_reached.c) */
    bool is_same, is_stable, is_number; /* in a loop (gradient_kept.c): the same in all iterations; of one type and shape; made of
                                           the iteration's number */
};

/* In a body that is iterated: a product by a captured matrix. Its gradient is the sum of products of these two over all
 * iterations. */
struct product {
    size_t capture;
    bool is_behind; /* the matrix stands behind the factor */
    mdf_operand factor, gradient;
};

/* What is needed of a value. */
enum gradient_reading { GRADIENT_UNREAD, GRADIENT_FORM, GRADIENT_VALUE };

/* The way from what changes to what depends on it, in one unit. */
struct gradient {
    struct target *target, own_target; /* of a body that is derived: its own */
    struct compiler *compiler;
    struct unit *unit;
    size_t first[3]; /* of the tracks of slots, constants, captures */
    struct track *tracks;
    size_t n_tracks;
    size_t first_instruction, n_instructions; /* instructions [first_instruction, n_instructions) are what is derived */
    bool *is_taped;                           /* of each instruction: its results change smoothly with an x */
    bool *is_repeated;                        /* the same: it is run for each item of something */
    size_t *outermost;                        /* the same: where what it stands in begins, that nothing else chooses */
    size_t counted;                           /* the instruction whose outputs are counted */
    struct list controls;                     /* struct control *: those with bodies among them */
    struct collection *collection;            /* see gradient_regions.c */
    mdf_operand looked_for;                   /* by gradient_is_looked_for */
    bool is_iterated;                         /* it is the body of a Scan or Loop */
    bool has_reached;                         /* something new (gradient_reached.c) */
    size_t n_regions;                         /* that are being gone through */
    struct list products;                     /* struct product */
    enum gradient_reading *readings, reading; /* of each slot; what a visitor notes (gradient_kept.c) */
};

typedef bool (*gradient_visitor)(struct gradient *gradient, mdf_operand operand);

/* --- gradient.c */
struct track *gradient_track(struct gradient *gradient, mdf_operand operand);
const struct mdf_code_call *gradient_call(const struct gradient *gradient, const struct mdf_instruction *instruction);
/* Whether an input of a call holds no real numbers, as the operator has it. */
bool gradient_is_whole(const struct mdf_code_call *call, size_t input);
/* The error that an instruction has no derivative, at its place or, where an operator of the model asks for it, at that; always
 * false. */
bool gradient_refuse(struct gradient *gradient, const struct mdf_instruction *instruction, const char *format, ...)
    MDF_PRINTF_LIKE(3, 4);
/* Calls `visit` with each operand that an instruction reads, or writes, until it returns true; whether it did. */
bool gradient_any_input(struct gradient *gradient, const struct mdf_instruction *instruction, gradient_visitor visit);
bool gradient_any_output(struct gradient *gradient, const struct mdf_instruction *instruction, gradient_visitor visit);
/* A visitor: whether it is gradient->looked_for. */
bool gradient_is_looked_for(struct gradient *gradient, mdf_operand operand);
/* A visitor: whether what the operand holds matters. */
bool gradient_is_needed(struct gradient *gradient, mdf_operand operand);
/* The error of an instruction that gradients can not be handed back through. */
bool gradient_refuse_change(struct gradient *gradient, const struct mdf_instruction *instruction);
/* Tracks of all operands that are there. */
bool gradient_make_tracks(struct gradient *gradient);
/* The instructions between what is active and the values `ys`. */
bool gradient_make_tape(struct gradient *gradient, const mdf_operand *ys, size_t n);

/* --- gradient_rules.c */
/* Adds to the gradients of an instruction's inputs what those of its outputs hand back. */
bool gradient_hand_back(struct gradient *gradient, size_t instruction);
/* Adds to the gradient of an operand what a later one hands back, in its shape and type. */
bool gradient_add(struct gradient *gradient, mdf_operand operand, mdf_operand part);

/* The gradient of an operand, as it is now; zeros where nothing has been handed back to it. */
mdf_operand gradient_or_zeros(struct gradient *gradient, mdf_operand operand);
/* Zeros in the shape of a value. */
mdf_operand gradient_zeros_like(struct gradient *gradient, mdf_operand operand);

/* What a call takes out of a list, where that is made in the same run, of items that are known one by one; MDF_NO_OPERAND: it is
 * another call. */
mdf_operand gradient_find_item(struct gradient *gradient, const struct mdf_code_call *call);
/* Binds what the expressions of a call's operator can name (functions/kernel/derivatives.h), as far as `text` does: what nobody
 * reads is not made. */
bool gradient_bind_call(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call, const char *text);
/* Compiles one of them; `call` NULL: it is none of a call. */
mdf_operand gradient_compile_text(struct gradient *gradient, struct target *target, const struct mdf_code_call *call,
                                  const char *text);

/* --- gradient_meaning.c: the same for a call of an operator whose meaning is given by expressions. */
bool gradient_hand_back_meaning(struct gradient *gradient, const struct mdf_code_call *call);

/* --- gradient_regions.c */
/* The two arms of a conditional jump, of which the second may be empty; both go on at `end`. */
struct region {
    size_t at; /* the jump */
    size_t first_end, second, end;
};

/* Where what begins at an instruction ends: behind all that a jump chooses from, or that is gone through item by item. */
size_t gradient_end_of_instruction(const struct mdf_instruction *instructions, size_t at);
/* The arms of the jump at `at`. Where the first ends in a jump over the second, that is not a part of it. */
struct region gradient_find_region(struct unit *unit, size_t at);
/* Whether of two instructions at most one is run, as jumps choose. */
bool gradient_are_exclusive(struct gradient *gradient, size_t a, size_t b);
/* Marks the instructions that are run for each item of something. */
void gradient_find_repeated(struct gradient *gradient);
/* Finds, for each instruction, where the outermost region that it stands in begins; itself, where it stands in none. */
void gradient_find_outermost(struct gradient *gradient);
/* Whether the jump at `at` chooses something that matters by a value that has another in its place. */
bool gradient_chooses_replaced(struct gradient *gradient, size_t at);
/* The same of an instruction of the unit. */
size_t gradient_end_of(struct gradient *gradient, size_t at);
/* From the last instruction of a range to the first. */
bool gradient_hand_back_range(struct gradient *gradient, size_t first, size_t end);

/* --- gradient_kept.c: whether an operand of a body that is iterated has one type and shape in all iterations. */
bool gradient_is_stable(struct gradient *gradient, mdf_operand operand);

/* --- gradient_sums.c */
/* Whether input `input` of a call is a captured matrix whose gradient is summed up behind the loop. */
bool gradient_is_product(struct gradient *gradient, const struct mdf_code_call *call, size_t input);
bool gradient_add_product(struct gradient *gradient, const struct mdf_code_call *call, size_t input);

/* --- custom_call.c: the same for a call of a registered function that has a derivative. */
bool gradient_hand_back_custom(struct gradient *gradient, const struct mdf_code_call *call);

/* --- gradient_draws.c */
bool gradient_is_draw(const struct mdf_code_call *call);
bool gradient_is_mark(const struct mdf_code_call *call);
bool gradient_goes_back(const struct mdf_code_call *call);
/* What a call draws random numbers by, itself or in its bodies; NULL: it does not. */
const struct mdf_operator *gradient_find_draw(const struct mdf_code_call *call, struct mdf_code *const *bodies);
/* Puts marks into the code from `first` on, and into its bodies. */
bool gradient_mark_draws(struct target *target, size_t first);
/* Whether there are any. */
bool gradient_has_marks(struct target *target, size_t first);
/* A mark of where the generators are now, for draws by code from `first` on; MDF_NO_OPERAND with the error set. */
mdf_operand gradient_emit_mark(struct target *target, size_t first);
/* The generators go back to a mark. */
bool gradient_emit_return(struct target *target, mdf_operand mark);
/* The mark in front of an instruction; MDF_NO_OPERAND: there is none. */
mdf_operand gradient_mark_before(struct gradient *gradient, size_t at);

/* --- gradient_control.c */
/* Whether there are derivatives through a call with bodies. */
bool gradient_can_go_through(const struct mdf_code_call *call);
/* Marks the outputs of such a call that change smoothly; *is_smooth: some do. */
bool gradient_follow_control(struct gradient *gradient, size_t instruction, bool *is_smooth);
/* Its value is computed by another call of the unit. */
void gradient_run_elsewhere(struct gradient *gradient, size_t instruction, size_t call);
/* Gives a call its own bodies, whose captures are what is in the places of them. */
bool gradient_copy_bodies(struct gradient *gradient, struct mdf_code_call *call);
bool gradient_hand_back_control(struct gradient *gradient, size_t instruction);
/* Lets go of what bodies hold. */
void gradient_clear(struct gradient *gradient);

#endif
