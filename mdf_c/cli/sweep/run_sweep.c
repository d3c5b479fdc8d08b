/* run_sweep.c - see run_sweep.h. What the command line says goes before what the file says: --steps, --dt, --record, --seed, and
 * --input for inputs that the file does not give. */
#include "mdf_c/cli/sweep/run_sweep.h"

#include "mdf_c/cli/sweep/sweep_run.h"

#include "mdf_c/base/stop.h"
#include "mdf_c/run/explain.h"
#include "mdf_c/run/sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool sweep_out_of_memory(struct sweep_run *run)
{
    mdf_memory_error(run->memory, run->error);
    return false;
}

bool sweep_usage(struct sweep_run *run, const char *why)
{
    mdf_error_set(run->error, MDF_USAGE, "%s", why);
    mdf_error_at(run->error, run->options->sweep_path, 0, 0);
    return false;
}

/* ------------------------------------------------------------------ the instances */

static size_t n_values(const struct sweep_entry *entry)
{
    return (size_t)mdf_value_shape(&entry->values)[0];
}

static bool count_instances(struct sweep_run *run)
{
    const struct sweep_file *file = &run->file;
    size_t i;

    run->n_instances = file->is_grid ? 1 : n_values(&file->swept[0]);
    for (i = 0; i < file->n_swept; i++) {
        if (file->is_grid && !mdf_size_multiply(run->n_instances, n_values(&file->swept[i]), &run->n_instances)) {
            return sweep_usage(run, "the grid has too many instances");
        }
        if (!file->is_grid && n_values(&file->swept[i]) != run->n_instances) {
            mdf_error_set(run->error, MDF_VALUE,
                          "to be combined one by one (zip), names need equally many values: '%s' has %zu and '%s' has %zu",
                          file->swept[0].name, run->n_instances, file->swept[i].name, n_values(&file->swept[i]));
            mdf_error_at(run->error, run->options->sweep_path, 0, 0);
            return false;
        }
    }
    return true;
}

/* Whether a name is a parameter of a node, which goes before an input of that name; whether it is an input. */
static bool has_part(const mdf_program *program, mdf_part kind, const char *name)
{
    size_t node, i;

    for (node = 0; node < mdf_program_n_nodes(program); node++) {
        const char *id = mdf_program_node_id(program, node);
        size_t length = strlen(id);

        for (i = 0; i < mdf_program_n_parts(program, node, kind); i++) {
            const char *part = mdf_program_part_id(program, node, kind, i);

            if (strcmp(part, name) == 0 ||
                (strncmp(name, id, length) == 0 && name[length] == '.' && strcmp(name + length + 1, part) == 0)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_input(const mdf_program *program, const char *name)
{
    bool found = has_part(program, MDF_PART_INPUT, name);
    size_t i;

    for (i = 0; i < mdf_program_n_graph_inputs(program) && !found; i++) {
        found = strcmp(mdf_program_graph_input_name(program, i), name) == 0;
    }
    return found && !has_part(program, MDF_PART_PARAMETER, name);
}

static bool compile(struct sweep_run *run, const mdf_model *model)
{
    const char **names = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *names);
    mdf_options options = run->options->library;
    size_t n = 0, i;

    if (names == NULL) {
        return sweep_out_of_memory(run);
    }
    for (i = 0; i < run->file.n_swept; i++) {
        if (!is_input(run->plain, run->file.swept[i].name)) {
            names[n++] = run->file.swept[i].name;
        }
    }
    options.warning = NULL; /* they have been told */
    run->program = mdf_compile_changeable(model, names, n, &options, run->error);
    return run->program != NULL;
}

/* ------------------------------------------------------------------ values */

static void view(mdf_sweep_values *values, const char *name, unsigned axes, const struct mdf_value *array)
{
    *values = (mdf_sweep_values){.name = name,
                                 .axes = axes | (array->strength == MDF_STRENGTH_TYPED ? MDF_SWEEP_TYPED : 0),
                                 .values = {(mdf_dtype)array->dtype, array->rank, mdf_value_shape(array), array->data}};
}

/* Bytes of one value of a swept name. */
static size_t size_of_one(const struct sweep_entry *entry)
{
    return entry->values.length / n_values(entry) * mdf_dtype_size((mdf_dtype)entry->values.dtype);
}

/* Room for the value of each instance that is held, in a row. */
static bool spread(struct sweep_run *run, size_t index, mdf_sweep_values *values)
{
    struct sweep_entry *entry = &run->file.swept[index];
    int64_t *shape = mdf_arena_array(&run->file.arena, entry->values.rank, sizeof *shape);
    size_t total;

    run->spread[index] = (struct sweep_spread){shape, NULL};
    if (mdf_size_multiply(size_of_one(entry), run->capacity, &total)) {
        run->spread[index].data = mdf_arena_allocate(&run->file.arena, total);
    }
    if (shape == NULL || run->spread[index].data == NULL) {
        return sweep_out_of_memory(run);
    }
    view(values, entry->name, MDF_SWEEP_PER_INSTANCE, &entry->values);
    memcpy(shape, values->values.shape, entry->values.rank * sizeof *shape);
    shape[0] = (int64_t)run->capacity;
    values->values.shape = shape;
    values->values.data = run->spread[index].data;
    return true;
}

static void fill_values(struct sweep_run *run, size_t first, size_t n)
{
    const struct sweep_report grid = {.is_grid = run->file.is_grid, .swept = run->grid, .n_swept = run->file.n_swept};
    struct sweep_entry *swept = run->file.swept;
    size_t index, i;

    for (index = 0; index < run->file.n_swept; index++) {
        size_t size = size_of_one(&swept[index]);

        for (i = 0; i < n && size > 0; i++) {
            memcpy(run->spread[index].data + i * size,
                   (const char *)swept[index].values.data + sweep_position(&grid, index, first + i) * size, size);
        }
    }
}

/* An input of --input that the file does not give. */
static bool add_input(struct sweep_run *run, size_t index, mdf_sweep_values *inputs)
{
    const char *name = mdf_value_key(&run->inputs.single, index);
    const struct mdf_value *value = mdf_value_item(&run->inputs.single, index);
    size_t i;

    for (i = 0; i < run->asked.n_inputs && strcmp(inputs[i].name, name) != 0; i++) {
    }
    if (i < run->asked.n_inputs) {
        mdf_error_set(run->error, MDF_USAGE, "--input %s: the sweep file gives this input too", name);
        return false;
    }
    if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
        mdf_error_set(run->error, MDF_VALUE, "--input %s: an input of a sweep must be a number or an array of numbers", name);
        return false;
    }
    view(&inputs[run->asked.n_inputs++], name, 0, value);
    return true;
}

static bool collect_values(struct sweep_run *run)
{
    const struct sweep_file *file = &run->file;
    size_t n_single = run->inputs.single.length, i;
    mdf_sweep_values *parameters = mdf_arena_array(&run->file.arena, file->n_swept, sizeof *parameters);
    mdf_sweep_values *inputs = mdf_arena_array(&run->file.arena, file->n_swept + file->n_given + n_single, sizeof *inputs);

    run->spread = mdf_arena_array(&run->file.arena, file->n_swept, sizeof *run->spread);
    run->grid = mdf_arena_array(&run->file.arena, file->n_swept, sizeof *run->grid);
    if (parameters == NULL || inputs == NULL || run->spread == NULL || run->grid == NULL) {
        return sweep_out_of_memory(run);
    }
    run->asked.n_parameters = run->asked.n_inputs = 0;
    run->asked.parameters = parameters;
    run->asked.inputs = inputs;
    for (i = 0; i < file->n_swept; i++) {
        bool goes_in = is_input(run->plain, file->swept[i].name);

        run->grid[i].values = file->swept[i].values;
        if (!spread(run, i, goes_in ? &inputs[run->asked.n_inputs++] : &parameters[run->asked.n_parameters++])) {
            return false;
        }
    }
    for (i = 0; i < file->n_given; i++) {
        view(&inputs[run->asked.n_inputs++], file->given[i].name, file->by_step ? MDF_SWEEP_PER_STEP : 0, &file->given[i].values);
    }
    for (i = 0; i < n_single; i++) {
        if (!add_input(run, i, inputs)) {
            return false;
        }
    }
    return true;
}

static bool are_seeds_listed(const struct sweep_run *run)
{
    return run->options->library.seed == 0 && run->file.seeds.kind == MDF_KIND_TENSOR && run->file.seeds.rank > 0;
}

static bool collect_seeds(struct sweep_run *run)
{
    const struct mdf_value *given = &run->file.seeds;

    if (are_seeds_listed(run) && (given->rank != 1 || given->length != run->n_instances)) {
        mdf_error_set(run->error, MDF_VALUE, "'seeds' has %zu numbers for %zu instances: give one number, or one an instance",
                      given->length, run->n_instances);
        mdf_error_at(run->error, run->options->sweep_path, 0, 0);
        return false;
    }
    mdf_memory_release(run->memory, run->seeds);
    run->seeds = mdf_memory_allocate_zeroed(run->memory, run->capacity, sizeof *run->seeds);
    run->asked.seeds = run->seeds;
    return run->seeds != NULL || sweep_out_of_memory(run);
}

static void fill_seeds(struct sweep_run *run, size_t first, size_t n)
{
    const struct mdf_value *given = &run->file.seeds;
    bool are_listed = are_seeds_listed(run);
    uint64_t seed = run->options->library.seed;
    size_t i;

    if (seed == 0 && given->kind == MDF_KIND_TENSOR && given->rank == 0) {
        seed = (uint64_t) * (const int64_t *)given->data;
    }
    for (i = 0; i < n; i++) {
        run->seeds[i] = are_listed ? (uint64_t)((const int64_t *)given->data)[first + i] : mdf_sweep_seed(seed, first + i);
    }
}

void take_instances(struct sweep_run *run, size_t first, size_t n)
{
    size_t i;

    fill_values(run, first, n);
    fill_seeds(run, first, n);
    for (i = 0; i < run->file.n_swept; i++) {
        run->spread[i].shape[0] = (int64_t)n;
    }
    run->asked.first_instance = first;
    run->asked.n_instances = n;
}

bool hold_instances(struct sweep_run *run, size_t capacity)
{
    run->capacity = capacity;
    if (!collect_values(run) || !collect_seeds(run)) {
        return false;
    }
    take_instances(run, 0, capacity);
    return true;
}

static bool collect_records(struct sweep_run *run)
{
    mdf_record *records = mdf_arena_array(&run->file.arena, run->ports.n_columns, sizeof *records);
    size_t i;

    if (records == NULL) {
        return sweep_out_of_memory(run);
    }
    for (i = 0; i < run->ports.n_columns; i++) {
        records[i] = (mdf_record){.node = run->ports.columns[i].node, .output = run->ports.outputs[i], .dtype = MDF_DTYPE_NONE};
    }
    run->asked.records = records;
    run->asked.n_records = run->ports.n_columns;
    return true;
}

/* ------------------------------------------------------------------ running */

static bool show(void *context, size_t n_done, size_t n_instances)
{
    struct sweep_run *run = context;

    (void)n_instances;
    show_progress(&run->bar, (double)(run->n_before + n_done));
    return mdf_clock_s() < run->end_s;
}

static bool take_options(struct sweep_run *run)
{
    const struct run_options *options = run->options;
    mdf_sweep_options *asked = &run->asked;

    asked->n_steps = options->n_steps > 1 || run->file.n_steps == 0 ? options->n_steps : run->file.n_steps;
    asked->dt = isnan(options->dt) ? run->file.dt : options->dt;
    asked->record_every = options->trace && !run->file.has_every ? 1 : run->file.every;
    asked->n_threads = options->library.n_threads;
    asked->progress = show;
    asked->progress_context = run;
    if (run->file.by_step && run->file.n_given_steps != asked->n_steps) {
        mdf_error_set(run->error, MDF_VALUE, "'inputs' has %zu entries for %llu steps: give one a step, or one object for all",
                      run->file.n_given_steps, (unsigned long long)asked->n_steps);
        mdf_error_at(run->error, options->sweep_path, 0, 0);
        return false;
    }
    return asked->record_every <= asked->n_steps ||
           sweep_usage(run, "'every' is more than the number of steps: nothing would be recorded");
}

/* The arrays that the results go to. */
bool make_results(struct sweep_run *run, void **arrays)
{
    size_t i, j;

    run->results = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *run->results);
    if (run->results == NULL) {
        return sweep_out_of_memory(run);
    }
    for (i = 0; i < run->asked.n_records; i++) {
        mdf_tensor form;
        int64_t *shape;

        if (!mdf_sweep_form(run->sweep, i, &form)) {
            return sweep_usage(run, "there is nothing to record");
        }
        shape = mdf_arena_array(&run->file.arena, form.rank + 2, sizeof *shape);
        if (shape == NULL) {
            return sweep_out_of_memory(run);
        }
        shape[0] = (int64_t)run->capacity;
        shape[1] = (int64_t)mdf_sweep_n_rows(run->sweep);
        for (j = 0; j < form.rank; j++) {
            shape[j + 2] = form.shape[j];
        }
        arrays[i] = mdf_value_make_tensor(run->memory, &run->results[i], form.dtype, form.rank + 2, shape);
        if (arrays[i] == NULL) {
            return sweep_out_of_memory(run);
        }
    }
    return true;
}

static bool evaluate(struct sweep_run *run)
{
    void **arrays = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *arrays);
    bool done;

    if (arrays == NULL) {
        return sweep_out_of_memory(run);
    }
    run->sweep = mdf_sweep_new(run->program, &run->asked, run->error);
    if (run->sweep == NULL || !make_results(run, arrays)) {
        return false;
    }
    run->sweep->n_lanes = (size_t)run->options->n_lanes;
    if (run->options->check) {
        return true;
    }
    start_progress(&run->bar, run->options->progress, (double)run->n_instances);
    done = mdf_sweep_run(run->sweep, arrays, run->error) == MDF_OK;
    end_progress(&run->bar);
    return done;
}

/* ------------------------------------------------------------------ output */

/* Names of what was swept and of what was recorded; one that is both gets "swept." before it where it was swept. */
bool name_columns(struct sweep_run *run, struct sweep_column *swept, struct sweep_column *recorded)
{
    size_t i, j;

    for (i = 0; i < run->asked.n_records; i++) {
        const struct mdf_column *port = &run->ports.columns[i];

        recorded[i].name = port->result != NULL ? port->result
                                                : mdf_arena_printf(&run->file.arena, "%s.%s", port->node_id, port->port_id);
        recorded[i].values = run->results[i];
        if (recorded[i].name == NULL) {
            return sweep_out_of_memory(run);
        }
    }
    for (i = 0; i < run->file.n_swept; i++) {
        swept[i].name = run->file.swept[i].name;
        swept[i].values = run->file.swept[i].values;
        for (j = 0; j < run->asked.n_records; j++) {
            if (strcmp(swept[i].name, recorded[j].name) == 0) {
                swept[i].name = mdf_arena_printf(&run->file.arena, "swept.%s", swept[i].name);
            }
        }
        if (swept[i].name == NULL) {
            return sweep_out_of_memory(run);
        }
    }
    return true;
}

typedef mdf_status (*sweep_writer)(struct mdf_text *text, const struct sweep_report *report, mdf_error *error);

static sweep_writer writer_of(const char *path)
{
    const char *suffix = path != NULL ? strrchr(path, '.') : NULL;

    return suffix != NULL && strcmp(suffix, ".csv") == 0   ? write_sweep_csv
           : suffix != NULL && strcmp(suffix, ".npz") == 0 ? write_sweep_npz
                                                           : write_sweep_json;
}

static bool save(struct sweep_run *run, const struct mdf_text *text)
{
    const char *path = run->options->output_path;

    if (path != NULL) {
        return mdf_save_file(run->memory, path, text->bytes, text->length, run->error) == MDF_OK;
    }
    return print_output(text->bytes, text->length, run->error) == MDF_OK;
}

struct sweep_report describe_sweep(const struct sweep_run *run, const struct sweep_column *swept,
                                   const struct sweep_column *recorded)
{
    return (struct sweep_report){.model = mdf_program_model_id(run->program),
                                 .graph = mdf_program_graph_id(run->program),
                                 .n_steps = run->asked.n_steps,
                                 .every = run->asked.record_every,
                                 .dt = run->asked.dt,
                                 .is_grid = run->file.is_grid,
                                 .n_instances = run->n_instances,
                                 .n_rows = mdf_sweep_n_rows(run->sweep),
                                 .swept = swept,
                                 .recorded = recorded,
                                 .n_swept = run->file.n_swept,
                                 .n_recorded = run->asked.n_records,
                                 .seeds = run->seeds};
}

static bool write_results(struct sweep_run *run)
{
    struct sweep_column *swept = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *swept);
    struct sweep_column *recorded = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *recorded);
    struct sweep_report report;
    struct mdf_text text;
    bool done;

    if (swept == NULL || recorded == NULL) {
        return sweep_out_of_memory(run);
    }
    if (!name_columns(run, swept, recorded)) {
        return false;
    }
    report = describe_sweep(run, swept, recorded);
    mdf_text_init(&text, run->memory);
    done = writer_of(run->options->output_path)(&text, &report, run->error) == MDF_OK && save(run, &text);
    mdf_text_release(&text);
    return done;
}

/* ------------------------------------------------------------------ all of it */

/* What is asked for, with all instances held but where they go to a store, which first sees but one. */
static bool collect(struct sweep_run *run)
{
    size_t capacity = is_store(run->options->output_path) ? 1 : run->n_instances;

    return hold_instances(run, capacity) && collect_records(run) && take_options(run);
}

/* In place of the results, which a file still gets. */
static bool explain(struct sweep_run *run)
{
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, run->memory);
    done = (mdf_sweep_explain(&text, run->sweep) || sweep_out_of_memory(run)) &&
           print_output(text.bytes, text.length, run->error) == MDF_OK;
    mdf_text_release(&text);
    return done;
}

static bool evaluate_and_write(struct sweep_run *run, const mdf_model *model)
{
    if (is_store(run->options->output_path) && !run->options->check) {
        return run_into_store(run, model);
    }
    return evaluate(run) && (!run->options->explain || explain(run)) &&
           (run->options->check || (run->options->explain && run->options->output_path == NULL) || write_results(run));
}

static int perform(struct sweep_run *run, const mdf_model *model)
{
    const char *record = run->options->record;
    struct warning_printer printer = *(const struct warning_printer *)run->options->library.warning_context;
    int exit_status;

    if (!read_sweep_file(&run->file, run->memory, run->options->sweep_path, &run->options->library, run->error) ||
        !count_instances(run)) {
        return EXIT_MODEL;
    }
    if (run->options->strict && ((const struct warning_printer *)run->options->library.warning_context)->n_warnings > 0) {
        return EXIT_MODEL;
    }
    printer.n_warnings = 0;
    exit_status = load_run_inputs(&run->inputs, run->memory, run->options, &printer, run->error);
    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    record = record != NULL ? record : run->file.record;
    if (!compile(run, model)) {
        return EXIT_MODEL;
    }
    exit_status = choose_ports(&run->ports, run->memory, run->program, "--record", record, run->error);
    if (exit_status != EXIT_DONE) {
        return exit_status;
    }
    if (!collect(run)) {
        return EXIT_MODEL;
    }
    if (!check_run_inputs(&run->inputs, run->program, run->asked.inputs, run->asked.n_inputs, run->asked.n_steps,
                          run->asked.dt)) {
        sweep_out_of_memory(run);
        return EXIT_MODEL;
    }
    if (printer.strict && printer.n_warnings > 0) {
        return EXIT_MODEL;
    }
    return evaluate_and_write(run, model) ? EXIT_DONE : EXIT_MODEL;
}

int run_sweep(struct mdf_memory *memory, const struct run_options *options, const mdf_model *model, const mdf_program *program,
              mdf_error *error)
{
    struct sweep_run run = {.memory = memory, .options = options, .plain = program, .end_s = INFINITY, .error = error};
    int exit_status;
    size_t i;

    mdf_arena_init(&run.file.arena, memory);
    exit_status = perform(&run, model);
    for (i = 0; run.results != NULL && i < run.asked.n_records; i++) {
        mdf_value_clear(memory, &run.results[i]);
    }
    mdf_sweep_free(run.sweep);
    release_ports(&run.ports);
    if (run.inputs.memory != NULL) {
        release_run_inputs(&run.inputs);
    }
    mdf_program_free(run.program);
    mdf_memory_release(memory, run.seeds);
    release_sweep_file(&run.file);
    return exit_status;
}
