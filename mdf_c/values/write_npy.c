/* write_npy.c - an array as a NumPy .npy file, version 1.0 or, for a long header, 2.0.
 * Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 *
 * Elements are written in the byte order of the machine, which the header names. Strings are NumPy's fixed-width UTF-32. */
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/values/npy.h"
#include "mdf_c/values/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_MARK '<'
#else
#define BYTE_ORDER_MARK '>'
#endif

mdf_dtype mdf_npy_dtype(mdf_dtype dtype)
{
    bool is_small_real = mdf_dtype_kind(dtype) == 'f' && (mdf_dtype_size(dtype) == 1 || dtype == MDF_DTYPE_BFLOAT16);

    return is_small_real ? MDF_DTYPE_FLOAT32 : mdf_dtype_in_bytes(dtype);
}

/* Reads one code point and moves on; U+FFFD for a byte that is not UTF-8. */
static uint32_t next_code_point(const unsigned char **bytes, const unsigned char *end)
{
    const unsigned char *c = *bytes;
    size_t n = mdf_utf8_sequence(c, (size_t)(end - c)), i;
    uint32_t code;

    *bytes += n > 0 ? n : 1;
    if (n == 0) {
        return 0xfffd;
    }
    code = n == 1 ? c[0] : c[0] & (0xffU >> (n + 1));
    for (i = 1; i < n; i++) {
        code = code << 6 | (c[i] & 0x3fU);
    }
    return code;
}

static size_t n_code_points(const char *string)
{
    const unsigned char *c = (const unsigned char *)string, *end = c + mdf_string_length(string);
    size_t n = 0;

    for (; c != end; n++) {
        next_code_point(&c, end);
    }
    return n;
}

static size_t longest_string(const struct mdf_value *value)
{
    const char *const *strings = value->data;
    size_t longest = 1;

    for (size_t i = 0; i < value->length; i++) {
        size_t n = strings[i] != NULL ? n_code_points(strings[i]) : 0;

        longest = n > longest ? n : longest;
    }
    return longest;
}

static void append_strings(struct mdf_text *bytes, const struct mdf_value *value, size_t width)
{
    const char *const *strings = value->data;

    for (size_t i = 0; i < value->length && !bytes->failed; i++) {
        const unsigned char *c = (const unsigned char *)(strings[i] != NULL ? strings[i] : "");
        const unsigned char *end = c + mdf_string_length(strings[i]);

        for (size_t n = 0; n < width; n++) {
            uint32_t code = c != end ? next_code_point(&c, end) : 0;

            mdf_text_append(bytes, (const char *)&code, sizeof code);
        }
    }
}

/* The header's dictionary, padded so that the elements begin at a multiple of 64 bytes. */
static void append_header(struct mdf_text *bytes, const struct mdf_value *value, const char *descr)
{
    enum { PREFIX_BYTES = 10, PREFIX_BYTES_2 = 12, ALIGNMENT = 64 };
    struct mdf_text header;
    size_t prefix = PREFIX_BYTES, length;
    unsigned char sizes[4];

    mdf_text_init(&header, bytes->memory);
    mdf_text_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (size_t i = 0; i < value->rank; i++) {
        mdf_text_printf(&header, "%" PRId64 "%s", mdf_value_shape(value)[i],
                        value->rank == 1      ? ","
                        : i + 1 < value->rank ? ", "
                                              : "");
    }
    mdf_text_append_string(&header, "), }");
    if (header.length + ALIGNMENT > UINT16_MAX) {
        prefix = PREFIX_BYTES_2;
    }
    while ((prefix + header.length + 1) % ALIGNMENT != 0 && !header.failed) {
        mdf_text_append(&header, " ", 1);
    }
    mdf_text_append(&header, "\n", 1);
    length = header.length;
    for (size_t i = 0; i < sizeof sizes; i++) {
        sizes[i] = (unsigned char)(length >> (8 * i));
    }
    mdf_text_append_string(bytes, "\x93NUMPY");
    mdf_text_append(bytes, prefix == PREFIX_BYTES ? "\1\0" : "\2\0", 2);
    mdf_text_append(bytes, (const char *)sizes, prefix == PREFIX_BYTES ? 2 : 4);
    if (header.failed) {
        bytes->failed = true;
    } else {
        mdf_text_append(bytes, header.bytes, header.length);
    }
    mdf_text_release(&header);
}

static mdf_status append_converted(struct mdf_text *bytes, const struct mdf_value *value, mdf_dtype dtype, mdf_error *error)
{
    struct mdf_value converted = {0};
    mdf_status status = MDF_OK;

    if (mdf_value_convert(bytes->memory, &converted, value, dtype)) {
        mdf_text_append(bytes, converted.data, converted.length * mdf_dtype_size(dtype));
    } else {
        status = mdf_memory_error(bytes->memory, error);
    }
    mdf_value_clear(bytes->memory, &converted);
    return status;
}

/* "<f4": byte order, kind, bytes of an element (of strings: characters). */
static void describe(char descr[MDF_NPY_DESCR_SIZE], char kind, size_t size)
{
    snprintf(descr, MDF_NPY_DESCR_SIZE, "%c%c%zu", size == 1 && kind != 'U' ? '|' : BYTE_ORDER_MARK, kind, size);
}

void mdf_npy_describe(mdf_dtype dtype, char descr[MDF_NPY_DESCR_SIZE])
{
    describe(descr, mdf_dtype_kind(dtype), mdf_dtype_size(dtype));
}

static void append_head(struct mdf_text *bytes, const struct mdf_value *value, char kind, size_t size)
{
    char descr[MDF_NPY_DESCR_SIZE];

    describe(descr, kind, size);
    append_header(bytes, value, descr);
}

void mdf_npy_append_head(struct mdf_text *bytes, const struct mdf_value *value)
{
    append_head(bytes, value, mdf_dtype_kind((mdf_dtype)value->dtype), mdf_dtype_size((mdf_dtype)value->dtype));
}

mdf_status mdf_write_npy(struct mdf_text *bytes, const struct mdf_value *value, mdf_error *error)
{
    mdf_dtype dtype = mdf_npy_dtype((mdf_dtype)value->dtype);
    mdf_status status = MDF_OK;
    size_t width;

    if (dtype == MDF_DTYPE_STRING) {
        width = longest_string(value);
        append_head(bytes, value, 'U', width);
        append_strings(bytes, value, width);
    } else {
        append_head(bytes, value, mdf_dtype_kind(dtype), mdf_dtype_size(dtype));
        if (dtype != (mdf_dtype)value->dtype) {
            status = append_converted(bytes, value, dtype, error);
        } else if (value->length > 0) {
            mdf_text_append(bytes, value->data, value->length * mdf_dtype_size(dtype));
        }
    }
    return status == MDF_OK && bytes->failed ? mdf_memory_error(bytes->memory, error) : status;
}
