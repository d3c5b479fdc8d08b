/* write_npz.c - the report of a run as a NumPy .npz archive: a zip file, made by libzip, of .npy files. See values.h.
 *
 * libzip reads the files' bytes when the archive is closed, so they are kept until then. */
#include "mdf_c/values/values.h"

#include "mdf_c/values/zip_library.h"

#include <stdio.h>
#include <string.h>

/* Noon of 2 January 1980: the same run gives the same bytes, in every time zone. */
static const time_t entry_time = 315662400;

struct archive {
    struct mdf_memory *memory;
    struct mdf_zip_library libzip;
    zip_t *zip;
    struct mdf_text *files; /* the bytes of the entries */
    size_t n_files, capacity;
    struct mdf_text name;
    mdf_error *error;
};

static mdf_status add_file(struct archive *archive, const char *name, struct mdf_text *file)
{
    struct mdf_text *files = archive->files;
    zip_source_t *source;
    zip_int64_t entry;

    if (archive->n_files == archive->capacity) {
        files = mdf_memory_grow(archive->memory, files, &archive->capacity, archive->n_files + 1, sizeof *files);
        if (files == NULL) {
            mdf_text_release(file);
            return mdf_memory_error(archive->memory, archive->error);
        }
        archive->files = files;
    }
    files[archive->n_files++] = *file;
    source = archive->libzip.zip_source_buffer(archive->zip, file->bytes, file->length, 0);
    entry = source != NULL ? archive->libzip.zip_file_add(archive->zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (entry < 0) {
        archive->libzip.zip_source_free(source);
        return mdf_error_set(archive->error, MDF_FILE, "'%s' can not be put into the archive: %s", name,
                             archive->libzip.zip_strerror(archive->zip));
    }
    if (archive->libzip.zip_set_file_compression(archive->zip, (zip_uint64_t)entry, ZIP_CM_STORE, 0) != 0 ||
        archive->libzip.zip_file_set_mtime(archive->zip, (zip_uint64_t)entry, entry_time, 0) != 0) {
        return mdf_error_set(archive->error, MDF_FILE, "the archive can not be written: %s",
                             archive->libzip.zip_strerror(archive->zip));
    }
    return MDF_OK;
}

static mdf_status add_value(struct archive *archive, const struct mdf_value *value);

/* An array under the archive's current name. */
static mdf_status add_tensor(struct archive *archive, const struct mdf_value *value)
{
    size_t length = archive->name.length;
    struct mdf_text file;
    mdf_status status;

    mdf_text_init(&file, archive->memory);
    status = mdf_write_npy(&file, value, archive->error);
    mdf_text_append_string(&archive->name, ".npy");
    if (status == MDF_OK && archive->name.failed) {
        status = mdf_memory_error(archive->memory, archive->error);
    }
    if (status != MDF_OK) {
        mdf_text_release(&file);
        return status;
    }
    status = add_file(archive, archive->name.bytes, &file);
    archive->name.length = length;
    return status;
}

static mdf_status add_items(struct archive *archive, const struct mdf_value *value)
{
    size_t length = archive->name.length;
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < value->length && status == MDF_OK; i++) {
        const char *key = mdf_value_key(value, i);

        if (key != NULL) {
            mdf_text_printf(&archive->name, ".%s", key);
        } else {
            mdf_text_printf(&archive->name, ".%zu", i);
        }
        status = add_value(archive, mdf_value_item(value, i));
        archive->name.length = length;
    }
    return status;
}

/* A value under the archive's current name; nothing gives no entry. Recursion ends at a depth that no zip file can name. */
static mdf_status add_value(struct archive *archive, const struct mdf_value *value)
{
    if (archive->name.length > UINT16_MAX) {
        return mdf_error_set(archive->error, MDF_LIMIT, "a name in the archive would have more than %d bytes", UINT16_MAX);
    }
    switch ((mdf_kind)value->kind) {
    case MDF_KIND_TENSOR:
        return add_tensor(archive, value);
    case MDF_KIND_LIST:
    case MDF_KIND_DICT:
        return add_items(archive, value);
    case MDF_KIND_NONE:
        break;
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ columns */

static bool same_form(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == MDF_KIND_TENSOR && b->kind == MDF_KIND_TENSOR && a->dtype == b->dtype && mdf_value_has_shape_of(a, b);
}

static bool is_uniform(const struct mdf_recording *recording, size_t column)
{
    struct mdf_value first = mdf_recording_value(recording, 0, column);

    for (size_t step = 0; step < recording->n_steps; step++) {
        struct mdf_value value = mdf_recording_value(recording, step, column);

        if (!same_form(&first, &value)) {
            return false;
        }
    }
    return true;
}

/* The array that has the steps as its first axis. */
static bool stack(struct mdf_memory *memory, const struct mdf_recording *recording, size_t column, struct mdf_value *stacked)
{
    struct mdf_value first = mdf_recording_value(recording, 0, column);
    int64_t *shape = mdf_memory_allocate_zeroed(memory, (size_t)first.rank + 1, sizeof *shape);
    size_t size = mdf_dtype_size((mdf_dtype)first.dtype), step, i;
    char *target;

    if (shape == NULL) {
        return false;
    }
    shape[0] = (int64_t)recording->n_steps;
    for (i = 0; i < first.rank; i++) {
        shape[i + 1] = mdf_value_shape(&first)[i];
    }
    target = mdf_value_make_tensor(memory, stacked, (mdf_dtype)first.dtype, (size_t)first.rank + 1, shape);
    mdf_memory_release(memory, shape);
    for (step = 0; target != NULL && step < recording->n_steps && first.length > 0; step++) {
        struct mdf_value value = mdf_recording_value(recording, step, column);

        if (value.dtype == MDF_DTYPE_STRING) {
            for (i = 0; i < value.length; i++) {
                ((char **)(void *)target)[i] = mdf_string_share(((char **)value.data)[i]);
            }
        } else {
            memcpy(target, value.data, value.length * size);
        }
        target += value.length * size;
    }
    return target != NULL;
}

static mdf_status add_column(struct archive *archive, const struct mdf_report *report, size_t column)
{
    const struct mdf_recording *recording = report->recording;
    struct mdf_value value = {0};
    mdf_status status = MDF_OK;

    if (report->trace && is_uniform(recording, column)) {
        archive->name.length = 0;
        mdf_append_column_name(&archive->name, &recording->columns[column]);
        status = stack(archive->memory, recording, column, &value) ? add_tensor(archive, &value)
                                                                   : mdf_memory_error(archive->memory, archive->error);
        mdf_value_clear(archive->memory, &value);
        return status;
    }
    for (size_t step = report->trace ? 0 : recording->n_steps - 1; step < recording->n_steps && status == MDF_OK; step++) {
        value = mdf_recording_value(recording, step, column);
        archive->name.length = 0;
        if (report->trace) {
            mdf_text_printf(&archive->name, "step%zu/", step + 1);
        }
        mdf_append_column_name(&archive->name, &recording->columns[column]);
        status = add_value(archive, &value);
    }
    return status;
}

static mdf_status add_times(struct archive *archive, const struct mdf_recording *recording)
{
    const int64_t n_steps = (int64_t)recording->n_steps;
    struct mdf_value times = {0};
    mdf_status status;

    mdf_value_borrow_tensor(archive->memory, &times, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, &n_steps, recording->times);
    archive->name.length = 0;
    mdf_text_append_string(&archive->name, MDF_TIME_COLUMN);
    status = add_tensor(archive, &times);
    mdf_value_clear(archive->memory, &times);
    return status;
}

/* ------------------------------------------------------------------ the archive */

/* Copies what libzip has written to `source`. */
static mdf_status copy_archive(const struct mdf_zip_library *libzip, struct mdf_text *bytes, zip_source_t *source,
                               mdf_error *error)
{
    char block[1 << 14];
    zip_int64_t n;

    if (libzip->zip_source_open(source) != 0) {
        return mdf_error_set(error, MDF_FILE, "the archive can not be written");
    }
    while ((n = libzip->zip_source_read(source, block, sizeof block)) > 0) {
        mdf_text_append(bytes, block, (size_t)n);
    }
    libzip->zip_source_close(source);
    if (n < 0) {
        return mdf_error_set(error, MDF_FILE, "the archive can not be written");
    }
    return bytes->failed ? mdf_memory_error(bytes->memory, error) : MDF_OK;
}

/* What goes into an archive: the ports of a report, or arrays. */
struct content {
    const struct mdf_report *report; /* NULL: arrays */
    const struct mdf_named_value *arrays;
    size_t n_arrays;
};

static mdf_status add_content(struct archive *archive, const struct content *content)
{
    const struct mdf_recording *recording = content->report != NULL ? content->report->recording : NULL;
    mdf_status status = MDF_OK;

    if (recording != NULL && recording->n_columns > 0 && mdf_report_has_times(content->report)) {
        status = add_times(archive, recording);
    }
    for (size_t i = 0; recording != NULL && i < recording->n_columns && recording->n_steps > 0 && status == MDF_OK; i++) {
        status = add_column(archive, content->report, i);
    }
    for (size_t i = 0; content->report != NULL && i < content->report->n_gradients && status == MDF_OK; i++) {
        const struct mdf_report_gradient *gradient = &content->report->gradients[i];

        archive->name.length = 0;
        mdf_text_printf(&archive->name, "gradients/%s/%s", gradient->result, gradient->parameter);
        status = add_value(archive, gradient->value);
    }
    for (size_t i = 0; i < content->n_arrays && status == MDF_OK; i++) {
        archive->name.length = 0;
        mdf_text_append_string(&archive->name, content->arrays[i].name);
        status = add_value(archive, &content->arrays[i].value);
    }
    return status;
}

static mdf_status write_archive(struct archive *archive, const struct content *content, zip_source_t *source,
                                struct mdf_text *bytes)
{
    mdf_status status = add_content(archive, content);

    if (status == MDF_OK && archive->n_files == 0) {
        status = mdf_error_set(archive->error, MDF_VALUE, "no port has a value that could be written to a .npz file");
    }
    if (status == MDF_OK && archive->libzip.zip_close(archive->zip) != 0) {
        status = mdf_error_set(archive->error, MDF_FILE, "the archive can not be written: %s",
                               archive->libzip.zip_strerror(archive->zip));
    } else if (status == MDF_OK) {
        archive->zip = NULL;
        status = copy_archive(&archive->libzip, bytes, source, archive->error);
    }
    return status;
}

static mdf_status write_content(struct mdf_text *bytes, const struct content *content, mdf_error *error)
{
    struct archive archive = {.memory = bytes->memory, .error = error};
    zip_source_t *source;
    mdf_status status;

    if (mdf_zip_library_load(&archive.libzip, error) != MDF_OK) {
        return MDF_UNSUPPORTED;
    }
    source = archive.libzip.zip_source_buffer_create(NULL, 0, 0, NULL);
    if (source == NULL) {
        return mdf_memory_error(bytes->memory, error);
    }
    archive.libzip.zip_source_keep(source); /* closing it lets go of it once */
    archive.zip = archive.libzip.zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    mdf_text_init(&archive.name, archive.memory);
    if (archive.zip == NULL) {
        archive.libzip.zip_source_free(source);
        status = mdf_memory_error(bytes->memory, error);
    } else {
        status = write_archive(&archive, content, source, bytes);
    }
    if (archive.zip != NULL) {
        archive.libzip.zip_discard(archive.zip);
    }
    archive.libzip.zip_source_free(source);
    for (size_t i = 0; i < archive.n_files; i++) {
        mdf_text_release(&archive.files[i]);
    }
    mdf_memory_release(archive.memory, archive.files);
    mdf_text_release(&archive.name);
    return status;
}

mdf_status mdf_write_report_npz(struct mdf_text *bytes, const struct mdf_report *report, mdf_error *error)
{
    return write_content(bytes, &(struct content){.report = report}, error);
}

mdf_status mdf_write_npz_arrays(struct mdf_text *bytes, const struct mdf_named_value *arrays, size_t n, mdf_error *error)
{
    return write_content(bytes, &(struct content){.arrays = arrays, .n_arrays = n}, error);
}
