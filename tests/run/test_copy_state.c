/* test_copy_state.c - states that go on from where another one is: an evaluation of the copy gives the bits of one of the
 * original, and changes nothing in it. All ways of running: tests/random ("copied"). */
#include "mdf_c/mdf.h"
#include "mdf_c/run/slot_reads.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sum that grows by a random number, an average whose text has two ways, a node that runs in every other evaluation. */
static const char stateful[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {"
    "\"n\": {\"input_ports\": {\"x\": {\"shape\": [2]}}, \"parameters\": {"
    "\"s\": {\"value\": \"s + x + numpy.random.normal(0, 1)\", \"default_initial_value\": [0.0, 0.0]},"
    "\"t\": {\"value\": \"(0.5 * t + s if numpy.sum(s) > 0 else t - s) + 1\", \"default_initial_value\": [0.0, 0.0]},"
    "\"k\": {\"value\": 2.0}}, \"output_ports\": {\"y\": {\"value\": \"k * t\"}}},"
    "\"rare\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"c\": {\"value\": \"c + 1\", \"default_initial_value\": 0}},"
    "\"output_ports\": {\"z\": {\"value\": \"c + x\"}}}},"
    "\"edges\": {\"e\": {\"sender\": \"n\", \"sender_port\": \"y\", \"receiver\": \"rare\", \"receiver_port\": \"x\"}},"
    "\"conditions\": {\"node_specific\": {\"rare\": {\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"n\", \"n\": 2}}},"
    "\"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": 1}}}}}}}}";

struct fixture {
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state, *copy;
};

static struct fixture begin(const mdf_options *options)
{
    struct fixture fixture = {0};

    fixture.model = mdf_model_load_bytes(stateful, strlen(stateful), "json", "model.json", NULL, &fixture.error);
    cr_assert_not_null(fixture.model, "%s", fixture.error.message);
    fixture.program = mdf_compile_changeable(fixture.model, &(const char *){"k"}, 1, options, &fixture.error);
    fixture.state = mdf_state_new(fixture.program, &fixture.error);
    fixture.copy = mdf_state_new(fixture.program, &fixture.error);
    cr_assert(fixture.state != NULL && fixture.copy != NULL, "%s", fixture.error.message);
    return fixture;
}

static void end(struct fixture *fixture)
{
    mdf_state_free(fixture->copy);
    mdf_state_free(fixture->state);
    mdf_program_free(fixture->program);
    mdf_model_free(fixture->model);
}

static void copy(struct fixture *fixture, mdf_state *target, mdf_state *source)
{
    cr_assert_eq(mdf_state_copy(target, source, &fixture->error), MDF_OK, "%s", fixture->error.message);
}

static double value_of(const mdf_state *state, const char *node, const char *port)
{
    mdf_tensor tensor;

    return mdf_value_tensor(mdf_output(state, node, port), &tensor) ? ((const double *)tensor.data)[0] : 0;
}

/* What a state gives in some evaluations: one port that changes in each, and one that does not. */
static void run(struct fixture *fixture, mdf_state *state, size_t n, double values[])
{
    static const int64_t shape[] = {2};
    static const double numbers[] = {0.5, -0.25};
    const mdf_tensor input = {MDF_DTYPE_FLOAT64, 1, shape, numbers};
    size_t i;

    for (i = 0; i < n; i++) {
        cr_assert_eq(mdf_set_input(state, "x", &input, &fixture->error), MDF_OK);
        cr_assert_eq(mdf_evaluate(state, (double)NAN, &fixture->error), MDF_OK, "%s", fixture->error.message);
        values[2 * i] = value_of(state, "n", "y");
        values[2 * i + 1] = value_of(state, "rare", "z");
    }
}

Test(copy_state, goes_on_with_the_same_bits)
{
    static const size_t begun[] = {0, 1, 2, 3, 10};
    double before[20], original[12], first[12];
    size_t i;

    for (i = 0; i < 2 * sizeof begun / sizeof *begun; i++) {
        const mdf_options options = {.seed = 5, .plain = i % 2 == 1};
        struct fixture fixture = begin(&options);

        run(&fixture, fixture.state, begun[i / 2], before);
        copy(&fixture, fixture.copy, fixture.state);
        cr_expect_eq(mdf_schedule_n_sets(fixture.copy), mdf_schedule_n_sets(fixture.state));
        cr_expect(value_of(fixture.copy, "n", "y") == value_of(fixture.state, "n", "y"));
        run(&fixture, fixture.copy, 6, first);
        run(&fixture, fixture.state, 6, original);
        cr_expect_eq(memcmp(first, original, sizeof first), 0, "after %zu", begun[i / 2]);
        cr_expect_neq(memcmp(first, first + 2, sizeof *first), 0, "nothing is random");
        end(&fixture);
    }
}

Test(copy_state, a_snapshot_can_be_come_back_to)
{
    struct fixture fixture = begin(NULL);
    double before[8], first[12], again[12];
    int i;

    run(&fixture, fixture.state, 4, before);
    copy(&fixture, fixture.copy, fixture.state);
    run(&fixture, fixture.state, 6, first);
    for (i = 0; i < 3; i++) {
        copy(&fixture, fixture.state, fixture.copy);
        run(&fixture, fixture.state, 6, again);
        cr_expect_eq(memcmp(first, again, sizeof first), 0);
    }
    end(&fixture);
}

/* What a stopped evaluation leaves is not said, and differs between the ways of running: a copy of before is as if it had not
 * been. */
Test(copy_state, a_stopped_evaluation_is_undone_by_a_snapshot)
{
    double before[8], first[12], again[12];
    size_t i;

    for (i = 0; i < 2; i++) {
        const mdf_options options = {.plain = i == 1};
        struct fixture fixture = begin(&options);

        run(&fixture, fixture.state, 4, before);
        copy(&fixture, fixture.copy, fixture.state);
        run(&fixture, fixture.state, 6, first);
        copy(&fixture, fixture.state, fixture.copy);
        mdf_state_interrupt(fixture.state);
        cr_expect_eq(mdf_evaluate(fixture.state, (double)NAN, &fixture.error), MDF_INTERRUPTED);
        fixture.error = (mdf_error){0};
        copy(&fixture, fixture.state, fixture.copy);
        run(&fixture, fixture.state, 6, again);
        cr_expect_eq(memcmp(first, again, sizeof first), 0);
        end(&fixture);
    }
}

Test(copy_state, has_parameters_and_inputs)
{
    struct fixture fixture = begin(NULL);
    const double k = 3, number = 1;
    const mdf_tensor parameter = {MDF_DTYPE_FLOAT64, 0, NULL, &k}, input = {MDF_DTYPE_FLOAT64, 1, (const int64_t[]){1}, &number};

    cr_assert_eq(mdf_set_parameter(fixture.state, "k", &parameter, &fixture.error), MDF_OK);
    cr_assert_eq(mdf_set_input(fixture.state, "n.x", &input, &fixture.error), MDF_OK);
    copy(&fixture, fixture.copy, fixture.state);
    cr_assert_eq(mdf_evaluate(fixture.state, (double)NAN, &fixture.error), MDF_OK);
    cr_assert_eq(mdf_evaluate(fixture.copy, (double)NAN, &fixture.error), MDF_OK);
    cr_expect(value_of(fixture.state, "n", "y") == value_of(fixture.copy, "n", "y"));
    cr_expect(value_of(fixture.copy, "n", "y") != 0);
    cr_expect_eq(mdf_set_parameter(fixture.copy, "k", &parameter, &fixture.error), MDF_USAGE, "it has begun");
    end(&fixture);
}

Test(copy_state, is_of_one_program)
{
    struct fixture fixture = begin(NULL), other = begin(NULL);

    cr_expect_eq(mdf_state_copy(fixture.state, other.state, &fixture.error), MDF_USAGE);
    cr_expect_str_eq(fixture.error.message, "a state goes on from another one of the same program only");
    cr_expect_eq(mdf_state_copy(other.state, other.state, &other.error), MDF_OK);
    end(&other);
    end(&fixture);
}

/* Refuses what is asked of it once `left` is spent. */
struct refusing {
    size_t left;
};

static void *allocate(void *context, size_t size_bytes)
{
    struct refusing *refusing = context;

    return refusing->left > 0 && refusing->left-- > 0 ? malloc(size_bytes) : NULL;
}

static void *reallocate(void *context, void *block, size_t size_bytes)
{
    struct refusing *refusing = context;

    return refusing->left > 0 && refusing->left-- > 0 ? realloc(block, size_bytes) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(copy_state, where_memory_is_refused_it_is_as_new)
{
    struct refusing refusing = {SIZE_MAX};
    const mdf_allocator allocator = {allocate, reallocate, release, &refusing};
    const mdf_options options = {.allocator = &allocator};
    double fresh[4], values[12], expected[12];
    bool was_refused = true;
    size_t n;

    for (n = 0; was_refused; n++) {
        struct fixture fixture = begin(&options);

        run(&fixture, fixture.copy, 2, fresh);
        run(&fixture, fixture.state, 6, expected);
        refusing.left = n;
        was_refused = mdf_state_copy(fixture.copy, fixture.state, &fixture.error) == MDF_OUT_OF_MEMORY;
        refusing.left = SIZE_MAX;
        memset(&fixture.error, 0, sizeof fixture.error);
        run(&fixture, fixture.copy, 2, values);
        cr_expect_eq(memcmp(values, fresh, sizeof fresh) == 0, was_refused, "piece %zu", n);
        end(&fixture);
    }
    cr_expect_gt(n, 1u, "nothing was refused");
}

/* A value that is one of two others is a view of it, which is made anew in each evaluation: copied, it might outlive what it is
 * of. */
Test(copy_state, what_both_ways_of_a_choice_make_is_not_kept)
{
    static const char text[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": "
                               "{\"s\": {\"value\": \"s if not k >= x else x\"}, \"k\": {\"value\": 2}}}}}}}}";
    const struct mdf_code *code;
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct engine engine;
    size_t n = 0, i;
    uint32_t *kept;

    cr_assert(engine_begin(&engine, text, NULL), "%s", engine.error.message);
    code = engine.program->code;
    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    kept = mdf_program_kept_slots(engine.program, &arena);
    cr_assert_not_null(kept);
    for (i = 0; i < code->n_instructions; i++) {
        if (code->instructions[i].opcode == MDF_OPCODE_BORROW) {
            cr_expect_eq(kept[MDF_OPERAND_INDEX(code->instructions[i].a)], MDF_READ_BY_NOBODY);
            n++;
        }
    }
    cr_expect_eq(n, 2u);
    mdf_arena_release(&arena);
    engine_end(&engine);
}
