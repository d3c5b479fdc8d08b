/* quantised_product.c - products and convolutions of quantised numbers: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv.
 *
 * Comes in: integers of 8 bits (QLinearMatMul: also float8), each array with a zero point and, in the QLinear forms, a scale.
 * Goes out: the sums of products as int32 or, in the QLinear forms, scaled, rounded to even and saturated. The usual forms are
 * summed as bytes (byte_products.h), or in float32 where that holds every sum exactly; others, such as float8 and zero points
 * that broadcast, in float64. Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/routine_vectors.h"
#include "functions/products/requantise_routine.inc"
#include "functions/products/byte_words.h"
#include "functions/products/matrix_product.h"
#include "functions/quantised/byte_products.h"
#include "functions/windows/convolutions/conv.h"
#include "mdf_c/base/processor.h"
#include "mdf_c/base/sizes.h"

#include <math.h>

enum {
    QUANTISED_ARRAYS = MDF_CONV_ARRAYS + MDF_BYTE_PRODUCT_ARRAYS + 13, /* of the workspace */

    QLINEAR_SECOND = 3, /* the input that the second operand of the QLinear forms is */
    BLOCK_ELEMENTS = 4096,
    LARGEST_PRODUCT = 255 * 255,
    EXACT_FLOAT32 = 1 << 24 /* whole numbers up to here are float32 */
};

/* Rough time to convert or to requantise an element, to judge what is worth a thread. */
static const double element_ns = 0.3;

/* How an array of numbers goes with a larger one: element i of that with number `of(i)`. */
struct repeated {
    const double *numbers;
    const struct mdf_value *shape_of; /* NULL: one number for all */
    size_t n_period, n_inner;         /* one number a slice along an axis: i / n_inner % n_period */
    bool along_axis;
};

/* Which number goes with element `i` of an array of that rank and shape. */
static double number_for(const struct repeated *repeated, size_t rank, const int64_t *shape, size_t i)
{
    size_t offset = 0, stride = 1, own_rank;

    if (repeated->shape_of == NULL) {
        return repeated->numbers[0];
    }
    if (repeated->along_axis) {
        return repeated->numbers[i / repeated->n_inner % repeated->n_period];
    }
    own_rank = repeated->shape_of->rank;
    for (size_t axis = rank; axis-- > rank - own_rank;) {
        size_t own = (size_t)mdf_value_shape(repeated->shape_of)[axis - (rank - own_rank)];

        offset += own == 1 ? 0 : i % (size_t)shape[axis] * stride;
        stride *= own;
        i /= (size_t)shape[axis];
    }
    return repeated->numbers[offset];
}

/* Reads input `i`, which has one number, one for each slice along `axis`, or a shape that broadcasts. Omitted: `otherwise`. */
static bool read_repeated(struct mdf_workspace *workspace, size_t i, size_t rank, const int64_t *shape, size_t axis,
                          const double *otherwise, struct repeated *repeated)
{
    const struct mdf_value *value = mdf_call_input(workspace->call, i);
    bool fits;

    *repeated = (struct repeated){otherwise, NULL, 1, 1, false};
    if (value == NULL) {
        return true;
    }
    repeated->numbers = mdf_workspace_input(workspace, i);
    if (repeated->numbers == NULL || value->length == 1) {
        return repeated->numbers != NULL;
    }
    repeated->shape_of = value;
    repeated->along_axis = value->rank == 1 && axis < rank;
    if (repeated->along_axis) {
        repeated->n_period = value->length;
        for (size_t later = axis + 1; later < rank; later++) {
            repeated->n_inner *= (size_t)(shape[later] > 0 ? shape[later] : 1);
        }
    }
    fits = repeated->along_axis ? (int64_t)value->length == shape[axis] : value->rank <= rank;
    for (size_t own = 0; fits && !repeated->along_axis && own < value->rank; own++) {
        int64_t size = mdf_value_shape(value)[own];

        fits = size == 1 || size == shape[rank - value->rank + own];
    }
    return fits || mdf_call_error(workspace->call, MDF_SHAPE, "input %zu does not fit the array that it belongs to", i + 1);
}

/* How many adjacent elements, of `n` in all, go with the same number. */
static size_t run_of(const struct repeated *repeated, size_t n)
{
    return repeated->shape_of == NULL ? n : repeated->along_axis ? repeated->n_inner : 1;
}

/* Input `i` less its zero point, input `zero`; NULL with the error set. */
static const double *centre(struct mdf_workspace *workspace, size_t i, size_t zero, size_t axis)
{
    static const double none = 0;
    const struct mdf_value *value = mdf_call_tensor(workspace->call, i);
    struct repeated zeros;
    double *target;

    if (value == NULL || !read_repeated(workspace, zero, value->rank, mdf_value_shape(value), axis, &none, &zeros)) {
        return NULL;
    }
    target = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, value->length);
    if (target != NULL && value->length > 0) {
        mdf_value_convert_elements(workspace->call->context->memory, MDF_DTYPE_FLOAT64, target, (mdf_dtype)value->dtype,
                                   value->data, value->length, false);
        for (size_t first = 0, n = run_of(&zeros, value->length); first < value->length; first += n) {
            double number = number_for(&zeros, value->rank, mdf_value_shape(value), first);

            for (size_t element = 0; element < n; element++) {
                target[first + element] -= number;
            }
        }
    }
    return target;
}

/* What turns sums into quantised results. */
struct requantisation {
    struct repeated x_scale, weight_scale, y_scale, y_zero;
};

/* Scaled, rounded to even and saturated; NaN: the lowest. Cut off first, where no zero point could bring a number back into
 * range, so that a sum that has no place for a fraction rounds it. */
static void requantise_whole(size_t n, double scale, double zero, double low, double high, double *y)
{
    const double limit = 0x1p40, without_fraction = 0x1.8p52;

    for (size_t i = 0; i < n; i++) {
        double scaled = y[i] * scale, cut = scaled > -limit ? (scaled < limit ? scaled : limit) : -limit;
        double shifted = (cut + without_fraction) - without_fraction + zero;

        y[i] = shifted > low ? (shifted < high ? shifted : high) : low;
    }
}

/* Scales, rounds and saturates the results in place. */
static void requantise(const struct requantisation *by, mdf_dtype dtype, size_t rank, const int64_t *shape, size_t n, double *y)
{
    double low = dtype == MDF_DTYPE_INT8 ? -128 : 0, high = dtype == MDF_DTYPE_INT8 ? 127 : 255;
    size_t n_run = mdf_least(mdf_least(run_of(&by->x_scale, n), run_of(&by->weight_scale, n)),
                             mdf_least(run_of(&by->y_scale, n), run_of(&by->y_zero, n)));

    for (size_t first = 0; first < n; first += n_run) {
        float scale = (float)number_for(&by->x_scale, rank, shape, first) *
                      (float)number_for(&by->weight_scale, rank, shape, first) /
                      (float)number_for(&by->y_scale, rank, shape, first);
        double zero = number_for(&by->y_zero, rank, shape, first);

        if (mdf_dtype_kind(dtype) != 'f') {
            requantise_whole(n_run, (double)scale, zero, low, high, y + first);
            continue;
        }
        for (size_t i = first; i < first + n_run; i++) {
            y[i] = y[i] * (double)scale + zero;
        }
    }
}

/* Sums as int32 in lines along the last axes, and what they become. */
struct requantised {
    const struct requantisation *by;
    size_t rank;
    const int64_t *shape;
    size_t n_lines, n; /* n: of a line */
    bool is_signed;
    const uint32_t *sums;
    float *scales;      /* where they vary within a line: of each element, or of each of a line; else NULL */
    bool shares_scales; /* all lines have the same */
    uint8_t *y;
};

/* Whether the numbers differ within a line of `n` elements. */
static bool varies_in_line(const struct repeated *repeated, size_t n)
{
    return repeated->shape_of != NULL && (!repeated->along_axis || repeated->n_inner < n);
}

static float scale_of(const struct requantised *job, size_t i)
{
    const struct requantisation *by = job->by;

    return (float)number_for(&by->x_scale, job->rank, job->shape, i) *
           (float)number_for(&by->weight_scale, job->rank, job->shape, i) /
           (float)number_for(&by->y_scale, job->rank, job->shape, i);
}

static void fill_scales(const struct requantised *job, size_t first, float *scales)
{
    for (size_t i = 0; i < job->n; i++) {
        scales[i] = scale_of(job, first + i);
    }
}

static void requantise_lines(void *context, size_t first, size_t last)
{
    const struct requantised *job = context;

    for (size_t at = first; at < last; at++) {
        size_t begin = at * job->n;
        struct mdf_requantised_line line = {.zero = (int32_t)number_for(&job->by->y_zero, job->rank, job->shape, begin),
                                            .is_signed = job->is_signed,
                                            .to = job->y + begin};

        if (job->scales == NULL) {
            line.scale = scale_of(job, begin);
        } else if (job->shares_scales) {
            line.scales = job->scales;
        } else {
            fill_scales(job, begin, job->scales + begin);
            line.scales = job->scales + begin;
        }
        mdf_byte_words()->requantise(job->n, job->sums + begin, &line);
    }
}

/* Requantises sums whose zero points do not vary within a line. */
static bool requantise_sums(struct mdf_workspace *workspace, struct requantised *job)
{
    const struct requantisation *by = job->by;
    bool vary =
        varies_in_line(&by->x_scale, job->n) || varies_in_line(&by->weight_scale, job->n) || varies_in_line(&by->y_scale, job->n);

    if (job->n_lines == 0 || job->n == 0) {
        return true;
    }
    job->scales = NULL;
    job->shares_scales = by->x_scale.shape_of == NULL && by->y_scale.shape_of == NULL && by->weight_scale.along_axis;
    if (vary) {
        job->scales = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT32, job->shares_scales ? 1 : job->n_lines, job->n);
        if (job->scales == NULL) {
            return false;
        }
    }
    if (vary && job->shares_scales) {
        fill_scales(job, 0, job->scales);
    }
    mdf_parallel_for(workspace->call->context, job->n_lines, element_ns * (double)job->n, requantise_lines, job);
    return true;
}

static struct mdf_byte_operand operand(const struct mdf_call *call, size_t i, size_t zero)
{
    return (struct mdf_byte_operand){mdf_call_input(call, i), mdf_call_input(call, zero), mdf_call_is_constant(call, i), false};
}

static bool is_byte_type(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT8 || dtype == MDF_DTYPE_UINT8;
}

/* ------------------------------------------------------------------ matrices */

/* The axis that numbers of a first operand go along: its rows; and of a second one: its columns. */
static size_t row_axis(const struct mdf_value *a)
{
    return a == NULL || a->rank < 2 ? SIZE_MAX : a->rank - 2;
}

static size_t column_axis(const struct mdf_value *b)
{
    return b == NULL || b->rank < 2 ? SIZE_MAX : b->rank - 1;
}

static bool are_bytes(const struct mdf_byte_operand *a, const struct mdf_byte_operand *b)
{
    return mdf_byte_operand_fits(a, row_axis(a->value)) && mdf_byte_operand_fits(b, column_axis(b->value));
}

/* The product in float64 of inputs 0 and `b_input`, each followed by its zero point two inputs later. */
static bool multiply_wide(struct mdf_workspace *workspace, size_t b_input, const struct mdf_matrix_product *plan, double *y)
{
    const struct mdf_call *call = workspace->call;
    const double *a = centre(workspace, 0, 2, row_axis(call->inputs[0])), *b;

    b = a == NULL ? NULL : centre(workspace, b_input, b_input + 2, column_axis(call->inputs[b_input]));
    return b != NULL && mdf_matrix_product_run(workspace, plan, a, b, false, y);
}

static bool matmul_integer(struct mdf_call *call)
{
    struct mdf_byte_operand a = operand(call, 0, 2), b = operand(call, 1, 3);
    struct mdf_workspace workspace;
    struct mdf_matrix_product plan;
    void *y;

    if (mdf_call_tensor(call, 0) == NULL || mdf_call_tensor(call, 1) == NULL ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, QUANTISED_ARRAYS) ||
        !mdf_matrix_product_plan(&workspace, a.value, b.value, &plan)) {
        return false;
    }
    if (are_bytes(&a, &b)) {
        y = mdf_call_output(call, 0, MDF_DTYPE_INT32, plan.rank, plan.shape);
        return y != NULL && mdf_byte_product(&workspace, &plan, &a, &b, y);
    }
    y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_INT32, plan.rank, plan.shape);
    return y != NULL && multiply_wide(&workspace, 1, &plan, y) && mdf_workspace_end(&workspace);
}

/* Reads what turns the sums of a QLinearMatMul into its results. */
static bool read_matmul_scales(struct mdf_workspace *workspace, const struct mdf_matrix_product *plan, struct requantisation *by)
{
    static const double none = 0, one = 1;
    const struct mdf_call *call = workspace->call;
    size_t columns = call->inputs[3]->rank > 1 ? plan->rank - 1 : SIZE_MAX;
    size_t rows = call->inputs[0]->rank > 1 ? plan->rank - (columns == SIZE_MAX ? 1 : 2) : SIZE_MAX;

    return read_repeated(workspace, 1, plan->rank, plan->shape, rows, &one, &by->x_scale) &&
           read_repeated(workspace, 4, plan->rank, plan->shape, columns, &one, &by->weight_scale) &&
           read_repeated(workspace, 6, plan->rank, plan->shape, rows, &one, &by->y_scale) &&
           read_repeated(workspace, 7, plan->rank, plan->shape, rows, &none, &by->y_zero);
}

static bool qlinear_matmul(struct mdf_call *call)
{
    struct mdf_byte_operand a = operand(call, 0, 2), b = operand(call, 3, 5);
    const struct mdf_value *zero = mdf_call_input(call, 7);
    struct mdf_workspace workspace;
    struct mdf_matrix_product plan;
    struct requantisation by;
    mdf_dtype dtype;
    size_t n, n_line;
    void *y, *sums;

    if (mdf_call_tensor(call, 0) == NULL || mdf_call_tensor(call, 3) == NULL ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, QUANTISED_ARRAYS) ||
        !mdf_matrix_product_plan(&workspace, a.value, b.value, &plan) ||
        !mdf_workspace_product(call, plan.shape, 0, plan.rank, &n) || !read_matmul_scales(&workspace, &plan, &by)) {
        return false;
    }
    dtype = (mdf_dtype)(zero != NULL ? zero : a.value)->dtype;
    n_line = plan.rank > 0 ? (size_t)plan.shape[plan.rank - 1] : 1;
    if (are_bytes(&a, &b) && is_byte_type(dtype) && plan.k <= INT32_MAX / LARGEST_PRODUCT &&
        !varies_in_line(&by.y_zero, n_line)) {
        struct requantised job = {
            .by = &by, .rank = plan.rank, .shape = plan.shape, .n = n_line, .is_signed = dtype == MDF_DTYPE_INT8};

        job.y = mdf_call_output(call, 0, dtype, plan.rank, plan.shape);
        job.sums = sums = job.y == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_UINT32, n);
        job.n_lines = n_line > 0 ? n / n_line : 0;
        return sums != NULL && mdf_byte_product(&workspace, &plan, &a, &b, sums) && requantise_sums(&workspace, &job);
    }
    y = mdf_workspace_output(&workspace, 0, dtype, plan.rank, plan.shape);
    if (y == NULL || !multiply_wide(&workspace, 3, &plan, y)) {
        return false;
    }
    requantise(&by, dtype, plan.rank, plan.shape, n, y);
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ convolutions */

/* A convolution of inputs 0 and `w_input`, each followed by its zero point `zero` inputs later. */
struct convolution {
    struct mdf_conv_plan plan;
    size_t w_input, zero;
    struct mdf_byte_operand x, weights;
    const struct mdf_value *bias;
    size_t n; /* elements of the result */
};

static bool begin_convolution(struct mdf_workspace *workspace, struct mdf_call *call, struct convolution *conv)
{
    conv->x = operand(call, 0, conv->zero);
    conv->weights = operand(call, conv->w_input, conv->w_input + conv->zero);
    return mdf_call_tensor(call, 0) != NULL && mdf_call_tensor(call, conv->w_input) != NULL &&
           mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, QUANTISED_ARRAYS) &&
           mdf_conv_read(workspace, call->settings, conv->x.value, conv->weights.value, conv->bias, &conv->plan) &&
           mdf_workspace_product(call, conv->plan.windows.shape, 0, conv->plan.windows.rank + 2, &conv->n);
}

/* Terms of a sum. */
static size_t count_terms(const struct convolution *conv)
{
    const struct mdf_value *weights = conv->weights.value;

    return conv->plan.n_outputs == 0 ? 0 : weights->length / conv->plan.n_outputs;
}

/* How large a bias may be for sums that are scaled to be int32; below 0: no sum is sure to be. */
static int64_t largest_bias(const struct convolution *conv)
{
    return INT32_MAX - (int64_t)LARGEST_PRODUCT * (int64_t)count_terms(conv);
}

/* Whether it is one of bytes whose sums, but for the bias, are int32 where they are to be scaled. */
static bool has_bytes(const struct convolution *conv, bool is_scaled)
{
    return mdf_byte_operand_fits(&conv->x, SIZE_MAX) && mdf_byte_operand_fits(&conv->weights, 0) &&
           (conv->bias == NULL || conv->bias->dtype == MDF_DTYPE_INT32) && (!is_scaled || largest_bias(conv) >= 0);
}

/* The same with the bias. */
static bool convolves_bytes(const struct convolution *conv, bool is_scaled)
{
    int64_t most = largest_bias(conv);

    if (!has_bytes(conv, is_scaled)) {
        return false;
    }
    for (size_t i = 0; is_scaled && conv->bias != NULL && i < conv->bias->length; i++) {
        int64_t bias = ((const int32_t *)conv->bias->data)[i];

        if (bias > most || bias < -most) {
            return false;
        }
    }
    return true;
}

/* The convolution in float64. */
static bool convolve_wide(struct mdf_workspace *workspace, const struct convolution *conv, double *y)
{
    const double *x = centre(workspace, 0, conv->zero, SIZE_MAX), *weights, *bias = NULL;

    weights = x == NULL ? NULL : centre(workspace, conv->w_input, conv->w_input + conv->zero, 0);
    if (weights != NULL && conv->bias != NULL) {
        bias = mdf_workspace_input(workspace, 8);
        weights = bias == NULL ? NULL : weights;
    }
    return weights != NULL && mdf_conv_run(workspace, &conv->plan, x, weights, bias, y);
}

/* Arrays that a convolution in reals goes through, in blocks: of bytes, or of sums. */
struct reals {
    mdf_dtype dtype;
    const struct mdf_byte_operand *bytes;
    size_t first, n, n_slice; /* first: of the bytes; n_slice: elements with one zero point */
    void *reals;
    uint32_t *sums;
};

/* Blocks of bytes less their zero points. */
static void centre_blocks(void *context, size_t first, size_t last)
{
    const struct reals *job = context;
    const struct mdf_value *value = job->bytes->value;
    size_t end = last * BLOCK_ELEMENTS < job->n ? last * BLOCK_ELEMENTS : job->n, n;

    for (size_t at = first * BLOCK_ELEMENTS; at < end; at += n) {
        const uint8_t *bytes = (const uint8_t *)value->data + job->first + at;
        int zero = mdf_byte_operand_zero(job->bytes, at / job->n_slice);

        n = job->n_slice - at % job->n_slice < end - at ? job->n_slice - at % job->n_slice : end - at;
        if (job->dtype == MDF_DTYPE_FLOAT32) {
            mdf_byte_words()->to_reals(n, bytes, value->dtype == MDF_DTYPE_INT8, (float)zero, (float *)job->reals + at);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            ((double *)job->reals)[at + i] = (value->dtype == MDF_DTYPE_INT8 ? (int8_t)bytes[i] : bytes[i]) - zero;
        }
    }
}

static void round_blocks(void *context, size_t first, size_t last)
{
    const struct reals *job = context;
    size_t at = first * BLOCK_ELEMENTS, end = last * BLOCK_ELEMENTS < job->n ? last * BLOCK_ELEMENTS : job->n;

    if (job->dtype == MDF_DTYPE_FLOAT32) {
        mdf_byte_words()->from_reals(end - at, (float *)job->reals + at, 0, job->sums + at);
        return;
    }
    for (; at < end; at++) {
        job->sums[at] = (uint32_t)(int64_t)((double *)job->reals)[at];
    }
}

static void run_blocks(const struct mdf_workspace *workspace, struct reals *job, void (*work)(void *, size_t, size_t))
{
    mdf_parallel_for(workspace->call->context, (job->n + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS, element_ns * BLOCK_ELEMENTS, work,
                     job);
}

static void *centre_bytes(struct mdf_workspace *workspace, const struct mdf_byte_operand *bytes, size_t n_slices)
{
    size_t n = bytes->value->length;
    struct reals job = {.dtype = workspace->dtype, .bytes = bytes, .n = n, .n_slice = n_slices > 0 ? n / n_slices : n};

    job.reals = mdf_workspace_array(workspace, workspace->dtype, n);
    if (job.reals != NULL) {
        run_blocks(workspace, &job, centre_blocks);
    }
    return job.reals;
}

/* A part of a convolution: all of it or, where each channel is by itself, some channels of one batch, so that their reals stay in
 * the cache. */
struct part {
    struct mdf_conv_plan plan;
    int64_t *shape;        /* the plan's */
    size_t x_size, y_size; /* of a channel of the array, and of one of the result */
};

/* Makes of a part one of n channels. */
static void take_channels(const struct convolution *conv, struct part *part, size_t n)
{
    part->plan.n_channels = n;
    part->plan.n_outputs = n * conv->plan.n_outputs / conv->plan.n_channels;
    part->plan.n_groups = n * conv->plan.n_groups / conv->plan.n_channels;
    part->shape[0] = (int64_t)part->plan.n_batches;
    part->shape[1] = (int64_t)part->plan.n_outputs;
}

/* False with the error set. */
static bool find_part(struct mdf_workspace *workspace, const struct convolution *conv, struct part *part)
{
    enum { CACHED_REALS = 1 << 17, FEWEST_CHANNELS = 16 };
    const struct mdf_windows *windows = &conv->plan.windows;
    size_t n = conv->plan.n_batches * conv->plan.n_channels, most;

    part->plan = conv->plan;
    part->plan.windows.shape = part->shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, windows->rank + 2);
    if (part->shape == NULL) {
        return false;
    }
    memcpy(part->shape, windows->shape, (windows->rank + 2) * sizeof *part->shape);
    part->x_size = n > 0 ? conv->x.value->length / n : 0;
    part->y_size = conv->n > 0 ? conv->n / (conv->plan.n_batches * conv->plan.n_outputs) : 0;
    most = CACHED_REALS / (part->x_size + part->y_size + 1);
    if (n > 0 && conv->plan.n_groups == conv->plan.n_channels) {
        part->plan.n_batches = 1;
        take_channels(conv, part, mdf_least(conv->plan.n_channels, most > FEWEST_CHANNELS ? most : FEWEST_CHANNELS));
    }
    return true;
}

/* n channels from the first one on, counted over all batches; x: room for their reals. */
static bool convolve_part(struct mdf_workspace *workspace, const struct convolution *conv, struct part *part, size_t first,
                          size_t n, const char *weights, void *x, struct reals *sums)
{
    struct reals met = {.dtype = sums->dtype, .bytes = &conv->x, .first = first * part->x_size, .reals = x};
    size_t size = mdf_dtype_size(sums->dtype), channel = first % conv->plan.n_channels;
    struct reals made = *sums;
    bool done;

    take_channels(conv, part, n);
    met.n = met.n_slice = part->plan.n_batches * n * part->x_size;
    made.n = part->plan.n_batches * part->plan.n_outputs * part->y_size;
    made.sums += first * conv->plan.n_outputs / conv->plan.n_channels * part->y_size;
    weights += channel * conv->weights.value->length / conv->plan.n_channels * size;
    run_blocks(workspace, &met, centre_blocks);
    done = mdf_conv_run(workspace, &part->plan, x, weights, NULL, made.reals);
    if (done) {
        run_blocks(workspace, &made, round_blocks);
    }
    return done;
}

/* Sums of bytes in the narrowest reals that hold them exactly, without the bias. */
static bool convolve_reals(struct mdf_workspace *workspace, const struct convolution *conv, uint32_t *sums)
{
    bool is_narrow = count_terms(conv) <= EXACT_FLOAT32 / LARGEST_PRODUCT, done = true;
    struct reals job = {.dtype = is_narrow ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, .sums = sums};
    size_t n = conv->plan.n_batches * conv->plan.n_channels, n_now, most, n_used;
    struct part part;
    void *x, *weights;

    if (!find_part(workspace, conv, &part)) {
        return false;
    }
    workspace->dtype = job.dtype;
    most = part.plan.n_channels;
    x = mdf_workspace_matrix(workspace, job.dtype, part.plan.n_batches * most, part.x_size);
    weights = x == NULL ? NULL : centre_bytes(workspace, &conv->weights, conv->plan.n_outputs);
    job.reals = weights == NULL
                    ? NULL
                    : mdf_workspace_matrix(workspace, job.dtype, part.plan.n_batches * part.plan.n_outputs, part.y_size);
    done = job.reals != NULL;
    n_used = workspace->n_used;
    for (size_t first = 0; done && first < n; first += part.plan.n_batches * n_now) {
        workspace->n_used = n_used; /* each part asks for the same arrays */
        n_now = mdf_least(conv->plan.n_channels - first % conv->plan.n_channels, most);
        done = convolve_part(workspace, conv, &part, first, n_now, weights, x, &job);
    }
    workspace->dtype = MDF_DTYPE_FLOAT64;
    return done;
}

/* Few windows of one element: the weights are a matrix that multiplies each batch or, where there is one window, a transposed
 * one that all batches are multiplied with. Without the bias. */
static bool multiply_windows(struct mdf_workspace *workspace, const struct convolution *conv, uint32_t *sums)
{
    const struct mdf_conv_plan *plan = &conv->plan;
    size_t n_lines = plan->n_batches * plan->n_outputs, n = n_lines > 0 ? conv->n / n_lines : 0;
    int64_t n_batches = (int64_t)plan->n_batches, strides[2] = {0, (int64_t)(plan->n_channels * n)};
    struct mdf_byte_operand weights = conv->weights;
    struct mdf_matrix_product product = {.m = plan->n_outputs,
                                         .n = n,
                                         .k = plan->n_channels,
                                         .n_batches = plan->n_batches,
                                         .n_batch_axes = 1,
                                         .batch_shape = &n_batches,
                                         .a_strides = strides,
                                         .b_strides = strides + 1};

    if (n != 1) {
        return mdf_byte_product(workspace, &product, &weights, &conv->x, sums);
    }
    weights.is_transposed = true;
    product.m = plan->n_batches;
    product.n = plan->n_outputs;
    product.n_batches = 1;
    product.n_batch_axes = 0;
    return mdf_byte_product(workspace, &product, &conv->x, &weights, sums);
}

/* The convolution of bytes as sums of 32 bits. */
static bool convolve_bytes(struct mdf_workspace *workspace, const struct convolution *conv, uint32_t *sums)
{
    const int32_t *bias = conv->bias == NULL ? NULL : conv->bias->data;
    size_t n_lines = conv->plan.n_batches * conv->plan.n_outputs, n = n_lines > 0 ? conv->n / n_lines : 0;
    bool fits;

    if (!mdf_byte_convolution(workspace, &conv->plan, &conv->x, &conv->weights, bias, sums, &fits)) {
        return false;
    }
    if (fits) {
        return true;
    }
    if (conv->plan.n_groups == 1 && conv->plan.n_channels > 1 && mdf_conv_is_pointwise(&conv->plan.windows)
            ? !multiply_windows(workspace, conv, sums)
            : !convolve_reals(workspace, conv, sums)) {
        return false;
    }
    for (size_t line = 0; bias != NULL && line < n_lines; line++) {
        mdf_byte_words()->correct(n, (uint32_t)bias[line % conv->plan.n_outputs], 0, NULL, 0, NULL, sums + line * n);
    }
    return true;
}

static bool conv_integer(struct mdf_call *call)
{
    struct convolution conv = {.w_input = 1, .zero = 2};
    struct mdf_windows *windows = &conv.plan.windows;
    struct mdf_workspace workspace;
    void *y;

    if (!begin_convolution(&workspace, call, &conv)) {
        return false;
    }
    if (convolves_bytes(&conv, false)) {
        y = mdf_call_output(call, 0, MDF_DTYPE_INT32, windows->rank + 2, windows->shape);
        return y != NULL && convolve_bytes(&workspace, &conv, y);
    }
    y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_INT32, windows->rank + 2, windows->shape);
    return y != NULL && convolve_wide(&workspace, &conv, y) && mdf_workspace_end(&workspace);
}

static bool read_conv_scales(struct mdf_workspace *workspace, const struct mdf_windows *windows, struct requantisation *by)
{
    static const double none = 0, one = 1;
    size_t rank = windows->rank + 2;

    return read_repeated(workspace, 1, rank, windows->shape, SIZE_MAX, &one, &by->x_scale) &&
           read_repeated(workspace, 4, rank, windows->shape, 1, &one, &by->weight_scale) &&
           read_repeated(workspace, 6, rank, windows->shape, SIZE_MAX, &one, &by->y_scale) &&
           read_repeated(workspace, 7, rank, windows->shape, SIZE_MAX, &none, &by->y_zero);
}

static bool qlinear_conv(struct mdf_call *call)
{
    struct convolution conv = {.w_input = 3, .zero = 2, .bias = mdf_call_input(call, 8)};
    struct mdf_windows *windows = &conv.plan.windows;
    const struct mdf_value *zero = mdf_call_input(call, 7);
    struct mdf_workspace workspace;
    struct requantisation by;
    mdf_dtype dtype;
    size_t n_lines;
    void *y, *sums;

    if ((conv.bias != NULL && mdf_call_tensor(call, 8) == NULL) || !begin_convolution(&workspace, call, &conv) ||
        !read_conv_scales(&workspace, windows, &by)) {
        return false;
    }
    dtype = (mdf_dtype)(zero != NULL ? zero : conv.x.value)->dtype;
    n_lines = conv.plan.n_batches * conv.plan.n_outputs;
    if (convolves_bytes(&conv, true) && is_byte_type(dtype) && by.y_zero.shape_of == NULL) {
        struct requantised job = {.by = &by,
                                  .rank = windows->rank + 2,
                                  .shape = windows->shape,
                                  .n_lines = n_lines,
                                  .n = n_lines > 0 ? conv.n / n_lines : 0,
                                  .is_signed = dtype == MDF_DTYPE_INT8};

        job.y = mdf_call_output(call, 0, dtype, job.rank, job.shape);
        job.sums = sums = job.y == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_UINT32, conv.n);
        return sums != NULL && convolve_bytes(&workspace, &conv, sums) && requantise_sums(&workspace, &job);
    }
    y = mdf_workspace_output(&workspace, 0, dtype, windows->rank + 2, windows->shape);
    if (y == NULL || !convolve_wide(&workspace, &conv, y)) {
        return false;
    }
    requantise(&by, dtype, windows->rank + 2, windows->shape, conv.n, y);
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: bytes_routine.inc, quantised_routine.inc */

/* Whether there is a number for each slice along an axis, and not one for all. Sets *fits to false where it is neither. */
static bool goes_along(const struct mdf_value *numbers, size_t n, bool has_axis, bool *fits)
{
    bool is_one = numbers == NULL || numbers->length == 1;

    *fits = *fits && (is_one || (has_axis && numbers->rank == 1 && numbers->length == n));
    return !is_one;
}

static bool is_signed(const struct mdf_value *value)
{
    return value != NULL && value->dtype == MDF_DTYPE_INT8;
}

/* What both kinds of sums are: whole[0] to whole[3], of operands that are inputs 0 and `second`; false: not of bytes, or of
 * scales that are not float32. */
static bool plan_bytes(const struct mdf_call *call, size_t second, struct mdf_routine_plan *plan)
{
    bool is_scaled = second == QLINEAR_SECOND;

    if (is_scaled && (call->inputs[1]->dtype != MDF_DTYPE_FLOAT32 || call->inputs[4]->dtype != MDF_DTYPE_FLOAT32 ||
                      call->inputs[6]->dtype != MDF_DTYPE_FLOAT32)) {
        return false;
    }
    plan->whole[0] = is_scaled;
    plan->whole[1] = is_signed(call->outputs[0]);
    plan->whole[2] = is_signed(call->inputs[0]);
    plan->whole[3] = is_signed(call->inputs[second]);
    return is_byte_type((mdf_dtype)call->inputs[0]->dtype) && is_byte_type((mdf_dtype)call->inputs[second]->dtype) &&
           (!is_scaled || is_byte_type((mdf_dtype)call->outputs[0]->dtype));
}

/* Along which operands' rows and columns numbers go; false: they go otherwise. */
static bool plan_along(const struct mdf_call *call, size_t second, const struct mdf_matrix_product *product, int64_t *along)
{
    bool is_scaled = second == QLINEAR_SECOND, has_rows = call->inputs[0]->rank > 1, has_columns = call->inputs[second]->rank > 1;
    bool fits = true;
    const struct mdf_value *a_zero = mdf_call_input(call, 2), *b_zero = mdf_call_input(call, is_scaled ? 5 : 3);

    along[0] = is_scaled && goes_along(call->inputs[1], product->m, has_rows, &fits);
    along[1] = goes_along(a_zero, product->m, has_rows, &fits);
    along[2] = is_scaled && goes_along(call->inputs[4], product->n, has_columns, &fits);
    along[3] = goes_along(b_zero, product->n, has_columns, &fits);
    along[4] = is_scaled && goes_along(call->inputs[6], product->m, has_rows, &fits);
    along[5] = is_scaled && goes_along(mdf_call_input(call, 7), product->m, has_rows, &fits);
    return fits;
}

static bool plan_product(struct mdf_call *call, size_t second, const char *function, struct mdf_routine_plan *plan)
{
    struct mdf_workspace workspace;
    struct mdf_matrix_product product;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, QUANTISED_ARRAYS) ||
        !mdf_matrix_product_plan(&workspace, call->inputs[0], call->inputs[second], &product) ||
        !mdf_routine_room(plan, 15 + 3 * product.n_batch_axes, 0) || !plan_bytes(call, second, plan) ||
        !plan_along(call, second, &product, plan->whole + 8) || product.k > INT32_MAX / LARGEST_PRODUCT) {
        return false;
    }
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[4] = (int64_t)product.m;
    plan->whole[5] = (int64_t)product.n;
    plan->whole[6] = (int64_t)product.k;
    plan->whole[7] = (int64_t)product.n_batches;
    plan->whole[14] = (int64_t)product.n_batch_axes;
    for (size_t axis = 0; axis < product.n_batch_axes; axis++) {
        plan->whole[15 + 3 * axis] = product.batch_shape[axis];
        plan->whole[16 + 3 * axis] = product.a_strides[axis];
        plan->whole[17 + 3 * axis] = product.b_strides[axis];
    }
    plan->work_bytes = (product.n > 0 ? product.n : 1) * sizeof(uint32_t);
    return true;
}

static bool plan_matmul_integer(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_product(call, 1, "multiply_integers", plan);
}

static bool plan_qlinear_matmul(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_product(call, QLINEAR_SECOND, "multiply_bytes", plan);
}

static bool plan_convolution(struct mdf_call *call, size_t second, const char *function, struct mdf_routine_plan *plan)
{
    bool is_scaled = second == QLINEAR_SECOND, fits = true;
    struct convolution conv = {.w_input = second, .zero = 2, .bias = is_scaled ? mdf_call_input(call, 8) : NULL};
    const struct mdf_conv_plan *shape = &conv.plan;
    struct mdf_workspace workspace;
    size_t n_run;

    if (!begin_convolution(&workspace, call, &conv) || !mdf_routine_room(plan, 12 + 6 * shape->windows.rank, 0) ||
        !plan_bytes(call, second, plan) || !has_bytes(&conv, is_scaled)) {
        return false;
    }
    n_run = (size_t)shape->windows.axes[shape->windows.rank - 1].windows;
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[4] = (int64_t)shape->n_batches;
    plan->whole[5] = (int64_t)shape->n_groups;
    plan->whole[6] = (int64_t)(shape->n_channels / shape->n_groups);
    plan->whole[7] = (int64_t)(shape->n_outputs / shape->n_groups);
    plan->whole[8] = is_scaled && goes_along(call->inputs[4], shape->n_outputs, true, &fits);
    plan->whole[9] = goes_along(mdf_call_input(call, second + 2), shape->n_outputs, true, &fits);
    plan->whole[10] = largest_bias(&conv);
    plan->whole[11] = (int64_t)shape->windows.rank;
    mdf_windows_write(&shape->windows, plan->whole + 12);
    plan->work_bytes = mdf_windows_bytes_met(&shape->windows) + n_run * sizeof(uint32_t);
    return fits && !goes_along(mdf_call_input(call, 2), 0, false, &fits) &&
           (!is_scaled || (call->inputs[1]->length == 1 && call->inputs[6]->length == 1 &&
                           !goes_along(mdf_call_input(call, 7), 0, false, &fits)));
}

static bool plan_conv_integer(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_convolution(call, 1, "convolve_integers", plan);
}

static bool plan_qlinear_conv(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_convolution(call, QLINEAR_SECOND, "convolve_bytes", plan);
}

#include "functions/windows/taps_routine.inc"
#include "functions/quantised/bytes_routine.inc"
#include "functions/quantised/quantised_routine.inc"

MDF_ROUTINE_IN_VECTORS(multiply_integers)
MDF_ROUTINE_IN_VECTORS(multiply_bytes)
MDF_ROUTINE_IN_VECTORS(convolve_integers)
MDF_ROUTINE_IN_VECTORS(convolve_bytes)

/* For so few products that the kernel's looks at types and shapes, and its preparations, would take longer: more of a single
 * line, for which it turns all of the matrix. */
static int64_t most_products(int64_t n_lines)
{
    enum { MOST_PRODUCTS = 1 << 11, MOST_OF_LINE = 1 << 22, MOST_WITHOUT_VECTORS = 1 << 9 };

    return !mdf_has_avx2() ? MOST_WITHOUT_VECTORS : n_lines == 1 ? MOST_OF_LINE : MOST_PRODUCTS;
}

/* Lines, columns, products of a sum and batches of a plan; batches, groups, channels and outputs: all of them multiplied, or more
 * than `most`. */
static int64_t count_sizes(const struct mdf_routine_plan *plan, int64_t most)
{
    int64_t n = 1;

    for (size_t i = 4; i < 8 && n <= most; i++) {
        n = plan->whole[i] > most ? most + 1 : n * plan->whole[i];
    }
    return n;
}

static mdf_routine_function product_function(const struct mdf_routine_plan *plan)
{
    int64_t most = most_products(plan->whole[4] * plan->whole[7]);

    return count_sizes(plan, most) > most ? NULL
           : plan->whole[0] == 0          ? MDF_ROUTINE_WIDEST(multiply_integers)
                                          : MDF_ROUTINE_WIDEST(multiply_bytes);
}

/* Of a few windows: the kernel's sums of more are faster. */
static mdf_routine_function convolution_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_OF_WINDOWS = 1 << 8 };
    int64_t n = count_sizes(plan, MOST_OF_WINDOWS);

    return !mdf_windows_meet_few(plan->whole + 12, plan->whole[11], n, MOST_OF_WINDOWS) ? NULL
           : plan->whole[0] == 0                                                        ? MDF_ROUTINE_WIDEST(convolve_integers)
                                                                                        : MDF_ROUTINE_WIDEST(convolve_bytes);
}

const struct mdf_operator mdf_operators_quantised_product[] = {
    {"MatMulInteger", 10, 99, matmul_integer, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_matmul_integer, .function = product_function}, .infer = &mdf_rule_matmul},
    {"QLinearMatMul", 10, 99, qlinear_matmul, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_qlinear_matmul, .function = product_function},
     .infer = &mdf_rule_qlinear_matmul},
    {"ConvInteger", 10, 99, conv_integer, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_conv_integer, .function = convolution_function}, .infer = &mdf_rule_conv},
    {"QLinearConv", 10, 99, qlinear_conv, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_qlinear_conv, .why = "a bias is so large that a sum may not be an int32",
                                            .function = convolution_function},
     .infer = &mdf_rule_qlinear_conv},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
