/* test_call.c - what kernels see of a call: outputs, scratch space, numbers, errors. */
#include "functions/kernel/operator.h"

#include <criterion/criterion.h>
#include <string.h>

/* A call with one input and one output. */
struct rig {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_operator operator;
    struct mdf_call call;
    struct mdf_value input, output, scratch[MDF_CALL_SCRATCH];
    const struct mdf_value *inputs[1];
    struct mdf_value *outputs[1];
};

static void set_up(struct rig *rig, const char *name, int since, const char *formals)
{
    memset(rig, 0, sizeof *rig);
    mdf_memory_init(&rig->memory, NULL, 0);
    rig->context.memory = &rig->memory;
    rig->context.real = MDF_DTYPE_FLOAT64;
    rig->operator.name = name;
    rig->operator.since = since;
    rig->operator.formals = formals;
    rig->inputs[0] = &rig->input;
    rig->outputs[0] = &rig->output;
    rig->call.context = &rig->context;
    rig->call.operator= & rig->operator;
    rig->call.inputs = rig->inputs;
    rig->call.outputs = rig->outputs;
    rig->call.scratch = rig->scratch;
    rig->call.n_inputs = rig->call.n_outputs = 1;
}

static void tear_down(struct rig *rig)
{
    mdf_value_clear(&rig->memory, &rig->input);
    mdf_value_clear(&rig->memory, &rig->output);
    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(&rig->memory, &rig->scratch[i]);
    }
    cr_assert_eq(atomic_load(&rig->memory.used_bytes), (size_t)0);
}

Test(call, errors_begin_with_the_operator)
{
    static const struct {
        const char *name;
        int since;
        const char *formals, *message;
    } cases[] = {
        {"Gather", 13, NULL, "onnx::Gather: input 'data' is nothing, not an array"},
        {"numpy.sum", 0, "a axis= keepdims=", "numpy.sum: input 'a' is nothing, not an array"},
        {"operator.floordiv", 0, "a b", "operator '//': input 'a' is nothing, not an array"},
        {"max", 0, "*arguments", "max: input 'arguments' is nothing, not an array"},
        {"Unheard", 1, NULL, "onnx::Unheard: input 1 is nothing, not an array"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;

        set_up(&rig, cases[i].name, cases[i].since, cases[i].formals);
        cr_assert_null(mdf_call_tensor(&rig.call, 0));
        cr_assert_str_eq(rig.context.error.message, cases[i].message);
        cr_assert(!mdf_call_error(&rig.call, MDF_VALUE, "a second error"));
        cr_assert_str_eq(rig.context.error.message, cases[i].message);
        tear_down(&rig);
    }
}

Test(call, steady_calls_keep_outputs_and_scratch)
{
    const int64_t shape[] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, INT64_MAX};
    struct rig rig;
    size_t before;
    void *first;

    set_up(&rig, "Add", 13, NULL);
    first = mdf_call_output(&rig.call, 0, MDF_DTYPE_FLOAT32, 2, shape);
    cr_assert_not_null(first);
    cr_assert_not_null(mdf_call_scratch(&rig.call, 1, MDF_DTYPE_INT64, 0));
    cr_assert_not_null(mdf_call_scratch(&rig.call, 1, MDF_DTYPE_INT64, 7));
    cr_assert_not_null(mdf_call_output(&rig.call, 5, MDF_DTYPE_FLOAT32, 2, shape)); /* nobody reads it */
    before = atomic_load(&rig.memory.n_allocations);
    cr_assert_eq(mdf_call_output(&rig.call, 0, MDF_DTYPE_FLOAT32, 2, shape), first);
    cr_assert_not_null(mdf_call_scratch(&rig.call, 1, MDF_DTYPE_INT64, 7));
    cr_assert_not_null(mdf_call_output(&rig.call, 5, MDF_DTYPE_FLOAT32, 2, shape));
    cr_assert_eq(atomic_load(&rig.memory.n_allocations), before);

    cr_assert_null(mdf_call_output(&rig.call, 0, MDF_DTYPE_FLOAT32, 2, negative));
    cr_assert_eq(rig.context.error.code, MDF_SHAPE);
    memset(&rig.context.error, 0, sizeof rig.context.error);
    cr_assert_null(mdf_call_output(&rig.call, 0, MDF_DTYPE_FLOAT32, 2, huge));
    cr_assert_eq(rig.context.error.code, MDF_LIMIT);
    memset(&rig.context.error, 0, sizeof rig.context.error);
    cr_assert_null(mdf_call_scratch(&rig.call, 0, MDF_DTYPE_INT64, SIZE_MAX));
    cr_assert_eq(rig.context.error.code, MDF_LIMIT);
    tear_down(&rig);
}

static void give(struct rig *rig, mdf_dtype dtype, size_t n, const double *items)
{
    int64_t size = (int64_t)n;
    void *elements = mdf_value_make_tensor(&rig->memory, &rig->input, dtype, 1, &size);

    cr_assert_not_null(elements);
    mdf_convert_elements(dtype, elements, MDF_DTYPE_FLOAT64, items, n, false);
}

Test(call, integers_are_whole_numbers_of_any_type)
{
    static const struct {
        mdf_dtype dtype;
        size_t n;
        double items[2];
        bool whole;
    } cases[] = {
        {MDF_DTYPE_INT64, 2, {-1, 2}, true},        {MDF_DTYPE_UINT8, 2, {1, 200}, true},
        {MDF_DTYPE_BOOL, 2, {0, 1}, true},          {MDF_DTYPE_FLOAT16, 2, {-3, 4}, true},
        {MDF_DTYPE_FLOAT64, 0, {0, 0}, true},       {MDF_DTYPE_FLOAT64, 1, {0.5, 0}, false},
        {MDF_DTYPE_FLOAT64, 1, {0x1p63, 0}, false}, {MDF_DTYPE_UINT64, 1, {0x1p63, 0}, false},
        {MDF_DTYPE_COMPLEX64, 1, {1, 0}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t *integers;
        struct rig rig;
        size_t n;

        set_up(&rig, "Reshape", 5, NULL);
        give(&rig, cases[i].dtype, cases[i].n, cases[i].items);
        integers = mdf_call_integers(&rig.call, 0, 0, &n);
        cr_assert_eq(integers != NULL, cases[i].whole, "case %zu", i);
        for (size_t k = 0; integers != NULL && k < n; k++) {
            cr_assert_eq(integers[k], (int64_t)cases[i].items[k]);
        }
        tear_down(&rig);
    }
}

Test(call, numbers_and_axes)
{
    const double items[] = {7, 8};
    struct rig rig;
    int64_t integer = 0;
    double real = 0;
    size_t axis = 9;

    set_up(&rig, "TopK", 10, NULL);
    give(&rig, MDF_DTYPE_FLOAT32, 1, items);
    cr_assert(mdf_call_integer(&rig.call, 0, &integer) && mdf_call_real(&rig.call, 0, &real));
    cr_assert(integer == 7 && real == 7);
    cr_assert(mdf_call_axis(&rig.call, -3, 3, &axis) && axis == 0);
    cr_assert(!mdf_call_axis(&rig.call, 3, 3, &axis));
    cr_assert_str_eq(rig.context.error.message, "onnx::TopK: axis 3 is out of range for an array of rank 3");
    memset(&rig.context.error, 0, sizeof rig.context.error);
    give(&rig, MDF_DTYPE_FLOAT32, 2, items);
    cr_assert(!mdf_call_integer(&rig.call, 0, &integer));
    cr_assert_str_eq(rig.context.error.message, "onnx::TopK: input 'X' is float32[2], not one whole number");
    memset(&rig.context.error, 0, sizeof rig.context.error);
    cr_assert(!mdf_call_real(&rig.call, 1, &real));
    cr_assert_str_eq(rig.context.error.message, "onnx::TopK: input 'K' is missing");
    tear_down(&rig);
}

Test(call, copies_and_nothing)
{
    const double items[] = {7, 8};
    struct rig rig;

    set_up(&rig, "Identity", 14, NULL);
    give(&rig, MDF_DTYPE_FLOAT32, 2, items);
    cr_assert(mdf_call_output_copy(&rig.call, 0, &rig.input));
    cr_assert(mdf_value_equal(&rig.input, &rig.output));
    cr_assert(mdf_call_output_copy(&rig.call, 0, NULL));
    cr_assert_eq(rig.output.kind, MDF_KIND_NONE);
    cr_assert(mdf_call_output_copy(&rig.call, 1, &rig.input)); /* nobody reads it */
    tear_down(&rig);
}

Test(call, shapes_broadcast)
{
    const int64_t a[] = {2, 1, 3}, b[] = {4, 1}, zero[] = {0, 1}, c[] = {5};
    int64_t shape[3];

    cr_assert(mdf_broadcast_shape(3, a, 2, b, shape));
    cr_assert(shape[0] == 2 && shape[1] == 4 && shape[2] == 3);
    cr_assert(mdf_broadcast_shape(0, NULL, 1, c, shape) && shape[0] == 5);
    cr_assert(mdf_broadcast_shape(2, zero, 1, c, shape) && shape[0] == 0 && shape[1] == 5);
    cr_assert(!mdf_broadcast_shape(3, a, 1, c, shape));
}
