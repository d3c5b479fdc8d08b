/* operator_call.c - see operator_call.h. */
#include "tests/support/operator_call.h"

#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_operator(const char *opset, const char *ml_opset, const char *function, const char *args, const char *output,
                   char text[OPERATOR_CALL_TEXT_SIZE])
{
    char *source = malloc(strlen(args) + sizeof OPERATOR_CALL_FORM + 400);
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;

    sprintf(source, OPERATOR_CALL_FORM, opset, ml_opset, function, args, output);
    model = mdf_model_load_bytes(source, strlen(source), "json", "model", NULL, &error);
    program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
    state = program != NULL ? mdf_state_new(program, &error) : NULL;
    if (state != NULL && mdf_evaluate(state, (double)NAN, &error) == MDF_OK) {
        struct mdf_memory memory;
        struct mdf_text out;

        mdf_memory_init(&memory, NULL, 0);
        mdf_text_init(&out, &memory);
        mdf_write_json_value(&out, mdf_output(state, "n", "o"), false, NULL);
        snprintf(text, OPERATOR_CALL_TEXT_SIZE, "%s", out.bytes);
        mdf_text_release(&out);
    } else {
        snprintf(text, OPERATOR_CALL_TEXT_SIZE, "%s", error.message);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    free(source);
}
