/* child.c - see child.h. All three streams are temporary files, so that neither side ever waits for the other. */
#include "mdf_c/cli/compiling/child.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* POSIX leaves its declaration to the program */

enum { MOST_PATH = 4096, MOST_SAID = 400 };

bool child_is_installed(const char *program)
{
    const char *folders = getenv("PATH");
    char path[MOST_PATH];

    for (folders = folders != NULL ? folders : "/usr/bin:/bin"; *folders != '\0'; folders += *folders == ':') {
        size_t length = strcspn(folders, ":");

        if (snprintf(path, sizeof path, "%.*s/%s", (int)(length < MOST_PATH ? length : MOST_PATH), folders, program) <
                MOST_PATH &&
            access(path, X_OK) == 0) {
            return true;
        }
        folders += length;
    }
    return false;
}

/* Starts the program with three open files as its streams and waits for its end, which *status tells as waitpid does. Returns 0,
 * or the number of the error for which it did not start. */
static int spawn_and_wait(const char *const *arguments, FILE *const streams[3], int *status)
{
    posix_spawn_file_actions_t actions;
    int wrong;
    pid_t child;

    wrong = posix_spawn_file_actions_init(&actions);
    if (wrong != 0) {
        return wrong;
    }
    for (int i = 0; i < 3 && wrong == 0; i++) {
        wrong = posix_spawn_file_actions_adddup2(&actions, fileno(streams[i]), i);
    }
    if (wrong == 0) {
        /* The arguments are only read. */
        wrong = posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    while (wrong == 0 && waitpid(child, status, 0) < 0) {
        wrong = errno != EINTR ? errno : 0;
    }
    return wrong;
}

static bool read_all(FILE *stream, struct mdf_text *text)
{
    char bytes[1 << 14];
    size_t n;

    rewind(stream);
    while ((n = fread(bytes, 1, sizeof bytes, stream)) > 0) {
        mdf_text_append(text, bytes, n);
    }
    return !ferror(stream);
}

/* The error of a program that failed, with what it said on one line. */
static mdf_status quote(FILE *errors, mdf_error *error)
{
    char said[MOST_SAID] = "";
    size_t n;

    rewind(errors);
    n = fread(said, 1, sizeof said - 1, errors);
    for (size_t i = 0; i < n; i++) {
        said[i] = (unsigned char)said[i] < ' ' ? ' ' : said[i];
    }
    while (n > 0 && said[n - 1] == ' ') {
        said[--n] = '\0';
    }
    return mdf_error_set(error, MDF_FILE, "the program failed%s%s", n > 0 ? ": " : "", said);
}

static mdf_status run_with(const char *const *arguments, const struct mdf_text *input, struct mdf_text *output,
                           FILE *const streams[3], mdf_error *error)
{
    int status = 0, wrong;

    if (streams[0] == NULL || streams[1] == NULL || streams[2] == NULL ||
        (input->length > 0 && fwrite(input->bytes, 1, input->length, streams[0]) != input->length) || fflush(streams[0]) != 0) {
        return mdf_error_set(error, MDF_FILE, "the program needs a temporary file, which can not be written");
    }
    rewind(streams[0]);
    wrong = spawn_and_wait(arguments, streams, &status);
    if (wrong != 0) {
        return mdf_error_set(error, MDF_FILE, "the program can not be started: %s", strerror(wrong));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return quote(streams[2], error);
    }
    if (!read_all(streams[1], output)) {
        return mdf_error_set(error, MDF_FILE, "what the program wrote can not be read");
    }
    return output->failed ? mdf_memory_error(output->memory, error) : MDF_OK;
}

mdf_status run_child(const char *const *arguments, const struct mdf_text *input, struct mdf_text *output, mdf_error *error)
{
    FILE *streams[3] = {tmpfile(), tmpfile(), tmpfile()};
    mdf_status status = run_with(arguments, input, output, streams, error);

    for (size_t i = 0; i < 3; i++) {
        if (streams[i] != NULL) {
            fclose(streams[i]);
        }
    }
    mdf_error_at(error, arguments[0], 0, 0); /* it is no fault of the model */
    return status;
}
