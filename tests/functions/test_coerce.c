/* test_coerce.c - the types that the inputs of an ONNX call get. */
#include "functions/kernel/coerce.h"
#include "functions/kernel/operator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 3, SCALAR = -1 };

/* An array: 2 elements at most, or a scalar. */
struct array {
    mdf_dtype dtype; /* MDF_DTYPE_NONE: not given */
    enum mdf_strength strength;
    int n; /* elements of a vector; SCALAR */
    double items[2];
};

struct test_case {
    const char *operator;
    int opset;
    mdf_dtype real;
    struct array inputs[MOST_INPUTS];
    size_t n_inputs;
    mdf_dtype types[MOST_INPUTS];
    const char *error; /* NULL: none */
};

#define TYPED(type, ...)                         \
    {                                            \
        MDF_DTYPE_##type, MDF_STRENGTH_TYPED, 2, \
        {                                        \
            __VA_ARGS__                          \
        }                                        \
    }
#define LITERAL(type, ...)                         \
    {                                              \
        MDF_DTYPE_##type, MDF_STRENGTH_LITERAL, 2, \
        {                                          \
            __VA_ARGS__                            \
        }                                          \
    }
#define NUMBER(type, item)                             \
    {                                                  \
        MDF_DTYPE_##type, MDF_STRENGTH_PYTHON, SCALAR, \
        {                                              \
            item                                       \
        }                                              \
    }
#define ABSENT                                 \
    {                                          \
        MDF_DTYPE_NONE, MDF_STRENGTH_TYPED, 0, \
        {                                      \
            0                                  \
        }                                      \
    }
#define IN64 MDF_DTYPE_FLOAT64
#define IN32 MDF_DTYPE_FLOAT32

static const struct test_case cases[] = {
    /* Nothing to do. */
    {"Add", 15, IN64, {TYPED(INT32, 1, 2), TYPED(INT32, 1, 2)}, 2, {MDF_DTYPE_INT32, MDF_DTYPE_INT32}, NULL},
    {"Add", 15, IN64, {NUMBER(FLOAT64, 1), NUMBER(FLOAT64, 2)}, 2, {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64}, NULL},
    {"Clip", 13, IN64, {TYPED(INT8, 1, 2), ABSENT, NUMBER(INT8, 2)}, 3, {MDF_DTYPE_INT8, MDF_DTYPE_NONE, MDF_DTYPE_INT8}, NULL},
    /* What has no declared type takes the type of what it meets. */
    {"Add", 15, IN64, {TYPED(FLOAT32, 1, 2), NUMBER(FLOAT64, 0.5)}, 2, {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT32}, NULL},
    {"Add", 15, IN64, {NUMBER(INT64, 3), TYPED(FLOAT16, 1, 2)}, 2, {MDF_DTYPE_FLOAT16, MDF_DTYPE_FLOAT16}, NULL},
    {"Add", 15, IN64, {LITERAL(INT64, 1, 2), LITERAL(FLOAT64, 1, 2)}, 2, {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64}, NULL},
    {"Where",
     15,
     IN64,
     {NUMBER(INT64, 1), TYPED(UINT8, 1, 2), NUMBER(INT64, 255)},
     3,
     {MDF_DTYPE_BOOL, MDF_DTYPE_UINT8, MDF_DTYPE_UINT8},
     NULL},
    {"Add", 15, IN32, {NUMBER(FLOAT64, 1), NUMBER(FLOAT64, 2)}, 2, {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT32}, NULL},
    {"Add", 15, IN32, {TYPED(FLOAT64, 1, 2), NUMBER(FLOAT64, 2)}, 2, {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64}, NULL},
    {"Pow", 15, IN64, {TYPED(FLOAT32, 1, 2), NUMBER(INT64, 2)}, 2, {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64}, NULL},
    /* Types that are not allowed. */
    {"Sqrt", 13, IN64, {TYPED(INT32, 1, 2)}, 1, {MDF_DTYPE_FLOAT64}, NULL},
    {"Sqrt", 13, IN32, {NUMBER(BOOL, 1)}, 1, {MDF_DTYPE_FLOAT32}, NULL},
    {"Celu", 12, IN64, {LITERAL(FLOAT64, 0.5, 1)}, 1, {MDF_DTYPE_FLOAT32}, NULL},
    {"Celu", 12, IN64, {LITERAL(INT64, 1, 2)}, 1, {MDF_DTYPE_FLOAT32}, NULL},
    {"Celu", 12, IN64, {TYPED(FLOAT64, 0.5, 1)}, 1, {MDF_DTYPE_FLOAT32}, NULL}, /* as modeci_mdf runs it */
    {"BitShift", 11, IN64, {LITERAL(INT64, 1, 255), LITERAL(INT64, 2, 3)}, 2, {MDF_DTYPE_UINT64, MDF_DTYPE_UINT64}, NULL},
    {"MatMulInteger", 10, IN64, {LITERAL(INT64, 1, 255), LITERAL(INT64, -2, 3)}, 2, {MDF_DTYPE_UINT8, MDF_DTYPE_INT8}, NULL},
    {"Gather", 13, IN64, {TYPED(FLOAT64, 1, 2), LITERAL(FLOAT64, 1, 0)}, 2, {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64}, NULL},
    {"And", 7, IN64, {LITERAL(INT64, 1, 0), LITERAL(FLOAT64, 1, 1)}, 2, {MDF_DTYPE_BOOL, MDF_DTYPE_BOOL}, NULL},
    /* Errors. */
    {"Add",
     15,
     IN64,
     {TYPED(FLOAT32, 1, 2), TYPED(FLOAT64, 1, 2)},
     2,
     {0},
     "onnx::Add: inputs 'A' (float32[2]) and 'B' (float64[2]) have different types; use Cast"},
    {"Max",
     13,
     IN64,
     {NUMBER(INT64, 1), TYPED(INT32, 1, 2), TYPED(INT64, 1, 2)},
     3,
     {0},
     "onnx::Max: inputs 'data_0[1]' (int32[2]) and 'data_0[2]' (int64[2]) have different types; use Cast"},
    {"Celu", 12, IN64, {TYPED(FLOAT16, 1, 2)}, 1, {0}, "onnx::Celu: input 'X' is float16[2]; allowed are float32"},
    {"Gather",
     13,
     IN64,
     {TYPED(FLOAT64, 1, 2), LITERAL(FLOAT64, 1, 0.5)},
     2,
     {0},
     "onnx::Gather: input 'indices' is float64[2]; allowed are int32, int64"},
    {"Gather",
     13,
     IN64,
     {TYPED(FLOAT64, 1, 2), NUMBER(FLOAT64, 0x1p63)},
     2,
     {0},
     "onnx::Gather: input 'indices' is float64 scalar; allowed are int32, int64"},
    {"Gather", 13, IN64, {ABSENT, NUMBER(INT64, 0)}, 2, {0}, "onnx::Gather: input 'data' is missing"},
    {"Add",
     15,
     IN64,
     {TYPED(UINT8, 1, 2), NUMBER(INT64, 300)},
     2,
     {0},
     "onnx::Add: input 'B' is int64 scalar, with a value that uint8 can not hold"},
    {"SequenceLength",
     11,
     IN64,
     {TYPED(INT64, 1, 2)},
     1,
     {0},
     "onnx::SequenceLength: input 'input_sequence' is int64[2]; allowed are sequences of bool, int8, int16, int32, int64, uint8, "
     "uint16, uint32, uint64, float16, float32, float64, complex64, complex128, string"},
};

/* One call and all that it needs. */
struct rig {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_arena arena;
    struct mdf_operator operator;
    struct mdf_call call;
    struct mdf_value given[MOST_INPUTS], converted[MOST_INPUTS];
    const struct mdf_value *given_pointers[MOST_INPUTS], *effective[MOST_INPUTS];
    const struct mdf_signature *signature;
};

/* `operator` of an opset, with `n` inputs that are not given yet. */
static void set_up(struct rig *rig, const char *operator, int opset, mdf_dtype real, size_t n)
{
    const struct mdf_schema *schema = mdf_schema_find("", operator, opset);

    memset(rig, 0, sizeof *rig);
    mdf_memory_init(&rig->memory, NULL, 0);
    mdf_arena_init(&rig->arena, &rig->memory);
    rig->context.memory = &rig->memory;
    rig->context.real = real;
    rig->operator.name = operator;
    rig->operator.since = schema->since;
    rig->call.context = &rig->context;
    rig->call.operator= & rig->operator;
    rig->signature = mdf_signature_new(&rig->arena, schema, n);
    cr_assert_not_null(rig->signature);
}

static void tear_down(struct rig *rig)
{
    for (size_t i = 0; i < MOST_INPUTS; i++) {
        mdf_value_clear(&rig->memory, &rig->given[i]);
        mdf_value_clear(&rig->memory, &rig->converted[i]);
    }
    mdf_arena_release(&rig->arena);
    cr_assert_eq(atomic_load(&rig->memory.used_bytes), (size_t)0);
}

static void make_array(struct mdf_memory *memory, struct mdf_value *value, const struct array *array)
{
    int64_t size = array->n;
    size_t n = array->n == SCALAR ? 1 : (size_t)array->n;
    void *elements = mdf_value_make_tensor(memory, value, array->dtype, array->n == SCALAR ? 0 : 1, &size);

    cr_assert_not_null(elements);
    mdf_convert_elements(array->dtype, elements, MDF_DTYPE_FLOAT64, array->items, n, false);
    value->strength = (uint8_t)array->strength;
}

static void give(struct rig *rig, size_t i, const struct array *array)
{
    if (array->dtype != MDF_DTYPE_NONE) {
        make_array(&rig->memory, &rig->given[i], array);
        rig->given_pointers[i] = &rig->given[i];
    }
}

static bool run(struct rig *rig)
{
    return mdf_coerce_inputs(&rig->call, rig->signature, rig->given_pointers, rig->effective, rig->converted);
}

/* The numbers that were given are there in the type that is wanted. */
static void check_input(const struct rig *rig, const struct test_case *test, size_t i)
{
    const struct mdf_value *value = rig->effective[i];
    const struct array *array = &test->inputs[i];

    if (test->types[i] == MDF_DTYPE_NONE) {
        cr_assert_null(value, "onnx::%s", test->operator);
        return;
    }
    cr_assert_eq(value->dtype, test->types[i], "onnx::%s: input %zu is %s", test->operator, i,
                 mdf_dtype_name((mdf_dtype)value->dtype));
    cr_assert_eq(value->strength, array->strength);
    for (size_t k = 0; k < value->length; k++) {
        const char *element = (const char *)value->data + k * mdf_dtype_size((mdf_dtype)value->dtype);

        cr_assert_eq(mdf_element_to_double((mdf_dtype)value->dtype, element), array->items[k]);
    }
    cr_assert(array->dtype != test->types[i] || value == &rig->given[i], "an input that needs nothing is passed on");
}

Test(coerce, cases)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct test_case *test = &cases[c];
        struct rig rig;
        bool done;

        set_up(&rig, test->operator, test->opset, test->real, test->n_inputs);
        for (size_t i = 0; i < test->n_inputs; i++) {
            give(&rig, i, &test->inputs[i]);
        }
        done = run(&rig);
        cr_assert_str_eq(rig.context.error.message, test->error == NULL ? "" : test->error);
        cr_assert_eq(done, test->error == NULL);
        for (size_t i = 0; done && i < test->n_inputs; i++) {
            check_input(&rig, test, i);
        }
        tear_down(&rig);
    }
}

/* A list of two rows; with `ragged` the second is shorter. */
static void make_rows(struct mdf_memory *memory, struct mdf_value *value, bool ragged)
{
    const struct array whole = LITERAL(INT64, 1, 2), half = {MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, {3}};
    struct mdf_value *items = mdf_value_make_list(memory, value, 2);

    cr_assert_not_null(items);
    make_array(memory, &items[0], &whole);
    make_array(memory, &items[1], ragged ? &half : &whole);
}

Test(coerce, lists_become_arrays_where_no_sequence_is_allowed)
{
    const struct array typed = TYPED(FLOAT32, 1, 2);
    struct rig rig;

    set_up(&rig, "Add", 15, IN64, 2);
    make_rows(&rig.memory, &rig.given[0], false);
    rig.given_pointers[0] = &rig.given[0];
    give(&rig, 1, &typed);
    cr_assert(run(&rig));
    cr_assert_eq(rig.effective[0]->dtype, MDF_DTYPE_FLOAT32);
    cr_assert_eq(rig.effective[0]->rank, 2u);
    make_rows(&rig.memory, &rig.given[0], true);
    cr_assert(!run(&rig));
    cr_assert_str_eq(rig.context.error.message, "onnx::Add: input 'A' is a list that is no array: ragged, or not of numbers");
    tear_down(&rig);

    set_up(&rig, "SequenceLength", 11, IN64, 1);
    make_rows(&rig.memory, &rig.given[0], true);
    rig.given_pointers[0] = &rig.given[0];
    cr_assert(run(&rig));
    cr_assert_eq(rig.effective[0], &rig.given[0]);
    tear_down(&rig);
}

Test(coerce, nothing_is_an_omitted_or_an_empty_optional_input)
{
    const struct array typed = TYPED(FLOAT32, 1, 2);
    struct rig rig;

    set_up(&rig, "Clip", 13, IN64, 3);
    give(&rig, 0, &typed);
    rig.given_pointers[1] = rig.given_pointers[2] = &rig.given[2]; /* NONE */
    cr_assert(run(&rig));
    cr_assert(rig.effective[1] == NULL && rig.effective[2] == NULL);
    tear_down(&rig);

    set_up(&rig, "OptionalHasElement", 15, IN64, 1);
    rig.given_pointers[0] = &rig.given[0];
    cr_assert(run(&rig));
    cr_assert_eq(rig.effective[0], &rig.given[0]);
    tear_down(&rig);
}

Test(coerce, steady_calls_allocate_nothing)
{
    const struct array typed = TYPED(FLOAT32, 1, 2), literal = LITERAL(FLOAT64, 3, 4);
    struct rig rig;
    size_t before;

    set_up(&rig, "Add", 15, IN64, 2);
    give(&rig, 0, &typed);
    give(&rig, 1, &literal);
    cr_assert(run(&rig));
    before = atomic_load(&rig.memory.n_allocations);
    cr_assert(run(&rig));
    cr_assert_eq(atomic_load(&rig.memory.n_allocations), before);
    tear_down(&rig);
}

Test(coerce, reports_memory_that_is_refused)
{
    const struct array typed = TYPED(FLOAT32, 1, 2);
    struct rig rig;

    for (size_t room = 0; room < 400; room += 16) { /* bytes; the last ones do */
        set_up(&rig, "Add", 15, IN64, 2);
        make_rows(&rig.memory, &rig.given[0], false);
        rig.given_pointers[0] = &rig.given[0];
        give(&rig, 1, &typed);
        rig.memory.limit_bytes = atomic_load(&rig.memory.used_bytes) + room + 1;
        cr_assert_eq(run(&rig), rig.context.error.code == MDF_OK);
        cr_assert(rig.context.error.code == MDF_OK || rig.context.error.code == MDF_LIMIT);
        cr_assert(room > 0 || rig.context.error.code == MDF_LIMIT);
        tear_down(&rig);
    }
}

Test(coerce, outputs_of_literals_have_no_declared_type)
{
    const struct array typed = TYPED(FLOAT64, 1, 2), literal = LITERAL(FLOAT64, 3, 4), narrow = TYPED(FLOAT32, 1, 2);
    struct mdf_value outputs[2] = {{0}};
    struct mdf_value *output_pointers[] = {&outputs[0], &outputs[1], NULL};
    struct rig rig;

    set_up(&rig, "Add", 15, IN64, 2);
    give(&rig, 0, &literal);
    make_array(&rig.memory, &outputs[0], &typed);
    make_array(&rig.memory, &outputs[1], &narrow);
    rig.call.inputs = rig.given_pointers;
    rig.call.outputs = output_pointers;
    rig.call.n_outputs = 3;

    mdf_weaken_outputs(&rig.call); /* no input at all: the kernel chose */
    cr_assert_eq(outputs[0].strength, MDF_STRENGTH_TYPED);
    rig.call.n_inputs = 2;
    mdf_weaken_outputs(&rig.call);
    cr_assert_eq(outputs[0].strength, MDF_STRENGTH_LITERAL);
    cr_assert_eq(outputs[1].strength, MDF_STRENGTH_TYPED);
    outputs[0].strength = MDF_STRENGTH_TYPED;
    give(&rig, 1, &typed);
    mdf_weaken_outputs(&rig.call);
    cr_assert_eq(outputs[0].strength, MDF_STRENGTH_TYPED);

    mdf_value_clear(&rig.memory, &outputs[0]);
    mdf_value_clear(&rig.memory, &outputs[1]);
    tear_down(&rig);
}
