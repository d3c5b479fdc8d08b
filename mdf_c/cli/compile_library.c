/* compile_library.c - see compile_library.h.
 *
 * A file of the cache is named by a hash of all that decides what is in it: the source, the compiler with its version, its flags,
 * the processor. It is written under another name and then renamed, so that what has its name is whole. */
#include "mdf_c/cli/compile_library.h"

#include "mdf_c/cli/child.h"
#include "mdf_c/mdf.h"
#include "mdf_c/write/new_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No contraction, no reordering, and no functions of math.h at compile time, where compilers round better than the library does:
 * results are those of mdf-run. Loops over elements become vectors of what the processor has. */
#define NO_BUILTIN(function) "-fno-builtin-" function, "-fno-builtin-" function "f"
static const char *const flags[] = {"-std=gnu11",
                                    "-O3",
                                    "-march=native",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    NO_BUILTIN("exp"),
                                    NO_BUILTIN("exp2"),
                                    NO_BUILTIN("expm1"),
                                    NO_BUILTIN("log"),
                                    NO_BUILTIN("log2"),
                                    NO_BUILTIN("log10"),
                                    NO_BUILTIN("log1p"),
                                    NO_BUILTIN("pow"),
                                    NO_BUILTIN("cbrt"),
                                    NO_BUILTIN("hypot"),
                                    NO_BUILTIN("sin"),
                                    NO_BUILTIN("cos"),
                                    NO_BUILTIN("tan"),
                                    NO_BUILTIN("asin"),
                                    NO_BUILTIN("acos"),
                                    NO_BUILTIN("atan"),
                                    NO_BUILTIN("atan2"),
                                    NO_BUILTIN("sinh"),
                                    NO_BUILTIN("cosh"),
                                    NO_BUILTIN("tanh"),
                                    NO_BUILTIN("asinh"),
                                    NO_BUILTIN("acosh"),
                                    NO_BUILTIN("atanh"),
                                    NO_BUILTIN("erf"),
                                    NO_BUILTIN("erfc"),
                                    "-DMDF_COMPILED",
                                    "-fPIC",
                                    "-fno-semantic-interposition",
                                    "-shared",
                                    "-x",
                                    "c",
                                    "-"};
/* gcc 12.2 with AVX-512 copies some constants wrongly in pieces of 32 bytes (it broadcasts their first half); other compilers do
 * not know these flags, and are then called without. */
static const char *const careful_flags[] = {"-mmove-max=128", "-mstore-max=128"};

enum { N_FLAGS = sizeof flags / sizeof *flags, N_CAREFUL_FLAGS = sizeof careful_flags / sizeof *careful_flags };

static const char *compiler(void)
{
    const char *named = getenv("CC");

    return named != NULL && named[0] != '\0' ? named : "cc";
}

static char *join(struct mdf_memory *memory, const char *a, const char *b, const char *c, mdf_error *error)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = mdf_memory_allocate(memory, size);

    if (text == NULL) {
        mdf_memory_error(memory, error);
    } else {
        snprintf(text, size, "%s%s%s", a, b, c);
    }
    return text;
}

static mdf_status run_compiler(struct mdf_memory *memory, const struct mdf_text *source, const char *target, bool is_careful,
                               mdf_error *error)
{
    const char *arguments[N_FLAGS + N_CAREFUL_FLAGS + 5];
    struct mdf_text output;
    mdf_status status;
    size_t n = 0, i;

    arguments[n++] = compiler();
    for (i = 0; is_careful && i < N_CAREFUL_FLAGS; i++) {
        arguments[n++] = careful_flags[i];
    }
    for (i = 0; i < N_FLAGS; i++) {
        arguments[n++] = flags[i];
    }
    arguments[n++] = "-o";
    arguments[n++] = target;
    arguments[n++] = "-lm";
    arguments[n] = NULL;
    mdf_text_init(&output, memory);
    status = run_child(arguments, source, &output, error);
    mdf_text_release(&output);
    return status;
}

mdf_status compile_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, mdf_error *error)
{
    struct mdf_new_file file;
    mdf_error first = {0};
    mdf_status status = mdf_new_file_open(&file, memory, path, error);

    if (status != MDF_OK) {
        return status;
    }
    if (file.temporary == NULL) {
        status = mdf_error_set(error, MDF_FILE, "%s can not be written: it is no regular file", path);
    } else if (run_compiler(memory, source, file.temporary, true, &first) != MDF_OK) {
        status = run_compiler(memory, source, file.temporary, false, error);
    }
    if (status == MDF_OK) {
        status = mdf_new_file_commit(&file, error);
    }
    mdf_new_file_abandon(&file);
    return status;
}

/* ------------------------------------------------------------------ the cache */

/* 128 bits of FNV-1a: enough that no two sources that anybody has meet. */
struct hash {
    uint64_t a, b;
};

static void add_bytes(struct hash *hash, const void *bytes, size_t n)
{
    const uint8_t *byte = bytes;
    size_t i;

    for (i = 0; i < n; i++) {
        hash->a = (hash->a ^ byte[i]) * UINT64_C(1099511628211);
        hash->b = (hash->b ^ byte[i] ^ (hash->a >> 56)) * UINT64_C(0x9E3779B97F4A7C15);
    }
}

static void add_text(struct hash *hash, const char *text)
{
    add_bytes(hash, text, strlen(text) + 1);
}

/* What kind of processor this is, where the system tells. */
static void add_processor(struct hash *hash)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[4096];
    int n_left = 32;

    while (file != NULL && n_left-- > 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            add_text(hash, line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static mdf_status add_compiler(struct mdf_memory *memory, struct hash *hash, mdf_error *error)
{
    const char *const arguments[] = {compiler(), "--version", NULL};
    struct mdf_text nothing, version;
    mdf_status status;
    size_t i;

    mdf_text_init(&nothing, memory);
    mdf_text_init(&version, memory);
    mdf_text_append(&nothing, "", 0);
    status = run_child(arguments, &nothing, &version, error);
    if (status == MDF_OK) {
        add_text(hash, compiler());
        add_bytes(hash, version.bytes != NULL ? version.bytes : "", version.length);
        for (i = 0; i < N_FLAGS; i++) {
            add_text(hash, flags[i]);
        }
        for (i = 0; i < N_CAREFUL_FLAGS; i++) {
            add_text(hash, careful_flags[i]);
        }
    }
    mdf_text_release(&nothing);
    mdf_text_release(&version);
    return status;
}

/* Whether a file or folder is this user's own, and nobody else may write it. */
static bool is_own(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder of the cache, made where it is not there. NULL with the error set. */
static char *cache_folder(struct mdf_memory *memory, mdf_error *error)
{
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    char *base, *folder;
    struct stat status;

    if ((cache == NULL || cache[0] != '/') && (home == NULL || home[0] != '/')) {
        mdf_error_set(error, MDF_FILE, "there is no folder for compiled models: set HOME or XDG_CACHE_HOME");
        mdf_error_at(error, "--compile", 0, 0);
        return NULL;
    }
    base = cache != NULL && cache[0] == '/' ? join(memory, cache, "", "", error) : join(memory, home, "/.cache", "", error);
    folder = base == NULL ? NULL : join(memory, base, "/mdf_c", "", error);
    if (folder != NULL) {
        mkdir(base, 0700);
        mkdir(folder, 0700);
        if (lstat(folder, &status) != 0 || !S_ISDIR(status.st_mode) || !is_own(&status)) {
            mdf_error_set(error, MDF_FILE, "%s is no folder of this user's own that nobody else may write", folder);
            mdf_memory_release(memory, folder);
            folder = NULL;
        }
    }
    mdf_memory_release(memory, base);
    return folder;
}

char *cached_library(struct mdf_memory *memory, const struct mdf_text *source, mdf_error *error)
{
    struct hash hash = {UINT64_C(14695981039346656037), UINT64_C(0x243F6A8885A308D3)};
    char name[64], *folder, *path;
    struct stat status;

    add_text(&hash, MDF_VERSION);
    add_bytes(&hash, source->bytes, source->length);
    add_processor(&hash);
    if (add_compiler(memory, &hash, error) != MDF_OK) {
        return NULL;
    }
    folder = cache_folder(memory, error);
    snprintf(name, sizeof name, "/%016llx%016llx", (unsigned long long)hash.a, (unsigned long long)hash.b);
    path = folder == NULL ? NULL : join(memory, folder, name, ".so", error);
    mdf_memory_release(memory, folder);
    if (path == NULL || (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && is_own(&status))) {
        return path;
    }
    if (compile_library(memory, source, path, error) != MDF_OK) {
        mdf_memory_release(memory, path);
        return NULL;
    }
    return path;
}
