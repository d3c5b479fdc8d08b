/* engine.c - see engine.h. */
#include "tests/support/engine.h"

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

size_t count_words(const char *text, const char *word)
{
    size_t n = 0;

    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word)) {
        n++;
    }
    return n;
}
