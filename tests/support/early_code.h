/* early_code.h - see early_code.c. */
#ifndef TESTS_EARLY_CODE_H
#define TESTS_EARLY_CODE_H

#include "mdf_c/lowered/code_price.h"

void __real_mdf_code_price(const struct mdf_lowered *lowered, struct mdf_code_price *price);
void __wrap_mdf_code_price(const struct mdf_lowered *lowered, struct mdf_code_price *price);
double __wrap_mdf_time_for_threads(double ns);

#endif
