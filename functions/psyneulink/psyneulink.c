/* psyneulink.c - why some functions of PsyNeuLink are none here. See psyneulink.h. */
#include "functions/psyneulink/psyneulink.h"

#include <string.h>

/* Functions of the package's library that a file does not determine. */
static const struct {
    const char *name, *reason;
} refusals[] = {
#define SEARCH "it searches by running its composition, which the file does not tell: compile the composition (mdf_c.psyneulink)"
    {"gridsearch", SEARCH},
    {"gaussianprocess", "the package itself does not implement it"},
    {"gradientoptimization", "it follows the gradient of a Python function"},
    {"pecoptimizationfunction", SEARCH},
#undef SEARCH
    {"bayesglm", "it draws weights by singular vectors, whose signs only the package's library of linear algebra says"},
    {"leabrafunction", "its network is one of the package leabra, which is not in the file"},
    {"argumenttherapy", "its answer is a whim of the generator of all, and the package can not make a mechanism with it"},
};

const char *mdf_psyneulink_refusal(const char *name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (strcmp(refusals[i].name, name) == 0) {
            return refusals[i].reason;
        }
    }
    return NULL;
}
