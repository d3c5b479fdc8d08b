/* order.c - elements by rank: TopK, Unique, ArgMax, ArgMin, NonZero.
 *
 * Comes in: an array. Goes out: values and where they stood. Equal elements stand in the order of their indices. NaN is the
 * largest value (numpy.sort), and for ArgMax and ArgMin it is what is looked for (numpy.argmax). Source: the ONNX operators
 * of these names, all versions; numpy.unique, numpy.nonzero. */
#include "functions/indexing.h"
#include "functions/operator.h"
#include "functions/ordering.h"

#include <math.h>
#include <string.h>

static bool check_ordered(struct mdf_call *call, const struct mdf_value *data)
{
    char kind = mdf_dtype_kind((mdf_dtype)data->dtype);

    return kind != 'c' && kind != 's'
               ? true
               : mdf_call_error(call, MDF_TYPE, "elements of type %s have no order", mdf_dtype_name((mdf_dtype)data->dtype));
}

/* ------------------------------------------------------------------ TopK */

struct top_settings {
    int64_t axis, k; /* k: version 1; an input from version 10 on */
    int64_t largest; /* from version 11 on */
};

static const struct mdf_setting top_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct top_settings, axis)},
                                               {"k", MDF_SETTING_INT, offsetof(struct top_settings, k)},
                                               {"largest", MDF_SETTING_INT, offsetof(struct top_settings, largest)},
                                               {NULL, MDF_SETTING_INT, 0}};

static bool stands_before(const uint64_t *keys, int64_t a, int64_t b)
{
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

/* Restores the heap below `root`: every item stands behind its two children. */
static void sift_down(const uint64_t *keys, int64_t *heap, size_t root, size_t n)
{
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        int64_t kept = heap[root];

        if (child + 1 < n && stands_before(keys, heap[child], heap[child + 1])) {
            child++;
        }
        if (!stands_before(keys, kept, heap[child])) {
            return;
        }
        heap[root] = heap[child];
        heap[child] = kept;
        root = child;
    }
}

/* The indices of the `k` smallest of `n` keys, in order. */
static void select_smallest(const uint64_t *keys, size_t n, int64_t *selected, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        selected[i] = (int64_t)i;
    }
    for (size_t i = k / 2; i-- > 0;) {
        sift_down(keys, selected, i, k);
    }
    for (size_t i = k; k > 0 && i < n; i++) {
        if (keys[i] < keys[selected[0]]) {
            selected[0] = (int64_t)i;
            sift_down(keys, selected, 0, k);
        }
    }
    for (size_t last = k; last > 1; last--) {
        int64_t largest = selected[0];

        selected[0] = selected[last - 1];
        selected[last - 1] = largest;
        sift_down(keys, selected, 0, last - 1);
    }
}

static bool read_k(struct mdf_call *call, const struct mdf_value *data, size_t axis, int64_t *k)
{
    const struct top_settings *settings = call->settings;
    int64_t size = mdf_value_shape(data)[axis];

    *k = settings->k;
    if ((settings->k == MDF_NOT_GIVEN || mdf_call_input(call, 1) != NULL) && !mdf_call_integer(call, 1, k)) {
        return false;
    }
    return *k >= 0 && *k <= size
               ? true
               : mdf_call_error(call, MDF_VALUE, "k is %lld, but axis %zu has size %lld", (long long)*k, axis, (long long)size);
}

/* Selects along every line of the axis: indices laid out as the output is, in scratch. */
static const int64_t *select_lines(struct mdf_call *call, const struct mdf_value *data, size_t axis, size_t k, size_t n_selected)
{
    const struct top_settings *settings = call->settings;
    mdf_dtype dtype = (mdf_dtype)data->dtype;
    size_t n = (size_t)mdf_value_shape(data)[axis], inner = mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    uint64_t *keys = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, n + 1);
    int64_t *selected = keys != NULL ? mdf_call_scratch(call, MDF_SCRATCH_SECOND, MDF_DTYPE_INT64, n_selected + k + 1) : NULL,
            *line;

    if (selected == NULL) {
        return NULL;
    }
    line = selected + n_selected;
    for (size_t i = 0; k > 0 && i < n_selected / k; i++) {
        size_t outer = i / inner, column = i % inner;

        mdf_order_keys(dtype, mdf_element_at(dtype, data->data, outer * n * inner + column), inner, n, settings->largest != 0,
                       settings->largest != 0 ? MDF_NAN_FIRST : MDF_NAN_LAST, keys);
        select_smallest(keys, n, line, k);
        for (size_t j = 0; j < k; j++) {
            selected[(outer * k + j) * inner + column] = line[j];
        }
    }
    return selected;
}

static bool top_k(struct mdf_call *call)
{
    const struct top_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *selected;
    int64_t *shape, k;
    size_t axis, n, n_axis, inner;
    struct mdf_box box;
    mdf_dtype dtype;
    void *target;

    if (data == NULL || !check_ordered(call, data) || !mdf_call_axis(call, settings->axis, data->rank, &axis) ||
        !read_k(call, data, axis, &k) || !mdf_box_prepare(call, 0, data->rank, &box, &shape)) {
        return false;
    }
    dtype = (mdf_dtype)data->dtype;
    memcpy(shape, mdf_value_shape(data), data->rank * sizeof *shape);
    shape[axis] = k;
    n = mdf_axes_product(shape, 0, data->rank);
    selected = select_lines(call, data, axis, (size_t)k, n);
    if (selected == NULL) {
        return false;
    }
    n_axis = (size_t)mdf_value_shape(data)[axis];
    inner = mdf_axes_product(shape, axis + 1, data->rank);
    if (mdf_call_result(call, 0) != NULL) {
        target = mdf_call_output(call, 0, dtype, data->rank, shape);
        if (target == NULL) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            size_t outer = i / inner / (size_t)k;

            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, i),
                              mdf_element_at(dtype, data->data, (outer * n_axis + (size_t)selected[i]) * inner + i % inner), 1);
        }
    }
    if (mdf_call_result(call, 1) != NULL) {
        target = mdf_call_output(call, 1, MDF_DTYPE_INT64, data->rank, shape);
        if (target == NULL) {
            return false;
        }
        mdf_elements_copy(call, MDF_DTYPE_INT64, target, selected, n);
    }
    return true;
}

/* ------------------------------------------------------------------ ArgMax, ArgMin */

struct arg_settings {
    int64_t axis, keep_axes;
    int64_t select_last; /* from version 12 on */
};

static const struct mdf_setting arg_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct arg_settings, axis)},
                                               {"keepdims", MDF_SETTING_INT, offsetof(struct arg_settings, keep_axes)},
                                               {"select_last_index", MDF_SETTING_INT, offsetof(struct arg_settings, select_last)},
                                               {NULL, MDF_SETTING_INT, 0}};

/* Index of the smallest key of a line, its first or last. */
static int64_t find_smallest(mdf_dtype dtype, const void *line, size_t stride, size_t n, bool descending, bool select_last)
{
    enum { CHUNK = 256 };
    uint64_t keys[CHUNK], best_key = 0;
    int64_t best = -1;

    for (size_t first = 0; first < n; first += CHUNK) {
        size_t n_chunk = n - first < CHUNK ? n - first : CHUNK;

        mdf_order_keys(dtype, mdf_element_at(dtype, line, first * stride), stride, n_chunk, descending, MDF_NAN_FIRST, keys);
        for (size_t i = 0; i < n_chunk; i++) {
            if (best < 0 || keys[i] < best_key || (select_last && keys[i] == best_key)) {
                best_key = keys[i];
                best = (int64_t)(first + i);
            }
        }
    }
    return best;
}

static bool find_extreme(struct mdf_call *call, bool maximum)
{
    const struct arg_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t *shape, *target;
    size_t axis, rank = 0, n_lines, inner, n;
    struct mdf_box box;
    mdf_dtype dtype;

    if (data == NULL || !check_ordered(call, data) || !mdf_call_axis(call, settings->axis, data->rank, &axis) ||
        !mdf_box_prepare(call, 0, data->rank, &box, &shape)) {
        return false;
    }
    dtype = (mdf_dtype)data->dtype;
    n = (size_t)mdf_value_shape(data)[axis];
    for (size_t k = 0; k < data->rank; k++) {
        if (k != axis || settings->keep_axes != 0) {
            shape[rank++] = k == axis ? 1 : mdf_value_shape(data)[k];
        }
    }
    target = mdf_call_output(call, 0, MDF_DTYPE_INT64, rank, shape);
    if (target == NULL) {
        return false;
    }
    n_lines = mdf_axes_product(shape, 0, rank);
    inner = mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    if (n == 0 && n_lines > 0) {
        return mdf_call_error(call, MDF_SHAPE, "axis %zu has size 0: there is no largest or smallest element", axis);
    }
    for (size_t i = 0; i < n_lines; i++) {
        target[i] = find_smallest(dtype, mdf_element_at(dtype, data->data, i / inner * n * inner + i % inner), inner, n, maximum,
                                  settings->select_last == 1);
    }
    return true;
}

static bool arg_max(struct mdf_call *call)
{
    return find_extreme(call, true);
}

static bool arg_min(struct mdf_call *call)
{
    return find_extreme(call, false);
}

/* ------------------------------------------------------------------ NonZero */

static bool is_zero(mdf_dtype dtype, const void *element)
{
    switch (dtype) {
    case MDF_DTYPE_STRING:
        return *(char *const *)element == NULL || mdf_string_length(*(char *const *)element) == 0;
    case MDF_DTYPE_COMPLEX64:
        return is_zero(MDF_DTYPE_FLOAT32, element) && is_zero(MDF_DTYPE_FLOAT32, (const float *)element + 1);
    case MDF_DTYPE_COMPLEX128:
        return is_zero(MDF_DTYPE_FLOAT64, element) && is_zero(MDF_DTYPE_FLOAT64, (const double *)element + 1);
    default:
        return fpclassify(mdf_element_to_double(dtype, element)) == FP_ZERO;
    }
}

static bool non_zero(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    mdf_dtype dtype = data != NULL ? (mdf_dtype)data->dtype : MDF_DTYPE_NONE;
    int64_t shape[2] = {0, 0}, *target;
    size_t *positions, n = 0;

    positions = data != NULL ? mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, data->length + 1) : NULL;
    if (positions == NULL) {
        return false;
    }
    for (size_t i = 0; i < data->length; i++) {
        if (!is_zero(dtype, mdf_element_at(dtype, data->data, i))) {
            positions[n++] = i;
        }
    }
    shape[0] = data->rank;
    shape[1] = (int64_t)n;
    target = mdf_call_output(call, 0, MDF_DTYPE_INT64, 2, shape);
    if (target == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t rest = positions[i];

        for (size_t axis = data->rank; axis-- > 0;) {
            size_t size = (size_t)mdf_value_shape(data)[axis];

            target[axis * n + i] = (int64_t)(rest % size);
            rest /= size;
        }
    }
    return true;
}

const struct mdf_operator mdf_operators_order[] = {
    {"TopK", 1, 99, top_k, top_table, sizeof(struct top_settings), MDF_OPERATOR_PURE, NULL},
    {"ArgMax", 1, 99, arg_max, arg_table, sizeof(struct arg_settings), MDF_OPERATOR_PURE, NULL},
    {"ArgMin", 1, 99, arg_min, arg_table, sizeof(struct arg_settings), MDF_OPERATOR_PURE, NULL},
    {"NonZero", 9, 99, non_zero, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
