/* byte_products.c - see byte_products.h.
 *
 * Operands are made words of four bytes, or pairs (functions/products/fused_words.h), as they lie, but for 128 that makes the one
 * signed and the other unsigned, and goes to the zero point. With a, w such bytes and z, y their zero points, over K terms, sum
 * (a - z)(w - y) = sum a w - z sum w - y sum a + K z y, where sum w is known per column of B (output channel), and sum a per row
 * of A. In a convolution sum a, of a window, is one more output channel, whose weights are 1, where a y is not 0. All numbers
 * wrap at 32 bits. */
#include "functions/quantised/byte_products.h"

#include "functions/products/byte_words.h"
#include "functions/products/fused_words.h"
#include "functions/products/lines.h"
#include "functions/quantised/byte_winograd.h"
#include "functions/windows/convolutions/conv_tiles.h"

#include <string.h>

enum {
    BLOCK_COLUMNS = 512,
    FEW_ROWS = 2 /* of a product, for which B is read once: the fewer bytes the better */
};

/* Rough time to make a word, or to correct a sum, to judge what is worth a thread. */
static const double word_ns = 0.15;

static bool is_byte(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && (value->dtype == MDF_DTYPE_INT8 || value->dtype == MDF_DTYPE_UINT8);
}

bool mdf_byte_operand_fits(const struct mdf_byte_operand *operand, size_t axis)
{
    const struct mdf_value *value = operand->value, *zero = operand->zero;

    if (!is_byte(value) || (zero != NULL && (!is_byte(zero) || zero->dtype != value->dtype))) {
        return false;
    }
    return zero == NULL || zero->length == 1 ||
           (zero->rank == 1 && axis < value->rank && (int64_t)zero->length == mdf_value_shape(value)[axis]);
}

/* What each byte is changed by to become of that kind. */
static uint8_t flip_to(const struct mdf_value *value, mdf_dtype dtype)
{
    return value->dtype == dtype ? 0 : MDF_BYTE_FLIP;
}

int mdf_byte_operand_zero(const struct mdf_byte_operand *operand, size_t i)
{
    const struct mdf_value *zero = operand->zero;

    if (zero == NULL) {
        return 0;
    }
    i = zero->length == 1 ? 0 : i;
    return zero->dtype == MDF_DTYPE_INT8 ? ((const int8_t *)zero->data)[i] : ((const uint8_t *)zero->data)[i];
}

/* The same for bytes made of that kind. */
static uint32_t zero_at(const struct mdf_byte_operand *operand, size_t i, mdf_dtype dtype)
{
    int shift = operand->value->dtype == dtype ? 0 : dtype == MDF_DTYPE_INT8 ? -MDF_BYTE_FLIP : MDF_BYTE_FLIP;

    return (uint32_t)(mdf_byte_operand_zero(operand, i) + shift);
}

static bool has_zeros(const struct mdf_byte_operand *operand)
{
    size_t n = operand->zero == NULL ? 1 : operand->zero->length;

    for (size_t i = 0; i < n; i++) {
        if (zero_at(operand, i, MDF_DTYPE_INT8) != 0) {
            return true;
        }
    }
    return false;
}

static bool too_large(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_LIMIT, "the operands are larger than any memory");
}

/* What words are made of, and what products are told of them. */
static const struct mdf_byte_words *choose_words(bool are_met_often, enum mdf_product_elements *elements)
{
    bool are_pairs = are_met_often && mdf_pairs_are_faster();

    *elements = are_pairs ? MDF_PRODUCT_OF_PAIRS : MDF_PRODUCT_OF_WORDS;
    return are_pairs ? mdf_byte_pairs() : mdf_byte_words();
}

/* ------------------------------------------------------------------ matrices */

struct product_job {
    const struct mdf_matrix_product *plan;
    const struct mdf_byte_operand *a, *b;
    const struct mdf_byte_words *words;
    enum mdf_product_elements elements;
    size_t n_words;              /* of a row of A */
    uint32_t *a_words, *b_words; /* [matrix][m][n_words], [matrix][n_words][n] */
    uint32_t *a_sums, *b_sums;   /* of bytes: [matrix][m], [matrix][n] */
    const uint32_t *b_zeros;     /* by column; NULL: b_zero */
    uint32_t b_zero;
    size_t n_column_blocks;
    uint32_t *sums;
};

static void pack_rows(void *context, size_t first, size_t last)
{
    const struct product_job *job = context;
    const uint8_t *bytes = job->a->value->data, flip = flip_to(job->a->value, MDF_DTYPE_INT8);

    for (size_t row = first; row < last; row++) {
        job->a_sums[row] =
            job->words->pack_row(job->plan->k, bytes + row * job->plan->k, flip, job->a_words + row * job->n_words);
    }
}

/* Words of columns [first, first + n) of B at row `p`, where the elements of a column are adjacent. */
static void gather_words(const struct product_job *job, size_t p, size_t first, size_t n, uint8_t flip, uint32_t *words)
{
    size_t k = job->plan->k, n_rows = mdf_least(job->words->n_bytes, k - p), n_bits = 32 / job->words->n_bytes;
    const uint8_t *bytes = (const uint8_t *)job->b->value->data + first * k + p;

    for (size_t j = 0; j < n; j++, bytes += k) {
        words[j] = 0;
        for (size_t i = 0; i < n_rows; i++) {
            words[j] |= (uint32_t)(uint8_t)(bytes[i] ^ flip) << (n_bits * i);
        }
    }
}

static void pack_columns(void *context, size_t first, size_t last)
{
    const struct product_job *job = context;
    const struct mdf_byte_words *words = job->words;
    const uint8_t flip = flip_to(job->b->value, MDF_DTYPE_UINT8);
    size_t n = job->plan->n, k = job->plan->k;

    for (size_t block = first; block < last; block++) {
        size_t matrix = block / job->n_column_blocks, column = block % job->n_column_blocks * BLOCK_COLUMNS;
        size_t n_columns = mdf_least(BLOCK_COLUMNS, n - column);
        const uint8_t *bytes = (const uint8_t *)job->b->value->data + matrix * k * n + column;
        uint32_t *to = job->b_words + matrix * job->n_words * n + column, *sums = job->b_sums + matrix * n + column;

        memset(sums, 0, n_columns * sizeof *sums);
        for (size_t p = 0; p < k; p += words->n_bytes, to += n) {
            if (job->b->is_transposed) {
                gather_words(job, p, column, n_columns, flip, to);
            } else {
                words->interleave(mdf_least(words->n_bytes, k - p), n_columns, bytes + p * n, n, flip, false, to);
            }
            words->add_bytes(n_columns, to, sums);
        }
    }
}

static bool prepare_a(struct mdf_workspace *workspace, struct product_job *job)
{
    size_t n_rows = job->a->value->length / job->plan->k;

    job->a_words = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32, n_rows, job->n_words);
    job->a_sums = mdf_workspace_array(workspace, MDF_DTYPE_UINT32, n_rows);
    if (job->a_words == NULL || job->a_sums == NULL) {
        return false;
    }
    mdf_parallel_for(workspace->call->context, n_rows, word_ns * (double)job->n_words, pack_rows, job);
    return true;
}

static bool prepare_b(struct mdf_workspace *workspace, struct product_job *job)
{
    const struct mdf_value *b = job->b->value;
    struct mdf_value *kept = mdf_workspace_value(workspace);
    size_t n = job->plan->n, n_matrices = b->length / (job->plan->k * n), n_bytes;
    struct mdf_lines_source source;
    bool is_there;

    if (kept == NULL) {
        return false;
    }
    memset(&source, 0, sizeof source); /* padding too: it is compared */
    source.elements = b->data;
    source.n = n;
    source.k = job->plan->k;
    source.parts = n_matrices;
    source.row = (int64_t)job->words->n_bytes;
    source.dtype = (mdf_dtype)b->dtype;
    if (!mdf_lines_count(n_matrices * (job->n_words + 1), n, sizeof(uint32_t), &n_bytes)) {
        return too_large(workspace->call);
    }
    job->b_words = (uint32_t *)(void *)mdf_lines_keep(workspace->call, kept, job->b->is_constant, n_bytes, &source, &is_there);
    if (job->b_words == NULL) {
        return false;
    }
    job->b_sums = job->b_words + n_matrices * job->n_words * n;
    job->n_column_blocks = mdf_divide_up(n, BLOCK_COLUMNS);
    if (!is_there) {
        mdf_parallel_for_all(workspace->call->context, n_matrices * job->n_column_blocks,
                             word_ns * (double)job->n_words * (double)mdf_least(n, BLOCK_COLUMNS), pack_columns, job);
    }
    return true;
}

/* The plan of the product of words. */
static bool plan_words(struct mdf_workspace *workspace, const struct product_job *job, struct mdf_matrix_product *words)
{
    const struct mdf_matrix_product *plan = job->plan;
    int64_t *strides = mdf_workspace_array(workspace, MDF_DTYPE_INT64, 2 * plan->n_batch_axes + 1);

    if (strides == NULL) {
        return false;
    }
    *words = *plan;
    words->dtype = MDF_DTYPE_UINT32;
    words->elements = job->elements;
    words->k = job->n_words;
    words->a_strides = strides;
    words->b_strides = strides + plan->n_batch_axes;
    for (size_t axis = 0; axis < plan->n_batch_axes; axis++) {
        strides[axis] = plan->a_strides[axis] / (int64_t)plan->k * (int64_t)job->n_words;
        strides[plan->n_batch_axes + axis] = plan->b_strides[axis] / (int64_t)plan->k * (int64_t)job->n_words;
    }
    return true;
}

static void correct_rows(void *context, size_t first, size_t last)
{
    const struct product_job *job = context;
    const struct mdf_matrix_product *plan = job->plan;

    for (size_t at = first; at < last; at++) {
        size_t row = at % plan->m;
        uint32_t zero = zero_at(job->a, row, MDF_DTYPE_INT8), factor;
        int64_t a, b;

        mdf_matrix_product_place(plan, at / plan->m, &a, &b);
        factor = (uint32_t)plan->k * zero - job->a_sums[(size_t)a / plan->k + row];
        job->words->correct(plan->n, factor * job->b_zero, 0 - zero, zero == 0 ? NULL : job->b_sums + (size_t)b / plan->k, factor,
                            job->b_zeros, job->sums + at * plan->n);
    }
}

/* Takes the zero points into account. */
static bool correct(struct mdf_workspace *workspace, struct product_job *job)
{
    const struct mdf_value *zero = job->b->zero;
    uint32_t *zeros;

    if (zero != NULL && zero->length > 1) {
        zeros = mdf_workspace_array(workspace, MDF_DTYPE_UINT32, zero->length);
        if (zeros == NULL) {
            return false;
        }
        for (size_t i = 0; i < zero->length; i++) {
            zeros[i] = zero_at(job->b, i, MDF_DTYPE_UINT8);
        }
        job->b_zeros = zeros;
    } else {
        job->b_zero = zero_at(job->b, 0, MDF_DTYPE_UINT8);
    }
    if (job->b_zeros != NULL || job->b_zero != 0 || has_zeros(job->a)) {
        mdf_parallel_for(workspace->call->context, job->plan->n_batches * job->plan->m, word_ns * (double)job->plan->n,
                         correct_rows, job);
    }
    return true;
}

bool mdf_byte_product(struct mdf_workspace *workspace, const struct mdf_matrix_product *plan, const struct mdf_byte_operand *a,
                      const struct mdf_byte_operand *b, uint32_t *sums)
{
    struct product_job job = {.plan = plan, .a = a, .b = b, .sums = sums};
    struct mdf_matrix_product words;

    job.words = choose_words(plan->m > FEW_ROWS, &job.elements);
    job.n_words = mdf_divide_up(plan->k, job.words->n_bytes);
    if (plan->n_batches == 0 || plan->m == 0 || plan->n == 0) {
        return true;
    }
    if (plan->k == 0) {
        memset(sums, 0, plan->n_batches * plan->m * plan->n * sizeof *sums);
        return true;
    }
    return prepare_a(workspace, &job) && prepare_b(workspace, &job) && plan_words(workspace, &job, &words) &&
           mdf_matrix_product_run(workspace, &words, job.a_words, job.b_words, b->is_constant, sums) && correct(workspace, &job);
}

/* ------------------------------------------------------------------ convolutions */

struct convolution_job {
    const struct mdf_conv_plan *plan;
    const struct mdf_byte_operand *x, *weights;
    const struct mdf_byte_words *words;
    const struct mdf_taps *taps;
    size_t group_channels, group_outputs, n_words; /* n_words: of the channels of a group */
    size_t n_rows;                                 /* of the weights of a group: one more than outputs where windows are summed */
    uint32_t *x_words, *weight_words;              /* [batch][group][n_words][plane], [group][n_rows][n_words][taps] */
    uint32_t *weight_sums, *starts;
    uint32_t *tiled, *sums; /* [batch][group][n_rows][windows], without the last row */
    bool has_few_products;  /* byte_winograd.h: x has no words */
    size_t n_windows;
};

static void pack_planes(void *context, size_t first, size_t last)
{
    const struct convolution_job *job = context;
    size_t n = job->taps->array_size;

    for (size_t at = first; at < last; at++) {
        size_t channel = at % job->n_words * job->words->n_bytes;
        const uint8_t *planes = (const uint8_t *)job->x->value->data + (at / job->n_words * job->group_channels + channel) * n;

        job->words->interleave(mdf_least(job->words->n_bytes, job->group_channels - channel), n, planes, n,
                               flip_to(job->x->value, MDF_DTYPE_UINT8), false, job->x_words + at * n);
    }
}

/* The weights of one output channel; their sum. */
static uint32_t pack_output(const struct convolution_job *job, const uint8_t *weights, uint32_t *words)
{
    uint8_t flip = flip_to(job->weights->value, MDF_DTYPE_INT8);
    size_t n_taps = job->taps->n_taps, n_bytes = job->words->n_bytes;
    uint32_t sum = 0;

    for (size_t channel = 0; channel < job->group_channels; channel += n_bytes, words += n_taps) {
        job->words->interleave(mdf_least(n_bytes, job->group_channels - channel), n_taps, weights + channel * n_taps, n_taps,
                               flip, true, words);
    }
    for (size_t i = 0; i < job->group_channels * n_taps; i++) {
        sum += (uint32_t)(int8_t)(weights[i] ^ flip);
    }
    return sum;
}

/* A word of `n` ones. */
static uint32_t ones_of(const struct convolution_job *job, size_t n)
{
    size_t n_bits = 32 / job->words->n_bytes;
    uint32_t word = 0;

    for (size_t i = 0; i < n; i++) {
        word |= 1u << (n_bits * i);
    }
    return word;
}

/* Weights that sum a window. */
static void pack_ones(const struct convolution_job *job, uint32_t *words)
{
    for (size_t channel = 0; channel < job->group_channels; channel += job->words->n_bytes) {
        uint32_t ones = ones_of(job, mdf_least(job->words->n_bytes, job->group_channels - channel));

        for (size_t tap = 0; tap < job->taps->n_taps; tap++) {
            *words++ = ones;
        }
    }
}

static void pack_weights(void *context, size_t first, size_t last)
{
    const struct convolution_job *job = context;
    size_t n = job->n_words * job->taps->n_taps, n_bytes = job->group_channels * job->taps->n_taps;

    for (size_t at = first; at < last; at++) {
        size_t group = at / job->n_rows, row = at % job->n_rows, output = group * job->group_outputs + row;

        if (row == job->group_outputs) {
            pack_ones(job, job->weight_words + at * n);
        } else {
            job->weight_sums[output] =
                pack_output(job, (const uint8_t *)job->weights->value->data + output * n_bytes, job->weight_words + at * n);
        }
    }
}

static bool prepare_weights(struct mdf_workspace *workspace, struct convolution_job *job)
{
    const struct mdf_value *weights = job->weights->value;
    struct mdf_value *kept = mdf_workspace_value(workspace);
    size_t n = job->n_words * job->taps->n_taps, n_rows = job->plan->n_groups * job->n_rows, n_bytes;
    struct mdf_lines_source source;
    bool is_there;

    if (kept == NULL) {
        return false;
    }
    memset(&source, 0, sizeof source);
    source.elements = weights->data;
    source.n = job->n_rows;
    source.k = job->group_channels;
    source.parts = job->plan->n_groups;
    source.row = (int64_t)job->taps->n_taps;
    source.column = (int64_t)job->group_outputs;
    source.dtype = (mdf_dtype)weights->dtype;
    if (!mdf_lines_count(n_rows, n + 1, sizeof(uint32_t), &n_bytes)) {
        return too_large(workspace->call);
    }
    job->weight_words =
        (uint32_t *)(void *)mdf_lines_keep(workspace->call, kept, job->weights->is_constant, n_bytes, &source, &is_there);
    if (job->weight_words == NULL) {
        return false;
    }
    job->weight_sums = job->weight_words + n_rows * n;
    if (!is_there) {
        mdf_parallel_for_all(workspace->call->context, n_rows, 4 * word_ns * (double)n, pack_weights, job);
    }
    return true;
}

/* What the sums of each output channel begin with: the bias, and what zero points add whatever the window. */
static bool prepare_starts(struct mdf_workspace *workspace, struct convolution_job *job, const int32_t *bias)
{
    uint32_t zero = zero_at(job->x, 0, MDF_DTYPE_UINT8), n_terms = (uint32_t)(job->group_channels * job->taps->n_taps);

    job->starts = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32, job->plan->n_groups, job->n_rows);
    if (job->starts == NULL) {
        return false;
    }
    for (size_t output = 0; output < job->plan->n_outputs; output++) {
        uint32_t start = zero * (n_terms * zero_at(job->weights, output, MDF_DTYPE_INT8) - job->weight_sums[output]);

        job->starts[output / job->group_outputs * job->n_rows + output % job->group_outputs] =
            start + (bias == NULL ? 0 : (uint32_t)bias[output]);
    }
    for (size_t group = 0; job->n_rows > job->group_outputs && group < job->plan->n_groups; group++) {
        job->starts[group * job->n_rows + job->group_outputs] = 0;
    }
    return true;
}

static bool prepare_planes(struct mdf_workspace *workspace, struct convolution_job *job)
{
    size_t n_planes = job->plan->n_batches * job->plan->n_groups * job->n_words;

    job->x_words = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32, n_planes, job->taps->array_size);
    if (job->x_words == NULL) {
        return false;
    }
    mdf_parallel_for(workspace->call->context, n_planes, word_ns * (double)job->taps->array_size, pack_planes, job);
    return true;
}

/* Lines of sums without those of windows, which are taken into account. */
static void correct_lines(void *context, size_t first, size_t last)
{
    const struct convolution_job *job = context;
    size_t n = job->n_windows;

    for (size_t at = first; at < last; at++) {
        const uint32_t *group = job->tiled + at / job->group_outputs * job->n_rows * n;
        uint32_t zero = zero_at(job->weights, at % job->plan->n_outputs, MDF_DTYPE_INT8);

        memcpy(job->sums + at * n, group + at % job->group_outputs * n, n * sizeof *group);
        if (zero != 0) {
            job->words->correct(n, 0, 0, NULL, 0 - zero, group + job->group_outputs * n, job->sums + at * n);
        }
    }
}

/* The sums of tiles, whose weights and starts are there. */
static bool run_tiles(struct mdf_workspace *workspace, struct convolution_job *job, struct mdf_convolution *tiles)
{
    struct mdf_byte_winograd winograd = {.tiles = tiles,
                                         .x = job->x->value->data,
                                         .flip = flip_to(job->x->value, MDF_DTYPE_UINT8),
                                         .n_channels = job->group_channels};

    if (job->has_few_products) {
        return mdf_byte_winograd_run(workspace, &winograd);
    }
    if (!prepare_planes(workspace, job)) {
        return false;
    }
    tiles->x = job->x_words;
    return mdf_conv_tiles_run(workspace, tiles);
}

static bool convolve(struct mdf_workspace *workspace, struct convolution_job *job, struct mdf_convolution *tiles,
                     const int32_t *bias)
{
    bool sums_windows = job->n_rows > job->group_outputs;
    size_t n_lines = job->plan->n_batches * job->plan->n_outputs;

    if (!prepare_weights(workspace, job) || !prepare_starts(workspace, job, bias)) {
        return false;
    }
    /* Asked for in any case: the arrays of the workspace go by their order. */
    job->tiled = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32,
                                      sums_windows ? n_lines + job->plan->n_batches * job->plan->n_groups : 1, job->n_windows);
    if (job->tiled == NULL) {
        return false;
    }
    job->tiled = sums_windows ? job->tiled : job->sums;
    tiles->weights = job->weight_words;
    tiles->bias = job->starts;
    tiles->y = job->tiled;
    tiles->padding = zero_at(job->x, 0, MDF_DTYPE_UINT8) * ones_of(job, job->words->n_bytes);
    if (!run_tiles(workspace, job, tiles)) {
        return false;
    }
    if (sums_windows) {
        mdf_parallel_for(workspace->call->context, n_lines, word_ns * (double)job->n_windows, correct_lines, job);
    }
    return true;
}

bool mdf_byte_convolution(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const struct mdf_byte_operand *x,
                          const struct mdf_byte_operand *weights, const int32_t *bias, uint32_t *sums, bool *fits)
{
    struct convolution_job job = {.plan = plan,
                                  .x = x,
                                  .weights = weights,
                                  .group_channels = plan->n_channels / plan->n_groups,
                                  .group_outputs = plan->n_outputs / plan->n_groups,
                                  .sums = sums};
    struct mdf_convolution tiles = {.n_batches = plan->n_batches,
                                    .n_groups = plan->n_groups,
                                    .is_pointwise = mdf_conv_is_pointwise(&plan->windows),
                                    .dtype = MDF_DTYPE_UINT32,
                                    .weights_are_constant = weights->is_constant};
    struct mdf_taps taps;

    *fits = false;
    if (job.group_channels < 2 || plan->n_batches == 0 || job.group_outputs == 0) {
        return true;
    }
    if (!mdf_taps_prepare(workspace, &plan->windows, false, &taps)) {
        return false;
    }
    job.words = choose_words(true, &tiles.elements);
    job.n_words = mdf_divide_up(job.group_channels, job.words->n_bytes);
    job.n_rows = job.group_outputs + has_zeros(weights);
    tiles.taps = job.taps = &taps;
    tiles.group_channels = job.n_words;
    tiles.group_outputs = job.n_rows;
    job.n_windows = taps.n_outer * (size_t)taps.n_run;
    job.has_few_products = job.n_windows > 0 && tiles.elements == MDF_PRODUCT_OF_PAIRS &&
                           mdf_byte_winograd_fits(&taps, job.group_channels, job.group_outputs);
    if (job.n_windows == 0 || (!job.has_few_products && !mdf_conv_tiles_fit(&tiles))) {
        return true;
    }
    *fits = true;
    return convolve(workspace, &job, &tiles, bias);
}
