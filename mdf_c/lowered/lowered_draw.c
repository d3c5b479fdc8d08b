/* lowered_draw.c - random numbers that are drawn without a kernel. See lowered.h. */
#include "mdf_c/lowered/lowered_parts.h"

#include <string.h>

enum { MOST_AT_ONCE = 64 }; /* lanes whose numbers are looked at together */

static double number_at(const struct mdf_lowered *lowered, mdf_lowered_id id, size_t lane)
{
    const void *elements = mdf_lowered_elements(lowered, id);
    size_t at = lowered->values[id].is_scalar ? 0 : lane;

    switch (lowered->values[id].form.dtype) {
    case MDF_DTYPE_INT64:
        return (double)((const int64_t *)elements)[at];
    case MDF_DTYPE_FLOAT32:
        return (double)((const float *)elements)[at];
    default:
        return ((const double *)elements)[at];
    }
}

/* Where the numbers of a lane come from. */
struct source {
    const struct mdf_drawing *drawing;
    struct mdf_twister *twister; /* NULL: `state` */
    uint64_t *state;
    double settings[MDF_DRAWING_SETTINGS];
};

static inline double next_number(const struct source *source)
{
    return source->twister != NULL ? source->drawing->number(source->twister, source->settings[0], source->settings[1])
                                   : source->drawing->plain(source->state, source->settings[0], source->settings[1]);
}

/* The elements of a lane lie n_lanes apart. */
static void draw_numbers(const struct mdf_lowered_draw *draw, const struct source *source, mdf_dtype dtype, void *elements,
                         size_t lane)
{
    if (dtype == MDF_DTYPE_FLOAT32) {
        float *numbers = (float *)elements + lane;

        for (size_t i = 0; i < draw->n; i++) {
            numbers[i * draw->n_lanes] = (float)next_number(source);
        }
    } else {
        double *numbers = (double *)elements + lane;

        for (size_t i = 0; i < draw->n; i++) {
            numbers[i * draw->n_lanes] = next_number(source);
        }
    }
}

static bool draw_lane(const struct mdf_lowered *lowered, const struct mdf_lowered_draw *draw, void *elements, size_t lane)
{
    const struct mdf_drawing *drawing = &draw->drawing;
    struct mdf_context *context = draw->contexts == NULL ? lowered->context : (*draw->contexts)[lane];
    double seed = draw->seed == MDF_LOWERED_NONE ? -1 : number_at(lowered, draw->seed, lane);
    struct source source = {.drawing = drawing, .state = context->random_state};

    for (size_t i = 0; i < MDF_DRAWING_SETTINGS; i++) {
        source.settings[i] =
            draw->settings[i] == MDF_LOWERED_NONE ? drawing->defaults[i] : number_at(lowered, draw->settings[i], lane);
    }
    if (drawing->is_fit != NULL && !drawing->is_fit(source.settings[0], source.settings[1])) {
        return false;
    }
    if (drawing->number != NULL && (source.twister = mdf_drawing_generator(context, drawing, seed)) == NULL) {
        return false;
    }
    draw_numbers(draw, &source, (mdf_dtype)lowered->values[draw->out].form.dtype, elements, lane);
    return true;
}

/* The lanes from `first` to `end` that draw, without a jump that hangs on the mask; how many they are. */
static size_t find_drawing(const uint8_t *mask, size_t first, size_t end, uint8_t *lanes)
{
    size_t n = 0;

    for (size_t lane = first; lane < end; lane++) {
        lanes[n] = (uint8_t)(lane - first);
        n += mask == NULL || mask[lane] != 0;
    }
    return n;
}

int mdf_lowered_draw(struct mdf_lowered *lowered, const struct mdf_lowered_draw *draw)
{
    const uint8_t *mask = draw->mask == MDF_LOWERED_NONE ? NULL : mdf_lowered_elements(lowered, draw->mask);
    void *elements = mdf_lowered_elements(lowered, draw->out);
    uint8_t lanes[MOST_AT_ONCE];
    size_t end, n;

    if (mask != NULL) { /* nobody looks at what is not drawn */
        memset(elements, 0, draw->n * draw->n_lanes * mdf_dtype_size((mdf_dtype)lowered->values[draw->out].form.dtype));
    }
    for (size_t first = 0; first < draw->n_lanes; first = end) {
        end = draw->n_lanes - first < MOST_AT_ONCE ? draw->n_lanes : first + MOST_AT_ONCE;
        n = find_drawing(mask, first, end, lanes);
        for (size_t i = 0; i < n; i++) {
            if (!draw_lane(lowered, draw, elements, first + lanes[i])) {
                return 1;
            }
        }
    }
    return mdf_stop_is_untold(lowered->context->stop) ? 1 : 0;
}
