/* source_reduce.c - one number for many: ONNX's Reduce operators and numpy's sum, mean, max, ... as their rows say it
 * (functions/kernel/fold.h).
 *
 * Sums are added in the order of functions/folds/reduce_type.inc (eight lanes in blocks of 512, blocks in pairs, in float64) and
 * of functions/python/numpy_reduce.inc (numpy's pairwise sums), so that the results have the same bits. */
#include "mdf_c/source/source_writer.h"

#include "functions/elements/element.h"
#include "functions/kernel/fold.h"

#include <string.h>

/* ------------------------------------------------------------------ axes */

/* Axes of an array to go through, with their strides in elements. */
struct axes {
    size_t n;
    int64_t *sizes, *strides;
};

struct reduce_plan {
    const struct mdf_source_call *call;
    const struct mdf_fold *fold;
    mdf_dtype dtype, total;    /* types of elements and of totals */
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

/* The expression of a function of elements. */
static const char *element_text(struct mdf_source_writer *writer, const struct mdf_element *element, mdf_dtype dtype,
                                const char *a, const char *b)
{
    const struct mdf_operator operator= {.name = "a reduction", .element = element};
    const char *const operands[2] = {a, b};
    struct mdf_source_expression expression;

    return mdf_source_express_operator(writer, &operator, NULL, dtype, b != NULL ? 2 : 1, operands, &expression) ? expression.text
                                                                                                                 : "";
}

/* What a total begins with. */
static const char *start_text(const struct mdf_fold_way *way, mdf_dtype total)
{
    static const char *const texts[3][4] = {[0] = {"0", "1", "-INFINITY", "INFINITY"},
                                            [1] = {"0", "1", "INT64_MIN", "INT64_MAX"},
                                            [2] = {"0", "1", "0", "UINT64_MAX"}};
    char kind = mdf_dtype_kind(total);

    return texts[kind == 'f' ? 0 : kind == 'i' ? 1 : 2][way->start];
}

static const char row_helper[] = "/* Adjacent elements through eight lanes in blocks, and blocks in pairs. */\n"
                                 "static $S mdf_@_row(const $T *x, size_t n, double shift)\n"
                                 "{\n"
                                 "    $S lanes[8];\n"
                                 "    size_t i = 0;\n"
                                 "\n"
                                 "    if (n > 512) {\n"
                                 "        size_t half = n / 2 / 8 * 8;\n"
                                 "        $S first = mdf_@_combine($B, mdf_@_row(x, half, shift));\n"
                                 "\n"
                                 "        return mdf_@_combine(first, mdf_@_combine($B, mdf_@_row(x + half, n - half, shift)));\n"
                                 "    }\n"
                                 "    for (size_t lane = 0; lane < 8; lane++) {\n"
                                 "        lanes[lane] = $B;\n"
                                 "    }\n"
                                 "    for (; i + 8 <= n; i += 8) {\n"
                                 "        for (size_t lane = 0; lane < 8; lane++) {\n"
                                 "            lanes[lane] = mdf_@_combine(lanes[lane], mdf_@_term(x[i + lane], shift));\n"
                                 "        }\n"
                                 "    }\n"
                                 "    for (; i < n; i++) {\n"
                                 "        lanes[i % 8] = mdf_@_combine(lanes[i % 8], mdf_@_term(x[i], shift));\n"
                                 "    }\n"
                                 "    for (size_t width = 4; width > 0; width /= 2) {\n"
                                 "        for (size_t lane = 0; lane < width; lane++) {\n"
                                 "            lanes[lane] = mdf_@_combine(lanes[lane], lanes[lane + width]);\n"
                                 "        }\n"
                                 "    }\n"
                                 "    return lanes[0];\n"
                                 "}\n";

/* "@" becomes `name`; $S, $T and $B the types of totals and elements, and where a total begins. */
static const char *fill(struct mdf_source_writer *writer, const char *text, const char *name, const struct reduce_plan *plan,
                        const struct mdf_fold_way *way)
{
    struct mdf_text result;
    const char *copy;

    mdf_text_init(&result, writer->memory);
    for (; *text != '\0'; text++) {
        const char *found = text[0] != '$'   ? NULL
                            : text[1] == 'S' ? mdf_source_type(plan->total)
                            : text[1] == 'T' ? mdf_source_type(plan->dtype)
                                             : start_text(way, plan->total);

        if (*text == '@') {
            mdf_text_append_string(&result, name);
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

/* The functions that a way of folding comes to for the types at hand; what their names begin with, behind "mdf_". */
static const char *use_way(struct mdf_source_writer *writer, const struct reduce_plan *plan, const struct mdf_fold_way *way)
{
    const char *name = mdf_source_text(writer, "%s_%s", way->name, mdf_dtype_name(plan->dtype));
    const char *total = mdf_source_type(plan->total);
    const char *element =
        way->term == MDF_ELEMENT(exponential) ? "((double)x - shift)" : mdf_source_text(writer, "((%s)x)", total);

    mdf_source_helper(writer, mdf_source_text(writer, "%s_combine", name),
                      mdf_source_text(writer,
                                      "static inline %s mdf_%s_combine(%s a, %s b)\n"
                                      "{\n"
                                      "    return %s;\n"
                                      "}\n\n"
                                      "static inline %s mdf_%s_term(%s x, double shift)\n"
                                      "{\n"
                                      "    (void)shift;\n"
                                      "    return %s;\n"
                                      "}\n",
                                      total, name, total, total, element_text(writer, way->combine, plan->total, "a", "b"), total,
                                      name, mdf_source_type(plan->dtype),
                                      element_text(writer, way->term, plan->total, element, NULL)));
    return name;
}

static bool is_sum(const struct mdf_fold_way *way)
{
    return way->term == MDF_ELEMENT(kept) && way->combine == MDF_ELEMENT(add);
}

/* Declares `total` and folds all elements of one output element, whose first place is `place`, into it. */
static void fold_elements(struct mdf_source_writer *writer, const struct reduce_plan *plan, const struct mdf_fold_way *way,
                          const char *total, const char *place, const char *shift)
{
    mdf_lowered_id in = plan->call->call->inputs[0];
    const char *at, *name;

    mdf_source_line(writer, "%s %s = %s;", mdf_source_type(plan->total), total, start_text(way, plan->total));
    at = open_axes(writer, &plan->reduced, "r", place);
    if (is_sum(way) && plan->dtype == MDF_DTYPE_FLOAT32 && plan->n_inner > 1) {
        mdf_source_line(writer, "%s += %s(%s + %s, %zu);", total, mdf_source_use(writer, "sum_float32_row"),
                        mdf_source_address(writer, in), at, plan->n_inner);
        close_axes(writer, &plan->reduced);
        return;
    }
    name = use_way(writer, plan, way);
    if (plan->n_inner > 1) {
        mdf_source_helper(writer, mdf_source_text(writer, "%s_row", name), fill(writer, row_helper, name, plan, way));
        mdf_source_line(writer, "%s = mdf_%s_combine(%s, mdf_%s_row(%s + %s, %zu, %s));", total, name, total, name,
                        mdf_source_address(writer, in), at, plan->n_inner, shift);
    } else {
        mdf_source_line(writer, "%s = mdf_%s_combine(%s, mdf_%s_term(%s, %s));", total, name, total, name,
                        mdf_source_element(writer, in, at), shift);
    }
    close_axes(writer, &plan->reduced);
}

/* The output element from its total. */
static const char *finish(struct mdf_source_writer *writer, const struct reduce_plan *plan, const char *total)
{
    const char *type = mdf_source_type(plan->dtype);
    bool is_real = mdf_dtype_kind(plan->dtype) == 'f';

    if (plan->fold->divides) {
        return mdf_source_text(writer, is_real ? "(%s)(%s / (double)%zu)" : "(%s)(%s / %zu)", type, total, plan->n_reduced);
    }
    if (plan->fold->after == MDF_ELEMENT(kept)) {
        return mdf_source_text(writer, "(%s)%s", type, total);
    }
    return mdf_source_text(
        writer, "(%s)(%s%s)", type,
        element_text(writer, plan->fold->after, MDF_DTYPE_FLOAT64, mdf_source_text(writer, "(double)%s", total), NULL),
        plan->fold->shifts ? " + shift" : "");
}

/* Which axes are reduced, as the operator finds it. */
static bool mark_axes(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t rank, bool *marks)
{
    struct mdf_context *context = writer->lowered->context;
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}};
    struct mdf_call trial = call->call->call;
    mdf_error kept = context->error;
    bool keeps, done;
    size_t i;

    for (i = 1; i < call->call->n_inputs; i++) {
        if (call->call->inputs[i] != MDF_LOWERED_NONE &&
            writer->lowered->values[call->call->inputs[i]].place != MDF_LOWERED_CONSTANT) {
            return mdf_source_refuse(writer, "input %zu of the operator %s is not a constant", i + 1, call->operator->name);
        }
    }
    trial.scratch = scratch;
    context->error = (mdf_error){0};
    done = call->operator->fold->axes(&trial, rank, marks, &keeps);
    if (!done && context->error.code == MDF_OUT_OF_MEMORY) {
        mdf_source_out_of_memory(writer);
    }
    context->error = kept;
    for (i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(context->memory, &scratch[i]);
    }
    return done || mdf_source_refuse(writer, "the operator %s does not say which axes it reduces", call->operator->name);
}

static bool write_in_lanes(struct mdf_source_writer *writer, const struct mdf_source_call *call, struct reduce_plan *plan)
{
    static const struct mdf_fold_way largest_way = {"maximum", MDF_FOLD_LOWEST, MDF_ELEMENT(kept), MDF_ELEMENT(larger)};
    const char *place, *total;

    if (plan->dtype != MDF_DTYPE_FLOAT64 && plan->dtype != MDF_DTYPE_FLOAT32 && plan->dtype != MDF_DTYPE_INT64 &&
        plan->dtype != MDF_DTYPE_INT32 && plan->dtype != MDF_DTYPE_UINT64) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name,
                                 mdf_dtype_name(plan->dtype));
    }
    plan->total = mdf_dtype_kind(plan->dtype) == 'f'   ? MDF_DTYPE_FLOAT64
                  : mdf_dtype_kind(plan->dtype) == 'i' ? MDF_DTYPE_INT64
                                                       : MDF_DTYPE_UINT64;
    if (plan->fold->shifts && plan->total != MDF_DTYPE_FLOAT64) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name,
                                 mdf_dtype_name(plan->dtype));
    }
    mdf_source_open(writer, "%s", "");
    place = open_axes(writer, &plan->kept, "k", "0");
    total = mdf_source_name(writer, &writer->locals, "total");
    if (plan->fold->shifts) { /* by the largest element, so that exp does not overflow */
        const char *largest = mdf_source_name(writer, &writer->locals, "largest");

        fold_elements(writer, plan, &largest_way, largest, place, "0");
        mdf_source_line(writer, "const double shift = isfinite(%s) ? %s : 0;", largest, largest);
    }
    fold_elements(writer, plan, plan->fold->way, total, place, plan->fold->shifts ? "shift" : "0");
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, call->call->outputs[0], output_index(writer, &plan->kept)),
                    finish(writer, plan, total));
    close_axes(writer, &plan->kept);
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

/* Sets `result` from `items`, an array of n. */
static void fold_items(struct mdf_source_writer *writer, const struct reduce_plan *plan, const char *items, size_t segment)
{
    const struct mdf_fold_way *way = plan->fold->way;
    const char *type = mdf_source_type(plan->total), *item = mdf_source_text(writer, "%s[i]", items);

    if (is_sum(way)) {
        mdf_source_helper(writer, mdf_source_of_type(writer, "pairwise_$n", plan->total),
                          mdf_source_of_type(writer, pairwise_helper, plan->total));
        mdf_source_line(writer, "%s", mdf_source_of_type(writer, "$U sum = 0;", plan->total));
        mdf_source_line(writer, "for (size_t i = 0; i < n; i += %zu) {", segment);
        mdf_source_line(writer, "    sum += mdf_pairwise_%s(%s + i, %zu);", mdf_dtype_name(plan->total), items, segment);
        mdf_source_line(writer, "}");
        mdf_source_line(writer, plan->fold->divides ? "result = sum / (%s)n;" : "result = (%s)sum;", type);
        return;
    }
    /* An extreme begins with the first item, which it may be joined with again. */
    mdf_source_line(writer, "%s total = %s;", type,
                    way->start > MDF_FOLD_ONE ? mdf_source_text(writer, "%s[0]", items) : start_text(way, plan->total));
    mdf_source_blank(writer);
    mdf_source_open(writer, "for (size_t i = 0; i < n; i++)");
    mdf_source_line(writer, "const %s item = %s;", type, plan->fold->truths ? mdf_source_text(writer, "%s != 0", item) : item);
    mdf_source_blank(writer);
    mdf_source_line(
        writer, "total = %s;",
        element_text(writer, way->combine, plan->total, "total", element_text(writer, way->term, plan->total, "item", NULL)));
    mdf_source_close(writer);
    mdf_source_line(writer, "result = total;");
}

static bool write_items(struct mdf_source_writer *writer, const struct mdf_source_call *call, struct reduce_plan *plan)
{
    const struct mdf_value *data = mdf_source_input(writer, call, 0), *form = mdf_source_output(writer, call);
    mdf_dtype carrier = form->dtype == MDF_DTYPE_BOOL ? (mdf_dtype)data->dtype : (mdf_dtype)form->dtype;
    size_t segment = plan->n_inner > 1 || plan->reduced.n == 0 ? plan->n_inner : 1;
    const char *place, *items, *at;

    plan->total = (mdf_dtype)form->dtype;
    if (mdf_source_type(carrier) == NULL || mdf_source_type(plan->dtype) == NULL || mdf_source_type(plan->total) == NULL ||
        (is_sum(plan->fold->way) && carrier != MDF_DTYPE_FLOAT64 && carrier != MDF_DTYPE_FLOAT32 && carrier != MDF_DTYPE_INT64)) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name,
                                 mdf_dtype_name(plan->dtype));
    }
    mdf_source_open(writer, "%s", "");
    items = mdf_source_buffer(writer, carrier, plan->n_reduced, "items");
    place = open_axes(writer, &plan->kept, "k", "0");
    mdf_source_line(writer, "size_t n = 0;");
    mdf_source_line(writer, "%s result = 0;", mdf_source_type((mdf_dtype)form->dtype));
    mdf_source_blank(writer);
    at = open_axes(writer, &plan->reduced, "r", place);
    if (plan->n_inner > 1) {
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", plan->n_inner);
        at = mdf_source_text(writer, "%s + i", at);
    }
    mdf_source_line(writer, "%s[n++] = %s;", items, mdf_source_element(writer, call->call->inputs[0], at));
    if (plan->n_inner > 1) {
        mdf_source_close(writer);
    }
    close_axes(writer, &plan->reduced);
    mdf_source_open(writer, "%s", "");
    fold_items(writer, plan, items, segment);
    mdf_source_close(writer);
    mdf_source_line(writer, "%s = result;",
                    mdf_source_element(writer, call->call->outputs[0], output_index(writer, &plan->kept)));
    close_axes(writer, &plan->kept);
    mdf_source_close(writer);
    return true;
}

bool mdf_source_write_fold(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *data = mdf_source_input(writer, call, 0);
    struct reduce_plan plan = {.call = call, .fold = call->operator->fold, .dtype = (mdf_dtype)data->dtype};
    bool *marks = mdf_arena_array(&writer->arena, (size_t)data->rank + 1, sizeof *marks);

    if (marks == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    if (data->length == 0) {
        return mdf_source_refuse(writer, "the operator %s on an array without elements", call->operator->name);
    }
    if (!mark_axes(writer, call, data->rank, marks) || !plan_axes(writer, &plan, data, marks)) {
        return false;
    }
    return plan.fold->order == MDF_FOLD_LANES ? write_in_lanes(writer, call, &plan) : write_items(writer, call, &plan);
}
