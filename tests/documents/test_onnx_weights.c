/* test_onnx_weights.c - big arrays of ONNX files: views of the mapped file where they can be, else copied once; the same bits in
 * every encoding, from files and from memory. Files are written here, message by message. */
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Field numbers of onnx.proto. */
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INTS = 5,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10
};
enum { TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_OUTPUT = 12 };
enum { MODEL_IR_VERSION = 1, MODEL_DOC = 6, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { VARINT = 0, LENGTH = 2 };

/* ------------------------------------------------------------------ an allocator that counts */

struct counter {
    size_t held, peak, left; /* bytes; allocations that still succeed */
};

static void *allocate(void *context, size_t size)
{
    struct counter *counter = context;
    size_t *block = counter->left > 0 ? malloc(size + 16) : NULL;

    if (block == NULL) {
        return NULL;
    }
    counter->left--;
    *block = size;
    counter->held += size;
    counter->peak = counter->held > counter->peak ? counter->held : counter->peak;
    return block + 2;
}

static void release(void *context, void *block)
{
    struct counter *counter = context;

    if (block != NULL) {
        counter->held -= ((size_t *)block)[-2];
        free((size_t *)block - 2);
    }
}

static void *reallocate(void *context, void *block, size_t size)
{
    void *moved = allocate(context, size);

    if (moved != NULL && block != NULL) {
        memcpy(moved, block, ((size_t *)block)[-2] < size ? ((size_t *)block)[-2] : size);
        release(context, block);
    }
    return moved;
}

/* ------------------------------------------------------------------ writing files */

static struct mdf_memory memory;
static char path[] = "/tmp/mdf_weights_XXXXXX";

static void set_up(void)
{
    int file;

    mdf_memory_init(&memory, NULL, 0);
    strcpy(path + sizeof path - 7, "XXXXXX");
    file = mkstemp(path);
    cr_assert(file >= 0);
    close(file);
}

static void tear_down(void)
{
    unlink(path);
    cr_assert_eq(atomic_load(&memory.used_bytes), 0, "memory is leaked");
}

TestSuite(onnx_weights, .init = set_up, .fini = tear_down);

static void put_varint(struct mdf_text *text, uint64_t number)
{
    do {
        char byte = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));

        mdf_text_append(text, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

static void put_number(struct mdf_text *text, unsigned field, uint64_t number)
{
    put_varint(text, field << 3 | VARINT);
    put_varint(text, number);
}

static void put_bytes(struct mdf_text *text, unsigned field, const void *bytes, size_t size)
{
    put_varint(text, field << 3 | LENGTH);
    put_varint(text, size);
    mdf_text_append(text, bytes, size);
}

/* Appends a message and lets go of it. */
static void put_message(struct mdf_text *text, unsigned field, struct mdf_text *message)
{
    put_bytes(text, field, message->bytes, message->length);
    mdf_text_release(message);
}

/* The elements of a tensor: in one field, in equal parts. */
struct elements {
    mdf_dtype dtype;
    int64_t n;
    unsigned field;
    const void *bytes;
    size_t size, n_parts;
};

/* A piece of what external_data says. */
static void put_location(struct mdf_text *tensor, const char *key, const char *value)
{
    struct mdf_text entry;

    mdf_text_init(&entry, &memory);
    put_bytes(&entry, ENTRY_KEY, key, strlen(key));
    put_bytes(&entry, ENTRY_VALUE, value, strlen(value));
    put_message(tensor, TENSOR_EXTERNAL, &entry);
    put_number(tensor, TENSOR_LOCATION, 1);
}

/* A model that yields its one initializer, with so much text in front of it. */
static void write_model(struct mdf_text *text, const struct elements *elements, size_t n_padding)
{
    static const char node[] = "\x0a\1w\x12\1y\x22\x08Identity", opset[] = "\x10\x19", output[] = "\x0a\1y",
                      padding[8] = "........";
    struct mdf_text tensor, graph;
    size_t i, each = elements->size / elements->n_parts;

    mdf_text_init(&tensor, &memory);
    mdf_text_init(&graph, &memory);
    put_number(&tensor, TENSOR_DIMS, (uint64_t)elements->n);
    put_number(&tensor, TENSOR_TYPE, (uint64_t)mdf_dtype_to_onnx(elements->dtype));
    put_bytes(&tensor, TENSOR_NAME, "w", 1);
    for (i = 0; elements->field == TENSOR_EXTERNAL && i < elements->n_parts; i++) {
        put_location(&tensor, i == 0 ? "location" : "offset", i == 0 ? elements->bytes : "4096");
    }
    for (i = 0; elements->field != TENSOR_EXTERNAL && i < elements->n_parts; i++) {
        put_bytes(&tensor, elements->field, (const char *)elements->bytes + i * each, each);
    }
    put_bytes(&graph, GRAPH_NODE, node, sizeof node - 1);
    put_bytes(&graph, GRAPH_NAME, "g", 1);
    put_message(&graph, GRAPH_INITIALIZER, &tensor);
    put_bytes(&graph, GRAPH_OUTPUT, output, sizeof output - 1);
    put_number(text, MODEL_IR_VERSION, 9);
    put_bytes(text, MODEL_DOC, padding, n_padding);
    put_message(text, MODEL_GRAPH, &graph);
    put_bytes(text, MODEL_OPSET, opset, sizeof opset - 1);
    cr_assert(!text->failed);
}

/* Where `size` bytes stand in a text that has them. */
static size_t find(const struct mdf_text *text, const void *bytes, size_t size)
{
    size_t i;

    for (i = 0; i + size <= text->length; i++) {
        if (memcmp(text->bytes + i, bytes, size) == 0) {
            return i;
        }
    }
    cr_assert_fail("the elements are not in the file");
    return 0;
}

/* Saves a model in which the last part of the elements begins `shift` bytes past a multiple of 8. */
static void save_model(const struct elements *elements, size_t shift)
{
    mdf_error error = {0};
    size_t n_padding;

    for (n_padding = 0; n_padding < 8; n_padding++) {
        struct mdf_text text;

        mdf_text_init(&text, &memory);
        write_model(&text, elements, n_padding);
        if (find(&text, elements->bytes, elements->size / elements->n_parts) % 8 == shift) {
            cr_assert(mdf_save_file(&memory, path, text.bytes, text.length, &error) == MDF_OK, "%s", error.message);
            mdf_text_release(&text);
            return;
        }
        mdf_text_release(&text);
    }
    cr_assert_fail("no padding gives the shift");
}

/* ------------------------------------------------------------------ reading them */

/* Whether a file, whose bytes are little-endian, has elements of a type in another order than memory. */
static bool is_turned(mdf_dtype dtype)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && mdf_dtype_size(dtype) > 1;
}

/* Whether elements are those of a file's bytes. */
static bool are_those(const unsigned char *elements, const unsigned char *bytes, const struct elements *of)
{
    size_t size = mdf_dtype_size(of->dtype) / (mdf_dtype_kind(of->dtype) == 'c' ? 2 : 1), i, n = (size_t)of->n * mdf_dtype_size(of->dtype);

    for (i = 0; i < n && elements[i] == bytes[is_turned(of->dtype) ? i - i % size + size - 1 - i % size : i]; i++) {
    }
    return i == n;
}

/* Evaluates what is at `path`, the model let go before; `counter` tells what was held. */
static void expect_result(bool from_file, const struct elements *elements, const void *expected, struct counter *counter)
{
    mdf_allocator allocator = {allocate, reallocate, release, counter};
    mdf_options options = {.allocator = &allocator};
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
    mdf_tensor result;
    void *bytes = NULL;
    size_t size;

    if (from_file) {
        model = mdf_model_load_file_as(path, "onnx", &options, &error);
    } else {
        cr_assert(mdf_read_file(&memory, path, &bytes, &size, &error) == MDF_OK);
        model = mdf_model_load_bytes(bytes, size, "onnx", path, &options, &error);
        memset(bytes, 0xee, size);
        mdf_memory_release(&memory, bytes);
    }
    cr_assert_not_null(model, "%s", error.message);
    program = mdf_compile(model, &options, &error);
    cr_assert_not_null(program, "%s", error.message);
    mdf_model_free(model);
    state = mdf_state_new(program, &error);
    cr_assert(mdf_evaluate(state, 0, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_value_tensor(mdf_result_at(state, 0), &result));
    cr_expect_eq(result.dtype, elements->dtype);
    cr_expect_eq(result.shape[0], elements->n);
    cr_expect(are_those(result.data, expected, elements), "%s", mdf_dtype_name(elements->dtype));
    mdf_state_free(state);
    mdf_program_free(program);
    cr_expect_eq(counter->held, 0);
}

/* Bytes that differ from each other. */
static unsigned char *some_bytes(size_t size)
{
    unsigned char *bytes = malloc(size);
    uint32_t state = 1;
    size_t i;

    cr_assert_not_null(bytes);
    for (i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 24);
    }
    return bytes;
}

/* All ways to read the elements; the share of their bytes that may be held. */
static void check_elements(const struct elements *elements, size_t shift, const void *expected, double share)
{
    size_t allowed = (size_t)((share + is_turned(elements->dtype)) * (double)elements->n * (double)mdf_dtype_size(elements->dtype)) + (1 << 16);
    struct counter counter = {.left = SIZE_MAX};

    save_model(elements, shift);
    expect_result(false, elements, expected, &counter);
    counter.peak = 0;
    expect_result(true, elements, expected, &counter);
    cr_expect_leq(counter.peak, allowed, "%s, shift %zu: %zu bytes", mdf_dtype_name(elements->dtype), shift, counter.peak);
}

enum { N_BYTES = 3 << 19 }; /* more than a file must have to be mapped */

Test(onnx_weights, elements_stay_in_the_mapped_file)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32,   MDF_DTYPE_UINT8,      MDF_DTYPE_FLOAT16,
                                       MDF_DTYPE_BFLOAT16,  MDF_DTYPE_INT64,      MDF_DTYPE_FLOAT64,
                                       MDF_DTYPE_COMPLEX64, MDF_DTYPE_COMPLEX128, MDF_DTYPE_FLOAT8E4M3FN};
    unsigned char *bytes = some_bytes(N_BYTES);
    size_t i;

    for (i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct elements elements = {dtypes[i], (int64_t)(N_BYTES / mdf_dtype_size(dtypes[i])), TENSOR_RAW, bytes, N_BYTES, 1};

        check_elements(&elements, 0, bytes, 0);
        check_elements(&elements, 1, bytes, mdf_dtype_size(dtypes[i]) > 1 ? 1 : 0);
        check_elements(&elements, 4, bytes, mdf_dtype_size(dtypes[i]) > 4 && dtypes[i] != MDF_DTYPE_COMPLEX64 ? 1 : 0);
    }
    free(bytes);
}

/* More than are copied at once. */
Test(onnx_weights, many_unaligned_elements)
{
    enum { N_MANY = (9 << 20) + 64 };
    unsigned char *bytes = some_bytes(N_MANY);
    struct elements elements = {MDF_DTYPE_FLOAT64, N_MANY / 8, TENSOR_RAW, bytes, N_MANY, 1};

    check_elements(&elements, 3, bytes, 1);
    free(bytes);
}

Test(onnx_weights, typed_fields_are_as_raw_data)
{
    unsigned char *bytes = some_bytes(N_BYTES);
    struct elements single = {MDF_DTYPE_FLOAT32, N_BYTES / 4, TENSOR_FLOATS, bytes, N_BYTES, 1};
    struct elements twice = {MDF_DTYPE_FLOAT64, N_BYTES / 8, TENSOR_DOUBLES, bytes, N_BYTES, 1};
    struct elements pairs = {MDF_DTYPE_COMPLEX64, N_BYTES / 8, TENSOR_FLOATS, bytes, N_BYTES, 1};
    struct elements in_parts = {MDF_DTYPE_FLOAT32, N_BYTES / 4, TENSOR_FLOATS, bytes, N_BYTES, 3};

    check_elements(&single, 0, bytes, 0);
    check_elements(&single, 3, bytes, 1);
    check_elements(&twice, 0, bytes, 0);
    check_elements(&pairs, 4, bytes, 0);
    check_elements(&in_parts, 0, bytes, 3); /* in protobuf's memory, which grows; then in the program */
    free(bytes);
}

Test(onnx_weights, packed_and_boolean_elements_are_unpacked_once)
{
    unsigned char *bytes = some_bytes(N_BYTES), *expected = malloc((size_t)N_BYTES * 4), *small = malloc(N_BYTES * 2);
    struct elements booleans = {MDF_DTYPE_BOOL, N_BYTES, TENSOR_RAW, bytes, N_BYTES, 1};
    struct elements nibbles = {MDF_DTYPE_INT4, N_BYTES * 2 - 1, TENSOR_RAW, bytes, N_BYTES, 1};
    struct elements pairs = {MDF_DTYPE_UINT2, N_BYTES * 4, TENSOR_RAW, bytes, N_BYTES, 1};
    struct elements integers = {MDF_DTYPE_INT8, N_BYTES / 2, TENSOR_INTS, small, 0, 1};
    size_t i;

    for (i = 0; i < N_BYTES; i++) {
        expected[i] = bytes[i] != 0;
    }
    check_elements(&booleans, 0, expected, 1);
    for (i = 0; i < N_BYTES * 2; i++) {
        unsigned bits = bytes[i / 2] >> i % 2 * 4 & 15U;

        expected[i] = (unsigned char)(bits > 7 ? bits - 16 : bits);
    }
    check_elements(&nibbles, 0, expected, 1);
    for (i = 0; i < (size_t)N_BYTES * 4; i++) {
        expected[i] = bytes[i / 4] >> i % 4 * 2 & 3U;
    }
    check_elements(&pairs, 1, expected, 1);
    for (i = 0; i < N_BYTES / 2; i++) { /* numbers from 0 on, each as a varint */
        expected[i] = bytes[i] & 0x7f;
        if (i % 3 == 0) {
            small[integers.size++] = 0x80 | expected[i];
            small[integers.size++] = 0;
        } else {
            small[integers.size++] = expected[i];
        }
    }
    check_elements(&integers, 0, expected, 14);
    free(small);
    free(expected);
    free(bytes);
}

/* The data lie in the model's folder, in a file of their own. */
Test(onnx_weights, external_data_stay_in_the_mapped_file)
{
    unsigned char *bytes = some_bytes(N_BYTES);
    char data_path[sizeof path + 8];
    struct elements elements = {MDF_DTYPE_FLOAT32, (N_BYTES - 4096) / 4, TENSOR_EXTERNAL, NULL, 2, 2};
    struct counter counter = {.left = SIZE_MAX};
    mdf_error error = {0};
    struct mdf_text text;

    snprintf(data_path, sizeof data_path, "%s.data", path);
    cr_assert(mdf_save_file(&memory, data_path, bytes, N_BYTES, &error) == MDF_OK, "%s", error.message);
    elements.bytes = strrchr(data_path, '/') + 1;
    mdf_text_init(&text, &memory);
    write_model(&text, &elements, 0);
    cr_assert(mdf_save_file(&memory, path, text.bytes, text.length, &error) == MDF_OK, "%s", error.message);
    mdf_text_release(&text);
    expect_result(true, &elements, bytes + 4096, &counter);
    cr_expect_leq(counter.peak, (1 << 17) + (is_turned(MDF_DTYPE_FLOAT32) ? N_BYTES : 0), "%zu", counter.peak); /* half of it to read the model, which is small */
    unlink(data_path);
    free(bytes);
}

/* ------------------------------------------------------------------ faults */

static void expect_refusal(const struct elements *elements, const char *words)
{
    mdf_error error = {0};
    mdf_model *model;

    save_model(elements, 0);
    model = mdf_model_load_file_as(path, "onnx", NULL, &error);
    cr_expect(model == NULL && strstr(error.message, words) != NULL, "'%s' does not say '%s'", error.message, words);
    mdf_model_free(model);
}

Test(onnx_weights, faults_of_big_elements)
{
    unsigned char *bytes = some_bytes(N_BYTES);
    struct elements short_one = {MDF_DTYPE_FLOAT32, N_BYTES / 4 + 1, TENSOR_RAW, bytes, N_BYTES, 1};
    struct elements other_field = {MDF_DTYPE_FLOAT32, N_BYTES / 8, TENSOR_DOUBLES, bytes, N_BYTES, 1};
    struct elements text = {MDF_DTYPE_STRING, 3, TENSOR_RAW, bytes, N_BYTES, 1};

    expect_refusal(&short_one, "1572864 bytes of data, where 1572868 are needed");
    expect_refusal(&other_field, "has 0 numbers, where 196608 are needed");
    expect_refusal(&text, "must lie in string_data");
    free(bytes);
}

/* Fields that this reader puts between a file and its messages may not come from a file. */
Test(onnx_weights, places_in_a_file_are_refused)
{
    static const unsigned char bytes[] = {0x3a, 0x10, 0x2a, 0x0e, 0xe9, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3, 4, 5, 6, 7, 8, 0};
    mdf_error error = {0};

    cr_expect_null(mdf_model_load_bytes(bytes, sizeof bytes, "onnx", "place", NULL, &error));
    cr_expect(strstr(error.message, "not messages of protobuf") != NULL, "%s", error.message);
}

Test(onnx_weights, any_allocation_may_fail)
{
    unsigned char *bytes = some_bytes(N_BYTES);
    struct elements elements = {MDF_DTYPE_FLOAT32, N_BYTES / 4, TENSOR_RAW, bytes, N_BYTES, 1};
    size_t shift, n;

    for (shift = 0; shift < 2; shift++) {
        bool done = false;

        save_model(&elements, shift);
        for (n = 0; !done; n++) {
            struct counter counter = {.left = n};
            mdf_allocator allocator = {allocate, reallocate, release, &counter};
            mdf_options options = {.allocator = &allocator};
            mdf_error error = {0};
            mdf_model *model = mdf_model_load_file_as(path, "onnx", &options, &error);
            mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;

            done = program != NULL;
            cr_expect(done || error.code == MDF_OUT_OF_MEMORY, "%zu: %s", n, error.message);
            mdf_model_free(model);
            mdf_program_free(program);
            cr_assert_eq(counter.held, 0);
        }
        cr_expect_gt(n, 10);
    }
    free(bytes);
}
