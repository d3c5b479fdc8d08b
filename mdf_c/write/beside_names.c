/* beside_names.c - what archives beside a model are called, and which of them are no longer needed. See beside.h. */
#define _GNU_SOURCE /* memmem */

#include "mdf_c/values/values.h"
#include "mdf_c/write/beside.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_DIGITS = 16 };

/* ------------------------------------------------------------------ a new name */

/* The next bytes of a file, as many as there is room for; -1: they can not be read. */
static ssize_t read_block(int file, char *block, size_t size)
{
    size_t n = 0;
    ssize_t more;

    do {
        more = read(file, block + n, size - n);
        n += more > 0 ? (size_t)more : 0;
    } while (more > 0 && n < size);
    return more < 0 ? -1 : (ssize_t)n;
}

static bool have_same_bytes(const char *path, const char *other)
{
    int files[2] = {open(path, O_RDONLY | O_CLOEXEC), open(other, O_RDONLY | O_CLOEXEC)};
    char blocks[2][1 << 13];
    bool same = files[0] >= 0 && files[1] >= 0;
    ssize_t n = 1;

    while (same && n > 0) {
        n = read_block(files[0], blocks[0], sizeof blocks[0]);
        same = n >= 0 && n == read_block(files[1], blocks[1], sizeof blocks[1]) && memcmp(blocks[0], blocks[1], (size_t)n) == 0;
    }
    for (size_t i = 0; i < 2; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    return same;
}

mdf_status mdf_beside_choose_path(struct mdf_arena *arena, struct mdf_new_file *file, const struct mdf_hash *hash,
                                  mdf_error *error)
{
    static const char ending[] = ".npz";
    size_t length = strlen(file->path) - strlen(ending);
    struct stat about;
    char *path;

    if (file->temporary == NULL || stat(file->path, &about) != 0 || have_same_bytes(file->temporary, file->path)) {
        return MDF_OK;
    }
    path = mdf_arena_printf(arena, "%.*s.%016llx%s", (int)length, file->path, (unsigned long long)(hash->a ^ hash->b), ending);
    if (path == NULL) {
        return mdf_memory_error(arena->memory, error);
    }
    file->path = path;
    return MDF_OK;
}

/* ------------------------------------------------------------------ old files */

/* Whether a name is BASE.npz or BASE.HASH.npz. */
static bool is_archive_of(const char *name, const char *base)
{
    size_t length = strlen(base);

    if (strncmp(name, base, length) != 0) {
        return false;
    }
    name += length;
    if (name[0] == '.' && strspn(name + 1, "0123456789abcdef") == HASH_DIGITS) {
        name += 1 + HASH_DIGITS;
    }
    return strcmp(name, ".npz") == 0;
}

/* Appends what is in the folder of `path`, is called as its archives are, and is named in `text`. */
static bool collect(struct mdf_arena *arena, const char *path, const struct mdf_text *text, struct mdf_beside_old **old)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char *folder = mdf_arena_printf(arena, "%.*s", (int)(base - path), path);
    const struct dirent *entry;
    bool done = folder != NULL;
    DIR *stream;

    stream = done ? opendir(folder[0] != '\0' ? folder : ".") : NULL;
    while (done && stream != NULL && (entry = readdir(stream)) != NULL) {
        struct mdf_beside_old *found;

        if (!is_archive_of(entry->d_name, base) ||
            memmem(text->bytes, text->length, entry->d_name, strlen(entry->d_name)) == NULL) {
            continue;
        }
        found = mdf_arena_allocate(arena, sizeof *found);
        done = found != NULL;
        if (done) {
            *found = (struct mdf_beside_old){mdf_arena_printf(arena, "%s%s", folder, entry->d_name), *old};
            done = found->path != NULL;
            *old = done ? found : *old;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return done;
}

mdf_status mdf_beside_find_old(struct mdf_arena *arena, const char *path, struct mdf_beside_old **old, mdf_error *error)
{
    struct mdf_text text;
    struct stat about;
    void *bytes;
    bool done;

    *old = NULL;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
        mdf_read_file(arena->memory, path, &bytes, &text.length, NULL) != MDF_OK) {
        return MDF_OK; /* what can not be read names nothing */
    }
    text.bytes = bytes;
    done = text.length == 0 || collect(arena, path, &text, old);
    mdf_memory_release(arena->memory, bytes);
    return done ? MDF_OK : mdf_memory_error(arena->memory, error);
}
