/* read_npz.c - all arrays of a NumPy .npz archive, as an object {name: array}. See values.h.
 *
 * A .npz file is a zip file of .npy files, stored or deflated; libzip opens it and checks its sums. */
#include "mdf_c/values/values.h"

#include "mdf_c/values/zip_library.h"

#include <string.h>
#include <sys/stat.h>

/* An archive that is open. */
struct archive {
    struct mdf_zip_library libzip;
    zip_t *zip;
};

static const char suffix[] = ".npy";
enum { SUFFIX_LENGTH = sizeof suffix - 1 };

/* Length of an entry's name without ".npy"; 0 where it has another form. */
static size_t key_length(const char *name)
{
    size_t length = strlen(name);

    return length > SUFFIX_LENGTH && strcmp(name + length - SUFFIX_LENGTH, suffix) == 0 ? length - SUFFIX_LENGTH : 0;
}

static mdf_status fail(mdf_error *error, const char *name, const char *why)
{
    return mdf_error_set(error, MDF_FILE, "the array '%s' can not be read: %s", name, why);
}

/* The unpacked bytes of an entry, whose announced size is checked against what there is; the caller releases them. */
static mdf_status unpack(struct mdf_memory *memory, const struct archive *archive, zip_uint64_t entry, const char *name,
                         char **bytes, size_t *size_bytes, mdf_error *error)
{
    mdf_status status = MDF_OK;
    zip_file_t *file;
    zip_stat_t about;
    zip_int64_t n;

    if (archive->libzip.zip_stat_index(archive->zip, entry, 0, &about) != 0 || !(about.valid & ZIP_STAT_SIZE)) {
        return fail(error, name, archive->libzip.zip_strerror(archive->zip));
    }
    if (about.size > MDF_DOCUMENT_MAX_BYTES) {
        return mdf_error_set(error, MDF_LIMIT, "the array '%s' has more than %zu bytes", name, MDF_DOCUMENT_MAX_BYTES);
    }
    file = archive->libzip.zip_fopen_index(archive->zip, entry, 0);
    if (file == NULL) {
        return fail(error, name, archive->libzip.zip_strerror(archive->zip));
    }
    *size_bytes = (size_t)about.size;
    *bytes = mdf_memory_allocate(memory, *size_bytes);
    if (*bytes == NULL) {
        status = mdf_memory_error(memory, error);
    } else {
        n = archive->libzip.zip_fread(file, *bytes, about.size);
        if (n < 0 || (zip_uint64_t)n != about.size || archive->libzip.zip_fread(file, &(char){0}, 1) != 0) {
            status = fail(error, name, "the archive is damaged");
        }
    }
    archive->libzip.zip_fclose(file);
    return status;
}

/* Reads one entry into a pair of the object: its key and its array. */
static mdf_status read_entry(struct mdf_memory *memory, const struct archive *archive, zip_uint64_t entry, struct mdf_value *pair,
                             mdf_error *error)
{
    const char *name = archive->libzip.zip_get_name(archive->zip, entry, 0);
    char *bytes = NULL;
    size_t size_bytes = 0;
    mdf_status status;

    if (name == NULL) {
        return mdf_error_set(error, MDF_FILE, "the archive is damaged");
    }
    if (key_length(name) == 0) {
        return fail(error, name, "its name does not end in .npy");
    }
    status = unpack(memory, archive, entry, name, &bytes, &size_bytes, error);
    if (status == MDF_OK) {
        status = mdf_read_npy(memory, bytes, size_bytes, &pair[1], error);
        mdf_error_in(error, "array '%.*s'", (int)key_length(name), name);
    }
    if (status == MDF_OK && !mdf_value_make_string(memory, &pair[0], name, key_length(name))) {
        status = mdf_memory_error(memory, error);
    }
    mdf_memory_release(memory, bytes);
    return status;
}

/* Entries with more packed bytes in all than the file has share some, and a small file could be unpacked to anything. */
static mdf_status check_packed_sizes(const struct archive *archive, const char *path, mdf_error *error)
{
    zip_int64_t n_entries = archive->libzip.zip_get_num_entries(archive->zip, 0), i;
    size_t n_packed = 0;
    struct stat file;

    if (stat(path, &file) != 0) {
        return mdf_error_set(error, MDF_FILE, "the archive can not be read");
    }
    for (i = 0; i < n_entries; i++) {
        zip_stat_t about;

        if (archive->libzip.zip_stat_index(archive->zip, (zip_uint64_t)i, 0, &about) == 0 &&
            (about.valid & ZIP_STAT_COMP_SIZE) != 0 &&
            (!mdf_size_add(n_packed, (size_t)about.comp_size, &n_packed) || n_packed > (uint64_t)file.st_size)) {
            return mdf_error_set(error, MDF_FILE, "the archive is damaged: its arrays share bytes");
        }
    }
    return MDF_OK;
}

mdf_status mdf_read_npz_file(struct mdf_memory *memory, const char *path, struct mdf_value *object, mdf_error *error)
{
    struct mdf_value *pairs;
    mdf_status status = MDF_OK;
    zip_int64_t n_entries, i;
    zip_error_t why;
    struct archive archive;
    int code = 0;

    if (mdf_zip_library_load(&archive.libzip, error) != MDF_OK) {
        mdf_error_at(error, path, 0, 0);
        return MDF_UNSUPPORTED;
    }
    archive.zip = archive.libzip.zip_open(path, ZIP_RDONLY, &code);
    if (archive.zip == NULL) {
        archive.libzip.zip_error_init_with_code(&why, code);
        status = mdf_error_set(error, MDF_FILE, "the archive can not be read: %s", archive.libzip.zip_error_strerror(&why));
        archive.libzip.zip_error_fini(&why);
        mdf_error_at(error, path, 0, 0);
        return status;
    }
    n_entries = archive.libzip.zip_get_num_entries(archive.zip, 0);
    status = check_packed_sizes(&archive, path, error);
    pairs = status == MDF_OK ? mdf_value_make_dict(memory, object, n_entries > 0 ? (size_t)n_entries : 0) : NULL;
    if (status == MDF_OK && pairs == NULL) {
        status = mdf_memory_error(memory, error);
    }
    for (i = 0; i < n_entries && status == MDF_OK; i++) {
        status = read_entry(memory, &archive, (zip_uint64_t)i, &pairs[2 * i], error);
    }
    mdf_error_at(error, path, 0, 0);
    archive.libzip.zip_discard(archive.zip);
    if (status != MDF_OK) {
        mdf_value_clear(memory, object);
    }
    return status;
}
