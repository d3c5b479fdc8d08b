/* exported_arguments.c - what PsyNeuLink's exporter writes to the arguments of a function, as it does with all parameters of its
 * class, though the function here has no such argument. At the value given, or at any, it changes nothing. */
#include "functions/psyneulink/psyneulink.h"

#include <string.h>

static const struct mdf_exported_argument arguments[] = {
    {"linear", "scale", 1, false},
    {"linear", "offset", 0, false},
    {"logistic", "scale", 1, false},
    {"logistic", "x_0", 0, false},
    {"tanh", "gain", 1, false},
    {"tanh", "bias", 0, false},
    {"tanh", "x_0", 0, false},
    {"tanh", "offset", 0, false},
    {"normalize", "scale", 1, false},
    {"normalize", "offset", 0, false},
    {"softmax", "adapt_scale", 0, true}, /* of a gain that is 'adaptive', which the metadata would say */
    {"softmax", "adapt_base", 0, true},
    {"softmax", "adapt_entropy_weighting", 0, true},
    {"onehot", "seed", 0, true},                 /* of the modes that draw, which are refused */
    {"dualadaptiveintegrator", "rate", 0, true}, /* each average has a rate of its own */
    {"dualadaptiveintegrator", "noise", 0, false},
    {"dualadaptiveintegrator", "initializer", 0, true},
    {"fitzhughnagumointegrator", "rate", 0, true},
    {"fitzhughnagumointegrator", "noise", 0, false},
    {"fitzhughnagumointegrator", "initializer", 0, true}, /* of both variables it is initial_v and initial_w */
    {"fitzhughnagumointegrator", "previous_value", 0, true},
    {"driftdiffusionintegrator", "seed", 0, true}, /* deviates are drawn from the engine's generator */
    {"ornsteinuhlenbeckintegrator", "seed", 0, true},
    {"driftonasphereintegrator", "seed", 0, true},
    {"driftonasphereintegrator", "offset", 0, true}, /* its steps have none */
    {"lossfunction", "metric", 0, true},
    {"contentaddressablememory", "rate", 0, true}, /* it has none */
    {"contentaddressablememory", "seed", 0, true},
    {"contentaddressablememory", "memory_num_fields", 0, true}, /* what it found */
    {"contentaddressablememory", "distance", 0, true},
    {"contentaddressablememory", "distances_by_field", 0, true},
    {"contentaddressablememory", "distances_to_entries", 0, true},
    {"dictionarymemory", "seed", 0, true},
    {"dictionarymemory", "key_size", 0, true},
    {"dictionarymemory", "val_size", 0, true},
    {"driftdiffusionanalytical", "bias", 0, true}, /* follows from the starting value and the threshold */
    {"driftdiffusionanalytical", "shape", 0, true},
    {"lineartimer", "rate", 0, true}, /* of the timers that accelerate or decelerate */
    {"asymptotictimer", "rate", 0, true},
    {"backpropagation", "activation_input", 0, true}, /* these are the items of variable0 */
    {"backpropagation", "activation_output", 0, true},
    {"backpropagation", "error_signal", 0, true},
    {"reinforcement", "activation_input", 0, true},
    {"reinforcement", "activation_output", 0, true},
    {"reinforcement", "error_signal", 0, true},
    {"tdlearning", "activation_input", 0, true},
    {"tdlearning", "activation_output", 0, true},
    {"tdlearning", "error_signal", 0, true},
};

const struct mdf_exported_argument *mdf_psyneulink_exported_argument(const char *function, const char *name)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (strcmp(arguments[i].function, function) == 0 && strcmp(arguments[i].name, name) == 0) {
            return &arguments[i];
        }
    }
    return NULL;
}
