/* svm.c - support vector machines: SVMClassifier, SVMRegressor.
 *
 * Comes in: rows of features; support vectors, coefficients and a kernel as attributes (or, without support vectors, coefficients
 * of the features). Goes out: sums of kernels; of the classifier the votes of all pairs of classes give a label, and scores are
 * those of the pairs, or with prob_a and prob_b probabilities. Computed in float32 as ONNX Runtime does: a scalar product feature
 * after feature, each step rounded once; only the sums of kernels of a pair of classes are float64 ones. Sources: ONNX
 * ai.onnx.ml, version 1 of each; Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise coupling
 * (2004). */
#include "functions/onnx_ml/scores.h"

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

enum { N_SLOTS = 12, MOST_CLASSES = 1 << 15, N_COUPLING_STEPS = 100 };
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
    double *kernels; /* of the row with each vector */
    double *sums;    /* of pairs of classes; or of classes, where there are no vectors */
    double *votes;
    double *coupling; /* room for three square matrices' worth of probabilities */
};

static double number_at(const struct mdf_floats *numbers, size_t i)
{
    return i < numbers->n ? numbers->items[i] : 0;
}

static bool read_kernel(struct mdf_call *call, struct machine *machine)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const struct svm_settings *settings = call->settings;

    machine->context = call->context;
    machine->settings = settings;
    machine->gamma = number_at(&settings->kernel_params, 0);
    machine->offset = number_at(&settings->kernel_params, 1);
    machine->degree = number_at(&settings->kernel_params, 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], settings->kernel_type) == 0) {
            machine->kernel = (enum kernel)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no kernel_type '%.100s'", settings->kernel_type);
}

/* The kernel of a row with the vector at `first`. A product of float32 is exact in float64, so that each step of a scalar product
 * rounds once, as a fused one does; the steps of a distance round twice. `intercept` is that of a linear one. */
static double kernel_of(const struct machine *machine, enum kernel kernel, const double *row, const struct mdf_floats *vectors,
                        size_t first, double intercept)
{
    double sum = 0, power;

    for (size_t i = 0; i < machine->n_features; i++) {
        double other = number_at(vectors, first + i), difference = mdf_single(row[i] - other);

        sum = mdf_single(kernel == KERNEL_RBF ? sum + mdf_single(difference * difference) : sum + row[i] * other);
    }
    switch (kernel) {
    case KERNEL_POLY:
        sum = mdf_single(machine->gamma * sum + machine->offset);
        power = mdf_single(sum * sum);
        return machine->degree == 2   ? power
               : machine->degree == 3 ? mdf_single(power * sum)
                                      : mdf_single(pow(sum, machine->degree));
    case KERNEL_RBF:
        return mdf_single(exp(mdf_single(-machine->gamma * sum)));
    case KERNEL_SIGMOID:
        return mdf_single(tanh(mdf_single(machine->gamma * sum + machine->offset)));
    case KERNEL_LINEAR:
        break;
    }
    return mdf_single(sum + intercept);
}

static bool refuse_sizes(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "coefficients, support vectors and rho do not fit each other and the features");
}

/* ------------------------------------------------------------------ SVMRegressor */

static double regress(const struct machine *machine, const double *row)
{
    const struct svm_settings *settings = machine->settings;
    double rho = number_at(&settings->rho, 0), sum = 0;

    for (size_t i = 0; i < machine->n_vectors && !mdf_should_stop(machine->context); i++) {
        sum = mdf_single(sum + number_at(&settings->coefficients, i) * kernel_of(machine, machine->kernel, row,
                                                                                 &settings->support_vectors,
                                                                                 i * machine->n_features, 0));
    }
    sum =
        machine->n_vectors > 0 ? mdf_single(sum + rho) : kernel_of(machine, KERNEL_LINEAR, row, &settings->coefficients, 0, rho);
    return settings->one_class != MDF_NOT_GIVEN && settings->one_class != 0 ? (sum > 0 ? 1 : -1) : sum;
}

static bool svm_regressor(struct mdf_call *call)
{
    const struct svm_settings *settings = call->settings;
    struct machine machine = {.n_vectors = settings->n_supports > 0 ? (size_t)settings->n_supports : 0};
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    size_t needed;

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
    machine.y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)machine.n_rows, 1});
    for (size_t row = 0; machine.y != NULL && row < machine.n_rows && !mdf_should_stop(call->context); row++) {
        machine.y[row] = regress(&machine, machine.x + row * machine.n_features);
        mdf_post_transform_apply(transform, machine.y + row, 1);
    }
    return machine.y != NULL && mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ SVMClassifier */

/* Sums of all pairs of classes, and their votes. Coefficients are [class - 1, vector]. */
static void run_pairs(const struct machine *machine, const double *row)
{
    const struct svm_settings *settings = machine->settings;
    const int64_t *counts = settings->vectors_per_class.items;
    size_t n = machine->n_vectors, pair = 0, first_i = 0;

    for (size_t i = 0; i < n && !mdf_should_stop(machine->context); i++) {
        machine->kernels[i] = kernel_of(machine, machine->kernel, row, &settings->support_vectors, i * machine->n_features, 0);
    }
    memset(machine->votes, 0, machine->n_classes * sizeof *machine->votes);
    for (size_t i = 0; i < machine->n_classes; first_i += (size_t)counts[i++]) {
        size_t first_j = first_i + (size_t)counts[i];

        for (size_t j = i + 1; j < machine->n_classes && !mdf_should_stop(machine->context); first_j += (size_t)counts[j++]) {
            double sum = 0;

            for (size_t k = first_i; k < first_i + (size_t)counts[i]; k++) {
                sum += mdf_single(number_at(&settings->coefficients, (j - 1) * n + k) * machine->kernels[k]);
            }
            for (size_t k = first_j; k < first_j + (size_t)counts[j]; k++) {
                sum += mdf_single(number_at(&settings->coefficients, i * n + k) * machine->kernels[k]);
            }
            sum += number_at(&settings->rho, pair);
            machine->sums[pair++] = mdf_single(sum);
            machine->votes[sum > 0 ? i : j]++;
        }
    }
}

/* One sum a class, where there are no support vectors. */
static void run_classes(const struct machine *machine, const double *row)
{
    const struct svm_settings *settings = machine->settings;

    for (size_t i = 0; i < machine->n_classes && !mdf_should_stop(machine->context); i++) {
        machine->sums[i] = kernel_of(machine, KERNEL_LINEAR, row, &settings->coefficients, i * machine->n_features,
                                     number_at(&settings->rho, 0));
    }
}

/* The matrix Q of the paper, from r; p where its iteration starts. */
static void start_coupling(const struct machine *machine, const double *r, double *q, double *p)
{
    size_t n = machine->n_classes;

    for (size_t t = 0; t < n && !mdf_should_stop(machine->context); t++) {
        p[t] = mdf_single(1 / (double)n);
        q[t * n + t] = 0;
        for (size_t j = 0; j < n; j++) {
            if (j != t) {
                q[t * n + t] = mdf_single(q[t * n + t] + mdf_single(r[j * n + t] * r[j * n + t]));
                q[t * n + j] = j < t ? q[j * n + t] : mdf_single(-r[j * n + t] * r[t * n + j]);
            }
        }
    }
}

/* qp = Q p; the product p Q p. */
static double multiply_coupling(const struct machine *machine, const double *q, const double *p, double *qp)
{
    size_t n = machine->n_classes;
    double pqp = 0;

    for (size_t t = 0; t < n && !mdf_should_stop(machine->context); t++) {
        qp[t] = 0;
        for (size_t j = 0; j < n; j++) {
            qp[t] = mdf_single(qp[t] + mdf_single(q[t * n + j] * p[j]));
        }
        pqp = mdf_single(pqp + mdf_single(p[t] * qp[t]));
    }
    return pqp;
}

/* One step of the iteration, for class `t`. */
static void step_coupling(size_t n, const double *q, size_t t, double *pqp, double *p, double *qp)
{
    double change = mdf_single(mdf_single(*pqp - qp[t]) / q[t * n + t]), scale = mdf_single(1 + change);
    double term = mdf_single(mdf_single(change * q[t * n + t]) + mdf_single(2 * qp[t]));

    p[t] = mdf_single(p[t] + change);
    *pqp = mdf_single(mdf_single(mdf_single(*pqp + mdf_single(change * term)) / scale) / scale);
    for (size_t j = 0; j < n; j++) {
        qp[j] = mdf_single(mdf_single(qp[j] + mdf_single(change * q[t * n + j])) / scale);
        p[j] = mdf_single(p[j] / scale);
    }
}

/* Probabilities of classes from those of pairs, r[i][j] of i against j: the p that minimises the sum over i and j of
 * (r[j][i] p[i] - r[i][j] p[j])^2, by the iteration of the paper. */
static void couple(const struct machine *machine, double *p)
{
    size_t n = machine->n_classes;
    double *r = machine->coupling, *q = r + n * n, *qp = q + n * n, enough = mdf_single((double)0.005f / (double)n);

    start_coupling(machine, r, q, p);
    for (size_t step = 0; step < N_COUPLING_STEPS; step++) {
        double pqp = multiply_coupling(machine, q, p, qp), largest = 0;

        for (size_t t = 0; t < n; t++) {
            largest = fmax(largest, fabs(mdf_single(qp[t] - pqp)));
        }
        if (largest < enough) {
            return;
        }
        for (size_t t = 0; t < n && !mdf_should_stop(machine->context); t++) {
            step_coupling(n, q, t, &pqp, p, qp);
        }
    }
}

/* 1 - 1 / (1 + exp(-x)). */
static double opposite_logistic(double x)
{
    double part = mdf_single(1 / mdf_single(1 + mdf_single(exp(-fabs(x)))));

    return mdf_single(1 - (x < 0 ? mdf_single(1 - part) : part));
}

/* Scores as probabilities of the classes. */
static void find_probabilities(const struct machine *machine, double *scores)
{
    const struct svm_settings *settings = machine->settings;
    const double least = (double)1e-7f, most = mdf_single(1 - least);
    size_t n = machine->n_classes, pair = 0;

    for (size_t i = 0; i < n; i++) {
        machine->coupling[i * n + i] = 0;
        for (size_t j = i + 1; j < n; j++, pair++) {
            double product = mdf_single(machine->sums[pair] * number_at(&settings->prob_a, pair));
            double p = fmin(fmax(opposite_logistic(mdf_single(product + number_at(&settings->prob_b, pair))), least), most);

            machine->coupling[i * n + j] = p;
            machine->coupling[j * n + i] = mdf_single(1 - p);
        }
    }
    couple(machine, scores);
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

static bool svm_classifier(struct mdf_call *call)
{
    const struct svm_settings *settings = call->settings;
    bool positive = true, probable;
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
    probable = machine.n_vectors > 0 && settings->prob_a.n > 0;
    n_scores = probable ? machine.n_classes : machine.n_sums == 1 && machine.n_classes == 2 ? 2 : machine.n_sums;
    for (size_t i = 0; i < settings->coefficients.n; i++) {
        positive = positive && settings->coefficients.items[i] >= 0;
    }
    machine.y =
        mdf_workspace_output(&workspace, 1, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)machine.n_rows, (int64_t)n_scores});
    classes = machine.y == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, machine.n_rows);
    if (classes == NULL || !make_room(&workspace, &machine, probable)) {
        return false;
    }
    for (size_t row = 0; row < machine.n_rows && !mdf_should_stop(call->context); row++) {
        score_row(&machine, machine.x + row * machine.n_features, probable, n_scores, transform, positive,
                  machine.y + row * n_scores, &classes[row]);
    }
    return mdf_workspace_end(&workspace) && mdf_labels_output(call, &settings->labels, classes, machine.n_rows);
}

const struct mdf_operator mdf_operators_ml_svm[] = {
    {"SVMClassifier", 1, 99, svm_classifier, classifier_table, sizeof(struct svm_settings), MDF_OPERATOR_PURE, NULL},
    {"SVMRegressor", 1, 99, svm_regressor, regressor_table, sizeof(struct svm_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
