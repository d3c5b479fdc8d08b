/* case.c - see case.h. A case as it comes, every text behind its length:
 *
 *   case FORMAT SIZE N_PHASES DT KEEPS_NOTHING IS_COMPILED ONLY N_SWEPT N_INSTANCES \n MODEL
 *   then for each phase: phase N_STEPS N_INPUTS \n, and for each input: NAME SIZE \n JSON
 *   then, of its sweep: N_SWEPT times: values NAME AXES IS_PARAMETER TYPE RANK SHAPE SIZE \n ELEMENTS, and a case for each
 * instance */
#include "tests/random/case.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 26, MOST_PARTS = 1000 };

/* Text of a known size, terminated; NULL where there is less. */
static char *read_text(FILE *file, size_t size)
{
    char *text = size <= MOST_BYTES ? malloc(size + 1) : NULL;

    if (text != NULL) {
        size_t n = fread(text, 1, size, file);

        text[n] = '\0';
        if (n < size) {
            free(text);
            text = NULL;
        }
    }
    return text;
}

static bool read_input(struct random_input *input, FILE *file)
{
    char name[256];
    size_t size;

    if (fscanf(file, "%255s %zu", name, &size) != 2 || getc(file) != '\n') {
        return false;
    }
    input->name = strdup(name);
    input->json = read_text(file, size);
    return input->name != NULL && input->json != NULL;
}

static bool read_phase(struct random_phase *phase, FILE *file)
{
    size_t n_inputs, i;

    if (fscanf(file, " phase %lu %zu", &phase->n_steps, &n_inputs) != 2 || n_inputs > MOST_PARTS || getc(file) != '\n') {
        return false;
    }
    phase->inputs = calloc(n_inputs + 1, sizeof *phase->inputs);
    if (phase->inputs == NULL) {
        return false;
    }
    phase->n_inputs = n_inputs;
    for (i = 0; i < n_inputs; i++) {
        if (!read_input(&phase->inputs[i], file)) {
            return false;
        }
    }
    return true;
}

static bool read_swept(struct random_swept *swept, FILE *file)
{
    char name[256];
    size_t size, i;
    int is_parameter;

    if (fscanf(file, " values %255s %u %d %15s %zu", name, &swept->axes, &is_parameter, swept->type, &swept->rank) != 5 ||
        swept->rank > sizeof swept->shape / sizeof *swept->shape) {
        return false;
    }
    for (i = 0; i < swept->rank; i++) {
        if (fscanf(file, "%ld", &swept->shape[i]) != 1) {
            return false;
        }
    }
    if (fscanf(file, "%zu", &size) != 1 || getc(file) != '\n') {
        return false;
    }
    swept->is_parameter = is_parameter != 0;
    swept->name = strdup(name);
    swept->elements = read_text(file, size);
    return swept->name != NULL && swept->elements != NULL;
}

/* The model and its phases; `n_swept` and `n_instances` of its sweep follow it. */
static bool read_runs(struct random_case *random_case, size_t *n_swept, size_t *n_instances, FILE *file)
{
    size_t n_phases, i;
    int keeps_nothing, is_compiled;

    *random_case = (struct random_case){0};
    if (fscanf(file, " case %7s %zu %zu %lf %d %d %d %31s %zu %zu", random_case->format, &random_case->size_bytes, &n_phases,
               &random_case->dt, &random_case->method, &keeps_nothing, &is_compiled, random_case->only, n_swept, n_instances) != 10 ||
        n_phases > MOST_PARTS || *n_swept > MOST_PARTS || *n_instances > MOST_PARTS || getc(file) != '\n') {
        return false;
    }
    random_case->keeps_nothing = keeps_nothing != 0;
    random_case->is_compiled = is_compiled != 0;
    random_case->model = read_text(file, random_case->size_bytes);
    random_case->phases = calloc(n_phases + 1, sizeof *random_case->phases);
    if (random_case->model == NULL || random_case->phases == NULL) {
        return false;
    }
    random_case->n_phases = n_phases;
    for (i = 0; i < n_phases; i++) {
        if (!read_phase(&random_case->phases[i], file)) {
            return false;
        }
    }
    return true;
}

bool random_case_read(struct random_case *random_case, FILE *file)
{
    size_t n_swept, n_instances, n, n_others, i;

    if (!read_runs(random_case, &n_swept, &n_instances, file)) {
        return false;
    }
    random_case->swept = calloc(n_swept + 1, sizeof *random_case->swept);
    random_case->instances = calloc(n_instances + 1, sizeof *random_case->instances);
    if (random_case->swept == NULL || random_case->instances == NULL) {
        return false;
    }
    random_case->n_swept = n_swept;
    random_case->n_instances = n_instances;
    for (i = 0; i < n_swept; i++) {
        if (!read_swept(&random_case->swept[i], file)) {
            return false;
        }
    }
    for (i = 0; i < n_instances; i++) { /* which are swept no further */
        if (!read_runs(&random_case->instances[i], &n, &n_others, file)) {
            return false;
        }
    }
    return true;
}

static void release_runs(struct random_case *random_case)
{
    size_t i, j;

    for (i = 0; i < random_case->n_phases; i++) {
        for (j = 0; j < random_case->phases[i].n_inputs; j++) {
            free(random_case->phases[i].inputs[j].name);
            free(random_case->phases[i].inputs[j].json);
        }
        free(random_case->phases[i].inputs);
    }
    free(random_case->phases);
    free(random_case->model);
}

void random_case_release(struct random_case *random_case)
{
    size_t i;

    for (i = 0; i < random_case->n_swept; i++) {
        free(random_case->swept[i].name);
        free(random_case->swept[i].elements);
    }
    for (i = 0; i < random_case->n_instances; i++) {
        release_runs(&random_case->instances[i]);
    }
    free(random_case->swept);
    free(random_case->instances);
    release_runs(random_case);
    *random_case = (struct random_case){0};
}
