/* signal.c - spectra of signals: DFT, STFT.
 *
 * Comes in: an array whose last axis is the real part, or the real and imaginary part. Goes out: the discrete Fourier transform
 * along an axis, or its inverse; of a short-time transform, those of frames of the signal under a window. Computed in float64.
 * Source: ONNX DFT 17 and 20, STFT 17. */
#include "functions/kernel/workspace.h"
#include "functions/moves/indexing.h"
#include "functions/signal/fourier.h"

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

/* Lines to be transformed. */
struct spectra {
    const double *x;
    double *y;
    struct mdf_fourier plan;
    size_t n_lines, n_inner;    /* lines side by side: what lies between neighbours of a line */
    size_t n_in, n_out;         /* numbers of a line read, and written */
    size_t in_parts, out_parts; /* 1: real, 2: complex */
    bool inverse, mirrored;     /* mirrored: the second half of the input is the conjugate of the first */
    /* Frames: line l is frame l % n_frames, which begins at its number times frame_step, of a signal of signal_length. */
    size_t n_frames, frame_step, signal_length;
    const double *window; /* NULL: ones */
    double *memory;       /* of N_CHUNKS chunks, each n_memory: input, output and work of a transform */
    size_t n_memory, n_chunk_lines;
};

/* The first element of a line in the input. */
static size_t start_of(const struct spectra *job, size_t line)
{
    if (job->n_frames > 0) {
        return line / job->n_frames * job->signal_length + line % job->n_frames * job->frame_step;
    }
    return line / job->n_inner * job->n_in * job->n_inner + line % job->n_inner;
}

/* A line as complex numbers, zeros where it is too short. For the inverse real and imaginary parts change places, here and in the
 * result, which makes one transform the other. */
static void load_line(const struct spectra *job, size_t line, double *in)
{
    size_t n = job->plan.n, n_read = job->mirrored ? n / 2 + 1 : n, start = start_of(job, line);

    n_read = n_read < job->n_in ? n_read : job->n_in;
    memset(in, 0, 2 * n * sizeof *in);
    for (size_t i = 0; i < n_read; i++) {
        const double *x = job->x + (start + i * job->n_inner) * job->in_parts;
        double factor = job->window != NULL ? job->window[i] : 1;

        in[2 * i + job->inverse] = x[0] * factor;
        in[2 * i + !job->inverse] = job->in_parts == 2 ? x[1] * factor : 0;
    }
    if (!job->mirrored) {
        return;
    }
    in[0] = 0; /* the imaginary parts of numbers that are their own mirror images do not count */
    if (n % 2 == 0) {
        in[2 * (n / 2)] = 0;
    }
    for (size_t i = n / 2 + 1; i < n; i++) {
        in[2 * i] = -in[2 * (n - i)];
        in[2 * i + 1] = in[2 * (n - i) + 1];
    }
}

static void store_line(const struct spectra *job, size_t line, const double *out)
{
    size_t inner = job->n_frames > 0 ? 1 : job->n_inner;
    double factor = job->inverse ? 1 / (double)job->plan.n : 1;

    for (size_t i = 0; i < job->n_out; i++) {
        double *y = job->y + (line / inner * job->n_out * inner + line % inner + i * inner) * job->out_parts;

        y[0] = out[2 * i + job->inverse] * factor;
        if (job->out_parts == 2) {
            y[1] = out[2 * i + !job->inverse] * factor;
        }
    }
}

static void transform_chunks(void *context, size_t first, size_t last)
{
    const struct spectra *job = context;

    for (size_t chunk = first; chunk < last; chunk++) {
        double *in = job->memory + chunk * job->n_memory, *out = in + 2 * job->plan.n, *work = out + 2 * job->plan.n;
        size_t end = (chunk + 1) * job->n_chunk_lines < job->n_lines ? (chunk + 1) * job->n_chunk_lines : job->n_lines;

        for (size_t line = chunk * job->n_chunk_lines; line < end; line++) {
            load_line(job, line, in);
            mdf_fourier_run(&job->plan, in, out, work);
            store_line(job, line, out);
        }
    }
}

/* Transforms all lines. */
static bool transform_lines(struct mdf_workspace *workspace, struct spectra *job, size_t n)
{
    size_t n_chunks = job->n_lines < N_CHUNKS ? job->n_lines : N_CHUNKS, n_table, n_work;
    double *table;

    if (job->n_lines == 0 || job->n_out == 0) {
        return true;
    }
    if (!mdf_fourier_sizes(n, &n_table, &n_work)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "a transform of length %zu is past all memory", n);
    }
    job->n_memory = 4 * n + n_work;
    job->n_chunk_lines = (job->n_lines + n_chunks - 1) / n_chunks;
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

/* The last axis: 1, real numbers, or 2, complex ones. */
static bool read_parts(struct mdf_call *call, const struct mdf_value *x, size_t least_rank, size_t *parts)
{
    *parts = x->rank >= least_rank ? (size_t)mdf_value_shape(x)[x->rank - 1] : 0;
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
static bool read_length(struct mdf_call *call, int64_t size, bool mirrored, size_t *n)
{
    int64_t length = mirrored ? 2 * (size - 1) : size;

    if (mdf_call_input(call, 1) != NULL && !mdf_call_integer(call, 1, &length)) {
        return false;
    }
    if (length < 1 || length > INT64_MAX / 64) {
        return mdf_call_error(call, MDF_VALUE, "a transform of length %lld is not possible", (long long)length);
    }
    *n = (size_t)length;
    return true;
}

static bool transform_axis(struct mdf_call *call, int64_t axis_given)
{
    const struct signal_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    bool inverse = settings->inverse != 0, onesided = settings->onesided != 0;
    struct spectra job = {.inverse = inverse, .mirrored = inverse && onesided};
    struct mdf_workspace workspace;
    int64_t *shape;
    size_t axis, n = 0;

    if (x == NULL || !read_parts(call, x, 2, &job.in_parts) || !mdf_call_axis(call, axis_given, x->rank, &axis) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    if (axis == x->rank - 1 || (onesided && !inverse && job.in_parts == 2)) {
        return mdf_call_error(call, MDF_VALUE,
                              axis == x->rank - 1 ? "the axis is the one of real and imaginary parts"
                                                  : "a onesided transform needs real numbers");
    }
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, x->rank);
    if (shape == NULL || !read_length(call, mdf_value_shape(x)[axis], job.mirrored, &n)) {
        return false;
    }
    memcpy(shape, mdf_value_shape(x), x->rank * sizeof *shape);
    job.n_in = (size_t)shape[axis];
    job.n_out = onesided && !inverse ? n / 2 + 1 : n;
    job.out_parts = job.mirrored ? 1 : 2;
    shape[axis] = (int64_t)job.n_out;
    shape[x->rank - 1] = (int64_t)job.out_parts;
    job.x = mdf_workspace_input(&workspace, 0);
    job.y = job.x == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, shape);
    if (job.y == NULL) {
        return false;
    }
    job.n_inner = mdf_axes_product(shape, axis + 1, x->rank - 1);
    job.n_lines = mdf_axes_product(shape, 0, axis) * job.n_inner;
    return transform_lines(&workspace, &job, n) && mdf_workspace_end(&workspace);
}

static bool dft_17(struct mdf_call *call)
{
    const struct signal_settings *settings = call->settings;

    return transform_axis(call, settings->axis);
}

static bool dft_20(struct mdf_call *call)
{
    int64_t axis = -2;

    return (mdf_call_input(call, 2) == NULL || mdf_call_integer(call, 2, &axis)) && transform_axis(call, axis);
}

/* ------------------------------------------------------------------ STFT */

enum { INPUT_SIGNAL, INPUT_STEP, INPUT_WINDOW, INPUT_LENGTH };

/* Step and length of the frames, and their number. */
static bool read_frames(struct mdf_call *call, const struct mdf_value *signal, struct spectra *job, size_t *n)
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
    *n = (size_t)length;
    job->signal_length = (size_t)size;
    job->frame_step = (size_t)step;
    job->n_frames = (size_t)((size - length) / step) + 1;
    return true;
}

/* The last axis of a signal; without one it is real, as PyTorch's exporter writes it. */
static bool read_signal_parts(struct mdf_call *call, const struct mdf_value *signal, size_t *parts)
{
    *parts = 1;
    return signal->rank == 2 || read_parts(call, signal, 3, parts);
}

static bool stft(struct mdf_call *call)
{
    const struct signal_settings *settings = call->settings;
    const struct mdf_value *signal = mdf_call_tensor(call, INPUT_SIGNAL);
    struct spectra job = {.n_inner = 1, .out_parts = 2};
    struct mdf_workspace workspace;
    int64_t shape[4];
    size_t n = 0;

    if (signal == NULL || !read_signal_parts(call, signal, &job.in_parts) || !read_frames(call, signal, &job, &n) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    if (signal->rank > 3 || (settings->onesided != 0 && job.in_parts == 2)) {
        return mdf_call_error(call, MDF_SHAPE,
                              signal->rank > 3 ? "the signal has to be of rank 3, or 2 where it is real"
                                               : "a onesided transform needs a real signal");
    }
    job.n_in = n;
    job.n_out = settings->onesided != 0 ? n / 2 + 1 : n;
    memcpy(shape, (const int64_t[4]){mdf_value_shape(signal)[0], (int64_t)job.n_frames, (int64_t)job.n_out, 2}, sizeof shape);
    job.x = mdf_workspace_input(&workspace, INPUT_SIGNAL);
    job.window = mdf_call_input(call, INPUT_WINDOW) != NULL ? mdf_workspace_input(&workspace, INPUT_WINDOW) : NULL;
    job.y = mdf_workspace_output(&workspace, 0, (mdf_dtype)signal->dtype, 4, shape);
    if (job.x == NULL || job.y == NULL || call->context->error.code != MDF_OK) {
        return false;
    }
    job.n_lines = (size_t)shape[0] * job.n_frames;
    return transform_lines(&workspace, &job, n) && mdf_workspace_end(&workspace);
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
    {"DFT", 17, 17, dft_17, dft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL, .meaning = DFT_MEANING("axis")},
    {"DFT", 20, 99, dft_20, dft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = DFT_MEANING("-2 if x2 is None else int(x2)")},
    {"STFT", 17, 99, stft, stft_table, sizeof(struct signal_settings), MDF_OPERATOR_PURE, NULL, .meaning = STFT_MEANING},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
