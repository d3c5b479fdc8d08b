/* functions_api.c - custom functions: the public interface of mdf.h over functions/custom. */
#include "functions/custom/custom.h"
#include "mdf_c/api/arguments.h"

mdf_functions *mdf_functions_new(const mdf_allocator *allocator, mdf_error *error)
{
    mdf_functions *functions = NULL;

    error = mdf_unset_error(error);
    if (mdf_check_allocator(allocator, error)) {
        functions = mdf_functions_make(allocator);
        if (functions == NULL) {
            mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        }
    }
    return functions;
}

void mdf_functions_free(mdf_functions *functions)
{
    mdf_functions_release(functions);
}

mdf_status mdf_register_function(mdf_functions *functions, const mdf_function *function, mdf_error *error)
{
    mdf_function known;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(functions, error) || !MDF_GIVEN(function, error) || !mdf_read_function(function, &known, error)) {
        return MDF_USAGE;
    }
    return mdf_functions_add(functions, &known, error);
}

mdf_status mdf_load_plugin(mdf_functions *functions, const char *path, mdf_error *error)
{
    error = mdf_unset_error(error);
    if (!MDF_GIVEN(functions, error) || !MDF_GIVEN(path, error)) {
        return MDF_USAGE;
    }
    return mdf_functions_load(functions, path, mdf_register_function, error);
}
