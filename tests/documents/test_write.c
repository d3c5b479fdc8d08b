/* test_write.c - values and runs as JSON, CSV and NPZ, and values read back. */
#include "mdf_c/values/values.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ values as JSON and back */

static mdf_status read_text(struct mdf_memory *memory, const char *json, struct mdf_value *value, mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", "test", json, strlen(json), NULL, error);
    mdf_status status;

    if (document == NULL) {
        return error->code;
    }
    status = mdf_read_value(memory, document, &document->root, value, error);
    mdf_document_free(document);
    return status;
}

static void expect_json(const char *json, bool typed, const char *expected)
{
    struct mdf_memory memory;
    struct mdf_value value = {0};
    struct mdf_text text;
    mdf_error error = {0};

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    cr_assert(read_text(&memory, json, &value, &error) == MDF_OK, "%s: %s", json, error.message);
    cr_assert(mdf_write_json_value(&text, &value, typed, &error) == MDF_OK, "%s: %s", json, error.message);
    cr_expect_str_eq(text.bytes, expected, "%s gives %s, not %s", json, text.bytes, expected);
    mdf_text_release(&text);
    mdf_value_clear(&memory, &value);
    cr_expect(memory.used_bytes == 0);
}

Test(write, plain_values)
{
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"1", "1"},
        {"3.0", "3.0"},
        {"[1, 2.5]", "[1.0, 2.5]"},
        {"[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]"},
        {"[[[1], [2]], [[3], [4]]]", "[[[1], [2]], [[3], [4]]]"},
        {"null", "null"},
        {"[true, false]", "[true, false]"},
        {"[NaN, -Infinity, 1e400]", "[NaN, -Infinity, Infinity]"},
        {"[0.1, 1e-7, 1e22, -0.0]", "[0.1, 1e-07, 1e+22, -0.0]"},
        {"\"a\\\"\\\\\\n\\u0001\\u00e9\"", "\"a\\\"\\\\\\n\\u0001\xc3\xa9\""},
        {"[\"a\", [\"b\"]]", "[\"a\", [\"b\"]]"},
        {"{\"k\": [1, \"x\"], \"\": null}", "{\"k\": [1, \"x\"], \"\": null}"},
        {"[]", "[]"},
        {"[[], []]", "[[], []]"},
        {"{\"type\": \"float32\", \"shape\": [2, 0, 3], \"data\": []}", "[[], []]"},
        {"{\"type\": \"float32\", \"data\": [0.1, 16777216]}", "[0.1, 16777216.0]"},
        {"{\"type\": \"float16\", \"data\": [0.1, 65504]}", "[0.099975586, 65504.0]"},
        {"{\"type\": \"bfloat16\", \"data\": 0.1}", "0.100097656"},
        {"{\"type\": \"int4\", \"data\": [-8, 7]}", "[-8, 7]"},
        {"{\"type\": \"uint64\", \"data\": [18446744073709551615, 1]}", "[18446744073709551615, 1]"},
        {"{\"type\": \"complex64\", \"shape\": [2], \"data\": [[1, 2], [3, NaN]]}", "[[1.0, 2.0], [3.0, NaN]]"},
        {"{\"sequence\": [1, {\"type\": \"int8\", \"data\": [2]}]}", "[1, [2]]"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_json(cases[i].json, false, cases[i].expected);
    }
}

/* A typed form is written as it is read. */
Test(write, typed_values)
{
    static const char *const cases[] = {
        "{\"type\": \"int64\", \"shape\": [], \"data\": [1]}",
        "{\"type\": \"float64\", \"shape\": [2, 1], \"data\": [0.1, NaN]}",
        "{\"type\": \"float32\", \"shape\": [0, 3], \"data\": []}",
        "{\"type\": \"float8_e4m3fn\", \"shape\": [2], \"data\": [0.1015625, 448.0]}",
        "{\"type\": \"uint2\", \"shape\": [2], \"data\": [0, 3]}",
        "{\"type\": \"bool\", \"shape\": [2], \"data\": [true, false]}",
        "{\"type\": \"string\", \"shape\": [1, 2], \"data\": [\"a\", \"\"]}",
        "{\"type\": \"complex128\", \"shape\": [1], \"data\": [[1.0, -2.5]]}",
        "{\"sequence\": [{\"type\": \"int8\", \"shape\": [2], \"data\": [1, -128]}, null]}",
        "{\"type\": \"int64\", \"shape\": [2], \"data\": [9223372036854775807, -9223372036854775808]}",
        "{\"sequence\": []}",
        "null",
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_json(cases[i], true, cases[i]);
    }
}

Test(write, malformed_values)
{
    static const struct {
        const char *json, *message;
        int column;
    } cases[] = {
        {"{\"type\": \"int8\", \"data\": [300]}", "300 is no int8", 26},
        {"{\"type\": \"int64\", \"data\": [1.5]}", "1.5 is no int64", 27},
        {"{\"type\": \"uint8\", \"data\": -1}", "-1 is no uint8", 27},
        {"{\"type\": \"uint64\", \"data\": [18446744073709551616]}", "18446744073709551616 is no uint64", 29},
        {"{\"type\": \"int64\", \"data\": NaN}", "NaN is no int64", 27},
        {"{\"type\": \"bool\", \"data\": [2]}", "2 is no bool", 26},
        {"{\"type\": \"string\", \"data\": [1]}", "holds a number", 28},
        {"{\"type\": \"int8\", \"data\": [null]}", "holds null", 27},
        {"{\"type\": \"nope\", \"data\": [1]}", "\"type\" must name an element type", 10},
        {"{\"type\": \"int8\", \"shape\": [3], \"data\": [1]}", "there is 1 element where the shape has 3", 40},
        {"{\"type\": \"int8\", \"shape\": [-1], \"data\": [1]}", "\"shape\" must be a list of sizes", 27},
        {"{\"type\": \"int8\", \"shape\": 1, \"data\": [1]}", "\"shape\" must be a list of sizes", 27},
        {"{\"type\": \"int8\", \"shape\": [9223372036854775807, 9], \"data\": [1]}",
         "the shape has more elements than fit into memory", 61},
        {"{\"sequence\": 1}", "\"sequence\" must be a list", 14},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mdf_memory memory;
        struct mdf_value value = {0};
        mdf_error error = {0};

        mdf_memory_init(&memory, NULL, 0);
        cr_expect(read_text(&memory, cases[i].json, &value, &error) != MDF_OK, "%s", cases[i].json);
        cr_expect(strstr(error.message, cases[i].message) != NULL, "%s: %s", cases[i].json, error.message);
        cr_expect(error.line == 1 && error.column == cases[i].column, "%s: column %d", cases[i].json, error.column);
        cr_expect(memory.used_bytes == 0);
    }
}

Test(write, empty_array_of_many_rows_is_refused)
{
    struct mdf_memory memory;
    struct mdf_value value = {0};
    struct mdf_text text;
    mdf_error error = {0};

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    cr_assert(read_text(&memory, "{\"type\": \"int8\", \"shape\": [1000000000, 0], \"data\": []}", &value, &error) == MDF_OK);
    cr_expect(mdf_write_json_value(&text, &value, false, &error) == MDF_LIMIT);
    mdf_text_release(&text);
    mdf_value_clear(&memory, &value);
}

Test(write, broken_utf8_becomes_replacement_characters)
{
    struct mdf_memory memory;
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_json_string(&text, "a\xff\xc3z", 4);
    cr_expect_str_eq(text.bytes, "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
    mdf_text_release(&text);
}

/* ------------------------------------------------------------------ runs */

static const struct mdf_column columns[] = {{0, "A", "x"}, {2, "C", "y,1"}};
static const size_t schedule_both[] = {2, 1, 0, 1, 2}, schedule_first[] = {1, 1, 0};

/* Records steps that are given as a JSON list of [value of A.x, value of C.y] pairs; the second step runs A alone. */
static mdf_status record(struct mdf_recording *recording, struct mdf_memory *memory, const char *json, mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", "test", json, strlen(json), NULL, error);
    mdf_status status = document != NULL ? mdf_recording_init(recording, memory, columns, 2, error) : error->code;
    struct mdf_node pair, item;
    size_t step, column;

    for (step = 0; status == MDF_OK && mdf_node_item(&document->root, step, &pair); step++) {
        status = mdf_recording_begin_step(recording, 0.5 * (double)step, error);
        for (column = 0; column < 2 && status == MDF_OK && mdf_node_item(&pair, column, &item); column++) {
            struct mdf_value value = {0};

            status = mdf_read_value(memory, document, &item, &value, error);
            if (status == MDF_OK) {
                status = mdf_recording_add_value(recording, &value, error);
            }
            mdf_value_clear(memory, &value);
        }
        if (status == MDF_OK) {
            status = step == 1 ? mdf_recording_add_schedule(recording, schedule_first, 3, error)
                               : mdf_recording_add_schedule(recording, schedule_both, 5, error);
        }
    }
    mdf_document_free(document);
    return status;
}

typedef mdf_status (*writer)(struct mdf_text *text, const struct mdf_report *report, mdf_error *error);

static mdf_status write_run(writer write, struct mdf_text *text, const char *json, bool trace, mdf_error *error)
{
    static const char *const node_ids[] = {"A", "B", "C"}, *const result_names[] = {"r"};
    static const struct mdf_value *const results[] = {NULL};
    struct mdf_recording recording = {.memory = text->memory};
    mdf_status status = record(&recording, text->memory, json, error);
    struct mdf_report report = {.model = "m",
                                .graph = "g",
                                .n_steps = recording.n_steps,
                                .n_nodes = 3,
                                .node_ids = node_ids,
                                .n_results = 1,
                                .result_names = result_names,
                                .results = results,
                                .recording = &recording,
                                .all_nodes = true,
                                .trace = trace};

    if (status == MDF_OK) {
        status = write(text, &report, error);
    }
    mdf_recording_release(&recording);
    return status;
}

static const char changing[] = "[[1.5, null], [2.5, [1, 2]], [0.1, [3, 4]]]";

Test(write, run_as_json_and_csv)
{
    static const struct {
        writer write;
        const char *json;
        bool trace;
        const char *expected;
    } cases[] = {
        {mdf_write_report_json, changing, false,
         "{\"model\": \"m\", \"graph\": \"g\", \"steps\": 3,\n \"results\": {\"r\": null},\n"
         " \"outputs\": {\"A\": {\"x\": 0.1}, \"B\": {}, \"C\": {\"y,1\": [3, 4]}}}\n"},
        {mdf_write_report_json, "[[1, \"s\"], [2, [\"t\"]]]", true,
         "{\"model\": \"m\", \"graph\": \"g\", \"steps\": 2,\n \"results\": {\"r\": null},\n"
         " \"outputs\": {\"A\": {\"x\": 2}, \"B\": {}, \"C\": {\"y,1\": [\"t\"]}},\n \"trace\": [\n"
         "  {\"time\": 0.0, \"outputs\": {\"A\": {\"x\": 1}, \"B\": {}, \"C\": {\"y,1\": \"s\"}}, \"schedule\": [[\"A\"], "
         "[\"C\"]]},\n"
         "  {\"time\": 0.5, \"outputs\": {\"A\": {\"x\": 2}, \"B\": {}, \"C\": {\"y,1\": [\"t\"]}}, \"schedule\": "
         "[[\"A\"]]}]}\n"},
        {mdf_write_report_csv, changing, false, "A.x,\"C.y,1[0]\",\"C.y,1[1]\"\n0.1,3,4\n"},
        {mdf_write_report_csv, changing, true, "time,A.x,\"C.y,1[0]\",\"C.y,1[1]\"\n0.0,1.5,,\n0.5,2.5,1,2\n1.0,0.1,3,4\n"},
        {mdf_write_report_csv, "[[[1, 2], \"a,\\\"b\"], [[3], {\"k\": 1}]]", true,
         "time,A.x[0],A.x[1],\"C.y,1\"\n0.0,1,2,\"\"\"a,\\\"\"b\"\"\"\n0.5,3,,\"{\"\"k\"\": 1}\"\n"},
        {mdf_write_report_csv, "[[[[1, 2], [3, 4]], NaN]]", true,
         "time,A.x[0][0],A.x[0][1],A.x[1][0],A.x[1][1],\"C.y,1\"\n0.0,1,2,3,4,NaN\n"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mdf_memory memory;
        struct mdf_text text;
        mdf_error error = {0};

        mdf_memory_init(&memory, NULL, 0);
        mdf_text_init(&text, &memory);
        cr_assert(write_run(cases[i].write, &text, cases[i].json, cases[i].trace, &error) == MDF_OK, "%s", error.message);
        cr_expect_str_eq(text.bytes, cases[i].expected, "%s", text.bytes);
        mdf_text_release(&text);
        cr_expect(memory.used_bytes == 0);
    }
}

/* Steps that ran alike share one schedule, and numbers take two words each. */
Test(write, recording_is_compact)
{
    struct mdf_memory memory;
    struct mdf_recording recording;
    struct mdf_value value = {0};
    mdf_error error = {0};
    size_t step;

    mdf_memory_init(&memory, NULL, 0);
    cr_assert(mdf_recording_init(&recording, &memory, columns, 1, &error) == MDF_OK);
    for (step = 0; step < 1000; step++) {
        mdf_value_make_double(&memory, &value, (double)step);
        mdf_recording_begin_step(&recording, 0, &error);
        mdf_recording_add_value(&recording, &value, &error);
        mdf_recording_add_schedule(&recording, schedule_first, 3, &error);
    }
    cr_assert(error.code == MDF_OK);
    cr_expect(recording.n_words == 2000 && recording.n_forms == 1 && recording.n_schedule_words == 3);
    cr_expect(*(const double *)mdf_recording_value(&recording, 123, 0).data == 123);
    mdf_recording_release(&recording);
    mdf_value_clear(&memory, &value);
    cr_expect(memory.used_bytes == 0);
}

/* ------------------------------------------------------------------ NumPy files */

/* A file that does not outlive the test. */
static void temporary_path(char path[64])
{
    int file;

    strcpy(path, "/tmp/mdf_test_write_XXXXXX");
    file = mkstemp(path);
    cr_assert(file >= 0);
    close(file);
}

static void expect_npz(const char *json, bool trace, const char *expected)
{
    struct mdf_memory memory;
    struct mdf_text text, read;
    struct mdf_value object = {0};
    mdf_error error = {0};
    char path[64];

    temporary_path(path);
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_text_init(&read, &memory);
    cr_assert(write_run(mdf_write_report_npz, &text, json, trace, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_save_file(&memory, path, text.bytes, text.length, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_read_npz_file(&memory, path, &object, &error) == MDF_OK, "%s", error.message);
    cr_assert(mdf_write_json_value(&read, &object, false, &error) == MDF_OK, "%s", error.message);
    cr_expect_str_eq(read.bytes, expected, "%s", read.bytes);
    unlink(path);
    mdf_text_release(&text);
    mdf_text_release(&read);
    mdf_value_clear(&memory, &object);
    cr_expect(memory.used_bytes == 0);
}

Test(write, run_as_npz)
{
    expect_npz(changing, false, "{\"A.x\": 0.1, \"C.y,1\": [3, 4]}");
    expect_npz(changing, true, "{\"time\": [0.0, 0.5, 1.0], \"A.x\": [1.5, 2.5, 0.1], \"step2/C.y,1\": [1, 2], \"step3/C.y,1\": [3, 4]}");
    expect_npz("[[[1, 2], \"a\\u00e9\"], [[3, 4], \"bcd\"]]", true,
               "{\"time\": [0.0, 0.5], \"A.x\": [[1, 2], [3, 4]], \"C.y,1\": [\"a\xc3\xa9\", \"bcd\"]}");
    expect_npz("[[1, {\"k\": [2, \"x\"]}]]", false, "{\"A.x\": 1, \"C.y,1.k.0\": 2, \"C.y,1.k.1\": \"x\"}");
}

/* Builds a version 1 file from a header and elements, and reads it. */
static mdf_status read_npy_parts(struct mdf_memory *memory, const char *header, const void *elements, size_t n_bytes,
                                 struct mdf_value *value, mdf_error *error)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    size_t length = strlen(header);

    file[8] = (unsigned char)length;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, elements, n_bytes);
    return mdf_read_npy(memory, file, 10 + length + n_bytes, value, error);
}

Test(write, npy_orders)
{
    struct mdf_memory memory;
    struct mdf_value value = {0};
    mdf_error error = {0};

    mdf_memory_init(&memory, NULL, 0);
    cr_assert(read_npy_parts(&memory, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", "\x01\x02\xff\xfe", 4, &value,
                             &error) == MDF_OK);
    cr_expect(((int16_t *)value.data)[0] == 0x102 && ((int16_t *)value.data)[1] == -2);
    cr_assert(read_npy_parts(&memory, "{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", "\1\4\2\5\3\6", 6, &value,
                             &error) == MDF_OK);
    cr_expect(value.rank == 2 && memcmp(value.data, "\1\2\3\4\5\6", 6) == 0);
    mdf_value_clear(&memory, &value);
    cr_expect(memory.used_bytes == 0);
}

Test(write, npy_malformed)
{
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "fewer bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "fewer bytes"},
        {"{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }", "fewer bytes"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (), }", "'|O' are not supported"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (), }", "'f3' are not supported"},
        {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (), }", "records"},
        {"{'descr': '<f8', 'shape': (), }", "descr, fortran_order and shape"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "descr, fortran_order and shape"},
        {"{'descr': '<f8', ", "descr, fortran_order and shape"},
        {"[1]", "no dictionary"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mdf_memory memory;
        struct mdf_value value = {0};
        mdf_error error = {0};

        mdf_memory_init(&memory, NULL, 0);
        cr_expect(read_npy_parts(&memory, cases[i].header, "12345678", 8, &value, &error) != MDF_OK, "%s", cases[i].header);
        cr_expect(strstr(error.message, cases[i].message) != NULL, "%s: %s", cases[i].header, error.message);
        cr_expect(memory.used_bytes == 0);
    }
}

/* ------------------------------------------------------------------ files */

Test(write, save_file_leaves_nothing_behind)
{
    struct mdf_memory memory;
    mdf_error error = {0};
    size_t size_bytes;
    char path[64];
    void *bytes;

    temporary_path(path);
    mdf_memory_init(&memory, NULL, 0);
    cr_assert(mdf_save_file(&memory, path, "first", 5, &error) == MDF_OK);
    cr_assert(mdf_save_file(&memory, path, "second", 6, &error) == MDF_OK);
    cr_assert(mdf_read_file(&memory, path, &bytes, &size_bytes, &error) == MDF_OK);
    cr_expect(size_bytes == 6 && memcmp(bytes, "second", 6) == 0);
    mdf_memory_release(&memory, bytes);
    unlink(path);
    cr_expect(mdf_save_file(&memory, "/nonexistent/file", "x", 1, &error) == MDF_FILE);
    cr_expect_str_eq(error.file, "/nonexistent/file");
    cr_expect(memory.used_bytes == 0);
}

/* ------------------------------------------------------------------ digits of numbers */

static void expect_text(const char *got, int digits, int most_digits, double number, bool is_float32)
{
    char want[MDF_NUMBER_TEXT_SIZE];

    do {
        snprintf(want, sizeof want, "%.*g", digits, number);
    } while ((is_float32 ? (double)strtof(want, NULL) : strtod(want, NULL)) != number && digits++ < most_digits);
    strcat(want, strpbrk(want, ".e") == NULL ? ".0" : "");
    cr_assert_str_eq(got, want);
}

/* The C library's text of the fewest digits that read back, for the number and for the float32 next to it. */
static void expect_shortest(double number)
{
    char got[MDF_NUMBER_TEXT_SIZE];

    mdf_format_float64(number, got);
    expect_text(got, 15, 17, number, false);
    mdf_format_float32((float)number, got);
    expect_text(got, 6, 9, (double)(float)number, true);
}

/* The C library's digits for the least precision that reads back: the nearest ones. Fractions of all sizes; quarters beside 2^50,
 * which lie in the middle between two texts. */
Test(write, digits_are_the_fewest_and_the_nearest)
{
    uint64_t drawn = 88172645463325252;

    for (int i = 0; i < 5000; i++) {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        expect_shortest(i % 2 == 0 ? (double)(drawn >> 11) * 0x1p-53 : (double)(drawn >> 12) / 4);
        expect_shortest(ldexp((double)(drawn >> 11), (int)(drawn % 210) - 160)); /* past what find_shortest decides */
    }
    for (int exponent = -125; exponent < 128; exponent++) { /* where the numbers below are closer than those above */
        expect_shortest(ldexp(1, exponent));
        expect_shortest(nextafter(ldexp(1, exponent), 0));
    }
    expect_shortest(0.0);
    expect_shortest(-0.0);
}

static void expect_read(const char *text)
{
    cr_assert_eq(mdf_parse_real(text, strlen(text)), strtod(text, NULL), "%s", text);
}

/* As the C library reads them: numbers of all sizes, next to the middle between two float64, of more digits than 64 bits hold. */
Test(write, numbers_are_read_as_the_nearest)
{
    /* clang-format off */
    static const char *const texts[] = {
        "0.5", "2.9811029", "8943449002907386536e-18", "5e-324", "1e400", "1e23", "8.5e22", "9007199254740993", "9007199254740992.5",
        "9007199254740993.00000001", "18446744073709551615", "18446744073709551616", "0.00000000000000000000018446744073709551616",
        "000000000000000000000001.5", "123456789012345678901234567890", "0.1e-50", "4503599627370497.5", "-1.7976931348623157e308", "2.", "1E+5"};
    /* clang-format on */
    uint64_t drawn = 88172645463325252;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_read(texts[i]);
    }
    for (int i = 0; i < 5000; i++) {
        char text[64];

        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        snprintf(text, sizeof text, "%" PRIu64 "e%d", drawn >> drawn % 40, (int)(drawn % 130) - 65);
        expect_read(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%s", drawn >> (11 + drawn % 3), drawn % 2 != 0 ? "5" : "25");
        expect_read(text);
    }
}

/* ------------------------------------------------------------------ memory that runs out */

Test(write, every_allocation_may_fail)
{
    static const writer writers[] = {mdf_write_report_json, mdf_write_report_csv, mdf_write_report_npz};
    static const char steps[] = "[[1.5, null], [2.5, [\"a\", \"b\"]], [0.1, {\"k\": {\"type\": \"bfloat16\", \"data\": [0.1]}}]]";
    size_t i;
    long n;

    for (i = 0; i < sizeof writers / sizeof *writers; i++) {
        mdf_status status = MDF_OUT_OF_MEMORY;

        for (n = 0; status == MDF_OUT_OF_MEMORY && n < 1000; n++) {
            struct counter failing = {.fail_at = (size_t)n + 1};
            mdf_allocator allocator = failing_allocator(&failing);
            struct mdf_memory memory;
            struct mdf_text text;
            mdf_error error = {0};

            mdf_memory_init(&memory, &allocator, 0);
            mdf_text_init(&text, &memory);
            status = write_run(writers[i], &text, steps, true, &error);
            cr_expect(status == error.code);
            mdf_text_release(&text);
            cr_expect(memory.used_bytes == 0, "writer %zu, allocation %ld", i, n);
        }
        cr_expect(status == MDF_OK, "writer %zu", i);
    }
}
