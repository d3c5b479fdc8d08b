/* image.h - files of images as pixels: one decoder a format.
 *
 * A decoder reads the bytes of a file and makes `pixels`: rows from the top, red, green, blue, a byte each. Transparency is
 * dropped. Decoders whose library the build did not find are left out (MDF_IMAGE_JPEG and the like are not defined then); those
 * of others are loaded when an image is (late_library.h). */
#ifndef MDF_FUNCTIONS_IMAGE_IMAGE_H
#define MDF_FUNCTIONS_IMAGE_IMAGE_H

#include <late_libraries.h>
#include "functions/kernel/call.h"
#include "mdf_c/base/late_library.h"

struct mdf_image {
    struct mdf_call *call;
    const uint8_t *bytes; /* of the file */
    size_t n_bytes;
    size_t width, height;
    uint8_t *pixels; /* height * width * 3, in scratch value 1 of the call */
};

enum { MDF_IMAGE_SCRATCH = 1 };

/* Makes room for the pixels, all black, and returns true; false: the sizes are none (no error is set), or memory ran out. */
bool mdf_image_make(struct mdf_image *image, uint64_t width, uint64_t height);

/* Loads a decoder's library; false where it is not there any more, which is an error. */
bool mdf_image_load_library(struct mdf_image *image, const char *file, const char *const *names, size_t n, void *pointers);

/* False: the file can not be decoded; call->context->error is set only where memory ran out, a limit was passed, or the library
 * is not there. */
bool mdf_image_decode_bmp(struct mdf_image *image);
bool mdf_image_decode_pnm(struct mdf_image *image);
bool mdf_image_decode_jpeg(struct mdf_image *image);
bool mdf_image_decode_jpeg2000(struct mdf_image *image);
bool mdf_image_decode_png(struct mdf_image *image);
bool mdf_image_decode_tiff(struct mdf_image *image);
bool mdf_image_decode_webp(struct mdf_image *image);

#endif
