/* lower_compose.c - NEST ops for calls that are several functions of elements: of more than two arrays, of two types, between
 * bounds; and for Softmax and its kin, which fold in between. See lowering.h.
 *
 * As all nests for calls they stand where on the examples they give the kernel's bits. */
#include "mdf_c/lower/nests/compose.h"

#include "functions/elements/vectors/vector_math.h"
#include "functions/moves/indexing.h"
#include "functions/python/python_values.h"

#include <math.h>

/* ------------------------------------------------------------------ registers */

uint8_t compose_apply(struct composing *composing, const struct mdf_element *element, uint8_t a, uint8_t b)
{
    return composing->draft->has_failed ? 0
                                        : draft_apply(composing->lowering, composing->draft, element, (const uint8_t[]){a, b});
}

uint8_t compose_cast(struct composing *composing, uint8_t in, mdf_dtype to)
{
    return composing->draft->has_failed ? 0 : draft_cast(composing->draft, in, to);
}

uint8_t compose_select(struct composing *composing, uint8_t condition, uint8_t then, uint8_t otherwise)
{
    const uint8_t in[MDF_MAX_OPERANDS] = {condition, then, otherwise};

    return composing->draft->has_failed ? 0 : draft_apply(composing->lowering, composing->draft, MDF_ELEMENT(select), in);
}

uint8_t compose_load(struct composing *composing, size_t i, mdf_dtype dtype)
{
    const struct trial *trial = composing->trial;
    uint8_t aligned[MDF_INLINE_RANK];

    if (!draft_align(trial->effective[i], composing->result, composing->axes, aligned)) {
        composing->draft->has_failed = true;
        return 0;
    }
    return draft_cast(composing->draft, draft_load(composing->lowering, composing->draft, trial->ids[i], aligned), dtype);
}

uint8_t compose_number(struct composing *composing, mdf_dtype dtype, double real)
{
    return draft_number(composing->lowering, composing->draft, dtype, real);
}

uint8_t compose_array(struct composing *composing, mdf_dtype dtype, mdf_dtype from, const void *elements, size_t rank,
                      const int64_t *shape, const uint8_t *axes)
{
    return draft_constant(composing->lowering, composing->draft, dtype, from, elements, rank, shape, axes);
}

uint8_t compose_row(struct composing *composing, mdf_dtype dtype, mdf_dtype from, const void *elements, size_t n, uint8_t axis)
{
    int64_t length = (int64_t)n;

    return compose_array(composing, dtype, from, elements, 1, &length, &axis);
}

/* What is compared in place of x, where NaN is never the largest, unless it comes first of all, and then always. */
static uint8_t without_nan(struct composing *composing, uint8_t x, uint8_t axis)
{
    size_t n = axis == DRAFT_NO_AXIS ? 1 : composing->draft->extents[axis];
    double *instead = mdf_arena_array(&composing->lowering->scratch, n, sizeof *instead);

    if (instead == NULL || composing->draft->has_failed) {
        composing->draft->has_failed = composing->draft->has_failed || !lowering_out_of_memory(composing->lowering);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        instead[i] = i == 0 ? (double)INFINITY : (double)-INFINITY;
    }
    return compose_select(
        composing, compose_apply(composing, MDF_ELEMENT(equal), x, x), x,
        compose_row(composing, (mdf_dtype)composing->draft->steps[x].step.dtype, MDF_DTYPE_FLOAT64, instead, n, axis));
}

void compose_axes(struct composing *composing)
{
    for (size_t d = 0; d < composing->result->rank; d++) {
        composing->axes[d] = draft_axis(composing->draft, mdf_value_shape(composing->result)[d]);
    }
}

/* ------------------------------------------------------------------ elements */

/* Whether an operator of ONNX takes operands of several types, which count whether or not they are declared. */
static bool takes_types_as_they_are(const struct composing *composing)
{
    return composing->trial->source->signature != NULL;
}

/* Whether an operand is computed with in the type of a real result, in which it keeps its value. */
static bool fits_result(const struct composing *composing, size_t i)
{
    const struct mdf_value *value = composing->trial->effective[i];
    mdf_dtype dtype = (mdf_dtype)value->dtype;
    double real;

    if (composing->result->dtype != MDF_DTYPE_FLOAT32) {
        return true;
    }
    if (dtype != MDF_DTYPE_FLOAT64) {
        return value->length == 1 || !takes_types_as_they_are(composing) ||
               mdf_promote(MDF_DTYPE_FLOAT32, MDF_STRENGTH_TYPED, dtype, MDF_STRENGTH_TYPED, MDF_DTYPE_FLOAT64) ==
                   MDF_DTYPE_FLOAT32;
    }
    real = mdf_element_to_double(MDF_DTYPE_FLOAT64, value->data);
    return value->length == 1 && lowering_is_constant(composing->lowering, composing->trial->ids[i]) &&
           (double)(float)real == real;
}

/* The type in which elements are computed: of a real result its own, else that of the operands, or, where they differ, int64,
 * which holds all whole numbers but the largest. NONE: there is none that gives the same. */
static mdf_dtype computed_dtype(const struct composing *composing)
{
    const struct trial *trial = composing->trial;
    mdf_dtype dtype = (mdf_dtype)trial->effective[trial->n - 1]->dtype;
    bool any_real = false, differ = false;

    for (size_t i = 0; i < trial->n; i++) {
        if (trial->effective[i]->dtype == MDF_DTYPE_UINT64 && trial->effective[i]->dtype != (uint8_t)dtype) {
            return MDF_DTYPE_NONE;
        }
        if (!fits_result(composing, i)) {
            return MDF_DTYPE_NONE;
        }
        differ = differ || trial->effective[i]->dtype != (uint8_t)dtype;
        any_real = any_real || mdf_dtype_kind((mdf_dtype)trial->effective[i]->dtype) == 'f';
    }
    if (mdf_dtype_kind((mdf_dtype)composing->result->dtype) == 'f') {
        return differ || any_real ? (mdf_dtype)composing->result->dtype : dtype;
    }
    if (composing->result->dtype != MDF_DTYPE_BOOL) {
        return any_real ? MDF_DTYPE_NONE : differ ? (mdf_dtype)composing->result->dtype : dtype;
    }
    return !differ    ? dtype
           : any_real ? mdf_python_promote(trial->call.context, trial->effective[0], trial->effective[1])
                      : MDF_DTYPE_INT64;
}

/* The real type that two operands share, where the result has the type of the first one (ONNX's Pow). A whole number alone may
 * come in another one, by what it is. */
static mdf_dtype shared_dtype(const struct composing *composing)
{
    const struct mdf_value *const *operands = composing->trial->effective;
    mdf_dtype a = composing->trial->n == 2 ? (mdf_dtype)operands[0]->dtype : MDF_DTYPE_NONE, b, shared;
    bool is_typed;

    if (a == MDF_DTYPE_NONE || composing->result->dtype != a) {
        return MDF_DTYPE_NONE;
    }
    is_typed = operands[0]->strength == MDF_STRENGTH_TYPED && operands[1]->strength == MDF_STRENGTH_TYPED;
    if (operands[1]->length == 1 ? !is_typed || mdf_dtype_kind((mdf_dtype)operands[1]->dtype) != 'f'
                                 : !is_typed && !takes_types_as_they_are(composing)) {
        return MDF_DTYPE_NONE;
    }
    b = (mdf_dtype)operands[1]->dtype;
    shared = mdf_promote(a, MDF_STRENGTH_TYPED, b, MDF_STRENGTH_TYPED, MDF_DTYPE_FLOAT64);
    return lowering_casts(a) && lowering_casts(b) && mdf_dtype_kind(shared) == 'f' ? shared : MDF_DTYPE_NONE;
}

/* One function of its operands, in one type. */
static uint8_t one_function(struct composing *composing, const struct mdf_element *element)
{
    mdf_dtype dtype = computed_dtype(composing);
    uint8_t in[MDF_MAX_OPERANDS];

    dtype = dtype == MDF_DTYPE_NONE ? shared_dtype(composing) : dtype;
    if (dtype == MDF_DTYPE_NONE || element->n_operands != composing->trial->n || element->n_operands > 2) {
        composing->draft->has_failed = true;
        return 0;
    }
    for (size_t i = 0; i < composing->trial->n; i++) {
        in[i] = compose_load(composing, i, dtype);
    }
    in[0] = draft_apply(composing->lowering, composing->draft, element, in);
    return dtype != composing->result->dtype && composing->result->dtype != MDF_DTYPE_BOOL && !composing->draft->has_failed
               ? draft_cast_by(composing->draft, in[0], (mdf_dtype)composing->result->dtype, composing->trial->source->operator)
               : in[0];
}

/* Operands one after the other, from the left; divided by their number. */
static uint8_t fold_operands(struct composing *composing, const struct mdf_element *element, bool divides)
{
    mdf_dtype dtype = (mdf_dtype)composing->result->dtype;
    uint8_t total = compose_load(composing, 0, dtype);
    size_t n = composing->trial->n;

    for (size_t i = 1; i < n; i++) {
        total = compose_apply(composing, element, total, compose_load(composing, i, dtype));
    }
    return divides ? compose_apply(composing, MDF_ELEMENT(divide), total, compose_number(composing, dtype, (double)n)) : total;
}

/* Bounds are inputs 1 and 2, or the row's two attributes. */
static uint8_t clip(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    const struct mdf_code_call *source = trial->source;
    const struct mdf_setting *attributes = source->operator->settings;
    mdf_dtype dtype = (mdf_dtype)composing->result->dtype;
    uint8_t x = compose_load(composing, 0, dtype);

    for (size_t i = 0; i < 2; i++) {
        const struct mdf_element *element = i == 0 ? MDF_ELEMENT(larger) : MDF_ELEMENT(smaller);
        const double *given = attributes != NULL ? mdf_code_setting(source, attributes[i].name) : NULL;

        if (i + 1 < trial->n && trial->ids[i + 1] != MDF_LOWERED_NONE) {
            x = compose_apply(composing, element, compose_load(composing, i + 1, dtype), x);
        } else if (given != NULL && !isnan(*given)) {
            x = compose_apply(composing, element, compose_number(composing, dtype, *given), x);
        }
    }
    return x;
}

static bool is_there(const struct trial *trial, size_t i)
{
    return i < trial->n && trial->ids[i] != MDF_LOWERED_NONE && trial->effective[i]->kind == MDF_KIND_TENSOR;
}

/* Whether an operand becomes the result's type as the kernel converts it, whatever its numbers. */
static bool converts(const struct composing *composing, size_t i)
{
    mdf_dtype from = (mdf_dtype)composing->trial->effective[i]->dtype, to = (mdf_dtype)composing->result->dtype;
    bool is_whole = mdf_dtype_kind(from) == 'i' && from != MDF_DTYPE_UINT64;

    return from == to || (mdf_dtype_kind(to) == 'f' ? is_whole || (mdf_dtype_kind(from) == 'f' && fits_result(composing, i))
                                                    : mdf_dtype_kind(to) == 'i' && to != MDF_DTYPE_UINT64 && is_whole);
}

static uint8_t load_converted(struct composing *composing, size_t i)
{
    if (!converts(composing, i)) {
        composing->draft->has_failed = true;
        return 0;
    }
    return compose_load(composing, i, (mdf_dtype)composing->result->dtype);
}

/* numpy.clip: as numpy.maximum and numpy.minimum in turn. */
static uint8_t bound(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    uint8_t x = load_converted(composing, 0);

    for (size_t i = 0; i < 2; i++) {
        size_t by = is_there(trial, i + 1) ? i + 1 : i + 3;

        if (is_there(trial, by)) {
            x = compose_apply(composing, i == 0 ? MDF_ELEMENT(maximum) : MDF_ELEMENT(minimum), x, load_converted(composing, by));
        }
    }
    return x;
}

/* min and max of numbers of one type, which is that of the result whichever it is. */
static uint8_t choose(struct composing *composing, bool is_least)
{
    const struct trial *trial = composing->trial;
    const struct mdf_value *result = composing->result;
    uint8_t best = 0, next;

    for (size_t i = 0; i < trial->n; i++) {
        const struct mdf_value *value = trial->effective[i];

        if (trial->n < 2 || value->rank > 0 || value->dtype != result->dtype || value->strength != result->strength ||
            (mdf_dtype_kind((mdf_dtype)value->dtype) != 'f' && mdf_dtype_kind((mdf_dtype)value->dtype) != 'i')) {
            composing->draft->has_failed = true;
            return 0;
        }
        next = compose_load(composing, i, (mdf_dtype)result->dtype);
        best = i == 0 ? next
                      : compose_select(composing,
                                       is_least ? compose_apply(composing, MDF_ELEMENT(less), next, best)
                                                : compose_apply(composing, MDF_ELEMENT(less), best, next),
                                       next, best);
    }
    return best;
}

/* ------------------------------------------------------------------ whole numbers */

/* What a form does with a real number before it becomes a whole one; NULL: it is no such form. */
static const struct mdf_element *rounding_of(enum mdf_form form)
{
    return form == MDF_FORM_FLOOR     ? MDF_ELEMENT(floor)
           : form == MDF_FORM_CEILING ? MDF_ELEMENT(ceiling)
           : form == MDF_FORM_NEAREST ? MDF_ELEMENT(nearest)
                                      : NULL;
}

/* Of a number without digits: rounded in its own type, and then cast, which bails out where the kernel has no int64. */
static mdf_lowered_id round_number(struct composing *composing, const struct mdf_element *element)
{
    const struct trial *trial = composing->trial;
    const struct mdf_value *number = trial->effective[0], *result = composing->result;
    bool is_real = mdf_dtype_is_real(number->dtype);
    struct mdf_value rounded = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;
    double real;

    if ((trial->n > 1 && trial->ids[1] != MDF_LOWERED_NONE) || number->rank > 0 || result->dtype != MDF_DTYPE_INT64 ||
        (!is_real && !lowering_casts((mdf_dtype)number->dtype))) {
        return MDF_LOWERED_NONE;
    }
    if (!is_real) {
        return lowering_convert(composing->lowering, trial->ids[0], result);
    }
    real = (double)*(const int64_t *)result->data;
    real = real != 0 ? real : copysign(0, mdf_element_to_double((mdf_dtype)number->dtype, number->data));
    if (mdf_value_make_tensor(composing->lowering->memory, &rounded, (mdf_dtype)number->dtype, 0, NULL) == NULL) {
        lowering_out_of_memory(composing->lowering);
    } else {
        mdf_convert_elements((mdf_dtype)number->dtype, rounded.data, MDF_DTYPE_FLOAT64, &real, 1, false);
        rounded.strength = result->strength;
        composing->result = &rounded;
        id = lowering_add_nest(composing->lowering, composing->draft,
                               compose_apply(composing, element, compose_load(composing, 0, (mdf_dtype)number->dtype), 0),
                               &rounded, composing->axes);
        id = lowering_cast(composing->lowering, id, MDF_DTYPE_INT64);
    }
    mdf_value_clear(composing->lowering->memory, &rounded);
    return id;
}

/* numpy.round: by way of the number times, or over, a power of ten. */
static uint8_t round_decimals(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    mdf_dtype dtype = (mdf_dtype)trial->effective[0]->dtype;
    int64_t decimals = 0;
    uint8_t x, scale;
    bool is_up;

    if (is_there(trial, 1)) {
        const struct mdf_value *given = trial->effective[1];

        decimals = given->rank == 0 && given->dtype == MDF_DTYPE_INT64 ? mdf_element_to_int64(MDF_DTYPE_INT64, given->data) : 400;
        composing->draft->has_failed = composing->draft->has_failed || !lowering_is_constant(composing->lowering, trial->ids[1]);
    }
    if (composing->result->dtype != dtype || mdf_dtype_kind(dtype) != 'f' || decimals > 300 || decimals < -300) {
        composing->draft->has_failed = true;
        return 0;
    }
    is_up = decimals >= 0;
    x = compose_load(composing, 0, dtype);
    scale = compose_number(composing, dtype, pow(10, fabs((double)decimals)));
    x = compose_apply(composing, is_up ? MDF_ELEMENT(multiply) : MDF_ELEMENT(divide), x, scale);
    x = compose_apply(composing, MDF_ELEMENT(nearest), x, 0);
    return compose_apply(composing, is_up ? MDF_ELEMENT(divide) : MDF_ELEMENT(multiply), x, scale);
}

/* ------------------------------------------------------------------ Softmax */

/* The axes of a line, and what goes through all lines: of dimensions from `axis` on, up to version 12, or of one. */
struct lines {
    uint8_t axis; /* DRAFT_NO_AXIS: lines of one element */
    bool is_adjacent;
    size_t rank;
    uint8_t axes[MDF_INLINE_RANK];
    int64_t strides[MDF_INLINE_RANK];
};

static bool find_lines(struct composing *composing, struct lines *lines)
{
    const int64_t *shape;
    bool is_flat;
    size_t rank = composing->result->rank, axis = lowering_line_axis(composing->trial->source, rank, &is_flat), d;
    int64_t n = 1;

    if (axis >= rank) {
        return false;
    }
    shape = mdf_value_shape(composing->result);
    mdf_strides(rank, shape, lines->strides);
    for (d = 0; d < rank; d++) {
        n *= d >= axis ? shape[d] : 1;
        if (d < axis || !is_flat) {
            lines->axes[d] = draft_axis(composing->draft, shape[d]);
        }
    }
    lines->is_adjacent = is_flat || n == shape[axis];
    lines->rank = is_flat ? axis + 1 : rank;
    if (is_flat) {
        lines->axes[axis] = draft_axis(composing->draft, n);
        lines->strides[axis] = 1;
    }
    lines->axis = lines->axes[axis];
    return true;
}

static uint8_t fold_line(struct composing *composing, const struct lines *lines, enum mdf_nest_fold fold, uint8_t x,
                         unsigned parts)
{
    return lines->axis == DRAFT_NO_AXIS ? x : draft_fold(composing->draft, fold, x, 1, &lines->axis, parts);
}

/* 1 at the first largest element, or at a NaN that comes first of all; other NaN count as the lowest. */
static uint8_t harden(struct composing *composing, const struct lines *lines, uint8_t x)
{
    struct nest_draft *draft = composing->draft;
    mdf_dtype dtype = (mdf_dtype)composing->result->dtype;
    uint8_t place, number;

    if (lines->axis == DRAFT_NO_AXIS) {
        return compose_number(composing, dtype, 1);
    }
    place = draft_fold(draft, MDF_NEST_FIRST_MAXIMUM, without_nan(composing, x, lines->axis), 1, &lines->axis, 1);
    number = draft_count(composing->lowering, draft, MDF_DTYPE_INT64, draft->extents[lines->axis], lines->axis);
    return draft_cast(draft, compose_apply(composing, MDF_ELEMENT(equal), number, place), dtype);
}

/* In the kernel's own order and types (functions/folds/softmax.c). */
static uint8_t soften(struct composing *composing, const struct lines *lines, uint8_t x, bool is_log)
{
    struct nest_draft *draft = composing->draft;
    mdf_dtype dtype = (mdf_dtype)composing->result->dtype;
    bool is_vector = dtype == MDF_DTYPE_FLOAT32 && lines->is_adjacent;
    uint8_t compared = composing->lowering->is_for_source ? x : without_nan(composing, x, lines->axis);
    uint8_t shifted, power, sum, share;

    shifted = compose_apply(composing, MDF_ELEMENT(subtract), x, fold_line(composing, lines, MDF_NEST_MAXIMUM, compared, 1));
    power = compose_apply(composing, MDF_ELEMENT(exponential), shifted, 0);
    sum =
        fold_line(composing, lines, MDF_NEST_SUM, draft_cast(draft, power, MDF_DTYPE_FLOAT64), is_vector ? MDF_EXP_SUM_PARTS : 1);
    if (is_log) {
        return compose_apply(composing, MDF_ELEMENT(subtract), shifted,
                             draft_cast(draft, compose_apply(composing, MDF_ELEMENT(logarithm), sum, 0), dtype));
    }
    share = compose_apply(composing, MDF_ELEMENT(divide), compose_number(composing, MDF_DTYPE_FLOAT64, 1), sum);
    return compose_apply(composing, MDF_ELEMENT(multiply), power, draft_cast(draft, share, dtype));
}

static mdf_lowered_id add_softmax(struct composing *composing)
{
    enum mdf_form form = composing->trial->source->operator->form;
    struct mdf_nest_view view = {.id = composing->trial->ids[0], .at = MDF_NEST_NONE};
    struct lines lines;
    uint8_t x;

    if (!find_lines(composing, &lines)) {
        return MDF_LOWERED_NONE;
    }
    x = draft_load_elements(composing->lowering, composing->draft, &view, lines.rank, lines.axes, lines.strides);
    x = form == MDF_FORM_HARDMAX ? harden(composing, &lines, x) : soften(composing, &lines, x, form == MDF_FORM_LOG_SOFTMAX);
    return lowering_add_nest_of(composing->lowering, composing->draft, x, composing->result, lines.rank, lines.axes,
                                lines.strides);
}

/* ------------------------------------------------------------------ calls */

/* Whether all inputs are arrays, or numbers, that are there, and all results arrays of elements. */
static bool has_operands(const struct lowering *lowering, const struct trial *trial)
{
    for (size_t i = 0; i < trial->n; i++) {
        enum mdf_form form = trial->source->operator->form;
        bool is_bound = ((form == MDF_FORM_CLIP || form == MDF_FORM_BOUNDS || form == MDF_FORM_NEAREST) && i > 0) ||
                        (form == MDF_FORM_INTERPOLATE && i > 2) || (form == MDF_FORM_DECIMALS && i > 0);

        if (trial->ids[i] == MDF_LOWERED_NONE ||
                    ((form == MDF_FORM_BOUNDS || form == MDF_FORM_INTERPOLATE || form == MDF_FORM_DECIMALS) &&
                     trial->effective[i]->kind == MDF_KIND_NONE)
                ? !is_bound
                : trial->effective[i]->kind != MDF_KIND_TENSOR || trial->effective[i]->rank > MDF_INLINE_RANK ||
                      lowering->facts[trial->ids[i]].is_open) {
            return false;
        }
    }
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] != NULL && (trial->results[i].kind != MDF_KIND_TENSOR || trial->results[i].length == 0 ||
                                          trial->results[i].rank > MDF_INLINE_RANK)) {
            return false;
        }
    }
    return trial->n > 0;
}

/* Products of an array and a number. */
static bool has_number(const struct trial *trial)
{
    return trial->effective[0]->rank == 0 || trial->effective[trial->n - 1]->rank == 0;
}

static mdf_lowered_id compose(struct composing *composing)
{
    const struct mdf_operator *operator= composing->trial->source->operator;
    const struct mdf_element *element = mdf_element_of(operator, composing->trial->source->settings);
    uint8_t result;

    if (operator->form == MDF_FORM_SOFTMAX || operator->form == MDF_FORM_LOG_SOFTMAX || operator->form == MDF_FORM_HARDMAX) {
        return add_softmax(composing);
    }
    if (rounding_of(operator->form) != NULL) {
        return round_number(composing, rounding_of(operator->form));
    }
    compose_axes(composing);
    if (operator->form == MDF_FORM_CLIP) {
        result = clip(composing);
    } else if (operator->form == MDF_FORM_BOUNDS) {
        result = bound(composing);
    } else if (operator->form == MDF_FORM_DECIMALS) {
        result = round_decimals(composing);
    } else if (operator->form == MDF_FORM_INTERPOLATE) {
        result = compose_interpolation(composing);
    } else if (operator->form == MDF_FORM_LEAST || operator->form == MDF_FORM_GREATEST) {
        result = choose(composing, operator->form == MDF_FORM_LEAST);
    } else if (operator->form == MDF_FORM_VARIADIC || operator->form == MDF_FORM_MEAN) {
        result = fold_operands(composing, operator->form == MDF_FORM_MEAN ? MDF_ELEMENT(add) : element,
                                          operator->form == MDF_FORM_MEAN && composing->trial->n> 1);
    } else if (operator->form == MDF_FORM_MATMUL || operator->form == MDF_FORM_DOT) {
        result = has_number(composing->trial) ? one_function(composing, MDF_ELEMENT(multiply)) : 0;
        composing->draft->has_failed = composing->draft->has_failed || !has_number(composing->trial);
    } else if (element != NULL) {
        result = one_function(composing, element);
    } else {
        return MDF_LOWERED_NONE;
    }
    return lowering_add_nest(composing->lowering, composing->draft, result, composing->result, composing->axes);
}

/* The value of the one output that is read; NONE: it is not made of a nest. */
static mdf_lowered_id compose_one(struct composing *composing)
{
    const struct mdf_code_call *source = composing->trial->source;

    for (size_t i = 0; i < source->n_outputs; i++) {
        if ((composing->trial->outputs[i] != NULL) != (i == 0)) {
            return MDF_LOWERED_NONE;
        }
    }
    return compose_has_features(source->operator->form) ? compose_features(composing)
           : compose_has_norm(source->operator->form)   ? compose_norm(composing)
           : compose_has_pool(source->operator->form)   ? compose_pool(composing)
           : source->operator->form == MDF_FORM_CONVOLUTION ? compose_convolution(composing)
                                                            : compose(composing);
}

bool lowering_compose(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    struct composing composing = {.lowering = lowering, .trial = trial, .result = &trial->results[0]};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (has_operands(lowering, trial) && (composing.draft = draft_new(lowering)) != NULL) {
        id = compose_one(&composing);
    }
    *taken = id != MDF_LOWERED_NONE;
    return (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id)) && !lowering_has_failed(lowering);
}
