/* target_values.c - files that hold values: -i and --inputs, sweeps, .npy and .npz, images. What can be read can be written, and
 * then reads as the same. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz/targets.h"
#include "mdf_c/cli/sweep/sweep_file.h"
#include "mdf_c/values/values.h"
#include "mdf_c/values/zip_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_VALUE_BYTES ((size_t)1 << 26)
enum { MOST_ENTRIES = 16, MOST_ENTRY_BYTES = 1 << 20 };

typedef bool (*reader)(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error);

/* Reads bytes with memory of their own, of which nothing is held in the end; a failure says why. `what` is done: "reading ...". */
static enum outcome try_reader(reader read, const char *what, const void *bytes, size_t size, struct complaint *complaint)
{
    struct mdf_memory memory;
    mdf_error error = {0};
    bool done;

    complaint->text[0] = '\0';
    mdf_memory_init(&memory, NULL, MOST_VALUE_BYTES);
    done = read(&memory, bytes, size, complaint, &error);
    check_outcome(complaint, what, done, &error);
    if (atomic_load(&memory.used_bytes) != 0) {
        complain(complaint, "memory is still held", &error);
    }
    return done ? OUTCOME_EVALUATED : OUTCOME_REFUSED;
}

/* ------------------------------------------------------------------ JSON */

static bool read_json(struct mdf_memory *memory, const void *bytes, size_t size, struct mdf_value *value, mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", "input", bytes, size, NULL, error);
    bool done = document != NULL && mdf_read_value(memory, document, &document->root, value, error) == MDF_OK;

    mdf_document_free(document);
    return done;
}

/* A value in the typed form reads as the same value. */
static void check_json(struct mdf_memory *memory, const struct mdf_value *value, struct complaint *complaint)
{
    struct mdf_value again = {0};
    mdf_error error = {0};
    struct mdf_text text;

    mdf_text_init(&text, memory);
    if (mdf_write_json_value(&text, value, true, &error) == MDF_OK && text.length < MOST_ENTRY_BYTES) {
        if (!read_json(memory, text.bytes, text.length, &again, &error)) {
            if (error.code != MDF_LIMIT && error.code != MDF_OUT_OF_MEMORY) { /* it may nest deeper than what it was read from */
                complain(complaint, "reading a value that was written", &error);
            }
        } else if (!mdf_value_equal(value, &again)) {
            complain(complaint, "a value that was written reads as another", &error);
        }
    }
    mdf_value_clear(memory, &again);
    mdf_text_release(&text);
}

static bool read_input_value(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error)
{
    struct mdf_value value = {0};
    bool done = read_json(memory, bytes, size, &value, error);

    if (done) {
        check_json(memory, &value, complaint);
    }
    mdf_value_clear(memory, &value);
    return done;
}

enum outcome try_input_value(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    (void)target;
    return try_reader(read_input_value, "reading a value", bytes, size, complaint);
}

/* ------------------------------------------------------------------ sweeps */

/* A file in memory that has a path while it is open; -1 where that can not be. */
static int make_file(const void *bytes, size_t size, char path[64])
{
    int file = memfd_create("input", MFD_CLOEXEC);

    if (file >= 0 && write(file, bytes, size) != (ssize_t)size) {
        close(file);
        return -1;
    }
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

/* Where there is no file in memory it is refused. */
static bool read_sweep(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error)
{
    struct sweep_file sweep = {0};
    mdf_options options = {0};
    char path[64];
    int file = make_file(bytes, size, path);
    bool done;

    (void)complaint;
    if (file < 0) {
        mdf_error_set(error, MDF_FILE, "there is no file in memory");
        return false;
    }
    done = read_sweep_file(&sweep, memory, path, &options, error);
    release_sweep_file(&sweep);
    close(file);
    return done;
}

enum outcome try_sweep_file(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    (void)target;
    return try_reader(read_sweep, "reading a sweep", bytes, size, complaint);
}

/* ------------------------------------------------------------------ NumPy */

static bool try_npy(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error)
{
    struct mdf_value value = {0}, again = {0};
    mdf_error fault = {0};
    struct mdf_text text;
    bool done = mdf_read_npy(memory, bytes, size, &value, error) == MDF_OK;

    mdf_text_init(&text, memory);
    if (done && mdf_write_npy(&text, &value, &fault) == MDF_OK &&
        (mdf_read_npy(memory, text.bytes, text.length, &again, &fault) != MDF_OK || !mdf_value_equal(&value, &again))) {
        complain(complaint, "an array that was written reads as another", &fault);
    }
    mdf_text_release(&text);
    mdf_value_clear(memory, &again);
    mdf_value_clear(memory, &value);
    return done;
}

/* Each entry by itself, so that one that is damaged does not hide the others. */
static bool try_entries(struct mdf_memory *memory, struct mdf_arena *arena, struct mdf_store *store, struct complaint *complaint,
                        mdf_error *error)
{
    struct mdf_zip zip;
    size_t i;

    if (mdf_zip_open(arena, store, &zip, error) != MDF_OK) {
        return false;
    }
    for (i = 0; i < zip.n_entries && i < MOST_ENTRIES; i++) {
        const struct mdf_zip_entry *entry = &zip.entries[i];
        char *bytes = entry->size <= MOST_ENTRY_BYTES ? malloc(entry->size + 1) : NULL;
        mdf_error fault = {0}, not_array = {0};

        if (bytes != NULL) {
            bool unpacked = mdf_zip_unpack(&zip, entry, bytes, &fault) == MDF_OK;

            check_outcome(complaint, "unpacking", unpacked, &fault);
            if (unpacked) {
                check_outcome(complaint, "reading an entry", try_npy(memory, bytes, entry->size, complaint, &not_array),
                              &not_array);
            }
        }
        free(bytes);
    }
    return true;
}

static bool try_npz(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error)
{
    struct mdf_store *store = mdf_store_allocate(memory, size);
    struct mdf_value object = {0};
    mdf_error fault = {0};
    struct mdf_arena arena;
    char path[64];
    bool done;
    int file;

    if (store == NULL) {
        mdf_memory_error(memory, error);
        return false;
    }
    memcpy(mdf_store_bytes(store), bytes, size);
    mdf_arena_init(&arena, memory);
    done = try_entries(memory, &arena, store, complaint, error);
    mdf_arena_release(&arena);
    mdf_store_release(store);
    file = make_file(bytes, size, path);
    if (file >= 0) {
        check_outcome(complaint, "reading an archive", mdf_read_npz_file(memory, path, &object, &fault) == MDF_OK, &fault);
        mdf_value_clear(memory, &object);
        close(file);
    }
    return done;
}

static bool read_numpy(struct mdf_memory *memory, const void *bytes, size_t size, struct complaint *complaint, mdf_error *error)
{
    bool is_array = size > 0 && ((const unsigned char *)bytes)[0] == 0x93;

    return is_array ? try_npy(memory, bytes, size, complaint, error) : try_npz(memory, bytes, size, complaint, error);
}

enum outcome try_numpy(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    (void)target;
    return try_reader(read_numpy, "reading arrays", bytes, size, complaint);
}

/* ------------------------------------------------------------------ images */

static const char image_model[] =
    "{\"m\": {\"format\": \"ModECI MDF v0.4\", \"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"x\": {}},"
    " \"parameters\": {\"p\": {\"function\": \"onnx::ImageDecoder\", \"args\": {\"encoded_stream\": \"x\"}}},"
    " \"output_ports\": {\"o\": {\"value\": \"p\"}}}}}}}}";

enum outcome try_image(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    mdf_options options = {.max_memory_bytes = MOST_VALUE_BYTES, .n_threads = 1};
    int64_t shape[1] = {(int64_t)size};
    mdf_tensor stream = {MDF_DTYPE_UINT8, 1, shape, bytes};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(image_model, sizeof image_model - 1, "json", "image", &options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    bool done = state != NULL && mdf_set_input(state, "x", &stream, &error) == MDF_OK &&
                mdf_evaluate(state, (double)NAN, &error) == MDF_OK;

    (void)target;
    complaint->text[0] = '\0';
    check_outcome(complaint, "decoding", done, &error);
    if (state == NULL) {
        complain(complaint, "the model of an image", &error);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    return done ? OUTCOME_EVALUATED : OUTCOME_REFUSED;
}
