/* accepted.c - see accepted.h. */
#include "mdf_c/lowered/accepted.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

/* The op of the body that makes a value; NULL: none does. */
static const struct mdf_lowered_op *maker_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t at = mdf_lowered_find_maker(&loop->body, id);

    return at == SIZE_MAX ? NULL : &loop->body.ops[at];
}

/* Whether an op takes an element of a state that is an array. */
static bool loads_state(const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        const struct mdf_nest_step *step = &op->of.nest->steps[i];

        if (step->kind == MDF_NEST_LOAD && mdf_lowered_is_state(loop, step->view.id)) {
            return true;
        }
    }
    return false;
}

/* Whether a value is made of a state by way of such a function, as far as `n_looks` ops tell. */
static bool comes_late(const struct mdf_lowered_loop *loop, mdf_lowered_id id, bool is_late, size_t *n_looks)
{
    const struct mdf_lowered_op *op = maker_of(loop, id);
    bool found = is_late && (op == NULL ? mdf_lowered_is_state(loop, id) : loads_state(loop, op));

    for (size_t i = 0; op != NULL && i < op->n_in && !found && *n_looks > 0; i++) {
        --*n_looks;
        found =
            comes_late(loop, op->in[i], is_late || op->code == MDF_LOWERED_ELEMENTS || op->code == MDF_LOWERED_FUNCTION, n_looks);
    }
    return found;
}

/* Whether a value is a state, or an element of one, as the run has found it. */
static bool is_as_it_was(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    const struct mdf_lowered_op *op = maker_of(loop, id);

    return op == NULL ? mdf_lowered_is_state(loop, id) : loads_state(loop, op);
}

/* Whether a value is what a state is next, or is put into one. */
static bool becomes_state(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        if (loop->states[i].next == id) {
            return true;
        }
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        if (loop->body.ops[i].code == MDF_LOWERED_PUT && loop->body.ops[i].in[1] == id) {
            return true;
        }
    }
    return false;
}

bool mdf_lowered_is_accepted_late(const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    enum { MOST_LOOKS = 64 };
    size_t n_looks = MOST_LOOKS;

    return loop != NULL && op->code == MDF_LOWERED_SELECT && (is_as_it_was(loop, op->in[1]) || is_as_it_was(loop, op->in[2])) &&
           becomes_state(loop, op->out) && comes_late(loop, op->in[0], false, &n_looks);
}
