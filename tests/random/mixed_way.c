/* mixed_way.c - a program as a caller with no plan uses it: two states, of which calls of mdf.h in any order set inputs (some, of
 * other types and shapes, text, lent memory), go on by one step or by many, copy one to the other, reset, set parameters,
 * interrupt, look inside and ask for explanations. The same calls on states of the plain program are the reference. */
#include "tests/random/ways.h"

#include "mdf_c/base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CALLS = 60, MOST_STEPS = 12, SHORT_TRACE = 1 << 16, LONGEST_TRACE = 1 << 21 };
static const double most_plain_s = 0.5;

struct session {
    struct ways *ways;
    const mdf_program *program;
    mdf_state *states[2];
    struct trace *trace;
    uint64_t random;
    bool has_failed[2]; /* what a state is after an error hangs on how far it came: it is reset, or another is copied to it */
    bool has_begun[2], is_reference;
    size_t n_calls;
    uint64_t *n_steps; /* of each call: those of the reference, which may take long */
};

static uint64_t draw(struct session *session, uint64_t n)
{
    session->random ^= session->random << 13;
    session->random ^= session->random >> 7;
    session->random ^= session->random << 17;
    return (session->random * 0x2545f4914f6cdd1dULL >> 33) % n;
}

/* ------------------------------------------------------------------ inputs */

static const char *const others[] = {"0.5",
                                     "[1.5, -2.5]",
                                     "[[1, 2], [3, 4]]",
                                     "7",
                                     "-3",
                                     "true",
                                     "[]",
                                     "\"text\"",
                                     "{\"type\": \"float32\", \"shape\": [2], \"data\": [1, 2]}",
                                     "{\"type\": \"int8\", \"shape\": [], \"data\": [5]}",
                                     "NaN"};

static void set_inputs(struct session *session, mdf_state *state)
{
    const struct random_case *what = session->ways->what;
    const struct random_phase *phase = &what->phases[draw(session, what->n_phases)];
    uint64_t leaves_out = draw(session, 4), is_other = draw(session, 12);
    mdf_error error = {0};

    for (size_t i = 0; i < phase->n_inputs; i++) {
        const char *json = phase->inputs[i].json;

        if (leaves_out == 0 && draw(session, 2) == 0) {
            continue;
        }
        if (is_other == 0 && draw(session, 2) == 0) {
            json = others[draw(session, sizeof others / sizeof *others)];
        }
        mdf_set_input_json(state, phase->inputs[i].name, json, &error);
    }
}

/* An output of one state is an input of the other. */
static void hand_on(struct session *session, size_t to)
{
    size_t n_inputs = mdf_program_n_graph_inputs(session->program), n_results = mdf_program_n_results(session->program);
    const mdf_value *value;
    mdf_tensor tensor;
    mdf_error error = {0};
    const char *name;

    if (n_inputs == 0 || n_results == 0 || session->has_failed[1 - to]) {
        return;
    }
    name = mdf_program_graph_input_name(session->program, draw(session, n_inputs));
    value = mdf_result_at(session->states[1 - to], draw(session, n_results));
    if (value == NULL) {
        return;
    }
    if (draw(session, 2) == 0 && mdf_value_tensor(value, &tensor)) {
        mdf_set_input(session->states[to], name, &tensor, &error);
    } else {
        mdf_set_input_value(session->states[to], name, value, &error);
    }
}

/* ------------------------------------------------------------------ evaluations */

static void write_down(struct session *session, size_t k, mdf_status status, const mdf_error *error, size_t call)
{
    if (status != MDF_OK) {
        trace_error(session->trace, error, call, k);
    } else {
        trace_state(session->trace, session->program, session->states[k], call, k);
    }
}

static void evaluate(struct session *session, size_t k, size_t call)
{
    static const double increments[] = {1.0, 0.5, 0.0, 0.125};
    double dt = draw(session, 3) == 0 ? increments[draw(session, 4)] : session->ways->what->dt;
    uint64_t n_steps = draw(session, 3) == 0 ? 1 + draw(session, MOST_STEPS) : 1, n_done, n_recorded;
    double first_dt = dt;
    bool is_interrupted = draw(session, 25) == 0;
    mdf_error error = {0};
    mdf_status status;

    if (session->is_reference) { /* what grows may take long */
        session->n_steps[call] = session->trace->text.length > SHORT_TRACE ? 1 : n_steps;
    }
    n_steps = session->n_steps[call];
    if (is_interrupted) {
        mdf_state_interrupt(session->states[k]);
    }
    if (draw(session, 6) == 0 || !session->has_begun[k]) { /* which is to begin anew */
        first_dt = (double)NAN;
    }
    if (n_steps == 1) {
        status = mdf_evaluate(session->states[k], first_dt, &error);
    } else {
        status = mdf_evaluate_steps(session->states[k], n_steps, first_dt, dt, 0, NULL, 0, &n_done, &n_recorded, &error);
    }
    mdf_state_forget_interrupt(session->states[k]);
    session->has_begun[k] = true;
    session->has_failed[k] = status != MDF_OK || is_interrupted;
    if (!is_interrupted) { /* how far it came is not said */
        write_down(session, k, status, &error, call);
    }
}

/* ------------------------------------------------------------------ all calls */

static void look(struct session *session, mdf_state *state)
{
    char text[64];

    if (draw(session, 2) == 0) {
        mdf_explain(state, text, sizeof text);
    }
    mdf_state_bodies(state);
    mdf_state_profile(state);
    mdf_state_peak_bytes(state);
}

static void begin_anew(struct session *session, size_t k)
{
    mdf_error error = {0};

    mdf_state_reset(session->states[k], draw(session, 3), &error);
    session->has_failed[k] = session->has_begun[k] = false;
    if (draw(session, 6) == 0) {
        mdf_state_inspect(session->states[k], (unsigned)draw(session, 4), &error);
    }
}

static void run_session(struct session *session)
{
    double begin_s = mdf_clock_s();

    for (size_t call = 0; call < session->n_calls; call++) {
        size_t k = draw(session, 2);
        uint64_t what = draw(session, 20);
        mdf_error error = {0};

        if (session->has_failed[k] && draw(session, 2) == 0) {
            begin_anew(session, k);
        } else if ((session->has_failed[k] || what == 0) && !session->has_failed[1 - k]) {
            if (mdf_state_copy(session->states[k], session->states[1 - k], &error) == MDF_OK) {
                session->has_failed[k] = false;
                session->has_begun[k] = session->has_begun[1 - k];
            } else {
                begin_anew(session, k);
            }
        } else if (session->has_failed[k] || what == 1) {
            begin_anew(session, k);
        } else if (what == 2) {
            look(session, session->states[k]);
        } else if (what == 3) {
            hand_on(session, k);
        } else if (what < 9) {
            set_inputs(session, session->states[k]);
        } else {
            if (what < 16) {
                set_inputs(session, session->states[k]);
            }
            evaluate(session, k, call);
        }
        if (session->is_reference && (mdf_clock_s() - begin_s > most_plain_s || session->trace->text.length > LONGEST_TRACE)) {
            session->n_calls = call + 1;
        }
    }
}

static uint64_t seed_of(const struct random_case *what)
{
    uint64_t seed = 0xcbf29ce484222325ULL;

    for (size_t i = 0; i < what->size_bytes; i++) {
        seed = (seed ^ (unsigned char)what->model[i]) * 0x100000001b3ULL;
    }
    return seed | 1;
}

static size_t run_on(struct ways *ways, const mdf_program *program, struct trace *trace, size_t n_calls, uint64_t *n_steps)
{
    mdf_error error = {0};
    struct session session = {
        .ways = ways, .program = program, .trace = trace, .random = seed_of(ways->what), .n_calls = n_calls, .n_steps = n_steps};

    session.is_reference = trace == ways->own_reference;
    session.states[0] = program != NULL ? mdf_state_new(program, &error) : NULL;
    session.states[1] = program != NULL ? mdf_state_new(program, &error) : NULL;
    if (session.states[0] != NULL && session.states[1] != NULL) {
        run_session(&session);
        random_check_sound(session.states[0], trace);
    }
    mdf_state_free(session.states[0]);
    mdf_state_free(session.states[1]);
    return session.n_calls;
}

bool random_run_mixed(struct ways *ways, struct trace *trace)
{
    mdf_options options = random_options(ways->what);
    mdf_error error = {0};
    mdf_program *plain;
    uint64_t n_steps[N_CALLS] = {0};
    size_t n_calls;

    if (ways->program == NULL || ways->what->n_phases == 0 || random_is_solved_by_library(ways->what)) {
        return false;
    }
    options.plain = true;
    plain = mdf_compile(ways->model, &options, &error);
    n_calls = run_on(ways, plain, ways->own_reference, N_CALLS, n_steps);
    run_on(ways, ways->program, trace, n_calls, n_steps);
    mdf_program_free(plain);
    return true;
}
