/* decode_png.c - PNG, by libpng's simplified interface. Samples of 16 bits become 8. */
#include "functions/image/image.h"

#include <png.h>
#include <string.h>

/* Four samples a pixel, read into `pixels`, keep three. */
static bool read_pixels(png_image *file, struct mdf_image *image, uint8_t *pixels)
{
    if (!png_image_finish_read(file, NULL, pixels, 0, NULL)) {
        return false;
    }
    for (size_t i = 0; i < image->width * image->height; i++) {
        memcpy(image->pixels + 3 * i, pixels + 4 * i, 3);
    }
    return true;
}

bool mdf_image_decode_png(struct mdf_image *image)
{
    struct mdf_memory *memory = image->call->context->memory;
    png_image file;
    uint8_t *pixels;
    bool done;

    memset(&file, 0, sizeof file);
    file.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&file, image->bytes, image->n_bytes)) {
        return false;
    }
    file.format = PNG_FORMAT_RGBA; /* transparency apart, so that colours stay as they are */
    if (!mdf_image_make(image, file.width, file.height)) {
        png_image_free(&file);
        return false;
    }
    pixels = mdf_memory_allocate(memory, image->width * image->height * 4);
    if (pixels == NULL) {
        png_image_free(&file);
        return mdf_call_out_of_memory(image->call);
    }
    done = read_pixels(&file, image, pixels);
    mdf_memory_release(memory, pixels);
    return done;
}
