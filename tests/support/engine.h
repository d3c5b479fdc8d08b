/* engine.h - a model, its program and a state, for suites that run models: made together, released together. */
#ifndef MDF_TESTS_ENGINE_H
#define MDF_TESTS_ENGINE_H

#include "mdf_c/mdf.h"

struct engine {
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
    mdf_error error; /* of what failed */
};

/* From JSON. False: the error says why; what there is has to be released all the same. */
bool engine_begin(struct engine *engine, const char *text, const mdf_options *options);
/* The same from engine->model, which is NULL where it could not be loaded. */
bool engine_begin_model(struct engine *engine, const mdf_options *options);
void engine_end(struct engine *engine);

/* Evaluates `n` times, first at the time that has not begun (NaN), then every 0.1 s; ends where one fails. */
mdf_status engine_evaluate(struct engine *engine, int n);
/* The float64 elements that an output port has, and how many bytes these are; NULL: it has no array. */
const void *engine_output(const struct engine *engine, const char *node, const char *port, size_t *n_bytes);
/* All results, as in "o 1.0; p [2, 3]". */
void write_results(const mdf_program *program, const mdf_state *state, char *text, size_t size);

/* How often one text stands in another. */
size_t count_words(const char *text, const char *word);

#endif
