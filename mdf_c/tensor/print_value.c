/* print_value.c - see print_value.h. */
#include "mdf_c/tensor/print_value.h"

#include <inttypes.h>

void mdf_value_print_form(struct mdf_text *text, const struct mdf_value *value)
{
    char description[80];

    mdf_value_describe(value, description, sizeof description);
    mdf_text_append_string(text, description);
}

static void print_real(struct mdf_text *text, mdf_dtype dtype, const void *element)
{
    double real = mdf_element_to_double(dtype, element);
    char digits[MDF_NUMBER_TEXT_SIZE];

    if (dtype == MDF_DTYPE_FLOAT64) {
        mdf_format_float64(real, digits);
    } else {
        mdf_format_float32((float)real, digits); /* narrower ones are exact in it */
    }
    mdf_text_append_string(text, digits);
}

static void print_element(struct mdf_text *text, mdf_dtype dtype, const void *element)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'b':
        mdf_text_append_string(text, *(const uint8_t *)element != 0 ? "true" : "false");
        break;
    case 'i':
        mdf_text_printf(text, "%" PRId64, mdf_element_to_int64(dtype, element));
        break;
    case 'u':
        mdf_text_printf(text, "%" PRIu64,
                        dtype == MDF_DTYPE_UINT64 ? *(const uint64_t *)element : (uint64_t)mdf_element_to_int64(dtype, element));
        break;
    case 'f':
        print_real(text, dtype, element);
        break;
    case 's':
        mdf_text_append_string(text, "'");
        mdf_text_append_visible(text, *(const char *const *)element);
        mdf_text_append_string(text, "'");
        break;
    case 'c':
        mdf_text_append_string(text, "...");
        break;
    }
}

void mdf_value_print(struct mdf_text *text, const struct mdf_value *value)
{
    enum { MOST_ELEMENTS = 8 };
    size_t size = mdf_dtype_size((mdf_dtype)value->dtype), i;

    mdf_value_print_form(text, value);
    for (i = 0; value->kind == MDF_KIND_TENSOR && i < value->length && i < MOST_ELEMENTS; i++) {
        mdf_text_append_string(text, " ");
        print_element(text, (mdf_dtype)value->dtype, (const char *)value->data + i * size);
    }
    if (value->kind == MDF_KIND_TENSOR && i < value->length) {
        mdf_text_append_string(text, " ...");
    }
}
