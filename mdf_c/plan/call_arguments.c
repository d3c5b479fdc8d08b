/* call_arguments.c - see call_arguments.h. */
#include "mdf_c/plan/call_arguments.h"

#include <stdio.h>
#include <string.h>

static void parse_formals(const char *text, struct call_formals *formals)
{
    bool by_name = false;

    formals->n = 0;
    while (text != NULL && *text != '\0' && formals->n < sizeof formals->items / sizeof *formals->items) {
        struct call_formal *formal = &formals->items[formals->n++];
        size_t length = strcspn(text, " "), name = strcspn(text, " =");

        formal->rest = *text == '*';
        formal->name = text + formal->rest;
        formal->length = name - formal->rest;
        formal->optional = name < length || formal->rest;
        formal->allowed = name + 1 < length ? text + name + 1 : NULL;
        formal->allowed_length = formal->allowed != NULL ? length - name - 1 : 0;
        by_name = by_name || (formal->allowed != NULL && strchr("!>?", formal->allowed[0]) != NULL);
        formal->by_name = by_name;
        if (formal->allowed != NULL && formal->allowed[0] == '!') {
            formal->allowed = NULL;
        }
        text += length;
        text += strspn(text, " ");
    }
}

/* Whether any number of arguments may stand in front of an argument. */
static bool follows_rest(const struct call_formals *formals, size_t at)
{
    size_t i = 0;

    while (i < formals->n && !formals->items[i].rest) {
        i++;
    }
    return i < formals->n && i < at;
}

static bool place_argument(struct target *target, const struct mdf_operator *row, const struct call_formals *formals,
                           struct call_arguments *arguments, size_t at, mdf_operand operand)
{
    if (at >= CALL_MOST_ARGUMENTS) {
        compile_error(target->compiler, MDF_LIMIT, "%s takes at most %d arguments: give it a list", row->name,
                      CALL_MOST_ARGUMENTS);
        return false;
    }
    if (at >= formals->n && !follows_rest(formals, at)) {
        compile_error(target->compiler, MDF_TYPE, "%s takes at most %zu argument%s", row->name, formals->n,
                      formals->n == 1 ? "" : "s");
        return false;
    }
    if (at < arguments->n && arguments->operands[at] != MDF_NO_OPERAND) {
        compile_error(target->compiler, MDF_TYPE, "%s got two values for argument '%.*s'", row->name,
                      (int)formals->items[at].length, formals->items[at].name);
        return false;
    }
    while (arguments->n <= at) {
        arguments->operands[arguments->n++] = MDF_NO_OPERAND;
    }
    arguments->operands[at] = operand;
    return true;
}

static size_t find_keyword(const struct call_formals *formals, const char *keyword)
{
    for (size_t i = 0; i < formals->n; i++) {
        if (!formals->items[i].rest && strlen(keyword) == formals->items[i].length &&
            strncmp(keyword, formals->items[i].name, formals->items[i].length) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* A keyword is written before the value that it gives. */
static size_t offset_of_keyword(const char *text, const char *keyword, size_t value)
{
    size_t at = value, length = strlen(keyword);

    while (text != NULL && at > 0) {
        at--;
        if (text[at] != '=' && strchr(" \t\n", text[at]) == NULL) {
            return at + 1 >= length && strncmp(text + at + 1 - length, keyword, length) == 0 ? at + 1 - length : value;
        }
    }
    return value;
}

/* The names of a row's formals, "a axis= keepdims=", for an error. */
static void append_formals(struct target *target, const struct call_formals *formals)
{
    for (size_t i = 0; i < formals->n; i++) {
        const struct call_formal *formal = &formals->items[i];

        mdf_error_append(target->compiler->error, "%s%s%.*s%s", i == 0 ? "; its arguments are: " : " ", formal->rest ? "*" : "",
                         (int)formal->length, formal->name, formal->optional && !formal->rest ? "=" : "");
    }
}

static mdf_operand unknown_keyword(struct target *target, const struct mdf_operator *row, const struct call_formals *formals,
                                   const char *keyword, size_t value)
{
    struct mdf_nearest nearest;
    char names[MDF_CUSTOM_MOST_VALUES][32];

    mdf_nearest_begin(&nearest, keyword);
    for (size_t i = 0; i < formals->n; i++) {
        snprintf(names[i], sizeof names[i], "%.*s", (int)formals->items[i].length, formals->items[i].name);
        if (!formals->items[i].rest) {
            mdf_nearest_offer(&nearest, names[i]);
        }
    }
    target->compiler->offset = offset_of_keyword(target->compiler->text, keyword, value);
    compile_error(target->compiler, MDF_NAME, "%s has no argument '%s'", row->name, keyword);
    append_formals(target, formals);
    return compile_suggest(target, &nearest);
}

/* The function that formals name behind '>'. */
static const struct mdf_operator *named_row(const char *name)
{
    char own[48];

    snprintf(own, sizeof own, "%.*s", (int)strcspn(name, "| "), name);
    return mdf_operator_python(own);
}

/* Where, among the texts between bars, one like the given one ends; NULL: there is none. */
static const char *find_allowed(const struct call_formal *formal, const struct mdf_expression *given)
{
    const char *end = formal->allowed + formal->allowed_length;

    for (const char *at = formal->allowed; given->kind == MDF_EXPRESSION_STRING && at < end; at += strcspn(at, "| ") + 1) {
        size_t length = strcspn(at, "|> ");

        if (length == given->as.text.length && memcmp(at, given->as.text.bytes, length) == 0) {
            return at + length;
        }
    }
    return NULL;
}

/* An argument that is none of the call's: it changes nothing, or says that another function is called instead. */
static bool leave_out(struct target *target, const struct mdf_operator *row, const struct call_formal *formal,
                      const struct mdf_expression *given, struct call_arguments *arguments)
{
    const char *found = find_allowed(formal, given);

    if (found != NULL && *found == '>') {
        arguments->row = named_row(found + 1);
    }
    if (found != NULL || formal->allowed[0] == '*' || given->kind == MDF_EXPRESSION_NONE) {
        return true;
    }
    compile_error(target->compiler, MDF_UNSUPPORTED, "%s: '%.*s' is not supported but as ", row->name, (int)formal->length,
                  formal->name);
    for (const char *at = formal->allowed; at < formal->allowed + formal->allowed_length; at += strcspn(at, "| ") + 1) {
        mdf_error_append(target->compiler->error, "%s%.*s", at > formal->allowed ? " or " : "", (int)strcspn(at, "|> "), at);
    }
    return false;
}

/* A text that is a setting of the row. */
static bool place_setting(struct target *target, const struct mdf_operator *row, const struct call_formal *formal,
                          const struct mdf_expression *given, struct call_arguments *arguments)
{
    struct mdf_arena *arena = target->compiler->arena;
    const struct mdf_setting *setting = row->settings;
    char *settings;
    const char *text;

    if (given->kind != MDF_EXPRESSION_STRING) {
        compile_error(target->compiler, MDF_UNSUPPORTED, "%s: '%.*s' is supported as a text only", row->name, (int)formal->length,
                      formal->name);
        return false;
    }
    if (arguments->settings != NULL) {
        compile_error(target->compiler, MDF_TYPE, "%s: '%.*s' is given twice", row->name, (int)formal->length, formal->name);
        return false;
    }
    while (strncmp(setting->name, formal->allowed + 1, formal->allowed_length - 1) != 0) {
        setting++;
    }
    settings = mdf_arena_allocate(arena, row->settings_size);
    text = mdf_arena_printf(arena, "%s", given->as.text.bytes);
    if (settings == NULL || text == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    memcpy(settings + setting->offset, &text, sizeof text);
    arguments->settings = settings;
    return true;
}

/* The argument is none of the call's: `*done`; it is a setting, it has no effect, or another function takes it in behind the
 * call. Or it is one, and says that another function is called. */
static bool place_beside(struct target *target, const struct mdf_operator *row, const struct call_formal *formal,
                         const struct mdf_expression *given, struct call_arguments *arguments, bool *done)
{
    *done = formal->allowed != NULL;
    if (*done && (formal->allowed[0] == '?' || formal->allowed[0] == '+')) {
        *done = given->kind == MDF_EXPRESSION_NONE;
        arguments->row = *done ? arguments->row : named_row(formal->allowed + 1);
        return true;
    }
    if (*done && formal->allowed[0] == '@') {
        return place_setting(target, row, formal, given, arguments);
    }
    if (!*done || formal->allowed[0] != '>') {
        return !*done || leave_out(target, row, formal, given, arguments);
    }
    if (given->kind == MDF_EXPRESSION_NONE) {
        return true;
    }
    arguments->taken_in_by = named_row(formal->allowed + 1);
    arguments->taken_in = compile_tree(target, given);
    return arguments->taken_in != MDF_NO_OPERAND;
}

static mdf_operand compile_argument(struct target *target, const struct mdf_operator *row, const struct mdf_expression *given)
{
    mdf_operand operand = compile_tree(target, given);

    return operand != MDF_NO_OPERAND && row->form == MDF_FORM_INTERPOLATE && given->kind == MDF_EXPRESSION_LIST
               ? compile_as_array(target, operand) /* points that are written out: as such they have a C form */
               : operand;
}

bool call_arguments_collect(struct target *target, const struct mdf_operator *row, const struct mdf_expression *tree,
                            mdf_operand self, struct call_arguments *arguments)
{
    struct call_formals *formals = &arguments->formals;
    size_t position = 0;

    parse_formals(row->formals, formals);
    arguments->row = row;
    arguments->n = 0;
    arguments->taken_in_by = NULL;
    arguments->settings = NULL;
    if (self != MDF_NO_OPERAND && !place_argument(target, row, formals, arguments, position++, self)) {
        return false;
    }
    for (size_t i = 1; i < tree->as.list.n; i++) {
        const char *keyword = tree->names != NULL ? tree->names[i - 1] : NULL;
        const struct mdf_expression *given = tree->as.list.items[i];
        size_t at = keyword == NULL ? position++ : find_keyword(formals, keyword);
        bool done = false;
        mdf_operand operand;

        if (keyword == NULL && at < formals->n && given->kind != MDF_EXPRESSION_NONE && formals->items[at].by_name) {
            compile_error(target->compiler, MDF_TYPE, "%s takes '%.*s' by its name only: %.*s=...", row->name,
                          (int)formals->items[at].length, formals->items[at].name, (int)formals->items[at].length,
                          formals->items[at].name);
            return false;
        }
        if (at < formals->n && (keyword != NULL || !follows_rest(formals, at)) &&
            !place_beside(target, row, &formals->items[at], given, arguments, &done)) {
            return false;
        }
        if (done) {
            continue;
        }
        operand = compile_argument(target, row, given);
        if (operand == MDF_NO_OPERAND) {
            return false;
        }
        if (at == SIZE_MAX) {
            unknown_keyword(target, row, formals, keyword, given->offset);
            return false;
        }
        if (!place_argument(target, row, formals, arguments, at, operand)) {
            return false;
        }
    }
    for (size_t i = 0; i < formals->n; i++) {
        const struct call_formal *formal = &formals->items[i];
        bool is_setting = formal->allowed != NULL && formal->allowed[0] == '@';

        if (is_setting ? arguments->settings == NULL
                       : !formal->optional && (i >= arguments->n || arguments->operands[i] == MDF_NO_OPERAND)) {
            compile_error(target->compiler, MDF_TYPE, "%s needs the argument '%.*s'", row->name, (int)formal->length,
                          formal->name);
            return false;
        }
    }
    if (arguments->settings != NULL && arguments->n > 0) {
        memmove(arguments->operands, arguments->operands + 1, --arguments->n * sizeof *arguments->operands);
    }
    return true;
}
