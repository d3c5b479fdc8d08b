/* drawing.c - see drawing.h. */
#include "functions/sampling/drawing.h"

struct mdf_twister *mdf_drawing_generator(struct mdf_context *context, const struct mdf_drawing *drawing, double seed)
{
    if (seed < 0) {
        return mdf_random_as_numpy(context);
    }
    return seed < 0x1p32 ? mdf_random_stream(context, drawing->stream, (uint32_t)seed, &drawing->start) : NULL;
}
