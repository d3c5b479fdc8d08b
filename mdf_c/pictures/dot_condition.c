/* dot_condition.c - scheduling conditions as phrases. See dot_label.h.
 *
 * A condition that has a phrase in its row (mdf_c/plan/conditions/condition_kinds.c) is told by it: "every 2 calls of A". Any
 * other, and any whose arguments are not those that the phrase names, is told as it is written: "TimeInterval (repeat = 8, unit =
 * ms)". What is right is the compiler's business.
 */
#include "mdf_c/pictures/dot_label.h"
#include "mdf_c/pictures/drawn_text.h"
#include "mdf_c/plan/conditions/condition_terms.h"

#include <string.h>

enum {
    MOST_PARTS = 12,          /* of a condition that are told */
    MOST_ARGUMENTS = 64,      /* that are looked at */
    MOST_TEXT_BYTES = 1 << 14 /* a label that is longer takes no further parts */
};

/* The arguments of a condition, wherever they are written: in kwargs, in args, or beside the type. */
static const struct mdf_node_entry *argument_at(const struct mdf_node *condition, size_t index)
{
    static const char *const fields[] = {"kwargs", "args"};

    if (index >= MOST_ARGUMENTS) {
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct mdf_node *arguments = mdf_node_get(condition, fields[i]);

        if (arguments != NULL && arguments->kind == MDF_NODE_OBJECT) {
            if (index < arguments->as.object.n) {
                return &arguments->as.object.entries[index];
            }
            index -= arguments->as.object.n;
        }
    }
    for (size_t i = 0; i < condition->as.object.n; i++) {
        const struct mdf_node_entry *entry = &condition->as.object.entries[i];
        bool is_field = strcmp(entry->key, "type") == 0 || strcmp(entry->key, "id") == 0 || strcmp(entry->key, "metadata") == 0 ||
                        ((strcmp(entry->key, "kwargs") == 0 || strcmp(entry->key, "args") == 0) &&
                         (entry->value.kind == MDF_NODE_OBJECT || entry->value.kind == MDF_NODE_NULL));

        if (!is_field && index-- == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Whether an argument's name is the one that a phrase says; "dependencies" and "nodes" are as good as the singular. */
static bool is_named(const char *name, const char *wanted, size_t length)
{
    return (strncmp(name, wanted, length) == 0 && name[length] == '\0') ||
           (length == 10 && strncmp(wanted, "dependency", 10) == 0 && strcmp(name, "dependencies") == 0) ||
           (length == 4 && strncmp(wanted, "node", 4) == 0 && strcmp(name, "nodes") == 0);
}

/* Null and an empty list are as good as nothing. */
static bool is_given(const struct mdf_node *value)
{
    return value->kind != MDF_NODE_NULL && !(value->kind >= MDF_NODE_LIST && mdf_node_length(value) == 0);
}

static const struct mdf_node *find_argument(const struct mdf_node *condition, const char *wanted, size_t length)
{
    const struct mdf_node_entry *entry;

    for (size_t i = 0; (entry = argument_at(condition, i)) != NULL; i++) {
        if (is_named(entry->key, wanted, length)) {
            return is_given(&entry->value) ? &entry->value : NULL;
        }
    }
    return NULL;
}

/* Whether the arguments are just those that the phrase names. */
static bool fits(const char *words, size_t n_words, const struct mdf_node *condition)
{
    const char *end = words + n_words;
    const struct mdf_node_entry *entry;
    size_t n_named = 0, n_given = 0;

    for (; (words = memchr(words, '{', (size_t)(end - words))) != NULL; n_named++) {
        words++;
        if (find_argument(condition, words, strcspn(words, "}")) == NULL) {
            return false;
        }
    }
    for (size_t i = 0; (entry = argument_at(condition, i)) != NULL; i++) {
        n_given += is_given(&entry->value);
    }
    return n_given == n_named;
}

/* The phrase that fits, and its length; NULL: none does. */
static const char *phrase_of(const char *type, const struct mdf_node *condition, size_t *length)
{
    const char *phrase = mdf_condition_phrases(type);

    while (phrase != NULL) {
        *length = strcspn(phrase, "|");
        if (fits(phrase, *length, condition)) {
            return phrase;
        }
        phrase = phrase[*length] == '|' ? phrase + *length + 1 : NULL;
    }
    return NULL;
}

static bool is_condition(const struct mdf_node *node)
{
    const struct mdf_node *type = mdf_node_get(node, "type");

    return type != NULL && type->kind == MDF_NODE_STRING;
}

static void tell(struct mdf_dot_label *label, const struct mdf_node *condition, bool is_inner);

static void add_names(struct mdf_dot_label *label, const struct mdf_node *names)
{
    size_t n = names->as.list.n, i;

    for (i = 0; i < n && i < MOST_PARTS; i++) {
        mdf_text_append_string(label->dot, i == 0 ? "" : i + 1 == n ? " and " : ", ");
        mdf_dot_value(label, &names->as.list.items[i]);
    }
    mdf_text_append_string(label->dot, i < n ? ", " MDF_DRAWN_ELLIPSIS : "");
}

/* An argument: a condition is told in turn, names of nodes are listed. */
static void add_argument(struct mdf_dot_label *label, const struct mdf_node *value)
{
    if (is_condition(value)) {
        tell(label, value, true);
        return;
    }
    mdf_text_append_string(label->dot, "<b>");
    if (value->kind == MDF_NODE_LIST && value->as.list.n > 0 && value->as.list.items[0].kind == MDF_NODE_STRING) {
        add_names(label, value);
    } else {
        mdf_dot_value(label, value);
    }
    mdf_text_append_string(label->dot, "</b>");
}

static void tell_phrase(struct mdf_dot_label *label, const char *words, size_t n_words, const struct mdf_node *condition)
{
    const char *end = words + n_words;

    while (words < end) {
        size_t length = strcspn(words, "{|");

        mdf_text_append(label->dot, words, length);
        words += length;
        if (words < end) {
            length = strcspn(words, "}");
            add_argument(label, find_argument(condition, words + 1, length - 1));
            words += length + 1;
        }
    }
}

/* The parts of All and Any: conditions in lists, or under names of their own. The number of them; told where `joint` is given. */
static size_t tell_parts(struct mdf_dot_label *label, const struct mdf_node *parts, const char *joint, size_t n_told)
{
    struct mdf_node item;

    if (is_condition(parts)) {
        if (joint != NULL && n_told < MOST_PARTS) {
            mdf_text_append_string(label->dot, n_told > 0 ? joint : "");
            tell(label, parts, true);
        }
        return n_told + 1;
    }
    for (size_t i = 0; parts->kind == MDF_NODE_LIST && mdf_node_item(parts, i, &item); i++) {
        n_told = tell_parts(label, &item, joint, n_told);
    }
    return n_told;
}

static size_t tell_all_parts(struct mdf_dot_label *label, const struct mdf_node *condition, const char *joint)
{
    const struct mdf_node *positional = mdf_node_get(condition, "args");
    const struct mdf_node_entry *entry;
    size_t n = 0;

    if (positional != NULL && positional->kind == MDF_NODE_LIST) {
        return tell_parts(label, positional, joint, n);
    }
    for (size_t i = 0; (entry = argument_at(condition, i)) != NULL; i++) {
        n = tell_parts(label, &entry->value, joint, n);
    }
    return n;
}

/* "Type (name = value, ...)" */
static void tell_as_written(struct mdf_dot_label *label, const char *type, const struct mdf_node *condition)
{
    const struct mdf_node_entry *entry;
    size_t n_told = 0;

    mdf_dot_name(label, NULL, type);
    for (size_t i = 0; (entry = argument_at(condition, i)) != NULL && n_told < MOST_PARTS; i++) {
        if (is_given(&entry->value)) {
            mdf_text_append_string(label->dot, n_told++ > 0 ? ", " : " (");
            mdf_dot_name(label, NULL, entry->key);
            mdf_text_append_string(label->dot, " = ");
            add_argument(label, &entry->value);
        }
    }
    mdf_text_append_string(label->dot, entry != NULL ? ", " MDF_DRAWN_ELLIPSIS ")" : n_told > 0 ? ")" : "");
}

/* Recursion is bounded by the reader's limit on depth. */
static void tell(struct mdf_dot_label *label, const struct mdf_node *condition, bool is_inner)
{
    const char *type, *words, *joint;
    size_t n_parts, n_words = 0;

    if (!is_condition(condition)) {
        mdf_dot_value(label, condition);
        return;
    }
    if (label->dot->length - label->start > MOST_TEXT_BYTES) {
        mdf_text_append_string(label->dot, MDF_DRAWN_ELLIPSIS);
        return;
    }
    type = mdf_node_get(condition, "type")->as.string.bytes;
    joint = mdf_condition_joint(type);
    n_parts = joint != NULL ? tell_all_parts(label, condition, NULL) : 0;
    words = phrase_of(type, condition, &n_words);
    if (n_parts > 0) {
        is_inner = is_inner && n_parts > 1;
        mdf_text_append_string(label->dot, is_inner ? "(" : "");
        tell_all_parts(label, condition, joint);
        mdf_text_append_string(label->dot, n_parts > MOST_PARTS ? " " MDF_DRAWN_ELLIPSIS : "");
        mdf_text_append_string(label->dot, is_inner ? ")" : "");
    } else if (words != NULL) {
        tell_phrase(label, words, n_words, condition);
    } else {
        tell_as_written(label, type, condition);
    }
}

void mdf_dot_condition(struct mdf_dot_label *label, const struct mdf_node *condition)
{
    tell(label, condition, false);
}
