/* export_move.c - functions of expressions that move elements, as nodes of ONNX: reshaped where they stay in order, else gathered
 * from where the kernel takes them. */
#include "mdf_c/export/export_writing.h"

#include "functions/python/python.h"

enum { MOST_POSITIONS = 1 << 16 }; /* of elements that are gathered one by one */

/* The elements of all inputs that are moved in a row, with a 0 before them. */
static bool write_row(struct writing *writing, size_t n_data, struct symbol *row)
{
    static const int64_t all = -1;
    struct exporter *exporter = writing->exporter;
    const struct symbol **rows = mdf_arena_array(&exporter->arena, n_data + 1, sizeof *rows);
    struct symbol *flat = mdf_arena_array(&exporter->arena, n_data + 1, sizeof *flat), input, zero, like;

    if (rows == NULL || flat == NULL) {
        return export_out_of_memory(exporter);
    }
    if (!symbol_of_real(exporter, 0, writing->result->dtype, &zero)) {
        return false;
    }
    like = *writing->result;
    like.has_shape = false;
    like.rank = 0;
    for (size_t i = 0; i <= n_data; i++) {
        if (!writing_cast(writing, i == 0 ? &zero : &writing->inputs[i - 1], writing->result->dtype, &input) ||
            !export_reshape(exporter, writing->graph, &input, &all, 1, &like, &flat[i])) {
            return false;
        }
        rows[i] = &flat[i];
    }
    return export_concat(exporter, writing->graph, rows, n_data + 1, &like, row);
}

/* Where each element of the result comes from, by the kernel; counted from 1, behind the 0. */
static bool find_positions(struct writing *writing, const struct mdf_move *move, struct mdf_value *places)
{
    struct sampled_call sampled;
    bool done = writing_sample(writing, true, &sampled) &&
                (mdf_move_positions(&sampled.call, move, places) || writing_refuse_as_kernel(writing));

    if (done && places->length > MOST_POSITIONS) {
        done = export_refuse(writing->exporter, "it moves more elements one by one than %d", MOST_POSITIONS);
    }
    for (size_t i = 0; done && i < places->length; i++) {
        ((int64_t *)places->data)[i] += 1;
    }
    writing_release(writing, &sampled);
    return done;
}

static bool write_gather(struct writing *writing, const struct mdf_move *move)
{
    struct exporter *exporter = writing->exporter;
    size_t n = writing->n_inputs, n_data = mdf_move_data(move, n);
    struct mdf_value *places = export_make(exporter);
    struct symbol positions, row;

    if (places == NULL) {
        return export_out_of_memory(exporter);
    }
    if (!writing_have_full_shapes(writing->inputs, n) || !writing_are_constants(writing->inputs + n_data, n - n_data)) {
        return export_refuse(exporter, "which elements are meant is not known before it runs (shapes or indices are not)");
    }
    return find_positions(writing, move, places) && symbol_of_value(exporter, places, &positions) &&
           write_row(writing, n_data, &row) &&
           export_gather(exporter, writing->graph, &row, &positions, writing->result, writing->result);
}

/* One whole number as index of the first axis, whatever else is known. */
static bool is_item(const struct writing *writing)
{
    const struct mdf_subscript *subscript = writing->call->settings;

    return writing->call->operator->form == MDF_FORM_LIST_ITEM && subscript->n_parts == 1 &&
           subscript->parts[0].kind == MDF_SUBSCRIPT_INDEX && writing->n_inputs == 2 && writing->inputs[1].kind == SYMBOL_TENSOR &&
           mdf_dtype_kind(writing->inputs[1].dtype) == 'i';
}

bool writing_move(struct writing *writing, const struct mdf_move *move)
{
    struct symbol symbol;

    if (is_item(writing)) {
        return writing_cast(writing, &writing->inputs[1], MDF_DTYPE_INT64, &symbol) &&
               export_gather(writing->exporter, writing->graph, &writing->inputs[0], &symbol, writing->result, writing->result);
    }
    if (move->in_order && symbol_has_full_shape(writing->result)) {
        return writing_cast(writing, &writing->inputs[0], writing->result->dtype, &symbol) &&
               export_reshape(writing->exporter, writing->graph, &symbol, writing->result->shape, writing->result->rank,
                              writing->result, writing->result);
    }
    return write_gather(writing, move);
}
