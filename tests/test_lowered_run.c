/* test_lowered_run.c - the plain form of running what mdf_lower makes: ops, structured ops, what goes in and out. */
#include "tests/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(lowered_run, example)
{
    struct build b;
    double one = 1;
    mdf_lowered_id x, y;
    struct mdf_value *slot;

    build_begin(&b, NULL);
    x = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 0, NULL, &one));
    y = build_element(&b, &b.lowered->region, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, (mdf_lowered_id[]){x, x});
    slot = build_slot(&b);
    build_output(&b, slot, y);
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_assert_eq(build_element_of(slot, 0), 2.0);
    build_end(&b);
}
