/* watch.c - see watch.h. */
#include "mdf_c/cli/watch.h"

#include "mdf_c/cli/command_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int begin_watching(struct watch *watch, struct mdf_memory *memory, const mdf_program *program, const char *names, mdf_error *error)
{
    int exit_status;

    *watch = (struct watch){.has_begun = false};
    if (names == NULL) {
        return EXIT_DONE;
    }
    exit_status = choose_ports(&watch->ports, memory, program, "--watch", names, error);
    if (exit_status == EXIT_DONE) {
        watch->last = mdf_memory_allocate_zeroed(memory, watch->ports.n_columns, sizeof *watch->last);
        if (watch->last == NULL) {
            mdf_memory_error(memory, error);
            exit_status = EXIT_MODEL;
        }
    }
    return exit_status;
}

static mdf_status append_change(struct mdf_text *text, const struct mdf_column *column, const struct mdf_value *value,
                                uint64_t step, double dt, mdf_error *error)
{
    char number[MDF_NUMBER_TEXT_SIZE];
    mdf_status status;

    mdf_text_printf(text, "step %" PRIu64, step + 1);
    if (!isnan(dt)) {
        mdf_format_float64(dt * (double)step, number);
        mdf_text_printf(text, ", time %s", number);
    }
    mdf_text_append_string(text, ": ");
    mdf_append_column_name(text, column);
    mdf_text_append_string(text, " = ");
    status = mdf_write_json_value(text, value, false, error);
    mdf_text_append_string(text, "\n");
    return status;
}

mdf_status tell_changes(struct watch *watch, const mdf_state *state, uint64_t step, double dt, mdf_error *error)
{
    struct mdf_memory *memory = watch->ports.memory;
    mdf_status status = MDF_OK;
    struct mdf_text text;

    if (watch->ports.n_columns == 0) {
        return MDF_OK;
    }
    mdf_text_init(&text, memory);
    for (size_t i = 0; i < watch->ports.n_columns && status == MDF_OK; i++) {
        const struct mdf_value *value = mdf_output_at(state, watch->ports.columns[i].node, watch->ports.outputs[i]);

        if (watch->has_begun && mdf_value_equal(value, &watch->last[i])) {
            continue;
        }
        status = append_change(&text, &watch->ports.columns[i], value, step, dt, error);
        if (status == MDF_OK && (text.failed || !mdf_value_copy_apart(memory, &watch->last[i], value))) {
            status = mdf_memory_error(memory, error);
        }
    }
    if (text.length > 0) {
        fwrite(text.bytes, 1, text.length, stderr);
    }
    watch->has_begun = true;
    mdf_text_release(&text);
    return status;
}

void end_watching(struct watch *watch)
{
    for (size_t i = 0; watch->last != NULL && i < watch->ports.n_columns; i++) {
        mdf_value_clear(watch->ports.memory, &watch->last[i]);
    }
    if (watch->ports.memory != NULL) {
        mdf_memory_release(watch->ports.memory, watch->last);
    }
    release_ports(&watch->ports);
    *watch = (struct watch){.has_begun = false};
}
