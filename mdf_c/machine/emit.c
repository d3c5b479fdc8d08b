/* emit.c - see emit.h. Which emitter: by the platform that this is compiled for, and by what its processor can do. */
#include "mdf_c/machine/emit.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/code_price.h"
#if defined(__x86_64__) && (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>
#include <sys/mman.h>

static void unmap(struct mdf_lowered *lowered)
{
    munmap(lowered->code_memory, lowered->code_size);
}

/* The code in memory of its own that is written first, and runs afterwards. */
static void map(struct mdf_lowered *lowered, const struct assembler *assembler)
{
    void *memory = mmap(NULL, assembler->n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    lowered->why_no_code = "the system refuses memory for it";
    if (memory == MAP_FAILED) {
        return;
    }
    memcpy(memory, assembler->bytes, assembler->n_bytes);
    if (mprotect(memory, assembler->n_bytes, PROT_READ | PROT_EXEC) != 0) {
        munmap(memory, assembler->n_bytes);
        return;
    }
    lowered->why_no_code = NULL;
    lowered->code_memory = memory;
    lowered->code_size = assembler->n_bytes;
    lowered->release_code = unmap;
    memcpy(&lowered->code, &memory, sizeof memory);
}

/* False: there is no code for it. */
static bool emit(struct mdf_lowered *lowered)
{
    struct assembler assembler;
    bool done;

    assembler_init(&assembler, lowered->arena.memory);
    done = emit_x86_64(lowered, &assembler, NULL);
    if (done) {
        map(lowered, &assembler);
    }
    assembler_release(&assembler);
    return done;
}

/* Loops that might run at the same time run one after the other. Whether there were any. */
static bool part_loops(struct mdf_lowered *lowered)
{
    struct mdf_lowered_pair *pair;
    bool were_any = false;

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        if (lowered->region.ops[i].code == MDF_LOWERED_LOOP && lowered->region.ops[i].of.loop->concurrent != NULL) {
            lowered->region.ops[i].of.loop->concurrent = NULL;
            were_any = true;
        }
    }
    for (pair = lowered->pairs; pair != NULL; pair = pair->next) {
        pair->is_concurrent = false;
    }
    return were_any;
}

void mdf_lowered_emit(struct mdf_lowered *lowered)
{
    lowered->code = NULL;
    lowered->is_code_settled = true;
    lowered->why_no_code = "this processor has no AVX2";
    if (!mdf_has_avx2()) {
        return;
    }
    lowered->why_no_code = "it is too large or too deeply nested, or memory was refused";
    if (!emit(lowered) && part_loops(lowered)) {
        emit(lowered);
    }
}

bool mdf_machine_has_vectors(mdf_dtype dtype)
{
    return mdf_has_avx2() && emission_has_vectors(dtype);
}

bool mdf_lowered_list_code(struct mdf_lowered *lowered, struct mdf_machine_listing *listing)
{
    struct assembler assembler;
    bool done;

    *listing = (struct mdf_machine_listing){.memory = lowered->arena.memory};
    assembler_init(&assembler, listing->memory);
    done = emit_x86_64(lowered, &assembler, listing);
    listing->bytes = assembler.bytes;
    listing->n_bytes = assembler.n_bytes;
    listing->addresses = assembler.addresses;
    listing->n_addresses = assembler.n_addresses;
    listing->end = assembler.end;
    assembler.bytes = NULL;
    assembler.addresses = NULL;
    assembler_release(&assembler);
    return done;
}

#else

void mdf_lowered_emit(struct mdf_lowered *lowered)
{
    lowered->code = NULL;
    lowered->is_code_settled = true;
    lowered->why_no_code = "there is none for this kind of processor or system";
}

bool mdf_machine_has_vectors(mdf_dtype dtype)
{
    (void)dtype;
    return false;
}

bool mdf_lowered_list_code(struct mdf_lowered *lowered, struct mdf_machine_listing *listing)
{
    *listing = (struct mdf_machine_listing){.memory = lowered->arena.memory};
    return false;
}

#endif

static void emit_in_time(struct mdf_lowered *lowered)
{
    struct mdf_code_price price;

    if (lowered->is_code_settled) {
        return;
    }
    if (lowered->saved_by_code == 0) {
        mdf_code_price(lowered, &price);
        lowered->price_of_code = price.to_make;
        lowered->saved_by_code = price.saved;
    }
    lowered->price_of_code -= lowered->saved_by_code;
    if (lowered->price_of_code <= 0) {
        mdf_lowered_emit(lowered);
    }
}

enum mdf_lowered_outcome mdf_lowered_run_in_time(struct mdf_lowered *lowered)
{
    enum mdf_lowered_outcome outcome;

    emit_in_time(lowered);
    outcome = mdf_lowered_run(lowered);
    if (outcome == MDF_LOWERED_PAYS) {
        mdf_lowered_emit(lowered);
        outcome = mdf_lowered_run(lowered);
    }
    return outcome;
}

void mdf_lowered_settle_code(struct mdf_lowered *lowered)
{
    if (!lowered->is_code_settled) {
        mdf_lowered_emit(lowered);
    }
}

void mdf_machine_listing_release(struct mdf_machine_listing *listing)
{
    mdf_memory_release(listing->memory, listing->places);
    mdf_memory_release(listing->memory, listing->bytes);
    mdf_memory_release(listing->memory, listing->addresses);
}
