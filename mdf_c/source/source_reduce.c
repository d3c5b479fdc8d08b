/* source_reduce.c - one number for many: ONNX's Reduce operators and numpy's sum, mean, max, ...
 *
 * Sums are added in the order of functions/onnx/reduce*.inc (eight lanes in blocks of 512, blocks in pairs, in float64) and of
 * functions/python/numpy_reduce.inc (numpy's pairwise sums), so that the results have the same bits. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* How totals are formed. In the texts $T is the type of elements, $S that of totals. */
struct fold_row {
    const char *name, *start, *term, *combine;
};

#define LARGER "(a) > (b) ? (a) : (a) <= (b) ? (b) : (a) + (b)"
#define SMALLER "(a) < (b) ? (a) : (a) >= (b) ? (b) : (a) + (b)"

static const struct fold_row sum_fold = {"sum", "0", "($S)x", "a + b"}, product_fold = {"product", "1", "($S)x", "a * b"},
                             square_fold = {"squares", "0", "($S)x * ($S)x", "a + b"},
                             magnitude_fold = {"magnitudes", "0", "$M", "a + b"},
                             maximum_fold = {"maximum", "$L", "($S)x", LARGER},
                             minimum_fold = {"minimum", "$H", "($S)x", SMALLER},
                             power_fold = {"powers", "0", "exp((double)x - shift)", "a + b"};

struct reduce_row {
    const char *name;
    const struct fold_row *fold;
    const char *after; /* "$r" is the total, "$k" the number of elements; NULL: nothing */
};

static const struct reduce_row onnx_rows[] = {{"ReduceSum", &sum_fold, NULL},
                                              {"ReduceMean", &sum_fold, "$r / $k"},
                                              {"ReduceMax", &maximum_fold, NULL},
                                              {"ReduceMin", &minimum_fold, NULL},
                                              {"ReduceProd", &product_fold, NULL},
                                              {"ReduceL1", &magnitude_fold, NULL},
                                              {"ReduceL2", &square_fold, "sqrt((double)$r)"},
                                              {"ReduceLogSum", &sum_fold, "log((double)$r)"},
                                              {"ReduceLogSumExp", &power_fold, "log($r) + shift"},
                                              {"ReduceSumSquare", &square_fold, NULL}};

/* ------------------------------------------------------------------ axes */

/* Axes of an array to go through, with their strides in elements. */
struct axes {
    size_t n;
    int64_t *sizes, *strides;
};

struct reduce_plan {
    const struct mdf_source_call *call;
    const struct reduce_row *row;
    mdf_dtype dtype;
    struct axes kept, reduced; /* those of size 1 left out */
    size_t n_inner;            /* adjacent elements at the end that are reduced; 1: none */
    size_t n_reduced;          /* elements that make one of the output */
};

static bool make_axes(struct mdf_source_writer *writer, struct axes *axes, size_t rank)
{
    axes->sizes = mdf_arena_array(&writer->arena, rank + 1, sizeof *axes->sizes);
    axes->strides = mdf_arena_array(&writer->arena, rank + 1, sizeof *axes->strides);
    return (axes->sizes != NULL && axes->strides != NULL) || mdf_source_out_of_memory(writer);
}

/* Sorts the axes; marks[axis]: it is reduced. */
static bool plan_axes(struct mdf_source_writer *writer, struct reduce_plan *plan, const struct mdf_value *data, const bool *marks)
{
    const int64_t *shape = mdf_source_shape(data);
    int64_t stride = (int64_t)data->length;
    bool is_inner = true;
    size_t axis;

    if (!make_axes(writer, &plan->kept, data->rank) || !make_axes(writer, &plan->reduced, data->rank)) {
        return false;
    }
    plan->n_reduced = plan->n_inner = 1;
    for (axis = 0; axis < data->rank; axis++) {
        struct axes *axes = marks[axis] ? &plan->reduced : &plan->kept;

        stride /= shape[axis] > 0 ? shape[axis] : 1;
        plan->n_reduced *= marks[axis] ? (size_t)shape[axis] : 1;
        if (shape[axis] != 1) {
            axes->sizes[axes->n] = shape[axis];
            axes->strides[axes->n++] = stride;
        }
    }
    for (axis = data->rank; axis-- > 0 && is_inner;) {
        if (shape[axis] == 1) {
            continue;
        }
        is_inner = marks[axis];
        if (is_inner) {
            plan->n_inner *= (size_t)shape[axis];
            plan->reduced.n--;
        }
    }
    return true;
}

/* Opens a loop for each axis; the place of the element. */
static const char *open_axes(struct mdf_source_writer *writer, const struct axes *axes, const char *letter, const char *place)
{
    size_t i;

    for (i = 0; i < axes->n; i++) {
        const char *index = mdf_source_text(writer, "%s%zu", letter, i);

        mdf_source_open(writer, "for (size_t %s = 0; %s < %lld; %s++)", index, index, (long long)axes->sizes[i], index);
        place = mdf_source_text(writer, "%s%s%s * %lld", strcmp(place, "0") == 0 ? "" : place,
                                strcmp(place, "0") == 0 ? "" : " + ", index, (long long)axes->strides[i]);
    }
    return place;
}

static void close_axes(struct mdf_source_writer *writer, const struct axes *axes)
{
    size_t i;

    for (i = 0; i < axes->n; i++) {
        mdf_source_close(writer);
    }
}

/* The number of the output element in loops over the kept axes. */
static const char *output_index(struct mdf_source_writer *writer, const struct axes *kept)
{
    const char *text = "0";
    int64_t step = 1;
    size_t i;

    for (i = kept->n; i-- > 0;) {
        text = strcmp(text, "0") == 0 ? mdf_source_text(writer, "k%zu * %lld", i, (long long)step)
                                      : mdf_source_text(writer, "k%zu * %lld + %s", i, (long long)step, text);
        step *= kept->sizes[i];
    }
    return text;
}

/* ------------------------------------------------------------------ ONNX */

/* The text of a fold for a type. */
static const char *fold_text(struct mdf_source_writer *writer, const char *text, mdf_dtype dtype, bool is_order)
{
    struct mdf_text result;
    char kind = mdf_dtype_kind(dtype);
    const char *copy, *total = kind == 'f' ? "double" : is_order && kind == 'i' ? "int64_t" : "uint64_t";

    mdf_text_init(&result, writer->memory);
    mdf_text_append_string(&result, "");
    for (; *text != '\0'; text++) {
        const char *found = text[0] != '$'   ? NULL
                            : text[1] == 'S' ? total
                            : text[1] == 'L' ? (kind == 'f'   ? "-INFINITY"
                                                : kind == 'i' ? "INT64_MIN"
                                                              : "0")
                            : text[1] == 'H' ? (kind == 'f'   ? "INFINITY"
                                                : kind == 'i' ? "INT64_MAX"
                                                              : "UINT64_MAX")
                            : text[1] == 'M' ? (kind == 'f'   ? "fabs((double)x)"
                                                : kind == 'i' ? "(x < 0 ? 0 - (uint64_t)x : (uint64_t)x)"
                                                              : "x")
                                             : NULL;

        if (found != NULL) {
            mdf_text_append_string(&result, found);
            text++;
        } else {
            mdf_text_append(&result, text, 1);
        }
    }
    copy = result.failed ? "" : mdf_source_of_type(writer, result.bytes, dtype);
    mdf_source_check(writer, &result);
    mdf_text_release(&result);
    return copy;
}

static const char folding_helpers[] = "static inline $S mdf_@_combine_$n($S a, $S b)\n"
                                      "{\n"
                                      "    return $C;\n"
                                      "}\n\n"
                                      "static inline $S mdf_@_term_$n($T x, double shift)\n"
                                      "{\n"
                                      "    (void)shift;\n"
                                      "    return $E;\n"
                                      "}\n";

static const char row_helper[] =
    "/* Adjacent elements through eight lanes in blocks, and blocks in pairs. */\n"
    "static $S mdf_@_row_$n(const $T *x, size_t n, double shift)\n"
    "{\n"
    "    $S lanes[8];\n"
    "    size_t i = 0;\n"
    "\n"
    "    if (n > 512) {\n"
    "        size_t half = n / 2 / 8 * 8;\n"
    "        $S first = mdf_@_combine_$n($B, mdf_@_row_$n(x, half, shift));\n"
    "\n"
    "        return mdf_@_combine_$n(first, mdf_@_combine_$n($B, mdf_@_row_$n(x + half, n - half, shift)));\n"
    "    }\n"
    "    for (size_t lane = 0; lane < 8; lane++) {\n"
    "        lanes[lane] = $B;\n"
    "    }\n"
    "    for (; i + 8 <= n; i += 8) {\n"
    "        for (size_t lane = 0; lane < 8; lane++) {\n"
    "            lanes[lane] = mdf_@_combine_$n(lanes[lane], mdf_@_term_$n(x[i + lane], shift));\n"
    "        }\n"
    "    }\n"
    "    for (; i < n; i++) {\n"
    "        lanes[0] = mdf_@_combine_$n(lanes[0], mdf_@_term_$n(x[i], shift));\n"
    "    }\n"
    "    for (size_t width = 4; width > 0; width /= 2) {\n"
    "        for (size_t lane = 0; lane < width; lane++) {\n"
    "            lanes[lane] = mdf_@_combine_$n(lanes[lane], lanes[lane + width]);\n"
    "        }\n"
    "    }\n"
    "    return lanes[0];\n"
    "}\n";

/* "@" becomes the name of the fold; $C, $E and $B what it combines totals with, what an element gives, and where it begins. */
static const char *with_name(struct mdf_source_writer *writer, const char *text, const struct fold_row *fold)
{
    struct mdf_text result;
    const char *copy;

    mdf_text_init(&result, writer->memory);
    for (; *text != '\0'; text++) {
        const char *found = text[0] != '$'   ? NULL
                            : text[1] == 'C' ? fold->combine
                            : text[1] == 'E' ? fold->term
                            : text[1] == 'B' ? fold->start
                                             : NULL;

        if (*text == '@') {
            mdf_text_append_string(&result, fold->name);
        } else if (found != NULL) {
            mdf_text_append_string(&result, found);
            text++;
        } else {
            mdf_text_append(&result, text, 1);
        }
    }
    copy = result.failed ? "" : mdf_source_text(writer, "%s", result.bytes);
    mdf_source_check(writer, &result);
    mdf_text_release(&result);
    return copy;
}

static bool is_order(const struct fold_row *fold)
{
    return fold == &maximum_fold || fold == &minimum_fold;
}

/* Declares `total` and folds all elements of one output element, whose first place is `place`, into it. */
static void fold_elements(struct mdf_source_writer *writer, const struct reduce_plan *plan, const struct fold_row *fold,
                          const char *total, const char *place, const char *shift)
{
    mdf_lowered_id in = plan->call->call->inputs[0];
    bool order = is_order(fold);
    const char *start = fold_text(writer, fold->start, plan->dtype, order), *type = fold_text(writer, "$S", plan->dtype, order);
    const char *text = with_name(writer, folding_helpers, fold), *row_text = with_name(writer, row_helper, fold);
    const char *name = mdf_source_text(writer, "%s_%s", fold->name, mdf_dtype_name(plan->dtype));
    const char *at;

    mdf_source_line(writer, "%s %s = %s;", type, total, start);
    at = open_axes(writer, &plan->reduced, "r", place);
    if (fold == &sum_fold && plan->dtype == MDF_DTYPE_FLOAT32 && plan->n_inner > 1) {
        mdf_source_line(writer, "%s += %s(%s + %s, %zu);", total, mdf_source_use(writer, "sum_float32_row"),
                        mdf_source_address(writer, in), at, plan->n_inner);
        close_axes(writer, &plan->reduced);
        return;
    }
    mdf_source_helper(writer, name, fold_text(writer, text, plan->dtype, order));
    if (plan->n_inner > 1) {
        mdf_source_helper(writer, mdf_source_text(writer, "%s_row", name), fold_text(writer, row_text, plan->dtype, order));
        mdf_source_line(writer, "%s = mdf_%s_combine_%s(%s, mdf_%s_row_%s(%s + %s, %zu, %s));", total, fold->name,
                        mdf_dtype_name(plan->dtype), total, fold->name, mdf_dtype_name(plan->dtype),
                        mdf_source_address(writer, in), at, plan->n_inner, shift);
    } else {
        mdf_source_line(writer, "%s = mdf_%s_combine_%s(%s, mdf_%s_term_%s(%s, %s));", total, fold->name,
                        mdf_dtype_name(plan->dtype), total, fold->name, mdf_dtype_name(plan->dtype),
                        mdf_source_element(writer, in, at), shift);
    }
    close_axes(writer, &plan->reduced);
}

/* The output element from its total. */
static const char *finish(struct mdf_source_writer *writer, const struct reduce_plan *plan, const char *total)
{
    const char *type = mdf_source_type(plan->dtype);
    bool is_real = mdf_dtype_kind(plan->dtype) == 'f';

    if (plan->row->after == NULL) {
        return mdf_source_text(writer, "(%s)%s", type, total);
    }
    if (strcmp(plan->row->name, "ReduceMean") == 0) {
        return is_real ? mdf_source_text(writer, "(%s)(%s / (double)%zu)", type, total, plan->n_reduced)
                       : mdf_source_text(writer, "(%s)((%s)%s / %zu)", type,
                                         mdf_dtype_kind(plan->dtype) == 'i' ? "int64_t" : "uint64_t", total, plan->n_reduced);
    }
    if (strcmp(plan->row->name, "ReduceLogSumExp") == 0) {
        return mdf_source_text(writer, "(%s)(log(%s) + shift)", type, total);
    }
    return mdf_source_text(writer, "(%s)%s((double)%s)", type, strcmp(plan->row->name, "ReduceL2") == 0 ? "sqrt" : "log", total);
}

static bool mark_axes(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t rank, bool *marks)
{
    struct mdf_ints given = {NULL, 0};
    int64_t none_is_none = 0;
    size_t i;

    if (!mdf_source_ints_setting(call->operator, call->settings, "axes", &given) && mdf_source_input(writer, call, 1) != NULL &&
        !mdf_source_constant_integers(writer, call, 1, &given.items, &given.n)) {
        return false;
    }
    mdf_source_int_setting(call->operator, call->settings, "noop_with_empty_axes", &none_is_none);
    for (i = 0; i < rank; i++) {
        marks[i] = given.n == 0 && none_is_none != 1;
    }
    for (i = 0; i < given.n; i++) {
        int64_t axis = given.items[i] < 0 ? given.items[i] + (int64_t)rank : given.items[i];

        if (axis < 0 || axis >= (int64_t)rank) {
            return mdf_source_refuse(writer, "axis %lld of an array of rank %zu", (long long)given.items[i], rank);
        }
        marks[axis] = true;
    }
    return true;
}

static const struct reduce_row *find_row(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof onnx_rows / sizeof *onnx_rows && strcmp(onnx_rows[i].name, name) != 0; i++) {
    }
    return i < sizeof onnx_rows / sizeof *onnx_rows ? &onnx_rows[i] : NULL;
}

bool mdf_source_write_reduce(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *data = mdf_source_input(writer, call, 0);
    struct reduce_plan plan = {.call = call, .row = find_row(call->operator->name), .dtype = (mdf_dtype)data->dtype};
    bool *marks = mdf_arena_array(&writer->arena, (size_t)data->rank + 1, sizeof *marks);
    const char *place, *total;

    if (marks == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    if (plan.dtype != MDF_DTYPE_FLOAT64 && plan.dtype != MDF_DTYPE_FLOAT32 && plan.dtype != MDF_DTYPE_INT64 &&
        plan.dtype != MDF_DTYPE_INT32 && plan.dtype != MDF_DTYPE_UINT64) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name,
                                 mdf_dtype_name(plan.dtype));
    }
    if (data->length == 0) {
        return mdf_source_refuse(writer, "the operator %s on an array without elements", call->operator->name);
    }
    if (!mark_axes(writer, call, data->rank, marks) || !plan_axes(writer, &plan, data, marks)) {
        return false;
    }
    mdf_source_open(writer, "%s", "");
    place = open_axes(writer, &plan.kept, "k", "0");
    total = mdf_source_name(writer, &writer->locals, "total");
    if (plan.row->fold == &power_fold) { /* by the largest element, so that exp does not overflow */
        const char *largest = mdf_source_name(writer, &writer->locals, "largest");

        fold_elements(writer, &plan, &maximum_fold, largest, place, "0");
        mdf_source_line(writer, "const double shift = isfinite((double)%s) ? (double)%s : 0;", largest, largest);
    }
    fold_elements(writer, &plan, plan.row->fold, total, place, plan.row->fold == &power_fold ? "shift" : "0");
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, call->call->outputs[0], output_index(writer, &plan.kept)),
                    finish(writer, &plan, total));
    close_axes(writer, &plan.kept);
    mdf_source_close(writer);
    return true;
}

/* ------------------------------------------------------------------ numpy */

static const char pairwise_helper[] =
    "/* numpy's pairwise sum: blocks of up to 128 in eight partial sums, larger ones halved. */\n"
    "static $U mdf_pairwise_$n(const $T *x, size_t n)\n"
    "{\n"
    "    $U sums[8], sum = 0;\n"
    "    size_t i;\n"
    "\n"
    "    if (n > 128) {\n"
    "        size_t half = n / 2 - n / 2 % 8;\n"
    "\n"
    "        return mdf_pairwise_$n(x, half) + mdf_pairwise_$n(x + half, n - half);\n"
    "    }\n"
    "    if (n < 8) {\n"
    "        for (i = 0; i < n; i++) {\n"
    "            sum += ($U)x[i];\n"
    "        }\n"
    "        return sum;\n"
    "    }\n"
    "    for (i = 0; i < 8; i++) {\n"
    "        sums[i] = ($U)x[i];\n"
    "    }\n"
    "    for (i = 8; i < n - n % 8; i += 8) {\n"
    "        for (size_t k = 0; k < 8; k++) {\n"
    "            sums[k] += ($U)x[i + k];\n"
    "        }\n"
    "    }\n"
    "    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));\n"
    "    for (; i < n; i++) {\n"
    "        sum += ($U)x[i];\n"
    "    }\n"
    "    return sum;\n"
    "}\n";

/* numpy's reductions: the text of the result of `items`, an array of n. $s is the sum of all. */
struct numpy_row {
    const char *name;
    const char *body; /* statements that set `result`, which is 0 */
    bool needs_sum;
};

static const struct numpy_row numpy_rows[] = {
    {"numpy.sum", "result = ($T)sum;", true},
    {"numpy.mean", "result = sum / ($T)n;", true},
    {"numpy.prod", "$U product = 1;\nfor (size_t i = 0; i < n; i++) {\n    product *= ($U)items[i];\n}\nresult = ($T)product;",
     false},
    {"numpy.max",
     "result = items[0];\nfor (size_t i = 0; i < n; i++) {\n    if (items[i] != items[i]) {\n        result = items[i];\n        "
     "break;\n"
     "    }\n    result = items[i] > result ? items[i] : result;\n}",
     false},
    {"numpy.min",
     "result = items[0];\nfor (size_t i = 0; i < n; i++) {\n    if (items[i] != items[i]) {\n        result = items[i];\n        "
     "break;\n"
     "    }\n    result = items[i] < result ? items[i] : result;\n}",
     false},
    {"numpy.any", "for (size_t i = 0; i < n; i++) {\n    result = result || items[i] != 0;\n}", false},
    {"numpy.all", "result = 1;\nfor (size_t i = 0; i < n; i++) {\n    result = result && items[i] != 0;\n}", false},
};

static const struct numpy_row *find_numpy_row(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof numpy_rows / sizeof *numpy_rows; i++) {
        if (strcmp(numpy_rows[i].name, name) == 0 ||
            (strcmp(name, "numpy.amax") == 0 && strcmp(numpy_rows[i].name, "numpy.max") == 0) ||
            (strcmp(name, "numpy.amin") == 0 && strcmp(numpy_rows[i].name, "numpy.min") == 0)) {
            return &numpy_rows[i];
        }
    }
    return NULL;
}

static bool mark_numpy_axes(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t rank, bool *marks)
{
    const int64_t *axes = NULL;
    size_t n = 0, i;
    bool all = mdf_source_input(writer, call, 1) == NULL || mdf_source_input(writer, call, 1)->kind == MDF_KIND_NONE;

    if (!all && !mdf_source_constant_integers(writer, call, 1, &axes, &n)) {
        return false;
    }
    for (i = 0; i < rank; i++) {
        marks[i] = all;
    }
    for (i = 0; i < n; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + (int64_t)rank : axes[i];

        if (axis >= 0 && axis < (int64_t)rank) {
            marks[axis] = true;
        }
    }
    return true;
}

/* Copies lines of a text into the body. */
static void write_lines(struct mdf_source_writer *writer, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        mdf_source_line(writer, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

bool mdf_source_write_numpy_reduce(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *data = mdf_source_input(writer, call, 0), *form = mdf_source_output(writer, call);
    const struct numpy_row *row = find_numpy_row(call->operator->name);
    struct reduce_plan plan = {.call = call, .dtype = (mdf_dtype)data->dtype};
    bool *marks = mdf_arena_array(&writer->arena, (size_t)data->rank + 1, sizeof *marks);
    mdf_dtype carrier = form->dtype == MDF_DTYPE_BOOL ? (mdf_dtype)data->dtype : (mdf_dtype)form->dtype;
    const char *place, *items, *at, *type = mdf_source_type(carrier), *result;
    size_t segment;

    if (marks == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    if (row == NULL || type == NULL || data->length == 0 || mdf_source_type((mdf_dtype)data->dtype) == NULL ||
        (row->needs_sum && carrier != MDF_DTYPE_FLOAT64 && carrier != MDF_DTYPE_FLOAT32 && carrier != MDF_DTYPE_INT64)) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name,
                                 mdf_dtype_name((mdf_dtype)data->dtype));
    }
    if (!mark_numpy_axes(writer, call, data->rank, marks) || !plan_axes(writer, &plan, data, marks)) {
        return false;
    }
    segment = plan.n_inner > 1 || plan.reduced.n == 0 ? plan.n_inner : 1;
    mdf_source_open(writer, "%s", "");
    items = mdf_source_buffer(writer, carrier, plan.n_reduced, "items");
    place = open_axes(writer, &plan.kept, "k", "0");
    mdf_source_line(writer, "size_t n = 0;");
    mdf_source_line(writer, "%s result = 0;", mdf_source_type((mdf_dtype)form->dtype));
    mdf_source_blank(writer);
    at = open_axes(writer, &plan.reduced, "r", place);
    if (plan.n_inner > 1) {
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", plan.n_inner);
        at = mdf_source_text(writer, "%s + i", at);
    }
    mdf_source_line(writer, "%s[n++] = %s;", items, mdf_source_element(writer, call->call->inputs[0], at));
    if (plan.n_inner > 1) {
        mdf_source_close(writer);
    }
    close_axes(writer, &plan.reduced);
    mdf_source_open(writer, "%s", "");
    if (row->needs_sum) {
        mdf_source_helper(writer, mdf_source_of_type(writer, "pairwise_$n", carrier),
                          mdf_source_of_type(writer, pairwise_helper, carrier));
        write_lines(writer, mdf_source_of_type(writer, "$U sum = 0;", carrier));
        mdf_source_line(writer, "for (size_t i = 0; i < n; i += %zu) {", segment);
        mdf_source_line(writer, "    sum += mdf_pairwise_%s(%s + i, %zu);", mdf_dtype_name(carrier), items, segment);
        mdf_source_line(writer, "}");
    }
    if (strcmp(items, "items") != 0) {
        mdf_source_line(writer, "const %s *items = %s;", type, items);
        mdf_source_line(writer, "(void)items;");
    }
    result = mdf_source_of_type(writer, row->body, carrier);
    write_lines(writer, result);
    mdf_source_close(writer);
    mdf_source_line(writer, "%s = result;", mdf_source_element(writer, call->call->outputs[0], output_index(writer, &plan.kept)));
    close_axes(writer, &plan.kept);
    mdf_source_close(writer);
    return true;
}
