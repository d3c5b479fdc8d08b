/* document.h - a JSON, YAML, BSON or ONNX file as one tree, every value of which can say where it stands.
 *
 * Comes in: bytes. Goes out: a tree of nodes in an arena, immutable. Arrays of numbers are kept as arrays (packed), so
 * that megabytes of weights cost no node each. */
#ifndef MDF_DOCUMENT_DOCUMENT_H
#define MDF_DOCUMENT_DOCUMENT_H

#include "mdf_c/base/arena.h"
#include "mdf_c/base/diagnostics.h"
#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"
#include "mdf_c/tensor/value.h"

enum mdf_node_kind {
    MDF_NODE_NULL,
    MDF_NODE_BOOL,
    MDF_NODE_INT,  /* fits int64 */
    MDF_NODE_REAL, /* also whole numbers past 64 bits: `text` then has their digits */
    MDF_NODE_STRING,
    MDF_NODE_LIST,
    MDF_NODE_NUMBERS, /* a list, or lists in lists of equal length, of numbers only: an array */
    MDF_NODE_OBJECT
};

struct mdf_node_entry;

struct mdf_node {
    uint8_t kind;
    uint8_t packed_dtype;  /* NUMBERS: MDF_DTYPE_INT64, _FLOAT64 or _BOOL; from ONNX any type but strings and complex ones */
    bool is_spent;         /* a dialect has made other parts of the model of it, which do not follow where it is set later */
    bool is_given;         /* it stands not in the file, but among parameters that were given beside it: document->source.given */
    uint32_t line, column; /* 1-based, column in characters; 0: the format has no positions (BSON, ONNX) */
    union {
        bool truth;
        int64_t integer;
        double real;
        struct {
            const char *bytes; /* UTF-8, terminated */
            size_t length;
        } string;
        struct {
            struct mdf_node *items;
            size_t n;
        } list;
        struct {
            size_t rank;
            int64_t *shape;
            void *elements;
            struct mdf_store *store; /* in which the elements lie, for others to share; NULL: they lie in the document */
        } numbers;
        struct {
            struct mdf_node_entry *entries; /* in the order of the file; of duplicate keys the last stays */
            size_t n;
            const uint32_t *order; /* numbers of the entries, sorted by key; NULL: few entries, or a tree made by hand */
        } object;
    } as;
    const char *digits; /* REAL that is a whole number past 64 bits: as written; else NULL */
};

struct mdf_node_entry {
    const char *key;       /* terminated */
    uint32_t line, column; /* of the key */
    struct mdf_node value;
};

/* A store that lives as long as the document. */
struct mdf_kept_store {
    struct mdf_kept_store *next;
    struct mdf_store *store;
};

struct mdf_document {
    struct mdf_memory *memory;
    struct mdf_arena arena;
    const char *file; /* as the caller named it */
    bool is_file;     /* it was read from the file of that name: files that it refers to lie beside it */
    bool is_parted;   /* some of its arrays do */
    void *messages;   /* of an ONNX file: strings and numbers of the tree lie in them */
    struct mdf_kept_store *stores;
    struct mdf_source source; /* its text, of JSON and YAML of at most MDF_KEPT_TEXT_BYTES; else unknown */
    struct mdf_node root;
};

/* Receives warnings of a document and of all that is made of it. */
struct mdf_warnings {
    mdf_warning_handler handler; /* NULL: dropped */
    void *context;
    struct mdf_diagnostics *list; /* receives them too; NULL: none */
};
/* `code`: a word for what they are of. */
void mdf_warn_of(const struct mdf_warnings *warnings, const char *code, const mdf_error *warning);
void mdf_warn(const struct mdf_warnings *warnings, const char *file, int line, int column, const char *path, const char *format,
              ...) MDF_PRINTF_LIKE(6, 7);

/* Limits that hostile input runs into, each with a clear error. */
enum {
    MDF_DOCUMENT_MAX_DEPTH = 200,          /* lists and objects within each other */
    MDF_DOCUMENT_MAX_ALIAS_NODES = 1000000, /* nodes that YAML aliases may stand for in all */
    MDF_KEPT_TEXT_BYTES = 1 << 22           /* of a document whose text is kept, for messages */
};
/* 4 GiB, or what an array may have where there are not so many. */
#define MDF_DOCUMENT_MAX_BYTES ((size_t)(PTRDIFF_MAX < INT64_C(1) << 32 ? PTRDIFF_MAX : INT64_C(1) << 32))

/* Reads bytes in a format: "json", "yaml", "bson", "onnx" (see docs/onnx.md). The document belongs to the caller
 * (mdf_document_free), NULL on error. */
struct mdf_document *mdf_document_parse(struct mdf_memory *memory, const char *format, const char *file, const void *bytes,
                                        size_t size_bytes, const struct mdf_warnings *warnings, mdf_error *error);
/* Reads a file; `format` NULL: by suffix (.json .yaml .yml .bson .onnx). */
struct mdf_document *mdf_document_load(struct mdf_memory *memory, const char *path, const char *format,
                                       const struct mdf_warnings *warnings, mdf_error *error);
void mdf_document_free(struct mdf_document *document);
/* Hands a store over to the document; false when out of memory, and the store is let go. */
bool mdf_document_keep(struct mdf_document *document, struct mdf_store *store);
/* Memory for n elements: many lie in a store, which goes to *store, and which values made of them will share. NULL: out of memory. */
void *mdf_document_elements(struct mdf_document *document, struct mdf_store **store, size_t n, size_t size);

/* Opens a file that the document refers to, which must lie in the folder of the document's own file. `holds` says what is in it
 * ("the data of a tensor"). The file's full name goes to *path, in `arena`. -1 with the error set where it can not be done. */
int mdf_document_open_beside(const struct mdf_document *document, const char *name, const char *holds, struct mdf_arena *arena,
                             const char **path, mdf_error *error);

/* The format that a file name's suffix names; NULL: none known. */
const char *mdf_format_of_path(const char *path);

/* The value of a key; NULL where `node` is no object or has no such key. */
const struct mdf_node *mdf_node_get(const struct mdf_node *node, const char *key);
/* Item number `index` of a list or of packed numbers, as a node (an inner row of packed numbers borrows from it, and
 * stands where the whole stands); false past the end or where `node` is neither. */
bool mdf_node_item(const struct mdf_node *node, size_t index, struct mdf_node *item);
/* Number of items of a list or of packed numbers (first axis), entries of an object; else 0. */
size_t mdf_node_length(const struct mdf_node *node);
/* The model of a document's tree, which is {ID: {...}} or {"id": ID, "graphs": ...}, and its id ("model" where it says none).
 * NULL: it is neither. */
const struct mdf_node *mdf_document_model(const struct mdf_node *root, const char **id);
/* Where byte `offset` of a text is written, the value of `node` or a part of it; where the node begins, if that can not be told. */
void mdf_node_place(const struct mdf_document *document, const struct mdf_node *node, const char *text, size_t offset, int *line,
                    int *column);
/* The file that a node stands in, by its name in messages. */
const char *mdf_node_file(const struct mdf_document *document, const struct mdf_node *node);
/* What the kind is called in messages: "a list", "a number". */
const char *mdf_node_describe(const struct mdf_node *node);
/* Sets the error's position to that of a node, and MDF_MODEL with the message where none is set. */
mdf_status mdf_node_error(const struct mdf_document *document, const struct mdf_node *node, mdf_error *error, mdf_status status,
                          const char *format, ...) MDF_PRINTF_LIKE(5, 6);

/* A node as a value: numbers, booleans, strings, lists (arrays where they are rectangular numbers), objects; null is NONE.
 * Scalars have strength PYTHON, arrays LITERAL (TYPED where they are packed in another type than JSON's). Packed numbers that lie
 * in a store are shared; others are borrowed from the document where `borrow`, else copied. */
bool mdf_node_to_value(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, bool borrow,
                       mdf_error *error);

/* A node and those in it with their places, as mdf_value_read_file (mdf.h) has them. */
bool mdf_node_to_placed(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, mdf_error *error);

/* What "data" of the typed form {"type", "shape", "data"} holds, as an array: numbers, booleans or strings, flat or nested, in
 * order; parts of complex numbers in pairs. `shape` NULL: the sizes that nested data have. Numbers must lie in the range of their
 * type, whole ones be whole. Packed numbers of that very type (of complex types: of their
 * parts) that lie in a store are shared, not copied. */
bool mdf_node_to_array(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *data,
                       mdf_dtype dtype, size_t rank, const int64_t *shape, struct mdf_value *value, mdf_error *error);

/* Writes a tree as text or bytes of a format ("json", "yaml", "bson") into `text`; false when out of memory. Reals have the
 * fewest digits that read back to the same value. */
bool mdf_document_write(const struct mdf_node *root, const char *format, struct mdf_text *text, mdf_error *error);

#endif
