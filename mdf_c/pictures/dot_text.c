/* dot_text.c - names, values and expressions as text of a label. See dot_label.h.
 *
 * Whatever a model holds, what comes out is sound XML of bounded length: a value is first written as plain text, as far as it is
 * shown, then cut, escaped and coloured. */
#include "mdf_c/pictures/dot_label.h"
#include "mdf_c/base/text.h"
#include "mdf_c/pictures/drawn_text.h"

#include <inttypes.h>
#include <string.h>

enum {
    MOST_NAME = 80,        /* characters of a name */
    MOST_SHORT_VALUE = 60, /* characters of a value */
    MOST_LONG_VALUE = 240, /* the same, with MDF_DETAIL_ALL */
    LINE_WIDTH = 80,       /* a blank past this many characters breaks the line */
    MOST_ITEMS = 6,        /* of a list that is shown whole */
    FIRST_ITEMS = 3,       /* of a longer one */
    MOST_ELEMENTS = 12,    /* of an array of several axes that is shown whole */
    SHORT_NUMBER = 10      /* characters of a number that is shown with all its digits */
};

#define EMPTY_TEXT "&quot;&quot;" /* Graphviz takes no element without content */

/* ------------------------------------------------------------------ escaping */

/* What stands for a character that the language reads as its own; NULL: it stands for itself. */
static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case ']':
        return "&#93;"; /* Graphviz refuses a text that begins with a closing bracket, as in [<b>x</b>] */
    case '\\':
        return "\\\\"; /* Graphviz reads \N and its like as the name of the node */
    default:
        return NULL;
    }
}

void mdf_dot_escape(struct mdf_text *dot, const char *bytes, size_t length)
{
    const char *instead;
    size_t n;

    for (size_t i = 0; i < length; i += n) {
        n = mdf_drawn_character(bytes + i, length - i, &instead);
        instead = instead == NULL ? entity(bytes[i]) : instead;
        if (instead != NULL) {
            mdf_text_append_string(dot, instead);
        } else {
            mdf_text_append(dot, bytes + i, n);
        }
    }
}

static void begin_color(struct mdf_text *dot, const char *color)
{
    if (color != NULL) {
        mdf_text_printf(dot, "<font color=\"%s\">", color);
    }
}

static void end_color(struct mdf_text *dot, const char *color)
{
    if (color != NULL) {
        mdf_text_append_string(dot, "</font>");
    }
}

void mdf_dot_name(struct mdf_dot_label *label, const char *color, const char *name)
{
    size_t length = strlen(name), shown = mdf_drawn_clip(name, length, MOST_NAME);

    begin_color(label->dot, color);
    mdf_dot_escape(label->dot, name, shown);
    mdf_text_append_string(label->dot, length == 0 ? EMPTY_TEXT : shown < length ? MDF_DRAWN_ELLIPSIS : "");
    end_color(label->dot, color);
}

void mdf_dot_shape(struct mdf_text *dot, size_t rank, const int64_t *shape)
{
    mdf_text_append(dot, "(", 1);
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            mdf_text_printf(dot, "%s?", i > 0 ? ", " : "");
        } else {
            mdf_text_printf(dot, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
        }
    }
    mdf_text_append_string(dot, rank == 1 ? ",)" : ")");
}

/* ------------------------------------------------------------------ values as plain text */

static size_t most_characters(const struct mdf_dot_label *label)
{
    return label->detail == MDF_DETAIL_ALL ? MOST_LONG_VALUE : MOST_SHORT_VALUE;
}

/* More than is shown has been written: the rest need not be. */
static bool is_full(const struct mdf_dot_label *label)
{
    return label->words.failed || label->words.length > 4 * most_characters(label);
}

static void add_real(struct mdf_text *words, double real)
{
    char digits[MDF_NUMBER_TEXT_SIZE];

    if (mdf_format_float64(real, digits) <= SHORT_NUMBER) {
        mdf_text_append_string(words, digits);
    } else {
        mdf_text_printf(words, "%.6g", real);
    }
}

static void add_value(struct mdf_dot_label *label, const struct mdf_node *node);

static void add_item(struct mdf_dot_label *label, const struct mdf_node *list, size_t index)
{
    struct mdf_node item;

    if (!is_full(label) && mdf_node_item(list, index, &item)) {
        add_value(label, &item);
    }
}

static void add_items(struct mdf_dot_label *label, const struct mdf_node *list)
{
    size_t n = mdf_node_length(list), n_first = n > MOST_ITEMS ? FIRST_ITEMS : n, i;

    mdf_text_append(&label->words, "[", 1);
    for (i = 0; i < n_first; i++) {
        mdf_text_append(&label->words, ", ", i > 0 ? 2 : 0);
        add_item(label, list, i);
    }
    if (n > n_first) {
        mdf_text_append_string(&label->words, ", " MDF_DRAWN_ELLIPSIS ", ");
        add_item(label, list, n - 1);
    }
    mdf_text_append(&label->words, "]", 1);
}

static size_t n_elements(const struct mdf_node *numbers)
{
    size_t n;

    return mdf_shape_n_elements(numbers->as.numbers.rank, numbers->as.numbers.shape, &n) ? n : SIZE_MAX;
}

/* An array; one that is not shown whole with its shape. */
static void add_numbers(struct mdf_dot_label *label, const struct mdf_node *numbers)
{
    size_t rank = numbers->as.numbers.rank, n = n_elements(numbers);
    bool is_whole = n <= (rank == 1 ? (size_t)MOST_ITEMS : (size_t)MOST_ELEMENTS);

    if (rank == 1 || is_whole) {
        add_items(label, numbers);
    } else {
        mdf_text_append_string(&label->words, "[" MDF_DRAWN_ELLIPSIS "]");
    }
    if (!is_whole) {
        mdf_text_append_string(&label->words, " (shape: ");
        mdf_dot_shape(&label->words, rank, numbers->as.numbers.shape);
        mdf_text_append(&label->words, ")", 1);
    }
}

static void add_object(struct mdf_dot_label *label, const struct mdf_node *object)
{
    size_t n = object->as.object.n, i;
    const char *id = NULL;

    if (mdf_node_find_graph(object, &id) != NULL) {
        mdf_text_printf(&label->words, id == NULL ? "a graph" : "graph %s", id);
        return;
    }
    mdf_text_append(&label->words, "{", 1);
    for (i = 0; i < n && i < MOST_ITEMS && !is_full(label); i++) {
        mdf_text_printf(&label->words, "%s%s: ", i > 0 ? ", " : "", object->as.object.entries[i].key);
        add_value(label, &object->as.object.entries[i].value);
    }
    mdf_text_append_string(&label->words, i < n ? ", " MDF_DRAWN_ELLIPSIS "}" : "}");
}

/* Recursion is bounded by the reader's limit on depth. */
static void add_value(struct mdf_dot_label *label, const struct mdf_node *node)
{
    size_t most = 4 * most_characters(label) + 1;

    switch ((enum mdf_node_kind)node->kind) {
    case MDF_NODE_NULL:
        mdf_text_append_string(&label->words, "None");
        break;
    case MDF_NODE_BOOL:
        mdf_text_append_string(&label->words, node->as.truth ? "True" : "False");
        break;
    case MDF_NODE_INT:
        mdf_text_printf(&label->words, "%" PRId64, node->as.integer);
        break;
    case MDF_NODE_REAL:
        add_real(&label->words, node->as.real);
        break;
    case MDF_NODE_STRING:
        mdf_text_append(&label->words, node->as.string.bytes, node->as.string.length < most ? node->as.string.length : most);
        break;
    case MDF_NODE_LIST:
        add_items(label, node);
        break;
    case MDF_NODE_NUMBERS:
        add_numbers(label, node);
        break;
    case MDF_NODE_OBJECT:
        add_object(label, node);
        break;
    }
}

/* ------------------------------------------------------------------ colours */

/* The color of a name of the node; NULL: it is none. */
static const char *color_of(const struct mdf_graph_node *node, const char *bytes, size_t length)
{
    if (node == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (mdf_bytes_are(bytes, length, node->parameters[i].definition.id)) {
            return MDF_DOT_COLOR_PARAMETER;
        }
    }
    for (size_t i = 0; i < node->n_input_ports; i++) {
        if (mdf_bytes_are(bytes, length, node->input_ports[i].id)) {
            return MDF_DOT_COLOR_INPUT;
        }
    }
    for (size_t i = 0; i < node->n_functions; i++) {
        if (mdf_bytes_are(bytes, length, node->functions[i].id)) {
            return MDF_DOT_COLOR_FUNCTION;
        }
    }
    for (size_t i = 0; i < node->n_output_ports; i++) {
        if (mdf_bytes_are(bytes, length, node->output_ports[i].id)) {
            return MDF_DOT_COLOR_OUTPUT;
        }
    }
    return NULL;
}

/* Length of the word that stands at the beginning: a name, a number, a text in quotes, or one character. */
static size_t word_length(const char *bytes, size_t length)
{
    size_t n = 1;

    if (mdf_is_word(bytes[0])) {
        while (n < length && (mdf_is_word(bytes[n]) || (mdf_is_digit(bytes[0]) && bytes[n] == '.'))) {
            n++;
        }
    } else if (bytes[0] == '\'' || bytes[0] == '"') {
        while (n < length && bytes[n] != bytes[0]) {
            n++;
        }
        n += n < length;
    }
    return n;
}

bool mdf_dot_mentions(const struct mdf_node *value, const char *name)
{
    size_t n;

    for (size_t i = 0; value->kind == MDF_NODE_STRING && i < value->as.string.length; i += n) {
        n = word_length(value->as.string.bytes + i, value->as.string.length - i);
        if (mdf_bytes_are(value->as.string.bytes + i, n, name)) {
            return true;
        }
    }
    return false;
}

/* Appends the first `length` of the plain words, word by word. */
static void append_words(struct mdf_dot_label *label, size_t length)
{
    const char *words = label->words.bytes;
    size_t n, column = 0;

    for (size_t i = 0; i < length; i += n) {
        const char *color;

        n = word_length(words + i, length - i);
        column += n;
        if (words[i] == ' ' && column > LINE_WIDTH) {
            mdf_text_append_string(label->dot, "<br/>");
            column = 0;
            continue;
        }
        color = mdf_is_word(words[i]) && !mdf_is_digit(words[i]) ? color_of(label->node, words + i, n) : NULL;
        begin_color(label->dot, color);
        mdf_dot_escape(label->dot, words + i, n);
        end_color(label->dot, color);
    }
}

/* Appends the plain words and empties them. */
static void show_words(struct mdf_dot_label *label)
{
    struct mdf_text *words = &label->words;
    size_t shown = mdf_drawn_clip(words->bytes, words->length, most_characters(label));
    const char *color = words->length > 0 ? color_of(label->node, words->bytes, words->length) : NULL;

    if (color != NULL) { /* names that are no identifiers too */
        mdf_dot_name(label, color, words->bytes);
    } else {
        append_words(label, shown);
        mdf_text_append_string(label->dot, words->length == 0 ? EMPTY_TEXT : shown < words->length ? MDF_DRAWN_ELLIPSIS : "");
    }
    label->dot->failed = label->dot->failed || words->failed;
    words->length = 0;
}

void mdf_dot_value(struct mdf_dot_label *label, const struct mdf_node *value)
{
    add_value(label, value);
    show_words(label);
}
