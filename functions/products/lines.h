/* lines.h - arrays that begin on a line of the cache, and those of them that are kept from run to run of a call. */
#ifndef MDF_FUNCTIONS_PRODUCTS_LINES_H
#define MDF_FUNCTIONS_PRODUCTS_LINES_H

#include "functions/kernel/operator.h"
#include "mdf_c/base/sizes.h"

/* What an element is. */
enum mdf_product_elements {
    MDF_PRODUCT_OF_NUMBERS,
    MDF_PRODUCT_OF_WORDS, /* UINT32 of four bytes, or two numbers of 16 bits, that are neighbours along the sum: */
    MDF_PRODUCT_OF_PAIRS  /* functions/products/fused_words.h */
};

enum { MDF_LINE_BYTES = 64 };

/* `n_bytes` bytes in a value, the first one on a line of the cache. NULL with the error set. */
char *mdf_lines_make(struct mdf_call *call, struct mdf_value *value, size_t n_bytes);

/* Bytes of `rows` times `columns` elements in whole lines; false where there are more than any memory holds. */
bool mdf_lines_count(size_t rows, size_t columns, size_t element_bytes, size_t *n_bytes);

/* What an array was made of; stands before it. Compared byte by byte, so set all of it to zero first. */
struct mdf_lines_source {
    const void *elements;
    size_t n, k, parts;
    int64_t row, column;
    double alpha;
    mdf_dtype dtype;
};

/* Room in `value` for what is made of `source`; *is_there: it is there already, since the source is constant and was the same the
 * last time. NULL with the error set. */
char *mdf_lines_keep(struct mdf_call *call, struct mdf_value *value, bool is_constant, size_t n_bytes,
                     const struct mdf_lines_source *source, bool *is_there);

#endif
