/* nest.h - a loop nest: an index space of a few axes, and a short straight program for each of its points. It says what is
 * computed, and the order of sums where that matters; not how: which axis makes vectors, what is cut into tiles, what is computed
 * again rather than kept is up to who runs it. docs/lowered.md has the text of it.
 *
 * The program is a row of steps; each makes one register, which later steps call by the step's number, except STORE, which makes
 * none. A register has a level L: it is an element for each index of the outermost L axes (level 0: one element). What the text
 *     axes 4, 32, 8
 *     r0@2 = load ...        r1@3 = load ...
 *     r2@3 = multiply r0, r1
 *     r3@2 = sum r2
 *     store r3@2 in ...
 * means is: for each i < 4, j < 32: r0 is loaded; for each k < 8: r1, r2; r3 is the sum of r2 over k, which is stored.
 * Registers may be used at any later step whose level is not below theirs, also behind a fold of their own axes: who runs it goes
 * through these axes once more then, or has kept what it needs.
 *
 * Without axes there is one point. Invariants, which mdf_lowered_verify (verify.h) checks: extents are at least 2, or that of the
 * only axis is 0; operands are earlier steps that make registers, of no higher level and of the types that are said below; no
 * element that a view leads to lies outside its value, `at` counted in; strides past the step's level are 0. A value that is
 * stored is a result in memory of its own or a scalar; a step stores each element once, and all of them, or a part: other nests
 * of the region store the other parts then, before anything reads the value. It is not loaded by the same nest. What a nest loads
 * does not share memory with what it stores, but for a state that is written in place (loop_plan.h): no way of running may load
 * it again after a store.
 *
 * One axis may be open: its extent is known only when the nest runs. It is the size of what it loads along the open axis of each
 * value that has one (lowered.h); these sizes are one, or the nest bails out, as it does where that is 0 and something is folded
 * over it. In front of the open axis such a value has axes of length 1 only, so that no stride depends on the size; a view of it
 * goes along its own open axis with the nest's, and only there. A value stored along the axis is made as long as it is then. */
#ifndef MDF_LOWERED_NEST_H
#define MDF_LOWERED_NEST_H

#include "mdf_c/lowered/lowered.h"

enum { MDF_NEST_MOST_AXES = 8, MDF_NEST_MOST_STEPS = 240 };
#define MDF_NEST_NONE UINT8_MAX /* no register */

enum mdf_nest_kind {
    MDF_NEST_LOAD,    /* an element of a value */
    MDF_NEST_ELEMENT, /* code(in[0], in[1], in[2]), or loop; operands of any lower or the same level */
    MDF_NEST_FOLD,    /* of in[0], whose level is higher, over the axes from this step's level to that of in[0] */
    MDF_NEST_STORE    /* in[0], which has the step's level, into an element of a value */
};

/* With t the total so far and x the next element. Types: of in[0] and the result one and the same, unless it says otherwise. */
enum mdf_nest_fold {
    MDF_NEST_SUM,      /* reals, int32, int64 (wraps): begins with 0; t + x */
    MDF_NEST_PRODUCT,  /* the same: begins with 1; t * x */
    MDF_NEST_MAXIMUM,  /* reals, int32, int64: begins with the lowest, -infinity; x > t || x != x ? x : t */
    MDF_NEST_MINIMUM,  /* the same with the highest and x < t */
    MDF_NEST_LARGEST,  /* as MAXIMUM, but of several NaN the first stays: x > t || (x != x && t == t) ? x : t */
    MDF_NEST_SMALLEST, /* the same with x < t */
    /* reals, int32, int64, the result is int64 or int32: the index, over the one axis folded, of the first largest element; with NaN in
     * the row, of the first NaN: begins with element 0; x > t || (x != x && t == t) takes x */
    MDF_NEST_FIRST_MAXIMUM,
    MDF_NEST_FIRST_MINIMUM, /* x < t || ... */
    MDF_NEST_LAST_MAXIMUM,  /* of the last: x >= t || x != x */
    MDF_NEST_LAST_MINIMUM,  /* x <= t || ... */
    N_MDF_NEST_FOLDS
};

/* The order of a sum or product of reals. */
enum mdf_nest_order {
    MDF_NEST_IN_LANES, /* as `lanes` says */
    /* 8 lanes; of more than 512 elements the first n / 2 / 8 * 8 and the others are folded so, apart, and then joined. */
    MDF_NEST_IN_BLOCKS,
    /* numpy's: fewer than 8 elements one by one; else element i of the first n / 8 * 8 goes to total i % 8, which are joined in
     * pairs, 0 with 1, 2 with 3, and so on; then the rest one by one. Of more than 128 elements the first n / 2 - n / 2 % 8
     * and the others are folded so, apart. */
    MDF_NEST_PAIRWISE,
    /* Of fewer than 32 elements one by one; else the first n / 32 * 32 in 32 lanes, then the rest one by one. */
    MDF_NEST_WITH_REST,
    /* Blocks of MDF_NEST_DEPTH elements, each one by one from the fold's beginning; the total of the first is joined by that of
     * the next, and so on. With a start, it is what the first block joins. One lane; of no more elements it is IN_LANES. */
    MDF_NEST_IN_DEPTHS,
    N_MDF_NEST_ORDERS
};

enum { MDF_NEST_DEPTH = 256 };

/* Which element of the value. */
struct mdf_nest_view {
    mdf_lowered_id id;                   /* an array, or a scalar, whose strides are 0 */
    int64_t first;                       /* offset in elements, of the point whose indices are 0 */
    int64_t strides[MDF_NEST_MOST_AXES]; /* by axis; 0: the same element; negative: backwards */
    /* Of a LOAD: a register of int64 or int32, of the step's level or below, whose value times at_stride is added; from -at_limit to
     * at_limit - 1, where at_limit is added to a negative one first; else the lowered form bails out. NONE: there is no such
     * thing. */
    uint8_t at;
    bool cuts; /* it is where a slice begins; past the limit the slice has not the size that it had */
    int64_t at_stride, at_limit;
};

struct mdf_nest_step {
    uint8_t kind;  /* enum mdf_nest_kind */
    uint8_t level; /* of the register that it makes; of STORE: how many axes it goes through */
    uint8_t dtype; /* of the register that it makes; of STORE: of the element, which is that of in[0]: float32, float64, int32,
                      int64, bool; of LOAD, STORE and ELEMENTS any type */
    uint8_t n_in;  /* registers in `in` */
    uint8_t in[MDF_MAX_OPERANDS];
    /* ELEMENT: of ADD to SELECT (but the _EXACT ones), CAST, or ELEMENTS; operand_dtype is what op->dtype is of such an op
     * (lowered.h); `loop` is not NULL but for CAST, and does the same on rows. */
    uint8_t code;          /* enum mdf_lowered_code */
    uint8_t operand_dtype; /* also of FOLD: that of in[0] */
    mdf_loop loop;
    const void *loop_settings;
    const struct mdf_operator *operator; /* of the model, as in struct mdf_lowered_op */
    const void *settings;
    const struct mdf_origin *origin;
    /* FOLD. `lanes` is 1: t runs through the elements in the order of the axes, the innermost fastest. Else the axes folded are
     * one, and element i goes to total number i % lanes, each of which begins as said above; then, for n = lanes / 2, lanes / 4,
     * ..., 1, each total i < n takes total i + n as its x; total 0 is the result. `lanes` is a power of two. The order has to be
     * kept for reals; whole numbers may be folded in any, but for the indices of extremes. */
    uint8_t fold; /* enum mdf_nest_fold */
    uint8_t lanes;
    uint8_t order; /* enum mdf_nest_order; of all but the first there is one axis, and `lanes` is what they say */
    /* Of a sum in one lane, by IN_LANES or IN_DEPTHS. `has_start`: it begins with in[1], whose level is at most its own, in place
     * of 0; in[0] is an ELEMENT behind it that nothing else reads. `is_fused`: of reals; in[0] is a MULTIPLY that nothing else
     * reads, and is added without being rounded before: fma(x, y, t). */
    bool has_start, is_fused;
    struct mdf_nest_view view; /* LOAD, STORE */
};

struct mdf_nest_tiles;
struct mdf_nest_opening;

/* A NEST op. What it stores are results; each of them is an array in memory of its own, or a scalar. */
struct mdf_lowered_nest {
    size_t n_axes;
    size_t extents[MDF_NEST_MOST_AXES]; /* of the open axis: what it was in the last run; before, in an example */
    bool is_open;
    uint8_t open_axis; /* where it is open */
    bool takes_none;   /* folds over the open axis may have no element: what they begin with is what the kernel gives */
    struct mdf_nest_step *steps;
    size_t n_steps;
    struct mdf_nest_tiles *tiles;     /* of mdf_lowered_run_nest, which makes them in its first run */
    struct mdf_nest_opening *opening; /* of one with an open axis, made in its first run: what loads and stores along it */
};

/* A set of steps. */
struct mdf_nest_set {
    uint64_t words[4];
};

static inline bool mdf_nest_set_has(const struct mdf_nest_set *set, size_t i)
{
    return (set->words[i / 64] >> i % 64 & 1) != 0;
}

static inline void mdf_nest_set_add(struct mdf_nest_set *set, size_t i)
{
    set->words[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void mdf_nest_set_remove(struct mdf_nest_set *set, size_t i)
{
    set->words[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool mdf_nest_set_is_empty(const struct mdf_nest_set *set)
{
    return (set->words[0] | set->words[1] | set->words[2] | set->words[3]) == 0;
}

/* Adds what `step` reads: its operands, and the index of a load; or whether it reads one of a set. */
void mdf_nest_add_operands(const struct mdf_nest_step *step, struct mdf_nest_set *set);
bool mdf_nest_reads_any(const struct mdf_nest_step *step, const struct mdf_nest_set *set);

/* How many elements of the index space the axes [first, end) have. */
static inline size_t mdf_nest_count(const struct mdf_lowered_nest *nest, size_t first, size_t end)
{
    size_t n = 1;

    for (; first < end; first++) {
        n *= nest->extents[first];
    }
    return n;
}

/* The first step that stores something; NULL: none does, where a nest only looks at indices, or for what is refused. */
static inline const struct mdf_nest_step *mdf_nest_first_store(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE) {
            return &nest->steps[i];
        }
    }
    return NULL;
}

/* The level at which a step is computed: of a fold, that of its elements. */
static inline size_t mdf_nest_deepest(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_FOLD ? nest->steps[step->in[0]].level : step->level;
}

/* The registers that a step reads, by their numbers in another nest. */
static inline void mdf_nest_renumber(struct mdf_nest_step *step, const uint8_t *numbers)
{
    size_t k;

    for (k = 0; k < step->n_in; k++) {
        step->in[k] = numbers[step->in[k]];
    }
    if (step->view.at != MDF_NEST_NONE) {
        step->view.at = numbers[step->view.at];
    }
}

/* Whether a fold goes over an axis. */
static inline bool mdf_nest_folds_axis(const struct mdf_lowered_nest *nest, size_t i, size_t axis)
{
    const struct mdf_nest_step *step = &nest->steps[i];

    return step->kind == MDF_NEST_FOLD && axis >= step->level && axis < nest->steps[step->in[0]].level;
}

/* Whether any step folds the elements along an axis. */
bool mdf_nest_is_folded(const struct mdf_lowered_nest *nest, size_t axis);

/* Of n elements in a row, those that go to the fold's lanes in turn; the rest comes behind them. */
static inline size_t mdf_nest_count_in_lanes(const struct mdf_nest_step *fold, size_t n)
{
    return fold->order == MDF_NEST_WITH_REST ? n - n % fold->lanes : n;
}

/* The totals that n elements, fewer than 32, of a fold go to in turn before these are joined; 1: they are folded one by one. 0:
 * the order is another one. */
size_t mdf_nest_totals_of_few(const struct mdf_nest_step *fold, size_t n);

/* Whether a step loads from 0, 1, 2, ... at an index: what it loads is the index, counted from the first. */
bool mdf_nest_loads_its_index(const struct mdf_lowered *lowered, const struct mdf_nest_step *step);

/* What the fold begins with whose elements step `i` makes; MDF_NEST_NONE: nothing that it has to wait for. */
uint8_t mdf_nest_start(const struct mdf_lowered_nest *nest, size_t i);

/* Whether a step is the product of two numbers that were float32, which has 48 bits at most, and needs no rounding: what it is
 * added to has the same bits by fma. */
bool mdf_nest_is_exact_product(const struct mdf_lowered_nest *nest, size_t i);

/* Whether step `i` is a sum of a row of at most 64 elements, in many lanes, that can be written out: all that is done along its
 * axis is to load and compute, for that sum alone. Totals are joined as soon as two are there, then. */
enum { MDF_NEST_LONGEST_IN_PAIRS = 64 };
bool mdf_nest_is_in_pairs(const struct mdf_lowered_nest *nest, size_t i);
/* Of n totals that are joined in halves, the one that is made as number k, so that each is joined as soon as may be. */
size_t mdf_nest_total_in_pairs(size_t k, size_t n_totals);

/* Whether it loads a value, or stores it. */
bool mdf_nest_reads(const struct mdf_lowered_nest *nest, mdf_lowered_id id);
bool mdf_nest_stores(const struct mdf_lowered_nest *nest, mdf_lowered_id id);

#endif
