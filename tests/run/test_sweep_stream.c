/* test_sweep_stream.c - instances that stop, and what they come to together, side by side: the bits of each one by one. */
#include "mdf_c/base/processor.h"
#include "mdf_c/run/sweep/sweep.h"
#include "mdf_c/run/sweep/sweep_lanes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { N = 61, STEPS = 30, MOST_BYTES = 1 << 16 };

/* One sweep, and what it has given. */
struct outcome {
    mdf_status status;
    mdf_error error;
    double values[3 * N * STEPS];
    int64_t stopped[N];
    char reduced[MOST_BYTES];
    size_t n_reduced;
    bool has_lanes;
    struct mdf_refusal refusal;
};

struct sweeping {
    const char *parameters; /* of node n: p is swept, from `first` in steps of `step`, y recorded */
    const char *more;       /* of the graph: other nodes, edges, conditions; NULL: nothing */
    const char *stop_when;
    double first, step;
    size_t every, n_lanes;
    int n_threads;
    bool has_series; /* input I has another value in each step */
    bool is_reduced; /* nothing is kept of single instances */
    bool is_float32; /* reals are */
};

static mdf_program *compile(const struct sweeping *what, mdf_error *error)
{
    static const char *const names[] = {"p"};
    const mdf_options options = {.stop_when = what->stop_when, .float32 = what->is_float32};
    char text[2000];
    mdf_model *model;
    mdf_program *program;

    snprintf(text, sizeof text,
             "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"I\": {\"default_value\": 0.125}}, "
             "\"parameters\": {\"w\": {\"value\": [1.0, -0.5]}, %s}, \"output_ports\": {\"y\": {\"value\": \"1.0 * y\"}, "
             "\"v\": {\"value\": \"w * y + p\"}}}%s}}}}",
             what->parameters, what->more != NULL ? what->more : "}");
    model = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, error);
    cr_assert_not_null(model, "%s", error->message);
    program = mdf_compile_changeable(model, names, 1, &options, error);
    cr_assert_not_null(program, "%s", error->message);
    mdf_model_free(model);
    return program;
}

static void run(const struct sweeping *what, struct outcome *outcome)
{
    static const int64_t n = N, steps = STEPS, two = 2;
    static const double edges[] = {0, 2, 9, 40}, at[] = {0, 0.25, 1};
    const mdf_sweep_reduction reductions[] = {{MDF_REDUCED_STOPPED_STEP, MDF_REDUCTION_MEAN, NULL, 0},
                                              {MDF_REDUCED_STOPPED_TIME, MDF_REDUCTION_HISTOGRAM, edges, 4},
                                              {0, MDF_REDUCTION_VAR, NULL, 0},
                                              {0, MDF_REDUCTION_QUANTILES, at, 3}};
    const mdf_record records[] = {{.dtype = MDF_DTYPE_FLOAT64},
                                  {.output = 1, .dtype = MDF_DTYPE_FLOAT64, .rank = 1, .shape = &two}};
    double values[N], currents[STEPS];
    const mdf_sweep_values parameters[] = {{"p", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, &n, values}}};
    const mdf_sweep_values inputs[] = {{"I", MDF_SWEEP_PER_STEP, {MDF_DTYPE_FLOAT64, 1, &steps, currents}}};
    mdf_sweep_options options = {.n_instances = N,
                                 .parameters = parameters,
                                 .n_parameters = 1,
                                 .inputs = inputs,
                                 .n_inputs = what->has_series,
                                 .records = records,
                                 .n_records = what->is_reduced ? 1 : 2,
                                 .n_steps = STEPS,
                                 .dt = 0.1,
                                 .record_every = what->every,
                                 .stopped_steps = what->stop_when != NULL ? outcome->stopped : NULL,
                                 .n_threads = what->n_threads};
    void *arrays[] = {outcome->values, outcome->values + N * STEPS};
    mdf_program *program;
    mdf_sweep *sweep;
    int i;

    memset(outcome, 0, sizeof *outcome);
    program = compile(what, &outcome->error);
    for (i = 0; i < N; i++) {
        values[i] = what->first + what->step * i;
    }
    for (i = 0; i < STEPS; i++) {
        currents[i] = 0.25 * (i % 7) - 0.5;
    }
    if (what->is_reduced) {
        options.reductions = what->stop_when != NULL ? reductions : reductions + 2;
        options.n_reductions = what->stop_when != NULL ? 4 : 2;
    }
    sweep = mdf_sweep_new(program, &options, &outcome->error);
    cr_assert_not_null(sweep, "%s", outcome->error.message);
    sweep->n_lanes = what->n_lanes;
    outcome->status = mdf_sweep_run(sweep, what->is_reduced ? NULL : arrays, &outcome->error);
    outcome->n_reduced = mdf_sweep_save_reduced(sweep, outcome->reduced, MOST_BYTES);
    outcome->has_lanes = sweep->has_lanes;
    outcome->refusal = sweep->refusal;
    mdf_sweep_free(sweep);
    mdf_program_free(program);
}

static void hold(struct sweeping what)
{
    static const size_t lanes[] = {2, 8, 16, 32, 64}, every[] = {0, 1, 7};
    static struct outcome alone, together;
    size_t i, j, k;

    for (i = 0; i < 3; i++) {
        for (k = 0; k < 2; k++) {
            what.every = every[i];
            what.is_reduced = k > 0;
            what.n_threads = 1;
            what.n_lanes = 1;
            run(&what, &alone);
            cr_assert(!alone.has_lanes);
            for (j = 0; j < 5; j++) {
                what.n_lanes = lanes[j];
                what.n_threads = 1 + (int)((i + j) % 2);
                run(&what, &together);
                cr_assert_eq(together.status, alone.status, "%s", together.error.message);
                cr_assert_str_eq(together.error.message, alone.error.message);
                cr_assert(together.has_lanes, "%s: %zu lanes, every %zu: %s", what.parameters, what.n_lanes, what.every,
                          mdf_refusal_text(together.refusal.reason));
                if (alone.status == MDF_OK) {
                    cr_assert_eq(memcmp(together.values, alone.values, sizeof alone.values), 0, "%s: %zu lanes, every %zu",
                                 what.parameters, what.n_lanes, what.every);
                    cr_assert_arr_eq(together.stopped, alone.stopped, sizeof alone.stopped);
                    cr_assert_eq(together.n_reduced, alone.n_reduced);
                    cr_assert_eq(memcmp(together.reduced, alone.reduced, alone.n_reduced), 0);
                }
            }
        }
    }
}

#define P "\"p\": {\"value\": 0.5}, "
#define WALK P "\"y\": {\"default_initial_value\": 0.0, \"value\": \"y + 0.05 * p + 0.1 * I\"}"

Test(sweep_stream, an_instance_that_stops_makes_room_for_the_next)
{
    hold((struct sweeping){.parameters = WALK, .stop_when = "n.y >= 1", .first = 0.2, .step = 0.1});
    hold((struct sweeping){.parameters = WALK, .stop_when = "abs(y) > 0.3", .first = -4, .step = 0.125, .has_series = true});
    /* from the one that never stops to those that stop in their first or second step */
    hold((struct sweeping){.parameters = WALK, .stop_when = "y >= 1", .first = 24, .step = -1.2});
    hold((struct sweeping){.parameters = P "\"y\": {\"default_initial_value\": 0.5, \"time_derivative\": \"p - y * y\"}",
                           .stop_when = "v[0] > 1.5",
                           .first = 0.1,
                           .step = 0.3});
    /* a number, not a truth; one that is no number stops as well */
    hold((struct sweeping){.parameters = P "\"k\": {\"default_initial_value\": 9, \"value\": \"k - 1\"}, "
                                           "\"y\": {\"value\": \"math.sqrt(k - p) if k > p else math.nan\"}",
                           .stop_when = "y if y != y else 0.0",
                           .first = -20,
                           .step = 0.5});
}

Test(sweep_stream, what_runs_within_a_step_is_masked)
{
    hold((struct sweeping){.parameters = P "\"y\": {\"default_initial_value\": 0.25, \"value\": "
                                           "\"abs(y) + 0.1 if y < p else y * 0.5 if p > 1 else y + 0.3 * p\"}",
                           .stop_when = "y > 1.25",
                           .first = 0.1,
                           .step = 0.05,
                           .is_float32 = true});
    hold((struct sweeping){.parameters = P "\"y\": {\"default_initial_value\": 0.25, \"value\": "
                                           "\"y + 0.1 if y < p else y * 0.5 if p > 1 else y + 0.3 * p\"}",
                           .stop_when = "y > 1.25",
                           .first = 0.1,
                           .step = 0.05});
}

Test(sweep_stream, an_instance_that_fails_says_what_it_says_by_itself)
{
    /* 1 / (k - 9) is asked for by those that have not stopped until then */
    hold((struct sweeping){.parameters = P "\"k\": {\"default_initial_value\": 1, \"value\": \"k + 1\"}, "
                                           "\"y\": {\"value\": \"p / (k - 9) + k\"}",
                           .stop_when = "n.y > 4.5 + n.v[1]",
                           .first = 2,
                           .step = -0.05});
}

Test(sweep_stream, what_is_reduced_goes_side_by_side_without_a_stop_too)
{
    hold((struct sweeping){.parameters = WALK, .first = 0.2, .step = 0.1});
    hold((struct sweeping){.parameters = WALK, .first = 0.2, .step = 0.1, .has_series = true});
}

/* A second node that runs by what the first has come to, in evaluations of several passes. */
#define LATE(condition, passes)                                                                                        \
    ", \"late\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"z\": {\"default_initial_value\": 1.0, \"value\": "  \
    "\"0.5 * z + x\"}}, \"output_ports\": {\"z\": {\"value\": \"z\"}}}}, \"edges\": {\"e\": {\"sender\": \"n\", "      \
    "\"sender_port\": \"y\", \"receiver\": \"late\", \"receiver_port\": \"x\"}}, \"conditions\": {\"node_specific\": " \
    "{\"late\": " condition "}, \"termination\": {\"environment_state_update\": " passes "}}"
#define THRESHOLD                                                                                              \
    "{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"n\", \"parameter\": \"y\", \"threshold\": 0.4, " \
    "\"comparator\": \">\"}}"
#define CALLS(n, node, times) "{\"type\": \"" n "\", \"kwargs\": {\"dependency\": \"" node "\", \"n\": " times "}}"
#define PASSES "{\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": 3}}"

Test(sweep_stream, schedules_differ_between_lanes)
{
    hold((struct sweeping){.parameters = WALK, .more = LATE(CALLS("EveryNCalls", "n", "2"), PASSES), .first = 0.2, .step = 0.1});
    hold((struct sweeping){.parameters = WALK, .more = LATE(THRESHOLD, PASSES), .first = 0.2, .step = 0.5});
    hold((struct sweeping){.parameters = WALK,
                           .more = LATE(CALLS("EveryNCalls", "n", "2"), CALLS("AfterNCalls", "late", "2")),
                           .stop_when = "late.z > 3 + y",
                           .first = 0.2,
                           .step = 0.1});
    /* the later the one runs first, the more evaluations others do not wait for it */
    hold(
        (struct sweeping){.parameters = WALK, .more = LATE(THRESHOLD, PASSES), .stop_when = "y > 2", .first = 3, .step = -0.045});
}

/* As many as the registers have room for, where there are enough instances that few lanes are idle. */
Test(sweep_stream, lanes_by_registers_and_instances)
{
    static const size_t n_instances[] = {200, 300, 600}, lanes[2][3] = {{16, 32, 32}, {32, 32, 64}}; /* with AVX-512 */
    static double values[600];
    struct sweeping what = {.parameters =
                                "\"p\": {\"value\": 1.0}, \"y\": {\"value\": \"y + p\", \"default_initial_value\": 0.0}"};
    mdf_error error;

    for (size_t i = 0; i < 6; i++) {
        const int64_t n = (int64_t)n_instances[i % 3];
        const mdf_sweep_values parameters[] = {{"p", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, &n, values}}};
        const mdf_record records[] = {{.dtype = MDF_DTYPE_FLOAT64}};
        const mdf_sweep_options options = {.n_instances = n_instances[i % 3],
                                           .parameters = parameters,
                                           .n_parameters = 1,
                                           .records = records,
                                           .n_records = 1,
                                           .n_steps = STEPS,
                                           .dt = 0.1};
        mdf_program *program;
        mdf_sweep *sweep;

        what.is_float32 = i > 2;
        program = compile(&what, &error);
        sweep = mdf_sweep_new(program, &options, &error);
        cr_assert_not_null(sweep, "%s", error.message);
        cr_expect_eq(mdf_sweep_count_lanes(sweep), mdf_has_avx512() ? lanes[i / 3][i % 3] : lanes[i / 3][0]);
        mdf_sweep_free(sweep);
        mdf_program_free(program);
    }
}
