/* targets.c - see targets.h. */
#include "fuzz/targets.h"

#include <string.h>

#define EVALUATION_LIMIT_S 0.5

static enum outcome try_model(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    return try_input(bytes, size, target->format, EVALUATION_LIMIT_S, complaint);
}

const struct fuzz_target fuzz_targets[] = {
    {"json", "json", try_model},         {"yaml", "yaml", try_model},       {"bson", "bson", try_model},
    {"onnx", "onnx", try_model},         {"source", "json", try_source},    {"expression", "expression", try_expression},
    {"inputs", "json", try_input_value}, {"sweep", "json", try_sweep_file}, {"numpy", "bytes", try_numpy},
    {"image", "bytes", try_image},
};

const size_t n_fuzz_targets = sizeof fuzz_targets / sizeof *fuzz_targets;

const struct fuzz_target *find_fuzz_target(const char *name)
{
    size_t i;

    for (i = 0; i < n_fuzz_targets; i++) {
        if (strcmp(fuzz_targets[i].name, name) == 0) {
            return &fuzz_targets[i];
        }
    }
    return NULL;
}
