/* program_known_order.c - the runs of an evaluation one behind the other, as C, where their order is the same in each: nothing is
 * counted then. What repeats is a loop: three runs of A and one of B, ten times, are loops within a loop. */
#include "mdf_c/plan/conditions/known_order.h"
#include "mdf_c/source/program_writer.h"

enum {
    MOST_SETS = 1024, /* of an evaluation that is looked at */
    MOST_CALLS = 64   /* that are written for it */
};

struct known_writer {
    struct mdf_source_program *program;
    const struct mdf_known_order *order;
    bool is_written; /* false: calls are only counted */
    size_t n_calls;
};

/* ------------------------------------------------------------------ what repeats */

static size_t begin_of(const struct mdf_known_order *order, size_t set)
{
    return set > 0 ? order->ends[set - 1] : 0;
}

static bool are_equal(const struct mdf_known_order *order, size_t a, size_t b)
{
    size_t first_a = begin_of(order, a), first_b = begin_of(order, b), n = order->ends[a] - first_a, i;

    if (order->ends[b] - first_b != n) {
        return false;
    }
    for (i = 0; i < n && order->nodes[first_a + i] == order->nodes[first_b + i]; i++) {
    }
    return i == n;
}

/* How often the `length` sets from `first` on come one after the other, up to `end`. */
static size_t count_repeats(const struct mdf_known_order *order, size_t first, size_t length, size_t end)
{
    size_t set = first + length;

    while (set < end && are_equal(order, set, set - length)) {
        set++;
    }
    return (set - first) / length;
}

/* The length of what is best repeated from `first` on: that of which most sets need not be written. */
static size_t find_block(const struct mdf_known_order *order, size_t first, size_t end, size_t *n_repeats)
{
    size_t best = 1;

    *n_repeats = count_repeats(order, first, 1, end);
    for (size_t length = 2; first + 2 * length <= end; length++) {
        size_t n = count_repeats(order, first, length, end);

        if ((n - 1) * length > (*n_repeats - 1) * best) {
            best = length;
            *n_repeats = n;
        }
    }
    return best;
}

/* ------------------------------------------------------------------ writing */

static void write_set(struct known_writer *known, size_t set)
{
    const struct mdf_source_graph *graph = known->program->graph;
    size_t first = begin_of(known->order, set), end = known->order->ends[set], i;

    known->n_calls += end - first;
    if (!known->is_written) {
        return;
    }
    for (i = first; i < end; i++) { /* all take before one of them runs, where it matters */
        if (graph->take_functions[known->order->nodes[i]] != NULL) {
            mdf_source_checked_call(known->program, graph->take_functions[known->order->nodes[i]]);
        }
    }
    for (i = first; i < end; i++) {
        mdf_source_checked_call(known->program, graph->node_functions[known->order->nodes[i]]);
    }
}

static void write_sets(struct known_writer *known, size_t first, size_t end, unsigned depth)
{
    struct mdf_source_writer *writer = &known->program->writer;
    size_t n_repeats = 1, length;

    for (; first < end && known->n_calls <= MOST_CALLS; first += n_repeats * length) {
        length = find_block(known->order, first, end, &n_repeats);
        if (n_repeats == 1) { /* nothing begins again here */
            length = 1;
            write_set(known, first);
            continue;
        }
        if (known->is_written) {
            mdf_source_open(writer, "for (int n_%u = 0; n_%u < %zu; n_%u++)", depth, depth, n_repeats, depth);
        }
        write_sets(known, first, first + length, depth + 1);
        if (known->is_written) {
            mdf_source_close(writer);
        }
    }
}

/* Values that begin anew in a node's first run of an evaluation: its runs are counted for them. */
static bool has_resets(const struct mdf_program *program)
{
    size_t i;

    for (i = 0; i < program->n_nodes && program->nodes[i].reset == program->nodes[i].initial; i++) {
    }
    return i < program->n_nodes;
}

bool mdf_source_write_known_order(struct mdf_source_program *program)
{
    struct mdf_known_order order;
    struct known_writer known = {.program = program, .order = &order};
    bool is_known;

    if (has_resets(program->graph->program)) {
        return false;
    }
    if (!mdf_find_known_order(program->graph->program, MOST_SETS, &program->writer.arena, &order, &is_known)) {
        return mdf_source_out_of_memory(&program->writer);
    }
    if (!is_known) {
        return false;
    }
    write_sets(&known, 0, order.n_sets, 0);
    if (known.n_calls > MOST_CALLS) {
        return false;
    }
    known.is_written = true;
    known.n_calls = 0;
    mdf_source_begin_function(program, "run_known_order");
    mdf_source_line(&program->writer, "const char *message;");
    mdf_source_blank(&program->writer);
    mdf_source_line(&program->writer, "(void)message;");
    write_sets(&known, 0, order.n_sets, 0);
    mdf_source_end_function(program, "run_known_order", "An evaluation's runs: conditions only count what each begins anew.");
    return true;
}
