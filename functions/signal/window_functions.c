/* window_functions.c - weights for spectra: HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix.
 *
 * Comes in: a size; of the matrix the number of bands, the length of the transform, the rate and the edges. Goes out: the window,
 * or triangles in mel frequencies over the bins of a onesided transform. Computed in float64. Source: ONNX, version 17 of each.
 */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct window_settings {
    int64_t periodic;
    mdf_dtype dtype;
};

static const struct mdf_setting window_table[] = {{"periodic", MDF_SETTING_INT, offsetof(struct window_settings, periodic)},
                                                  {"output_datatype", MDF_SETTING_DTYPE, offsetof(struct window_settings, dtype)},
                                                  {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting mel_table[] = {{"output_datatype", MDF_SETTING_DTYPE, offsetof(struct window_settings, dtype)},
                                               {NULL, MDF_SETTING_INT, 0}};

/* a[0] - a[1] cos t + a[2] cos 2t; a[0] comes last, so that Blackman's window is 0 at its ends and 1 in the middle. */
static bool fill_window(struct mdf_call *call, const double a[3])
{
    const struct window_settings *settings = call->settings;
    const double turn = 2 * 3.14159265358979323846;
    struct mdf_workspace workspace;
    int64_t size, n_steps;
    double *window;

    if (!mdf_call_integer(call, 0, &size) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 1)) {
        return false;
    }
    window = mdf_workspace_output(&workspace, 0, settings->dtype, 1, &size);
    n_steps = settings->periodic != 0 ? size : size - 1;
    for (int64_t i = 0; window != NULL && i < size; i++) {
        double angle = turn * (double)i / (double)n_steps;

        window[i] = a[2] * cos(2 * angle) - a[1] * cos(angle) + a[0];
    }
    return window != NULL && mdf_workspace_end(&workspace);
}

static bool hann(struct mdf_call *call)
{
    return fill_window(call, (const double[3]){0.5, 0.5, 0});
}

static bool hamming(struct mdf_call *call)
{
    return fill_window(call, (const double[3]){25.0 / 46, 21.0 / 46, 0});
}

static bool blackman(struct mdf_call *call)
{
    return fill_window(call, (const double[3]){0.42, 0.5, 0.08});
}

/* ------------------------------------------------------------------ MelWeightMatrix */

enum { INPUT_BANDS, INPUT_DFT_LENGTH, INPUT_RATE, INPUT_LOW, INPUT_HIGH };

struct mel {
    int64_t n_bands, n_bins, dft_length, rate;
    double low, step; /* in mel; the standard divides the range by the number of bands + 2 */
};

static double mel_of(double hertz)
{
    return 2595 * log1p(hertz / 700) / log(10);
}

static bool read_mel(struct mdf_call *call, struct mel *mel)
{
    double low, high;

    if (!mdf_call_integer(call, INPUT_BANDS, &mel->n_bands) || !mdf_call_integer(call, INPUT_DFT_LENGTH, &mel->dft_length) ||
        !mdf_call_integer(call, INPUT_RATE, &mel->rate) || !mdf_call_real(call, INPUT_LOW, &low) ||
        !mdf_call_real(call, INPUT_HIGH, &high)) {
        return false;
    }
    if (mel->n_bands < 0 || mel->n_bands > INT32_MAX || mel->dft_length < 0 || mel->dft_length > INT32_MAX || mel->rate < 1 ||
        !(low >= 0) || !(high >= low) || isinf(high)) {
        return mdf_call_error(call, MDF_VALUE,
                              "%lld bands from %g to %g hertz of a transform of length %lld at a rate of %lld make no matrix",
                              (long long)mel->n_bands, low, high, (long long)mel->dft_length, (long long)mel->rate);
    }
    mel->n_bins = mel->dft_length / 2 + 1;
    mel->low = mel_of(low);
    mel->step = (mel_of(high) - mel->low) / (double)(mel->n_bands + 2);
    return true;
}

/* The bin that edge number `i` of the bands falls into; false: past the last. */
static bool find_bin(struct mdf_call *call, const struct mel *mel, int64_t i, int64_t *bin)
{
    double hertz = 700 * expm1((mel->low + (double)i * mel->step) / 2595 * log(10));
    double place = floor((double)(mel->dft_length + 1) * hertz / (double)mel->rate);

    if (!(place >= 0 && place < (double)mel->n_bins)) {
        return mdf_call_error(call, MDF_VALUE, "the edge of a band at %g hertz lies past the last of %lld bins", hertz,
                              (long long)mel->n_bins);
    }
    *bin = (int64_t)place;
    return true;
}

static bool mel_weight_matrix(struct mdf_call *call)
{
    const struct window_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mel mel;
    double *matrix;

    if (!read_mel(call, &mel) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 1)) {
        return false;
    }
    matrix = mdf_workspace_output(&workspace, 0, settings->dtype, 2, (const int64_t[2]){mel.n_bins, mel.n_bands});
    if (matrix == NULL) {
        return false;
    }
    memset(matrix, 0, (size_t)mel.n_bins * (size_t)mel.n_bands * sizeof *matrix);
    for (int64_t band = 0; band < mel.n_bands; band++) {
        int64_t low = 0, centre = 0, high = 0;

        if (!find_bin(call, &mel, band, &low) || !find_bin(call, &mel, band + 1, &centre) ||
            !find_bin(call, &mel, band + 2, &high)) {
            return false;
        }
        for (int64_t bin = low; bin <= centre; bin++) {
            matrix[bin * mel.n_bands + band] = centre == low ? 1 : (double)(bin - low) / (double)(centre - low);
        }
        for (int64_t bin = centre; bin < high; bin++) {
            matrix[bin * mel.n_bands + band] = (double)(high - bin) / (double)(high - centre);
        }
    }
    return mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_window_functions[] = {
    {"HannWindow", 17, 99, hann, window_table, sizeof(struct window_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_NUMBERS, .infer = &mdf_rule_counted},
    {"HammingWindow", 17, 99, hamming, window_table, sizeof(struct window_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_NUMBERS, .infer = &mdf_rule_counted},
    {"BlackmanWindow", 17, 99, blackman, window_table, sizeof(struct window_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_NUMBERS, .infer = &mdf_rule_counted},
    {"MelWeightMatrix", 17, 99, mel_weight_matrix, mel_table, sizeof(struct window_settings), MDF_OPERATOR_PURE, NULL,
     .form = MDF_FORM_OF_NUMBERS, .infer = &mdf_rule_mel_weights},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
