/* operators_page.h - the operators that there are, as a page: docs/operators.md, and what "mdf-run --ops" prints. */
#ifndef MDF_WRITE_OPERATORS_PAGE_H
#define MDF_WRITE_OPERATORS_PAGE_H

#include "mdf_c/base/text.h"

/* Appends the page: by domain a table of operators, their versions and the element types that the newest one takes. */
void mdf_write_operators_page(struct mdf_text *text);

#endif
