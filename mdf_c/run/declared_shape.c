/* declared_shape.c - see declared_shape.h. What has one element goes into a port of any shape, and a declared shape of one
 * element takes any value, as both broadcast in an expression: exporters write (1,) for what they do not know. Nor is an array of
 * fewer axes than declared refused: the reference engine's users give such, and it computes with them. */
#include "mdf_c/run/declared_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_one_element(const struct mdf_declaration *declaration)
{
    size_t i;

    for (i = 0; i < declaration->rank && declaration->shape[i] == 1; i++) {
    }
    return i == declaration->rank;
}

static bool fits(const struct mdf_declaration *declaration, const struct mdf_value *array)
{
    const int64_t *shape = mdf_value_shape(array);
    size_t rank = array->rank;

    for (; rank > declaration->rank && shape[0] == 1; rank--) {
        shape++;
    }
    if (array->length == 1 || has_one_element(declaration) || rank < declaration->rank) {
        return true;
    }
    for (size_t i = 0; rank == declaration->rank && i < rank; i++) {
        if (declaration->shape[i] >= 0 && declaration->shape[i] != shape[i]) {
            return false;
        }
    }
    return rank == declaration->rank;
}

/* As Python writes it: "(2, 3)", "(3,)"; "?": an axis of any size. */
static void describe(const int64_t *shape, size_t rank, char *text, size_t size)
{
    size_t used;

    snprintf(text, size, "(");
    for (size_t i = 0; i < rank; i++) {
        used = strlen(text);
        if (shape[i] < 0) {
            snprintf(text + used, size - used, "%s?", i > 0 ? ", " : "");
        } else {
            snprintf(text + used, size - used, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
        }
    }
    used = strlen(text);
    snprintf(text + used, size - used, rank == 1 ? ",)" : ")");
}

static bool tell(struct mdf_state *state, const struct mdf_declaration *declaration, const struct mdf_origin *origin,
                 const struct mdf_value *array)
{
    mdf_error *error = &state->shared->execution.context.error;
    char declared[200], given[200];

    describe(declaration->shape, declaration->rank, declared, sizeof declared);
    describe(mdf_value_shape(array), array->rank, given, sizeof given);
    mdf_error_set(error, MDF_SHAPE, "the port has another shape than its value: declared %s, given %s", declared, given);
    mdf_error_at(error, origin->file, origin->line, origin->column);
    mdf_error_in(error, "%s", origin->path != NULL ? origin->path : "");
    return false;
}

bool mdf_declared_shape_holds(struct mdf_state *state, const struct mdf_declaration *declaration, const struct mdf_origin *origin,
                              const struct mdf_value *value)
{
    struct mdf_memory *memory = &state->shared->memory;
    struct mdf_value array = {0};
    bool holds;
    int made = 0;

    if (!declaration->has_shape || declaration->type.sequence) {
        return true;
    }
    if (value->kind == MDF_KIND_LIST) {
        made = mdf_value_from_nested_list(memory, &array, value);
        value = made == 1 ? &array : value; /* a list of numbers is read as an array */
    }
    if (made < 0) {
        return mdf_state_out_of_memory(state);
    }
    holds = value->kind != MDF_KIND_TENSOR || fits(declaration, value) || tell(state, declaration, origin, value);
    mdf_value_clear(memory, &array);
    return holds;
}

bool mdf_declared_shapes_hold(struct mdf_state *state, const struct mdf_program_node *node)
{
    bool hold = true;

    for (size_t i = 0; i < node->n_shaped && hold; i++) {
        const struct mdf_program_shaped *port = &node->shaped[i];

        hold = mdf_declared_shape_holds(state, &port->declaration, &port->origin, mdf_frame_value(state->frame, port->operand));
    }
    return hold;
}
