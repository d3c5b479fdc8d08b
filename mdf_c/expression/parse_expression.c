/* parse_expression.c - Python's expression grammar by recursive descent.
 *
 * Comes in: the tokens of a text. Goes out: the tree of expression.h. Holds afterwards: no path from the root to a leaf has more
 * than MDF_EXPRESSION_MAX_CHAIN nodes, so that what follows may recurse into the tree. A function that fails returns NULL and has
 * set the error. Source: the Python language reference, "Expressions" and "Full grammar specification". */
#include "mdf_c/expression/expression_nodes.h"

#include <string.h>

/* The bound keeps the search for repeated ones short. */
enum { MOST_KEYWORD_ARGUMENTS = 255 };

struct parser {
    struct mdf_scanner scanner;
    size_t depth; /* nested brackets and operators around the current token */
};

static struct mdf_expression *parse_expression(struct parser *parser);
static struct mdf_expression *parse_or(struct parser *parser);
static struct mdf_expression *parse_unary(struct parser *parser);

/* ------------------------------------------------------------------ tokens and errors */

static bool at(const struct parser *parser, const char *word)
{
    return mdf_scanner_at(&parser->scanner, word);
}

static bool skip(struct parser *parser, const char *word)
{
    return mdf_scanner_skip(&parser->scanner, word);
}

static size_t offset_of(const struct parser *parser)
{
    return parser->scanner.token.offset;
}

/* Fails because of the current token. */
static struct mdf_expression *refuse_token(struct parser *parser, const char *expected)
{
    mdf_scanner_unexpected(&parser->scanner, expected);
    return NULL;
}

static bool expect(struct parser *parser, const char *word, const char *expected)
{
    if (!skip(parser, word)) {
        refuse_token(parser, expected);
    }
    return !parser->scanner.failed;
}

/* Ends what the bracket at `opening` began. */
static bool close_bracket(struct parser *parser, const char *bracket, size_t opening, const char *expected)
{
    if (parser->scanner.token.kind == MDF_TOKEN_END) {
        mdf_scanner_fail(&parser->scanner, opening, "'%c' is not closed", parser->scanner.text[opening]);
    }
    return expect(parser, bracket, expected);
}

/* Goes one level deeper; every way in which the grammar recurs passes here. */
static bool enter(struct parser *parser)
{
    if (parser->depth >= MDF_EXPRESSION_MAX_DEPTH) {
        mdf_scanner_fail(&parser->scanner, offset_of(parser), "more than %d brackets and operators within each other",
                         MDF_EXPRESSION_MAX_DEPTH);
        return false;
    }
    parser->depth++;
    return true;
}

static void leave(struct parser *parser)
{
    parser->depth--;
}

/* ------------------------------------------------------------------ nodes */

static struct mdf_expression *make(struct parser *parser, enum mdf_expression_kind kind, size_t offset)
{
    return mdf_expression_make(&parser->scanner, kind, offset);
}

static bool add(struct parser *parser, struct mdf_expression *node, struct mdf_expression *item)
{
    return mdf_expression_add(&parser->scanner, node, item);
}

static char *copy_name(struct parser *parser)
{
    const struct mdf_token *token = &parser->scanner.token;
    char *name = mdf_arena_text(parser->scanner.arena, parser->scanner.text + token->offset, token->length);

    if (name == NULL) {
        mdf_scanner_out_of_memory(&parser->scanner);
    }
    return name;
}

/* ------------------------------------------------------------------ comprehensions */

static struct mdf_expression *parse_name(struct parser *parser)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_NAME, offset_of(parser));

    if (node == NULL) {
        return NULL;
    }
    node->as.text.length = parser->scanner.token.length;
    node->as.text.bytes = copy_name(parser);
    mdf_scanner_advance(&parser->scanner);
    return node->as.text.bytes == NULL ? NULL : node;
}

static struct mdf_expression *parse_target_name(struct parser *parser)
{
    if (parser->scanner.token.kind != MDF_TOKEN_NAME) {
        return refuse_token(parser, "a name; the target of 'for' is a name or a list of names");
    }
    return parse_name(parser);
}

/* What stands between "for" and "in": a name, or names with commas between them, in brackets or not. */
static struct mdf_expression *parse_target(struct parser *parser)
{
    size_t opening = offset_of(parser);
    const char *end = skip(parser, "(") ? ")" : skip(parser, "[") ? "]" : "in";
    struct mdf_expression *name = parse_target_name(parser), *tuple;

    if (name == NULL) {
        return NULL;
    }
    if (at(parser, ",") || *end == ']') {
        tuple = make(parser, MDF_EXPRESSION_TUPLE, opening);
        if (!add(parser, tuple, name)) {
            return NULL;
        }
        while (skip(parser, ",") && !at(parser, end)) {
            if (!add(parser, tuple, parse_target_name(parser))) {
                return NULL;
            }
        }
        name = tuple;
    }
    if (*end != 'i' && !close_bracket(parser, end, opening, "',' or the end of the names")) {
        return NULL;
    }
    return parser->scanner.failed ? NULL : name;
}

static bool parse_for(struct parser *parser, struct mdf_expression *node)
{
    return add(parser, node, parse_target(parser)) && expect(parser, "in", "'in'") && add(parser, node, parse_or(parser));
}

/* The clauses behind `element`. Each one counts as a node on the way down: the loops stand within each other. */
static struct mdf_expression *parse_comprehension(struct parser *parser, size_t offset, struct mdf_expression *element)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_COMPREHENSION, offset);
    char *clauses = NULL;
    size_t n;

    if (!add(parser, node, element)) {
        return NULL;
    }
    for (n = 0; at(parser, "for") || at(parser, "if"); n++) {
        char kind = at(parser, "for") ? 'f' : 'i';

        clauses = mdf_expression_grow(&parser->scanner, clauses, n, sizeof *clauses);
        if (clauses == NULL) {
            return NULL;
        }
        clauses[n] = kind;
        mdf_scanner_advance(&parser->scanner);
        if (!(kind == 'f' ? parse_for(parser, node) : add(parser, node, parse_or(parser)))) {
            return NULL;
        }
    }
    node->clauses = mdf_arena_text(parser->scanner.arena, clauses, n);
    if (node->clauses == NULL) {
        mdf_scanner_out_of_memory(&parser->scanner);
        return NULL;
    }
    return mdf_expression_deepen(&parser->scanner, node, n) ? node : NULL;
}

/* ------------------------------------------------------------------ literals, lists, tuples */

/* An expression where a list of them stands: there Python also has *a and a := b. */
static struct mdf_expression *parse_item(struct parser *parser)
{
    struct mdf_expression *item;

    if (at(parser, "*") || at(parser, "**")) {
        mdf_scanner_fail(&parser->scanner, offset_of(parser), "unpacking with '%s' is not supported in an expression",
                         at(parser, "*") ? "*" : "**");
        return NULL;
    }
    item = parse_expression(parser);
    return item != NULL && at(parser, ":=") ? refuse_token(parser, NULL) : item;
}

static struct mdf_expression *parse_one_string(struct parser *parser)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_STRING, offset_of(parser));

    if (node != NULL) {
        node->as.text.bytes = parser->scanner.token.as.text.bytes;
        node->as.text.length = parser->scanner.token.as.text.length;
        mdf_scanner_advance(&parser->scanner);
    }
    return node;
}

/* Strings that stand side by side are one. All are gathered first, so that many of them take linear time. */
static struct mdf_expression *parse_string(struct parser *parser)
{
    struct mdf_expression *node = parse_one_string(parser), *pieces;
    size_t i, length;
    char *bytes;

    if (parser->scanner.token.kind != MDF_TOKEN_STRING) {
        return node;
    }
    pieces = make(parser, MDF_EXPRESSION_LIST, 0);
    if (!add(parser, pieces, node)) {
        return NULL;
    }
    length = node->as.text.length;
    while (parser->scanner.token.kind == MDF_TOKEN_STRING) {
        length += parser->scanner.token.as.text.length;
        if (!add(parser, pieces, parse_one_string(parser))) {
            return NULL;
        }
    }
    bytes = mdf_arena_allocate(parser->scanner.arena, length + 1);
    if (bytes == NULL) {
        mdf_scanner_out_of_memory(&parser->scanner);
        return NULL;
    }
    for (i = 0, length = 0; i < pieces->as.list.n; i++) {
        const struct mdf_expression *piece = pieces->as.list.items[i];

        memcpy(bytes + length, piece->as.text.bytes, piece->as.text.length);
        length += piece->as.text.length;
    }
    node->as.text.bytes = bytes;
    node->as.text.length = length;
    return node;
}

/* The items behind the first one up to the closing bracket. */
static bool parse_more_items(struct parser *parser, struct mdf_expression *node, const char *bracket, size_t opening)
{
    const char *expected = *bracket == ')' ? "',' or ')'" : "',' or ']'";

    while (skip(parser, ",") && !at(parser, bracket)) {
        if (!add(parser, node, parse_item(parser))) {
            return false;
        }
    }
    return close_bracket(parser, bracket, opening, expected);
}

static struct mdf_expression *finish_bracketed(struct parser *parser, size_t opening, bool round)
{
    struct mdf_expression *node = make(parser, round ? MDF_EXPRESSION_TUPLE : MDF_EXPRESSION_LIST, opening), *first;
    const char *bracket = round ? ")" : "]", *expected = round ? "',' or ')'" : "',' or ']'";

    if (node == NULL) {
        return NULL;
    }
    if (skip(parser, bracket)) {
        return node;
    }
    first = parse_item(parser);
    if (first == NULL) {
        return NULL;
    }
    if (at(parser, "for")) {
        node = parse_comprehension(parser, opening, first);
        return node != NULL && close_bracket(parser, bracket, opening, *bracket == ')' ? "')'" : "']'") ? node : NULL;
    }
    if (round && !at(parser, ",")) {
        return close_bracket(parser, bracket, opening, expected) ? first : NULL;
    }
    return add(parser, node, first) && parse_more_items(parser, node, bracket, opening) ? node : NULL;
}

/* The entries of a dict up to the closing brace, each a key and a value. */
static struct mdf_expression *finish_dict(struct parser *parser, size_t opening)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_DICT, opening);

    while (!at(parser, "}")) {
        if (!add(parser, node, parse_item(parser))) {
            return NULL;
        }
        if (at(parser, ",") || at(parser, "}") || at(parser, "for")) {
            mdf_scanner_fail(&parser->scanner, opening, "a set in '{' is not supported in an expression");
        }
        if (!expect(parser, ":", "':'") || !add(parser, node, parse_expression(parser)) || !skip(parser, ",")) {
            break;
        }
    }
    return close_bracket(parser, "}", opening, "',' or '}'") ? node : NULL;
}

/* From an opening bracket: a list, a tuple, a comprehension, a dict, or an expression in parentheses. */
static struct mdf_expression *parse_bracketed(struct parser *parser)
{
    size_t opening = offset_of(parser);
    struct mdf_expression *node;

    if (!enter(parser)) {
        return NULL;
    }
    node = skip(parser, "(")           ? finish_bracketed(parser, opening, true)
           : skip(parser, "{")         ? finish_dict(parser, opening)
           : expect(parser, "[", NULL) ? finish_bracketed(parser, opening, false)
                                       : NULL;
    leave(parser);
    return node;
}

static struct mdf_expression *parse_word(struct parser *parser, enum mdf_expression_kind kind)
{
    struct mdf_expression *node = make(parser, kind, offset_of(parser));

    mdf_scanner_advance(&parser->scanner);
    return node;
}

static struct mdf_expression *parse_atom(struct parser *parser)
{
    static const struct {
        const char *word;
        enum mdf_expression_kind kind;
    } words[] = {{"True", MDF_EXPRESSION_TRUE},
                 {"False", MDF_EXPRESSION_FALSE},
                 {"None", MDF_EXPRESSION_NONE},
                 {"...", MDF_EXPRESSION_ELLIPSIS}};

    switch (parser->scanner.token.kind) {
    case MDF_TOKEN_INT:
    case MDF_TOKEN_REAL:
        return mdf_expression_take_number(&parser->scanner);
    case MDF_TOKEN_STRING:
        return parse_string(parser);
    case MDF_TOKEN_NAME:
        return parse_name(parser);
    case MDF_TOKEN_END:
    case MDF_TOKEN_KEYWORD:
    case MDF_TOKEN_OPERATOR:
        break;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (at(parser, words[i].word)) {
            return parse_word(parser, words[i].kind);
        }
    }
    return at(parser, "(") || at(parser, "[") || at(parser, "{") ? parse_bracketed(parser) : refuse_token(parser, NULL);
}

/* What stands behind an atom counts for several nodes on the way down: to walk such a chain takes a larger part of the stack than
 * a sum, whose terms are compiled one after the other. */
static struct mdf_expression *weigh(struct parser *parser, struct mdf_expression *node)
{
    return node != NULL && mdf_expression_deepen(&parser->scanner, node, MDF_EXPRESSION_POSTFIX_WEIGHT - 1) ? node : NULL;
}

/* ------------------------------------------------------------------ calls */

/* Takes "name =" of a keyword argument: its name. */
static const char *parse_keyword(struct parser *parser, const struct mdf_expression *call)
{
    size_t i, n = call->as.list.n - 1, n_keywords = 0, offset = offset_of(parser);
    const char *name;

    if (parser->scanner.token.kind == MDF_TOKEN_KEYWORD) {
        mdf_scanner_unexpected(&parser->scanner, "the name of an argument");
        return NULL;
    }
    name = copy_name(parser);
    for (i = 0; i < n && name != NULL; i++) {
        if (call->names[i] != NULL && strcmp(call->names[i], name) == 0) {
            mdf_scanner_fail(&parser->scanner, offset, "argument '%.40s' is repeated", name);
        }
        n_keywords += call->names[i] != NULL;
    }
    if (n_keywords >= MOST_KEYWORD_ARGUMENTS) {
        mdf_scanner_fail(&parser->scanner, offset, "more than %d keyword arguments", MOST_KEYWORD_ARGUMENTS);
    }
    mdf_scanner_advance(&parser->scanner);
    return expect(parser, "=", NULL) ? name : NULL;
}

static bool parse_argument(struct parser *parser, struct mdf_expression *call)
{
    size_t n = call->as.list.n - 1, offset = offset_of(parser);
    enum mdf_token_kind kind = parser->scanner.token.kind;
    struct mdf_expression *argument;
    const char *keyword = NULL;

    if ((kind == MDF_TOKEN_NAME || kind == MDF_TOKEN_KEYWORD) && mdf_scanner_before_equals(&parser->scanner)) {
        keyword = parse_keyword(parser, call);
        argument = keyword == NULL ? NULL : parse_expression(parser);
    } else if (n > 0 && call->names[n - 1] != NULL && !at(parser, "*") && !at(parser, "**")) {
        mdf_scanner_fail(&parser->scanner, offset, "a positional argument follows a keyword argument");
        return false;
    } else {
        argument = parse_item(parser);
    }
    if (argument != NULL && keyword == NULL && at(parser, "for")) {
        argument = parse_comprehension(parser, offset, argument);
        if (n > 0 || at(parser, ",")) {
            mdf_scanner_fail(&parser->scanner, offset, "a generator that is not the only argument needs parentheses");
        }
    }
    return add(parser, call, argument) && mdf_expression_add_name(&parser->scanner, call, n, keyword);
}

static struct mdf_expression *parse_call(struct parser *parser, size_t offset, struct mdf_expression *callee)
{
    struct mdf_expression *call = make(parser, MDF_EXPRESSION_CALL, offset);
    size_t opening = offset_of(parser);

    if (!add(parser, call, callee) || !enter(parser) || !expect(parser, "(", NULL)) {
        return NULL;
    }
    while (!at(parser, ")") && parser->scanner.token.kind != MDF_TOKEN_END) {
        if (!parse_argument(parser, call)) {
            return NULL;
        }
        if (!skip(parser, ",")) {
            break;
        }
    }
    leave(parser);
    return close_bracket(parser, ")", opening, "',' or ')'") ? weigh(parser, call) : NULL;
}

/* ------------------------------------------------------------------ subscripts and attributes */

static bool at_end_of_index(const struct parser *parser)
{
    return at(parser, ",") || at(parser, "]");
}

/* From the ':' behind `start`, which is NULL where nothing is written. */
static struct mdf_expression *parse_slice(struct parser *parser, size_t offset, struct mdf_expression *start)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_SLICE, offset);

    if (node == NULL) {
        return NULL;
    }
    node->as.list.items = mdf_arena_array(parser->scanner.arena, 3, sizeof *node->as.list.items);
    if (node->as.list.items == NULL) {
        mdf_scanner_out_of_memory(&parser->scanner);
        return NULL;
    }
    node->as.list.n = 3;
    node->as.list.items[0] = start;
    for (size_t i = 1; i < 3 && skip(parser, ":"); i++) {
        if (!at(parser, ":") && !at_end_of_index(parser)) {
            node->as.list.items[i] = parse_expression(parser);
        }
    }
    for (size_t i = 0; i < 3 && !parser->scanner.failed; i++) {
        if (node->as.list.items[i] != NULL) {
            mdf_expression_cover(&parser->scanner, node, node->as.list.items[i]);
        }
    }
    return parser->scanner.failed ? NULL : node;
}

static struct mdf_expression *parse_index_item(struct parser *parser)
{
    size_t offset = offset_of(parser);
    struct mdf_expression *item = NULL;

    if (!at(parser, ":")) {
        item = parse_item(parser);
        if (item == NULL) {
            return NULL;
        }
    }
    return at(parser, ":") ? parse_slice(parser, offset, item) : item;
}

/* What stands in the brackets: with a comma a tuple. */
static struct mdf_expression *parse_index(struct parser *parser)
{
    struct mdf_expression *item = parse_index_item(parser), *tuple;

    if (item == NULL || !at(parser, ",")) {
        return item;
    }
    tuple = make(parser, MDF_EXPRESSION_TUPLE, item->offset);
    if (!add(parser, tuple, item)) {
        return NULL;
    }
    while (skip(parser, ",") && !at(parser, "]")) {
        if (!add(parser, tuple, parse_index_item(parser))) {
            return NULL;
        }
    }
    return tuple;
}

static struct mdf_expression *parse_subscript(struct parser *parser, size_t offset, struct mdf_expression *object)
{
    size_t opening = offset_of(parser);
    struct mdf_expression *index;

    if (!enter(parser) || !expect(parser, "[", NULL)) {
        return NULL;
    }
    index = parse_index(parser);
    leave(parser);
    if (index == NULL || !close_bracket(parser, "]", opening, "',' or ']'")) {
        return NULL;
    }
    return weigh(parser, mdf_expression_make_pair(&parser->scanner, MDF_EXPRESSION_SUBSCRIPT, offset, NULL, object, index));
}

static struct mdf_expression *parse_attribute(struct parser *parser, size_t offset, struct mdf_expression *object)
{
    struct mdf_expression *node = make(parser, MDF_EXPRESSION_ATTRIBUTE, offset);

    if (!add(parser, node, object) || !expect(parser, ".", NULL)) {
        return NULL;
    }
    if (parser->scanner.token.kind != MDF_TOKEN_NAME) {
        mdf_scanner_unexpected(&parser->scanner, "a name behind '.'");
        return NULL;
    }
    node->word = offset_of(parser);
    node->name = copy_name(parser);
    mdf_scanner_advance(&parser->scanner);
    return node->name == NULL ? NULL : weigh(parser, node);
}

/* An atom and the attributes, calls and subscripts behind it. */
static struct mdf_expression *parse_primary(struct parser *parser)
{
    size_t offset = offset_of(parser);
    struct mdf_expression *node = parse_atom(parser);

    while (node != NULL) {
        if (at(parser, ".")) {
            node = parse_attribute(parser, offset, node);
        } else if (at(parser, "(")) {
            node = parse_call(parser, offset, node);
        } else if (at(parser, "[")) {
            node = parse_subscript(parser, offset, node);
        } else {
            return node;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ operators of numbers */

/* ** binds tighter than a sign before it, looser than one behind it. */
static struct mdf_expression *parse_power(struct parser *parser)
{
    struct mdf_expression *base = parse_primary(parser), *exponent;
    size_t offset = offset_of(parser);

    if (base == NULL || !at(parser, "**")) {
        return base;
    }
    if (!enter(parser)) {
        return NULL;
    }
    mdf_scanner_advance(&parser->scanner);
    exponent = parse_unary(parser);
    leave(parser);
    return mdf_expression_make_pair(&parser->scanner, MDF_EXPRESSION_BINARY, offset, "pow", base, exponent);
}

static struct mdf_expression *parse_unary(struct parser *parser)
{
    const char *name = at(parser, "-") ? "neg" : at(parser, "+") ? "pos" : at(parser, "~") ? "invert" : NULL;
    size_t offset = offset_of(parser);
    struct mdf_expression *operand;

    if (name == NULL) {
        return parse_power(parser);
    }
    if (!enter(parser)) {
        return NULL;
    }
    mdf_scanner_advance(&parser->scanner);
    operand = parse_unary(parser);
    leave(parser);
    return mdf_expression_make_unary(&parser->scanner, offset, name, operand);
}

struct binary_operator {
    const char *word, *name;
    int precedence; /* the higher, the tighter it binds */
};

static const struct binary_operator *find_binary_operator(const struct parser *parser)
{
    static const struct binary_operator operators[] = {
        {"|", "or_", 1}, {"^", "xor", 2}, {"&", "and_", 3},    {"<<", "lshift", 4},   {">>", "rshift", 4}, {"+", "add", 5},
        {"-", "sub", 5}, {"*", "mul", 6}, {"/", "truediv", 6}, {"//", "floordiv", 6}, {"%", "mod", 6},     {"@", "matmul", 6},
    };

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (at(parser, operators[i].word)) {
            return &operators[i];
        }
    }
    return NULL;
}

/* Operands with operators between them that bind at least as tightly as `precedence`. */
static struct mdf_expression *parse_binary(struct parser *parser, int precedence)
{
    struct mdf_expression *left = parse_unary(parser), *right;
    const struct binary_operator *found;

    while (left != NULL && (found = find_binary_operator(parser)) != NULL && found->precedence >= precedence) {
        size_t offset = offset_of(parser);

        mdf_scanner_advance(&parser->scanner);
        right = parse_binary(parser, found->precedence + 1);
        left = mdf_expression_make_pair(&parser->scanner, MDF_EXPRESSION_BINARY, offset, found->name, left, right);
    }
    return left;
}

/* ------------------------------------------------------------------ comparisons and logic */

/* Takes a comparison operator of one or two words: its name, or NULL where there is none or an error. */
static const char *parse_comparison_operator(struct parser *parser)
{
    static const struct {
        const char *word, *name;
    } operators[] = {{"<", "lt"}, {"<=", "le"}, {">", "gt"}, {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}, {"in", "contains"}};

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (skip(parser, operators[i].word)) {
            return operators[i].name;
        }
    }
    if (skip(parser, "is")) {
        return skip(parser, "not") ? "is_not" : "is_";
    }
    if (skip(parser, "not")) {
        return expect(parser, "in", "'in'") ? "not_contains" : NULL;
    }
    return NULL;
}

static struct mdf_expression *parse_comparison(struct parser *parser)
{
    struct mdf_expression *first = parse_binary(parser, 0), *node = NULL;
    size_t offset = offset_of(parser), n;
    const char *name;

    while (first != NULL && (name = parse_comparison_operator(parser)) != NULL) {
        if (node == NULL) {
            node = make(parser, MDF_EXPRESSION_COMPARE, offset);
            if (!add(parser, node, first)) {
                return NULL;
            }
        }
        n = node->as.list.n - 1;
        if (!mdf_expression_add_name(&parser->scanner, node, n, name) || !add(parser, node, parse_binary(parser, 0))) {
            return NULL;
        }
    }
    if (parser->scanner.failed) {
        return NULL;
    }
    return node == NULL ? first : node;
}

static struct mdf_expression *parse_not(struct parser *parser)
{
    size_t offset = offset_of(parser);
    struct mdf_expression *operand;

    if (!at(parser, "not")) {
        return parse_comparison(parser);
    }
    if (!enter(parser)) {
        return NULL;
    }
    mdf_scanner_advance(&parser->scanner);
    operand = parse_not(parser);
    leave(parser);
    return mdf_expression_make_unary(&parser->scanner, offset, "not_", operand);
}

/* Operands with "and" or "or" between them: one node for all of them. */
static struct mdf_expression *parse_logic(struct parser *parser, const char *word, enum mdf_expression_kind kind,
                                          struct mdf_expression *(*parse_operand)(struct parser *parser))
{
    size_t offset = offset_of(parser);
    struct mdf_expression *first = parse_operand(parser), *node;

    if (first == NULL || !at(parser, word)) {
        return first;
    }
    node = make(parser, kind, offset);
    if (!add(parser, node, first)) {
        return NULL;
    }
    while (skip(parser, word)) {
        if (!add(parser, node, parse_operand(parser))) {
            return NULL;
        }
    }
    return node;
}

static struct mdf_expression *parse_and(struct parser *parser)
{
    return parse_logic(parser, "and", MDF_EXPRESSION_AND, parse_not);
}

static struct mdf_expression *parse_or(struct parser *parser)
{
    return parse_logic(parser, "or", MDF_EXPRESSION_OR, parse_and);
}

/* "value if test else other". */
static struct mdf_expression *parse_expression(struct parser *parser)
{
    size_t offset = offset_of(parser);
    struct mdf_expression *value = parse_or(parser), *test, *other, *node;

    if (value == NULL || !skip(parser, "if")) {
        return value;
    }
    test = parse_or(parser);
    if (test == NULL || !enter(parser) || !expect(parser, "else", "'else'")) {
        return NULL;
    }
    other = parse_expression(parser);
    leave(parser);
    node = make(parser, MDF_EXPRESSION_CONDITIONAL, offset);
    return add(parser, node, test) && add(parser, node, value) && add(parser, node, other) ? node : NULL;
}

/* ------------------------------------------------------------------ the whole text */

/* An expression, or several with commas between them: a tuple. */
static struct mdf_expression *parse_text(struct parser *parser)
{
    size_t offset = offset_of(parser);
    struct mdf_expression *first, *tuple;

    if (parser->scanner.token.kind == MDF_TOKEN_END) {
        mdf_scanner_fail(&parser->scanner, offset, "the expression is empty");
        return NULL;
    }
    first = parse_item(parser);
    if (first == NULL || !at(parser, ",")) {
        return first;
    }
    tuple = make(parser, MDF_EXPRESSION_TUPLE, offset);
    if (!add(parser, tuple, first)) {
        return NULL;
    }
    while (skip(parser, ",") && parser->scanner.token.kind != MDF_TOKEN_END) {
        if (!add(parser, tuple, parse_item(parser))) {
            return NULL;
        }
    }
    return tuple;
}

/* A name or a number, which stands behind a whole expression. */
static bool is_operand(const struct parser *parser)
{
    enum mdf_token_kind kind = parser->scanner.token.kind;
    bool is_number = kind == MDF_TOKEN_INT || kind == MDF_TOKEN_REAL;

    return kind == MDF_TOKEN_NAME || (is_number && parser->scanner.text[offset_of(parser)] != '.');
}

struct mdf_expression *mdf_expression_parse(struct mdf_arena *arena, const char *text, size_t *offset, mdf_error *error)
{
    struct parser parser = {.depth = 0};
    struct mdf_expression *tree;

    mdf_scanner_init(&parser.scanner, arena, text, error);
    tree = parse_text(&parser);
    if (tree != NULL && parser.scanner.token.kind != MDF_TOKEN_END) {
        refuse_token(&parser, is_operand(&parser) ? "an operator, as '*', before it" : NULL);
    }
    if (parser.scanner.failed) {
        *offset = parser.scanner.error_offset;
        return NULL;
    }
    return tree;
}
