/* typed_value.c - "data" of the typed form {"type", "shape", "data"} as an array. See document.h. Recursion is bounded by the
 * document's depth. */
#include "mdf_c/document/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a value is made of and for. */
struct reader {
    struct mdf_memory *memory;
    const struct mdf_document *document;
    mdf_error *error;
};

/* An array whose elements are written in order. */
struct sink {
    const struct reader *reader;
    mdf_dtype dtype; /* of an element; of complex types, of one part */
    char *target;
    size_t n_left;
};

static mdf_status out_of_memory(const struct reader *reader)
{
    return mdf_memory_error(reader->memory, reader->error);
}

/* ------------------------------------------------------------------ elements */

/* The range of the whole numbers that a type holds. */
static void integer_range(mdf_dtype dtype, double *least, double *most)
{
    int n_bits = dtype == MDF_DTYPE_INT2 || dtype == MDF_DTYPE_UINT2   ? 2
                 : dtype == MDF_DTYPE_INT4 || dtype == MDF_DTYPE_UINT4 ? 4
                                                                       : (int)mdf_dtype_size(dtype) * 8;

    if (mdf_dtype_kind(dtype) == 'i') {
        *least = -ldexp(1, n_bits - 1);
        *most = ldexp(1, n_bits - 1) - 1;
    } else {
        *least = 0;
        *most = mdf_dtype_kind(dtype) == 'b' ? 1 : ldexp(1, n_bits) - 1;
    }
}

static mdf_status out_of_range(const struct sink *sink, const struct mdf_node *node, const char *number)
{
    return mdf_node_error(sink->reader->document, node, sink->reader->error, MDF_VALUE, "%s is no %s", number,
                          mdf_dtype_name(sink->dtype));
}

static mdf_status put_integer(struct sink *sink, const struct mdf_node *node, int64_t integer)
{
    double least, most;
    char number[MDF_NUMBER_TEXT_SIZE];

    integer_range(sink->dtype, &least, &most);
    if (strchr("biu", mdf_dtype_kind(sink->dtype)) != NULL && ((double)integer < least || (double)integer > most)) {
        snprintf(number, sizeof number, "%" PRId64, integer);
        return out_of_range(sink, node, number);
    }
    mdf_convert_elements(sink->dtype, sink->target, MDF_DTYPE_INT64, &integer, 1, false);
    return MDF_OK;
}

/* A real number; `digits` are those of a whole number past 64 bits, NULL for any other. */
static mdf_status put_real(struct sink *sink, const struct mdf_node *node, double real, const char *digits)
{
    double least, most;
    char number[MDF_NUMBER_TEXT_SIZE];
    uint64_t wide;

    if (strchr("biu", mdf_dtype_kind(sink->dtype)) == NULL) {
        mdf_convert_elements(sink->dtype, sink->target, MDF_DTYPE_FLOAT64, &real, 1, false);
        return MDF_OK;
    }
    if (sink->dtype == MDF_DTYPE_UINT64 && digits != NULL && digits[0] != '-') {
        errno = 0;
        wide = strtoull(digits, NULL, 10);
        if (errno != 0) {
            return out_of_range(sink, node, digits);
        }
        memcpy(sink->target, &wide, sizeof wide);
        return MDF_OK;
    }
    integer_range(sink->dtype, &least, &most);
    if (!(real >= least && real <= most) || real != floor(real) || fabs(real) >= 0x1p63) {
        mdf_format_float64(real, number);
        return out_of_range(sink, node, digits != NULL ? digits : number);
    }
    return put_integer(sink, node, (int64_t)real);
}

static mdf_status put_string(struct sink *sink, const struct mdf_node *node)
{
    char *string = mdf_string_new(sink->reader->memory, node->as.string.bytes, node->as.string.length);

    if (string == NULL) {
        return out_of_memory(sink->reader);
    }
    memcpy(sink->target, &string, sizeof string);
    return MDF_OK;
}

static mdf_status put_scalar(struct sink *sink, const struct mdf_node *node)
{
    mdf_status status = MDF_OK;

    if (sink->n_left == 0) {
        return mdf_node_error(sink->reader->document, node, sink->reader->error, MDF_SHAPE,
                              "\"data\" has more elements than \"shape\" says");
    }
    if ((node->kind == MDF_NODE_STRING) != (sink->dtype == MDF_DTYPE_STRING)) {
        return mdf_node_error(sink->reader->document, node, sink->reader->error, MDF_TYPE, "\"data\" of type %s holds %s",
                              mdf_dtype_name(sink->dtype), mdf_node_describe(node));
    }
    switch (node->kind) {
    case MDF_NODE_BOOL:
        status = put_integer(sink, node, node->as.truth);
        break;
    case MDF_NODE_INT:
        status = put_integer(sink, node, node->as.integer);
        break;
    case MDF_NODE_REAL:
        status = put_real(sink, node, node->as.real, node->digits);
        break;
    case MDF_NODE_STRING:
        status = put_string(sink, node);
        break;
    default:
        return mdf_node_error(sink->reader->document, node, sink->reader->error, MDF_TYPE, "\"data\" holds %s",
                              mdf_node_describe(node));
    }
    sink->target += mdf_dtype_size(sink->dtype);
    sink->n_left--;
    return status;
}

/* Whether packed numbers can be taken over as they are: reals to reals, or elements of the very type. */
static bool fits_whole(const struct sink *sink, const struct mdf_node *node, size_t n)
{
    return n <= sink->n_left &&
           (node->packed_dtype == sink->dtype || (node->packed_dtype == MDF_DTYPE_FLOAT64 && mdf_dtype_kind(sink->dtype) == 'f'));
}

/* Writes all scalars below a node, in order. */
static mdf_status put_all(struct sink *sink, const struct mdf_node *node)
{
    size_t n = mdf_node_length(node), n_elements, i;
    mdf_status status = MDF_OK;
    struct mdf_node item;

    if (node->kind != MDF_NODE_LIST && node->kind != MDF_NODE_NUMBERS) {
        return put_scalar(sink, node);
    }
    if (node->kind == MDF_NODE_NUMBERS && mdf_shape_n_elements(node->as.numbers.rank, node->as.numbers.shape, &n_elements) &&
        fits_whole(sink, node, n_elements)) {
        mdf_convert_elements(sink->dtype, sink->target, (mdf_dtype)node->packed_dtype, node->as.numbers.elements, n_elements,
                             false);
        sink->target += n_elements * mdf_dtype_size(sink->dtype);
        sink->n_left -= n_elements;
        return MDF_OK;
    }
    for (i = 0; i < n && status == MDF_OK && mdf_node_item(node, i, &item); i++) {
        status = put_all(sink, &item);
    }
    return status;
}

/* ------------------------------------------------------------------ arrays */

/* Number of scalars below a node. */
static size_t n_scalars(const struct mdf_node *node)
{
    size_t n = 0;

    if (node->kind == MDF_NODE_NUMBERS) {
        return mdf_shape_n_elements(node->as.numbers.rank, node->as.numbers.shape, &n) ? n : 0;
    }
    if (node->kind != MDF_NODE_LIST) {
        return 1;
    }
    for (size_t i = 0; i < node->as.list.n; i++) {
        n += n_scalars(&node->as.list.items[i]);
    }
    return n;
}

static mdf_status read_elements(const struct reader *reader, const struct mdf_node *data, mdf_dtype dtype, size_t rank,
                                const int64_t *shape, struct mdf_value *value)
{
    size_t n_parts = mdf_dtype_kind(dtype) == 'c' ? 2 : 1, n_given = n_scalars(data), n_elements;
    mdf_dtype part = dtype == MDF_DTYPE_COMPLEX64 ? MDF_DTYPE_FLOAT32 : dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64 : dtype;
    struct sink sink = {.reader = reader, .dtype = part};

    if (!mdf_shape_n_elements(rank, shape, &n_elements)) {
        return mdf_node_error(reader->document, data, reader->error, MDF_SHAPE,
                              "the shape has more elements than fit into memory");
    }
    if (n_given % n_parts != 0 || n_elements != n_given / n_parts) {
        return mdf_node_error(reader->document, data, reader->error, MDF_SHAPE, "there %s %zu element%s where the shape has %zu",
                              n_given == n_parts ? "is" : "are", n_given / n_parts, n_given == n_parts ? "" : "s", n_elements);
    }
    if (data->kind == MDF_NODE_NUMBERS && data->as.numbers.store != NULL && data->packed_dtype == part) {
        return mdf_value_view_store(reader->memory, value, dtype, MDF_STRENGTH_TYPED, rank, shape, data->as.numbers.store,
                                    data->as.numbers.elements)
                   ? MDF_OK
                   : out_of_memory(reader);
    }
    sink.target = mdf_value_make_tensor(reader->memory, value, dtype, rank, shape);
    if (sink.target == NULL) {
        return out_of_memory(reader);
    }
    sink.n_left = n_given;
    return put_all(&sink, data);
}

/* The sizes that nested data have along their first items. */
static size_t nested_shape(const struct mdf_node *data, bool is_complex, int64_t *shape)
{
    struct mdf_node item, outer = *data;
    size_t rank = 0;

    while ((outer.kind == MDF_NODE_LIST || outer.kind == MDF_NODE_NUMBERS) && rank < MDF_DOCUMENT_MAX_DEPTH) {
        shape[rank++] = (int64_t)mdf_node_length(&outer);
        if (!mdf_node_item(&outer, 0, &item)) {
            break;
        }
        outer = item;
    }
    return is_complex && rank > 0 ? rank - 1 : rank;
}

bool mdf_node_to_array(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *data,
                       mdf_dtype dtype, size_t rank, const int64_t *shape, struct mdf_value *value, mdf_error *error)
{
    struct reader reader = {memory, document, error};
    int64_t nested[MDF_DOCUMENT_MAX_DEPTH];

    if (shape == NULL) {
        rank = nested_shape(data, mdf_dtype_kind(dtype) == 'c', nested);
        shape = nested;
    }
    if (read_elements(&reader, data, dtype, rank, shape, value) != MDF_OK) {
        mdf_value_clear(memory, value);
        return false;
    }
    return true;
}
