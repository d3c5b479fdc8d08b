/* emit_x86_64_nest_calls.c - see emit_x86_64_nest.h. Where functions that are called find their operands, and leave their
 * results: in arrays, where these have them as they are wanted, or in rows of the nest's memory. */
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <string.h>

/* The row of a called function: all indices from `level` on of the axes that it depends on, those of the lanes innermost. */
static size_t lay_out_row(const struct nest_code *code, size_t i, size_t level, int64_t *strides)
{
    size_t n = 1;

    memset(strides, 0, MDF_NEST_MOST_AXES * sizeof *strides);
    for (size_t round = 0; round < 2; round++) {
        for (size_t axis = code->nest->steps[i].level; axis-- > level;) {
            if ((axis == code->shape.vector_axis) == (round == 0) && (code->steps[i].axes >> axis & 1) != 0) {
                strides[axis] = (int64_t)n;
                n *= code->nest->extents[axis];
            }
        }
    }
    return n;
}

/* Whether a view has the elements of a call's row as they lie in that. */
static bool has_row(const struct nest_code *code, const struct mdf_nest_step *step, const struct nest_call *call)
{
    const struct mdf_lowered_value *value = &code->emission->lowered->values[step->view.id];

    return step->view.at == MDF_NEST_NONE && !value->is_scalar && !value->is_in_place &&
           memcmp(step->view.strides, call->strides, sizeof call->strides) == 0;
}

/* Where operands are, and the result goes, without a row: of a call on all elements. */
static void find_rows(struct nest_code *code, size_t i)
{
    struct nest_call *call = &code->steps[i].call;

    for (size_t k = 0; k < code->nest->steps[i].n_in; k++) {
        uint8_t from = code->nest->steps[i].in[k];
        const struct mdf_nest_step *operand = &code->nest->steps[from];
        bool is_one = call->is_one[k] && operand->view.at == MDF_NEST_NONE;
        bool is_there = operand->kind == MDF_NEST_LOAD
                            ? is_one || has_row(code, operand, call)
                            : code->steps[from].call.is_called && code->steps[from].call.level == 0 && !call->is_one[k] &&
                                  memcmp(code->steps[from].call.strides, call->strides, sizeof call->strides) == 0;

        call->from[k] = is_there ? from : MDF_NEST_NONE;
    }
    for (size_t k = i + 1; k < code->nest->n_steps && call->to == MDF_NEST_NONE; k++) {
        const struct mdf_nest_step *step = &code->nest->steps[k];

        call->to = step->kind == MDF_NEST_STORE && step->in[0] == i && has_row(code, step, call) ? (uint8_t)k : MDF_NEST_NONE;
    }
}

enum { SHORT_ROW = 512, LONG_ROW = 8192, LARGEST_ROW = 1 << 16 };

/* From which axis on a call takes all elements at once: rows that stay near, unless these are so short that the calls cost most.
 */
static void choose_level(struct nest_code *code, size_t i, size_t most)
{
    struct nest_call *call = &code->steps[i].call;
    int64_t shorter[MDF_NEST_MOST_AXES];

    for (call->level = 0;; call->level++) {
        call->n = lay_out_row(code, i, call->level, call->strides);
        if (call->n <= LONG_ROW || call->level >= most ||
            (call->n <= LARGEST_ROW && lay_out_row(code, i, call->level + 1u, shorter) < SHORT_ROW)) {
            break;
        }
    }
}

bool nest_find_call(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    struct nest_call *call = &code->steps[i].call;
    size_t most = step->level, row_bytes = code->row_bytes;

    if (nest_depends_on_lanes(code, i) && code->shape.vector_axis < most) {
        most = code->shape.vector_axis;
    }
    choose_level(code, i, most);
    for (size_t k = 0; k < step->n_in; k++) {
        call->is_one[k] = code->steps[step->in[k]].axes >> call->level == 0;
    }
    memset(call->from, MDF_NEST_NONE, sizeof call->from);
    call->to = MDF_NEST_NONE;
    if (call->level == 0) {
        find_rows(code, i);
    }
    for (size_t k = 0; k <= MDF_MAX_OPERANDS; k++) {
        bool has_row = k == MDF_MAX_OPERANDS ? call->to == MDF_NEST_NONE : k < step->n_in && call->from[k] == MDF_NEST_NONE;

        call->offsets[k] = (uint32_t)code->row_bytes;
        code->row_bytes += has_row ? (call->n * 8 + NEST_SLOT - 1) / NEST_SLOT * NEST_SLOT : 0;
    }
    return call->n <= LARGEST_ROW || code->row_bytes == row_bytes;
}
