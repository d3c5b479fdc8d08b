/* export_nodes.c - nodes of ONNX from a text: what elements.def (NODES) or the row of a function (`nodes`) says, or the name of the
 * operator whose row has the same element. */
#include "mdf_c/export/export_writing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 3, NAME_SIZE = 32, N_LETTERS = 26 };

/* What stands in a text. */
struct term {
    enum { TERM_LEFT_OUT, TERM_OPERAND, TERM_NUMBER, TERM_NODE } kind;
    struct symbol symbol; /* of an operand and a node */
    double number;
    char letter; /* of an operand */
};

/* A text that is being read. */
struct reading {
    struct writing *writing;
    const char *at;
    struct term letters[N_LETTERS]; /* operands, and what the text named */
    mdf_dtype dtype;                /* of operands */
};

/* A type that a formal takes: a truth, where it takes nothing else. */
static mdf_dtype type_for(const struct mdf_formal *formal, mdf_dtype dtype)
{
    if (formal == NULL || formal->tensor_types == MDF_DTYPE_BIT(MDF_DTYPE_BOOL)) {
        return formal == NULL ? dtype : MDF_DTYPE_BOOL;
    }
    return dtype == MDF_DTYPE_BOOL && (formal->tensor_types & MDF_DTYPE_BIT(MDF_DTYPE_BOOL)) == 0 ? MDF_DTYPE_INT32 : dtype;
}

static bool bring(struct reading *reading, const struct term *term, const struct mdf_formal *formal, struct symbol *result)
{
    mdf_dtype dtype = type_for(formal, reading->dtype);

    switch (term->kind) {
    case TERM_OPERAND:
        if (!writing_cast(reading->writing, &term->symbol, dtype, result)) {
            return false;
        }
        if (term->letter != '\0' && dtype == reading->dtype) {
            reading->letters[term->letter - 'a'].symbol = *result; /* the next time it is there */
        }
        return true;
    case TERM_NUMBER:
        return symbol_of_real(reading->writing->exporter, term->number, dtype, result);
    case TERM_NODE:
    case TERM_LEFT_OUT:
        *result = term->symbol;
        return true;
    }
    return false;
}

/* What an operator makes of terms that are there. */
static bool apply(struct reading *reading, const char *operator, struct mdf_text *attributes, const struct term *terms, size_t n,
                  struct term *result)
{
    struct exporter *exporter = reading->writing->exporter;
    const struct mdf_schema *schema = mdf_schema_find("", operator, exporter->opset);
    const struct symbol *inputs[MOST_ARGUMENTS];
    struct symbol symbols[MOST_ARGUMENTS], like = *reading->writing->result;

    if (schema == NULL) {
        return writing_refuse(reading->writing);
    }
    like.dtype = MDF_DTYPE_NONE;
    for (size_t i = 0; i < n; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_input(schema, i);

        if (!bring(reading, &terms[i], formal, &symbols[i])) {
            return false;
        }
        inputs[i] = &symbols[i];
        if (like.dtype == MDF_DTYPE_NONE && formal != NULL && formal->variable >= 0 &&
            formal->variable == schema->outputs[0].variable) {
            like.dtype = symbols[i].dtype;
        }
    }
    for (size_t i = 0; like.dtype == MDF_DTYPE_NONE && i < MDF_DTYPE_COUNT;
         i++) { /* the one that there is: truths, sizes of axes */
        like.dtype = schema->outputs[0].tensor_types == MDF_DTYPE_BIT(i) ? (mdf_dtype)i : MDF_DTYPE_NONE;
    }
    like.has_shape = like.has_shape && schema->outputs[0].tensor_types != MDF_DTYPE_BIT(MDF_DTYPE_INT64); /* of a shape */
    *result = (struct term){.kind = TERM_NODE};
    return export_op(exporter, reading->writing->graph, operator, inputs, n, attributes, &like, &result->symbol);
}

static void skip_blanks(struct reading *reading)
{
    reading->at += strspn(reading->at, " ");
}

static bool take(struct reading *reading, char character)
{
    bool is_there;

    skip_blanks(reading);
    is_there = *reading->at == character;
    reading->at += is_there;
    return is_there;
}

static void read_name(struct reading *reading, char name[NAME_SIZE])
{
    size_t n = 0;

    for (; isalnum((unsigned char)*reading->at) && n + 1 < NAME_SIZE; reading->at++) {
        name[n++] = *reading->at;
    }
    name[n] = '\0';
}

/* "<fmod=1>" */
static void read_attribute(struct reading *reading, struct mdf_text *attributes)
{
    char name[NAME_SIZE], *end;

    if (take(reading, '<')) {
        read_name(reading, name);
        export_attribute_integer(attributes, name, strtol(reading->at + 1, &end, 10));
        reading->at = end + 1;
    }
}

static bool read_term(struct reading *reading, struct term *term);

/* "Add(a, Mul(b, 2))" */
static bool read_node(struct reading *reading, struct term *term)
{
    struct term terms[MOST_ARGUMENTS];
    struct mdf_text attributes;
    char operator[NAME_SIZE];
    size_t n = 0, n_written = 0;
    bool done = true;

    mdf_text_init(&attributes, reading->writing->exporter->memory);
    read_name(reading, operator);
    read_attribute(reading, &attributes);
    for (done = take(reading, '('); done && n_written < MOST_ARGUMENTS; done = take(reading, ',')) {
        if (!read_term(reading, &terms[n])) {
            mdf_text_release(&attributes);
            return false;
        }
        n += terms[n].kind != TERM_LEFT_OUT;
        n_written++;
    }
    (void)take(reading, ')');
    if (n == n_written) {
        done = apply(reading, operator, &attributes, terms, n, term);
    } else {
        *term = n == 0 ? (struct term){.kind = TERM_LEFT_OUT} : terms[0];
        done = n <= 1 || writing_refuse(reading->writing);
    }
    mdf_text_release(&attributes);
    return done;
}

static bool read_term(struct reading *reading, struct term *term)
{
    size_t length;

    skip_blanks(reading);
    if (isupper((unsigned char)*reading->at)) {
        return read_node(reading, term);
    }
    if (islower((unsigned char)*reading->at)) {
        *term = reading->letters[*reading->at++ - 'a'];
        return true;
    }
    length = strspn(reading->at, "0123456789.");
    *term = (struct term){.kind = TERM_NUMBER, .number = mdf_parse_real(reading->at, length)};
    reading->at += length;
    return true;
}

/* "r = TERM; ...; TERM" */
static bool read_text(struct reading *reading, const char *text, struct term *term)
{
    for (reading->at = text;;) {
        const char *name = reading->at + strspn(reading->at, " ");
        bool is_named = islower((unsigned char)*name) && name[1] == ' ' && name[2] == '=';

        reading->at = is_named ? name + 3 : name;
        if (!read_term(reading, term)) {
            return false;
        }
        if (!is_named) {
            return true;
        }
        reading->letters[*name - 'a'] = *term;
        (void)take(reading, ';');
    }
}

static void set_operand(struct reading *reading, size_t i, const struct symbol *symbol)
{
    reading->letters[i] = (struct term){.kind = symbol->kind == SYMBOL_NOTHING ? TERM_LEFT_OUT : TERM_OPERAND,
                                        .symbol = *symbol, .letter = (char)('a' + i)};
}

static bool begin(struct reading *reading, struct writing *writing, const struct symbol *operands, size_t n)
{
    mdf_dtype dtype = writing->result->dtype;

    *reading = (struct reading){.writing = writing,
                                .dtype = dtype != MDF_DTYPE_BOOL ? dtype
                                                                 : export_common_type_of_all(writing->exporter, operands, n)};
    return reading->dtype != MDF_DTYPE_NONE || export_refuse(writing->exporter, "its operands have no common type");
}

static bool finish(struct reading *reading, const struct term *term)
{
    struct symbol symbol;

    return bring(reading, term, NULL, &symbol) &&
           writing_cast(reading->writing, &symbol, reading->writing->result->dtype, reading->writing->result);
}

/* A text of two operands over all that there are. */
static bool write_all(struct writing *writing, const char *text)
{
    const struct symbol *operands = writing->inputs;
    size_t n = writing->n_inputs;
    struct reading reading;
    struct term term;

    if (n == 1 && operands[0].kind == SYMBOL_LIST) {
        n = operands[0].n_items;
        operands = operands[0].items;
    } else if (n == 1) {
        return writing_refuse(writing);
    }
    if (!begin(&reading, writing, operands, n)) {
        return false;
    }
    set_operand(&reading, 0, &operands[0]);
    term = reading.letters[0];
    for (size_t i = 1; i < n; i++) {
        set_operand(&reading, 1, &operands[i]);
        if (!read_text(&reading, text, &term)) {
            return false;
        }
        reading.letters[0] = term;
    }
    return finish(&reading, &term);
}

static bool write_one(struct writing *writing, const char *text, size_t n)
{
    struct reading reading;
    struct term term;

    if (!begin(&reading, writing, writing->inputs, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        set_operand(&reading, i, &writing->inputs[i]);
    }
    return read_text(&reading, text, &term) && finish(&reading, &term);
}

bool writing_nodes(struct writing *writing, const char *text)
{
    const char *formals = writing->call->operator->formals;

    return formals != NULL && formals[0] == '*' ? write_all(writing, text) : write_one(writing, text, writing->n_inputs);
}

/* The kinds of elements that a type is of, half precision too. */
static unsigned kinds_of(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f' ? MDF_ELEMENTS_REALS : mdf_element_kind(dtype);
}

/* The operator of ONNX whose row has the element and no attributes. */
static const char *operator_of_element(const struct exporter *exporter, const struct mdf_element *element)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row = export_row(exporter, schema);

        if (row != NULL && row->element == element && row->settings == NULL) {
            return schema->name;
        }
    }
    return NULL;
}

/* An operator of all operands. */
static bool write_operator(struct writing *writing, const char *operator, size_t n)
{
    struct term terms[MOST_ARGUMENTS], term;
    struct mdf_text attributes;
    struct reading reading;
    bool done;

    if (n > MOST_ARGUMENTS || !begin(&reading, writing, writing->inputs, n)) {
        return n <= MOST_ARGUMENTS ? false : writing_refuse(writing);
    }
    for (size_t i = 0; i < n; i++) {
        terms[i] = (struct term){.kind = TERM_OPERAND, .symbol = writing->inputs[i]};
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    done = apply(&reading, operator, &attributes, terms, n, &term) && finish(&reading, &term);
    mdf_text_release(&attributes);
    return done;
}

bool writing_element(struct writing *writing, const struct mdf_element *element)
{
    const char *text = mdf_element_nodes(element, kinds_of(writing->result->dtype)), *operator;
    size_t n = element->n_operands;

    for (size_t i = n; i < writing->n_inputs; i++) {
        if (writing->inputs[i].kind != SYMBOL_NOTHING) {
            return writing_refuse(writing); /* an argument that makes it another function */
        }
    }
    if (text != NULL && n <= writing->n_inputs) {
        return write_one(writing, text, n);
    }
    operator= operator_of_element(writing->exporter, element);
    return operator!= NULL && n <= writing->n_inputs ? write_operator(writing, operator, n) : writing_refuse(writing);
}
