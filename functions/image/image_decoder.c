/* image_decoder.c - the bytes of an image file made into pixels: ImageDecoder.
 *
 * Comes in: the bytes. Goes out: [height, width, channels], 3 channels or, of "Grayscale", 1; an empty array where the bytes are
 * no image. The format shows in the first bytes. Source: ONNX ImageDecoder 20. */
#include "functions/image/image.h"
#include "functions/kernel/operator.h"

#include <stdlib.h>
#include <string.h>

struct decoder_settings {
    const char *pixel_format;
};

static const struct mdf_setting decoder_table[] = {
    {"pixel_format", MDF_SETTING_STRING, offsetof(struct decoder_settings, pixel_format)}, {NULL, MDF_SETTING_INT, 0}};

/* More pixels than any image that is meant has; a few bytes can claim them. */
static const uint64_t most_pixels = (uint64_t)1 << 28;

/* Of a pixel, here (3) and while its decoder works. */
enum { DECODER_BYTES = 7 };

/* What a file of a format begins with: `n` bytes at `offset`; decode NULL: the build has no library for it. */
struct format {
    const char *name, *signature;
    size_t offset, n;
    bool (*decode)(struct mdf_image *image);
};

#ifndef MDF_IMAGE_JPEG
#define mdf_image_decode_jpeg NULL
#endif
#ifndef MDF_IMAGE_JPEG2000
#define mdf_image_decode_jpeg2000 NULL
#endif
#ifndef MDF_IMAGE_PNG
#define mdf_image_decode_png NULL
#endif
#ifndef MDF_IMAGE_TIFF
#define mdf_image_decode_tiff NULL
#endif
#ifndef MDF_IMAGE_WEBP
#define mdf_image_decode_webp NULL
#endif

static const struct format formats[] = {
    {"BMP", "BM", 0, 2, mdf_image_decode_bmp},
    {"PNM", "P1", 0, 2, mdf_image_decode_pnm},
    {"PNM", "P2", 0, 2, mdf_image_decode_pnm},
    {"PNM", "P3", 0, 2, mdf_image_decode_pnm},
    {"PNM", "P4", 0, 2, mdf_image_decode_pnm},
    {"PNM", "P5", 0, 2, mdf_image_decode_pnm},
    {"PNM", "P6", 0, 2, mdf_image_decode_pnm},
    {"JPEG", "\xff\xd8\xff", 0, 3, mdf_image_decode_jpeg},
    {"JPEG 2000", "jP  \r\n\x87\n", 4, 8, mdf_image_decode_jpeg2000},
    {"JPEG 2000", "\xff\x4f\xff\x51", 0, 4, mdf_image_decode_jpeg2000},
    {"PNG", "\x89PNG\r\n\x1a\n", 0, 8, mdf_image_decode_png},
    {"TIFF", "II*\0", 0, 4, mdf_image_decode_tiff},
    {"TIFF", "MM\0*", 0, 4, mdf_image_decode_tiff},
    {"WebP", "WEBP", 8, 4, mdf_image_decode_webp},
};

static const struct format *find_format(const struct mdf_image *image)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *format = &formats[i];

        if (image->n_bytes >= format->offset + format->n &&
            memcmp(image->bytes + format->offset, format->signature, format->n) == 0) {
            return format;
        }
    }
    return NULL;
}

bool mdf_image_make(struct mdf_image *image, uint64_t width, uint64_t height)
{
    if (width == 0 || height == 0) {
        return false;
    }
    if (width > most_pixels || height > most_pixels / width) {
        return mdf_call_error(image->call, MDF_LIMIT, "the image claims %llu by %llu pixels, more than %llu",
                              (unsigned long long)width, (unsigned long long)height, (unsigned long long)most_pixels);
    }
    if (!mdf_memory_has_room(image->call->context->memory, (size_t)(width * height) * DECODER_BYTES)) {
        return mdf_call_out_of_memory(image->call);
    }
    image->width = (size_t)width;
    image->height = (size_t)height;
    image->pixels = mdf_call_scratch(image->call, MDF_IMAGE_SCRATCH, MDF_DTYPE_UINT8, image->width * image->height * 3);
    if (image->pixels == NULL) {
        return false;
    }
    memset(image->pixels, 0, image->width * image->height * 3);
    return true;
}

bool mdf_image_load_library(struct mdf_image *image, const char *file, const char *const *names, size_t n, void *pointers)
{
    return mdf_late_library_load(file, names, n, pointers) ||
           mdf_call_error(image->call, MDF_UNSUPPORTED, "the image needs the library %s, which can not be loaded", file);
}

static bool output_pixels(struct mdf_call *call, const struct mdf_image *image, bool grey, bool reversed)
{
    int64_t shape[3] = {(int64_t)image->height, (int64_t)image->width, grey ? 1 : 3};
    uint8_t *target = mdf_call_output(call, 0, MDF_DTYPE_UINT8, 3, shape);

    for (size_t i = 0; target != NULL && i < image->width * image->height; i++) {
        const uint8_t *pixel = image->pixels + 3 * i;

        if (grey) { /* luma of ITU-R 601, in 16 bits behind the point */
            target[i] = (uint8_t)((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16);
        } else {
            target[3 * i] = pixel[reversed ? 2 : 0];
            target[3 * i + 1] = pixel[1];
            target[3 * i + 2] = pixel[reversed ? 0 : 2];
        }
    }
    return target != NULL;
}

/* Libraries say no more than that they failed, be it that the bytes are damaged or that they got no memory, which would turn an image
 * into none. So a failure has to happen twice, and with memory at hand. */
static bool decode(const struct format *format, struct mdf_image *image)
{
    size_t trial_bytes = ((size_t)1 << 20) + image->n_bytes;
    void *trial;
    bool done = format->decode(image);

    if (done || image->call->context->error.code != MDF_OK) {
        return done;
    }
    done = format->decode(image);
    if (done || image->call->context->error.code != MDF_OK) {
        return done;
    }
    trial = malloc(trial_bytes + 8 * image->width * image->height);
    if (trial == NULL) {
        return mdf_call_out_of_memory(image->call);
    }
    free(trial);
    return false;
}

static bool image_decoder(struct mdf_call *call)
{
    const struct decoder_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    bool grey = strcmp(settings->pixel_format, "Grayscale") == 0, reversed = strcmp(settings->pixel_format, "BGR") == 0;
    struct mdf_image image = {.call = call};
    const struct format *format;

    if (x == NULL) {
        return false;
    }
    if (!grey && !reversed && strcmp(settings->pixel_format, "RGB") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no pixel_format '%.100s'", settings->pixel_format);
    }
    image.bytes = x->data;
    image.n_bytes = x->length;
    format = find_format(&image);
    if (format != NULL && format->decode == NULL) {
        return mdf_call_error(call, MDF_UNSUPPORTED, "%s images need a library that was not there when mdf_c was built",
                              format->name);
    }
    if (format == NULL || !decode(format, &image)) {
        if (call->context->error.code != MDF_OK) {
            return false;
        }
        image.width = image.height = 0;
    }
    return output_pixels(call, &image, grey, reversed);
}

const struct mdf_operator mdf_operators_image_decoder[] = {
    {"ImageDecoder", 20, 99, image_decoder, decoder_table, sizeof(struct decoder_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
