/* test_window_oracles.c - convolutions, transposed convolutions and pools over one to three axes against their definitions,
 * window by window and tap by tap: all attributes, element types, arrays without elements, infinities and NaN. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_AXES = 3, MAX_RANK = MAX_AXES + 2, N_CASES = 70 };

struct window {
    size_t rank;
    int64_t kernel[MAX_AXES], strides[MAX_AXES], dilations[MAX_AXES], pads[2 * MAX_AXES], array[MAX_AXES], result[MAX_AXES];
    bool ceil_mode;
    const char *auto_pad;
};

static int64_t span(const struct window *window, size_t axis)
{
    return (window->kernel[axis] - 1) * window->dilations[axis] + 1;
}

/* Sizes of the result by the formulas of the text; with auto_pad also the padding. */
static bool count_windows(struct window *window)
{
    for (size_t i = 0; i < window->rank; i++) {
        int64_t *begin = &window->pads[i], *end = &window->pads[i + window->rank];
        double stride = (double)window->strides[i], room;

        if (strncmp(window->auto_pad, "SAME", 4) == 0) {
            int64_t total;

            window->result[i] = (int64_t)ceil((double)window->array[i] / stride);
            total = (window->result[i] - 1) * window->strides[i] + span(window, i) - window->array[i];
            total = total < 0 ? 0 : total;
            *begin = strcmp(window->auto_pad, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
            *end = total - *begin;
            continue;
        }
        if (strcmp(window->auto_pad, "VALID") == 0) {
            *begin = *end = 0;
        }
        room = (double)(window->array[i] + *begin + *end - span(window, i));
        window->result[i] = (int64_t)(window->ceil_mode ? ceil(room / stride + 1) : floor(room / stride + 1));
        if (window->result[i] < 0) {
            return false;
        }
        if (window->ceil_mode && window->result[i] > 0 &&
            (window->result[i] - 1) * window->strides[i] >= window->array[i] + *begin) {
            window->result[i]--;
        }
    }
    return true;
}

static struct window pick_window(bool may_ceil)
{
    static const char *const pads[] = {"NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    struct window window;

    do {
        window.rank = (size_t)kernel_pick(1, MAX_AXES);
        window.ceil_mode = may_ceil && kernel_pick(0, 1) == 1;
        window.auto_pad = pads[kernel_pick(0, 5)];
        for (size_t i = 0; i < window.rank; i++) {
            window.kernel[i] = kernel_pick(1, 4);
            window.strides[i] = kernel_pick(1, kernel_pick(1, 5));
            window.dilations[i] = kernel_pick(1, kernel_pick(1, 3));
            window.pads[i] = kernel_pick(0, 3);
            window.pads[i + window.rank] = kernel_pick(0, 3);
            window.array[i] = kernel_pick(0, 15) == 0 ? 0
                                                      : kernel_pick(1, window.rank == 1                             ? 60
                                                                       : window.rank == 2 && kernel_pick(0, 2) == 0 ? 18
                                                                                                                    : 9);
        }
    } while (!count_windows(&window));
    return window;
}

static void set_window(struct kernel_call *call, const struct window *window, bool sets_ceil_mode)
{
    kernel_set_ints(call, "strides", window->strides, window->rank);
    kernel_set_ints(call, "dilations", window->dilations, window->rank);
    kernel_set_ints(call, "kernel_shape", window->kernel, window->rank);
    kernel_set_text(call, "auto_pad", window->auto_pad);
    if (strcmp(window->auto_pad, "NOTSET") == 0) {
        kernel_set_ints(call, "pads", window->pads, 2 * window->rank);
    }
    if (sets_ceil_mode) {
        kernel_set_int(call, "ceil_mode", window->ceil_mode);
    }
}

/* Where a tap of a window falls on the array; false: in the padding. `in_pads`: within the padding that was asked for. */
static bool find_tap(const struct window *window, const int64_t *position, const int64_t *tap, int64_t *place, bool *in_pads)
{
    bool inside = true;

    *in_pads = true;
    for (size_t i = 0; i < window->rank; i++) {
        place[i] = position[i] * window->strides[i] + tap[i] * window->dilations[i] - window->pads[i];
        inside = inside && place[i] >= 0 && place[i] < window->array[i];
        *in_pads = *in_pads && place[i] < window->array[i] + window->pads[i + window->rank];
    }
    return inside;
}

static void shape_of(int64_t n, int64_t channels, size_t rank, const int64_t *sizes, int64_t *shape)
{
    shape[0] = n;
    shape[1] = channels;
    memcpy(shape + 2, sizes, rank * sizeof *sizes);
}

/* ------------------------------------------------------------------ convolution */

static double convolve(const struct window *window, const int64_t *x_shape, const int64_t *w_shape, const struct mdf_value *x,
                       const struct mdf_value *weights, const int64_t *at, int64_t group, double x_zero, double w_zero)
{
    int64_t from[MAX_RANK] = {at[0]}, tap[MAX_RANK] = {0};
    size_t n_taps = kernel_n_elements(window->rank + 1, w_shape + 1);
    double sum = 0;
    bool in_pads;

    for (size_t t = 0; t < n_taps; t++, kernel_next(window->rank + 1, w_shape + 1, tap)) {
        from[1] = group * w_shape[1] + tap[0];
        if (find_tap(window, at + 2, tap + 1, from + 2, &in_pads)) {
            size_t w = (size_t)at[1] * n_taps + t;

            sum +=
                (kernel_number(x, kernel_place(window->rank + 2, x_shape, from)) - x_zero) * (kernel_number(weights, w) - w_zero);
        }
    }
    return sum;
}

static void check_conv_of(const struct window *window, int64_t groups, int64_t group_channels, int64_t group_outputs,
                          mdf_dtype dtype, double tolerance)
{
    int64_t outputs = groups * group_outputs;
    int64_t x_shape[MAX_RANK], w_shape[MAX_RANK], y_shape[MAX_RANK], at[MAX_RANK];
    enum kernel_numbers numbers = kernel_pick(0, 3) == 0 ? NUMBERS_WILD : NUMBERS_SHORT;
    const struct mdf_value *x, *weights, *bias = NULL;
    struct kernel_call call;

    shape_of(kernel_pick(0, 9) == 0 ? 0 : kernel_pick(1, 2), groups * group_channels, window->rank, window->array, x_shape);
    shape_of(outputs, group_channels, window->rank, window->kernel, w_shape);
    shape_of(x_shape[0], outputs, window->rank, window->result, y_shape);
    kernel_begin(&call, "Conv", 22);
    set_window(&call, window, false);
    kernel_set_int(&call, "group", groups);
    x = kernel_add(&call, dtype, window->rank + 2, x_shape, numbers, false);
    weights = kernel_add(&call, dtype, window->rank + 2, w_shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    if (kernel_pick(0, 1) == 1) {
        bias = kernel_add(&call, dtype, 1, &outputs, NUMBERS_SHORT, true);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, window->rank + 2, y_shape);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(window->rank + 2, y_shape, i, at);
        kernel_check(&call, 0, i,
                     convolve(window, x_shape, w_shape, x, weights, at, at[1] / group_outputs, 0, 0) +
                         (bias != NULL ? kernel_number(bias, (size_t)at[1]) : 0),
                     tolerance);
    }
    kernel_end(&call);
}

static void check_conv(mdf_dtype dtype, double tolerance)
{
    struct window window = pick_window(false);
    int64_t groups = kernel_pick(1, 3), group_channels = kernel_pick(1, 3);

    /* Several panels of weights. */
    check_conv_of(&window, groups, group_channels, kernel_pick(1, kernel_pick(0, 3) == 0 ? 30 : 5), dtype, tolerance);
}

/* Each channel by itself, with kernels up to 8 by 8; wide planes too, of which strips are not copied. */
static void check_planes(mdf_dtype dtype)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};

    do {
        for (size_t i = 0; i < 2; i++) {
            window.kernel[i] = kernel_pick(1, 8);
            window.strides[i] = kernel_pick(1, kernel_pick(1, 6));
            window.dilations[i] = kernel_pick(1, kernel_pick(1, 2));
            window.pads[i] = kernel_pick(0, 9);
            window.pads[i + 2] = kernel_pick(0, 9);
            window.array[i] = kernel_pick(1, i == 0 ? 20 : kernel_pick(0, 5) == 0 ? 900 : 50);
        }
    } while (!count_windows(&window));
    check_conv_of(&window, kernel_pick(1, 3), 1, kernel_pick(1, 2), dtype, 0);
}

/* The same with the squares that have code of their own. */
static void check_square_planes(mdf_dtype dtype)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};
    int64_t kernel = 2 * kernel_pick(1, 3) + 1, stride = kernel_pick(1, kernel_pick(1, 5)),
            dilation = kernel_pick(1, kernel_pick(1, 4));

    do {
        for (size_t i = 0; i < 2; i++) {
            window.kernel[i] = kernel;
            window.strides[i] = stride;
            window.dilations[i] = dilation;
            window.pads[i] = kernel_pick(0, 9);
            window.pads[i + 2] = kernel_pick(0, 9);
            window.array[i] = kernel_pick(1, i == 0 ? 20 : kernel_pick(0, 5) == 0 ? 900 : 50);
        }
    } while (!count_windows(&window));
    check_conv_of(&window, kernel_pick(1, 3), 1, kernel_pick(1, 2), dtype, 0);
}

/* The same with kernels of one row or one column, for several rows of windows at once. */
static void check_thin_kernels(mdf_dtype dtype)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};
    size_t thin = (size_t)kernel_pick(0, 1);

    do {
        for (size_t i = 0; i < 2; i++) {
            window.kernel[i] = i == thin ? 1 : kernel_pick(1, 12);
            window.strides[i] = kernel_pick(1, kernel_pick(1, 6));
            window.dilations[i] = kernel_pick(1, kernel_pick(1, 3));
            window.pads[i] = kernel_pick(0, 7);
            window.pads[i + 2] = kernel_pick(0, 7);
            window.array[i] = kernel_pick(1, 50);
        }
    } while (!count_windows(&window));
    check_conv_of(&window, kernel_pick(1, 3), 1, kernel_pick(1, 2), dtype, 0);
}

/* Of one tap, with so many panels of weights that planes are laid out as tiles meet them; with more channels than are summed in
 * one go. */
static void check_pointwise(mdf_dtype dtype)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};

    for (size_t i = 0; i < 2; i++) {
        window.kernel[i] = window.strides[i] = window.dilations[i] = 1;
        window.array[i] = kernel_pick(1, 9);
    }
    cr_assert(count_windows(&window));
    check_conv_of(&window, kernel_pick(1, 2), kernel_pick(1, kernel_pick(0, 3) == 0 ? 300 : 20), kernel_pick(25, 60), dtype, 0);
}

/* Products of numbers of few digits: sums are exact, but for the rounding of a float16 result. */
Test(window_oracles, convolution)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_conv(MDF_DTYPE_FLOAT32, 0);
        check_conv(MDF_DTYPE_FLOAT64, 0);
        check_conv(MDF_DTYPE_FLOAT16, 0.02);
        check_conv(MDF_DTYPE_BFLOAT16, 0.2);
        check_planes(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
        check_square_planes(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
        check_thin_kernels(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
        if (i % 4 < 2) {
            check_pointwise(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
        }
    }
}

/* The inputs of a QLinearConv or a ConvInteger; scales and zero points are those of x, the weights and y. */
struct byte_conv {
    const struct mdf_value *x, *weights, *bias, *scales[3], *zeros[3];
};

static struct byte_conv add_bytes(struct kernel_call *call, bool is_scaled, size_t rank, const int64_t *x_shape,
                                  const int64_t *w_shape)
{
    static const mdf_dtype bytes[] = {MDF_DTYPE_UINT8, MDF_DTYPE_INT8};
    mdf_dtype x_dtype = bytes[kernel_pick(0, 1)], w_dtype = bytes[kernel_pick(0, 1)];
    struct byte_conv conv = {.x = NULL};

    conv.x = kernel_add(call, x_dtype, rank, x_shape, NUMBERS_WILD, false);
    if (!is_scaled) {
        conv.weights = kernel_add(call, w_dtype, rank, w_shape, NUMBERS_WILD, kernel_pick(0, 1) == 1);
        conv.zeros[0] = kernel_add_quantisation(call, x_dtype, 1);
        conv.zeros[1] = kernel_add_quantisation(call, w_dtype, w_shape[0]);
        return conv;
    }
    conv.scales[0] = kernel_add_quantisation(call, MDF_DTYPE_FLOAT32, 1);
    conv.zeros[0] = kernel_add_quantisation(call, x_dtype, 1);
    conv.weights = kernel_add(call, w_dtype, rank, w_shape, NUMBERS_WILD, kernel_pick(0, 1) == 1);
    conv.scales[1] = kernel_add_quantisation(call, MDF_DTYPE_FLOAT32, w_shape[0]);
    conv.zeros[1] = kernel_add_quantisation(call, w_dtype, w_shape[0]);
    conv.scales[2] = kernel_add_quantisation(call, MDF_DTYPE_FLOAT32, 1);
    conv.zeros[2] = kernel_add_quantisation(call, x_dtype, 1);
    if (kernel_pick(0, 1) == 1) {
        conv.bias = kernel_add(call, MDF_DTYPE_INT32, 1, w_shape, NUMBERS_SHORT, true);
    }
    return conv;
}

/* `is_extreme`: all numbers are such that products are as large as they can be. */
static void check_byte_conv_of(const struct window *window, int64_t groups, int64_t group_channels, int64_t group_outputs,
                               bool is_scaled, bool is_extreme)
{
    int64_t x_shape[MAX_RANK], w_shape[MAX_RANK], y_shape[MAX_RANK], at[MAX_RANK];
    struct kernel_call call;
    struct byte_conv conv;

    shape_of(kernel_pick(0, 9) == 0 ? 0 : kernel_pick(1, 2), groups * group_channels, window->rank, window->array, x_shape);
    shape_of(groups * group_outputs, group_channels, window->rank, window->kernel, w_shape);
    shape_of(x_shape[0], groups * group_outputs, window->rank, window->result, y_shape);
    kernel_begin(&call, is_scaled ? "QLinearConv" : "ConvInteger", 10);
    set_window(&call, window, false);
    kernel_set_int(&call, "group", groups);
    conv = add_bytes(&call, is_scaled, window->rank + 2, x_shape, w_shape);
    if (is_extreme) {
        memset(conv.x->data, conv.x->dtype == MDF_DTYPE_INT8 ? INT8_MAX : UINT8_MAX, conv.x->length);
        memset(conv.weights->data, conv.weights->dtype == MDF_DTYPE_INT8 ? 0x80 : 0, conv.weights->length);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, window->rank + 2, y_shape);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        double sum;

        kernel_index(window->rank + 2, y_shape, i, at);
        sum = convolve(window, x_shape, w_shape, conv.x, conv.weights, at, at[1] / group_outputs, kernel_number(conv.zeros[0], 0),
                       kernel_number_for(conv.zeros[1], at[1]));
        sum += conv.bias != NULL ? kernel_number(conv.bias, (size_t)at[1]) : 0;
        if (is_scaled) {
            float scale = (float)kernel_number(conv.scales[0], 0) * (float)kernel_number_for(conv.scales[1], at[1]) /
                          (float)kernel_number(conv.scales[2], 0);

            kernel_check_quantised(&call, i, sum, scale, kernel_number(conv.zeros[2], 0));
        } else {
            kernel_check(&call, 0, i, sum, 0);
        }
    }
    kernel_end(&call);
}

static void check_byte_conv(bool is_scaled)
{
    struct window window = pick_window(false);

    check_byte_conv_of(&window, kernel_pick(1, 3), kernel_pick(1, 9), kernel_pick(1, 14), is_scaled, false);
}

/* Windows of 3 by 3, one behind the other, of many channels: four have fewer products together. */
static void check_byte_threes(int64_t group_channels, int64_t most, bool is_extreme)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};

    for (size_t i = 0; i < 2; i++) {
        window.kernel[i] = 3;
        window.strides[i] = window.dilations[i] = 1;
        window.pads[i] = is_extreme ? 0 : kernel_pick(0, kernel_pick(1, 5));
        window.pads[i + 2] = is_extreme ? 0 : kernel_pick(0, kernel_pick(1, 5));
        window.array[i] = kernel_pick(6, most);
    }
    cr_assert(count_windows(&window));
    check_byte_conv_of(&window, is_extreme ? 1 : kernel_pick(1, 2), group_channels, is_extreme ? 8 : kernel_pick(8, 20),
                       kernel_pick(0, 1) == 0, is_extreme);
}

/* Each channel by itself, more than are worked on at once. */
static void check_byte_planes(void)
{
    struct window window = {.rank = 2, .auto_pad = "NOTSET"};

    for (size_t i = 0; i < 2; i++) {
        window.kernel[i] = 3;
        window.strides[i] = window.dilations[i] = 1;
        window.array[i] = kernel_pick(70, 90);
    }
    cr_assert(count_windows(&window));
    check_byte_conv_of(&window, kernel_pick(17, 40), 1, kernel_pick(1, 2), kernel_pick(0, 1) == 0, false);
}

/* Sums of bytes are exact, whatever the zero points. */
Test(window_oracles, byte_convolution)
{
    for (size_t i = 0; i < 6; i++) {
        check_byte_planes();
    }
    for (size_t i = 0; i < 3 * N_CASES; i++) {
        check_byte_conv(false);
        check_byte_conv(true);
    }
    for (size_t i = 0; i < N_CASES; i++) {
        check_byte_threes(kernel_pick(22, 27), i % 4 == 0 ? 40 : 12, false);
    }
    for (size_t i = 0; i < 2; i++) {
        check_byte_threes(i % 2 == 0 ? 1800 : 1900, 6, true);
    }
}

/* ------------------------------------------------------------------ transposed convolution */

/* Sizes that a transposed convolution with these windows has, its output padding included; false: one would be negative. */
static bool count_transposed(struct window *window, const int64_t *padding)
{
    for (size_t i = 0; i < window->rank; i++) {
        window->result[i] = window->strides[i] * (window->array[i] - 1) + padding[i] + span(window, i) - window->pads[i] -
                            window->pads[i + window->rank];
        if (window->result[i] < 1) {
            return false;
        }
    }
    return true;
}

/* Adds what each element of X spreads over Y. */
static void spread(const struct window *window, const int64_t *x_shape, const int64_t *w_shape, const int64_t *y_shape,
                   const struct mdf_value *x, const struct mdf_value *weights, double *y)
{
    int64_t from[MAX_RANK], tap[MAX_RANK] = {0}, to[MAX_RANK];
    size_t n_taps = kernel_n_elements(window->rank + 1, w_shape + 1), rank = window->rank + 2;

    for (size_t i = 0; i < x->length; i++) {
        kernel_index(rank, x_shape, i, from);
        for (size_t t = 0; t < n_taps; t++, kernel_next(rank - 1, w_shape + 1, tap)) {
            bool inside = true;

            to[0] = from[0];
            to[1] = from[1] / (x_shape[1] / (y_shape[1] / w_shape[1])) * w_shape[1] + tap[0];
            for (size_t axis = 0; axis < window->rank; axis++) {
                to[axis + 2] =
                    from[axis + 2] * window->strides[axis] + tap[axis + 1] * window->dilations[axis] - window->pads[axis];
                inside = inside && to[axis + 2] >= 0 && to[axis + 2] < y_shape[axis + 2];
            }
            if (inside) {
                y[kernel_place(rank, y_shape, to)] += kernel_number(x, i) * kernel_number(weights, (size_t)from[1] * n_taps + t);
            }
        }
    }
}

static void check_conv_transpose(mdf_dtype dtype, double tolerance)
{
    int64_t groups = kernel_pick(1, 3), group_channels = kernel_pick(1, 3), group_outputs = kernel_pick(1, 4), outputs;
    int64_t x_shape[MAX_RANK], w_shape[MAX_RANK], y_shape[MAX_RANK], padding[MAX_AXES];
    const struct mdf_value *x, *weights, *bias = NULL;
    struct kernel_call call;
    struct window window;
    size_t plane;
    double *y;

    do {
        window = pick_window(false);
        window.auto_pad = "NOTSET";
        for (size_t i = 0; i < window.rank; i++) {
            window.array[i] += window.array[i] == 0;
            padding[i] = kernel_pick(0, window.strides[i] - 1);
        }
    } while (!count_transposed(&window, padding));
    outputs = groups * group_outputs;
    shape_of(kernel_pick(0, 9) == 0 ? 0 : kernel_pick(1, 2), groups * group_channels, window.rank, window.array, x_shape);
    shape_of(groups * group_channels, group_outputs, window.rank, window.kernel, w_shape);
    shape_of(x_shape[0], outputs, window.rank, window.result, y_shape);
    kernel_begin(&call, "ConvTranspose", 22);
    set_window(&call, &window, false);
    kernel_set_ints(&call, "output_padding", padding, window.rank);
    kernel_set_int(&call, "group", groups);
    x = kernel_add(&call, dtype, window.rank + 2, x_shape, NUMBERS_SHORT, false);
    weights = kernel_add(&call, dtype, window.rank + 2, w_shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    if (kernel_pick(0, 1) == 1) {
        bias = kernel_add(&call, dtype, 1, &outputs, NUMBERS_SHORT, true);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, window.rank + 2, y_shape);
    y = calloc(call.outputs[0].length + 1, sizeof *y);
    spread(&window, x_shape, w_shape, y_shape, x, weights, y);
    plane = kernel_n_elements(window.rank, window.result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_check(&call, 0, i, y[i] + (bias != NULL ? kernel_number(bias, i / plane % (size_t)outputs) : 0), tolerance);
    }
    free(y);
    kernel_end(&call);
}

Test(window_oracles, transposed_convolution)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_conv_transpose(MDF_DTYPE_FLOAT32, 0);
        check_conv_transpose(MDF_DTYPE_FLOAT64, 0);
        check_conv_transpose(MDF_DTYPE_FLOAT16, 0.02);
    }
}

/* ------------------------------------------------------------------ pools */

enum kind { LARGEST, AVERAGE, NORM };

/* What the taps of one window come to. */
struct pooled {
    double largest, sum, powers;
    int64_t index; /* of the largest in the plane; -1: there is none */
    int64_t n, n_in_pads;
};

static struct pooled pool_window(const struct window *window, const struct mdf_value *x, size_t plane, const int64_t *at,
                                 int64_t p)
{
    struct pooled pooled = {-INFINITY, 0, 0, -1, 0, 0};
    size_t n_taps = kernel_n_elements(window->rank, window->kernel);
    int64_t tap[MAX_AXES] = {0}, place[MAX_AXES];

    for (size_t t = 0; t < n_taps; t++, kernel_next(window->rank, window->kernel, tap)) {
        bool in_pads, inside;
        double number;
        size_t from;

        inside = find_tap(window, at, tap, place, &in_pads);
        pooled.n_in_pads += in_pads;
        if (!inside) {
            continue;
        }
        from = kernel_place(window->rank, window->array, place);
        number = kernel_number(x, plane * kernel_n_elements(window->rank, window->array) + from);
        if (pooled.index < 0 || number > pooled.largest || isnan(number)) {
            pooled.largest = number;
            pooled.index = (int64_t)from;
        }
        pooled.n++;
        pooled.sum += number;
        pooled.powers += pow(fabs(number), (double)p);
    }
    return pooled;
}

/* The place in the whole array of an element of a plane, counted by rows or by columns. */
static double index_in_array(const struct window *window, int64_t index, size_t plane, bool by_columns)
{
    size_t size = kernel_n_elements(window->rank, window->array);
    int64_t place[MAX_AXES], turned = 0;

    if (index < 0) {
        return -1;
    }
    kernel_index(window->rank, window->array, (size_t)index, place);
    for (size_t i = window->rank; i-- > 0;) {
        turned = turned * window->array[i] + place[i];
    }
    return (double)(by_columns ? turned : index) + (double)(plane * size);
}

/* The largest of no numbers. */
static double least(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT8 ? -128 : dtype == MDF_DTYPE_UINT8 ? 0 : -(double)INFINITY;
}

static void check_pool(enum kind kind, mdf_dtype dtype, double tolerance)
{
    struct window window = pick_window(true);
    int64_t x_shape[MAX_RANK], y_shape[MAX_RANK], at[MAX_RANK], option = kind == NORM ? kernel_pick(1, 3) : kernel_pick(0, 1);
    enum kernel_numbers numbers = kind == LARGEST && kernel_pick(0, 1) == 1 ? NUMBERS_WILD : NUMBERS_SHORT;
    const struct mdf_value *x;
    struct kernel_call call;

    kernel_begin(&call, kind == LARGEST ? "MaxPool" : kind == AVERAGE ? "AveragePool" : "LpPool", 22);
    set_window(&call, &window, true);
    kernel_set_int(&call, kind == LARGEST ? "storage_order" : kind == AVERAGE ? "count_include_pad" : "p", option);
    shape_of(kernel_pick(0, 9) == 0 ? 0 : kernel_pick(1, 2), kernel_pick(1, 3), window.rank, window.array, x_shape);
    shape_of(x_shape[0], x_shape[1], window.rank, window.result, y_shape);
    x = kernel_add(&call, dtype, window.rank + 2, x_shape, numbers, false);
    call.call.n_outputs = kind == LARGEST ? (size_t)kernel_pick(1, 2) : 1;
    kernel_run(&call);
    kernel_check_shape(&call, 0, window.rank + 2, y_shape);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        size_t plane = i / kernel_n_elements(window.rank, window.result);
        struct pooled pooled;
        double n;

        kernel_index(window.rank + 2, y_shape, i, at);
        pooled = pool_window(&window, x, plane, at + 2, option);
        n = (double)(kind == AVERAGE && option == 1 ? pooled.n_in_pads : pooled.n);
        kernel_check(&call, 0, i,
                     kind == LARGEST   ? (pooled.n > 0 ? pooled.largest : least(dtype))
                     : kind == AVERAGE ? pooled.sum / (n > 0 ? n : 1)
                                       : pow(pooled.powers, 1 / (double)option),
                     tolerance);
        if (call.call.n_outputs == 2) {
            kernel_check(&call, 1, i, index_in_array(&window, pooled.index, plane, option == 1), 0);
        }
    }
    kernel_end(&call);
}

/* Averages and norms: of numbers around 1, in the type's digits. */
Test(window_oracles, pools)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_pool(LARGEST, MDF_DTYPE_FLOAT32, 0);
        check_pool(LARGEST, MDF_DTYPE_FLOAT64, 0);
        check_pool(LARGEST, MDF_DTYPE_FLOAT16, 0);
        check_pool(LARGEST, MDF_DTYPE_INT8, 0);
        check_pool(LARGEST, MDF_DTYPE_UINT8, 0);
        check_pool(AVERAGE, MDF_DTYPE_FLOAT32, 1e-6);
        check_pool(AVERAGE, MDF_DTYPE_FLOAT64, 1e-15);
        check_pool(AVERAGE, MDF_DTYPE_FLOAT16, 1e-3);
        check_pool(NORM, MDF_DTYPE_FLOAT32, 1e-5);
        check_pool(NORM, MDF_DTYPE_FLOAT64, 1e-14);
    }
}
