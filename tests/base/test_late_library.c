/* test_late_library.c - libraries that are loaded when they are needed. */
#include "mdf_c/base/late_library.h"
#include "mdf_c/values/zip_library.h"

#include <criterion/criterion.h>
#include <math.h>

#define FUNCTIONS(X) X(fabs) X(hypot)

struct math_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

Test(late_library, functions_are_found)
{
    static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};
    struct math_library library = {0};

    cr_assert(mdf_late_library_load("libm.so.6", names, 2, &library));
    cr_expect_eq(library.fabs(-2), 2);
    cr_expect_eq(library.hypot(3, 4), 5);
}

Test(late_library, absence_is_told)
{
    static const char *const names[] = {"fabs", "no_such_function"};
    struct math_library library;

    cr_expect_not(mdf_late_library_load("libm.so.6", names, 2, &library));
    cr_expect_not(mdf_late_library_load("lib_that_is_not_there.so.1", names, 1, &library));
}

Test(late_library, zip)
{
    struct mdf_zip_library library;
    mdf_error error = {.code = MDF_OK};

    cr_assert_eq(mdf_zip_library_load(&library, &error), MDF_OK, "%s", error.message);
    cr_expect_null(library.zip_open("/", ZIP_RDONLY, NULL));
}
