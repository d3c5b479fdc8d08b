/* case.c - see case.h. A case as it comes, every text behind its length:
 *
 *   case FORMAT SIZE N_PHASES DT KEEPS_NOTHING IS_COMPILED ONLY \n MODEL
 *   then for each phase: phase N_STEPS N_INPUTS \n, and for each input: NAME SIZE \n JSON */
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

bool random_case_read(struct random_case *random_case, FILE *file)
{
    size_t n_phases, i;
    int keeps_nothing, is_compiled;

    *random_case = (struct random_case){0};
    if (fscanf(file, " case %7s %zu %zu %lf %d %d %31s", random_case->format, &random_case->size_bytes, &n_phases, &random_case->dt,
               &keeps_nothing, &is_compiled, random_case->only) != 7 ||
        n_phases > MOST_PARTS || getc(file) != '\n') {
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

void random_case_release(struct random_case *random_case)
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
    *random_case = (struct random_case){0};
}
