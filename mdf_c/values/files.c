/* files.c - whole files in and out. See values.h and new_file.h. */
#include "mdf_c/document/stream.h"
#include "mdf_c/values/new_file.h"
#include "mdf_c/values/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100, ENDING_SIZE = 48 };

static mdf_status fail(mdf_error *error, const char *path, const char *what, int reason)
{
    mdf_status status;

    if (reason == ENOENT) {
        status = mdf_error_set(error, MDF_FILE, "%s: there is no such file or directory", what);
    } else if (reason == EACCES || reason == EPERM) {
        status = mdf_error_set(error, MDF_FILE, "%s: permission denied", what);
    } else if (reason == EISDIR) {
        status = mdf_error_set(error, MDF_FILE, "%s: it is a directory", what);
    } else if (reason == ENOSPC) {
        status = mdf_error_set(error, MDF_FILE, "%s: the device is full", what);
    } else {
        status = mdf_error_set(error, MDF_FILE, "%s", what);
    }
    mdf_error_at(error, path, 0, 0);
    return status;
}

mdf_status mdf_read_file(struct mdf_memory *memory, const char *path, void **bytes, size_t *size_bytes, mdf_error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *read;
    mdf_status status;
    int reason;

    *bytes = NULL;
    *size_bytes = 0;
    if (stream == NULL) {
        return fail(error, path, "the file can not be read", errno);
    }
    status = mdf_read_stream(memory, stream, &read, size_bytes, &reason, error);
    if (stream != stdin) {
        fclose(stream);
    }
    *bytes = read;
    if (status == MDF_FILE && reason != ENODEV) {
        return fail(error, path, "the file can not be read", reason);
    }
    if (status == MDF_FILE) {
        mdf_error_set(error, MDF_FILE, "it is a device, not a file");
    }
    if (status == MDF_FILE || status == MDF_LIMIT) {
        mdf_error_at(error, path, 0, 0);
    }
    return status;
}

static bool write_all(int file, const char *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t n = write(file, bytes, size_bytes);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            bytes += n;
            size_bytes -= (size_t)n;
        }
    }
    return true;
}

/* Creates a new file beside `path`, which has room for the ending of its name. It gets the rights of the file that it is to
 * replace, where there is one, else those that any new file gets. -1: errno says why not. */
static int create_beside(char *temporary, size_t length, const char *path)
{
    struct stat about;
    bool replaces = stat(path, &about) == 0;
    int file = -1;

    for (int attempt = 0; file < 0 && attempt < ATTEMPTS; attempt++) {
        snprintf(temporary + length, ENDING_SIZE, ".%ld-%d.new", (long)getpid(), attempt);
        file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) {
            return -1;
        }
    }
    if (file >= 0 && replaces && fchmod(file, about.st_mode & 0777) != 0) {
        close(file);
        unlink(temporary);
        return -1;
    }
    return file;
}

mdf_status mdf_new_file_open(struct mdf_new_file *new_file, struct mdf_memory *memory, const char *path, mdf_error *error)
{
    size_t length = strlen(path);
    struct stat about;
    int reason;

    *new_file = (struct mdf_new_file){.memory = memory, .path = path, .file = -1};
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        new_file->file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return new_file->file >= 0 ? MDF_OK : fail(error, path, "the file can not be written", errno);
    }
    new_file->temporary = mdf_memory_allocate(memory, length + ENDING_SIZE);
    if (new_file->temporary == NULL) {
        return mdf_memory_error(memory, error);
    }
    memcpy(new_file->temporary, path, length);
    new_file->file = create_beside(new_file->temporary, length, path);
    if (new_file->file < 0) {
        reason = errno;
        mdf_memory_release(memory, new_file->temporary);
        return fail(error, path, "the file can not be written", reason);
    }
    return MDF_OK;
}

mdf_status mdf_new_file_write(struct mdf_new_file *new_file, const void *bytes, size_t size_bytes, mdf_error *error)
{
    return write_all(new_file->file, bytes, size_bytes) ? MDF_OK
                                                        : fail(error, new_file->path, "the file can not be written", errno);
}

mdf_status mdf_new_file_sync(struct mdf_new_file *new_file, mdf_error *error)
{
    return fsync(new_file->file) == 0 ? MDF_OK : fail(error, new_file->path, "the file can not be written", errno);
}

mdf_status mdf_new_file_commit(struct mdf_new_file *new_file, mdf_error *error)
{
    bool done = close(new_file->file) == 0;
    int reason;

    new_file->file = -1;
    done = done && (new_file->temporary == NULL || rename(new_file->temporary, new_file->path) == 0);
    reason = errno;
    if (!done && new_file->temporary != NULL) {
        unlink(new_file->temporary);
    }
    mdf_memory_release(new_file->memory, new_file->temporary);
    new_file->temporary = NULL;
    return done ? MDF_OK : fail(error, new_file->path, "the file can not be written", reason);
}

void mdf_new_file_abandon(struct mdf_new_file *new_file)
{
    if (new_file->file >= 0) {
        close(new_file->file);
        if (new_file->temporary != NULL) {
            unlink(new_file->temporary);
        }
        mdf_memory_release(new_file->memory, new_file->temporary);
        new_file->file = -1;
    }
}

mdf_status mdf_save_file(struct mdf_memory *memory, const char *path, const void *bytes, size_t size_bytes, mdf_error *error)
{
    struct mdf_new_file new_file;
    mdf_status status = mdf_new_file_open(&new_file, memory, path, error);

    if (status != MDF_OK) {
        return status;
    }
    status = mdf_new_file_write(&new_file, bytes, size_bytes, error);
    if (status != MDF_OK) {
        mdf_new_file_abandon(&new_file);
        return status;
    }
    return mdf_new_file_commit(&new_file, error);
}
