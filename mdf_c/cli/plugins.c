/* plugins.c - see plugins.h. */
#include "mdf_c/cli/plugins.h"

int load_plugins(struct run_options *options, mdf_error *error)
{
    mdf_functions *functions = options->plugins.n > 0 ? mdf_functions_new(NULL, error) : NULL;

    options->library.functions = functions;
    if (options->plugins.n > 0 && functions == NULL) {
        return EXIT_MODEL;
    }
    for (size_t i = 0; i < options->plugins.n; i++) {
        if (mdf_load_plugin(functions, options->plugins.items[i], error) != MDF_OK) {
            return EXIT_USAGE;
        }
    }
    return EXIT_DONE;
}

void release_plugins(struct run_options *options)
{
    mdf_functions_free((mdf_functions *)(uintptr_t)options->library.functions);
    options->library.functions = NULL;
    release_option_texts(&options->plugins);
}
