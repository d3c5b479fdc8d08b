/* beside.c - files that a document refers to. They are named relative to the document's folder and must lie in it: no absolute
 * name, no "..", and what symbolic links lead to must be in the folder too. See document.h. */
#include "mdf_c/document/document.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a name is relative and has no part "..". */
static bool stays_inside(const char *name)
{
    const char *part = name;

    if (name[0] == '/') {
        return false;
    }
    while (part != NULL) {
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) {
            return false;
        }
        part = strchr(part, '/');
        part = part == NULL ? NULL : part + 1;
    }
    return true;
}

/* The document's folder without symbolic links; false where it can not be read. */
static bool find_folder(const struct mdf_document *document, struct mdf_arena *arena, char folder[PATH_MAX])
{
    const char *slash = strrchr(document->file, '/');
    char *path = slash != NULL ? mdf_arena_text(arena, document->file, (size_t)(slash - document->file) + 1)
                               : mdf_arena_text(arena, "./", 2);

    return path != NULL && realpath(path, folder) != NULL;
}

static bool is_in_folder(const char *found, const char *folder)
{
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(found, folder, length) == 0 && found[length] == '/';
}

int mdf_document_open_beside(const struct mdf_document *document, const char *name, const char *holds, struct mdf_arena *arena,
                             const char **path, mdf_error *error)
{
    char folder[PATH_MAX], found[PATH_MAX];
    int file;

    *path = NULL;
    if (!document->is_file) {
        mdf_error_set(error, MDF_UNSUPPORTED, "%s lie in the file '%.200s', which can only be found for a model read from a file",
                      holds, name);
        return -1;
    }
    if (!stays_inside(name)) {
        mdf_error_set(error, MDF_MODEL, "the file '%.200s', which holds %s, does not lie in the model's folder", name, holds);
        return -1;
    }
    if (!find_folder(document, arena, folder)) {
        mdf_error_set(error, MDF_FILE, "the folder of the model can not be read");
        return -1;
    }
    *path = mdf_arena_printf(arena, "%s/%s", folder, name);
    if (*path == NULL) {
        mdf_memory_error(arena->memory, error);
        return -1;
    }
    if (realpath(*path, found) == NULL) {
        mdf_error_set(error, MDF_FILE, "the file '%.200s', which holds %s, can not be read", name, holds);
        return -1;
    }
    if (!is_in_folder(found, folder)) {
        mdf_error_set(error, MDF_MODEL, "the file '%.200s', which holds %s, does not lie in the model's folder", name, holds);
        return -1;
    }
    *path = mdf_arena_text(arena, found, strlen(found));
    file = *path != NULL ? open(*path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file < 0) {
        mdf_error_set(error, MDF_FILE, "the file '%.200s', which holds %s, can not be read", name, holds);
    }
    return file;
}
