/* decode_png.c - PNG, by libpng's simplified interface. Samples of 16 bits become 8. */
#include "functions/image/image.h"

#include <png.h>
#include <string.h>

#define FUNCTIONS(X)                    \
    X(png_image_begin_read_from_memory) \
    X(png_image_finish_read)            \
    X(png_image_free)

/* A byte of deflate stands for at most 1032, and each of these for 8 pixels: a file that claims more is cut short. */
enum { MOST_PIXELS_PER_BYTE = 1032 * 8 };

struct png_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};

/* Four samples a pixel, read into `pixels`, keep three. */
static bool read_pixels(const struct png_library *png, png_image *file, struct mdf_image *image, uint8_t *pixels)
{
    if (!png->png_image_finish_read(file, NULL, pixels, 0, NULL)) {
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
    struct png_library png;
    png_image file;
    uint8_t *pixels;
    bool done;

    memset(&file, 0, sizeof file);
    file.version = PNG_IMAGE_VERSION;
    if (!mdf_image_load_library(image, MDF_LATE_PNG, names, sizeof names / sizeof *names, &png) ||
        !png.png_image_begin_read_from_memory(&file, image->bytes, image->n_bytes)) {
        return false;
    }
    file.format = PNG_FORMAT_RGBA; /* transparency apart, so that colours stay as they are */
    if ((uint64_t)file.width * file.height > MOST_PIXELS_PER_BYTE * (uint64_t)image->n_bytes ||
        !mdf_image_make(image, file.width, file.height)) {
        png.png_image_free(&file);
        return false;
    }
    pixels = mdf_memory_allocate(memory, image->width * image->height * 4);
    if (pixels == NULL) {
        png.png_image_free(&file);
        return mdf_call_out_of_memory(image->call);
    }
    done = read_pixels(&png, &file, image, pixels);
    mdf_memory_release(memory, pixels);
    return done;
}
