/* trial.h - for the files that lower calls of kernels: one call, run once on examples. */
#ifndef MDF_LOWER_TRIAL_H
#define MDF_LOWER_TRIAL_H

#include "mdf_c/lower/lowering.h"

/* One call, its inputs as the kernel sees them, and what came of it. */
struct trial {
    const struct mdf_code_call *source;
    struct mdf_call call;
    size_t n;                    /* inputs */
    const mdf_lowered_id *items; /* the first inputs, where those of the source are a list; NULL: all are operands */
    size_t n_items;
    mdf_lowered_id *ids;
    mdf_lowered_id *forms; /* of inputs whose form alone counts, what they are; `ids` has a constant in their place; else NONE */
    const struct mdf_value **given, **effective;
    struct mdf_value *converted, *results, **outputs;
    const struct mdf_value **others; /* of inputs: another example; NULL: they have none */
    bool is_weak;
    bool is_open; /* an input is */
    struct mdf_elementwise_trace trace;
};

/* --- trial.c: room for a call's inputs and outputs; lets go of what they hold. */
bool lowering_begin_trial(struct lowering *lowering, struct trial *trial);
void lowering_end_trial(struct lowering *lowering, struct trial *trial);
/* Runs a call, whose operands are in `scope`, for which there is room. False: it failed. */
bool lowering_try(struct lowering *lowering, struct scope *scope, struct trial *trial);
/* Whether the inputs from number `first` on are constants, or not given. */
bool lowering_has_constants(const struct lowering *lowering, const struct trial *trial, size_t first);
/* lower_list.c: the array that a list makes which is constant, or whose items are known one by one; is_numpy: as strong
 * as numpy has it. NONE: there is none, or it failed. */
mdf_lowered_id lowering_make_array(struct lowering *lowering, mdf_lowered_id list, bool is_numpy);
/* lower_list.c: a call of a list whose items are known one by one becomes one of the items, where its row has that. False: it
 * failed.
 */
bool lowering_spread_list(struct lowering *lowering, struct scope *scope, struct trial *trial);
/* nests/lower_nest.c: whether a call folds its first input to the shape of its second, which is not declared whole. */
bool lowering_fits(const struct trial *trial);
/* lower_settled.c: for C source, inputs that say what shape the result has are constants from here on. False: it failed. */
bool lowering_settle_shapes(struct lowering *lowering, struct trial *trial);
/* The same of a call that has no form else: numbers that its function has to know, or that say where a move takes elements;
 * *taken: it is such a move. */
bool lowering_settle_rest(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);
/* One NEST, or several, for a call that is functions of elements, a fold, a product, or moves elements; *taken: there is such.
 * False: it failed. */
bool lowering_add_nest_of_call(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);
/* nests/lower_open_nest.c: a NEST with an open axis, or a view, for a call of which an operand is open; *taken: there is one. */
struct other_results;
bool lowering_open_nest(struct lowering *lowering, struct scope *scope, const struct trial *trial,
                        const struct other_results *others, bool *taken);
/* nests/lower_view.c: the place of element number `i` of a value of that shape, which has elements, in what it is a view of; of
 * all elements; whether whole numbers rise by one step along each dimension: then they are the places of a view. */
int64_t lowering_place_in_view(const struct lowering_view *view, const int64_t *shape, size_t rank, size_t i);
void lowering_number_places(const struct lowering_view *view, const int64_t *shape, size_t rank, int64_t *numbers);
bool lowering_find_strides(const struct mdf_value *numbered, struct lowering_view *view);
/* loops/lower_open_order.c: the open axis of a value that has one; MDF_INLINE_RANK: it has none, or several. Whether axes of
 * length 1 only are in front of it, so that no stride depends on its length. */
size_t lowering_open_axis(const struct mdf_lowered_value *value);
bool lowering_is_open_first(const struct mdf_lowered_value *value);
/* A copy of an array with an axis as the first. False: memory ran out. */
bool lowering_move_first(struct lowering *lowering, const struct mdf_value *value, size_t axis, struct mdf_value *moved);
/* By dimension of a value that is open along that axis, how far its elements lie from each other where that axis is the first. */
void lowering_strides_of_turned(const struct mdf_value *form, size_t axis, int64_t *strides);
/* What the model sees of a value that lies with its axis `axis` first: a call of the region, and a view. NONE on failure. */
mdf_lowered_id lowering_move_back(struct lowering *lowering, struct region *region, mdf_lowered_id id, size_t axis);
/* A call that only moves elements of what is open, all along its open axis, whatever the length, which nests read where these
 * lie; *taken: it is one. */
bool lowering_open_view(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
/* Whether a call that moves elements has a whole number past a length, which may be an end that cuts longer axes alone. */
bool lowering_may_cut_beyond(struct lowering *lowering, const struct trial *trial, int64_t length);
/* The first element that a code of elements gives. False: it would bail out. */
bool lowering_compute_first(enum mdf_lowered_code code, mdf_dtype dtype, size_t n_operands,
                            const struct mdf_value *const operands[], uint64_t *computed);
/* lower_number.c: one op for a kernel that computes a number; *taken: there is one. False: it failed. */
bool lowering_add_number(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);
/* lower_least.c: Python's min or max of numbers; *taken: it is such a call. False: it failed. */
bool lowering_choose_number(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);

/* --- lower_others.c: whether a value that was made in place of a call's result is the same on the examples; calls that come to
 * others. *taken: it is such a call. */
bool lowering_is_result(const struct lowering *lowering, const struct trial *trial, mdf_lowered_id id);
bool lowering_limit_elements(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
bool lowering_take_item(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
/* Where an op on its inputs belongs: see lowering_place. */
struct region *lowering_place_of(struct lowering *lowering, const struct trial *trial);
/* lower_draw.c: what a call draws, where that needs no kernel; *draw NULL: it does need it. False: it failed. */
bool lowering_find_draw(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_draw **draw);
/* lower_call.c: the call of its kernel; ops for a call that has been tried. False: it failed. */
bool lowering_add_call(struct lowering *lowering, struct scope *scope, const struct trial *trial);
bool lowering_add_tried(struct lowering *lowering, struct scope *scope, struct trial *trial);
/* lower_halves.c: whether a call computes with float16 or bfloat16; *taken: it is one in float32, rounded. */
bool lowering_meets_halves(const struct lowering *lowering, const struct trial *trial);
bool lowering_lower_halves(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
/* Runs the kernel on what trial->effective points at, afresh. */
bool lowering_run_trial(struct lowering *lowering, struct trial *trial);

#endif
