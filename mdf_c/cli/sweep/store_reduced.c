/* store_reduced.c - see finish_reduced in sweep_store.h. What the chunks hold needs no model to be put together. */
#include "mdf_c/cli/sweep/sweep_store.h"
#include "mdf_c/document/document.h"
#include "mdf_c/run/sweep/reduction.h"
#include "mdf_c/values/values.h"

#include <string.h>

static const struct store_array parts = {.name = STORE_REDUCED, .rank = 1};

static bool fault(const struct sweep_store *store, const char *what)
{
    mdf_error_set(store->error, MDF_VALUE, "%s", what);
    mdf_error_at(store->error, store->path, 0, 0);
    return false;
}

static bool read_part(const struct sweep_store *store, size_t chunk, void **bytes, size_t *n)
{
    struct mdf_text path;
    bool done;

    mdf_text_init(&path, store->memory);
    mdf_text_printf(&path, "%s/%s/%zu", store->path, parts.name, chunk);
    done = path.failed ? mdf_memory_error(store->memory, store->error) == MDF_OK
                       : mdf_read_file(store->memory, path.bytes, bytes, n, store->error) == MDF_OK;
    mdf_text_release(&path);
    return done;
}

static bool add_part(const struct sweep_store *store, struct mdf_reduced *reduced, size_t chunk)
{
    void *bytes = NULL;
    bool done = false;
    size_t n = 0;

    if (read_part(store, chunk, &bytes, &n)) {
        enum mdf_reduced_read result = mdf_reduced_read(reduced, bytes, n);

        done = result == MDF_REDUCED_ADDED ||
               (result == MDF_REDUCED_REFUSED ? mdf_memory_error(store->memory, store->error) == MDF_OK
                                              : fault(store, "a file of " STORE_REDUCED " is broken, or of another sweep"));
    }
    mdf_memory_release(store->memory, bytes);
    return done;
}

static bool is_codec(const struct mdf_node *node, const char *key, const char *word)
{
    const struct mdf_node *name = node != NULL && node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, key) : NULL;

    return name != NULL && name->kind == MDF_NODE_STRING && strcmp(name->as.string.bytes, word) == 0;
}

/* How chunks are compressed, as the description of an array says. */
static enum store_codec codec_of(const struct mdf_node *description, bool is_v3)
{
    const struct mdf_node *codecs = mdf_node_get(description, "codecs");
    struct mdf_node last = {0};

    if (is_v3 && (codecs == NULL || mdf_node_length(codecs) < 2 || !mdf_node_item(codecs, mdf_node_length(codecs) - 1, &last))) {
        return STORE_PLAIN;
    }
    for (size_t i = 0; store_codec_words[i] != NULL; i++) {
        if (is_v3 ? is_codec(&last, "name", store_codec_words[i])
                  : is_codec(mdf_node_get(description, "compressor"), "id", store_codec_words[i])) {
            return (enum store_codec)(i + 1);
        }
    }
    return STORE_PLAIN;
}

/* How many axes an array of the store has, and how its chunks are compressed. */
static bool read_description(const struct sweep_store *store, const char *name, size_t *rank, enum store_codec *codec)
{
    struct mdf_document *document = NULL;
    const struct mdf_node *shape;
    struct mdf_text path;

    mdf_text_init(&path, store->memory);
    mdf_text_printf(&path, "%s/%s/%s", store->path, name, store->is_v3 ? STORE_V3 : STORE_ARRAY);
    if (path.failed) {
        mdf_memory_error(store->memory, store->error);
    } else {
        document = mdf_document_load(store->memory, path.bytes, "json", NULL, store->error);
    }
    mdf_text_release(&path);
    if (document == NULL) {
        return false;
    }
    shape = mdf_node_get(&document->root, "shape");
    *rank = shape != NULL ? mdf_node_length(shape) : 0;
    *codec = codec_of(&document->root, store->is_v3);
    mdf_document_free(document);
    return shape != NULL || fault(store, "an array has no shape");
}

static bool write_reduction(const struct sweep_store *store, const struct mdf_reduced *reduced, size_t index, const char *name)
{
    const mdf_sweep_reduction *reduction = &reduced->plan->reductions[index];
    struct store_array array = {.name = name};
    struct sweep_store target = *store;
    size_t n, size_bytes;
    void *values = NULL;
    bool done = read_description(store, name, &array.rank, &target.codec);

    if (done && mdf_size_multiply(reduced->plan->n_cells, reduced->plan->quantities[reduction->record].n_values, &n) &&
        mdf_size_multiply(n, mdf_reduction_n_points(reduction), &n) && mdf_size_multiply(n, sizeof(double), &size_bytes)) {
        values = mdf_memory_allocate(store->memory, size_bytes);
    }
    if (done && (values == NULL || !mdf_reduced_tell(reduced, index, values))) {
        done = mdf_memory_error(store->memory, store->error) == MDF_OK;
    }
    done = done && write_chunk_bytes(&target, &array, 0, values, size_bytes);
    mdf_memory_release(store->memory, values);
    return done;
}

bool finish_reduced(const struct sweep_store *store, size_t n_chunks, const char *const *names, size_t n_names)
{
    struct mdf_reduction_plan plan = {0};
    struct mdf_reduced *reduced = NULL;
    struct mdf_arena arena;
    void *bytes = NULL;
    bool done;
    size_t n = 0;

    mdf_arena_init(&arena, store->memory);
    done = read_part(store, 0, &bytes, &n);
    if (done && (!mdf_reduction_read_plan(&plan, &arena, bytes, n) || plan.n_reductions != n_names)) {
        done = fault(store, "a file of " STORE_REDUCED " is broken, or of another sweep");
    }
    mdf_memory_release(store->memory, bytes);
    if (done) {
        reduced = mdf_reduced_new(store->memory, &plan);
        done = reduced != NULL || mdf_memory_error(store->memory, store->error) == MDF_OK;
    }
    for (size_t i = 0; i < n_chunks && done; i++) {
        done = add_part(store, reduced, i);
    }
    for (size_t i = 0; i < n_names && done; i++) {
        done = write_reduction(store, reduced, i, names[i]);
    }
    mdf_reduced_free(reduced);
    mdf_arena_release(&arena);
    return done;
}
