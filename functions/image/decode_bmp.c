/* decode_bmp.c - Windows bitmaps of 1, 4, 8, 16, 24 and 32 bits a pixel, not compressed. Source: Microsoft's documentation of
 * BITMAPINFOHEADER. */
#include "functions/image/image.h"

struct bitmap {
    uint32_t data, header, bits, compression, n_colours;
    int64_t width, height; /* height < 0: rows from the top */
    uint32_t masks[3];     /* of red, green, blue, in 16 and 32 bits */
};

enum { FILE_HEADER = 14, COMPRESSION_NONE = 0, COMPRESSION_MASKS = 3 };

static uint32_t read_number(const uint8_t *bytes, size_t n)
{
    uint32_t number = 0;

    for (size_t i = n; i-- > 0;) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static bool read_header(const struct mdf_image *image, struct bitmap *bitmap)
{
    const uint8_t *bytes = image->bytes;

    if (image->n_bytes < FILE_HEADER + 40) {
        return false;
    }
    *bitmap = (struct bitmap){.data = read_number(bytes + 10, 4),
                              .header = read_number(bytes + 14, 4),
                              .width = (int32_t)read_number(bytes + 18, 4),
                              .height = (int32_t)read_number(bytes + 22, 4),
                              .bits = read_number(bytes + 28, 2),
                              .compression = read_number(bytes + 30, 4),
                              .n_colours = read_number(bytes + 46, 4)};
    bitmap->masks[0] = bitmap->bits == 16 ? 0x7c00 : 0xff0000;
    bitmap->masks[1] = bitmap->bits == 16 ? 0x03e0 : 0xff00;
    bitmap->masks[2] = bitmap->bits == 16 ? 0x001f : 0xff;
    if (bitmap->compression == COMPRESSION_MASKS) {
        if (image->n_bytes < FILE_HEADER + 52 || (bitmap->bits != 16 && bitmap->bits != 32)) {
            return false;
        }
        for (size_t i = 0; i < 3; i++) {
            bitmap->masks[i] = read_number(bytes + FILE_HEADER + 40 + 4 * i, 4);
        }
    }
    return bitmap->header >= 40 && bitmap->header <= 1024 && bitmap->width > 0 &&
           (bitmap->compression == COMPRESSION_NONE || bitmap->compression == COMPRESSION_MASKS);
}

/* The part of a pixel that a mask picks, widened to 8 bits. */
static uint8_t pick(uint32_t pixel, uint32_t mask)
{
    uint64_t largest = mask;
    uint64_t value = pixel & mask;

    if (mask == 0) {
        return 0;
    }
    while ((largest & 1) == 0) {
        largest >>= 1;
        value >>= 1;
    }
    return (uint8_t)((value * 255 + largest / 2) / largest);
}

/* One pixel of a row to red, green, blue; false: its colour is not in the table. */
static bool read_pixel(const struct mdf_image *image, const struct bitmap *bitmap, const uint8_t *row, size_t x, uint8_t *pixel)
{
    size_t table = FILE_HEADER + bitmap->header, index;
    uint32_t value;

    if (bitmap->bits <= 8) {
        index = row[x * bitmap->bits / 8] >> (8 - bitmap->bits - x * bitmap->bits % 8) & ((1u << bitmap->bits) - 1);
        if (table + 4 * index + 3 > image->n_bytes || (bitmap->n_colours != 0 && index >= bitmap->n_colours)) {
            return false;
        }
        for (size_t i = 0; i < 3; i++) {
            pixel[i] = image->bytes[table + 4 * index + 2 - i];
        }
        return true;
    }
    value = read_number(row + x * bitmap->bits / 8, bitmap->bits / 8);
    for (size_t i = 0; i < 3; i++) {
        pixel[i] = pick(value, bitmap->masks[i]);
    }
    return true;
}

bool mdf_image_decode_bmp(struct mdf_image *image)
{
    struct bitmap bitmap;
    uint64_t row_bytes, height;

    if (!read_header(image, &bitmap)) {
        return false;
    }
    if (bitmap.bits != 1 && bitmap.bits != 4 && bitmap.bits != 8 && bitmap.bits != 16 && bitmap.bits != 24 && bitmap.bits != 32) {
        return false;
    }
    row_bytes = ((uint64_t)bitmap.width * bitmap.bits + 31) / 32 * 4;
    height = (uint64_t)(bitmap.height < 0 ? -bitmap.height : bitmap.height);
    if (height == 0 || bitmap.data > image->n_bytes || (image->n_bytes - bitmap.data) / row_bytes < height ||
        !mdf_image_make(image, (uint64_t)bitmap.width, height)) {
        return false;
    }
    for (size_t y = 0; y < image->height; y++) {
        size_t from = bitmap.height < 0 ? y : image->height - 1 - y;

        for (size_t x = 0; x < image->width; x++) {
            if (!read_pixel(image, &bitmap, image->bytes + bitmap.data + from * row_bytes, x,
                            image->pixels + (y * image->width + x) * 3)) {
                return false;
            }
        }
    }
    return true;
}
