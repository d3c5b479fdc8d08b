/* read_beside.c - references to arrays beside a document become the arrays. See beside.h. Recursion is bounded by the document's
 * depth. */
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/values/npy.h"
#include "mdf_c/values/zip_reader.h"
#include "mdf_c/write/beside.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any packed entry can hold for each of its bytes. */
enum { MOST_UNPACKED_PER_BYTE = 1100, LEAST_UNPACKED = 1 << 16 };

/* An archive that references have named. */
struct archive {
    struct archive *next;
    const char *name;
    struct mdf_zip zip;
};

/* A key on the way to where a reader is. */
struct step {
    const struct step *outer;
    const char *key;
};

struct reader {
    struct mdf_document *document;
    struct mdf_arena scratch;
    struct archive *archives;
    const struct mdf_node *at; /* the reference */
    mdf_error *error;
    const struct step *path; /* to where it is in the document; NULL: at its root */
};

/* A reference, taken apart. */
struct reference {
    const char *file, *array;
    const char *type; /* NULL: the one in the archive */
};

/* ------------------------------------------------------------------ messages */

/* Adds "m.graphs.g". */
static void append_path(char *path, size_t size, const struct step *step)
{
    size_t length;

    if (step == NULL) {
        return;
    }
    append_path(path, size, step->outer);
    length = strlen(path);
    snprintf(path + length, size - length, "%s%.*s", length > 0 ? "." : "", mdf_clip(step->key, 200), step->key);
    path[mdf_utf8_valid_length(path, strlen(path))] = '\0';
}

/* Adds the position to the error; always false. */
static bool locate(struct reader *reader)
{
    char path[400] = "";

    append_path(path, sizeof path, reader->path);
    mdf_node_error(reader->document, reader->at, reader->error, MDF_FILE, "an array can not be read");
    mdf_error_in(reader->error, "%s", path);
    return false;
}

static bool fail(struct reader *reader, mdf_status status, const struct reference *reference, const char *why)
{
    mdf_error_set(reader->error, status, "the array '%.200s' of the file '%.200s' %s", reference->array, reference->file, why);
    return locate(reader);
}

static bool out_of_memory(struct reader *reader)
{
    mdf_memory_error(reader->document->memory, reader->error);
    return locate(reader);
}

/* ------------------------------------------------------------------ archives */

/* The file of that name, mapped; NULL with the error set. */
static struct mdf_store *map_archive(struct reader *reader, const char *name)
{
    struct mdf_store *store = NULL;
    struct stat status;
    const char *path;
    int file = mdf_document_open_beside(reader->document, name, "arrays", &reader->scratch, &path, reader->error);

    if (file < 0) {
        return NULL;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        mdf_error_set(reader->error, MDF_FILE, "the file '%.200s', which holds arrays, can not be read", name);
    } else {
        store = mdf_store_map(reader->document->memory, file, (size_t)status.st_size);
        if (store == NULL || !mdf_document_keep(reader->document, store)) {
            mdf_error_set(reader->error, MDF_OUT_OF_MEMORY,
                          "the file '%.200s', which holds arrays, can not be mapped into memory", name);
            store = NULL;
        }
    }
    close(file);
    return store;
}

static const struct mdf_zip *find_archive(struct reader *reader, const char *name)
{
    struct archive *archive;
    struct mdf_store *store;
    mdf_status status;

    for (archive = reader->archives; archive != NULL; archive = archive->next) {
        if (strcmp(archive->name, name) == 0) {
            return &archive->zip;
        }
    }
    archive = mdf_arena_allocate(&reader->scratch, sizeof *archive);
    if (archive == NULL) {
        out_of_memory(reader);
        return NULL;
    }
    store = map_archive(reader, name);
    if (store == NULL) {
        locate(reader);
        return NULL;
    }
    status = mdf_zip_open(&reader->scratch, store, &archive->zip, NULL);
    if (status != MDF_OK) {
        mdf_error_set(reader->error, status, "the file '%.200s', which holds arrays, %s", name,
                      status == MDF_OUT_OF_MEMORY ? "takes more memory than there is" : "is not a .npz archive, or damaged");
        locate(reader);
        return NULL;
    }
    archive->name = name;
    archive->next = reader->archives;
    reader->archives = archive;
    return &archive->zip;
}

/* ------------------------------------------------------------------ elements */

/* Whether every element is one that its type can hold: one of 2 or 4 bits has a whole byte in the archive. */
static bool is_in_range(mdf_dtype dtype, const void *elements, size_t n)
{
    bool is_signed = mdf_dtype_kind(dtype) == 'i';
    unsigned bits = mdf_dtype_bits(dtype);
    int n_values = bits < 8 ? 1 << bits : 0, least = is_signed ? -n_values / 2 : 0, most = least + n_values - 1;

    for (size_t i = 0; bits > 0 && bits < 8 && i < n; i++) {
        int element = is_signed ? ((const int8_t *)elements)[i] : ((const uint8_t *)elements)[i];

        if (element < least || element > most) {
            return false;
        }
    }
    return true;
}

/* The type that a reference names for elements that NumPy knows as whole numbers of the same size. */
static bool choose_type(struct reader *reader, const struct reference *reference, const struct mdf_npy *npy, mdf_dtype *dtype)
{
    struct mdf_declared_type declared;

    *dtype = npy->dtype;
    if (reference->type == NULL) {
        return true;
    }
    if (!mdf_parse_type(reference->type, &declared) || declared.dtype == MDF_DTYPE_NONE || declared.sequence ||
        declared.optional || strchr("sc", mdf_dtype_kind(declared.dtype)) != NULL) {
        return fail(reader, MDF_TYPE, reference, "is given a \"type\" that arrays can not have");
    }
    *dtype = declared.dtype;
    return *dtype == npy->dtype || (mdf_dtype_size(*dtype) == npy->element_size && strchr("iu", npy->kind) != NULL) ||
           fail(reader, MDF_TYPE, reference, "has elements of another size than its \"type\"");
}

/* Memory of the document for elements. */
static void *new_elements(struct reader *reader, size_t n_bytes, struct mdf_store **store)
{
    *store = mdf_store_allocate(reader->document->memory, n_bytes);
    if (*store == NULL || !mdf_document_keep(reader->document, *store)) {
        out_of_memory(reader);
        return NULL;
    }
    return mdf_store_bytes(*store);
}

/* The bytes of the .npy file in the archive: in place, or unpacked. */
static const void *bytes_of(struct reader *reader, const struct mdf_zip *zip, const struct mdf_zip_entry *entry,
                            const struct reference *reference, struct mdf_store **store)
{
    void *bytes;

    *store = zip->store;
    if (entry->is_stored) {
        return entry->bytes;
    }
    if (entry->size > LEAST_UNPACKED && entry->size / MOST_UNPACKED_PER_BYTE > entry->n_packed) {
        fail(reader, MDF_FILE, reference, "is damaged: it says that it unpacks to more than it can");
        return NULL;
    }
    bytes = new_elements(reader, entry->size, store);
    if (bytes != NULL && mdf_zip_unpack(zip, entry, bytes, reader->error) != MDF_OK) {
        locate(reader);
        return NULL;
    }
    return bytes;
}

/* The elements where they lie, if they can be used so, else a copy. */
static void *elements_of(struct reader *reader, const struct mdf_npy *npy, struct mdf_store **store)
{
    size_t alignment = npy->kind == 'c' ? npy->element_size / 2 : npy->element_size;
    void *elements;

    if (mdf_npy_is_plain(npy) && (uintptr_t)npy->elements % alignment == 0) {
        return (void *)(uintptr_t)npy->elements;
    }
    elements = new_elements(reader, npy->n_bytes, store);
    if (elements != NULL) {
        mdf_npy_copy(npy, elements);
    }
    return elements;
}

/* ------------------------------------------------------------------ references */

static const char *text_of(const struct mdf_node *object, const char *key)
{
    const struct mdf_node *node = mdf_node_get(object, key);

    return node != NULL && node->kind == MDF_NODE_STRING ? node->as.string.bytes : NULL;
}

static bool take_apart(const struct mdf_node *node, struct reference *reference)
{
    if (node->kind != MDF_NODE_OBJECT || node->as.object.n < 2 || node->as.object.n > 3) {
        return false;
    }
    *reference = (struct reference){text_of(node, "npz"), text_of(node, "array"), text_of(node, "type")};
    return reference->file != NULL && reference->array != NULL && node->as.object.n == 2U + (reference->type != NULL);
}

/* The node that an array is; of complex numbers the parts are an axis more. */
static bool make_node(struct reader *reader, const struct mdf_npy *npy, mdf_dtype dtype, void *elements, struct mdf_store *store,
                      struct mdf_node *node)
{
    struct mdf_node numbers = {.kind = MDF_NODE_NUMBERS, .line = node->line, .column = node->column};
    bool is_complex = mdf_dtype_kind(dtype) == 'c';
    size_t rank = npy->rank + is_complex;
    int64_t *shape = mdf_arena_array(&reader->document->arena, rank + 1, sizeof *shape);

    if (shape == NULL) {
        return out_of_memory(reader);
    }
    memcpy(shape, npy->shape, npy->rank * sizeof *shape);
    shape[npy->rank] = is_complex ? 2 : 1; /* of a scalar an axis that is taken away again */
    numbers.packed_dtype = (uint8_t)(dtype == MDF_DTYPE_COMPLEX64    ? MDF_DTYPE_FLOAT32
                                     : dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64
                                                                     : dtype);
    numbers.as.numbers.rank = rank > 0 ? rank : 1;
    numbers.as.numbers.shape = shape;
    numbers.as.numbers.elements = elements;
    numbers.as.numbers.store = store;
    if (rank == 0) {
        mdf_node_item(&numbers, 0, node);
    } else {
        *node = numbers;
    }
    return true;
}

static bool read_reference(struct reader *reader, const struct reference *reference, struct mdf_node *node)
{
    const struct mdf_zip *zip;
    const struct mdf_zip_entry *entry;
    struct mdf_store *store;
    struct mdf_npy npy;
    mdf_dtype dtype;
    const void *bytes;
    void *elements;

    reader->at = node;
    zip = find_archive(reader, reference->file);
    if (zip == NULL) {
        return false;
    }
    entry = mdf_zip_find(zip, reference->array, ".npy");
    if (entry == NULL) {
        return fail(reader, MDF_NAME, reference, "is not there");
    }
    bytes = bytes_of(reader, zip, entry, reference, &store);
    if (bytes == NULL) {
        return false;
    }
    if (mdf_npy_open(bytes, entry->size, &npy, reader->error) != MDF_OK) {
        return locate(reader);
    }
    if (npy.dtype == MDF_DTYPE_STRING) {
        return fail(reader, MDF_UNSUPPORTED, reference, "holds strings; numbers are needed");
    }
    elements = choose_type(reader, reference, &npy, &dtype) ? elements_of(reader, &npy, &store) : NULL;
    if (elements == NULL) {
        return false;
    }
    if (!is_in_range(dtype, elements, npy.n_bytes)) {
        return fail(reader, MDF_VALUE, reference, "has elements that its \"type\" can not hold");
    }
    reader->document->is_parted = true;
    return make_node(reader, &npy, dtype, elements, store, node);
}

/* ------------------------------------------------------------------ the tree */

static bool read_node(struct reader *reader, struct mdf_node *node);

static bool read_entry(struct reader *reader, struct mdf_node_entry *entry)
{
    struct step step = {reader->path, entry->key};
    bool done;

    reader->path = &step;
    done = read_node(reader, &entry->value);
    reader->path = step.outer;
    return done;
}

static bool read_node(struct reader *reader, struct mdf_node *node)
{
    struct reference reference;

    if (take_apart(node, &reference)) {
        return read_reference(reader, &reference, node);
    }
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n; i++) {
        if (!read_node(reader, &node->as.list.items[i])) {
            return false;
        }
    }
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && i < node->as.object.n; i++) {
        if (!read_entry(reader, &node->as.object.entries[i])) {
            return false;
        }
    }
    return true;
}

bool mdf_read_arrays_beside(struct mdf_document *document, mdf_error *error)
{
    struct reader reader = {.document = document, .error = error};
    bool done;

    mdf_arena_init(&reader.scratch, document->memory);
    done = read_node(&reader, &document->root);
    mdf_arena_release(&reader.scratch);
    return done;
}
