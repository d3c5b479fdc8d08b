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
};

/* Sets the error at a place of the document; returns its status. */
mdf_status mdf_reader_fail(struct mdf_reader *reader, const struct mdf_node *node, mdf_status status, const char *message);
/* The same as MDF_NAME, with the nearest name: "; did you mean 'x'?". */
mdf_status mdf_reader_fail_with_guess(struct mdf_reader *reader, const struct mdf_node *node, const char *message,
                                      const struct mdf_nearest *nearest);
mdf_status mdf_reader_out_of_memory(struct mdf_reader *reader);
void mdf_reader_warn(struct mdf_reader *reader, uint32_t line, uint32_t column, const char *message);
/* Adds to the path of messages; the caller cuts it again. */
void mdf_reader_enter(struct mdf_reader *reader, const char *what, const char *id);
/* "type" and "shape" of an object. */
mdf_status mdf_reader_declaration(struct mdf_reader *reader, const struct mdf_node *object, struct mdf_declaration *declaration);
/* Finds both ends of a graph's edges, reads its declared interface. */
mdf_status mdf_reader_finish_graph(struct mdf_reader *reader, const struct mdf_node *source, void *object);

#endif
