/* value.h - what ports, parameters and functions hold: arrays, lists, objects, nothing.
 *
 * Arrays are dense and row-major. Bytes live in reference-counted buffers: a buffer with one owner is written in
 * place, a shared one is replaced, so that a kernel that asks for its output (mdf_value_make_tensor) allocates only
 * when the capacity that is there does not do. A value without a buffer borrows its bytes and never writes them; the elements
 * of a big constant may lie in a store (mdf_c/base/store.h), which is shared and never written either.
 *
 * A zeroed struct mdf_value is a valid value of kind NONE. */
#ifndef MDF_TENSOR_VALUE_H
#define MDF_TENSOR_VALUE_H

#include "mdf_c/base/memory.h"
#include "mdf_c/base/store.h"
#include "mdf_c/tensor/dtype.h"

#include <stddef.h>
#include <string.h>

enum { MDF_INLINE_RANK = 8 };

/* What the elements of a buffer own. */
enum mdf_content { MDF_CONTENT_BYTES, MDF_CONTENT_STRINGS, MDF_CONTENT_VALUES };

/* Reference-counted bytes, or items, of one memory. Only value.c changes them; they stand here for mdf_value_own_elements. */
struct mdf_buffer {
    atomic_size_t n_owners;
    struct mdf_memory *memory;
    size_t capacity_bytes; /* of data */
    size_t n_owned;        /* strings or values from data + offset on, to be let go with the buffer */
    size_t offset;         /* of the elements: a large shape lies before them */
    enum mdf_content content;
    struct mdf_store *store; /* where the elements lie, not to be written; NULL: in data */
    max_align_t data[];
};

struct mdf_value {
    uint8_t kind;     /* enum mdf_kind */
    uint8_t dtype;    /* enum mdf_dtype; of a list: the element type of an ONNX sequence, or MDF_DTYPE_NONE */
    uint8_t strength; /* enum mdf_strength */
    uint8_t unused;
    uint32_t rank;
    size_t length; /* elements of an array, items of a list, entries of an object */
    union {
        int64_t sizes[MDF_INLINE_RANK];
        int64_t *large; /* where rank > MDF_INLINE_RANK; lies in the buffer, before the elements, or is borrowed */
    } shape;
    void *data; /* elements; or struct mdf_value items; an object has 2 * length of them: key (a string), value, ... */
    struct mdf_buffer *buffer; /* NULL: data is borrowed */
};

/* The sizes of an array's axes. */
static inline const int64_t *mdf_value_shape(const struct mdf_value *value)
{
    return value->rank <= MDF_INLINE_RANK ? value->shape.sizes : value->shape.large;
}

/* Whether two arrays have the same axes. */
static inline bool mdf_value_has_shape_of(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(mdf_value_shape(a), mdf_value_shape(b), a->rank * sizeof(int64_t)) == 0);
}

/* Whether two values differ in their elements alone. */
static inline bool mdf_value_has_form_of(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->strength == b->strength && a->length == b->length &&
           mdf_value_has_shape_of(a, b);
}

static inline bool mdf_value_is_tensor(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR;
}

static inline bool mdf_value_is_scalar(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->rank == 0;
}

/* The items of a list. */
static inline const struct mdf_value *mdf_value_items(const struct mdf_value *value)
{
    return value->data;
}
/* How many they are: of an object, keys and values. */
static inline size_t mdf_value_n_items(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_DICT ? 2 * value->length : value->length;
}

/* Lets go of what the value holds; it becomes NONE. */
void mdf_value_clear(struct mdf_memory *memory, struct mdf_value *value);

/* Number of elements of a shape; false where it overflows, or a size is negative. */
bool mdf_shape_n_elements(size_t rank, const int64_t *shape, size_t *n_elements);

/* Makes `value` an array of that type and shape whose elements the caller then writes; returns them, NULL when refused
 * (see mdf_memory_error). Strength becomes TYPED. Elements are not initialised, except that strings are all NULL (write them
 * with mdf_string_new). `shape` may point into `value` itself. Reuses the buffer where that is possible. */
void *mdf_value_make_tensor(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, size_t rank,
                            const int64_t *shape);
/* A scalar of strength PYTHON. */
bool mdf_value_make_double(struct mdf_memory *memory, struct mdf_value *value, double real);
bool mdf_value_make_int(struct mdf_memory *memory, struct mdf_value *value, int64_t integer);
bool mdf_value_make_bool(struct mdf_memory *memory, struct mdf_value *value, bool truth);
bool mdf_value_make_string(struct mdf_memory *memory, struct mdf_value *value, const char *bytes, size_t length);
/* An array that borrows `data` (and, above MDF_INLINE_RANK, `shape`): nothing is copied. */
void mdf_value_borrow_tensor(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, enum mdf_strength strength,
                             size_t rank, const int64_t *shape, const void *data);

/* An array whose elements lie in a store, which the value then shares. `data` must be aligned for `dtype`. */
bool mdf_value_view_store(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, enum mdf_strength strength,
                          size_t rank, const int64_t *shape, struct mdf_store *store, const void *data);

/* Makes `value` a list (or an object) of `length` items that are NONE, to be filled by the caller; returns them. */
struct mdf_value *mdf_value_make_list(struct mdf_memory *memory, struct mdf_value *value, size_t length);
struct mdf_value *mdf_value_make_dict(struct mdf_memory *memory, struct mdf_value *value, size_t length);
/* Adds a copy of `item` at the end of a list (in place where the list has one owner, growing geometrically). */
bool mdf_value_append(struct mdf_memory *memory, struct mdf_value *list, const struct mdf_value *item);

/* Nothing: a buffer of its own stays for later use, what it borrows is let go. */
void mdf_value_forget(struct mdf_value *value);

/* Makes `target` equal to `source`: elements are copied where target's own buffer has room, else the buffer is shared.
 * Borrowed elements are always copied. Alloc-free once capacities are steady. */
bool mdf_value_copy(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source);
/* Makes `target` equal to `source` and lets both keep one buffer; what is borrowed is copied. */
bool mdf_value_share(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source);
/* Makes `target` the list of `n` items of a list from `first` on, in the list's buffer if it has one. */
bool mdf_value_share_items(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list, size_t first,
                           size_t n);
/* Makes `target`, which is NONE, element `i` of an array that has a buffer, in that buffer: one buffer for many small values. */
void mdf_value_share_element(struct mdf_value *target, const struct mdf_value *array, size_t i);
/* Makes `target` equal to `source` and shares nothing with it: each may outlive the memory of the other. */
bool mdf_value_copy_apart(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source);
/* The same elements under another shape (of the same number of elements). */
bool mdf_value_reshape(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source, size_t rank,
                       const int64_t *shape);
void mdf_value_swap(struct mdf_value *a, struct mdf_value *b);
/* Makes sure that the elements of an array belong to this value alone, and returns them for writing; NULL when refused. */
void *mdf_value_writable(struct mdf_memory *memory, struct mdf_value *value);
/* The elements of an array where they belong to this value alone and may be written; else NULL. */
static inline void *mdf_value_own_elements(const struct mdf_value *value)
{
    struct mdf_buffer *buffer = value->buffer;
    bool is_own = value->kind == MDF_KIND_TENSOR && buffer != NULL &&
                  atomic_load_explicit(&buffer->n_owners, memory_order_acquire) == 1 && buffer->store == NULL &&
                  value->data == (char *)buffer->data + buffer->offset;

    return is_own ? value->data : NULL;
}
/* The items of a list where they, all that its buffer has, belong to this value alone and may be changed; else NULL. */
static inline struct mdf_value *mdf_value_own_items(const struct mdf_value *value)
{
    struct mdf_buffer *buffer = value->buffer;
    bool is_own = value->kind == MDF_KIND_LIST && buffer != NULL &&
                  atomic_load_explicit(&buffer->n_owners, memory_order_acquire) == 1 && buffer->store == NULL &&
                  value->data == (char *)buffer->data + buffer->offset && buffer->n_owned == value->length;

    return is_own ? (struct mdf_value *)value->data : NULL;
}
/* Gives an array of numbers another number of items along its first axis: those that stay keep their elements, new ones are not
 * initialised. Memory that belongs to it alone is made longer where it is, if that is possible. False: refused, the array is as
 * it was. */
bool mdf_value_lengthen(struct mdf_memory *memory, struct mdf_value *array, size_t n_items);
/* mdf_convert_elements of any number of elements: false, too, where it was left out in part, as the work of this memory is to
 * stop. */
bool mdf_value_convert_elements(struct mdf_memory *memory, mdf_dtype target_dtype, void *target, mdf_dtype source_dtype,
                                const void *source, size_t n, bool saturate);
/* `target` becomes `source` with elements of another type (strings excepted). */
bool mdf_value_convert(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source, mdf_dtype dtype);

/* Nested lists of numbers as numpy.array reads them: an array of the common type. 1: done; 0: not an array (ragged,
 * or other things in it), target untouched; -1: out of memory. A tensor is shared as it is. */
int mdf_value_from_nested_list(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list);
/* The same of a list of arrays that differ in axes of size 1 only: as if all had the axes of the one that has most. */
int mdf_value_from_similar_arrays(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list);

/* Whether `value` is an array with one element that is a number or bool; that element. */
bool mdf_value_to_double(const struct mdf_value *value, double *real);
bool mdf_value_to_int64(const struct mdf_value *value, int64_t *integer); /* a real number only where it is whole */
/* Truth as Python has it: 1, 0, or -1 where it is ambiguous (an array of several elements). */
int mdf_value_truth(const struct mdf_value *value);
/* The string that a rank-0 string array holds; NULL for anything else. */
const char *mdf_value_to_string(const struct mdf_value *value);
/* Deep equality of kind, type, shape and elements (NaN equals NaN). */
bool mdf_value_equal(const struct mdf_value *a, const struct mdf_value *b);

/* "float64[2,3]", "list of 3", "nothing": for messages. */
void mdf_value_describe(const struct mdf_value *value, char *text, size_t size);

/* Strings of string arrays: immutable, reference-counted, terminated. The array holds `char *`. */
char *mdf_string_new(struct mdf_memory *memory, const char *bytes, size_t length);
char *mdf_string_share(char *string);
void mdf_string_release(struct mdf_memory *memory, char *string);
size_t mdf_string_length(const char *string);
/* Below 0, 0 or above 0: in the order of their bytes, which is that of code points. */
int mdf_string_compare(const char *a, const char *b);

/* The one number that is left of an array, or of lists of them, once the indices are applied one after the other (as in Python,
 * negative ones from the end); false where there is none. */
bool mdf_value_number_at(const struct mdf_value *value, const int64_t *indices, size_t n_indices, double *number);

#endif
