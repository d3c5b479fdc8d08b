/* decode_webp.c - WebP, by libwebp. */
#include "functions/image/image.h"

#include <webp/decode.h>

#define FUNCTIONS(X) \
    X(WebPGetInfo)   \
    X(WebPDecodeRGBInto)

struct webp_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};

bool mdf_image_decode_webp(struct mdf_image *image)
{
    struct webp_library webp;
    int width, height;

    if (!mdf_image_load_library(image, MDF_LATE_WEBP, names, sizeof names / sizeof *names, &webp) ||
        !webp.WebPGetInfo(image->bytes, image->n_bytes, &width, &height) ||
        !mdf_image_make(image, (uint64_t)width, (uint64_t)height)) {
        return false;
    }
    return webp.WebPDecodeRGBInto(image->bytes, image->n_bytes, image->pixels, image->width * image->height * 3, 3 * width) !=
           NULL;
}
