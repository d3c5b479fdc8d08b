/* sweep_store.h - a folder that the results of a sweep go to in chunks: a group of Zarr, version 2 or 3.
 *
 * Sources: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html, https://zarr-specs.readthedocs.io/en/latest/v3/core/. Each
 * array is a folder with .zarray and .zattrs, or zarr.json, and a file for each chunk; a chunk is cut along the first axis only,
 * so chunk k of an array of rank 3 is the file k.0.0, in version 3 too (chunk key encoding "v2"). Every file appears whole or not
 * at all and outlives the machine from then on; the group's .zattrs or zarr.json is the last that a new store gets. */
#ifndef MDF_CLI_SWEEP_SWEEP_STORE_H
#define MDF_CLI_SWEEP_SWEEP_STORE_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"
#include "mdf_c/cli/sweep/store_codec.h"
#include "mdf_c/tensor/value.h"

enum { STORE_DEEPEST_RANK = 64 };

/* An array of the store. Texts are borrowed. */
struct store_array {
    const char *name;
    mdf_dtype dtype;
    size_t rank;
    int64_t shape[STORE_DEEPEST_RANK];
    size_t chunk;            /* length of a chunk along the first axis */
    const char *const *axes; /* names of the first axes */
    size_t n_axes;
};

/* Where chunks of instances go of which only reductions are told: for each a file, bytes of mdf_sweep_save_reduced. */
#define STORE_REDUCED ".reduced"

struct sweep_store {
    struct mdf_memory *memory;
    const char *path;       /* of the folder */
    const char *attributes; /* JSON of the group's attributes: all that two calls must have alike to write to one store */
    mdf_error *error;
    bool is_v3;
    enum store_codec codec; /* of chunks */
};

/* The files that have the attributes of a group, and what an array is, by version of Zarr. */
#define STORE_ATTRIBUTES ".zattrs"
#define STORE_ARRAY ".zarray"
#define STORE_V3 "zarr.json"

/* Each returns false with the error set. */
/* A new folder, or one that a call began and did not finish. It is one of results once finish_store has been called, too: what
 * does not grow by chunks is to be written between. */
bool make_store(const struct sweep_store *store, const struct store_array *arrays, size_t n_arrays);
bool finish_store(const struct sweep_store *store);
/* Whether the folder is a store with these attributes. *is_there false: there is no folder, or one that was not finished. */
bool check_store(const struct sweep_store *store, bool *is_there);
/* The first `n` rows of a chunk; the last one of an array may have less than a chunk has, which zeros fill. */
bool write_chunk(const struct sweep_store *store, const struct store_array *array, size_t chunk, const struct mdf_value *values,
                 size_t n);
/* Bytes of a chunk, which are compressed as the store says; those that are no array's are not. */
bool write_chunk_bytes(const struct sweep_store *store, const struct store_array *array, size_t chunk, const void *bytes,
                       size_t size_bytes);
bool has_chunk(const struct sweep_store *store, const struct store_array *array, size_t chunk, bool *has);
/* Takes away what calls that were killed have left half written among the chunks [first, last). */
bool sweep_out_chunks(const struct sweep_store *store, const struct store_array *array, size_t first, size_t last);

/* --- store_reduced.c: once all n_chunks files of STORE_REDUCED are there, what they come to together goes to the arrays of these
 * names, in the order of the reductions. */
bool finish_reduced(const struct sweep_store *store, size_t n_chunks, const char *const *names, size_t n_names);

/* Writes a file whole or not at all, and waits until the machine has it. */
bool save_lasting(struct mdf_memory *memory, const char *path, const void *bytes, size_t size_bytes, mdf_error *error);
/* Has a folder's names outlive the machine. */
bool sync_folder(const char *path, mdf_error *error);
/* Creates a folder; one that is there already is good enough where `may_exist`. */
bool make_folder(const char *path, bool may_exist, mdf_error *error);

#endif
