/* defined_function.h - a function given by expressions of its arguments, in the language of docs/expressions.md.
 *
 * Where the result takes several steps each has a name that later ones may use. A function that keeps something from call to call
 * says what: its states. The compiler turns each state into a parameter of the node that the function stands in, so that state
 * lives where MDF keeps it. */
#ifndef MDF_FUNCTIONS_KERNEL_DEFINED_FUNCTION_H
#define MDF_FUNCTIONS_KERNEL_DEFINED_FUNCTION_H

#include "mdf_c/base/error.h"

/* A name and the expression that it stands for. */
struct mdf_function_step {
    const char *name; /* NULL ends the list */
    const char *expression;
};

/* A value that the function keeps: in an expression, `name` is what it was after the call before. */
struct mdf_function_state {
    const char *name;     /* NULL ends the list */
    const char *initials; /* arguments that give its first value, the first one that is given counts; blanks between them */
    const char *fallback; /* an expression: the first value where none is given */
    const char *next;     /* the step that it becomes */
};

struct mdf_defined_function {
    const char *name; /* NULL ends a table */
    /* In the order in which they are bound, blanks between them:
     *     NAME             must be given in args, or be a name of the node
     *     NAME=EXPRESSION  may be left out; the expression has no blanks, and sees the arguments before it
     *     NAME:A,B,C       one of these texts; the first where it is left out
     *     NAME|OLD=...     OLD is another name of the argument, or its path in the function's metadata: a.b.c is three keys */
    const char *arguments;
    const struct mdf_function_step *keywords; /* texts that may stand for an argument's value; NULL: none */
    const struct mdf_function_state *states;  /* NULL: none */
    const struct mdf_function_step *steps;    /* NULL: none */
    const char *outputs;                      /* names, blanks between them; several: the function yields a list of them */
};

/* The function of that name, of whatever family; NULL where there is none. */
const struct mdf_defined_function *mdf_defined_function(const char *name);
void mdf_defined_function_offer(struct mdf_nearest *nearest);

#endif
