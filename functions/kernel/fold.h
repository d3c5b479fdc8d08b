/* fold.h - what a reduction is: many elements become one. See docs/elements.md.
 *
 * A total begins with what leaves it as it is; each element gives a term; the totals are combined in a fixed order, so that
 * results are the same on every machine and by every way of running; what comes last is made of the total and of the number of
 * elements. Terms, totals and what comes last are functions of elements (functions/elements/elements.def) in the totals' type. */
#ifndef MDF_FUNCTIONS_KERNEL_FOLD_H
#define MDF_FUNCTIONS_KERNEL_FOLD_H

#include "functions/kernel/call.h"

struct mdf_element;

enum mdf_fold_start { MDF_FOLD_ZERO, MDF_FOLD_ONE, MDF_FOLD_LOWEST, MDF_FOLD_HIGHEST };

enum mdf_fold_totals {
    MDF_FOLD_WIDE,  /* float64 for reals, int64 and uint64 for whole numbers; rounded, or cut to the bits that there are, at the
                       end */
    MDF_FOLD_RESULT /* the result's type; of a result that is bool, the elements' */
};

/* In which order totals are combined. Axes that are not adjacent are folded row by row, the last axis fastest; a row are the
 * elements of the last axes that are all reduced, without gaps. */
enum mdf_fold_order {
    MDF_FOLD_IN_ORDER, /* one after the other */
    /* ONNX: n adjacent elements through 8 lanes, element i in lane i % 8, then lanes in pairs (0 with 4, 1 with 5,
     * ...); of more than 512 the first n / 2 / 8 * 8 and the others apart (functions/folds/reduce_type.inc).
     * Sums of float32: 16 lanes (functions/elements/vectors/vector_rows.h, `sum`). Each row's total then joins the one before. */
    MDF_FOLD_LANES,
    /* numpy: fewer than 8 in order; up to 128 through 8 lanes, lanes in pairs (0 with 1, ...), what is left over in order; of
     * more the first n / 2 - n / 2 % 8 and the others apart. Rows' totals one after the other. Only of sums; all else goes in
     * order. */
    MDF_FOLD_PAIRWISE
};

enum {
    MDF_FOLD_N_LANES = 8, /* of LANES and PAIRWISE */
    MDF_FOLD_BLOCK = 512  /* elements of a row that LANES takes at once */
};

/* How totals are made. */
struct mdf_fold_way {
    const char *name; /* "sum"; in names of generated C */
    enum mdf_fold_start start;
    const struct mdf_element *term;    /* of an element; `kept`: itself */
    const struct mdf_element *combine; /* of a total and another */
};

/* What a reduction gives. */
enum mdf_fold_result {
    MDF_FOLD_TOTAL,
    MDF_FOLD_PLACE_OF_LARGEST, /* along the axes that are reduced, the first one's or, by the setting `select_last_index`, the
                                  last one's; NaN is larger, and smaller, than any number */
    MDF_FOLD_PLACE_OF_SMALLEST
};

struct mdf_fold {
    enum mdf_fold_result result;
    const struct mdf_fold_way *way; /* of totals; nothing below but `axes` is of places */
    enum mdf_fold_totals totals;
    enum mdf_fold_order order;
    const struct mdf_element *after; /* of the last total; `kept`: itself */
    bool shifts;      /* the largest element, or 0 where that is not finite, is taken from each element before, and added after */
    bool truths;      /* of an element first: whether it is not 0 */
    bool divides;     /* the last total by the number of elements, before `after`; of whole numbers towards zero */
    bool needs_items; /* of nothing there is no result */
    bool skips_nan;   /* NaN counts only where there is nothing else */
    bool fits; /* the result has the shape of input 1, whatever axes of size 1 that has, and its type; where nothing is reduced,
                  elements are as they are */
    /* Which axes are reduced; whether they stay, of size 1. Looks at settings and at the inputs that say it, which must be there.
     * False, with the error set, where they say nothing that can be. */
    bool (*axes)(struct mdf_call *call, size_t rank, bool *reduced, bool *keeps);
};

/* --- functions/folds/reduce.c */
enum mdf_fold_way_id {
#define FOLD(id, start, term, combine) MDF_FOLD_WAY_##id,
#include "functions/folds/folds.def"
};

extern const struct mdf_fold_way mdf_fold_ways[]; /* of folds.def */
/* Output 0 becomes `data` reduced as the call's operator has it, whose ways are those of folds.def; in a shape of as many
 * elements, or by its axes (`shape` NULL). */
bool mdf_reduce(struct mdf_call *call, const struct mdf_value *data, size_t rank, const int64_t *shape);

#endif
