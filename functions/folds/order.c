/* order.c - elements by rank: TopK, Unique, ArgMax, ArgMin, NonZero.
 *
 * Comes in: an array. Goes out: values and where they stood. Equal elements stand in the order of their indices. NaN is the
 * largest value (numpy.sort), and for ArgMax and ArgMin it is what is looked for (numpy.argmax). Source: the ONNX operators
 * of these names, all versions; numpy.unique, numpy.nonzero. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/fold.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/folds/ordering.h"
#include "functions/folds/short_rows.h"
#include "functions/kernel/number_routine.inc"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"

#include "mdf_c/base/processor.h"

#include <math.h>
#include <string.h>

static bool check_ordered(struct mdf_call *call, const struct mdf_value *data)
{
    return mdf_dtype_has_order((mdf_dtype)data->dtype)
               ? true
               : mdf_call_error(call, MDF_TYPE, "elements of type %s have no order", mdf_dtype_name((mdf_dtype)data->dtype));
}

/* ------------------------------------------------------------------ TopK */

struct top_settings {
    int64_t axis, k; /* k: version 1; an input from version 10 on */
    int64_t largest; /* from version 11 on */
};

static const struct mdf_setting top_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct top_settings, axis)},
                                               {"k", MDF_SETTING_INT, offsetof(struct top_settings, k)},
                                               {"largest", MDF_SETTING_INT, offsetof(struct top_settings, largest)},
                                               {NULL, MDF_SETTING_INT, 0}};

/* An element: its key (ordering.h), and where it stands in its line. */
struct ranked {
    uint64_t key;
    int64_t index;
};

static bool stands_before(struct ranked a, struct ranked b)
{
    return a.key != b.key ? a.key < b.key : a.index < b.index;
}

/* Restores the heap below `root`: every item stands behind its two children. */
static void sift_down(struct ranked *heap, size_t root, size_t n)
{
    struct ranked kept = heap[root];

    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && stands_before(heap[child], heap[child + 1])) {
            child++;
        }
        if (!stands_before(kept, heap[child])) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = kept;
}

/* All lines of one call. */
struct top {
    mdf_dtype dtype;
    const void *elements;
    size_t n, inner, k; /* elements of a line, how far apart they lie; how many are selected */
    bool largest;
    struct ranked *selected; /* [line, k]; NULL: they are few */
    void *values;            /* of output 0, or NULL */
    int64_t *indices;        /* of output 1, or NULL */
    struct mdf_stop *stop;
    uint64_t *room; /* of lines that are sorted whole, of each of n_rooms threads 3 n words; or NULL */
    size_t n_rooms;
    atomic_bool *is_taken; /* of the rooms */
};

/* The number of the first one of keys [i, n) that is below `bound`, or n. Most are not: some are looked at together. */
static size_t find_below(const uint64_t *keys, size_t i, size_t n, uint64_t bound)
{
    enum { AT_ONCE = 16 };

    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        size_t n_below = 0;

        for (size_t k = 0; k < AT_ONCE; k++) {
            n_below += keys[i + k] < bound;
        }
        if (n_below > 0) {
            break;
        }
    }
    while (i < n && keys[i] >= bound) {
        i++;
    }
    return i;
}

/* The first of the elements so far are held as a heap, whose root stands behind all others; if they are few, sorted: that is
 * moving each by one place or none, without a branch that goes now this way, now that. */
enum { FEW = 24, SHORT_LINE = 16 };

/* Lines of which so many elements are selected, and a quarter at least, are sorted whole; that many at a time. */
enum { FEWEST_TO_SORT = 129, MOST_ROOMS = 64 };

/* Puts an element into sorted ones, behind those of its key; what was the last one then comes out. */
static struct ranked insert(struct ranked *sorted, size_t n, struct ranked next)
{
    uint64_t change = 0; /* no bits; once its place is found, all */

    for (size_t i = 0; i < n; i++) {
        struct ranked held = sorted[i];

        change |= 0 - (uint64_t)(next.key < held.key);
        sorted[i].key = held.key ^ ((next.key ^ held.key) & change);
        sorted[i].index = held.index ^ ((next.index ^ held.index) & (int64_t)change);
        next.key ^= (next.key ^ held.key) & change;
        next.index ^= (next.index ^ held.index) & (int64_t)change;
    }
    return next;
}

/* Holds one of the first k elements of a line. */
static void hold(struct ranked *held, size_t n_held, size_t k, struct ranked next)
{
    held[n_held] = k <= FEW ? insert(held, n_held, next) : next;
    for (size_t root = k > FEW && n_held + 1 == k ? k / 2 : 0; root-- > 0;) {
        sift_down(held, root, k);
    }
}

/* Holds an element in place of the last of k. */
static void replace_last(struct ranked *held, size_t k, struct ranked next)
{
    if (k <= FEW) {
        insert(held, k, next);
    } else {
        held[0] = next;
        sift_down(held, 0, k);
    }
}

static void sort_held(struct ranked *held, size_t k)
{
    for (size_t last = k; k > FEW && last > 1; last--) {
        struct ranked behind = held[0];

        held[0] = held[last - 1];
        held[last - 1] = behind;
        sift_down(held, 0, last - 1);
    }
}

/* The same of a short line, all of whose keys are there: an element's place is how many stand before it. Of each two it is one.
 */
static void place_all(const uint64_t *keys, size_t n, size_t k, struct ranked *held)
{
    uint8_t places[SHORT_LINE] = {0};

    for (size_t i = 1; i < n; i++) {
        uint8_t before = 0;

        for (size_t j = 0; j < i; j++) {
            uint8_t is_before = keys[j] <= keys[i];

            before = (uint8_t)(before + is_before);
            places[j] = (uint8_t)(places[j] + 1 - is_before);
        }
        places[i] = before;
    }
    for (size_t i = 0; i < n; i++) {
        if (places[i] < k) {
            held[places[i]] = (struct ranked){keys[i], (int64_t)i};
        }
    }
}

/* The first k elements of a line by their order, in it; k > 0. */
static void select_first(const struct top *job, const void *line, struct ranked *held)
{
    enum { CHUNK = 256 };
    uint64_t keys[CHUNK];
    size_t n_held = 0, k = job->k, last = k <= FEW ? k - 1 : 0;

    if (job->n <= SHORT_LINE && 2 * k >= job->n) {
        mdf_order_keys(job->dtype, line, job->inner, job->n, job->largest, job->largest ? MDF_NAN_FIRST : MDF_NAN_LAST, keys);
        place_all(keys, job->n, k, held);
        return;
    }
    for (size_t first = 0; first < job->n; first += CHUNK) {
        size_t n_chunk = job->n - first < CHUNK ? job->n - first : CHUNK, i = 0;

        mdf_order_keys(job->dtype, mdf_element_at(job->dtype, line, first * job->inner), job->inner, n_chunk, job->largest,
                       job->largest ? MDF_NAN_FIRST : MDF_NAN_LAST, keys);
        for (; i < n_chunk && n_held < k; i++) {
            hold(held, n_held++, k, (struct ranked){keys[i], (int64_t)(first + i)});
        }
        while (n_held == k && (i = find_below(keys, i, n_chunk, held[last].key)) < n_chunk) {
            replace_last(held, k, (struct ranked){keys[i], (int64_t)(first + i)});
            i++;
        }
    }
    sort_held(held, k);
}

/* The same by sorting all of a line, which takes less where many are selected. */
static void sort_line(const struct top *job, const void *line, struct ranked *held)
{
    uint64_t *keys;
    int64_t *items, *spare;
    size_t room = 0;

    while (atomic_exchange_explicit(&job->is_taken[room], true, memory_order_acquire)) {
        room = room + 1 < job->n_rooms ? room + 1 : 0;
    }
    keys = job->room + room * 3 * job->n;
    items = (int64_t *)(keys + job->n);
    spare = items + job->n;
    mdf_order_keys(job->dtype, line, job->inner, job->n, job->largest, job->largest ? MDF_NAN_FIRST : MDF_NAN_LAST, keys);
    for (size_t i = 0; i < job->n; i++) {
        items[i] = (int64_t)i;
    }
    if (mdf_sort_by_keys(job->stop, items, spare, job->n, keys)) {
        for (size_t i = 0; i < job->k; i++) {
            held[i] = (struct ranked){keys[items[i]], items[i]};
        }
    } else {
        memset(held, 0, job->k * sizeof *held);
    }
    atomic_store_explicit(&job->is_taken[room], false, memory_order_release);
}

/* The selected elements of a line, `step` apart, as those of `values` from number `to` on, as far apart. */
static void copy_selected(const struct top *job, const char *line, const struct ranked *selected, size_t to)
{
    size_t size_bytes = mdf_dtype_size(job->dtype);
    char *target = mdf_element_to_write(job->dtype, job->values, to);

    for (size_t j = 0; j < job->k; j++, target += job->inner * size_bytes) {
        const char *from = line + (size_t)selected[j].index * job->inner * size_bytes;

        if (size_bytes == sizeof(uint32_t)) {
            memcpy(target, from, sizeof(uint32_t));
        } else if (size_bytes == sizeof(uint64_t)) {
            memcpy(target, from, sizeof(uint64_t));
        } else {
            memcpy(target, from, size_bytes);
        }
    }
}

/* Lines [first, last): selects, and writes what was selected to the outputs. */
static void select_lines(void *context, size_t first, size_t last)
{
    const struct top *job = context;
    struct ranked few[FEW];

    for (size_t i = first; i < last; i++) {
        size_t outer = i / job->inner, column = i % job->inner, to = outer * job->k * job->inner + column;
        const char *line = mdf_element_at(job->dtype, job->elements, outer * job->n * job->inner + column);
        struct ranked *selected = job->selected == NULL ? few : job->selected + i * job->k;

        (job->room != NULL ? sort_line : select_first)(job, line, selected);
        if (job->values != NULL) {
            copy_selected(job, line, selected, to);
        }
        for (size_t j = 0; job->indices != NULL && j < job->k; j++) {
            job->indices[to + j * job->inner] = selected[j].index;
        }
    }
}

static bool read_k(struct mdf_call *call, const struct mdf_value *data, size_t axis, int64_t *k)
{
    const struct top_settings *settings = call->settings;
    int64_t size = mdf_value_shape(data)[axis];

    *k = settings->k;
    if ((settings->k == MDF_NOT_GIVEN || mdf_call_input(call, 1) != NULL) && !mdf_call_integer(call, 1, k)) {
        return false;
    }
    return *k >= 0 && *k <= size
               ? true
               : mdf_call_error(call, MDF_VALUE, "k is %lld, but axis %zu has size %lld", (long long)*k, axis, (long long)size);
}

/* The outputs that somebody reads, and room for what is selected, which is `n` elements. */
static bool prepare_top(struct mdf_call *call, struct top *job, size_t rank, const int64_t *shape, size_t n)
{
    if (mdf_call_result(call, 0) != NULL) {
        job->values = mdf_call_output(call, 0, job->dtype, rank, shape);
        if (job->values == NULL) {
            return false;
        }
    }
    if (mdf_call_result(call, 1) != NULL) {
        job->indices = mdf_call_output(call, 1, MDF_DTYPE_INT64, rank, shape);
        if (job->indices == NULL) {
            return false;
        }
    }
    if (job->k <= FEW) {
        return true;
    }
    job->selected = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_COMPLEX128, n); /* of the size of struct ranked */
    return job->selected != NULL;
}

/* Room to sort lines in, where many of their elements are selected. */
static bool prepare_rooms(struct mdf_call *call, struct top *job, size_t n_lines, atomic_bool is_taken[MOST_ROOMS])
{
    size_t n = call->context->n_threads > 1 ? (size_t)call->context->n_threads : 1, n_words;

    if (job->k < FEWEST_TO_SORT || job->k < job->n / 4 || n_lines == 0) {
        return true;
    }
    n = n < n_lines ? n : n_lines;
    job->n_rooms = n < MOST_ROOMS ? n : MOST_ROOMS;
    job->is_taken = is_taken;
    for (size_t i = 0; i < job->n_rooms; i++) {
        atomic_init(&is_taken[i], false);
    }
    if (!mdf_size_multiply(3 * job->n_rooms, job->n, &n_words)) {
        return mdf_call_out_of_memory(call);
    }
    job->room = mdf_call_scratch(call, MDF_SCRATCH_SECOND, MDF_DTYPE_UINT64, n_words);
    return job->room != NULL;
}

static bool top_k(struct mdf_call *call)
{
    const double element_ns = 0.8; /* rough time, to judge what is worth a thread */
    const struct top_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t few_sizes[MDF_INLINE_RANK], *shape = few_sizes, k;
    size_t axis, n;
    struct mdf_box box;
    struct top job = {.largest = settings->largest != 0, .stop = call->context->stop};
    atomic_bool is_taken[MOST_ROOMS];

    if (data == NULL || !check_ordered(call, data) || !mdf_call_axis(call, settings->axis, data->rank, &axis) ||
        !read_k(call, data, axis, &k) || (data->rank > MDF_INLINE_RANK && !mdf_box_prepare(call, 0, data->rank, &box, &shape))) {
        return false;
    }
    memcpy(shape, mdf_value_shape(data), data->rank * sizeof *shape);
    shape[axis] = k;
    n = mdf_axes_product(shape, 0, data->rank);
    job.dtype = (mdf_dtype)data->dtype;
    job.elements = data->data;
    job.n = (size_t)mdf_value_shape(data)[axis];
    job.inner = mdf_axes_product(shape, axis + 1, data->rank);
    job.k = (size_t)k;
    if (!prepare_top(call, &job, data->rank, shape, n)) {
        return false;
    }
    if (n > 0 && !prepare_rooms(call, &job, n / job.k, is_taken)) {
        return false;
    }
    if (n > 0) {
        mdf_parallel_for(call->context, n / job.k, element_ns * (double)job.n, select_lines, &job);
    }
    return true;
}

/* ------------------------------------------------------------------ ArgMax, ArgMin */

struct arg_settings {
    int64_t axis, keep_axes;
    int64_t select_last; /* from version 12 on */
};

static const struct mdf_setting arg_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct arg_settings, axis)},
                                               {"keepdims", MDF_SETTING_INT, offsetof(struct arg_settings, keep_axes)},
                                               {"select_last_index", MDF_SETTING_INT, offsetof(struct arg_settings, select_last)},
                                               {NULL, MDF_SETTING_INT, 0}};

/* The smallest of the keys, without a branch that would have to be foreseen; in several parts, of which vectors are made. */
#define SMALLEST_KEY(TARGET, name)                                                   \
    TARGET static uint64_t name(const uint64_t *keys, size_t n)                      \
    {                                                                                \
        enum { N_PARTS = 16 };                                                       \
        uint64_t smallest[N_PARTS];                                                  \
        size_t i = 0;                                                                \
                                                                                     \
        memset(smallest, 0xff, sizeof smallest);                                     \
        for (; i + N_PARTS <= n; i += N_PARTS) {                                     \
            for (size_t k = 0; k < N_PARTS; k++) {                                   \
                smallest[k] = keys[i + k] < smallest[k] ? keys[i + k] : smallest[k]; \
            }                                                                        \
        }                                                                            \
        for (; i < n; i++) {                                                         \
            smallest[0] = keys[i] < smallest[0] ? keys[i] : smallest[0];             \
        }                                                                            \
        for (size_t k = 1; k < N_PARTS; k++) {                                       \
            smallest[0] = smallest[k] < smallest[0] ? smallest[k] : smallest[0];     \
        }                                                                            \
        return smallest[0];                                                          \
    }
SMALLEST_KEY(, smallest_key_plain)
#if defined(__x86_64__)
SMALLEST_KEY(__attribute__((target("avx2"))), smallest_key_avx2)
SMALLEST_KEY(__attribute__((target("avx512f,avx512vl,avx512dq"))), smallest_key_avx512)
#endif

/* Index of the smallest key of a line, its first or last. */
static int64_t find_smallest(mdf_dtype dtype, const void *line, size_t stride, size_t n, bool descending, bool select_last)
{
    enum { CHUNK = 256 };
    uint64_t keys[CHUNK], best_key = 0;
    int64_t best = -1;

    for (size_t first = 0; first < n; first += CHUNK) {
        size_t n_chunk = n - first < CHUNK ? n - first : CHUNK, at = select_last ? n_chunk - 1 : 0;
        uint64_t key;

        mdf_order_keys(dtype, mdf_element_at(dtype, line, first * stride), stride, n_chunk, descending, MDF_NAN_FIRST, keys);
        key = MDF_WIDEST(smallest_key)(keys, n_chunk);
        if (best >= 0 && (select_last ? key > best_key : key >= best_key)) {
            continue;
        }
        while (keys[at] != key) {
            at = select_last ? at - 1 : at + 1;
        }
        best_key = key;
        best = (int64_t)(first + at);
    }
    return best;
}

/* Lines of an array, and the index that each gives. */
struct extremes {
    mdf_dtype dtype;
    const void *elements;
    int64_t *target;
    size_t n, inner; /* elements of a line, and how far apart they lie */
    bool maximum, select_last;
};

/* The same as find_smallest for adjacent float32 or float64: the extreme is found in vectors, then where it stands. */
static int64_t find_adjacent(const struct extremes *job, const void *line)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);
    double most = (job->maximum ? rows->largest : rows->smallest)(job->n, line);
    size_t step = job->select_last ? SIZE_MAX : 1, at = job->select_last ? job->n - 1 : 0;
    const float *singles = line;
    const double *doubles = line;

    if (job->dtype == MDF_DTYPE_FLOAT32) {
        while ((double)singles[at] != most && !(isnan(most) && isnan(singles[at]))) {
            at += step;
        }
    } else {
        while (doubles[at] != most && !(isnan(most) && isnan(doubles[at]))) {
            at += step;
        }
    }
    return (int64_t)at;
}

/* Lines side by side that are gone along at once, and how many make that worth it. */
enum { LINES_AT_ONCE = 256, FEW_LINES = 8 };

/* Row `row` of lines side by side: `places` of what is better than the best keys so far. No branch has to be foreseen. */
static inline void take_better(const uint64_t *keys, size_t n, int64_t row, bool or_equal, uint64_t *best, int64_t *places)
{
    for (size_t i = 0; i < n; i++) {
        bool is_better = or_equal ? keys[i] <= best[i] : keys[i] < best[i];

        best[i] = is_better ? keys[i] : best[i];
        places[i] = is_better ? row : places[i];
    }
}

/* The same as find_smallest for `n_lines` lines side by side, of which `line` is the first. */
static void find_across(const struct extremes *job, size_t line, size_t n_lines)
{
    size_t at = line / job->inner * job->n * job->inner + line % job->inner;
    uint64_t keys[LINES_AT_ONCE], best[LINES_AT_ONCE];
    int64_t *places = job->target + line;

    mdf_order_keys(job->dtype, mdf_element_at(job->dtype, job->elements, at), 1, n_lines, job->maximum, MDF_NAN_FIRST, best);
    memset(places, 0, n_lines * sizeof *places);
    for (size_t row = 1; row < job->n; row++) {
        at += job->inner;
        mdf_order_keys(job->dtype, mdf_element_at(job->dtype, job->elements, at), 1, n_lines, job->maximum, MDF_NAN_FIRST, keys);
        if (job->select_last) {
            take_better(keys, n_lines, (int64_t)row, true, best, places);
        } else {
            take_better(keys, n_lines, (int64_t)row, false, best, places);
        }
    }
}

/* The same as take_better with float32 themselves; NaN is better than any number. */
static inline void take_better_float32(const float *x, size_t n, int32_t row, bool maximum, bool or_equal, float *best,
                                       int32_t *places)
{
    for (size_t i = 0; i < n; i++) {
        float a = x[i], b = best[i];
        bool is_beyond = maximum ? (or_equal ? a >= b : a > b) : (or_equal ? a <= b : a < b);
        bool is_better = is_beyond | ((a != a) & (or_equal | (b == b)));

        best[i] = is_better ? a : b;
        places[i] = is_better ? row : places[i];
    }
}

/* The same as find_across for float32. */
static void find_across_float32(const struct extremes *job, size_t line, size_t n_lines)
{
    const float *x = (const float *)job->elements + line / job->inner * job->n * job->inner + line % job->inner;
    int32_t places[LINES_AT_ONCE] = {0};
    float best[LINES_AT_ONCE];

    memcpy(best, x, n_lines * sizeof *best);
    for (size_t row = 1; row < job->n; row++) {
        x += job->inner;
        if (job->maximum && job->select_last) {
            take_better_float32(x, n_lines, (int32_t)row, true, true, best, places);
        } else if (job->maximum) {
            take_better_float32(x, n_lines, (int32_t)row, true, false, best, places);
        } else if (job->select_last) {
            take_better_float32(x, n_lines, (int32_t)row, false, true, best, places);
        } else {
            take_better_float32(x, n_lines, (int32_t)row, false, false, best, places);
        }
    }
    for (size_t i = 0; i < n_lines; i++) {
        job->target[line + i] = places[i];
    }
}

static void find_side_by_side(const struct extremes *job, size_t line, size_t n_lines)
{
    if (job->dtype == MDF_DTYPE_FLOAT32 && job->n <= INT32_MAX) {
        find_across_float32(job, line, n_lines);
    } else {
        find_across(job, line, n_lines);
    }
}

/* Short lines one behind the other, brought side by side. */
static void find_in_short_lines(const struct extremes *job, size_t line, size_t n_lines)
{
    double turned[MDF_ROWS_AT_ONCE * MDF_SHORT_ROW]; /* room for elements of any type */
    struct extremes part = *job;

    part.elements = turned;
    part.target += line;
    part.inner = n_lines;
    mdf_turn_rows(mdf_dtype_size(job->dtype), turned, mdf_element_at(job->dtype, job->elements, line * job->n), n_lines, job->n);
    find_side_by_side(&part, 0, n_lines);
}

static int64_t find_along(const struct extremes *job, size_t line)
{
    const void *elements = mdf_element_at(job->dtype, job->elements, line / job->inner * job->n * job->inner + line % job->inner);

    return job->inner == 1 && mdf_dtype_is_real(job->dtype)
               ? find_adjacent(job, elements)
               : find_smallest(job->dtype, elements, job->inner, job->n, job->maximum, job->select_last);
}

static void find_extremes(void *context, size_t first, size_t last)
{
    const struct extremes *job = context;
    bool is_short = job->inner == 1 && job->n <= MDF_SHORT_ROW && mdf_can_turn_rows(mdf_dtype_size(job->dtype));

    for (size_t line = first, n_lines; line < last; line += n_lines) {
        if (is_short) {
            n_lines = last - line < MDF_ROWS_AT_ONCE ? last - line : MDF_ROWS_AT_ONCE;
            find_in_short_lines(job, line, n_lines);
            continue;
        }
        n_lines = job->inner - line % job->inner;
        n_lines = n_lines < last - line ? n_lines : last - line;
        n_lines = n_lines < FEW_LINES ? 1 : n_lines < LINES_AT_ONCE ? n_lines : LINES_AT_ONCE;
        if (n_lines > 1) {
            find_side_by_side(job, line, n_lines);
        } else {
            job->target[line] = find_along(job, line);
        }
    }
}

/* Along which axis; a number is an array of one, as for NumPy and ONNX Runtime. */
static bool find_line(struct mdf_call *call, size_t rank, size_t *axis)
{
    const struct arg_settings *settings = call->settings;

    return mdf_call_axis(call, settings->axis, rank > 0 ? rank : 1, axis);
}

static bool find_extreme(struct mdf_call *call, bool maximum)
{
    const double element_ns = 0.3; /* rough time of one, to judge what is worth a thread */
    const struct arg_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    struct extremes job = {.maximum = maximum, .select_last = mdf_is_set(settings->select_last)};
    int64_t *shape;
    size_t axis, rank = 0, n_lines;
    struct mdf_box box;

    if (data == NULL || !check_ordered(call, data) || !find_line(call, data->rank, &axis) ||
        !mdf_box_prepare(call, 0, data->rank, &box, &shape)) {
        return false;
    }
    job.dtype = (mdf_dtype)data->dtype;
    job.elements = data->data;
    job.n = data->rank > 0 ? (size_t)mdf_value_shape(data)[axis] : 1;
    for (size_t k = 0; k < data->rank; k++) {
        if (k != axis || settings->keep_axes != 0) {
            shape[rank++] = k == axis ? 1 : mdf_value_shape(data)[k];
        }
    }
    job.target = mdf_call_output(call, 0, MDF_DTYPE_INT64, rank, shape);
    if (job.target == NULL) {
        return false;
    }
    n_lines = mdf_axes_product(shape, 0, rank);
    job.inner = data->rank > 0 ? mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank) : 1;
    if (job.n == 0 && n_lines > 0) {
        return mdf_call_error(call, MDF_SHAPE, "axis %zu has size 0: there is no largest or smallest element", axis);
    }
    mdf_parallel_for(call->context, n_lines, element_ns * (double)job.n, find_extremes, &job);
    return true;
}

static bool arg_max(struct mdf_call *call)
{
    return find_extreme(call, true);
}

static bool arg_min(struct mdf_call *call)
{
    return find_extreme(call, false);
}

/* ------------------------------------------------------------------ NonZero */

static bool is_zero(mdf_dtype dtype, const void *element)
{
    switch (dtype) {
    case MDF_DTYPE_STRING:
        return *(char *const *)element == NULL || mdf_string_length(*(char *const *)element) == 0;
    case MDF_DTYPE_COMPLEX64:
        return is_zero(MDF_DTYPE_FLOAT32, element) && is_zero(MDF_DTYPE_FLOAT32, (const float *)element + 1);
    case MDF_DTYPE_COMPLEX128:
        return is_zero(MDF_DTYPE_FLOAT64, element) && is_zero(MDF_DTYPE_FLOAT64, (const double *)element + 1);
    default:
        return fpclassify(mdf_element_to_double(dtype, element)) == FP_ZERO;
    }
}

/* Where elements are that are not zero, into `positions`, which has room for all and one more; their number. */
static size_t find_non_zero(mdf_dtype dtype, const void *elements, size_t n, size_t *positions)
{
    char kind = mdf_dtype_kind(dtype);
    size_t n_found = 0;

/* Each position is written, and stays where it counts: no branch has to be foreseen. */
#define FIND(type)                                           \
    for (size_t i = 0; i < n; i++) {                         \
        positions[n_found] = i;                              \
        n_found += ((const type *)elements)[i] != 0 ? 1 : 0; \
    }
    if (dtype == MDF_DTYPE_FLOAT32) {
        FIND(float)
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        FIND(double)
    } else if (dtype == MDF_DTYPE_INT64) {
        FIND(int64_t)
    } else if (dtype == MDF_DTYPE_INT32) {
        FIND(int32_t)
    } else if (kind != 'f' && mdf_dtype_size(dtype) == 1) { /* truths, and integers of up to 8 bits */
        FIND(uint8_t)
    } else {
        for (size_t i = 0; i < n; i++) {
            positions[n_found] = i;
            n_found += is_zero(dtype, mdf_element_at(dtype, elements, i)) ? 0 : 1;
        }
    }
#undef FIND
    return n_found;
}

/* The indices [axis, n] of ascending positions. Those of the axes before the last one are worked out anew for another row only.
 */
static void write_indices(const struct mdf_value *data, const size_t *positions, size_t n, int64_t *indices)
{
    size_t n_row = data->rank > 0 ? (size_t)mdf_value_shape(data)[data->rank - 1] : 1, row_start = 0;

    for (size_t i = 0; i < n && data->rank > 0; i++) {
        bool same_row = i > 0 && positions[i] - row_start < n_row;
        size_t rest = same_row ? 0 : positions[i] / n_row;

        row_start = same_row ? row_start : rest * n_row;
        indices[((size_t)data->rank - 1) * n + i] = (int64_t)(positions[i] - row_start);
        for (size_t axis = data->rank - 1; axis-- > 0;) {
            size_t size = (size_t)mdf_value_shape(data)[axis];

            indices[axis * n + i] = same_row ? indices[axis * n + i - 1] : (int64_t)(rest % size);
            rest /= size;
        }
    }
}

static bool non_zero(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t shape[2] = {0, 0}, *target;
    size_t *positions;

    positions = data != NULL ? mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, data->length + 1) : NULL;
    if (positions == NULL) {
        return false;
    }
    shape[0] = data->rank;
    shape[1] = (int64_t)find_non_zero((mdf_dtype)data->dtype, data->data, data->length, positions);
    target = mdf_call_output(call, 0, MDF_DTYPE_INT64, 2, shape);
    if (target == NULL) {
        return false;
    }
    write_indices(data, positions, (size_t)shape[1], target);
    return true;
}

/* ------------------------------------------------------------------ routines */

#define ROUTINES "functions/elements/differs_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/folds/order_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/elements/differs_routine.inc"
#include "functions/kernel/routine_wholes.inc"
#define ROUTINES "functions/folds/order_routine.inc"
#include "functions/kernel/routine_wholes.inc"

/* Of few elements that are taken, and of so many altogether that no thread would be worth it. */
static mdf_routine_function top_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_TAKEN = 16, MOST_ELEMENTS = 1 << 14 };
    int64_t n = plan->whole[1], n_lines = plan->whole[0] * plan->whole[2];

    if (plan->whole[3] == 0 || plan->whole[3] > MOST_TAKEN || n > MOST_ELEMENTS || n_lines > MOST_ELEMENTS ||
        n * n_lines > MOST_ELEMENTS) {
        return NULL;
    }
    return plan->dtype == MDF_DTYPE_INT64   ? mdf_top_int64
           : plan->dtype == MDF_DTYPE_INT32 ? mdf_top_int32
                                            : MDF_ROUTINE_OF_REALS(plan, top);
}

mdf_routine_function mdf_in_order_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_ELEMENTS = 256 };
    int64_t n = plan->whole[1], n_lines = plan->whole[0] * plan->whole[2];

    if (n > MOST_ELEMENTS || n_lines > MOST_ELEMENTS || n * n_lines > MOST_ELEMENTS) {
        return NULL;
    }
    return plan->dtype == MDF_DTYPE_INT64   ? mdf_in_order_int64
           : plan->dtype == MDF_DTYPE_INT32 ? mdf_in_order_int32
                                            : MDF_ROUTINE_OF_REALS(plan, in_order);
}

mdf_routine_function mdf_searched_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_VALUES = 256 };

    if (plan->whole[1] > MOST_VALUES || (plan->whole[3] != 0 && plan->whole[0] > MOST_VALUES)) {
        return NULL;
    }
    return plan->dtype == MDF_DTYPE_INT64   ? mdf_searched_int64
           : plan->dtype == MDF_DTYPE_INT32 ? mdf_searched_int32
                                            : MDF_ROUTINE_OF_REALS(plan, searched);
}

static bool plan_top(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct top_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0], *selected = call->outputs[call->outputs[0] != NULL ? 0 : 1];
    const int64_t *shape = mdf_value_shape(data);
    size_t axis;

    if (!mdf_call_axis(call, settings->axis, data->rank, &axis) || !mdf_routine_room(plan, 5, 0) ||
        (mdf_call_input(call, 1) != NULL && call->inputs[1]->dtype != MDF_DTYPE_INT64)) {
        return false;
    }
    plan->function = "top";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = (int64_t)mdf_axes_product(shape, 0, axis);
    plan->whole[1] = shape[axis];
    plan->whole[2] = (int64_t)mdf_axes_product(shape, axis + 1, data->rank);
    plan->whole[3] = mdf_value_shape(selected)[axis];
    plan->whole[4] = settings->largest != 0;
    plan->work_bytes = 2 * (size_t)shape[axis] * sizeof(int64_t);
    return true;
}

static bool plan_non_zero(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *data = call->inputs[0];

    if (!mdf_routine_room(plan, 2 + (size_t)data->rank, 0)) {
        return false;
    }
    plan->function = "non_zero";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = mdf_value_shape(call->outputs[0])[1];
    plan->whole[1] = data->rank;
    memcpy(plan->whole + 2, mdf_value_shape(data), data->rank * sizeof *plan->whole);
    return true;
}

static bool find_axis(struct mdf_call *call, size_t rank, bool *reduced, bool *keeps)
{
    const struct arg_settings *settings = call->settings;
    size_t axis;

    *keeps = settings->keep_axes != 0;
    if (!find_line(call, rank, &axis)) {
        return false;
    }
    if (rank > 0) {
        reduced[axis] = true;
    }
    return true;
}

static const struct mdf_fold place_of_largest = {.result = MDF_FOLD_PLACE_OF_LARGEST, .axes = find_axis},
                             place_of_smallest = {.result = MDF_FOLD_PLACE_OF_SMALLEST, .axes = find_axis};

const struct mdf_operator mdf_operators_order[] = {
    {"TopK", 1, 99, top_k, top_table, sizeof(struct top_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "gradient.send_back(dy, gradient.along(x0, self1(x0, x1), axis), x0)"}, {1, NULL}),
     .routine = &(const struct mdf_routine){plan_top, .takes_halves = true,
                                            .why = "other numbers of elements are asked for than when the model was compiled",
                                            .function = top_function},
     .infer = &mdf_rule_top},
    {"ArgMax", 1, 99, arg_max, arg_table, sizeof(struct arg_settings), MDF_OPERATOR_PURE, NULL, .fold = &place_of_largest,
     .derivatives = mdf_derivatives_flat, .infer = &mdf_rule_arg},
    {"ArgMin", 1, 99, arg_min, arg_table, sizeof(struct arg_settings), MDF_OPERATOR_PURE, NULL, .fold = &place_of_smallest,
     .derivatives = mdf_derivatives_flat, .infer = &mdf_rule_arg},
    {"NonZero", 9, 99, non_zero, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .routine = &(const struct mdf_routine){plan_non_zero, .takes_halves = true,
                                            .why = "other numbers of elements are not zero than when the model was compiled"},
     .infer = &mdf_rule_non_zero},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
