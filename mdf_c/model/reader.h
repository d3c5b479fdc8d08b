/* reader.h - what the files that read a model share. */
#ifndef MDF_MODEL_READER_H
#define MDF_MODEL_READER_H

#include "mdf_c/model/model.h"

struct mdf_reader {
    struct mdf_arena *arena;
    const struct mdf_document *document;
    const struct mdf_warnings *warnings;
    mdf_error *error;
    char path[480];                /* "node 'n', parameter 'p'" */
    const struct mdf_node *graphs; /* of the model, by id: nodes may name them; NULL: none */
    int depth;                     /* of graphs within nodes */
    size_t n_nested;               /* nodes in them */
    struct mdf_diagnostics *list;  /* takes errors after which reading goes on; NULL: the first one ends it */
    mdf_error first;               /* of those that it took */
    struct name_table lost;        /* ids of nodes that are left out: what refers to them is no further error */
    size_t n_lost;                 /* parts without which the rest makes no sense */
};

/* How a field's value reaches the structure. */
enum field_type {
    FIELD_TEXT,       /* const char *: a string, or a number as its text */
    FIELD_ANY,        /* const struct mdf_node *, NULL where absent or null */
    FIELD_OBJECT,     /* the same, an object */
    FIELD_COLLECTION, /* a pointer to an array of `items`, then a size_t count, then a name_table, in this order, also where
                         nobody looks a name up: it is filled as the file is read */
    FIELD_KNOWN       /* read elsewhere, or only kept */
};

struct class;

struct field {
    const char *name; /* NULL ends the table */
    enum field_type type;
    size_t offset;
    bool required;
    const struct class *items;
    const char *form; /* what else than its type the value is: a definition of write/model_schema.c; NULL: nothing */
};

/* A class of MDF. Its structure begins with the id; the source lies at `source_offset`. */
struct class
{
    const char *what; /* in messages */
    size_t size;
    size_t source_offset;
    const struct field *fields;
    mdf_status (*finish)(struct mdf_reader *reader, const struct mdf_node *source, void *object);
    bool bare_value; /* an item that is no object stands for {"value": item} */
    /* What becomes of an item with an error, where reading goes on: */
    enum { BROKEN_IS_LEFT_OUT, BROKEN_IS_KEPT, BROKEN_IS_MARKED, BROKEN_IS_LOST } broken;
    size_t is_broken_offset; /* of a bool; BROKEN_IS_MARKED */
};

/* The class of a whole model, from which all others are reached. */
const struct class *mdf_reader_model_class(void);

/* Sets the error at a place of the document; returns its status. */
mdf_status mdf_reader_fail(struct mdf_reader *reader, const struct mdf_node *node, mdf_status status, const char *message);
/* The same as MDF_NAME, with the nearest name: "; did you mean 'x'?". */
mdf_status mdf_reader_fail_with_guess(struct mdf_reader *reader, const struct mdf_node *node, const char *message,
                                      const struct mdf_nearest *nearest);
mdf_status mdf_reader_out_of_memory(struct mdf_reader *reader);
void mdf_reader_warn(struct mdf_reader *reader, uint32_t line, uint32_t column, const char *message);
/* The error of a part of the model goes to the list, if there is one, and the path is cut back to `length`: true says to go on
 * without the part. Else false, with the error as it was. */
bool mdf_reader_recover(struct mdf_reader *reader, size_t length);
/* Adds to the path of messages; the caller cuts it again. */
void mdf_reader_enter(struct mdf_reader *reader, const char *what, const char *id);
/* "type" and "shape" of an object. */
mdf_status mdf_reader_declaration(struct mdf_reader *reader, const struct mdf_node *object, struct mdf_declaration *declaration);
/* --- event_ports.c: adds the output ports of the events in a node's metadata. */
mdf_status mdf_reader_add_event_ports(struct mdf_reader *reader, struct mdf_graph_node *node);
/* Finds both ends of a graph's edges, reads its declared interface. */
mdf_status mdf_reader_finish_graph(struct mdf_reader *reader, const struct mdf_node *source, void *object);

#endif
