/* registry.c - finds the row of an operator by name. See operator.h.
 *
 * The list of tables is made by the build from the files that are there (tools/list_operator_tables.sh): a family joins by
 * being a file that ends in its table. Look-ups happen while a model is compiled, never while it runs. */
#include "functions/kernel/operator.h"

#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "mdf_c/base/text.h"

#include <string.h>

#define MDF_OPERATOR_TABLE(table, family) extern const struct mdf_operator table[];
#include "build/generated/operator_tables.inc"
#undef MDF_OPERATOR_TABLE

/* What the rows of a table are. */
enum family { FAMILY_ONNX, FAMILY_FUNCTION, FAMILY_ATTRIBUTE };

static const struct table {
    enum family family;
    const struct mdf_operator *rows;
} tables[] = {
#define MDF_OPERATOR_TABLE(table, family) {FAMILY_##family, table},
#include "build/generated/operator_tables.inc"
#undef MDF_OPERATOR_TABLE
    {FAMILY_ONNX, NULL}};

/* "sum" of "numpy.sum". */
static const char *last_component(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot == NULL ? name : dot + 1;
}

const struct mdf_operator *mdf_operator_onnx(const char *name, int schema_version)
{
    const struct table *table;
    const struct mdf_operator *row;

    for (table = tables; table->rows != NULL; table++) {
        for (row = table->rows; table->family == FAMILY_ONNX && row->name != NULL; row++) {
            if (mdf_text_is(row->name, name) && row->since <= schema_version && schema_version <= row->until) {
                return row;
            }
        }
    }
    return NULL;
}

/* The first Python row of a family that has all `flags`, by its whole name or by the last component. */
static const struct mdf_operator *find_python(enum family family, const char *name, bool whole, unsigned flags)
{
    const struct table *table;
    const struct mdf_operator *row;

    for (table = tables; table->rows != NULL; table++) {
        for (row = table->rows; table->family == family && row->name != NULL; row++) {
            if ((row->flags & flags) == flags && strcmp(whole ? row->name : last_component(row->name), name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

const struct mdf_operator *mdf_operator_python(const char *name)
{
    return find_python(FAMILY_FUNCTION, name, true, 0);
}

const struct mdf_operator *mdf_operator_method(const char *name)
{
    return find_python(FAMILY_FUNCTION, name, false, MDF_OPERATOR_METHOD);
}

const struct mdf_operator *mdf_operator_attribute(const char *name)
{
    return find_python(FAMILY_ATTRIBUTE, name, false, 0);
}

static bool is_called(const struct mdf_operator *row, const char *name)
{
    size_t length = strlen(name);
    const char *at = row->called;

    while (length > 0 && at != NULL && (at = strstr(at, name)) != NULL && (at[-1] != ' ' || at[length] != ' ')) {
        at++;
    }
    return length > 0 && at != NULL;
}

const struct mdf_operator *mdf_operator_called(const char *name)
{
    const struct mdf_operator *found = find_python(FAMILY_FUNCTION, name, false, 0), *row;
    const struct table *table;

    for (table = tables; found == NULL && table->rows != NULL; table++) {
        for (row = table->rows; found == NULL && table->family == FAMILY_FUNCTION && row->name != NULL; row++) {
            found = is_called(row, name) ? row : NULL;
        }
    }
    return found;
}

/* The rows of a family that have all `flags`: methods by the last component of their names. */
static void offer(enum family family, unsigned flags, struct mdf_nearest *nearest)
{
    const struct table *table;
    const struct mdf_operator *row;

    for (table = tables; table->rows != NULL; table++) {
        for (row = table->rows; table->family == family && row->name != NULL; row++) {
            if ((row->flags & flags) == flags) {
                mdf_nearest_offer(nearest, flags & MDF_OPERATOR_METHOD ? last_component(row->name) : row->name);
            }
        }
    }
}

void mdf_operator_offer_python(struct mdf_nearest *nearest)
{
    offer(FAMILY_FUNCTION, 0, nearest);
}

void mdf_operator_offer_methods(struct mdf_nearest *nearest)
{
    offer(FAMILY_FUNCTION, MDF_OPERATOR_METHOD, nearest);
}

void mdf_operator_offer_attributes(struct mdf_nearest *nearest)
{
    offer(FAMILY_ATTRIBUTE, 0, nearest);
}

const struct mdf_operator *mdf_operator_python_at(size_t i)
{
    const struct table *table;
    const struct mdf_operator *row;

    for (table = tables; table->rows != NULL; table++) {
        for (row = table->rows; table->family != FAMILY_ONNX && row->name != NULL; row++) {
            if (i-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ what columns come to */

static const char *lowered_as(const struct mdf_operator *row)
{
    bool is_op = row->element != NULL || row->element_of != NULL || row->written_out == MDF_WRITTEN_OUT_CHOICES ||
                 (row->move != NULL && row->move->in_order);

    return row->kernel == NULL                                               ? "others"
           : row->form >= MDF_FORM_IF                                        ? "control"
           : row->form == MDF_FORM_MATMUL || row->form == MDF_FORM_GEMM      ? "product"
           : is_op                                                           ? "op"
           : row->fold != NULL || row->move != NULL || row->of_items != NULL ? "nest"
                                                                             : "call";
}

static const char *derivative_of(const struct mdf_operator *row)
{
    bool any = ((row->move != NULL || row->meaning != NULL) && row->derivatives != mdf_derivatives_flat) ||
               row->of_items != NULL || row->form == MDF_FORM_LIST || row->form == MDF_FORM_OUTPUTS ||
               row->derivatives == mdf_derivatives_parts ||
               (row->written_out != MDF_WRITTEN_OUT_NOT && row->written_out <= MDF_WRITTEN_OUT_SUM),
         flat = false;

    any = any || (row->form >= MDF_FORM_IF && row->form <= MDF_FORM_SCAN); /* body by body */

    for (size_t input = 0; !any && input < MDF_DERIVATIVE_INPUTS; input++) {
        const struct mdf_derivative *rule = mdf_derivative_find(row, NULL, input);

        any = rule != NULL && rule->expression != NULL;
        flat = flat || rule != NULL;
    }
    return any ? "yes" : flat ? "0" : NULL;
}

const struct mdf_rule *mdf_operator_rule(const struct mdf_operator *row)
{
    return row->infer != NULL                                ? row->infer
           : row->element != NULL || row->element_of != NULL ? &mdf_rule_broadcast
           : row->fold != NULL                               ? &mdf_rule_reduce
                                                             : NULL;
}

struct mdf_operator_ways mdf_operator_ways(const struct mdf_operator *row)
{
    struct mdf_operator_ways ways = {lowered_as(row), false, row->element_of != NULL ? "yes" : derivative_of(row)};

    ways.has_c = row->kernel == NULL || row->element != NULL || row->element_of != NULL || row->fold != NULL ||
                 row->form != MDF_FORM_NONE || row->move != NULL || row->routine != NULL ||
                 row->of_items != NULL || row->written_out != MDF_WRITTEN_OUT_NOT;
    return ways;
}
