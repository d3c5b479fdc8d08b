/* foreign_names.h - what other languages, and mathematics, call the constants of expressions: for "did you mean". Functions say
 * so in their rows (mdf_operator_called). */
#ifndef MDF_EXPRESSION_FOREIGN_NAMES_H
#define MDF_EXPRESSION_FOREIGN_NAMES_H

/* "math.pi" for "pi" or "np.pi", "True" for "true"; NULL: none is known. */
const char *mdf_foreign_constant(const char *name);

#endif
