/* decode_webp.c - WebP, by libwebp. */
#include "functions/image/image.h"

#include <webp/decode.h>

bool mdf_image_decode_webp(struct mdf_image *image)
{
    int width, height;

    if (!WebPGetInfo(image->bytes, image->n_bytes, &width, &height) ||
        !mdf_image_make(image, (uint64_t)width, (uint64_t)height)) {
        return false;
    }
    return WebPDecodeRGBInto(image->bytes, image->n_bytes, image->pixels, image->width * image->height * 3, 3 * width) != NULL;
}
