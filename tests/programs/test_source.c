/* test_source.c - the C source of a program: whichever allocation fails while it is written, the error says so, and nothing is
 * lost. What the source computes: test_compile.c. */
#include "mdf_c/source/source.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* One model, and a state of it that is warm; both by the allocator of `counter`. */
struct warm {
    struct counter counter;
    mdf_allocator allocator;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
    size_t n_pieces; /* that the last text asked for */
};

static void warm_up(struct warm *warm, const char *path)
{
    mdf_options options = {.allocator = &warm->allocator};
    mdf_error error = {0};

    warm->allocator = failing_allocator(&warm->counter);
    warm->model = mdf_model_load_file_as(path, NULL, &options, &error);
    warm->program = mdf_compile(warm->model, &options, &error);
    warm->state = mdf_state_new(warm->program, &error);
    cr_assert(warm->state != NULL, "%s: %s", path, error.message);
    cr_assert(mdf_source_warm_up((struct mdf_state *)warm->state, NULL, NULL, (double)NAN, &error), "%s: %s", path,
              error.message);
}

static void release(struct warm *warm)
{
    mdf_state_free(warm->state);
    mdf_program_free(warm->program);
    mdf_model_free(warm->model);
    cr_expect_eq(warm->counter.n_blocks, (size_t)0);
}

/* Writes source and header, one after the other into `text`. */
static bool write_source(struct warm *warm, struct mdf_text *text, mdf_error *error)
{
    const struct mdf_source_options options = {.header = "model.h"};
    struct mdf_state *state = (struct mdf_state *)warm->state;
    struct mdf_text header;
    bool done;

    mdf_text_init(text, &state->shared->memory);
    mdf_text_init(&header, &state->shared->memory);
    done = mdf_source_write(state, &options, text, &header, error);
    warm->n_pieces = pieces_end();
    if (done) {
        warm->counter.fail_at = 0;
        mdf_text_append(text, header.bytes, header.length);
    }
    mdf_text_release(&header);
    return done;
}

/* Every STEP-th allocation, alone or from then on. What is refused alone may be asked for again, in a smaller block: then the
 * text is that which is written where nothing fails. */
static void fail_each(const char *path, size_t step, bool once)
{
    struct warm warm = {.counter = {.fails_once = once}};
    struct mdf_text whole, text;
    mdf_error error = {0};
    size_t n_blocks, n_calls, n;

    warm_up(&warm, path);
    cr_assert(write_source(&warm, &whole, &error), "%s: %s", path, error.message);
    mdf_text_release(&whole); /* the first one leaves values in the state */
    warm.counter.n_calls = 0;
    cr_assert(write_source(&warm, &whole, &error), "%s: %s", path, error.message);
    n_blocks = warm.counter.n_blocks;
    n_calls = warm.counter.n_calls;
    cr_expect_gt(n_calls, (size_t)20, "%s: %zu allocations", path, n_calls);
    for (n = 1; n < n_calls; n += step) {
        bool done;

        error = (mdf_error){0};
        warm.counter.n_calls = 0;
        warm.counter.fail_at = n;
        done = write_source(&warm, &text, &error);
        cr_expect(done || error.code == MDF_OUT_OF_MEMORY, "%s, allocation %zu: %s", path, n, error.message);
        cr_expect(!done || (once && text.length == whole.length && memcmp(text.bytes, whole.bytes, text.length) == 0),
                  "%s, allocation %zu: another text", path, n);
        mdf_text_release(&text);
        cr_expect_leq(warm.counter.n_blocks, n_blocks, "%s, allocation %zu leaks", path, n);
    }
    mdf_text_release(&whole);
    release(&warm);
}

Test(source, any_allocation_may_fail)
{
    /* Steps are primes where there are hundreds of allocations, most of them by the same lines as those of the models above. */
    static const struct {
        const char *path;
        size_t step;
    } rows[] = {
        {"examples/elman_rnn.json", 31},
        {"examples/newton_sqrt.json", 3},
        {"examples/linear_attention.json", 31},
        {"examples/traffic_light.yaml", 7},
        {"examples/weighted_edges.json", 31},
        {"examples/fitzhugh_nagumo.yaml", 31},
        {"tests/data/compile/schedule.json", 1999},
        {"tests/data/compile/flow.yaml", 997},
        {"tests/data/compile/operators.json", 9973},
        {"tests/data/compile/arrays.json", 9973},
        {"tests/data/compile/routines.json", 9973},
        {"tests/data/compile/sequences.yaml", 97},
        {"tests/data/compile/sequence_rooms.yaml", 1999},
        {"tests/data/compile/optionals.yaml", 97},
        {"tests/data/compile/grown.yaml", 997},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        fail_each(rows[i].path, rows[i].step, false);
        fail_each(rows[i].path, rows[i].step, true);
    }
}

/* The same of every STRIDE-th piece of what is allocated, alone (what a state keeps of it is released with the state): the text
 * is then as it is with all of them, or there is none. */
static void refuse_each_piece(const char *path, size_t stride)
{
    struct warm warm = {.counter = {0}};
    struct mdf_text whole, text;
    mdf_error error = {0};
    size_t n_pieces, at;

    warm_up(&warm, path);
    cr_assert(write_source(&warm, &whole, &error), "%s: %s", path, error.message);
    mdf_text_release(&whole); /* the first one leaves values in the state */
    pieces_begin(0);
    cr_assert(write_source(&warm, &whole, &error), "%s: %s", path, error.message);
    n_pieces = warm.n_pieces;
    cr_expect_gt(n_pieces, (size_t)100, "%s: %zu pieces", path, n_pieces);
    for (at = 1; at <= n_pieces; at += stride) {
        bool done;

        error = (mdf_error){0};
        pieces_begin(at);
        done = write_source(&warm, &text, &error);
        cr_expect(done || error.code == MDF_OUT_OF_MEMORY, "%s, piece %zu: %s", path, at, error.message);
        cr_expect(!done || (text.length == whole.length && memcmp(text.bytes, whole.bytes, text.length) == 0),
                  "%s, piece %zu: another text", path, at);
        mdf_text_release(&text);
    }
    mdf_text_release(&whole);
    release(&warm);
}

Test(source, any_piece_may_be_refused)
{
    static const struct {
        const char *path;
        size_t stride;
    } rows[] = {
        {"examples/elman_rnn.json", 31},
        {"examples/newton_sqrt.json", 3},
        {"examples/traffic_light.yaml", 7},
        {"examples/weighted_edges.json", 31},
        {"examples/fitzhugh_nagumo.yaml", 31},
        {"examples/recurrence.yaml", 7},
        {"examples/shared_body.json", 31},
        {"examples/multiplication_table.yaml", 7},
        {"examples/slow_and_fast.yaml", 31},
        {"examples/cooling.yaml", 31},
        {"examples/linear_attention.json", 31},
        {"tests/data/compile/flow.yaml", 1999},
        {"tests/data/compile/times.json", 97},
        {"tests/data/compile/whole_port.json", 7},
        {"tests/data/compile/schedule.json", 4999},
        {"tests/data/compile/operators.json", 17989},
        {"tests/data/compile/arrays.json", 34981},
        {"tests/data/compile/onnx.json", 17989},
        {"tests/data/compile/routines.json", 17989},
        {"tests/data/compile/numpy.json", 17989},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        refuse_each_piece(rows[i].path, rows[i].stride);
    }
}
