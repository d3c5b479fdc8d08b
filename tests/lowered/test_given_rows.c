/* test_given_rows.c - many evaluations in a row whose inputs are given step by step: as a loop over arrays of them, with the same bits
 * as one by one, whatever is given when. Models are written with single quotes. */
#include "mdf_c/run/given_rows.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_STEPS = 3000, TEXT_SIZE = 1 << 12 };

static const char model[] =
    "{'m': {'graphs': {'g': {'nodes': {'n': {'input_ports': {'x': {'shape': [2], 'type': 'float64'}, 'y': {'default_value': 0.5}}, "
    "'parameters': {'s': {'value': 's * 0.5 + x * y', 'default_initial_value': 1.0}}, 'output_ports': {'o': {'value': 's'}}}}}}}}";

/* What is given in a step; NULL: nothing. */
typedef const char *given_text(const char *port, uint64_t step, char *text, size_t size);

struct given {
    given_text *text;
    uint64_t n_asked, failed_at;
};

static bool give(void *context, mdf_state *state, uint64_t step)
{
    static const char *const ports[] = {"x", "y"};
    struct given *given = context;
    mdf_error error = {0};
    bool done = true;

    given->n_asked++;
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        char text[100];
        const char *json = given->text(ports[i], step, text, sizeof text);

        done = done && (json == NULL || mdf_set_input_json(state, ports[i], json, &error) == MDF_OK);
    }
    return done;
}

static void run(struct engine *engine, struct given *given)
{
    for (uint64_t step = 0; step < N_STEPS; step++) {
        step += step > 0 ? mdf_state_skip_given(engine->state, &(struct mdf_given_steps){0.1, step, N_STEPS, give, given}) : 0;
        cr_assert(give(given, engine->state, step));
        if (mdf_evaluate(engine->state, step == 0 ? (double)NAN : 0.1, &engine->error) != MDF_OK) {
            given->failed_at = step;
            return;
        }
    }
}

/* Gives the same as plainly, by a loop where `loops`. */
static void expect_same(given_text *text_of, bool loops)
{
    const mdf_options plain = {.plain = true};
    struct given given = {text_of, 0, 0}, plainly = {text_of, 0, 0};
    struct engine one, other;
    char text[TEXT_SIZE];
    const struct mdf_fast *form;

    for (size_t i = 0; i < sizeof model; i++) {
        text[i] = (char)(model[i] == '\'' ? '"' : model[i]);
    }
    cr_assert(engine_begin(&one, text, NULL), "%s", one.error.message);
    cr_assert(engine_begin(&other, text, &plain));
    run(&one, &given);
    run(&other, &plainly);
    cr_expect_str_eq(one.error.message, other.error.message);
    cr_expect_eq(given.failed_at, plainly.failed_at);
    cr_expect(mdf_value_equal(mdf_output_at(one.state, 0, 0), mdf_output_at(other.state, 0, 0)));
    form = mdf_whole_series_form(one.state->whole);
    cr_expect_eq(form != NULL && form->n_runs > 0, loops);
    engine_end(&one);
    engine_end(&other);
}

static const char *both(const char *port, uint64_t step, char *text, size_t size)
{
    snprintf(text, size, *port == 'x' ? "[%d.5, 0.25]" : "%d.25", (int)(step % 17));
    return text;
}

/* Whole numbers are converted to what the port declares; of the other port they are another form. */
static const char *whole_numbers(const char *port, uint64_t step, char *text, size_t size)
{
    snprintf(text, size, *port == 'x' ? step % 3 == 0 ? "[%d, 2]" : "[%d.5, 2]" : "0.25", (int)(step % 17));
    return text;
}

static const char *other_forms(const char *port, uint64_t step, char *text, size_t size)
{
    snprintf(text, size, *port == 'x' ? "[%d, 2]" : step % 100 == 0 ? "%d" : "%d.5", (int)(step % 17));
    return text;
}

static const char *one_at_last(const char *port, uint64_t step, char *text, size_t size)
{
    return *port == 'x' || step < 700 ? both(port, step, text, size) : NULL;
}

static const char *one_at_times(const char *port, uint64_t step, char *text, size_t size)
{
    return *port == 'x' || step % 200 == 0 ? both(port, step, text, size) : NULL;
}

static const char *wrong_shape(const char *port, uint64_t step, char *text, size_t size)
{
    snprintf(text, size, *port == 'x' ? step == 2500 ? "[1, 2, %d]" : "[1.5, %d]" : "0.5", (int)(step % 17));
    return text;
}

Test(given_rows, give_what_steps_one_by_one_give)
{
    expect_same(both, true);
    expect_same(whole_numbers, true);
    expect_same(other_forms, false);
    expect_same(one_at_last, true);
    expect_same(one_at_times, false);
}

Test(given_rows, an_error_comes_in_its_step)
{
    expect_same(wrong_shape, true);
}

/* Whose steps run one by one anyway. */
Test(given_rows, a_plain_state_asks_for_nothing_twice)
{
    const mdf_options plain = {.plain = true};
    struct given given = {both, 0, 0};
    struct engine engine;
    char text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof model; i++) {
        text[i] = (char)(model[i] == '\'' ? '"' : model[i]);
    }
    cr_assert(engine_begin(&engine, text, &plain));
    run(&engine, &given);
    cr_expect_eq(given.n_asked, N_STEPS);
    engine_end(&engine);
}
