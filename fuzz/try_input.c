/* try_input.c - see try_input.h. */
#include "fuzz/try_input.h"

#include "mdf_c/document/document.h"
#include "mdf_c/plan/program.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ITERATIONS = 2000, MOST_STATE_BYTES = 1 << 27, MOST_ELEMENTS = 1 << 12, N_STEPS = 2 };
#define MOST_HELD_BYTES ((size_t)1 << 29)

double clock_seconds(void)
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

/* ------------------------------------------------------------------ time */

/* Interrupts a state that is evaluated for too long. */
struct watch {
    mdf_state *state;
    double time_limit_s;
    pthread_mutex_t mutex;
    pthread_cond_t done_changed;
    bool done;
};

static void *watch_state(void *context)
{
    struct watch *watch = context;
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)(1e9 * (watch->time_limit_s - floor(watch->time_limit_s)));
    end.tv_sec += (time_t)watch->time_limit_s + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->done && pthread_cond_timedwait(&watch->done_changed, &watch->mutex, &end) == 0) {
    }
    if (!watch->done) {
        mdf_state_interrupt(watch->state);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
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

/* ------------------------------------------------------------------ what is tried */

static void complain(struct complaint *complaint, const char *what, const mdf_error *error)
{
    if (complaint->text[0] == '\0') {
        snprintf(complaint->text, sizeof complaint->text, "%s: code %d, '%s'", what, (int)error->code, error->message);
    }
}

/* A failure says why, a success nothing. */
static void check_error(struct complaint *complaint, const char *what, bool done, const mdf_error *error)
{
    if (done ? error->code != MDF_OK : error->code == MDF_OK || error->message[0] == '\0') {
        complain(complaint, what, error);
    }
}

static void evaluate(mdf_state *state, const mdf_program *program, struct complaint *complaint)
{
    mdf_error error = {0};
    bool done = true;
    size_t i;

    for (i = 0; i < N_STEPS && done; i++) {
        set_inputs(program, state);
        done = mdf_evaluate(state, 0.01, &error) == MDF_OK;
        check_error(complaint, "evaluating", done, &error);
    }
}

static void run_program(const mdf_program *program, double time_limit_s, struct complaint *complaint)
{
    mdf_error error = {0};
    mdf_state *state = mdf_state_new(program, &error);
    struct watch watch = {state, time_limit_s, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t thread;
    bool watched;

    check_error(complaint, "making a state", state != NULL, &error);
    if (state == NULL) {
        return;
    }
    watched = pthread_create(&thread, NULL, watch_state, &watch) == 0;
    evaluate(state, program, complaint);
    if (watched) {
        pthread_mutex_lock(&watch.mutex);
        watch.done = true;
        pthread_cond_signal(&watch.done_changed);
        pthread_mutex_unlock(&watch.mutex);
        pthread_join(thread, NULL);
    }
    mdf_state_free(state);
}

/* What was loaded can be written, and what was written be loaded. */
static void check_writing(const mdf_model *model, const mdf_options *options, struct complaint *complaint)
{
    mdf_error error = {0};
    struct mdf_memory memory;
    struct mdf_text text;
    mdf_model *again;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    if (!mdf_document_write(&model->document->root, "json", &text, &error)) {
        complain(complaint, "writing as JSON", &error);
    } else {
        again = mdf_model_load_bytes(text.bytes, text.length, "json", "again", options, &error);
        if (again == NULL && error.code != MDF_OUT_OF_MEMORY) {
            complain(complaint, "reading what was written as JSON", &error);
        }
        mdf_model_free(again);
    }
    mdf_text_release(&text);
}

enum outcome try_input(const void *bytes, size_t size, const char *format, double time_limit_s, struct complaint *complaint)
{
    enum outcome outcome = OUTCOME_REFUSED;
    size_t held = 0;
    mdf_allocator allocator = {allocate, reallocate, release, &held};
    mdf_options options = {
        .allocator = &allocator, .max_iterations = MOST_ITERATIONS, .max_memory_bytes = MOST_STATE_BYTES, .n_threads = 1};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(bytes, size, format, "input", &options, &error);
    mdf_program *program;

    complaint->text[0] = '\0';
    check_error(complaint, "loading", model != NULL, &error);
    if (model != NULL) {
        outcome = OUTCOME_LOADED;
        check_writing(model, &options, complaint);
        program = mdf_compile(model, &options, &error);
        check_error(complaint, "compiling", program != NULL, &error);
        mdf_model_free(model);
        if (program != NULL) {
            outcome = OUTCOME_COMPILED;
            run_program(program, time_limit_s, complaint);
            outcome = OUTCOME_EVALUATED;
        }
        mdf_program_free(program);
    }
    if (held != 0) {
        snprintf(complaint->text, sizeof complaint->text, "%zu bytes are still held", held);
    }
    return outcome;
}
