/* emit.c - see emit.h. Which emitter: by the platform that this is compiled for, and by what its processor can do. */
#include "mdf_c/lower/emit.h"

#include "mdf_c/base/processor.h"
#if defined(__x86_64__) && (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)
#include "mdf_c/lower/emit_x86_64.h"

#include <string.h>
#include <sys/mman.h>

/* The code in memory of its own that is written first, and runs afterwards. */
static void map(struct mdf_lowered *lowered, const struct assembler *assembler)
{
    void *memory = mmap(NULL, assembler->n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return;
    }
    memcpy(memory, assembler->bytes, assembler->n_bytes);
    if (mprotect(memory, assembler->n_bytes, PROT_READ | PROT_EXEC) != 0) {
        munmap(memory, assembler->n_bytes);
        return;
    }
    lowered->code_memory = memory;
    lowered->code_size = assembler->n_bytes;
    memcpy(&lowered->code, &memory, sizeof memory);
}

void mdf_lowered_emit(struct mdf_lowered *lowered)
{
    struct assembler assembler;

    lowered->code = NULL;
    if (!mdf_has_avx2()) {
        return;
    }
    assembler_init(&assembler, lowered->arena.memory);
    if (emit_x86_64(lowered, &assembler)) {
        map(lowered, &assembler);
    }
    assembler_release(&assembler);
}

void mdf_lowered_unmap(struct mdf_lowered *lowered)
{
    if (lowered->code_memory != NULL) {
        munmap(lowered->code_memory, lowered->code_size);
    }
    lowered->code = NULL;
    lowered->code_memory = NULL;
}

#else

void mdf_lowered_emit(struct mdf_lowered *lowered)
{
    lowered->code = NULL;
}

void mdf_lowered_unmap(struct mdf_lowered *lowered)
{
    lowered->code_memory = NULL;
}

#endif
