/* run_sweep.c - see run_sweep.h. What the command line says goes before what the file says: --steps, --dt, --record, --seed, and
 * --input for inputs that the file does not give. */
#include "mdf_c/cli/sweep/run_sweep.h"

#include "mdf_c/cli/sweep/sweep_run.h"

#include "mdf_c/base/stop.h"
#include "mdf_c/run/dump.h"
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

static bool usage_at(struct sweep_run *run, struct sweep_place place, const char *why)
{
    mdf_error_set(run->error, MDF_USAGE, "%s", why);
    mdf_error_at(run->error, run->options->sweep_path, place.line, place.column);
    return false;
}

bool sweep_usage(struct sweep_run *run, const char *why)
{
    return usage_at(run, (struct sweep_place){0}, why);
}

/* ------------------------------------------------------------------ the instances */

/* Whether a name is a parameter of a node, which goes before an input of that name; whether it is an input. */
static bool has_part(const mdf_program *program, mdf_part kind, const char *name)
{
    for (size_t node = 0; node < mdf_program_n_nodes(program); node++) {
        const char *id = mdf_program_node_id(program, node);
        size_t length = strlen(id);

        for (size_t i = 0; i < mdf_program_n_parts(program, node, kind); i++) {
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

    for (size_t i = 0; i < mdf_program_n_graph_inputs(program) && !found; i++) {
        found = strcmp(mdf_program_graph_input_name(program, i), name) == 0;
    }
    return found && !has_part(program, MDF_PART_PARAMETER, name);
}

/* What is told of the expression of `stop_when` (mdf_options.stop_when, by that name) is told of the file that has it. */
static void place_stop_when(const struct sweep_run *run)
{
    const struct sweep_place place = run->file.stop_when_place;
    mdf_error *error = run->error;

    if (run->file.stop_when == NULL || strcmp(error->path, "option 'stop_when'") != 0) {
        return;
    }
    if (strcmp(error->file, "stop_when") == 0 && error->line == 1) {
        error->line = place.line;
        error->column += place.column - 1;
        error->file[0] = '\0';
    }
    mdf_error_at(error, run->options->sweep_path, place.line, place.column);
    error->path[0] = '\0';
    mdf_error_in(error, "key 'stop_when'");
}

/* An error of a name that the model has not, where the file has that name. */
static void place_name(struct sweep_run *run)
{
    const struct sweep_file *file = &run->file;

    place_stop_when(run);
    for (size_t i = 0; run->error->code == MDF_NAME && i < file->n_swept + file->n_given; i++) {
        const struct sweep_entry *entry = i < file->n_swept ? &file->swept[i] : &file->given[i - file->n_swept];
        const char *quoted = mdf_arena_printf(&run->file.arena, "'%s'", entry->name);

        if (quoted != NULL && strstr(run->error->message, quoted) != NULL) {
            mdf_error_at(run->error, run->options->sweep_path, entry->place.line, entry->place.column);
        }
    }
}

static bool compile(struct sweep_run *run, const mdf_model *model)
{
    const char **names = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *names);
    mdf_options options = run->options->library;
    size_t n = 0;

    if (names == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < run->file.n_swept; i++) {
        if (!is_input(run->plain, run->file.swept[i].name)) {
            names[n++] = run->file.swept[i].name;
        }
    }
    options.warning = NULL;     /* they have been told */
    options.diagnostics = NULL; /* what is wrong is told with its place in the sweep file */
    options.stop_when = run->file.stop_when;
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
    size_t n_single = run->inputs.single.length;
    mdf_sweep_values *parameters = mdf_arena_array(&run->file.arena, file->n_swept, sizeof *parameters);
    mdf_sweep_values *inputs = mdf_arena_array(&run->file.arena, file->n_swept + file->n_given + n_single, sizeof *inputs);

    size_t *grid = mdf_arena_array(&run->file.arena, file->n_axes, sizeof *grid);

    if (parameters == NULL || inputs == NULL || grid == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < file->n_axes; i++) {
        grid[i] = file->axes[i].length;
    }
    run->asked.grid = grid;
    run->asked.n_grid = file->n_axes;
    run->asked.parameters = parameters;
    run->asked.inputs = inputs;
    for (size_t i = 0; i < file->n_swept; i++) {
        bool goes_in = is_input(run->plain, file->swept[i].name);

        view(goes_in ? &inputs[run->asked.n_inputs++] : &parameters[run->asked.n_parameters++], file->swept[i].name,
             MDF_SWEEP_PER_INSTANCE | MDF_SWEEP_ALONG(file->swept[i].axis), &file->swept[i].values);
    }
    for (size_t i = 0; i < file->n_given; i++) {
        view(&inputs[run->asked.n_inputs++], file->given[i].name, file->by_step ? MDF_SWEEP_PER_STEP : 0, &file->given[i].values);
    }
    for (size_t i = 0; i < n_single; i++) {
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

static bool check_seeds(struct sweep_run *run)
{
    const struct mdf_value *given = &run->file.seeds;

    if (are_seeds_listed(run) && (given->rank != 1 || given->length != run->file.n_instances)) {
        mdf_error_set(run->error, MDF_VALUE, "'seeds' has %zu numbers for %zu instances: give one number, or one an instance",
                      given->length, run->file.n_instances);
        mdf_error_at(run->error, run->options->sweep_path, run->file.seeds_place.line, run->file.seeds_place.column);
        return false;
    }
    return true;
}

bool hold_instances(struct sweep_run *run, size_t capacity)
{
    run->capacity = capacity;
    if (run->file.n_reductions > 0) { /* nothing is told of each */
        return true;
    }
    mdf_memory_release(run->memory, run->seeds);
    run->seeds = mdf_memory_allocate_zeroed(run->memory, capacity, sizeof *run->seeds);
    return run->seeds != NULL || sweep_out_of_memory(run);
}

void take_instances(struct sweep_run *run, size_t first, size_t n)
{
    const struct mdf_value *given = &run->file.seeds;
    bool are_listed = are_seeds_listed(run);

    run->asked.seed = run->options->library.seed;
    if (run->asked.seed == 0 && given->kind == MDF_KIND_TENSOR && given->rank == 0) {
        run->asked.seed = (uint64_t) * (const int64_t *)given->data;
    }
    run->asked.seeds = are_listed ? (const uint64_t *)given->data + first : NULL;
    run->asked.first_instance = first;
    run->asked.n_instances = n;
    for (size_t i = 0; run->seeds != NULL && i < n; i++) {
        run->seeds[i] = are_listed ? run->asked.seeds[i] : mdf_sweep_seed(run->asked.seed, first + i);
    }
}

static bool collect_records(struct sweep_run *run)
{
    mdf_record *records = mdf_arena_array(&run->file.arena, run->ports.n_columns, sizeof *records);

    if (records == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < run->ports.n_columns; i++) {
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
    asked->n_lanes = (size_t)options->n_lanes;
    asked->progress = show;
    asked->progress_context = run;
    if (run->file.by_step && run->file.n_given_steps != asked->n_steps) {
        mdf_error_set(run->error, MDF_VALUE, "'inputs' has %zu entries for %llu steps: give one a step, or one object for all",
                      run->file.n_given_steps, (unsigned long long)asked->n_steps);
        mdf_error_at(run->error, options->sweep_path, run->file.inputs_place.line, run->file.inputs_place.column);
        return false;
    }
    return asked->record_every <= asked->n_steps ||
           usage_at(run, run->file.every_place, "'every' is more than the number of steps: nothing would be recorded");
}

bool keep_forms(struct sweep_run *run)
{
    mdf_record *records = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *records);

    if (records == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < run->asked.n_records; i++) {
        mdf_tensor form = {0};
        int64_t *shape;

        if (!mdf_sweep_form(run->sweep, i, &form)) {
            return sweep_usage(run, "there is nothing to record");
        }
        shape = mdf_arena_array(&run->file.arena, form.rank + 1, sizeof *shape);
        if (shape == NULL) {
            return sweep_out_of_memory(run);
        }
        memcpy(shape, form.shape, form.rank * sizeof *shape);
        records[i] = run->asked.records[i];
        records[i].dtype = form.dtype;
        records[i].rank = form.rank;
        records[i].shape = shape;
    }
    run->asked.records = records;
    return true;
}

/* Room for what one record, or when instances stopped (`form` of no axes), gives. */
static void *make_result(struct sweep_run *run, const mdf_tensor *form, size_t n_rows)
{
    int64_t *shape = mdf_arena_array(&run->file.arena, form->rank + 2, sizeof *shape);

    if (shape == NULL) {
        return NULL;
    }
    shape[0] = (int64_t)run->capacity;
    shape[1] = (int64_t)n_rows;
    for (size_t j = 0; j < form->rank; j++) {
        shape[j + 2] = form->shape[j];
    }
    return mdf_value_make_tensor(run->memory, &run->results[run->n_results++], form->dtype, form->rank + 2, shape);
}

bool make_results(struct sweep_run *run, void **arrays)
{
    static const mdf_tensor step = {.dtype = MDF_DTYPE_INT64}, time = {.dtype = MDF_DTYPE_FLOAT64};

    run->results = mdf_arena_array(&run->file.arena, run->asked.n_records + 2, sizeof *run->results);
    if (run->results == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < run->asked.n_records; i++) {
        mdf_tensor form;

        if (!mdf_sweep_form(run->sweep, i, &form)) {
            return sweep_usage(run, "there is nothing to record");
        }
        arrays[i] = make_result(run, &form, mdf_sweep_n_rows(run->sweep));
        if (arrays[i] == NULL) {
            return sweep_out_of_memory(run);
        }
    }
    if (run->file.stop_when != NULL) {
        run->asked.stopped_steps = make_result(run, &step, 1);
        return (run->asked.stopped_steps != NULL && make_result(run, &time, 1) != NULL) || sweep_out_of_memory(run);
    }
    return true;
}

void tell_stopped_times(struct sweep_run *run)
{
    double *times = run->file.stop_when != NULL ? run->results[run->n_results - 1].data : NULL;

    for (size_t i = 0; times != NULL && i < run->asked.n_instances; i++) {
        int64_t step = run->asked.stopped_steps[i];

        times[i] = step < 0 ? NAN : run->asked.dt * (double)(step - 1);
    }
}

/* The sweep of the instances that are asked for. */
static bool make_sweep(struct sweep_run *run)
{
    mdf_sweep_free(run->sweep);
    run->sweep = mdf_sweep_new(run->program, &run->asked, run->error);
    if (run->sweep != NULL && run->dump != NULL) {
        mdf_sweep_dump(run->sweep, run->dump);
    }
    return run->sweep != NULL;
}

static bool evaluate(struct sweep_run *run)
{
    void **arrays = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *arrays);
    bool is_reduced = run->file.n_reductions > 0, done;

    if (arrays == NULL) {
        return sweep_out_of_memory(run);
    }
    if (!make_sweep(run)) {
        return false;
    }
    if (!is_reduced) { /* the array of the steps is asked for in the sweep that runs */
        run->asked.stopped_steps = NULL;
        if (!make_results(run, arrays) || (run->asked.stopped_steps != NULL && (!keep_forms(run) || !make_sweep(run)))) {
            return false;
        }
    }
    if (run->options->check) {
        return true;
    }
    start_progress(&run->bar, run->options->progress, (double)run->file.n_instances);
    done = mdf_sweep_run(run->sweep, is_reduced ? NULL : arrays, run->error) == MDF_OK;
    end_progress(&run->bar);
    if (!is_reduced) {
        tell_stopped_times(run);
    }
    return done;
}

/* ------------------------------------------------------------------ output */

/* Names of what was swept and of what was recorded; one that is both gets "swept." before it where it was swept. */
bool name_columns(struct sweep_run *run, struct sweep_column *swept, struct sweep_column *recorded)
{
    static const char *const stopped[] = {"stopped_step", "stopped_time"};

    for (size_t i = 0; i < run->n_results; i++) {
        const struct mdf_column *port = i < run->asked.n_records ? &run->ports.columns[i] : NULL;

        recorded[i].name = port == NULL           ? stopped[i - run->asked.n_records]
                           : port->result != NULL ? port->result
                                                  : mdf_arena_printf(&run->file.arena, "%s.%s", port->node_id, port->port_id);
        recorded[i].values = run->results[i];
        recorded[i].is_once = port == NULL;
        if (recorded[i].name == NULL) {
            return sweep_out_of_memory(run);
        }
    }
    for (size_t i = 0; i < run->file.n_swept; i++) {
        swept[i].name = run->file.swept[i].name;
        swept[i].values = run->file.swept[i].values;
        swept[i].axis = run->file.swept[i].axis;
        for (size_t j = 0; j < run->n_results; j++) {
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
                                 .combine = sweep_combination(&run->file),
                                 .axes = run->file.axes,
                                 .n_axes = run->file.n_axes,
                                 .n_instances = run->file.n_instances,
                                 .n_rows = mdf_sweep_n_rows(run->sweep),
                                 .swept = swept,
                                 .recorded = recorded,
                                 .n_swept = run->file.n_swept,
                                 .n_recorded = run->n_results,
                                 .seeds = run->seeds};
}

static bool write_report(struct sweep_run *run, const struct sweep_report *report)
{
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, run->memory);
    done = writer_of(run->options->output_path)(&text, report, run->error) == MDF_OK && save(run, &text);
    mdf_text_release(&text);
    return done;
}

static bool write_results(struct sweep_run *run)
{
    struct sweep_column *swept = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *swept);
    struct sweep_column *recorded = mdf_arena_array(&run->file.arena, run->asked.n_records + 2, sizeof *recorded);
    struct sweep_report report;

    if (swept == NULL || recorded == NULL) {
        return sweep_out_of_memory(run);
    }
    if (run->file.n_reductions > 0) {
        return describe_reduced(run, &report) && tell_reduced(run, &report) && write_report(run, &report);
    }
    if (!name_columns(run, swept, recorded)) {
        return false;
    }
    report = describe_sweep(run, swept, recorded);
    return write_report(run, &report);
}

/* ------------------------------------------------------------------ all of it */

/* What is asked for, with all instances held but where they go to a store, which first sees the few that show the forms of
 * values. */
static bool collect(struct sweep_run *run)
{
    bool are_all = run->file.n_instances <= MDF_SWEEP_SHOWS_FORMS || !is_store(run->options->output_path);
    size_t n = are_all ? run->file.n_instances : MDF_SWEEP_SHOWS_FORMS;

    if (!collect_values(run) || !check_seeds(run) || !hold_instances(run, n)) {
        return false;
    }
    take_instances(run, 0, n);
    return collect_records(run) && take_options(run) && collect_reductions(run);
}

/* Evaluates, and tells how: in place of the results, which a file still gets. */
static bool evaluate_and_explain(struct sweep_run *run)
{
    static const enum mdf_dump forms[] = {
        [DUMP_LOWERED] = MDF_DUMP_LOWERED, [DUMP_NESTS] = MDF_DUMP_NESTS, [DUMP_MACHINE] = MDF_DUMP_MACHINE};
    struct mdf_text text, dumped;
    struct mdf_sweep_dump dump = {.text = &dumped, .what = forms[run->options->dump]};
    bool done;

    mdf_text_init(&text, run->memory);
    mdf_text_init(&dumped, run->memory);
    run->dump = run->options->dump != DUMP_NOTHING ? &dump : NULL;
    done = evaluate(run);
    if (done && run->dump != NULL && !dump.has_forms) {
        mdf_text_append_string(&dumped, "nothing is evaluated side by side: --explain says why\n");
    }
    done = done && (!run->options->explain || mdf_sweep_explain(&text, run->sweep) || sweep_out_of_memory(run)) &&
           (!(dump.failed || dumped.failed) || sweep_out_of_memory(run)) &&
           print_output(text.bytes, text.length, run->error) == MDF_OK &&
           print_output(dumped.bytes, dumped.length, run->error) == MDF_OK;
    mdf_text_release(&text);
    mdf_text_release(&dumped);
    return done;
}

static bool evaluate_and_write(struct sweep_run *run, const mdf_model *model)
{
    bool tells = run->options->explain || run->options->dump != DUMP_NOTHING;

    if (is_store(run->options->output_path) && !run->options->check) {
        return run_into_store(run, model);
    }
    return (tells ? evaluate_and_explain(run) : evaluate(run)) &&
           (run->options->check || (tells && run->options->output_path == NULL) || write_results(run));
}

static int perform(struct sweep_run *run, const mdf_model *model)
{
    const char *record = run->options->record;
    struct warning_printer printer = *(const struct warning_printer *)run->options->library.warning_context;
    int exit_status;

    if (!read_sweep_file(&run->file, run->memory, run->options->sweep_path, &run->options->library, run->error)) {
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
    exit_status = choose_ports(&run->ports, run->memory, run->program, run->options->record != NULL ? "--record" : "record",
                               record, run->error);
    if (exit_status != EXIT_DONE && run->options->record == NULL) {
        mdf_error_at(run->error, run->options->sweep_path, run->file.record_place.line, run->file.record_place.column);
    }
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

    mdf_arena_init(&run.file.arena, memory);
    exit_status = perform(&run, model);
    place_name(&run);
    for (size_t i = 0; run.results != NULL && i < run.n_results; i++) {
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
