/* Machine code of random small programs that are nearly all control flow: loops and branches within each other, states that are
 * one another's next, that branches keep, that are stacked, captured and conditions at once. Nothing in them bails out, so that
 * each one compares something: the plain form, with loops planned and not, and machine code of both.
 *
 *     MDF_SEEDS=1000000 MDF_FROM=7000000 build/tests/test_emit_control */
#include "mdf_c/lowered/verify.h"
#include "mdf_c/machine/emit.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { MOST_VALUES = 256, MOST_DEPTH = 4, MOST_OUTPUTS = 24, MOST_STATES = 4, LENGTH = 3 };

static const mdf_dtype dtypes[] = {MDF_DTYPE_INT64, MDF_DTYPE_INT64, MDF_DTYPE_FLOAT64, MDF_DTYPE_BOOL};

/* A program in the making: what can be seen, the innermost and latest last. */
struct maker {
    struct build build;
    uint64_t random;
    mdf_lowered_id seen[MOST_VALUES];
    size_t n_seen, budget;
    mdf_lowered_id shown[MOST_OUTPUTS]; /* of the whole region: stacks */
    size_t n_shown;
    bool has_arrays;
};

static size_t draw(struct maker *maker, size_t n)
{
    maker->random ^= maker->random << 13;
    maker->random ^= maker->random >> 7;
    maker->random ^= maker->random << 17;
    return (size_t)((maker->random * UINT64_C(0x2545F4914F6CDD1D) >> 20) % n);
}

static mdf_lowered_id see(struct maker *maker, mdf_lowered_id id)
{
    if (maker->n_seen < MOST_VALUES) {
        maker->seen[maker->n_seen++] = id;
    }
    return id;
}

static mdf_dtype dtype_of(const struct maker *maker, mdf_lowered_id id)
{
    return (mdf_dtype)maker->build.lowered->values[id].form.dtype;
}

static bool is_array(const struct maker *maker, mdf_lowered_id id)
{
    return !maker->build.lowered->values[id].is_scalar;
}

/* Small numbers: what is compared is which one it is. */
static mdf_lowered_id make_value(struct maker *maker, mdf_dtype dtype, bool array, bool is_input)
{
    const int64_t length = LENGTH;
    int64_t wholes[LENGTH];
    double reals[LENGTH];
    uint8_t truths[LENGTH];
    void *elements = dtype == MDF_DTYPE_INT64 ? (void *)wholes : dtype == MDF_DTYPE_FLOAT64 ? (void *)reals : (void *)truths;

    for (size_t i = 0; i < LENGTH; i++) {
        wholes[i] = (int64_t)draw(maker, 7) - 1;
        reals[i] = (double)draw(maker, 9) / 2 - 1;
        truths[i] = draw(maker, 2) == 0;
    }
    return is_input ? build_input(&maker->build, build_array(&maker->build, dtype, array, &length, elements))
                    : build_constant(&maker->build, dtype, array, &length, elements);
}

/* One that is seen, rather a late one. */
static mdf_lowered_id pick(struct maker *maker, mdf_dtype dtype, bool array)
{
    for (size_t tries = 0; tries < 30; tries++) {
        size_t n = draw(maker, 3) == 0 ? maker->n_seen : maker->n_seen < 8 ? maker->n_seen : 8;
        mdf_lowered_id id = maker->seen[maker->n_seen - 1 - draw(maker, n)];

        if (dtype_of(maker, id) == dtype && is_array(maker, id) == array) {
            return id;
        }
    }
    return make_value(maker, dtype, array, false);
}

static mdf_lowered_id pick_any(struct maker *maker)
{
    return maker->seen[maker->n_seen - 1 - draw(maker, maker->n_seen < 10 ? maker->n_seen : 10)];
}

/* An op of a few elements on what is seen. */
static mdf_lowered_id make_element(struct maker *maker, struct mdf_lowered_region *region, mdf_dtype dtype, bool array)
{
    static const enum mdf_lowered_code numbers[] = {MDF_LOWERED_ADD, MDF_LOWERED_SUBTRACT, MDF_LOWERED_MULTIPLY,
                                                    MDF_LOWERED_SELECT};
    static const enum mdf_lowered_code truths[] = {MDF_LOWERED_NOT,          MDF_LOWERED_AND,  MDF_LOWERED_OR,
                                                   MDF_LOWERED_SELECT,       MDF_LOWERED_LESS, MDF_LOWERED_EQUAL,
                                                   MDF_LOWERED_GREATER_EQUAL};
    enum mdf_lowered_code code =
        dtype == MDF_DTYPE_BOOL ? truths[draw(maker, COUNT(truths))] : numbers[draw(maker, COUNT(numbers))];
    bool compares = dtype == MDF_DTYPE_BOOL && code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL;
    mdf_dtype of = compares ? dtypes[1 + draw(maker, 2)] : dtype;
    struct build_group *group = array ? build_group(&maker->build, region, LENGTH) : NULL;
    mdf_lowered_id in[3];

    for (size_t i = 0; i < build_n_operands(code); i++) {
        in[i] = pick(maker, code == MDF_LOWERED_SELECT && i == 0 ? MDF_DTYPE_BOOL : of, array && draw(maker, 4) != 0);
    }
    return build_element(&maker->build, group != NULL ? &group->body : region, code, of, in);
}

static void make_region(struct maker *maker, struct mdf_lowered_region *region, size_t depth);

/* Branches that make little, and give what they have made, what is seen outside, or states as they are. */
static void make_if(struct maker *maker, struct mdf_lowered_region *region, size_t depth)
{
    struct mdf_lowered_if *branches = build_if(&maker->build, region, pick(maker, MDF_DTYPE_BOOL, false));
    mdf_lowered_id given[2][4];
    size_t n = 1 + draw(maker, 3), mark = maker->n_seen;

    for (size_t i = 0; i < n; i++) {
        given[0][i] = pick_any(maker);
    }
    for (size_t side = 0; side < 2; side++) {
        make_region(maker, side == 0 ? &branches->then : &branches->otherwise, depth + 1);
        for (size_t i = 0; i < n; i++) {
            given[side][i] = pick(maker, dtype_of(maker, given[0][i]), is_array(maker, given[0][i]));
        }
        maker->n_seen = mark;
    }
    for (size_t i = 0; i < n; i++) {
        see(maker, build_merge(&maker->build, branches, given[0][i], given[1][i]));
    }
}

static struct mdf_lowered_loop *begin_loop(struct maker *maker, struct mdf_lowered_region *region, mdf_lowered_id count)
{
    size_t kind = draw(maker, 4);
    struct mdf_lowered_loop *loop = build_loop(&maker->build, region, kind < 2 ? draw(maker, 5) : SIZE_MAX);

    if (kind == 2) {
        loop->trip_count = build_whole(&maker->build, (int64_t)draw(maker, 5));
    } else if (kind == 3) {
        loop->trip_count = count;
    }
    return loop;
}

/* What a state becomes: an op of the body makes it, and it is of no other state. `first_own`: where what the body's ops make
 * begins among what is seen. */
static mdf_lowered_id make_next(struct maker *maker, struct mdf_lowered_loop *loop, size_t first_own, size_t number)
{
    mdf_lowered_id parameter = loop->states[number].parameter;
    mdf_dtype dtype = dtype_of(maker, parameter);
    bool array = is_array(maker, parameter);

    for (size_t tries = 0; tries < 6 && maker->n_seen > first_own && !array; tries++) {
        mdf_lowered_id id = maker->seen[maker->n_seen - 1 - draw(maker, maker->n_seen - first_own)];
        bool is_free = dtype_of(maker, id) == dtype && !is_array(maker, id);

        for (size_t i = 0; i < number && is_free; i++) {
            is_free = loop->states[i].next != id;
        }
        if (is_free) {
            return id;
        }
    }
    return draw(maker, 3) == 0 ? build_copy(&maker->build, &loop->body, pick(maker, dtype, array))
                               : make_element(maker, &loop->body, dtype, array);
}

/* A count that stays small, made in front of the loop. */
static mdf_lowered_id make_count(struct maker *maker, struct mdf_lowered_region *region)
{
    mdf_lowered_id in[3];

    in[0] = pick(maker, MDF_DTYPE_INT64, false);
    in[1] = build_whole(&maker->build, 3);
    in[0] = build_element(&maker->build, region, MDF_LOWERED_LESS, MDF_DTYPE_INT64, in);
    in[1] = build_whole(&maker->build, (int64_t)draw(maker, 5));
    in[2] = build_whole(&maker->build, (int64_t)draw(maker, 3));
    return build_element(&maker->build, region, MDF_LOWERED_SELECT, MDF_DTYPE_INT64, in);
}

static void make_loop(struct maker *maker, struct mdf_lowered_region *region, size_t depth)
{
    size_t n_states = 1 + draw(maker, MOST_STATES), mark, first_own;
    mdf_lowered_id initial[MOST_STATES], parameters[MOST_STATES], condition = pick(maker, MDF_DTYPE_BOOL, false);
    mdf_lowered_id count = make_count(maker, region);
    struct mdf_lowered_loop *loop;

    for (size_t i = 0; i < n_states; i++) {
        initial[i] = i > 0 && draw(maker, 4) == 0 ? initial[i - 1] : pick_any(maker);
    }
    mark = maker->n_seen;
    loop = begin_loop(maker, region, count);
    for (size_t i = 0; i < n_states; i++) {
        parameters[i] = see(maker, build_state(&maker->build, loop, initial[i]));
    }
    if (draw(maker, 2) == 0) {
        see(maker, build_number(&maker->build, loop));
    }
    if (draw(maker, 4) == 0) {
        see(maker, build_going_on(&maker->build, loop));
    }
    first_own = maker->n_seen;
    make_region(maker, &loop->body, depth + 1);
    for (size_t i = 0; i < n_states; i++) {
        mdf_lowered_id next = make_next(maker, loop, first_own, i);

        build_next(&maker->build, loop, parameters[i], next);
        if (draw(maker, 2) == 0) {
            see(maker, next);
        }
    }
    if ((loop->n_runs == SIZE_MAX) && draw(maker, 2) == 0) {
        build_condition(&maker->build, loop, draw(maker, 4) == 0 ? condition : build_bool(&maker->build, true),
                        pick(maker, MDF_DTYPE_BOOL, false));
    }
    for (size_t i = draw(maker, 3); i > 0 && depth == 0 && maker->n_shown < MOST_OUTPUTS / 2; i--) {
        maker->shown[maker->n_shown++] =
            build_stack(&maker->build, loop, pick_any(maker), loop->n_runs != SIZE_MAX && draw(maker, 3) == 0);
    }
    maker->n_seen = mark;
    for (size_t i = 0; i < n_states; i++) {
        see(maker, parameters[i]);
    }
}

static void make_region(struct maker *maker, struct mdf_lowered_region *region, size_t depth)
{
    for (size_t n = depth == 0 ? 2 + draw(maker, 5) : draw(maker, 5); n > 0 && maker->budget > 0; n--, maker->budget--) {
        size_t kind = depth < MOST_DEPTH ? draw(maker, 10) : 9;
        mdf_dtype dtype = dtypes[draw(maker, COUNT(dtypes))];
        bool array = maker->has_arrays && draw(maker, 4) == 0;

        if (kind < 3) {
            make_if(maker, region, depth);
        } else if (kind < 6) {
            make_loop(maker, region, depth);
        } else if (kind < 7) {
            see(maker, build_copy(&maker->build, region, pick(maker, dtype, array)));
        } else {
            see(maker, make_element(maker, region, dtype, array));
        }
    }
}

static void make_program(struct maker *maker, uint64_t seed, bool is_unplanned)
{
    memset(maker, 0, sizeof *maker);
    maker->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    maker->budget = 4 + draw(maker, 20);
    maker->has_arrays = seed % 3 == 0;
    build_begin(&maker->build, NULL);
    maker->build.is_unplanned = is_unplanned;
    for (size_t i = 0; i < 6 + 2 * (size_t)maker->has_arrays; i++) {
        see(maker, make_value(maker, dtypes[i % COUNT(dtypes)], i >= 6, true));
    }
    make_region(maker, &maker->build.lowered->region, 0);
    for (size_t i = 0; i < maker->n_seen && i < 12; i++) {
        build_output(&maker->build, build_slot(&maker->build), maker->seen[maker->n_seen - 1 - i]);
    }
    for (size_t i = 0; i < maker->n_shown; i++) {
        build_output(&maker->build, build_slot(&maker->build), maker->shown[i]);
    }
    build_finish(&maker->build);
}

/* Whether what a program has left in its slots is what `kept` has; taken apart where `kept` has nothing yet. */
static void compare(struct maker *maker, struct build *owner, struct mdf_value *kept, bool is_first, uint64_t seed,
                    const char *what)
{
    struct mdf_lowered *lowered = maker->build.lowered;

    cr_assert_eq(mdf_lowered_run(lowered), MDF_LOWERED_DONE, "seed %llu, %s", (unsigned long long)seed, what);
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (is_first) {
            build_take(owner, &kept[i], lowered->outputs[i].slot);
        } else {
            cr_assert(build_same(&kept[i], lowered->outputs[i].slot), "seed %llu, %s: output %zu (value %u)",
                      (unsigned long long)seed, what, i, (unsigned)lowered->outputs[i].id);
        }
    }
}

static void check_seed(uint64_t seed)
{
    static struct maker makers[2];
    static struct mdf_value kept[BUILD_SLOTS];

    for (int k = 0; k < 2; k++) {
        struct maker *maker = &makers[k];

        make_program(maker, seed, k == 0);
        compare(maker, &makers[0].build, kept, k == 0, seed, k == 0 ? "plain" : "plain and planned");
        mdf_lowered_emit(maker->build.lowered);
        compare(maker, &makers[0].build, kept, false, seed, k == 0 ? "machine code" : "planned machine code");
        compare(maker, &makers[0].build, kept, false, seed, "once more");
    }
    for (size_t i = 0; i < BUILD_SLOTS; i++) {
        mdf_value_clear(&makers[0].build.memory, &kept[i]);
    }
    build_end(&makers[1].build);
    build_end(&makers[0].build);
}

/* Of what is drawn here, each holds what the passes hold a form to. */
static void verify_seed(uint64_t seed)
{
    static struct maker maker;
    struct mdf_text why;

    make_program(&maker, seed, false);
    mdf_text_init(&why, &maker.build.memory);
    cr_assert(mdf_lowered_verify(maker.build.lowered, &why), "seed %llu: %s", (unsigned long long)seed, why.bytes);
    mdf_text_release(&why);
    build_end(&maker.build);
}

static uint64_t from_environment(const char *name, uint64_t usual)
{
    return getenv(name) != NULL ? strtoull(getenv(name), NULL, 10) : usual;
}

Test(emit_control, random_programs)
{
    uint64_t first = from_environment("MDF_FROM", 1), n = from_environment("MDF_SEEDS", 4000);

    for (uint64_t seed = first; seed < first + n; seed++) {
        if (seed % 64 == 0) {
            verify_seed(seed);
        }
        check_seed(seed);
    }
}
