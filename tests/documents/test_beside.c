/* test_beside.c - arrays of a model in an archive beside it: read from what NumPy wrote (tests/data/beside), written and read
 * back, and what is refused. */
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "mdf_c/values/zip_reader.h"
#include "mdf_c/write/beside.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mdf_memory memory;
static char folder[] = "/tmp/mdf_beside_XXXXXX";

/* A path in the test's folder; the text of the call before the last is lost. */
static const char *in_folder(const char *name)
{
    static char paths[2][200];
    static int turn;

    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static void copy_file(const char *source, const char *target)
{
    mdf_error error = {0};
    void *bytes;
    size_t size;

    cr_assert(mdf_read_file(&memory, source, &bytes, &size, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_save_file(&memory, target, bytes, size, &error) == MDF_OK, "%s", error.message);
    mdf_memory_release(&memory, bytes);
}

static void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    copy_file("tests/data/beside/stored.npz", in_folder("stored.npz"));
    copy_file("tests/data/beside/packed.npz", in_folder("packed.npz"));
}

static void tear_down(void)
{
    char command[200];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_expect_eq(system(command), 0);
    cr_assert_eq(atomic_load(&memory.used_bytes), 0, "memory is leaked");
}

TestSuite(beside, .init = set_up, .fini = tear_down);

static void save_text(const char *name, const char *text)
{
    mdf_error error = {0};

    cr_assert(mdf_save_file(&memory, in_folder(name), text, strlen(text), &error) == MDF_OK, "%s", error.message);
}

/* Saves a model whose node yields a value that stands in its graph's parameters. */
static void save_model_of(const char *parameter)
{
    char text[1000];

    snprintf(text, sizeof text,
             "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\n    \"w\": %s},\n"
             "  \"nodes\": {\"n\": {\"output_ports\": {\"y\": {\"value\": \"w\"}}}}}}}}",
             parameter);
    save_text("model.json", text);
}

/* What the model at a path yields, in mdf-run's typed form, or its error. */
static void evaluate(const char *path, char *text, size_t size)
{
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file(path, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
    mdf_state *state;
    struct mdf_text result;

    mdf_model_free(model);
    if (program == NULL) {
        mdf_error_format(&error, text, size);
        return;
    }
    state = mdf_state_new(program, &error);
    mdf_text_init(&result, &memory);
    cr_assert(mdf_evaluate(state, 0, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_write_json_value(&result, (const struct mdf_value *)mdf_output(state, "n", "y"), true, &error) == MDF_OK);
    snprintf(text, size, "%s", result.bytes);
    mdf_text_release(&result);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* ------------------------------------------------------------------ reading */

Test(beside, arrays_that_numpy_wrote)
{
    static const struct {
        const char *rest, *result; /* behind "npz": FILE */
    } cases[] = {
        {"\"float32\"}", "{\"type\": \"float32\", \"shape\": [2, 3], \"data\": [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]}"},
        {"\"float64\"}", "{\"type\": \"float64\", \"shape\": [2], \"data\": [0.1, -2.5]}"},
        {"\"int64\"}", "{\"type\": \"int64\", \"shape\": [2], \"data\": [4611686018427387904, -1]}"},
        {"\"float16\"}", "{\"type\": \"float16\", \"shape\": [2], \"data\": [0.5, -1.0]}"},
        {"\"bool\"}", "{\"type\": \"bool\", \"shape\": [2], \"data\": [true, false]}"},
        {"\"columns\"}", "{\"type\": \"float32\", \"shape\": [2, 3], \"data\": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}"},
        {"\"swapped\"}", "{\"type\": \"int32\", \"shape\": [2], \"data\": [1, 2]}"},
        {"\"scalar\"}", "{\"type\": \"float64\", \"shape\": [], \"data\": [1.5]}"}, /* a number, as one in JSON */
        {"\"a/b.c\"}", "{\"type\": \"float64\", \"shape\": [1], \"data\": [3.0]}"},
        {"\"words\", \"type\": \"bfloat16\"}", "{\"type\": \"bfloat16\", \"shape\": [2], \"data\": [1.0, -2.0]}"},
        {"\"words\", \"type\": \"uint16\"}", "{\"type\": \"uint16\", \"shape\": [2], \"data\": [16256, 49152]}"},
        {"\"small\", \"type\": \"int4\"}", "{\"type\": \"int4\", \"shape\": [2], \"data\": [-8, 7]}"},
        {"\"bytes\", \"type\": \"float8_e5m2\"}",
         "{\"type\": \"float8_e5m2\", \"shape\": [4], \"data\": [0.0, 0.00010681152, -32768.0, NaN]}"},
    };
    static const char *const archives[] = {"stored.npz", "packed.npz"};
    char parameter[300], text[1000];
    size_t i, j;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (j = 0; j < 2; j++) {
            snprintf(parameter, sizeof parameter, "{\"value\": {\"npz\": \"%s\", \"array\": %s}", archives[j], cases[i].rest);
            save_model_of(parameter);
            evaluate(in_folder("model.json"), text, sizeof text);
            cr_expect_str_eq(text, cases[i].result, "%s of %s: %s", cases[i].rest, archives[j], text);
        }
    }
    save_model_of("{\"value\": {\"npz\": \"stored.npz\", \"array\": \"complex\"}, \"metadata\": {\"type\": \"complex64\", "
                  "\"shape\": [2]}}");
    evaluate(in_folder("model.json"), text, sizeof text);
    cr_expect_str_eq(text, "{\"type\": \"complex64\", \"shape\": [2], \"data\": [[1.0, 2.0], [-0.0, -3.0]]}", "%s", text);
}

Test(beside, what_is_refused)
{
    static const struct {
        const char *reference, *words;
    } cases[] = {
        {"{\"npz\": \"none.npz\", \"array\": \"w\"}",
         "model.json:2:10: error: m.graphs.g.parameters.w: the file 'none.npz', which holds arrays, can not be read"},
        {"{\"npz\": \"/etc/passwd\", \"array\": \"w\"}", "does not lie in the model's folder"},
        {"{\"npz\": \"../stored.npz\", \"array\": \"w\"}", "does not lie in the model's folder"},
        {"{\"npz\": \"out.npz\", \"array\": \"w\"}", "does not lie in the model's folder"},
        {"{\"npz\": \"model.json\", \"array\": \"w\"}",
         "the file 'model.json', which holds arrays, is not a .npz archive, or damaged"},
        {"{\"npz\": \"short.npz\", \"array\": \"w\"}", "is not a .npz archive, or damaged"},
        {"{\"npz\": \"stored.npz\", \"array\": \"w\"}", "the array 'w' of the file 'stored.npz' is not there"},
        {"{\"npz\": \"stored.npz\", \"array\": \"float3\"}", "is not there"},
        {"{\"npz\": \"stored.npz\", \"array\": \"text\"}", "holds strings; numbers are needed"},
        {"{\"npz\": \"packed.npz\", \"array\": \"text\"}", "holds strings; numbers are needed"},
        {"{\"npz\": \"stored.npz\", \"array\": \"time\"}", "arrays of NumPy type '<M8[D]' are not supported"},
        {"{\"npz\": \"stored.npz\", \"array\": \"small\", \"type\": \"float32\"}",
         "has elements of another size than its \"type\""},
        {"{\"npz\": \"stored.npz\", \"array\": \"float32\", \"type\": \"int32\"}",
         "has elements of another size than its \"type\""},
        {"{\"npz\": \"stored.npz\", \"array\": \"bytes\", \"type\": \"uint4\"}", "has elements that its \"type\" can not hold"},
        {"{\"npz\": \"stored.npz\", \"array\": \"small\", \"type\": \"int2\"}", "has elements that its \"type\" can not hold"},
        {"{\"npz\": \"stored.npz\", \"array\": \"small\", \"type\": \"string\"}", "is given a \"type\" that arrays can not have"},
        {"{\"npz\": \"damaged.npz\", \"array\": \"float32\"}", "is not a zip archive, or damaged"},
        {"{\"value\": {\"npz\": \"stored.npz\", \"array\": \"float32\"}, \"metadata\": {\"type\": \"float32\", \"shape\": [5]}}",
         "elements where the shape has "},
    };
    char text[2000];
    mdf_error error = {0};
    void *bytes;
    size_t size, i;

    cr_assert_eq(symlink("/etc/passwd", in_folder("out.npz")), 0);
    cr_assert(mdf_read_file(&memory, "tests/data/beside/packed.npz", &bytes, &size, &error) == MDF_OK);
    cr_assert(mdf_save_file(&memory, in_folder("short.npz"), bytes, size - 30, &error) == MDF_OK);
    ((unsigned char *)bytes)[80] ^= 0x55; /* in the packed bytes of the first array */
    cr_assert(mdf_save_file(&memory, in_folder("damaged.npz"), bytes, size, &error) == MDF_OK);
    mdf_memory_release(&memory, bytes);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_model_of(cases[i].reference);
        evaluate(in_folder("model.json"), text, sizeof text);
        cr_expect(strstr(text, cases[i].words) != NULL, "%s: '%s' does not say '%s'", cases[i].reference, text, cases[i].words);
    }
}

Test(beside, references_need_a_file)
{
    static const char text[] =
        "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\"w\": {\"npz\": \"a.npz\", \"array\": \"b\"}}, \"nodes\": {}}}}}";
    mdf_error error = {0};

    cr_expect_null(mdf_model_load_bytes(text, sizeof text - 1, "json", "text", NULL, &error));
    cr_expect(strstr(error.message, "can only be found for a model read from a file") != NULL, "%s", error.message);
}

/* Whatever is in an archive, nothing outside it is looked at. */
Test(beside, damaged_archives)
{
    struct mdf_arena arena;
    mdf_error error = {0};
    void *bytes;
    size_t size, i, n_sound = 0;

    mdf_arena_init(&arena, &memory);
    cr_assert(mdf_read_file(&memory, "tests/data/beside/packed.npz", &bytes, &size, &error) == MDF_OK);
    for (i = 0; i < size + 4000; i += 3) {
        struct mdf_store *store = mdf_store_allocate(&memory, i < size ? i : size);
        unsigned char *damaged = mdf_store_bytes(store), target[1 << 12];
        struct mdf_zip zip;
        size_t j;

        memcpy(damaged, bytes, mdf_store_size(store));
        if (i >= size) { /* some bytes of the directory, at the end */
            damaged[size - 1 - i * 7919 % 1500] ^= (unsigned char)(i >> 3);
        }
        if (mdf_zip_open(&arena, store, &zip, NULL) == MDF_OK) {
            n_sound++;
            for (j = 0; j < zip.n_entries; j++) {
                if (zip.entries[j].size <= sizeof target) {
                    mdf_zip_unpack(&zip, &zip.entries[j], target, NULL);
                }
            }
        }
        mdf_store_release(store);
    }
    cr_expect_gt(n_sound, 1000);
    mdf_memory_release(&memory, bytes);
    mdf_arena_release(&arena);
}

/* ------------------------------------------------------------------ writing */

static const char big_model[] =
    "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\"w\": {\"value\": [[1, 2, 3], [4, 5, 6]]}, \"v\": [0.5, 1.5]},\n"
    "  \"nodes\": {\"w\": {\"parameters\": {\"w\": {\"value\": [true, false]}, \"s\": {\"value\": 1}}},\n"
    "    \"n\": {\"output_ports\": {\"y\": {\"value\": \"w\"}}}}}}}}";

static mdf_status convert(const char *source, const char *target, size_t beside_bytes, mdf_error *error)
{
    mdf_model *model = mdf_model_load_file(source, error);
    mdf_status status;

    cr_assert_not_null(model, "%s", error->message);
    status = mdf_model_save_file_parted(model, target, beside_bytes, error);
    mdf_model_free(model);
    return status;
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void expect_same_file(const char *a, const char *b)
{
    mdf_error error = {0};
    void *a_bytes, *b_bytes;
    size_t a_size, b_size;

    cr_assert(mdf_read_file(&memory, in_folder(a), &a_bytes, &a_size, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_read_file(&memory, in_folder(b), &b_bytes, &b_size, &error) == MDF_OK, "%s", error.message);
    cr_expect(a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0, "%s and %s differ", a, b);
    mdf_memory_release(&memory, a_bytes);
    mdf_memory_release(&memory, b_bytes);
}

/* What goes out and comes back is the same; a model stays in parts until it is asked to be one. */
Test(beside, arrays_go_out_and_come_back)
{
    mdf_error error = {0};
    char text[300];

    save_text("in.json", big_model);
    cr_assert(convert(in_folder("in.json"), in_folder("whole.json"), 0, &error) == MDF_OK, "%s", error.message);
    cr_expect(!exists("whole.json.npz"));
    cr_assert(convert(in_folder("in.json"), in_folder("out.yaml"), 1, &error) == MDF_OK, "%s", error.message);
    cr_expect(exists("out.yaml.npz"));
    evaluate(in_folder("out.yaml"), text, sizeof text);
    cr_expect_str_eq(text, "{\"type\": \"int64\", \"shape\": [2, 3], \"data\": [1, 2, 3, 4, 5, 6]}", "%s", text);
    cr_assert(convert(in_folder("out.yaml"), in_folder("back.json"), SIZE_MAX, &error) == MDF_OK, "%s", error.message);
    cr_expect(!exists("back.json.npz"));
    expect_same_file("whole.json", "back.json");
    cr_assert(convert(in_folder("out.yaml"), in_folder("out.yaml"), 1, &error) == MDF_OK, "%s", error.message); /* onto itself */
    cr_assert(convert(in_folder("out.yaml"), in_folder("back.json"), SIZE_MAX, &error) == MDF_OK, "%s", error.message);
    expect_same_file("whole.json", "back.json");
}

Test(beside, only_big_arrays_go_out)
{
    mdf_error error = {0};
    struct mdf_value arrays = {0};

    save_text("in.json", big_model);
    cr_assert(convert(in_folder("in.json"), in_folder("out.json"), 17, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_read_npz_file(&memory, in_folder("out.json.npz"), &arrays, &error) == MDF_OK, "%s", error.message);
    cr_expect_eq(arrays.length, 1);
    cr_expect_str_eq(mdf_value_key(&arrays, 0), "w");
    mdf_value_clear(&memory, &arrays);
    cr_assert(convert(in_folder("in.json"), in_folder("all.json"), 1, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_read_npz_file(&memory, in_folder("all.json.npz"), &arrays, &error) == MDF_OK, "%s", error.message);
    cr_expect_eq(arrays.length, 3); /* two are called w */
    mdf_value_clear(&memory, &arrays);
}

/* Elements begin at multiples of 64, so that they can be used where they lie. */
Test(beside, elements_are_aligned)
{
    struct mdf_arena arena;
    struct mdf_store *store;
    struct mdf_zip zip;
    mdf_error error = {0};
    FILE *file;
    size_t i;

    save_text("in.json", big_model);
    cr_assert(convert(in_folder("in.json"), in_folder("out.json"), 1, &error) == MDF_OK, "%s", error.message);
    file = fopen(in_folder("out.json.npz"), "rb");
    cr_assert(file != NULL && fseek(file, 0, SEEK_END) == 0);
    store = mdf_store_map(&memory, fileno(file), (size_t)ftell(file));
    fclose(file);
    mdf_arena_init(&arena, &memory);
    cr_assert(mdf_zip_open(&arena, store, &zip, &error) == MDF_OK, "%s", error.message);
    cr_expect_eq(zip.n_entries, 3);
    for (i = 0; i < zip.n_entries; i++) {
        cr_expect_eq((size_t)(zip.entries[i].bytes - (const unsigned char *)mdf_store_bytes(store)) % 64, 0);
        cr_expect(zip.entries[i].is_stored && memcmp(zip.entries[i].bytes, "\x93NUMPY", 6) == 0);
    }
    mdf_arena_release(&arena);
    mdf_store_release(store);
}

/* Where one file can not be written, neither appears. */
Test(beside, both_files_or_none)
{
    mdf_error error = {0};

    save_text("in.json", big_model);
    cr_assert_eq(mkdir(in_folder("out.json.npz"), 0777), 0);
    cr_expect(convert(in_folder("in.json"), in_folder("out.json"), 1, &error) == MDF_FILE, "%s", error.message);
    cr_expect(!exists("out.json"));
    error = (mdf_error){0};
    cr_expect(convert(in_folder("in.json"), in_folder("no/out.json"), 1, &error) == MDF_FILE, "%s", error.message);
}

/* ------------------------------------------------------------------ failing allocations */

static void *allocate(void *context, size_t size)
{
    size_t *left = context;

    return *left > 0 ? ((*left)--, malloc(size)) : NULL;
}

static void *reallocate(void *context, void *block, size_t size)
{
    size_t *left = context;

    return *left > 0 ? ((*left)--, realloc(block, size)) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(beside, any_allocation_may_fail)
{
    static const char *const archives[] = {"stored.npz", "packed.npz"};
    mdf_error error;
    char parameter[200];
    size_t i, n;

    for (i = 0; i < 2; i++) {
        bool done = false;

        snprintf(parameter, sizeof parameter, "{\"value\": {\"npz\": \"%s\", \"array\": \"columns\"}}", archives[i]);
        save_model_of(parameter);
        for (n = 0; !done; n++) {
            size_t left = n;
            mdf_allocator allocator = {allocate, reallocate, release, &left};
            mdf_options options = {.allocator = &allocator};
            mdf_model *model;

            error = (mdf_error){0};
            model = mdf_model_load_file_as(in_folder("model.json"), NULL, &options, &error);
            done = model != NULL && mdf_model_save_file_parted(model, in_folder("out.json"), 1, &error) == MDF_OK;
            cr_expect(done || error.code == MDF_OUT_OF_MEMORY, "%zu: %s", n, error.message);
            mdf_model_free(model);
        }
        cr_expect_gt(n, 20);
    }
}
