/* onnx_definition.c - the call of an operator that is defined by others: a function of ONNX, made for this call.
 *
 * Comes in: a node. Goes out: a function whose nodes are the steps of the definition (onnx_definition.h) that count for the
 * inputs, outputs and attributes which the call has. What is made lies in the document, as the texts of a file do. */
#include "mdf_c/document/onnx/onnx_definition.h"

#include "mdf_c/document/onnx/onnx_import.h"
#include "mdf_c/tensor/dtype.h"
#include "schemas/onnx_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 32 }; /* inputs, outputs or attributes of one node */

/* A function that is being made. */
struct made {
    struct onnx_import *import;
    struct onnx_scope *scope; /* of the call */
    const Mdf__NodeProto *node;
    const struct onnx_definition *definition;
    Mdf__FunctionProto *function;
    struct onnx_list call;  /* struct onnx_attribute */
    struct onnx_list nodes; /* Mdf__NodeProto */
    struct onnx_map names;  /* what a name of the steps is called in the function; NULL: an input that the call omits */
    struct onnx_map inputs; /* struct onnx_value */
    const char *at;         /* in the step that is read */
};

/* ------------------------------------------------------------------ words */

static void skip_blanks(struct made *made)
{
    while (*made->at == ' ') {
        made->at++;
    }
}

static bool take(struct made *made, char c)
{
    bool found;

    skip_blanks(made);
    found = *made->at == c;
    made->at += found;
    return found;
}

static void need(struct made *made, char c)
{
    bool found = take(made, c);

    assert(found);
    (void)found;
}

/* NULL: out of memory. */
static char *take_word(struct made *made)
{
    const char *from;
    char *word;

    skip_blanks(made);
    from = made->at;
    while (mdf_is_word(*made->at)) {
        made->at++;
    }
    assert(made->at > from);
    word = mdf_arena_text(&made->import->document->arena, from, (size_t)(made->at - from));
    if (word == NULL) {
        mdf_onnx_out_of_memory(made->import);
    }
    return word;
}

/* "alpha=1.0 beta": what stands in the next of the words of a row, its end; NULL behind the last. */
static const char *next_of_row(const char **row, size_t *length)
{
    const char *from = *row + strspn(*row, " ");

    *length = strcspn(from, " ");
    *row = from + *length;
    return *length > 0 ? from : NULL;
}

/* ------------------------------------------------------------------ attributes */

static Mdf__AttributeProto *new_attribute(struct made *made, const char *name)
{
    Mdf__AttributeProto *attribute = mdf_arena_allocate(&made->import->document->arena, sizeof *attribute);

    if (attribute == NULL) {
        mdf_onnx_out_of_memory(made->import);
        return NULL;
    }
    mdf__attribute_proto__init(attribute);
    attribute->name = (char *)(uintptr_t)name;
    return attribute;
}

/* A number, a 'text' or a list of whole numbers. */
static bool take_literal(struct made *made, Mdf__AttributeProto *attribute)
{
    char *end;
    double real;

    if (take(made, '\'')) {
        size_t length = strcspn(made->at, "'");

        attribute->has_s = true;
        attribute->type = MDF_ATTRIBUTE_STRING;
        attribute->s = (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)made->at};
        made->at += length + 1;
        return true;
    }
    if (take(made, '[')) {
        attribute->type = MDF_ATTRIBUTE_INTS;
        attribute->ints = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof *attribute->ints);
        while (attribute->ints != NULL && !take(made, ']')) {
            attribute->ints[attribute->n_ints++] = strtol(made->at, &end, 10);
            made->at = end;
            take(made, ',');
        }
        return attribute->ints != NULL || mdf_onnx_out_of_memory(made->import);
    }
    skip_blanks(made);
    end = (char *)(uintptr_t)made->at + strcspn(made->at, " ,):");
    real = mdf_parse_real(made->at, (size_t)(end - made->at));
    attribute->has_f = memchr(made->at, '.', (size_t)(end - made->at)) != NULL;
    attribute->has_i = !attribute->has_f;
    attribute->type = attribute->has_f ? MDF_ATTRIBUTE_FLOAT : MDF_ATTRIBUTE_INT;
    attribute->f = (float)real;
    attribute->i = (int64_t)real;
    made->at = end;
    return true;
}

/* What an attribute of the call is, or its default; NULL: neither. */
static const Mdf__AttributeProto *attribute_of(const struct made *made, const char *name)
{
    for (size_t i = 0; i < made->call.n; i++) {
        const struct onnx_attribute *attribute = made->call.items[i];

        if (strcmp(attribute->name, name) == 0) {
            return attribute->source;
        }
    }
    for (size_t i = 0; i < made->function->n_attribute_proto; i++) {
        if (strcmp(made->function->attribute_proto[i]->name, name) == 0) {
            return made->function->attribute_proto[i];
        }
    }
    return NULL;
}

static double number_of(const Mdf__AttributeProto *attribute)
{
    return mdf_onnx_attribute_type(attribute) == MDF_ATTRIBUTE_FLOAT ? (double)attribute->f : (double)attribute->i;
}

static bool is_filled(const Mdf__AttributeProto *attribute)
{
    return attribute != NULL &&
           (number_of(attribute) != 0 || attribute->s.len + attribute->n_ints + attribute->n_floats + attribute->n_strings > 0);
}

/* The defaults of the row, and whether all that the call gives is known to it. */
static bool begin_attributes(struct made *made)
{
    const char *row = made->definition->attributes, *word;
    Mdf__AttributeProto **defaults = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof(Mdf__AttributeProto *));
    struct onnx_map known = {0};
    size_t length;

    if (defaults == NULL) {
        return mdf_onnx_out_of_memory(made->import);
    }
    made->function->attribute_proto = defaults;
    while ((word = next_of_row(&row, &length)) != NULL) {
        Mdf__AttributeProto *attribute;
        char *name;

        made->at = word;
        name = take_word(made);
        if (name == NULL || !mdf_onnx_map_put(made->import, &known, name, NULL)) {
            return false;
        }
        if (*made->at == '=') {
            made->at++;
            attribute = new_attribute(made, name);
            if (attribute == NULL || !take_literal(made, attribute)) {
                return false;
            }
            defaults[made->function->n_attribute_proto++] = attribute;
        }
    }
    for (size_t i = 0; i < made->call.n; i++) {
        const struct onnx_attribute *attribute = made->call.items[i];

        if (!mdf_onnx_map_has(&known, attribute->name)) {
            return mdf_onnx_fail(made->import, MDF_UNSUPPORTED, "%s has no attribute '%.100s' here", made->definition->name,
                                 attribute->name);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ conditions */

/* What is known of a value: its rank and type; false where nothing is. A cast keeps the rank. */
static bool form_of(struct made *made, const struct onnx_value *value, int64_t *rank, mdf_dtype *dtype)
{
    const Mdf__TensorShapeProto *shape;
    struct onnx_array array;

    while (value != NULL && value->type == NULL && value->node != NULL && value->node->inputs.n == 1 &&
           (mdf_text_is(value->node->operator, ONNX_CAST) || mdf_text_is(value->node->operator, ONNX_IDENTITY))) {
        value = value->node->inputs.items[0];
    }
    *rank = -1;
    *dtype = MDF_DTYPE_NONE;
    if (value != NULL && value->kind == ONNX_VALUE_CONSTANT) {
        if (!mdf_onnx_constant(made->import, &value->constant, &array)) {
            return false;
        }
        *rank = (int64_t)array.rank;
        *dtype = array.dtype;
    } else if (value != NULL && value->type != NULL) {
        shape = mdf_onnx_type_shape(value->type);
        *rank = shape != NULL ? (int64_t)shape->n_dim : -1;
        *dtype = value->type->tensor_type != NULL ? mdf_dtype_from_onnx(value->type->tensor_type->elem_type) : MDF_DTYPE_NONE;
    }
    return true;
}

static bool is_attribute(struct made *made, bool *holds)
{
    Mdf__AttributeProto *wanted;
    const Mdf__AttributeProto *found;
    char *name = take_word(made);

    if (name == NULL) {
        return false;
    }
    found = attribute_of(made, name);
    *holds = is_filled(found);
    if (*made->at != '=') {
        return true;
    }
    made->at++;
    wanted = new_attribute(made, name);
    if (wanted == NULL || !take_literal(made, wanted)) {
        return false;
    }
    *holds = found != NULL && number_of(found) == number_of(wanted) && found->s.len == wanted->s.len &&
             (wanted->s.len == 0 || memcmp(found->s.data, wanted->s.data, wanted->s.len) == 0);
    return true;
}

static bool is_form(struct made *made, bool is_rank, bool *holds)
{
    const struct onnx_value *value;
    int64_t rank;
    mdf_dtype dtype;
    char *word;

    need(made, '(');
    word = take_word(made);
    if (word == NULL) {
        return false;
    }
    value = mdf_onnx_map_get(&made->inputs, word, NULL);
    need(made, ')');
    need(made, '=');
    word = take_word(made);
    if (word == NULL || !form_of(made, value, &rank, &dtype)) {
        return false;
    }
    *holds = is_rank ? rank == strtol(word, NULL, 10) : dtype != MDF_DTYPE_NONE && mdf_text_is(mdf_dtype_name(dtype), word);
    return true;
}

static bool is_condition(struct made *made, bool *holds)
{
    bool is_opposite = take(made, '!');
    char *word;

    if (take(made, '@')) {
        if (!is_attribute(made, holds)) {
            return false;
        }
    } else {
        word = take_word(made);
        if (word == NULL) {
            return false;
        }
        if (*made->at == '(') {
            if (!is_form(made, *word == 'r', holds)) {
                return false;
            }
        } else {
            *holds = mdf_onnx_map_get(&made->names, word, NULL) != NULL;
        }
    }
    *holds = *holds != is_opposite;
    return true;
}

/* The conditions in front of a step. */
static bool take_conditions(struct made *made, bool *hold)
{
    bool holds;

    *hold = true;
    if (strncmp(made->at, "if ", 3) != 0) {
        return true;
    }
    made->at += 3;
    do {
        if (!is_condition(made, &holds)) {
            return false;
        }
        *hold = *hold && holds;
    } while (take(made, '&'));
    need(made, ':');
    skip_blanks(made);
    return true;
}

/* ------------------------------------------------------------------ nodes */

static Mdf__NodeProto *new_node(struct made *made, const char *domain, const char *operator)
{
    Mdf__NodeProto *node = mdf_arena_allocate(&made->import->document->arena, sizeof *node);

    if (node != NULL) {
        mdf__node_proto__init(node);
        node->op_type = (char *)(uintptr_t) operator;
        node->domain = (char *)(uintptr_t)domain;
        node->input = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof *node->input);
        node->output = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof *node->output);
        node->attribute = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof(Mdf__AttributeProto *));
    }
    if (node == NULL || node->input == NULL || node->output == NULL || node->attribute == NULL) {
        mdf_onnx_out_of_memory(made->import);
        return NULL;
    }
    return node;
}

/* A name that the function has not yet, like `base`. */
static char *new_name(struct made *made, const char *base)
{
    char *name = mdf_arena_printf(&made->import->document->arena, "%s_%zu", base, made->nodes.n);

    if (name == NULL) {
        mdf_onnx_out_of_memory(made->import);
        return NULL;
    }
    return mdf_onnx_map_put(made->import, &made->import->names, name, NULL) ? name : NULL;
}

/* Puts a node behind the others, with an output that nothing calls by name. */
static char *add_unnamed(struct made *made, Mdf__NodeProto *node, const char *base)
{
    char *name = new_name(made, base);

    if (name == NULL || !mdf_onnx_list_add(made->import, &made->nodes, node)) {
        return NULL;
    }
    node->output[node->n_output++] = name;
    return name;
}

/* "@alpha", or what is written as it is: an attribute called `name`; NULL: out of memory. */
static Mdf__AttributeProto *take_value(struct made *made, const char *name)
{
    Mdf__AttributeProto *attribute = new_attribute(made, name);

    if (attribute != NULL && take(made, '@')) {
        attribute->ref_attr_name = take_word(made);
        return attribute->ref_attr_name == NULL ? NULL : attribute;
    }
    return attribute == NULL || !take_literal(made, attribute) ? NULL : attribute;
}

/* A Constant: "@alpha", or a number or list as it is written. */
static char *take_constant(struct made *made)
{
    Mdf__NodeProto *node = new_node(made, "", ONNX_CONSTANT);
    Mdf__AttributeProto *attribute = node == NULL ? NULL : take_value(made, "value");

    if (attribute == NULL) {
        return NULL;
    }
    node->attribute[node->n_attribute++] = attribute;
    return add_unnamed(made, node, "constant");
}

static Mdf__NodeProto *take_call(struct made *made, const char *domain, const char *operator);

/* What an argument is called in the function; "" where it is omitted. */
static char *take_argument(struct made *made)
{
    const char *domain = "", *found;
    char *word;

    skip_blanks(made);
    if (strncmp(made->at, "::", 2) == 0) {
        made->at += 2;
        domain = made->definition->domain;
    } else if (!mdf_begins_identifier(*made->at)) {
        return take_constant(made);
    }
    word = take_word(made);
    if (word != NULL && *made->at == '(') {
        Mdf__NodeProto *node = take_call(made, domain, word);

        return node == NULL ? NULL : add_unnamed(made, node, word);
    }
    if (word == NULL) {
        return NULL;
    }
    found = mdf_onnx_map_get(&made->names, word, NULL);
    return found != NULL ? (char *)(uintptr_t)found : word + strlen(word);
}

/* "name=VALUE" within a call, behind the sign; of "name=@alpha?" nothing where that is not filled. */
static bool take_attribute(struct made *made, Mdf__NodeProto *node, const char *name)
{
    Mdf__AttributeProto *attribute = take_value(made, name);

    if (attribute == NULL) {
        return false;
    }
    if (attribute->ref_attr_name == NULL || !take(made, '?') || is_filled(attribute_of(made, attribute->ref_attr_name))) {
        assert(node->n_attribute < MAX_PARTS);
        node->attribute[node->n_attribute++] = attribute;
    }
    return true;
}

static bool is_named(const struct made *made)
{
    const char *at = made->at + strspn(made->at, " ");

    while (mdf_is_word(*at)) {
        at++;
    }
    return *at == '=';
}

/* The call of an operator, behind its name. Recursion is bounded by the texts of definitions. */
static Mdf__NodeProto *take_call(struct made *made, const char *domain, const char *operator)
{
    Mdf__NodeProto *node = new_node(made, domain, operator);

    if (node == NULL) {
        return NULL;
    }
    need(made, '(');
    while (!take(made, ')')) {
        if (is_named(made)) {
            char *name = take_word(made);

            need(made, '=');
            if (name == NULL || !take_attribute(made, node, name)) {
                return NULL;
            }
        } else {
            char *name = take_argument(made);

            if (name == NULL) {
                return NULL;
            }
            assert(node->n_input < MAX_PARTS);
            node->input[node->n_input++] = name;
        }
        take(made, ',');
    }
    return node;
}

/* "a, b = Split(x)" or "a = b". */
static bool take_step(struct made *made)
{
    char *targets[MAX_PARTS], *word;
    const char *domain = "";
    size_t n = 0;
    Mdf__NodeProto *node;

    do {
        targets[n] = take_word(made);
        if (targets[n++] == NULL) {
            return false;
        }
    } while (take(made, ','));
    need(made, '=');
    skip_blanks(made);
    if (strncmp(made->at, "::", 2) == 0) {
        made->at += 2;
        domain = made->definition->domain;
    }
    word = take_word(made);
    if (word == NULL || *made->at != '(') {
        return word != NULL &&
               mdf_onnx_map_put(made->import, &made->names, targets[0], mdf_onnx_map_get(&made->names, word, NULL));
    }
    node = take_call(made, domain, word);
    if (node == NULL || !mdf_onnx_list_add(made->import, &made->nodes, node)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char *name = new_name(made, targets[i]);

        if (name == NULL || !mdf_onnx_map_put(made->import, &made->names, targets[i], name)) {
            return false;
        }
        node->output[node->n_output++] = name;
    }
    return true;
}

/* ------------------------------------------------------------------ the function */

/* The words of a row as texts. */
static bool list_words(struct made *made, const char *row, char ***texts, size_t *n)
{
    const char *word;
    size_t length;

    *texts = mdf_arena_array(&made->import->document->arena, MAX_PARTS, sizeof **texts);
    while (*texts != NULL && (word = next_of_row(&row, &length)) != NULL) {
        (*texts)[*n] = mdf_arena_text(&made->import->document->arena, word, length);
        if ((*texts)[(*n)++] == NULL) {
            break;
        }
    }
    return (*texts != NULL && (*n == 0 || (*texts)[*n - 1] != NULL)) || mdf_onnx_out_of_memory(made->import);
}

static bool begin_inputs(struct made *made)
{
    for (size_t i = 0; i < made->function->n_input; i++) {
        const char *name = made->function->input[i];
        struct onnx_value *value;

        if (!mdf_onnx_look_up(made->import, made->scope, i < made->node->n_input ? made->node->input[i] : "", &value) ||
            !mdf_onnx_map_put(made->import, &made->inputs, name, value) ||
            !mdf_onnx_map_put(made->import, &made->names, name, value != NULL ? name : NULL)) {
            return false;
        }
    }
    return true;
}

static bool read_steps(struct made *made)
{
    const char *const *step;
    bool holds;

    for (step = made->definition->steps; *step != NULL; step++) {
        made->at = *step;
        if (!take_conditions(made, &holds)) {
            return false;
        }
        if (holds && strncmp(made->at, "refuse ", 7) == 0) {
            return mdf_onnx_fail(made->import, MDF_UNSUPPORTED, "%s: %s", made->definition->name, made->at + 7);
        }
        if (holds && !take_step(made)) {
            return false;
        }
    }
    return true;
}

/* The outputs by what they are called in the function; `used` gets those that the call has. */
static bool end_outputs(struct made *made, struct onnx_map *used)
{
    for (size_t i = 0; i < made->function->n_output; i++) {
        const char *name = mdf_onnx_map_get(&made->names, made->function->output[i], NULL);
        bool is_used = i < made->node->n_output && *made->node->output[i] != '\0' &&
                       mdf_onnx_map_has(&made->import->read, made->node->output[i]);

        if (is_used && name == NULL) {
            return mdf_onnx_fail(made->import, MDF_UNSUPPORTED, "%s: nothing computes '%.100s' with these attributes",
                                 made->definition->name, made->function->output[i]);
        }
        if (is_used && (!mdf_onnx_map_put(made->import, used, name, NULL) ||
                        !mdf_onnx_map_put(made->import, &made->import->read, name, NULL))) {
            return false;
        }
        made->function->output[i] = (char *)(uintptr_t)(is_used ? name : "");
    }
    return true;
}

/* Leaves out nodes and outputs that nothing uses. */
static bool end_nodes(struct made *made, struct onnx_map *used)
{
    size_t first = made->nodes.n;

    made->function->node = mdf_arena_array(&made->import->document->arena, made->nodes.n + 1, sizeof *made->function->node);
    if (made->function->node == NULL) {
        return mdf_onnx_out_of_memory(made->import);
    }
    for (size_t i = made->nodes.n; i-- > 0;) {
        Mdf__NodeProto *node = made->nodes.items[i];
        bool is_used = false;

        for (size_t j = 0; j < node->n_output; j++) {
            bool found = mdf_onnx_map_has(used, node->output[j]);

            is_used = is_used || found;
            node->output[j] = found ? node->output[j] : node->output[j] + strlen(node->output[j]);
        }
        for (size_t j = 0; is_used && j < node->n_input; j++) {
            if (!mdf_onnx_map_put(made->import, used, node->input[j], NULL) ||
                !mdf_onnx_map_put(made->import, &made->import->read, node->input[j], NULL)) {
                return false;
            }
        }
        if (is_used) {
            made->function->node[--first] = node;
        }
    }
    made->function->node += first;
    made->function->n_node = made->nodes.n - first;
    return true;
}

static bool begin_opsets(struct made *made)
{
    Mdf__OperatorSetIdProto *opsets = mdf_arena_array(&made->import->document->arena, 2, sizeof *opsets);
    Mdf__OperatorSetIdProto **imports = mdf_arena_array(&made->import->document->arena, 2, sizeof(Mdf__OperatorSetIdProto *));

    if (opsets == NULL || imports == NULL) {
        return mdf_onnx_out_of_memory(made->import);
    }
    for (size_t i = 0; i < 2; i++) {
        mdf__operator_set_id_proto__init(&opsets[i]);
        opsets[i].has_version = true;
        opsets[i].domain = (char *)(uintptr_t)(i == 0 ? "" : made->definition->domain);
        opsets[i].version = i == 0 ? ONNX_DEFINITION_OPSET : 1;
        imports[i] = &opsets[i];
    }
    made->function->opset_import = imports;
    made->function->n_opset_import = *made->definition->domain == '\0' ? 1 : 2;
    return true;
}

static const struct onnx_definition *find_row(const char *domain, const char *operator)
{
    const struct onnx_definition *row = mdf_onnx_definitions;

    while (row->name != NULL && (strcmp(row->name, operator) != 0 || strcmp(row->domain, domain) != 0)) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}

bool mdf_onnx_find_definition(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node, int opset,
                              const Mdf__FunctionProto **function)
{
    const char *domain = mdf_text_is(mdf_onnx_text(node->domain), "ai.onnx") ? "" : mdf_onnx_text(node->domain);
    struct made made = {.import = import, .scope = scope, .node = node};
    const struct mdf_schema *schema;
    struct onnx_map used = {0};

    *function = NULL;
    made.definition = find_row(domain, mdf_onnx_text(node->op_type));
    if (made.definition == NULL) {
        return true;
    }
    schema = *domain == '\0' ? mdf_schema_find(domain, made.definition->name, opset) : NULL;
    if (schema != NULL && schema->since <= opset) {
        return true;
    }
    made.function = mdf_arena_allocate(&import->document->arena, sizeof *made.function);
    if (made.function == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    mdf__function_proto__init(made.function);
    made.function->name = (char *)(uintptr_t)made.definition->name;
    made.function->domain = (char *)(uintptr_t)made.definition->domain;
    *function = made.function;
    return list_words(&made, made.definition->inputs, &made.function->input, &made.function->n_input) &&
           list_words(&made, made.definition->outputs, &made.function->output, &made.function->n_output) && begin_opsets(&made) &&
           mdf_onnx_resolve_attributes(import, scope, node, &made.call) && begin_attributes(&made) && begin_inputs(&made) &&
           read_steps(&made) && end_outputs(&made, &used) && end_nodes(&made, &used);
}
