/* targets.h - what can be fuzzed: one row for each kind of bytes that the library and its programs read, or text that they write.
 *
 * Comes in: bytes. Goes out: whether they show a fault. The fuzzers (libfuzzer.c), the driver (fuzz.c) and the suite test_fuzz.c
 * share these rows. */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

#include "fuzz/try_input.h"

struct fuzz_target {
    const char *name;
    const char *format; /* that `mutate` changes inputs by */
    enum outcome (*try_input)(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
};

extern const struct fuzz_target fuzz_targets[];
extern const size_t n_fuzz_targets;

/* NULL: there is none of that name. */
const struct fuzz_target *find_fuzz_target(const char *name);

/* --- the targets that are not models, target_*.c */
enum outcome try_expression(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
enum outcome try_input_value(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
enum outcome try_image(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
enum outcome try_numpy(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
enum outcome try_source(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);
enum outcome try_sweep_file(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint);

#endif
