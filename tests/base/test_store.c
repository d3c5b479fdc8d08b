/* test_store.c - bytes that several owners share, and values that lie in them. */
#include "mdf_c/mdf.h"
#include "mdf_c/tensor/value.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mdf_memory memory;

static void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
}

static void tear_down(void)
{
    cr_assert_eq(atomic_load(&memory.used_bytes), 0, "memory is leaked");
}

TestSuite(store, .init = set_up, .fini = tear_down);

/* A view shares its store, shows the elements where they lie, and is copied where it is to be written. */
Test(store, views_are_shared_and_never_written)
{
    static const int64_t shape[] = {1, 2, 1, 1, 3}; /* more axes than a value holds itself */
    struct mdf_store *store = mdf_store_allocate(&memory, 6 * sizeof(float));
    float *elements = mdf_store_bytes(store), *written;
    struct mdf_value view = {0}, other = {0}, third = {0};
    size_t i;

    for (i = 0; i < 6; i++) {
        elements[i] = (float)i;
    }
    cr_assert(mdf_value_view_store(&memory, &view, MDF_DTYPE_FLOAT32, MDF_STRENGTH_TYPED, 5, shape, store, elements));
    mdf_store_release(store); /* the view has it still */
    cr_expect_eq(view.data, (void *)elements);
    cr_expect_eq(mdf_value_shape(&view)[4], 3);
    cr_assert(mdf_value_copy(&memory, &other, &view) && mdf_value_share(&memory, &third, &view));
    mdf_value_clear(&memory, &view);
    cr_expect(other.data == elements && third.data == elements);
    written = mdf_value_writable(&memory, &other);
    written[0] = 7;
    cr_expect(written != elements && elements[0] == 0 && written[5] == 5);
    mdf_value_clear(&memory, &other);
    written = mdf_value_writable(&memory, &third); /* even the last owner does not write */
    cr_expect(written != elements && written[5] == 5);
    mdf_value_clear(&memory, &third);
}

Test(store, a_file_is_mapped)
{
    FILE *file = tmpfile();
    struct mdf_store *store;
    char block[10000];

    memset(block, 'x', sizeof block);
    cr_assert(file != NULL && fwrite(block, 1, sizeof block, file) == sizeof block && fflush(file) == 0);
    store = mdf_store_map(&memory, fileno(file), sizeof block);
    fclose(file);
    cr_assert_not_null(store);
    cr_expect_eq(mdf_store_size(store), sizeof block);
    cr_expect(memcmp(mdf_store_bytes(store), block, sizeof block) == 0);
    mdf_store_forget(store, mdf_store_bytes(store), sizeof block); /* is read again when it is needed again */
    cr_expect_eq(((const char *)mdf_store_bytes(store))[5000], 'x');
    mdf_store_release(mdf_store_share(store));
    mdf_store_release(store);
    cr_expect_null(mdf_store_map(&memory, -1, 1));
}

/* ------------------------------------------------------------------ models */

struct counter {
    size_t held, peak;
};

static void *allocate(void *context, size_t size)
{
    struct counter *counter = context;
    size_t *block = malloc(size + 16);

    *block = size;
    counter->held += size;
    counter->peak = counter->held > counter->peak ? counter->held : counter->peak;
    return block + 2;
}

static void release(void *context, void *block)
{
    if (block != NULL) {
        ((struct counter *)context)->held -= ((size_t *)block)[-2];
        free((size_t *)block - 2);
    }
}

static void *reallocate(void *context, void *block, size_t size)
{
    void *moved = allocate(context, size);

    if (block != NULL) {
        memcpy(moved, block, ((size_t *)block)[-2] < size ? ((size_t *)block)[-2] : size);
        release(context, block);
    }
    return moved;
}

/* A program shares the numbers of a JSON file with the document, and keeps them when that is gone. */
Test(store, numbers_of_a_document_are_shared)
{
    enum { N = 100000, SIZE = N * 2 + 400 };
    struct counter counter = {0};
    mdf_allocator allocator = {allocate, reallocate, release, &counter};
    mdf_options options = {.allocator = &allocator};
    mdf_error error = {0};
    char *text = malloc(SIZE), *c = text;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
    mdf_tensor result;
    size_t before, i;

    c += sprintf(c, "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\"w\": [1");
    for (i = 1; i < N; i++) {
        c += sprintf(c, ",%d", (int)(i % 7));
    }
    sprintf(c, "]}, \"nodes\": {\"n\": {\"output_ports\": {\"y\": {\"value\": \"w\"}}}}}}}}");
    model = mdf_model_load_bytes(text, strlen(text), "json", "numbers", &options, &error);
    free(text);
    cr_assert_not_null(model, "%s", error.message);
    before = counter.peak = counter.held;
    program = mdf_compile(model, &options, &error);
    cr_assert_not_null(program, "%s", error.message);
    mdf_model_free(model);
    state = mdf_state_new(program, &error);
    cr_assert(mdf_evaluate(state, 0, &error) == MDF_OK, "%s", error.message);
    cr_expect_leq(counter.peak, before + (1 << 16));
    cr_assert(mdf_value_tensor(mdf_output(state, "n", "y"), &result));
    cr_expect(result.dtype == MDF_DTYPE_INT64 && result.shape[0] == N && ((const int64_t *)result.data)[N - 1] == (N - 1) % 7);
    mdf_state_free(state);
    mdf_program_free(program);
    cr_expect_eq(counter.held, 0);
}

/* ------------------------------------------------------------------ inputs */

/* A state copies what it is given: the giver may let go of it, its memory included, before the state is evaluated. */
Test(store, inputs_are_copied)
{
    static const char model_text[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"a\": {}, \"b\": {}, \"c\": {}}, "
        "\"output_ports\": {\"y\": {\"value\": \"a[1]\"}, \"z\": {\"value\": \"b\"}}}}}}}}";
    static const char *const names[] = {"a", "b", "c"};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(model_text, sizeof model_text - 1, "json", "inputs", NULL, &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);
    struct mdf_memory *own = malloc(sizeof *own);
    struct mdf_value values[3] = {{0}}, *items;
    double real;
    size_t i;

    cr_assert_not_null(state, "%s", error.message);
    mdf_memory_init(own, NULL, 0);
    items = mdf_value_make_list(own, &values[0], 2);
    cr_assert(mdf_value_make_string(own, &items[0], "first", 5) && mdf_value_make_double(own, &items[1], 2.5));
    cr_assert(mdf_value_make_string(own, &values[1], "text", 4));
    *(double *)mdf_value_make_tensor(own, &values[2], MDF_DTYPE_FLOAT64, 1, &(int64_t){1}) = 1;
    for (i = 0; i < 3; i++) {
        cr_assert(mdf_set_input_value(state, names[i], (const mdf_value *)&values[i], &error) == MDF_OK, "%s", error.message);
        mdf_value_clear(own, &values[i]);
    }
    cr_assert_eq(atomic_load(&own->used_bytes), 0, "the state holds memory of its input");
    free(own);
    cr_assert(mdf_evaluate(state, 0, &error) == MDF_OK, "%s", error.message);
    cr_expect(mdf_value_to_double((const struct mdf_value *)mdf_output(state, "n", "y"), &real) && real == 2.5);
    cr_expect_str_eq(mdf_value_to_string((const struct mdf_value *)mdf_output(state, "n", "z")), "text");
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}
