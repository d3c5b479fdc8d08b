/* early_code.c - stands before functions of mdf_c/lowered/code_price.h, for suites and random models: whatever it is, its first run
 * goes op by op, and all others are machine code; loops that can run at the same time do, where there are two threads. */
#include "tests/support/early_code.h"

void __wrap_mdf_code_price(const struct mdf_lowered *lowered, struct mdf_code_price *price)
{
    (void)lowered;
    *price = (struct mdf_code_price){.to_make = 3, .saved = 2};
}

double __wrap_mdf_time_for_threads(double ns)
{
    (void)ns;
    return 1e9;
}
