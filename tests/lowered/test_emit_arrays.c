/* test_emit_arrays.c - machine code for element ops over arrays: functions that are called where arrays lie, what nothing reads,
 * long chains, elements at places that other arrays say. */
#include "mdf_c/machine/emit.h"

#include "mdf_c/base/processor.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Runs a finished program as it stands and as machine code, by which its group is not interpreted. */
static void check_group(struct build *build, struct build_group *group, enum mdf_lowered_outcome outcome)
{
    struct mdf_value plain = {0}, *slot = build->lowered->outputs[0].slot;

    cr_assert_eq(mdf_lowered_run(build->lowered), outcome);
    build_take(build, &plain, slot);
    mdf_lowered_emit(build->lowered);
    group->nest->tiles = NULL;
    cr_assert_eq(mdf_lowered_run(build->lowered), outcome);
    cr_expect(outcome != MDF_LOWERED_DONE || build_same(&plain, slot));
    cr_expect(!mdf_has_avx2() || group->nest->tiles == NULL, "the interpreter is called");
    mdf_value_clear(&build->memory, &plain);
}

static bool add_bytes(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const uint8_t *a = operands[0], *b = operands[1];
    size_t i;

    (void)settings;
    for (i = 0; i < n; i++) {
        ((uint8_t *)target)[i] = (uint8_t)(a[i * steps[0]] + b[i * steps[1]]);
    }
    return true;
}

static bool add_some(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (settings == NULL) {
            ((double *)target)[i] = ((const double *)operands[0])[i * steps[0]] + 0.75;
        } else {
            ((float *)target)[i] = ((const float *)operands[0])[i * steps[0]] * 1.5f;
        }
    }
    return true;
}

/* `n` numbers that a function makes, one behind the other, of what they were in the run before, and of the one that was made
 * `back` before (0: of none): one call makes those that do not hang on one another. */
static void check_beside(mdf_dtype dtype, size_t n, size_t back)
{
    enum { MOST = 12 };
    struct build build;
    struct mdf_value plain[MOST] = {{0}}, *slots[MOST];
    mdf_lowered_id states[MOST], made[MOST];
    struct mdf_lowered_loop *loop;
    size_t i;

    build_begin(&build, NULL);
    loop = build_loop(&build, &build.lowered->region, 5);
    for (i = 0; i < n; i++) {
        double wide = (double)i * 0.5 - 1;
        float narrow = (float)wide;

        states[i] = build_state(
            &build, loop,
            build_input(&build, build_array(&build, dtype, 0, NULL, dtype == MDF_DTYPE_FLOAT32 ? (const void *)&narrow : &wide)));
    }
    for (i = 0; i < n; i++) {
        const mdf_lowered_id *in = back > 0 && i >= back ? &made[i - back] : &states[i];

        made[i] = build_elements(&build, &loop->body, add_some, dtype == MDF_DTYPE_FLOAT32 ? &build : NULL, dtype, dtype, 1, in);
    }
    for (i = 0; i < n; i++) {
        build_next(
            &build, loop, states[i],
            build_element(&build, &loop->body, MDF_LOWERED_SUBTRACT, dtype, (mdf_lowered_id[]){made[n - 1 - i], states[i]}));
    }
    for (i = 0; i < n; i++) {
        slots[i] = build_slot(&build);
        build_output(&build, slots[i], states[i]);
    }
    build_finish(&build);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    for (i = 0; i < n; i++) {
        build_take(&build, &plain[i], slots[i]);
    }
    mdf_lowered_emit(build.lowered);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    for (i = 0; i < n; i++) {
        cr_expect(build_same(&plain[i], slots[i]), "number %d of %d", (int)i, (int)n);
        mdf_value_clear(&build.memory, &plain[i]);
    }
    build_end(&build);
}

Test(emit_arrays, functions_of_several_numbers)
{
    size_t n, back;

    for (n = 1; n <= 12; n++) {
        for (back = 0; back < 5; back++) {
            check_beside(MDF_DTYPE_FLOAT64, n, back);
            check_beside(MDF_DTYPE_FLOAT32, n, back);
        }
    }
}

/* Functions of a type that has no vectors read arrays, what other functions made, and scalars where they lie. */
Test(emit_arrays, functions_are_called_where_arrays_lie)
{
    uint8_t bytes[100], one = 3;
    const int64_t n = COUNT(bytes);
    struct build_group *group;
    mdf_lowered_id in[2], sum;
    struct build build;
    size_t i;

    for (i = 0; i < COUNT(bytes); i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    build_begin(&build, NULL);
    in[0] = build_input(&build, build_array(&build, MDF_DTYPE_UINT8, 1, &n, bytes));
    in[1] = build_input(&build, build_array(&build, MDF_DTYPE_UINT8, 0, NULL, &one));
    group = build_group(&build, &build.lowered->region, COUNT(bytes));
    sum = build_elements(&build, &group->body, add_bytes, NULL, MDF_DTYPE_UINT8, MDF_DTYPE_UINT8, 2, in);
    in[1] = sum;
    in[0] = build_elements(&build, &group->body, add_bytes, NULL, MDF_DTYPE_UINT8, MDF_DTYPE_UINT8, 2, in);
    build_output(&build, build_slot(&build), in[0]);
    build_finish(&build);
    check_group(&build, group, MDF_LOWERED_DONE);
    cr_expect_eq(build_element_of(build.lowered->outputs[0].slot, 50), (50 * 14 + 3) % 256);
    build_end(&build);
}

static bool refuse(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    size_t i;

    (void)settings;
    for (i = 0; i < n; i++) {
        ((double *)target)[i] = 0;
        if (((const double *)operands[0])[i * steps[0]] == 0) {
            return false;
        }
    }
    return true;
}

/* Divisions and functions bail out also where nothing reads what they make. */
Test(emit_arrays, what_nothing_reads_may_bail_out)
{
    const int64_t n = 37;
    int what;

    for (what = 0; what < 3; what++) {
        double numbers[37], one = 1;
        struct build_group *group;
        struct build build;
        mdf_lowered_id in[2];
        size_t i;

        for (i = 0; i < COUNT(numbers); i++) {
            numbers[i] = what > 0 && i == 36 ? 0 : (double)i + 1;
        }
        build_begin(&build, NULL);
        in[0] = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 0, NULL, &one));
        in[1] = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &n, numbers));
        group = build_group(&build, &build.lowered->region, COUNT(numbers));
        if (what < 2) {
            build_element(&build, &group->body, MDF_LOWERED_DIVIDE_NONZERO, MDF_DTYPE_FLOAT64, in);
        }
        if (what != 1) {
            build_elements(&build, &group->body, refuse, NULL, MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64, 1, &in[1]);
        }
        build_output(&build, build_slot(&build), build_element(&build, &group->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, in));
        build_finish(&build);
        check_group(&build, group, what == 0 ? MDF_LOWERED_DONE : MDF_LOWERED_BAILED_OUT);
        build_end(&build);
    }
}

/* A chain of many operations, all of whose results stay in use, is one nest, which has machine code. */
Test(emit_arrays, long_chains_are_one_nest)
{
    enum { N_OPS = 70 };
    double numbers[1000];
    const int64_t n = COUNT(numbers);
    struct build_group *group;
    mdf_lowered_id made[N_OPS + 1], in[2];
    struct build build;
    size_t i;

    for (i = 0; i < COUNT(numbers); i++) {
        numbers[i] = 1 + (double)i / 1000;
    }
    build_begin(&build, NULL);
    made[0] = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &n, numbers));
    group = build_group(&build, &build.lowered->region, COUNT(numbers));
    for (i = 1; i <= N_OPS; i++) {
        in[0] = made[i - 1];
        in[1] = made[i / 2];
        made[i] = build_element(&build, &group->body, i % 3 == 0 ? MDF_LOWERED_SUBTRACT : MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, in);
    }
    for (i = N_OPS; i > N_OPS - 12; i--) {
        build_output(&build, build_slot(&build), made[i]);
    }
    build_finish(&build);
    cr_assert_gt(group->nest->n_steps, (size_t)64);
    check_group(&build, group, MDF_LOWERED_DONE);
    build_end(&build);
}

/* Elements at the places of a row from `first` on, `apart` places apart; more than are there, and it bails out. */
static void check_gather(mdf_dtype dtype, int64_t n_elements, int64_t first, int64_t apart)
{
    enum { N = 40, MOST = 64 };
    struct build build;
    struct mdf_lowered_nest *nest;
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .level = 1, .dtype = MDF_DTYPE_INT64};
    struct mdf_value plain = {0}, *slot;
    enum mdf_lowered_outcome outcome;
    int64_t places[N], n = N, i;
    double elements[MOST] = {0};

    for (i = 0; i < N; i++) {
        places[i] = first + i * apart;
    }
    for (i = 0; i < MOST; i++) { /* as integers of 4 or 8 bytes, or reals that are no NaN */
        memcpy((char *)elements + i * (int64_t)mdf_dtype_size(dtype), &(int32_t){(int32_t)(i + 1) * 77777}, sizeof(int32_t));
    }
    build_begin(&build, NULL);
    nest = build_nest(&build, &build.lowered->region, 1, (size_t[]){N});
    step.view = (struct mdf_nest_view){
        .id = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n, places)), .strides = {1}, .at = MDF_NEST_NONE};
    build_nest_step(&build, nest, step);
    step.dtype = (uint8_t)dtype;
    step.view = (struct mdf_nest_view){
        .id = build_input(&build, build_array(&build, dtype, 1, &n_elements, elements)), .at_stride = 1, .at_limit = n_elements};
    build_nest_step(&build, nest, step);
    step = (struct mdf_nest_step){
        .kind = MDF_NEST_STORE, .level = 1, .dtype = (uint8_t)dtype, .n_in = 1, .in = {1}, .operand_dtype = (uint8_t)dtype};
    step.view = (struct mdf_nest_view){.id = build_result(&build, dtype, 1, &n), .strides = {1}, .at = MDF_NEST_NONE};
    build_nest_step(&build, nest, step);
    slot = build_slot(&build);
    build_output(&build, slot, step.view.id);
    build_finish(&build);
    outcome = mdf_lowered_run(build.lowered);
    build_take(&build, &plain, slot);
    mdf_lowered_emit(build.lowered);
    cr_assert_eq(mdf_lowered_run(build.lowered), outcome, "%d elements from %d", (int)n_elements, (int)first);
    cr_expect(outcome != MDF_LOWERED_DONE || build_same(&plain, slot), "%d elements from %d", (int)n_elements, (int)first);
    mdf_value_clear(&build.memory, &plain);
    build_end(&build);
}

/* Those at places side by side are a vector as any other, but where some of them are counted from the end, or are not there. */
Test(emit_arrays, elements_at_places_side_by_side)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, MDF_DTYPE_INT64};
    size_t type;
    int64_t first;

    for (type = 0; type < COUNT(dtypes); type++) {
        for (first = -43; first < 6; first++) {
            check_gather(dtypes[type], 41, first, 1);
            check_gather(dtypes[type], 64, first, 1);
        }
        check_gather(dtypes[type], 41, 38, -1);
        check_gather(dtypes[type], 3, 1, 0);
        check_gather(dtypes[type], 41, INT64_MAX - 100, 1);
        check_gather(dtypes[type], 41, INT64_MIN + 100, 1);
    }
}

/* A loop that takes an element of a table at a place, of a state at a place of the table, and puts what it makes of both into
 * that state, or into another one; behind it the states are arrays that others read. `is_nested`: within a loop that does it
 * twice. */
static void check_places(const int64_t *places, int64_t limit, bool is_nested)
{
    enum { N = 200, MOST = 64 };
    static const int64_t n_runs = N;
    double numbers[MOST];
    mdf_lowered_id in[2], table, states[2], parameters[2], index, element, outer[2] = {0};
    struct build build;
    struct mdf_lowered_loop *around, *loop;
    struct mdf_lowered_nest *nest;
    struct mdf_lowered_region *region;
    struct mdf_value plain[2] = {{0}}, *slots[2];
    struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .dtype = MDF_DTYPE_INT64, .view.at = MDF_NEST_NONE}, store;
    enum mdf_lowered_outcome outcome;
    size_t i;

    for (i = 0; i < MOST; i++) {
        numbers[i] = (double)i * 0.75 - 7;
    }
    build_begin(&build, NULL);
    table = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n_runs, places));
    for (i = 0; i < 2; i++) {
        states[i] = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &limit, numbers + i));
    }
    region = &build.lowered->region;
    around = is_nested ? build_loop(&build, region, 2) : NULL;
    for (i = 0; is_nested && i < 2; i++) {
        states[i] = outer[i] = build_state(&build, around, states[i]);
    }
    loop = build_loop(&build, is_nested ? &around->body : region, N);
    for (i = 0; i < 2; i++) {
        parameters[i] = build_state(&build, loop, states[i]);
    }
    /* index = table[number]; element = states[0][index] */
    index = build_result(&build, MDF_DTYPE_INT64, 0, NULL);
    element = build_result(&build, MDF_DTYPE_FLOAT64, 0, NULL);
    nest = build_nest(&build, &loop->body, 0, NULL);
    load.view.id = build_number(&build, loop);
    build_nest_step(&build, nest, load);
    load.view = (struct mdf_nest_view){.id = table, .at = 0, .at_stride = 1, .at_limit = N};
    build_nest_step(&build, nest, load);
    store = (struct mdf_nest_step){.kind = MDF_NEST_STORE, .dtype = MDF_DTYPE_INT64, .operand_dtype = MDF_DTYPE_INT64, .n_in = 1};
    store.in[0] = 1;
    store.view = (struct mdf_nest_view){.id = index, .at = MDF_NEST_NONE};
    build_nest_step(&build, nest, store);
    nest = build_nest(&build, &loop->body, 0, NULL);
    load.view = (struct mdf_nest_view){.id = index, .at = MDF_NEST_NONE};
    build_nest_step(&build, nest, load);
    load.dtype = MDF_DTYPE_FLOAT64;
    load.view = (struct mdf_nest_view){.id = parameters[0], .at = 0, .at_stride = 1, .at_limit = limit};
    build_nest_step(&build, nest, load);
    store.dtype = store.operand_dtype = MDF_DTYPE_FLOAT64;
    store.view.id = element;
    build_nest_step(&build, nest, store);
    in[0] = in[1] = element;
    element = build_element(&build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, in);
    for (i = 0; i < 2; i++) {
        build_next(&build, loop, parameters[i], build_put(&build, &loop->body, parameters[i], element, index));
    }
    for (i = 0; i < 2; i++) {
        slots[i] = build_slot(&build);
        if (is_nested) {
            build_next(&build, around, outer[i], build_copy(&build, &around->body, parameters[i]));
        }
        build_output(&build, slots[i], is_nested ? outer[i] : parameters[i]);
    }
    build_finish(&build);
    outcome = mdf_lowered_run(build.lowered);
    for (i = 0; i < 2; i++) {
        build_take(&build, &plain[i], slots[i]);
    }
    mdf_lowered_emit(build.lowered);
    cr_assert_eq(mdf_lowered_run(build.lowered), outcome);
    for (i = 0; i < 2; i++) {
        cr_expect(outcome != MDF_LOWERED_DONE || build_same(&plain[i], slots[i]), "%d of %d", (int)i, (int)limit);
        mdf_value_clear(&build.memory, &plain[i]);
    }
    build_end(&build);
}

/* Arrays that stay where they are while a loop runs are found by pointers in registers. */
Test(emit_arrays, elements_of_states_that_stay)
{
    int64_t places[200], limit;
    size_t i, nested;

    for (nested = 0; nested < 2; nested++) {
        for (limit = 2; limit < 40; limit += 5) {
            for (i = 0; i < COUNT(places); i++) {
                places[i] = (int64_t)(i * i * 7 % (size_t)(2 * limit)) - limit;
            }
            check_places(places, limit, nested == 1);
            places[150] = limit;
            check_places(places, limit, nested == 1);
            places[150] = -limit - 1;
            check_places(places, limit, nested == 1);
        }
    }
}

/* A loop that puts its number into a table of 6 by 4, at a row and a column that it goes through, which are stored as one index
 * before; `is_read`: and of which it adds one. Else nobody looks at the index, and it is not stored. */
static void check_index(const int64_t *rows, const int64_t *columns, bool is_read)
{
    enum { N = 100 };
    static const int64_t n_runs = N, n_indices = 2, n_elements = 24;
    mdf_lowered_id numbers[2], table, at, element, index = MDF_LOWERED_NONE;
    struct build build;
    struct mdf_lowered_loop *loop;
    struct mdf_value plain = {0}, *slot;
    enum mdf_lowered_outcome outcome;
    int64_t *stored;
    size_t i;

    build_begin(&build, NULL);
    numbers[0] = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n_runs, rows));
    numbers[1] = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n_runs, columns));
    table = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n_elements, NULL));
    loop = build_loop(&build, &build.lowered->region, N);
    table = build_state(&build, loop, table);
    element = build_number(&build, loop);
    at = build_result(&build, MDF_DTYPE_INT64, 1, &n_indices);
    for (i = 0; i < 2; i++) {
        struct mdf_lowered_nest *nest;
        struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .dtype = MDF_DTYPE_INT64, .view.at = MDF_NEST_NONE};

        step.view.id = build_rows(&build, loop, numbers[i], false);
        nest = build_nest(&build, &loop->body, 0, NULL);
        build_nest_step(&build, nest, step);
        step.kind = MDF_NEST_STORE;
        step.operand_dtype = MDF_DTYPE_INT64;
        step.n_in = 1;
        step.view = (struct mdf_nest_view){.id = at, .first = (int64_t)i, .at = MDF_NEST_NONE};
        build_nest_step(&build, nest, step);
    }
    if (is_read) {
        struct mdf_lowered_nest *nest = build_nest(&build, &loop->body, 0, NULL);
        struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .dtype = MDF_DTYPE_INT64, .view = {.id = at, .first = 1}};

        index = build_result(&build, MDF_DTYPE_INT64, 0, NULL);
        step.view.at = MDF_NEST_NONE;
        build_nest_step(&build, nest, step);
        step.kind = MDF_NEST_STORE;
        step.operand_dtype = MDF_DTYPE_INT64;
        step.n_in = 1;
        step.view = (struct mdf_nest_view){.id = index, .at = MDF_NEST_NONE};
        build_nest_step(&build, nest, step);
        element = build_element(&build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, (mdf_lowered_id[]){element, index});
    }
    build_next(&build, loop, table, build_put(&build, &loop->body, table, element, at));
    *loop->body.ops[loop->body.n_ops - 1].of.put = (struct mdf_lowered_put){.n_indices = 2, .steps = {4, 1}, .limits = {6, 4}};
    slot = build_slot(&build);
    build_output(&build, slot, table);
    build_finish(&build);
    outcome = mdf_lowered_run(build.lowered);
    build_take(&build, &plain, slot);
    mdf_lowered_emit(build.lowered);
    stored = build.lowered->arrays[at].data;
    stored[0] = -77;
    cr_assert_eq(mdf_lowered_run(build.lowered), outcome);
    cr_expect(outcome != MDF_LOWERED_DONE || build_same(&plain, slot));
    cr_expect(!mdf_has_avx2() || (stored[0] == -77) == !is_read, "%d", (int)is_read);
    mdf_value_clear(&build.memory, &plain);
    build_end(&build);
}

Test(emit_arrays, places_of_several_axes)
{
    int64_t rows[100], columns[100];
    size_t i, is_read;

    for (is_read = 0; is_read < 2; is_read++) {
        for (i = 0; i < COUNT(rows); i++) {
            rows[i] = (int64_t)(i * 5 % 12) - 6;
            columns[i] = (int64_t)(i * 3 % 8) - 4;
        }
        check_index(rows, columns, is_read == 1);
        rows[40] = 6;
        check_index(rows, columns, is_read == 1);
        rows[40] = 5;
        columns[70] = -5;
        check_index(rows, columns, is_read == 1);
    }
}

/* A state in place whose elements nests store one by one is read by whoever reads the state behind the loop. */
Test(emit_arrays, states_stored_number_by_number)
{
    static const int64_t two = 2;
    const double begin[] = {3, 4};
    struct build build;
    struct mdf_lowered_loop *loop;
    struct mdf_value *slot;
    mdf_lowered_id state, number, next;
    size_t i;

    build_begin(&build, NULL);
    loop = build_loop(&build, &build.lowered->region, 5);
    state = build_state(&build, loop, build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &two, begin)));
    number = build_state(&build, loop, build_real(&build, 1.5));
    next = build_result(&build, MDF_DTYPE_FLOAT64, 1, &two);
    for (i = 0; i < 2; i++) {
        struct mdf_lowered_nest *nest = build_nest(&build, &loop->body, 0, NULL);
        struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .dtype = MDF_DTYPE_FLOAT64, .view = {.id = number}};

        step.view.at = MDF_NEST_NONE;
        build_nest_step(&build, nest, step);
        step.kind = MDF_NEST_STORE;
        step.operand_dtype = MDF_DTYPE_FLOAT64;
        step.n_in = 1;
        step.view = (struct mdf_nest_view){.id = next, .first = (int64_t)i, .at = MDF_NEST_NONE};
        build_nest_step(&build, nest, step);
    }
    build_next(&build, loop, state, next);
    build_next(&build, loop, number,
               build_element(&build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, (mdf_lowered_id[]){number, number}));
    slot = build_slot(&build);
    build_output(&build, slot, state);
    build_finish(&build);
    mdf_lowered_emit(build.lowered);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    cr_expect_eq(build_element_of(slot, 0), 24);
    cr_expect_eq(build_element_of(slot, 1), 24);
    build_end(&build);
}

/* One of two reals, chosen by how they compare. */
struct choice {
    mdf_dtype dtype;
    enum mdf_lowered_code code; /* of the comparison, of the second with the first where `is_turned` */
    bool is_turned, keeps_nan, is_wide, is_stored;
};

static uint8_t add_step(struct build *build, struct mdf_lowered_nest *nest, enum mdf_lowered_code code, mdf_dtype operands,
                        mdf_dtype dtype, const uint8_t *in)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_ELEMENT,
                                 .level = 1,
                                 .code = (uint8_t)code,
                                 .operand_dtype = (uint8_t)operands,
                                 .dtype = (uint8_t)dtype,
                                 .n_in = (uint8_t)build_n_operands(code),
                                 .view.at = MDF_NEST_NONE};

    memcpy(step.in, in, step.n_in);
    return build_nest_step(build, nest, step);
}

static void store_step(struct build *build, struct mdf_lowered_nest *nest, uint8_t in, mdf_dtype dtype, int64_t n)
{
    struct mdf_nest_step store = {
        .kind = MDF_NEST_STORE, .level = 1, .dtype = (uint8_t)dtype, .operand_dtype = (uint8_t)dtype, .n_in = 1, .in = {in}};

    store.view = (struct mdf_nest_view){.id = build_result(build, dtype, 1, &n), .strides = {1}, .at = MDF_NEST_NONE};
    build_nest_step(build, nest, store);
    build_output(build, build_slot(build), store.view.id);
}

/* Of all pairs of some reals; `is_wide`: int64 is computed beside them, `is_stored`: the condition is needed itself. */
static void check_choice(const struct choice *choice)
{
    enum { N_REALS = 9, N = N_REALS * N_REALS };
    static const double reals[N_REALS] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, -NAN, 2.5};
    double wide[2][N];
    float narrow[2][N];
    int64_t n = N, wholes[N];
    struct build build;
    struct mdf_lowered_nest *nest;
    struct mdf_value plain[3] = {{0}};
    uint8_t in[2], test, select[3];
    size_t i, k;

    for (i = 0; i < N; i++) {
        wide[0][i] = reals[i / N_REALS];
        wide[1][i] = reals[i % N_REALS];
        wholes[i] = (int64_t)i - 40;
        for (k = 0; k < 2; k++) {
            narrow[k][i] = (float)wide[k][i];
        }
    }
    build_begin(&build, NULL);
    nest = build_nest(&build, &build.lowered->region, 1, (size_t[]){N});
    for (k = 0; k < 2; k++) {
        struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .level = 1, .dtype = (uint8_t)choice->dtype};
        const void *elements = choice->dtype == MDF_DTYPE_FLOAT32 ? (const void *)narrow[k] : wide[k];

        load.view = (struct mdf_nest_view){
            .id = build_input(&build, build_array(&build, choice->dtype, 1, &n, elements)), .strides = {1}, .at = MDF_NEST_NONE};
        in[k] = build_nest_step(&build, nest, load);
    }
    test = add_step(&build, nest, choice->code, choice->dtype, MDF_DTYPE_BOOL,
                    choice->is_turned ? (const uint8_t[]){in[1], in[0]} : in);
    if (choice->keeps_nan) {
        uint8_t is_nan =
            add_step(&build, nest, MDF_LOWERED_NOT_EQUAL, choice->dtype, MDF_DTYPE_BOOL, (const uint8_t[]){in[0], in[0]});

        test = add_step(&build, nest, MDF_LOWERED_OR, MDF_DTYPE_BOOL, MDF_DTYPE_BOOL,
                        choice->is_turned ? (const uint8_t[]){is_nan, test} : (const uint8_t[]){test, is_nan});
    }
    select[0] = test;
    memcpy(select + 1, in, sizeof in);
    store_step(&build, nest, add_step(&build, nest, MDF_LOWERED_SELECT, choice->dtype, choice->dtype, select), choice->dtype, n);
    if (choice->is_stored) {
        store_step(&build, nest, test, MDF_DTYPE_BOOL, n);
    }
    if (choice->is_wide) {
        struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .level = 1, .dtype = MDF_DTYPE_INT64};

        load.view = (struct mdf_nest_view){
            .id = build_input(&build, build_array(&build, MDF_DTYPE_INT64, 1, &n, wholes)), .strides = {1}, .at = MDF_NEST_NONE};
        in[0] = in[1] = build_nest_step(&build, nest, load);
        store_step(&build, nest, add_step(&build, nest, MDF_LOWERED_ADD, MDF_DTYPE_INT64, MDF_DTYPE_INT64, in), MDF_DTYPE_INT64,
                   n);
    }
    build_finish(&build);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    for (i = 0; i < build.lowered->n_outputs; i++) {
        build_take(&build, &plain[i], build.lowered->outputs[i].slot);
    }
    mdf_lowered_emit(build.lowered);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    for (i = 0; i < build.lowered->n_outputs; i++) {
        cr_expect(build_same(&plain[i], build.lowered->outputs[i].slot), "output %d, type %d, code %d, %d %d %d %d", (int)i,
                  (int)choice->dtype, (int)choice->code, choice->is_turned, choice->keeps_nan, choice->is_wide,
                  choice->is_stored);
        mdf_value_clear(&build.memory, &plain[i]);
    }
    build_end(&build);
}

/* Minima and maxima are one instruction, but where NaN is looked for. */
Test(emit_arrays, choices_of_the_smaller_and_the_larger)
{
    static const enum mdf_lowered_code codes[] = {MDF_LOWERED_LESS, MDF_LOWERED_GREATER, MDF_LOWERED_LESS_EQUAL};
    size_t i;

    for (i = 0; i < 32 * COUNT(codes); i++) {
        const struct choice choice = {.dtype = i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64,
                                      .code = codes[i / 32],
                                      .is_turned = (i & 2) != 0,
                                      .keeps_nan = (i & 4) != 0,
                                      .is_wide = (i & 8) != 0,
                                      .is_stored = (i & 16) != 0};

        check_choice(&choice);
    }
}
