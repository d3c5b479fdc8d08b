/* value.c - how values are made, kept, shared and copied; what they say is in read_value.c. See value.h. */
#include "mdf_c/tensor/value.h"

#include "mdf_c/base/stop.h"

#include <string.h>

/* What takes some milliseconds: between them the work's request to stop is heard. */
enum { ITEMS_PER_LOOK = 1 << 15, CONVERTED_PER_LOOK = 1 << 20 };

enum { LINE_BYTES = 64 }; /* arrays of so many begin with one */

/* A string of a string array: the array points at its bytes. */
struct string {
    atomic_size_t n_owners;
    size_t length;
    char bytes[];
};

static struct string *string_of(char *bytes)
{
    return (struct string *)(void *)(bytes - offsetof(struct string, bytes));
}

char *mdf_string_new(struct mdf_memory *memory, const char *bytes, size_t length)
{
    struct string *string;
    size_t total;

    if (!mdf_size_add(sizeof *string + 1, length, &total)) {
        return NULL;
    }
    string = mdf_memory_allocate(memory, total);
    if (string == NULL) {
        return NULL;
    }
    atomic_init(&string->n_owners, 1);
    string->length = length;
    if (length > 0) {
        memcpy(string->bytes, bytes, length);
    }
    string->bytes[length] = '\0';
    return string->bytes;
}

char *mdf_string_share(char *string)
{
    if (string != NULL) {
        atomic_fetch_add_explicit(&string_of(string)->n_owners, 1, memory_order_relaxed);
    }
    return string;
}

void mdf_string_release(struct mdf_memory *memory, char *string)
{
    if (string != NULL && atomic_fetch_sub_explicit(&string_of(string)->n_owners, 1, memory_order_acq_rel) == 1) {
        mdf_memory_release(memory, string_of(string));
    }
}

size_t mdf_string_length(const char *string)
{
    return string == NULL ? 0 : string_of((char *)(uintptr_t)string)->length;
}

int mdf_string_compare(const char *a, const char *b)
{
    size_t a_length = mdf_string_length(a), b_length = mdf_string_length(b), shorter = a_length < b_length ? a_length : b_length;
    int order = shorter > 0 ? memcmp(a, b, shorter) : 0;

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* ------------------------------------------------------------------ buffers */

static void *elements_of(struct mdf_buffer *buffer)
{
    return (char *)buffer->data + buffer->offset;
}

static bool owned_alone(const struct mdf_buffer *buffer)
{
    return buffer != NULL && buffer->store == NULL && atomic_load_explicit(&buffer->n_owners, memory_order_acquire) == 1;
}

static struct mdf_buffer *new_buffer(struct mdf_memory *memory, size_t capacity_bytes)
{
    struct mdf_buffer *buffer;
    size_t total;

    if (!mdf_size_add(sizeof *buffer, capacity_bytes, &total)) {
        return NULL;
    }
    buffer = mdf_memory_allocate(memory, total);
    if (buffer != NULL) {
        memset(buffer, 0, sizeof *buffer);
        atomic_init(&buffer->n_owners, 1);
        buffer->memory = memory;
        buffer->capacity_bytes = capacity_bytes;
    }
    return buffer;
}

/* Lets go of the strings or values in a buffer. Values in values recurse as deep as lists are nested, which the readers
 * of documents and expressions bound. */
static void empty_buffer(struct mdf_buffer *buffer)
{
    if (buffer->content == MDF_CONTENT_STRINGS) {
        char **strings = elements_of(buffer);

        for (size_t i = 0; i < buffer->n_owned; i++) {
            mdf_string_release(buffer->memory, strings[i]);
        }
    } else if (buffer->content == MDF_CONTENT_VALUES) {
        struct mdf_value *values = elements_of(buffer);

        for (size_t i = 0; i < buffer->n_owned; i++) {
            mdf_value_clear(buffer->memory, &values[i]);
        }
    }
    buffer->content = MDF_CONTENT_BYTES;
    buffer->n_owned = 0;
}

static void release_buffer(struct mdf_buffer *buffer)
{
    if (buffer != NULL && atomic_fetch_sub_explicit(&buffer->n_owners, 1, memory_order_acq_rel) == 1) {
        empty_buffer(buffer);
        mdf_store_release(buffer->store);
        mdf_memory_release(buffer->memory, buffer);
    }
}

static struct mdf_buffer *share_buffer(struct mdf_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->n_owners, 1, memory_order_relaxed);
    return buffer;
}

static bool fits(const struct mdf_buffer *buffer, size_t offset, size_t bytes)
{
    return owned_alone(buffer) && offset <= buffer->capacity_bytes && bytes <= buffer->capacity_bytes - offset;
}

/* A new buffer. What fills a line of the cache begins with one: vectors as long as a line would else take two each time. */
static struct mdf_buffer *make_buffer(struct mdf_memory *memory, size_t offset, size_t bytes)
{
    size_t spare = bytes >= LINE_BYTES ? LINE_BYTES - _Alignof(max_align_t) : 0, total;
    struct mdf_buffer *buffer;

    if (!mdf_size_add(offset, bytes, &total) || !mdf_size_add(total, spare, &total)) {
        return NULL;
    }
    buffer = new_buffer(memory, total < sizeof(max_align_t) ? sizeof(max_align_t) : total);
    if (buffer != NULL) {
        buffer->offset = offset;
        buffer->offset += spare == 0 ? 0 : (LINE_BYTES - (uintptr_t)elements_of(buffer) % LINE_BYTES) % LINE_BYTES;
    }
    return buffer;
}

/* A buffer with room for `bytes` behind `offset` or a little more, empty, that `value` alone owns or is to own: the one it has
 * where that does, with elements where they were, else a new one, which the caller puts in its place with replace_buffer. */
static struct mdf_buffer *find_buffer(struct mdf_memory *memory, const struct mdf_value *value, size_t offset, size_t bytes)
{
    struct mdf_buffer *buffer = value->buffer;
    bool stays = buffer != NULL && buffer->offset >= offset && buffer->offset - offset < LINE_BYTES;

    if (!fits(buffer, stays ? buffer->offset : offset, bytes)) {
        return make_buffer(memory, offset, bytes);
    }
    if (buffer->content != MDF_CONTENT_BYTES) {
        empty_buffer(buffer);
    }
    buffer->offset = stays ? buffer->offset : offset;
    return buffer;
}

static void replace_buffer(struct mdf_value *value, struct mdf_buffer *buffer)
{
    if (value->buffer != buffer) {
        release_buffer(value->buffer);
        value->buffer = buffer;
    }
}

void mdf_value_clear(struct mdf_memory *memory, struct mdf_value *value)
{
    (void)memory; /* a buffer knows its memory */
    release_buffer(value->buffer);
    memset(value, 0, sizeof *value);
}

void mdf_value_forget(struct mdf_value *value)
{
    *value =
        (struct mdf_value){.kind = MDF_KIND_NONE, .buffer = value->buffer, .data = value->buffer != NULL ? value->data : NULL};
}

/* ------------------------------------------------------------------ arrays */

bool mdf_shape_n_elements(size_t rank, const int64_t *shape, size_t *n_elements)
{
    size_t product = 1;
    bool empty = false, fits = true;

    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            return false;
        }
        empty = empty || shape[i] == 0;
        fits = fits && (int64_t)(size_t)shape[i] == shape[i] && mdf_size_multiply(product, (size_t)shape[i], &product);
    }
    *n_elements = empty ? 0 : product;
    return empty || fits;
}

/* Space that a shape takes in front of the elements. */
static size_t shape_bytes(size_t rank)
{
    size_t bytes = rank <= MDF_INLINE_RANK ? 0 : rank * sizeof(int64_t);

    return (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
}

static void set_tensor(struct mdf_value *value, mdf_dtype dtype, size_t rank, size_t n_elements)
{
    value->kind = MDF_KIND_TENSOR;
    value->dtype = (uint8_t)dtype;
    value->strength = MDF_STRENGTH_TYPED;
    value->rank = (uint32_t)rank;
    value->length = n_elements;
}

/* The shape may lie in the value, or in the buffer that is replaced: it is copied first. */
static void *make_tensor(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, size_t rank, const int64_t *shape,
                         size_t n_elements, size_t n_bytes)
{
    struct mdf_buffer *buffer = find_buffer(memory, value, shape_bytes(rank), n_bytes);

    if (buffer == NULL) {
        return NULL;
    }
    if (rank > MDF_INLINE_RANK) {
        memmove(buffer->data, shape, rank * sizeof *shape);
        value->shape.large = (int64_t *)buffer->data;
    } else if (rank > 0) {
        memmove(value->shape.sizes, shape, rank * sizeof *shape);
    }
    set_tensor(value, dtype, rank, n_elements);
    replace_buffer(value, buffer);
    value->data = elements_of(buffer);
    if (dtype == MDF_DTYPE_STRING) {
        if (!mdf_memory_zero(memory, value->data, n_bytes)) {
            mdf_value_clear(memory, value);
            return NULL;
        }
        buffer->content = MDF_CONTENT_STRINGS;
        buffer->n_owned = n_elements;
    }
    return value->data;
}

void *mdf_value_make_tensor(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, size_t rank,
                            const int64_t *shape)
{
    size_t n_elements, n_bytes;

    if (rank == 0 && value->kind == MDF_KIND_TENSOR && value->rank == 0 && value->dtype == dtype && dtype != MDF_DTYPE_STRING &&
        owned_alone(value->buffer)) {
        value->strength = MDF_STRENGTH_TYPED;
        return value->data;
    }
    if (rank > UINT32_MAX || !mdf_shape_n_elements(rank, shape, &n_elements) ||
        !mdf_size_multiply(n_elements, mdf_dtype_size(dtype), &n_bytes)) {
        return NULL;
    }
    return make_tensor(memory, value, dtype, rank, shape, n_elements, n_bytes);
}

static bool make_scalar(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, const void *element)
{
    void *data = mdf_value_make_tensor(memory, value, dtype, 0, NULL);

    if (data == NULL) {
        return false;
    }
    memcpy(data, element, mdf_dtype_size(dtype));
    value->strength = MDF_STRENGTH_PYTHON;
    return true;
}

bool mdf_value_make_double(struct mdf_memory *memory, struct mdf_value *value, double real)
{
    return make_scalar(memory, value, MDF_DTYPE_FLOAT64, &real);
}

bool mdf_value_make_int(struct mdf_memory *memory, struct mdf_value *value, int64_t integer)
{
    return make_scalar(memory, value, MDF_DTYPE_INT64, &integer);
}

bool mdf_value_make_bool(struct mdf_memory *memory, struct mdf_value *value, bool truth)
{
    return make_scalar(memory, value, MDF_DTYPE_BOOL, &truth);
}

bool mdf_value_make_string(struct mdf_memory *memory, struct mdf_value *value, const char *bytes, size_t length)
{
    char *string = mdf_string_new(memory, bytes, length), **slot;

    if (string == NULL) {
        return false;
    }
    slot = mdf_value_make_tensor(memory, value, MDF_DTYPE_STRING, 0, NULL);
    if (slot == NULL) {
        mdf_string_release(memory, string);
        return false;
    }
    *slot = string;
    value->strength = MDF_STRENGTH_PYTHON;
    return true;
}

void mdf_value_borrow_tensor(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, enum mdf_strength strength,
                             size_t rank, const int64_t *shape, const void *data)
{
    struct mdf_value borrowed = {0};
    size_t n_elements = 0;

    mdf_shape_n_elements(rank, shape, &n_elements);
    set_tensor(&borrowed, dtype, rank, n_elements);
    borrowed.strength = (uint8_t)strength;
    borrowed.data = (void *)(uintptr_t)data;
    if (rank > MDF_INLINE_RANK) {
        borrowed.shape.large = (int64_t *)(uintptr_t)shape;
    } else if (rank > 0) {
        memcpy(borrowed.shape.sizes, shape, rank * sizeof *shape);
    }
    mdf_value_clear(memory, value);
    *value = borrowed;
}

bool mdf_value_view_store(struct mdf_memory *memory, struct mdf_value *value, mdf_dtype dtype, enum mdf_strength strength,
                          size_t rank, const int64_t *shape, struct mdf_store *store, const void *data)
{
    struct mdf_buffer *buffer = new_buffer(memory, shape_bytes(rank));

    if (buffer == NULL) {
        return false;
    }
    if (rank > MDF_INLINE_RANK) {
        memcpy(buffer->data, shape, rank * sizeof *shape);
        shape = (const int64_t *)buffer->data;
    }
    mdf_value_borrow_tensor(memory, value, dtype, strength, rank, shape, data);
    buffer->store = mdf_store_share(store);
    value->buffer = buffer;
    return true;
}

/* ------------------------------------------------------------------ lists and objects */

static struct mdf_value *make_items(struct mdf_memory *memory, struct mdf_value *value, mdf_kind kind, size_t length,
                                    size_t n_items)
{
    struct mdf_buffer *buffer;
    size_t n_bytes;

    if (!mdf_size_multiply(n_items, sizeof(struct mdf_value), &n_bytes)) {
        return NULL;
    }
    buffer = find_buffer(memory, value, 0, n_bytes);
    if (buffer == NULL) {
        return NULL;
    }
    replace_buffer(value, buffer);
    if (!mdf_memory_zero(memory, elements_of(buffer), n_bytes)) {
        mdf_value_clear(memory, value);
        return NULL;
    }
    buffer->content = MDF_CONTENT_VALUES;
    buffer->n_owned = n_items;
    value->kind = (uint8_t)kind;
    value->dtype = MDF_DTYPE_NONE;
    value->strength = MDF_STRENGTH_LITERAL;
    value->rank = 0;
    value->length = length;
    value->data = elements_of(buffer);
    return value->data;
}

struct mdf_value *mdf_value_make_list(struct mdf_memory *memory, struct mdf_value *value, size_t length)
{
    return make_items(memory, value, MDF_KIND_LIST, length, length);
}

struct mdf_value *mdf_value_make_dict(struct mdf_memory *memory, struct mdf_value *value, size_t length)
{
    size_t n_items;

    return mdf_size_multiply(length, 2, &n_items) ? make_items(memory, value, MDF_KIND_DICT, length, n_items) : NULL;
}

/* Moves a list into a buffer of its own with room for one more item, twice as large as it needs. */
static bool grow_list(struct mdf_memory *memory, struct mdf_value *list)
{
    struct mdf_value grown = {0};
    struct mdf_value *items;
    size_t room;

    if (!mdf_size_multiply(list->length < 4 ? 4 : list->length, 2, &room)) {
        return false;
    }
    items = make_items(memory, &grown, MDF_KIND_LIST, room, room);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->length; i++) {
        if ((i % ITEMS_PER_LOOK == 0 && mdf_stop_heed(memory->stop)) ||
            !mdf_value_share(memory, &items[i], &mdf_value_items(list)[i])) {
            mdf_value_clear(memory, &grown);
            return false;
        }
    }
    grown.length = list->length;
    grown.buffer->n_owned = list->length;
    grown.dtype = list->dtype;
    mdf_value_swap(list, &grown);
    mdf_value_clear(memory, &grown);
    return true;
}

/* Where in its buffer a list ends, which may be a part of what lies there. */
static size_t end_of_list(const struct mdf_value *list)
{
    return (size_t)(mdf_value_items(list) - (const struct mdf_value *)elements_of(list->buffer)) + list->length;
}

/* Whether an item can be put behind the list in place. Others may share the buffer: they do not look past their own length, so
 * the first to append takes the room. A buffer of another memory belongs to a program, perhaps under another thread's eyes. */
static bool has_room_behind(const struct mdf_memory *memory, const struct mdf_value *list)
{
    const struct mdf_buffer *buffer = list->buffer;

    return buffer != NULL && buffer->memory == memory && buffer->content == MDF_CONTENT_VALUES &&
           (buffer->capacity_bytes - buffer->offset) / sizeof(struct mdf_value) > end_of_list(list) &&
           (owned_alone(buffer) || buffer->n_owned == end_of_list(list));
}

/* Whether a value holds a buffer, at whatever depth; where it has more than `n_left` parts, it may. */
static bool may_hold(const struct mdf_value *value, const struct mdf_buffer *buffer, size_t *n_left)
{
    if (value->kind != MDF_KIND_LIST && value->kind != MDF_KIND_DICT) {
        return false;
    }
    if (value->buffer == buffer || *n_left == 0) {
        return true;
    }
    for (size_t i = 0; i < mdf_value_n_items(value); i++) {
        *n_left -= *n_left > 0;
        if (may_hold(&mdf_value_items(value)[i], buffer, n_left)) {
            return true;
        }
    }
    return false;
}

bool mdf_value_append(struct mdf_memory *memory, struct mdf_value *list, const struct mdf_value *item)
{
    struct mdf_value *items;
    size_t end, n_parts_looked_at = 64;

    /* A buffer that held itself would never be given back. */
    if ((!has_room_behind(memory, list) || (!owned_alone(list->buffer) && may_hold(item, list->buffer, &n_parts_looked_at))) &&
        !grow_list(memory, list)) {
        return false;
    }
    items = list->data;
    end = end_of_list(list);
    if (list->buffer->n_owned <= end) {
        memset(&items[list->length], 0, sizeof *items);
        list->buffer->n_owned = end + 1;
    }
    if (!mdf_value_share(memory, &items[list->length], item)) {
        return false;
    }
    list->length++;
    return true;
}

/* ------------------------------------------------------------------ copies */

static void share(struct mdf_value *target, const struct mdf_value *source)
{
    struct mdf_buffer *old = target->buffer;

    share_buffer(source->buffer);
    *target = *source;
    release_buffer(old);
}

static bool copy_items(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    struct mdf_value *items = make_items(memory, target, source->kind, source->length, mdf_value_n_items(source));

    for (size_t i = 0; items != NULL && i < mdf_value_n_items(source); i++) {
        if ((i % ITEMS_PER_LOOK == 0 && mdf_stop_heed(memory->stop)) ||
            !mdf_value_share(memory, &items[i], &mdf_value_items(source)[i])) {
            return false;
        }
    }
    target->dtype = source->dtype;
    return items != NULL;
}

static bool copy_elements(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    return mdf_value_reshape(memory, target, source, source->rank, mdf_value_shape(source));
}

static bool has_room(const struct mdf_value *target, const struct mdf_value *source)
{
    return owned_alone(target->buffer) &&
           target->buffer->capacity_bytes >= shape_bytes(source->rank) + source->length * mdf_dtype_size(source->dtype);
}

bool mdf_value_copy(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    if (target == source) {
        return true;
    }
    if (source->kind == MDF_KIND_TENSOR && source->dtype != MDF_DTYPE_STRING && has_room(target, source)) {
        return copy_elements(memory, target, source);
    }
    return mdf_value_share(memory, target, source);
}

/* Whether a source borrows strings or items of the target itself, which would be let go before they are copied. Numbers
 * stay where they are. */
static bool borrows_from(const struct mdf_value *source, const struct mdf_value *target)
{
    return target->buffer != NULL && source->data == target->data &&
           (source->kind != MDF_KIND_TENSOR || source->dtype == MDF_DTYPE_STRING) &&
           (source->rank <= MDF_INLINE_RANK || source->shape.large == target->shape.large);
}

bool mdf_value_share(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    struct mdf_buffer *own = target->buffer;

    if (target == source) {
        return true;
    }
    if (source->kind == MDF_KIND_NONE) {
        mdf_value_forget(target);
        return true;
    }
    if (source->buffer != NULL) {
        share(target, source);
        return true;
    }
    if (borrows_from(source, target)) {
        *target = *source;
        target->buffer = own;
        return true;
    }
    return source->kind == MDF_KIND_TENSOR ? copy_elements(memory, target, source) : copy_items(memory, target, source);
}

bool mdf_value_share_items(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list, size_t first,
                           size_t n)
{
    struct mdf_value part = *list;

    part.data = (struct mdf_value *)list->data + (n > 0 ? first : 0);
    part.length = n;
    return mdf_value_share(memory, target, &part);
}

void mdf_value_share_element(struct mdf_value *target, const struct mdf_value *array, size_t i)
{
    set_tensor(target, (mdf_dtype)array->dtype, 0, 1);
    target->strength = array->strength;
    target->data = (char *)array->data + i * mdf_dtype_size((mdf_dtype)array->dtype);
    target->buffer = share_buffer(array->buffer);
}

bool mdf_value_reshape(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source, size_t rank,
                       const int64_t *shape)
{
    void *elements = mdf_value_make_tensor(memory, target, source->dtype, rank, shape);

    if (elements == NULL) {
        return false;
    }
    target->strength = source->strength;
    if (source->dtype != MDF_DTYPE_STRING) {
        return mdf_memory_copy(memory, elements, source->data, source->length * mdf_dtype_size(source->dtype));
    }
    for (size_t i = 0; i < source->length; i++) {
        if (i % ITEMS_PER_LOOK == 0 && mdf_stop_heed(memory->stop)) {
            return false;
        }
        ((char **)elements)[i] = mdf_string_share(((char **)source->data)[i]);
    }
    return true;
}

/* Strings of their own for an array of strings. */
static bool copy_strings_apart(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    char **strings = mdf_value_make_tensor(memory, target, MDF_DTYPE_STRING, source->rank, mdf_value_shape(source));

    for (size_t i = 0; strings != NULL && i < source->length; i++) {
        const char *string = ((const char *const *)source->data)[i];

        strings[i] = string != NULL ? mdf_string_new(memory, string, mdf_string_length(string)) : NULL;
        if (string != NULL && strings[i] == NULL) {
            return false;
        }
    }
    target->strength = source->strength;
    return strings != NULL;
}

bool mdf_value_copy_apart(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source)
{
    const struct mdf_value *from = mdf_value_items(source);
    struct mdf_value *items;

    if (source->kind == MDF_KIND_NONE || target == source) {
        return mdf_value_share(memory, target, source);
    }
    if (source->kind == MDF_KIND_TENSOR) {
        return source->dtype == MDF_DTYPE_STRING ? copy_strings_apart(memory, target, source)
                                                 : copy_elements(memory, target, source);
    }
    items = make_items(memory, target, source->kind, source->length, mdf_value_n_items(source));
    for (size_t i = 0; items != NULL && i < mdf_value_n_items(source); i++) {
        if (!mdf_value_copy_apart(memory, &items[i], &from[i])) {
            return false;
        }
    }
    target->dtype = source->dtype;
    return items != NULL;
}

void mdf_value_swap(struct mdf_value *a, struct mdf_value *b)
{
    struct mdf_value held = *a;

    *a = *b;
    *b = held;
}

void *mdf_value_writable(struct mdf_memory *memory, struct mdf_value *value)
{
    struct mdf_value copy = {0};

    if (!owned_alone(value->buffer)) {
        if (!copy_elements(memory, &copy, value)) {
            mdf_value_clear(memory, &copy);
            return NULL;
        }
        mdf_value_swap(value, &copy);
        mdf_value_clear(memory, &copy);
    }
    return value->data;
}

/* Makes an array's own buffer hold so many bytes. */
static bool widen(struct mdf_memory *memory, struct mdf_value *array, size_t bytes)
{
    struct mdf_buffer *buffer = array->buffer;
    size_t total;

    if (!mdf_size_add(bytes, buffer->offset, &bytes) || !mdf_size_add(bytes, sizeof *buffer, &total)) {
        return false;
    }
    if (bytes <= buffer->capacity_bytes) {
        return true;
    }
    buffer = mdf_memory_resize(memory, buffer, total);
    if (buffer == NULL) {
        return false;
    }
    buffer->capacity_bytes = bytes;
    array->buffer = buffer;
    array->data = elements_of(buffer);
    if (array->rank > MDF_INLINE_RANK) {
        array->shape.large = (int64_t *)buffer->data;
    }
    return true;
}

bool mdf_value_lengthen(struct mdf_memory *memory, struct mdf_value *array, size_t n_items)
{
    size_t item, length, bytes;

    if (n_items > INT64_MAX || !mdf_shape_n_elements(array->rank - 1, mdf_value_shape(array) + 1, &item) ||
        !mdf_size_multiply(n_items, item, &length) || !mdf_size_multiply(length, mdf_dtype_size(array->dtype), &bytes) ||
        mdf_value_writable(memory, array) == NULL || !widen(memory, array, bytes)) {
        return false;
    }
    *(array->rank > MDF_INLINE_RANK ? array->shape.large : array->shape.sizes) = (int64_t)n_items;
    array->length = length;
    return true;
}

bool mdf_value_convert_elements(struct mdf_memory *memory, mdf_dtype target_dtype, void *target, mdf_dtype source_dtype,
                                const void *source, size_t n, bool saturate)
{
    size_t target_size = mdf_dtype_size(target_dtype), source_size = mdf_dtype_size(source_dtype);
    bool done = true;

    for (size_t first = 0; done && (first < n || first == 0); first += CONVERTED_PER_LOOK) {
        done = !mdf_stop_heed(memory->stop) &&
               mdf_convert_elements(target_dtype, (char *)target + first * target_size, source_dtype,
                                    (const char *)source + first * source_size,
                                    n - first < CONVERTED_PER_LOOK ? n - first : CONVERTED_PER_LOOK, saturate);
    }
    return done;
}

bool mdf_value_convert(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *source, mdf_dtype dtype)
{
    void *elements;

    if (source->dtype == dtype) {
        return mdf_value_copy(memory, target, source);
    }
    elements = mdf_value_make_tensor(memory, target, dtype, source->rank, mdf_value_shape(source));
    if (elements == NULL) {
        return false;
    }
    target->strength = source->strength;
    return mdf_value_convert_elements(memory, dtype, elements, source->dtype, source->data, source->length, false);
}
