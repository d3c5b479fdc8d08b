/* store_codec.h - how the chunks of a store are compressed: by zlib (as gzip) or libzstd, which are loaded when they are needed.
 */
#ifndef MDF_CLI_SWEEP_STORE_CODEC_H
#define MDF_CLI_SWEEP_STORE_CODEC_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

enum store_codec { STORE_PLAIN, STORE_GZIP, STORE_ZSTD };

/* Their names, as Zarr has them; NULL of the last. */
extern const char *const store_codec_words[];

/* The level that chunks are compressed with. */
int store_codec_level(enum store_codec codec);
/* Appends the bytes, compressed. The same bytes give the same with one version of the library. */
bool store_compress(enum store_codec codec, const void *bytes, size_t n, struct mdf_text *compressed, mdf_error *error);

#endif
