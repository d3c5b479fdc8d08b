/* set_parameters.h - a document with other values of its parameters, as if its file had them.
 *
 * Comes in: the tree of a document, and an object {NAME: value}, NAME being NODE.PARAMETER, or PARAMETER for every one of that
 * name, of nodes at any depth and of graphs. Goes out: another tree. A value stands where the file has a constant: as the
 * parameter's `value`, or as its `default_initial_value` where the value is computed. A computed parameter without one is that
 * value from then on. */
#ifndef MDF_DIALECT_SET_PARAMETERS_H
#define MDF_DIALECT_SET_PARAMETERS_H

#include "mdf_c/base/error.h"
#include "mdf_c/document/document.h"

/* Whether `name` is PARAMETER, or NODE.PARAMETER, of a parameter or port. A parameter of a graph has no node: NULL. */
bool mdf_part_is_named(const char *node, const char *id, const char *name);
/* The parameter that was probably meant by a name which none has: the nearest by its own name or by NODE.PARAMETER; else, where
 * only the node is wrong, the nearest by what stands behind the dot. */
struct mdf_parameter_guess {
    struct mdf_arena *arena;
    struct mdf_nearest whole, behind_dot;
    const char *named; /* NODE.PARAMETER of the one that is nearest behind the dot */
};
void mdf_parameter_guess_begin(struct mdf_parameter_guess *guess, struct mdf_arena *arena, const char *name);
/* A parameter of a node, or (`node` NULL) of a graph. */
void mdf_parameter_guess_offer(struct mdf_parameter_guess *guess, const char *node, const char *id);
/* Sets the error: no parameter is called so. */
mdf_status mdf_parameter_guess_refuse(const struct mdf_parameter_guess *guess, mdf_error *error);

/* Sets the error: a document has no parameter of that name, though an input port, or a node, may have it; with the parameter that
 * was probably meant, at any depth. `arena` holds what that takes. */
mdf_status mdf_refuse_parameter(struct mdf_arena *arena, const struct mdf_document *document, const char *name, mdf_error *error);
/* Calls `found` for each parameter of a document, at any depth, that has a constant as its value or to begin with; `node` NULL: a
 * graph's. False: memory was refused. */
bool mdf_find_constants(struct mdf_arena *arena, const struct mdf_document *document,
                        void (*found)(void *context, const char *node, const char *id), void *context);

/* Whether a field is there and no expression: a text counts where it is a number. */
bool mdf_value_is_constant(const struct mdf_node *field);

/* What is new lies in `arena`; the values are borrowed. MDF_NAME where no parameter has one of the names. */
mdf_status mdf_set_parameters(struct mdf_arena *arena, const struct mdf_document *document, const struct mdf_node *values,
                              struct mdf_node *root, mdf_error *error);

#endif
