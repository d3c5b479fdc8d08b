/* sweep_store.c - see sweep_store.h. */
#include "mdf_c/cli/sweep/sweep_store.h"

#include "mdf_c/values/new_file.h"
#include "mdf_c/values/npy.h"
#include "mdf_c/values/values.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool file_fault(mdf_error *error, const char *path, const char *what)
{
    mdf_error_set(error, MDF_FILE, "%s: %s", what, strerror(errno));
    mdf_error_at(error, path, 0, 0);
    return false;
}

/* ------------------------------------------------------------------ files and folders */

bool save_lasting(struct mdf_memory *memory, const char *path, const void *bytes, size_t size_bytes, mdf_error *error)
{
    struct mdf_new_file file;

    if (mdf_new_file_open(&file, memory, path, error) != MDF_OK) {
        return false;
    }
    if (mdf_new_file_write(&file, bytes, size_bytes, error) != MDF_OK || mdf_new_file_sync(&file, error) != MDF_OK) {
        mdf_new_file_abandon(&file);
        return false;
    }
    return mdf_new_file_commit(&file, error) == MDF_OK;
}

bool sync_folder(const char *path, mdf_error *error)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL); /* EINVAL: this file system does so by itself */

    if (!done) {
        file_fault(error, path, "the folder can not be written");
    }
    if (folder >= 0) {
        close(folder);
    }
    return done;
}

bool make_folder(const char *path, bool may_exist, mdf_error *error)
{
    if (mkdir(path, 0777) == 0 || (may_exist && errno == EEXIST)) {
        return true;
    }
    return file_fault(error, path, "the folder can not be made");
}

/* ------------------------------------------------------------------ names of files */

static bool start_path(struct mdf_text *path, const struct sweep_store *store, const struct store_array *array, const char *file)
{
    mdf_text_init(path, store->memory);
    mdf_text_printf(path, "%s/%s%s%s", store->path, array != NULL ? array->name : "", array != NULL ? "/" : "", file);
    if (path->failed) {
        mdf_memory_error(store->memory, store->error);
    }
    return !path->failed;
}

static bool start_chunk_path(struct mdf_text *path, const struct sweep_store *store, const struct store_array *array,
                             size_t chunk)
{
    if (!start_path(path, store, array, "")) {
        return false;
    }
    mdf_text_printf(path, "%zu", chunk);
    for (size_t i = 1; i < array->rank; i++) {
        mdf_text_append_string(path, ".0");
    }
    if (path->failed) {
        mdf_memory_error(store->memory, store->error);
    }
    return !path->failed;
}

static bool save_text(const struct sweep_store *store, const struct store_array *array, const char *file,
                      const struct mdf_text *text)
{
    struct mdf_text path;
    bool done = start_path(&path, store, array, file);

    if (done && text->failed) {
        done = false;
        mdf_memory_error(store->memory, store->error);
    }
    done = done && save_lasting(store->memory, path.bytes, text->bytes, text->length, store->error);
    mdf_text_release(&path);
    return done;
}

/* ------------------------------------------------------------------ a new store */

static void append_shape(struct mdf_text *text, const struct store_array *array, size_t first)
{
    mdf_text_append_string(text, "[");
    for (size_t i = 0; i < array->rank; i++) {
        mdf_text_printf(text, "%s%" PRId64, i > 0 ? ", " : "", i == 0 ? (int64_t)first : array->shape[i]);
    }
    mdf_text_append_string(text, "]");
}

/* What elements are where there is no chunk. */
static const char *fill_of(char kind)
{
    return kind == 'f' ? "\"NaN\"" : kind == 'b' ? "false" : "0";
}

static void append_axes(struct mdf_text *text, const struct store_array *array);

/* Version 3: one file. Types are called as here, but for those that Zarr knows under numpy's names only. */
static bool write_v3_description(const struct sweep_store *store, const struct store_array *array)
{
    mdf_dtype dtype = mdf_npy_dtype(array->dtype);
    char kind = mdf_dtype_kind(dtype);
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, store->memory);
    mdf_text_append_string(&text, "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": ");
    append_shape(&text, array, array->rank > 0 ? (size_t)array->shape[0] : 0);
    mdf_text_printf(&text,
                    ", \"data_type\": \"%s\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": ",
                    mdf_dtype_name(dtype));
    append_shape(&text, array, array->chunk);
    mdf_text_printf(
        &text,
        "}}, \"chunk_key_encoding\": {\"name\": \"v2\", \"configuration\": {\"separator\": \".\"}}, \"fill_value\": %s, "
        "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}",
        kind == 'c' ? "[0.0, 0.0]" : fill_of(kind), __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "little" : "big");
    if (store->codec != STORE_PLAIN) {
        mdf_text_printf(&text, ", {\"name\": \"%s\", \"configuration\": {\"level\": %d%s}}", store_codec_words[store->codec - 1],
                        store_codec_level(store->codec), store->codec == STORE_ZSTD ? ", \"checksum\": false" : "");
    }
    mdf_text_append_string(&text, "], \"attributes\": {}, \"dimension_names\": ");
    append_axes(&text, array);
    mdf_text_append_string(&text, "}\n");
    done = save_text(store, array, STORE_V3, &text);
    mdf_text_release(&text);
    return done;
}

static bool write_array_description(const struct sweep_store *store, const struct store_array *array)
{
    mdf_dtype dtype = mdf_npy_dtype(array->dtype);
    char kind = mdf_dtype_kind(dtype), descr[MDF_NPY_DESCR_SIZE];
    struct mdf_text text;
    bool done;

    mdf_npy_describe(dtype, descr);
    mdf_text_init(&text, store->memory);
    mdf_text_append_string(&text, "{\"zarr_format\": 2, \"shape\": ");
    append_shape(&text, array, array->rank > 0 ? (size_t)array->shape[0] : 0);
    mdf_text_append_string(&text, ", \"chunks\": ");
    append_shape(&text, array, array->chunk);
    mdf_text_printf(&text, ", \"dtype\": \"%s\", \"compressor\": ", descr);
    if (store->codec != STORE_PLAIN) {
        mdf_text_printf(&text, "{\"id\": \"%s\", \"level\": %d}", store_codec_words[store->codec - 1],
                        store_codec_level(store->codec));
    } else {
        mdf_text_append_string(&text, "null");
    }
    mdf_text_printf(&text, ", \"fill_value\": %s, \"order\": \"C\", \"filters\": null}\n", kind == 'c' ? "null" : fill_of(kind));
    done = save_text(store, array, STORE_ARRAY, &text);
    mdf_text_release(&text);
    return done;
}

/* The names of the axes. */
static void append_axes(struct mdf_text *text, const struct store_array *array)
{
    mdf_text_append_string(text, "[");
    for (size_t i = 0; i < array->rank; i++) {
        struct mdf_text name;

        mdf_text_init(&name, text->memory);
        if (i < array->n_axes) {
            mdf_text_append_string(&name, array->axes[i]);
        } else {
            mdf_text_printf(&name, "%s_%zu", array->name, i - array->n_axes);
        }
        mdf_text_append_string(text, i > 0 ? ", " : "");
        if (!name.failed) {
            mdf_write_json_string(text, name.bytes, name.length);
        }
        text->failed = text->failed || name.failed;
        mdf_text_release(&name);
    }
    mdf_text_append_string(text, "]");
}

/* As xarray looks for them in version 2. */
static bool write_axes(const struct sweep_store *store, const struct store_array *array)
{
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, store->memory);
    mdf_text_append_string(&text, "{\"_ARRAY_DIMENSIONS\": ");
    append_axes(&text, array);
    mdf_text_append_string(&text, "}\n");
    done = save_text(store, array, STORE_ATTRIBUTES, &text);
    mdf_text_release(&text);
    return done;
}

static bool make_array(const struct sweep_store *store, const struct store_array *array)
{
    struct mdf_text path;
    bool done;

    if (array->name[0] == '.' || strchr(array->name, '/') != NULL) {
        mdf_error_set(store->error, MDF_NAME, "'%s' can not be the name of an array of Zarr: it has a '/', or begins with a dot",
                      array->name);
        return false;
    }
    done =
        start_path(&path, store, array, "") && make_folder(path.bytes, true, store->error) &&
        (store->is_v3 ? write_v3_description(store, array) : write_array_description(store, array) && write_axes(store, array)) &&
        sync_folder(path.bytes, store->error);
    mdf_text_release(&path);
    return done;
}

static bool save_string(const struct sweep_store *store, const char *file, const char *string)
{
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, store->memory);
    mdf_text_append_string(&text, string);
    done = save_text(store, NULL, file, &text);
    mdf_text_release(&text);
    return done;
}

bool make_store(const struct sweep_store *store, const struct store_array *arrays, size_t n_arrays)
{
    if (!make_folder(store->path, true, store->error)) {
        return false;
    }
    for (size_t i = 0; i < n_arrays; i++) {
        if (!make_array(store, &arrays[i])) {
            return false;
        }
    }
    return store->is_v3 || save_string(store, ".zgroup", "{\"zarr_format\": 2}\n");
}

static const char *attributes_file(const struct sweep_store *store)
{
    return store->is_v3 ? STORE_V3 : STORE_ATTRIBUTES;
}

bool finish_store(const struct sweep_store *store)
{
    return save_string(store, attributes_file(store), store->attributes) && sync_folder(store->path, store->error);
}

bool check_store(const struct sweep_store *store, bool *is_there)
{
    struct mdf_text path;
    void *bytes = NULL;
    size_t size_bytes;
    bool done = start_path(&path, store, NULL, attributes_file(store));

    *is_there = done && access(path.bytes, F_OK) == 0;
    if (done && *is_there) {
        done = mdf_read_file(store->memory, path.bytes, &bytes, &size_bytes, store->error) == MDF_OK;
        if (done && (size_bytes != strlen(store->attributes) || memcmp(bytes, store->attributes, size_bytes) != 0)) {
            mdf_error_set(
                store->error, MDF_VALUE,
                "these are results of another sweep: its model, values, seeds, options, size of chunks, or the version of "
                "the engine are others (see %s in it)",
                attributes_file(store));
            mdf_error_at(store->error, store->path, 0, 0);
            done = false;
        }
    }
    mdf_memory_release(store->memory, bytes);
    mdf_text_release(&path);
    return done;
}

/* ------------------------------------------------------------------ chunks */

bool has_chunk(const struct sweep_store *store, const struct store_array *array, size_t chunk, bool *has)
{
    struct mdf_text path;
    bool done = start_chunk_path(&path, store, array, chunk);

    *has = done && access(path.bytes, F_OK) == 0;
    mdf_text_release(&path);
    return done;
}

/* A chunk in the type that it is kept in. */
static bool fill_chunk(const struct sweep_store *store, const struct store_array *array, const struct mdf_value *values, size_t n,
                       struct mdf_value *bytes)
{
    int64_t shape[STORE_DEEPEST_RANK];
    size_t n_row = 1, size = mdf_dtype_size(mdf_npy_dtype(array->dtype)), i;
    char *target;

    memcpy(shape, array->shape, array->rank * sizeof *shape);
    if (array->rank > 0) {
        shape[0] = (int64_t)array->chunk;
    }
    for (i = 1; i < array->rank; i++) {
        n_row *= (size_t)shape[i];
    }
    target = mdf_value_make_tensor(store->memory, bytes, mdf_npy_dtype(array->dtype), array->rank, shape);
    if (target == NULL) {
        mdf_memory_error(store->memory, store->error);
        return false;
    }
    mdf_convert_elements(mdf_npy_dtype(array->dtype), target, array->dtype, values->data, n * n_row, false);
    memset(target + n * n_row * size, 0, (array->chunk - n) * n_row * size);
    return true;
}

bool write_chunk_bytes(const struct sweep_store *store, const struct store_array *array, size_t chunk, const void *bytes,
                       size_t size_bytes)
{
    enum store_codec codec = strcmp(array->name, STORE_REDUCED) == 0 ? STORE_PLAIN : store->codec;
    struct mdf_text path, folder, compressed;
    bool done = start_path(&folder, store, array, "");

    mdf_text_init(&compressed, store->memory);
    done = start_chunk_path(&path, store, array, chunk) && done &&
           (codec == STORE_PLAIN || store_compress(codec, bytes, size_bytes, &compressed, store->error));
    done = done &&
           save_lasting(store->memory, path.bytes, codec == STORE_PLAIN ? bytes : compressed.bytes,
                        codec == STORE_PLAIN ? size_bytes : compressed.length, store->error) &&
           sync_folder(folder.bytes, store->error);
    mdf_text_release(&compressed);
    mdf_text_release(&path);
    mdf_text_release(&folder);
    return done;
}

bool write_chunk(const struct sweep_store *store, const struct store_array *array, size_t chunk, const struct mdf_value *values,
                 size_t n)
{
    struct mdf_value bytes = {0};
    bool done = fill_chunk(store, array, values, n, &bytes) &&
                write_chunk_bytes(store, array, chunk, bytes.data, bytes.length * mdf_dtype_size((mdf_dtype)bytes.dtype));

    mdf_value_clear(store->memory, &bytes);
    return done;
}

bool sweep_out_chunks(const struct sweep_store *store, const struct store_array *array, size_t first, size_t last)
{
    struct mdf_text folder;
    struct dirent *entry;
    DIR *open_folder = NULL;
    bool done = start_path(&folder, store, array, "");

    if (done && (open_folder = opendir(folder.bytes)) == NULL) {
        done = file_fault(store->error, folder.bytes, "the folder can not be read");
    }
    while (done && (entry = readdir(open_folder)) != NULL) {
        unsigned long long chunk = strtoull(entry->d_name, NULL, 10);

        if (mdf_is_digit(entry->d_name[0]) && mdf_ends_with(entry->d_name, ".new") && chunk >= first && chunk < last) {
            unlinkat(dirfd(open_folder), entry->d_name, 0);
        }
    }
    if (open_folder != NULL) {
        closedir(open_folder);
    }
    mdf_text_release(&folder);
    return done;
}
