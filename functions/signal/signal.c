/* signal.c - spectra of signals: DFT, STFT.
 *
 * Comes in: an array whose last axis is the real part, or the real and imaginary part. Goes out: the discrete Fourier transform
 * along an axis, or its inverse; of a short-time transform, those of frames of the signal under a window. Computed in float64.
 * Source: ONNX DFT 17 and 20, STFT 17. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/moves/indexing.h"
#include "functions/signal/fourier.h"
#include "mdf_c/base/sizes.h"

#include <math.h>
#include <string.h>

struct signal_settings {
    int64_t inverse, onesided, axis;
};

static const struct mdf_setting dft_table[] = {{"inverse", MDF_SETTING_INT, offsetof(struct signal_settings, inverse)},
                                               {"onesided", MDF_SETTING_INT, offsetof(struct signal_settings, onesided)},
                                               {"axis", MDF_SETTING_INT, offsetof(struct signal_settings, axis)},
                                               {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting stft_table[] = {{"onesided", MDF_SETTING_INT, offsetof(struct signal_settings, onesided)},
                                                {NULL, MDF_SETTING_INT, 0}};

enum { N_CHUNKS = 64, N_SLOTS = 8 };

/* Rough time of one element of a line, to judge what is worth a thread. */
static const double element_ns = 30;

/* Numbers of the lines to be transformed, as spectra_routine.inc takes them. A line goes along an axis; INNER: what lies between
 * its neighbours. Or it is a frame: line l is frame l % FRAMES, which begins at its number times FRAME_STEP, of a signal of
 * SIGNAL_LENGTH. */
enum spectrum {
    LINES,
    INNER,
    N_IN, /* numbers of a line read, and written */
    N_OUT,
    IN_PARTS, /* 1: real, 2: complex */
    OUT_PARTS,
    INVERSE,
    MIRRORED, /* the second half of the input is the conjugate of the first */
    FRAMES,
    FRAME_STEP,
    SIGNAL_LENGTH,
    LENGTH, /* of the transform, and of the convolution that it needs */
    CONVOLUTION,
    HAS_WINDOW,
    N_SPECTRUM
};

struct spectra {
    int64_t of[N_SPECTRUM];
    const double *x;
    double *y;
    struct mdf_fourier plan;
    const double *window; /* NULL: ones */
    double *memory;       /* of N_CHUNKS chunks, each n_memory: input, output and work of a transform */
    size_t n_memory, n_chunk_lines;
};

#define HEEDED(stop, element) true
#define APART
#include "functions/signal/fourier_routine.inc"
#define ROUTINES "functions/signal/spectra_routine.inc"
#include "functions/kernel/routine_reals.inc"
#undef HEEDED
#undef APART

static void transform_chunks(void *context, size_t first, size_t last)
{
    const struct spectra *job = context;

    for (size_t chunk = first; chunk < last; chunk++) {
        double *in = job->memory + chunk * job->n_memory, *out = in + 2 * job->plan.n, *work = out + 2 * job->plan.n;
        size_t n_lines = (size_t)job->of[LINES], end = (chunk + 1) * job->n_chunk_lines;

        for (size_t line = chunk * job->n_chunk_lines; line < end && line < n_lines; line++) {
            mdf_spectra_load_float64(job->of, (int64_t)line, job->x, job->window, in);
            mdf_fourier_run(&job->plan, in, out, work);
            mdf_spectra_store_float64(job->of, (int64_t)line, out, job->y);
        }
    }
}

/* Transforms all lines. */
static bool transform_lines(struct mdf_workspace *workspace, struct spectra *job)
{
    size_t n_lines = (size_t)job->of[LINES], n_chunks = n_lines < N_CHUNKS ? n_lines : N_CHUNKS, n_table, n_work;
    size_t n = (size_t)job->of[LENGTH];
    double *table;

    if (n_lines == 0 || job->of[N_OUT] == 0) {
        return true;
    }
    if (!mdf_fourier_sizes(n, &n_table, &n_work)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "a transform of length %zu is past all memory", n);
    }
    job->n_memory = 4 * n + n_work;
    job->n_chunk_lines = mdf_divide_up(n_lines, n_chunks);
    table = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, n_table);
    job->memory = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT64, n_chunks, job->n_memory);
    if (table == NULL || job->memory == NULL) {
        return false;
    }
    mdf_fourier_prepare(&job->plan, n, table, job->memory + 4 * n, workspace->call->context->stop);
    mdf_parallel_for(workspace->call->context, n_chunks, element_ns * (double)n * (double)job->n_chunk_lines, transform_chunks,
                     job);
    return true;
}

/* The same as plain C, with the tables of the transform; false: these are too large, or the call is none of reals. */
static bool plan_lines(struct mdf_call *call, struct spectra *job, struct mdf_routine_plan *plan)
{
    enum { MOST_NUMBERS = 1 << 16 };
    size_t n = (size_t)job->of[LENGTH], n_table, n_work;
    double *work;

    plan->function = "spectra";
    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || !mdf_fourier_sizes(n, &n_table, &n_work) || n_table > MOST_NUMBERS ||
        !mdf_routine_room(plan, N_SPECTRUM, n_table)) {
        return false;
    }
    work = mdf_arena_array(plan->arena, n_work + 1, sizeof *work);
    if (work == NULL) {
        return false;
    }
    mdf_fourier_prepare(&job->plan, n, plan->real, work, NULL);
    job->of[CONVOLUTION] = (int64_t)job->plan.m;
    memcpy(plan->whole, job->of, sizeof job->of);
    plan->work_bytes = (4 * n + n_work) * sizeof *work;
    return true;
}

/* Of so little that nobody need ask to stop, nor lines go to several threads: the tables are made once and not for each call. */
static mdf_routine_function spectra_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_NUMBERS = 1 << 13 };
    const int64_t *of = plan->whole;

    if (of[LINES] > MOST_NUMBERS || of[LENGTH] + of[CONVOLUTION] > MOST_NUMBERS / (of[LINES] > 0 ? of[LINES] : 1)) {
        return NULL;
    }
    return MDF_ROUTINE_OF_REALS(plan, spectra);
}

#define SPECTRA_ROUTINE(plan_of) (&(const struct mdf_routine){plan_of, .function = spectra_function})

/* Whether what is given behind the array, from input `first` on, is known before. */
static bool knows_inputs(const struct mdf_call *call, size_t but)
{
    for (size_t i = 1; i < call->n_inputs; i++) {
        if (i != but && mdf_call_input(call, i) != NULL && !mdf_call_is_constant(call, i)) {
            return false;
        }
    }
    return true;
}

/* The last axis: 1, real numbers, or 2, complex ones. */
static bool read_parts(struct mdf_call *call, const struct mdf_value *x, size_t least_rank, int64_t *parts)
{
    *parts = x->rank >= least_rank ? mdf_value_shape(x)[x->rank - 1] : 0;
    if (*parts != 1 && *parts != 2) {
        char text[128];

        mdf_value_describe(x, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE,
                              "the input is %s; its last axis has to be 1 (real) or 2 (complex), and its rank at least %zu", text,
                              least_rank);
    }
    return true;
}

/* ------------------------------------------------------------------ DFT */

/* Length of the transform: input 1, or the axis. */
static bool read_length(struct mdf_call *call, int64_t size, bool mirrored, int64_t *n)
{
    int64_t length = mirrored ? 2 * (size - 1) : size;

    if (mdf_call_input(call, 1) != NULL && !mdf_call_integer(call, 1, &length)) {
        return false;
    }
    if (length < 1 || length > INT64_MAX / 64) {
        return mdf_call_error(call, MDF_VALUE, "a transform of length %lld is not possible", (long long)length);
    }
    *n = length;
    return true;
}

/* The lines along an axis. */
static bool read_axis(struct mdf_call *call, const struct mdf_value *x, int64_t axis_given, struct spectra *job, size_t *axis)
{
    const struct signal_settings *settings = call->settings;
    bool inverse = settings->inverse != 0, onesided = settings->onesided != 0, mirrored = inverse && onesided;
    const int64_t *shape = mdf_value_shape(x);
    int64_t *of = job->of;

    if (!read_parts(call, x, 2, &of[IN_PARTS]) || !mdf_call_axis(call, axis_given, x->rank, axis)) {
        return false;
    }
    if (*axis == x->rank - 1 || (onesided && !inverse && of[IN_PARTS] == 2)) {
        return mdf_call_error(call, MDF_VALUE,
                              *axis == x->rank - 1 ? "the axis is the one of real and imaginary parts"
                                                   : "a onesided transform needs real numbers");
    }
    of[INVERSE] = inverse;
    of[MIRRORED] = mirrored;
    of[N_IN] = shape[*axis];
    of[INNER] = (int64_t)mdf_axes_product(shape, *axis + 1, x->rank - 1);
    of[LINES] = (int64_t)mdf_axes_product(shape, 0, *axis) * of[INNER];
    of[OUT_PARTS] = mirrored ? 1 : 2;
    if (!read_length(call, shape[*axis], mirrored, &of[LENGTH])) {
        return false;
    }
    of[N_OUT] = onesided && !inverse ? of[LENGTH] / 2 + 1 : of[LENGTH];
    return true;
}

static bool transform_axis(struct mdf_call *call, int64_t axis_given)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct spectra job = {0};
    struct mdf_workspace workspace;
    int64_t *shape;
    size_t axis;

    if (x == NULL || !read_axis(call, x, axis_given, &job, &axis) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, x->rank);
    if (shape == NULL) {
        return false;
    }
    memcpy(shape, mdf_value_shape(x), x->rank * sizeof *shape);
    shape[axis] = job.of[N_OUT];
    shape[x->rank - 1] = job.of[OUT_PARTS];
    job.x = mdf_workspace_input(&workspace, 0);
    job.y = job.x == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, shape);
    return job.y != NULL && transform_lines(&workspace, &job) && mdf_workspace_end(&workspace);
}

static bool plan_axis(struct mdf_call *call, int64_t axis_given, struct mdf_routine_plan *plan)
{
    struct spectra job = {0};
    size_t axis;

    return knows_inputs(call, SIZE_MAX) && read_axis(call, call->inputs[0], axis_given, &job, &axis) &&
           plan_lines(call, &job, plan);
}

static int64_t axis_17(struct mdf_call *call)
{
    return ((const struct signal_settings *)call->settings)->axis;
}

static bool read_axis_20(struct mdf_call *call, int64_t *axis)
{
    *axis = -2;
    return mdf_call_input(call, 2) == NULL || mdf_call_integer(call, 2, axis);
}

static bool dft_17(struct mdf_call *call)
{
    return transform_axis(call, axis_17(call));
}

static bool plan_dft_17(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_axis(call, axis_17(call), plan);
}

static bool dft_20(struct mdf_call *call)
{
    int64_t axis;

    return read_axis_20(call, &axis) && transform_axis(call, axis);
}

static bool plan_dft_20(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    int64_t axis;

    return knows_inputs(call, SIZE_MAX) && read_axis_20(call, &axis) && plan_axis(call, axis, plan);
}

/* ------------------------------------------------------------------ STFT */

enum { INPUT_SIGNAL, INPUT_STEP, INPUT_WINDOW, INPUT_LENGTH };

/* Step and length of the frames, and their number. */
static bool read_frames(struct mdf_call *call, const struct mdf_value *signal, struct spectra *job)
{
    const struct mdf_value *window = mdf_call_input(call, INPUT_WINDOW);
    int64_t size = mdf_value_shape(signal)[1], length = window != NULL ? (int64_t)window->length : size, step;

    if (!mdf_call_integer(call, INPUT_STEP, &step) ||
        (mdf_call_input(call, INPUT_LENGTH) != NULL && !mdf_call_integer(call, INPUT_LENGTH, &length))) {
        return false;
    }
    if (step < 1 || length < 1 || length > size) {
        return mdf_call_error(call, MDF_VALUE, "frames of %lld, %lld apart, can not be cut from a signal of %lld",
                              (long long)length, (long long)step, (long long)size);
    }
    if (window != NULL && !mdf_workspace_check_shape(call, "window", window, 1, &length)) {
        return false;
    }
    job->of[LENGTH] = job->of[N_IN] = length;
    job->of[SIGNAL_LENGTH] = size;
    job->of[FRAME_STEP] = step;
    job->of[FRAMES] = (size - length) / step + 1;
    job->of[LINES] = mdf_value_shape(signal)[0] * job->of[FRAMES];
    job->of[HAS_WINDOW] = window != NULL;
    return true;
}

/* The last axis of a signal; without one it is real, as PyTorch's exporter writes it. */
static bool read_signal_parts(struct mdf_call *call, const struct mdf_value *signal, int64_t *parts)
{
    *parts = 1;
    return signal->rank == 2 || read_parts(call, signal, 3, parts);
}

static bool read_signal(struct mdf_call *call, const struct mdf_value *signal, struct spectra *job)
{
    bool onesided = ((const struct signal_settings *)call->settings)->onesided != 0;

    if (!read_signal_parts(call, signal, &job->of[IN_PARTS]) || !read_frames(call, signal, job)) {
        return false;
    }
    if (signal->rank > 3 || (onesided && job->of[IN_PARTS] == 2)) {
        return mdf_call_error(call, MDF_SHAPE,
                              signal->rank > 3 ? "the signal has to be of rank 3, or 2 where it is real"
                                               : "a onesided transform needs a real signal");
    }
    job->of[INNER] = 1;
    job->of[OUT_PARTS] = 2;
    job->of[N_OUT] = onesided ? job->of[LENGTH] / 2 + 1 : job->of[LENGTH];
    return true;
}

static bool stft(struct mdf_call *call)
{
    const struct mdf_value *signal = mdf_call_tensor(call, INPUT_SIGNAL);
    struct spectra job = {0};
    struct mdf_workspace workspace;
    int64_t shape[4];

    if (signal == NULL || !read_signal(call, signal, &job) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    memcpy(shape, (const int64_t[4]){mdf_value_shape(signal)[0], job.of[FRAMES], job.of[N_OUT], 2}, sizeof shape);
    job.x = mdf_workspace_input(&workspace, INPUT_SIGNAL);
    job.window = job.of[HAS_WINDOW] ? mdf_workspace_input(&workspace, INPUT_WINDOW) : NULL;
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)signal->dtype, 4, shape);
    if (job.x == NULL || job.y == NULL || call->context->error.code != MDF_OK) {
        return false;
    }
    return transform_lines(&workspace, &job) && mdf_workspace_end(&workspace);
}

static bool plan_stft(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *window = mdf_call_input(call, INPUT_WINDOW);
    struct spectra job = {0};

    return knows_inputs(call, INPUT_WINDOW) && (window == NULL || window->dtype == call->inputs[0]->dtype) &&
           read_signal(call, call->inputs[0], &job) && plan_lines(call, &job, plan);
}

/* Real and imaginary parts of the transform of n elements, [..., k], of whose signals the first ones count; `sign`: of the angle.
 */
#define TRANSFORMED(n)                                                                                                          \
    {"angles", "2 * math.pi / " n " * (numpy.outer(numpy.arange(k), numpy.arange(rows.shape[-2])) % " n ")", NULL},             \
        {"real", "rows[..., 0]", NULL}, {"imaginary", "rows[..., 1] if rows.shape[-1] == 2 else numpy.zeros_like(real)", NULL}, \
        {"cosines", "numpy.transpose(numpy.cos(angles)) * factor", NULL},                                                       \
        {"sines", "numpy.transpose(numpy.sin(angles)) * factor * sign", NULL},                                                  \
        {"first", "numpy.matmul(real, cosines) + numpy.matmul(imaginary, sines)", NULL},                                        \
        {"second", "numpy.matmul(imaginary, cosines) - numpy.matmul(real, sines)", NULL},                                       \
    {                                                                                                                           \
        "both", "numpy.stack([first, second], -1)", NULL                                                                        \
    }
#define DFT_MEANING(axis)                                                                                                    \
    MDF_MEANING("result", NULL, {"at", axis, NULL}, {"a", "at if at >= 0 else at + x0.ndim", NULL},                          \
                {"n", "x0.shape[a] if x1 is None else int(x1)", NULL}, {"k", "y.shape[a]", NULL},                            \
                {"moved", "numpy.moveaxis(x0, a, -2)", NULL}, {"rows", "moved[..., :n, :]", NULL},                           \
                {"factor", "1 / n if inverse else 1.0", NULL}, {"sign", "-1.0 if inverse else 1.0", NULL}, TRANSFORMED("n"), \
                {"result",                                                                                                   \
                 "numpy.moveaxis(both, -2, a) if y.shape[-1] == 2 else gradient.refuse('a transform back to real numbers')", \
                 NULL})
#define STFT_MEANING                                                                                              \
    MDF_MEANING("result", NULL, {"n", "x2.shape[0] if x3 is None else int(x3)", NULL}, {"k", "y.shape[2]", NULL}, \
                {"at", "numpy.expand_dims(numpy.arange(y.shape[1]) * int(x1), 1) + numpy.arange(n)", NULL},       \
                {"cut", "numpy.take(numpy.reshape(x0, [x0.shape[0], x0.shape[1], -1]), at, 1)", NULL},            \
                {"rows", "cut if x2 is None else cut * numpy.expand_dims(x2, 1)", NULL}, {"factor", "1.0", NULL}, \
                {"sign", "1.0", NULL}, TRANSFORMED("n"), {"result", "both", NULL})

const struct mdf_operator mdf_operators_signal[] = {
    {"DFT", 17, 17, dft_17, dft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL, .meaning = DFT_MEANING("axis"),
     .routine = SPECTRA_ROUTINE(plan_dft_17), .infer = &mdf_rule_dft},
    {"DFT", 20, 99, dft_20, dft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = DFT_MEANING("-2 if x2 is None else int(x2)"), .routine = SPECTRA_ROUTINE(plan_dft_20), .infer = &mdf_rule_dft},
    {"STFT", 17, 99, stft, stft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL, .meaning = STFT_MEANING,
     .routine = SPECTRA_ROUTINE(plan_stft), .infer = &mdf_rule_stft},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
