/* einsum.c - Einsum: sums of products by Einstein's convention.
 *
 * Comes in: arrays, and an equation "ij,...jk->...ik": a label for each axis, the labels of the result or, without an arrow,
 * those that occur once, in alphabetical order after the axes of the ellipsis. Goes out: the products summed over all other
 * labels. A repeated label in one term takes the diagonal; an axis of size 1 repeats. Terms are joined from left to right, each
 * time as a batch of matrix products: what is summed and occurs in neither later terms nor the result is summed right away.
 * Source: ONNX Einsum, all versions. */
#include "functions/gemm.h"
#include "functions/workspace.h"

#include <string.h>

struct einsum_settings {
    const char *equation;
};

static const struct mdf_setting einsum_table[] = {{"equation", MDF_SETTING_STRING, offsetof(struct einsum_settings, equation)},
                                                  {NULL, MDF_SETTING_INT, 0}};

/* Labels are numbered: A to Z, a to z, then the axes of the ellipsis from left to right. */
enum { N_LETTERS = 52, ABSENT = -1 };

/* Counts through the indices of some labels. offset[0] is the sum of index times stride. */
struct odometer {
    size_t n_labels;
    int64_t *sizes, *strides, *index, *offset;
};

struct gathering {
    const void *elements;
    struct odometer kept, summed;
};

/* An array with labelled axes. */
struct operand {
    const void *elements;
    int64_t *strides; /* of each label; ABSENT where it has none */
};

struct einsum {
    struct mdf_workspace *workspace;
    size_t n_terms, n_labels, n_ellipsis;
    int64_t *sizes;        /* of each label */
    int64_t *last_term;    /* of each label: the last that has it; n_terms: the result has it */
    int64_t *counts;       /* of each label: axes that have it, in all terms */
    int64_t *term_strides; /* [n_terms][n_labels] */
    int64_t *result;       /* the result's labels in order */
    size_t n_result;
    int64_t *spare; /* for two odometers, and labels in order */
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

#define ELEMENT float
#define ACCUMULATOR double
#define NAME(x) x##_float32
#include "functions/onnx/einsum_gather.inc"
#define ELEMENT double
#define ACCUMULATOR double
#define NAME(x) x##_float64
#include "functions/onnx/einsum_gather.inc"
#define ELEMENT uint64_t
#define ACCUMULATOR uint64_t
#define NAME(x) x##_integer
#include "functions/onnx/einsum_gather.inc"

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
static bool measure_equation(struct mdf_call *call, const char *equation, struct einsum *einsum)
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
static bool add_axis(struct mdf_call *call, struct einsum *einsum, size_t term, size_t label, int64_t size, int64_t stride)
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
static bool label_term(struct mdf_call *call, struct einsum *einsum, size_t term, const char **text)
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

static bool add_result_label(struct mdf_call *call, struct einsum *einsum, size_t label)
{
    if (einsum->last_term[label] == ABSENT || einsum->last_term[label] == (int64_t)einsum->n_terms) {
        return mdf_call_error(call, MDF_VALUE, "a label of the result %s",
                              einsum->last_term[label] == ABSENT ? "is in no term" : "is repeated");
    }
    einsum->last_term[label] = (int64_t)einsum->n_terms;
    einsum->result[einsum->n_result++] = (int64_t)label;
    return true;
}

static bool add_result_ellipsis(struct mdf_call *call, struct einsum *einsum)
{
    for (size_t i = 0; i < einsum->n_ellipsis; i++) {
        if (!add_result_label(call, einsum, N_LETTERS + i)) {
            return false;
        }
    }
    return true;
}

/* Labels the result: as written, or without an arrow by the rule. */
static bool label_result(struct mdf_call *call, struct einsum *einsum, const char *text)
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

/* Reads the equation and the shapes. */
static bool plan_einsum(struct mdf_workspace *workspace, struct einsum *einsum)
{
    struct mdf_call *call = workspace->call;
    const struct einsum_settings *settings = call->settings;
    const char *text = settings->equation;
    size_t n_strides, n_arrays = 16;
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
    einsum->term_strides = room + 4 * einsum->n_labels;
    einsum->spare = einsum->term_strides + einsum->n_terms * einsum->n_labels;
    einsum->n_result = 0;
    for (size_t i = 0; i < (einsum->n_terms + 4) * einsum->n_labels; i++) {
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
    return label_result(call, einsum, text);
}

/* ------------------------------------------------------------------ joining terms */

/* Where the labels that two operands have in common, or not, go in their product. */
enum role { ROLE_NONE, ROLE_BATCH, ROLE_ROW, ROLE_COLUMN, ROLE_SUM };

/* The role of a label when term number `next` joins the product of those before it. */
static enum role role_of(const struct einsum *einsum, const struct operand *left, const struct operand *right, size_t next,
                         size_t label)
{
    bool in_left = left->strides[label] != ABSENT, in_right = right->strides[label] != ABSENT;

    if (einsum->last_term[label] > (int64_t)next) {
        return in_left && in_right ? ROLE_BATCH : in_left ? ROLE_ROW : in_right ? ROLE_COLUMN : ROLE_NONE;
    }
    return in_left && in_right ? ROLE_SUM : ROLE_NONE;
}

static void add_label(const struct einsum *einsum, struct odometer *odometer, const struct operand *operand, size_t label)
{
    odometer->sizes[odometer->n_labels] = einsum->sizes[label];
    odometer->strides[odometer->n_labels++] = operand->strides[label];
}

static struct odometer odometer_in(const struct einsum *einsum, int64_t *room)
{
    struct odometer odometer = {0, room, room + einsum->n_labels, room + 2 * einsum->n_labels, room + 3 * einsum->n_labels};

    return odometer;
}

/* Whether the kept labels, in order, are the elements as they lie. */
static bool is_in_place(const struct gathering *job)
{
    int64_t stride = 1;

    for (size_t i = job->kept.n_labels; i-- > 0;) {
        if (job->kept.sizes[i] != 1 && job->kept.strides[i] != stride) {
            return false;
        }
        stride *= job->kept.sizes[i];
    }
    return job->summed.n_labels == 0;
}

/* Lays an operand out by the labels in `order`, summed over its others. `target` NULL: where that is needed, into an array
 * of the workspace. The elements, or NULL with the error set. */
static const void *lay_out(const struct einsum *einsum, const struct operand *operand, const int64_t *order, size_t n_order,
                           void *target)
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
        if (!is_kept) {
            add_label(einsum, &job.summed, operand, label);
            is_empty = is_empty || einsum->sizes[label] == 0;
        }
    }
    if (!mdf_workspace_product(einsum->workspace->call, job.kept.sizes, 0, n_order, &n_elements)) {
        return NULL;
    }
    if (target == NULL && n_elements > 0 && !is_empty && is_in_place(&job)) {
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
    } else if (dtype == MDF_DTYPE_FLOAT32) {
        gather_float32(&job, target);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        gather_float64(&job, target);
    } else {
        gather_integer(&job, target);
    }
    return target;
}

/* Labels of a role, behind those in `order`; *product becomes the product of their sizes. */
static bool collect(const struct einsum *einsum, const struct operand *left, const struct operand *right, size_t next,
                    enum role role, int64_t *order, size_t *n_order, size_t *product)
{
    bool fits = true, is_empty = false;

    *product = 1;
    for (size_t label = 0; label < einsum->n_labels; label++) {
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

/* Multiplies operands that are laid out as [batch, m, k] and [batch, k, n]. */
static bool multiply_operands(const struct einsum *einsum, struct mdf_product *product, size_t n_batches, struct batches *batches)
{
    struct mdf_value *scratch = mdf_workspace_value(einsum->workspace);
    size_t n;

    if (!mdf_size_multiply(product->m, product->n, &n) || scratch == NULL) {
        return scratch != NULL &&
               mdf_call_error(einsum->workspace->call, MDF_LIMIT, "a product has more elements than any memory");
    }
    batches->c = mdf_workspace_matrix(einsum->workspace, product->dtype, n_batches, n);
    batches->size_bytes = mdf_dtype_size(product->dtype);
    product->a_column = product->b_column = 1;
    product->a_row = (int64_t)product->k;
    product->b_row = product->c_row = (int64_t)product->n;
    product->alpha = 1;
    return batches->c != NULL && (n_batches == 0 || n == 0 ||
                                  mdf_multiply_batch(einsum->workspace->call, scratch, product, n_batches, locate, batches));
}

/* `left` becomes its product with term number `next`. */
static bool join(const struct einsum *einsum, struct operand *left, const struct operand *right, size_t next)
{
    struct mdf_product product = {.dtype = einsum->workspace->dtype};
    int64_t *order = einsum->spare + 10 * einsum->n_labels, *right_order = order + einsum->n_labels, stride = 1;
    size_t n_order = 0, n_right = 0, n_batches, unused;
    struct batches batches;

    if (!collect(einsum, left, right, next, ROLE_BATCH, order, &n_order, &n_batches) ||
        !collect(einsum, left, right, next, ROLE_ROW, order, &n_order, &product.m) ||
        !collect(einsum, left, right, next, ROLE_SUM, order, &n_order, &product.k) ||
        !collect(einsum, left, right, next, ROLE_BATCH, right_order, &n_right, &unused) ||
        !collect(einsum, left, right, next, ROLE_SUM, right_order, &n_right, &unused) ||
        !collect(einsum, left, right, next, ROLE_COLUMN, right_order, &n_right, &product.n)) {
        return false;
    }
    batches.a = lay_out(einsum, left, order, n_order, NULL);
    batches.b = batches.a == NULL ? NULL : lay_out(einsum, right, right_order, n_right, NULL);
    if (batches.b == NULL || !multiply_operands(einsum, &product, n_batches, &batches)) {
        return false;
    }
    n_order = 0;
    if (!collect(einsum, left, right, next, ROLE_BATCH, order, &n_order, &unused) ||
        !collect(einsum, left, right, next, ROLE_ROW, order, &n_order, &unused) ||
        !collect(einsum, left, right, next, ROLE_COLUMN, order, &n_order, &unused)) {
        return false;
    }
    for (size_t label = 0; label < einsum->n_labels; label++) {
        left->strides[label] = ABSENT;
    }
    for (size_t i = n_order; i-- > 0 && n_batches * product.m * product.n > 0;) {
        left->strides[order[i]] = stride;
        stride *= einsum->sizes[order[i]];
    }
    for (size_t i = 0; i < n_order && n_batches * product.m * product.n == 0; i++) {
        left->strides[order[i]] = 0;
    }
    left->elements = batches.c;
    return true;
}

static bool einsum(struct mdf_call *call)
{
    struct einsum plan = {.n_terms = call->n_inputs};
    const struct einsum_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct operand left, right;
    int64_t *shape;
    void *target;
    size_t n_slots;

    if (settings->equation == NULL || call->n_inputs == 0 || mdf_call_tensor(call, 0) == NULL) {
        return mdf_call_error(call, MDF_VALUE, "an equation and at least one input are needed");
    }
    if (!mdf_size_multiply(call->n_inputs, 6, &n_slots) ||
        !mdf_workspace_begin(&workspace, call, mdf_product_dtype((mdf_dtype)call->inputs[0]->dtype), n_slots + 4)) {
        return false;
    }
    plan.workspace = &workspace;
    if (!plan_einsum(&workspace, &plan)) {
        return false;
    }
    left = (struct operand){mdf_workspace_input(&workspace, 0), plan.term_strides};
    for (size_t next = 1; next < plan.n_terms && left.elements != NULL; next++) {
        right = (struct operand){mdf_workspace_input(&workspace, next), plan.term_strides + next * plan.n_labels};
        if (right.elements == NULL || !join(&plan, &left, &right, next)) {
            return false;
        }
    }
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, plan.n_result);
    if (left.elements == NULL || shape == NULL) {
        return false;
    }
    for (size_t i = 0; i < plan.n_result; i++) {
        shape[i] = plan.sizes[plan.result[i]];
    }
    target = mdf_workspace_output(&workspace, 0, (mdf_dtype)call->inputs[0]->dtype, plan.n_result, shape);
    return target != NULL && lay_out(&plan, &left, plan.result, plan.n_result, target) != NULL && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_einsum[] = {
    {"Einsum", 12, 99, einsum, einsum_table, sizeof(struct einsum_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
