/* decode_tiff.c - TIFF, by libtiff (4.5 or later, where messages can be kept quiet for one file). */
#include "functions/image/image.h"

#include <string.h>
#include <tiffio.h>

#define FUNCTIONS(X)                        \
    X(TIFFOpenOptionsAlloc)                 \
    X(TIFFOpenOptionsFree)                  \
    X(TIFFOpenOptionsSetErrorHandlerExtR)   \
    X(TIFFOpenOptionsSetWarningHandlerExtR) \
    X(TIFFClientOpenExt)                    \
    X(TIFFGetField)                         \
    X(TIFFReadRGBAImageOriented)            \
    X(TIFFClose)

struct tiff_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};

/* The bytes as a file. */
struct file {
    const uint8_t *bytes;
    size_t n, at;
};

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t size)
{
    struct file *file = handle;
    size_t n = size < 0 || file->at >= file->n ? 0 : file->n - file->at;

    n = (size_t)size < n ? (size_t)size : n;
    memcpy(target, file->bytes + file->at, n);
    file->at += n;
    return (tmsize_t)n;
}

static tmsize_t write_bytes(thandle_t handle, void *source, tmsize_t size)
{
    (void)handle;
    (void)source;
    (void)size;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int origin)
{
    struct file *file = handle;

    offset += origin == SEEK_CUR ? file->at : origin == SEEK_END ? file->n : 0;
    file->at = offset > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)offset;
    return file->at;
}

static int close_file(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((struct file *)handle)->n;
}

static int say_nothing(TIFF *tiff, void *context, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    (void)context;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static TIFF *open_file(const struct tiff_library *library, struct file *file)
{
    TIFFOpenOptions *options = library->TIFFOpenOptionsAlloc();
    TIFF *tiff;

    if (options == NULL) {
        return NULL;
    }
    library->TIFFOpenOptionsSetErrorHandlerExtR(options, say_nothing, NULL);
    library->TIFFOpenOptionsSetWarningHandlerExtR(options, say_nothing, NULL);
    tiff =
        library->TIFFClientOpenExt("image", "rm", file, read_bytes, write_bytes, seek, close_file, size_of, NULL, NULL, options);
    library->TIFFOpenOptionsFree(options);
    return tiff;
}

static bool read_pixels(const struct tiff_library *library, TIFF *tiff, struct mdf_image *image)
{
    uint32_t width = 0, height = 0, *raster;
    bool done;

    if (!library->TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) || !library->TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) ||
        !mdf_image_make(image, width, height)) {
        return false;
    }
    raster = mdf_memory_allocate_zeroed(image->call->context->memory, image->width * image->height, sizeof *raster);
    if (raster == NULL) {
        return mdf_call_out_of_memory(image->call);
    }
    done = library->TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, 1);
    for (size_t i = 0; i < image->width * image->height; i++) {
        image->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        image->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        image->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    mdf_memory_release(image->call->context->memory, raster);
    return done;
}

bool mdf_image_decode_tiff(struct mdf_image *image)
{
    struct file file = {image->bytes, image->n_bytes, 0};
    struct tiff_library library;
    bool done = false;
    TIFF *tiff;

    if (!mdf_image_load_library(image, MDF_LATE_TIFF, names, sizeof names / sizeof *names, &library)) {
        return false;
    }
    tiff = open_file(&library, &file);
    if (tiff != NULL) {
        done = read_pixels(&library, tiff, image);
        library.TIFFClose(tiff);
    }
    return done;
}
