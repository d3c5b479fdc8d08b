/* expression.h - Python's expression syntax as a tree.
 *
 * Comes in: the text of an expression. Goes out: a tree in an arena whose nodes know their offset in the text. Nothing is
 * looked up or evaluated here. What of Python is left out (lambda, f-strings, walrus, await, starred, sets,
 * complex literals, strings in triple quotes) is an error that says so. */
#ifndef MDF_EXPRESSION_EXPRESSION_H
#define MDF_EXPRESSION_EXPRESSION_H

#include "mdf_c/base/arena.h"
#include "mdf_c/base/error.h"

enum mdf_expression_kind {
    MDF_EXPRESSION_INT,    /* as.integer */
    MDF_EXPRESSION_REAL,   /* as.real; also whole numbers past 64 bits */
    MDF_EXPRESSION_STRING, /* as.text: adjacent literals joined, escapes resolved */
    MDF_EXPRESSION_TRUE,
    MDF_EXPRESSION_FALSE,
    MDF_EXPRESSION_NONE,
    MDF_EXPRESSION_ELLIPSIS,    /* only inside a subscript */
    MDF_EXPRESSION_NAME,        /* as.text; letters of any script, as Python */
    MDF_EXPRESSION_LIST,        /* as.items */
    MDF_EXPRESSION_TUPLE,       /* as.items */
    MDF_EXPRESSION_DICT,        /* as.items: key, value, key, value, ... */
    MDF_EXPRESSION_UNARY,       /* operator, as.items: operand. "neg" "pos" "invert" "not_" */
    MDF_EXPRESSION_BINARY,      /* operator, as.items: left, right */
    MDF_EXPRESSION_COMPARE,     /* operators, as.items: a < b <= c is 3 items, 2 operators */
    MDF_EXPRESSION_AND,         /* as.items: 2 or more */
    MDF_EXPRESSION_OR,          /* as.items: 2 or more */
    MDF_EXPRESSION_CONDITIONAL, /* as.items: test, value if true, value if false */
    MDF_EXPRESSION_CALL,        /* as.items: callee, then arguments; keywords[i] names items[i + 1], NULL where positional */
    MDF_EXPRESSION_ATTRIBUTE,   /* as.items: object; name */
    MDF_EXPRESSION_SUBSCRIPT,   /* as.items: object, index (a TUPLE where it has commas); an index or an item of it may be a SLICE
                                 */
    MDF_EXPRESSION_SLICE,       /* as.items: start, stop, step; each may be NULL */
    MDF_EXPRESSION_COMPREHENSION /* [e for x in it if c ...] or a generator: see below */
};

/* A comprehension is as.items: element, then for each clause in order its target and iterable (for) or its test (if).
 * clauses[i] is 'f' or 'i'. A target is a NAME or a TUPLE of NAMEs. */
struct mdf_expression {
    enum mdf_expression_kind kind;
    size_t offset;            /* of its first byte in the text; of the operator for UNARY, BINARY, COMPARE */
    size_t word;              /* ATTRIBUTE: of the first byte of its name */
    const char *name;         /* operator name as in Python's operator module: add sub mul truediv floordiv mod pow matmul and_
                                 or_ xor lshift rshift neg pos invert not_; or an attribute's name */
    const char *const *names; /* COMPARE: operators lt le gt ge eq ne is_ is_not contains not_contains (of items i, i + 1: "a in
                                 b" is contains); CALL: keywords */
    const char *clauses;      /* COMPREHENSION */
    union {
        int64_t integer;
        double real;
        struct {
            const char *bytes;
            size_t length;
        } text;
        struct {
            struct mdf_expression **items;
            size_t n;
        } list;
    } as;
};

enum {
    MDF_EXPRESSION_MAX_DEPTH = 200, /* brackets and operators of one text that stand within each other */
    /* Nodes from the root of a tree to a leaf, as in a long sum or a[0][0][0]; a clause of a comprehension counts as one. What
     * walks a tree may recurse. */
    MDF_EXPRESSION_MAX_CHAIN = 2000,
    MDF_EXPRESSION_POSTFIX_WEIGHT = 4 /* of an attribute, a call, a subscript in such a count */
};

/* Parses `text` (terminated). NULL on error: `error`, where it is not NULL, gets the code MDF_EXPRESSION and a message that quotes
 * the text and names the offending place; *offset is the byte offset of that place. */
struct mdf_expression *mdf_expression_parse(struct mdf_arena *arena, const char *text, size_t *offset, mdf_error *error);

/* How many as.items there are: of a name or a literal none, of NULL none. For what walks a tree without asking what it means. */
size_t mdf_expression_n_items(const struct mdf_expression *tree);
/* "a.b.c" where a tree is that; NULL: it is not, or memory ran out. */
const char *mdf_expression_dotted(struct mdf_arena *arena, const struct mdf_expression *tree);

#endif
