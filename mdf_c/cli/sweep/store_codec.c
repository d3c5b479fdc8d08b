/* store_codec.c - see store_codec.h. The functions that are used have had these types in all versions of the libraries, whose
 * headers are not needed. */
#include "mdf_c/cli/sweep/store_codec.h"

#include "mdf_c/base/late_library.h"

#include <limits.h>
#include <stdint.h>

const char *const store_codec_words[] = {"gzip", "zstd", NULL};

enum { GZIP_LEVEL = 5, ZSTD_LEVEL = 3, ZLIB_FRAME_BEGIN = 2, ZLIB_FRAME_END = 4 };

int store_codec_level(enum store_codec codec)
{
    return codec == STORE_GZIP ? GZIP_LEVEL : ZSTD_LEVEL;
}

struct zlib_library {
    int (*compress2)(unsigned char *target, unsigned long *n_target, const unsigned char *bytes, unsigned long n, int level);
    unsigned long (*compress_bound)(unsigned long n);
    unsigned long (*crc32)(unsigned long crc, const unsigned char *bytes, unsigned n);
};

struct zstd_library {
    size_t (*compress)(void *target, size_t n_target, const void *bytes, size_t n, int level);
    size_t (*compress_bound)(size_t n);
    unsigned (*is_error)(size_t result);
};

static bool load(const char *file, const char *const *names, size_t n, void *library, mdf_error *error)
{
    if (!mdf_late_library_load(file, names, n, library)) {
        mdf_error_set(error, MDF_UNSUPPORTED, "compressed chunks need the library %s, which can not be loaded", file);
        return false;
    }
    return true;
}

static bool refuse(mdf_error *error)
{
    mdf_error_set(error, MDF_LIMIT, "a chunk can not be compressed: take smaller ones (--chunk)");
    return false;
}

static void append_little(struct mdf_text *text, uint32_t number)
{
    const char bytes[4] = {(char)(number & 0xFF), (char)(number >> 8 & 0xFF), (char)(number >> 16 & 0xFF), (char)(number >> 24)};

    mdf_text_append(text, bytes, sizeof bytes);
}

/* What zlib frames in its way, in that of gzip (RFC 1952): no name, no time. */
static bool append_gzip(const struct zlib_library *library, const void *bytes, size_t n, unsigned char *room,
                        unsigned long n_room, struct mdf_text *compressed, mdf_error *error)
{
    static const char header[10] = {0x1F, (char)0x8B, 8, 0, 0, 0, 0, 0, 0, (char)255};

    if (library->compress2(room, &n_room, bytes, n, GZIP_LEVEL) != 0 || n_room < ZLIB_FRAME_BEGIN + ZLIB_FRAME_END) {
        return refuse(error);
    }
    mdf_text_append(compressed, header, sizeof header);
    mdf_text_append(compressed, (const char *)room + ZLIB_FRAME_BEGIN, n_room - ZLIB_FRAME_BEGIN - ZLIB_FRAME_END);
    append_little(compressed, (uint32_t)library->crc32(0, bytes, (unsigned)n));
    append_little(compressed, (uint32_t)n);
    return !compressed->failed || mdf_memory_error(compressed->memory, error) == MDF_OK;
}

static bool compress_gzip(const void *bytes, size_t n, struct mdf_text *compressed, mdf_error *error)
{
    static const char *const names[] = {"compress2", "compressBound", "crc32"};
    struct zlib_library library;
    unsigned char *room;
    unsigned long n_room;
    bool done;

    if (n > INT_MAX) {
        return refuse(error);
    }
    if (!load("libz.so.1", names, sizeof names / sizeof *names, &library, error)) {
        return false;
    }
    n_room = library.compress_bound(n);
    room = mdf_memory_allocate(compressed->memory, n_room);
    done = room != NULL ? append_gzip(&library, bytes, n, room, n_room, compressed, error)
                        : mdf_memory_error(compressed->memory, error) == MDF_OK;
    mdf_memory_release(compressed->memory, room);
    return done;
}

static bool compress_zstd(const void *bytes, size_t n, struct mdf_text *compressed, mdf_error *error)
{
    static const char *const names[] = {"ZSTD_compress", "ZSTD_compressBound", "ZSTD_isError"};
    struct zstd_library library;
    size_t n_room, n_compressed;
    char *room;
    bool done;

    if (!load("libzstd.so.1", names, sizeof names / sizeof *names, &library, error)) {
        return false;
    }
    n_room = library.compress_bound(n);
    room = library.is_error(n_room) ? NULL : mdf_memory_allocate(compressed->memory, n_room);
    if (room == NULL) {
        return mdf_memory_error(compressed->memory, error) == MDF_OK;
    }
    n_compressed = library.compress(room, n_room, bytes, n, ZSTD_LEVEL);
    done = !library.is_error(n_compressed) || refuse(error);
    if (done) {
        mdf_text_append(compressed, room, n_compressed);
        done = !compressed->failed || mdf_memory_error(compressed->memory, error) == MDF_OK;
    }
    mdf_memory_release(compressed->memory, room);
    return done;
}

bool store_compress(enum store_codec codec, const void *bytes, size_t n, struct mdf_text *compressed, mdf_error *error)
{
    switch (codec) {
    case STORE_GZIP:
        return compress_gzip(bytes, n, compressed, error);
    case STORE_ZSTD:
        return compress_zstd(bytes, n, compressed, error);
    case STORE_PLAIN:
        break;
    }
    mdf_text_append(compressed, bytes, n);
    return !compressed->failed || mdf_memory_error(compressed->memory, error) == MDF_OK;
}
