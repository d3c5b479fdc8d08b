/* foreign_names.h - what other languages, and mathematics, call what an expression has under another name: for "did you mean". */
#ifndef MDF_EXPRESSION_FOREIGN_NAMES_H
#define MDF_EXPRESSION_FOREIGN_NAMES_H

/* "numpy.log" for "ln", "numpy.pi" for "pi" or "np.pi", "True" for "true"; NULL: none is known. */
const char *mdf_foreign_function(const char *name);
const char *mdf_foreign_constant(const char *name);

#endif
