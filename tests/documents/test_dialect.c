/* test_dialect.c - PsyNeuLink's dialect where docs/dialects.md, whose examples are run, does not look: memory that is refused,
 * and that all ways of running agree about nodes of a circle. What models compute is held to PsyNeuLink by python/tests. */
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Two nodes that change values, each of which is the other's input port. */
static const char swap[] =
    "m: {generating_application: PsyNeuLink v0.21, graphs: {g: {nodes: {A: {input_ports: {x: {shape: [1]}}, output_ports: {y: "
    "{value: x, metadata: {variable: [7.0]}}}}, B: {input_ports: {z: {shape: [1]}}, output_ports: {w: {value: z, metadata: "
    "{variable: [5.0]}}}}}, edges: {e: {sender: A, sender_port: y, receiver: B, receiver_port: z}, f: {sender: B, sender_port: "
    "w, "
    "receiver: A, receiver_port: x}}}}}\n";

/* A recurrent mechanism that integrates until it is finished, clipped; a projection as a node; a walk; a sum of projections. */
static const char rules[] =
    "m: {generating_application: PsyNeuLink v0.21, graphs: {g: {nodes: {R: {metadata: {type: RecurrentTransferMechanism, matrix: "
    "HollowMatrix, integrator_mode: true, termination_comparison_op: '<=', termination_measure: {function: distance, metadata: "
    "{metric: max_abs_diff}}}, input_ports: {R_RECURRENT: {shape: [2]}, x: {shape: [2]}}, parameters: {termination_threshold: "
    "{value: 0.1}, clip: {value: [-1, 1]}, both: {value: '[R_RECURRENT, x]'}, auto: {value: 0.1}, hetero: {value: [[0, 1], [2, "
    "0.5]]}, previous_value: {value: f, default_initial_value: [0, 0]}}, functions: {sum: {function: 'onnx::ReduceSum', args: "
    "{data: both, axes: 0}}, one: {value: 'variable0[0]', args: {variable0: sum}}, f: {value: 0.5 * previous_value + 0.5 * one}, "
    "g: {function: logistic, metadata: {type: Logistic}, args: {variable0: f, scale: 2.0}}}, output_ports: {y: {value: g, shape: "
    "[2], metadata: {variable: [0, 0.5]}}}}, P: {metadata: {type: MappingProjection}, input_ports: {p: {}}, functions: {q: "
    "{function: 'onnx::MatMul', args: {A: p, B: [[1], [2.5]]}}}, output_ports: {o: {value: q}}}, D: {metadata: {type: DDM}, "
    "input_ports: {z: {shape: [1]}}, parameters: {previous_value: {value: 'w[0]', default_initial_value: [0]}, previous_time: "
    "{value: 'w[1]', default_initial_value: 0.0}}, functions: {v_lower_clipped: {value: 'max(previous_value + variable0, -1 * "
    "threshold)', args: {variable0: z, threshold: [3]}}, v_value_result: {value: 'min(v_lower_clipped, threshold)', args: "
    "{threshold: [3]}}, w: {metadata: {type: DriftDiffusionIntegrator, variable: [0]}, value: 'v_value_result, previous_time', "
    "args: {threshold: 5.0, time_step_size: 0.5, noise: 0}}}, output_ports: {d: {value: 'w[0]', shape: [1]}, t: {value: 'w[1]', "
    "shape: [1]}}}}, edges: {e: {sender: R, sender_port: y, receiver: P, receiver_port: p}, f: {sender: P, sender_port: o, "
    "receiver: D, receiver_port: z}}}}}\n";

/* Mechanisms that draw: noise without integration and with it, a walk, a decision, one element of several. */
static const char draws[] =
    "m: {generating_application: PsyNeuLink v0.21, graphs: {g: {nodes: {T: {metadata: {type: TransferMechanism, integrator_mode: "
    "false, integrator_function: {metadata: {noise: {function: 'onnx::RandomNormal', args: {mean: 0.5, scale: 2.0, seed: 42}, "
    "metadata: {type: NormalDist, variable: [[0.0, 0.0]], random_state: {seed: 42, drawn: 4, normal: 0.25}}}}}}, input_ports: "
    "{x: "
    "{shape: [2]}}, functions: {f: {function: linear, metadata: {type: Linear}, args: {variable0: x, slope: 1.0, intercept: "
    "0.0}}}, "
    "output_ports: {y: {value: f, shape: [2]}}}, I: {metadata: {type: IntegratorMechanism}, input_ports: {x: {shape: [1]}}, "
    "functions: {u: {function: 'onnx::RandomUniform', args: {low: 1, high: 3, seed: 42}, metadata: {type: UniformDist, variable: "
    "[0.0]}}, f: {value: u}}, output_ports: {y: {value: f, shape: [1]}}}, D: {metadata: {type: DDM}, input_ports: {z: {shape: "
    "[1]}}, parameters: {previous_value: {value: 'w[0]', default_initial_value: [0]}, previous_time: {value: 'w[1]', "
    "default_initial_value: 0.0}}, functions: {v_random_draw: {function: 'onnx::RandomNormal', args: {shape: [1], seed: 42}}, "
    "v_value_result: {value: 'previous_value + 0 * z + v_random_draw', args: {threshold: [3]}}, w: {metadata: {type: "
    "DriftDiffusionIntegrator, variable: [0]}, value: 'v_value_result, previous_time', args: {threshold: 1.0, time_step_size: "
    "0.5, "
    "noise: 1, seed: 42}}}, output_ports: {d: {value: 'w[0]', shape: [1]}}}, E: {metadata: {type: DDM}, input_ports: {z: {shape: "
    "[1]}}, parameters: {seed: {value: 42}}, functions: {a: {function: driftdiffusionanalytical, metadata: {type: "
    "DriftDiffusionAnalytical}, args: {variable0: z, drift_rate: 0.0}}}, output_ports: {d: {value: 'a[0]', shape: [1]}}}, S: "
    "{metadata: {type: ProcessingMechanism}, input_ports: {x: {shape: [2]}}, functions: {s: {function: softmax, metadata: {type: "
    "SoftMax, output: PROB}, args: {variable0: x, seed: 42}}}, output_ports: {y: {value: s, shape: [2]}}}, O: {metadata: {type: "
    "IntegratorMechanism}, input_ports: {x: {shape: [1]}}, functions: {o: {function: ornsteinuhlenbeckintegrator, args: "
    "{variable0: x, "
    "noise: 1.0, seed: 42}}}, output_ports: {y: {value: 'o[0]', shape: [1]}}}}}}}\n";

/* Arguments that are arrays of the metadata, an offset that the expression lacks, a gain that is adapted. */
static const char arrays[] =
    "m: {generating_application: PsyNeuLink v0.21, graphs: {g: {nodes: {I: {input_ports: {x: {shape: [2]}}, parameters: "
    "{previous_value: {value: f, default_initial_value: [0.0, 0.0]}}, functions: {f: {metadata: {type: LeakyCompetingIntegrator, "
    "rate: [0.5, 1.0], offset: [0.25, 0.5]}, args: {variable0: x, time_step_size: 0.5}, value: previous_value + (-rate * "
    "previous_value + variable0) * time_step_size}, s: {function: softmax, metadata: {type: SoftMax, gain: adaptive, variable: "
    "[[0.0, 0.0]]}, args: {variable0: f, adapt_scale: 2.0, adapt_base: 0.5, adapt_entropy_weighting: 0.3}}}, output_ports: {y: "
    "{value: f, shape: [2]}, z: {value: s, shape: [2]}}}}}}}\n";

static struct engine begin(const char *text, const mdf_options *options)
{
    struct engine run = {0};

    run.model = mdf_model_load_bytes(text, strlen(text), "yaml", "m.yaml", options, &run.error);
    engine_begin_model(&run, options);
    return run;
}

static double number(const struct engine *run, const char *node, const char *port)
{
    const mdf_value *value = mdf_output(run->state, node, port);
    mdf_tensor tensor;

    cr_assert(value != NULL && mdf_value_tensor(value, &tensor), "%s.%s", node, port);
    return *(const double *)tensor.data;
}

Test(dialect, nodes_of_a_circle_see_what_was_before)
{
    for (int plain = 0; plain < 2; plain++) {
        const mdf_options options = {.plain = plain == 1};
        struct engine run = begin(swap, &options);

        cr_assert_not_null(run.state, "%s", run.error.message);
        cr_expect(number(&run, "A", "y") == 7 && number(&run, "B", "w") == 5, "what the ports hold at first");
        for (int step = 0; step < 9; step++) {
            cr_assert_eq(mdf_evaluate(run.state, (double)NAN, &run.error), MDF_OK, "%s", run.error.message);
            cr_expect_eq(number(&run, "A", "y"), step % 2 == 0 ? 5 : 7, "step %d", step);
            cr_expect_eq(number(&run, "B", "w"), step % 2 == 0 ? 7 : 5, "step %d", step);
        }
        engine_end(&run);
    }
}

/* The mechanism's value goes on from trial to trial; the walk begins anew, in each comes to its threshold, and takes its time. */
Test(dialect, mechanisms_run_until_they_are_finished)
{
    struct engine run = begin(rules, NULL);

    cr_assert_not_null(run.state, "%s", run.error.message);
    for (int step = 0; step < 5; step++) {
        mdf_set_input_json(run.state, "R.x", "[1.0, 0.25]", &run.error);
        cr_assert_eq(mdf_evaluate(run.state, (double)NAN, &run.error), MDF_OK, "%s", run.error.message);
        cr_expect_eq(number(&run, "R", "y"), 1, "clipped");
        cr_expect_eq(number(&run, "D", "d"), 5);
        cr_expect_eq(number(&run, "D", "t"), 1, "two runs of 3.5 each");
    }
    engine_end(&run);
}

/* What numpy.random.RandomState([42]) draws: normal(), uniform(), the third normal() (after four words), and normal() added up
 * until it passes 1. */
static const double first_normal = -0.19180638444130121, first_uniform = 0.6394267984578837, third_normal = -0.9019774569160152,
                    walk = -1.037481618937587;

/* Each function begins at the beginning of its own. */
Test(dialect, each_function_draws_by_its_seed)
{
    for (int round = 0; round < 2; round++) {
        struct engine run = begin(draws, &(mdf_options){.plain = round == 1, .seed = 5});

        cr_assert_not_null(run.state, "%s", run.error.message);
        for (int again = 0; again < 2; again++) {
            const mdf_value *noisy;
            mdf_tensor tensor;

            mdf_set_input_json(run.state, "E.z", "[0.0]", &run.error);
            mdf_set_input_json(run.state, "S.x", "[1.0, 1.0]", &run.error);
            cr_assert_eq(mdf_evaluate(run.state, (double)NAN, &run.error), MDF_OK, "%s", run.error.message);
            noisy = mdf_output(run.state, "T", "y");
            cr_assert(mdf_value_tensor(noisy, &tensor));
            cr_expect_float_eq(((const double *)tensor.data)[0], 0.5 + 2 * 0.25, 1e-12, "what is left comes first");
            cr_expect_float_eq(((const double *)tensor.data)[1], 0.5 + 2 * third_normal, 1e-12);
            cr_expect_float_eq(number(&run, "I", "y"), 1 + 2 * first_uniform, 1e-12);
            cr_expect_float_eq(number(&run, "D", "d"), walk, 1e-12);
            cr_expect_float_eq(number(&run, "E", "d"), 1, 1e-12, "0.64 is above the odds of an error, 0.5");
            cr_expect_float_eq(number(&run, "S", "y"), 0, 1e-12, "the second one is chosen");
            cr_expect_float_eq(number(&run, "O", "y"), first_normal, 1e-12);
            mdf_state_reset(run.state, 5, &run.error);
        }
        engine_end(&run);
    }
}

/* A state that could set them would run by a projection and bounds that they were made of. */
/* An array of the metadata is an argument that its expression names, also where that was added; log 1 leaves the gain alone. */
Test(dialect, arrays_of_the_metadata_are_arguments)
{
    struct engine run = begin(arrays, NULL);

    cr_assert_eq(mdf_evaluate(run.state, (double)NAN, &run.error), MDF_OK, "%s", run.error.message);
    cr_expect_eq(number(&run, "I", "y"), 0.25);
    cr_expect_float_eq(number(&run, "I", "z"), 1 / (1 + exp(0.25)), 1e-15);
    engine_end(&run);
}

Test(dialect, what_other_parts_are_made_of_is_not_kept_changeable)
{
    static const struct {
        const char *name;
        bool is_refused;
    } cases[] = {{"R.auto", true}, {"R.hetero", true}, {"R.clip", true}, {"R.termination_threshold", false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_bytes(rules, strlen(rules), "yaml", "m.yaml", NULL, &error);
        mdf_program *program = mdf_compile_changeable(model, &cases[i].name, 1, NULL, &error);

        cr_expect_eq(program == NULL, cases[i].is_refused, "%s: %s", cases[i].name, error.message);
        cr_expect(!cases[i].is_refused || strstr(error.message, "made other parts of the model of it") != NULL, "%s",
                  error.message);
        mdf_program_free(program);
        mdf_model_free(model);
    }
}

Test(dialect, the_caller_says_which)
{
    const mdf_options reference = {.dialect = MDF_DIALECT_REFERENCE}, unknown = {.dialect = (mdf_dialect)9};
    struct engine run = begin(swap, &reference);

    cr_expect_null(run.program, "a circle");
    cr_expect_eq(run.error.code, MDF_MODEL);
    engine_end(&run);
    run = begin(swap, &unknown);
    cr_expect_eq(run.error.code, MDF_USAGE);
    engine_end(&run);
}

/* Whichever allocation fails, the error says so and all memory is given back. */
Test(dialect, a_failing_allocation_is_an_error_like_any_other)
{
    static const char *const texts[] = {swap, rules, draws, arrays};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mdf_status status = MDF_OUT_OF_MEMORY;

        for (size_t n = 1; status != MDF_OK && n < 100000; n += n < 200 ? 1 : 11) {
            struct counter counter = {.fail_at = n};
            mdf_allocator allocator = failing_allocator(&counter);
            const mdf_options options = {.allocator = &allocator};
            struct engine run = begin(texts[i], &options);

            status = run.state != NULL ? mdf_evaluate(run.state, (double)NAN, &run.error) : run.error.code;
            cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "allocation %zu: %s", n, run.error.message);
            engine_end(&run);
            cr_assert_eq(counter.n_blocks, (size_t)0, "allocation %zu leaks", n);
        }
        cr_expect_eq(status, MDF_OK);
    }
}
