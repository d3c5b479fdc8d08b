/* sweep_way.c - a sweep held against its instances as models of their own, which run plainly. Ports are recorded whose values are
 * arrays of numbers of one form in all steps of all instances, as a sweep wants it; one that has no value yet is NaN in a sweep.
 */
#include "mdf_c/expression/expression.h"
#include "mdf_c/run/sweep/sweep.h"
#include "mdf_c/tensor/value.h"
#include "tests/random/ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTPUTS = 1000 };

/* What the instances give by themselves, and what of it is recorded. */
struct separate {
    size_t n_instances, n_steps, n_outputs;
    struct mdf_value *values; /* [instance][step][output], of those before the first error */
    mdf_record outputs[MOST_OUTPUTS];
    size_t record_of[MOST_OUTPUTS]; /* of those that are recorded: which output it is */
    size_t n_records;
    size_t failed_instance, failed_step; /* n_instances: none */
    bool has_begun;                      /* the error comes from a step, not from loading or compiling */
    mdf_error error;
};

static struct mdf_value *value_at(const struct separate *separate, size_t instance, size_t step, size_t output)
{
    return &separate->values[(instance * separate->n_steps + step) * separate->n_outputs + output];
}

/* ------------------------------------------------------------------ each by itself */

static bool run_steps(struct ways *ways, struct separate *separate, size_t instance, mdf_state *state)
{
    const struct random_case *what = &ways->what->instances[instance];
    size_t step, i;

    for (step = 0; step < separate->n_steps; step++) {
        separate->failed_step = step;
        if (random_set_inputs(&what->phases[step], state, &separate->error) != MDF_OK ||
            mdf_evaluate(state, step == 0 ? (double)NAN : what->dt, &separate->error) != MDF_OK) {
            return false;
        }
        for (i = 0; i < separate->n_outputs; i++) {
            const mdf_record *output = &separate->outputs[i];

            if (!mdf_value_copy_apart(ways->memory, value_at(separate, instance, step, i),
                                      mdf_output_at(state, output->node, output->output))) {
                abort(); /* a test program: its parent sees that it ended */
            }
        }
    }
    return true;
}

static bool run_instance(struct ways *ways, struct separate *separate, size_t instance)
{
    const struct random_case *what = &ways->what->instances[instance];
    mdf_options options = random_options(ways->what);
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
    bool done;

    options.plain = true;
    separate->has_begun = false;
    separate->failed_step = 0;
    model = mdf_model_load_bytes(what->model, what->size_bytes, what->format, "model", &options, &separate->error);
    program = model != NULL ? mdf_compile(model, &options, &separate->error) : NULL;
    state = program != NULL ? mdf_state_new(program, &separate->error) : NULL;
    separate->has_begun = state != NULL;
    done = state != NULL && mdf_state_reset(state, mdf_sweep_seed(0, instance), &separate->error) == MDF_OK &&
           run_steps(ways, separate, instance, state);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    return done;
}

static void run_instances(struct ways *ways, struct separate *separate)
{
    bool goes_on = true;
    size_t i;

    separate->failed_instance = separate->n_instances;
    for (i = 0; i < separate->n_instances && goes_on; i++) {
        goes_on = run_instance(ways, separate, i);
        separate->failed_instance = goes_on ? separate->n_instances : i;
    }
}

/* ------------------------------------------------------------------ what is recorded */

static bool same_form(const struct mdf_value *a, const struct mdf_value *b)
{
    return b->kind == MDF_KIND_TENSOR && a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(mdf_value_shape(a), mdf_value_shape(b), a->rank * sizeof(int64_t)) == 0);
}

static bool can_be_recorded(const struct separate *separate, size_t output)
{
    const struct mdf_value *first = value_at(separate, 0, separate->n_steps - 1, output), *value, *before;
    size_t n = separate->n_instances * separate->n_steps, i;

    if (first->kind != MDF_KIND_TENSOR || first->dtype == MDF_DTYPE_STRING) {
        return false;
    }
    for (i = 0; i < n; i++) {
        value = &separate->values[i * separate->n_outputs + output];
        before = i % separate->n_steps > 0 ? value - separate->n_outputs : NULL;
        if (!same_form(first, value) &&
            !(value->kind == MDF_KIND_NONE && strchr("fc", mdf_dtype_kind((mdf_dtype)first->dtype)) != NULL &&
              (before == NULL || before->kind == MDF_KIND_NONE) && (i + 1) % separate->n_steps != 0)) {
            /* an optional that is there no longer, or never, has no form */
            return false;
        }
    }
    return true;
}

static void choose_records(struct separate *separate)
{
    size_t i;

    for (i = 0; i < separate->n_outputs && separate->failed_instance == separate->n_instances; i++) {
        if (can_be_recorded(separate, i)) {
            separate->record_of[separate->n_records++] = i;
        }
    }
}

static void find_outputs(struct separate *separate, const mdf_program *program)
{
    size_t node, i;

    for (node = 0; node < mdf_program_n_nodes(program); node++) {
        for (i = 0; i < mdf_program_n_outputs(program, node) && separate->n_outputs < MOST_OUTPUTS; i++) {
            separate->outputs[separate->n_outputs++] = (mdf_record){.node = node, .output = i, .dtype = MDF_DTYPE_NONE};
        }
    }
}

/* ------------------------------------------------------------------ traces: an instance is a phase */

static void trace_row(struct trace *trace, const struct separate *separate, size_t record, const mdf_tensor *tensor,
                      size_t instance, size_t step)
{
    char name[32];

    snprintf(name, sizeof name, "output %zu", separate->record_of[record]);
    trace_tensor(trace, name, tensor, instance, step, record);
}

/* A value as a sweep writes it: NaN where there is none. */
static void trace_separate_row(struct trace *trace, const struct separate *separate, size_t record, size_t instance, size_t step)
{
    size_t output = separate->record_of[record], i;
    const struct mdf_value *value = value_at(separate, instance, step, output),
                           *form = value_at(separate, 0, separate->n_steps - 1, output);
    mdf_tensor tensor = {(mdf_dtype)form->dtype, form->rank, mdf_value_shape(form), value->data};
    double *nans = NULL;
    char *elements = NULL;

    if (value->kind == MDF_KIND_NONE) {
        nans = calloc(form->length + 1, sizeof *nans);
        elements = calloc(form->length + 1, mdf_dtype_size(tensor.dtype));
        for (i = 0; i < form->length; i++) {
            nans[i] = NAN;
        }
        mdf_convert_elements(tensor.dtype, elements, MDF_DTYPE_FLOAT64, nans, form->length, false);
        tensor.data = elements;
    }
    trace_row(trace, separate, record, &tensor, instance, step);
    free(nans);
    free(elements);
}

/* All rows, or the first error with what a sweep adds to it. */
static void trace_separate(struct trace *trace, const struct separate *separate, bool adds_instance)
{
    mdf_error error = separate->error;
    size_t instance, step, record, length = strlen(error.message);

    if (separate->failed_instance < separate->n_instances) {
        if (adds_instance) {
            snprintf(error.message + length, sizeof error.message - length, " (instance %zu, step %zu)",
                     separate->failed_instance, separate->failed_step + 1);
        }
        trace_error(trace, &error, 0, 0);
        return;
    }
    for (instance = 0; instance < separate->n_instances; instance++) {
        for (step = 0; step < separate->n_steps; step++) {
            for (record = 0; record < separate->n_records; record++) {
                trace_separate_row(trace, separate, record, instance, step);
            }
        }
    }
}

/* Where all instances stop before there is a value, the sweep knows no other form than that of one number. */
static size_t n_elements(const mdf_tensor *form)
{
    size_t n = 1, axis;

    for (axis = 0; axis < form->rank; axis++) {
        n *= (size_t)form->shape[axis];
    }
    return n;
}

/* Rows of steps from number `first` on. */
static void trace_arrays(struct trace *trace, const struct separate *separate, const mdf_sweep *sweep, void *const *arrays,
                         size_t first)
{
    size_t n_rows = mdf_sweep_n_rows(sweep), n_before = separate->n_steps - n_rows, instance, step, record;
    mdf_tensor form;

    for (instance = 0; instance < separate->n_instances; instance++) {
        for (step = first; step < separate->n_steps; step++) {
            for (record = 0; record < separate->n_records && mdf_sweep_form(sweep, record, &form); record++) {
                form.data = (char *)arrays[record] +
                            (instance * n_rows + step - n_before) * n_elements(&form) * mdf_dtype_size(form.dtype);
                trace_row(trace, separate, record, &form, instance, step);
            }
        }
    }
}

/* ------------------------------------------------------------------ the sweep */

static mdf_dtype dtype_of(const char *name)
{
    int dtype = 0;

    while (dtype < MDF_DTYPE_COUNT && strcmp(mdf_dtype_name((mdf_dtype)dtype), name) != 0) {
        dtype++;
    }
    return (mdf_dtype)dtype;
}

struct options {
    mdf_sweep_options sweep;
    mdf_sweep_values parameters[16], inputs[64];
    mdf_record records[MOST_OUTPUTS];
    const char *names[16]; /* of the parameters */
    size_t n_lanes;        /* instances side by side */
};

static bool make_options(const struct random_case *what, const struct separate *separate, struct options *options)
{
    size_t n_parameters = 0, n_inputs = 0, i;

    for (i = 0; i < what->n_swept; i++) {
        const struct random_swept *swept = &what->swept[i];
        const mdf_sweep_values values = {
            swept->name, swept->axes, {dtype_of(swept->type), swept->rank, swept->shape, swept->elements}};

        if (swept->is_parameter ? n_parameters == 16 : n_inputs == 64) {
            return false;
        }
        *(swept->is_parameter ? &options->parameters[n_parameters] : &options->inputs[n_inputs]) = values;
        if (swept->is_parameter) {
            options->names[n_parameters++] = swept->name;
        } else {
            n_inputs++;
        }
    }
    for (i = 0; i < separate->n_records; i++) {
        options->records[i] = separate->outputs[separate->record_of[i]];
    }
    options->sweep = (mdf_sweep_options){.n_instances = separate->n_instances,
                                         .parameters = options->parameters,
                                         .inputs = options->inputs,
                                         .n_parameters = n_parameters,
                                         .n_inputs = n_inputs,
                                         .records = options->records,
                                         .n_records = separate->n_records,
                                         .n_steps = separate->n_steps,
                                         .dt = what->dt,
                                         .record_every = 1};
    return true;
}

/* Traces steps from number `first` on. */
static void run_sweep(const mdf_program *program, const struct options *options, const struct separate *separate,
                      struct trace *trace, size_t first)
{
    mdf_error error = {0};
    mdf_sweep *sweep = mdf_sweep_new(program, &options->sweep, &error);
    void *arrays[MOST_OUTPUTS] = {0};
    mdf_tensor form;
    size_t i;

    if (sweep != NULL) {
        sweep->n_lanes = options->n_lanes;
    }
    for (i = 0; sweep != NULL && i < separate->n_records && mdf_sweep_form(sweep, i, &form); i++) {
        arrays[i] = calloc(separate->n_instances * separate->n_steps * n_elements(&form) + 1, mdf_dtype_size(form.dtype));
    }
    if (sweep == NULL || mdf_sweep_run(sweep, arrays, &error) != MDF_OK) {
        trace_error(trace, &error, 0, 0);
    } else {
        trace_arrays(trace, separate, sweep, arrays, first);
    }
    for (i = 0; i < separate->n_records; i++) {
        free(arrays[i]);
    }
    mdf_sweep_free(sweep);
}

/* Two ways of one sweep, which must be the same. */
static void hold_against(struct trace *trace, const struct trace *one, const struct trace *other, const char *difference)
{
    mdf_error error = {.code = MDF_USAGE};

    if (other->text.length != one->text.length || memcmp(other->text.bytes, one->text.bytes, one->text.length) != 0) {
        snprintf(error.message, sizeof error.message, "%s", difference);
        trace_error(trace, &error, 0, 0);
    }
}

/* On one thread, whose state goes from instance to instance, on two, and side by side. */
static void run_on_threads(const mdf_program *program, struct options *options, const struct separate *separate,
                           struct trace *trace)
{
    struct trace other;

    trace_init(&other, trace->text.memory);
    other.is_wrong = trace->is_wrong;
    options->sweep.n_threads = 1;
    options->n_lanes = 1;
    run_sweep(program, options, separate, trace, 0);
    options->sweep.n_threads = 2;
    run_sweep(program, options, separate, &other, 0);
    hold_against(trace, trace, &other, "the sweep differs on two threads");
    trace_release(&other);
    trace_init(&other, trace->text.memory);
    other.is_wrong = trace->is_wrong;
    options->sweep.n_threads = 1;
    options->n_lanes = 4;
    run_sweep(program, options, separate, &other, 0);
    hold_against(trace, trace, &other, "the sweep differs where instances are evaluated side by side");
    trace_release(&other);
}

/* The last step alone, in the forms that all steps have together: those before are done many at once. */
static void run_unrecorded(const mdf_program *program, struct options *options, const struct separate *separate,
                           struct trace *trace)
{
    mdf_sweep *sweep;
    mdf_error error = {0};
    struct trace all, last;
    size_t i;

    trace_init(&all, trace->text.memory);
    trace_init(&last, trace->text.memory);
    options->sweep.n_threads = 1;
    sweep = mdf_sweep_new(program, &options->sweep, &error);
    if (sweep != NULL) {
        run_sweep(program, options, separate, &all, separate->n_steps - 1);
        for (i = 0; i < separate->n_records; i++) {
            mdf_tensor form;

            mdf_sweep_form(sweep, i, &form);
            options->records[i].dtype = form.dtype;
            options->records[i].rank = form.rank;
            options->records[i].shape = form.shape;
        }
        options->sweep.record_every = 0;
        run_sweep(program, options, separate, &last, separate->n_steps - 1);
        hold_against(trace, &all, &last, "the sweep differs where only its last step is recorded");
    }
    mdf_sweep_free(sweep);
    trace_release(&all);
    trace_release(&last);
}

/* ------------------------------------------------------------------ instances that stop */

/* Whether an expression can name it: it is no word that expressions keep for themselves. */
static bool is_identifier(struct mdf_memory *memory, const char *name)
{
    struct mdf_arena arena;
    struct mdf_expression *tree;
    size_t offset;
    bool is_name;

    mdf_arena_init(&arena, memory);
    tree = mdf_expression_parse(&arena, name, &offset, NULL);
    is_name = tree != NULL && tree->kind == MDF_EXPRESSION_NAME;
    mdf_arena_release(&arena);
    return is_name;
}

/* An output of one number at least as large as in the middle of the first instance: so some stop there, some earlier, some never.
 * False: there is none. */
static bool choose_stop(const struct separate *separate, const mdf_program *program, struct mdf_memory *memory, char *text,
                        size_t size)
{
    size_t i;

    for (i = 0; i < separate->n_records; i++) {
        const mdf_record *output = &separate->outputs[separate->record_of[i]];
        const struct mdf_value *value = value_at(separate, 0, separate->n_steps / 2, separate->record_of[i]);
        const char *node = mdf_program_node_id(program, output->node);
        const char *port = mdf_program_part_id(program, output->node, MDF_PART_OUTPUT, output->output);
        double number;

        if (is_identifier(memory, node) && is_identifier(memory, port) && value->kind == MDF_KIND_TENSOR && value->rank == 0 &&
            mdf_value_number_at(value, NULL, 0, &number) && isfinite(number)) {
            snprintf(text, size, "%s.%s >= %.17g", node, port, number);
            return true;
        }
    }
    return false;
}

/* All rows, the steps after which instances stopped, and what their values come to together. */
static void run_stopping(const mdf_program *program, struct options *options, const struct separate *separate,
                         struct trace *trace)
{
    int64_t stopped[8] = {0};
    const mdf_sweep_reduction reductions[] = {{MDF_REDUCED_STOPPED_STEP, MDF_REDUCTION_VAR, NULL, 0}};
    const int64_t n = (int64_t)separate->n_instances;
    const mdf_tensor steps = {MDF_DTYPE_INT64, 1, &n, stopped};
    mdf_sweep *sweep;
    mdf_error error = {0};
    double variance = 0;
    const mdf_tensor told = {MDF_DTYPE_FLOAT64, 0, NULL, &variance};

    options->sweep.stopped_steps = stopped;
    run_sweep(program, options, separate, trace, 0);
    trace_tensor(trace, "stopped", &steps, 0, 0, 0);
    options->sweep.stopped_steps = NULL;
    options->sweep.reductions = reductions;
    options->sweep.n_reductions = 1;
    sweep = mdf_sweep_new(program, &options->sweep, &error);
    if (sweep != NULL) {
        sweep->n_lanes = options->n_lanes;
    }
    if (sweep == NULL || mdf_sweep_run(sweep, NULL, &error) != MDF_OK ||
        mdf_sweep_reduced(sweep, 0, &variance, &error) != MDF_OK) {
        trace_error(trace, &error, 0, 0);
    }
    trace_tensor(trace, "variance", &told, 0, 0, 1);
    options->sweep.reductions = NULL;
    options->sweep.n_reductions = 0;
    mdf_sweep_free(sweep);
}

/* One by one and plainly, one by one, and side by side. */
static void compare_stopping(struct ways *ways, struct options *options, const struct separate *separate, struct trace *trace)
{
    static const size_t lanes[] = {1, 1, 2, 4};
    mdf_options how = random_options(ways->what);
    mdf_error error = {0};
    mdf_program *program;
    struct trace traces[4];
    char text[300];
    size_t i;

    if (separate->n_instances > 8 || !choose_stop(separate, ways->program, trace->text.memory, text, sizeof text)) {
        return;
    }
    how.stop_when = text;
    for (i = 0; i < 4; i++) {
        trace_init(&traces[i], trace->text.memory);
        traces[i].is_wrong = i > 0 && trace->is_wrong;
        how.plain = i == 0;
        program = mdf_compile_changeable(ways->model, options->names, options->sweep.n_parameters, &how, &error);
        options->n_lanes = lanes[i];
        if (program != NULL) {
            run_stopping(program, options, separate, &traces[i]);
        } else {
            trace_error(trace, &error, 0, 0);
        }
        mdf_program_free(program);
        if (i > 0) {
            hold_against(trace, &traces[0], &traces[i],
                         i == 1 ? "the sweep differs where instances stop"
                                : "the sweep differs where instances that stop are evaluated side by side");
        }
    }
    for (i = 0; i < 4; i++) {
        trace_release(&traces[i]);
    }
}

/* False where a parameter can not be swept, as it is fixed when the model is compiled. */
static bool compare(struct ways *ways, const struct separate *separate, struct trace *trace)
{
    struct options *options = calloc(1, sizeof *options);
    mdf_options how = random_options(ways->what);
    mdf_error error = {0};
    mdf_program *program = NULL;
    bool is_there = options != NULL && make_options(ways->what, separate, options);

    if (is_there) {
        program = mdf_compile_changeable(ways->model, options->names, options->sweep.n_parameters, &how, &error);
        is_there = program != NULL || strstr(error.message, "kept changeable") == NULL;
    }
    if (is_there) {
        trace_separate(ways->own_reference, separate, program != NULL);
    }
    if (is_there && program == NULL) {
        trace_error(trace, &error, 0, 0);
    } else if (is_there) {
        run_on_threads(program, options, separate, trace);
        compare_stopping(ways, options, separate, trace);
        run_unrecorded(program, options, separate, trace);
    }
    mdf_program_free(program);
    free(options);
    return is_there;
}

bool random_run_sweep(struct ways *ways, struct trace *trace)
{
    struct separate *separate = calloc(1, sizeof *separate);
    size_t n, i;
    bool is_there;

    if (separate == NULL || ways->program == NULL || ways->what->n_instances == 0) {
        free(separate);
        return false;
    }
    separate->n_instances = ways->what->n_instances;
    separate->n_steps = ways->what->instances[0].n_phases;
    find_outputs(separate, ways->program);
    n = separate->n_instances * separate->n_steps * separate->n_outputs;
    separate->values = calloc(n + 1, sizeof *separate->values);
    if (separate->values == NULL) {
        abort(); /* a test program: its parent sees that it ended */
    }
    run_instances(ways, separate);
    choose_records(separate);
    is_there = compare(ways, separate, trace);
    for (i = 0; i < n; i++) {
        mdf_value_clear(ways->memory, &separate->values[i]);
    }
    free(separate->values);
    free(separate);
    return is_there;
}
