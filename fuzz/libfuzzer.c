/* libfuzzer.c - the entry points of libFuzzer: one program for all targets, which it is told by its own name, fuzz_TARGET. Built
 * by "make fuzz"; see fuzz/README.md. */
#include "fuzz/mutate.h"
#include "fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_ONE_IN = 5 }; /* so many inputs are changed by libFuzzer itself, which knows what the code compared with */

/* What libFuzzer calls, and what it offers. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size, uint8_t *out,
                                 size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static const struct fuzz_target *target;
static size_t n_outcomes[N_OUTCOMES];

static void report(void)
{
    fprintf(stderr, "fuzz_%s: inputs refused %zu, loaded %zu, evaluated %zu\n", target->name, n_outcomes[OUTCOME_REFUSED],
            n_outcomes[OUTCOME_LOADED], n_outcomes[OUTCOME_EVALUATED]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = strrchr((*argv)[0], '/'), *behind = strstr(name != NULL ? name : (*argv)[0], "fuzz_");

    (void)argc;
    target = behind != NULL ? find_fuzz_target(behind + strlen("fuzz_")) : NULL;
    if (target == NULL) {
        fprintf(stderr, "%s: the name of this program must end with that of a target, as fuzz_json does\n", (*argv)[0]);
        exit(2);
    }
    atexit(report);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct complaint complaint;

    n_outcomes[target->try_input(target, data, size, &complaint)]++;
    if (complaint.text[0] != '\0') {
        fprintf(stderr, "fuzz_%s: %s\n", target->name, complaint.text);
        abort();
    }
    return 0;
}

/* ------------------------------------------------------------------ mutators */

/* What was made goes out where it has room; else nothing has changed. */
static size_t hand_out(const struct mdf_text *made, uint8_t *data, size_t size, size_t max_size)
{
    if (made->failed || made->length > max_size || made->bytes == NULL) {
        return size;
    }
    memcpy(data, made->bytes, made->length);
    return made->length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct random_source random = {seed};
    struct mdf_memory memory;
    struct mdf_text text;

    if (strcmp(target->format, "bytes") == 0 || random_below(&random, BYTES_ONE_IN) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_text_append(&text, (const char *)data, size);
    mutate(&random, target->format, &text);
    size = hand_out(&text, data, size, max_size);
    mdf_text_release(&text);
    return size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size, uint8_t *out,
                                 size_t max_size, unsigned seed)
{
    struct random_source random = {seed};
    struct mdf_text text, other;
    struct mdf_memory memory;
    size_t size;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_text_init(&other, &memory);
    mdf_text_append(&text, (const char *)first, first_size);
    mdf_text_append(&other, (const char *)second, second_size);
    graft(&random, target->format, &text, &other);
    size = hand_out(&text, out, 0, max_size);
    mdf_text_release(&text);
    mdf_text_release(&other);
    return size;
}
