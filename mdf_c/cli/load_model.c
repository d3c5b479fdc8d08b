/* load_model.c - see load_model.h. */
#include "mdf_c/cli/load_model.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/model/model.h"
#include "mdf_c/values/values.h"

#include <string.h>

static mdf_model *load_standard_input(const struct run_options *options, mdf_error *error)
{
    struct mdf_memory memory;
    mdf_model *model = NULL;
    size_t size_bytes;
    void *bytes;

    mdf_memory_init(&memory, NULL, mdf_memory_bound(options->library.max_memory_bytes));
    if (mdf_read_file(&memory, "-", &bytes, &size_bytes, error) == MDF_OK) {
        model = mdf_model_load_bytes(bytes, size_bytes, options->format, "standard input", &options->library, error);
    }
    mdf_memory_release(&memory, bytes);
    return model;
}

int load_model(const struct run_options *options, mdf_model **model, mdf_error *error)
{
    *model = strcmp(options->model_path, "-") == 0
                 ? load_standard_input(options, error)
                 : mdf_model_load_file_as(options->model_path, options->format, &options->library, error);
    return *model != NULL ? EXIT_DONE : error->code == MDF_USAGE ? EXIT_USAGE : EXIT_MODEL;
}

int check_graph(const struct run_options *options, const mdf_model *model, mdf_error *error)
{
    enum { MOST_LISTED = 12 };
    const char *wanted = options->library.graph;

    if (wanted == NULL || mdf_model_find_graph(model, wanted) != NULL) {
        return EXIT_DONE;
    }
    mdf_error_set(error, MDF_NAME, "the model has no graph '%s'", wanted);
    mdf_error_suggest(error, mdf_model_nearest_graph(model, wanted));
    for (size_t i = 0; mdf_model_nearest_graph(model, wanted) == NULL && i < mdf_model_n_graphs(model) && i < MOST_LISTED; i++) {
        mdf_error_append(error, "%s%s", i == 0 ? "; there are: " : ", ", mdf_model_graph_id(model, i));
    }
    return EXIT_USAGE;
}
