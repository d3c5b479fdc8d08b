/* library_cache.c - see library_cache.h.
 *
 * A file of the cache is named by a hash of all that decides what is in it: the source, the compiler with its version, its flags,
 * the processor. It is written under another name and then renamed, so that runs side by side do not see each other's halves.
 * Loading a damaged library ends the process, so the last bytes of a file are a hash of those before them, which is looked at
 * first. */
#include "mdf_c/cli/compiling/library_cache.h"

#include "mdf_c/cli/compiling/compile_library.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cache {
    struct mdf_memory *memory;
    struct mdf_hash key;
};

/* What stands behind the library; loaders do not look there. */
struct seal {
    char magic[16];
    struct mdf_hash hash; /* of the key, and of the library's bytes */
};

static const char magic[sizeof((struct seal *)0)->magic] = "mdf_c library 1";

/* ------------------------------------------------------------------ what decides */

/* What kind of processor this is, where the system tells. */
static void add_processor(struct mdf_hash *hash)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[4096];
    int n_left = 32;

    while (file != NULL && n_left-- > 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            mdf_hash_add_text(hash, line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* ------------------------------------------------------------------ seals */

static struct seal make_seal(const struct cache *cache, const void *bytes, size_t n)
{
    struct seal seal = {.hash = cache->key};

    memcpy(seal.magic, magic, sizeof magic);
    mdf_hash_add(&seal.hash, bytes, n);
    return seal;
}

/* Seals the compiler's file; only its owner may write it, whatever the user's umask. */
static mdf_status seal_library(void *context, const char *path, mdf_error *error)
{
    const struct cache *cache = context;
    struct seal seal;
    mdf_status status;
    void *bytes;
    size_t size;
    int file;
    bool done;

    status = mdf_read_file(cache->memory, path, &bytes, &size, error);
    if (status != MDF_OK) {
        return status;
    }
    seal = make_seal(cache, bytes, size);
    mdf_memory_release(cache->memory, bytes);
    file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    done = file >= 0 && fchmod(file, 0700) == 0 && write(file, &seal, sizeof seal) == (ssize_t)sizeof seal;
    done = (file < 0 || close(file) == 0) && done;
    return done ? MDF_OK : mdf_error_set(error, MDF_FILE, "%s can not be written", path);
}

/* Whether a file or folder is this user's own, and nobody else may write it. */
static bool is_own(const struct stat *about)
{
    return about->st_uid == geteuid() && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whether a library is there as it was made. */
static bool is_whole(const struct cache *cache, const char *path)
{
    struct stat about;
    struct seal seal;
    bool whole = false;
    size_t size;
    void *bytes;

    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) || !is_own(&about) ||
        mdf_read_file(cache->memory, path, &bytes, &size, NULL) != MDF_OK) {
        return false;
    }
    if (size > sizeof seal) {
        seal = make_seal(cache, bytes, size - sizeof seal);
        whole = memcmp((const char *)bytes + size - sizeof seal, &seal, sizeof seal) == 0;
    }
    mdf_memory_release(cache->memory, bytes);
    return whole;
}

/* ------------------------------------------------------------------ places */

/* The folder of the cache, made where it is not there; *folder becomes NULL where it can not be made. */
static mdf_status open_folder(struct mdf_memory *memory, char **folder, mdf_error *error)
{
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    bool is_named = cache != NULL && cache[0] == '/';
    struct mdf_text path;
    struct stat about;

    *folder = NULL;
    if (!is_named && (home == NULL || home[0] != '/')) {
        return mdf_error_set(error, MDF_FILE, "there is no folder for compiled models: set HOME or XDG_CACHE_HOME");
    }
    mdf_text_init(&path, memory);
    mdf_text_printf(&path, is_named ? "%s" : "%s/.cache", is_named ? cache : home);
    if (!path.failed) {
        mkdir(path.bytes, 0700);
    }
    mdf_text_append_string(&path, "/mdf_c");
    if (path.failed) {
        mdf_text_release(&path);
        return mdf_memory_error(memory, error);
    }
    mkdir(path.bytes, 0700);
    if (lstat(path.bytes, &about) != 0) {
        mdf_text_release(&path);
        return MDF_OK;
    }
    if (!S_ISDIR(about.st_mode) || !is_own(&about)) {
        mdf_error_set(error, MDF_FILE, "%s is no folder of this user's own that nobody else may write", path.bytes);
        mdf_text_release(&path);
        return MDF_FILE;
    }
    *folder = path.bytes;
    return MDF_OK;
}

/* FOLDER/HASH.so; NULL: memory ran out. */
static char *path_in(const struct cache *cache, const char *folder)
{
    size_t size = strlen(folder) + 40;
    char *path = mdf_memory_allocate(cache->memory, size);

    if (path != NULL) {
        snprintf(path, size, "%s/%016llx%016llx.so", folder, (unsigned long long)cache->key.a, (unsigned long long)cache->key.b);
    }
    return path;
}

/* ------------------------------------------------------------------ loading */

static void *load(const char *path, mdf_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        mdf_error_set(error, MDF_FILE, "the compiled model can not be loaded: %s", dlerror());
    }
    return library;
}

/* From the cache, or by way of it. NULL: it was of no use. */
static void *load_kept(struct cache *cache, const struct mdf_text *source, const char *folder)
{
    char *path = path_in(cache, folder);
    void *library = NULL;

    if (path != NULL && is_whole(cache, path)) {
        library = load(path, NULL);
    }
    if (library == NULL && path != NULL &&
        compile_sealed_library(cache->memory, source, path, seal_library, cache, NULL) == MDF_OK) {
        library = load(path, NULL);
    }
    mdf_memory_release(cache->memory, path);
    return library;
}

/* In a folder that is gone when this returns. */
static void *load_unkept(struct cache *cache, const struct mdf_text *source, mdf_error *error)
{
    const char *temporary = getenv("TMPDIR");
    void *library = NULL;
    char folder[512], *path;

    snprintf(folder, sizeof folder, "%s/mdf_c_XXXXXX", temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        mdf_error_set(error, MDF_FILE, "neither in the cache nor in a temporary folder is room for the compiled model");
        return NULL;
    }
    path = path_in(cache, folder);
    if (path == NULL) {
        mdf_memory_error(cache->memory, error);
    } else if (compile_library(cache->memory, source, path, LIBRARY_OWN, error) == MDF_OK) {
        library = load(path, error);
        unlink(path);
    }
    mdf_memory_release(cache->memory, path);
    rmdir(folder);
    return library;
}

void *load_cached_library(struct mdf_memory *memory, const struct mdf_text *source, mdf_error *error)
{
    struct cache cache = {memory, mdf_hash_begin()};
    void *library = NULL;
    char *folder;

    mdf_hash_add_text(&cache.key, MDF_VERSION);
    mdf_hash_add(&cache.key, source->bytes, source->length);
    add_processor(&cache.key);
    if (hash_compiler(memory, &cache.key, error) == MDF_OK && open_folder(memory, &folder, error) == MDF_OK) {
        library = folder != NULL ? load_kept(&cache, source, folder) : NULL;
        mdf_memory_release(memory, folder);
        library = library != NULL ? library : load_unkept(&cache, source, error);
    }
    mdf_error_at(error, "--compile", 0, 0);
    return library;
}
