/* test_yaml_outline.c - long runs of numbers in YAML, which libyaml does not see (yaml_outline.h). The oracle is libyaml: a file
 * that has the word that stands for runs is read without an outline, so that each text is read once with the word in a comment
 * and once with another there. Both must give the same tree, positions included, or the same error. */
#include "mdf_c/document/yaml_outline.h"
#include "tests/support/document_notation.h"

TestSuite(yaml_outline, .init = set_up, .fini = tear_down);

/* ------------------------------------------------------------------ two trees */

static bool is_same(const struct mdf_node *a, const struct mdf_node *b)
{
    size_t n = mdf_node_length(a), n_elements = 1, i;
    bool same = a->kind == b->kind && a->line == b->line && a->column == b->column && n == mdf_node_length(b);

    if (!same || a->kind == MDF_NODE_NULL) {
        return same;
    }
    switch (a->kind) {
    case MDF_NODE_BOOL:
        return a->as.truth == b->as.truth;
    case MDF_NODE_INT:
    case MDF_NODE_REAL:
        return memcmp(&a->as, &b->as, 8) == 0 && (a->digits == NULL) == (b->digits == NULL) &&
               (a->digits == NULL || strcmp(a->digits, b->digits) == 0);
    case MDF_NODE_STRING:
        return a->as.string.length == b->as.string.length &&
               memcmp(a->as.string.bytes, b->as.string.bytes, a->as.string.length) == 0;
    case MDF_NODE_NUMBERS:
        for (i = 0; i < a->as.numbers.rank && a->as.numbers.rank == b->as.numbers.rank; i++) {
            same = same && a->as.numbers.shape[i] == b->as.numbers.shape[i];
            n_elements *= (size_t)a->as.numbers.shape[i];
        }
        return same && a->as.numbers.rank == b->as.numbers.rank && a->packed_dtype == b->packed_dtype &&
               memcmp(a->as.numbers.elements, b->as.numbers.elements, n_elements * mdf_dtype_size((mdf_dtype)a->packed_dtype)) ==
                   0;
    default:
        break;
    }
    for (i = 0; i < n && same; i++) {
        if (a->kind == MDF_NODE_LIST) {
            same = is_same(&a->as.list.items[i], &b->as.list.items[i]);
        } else {
            const struct mdf_node_entry *left = &a->as.object.entries[i], *right = &b->as.object.entries[i];

            same = strcmp(left->key, right->key) == 0 && left->line == right->line && left->column == right->column &&
                   is_same(&left->value, &right->value);
        }
    }
    return same;
}

/* Reads a text whose first line is a comment with `word`. */
static struct mdf_document *read_with(const char *word, const char *body, mdf_error *error, char first_warning[2048])
{
    struct mdf_document *document;
    struct mdf_text text;

    warned[0] = '\0';
    mdf_text_init(&text, &memory);
    mdf_text_printf(&text, "# %s\n", word);
    mdf_text_append_string(&text, body);
    document = parse_bytes("yaml", text.bytes, text.length, error);
    mdf_text_release(&text);
    memcpy(first_warning, warned, sizeof warned);
    return document;
}

/* Whether the text could be read. */
static bool check(const char *body)
{
    static char warnings_there[2][2048];
    mdf_error error, expected_error;
    struct mdf_document *document = read_with("~run~of~~~~~~~", body, &error, warnings_there[0]);
    struct mdf_document *expected = read_with(MDF_YAML_RUN_WORD, body, &expected_error, warnings_there[1]);
    bool done = document != NULL;

    cr_assert_eq(done, expected != NULL, "%s\n%s%s", body, error.message, expected_error.message);
    cr_assert_str_eq(warnings_there[0], warnings_there[1]);
    if (done) {
        cr_assert(is_same(&document->root, &expected->root), "%s", body);
    } else {
        cr_assert(error.code == expected_error.code && error.line == expected_error.line &&
                      error.column == expected_error.column && strcmp(error.message, expected_error.message) == 0,
                  "%s\n%d:%d: %s\n%d:%d: %s", body, error.line, error.column, error.message, expected_error.line,
                  expected_error.column, expected_error.message);
    }
    mdf_document_free(document);
    mdf_document_free(expected);
    return done;
}

/* ------------------------------------------------------------------ what is taken for a run */

static void append_many(struct mdf_text *text, const char *item, const char *between, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? between : "");
        mdf_text_append_string(text, item);
    }
}

/* The outline of a text in which each '@' is two thousand times the item, with `between` in between. */
static void check_outline(const char *pattern, const char *item, const char *between, const char *expected)
{
    struct mdf_yaml_outline outline;
    struct mdf_text text;
    const char *c;
    bool made;

    mdf_text_init(&text, &memory);
    for (c = pattern; *c != '\0'; c++) {
        if (*c == '@') {
            append_many(&text, item, between, 2000);
        } else {
            mdf_text_append(&text, c, 1);
        }
    }
    made = mdf_yaml_outline_make(&memory, text.bytes, text.length, &outline);
    cr_expect_eq(made, expected != NULL, "%s of %s", pattern, item);
    if (made && expected != NULL) {
        cr_expect_str_eq(outline.text.bytes, expected);
    }
    mdf_yaml_outline_release(&outline);
    check(text.bytes);
    mdf_text_release(&text);
}

#define W MDF_YAML_RUN_WORD

Test(yaml_outline, runs_that_are_found)
{
    static const struct {
        const char *pattern, *item, *between, *outline;
    } cases[] = {
        {"a: [@]\nb: x\n", "1.5", ", ", "a: [" W "]\nb: x\n"},
        {"a: [@]\nb: x\n", "-12", ",\n   ", "a: [" W "]\nb: x\n"},
        {"a: [ 1.5e-3 , @ ]", "0.25", " , ", "a: [" W "]"},
        {"a: [[@], [@]]", "1.5", ",", "a: [" W "]"},
        {"a: [[@], [1], x]", "1.5", ",", "a: [[" W "], [1], x]"},
        {"a: &a [@]\nb: *a\n", "1.5", ",", "a: &a [" W "]\nb: *a\n"},
        {"{\"a\": [@], \"b\": [@]}", "0.5", ", ", "{\"a\": [" W "], \"b\": [" W "]}"},
        {"a:\n- @\nb: 1\n", "1.5", "\n- ", "a:\n- " W "\nb: 1\n"},
        {"a:\n  - - @\n", "-1", "\n    - ", "a:\n  - - " W "\n"},
        {"a:\n  - @\n", "1", "\n- ", "a:\n  - 1\n- " W "\n"},
        {"a: [@]", "1e5", ", ", NULL},
        {"a: [@]", "012", ", ", NULL},
        {"a: [@]", "1_000", ", ", NULL},
        {"a: [@]", "+1.5", ", ", NULL},
        {"a: [@]", ".5", ", ", NULL},
        {"a: [@]", "1:30", ", ", NULL},
        {"a: [@]", "1.5e10", ", ", NULL},
        {"a: [@]", "1234567890123456789", ", ", NULL},
        {"a: [@]", "1.5", " ", NULL},
        {"a: [@]", "1.5", ",, ", NULL},
        {"a: [@,]", "1.5", ", ", NULL},
        {"a: [@", "1.5", ", ", NULL},
        {"a: [@]", "1.5", ",\t", NULL},
        {"a: [@]", "- 1.5", ", ", NULL},
        {"a: [@] # " W, "1.5", ", ", NULL},
        {"a: [1.5]", "1.5", ", ", NULL},
        {"a:\n- @\n", "1.5 # one", "\n- ", NULL},
        {"a:\n- @\n", "1.5", "\r\n- ", NULL},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        check_outline(cases[i].pattern, cases[i].item, cases[i].between, cases[i].outline);
    }
}

/* ------------------------------------------------------------------ random texts */

static uint64_t random_state = 1;

static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 11) % n);
}

/* `oddity`: one of so many numbers is something else; 0: none. */
static void append_number(struct mdf_text *text, size_t oddity)
{
    static const char *const odd[] = {"1e5",
                                      "012",
                                      "+1",
                                      ".5",
                                      "1_0",
                                      ".inf",
                                      "-.INF",
                                      ".NaN",
                                      "0x1F",
                                      "1:30",
                                      "99999999999999999999",
                                      "1.",
                                      "1.5E3",
                                      "00.5",
                                      "true",
                                      "x",
                                      "'q'",
                                      "2 3",
                                      "",
                                      "- 1",
                                      "-",
                                      "1 ",
                                      "1#2",
                                      "1.5 # c\n  ",
                                      "a: 1",
                                      "&a 1",
                                      "!!str 1",
                                      "[",
                                      "]",
                                      "{x: 1}",
                                      "\t1",
                                      "1\n2",
                                      "---",
                                      "~",
                                      "\xc3\xa9",
                                      "\"[1, 2]\"",
                                      "-0.0",
                                      "-0",
                                      "1234567890123456789"};

    if (oddity > 0 && below(oddity) == 0) {
        mdf_text_append_string(text, odd[below(COUNT(odd))]);
    } else if (below(3) == 0) {
        mdf_text_printf(text, "%d", (int)below(2000) - 1000);
    } else if (below(3) == 0) {
        mdf_text_printf(text, "%.*fe%c%02d", 1 + (int)below(16), (double)below(1000) / 100 - 5, below(2) ? '+' : '-',
                        (int)below(400));
    } else {
        mdf_text_printf(text, "%.*f", 1 + (int)below(18), (double)below(SIZE_MAX) / 1e18 - 8);
    }
}

/* What stands between brackets. */
static void append_items(struct mdf_text *text, size_t depth, size_t oddity)
{
    static const char *const separators[] = {", ", ",", " , ", ",\n    ", "\n, "};
    const char *separator = separators[below(COUNT(separators))];
    size_t n = 1 + below(depth > 0 ? 6 : 40), i;

    mdf_text_append_string(text, below(4) == 0 ? " " : "");
    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? separator : "");
        if (depth > 0) {
            mdf_text_append_string(text, "[");
            append_items(text, depth - 1, oddity);
            mdf_text_append_string(text, "]");
        } else {
            append_number(text, oddity);
        }
    }
    mdf_text_append_string(text, below(4) == 0 ? " " : "");
}

/* Lines of a block list, of lists where `depth`. */
static void append_lines(struct mdf_text *text, size_t indent, size_t depth, size_t oddity)
{
    static const char *const odd[] = {"# c\n", "\n", "   - 1\n", "x\n", "- - 1\n", "-\t1\n", "- 1\r\n", "  and more\n"};
    size_t n = 1 + below(depth > 0 ? 5 : 40), i;

    for (i = 0; i < n; i++) {
        mdf_text_printf(text, "%*s- ", i > 0 ? (int)indent : 0, "");
        if (depth > 0) {
            append_lines(text, indent + 2, depth - 1, oddity);
        } else {
            append_number(text, oddity);
            mdf_text_append_string(text, "\n");
        }
        if (oddity > 0 && below(oddity) == 0) {
            mdf_text_append_string(text, odd[below(COUNT(odd))]);
        }
    }
}

/* In patterns @ is what stands in brackets, % the lines of a block list that is indented by two, $ a number that makes keys
 * differ. The first ones can all stand in one file. */
static const char *const patterns[] = {
    "a$: [@]\n",
    "b$: [@] # [1, 2]\n",
    "\xc3\xa9$: {x: [@], y: [\xc3\xa9, [@], z], w: 1}\n",
    "c$: &c$ [@]\nd$: *c$\n",
    "e$: !!seq [@]\n",
    "f$:\n  %",
    "g$:\n  - x\n  - [@]\n  - y\n",
    "h$:\n  k:\n  %  l: 1\n",
    "i$: [[@], {x: [@]}, [@]]\n",
    /* where a run is none */
    "same: [@]\n",
    "j$: '[@]'\n",
    "k$: \"[@]\"\n",
    "# [@]\n",
    "l$: |\n  [@]\n",
    "m$: |\n  %",
    "n$: >\n  %",
    "o$: x [@]\n",
    "p$: x\n  %",
    "q$: \"x\n  %\"\n",
    "r$: [x\n  %]\n",
    /* errors */
    "? [@]\n: 1\n",
    "[@]: 1\n",
    "s$: {[@]: 1}\n",
    "t$: ![@] x\n",
    "u$: !!omap [@]\n",
    "v$: [@\n",
    "w$: @]\n",
    "x$: [@] y\n",
    "[@]\n",
    "y$:\n  - 1\n %",
    "z$: !!map [@]\n",
    "---\na: [@]\n",
    "A$: [[@], [@,]\n",
    "B$: !!str\n  %",
    "C$: &x\n  %",
    "%FOO [@]\n",
    "*x [@]\n",
    "{C$: [@]}: 1\n",
    "D$: [? [@] : 1]\n",
    "E$: [a: [@], [@]: b]\n",
};

enum { N_SOUND = 9, N_NO_RUNS = 20 };

static void append_pattern(struct mdf_text *text, const char *pattern, size_t place, size_t oddity)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '@') {
            append_items(text, below(3), oddity);
        } else if (*pattern == '%' && pattern[1] != 'F') {
            append_lines(text, 2, below(3), oddity);
        } else if (*pattern == '$') {
            mdf_text_printf(text, "%zu", place);
        } else {
            mdf_text_append(text, pattern, 1);
        }
    }
}

static size_t check_random(size_t n_texts, size_t n_patterns, size_t oddity)
{
    size_t n_read = 0, i, place;

    for (i = 0; i < n_texts; i++) {
        struct mdf_text text;

        mdf_text_init(&text, &memory);
        for (place = 0; text.length < 12000 && place < 200; place++) {
            size_t n = below(8) == 0 ? n_patterns : N_SOUND;

            append_pattern(&text, patterns[below(n)], place, below(4) == 0 ? oddity : 0);
        }
        n_read += check(text.bytes);
        mdf_text_release(&text);
    }
    return n_read;
}

Test(yaml_outline, reads_what_libyaml_reads)
{
    cr_expect_eq(check_random(120, N_SOUND, 0), 120);
}

Test(yaml_outline, what_looks_like_a_run_may_be_none)
{
    cr_expect_gt(check_random(120, N_NO_RUNS, 400), 12);
}

Test(yaml_outline, errors_are_those_of_the_file)
{
    check_random(250, COUNT(patterns), 300);
}

Test(yaml_outline, warnings_come_once)
{
    struct mdf_text text;

    mdf_text_init(&text, &memory);
    mdf_text_append_string(&text, "a: [");
    append_many(&text, "1.5", ", ", 2000);
    mdf_text_append_string(&text, "]\na: 2\n");
    mdf_document_free(parse("yaml", text.bytes));
    cr_expect_eq(n_warnings, 1);
    cr_expect_not_null(strstr(warned, "file:2:1:"), "%s", warned);
    mdf_text_release(&text);
}

/* ------------------------------------------------------------------ memory */

static void *allocate(void *context, size_t size)
{
    size_t *left = context;

    return *left > 0 ? (--*left, malloc(size)) : NULL;
}

static void *reallocate(void *context, void *block, size_t size)
{
    size_t *left = context;

    return *left > 0 ? (--*left, realloc(block, size)) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(yaml_outline, any_allocation_may_fail)
{
    struct mdf_document *document = NULL;
    struct mdf_text text;
    size_t n, left;

    mdf_text_init(&text, &memory);
    append_many(&text, "- [[1.5, -2.5, 1.0e-3, 100.25], [0.5, 0.5, 0.5, 0.5]]", "\n", 200);
    for (n = 0; document == NULL; n++) {
        mdf_allocator allocator = {allocate, reallocate, release, &left};
        struct mdf_memory scarce;
        mdf_error error = {.code = MDF_OK};

        left = n;
        mdf_memory_init(&scarce, &allocator, 0);
        document = mdf_document_parse(&scarce, "yaml", "file", text.bytes, text.length, NULL, &error);
        cr_assert_eq(error.code, document != NULL ? MDF_OK : MDF_OUT_OF_MEMORY);
        if (document != NULL) {
            cr_expect(document->root.kind == MDF_NODE_NUMBERS && document->root.as.numbers.rank == 3);
        }
        mdf_document_free(document);
        cr_assert_eq(atomic_load(&scarce.used_bytes), 0);
    }
    cr_expect_gt(n, 5);
    mdf_text_release(&text);
}
