/* scanner.h - the words of an expression: names, numbers, strings, operators.
 *
 * Comes in: the text of an expression. Goes out: one token after the other, each with its offset. After the first error
 * `failed` is set and every further token is the end, so that loops over tokens stop by themselves. */
#ifndef MDF_EXPRESSION_SCANNER_H
#define MDF_EXPRESSION_SCANNER_H

#include "mdf_c/base/arena.h"
#include "mdf_c/base/error.h"

enum mdf_token_kind {
    MDF_TOKEN_END,
    MDF_TOKEN_NAME,
    MDF_TOKEN_KEYWORD, /* a name that Python reserves, also True, False, None */
    MDF_TOKEN_INT,     /* as.integer */
    MDF_TOKEN_REAL,    /* as.real */
    MDF_TOKEN_STRING,  /* as.text: one literal, escapes resolved */
    MDF_TOKEN_OPERATOR /* operators, brackets and punctuation */
};

struct mdf_token {
    enum mdf_token_kind kind;
    size_t offset, length; /* its place in the text */
    union {
        int64_t integer;
        double real;
        struct {
            const char *bytes;
            size_t length;
        } text;
    } as;
};

struct mdf_scanner {
    struct mdf_arena *arena; /* for strings */
    mdf_error *error; /* NULL: nobody reads why it failed */
    const char *text;
    size_t position;     /* behind `token` */
    size_t n_brackets;   /* open ones: a line may break inside them */
    size_t error_offset; /* where it failed */
    bool failed;
    struct mdf_token token; /* the current one */
};

/* Begins with the first token of `text`. */
void mdf_scanner_init(struct mdf_scanner *scanner, struct mdf_arena *arena, const char *text, mdf_error *error);
/* Goes on to the next token. */
void mdf_scanner_advance(struct mdf_scanner *scanner);
/* Whether the current token is this operator or keyword. */
bool mdf_scanner_at(const struct mdf_scanner *scanner, const char *word);
/* The same; if so goes on to the next token. */
bool mdf_scanner_skip(struct mdf_scanner *scanner, const char *word);
/* Whether a single '=' follows the current token. */
bool mdf_scanner_before_equals(const struct mdf_scanner *scanner);

/* The error that is reported: quotes the text and the column of `offset`. The first one counts. */
void mdf_scanner_fail(struct mdf_scanner *scanner, size_t offset, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
void mdf_scanner_out_of_memory(struct mdf_scanner *scanner);
/* "unexpected 'x'" for the current token, or that what it begins is not supported; `expected` ("',' or ')'") may be NULL. */
void mdf_scanner_unexpected(struct mdf_scanner *scanner, const char *expected);

#endif
