/* test_heavy_kernels.c - the fast kernels of convolution, pooling, resizing, normalisation, softmax, attention, recurrence and
 * transposition against plain forms written out here, on random shapes and attributes; with one thread and with three the same
 * bits, and the same bits again when the call is repeated with its constants. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CASES = 50 };

/* One more input, of random numbers from -1 to 1. */
static float *add_input(struct kernel_call *call, size_t rank, const int64_t *shape, bool is_constant)
{
    struct mdf_value *array = kernel_add(call, MDF_DTYPE_FLOAT32, rank, shape, NUMBERS_SHORT, is_constant);
    float *numbers = array->data;

    for (size_t i = 0; i < array->length; i++) {
        numbers[i] = (float)kernel_pick(-1000, 1000) / 1000;
    }
    return numbers;
}

/* ------------------------------------------------------------------ windows over planes */

/* Attributes of two axes: kernel sizes, strides, dilations, paddings; sizes of the array and of the result. */
struct window {
    int64_t kernel[2], strides[2], dilations[2], pads[4], array[2], result[2];
};

/* Makes the array large enough for a window, and counts the windows. */
static void count_windows(struct window *window)
{
    for (size_t i = 0; i < 2; i++) {
        int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1, pads = window->pads[i] + window->pads[i + 2];

        window->array[i] = window->array[i] + pads < reach ? reach : window->array[i];
        window->result[i] = (window->array[i] + pads - reach) / window->strides[i] + 1;
    }
}

static struct window pick_window(bool small_pads)
{
    struct window window;

    for (size_t i = 0; i < 2; i++) {
        window.kernel[i] = kernel_pick(1, 5);
        window.strides[i] = kernel_pick(1, kernel_pick(1, 6));
        window.dilations[i] = kernel_pick(1, kernel_pick(1, 3));
        window.pads[i] = kernel_pick(0, small_pads ? window.kernel[i] - 1 : 6);
        window.pads[i + 2] = kernel_pick(0, small_pads ? window.kernel[i] - 1 : 6);
        window.array[i] = kernel_pick(0, 30) == 0 && i == 1 ? kernel_pick(1000, 3000) : kernel_pick(1, 40);
    }
    count_windows(&window);
    return window;
}

/* For kernels of their own of convolutions channel by channel: 7 by 7, those of one row or column, and planes of few elements. */
static struct window pick_plane(void)
{
    struct window window;
    int64_t kind = kernel_pick(0, 3), stride = kernel_pick(1, 2);

    for (size_t i = 0; i < 2; i++) {
        window.kernel[i] = kind == 0 ? 7 : kind == 3 ? kernel_pick(2, 7) : kind == (int64_t)i + 1 ? 1 : kernel_pick(1, 15);
        window.strides[i] = kind == 0 ? stride : i == 1 && kind != 2 ? kernel_pick(1, 2) : kernel_pick(1, kernel_pick(1, 3));
        window.dilations[i] = kind == 0 ? 1 : kernel_pick(1, kernel_pick(1, 3));
        window.pads[i] = kind == 2 && i == 1 ? 0 : kernel_pick(0, 8);
        window.pads[i + 2] = kind == 2 && i == 1 ? 0 : kernel_pick(0, 8);
        window.array[i] = kind == 3 ? kernel_pick(1, 9) : kernel_pick(1, 75);
    }
    window.array[0] = kind == 0 ? kernel_pick(1, 150) : window.array[0];
    if (kernel_pick(0, 5) == 0 && kind != 3) {
        window.array[0] = kernel_pick(1, 12);
        window.array[1] = kernel_pick(450, 1300);
    }
    count_windows(&window);
    return window;
}

static void set_window(struct kernel_call *call, struct window *window)
{
    *(struct mdf_ints *)kernel_field(call, "strides") = (struct mdf_ints){window->strides, 2};
    *(struct mdf_ints *)kernel_field(call, "dilations") = (struct mdf_ints){window->dilations, 2};
    *(struct mdf_ints *)kernel_field(call, "pads") = (struct mdf_ints){window->pads, 4};
    *(struct mdf_ints *)kernel_field(call, "kernel_shape") = (struct mdf_ints){window->kernel, 2};
}

/* The element that tap (r, s) of window (i, j) meets in a plane; NULL in the padding. */
static const float *element_of(const struct window *window, const float *plane, int64_t i, int64_t j, int64_t r, int64_t s)
{
    int64_t row = i * window->strides[0] + r * window->dilations[0] - window->pads[0];
    int64_t column = j * window->strides[1] + s * window->dilations[1] - window->pads[1];

    return row < 0 || row >= window->array[0] || column < 0 || column >= window->array[1]
               ? NULL
               : plane + row * window->array[1] + column;
}

static double convolve_window(const struct window *window, const float *x, const float *weights, int64_t n_channels, int64_t i,
                              int64_t j)
{
    double sum = 0;

    for (int64_t channel = 0; channel < n_channels; channel++, x += window->array[0] * window->array[1]) {
        for (int64_t r = 0; r < window->kernel[0]; r++) {
            for (int64_t s = 0; s < window->kernel[1]; s++, weights++) {
                const float *element = element_of(window, x, i, j, r, s);

                sum += element == NULL ? 0 : (double)*element * (double)*weights;
            }
        }
    }
    return sum;
}

static void check_conv(struct window window, int64_t groups, int64_t group_channels, int64_t group_outputs, bool has_bias)
{
    int64_t n = kernel_pick(1, 2), c = groups * group_channels, m = groups * group_outputs;
    const float *x, *weights, *bias = NULL;
    struct kernel_call call;
    size_t at = 0;

    kernel_begin(&call, "Conv", 11);
    set_window(&call, &window);
    *(int64_t *)kernel_field(&call, "group") = groups;
    x = add_input(&call, 4, (const int64_t[4]){n, c, window.array[0], window.array[1]}, false);
    weights = add_input(&call, 4, (const int64_t[4]){m, group_channels, window.kernel[0], window.kernel[1]}, true);
    if (has_bias) {
        bias = add_input(&call, 1, &m, true);
    }
    kernel_run(&call);
    cr_assert(call.outputs[0].length == (size_t)(n * m * window.result[0] * window.result[1]));
    for (int64_t plane = 0; plane < n * m; plane++) {
        int64_t output = plane % m;
        const float *planes = x + (plane / m * c + output / group_outputs * group_channels) * window.array[0] * window.array[1];
        const float *taps = weights + output * group_channels * window.kernel[0] * window.kernel[1];

        for (int64_t i = 0; i < window.result[0]; i++) {
            for (int64_t j = 0; j < window.result[1]; j++) {
                kernel_check(&call, 0, at++,
                             convolve_window(&window, planes, taps, group_channels, i, j) +
                                 (bias != NULL ? (double)bias[output] : 0),
                             1e-4);
            }
        }
    }
    kernel_end(&call);
}

Test(heavy_kernels, convolution)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_conv(pick_window(false), 1, kernel_pick(1, 9), kernel_pick(1, 40), kernel_pick(0, 1) == 1);
        check_conv(pick_window(false), kernel_pick(1, 6), kernel_pick(1, 4), kernel_pick(1, 5), kernel_pick(0, 1) == 1);
        check_conv(pick_plane(), kernel_pick(1, 40), 1, kernel_pick(0, 9) == 0 ? 2 : 1, kernel_pick(0, 1) == 1);
        check_conv(pick_window(false), kernel_pick(1, 20), 1, kernel_pick(1, 3), kernel_pick(0, 1) == 1);
    }
}

/* Windows that are 1 to 4 more than fill vectors are summed for many output channels at once, unless these have many weights. */
Test(heavy_kernels, convolution_of_a_few_windows_more)
{
    static const int64_t sizes[][2] = {{7, 7}, {5, 5}, {3, 3}, {2, 9}, {2, 5}, {1, 11}, {4, 3}, {13, 13}};

    for (size_t i = 0; i < N_CASES / 2; i++) {
        int64_t side = kernel_pick(0, 1) * 2 + 1;
        struct window window = {
            {side, side}, {1, 1}, {1, 1}, {side / 2, side / 2, side / 2, side / 2}, {sizes[i % 8][0], sizes[i % 8][1]}, {0}};

        count_windows(&window);
        check_conv(window, kernel_pick(1, 2), i % 5 == 0 ? kernel_pick(250, 520) : kernel_pick(1, 9), kernel_pick(40, 120),
                   kernel_pick(0, 1) == 1);
    }
}

/* Planes that are more than is near, of weights and sums that are not: pairs of vectors go through all output channels. */
Test(heavy_kernels, convolution_by_pairs)
{
    for (size_t i = 0; i < N_CASES / 16; i++) {
        int64_t reach = kernel_pick(1, 2), stride = kernel_pick(1, 2);
        struct window window = {
            {3, 3}, {stride, stride}, {reach, 1}, {reach, 1, 1, kernel_pick(0, 1)}, {kernel_pick(13, 15), kernel_pick(25, 29)},
            {0}};

        count_windows(&window);
        check_conv(window, 1, kernel_pick(30, 60), kernel_pick(36, 100), kernel_pick(0, 1) == 1);
    }
}

static void check_pool(bool is_average, bool with_padding)
{
    struct window window = pick_window(true);
    int64_t n_planes = kernel_pick(1, 9); /* some side by side, and some that are left */
    struct kernel_call call;
    float *x;
    size_t at = 0;

    kernel_begin(&call, is_average ? "AveragePool" : "MaxPool", is_average ? 19 : 12);
    set_window(&call, &window);
    if (is_average) {
        *(int64_t *)kernel_field(&call, "count_include_pad") = with_padding;
    }
    x = add_input(&call, 4, (const int64_t[4]){1, n_planes, window.array[0], window.array[1]}, false);
    x[kernel_pick(0, n_planes * window.array[0] * window.array[1] - 1)] = kernel_pick(0, 1) == 1 ? NAN : INFINITY;
    kernel_run(&call);
    for (int64_t plane = 0; plane < n_planes; plane++, x += window.array[0] * window.array[1]) {
        for (int64_t window_number = 0; window_number < window.result[0] * window.result[1]; window_number++) {
            double largest = -INFINITY, sum = 0, count = 0;

            for (int64_t tap = 0; tap < window.kernel[0] * window.kernel[1]; tap++) {
                const float *element = element_of(&window, x, window_number / window.result[1], window_number % window.result[1],
                                                  tap / window.kernel[1], tap % window.kernel[1]);
                double number = element == NULL ? 0 : (double)*element;

                largest = element != NULL && (number > largest || isnan(number)) ? number : largest;
                sum += number;
                count += element != NULL || with_padding;
            }
            kernel_check(&call, 0, at++, is_average ? sum / (count > 0 ? count : 1) : largest, is_average ? 1e-5 : 0);
        }
    }
    kernel_end(&call);
}

/* A window that is all of a plane: its mean is that of the plane, summed in float64, to the last bit. */
static void check_whole_planes(bool is_average)
{
    int64_t shape[4] = {1, kernel_pick(1, 150), kernel_pick(1, 12), kernel_pick(1, 12)}, n = shape[2] * shape[3];
    struct kernel_call call;
    float *x;

    kernel_begin(&call, is_average ? "AveragePool" : "MaxPool", is_average ? 19 : 12);
    *(struct mdf_ints *)kernel_field(&call, "kernel_shape") = (struct mdf_ints){shape + 2, 2};
    x = add_input(&call, 4, shape, false);
    x[kernel_pick(0, shape[1] * n - 1)] = kernel_pick(0, 1) == 1 ? NAN : INFINITY;
    kernel_run(&call);
    for (int64_t plane = 0; plane < shape[1]; plane++, x += n) {
        double sum = 0, largest = -INFINITY;

        for (int64_t i = 0; i < n; i++) {
            sum += (double)x[i];
            largest = (double)x[i] > largest || isnan(x[i]) ? (double)x[i] : largest;
        }
        kernel_check(&call, 0, (size_t)plane, is_average ? (double)(float)(sum / (double)n) : largest, 0);
    }
    kernel_end(&call);
}

Test(heavy_kernels, pools)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_whole_planes(true);
        check_whole_planes(false);
        check_pool(false, false);
        check_pool(true, false);
        check_pool(true, true);
    }
}

/* ------------------------------------------------------------------ lines */

static void check_softmax(bool is_log)
{
    int64_t shape[2] = {kernel_pick(1, 5), kernel_pick(1, 100)};
    struct kernel_call call;
    const float *x;

    kernel_begin(&call, is_log ? "LogSoftmax" : "Softmax", 13);
    *(int64_t *)kernel_field(&call, "axis") = 1;
    x = add_input(&call, 2, shape, false);
    if (kernel_pick(0, 4) == 0) {
        ((float *)call.inputs[0].data)[kernel_pick(0, shape[0] * shape[1] - 1)] = kernel_pick(0, 1) == 1 ? -INFINITY : NAN;
    }
    kernel_run(&call);
    for (int64_t row = 0; row < shape[0]; row++, x += shape[1]) {
        double sum = 0;

        for (int64_t i = 0; i < shape[1]; i++) {
            sum += exp((double)x[i]);
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            double wanted = is_log ? (double)x[i] - log(sum) : exp((double)x[i]) / sum;

            /* A line of one element that is -infinity has no weights. */
            kernel_check(&call, 0, (size_t)(row * shape[1] + i), sum == 0 ? NAN : wanted, 1e-6 * (is_log ? 10 : 1));
        }
    }
    kernel_end(&call);
}

static void check_layer_norm(void)
{
    int64_t shape[2] = {kernel_pick(1, 5), kernel_pick(1, 100)};
    struct kernel_call call;
    const float *x, *scale, *bias;

    kernel_begin(&call, "LayerNormalization", 17);
    *(int64_t *)kernel_field(&call, "axis") = -1;
    *(int64_t *)kernel_field(&call, "stash_type") = 1;
    *(double *)kernel_field(&call, "epsilon") = 1e-3;
    x = add_input(&call, 2, shape, false);
    scale = add_input(&call, 1, shape + 1, true);
    bias = add_input(&call, 1, shape + 1, true);
    kernel_run(&call);
    for (int64_t row = 0; row < shape[0]; row++, x += shape[1]) {
        double mean = 0, variance = 0;

        for (int64_t i = 0; i < shape[1]; i++) {
            mean += (double)x[i] / (double)shape[1];
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)shape[1];
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            kernel_check(&call, 0, (size_t)(row * shape[1] + i),
                         ((double)x[i] - mean) / sqrt(variance + 1e-3) * (double)scale[i] + (double)bias[i], 1e-5);
        }
    }
    kernel_end(&call);
}

/* Sums along all axes but the last, each in float64 and in the order of the rows: to the last bit. */
static void check_column_sums(void)
{
    int64_t shape[3] = {kernel_pick(1, 6), kernel_pick(1, 40), kernel_pick(2, 600)}, axes[2] = {0, 1};
    struct kernel_call call;
    const float *x;

    kernel_begin(&call, "ReduceSum", 11);
    *(struct mdf_ints *)kernel_field(&call, "axes") = (struct mdf_ints){axes, 2};
    *(int64_t *)kernel_field(&call, "keepdims") = 1;
    x = add_input(&call, 3, shape, false);
    kernel_run(&call);
    for (int64_t column = 0; column < shape[2]; column++) {
        double sum = 0;

        for (int64_t row = 0; row < shape[0] * shape[1]; row++) {
            sum += (double)x[row * shape[2] + column];
        }
        kernel_check(&call, 0, (size_t)column, (double)(float)sum, 0);
    }
    kernel_end(&call);
}

Test(heavy_kernels, lines)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_column_sums();
        check_softmax(false);
        check_softmax(true);
        check_layer_norm();
    }
}

/* ------------------------------------------------------------------ moving elements */

static void check_transpose(void)
{
    int64_t shape[3] = {kernel_pick(0, 20), kernel_pick(1, 30), kernel_pick(1, 70)}, order[3] = {0, 1, 2}, result[3];
    struct kernel_call call;
    const float *x;

    kernel_begin(&call, "Transpose", 13);
    for (size_t i = 0; i < 3; i++) {
        size_t other = (size_t)kernel_pick(0, 2);
        int64_t kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
    *(struct mdf_ints *)kernel_field(&call, "perm") = (struct mdf_ints){order, 3};
    x = add_input(&call, 3, shape, false);
    kernel_run(&call);
    for (size_t i = 0; i < 3; i++) {
        result[i] = shape[order[i]];
    }
    for (int64_t at = 0; at < shape[0] * shape[1] * shape[2]; at++) {
        int64_t index[3], place[3] = {at / result[2] / result[1], at / result[2] % result[1], at % result[2]};

        for (size_t i = 0; i < 3; i++) {
            index[order[i]] = place[i];
        }
        kernel_check(&call, 0, (size_t)at, (double)x[(index[0] * shape[1] + index[1]) * shape[2] + index[2]], 0);
    }
    kernel_end(&call);
}

/* Where place `i` of `n_out` comes from, of `n_in` places. */
static double origin(int64_t i, int64_t n_out, int64_t n_in)
{
    return ((double)i + 0.5) * (double)n_in / (double)n_out - 0.5;
}

static double element_at(const float *x, const int64_t *shape, double row, double column)
{
    row = row < 0 ? 0 : row > (double)(shape[0] - 1) ? (double)(shape[0] - 1) : row;
    column = column < 0 ? 0 : column > (double)(shape[1] - 1) ? (double)(shape[1] - 1) : column;
    return (double)x[(int64_t)row * shape[1] + (int64_t)column];
}

static void check_resize(bool is_linear)
{
    int64_t shape[2] = {kernel_pick(1, 20), kernel_pick(1, 40)}, sizes[2], n = 2;
    struct kernel_call call;
    const float *x;

    sizes[0] = kernel_pick(0, 3) == 0 ? 2 * shape[0] : kernel_pick(1, 50);
    sizes[1] = kernel_pick(0, 3) == 0 ? 2 * shape[1] : kernel_pick(1, 50);
    kernel_begin(&call, "Resize", 13);
    *(const char **)kernel_field(&call, "mode") = is_linear ? "linear" : "nearest";
    *(const char **)kernel_field(&call, "coordinate_transformation_mode") = "half_pixel";
    *(const char **)kernel_field(&call, "nearest_mode") = "round_prefer_floor";
    *(int64_t *)kernel_field(&call, "exclude_outside") = 0;
    x = add_input(&call, 2, shape, false);
    call.call.n_inputs = 4;
    memcpy(mdf_value_make_tensor(&call.memory, &call.inputs[3], MDF_DTYPE_INT64, 1, &n), sizes, sizeof sizes);
    call.input_pointers[3] = &call.inputs[3];
    kernel_run(&call);
    for (int64_t at = 0; at < sizes[0] * sizes[1]; at++) {
        double row = origin(at / sizes[1], sizes[0], shape[0]), column = origin(at % sizes[1], sizes[1], shape[1]);
        double below = row - floor(row), right = column - floor(column), wanted;

        wanted = is_linear ? (1 - below) * ((1 - right) * element_at(x, shape, floor(row), floor(column)) +
                                            right * element_at(x, shape, floor(row), floor(column) + 1)) +
                                 below * ((1 - right) * element_at(x, shape, floor(row) + 1, floor(column)) +
                                          right * element_at(x, shape, floor(row) + 1, floor(column) + 1))
                           : element_at(x, shape, ceil(row - 0.5), ceil(column - 0.5));
        kernel_check(&call, 0, (size_t)at, wanted, is_linear ? 1e-6 : 0);
    }
    kernel_end(&call);
}

Test(heavy_kernels, moved_elements)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_transpose();
        check_resize(false);
        check_resize(true);
    }
}

/* ------------------------------------------------------------------ attention, recurrence */

static void check_attention(void)
{
    int64_t q_shape[4] = {1, kernel_pick(1, 3), kernel_pick(1, 40), kernel_pick(1, 40)},
            k_shape[4] = {1, q_shape[1], kernel_pick(1, 60), q_shape[3]};
    int64_t n = q_shape[2], n_keys = k_shape[2], d = q_shape[3];
    const float *q, *k, *v;
    struct kernel_call call;

    kernel_begin(&call, "Attention", 23);
    q = add_input(&call, 4, q_shape, false);
    k = add_input(&call, 4, k_shape, false);
    v = add_input(&call, 4, k_shape, false);
    *(mdf_dtype *)kernel_field(&call, "softmax_precision") = MDF_DTYPE_NONE;
    kernel_run(&call);
    for (int64_t row = 0; row < q_shape[1] * n; row++) {
        const float *keys = k + row / n * n_keys * d, *values = v + row / n * n_keys * d;
        double weights[64], sum = 0;

        for (int64_t key = 0; key < n_keys; key++) {
            double score = 0;

            for (int64_t i = 0; i < d; i++) {
                score += (double)q[row * d + i] * (double)keys[key * d + i];
            }
            weights[key] = exp(score / sqrt((double)d));
            sum += weights[key];
        }
        for (int64_t i = 0; i < d; i++) {
            double wanted = 0;

            for (int64_t key = 0; key < n_keys; key++) {
                wanted += weights[key] / sum * (double)values[key * d + i];
            }
            kernel_check(&call, 0, (size_t)(row * d + i), wanted, 1e-5);
        }
    }
    kernel_end(&call);
}

static void check_rnn(void)
{
    int64_t n_steps = kernel_pick(1, 6), n_batch = kernel_pick(1, 5), n_input = kernel_pick(1, 40), n = kernel_pick(1, 70);
    double *state = calloc((size_t)(n_batch * n), sizeof *state), *next = calloc((size_t)(n_batch * n), sizeof *next);
    const float *x, *w, *r;
    struct kernel_call call;

    kernel_begin(&call, "RNN", 14);
    *(int64_t *)kernel_field(&call, "hidden_size") = n;
    *(int64_t *)kernel_field(&call, "layout") = 0;
    *(const char **)kernel_field(&call, "direction") = "forward";
    x = add_input(&call, 3, (const int64_t[3]){n_steps, n_batch, n_input}, false);
    w = add_input(&call, 3, (const int64_t[3]){1, n, n_input}, true);
    r = add_input(&call, 3, (const int64_t[3]){1, n, n}, kernel_pick(0, 1) == 1);
    for (size_t i = 0; i < (size_t)(n * n); i++) {
        ((float *)call.inputs[2].data)[i] /= (float)n; /* so that rounding errors do not grow from step to step */
    }
    kernel_run(&call);
    for (int64_t step = 0; step < n_steps; step++, memcpy(state, next, (size_t)(n_batch * n) * sizeof *state)) {
        for (int64_t at = 0; at < n_batch * n; at++) {
            int64_t member = at / n, unit = at % n;
            double sum = 0;

            for (int64_t i = 0; i < n_input; i++) {
                sum += (double)x[(step * n_batch + member) * n_input + i] * (double)w[unit * n_input + i];
            }
            for (int64_t i = 0; i < n; i++) {
                sum += state[member * n + i] * (double)r[unit * n + i];
            }
            next[at] = tanh(sum);
            kernel_check(&call, 0, (size_t)(step * n_batch * n + at), next[at], 1e-5);
        }
    }
    free(state);
    free(next);
    kernel_end(&call);
}

Test(heavy_kernels, attention_and_recurrence)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_attention();
        check_rnn();
    }
}

/* ------------------------------------------------------------------ nothing to do */

/* Calls on arrays without elements: the inputs' shapes (rank 0: no such input), attributes of the windows, and the result's
 * shape, each element of which is `fill`. */
struct empty {
    const char *name;
    int version;
    int64_t group, kernel, pad;
    int64_t shapes[3][4];
    size_t ranks[3];
    int64_t result[4];
    float fill;
};

static const struct empty empties[] = {
    {"Conv", 11, 1, 3, 0, {{0, 3, 5, 5}, {4, 3, 3, 3}}, {4, 4}, {0, 4, 3, 3}, 0},
    {"Conv", 11, 1, 3, 2, {{1, 3, 0, 5}, {4, 3, 3, 3}}, {4, 4}, {1, 4, 2, 7}, 0},
    {"Conv", 11, 1, 3, 2, {{1, 3, 5, 0}, {4, 3, 3, 3}}, {4, 4}, {1, 4, 7, 2}, 0},
    {"Conv", 11, 1, 3, 0, {{1, 0, 5, 5}, {4, 0, 3, 3}}, {4, 4}, {1, 4, 3, 3}, 0},
    {"Conv", 11, 1, 3, 0, {{1, 3, 5, 5}, {0, 3, 3, 3}}, {4, 4}, {1, 0, 3, 3}, 0},
    {"Conv", 11, 3, 3, 0, {{0, 3, 5, 5}, {3, 1, 3, 3}}, {4, 4}, {0, 3, 3, 3}, 0},
    {"Conv", 11, 3, 3, 2, {{1, 3, 0, 5}, {3, 1, 3, 3}}, {4, 4}, {1, 3, 2, 7}, 0},
    {"Conv", 11, 3, 3, 2, {{1, 3, 5, 0}, {3, 1, 3, 3}}, {4, 4}, {1, 3, 7, 2}, 0},
    {"MaxPool", 12, 0, 3, 0, {{0, 3, 5, 5}}, {4}, {0, 3, 3, 3}, 0},
    {"MaxPool", 12, 0, 2, 1, {{1, 0, 5, 5}}, {4}, {1, 0, 6, 6}, 0},
    {"MaxPool", 12, 0, 2, 1, {{1, 3, 0, 5}}, {4}, {1, 3, 1, 6}, -INFINITY},
    {"MaxPool", 12, 0, 2, 1, {{1, 3, 5, 0}}, {4}, {1, 3, 6, 1}, -INFINITY},
    {"AveragePool", 19, 0, 3, 0, {{0, 3, 5, 5}}, {4}, {0, 3, 3, 3}, 0},
    {"AveragePool", 19, 0, 2, 1, {{1, 3, 0, 5}}, {4}, {1, 3, 1, 6}, 0}, /* the mean of nothing */
    {"AveragePool", 19, 0, 2, 1, {{1, 3, 5, 0}}, {4}, {1, 3, 6, 1}, 0},
    {"GlobalAveragePool", 1, 0, 0, 0, {{0, 3, 5, 5}}, {4}, {0, 3, 1, 1}, 0},
    {"GlobalMaxPool", 1, 0, 0, 0, {{1, 2, 0, 5}}, {4}, {1, 2, 1, 1}, -INFINITY},
    {"GridSample", 20, 0, 0, 0, {{0, 3, 4, 4}, {0, 2, 2, 2}}, {4, 4}, {0, 3, 2, 2}, 0},
    {"GridSample", 20, 0, 0, 0, {{1, 0, 4, 4}, {1, 2, 2, 2}}, {4, 4}, {1, 0, 2, 2}, 0},
    {"GridSample", 20, 0, 0, 0, {{1, 3, 4, 4}, {1, 0, 2, 2}}, {4, 4}, {1, 3, 0, 2}, 0},
};

Test(heavy_kernels, arrays_without_elements)
{
    for (size_t i = 0; i < sizeof empties / sizeof *empties; i++) {
        const struct empty *empty = &empties[i];
        struct window window = {
            {empty->kernel, empty->kernel}, {1, 1}, {1, 1}, {empty->pad, empty->pad, empty->pad, empty->pad}, {0, 0}, {0, 0}};
        struct kernel_call call;

        kernel_begin(&call, empty->name, empty->version);
        if (empty->kernel > 0) {
            set_window(&call, &window);
        }
        if (empty->group > 0) {
            *(int64_t *)kernel_field(&call, "group") = empty->group;
        }
        if (strcmp(empty->name, "GridSample") == 0) {
            *(const char **)kernel_field(&call, "mode") = "linear";
            *(const char **)kernel_field(&call, "padding_mode") = "zeros";
            *(int64_t *)kernel_field(&call, "align_corners") = 0;
        }
        for (size_t input = 0; input < 3 && empty->ranks[input] > 0; input++) {
            add_input(&call, empty->ranks[input], empty->shapes[input], input > 0);
        }
        kernel_run(&call);
        cr_assert(call.outputs[0].rank == 4 &&
                      memcmp(mdf_value_shape(&call.outputs[0]), empty->result, sizeof empty->result) == 0,
                  "case %zu", i);
        for (size_t at = 0; at < call.outputs[0].length; at++) {
            kernel_check(&call, 0, at, (double)empty->fill, 0);
        }
        kernel_end(&call);
    }
}

/* The mean of a line without elements is 0 / 0, as is what the line would be multiplied by: both are results. */
Test(heavy_kernels, statistics_of_lines_without_elements)
{
    int64_t shape[2] = {3, 0};
    struct kernel_call call;

    kernel_begin(&call, "LayerNormalization", 17);
    call.call.n_outputs = 3;
    *(int64_t *)kernel_field(&call, "axis") = -1;
    *(int64_t *)kernel_field(&call, "stash_type") = 1;
    add_input(&call, 2, shape, false);
    add_input(&call, 1, shape + 1, true);
    kernel_run(&call);
    for (size_t output = 1; output < 3; output++) {
        kernel_check_shape(&call, output, 2, (int64_t[]){3, 1});
        for (size_t row = 0; row < 3; row++) {
            kernel_check(&call, output, row, NAN, 0);
        }
    }
    kernel_end(&call);
}

/* ------------------------------------------------------------------ stopping */

enum { N_MANY = 1 << 18 };

static const int64_t many[] = {N_MANY, 1}, one[] = {1, 1};

static void add_indices(struct kernel_call *call, size_t rank)
{
    struct mdf_value *indices = kernel_add(call, MDF_DTYPE_INT64, rank, many, NUMBERS_SHORT, false);

    memset(indices->data, 0, indices->length * sizeof(int64_t));
}

/* Adds the inputs, and sets the attributes that have no default. */
static void add_gather(struct kernel_call *call)
{
    kernel_add(call, MDF_DTYPE_FLOAT32, 2, one, NUMBERS_SHORT, false);
    add_indices(call, 2);
}

static void add_scatter_tuples(struct kernel_call *call)
{
    add_gather(call);
    kernel_add(call, MDF_DTYPE_FLOAT32, 2, many, NUMBERS_SHORT, false);
}

static void add_condition(struct kernel_call *call)
{
    kernel_add(call, MDF_DTYPE_FLOAT32, 1, many, NUMBERS_SHORT, false);
    kernel_add(call, MDF_DTYPE_BOOL, 1, many, NUMBERS_SHORT, false);
}

static void add_categories(struct kernel_call *call)
{
    static const int64_t depth = 3, two = 2;

    add_indices(call, 1);
    kernel_add_integers(call, &depth, 1);
    kernel_add(call, MDF_DTYPE_FLOAT32, 1, &two, NUMBERS_SHORT, false);
}

static void add_reals(struct kernel_call *call)
{
    kernel_add(call, MDF_DTYPE_FLOAT32, 2, many, NUMBERS_SHORT, false);
}

static void add_cast(struct kernel_call *call)
{
    add_reals(call);
    *(mdf_dtype *)kernel_field(call, "to") = MDF_DTYPE_FLOAT8E5M2;
}

static const double number = 1;

static void add_label_encoding(struct kernel_call *call)
{
    add_reals(call);
    *(struct mdf_floats *)kernel_field(call, "keys_floats") = (struct mdf_floats){&number, 1};
    *(struct mdf_floats *)kernel_field(call, "values_floats") = (struct mdf_floats){&number, 1};
}

static void add_picked_features(struct kernel_call *call)
{
    kernel_add(call, MDF_DTYPE_FLOAT32, 2, one, NUMBERS_SHORT, false);
    add_indices(call, 1);
}

/* Kernels that go through their elements one by one notice that they are asked to stop, and leave elements out. */
Test(heavy_kernels, stopped)
{
    static const struct {
        const char *name;
        int version;
        void (*add)(struct kernel_call *call);
    } calls[] = {{"Gather", 13, add_gather},
                 {"GatherElements", 13, add_gather},
                 {"GatherND", 13, add_gather},
                 {"ScatterND", 18, add_scatter_tuples},
                 {"Compress", 11, add_condition},
                 {"OneHot", 11, add_categories},
                 {"Cast", 21, add_cast},
                 {"ArrayFeatureExtractor", 1, add_picked_features},
                 {"LabelEncoder", 4, add_label_encoding}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct kernel_call call;
        struct mdf_stop stop;

        kernel_begin(&call, calls[i].name, calls[i].version);
        calls[i].add(&call);
        cr_assert(call.call.kernel(&call.call), "%s: %s", calls[i].name, call.context.error.message);
        mdf_stop_init(&stop);
        cr_assert(mdf_stop_begin(&stop, &call.memory, INFINITY, NULL));
        call.context.stop = &stop;
        mdf_stop_ask(&stop);
        call.call.kernel(&call.call);
        cr_expect(mdf_stop_is_untold(&stop), "%s", calls[i].name);
        mdf_stop_release(&stop, &call.memory);
        kernel_end(&call);
    }
}

enum { N_KEYS = 700, N_LOOKED_UP = 900 };

/* What element i of an array is to be: a key, every seventh time none. Keys lie far apart, so that they are hashed. */
static int64_t label_at(size_t i, int64_t salt)
{
    int64_t key = (int64_t)(i * 37 + (size_t)salt) % N_KEYS;

    return i % 7 == 3 ? -1 - key : key * key * 1000003;
}

/* Keys of attributes are laid out once: later runs of the call find them, for other elements, and for such of another kind. */
Test(heavy_kernels, labels_of_later_runs)
{
    static const int64_t one_more = N_LOOKED_UP;
    static int64_t keys[N_KEYS];
    static double reals[N_KEYS], values[N_KEYS];
    struct kernel_call call;
    struct mdf_value *x;

    for (size_t i = 0; i < N_KEYS; i++) {
        keys[i] = (int64_t)(i * i) * 1000003;
        reals[i] = i == 1 ? -0.0 : i == 2 ? (double)NAN : 1.0 / (double)(i + 1);
        values[i] = (double)i;
    }
    for (int are_reals = 0; are_reals < 2; are_reals++) {
        kernel_begin(&call, "LabelEncoder", 2);
        if (are_reals != 0) {
            *(struct mdf_floats *)kernel_field(&call, "keys_floats") = (struct mdf_floats){reals, N_KEYS};
        } else {
            *(struct mdf_ints *)kernel_field(&call, "keys_int64s") = (struct mdf_ints){keys, N_KEYS};
        }
        *(struct mdf_floats *)kernel_field(&call, "values_floats") = (struct mdf_floats){values, N_KEYS};
        *(double *)kernel_field(&call, "default_float") = -7;
        x = kernel_add(&call, are_reals != 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_INT64, 1, &one_more, NUMBERS_SHORT, false);
        for (int64_t salt = 0; salt < 3; salt++) {
            for (size_t i = 0; i < x->length; i++) {
                size_t key = (i * 37 + (size_t)salt) % N_KEYS;

                if (are_reals != 0) {
                    ((float *)x->data)[i] = i % 7 == 3 ? -3.0F : key == 1 ? 0.0F : (float)reals[key];
                } else {
                    ((int64_t *)x->data)[i] = label_at(i, salt);
                }
            }
            kernel_run(&call);
            for (size_t i = 0; i < x->length; i++) {
                kernel_check(&call, 0, i, i % 7 == 3 ? -7 : (double)((i * 37 + (size_t)salt) % N_KEYS), 0);
            }
        }
        kernel_end(&call);
    }
}

/* A mapper's input may hold strings once and numbers the next time: then the list of the others is what is looked up. */
Test(heavy_kernels, categories_of_either_kind)
{
    static const char *const names[] = {"a", "b", "c"};
    static const int64_t numbers[] = {5, 1000000, -9}, three = 3;
    struct kernel_call call;
    struct mdf_value *x;

    kernel_begin(&call, "CategoryMapper", 1);
    *(struct mdf_strings *)kernel_field(&call, "cats_strings") = (struct mdf_strings){names, 3};
    kernel_set_ints(&call, "cats_int64s", numbers, 3);
    x = kernel_add(&call, MDF_DTYPE_INT64, 1, &three, NUMBERS_SHORT, false);
    for (int round = 0; round < 2; round++) {
        cr_assert(mdf_value_make_tensor(&call.memory, x, MDF_DTYPE_INT64, 1, &three) != NULL);
        memcpy(x->data, (const int64_t[]){-9, 5, 1000000}, sizeof numbers);
        cr_assert(call.call.kernel(&call.call), "%s", call.context.error.message);
        cr_assert_str_eq(((char **)call.outputs[0].data)[0], "c");
        cr_assert_str_eq(((char **)call.outputs[0].data)[2], "b");
        cr_assert(mdf_value_make_tensor(&call.memory, x, MDF_DTYPE_STRING, 1, &three) != NULL);
        for (size_t i = 0; i < 3; i++) {
            ((char **)x->data)[i] = mdf_string_new(&call.memory, names[2 - i], 1);
        }
        cr_assert(call.call.kernel(&call.call), "%s", call.context.error.message);
        cr_assert_eq(memcmp(call.outputs[0].data, (const int64_t[]){-9, 1000000, 5}, sizeof numbers), 0);
    }
    kernel_end(&call);
}
