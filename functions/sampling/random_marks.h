/* random_marks.h - where the generators of an evaluation are, to go back there: what was drawn since is drawn again then. */
#ifndef MDF_FUNCTIONS_SAMPLING_RANDOM_MARKS_H
#define MDF_FUNCTIONS_SAMPLING_RANDOM_MARKS_H

#include "functions/kernel/call.h"

/* Zeroed, there is nothing in it yet. */
struct mdf_random_marks {
    uint64_t random_state[4];
    struct mdf_twister numpy_random, python_random;
    struct mdf_stream *streams;
    size_t n_streams, capacity;
};

/* False: out of memory. */
bool mdf_random_mark(struct mdf_random_marks *marks, const struct mdf_context *context);
void mdf_random_return(const struct mdf_random_marks *marks, struct mdf_context *context);
void mdf_random_marks_release(struct mdf_random_marks *marks, struct mdf_memory *memory);

#endif
