/* stack.c - see stack.h. A slice along an axis is `outer` runs of `inner` elements, one run every `size * inner` elements. */
#include "functions/control/stack.h"

#include <string.h>

enum { SHAPE_ON_STACK = 16 };

/* A shape with one axis more or less, wherever there is room for it. */
struct shape {
    int64_t small[SHAPE_ON_STACK], *sizes;
    size_t rank;
};

static bool begin_shape(struct mdf_memory *memory, struct shape *shape, size_t rank)
{
    shape->rank = rank;
    shape->sizes = rank <= SHAPE_ON_STACK ? shape->small : mdf_memory_allocate_zeroed(memory, rank, sizeof *shape->sizes);
    return shape->sizes != NULL;
}

static void end_shape(struct mdf_memory *memory, struct shape *shape)
{
    if (shape->sizes != shape->small) {
        mdf_memory_release(memory, shape->sizes);
    }
}

static size_t product(const int64_t *sizes, size_t n)
{
    size_t result = 1;

    for (size_t i = 0; i < n; i++) {
        result *= (size_t)sizes[i];
    }
    return result;
}

static void copy_run(mdf_dtype dtype, void *target, const void *source, size_t n)
{
    if (dtype != MDF_DTYPE_STRING) {
        memcpy(target, source, n * mdf_dtype_size(dtype));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ((char **)target)[i] = mdf_string_share(((char *const *)source)[i]);
    }
}

bool mdf_is_typed_otherwise(const struct mdf_value *value, mdf_dtype dtype)
{
    return value->kind == MDF_KIND_TENSOR && value->strength == MDF_STRENGTH_TYPED && value->dtype != dtype;
}

bool mdf_read_condition(struct mdf_call *call, const struct mdf_value *value, const char *what, bool *holds)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value array = {0};
    int made = value->kind == MDF_KIND_LIST ? mdf_value_from_nested_list(memory, &array, value) : 0;
    const struct mdf_value *read = made == 1 ? &array : value;
    bool is_one = read->kind == MDF_KIND_TENSOR && read->length == 1 && read->dtype != MDF_DTYPE_STRING;

    *holds = is_one && mdf_value_truth(read) == 1;
    mdf_value_clear(memory, &array);
    return made < 0 ? mdf_call_out_of_memory(call) : is_one || mdf_call_error(call, MDF_TYPE, "%s must be one boolean", what);
}

static bool check_type(struct mdf_call *call, const struct mdf_value *state, const struct mdf_value *next, size_t i)
{
    if (state->kind != MDF_KIND_TENSOR || next->kind != MDF_KIND_TENSOR || state->dtype == next->dtype ||
        state->strength != MDF_STRENGTH_TYPED || next->strength != MDF_STRENGTH_TYPED) {
        return true;
    }
    return mdf_call_error(call, MDF_TYPE, "state variable %zu changes its type from %s to %s", i, mdf_dtype_name(state->dtype),
                          mdf_dtype_name(next->dtype));
}

bool mdf_body_take(struct mdf_call *call, struct mdf_value *target, struct mdf_value *own)
{
    bool is_lent = own->kind == MDF_KIND_TENSOR && own->length == 1 && own->buffer == NULL;

    if (!is_lent) {
        mdf_value_swap(target, own);
    }
    return !is_lent || mdf_value_copy(call->context->memory, target, own) || mdf_call_out_of_memory(call);
}

/* A yield may be another formal (two states change places), so those that can not be taken are copied aside before any formal
 * changes. */
bool mdf_body_carry(struct mdf_call *call, struct mdf_body *body, size_t first_formal, size_t first_yield, size_t n_states)
{
    for (size_t i = 0; i < n_states; i++) {
        if (!check_type(call, body->inputs[first_formal + i], body->outputs[first_yield + i], i)) {
            return false;
        }
        if (body->own_outputs[first_yield + i] == NULL &&
            !mdf_value_copy(call->context->memory, call->outputs[i], body->outputs[first_yield + i])) {
            return mdf_call_out_of_memory(call);
        }
    }
    for (size_t i = 0; i < n_states; i++) {
        struct mdf_value *own = body->own_outputs[first_yield + i];

        if (!mdf_body_take(call, body->inputs[first_formal + i], own != NULL ? own : call->outputs[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ taking */

static bool take_inner(struct mdf_memory *memory, struct mdf_value *slice, const struct mdf_value *whole, size_t axis,
                       size_t index)
{
    const int64_t *sizes = mdf_value_shape(whole);
    size_t element = mdf_dtype_size(whole->dtype), outer = product(sizes, axis), i;
    size_t inner = product(sizes + axis + 1, whole->rank - axis - 1), stride = inner * (size_t)sizes[axis];
    struct shape shape;
    char *elements;

    if (!begin_shape(memory, &shape, whole->rank - 1)) {
        return false;
    }
    memcpy(shape.sizes, sizes, axis * sizeof *sizes);
    memcpy(shape.sizes + axis, sizes + axis + 1, (whole->rank - axis - 1) * sizeof *sizes);
    elements = mdf_value_make_tensor(memory, slice, whole->dtype, shape.rank, shape.sizes);
    end_shape(memory, &shape);
    if (elements == NULL) {
        return false;
    }
    for (i = 0; i < outer; i++) {
        copy_run(whole->dtype, elements + i * inner * element, (const char *)whole->data + (i * stride + index * inner) * element,
                 inner);
    }
    slice->strength = whole->strength;
    return true;
}

bool mdf_stack_take(struct mdf_memory *memory, struct mdf_value *slice, const struct mdf_value *whole, size_t axis, size_t index)
{
    const int64_t *sizes = mdf_value_shape(whole);
    size_t n;

    if (axis > 0) {
        return take_inner(memory, slice, whole, axis, index);
    }
    n = product(sizes + 1, whole->rank - 1);
    mdf_value_borrow_tensor(memory, slice, whole->dtype, whole->strength, whole->rank - 1, sizes + 1,
                            (const char *)whole->data + index * n * mdf_dtype_size(whole->dtype));
    return true;
}

/* ------------------------------------------------------------------ putting */

bool mdf_stack_drop(struct mdf_call *call, size_t first)
{
    for (size_t i = first; i < call->n_outputs; i++) {
        if (call->outputs[i] != NULL) {
            mdf_value_clear(call->context->memory, call->outputs[i]);
        }
    }
    return false;
}

void mdf_stack_begin(struct mdf_stack *stack, struct mdf_value *whole, size_t axis, size_t capacity)
{
    *stack = (struct mdf_stack){whole, axis, 0, capacity};
}

/* The array for `capacity` slices like `slice`. */
static bool make_whole(struct mdf_call *call, const struct mdf_stack *stack, struct mdf_value *whole, mdf_dtype dtype,
                       size_t rank, const int64_t *sizes, size_t capacity)
{
    struct mdf_memory *memory = call->context->memory;
    struct shape shape;
    bool made;

    if (!begin_shape(memory, &shape, rank + 1)) {
        return mdf_call_out_of_memory(call);
    }
    if (rank > 0) {
        memcpy(shape.sizes, sizes, stack->axis * sizeof *sizes);
        memcpy(shape.sizes + stack->axis + 1, sizes + stack->axis, (rank - stack->axis) * sizeof *sizes);
    }
    shape.sizes[stack->axis] = (int64_t)capacity;
    made = mdf_value_make_tensor(memory, whole, dtype, rank + 1, shape.sizes) != NULL;
    end_shape(memory, &shape);
    return made || mdf_call_out_of_memory(call);
}

/* Moves the slices so far to an array with room for `capacity` of them. Only stacks along the first axis grow, or are cut. */
static bool resize(struct mdf_call *call, struct mdf_stack *stack, size_t capacity)
{
    struct mdf_value *whole = stack->whole, *room = &call->scratch[0];
    const int64_t *slice = mdf_value_shape(whole) + 1;

    if (!make_whole(call, stack, room, (mdf_dtype)whole->dtype, whole->rank - 1, slice, capacity)) {
        return false;
    }
    if (stack->length > 0 && room->length > 0) {
        copy_run((mdf_dtype)whole->dtype, room->data, whole->data, stack->length * product(slice, whole->rank - 1));
    }
    room->strength = whole->strength;
    mdf_value_swap(room, whole);
    stack->capacity = capacity;
    return true;
}

bool mdf_stack_form(const struct mdf_context *context, const struct mdf_value *whole, const struct mdf_value *slice,
                    mdf_dtype *dtype, uint8_t *strength)
{
    bool is_typed = whole->strength == MDF_STRENGTH_TYPED && slice->strength == MDF_STRENGTH_TYPED;

    *dtype = (mdf_dtype)whole->dtype;
    *strength = whole->strength > slice->strength ? whole->strength : slice->strength;
    if (whole->dtype != slice->dtype) {
        *dtype = is_typed ? MDF_DTYPE_NONE
                          : mdf_promote((mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength, (mdf_dtype)slice->dtype,
                                        (enum mdf_strength)slice->strength, context->real);
    }
    return *dtype != MDF_DTYPE_NONE;
}

static bool has_shape_of_slices(const struct mdf_stack *stack, const struct mdf_value *slice)
{
    const int64_t *sizes = mdf_value_shape(stack->whole), *other = mdf_value_shape(slice);

    for (size_t i = 0; stack->whole->rank == slice->rank + 1 && i < slice->rank; i++) {
        if (other[i] != sizes[i < stack->axis ? i : i + 1]) {
            return false;
        }
    }
    return stack->whole->rank == slice->rank + 1;
}

/* The stack in the type that it has together with a slice, and `*slice` in that type; false without an error: they have none. */
static bool share_type(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_value **slice)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *other = &call->scratch[0];
    mdf_dtype dtype;
    uint8_t strength;

    if ((*slice)->kind != MDF_KIND_TENSOR || !has_shape_of_slices(stack, *slice) ||
        !mdf_stack_form(call->context, stack->whole, *slice, &dtype, &strength)) {
        return false;
    }
    if (dtype != (mdf_dtype)stack->whole->dtype) {
        if (!mdf_value_convert(memory, other, stack->whole, dtype)) {
            return mdf_call_out_of_memory(call);
        }
        mdf_value_swap(other, stack->whole);
    }
    stack->whole->strength = strength;
    if (dtype != (mdf_dtype)(*slice)->dtype) {
        if (!mdf_value_convert(memory, other, *slice, dtype)) {
            return mdf_call_out_of_memory(call);
        }
        *slice = other;
    }
    return true;
}

static bool put_first(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_value *slice)
{
    char description[80];

    if (slice->kind != MDF_KIND_TENSOR) {
        mdf_value_describe(slice, description, sizeof description);
        return mdf_call_error(call, MDF_TYPE, "a scan output must be an array, not %s", description);
    }
    if (stack->axis > slice->rank) {
        return mdf_call_error(call, MDF_SHAPE, "a scan output of rank %u can not be stacked along axis %zu", slice->rank,
                              stack->axis);
    }
    stack->capacity = stack->capacity == 0 ? 1 : stack->capacity;
    if (!make_whole(call, stack, stack->whole, slice->dtype, slice->rank, mdf_value_shape(slice), stack->capacity)) {
        return false;
    }
    stack->whole->strength = slice->strength;
    return true;
}

bool mdf_stack_put(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_value *slice, size_t index)
{
    size_t element, inner, outer, stride;
    char first[80], other[80];

    if (stack->length == 0 && !put_first(call, stack, slice)) {
        return false;
    }
    if (index >= stack->capacity && !resize(call, stack, stack->capacity < 8 ? 16 : 2 * stack->capacity)) {
        return false;
    }
    if (!share_type(call, stack, &slice)) {
        mdf_value_describe(stack->whole, first, sizeof first);
        mdf_value_describe(slice, other, sizeof other);
        return mdf_call_error(
            call, MDF_SHAPE, "a scan output must have one type and shape in all iterations: %s does not fit in %s", other, first);
    }
    element = mdf_dtype_size(slice->dtype);
    outer = product(mdf_value_shape(slice), stack->axis);
    inner = product(mdf_value_shape(slice) + stack->axis, slice->rank - stack->axis);
    stride = inner * stack->capacity;
    for (size_t i = 0; i < outer && inner > 0; i++) {
        copy_run(slice->dtype, (char *)stack->whole->data + (i * stride + index * inner) * element,
                 (const char *)slice->data + i * inner * element, inner);
    }
    stack->length++;
    return true;
}

/* No slice was written: the declared type and shape, open axes empty. */
static bool make_empty(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_static_type *type)
{
    mdf_dtype dtype = type->dtype != MDF_DTYPE_NONE ? type->dtype : call->context->real;
    size_t rank = type->has_shape ? type->rank : 0;
    struct shape shape;
    bool made;

    if (rank < stack->axis) {
        rank = stack->axis;
    }
    if (!begin_shape(call->context->memory, &shape, rank)) {
        return mdf_call_out_of_memory(call);
    }
    for (size_t i = 0; i < rank; i++) {
        shape.sizes[i] = type->has_shape && i < type->rank && type->shape[i] >= 0 ? type->shape[i] : 0;
    }
    made = make_whole(call, stack, stack->whole, dtype, rank, shape.sizes, 0);
    end_shape(call->context->memory, &shape);
    return made;
}

bool mdf_stack_end(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_static_type *type)
{
    struct mdf_memory *memory = call->context->memory;
    uint8_t strength = stack->whole->strength;
    struct shape shape;
    bool made;

    if (stack->length == 0) {
        return make_empty(call, stack, type);
    }
    if (stack->length == stack->capacity) {
        return true;
    }
    if (stack->whole->dtype == MDF_DTYPE_STRING) { /* an array that is made anew has empty ones */
        return resize(call, stack, stack->length);
    }
    if (!begin_shape(memory, &shape, stack->whole->rank)) {
        return mdf_call_out_of_memory(call);
    }
    memcpy(shape.sizes, mdf_value_shape(stack->whole), shape.rank * sizeof *shape.sizes);
    shape.sizes[stack->axis] = (int64_t)stack->length;
    made =
        mdf_value_make_tensor(memory, stack->whole, stack->whole->dtype, shape.rank, shape.sizes) != NULL; /* the elements stay */
    end_shape(memory, &shape);
    stack->whole->strength = strength;
    return made || mdf_call_out_of_memory(call);
}
