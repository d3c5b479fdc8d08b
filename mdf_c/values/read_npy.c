/* read_npy.c - an array from the bytes of a NumPy .npy file, versions 1.0 to 3.0.
 * Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 *
 * Both byte orders and both element orders are read; what goes out is in the machine's byte order and row-major. Structured
 * types, Python objects and dates are refused. Nothing is believed that the size of the file does not bear out. */
#include "mdf_c/values/npy.h"
#include "mdf_c/values/values.h"

#include <stdio.h>
#include <string.h>

enum { MOST_EMPTY_STRINGS = 1 << 24 };

static mdf_status malformed(mdf_error *error, const char *what)
{
    return mdf_error_set(error, MDF_SYNTAX, "not a NumPy array file: %s", what);
}

/* ------------------------------------------------------------------ the header */

/* A place in the header's dictionary, a literal of Python. */
struct cursor {
    const char *c, *end;
};

static void skip_space(struct cursor *cursor)
{
    while (cursor->c < cursor->end && (*cursor->c == ' ' || *cursor->c == '\n' || *cursor->c == '\t')) {
        cursor->c++;
    }
}

static bool take(struct cursor *cursor, char expected)
{
    skip_space(cursor);
    if (cursor->c < cursor->end && *cursor->c == expected) {
        cursor->c++;
        return true;
    }
    return false;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);

    skip_space(cursor);
    if ((size_t)(cursor->end - cursor->c) >= length && memcmp(cursor->c, word, length) == 0) {
        cursor->c += length;
        return true;
    }
    return false;
}

/* A quoted text of printable ASCII without escapes. */
static bool take_string(struct cursor *cursor, char *text, size_t size)
{
    char quote;
    size_t length = 0;

    skip_space(cursor);
    if (cursor->c == cursor->end || (*cursor->c != '\'' && *cursor->c != '"')) {
        return false;
    }
    for (quote = *cursor->c++; cursor->c < cursor->end && *cursor->c != quote; cursor->c++) {
        if (*cursor->c == '\\' || *cursor->c < ' ' || *cursor->c > '~' || length + 1 >= size) {
            return false;
        }
        text[length++] = *cursor->c;
    }
    text[length] = '\0';
    return take(cursor, quote);
}

static bool take_shape(struct cursor *cursor, struct mdf_npy *npy)
{
    npy->rank = 0;
    if (!take(cursor, '(')) {
        return false;
    }
    while (!take(cursor, ')')) {
        int64_t size = 0;

        skip_space(cursor);
        if (npy->rank == MDF_NPY_DEEPEST_RANK || cursor->c == cursor->end || !mdf_is_digit(*cursor->c)) {
            return false;
        }
        for (; cursor->c < cursor->end && mdf_is_digit(*cursor->c); cursor->c++) {
            if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, *cursor->c - '0', &size)) {
                return false;
            }
        }
        take_word(cursor, "L");
        npy->shape[npy->rank++] = size;
        if (!take(cursor, ',')) {
            return take(cursor, ')');
        }
    }
    return true;
}

/* "<f8": byte order, kind, bytes of an element (for U: characters). */
static mdf_status read_descr(struct mdf_npy *npy, const char *descr, mdf_error *error)
{
    static const int one = 1;
    bool little = *(const char *)&one == 1;
    const char *c = descr + 2;
    size_t size = 0;

    if (descr[0] == '\0' || strchr("<>|=", descr[0]) == NULL || descr[1] == '\0' || strchr("biufcUS", descr[1]) == NULL) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "arrays of NumPy type '%s' are not supported", descr);
    }
    for (; mdf_is_digit(*c) && size < SIZE_MAX / 100; c++) {
        size = size * 10 + (size_t)(*c - '0');
    }
    if (*c != '\0') {
        return mdf_error_set(error, MDF_UNSUPPORTED, "arrays of NumPy type '%s' are not supported", descr);
    }
    npy->kind = descr[1];
    npy->swap = descr[0] == (little ? '>' : '<');
    npy->element_size = npy->kind == 'U' ? size * 4 : size;
    return MDF_OK;
}

static mdf_status read_dictionary(struct mdf_npy *npy, struct cursor cursor, mdf_error *error)
{
    bool has_descr = false, has_order = false, has_shape = false, known = true;
    char key[32], descr[64] = "";

    if (!take(&cursor, '{')) {
        return malformed(error, "its header is no dictionary");
    }
    while (known && !take(&cursor, '}')) {
        known = take_string(&cursor, key, sizeof key) && take(&cursor, ':');
        if (known && strcmp(key, "descr") == 0) {
            if (take(&cursor, '[')) {
                return mdf_error_set(error, MDF_UNSUPPORTED, "arrays of records are not supported");
            }
            has_descr = known = take_string(&cursor, descr, sizeof descr);
        } else if (known && strcmp(key, "fortran_order") == 0) {
            npy->fortran_order = take_word(&cursor, "True");
            has_order = known = npy->fortran_order || take_word(&cursor, "False");
        } else if (known && strcmp(key, "shape") == 0) {
            has_shape = known = take_shape(&cursor, npy);
        } else {
            known = false;
        }
        known = known && (take(&cursor, ',') || (cursor.c < cursor.end && *cursor.c == '}'));
    }
    if (!known || !has_descr || !has_order || !has_shape) {
        return malformed(error, "its header does not give descr, fortran_order and shape");
    }
    return read_descr(npy, descr, error);
}

static mdf_status read_header(struct mdf_npy *npy, const unsigned char *bytes, size_t size_bytes, mdf_error *error)
{
    size_t prefix, length, n_elements;
    struct cursor cursor;
    mdf_status status;

    if (size_bytes < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return malformed(error, "it does not begin with \\x93NUMPY");
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "version %d of NumPy's array files is not supported", bytes[6]);
    }
    prefix = bytes[6] == 1 ? 10 : 12;
    length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    if (length > size_bytes - prefix) {
        return malformed(error, "its header ends after the file");
    }
    cursor.c = (const char *)bytes + prefix;
    cursor.end = cursor.c + length;
    status = read_dictionary(npy, cursor, error);
    if (status != MDF_OK) {
        return status;
    }
    npy->elements = bytes + prefix + length;
    if (!mdf_shape_n_elements(npy->rank, npy->shape, &n_elements) ||
        !mdf_size_multiply(n_elements, npy->element_size, &npy->n_bytes) || npy->n_bytes > size_bytes - prefix - length ||
        (npy->element_size == 0 && n_elements > MOST_EMPTY_STRINGS)) {
        return malformed(error, "it has fewer bytes than its shape asks for");
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ elements */

static mdf_dtype dtype_of(char kind, size_t element_size)
{
    mdf_dtype dtype;

    if (kind == 'U' || kind == 'S') {
        return MDF_DTYPE_STRING;
    }
    /* Types that NumPy lacks share kind and size with one that it has, which comes first by this test. */
    for (dtype = (mdf_dtype)0; dtype < MDF_DTYPE_COUNT; dtype++) {
        bool in_numpy = !(mdf_dtype_size(dtype) == 1 && mdf_dtype_kind(dtype) == 'f') && dtype != MDF_DTYPE_BFLOAT16 &&
                        dtype != MDF_DTYPE_INT2 && dtype != MDF_DTYPE_INT4 && dtype != MDF_DTYPE_UINT2 &&
                        dtype != MDF_DTYPE_UINT4;

        if (in_numpy && mdf_dtype_kind(dtype) == kind && mdf_dtype_size(dtype) == element_size) {
            return dtype;
        }
    }
    return MDF_DTYPE_NONE;
}

/* Place in the file, in elements, of the element that stands at `index` in row-major order. */
static size_t column_major_place(const struct mdf_npy *npy, size_t index)
{
    size_t place = 0, stride = 1;

    for (size_t i = 0; i < npy->rank; i++) {
        stride *= (size_t)npy->shape[i];
    }
    for (size_t i = npy->rank; i-- > 0;) {
        stride /= (size_t)npy->shape[i];
        place += index % (size_t)npy->shape[i] * stride;
        index /= (size_t)npy->shape[i];
    }
    return place;
}

static const unsigned char *element_at(const struct mdf_npy *npy, size_t index)
{
    return npy->elements + (npy->fortran_order ? column_major_place(npy, index) : index) * npy->element_size;
}

static void copy_swapped(unsigned char *target, const unsigned char *source, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        target[i] = source[n - 1 - i];
    }
}

bool mdf_npy_is_plain(const struct mdf_npy *npy)
{
    return !npy->swap && !npy->fortran_order && npy->kind != 'b' && npy->dtype != MDF_DTYPE_STRING;
}

void mdf_npy_copy(const struct mdf_npy *npy, void *elements)
{
    unsigned char *target = elements;
    size_t n_elements = npy->element_size > 0 ? npy->n_bytes / npy->element_size : 0;
    size_t size = npy->element_size, part = npy->kind == 'c' ? size / 2 : size;

    if (npy->kind == 'b') { /* any byte may stand in a file; a bool is 0 or 1 */
        for (size_t i = 0; i < n_elements; i++) {
            target[i] = *element_at(npy, i) != 0;
        }
        return;
    }
    if (!npy->swap && !npy->fortran_order) {
        if (n_elements > 0) {
            memcpy(target, npy->elements, npy->n_bytes);
        }
        return;
    }
    for (size_t i = 0; i < n_elements; i++, target += size) {
        const unsigned char *source = element_at(npy, i);

        if (!npy->swap) {
            memcpy(target, source, size);
            continue;
        }
        for (size_t j = 0; j < size; j += part) {
            copy_swapped(target + j, source + j, part);
        }
    }
}

static void append_utf8(struct mdf_text *text, uint32_t code)
{
    bool is_character = code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
    char bytes[4];

    mdf_text_append(text, bytes, mdf_utf8_encode(is_character ? code : 0xfffd, bytes));
}

/* One string of the file, without the zeros that fill it up. Bytes (kind S) are taken for Latin-1. */
static void decode_string(const struct mdf_npy *npy, const unsigned char *element, struct mdf_text *text)
{
    size_t unit = npy->kind == 'U' ? 4 : 1, n = npy->element_size / unit;
    uint32_t code;

    while (n > 0 && memcmp(element + (n - 1) * unit, "\0\0\0", unit) == 0) {
        n--;
    }
    text->length = 0;
    for (size_t i = 0; i < n; i++) {
        code = element[i];
        if (unit == 4 && npy->swap) {
            copy_swapped((unsigned char *)&code, element + i * unit, unit);
        } else if (unit == 4) {
            memcpy(&code, element + i * unit, unit);
        }
        append_utf8(text, code);
    }
}

static bool copy_strings(struct mdf_memory *memory, const struct mdf_npy *npy, char **target, size_t n_elements)
{
    struct mdf_text text;
    bool done = true;

    mdf_text_init(&text, memory);
    for (size_t i = 0; i < n_elements && done; i++) {
        decode_string(npy, element_at(npy, i), &text);
        target[i] = text.failed ? NULL : mdf_string_new(memory, text.bytes, text.length);
        done = target[i] != NULL;
    }
    mdf_text_release(&text);
    return done;
}

mdf_status mdf_npy_open(const void *bytes, size_t size_bytes, struct mdf_npy *npy, mdf_error *error)
{
    mdf_status status;

    memset(npy, 0, sizeof *npy);
    status = read_header(npy, bytes, size_bytes, error);
    if (status != MDF_OK) {
        return status;
    }
    npy->dtype = dtype_of(npy->kind, npy->element_size);
    if (npy->dtype == MDF_DTYPE_NONE) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "arrays of NumPy type '%c%zu' are not supported", npy->kind,
                             npy->element_size);
    }
    return MDF_OK;
}

mdf_status mdf_read_npy(struct mdf_memory *memory, const void *bytes, size_t size_bytes, struct mdf_value *value,
                        mdf_error *error)
{
    struct mdf_npy npy;
    mdf_status status = mdf_npy_open(bytes, size_bytes, &npy, error);
    void *elements;

    if (status != MDF_OK) {
        return status;
    }
    elements = mdf_value_make_tensor(memory, value, npy.dtype, npy.rank, npy.shape);
    if (elements == NULL) {
        return mdf_memory_error(memory, error);
    }
    if (npy.dtype != MDF_DTYPE_STRING) {
        mdf_npy_copy(&npy, elements);
    } else if (!copy_strings(memory, &npy, elements, value->length)) {
        mdf_value_clear(memory, value);
        return mdf_memory_error(memory, error);
    }
    return MDF_OK;
}
