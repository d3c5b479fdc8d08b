/* sweep.c - what a sweep is made of. Comes in: the caller's options, whose arrays are borrowed. Goes out: a sweep in which names
 * are found, sizes are checked and the form of every result is known. */
#include "mdf_c/run/sweep/sweep.h"

#include <math.h>
#include <string.h>

/* See MDF_SWEEP_ALONG. */
enum { ALONG_SHIFT = 8 };
#define ALONG_MASK (~0u << ALONG_SHIFT)

static bool out_of_memory(struct mdf_sweep *sweep, mdf_error *error)
{
    mdf_memory_error(&sweep->memory, error);
    return false;
}

static bool usage(mdf_error *error, const char *name, const char *why)
{
    mdf_error_set(error, MDF_USAGE, "sweep of '%s': %s", name, why);
    return false;
}

/* One leading axis of the caller's array: it must have `n` entries. */
static bool take_axis(const mdf_tensor *values, size_t *axis, size_t n, const char *name, const char *of, mdf_error *error)
{
    if (*axis >= values->rank || values->shape[*axis] < 0 || (size_t)values->shape[*axis] != n) {
        mdf_error_set(error, MDF_SHAPE, "sweep of '%s': axis %zu of the values must have %zu entries, one for each %s", name,
                      *axis, n, of);
        return false;
    }
    ++*axis;
    return true;
}

/* Which of the values along an axis of the grid an instance has. */
static bool find_axis(const struct mdf_sweep *sweep, const mdf_sweep_values *source, struct mdf_swept_values *target,
                      mdf_error *error)
{
    size_t axis = (source->axes >> ALONG_SHIFT) - 1, i;

    if (axis >= sweep->n_grid) {
        return usage(error, source->name, "its values are along an axis that the grid does not have");
    }
    target->n_values = sweep->grid[axis];
    target->n_repeats = 1;
    for (i = axis + 1; i < sweep->n_grid; i++) {
        target->n_repeats *= sweep->grid[i];
    }
    return true;
}

/* The shape of one value, and how far it is from one to the next. */
static bool find_strides(struct mdf_sweep *sweep, const mdf_sweep_values *source, struct mdf_swept_values *target,
                         mdf_error *error)
{
    const mdf_tensor *values = &source->values;
    int64_t *shape;
    size_t axis = 0, n, total;

    if ((source->axes & MDF_SWEEP_PER_INSTANCE) != 0 && (source->axes & ALONG_MASK) == 0 &&
        !take_axis(values, &axis, sweep->n_instances, source->name, "instance", error)) {
        return false;
    }
    if ((source->axes & ALONG_MASK) != 0 &&
        (!find_axis(sweep, source, target, error) ||
         !take_axis(values, &axis, target->n_values, source->name, "position along its axis of the grid", error))) {
        return false;
    }
    if ((source->axes & MDF_SWEEP_PER_STEP) != 0 &&
        !take_axis(values, &axis, (size_t)sweep->n_steps, source->name, "step", error)) {
        return false;
    }
    target->rank = values->rank - axis;
    shape = mdf_arena_array(&sweep->arena, target->rank, sizeof *shape);
    if (shape == NULL) {
        return out_of_memory(sweep, error);
    }
    if (target->rank > 0) {
        memcpy(shape, values->shape + axis, target->rank * sizeof *shape);
    }
    target->shape = shape;
    if (!mdf_shape_n_elements(values->rank, values->shape, &total) ||
        !mdf_size_multiply(total, mdf_dtype_size(target->dtype), &total) || !mdf_shape_n_elements(target->rank, shape, &n) ||
        !mdf_size_multiply(n, mdf_dtype_size(target->dtype), &n)) {
        return usage(error, source->name, "the sizes of its values are negative, or too large");
    }
    if ((source->axes & MDF_SWEEP_PER_STEP) != 0) {
        target->step_bytes = n;
        n *= (size_t)sweep->n_steps; /* part of `total`, which fits */
    }
    target->instance_bytes = (source->axes & (MDF_SWEEP_PER_INSTANCE | ALONG_MASK)) != 0 ? n : 0;
    return true;
}

/* The ports that an input goes to. */
static bool find_ports(struct mdf_sweep *sweep, struct mdf_swept_values *values, mdf_error *error)
{
    const struct mdf_program *program = sweep->program;
    const struct mdf_named_port *named = mdf_program_ports_named(program, values->name);
    size_t *ports = mdf_arena_array(&sweep->arena, program->n_ports, sizeof *ports);

    if (ports == NULL) {
        return out_of_memory(sweep, error);
    }
    for (; named != NULL; named = mdf_program_next_named(program, named)) {
        ports[values->n_ports++] = named->port;
    }
    values->ports = ports;
    if (values->n_ports == 0) {
        mdf_port_unknown(program, values->name, error);
    }
    return values->n_ports > 0;
}

static bool take_values(struct mdf_sweep *sweep, const mdf_sweep_values *source, size_t n, bool are_inputs,
                        struct mdf_swept_values **values, mdf_error *error)
{
    *values = mdf_arena_array(&sweep->arena, n, sizeof **values);
    if (*values == NULL) {
        return out_of_memory(sweep, error);
    }
    for (size_t i = 0; i < n; i++) {
        struct mdf_swept_values *target = &(*values)[i];

        if ((unsigned)source[i].values.dtype >= MDF_DTYPE_COUNT || source[i].values.dtype == MDF_DTYPE_STRING) {
            return usage(error, source[i].name, "its values must be numbers");
        }
        if (!are_inputs && (source[i].axes & MDF_SWEEP_PER_STEP) != 0) {
            return usage(error, source[i].name,
                         "a parameter has one value for all steps of an instance; an input can have one a step");
        }
        target->name = mdf_arena_text(&sweep->arena, source[i].name, strlen(source[i].name));
        if (target->name == NULL) {
            return out_of_memory(sweep, error);
        }
        target->dtype = source[i].values.dtype;
        target->data = source[i].values.data;
        target->is_typed = (source[i].axes & MDF_SWEEP_TYPED) != 0;
        if (!find_strides(sweep, &source[i], target, error) || (are_inputs && !find_ports(sweep, target, error))) {
            return false;
        }
    }
    return true;
}

/* The form of a record as the caller knows it already. */
static bool take_form(struct mdf_sweep *sweep, const mdf_record *source, struct mdf_swept_record *target, mdf_error *error)
{
    int64_t *shape = mdf_arena_array(&sweep->arena, source->rank, sizeof *shape);
    size_t total; /* of all instances */

    if (shape == NULL) {
        return out_of_memory(sweep, error);
    }
    if (source->rank > 0) {
        memcpy(shape, source->shape, source->rank * sizeof *shape);
    }
    target->dtype = source->dtype;
    target->rank = source->rank;
    target->shape = shape;
    if (source->dtype == MDF_DTYPE_STRING || !mdf_shape_n_elements(target->rank, shape, &target->n_elements) ||
        !mdf_size_multiply(target->n_elements, mdf_dtype_size(target->dtype), &target->size_bytes) ||
        !mdf_size_multiply(target->size_bytes, sweep->n_rows, &total) || !mdf_size_multiply(total, sweep->n_instances, &total)) {
        mdf_error_set(error, MDF_USAGE, "sweep: the form of a record must be that of an array of numbers that fits into memory");
        return false;
    }
    return true;
}

static bool take_records(struct mdf_sweep *sweep, const mdf_record *source, size_t n, mdf_error *error)
{
    const struct mdf_program *program = sweep->program;

    sweep->n_records = n;
    sweep->records = mdf_arena_array(&sweep->arena, n, sizeof *sweep->records);
    if (sweep->records == NULL) {
        return out_of_memory(sweep, error);
    }
    for (size_t i = 0; i < n; i++) {
        struct mdf_swept_record *record = &sweep->records[i];

        if (source[i].node >= program->n_nodes || source[i].output >= program->nodes[source[i].node].n_outputs) {
            mdf_error_set(error, MDF_USAGE, "sweep: the program has no output port %zu of node %zu", source[i].output,
                          source[i].node);
            return false;
        }
        *record = (struct mdf_swept_record){.node = source[i].node, .output = source[i].output, .dtype = MDF_DTYPE_NONE};
        if ((unsigned)source[i].dtype < MDF_DTYPE_COUNT && !take_form(sweep, &source[i], record, error)) {
            return false;
        }
    }
    return true;
}

void mdf_sweep_set_end(struct mdf_sweep *sweep)
{
    double limit_s = sweep->program->time_limit_s;

    sweep->end_s = limit_s > 0 ? mdf_clock_s() + limit_s : INFINITY;
}

/* All instances must lie in the grid. */
static bool take_grid(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error)
{
    size_t *grid = mdf_arena_array(&sweep->arena, options->n_grid, sizeof *grid), n = 1, i;
    bool fits = true;

    if (options->grid == NULL) {
        return true;
    }
    if (grid == NULL) {
        return out_of_memory(sweep, error);
    }
    for (i = 0; i < options->n_grid; i++) {
        grid[i] = options->grid[i];
        fits = fits && mdf_size_multiply(n, grid[i], &n);
    }
    sweep->grid = grid;
    sweep->n_grid = options->n_grid;
    if (!fits || options->first_instance > n || options->n_instances > n - options->first_instance) {
        mdf_error_set(error, MDF_USAGE, "sweep: the grid does not have the instances [%zu, %zu + %zu)", options->first_instance,
                      options->first_instance, options->n_instances);
        return false;
    }
    return true;
}

static bool take_options(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error)
{
    if (options->n_steps == 0 || (size_t)options->n_steps != options->n_steps || options->record_every > options->n_steps) {
        mdf_error_set(error, MDF_USAGE, "sweep: there must be at least one step, and one that is recorded");
        return false;
    }
    sweep->n_instances = options->n_instances;
    sweep->first_instance = options->first_instance;
    sweep->n_steps = options->n_steps;
    sweep->record_every = options->record_every;
    sweep->n_rows = options->record_every > 0 ? (size_t)((options->n_steps - 1) / options->record_every) + 1 : 1;
    sweep->dt = options->dt;
    sweep->seed = options->seed;
    sweep->seeds = options->seeds;
    sweep->stopped_steps = options->stopped_steps;
    sweep->n_threads = options->n_threads;
    sweep->n_lanes = options->n_lanes;
    sweep->progress = options->progress;
    sweep->progress_context = options->progress_context;
    sweep->n_parameters = options->n_parameters;
    sweep->n_inputs = options->n_inputs;
    return take_grid(sweep, options, error) &&
           take_values(sweep, options->parameters, options->n_parameters, false, &sweep->parameters, error) &&
           take_values(sweep, options->inputs, options->n_inputs, true, &sweep->inputs, error) &&
           take_records(sweep, options->records, options->n_records, error) &&
           (sweep->n_instances == 0 || mdf_sweep_find_forms(sweep, error) == MDF_OK) &&
           mdf_sweep_take_reductions(sweep, options, error);
}

struct mdf_sweep *mdf_sweep_create(const struct mdf_program *program, const mdf_sweep_options *options, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_sweep *sweep;

    mdf_memory_init(&memory, &program->memory.allocator, 0);
    sweep = mdf_memory_allocate_zeroed(&memory, 1, sizeof *sweep);
    if (sweep == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    mdf_memory_init(&sweep->memory, &program->memory.allocator, 0);
    mdf_arena_init(&sweep->arena, &sweep->memory);
    atomic_init(&sweep->n_done, 0);
    atomic_init(&sweep->interrupted, false);
    atomic_init(&sweep->is_running, false);
    sweep->program = program;
    if (!take_options(sweep, options, error)) {
        mdf_sweep_release(sweep);
        return NULL;
    }
    return sweep;
}

void mdf_sweep_release(struct mdf_sweep *sweep)
{
    struct mdf_memory memory;

    if (sweep == NULL) {
        return;
    }
    mdf_reduced_free(sweep->reduced);
    mdf_arena_release(&sweep->arena);
    mdf_memory_init(&memory, &sweep->memory.allocator, 0);
    mdf_memory_release(&memory, sweep);
}
