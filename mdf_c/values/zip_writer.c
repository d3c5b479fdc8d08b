/* zip_writer.c - see zip_writer.h. Source: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3: sizes and offsets
 * that need it have 64 bits, in extra fields; another extra field, of zeros, moves the bytes to a multiple of 64. */
#include "mdf_c/values/zip_writer.h"

#include <string.h>

enum {
    ALIGNMENT = 64,
    LOCAL_SIZE = 30,
    DIRECTORY_SIZE = 46,
    LONG_LOCAL_EXTRA = 20,     /* two sizes of 64 bits */
    LONG_DIRECTORY_EXTRA = 28, /* and an offset */
    EXTRA_HEAD = 4,
    PADDING_ID = 0xd935, /* the one that Android's zipalign uses */
    VERSION = 45,        /* the first with 64 bits */
    UTF8_NAME = 1 << 11,
    DATE = 0x21 /* 1 January 1980: the same model gives the same bytes */
};

struct mdf_zip_written {
    const char *name;
    uint32_t sum;
    uint64_t size, offset;
};

/* ------------------------------------------------------------------ CRC-32 */

/* The sum of eight bytes at once needs a table for each: the remainders of a byte with 0 to 7 zero bytes behind it. */
struct sum_tables {
    uint32_t of[8][256];
};

static void make_tables(struct sum_tables *tables)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t rest = i;

        for (uint32_t k = 0; k < 8; k++) {
            rest = rest >> 1 ^ ((rest & 1) != 0 ? 0xedb88320U : 0);
        }
        tables->of[0][i] = rest;
    }
    for (uint32_t k = 1; k < 8; k++) {
        for (uint32_t i = 0; i < 256; i++) {
            tables->of[k][i] = tables->of[k - 1][i] >> 8 ^ tables->of[0][tables->of[k - 1][i] & 0xff];
        }
    }
}

static uint32_t add_to_sum(const struct sum_tables *tables, uint32_t sum, const unsigned char *bytes, size_t n)
{
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        uint32_t next = 0;

        for (size_t k = 0; k < 4; k++) {
            next ^= tables->of[7 - k][(sum >> 8 * k & 0xff) ^ bytes[i + k]] ^ tables->of[3 - k][bytes[i + 4 + k]];
        }
        sum = next;
    }
    for (; i < n; i++) {
        sum = sum >> 8 ^ tables->of[0][(sum ^ bytes[i]) & 0xff];
    }
    return sum;
}

static uint32_t sum_of(const void *head, size_t n_head, const void *body, size_t n_body)
{
    struct sum_tables tables;

    make_tables(&tables);
    return ~add_to_sum(&tables, add_to_sum(&tables, UINT32_MAX, head, n_head), body, n_body);
}

/* ------------------------------------------------------------------ records */

/* A record under construction. */
struct record {
    unsigned char bytes[128];
    size_t n;
};

static void put(struct record *record, uint64_t number, size_t size)
{
    for (; size > 0; size--, number >>= 8) {
        record->bytes[record->n++] = (unsigned char)number;
    }
}

/* A number of 32 bits, or the sign that it stands in the extra field. */
static void put_short(struct record *record, uint64_t number, bool is_long)
{
    put(record, is_long ? UINT32_MAX : number, 4);
}

/* What records of an entry begin with, from the version on. */
static void put_entry(struct record *record, const struct mdf_zip_written *entry, bool is_long, size_t n_extra)
{
    put(record, VERSION, 2);
    put(record, UTF8_NAME, 2);
    put(record, 0, 2); /* stored */
    put(record, 0, 2); /* midnight */
    put(record, DATE, 2);
    put(record, entry->sum, 4);
    put_short(record, entry->size, is_long);
    put_short(record, entry->size, is_long);
    put(record, strlen(entry->name), 2);
    put(record, n_extra, 2);
}

/* Whether an entry needs 64 bits. */
static bool is_long(const struct mdf_zip_written *entry)
{
    return entry->size >= UINT32_MAX || entry->offset >= UINT32_MAX;
}

static void put_long_extra(struct record *record, const struct mdf_zip_written *entry, bool with_offset)
{
    put(record, 1, 2);
    put(record, with_offset ? 24 : 16, 2);
    put(record, entry->size, 8);
    put(record, entry->size, 8);
    if (with_offset) {
        put(record, entry->offset, 8);
    }
}

static bool write_bytes(struct mdf_zip_writer *writer, const void *bytes, size_t n, mdf_error *error)
{
    writer->offset += n;
    return mdf_new_file_write(writer->file, bytes, n, error) == MDF_OK;
}

static bool write_record(struct mdf_zip_writer *writer, const struct record *record, mdf_error *error)
{
    return write_bytes(writer, record->bytes, record->n, error);
}

/* ------------------------------------------------------------------ the archive */

void mdf_zip_writer_init(struct mdf_zip_writer *writer, struct mdf_new_file *file, struct mdf_memory *memory)
{
    *writer = (struct mdf_zip_writer){.file = file, .memory = memory, .hash = mdf_hash_begin()};
}

void mdf_zip_writer_release(struct mdf_zip_writer *writer)
{
    mdf_memory_release(writer->memory, writer->entries);
    writer->entries = NULL;
}

/* The head of an entry in front of its bytes. */
static bool write_local(struct mdf_zip_writer *writer, const struct mdf_zip_written *entry, mdf_error *error)
{
    static const unsigned char zeros[ALIGNMENT];
    size_t n_long = is_long(entry) ? LONG_LOCAL_EXTRA : 0, n_padding;
    struct record record = {.n = 0}, extra = {.n = 0};

    n_padding =
        (size_t)(ALIGNMENT - (entry->offset + LOCAL_SIZE + strlen(entry->name) + n_long + EXTRA_HEAD) % ALIGNMENT) % ALIGNMENT;
    put(&record, 0x04034b50, 4);
    put_entry(&record, entry, n_long > 0, n_long + EXTRA_HEAD + n_padding);
    if (n_long > 0) {
        put_long_extra(&extra, entry, false);
    }
    put(&extra, PADDING_ID, 2);
    put(&extra, n_padding, 2);
    return write_record(writer, &record, error) && write_bytes(writer, entry->name, strlen(entry->name), error) &&
           write_record(writer, &extra, error) && write_bytes(writer, zeros, n_padding, error);
}

mdf_status mdf_zip_add(struct mdf_zip_writer *writer, const char *name, const void *head, size_t n_head, const void *body,
                       size_t n_body, mdf_error *error)
{
    struct mdf_zip_written entry = {.name = name, .offset = writer->offset};
    size_t size;

    if (!mdf_size_add(n_head, n_body, &size) || strlen(name) > UINT16_MAX) {
        return mdf_error_set(error, MDF_LIMIT, "an array, or its name, is too large for a zip archive");
    }
    if (writer->n_entries == writer->capacity) {
        struct mdf_zip_written *grown =
            mdf_memory_grow(writer->memory, writer->entries, &writer->capacity, writer->n_entries + 1, sizeof *grown);

        if (grown == NULL) {
            return mdf_memory_error(writer->memory, error);
        }
        writer->entries = grown;
    }
    entry.size = size;
    entry.sum = sum_of(head, n_head, body, n_body);
    writer->entries[writer->n_entries++] = entry;
    mdf_hash_add_text(&writer->hash, name);
    mdf_hash_add(&writer->hash, head, n_head);
    mdf_hash_add(&writer->hash, body, n_body);
    return write_local(writer, &entry, error) && write_bytes(writer, head, n_head, error) &&
                   write_bytes(writer, body, n_body, error)
               ? MDF_OK
               : MDF_FILE;
}

static bool write_directory_entry(struct mdf_zip_writer *writer, const struct mdf_zip_written *entry, mdf_error *error)
{
    size_t n_extra = is_long(entry) ? LONG_DIRECTORY_EXTRA : 0;
    struct record record = {.n = 0}, extra = {.n = 0};

    put(&record, 0x02014b50, 4);
    put(&record, VERSION, 2);
    put_entry(&record, entry, n_extra > 0, n_extra);
    put(&record, 0, 2); /* no comment */
    put(&record, 0, 2); /* the one disk */
    put(&record, 0, 2);
    put(&record, 0, 4);
    put_short(&record, entry->offset, n_extra > 0);
    if (n_extra > 0) {
        put_long_extra(&extra, entry, true);
    }
    return write_record(writer, &record, error) && write_bytes(writer, entry->name, strlen(entry->name), error) &&
           write_record(writer, &extra, error);
}

/* The end records: the long one with its locator, then the one that every archive has. */
static bool write_end(struct mdf_zip_writer *writer, uint64_t directory, mdf_error *error)
{
    uint64_t size = writer->offset - directory, end = writer->offset, n = writer->n_entries;
    bool needs_long = n >= UINT16_MAX || directory >= UINT32_MAX || size >= UINT32_MAX;
    struct record record = {.n = 0};

    if (needs_long) {
        put(&record, 0x06064b50, 4);
        put(&record, 44, 8); /* bytes that follow */
        put(&record, VERSION, 2);
        put(&record, VERSION, 2);
        put(&record, 0, 8);
        put(&record, n, 8);
        put(&record, n, 8);
        put(&record, size, 8);
        put(&record, directory, 8);
        put(&record, 0x07064b50, 4);
        put(&record, 0, 4);
        put(&record, end, 8);
        put(&record, 1, 4);
    }
    put(&record, 0x06054b50, 4);
    put(&record, 0, 4);
    put(&record, needs_long ? UINT16_MAX : n, 2);
    put(&record, needs_long ? UINT16_MAX : n, 2);
    put_short(&record, size, needs_long);
    put_short(&record, directory, needs_long);
    put(&record, 0, 2);
    return write_record(writer, &record, error);
}

mdf_status mdf_zip_finish(struct mdf_zip_writer *writer, mdf_error *error)
{
    uint64_t directory = writer->offset;

    for (size_t i = 0; i < writer->n_entries; i++) {
        if (!write_directory_entry(writer, &writer->entries[i], error)) {
            return MDF_FILE;
        }
    }
    return write_end(writer, directory, error) ? MDF_OK : MDF_FILE;
}
