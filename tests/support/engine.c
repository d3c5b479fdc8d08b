/* engine.c - see engine.h. */
#include "tests/support/engine.h"

#include "mdf_c/base/text.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool engine_begin(struct engine *engine, const char *text, const mdf_options *options)
{
    memset(engine, 0, sizeof *engine);
    engine->model = mdf_model_load_bytes(text, strlen(text), "json", "model.json", options, &engine->error);
    return engine_begin_model(engine, options);
}

bool engine_begin_model(struct engine *engine, const mdf_options *options)
{
    engine->program = engine->model != NULL ? mdf_compile(engine->model, options, &engine->error) : NULL;
    engine->state = engine->program != NULL ? mdf_state_new(engine->program, &engine->error) : NULL;
    return engine->state != NULL;
}

void engine_end(struct engine *engine)
{
    mdf_state_free(engine->state);
    mdf_program_free(engine->program);
    mdf_model_free(engine->model);
}

mdf_status engine_evaluate(struct engine *engine, int n)
{
    mdf_status status = MDF_OK;

    for (int i = 0; i < n && status == MDF_OK; i++) {
        status = mdf_evaluate(engine->state, i == 0 ? (double)NAN : 0.1, &engine->error);
    }
    return status;
}

const void *engine_output(const struct engine *engine, const char *node, const char *port, size_t *n_bytes)
{
    mdf_tensor result;
    size_t d;

    if (!mdf_value_tensor(mdf_output(engine->state, node, port), &result)) {
        return NULL;
    }
    *n_bytes = sizeof(double);
    for (d = 0; d < result.rank; d++) {
        *n_bytes *= (size_t)result.shape[d];
    }
    return result.data;
}

void write_results(const mdf_program *program, const mdf_state *state, char *text, size_t size)
{
    struct mdf_memory memory;
    struct mdf_text out;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&out, &memory);
    for (size_t i = 0; i < mdf_program_n_results(program); i++) {
        mdf_text_printf(&out, "%s%s ", i > 0 ? "; " : "", mdf_program_result_name(program, i));
        mdf_write_json_value(&out, mdf_result_at(state, i), false, NULL);
    }
    snprintf(text, size, "%s", out.bytes != NULL ? out.bytes : "");
    mdf_text_release(&out);
}

size_t count_words(const char *text, const char *word)
{
    size_t n = 0;

    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word)) {
        n++;
    }
    return n;
}
