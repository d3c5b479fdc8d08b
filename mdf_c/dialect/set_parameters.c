/* set_parameters.c - see set_parameters.h. */
#include "mdf_c/dialect/set_parameters.h"

#include "mdf_c/base/text.h"
#include "mdf_c/dialect/rewriting.h"

#include <string.h>

/* One parameter that gets its value; or, where nothing is set, what is done with all of them. */
struct setting {
    struct rewriting *rewriting;
    const char *name;
    const struct mdf_node *value;
    size_t n_set;
    bool is_input, is_output, is_node;                              /* a port, or a node, has the name */
    struct mdf_parameter_guess *guess;                              /* it gets them offered; NULL: not so */
    void (*found)(void *context, const char *node, const char *id); /* of constants; NULL: not so */
    void *context;
};

bool mdf_part_is_named(const char *node, const char *id, const char *name)
{
    size_t length = node != NULL ? strlen(node) : 0;

    return strcmp(id, name) == 0 ||
           (node != NULL && strncmp(name, node, length) == 0 && name[length] == '.' && strcmp(name + length + 1, id) == 0);
}

void mdf_parameter_guess_begin(struct mdf_parameter_guess *guess, struct mdf_arena *arena, const char *name)
{
    const char *dot = strrchr(name, '.');

    guess->arena = arena;
    guess->named = NULL;
    mdf_nearest_begin(&guess->whole, name);
    mdf_nearest_begin(&guess->behind_dot, dot != NULL ? dot + 1 : "");
}

void mdf_parameter_guess_offer(struct mdf_parameter_guess *guess, const char *node, const char *id)
{
    const char *full = node != NULL ? mdf_arena_printf(guess->arena, "%s.%s", node, id) : id;
    const char *before = mdf_nearest_result(&guess->behind_dot);

    mdf_nearest_offer(&guess->whole, id);
    if (full != NULL) {
        mdf_nearest_offer(&guess->whole, full);
        mdf_nearest_offer(&guess->behind_dot, id);
        guess->named = mdf_nearest_result(&guess->behind_dot) != before ? full : guess->named;
    }
}

mdf_status mdf_parameter_guess_refuse(const struct mdf_parameter_guess *guess, mdf_error *error)
{
    const char *best = mdf_nearest_result(&guess->whole);

    if (best != NULL && strcmp(best, guess->whole.name) == 0) {
        return mdf_error_set(error, MDF_NAME, "the graph of parameter '%s' is not evaluated", best);
    }
    mdf_error_set(error, MDF_NAME, "no parameter is called '%s'", guess->whole.name);
    mdf_error_suggest(error, best != NULL ? best : guess->named);
    return MDF_NAME;
}

bool mdf_value_is_constant(const struct mdf_node *field)
{
    double real;
    int64_t integer;
    bool whole;

    return field != NULL && field->kind != MDF_NODE_NULL &&
           (field->kind != MDF_NODE_STRING || mdf_parse_python_number(field->as.string.bytes, &real, &integer, &whole));
}

static bool is_constant(struct mdf_node *parameter)
{
    bool has_fields = parameter->kind == MDF_NODE_OBJECT && parameter->as.object.n > 0;

    return has_fields ? mdf_value_is_constant(rewriting_find(parameter, "value")) ||
                            mdf_value_is_constant(rewriting_find(parameter, "default_initial_value"))
                      : mdf_value_is_constant(parameter);
}

static void set_value(struct setting *setting, struct mdf_node *parameter)
{
    struct mdf_node *value = rewriting_find(parameter, "value"), *initial = rewriting_find(parameter, "default_initial_value");
    bool has_fields = value != NULL || initial != NULL || rewriting_find(parameter, "function") != NULL;

    if (!has_fields) { /* the value itself */
        *parameter = *setting->value;
    } else if (initial != NULL && !mdf_value_is_constant(value)) {
        *initial = *setting->value;
    } else {
        rewriting_remove(parameter, "function");
        rewriting_remove(parameter, "args");
        rewriting_put(setting->rewriting, parameter, "value", *setting->value);
    }
}

static void visit_parameter(struct setting *setting, const char *node, const char *id, struct mdf_node *parameter)
{
    if (setting->guess != NULL) {
        mdf_parameter_guess_offer(setting->guess, node, id);
    } else if (setting->found != NULL) {
        if (is_constant(parameter)) {
            setting->found(setting->context, node, id);
        }
    } else if (mdf_part_is_named(node, id, setting->name)) {
        set_value(setting, parameter);
        setting->n_set++;
    }
}

/* The parameters of a node or a graph. */
static void visit_parameters(struct setting *setting, const char *node, struct mdf_node *owner)
{
    struct mdf_node *parameters = rewriting_find(owner, "parameters"), *ports = rewriting_find(owner, "input_ports"),
                    *outputs = rewriting_find(owner, "output_ports");

    for (size_t i = 0; i < rewriting_n_entries(parameters); i++) {
        struct mdf_node_entry *entry = &parameters->as.object.entries[i];

        visit_parameter(setting, node, entry->key, &entry->value);
    }
    for (size_t i = 0; node != NULL && setting->name != NULL && i < rewriting_n_entries(ports); i++) {
        setting->is_input = setting->is_input || mdf_part_is_named(node, ports->as.object.entries[i].key, setting->name);
    }
    for (size_t i = 0; node != NULL && setting->name != NULL && i < rewriting_n_entries(outputs); i++) {
        setting->is_output = setting->is_output || mdf_part_is_named(node, outputs->as.object.entries[i].key, setting->name);
    }
}

/* Graphs may stand at any place: in the model, in a node, in arguments as the body of a Scan, Loop or If. */
static void visit(struct setting *setting, struct mdf_node *tree)
{
    struct mdf_node *nodes = rewriting_find(tree, "nodes");

    if (nodes != NULL) {
        visit_parameters(setting, NULL, tree);
    }
    for (size_t i = 0; i < rewriting_n_entries(nodes); i++) {
        setting->is_node =
            setting->is_node || (setting->name != NULL && strcmp(nodes->as.object.entries[i].key, setting->name) == 0);
        visit_parameters(setting, nodes->as.object.entries[i].key, &nodes->as.object.entries[i].value);
    }
    for (size_t i = 0; i < rewriting_n_entries(tree); i++) {
        if (strcmp(tree->as.object.entries[i].key, "metadata") != 0) {
            visit(setting, &tree->as.object.entries[i].value);
        }
    }
}

/* The name and what would do better. */
static mdf_status refuse(struct rewriting *rewriting, const char *name, struct mdf_node *root)
{
    struct mdf_parameter_guess guess;
    struct setting setting = {.rewriting = rewriting, .name = name, .guess = &guess};

    mdf_parameter_guess_begin(&guess, rewriting->arena, name);
    visit(&setting, root);
    if (setting.is_input) {
        return mdf_error_set(rewriting->error, MDF_NAME, "'%s' is an input port, no parameter: give it as an input", name);
    }
    if (setting.is_output) {
        return mdf_error_set(rewriting->error, MDF_NAME, "'%s' is an output port, no parameter: its value follows from those",
                             name);
    }
    if (setting.is_node) {
        return mdf_error_set(rewriting->error, MDF_NAME, "'%s' is a node: its parameters are called %s.PARAMETER", name, name);
    }
    return mdf_parameter_guess_refuse(&guess, rewriting->error);
}

mdf_status mdf_refuse_parameter(struct mdf_arena *arena, const struct mdf_document *document, const char *name, mdf_error *error)
{
    struct rewriting rewriting = {.arena = arena, .document = document, .error = error};
    struct mdf_node root = rewriting_copy(&rewriting, &document->root);

    return rewriting.failed ? error->code : refuse(&rewriting, name, &root);
}

bool mdf_find_constants(struct mdf_arena *arena, const struct mdf_document *document,
                        void (*found)(void *context, const char *node, const char *id), void *context)
{
    mdf_error error = {0};
    struct rewriting rewriting = {.arena = arena, .document = document, .error = &error};
    struct mdf_node root = rewriting_copy(&rewriting, &document->root);
    struct setting setting = {.rewriting = &rewriting, .found = found, .context = context};

    if (!rewriting.failed) {
        visit(&setting, &root);
    }
    return !rewriting.failed;
}

mdf_status mdf_set_parameters(struct mdf_arena *arena, const struct mdf_document *document, const struct mdf_node *values,
                              struct mdf_node *root, mdf_error *error)
{
    mdf_error first = {0};
    struct rewriting rewriting = {arena, document, &first, false};

    *root = rewriting_copy(&rewriting, &document->root);
    for (size_t i = 0; i < rewriting_n_entries(values) && !rewriting.failed; i++) {
        struct setting setting = {
            .rewriting = &rewriting, .name = values->as.object.entries[i].key, .value = &values->as.object.entries[i].value};

        visit(&setting, root);
        if (setting.n_set == 0 && !rewriting.failed) {
            rewriting.failed = refuse(&rewriting, setting.name, root) != MDF_OK;
        }
    }
    if (rewriting.failed && error != NULL && error->code == MDF_OK) {
        *error = first;
    }
    return rewriting.failed ? first.code : MDF_OK;
}
