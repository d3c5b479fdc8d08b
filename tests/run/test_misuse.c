/* test_misuse.c - every function of mdf.h with NULL for each of its pointers, and arguments that nobody can mean: MDF_USAGE,
 * nothing or the answer that mdf.h gives, and never a crash. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL                                                                                                                   \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"k\": {\"value\": "      \
    "2.0}}, \"output_ports\": {\"y\": {\"value\": \"x * k\"}}}}, \"metadata\": {\"inputs\": [\"x\"], \"outputs\": "             \
    "[\"y\"]}, \"conditions\": {\"node_specific\": {\"n\": {\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": \"2 ms\"}}}, " \
    "\"termination\": {\"environment_state_update\": {\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1}}}}}}}}"

/* One that has derivatives. */
#define SMOOTH "m: {graphs: {g: {nodes: {n: {parameters: {k: {value: 2.0}}, output_ports: {y: {value: k * k}}}}}}}"

enum { N_ELEMENTS = 2 };

/* What calls are made with. */
struct given {
    int tried;     /* the pointer that is NULL; -1: none */
    unsigned seen; /* bits of the pointers that the call has */
    mdf_error error, failed;
    mdf_model *model, *smooth;
    mdf_diagnostics *diagnostics;
    mdf_diagnostic diagnostic;
    mdf_functions *functions;
    mdf_function function;
    mdf_program *program;
    mdf_state *state, *other;
    mdf_sweep *sweep, *reduced;
    mdf_sweep_reduction reduction;
    mdf_distribution distribution;
    unsigned char saved[256];
    size_t n_saved;
    mdf_value *value, *dict, *list;
    const mdf_value *items[1];
    const char *names[1], *inputs[1];
    int64_t shape[1];
    double data[N_ELEMENTS], recorded[N_ELEMENTS];
    void *arrays[1];
    mdf_tensor tensor, number, found, results[1];
    mdf_options options;
    mdf_sweep_options sweep_options;
    mdf_sweep_values swept;
    mdf_record record;
    mdf_series series;
    size_t words[16];
    uint64_t n_done, n_recorded;
    char text[64];
    char path[40]; /* of a file that may be written */
};

static const char *const no_arguments[] = {"x", NULL};

static mdf_status do_nothing(mdf_function_call *call)
{
    (void)call;
    return MDF_OK;
}

static void begin(struct given *g)
{
    memset(g, 0, sizeof *g);
    g->tried = -1;
    g->names[0] = "k";
    g->inputs[0] = "x";
    g->shape[0] = N_ELEMENTS;
    g->tensor = (mdf_tensor){MDF_DTYPE_FLOAT64, 1, g->shape, g->data};
    g->number = (mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, g->data};
    g->record = (mdf_record){0, 0, MDF_DTYPE_FLOAT64, 1, g->shape, sizeof g->recorded, g->recorded};
    g->swept = (mdf_sweep_values){.name = "x", .values = g->tensor};
    g->series = (mdf_series){"x", g->tensor, 0};
    g->sweep_options = (mdf_sweep_options){.n_instances = 1, .n_steps = 1, .dt = NAN, .n_inputs = 1, .n_records = 1};
    g->sweep_options.inputs = &g->swept;
    g->sweep_options.records = &g->record;
    g->arrays[0] = g->recorded;
    g->model = mdf_model_load_bytes(MODEL, strlen(MODEL), "json", "m.json", NULL, &g->error);
    g->smooth = mdf_model_load_bytes(SMOOTH, strlen(SMOOTH), "yaml", "m.yaml", NULL, &g->error);
    g->program = mdf_compile_changeable(g->model, g->names, 1, NULL, &g->error);
    g->state = mdf_state_new(g->program, &g->error);
    g->other = mdf_state_new(g->program, &g->error);
    g->sweep = mdf_sweep_new(g->program, &g->sweep_options, &g->error);
    g->reduction.kind = MDF_REDUCTION_COUNT;
    g->sweep_options.reductions = &g->reduction;
    g->sweep_options.n_reductions = 1;
    g->reduced = mdf_sweep_new(g->program, &g->sweep_options, &g->error);
    g->sweep_options.n_reductions = 0;
    g->n_saved = mdf_sweep_save_reduced(g->reduced, g->saved, sizeof g->saved);
    g->distribution.b = 1;
    g->value = mdf_value_new_integer(1, &g->error);
    g->items[0] = g->value;
    g->dict = mdf_value_new_dict(g->names, g->items, 1, &g->error);
    g->list = mdf_value_new_list((const mdf_value *const *)&g->dict, 1, &g->error);
    g->failed.code = MDF_VALUE;
    strcpy(g->path, "/tmp/mdf_misuse_XXXXXX.json");
    close(mkstemps(g->path, 5));
    cr_assert(mdf_sweep_run(g->sweep, g->arrays, &g->error) == MDF_OK &&
                  mdf_set_input(g->state, "x", &g->tensor, &g->error) == MDF_OK &&
                  mdf_evaluate(g->state, NAN, &g->error) == MDF_OK &&
                  mdf_set_input(g->state, "x", &g->tensor, &g->error) == MDF_OK && g->dict != NULL,
              "%s", g->error.message);
    cr_assert(mdf_value_tensor(mdf_result_at(g->state, 0), &g->results[0]));
    g->functions = mdf_functions_new(NULL, &g->error);
    g->function = (mdf_function){.name = "lab::nothing", .arguments = no_arguments, .kernel = do_nothing};
    g->diagnostics = mdf_diagnostics_new(NULL, &g->error);
    cr_assert(mdf_diagnostics_add(g->diagnostics, g->model, MDF_SEVERITY_ERROR, &g->failed, &g->error) == MDF_OK &&
              mdf_diagnostics_get(g->diagnostics, 0, &g->diagnostic));
}

static void end(struct given *g)
{
    unlink(g->path);
    mdf_diagnostics_free(g->diagnostics);
    mdf_functions_free(g->functions);
    mdf_value_free(g->list);
    mdf_value_free(g->dict);
    mdf_value_free(g->value);
    mdf_sweep_free(g->sweep);
    mdf_sweep_free(g->reduced);
    mdf_state_free(g->state);
    mdf_state_free(g->other);
    mdf_program_free(g->program);
    mdf_model_free(g->model);
    mdf_model_free(g->smooth);
}

/* ------------------------------------------------------------------ NULL */

static bool is_tried(struct given *g, int pointer)
{
    g->seen |= 1u << pointer;
    return g->tried == pointer;
}

/* Pointers of a call are numbered: first those that must not be NULL, then those that may. */
#define P(pointer, argument) (is_tried(g, (pointer)) ? NULL : (argument))
#define ERROR(pointer) P(pointer, &g->error)
#define OF(function, ...) (function)(__VA_ARGS__)
#define IS_ZERO(answer) ((answer) == 0)
#define IS_NULL(answer) ((answer) == NULL)
#define IS_FALSE(answer) (!(answer))
#define IS_MOST(answer) ((answer) == SIZE_MAX)
#define IS_NOT_A_NUMBER(answer) isnan(answer)

/* All of mdf.h. STATUS and MAKES: function, how many pointers are needed, how many there are, arguments; ASKS has the answer to
 * NULL before these, and DOES returns nothing. A check below sees that no function and no pointer is missing. */
#define CALLS(STATUS, MAKES, ASKS, DOES)                                                                                        \
    ASKS(mdf_version, IS_NULL, 0, 0, )                                                                                          \
    ASKS(mdf_version_number, IS_ZERO, 0, 0, )                                                                                   \
    ASKS(mdf_status_text, IS_NULL, 0, 0, MDF_VALUE)                                                                             \
    ASKS(mdf_error_format, IS_ZERO, 1, 2, P(0, &g->failed), P(1, g->text), sizeof g->text)                                      \
    ASKS(mdf_dtype_name, IS_NULL, 0, 0, MDF_DTYPE_INT8)                                                                         \
    ASKS(mdf_dtype_size, IS_ZERO, 0, 0, MDF_DTYPE_INT8)                                                                         \
    ASKS(mdf_value_kind, IS_ZERO, 1, 1, P(0, g->value))                                                                         \
    ASKS(mdf_value_tensor, IS_FALSE, 1, 2, P(0, g->value), P(1, &g->found))                                                     \
    ASKS(mdf_value_length, IS_ZERO, 1, 1, P(0, g->dict))                                                                        \
    ASKS(mdf_value_item, IS_NULL, 1, 1, P(0, g->dict), 0)                                                                       \
    ASKS(mdf_value_key, IS_NULL, 1, 1, P(0, g->dict), 0)                                                                        \
    ASKS(mdf_value_has_keys, IS_FALSE, 2, 2, P(0, g->dict), P(1, g->names), 1)                                                  \
    ASKS(mdf_value_table, IS_FALSE, 2, 3, P(0, g->list), P(1, &g->found.dtype), P(2, g->text), sizeof g->text)                  \
    MAKES(mdf_value_new_none, 0, 1, ERROR(0))                                                                                   \
    MAKES(mdf_value_new_tensor, 1, 2, P(0, &g->tensor), ERROR(1))                                                               \
    MAKES(mdf_value_new_literal, 1, 2, P(0, &g->tensor), ERROR(1))                                                              \
    MAKES(mdf_value_new_real, 0, 1, 1, ERROR(0))                                                                                \
    MAKES(mdf_value_new_integer, 0, 1, 1, ERROR(0))                                                                             \
    MAKES(mdf_value_new_truth, 0, 1, true, ERROR(0))                                                                            \
    MAKES(mdf_value_new_text, 1, 2, P(0, "text"), ERROR(1))                                                                     \
    MAKES(mdf_value_new_list, 1, 2, P(0, g->items), 1, ERROR(1))                                                                \
    MAKES(mdf_value_new_dict, 2, 3, P(0, g->names), P(1, g->items), 1, ERROR(2))                                                \
    MAKES(mdf_value_keep, 1, 2, P(0, g->value), ERROR(1))                                                                       \
    MAKES(mdf_value_read_file, 1, 4, P(0, "examples/newton_sqrt.json"), P(1, "json"), P(2, &g->options), ERROR(3))              \
    DOES(mdf_value_free, 1, P(0, mdf_value_new_none(NULL)))                                                                     \
    ASKS(mdf_onnx_operator_name, IS_NULL, 0, 0, 0)                                                                              \
    ASKS(mdf_onnx_operator_form, IS_ZERO, 1, 2, P(0, "Gemm"), 13, P(1, g->text), sizeof g->text)                                \
    MAKES(mdf_model_load_file, 1, 2, P(0, "examples/newton_sqrt.json"), ERROR(1))                                               \
    MAKES(mdf_model_load_file_as, 1, 4, P(0, "examples/newton_sqrt.json"), P(1, "json"), P(2, &g->options), ERROR(3))           \
    MAKES(mdf_model_load_bytes, 2, 5, P(0, MODEL), strlen(MODEL), P(1, "json"), P(2, "m"), P(3, &g->options), ERROR(4))         \
    STATUS(mdf_model_save_file, 2, 3, P(0, g->model), P(1, g->path), ERROR(2))                                                  \
    STATUS(mdf_model_save_file_parted, 2, 3, P(0, g->model), P(1, g->path), SIZE_MAX, ERROR(2))                                 \
    DOES(mdf_model_save_onnx, 4, P(0, g->model), P(1, g->path), P(2, &g->options), ERROR(3))                                    \
    ASKS(mdf_model_id, IS_NULL, 1, 1, P(0, g->model))                                                                           \
    ASKS(mdf_model_n_graphs, IS_ZERO, 1, 1, P(0, g->model))                                                                     \
    ASKS(mdf_model_graph_id, IS_NULL, 1, 1, P(0, g->model), 0)                                                                  \
    ASKS(mdf_model_dot, IS_ZERO, 1, 3, P(0, g->model), P(1, mdf_model_graph_id(g->model, 0)), 2, P(2, g->text), sizeof g->text) \
    DOES(mdf_model_free, 1, P(0, mdf_model_load_file("examples/newton_sqrt.json", NULL)))                                       \
    MAKES(mdf_compile, 1, 3, P(0, g->model), P(1, &g->options), ERROR(2))                                                       \
    MAKES(mdf_compile_changeable, 2, 4, P(0, g->model), P(1, g->names), 1, P(2, &g->options), ERROR(3))                         \
    MAKES(mdf_compile_gradient, 3, 5, P(0, g->smooth), P(1, "y"), P(2, g->names), 1, 1, NAN, P(3, &g->options), ERROR(4))       \
    MAKES(mdf_compile_vector_product, 3, 5, P(0, g->smooth), MDF_JACOBIAN_VECTOR, P(1, "y"), P(2, g->names), 1, 1, NAN,         \
          P(3, &g->options), ERROR(4))                                                                                          \
    DOES(mdf_program_free, 1, P(0, mdf_compile(g->model, NULL, NULL)))                                                          \
    ASKS(mdf_program_model_id, IS_NULL, 1, 1, P(0, g->program))                                                                 \
    ASKS(mdf_program_graph_id, IS_NULL, 1, 1, P(0, g->program))                                                                 \
    ASKS(mdf_program_n_nodes, IS_ZERO, 1, 1, P(0, g->program))                                                                  \
    ASKS(mdf_program_node_id, IS_NULL, 1, 1, P(0, g->program), 0)                                                               \
    ASKS(mdf_program_n_outputs, IS_ZERO, 1, 1, P(0, g->program), 0)                                                             \
    ASKS(mdf_program_output_id, IS_NULL, 1, 1, P(0, g->program), 0, 0)                                                          \
    ASKS(mdf_program_n_parts, IS_ZERO, 1, 1, P(0, g->program), 0, MDF_PART_INPUT)                                               \
    ASKS(mdf_program_part_id, IS_NULL, 1, 1, P(0, g->program), 0, MDF_PART_INPUT, 0)                                            \
    ASKS(mdf_program_part_n_values, IS_ZERO, 1, 1, P(0, g->program), 0, MDF_PART_INPUT, 0)                                      \
    ASKS(mdf_program_is_scheduled, IS_FALSE, 1, 1, P(0, g->program))                                                            \
    ASKS(mdf_program_n_layers, IS_ZERO, 1, 1, P(0, g->program))                                                                 \
    ASKS(mdf_program_layer_size, IS_ZERO, 1, 1, P(0, g->program), 0)                                                            \
    ASKS(mdf_program_layer_node, IS_MOST, 1, 1, P(0, g->program), 0, 0)                                                         \
    ASKS(mdf_program_n_graph_inputs, IS_ZERO, 1, 1, P(0, g->program))                                                           \
    ASKS(mdf_program_graph_input_name, IS_NULL, 1, 1, P(0, g->program), 0)                                                      \
    ASKS(mdf_program_n_results, IS_ZERO, 1, 1, P(0, g->program))                                                                \
    ASKS(mdf_program_result_name, IS_NULL, 1, 1, P(0, g->program), 0)                                                           \
    STATUS(mdf_check, 2, 4, P(0, g->model), P(1, g->names), 1, 1, NAN, P(2, &g->options), ERROR(3))                              \
    MAKES(mdf_diagnostics_new, 0, 2, P(0, (const mdf_allocator *)NULL), ERROR(1))                                               \
    DOES(mdf_diagnostics_free, 1, P(0, mdf_diagnostics_new(NULL, NULL)))                                                        \
    DOES(mdf_diagnostics_clear, 1, P(0, g->diagnostics))                                                                        \
    ASKS(mdf_diagnostics_length, IS_ZERO, 1, 1, P(0, g->diagnostics))                                                           \
    ASKS(mdf_diagnostics_n_errors, IS_ZERO, 1, 1, P(0, g->diagnostics))                                                         \
    ASKS(mdf_diagnostics_get, IS_ZERO, 1, 2, P(0, g->diagnostics), 0, P(1, &g->diagnostic))                                     \
    ASKS(mdf_diagnostic_format, IS_ZERO, 1, 2, P(0, &g->diagnostic), 0, P(1, g->text), sizeof g->text)                          \
    STATUS(mdf_diagnostics_add, 2, 4, P(0, g->diagnostics), P(2, g->model), MDF_SEVERITY_ERROR, P(1, &g->failed), ERROR(3))     \
    MAKES(mdf_functions_new, 0, 2, P(0, (const mdf_allocator *)NULL), ERROR(1))                                                 \
    DOES(mdf_functions_free, 1, P(0, mdf_functions_new(NULL, NULL)))                                                            \
    STATUS(mdf_register_function, 2, 3, P(0, g->functions), P(1, &g->function), ERROR(2))                                       \
    DOES(mdf_load_plugin, 3, P(0, g->functions), P(1, "/nosuch.so"), ERROR(2))                                                  \
    DOES(mdf_check_run, 3, P(0, g->program), P(1, g->names), 1, 2, NAN, NULL, P(2, g->text))                                    \
    MAKES(mdf_state_new, 1, 2, P(0, g->program), ERROR(1))                                                                      \
    DOES(mdf_state_free, 1, P(0, mdf_state_new(g->program, NULL)))                                                              \
    STATUS(mdf_state_reset, 1, 2, P(0, g->state), 7, ERROR(1))                                                                  \
    STATUS(mdf_state_copy, 2, 3, P(0, g->other), P(1, g->state), ERROR(2))                                                      \
    STATUS(mdf_set_parameter, 3, 4, P(0, reset(g->state)), P(1, "k"), P(2, &g->number), ERROR(3))                               \
    STATUS(mdf_set_input, 3, 4, P(0, g->state), P(1, "x"), P(2, &g->tensor), ERROR(3))                                          \
    STATUS(mdf_set_inputs, 3, 4, P(0, g->state), P(1, g->inputs), P(2, &g->tensor), 1, ERROR(3))                                \
    STATUS(mdf_lend_input, 3, 4, P(0, g->state), P(1, "x"), P(2, &g->tensor), ERROR(3))                                         \
    STATUS(mdf_set_input_value, 3, 4, P(0, g->state), P(1, "x"), P(2, g->value), ERROR(3))                                      \
    STATUS(mdf_set_input_json, 3, 4, P(0, g->state), P(1, "x"), P(2, "[1, 2]"), ERROR(3))                                       \
    STATUS(mdf_evaluate, 1, 2, P(0, g->state), NAN, ERROR(1))                                                                   \
    STATUS(mdf_evaluate_anew, 3, 4, P(0, g->state), 7, P(1, g->inputs), P(2, &g->tensor), 1, ERROR(3))                          \
    STATUS(mdf_evaluate_series, 3, 6, P(0, g->state), P(1, &g->series), 1, 1, NAN, NAN, 0, P(2, &g->record), 1,                 \
           P(3, &g->n_done), P(4, &g->n_recorded), ERROR(5))                                                                    \
    STATUS(mdf_evaluate_steps, 2, 5, P(0, g->state), 1, NAN, NAN, 0, P(1, &g->record), 1, P(2, &g->n_done),                     \
           P(3, &g->n_recorded), ERROR(4))                                                                                      \
    ASKS(mdf_output, IS_NULL, 3, 3, P(0, g->state), P(1, "n"), P(2, "y"))                                                       \
    ASKS(mdf_output_at, IS_NULL, 1, 1, P(0, g->state), 0, 0)                                                                    \
    ASKS(mdf_result_at, IS_NULL, 1, 1, P(0, g->state), 0)                                                                       \
    ASKS(mdf_results_locate, IS_FALSE, 2, 2, P(0, g->state), P(1, g->results), 1)                                               \
    ASKS(mdf_part_at, IS_NULL, 1, 1, P(0, g->state), 0, MDF_PART_INPUT, 0, 0)                                                   \
    ASKS(mdf_schedule_n_sets, IS_ZERO, 1, 1, P(0, g->state))                                                                    \
    ASKS(mdf_schedule_set_size, IS_ZERO, 1, 1, P(0, g->state), 1)                                                               \
    ASKS(mdf_schedule_node, IS_MOST, 1, 1, P(0, g->state), 1, 0)                                                                \
    ASKS(mdf_schedule_read, IS_ZERO, 1, 2, P(0, g->state), P(1, g->words), sizeof g->words / sizeof *g->words)                  \
    ASKS(mdf_schedule_pass, IS_ZERO, 1, 1, P(0, g->state), 1)                                                                   \
    ASKS(mdf_schedule_time_ms, IS_NOT_A_NUMBER, 1, 1, P(0, g->state), 1)                                                        \
    ASKS(mdf_explain, IS_ZERO, 1, 2, P(0, g->state), P(1, g->text), sizeof g->text)                                             \
    STATUS(mdf_state_inspect, 1, 2, P(0, reset(g->state)), MDF_INSPECT_BODIES | MDF_INSPECT_PROFILE, ERROR(1))                  \
    DOES(mdf_state_bodies, 1, P(0, g->state))                                                                                   \
    DOES(mdf_state_profile, 1, P(0, g->state))                                                                                  \
    DOES(mdf_state_profile_stacks, 2, P(0, g->state), P(1, g->text), sizeof g->text)                                            \
    ASKS(mdf_state_peak_bytes, IS_ZERO, 1, 1, P(0, g->state))                                                                   \
    DOES(mdf_state_interrupt, 1, P(0, g->state))                                                                                \
    DOES(mdf_state_forget_interrupt, 1, P(0, g->state))                                                                         \
    DOES(mdf_ctrl_c_asks, 1, P(0, g->state))                                                                                    \
    DOES(mdf_state_limit_time, 1, P(0, g->state), 1.0)                                                                          \
    MAKES(mdf_sweep_new, 2, 3, P(0, g->program), P(1, &g->sweep_options), ERROR(2))                                             \
    DOES(mdf_sweep_free, 1, P(0, mdf_sweep_new(g->program, &g->sweep_options, NULL)))                                           \
    ASKS(mdf_sweep_n_rows, IS_ZERO, 1, 1, P(0, g->sweep))                                                                       \
    ASKS(mdf_sweep_form, IS_FALSE, 1, 2, P(0, g->sweep), 0, P(1, &g->found))                                                    \
    ASKS(mdf_sweep_reduced_form, IS_FALSE, 1, 2, P(0, g->reduced), 0, P(1, &g->found))                                          \
    ASKS(mdf_explain_sweep, IS_ZERO, 1, 2, P(0, g->sweep), P(1, g->text), sizeof g->text)                                       \
    STATUS(mdf_sweep_reduced, 2, 3, P(0, g->reduced), 0, P(1, g->words), ERROR(2))                                              \
    ASKS(mdf_sweep_save_reduced, IS_ZERO, 1, 2, P(0, g->reduced), P(1, g->saved), sizeof g->saved)                              \
    STATUS(mdf_sweep_add_reduced, 2, 3, P(0, g->reduced), P(1, g->saved), g->n_saved, ERROR(2))                                 \
    STATUS(mdf_sample, 2, 3, MDF_SAMPLING_RANDOM, 1, P(0, &g->distribution), 1, N_ELEMENTS, P(1, g->recorded), ERROR(2))        \
    STATUS(mdf_sweep_run, 2, 3, P(0, g->sweep), P(1, g->arrays), ERROR(2))                                                      \
    ASKS(mdf_sweep_n_done, IS_ZERO, 1, 1, P(0, g->sweep))                                                                       \
    DOES(mdf_sweep_interrupt, 1, P(0, g->sweep))                                                                                \
    ASKS(mdf_sweep_seed, IS_ZERO, 0, 0, 1, 2)

/* A parameter is set before the first evaluation. */
static mdf_state *reset(mdf_state *state)
{
    mdf_state_reset(state, 0, NULL);
    return state;
}

/* Whether the call went as mdf.h says for the pointer that was tried, or for none. */
#define STATUS(function, n_needed, n, ...)                                                                                       \
    static bool try_##function(struct given *g)                                                                                  \
    {                                                                                                                            \
        mdf_status status = OF(function, __VA_ARGS__);                                                                           \
        bool is_refused = g->tried >= 0 && g->tried < (n_needed);                                                                \
        return is_refused ? status == MDF_USAGE && g->error.code == MDF_USAGE && g->error.message[0] != '\0' : status == MDF_OK; \
    }
#define MAKES(function, n_needed, n, ...)                                                                             \
    static bool try_##function(struct given *g)                                                                       \
    {                                                                                                                 \
        const void *made = OF(function, __VA_ARGS__);                                                                 \
        bool is_refused = g->tried >= 0 && g->tried < (n_needed);                                                     \
        return is_refused ? made == NULL && g->error.code == MDF_USAGE && g->error.message[0] != '\0' : made != NULL; \
    }
#define ASKS(function, IS_NOTHING, n_needed, n, ...)                   \
    static bool try_##function(struct given *g)                        \
    {                                                                  \
        bool is_nothing = IS_NOTHING(OF(function, __VA_ARGS__));       \
        return is_nothing == (g->tried >= 0 && g->tried < (n_needed)); \
    }
#define DOES(function, n, ...)                  \
    static bool try_##function(struct given *g) \
    {                                           \
        OF(function, __VA_ARGS__);              \
        return true;                            \
    }
CALLS(STATUS, MAKES, ASKS, DOES)
#undef STATUS
#undef MAKES
#undef ASKS
#undef DOES

static const struct call {
    const char *name;
    int n_pointers;
    bool (*try)(struct given *g);
} calls[] = {
#define ROW(function, n_needed, n, ...) {#function, n, try_##function},
#define ROW_ASKS(function, IS_NOTHING, n_needed, n, ...) {#function, n, try_##function},
#define ROW_DOES(function, n, ...) {#function, n, try_##function},
    CALLS(ROW, ROW, ROW_ASKS, ROW_DOES)};

enum { N_CALLS = sizeof calls / sizeof *calls };

/* In a process of its own, so that a crash has a name. */
static int try_in_child(const struct call *call, int tried)
{
    struct given given, *g = &given;
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool done;

        begin(g);
        g->tried = tried;
        done = call->try(g);
        unlink(g->path);
        _exit(!done ? 1 : g->seen != (1u << call->n_pointers) - 1 ? 2 : 0);
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

Test(misuse, null_for_each_pointer_of_each_function)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        for (int tried = -1; tried < calls[i].n_pointers; tried++) {
            int status = try_in_child(&calls[i], tried);

            cr_expect_eq(status, 0, "%s, pointer %d: signal %d, exit status %d", calls[i].name, tried, WTERMSIG(status),
                         WEXITSTATUS(status));
        }
    }
}

static const struct call *find_call(const char *name, size_t length)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        if (strlen(calls[i].name) == length && strncmp(calls[i].name, name, length) == 0) {
            return &calls[i];
        }
    }
    return NULL;
}

/* Parameters between the brackets of a prototype that are pointers. */
static int count_pointers(const char *open)
{
    int n = 0;
    bool is_pointer = false;

    for (const char *c = open + 1; *c != '\0'; c++) {
        is_pointer = is_pointer || *c == '*';
        if (*c == ',' || *c == ')') {
            n += is_pointer;
            is_pointer = false;
        }
        if (*c == ')') {
            break;
        }
    }
    return n;
}

Test(misuse, every_function_of_the_header_is_tried)
{
    static char text[100000];
    FILE *stream = fopen("mdf_c/mdf.h", "r");
    size_t n_found = 0, length;

    cr_assert_not_null(stream);
    length = fread(text, 1, sizeof text - 1, stream);
    cr_assert(length > 0 && length < sizeof text - 1);
    fclose(stream);
    for (const char *line = strstr(text, "\nMDF_API "); line != NULL; line = strstr(line + 1, "\nMDF_API ")) {
        const char *open = strchr(line, '('), *name = open;
        const struct call *call;

        while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z')) {
            name--;
        }
        call = find_call(name, (size_t)(open - name));
        cr_expect(call != NULL && call->n_pointers == count_pointers(open), "%.*s", (int)(open - name), name);
        n_found++;
    }
    cr_expect_eq(n_found, N_CALLS);
}

/* ------------------------------------------------------------------ arguments that nobody can mean */

static const char *const text_or_null[] = {"a", NULL};

/* What a tensor can not be, or what only seems so (fine). */
static const struct {
    const char *why;
    bool is_fine;
    mdf_dtype dtype;
    size_t rank;
    int64_t shape[4];
    const void *data;
} tensors[] = {
    {"no type", false, MDF_DTYPE_NONE, 1, {2}, "12345678 12345678"},
    {"type 99", false, (mdf_dtype)99, 1, {2}, "12345678 12345678"},
    {"type -1", false, (mdf_dtype)-1, 1, {2}, "12345678 12345678"},
    {"a negative size", false, MDF_DTYPE_INT8, 1, {-1}, "1"},
    {"sizes that overflow", false, MDF_DTYPE_INT8, 4, {65536, 65536, 65536, 65536}, "1"},
    {"bytes that overflow", false, MDF_DTYPE_FLOAT64, 1, {INT64_MAX}, "1"},
    {"more axes than count", false, MDF_DTYPE_INT8, SIZE_MAX, {1}, "1"},
    {"no data", false, MDF_DTYPE_INT8, 1, {1}, NULL},
    {"no data of a number", false, MDF_DTYPE_INT8, 0, {0}, NULL},
    {"a string that is NULL", false, MDF_DTYPE_STRING, 1, {2}, text_or_null},
    {"no data, but no elements", true, MDF_DTYPE_INT8, 1, {0}, NULL},
    {"no data, but a size is 0", true, MDF_DTYPE_INT8, 2, {INT64_MAX, 0}, NULL},
    {"one string", true, MDF_DTYPE_STRING, 1, {1}, text_or_null},
};

static void check_tensor(struct given *g, const mdf_tensor *tensor, bool is_fine, const char *why)
{
    const mdf_status expected = is_fine ? MDF_OK : MDF_USAGE;
    mdf_error error = {0};
    mdf_value *value = mdf_value_new_tensor(tensor, &error);

    cr_expect(error.code == expected && (value != NULL) == is_fine, "value, %s: %s", why, error.message);
    mdf_value_free(value);
    cr_expect_eq(mdf_set_input(g->state, "x", tensor, NULL), expected, "set input, %s", why);
    cr_expect_eq(mdf_lend_input(g->state, "x", tensor, NULL), expected, "lend input, %s", why);
    if (!is_fine) {
        g->swept.values = *tensor;
        cr_expect_null(mdf_sweep_new(g->program, &g->sweep_options, NULL), "sweep, %s", why);
        cr_expect_eq(mdf_set_parameter(reset(g->state), "k", tensor, NULL), MDF_USAGE, "parameter, %s", why);
    }
}

Test(misuse, tensors_that_can_not_be)
{
    const mdf_tensor shapeless = {MDF_DTYPE_INT8, 1, NULL, "1"};
    struct given given;

    begin(&given);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const mdf_tensor tensor = {tensors[i].dtype, tensors[i].rank, tensors[i].shape, tensors[i].data};

        check_tensor(&given, &tensor, tensors[i].is_fine, tensors[i].why);
    }
    check_tensor(&given, &shapeless, false, "no shape");
    end(&given);
}

Test(misuse, records_that_can_not_be)
{
    struct given given;
    const mdf_record fine = (begin(&given), given.record);
    const struct {
        const char *why;
        mdf_record record;
    } records[] = {
        {"no such node", {99, 0, fine.dtype, 1, fine.shape, fine.size_bytes, fine.data}},
        {"no such port", {0, 99, fine.dtype, 1, fine.shape, fine.size_bytes, fine.data}},
        {"no type", {0, 0, MDF_DTYPE_NONE, 1, fine.shape, fine.size_bytes, fine.data}},
        {"strings", {0, 0, MDF_DTYPE_STRING, 1, fine.shape, fine.size_bytes, fine.data}},
        {"no shape", {0, 0, fine.dtype, 1, NULL, fine.size_bytes, fine.data}},
        {"other size", {0, 0, fine.dtype, 1, fine.shape, fine.size_bytes + 1, fine.data}},
        {"no room", {0, 0, fine.dtype, 1, fine.shape, fine.size_bytes, NULL}},
    };

    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        mdf_error error = {0};

        given.n_done = 7;
        cr_expect_eq(mdf_evaluate_steps(given.state, 1, NAN, NAN, 0, &records[i].record, 1, &given.n_done, NULL, &error),
                     MDF_USAGE, "%s", records[i].why);
        cr_expect(error.code == MDF_USAGE && given.n_done == 0, "%s: %s", records[i].why, error.message);
    }
    cr_expect_eq(mdf_evaluate_steps(given.state, UINT64_MAX, NAN, NAN, 0, &fine, 1, NULL, NULL, NULL), MDF_USAGE, "no room");
    end(&given);
}

Test(misuse, positions_past_the_end)
{
    struct given given, *g = &given;

    begin(g);
    cr_expect_null(mdf_model_graph_id(g->model, 1));
    cr_expect_null(mdf_program_node_id(g->program, 1));
    cr_expect_eq(mdf_program_n_outputs(g->program, SIZE_MAX), 0);
    cr_expect_null(mdf_program_output_id(g->program, 0, 1));
    cr_expect_eq(mdf_program_n_parts(g->program, 1, MDF_PART_INPUT), 0);
    cr_expect_eq(mdf_program_n_parts(g->program, 0, (mdf_part)77), 0);
    cr_expect_eq(mdf_program_n_parts(g->program, 0, (mdf_part)-1), 0);
    cr_expect_null(mdf_program_part_id(g->program, 0, MDF_PART_INPUT, 1));
    cr_expect_eq(mdf_program_part_n_values(g->program, 0, MDF_PART_COUNT, 0), 0);
    cr_expect_null(mdf_program_graph_input_name(g->program, 1));
    cr_expect_null(mdf_program_result_name(g->program, 1));
    cr_expect_null(mdf_output(g->state, "n", "misspelt"));
    cr_expect_null(mdf_output_at(g->state, 0, 1));
    cr_expect_null(mdf_output_at(g->state, 1, 0));
    cr_expect_null(mdf_result_at(g->state, 1));
    cr_expect_null(mdf_part_at(g->state, 0, MDF_PART_INPUT, 0, 1));
    cr_expect_null(mdf_part_at(g->state, 0, (mdf_part)99, 0, 0));
    cr_expect_eq(mdf_schedule_set_size(g->state, 99), 0);
    cr_expect_eq(mdf_schedule_node(g->state, 0, 99), SIZE_MAX);
    cr_expect_eq(mdf_schedule_pass(g->state, 99), 0);
    cr_expect(isnan(mdf_schedule_time_ms(g->state, 99)));
    cr_expect_null(mdf_value_item(g->dict, 1));
    cr_expect_null(mdf_value_key(g->dict, 1));
    cr_expect_not(mdf_sweep_form(g->sweep, 1, NULL));
    cr_expect_null(mdf_onnx_operator_name(SIZE_MAX));
    cr_expect_str_eq(mdf_dtype_name((mdf_dtype)99), "none");
    cr_expect_eq(mdf_dtype_size((mdf_dtype)-1), 0);
    cr_expect_str_eq(mdf_status_text((mdf_status)-1), "unknown status");
    end(g);
}

Test(misuse, lists_with_holes)
{
    struct given given, *g = &given;
    const mdf_value *items[2] = {NULL, NULL};
    const char *names[2] = {"k", NULL};
    mdf_error error = {0};

    begin(g);
    items[0] = g->value;
    cr_expect_null(mdf_compile_changeable(g->model, names, 2, NULL, &error));
    cr_expect(error.code == MDF_USAGE && strstr(error.message, "number 1 of the names of parameters") != NULL, "%s",
              error.message);
    mdf_check_run(g->program, names, 2, 2, NAN, NULL, NULL);
    cr_expect_null(mdf_value_new_list(items, 2, NULL));
    cr_expect_null(mdf_value_new_dict(names, g->items, 2, NULL));
    cr_expect_null(mdf_value_new_list(NULL, SIZE_MAX, NULL));
    g->arrays[0] = NULL;
    cr_expect_eq(mdf_sweep_run(g->sweep, g->arrays, NULL), MDF_USAGE);
    g->swept.name = NULL;
    cr_expect_null(mdf_sweep_new(g->program, &g->sweep_options, NULL));
    g->sweep_options.inputs = NULL;
    cr_expect_null(mdf_sweep_new(g->program, &g->sweep_options, NULL));
    end(g);
}

/* ------------------------------------------------------------------ options */

/* What a later header could have. */
struct later_options {
    mdf_options options;
    uint64_t more;
};

static mdf_status status_of_compile(const struct given *g, const mdf_options *options)
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile(g->model, options, &error);

    cr_expect_eq(program != NULL, error.code == MDF_OK);
    mdf_program_free(program);
    return error.code;
}

Test(misuse, options_have_a_size)
{
    struct later_options later = {0};
    struct given given;

    begin(&given);
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_OK, "zeros are the fields of this header");
    later.options.size = sizeof later.options;
    later.more = 1;
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_OK);
    later.options.size = sizeof later;
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_USAGE, "a field that is not known is set");
    later.more = 0;
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_OK);
    later.options.graph = "nope";
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_NAME, "the known fields are read");
    later.options.size = sizeof(size_t);
    cr_expect_eq(status_of_compile(&given, &later.options), MDF_USAGE, "no header had so few");
    end(&given);
}

/* The fields behind a smaller size belong to somebody else. */
Test(misuse, options_are_not_read_behind_their_size)
{
    struct given given;
    mdf_options options = {.size = offsetof(mdf_options, plain) + 1};

    begin(&given);
    memset((char *)&options + options.size, 0xAA, sizeof options - options.size);
    cr_expect_eq(status_of_compile(&given, &options), MDF_OK);
    given.sweep_options.size = 1;
    cr_expect_null(mdf_sweep_new(given.program, &given.sweep_options, &given.error));
    cr_expect_eq(given.error.code, MDF_USAGE);
    end(&given);
}

static void *refuse(void *context, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    return NULL;
}

Test(misuse, options_that_nobody_can_mean)
{
    const mdf_allocator none = {0}, partly = {.allocate = refuse};
    struct given given;

    begin(&given);
    cr_expect_eq(status_of_compile(&given, &(mdf_options){.allocator = &none}), MDF_USAGE);
    cr_expect_eq(status_of_compile(&given, &(mdf_options){.allocator = &partly}), MDF_USAGE);
    cr_expect_eq(status_of_compile(&given, &(mdf_options){.n_threads = -5}), MDF_USAGE);
    cr_expect_eq(status_of_compile(&given, &(mdf_options){.loop_condition = (mdf_loop_condition)77}), MDF_USAGE);
    cr_expect_null(mdf_model_load_bytes(MODEL, strlen(MODEL), "json", "m", &(mdf_options){.allocator = &none}, NULL));
    given.sweep_options.n_threads = -1;
    cr_expect_null(mdf_sweep_new(given.program, &given.sweep_options, NULL));
    end(&given);
}

/* As many as there is use for. */
Test(misuse, a_million_threads)
{
    struct given given;
    mdf_program *program;
    mdf_state *state;

    begin(&given);
    program = mdf_compile(given.model, &(mdf_options){.n_threads = 1000000}, NULL);
    state = mdf_state_new(program, NULL);
    cr_expect_eq(mdf_set_input(state, "x", &given.tensor, NULL), MDF_OK);
    cr_expect_eq(mdf_evaluate(state, NAN, NULL), MDF_OK);
    mdf_state_free(state);
    mdf_program_free(program);
    end(&given);
}

/* ------------------------------------------------------------------ errors and states */

/* A call whose error is set already runs, and neither changes that error nor adds to it. */
Test(misuse, the_first_error_stays_as_it_is)
{
    mdf_error error = {.code = MDF_TYPE, .message = "first"}, before = error;
    mdf_model *model = mdf_model_load_bytes(MODEL, strlen(MODEL), "json", "m.json", NULL, &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);

    cr_assert_not_null(state);
    cr_expect_null(mdf_model_load_bytes("{", 1, "json", "other.json", NULL, &error));
    cr_expect_null(mdf_model_load_file("/nowhere.json", &error));
    cr_expect_null(mdf_compile(model, &(mdf_options){.graph = "nope"}, &error));
    cr_expect_eq(mdf_set_input_json(state, "x", "[", &error), MDF_SYNTAX);
    cr_expect_eq(mdf_set_input_json(state, "x", "1", &error), MDF_OK);
    cr_expect_eq(mdf_set_input_json(state, "misspelt", "1", &error), MDF_NAME);
    cr_expect_eq(mdf_evaluate(state, NAN, &error), MDF_OK);
    cr_expect_eq(memcmp(&error, &before, sizeof error), 0, "%s: %s", error.file, error.message);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}

/* Within an evaluation the caller's functions are called: those of its allocator. */
struct reentry {
    mdf_state *state; /* NULL: nothing is tried */
    mdf_status evaluated, set, reset, copied;
    bool has_values;
    unsigned n_calls;
};

static void try_again(struct reentry *reentry)
{
    mdf_state *state = reentry->state;

    if (state != NULL) {
        reentry->state = NULL;
        reentry->n_calls++;
        reentry->evaluated = mdf_evaluate(state, NAN, NULL);
        reentry->set = mdf_set_input_json(state, "x", "1", NULL);
        reentry->reset = mdf_state_reset(state, 0, NULL);
        reentry->copied = mdf_state_copy(state, state, NULL);
        reentry->has_values = mdf_output(state, "n", "y") != NULL || mdf_result_at(state, 0) != NULL ||
                              mdf_part_at(state, 0, MDF_PART_INPUT, 0, 0) != NULL || mdf_schedule_n_sets(state) > 0;
        mdf_state_free(state);
    }
}

static void *allocate(void *context, size_t size_bytes)
{
    try_again(context);
    return malloc(size_bytes);
}

static void *reallocate(void *context, void *block, size_t size_bytes)
{
    try_again(context);
    return realloc(block, size_bytes);
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(misuse, a_state_that_is_being_evaluated_is_left_alone)
{
    struct reentry reentry = {0};
    const mdf_allocator allocator = {allocate, reallocate, release, &reentry};
    struct given given;
    mdf_program *program;
    mdf_state *state;

    begin(&given);
    program = mdf_compile(given.model, &(mdf_options){.allocator = &allocator}, NULL);
    state = mdf_state_new(program, NULL);
    cr_expect_eq(mdf_set_input(state, "x", &given.tensor, NULL), MDF_OK);
    reentry.state = state;
    cr_expect_eq(mdf_evaluate(state, NAN, NULL), MDF_OK);
    cr_expect(reentry.n_calls == 1 && reentry.evaluated == MDF_USAGE && reentry.set == MDF_USAGE && reentry.reset == MDF_USAGE &&
                  reentry.copied == MDF_USAGE,
              "%u calls: %d %d %d %d", reentry.n_calls, reentry.evaluated, reentry.set, reentry.reset, reentry.copied);
    cr_expect_not(reentry.has_values);
    cr_expect_eq(mdf_set_input(state, "x", &given.tensor, NULL), MDF_OK);
    cr_expect_eq(mdf_evaluate(state, NAN, NULL), MDF_OK);
    cr_expect_not_null(mdf_output(state, "n", "y"));
    mdf_state_free(state);
    mdf_program_free(program);
    end(&given);
}

struct nested_sweep {
    mdf_sweep *sweep;
    void *const *arrays;
    mdf_status status;
};

static bool run_again(void *context, size_t n_done, size_t n_instances)
{
    struct nested_sweep *nested = context;

    if (nested->sweep != NULL) {
        nested->status = mdf_sweep_run(nested->sweep, nested->arrays, NULL);
        mdf_sweep_free(nested->sweep);
    }
    return n_done <= n_instances;
}

Test(misuse, a_sweep_that_is_running_is_left_alone)
{
    struct nested_sweep nested = {0};
    struct given given;
    mdf_sweep *sweep;

    begin(&given);
    given.sweep_options.progress = run_again;
    given.sweep_options.progress_context = &nested;
    sweep = mdf_sweep_new(given.program, &given.sweep_options, &given.error);
    nested = (struct nested_sweep){sweep, given.arrays, MDF_OK};
    cr_expect_eq(mdf_sweep_run(sweep, given.arrays, &given.error), MDF_OK, "%s", given.error.message);
    cr_expect_eq(nested.status, MDF_USAGE);
    mdf_sweep_free(sweep);
    end(&given);
}

/* Not set to zeros before, as it has to be. */
Test(misuse, an_error_that_was_never_written)
{
    mdf_error *error = malloc(sizeof *error);
    char text[64];

    memset(error, 0xAA, sizeof *error);
    cr_expect_null(mdf_model_load_bytes("{", 1, "json", "m", NULL, error));
    cr_expect_gt(mdf_error_format(error, text, sizeof text), 0);
    cr_expect_eq(strlen(text), sizeof text - 1);
    free(error);
}

Test(misuse, versions_agree)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d.%d", MDF_VERSION_MAJOR, MDF_VERSION_MINOR, MDF_VERSION_PATCH);
    cr_expect_str_eq(MDF_VERSION, text);
    cr_expect_str_eq(mdf_version(), MDF_VERSION);
    cr_expect_eq(mdf_version_number(), MDF_VERSION_NUMBER);
    cr_expect_geq(MDF_VERSION_NUMBER, 100, "0.1.0");
}
