/* rewriting.h - a document's tree as one that can be changed: a copy whose objects grow, entry by entry.
 *
 * What is made stands where the thing stood that it was made of, so that an error in it names that line. Nodes and edges, ports
 * and their like are objects by id in the copy, also where the file has them as lists. Memory that runs out is noted in `failed`,
 * and what is asked for afterwards does nothing: look once, at the end. */
#ifndef MDF_DIALECT_REWRITING_H
#define MDF_DIALECT_REWRITING_H

#include "mdf_c/document/document.h"

struct rewriting {
    struct mdf_arena *arena;
    const struct mdf_document *document;
    mdf_error *error;
    bool failed;      /* memory ran out, or the error is set */
    size_t n_streams; /* of random numbers, one a function that draws */
};

/* A copy of a tree. Texts and arrays are shared with the original. */
struct mdf_node rewriting_copy(struct rewriting *rewriting, const struct mdf_node *source);

/* The value of a key; NULL where there is none, or it is null, or `object` is NULL or no object. */
struct mdf_node *rewriting_find(struct mdf_node *object, const char *key);
/* The same with a path: a.b.c is three keys. */
struct mdf_node *rewriting_find_path(struct mdf_node *object, const char *path);
/* The object of a key, made where there is none. NULL: it is something else, or memory ran out. */
struct mdf_node *rewriting_object(struct rewriting *rewriting, struct mdf_node *object, const char *key);
/* Sets the value of a key, behind the others where it is new; values of the object move. Nothing where it is no object: whoever
 * reads the document then says so. */
void rewriting_put(struct rewriting *rewriting, struct mdf_node *object, const char *key, struct mdf_node value);
void rewriting_remove(struct mdf_node *object, const char *key);
/* Gives an entry another key. */
void rewriting_rename(struct mdf_node *object, const char *key, const char *name);
size_t rewriting_n_entries(const struct mdf_node *object);

/* The text that a node is; NULL: it is none. */
const char *rewriting_text(const struct mdf_node *node);
/* Whether it is the text. */
bool rewriting_is(const struct mdf_node *node, const char *text);
/* The number that a node is, whole or real. False: it is none, or NULL. */
bool rewriting_number(const struct mdf_node *node, double *number);
/* Whether it is this number. */
bool rewriting_is_number(const struct mdf_node *node, double number);

/* New values, which stand where `place` stands. */
struct mdf_node rewriting_make_text(struct rewriting *rewriting, const struct mdf_node *place, const char *format, ...)
    MDF_PRINTF_LIKE(3, 4);
struct mdf_node rewriting_make_int(const struct mdf_node *place, int64_t integer);
struct mdf_node rewriting_make_real(const struct mdf_node *place, double real);
struct mdf_node rewriting_make_object(const struct mdf_node *place);
/* How many elements packed numbers have; 1 for anything else. */
size_t rewriting_n_elements(const struct mdf_node *numbers);
/* A matrix of zeros, or a row (n_rows 0); its elements are at *elements. */
struct mdf_node rewriting_make_matrix(struct rewriting *rewriting, const struct mdf_node *place, size_t n_rows, size_t n_columns,
                                      double **elements);
/* Whole numbers as real ones, and lists of numbers of both kinds as one array of real ones; anything else as it is. */
struct mdf_node rewriting_make_reals(struct rewriting *rewriting, const struct mdf_node *numbers);
/* A text in the arena. */
const char *rewriting_print(struct rewriting *rewriting, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

/* Sets the error at a place. */
void rewriting_refuse(struct rewriting *rewriting, const struct mdf_node *place, const char *format, ...) MDF_PRINTF_LIKE(3, 4);

/* Whether an expression has the name as a word of its own. */
bool rewriting_mentions(struct rewriting *rewriting, const char *expression, const char *name);
/* The expression with other words for a name. */
const char *rewriting_replace(struct rewriting *rewriting, const char *expression, const char *name, const char *words);

#endif
