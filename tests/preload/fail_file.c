/* fail_file.c - an object for LD_PRELOAD in which the n-th call that changes a file fails, or is the last that the process makes.
 *
 *   FAIL_FILE_AT=n   the n-th of the calls below that concern a file opened for writing, counted from 1
 *   FAIL_FILE_HOW    full (ENOSPC), broken (EIO), short (a write of one byte, then ENOSPC), killed (SIGKILL instead of the call)
 *
 * A process in which fewer calls are made ends as ever, with "FAIL_FILE: no such call" on standard error. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 1024 };

static bool is_written[MOST_FILES]; /* by the number of the open file */
static long at, n_calls;
static const char *how;

#define NEXT(function) ((__typeof__(&(function)))(uintptr_t)dlsym(RTLD_NEXT, #function))

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("FAIL_FILE_AT");

    at = wanted != NULL ? atol(wanted) : 0;
    how = getenv("FAIL_FILE_HOW");
    unsetenv("LD_PRELOAD"); /* children are programs of others */
}

__attribute__((destructor)) static void end(void)
{
    if (at > n_calls) {
        dprintf(STDERR_FILENO, "FAIL_FILE: no such call\n");
    }
}

/* Counts a call; whether it is to fail, with errno set. A disk that is full stays so for all that takes room. */
static bool fails(bool takes_room)
{
    if (at == 0 || ++n_calls < at) {
        return false;
    }
    if (how != NULL && strcmp(how, "killed") == 0 && n_calls == at) {
        kill(getpid(), SIGKILL);
    }
    errno = how != NULL && strcmp(how, "broken") == 0 ? EIO : ENOSPC;
    return n_calls == at || (takes_room && errno == ENOSPC);
}

static bool concerns(int file)
{
    return file >= 0 && file < MOST_FILES && is_written[file];
}

/* Terminals and the like are no files; those of a folder in memory are. */
static bool is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
}

int open(const char *path, int flags, ...)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY && !is_device(path);
    va_list rest;
    mode_t mode;
    int file;

    va_start(rest, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (writes && fails(true)) {
        return -1;
    }
    file = NEXT(open)(path, flags, mode);
    if (file >= 0 && file < MOST_FILES) {
        is_written[file] = writes;
    }
    return file;
}

ssize_t write(int file, const void *bytes, size_t n)
{
    bool is_short = how != NULL && strcmp(how, "short") == 0 && n > 1 && n_calls + 1 == at;

    if (concerns(file) && fails(true) && !is_short) {
        return -1;
    }
    return NEXT(write)(file, bytes, concerns(file) && is_short ? 1 : n);
}

int close(int file)
{
    bool failed = concerns(file) && fails(false);
    int result, reason = errno;

    if (file >= 0 && file < MOST_FILES) {
        is_written[file] = false;
    }
    result = NEXT(close)(file);
    errno = failed ? reason : errno;
    return failed ? -1 : result;
}

int rename(const char *from, const char *to)
{
    return fails(false) ? -1 : NEXT(rename)(from, to);
}

int link(const char *from, const char *to)
{
    return fails(true) ? -1 : NEXT(link)(from, to);
}

int fsync(int file)
{
    return concerns(file) && fails(false) ? -1 : NEXT(fsync)(file);
}

int fchmod(int file, mode_t mode)
{
    return concerns(file) && fails(false) ? -1 : NEXT(fchmod)(file, mode);
}
