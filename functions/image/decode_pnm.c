/* decode_pnm.c - portable bitmaps, greymaps and pixmaps, as text (P1, P2, P3) and as bytes (P4, P5, P6). Source: the Netpbm
 * manual. */
#include "functions/image/image.h"

struct reader {
    const uint8_t *bytes;
    size_t n, at;
};

/* White space, and comments up to the end of their line. */
static void skip(struct reader *reader)
{
    bool comment = false;

    for (; reader->at < reader->n; reader->at++) {
        uint8_t byte = reader->bytes[reader->at];

        comment = byte == '#' || (comment && byte != '\n');
        if (!comment && byte != ' ' && (byte < '\t' || byte > '\r')) {
            return;
        }
    }
}

/* A number as text, of at most `n_digits` digits. */
static bool read_number(struct reader *reader, size_t n_digits, uint32_t *number)
{
    size_t n = 0;

    skip(reader);
    *number = 0;
    while (reader->at < reader->n && reader->bytes[reader->at] >= '0' && reader->bytes[reader->at] <= '9' && n < n_digits) {
        *number = *number * 10 + (uint32_t)(reader->bytes[reader->at++] - '0');
        n++;
    }
    return n > 0;
}

/* Sample number `i`, between 0 and `largest`. Rows of bitmaps as bytes begin at a byte. */
static bool read_sample(struct reader *reader, int kind, size_t x, size_t width, uint32_t largest, uint32_t *sample)
{
    if (kind <= 3) {
        return read_number(reader, kind == 1 ? 1 : 6, sample);
    }
    if (reader->at + (largest > 255) >= reader->n) {
        return false;
    }
    if (kind == 4) {
        *sample = reader->bytes[reader->at] >> (7 - x % 8) & 1;
        reader->at += x % 8 == 7 || x + 1 == width;
        return true;
    }
    *sample = reader->bytes[reader->at++];
    if (largest > 255) {
        *sample = *sample << 8 | reader->bytes[reader->at++];
    }
    return true;
}

bool mdf_image_decode_pnm(struct mdf_image *image)
{
    struct reader reader = {image->bytes, image->n_bytes, 2};
    int kind = image->bytes[1] - '0';
    bool is_bitmap = kind == 1 || kind == 4, is_colour = kind == 3 || kind == 6;
    uint32_t width, height, largest = 1, sample = 0;

    if (!read_number(&reader, 9, &width) || !read_number(&reader, 9, &height) ||
        (!is_bitmap && !read_number(&reader, 5, &largest)) || largest < 1 || largest > 65535) {
        return false;
    }
    reader.at += kind > 3; /* one white space before the bytes */
    if (!mdf_image_make(image, width, height)) {
        return false;
    }
    for (size_t i = 0; i < image->width * image->height; i++) {
        for (size_t channel = 0; channel < 3; channel++) {
            if ((channel == 0 || is_colour) && !read_sample(&reader, kind, i % image->width, image->width, largest, &sample)) {
                return false;
            }
            sample = sample < largest ? sample : largest;
            image->pixels[3 * i + channel] = (uint8_t)((((is_bitmap ? 1 - sample : sample)) * 255 + largest / 2) / largest);
        }
    }
    return true;
}
