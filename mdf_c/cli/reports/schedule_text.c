/* schedule_text.c - see schedule_text.h.
 *
 *   step 1
 *     pass 1   A | B, C | D
 *     pass 2   A | -
 *
 * Sets are told apart by "|"; "-" is a set in which nothing ran. Where absolute time runs, the time of each pass's first set
 * follows. */
#include "mdf_c/cli/reports/schedule_text.h"

#include <inttypes.h>
#include <math.h>

static void write_set(struct mdf_text *text, const mdf_program *program, const mdf_state *state, size_t set)
{
    size_t n = mdf_schedule_set_size(state, set), i;

    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        mdf_text_append_visible(text, mdf_program_node_id(program, mdf_schedule_node(state, set, i)));
    }
    if (n == 0) {
        mdf_text_append_string(text, "-");
    }
}

/* "pass 12 (4.5 ms)" */
static void write_heading(struct mdf_text *text, const mdf_state *state, size_t set)
{
    double time_ms = mdf_schedule_time_ms(state, set);

    mdf_text_printf(text, "  pass %" PRIu64, mdf_schedule_pass(state, set) + 1);
    if (!isnan(time_ms)) {
        mdf_text_printf(text, " (%.12g ms)", time_ms);
    }
    mdf_text_append_string(text, "   ");
}

void write_schedule_text(struct mdf_text *text, const mdf_program *program, const mdf_state *state, uint64_t step)
{
    size_t n_sets = mdf_schedule_n_sets(state), set;

    mdf_text_printf(text, "step %" PRIu64 "%s\n", step + 1, n_sets == 0 ? ": nothing ran" : "");
    for (set = 0; set < n_sets; set++) {
        if (set == 0 || mdf_schedule_pass(state, set) != mdf_schedule_pass(state, set - 1)) {
            write_heading(text, state, set);
        }
        write_set(text, program, state, set);
        mdf_text_append_string(
            text, set + 1 < n_sets && mdf_schedule_pass(state, set + 1) == mdf_schedule_pass(state, set) ? " | " : "\n");
    }
}
