/* conv_planes.c - see conv_planes.h.
 *
 * A plane is laid out anew, with its padding, each row split by the stride into phases: element j of phase p is the row's element
 * j * stride + p. All windows of a run then meet a tap in adjacent elements, and a row of the result is a sum of weighted
 * rows (weighted_rows.h). */
#include "functions/onnx/conv_planes.h"

#include "functions/weighted_rows.h"

#include <string.h>

enum { MAX_STRIDE = 4, MAX_TAPS = 128, MAX_SLOTS = 64, MAX_PLANE_ELEMENTS = 1 << 22 };

/* Rough times of one element laid out, and of one tap, to judge what is worth a thread. */
static const double lay_out_ns = 0.2, tap_ns = 0.03;

struct job {
    const struct mdf_conv_planes *planes;
    mdf_weighted_rows add_rows;
    size_t n_array_rows, n_phase, pitch, plane_elements; /* elements of a phase, of a row, of a plane laid out */
    size_t n_slots;
    char *slots;
    /* By position on the outer axes: the number of taps that do not lie in the padding, their numbers and where they lie. */
    int64_t *counts, *numbers, *offsets;
    size_t size_bytes;
};

#define ELEMENT float
#define NAME(x) x##_float32
#include "functions/onnx/conv_planes_rows.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#include "functions/onnx/conv_planes_rows.inc"

/* Elements between the first and the last tap along the last axis. */
static int64_t reach_of(const struct mdf_taps *taps)
{
    const struct mdf_window_axis *axis = &taps->axes[taps->rank - 1];

    return (axis->kernel - 1) * axis->dilation;
}

static size_t rows_of(const struct mdf_taps *taps)
{
    int64_t n_row = taps->axes[taps->rank - 1].array;

    return n_row > 0 ? taps->array_size / (size_t)n_row : 0;
}

static size_t phase_of(const struct mdf_taps *taps)
{
    return (size_t)(taps->n_run + reach_of(taps) / taps->stride) + MDF_ROW_SLACK;
}

bool mdf_conv_planes_fit(const struct mdf_taps *taps)
{
    double n_elements = (double)rows_of(taps) * (double)phase_of(taps) * (double)taps->stride;

    return taps->n_taps <= MAX_TAPS && taps->stride <= MAX_STRIDE && taps->array_size > 0 && n_elements <= MAX_PLANE_ELEMENTS;
}

/* Where the taps of each position lie in a plane that is laid out. */
static void place_taps(const struct job *job)
{
    const struct mdf_taps *taps = job->planes->taps;
    int64_t n_row = taps->axes[taps->rank - 1].array, dilation = taps->axes[taps->rank - 1].dilation, row;

    for (size_t outer = 0; outer < taps->n_outer; outer++) {
        int64_t *numbers = job->numbers + outer * taps->n_taps, *offsets = job->offsets + outer * taps->n_taps, n = 0;

        for (size_t tap = 0; tap < taps->n_taps; tap++) {
            int64_t shift = (int64_t)(tap % taps->n_last) * dilation;

            if (mdf_taps_row(taps, outer, tap, &row)) {
                numbers[n] = (int64_t)tap;
                offsets[n++] =
                    row / n_row * (int64_t)job->pitch + shift % taps->stride * (int64_t)job->n_phase + shift / taps->stride;
            }
        }
        job->counts[outer] = n;
    }
}

bool mdf_conv_planes_run(struct mdf_workspace *workspace, const struct mdf_conv_planes *planes)
{
    const struct mdf_taps *taps = planes->taps;
    size_t n_threads = workspace->call->context->n_threads > 1 ? (size_t)workspace->call->context->n_threads : 1;
    double cost_ns =
        (double)taps->n_outer * (double)taps->n_run * (double)taps->n_taps * (double)planes->channel_outputs * tap_ns;
    struct job job = {.planes = planes, .add_rows = mdf_weighted_rows_for(workspace->dtype)};

    if (planes->n_planes == 0) {
        return true;
    }
    job.size_bytes = mdf_dtype_size(workspace->dtype);
    job.n_array_rows = rows_of(taps);
    job.n_phase = phase_of(taps);
    job.pitch = job.n_phase * (size_t)taps->stride;
    job.plane_elements = job.n_array_rows * job.pitch;
    job.n_slots = n_threads < MAX_SLOTS ? n_threads : MAX_SLOTS;
    job.n_slots = job.n_slots < planes->n_planes ? job.n_slots : planes->n_planes;
    job.slots = mdf_workspace_matrix(workspace, workspace->dtype, job.n_slots, job.plane_elements);
    job.counts = job.slots == NULL ? NULL : mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, taps->n_outer, 2 * taps->n_taps + 1);
    if (job.counts == NULL) {
        return false;
    }
    job.numbers = job.counts + taps->n_outer;
    job.offsets = job.numbers + taps->n_outer * taps->n_taps;
    place_taps(&job);
    cost_ns = (cost_ns + (double)job.plane_elements * lay_out_ns) * (double)planes->n_planes / (double)job.n_slots;
    mdf_parallel_for(workspace->call->context, job.n_slots, cost_ns,
                     workspace->dtype == MDF_DTYPE_FLOAT32 ? convolve_slots_float32 : convolve_slots_float64, &job);
    return true;
}
