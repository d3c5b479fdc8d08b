/* einsum.c - Einsum: sums of products by Einstein's convention.
 *
 * Comes in: arrays, and an equation "ij,...jk->...ik": a label for each axis, the labels of the result or, without an arrow,
 * those that occur once, in alphabetical order after the axes of the ellipsis. Goes out: the products summed over all other
 * labels. A repeated label in one term takes the diagonal; an axis of size 1 repeats. Terms are joined from left to right, each
 * time as a batch of matrix products: what is summed and occurs in neither later terms nor the result is summed right away.
 * Source: ONNX Einsum, all versions. */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/products/einsum.h"

#include <stdio.h>
#include <string.h>

const struct mdf_setting mdf_einsum_settings[] = {
    {"equation", MDF_SETTING_STRING, offsetof(struct mdf_einsum_settings, equation)}, {NULL, MDF_SETTING_INT, 0}};

enum { N_LETTERS = 52, ABSENT = MDF_EINSUM_ABSENT };

/* Counts through the indices of some labels. offset[0] is the sum of index times stride. */
struct odometer {
    size_t n_labels;
    int64_t *sizes, *strides, *index, *offset;
};

struct gathering {
    const void *elements;
    struct odometer kept, summed;
};

static void start_odometer(const struct odometer *odometer)
{
    for (size_t i = 0; i < odometer->n_labels; i++) {
        odometer->index[i] = 0;
    }
    odometer->offset[0] = 0;
}

/* The next index, the last `n_skipped` labels left alone; false when all were counted. No size is 0. */
static bool advance_odometer(const struct odometer *odometer, size_t n_skipped)
{
    for (size_t i = odometer->n_labels > n_skipped ? odometer->n_labels - n_skipped : 0; i-- > 0;) {
        odometer->offset[0] += odometer->strides[i];
        if (++odometer->index[i] < odometer->sizes[i]) {
            return true;
        }
        odometer->offset[0] -= odometer->sizes[i] * odometer->strides[i];
        odometer->index[i] = 0;
    }
    return false;
}

/* Elements of a result that are summed at once: that many sums are under way at a time. */
enum { MOST_NEIGHBOURS = 256, FEW_NEIGHBOURS = 8, ROWS_AT_ONCE = 64 };

#define DTYPE MDF_DTYPE_FLOAT32
#define ELEMENT float
#define ACCUMULATOR double
#define NAME(x) x##_float32
#include "functions/products/einsum_gather.inc"
#define DTYPE MDF_DTYPE_FLOAT64
#define ELEMENT double
#define ACCUMULATOR double
#define NAME(x) x##_float64
#include "functions/products/einsum_gather.inc"
#define ELEMENT uint32_t
#define ACCUMULATOR uint32_t
#define NAME(x) x##_integer32
#include "functions/products/einsum_gather.inc"
#define ELEMENT uint64_t
#define ACCUMULATOR uint64_t
#define NAME(x) x##_integer64
#include "functions/products/einsum_gather.inc"

/* ------------------------------------------------------------------ the equation */

static int letter_label(char letter)
{
    if (letter >= 'A' && letter <= 'Z') {
        return letter - 'A';
    }
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + 26 : ABSENT;
}

/* Reads one label from *text, which moves on: a letter, N_LETTERS for an ellipsis, ABSENT at the end of the term. False: neither.
 */
static bool next_label(struct mdf_call *call, const char **text, int *label)
{
    *text += strspn(*text, " \t");
    *label = letter_label(**text);
    if (*label != ABSENT) {
        ++*text;
        return true;
    }
    if (strncmp(*text, "...", 3) == 0) {
        *text += 3;
        *label = N_LETTERS;
        return true;
    }
    if (**text == ',' || **text == '\0' || strncmp(*text, "->", 2) == 0) {
        return true;
    }
    return mdf_call_error(call, MDF_VALUE, "the equation has '%c', which is neither a letter nor '...', ',' or '->'", **text);
}

/* Letters of a term, and whether it has an ellipsis; *text moves behind it. */
static bool measure_term(struct mdf_call *call, const char **text, size_t *n_letters, size_t *n_ellipses)
{
    int label;

    *n_letters = *n_ellipses = 0;
    for (;;) {
        if (!next_label(call, text, &label)) {
            return false;
        }
        if (label == ABSENT) {
            return true;
        }
        *(label == N_LETTERS ? n_ellipses : n_letters) += 1;
    }
}

/* Checks the number of terms and of their labels, and finds how many axes the ellipsis stands for. */
static bool measure_equation(struct mdf_call *call, const char *equation, struct mdf_einsum *einsum)
{
    const char *text = equation;
    size_t n_letters, n_ellipses;

    einsum->n_ellipsis = 0;
    for (size_t term = 0; term < einsum->n_terms; term++) {
        const struct mdf_value *operand = mdf_call_tensor(call, term);

        if (operand == NULL || !measure_term(call, &text, &n_letters, &n_ellipses)) {
            return false;
        }
        if (n_ellipses > 1 || n_letters > operand->rank || (n_ellipses == 0 && n_letters != operand->rank)) {
            return mdf_call_error(call, MDF_SHAPE, "term %zu of '%s' has %zu letters, but the input has rank %u", term + 1,
                                  equation, n_letters, operand->rank);
        }
        if (operand->rank - n_letters > einsum->n_ellipsis) {
            einsum->n_ellipsis = operand->rank - n_letters;
        }
        if (term + 1 < einsum->n_terms && *text++ != ',') {
            return mdf_call_error(call, MDF_VALUE, "'%s' has fewer terms than the %zu inputs", equation, einsum->n_terms);
        }
    }
    if (*text == ',') {
        return mdf_call_error(call, MDF_VALUE, "'%s' has more terms than the %zu inputs", equation, einsum->n_terms);
    }
    return true;
}

/* An axis of a term has this label: the label's size becomes, and the stride of the term's label is raised. */
static bool add_axis(struct mdf_call *call, struct mdf_einsum *einsum, size_t term, size_t label, int64_t size, int64_t stride)
{
    int64_t *strides = einsum->term_strides + term * einsum->n_labels;

    if (einsum->sizes[label] != ABSENT && einsum->sizes[label] != size && einsum->sizes[label] != 1 && size != 1) {
        return mdf_call_error(call, MDF_SHAPE, "one label has sizes %lld and %lld (in input %zu)",
                              (long long)einsum->sizes[label], (long long)size, term + 1);
    }
    if (einsum->sizes[label] == ABSENT || einsum->sizes[label] == 1) {
        einsum->sizes[label] = size;
    }
    strides[label] = (strides[label] == ABSENT ? 0 : strides[label]) + (size == 1 ? 0 : stride);
    einsum->last_term[label] = (int64_t)term;
    einsum->counts[label]++;
    return true;
}

/* Labels the axes of one input. *text moves behind its term. */
static bool label_term(struct mdf_call *call, struct mdf_einsum *einsum, size_t term, const char **text)
{
    const struct mdf_value *operand = call->inputs[term];
    const char *start = *text;
    size_t n_letters, n_ellipses, axis = 0;
    int64_t stride = 1;
    int label;

    if (!measure_term(call, &start, &n_letters, &n_ellipses)) {
        return false;
    }
    for (size_t i = 0; i < operand->rank && operand->length > 0; i++) {
        stride *= mdf_value_shape(operand)[i];
    }
    while (next_label(call, text, &label) && label != ABSENT) {
        size_t n_axes = label == N_LETTERS ? operand->rank - n_letters : 1;

        for (size_t i = 0; i < n_axes; i++, axis++) {
            size_t of = label == N_LETTERS ? N_LETTERS + einsum->n_ellipsis - n_axes + i : (size_t)label;
            int64_t size = mdf_value_shape(operand)[axis];

            stride = operand->length > 0 ? stride / size : 0;
            if (!add_axis(call, einsum, term, of, size, stride)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_result_label(struct mdf_call *call, struct mdf_einsum *einsum, size_t label)
{
    if (einsum->last_term[label] == ABSENT || einsum->last_term[label] == (int64_t)einsum->n_terms) {
        return mdf_call_error(call, MDF_VALUE, "a label of the result %s",
                              einsum->last_term[label] == ABSENT ? "is in no term" : "is repeated");
    }
    einsum->last_term[label] = (int64_t)einsum->n_terms;
    einsum->result[einsum->n_result++] = (int64_t)label;
    return true;
}

static bool add_result_ellipsis(struct mdf_call *call, struct mdf_einsum *einsum)
{
    for (size_t i = 0; i < einsum->n_ellipsis; i++) {
        if (!add_result_label(call, einsum, N_LETTERS + i)) {
            return false;
        }
    }
    return true;
}

/* Labels the result: as written, or without an arrow by the rule. */
static bool label_result(struct mdf_call *call, struct mdf_einsum *einsum, const char *text)
{
    bool has_ellipsis = false;
    int label;

    if (*text == '\0') {
        if (!add_result_ellipsis(call, einsum)) {
            return false;
        }
        for (size_t i = 0; i < N_LETTERS; i++) {
            if (einsum->counts[i] == 1 && !add_result_label(call, einsum, i)) {
                return false;
            }
        }
        return true;
    }
    for (text += 2; next_label(call, &text, &label) && label != ABSENT;) {
        if (label == N_LETTERS ? has_ellipsis || !add_result_ellipsis(call, einsum)
                               : !add_result_label(call, einsum, (size_t)label)) {
            return mdf_call_error(call, MDF_VALUE, "the result has two ellipses");
        }
        has_ellipsis = has_ellipsis || label == N_LETTERS;
    }
    if (call->context->error.code == MDF_OK && *text != '\0') {
        return mdf_call_error(call, MDF_VALUE, "the equation goes on behind its result: '%s'", text);
    }
    if (!has_ellipsis && einsum->n_ellipsis > 0) {
        return mdf_call_error(call, MDF_VALUE, "the result lacks the ellipsis, which stands for %zu axes", einsum->n_ellipsis);
    }
    return call->context->error.code == MDF_OK;
}

static void order_labels(struct mdf_einsum *einsum)
{
    size_t n = einsum->n_result;

    memcpy(einsum->order, einsum->result, n * sizeof *einsum->order);
    for (size_t label = 0; label < einsum->n_labels; label++) {
        if (einsum->last_term[label] != (int64_t)einsum->n_terms) {
            einsum->order[n++] = (int64_t)label;
        }
    }
}

/* Whether a label of more than one element is an axis of this term and nothing else. */
static bool is_summed_alone(const struct mdf_einsum *einsum, size_t term, size_t label)
{
    return einsum->counts[label] == 1 && einsum->last_term[label] == (int64_t)term && einsum->sizes[label] > 1;
}

/* The label that goes on within each element of `outer`, both summed in this term alone; ABSENT: none. */
static int64_t find_inner(const struct mdf_einsum *einsum, size_t term, size_t outer)
{
    const int64_t *strides = einsum->term_strides + term * einsum->n_labels;

    for (size_t label = 0; label < einsum->n_labels && is_summed_alone(einsum, term, outer); label++) {
        if (label != outer && is_summed_alone(einsum, term, label) && strides[outer] == einsum->sizes[label] * strides[label]) {
            return (int64_t)label;
        }
    }
    return ABSENT;
}

/* Labels that only one term has, and that lie there as one axis, become one: their sum is that of a row. */
static void join_summed(struct mdf_einsum *einsum, size_t term)
{
    int64_t *strides = einsum->term_strides + term * einsum->n_labels;

    for (size_t outer = 0; outer < einsum->n_labels; outer++) {
        for (int64_t inner = find_inner(einsum, term, outer); inner != ABSENT; inner = find_inner(einsum, term, outer)) {
            einsum->sizes[outer] *= einsum->sizes[inner];
            einsum->sizes[inner] = 1;
            strides[outer] = strides[inner];
            strides[inner] = einsum->last_term[inner] = ABSENT;
        }
    }
}

/* Reads the equation and the shapes. */
static bool plan_einsum(struct mdf_workspace *workspace, struct mdf_einsum *einsum)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_einsum_settings *settings = call->settings;
    const char *text = settings->equation;
    size_t n_strides, n_arrays = 18;
    int64_t *room;

    if (!measure_equation(call, text, einsum)) {
        return false;
    }
    einsum->n_labels = N_LETTERS + einsum->n_ellipsis;
    if (!mdf_size_add(einsum->n_terms, n_arrays, &n_strides)) {
        n_strides = SIZE_MAX;
    }
    room = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, n_strides, einsum->n_labels + 1);
    if (room == NULL) {
        return false;
    }
    einsum->sizes = room;
    einsum->last_term = room + einsum->n_labels;
    einsum->counts = room + 2 * einsum->n_labels;
    einsum->result = room + 3 * einsum->n_labels;
    einsum->order = room + 4 * einsum->n_labels;
    einsum->term_strides = room + 5 * einsum->n_labels;
    einsum->spare = einsum->term_strides + einsum->n_terms * einsum->n_labels;
    einsum->n_result = 0;
    for (size_t i = 0; i < (einsum->n_terms + 5) * einsum->n_labels; i++) {
        room[i] = ABSENT;
    }
    for (size_t i = 0; i < einsum->n_labels; i++) {
        einsum->counts[i] = 0;
    }
    for (size_t term = 0; term < einsum->n_terms; term++) {
        if (!label_term(call, einsum, term, &text)) {
            return false;
        }
        text += *text == ',' ? 1 : 0;
    }
    if (!label_result(call, einsum, text)) {
        return false;
    }
    for (size_t term = 0; term < einsum->n_terms; term++) {
        join_summed(einsum, term);
    }
    order_labels(einsum);
    return true;
}

/* ------------------------------------------------------------------ joining terms */

/* Where the labels that two operands have in common, or not, go in their product. */
enum role { ROLE_NONE, ROLE_BATCH, ROLE_ROW, ROLE_COLUMN, ROLE_SUM };

/* The role of a label when term number `next` joins the product of those before it. */
static enum role role_of(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *left,
                         const struct mdf_einsum_operand *right, size_t next, size_t label)
{
    bool in_left = left->strides[label] != ABSENT, in_right = right->strides[label] != ABSENT;

    if (einsum->last_term[label] > (int64_t)next) {
        return in_left && in_right ? ROLE_BATCH : in_left ? ROLE_ROW : in_right ? ROLE_COLUMN : ROLE_NONE;
    }
    return in_left && in_right ? ROLE_SUM : ROLE_NONE;
}

static void add_label(const struct mdf_einsum *einsum, struct odometer *odometer, const struct mdf_einsum_operand *operand,
                      size_t label)
{
    odometer->sizes[odometer->n_labels] = einsum->sizes[label];
    odometer->strides[odometer->n_labels++] = operand->strides[label];
}

static struct odometer odometer_in(const struct mdf_einsum *einsum, int64_t *room)
{
    struct odometer odometer = {0, room, room + einsum->n_labels, room + 2 * einsum->n_labels, room + 3 * einsum->n_labels};

    return odometer;
}

/* Whether the labels in `order` are all that an operand has, and its elements lie in this order. */
static bool lies_in_order(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *operand, const int64_t *order,
                          size_t n_order)
{
    size_t n_own = 0, n_ordered = 0;
    int64_t stride = 1;

    for (size_t i = n_order; i-- > 0;) {
        int64_t size = einsum->sizes[order[i]];

        if (size != 1 && operand->strides[order[i]] != stride) {
            return false;
        }
        n_ordered += operand->strides[order[i]] != ABSENT;
        stride *= size;
    }
    for (size_t label = 0; label < einsum->n_labels; label++) {
        n_own += operand->strides[label] != ABSENT;
    }
    return n_own == n_ordered;
}

static void gather(mdf_dtype dtype, const struct gathering *job, void *target)
{
    if (dtype == MDF_DTYPE_FLOAT32) {
        gather_float32(job, target);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        gather_float64(job, target);
    } else if (mdf_dtype_size(dtype) == sizeof(uint32_t)) {
        gather_integer32(job, target);
    } else {
        gather_integer64(job, target);
    }
}

/* An operand laid out in parts, each of which has some indices of the first label that is kept, and odometers of its own. */
struct parts {
    const struct gathering *job;
    mdf_dtype dtype;
    char *target;
    size_t n, n_inner, n_labels; /* parts; elements of the result for each index */
    int64_t *room;               /* of odometers */
};

/* Rough time of an element that is met, to judge what is worth a thread. */
static const double meet_ns = 0.1;

enum { PARTS_PER_THREAD = 8 };

static void gather_parts(void *context, size_t first, size_t last)
{
    const struct parts *parts = context;
    size_t n_first = (size_t)parts->job->kept.sizes[0], size = mdf_dtype_size(parts->dtype);

    for (size_t part = first; part < last; part++) {
        struct gathering job = *parts->job;
        int64_t *room = parts->room + part * 2 * (parts->n_labels + 1), stride = job.kept.strides[0];

        job.kept = (struct odometer){job.kept.n_labels - 1, job.kept.sizes + 1, job.kept.strides + 1, room + 1, room};
        job.summed.offset = room + parts->n_labels + 1;
        job.summed.index = job.summed.offset + 1;
        for (size_t i = part * n_first / parts->n; i < (part + 1) * n_first / parts->n; i++) {
            job.elements = (const char *)parts->job->elements + (int64_t)i * stride * (int64_t)size;
            gather(parts->dtype, &job, parts->target + i * parts->n_inner * size);
        }
    }
}

/* Into `target`, of `n_elements`; by several threads where there is more than one label to keep. False with the error set. */
static bool gather_all(const struct mdf_einsum *einsum, const struct gathering *job, size_t n_elements, void *target)
{
    const struct mdf_context *context = einsum->workspace->call->context;
    struct parts parts = {.job = job, .dtype = einsum->workspace->dtype, .target = target, .n_labels = einsum->n_labels};
    size_t most = context->n_threads > 1 ? (size_t)context->n_threads * PARTS_PER_THREAD : 1;
    double cost_ns = meet_ns * (double)n_elements;

    if (most == 1 || job->kept.n_labels < 2) {
        gather(parts.dtype, job, target);
        return true;
    }
    parts.n = (size_t)job->kept.sizes[0] < most ? (size_t)job->kept.sizes[0] : most;
    parts.n_inner = n_elements / (size_t)job->kept.sizes[0];
    parts.room = mdf_workspace_matrix(einsum->workspace, MDF_DTYPE_INT64, parts.n, 2 * (einsum->n_labels + 1));
    for (size_t i = 0; i < job->summed.n_labels; i++) {
        cost_ns *= (double)job->summed.sizes[i];
    }
    return parts.room != NULL && mdf_parallel_for(context, parts.n, cost_ns / (double)parts.n, gather_parts, &parts);
}

/* Lays an operand out by the labels in `order`, summed over its others. `target` NULL: where that is needed, into an array
 * of the workspace. The elements, or NULL with the error set. */
static const void *lay_out(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *operand, const int64_t *order,
                           size_t n_order, void *target)
{
    struct gathering job = {operand->elements, odometer_in(einsum, einsum->spare),
                            odometer_in(einsum, einsum->spare + 5 * einsum->n_labels)};
    mdf_dtype dtype = einsum->workspace->dtype;
    size_t n_elements = 0;
    bool is_empty = false;

    for (size_t i = 0; i < n_order; i++) {
        add_label(einsum, &job.kept, operand, (size_t)order[i]);
    }
    for (size_t label = 0; label < einsum->n_labels; label++) {
        bool is_kept = operand->strides[label] == ABSENT;

        for (size_t i = 0; i < n_order; i++) {
            is_kept = is_kept || order[i] == (int64_t)label;
        }
        if (!is_kept && einsum->sizes[label] != 1) {
            add_label(einsum, &job.summed, operand, label);
            is_empty = is_empty || einsum->sizes[label] == 0;
        }
    }
    if (!mdf_workspace_product(einsum->workspace->call, job.kept.sizes, 0, n_order, &n_elements)) {
        return NULL;
    }
    if (target == NULL && n_elements > 0 && lies_in_order(einsum, operand, order, n_order)) {
        return operand->elements;
    }
    if (target == NULL) {
        target = mdf_workspace_array(einsum->workspace, dtype, n_elements);
    }
    if (target == NULL || n_elements == 0) {
        return target;
    }
    if (is_empty) {
        memset(target, 0, n_elements * mdf_dtype_size(dtype));
    } else if (!gather_all(einsum, &job, n_elements, target)) {
        return NULL;
    }
    return target;
}

/* Labels of a role, behind those in `order`: as the result has them, which then is often written at once. *product becomes the
 * product of their sizes. */
static bool collect(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *left,
                    const struct mdf_einsum_operand *right, size_t next, enum role role, int64_t *order, size_t *n_order,
                    size_t *product)
{
    bool fits = true, is_empty = false;

    *product = 1;
    for (size_t i = 0; i < einsum->n_labels; i++) {
        size_t label = (size_t)einsum->order[i];

        if (role_of(einsum, left, right, next, label) == role) {
            order[(*n_order)++] = (int64_t)label;
            is_empty = is_empty || einsum->sizes[label] == 0;
            fits = fits && mdf_size_multiply(*product, (size_t)einsum->sizes[label], product);
        }
    }
    *product = is_empty ? 0 : *product;
    return fits || is_empty || mdf_call_error(einsum->workspace->call, MDF_LIMIT, "a product has more elements than any memory");
}

struct batches {
    const char *a, *b;
    char *c;
    size_t size_bytes;
};

static void locate(const void *context, size_t batch, struct mdf_product *product)
{
    const struct batches *batches = context;

    product->a = batches->a + batch * product->m * product->k * batches->size_bytes;
    product->b = batches->b + batch * product->k * product->n * batches->size_bytes;
    product->c = batches->c + batch * product->m * product->n * batches->size_bytes;
}

/* Finds out how an operand lies, or is laid out, as matrices, one a batch, of `rows` by `columns`. */
static void find_steps(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *operand, struct mdf_einsum_order *order,
                       size_t rows, size_t columns, int64_t *row_step, int64_t *column_step)
{
    int64_t *turned = einsum->spare + 12 * einsum->n_labels;
    size_t n_columns = order->n - order->first_column, n_rows = order->first_column - order->first_row;

    memcpy(turned, order->labels, order->first_row * sizeof *turned);
    memcpy(turned + order->first_row, order->labels + order->first_column, n_columns * sizeof *turned);
    memcpy(turned + order->first_row + n_columns, order->labels + order->first_row, n_rows * sizeof *turned);
    order->lies_turned =
        !lies_in_order(einsum, operand, order->labels, order->n) && lies_in_order(einsum, operand, turned, order->n);
    *row_step = order->lies_turned ? 1 : (int64_t)columns;
    *column_step = order->lies_turned ? (int64_t)rows : 1;
}

static const void *lay_out_matrices(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *operand,
                                    const struct mdf_einsum_order *order)
{
    return order->lies_turned ? operand->elements : lay_out(einsum, operand, order->labels, order->n, NULL);
}

/* The labels of a product, in `order`: batches, rows, columns. Where these are the result's, it is written at once; else into an
 * array of the workspace. NULL with the error set. */
static void *place_product(const struct mdf_einsum *einsum, const int64_t *order, size_t n_order, bool is_last, size_t n_batches,
                           const struct mdf_product *product)
{
    size_t n;

    if (is_last && n_order == einsum->n_result && memcmp(order, einsum->result, n_order * sizeof *order) == 0) {
        return einsum->target;
    }
    if (!mdf_size_multiply(product->m, product->n, &n)) {
        mdf_call_error(einsum->workspace->call, MDF_LIMIT, "a product has more elements than any memory");
        return NULL;
    }
    return mdf_workspace_matrix(einsum->workspace, product->dtype, n_batches, n);
}

/* `operand` becomes a product, whose labels are in `order`. */
static void become_product(const struct mdf_einsum *einsum, struct mdf_einsum_operand *operand, const int64_t *order,
                           size_t n_order, const void *elements, bool is_empty)
{
    int64_t stride = 1;

    for (size_t label = 0; label < einsum->n_labels; label++) {
        operand->strides[label] = ABSENT;
    }
    for (size_t i = n_order; i-- > 0;) {
        operand->strides[order[i]] = is_empty ? 0 : stride;
        stride *= is_empty ? 1 : einsum->sizes[order[i]];
    }
    operand->elements = elements;
}

bool mdf_einsum_join(const struct mdf_einsum *einsum, const struct mdf_einsum_operand *left,
                     const struct mdf_einsum_operand *right, size_t next, struct mdf_einsum_order *a, struct mdf_einsum_order *b,
                     size_t *n_batches, struct mdf_product *product)
{
    size_t unused;

    *product = (struct mdf_product){.dtype = einsum->workspace->dtype, .alpha = 1};
    a->n = b->n = 0;
    if (!collect(einsum, left, right, next, ROLE_BATCH, a->labels, &a->n, n_batches) ||
        !collect(einsum, left, right, next, ROLE_BATCH, b->labels, &b->n, &unused)) {
        return false;
    }
    a->first_row = b->first_row = a->n;
    if (!collect(einsum, left, right, next, ROLE_ROW, a->labels, &a->n, &product->m) ||
        !collect(einsum, left, right, next, ROLE_SUM, b->labels, &b->n, &unused)) {
        return false;
    }
    a->first_column = a->n;
    b->first_column = b->n;
    if (!collect(einsum, left, right, next, ROLE_SUM, a->labels, &a->n, &product->k) ||
        !collect(einsum, left, right, next, ROLE_COLUMN, b->labels, &b->n, &product->n)) {
        return false;
    }
    find_steps(einsum, left, a, product->m, product->k, &product->a_row, &product->a_column);
    find_steps(einsum, right, b, product->k, product->n, &product->b_row, &product->b_column);
    product->c_row = (int64_t)product->n;
    return true;
}

/* `left` becomes its product with term number `next`. */
static bool join(const struct mdf_einsum *einsum, struct mdf_einsum_operand *left, const struct mdf_einsum_operand *right,
                 size_t next)
{
    struct mdf_product product;
    struct mdf_einsum_order a = {.labels = einsum->spare + 10 * einsum->n_labels}, b = {.labels = a.labels + einsum->n_labels};
    struct mdf_value *scratch = mdf_workspace_value(einsum->workspace);
    struct batches batches = {.size_bytes = mdf_dtype_size(einsum->workspace->dtype)};
    size_t n_batches, unused, n_order = 0;
    bool is_empty;

    if (scratch == NULL || !mdf_einsum_join(einsum, left, right, next, &a, &b, &n_batches, &product)) {
        return false;
    }
    batches.a = lay_out_matrices(einsum, left, &a);
    batches.b = batches.a == NULL ? NULL : lay_out_matrices(einsum, right, &b);
    if (batches.b == NULL || !collect(einsum, left, right, next, ROLE_BATCH, a.labels, &n_order, &unused) ||
        !collect(einsum, left, right, next, ROLE_ROW, a.labels, &n_order, &unused) ||
        !collect(einsum, left, right, next, ROLE_COLUMN, a.labels, &n_order, &unused)) {
        return false;
    }
    batches.c = place_product(einsum, a.labels, n_order, next + 1 == einsum->n_terms, n_batches, &product);
    is_empty = n_batches == 0 || product.m == 0 || product.n == 0;
    if (batches.c == NULL ||
        (!is_empty && !mdf_multiply_batch(einsum->workspace->call, scratch, &product, n_batches, locate, &batches))) {
        return false;
    }
    become_product(einsum, left, a.labels, n_order, batches.c, is_empty);
    return true;
}

/* The array that the result is written to, in the workspace's type; NULL with the error set. */
static void *make_result(struct mdf_workspace *workspace, const struct mdf_einsum *einsum)
{
    int64_t *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, einsum->n_result);

    for (size_t i = 0; i < einsum->n_result && shape != NULL; i++) {
        shape[i] = einsum->sizes[einsum->result[i]];
    }
    return shape == NULL
               ? NULL
               : mdf_workspace_output(workspace, 0, (mdf_dtype)workspace->call->inputs[0]->dtype, einsum->n_result, shape);
}

bool mdf_einsum_begin(struct mdf_workspace *workspace, struct mdf_call *call, struct mdf_einsum *einsum)
{
    const struct mdf_einsum_settings *settings = call->settings;
    size_t n_slots;

    *einsum = (struct mdf_einsum){.workspace = workspace, .n_terms = call->n_inputs};
    if (settings->equation == NULL || call->n_inputs == 0 || mdf_call_tensor(call, 0) == NULL) {
        return mdf_call_error(call, MDF_VALUE, "an equation and at least one input are needed");
    }
    return mdf_size_multiply(call->n_inputs, 8, &n_slots) &&
           mdf_workspace_begin(workspace, call, mdf_product_dtype((mdf_dtype)call->inputs[0]->dtype), n_slots + 4) &&
           plan_einsum(workspace, einsum);
}

bool mdf_einsum(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct mdf_einsum_operand left, right;
    struct mdf_einsum plan;

    if (!mdf_einsum_begin(&workspace, call, &plan)) {
        return false;
    }
    plan.target = make_result(&workspace, &plan);
    if (plan.target == NULL) {
        return false;
    }
    left = (struct mdf_einsum_operand){mdf_workspace_input(&workspace, 0), plan.term_strides};
    for (size_t next = 1; next < plan.n_terms && left.elements != NULL; next++) {
        right = (struct mdf_einsum_operand){mdf_workspace_input(&workspace, next), plan.term_strides + next * plan.n_labels};
        if (right.elements == NULL || !join(&plan, &left, &right, next)) {
            return false;
        }
    }
    if (left.elements == NULL ||
        (left.elements != plan.target && lay_out(&plan, &left, plan.result, plan.n_result, plan.target) == NULL)) {
        return false;
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ what derivatives are made of */

enum { MOST_TERMS = MDF_EINSUM_MOST_TERMS, EQUATION_SIZE = 1024 };

/* Where term number `term` of an equation is; behind the last one, what it yields. */
static const char *find_term(const char *equation, size_t term, size_t *length)
{
    for (; term > 0 && equation[strcspn(equation, ",-")] == ','; term--) {
        equation += strcspn(equation, ",-") + 1;
    }
    *length = strcspn(equation, ",-");
    return equation;
}

/* Whether a letter stands in a text more than once. */
static bool repeats(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (letter_label(text[i]) != ABSENT && memchr(text + i + 1, text[i], n - i - 1) != NULL) {
            return true;
        }
    }
    return false;
}

/* What an equation yields, as written or by the rule. */
static void write_result(const char *equation, char result[EQUATION_SIZE])
{
    const char *arrow = strstr(equation, "->"), letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = 0;

    if (arrow != NULL) {
        snprintf(result, EQUATION_SIZE, "%s", arrow + 2);
        return;
    }
    n = (size_t)snprintf(result, EQUATION_SIZE, "%s", strstr(equation, "...") != NULL ? "..." : "");
    for (const char *letter = letters; *letter != '\0'; letter++) {
        const char *first = strchr(equation, *letter);

        if (first != NULL && strchr(first + 1, *letter) == NULL) {
            result[n++] = *letter;
        }
    }
    result[n] = '\0';
}

/* The equation of what goes back to a term: of the result's gradient, the other terms, and ones in the term's shape, which has it
 * repeat along axes that only the term has. */
static bool write_back(struct mdf_call *call, const char *equation, size_t n_terms, size_t term, char back[EQUATION_SIZE])
{
    char result[EQUATION_SIZE];
    size_t length, used;
    const char *own = find_term(equation, term, &length);

    if (strlen(equation) > EQUATION_SIZE / 4 || repeats(own, length)) {
        return mdf_call_error(call, MDF_UNSUPPORTED, "there is no derivative by a term of '%s' that repeats a letter", equation);
    }
    write_result(equation, result);
    used = (size_t)snprintf(back, EQUATION_SIZE, "%s", result);
    for (size_t i = 0; i < n_terms; i++) {
        size_t n;
        const char *other = find_term(equation, i, &n);

        used += i != term ? (size_t)snprintf(back + used, EQUATION_SIZE - used, ",%.*s", (int)n, other) : 0;
    }
    snprintf(back + used, EQUATION_SIZE - used, ",%.*s->%.*s", (int)length, own, (int)length, own);
    return true;
}

bool mdf_einsum_back(struct mdf_call *call)
{
    const struct mdf_einsum_settings *settings = call->settings;
    const struct mdf_value *inputs[MOST_TERMS + 2];
    struct mdf_call again = *call;
    struct mdf_einsum_settings changed;
    char back[EQUATION_SIZE];
    const int64_t *given;
    int64_t term;
    size_t n = 0, n_terms = 0, n_items;

    given = mdf_call_integers(call, MOST_TERMS + 2, 1, &n_items);
    if (given == NULL || n_items != 1 || mdf_call_tensor(call, 0) == NULL) {
        return false;
    }
    term = *given;
    inputs[n++] = call->inputs[0];
    for (size_t i = 0; i < MOST_TERMS && mdf_call_input(call, i + 1) != NULL; i++, n_terms++) {
        if ((int64_t)i != term) {
            inputs[n++] = call->inputs[i + 1];
        }
    }
    inputs[n++] = call->inputs[MOST_TERMS + 1];
    if (!write_back(call, settings->equation, n_terms, (size_t)term, back)) {
        return false;
    }
    changed.equation = back;
    again.settings = &changed;
    again.inputs = inputs;
    again.n_inputs = n;
    return mdf_einsum(&again);
}

static const struct mdf_operator back = {
    "Einsum.back", 0, 0, mdf_einsum_back, mdf_einsum_settings, sizeof(struct mdf_einsum_settings), MDF_OPERATOR_KEEPS_INPUTS,
    NULL};

#define BACK(i)                                                             \
    {                                                                       \
        i, "places(dy, x0, x1, x2, x3, x4, x5, numpy.ones_like(x), " #i ")" \
    }

const struct mdf_derivative mdf_einsum_derivatives[] = {
    BACK(0), BACK(1), BACK(2), BACK(3), BACK(4), BACK(5), {MDF_DERIVATIVE_END, NULL}};

const struct mdf_operator mdf_operators_einsum[] = {
    {"Einsum", 12, 99, mdf_einsum, mdf_einsum_settings, sizeof(struct mdf_einsum_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = &(const struct mdf_meaning){.helper = &back}, .derivatives = mdf_einsum_derivatives, .form = MDF_FORM_EINSUM,
     .infer = &mdf_rule_einsum},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
