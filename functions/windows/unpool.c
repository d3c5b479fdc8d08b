/* unpool.c - MaxUnpool: elements put back where a MaxPool found them.
 *
 * Comes in: X [n, c, ...], the positions of its elements in the flattened result, and the shape of a larger result or
 * nothing. Goes out: an array of zeros with those elements. Source: ONNX MaxUnpool, all versions. */
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "functions/windows/sliding.h"

#include <string.h>

static const struct mdf_setting unpool_table[] = {MDF_WINDOW_SETTINGS, {NULL, MDF_SETTING_INT, 0}};

/* The shape that the positions are in: that of the array that a MaxPool with these attributes was given. */
static bool infer_shape(struct mdf_workspace *workspace, const struct mdf_value *x, struct mdf_windows *windows)
{
    struct mdf_call *call = workspace->call;

    if (!mdf_windows_read(workspace, call->settings, x, NULL, windows)) {
        return false;
    }
    for (size_t i = 0; i < x->rank; i++) {
        const struct mdf_window_axis *axis = &windows->axes[i < 2 ? 0 : i - 2];

        windows->shape[i] = mdf_value_shape(x)[i];
        if (i < 2) {
            continue;
        }
        if (axis->array > INT32_MAX) {
            return mdf_call_error(call, MDF_LIMIT, "X has size %lld on spatial axis %zu", (long long)axis->array, i - 2);
        }
        windows->shape[i] = (axis->array - 1) * axis->stride - axis->pad_begin - axis->pad_end + axis->kernel;
        if (windows->shape[i] < 0) {
            return mdf_call_error(call, MDF_SHAPE, "the result would have size %lld on spatial axis %zu",
                                  (long long)windows->shape[i], i - 2);
        }
    }
    return true;
}

/* Reads the shape of the result, into `shape`; the inferred one where it is not given. */
static bool read_shape(struct mdf_call *call, const struct mdf_windows *windows, size_t rank, int64_t *shape)
{
    const int64_t *given;
    size_t n;

    memcpy(shape, windows->shape, rank * sizeof *shape);
    if (mdf_call_input(call, 2) == NULL) {
        return true;
    }
    given = mdf_call_integers(call, 2, 2, &n);
    if (given == NULL) {
        return false;
    }
    if (n != rank) {
        return mdf_call_error(call, MDF_SHAPE, "output_shape has %zu numbers, not %zu", n, rank);
    }
    for (size_t i = 0; i < rank; i++) {
        shape[i] = given[i];
        if (given[i] < windows->shape[i]) {
            return mdf_call_error(call, MDF_SHAPE, "output_shape[%zu] is %lld, less than the %lld that the attributes say", i,
                                  (long long)given[i], (long long)windows->shape[i]);
        }
    }
    return true;
}

/* Where element `position` of an array of shape `inner` lies in one of shape `outer`. */
static size_t embed(size_t rank, const int64_t *inner, const int64_t *outer, size_t position)
{
    size_t embedded = 0, stride = 1;

    for (size_t i = rank; i-- > 0;) {
        embedded += position % (size_t)inner[i] * stride;
        position /= (size_t)inner[i];
        stride *= (size_t)outer[i];
    }
    return embedded;
}

/* Puts the elements of X where they belong; both shapes are the same in most calls, and so are the positions then, which 64 bits read as
 * they are. */
static bool put_elements(struct mdf_call *call, const int64_t *positions, const int64_t *inner, size_t n_inner,
                         const int64_t *outer, char *target)
{
    const struct mdf_value *x = call->inputs[0];
    mdf_dtype dtype = (mdf_dtype)x->dtype;
    bool is_same = memcmp(inner, outer, x->rank * sizeof *inner) == 0 && sizeof(size_t) == sizeof *positions;

    for (size_t i = 0; i < x->length; i++) {
        if ((uint64_t)positions[i] >= n_inner) {
            return mdf_call_error(call, MDF_VALUE, "element %zu of I is %lld, but the result has %zu elements", i,
                                  (long long)positions[i], n_inner);
        }
    }
    if (is_same) {
        mdf_blocks_scatter(call, dtype, target, x->data, (const size_t *)positions, x->length, 1);
        return true;
    }
    for (size_t i = 0; i < x->length; i++) {
        size_t at = embed(x->rank, inner, outer, (size_t)positions[i]);

        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, at), mdf_element_at(dtype, x->data, i), 1);
    }
    return true;
}

static bool max_unpool(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *positions = mdf_call_tensor(call, 1);
    struct mdf_workspace workspace;
    struct mdf_windows windows;
    const int64_t *position;
    int64_t *shape;
    size_t n, n_inferred;
    char *target;

    if (x == NULL || positions == NULL || !mdf_workspace_check_shape(call, "I", positions, x->rank, mdf_value_shape(x)) ||
        !mdf_workspace_begin(&workspace, call, (mdf_dtype)x->dtype, 2) || !infer_shape(&workspace, x, &windows)) {
        return false;
    }
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, x->rank);
    if (shape == NULL || !read_shape(call, &windows, x->rank, shape) ||
        !mdf_workspace_product(call, windows.shape, 0, x->rank, &n_inferred)) {
        return false;
    }
    position = mdf_call_integers(call, 1, 1, &n);
    target = position == NULL ? NULL : mdf_call_output(call, 0, (mdf_dtype)x->dtype, x->rank, shape);
    if (target == NULL || !mdf_workspace_product(call, shape, 0, x->rank, &n)) {
        return false;
    }
    if (n > 0) {
        memset(target, 0, n * mdf_dtype_size((mdf_dtype)x->dtype));
    }
    return put_elements(call, position, windows.shape, n_inferred, shape, target);
}

static bool plan_unpool(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0], *shape = mdf_call_input(call, 2);
    struct mdf_workspace workspace;
    struct mdf_windows windows;

    if ((shape != NULL && shape->data == NULL) || call->inputs[1]->dtype != MDF_DTYPE_INT64 ||
        !mdf_workspace_begin(&workspace, call, (mdf_dtype)x->dtype, 2) || !infer_shape(&workspace, x, &windows) ||
        !mdf_routine_room(plan, 4 + 2 * (size_t)x->rank, 0)) {
        return false;
    }
    plan->function = "unpool";
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = (int64_t)x->length;
    plan->whole[1] = (int64_t)mdf_axes_product(windows.shape, 0, x->rank);
    plan->whole[2] = (int64_t)call->outputs[0]->length;
    plan->whole[3] = x->rank;
    for (size_t i = 0; i < x->rank; i++) {
        plan->whole[4 + 2 * i] = windows.shape[i];
        plan->whole[5 + 2 * i] = mdf_value_shape(call->outputs[0])[i];
    }
    return true;
}

const struct mdf_operator mdf_operators_unpool[] = {
    {"MaxUnpool", 9, 99, max_unpool, unpool_table, sizeof(struct mdf_window_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({0, "gradient.send_back(dy, self(gradient.numbers(x0), x1, x2), x0)"}),
     .routine = &(const struct mdf_routine){plan_unpool, .takes_bits = true, .why = "a position is out of range"}},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
