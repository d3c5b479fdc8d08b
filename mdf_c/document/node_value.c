/* node_value.c - nodes as values: what a model's literal is to ports, parameters and functions.
 *
 * A list is an array where numpy.array makes one of numbers, booleans or strings of it (rectangular, no mixture of texts
 * and numbers); whole numbers and booleans mixed are int64, with a real among them float64. An empty list is an empty
 * float64 array, as in numpy. Any other list is a list of values. Recursion is bounded by the reader's limit on depth. */
#include "mdf_c/document/document.h"

#include <string.h>

/* What is known of a list while it is looked at. */
struct array_plan {
    size_t rank;
    int64_t shape[MDF_DOCUMENT_MAX_DEPTH];
    bool any_bool, any_int, any_real, any_string;
};

/* Element kinds of packed numbers. */
static void note_packed(struct array_plan *plan, uint8_t dtype)
{
    char kind = mdf_dtype_kind((mdf_dtype)dtype);

    plan->any_bool |= kind == 'b';
    plan->any_int |= kind == 'i' || kind == 'u';
    plan->any_real |= kind == 'f';
}

/* Whether a node below `depth` axes of the array has the shape that the axes from there on say; notes its kinds. */
static bool fits(struct array_plan *plan, const struct mdf_node *node, size_t depth)
{
    if (node->kind == MDF_NODE_NUMBERS) {
        note_packed(plan, node->packed_dtype);
        return depth + node->as.numbers.rank == plan->rank &&
               memcmp(node->as.numbers.shape, plan->shape + depth, node->as.numbers.rank * sizeof *plan->shape) == 0;
    }
    if (node->kind == MDF_NODE_LIST) {
        if (depth >= plan->rank || (size_t)plan->shape[depth] != node->as.list.n) {
            return false;
        }
        for (size_t i = 0; i < node->as.list.n; i++) {
            if (!fits(plan, &node->as.list.items[i], depth + 1)) {
                return false;
            }
        }
        return true;
    }
    plan->any_bool |= node->kind == MDF_NODE_BOOL;
    plan->any_int |= node->kind == MDF_NODE_INT;
    plan->any_real |= node->kind == MDF_NODE_REAL;
    plan->any_string |= node->kind == MDF_NODE_STRING;
    return depth == plan->rank && node->kind != MDF_NODE_NULL && node->kind != MDF_NODE_OBJECT;
}

/* Finds the shape along the first items, then whether all others have it. */
static bool plan_array(struct array_plan *plan, const struct mdf_node *list)
{
    const struct mdf_node *node = list;

    plan->rank = 0;
    plan->any_bool = plan->any_int = plan->any_real = plan->any_string = false;
    while (node->kind == MDF_NODE_LIST && plan->rank < MDF_DOCUMENT_MAX_DEPTH) {
        plan->shape[plan->rank++] = (int64_t)node->as.list.n;
        if (node->as.list.n == 0) {
            break;
        }
        node = &node->as.list.items[0];
    }
    if (node->kind == MDF_NODE_NUMBERS) {
        if (node->as.numbers.rank > MDF_DOCUMENT_MAX_DEPTH - plan->rank) {
            return false;
        }
        memcpy(plan->shape + plan->rank, node->as.numbers.shape, node->as.numbers.rank * sizeof *plan->shape);
        plan->rank += node->as.numbers.rank;
    }
    return fits(plan, list, 0) && !(plan->any_string && (plan->any_bool || plan->any_int || plan->any_real));
}

/* Writes the elements of a node at `*target`, which moves on; false when out of memory (strings). */
static bool write_elements(struct mdf_memory *memory, const struct mdf_node *node, mdf_dtype dtype, char **target)
{
    size_t n = mdf_node_length(node), i;
    struct mdf_node item;

    if (node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_NUMBERS) {
        for (i = 0; i < n; i++) {
            if (!mdf_node_item(node, i, &item) || !write_elements(memory, &item, dtype, target)) {
                return false;
            }
        }
        return true;
    }
    if (dtype == MDF_DTYPE_STRING) {
        char *string = mdf_string_new(memory, node->as.string.bytes, node->as.string.length);

        if (string == NULL) {
            return false;
        }
        memcpy(*target, &string, sizeof string);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        double real = node->kind == MDF_NODE_REAL  ? node->as.real
                      : node->kind == MDF_NODE_INT ? (double)node->as.integer
                                                   : node->as.truth;

        memcpy(*target, &real, sizeof real);
    } else if (dtype == MDF_DTYPE_INT64) {
        int64_t integer = node->kind == MDF_NODE_INT ? node->as.integer : node->as.truth;

        memcpy(*target, &integer, sizeof integer);
    } else {
        memcpy(*target, &node->as.truth, sizeof(bool));
    }
    *target += mdf_dtype_size(dtype);
    return true;
}

/* 1: done, 0: the list is no array, -1: out of memory. */
static int list_to_array(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *list)
{
    struct array_plan plan;
    mdf_dtype dtype;
    char *target;

    if (!plan_array(&plan, list)) {
        return 0;
    }
    dtype = plan.any_string ? MDF_DTYPE_STRING
            : plan.any_real ? MDF_DTYPE_FLOAT64
            : plan.any_int  ? MDF_DTYPE_INT64
            : plan.any_bool ? MDF_DTYPE_BOOL
                            : MDF_DTYPE_FLOAT64;
    target = mdf_value_make_tensor(memory, value, dtype, plan.rank, plan.shape);
    if (target == NULL || !write_elements(memory, list, dtype, &target)) {
        return -1;
    }
    value->strength = MDF_STRENGTH_LITERAL;
    return 1;
}

static bool numbers_to_array(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, bool borrow)
{
    mdf_dtype dtype = (mdf_dtype)node->packed_dtype;
    bool is_plain = dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_FLOAT64 || dtype == MDF_DTYPE_BOOL;
    enum mdf_strength strength = is_plain ? MDF_STRENGTH_LITERAL : MDF_STRENGTH_TYPED;
    size_t n_elements;
    void *target;

    if (node->as.numbers.store != NULL) {
        return mdf_value_view_store(memory, value, dtype, strength, node->as.numbers.rank, node->as.numbers.shape,
                                    node->as.numbers.store, node->as.numbers.elements);
    }
    if (borrow) {
        mdf_value_borrow_tensor(memory, value, dtype, strength, node->as.numbers.rank, node->as.numbers.shape,
                                node->as.numbers.elements);
        return true;
    }
    target = mdf_value_make_tensor(memory, value, dtype, node->as.numbers.rank, node->as.numbers.shape);
    if (target == NULL || !mdf_shape_n_elements(node->as.numbers.rank, node->as.numbers.shape, &n_elements)) {
        return false;
    }
    memcpy(target, node->as.numbers.elements, n_elements * mdf_dtype_size(dtype));
    value->strength = (uint8_t)strength;
    return true;
}

static bool convert(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, bool borrow);

static bool list_to_value(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *list, bool borrow)
{
    int made = list_to_array(memory, value, list);
    struct mdf_value *items;

    if (made != 0) {
        return made > 0;
    }
    items = mdf_value_make_list(memory, value, list->as.list.n);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->as.list.n; i++) {
        if (!convert(memory, &items[i], &list->as.list.items[i], borrow)) {
            return false;
        }
    }
    return true;
}

static bool object_to_value(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *object, bool borrow)
{
    struct mdf_value *pairs = mdf_value_make_dict(memory, value, object->as.object.n);

    if (pairs == NULL) {
        return false;
    }
    for (size_t i = 0; i < object->as.object.n; i++) {
        const struct mdf_node_entry *entry = &object->as.object.entries[i];

        if (!mdf_value_make_string(memory, &pairs[2 * i], entry->key, strlen(entry->key)) ||
            !convert(memory, &pairs[2 * i + 1], &entry->value, borrow)) {
            return false;
        }
    }
    return true;
}

static bool convert(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, bool borrow)
{
    switch (node->kind) {
    case MDF_NODE_BOOL:
        return mdf_value_make_bool(memory, value, node->as.truth);
    case MDF_NODE_INT:
        return mdf_value_make_int(memory, value, node->as.integer);
    case MDF_NODE_REAL:
        return mdf_value_make_double(memory, value, node->as.real);
    case MDF_NODE_STRING:
        return mdf_value_make_string(memory, value, node->as.string.bytes, node->as.string.length);
    case MDF_NODE_LIST:
        return list_to_value(memory, value, node, borrow);
    case MDF_NODE_NUMBERS:
        return numbers_to_array(memory, value, node, borrow);
    case MDF_NODE_OBJECT:
        return object_to_value(memory, value, node, borrow);
    default:
        mdf_value_clear(memory, value);
        return true;
    }
}

bool mdf_node_to_value(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, bool borrow,
                       mdf_error *error)
{
    if (convert(memory, value, node, borrow)) {
        return true;
    }
    mdf_memory_error(memory, error);
    mdf_value_clear(memory, value);
    return false;
}
