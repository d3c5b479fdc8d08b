/* refused_pieces.c - see refused_pieces.h. */
#include "tests/support/refused_pieces.h"

#include "mdf_c/base/text.h"
#include "mdf_c/plan/compiler.h"
#include "mdf_c/values/values.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ what stands before the library's functions */

static atomic_size_t n_pieces;
static atomic_bool counts;
static size_t refused;

void pieces_begin(size_t at)
{
    atomic_store(&n_pieces, 0);
    refused = at;
    atomic_store(&counts, true);
}

size_t pieces_end(void)
{
    atomic_store(&counts, false);
    return atomic_load(&n_pieces);
}

static bool refuses(void)
{
    return atomic_load(&counts) && atomic_fetch_add(&n_pieces, 1) + 1 == refused;
}

/* Notes it as the library does. */
static bool refuses_from(struct mdf_arena *arena)
{
    bool refused_now = refuses();

    arena->has_refused = arena->has_refused || refused_now;
    return refused_now;
}

#define WRAP(type, name, refuses, formals, actuals) \
    type __real_##name formals;                     \
    type __wrap_##name formals;                     \
    type __wrap_##name formals                      \
    {                                               \
        return refuses ? 0 : __real_##name actuals; \
    }
#define WRAP_ARENA(type, name, formals, actuals) WRAP(type, name, refuses_from(arena), formals, actuals)
#define WRAP_MEMORY(type, name, formals, actuals) WRAP(type, name, refuses(), formals, actuals)

WRAP_ARENA(void *, mdf_arena_allocate, (struct mdf_arena * arena, size_t size), (arena, size))
WRAP_ARENA(void *, mdf_arena_array, (struct mdf_arena * arena, size_t count, size_t size), (arena, count, size))
WRAP_ARENA(char *, mdf_arena_text, (struct mdf_arena * arena, const char *text, size_t length), (arena, text, length))
WRAP_MEMORY(void *, mdf_memory_allocate, (struct mdf_memory * memory, size_t size), (memory, size))
WRAP_MEMORY(void *, mdf_memory_allocate_zeroed, (struct mdf_memory * memory, size_t count, size_t size), (memory, count, size))
WRAP_MEMORY(void *, mdf_memory_resize, (struct mdf_memory * memory, void *block, size_t size), (memory, block, size))
WRAP_MEMORY(void *, mdf_memory_grow, (struct mdf_memory * memory, void *items, size_t *capacity, size_t needed, size_t size),
            (memory, items, capacity, needed, size))

char *__real_mdf_arena_vprintf(struct mdf_arena *arena, const char *format, va_list arguments);
char *__wrap_mdf_arena_vprintf(struct mdf_arena *arena, const char *format, va_list arguments);
char *__wrap_mdf_arena_vprintf(struct mdf_arena *arena, const char *format, va_list arguments)
{
    return refuses_from(arena) ? NULL : __real_mdf_arena_vprintf(arena, format, arguments);
}

char *__wrap_mdf_arena_printf(struct mdf_arena *arena, const char *format, ...);
char *__wrap_mdf_arena_printf(struct mdf_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = __wrap_mdf_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

bool __real_list_add(struct compiler *compiler, struct list *list, const void *item, size_t item_size);
bool __wrap_list_add(struct compiler *compiler, struct list *list, const void *item, size_t item_size);
bool __wrap_list_add(struct compiler *compiler, struct list *list, const void *item, size_t item_size)
{
    if (refuses()) {
        compile_out_of_memory(compiler);
        return false;
    }
    return __real_list_add(compiler, list, item, item_size);
}

/* ------------------------------------------------------------------ models */

enum { TEXT_SIZE = 4000 };

static void write_results(const mdf_program *program, const mdf_state *state, char *text)
{
    struct mdf_memory memory;
    struct mdf_text out;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&out, &memory);
    for (size_t i = 0; i < mdf_program_n_results(program); i++) {
        mdf_text_printf(&out, "%s ", mdf_program_result_name(program, i));
        mdf_write_json_value(&out, mdf_result_at(state, i), false, NULL);
    }
    snprintf(text, TEXT_SIZE, "%s", out.bytes != NULL ? out.bytes : "");
    mdf_text_release(&out);
}

/* Lets piece number `at` be refused. Returns how many were asked for; `text` gets what came out. */
static size_t run_once(const mdf_model *model, const mdf_options *options, const struct piece_run *run, size_t at, char *text,
                       mdf_error *error)
{
    mdf_program *program;
    mdf_state *state;
    size_t n;

    pieces_begin(at);
    program = mdf_compile(model, options, error);
    state = program != NULL ? mdf_state_new(program, error) : NULL;
    for (int i = 0; state != NULL && i < run->steps && error->code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : run->dt, error);
    }
    n = pieces_end();
    if (error->code != MDF_OK) {
        mdf_error_format(error, text, TEXT_SIZE);
    } else {
        write_results(program, state, text);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    return n;
}

void expect_pieces_refused(const char *source, const struct piece_run *run)
{
    struct counter counter = {0};
    mdf_allocator allocator = failing_allocator(&counter);
    mdf_options options = run->options != NULL ? *run->options : (mdf_options){0};
    mdf_error error = {0};
    char expected[TEXT_SIZE], text[TEXT_SIZE];
    mdf_model *model;
    size_t n_pieces_of_all, before;

    options.allocator = &allocator;
    options.n_threads = 1;
    model = mdf_model_load_bytes(source, strlen(source), run->format, "model", &options, &error);
    before = counter.n_blocks;
    n_pieces_of_all = model != NULL ? run_once(model, &options, run, 0, expected, &error) : 0;
    for (size_t at = run->first > 0 ? run->first : 1; at <= n_pieces_of_all; at += run->stride > 0 ? run->stride : 1) {
        error = (mdf_error){0};
        run_once(model, &options, run, at, text, &error);
        cr_assert(error.code == MDF_OUT_OF_MEMORY || strcmp(text, expected) == 0, "%s\npiece %zu: %s, not %s", source, at, text,
                  expected);
        cr_assert_eq(counter.n_blocks, before, "%s\npiece %zu loses memory", source, at);
    }
    mdf_model_free(model);
    cr_assert_eq(counter.n_blocks, (size_t)0);
}
