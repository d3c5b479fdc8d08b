/* stream.c - see stream.h. */
#include "mdf_c/document/stream.h"

#include "mdf_c/document/document.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_device(FILE *stream)
{
    struct stat status;

    return fstat(fileno(stream), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && !isatty(fileno(stream));
}

/* Makes room behind what has been read. */
static mdf_status make_room(struct mdf_memory *memory, char **bytes, size_t *capacity, size_t size, mdf_error *error)
{
    char *grown;

    if (size > MDF_DOCUMENT_MAX_BYTES) {
        return mdf_error_set(error, MDF_LIMIT, "the file has more than %zu bytes", MDF_DOCUMENT_MAX_BYTES);
    }
    if (size < *capacity) {
        return MDF_OK;
    }
    grown = mdf_memory_grow(memory, *bytes, capacity, size + (1 << 16), 1);
    if (grown == NULL) {
        return mdf_memory_error(memory, error);
    }
    *bytes = grown;
    return MDF_OK;
}

mdf_status mdf_read_stream(struct mdf_memory *memory, FILE *stream, char **bytes, size_t *size_bytes, int *reason,
                           mdf_error *error)
{
    bool has_no_end = is_device(stream);
    size_t capacity = 0, n;
    mdf_status status;

    *bytes = NULL;
    *size_bytes = 0;
    while ((status = make_room(memory, bytes, &capacity, *size_bytes, error)) == MDF_OK) {
        n = fread(*bytes + *size_bytes, 1, capacity - *size_bytes, stream);
        *size_bytes += n;
        if (n == 0 && !ferror(stream)) {
            return MDF_OK;
        }
        if (n == 0 || has_no_end) {
            *reason = n == 0 ? errno : ENODEV;
            status = MDF_FILE;
            break;
        }
    }
    mdf_memory_release(memory, *bytes);
    *bytes = NULL;
    return status;
}
