/* stats.c - see stats.h. Of the graph that would run, as it is compiled: with the bodies and graphs within its nodes, an operator
 * for each place where one is called. A body that serves several nodes is counted for each of them. */
#include "mdf_c/cli/reports/stats.h"

#include "mdf_c/base/arena.h"
#include "mdf_c/base/name_table.h"
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/plan/program.h"
#include "mdf_c/values/values.h"

#include <stdlib.h>
#include <string.h>

struct operator_count {
    const char *name;
    size_t n;
};

struct stats {
    struct mdf_arena arena;
    size_t n_nodes, n_inner_nodes, n_bodies, n_edges, n_parameters, n_operators, n_elements, n_bytes;
    struct name_table names; /* of operators: their places in `counts`, from 1 */
    struct operator_count *counts;
    size_t n_counts, capacity;
    bool failed;
};

/* ------------------------------------------------------------------ counting */

static void count_operator(struct stats *stats, const struct mdf_operator *operator)
{
    char title[MDF_OPERATOR_TITLE_SIZE];
    size_t *number;

    mdf_operator_title(operator, title);
    number = name_table_find(&stats->names, title);
    if (number == NULL) {
        const char *name = mdf_arena_printf(&stats->arena, "%s", title);

        number = name != NULL ? name_table_add(&stats->names, &stats->arena, name) : NULL;
        if (number == NULL || stats->n_counts == stats->capacity) {
            stats->failed = true;
            return;
        }
        stats->counts[stats->n_counts] = (struct operator_count){name, 0};
        *number = ++stats->n_counts;
    }
    stats->counts[*number - 1].n++;
    stats->n_operators++;
}

static size_t count_calls(const struct mdf_code *code)
{
    size_t n = code->n_calls;

    for (size_t i = 0; i < code->n_bodies; i++) {
        n += count_calls(code->bodies[i]);
    }
    return n;
}

/* A list or an object has the elements of its items. */
static void count_constant(struct stats *stats, const struct mdf_value *value)
{
    if (value->kind == MDF_KIND_TENSOR) {
        stats->n_elements += value->length;
        stats->n_bytes += value->length * mdf_dtype_size((mdf_dtype)value->dtype);
    }
    for (size_t i = 0; value->kind != MDF_KIND_TENSOR && i < mdf_value_n_items(value); i++) {
        count_constant(stats, &mdf_value_items(value)[i]);
    }
}

static void count_program(struct stats *stats, const struct mdf_program *program, size_t *n_nodes)
{
    *n_nodes += program->n_nodes;
    for (size_t i = 0; i < program->n_nodes; i++) {
        stats->n_parameters += program->nodes[i].parts[MDF_PART_PARAMETER].n;
    }
}

static void count_code(struct stats *stats, const struct mdf_code *code)
{
    for (size_t i = 0; i < code->n_calls; i++) {
        count_operator(stats, code->calls[i].operator);
    }
    for (size_t i = 0; i < code->n_constants; i++) {
        count_constant(stats, &code->constants[i]);
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        const struct mdf_code *body = code->bodies[i];

        if (body->program != NULL) {
            count_program(stats, body->program, &stats->n_inner_nodes);
        } else {
            stats->n_bodies++;
            stats->n_inner_nodes += body->n_nodes;
        }
        count_code(stats, body);
    }
}

static int compare_counts(const void *a, const void *b)
{
    const struct operator_count *x = a, *y = b;

    return x->n != y->n ? (x->n > y->n ? -1 : 1) : strcmp(x->name, y->name);
}

static bool count(struct stats *stats, struct mdf_memory *memory, const mdf_model *model, const mdf_program *program)
{
    const struct mdf_graph *graph = mdf_model_find_graph(model, program->graph_id);

    mdf_arena_init(&stats->arena, memory);
    stats->capacity = count_calls(program->code);
    stats->counts = mdf_arena_array(&stats->arena, stats->capacity, sizeof *stats->counts);
    stats->failed = stats->counts == NULL;
    if (!stats->failed) {
        count_program(stats, program, &stats->n_nodes);
        count_code(stats, program->code);
        qsort(stats->counts, stats->n_counts, sizeof *stats->counts, compare_counts);
    }
    if (graph != NULL) {
        stats->n_edges = graph->n_edges;
        stats->n_parameters += graph->parameters != NULL ? graph->parameters->as.object.n : 0;
    }
    return !stats->failed;
}

/* ------------------------------------------------------------------ telling */

static void append_text(const struct stats *stats, const mdf_program *program, struct mdf_text *text)
{
    mdf_text_printf(text, "model       %s\ngraph       %s\n", program->model_id, program->graph_id);
    mdf_text_printf(text, "nodes       %zu", stats->n_nodes);
    if (stats->n_inner_nodes > 0) {
        mdf_text_printf(text, ", and %zu inside them (%zu bodies)", stats->n_inner_nodes, stats->n_bodies);
    }
    mdf_text_printf(text, "\nedges       %zu\ninputs      %zu\nresults     %zu\nparameters  %zu\n", stats->n_edges,
                    mdf_program_n_graph_inputs(program), mdf_program_n_results(program), stats->n_parameters);
    mdf_text_printf(text, "constants   %zu numbers, %zu bytes\noperators   %zu\n", stats->n_elements, stats->n_bytes,
                    stats->n_operators);
    for (size_t i = 0; i < stats->n_counts; i++) {
        mdf_text_printf(text, "%8zu  %s\n", stats->counts[i].n, stats->counts[i].name);
    }
}

static void append_json(const struct stats *stats, const mdf_program *program, struct mdf_text *text)
{
    mdf_text_append_string(text, "{\"model\": ");
    mdf_write_json_string(text, program->model_id, strlen(program->model_id));
    mdf_text_append_string(text, ", \"graph\": ");
    mdf_write_json_string(text, program->graph_id, strlen(program->graph_id));
    mdf_text_printf(text,
                    ", \"nodes\": %zu, \"inner_nodes\": %zu, \"bodies\": %zu, \"edges\": %zu, \"inputs\": %zu, \"results\": %zu, "
                    "\"parameters\": %zu, \"constants\": {\"elements\": %zu, \"bytes\": %zu}, \"n_operators\": %zu, "
                    "\"operators\": {",
                    stats->n_nodes, stats->n_inner_nodes, stats->n_bodies, stats->n_edges, mdf_program_n_graph_inputs(program),
                    mdf_program_n_results(program), stats->n_parameters, stats->n_elements, stats->n_bytes, stats->n_operators);
    for (size_t i = 0; i < stats->n_counts; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        mdf_write_json_string(text, stats->counts[i].name, strlen(stats->counts[i].name));
        mdf_text_printf(text, ": %zu", stats->counts[i].n);
    }
    mdf_text_append_string(text, "}}\n");
}

int print_stats(struct mdf_memory *memory, const mdf_model *model, const mdf_program *program, bool as_json, mdf_error *error)
{
    struct stats stats = {.n_nodes = 0};
    struct mdf_text text;
    mdf_status status;

    mdf_text_init(&text, memory);
    if (count(&stats, memory, model, program)) {
        (as_json ? append_json : append_text)(&stats, program, &text);
    }
    status = stats.failed || text.failed ? mdf_memory_error(memory, error) : print_output(text.bytes, text.length, error);
    mdf_text_release(&text);
    mdf_arena_release(&stats.arena);
    return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}
