/* cvode_library.c - see cvode_library.h. */
#include "mdf_c/run/solve/cvode_library.h"

#include <late_libraries.h>

mdf_status mdf_cvode_library_load(struct mdf_cvode_library *library, mdf_error *error)
{
    static const char *const names[] = {MDF_CVODE_FUNCTIONS(MDF_LATE_NAME)};

    if (!mdf_late_library_load(MDF_LATE_CVODES, names, sizeof names / sizeof *names, library)) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "the methods of CVODE need SUNDIALS' library %s, which can not be loaded",
                             MDF_LATE_CVODES);
    }
    return MDF_OK;
}
