/* known_truth.c - conditions in rules for derivatives that are known when these are compiled.
 *
 * Comes in: the tree of a condition. Goes out: its truth, where nothing but attributes, literals and None decide on it: then only
 * the branch that it chooses is compiled. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* A name that stands for a constant, or None: *value is NULL for what is not None but not known. Nothing is captured. */
static bool known_value(struct target *target, const struct mdf_expression *tree, bool *is_none, const struct mdf_value **value)
{
    const struct binding *binding = NULL;
    const struct scope *scope = target->scope;

    *value = NULL;
    *is_none = tree->kind == MDF_EXPRESSION_NONE;
    if (*is_none) {
        return true;
    }
    for (; tree->kind == MDF_EXPRESSION_NAME && binding == NULL && scope != NULL; scope = scope->outer) {
        binding = scope_find_here(scope, tree->as.text.bytes);
        if (binding != NULL && MDF_OPERAND_KIND(binding->operand) == MDF_OPERAND_CONSTANT) {
            *value = (const struct mdf_value *)scope->unit->constants.items + MDF_OPERAND_INDEX(binding->operand);
            *is_none = (*value)->kind == MDF_KIND_NONE;
        }
    }
    return binding != NULL;
}

static bool is_text(const struct mdf_value *value, const struct mdf_expression *literal)
{
    const char *const *text =
        value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_STRING && value->rank == 0 ? value->data : NULL;

    return text != NULL && mdf_string_length(*text) == literal->as.text.length &&
           memcmp(*text, literal->as.text.bytes, literal->as.text.length) == 0;
}

static bool is_integer(const struct mdf_value *value, int64_t *integer)
{
    bool is_one =
        value->kind == MDF_KIND_TENSOR && value->rank == 0 && (value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_BOOL);

    if (is_one && value->dtype == MDF_DTYPE_BOOL) {
        *integer = *(const bool *)value->data;
    } else if (is_one) {
        memcpy(integer, value->data, sizeof *integer);
    }
    return is_one;
}

/* NAME == literal */
static bool known_equality(struct target *target, const struct mdf_expression *name, const struct mdf_expression *literal,
                           bool *truth)
{
    const struct mdf_value *value;
    int64_t integer;
    bool is_none;

    if (!known_value(target, name, &is_none, &value) || (!is_none && value == NULL)) {
        return false;
    }
    *truth = false;
    if (is_none || literal->kind == MDF_EXPRESSION_STRING) {
        *truth = !is_none && is_text(value, literal);
        return true;
    }
    if (literal->kind == MDF_EXPRESSION_INT && is_integer(value, &integer)) {
        *truth = integer == literal->as.integer;
        return true;
    }
    return false;
}

static bool known_comparison(struct target *target, const struct mdf_expression *tree, bool *truth)
{
    const struct mdf_expression *left = tree->as.list.items[0], *right = tree->as.list.items[1];
    const struct mdf_value *value;
    const char *name = tree->names[0];
    bool is_known = false, is_negated = strcmp(name, "is_not") == 0 || strcmp(name, "ne") == 0;

    if (tree->as.list.n != 2) {
        return false;
    }
    if ((strcmp(name, "is_") == 0 || strcmp(name, "is_not") == 0) && right->kind == MDF_EXPRESSION_NONE) {
        is_known = known_value(target, left, truth, &value);
    } else if (strcmp(name, "eq") == 0 || strcmp(name, "ne") == 0) {
        is_known = known_equality(target, left, right, truth);
    }
    *truth = *truth != is_negated;
    return is_known;
}

static bool known_of_all(struct target *target, const struct mdf_expression *tree, bool *truth)
{
    bool ends = tree->kind == MDF_EXPRESSION_OR;

    for (size_t i = 0; i < tree->as.list.n; i++) {
        if (!known_truth(target, tree->as.list.items[i], truth)) {
            return false;
        }
        if (*truth == ends) {
            return true;
        }
    }
    return true;
}

bool known_truth(struct target *target, const struct mdf_expression *tree, bool *truth)
{
    const struct mdf_value *value;
    int64_t integer;
    bool is_none;

    switch (tree->kind) {
    case MDF_EXPRESSION_COMPARE:
        return known_comparison(target, tree, truth);
    case MDF_EXPRESSION_AND:
    case MDF_EXPRESSION_OR:
        return known_of_all(target, tree, truth);
    case MDF_EXPRESSION_NAME: /* a number */
        if (!known_value(target, tree, &is_none, &value) || (!is_none && (value == NULL || !is_integer(value, &integer)))) {
            return false;
        }
        *truth = !is_none && integer != 0;
        return true;
    default:
        return false;
    }
}

bool known_none(struct target *target, const struct mdf_expression *tree, bool *is_none)
{
    const struct mdf_value *value;

    return known_value(target, tree, is_none, &value);
}
