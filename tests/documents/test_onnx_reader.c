/* test_onnx_reader.c - ONNX files as models. The cases are files, tests/data/onnx/NAME.onnx with NAME.json beside it (generate.py
 * there writes both): the results of runs, or the words of an error. Each is run as it is, and again after it was written as
 * JSON, YAML and BSON, and with its arrays beside it. */
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "tests/data/onnx"

static struct mdf_memory memory;

static void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
}

static void tear_down(void)
{
    cr_assert_eq(atomic_load(&memory.used_bytes), 0, "memory is leaked");
}

TestSuite(onnx_reader, .init = set_up, .fini = tear_down);

/* ------------------------------------------------------------------ cases */

/* Calls `check` for each case of a folder; `path` is without the suffix. */
static size_t for_each_case(const char *folder, void (*check)(const char *path, const struct mdf_document *expected))
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;

    cr_assert_not_null(directory, "%s", folder);
    while ((entry = readdir(directory)) != NULL) {
        const char *suffix = strrchr(entry->d_name, '.');
        struct mdf_document *expected;
        mdf_error error = {0};
        char path[600];

        if (suffix == NULL || strcmp(suffix, ".json") != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        expected = mdf_document_load(&memory, path, NULL, NULL, &error);
        cr_assert_not_null(expected, "%s: %s", path, error.message);
        path[strlen(path) - strlen(suffix)] = '\0';
        check(path, expected);
        mdf_document_free(expected);
        n++;
    }
    closedir(directory);
    return n;
}

static void set_inputs(mdf_state *state, const char *path, const struct mdf_document *expected, const struct mdf_node *inputs)
{
    size_t i;

    for (i = 0; i < inputs->as.object.n; i++) {
        const struct mdf_node_entry *entry = &inputs->as.object.entries[i];
        struct mdf_value value = {0};
        mdf_error error = {0};

        cr_assert(mdf_read_value(&memory, expected, &entry->value, &value, &error) == MDF_OK);
        cr_assert(mdf_set_input_value(state, entry->key, (const mdf_value *)&value, &error) == MDF_OK, "%s: %s", path,
                  error.message);
        mdf_value_clear(&memory, &value);
    }
}

static void expect_results(const mdf_state *state, const mdf_program *program, const char *path, const char *form,
                           const struct mdf_document *expected, const struct mdf_node *results)
{
    size_t i;

    cr_expect_eq(mdf_program_n_results(program), results->as.object.n, "%s (%s)", path, form);
    for (i = 0; i < mdf_program_n_results(program); i++) {
        const char *name = mdf_program_result_name(program, i);
        const struct mdf_node *wanted = mdf_node_get(results, name);
        const struct mdf_value *given = (const struct mdf_value *)mdf_result_at(state, i);
        struct mdf_value value = {0};
        mdf_error error = {0};
        char has[80];

        cr_assert(wanted != NULL, "%s (%s): result '%s'", path, form, name);
        cr_assert(mdf_read_value(&memory, expected, wanted, &value, &error) == MDF_OK, "%s: %s", path, error.message);
        mdf_value_describe(given, has, sizeof has);
        cr_expect(mdf_value_equal(given, &value), "%s (%s): '%s' is another %s", path, form, name, has);
        mdf_value_clear(&memory, &value);
    }
}

static void expect_runs(const mdf_model *model, const char *path, const char *form, const struct mdf_document *expected,
                        const struct mdf_node *runs)
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile(model, NULL, &error);
    size_t i;

    cr_assert_not_null(program, "%s (%s): %s", path, form, error.message);
    for (i = 0; i < runs->as.list.n; i++) {
        const struct mdf_node *words = mdf_node_get(&runs->as.list.items[i], "error");
        mdf_state *state = mdf_state_new(program, &error);

        cr_assert_not_null(state);
        set_inputs(state, path, expected, mdf_node_get(&runs->as.list.items[i], "inputs"));
        if (words != NULL) {
            cr_expect(mdf_evaluate(state, 0.0, &error) != MDF_OK && strstr(error.message, words->as.string.bytes) != NULL,
                      "%s (%s): '%s' does not say '%s'", path, form, error.message, words->as.string.bytes);
            error = (mdf_error){0};
        } else {
            cr_expect(mdf_evaluate(state, 0.0, &error) == MDF_OK, "%s (%s): %s", path, form, error.message);
        }
        if (words == NULL && error.code == MDF_OK) {
            expect_results(state, program, path, form, expected, mdf_node_get(&runs->as.list.items[i], "results"));
        }
        mdf_state_free(state);
    }
    mdf_program_free(program);
}

/* The model written in a format and read back. */
static mdf_model *rewrite(const char *path, const char *format)
{
    mdf_error error = {0};
    struct mdf_document *document = mdf_document_load(&memory, path, "onnx", NULL, &error);
    struct mdf_text text;
    mdf_model *model;

    mdf_text_init(&text, &memory);
    cr_assert_not_null(document, "%s: %s", path, error.message);
    cr_assert(mdf_document_write(&document->root, format, &text, &error), "%s as %s: %s", path, format, error.message);
    model = mdf_model_load_bytes(text.bytes, text.length, format, "rewritten", NULL, &error);
    cr_assert_not_null(model, "%s as %s: %s", path, format, error.message);
    mdf_text_release(&text);
    mdf_document_free(document);
    return model;
}

/* The model written as JSON with every array beside it, and read back. */
static mdf_model *part(const char *path)
{
    char json_path[] = "/tmp/mdf_onnx_reader_XXXXXX.json", npz_path[sizeof json_path + 4];
    int file = mkstemps(json_path, 5);
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file(path, &error);

    cr_assert(file >= 0 && model != NULL, "%s: %s", path, error.message);
    close(file);
    cr_assert(mdf_model_save_file_parted(model, json_path, 1, &error) == MDF_OK, "%s: %s", path, error.message);
    mdf_model_free(model);
    model = mdf_model_load_file(json_path, &error);
    cr_assert_not_null(model, "%s with arrays beside it: %s", path, error.message);
    snprintf(npz_path, sizeof npz_path, "%s.npz", json_path);
    unlink(json_path);
    unlink(npz_path);
    return model;
}

/* Loads, compiles and evaluates until something fails, as it must. */
static void expect_error(const char *path, const char *words)
{
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file(path, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;

    cr_expect(program == NULL, "%s is accepted", path);
    cr_expect(strstr(error.message, words) != NULL ||
                  (sizeof(size_t) == 4 && strstr(error.message, "more elements than memory could hold") != NULL),
              "%s: '%s' does not say '%s'", path, error.message, words);
    cr_expect_str_eq(error.file, path);
    mdf_program_free(program);
    mdf_model_free(model);
}

static void check_case(const char *path, const struct mdf_document *expected)
{
    static const char *const formats[] = {"onnx", "json", "yaml", "bson", "arrays beside"};
    const struct mdf_node *words = mdf_node_get(&expected->root, "error");
    mdf_error error = {0};
    char file[620];
    size_t i;

    snprintf(file, sizeof file, "%s.onnx", path);
    if (words != NULL) {
        expect_error(file, words->as.string.bytes);
        return;
    }
    for (i = 0; i < sizeof formats / sizeof *formats; i++) {
        mdf_model *model = i == 0 ? mdf_model_load_file(file, &error) : i == 4 ? part(file) : rewrite(file, formats[i]);

        cr_assert_not_null(model, "%s: %s", file, error.message);
        expect_runs(model, file, formats[i], expected, mdf_node_get(&expected->root, "runs"));
        mdf_model_free(model);
    }
}

Test(onnx_reader, cases)
{
    cr_expect_gt(for_each_case(FOLDER, check_case), 90);
}

Test(onnx_reader, external_data)
{
    cr_expect_gt(for_each_case(FOLDER "/external", check_case), 14);
}

Test(onnx_reader, external_data_needs_a_file)
{
    mdf_error error = {0};
    void *bytes = NULL;
    size_t size;
    mdf_model *model;

    cr_assert(mdf_read_file(&memory, FOLDER "/external/offset.onnx", &bytes, &size, &error) == MDF_OK);
    model = mdf_model_load_bytes(bytes, size, "onnx", FOLDER "/external/offset.onnx", NULL, &error);
    cr_expect(model == NULL && error.code == MDF_UNSUPPORTED, "%s", error.message);
    mdf_memory_release(&memory, bytes);
}

/* ------------------------------------------------------------------ what the tree keeps */

static struct mdf_document *load(const char *name)
{
    mdf_error error = {0};
    char path[200];
    struct mdf_document *document;

    snprintf(path, sizeof path, FOLDER "/%s.onnx", name);
    document = mdf_document_load(&memory, path, NULL, NULL, &error);
    cr_assert_not_null(document, "%s: %s", path, error.message);
    return document;
}

/* The node at the end of keys, with numbers for items of lists: "g.graphs.g.metadata.inputs.0.name". */
static struct mdf_node at(const struct mdf_document *document, const char *keys)
{
    struct mdf_node node = document->root;
    char text[300], *key;

    snprintf(text, sizeof text, "%s", keys);
    for (key = strtok(text, ">"); key != NULL; key = strtok(NULL, ">")) {
        const struct mdf_node *found = mdf_node_get(&node, key);
        struct mdf_node item;

        if (found != NULL) {
            node = *found;
        } else {
            cr_assert(mdf_node_item(&node, (size_t)atoi(key), &item), "%s: %s", keys, key);
            node = item;
        }
    }
    return node;
}

static void expect_text(const struct mdf_document *document, const char *keys, const char *text)
{
    struct mdf_node node = at(document, keys);

    cr_assert(node.kind == MDF_NODE_STRING, "%s", keys);
    cr_expect_str_eq(node.as.string.bytes, text, "%s: %s", keys, node.as.string.bytes);
}

Test(onnx_reader, names_are_kept)
{
    struct mdf_document *document = load("name_0"); /* values called "11", two nodes called "Add" */
    struct mdf_node metadata;

    expect_text(document, "g>graphs>g>metadata>inputs>0>name", "11");
    expect_text(document, "g>graphs>g>metadata>inputs>0>port", "_11_1");
    expect_text(document, "g>graphs>g>nodes>Add_1>metadata>onnx_name", "Add");
    expect_text(document, "g>graphs>g>nodes>Add_1>output_ports>_112>metadata>onnx_name", "112");
    expect_text(document, "g>metadata>producer_name", "mdf_c tests");
    metadata = at(document, "g>metadata");
    cr_expect_null(mdf_node_get(&metadata, "opset_imports"));
    expect_text(document, "g>onnx_opset_version", "17");
    cr_expect(at(document, "g>metadata>ir_version").as.integer == 9);
    mdf_document_free(document);
    document = load("function_attribute");
    cr_expect(at(document, "g>metadata>opset_imports>ai.onnx").as.integer == 17);
    cr_expect(at(document, "g>metadata>opset_imports>my").as.integer == 1);
    mdf_document_free(document);
}

/* Elements stay in the type and the memory that the file has them in. */
Test(onnx_reader, tensors_are_not_converted)
{
    struct mdf_document *document = load("default_input");
    struct mdf_node data = at(document, "g>graphs>g>nodes>Add_1>input_ports>w>default_value>data");

    cr_assert(data.kind == MDF_NODE_NUMBERS && data.packed_dtype == MDF_DTYPE_FLOAT32);
    cr_expect(((const float *)data.as.numbers.elements)[2] == 20.0F);
    mdf_document_free(document);
}

/* ------------------------------------------------------------------ hostile memory, hostile bytes */

Test(onnx_reader, any_allocation_may_fail)
{
    static const char *const names[] = {"function_with_body",
                                        "types_typed_initializers",
                                        "types_raw_constants",
                                        "sparse_rows",
                                        "external/offset",
                                        "default_input",
                                        "strings",
                                        "name_0",
                                        "constant_forms",
                                        "attribute_real",
                                        "constant_passed",
                                        "body_captures_two_levels",
                                        "function_attribute"};
    size_t i, n;

    for (i = 0; i < sizeof names / sizeof *names; i++) {
        bool done = false;

        for (n = i % 3; !done; n += 3) { /* of each file some, of all together any */
            struct counter scarcity = {.fail_at = n + 1};
            mdf_allocator allocator = failing_allocator(&scarcity);
            struct mdf_document *document;
            struct mdf_memory scarce;
            mdf_error error = {0};
            char path[200];

            snprintf(path, sizeof path, FOLDER "/%s.onnx", names[i]);
            mdf_memory_init(&scarce, &allocator, 0);
            document = mdf_document_load(&scarce, path, NULL, NULL, &error);
            done = document != NULL;
            cr_assert(done ? error.code == MDF_OK : error.code == MDF_OUT_OF_MEMORY, "%s: %s", path, error.message);
            mdf_document_free(document);
            cr_assert_eq(atomic_load(&scarce.used_bytes), 0);
        }
        cr_expect_gt(n, 10);
    }
}

static uint64_t random_state = 88172645463325252U;

static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

/* Bytes changed, cut off, or moved: whatever comes of it, it is a model or an error. */
static void damage(char *bytes, size_t *size)
{
    size_t n = 1 + below(4);

    while (n-- > 0 && *size > 1) {
        switch (below(4)) {
        case 0:
            bytes[below(*size)] = (char)below(256);
            break;
        case 1:
            bytes[below(*size)] ^= (char)(1 << below(8));
            break;
        case 2:
            *size -= below(4) == 0 ? below(*size) : 0;
            break;
        default:
            memmove(bytes + below(*size / 2), bytes + *size / 2, below(*size - *size / 2));
            break;
        }
    }
}

static void check_damaged(const char *path, const struct mdf_document *expected)
{
    size_t size, damaged_size, i;
    void *bytes = NULL, *damaged;
    mdf_error error = {0};
    char file[620];

    (void)expected;
    snprintf(file, sizeof file, "%s.onnx", path);
    cr_assert(mdf_read_file(&memory, file, &bytes, &size, &error) == MDF_OK);
    if (size < 20000) {
        for (i = 0; i < 6; i++) { /* fuzzers try many more: fuzz/README.md */
            mdf_options options = {.max_iterations = 1000, .max_memory_bytes = 1 << 26};
            mdf_program *program = NULL;
            mdf_model *model;

            error = (mdf_error){0};
            damaged = mdf_memory_allocate(&memory, size);
            cr_assert_not_null(damaged);
            memcpy(damaged, bytes, size);
            damaged_size = size;
            damage(damaged, &damaged_size);
            model = mdf_model_load_bytes(damaged, damaged_size, "onnx", "damaged", NULL, &error);
            mdf_memory_release(&memory, damaged);
            program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
            cr_expect((program != NULL) == (error.code == MDF_OK), "%s: no error is given", file);
            mdf_program_free(program);
            mdf_model_free(model);
        }
    }
    mdf_memory_release(&memory, bytes);
}

Test(onnx_reader, damaged_files)
{
    cr_expect_gt(for_each_case(FOLDER, check_damaged), 90);
}
