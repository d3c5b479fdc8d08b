/* drawing.h - a call that draws a number of float64 for each element of its result, in order, from one generator, said apart from
 * its kernel: what the lowered form does by itself. */
#ifndef MDF_FUNCTIONS_SAMPLING_DRAWING_H
#define MDF_FUNCTIONS_SAMPLING_DRAWING_H

#include "functions/sampling/random.h"

enum { MDF_DRAWING_SETTINGS = 2 };

struct mdf_drawing {
    /* By a Mersenne Twister; NULL: `plain`, by the xoshiro256** of the evaluation. */
    double (*number)(struct mdf_twister *twister, double first, double second);
    double (*plain)(uint64_t state[4], double first, double second);
    /* Not 0: `plain` is first + second * (b * 2^-uniform_bits), where b are so many upper bits of the next 64. At most 53. */
    unsigned uniform_bits;
    bool (*is_fit)(double first, double second); /* NULL: all are; what is not is the kernel's to refuse */
    /* Inputs that are numbers, and may change from call to call; SIZE_MAX: not given, then it is the default. */
    size_t settings[MDF_DRAWING_SETTINGS];
    double defaults[MDF_DRAWING_SETTINGS];
    /* An input that is the seed of stream number `stream`, by `start`; below 0, or SIZE_MAX: the generator is that which stands
     * for numpy.random. */
    size_t seed, stream;
    struct mdf_stream_start start;
};

/* The generator; NULL: a seed that is none, or no memory (the context's error says so). */
struct mdf_twister *mdf_drawing_generator(struct mdf_context *context, const struct mdf_drawing *drawing, double seed);

#endif
