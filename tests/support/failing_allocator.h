/* failing_allocator.h - an allocator that counts its blocks and calls and may begin to refuse: for tests that whichever
 * allocation fails, the error says so and nothing is lost; and that what is steady allocates no more. */
#ifndef MDF_TESTS_FAILING_ALLOCATOR_H
#define MDF_TESTS_FAILING_ALLOCATOR_H

#include "mdf_c/mdf.h"

struct counter {
    size_t n_blocks, n_calls; /* blocks that are held; calls that asked for memory */
    size_t fail_at;           /* the call from which on all are refused, counted from 1; 0: none */
    bool fails_once;          /* that call alone is refused */
};

/* An allocator over malloc; `counter` lives as long as it. */
mdf_allocator failing_allocator(struct counter *counter);

#endif
