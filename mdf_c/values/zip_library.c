/* zip_library.c - see zip_library.h. */
#include "mdf_c/values/zip_library.h"

#include <late_libraries.h>

mdf_status mdf_zip_library_load(struct mdf_zip_library *library, mdf_error *error)
{
    static const char *const names[] = {MDF_ZIP_FUNCTIONS(MDF_LATE_NAME)};

    if (!mdf_late_library_load(MDF_LATE_ZIP, names, sizeof names / sizeof *names, library)) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "archives need the library %s, which can not be loaded", MDF_LATE_ZIP);
    }
    return MDF_OK;
}
