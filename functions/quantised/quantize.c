/* quantize.c - QuantizeLinear DequantizeLinear DynamicQuantizeLinear.
 *
 * y = saturate(round(x / scale) + zero point), and x = (y - zero point) * scale, halves rounding to even. Scale and zero point
 * are one number, one along an axis, or one for each block of an axis. Sources: the ONNX operators of these names. */
#include "functions/kernel/call.h"

#include "functions/elements/element_helpers.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/quantised/rounded_routine.inc"
#include "mdf_c/base/processor.h"
#include "mdf_c/tensor/small_floats.h"

#include <math.h>
#include <string.h>

enum { SCRATCH_SCALE = 2, SCRATCH_ZERO = 3, BLOCK = 256 };

/* Rough times of an element, to judge what is worth a thread: of one that is rounded, or converted to a small float, or back. */
static const double round_ns = 0.1, convert_ns = 1, dequantize_ns = 0.1;

struct quantize_settings {
    int64_t axis, block_size, saturate;
    mdf_dtype output_dtype, precision;
};

static const struct mdf_setting quantize_settings[] = {
    {"axis", MDF_SETTING_INT, offsetof(struct quantize_settings, axis)},
    {"block_size", MDF_SETTING_INT, offsetof(struct quantize_settings, block_size)},
    {"saturate", MDF_SETTING_INT, offsetof(struct quantize_settings, saturate)},
    {"output_dtype", MDF_SETTING_DTYPE, offsetof(struct quantize_settings, output_dtype)},
    {"precision", MDF_SETTING_DTYPE, offsetof(struct quantize_settings, precision)},
    {NULL, MDF_SETTING_INT, 0}};

/* ------------------------------------------------------------------ rows */

/* Work on n numbers, whose scales and zero points follow each other (step 1) or are one (step 0); zeros may be NULL. */
struct row_kernels {
    /* y gets whole numbers from lowest to largest, of size_bytes 1 or 2. */
    void (*quantize)(size_t n, const float *x, const float *scales, const float *zeros, size_t step, float lowest, float largest,
                     size_t size_bytes, void *y);
    void (*dequantize)(size_t n, float *x, const float *scales, const float *zeros, size_t step); /* in place */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw")))
#define NAME(x) x##_avx512
#include "functions/quantised/quantize_rows.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "functions/quantised/quantize_rows.inc"
#endif
#define TARGET
#define NAME(x) x##_plain
#include "functions/quantised/quantize_rows.inc"

static const struct row_kernels *row_kernels(void)
{
    return MDF_WIDEST(&kernels);
}

/* ------------------------------------------------------------------ which scale belongs to an element */

/* The data seen as [n_outer, n_axis, n_inner], the scales as [n_outer, n_blocks, n_inner], [n_axis] or one. */
struct layout {
    enum { WHOLE, PER_AXIS, BLOCKED } granularity;
    size_t n_outer, n_axis, n_inner;
    size_t n_blocks, block_size;
};

static bool refuse_scale(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *scale)
{
    char x_text[128], scale_text[128];

    mdf_value_describe(x, x_text, sizeof x_text);
    mdf_value_describe(scale, scale_text, sizeof scale_text);
    return mdf_call_error(call, MDF_SHAPE, "a scale that is %s does not fit data that is %s along that axis", scale_text, x_text);
}

/* Blocks of `axis`: all other axes of the scale are those of the data. */
static bool lay_out_blocks(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *scale, size_t axis,
                           int64_t block_size, struct layout *layout)
{
    if (block_size < 0) {
        return mdf_call_error(call, MDF_VALUE, "attribute 'block_size' is %lld, not positive", (long long)block_size);
    }
    for (size_t i = 0; i < x->rank; i++) {
        int64_t size = mdf_value_shape(x)[i], wanted = i == axis ? size / block_size + (size % block_size != 0) : size;

        if (scale->rank != x->rank || mdf_value_shape(scale)[i] != wanted) {
            return refuse_scale(call, x, scale);
        }
    }
    layout->granularity = BLOCKED;
    layout->n_blocks = (size_t)mdf_value_shape(scale)[axis];
    layout->block_size = (size_t)block_size;
    return true;
}

static bool lay_out(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *scale, struct layout *layout)
{
    const struct quantize_settings *given = call->settings;
    int64_t block_size = given->block_size == MDF_NOT_GIVEN ? 0 : given->block_size;
    size_t axis, i;

    *layout = (struct layout){WHOLE, 1, 1, x->length, 0, 0};
    if (scale->length == 1 && (block_size == 0 || scale->rank == 0)) {
        return true;
    }
    if (!mdf_call_axis(call, given->axis == MDF_NOT_GIVEN ? 1 : given->axis, x->rank, &axis)) {
        return false;
    }
    layout->n_axis = (size_t)mdf_value_shape(x)[axis];
    for (i = 0, layout->n_inner = 1; x->length > 0 && i < x->rank; i++) {
        size_t *product = i < axis ? &layout->n_outer : &layout->n_inner;

        *product *= i == axis ? 1 : (size_t)mdf_value_shape(x)[i];
    }
    if (block_size != 0) {
        return lay_out_blocks(call, x, scale, axis, block_size, layout);
    }
    layout->granularity = PER_AXIS;
    return (scale->rank == 1 && scale->length == layout->n_axis) || refuse_scale(call, x, scale);
}

/* One run over the data. A stretch of elements has scales that follow each other (step 1) or one scale (step 0). */
struct run {
    void (*work)(const struct run *run, size_t first, size_t n, size_t scale, size_t step);
    struct layout layout;
    const char *source;
    char *target;
    mdf_dtype source_dtype, target_dtype, precision;
    float *scales;      /* in scratch */
    const float *zeros; /* NULL where there are none */
    float lowest, largest;
    bool rounds, saturate;
};

/* The stretch in which element `at` is, from there on: its scale and step; elements to its end. */
static size_t find_stretch(const struct layout *layout, size_t at, size_t *scale, size_t *step)
{
    size_t inner = at % layout->n_inner, row = at / layout->n_inner % layout->n_axis,
           outer = at / layout->n_inner / layout->n_axis;
    size_t n_left = layout->n_axis - row, n_block;

    *step = layout->n_inner == 1 && layout->granularity == PER_AXIS;
    *scale = row;
    if (layout->granularity == PER_AXIS) {
        return layout->n_inner == 1 ? n_left : layout->n_inner - inner;
    }
    *step = layout->n_inner > 1;
    *scale = (outer * layout->n_blocks + row / layout->block_size) * layout->n_inner + inner;
    n_block = layout->block_size - row % layout->block_size;
    return layout->n_inner > 1 ? layout->n_inner - inner : n_block < n_left ? n_block : n_left;
}

static void run_elements(void *context, size_t first, size_t last)
{
    const struct run *run = context;

    for (size_t at = first, n; at < last; at += n) {
        size_t scale = 0, step = 0;

        n = run->layout.granularity == WHOLE ? last - at : find_stretch(&run->layout, at, &scale, &step);
        n = n < last - at ? n : last - at;
        run->work(run, at, n, scale, step);
    }
}

/* Scale and zero point as float32, in scratch; the layout that their shape means. False with the error set. */
static bool prepare(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *scale, const struct mdf_value *zero,
                    struct run *run)
{
    float *scales, *zeros = NULL;

    if (zero != NULL && !mdf_value_has_shape_of(scale, zero) && (scale->length != 1 || zero->length != 1)) {
        return refuse_scale(call, zero, scale);
    }
    if (!lay_out(call, x, scale, &run->layout)) {
        return false;
    }
    scales = mdf_call_scratch(call, SCRATCH_SCALE, MDF_DTYPE_FLOAT32, scale->length);
    zeros = scales != NULL && zero != NULL ? mdf_call_scratch(call, SCRATCH_ZERO, MDF_DTYPE_FLOAT32, zero->length) : NULL;
    if (scales == NULL || (zero != NULL && zeros == NULL)) {
        return false;
    }
    mdf_value_convert_elements(call->context->memory, MDF_DTYPE_FLOAT32, scales, (mdf_dtype)scale->dtype, scale->data,
                               scale->length, false);
    if (zero != NULL) {
        mdf_value_convert_elements(call->context->memory, MDF_DTYPE_FLOAT32, zeros, (mdf_dtype)zero->dtype, zero->data,
                                   zero->length, false);
    }
    run->source = x->data;
    run->source_dtype = (mdf_dtype)x->dtype;
    run->scales = scales;
    run->zeros = zeros;
    return true;
}

/* ------------------------------------------------------------------ QuantizeLinear */

/* Rounds numbers to the precision in which the division is done. */
static void round_to(mdf_dtype precision, float *x, size_t n)
{
    for (size_t i = 0; precision == MDF_DTYPE_FLOAT16 && i < n; i++) {
        x[i] = mdf_float16_to_float(mdf_float16_from_float(x[i]));
    }
    for (size_t i = 0; precision == MDF_DTYPE_BFLOAT16 && i < n; i++) {
        x[i] = mdf_bfloat16_to_float(mdf_bfloat16_from_float(x[i]));
    }
}

static void quantize_stretch(const struct run *run, size_t first, size_t n, size_t scale, size_t step)
{
    size_t source_size = mdf_dtype_size(run->source_dtype), target_size = mdf_dtype_size(run->target_dtype), done, n_block, i;
    float x[BLOCK];

    if (run->rounds && run->source_dtype == MDF_DTYPE_FLOAT32 && run->precision == MDF_DTYPE_FLOAT32) {
        row_kernels()->quantize(n, (const float *)(const void *)run->source + first, run->scales + scale,
                                run->zeros != NULL ? run->zeros + scale : NULL, step, run->lowest, run->largest, target_size,
                                run->target + first * target_size);
        return;
    }
    for (done = 0; done < n; done += n_block) {
        const float *scales = run->scales + scale + done * step,
                    *zeros = run->zeros != NULL ? run->zeros + scale + done * step : NULL;

        n_block = n - done < BLOCK ? n - done : BLOCK;
        mdf_convert_elements(MDF_DTYPE_FLOAT32, x, run->source_dtype, run->source + (first + done) * source_size, n_block, false);
        round_to(run->precision, x, n_block);
        for (i = 0; i < n_block; i++) {
            x[i] /= scales[i * step];
        }
        round_to(run->precision, x, n_block);
        for (i = 0; run->rounds && i < n_block; i++) {
            x[i] = (float)mdf_quantize_whole(x[i], zeros != NULL ? zeros[i * step] : 0, run->lowest, run->largest);
        }
        for (i = 0; !run->rounds && zeros != NULL && i < n_block; i++) {
            x[i] += zeros[i * step];
        }
        mdf_convert_elements(run->target_dtype, run->target + (first + done) * target_size, MDF_DTYPE_FLOAT32, x, n_block,
                             run->saturate);
    }
}

/* Whether an integer type is smaller than a byte. */
static bool is_below_byte(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT2 || dtype == MDF_DTYPE_UINT2 || dtype == MDF_DTYPE_INT4 || dtype == MDF_DTYPE_UINT4;
}

/* The ends of an integer type; false for other types. */
static bool integer_range(mdf_dtype dtype, float *lowest, float *largest)
{
    char kind = mdf_dtype_kind(dtype);
    int bits = dtype == MDF_DTYPE_INT2 || dtype == MDF_DTYPE_UINT2 ? 2
               : is_below_byte(dtype)                              ? 4
                                                                   : (int)mdf_dtype_size(dtype) * 8;

    if (kind != 'i' && kind != 'u') {
        return false;
    }
    *lowest = kind == 'u' ? 0 : -ldexpf(1, bits - 1);
    *largest = ldexpf(1, kind == 'u' ? bits : bits - 1) - 1;
    return true;
}

static bool find_quantized_type(struct mdf_call *call, const struct mdf_value *zero, mdf_dtype *dtype)
{
    const struct quantize_settings *given = call->settings;
    mdf_dtype wanted = given->output_dtype;

    if (zero != NULL && wanted != MDF_DTYPE_NONE && zero->dtype != wanted) {
        return mdf_call_error(call, MDF_TYPE, "attribute 'output_dtype' is %s, but the zero point has type %s",
                              mdf_dtype_name(wanted), mdf_dtype_name((mdf_dtype)zero->dtype));
    }
    *dtype = zero != NULL ? (mdf_dtype)zero->dtype : wanted != MDF_DTYPE_NONE ? wanted : MDF_DTYPE_UINT8;
    if (mdf_dtype_size(*dtype) > 2 || *dtype == MDF_DTYPE_BOOL || *dtype == MDF_DTYPE_FLOAT16 || *dtype == MDF_DTYPE_BFLOAT16 ||
        *dtype == MDF_DTYPE_FLOAT8E8M0) {
        return mdf_call_error(call, MDF_TYPE, "numbers are not quantized to type %s", mdf_dtype_name(*dtype));
    }
    return true;
}

static bool run_quantize(struct mdf_call *call)
{
    const struct quantize_settings *given = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0), *scale = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    const struct mdf_value *zero = mdf_call_input(call, 2);
    struct run run = {0};

    if (scale == NULL || (zero != NULL && mdf_call_tensor(call, 2) == NULL) ||
        !find_quantized_type(call, zero, &run.target_dtype) || !prepare(call, x, scale, zero, &run)) {
        return false;
    }
    run.work = quantize_stretch;
    run.precision = given->precision != MDF_DTYPE_NONE ? given->precision : (mdf_dtype)scale->dtype;
    round_to(run.precision, run.scales, scale->length);
    run.rounds = integer_range(run.target_dtype, &run.lowest, &run.largest);
    run.saturate = given->saturate != 0; /* not given: true, as by default */
    run.target = mdf_call_output(call, 0, run.target_dtype, x->rank, mdf_value_shape(x));
    if (run.target == NULL) {
        return false;
    }
    mdf_parallel_for(call->context, x->length, run.rounds ? round_ns : convert_ns, run_elements, &run);
    return true;
}

/* ------------------------------------------------------------------ DequantizeLinear */

static void dequantize_stretch(const struct run *run, size_t first, size_t n, size_t scale, size_t step)
{
    size_t source_size = mdf_dtype_size(run->source_dtype), target_size = mdf_dtype_size(run->target_dtype), done, n_block;
    float some[BLOCK];

    for (done = 0; done < n; done += n_block) {
        const float *zeros = run->zeros != NULL ? run->zeros + scale + done * step : NULL;
        char *target = run->target + (first + done) * target_size;
        float *x = run->target_dtype == MDF_DTYPE_FLOAT32 ? (float *)(void *)target : some;

        n_block = n - done < BLOCK ? n - done : BLOCK;
        mdf_convert_elements(MDF_DTYPE_FLOAT32, x, run->source_dtype, run->source + (first + done) * source_size, n_block, false);
        row_kernels()->dequantize(n_block, x, run->scales + scale + done * step, zeros, step);
        if (x == some) {
            mdf_convert_elements(run->target_dtype, target, MDF_DTYPE_FLOAT32, x, n_block, false);
        }
    }
}

static bool run_dequantize(struct mdf_call *call)
{
    const struct quantize_settings *given = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0), *scale = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    const struct mdf_value *zero = mdf_call_input(call, 2);
    struct run run = {0};

    if (scale == NULL || (zero != NULL && mdf_call_tensor(call, 2) == NULL) || !prepare(call, x, scale, zero, &run)) {
        return false;
    }
    run.work = dequantize_stretch;
    run.target_dtype = given->output_dtype != MDF_DTYPE_NONE ? given->output_dtype : (mdf_dtype)scale->dtype;
    if (mdf_dtype_kind(run.target_dtype) != 'f') {
        return mdf_call_error(call, MDF_TYPE, "the result's type is %s, not a real one", mdf_dtype_name(run.target_dtype));
    }
    run.target = mdf_call_output(call, 0, run.target_dtype, x->rank, mdf_value_shape(x));
    if (run.target == NULL) {
        return false;
    }
    mdf_parallel_for(call->context, x->length, dequantize_ns, run_elements, &run);
    return true;
}

/* ------------------------------------------------------------------ DynamicQuantizeLinear */

static bool run_dynamic_quantize(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    float lowest, largest, scale, zero, *scale_result;
    uint8_t *y, *zero_result;

    if (x == NULL) {
        return false;
    }
    if (x->dtype != MDF_DTYPE_FLOAT32) {
        return mdf_call_error(call, MDF_TYPE, "the data has type %s, not float32", mdf_dtype_name((mdf_dtype)x->dtype));
    }
    lowest = (float)mdf_vector_rows(MDF_DTYPE_FLOAT32)->smallest(x->length, x->data); /* NaN makes both NaN */
    largest = (float)mdf_vector_rows(MDF_DTYPE_FLOAT32)->largest(x->length, x->data);
    lowest = lowest > 0 ? 0 : lowest;
    largest = largest < 0 ? 0 : largest;
    scale = (largest == lowest ? 1 : largest - lowest) / 255;
    zero = (float)mdf_quantize_whole(-lowest / scale, 0, 0, 255);
    y = mdf_call_output(call, 0, MDF_DTYPE_UINT8, x->rank, mdf_value_shape(x));
    if (y != NULL) {
        row_kernels()->quantize(x->length, x->data, &scale, &zero, 0, 0, 255, sizeof *y, y);
    }
    scale_result = y != NULL ? mdf_call_output(call, 1, MDF_DTYPE_FLOAT32, 0, NULL) : NULL;
    if (scale_result == NULL) {
        return false;
    }
    *scale_result = scale;
    zero_result = mdf_call_output(call, 2, MDF_DTYPE_UINT8, 0, NULL);
    if (zero_result == NULL) {
        return false;
    }
    *zero_result = (uint8_t)zero;
    return true;
}

/* ------------------------------------------------------------------ as plain C: quantize_routine.inc */

/* Numbers of scales_routine.inc. */
enum { SATURATES = 7, FORMAT };

/* Where the scales lie, and the function's name; false: it has no such function, or memory ran out. */
static bool plan_scales(struct mdf_call *call, const char *function, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0], *scale = call->inputs[1], *zero = mdf_call_input(call, 2);
    struct layout layout;

    if (x->length == 0 || scale->dtype != MDF_DTYPE_FLOAT32 ||
        (zero != NULL && !mdf_value_has_shape_of(scale, zero) && (scale->length != 1 || zero->length != 1)) ||
        !lay_out(call, x, scale, &layout) || !mdf_routine_room(plan, FORMAT + MDF_SMALL_FORMAT, 2)) {
        return false;
    }
    plan->function = function;
    plan->whole[0] = (int64_t)layout.n_outer;
    plan->whole[1] = (int64_t)layout.n_axis;
    plan->whole[2] = (int64_t)layout.n_inner;
    plan->whole[3] = layout.granularity == BLOCKED ? (int64_t)layout.block_size : 1;
    if (layout.granularity == BLOCKED) {
        plan->whole[4] = (int64_t)(layout.n_blocks * layout.n_inner);
        plan->whole[5] = (int64_t)layout.n_inner;
        plan->whole[6] = 1;
    } else {
        plan->whole[5] = layout.granularity == PER_AXIS;
    }
    return true;
}

/* The same of floats of 8 bits and fewer. */
static bool plan_small(struct mdf_call *call, mdf_dtype dtype, const char *function, struct mdf_routine_plan *plan)
{
    const struct quantize_settings *given = call->settings;
    const int64_t *format = mdf_small_float_format(dtype);

    plan->dtype = MDF_DTYPE_NONE;
    if (format == NULL || !plan_scales(call, function, plan)) {
        return false;
    }
    plan->whole[SATURATES] = given->saturate != 0;
    memcpy(&plan->whole[FORMAT], format, MDF_SMALL_FORMAT * sizeof *format);
    return true;
}

static bool plan_quantize(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct quantize_settings *given = call->settings;
    mdf_dtype dtype = (mdf_dtype)call->outputs[0]->dtype;
    float lowest, largest;

    if (call->inputs[0]->dtype != MDF_DTYPE_FLOAT32 ||
        (given->precision != MDF_DTYPE_NONE && given->precision != MDF_DTYPE_FLOAT32)) {
        return false;
    }
    if (!integer_range(dtype, &lowest, &largest)) {
        return plan_small(call, dtype, "quantize_small", plan);
    }
    plan->dtype = mdf_dtype_in_bytes(dtype);
    if (!plan_scales(call, "quantize", plan)) {
        return false;
    }
    plan->real[0] = (double)lowest;
    plan->real[1] = (double)largest;
    return true;
}

static bool plan_dequantize(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    mdf_dtype dtype = (mdf_dtype)call->inputs[0]->dtype;
    char kind = mdf_dtype_kind(dtype);

    plan->dtype = mdf_dtype_in_bytes(dtype);
    return call->outputs[0]->dtype == MDF_DTYPE_FLOAT32 && (mdf_call_input(call, 2) == NULL || call->inputs[2]->dtype == dtype) &&
           (kind == 'i' || kind == 'u' ? plan_scales(call, "dequantize", plan)
                                       : plan_small(call, dtype, "dequantize_small", plan));
}

static bool plan_dynamic(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    if (call->inputs[0]->length == 0 || !mdf_routine_room(plan, 1, 0)) {
        return false;
    }
    plan->function = "dynamic_quantize";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)call->inputs[0]->length;
    return true;
}

#include "mdf_c/tensor/half_floats.inc"
#include "mdf_c/tensor/small_floats.inc"
#include "functions/quantised/scales_routine.inc"
#define NAME(x) mdf_##x##_int8
#define ELEMENT int8_t
#include "functions/quantised/quantize_routine.inc"
#undef NAME
#undef ELEMENT
#define NAME(x) mdf_##x##_uint8
#define ELEMENT uint8_t
#include "functions/quantised/quantize_routine.inc"
#undef NAME
#undef ELEMENT

/* Of so few elements that the kernels' looks at types and shapes would take longer. */
enum { MOST_ROUTINE_ELEMENTS = 1 << 9 };

/* The first three numbers are those of mdf_scale_place. */
static bool is_little(const struct mdf_routine_plan *plan)
{
    int64_t n = 1;

    for (size_t i = 0; i < 3; i++) {
        if (plan->whole[i] > MOST_ROUTINE_ELEMENTS || n * plan->whole[i] > MOST_ROUTINE_ELEMENTS) {
            return false;
        }
        n *= plan->whole[i];
    }
    return true;
}

static mdf_routine_function quantize_function(const struct mdf_routine_plan *plan)
{
    return !is_little(plan)                 ? NULL
           : plan->dtype == MDF_DTYPE_INT8  ? mdf_quantize_int8
           : plan->dtype == MDF_DTYPE_UINT8 ? mdf_quantize_uint8
                                            : NULL;
}

static mdf_routine_function dequantize_function(const struct mdf_routine_plan *plan)
{
    return !is_little(plan)                 ? NULL
           : plan->dtype == MDF_DTYPE_INT8  ? mdf_dequantize_int8
           : plan->dtype == MDF_DTYPE_UINT8 ? mdf_dequantize_uint8
                                            : NULL;
}

static mdf_routine_function dynamic_function(const struct mdf_routine_plan *plan)
{
    return plan->whole[0] <= MOST_ROUTINE_ELEMENTS ? mdf_dynamic_quantize : NULL;
}

const struct mdf_operator mdf_operators_quantize[] = {
    {"QuantizeLinear", 10, 99, run_quantize, quantize_settings, sizeof(struct quantize_settings), MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_quantize, .takes_bits = true, .function = quantize_function}},
    {"DequantizeLinear", 10, 99, run_dequantize, quantize_settings, sizeof(struct quantize_settings), MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_dequantize, .takes_bits = true, .function = dequantize_function}},
    {"DynamicQuantizeLinear", 11, 99, run_dynamic_quantize, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_dynamic, .function = dynamic_function}, .infer = &mdf_rule_with_scalars},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
