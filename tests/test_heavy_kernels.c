/* test_heavy_kernels.c - the fast kernels of convolution, pooling, resizing, normalisation, softmax, attention, recurrence and
 * transposition against plain forms written out here, on random shapes and attributes; with one thread and with three the same
 * bits, and the same bits again when the call is repeated with its constants. */
#include "functions/operator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 4, MAX_INPUTS = 4, N_CASES = 150 };

static unsigned seed = 7;

/* A number from low to high. */
static int64_t pick(int64_t low, int64_t high)
{
    return low + (int64_t)((unsigned)rand_r(&seed) % (unsigned)(high - low + 1));
}

struct fixture {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    const struct mdf_operator *operator;
    char settings[512];
    struct mdf_value inputs[MAX_INPUTS], output, scratch[MDF_CALL_SCRATCH];
    const struct mdf_value *input_pointers[MAX_INPUTS];
    struct mdf_value *output_pointers[1];
    bool constants[MAX_INPUTS];
};

static void *field(struct fixture *fixture, const char *name)
{
    for (const struct mdf_setting *setting = fixture->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, name) == 0) {
            return fixture->settings + setting->offset;
        }
    }
    cr_assert_fail("%s has no attribute %s", fixture->operator->name, name);
    return NULL;
}

/* A call without attributes and inputs yet. */
static void begin(struct fixture *fixture, const char *name, int version)
{
    memset(fixture, 0, sizeof *fixture);
    mdf_memory_init(&fixture->memory, NULL, 0);
    fixture->context.memory = &fixture->memory;
    fixture->operator= mdf_operator_onnx(name, version);
    cr_assert(fixture->operator!= NULL && fixture->operator->settings_size <= sizeof fixture->settings);
    for (const struct mdf_setting *setting = fixture->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (setting->type == MDF_SETTING_INT) {
            *(int64_t *)(void *)(fixture->settings + setting->offset) = MDF_NOT_GIVEN;
        } else if (setting->type == MDF_SETTING_FLOAT) {
            *(double *)(void *)(fixture->settings + setting->offset) = NAN;
        }
    }
    fixture->output_pointers[0] = &fixture->output;
    fixture->call = (struct mdf_call){.kernel = fixture->operator->kernel,
                                      .settings = fixture->settings,
                                      .inputs = fixture->input_pointers,
                                      .outputs = fixture->output_pointers,
                                      .n_outputs = 1,
                                      .constants = fixture->constants,
                                      .scratch = fixture->scratch,
                                      .context = &fixture->context,
                                      .operator= fixture->operator};
}

static void end(struct fixture *fixture)
{
    for (size_t i = 0; i < MAX_INPUTS; i++) {
        mdf_value_clear(&fixture->memory, &fixture->inputs[i]);
    }
    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(&fixture->memory, &fixture->scratch[i]);
    }
    mdf_value_clear(&fixture->memory, &fixture->output);
}

/* One more input, of random numbers from -1 to 1. */
static float *add_input(struct fixture *fixture, size_t rank, const int64_t *shape, bool is_constant)
{
    size_t i = fixture->call.n_inputs++;
    float *numbers = mdf_value_make_tensor(&fixture->memory, &fixture->inputs[i], MDF_DTYPE_FLOAT32, rank, shape);

    for (size_t k = 0; k < fixture->inputs[i].length; k++) {
        numbers[k] = (float)pick(-1000, 1000) / 1000;
    }
    fixture->input_pointers[i] = &fixture->inputs[i];
    fixture->constants[i] = is_constant;
    return numbers;
}

/* Runs the call with one thread, again, and with three. */
static const float *run(struct fixture *fixture)
{
    size_t n_bytes;
    void *first;

    fixture->context.n_threads = 1;
    cr_assert(fixture->operator->kernel(&fixture->call), "%s", fixture->context.error.message);
    n_bytes = fixture->output.length * sizeof(float);
    first = malloc(n_bytes + 1);
    memcpy(first, fixture->output.data, n_bytes);
    for (int round = 0; round < 2; round++) {
        fixture->context.n_threads = round == 0 ? 1 : 3;
        fixture->context.threads = round == 0 ? NULL : mdf_threads_new(&fixture->memory);
        cr_assert(fixture->operator->kernel(&fixture->call));
        cr_assert(memcmp(first, fixture->output.data, n_bytes) == 0, "%s differs when it is repeated", fixture->operator->name);
        mdf_threads_free(fixture->context.threads, &fixture->memory);
        fixture->context.threads = NULL;
    }
    free(first);
    return fixture->output.data;
}

static void check(const struct fixture *fixture, size_t i, double wanted, double tolerance)
{
    double is = (double)((const float *)fixture->output.data)[i];

    cr_assert(isnan(wanted)   ? isnan(is)
              : isinf(wanted) ? is == wanted
                              : fabs(is - wanted) <= tolerance,
              "%s: element %zu is %g, not %g", fixture->operator->name, i, is, wanted);
}

/* ------------------------------------------------------------------ windows over planes */

/* Attributes of two axes: kernel sizes, strides, dilations, paddings; sizes of the array and of the result. */
struct window {
    int64_t kernel[2], strides[2], dilations[2], pads[4], array[2], result[2];
};

static struct window pick_window(bool small_pads)
{
    struct window window;

    for (size_t i = 0; i < 2; i++) {
        int64_t reach;

        window.kernel[i] = pick(1, 5);
        window.strides[i] = pick(1, pick(1, 6));
        window.dilations[i] = pick(1, pick(1, 3));
        reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
        window.pads[i] = pick(0, small_pads ? window.kernel[i] - 1 : 6);
        window.pads[i + 2] = pick(0, small_pads ? window.kernel[i] - 1 : 6);
        window.array[i] = pick(0, 30) == 0 && i == 1 ? pick(1000, 3000) : pick(1, 40);
        if (window.array[i] + window.pads[i] + window.pads[i + 2] < reach) {
            window.array[i] = reach;
        }
        window.result[i] = (window.array[i] + window.pads[i] + window.pads[i + 2] - reach) / window.strides[i] + 1;
    }
    return window;
}

static void set_window(struct fixture *fixture, struct window *window)
{
    *(struct mdf_ints *)field(fixture, "strides") = (struct mdf_ints){window->strides, 2};
    *(struct mdf_ints *)field(fixture, "dilations") = (struct mdf_ints){window->dilations, 2};
    *(struct mdf_ints *)field(fixture, "pads") = (struct mdf_ints){window->pads, 4};
    *(struct mdf_ints *)field(fixture, "kernel_shape") = (struct mdf_ints){window->kernel, 2};
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

static void check_conv(int64_t groups, int64_t group_channels, int64_t group_outputs, bool has_bias)
{
    struct window window = pick_window(false);
    int64_t n = pick(1, 2), c = groups * group_channels, m = groups * group_outputs;
    const float *x, *weights, *bias = NULL;
    struct fixture fixture;
    size_t at = 0;

    begin(&fixture, "Conv", 11);
    set_window(&fixture, &window);
    *(int64_t *)field(&fixture, "group") = groups;
    x = add_input(&fixture, 4, (const int64_t[4]){n, c, window.array[0], window.array[1]}, false);
    weights = add_input(&fixture, 4, (const int64_t[4]){m, group_channels, window.kernel[0], window.kernel[1]}, true);
    if (has_bias) {
        bias = add_input(&fixture, 1, &m, true);
    }
    run(&fixture);
    cr_assert(fixture.output.length == (size_t)(n * m * window.result[0] * window.result[1]));
    for (int64_t plane = 0; plane < n * m; plane++) {
        int64_t output = plane % m;
        const float *planes = x + (plane / m * c + output / group_outputs * group_channels) * window.array[0] * window.array[1];
        const float *taps = weights + output * group_channels * window.kernel[0] * window.kernel[1];

        for (int64_t i = 0; i < window.result[0]; i++) {
            for (int64_t j = 0; j < window.result[1]; j++) {
                check(&fixture, at++,
                      convolve_window(&window, planes, taps, group_channels, i, j) + (bias != NULL ? (double)bias[output] : 0),
                      1e-4);
            }
        }
    }
    end(&fixture);
}

Test(heavy_kernels, convolution)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_conv(1, pick(1, 9), pick(1, 40), pick(0, 1) == 1);
        check_conv(pick(1, 6), pick(1, 4), pick(1, 5), pick(0, 1) == 1);
        check_conv(pick(1, 20), 1, pick(1, 3), pick(0, 1) == 1);
    }
}

static void check_pool(bool is_average, bool with_padding)
{
    struct window window = pick_window(true);
    int64_t n_planes = pick(1, 4);
    struct fixture fixture;
    float *x;
    size_t at = 0;

    begin(&fixture, is_average ? "AveragePool" : "MaxPool", is_average ? 19 : 12);
    set_window(&fixture, &window);
    if (is_average) {
        *(int64_t *)field(&fixture, "count_include_pad") = with_padding;
    }
    x = add_input(&fixture, 4, (const int64_t[4]){1, n_planes, window.array[0], window.array[1]}, false);
    x[pick(0, n_planes * window.array[0] * window.array[1] - 1)] = pick(0, 1) == 1 ? NAN : INFINITY;
    run(&fixture);
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
            check(&fixture, at++, is_average ? sum / (count > 0 ? count : 1) : largest, is_average ? 1e-5 : 0);
        }
    }
    end(&fixture);
}

Test(heavy_kernels, pools)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_pool(false, false);
        check_pool(true, false);
        check_pool(true, true);
    }
}

/* ------------------------------------------------------------------ lines */

static void check_softmax(bool is_log)
{
    int64_t shape[2] = {pick(1, 5), pick(1, 100)};
    struct fixture fixture;
    const float *x;

    begin(&fixture, is_log ? "LogSoftmax" : "Softmax", 13);
    *(int64_t *)field(&fixture, "axis") = 1;
    x = add_input(&fixture, 2, shape, false);
    if (pick(0, 4) == 0) {
        ((float *)fixture.inputs[0].data)[pick(0, shape[0] * shape[1] - 1)] = pick(0, 1) == 1 ? -INFINITY : NAN;
    }
    run(&fixture);
    for (int64_t row = 0; row < shape[0]; row++, x += shape[1]) {
        double sum = 0;

        for (int64_t i = 0; i < shape[1]; i++) {
            sum += exp((double)x[i]);
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            double wanted = is_log ? (double)x[i] - log(sum) : exp((double)x[i]) / sum;

            /* A line of one element that is -infinity has no weights. */
            check(&fixture, (size_t)(row * shape[1] + i), sum == 0 ? NAN : wanted, 1e-6 * (is_log ? 10 : 1));
        }
    }
    end(&fixture);
}

static void check_layer_norm(void)
{
    int64_t shape[2] = {pick(1, 5), pick(1, 100)};
    struct fixture fixture;
    const float *x, *scale, *bias;

    begin(&fixture, "LayerNormalization", 17);
    *(int64_t *)field(&fixture, "axis") = -1;
    *(int64_t *)field(&fixture, "stash_type") = 1;
    *(double *)field(&fixture, "epsilon") = 1e-3;
    x = add_input(&fixture, 2, shape, false);
    scale = add_input(&fixture, 1, shape + 1, true);
    bias = add_input(&fixture, 1, shape + 1, true);
    run(&fixture);
    for (int64_t row = 0; row < shape[0]; row++, x += shape[1]) {
        double mean = 0, variance = 0;

        for (int64_t i = 0; i < shape[1]; i++) {
            mean += (double)x[i] / (double)shape[1];
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)shape[1];
        }
        for (int64_t i = 0; i < shape[1]; i++) {
            check(&fixture, (size_t)(row * shape[1] + i),
                  ((double)x[i] - mean) / sqrt(variance + 1e-3) * (double)scale[i] + (double)bias[i], 1e-5);
        }
    }
    end(&fixture);
}

/* Sums along all axes but the last, each in float64 and in the order of the rows: to the last bit. */
static void check_column_sums(void)
{
    int64_t shape[3] = {pick(1, 6), pick(1, 40), pick(2, 600)}, axes[2] = {0, 1};
    struct fixture fixture;
    const float *x;

    begin(&fixture, "ReduceSum", 11);
    *(struct mdf_ints *)field(&fixture, "axes") = (struct mdf_ints){axes, 2};
    *(int64_t *)field(&fixture, "keepdims") = 1;
    x = add_input(&fixture, 3, shape, false);
    run(&fixture);
    for (int64_t column = 0; column < shape[2]; column++) {
        double sum = 0;

        for (int64_t row = 0; row < shape[0] * shape[1]; row++) {
            sum += (double)x[row * shape[2] + column];
        }
        check(&fixture, (size_t)column, (double)(float)sum, 0);
    }
    end(&fixture);
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
    int64_t shape[3] = {pick(0, 20), pick(1, 30), pick(1, 70)}, order[3] = {0, 1, 2}, result[3];
    struct fixture fixture;
    const float *x;

    begin(&fixture, "Transpose", 13);
    for (size_t i = 0; i < 3; i++) {
        size_t other = (size_t)pick(0, 2);
        int64_t kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
    *(struct mdf_ints *)field(&fixture, "perm") = (struct mdf_ints){order, 3};
    x = add_input(&fixture, 3, shape, false);
    run(&fixture);
    for (size_t i = 0; i < 3; i++) {
        result[i] = shape[order[i]];
    }
    for (int64_t at = 0; at < shape[0] * shape[1] * shape[2]; at++) {
        int64_t index[3], place[3] = {at / result[2] / result[1], at / result[2] % result[1], at % result[2]};

        for (size_t i = 0; i < 3; i++) {
            index[order[i]] = place[i];
        }
        check(&fixture, (size_t)at, (double)x[(index[0] * shape[1] + index[1]) * shape[2] + index[2]], 0);
    }
    end(&fixture);
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
    int64_t shape[2] = {pick(1, 20), pick(1, 40)}, sizes[2], n = 2;
    struct fixture fixture;
    const float *x;

    sizes[0] = pick(0, 3) == 0 ? 2 * shape[0] : pick(1, 50);
    sizes[1] = pick(0, 3) == 0 ? 2 * shape[1] : pick(1, 50);
    begin(&fixture, "Resize", 13);
    *(const char **)field(&fixture, "mode") = is_linear ? "linear" : "nearest";
    *(const char **)field(&fixture, "coordinate_transformation_mode") = "half_pixel";
    *(const char **)field(&fixture, "nearest_mode") = "round_prefer_floor";
    *(int64_t *)field(&fixture, "exclude_outside") = 0;
    x = add_input(&fixture, 2, shape, false);
    fixture.call.n_inputs = 4;
    memcpy(mdf_value_make_tensor(&fixture.memory, &fixture.inputs[3], MDF_DTYPE_INT64, 1, &n), sizes, sizeof sizes);
    fixture.input_pointers[3] = &fixture.inputs[3];
    run(&fixture);
    for (int64_t at = 0; at < sizes[0] * sizes[1]; at++) {
        double row = origin(at / sizes[1], sizes[0], shape[0]), column = origin(at % sizes[1], sizes[1], shape[1]);
        double below = row - floor(row), right = column - floor(column), wanted;

        wanted = is_linear ? (1 - below) * ((1 - right) * element_at(x, shape, floor(row), floor(column)) +
                                            right * element_at(x, shape, floor(row), floor(column) + 1)) +
                                 below * ((1 - right) * element_at(x, shape, floor(row) + 1, floor(column)) +
                                          right * element_at(x, shape, floor(row) + 1, floor(column) + 1))
                           : element_at(x, shape, ceil(row - 0.5), ceil(column - 0.5));
        check(&fixture, (size_t)at, wanted, is_linear ? 1e-6 : 0);
    }
    end(&fixture);
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
    int64_t q_shape[4] = {1, pick(1, 3), pick(1, 40), pick(1, 40)}, k_shape[4] = {1, q_shape[1], pick(1, 60), q_shape[3]};
    int64_t n = q_shape[2], n_keys = k_shape[2], d = q_shape[3];
    const float *q, *k, *v;
    struct fixture fixture;

    begin(&fixture, "Attention", 23);
    q = add_input(&fixture, 4, q_shape, false);
    k = add_input(&fixture, 4, k_shape, false);
    v = add_input(&fixture, 4, k_shape, false);
    *(mdf_dtype *)field(&fixture, "softmax_precision") = MDF_DTYPE_NONE;
    run(&fixture);
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
            check(&fixture, (size_t)(row * d + i), wanted, 1e-5);
        }
    }
    end(&fixture);
}

static void check_rnn(void)
{
    int64_t n_steps = pick(1, 6), n_batch = pick(1, 5), n_input = pick(1, 40), n = pick(1, 70);
    double *state = calloc((size_t)(n_batch * n), sizeof *state), *next = calloc((size_t)(n_batch * n), sizeof *next);
    const float *x, *w, *r;
    struct fixture fixture;

    begin(&fixture, "RNN", 14);
    *(int64_t *)field(&fixture, "hidden_size") = n;
    *(int64_t *)field(&fixture, "layout") = 0;
    *(const char **)field(&fixture, "direction") = "forward";
    x = add_input(&fixture, 3, (const int64_t[3]){n_steps, n_batch, n_input}, false);
    w = add_input(&fixture, 3, (const int64_t[3]){1, n, n_input}, true);
    r = add_input(&fixture, 3, (const int64_t[3]){1, n, n}, pick(0, 1) == 1);
    for (size_t i = 0; i < (size_t)(n * n); i++) {
        ((float *)fixture.inputs[2].data)[i] /= (float)n; /* so that rounding errors do not grow from step to step */
    }
    run(&fixture);
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
            check(&fixture, (size_t)(step * n_batch * n + at), next[at], 1e-5);
        }
    }
    free(state);
    free(next);
    end(&fixture);
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
        struct fixture fixture;

        begin(&fixture, empty->name, empty->version);
        if (empty->kernel > 0) {
            set_window(&fixture, &window);
        }
        if (empty->group > 0) {
            *(int64_t *)field(&fixture, "group") = empty->group;
        }
        if (strcmp(empty->name, "GridSample") == 0) {
            *(const char **)field(&fixture, "mode") = "linear";
            *(const char **)field(&fixture, "padding_mode") = "zeros";
            *(int64_t *)field(&fixture, "align_corners") = 0;
        }
        for (size_t input = 0; input < 3 && empty->ranks[input] > 0; input++) {
            add_input(&fixture, empty->ranks[input], empty->shapes[input], input > 0);
        }
        run(&fixture);
        cr_assert(fixture.output.rank == 4 && memcmp(mdf_value_shape(&fixture.output), empty->result, sizeof empty->result) == 0,
                  "case %zu", i);
        for (size_t at = 0; at < fixture.output.length; at++) {
            check(&fixture, at, (double)empty->fill, 0);
        }
        end(&fixture);
    }
}
