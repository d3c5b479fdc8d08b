/* test_document.c - documents: reading JSON, YAML and BSON into one tree, writing it, nodes as values. A case is a text and the
 * tree it stands for (document_notation.h), or the error that it ends in. */
#include "tests/support/document_notation.h"
#include "tests/support/failing_allocator.h"

#include <unistd.h>

static void check_dump(const char *format, const char *text, const char *expected)
{
    struct mdf_document *document = parse(format, text);
    struct mdf_text dumped;

    mdf_text_init(&dumped, &memory);
    dump(&dumped, &document->root);
    cr_expect_str_eq(dumped.bytes, expected, "%s: %s, not %s", text, dumped.bytes, expected);
    mdf_text_release(&dumped);
    mdf_document_free(document);
}

struct reading {
    const char *text, *tree;
};

static void check_readings(const char *format, const struct reading *cases, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        check_dump(format, cases[i].text, cases[i].tree);
    }
}

/* ------------------------------------------------------------------ JSON */

TestSuite(document, .init = set_up, .fini = tear_down);

Test(document, json_values)
{
    static const struct reading cases[] = {
        {"null", "null"},
        {" \t\r\n true ", "true"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"1e2", "100.0"},
        {"1E-2", "0.01"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "#9223372036854775808"},
        {"-123456789012345678901234567890", "#-123456789012345678901234567890"},
        {"1e999", "Infinity"},
        {"-1e999", "-Infinity"},
        {"NaN", "NaN"},
        {"[Infinity, -Infinity]", "float64[2](Infinity -Infinity)"},
        {"\xef\xbb\xbf{}", "{}"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\xc3\xa9\"", "\"\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\""},
        {"{\"a\": {\"b\": []}, \"\": {}}", "{a: {b: []}, : {}}"},
    };

    check_readings("json", cases, COUNT(cases));
}

Test(document, numbers_are_packed)
{
    static const struct reading cases[] = {
        {"[]", "[]"},
        {"[1, 2]", "int64[2](1 2)"},
        {"[1.0, 2.5]", "float64[2](1.0 2.5)"},
        {"[true, false]", "bool[2](1 0)"},
        {"[[[1], [2]], [[3], [4]], [[5], [6]]]", "int64[3,2,1](1 2 3 4 5 6)"},
        {"[[true], [false]]", "bool[2,1](1 0)"},
        {"[1, 2.5]", "[1, 2.5]"},
        {"[2.5, 1]", "[2.5, 1]"},
        {"[1, true]", "[1, true]"},
        {"[1, null, 2]", "[1, null, 2]"},
        {"[1, 18446744073709551616]", "[1, #18446744073709551616]"},
        {"[[1, 2], [3]]", "[int64[2](1 2), int64[1](3)]"},
        {"[[1, 2], [3.0, 4.0]]", "[int64[2](1 2), float64[2](3.0 4.0)]"},
        {"[[1, 2], [3, 4], 5]", "[int64[2](1 2), int64[2](3 4), 5]"},
        {"[[1, 2], [3, 4], \"x\"]", "[int64[2](1 2), int64[2](3 4), \"x\"]"},
        {"[[1, 2], {\"a\": [3]}]", "[int64[2](1 2), {a: int64[1](3)}]"},
        {"[1, 2, [3]]", "[1, 2, int64[1](3)]"},
        {"[1, {}]", "[1, {}]"},
        {"[[1], []]", "[int64[1](1), []]"},
        {"[[], []]", "[[], []]"},
        {"[[[1, 2], [3, 4]], [[5, 6], [7, 8.5]]]", "[int64[2,2](1 2 3 4), [int64[2](5 6), [7, 8.5]]]"},
        {"[[[1, 2]], [[3, 4], [5, 6]]]", "[int64[1,2](1 2), int64[2,2](3 4 5 6)]"},
        {"{\"a\": [1], \"b\": [[2, 3]]}", "{a: int64[1](1), b: int64[1,2](2 3)}"},
    };

    check_readings("json", cases, COUNT(cases));
    check_readings("yaml", cases, COUNT(cases));
}

struct failing {
    const char *text;
    int line, column;
    const char *message; /* a part of it */
};

static void check_failing(const char *format, const struct failing *cases, size_t n)
{
    mdf_error error;
    size_t i;

    for (i = 0; i < n; i++) {
        struct mdf_document *document = parse_bytes(format, cases[i].text, strlen(cases[i].text), &error);

        cr_assert_null(document, "%s is read", cases[i].text);
        cr_expect(strstr(error.message, cases[i].message) != NULL, "%s: '%s' lacks '%s'", cases[i].text, error.message,
                  cases[i].message);
        cr_expect(error.line == cases[i].line && error.column == cases[i].column, "%s: at %d:%d, not %d:%d", cases[i].text,
                  error.line, error.column, cases[i].line, cases[i].column);
        cr_expect_str_eq(error.file, "file");
    }
}

Test(document, json_errors)
{
    static const struct failing cases[] = {
        {"", 1, 1, "the file is empty"},
        {" \n \n", 1, 1, "the file is empty"},
        {"\xff\xfe{", 1, 1, "UTF-16"},
        {"{\"a\": 1} x", 1, 10, "the document has ended, but 'x' follows"},
        {"1,2", 1, 2, "the document has ended, but ',' follows; several values stand in brackets: [1, 2]"},
        {"[1,\n 2,]", 2, 3, "a comma stands before the closing ']'"},
        {"{\"a\": 1,}", 1, 8, "a comma stands before the closing '}'"},
        {"{'a': 1}", 1, 2, "a key in double quotes is expected"},
        {"['a']", 1, 2, "a string takes double quotes"},
        {"[1 2]", 1, 4, "',' or ']' is expected in the list that opens at 1:1, not '2'"},
        {"{\"a\" 1}", 1, 6, "':' after a key"},
        {"{\"a\": 1]", 1, 8, "',' or '}' is expected"},
        {"{1: 2}", 1, 2, "a key in quotes is expected"},
        {"[1,\n{\"a\": [", 2, 8, "the file ends inside the list that opens at 2:7"},
        {"{\"a\": \"b", 1, 7, "the file ends inside this string"},
        {"\"\xc3\xa9\" \xc3\xa9", 1, 5, "\xc3\xa9"},
        {"[\"\xc3\xa9\xc3\xa9\", x]", 1, 8, "a value is expected, not 'x'"},
        {"\"a\nb\"", 1, 3, "no closing quote on its line"},
        {"\"a\tb\"", 1, 3, "a control character"},
        {"\"ab\xff\"", 1, 4, "not valid UTF-8 (byte 0xff)"},
        {"\"\xed\xa0\x80\"", 1, 2, "not valid UTF-8"},
        {"\"\xc0\x80\"", 1, 2, "not valid UTF-8"},
        {"\xff", 1, 1, "not UTF-8"},
        {"\"\\x\"", 1, 2, "no escape"},
        {"\"\\u12g4\"", 1, 2, "four hexadecimal digits"},
        {"\"a\\ud800\"", 1, 3, "half of a surrogate pair"},
        {"\"\\udc00\\ud800\"", 1, 2, "half of a surrogate pair"},
        {"{\"a\\u0000\": 1}", 1, 2, "a key can not hold"},
        {"True", 1, 1, "'True' is no value in JSON; 'true' is"},
        {"[nan]", 1, 2, "'NaN' is"},
        {"-Inf", 1, 1, "a value is expected"},
        {"01", 1, 1, "a number can not begin with 0"},
        {"1.", 1, 3, "a digit is expected after the point"},
        {"1e+", 1, 4, "a digit is expected in the exponent"},
        {"-", 1, 1, "a value is expected"},
        {"// no\n1", 1, 1, "a value is expected"},
        {",", 1, 1, "a value is expected, not ','"},
    };

    check_failing("json", cases, COUNT(cases));
}

Test(document, positions)
{
    struct mdf_document *document = parse("json", "{\n  \"\xc3\xa9\": [1,\n   null], \"b\": \"x\"}");
    const struct mdf_node *list = mdf_node_get(&document->root, "\xc3\xa9");

    cr_expect(document->root.line == 1 && document->root.column == 1);
    cr_expect(list->line == 2 && list->column == 8);
    cr_expect(list->as.list.items[0].line == 2 && list->as.list.items[0].column == 9);
    cr_expect(list->as.list.items[1].line == 3 && list->as.list.items[1].column == 4);
    cr_expect(document->root.as.object.entries[1].line == 3 && document->root.as.object.entries[1].column == 11);
    mdf_document_free(document);
    document = parse("yaml", "# models\n\xc3\xa9: {x: [1, null]}\n");
    list = mdf_node_get(mdf_node_get(&document->root, "\xc3\xa9"), "x");
    cr_expect(list->line == 2 && list->column == 8);
    cr_expect(list->as.list.items[1].line == 2 && list->as.list.items[1].column == 12);
    mdf_document_free(document);
}

Test(document, last_duplicate_wins)
{
    static const struct {
        const char *format, *text, *tree, *warning;
        int n_warnings;
    } cases[] = {
        {"json", "{\"a\": 1, \"b\": 2,\n \"a\": 3}", "{a: 3, b: 2}",
         "file:2:2: error: the key 'a' stands twice in one object, here and at 1:2; the last wins", 1},
        {"json", "{\"a\": 1, \"a\": 2, \"a\": 3}", "{a: 3}",
         "file:1:18: error: the key 'a' stands twice in one object, here and at 1:10; the last wins", 2},
        {"json", "{\"i\": 0, \"h\": 1, \"g\": 2, \"f\": 3, \"e\": 4, \"d\": 5, \"c\": 6, \"b\": 7, \"a\": 8, \"f\": 9}",
         "{i: 0, h: 1, g: 2, f: 9, e: 4, d: 5, c: 6, b: 7, a: 8}",
         "file:1:74: error: the key 'f' stands twice in one object, here and at 1:26; the last wins", 1},
        {"yaml", "a: 1\n'a': 2\n", "{a: 2}",
         "file:2:1: error: the key 'a' stands twice in one object, here and at 1:1; the last wins", 1},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        n_warnings = 0;
        check_dump(cases[i].format, cases[i].text, cases[i].tree);
        cr_expect_str_eq(warned, cases[i].warning, "%s", warned);
        cr_expect_eq(n_warnings, cases[i].n_warnings);
    }
}

/* `n` times `open`, the middle, `n` times `close`. */
static char *nest(const char *open, const char *middle, const char *close, size_t n)
{
    struct mdf_text text;
    char *copy;
    size_t i;

    mdf_text_init(&text, &memory);
    for (i = 0; i < 2 * n; i++) {
        mdf_text_append_string(&text, i == n ? middle : "");
        mdf_text_append_string(&text, i < n ? open : close);
    }
    copy = strdup(text.bytes);
    mdf_text_release(&text);
    return copy;
}

Test(document, depth_is_limited)
{
    static const char *const formats[] = {"json", "yaml"};
    mdf_error error;
    size_t i;

    for (i = 0; i < COUNT(formats); i++) {
        char *deepest = nest("[", "7", "]", MDF_DOCUMENT_MAX_DEPTH), *deeper = nest("[", "7", "]", MDF_DOCUMENT_MAX_DEPTH + 1);
        char *objects = nest("{\"a\": ", "7", "}", 100000);
        struct mdf_document *document = parse(formats[i], deepest);

        cr_expect_eq(document->root.as.numbers.rank, MDF_DOCUMENT_MAX_DEPTH);
        mdf_document_free(document);
        cr_expect_null(parse_bytes(formats[i], deeper, strlen(deeper), &error));
        cr_expect_eq(error.code, MDF_LIMIT);
        cr_expect_eq(error.column, MDF_DOCUMENT_MAX_DEPTH + 1);
        cr_expect_null(parse_bytes(formats[i], objects, strlen(objects), &error));
        cr_expect_eq(error.code, MDF_LIMIT);
        free(deepest);
        free(deeper);
        free(objects);
    }
}

/* ------------------------------------------------------------------ YAML */

Test(document, yaml_scalars)
{
    /* each as PyYAML's SafeLoader reads it, dates and !!binary aside */
    static const struct reading cases[] = {
        {"1e-3", "\"1e-3\""},
        {"1.0e-3", "0.001"},
        {"1.0e3", "\"1.0e3\""},
        {"1.e+3", "1000.0"},
        {".5", "0.5"},
        {"-.5", "\"-.5\""},
        {"1.", "1.0"},
        {"012", "10"},
        {"-012", "-10"},
        {"08", "\"08\""},
        {"0o12", "\"0o12\""},
        {"0x1F", "31"},
        {"-0x1f", "-31"},
        {"0b101", "5"},
        {"1_000", "1000"},
        {"1_0.2_5", "10.25"},
        {"1:30", "90"},
        {"-1:30", "-90"},
        {"1:60", "\"1:60\""},
        {"190:20:30", "685230"},
        {"190:20:30.15", "685230.15"},
        {"yes", "true"},
        {"Off", "false"},
        {"ON", "true"},
        {"y", "\"y\""},
        {"yEs", "\"yEs\""},
        {"True", "true"},
        {"~", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {".inf", "Infinity"},
        {"-.INF", "-Infinity"},
        {".NaN", "NaN"},
        {"-.nan", "\"-.nan\""},
        {"inf", "\"inf\""},
        {"9223372036854775808", "#9223372036854775808"},
        {"1.0e+999", "Infinity"},
        {"'12'", "\"12\""},
        {"\"yes\"", "\"yes\""},
        {"2001-01-01", "\"2001-01-01\""},
        {"=", "\"=\""},
        {"<<", "\"<<\""},
        {"!!str 12", "\"12\""},
        {"!!int '0x1f'", "31"},
        {"!!float 1", "1.0"},
        {"!!float 1e3", "1000.0"},
        {"!!bool 'no'", "false"},
        {"!!null x", "null"},
        {"! '12'", "12"},
        {"!!seq [1]", "int64[1](1)"},
        {"!!map {a: 1}", "{a: 1}"},
        {"!!omap [a: 1, b: [2]]", "{a: 1, b: int64[1](2)}"},
        {"!!pairs [a: 1, a: 2]", "[[\"a\", 1], [\"a\", 2]]"},
        {"!!set {a, b}", "{a: null, b: null}"},
        {"---\n", "null"},
        {"1: a\n~: b\nyes: c\n2.50: d", "{1: \"a\", ~: \"b\", yes: \"c\", 2.50: \"d\"}"},
        {"a: |\n  x\n  y\n", "{a: \"x\ny\n\"}"},
    };

    check_readings("yaml", cases, COUNT(cases));
}

Test(document, yaml_aliases_and_merges)
{
    static const struct reading cases[] = {
        {"[&a [1, 2], *a, [3, 4]]", "int64[3,2](1 2 1 2 3 4)"},
        {"[&a [1, 2], *a, [3]]", "[int64[2](1 2), int64[2](1 2), int64[1](3)]"},
        {"[&a 1, *a]", "int64[2](1 1)"},
        {"[&t true, &a [*t], [false], *a]", "[true, bool[1](1), bool[1](0), bool[1](1)]"},
        {"&k key: *k", "{key: \"key\"}"},
        {"[&k 12, {*k : 3}]", "[12, {12: 3}]"},
        {"a: &x 1\nb: &x 2\nc: *x", "{a: 1, b: 2, c: 2}"},
        {"a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3, z: 4}", "{a: {x: 1, y: 2}, b: {x: 1, y: 3, z: 4}}"},
        {"a: &a {x: 1, y: 2}\nb: {y: 3, <<: *a}", "{a: {x: 1, y: 2}, b: {x: 1, y: 3}}"},
        {"[&a {x: 1}, &b {x: 2, y: 3}, {<<: [*a, *b]}]", "[{x: 1}, {x: 2, y: 3}, {x: 1, y: 3}]"},
        {"{<<: {a: 1}, <<: {a: 2}}", "{a: 2}"},
        {"{'<<': {a: 1}}", "{<<: {a: 1}}"},
        {"{<<: &a {b: [1]}, c: *a}", "{b: int64[1](1), c: {b: int64[1](1)}}"},
    };

    check_readings("yaml", cases, COUNT(cases));
    cr_expect_eq(n_warnings, 0);
}

Test(document, yaml_errors)
{
    static const struct failing cases[] = {
        {"", 1, 1, "the file is empty"},
        {"  \n# nothing\n", 1, 1, "the file is empty"},
        {"a:\n\tb: 1", 2, 1, "YAML is indented with spaces, not with tabs"},
        {"a: {b: [1, 2", 2, 1, "',' or ']'"},
        {"a: 1\n---\nb: 2", 2, 1, "a second YAML document"},
        {"a: !!python/object/apply:os.system ['true']", 1, 4, "the tag '!!python/object/apply:os.system' is not supported"},
        {"a: !thing 1", 1, 4, "the tag '!thing' is not supported"},
        {"!!binary aGk=", 1, 1, "the tag '!!binary' is not supported"},
        {"!!seq {a: 1}", 1, 1, "does not fit an object"},
        {"!!map [1]", 1, 1, "does not fit a list"},
        {"!!map 1", 1, 1, "does not fit a scalar"},
        {"!!int [1]", 1, 1, "fits a scalar only"},
        {"!!int x", 1, 1, "'x' is no whole number"},
        {"!!bool y", 1, 1, "'y' is no boolean"},
        {"!!omap [{a: 1, b: 2}]", 1, 9, "an object with one entry"},
        {"a: 0x10000000000000000", 1, 4, "does not fit 64 bits"},
        {"? [1]\n: 2", 1, 3, "a key must be a scalar"},
        {"? {a: 1}\n: 2", 1, 3, "a key must be a scalar"},
        {"\"a\\0\": 1", 1, 1, "a key can not hold"},
        {"a: *b", 1, 4, "there is no anchor before the alias '*b'"},
        {"&a [*a]", 1, 5, "stands inside the value that it names"},
        {"{<<: 1}", 1, 6, "'<<' merges an object or a list of objects"},
        {"{<<: [{a: 1}, x]}", 1, 15, "'<<' merges an object or a list of objects"},
        {"a: 1\nb: \xff", 2, 4, "UTF-8"},
        {"a: \x01", 1, 4, "control characters"},
    };

    check_failing("yaml", cases, COUNT(cases));
}

Test(document, yaml_aliases_are_limited)
{
    static const char laughs[] =
        "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
        "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
        "g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    struct mdf_text chain;
    mdf_error error;
    size_t i;

    cr_expect_null(parse_bytes("yaml", laughs, strlen(laughs), &error));
    cr_expect_eq(error.code, MDF_LIMIT);
    cr_expect(strstr(error.message, "aliases stand for more than") != NULL);
    mdf_text_init(&chain, &memory); /* each value holds the one before: a depth that no line shows */
    mdf_text_append_string(&chain, "- &a0 [x]\n");
    for (i = 1; i < 300; i++) {
        mdf_text_printf(&chain, "- &a%zu [*a%zu]\n", i, i - 1);
    }
    cr_expect_null(parse_bytes("yaml", chain.bytes, chain.length, &error));
    cr_expect_eq(error.code, MDF_LIMIT);
    cr_expect_eq(error.line, MDF_DOCUMENT_MAX_DEPTH);
    mdf_text_release(&chain);
}

/* ------------------------------------------------------------------ BSON */

Test(document, bson_errors)
{
#define CASE(bytes, path, message)              \
    {                                           \
        bytes, sizeof(bytes) - 1, path, message \
    }
    static const struct {
        const char *bytes;
        size_t size;
        const char *path, *message;
    } cases[] = {
        CASE("", "", "the file is empty"),
        CASE("\x05\x00\x00", "", "has 3 bytes"),
        CASE("@\x00\x00\x00\x00", "", "says that it has 64 bytes, but the file has 5"),
        CASE("\x0b\x00\x00\x00\x10"
             "a\x00\x01\x00\x00\x00",
             "", "malformed"),
        CASE("\x14\x00\x00\x00\x07"
             "a\x00"
             "123456789012\x00",
             "a", "the BSON type 'ObjectId' (0x07) has no place in a model, at byte 4"),
        CASE("'\x00\x00\x00\x03m\x00\x1f\x00\x00\x00\x04l\x00\x17\x00\x00\x00\x10"
             "0\x00\x01\x00\x00\x00\x11"
             "1\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
             "m.l[1]", "the BSON type 'timestamp'"),
        CASE("\x18\x00\x00\x00\x03m\x00\x10\x00\x00\x00\x09"
             "d\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
             "m.d", "the BSON type 'date' (0x09) has no place in a model, at byte 11"),
        CASE("\x0f\x00\x00\x00\x02"
             "a\x00\x03\x00\x00\x00x\xff\x00\x00",
             "a", "a string is not valid UTF-8, at byte 11"),
        CASE("\x08\x00\x00\x00\x0a\xff\x00\x00", "", "a key is not valid UTF-8, at byte 5"),
        CASE("\x0d\x00\x00\x00\x03m\x00\xff\x00\x00\x00\x00\x00", "", "malformed"),
        CASE("\x0d\x00\x00\x00\x02"
             "a\x00\xff\xff\xff\xff\x00\x00",
             "", "malformed"),
        CASE("\x0f\x00\x00\x00\x02"
             "a\x00\x03\x00\x00\x00xyz\x00",
             "", "malformed"),
    };
#undef CASE
    mdf_error error;
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        cr_expect_null(parse_bytes("bson", cases[i].bytes, cases[i].size, &error), "case %zu is read", i);
        cr_expect(strstr(error.message, cases[i].message) != NULL, "case %zu: '%s'", i, error.message);
        cr_expect(cases[i].path[0] == '\0' || strcmp(error.path, cases[i].path) == 0, "case %zu: path '%s'", i, error.path);
    }
}

Test(document, bson_duplicates)
{
    static const char bytes[] = "\x13\x00\x00\x00\x10"
                                "a\x00\x01\x00\x00\x00\x10"
                                "a\x00\x02\x00\x00\x00"; /* ends in the literal's own NUL */
    mdf_error error;
    struct mdf_document *document = parse_bytes("bson", bytes, sizeof bytes, &error);

    cr_assert_not_null(document);
    cr_expect_eq(mdf_node_get(&document->root, "a")->as.integer, 2);
    cr_expect_str_eq(warned, "file: error: the key 'a' stands twice in one object, as entries 1 and 2; the last wins", "%s",
                     warned);
    mdf_document_free(document);
}

/* ------------------------------------------------------------------ access */

Test(document, access)
{
    struct mdf_document *document =
        parse("json", "{\"n\": [[1, 2], [3, 4]], \"l\": [1, \"x\"], \"o\": {\"k9\": 9, \"k8\": 8, \"k7\": 7, "
                      "\"k6\": 6, \"k5\": 5, \"k4\": 4, \"k3\": 3, \"k2\": 2, \"k1\": 1, \"k0\": 0}}");
    const struct mdf_node *numbers = mdf_node_get(&document->root, "n"), *object = mdf_node_get(&document->root, "o");
    struct mdf_node row, item;
    mdf_error error;
    int64_t i;

    memset(&error, 0, sizeof error);
    cr_expect_eq(mdf_node_length(numbers), 2);
    cr_expect_str_eq(mdf_node_describe(numbers), "a list");
    cr_expect(mdf_node_item(numbers, 1, &row) && row.kind == MDF_NODE_NUMBERS && mdf_node_length(&row) == 2);
    cr_expect(mdf_node_item(&row, 0, &item) && item.kind == MDF_NODE_INT && item.as.integer == 3);
    cr_expect(!mdf_node_item(numbers, 2, &item) && !mdf_node_item(object, 0, &item));
    cr_expect_not_null(object->as.object.order);
    for (i = 0; i < 10; i++) {
        char key[8];

        snprintf(key, sizeof key, "k%d", (int)i);
        cr_expect_eq(mdf_node_get(object, key)->as.integer, i);
    }
    cr_expect_null(mdf_node_get(object, "k"));
    cr_expect_null(mdf_node_get(numbers, "k"));
    cr_expect_eq(mdf_node_error(document, object, &error, MDF_TYPE, "bad %d", 7), MDF_TYPE);
    cr_expect(error.line == 1 && error.column == 45 && strcmp(error.message, "bad 7") == 0, "%d: %s", error.column,
              error.message);
    mdf_document_free(document);
}

Test(document, files)
{
    char path[] = "/tmp/mdf_test_document_XXXXXX.json";
    int file = mkstemps(path, 5);
    struct mdf_document *document;
    mdf_error error;

    cr_assert(file >= 0 && write(file, "[1]", 3) == 3);
    close(file);
    memset(&error, 0, sizeof error);
    document = mdf_document_load(&memory, path, NULL, NULL, &error);
    cr_assert_not_null(document);
    cr_expect_str_eq(document->file, path);
    mdf_document_free(document);
    cr_expect_null(mdf_document_load(&memory, path, "xml", NULL, &error));
    cr_expect_eq(error.code, MDF_USAGE);
    unlink(path);
    memset(&error, 0, sizeof error);
    cr_expect_null(mdf_document_load(&memory, path, NULL, NULL, &error));
    cr_expect(error.code == MDF_FILE && strcmp(error.message, "there is no such file") == 0 && strcmp(error.file, path) == 0);
    memset(&error, 0, sizeof error);
    cr_expect_null(mdf_document_load(&memory, "/tmp", "json", NULL, &error));
    cr_expect(error.code == MDF_FILE && strstr(error.message, "directory") != NULL, "%s", error.message);
    cr_expect_str_eq(mdf_format_of_path("a/b.YML"), "yaml");
    cr_expect_str_eq(mdf_format_of_path("x.bson"), "bson");
    cr_expect_null(mdf_format_of_path("json"));
    cr_expect_str_eq(mdf_format_of_path("model.onnx"), "onnx");
    cr_expect_null(mdf_format_of_path("model.xml"));
}

/* ------------------------------------------------------------------ writing */

Test(document, layout)
{
    /* Rows stay on a line however long they are; all else does up to a length and a depth of objects. */
    static const char source[] =
        "{\"a\": [1, 2], \"m\": [[1.0, 1e-05], [NaN, -Infinity]], \"s\": \"\xc3\xa9\\n\\u0000\\t\", \"e\": {}, \"l\": [],"
        "\"mixed\": [1, 2.5, null, {\"x, : ]\": true}], \"big\": 18446744073709551616, \"quoted\": [\"1e-3\", \"012\", \"on\"],"
        "\"row\": [1000000000000001, 1000000000000002, 100000000003, 1000000000000004,"
        " 1000000000000005, 1000000000006, 1007, 1008],"
        "\"rows\": [[1000000000000001, 1000000000000002, 100000000003],"
        " [1000000000000004, 1000000000000005, 1000000000006, 1007, 1008]],"
        "\"nested\": {\"o1\": {\"o2\": {\"o3\": {}}}}}";
    static const char json[] = "{\n    \"a\": [1, 2],\n    \"m\": [[1.0, 1e-05], [NaN, -Infinity]],\n"
                               "    \"s\": \"\xc3\xa9\\u000a\\u0000\\u0009\",\n    \"e\": {},\n    \"l\": [],\n"
                               "    \"mixed\": [1, 2.5, null, {\"x, : ]\": true}],\n    \"big\": 18446744073709551616,\n"
                               "    \"quoted\": [\"1e-3\", \"012\", \"on\"],\n"
                               "    \"row\": [1000000000000001, 1000000000000002, 100000000003, 1000000000000004,"
                               " 1000000000000005, 1000000000006, 1007, 1008],\n"
                               "    \"rows\": [\n        [1000000000000001, 1000000000000002, 100000000003],\n"
                               "        [1000000000000004, 1000000000000005, 1000000000006, 1007, 1008]\n    ],\n"
                               "    \"nested\": {\n        \"o1\": {\"o2\": {\"o3\": {}}}\n    }\n}\n";
    static const char yaml[] = "a: [1, 2]\nm: [[1.0, 1.0e-05], [.nan, -.inf]]\ns: \"\xc3\xa9\\n\\0\\t\"\ne: {}\nl: []\n"
                               "mixed: [1, 2.5, null, {'x, : ]': true}]\nbig: 18446744073709551616\nquoted: [1e-3, '012', 'on']\n"
                               "row: [1000000000000001, 1000000000000002, 100000000003, 1000000000000004,"
                               " 1000000000000005, 1000000000006, 1007, 1008]\n"
                               "rows:\n- [1000000000000001, 1000000000000002, 100000000003]\n"
                               "- [1000000000000004, 1000000000000005, 1000000000006, 1007, 1008]\n"
                               "nested:\n    o1: {o2: {o3: {}}}\n";
    struct mdf_document *document = parse("json", source);
    struct mdf_text text;
    mdf_error error;

    cr_assert(write_tree(&document->root, "json", &text, &error));
    cr_expect_str_eq(text.bytes, json, "%s", text.bytes);
    mdf_text_release(&text);
    cr_assert(write_tree(&document->root, "yaml", &text, &error));
    cr_expect_str_eq(text.bytes, yaml, "%s", text.bytes);
    mdf_text_release(&text);
    mdf_document_free(document);
}

/* Whole numbers past 64 bits are decimals in BSON; those of more than 34 digits it can not hold. */
Test(document, large_numbers_in_bson)
{
    static const char source[] =
        "{\"a\": [18446744073709551616, -9223372036854775809], \"b\": 1234567890123456789012345678901234}\n";
    struct mdf_document *document = parse("json", source), *again;
    uint64_t wide[] = {1, UINT64_MAX};
    int64_t shape = 2;
    struct mdf_node numbers = {
        .kind = MDF_NODE_NUMBERS, .packed_dtype = MDF_DTYPE_UINT64, .as.numbers = {.rank = 1, .shape = &shape, .elements = wide}};
    struct mdf_node_entry entry = {.key = "w", .value = numbers};
    struct mdf_node object = {.kind = MDF_NODE_OBJECT, .as.object = {.entries = &entry, .n = 1}};
    struct mdf_text text;
    mdf_error error;

    cr_assert(write_tree(&document->root, "bson", &text, &error), "%s", error.message);
    again = mdf_document_parse(&memory, "bson", "again", text.bytes, text.length, NULL, &error);
    mdf_text_release(&text);
    cr_assert(write_tree(&again->root, "json", &text, &error));
    cr_expect_str_eq(text.bytes, source, "%s", text.bytes);
    mdf_text_release(&text);
    mdf_document_free(again);
    mdf_document_free(document);
    cr_assert(write_tree(&object, "bson", &text, &error), "%s", error.message);
    again = mdf_document_parse(&memory, "bson", "again", text.bytes, text.length, NULL, &error);
    cr_expect_str_eq(again->root.as.object.entries[0].value.as.list.items[1].digits, "18446744073709551615");
    mdf_text_release(&text);
    mdf_document_free(again);
    document = parse("json", "{\"a\": 12345678901234567890123456789012345}");
    cr_assert(!write_tree(&document->root, "bson", &text, &error));
    cr_expect_str_eq(error.message,
                     "BSON can not hold the whole number 12345678901234567890123456789012345, which has more than 34 digits");
    mdf_text_release(&text);
    mdf_document_free(document);
}

Test(document, writing_refuses)
{
    struct mdf_node nested[MDF_DOCUMENT_MAX_DEPTH + 1], text_node = {.kind = MDF_NODE_STRING, .as.string = {"\xff", 1}};
    struct mdf_text text;
    mdf_error error;
    size_t i;

    for (i = 0; i <= MDF_DOCUMENT_MAX_DEPTH; i++) {
        nested[i] = (struct mdf_node){.kind = MDF_NODE_LIST, .as.list = {&nested[i + 1], i < MDF_DOCUMENT_MAX_DEPTH}};
    }
    cr_expect(!write_tree(nested, "json", &text, &error) && error.code == MDF_LIMIT);
    mdf_text_release(&text);
    cr_expect(!write_tree(&text_node, "yaml", &text, &error) && error.code == MDF_VALUE);
    mdf_text_release(&text);
    cr_expect(!write_tree(&nested[MDF_DOCUMENT_MAX_DEPTH], "bson", &text, &error) && error.code == MDF_VALUE);
    mdf_text_release(&text);
}

/* ------------------------------------------------------------------ values */

/* "int64[2,3]", "list of 2", "nothing". */
static void describe(const struct mdf_value *value, struct mdf_text *text)
{
    size_t i;

    mdf_text_init(text, &memory);
    if (value->kind != MDF_KIND_TENSOR) {
        if (value->kind == MDF_KIND_LIST) {
            mdf_text_printf(text, "list of %zu", value->length);
        } else {
            mdf_text_append_string(text, "nothing");
        }
        return;
    }
    mdf_text_append_string(text, mdf_dtype_name((mdf_dtype)value->dtype));
    for (i = 0; i < value->rank; i++) {
        mdf_text_printf(text, "%s%" PRId64 "%s", i > 0 ? "," : "[", mdf_value_shape(value)[i], i + 1 == value->rank ? "]" : "");
    }
}

Test(document, values)
{
    static const struct {
        const char *json, *description;
        int strength; /* -1: no matter */
    } cases[] = {
        {"1", "int64", MDF_STRENGTH_PYTHON},
        {"1.5", "float64", MDF_STRENGTH_PYTHON},
        {"true", "bool", MDF_STRENGTH_PYTHON},
        {"\"x\"", "string", MDF_STRENGTH_PYTHON},
        {"null", "nothing", -1},
        {"18446744073709551616", "float64", MDF_STRENGTH_PYTHON},
        {"[1, 2]", "int64[2]", MDF_STRENGTH_LITERAL},
        {"[[true], [false]]", "bool[2,1]", MDF_STRENGTH_LITERAL},
        {"[1, 2.5]", "float64[2]", MDF_STRENGTH_LITERAL},
        {"[1, true]", "int64[2]", MDF_STRENGTH_LITERAL},
        {"[[1, 2], [3.5, 4.5]]", "float64[2,2]", MDF_STRENGTH_LITERAL},
        {"[[[1, 2]], [[3, 4.5]]]", "float64[2,1,2]", MDF_STRENGTH_LITERAL},
        {"[]", "float64[0]", MDF_STRENGTH_LITERAL},
        {"[[], []]", "float64[2,0]", MDF_STRENGTH_LITERAL},
        {"[\"a\", \"b\"]", "string[2]", MDF_STRENGTH_LITERAL},
        {"[[1, 2], [3]]", "list of 2", -1},
        {"[1, \"a\"]", "list of 2", -1},
        {"[1, null]", "list of 2", -1},
        {"[[1], 2]", "list of 2", -1},
        {"[[], [1]]", "list of 2", -1},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct mdf_document *document = parse("json", cases[i].json);
        struct mdf_value value = {0}, borrowed = {0};
        mdf_error error = {0};
        struct mdf_text text;

        cr_assert(mdf_node_to_value(&memory, &value, &document->root, false, &error));
        cr_assert(mdf_node_to_value(&memory, &borrowed, &document->root, true, &error));
        describe(&value, &text);
        cr_expect_str_eq(text.bytes, cases[i].description, "%s: %s", cases[i].json, text.bytes);
        mdf_text_release(&text);
        cr_expect(cases[i].strength < 0 || value.strength == cases[i].strength, "%s", cases[i].json);
        cr_expect(mdf_value_equal(&value, &borrowed), "%s", cases[i].json);
        mdf_value_clear(&memory, &value);
        mdf_value_clear(&memory, &borrowed);
        mdf_document_free(document);
    }
}

Test(document, values_hold_the_elements)
{
    struct mdf_document *document = parse("json", "{\"x\": [[1, 2], [true, 0.5]], \"s\": [\"a\", \"bc\"]}");
    struct mdf_value value = {0};
    const struct mdf_value *pairs;
    mdf_error error = {0};
    const double *x;

    cr_assert(mdf_node_to_value(&memory, &value, &document->root, false, &error));
    cr_assert(value.kind == MDF_KIND_DICT && value.length == 2);
    pairs = value.data;
    cr_expect_str_eq(mdf_value_to_string(&pairs[0]), "x");
    x = pairs[1].data;
    cr_expect(x[0] == 1 && x[1] == 2 && x[2] == 1 && x[3] == 0.5);
    cr_expect_str_eq(((char *const *)pairs[3].data)[1], "bc");
    mdf_value_clear(&memory, &value);
    mdf_document_free(document);
}

/* ------------------------------------------------------------------ memory that runs out */

/* Reads, writes in each format, and makes a value; false where memory ran out on the way. */
static bool run_all(struct mdf_memory *scarce, const char *format, const char *text)
{
    static const char *const formats[] = {"json", "yaml", "bson"};
    mdf_error error = {0};
    struct mdf_document *document = mdf_document_parse(scarce, format, "file", text, strlen(text), NULL, &error);
    struct mdf_value value = {0};
    bool done = document != NULL;
    size_t i;

    for (i = 0; i < COUNT(formats) && done; i++) {
        struct mdf_text written;

        mdf_text_init(&written, scarce);
        done = mdf_document_write(&document->root, formats[i], &written, &error);
        mdf_text_release(&written);
    }
    done = done && mdf_node_to_value(scarce, &value, &document->root, false, &error);
    mdf_value_clear(scarce, &value);
    mdf_document_free(document);
    cr_assert(done ? error.code == MDF_OK : error.code == MDF_OUT_OF_MEMORY, "%s", error.message);
    cr_assert_eq(atomic_load(&scarce->used_bytes), 0);
    return done;
}

Test(document, any_allocation_may_fail)
{
    static const char json[] =
        "{\"a\": [[1, 2], [3, 4]], \"b\": [[1], [2.5, null]], \"c\": \"x\\u00e9\\u0000\", \"d\": [true, {\"e\": 1e5}],"
        "\"k1\": 1, \"k2\": 2, \"k3\": 3, \"k4\": [1, 2, \"x\"], \"k5\": 5, \"k6\": [\"a\", \"b\"]}";
    static const char yaml[] =
        "a: &a {x: 1, y: [[1, 2], [3, 4]]}\nb: {<<: [*a], z: &s text}\nc: [*a, *s]\nd: !!omap [q: 1, r: 2]\ne: !!pairs [q: 1]\n"
        "&k k: *k\nlong: 0.00000000000000000000000000000000000000000000000000000000000000000000000000001\n";
    static const struct {
        const char *format, *text;
    } cases[] = {{"json", json}, {"yaml", yaml}};
    size_t i, n;

    for (i = 0; i < COUNT(cases); i++) {
        bool done = false;

        for (n = 0; !done; n++) {
            struct counter scarcity = {.fail_at = n + 1};
            mdf_allocator allocator = failing_allocator(&scarcity);
            struct mdf_memory scarce;

            mdf_memory_init(&scarce, &allocator, 0);
            done = run_all(&scarce, cases[i].format, cases[i].text);
        }
        cr_expect_gt(n, 10);
    }
}

/* A shape of a few bytes may ask for any number of empty lists. */
Test(document, arrays_without_elements_are_written_up_to_a_million_lists)
{
    static const char *const formats[] = {"json", "yaml", "bson"};
    static const struct {
        int64_t shape[3];
        bool is_written;
    } cases[] = {{{3, 0, INT64_MAX}, true},
                 {{1 << 10, 1 << 10, 0}, true},
                 {{1 << 10, (1 << 10) + 1, 0}, false},
                 {{INT64_MAX, INT64_MAX, 0}, false},
                 {{0, INT64_MAX, 3}, true}};

    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        int64_t shape[3];
        struct mdf_node array = {.kind = MDF_NODE_NUMBERS, .packed_dtype = MDF_DTYPE_FLOAT64};
        struct mdf_node_entry entry = {.key = "a", .value = array};
        struct mdf_node root = {.kind = MDF_NODE_OBJECT, .as.object = {.entries = &entry, .n = 1}};
        mdf_error error = {0};
        struct mdf_text written;

        memcpy(shape, cases[i / 3].shape, sizeof shape);
        entry.value.as.numbers.rank = 3;
        entry.value.as.numbers.shape = shape;
        mdf_text_init(&written, &memory);
        cr_expect_eq(mdf_document_write(&root, formats[i % 3], &written, &error), cases[i / 3].is_written, "%zu, %s", i,
                     error.message);
        cr_expect_eq(error.code, cases[i / 3].is_written ? MDF_OK : MDF_LIMIT);
        mdf_text_release(&written);
    }
}
