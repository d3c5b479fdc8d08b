/* svm.c - support vector machines: SVMClassifier, SVMRegressor.
 *
 * Comes in: rows of features; support vectors, coefficients and a kernel as attributes (or, without support vectors, coefficients
 * of the features). Goes out: sums of kernels; of the classifier the votes of all pairs of classes give a label, and scores are
 * those of the pairs, or with prob_a and prob_b probabilities. Computed in float32 as ONNX Runtime does: a scalar product feature
 * after feature, each step rounded once; only the sums of kernels of a pair of classes are float64 ones. Sources: ONNX
 * ai.onnx.ml, version 1 of each; Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise coupling
 * (2004). */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/onnx_ml/scores.h"
#include "functions/onnx_ml/svm_steps.h"
#include "functions/onnx_ml/svm_sums.h"
#include "functions/products/lines.h"
#include "mdf_c/base/text.h"

#include <math.h>
#include <string.h>

struct svm_settings {
    struct mdf_floats coefficients, kernel_params, prob_a, prob_b, rho, support_vectors;
    struct mdf_ints vectors_per_class;
    struct mdf_labels labels;
    const char *kernel_type, *post_transform;
    int64_t n_supports, one_class;
};

#define SETTING(name, type, field)                                     \
    {                                                                  \
        name, MDF_SETTING_##type, offsetof(struct svm_settings, field) \
    }
#define SHARED                                                                                          \
    SETTING("coefficients", FLOATS, coefficients), SETTING("kernel_params", FLOATS, kernel_params),     \
        SETTING("kernel_type", STRING, kernel_type), SETTING("post_transform", STRING, post_transform), \
        SETTING("rho", FLOATS, rho), SETTING("support_vectors", FLOATS, support_vectors)
static const struct mdf_setting regressor_table[] = {
    SHARED, SETTING("n_supports", INT, n_supports), SETTING("one_class", INT, one_class), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting classifier_table[] = {SHARED,
                                                      SETTING("prob_a", FLOATS, prob_a),
                                                      SETTING("prob_b", FLOATS, prob_b),
                                                      SETTING("vectors_per_class", INTS, vectors_per_class),
                                                      SETTING("classlabels_ints", INTS, labels.integers),
                                                      SETTING("classlabels_strings", STRINGS, labels.strings),
                                                      {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { N_SLOTS = 12, MOST_CLASSES = 1 << 15, VECTORS_PER_LOOK = 8 * MDF_SVM_BLOCK, FEW_VECTORS = 8, ROWS_TOGETHER = 8 };
enum kernel { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID };

/* A machine and the row that it is given. */
struct machine {
    const struct mdf_context *context;
    const struct svm_settings *settings;
    const double *x;
    double *y;
    enum kernel kernel;
    size_t n_rows, n_features, n_vectors, n_classes, n_sums;
    double gamma, offset, degree;
    const float *blocks; /* the vectors as svm_sums.h has them; NULL: they are taken as they lie */
    double *kernels;     /* of the row with each vector */
    double *sums;        /* of pairs of classes; or of classes, where there are no vectors */
    double *votes;
    double *coupling; /* room for three square matrices' worth of probabilities */
};

static double number_at(const struct mdf_floats *numbers, size_t i)
{
    return mdf_number_at(numbers->items, (int64_t)numbers->n, (int64_t)i);
}

static bool read_kernel(struct mdf_call *call, struct machine *machine)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const struct svm_settings *settings = call->settings;
    size_t i = MDF_FIND_WORD(settings->kernel_type, names);

    machine->context = call->context;
    machine->settings = settings;
    machine->gamma = number_at(&settings->kernel_params, 0);
    machine->offset = number_at(&settings->kernel_params, 1);
    machine->degree = number_at(&settings->kernel_params, 2);
    machine->kernel = (enum kernel)i;
    return i != SIZE_MAX || mdf_call_error(call, MDF_VALUE, "there is no kernel_type '%.100s'", settings->kernel_type);
}

/* Lays the vectors out, for this run and those after it. False with the error set. */
static bool lay_out(struct mdf_workspace *workspace, struct machine *machine)
{
    struct mdf_value *kept = mdf_workspace_value(workspace);
    size_t n_blocks = mdf_svm_count_blocks(machine->n_vectors), n_bytes;
    struct mdf_lines_source source;
    bool is_there, *fits;
    char *bytes;

    if (kept == NULL) {
        return false;
    }
    if (machine->n_vectors < FEW_VECTORS || mdf_svm_block_sums_for(false) == NULL ||
        !mdf_lines_count(n_blocks * MDF_SVM_BLOCK, machine->n_features, sizeof(float), &n_bytes)) {
        return true;
    }
    memset(&source, 0, sizeof source);
    source.elements = machine->settings->support_vectors.items;
    source.n = machine->n_vectors;
    source.k = machine->n_features;
    bytes = mdf_lines_keep(workspace->call, kept, true, n_bytes + MDF_LINE_BYTES, &source, &is_there);
    if (bytes == NULL) {
        return false;
    }
    fits = (bool *)(void *)(bytes + n_bytes);
    if (!is_there) {
        *fits = mdf_svm_lay_out(machine->n_vectors, machine->n_features, source.elements, (float *)(void *)bytes);
    }
    machine->blocks = *fits ? (const float *)(const void *)bytes : NULL;
    return true;
}

/* What each of a block of kernels is a function of, or the kernel itself; a loop for each kind. */
static void find_arguments(const struct machine *machine, const double *parameters, const double *sums, float *numbers)
{
#define EACH(kind, what)                                            \
    case kind:                                                      \
        for (size_t k = 0; k < MDF_SVM_BLOCK; k++) {                \
            numbers[k] = (float)what(kind, parameters, sums[k], 0); \
        }                                                           \
        break;
    switch (machine->kernel) {
        EACH(KERNEL_LINEAR, mdf_svm_kernel_of)
        EACH(KERNEL_POLY, mdf_svm_kernel_of)
        EACH(KERNEL_RBF, mdf_svm_argument)
        EACH(KERNEL_SIGMOID, mdf_svm_argument)
    }
#undef EACH
}

/* The kernels of a row with `n` vectors that are laid out at `blocks`, at most VECTORS_PER_LOOK. */
static void find_kernels_of_blocks(const struct machine *machine, const double *row, const float *blocks, size_t n, size_t step,
                                   double *kernels)
{
    const double parameters[] = {machine->gamma, machine->offset, machine->degree};
    bool is_distance = machine->kernel == KERNEL_RBF;
    mdf_svm_block_sums add = mdf_svm_block_sums_for(is_distance);
    mdf_loop function =
        mdf_vector_math()->loops[is_distance ? MDF_VECTORS_exponential_FLOAT32 : MDF_VECTORS_tangent_hyperbolic_FLOAT32];
    float numbers[VECTORS_PER_LOOK];
    double sums[MDF_SVM_BLOCK];

    for (size_t first = 0; first < n; first += MDF_SVM_BLOCK) {
        add(machine->n_features, row, blocks + first * machine->n_features, sums);
        find_arguments(machine, parameters, sums, numbers + first);
    }
    if (is_distance || machine->kernel == KERNEL_SIGMOID) {
        function(numbers, (const void *[]){numbers}, (const size_t[]){1}, n, NULL);
    }
    for (size_t k = 0; k < n; k++) {
        kernels[k * step] = (double)numbers[k];
    }
}

/* The kernels of a row with all support vectors, `step` numbers apart. */
static void find_kernels(const struct machine *machine, const double *row, size_t step, double *kernels)
{
    const double parameters[] = {machine->gamma, machine->offset, machine->degree};
    const double *vectors = machine->settings->support_vectors.items;
    size_t n;
    double some[VECTORS_PER_LOOK];

    for (size_t first = 0; first < machine->n_vectors && !mdf_should_stop(machine->context); first += n) {
        n = machine->n_vectors - first < VECTORS_PER_LOOK ? machine->n_vectors - first : VECTORS_PER_LOOK;
        if (machine->blocks != NULL) {
            find_kernels_of_blocks(machine, row, machine->blocks + first * machine->n_features, n, step, kernels + first * step);
            continue;
        }
        mdf_svm_kernels((int64_t)machine->kernel, parameters, row, vectors + first * machine->n_features, (int64_t)n,
                        (int64_t)machine->n_features, some);
        for (size_t k = 0; k < n; k++) {
            kernels[(first + k) * step] = some[k];
        }
    }
}

/* The linear kernel of a row with the numbers at `first`. */
static double linear_kernel(const struct machine *machine, const double *row, const struct mdf_floats *vectors, size_t first,
                            double intercept)
{
    const double parameters[] = {machine->gamma, machine->offset, machine->degree};

    return mdf_svm_kernel(KERNEL_LINEAR, parameters, row, vectors->items + first, (int64_t)machine->n_features, intercept);
}

static bool refuse_sizes(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "coefficients, support vectors and rho do not fit each other and the features");
}

/* ------------------------------------------------------------------ SVMRegressor */

/* The kernels' sums of ROWS_TOGETHER rows, each in the order of the vectors: none waits for another. */
static void add_kernels(size_t n, const double *coefficients, const double *kernels, double *sums)
{
    double totals[ROWS_TOGETHER] = {0};

    for (size_t i = 0; i < n; i++, kernels += ROWS_TOGETHER) {
        for (size_t row = 0; row < ROWS_TOGETHER; row++) {
            totals[row] = mdf_single(totals[row] + coefficients[i] * kernels[row]);
        }
    }
    memcpy(sums, totals, sizeof totals);
}

/* Of up to ROWS_TOGETHER rows. */
static void regress(const struct machine *machine, const double *rows, size_t n_rows, double *y)
{
    const struct svm_settings *settings = machine->settings;
    double rho = number_at(&settings->rho, 0), sums[ROWS_TOGETHER];

    for (size_t row = 0; row < n_rows; row++) {
        find_kernels(machine, rows + row * machine->n_features, ROWS_TOGETHER, machine->kernels + row);
    }
    add_kernels(machine->n_vectors, settings->coefficients.items, machine->kernels, sums);
    for (size_t row = 0; row < n_rows; row++) {
        double sum = machine->n_vectors > 0
                         ? mdf_single(sums[row] + rho)
                         : linear_kernel(machine, rows + row * machine->n_features, &settings->coefficients, 0, rho);

        y[row] = mdf_is_set(settings->one_class) ? (sum > 0 ? 1 : -1) : sum;
    }
}

static bool svm_regressor(struct mdf_call *call)
{
    const struct svm_settings *settings = call->settings;
    struct machine machine = {.n_vectors = settings->n_supports > 0 ? (size_t)settings->n_supports : 0};
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    size_t needed, n;

    if (!read_kernel(call, &machine) || !mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    machine.x = mdf_single_feature_rows(&workspace, &machine.n_rows, &machine.n_features);
    if (machine.x == NULL) {
        return false;
    }
    if (!mdf_size_multiply(machine.n_vectors, machine.n_features, &needed) || settings->support_vectors.n < needed ||
        settings->coefficients.n < (machine.n_vectors > 0 ? machine.n_vectors : machine.n_features)) {
        return refuse_sizes(call);
    }
    if (!lay_out(&workspace, &machine)) {
        return false;
    }
    if (!mdf_size_multiply(machine.n_vectors, ROWS_TOGETHER, &n)) {
        return refuse_sizes(call);
    }
    machine.kernels = mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, n);
    if (machine.kernels != NULL && machine.n_rows % ROWS_TOGETHER > 0) {
        memset(machine.kernels, 0, n * sizeof *machine.kernels);
    }
    machine.y = machine.kernels == NULL
                    ? NULL
                    : mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)machine.n_rows, 1});
    for (size_t row = 0; machine.y != NULL && row < machine.n_rows && !mdf_should_stop(call->context); row += n) {
        n = machine.n_rows - row < ROWS_TOGETHER ? machine.n_rows - row : ROWS_TOGETHER;
        regress(&machine, machine.x + row * machine.n_features, n, machine.y + row);
        for (size_t i = row; i < row + n; i++) {
            mdf_post_transform_apply(transform, machine.y + i, 1);
        }
    }
    return machine.y != NULL && mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ SVMClassifier */

/* Sums of all pairs of classes, and their votes. */
static void run_pairs(const struct machine *machine, const double *row)
{
    const struct svm_settings *settings = machine->settings;

    find_kernels(machine, row, 1, machine->kernels);
    mdf_svm_pairs((int64_t)machine->n_classes, settings->vectors_per_class.items, (int64_t)machine->n_vectors,
                  settings->coefficients.items, settings->rho.items, (int64_t)settings->rho.n, machine->kernels, machine->sums,
                  machine->votes);
}

/* One sum a class, where there are no support vectors. */
static void run_classes(const struct machine *machine, const double *row)
{
    const struct svm_settings *settings = machine->settings;

    for (size_t i = 0; i < machine->n_classes && !mdf_should_stop(machine->context); i++) {
        machine->sums[i] =
            linear_kernel(machine, row, &settings->coefficients, i * machine->n_features, number_at(&settings->rho, 0));
    }
}

/* Scores as probabilities of the classes. */
static void find_probabilities(const struct machine *machine, double *scores)
{
    const struct svm_settings *settings = machine->settings;

    mdf_svm_probabilities((int64_t)machine->n_classes, machine->sums, settings->prob_a.items, (int64_t)settings->prob_a.n,
                          settings->prob_b.items, (int64_t)settings->prob_b.n, machine->coupling, scores);
}

/* The class of a row: the one of the most votes, or of the largest score. Of two classes with weights all positive, or of none,
 * the sign of the sum decides. */
static int64_t choose(const struct machine *machine, const double *scores, size_t n_scores, bool positive, bool probable)
{
    bool by_votes = machine->n_vectors > 0;
    const double *weights = by_votes ? machine->votes : scores;
    size_t best = (size_t)mdf_largest_of(weights, (int64_t)(by_votes ? machine->n_classes : n_scores));

    if (machine->settings->rho.n == 1 && mdf_labels_count(&machine->settings->labels) == 2) {
        return !probable && positive && weights[best] >= 0.5 ? 1 : (int64_t)best;
    }
    return (int64_t)best;
}

/* Sizes, and whether attributes have as many numbers as they need. */
static bool plan_classifier(struct mdf_call *call, struct machine *machine)
{
    const struct svm_settings *settings = call->settings;
    size_t n_coefficients, n_numbers, n = mdf_labels_count(&settings->labels);

    machine->n_classes = n > 0 ? n : 1;
    for (size_t i = 0; i < settings->vectors_per_class.n; i++) {
        int64_t count = settings->vectors_per_class.items[i];

        if (count < 0 || count > INT32_MAX) {
            return refuse_sizes(call);
        }
        machine->n_vectors += (size_t)count;
    }
    if (machine->n_classes > MOST_CLASSES || (machine->n_vectors > 0 && settings->vectors_per_class.n != machine->n_classes)) {
        return mdf_call_error(call, MDF_VALUE, "there are %zu labels, but support vectors of %zu classes", n,
                              settings->vectors_per_class.n);
    }
    machine->n_sums = machine->n_vectors > 0 ? machine->n_classes * (machine->n_classes - 1) / 2 : machine->n_classes;
    if (!mdf_size_multiply(machine->n_vectors > 0 ? machine->n_classes - 1 : machine->n_classes,
                           machine->n_vectors > 0 ? machine->n_vectors : machine->n_features, &n_coefficients) ||
        !mdf_size_multiply(machine->n_vectors, machine->n_features, &n_numbers) || settings->coefficients.n < n_coefficients ||
        settings->support_vectors.n < n_numbers || machine->n_sums == 0) {
        return refuse_sizes(call);
    }
    return true;
}

static bool make_room(struct mdf_workspace *workspace, struct machine *machine, bool probable)
{
    size_t n = machine->n_classes;

    machine->kernels = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, machine->n_vectors);
    machine->sums = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, machine->n_sums);
    machine->votes = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, n);
    machine->coupling = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, probable ? 2 * n * n + n : 0);
    return machine->kernels != NULL && machine->sums != NULL && machine->votes != NULL && machine->coupling != NULL;
}

/* The scores of one row: of a single sum the second is its opposite. */
static void score_row(const struct machine *machine, const double *row, bool probable, size_t n_scores,
                      enum mdf_post_transform transform, bool positive, double *scores, int64_t *class)
{
    if (machine->n_vectors > 0) {
        run_pairs(machine, row);
    } else {
        run_classes(machine, row);
    }
    if (probable) {
        find_probabilities(machine, scores);
    } else {
        memcpy(scores, machine->sums, machine->n_sums * sizeof *scores);
    }
    *class = choose(machine, scores, probable ? machine->n_classes : machine->n_sums, positive, probable);
    if (!probable && n_scores > machine->n_sums) {
        scores[1] = scores[0];
        scores[0] = -scores[1];
    }
    mdf_post_transform_apply(transform, scores, n_scores);
}

/* Whether no coefficient is negative. */
static bool is_positive(const struct svm_settings *settings)
{
    size_t i = 0;

    while (i < settings->coefficients.n && settings->coefficients.items[i] >= 0) {
        i++;
    }
    return i == settings->coefficients.n;
}

static bool is_probable(const struct machine *machine)
{
    return machine->n_vectors > 0 && machine->settings->prob_a.n > 0;
}

static size_t count_scores(const struct machine *machine)
{
    return is_probable(machine) ? machine->n_classes : machine->n_sums == 1 && machine->n_classes == 2 ? 2 : machine->n_sums;
}

static bool svm_classifier(struct mdf_call *call)
{
    const struct svm_settings *settings = call->settings;
    bool positive = is_positive(settings), probable;
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    struct machine machine = {0};
    int64_t *classes;
    size_t n_scores;

    if (!read_kernel(call, &machine) || !mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    machine.x = mdf_single_feature_rows(&workspace, &machine.n_rows, &machine.n_features);
    if (machine.x == NULL || !plan_classifier(call, &machine)) {
        return false;
    }
    probable = is_probable(&machine);
    n_scores = count_scores(&machine);
    machine.y =
        mdf_workspace_output(&workspace, 1, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)machine.n_rows, (int64_t)n_scores});
    classes = machine.y == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, machine.n_rows);
    if (classes == NULL || !make_room(&workspace, &machine, probable) || !lay_out(&workspace, &machine)) {
        return false;
    }
    for (size_t row = 0; row < machine.n_rows && !mdf_should_stop(call->context); row++) {
        score_row(&machine, machine.x + row * machine.n_features, probable, n_scores, transform, positive,
                  machine.y + row * n_scores, &classes[row]);
    }
    return mdf_workspace_end(&workspace) && mdf_labels_output(call, &settings->labels, classes, machine.n_rows);
}

/* ------------------------------------------------------------------ as plain C: svm_routine.inc */

/* Copies what there is of some numbers behind `at`; where the next ones go. */
static double *append(double *at, const struct mdf_floats *numbers, size_t n)
{
    if (n > 0) {
        memcpy(at, numbers->items, n * sizeof *at);
    }
    return at + n;
}

static bool plan_machine(struct mdf_call *call, const struct machine *machine, size_t n_scores, struct mdf_routine_plan *plan)
{
    const struct svm_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0];
    size_t n_labels = settings->labels.integers.items != NULL ? settings->labels.integers.n : 0, n = machine->n_classes;
    size_t n_vectors = machine->n_vectors * machine->n_features;
    double *at;

    if (settings->labels.strings.items != NULL ||
        !mdf_routine_room(plan, 16 + n + n_labels,
                          3 + settings->coefficients.n + n_vectors + settings->rho.n + settings->prob_a.n + settings->prob_b.n)) {
        return false;
    }
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    plan->whole[1] = (int64_t)machine->n_features;
    plan->whole[2] = (int64_t)machine->n_vectors;
    plan->whole[3] = (int64_t)n;
    plan->whole[4] = (int64_t)n_scores;
    plan->whole[5] = (int64_t)machine->kernel;
    plan->whole[7] = (int64_t)machine->n_sums;
    plan->whole[8] = (int64_t)settings->rho.n;
    plan->whole[9] = (int64_t)settings->prob_a.n;
    plan->whole[10] = (int64_t)settings->prob_b.n;
    plan->whole[11] = (int64_t)settings->coefficients.n;
    plan->whole[12] = (int64_t)n_labels;
    plan->whole[13] = is_positive(settings);
    plan->whole[14] = mdf_is_set(settings->one_class);
    plan->whole[15] = settings->rho.n == 1 && n_labels == 2;
    for (size_t i = 0; i < n && i < settings->vectors_per_class.n; i++) {
        plan->whole[16 + i] = settings->vectors_per_class.items[i];
    }
    for (size_t i = 0; i < n_labels; i++) {
        plan->whole[16 + n + i] = settings->labels.integers.items[i];
    }
    plan->real[0] = machine->gamma;
    plan->real[1] = machine->offset;
    plan->real[2] = machine->degree;
    at = append(plan->real + 3, &settings->coefficients, settings->coefficients.n);
    at = append(at, &settings->support_vectors, n_vectors);
    at = append(append(at, &settings->rho, settings->rho.n), &settings->prob_a, settings->prob_a.n);
    append(at, &settings->prob_b, settings->prob_b.n);
    plan->work_bytes = (machine->n_features + n_scores + machine->n_vectors + machine->n_sums + 2 * n +
                        (settings->prob_a.n > 0 ? 2 * n * n : 0)) *
                       sizeof(double);
    return true;
}

static bool read_machine(struct mdf_call *call, struct machine *machine, enum mdf_post_transform *transform)
{
    const struct mdf_value *x = call->inputs[0];

    machine->n_features = (size_t)mdf_value_shape(x)[x->rank - 1];
    return read_kernel(call, machine) &&
           mdf_post_transform_named(call, ((const struct svm_settings *)call->settings)->post_transform, transform);
}

static bool plan_svm_regressor(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct svm_settings *settings = call->settings;
    struct machine machine = {.n_vectors = settings->n_supports > 0 ? (size_t)settings->n_supports : 0};
    enum mdf_post_transform transform;

    plan->function = "svm_targets";
    if (!read_machine(call, &machine, &transform) || !plan_machine(call, &machine, 1, plan)) {
        return false;
    }
    plan->whole[6] = (int64_t)transform;
    return true;
}

static bool plan_svm_classifier(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    struct machine machine = {0};
    enum mdf_post_transform transform;

    plan->function = "svm_classes";
    if (!read_machine(call, &machine, &transform) || !plan_classifier(call, &machine) ||
        !plan_machine(call, &machine, count_scores(&machine), plan)) {
        return false;
    }
    plan->whole[6] = (int64_t)transform;
    return true;
}

/* ------------------------------------------------------------------ what derivatives are made of */

/* How much each vector counts for the sum of each pair of classes: [vectors, pairs]. */
static bool find_pair_weights(struct mdf_call *call)
{
    const struct svm_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    struct machine machine = {0};
    double *weights;

    if (x == NULL || !read_kernel(call, &machine) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    machine.n_features = x->rank > 0 ? (size_t)mdf_value_shape(x)[x->rank - 1] : 0;
    if (!plan_classifier(call, &machine)) {
        return false;
    }
    weights = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT64, 2,
                                   (const int64_t[2]){(int64_t)machine.n_vectors, (int64_t)machine.n_sums});
    if (weights == NULL || !make_room(&workspace, &machine, false)) {
        return false;
    }
    memset(machine.kernels, 0, machine.n_vectors * sizeof *machine.kernels);
    for (size_t i = 0; i < machine.n_vectors && !mdf_should_stop(call->context); i++) {
        machine.kernels[i] = 1;
        mdf_svm_pairs((int64_t)machine.n_classes, settings->vectors_per_class.items, (int64_t)machine.n_vectors,
                      settings->coefficients.items, NULL, 0, machine.kernels, weights + i * machine.n_sums, machine.votes);
        machine.kernels[i] = 0;
    }
    return mdf_workspace_end(&workspace);
}

static const struct mdf_operator pair_weights = {
    "SVMClassifier.pairs", 0, 0, find_pair_weights, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat,
    .by_form = 1};

#include "functions/onnx_ml/scores_meaning.inc"

/* The kernel of each row with each vector: [rows, vectors]. */
#define KERNELS                                                                                                             \
    FEATURE_ROWS, {"n", "x0.shape[-1]", NULL},                                                                              \
        {"vectors", "rows if support_vectors is None else numpy.reshape(support_vectors, [-1, n])", NULL},                  \
        {"gamma", "0.0 if kernel_params is None else kernel_params[0]", NULL},                                              \
        {"offset", "0.0 if kernel_params is None else kernel_params[1]", NULL},                                             \
        {"degree", "0.0 if kernel_params is None else kernel_params[2]", NULL},                                             \
        {"products", "numpy.matmul(rows, numpy.transpose(vectors))", NULL},                                                 \
        {"between", "numpy.expand_dims(rows, 1) - vectors", NULL},                                                          \
    {                                                                                                                       \
        "kernels",                                                                                                          \
            "products if kernel_type == 'LINEAR' else (gamma * products + offset) ** degree if kernel_type == 'POLY' else " \
            "numpy.tanh(gamma * products + offset) if kernel_type == 'SIGMOID' else "                                       \
            "numpy.exp(-gamma * numpy.sum(between * between, -1))",                                                         \
            NULL                                                                                                            \
    }

const struct mdf_operator mdf_operators_ml_svm[] = {
    {"SVMClassifier", 1, 99, svm_classifier, classifier_table, sizeof(struct svm_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "- result", &pair_weights,
         {"checked",
          "gradient.refuse('probabilities of support vectors') if prob_a is not None and support_vectors is not None else x0",
          NULL},
         KERNELS,
         {"sums",
          "numpy.matmul(rows, numpy.transpose(numpy.reshape(coefficients, [-1, n]))) if support_vectors is None else "
          "numpy.matmul(kernels, places(x0))",
          NULL},
         {"shifted", "sums if rho is None else sums + (rho[0] if support_vectors is None else rho[:sums.shape[1]])", NULL},
         {"scores", "numpy.concatenate([-shifted, shifted], 1) if y1.shape[1] > sums.shape[1] else shifted", NULL},
         TRANSFORMED("result", "scores")),
     .routine = MDF_ROUTINE(plan_svm_classifier, NULL)},
    {"SVMRegressor", 1, 99, svm_regressor, regressor_table, sizeof(struct svm_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("result", NULL, KERNELS,
                            {"sums",
                             "numpy.matmul(rows, numpy.reshape(coefficients, [-1, 1])) if support_vectors is None else "
                             "numpy.matmul(kernels, numpy.reshape(coefficients, [-1, 1]))",
                             NULL},
                            {"chosen", "sums * 0.0 if one_class else sums + (0.0 if rho is None else rho[0])", NULL},
                            TRANSFORMED("result", "chosen")),
     .routine = MDF_ROUTINE(plan_svm_regressor, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
