/* sweep_instance.c - one instance of a sweep on one state. Comes in: a state, which is reset; goes out: a row of each record for
 * each step that is recorded. A row depends on the instance only, not on what the state did before. */
#include "mdf_c/run/restart.h"
#include "mdf_c/run/sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* An instance that is being evaluated. */
struct instance {
    const struct mdf_sweep *sweep;
    struct mdf_state *state;
    size_t number;
    uint64_t n_steps;                      /* that it takes here, at most */
    const struct mdf_sweep_target *target; /* NULL: only the forms are looked at */
    struct mdf_swept_record *forms;
    struct mdf_arena *arena; /* of their shapes */
    mdf_error *error;
};

static mdf_status out_of_memory(const struct instance *instance)
{
    return mdf_memory_error(&instance->state->shared->memory, instance->error);
}

static void port_path(const struct instance *instance, const struct mdf_swept_record *record)
{
    const struct mdf_program_node *node = &instance->sweep->program->nodes[record->node];

    mdf_error_in(instance->error, "node '%s', output port '%s'", node->id, node->outputs[record->output].id);
}

/* ------------------------------------------------------------------ setting */

/* What an instance has of some values in a step. */
static const char *values_in_step(const struct mdf_sweep *sweep, const struct mdf_swept_values *values, size_t number,
                                  uint64_t step)
{
    size_t place = values->n_values == 0 ? number : (sweep->first_instance + number) / values->n_repeats % values->n_values;

    return values->data + place * values->instance_bytes + (size_t)step * values->step_bytes;
}

struct mdf_sweep_places mdf_sweep_places_of(const struct mdf_sweep *sweep, const struct mdf_swept_values *values, size_t number,
                                            uint64_t step)
{
    struct mdf_sweep_places places = {.values = values, .at = values_in_step(sweep, values, number, step)};

    if (values->n_values > 0) {
        size_t at = sweep->first_instance + number;

        places.n_left = values->n_repeats - at % values->n_repeats;
        places.place = at / values->n_repeats % values->n_values;
    }
    return places;
}

static const char *value_of(const struct instance *instance, const struct mdf_swept_values *values, uint64_t step)
{
    return values_in_step(instance->sweep, values, instance->number, step);
}

static mdf_status set_parameters(const struct instance *instance)
{
    const struct mdf_sweep *sweep = instance->sweep;
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < sweep->n_parameters && status == MDF_OK; i++) {
        const struct mdf_swept_values *values = &sweep->parameters[i];
        const mdf_tensor tensor = {values->dtype, values->rank, values->shape, value_of(instance, values, 0)};
        struct mdf_value view = {0};

        mdf_parameter_value(&instance->state->shared->memory, &view, &tensor);
        if (values->is_typed) {
            view.strength = MDF_STRENGTH_TYPED;
        }
        status = mdf_state_set_parameter(instance->state, values->name, &view, instance->error);
    }
    return status;
}

/* Values that stay are only given again from the second step on. */
static mdf_status set_inputs(const struct instance *instance, uint64_t step)
{
    const struct mdf_sweep *sweep = instance->sweep;

    for (size_t i = 0; i < sweep->n_inputs; i++) {
        const struct mdf_swept_values *values = &sweep->inputs[i];
        const mdf_tensor tensor = {values->dtype, values->rank, values->shape, value_of(instance, values, step)};
        struct mdf_value view = {0};

        mdf_parameter_value(&instance->state->shared->memory, &view, &tensor);
        if (values->is_typed) {
            view.strength = MDF_STRENGTH_TYPED;
        }
        for (size_t j = 0; j < values->n_ports; j++) {
            struct mdf_state_port *port = &instance->state->ports[values->ports[j]];

            port->repeats = values->step_bytes == 0;
            if (step > 0 && port->repeats) {
                port->has_input = true;
            } else if (!mdf_state_set_port(instance->state, values->ports[j], &view)) {
                return out_of_memory(instance);
            }
        }
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ forms */

static int kind_rank(mdf_dtype dtype)
{
    static const char kinds[] = "buifc";
    const char *found = dtype < MDF_DTYPE_COUNT ? strchr(kinds, mdf_dtype_kind(dtype)) : NULL;

    return found != NULL ? (int)(found - kinds) : -1;
}

/* Whether the elements of a type may be written down as those of another: it is wider, or of a wider kind. */
static bool widens(mdf_dtype from, mdf_dtype to)
{
    int have, want;

    if (from == to) {
        return true;
    }
    have = kind_rank(from);
    want = kind_rank(to);
    return have >= 0 && (have < want || (have == want && mdf_dtype_size(from) <= mdf_dtype_size(to)));
}

/* Whether a type has a number for what a node has that has not run yet. */
static bool holds_nan(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f' || mdf_dtype_kind(dtype) == 'c';
}

/* Takes what a value shows of its record's form: the widest type, the shape that comes last. */
static mdf_status look_at(const struct instance *instance, struct mdf_swept_record *form, const struct mdf_value *value)
{
    int64_t *shape;

    if (value->dtype == MDF_DTYPE_STRING) {
        mdf_error_set(instance->error, MDF_TYPE, "a sweep records numbers, not texts: leave the port out");
        port_path(instance, form);
        return MDF_TYPE;
    }
    if (form->dtype == MDF_DTYPE_NONE || !widens((mdf_dtype)value->dtype, form->dtype)) {
        form->dtype = (mdf_dtype)value->dtype;
    }
    if (form->rank != value->rank || form->shape == NULL) {
        shape = mdf_arena_array(instance->arena, value->rank, sizeof *shape);
        if (shape == NULL) {
            return out_of_memory(instance);
        }
        form->shape = shape;
    }
    form->rank = value->rank;
    if (form->rank > 0) {
        memcpy((int64_t *)(uintptr_t)form->shape, mdf_value_shape(value), form->rank * sizeof(int64_t));
    }
    form->n_elements = value->length;
    return MDF_OK;
}

/* ------------------------------------------------------------------ writing */

static bool has_shape(const struct mdf_value *value, const struct mdf_swept_record *record)
{
    return value->rank == record->rank &&
           (value->rank == 0 || memcmp(mdf_value_shape(value), record->shape, value->rank * sizeof(int64_t)) == 0);
}

static mdf_status other_form(const struct instance *instance, const struct mdf_swept_record *record,
                             const struct mdf_value *value)
{
    struct mdf_value form = {.kind = MDF_KIND_TENSOR, .dtype = (uint8_t)record->dtype, .rank = (uint32_t)record->rank};
    char have[80], want[80];

    if (record->rank <= MDF_INLINE_RANK && record->rank > 0) {
        memcpy(form.shape.sizes, record->shape, record->rank * sizeof(int64_t));
    } else {
        form.shape.large = (int64_t *)(uintptr_t)record->shape;
    }
    mdf_value_describe(value, have, sizeof have);
    mdf_value_describe(&form, want, sizeof want);
    mdf_error_set(
        instance->error, MDF_SHAPE,
        "the value is %s where the first instance%s ended with %s: all values of a port that a sweep records must have "
        "one form; %s",
        have,
        record->is_nothing ? "s"
        : record->has_gaps ? " that shows one"
                           : "",
        record->is_nothing ? "nothing" : want,
        value->kind == MDF_KIND_NONE ? "let the node run in all instances, the port be a real number (1.0 * ...), or leave it out"
        : has_shape(value, record)
            ? "let all sides of a condition, or all values of min and max, be of the same type: 0.0, not 0, beside a real number"
            : "leave the port out, or record the last step only");
    port_path(instance, record);
    return MDF_SHAPE;
}

/* One element, all over the row. */
static bool fill(const struct mdf_swept_record *record, char *target, mdf_dtype dtype, const void *element)
{
    size_t size = mdf_dtype_size(record->dtype), i;

    if (record->n_elements == 0) {
        return true;
    }
    if (!mdf_convert_elements(record->dtype, target, dtype, element, 1, false)) {
        return false;
    }
    for (i = 1; i < record->n_elements; i++) {
        memcpy(target + i * size, target, size);
    }
    return true;
}

static mdf_status write_row(const struct instance *instance, const struct mdf_swept_record *record, const struct mdf_value *value,
                            char *target)
{
    static const double nan_element = NAN;
    bool fits;

    if (value->kind == MDF_KIND_NONE) { /* the node has not run yet */
        fits = holds_nan(record->dtype) && fill(record, target, MDF_DTYPE_FLOAT64, &nan_element);
    } else if (!widens((mdf_dtype)value->dtype, record->dtype)) {
        fits = false;
    } else if (!has_shape(value, record)) {
        fits = value->length == 1 && (value->rank == 0 ? record->n_elements > 0 : record->n_elements == 1) &&
               fill(record, target, (mdf_dtype)value->dtype, value->data);
    } else if ((mdf_dtype)value->dtype == record->dtype) {
        if (record->size_bytes > 0) {
            memcpy(target, value->data, record->size_bytes);
        }
        fits = true;
    } else {
        fits = mdf_convert_elements(record->dtype, target, (mdf_dtype)value->dtype, value->data, value->length, false);
    }
    return fits ? MDF_OK : other_form(instance, record, value);
}

/* A value as an array, in `made` where it is a list of numbers. */
static mdf_status as_array(const struct instance *instance, const struct mdf_swept_record *record, struct mdf_value *made,
                           const struct mdf_value **value)
{
    int result = 1;

    if ((*value)->kind == MDF_KIND_LIST) {
        result = mdf_value_from_nested_list(&instance->state->shared->memory, made, *value);
        *value = result > 0 ? made : *value;
    }
    if (result < 0) {
        return out_of_memory(instance);
    }
    if ((*value)->kind == MDF_KIND_LIST || (*value)->kind == MDF_KIND_DICT) {
        mdf_error_set(instance->error, MDF_TYPE, "a sweep records arrays of numbers: leave the port out");
        port_path(instance, record);
        return MDF_TYPE;
    }
    return MDF_OK;
}

static char *place_of(const struct instance *instance, size_t record, size_t row)
{
    return mdf_sweep_row_place(instance->sweep, instance->target, instance->number, row, record);
}

static mdf_status take_row(const struct instance *instance, size_t row)
{
    const struct mdf_sweep *sweep = instance->sweep;
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < sweep->n_records && status == MDF_OK; i++) {
        const struct mdf_swept_record *record = &sweep->records[i];
        const struct mdf_value *value = mdf_state_output(instance->state, record->node, record->output);
        struct mdf_value made = {0};

        status = as_array(instance, record, &made, &value);
        if (status == MDF_OK && instance->target != NULL) {
            status = write_row(instance, record, value, place_of(instance, i, row));
        } else if (status == MDF_OK && value->kind != MDF_KIND_NONE) {
            status = look_at(instance, &instance->forms[i], value);
        } else if (status == MDF_OK) {
            instance->forms[i].has_gaps = true;
        }
        mdf_value_clear(&instance->state->shared->memory, &made);
    }
    return status;
}

/* ------------------------------------------------------------------ running */

bool mdf_sweep_is_recorded(const struct mdf_sweep *sweep, uint64_t step)
{
    return sweep->record_every > 0 ? step % sweep->record_every == 0 : step + 1 == sweep->n_steps;
}

uint64_t mdf_sweep_count_unseen(const struct mdf_sweep *sweep, uint64_t step)
{
    uint64_t every = sweep->record_every, n = every > 0 ? (every - step % every) % every : sweep->n_steps;

    return n < sweep->n_steps - 1 - step ? n : sweep->n_steps - 1 - step;
}

/* Whether the caller wants no more. While forms are looked for nobody watches: the caller is asked here, now and then. */
static bool is_stopped(const struct instance *instance, double *next_s)
{
    const struct mdf_sweep *sweep = instance->sweep;
    double now_s;

    if (instance->forms != NULL && sweep->progress != NULL) {
        now_s = mdf_clock_s();
        if (now_s >= *next_s) {
            *next_s = now_s + 0.1;
            return !sweep->progress(sweep->progress_context, 0, sweep->n_instances);
        }
    }
    return atomic_load_explicit(&sweep->interrupted, memory_order_relaxed);
}

bool mdf_sweep_has_series(const struct mdf_sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_inputs; i++) {
        if (sweep->inputs[i].step_bytes != 0) {
            return true;
        }
    }
    return false;
}

/* Steps from number `step` on that nobody looks at, before the next one that is recorded: how many were done, many at once. The
 * first goes by itself, without a time increment. Slow ones are few at once, so that a request to stop is met. */
static uint64_t skip_steps(const struct instance *instance, uint64_t step, uint64_t *at_once)
{
    enum { MOST_AT_ONCE = 1 << 16 };
    static const double short_s = 0.01;
    const struct mdf_sweep *sweep = instance->sweep;
    uint64_t n = mdf_sweep_count_unseen(sweep, step);
    double start_s;

    n = n < *at_once ? n : *at_once;
    n = n < instance->n_steps - 1 - step ? n : instance->n_steps - 1 - step;
    if (step == 0 || n == 0 || mdf_sweep_has_series(sweep) || !mdf_state_set_increment(instance->state, sweep->dt)) {
        return 0;
    }
    start_s = mdf_clock_s();
    n = mdf_whole_skip(instance->state, n);
    if (mdf_clock_s() - start_s >= short_s) {
        *at_once = *at_once > 1 ? *at_once / 2 : 1;
    } else if (n == *at_once && *at_once < MOST_AT_ONCE) {
        *at_once *= 2;
    }
    return n;
}

/* Whether the step that has just been done was the instance's last by mdf_options.stop_when. */
static mdf_status look_whether_stopped(const struct instance *instance, bool *has_stopped)
{
    struct mdf_context *context = &instance->state->shared->execution.context;

    if (instance->sweep->program->stop.n_ports == 0 || mdf_state_look_whether_stopped(instance->state, has_stopped)) {
        return MDF_OK;
    }
    if (instance->error != NULL && instance->error->code == MDF_OK) {
        *instance->error = context->error;
    }
    return context->error.code;
}

/* Step number *step, or several from there on of which nobody looks at the values but the last: that is *step afterwards. */
static mdf_status take_steps(const struct instance *instance, uint64_t *step, uint64_t *at_once, bool *has_stopped)
{
    const struct mdf_sweep *sweep = instance->sweep;
    uint64_t n_skipped = skip_steps(instance, *step, at_once);
    mdf_status status = MDF_OK;

    if (n_skipped > 0) {
        status = look_whether_stopped(instance, has_stopped);
        *step += n_skipped - *has_stopped;
    }
    if (status != MDF_OK || *has_stopped) {
        return status;
    }
    status = set_inputs(instance, *step);
    if (status == MDF_OK) {
        status = mdf_state_evaluate_begun(instance->state, *step == 0 ? NAN : sweep->dt, instance->error);
    }
    return status == MDF_OK ? look_whether_stopped(instance, has_stopped) : status;
}

/* The rows of all later steps have the values of the one after which the instance ended. */
static mdf_status stay(const struct instance *instance, size_t row)
{
    mdf_status status = MDF_OK;

    while (row < instance->sweep->n_rows && status == MDF_OK) {
        status = take_row(instance, row++);
    }
    return status;
}

static mdf_status run_steps(const struct instance *instance)
{
    const struct mdf_sweep *sweep = instance->sweep;
    mdf_status status = set_parameters(instance);
    uint64_t step, first_at_once = 1, *at_once = instance->target != NULL ? instance->target->at_once : &first_at_once;
    bool has_stopped = false;
    double next_s = 0;
    size_t row = 0;

    for (step = 0; step < instance->n_steps && status == MDF_OK && !has_stopped; step++) {
        if (is_stopped(instance, &next_s)) {
            return mdf_error_set(instance->error, MDF_INTERRUPTED, "interrupted");
        }
        status = take_steps(instance, &step, at_once, &has_stopped);
        if (status == MDF_OK && mdf_sweep_is_recorded(sweep, step)) {
            status = take_row(instance, row++);
        }
    }
    if (status == MDF_OK && (has_stopped || step == sweep->n_steps)) {
        status = stay(instance, row);
    }
    if (status == MDF_OK && instance->target != NULL) {
        instance->target->stopped_steps[instance->number - instance->target->first] = has_stopped ? (int64_t)step : -1;
    }
    if (status != MDF_OK && status != MDF_INTERRUPTED) {
        mdf_error_append(instance->error, " (instance %zu, step %" PRIu64 ")", sweep->first_instance + instance->number,
                         step > 0 ? step : 1);
    }
    return status;
}

uint64_t mdf_sweep_seed_of(uint64_t seed, uint64_t instance)
{
    uint64_t bits = seed + (instance + 1) * 0x9E3779B97F4A7C15u;

    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

uint64_t mdf_sweep_instance_seed(const struct mdf_sweep *sweep, size_t number)
{
    return sweep->seeds != NULL ? sweep->seeds[number] : mdf_sweep_seed_of(sweep->seed, sweep->first_instance + number);
}

static mdf_status run(const struct instance *instance)
{
    mdf_status status =
        mdf_state_restart(instance->state, mdf_sweep_instance_seed(instance->sweep, instance->number), instance->error);

    if (status == MDF_OK && !mdf_state_begin(instance->state, instance->error)) {
        return MDF_OUT_OF_MEMORY;
    }
    if (status == MDF_OK) {
        status = run_steps(instance);
        mdf_state_end(instance->state);
    }
    return status;
}

mdf_status mdf_sweep_run_instance(const struct mdf_sweep *sweep, struct mdf_state *state, size_t number,
                                  const struct mdf_sweep_target *target, mdf_error *error)
{
    return mdf_sweep_begin_instance(sweep, state, number, sweep->n_steps, target, error);
}

mdf_status mdf_sweep_begin_instance(const struct mdf_sweep *sweep, struct mdf_state *state, size_t number, uint64_t n_steps,
                                    const struct mdf_sweep_target *target, mdf_error *error)
{
    const struct instance instance = {
        .sweep = sweep, .state = state, .number = number, .n_steps = n_steps, .target = target, .error = error};

    return run(&instance);
}

mdf_status mdf_sweep_give_values(const struct mdf_sweep *sweep, struct mdf_state *state, size_t number, uint64_t step)
{
    const struct instance instance = {.sweep = sweep, .state = state, .number = number};
    mdf_status status = step == 0 ? set_parameters(&instance) : MDF_OK;

    for (size_t i = 0; i < sweep->n_inputs; i++) {
        for (size_t j = 0; j < sweep->inputs[i].n_ports; j++) { /* of another instance */
            state->ports[sweep->inputs[i].ports[j]].has_value = false;
        }
    }
    if (status == MDF_OK) {
        status = set_inputs(&instance, step);
    }
    return status == MDF_OK && !mdf_state_take_inputs(state) ? MDF_VALUE : status;
}

mdf_status mdf_sweep_write_row(const struct mdf_sweep *sweep, struct mdf_state *state, const struct mdf_sweep_target *target,
                               size_t number, size_t row, size_t record, const struct mdf_value *value)
{
    const struct instance instance = {.sweep = sweep, .state = state, .number = number, .target = target};

    return write_row(&instance, &sweep->records[record], value, place_of(&instance, record, row));
}

/* Takes the forms that an instance has shown for the records that have none. Where the node of whole numbers or truths had not
 * run yet after a step, they are float64, which has a NaN for that. */
static mdf_status keep_forms(struct mdf_sweep *sweep, const struct instance *instance)
{
    size_t total;

    for (size_t i = 0; i < sweep->n_records; i++) {
        struct mdf_swept_record *form = &instance->forms[i];

        if (form->dtype == MDF_DTYPE_NONE || sweep->records[i].dtype != MDF_DTYPE_NONE) {
            continue;
        }
        if (form->has_gaps && !holds_nan(form->dtype)) {
            form->dtype = MDF_DTYPE_FLOAT64;
        }
        if (!mdf_size_multiply(form->n_elements, mdf_dtype_size(form->dtype), &form->size_bytes) ||
            !mdf_size_multiply(form->size_bytes, sweep->n_rows, &total) ||
            !mdf_size_multiply(total, sweep->n_instances, &total)) {
            return mdf_error_set(instance->error, MDF_LIMIT, "the results of the sweep are too large");
        }
        sweep->records[i] = *form;
    }
    return MDF_OK;
}

static bool lacks_forms(const struct mdf_sweep *sweep)
{
    size_t i;

    for (i = 0; i < sweep->n_records && sweep->records[i].dtype != MDF_DTYPE_NONE; i++) {
    }
    return i < sweep->n_records;
}

/* The first instance shows the forms, but those of nodes that do not run in it: these are looked for in the next ones. Of a node
 * that runs in none of them there is NaN. */
static mdf_status look_for_forms(struct mdf_sweep *sweep, struct instance *instance)
{
    mdf_status status = MDF_OK;
    size_t n = sweep->n_instances < MDF_SWEEP_SHOWS_FORMS ? sweep->n_instances : MDF_SWEEP_SHOWS_FORMS;

    for (; instance->number < n && status == MDF_OK && lacks_forms(sweep); instance->number++) {
        status = run(instance);
        if (status == MDF_OK) {
            status = keep_forms(sweep, instance);
        }
    }
    for (size_t i = 0; i < sweep->n_records; i++) {
        if (status == MDF_OK && sweep->records[i].dtype == MDF_DTYPE_NONE) {
            instance->forms[i].dtype = MDF_DTYPE_FLOAT64;
            instance->forms[i].n_elements = 1;
            instance->forms[i].is_nothing = true;
        }
    }
    return status == MDF_OK ? keep_forms(sweep, instance) : status;
}

mdf_status mdf_sweep_find_forms(struct mdf_sweep *sweep, mdf_error *error)
{
    struct instance instance = {.sweep = sweep, .n_steps = sweep->n_steps, .arena = &sweep->arena, .error = error};
    mdf_status status;

    if (!lacks_forms(sweep)) {
        return MDF_OK;
    }
    instance.forms = mdf_arena_array(&sweep->arena, sweep->n_records, sizeof *instance.forms);
    if (instance.forms == NULL) {
        return mdf_memory_error(&sweep->memory, error);
    }
    for (size_t i = 0; i < sweep->n_records; i++) {
        instance.forms[i] = (struct mdf_swept_record){
            .node = sweep->records[i].node, .output = sweep->records[i].output, .dtype = MDF_DTYPE_NONE};
    }
    instance.state = mdf_state_create(sweep->program, error);
    if (instance.state == NULL) {
        return error != NULL ? error->code : MDF_OUT_OF_MEMORY;
    }
    mdf_sweep_set_end(sweep);
    instance.state->shared->end_s = sweep->end_s;
    status = look_for_forms(sweep, &instance);
    mdf_state_release(instance.state);
    return status;
}
