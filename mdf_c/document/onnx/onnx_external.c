/* onnx_external.c - tensors whose bytes lie in a file of their own, beside the model. Source: onnx.proto,
 * TensorProto.external_data. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What external_data says. */
struct location {
    const char *name;
    uint64_t offset, length;
    bool has_length;
};

static bool read_number(struct onnx_import *import, const char *key, const char *text, uint64_t *number)
{
    const char *c;

    *number = 0;
    for (c = text; mdf_is_digit(*c); c++) {
        if (*number > (INT64_MAX - 9) / 10) {
            break;
        }
        *number = *number * 10 + (uint64_t)(*c - '0');
    }
    return (c > text && *c == '\0') ||
           mdf_onnx_fail(import, MDF_MODEL, "the %s of external data, '%.40s', is not a number of bytes", key, text);
}

static bool read_location(struct onnx_import *import, const Mdf__TensorProto *tensor, struct location *location)
{
    *location = (struct location){0};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = mdf_onnx_text(tensor->external_data[i]->key), *value = mdf_onnx_text(tensor->external_data[i]->value);

        if (strcmp(key, "location") == 0) {
            location->name = value;
        } else if (strcmp(key, "offset") == 0) {
            if (!read_number(import, key, value, &location->offset)) {
                return false;
            }
        } else if (strcmp(key, "length") == 0) {
            location->has_length = true;
            if (!read_number(import, key, value, &location->length)) {
                return false;
            }
        }
    }
    return (location->name != NULL && location->name[0] != '\0') ||
           mdf_onnx_fail(import, MDF_MODEL, "a tensor has external data without a location");
}

static bool read_all(int file, uint64_t offset, char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = pread(file, bytes, size, (off_t)offset);

        if (n <= 0) {
            return false;
        }
        bytes += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static bool fail_to_read(struct onnx_import *import, const struct location *location)
{
    return mdf_onnx_fail(import, MDF_FILE, "the file '%.200s', which holds the data of a tensor, can not be read",
                         location->name);
}

/* The whole file, mapped once for all tensors in it; *store NULL where that can not be done. */
static bool map_file(struct onnx_import *import, int file, const char *path, size_t file_size, struct mdf_store **store)
{
    *store = (struct mdf_store *)(uintptr_t)mdf_onnx_map_get(&import->files, path, NULL);
    if (*store != NULL && mdf_store_size(*store) == file_size) {
        return true;
    }
    *store = mdf_store_map(import->document->memory, file, file_size);
    if (*store != NULL && !mdf_document_keep(import->document, *store)) {
        return mdf_onnx_out_of_memory(import);
    }
    return *store == NULL || mdf_onnx_map_put(import, &import->files, path, *store);
}

static bool take_part(struct onnx_import *import, int file, const char *path, const struct location *location,
                      struct onnx_raw_bytes *raw)
{
    struct stat status;

    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail_to_read(import, location);
    }
    if (location->offset > (uint64_t)status.st_size || raw->size > (uint64_t)status.st_size - location->offset) {
        return mdf_onnx_fail(import, MDF_FILE, "the file '%.200s' ends before the %zu bytes of a tensor's data at offset %llu",
                             location->name, raw->size, (unsigned long long)location->offset);
    }
    if (raw->size >= MDF_STORE_LEAST_BYTES && !map_file(import, file, path, (size_t)status.st_size, &raw->store)) {
        return false;
    }
    raw->is_own = raw->store == NULL;
    if (raw->store != NULL) {
        raw->bytes = (uint8_t *)mdf_store_bytes(raw->store) + location->offset;
        return true;
    }
    raw->bytes = mdf_arena_allocate(&import->document->arena, raw->size);
    if (raw->bytes == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    return read_all(file, location->offset, (char *)raw->bytes, raw->size) || fail_to_read(import, location);
}

bool mdf_onnx_external_data(struct onnx_import *import, const Mdf__TensorProto *tensor, size_t size_bytes,
                            struct onnx_raw_bytes *raw)
{
    struct location location;
    const char *path;
    bool done;
    int file;

    if (!read_location(import, tensor, &location)) {
        return false;
    }
    if (location.has_length && location.length != size_bytes) {
        return mdf_onnx_fail(import, MDF_SHAPE, "a tensor that needs %zu bytes has %llu bytes of external data", size_bytes,
                             (unsigned long long)location.length);
    }
    file = mdf_document_open_beside(import->document, location.name, "the data of a tensor", &import->scratch, &path,
                                    import->tree->error);
    if (file < 0) {
        mdf_error_at(import->tree->error, import->document->file, 0, 0);
        mdf_error_in(import->tree->error, "%s", import->path);
        return false;
    }
    raw->size = size_bytes;
    done = take_part(import, file, path, &location, raw);
    close(file);
    return done;
}
