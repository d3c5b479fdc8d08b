/* tree_builder.c - see tree_builder.h. */
#include "mdf_c/document/tree_builder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ENTRIES = 8 }; /* up to here keys are compared pair by pair, and an object needs no order */

void mdf_tree_init(struct mdf_tree *tree, struct mdf_document *document, const struct mdf_warnings *warnings, mdf_error *error)
{
    memset(tree, 0, sizeof *tree);
    tree->document = document;
    tree->warnings = warnings;
    tree->error = error;
}

void mdf_tree_release(struct mdf_tree *tree)
{
    struct mdf_memory *memory = tree->document->memory;

    mdf_memory_release(memory, tree->items);
    mdf_memory_release(memory, tree->scalars);
    mdf_memory_release(memory, tree->elements);
    mdf_memory_release(memory, tree->sorted);
}

int mdf_position(uint32_t line_or_column)
{
    return line_or_column > INT_MAX ? INT_MAX : (int)line_or_column;
}

bool mdf_tree_fail(struct mdf_tree *tree, mdf_status status, uint32_t line, uint32_t column, const char *format, ...)
{
    char message[900];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mdf_error_set(tree->error, status, "%s", message);
    mdf_error_at(tree->error, tree->document->file, mdf_position(line), mdf_position(column));
    return false;
}

bool mdf_tree_out_of_memory(struct mdf_tree *tree)
{
    mdf_memory_error(tree->document->memory, tree->error);
    mdf_error_at(tree->error, tree->document->file, 0, 0);
    return false;
}

/* Room for `added` more things on a stack. */
static bool reserve(struct mdf_tree *tree, void **stack, size_t *capacity, size_t n, size_t added, size_t item_size)
{
    size_t needed;
    void *grown;

    if (added <= *capacity - n) {
        return true;
    }
    if (!mdf_size_add(n, added, &needed)) {
        return mdf_tree_out_of_memory(tree);
    }
    grown = mdf_memory_grow(tree->document->memory, *stack, capacity, needed, item_size);
    if (grown == NULL) {
        return mdf_tree_out_of_memory(tree);
    }
    *stack = grown;
    return true;
}

bool mdf_tree_push(struct mdf_tree *tree, const struct mdf_tree_item *item)
{
    void *stack = tree->items;
    bool there = reserve(tree, &stack, &tree->items_capacity, tree->n_items, 1, sizeof *tree->items);

    tree->items = stack;
    if (there) {
        tree->items[tree->n_items++] = *item;
    }
    return there;
}

static bool push_elements(struct mdf_tree *tree, size_t n)
{
    void *stack = tree->elements;
    bool there = reserve(tree, &stack, &tree->elements_capacity, tree->n_elements, n, sizeof *tree->elements);

    tree->elements = stack;
    return there;
}

static bool push_scalar(struct mdf_tree *tree, struct mdf_tree_frame *frame, uint64_t bits, uint32_t line, uint32_t column)
{
    if (tree->n_scalars == tree->scalars_capacity) {
        void *stack = tree->scalars;
        bool there = reserve(tree, &stack, &tree->scalars_capacity, tree->n_scalars, 1, sizeof *tree->scalars);

        tree->scalars = stack;
        if (!there) {
            return false;
        }
    }
    tree->scalars[tree->n_scalars++] = (struct mdf_tree_scalar){bits, line, column};
    frame->n_items++;
    return true;
}

/* ------------------------------------------------------------------ packed numbers */

static struct mdf_node scalar_node(uint8_t dtype, const struct mdf_tree_scalar *scalar)
{
    struct mdf_node node = {.line = scalar->line, .column = scalar->column};

    node.kind = dtype == MDF_DTYPE_INT64 ? MDF_NODE_INT : dtype == MDF_DTYPE_BOOL ? MDF_NODE_BOOL : MDF_NODE_REAL;
    if (node.kind == MDF_NODE_BOOL) {
        node.as.truth = scalar->bits != 0;
    } else {
        memcpy(&node.as, &scalar->bits, sizeof scalar->bits);
    }
    return node;
}

/* Number of elements of packed numbers; they are all in memory, so it can not overflow. */
static size_t count_elements(size_t rank, const int64_t *shape)
{
    size_t n = 1;

    for (size_t i = 0; i < rank; i++) {
        n *= (size_t)shape[i];
    }
    return n;
}

/* Gives packed numbers their elements, which lie at `from`. */
static bool finish_numbers(struct mdf_tree *tree, struct mdf_node *node, const uint64_t *from)
{
    size_t n = count_elements(node->as.numbers.rank, node->as.numbers.shape), i;
    bool is_bool = node->packed_dtype == MDF_DTYPE_BOOL;
    void *elements = mdf_document_elements(tree->document, &node->as.numbers.store, n, is_bool ? 1 : sizeof *from);

    if (elements == NULL) {
        return mdf_tree_out_of_memory(tree);
    }
    if (is_bool) {
        for (i = 0; i < n; i++) {
            ((bool *)elements)[i] = from[i] != 0;
        }
    } else {
        memcpy(elements, from, n * sizeof *from);
    }
    node->as.numbers.elements = elements;
    return true;
}

/* Takes pending packed numbers off the stack. */
static bool finish_pending(struct mdf_tree *tree, struct mdf_node *node)
{
    size_t n;

    if (node->kind != MDF_NODE_NUMBERS || node->as.numbers.elements != NULL) {
        return true;
    }
    n = count_elements(node->as.numbers.rank, node->as.numbers.shape);
    tree->n_elements -= n;
    return finish_numbers(tree, node, tree->elements + tree->n_elements);
}

/* A list that was packed so far can not stay so: its items become nodes. */
static bool unpack(struct mdf_tree *tree, struct mdf_tree_frame *frame)
{
    size_t n_each;

    frame->packed = false;
    if (frame->n_items == 0) {
        return true;
    }
    if (frame->rank == 0) {
        for (size_t i = 0; i < tree->n_scalars; i++) {
            struct mdf_tree_item item = {.value = scalar_node(frame->dtype, &tree->scalars[i])};

            if (!mdf_tree_push(tree, &item)) {
                return false;
            }
        }
        tree->n_scalars = 0;
        return true;
    }
    n_each = count_elements(frame->rank, frame->shape);
    for (size_t i = 0; i < frame->n_items; i++) {
        if (!finish_numbers(tree, &tree->items[frame->first_item + i].value,
                            tree->elements + frame->first_element + i * n_each)) {
            return false;
        }
    }
    tree->n_elements = frame->first_element;
    return true;
}

/* Whether an item of this type and shape leaves the list packed; the first item decides for all. */
static bool fits(struct mdf_tree_frame *frame, uint8_t dtype, size_t rank, const int64_t *shape)
{
    if (!frame->packed || (dtype != MDF_DTYPE_INT64 && dtype != MDF_DTYPE_FLOAT64 && dtype != MDF_DTYPE_BOOL)) {
        return false;
    }
    if (frame->n_items == 0) {
        frame->dtype = dtype;
        frame->rank = rank;
        frame->shape = shape;
        return true;
    }
    return frame->dtype == dtype && frame->rank == rank &&
           (frame->shape == shape || memcmp(frame->shape, shape, rank * sizeof *shape) == 0);
}

/* A row joins its list, which stays packed; the elements of a row that has them already are put back on the stack. */
static bool add_row(struct mdf_tree *tree, struct mdf_tree_frame *frame, const struct mdf_node *row)
{
    struct mdf_tree_item item = {.value = *row};
    size_t n = count_elements(row->as.numbers.rank, row->as.numbers.shape), i;

    if (row->as.numbers.elements != NULL) {
        if (!push_elements(tree, n)) {
            return false;
        }
        for (i = 0; i < n; i++) {
            uint64_t *element = tree->elements + tree->n_elements + i;

            if (row->packed_dtype == MDF_DTYPE_BOOL) {
                *element = ((const bool *)row->as.numbers.elements)[i];
            } else {
                memcpy(element, (const char *)row->as.numbers.elements + i * sizeof *element, sizeof *element);
            }
        }
        tree->n_elements += n;
        item.value.as.numbers.elements = NULL;
        item.value.as.numbers.store = NULL;
    }
    frame->n_items++;
    return mdf_tree_push(tree, &item);
}

/* ------------------------------------------------------------------ adding */

static bool add_unpacked(struct mdf_tree *tree, struct mdf_tree_frame *frame, const struct mdf_node *node)
{
    struct mdf_tree_item item = {frame->key, frame->key_line, frame->key_column, 0, false, *node};

    if (!finish_pending(tree, &item.value)) {
        return false;
    }
    if (frame->packed && !unpack(tree, frame)) {
        return false;
    }
    frame->key = NULL;
    frame->n_items++;
    return mdf_tree_push(tree, &item);
}

bool mdf_tree_add_number(struct mdf_tree *tree, mdf_dtype dtype, uint64_t bits, uint32_t line, uint32_t column)
{
    struct mdf_tree_frame *frame = mdf_tree_top(tree);
    struct mdf_tree_scalar scalar = {bits, line, column};
    struct mdf_node node;

    if (frame != NULL && fits(frame, (uint8_t)dtype, 0, NULL)) {
        return push_scalar(tree, frame, bits, line, column);
    }
    node = scalar_node((uint8_t)dtype, &scalar);
    if (frame == NULL) {
        tree->document->root = node;
        return true;
    }
    return add_unpacked(tree, frame, &node);
}

bool mdf_tree_add(struct mdf_tree *tree, const struct mdf_node *node)
{
    struct mdf_tree_frame *frame = mdf_tree_top(tree);
    uint64_t bits;

    if (node->digits == NULL && (node->kind == MDF_NODE_INT || node->kind == MDF_NODE_REAL)) {
        memcpy(&bits, &node->as, sizeof bits);
        return mdf_tree_add_number(tree, node->kind == MDF_NODE_INT ? MDF_DTYPE_INT64 : MDF_DTYPE_FLOAT64, bits, node->line,
                                   node->column);
    }
    if (node->kind == MDF_NODE_BOOL) {
        return mdf_tree_add_number(tree, MDF_DTYPE_BOOL, node->as.truth, node->line, node->column);
    }
    if (frame == NULL) {
        tree->document->root = *node;
        return finish_pending(tree, &tree->document->root);
    }
    if (node->kind == MDF_NODE_NUMBERS && fits(frame, node->packed_dtype, node->as.numbers.rank, node->as.numbers.shape)) {
        return add_row(tree, frame, node);
    }
    return add_unpacked(tree, frame, node);
}

bool mdf_tree_open(struct mdf_tree *tree, enum mdf_node_kind kind, uint32_t line, uint32_t column)
{
    struct mdf_tree_frame *frame = mdf_tree_top(tree);

    if (tree->depth == MDF_DOCUMENT_MAX_DEPTH) {
        return mdf_tree_fail(tree, MDF_LIMIT, line, column, "lists and objects are nested more than %d deep",
                             MDF_DOCUMENT_MAX_DEPTH);
    }
    if (frame != NULL && frame->packed && frame->n_items > 0 && (frame->rank == 0 || kind == MDF_NODE_OBJECT) &&
        !unpack(tree, frame)) {
        return false;
    }
    tree->frames[tree->depth++] = (struct mdf_tree_frame){
        .kind = (uint8_t)kind,
        .packed = kind == MDF_NODE_LIST,
        .line = line,
        .column = column,
        .first_item = tree->n_items,
        .first_element = tree->n_elements,
    };
    return true;
}

void mdf_tree_key(struct mdf_tree *tree, const char *key, uint32_t line, uint32_t column)
{
    struct mdf_tree_frame *frame = mdf_tree_top(tree);

    frame->key = key;
    frame->key_line = line;
    frame->key_column = column;
}

/* ------------------------------------------------------------------ closing */

/* The shape [n items, shape of each]; that of the rows before is taken where it is the same. */
static int64_t *shape_of(struct mdf_tree *tree, const struct mdf_tree_frame *frame)
{
    const struct mdf_tree_frame *parent = tree->depth > 1 ? frame - 1 : NULL;
    size_t rank = frame->rank + 1;
    int64_t *shape;

    if (parent != NULL && parent->packed && parent->n_items > 0 && parent->rank == rank &&
        (size_t)parent->shape[0] == frame->n_items &&
        (frame->rank == 0 || memcmp(parent->shape + 1, frame->shape, frame->rank * sizeof *shape) == 0)) {
        return tree->items[parent->first_item].value.as.numbers.shape;
    }
    shape = mdf_arena_array(&tree->document->arena, rank, sizeof *shape);
    if (shape == NULL) {
        mdf_tree_out_of_memory(tree);
        return NULL;
    }
    shape[0] = (int64_t)frame->n_items;
    if (frame->rank > 0) {
        memcpy(shape + 1, frame->shape, frame->rank * sizeof *shape);
    }
    return shape;
}

static bool close_packed(struct mdf_tree *tree, const struct mdf_tree_frame *frame, struct mdf_node *node)
{
    node->kind = MDF_NODE_NUMBERS;
    node->packed_dtype = frame->dtype;
    node->as.numbers.rank = frame->rank + 1;
    node->as.numbers.elements = NULL;
    node->as.numbers.store = NULL;
    node->as.numbers.shape = shape_of(tree, frame);
    if (node->as.numbers.shape == NULL) {
        return false;
    }
    if (frame->rank == 0) {
        if (!push_elements(tree, tree->n_scalars)) {
            return false;
        }
        for (size_t i = 0; i < tree->n_scalars; i++) {
            tree->elements[tree->n_elements + i] = tree->scalars[i].bits;
        }
        tree->n_elements += tree->n_scalars;
        tree->n_scalars = 0;
    }
    return true;
}

static bool close_list(struct mdf_tree *tree, const struct mdf_tree_frame *frame, struct mdf_node *node)
{
    const struct mdf_tree_item *items = frame->n_items > 0 ? tree->items + frame->first_item : NULL;

    node->kind = MDF_NODE_LIST;
    node->as.list.n = frame->n_items;
    node->as.list.items = mdf_arena_array(&tree->document->arena, frame->n_items, sizeof *node->as.list.items);
    if (node->as.list.items == NULL) {
        return mdf_tree_out_of_memory(tree);
    }
    for (size_t i = 0; i < frame->n_items; i++) {
        node->as.list.items[i] = items[i].value;
    }
    return true;
}

static void warn_of_duplicate(struct mdf_tree *tree, const struct mdf_tree_item *first, const struct mdf_tree_item *second)
{
    char path[512];

    if (second->line != 0) {
        mdf_warn(tree->warnings, tree->document->file, mdf_position(second->line), mdf_position(second->column), NULL,
                 "the key '%.*s' stands twice in one object, here and at %u:%u; the last wins", mdf_clip(second->key, 200),
                 second->key, first->line, first->column);
        return;
    }
    mdf_tree_path(tree, path, sizeof path);
    mdf_warn(tree->warnings, tree->document->file, 0, 0, path,
             "the key '%.*s' stands twice in one object, as entries %u and %u; the last wins", mdf_clip(second->key, 200),
             second->key, first->place + 1, second->place + 1);
}

static int compare_items(const void *a, const void *b)
{
    const struct mdf_tree_item *left = *(struct mdf_tree_item *const *)a, *right = *(struct mdf_tree_item *const *)b;
    int order = strcmp(left->key, right->key);

    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

/* `run` are the `n` entries of one key in the order of the file: the last one's value takes the place of the first. */
static void keep_last(struct mdf_tree *tree, struct mdf_tree_item **run, size_t n)
{
    uint32_t place = run[0]->place;

    for (size_t i = 1; i < n; i++) {
        if (!run[i - 1]->merged && !run[i]->merged) {
            warn_of_duplicate(tree, run[i - 1], run[i]);
        }
    }
    *run[0] = *run[n - 1];
    run[0]->place = place;
    for (size_t i = 1; i < n; i++) {
        run[i]->key = NULL;
    }
}

/* Sorts the entries of an object by key and drops duplicates; the number of keys that are left, of which tree->sorted
 * begins with one pointer each. */
static size_t sort_entries(struct mdf_tree *tree, struct mdf_tree_item *items, size_t n)
{
    size_t end, n_keys = 0;

    for (size_t i = 0; i < n; i++) {
        items[i].place = (uint32_t)i;
        tree->sorted[i] = &items[i];
    }
    qsort(tree->sorted, n, sizeof *tree->sorted, compare_items);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(tree->sorted[i]->key, tree->sorted[end]->key) == 0; end++) {
        }
        if (end > i + 1) {
            keep_last(tree, tree->sorted + i, end - i);
        }
        tree->sorted[n_keys++] = tree->sorted[i];
    }
    return n_keys;
}

static bool close_object(struct mdf_tree *tree, const struct mdf_tree_frame *frame, struct mdf_node *node)
{
    size_t n = tree->n_items - frame->first_item, n_keys, n_entries = 0;
    struct mdf_tree_item *items = n > 0 ? tree->items + frame->first_item : NULL;
    struct mdf_node_entry *entries;
    uint32_t *order = NULL;
    void *sorted = tree->sorted;
    bool there = reserve(tree, &sorted, &tree->sorted_capacity, 0, n, sizeof *tree->sorted);

    tree->sorted = sorted;
    if (!there) {
        return false;
    }
    n_keys = n > 0 ? sort_entries(tree, items, n) : 0;
    entries = mdf_arena_array(&tree->document->arena, n_keys, sizeof *entries);
    if (n_keys > FEW_ENTRIES) {
        order = mdf_arena_array(&tree->document->arena, n_keys, sizeof *order);
    }
    if (entries == NULL || (n_keys > FEW_ENTRIES && order == NULL)) {
        return mdf_tree_out_of_memory(tree);
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i].key != NULL) {
            items[i].place = (uint32_t)n_entries;
            entries[n_entries++] = (struct mdf_node_entry){items[i].key, items[i].line, items[i].column, items[i].value};
        }
    }
    for (size_t i = 0; order != NULL && i < n_keys; i++) {
        order[i] = tree->sorted[i]->place;
    }
    node->kind = MDF_NODE_OBJECT;
    node->as.object.entries = entries;
    node->as.object.n = n_entries;
    node->as.object.order = order;
    return true;
}

bool mdf_tree_close(struct mdf_tree *tree, struct mdf_node *node, bool finish)
{
    const struct mdf_tree_frame *frame = mdf_tree_top(tree);
    bool done;

    *node = (struct mdf_node){.line = frame->line, .column = frame->column};
    if (frame->kind == MDF_NODE_OBJECT) {
        done = close_object(tree, frame, node);
    } else if (frame->packed && frame->n_items > 0) {
        done = close_packed(tree, frame, node);
    } else {
        done = close_list(tree, frame, node);
    }
    if (!done) {
        return false;
    }
    tree->n_items = frame->first_item;
    tree->depth--;
    return !finish || finish_pending(tree, node);
}

void mdf_tree_path(const struct mdf_tree *tree, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < tree->depth && length < size; i++) {
        const struct mdf_tree_frame *frame = &tree->frames[i];
        int added = 0;

        if (frame->kind == MDF_NODE_LIST) {
            added = snprintf(text + length, size - length, "[%zu]", frame->n_items);
        } else if (frame->key != NULL) {
            added = snprintf(text + length, size - length, "%s%s", length > 0 ? "." : "", frame->key);
        }
        length += added > 0 ? (size_t)added : 0;
    }
    text[mdf_utf8_valid_length(text, strlen(text))] = '\0'; /* a last character that was cut */
}

/* ------------------------------------------------------------------ texts in messages */

int mdf_clip(const char *text, size_t most)
{
    return (int)mdf_utf8_valid_length(text, strnlen(text, most));
}
