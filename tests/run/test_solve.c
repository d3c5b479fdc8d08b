/* test_solve.c - methods for time derivatives (docs/time.md): orders of convergence against solutions in closed form, the same
 * bits by every way of running, what derivatives depend on, and what is refused. */
#include "mdf_c/mdf.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 4000, MOST_RESULTS = 4 };

#define GRAPH(nodes, rest) "{m: {graphs: {g: {nodes: {" nodes "}" rest "}}}}"

/* A pendulum without friction and with two nodes, whose edges lead both ways: sin and cos. */
#define CIRCLE \
    GRAPH("a: {input_ports: {i: {default_value: 0}}, parameters: {x: {default_initial_value: 0.0, time_derivative: i}}, " \
          "output_ports: {o: {value: x}, q: {value: x}}}, " \
          "b: {input_ports: {i: {}}, parameters: {y: {default_initial_value: 1.0, time_derivative: -i}}, output_ports: {o: {value: " \
          "y}}}", \
          ", edges: {e: {sender: a, sender_port: o, receiver: b, receiver_port: i}, f: {sender: b, sender_port: o, receiver: a, " \
          "receiver_port: i}}")

struct run {
    const char *text;
    mdf_options options;
    uint64_t n_steps;
    double dt;
    bool at_once; /* nobody looks between */
};

struct results {
    double items[MOST_RESULTS];
    size_t n;
};

static mdf_program *compile(const char *text, const mdf_options *options, mdf_error *error)
{
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "yaml", "m.yaml", options, error);
    mdf_program *program = model != NULL ? mdf_compile(model, options, error) : NULL;

    mdf_model_free(model);
    return program;
}

static void look(const mdf_state *state, const mdf_program *program, struct results *results)
{
    results->n = 0;
    for (size_t i = 0; i < mdf_program_n_results(program) && i < MOST_RESULTS; i++) {
        mdf_tensor tensor;

        cr_assert(mdf_value_tensor(mdf_result_at(state, i), &tensor));
        cr_assert_eq(tensor.dtype, MDF_DTYPE_FLOAT64, "%s", mdf_dtype_name(tensor.dtype));
        results->items[results->n++] = ((const double *)tensor.data)[0];
    }
}

/* After n_steps steps of dt. */
static struct results run(const struct run *run)
{
    mdf_error error = {0};
    mdf_program *program = compile(run->text, &run->options, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    struct results results;
    uint64_t n_done = 0;

    cr_assert_not_null(state, "%s: %s: %s", run->text, error.path, error.message);
    if (run->at_once) {
        cr_assert_eq(mdf_evaluate_steps(state, run->n_steps + 1, (double)NAN, run->dt, 0, NULL, 0, &n_done, NULL, &error), MDF_OK, "%s",
                     error.message);
    } else {
        for (uint64_t i = 0; i <= run->n_steps; i++) {
            cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : run->dt, &error), MDF_OK, "%s", error.message);
            look(state, program, &results);
        }
    }
    look(state, program, &results);
    mdf_state_free(state);
    mdf_program_free(program);
    return results;
}

/* ------------------------------------------------------------------ orders */

struct problem {
    const char *name, *text;
    double (*solution)(double time);
    size_t result;
};

static double grown(double t)
{
    return 1 / (1 + 9 * exp(-t));
}

static double swung(double t)
{
    return sin(t);
}

static double array_sum(double t)
{
    return exp(-t) + exp(-0.5 * t) + exp(0.25 * t);
}

static double chained(double t) /* x' = -x, y' = x - y, by way of parameters behind their readers */
{
    return t * exp(-t);
}

static double looped(double t) /* x' = 3 x - 4 x, of a Loop's sum */
{
    return exp(-t);
}

static const struct problem problems[] = {
    {"logistic growth",
     GRAPH("n: {parameters: {x: {default_initial_value: 0.1, time_derivative: x * (1 - x)}}, output_ports: {o: {value: x}}}", ""),
     grown, 0},
    {"edges both ways", CIRCLE, swung, 0},
    {"an array, through a function",
     GRAPH("n: {parameters: {r: {value: [-1.0, -0.5, 0.25]}, x: {default_initial_value: [1.0, 1.0, 1.0], time_derivative: f}, s: "
           "{value: numpy.sum(x)}}, "
           "functions: {f: {value: r * x}}, output_ports: {o: {value: s}}}",
           ""),
     array_sum, 0},
    {"parameters behind their readers",
     GRAPH("n: {parameters: {y: {default_initial_value: 0.0, time_derivative: inflow - outflow}, outflow: {value: 1.0 * y}, "
           "inflow: {value: 1.0 * x}, x: "
           "{default_initial_value: 1.0, time_derivative: -loss}, loss: {value: 1.0 * x}}, output_ports: {o: {value: y}}}",
           ""),
     chained, 0},
    {"a choice and a Loop within",
     "{m: {graphs: {g: {nodes: {n: {parameters: {x: {default_initial_value: 1.0, time_derivative: 'p[0] - 4 * x if x > -1 else "
     "100 * x'}, p: {function: "
     "'onnx::Loop', args: {M: 3, cond: true, v_initial: '[x - x, x]', body: b}}}, output_ports: {o: {value: x}}}}}, "
     "b: {metadata: {inputs: [i, c, s, t], outputs: [c2, s2, t2]}, nodes: {m: {input_ports: {i: {}, c: {}, s: {}, t: {}}, "
     "output_ports: {c2: {value: c}, "
     "s2: {value: s + t}, t2: {value: t}}}}}}}}",
     looped, 0},
    {"slopes as a list",
     GRAPH("n: {parameters: {x: {default_initial_value: [0.0, 1.0], time_derivative: '[x[1], 0.0 - x[0]]'}}, output_ports: {o: "
           "{value: 'x[0]'}}}",
           ""),
     swung, 0},
    {"a choice within a choice, of the state as it is",
     GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: '0.0 - (5 * x if x < -1 else (x if x > 0 else x / "
           "3))'}}, output_ports: {o: {value: x}}}",
           ""),
     looped, 0},
};

static double slope_of(const struct problem *problem, mdf_method method, uint64_t n)
{
    double errors[2];

    for (uint64_t i = 0; i < 2; i++) {
        const struct run fine = {.text = problem->text, .options = {.method = method}, .n_steps = n << i, .dt = 2.0 / (double)(n << i)};

        errors[i] = fabs(run(&fine).items[problem->result] - problem->solution(2.0));
    }
    return log2(errors[0] / errors[1]);
}

Test(solve, orders)
{
    static const struct {
        mdf_method method;
        double order;
        uint64_t n;
    } methods[] = {{MDF_METHOD_HEUN, 2, 64}, {MDF_METHOD_RK4, 4, 32}, {MDF_METHOD_EXPONENTIAL_EULER, 1, 512}};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
            double slope;

            if (methods[i].method == MDF_METHOD_EXPONENTIAL_EULER && k != 3) { /* of one state by itself it has order 2 */
                continue;
            }
            slope = slope_of(&problems[k], methods[i].method, methods[i].n);
            cr_expect_float_eq(slope, methods[i].order, 0.1, "%s by method %d: order %g", problems[k].name, methods[i].method, slope);
        }
    }
}

/* Its steps are exact where a state changes by a factor of itself and a constant. */
Test(solve, exponential_euler_is_exact_for_linear_decay)
{
    const struct run decay = {
        .text = GRAPH("n: {parameters: {x: {default_initial_value: 2.0, time_derivative: (0.5 - x) * 1000}}, output_ports: {o: {value: x}}}", ""),
        .options = {.method = MDF_METHOD_EXPONENTIAL_EULER},
        .n_steps = 7,
        .dt = 0.001};

    cr_expect_float_eq(run(&decay).items[0], 0.5 + 1.5 * exp(-7.0), 1e-14);
}

/* Plain, lowered, and with steps that nobody looks at. */
static void expect_one_result(const char *text, mdf_options options, uint64_t n_steps, double dt)
{
    struct run way = {.text = text, .options = options, .n_steps = n_steps, .dt = dt};
    struct results results[3];

    results[0] = run(&way);
    way.at_once = true;
    results[1] = run(&way);
    way.options.plain = true;
    way.at_once = false;
    results[2] = run(&way);
    for (size_t i = 1; i < 3; i++) {
        cr_expect(results[i].n == results[0].n && memcmp(results[i].items, results[0].items, results[0].n * sizeof(double)) == 0,
                  "%s by method %d, way %zu: %.17g, not %.17g", text, options.method, i, results[i].items[0], results[0].items[0]);
    }
}

/* ------------------------------------------------------------------ tolerances */

/* The error follows the tolerance, whatever the time between evaluations: steps go over them. */
Test(solve, tolerance_is_kept_between_steps)
{
    static const double times[] = {2.0, 0.5, 0.01};

    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        for (double tolerance = 1e-4; tolerance > 1e-11; tolerance /= 100) {
            for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
                const struct run solved = {.text = problems[k].text,
                                           .options = {.method = MDF_METHOD_DOPRI5, .rtol = tolerance, .atol = tolerance},
                                           .n_steps = (uint64_t)lround(2.0 / times[i]),
                                           .dt = times[i]};
                double error = fabs(run(&solved).items[problems[k].result] - problems[k].solution(2.0));

                /* of some ten steps, which add up; 1e-14: of the sum of times */
                cr_expect_lt(error, 20 * tolerance + 1e-14, "%s, %g, every %g: %g", problems[k].name, tolerance, times[i], error);
            }
        }
    }
}

/* Whether SUNDIALS is there: the build may have found none, and where it runs may be another machine. */
static bool has_cvode(void)
{
    static const char text[] = GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: -x}}, output_ports: {x: {value: x}}}", "");
    mdf_error error = {0};
    mdf_program *program = compile(text, &(mdf_options){.method = MDF_METHOD_CVODE_BDF}, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    bool found = state != NULL && mdf_evaluate(state, (double)NAN, &error) == MDF_OK && mdf_evaluate(state, 0.1, &error) == MDF_OK;

    cr_assert(found || error.code == MDF_UNSUPPORTED, "%s", error.message);
    mdf_state_free(state);
    mdf_program_free(program);
    return found;
}

Test(solve, cvode_keeps_to_the_tolerance)
{
    static const mdf_method methods[] = {MDF_METHOD_CVODE_ADAMS, MDF_METHOD_CVODE_BDF};
    static const double times[] = {2.0, 0.5, 0.01};

    if (!has_cvode()) {
        return;
    }
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
                const struct run solved = {.text = problems[k].text,
                                           .options = {.method = methods[m], .rtol = 1e-9, .atol = 1e-9},
                                           .n_steps = (uint64_t)lround(2.0 / times[i]),
                                           .dt = times[i]};
                double error = fabs(run(&solved).items[problems[k].result] - problems[k].solution(2.0));

                cr_expect_lt(error, 1e-6, "%s by method %d, every %g: %g", problems[k].name, methods[m], times[i], error);
            }
            expect_one_result(problems[k].text, (mdf_options){.method = methods[m]}, 50, 0.05);
        }
    }
}

/* Robertson's reactions to 1e11; the reference is that of Hairer and Wanner's test set. */
Test(solve, cvode_goes_far_where_steps_must_grow)
{
    const struct run reactions = {
        .text = GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: -0.04 * x + 1e4 * y * z}, y: {default_initial_value: 0.0, time_derivative: "
                      "0.04 * x - 1e4 * y * z - 3e7 * y ** 2}, z: {default_initial_value: 0.0, time_derivative: 3e7 * y ** 2}}, output_ports: {x: {value: x}, y: {value: y}, z: {value: z}}}",
                      ""),
        .options = {.method = MDF_METHOD_CVODE_BDF, .rtol = 1e-8, .atol = 1e-14},
        .n_steps = 1,
        .dt = 1e11};
    struct results results;

    if (!has_cvode()) {
        return;
    }
    results = run(&reactions);
    cr_expect_float_eq(results.items[0] / 0.2083340149701255e-7, 1, 1e-4, "%.17g", results.items[0]);
    cr_expect_float_eq(results.items[1] / 0.8333360770334713e-13, 1, 1e-4, "%.17g", results.items[1]);
    cr_expect_float_eq(results.items[2], 0.9999999791665050, 1e-8, "%.17g", results.items[2]);
}

/* It begins anew where an input has changed, and after a reset. */
Test(solve, cvode_begins_anew)
{
    static const char text[] = GRAPH("n: {input_ports: {i: {default_value: 1.0}}, parameters: {v: {default_initial_value: 0.0, time_derivative: i - v, conditions: "
                                     "[{id: fire, test: v > 0.6, value: 0.0}]}}, output_ports: {o: {value: v}}}", "");
    mdf_error error = {0};
    mdf_program *program = has_cvode() ? compile(text, &(mdf_options){.method = MDF_METHOD_CVODE_BDF, .rtol = 1e-9, .atol = 1e-9}, &error) : NULL;
    mdf_state *state = mdf_state_new(program, &error), *other = mdf_state_new(program, &error);
    /* it fires each log(2.5), twice until 2.5; then the input is 3, until 3: once log(2.4 / (3 - v)) later, and each log(3 / 2.4) */
    const double v = 1 - exp(2 * log(2.5) - 2.5), since = fmod(0.5 + log(2.4 / (3 - v)), log(3 / 2.4)), last = 3 - 3 * exp(-since);
    mdf_tensor tensor;

    if (program == NULL) {
        return;
    }
    for (int life = 0; life < 2; life++) {
        for (int i = 0; i < 7; i++) {
            const double input = 3.0;

            if (i == 6) {
                cr_assert_eq(mdf_set_input(state, "n.i", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &input}, &error), MDF_OK);
            }
            cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : 0.5, &error), MDF_OK, "%s", error.message);
        }
        cr_assert(mdf_value_tensor(mdf_output(state, "n", "o"), &tensor));
        cr_expect_float_eq(*(const double *)tensor.data, last, 1e-7, "%g, not %g", *(const double *)tensor.data, last);
        cr_expect_eq(mdf_state_reset(state, 0, &error), MDF_OK);
    }
    cr_expect_eq(mdf_state_copy(other, state, &error), MDF_UNSUPPORTED);
    mdf_state_free(other);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* Diffusion along an array, with a source that is not linear: the Jacobian is a band, in which a run gives every third column. */
Test(solve, cvode_takes_a_band)
{
    static const char text[] =
        GRAPH("n: {parameters: {left: {value: 'numpy.concatenate([[0.0], x[:-1]])'}, right: {value: 'numpy.concatenate([x[1:], [0.0]])'}, x: {default_initial_value: "
              "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], time_derivative: '100.0 * (left - 2.0 * x + right) + numpy.exp(x)'}}, "
              "output_ports: {middle: {value: 'x[5]'}}}", "");
    struct results exact, results;

    if (!has_cvode()) {
        return;
    }
    exact = run(&(struct run){.text = text, .options = {.method = MDF_METHOD_DOPRI5, .rtol = 1e-11, .atol = 1e-11}, .n_steps = 4, .dt = 0.05});
    results = run(&(struct run){.text = text, .options = {.method = MDF_METHOD_CVODE_BDF, .rtol = 1e-9, .atol = 1e-9}, .n_steps = 4, .dt = 0.05});
    cr_expect_float_eq(results.items[0], exact.items[0], 1e-7, "%.17g, not %.17g", results.items[0], exact.items[0]);
    expect_one_result(text, (mdf_options){.method = MDF_METHOD_CVODE_BDF}, 10, 0.05);
}

/* ------------------------------------------------------------------ events */

#define BALL(test) \
    GRAPH("ball: {parameters: {h: {default_initial_value: 1.0, time_derivative: v}, v: {default_initial_value: 0.0, time_derivative: -9.81, conditions: " \
          "[{id: bounce, test: " test ", value: -0.8 * v}]}}, output_ports: {h: {value: h}, v: {value: v}}}", "")

/* Height and speed at a time, by the times of bounces in closed form. */
static void fall(double time, double *height, double *speed)
{
    double begin = -sqrt(2 / 9.81), up = sqrt(2 * 9.81); /* as if thrown up before */

    while (begin + 2 * up / 9.81 < time) {
        begin += 2 * up / 9.81;
        up *= 0.8;
    }
    *height = up * (time - begin) - 0.5 * 9.81 * (time - begin) * (time - begin);
    *speed = up - 9.81 * (time - begin);
}

static const mdf_method locating[] = {MDF_METHOD_DOPRI5, MDF_METHOD_CVODE_ADAMS, MDF_METHOD_CVODE_BDF};

/* How many of them there are on this machine. */
static size_t n_locating(void)
{
    return has_cvode() ? sizeof locating / sizeof *locating : 1;
}

static void expect_bounces(const char *ball, mdf_method method, double dt)
{
    const struct run bounced = {
        .text = ball, .options = {.method = method, .rtol = 1e-13, .atol = 1e-13}, .n_steps = (uint64_t)lround(3.0 / dt), .dt = dt};
    struct results results = run(&bounced);
    double height, speed;

    fall(3.0, &height, &speed);
    cr_expect_float_eq(results.items[0], height, 1e-10, "%s every %g: %.17g, not %.17g", ball, dt, results.items[0], height);
    cr_expect_float_eq(results.items[1], speed, 1e-10, "%s every %g: %.17g, not %.17g", ball, dt, results.items[1], speed);
}

/* Six bounces, whatever the time between evaluations. */
Test(solve, events_are_located)
{
    static const char *const balls[] = {BALL("h <= 0 and v < 0"), BALL("h < 0")};
    static const double times[] = {3.0, 0.5, 0.01};

    for (size_t m = 0; m < n_locating(); m++) {
        for (size_t k = 0; k < 2; k++) {
            for (size_t i = 0; i < 3; i++) {
                expect_bounces(balls[k], locating[m], times[i]);
            }
        }
    }
    expect_one_result(balls[0], (mdf_options){.method = MDF_METHOD_DOPRI5}, 150, 0.02);
}

/* Each neuron of an array fires for itself; another state changes with it. */
Test(solve, elements_have_events_of_their_own)
{
    const struct run spiked = {
        .text = GRAPH("n: {parameters: {i: {value: [2.0, 3.0]}, v: {default_initial_value: [0.0, 0.0], time_derivative: i - v, conditions: [{id: fire, test: v > 1, value: 0.0}]}, "
                      "count: {default_initial_value: [0.0, 0.0], time_derivative: 0.0 * v, conditions: [{id: spike, test: v > 1, value: count + 1}]}}, "
                      "output_ports: {a: {value: 'v[0]'}, b: {value: 'v[1]'}, c: {value: 'count[0]'}, d: {value: 'count[1]'}}}", ""),
        .options = {.rtol = 1e-12, .atol = 1e-12},
        .n_steps = 5,
        .dt = 1.0};

    for (size_t m = 0; m < n_locating(); m++) {
        struct run by = spiked;
        struct results results;

        by.options.method = locating[m];
        results = run(&by);
        cr_expect_float_eq(results.items[0], 2 * (1 - exp(-fmod(5.0, log(2.0)))), 1e-9, "%.17g", results.items[0]);
        cr_expect_float_eq(results.items[1], 3 * (1 - exp(-fmod(5.0, log(1.5)))), 1e-9, "%.17g", results.items[1]);
        cr_expect_eq(results.items[2], floor(5.0 / log(2.0)), "%g", results.items[2]);
        cr_expect_eq(results.items[3], floor(5.0 / log(1.5)), "%g", results.items[3]);
    }
}

/* Behind a bounce a step may have to be far shorter than the one before it. */
Test(solve, events_are_located_to_a_tight_tolerance)
{
    static const char text[] =
        GRAPH("n: {metadata: {events: {hit: {crosses: h, direction: falling}}}, parameters: {h: {default_initial_value: 1.0, time_derivative: v}, "
              "v: {default_initial_value: 0.0, time_derivative: -9.81, conditions: [{id: up, test: 'numpy.logical_and(h <= 0, v < 0)', value: -0.8 * v}]}}, "
              "output_ports: {h: {value: h}}}", "");
    static const struct {
        double rtol, atol, exact;
    } tolerances[] = {{1e-12, 1e-14, 1e-11}, {1e-10, 1e-10, 1e-10}};
    double fall_time = sqrt(2 / 9.81), time = fall_time * (1 + 2 * (0.8 + 0.64 + 0.512));

    cr_expect_gt(time + 2 * 0.4096 * fall_time, 2.5); /* the next one: not yet */
    for (size_t i = 0; i < 2 * n_locating(); i++) {
        mdf_method method = locating[i / 2];
        const struct run bounced = {.text = text,
                                    .options = {.method = method, .rtol = tolerances[i % 2].rtol, .atol = tolerances[i % 2].atol},
                                    .n_steps = 1250,
                                    .dt = 0.002};
        struct results results = run(&bounced);

        cr_expect_eq(results.items[1], 4, "method %d: %g", (int)method, results.items[1]);
        cr_expect_float_eq(results.items[2], time, tolerances[i % 2].exact, "method %d, %g: %.17g, not %.17g", (int)method,
                           tolerances[i % 2].rtol, results.items[2], time);
    }
}

static void expect_chattering(mdf_method method)
{
    mdf_error error = {0};
    mdf_program *program = compile(BALL("h <= 0 and v < 0"), &(mdf_options){.method = method}, &error);
    mdf_state *state = mdf_state_new(program, &error);

    for (int i = 0; i < 10 && error.code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : 1.0, &error);
    }
    cr_expect_eq(error.code, MDF_VALUE);
    cr_expect(strstr(error.message, "chattering") != NULL, "%s", error.message);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* Bounces that become infinitely many. */
Test(solve, events_without_end_are_an_error)
{
    for (size_t m = 0; m < n_locating(); m++) {
        expect_chattering(locating[m]);
    }
}

static void expect_output(const mdf_state *state, const char *port, double value)
{
    mdf_tensor tensor;

    cr_assert(mdf_value_tensor(mdf_output(state, "n", port), &tensor));
    cr_expect_float_eq(*(const double *)tensor.data, value, 1e-6, "%s: %.17g, not %g", port, *(const double *)tensor.data, value);
}

/* What an event does may bring about another; an input too. */
static void expect_events_that_follow(mdf_method method)
{
    static const char text[] =
        GRAPH("n: {input_ports: {i: {default_value: 1.0}}, parameters: {a: {default_initial_value: 0.0, time_derivative: i, conditions: [{id: over, test: a > 1.25, value: -1.0}]}, "
              "b: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: under, test: a < 0 or i > 2, value: b + 10.0}]}}, output_ports: {a: {value: a}, b: {value: b}}}", "");
    mdf_error error = {0};
    mdf_program *program = compile(text, &(mdf_options){.method = method}, &error);
    mdf_state *state = mdf_state_new(program, &error);

    for (int i = 0; i < 7; i++) { /* at 1.25 both change; at 2.25 that a is less than 0 ends */
        cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : 0.5, &error), MDF_OK, "%s", error.message);
    }
    expect_output(state, "a", 0.75);
    expect_output(state, "b", 13.0);
    cr_assert_eq(mdf_set_input(state, "n.i", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &(double){2.5}}, &error), MDF_OK);
    cr_assert_eq(mdf_evaluate(state, 0.1, &error), MDF_OK, "%s", error.message);
    expect_output(state, "a", 1.0);
    expect_output(state, "b", 23.1);
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(solve, events_follow_from_events_and_inputs)
{
    for (size_t m = 0; m < n_locating(); m++) {
        expect_events_that_follow(locating[m]);
    }
}

/* A limit, a refractory time: a condition that is to hold a state, not to act once. */
static void expect_refused_limit(const char *text, mdf_method method, const char *says)
{
    mdf_error error = {0};
    mdf_program *program = compile(text, &(mdf_options){.method = method}, &error);
    mdf_state *state = mdf_state_new(program, &error);

    for (int i = 0; i < 5 && error.code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : 0.5, &error);
    }
    cr_expect_eq(error.code, MDF_VALUE, "method %d", (int)method);
    cr_expect(strstr(error.message, says) != NULL, "%s", error.message);
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(solve, refuses_conditions_that_hold_a_state)
{
    for (size_t m = 0; m < n_locating(); m++) {
        expect_refused_limit(GRAPH("n: {parameters: {x: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: limit, test: x >= 1, value: 1.0}]}}, "
                                   "output_ports: {x: {value: x}}}", ""),
                             locating[m], "hold a state");
        expect_refused_limit(GRAPH("n: {parameters: {x: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: limit, test: x > 1, value: 1.0}]}}, "
                                   "output_ports: {x: {value: x}}}", ""),
                             locating[m], "chattering");
    }
}

/* ------------------------------------------------------------------ jumps and many steps */

/* What an evaluation says by each way; the same for all of them. */
static void expect_end(const char *text, const mdf_options *options, double dt, mdf_status code, const char *says)
{
    for (int plain = 0; plain <= 1; plain++) {
        mdf_options given = *options;
        mdf_error error = {0};
        mdf_program *program;
        mdf_state *state;

        given.plain = plain;
        program = compile(text, &given, &error);
        state = mdf_state_new(program, &error);
        for (int i = 0; i < 400 && error.code == MDF_OK && i * dt <= 20; i++) {
            mdf_evaluate(state, i == 0 ? (double)NAN : dt, &error);
        }
        cr_expect_eq(error.code, code, "method %d, %s: %d %s", (int)options->method, text, (int)error.code, error.message);
        cr_expect(strstr(error.message, says) != NULL, "method %d, %s: %s", (int)options->method, text, error.message);
        mdf_state_free(state);
        mdf_program_free(program);
    }
}

#define SLOPE(start, slope) \
    GRAPH("n: {parameters: {x: {default_initial_value: " start ", time_derivative: '" slope "'}}, output_ports: {x: {value: x}}}", "")
#define TIMED(slope) \
    GRAPH("n: {parameters: {t: {default_initial_value: 0.0, time_derivative: 1.0}, x: {default_initial_value: 1.0, time_derivative: '" slope \
          "'}}, output_ports: {x: {value: x}}}", "")

/* Slopes that lead to where they jump from both sides. By differences over a jump BDF would take it for a slope, and go through. */
Test(solve, slopes_that_lead_back_to_a_jump_are_an_error)
{
    static const char *const texts[] = {
        SLOPE("1.0", "-x + numpy.where(x > -1.0, -2.0, 1.0)"), SLOPE("[0.5, 2.0]", "numpy.where(x > 0.1, -1.0, 2.0) - 0.1 * x"),
        GRAPH("n: {parameters: {v: {default_initial_value: 0.5, time_derivative: -x - 2.0 * numpy.sign(v)}, x: {default_initial_value: 0.5, time_derivative: v}}, "
              "output_ports: {x: {value: x}}}", "")};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t m = 0; m < n_locating(); m++) {
            expect_end(texts[i], &(mdf_options){.method = locating[m]}, locating[m] == MDF_METHOD_DOPRI5 ? 20 : 0.05, MDF_VALUE,
                       "lead back to the jump");
        }
    }
}

/* Of few steps in each evaluation, but of many in all. */
Test(solve, slopes_that_lead_back_in_many_evaluations_are_an_error)
{
    static const char text[] = SLOPE("[2.0, -0.5, -2.0]", "-x + numpy.where(x > -1.0, -2.0, 2.0)");

    if (has_cvode()) {
        expect_end(text, &(mdf_options){.method = MDF_METHOD_CVODE_BDF}, 0.01, MDF_VALUE, "lead back to the jump");
    }
}

/* Such steps as a solution goes through, however many. */
Test(solve, jumps_that_are_left_behind_are_solved)
{
    for (size_t m = 0; m < n_locating(); m++) {
        const struct run driven = {.text = TIMED("-x + numpy.where(numpy.sin(1000.0 * t) > 0, 1.0, 0.0)"),
                                   .options = {.method = locating[m], .max_step = 1e-3}, .n_steps = 1, .dt = 4};
        struct results results = run(&driven);

        cr_expect_float_eq(results.items[0], 0.5 + 0.5 * exp(-4), 1e-3, "%.17g", results.items[0]);
    }
}

Test(solve, steps_of_an_evaluation_are_bounded)
{
    static const char stiff[] = TIMED("-1e5 * (x - numpy.cos(t))");

    expect_end(stiff, &(mdf_options){.method = MDF_METHOD_DOPRI5, .step_limit = 2000}, 1, MDF_LIMIT, "step limit");
    expect_end(stiff, &(mdf_options){.method = MDF_METHOD_DOPRI5, .step_limit = 200000}, 21, MDF_OK, "");
    expect_end(stiff, &(mdf_options){.method = MDF_METHOD_DOPRI5, .step_limit = 1000}, 0.001, MDF_OK, ""); /* of each */
    if (n_locating() > 1) {
        expect_end(stiff, &(mdf_options){.method = MDF_METHOD_CVODE_ADAMS, .step_limit = 2000}, 1, MDF_LIMIT, "step limit");
        expect_end(stiff, &(mdf_options){.method = MDF_METHOD_CVODE_BDF, .step_limit = 500}, 1, MDF_OK, "");
    }
}

#define NEURON(events) \
    GRAPH("n: {metadata: {events: " events "}, parameters: {v: {default_initial_value: 0.0, time_derivative: 2 - v, conditions: " \
          "[{id: fire, test: v > 1, value: 0.0}]}}}", "")

static struct results count_spikes(mdf_method method, uint64_t n_steps, double dt)
{
    const struct run run_of = {
        .text = NEURON("{spike: {crosses: v - 1}, low: {crosses: v - 0.5, direction: falling}}"),
        .options = {.method = method, .rtol = 1e-12, .atol = 1e-12},
        .n_steps = n_steps,
        .dt = dt};

    return run(&run_of);
}

/* In metadata, as output ports: a count, and the time of the last. What conditions do at an event may be another. */
Test(solve, events_of_metadata_are_results)
{
    for (size_t m = 0; m < n_locating(); m++) {
        struct results results = count_spikes(locating[m], 5, 1.0);

        for (size_t i = 0; i < 4; i += 2) {
            cr_expect_eq(results.items[i], 7, "%g", results.items[i]);
            cr_expect_float_eq(results.items[i + 1], 7 * log(2.0), 1e-9, "%.17g", results.items[i + 1]);
        }
    }
}

/* By fixed steps: on the straight line between two evaluations, before conditions act. */
Test(solve, events_of_metadata_by_fixed_steps)
{
    static const mdf_method methods[] = {MDF_METHOD_EULER, MDF_METHOD_EXPONENTIAL_EULER, MDF_METHOD_HEUN, MDF_METHOD_RK4};
    const double before = 2 - 2 * exp(-0.6), behind = 2 - 2 * exp(-0.7);

    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        struct results results = count_spikes(methods[m], 8, 0.1);

        cr_expect_eq(results.items[0], 1, "%d: %g", (int)methods[m], results.items[0]);
        cr_expect_float_eq(results.items[1], 0.6 + 0.1 * (1 - before) / (behind - before), methods[m] == MDF_METHOD_EULER ? 0.05 : 2e-3,
                           "%d: %.17g", (int)methods[m], results.items[1]);
        cr_expect_eq(results.items[2], 1, "%d: %g", (int)methods[m], results.items[2]);
        cr_expect_float_eq(results.items[3], 0.8, 1e-12, "%d: %.17g", (int)methods[m], results.items[3]); /* the reset, by what was at 0.7 */
        expect_one_result(NEURON("{spike: {crosses: v - 1}}"), (mdf_options){.method = methods[m]}, 30, 0.1);
    }
    expect_one_result(NEURON("{spike: {crosses: v - 1}}"), (mdf_options){.method = MDF_METHOD_DOPRI5}, 30, 0.1);
}

/* Without a time increment all begins anew, the clock that tells when events are too, which nothing else looks at. */
Test(solve, events_behind_a_new_beginning)
{
    static const mdf_method methods[] = {MDF_METHOD_EULER, MDF_METHOD_RK4, MDF_METHOD_DOPRI5};

    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        struct results results[2];

        for (int plain = 0; plain < 2; plain++) {
            const mdf_options options = {.method = methods[m], .plain = plain == 1};
            mdf_error error = {0};
            mdf_program *program = compile(NEURON("{spike: {crosses: v - 0.9}}"), &options, &error);
            mdf_state *state = mdf_state_new(program, &error);

            for (int i = 0; i < 20; i++) {
                cr_assert_eq(mdf_evaluate(state, i % 13 == 0 ? (double)NAN : 0.25, &error), MDF_OK, "%s", error.message);
            }
            look(state, program, &results[plain]);
            mdf_state_free(state);
            mdf_program_free(program);
        }
        cr_expect_eq(memcmp(results[0].items, results[1].items, results[0].n * sizeof(double)), 0, "%d: %.17g, plainly %.17g", (int)m,
                     results[0].items[1], results[1].items[1]);
    }
}

Test(solve, refuses_events_that_say_too_little)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{NEURON("{spike: {crosses: v - 1, direction: up}}"), "'rising' or 'falling'"},
                 {NEURON("{spike: {direction: rising}}"), "needs 'crosses'"},
                 {NEURON("{v: {crosses: v - 1}}"), "the node has one of that name"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mdf_error error = {0};
        mdf_program *program = compile(cases[i].text, &(mdf_options){.method = MDF_METHOD_EULER}, &error);

        cr_expect_null(program);
        cr_expect(strstr(error.message, cases[i].says) != NULL && error.line > 0, "%s", error.message);
        mdf_program_free(program);
    }
}

/* Inputs change in jumps at evaluations: steps end there. */
Test(solve, steps_end_where_inputs_change)
{
    static const char text[] = GRAPH("n: {input_ports: {i: {}}, parameters: {v: {default_initial_value: 0.0, time_derivative: i - v}}, output_ports: {o: {value: v}}}", "");
    mdf_error error = {0};
    mdf_program *program = compile(text, &(mdf_options){.method = MDF_METHOD_DOPRI5, .rtol = 1e-10, .atol = 1e-10}, &error);
    mdf_state *state = mdf_state_new(program, &error);
    double v = 0;

    for (int i = 0; i < 9; i++) {
        const double input = i % 3;
        mdf_tensor tensor;

        cr_assert_eq(mdf_set_input(state, "n.i", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &input}, &error), MDF_OK);
        cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : 0.5, &error), MDF_OK, "%s", error.message);
        v = i == 0 ? 0 : input + (v - input) * exp(-0.5);
        cr_assert(mdf_value_tensor(mdf_output(state, "n", "o"), &tensor));
        cr_expect_float_eq(*(const double *)tensor.data, v, 1e-8, "step %d: %g, not %g", i, *(const double *)tensor.data, v);
    }
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(solve, says_where_steps_become_too_short)
{
    static const char pole[] = GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: x * x}}, output_ports: {o: {value: x}}}", "");
    mdf_error error = {0};
    mdf_program *program = compile(pole, &(mdf_options){.method = MDF_METHOD_DOPRI5}, &error);
    mdf_state *state = mdf_state_new(program, &error);

    for (int i = 0; i < 10 && error.code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : 0.3, &error);
        cr_expect(i < 4 || error.code != MDF_OK); /* 1 / (1 - t) */
    }
    cr_expect_eq(error.code, MDF_VALUE);
    cr_expect(strstr(error.message, "too short to go on") != NULL, "%s", error.message);
    error = (mdf_error){0};
    cr_expect_eq(mdf_state_reset(state, 0, &error), MDF_OK);
    cr_expect_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK);
    cr_expect_eq(mdf_evaluate(state, -0.1, &error), MDF_USAGE);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* ------------------------------------------------------------------ every way */

Test(solve, every_way_gives_the_same_bits)
{
    static const mdf_method methods[] = {MDF_METHOD_EULER, MDF_METHOD_EXPONENTIAL_EULER, MDF_METHOD_HEUN, MDF_METHOD_RK4, MDF_METHOD_DOPRI5};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
            expect_one_result(problems[k].text, (mdf_options){.method = methods[i]}, 50, 0.05);
        }
    }
}

/* What does not feed derivatives is as it is: one run an evaluation. */
Test(solve, others_run_once_an_evaluation)
{
    const struct run counted = {
        .text = GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: -x}, calls: {default_initial_value: 0.0, value: calls + 1}, last: "
                      "{default_initial_value: 0.0, value: x}}, output_ports: {o: {value: x}, c: {value: calls}, l: {value: last}}}", ""),
        .options = {.method = MDF_METHOD_RK4},
        .n_steps = 10,
        .dt = 0.1};
    struct results results = run(&counted);

    cr_expect_float_eq(results.items[0], exp(-1.0), 1e-6);
    cr_expect_eq(results.items[1], 11);
    cr_expect_eq(results.items[2], results.items[0]);
}

/* An input holds from the evaluation before to that which it is given to. */
Test(solve, inputs_hold_for_a_step)
{
    static const char text[] =
        GRAPH("n: {input_ports: {i: {}}, parameters: {x: {default_initial_value: 0.0, time_derivative: i}}, output_ports: {o: {value: x}}}, "
              "last: {input_ports: {j: {default_value: 2.0}, x: {}}, parameters: {y: {default_initial_value: 0.0, time_derivative: j}}, output_ports: {p: {value: y}}}",
              ", edges: {e: {sender: n, sender_port: o, receiver: last, receiver_port: x}}");
    mdf_error error = {0};
    mdf_program *program = compile(text, &(mdf_options){.method = MDF_METHOD_RK4}, &error);
    mdf_state *state = mdf_state_new(program, &error);
    mdf_tensor tensor;
    double sum = 0, other = 0;

    for (int i = 0; i < 8; i++) {
        const double input = i * i;

        if (i % 3 != 2) {
            cr_assert_eq(mdf_set_input(state, "n.i", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &input}, &error), MDF_OK);
            cr_assert_eq(mdf_set_input(state, "last.j", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &input}, &error), MDF_OK);
        }
        cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : 0.5, &error), MDF_OK, "%s", error.message);
        sum += i > 0 && i % 3 != 2 ? 0.5 * input : 0;
        other += i == 0 ? 0 : i % 3 != 2 ? 0.5 * input : 0.5 * 2.0; /* without one the default value */
        cr_assert(mdf_value_tensor(mdf_output(state, "n", "o"), &tensor));
        cr_expect_float_eq(*(const double *)tensor.data, sum, 1e-12, "step %d: %g, not %g", i, *(const double *)tensor.data, sum);
        cr_assert(mdf_value_tensor(mdf_output(state, "last", "p"), &tensor));
        cr_expect_float_eq(*(const double *)tensor.data, other, 1e-12, "step %d: %g, not %g", i, *(const double *)tensor.data, other);
    }
    mdf_state_free(state);
    mdf_program_free(program);
}

/* ------------------------------------------------------------------ refused */

Test(solve, refuses_what_it_can_not_solve)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {GRAPH("n: {parameters: {calls: {default_initial_value: 0, value: calls + 1}, x: {default_initial_value: 1.0, time_derivative: -x * calls}}, output_ports: "
               "{o: {value: x}}}", ""),
         "it can not be solved by rk4: a derivative depends on a value that is kept from one evaluation to the next (it reads its own, and counts evaluations) "
         "(docs/time.md); take the method euler"},
        {GRAPH("n: {parameters: {u: {function: 'onnx::RandomUniform', args: {shape: '[1]'}}, x: {default_initial_value: 1.0, time_derivative: '-x * u[0]'}}, output_ports: {o: {value: "
               "x}}}", ""),
         "it can not be solved by rk4: a derivative draws random numbers (docs/time.md); take the method euler"},
        {GRAPH("n: {parameters: {x: {default_initial_value: 1.0, time_derivative: -x}}, output_ports: {o: {value: x}}}",
               ", conditions: {node_specific: {n: {type: EveryNPasses, kwargs: {n: 2}}}}"),
         "a graph with conditions can not be solved by rk4: its nodes do not run once in each evaluation (docs/time.md); take the method euler"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mdf_error error = {0};
        mdf_program *program = compile(cases[i].text, &(mdf_options){.method = MDF_METHOD_RK4}, &error);

        cr_expect_null(program, "%s", cases[i].text);
        cr_expect_str_eq(error.message, cases[i].message);
        cr_expect_gt(error.line, 0);
        mdf_program_free(program);
        error = (mdf_error){0};
        program = compile(cases[i].text, NULL, &error);
        cr_expect_not_null(program, "%s", error.message);
        mdf_program_free(program);
    }
}

Test(solve, options_are_checked)
{
    static const mdf_options wrong[] = {{.method = (mdf_method)7}, {.rtol = -1}, {.atol = (double)NAN}, {.max_step = (double)INFINITY}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mdf_error error = {0};

        cr_expect_null(compile(CIRCLE, &wrong[i], &error));
        cr_expect_eq(error.code, MDF_USAGE);
    }
}

/* ------------------------------------------------------------------ memory */

Test(solve, survives_failing_allocations)
{
    bool is_done = false;

    for (size_t n = 1; !is_done && n < 100000; n += 1 + n / 40) {
        struct counter counter = {.fail_at = n};
        mdf_allocator allocator = failing_allocator(&counter);
        mdf_error error = {0};
        mdf_program *program = compile(problems[4].text, &(mdf_options){.method = MDF_METHOD_RK4, .allocator = &allocator}, &error);

        is_done = program != NULL;
        cr_expect(is_done || error.code == MDF_OUT_OF_MEMORY, "%zu: %s", n, error.message);
        mdf_program_free(program);
        cr_expect_eq(counter.n_blocks, 0);
    }
    cr_expect(is_done);
}
