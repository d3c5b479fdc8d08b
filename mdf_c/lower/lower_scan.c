/* lower_scan.c - Scan as a structured op. See lower_loops.h. */
#include "mdf_c/lower/lower_loops.h"

/* Entry number `i` of a list attribute, or 0. */
static int64_t entry(const struct mdf_code_call *source, const char *name, size_t i)
{
    const struct mdf_ints *list = lowering_setting(source->operator, source->settings, name);

    return list != NULL && list->items != NULL && i < list->n ? list->items[i] : 0;
}

static bool add_rows(struct loop *loop, size_t n_states, size_t n_rows)
{
    struct lowering *lowering = loop->lowering;
    size_t i;

    loop->result->rows = mdf_arena_array(&lowering->lowered->arena, n_rows, sizeof *loop->result->rows);
    if (loop->result->rows == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < n_rows; i++) {
        struct mdf_lowered_rows *rows = &loop->result->rows[i];
        const struct mdf_value *whole;
        struct mdf_value item = {0};
        size_t length;

        rows->source = lowering_value_of(lowering, loop->outer, loop->source->inputs[n_states + i]);
        if (rows->source == MDF_LOWERED_NONE) {
            return false;
        }
        whole = lowering_example(lowering, rows->source);
        if (whole->kind != MDF_KIND_TENSOR || whole->rank == 0 || entry(loop->source, "scan_input_axes", i) != 0 ||
            whole->length == 0) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_AXIS);
        }
        length = (size_t)mdf_value_shape(whole)[0];
        if (i > 0 && length != loop->result->n_runs) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
        loop->result->n_runs = length;
        rows->is_reversed = entry(loop->source, "scan_input_directions", i) == 1;
        mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength,
                                whole->rank - 1, mdf_value_shape(whole) + 1, whole->data);
        rows->parameter = loop_add_parameter(loop, &item);
        loop->result->n_rows = i + 1;
        if (!lowering_bind(lowering, &loop->inner, loop->body->formals[n_states + i], rows->parameter)) {
            return false;
        }
    }
    return true;
}

bool lowering_scan(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    const int64_t *n_scan_inputs = lowering_setting(source->operator, source->settings, "num_scan_inputs");
    struct loop loop = {.lowering = lowering, .outer = scope, .source = source};
    size_t n_states, i;

    if (source->operator->since<9 || n_scan_inputs == NULL || * n_scan_inputs<1 ||(size_t) * n_scan_inputs > source->n_inputs) {
        return lowering_fail(lowering, MDF_REFUSED_SCAN_BATCH);
    }
    n_states = source->n_inputs - (size_t)*n_scan_inputs;
    if (!loop_read_initial(&loop, 0, n_states) || !loop_begin(&loop, 0)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        if (!loop_add_state(&loop, i, i)) {
            return false;
        }
    }
    if (!add_rows(&loop, n_states, (size_t)*n_scan_inputs) || !loop_run_body(&loop) || !loop_carry_states(&loop)) {
        return false;
    }
    for (i = n_states; i < loop.n_outputs; i++) {
        if (entry(source, "scan_output_axes", i - n_states) != 0) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_OUTPUT_AXIS);
        }
        if (!loop_add_stack(&loop, loop.yields[i], i, entry(source, "scan_output_directions", i - n_states) == 1)) {
            return false;
        }
    }
    return loop_end(&loop);
}
