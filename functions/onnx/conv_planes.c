/* conv_planes.c - see conv_planes.h. A row of the result is a sum of weighted rows (weighted_rows.h) of a plane that is laid out
 * with its padding (padded_planes.h). */
#include "functions/onnx/conv_planes.h"

#include "functions/onnx/padded_planes.h"
#include "functions/weighted_rows.h"

#include <string.h>

enum { MAX_SLOTS = 64 };

_Static_assert((int)MDF_ROW_SLACK <= (int)MDF_PADDED_SLACK, "what is read behind the last row is there");

/* Rough times of one element laid out, and of one tap, to judge what is worth a thread. */
static const double lay_out_ns = 0.2, tap_ns = 0.03;

struct job {
    const struct mdf_conv_planes *planes;
    struct mdf_padded_planes padded;
    mdf_weighted_rows add_rows;
    mdf_dtype dtype;
    size_t n_slots, slot_elements, size_bytes;
    char *slots; /* a plane laid out for each thread */
};

bool mdf_conv_planes_fit(const struct mdf_taps *taps)
{
    return mdf_padded_planes_fit(taps);
}

/* One plane of the result. */
static void convolve_plane(const struct job *job, const char *x, const char *weights, const char *start, char *y)
{
    const struct mdf_taps *taps = job->planes->taps;
    size_t n_run = (size_t)taps->n_run;

    for (size_t outer = 0; outer < taps->n_outer; outer++) {
        job->add_rows(n_run, taps->n_taps, job->padded.tap_offsets, weights,
                      x + job->padded.outer_offsets[outer] * (int64_t)job->size_bytes, start,
                      y + outer * n_run * job->size_bytes);
    }
}

static void convolve_slots(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    const struct mdf_conv_planes *planes = job->planes;
    const struct mdf_taps *taps = planes->taps;
    size_t size = job->size_bytes, plane_bytes = taps->n_outer * (size_t)taps->n_run * size;
    const double zero = 0; /* of either type */

    for (size_t slot = first; slot < last; slot++) {
        char *x = job->slots + slot * job->slot_elements * size;

        memset(x + job->padded.n_plane * size, 0, MDF_PADDED_SLACK * size);
        for (size_t plane = slot; plane < planes->n_planes; plane += job->n_slots) {
            mdf_padded_planes_fill(&job->padded, job->dtype, (const char *)planes->x + plane * taps->array_size * size, x);
            for (size_t i = 0; i < planes->channel_outputs; i++) {
                size_t channel = plane % planes->n_channels * planes->channel_outputs + i;
                const char *start = planes->bias == NULL ? (const char *)&zero : (const char *)planes->bias + channel * size;

                convolve_plane(job, x, (const char *)planes->weights + channel * taps->n_taps * size, start,
                               (char *)planes->y + (plane * planes->channel_outputs + i) * plane_bytes);
            }
        }
    }
}

bool mdf_conv_planes_run(struct mdf_workspace *workspace, const struct mdf_conv_planes *planes)
{
    const struct mdf_taps *taps = planes->taps;
    size_t n_threads = workspace->call->context->n_threads > 1 ? (size_t)workspace->call->context->n_threads : 1;
    double cost_ns =
        (double)taps->n_outer * (double)taps->n_run * (double)taps->n_taps * (double)planes->channel_outputs * tap_ns;
    struct job job = {.planes = planes, .add_rows = mdf_weighted_rows_for(workspace->dtype), .dtype = workspace->dtype};

    if (planes->n_planes == 0) {
        return true;
    }
    if (!mdf_padded_planes_prepare(workspace, taps, &job.padded)) {
        return false;
    }
    job.size_bytes = mdf_dtype_size(workspace->dtype);
    job.slot_elements = job.padded.n_plane + MDF_PADDED_SLACK;
    job.n_slots = n_threads < MAX_SLOTS ? n_threads : MAX_SLOTS;
    job.n_slots = job.n_slots < planes->n_planes ? job.n_slots : planes->n_planes;
    job.slots = mdf_workspace_matrix(workspace, workspace->dtype, job.n_slots, job.slot_elements);
    if (job.slots == NULL) {
        return false;
    }
    cost_ns = (cost_ns + (double)job.padded.n_plane * lay_out_ns) * (double)planes->n_planes / (double)job.n_slots;
    mdf_parallel_for(workspace->call->context, job.n_slots, cost_ns, convolve_slots, &job);
    return true;
}
