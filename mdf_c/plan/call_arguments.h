/* call_arguments.h - the arguments of a call in an expression, in the order of the formals of the function's row.
 *
 * Formals are "a axis= keepdims= *rest": names in order, '=' behind one that may be left out. What stands behind the '=' is given
 * beside the call: "kind=stable|quicksort" may be one of these texts or None, "copy=*" anything, and changes nothing;
 * "indexing=xy|ij>operator.f": 'ij' has that function called; "initial=>numpy.add" is what that function takes in behind the
 * call, in the type of the result if it is an element; "where=?operator.f": where it is given, that function is called instead,
 * by the names of these formals ("base=+operator.f": by place too); "subscripts=@equation" is the text of a setting, in front of
 * all others. "ddof=!" is given by its name only, and so are what others take in, and all behind these: numpy has `out` in front
 * of them, which is none here.
 */
#ifndef MDF_PLAN_CALL_ARGUMENTS_H
#define MDF_PLAN_CALL_ARGUMENTS_H

#include "functions/custom/custom.h"
#include "mdf_c/plan/compiler.h"

struct call_formal {
    const char *name, *allowed; /* allowed: what stands behind the '='; NULL: nothing */
    size_t length, allowed_length;
    bool optional, rest;
    bool by_name; /* what is given by place for it is None */
};

struct call_formals {
    struct call_formal items[MDF_CUSTOM_MOST_VALUES];
    size_t n;
};

enum { CALL_MOST_ARGUMENTS = 64 };

/* Not on the stack: calls stand within calls, and the stack may be short. */
struct call_arguments {
    struct call_formals formals;
    mdf_operand operands[CALL_MOST_ARGUMENTS];
    size_t n;
    const void *settings;                   /* of the row; NULL: it has none */
    const struct mdf_operator *row;         /* the function that is called */
    const struct mdf_operator *taken_in_by; /* the function that takes in `taken_in` behind the call; NULL: none */
    mdf_operand taken_in;
};

/* Compiles the arguments of the call `tree`; `self`: the first one, of a method; MDF_NO_OPERAND: there is none. */
bool call_arguments_collect(struct target *target, const struct mdf_operator *row, const struct mdf_expression *tree,
                            mdf_operand self, struct call_arguments *arguments);

/* A call of a function that has no kernel (meaning_call.c). */
mdf_operand compile_meaning(struct target *target, const struct call_arguments *arguments);

/* Ends an error by the name that was meant, where one is near; MDF_NO_OPERAND. */
mdf_operand compile_suggest(struct target *target, const struct mdf_nearest *nearest);

#endif
