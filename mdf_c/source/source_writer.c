/* source_writer.c - see source_writer.h: the texts, names, constants and buffers of generated code. */
#include "mdf_c/source/source_writer.h"

#include "mdf_c/base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACK_ARRAY_BYTES = 1024, /* the largest buffer that lies on the stack */
    STACK_BYTES = 16384,      /* all of one function's */
    LINE_BYTES = 64,          /* of the cache */
    MOST_OF_MESSAGE = 512     /* C11 has literals of up to 4095 characters */
};

void mdf_source_begin(struct mdf_source_writer *writer, struct mdf_memory *memory, mdf_error *error)
{
    memset(writer, 0, sizeof *writer);
    writer->memory = memory;
    writer->error = error;
    writer->place = "the model";
    writer->last_helper = &writer->helpers;
    mdf_arena_init(&writer->arena, memory);
    mdf_text_init(&writer->constants, memory);
    mdf_text_init(&writer->functions, memory);
    mdf_text_init(&writer->declarations, memory);
    mdf_text_init(&writer->body, memory);
    mdf_text_init(&writer->work, memory);
}

void mdf_source_end(struct mdf_source_writer *writer)
{
    mdf_text_release(&writer->constants);
    mdf_text_release(&writer->functions);
    mdf_text_release(&writer->declarations);
    mdf_text_release(&writer->body);
    mdf_text_release(&writer->work);
    mdf_arena_release(&writer->arena);
}

void mdf_source_at(struct mdf_source_writer *writer, const char *place, const struct mdf_origin *origin)
{
    writer->place = place;
    writer->origin = origin;
}

bool mdf_source_refuse(struct mdf_source_writer *writer, const char *format, ...)
{
    char text[512];
    va_list arguments;
    bool has_path;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    has_path = writer->origin != NULL && writer->origin->path != NULL; /* which is said before the message */
    mdf_error_set(writer->error, MDF_UNSUPPORTED,
                  "%s can not be written as C: %s; run the model without compiling it (mdf-run without --compile)",
                  has_path ? "it" : writer->place, text);
    if (has_path) {
        mdf_error_at(writer->error, writer->origin->file, writer->origin->line, writer->origin->column);
        mdf_error_in(writer->error, "%s", writer->origin->path);
    }
    return false;
}

bool mdf_source_out_of_memory(struct mdf_source_writer *writer)
{
    mdf_memory_error(writer->memory, writer->error);
    return false;
}

void mdf_source_check(struct mdf_source_writer *writer, const struct mdf_text *text)
{
    if (text->failed) {
        mdf_source_out_of_memory(writer);
    }
}

const char *mdf_source_text(struct mdf_source_writer *writer, const char *format, ...)
{
    const char *copy;
    va_list arguments;

    va_start(arguments, format);
    copy = mdf_arena_vprintf(&writer->arena, format, arguments);
    va_end(arguments);
    if (copy == NULL) {
        mdf_source_out_of_memory(writer);
    }
    return copy != NULL ? copy : "";
}

/* ------------------------------------------------------------------ names */

static bool is_taken(const struct mdf_source_names *names, const char *text)
{
    const size_t *n = name_table_find(&names->taken, text);

    return n != NULL && *n > 0;
}

void mdf_source_take_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *text)
{
    size_t *n = name_table_add(&names->taken, &writer->arena, text);

    if (n == NULL) {
        mdf_source_out_of_memory(writer);
        return;
    }
    ++*n;
}

/* Where the number of a name begins that has one: "sum_12" has 12. */
static const char *find_number(const char *name)
{
    const char *number = strrchr(name, '_');

    return number != NULL && number[1] != '\0' && number[1 + strspn(number + 1, "0123456789")] == '\0' ? number + 1 : NULL;
}

void mdf_source_free_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *name)
{
    size_t *n = name_table_find(&names->taken, name), *next;
    const char *number = find_number(name);

    if (n != NULL && *n > 0) {
        --*n;
    }
    if (number != NULL) { /* it is looked for from there on again */
        next = name_table_find(&names->next, mdf_source_text(writer, "%.*s", (int)(number - 1 - name), name));
        if (next != NULL && *next > strtoul(number, NULL, 10)) {
            *next = strtoul(number, NULL, 10);
        }
    }
}

/* The letters and digits of a text, other characters as single underscores; longer texts are cut. Where nothing is left, or what
 * must not begin so, a letter stands before it. */
static void sanitise(const char *hint, char text[64])
{
    size_t n = 0;

    if (!mdf_is_letter(hint[0]) || mdf_source_begins_reserved(hint)) {
        text[n++] = 'v';
        text[n++] = '_';
    }
    for (; *hint != '\0' && n < 48; hint++) {
        if (mdf_is_letter(*hint) || mdf_is_digit(*hint)) {
            text[n++] = *hint;
        } else if (n > 0 && text[n - 1] != '_') {
            text[n++] = '_';
        }
    }
    while (n > 1 && text[n - 1] == '_') {
        n--;
    }
    text[n] = '\0';
}

bool mdf_source_is_taken(struct mdf_source_writer *writer, const char *name)
{
    return is_taken(&writer->globals, name);
}

const char *mdf_source_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *hint)
{
    char stem[64];
    const char *text;
    size_t *next;

    sanitise(hint != NULL && hint[0] != '\0' ? hint : "value", stem);
    text = mdf_source_text(writer, "%s", stem);
    next = name_table_add(&names->next, &writer->arena, text);
    if (next == NULL) {
        mdf_source_out_of_memory(writer);
        return "";
    }
    for (bool is_first = true; is_taken(names, text) || is_taken(&writer->globals, text) || is_taken(&writer->locals, text) ||
                               mdf_source_is_reserved(text);
         is_first = false) {
        *next = is_first ? (*next > 2 ? *next : 2) : *next + 1;
        text = mdf_source_text(writer, "%s_%zu", stem, *next);
        if (text[0] == '\0') {
            return "";
        }
    }
    mdf_source_take_name(writer, names, text);
    return text;
}

/* ------------------------------------------------------------------ constants */

const char *mdf_source_type(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_BOOL:
        return "bool";
    case MDF_DTYPE_INT8:
    case MDF_DTYPE_INT2: /* of fewer bits and small floats, too: only moved, and cast */
    case MDF_DTYPE_INT4:
        return "int8_t";
    case MDF_DTYPE_INT16:
        return "int16_t";
    case MDF_DTYPE_INT32:
        return "int32_t";
    case MDF_DTYPE_INT64:
        return "int64_t";
    case MDF_DTYPE_UINT8:
    case MDF_DTYPE_UINT2:
    case MDF_DTYPE_UINT4:
    case MDF_DTYPE_FLOAT4E2M1FN:
    case MDF_DTYPE_FLOAT8E4M3FN:
    case MDF_DTYPE_FLOAT8E4M3FNUZ:
    case MDF_DTYPE_FLOAT8E5M2:
    case MDF_DTYPE_FLOAT8E5M2FNUZ:
    case MDF_DTYPE_FLOAT8E8M0:
        return "uint8_t";
    case MDF_DTYPE_UINT16:
    case MDF_DTYPE_FLOAT16: /* as its bits: it is only moved, and cast */
    case MDF_DTYPE_BFLOAT16:
        return "uint16_t";
    case MDF_DTYPE_UINT32:
        return "uint32_t";
    case MDF_DTYPE_UINT64:
        return "uint64_t";
    case MDF_DTYPE_FLOAT32:
        return "float";
    case MDF_DTYPE_FLOAT64:
        return "double";
    default:
        return NULL;
    }
}

const char *mdf_source_cast(struct mdf_source_writer *writer, mdf_dtype from, mdf_dtype to)
{
    writer->makes_reals = writer->makes_reals || (mdf_dtype_kind(from) != 'f' && mdf_dtype_kind(to) == 'f');
    return from == to ? "" : mdf_source_text(writer, "(%s)", mdf_source_type(to));
}

bool mdf_source_computes(mdf_dtype dtype)
{
    return mdf_source_type(dtype) != NULL &&
           (mdf_dtype_kind(dtype) == 'f' ? mdf_dtype_is_real(dtype) : dtype == MDF_DTYPE_BOOL || mdf_dtype_bits(dtype) >= 8);
}

static void append_real(struct mdf_text *text, double value, bool single)
{
    char digits[MDF_NUMBER_TEXT_SIZE];

    if (isnan(value)) {
        mdf_text_append_string(text, signbit(value) ? "-NAN" : "NAN");
    } else if (isinf(value)) {
        mdf_text_append_string(text, value < 0 ? "-INFINITY" : "INFINITY");
    } else {
        if (single) {
            mdf_format_float32((float)value, digits);
        } else {
            mdf_format_float64(value, digits);
        }
        mdf_text_printf(text, "%s%s", digits, single ? "f" : "");
    }
}

void mdf_source_append_literal(struct mdf_text *text, mdf_dtype dtype, const void *element)
{
    int64_t integer;
    uint64_t natural;

    if (mdf_dtype_kind(dtype) == 'f' && !mdf_source_computes(dtype)) {
        bool is_half = mdf_dtype_size(dtype) == sizeof(uint16_t);

        mdf_text_printf(text, is_half ? "0x%04x" : "0x%02x",
                        is_half ? (unsigned)*(const uint16_t *)element : (unsigned)*(const uint8_t *)element);
        return;
    }
    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        append_real(text, mdf_element_to_double(dtype, element), dtype == MDF_DTYPE_FLOAT32);
        return;
    case 'b':
        mdf_text_append_string(text, *(const uint8_t *)element != 0 ? "true" : "false");
        return;
    case 'u':
        mdf_convert_elements(MDF_DTYPE_UINT64, &natural, dtype, element, 1, false);
        mdf_text_printf(text, natural > UINT32_MAX ? "UINT64_C(%llu)" : "%lluu", (unsigned long long)natural);
        return;
    case 'i':
        break;
    default:
        text->failed = true;
        return;
    }
    integer = mdf_element_to_int64(dtype, element);
    if (integer == INT64_MIN) {
        mdf_text_append_string(text, "INT64_MIN");
    } else if (integer == INT32_MIN) {
        mdf_text_append_string(text, "INT32_MIN");
    } else {
        mdf_text_printf(text, integer > INT32_MAX || integer < INT32_MIN ? "INT64_C(%lld)" : "%lld", (long long)integer);
    }
}

const char *mdf_source_literal(struct mdf_source_writer *writer, mdf_dtype dtype, const void *element)
{
    struct mdf_text text;
    const char *literal;

    mdf_text_init(&text, writer->memory);
    mdf_source_append_literal(&text, dtype, element);
    literal = text.failed ? "" : mdf_source_text(writer, text.bytes[0] == '-' ? "(%s)" : "%s", text.bytes);
    mdf_source_check(writer, &text);
    mdf_text_release(&text);
    return literal;
}

/* How many elements have to be written: the compiler fills the rest with zeros (of all bytes: not -0.0). At least one. */
static size_t n_until_zeros(const void *data, size_t length, size_t size)
{
    const char *bytes = data;
    size_t n_bytes = length * size;

    while (n_bytes > size && bytes[n_bytes - 1] == 0) {
        n_bytes--;
    }
    return (n_bytes + size - 1) / size;
}

const char *mdf_source_constant_array(struct mdf_source_writer *writer, mdf_dtype dtype, const void *data, size_t length,
                                      const char *hint)
{
    enum { PER_LINE = 8 };
    struct mdf_source_constant *constant;
    size_t size = mdf_dtype_size(dtype), n_written, i;

    for (constant = writer->constant_list; constant != NULL; constant = constant->next) {
        if (constant->dtype == dtype && constant->length == length &&
            (constant->data == data || (length < 4096 && memcmp(constant->data, data, length * size) == 0))) {
            return constant->name;
        }
    }
    constant = mdf_arena_allocate(&writer->arena, sizeof *constant);
    if (constant == NULL) {
        mdf_source_out_of_memory(writer);
        return "";
    }
    constant->dtype = (uint8_t)dtype;
    constant->length = length;
    constant->data = data;
    /* Not the hint alone: compilers know functions that are in no header here ("printf"), and warn of others of that name. */
    constant->name =
        mdf_source_name(writer, &writer->globals, hint != NULL ? mdf_source_text(writer, "%s_values", hint) : "constant");
    constant->next = writer->constant_list;
    writer->constant_list = constant;
    constant->begin = writer->constants.length;
    mdf_text_printf(&writer->constants, "static const %s %s[%zu] = {", mdf_source_type(dtype), constant->name,
                    length > 0 ? length : 1);
    n_written = n_until_zeros(data, length, size);
    for (i = 0; i < n_written; i++) {
        mdf_text_append_string(&writer->constants, i % PER_LINE == 0 && n_written > PER_LINE ? (i > 0 ? ",\n    " : "\n    ")
                                                   : i > 0                                   ? ", "
                                                                                             : "");
        mdf_source_append_literal(&writer->constants, dtype, (const char *)data + i * size);
    }
    mdf_text_append_string(&writer->constants, length == 0 ? "0};\n" : "};\n");
    constant->end = writer->constants.length;
    return constant->name;
}

/* One character of a literal: what is not plain in octal, and '?', of which two begin a trigraph. */
static size_t quote_character(struct mdf_text *quoted, const unsigned char *at, size_t left)
{
    char shown[MDF_VISIBLE_SIZE];
    size_t n_read;

    mdf_visible_character(at, left, shown, &n_read);
    if (*at == '"' || *at == '\\') {
        mdf_text_printf(quoted, "\\%c", *at);
    } else if (*at != '?' && shown[0] != '\\') {
        mdf_text_append(quoted, shown, n_read);
    } else {
        for (size_t i = 0; i < n_read; i++) {
            mdf_text_printf(quoted, "\\%03o", (unsigned)at[i]);
        }
    }
    return n_read;
}

const char *mdf_source_quote(struct mdf_source_writer *writer, const char *text)
{
    struct mdf_text quoted;
    const char *copy;
    size_t left = strlen(text), n_read;

    mdf_text_init(&quoted, writer->memory);
    mdf_text_append_string(&quoted, "\"");
    for (; left > 0; left -= n_read, text += n_read) {
        n_read = quote_character(&quoted, (const unsigned char *)text, left);
    }
    mdf_text_append_string(&quoted, "\"");
    copy = quoted.failed ? "" : mdf_source_text(writer, "%s", quoted.bytes);
    mdf_source_check(writer, &quoted);
    mdf_text_release(&quoted);
    return copy;
}

const char *mdf_source_quote_message(struct mdf_source_writer *writer, const char *format, ...)
{
    char message[MOST_OF_MESSAGE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    message[mdf_utf8_valid_length(message, strlen(message))] = '\0'; /* a last character that was cut */
    return mdf_source_quote(writer, message);
}

const char *mdf_source_comment(struct mdf_source_writer *writer, const char *text)
{
    char *copy = mdf_arena_text(&writer->arena, text, strlen(text));
    size_t left = strlen(text), i, n_read;
    char shown[MDF_VISIBLE_SIZE];

    if (copy == NULL) {
        mdf_source_out_of_memory(writer);
        return "";
    }
    for (i = 0; left > 0; i += n_read, left -= n_read) {
        bool opens = copy[i] == '/' && (copy[i + 1] == '*' || (i > 0 && copy[i - 1] == '*'));

        mdf_visible_character((unsigned char *)copy + i, left, shown, &n_read);
        if (opens || shown[0] == '\\') {
            memset(copy + i, ' ', n_read);
        }
    }
    return copy;
}

/* ------------------------------------------------------------------ lines */

static void indent(struct mdf_source_writer *writer)
{
    for (int i = 0; i < writer->depth + 1; i++) {
        mdf_text_append(&writer->body, "    ", 4);
    }
}

void mdf_source_line(struct mdf_source_writer *writer, const char *format, ...)
{
    va_list arguments;

    indent(writer);
    va_start(arguments, format);
    mdf_text_vprintf(&writer->body, format, arguments);
    va_end(arguments);
    mdf_text_append_string(&writer->body, "\n");
}

void mdf_source_open(struct mdf_source_writer *writer, const char *format, ...)
{
    va_list arguments;

    indent(writer);
    va_start(arguments, format);
    mdf_text_vprintf(&writer->body, format, arguments);
    va_end(arguments);
    mdf_text_append_string(&writer->body, format[0] != '\0' ? " {\n" : "{\n");
    writer->depth++;
}

void mdf_source_close(struct mdf_source_writer *writer)
{
    writer->depth--;
    mdf_source_line(writer, "}");
}

void mdf_source_blank(struct mdf_source_writer *writer)
{
    mdf_text_append_string(&writer->body, "\n");
}

void mdf_source_bail_out_if(struct mdf_source_writer *writer, const char *condition, const char *why)
{
    mdf_source_open(writer, "if (%s)", condition);
    mdf_source_line(writer, "return %s;", mdf_source_quote_message(writer, "%s: %s", writer->place, why));
    mdf_source_close(writer);
}

bool mdf_source_has_room(const struct mdf_source_writer *writer, size_t n_bytes)
{
    return n_bytes <= STACK_ARRAY_BYTES && writer->stack_bytes + n_bytes <= STACK_BYTES;
}

void mdf_source_append_lines(struct mdf_source_writer *writer, struct mdf_text *text, struct mdf_source_names *names,
                             const struct mdf_source_lines *own)
{
    mdf_text_printf(text, "%s%s %s[%zu];%s\n", own->indent, own->type, own->name, own->n, own->comment);
    if (own->n_bytes % LINE_BYTES != 0) {
        mdf_text_printf(text, "%schar %s[%zu];\n", own->indent,
                        mdf_source_name(writer, names, mdf_source_text(writer, "behind_%s", own->name)),
                        LINE_BYTES - own->n_bytes % LINE_BYTES);
    }
}

const char *mdf_source_buffer(struct mdf_source_writer *writer, mdf_dtype dtype, size_t length, const char *hint)
{
    size_t n = length > 0 ? length : 1, n_bytes = n * mdf_dtype_size(dtype);
    const char *name = mdf_source_name(writer, &writer->locals, hint), *type = mdf_source_type(dtype);

    if (mdf_source_has_room(writer, n_bytes)) {
        writer->stack_bytes += n_bytes;
        mdf_text_printf(&writer->declarations, "    %s %s[%zu];\n", type, name, n);
        return name;
    }
    mdf_source_append_lines(writer, &writer->work, &writer->locals,
                            &(struct mdf_source_lines){"            ", type, name, n, n_bytes, ""});
    return mdf_source_text(writer, "%s.%s", writer->work_name, name);
}
