/* test_lowered_ports.c - what goes in and out of the lowered form: forms that are guarded, slots that are written, memory that is
 * refused. */
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define REGION (&b.lowered->region)
#define IDS(...) ((const mdf_lowered_id[]){__VA_ARGS__})

static const int64_t three[] = {3}, two_by_three[] = {2, 3}, three_by_two[] = {3, 2}, one[] = {1}, one_by_one[] = {1, 1};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

/* ------------------------------------------------------------------ in */

struct form {
    mdf_dtype dtype;
    enum mdf_strength strength;
    size_t rank;
    const int64_t *shape;
};

static void make(struct build *build, struct mdf_value *value, struct form form)
{
    void *elements = mdf_value_make_tensor(&build->memory, value, form.dtype, form.rank, form.shape);

    cr_assert_not_null(elements);
    memset(elements, 0, value->length * mdf_dtype_size(form.dtype));
    value->strength = (uint8_t)form.strength;
}

/* Forms that all differ. */
static const struct form forms[] = {
    {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL},         {MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL},
    {MDF_DTYPE_FLOAT32, MDF_STRENGTH_TYPED, 0, NULL},         {MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL},
    {MDF_DTYPE_FLOAT64, MDF_STRENGTH_PYTHON, 0, NULL},        {MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, 0, NULL},
    {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, one},          {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 2, one_by_one},
    {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, three},        {MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, 1, three},
    {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 2, two_by_three}, {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 2, three_by_two},
    {MDF_DTYPE_INT16, MDF_STRENGTH_TYPED, 0, NULL},           {MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, two_by_three},
};

/* An input of each form is taken as long as it has it, and no other. */
Test(lowered_ports, forms_of_inputs_are_guarded)
{
    enum { N = sizeof forms / sizeof *forms };

    for (size_t i = 0; i < N; i++) {
        struct mdf_value *source, *slot;
        struct build b;

        build_begin(&b, NULL);
        source = build_slot(&b);
        make(&b, source, forms[i]);
        slot = build_slot(&b);
        build_output(&b, slot, build_input(&b, source));
        build_finish(&b);
        for (size_t j = 0; j < 2 * N; j++) {
            make(&b, source, forms[j % N]);
            cr_expect_eq(mdf_lowered_run(b.lowered), j % N == i ? MDF_LOWERED_DONE : MDF_LOWERED_OTHER_FORM, "%zu %zu", i, j % N);
            cr_expect_eq(slot->kind, j < i ? MDF_KIND_NONE : MDF_KIND_TENSOR);
        }
        make(&b, source, forms[i]);
        cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect(mdf_value_equal(source, slot) && slot->strength == forms[i].strength, "%zu", i);
        cr_assert_not_null(mdf_value_make_list(&b.memory, source, 1));
        cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_OTHER_FORM);
        mdf_value_clear(&b.memory, source);
        cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_OTHER_FORM);
        build_end(&b);
    }
}

/* ------------------------------------------------------------------ out */

/* Scalars and an array that each run makes, into the slots that they come from. */
struct counting {
    struct build b;
    struct mdf_value *slots[4];
};

static void begin_counting(struct counting *counting, const mdf_allocator *allocator)
{
    static const uint8_t truth = 0;
    static const int32_t small = 7;
    struct build *build = &counting->b;
    struct mdf_lowered_region *region;
    mdf_lowered_id ids[4];

    build_begin(build, allocator);
    region = &build->lowered->region;
    counting->slots[0] = build_array(build, MDF_DTYPE_FLOAT64, 0, NULL, numbers);
    counting->slots[1] = build_array(build, MDF_DTYPE_INT32, 1, one, &small);
    counting->slots[2] = build_array(build, MDF_DTYPE_BOOL, 0, NULL, &truth);
    counting->slots[3] = build_array(build, MDF_DTYPE_FLOAT64, 2, two_by_three, numbers);
    for (int i = 0; i < 4; i++) {
        ids[i] = build_input(build, counting->slots[i]);
    }
    build_output(build, counting->slots[1], build_element(build, region, MDF_LOWERED_ADD, MDF_DTYPE_INT32, IDS(ids[1], ids[1])));
    build_output(build, counting->slots[3],
                 build_group_element(build, region, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(ids[3], ids[0])));
    build_output(build, counting->slots[0],
                 build_element(build, region, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(ids[0], ids[0])));
    build_output(build, counting->slots[2], build_element(build, region, MDF_LOWERED_NOT, MDF_DTYPE_BOOL, &ids[2]));
    build_finish(build);
}

/* After `n` runs. */
static void check_counting(const struct counting *counting, int n)
{
    double power = 1, sum = 0;

    for (int i = 0; i < n; i++) {
        sum += power;
        power *= 2;
    }
    cr_expect_eq(build_element_of(counting->slots[0], 0), power);
    cr_expect_eq(build_element_of(counting->slots[1], 0), 7 * power);
    cr_expect_eq(build_element_of(counting->slots[2], 0), n % 2);
    for (size_t i = 0; i < 6; i++) {
        cr_expect_eq(build_element_of(counting->slots[3], i), numbers[i] + sum);
    }
}

Test(lowered_ports, slots_that_are_read_and_written)
{
    struct counting counting;
    struct mdf_value shared[4] = {{0}};

    begin_counting(&counting, NULL);
    for (int run = 0; run < 6; run++) {
        check_counting(&counting, run);
        cr_assert_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    }
    /* What others have a share in stays as it is. */
    for (int i = 0; i < 4; i++) {
        cr_assert(mdf_value_share(&counting.b.memory, &shared[i], counting.slots[i]));
    }
    for (int run = 6; run < 9; run++) {
        check_counting(&counting, run);
        cr_assert_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    }
    for (int i = 0; i < 4; i++) {
        mdf_value_swap(&shared[i], counting.slots[i]);
    }
    check_counting(&counting, 6);
    for (int i = 0; i < 4; i++) {
        mdf_value_clear(&counting.b.memory, &shared[i]);
    }
    build_end(&counting.b);
}

Test(lowered_ports, steady_runs_allocate_nothing)
{
    struct counting counting;
    size_t n_values, n_plain;

    begin_counting(&counting, NULL);
    cr_assert_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    cr_assert_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    n_values = atomic_load(&counting.b.memory.n_allocations);
    n_plain = atomic_load(&counting.b.plain.n_allocations);
    for (int run = 2; run < 7; run++) {
        cr_assert_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    }
    cr_expect_eq(atomic_load(&counting.b.memory.n_allocations), n_values);
    cr_expect_eq(atomic_load(&counting.b.plain.n_allocations), n_plain);
    check_counting(&counting, 7);
    build_end(&counting.b);
}

/* Whatever a slot held before: nothing, a list, another form, a borrowed array. */
Test(lowered_ports, slots_that_held_something_else)
{
    for (int i = 0; i < 8; i++) {
        double borrowed[3] = {7, 8, 9};
        struct mdf_value *slot;
        mdf_lowered_id v;
        struct build b;

        build_begin(&b, NULL);
        slot = build_slot(&b);
        switch (i / 2) {
        case 1:
            cr_assert_not_null(mdf_value_make_list(&b.memory, slot, 2));
            break;
        case 2:
            make(&b, slot, (struct form){MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, 1, three});
            break;
        case 3:
            mdf_value_borrow_tensor(&b.memory, slot, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, three, borrowed);
            break;
        default:
            break;
        }
        v = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, i % 2 ? three : one, numbers));
        build_output(&b, slot,
                     i % 2 ? build_group_element(&b, REGION, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &v)
                           : build_element(&b, REGION, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &v));
        build_finish(&b);
        for (int run = 0; run < 3; run++) {
            cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
            cr_assert(slot->kind == MDF_KIND_TENSOR && slot->length == (i % 2 ? 3 : 1) && slot->rank == 1);
            cr_expect_eq(build_element_of(slot, slot->length - 1), i % 2 ? -3 : -1);
            cr_expect_eq(slot->strength, MDF_STRENGTH_TYPED);
        }
        cr_expect_eq(borrowed[0], 7);
        build_end(&b);
    }
}

/* Slots exchange what they hold; one result goes to two slots; an input and a constant go out as they are. */
Test(lowered_ports, values_that_are_copied_out)
{
    struct mdf_value *first, *second, *slots[5];
    mdf_lowered_id a, c, sum;
    size_t n_values;
    struct build b;

    build_begin(&b, NULL);
    first = build_array(&b, MDF_DTYPE_FLOAT64, 1, three, numbers);
    second = build_array(&b, MDF_DTYPE_FLOAT64, 1, three, numbers + 3);
    a = build_input(&b, first);
    c = build_input(&b, second);
    for (int i = 0; i < 5; i++) {
        slots[i] = build_slot(&b);
    }
    sum = build_group_element(&b, REGION, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(a, c));
    build_output(&b, first, c);
    build_output(&b, slots[0], sum);
    build_output(&b, slots[1], sum);
    build_output(&b, second, a);
    build_output(&b, slots[2], build_constant(&b, MDF_DTYPE_FLOAT64, 2, two_by_three, numbers));
    build_output(&b, slots[3], build_real(&b, 2.5));
    build_output(&b, slots[4], a);
    build_finish(&b);
    for (int run = 0; run < 4; run++) {
        if (run == 2) {
            n_values = atomic_load(&b.memory.n_allocations);
        }
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        for (size_t i = 0; i < 3; i++) {
            cr_expect_eq(build_element_of(first, i), numbers[i + (run % 2 ? 0 : 3)]);
            cr_expect_eq(build_element_of(second, i), numbers[i + (run % 2 ? 3 : 0)]);
            cr_expect_eq(build_element_of(slots[0], i), numbers[i] + numbers[i + 3]);
            cr_expect_eq(build_element_of(slots[1], i), numbers[i] + numbers[i + 3]);
            cr_expect_eq(build_element_of(slots[2], i + 3), numbers[i + 3]);
            cr_expect_eq(build_element_of(slots[4], i), build_element_of(second, i));
        }
        cr_expect_eq(build_element_of(slots[3], 0), 2.5);
        cr_expect_neq(slots[0]->data, slots[1]->data);
    }
    cr_expect_eq(atomic_load(&b.memory.n_allocations), n_values);
    build_end(&b);
}

/* A slot that borrows what goes out goes on borrowing it. */
Test(lowered_ports, slots_that_have_it_already)
{
    struct mdf_value *source, *slot;
    struct build b;

    build_begin(&b, NULL);
    source = build_array(&b, MDF_DTYPE_FLOAT64, 1, three, numbers);
    slot = build_slot(&b);
    mdf_value_borrow_tensor(&b.memory, slot, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, three, source->data);
    build_output(&b, slot, build_input(&b, source));
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect_eq(slot->data, source->data);
    build_end(&b);
}

/* ------------------------------------------------------------------ memory that is refused */

struct failing {
    size_t n_calls, fail_at; /* the call from which on all are refused; 0: none */
};

static bool refuses(struct failing *failing)
{
    failing->n_calls++;
    return failing->fail_at != 0 && failing->n_calls >= failing->fail_at;
}

static void *allocate(void *context, size_t size)
{
    return refuses(context) ? NULL : malloc(size);
}

static void *reallocate(void *context, void *block, size_t size)
{
    return refuses(context) ? NULL : realloc(block, size);
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

static bool negate(struct mdf_call *call)
{
    const struct mdf_value *in = call->inputs[0];
    double *out = mdf_call_output(call, 0, MDF_DTYPE_FLOAT64, in->rank, mdf_value_shape(in));

    for (size_t i = 0; out != NULL && i < in->length; i++) {
        out[i] = -((const double *)in->data)[i];
    }
    return out != NULL;
}

enum { N_SLOTS = 7 };

/* A program with outputs of every kind: states, stacks of known and of unknown length, results of NEST and CALL, an input, a
 * scalar; in slots of which some hold something before. */
static void build_all(struct build *build, struct mdf_value *slots[])
{
    struct mdf_lowered_region *region = &build->lowered->region;
    mdf_lowered_id v = build_input(build, build_array(build, MDF_DTYPE_FLOAT64, 1, three, numbers)), f, result, state, next,
                   count;
    struct mdf_lowered_loop *loop = build_loop(build, region, 4);

    for (int i = 0; i < N_SLOTS; i++) {
        slots[i] = i % 2 ? build_slot(build) : build_array(build, MDF_DTYPE_INT64, 1, three, NULL);
    }
    state = build_state(build, loop, v);
    next = build_group_element(build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(state, build_real(build, 1)));
    build_next(build, loop, state, next);
    build_output(build, slots[0], state);
    build_output(build, slots[1], build_stack(build, loop, next, false));
    loop = build_loop(build, region, SIZE_MAX);
    count = build_state(build, loop, build_whole(build, 0));
    next = build_element(build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(count, build_whole(build, 1)));
    build_next(build, loop, count, next);
    build_condition(build, loop, build_bool(build, true),
                    build_element(build, &loop->body, MDF_LOWERED_LESS, MDF_DTYPE_INT64, IDS(next, build_whole(build, 3000))));
    build_output(build, slots[2], build_stack(build, loop, next, false));
    build_output(build, slots[3], count);
    f = build_group_element(build, region, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, v));
    build_output(build, slots[4], f);
    result = build_result(build, MDF_DTYPE_FLOAT64, 1, three);
    build_call(build, region, negate, NULL, 1, &f, 1, &result);
    build_output(build, slots[5], result);
    build_output(build, slots[6], v);
    build_finish(build);
}

static void check_all(struct mdf_value *const slots[])
{
    cr_expect(slots[0]->length == 3 && build_element_of(slots[0], 0) == 5);
    cr_expect(slots[1]->length == 12 && build_element_of(slots[1], 11) == 7);
    cr_expect(slots[2]->length == 3000 && build_element_of(slots[2], 2999) == 3000);
    cr_expect(build_element_of(slots[3], 0) == 3000);
    cr_expect(slots[4]->length == 3 && build_element_of(slots[4], 2) == 6);
    cr_expect(slots[5]->length == 3 && build_element_of(slots[5], 2) == -6);
    cr_expect(slots[6]->length == 3 && build_element_of(slots[6], 2) == 3);
}

/* Whichever allocation of whichever run is refused: the run bails out, all slots are as they were, nothing is lost, and the next
 * run does it all. */
Test(lowered_ports, a_refused_allocation_bails_out)
{
    for (int n_before = 0; n_before < 3; n_before++) {
        enum mdf_lowered_outcome outcome = MDF_LOWERED_BAILED_OUT;

        for (size_t n = 1; outcome == MDF_LOWERED_BAILED_OUT; n++) {
            struct failing failing = {0, 0};
            mdf_allocator allocator = {allocate, reallocate, release, &failing};
            struct mdf_value *slots[N_SLOTS], before[N_SLOTS];
            struct build b;

            build_begin(&b, &allocator);
            build_all(&b, slots);
            for (int run = 0; run < n_before; run++) {
                cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
            }
            for (int i = 0; i < N_SLOTS; i++) {
                before[i] = *slots[i];
            }
            failing.fail_at = failing.n_calls + n;
            outcome = mdf_lowered_run(b.lowered);
            failing.fail_at = 0;
            if (outcome == MDF_LOWERED_BAILED_OUT) {
                cr_expect_eq(b.context.error.code, MDF_OK);
                for (int i = 0; i < N_SLOTS; i++) {
                    cr_expect(memcmp(slots[i], &before[i], sizeof before[i]) == 0 || mdf_value_equal(slots[i], &before[i]),
                              "slot %d, allocation %zu", i, n);
                }
            } else {
                cr_assert_eq(outcome, MDF_LOWERED_DONE);
                check_all(slots);
            }
            cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
            check_all(slots);
            build_end(&b);
            cr_assert_lt(n, (size_t)100);
        }
    }
}

/* Memory for what a run makes first: tables, tiles of NEST. None is left in the arena, and it gets no more. */
Test(lowered_ports, no_memory_for_the_program_bails_out)
{
    struct counting counting;

    begin_counting(&counting, NULL);
    counting.b.plain.limit_bytes = 1;
    for (size_t size = 64; size > 0; size /= 2) {
        while (mdf_arena_allocate(&counting.b.lowered->arena, size) != NULL) {
        }
    }
    cr_expect_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_BAILED_OUT);
    check_counting(&counting, 0);
    counting.b.plain.limit_bytes = 0;
    cr_expect_eq(mdf_lowered_run(counting.b.lowered), MDF_LOWERED_DONE);
    check_counting(&counting, 1);
    build_end(&counting.b);
}
