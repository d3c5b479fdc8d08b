/* case_runner.h - runs a case of tests/data through the public interface and compares what it gives with what it should.
 *
 * Comes in: a case as JSON, read with Jansson, so that nothing of the library's own reader stands between the file and the
 * comparison. Goes out: whether it passed, and if not a message that says where. A case:
 *
 *     name        of the case
 *     model       an MDF model
 *     graph       id of the graph to run; default: as mdf_compile chooses
 *     float32     true: reals without a declared type are float32
 *     inputs      {name: value} for every evaluation, or `inputs_seq`: a list of such objects, one an evaluation
 *     steps, dt   evaluations (default 1); the first gets no time increment, the later ones `dt` (default: none)
 *     trace       what the output ports hold after each evaluation: {node: {port: value}}
 *     rtol, atol  real numbers agree where |a - b| <= atol + rtol * |b| (default 0); `why` gives the reason
 *
 * A value is a number, a boolean, a string, null (nothing), a nested list, {"type", "shape", "data": [flat]} (type and shape
 * must be those; without "data" only they are compared), or {"sequence": [values]}. Whole numbers, booleans, strings and shapes
 * must agree exactly; in nested lists a whole number may stand for a real one of that value, a real for no whole one unless it
 * is whole. A string "=TOKEN" stands for a number that JSON has no form for: "=NaN", "=Infinity", "=18446744073709551615". */
#ifndef MDF_TESTS_CASE_RUNNER_H
#define MDF_TESTS_CASE_RUNNER_H

#include "mdf_c/mdf.h"

#include <jansson.h>

enum { CASE_MESSAGE_SIZE = 2600, CASE_NAME_SIZE = 64 };

/* Reads a file of tests/data; NULL with a message where that fails. The caller releases it with json_decref. */
json_t *case_load(const char *file_name, char *message);
/* A value of a case as JSON text for mdf_set_input_json or as a model; the caller releases it with free. */
char *case_text(const json_t *value);
/* Runs one case; `message` has room for CASE_MESSAGE_SIZE. */
bool case_passes(const json_t *item, char *message);
/* Runs all the cases that a function of its own chose: where the text of `key` equals `text`. Returns how many ran; a failure
 * goes to Criterion, with the case's name. */
size_t case_run_family(const char *file_name, const char *key, const char *text);
/* The texts of `key` in the cases of a file, each once, in order, as an array of char[CASE_NAME_SIZE] from cr_malloc. */
char *case_families(const char *file_name, const char *key, size_t *n);

#endif
