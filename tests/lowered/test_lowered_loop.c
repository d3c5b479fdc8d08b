/* test_lowered_loop.c - LOOP in the lowered form, run plainly: bounds, states, rows, stacks, loops in loops. */
#include "mdf_c/machine/emit.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <string.h>

#define REGION (&b.lowered->region)
#define IDS(...) ((const mdf_lowered_id[]){__VA_ARGS__})

static const int64_t two[] = {2};

static mdf_lowered_id add(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id left, mdf_lowered_id right)
{
    return build_element(build, region, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(left, right));
}

static mdf_lowered_id less(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id left, mdf_lowered_id right)
{
    return build_element(build, region, MDF_LOWERED_LESS, MDF_DTYPE_INT64, IDS(left, right));
}

/* ------------------------------------------------------------------ bounds */

/* How often a loop runs that counts from 0 while the count is less than `last`. */
static const struct {
    int64_t trip_count; /* INT64_MAX: none is given */
    bool has_condition, condition;
    int64_t last;
    uint64_t limit;
    int64_t n_runs; /* -1: it bails out */
} bounds[] = {
    {5, false, false, 0, 0, 5},        {0, false, false, 0, 0, 0},
    {-7, false, false, 0, 0, 0},       {1, false, false, 0, 0, 1},
    {INT64_MAX, true, true, 4, 0, 4},  {INT64_MAX, true, false, 4, 0, 0},
    {3, true, true, 4, 0, 3},          {9, true, true, 4, 0, 4},
    {9, true, false, 4, 0, 0},         {9, true, true, 1, 0, 1},
    {5, false, false, 0, 5, 5},        {5, false, false, 0, 4, -1},
    {5, false, false, 0, 6, 5},        {INT64_MAX, false, false, 0, 6, -1},
    {INT64_MAX, true, true, 4, 3, -1}, {INT64_MAX, true, true, 4, 4, 4},
};

Test(lowered_loop, bounds)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct mdf_value *slots[2];
        struct mdf_lowered_loop *loop;
        mdf_lowered_id count, next, number, last;
        struct build b;

        build_begin(&b, NULL);
        loop = build_loop(&b, REGION, SIZE_MAX);
        if (bounds[i].trip_count != INT64_MAX) {
            loop->trip_count = build_input(&b, build_array(&b, MDF_DTYPE_INT64, 0, NULL, &bounds[i].trip_count));
        }
        loop->limit = bounds[i].limit;
        count = build_state(&b, loop, build_whole(&b, 0));
        number = build_state(&b, loop, build_whole(&b, -1));
        next = add(&b, &loop->body, count, build_whole(&b, 1));
        build_next(&b, loop, count, next);
        build_next(&b, loop, number, build_copy(&b, &loop->body, build_number(&b, loop)));
        last = less(&b, &loop->body, next, build_whole(&b, bounds[i].last));
        if (bounds[i].has_condition) {
            build_condition(&b, loop, build_bool(&b, bounds[i].condition), last);
        }
        slots[0] = build_slot(&b);
        slots[1] = build_slot(&b);
        build_output(&b, slots[0], count);
        build_output(&b, slots[1], number);
        build_finish(&b);
        cr_expect_eq(mdf_lowered_run(b.lowered), bounds[i].n_runs < 0 ? MDF_LOWERED_BAILED_OUT : MDF_LOWERED_DONE, "case %zu", i);
        if (bounds[i].n_runs >= 0) {
            cr_expect_eq(build_element_of(slots[0], 0), (double)bounds[i].n_runs, "case %zu", i);
            cr_expect_eq(build_element_of(slots[1], 0), (double)(bounds[i].n_runs - 1), "case %zu", i);
        }
        build_end(&b);
    }
}

Test(lowered_loop, is_going_on_is_true_in_the_body)
{
    struct mdf_value *slot;
    struct mdf_lowered_loop *loop;
    mdf_lowered_id state;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, 2);
    state = build_state(&b, loop, build_bool(&b, false));
    build_next(&b, loop, state, build_copy(&b, &loop->body, build_going_on(&b, loop)));
    slot = build_slot(&b);
    build_output(&b, slot, state);
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect_eq(build_element_of(slot, 0), 1);
    build_end(&b);
}

Test(lowered_loop, an_interruption_bails_out)
{
    struct mdf_stop stop;
    struct mdf_value *slot;
    struct mdf_lowered_loop *loop;
    mdf_lowered_id count;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, SIZE_MAX);
    count = build_state(&b, loop, build_whole(&b, 0));
    build_next(&b, loop, count, add(&b, &loop->body, count, build_whole(&b, 1)));
    slot = build_slot(&b);
    build_output(&b, slot, count);
    build_finish(&b);
    mdf_stop_init(&stop);
    mdf_stop_ask(&stop);
    b.context.stop = &stop;
    cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_BAILED_OUT); /* it would not end */
    cr_expect_eq(slot->kind, MDF_KIND_NONE);
    build_end(&b);
}

/* ------------------------------------------------------------------ states */

/* a, b = b, a + b: of scalars (Fibonacci numbers) and of arrays, whose states change places by copies of themselves. */
Test(lowered_loop, states_that_change_places)
{
    const int64_t starts[2][2] = {{0, 10}, {1, 20}};
    struct mdf_value *slots[4];
    mdf_lowered_id states[4], initial[4];
    struct mdf_lowered_loop *loop;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, 9);
    for (int i = 0; i < 4; i++) {
        initial[i] = build_input(&b, build_array(&b, MDF_DTYPE_INT64, i / 2 ? 1 : 0, two, starts[i % 2]));
        states[i] = build_state(&b, loop, initial[i]);
    }
    build_next(&b, loop, states[0], build_copy(&b, &loop->body, states[1]));
    build_next(&b, loop, states[1], add(&b, &loop->body, states[0], states[1]));
    build_next(&b, loop, states[2], build_copy(&b, &loop->body, states[3]));
    build_next(&b, loop, states[3],
               build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(states[2], states[3])));
    for (int i = 0; i < 4; i++) {
        slots[i] = build_slot(&b);
        build_output(&b, slots[i], states[i]);
    }
    build_finish(&b);
    for (int run = 0; run < 3; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build_element_of(slots[0], 0), 34);
        cr_expect_eq(build_element_of(slots[1], 0), 55);
        cr_expect_eq(build_element_of(slots[2], 0), 34);
        cr_expect_eq(build_element_of(slots[3], 0), 55);
        cr_expect_eq(build_element_of(slots[2], 1), 21 * 10 + 34 * 20);
        cr_expect_eq(build_element_of(slots[3], 1), 34 * 10 + 55 * 20);
    }
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(build_element_of(b.lowered->values[initial[i]].source, 0), (double)starts[i % 2][0]);
    }
    build_end(&b);
}

/* Without a run, states are what they were at first. */
Test(lowered_loop, no_runs)
{
    const double numbers[] = {5, 6};
    struct mdf_value *slots[2];
    struct mdf_lowered_loop *loop;
    mdf_lowered_id v, x;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, 0);
    v = build_state(&b, loop, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, two, numbers)));
    x = build_state(&b, loop, build_real(&b, 2.5));
    build_next(&b, loop, v, build_group_element(&b, &loop->body, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &v));
    build_next(&b, loop, x, build_element(&b, &loop->body, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &x));
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    build_output(&b, slots[0], v);
    build_output(&b, slots[1], x);
    build_finish(&b);
    for (int run = 0; run < 2; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect(build_element_of(slots[0], 0) == 5 && build_element_of(slots[0], 1) == 6);
        cr_expect_eq(build_element_of(slots[1], 0), 2.5);
    }
    build_end(&b);
}

/* The sum over i < 4 and j <= i of 10 * i + j, with the inner loop's trip count made by the outer body, and an array that grows
 * by one in each inner run. */
Test(lowered_loop, loops_in_loops)
{
    const int64_t zeros[] = {0, 100};
    struct mdf_value *slots[2];
    struct mdf_lowered_loop *outer, *inner;
    mdf_lowered_id sum, inner_sum, i, j, v, inner_v, ten_i;
    struct build b;

    build_begin(&b, NULL);
    outer = build_loop(&b, REGION, 4);
    sum = build_state(&b, outer, build_whole(&b, 0));
    v = build_state(&b, outer, build_input(&b, build_array(&b, MDF_DTYPE_INT64, 1, two, zeros)));
    i = build_number(&b, outer);
    ten_i = build_element(&b, &outer->body, MDF_LOWERED_MULTIPLY, MDF_DTYPE_INT64, IDS(i, build_whole(&b, 10)));
    mdf_lowered_id count = add(&b, &outer->body, i, build_whole(&b, 1));
    inner = build_loop(&b, &outer->body, SIZE_MAX);
    inner->trip_count = count;
    inner_sum = build_state(&b, inner, sum);
    inner_v = build_state(&b, inner, v);
    j = build_number(&b, inner);
    build_next(&b, inner, inner_sum, add(&b, &inner->body, inner_sum, add(&b, &inner->body, ten_i, j)));
    build_next(&b, inner, inner_v,
               build_group_element(&b, &inner->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(inner_v, build_whole(&b, 1))));
    build_next(&b, outer, sum, build_copy(&b, &outer->body, inner_sum));
    build_next(&b, outer, v, build_copy(&b, &outer->body, inner_v));
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    build_output(&b, slots[0], sum);
    build_output(&b, slots[1], v);
    build_finish(&b);
    for (int run = 0; run < 3; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build_element_of(slots[0], 0), 210);
        cr_expect_eq(build_element_of(slots[1], 0), 10);
        cr_expect_eq(build_element_of(slots[1], 1), 110);
    }
    build_end(&b);
}

/* If in a loop, whose array results become the state by a copy: every second run adds, the others multiply. */
Test(lowered_loop, merged_arrays_as_states)
{
    const double numbers[] = {1, 2};
    struct mdf_lowered_loop *loop;
    struct mdf_lowered_if *branches;
    mdf_lowered_id v, added, doubled, is_odd, remainder;
    struct mdf_value *slot;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, 6);
    v = build_state(&b, loop, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, two, numbers)));
    remainder =
        build_element(&b, &loop->body, MDF_LOWERED_REMAINDER, MDF_DTYPE_INT64, IDS(build_number(&b, loop), build_whole(&b, 2)));
    is_odd = build_cast(&b, &loop->body, MDF_DTYPE_BOOL, remainder);
    branches = build_if(&b, &loop->body, is_odd);
    added = build_group_element(&b, &branches->then, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, build_real(&b, 1)));
    doubled = build_group_element(&b, &branches->otherwise, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, v));
    build_next(&b, loop, v, build_copy(&b, &loop->body, build_merge(&b, branches, added, doubled)));
    slot = build_slot(&b);
    build_output(&b, slot, v);
    build_finish(&b);
    for (int run = 0; run < 2; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build_element_of(slot, 0), 15); /* 1 2 3 6 7 14 15 */
        cr_expect_eq(build_element_of(slot, 1), 23);
    }
    build_end(&b);
}

/* ------------------------------------------------------------------ rows and stacks */

enum { N_ROWS = 5, N_COLUMNS = 2 };

/* A scan over scalars and over rows of a matrix, in either direction: running sums, stacked by copy and directly, in either
 * direction. */
static void check_scan(bool rows_reversed, bool stacks_reversed, bool is_copied)
{
    const int64_t length = N_ROWS, sizes[] = {N_ROWS, N_COLUMNS};
    double numbers[N_ROWS], matrix[N_ROWS][N_COLUMNS];
    struct mdf_value *slots[4];
    struct mdf_lowered_loop *loop;
    mdf_lowered_id s, v, x, row, next_s, next_v, zeros;
    struct build b;

    for (int i = 0; i < N_ROWS; i++) {
        numbers[i] = i + 1;
        for (int j = 0; j < N_COLUMNS; j++) {
            matrix[i][j] = 10 * (i + 1) + j;
        }
    }
    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, N_ROWS);
    s = build_state(&b, loop, build_real(&b, 0));
    zeros = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, two, NULL));
    v = build_state(&b, loop, zeros);
    x = build_rows(&b, loop, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, &length, numbers)), rows_reversed);
    row = build_rows(&b, loop, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 2, sizes, matrix)), rows_reversed);
    next_s = build_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(s, x));
    next_v = build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, row));
    next_v = is_copied ? build_copy(&b, &loop->body, next_v) : next_v;
    build_next(&b, loop, s, next_s);
    build_next(&b, loop, v, next_v);
    for (int i = 0; i < 4; i++) {
        slots[i] = build_slot(&b);
    }
    build_output(&b, slots[0], s);
    build_output(&b, slots[1], v);
    build_output(&b, slots[2], build_stack(&b, loop, next_s, stacks_reversed));
    build_output(&b, slots[3], build_stack(&b, loop, next_v, stacks_reversed));
    build_finish(&b);
    cr_expect_eq(loop->stacks[1].is_direct, !is_copied);
    cr_expect_eq(loop->states[1].storage, is_copied ? MDF_LOWERED_IN_PLACE : MDF_LOWERED_IN_STACK);
    for (int run = 0; run < 3; run++) {
        double sum = 0, sums[N_COLUMNS] = {0};

        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_assert(slots[2]->rank == 1 && slots[2]->length == N_ROWS && slots[3]->rank == 2 &&
                  slots[3]->shape.sizes[0] == N_ROWS && slots[3]->length == (size_t)N_ROWS * N_COLUMNS);
        for (size_t i = 0; i < N_ROWS; i++) {
            size_t from = rows_reversed ? N_ROWS - 1 - i : i, to = stacks_reversed ? N_ROWS - 1 - i : i;

            sum += numbers[from];
            cr_expect_eq(build_element_of(slots[2], to), sum);
            for (size_t j = 0; j < N_COLUMNS; j++) {
                sums[j] += matrix[from][j];
                cr_expect_eq(build_element_of(slots[3], to * N_COLUMNS + j), sums[j]);
            }
        }
        cr_expect_eq(build_element_of(slots[0], 0), sum);
        cr_expect(build_element_of(slots[1], 0) == sums[0] && build_element_of(slots[1], 1) == sums[1]);
        cr_expect_eq(build_element_of(b.lowered->values[zeros].source, 0), 0);
    }
    build_end(&b);
}

Test(lowered_loop, rows_and_stacks)
{
    for (int i = 0; i < 8; i++) {
        check_scan((i & 1) != 0, (i & 2) != 0, (i & 4) != 0);
    }
}

/* A state that is stacked as each run finds it lies in that stack, and with it what it is next, where that is stacked, too; each
 * time from where it begins now. */
static void check_held_state(size_t n_runs, bool stacks_next, bool is_emitted)
{
    const int64_t sizes[] = {N_ROWS, N_COLUMNS};
    double matrix[N_ROWS * N_COLUMNS];
    mdf_lowered_id v, row, next, before, both;
    struct mdf_value *start, *sums, *last;
    struct mdf_lowered_loop *loop;
    struct build b;

    for (int i = 0; i < N_ROWS * N_COLUMNS; i++) {
        matrix[i] = 1 + i * i;
    }
    build_begin(&b, NULL);
    start = build_array(&b, MDF_DTYPE_FLOAT64, 1, two, NULL);
    loop = build_loop(&b, REGION, n_runs);
    v = build_state(&b, loop, build_input(&b, start));
    row = build_rows(&b, loop, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 2, sizes, matrix)), false);
    next = build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, row));
    build_next(&b, loop, v, next);
    before = build_stack(&b, loop, v, false);
    both = stacks_next ? build_stack(&b, loop, next, false) : before;
    both = build_group_element(&b, REGION, MDF_LOWERED_SUBTRACT, MDF_DTYPE_FLOAT64, IDS(both, before));
    build_output(&b, sums = build_slot(&b),
                 build_group_element(&b, REGION, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(both, before)));
    build_output(&b, last = build_slot(&b), v);
    build_finish(&b);
    cr_expect(loop->stacks[0].is_direct && loop->states[0].storage == MDF_LOWERED_IN_STACK);
    if (is_emitted) {
        mdf_lowered_emit(b.lowered);
    }
    for (int run = 0; run < 3; run++) {
        double sum[N_COLUMNS];

        for (size_t j = 0; j < N_COLUMNS; j++) {
            ((double *)start->data)[j] = sum[j] = 1000.0 * run + (double)j;
        }
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        for (size_t i = 0; i < n_runs * N_COLUMNS; i++) {
            double old = sum[i % N_COLUMNS];

            sum[i % N_COLUMNS] += matrix[i];
            cr_expect_eq(build_element_of(sums, i), stacks_next ? sum[i % N_COLUMNS] : old);
        }
        cr_expect(build_element_of(last, 0) == sum[0] && build_element_of(last, 1) == sum[1]);
    }
    build_end(&b);
}

Test(lowered_loop, states_lie_in_their_stacks)
{
    for (int i = 0; i < 4; i++) {
        check_held_state(N_ROWS, (i & 1) != 0, (i & 2) != 0);
        check_held_state(1, (i & 1) != 0, (i & 2) != 0);
    }
}

/* Sequences of a batch, each of its own length: what they stack is zeros behind it. A length that no sequence has bails out. */
Test(lowered_loop, padded_stacks)
{
    enum { BATCH = 2, LENGTH = 4 };
    static const int64_t starts[][BATCH] = {{4, 2}, {0, 1}, {0, 0}, {3, 4}, {5, 1}, {1, -1}, {2, 2}};
    const int64_t batch[] = {BATCH}, sizes[] = {BATCH, LENGTH, N_COLUMNS};
    double numbers[BATCH][LENGTH][N_COLUMNS];
    struct mdf_value *lengths, *slots[2];
    struct mdf_lowered_loop *outer, *inner;
    mdf_lowered_id v, row, next, entry, stack;
    struct build b;

    for (int i = 0; i < BATCH * LENGTH * N_COLUMNS; i++) {
        (&numbers[0][0][0])[i] = i + 1;
    }
    build_begin(&b, NULL);
    lengths = build_array(&b, MDF_DTYPE_INT64, 1, batch, starts[0]);
    outer = build_loop(&b, REGION, BATCH);
    entry = build_rows(&b, outer, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 3, sizes, numbers)), false);
    row = build_rows(&b, outer, build_input(&b, lengths), false);
    inner = build_loop(&b, &outer->body, SIZE_MAX);
    inner->trip_count = row;
    inner->n_padded = LENGTH;
    v = build_state(&b, inner, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, two, NULL)));
    row = build_rows(&b, inner, entry, true);
    next = build_group_element(&b, &inner->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(v, row));
    build_next(&b, inner, v, next);
    stack = build_stack(&b, inner, next, false);
    for (int i = 0; i < 2; i++) {
        slots[i] = build_slot(&b);
        build_output(&b, slots[i], build_stack(&b, outer, i == 0 ? stack : v, false));
    }
    build_finish(&b);
    cr_assert(inner->stacks[0].is_placed && inner->states[0].storage == MDF_LOWERED_IN_STACK);
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        bool is_possible = starts[k][0] <= LENGTH && starts[k][1] >= 0;

        memcpy(lengths->data, starts[k], sizeof starts[k]);
        cr_assert_eq(mdf_lowered_run(b.lowered), is_possible ? MDF_LOWERED_DONE : MDF_LOWERED_BAILED_OUT, "case %zu", k);
        for (size_t i = 0; is_possible && i < BATCH; i++) {
            double sums[N_COLUMNS] = {0};

            for (size_t t = 0; t < LENGTH; t++) {
                for (size_t j = 0; j < N_COLUMNS; j++) {
                    bool runs = (int64_t)t < starts[k][i];

                    sums[j] += runs ? numbers[i][(size_t)starts[k][i] - 1 - t][j] : 0;
                    cr_expect_eq(build_element_of(slots[0], (i * LENGTH + t) * N_COLUMNS + j), runs ? sums[j] : 0, "case %zu", k);
                }
            }
            for (size_t j = 0; j < N_COLUMNS; j++) {
                cr_expect_eq(build_element_of(slots[1], i * N_COLUMNS + j), sums[j], "case %zu", k);
            }
        }
    }
    build_end(&b);
}

/* Stacks of as many items as a condition lets there be, more than there is room for at first, and fewer the next time; one of
 * scalars, one of arrays copied, one of arrays written in place. */
Test(lowered_loop, stacks_that_grow)
{
    static const int64_t counts[] = {3, 5000, 2, 1, 7000, 7000, 10};
    struct mdf_value *last, *slots[3];
    struct mdf_lowered_loop *loop;
    mdf_lowered_id count, next, pair, twice;
    int64_t n = 0;
    struct build b;

    build_begin(&b, NULL);
    last = build_array(&b, MDF_DTYPE_INT64, 0, NULL, &n);
    loop = build_loop(&b, REGION, SIZE_MAX);
    count = build_state(&b, loop, build_whole(&b, 0));
    next = add(&b, &loop->body, count, build_whole(&b, 1));
    pair = build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64,
                               IDS(build_input(&b, build_array(&b, MDF_DTYPE_INT64, 1, two, (int64_t[]){0, 1000000})), count));
    twice = build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(pair, pair));
    build_next(&b, loop, count, next);
    build_condition(&b, loop, build_bool(&b, true), less(&b, &loop->body, next, build_input(&b, last)));
    for (int i = 0; i < 3; i++) {
        slots[i] = build_slot(&b);
        build_output(&b, slots[i], build_stack(&b, loop, i == 0 ? next : i == 1 ? pair : twice, false));
    }
    build_finish(&b);
    for (size_t run = 0; run < sizeof counts / sizeof *counts; run++) {
        *(int64_t *)last->data = counts[run];
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_assert(slots[0]->length == (size_t)counts[run] && slots[1]->shape.sizes[0] == counts[run] &&
                  slots[2]->length == 2 * (size_t)counts[run]);
        for (size_t i = 0; i < (size_t)counts[run]; i++) {
            cr_assert_eq(build_element_of(slots[0], i), (double)i + 1);
            cr_assert_eq(build_element_of(slots[1], 2 * i + 1), (double)i + 1000000);
            cr_assert_eq(build_element_of(slots[2], 2 * i), 2 * (double)i);
            cr_assert_eq(build_element_of(slots[2], 2 * i + 1), 2 * ((double)i + 1000000));
        }
    }
    build_end(&b);
}

/* An item of one element still becomes an array, as does none; where the model has something else then, an op bails out. */
Test(lowered_loop, stacks_of_one_item_and_of_none)
{
    static const int64_t counts[] = {1, 0};
    struct mdf_value *trips, *slot;
    struct mdf_lowered_loop *loop;
    struct build b;

    build_begin(&b, NULL);
    trips = build_array(&b, MDF_DTYPE_INT64, 0, NULL, &counts[0]);
    loop = build_loop(&b, REGION, SIZE_MAX);
    loop->trip_count = build_input(&b, trips);
    slot = build_slot(&b);
    build_output(&b, slot, build_stack(&b, loop, build_copy(&b, &loop->body, build_number(&b, loop)), false));
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect(slot->rank == 1 && slot->length == 1 && build_element_of(slot, 0) == 0);
    *(int64_t *)trips->data = counts[1];
    cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect(slot->rank == 1 && slot->length == 0);
    build_end(&b);
}

/* A trip count that no memory could hold. */
Test(lowered_loop, too_many_items_bail_out)
{
    const int64_t huge = INT64_MAX;
    struct mdf_value *slot;
    struct mdf_lowered_loop *loop;
    struct build b;

    build_begin(&b, NULL);
    loop = build_loop(&b, REGION, SIZE_MAX);
    loop->trip_count = build_input(&b, build_array(&b, MDF_DTYPE_INT64, 0, NULL, &huge));
    slot = build_slot(&b);
    build_output(&b, slot, build_stack(&b, loop, build_copy(&b, &loop->body, build_number(&b, loop)), false));
    build_finish(&b);
    cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_BAILED_OUT);
    cr_expect_eq(slot->kind, MDF_KIND_NONE);
    build_end(&b);
}

/* A stack made in each run of an outer loop, read there, and a stack of stacks. */
Test(lowered_loop, stacks_in_loops)
{
    struct mdf_value *slot;
    struct mdf_lowered_loop *outer, *inner;
    mdf_lowered_id i, number, items, doubled;
    struct build b;

    build_begin(&b, NULL);
    outer = build_loop(&b, REGION, 4);
    i = build_number(&b, outer);
    inner = build_loop(&b, &outer->body, 3);
    number = build_element(&b, &inner->body, MDF_LOWERED_MULTIPLY, MDF_DTYPE_INT64, IDS(build_number(&b, inner), i));
    items = build_stack(&b, inner, number, true);
    doubled = build_group_element(&b, &outer->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(items, items));
    slot = build_slot(&b);
    build_output(&b, slot, build_stack(&b, outer, doubled, false));
    build_finish(&b);
    for (int run = 0; run < 2; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        for (size_t j = 0; j < 12; j++) {
            cr_expect_eq(build_element_of(slot, j), 2.0 * (double)(j / 3) * (double)(2 - j % 3));
        }
    }
    build_end(&b);
}
