/* elman_training.c - trains the Elman network of elman_model.yaml from C: the gradient is one program, made once and evaluated for the weights
 * of each step; the steps are Adam's (Kingma and Ba, 2015), with their usual numbers.
 *
 * cc elman_training.c $(pkg-config --cflags --libs mdf) -lm && ./a.out elman_model.yaml sequence.csv 500 */
#include <mdf.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PLACES = 1000, N_WEIGHTS = 5, MAX_NUMBERS = 64 };

static const char *const names[N_WEIGHTS] = {"net.W", "net.R", "net.b", "net.V", "net.c"};

/* One array of weights, and what Adam keeps of it. */
struct weights {
    int64_t shape[2];
    size_t rank, n;
    double value[MAX_NUMBERS], mean[MAX_NUMBERS], square[MAX_NUMBERS];
};

static void fail(const mdf_error *error)
{
    fprintf(stderr, "%s:%d:%d: %s: %s\n", error->file, error->line, error->column, error->path, error->message);
    exit(1);
}

/* Two columns behind a line of names; returns how many rows there are. */
static int64_t read_sequence(const char *path, double *bits, double *changed)
{
    FILE *file = fopen(path, "r");
    int64_t n = 0;

    if (file == NULL || fscanf(file, "%*[^\n]") < 0) {
        perror(path);
        exit(1);
    }
    while (n < MAX_PLACES && fscanf(file, "%lf,%lf", &bits[n], &changed[n]) == 2) {
        n++;
    }
    fclose(file);
    return n;
}

/* Shapes as the gradients have them; weights that are no two alike. */
static void begin(struct weights *weights, const mdf_state *state)
{
    for (size_t i = 0; i < N_WEIGHTS; i++) {
        mdf_tensor slopes;

        if (!mdf_value_tensor(mdf_output(state, "gradient", names[i]), &slopes)) {
            fprintf(stderr, "%s has no gradient\n", names[i]);
            exit(1);
        }
        weights[i].rank = slopes.rank;
        weights[i].n = 1;
        for (size_t k = 0; k < slopes.rank; k++) {
            weights[i].shape[k] = slopes.shape[k];
            weights[i].n *= (size_t)slopes.shape[k];
        }
        for (size_t k = 0; k < weights[i].n; k++) {
            weights[i].value[k] = 0.5 * sin(12.9898 * (double)(7 * i + k + 1));
        }
    }
}

static void step_down(struct weights *weights, const double *slopes, int step)
{
    const double rate = 0.05, b1 = 0.9, b2 = 0.999;

    for (size_t k = 0; k < weights->n; k++) {
        weights->mean[k] = b1 * weights->mean[k] + (1 - b1) * slopes[k];
        weights->square[k] = b2 * weights->square[k] + (1 - b2) * slopes[k] * slopes[k];
        weights->value[k] -= rate * (weights->mean[k] / (1 - pow(b1, step))) / (sqrt(weights->square[k] / (1 - pow(b2, step))) + 1e-8);
    }
}

/* The loss for the weights; gradients are in the state. */
static double evaluate(mdf_state *state, const struct weights *weights, const mdf_tensor *bits, const mdf_tensor *changed)
{
    mdf_error error = {0};
    mdf_tensor loss;

    if (mdf_state_reset(state, 0, &error) != MDF_OK || mdf_set_input(state, "sequence", bits, &error) != MDF_OK ||
        mdf_set_input(state, "target", changed, &error) != MDF_OK) {
        fail(&error);
    }
    for (size_t i = 0; weights != NULL && i < N_WEIGHTS; i++) {
        const mdf_tensor value = {MDF_DTYPE_FLOAT64, weights[i].rank, weights[i].shape, weights[i].value};

        if (mdf_set_parameter(state, names[i], &value, &error) != MDF_OK) {
            fail(&error);
        }
    }
    if (mdf_evaluate(state, NAN, &error) != MDF_OK) {
        fail(&error);
    }
    return mdf_value_tensor(mdf_output(state, "gradient", "value"), &loss) ? *(const double *)loss.data : NAN;
}

int main(int argc, char **argv)
{
    static struct weights weights[N_WEIGHTS];
    static double bits[MAX_PLACES], changed[MAX_PLACES];
    const int64_t n = argc == 4 ? read_sequence(argv[2], bits, changed) : 0;
    const mdf_tensor sequence = {MDF_DTYPE_FLOAT64, 1, &n, bits}, target = {MDF_DTYPE_FLOAT64, 1, &n, changed};
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;

    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL SEQUENCE STEPS\n", argv[0]);
        return 2;
    }
    model = mdf_model_load_file(argv[1], &error);
    program = model != NULL ? mdf_compile_gradient(model, "net.loss", names, N_WEIGHTS, 1, NAN, NULL, &error) : NULL;
    state = program != NULL ? mdf_state_new(program, &error) : NULL;
    if (state == NULL) {
        fail(&error);
    }
    evaluate(state, NULL, &sequence, &target);
    begin(weights, state);
    for (int step = 1; step <= atoi(argv[3]); step++) {
        evaluate(state, weights, &sequence, &target);
        for (size_t i = 0; i < N_WEIGHTS; i++) {
            mdf_tensor slopes;

            mdf_value_tensor(mdf_output(state, "gradient", names[i]), &slopes);
            step_down(&weights[i], slopes.data, step);
        }
    }
    printf("loss %.6f\n", evaluate(state, weights, &sequence, &target));
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    return 0;
}
