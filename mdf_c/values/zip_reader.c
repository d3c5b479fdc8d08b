/* zip_reader.c - see zip_reader.h. Source: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3. libzip unpacks
 * entries that are packed. */
#include "mdf_c/values/zip_reader.h"

#include "mdf_c/base/text.h"
#include "mdf_c/values/zip_library.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_SIGNATURE = 0x06054b50,
    END_SIZE = 22,
    LOCATOR_SIGNATURE = 0x07064b50, /* of the end record with 64 bits */
    LOCATOR_SIZE = 20,
    LONG_END_SIGNATURE = 0x06064b50,
    LONG_END_SIZE = 56,
    DIRECTORY_SIGNATURE = 0x02014b50,
    DIRECTORY_SIZE = 46,
    LOCAL_SIGNATURE = 0x04034b50,
    LOCAL_SIZE = 30,
    LONG_SIZES_ID = 1 /* of the extra field with 64 bits */
};

/* The bytes of an archive, of which every place is checked before it is looked at. */
struct archive {
    const unsigned char *bytes;
    size_t size;
};

static uint64_t number_at(const unsigned char *bytes, size_t size)
{
    uint64_t number = 0;

    while (size > 0) {
        number = number << 8 | bytes[--size];
    }
    return number;
}

static mdf_status damaged(mdf_error *error)
{
    return mdf_error_set(error, MDF_FILE, "it is not a zip archive, or damaged");
}

/* Whether `n` bytes at an offset lie in the archive. */
static bool is_inside(const struct archive *archive, uint64_t offset, uint64_t n)
{
    return offset <= archive->size && n <= archive->size - offset;
}

static bool has_signature(const struct archive *archive, uint64_t offset, size_t size, uint32_t signature)
{
    return is_inside(archive, offset, size) && number_at(archive->bytes + offset, 4) == signature;
}

/* ------------------------------------------------------------------ the end of the archive */

struct directory {
    uint64_t offset, size, n_entries;
};

static bool find_directory(const struct archive *archive, struct directory *directory)
{
    uint64_t end = archive->size - END_SIZE, long_end;
    const unsigned char *record;

    if (archive->size < END_SIZE) {
        return false;
    }
    for (uint64_t least = end > UINT16_MAX ? end - UINT16_MAX : 0; !has_signature(archive, end, END_SIZE, END_SIGNATURE); end--) {
        if (end == least) {
            return false;
        }
    }
    record = archive->bytes + end;
    *directory = (struct directory){number_at(record + 16, 4), number_at(record + 12, 4), number_at(record + 10, 2)};
    if (end >= LOCATOR_SIZE && has_signature(archive, end - LOCATOR_SIZE, LOCATOR_SIZE, LOCATOR_SIGNATURE)) {
        long_end = number_at(record - LOCATOR_SIZE + 8, 8);
        if (!has_signature(archive, long_end, LONG_END_SIZE, LONG_END_SIGNATURE)) {
            return false;
        }
        record = archive->bytes + long_end;
        *directory = (struct directory){number_at(record + 48, 8), number_at(record + 40, 8), number_at(record + 32, 8)};
    }
    return is_inside(archive, directory->offset, directory->size) && directory->n_entries <= directory->size / DIRECTORY_SIZE;
}

/* ------------------------------------------------------------------ entries */

/* Takes a number with 64 bits out of the extra field where the record has no room for it. */
static bool widen(uint64_t *number, const unsigned char **extra, size_t *n_left)
{
    if (*number != UINT32_MAX) {
        return true;
    }
    if (*n_left < 8) {
        return false;
    }
    *number = number_at(*extra, 8);
    *extra += 8;
    *n_left -= 8;
    return true;
}

static bool widen_all(const unsigned char *extra, size_t n_extra, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
    while (n_extra >= 4) {
        size_t n = (size_t)number_at(extra + 2, 2), id = (size_t)number_at(extra, 2);

        extra += 4;
        n_extra -= 4;
        if (n > n_extra) {
            return false;
        }
        if (id == LONG_SIZES_ID) {
            return widen(size, &extra, &n) && widen(packed, &extra, &n) && widen(offset, &extra, &n);
        }
        extra += n;
        n_extra -= n;
    }
    return true;
}

/* Reads the record at *at of the directory, and moves on. */
static bool read_entry(const struct archive *archive, uint64_t *at, uint64_t end, struct mdf_zip_entry *entry)
{
    const unsigned char *record = archive->bytes + *at, *local;
    uint64_t size, packed, offset, n_name, n_extra, n_all;

    if (end - *at < DIRECTORY_SIZE || number_at(record, 4) != DIRECTORY_SIGNATURE) {
        return false;
    }
    packed = number_at(record + 20, 4);
    size = number_at(record + 24, 4);
    offset = number_at(record + 42, 4);
    n_name = number_at(record + 28, 2);
    n_extra = number_at(record + 30, 2);
    n_all = DIRECTORY_SIZE + n_name + n_extra + number_at(record + 32, 2);
    if (n_all > end - *at || !widen_all(record + DIRECTORY_SIZE + n_name, (size_t)n_extra, &size, &packed, &offset) ||
        !has_signature(archive, offset, LOCAL_SIZE, LOCAL_SIGNATURE)) {
        return false;
    }
    *at += n_all;
    local = archive->bytes + offset;
    offset += LOCAL_SIZE + number_at(local + 26, 2) + number_at(local + 28, 2);
    entry->name = (const char *)record + DIRECTORY_SIZE;
    entry->name_length = (size_t)n_name;
    entry->bytes = archive->bytes + offset;
    entry->n_packed = (size_t)packed;
    entry->size = (size_t)size;
    entry->is_stored = number_at(record + 10, 2) == ZIP_CM_STORE && (record[8] & 1) == 0; /* not encrypted either */
    return is_inside(archive, offset, packed) && (!entry->is_stored || packed == size);
}

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = shorter > 0 ? memcmp(a, b, shorter) : 0;

    return order != 0 ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int compare_entries(const void *a, const void *b)
{
    const struct mdf_zip_entry *left = a, *right = b;

    return compare_names(left->name, left->name_length, right->name, right->name_length);
}

mdf_status mdf_zip_open(struct mdf_arena *arena, struct mdf_store *store, struct mdf_zip *zip, mdf_error *error)
{
    struct archive archive = {mdf_store_bytes(store), mdf_store_size(store)};
    struct directory directory;
    uint64_t at, end;
    size_t n_packed = 0;

    if (!find_directory(&archive, &directory)) {
        return damaged(error);
    }
    *zip = (struct mdf_zip){.store = store, .n_entries = (size_t)directory.n_entries};
    zip->entries = mdf_arena_array(arena, zip->n_entries, sizeof *zip->entries);
    if (zip->entries == NULL) {
        return mdf_memory_error(arena->memory, error);
    }
    at = directory.offset;
    end = directory.offset + directory.size;
    for (size_t i = 0; i < zip->n_entries; i++) {
        /* More than there is: entries share bytes, so that a small file could be unpacked to anything. */
        if (!read_entry(&archive, &at, end, &zip->entries[i]) || !mdf_size_add(n_packed, zip->entries[i].n_packed, &n_packed) ||
            n_packed > archive.size) {
            return damaged(error);
        }
    }
    if (zip->n_entries > 0) {
        qsort(zip->entries, zip->n_entries, sizeof *zip->entries, compare_entries);
    }
    return MDF_OK;
}

const struct mdf_zip_entry *mdf_zip_find(const struct mdf_zip *zip, const char *name, const char *suffix)
{
    size_t length = strlen(name), n_suffix = strlen(suffix), low = 0, high = zip->n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mdf_zip_entry *entry = &zip->entries[middle];
        size_t n = entry->name_length < length ? entry->name_length : length;
        int order = compare_names(name, length, entry->name, n);

        if (order == 0) {
            order = compare_names(suffix, n_suffix, entry->name + n, entry->name_length - n);
        }
        if (order == 0) {
            return entry;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ packed entries */

static bool unpack_entry(const struct mdf_zip_library *libzip, zip_t *archive, const struct mdf_zip_entry *entry, void *target)
{
    zip_int64_t index, n_entries = libzip->zip_get_num_entries(archive, 0), n = -1;
    zip_file_t *file;

    for (index = 0; index < n_entries; index++) {
        const char *name = libzip->zip_get_name(archive, (zip_uint64_t)index, ZIP_FL_ENC_RAW);

        if (name != NULL && mdf_bytes_are(entry->name, entry->name_length, name)) {
            file = libzip->zip_fopen_index(archive, (zip_uint64_t)index, 0);
            if (file != NULL) {
                n = libzip->zip_fread(file, target, entry->size);
                n = libzip->zip_fread(file, &(char){0}, 1) == 0 ? n : -1; /* the sum is checked at the end */
                libzip->zip_fclose(file);
            }
            break;
        }
    }
    return n >= 0 && (size_t)n == entry->size;
}

mdf_status mdf_zip_unpack(const struct mdf_zip *zip, const struct mdf_zip_entry *entry, void *target, mdf_error *error)
{
    struct mdf_zip_library libzip;
    zip_source_t *source;
    zip_t *archive;
    bool done;

    if (entry->is_stored) {
        if (entry->size > 0) {
            memcpy(target, entry->bytes, entry->size);
        }
        return MDF_OK;
    }
    if (mdf_zip_library_load(&libzip, error) != MDF_OK) {
        return MDF_UNSUPPORTED;
    }
    source = libzip.zip_source_buffer_create(mdf_store_bytes(zip->store), mdf_store_size(zip->store), 0, NULL);
    archive = source != NULL ? libzip.zip_open_from_source(source, ZIP_RDONLY, NULL) : NULL;
    if (archive == NULL) {
        libzip.zip_source_free(source);
        return damaged(error);
    }
    done = unpack_entry(&libzip, archive, entry, target);
    libzip.zip_discard(archive);
    return done ? MDF_OK : damaged(error);
}
