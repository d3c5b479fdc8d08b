/* accepted.c - see accepted.h. */
#include "mdf_c/lowered/accepted.h"

#include "mdf_c/lowered/lowered_reads.h"

bool mdf_lowered_is_state(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_states && loop->states[i].parameter != id; i++) {
    }
    return i < loop->n_states;
}

/* Whether a value is made of a state by way of such a function, as far as `n_looks` ops tell. */
static bool comes_late(const struct mdf_lowered_loop *loop, mdf_lowered_id id, bool is_late, size_t *n_looks)
{
    size_t at = mdf_lowered_find_maker(&loop->body, id), i;
    const struct mdf_lowered_op *op = at == SIZE_MAX ? NULL : &loop->body.ops[at];
    bool found = op == NULL && is_late && mdf_lowered_is_state(loop, id);

    for (i = 0; op != NULL && i < op->n_in && !found && *n_looks > 0; i++) {
        --*n_looks;
        found =
            comes_late(loop, op->in[i], is_late || op->code == MDF_LOWERED_ELEMENTS || op->code == MDF_LOWERED_FUNCTION, n_looks);
    }
    return found;
}

bool mdf_lowered_is_accepted_late(const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    enum { MOST_LOOKS = 64 };
    size_t n_looks = MOST_LOOKS, i;

    if (loop == NULL || op->code != MDF_LOWERED_SELECT ||
        (!mdf_lowered_is_state(loop, op->in[1]) && !mdf_lowered_is_state(loop, op->in[2]))) {
        return false;
    }
    for (i = 0; i < loop->n_states && loop->states[i].next != op->out; i++) {
    }
    return i < loop->n_states && comes_late(loop, op->in[0], false, &n_looks);
}
