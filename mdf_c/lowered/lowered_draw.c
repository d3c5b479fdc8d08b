/* lowered_draw.c - random numbers that are drawn without a kernel. See lowered.h. */
#include "mdf_c/lowered/lowered_parts.h"

static double number_at(const struct mdf_lowered *lowered, mdf_lowered_id id, size_t lane)
{
    const void *elements = mdf_lowered_elements(lowered, id);
    size_t at = lowered->values[id].is_scalar ? 0 : lane;

    return lowered->values[id].form.dtype == MDF_DTYPE_INT64 ? (double)((const int64_t *)elements)[at]
                                                             : ((const double *)elements)[at];
}

/* The elements of a lane lie n_lanes apart. */
static bool draw_lane(const struct mdf_lowered *lowered, const struct mdf_lowered_draw *draw, struct mdf_context *context, size_t lane)
{
    const struct mdf_drawing *drawing = &draw->drawing;
    double seed = draw->seed == MDF_LOWERED_NONE ? -1 : number_at(lowered, draw->seed, lane), settings[MDF_DRAWING_SETTINGS];
    double *numbers = (double *)mdf_lowered_elements(lowered, draw->out) + lane;
    struct mdf_twister *twister;
    size_t i;

    for (i = 0; i < MDF_DRAWING_SETTINGS; i++) {
        settings[i] =
            draw->settings[i] == MDF_LOWERED_NONE ? drawing->defaults[i] : number_at(lowered, draw->settings[i], lane);
    }
    twister = drawing->is_fit == NULL || drawing->is_fit(settings[0], settings[1]) ? mdf_drawing_generator(context, drawing, seed) : NULL;
    for (i = 0; twister != NULL && i < draw->n; i++) {
        numbers[i * draw->n_lanes] = drawing->number(twister, settings[0], settings[1]);
    }
    return twister != NULL;
}

int mdf_lowered_draw(struct mdf_lowered *lowered, const struct mdf_lowered_draw *draw)
{
    const uint8_t *mask = draw->mask == MDF_LOWERED_NONE ? NULL : mdf_lowered_elements(lowered, draw->mask);
    double *numbers = mdf_lowered_elements(lowered, draw->out);
    size_t lane, i;

    for (lane = 0; lane < draw->n_lanes; lane++) {
        if (mask != NULL && mask[lane] == 0) {
            for (i = 0; i < draw->n; i++) { /* nobody looks at it */
                numbers[i * draw->n_lanes + lane] = 0;
            }
        } else if (!draw_lane(lowered, draw, draw->contexts == NULL ? lowered->context : (*draw->contexts)[lane], lane)) {
            return 1;
        }
    }
    return mdf_stop_is_untold(lowered->context->stop) ? 1 : 0;
}
