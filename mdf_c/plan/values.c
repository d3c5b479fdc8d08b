/* values.c - what the fields of a model hold: literals, names, expressions, constants. The order in which a text is read is the
 * reference's: a name in scope, then a number, then an expression. */
#include "mdf_c/plan/compiler.h"

#include <stdlib.h>
#include <string.h>

/* Rows of different length are an error; lists with other things in them (objects, texts) are lists. */
static bool is_ragged(const struct mdf_value *value)
{
    if (value->kind != MDF_KIND_LIST) {
        return value->kind == MDF_KIND_TENSOR && value->dtype != MDF_DTYPE_STRING;
    }
    for (size_t i = 0; i < value->length; i++) {
        if (!is_ragged(&mdf_value_items(value)[i])) {
            return false;
        }
    }
    return value->length > 0;
}

static bool make_literal(struct target *target, const struct mdf_node *node, struct mdf_value *value)
{
    struct compiler *compiler = target->compiler;

    if (!mdf_node_to_value(compiler->memory, value, node, false, compiler->error)) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (value->kind == MDF_KIND_LIST && is_ragged(value)) {
        mdf_value_clear(compiler->memory, value);
        compile_error(compiler, MDF_SHAPE, "the rows of a list have different lengths: it is not an array");
        return false;
    }
    return true;
}

static mdf_operand compile_literal(struct target *target, const struct mdf_node *node)
{
    struct mdf_value value = {0};
    unsigned flags;

    if (is_typed_form(node) ? !compile_typed_form(target, node, &value) : !make_literal(target, node, &value)) {
        return MDF_NO_OPERAND;
    }
    flags = value.kind == MDF_KIND_LIST ? OPERAND_MAY_BE_LIST : 0;
    return unit_add_constant(target, &value, flags);
}

/* A text that is a number as Python's int() and float() read it. */
static bool compile_number(struct target *target, const char *text, mdf_operand *operand)
{
    struct mdf_value value = {0};
    int64_t integer = 0;
    double real = 0;
    bool is_integer, made;

    if (!mdf_parse_python_number(text, &real, &integer, &is_integer)) {
        return false;
    }
    made = is_integer ? mdf_value_make_int(target->compiler->memory, &value, integer)
                      : mdf_value_make_double(target->compiler->memory, &value, real);
    *operand = made ? unit_add_constant(target, &value, 0) : compile_out_of_memory(target->compiler);
    return true;
}

/* "f[1]" where f is a name that Python's syntax can not hold ("/A/Split"): output 1 of that function. */
static bool find_indexed(struct target *target, const char *text, mdf_operand *operand)
{
    const char *bracket = strrchr(text, '[');
    struct outcome outcome;
    long long index;
    char *name, *end;

    if (bracket == NULL || bracket == text) {
        return false;
    }
    index = strtoll(bracket + 1, &end, 10);
    name = mdf_arena_text(&target->compiler->scratch, text, (size_t)(bracket - text));
    if (end == bracket + 1 || strcmp(end, "]") != 0 || name == NULL || !scope_find(target, name, &outcome) || !outcome.several ||
        index < 0 || (size_t)index >= outcome.n_outputs) {
        return false;
    }
    *operand = outcome.outputs[index];
    return true;
}

mdf_operand compile_as_array(struct target *target, mdf_operand operand)
{
    struct mdf_static_type type = unit_type(target->unit, operand);
    mdf_operand slot = unit_new_slot(target, OPERAND_MAY_BE_LIST);

    type.value = NULL;
    if (slot == MDF_NO_OPERAND) {
        return slot;
    }
    unit_set_type(target->unit, slot, &type);
    unit_take_promise(target->unit, slot, operand);
    return unit_emit(target, MDF_OPCODE_ARRAY, slot, operand, 0) ? slot : MDF_NO_OPERAND;
}

mdf_operand compile_text(struct target *target, const char *text)
{
    struct outcome outcome;
    struct mdf_expression *tree;
    mdf_operand operand;
    size_t offset;

    if (scope_find(target, text, &outcome)) {
        operand = scope_as_operand(target, &outcome);
        if (operand != MDF_NO_OPERAND && !outcome.several && (unit_flags(target->unit, operand) & OPERAND_MAY_BE_LIST) != 0) {
            return compile_as_array(target, operand);
        }
        return operand;
    }
    if (find_indexed(target, text, &operand) || compile_number(target, text, &operand)) {
        return operand;
    }
    tree = mdf_expression_parse(&target->compiler->scratch, text, &offset, target->compiler->error);
    if (tree == NULL) {
        target->compiler->offset = offset;
        return compile_error(target->compiler, MDF_EXPRESSION, "the expression can not be read");
    }
    return compile_tree(target, tree);
}

/* The first comma outside of brackets and quotes; NULL: there is none. */
static const char *find_comma(const char *text, const char *end)
{
    char quote = '\0';
    int depth = 0;

    for (const char *at = text; at < end; at++) {
        if (quote != '\0') {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (strchr("([{", *at) != NULL) {
            depth++;
        } else if (strchr(")]}", *at) != NULL) {
            depth--;
        } else if (*at == ',' && depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* The comma of "0,3", where it makes a tuple of the whole text; NULL: there is none. */
static const char *find_decimal_comma(const char *text)
{
    const char *end = text + strlen(text), *at = find_comma(text, end);

    while (at != NULL && (at == text || !mdf_is_digit(at[-1]) || !mdf_is_digit(at[1]))) {
        at = find_comma(at + 1, end);
    }
    return at;
}

static void warn_of_decimal_comma(struct compiler *compiler)
{
    const char *comma = find_decimal_comma(compiler->text), *first = comma;

    if (comma == NULL) {
        return;
    }
    while (first > compiler->text && mdf_is_digit(first[-1])) {
        first--;
    }
    compiler->offset = (size_t)(first - compiler->text);
    compile_warning(compiler,
                    "the comma parts two values, which make a list; a number with a fraction is written with a point "
                    "(%.*s.%.*s), and a list in brackets",
                    (int)(comma - first), first, (int)strspn(comma + 1, "0123456789"), comma + 1);
    compiler->offset = 0;
}

/* The text of the node that the compiler is at: messages say where in it. */
static mdf_operand compile_own_text(struct target *target, const struct mdf_node *node)
{
    target->compiler->text = node->as.string.bytes;
    target->compiler->offset = 0;
    warn_of_decimal_comma(target->compiler);
    return compile_text(target, node->as.string.bytes);
}

mdf_operand compile_value(struct target *target, const struct mdf_node *node)
{
    struct place place = place_at(target->compiler, node);
    mdf_operand operand;

    if (is_changeable(target->compiler, node)) {
        operand = changeable_operand(target, node);
    } else {
        operand = node->kind == MDF_NODE_STRING ? compile_own_text(target, node) : compile_literal(target, node);
    }
    place_leave(target->compiler, place);
    return operand;
}

/* ------------------------------------------------------------------ constants */

/* Binds the constants that the names of a text stand for in a scope of their own. */
static bool bind_constants(struct target *target, struct target *alone, const struct mdf_node *node)
{
    struct list names = {0};

    if (!collect_names(target->compiler, node, &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((const char **)names.items)[i];
        const struct mdf_value *constant;
        struct mdf_value copy = {0};
        struct outcome outcome;
        mdf_operand operand;

        if (!scope_find(target, name, &outcome)) {
            continue;
        }
        constant = outcome.several ? NULL : unit_constant(target->unit, outcome.outputs[0]);
        if (constant == NULL && !outcome.several && (unit_flags(target->unit, outcome.outputs[0]) & OPERAND_IS_UNKNOWN) != 0) {
            return false; /* it is told already */
        }
        if (constant == NULL) {
            compile_error(target->compiler, MDF_MODEL, "'%s' changes while the model runs; a constant is needed here", name);
            return false;
        }
        if (!mdf_value_share(target->compiler->memory, &copy, constant)) {
            compile_out_of_memory(target->compiler);
            return false;
        }
        operand = unit_add_constant(alone, &copy, 0);
        if (operand == MDF_NO_OPERAND || !scope_bind(target->compiler, alone->scope, name, operand)) {
            return false;
        }
    }
    return true;
}

bool compile_run_alone(struct compiler *compiler, struct mdf_code *code, mdf_operand operand, struct mdf_value *value)
{
    struct mdf_execution execution = {.context = {.memory = compiler->memory, .real = compiler->real, .n_threads = 1}, .dt = 0};
    struct mdf_frame *frame;
    bool done = false;

    execution.context.stop = compiler->stop;
    mdf_arena_init(&execution.arena, compiler->memory);
    code->origins = compiler->origins;
    frame = mdf_frame_new(&execution, code, NULL);
    if (frame == NULL) {
        compile_out_of_memory(compiler);
    } else {
        done = mdf_frame_run(frame, 0, code->n_instructions);
        if (!done) {
            compile_error(compiler, execution.context.error.code, "%s", execution.context.error.message);
        } else if (!mdf_value_share(compiler->memory, value, mdf_frame_value(frame, operand))) {
            compile_out_of_memory(compiler);
            done = false;
        }
        mdf_frame_clear(frame);
    }
    mdf_arena_release(&execution.arena);
    return done;
}

/* Random numbers are drawn while the model runs, from its seed; a constant is there before. */
static bool draws_nothing(struct compiler *compiler, const struct mdf_code *code)
{
    for (size_t i = 0; i < code->n_calls; i++) {
        if ((code->calls[i].operator->flags & MDF_OPERATOR_RANDOM) != 0) {
            compile_error(compiler, MDF_MODEL, "'%s' draws random numbers; a constant is needed here",
                          code->calls[i].operator->name);
            return false;
        }
    }
    return true;
}

static bool evaluate_text(struct target *target, const struct mdf_node *node, struct mdf_value *value)
{
    struct unit unit = {0};
    struct scope scope = {.unit = &unit};
    struct target alone = {target->compiler, &unit, &scope};
    struct mdf_code *code;
    mdf_operand operand;
    bool done = false;

    if (bind_constants(target, &alone, node)) {
        operand = compile_own_text(&alone, node);
        code = operand == MDF_NO_OPERAND ? NULL : unit_finish(target->compiler, &unit);
        if (code != NULL) {
            done = draws_nothing(target->compiler, code) && compile_run_alone(target->compiler, code, operand, value);
            mdf_code_clear(target->compiler->memory, code);
        }
    }
    unit_clear(target->compiler, &unit);
    return done;
}

bool compile_constant(struct target *target, const struct mdf_node *node, struct mdf_value *value)
{
    struct place place = place_at(target->compiler, node);
    bool done;

    done = node->kind == MDF_NODE_STRING ? evaluate_text(target, node, value)
           : is_typed_form(node)         ? compile_typed_form(target, node, value)
                                         : make_literal(target, node, value);
    place_leave(target->compiler, place);
    return done;
}

/* ------------------------------------------------------------------ names in texts */

bool names_contain(const struct list *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(((const char **)names->items)[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Names stand in a list once while it is short; a search of a long one costs more than a name that stands in it twice. */
static bool is_in_short(const struct list *names, const char *name)
{
    enum { SHORT = 64 };

    return names->n < SHORT && names_contain(names, name);
}

static bool add_name(struct compiler *compiler, struct list *names, const char *name)
{
    return is_in_short(names, name) || list_add(compiler, names, &name, sizeof name);
}

/* The same for a name that does not last. */
static bool add_copied_name(struct compiler *compiler, struct list *names, const char *name)
{
    char *kept;

    if (is_in_short(names, name)) {
        return true;
    }
    kept = mdf_arena_text(&compiler->scratch, name, strlen(name));
    if (kept == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    return add_name(compiler, names, kept);
}

static bool collect_from_tree(struct compiler *compiler, const struct mdf_expression *tree, struct list *names);

/* Of the names of a part of a comprehension those that it has from outside: `bound` are those of its items. */
static bool collect_from_outside(struct compiler *compiler, const struct mdf_expression *part, const struct list *bound,
                                 struct list *names)
{
    struct list read = {0};

    if (!collect_from_tree(compiler, part, bound->n > 0 ? &read : names)) {
        return false;
    }
    for (size_t i = 0; i < read.n; i++) {
        const char *name = ((const char **)read.items)[i];

        if (!names_contain(bound, name) && !add_name(compiler, names, name)) {
            return false;
        }
    }
    return true;
}

/* As compile_clauses (expression_code.c) has it: the items that a clause goes through have no name of that clause yet. */
static bool collect_from_comprehension(struct compiler *compiler, const struct mdf_expression *tree, struct list *names)
{
    struct mdf_expression *const *item = tree->as.list.items + 1;
    struct list bound = {0};
    const char *clause;

    for (clause = tree->clauses; *clause != '\0'; clause++) {
        bool is_loop = *clause == 'f';

        if (!collect_from_outside(compiler, item[is_loop], &bound, names) ||
            (is_loop && !collect_from_tree(compiler, item[0], &bound))) {
            return false;
        }
        item += is_loop ? 2 : 1;
    }
    return collect_from_outside(compiler, tree->as.list.items[0], &bound, names);
}

static bool collect_from_tree(struct compiler *compiler, const struct mdf_expression *tree, struct list *names)
{
    const char *dotted;

    if (tree != NULL && tree->kind == MDF_EXPRESSION_NAME) {
        return add_copied_name(compiler, names, tree->as.text.bytes);
    }
    if (tree != NULL && tree->kind == MDF_EXPRESSION_COMPREHENSION) {
        return collect_from_comprehension(compiler, tree, names);
    }
    if (tree != NULL && tree->kind == MDF_EXPRESSION_ATTRIBUTE) {
        dotted = mdf_expression_dotted(&compiler->scratch, tree);
        if (dotted != NULL && !add_name(compiler, names, dotted)) {
            return false;
        }
    }
    for (size_t i = 0; i < mdf_expression_n_items(tree); i++) {
        if (!collect_from_tree(compiler, tree->as.list.items[i], names)) {
            return false;
        }
    }
    return true;
}

bool try_parse(struct compiler *compiler, const char *text, struct mdf_expression **tree)
{
    size_t *number = name_table_add(&compiler->parsed, &compiler->scratch, text), offset;

    if (number != NULL && *number != 0) {
        *tree = ((struct mdf_expression **)compiler->trees.items)[*number - 1];
        return true;
    }
    *tree = number == NULL ? NULL : mdf_expression_parse(&compiler->scratch, text, &offset, NULL);
    if (number == NULL || (*tree == NULL && compiler->scratch.has_refused)) {
        compile_out_of_memory(compiler);
        return false;
    }
    *number = compiler->trees.n + 1;
    return list_add(compiler, &compiler->trees, tree, sizeof(struct mdf_expression *));
}

bool is_bare_name(const char *text)
{
    size_t length = mdf_identifier_length(text);

    return length > 0 && text[length] == '\0';
}

static bool collect_from_text(struct compiler *compiler, const char *text, struct list *names)
{
    struct mdf_expression *tree;

    return add_name(compiler, names, text) &&
           (is_bare_name(text) || (try_parse(compiler, text, &tree) && collect_from_tree(compiler, tree, names)));
}

/* The pieces of a text that is a list are names and expressions; a list among them is an expression, which is not cut further. */
static bool collect_from_pieces(struct compiler *compiler, const struct mdf_node *node, struct list *names)
{
    struct list pieces = {0};

    if (!split_variadic(compiler, node, &pieces)) {
        return false;
    }
    for (size_t i = 0; i < pieces.n; i++) {
        const struct mdf_node *piece = ((const struct mdf_node **)pieces.items)[i];

        if (piece->as.string.length < node->as.string.length && !collect_from_text(compiler, piece->as.string.bytes, names)) {
            return false;
        }
    }
    return true;
}

bool collect_names(struct compiler *compiler, const struct mdf_node *node, struct list *names)
{
    if (node == NULL) {
        return true;
    }
    if (node->kind == MDF_NODE_STRING) {
        return collect_from_text(compiler, node->as.string.bytes, names) && collect_from_pieces(compiler, node, names);
    }
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n; i++) {
        if (!collect_names(compiler, &node->as.list.items[i], names)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ variadic arguments */

/* A piece of a text as a document node of its own: quotes around it go. */
static bool add_piece(struct compiler *compiler, const struct mdf_node *node, const char *from, const char *to,
                      struct list *pieces)
{
    struct mdf_node *piece = mdf_arena_allocate(&compiler->scratch, sizeof *piece);
    char *text;

    while (from < to && strchr(" \t\n", *from) != NULL) {
        from++;
    }
    while (to > from && strchr(" \t\n", to[-1]) != NULL) {
        to--;
    }
    if (to - from >= 2 && (*from == '\'' || *from == '"') && to[-1] == *from) {
        from++;
        to--;
    }
    text = mdf_arena_text(&compiler->scratch, from, (size_t)(to - from));
    if (piece == NULL || text == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    *piece = *node;
    piece->as.string.bytes = text;
    piece->as.string.length = (size_t)(to - from);
    return list_add(compiler, pieces, &piece, sizeof piece);
}

static bool split_text(struct compiler *compiler, const struct mdf_node *node, const char *text, size_t length,
                       struct list *pieces)
{
    const char *from = text, *end = text + length, *comma;

    while ((comma = find_comma(from, end)) != NULL) {
        if (!add_piece(compiler, node, from, comma, pieces)) {
            return false;
        }
        from = comma + 1;
    }
    while (from < end && strchr(" \t\n", *from) != NULL) {
        from++;
    }
    return from == end || add_piece(compiler, node, from, end, pieces);
}

/* The items of a list, whose numbers may be packed. */
static bool add_items(struct compiler *compiler, const struct mdf_node *list, struct list *pieces)
{
    size_t n = mdf_node_length(list), i;
    struct mdf_node *items = mdf_arena_array(&compiler->scratch, n, sizeof *items);

    if (items == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (i = 0; i < n; i++) {
        const struct mdf_node *item = &items[i];

        if (!mdf_node_item(list, i, &items[i]) || !list_add(compiler, pieces, &item, sizeof item)) {
            return false;
        }
    }
    return true;
}

bool split_variadic(struct compiler *compiler, const struct mdf_node *node, struct list *pieces)
{
    const char *text;
    size_t length;

    if (node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_NUMBERS) {
        return add_items(compiler, node, pieces);
    }
    if (node->kind == MDF_NODE_STRING) {
        text = node->as.string.bytes;
        length = node->as.string.length;
        while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL) {
            length--;
        }
        while (length > 0 && strchr(" \t\n", *text) != NULL) {
            text++;
            length--;
        }
        if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
            return split_text(compiler, node, text + 1, length - 2, pieces);
        }
    }
    return list_add(compiler, pieces, &node, sizeof node);
}
