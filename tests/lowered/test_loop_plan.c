/* test_loop_plan.c - where loops have their states and stacks: each row of the tables in docs/lowered.md, and that the verifier
 * refuses what is planned otherwise. That all ways of running give the same bits then is held by test_emit_nest.c,
 * test_lowered_loop.c and random models. */
#include "mdf_c/lowered/loop_plan.h"

#include "mdf_c/lowered/verify.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>

enum { N = 10 };

#define IDS(...) ((const mdf_lowered_id[]){__VA_ARGS__})

static const int64_t shape[] = {N};

/* A loop of three runs with one state, an array. */
struct looped {
    struct build build;
    struct mdf_lowered_loop *loop;
    struct mdf_lowered_region *body;
    mdf_lowered_id state, other;
};

static void begin(struct looped *looped, size_t n_runs)
{
    build_begin(&looped->build, NULL);
    looped->other = build_input(&looped->build, build_array(&looped->build, MDF_DTYPE_FLOAT64, 1, shape, NULL));
    looped->loop = build_loop(&looped->build, &looped->build.lowered->region, n_runs);
    looped->body = &looped->loop->body;
    looped->state = build_state(&looped->build, looped->loop, looped->other);
}

static mdf_lowered_id add(struct looped *looped, mdf_lowered_id a, mdf_lowered_id b)
{
    return build_group_element(&looped->build, looped->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(a, b));
}

static void stack(struct looped *looped, mdf_lowered_id item)
{
    build_output(&looped->build, build_slot(&looped->build), build_stack(&looped->build, looped->loop, item, false));
}

static void expect(struct looped *looped, mdf_lowered_id next, enum mdf_lowered_storage storage, const char *what)
{
    struct mdf_lowered_state *state = &looped->loop->states[0];
    struct mdf_text why;

    build_next(&looped->build, looped->loop, looped->state, next);
    build_output(&looped->build, build_slot(&looped->build), looped->state);
    build_finish(&looped->build);
    cr_expect_eq(state->storage, storage, "%s", what);
    mdf_text_init(&why, &looped->build.plain);
    cr_expect(mdf_lowered_verify(looped->build.lowered, &why), "%s: %s", what, why.bytes);
    if (storage == MDF_LOWERED_TWO_BUFFERS) {
        state->storage = MDF_LOWERED_IN_PLACE;
        cr_expect_not(mdf_lowered_verify(looped->build.lowered, &why), "%s: planned otherwise", what);
        state->storage = MDF_LOWERED_IN_STACK;
        cr_expect_not(mdf_lowered_verify(looped->build.lowered, &why), "%s: planned otherwise", what);
        state->storage = MDF_LOWERED_TWO_BUFFERS;
    }
    mdf_text_release(&why);
    build_end(&looped->build);
}

Test(loop_plan, in_place)
{
    struct looped looped;
    mdf_lowered_id next;

    begin(&looped, 3);
    expect(&looped, add(&looped, looped.state, looped.other), MDF_LOWERED_IN_PLACE, "read where it is written");
    begin(&looped, 3);
    next = add(&looped, add(&looped, looped.state, looped.state), looped.other);
    expect(&looped, next, MDF_LOWERED_IN_PLACE, "read before, then not");
    begin(&looped, 3);
    next = add(&looped, looped.state, looped.other);
    stack(&looped, add(&looped, next, next));
    expect(&looped, next, MDF_LOWERED_IN_PLACE, "what it becomes is read");
}

/* What is put into a state is put where it lies, also in a row; not where the old elements are wanted. */
Test(loop_plan, puts)
{
    struct looped looped;
    mdf_lowered_id one, index, first, second;

    begin(&looped, 3);
    one = build_real(&looped.build, 1.5);
    index = build_whole(&looped.build, -1);
    first = build_put(&looped.build, looped.body, looped.state, one, index);
    second = build_put(&looped.build, looped.body, first, one, index);
    expect(&looped, second, MDF_LOWERED_IN_PLACE, "put into what was put into it");
    begin(&looped, 3);
    one = build_real(&looped.build, 1.5);
    index = build_whole(&looped.build, 2);
    first = build_put(&looped.build, looped.body, looped.state, one, index);
    second = build_put(&looped.build, looped.body, looped.other, one, index);
    stack(&looped, second);
    expect(&looped, first, MDF_LOWERED_IN_PLACE, "another array is copied");
    begin(&looped, 3);
    one = build_real(&looped.build, 1.5);
    index = build_whole(&looped.build, 2);
    first = build_put(&looped.build, looped.body, looped.state, one, index);
    stack(&looped, first);
    second = build_put(&looped.build, looped.body, first, one, index);
    expect(&looped, second, MDF_LOWERED_TWO_BUFFERS, "stacked in between");
    begin(&looped, 3);
    one = build_real(&looped.build, 1.5);
    index = build_whole(&looped.build, 2);
    first = build_put(&looped.build, looped.body, looped.state, one, index);
    stack(&looped, add(&looped, first, looped.state));
    expect(&looped, first, MDF_LOWERED_TWO_BUFFERS, "read as it was");
}

/* A state goes on where it lies through loops, branches and puts; not where something else may know it, or reads it as it was. */
Test(loop_plan, branches)
{
    enum { PUT_IN_ONE, LOOP_IN_ONE, PUT_BEHIND, TWO_NAMES, NAMED_WITHIN, ANOTHER_ARRAY, READ_BEHIND, N_KINDS };
    static const char *const names[] = {"put in one branch",    "a loop in one branch", "a put behind a loop", "two names",
                                        "a name in the branch", "another array",        "read behind"};

    for (int kind = PUT_IN_ONE; kind < N_KINDS; kind++) {
        struct looped looped;
        struct build *build = &looped.build;
        struct mdf_lowered_if *branches;
        struct mdf_lowered_loop *inner;
        mdf_lowered_id one, index, made, merged;

        begin(&looped, 3);
        one = build_real(build, 1.5);
        index = build_whole(build, 2);
        branches = build_if(build, looped.body, build_bool(build, true));
        if (kind == LOOP_IN_ONE || kind == PUT_BEHIND) {
            inner = build_loop(build, &branches->then, 2);
            made = build_state(build, inner, looped.state);
            build_next(build, inner, made, build_put(build, &inner->body, made, one, index));
        } else {
            made = build_put(build, &branches->then, kind == ANOTHER_ARRAY ? looped.other : looped.state, one, index);
        }
        merged = build_merge(build, branches, made, looped.state);
        if (kind == TWO_NAMES || kind == NAMED_WITHIN) {
            stack(&looped, build_merge(build, branches, kind == TWO_NAMES ? looped.other : made, looped.state));
        }
        if (kind == READ_BEHIND) {
            stack(&looped, add(&looped, looped.state, looped.other));
        }
        expect(&looped,
               kind == PUT_BEHIND ? build_put(build, looped.body, merged, one, index) : build_copy(build, looped.body, merged),
               kind <= PUT_BEHIND ? MDF_LOWERED_IN_PLACE : MDF_LOWERED_TWO_BUFFERS, names[kind]);
    }
}

Test(loop_plan, two_buffers)
{
    struct looped looped;
    mdf_lowered_id next, item;

    begin(&looped, 3);
    next = add(&looped, looped.state, looped.other);
    stack(&looped, add(&looped, next, looped.state));
    expect(&looped, next, MDF_LOWERED_TWO_BUFFERS, "read later");
    begin(&looped, 3);
    next = add(&looped, looped.state, looped.other);
    stack(&looped, looped.state);
    expect(&looped, next, MDF_LOWERED_TWO_BUFFERS, "stacked behind the body");
    begin(&looped, 3);
    next = build_copy(&looped.build, looped.body, looped.other);
    expect(&looped, next, MDF_LOWERED_TWO_BUFFERS, "made by an op that has memory of its own");
    begin(&looped, 3);
    {
        struct mdf_lowered_if *branches = build_if(&looped.build, looped.body, build_bool(&looped.build, true));

        item = build_merge(&looped.build, branches, looped.state, looped.other);
    }
    next = add(&looped, looped.other, looped.other);
    stack(&looped, item);
    expect(&looped, next, MDF_LOWERED_TWO_BUFFERS, "known by another name");
}

Test(loop_plan, stacks)
{
    struct looped looped;
    mdf_lowered_id next;

    begin(&looped, 3);
    next = add(&looped, looped.state, looped.other);
    stack(&looped, next);
    stack(&looped, next);
    expect(&looped, next, MDF_LOWERED_IN_STACK, "written in its stack");
    begin(&looped, SIZE_MAX);
    build_condition(&looped.build, looped.loop, build_bool(&looped.build, true), build_bool(&looped.build, false));
    next = add(&looped, looped.state, looped.other);
    stack(&looped, next);
    stack(&looped, add(&looped, next, next));
    expect(&looped, next, MDF_LOWERED_IN_PLACE, "a stack that grows would be moved");
    begin(&looped, 3);
    next = build_copy(&looped.build, looped.body, looped.other);
    stack(&looped, next);
    expect(&looped, next, MDF_LOWERED_TWO_BUFFERS, "an item that is copied");
}

Test(loop_plan, items_are_written_once)
{
    struct looped looped;
    mdf_lowered_id item;

    begin(&looped, SIZE_MAX);
    looped.loop->trip_count = build_whole(&looped.build, 4);
    item = add(&looped, looped.other, looped.other);
    stack(&looped, item);
    stack(&looped, item);
    build_next(&looped.build, looped.loop, looped.state, add(&looped, looped.state, looped.other));
    build_finish(&looped.build);
    cr_expect(looped.loop->stacks[0].is_direct && !looped.loop->stacks[1].is_direct);
    looped.loop->stacks[1].is_direct = true;
    cr_expect_not(mdf_lowered_plan_holds(looped.build.lowered, looped.loop));
    build_end(&looped.build);
}

/* What a loop in the body stacks lies in the stack around, unless it grows, or is in a branch. */
Test(loop_plan, stacks_of_stacks)
{
    enum { KNOWN, PADDED, GROWS, IN_BRANCH, N_KINDS };
    static const char *const names[] = {"known", "padded", "grows", "in a branch"};

    for (int kind = KNOWN; kind < N_KINDS; kind++) {
        struct looped looped;
        struct build *build = &looped.build;
        struct mdf_lowered_region *region;
        struct mdf_lowered_if *branches = NULL;
        struct mdf_lowered_loop *inner;
        struct mdf_text why;
        mdf_lowered_id item;

        begin(&looped, 3);
        branches = kind == IN_BRANCH ? build_if(build, looped.body, build_bool(build, true)) : NULL;
        region = branches != NULL ? &branches->then : looped.body;
        inner = build_loop(build, region, kind == PADDED || kind == GROWS ? SIZE_MAX : 2);
        inner->trip_count = kind == PADDED || kind == GROWS ? build_whole(build, 2) : MDF_LOWERED_NONE;
        inner->n_padded = kind == PADDED ? 2 : 0;
        item = build_group_element(build, &inner->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(looped.state, looped.other));
        item = build_stack(build, inner, item, false);
        if (branches != NULL) {
            item = build_merge(build, branches, item,
                               build_input(build, build_array(build, MDF_DTYPE_FLOAT64, 2, (const int64_t[]){2, N}, NULL)));
        }
        stack(&looped, item);
        build_next(build, looped.loop, looped.state, add(&looped, looped.state, looped.other));
        build_finish(build);
        mdf_text_init(&why, &build->plain);
        cr_expect_eq(looped.loop->stacks[0].is_direct, kind < GROWS, "%s", names[kind]);
        cr_expect_eq(inner->stacks[0].is_placed, kind < GROWS, "%s", names[kind]);
        cr_expect(mdf_lowered_verify(build->lowered, &why), "%s: %s", names[kind], why.bytes);
        inner->stacks[0].is_placed = !inner->stacks[0].is_placed;
        cr_expect_not(mdf_lowered_verify(build->lowered, &why), "%s: planned otherwise", names[kind]);
        inner->stacks[0].is_placed = !inner->stacks[0].is_placed;
        mdf_text_release(&why);
        build_end(build);
    }
}

/* A loop may be padded that nothing but a trip count bounds. */
Test(loop_plan, padded_loops)
{
    struct looped looped;
    struct mdf_text why;

    begin(&looped, SIZE_MAX);
    looped.loop->trip_count = build_whole(&looped.build, 2);
    looped.loop->n_padded = 4;
    stack(&looped, add(&looped, looped.state, looped.other));
    build_next(&looped.build, looped.loop, looped.state, build_copy(&looped.build, looped.body, looped.other));
    build_finish(&looped.build);
    mdf_text_init(&why, &looped.build.plain);
    cr_expect(mdf_lowered_verify(looped.build.lowered, &why), "%s", why.bytes);
    looped.loop->limit = 3;
    cr_expect_not(mdf_lowered_verify(looped.build.lowered, &why));
    looped.loop->limit = 0;
    looped.loop->n_runs = 2;
    cr_expect_not(mdf_lowered_verify(looped.build.lowered, &why));
    looped.loop->n_runs = SIZE_MAX;
    looped.loop->trip_count = MDF_LOWERED_NONE;
    cr_expect_not(mdf_lowered_verify(looped.build.lowered, &why));
    mdf_text_release(&why);
    build_end(&looped.build);
}

/* ------------------------------------------------------------------ nests */

static uint8_t step(struct looped *looped, struct mdf_lowered_nest *nest, struct mdf_nest_step step)
{
    step.dtype = step.operand_dtype = MDF_DTYPE_FLOAT64;
    step.view.at = MDF_NEST_NONE;
    step.lanes = 1;
    return build_nest_step(&looped->build, nest, step);
}

static uint8_t load(struct looped *looped, struct mdf_lowered_nest *nest, mdf_lowered_id id, int64_t outer, int64_t inner)
{
    return step(looped, nest,
                (struct mdf_nest_step){.kind = MDF_NEST_LOAD, .level = 2, .view = {.id = id, .strides = {outer, inner}}});
}

static uint8_t element(struct looped *looped, struct mdf_lowered_nest *nest, unsigned code, uint8_t a, uint8_t b)
{
    return step(looped, nest,
                (struct mdf_nest_step){.kind = MDF_NEST_ELEMENT, .level = 2, .n_in = 2, .in = {a, b}, .code = (uint8_t)code});
}

static mdf_lowered_id store(struct looped *looped, struct mdf_lowered_nest *nest, uint8_t of, int64_t outer, int64_t inner)
{
    mdf_lowered_id id = build_result(&looped->build, MDF_DTYPE_FLOAT64, 1, (const int64_t[]){N * N});

    step(looped, nest,
         (struct mdf_nest_step){
             .kind = MDF_NEST_STORE, .level = 2, .n_in = 1, .in = {of}, .view = {.id = id, .strides = {outer, inner}}});
    return id;
}

/* With x the state and s the sum of its rows, which is complete behind a first pass. */
Test(loop_plan, nests)
{
    struct looped looped;
    struct mdf_lowered_nest *nest;
    mdf_lowered_id x, first, turned, second, third;
    uint8_t loaded, sum, difference;

    begin(&looped, 3);
    x = build_input(&looped.build, build_array(&looped.build, MDF_DTYPE_FLOAT64, 1, (const int64_t[]){N * N}, NULL));
    nest = build_nest(&looped.build, looped.body, 2, (const size_t[]){N, N});
    loaded = load(&looped, nest, x, N, 1);
    sum = step(&looped, nest, (struct mdf_nest_step){.kind = MDF_NEST_FOLD, .level = 1, .n_in = 1, .in = {loaded}});
    first = store(&looped, nest, element(&looped, nest, MDF_LOWERED_MULTIPLY, loaded, loaded), N, 1);
    difference = element(&looped, nest, MDF_LOWERED_SUBTRACT, loaded, sum);
    turned = store(&looped, nest, difference, 1, N);
    second = store(&looped, nest, difference, N, 1);
    cr_expect_not(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, first), "x - s is computed in a later pass");
    cr_expect_not(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, turned), "elsewhere");
    cr_expect(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, second));
    sum = step(&looped, nest, (struct mdf_nest_step){.kind = MDF_NEST_FOLD, .level = 1, .n_in = 1, .in = {difference}});
    third = store(&looped, nest, element(&looped, nest, MDF_LOWERED_MULTIPLY, difference, sum), N, 1);
    cr_expect_not(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, second), "x - s is computed once more");
    cr_expect(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, third));
    load(&looped, nest, x, 1, N);
    cr_expect_not(mdf_lowered_may_overwrite(looped.build.lowered, looped.body, x, third), "read at another index");
    build_next(&looped.build, looped.loop, looped.state, add(&looped, looped.state, looped.other));
    build_finish(&looped.build);
    build_end(&looped.build);
}

/* A nest whose inner axis is cut into tiles: what is computed once for each index of the outer one is stored where it was loaded.
 */
Test(loop_plan, what_tiles_share_is_written_once)
{
    enum { LONG = 5000 };
    static const double ones[2] = {1, 1};
    static double zeros[LONG];
    const int64_t outer = 2, inner = LONG, all = 2 * LONG;
    const struct mdf_nest_step element = {.kind = MDF_NEST_ELEMENT,
                                          .code = MDF_LOWERED_ADD,
                                          .dtype = MDF_DTYPE_FLOAT64,
                                          .operand_dtype = MDF_DTYPE_FLOAT64,
                                          .n_in = 2};
    struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .level = 1, .dtype = MDF_DTYPE_FLOAT64}, add, store;
    struct build build;
    struct mdf_lowered_loop *loop;
    struct mdf_lowered_nest *nest;
    mdf_lowered_id state, others, next;
    struct mdf_value *slot;

    build_begin(&build, NULL);
    state = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &outer, ones));
    others = build_input(&build, build_array(&build, MDF_DTYPE_FLOAT64, 1, &inner, zeros));
    loop = build_loop(&build, &build.lowered->region, 3);
    state = build_state(&build, loop, state);
    nest = build_nest(&build, &loop->body, 2, (size_t[]){2, LONG});
    load.view = (struct mdf_nest_view){.id = state, .strides = {1}, .at = MDF_NEST_NONE};
    add = element;
    add.level = 1;
    add.in[0] = add.in[1] = build_nest_step(&build, nest, load);
    store = (struct mdf_nest_step){
        .kind = MDF_NEST_STORE, .level = 1, .dtype = MDF_DTYPE_FLOAT64, .operand_dtype = MDF_DTYPE_FLOAT64, .n_in = 1};
    store.in[0] = build_nest_step(&build, nest, add);
    next = build_result(&build, MDF_DTYPE_FLOAT64, 1, &outer);
    store.view = (struct mdf_nest_view){.id = next, .strides = {1}, .at = MDF_NEST_NONE};
    add.in[1] = store.in[0];
    load.level = add.level = 2;
    load.view = (struct mdf_nest_view){.id = others, .strides = {0, 1}, .at = MDF_NEST_NONE};
    add.in[0] = build_nest_step(&build, nest, load);
    add.in[0] = build_nest_step(&build, nest, add);
    build_nest_step(&build, nest, store);
    store.level = 2;
    store.in[0] = add.in[0];
    others = build_result(&build, MDF_DTYPE_FLOAT64, 1, &all);
    store.view = (struct mdf_nest_view){.id = others, .strides = {LONG, 1}, .at = MDF_NEST_NONE};
    build_nest_step(&build, nest, store);
    build_next(&build, loop, state, next);
    slot = build_slot(&build);
    build_output(&build, slot, state);
    build_finish(&build);
    cr_expect_eq(loop->states[0].storage, MDF_LOWERED_IN_PLACE);
    cr_assert_eq(mdf_lowered_run(build.lowered), MDF_LOWERED_DONE);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(build_element_of(slot, i), 8.0, "%g", build_element_of(slot, i));
    }
    build_end(&build);
}
