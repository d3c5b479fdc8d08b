/* source_moves.c - operators that only move elements: Reshape, Transpose, Slice, Concat, indexing and many more.
 *
 * Where what says how to move is constant, each element of the result is a fixed element of an input. The kernel itself tells
 * which: it is run on arrays whose elements are their own positions. The result is written as one copy, as nested loops where
 * positions go in even strides, as a few copies of pieces, or else by a table of positions. */
#include "mdf_c/source/source_writer.h"

#include "functions/kernel/move.h"

enum { MAX_PIECES = 8 };

static bool check_constants(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t n_data)
{
    size_t i;

    for (i = n_data; i < call->call->n_inputs; i++) {
        if (call->call->inputs[i] != MDF_LOWERED_NONE &&
            writer->lowered->values[call->call->inputs[i]].place != MDF_LOWERED_CONSTANT) {
            return mdf_source_refuse(writer, "input %zu of the operator %s is not a constant", i + 1, call->operator->name);
        }
    }
    return true;
}

/* Where the elements of results come from; the caller clears them. */
static bool find_positions(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t n_data,
                           struct mdf_value *results)
{
    struct mdf_context *context = writer->lowered->context;
    size_t n_inputs = call->call->n_inputs, n_outputs = call->call->n_outputs, i;
    const struct mdf_value **inputs = mdf_arena_array(&writer->arena, n_inputs, sizeof *inputs);
    struct mdf_value **outputs = mdf_arena_array(&writer->arena, n_outputs, sizeof *outputs);
    struct mdf_call trial = call->call->call;
    mdf_error kept = context->error;
    bool done;

    if (inputs == NULL || outputs == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    for (i = 0; i < n_inputs; i++) {
        inputs[i] = i < n_data ? mdf_source_input(writer, call, i) : call->call->call.inputs[i];
    }
    for (i = 0; i < n_outputs; i++) {
        outputs[i] = call->call->outputs[i] != MDF_LOWERED_NONE ? &results[i] : NULL;
    }
    trial.inputs = inputs;
    trial.outputs = outputs;
    context->error = (mdf_error){0};
    done = mdf_move_positions(&trial, call->operator->move, results);
    if (!done && context->error.code == MDF_OUT_OF_MEMORY) {
        mdf_source_out_of_memory(writer);
    }
    context->error = kept;
    return done || mdf_source_refuse(writer, "the operator %s does not say where its elements go", call->operator->name);
}

/* The input that a position lies in, and where. */
static size_t input_of(const struct mdf_source_writer *writer, const struct mdf_source_call *call, int64_t position,
                       int64_t *within)
{
    size_t i;

    for (i = 0; i < call->call->n_inputs; i++) {
        const struct mdf_value *form = mdf_source_input(writer, call, i);
        int64_t n = form != NULL ? (int64_t)form->length : 0;

        if (position < n) {
            break;
        }
        position -= n;
    }
    *within = position;
    return i;
}

/* Elements from `first` on that come from adjacent places of one input. */
static size_t piece_length(const struct mdf_source_writer *writer, const struct mdf_source_call *call, const int64_t *map,
                           size_t first, size_t n)
{
    size_t end = first + 1, input;
    int64_t within;

    input = input_of(writer, call, map[first], &within);
    while (end < n && map[end] == map[end - 1] + 1) {
        int64_t next;

        if (input_of(writer, call, map[end], &next) != input) {
            break;
        }
        end++;
    }
    return end - first;
}

static size_t count_pieces(const struct mdf_source_writer *writer, const struct mdf_source_call *call, const int64_t *map,
                           size_t n)
{
    size_t n_pieces = 0, first;

    for (first = 0; first < n && n_pieces <= MAX_PIECES; first += piece_length(writer, call, map, first, n)) {
        n_pieces++;
    }
    return n_pieces;
}

static void write_pieces(struct mdf_source_writer *writer, const struct mdf_source_call *call, mdf_lowered_id out,
                         const int64_t *map, size_t n)
{
    size_t first, length;
    int64_t within;

    for (first = 0; first < n; first += length) {
        mdf_lowered_id in = call->call->inputs[input_of(writer, call, map[first], &within)];
        const char *to = writer->values[out].name;

        length = piece_length(writer, call, map, first, n);
        if (length == 1) {
            mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, out, mdf_source_text(writer, "%zu", first)),
                            mdf_source_element(writer, in, mdf_source_text(writer, "%lld", (long long)within)));
        } else {
            mdf_source_line(writer, "memcpy(%s + %zu, %s + %lld, %zu * sizeof *%s);", to, first, mdf_source_address(writer, in),
                            (long long)within, length, to);
        }
    }
}

/* The view of one input that a result is; false: it is none. */
static bool find_view(const struct mdf_source_writer *writer, const struct mdf_source_call *call, const int64_t *map, size_t n,
                      struct mdf_view *view)
{
    int64_t low, high, within;

    if (!mdf_view_of(map, n, view)) {
        return false;
    }
    low = high = view->offset;
    for (size_t axis = 0; axis < view->n_axes; axis++) {
        int64_t reach = (view->sizes[axis] - 1) * view->strides[axis];

        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    return input_of(writer, call, low, &within) == input_of(writer, call, high, &within);
}

static void write_view(struct mdf_source_writer *writer, const struct mdf_source_call *call, mdf_lowered_id out,
                       const struct mdf_view *view)
{
    const char *to = "", *from;
    int64_t within, step = (int64_t)writer->lowered->values[out].form.length;
    mdf_lowered_id in = call->call->inputs[input_of(writer, call, view->offset, &within)];

    from = mdf_source_text(writer, "%lld", (long long)within);
    for (size_t axis = 0; axis < view->n_axes; axis++) {
        const char *index = mdf_source_text(writer, "i%zu", axis);

        step /= view->sizes[axis];
        mdf_source_open(writer, "for (int64_t %s = 0; %s < %lld; %s++)", index, index, (long long)view->sizes[axis], index);
        to = mdf_source_text(writer, "%s%s%s * %lld", to, to[0] != '\0' ? " + " : "", index, (long long)step);
        from = view->strides[axis] == 0 ? from
                                        : mdf_source_text(writer, "%s + %s * %lld", from, index, (long long)view->strides[axis]);
    }
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, out, to), mdf_source_element(writer, in, from));
    for (size_t axis = 0; axis < view->n_axes; axis++) {
        mdf_source_close(writer);
    }
}

/* All elements 0, before those that are moved are written. */
static void write_zeros(struct mdf_source_writer *writer, mdf_lowered_id out, size_t n)
{
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    mdf_source_line(writer, "%s = 0;", mdf_source_element(writer, out, "i"));
    mdf_source_close(writer);
}

/* By a table of positions for each input. */
static bool write_table(struct mdf_source_writer *writer, const struct mdf_source_call *call, mdf_lowered_id out,
                        const int64_t *map, size_t n)
{
    size_t i, k;
    int64_t within;

    for (i = 0; i < call->call->n_inputs; i++) {
        int64_t *to = mdf_arena_array(&writer->arena, n, sizeof *to), *from = mdf_arena_array(&writer->arena, n, sizeof *from);
        const char *to_name, *from_name;
        size_t n_here = 0;

        if (to == NULL || from == NULL) {
            return mdf_source_out_of_memory(writer);
        }
        for (k = 0; k < n; k++) {
            if (map[k] != MDF_POSITION_NONE && input_of(writer, call, map[k], &within) == i) {
                to[n_here] = (int64_t)k;
                from[n_here++] = within;
            }
        }
        if (n_here == 0) {
            continue;
        }
        from_name = mdf_source_constant_array(writer, MDF_DTYPE_INT64, from, n_here, "from");
        to_name = n_here == n ? NULL : mdf_source_constant_array(writer, MDF_DTYPE_INT64, to, n_here, "to");
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n_here);
        mdf_source_line(writer, "%s = %s;",
                        mdf_source_element(writer, out, to_name == NULL ? "i" : mdf_source_text(writer, "%s[i]", to_name)),
                        mdf_source_element(writer, call->call->inputs[i], mdf_source_text(writer, "%s[i]", from_name)));
        mdf_source_close(writer);
    }
    return true;
}

static bool write_output(struct mdf_source_writer *writer, const struct mdf_source_call *call, mdf_lowered_id out,
                         const struct mdf_value *positions)
{
    const struct mdf_value *form = &writer->lowered->values[out].form;
    int64_t *map = positions->data;
    bool has_zeros = false;
    struct mdf_view view;
    int64_t within;
    size_t i;

    if (positions->kind != MDF_KIND_TENSOR || positions->dtype != MDF_DTYPE_INT64 || positions->length != form->length) {
        return mdf_source_refuse(writer, "the operator %s makes other elements than those it is given", call->operator->name);
    }
    for (i = 0; i < form->length; i++) {
        has_zeros = has_zeros || map[i] == MDF_POSITION_NONE;
        if (map[i] != MDF_POSITION_NONE &&
            mdf_source_input(writer, call, input_of(writer, call, map[i], &within))->dtype != form->dtype) {
            return mdf_source_refuse(writer, "the operator %s makes other elements than those it is given", call->operator->name);
        }
    }
    if (form->length == 0) {
        return true;
    }
    if (has_zeros) {
        write_zeros(writer, out, form->length);
        return write_table(writer, call, out, map, form->length);
    }
    if (count_pieces(writer, call, map, form->length) <= MAX_PIECES) {
        write_pieces(writer, call, out, map, form->length);
        return true;
    }
    if (find_view(writer, call, map, form->length, &view)) {
        write_view(writer, call, out, &view);
        return true;
    }
    return write_table(writer, call, out, map, form->length);
}

bool mdf_source_write_move(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    size_t n_outputs = call->call->n_outputs, n_data = mdf_move_data(call->operator->move, call->call->n_inputs), i;
    struct mdf_value *results = mdf_arena_array(&writer->arena, n_outputs, sizeof *results);
    bool done;

    if (results == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    if (call->operator->move->fills) {
        return mdf_source_refuse(writer, "there is no form in C of the operator %s", call->operator->name);
    }
    done = check_constants(writer, call, n_data) && find_positions(writer, call, n_data, results);
    for (i = 0; i < n_outputs && done; i++) {
        mdf_lowered_id id = call->call->outputs[i];

        if (id != MDF_LOWERED_NONE && writer->values[id].is_live) {
            done = write_output(writer, call, id, &results[i]);
        }
    }
    for (i = 0; i < n_outputs; i++) {
        mdf_value_clear(writer->lowered->context->memory, &results[i]);
    }
    return done;
}
