/* try_input.c - see try_input.h. */
#include "fuzz/try_input.h"

#include "mdf_c/document/document.h"
#include "mdf_c/pictures/write_dot.h"
#include "mdf_c/plan/program.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_ITERATIONS = 2000,
    MOST_PASSES = 200,
    MOST_STATE_BYTES = 1 << 27,
    MOST_ELEMENTS = 1 << 12,
    N_STEPS = 4, /* what is stable is run in another way from the second or third on */
    MOST_ANSWER_BYTES = 1 << 16
};
#define MOST_HELD_BYTES ((size_t)1 << 29)
#define MOST_WRITTEN_BYTES ((size_t)1 << 22) /* of a model: a sparse tensor of some bytes is written as millions of numbers */

/* The memory sanitizer does not see what machine code writes that the library makes. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define IS_PLAIN_ONLY true
#endif
#endif
#ifndef IS_PLAIN_ONLY
#define IS_PLAIN_ONLY false
#endif

/* Seconds since some time, for measuring. */
static double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ------------------------------------------------------------------ an allocator that counts, and refuses much */

union block {
    size_t size;
    max_align_t alignment;
};

static void *allocate(void *context, size_t size)
{
    size_t *held = context;
    union block *block = size <= MOST_HELD_BYTES - *held ? malloc(sizeof *block + size) : NULL;

    if (block == NULL) {
        return NULL;
    }
    block->size = size;
    *held += size;
    return block + 1;
}

static void release(void *context, void *pointer)
{
    size_t *held = context;
    union block *block = pointer;

    if (block != NULL) {
        *held -= block[-1].size;
        free(block - 1);
    }
}

static void *reallocate(void *context, void *pointer, size_t size)
{
    void *moved = allocate(context, size);
    size_t old = pointer != NULL ? ((union block *)pointer)[-1].size : 0;

    if (moved != NULL && pointer != NULL) {
        memcpy(moved, pointer, old < size ? old : size);
        release(context, pointer);
    }
    return moved;
}

/* ------------------------------------------------------------------ limits */

mdf_options limited_options(void)
{
    return (mdf_options){.max_iterations = MOST_ITERATIONS,
                         .max_passes = MOST_PASSES,
                         .max_memory_bytes = MOST_STATE_BYTES,
                         .n_threads = 1,
                         .plain = IS_PLAIN_ONLY};
}

/* The state that is evaluated now. A thread looks at it from time to time: cheaper than one thread an input. */
static struct {
    pthread_once_t once;
    pthread_mutex_t mutex;
    mdf_state *state; /* NULL: none */
    double end_s;
} watched = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static void *watch_states(void *context)
{
    static const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&watched.mutex);
        if (watched.state != NULL && clock_seconds() > watched.end_s) {
            mdf_state_interrupt(watched.state);
        }
        pthread_mutex_unlock(&watched.mutex);
    }
    return context;
}

static void start_watching(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, watch_states, NULL) == 0) {
        pthread_detach(thread);
    }
}

void begin_watch(mdf_state *state, double time_limit_s)
{
    pthread_once(&watched.once, start_watching);
    pthread_mutex_lock(&watched.mutex);
    watched.state = state;
    watched.end_s = clock_seconds() + time_limit_s;
    pthread_mutex_unlock(&watched.mutex);
}

void end_watch(void)
{
    pthread_mutex_lock(&watched.mutex);
    watched.state = NULL;
    pthread_mutex_unlock(&watched.mutex);
}

/* ------------------------------------------------------------------ inputs */

/* An array that a declaration allows: open axes are 2 long, elements small whole numbers. */
static bool make_array(struct mdf_memory *memory, const struct mdf_declaration *declaration, struct mdf_value *value)
{
    mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype : MDF_DTYPE_FLOAT32;
    int64_t shape[8];
    size_t n, i;
    char *elements;

    if (declaration->rank > 8) {
        return false;
    }
    for (i = 0; i < declaration->rank; i++) {
        shape[i] = declaration->shape[i] < 0 ? 2 : declaration->shape[i];
    }
    if (!mdf_shape_n_elements(declaration->rank, shape, &n) || n > MOST_ELEMENTS) {
        return false;
    }
    elements = mdf_value_make_tensor(memory, value, dtype, declaration->rank, shape);
    for (i = 0; elements != NULL && i < n; i++) {
        int64_t number = (int64_t)(i % 3);

        if (dtype == MDF_DTYPE_STRING) {
            ((char **)(void *)elements)[i] = mdf_string_new(memory, "text", i % 5);
        } else {
            mdf_convert_elements(dtype, elements + i * mdf_dtype_size(dtype), MDF_DTYPE_INT64, &number, 1, false);
        }
    }
    return elements != NULL;
}

static void set_inputs(const mdf_program *program, mdf_state *state)
{
    struct mdf_memory memory;
    size_t i;

    mdf_memory_init(&memory, NULL, 0);
    for (i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];
        struct mdf_value value = {0}, list = {0};
        mdf_error ignored = {0};

        if (port->input_name != NULL && make_array(&memory, &port->declaration, &value)) {
            if (port->declaration.type.sequence && mdf_value_make_list(&memory, &list, 0) != NULL) {
                mdf_value_append(&memory, &list, &value);
                mdf_value_swap(&list, &value);
            }
            mdf_set_input_value(state, port->input_name, (const mdf_value *)&value, &ignored);
        }
        mdf_value_clear(&memory, &list);
        mdf_value_clear(&memory, &value);
    }
}

/* ------------------------------------------------------------------ evaluations */

void complain(struct complaint *complaint, const char *what, const mdf_error *error)
{
    if (complaint->text[0] == '\0') {
        snprintf(complaint->text, sizeof complaint->text, "%s: code %d, '%s'", what, (int)error->code, error->message);
    }
}

void check_outcome(struct complaint *complaint, const char *what, bool done, const mdf_error *error)
{
    if (done ? error->code != MDF_OK : error->code == MDF_OK || error->message[0] == '\0') {
        complain(complaint, what, error);
    }
}

/* What an evaluation gave, to compare. */
struct answers {
    struct mdf_text text; /* all outputs after each step; how it ended */
    bool is_cut_off;      /* a limit ended it: where that is differs from way to way */
};

static bool is_limit(mdf_status status)
{
    return status == MDF_OUT_OF_MEMORY || status == MDF_LIMIT || status == MDF_INTERRUPTED;
}

static void note_outputs(const mdf_state *state, const mdf_program *program, struct answers *answers)
{
    size_t node, output;

    for (node = 0; node < program->n_nodes; node++) {
        for (output = 0; output < mdf_program_n_outputs(program, node); output++) {
            const mdf_value *value = mdf_output_at(state, node, output);
            mdf_error ignored = {0};

            if (value != NULL && answers->text.length < MOST_ANSWER_BYTES) {
                mdf_write_json_value(&answers->text, value, true, &ignored);
            }
            mdf_text_append_string(&answers->text, "\n");
        }
    }
}

static void evaluate(mdf_state *state, const mdf_program *program, struct answers *answers, struct complaint *complaint)
{
    mdf_error error = {0};
    bool done = true;
    size_t i;

    for (i = 0; i < N_STEPS && done; i++) {
        set_inputs(program, state);
        done = mdf_evaluate(state, 0.01, &error) == MDF_OK;
        check_outcome(complaint, "evaluating", done, &error);
        if (done) {
            note_outputs(state, program, answers);
        }
    }
    answers->is_cut_off = is_limit(error.code);
    mdf_text_printf(&answers->text, "%d\n", (int)error.code);
}

/* False: no evaluation began. */
static bool run_model(const mdf_model *model, const mdf_options *options, double time_limit_s, struct answers *answers,
                      struct complaint *complaint)
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile(model, options, &error);
    mdf_state *state;

    check_outcome(complaint, "compiling", program != NULL, &error);
    answers->is_cut_off = is_limit(error.code);
    if (program == NULL) {
        return false;
    }
    state = mdf_state_new(program, &error);
    check_outcome(complaint, "making a state", state != NULL, &error);
    answers->is_cut_off = is_limit(error.code);
    if (state != NULL) {
        begin_watch(state, time_limit_s);
        evaluate(state, program, answers, complaint);
        end_watch();
    }
    mdf_state_free(state);
    mdf_program_free(program);
    return true;
}

/* The same by the plain way, which is what the others are held to. */
static void compare_with_plain(const mdf_model *model, const mdf_options *options, double time_limit_s,
                               const struct answers *answers, struct complaint *complaint)
{
    mdf_options plain_options = *options;
    struct answers plain = {.is_cut_off = false};
    mdf_error none = {0};
    size_t i;

    plain_options.plain = true;
    mdf_text_init(&plain.text, answers->text.memory);
    run_model(model, &plain_options, time_limit_s, &plain, complaint);
    if (!plain.is_cut_off && !plain.text.failed && strcmp(plain.text.bytes, answers->text.bytes) != 0) {
        for (i = 0; plain.text.bytes[i] == answers->text.bytes[i]; i++) {
        }
        i = i > 40 ? i - 40 : 0;
        snprintf(none.message, sizeof none.message, "plain %.100s, not plain %.100s", plain.text.bytes + i,
                 answers->text.bytes + i);
        complain(complaint, "other results than the plain way's", &none);
    }
    mdf_text_release(&plain.text);
}

static bool try_model(const mdf_model *model, const mdf_options *options, double time_limit_s, struct complaint *complaint)
{
    struct answers answers = {.is_cut_off = false};
    struct mdf_memory memory;
    bool done;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&answers.text, &memory);
    done = run_model(model, options, time_limit_s, &answers, complaint);
    if (done && !IS_PLAIN_ONLY && !answers.is_cut_off && answers.text.bytes != NULL) {
        compare_with_plain(model, options, time_limit_s, &answers, complaint);
    }
    mdf_text_release(&answers.text);
    return done;
}

/* ------------------------------------------------------------------ writing */

/* What was loaded can be written, and what was written be loaded. */
static void check_writing(const mdf_model *model, const char *format, const mdf_options *options, struct complaint *complaint)
{
    mdf_error error = {0};
    struct mdf_memory memory;
    struct mdf_text text;
    mdf_model *again;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    if (!mdf_document_write(&model->document->root, format, &text, &error)) {
        check_outcome(complaint, "writing", false, &error);
    } else {
        again = mdf_model_load_bytes(text.bytes, text.length, format, "again", options, &error);
        if (again == NULL && !is_limit(error.code)) {
            complain(complaint, "reading what was written", &error);
        }
        mdf_model_free(again);
    }
    mdf_text_release(&text);
}

static void check_picture(const mdf_model *model, struct complaint *complaint)
{
    struct mdf_memory memory;
    mdf_error error = {0};
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    check_outcome(complaint, "writing for Graphviz",
                  mdf_write_dot(&text, model, mdf_model_main_graph(model), MDF_DETAIL_ALL, &error) == MDF_OK, &error);
    mdf_text_release(&text);
}

enum outcome try_input(const void *bytes, size_t size, const char *format, double time_limit_s, struct complaint *complaint)
{
    static const char *const formats[] = {"json", "yaml", "bson"};
    enum outcome outcome = OUTCOME_REFUSED;
    size_t held = 0, i;
    mdf_allocator allocator = {allocate, reallocate, release, &held};
    mdf_options options = limited_options();
    mdf_error error = {0};
    mdf_model *model;

    options.allocator = &allocator;
    model = mdf_model_load_bytes(bytes, size, format, "input", &options, &error);
    complaint->text[0] = '\0';
    check_outcome(complaint, "loading", model != NULL, &error);
    if (model != NULL) {
        for (i = 0; i < sizeof formats / sizeof *formats && held <= MOST_WRITTEN_BYTES; i++) {
            check_writing(model, formats[i], &options, complaint);
        }
        check_picture(model, complaint);
        outcome = try_model(model, &options, time_limit_s, complaint) ? OUTCOME_EVALUATED : OUTCOME_LOADED;
        mdf_model_free(model);
    }
    if (held != 0) {
        snprintf(complaint->text, sizeof complaint->text, "%zu bytes are still held", held);
    }
    return outcome;
}
