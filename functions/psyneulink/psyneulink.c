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
    {"matrixmemory", "an EMComposition tells it what to do in each call, which no file says"},
    {"emstorage", "an EMComposition tells it what to do in each call, which no file says"},
    {"driftonasphereintegrator", "its steps are drawn in a basis that the package makes anew for each"},
    {"leabrafunction", "its network is one of the package leabra, which is not in the file"},
    {"argumenttherapy", "it is made to disagree with what is asked of it"},
};

const char *mdf_psyneulink_refusal(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (strcmp(refusals[i].name, name) == 0) {
            return refusals[i].reason;
        }
    }
    return NULL;
}
