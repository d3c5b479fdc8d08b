/* decode_jpeg2000.c - JPEG 2000, files and bare codestreams, by OpenJPEG. */
#include "functions/image/image.h"

#include <openjpeg.h>
#include <string.h>

#define FUNCTIONS(X)                      \
    X(opj_create_decompress)              \
    X(opj_stream_default_create)          \
    X(opj_stream_set_user_data)           \
    X(opj_stream_set_user_data_length)    \
    X(opj_stream_set_read_function)       \
    X(opj_stream_set_skip_function)       \
    X(opj_stream_set_seek_function)       \
    X(opj_set_default_decoder_parameters) \
    X(opj_setup_decoder)                  \
    X(opj_read_header)                    \
    X(opj_decode)                         \
    X(opj_end_decompress)                 \
    X(opj_image_destroy)                  \
    X(opj_stream_destroy)                 \
    X(opj_destroy_codec)

struct jpeg2000_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};

struct file {
    const uint8_t *bytes;
    size_t n, at;
};

static OPJ_SIZE_T read_bytes(void *target, OPJ_SIZE_T size, void *context)
{
    struct file *file = context;
    size_t n = file->n - file->at < size ? file->n - file->at : size;

    if (n == 0) {
        return (OPJ_SIZE_T)-1;
    }
    memcpy(target, file->bytes + file->at, n);
    file->at += n;
    return n;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T size, void *context)
{
    struct file *file = context;
    size_t left = file->n - file->at;

    size = size < 0 ? 0 : (uint64_t)size > left ? (OPJ_OFF_T)left : size;
    file->at += (size_t)size;
    return size;
}

static OPJ_BOOL seek(OPJ_OFF_T place, void *context)
{
    struct file *file = context;

    if (place < 0 || (uint64_t)place > file->n) {
        return OPJ_FALSE;
    }
    file->at = (size_t)place;
    return OPJ_TRUE;
}

/* A sample of a component, which may be coarser than the image, as 8 bits. */
static int32_t sample_at(const opj_image_comp_t *component, size_t x, size_t y)
{
    size_t across = x / component->dx, down = y / component->dy;
    int64_t sample, largest = ((int64_t)1 << component->prec) - 1;

    across = across < component->w ? across : component->w - 1;
    down = down < component->h ? down : component->h - 1;
    sample = (int64_t)component->data[down * component->w + across] + (component->sgnd ? (int64_t)1 << (component->prec - 1) : 0);
    sample = sample < 0 ? 0 : sample > largest ? largest : sample;
    return (int32_t)((sample * 255 + largest / 2) / largest);
}

static uint8_t clip(double value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

static bool is_readable(const opj_image_t *source)
{
    for (uint32_t i = 0; i < source->numcomps && i < 3; i++) {
        const opj_image_comp_t *component = &source->comps[i];

        if (component->data == NULL || component->w == 0 || component->h == 0 || component->dx == 0 || component->dy == 0 ||
            component->prec < 1 || component->prec > 31) {
            return false;
        }
    }
    return source->numcomps > 0 && source->x1 > source->x0 && source->y1 > source->y0;
}

static bool copy_pixels(const opj_image_t *source, struct mdf_image *image)
{
    if (!is_readable(source) || !mdf_image_make(image, source->x1 - source->x0, source->y1 - source->y0)) {
        return false;
    }
    for (size_t i = 0; i < image->width * image->height; i++) {
        uint8_t *pixel = image->pixels + 3 * i;
        int32_t samples[3];

        for (size_t channel = 0; channel < 3; channel++) {
            samples[channel] = sample_at(&source->comps[source->numcomps < 3 ? 0 : channel], i % image->width, i / image->width);
            pixel[channel] = (uint8_t)samples[channel];
        }
        if (source->color_space == OPJ_CLRSPC_SYCC && source->numcomps >= 3) {
            double blue = samples[1] - 128, red = samples[2] - 128;

            pixel[0] = clip(samples[0] + 1.402 * red);
            pixel[1] = clip(samples[0] - 0.344136 * blue - 0.714136 * red);
            pixel[2] = clip(samples[0] + 1.772 * blue);
        }
    }
    return true;
}

static bool decode(const struct jpeg2000_library *library, opj_codec_t *codec, opj_stream_t *stream, struct mdf_image *image)
{
    opj_dparameters_t parameters;
    opj_image_t *source = NULL;
    bool done;

    library->opj_set_default_decoder_parameters(&parameters);
    done = library->opj_setup_decoder(codec, &parameters) && library->opj_read_header(stream, codec, &source) &&
           (uint64_t)(source->x1 - source->x0) * (source->y1 - source->y0) <= (uint64_t)1 << 28 &&
           library->opj_decode(codec, stream, source) && library->opj_end_decompress(codec, stream) && copy_pixels(source, image);
    library->opj_image_destroy(source);
    return done;
}

bool mdf_image_decode_jpeg2000(struct mdf_image *image)
{
    struct file file = {image->bytes, image->n_bytes, 0};
    bool is_bare = image->bytes[0] == 0xff;
    struct jpeg2000_library library;
    opj_codec_t *codec;
    opj_stream_t *stream;
    bool done = false;

    if (!mdf_image_load_library(image, MDF_LATE_JPEG2000, names, sizeof names / sizeof *names, &library)) {
        return false;
    }
    codec = library.opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    stream = library.opj_stream_default_create(OPJ_TRUE);
    if (codec != NULL && stream != NULL) {
        library.opj_stream_set_user_data(stream, &file, NULL);
        library.opj_stream_set_user_data_length(stream, file.n);
        library.opj_stream_set_read_function(stream, read_bytes);
        library.opj_stream_set_skip_function(stream, skip_bytes);
        library.opj_stream_set_seek_function(stream, seek);
        done = decode(&library, codec, stream, image);
    }
    if (stream != NULL) {
        library.opj_stream_destroy(stream);
    }
    if (codec != NULL) {
        library.opj_destroy_codec(codec);
    }
    return done;
}
