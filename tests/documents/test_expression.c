/* test_expression.c - texts of expressions and the trees or errors that they give; bounds; random texts; memory that runs out.
 *
 * Expected trees are those of Python's ast module. */
#include "mdf_c/base/text.h"
#include "mdf_c/expression/expression.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------------------------------------------------------------------ trees as text */

/* A tree as a text: (operator operand ...), with what needs to be told apart said by name. */
static void print_tree(struct mdf_text *out, const struct mdf_expression *tree);

static void print_items(struct mdf_text *out, const struct mdf_expression *tree, const char *opening)
{
    mdf_text_append_string(out, opening);
    for (size_t i = 0; i < tree->as.list.n; i++) {
        mdf_text_append_string(out, " ");
        if (tree->kind == MDF_EXPRESSION_CALL && i > 0 && tree->names[i - 1] != NULL) {
            mdf_text_printf(out, "%s=", tree->names[i - 1]);
        }
        print_tree(out, tree->as.list.items[i]);
    }
    mdf_text_append_string(out, ")");
}

static void print_comparison(struct mdf_text *out, const struct mdf_expression *tree)
{
    mdf_text_append_string(out, "(compare");
    for (size_t i = 0; i < tree->as.list.n; i++) {
        mdf_text_printf(out, i == 0 ? " " : " %s ", i == 0 ? "" : tree->names[i - 1]);
        print_tree(out, tree->as.list.items[i]);
    }
    mdf_text_append_string(out, ")");
}

static void print_leaf(struct mdf_text *out, const struct mdf_expression *tree)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    switch (tree->kind) {
    case MDF_EXPRESSION_INT:
        mdf_text_printf(out, "%lld", (long long)tree->as.integer);
        break;
    case MDF_EXPRESSION_REAL:
        mdf_text_append(out, number, mdf_format_float64(tree->as.real, number));
        break;
    case MDF_EXPRESSION_STRING:
        mdf_text_append_string(out, "'");
        mdf_text_append(out, tree->as.text.bytes, tree->as.text.length);
        mdf_text_append_string(out, "'");
        break;
    case MDF_EXPRESSION_TRUE:
        mdf_text_append_string(out, "True");
        break;
    case MDF_EXPRESSION_FALSE:
        mdf_text_append_string(out, "False");
        break;
    case MDF_EXPRESSION_NONE:
        mdf_text_append_string(out, "None");
        break;
    case MDF_EXPRESSION_ELLIPSIS:
        mdf_text_append_string(out, "...");
        break;
    default:
        cr_assert_eq(tree->kind, MDF_EXPRESSION_NAME);
        cr_assert_eq(strlen(tree->as.text.bytes), tree->as.text.length);
        mdf_text_append_string(out, tree->as.text.bytes);
        break;
    }
}

static void print_tree(struct mdf_text *out, const struct mdf_expression *tree)
{
    static const char *const openings[] = {[MDF_EXPRESSION_LIST] = "(list",   [MDF_EXPRESSION_TUPLE] = "(tuple",
                                           [MDF_EXPRESSION_DICT] = "(dict",   [MDF_EXPRESSION_AND] = "(and",
                                           [MDF_EXPRESSION_OR] = "(or",       [MDF_EXPRESSION_CONDITIONAL] = "(if",
                                           [MDF_EXPRESSION_CALL] = "(call",   [MDF_EXPRESSION_SUBSCRIPT] = "(subscript",
                                           [MDF_EXPRESSION_SLICE] = "(slice", [MDF_EXPRESSION_COMPREHENSION] = NULL};

    if (tree == NULL) {
        mdf_text_append_string(out, "-");
    } else if (tree->kind == MDF_EXPRESSION_COMPARE) {
        print_comparison(out, tree);
    } else if (tree->kind == MDF_EXPRESSION_UNARY || tree->kind == MDF_EXPRESSION_BINARY) {
        mdf_text_printf(out, "(%s", tree->name);
        print_items(out, tree, "");
    } else if (tree->kind == MDF_EXPRESSION_ATTRIBUTE) {
        mdf_text_printf(out, "(.%s", tree->name);
        print_items(out, tree, "");
    } else if (tree->kind == MDF_EXPRESSION_COMPREHENSION) {
        mdf_text_printf(out, "(comprehend %s", tree->clauses);
        print_items(out, tree, "");
    } else if (openings[tree->kind] != NULL) {
        print_items(out, tree, openings[tree->kind]);
    } else {
        print_leaf(out, tree);
    }
}

/* ------------------------------------------------------------------ trees */

struct pair {
    const char *text, *expected;
};

static const struct pair trees[] = {
    /* Dicts. */
    {"{}", "(dict)"},
    {"{'a': 1, b: [2,\n 3],}", "(dict 'a' 1 b (list 2 3))"},
    {"a == {}", "(compare a eq (dict))"},
    {"{'a': 1}['a']", "(subscript (dict 'a' 1) 'a')"},
    /* Numbers. */
    {"0", "0"},
    {"0_0", "0"},
    {"1_000", "1000"},
    {"0xfF", "255"},
    {"0X_1f", "31"},
    {"0o17", "15"},
    {"0b101", "5"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9.223372036854776e+18"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"0xffffffffffffffff", "1.8446744073709552e+19"},
    {"0x123456789abcdef0123456789", "9.014404268289631e+28"},
    {"0x20000000000001", "9007199254740993"},
    {"0x20000000000001000000", "1.5111572745182865e+23"},
    {"0x200000000000010000000000001", "4.056481920730335e+31"},
    {"1.", "1.0"},
    {".5", "0.5"},
    {"1.5e-3", "0.0015"},
    {"1_000.5e1_0", "10005000000000.0"},
    {"012.5", "12.5"},
    {"1e400", "Infinity"},
    {"1if x else 2", "(if x 1 2)"},
    {"0x1for y", "(or 31 y)"},
    {"1..real", "(.real 1.0)"},
    /* Strings. */
    {"'a' \"b\" r'\\n'", "'ab\\n'"},
    {"'\\n\\t\\\\\\'\\\"\\a\\b\\f\\v\\r'", "'\n\t\\'\"\a\b\f\v\r'"},
    {"'\\101\\x42\\u00e9\\U0001F600\\7z'", "'AB\u00e9\U0001F600\az'"},
    {"'\\q\\\u00e9'", "'\\q\\\u00e9'"},
    {"'a\\\nb'", "'ab'"},
    {"u'\u00e9'", "'\u00e9'"},
    {"r'\\''", "'\\''"},
    {"('a'\n'b')", "'ab'"},
    {"''", "''"},
    /* Names and constants. */
    {"True", "True"},
    {"Truly", "Truly"},
    {"None", "None"},
    {"\u03b1_2", "\u03b1_2"},
    {"match", "match"},
    {"...", "..."},
    /* Precedence. */
    {"1 + 2 * 3", "(add 1 (mul 2 3))"},
    {"1 - 2 - 3", "(sub (sub 1 2) 3)"},
    {"(1 + 2) * 3", "(mul (add 1 2) 3)"},
    {"a / b // c % d @ e", "(matmul (mod (floordiv (truediv a b) c) d) e)"},
    {"a | b ^ c & d << e + f", "(or_ a (xor b (and_ c (lshift d (add e f)))))"},
    {"a >> b >> c", "(rshift (rshift a b) c)"},
    {"-2 ** 2", "(neg (pow 2 2))"},
    {"2 ** -1", "(pow 2 (neg 1))"},
    {"2 ** 3 ** 4", "(pow 2 (pow 3 4))"},
    {"-a.b", "(neg (.b a))"},
    {"~+-x", "(invert (pos (neg x)))"},
    {"not a == b", "(not_ (compare a eq b))"},
    {"not a and b or c and not d", "(or (and (not_ a) b) (and c (not_ d)))"},
    {"a or b or c", "(or a b c)"},
    {"(a or b) or c", "(or (or a b) c)"},
    {"a < b <= c > d >= e == f != g", "(compare a lt b le c gt d ge e eq f ne g)"},
    {"a in b not in c is d is not e", "(compare a contains b not_contains c is_ d is_not e)"},
    {"a is (not b)", "(compare a is_ (not_ b))"},
    {"a < b | c", "(compare a lt (or_ b c))"},
    {"a if b else c if d else e", "(if b a (if d c e))"},
    {"a or b if c and d else not e", "(if (and c d) (or a b) (not_ e))"},
    /* Lists, tuples, white space. */
    {"[]", "(list)"},
    {"[1, 2,]", "(list 1 2)"},
    {"()", "(tuple)"},
    {"(1)", "1"},
    {"(1,)", "(tuple 1)"},
    {"1,", "(tuple 1)"},
    {"1, 2", "(tuple 1 2)"},
    {"(1, (2, 3))", "(tuple 1 (tuple 2 3))"},
    {" \t\n a \\\n + b # sum\n\n", "(add a b)"},
    {"[1, # one\n\n 2\r\n]", "(list 1 2)"},
    /* Calls, attributes, subscripts. */
    {"f()", "(call f)"},
    {"f(1, b=2, c=d == e,)", "(call f 1 b=2 c=(compare d eq e))"},
    {"numpy.linalg.norm(x)[0].T", "(.T (subscript (call (.norm (.linalg numpy)) x) 0))"},
    {"f(x)(y)", "(call (call f x) y)"},
    {"f((1, 2))", "(call f (tuple 1 2))"},
    {"a[1]", "(subscript a 1)"},
    {"a[1,]", "(subscript a (tuple 1))"},
    {"a[(1, 2)]", "(subscript a (tuple 1 2))"},
    {"a[:]", "(subscript a (slice - - -))"},
    {"a[::]", "(subscript a (slice - - -))"},
    {"a[1:]", "(subscript a (slice 1 - -))"},
    {"a[:-1]", "(subscript a (slice - (neg 1) -))"},
    {"a[::2]", "(subscript a (slice - - 2))"},
    {"a[1:2:3, ..., None, b > 0]", "(subscript a (tuple (slice 1 2 3) ... None (compare b gt 0)))"},
    {"a[b if c else d:e]", "(subscript a (slice (if c b d) e -))"},
    {"'s'[0]", "(subscript 's' 0)"},
    {"[1, 2][0]", "(subscript (list 1 2) 0)"},
    /* Comprehensions. */
    {"[x for x in y]", "(comprehend f x x y)"},
    {"[x * z for x in y if x if z for z in x]", "(comprehend fiif (mul x z) x y x z z x)"},
    {"(x for x in y)", "(comprehend f x x y)"},
    {"sum(x for x in y)", "(call sum (comprehend f x x y))"},
    {"f(1, (x for x in y))", "(call f 1 (comprehend f x x y))"},
    {"[a for a, b in c]", "(comprehend f a (tuple a b) c)"},
    {"[a for (a, b) in c]", "(comprehend f a (tuple a b) c)"},
    {"[a for [a] in c]", "(comprehend f a (tuple a) c)"},
    {"[a for a, in c]", "(comprehend f a (tuple a) c)"},
    {"[a for (a) in c]", "(comprehend f a a c)"},
    {"[[x for x in y] for y in z]", "(comprehend f (comprehend f x x y) y z)"},
    {"[x if a else b for x in y or z]", "(comprehend f (if a x b) x (or y z))"},
};

static void check_tree(const char *text, const char *expected)
{
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct mdf_text printed;
    mdf_error error = {0};
    size_t offset = 0;
    struct mdf_expression *tree;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    mdf_text_init(&printed, &memory);
    tree = mdf_expression_parse(&arena, text, &offset, &error);
    cr_assert_not_null(tree, "%s", error.message);
    cr_assert_eq(error.code, MDF_OK);
    print_tree(&printed, tree);
    cr_expect_str_eq(printed.bytes, expected, "'%s': '%s' instead of '%s'", text, printed.bytes, expected);
    mdf_text_release(&printed);
    mdf_arena_release(&arena);
    cr_assert_eq(atomic_load(&memory.used_bytes), 0);
}

Test(expression, trees)
{
    for (size_t i = 0; i < COUNT(trees); i++) {
        check_tree(trees[i].text, trees[i].expected);
    }
}

Test(expression, a_string_may_contain_zeros)
{
    struct mdf_memory memory;
    struct mdf_arena arena;
    size_t offset;
    struct mdf_expression *tree;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    tree = mdf_expression_parse(&arena, "'a\\0' '\\x00b'", &offset, NULL);
    cr_assert_not_null(tree);
    cr_expect_eq(tree->as.text.length, 4);
    cr_expect_arr_eq(tree->as.text.bytes, "a\0\0b", 4);
    mdf_arena_release(&arena);
}

Test(expression, nodes_know_their_place)
{
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {{" a", 1},        {" - a", 1},         {"a + b", 2},           {"(a) < b < c", 4}, {" a if b else c", 1},
                 {"a.b(c)[0]", 0}, {" a and not b", 1}, {" [x for x in y]", 1}, {" (a, b)", 1},     {" a, b", 1}};
    struct mdf_memory memory;
    struct mdf_arena arena;
    size_t i, ignored;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    for (i = 0; i < COUNT(cases); i++) {
        struct mdf_expression *tree = mdf_expression_parse(&arena, cases[i].text, &ignored, NULL);

        cr_assert_not_null(tree);
        cr_expect_eq(tree->offset, cases[i].offset, "'%s': %zu", cases[i].text, tree->offset);
    }
    mdf_arena_release(&arena);
}

/* ------------------------------------------------------------------ errors */

static const struct pair errors[] = {
    {"1 + * 2", "expression '1 + * 2': unexpected '*' at column 5"},
    {"", "expression '': the expression is empty at column 1"},
    {" # nothing", "expression ' # nothing': the expression is empty at column 11"},
    {"1 +", "expression '1 +': a value is missing: unexpected end at column 4"},
    {"a b", "expression 'a b': unexpected 'b', expected an operator, as '*', before it at column 3"},
    {"a 'b'", "expression 'a 'b'': unexpected string at column 3"},
    {"\u03b1 + ?", "expression '\u03b1 + ?': unexpected '?' at column 5; write 'A if CONDITION else B'"},
    {"a \u2212 b", "expression 'a \u2212 b': unexpected '\u2212' at column 3; the minus sign is '-'"},
    {"a\xff", "expression 'a\\xff': a byte that is not UTF-8 at column 2"},
    {"a\x01", "expression 'a ': unexpected control character at column 2"},
    {"a\nb", "expression 'a b': unexpected line break outside brackets at column 2"},
    {"111111111111111111111111111111 + 2222222222222222222222 + b c + 333333333333333333333",
     "expression '...11111 + 2222222222222222222222 + b c + 333333333333333333333': unexpected 'c', expected an operator, as '*', before it at column 61"},
    {"a and and bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
     "expression 'a and and bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...': unexpected 'and' at column 7"},
    /* Brackets. */
    {"(1", "expression '(1': '(' is not closed at column 1"},
    {"a + [1, 2", "expression 'a + [1, 2': '[' is not closed at column 5"},
    {"f(a, b=1", "expression 'f(a, b=1': '(' is not closed at column 2"},
    {"f(", "expression 'f(': '(' is not closed at column 2"},
    {"a[1:", "expression 'a[1:': a value is missing: unexpected end at column 5"},
    {"[1, 2)", "expression '[1, 2)': unexpected ')', expected ',' or ']' at column 6"},
    {"1)", "expression '1)': unexpected ')' at column 2"},
    {"(,)", "expression '(,)': unexpected ',' at column 2"},
    {"[1,,2]", "expression '[1,,2]': unexpected ',' at column 4"},
    {"a[]", "expression 'a[]': unexpected ']' at column 3"},
    {"a[1:2:3:4]", "expression 'a[1:2:3:4]': unexpected ':', expected ',' or ']' at column 8"},
    /* Numbers. */
    {"1__0", "expression '1__0': an underscore in a number must stand between digits at column 2"},
    {"1_", "expression '1_': an underscore in a number must stand between digits at column 2"},
    {"1_.5", "expression '1_.5': an underscore in a number must stand between digits at column 2"},
    {"1._5", "expression '1._5': an underscore in a number must stand between digits at column 3"},
    {"1e", "expression '1e': the exponent of a number has no digits at column 3"},
    {"1e+", "expression '1e+': the exponent of a number has no digits at column 4"},
    {"0x", "expression '0x': a number has no digits at column 3"},
    {"0b2", "expression '0b2': a number has no digits at column 3"},
    {"0b12", "expression '0b12': unexpected '2' directly after a number at column 4"},
    {"012", "expression '012': a whole number may not begin with 0; octal numbers begin with 0o at column 1"},
    {"2 * 1.5j", "expression '2 * 1.5j': a complex number is not supported in an expression at column 5"},
    {"2x", "expression '2x': unexpected 'x' directly after a number, without an operator such as '*' at column 2"},
    /* Strings. */
    {"'abc", "expression ''abc': a string is not closed at column 1"},
    {"'abc\\", "expression ''abc\\': a string is not closed at column 1"},
    {"'a\nb'", "expression ''a b'': a string is not closed at column 1"},
    {"'\\xg0'", "expression ''\\xg0'': the escape '\\x' needs 2 hexadecimal digits at column 2"},
    {"'\\u12'", "expression ''\\u12'': the escape '\\u' needs 4 hexadecimal digits at column 2"},
    {"'\\ud800'", "expression ''\\ud800'': an escape is not the code of a character at column 2"},
    {"'\\U00110000'", "expression ''\\U00110000'': an escape is not the code of a character at column 2"},
    {"'\\N{DASH}'", "expression ''\\N{DASH}'': the escape '\\N' is not supported at column 2"},
    {"f'{a}'", "expression 'f'{a}'': an f-string (f'...') is not supported in an expression at column 1"},
    {"Rb''", "expression 'Rb''': a byte string (b'...') is not supported in an expression at column 1"},
    {"ur''", "expression 'ur''': unexpected 'ur' before a string at column 1"},
    {"'''a'''", "expression ''''a'''': a string in triple quotes is not supported in an expression at column 1"},
    /* What an expression has not. */
    {"lambda x: x", "expression 'lambda x: x': 'lambda' is not supported in an expression at column 1"},
    {"f(await x)", "expression 'f(await x)': 'await' is not supported in an expression at column 3"},
    {"(yield)", "expression '(yield)': 'yield' is not supported in an expression at column 2"},
    {"import os", "expression 'import os': 'import' is not supported in an expression at column 1"},
    {"del x", "expression 'del x': 'del' is not supported in an expression at column 1"},
    {"[x async for x in y]", "expression '[x async for x in y]': 'async' is not supported in an expression at column 4"},
    {"a = 3", "expression 'a = 3': an assignment with '=' is not supported in an expression at column 3; '==' compares"},
    {"a += 3", "expression 'a += 3': '+=' is not supported in an expression at column 3"},
    {"(a := 3)", "expression '(a := 3)': ':=' is not supported in an expression at column 4"},
    {"{1, 2}", "expression '{1, 2}': a set in '{' is not supported in an expression at column 1"},
    {"a + {x for x in y}", "expression 'a + {x for x in y}': a set in '{' is not supported in an expression at column 5"},
    {"{a: 1", "expression '{a: 1': '{' is not closed at column 1"},
    {"{a 1}", "expression '{a 1}': unexpected '1', expected ':' at column 4"},
    {"{a: 1 b}", "expression '{a: 1 b}': unexpected 'b', expected ',' or '}' at column 7"},
    {"{k: v for k, v in y}", "expression '{k: v for k, v in y}': unexpected 'for', expected ',' or '}' at column 7"},
    {"*a, b", "expression '*a, b': unpacking with '*' is not supported in an expression at column 1"},
    {"f(*a)", "expression 'f(*a)': unpacking with '*' is not supported in an expression at column 3"},
    {"f(a=1, **b)", "expression 'f(a=1, **b)': unpacking with '**' is not supported in an expression at column 8"},
    {"a; b", "expression 'a; b': unexpected ';' at column 2; an expression is one value"},
    {"a && b", "expression 'a && b': unexpected '&' at column 4; write 'and'"},
    {"!a", "expression '!a': unexpected '!' at column 1; write 'not'"},
    /* Keywords and arguments. */
    {"a.for", "expression 'a.for': unexpected 'for', expected a name behind '.' at column 3"},
    {"a.1", "expression 'a.1': unexpected '.1' at column 2"},
    {"if + 1", "expression 'if + 1': unexpected 'if' at column 1; write 'A if CONDITION else B'"},
    {"a == not b", "expression 'a == not b': unexpected 'not' at column 6"},
    {"a not b", "expression 'a not b': unexpected 'b', expected 'in' at column 7"},
    {"a if b", "expression 'a if b': unexpected end, expected 'else' at column 7"},
    {"f(a=1, a=2)", "expression 'f(a=1, a=2)': argument 'a' is repeated at column 8"},
    {"f(a=1, 2)", "expression 'f(a=1, 2)': a positional argument follows a keyword argument at column 8"},
    {"f(True=1)", "expression 'f(True=1)': unexpected 'True', expected the name of an argument at column 3"},
    {"f(a.b=1)", "expression 'f(a.b=1)': an assignment with '=' is not supported in an expression at column 6; '==' compares"},
    {"f(1 2)", "expression 'f(1 2)': unexpected '2', expected ',' or ')' at column 5"},
    /* Comprehensions. */
    {"f(x for x in y, 1)",
     "expression 'f(x for x in y, 1)': a generator that is not the only argument needs parentheses at column 3"},
    {"f(1, x for x in y)",
     "expression 'f(1, x for x in y)': a generator that is not the only argument needs parentheses at column 6"},
    {"[x, y for x in z]", "expression '[x, y for x in z]': unexpected 'for', expected ',' or ']' at column 7"},
    {"[x for x in y, 1]", "expression '[x for x in y, 1]': unexpected ',', expected ']' at column 14"},
    {"[x for x.a in y]", "expression '[x for x.a in y]': unexpected '.', expected 'in' at column 9"},
    {"[x for 1 in y]", "expression '[x for 1 in y]': unexpected '1', expected a name; the target of 'for' is a name or a list of "
                       "names at column 8"},
    {"[x for a, (b, c) in y]", "expression '[x for a, (b, c) in y]': unexpected '(', expected a name; the target of 'for' is a "
                               "name or a list of names at column 11"},
    {"[x for x in a if b else c]", "expression '[x for x in a if b else c]': unexpected 'else', expected ']' at column 20"},
};

static void check_error(const char *text, const char *expected)
{
    struct mdf_memory memory;
    struct mdf_arena arena;
    mdf_error error = {0};
    size_t offset = SIZE_MAX;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    cr_assert_null(mdf_expression_parse(&arena, text, &offset, &error), "'%s' is no error", text);
    cr_expect_eq(error.code, MDF_EXPRESSION);
    cr_expect_str_eq(error.message, expected, "'%s' instead of '%s'", error.message, expected);
    cr_expect_leq(offset, strlen(text));
    mdf_arena_release(&arena);
    cr_assert_eq(atomic_load(&memory.used_bytes), 0);
}

Test(expression, errors)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        check_error(errors[i].text, errors[i].expected);
    }
}

/* ------------------------------------------------------------------ bounds */

/* A text of repeated pieces: before...before middle after...after. */
struct repeated {
    const char *before, *middle, *after;
    size_t most; /* repetitions that are allowed; 0: any number */
};

static bool parses(const struct repeated *repeated, size_t n)
{
    size_t before = strlen(repeated->before), middle = strlen(repeated->middle), after = strlen(repeated->after), i, offset;
    char *text = malloc(n * (before + after) + middle + 1), *end = text;
    struct mdf_memory memory;
    struct mdf_arena arena;
    mdf_error error = {0};
    bool parsed;

    cr_assert_not_null(text);
    for (i = 0; i < n; i++, end += before) {
        memcpy(end, repeated->before, before);
    }
    memcpy(end, repeated->middle, middle);
    end += middle;
    for (i = 0; i < n; i++, end += after) {
        memcpy(end, repeated->after, after);
    }
    *end = '\0';
    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    parsed = mdf_expression_parse(&arena, text, &offset, &error) != NULL;
    cr_assert(parsed || strstr(error.message, "more than") != NULL, "%s", error.message);
    cr_assert_lt(atomic_load(&memory.peak_bytes), 10000 + 1000 * strlen(text));
    mdf_arena_release(&arena);
    free(text);
    return parsed;
}

Test(expression, bounds)
{
    enum { DEPTH = MDF_EXPRESSION_MAX_DEPTH, CHAIN = MDF_EXPRESSION_MAX_CHAIN, MANY = 100000 };
    static const struct repeated cases[] = {
        {"(", "1", ")", DEPTH},
        {"[", "", "]", DEPTH},
        {"f(", "", ")", DEPTH},
        {"a[", "1", "]", DEPTH},
        {"(1, ", "2", ")", DEPTH},
        {"-", "1", "", DEPTH},
        {"not ", "a", "", DEPTH},
        {"", "1", "**1", DEPTH},
        {"", "1", " if a else 1", DEPTH},
        {"[", "a", " for a in b]", DEPTH},
        {"", "1", "+1", CHAIN},
        {"", "1", "*2", CHAIN},
        {"", "a", "[0]", CHAIN / MDF_EXPRESSION_POSTFIX_WEIGHT},
        {"", "a", ".b", CHAIN / MDF_EXPRESSION_POSTFIX_WEIGHT},
        {"", "a", "()", CHAIN / MDF_EXPRESSION_POSTFIX_WEIGHT},
        {"", "1", " or 1", 0},
        {"", "1", " < 1", 0},
        {"", "1", ", 1", 0},
        {"", "''", " 'a'", 0},
    };

    for (size_t i = 0; i < COUNT(cases) - 4; i++) {
        cr_expect(parses(&cases[i], cases[i].most), "%s%s", cases[i].before, cases[i].after);
        cr_expect_not(parses(&cases[i], cases[i].most + 1), "%s%s", cases[i].before, cases[i].after);
        cr_expect_not(parses(&cases[i], MANY), "%s%s", cases[i].before, cases[i].after);
    }
    for (size_t i = COUNT(cases) - 4; i < COUNT(cases); i++) {
        cr_expect(parses(&cases[i], MANY), "%s%s", cases[i].before, cases[i].after);
    }
}

/* Chains within brackets add up: the whole tree is bounded, not each chain. */
Test(expression, height_is_bounded_across_brackets)
{
    static const struct repeated sums = {"(", "1", "+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1)", 100};
    static const struct repeated clauses = {"[", "a", " for a in b if a if a if a if a if a if a if a if a if a]", 181};

    cr_expect(parses(&sums, sums.most));
    cr_expect_not(parses(&sums, sums.most + 1));
    cr_expect(parses(&clauses, clauses.most));
    cr_expect_not(parses(&clauses, clauses.most + 1));
}

/* ------------------------------------------------------------------ random texts, memory that runs out */

struct failing_allocator {
    size_t n_left; /* allocations that still succeed */
};

static void *allocate(void *context, size_t size_bytes)
{
    struct failing_allocator *failing = context;

    return failing->n_left > 0 ? (failing->n_left--, malloc(size_bytes)) : NULL;
}

static void *reallocate(void *context, void *block, size_t size_bytes)
{
    struct failing_allocator *failing = context;

    return failing->n_left > 0 ? (failing->n_left--, realloc(block, size_bytes)) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

/* Parses with `n` allocations; the code of the error. */
static mdf_status parse_with(size_t n, const char *text)
{
    struct failing_allocator failing = {n};
    mdf_allocator allocator = {allocate, reallocate, release, &failing};
    struct mdf_memory memory;
    struct mdf_arena arena;
    mdf_error error = {0};
    size_t offset = 0;
    struct mdf_expression *tree;

    mdf_memory_init(&memory, &allocator, 0);
    mdf_arena_init(&arena, &memory);
    tree = mdf_expression_parse(&arena, text, &offset, &error);
    cr_assert_eq(tree != NULL, error.code == MDF_OK, "%s", text);
    cr_assert_leq(offset, strlen(text));
    mdf_arena_release(&arena);
    cr_assert_eq(atomic_load(&memory.used_bytes), 0);
    return error.code;
}

/* As many words as fill several chunks of an arena, so that there is more than one allocation to fail. */
Test(expression, random_words_and_failing_allocations)
{
    static const char *const words[] = {
        "a",  "b",    "1",      "2.5",    ".",    ",",     ":",    ";",   "=",   "==",  ":=",     "(",        ")",
        "[",  "]",    "{",      "}",      "+",    "-",     "*",    "**",  "/",   "//",  "@",      "%",        "&",
        "|",  "^",    "~",      "<",      ">",    "<=",    "!=",   "<<",  "in",  "is",  "not",    "and",      "or",
        "if", "else", "for",    "True",   "...",  "'s'",   "\"",   "f''", "0x1", "1_0", "lambda", "None",     "\\",
        "\n", "#",    "\u03b1", "\u2212", "\xff", "'\\x'", "'\\u", "1e",  "f(",  "a[",  "sum(",   "for a in",
    };
    char text[4000];
    unsigned long long state = 1;
    size_t round, n;

    for (round = 0; round < 20000; round++) {
        size_t n_words = round % 100 == 0 ? 400 : 1 + round % 9, length = 0, i;

        for (i = 0; i < n_words; i++) {
            const char *word;

            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            word = words[(state >> 33) % COUNT(words)];
            memcpy(text + length, word, strlen(word));
            length += strlen(word);
            if (state >> 62 != 0) {
                text[length++] = ' ';
            }
        }
        text[length] = '\0';
        for (n = 0; parse_with(n, text) == MDF_OUT_OF_MEMORY; n++) {
        }
    }
}

Test(expression, any_allocation_may_fail)
{
    static const char piece[] = "f(a + 1, b=[x * 2 for x, y in z if x < y <= 3], c='s' 'x' r'y')[0x10, 1:2:3, ...].m(-a ** 2 if "
                                "a and b or c else (1, 2)), ";
    enum { PIECES = 400 };
    char *text = malloc(PIECES * strlen(piece) + 1);
    size_t n;

    cr_assert_not_null(text);
    for (n = 0; n < PIECES; n++) {
        memcpy(text + n * strlen(piece), piece, strlen(piece) + 1);
    }
    for (n = 0; parse_with(n, text) == MDF_OUT_OF_MEMORY; n++) {
    }
    cr_expect_gt(n, 5);
    cr_expect_eq(parse_with(n, text), MDF_OK);
    free(text);
}
