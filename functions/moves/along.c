/* along.c - see along.h. Each row of indices is looked through before elements move, so that moving them has no conditions. */
#include "functions/moves/along.h"

#include "functions/moves/words.h"
#include "mdf_c/base/sizes.h"

#include <stdatomic.h>

/* Indices that are looked through at a time: they stay in the cache. */
enum { PIECE = 1024 };

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 1;

/* One call's work. */
struct job {
    const struct mdf_along *along;
    const char *from;
    char *to;
    bool gathers;       /* from the array that indices point into to that of the indices' shape, or else the other way */
    size_t size_bytes;  /* of an element */
    size_t n_pieces;    /* that a row is gathered in */
    size_t rows_a_part; /* rows that may meet in one place when they are scattered */
    void (*combine)(void *a, const void *b, size_t n);
    atomic_bool *is_out_of_range;
};

static inline size_t place_of(int64_t index, size_t size)
{
    return (size_t)index + (index < 0 ? size : 0);
}

/* Whether none of them counts from the end. */
static inline bool are_direct(const int64_t *indices, size_t n)
{
    uint64_t signs = 0;

    for (size_t i = 0; i < n; i++) {
        signs |= (uint64_t)indices[i];
    }
    return signs >> 63 == 0;
}

#define ELEMENT mdf_word8
#define NAME(x) x##_8
#include "functions/moves/along_rows.inc"
#define ELEMENT mdf_word16
#define NAME(x) x##_16
#include "functions/moves/along_rows.inc"
#define ELEMENT mdf_word32
#define NAME(x) x##_32
#include "functions/moves/along_rows.inc"
#define ELEMENT mdf_word64
#define NAME(x) x##_64
#include "functions/moves/along_rows.inc"
#define ELEMENT mdf_word128
#define NAME(x) x##_128
#include "functions/moves/along_rows.inc"

/* What moves a row, either from or to the places that the indices give. */
typedef void (*move_row)(const struct mdf_along *along, const int64_t *indices, size_t n, const void *from, void *to);

static move_row choose(mdf_dtype dtype, bool gathers)
{
    switch (mdf_dtype_size(dtype)) {
    case 1:
        return gathers ? gather_8 : scatter_8;
    case 2:
        return gathers ? gather_16 : scatter_16;
    case 4:
        return gathers ? gather_32 : scatter_32;
    case 8:
        return gathers ? gather_64 : scatter_64;
    default:
        return gathers ? gather_128 : scatter_128;
    }
}

/* Whether all of them lie in [-size, size): both distances, taken without sign so that they may wrap, are not negative then, and
 * one of them is otherwise. */
static bool are_in_range(const int64_t *indices, size_t n, size_t size)
{
    uint64_t signs = 0;

    for (size_t i = 0; i < n; i++) {
        signs |= ((uint64_t)indices[i] + size) | (size - 1 - (uint64_t)indices[i]);
    }
    return signs >> 63 == 0;
}

/* Offset of the element of the array that a row begins at, the axis left out. */
static size_t row_offset(const struct mdf_along *along, size_t row)
{
    size_t offset = 0;

    for (size_t k = along->rank - 1; k-- > 0;) {
        size_t at = k == 0 ? row : row % (size_t)along->shape[k];

        row = k == 0 ? 0 : row / (size_t)along->shape[k];
        offset += k == along->axis ? 0 : at * (size_t)along->strides[k];
    }
    return offset;
}

/* Moves columns [column, column + n) of a row; false: an index is out of range, and nothing was moved. */
static bool move_piece(const struct job *job, move_row move, size_t row, size_t column, size_t n)
{
    const struct mdf_along *along = job->along;
    size_t straight = row * along->n_columns + column, indexed = row_offset(along, row) + (along->is_last ? 0 : column);
    const int64_t *indices = along->indices + straight;
    const char *from = job->from + (job->gathers ? indexed : straight) * job->size_bytes;
    char *to = job->to + (job->gathers ? straight : indexed) * job->size_bytes;

    if (!are_in_range(indices, n, along->size)) {
        return false;
    }
    if (job->combine == NULL) {
        move(along, indices, n, from, to);
    }
    for (size_t i = 0; job->combine != NULL && i < n; i++) {
        size_t at = place_of(indices[i], along->size) * along->stride + (along->is_last ? 0 : i);

        job->combine(to + at * job->size_bytes, from + i * job->size_bytes, 1);
    }
    return true;
}

static size_t piece_at(const struct mdf_along *along, size_t column)
{
    return along->n_columns - column < PIECE ? along->n_columns - column : PIECE;
}

static void gather_pieces(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    move_row move = choose(job->along->dtype, true);

    for (size_t i = first; i < last; i++) {
        size_t column = i % job->n_pieces * PIECE;

        if (!move_piece(job, move, i / job->n_pieces, column, piece_at(job->along, column))) {
            atomic_store_explicit(job->is_out_of_range, true, memory_order_relaxed);
            return;
        }
    }
}

static void scatter_parts(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    move_row move = choose(job->along->dtype, false);

    for (size_t row = first * job->rows_a_part; row < last * job->rows_a_part; row++) {
        for (size_t column = 0; column < job->along->n_columns; column += PIECE) {
            if (!move_piece(job, move, row, column, piece_at(job->along, column))) {
                atomic_store_explicit(job->is_out_of_range, true, memory_order_relaxed);
                return;
            }
        }
    }
}

/* Sets the error of the first index that is out of range; false. */
static bool refuse_index(const struct mdf_along *along)
{
    size_t n = along->n_rows * along->n_columns, at;

    for (size_t i = 0; i < n; i++) {
        if (!mdf_index_check(along->call, along->indices[i], i, along->axis, (int64_t)along->size, &at)) {
            break;
        }
    }
    return false;
}

/* Strings are shared one by one. */
static bool move_strings(const struct mdf_along *along, void *target, const void *source, bool gathers)
{
    for (size_t i = 0; i < along->n_rows * along->n_columns; i++) {
        size_t at, row = i / along->n_columns, column = i % along->n_columns;

        if (!mdf_index_check(along->call, along->indices[i], i, along->axis, (int64_t)along->size, &at)) {
            return false;
        }
        at = row_offset(along, row) + at * along->stride + (along->is_last ? 0 : column);
        mdf_elements_copy(along->call, MDF_DTYPE_STRING, (char **)target + (gathers ? i : at),
                          (char *const *)source + (gathers ? at : i), 1);
    }
    return true;
}

/* target, of the indices' shape, becomes what they point at in `source`. False with the error set: an index is out of range. */
static bool gather(const struct mdf_along *along, void *target, const void *source)
{
    atomic_bool is_out_of_range = false;
    struct job job = {.along = along,
                      .from = source,
                      .to = target,
                      .gathers = true,
                      .size_bytes = mdf_dtype_size(along->dtype),
                      .n_pieces = mdf_divide_up(along->n_columns, PIECE),
                      .is_out_of_range = &is_out_of_range};

    if (along->dtype == MDF_DTYPE_STRING) {
        return move_strings(along, target, source, true);
    }
    if (along->n_rows > 0) {
        mdf_parallel_for(along->call->context, along->n_rows * job.n_pieces, element_ns * (double)piece_at(along, 0),
                         gather_pieces, &job);
    }
    return is_out_of_range ? refuse_index(along) : true;
}

bool mdf_along_scatter(const struct mdf_along *along, void *target, const void *updates,
                       void (*combine)(void *a, const void *b, size_t n))
{
    atomic_bool is_out_of_range = false;
    struct job job = {.along = along,
                      .from = updates,
                      .to = target,
                      .size_bytes = mdf_dtype_size(along->dtype),
                      .combine = combine,
                      .is_out_of_range = &is_out_of_range};

    if (along->dtype == MDF_DTYPE_STRING) {
        return move_strings(along, target, updates, false);
    }
    if (along->n_rows > 0) {
        size_t n_parts = mdf_axes_product(along->shape, 0, along->axis);

        job.rows_a_part = along->n_rows / n_parts;
        mdf_parallel_for(along->call->context, n_parts, element_ns * (double)(job.rows_a_part * along->n_columns), scatter_parts,
                         &job);
    }
    return is_out_of_range ? refuse_index(along) : true;
}

/* Whether input 1 fits the indexed array in rank and, off the axis, in size. */
static bool check_shapes(struct mdf_call *call, const struct mdf_value *data, const struct mdf_value *indices, size_t axis)
{
    char data_text[96], indices_text[96];
    bool fits = indices->rank == data->rank;

    for (size_t k = 0; fits && k < data->rank; k++) {
        fits = k == axis || mdf_value_shape(indices)[k] <= mdf_value_shape(data)[k];
    }
    if (fits) {
        return true;
    }
    mdf_value_describe(data, data_text, sizeof data_text);
    mdf_value_describe(indices, indices_text, sizeof indices_text);
    return mdf_call_error(call, MDF_SHAPE, "indices %s do not fit %s: same rank, and no larger off axis %zu, is needed",
                          indices_text, data_text, axis);
}

bool mdf_along_begin(struct mdf_call *call, const struct mdf_value *data, size_t axis, struct mdf_along *along)
{
    const struct mdf_value *indices = mdf_call_tensor(call, 1);
    const int64_t *items;
    int64_t *strides;
    size_t n, rank = data->rank;
    struct mdf_box box;

    items =
        indices != NULL && check_shapes(call, data, indices, axis) ? mdf_call_integers(call, 1, MDF_SCRATCH_SECOND, &n) : NULL;
    if (items == NULL || !mdf_box_prepare(call, 0, rank, &box, &strides)) {
        return false;
    }
    mdf_strides(rank, mdf_value_shape(data), strides);
    *along = (struct mdf_along){.call = call,
                                .dtype = (mdf_dtype)data->dtype,
                                .axis = axis,
                                .rank = rank,
                                .n_rows = n == 0 ? 0 : n / (size_t)mdf_value_shape(indices)[rank - 1],
                                .n_columns = (size_t)mdf_value_shape(indices)[rank - 1],
                                .size = (size_t)mdf_value_shape(data)[axis],
                                .stride = (size_t)strides[axis],
                                .is_last = axis == rank - 1,
                                .indices = items,
                                .shape = mdf_value_shape(indices),
                                .strides = strides};
    return true;
}

bool mdf_along_gather_all(struct mdf_call *call, int64_t given_axis)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0), *indices = mdf_call_tensor(call, 1);
    struct mdf_along along;
    size_t axis;
    void *target;

    if (data == NULL || indices == NULL || !mdf_call_axis(call, given_axis, data->rank, &axis) ||
        !mdf_along_begin(call, data, axis, &along)) {
        return false;
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, indices->rank, mdf_value_shape(indices));
    return target != NULL && gather(&along, target, data->data);
}
