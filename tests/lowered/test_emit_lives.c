/* Machine code where values share places: what branches yield, states that a branch keeps, and what states are next. */
#include "mdf_c/machine/emit.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>

/* Runs a finished program as it stands, and twice as machine code. */
static void check(struct build *build, int number)
{
    struct mdf_lowered *lowered = build->lowered;
    struct mdf_value plain[BUILD_SLOTS] = {{0}};

    build_finish(build);
    cr_assert_eq(mdf_lowered_run(lowered), MDF_LOWERED_DONE);
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        build_take(build, &plain[i], lowered->outputs[i].slot);
    }
    mdf_lowered_emit(lowered);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(mdf_lowered_run(lowered), MDF_LOWERED_DONE);
        for (size_t i = 0; i < lowered->n_outputs; i++) {
            cr_expect(build_same(&plain[i], lowered->outputs[i].slot), "program %d, output %zu", number, i);
        }
    }
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        mdf_value_clear(&build->memory, &plain[i]);
    }
    build_end(build);
}

static mdf_lowered_id input(struct build *build, mdf_dtype dtype, int64_t whole)
{
    return build_input(build, build_array(build, dtype, 0, NULL, &whole)); /* a truth is its first byte */
}

/* What a branch yields lies where the state lies that the other one keeps; it is read once there is what that state is next. */
Test(emit_lives, a_merge_that_outlives_the_state_it_keeps)
{
    for (int is_taken = 0; is_taken < 2; is_taken++) {
        struct build build;
        struct mdf_lowered_loop *loop;
        mdf_lowered_id first, condition, states[2], merged;

        build_begin(&build, NULL);
        first = input(&build, MDF_DTYPE_INT64, 3);
        condition = input(&build, MDF_DTYPE_BOOL, is_taken);
        loop = build_loop(&build, &build.lowered->region, 5);
        states[0] = build_state(&build, loop, first);
        states[1] = build_state(&build, loop, first);
        merged = build_merge(&build, build_if(&build, &loop->body, condition), first, states[1]);
        build_next(&build, loop, states[1], build_copy(&build, &loop->body, build_whole(&build, 5)));
        build_next(&build, loop, states[0], build_copy(&build, &loop->body, merged));
        build_output(&build, build_slot(&build), states[0]);
        build_output(&build, build_slot(&build), states[1]);
        check(&build, is_taken);
    }
}

/* A branch in a branch keeps a state, and what comes of it is the condition that the loop goes on by: it is asked once the state
 * has gone on. */
Test(emit_lives, a_condition_in_the_place_of_a_state)
{
    for (int given = 0; given < 8; given++) {
        struct build build;
        struct mdf_lowered_loop *loop;
        struct mdf_lowered_if *outer;
        mdf_lowered_id outside, inside, other, state, kept, goes_on;

        build_begin(&build, NULL);
        outside = input(&build, MDF_DTYPE_BOOL, given & 1);
        inside = input(&build, MDF_DTYPE_BOOL, given >> 1 & 1);
        other = input(&build, MDF_DTYPE_BOOL, given >> 2);
        loop = build_loop(&build, &build.lowered->region, SIZE_MAX);
        loop->trip_count = build_whole(&build, 4);
        state = build_state(&build, loop, build_bool(&build, true));
        outer = build_if(&build, &loop->body, outside);
        kept = build_merge(&build, build_if(&build, &outer->otherwise, inside), other, state);
        goes_on = build_merge(&build, outer, other, kept);
        build_condition(&build, loop, build_bool(&build, true), goes_on);
        build_next(&build, loop, state, build_element(&build, &loop->body, MDF_LOWERED_NOT, MDF_DTYPE_BOOL, &goes_on));
        build_output(&build, build_slot(&build), state);
        check(&build, given);
    }
}

/* The same, and the other branch writes the result before it reads that state. */
Test(emit_lives, a_state_that_is_read_behind_what_would_take_its_place)
{
    for (int given = 0; given < 4; given++) {
        struct build build;
        struct mdf_lowered_loop *loop;
        struct mdf_lowered_if *outer;
        mdf_lowered_id outside, inside, other, state, kept, made, both[2];

        build_begin(&build, NULL);
        outside = input(&build, MDF_DTYPE_BOOL, given & 1);
        inside = input(&build, MDF_DTYPE_BOOL, given >> 1);
        other = input(&build, MDF_DTYPE_INT64, 7);
        loop = build_loop(&build, &build.lowered->region, 4);
        state = build_state(&build, loop, other);
        outer = build_if(&build, &loop->body, outside);
        made = build_element(&build, &outer->then, MDF_LOWERED_NEGATE, MDF_DTYPE_INT64, &other);
        both[1] = build_element(&build, &outer->then, MDF_LOWERED_NEGATE, MDF_DTYPE_INT64, &state);
        kept = build_merge(&build, build_if(&build, &outer->otherwise, inside), other, state);
        both[0] = build_merge(&build, outer, made, kept);
        both[1] = build_merge(&build, outer, both[1], other);
        build_next(&build, loop, state, build_element(&build, &loop->body, MDF_LOWERED_SUBTRACT, MDF_DTYPE_INT64, both));
        build_output(&build, build_slot(&build), state);
        check(&build, given);
    }
}
