/* sweep_lanes.c - see sweep_lanes.h: what one instance shows of the evaluations of all, as programs for lanes. */
#include "mdf_c/run/sweep/sweep_lanes_parts.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/run/whole/whole_schedule.h"

#include <math.h>
#include <string.h>

/* Evaluations of a stream at once, at first. */
enum { FIRST_AT_ONCE = 64 };

/* Four vectors: while one waits for what is computed in the step before, there is something to do for the others. Those of the
 * widest registers only where there are enough instances that few lanes are idle. */
static size_t usual_lanes(const struct mdf_sweep *sweep)
{
    size_t lanes = sweep->program->real == MDF_DTYPE_FLOAT32 ? 32 : 16;

    return mdf_has_avx512() && sweep->n_instances >= 16 * lanes ? 2 * lanes : lanes;
}

size_t mdf_sweep_count_lanes(const struct mdf_sweep *sweep)
{
    enum { FEW_STEPS = 64, MANY_INSTANCES = 16 * MDF_SWEEP_MOST_LANES };
    size_t n = sweep->n_lanes, lanes = usual_lanes(sweep);

    if (sweep->program->is_plain) {
        return 1;
    }
    if (n == 0) {
        bool pays = sweep->n_instances > 2 * lanes || (sweep->n_instances > 4 && sweep->n_steps > FEW_STEPS * (uint64_t)lanes);

        /* What is done between steps, as lanes end and others begin, is then done for more of them at once. */
        if (sweep->program->stop.n_ports > 0 && sweep->n_instances > MANY_INSTANCES &&
            mdf_code_find_draw(sweep->program->code) == NULL) {
            lanes = MDF_SWEEP_MOST_LANES;
        }
        return pays ? lanes : 1;
    }
    for (lanes = 1; 2 * lanes <= n && lanes < MDF_SWEEP_MOST_LANES; lanes *= 2) {
    }
    return lanes;
}

static bool refuse(struct mdf_sweep_lanes *lanes, enum mdf_refusal_reason reason)
{
    if (lanes->refusal.reason == MDF_REFUSED_NOT) {
        lanes->refusal = (struct mdf_refusal){.reason = reason};
    }
    return false;
}

static bool make_lanes(struct mdf_sweep_lanes *lanes)
{
    size_t i;

    lanes->lanes = mdf_arena_array(&lanes->arena, lanes->n_lanes, sizeof *lanes->lanes);
    lanes->fresh = mdf_arena_array(&lanes->arena, lanes->n_lanes, sizeof *lanes->fresh);
    for (i = 0; i < lanes->n_lanes && lanes->lanes != NULL && lanes->fresh != NULL; i++) {
        lanes->lanes[i].place = i;
        lanes->fresh[i].place = lanes->n_lanes + i;
    }
    return i == lanes->n_lanes;
}

/* Each lane has generators of its own. */
static bool make_contexts(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_context *own = &lanes->state->shared->execution.context;

    if (mdf_code_find_draw(lanes->state->program->code) == NULL) {
        return true;
    }
    lanes->contexts = mdf_arena_array(&lanes->arena, lanes->n_lanes, sizeof *lanes->contexts);
    lanes->all_contexts = mdf_arena_array(&lanes->arena, 2 * lanes->n_lanes, sizeof *lanes->all_contexts);
    for (size_t i = 0; i < 2 * lanes->n_lanes && lanes->contexts != NULL && lanes->all_contexts != NULL; i++) {
        struct mdf_context *context = &lanes->all_contexts[i];

        context->memory = own->memory;
        context->real = own->real;
        context->max_iterations = own->max_iterations;
        context->n_threads = 1;
        context->stop = own->stop;
        mdf_random_begin(context, 0);
        (i < lanes->n_lanes ? &lanes->lanes[i] : &lanes->fresh[i - lanes->n_lanes])->context = context;
    }
    return lanes->contexts != NULL && lanes->all_contexts != NULL;
}

struct mdf_sweep_lanes *mdf_sweep_lanes_new(struct mdf_sweep *sweep, struct mdf_state *state, void *const *arrays)
{
    struct mdf_sweep_lanes *lanes = mdf_memory_allocate_zeroed(&state->shared->memory, 1, sizeof *lanes);

    if (lanes == NULL) {
        return NULL;
    }
    lanes->sweep = sweep;
    lanes->state = state;
    lanes->arrays = arrays;
    lanes->n_lanes = mdf_sweep_count_lanes(sweep);
    while ((size_t)1 << lanes->lane_bits < lanes->n_lanes) {
        lanes->lane_bits++;
    }
    lanes->begins_alone = sweep->program->schedule != NULL || state->shared->nested != NULL;
    lanes->is_stream = sweep->program->stop.n_ports > 0 || lanes->begins_alone;
    lanes->is_in_step = !lanes->is_stream;
    lanes->at_once = FIRST_AT_ONCE;
    mdf_arena_init(&lanes->arena, &state->shared->memory);
    lanes->rows = arrays == NULL ? mdf_sweep_new_rows(sweep, 2 * lanes->n_lanes, NULL) : NULL;
    if (!make_lanes(lanes) || !make_contexts(lanes) || (arrays == NULL && lanes->rows == NULL)) {
        mdf_sweep_lanes_release(lanes);
        return NULL;
    }
    return lanes;
}

/* Lets go of what was found out. */
static void forget(struct mdf_sweep_lanes *lanes)
{
    struct mdf_memory *memory = lanes_memory(lanes);

    for (size_t i = 0; i < N_LANE_KINDS; i++) {
        mdf_lowered_release(lanes->programs[i].wide); /* which gives seats back the memory that they had */
        for (size_t j = 0; lanes->programs[i].fixed != NULL && j < lanes->programs[i].narrow->n_inputs; j++) {
            mdf_value_clear(memory, &lanes->programs[i].fixed[j]);
        }
    }
    for (size_t i = 0; i < lanes->n_seats; i++) {
        mdf_value_clear(memory, &lanes->seats[i].value);
        mdf_value_clear(memory, &lanes->seats[i].kept);
        mdf_value_clear(memory, &lanes->seats[i].fresh);
    }
    for (size_t i = 0; i < N_LANE_KINDS; i++) {
        mdf_lowered_release(lanes->programs[i].narrow);
    }
    memset(lanes->programs, 0, sizeof lanes->programs);
    mdf_value_clear(memory, &lanes->traps);
    mdf_value_clear(memory, &lanes->single);
    lanes->n_seats = lanes->n_swept = 0;
    lanes->n_seen = 0;
}

void mdf_sweep_lanes_release(struct mdf_sweep_lanes *lanes)
{
    struct mdf_memory *memory;

    if (lanes == NULL) {
        return;
    }
    memory = lanes_memory(lanes);
    forget(lanes);
    for (size_t i = 0; i < 2 * lanes->n_lanes && lanes->all_contexts != NULL; i++) {
        mdf_random_release_streams(&lanes->all_contexts[i]);
    }
    mdf_sweep_free_rows((struct mdf_sweep *)(uintptr_t)lanes->sweep, lanes->rows);
    mdf_arena_release(&lanes->arena);
    mdf_memory_release(memory, lanes);
}

bool mdf_sweep_lanes_are_ready(const struct mdf_sweep_lanes *lanes, struct mdf_refusal *refusal)
{
    *refusal = lanes->refusal;
    if (!lanes->is_ready && refusal->reason == MDF_REFUSED_NOT) {
        refusal->reason = MDF_REFUSED_ENDS_EARLY;
    }
    return lanes->is_ready;
}

struct mdf_lowered *mdf_sweep_lanes_form(const struct mdf_sweep_lanes *lanes, size_t kind)
{
    return lanes->is_ready ? lanes->programs[kind].wide : NULL;
}

const struct mdf_value *mdf_sweep_lanes_slot(const struct mdf_sweep_lanes *lanes, const struct mdf_value *value)
{
    for (size_t i = 0; i < lanes->n_seats; i++) {
        if (value == &lanes->seats[i].value) {
            return lanes->seats[i].slot;
        }
    }
    for (size_t i = 0; i < N_LANE_KINDS; i++) { /* what is the same in all instances */
        const struct lane_program *program = &lanes->programs[i];

        for (size_t j = 0; program->narrow != NULL && j < program->narrow->n_inputs; j++) {
            if (value == &program->fixed[j]) {
                return program->narrow->values[program->narrow->inputs[j]].source;
            }
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ learning */

static bool lower(struct mdf_sweep_lanes *lanes, enum lane_kind kind)
{
    static const enum mdf_whole_part parts[] = {MDF_WHOLE_FIRST, MDF_WHOLE_SECOND, MDF_WHOLE_SINGLE, MDF_WHOLE_MANY_SEEN};
    struct lane_program *program = &lanes->programs[kind];
    const struct mdf_value *steps, *taken;

    program->narrow =
        mdf_whole_lower(lanes->state, kind == LANES_MANY && !lanes->is_stream ? MDF_WHOLE_MANY : parts[kind], &lanes->refusal);
    if (program->narrow == NULL) {
        return refuse(lanes, MDF_REFUSED_NOT_SAID);
    }
    program->fixed = mdf_arena_array(&lanes->arena, program->narrow->n_inputs, sizeof *program->fixed);
    program->varies = mdf_arena_array(&lanes->arena, program->narrow->n_values, sizeof *program->varies);
    program->needed = mdf_arena_array(&lanes->arena, program->narrow->n_values, sizeof *program->needed);
    if (program->fixed == NULL || program->varies == NULL || program->needed == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    steps = mdf_whole_counter_value(lanes->state, MDF_COUNTER_STEPS);
    taken = mdf_whole_counter_value(lanes->state, MDF_COUNTER_TAKEN);
    for (size_t i = 0; i < program->narrow->n_inputs; i++) {
        const struct mdf_value *source = program->narrow->values[program->narrow->inputs[i]].source;

        if (source != steps && source != taken && !mdf_value_copy_apart(lanes_memory(lanes), &program->fixed[i], source)) {
            return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
        }
    }
    return true;
}

/* What is the same in each instance after so many evaluations, or else it has to go by itself. */
static bool keep_what_holds(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_whole *whole = lanes->state->whole;
    size_t n = lanes->state->program->code->n_slots, n_nodes = mdf_whole_n_nodes(lanes->state), i;

    lanes->n_alone = lanes->n_seen - 1;
    lanes->had_run = mdf_arena_array(&lanes->arena, n_nodes, sizeof *lanes->had_run);
    lanes->have_run = mdf_arena_array(&lanes->arena, n_nodes, sizeof *lanes->have_run);
    lanes->aliases = mdf_arena_array(&lanes->arena, n, sizeof *lanes->aliases);
    if (lanes->had_run == NULL || lanes->have_run == NULL || lanes->aliases == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    mdf_whole_note_have_run(lanes->state, lanes->had_run);
    for (i = 0; i < n; i++) {
        lanes->aliases[i] = whole->has_alias[i] ? whole->aliases[i] : MDF_NO_OPERAND;
    }
    return true;
}

/* With conditions nodes may run late; after some evaluations no more are waited for. */
static void look_at_conditions(struct mdf_sweep_lanes *lanes, uint64_t seen)
{
    enum { MOST_ALONE = 8 };

    if (lanes->programs[LANES_MANY].narrow == NULL && seen >= LANES_SINGLE &&
        (mdf_whole_have_all_run(lanes->state) || seen == MOST_ALONE) && lower(lanes, LANES_MANY)) {
        keep_what_holds(lanes);
    }
}

/* Called before each evaluation of the instance that is looked at; what is wrong with it, the evaluation says. */
static void look(void *context, struct mdf_state *state)
{
    struct mdf_sweep_lanes *lanes = context;
    mdf_error error = state->shared->execution.context.error;
    uint64_t seen = lanes->n_seen++;

    if (lanes->refusal.reason != MDF_REFUSED_NOT || (seen > LANES_SINGLE && !lanes->begins_alone)) {
        return;
    }
    if (lanes->begins_alone) {
        look_at_conditions(lanes, seen);
    } else if (seen < LANES_SINGLE) {
        lower(lanes, (enum lane_kind)seen);
    } else if (lanes->is_stream || lower(lanes, LANES_SINGLE)) {
        lower(lanes, LANES_MANY);
    }
    state->shared->execution.context.error = error;
}

static struct lane_seat *find_item(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot, size_t item)
{
    size_t i;

    for (i = 0; i < lanes->n_seats && (lanes->seats[i].slot != slot || lanes->seats[i].item != item); i++) {
    }
    return i < lanes->n_seats ? &lanes->seats[i] : NULL;
}

static struct lane_seat *find_seat(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot)
{
    return find_item(lanes, slot, 0);
}

static struct lane_seat *make_item(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot, size_t item)
{
    struct lane_seat *seat = find_item(lanes, slot, item);

    if (seat == NULL) {
        seat = &lanes->seats[lanes->n_seats++];
        seat->slot = slot;
        seat->item = item;
    }
    return seat;
}

static struct lane_seat *make_seat(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot)
{
    return make_item(lanes, slot, 0);
}

/* Slots of what is swept, as they are set now. */
static bool add_swept(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot, const struct mdf_swept_values *given,
                      bool is_series, bool is_shared)
{
    struct lane_seat *seat = make_seat(lanes, slot);

    if (slot->kind != MDF_KIND_TENSOR || slot->dtype == MDF_DTYPE_STRING || slot->length == 0 || slot->rank >= MDF_INLINE_RANK) {
        return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
    }
    seat->form = *slot;
    seat->form.data = NULL;
    seat->form.buffer = NULL;
    seat->given = given;
    seat->is_swept = true;
    seat->is_series = seat->is_series || is_series;
    seat->is_shared = is_shared && !seat->varies;
    seat->varies = !seat->is_shared;
    return true;
}

/* Whether values get to the slot as they are, from the caller's array. */
static bool is_direct(const struct lane_seat *seat)
{
    const struct mdf_swept_values *given = seat->given;

    return given->dtype == (mdf_dtype)seat->form.dtype && given->rank == seat->form.rank && !seat->is_shared &&
           (given->rank == 0 || memcmp(given->shape, mdf_value_shape(&seat->form), given->rank * sizeof *given->shape) == 0);
}

/* What a parameter gets last; NULL: it is the same in all instances. */
static const struct mdf_swept_values *swept_values(const struct mdf_program_parameter *parameter, const struct mdf_sweep *sweep)
{
    const struct mdf_swept_values *found = NULL;
    bool varies = false;

    for (size_t i = 0; i < sweep->n_parameters; i++) {
        if (mdf_part_is_named(parameter->node, parameter->id, sweep->parameters[i].name)) {
            found = &sweep->parameters[i];
            varies = varies || found->instance_bytes > 0;
        }
    }
    return varies ? found : NULL;
}

static bool add_all_swept(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_program *program = lanes->state->program;
    const struct mdf_sweep *sweep = lanes->sweep;

    for (size_t i = 0; i < program->n_parameters; i++) {
        const struct mdf_swept_values *values = swept_values(&program->parameters[i], sweep);

        if (values != NULL &&
            !add_swept(lanes, mdf_frame_slot(lanes->state->frame, program->parameters[i].slot), values, false, false)) {
            return false;
        }
    }
    for (size_t i = 0; i < sweep->n_inputs; i++) {
        const struct mdf_swept_values *input = &sweep->inputs[i];

        for (size_t j = 0; input->instance_bytes + input->step_bytes > 0 && j < input->n_ports; j++) {
            if (!add_swept(lanes, mdf_frame_slot(lanes->state->frame, program->ports[input->ports[j]].slot), input,
                           input->step_bytes > 0, input->instance_bytes == 0)) {
                return false;
            }
        }
    }
    lanes->n_swept = lanes->n_seats;
    lanes->is_direct = true;
    for (size_t i = 0; i < lanes->n_swept; i++) {
        lanes->is_direct = lanes->is_direct && is_direct(&lanes->seats[i]);
    }
    return true;
}

/* A counter that lanes set, and look at. */
static struct lane_seat *add_counter(struct mdf_sweep_lanes *lanes, const struct mdf_value *counter, bool has_lanes)
{
    static const struct mdf_value form = {.kind = MDF_KIND_TENSOR, .dtype = MDF_DTYPE_INT64, .length = 1};
    struct lane_seat *seat = make_seat(lanes, counter);

    seat->is_swept = true;
    seat->varies = seat->has_lanes = has_lanes;
    if (!has_lanes) {
        mdf_value_borrow_tensor(lanes_memory(lanes), &seat->value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &lanes->n_steps);
    } else if (lanes_make_room(lanes, &seat->value, &form)) {
        memset(seat->value.data, 0, lanes->n_lanes * sizeof(int64_t));
    } else {
        refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    return seat;
}

/* Lanes of a stream take different numbers of steps where some come to one that is recorded, or others have ended and wait; and
 * where random numbers are drawn, so that those that have ended do not walk on. */
static bool add_counters(struct mdf_sweep_lanes *lanes)
{
    bool stops = lanes->state->program->stop.n_ports > 0;
    bool is_apart = stops && (lanes->sweep->record_every > 0 || mdf_sweep_has_series(lanes->sweep) || lanes->contexts != NULL);

    if (lanes->programs[LANES_MANY].narrow != NULL) {
        lanes->steps = add_counter(lanes, mdf_whole_counter_value(lanes->state, MDF_COUNTER_STEPS), is_apart);
    }
    if (lanes->programs[LANES_MANY].narrow != NULL && stops) {
        lanes->taken = add_counter(lanes, mdf_whole_counter_value(lanes->state, MDF_COUNTER_TAKEN), true);
    }
    return lanes->refusal.reason == MDF_REFUSED_NOT;
}

/* Marks what differs, from the seats that it begins with to those that it leaves. True: a seat differs that did not. */
static bool mark(struct lane_program *program, bool is_steady)
{
    bool changes = false;

    for (size_t i = 0; i < program->narrow->n_inputs; i++) {
        program->varies[program->narrow->inputs[i]] = program->inputs[i] != NULL && program->inputs[i]->varies;
    }
    mdf_lanes_mark(program->narrow, program->varies);
    for (size_t i = 0; i < program->narrow->n_outputs; i++) {
        struct lane_seat *seat = program->outputs[i];
        bool varies = program->varies[program->narrow->outputs[i].id];

        changes = changes || (varies && !seat->varies);
        seat->varies = varies || (is_steady && seat->varies);
    }
    return changes;
}

/* Where the inputs of a program are found, and its outputs go. */
static bool connect(struct mdf_sweep_lanes *lanes, struct lane_program *program)
{
    const struct mdf_lowered *narrow = program->narrow;

    program->inputs = mdf_arena_array(&lanes->arena, narrow->n_inputs, sizeof *program->inputs);
    program->outputs = mdf_arena_array(&lanes->arena, narrow->n_outputs, sizeof *program->outputs);
    program->found = mdf_arena_array(&lanes->arena, narrow->n_inputs, sizeof *program->found);
    program->goes = mdf_arena_array(&lanes->arena, narrow->n_outputs, sizeof *program->goes);
    if (program->inputs == NULL || program->outputs == NULL || program->found == NULL || program->goes == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    for (size_t i = 0; i < narrow->n_inputs; i++) {
        struct lane_seat *seat = find_seat(lanes, narrow->values[narrow->inputs[i]].source);

        program->inputs[i] = seat != NULL && (seat->is_swept || seat->is_written) ? seat : NULL;
        program->found[i] = program->inputs[i] != NULL ? &seat->value : &program->fixed[i];
    }
    for (size_t i = 0; i < narrow->n_outputs; i++) {
        program->outputs[i] =
            make_item(lanes, narrow->outputs[i].slot, narrow->outputs[i].n_items > 0 ? narrow->outputs[i].index + 1 : 0);
        program->goes[i] = &program->outputs[i]->value;
    }
    return true;
}

/* Finds what is left of values that are not those of the instance: intermediate results that an evaluation does not always write
 * have no seat, and may be read before they are written. True: a seat is unknown that was not. */
static bool find_unknown(struct mdf_sweep_lanes *lanes, struct lane_program *program, bool is_steady)
{
    const struct mdf_lowered *narrow = program->narrow;
    bool changes = false;

    memset(program->varies, 0, narrow->n_values * sizeof *program->varies);
    for (size_t i = 0; i < narrow->n_inputs; i++) {
        program->varies[narrow->inputs[i]] = program->inputs[i] != NULL
                                                 ? program->inputs[i]->is_unknown
                                                 : mdf_whole_may_write(lanes->state, narrow->values[narrow->inputs[i]].source);
    }
    mdf_lanes_mark_what_follows(narrow, program->varies);
    for (size_t i = 0; i < narrow->n_outputs; i++) {
        bool is_unknown = program->varies[narrow->outputs[i].id];

        changes = changes || (is_unknown && !program->outputs[i]->is_unknown);
        program->outputs[i]->is_unknown = is_unknown || (is_steady && program->outputs[i]->is_unknown);
    }
    memset(program->varies, 0, narrow->n_values * sizeof *program->varies);
    return changes;
}

static void note_written(struct lane_program *program)
{
    for (size_t i = 0; i < program->narrow->n_outputs; i++) {
        program->outputs[i]->is_written = true;
    }
}

static bool widen(struct mdf_sweep_lanes *lanes, struct lane_program *program)
{
    const struct mdf_lanes_request request = {
        .narrow = program->narrow,
        .execution = &lanes->state->shared->execution,
        .n_lanes = lanes->n_lanes,
        .varies = program->varies,
        .needed = program->needed,
        .inputs = program->found,
        .outputs = program->goes,
        .contexts = lanes->contexts != NULL ? (struct mdf_context *const *const *)&lanes->contexts : NULL,
        .traps = &lanes->traps};

    program->wide = mdf_lower_lanes(&request, &lanes->refusal);
    return program->wide != NULL || refuse(lanes, MDF_REFUSED_NOT_SAID);
}

/* Whether the first two evaluations write a seat: they leave out what has no number afterwards, or is not always of one type,
 * which later ones may write. */
static bool is_made_from_the_first(const struct mdf_sweep_lanes *lanes, const struct lane_seat *seat)
{
    bool is_made = true;

    for (size_t i = LANES_FIRST; i <= LANES_SECOND && lanes->programs[i].narrow != NULL && !seat->is_swept; i++) {
        const struct lane_program *program = &lanes->programs[i];
        size_t k = 0;

        while (k < program->narrow->n_outputs && program->outputs[k] != seat) {
            k++;
        }
        is_made = is_made && k < program->narrow->n_outputs;
    }
    return is_made;
}

/* Whether what lies in a seat is the instance's own wherever a row is written of it. */
static bool can_be_recorded(struct mdf_sweep_lanes *lanes, const struct lane_seat *seat)
{
    bool is_early = lanes->sweep->record_every > 0 || lanes->sweep->n_steps <= 2;

    if (seat->is_unknown) {
        return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
    }
    return !is_early || is_made_from_the_first(lanes, seat) || refuse(lanes, MDF_REFUSED_NOT_ONE_TYPE);
}

/* A record's own seat, or, of a list, those of its items, which all have to be there. */
static bool find_seats_of(struct mdf_sweep_lanes *lanes, struct lane_record *record)
{
    const struct mdf_value *value = record->constant;
    bool is_list = value->kind == MDF_KIND_LIST;
    size_t n = is_list ? value->length : 1;

    record->n_items = is_list ? n : 0;
    record->seats = mdf_arena_array(&lanes->arena, n, sizeof *record->seats);
    if (record->seats == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    for (size_t i = 0; i < n; i++) {
        record->seats[i] = find_item(lanes, value, is_list ? i + 1 : 0);
        if (record->seats[i] != NULL && !can_be_recorded(lanes, record->seats[i])) {
            return false;
        }
        if (record->seats[i] == NULL && (is_list || value->buffer != NULL || mdf_whole_may_write(lanes->state, value))) {
            return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
        }
    }
    record->seats = is_list || record->seats[0] != NULL ? record->seats : NULL;
    return (is_list && n > 0) || value->kind == MDF_KIND_TENSOR || refuse(lanes, MDF_REFUSED_NO_NUMBERS);
}

static bool find_recorded(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_sweep *sweep = lanes->sweep;

    lanes->recorded = mdf_arena_array(&lanes->arena, sweep->n_records, sizeof *lanes->recorded);
    if (lanes->recorded == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    for (size_t i = 0; i < sweep->n_records; i++) {
        struct lane_record *record = &lanes->recorded[i];

        record->constant = mdf_state_output(lanes->state, sweep->records[i].node, sweep->records[i].output);
        record->is_kept = lanes->arrays != NULL || mdf_sweep_reduces(sweep, i);
        if (!find_seats_of(lanes, record)) {
            return false;
        }
    }
    return true;
}

static bool find_stop(struct mdf_sweep_lanes *lanes)
{
    if (lanes->state->program->stop.n_ports == 0) {
        lanes->is_in_step = true;
        return true;
    }
    lanes->stop = find_seat(lanes, mdf_frame_value(lanes->state->frame, lanes->state->program->stop.value));
    lanes->is_in_step = mdf_sweep_has_series(lanes->sweep) ||
                        (lanes->steps != NULL && !lanes->steps->varies && lanes->stop != NULL && !lanes->stop->varies);
    return (lanes->stop != NULL && !lanes->stop->is_unknown && is_made_from_the_first(lanes, lanes->stop)) ||
           refuse(lanes, MDF_REFUSED_NO_NUMBERS);
}

/* Finds what a program has to make of the seats that are wanted, and which it looks at itself. True: there are more of these. */
static bool find_needed(struct lane_program *program)
{
    const struct mdf_lowered *narrow = program->narrow;
    bool changes = false;

    for (size_t i = 0; i < narrow->n_outputs; i++) {
        program->needed[narrow->outputs[i].id] = program->needed[narrow->outputs[i].id] || program->outputs[i]->is_wanted;
    }
    mdf_lanes_need(narrow, program->needed);
    for (size_t i = 0; i < narrow->n_inputs; i++) {
        if (program->needed[narrow->inputs[i]] && program->inputs[i] != NULL && !program->inputs[i]->is_wanted) {
            program->inputs[i]->is_wanted = changes = true;
        }
    }
    return changes;
}

/* What nobody wants is not made, and needs no lanes. */
static void leave_out_unwanted(struct lane_program *program)
{
    const struct mdf_lowered *narrow = program->narrow;

    for (size_t i = 0; i < narrow->n_inputs; i++) {
        program->inputs[i] = program->needed[narrow->inputs[i]] ? program->inputs[i] : NULL;
    }
    for (size_t i = 0; i < narrow->n_outputs; i++) {
        program->goes[i] = program->outputs[i]->is_wanted ? program->goes[i] : NULL;
    }
}

/* Wanted are the seats that somebody looks at from outside, and those that programs need to make them. */
static void find_wanted(struct mdf_sweep_lanes *lanes)
{
    struct lane_seat *const told[] = {lanes->steps, lanes->taken, lanes->stop};
    bool changes = true;
    size_t i;

    for (i = 0; i < sizeof told / sizeof *told; i++) {
        if (told[i] != NULL) {
            told[i]->is_wanted = true;
        }
    }
    for (i = 0; i < lanes->sweep->n_records; i++) {
        const struct lane_record *record = &lanes->recorded[i];

        for (size_t j = 0; record->seats != NULL && record->is_kept && j < (record->n_items > 0 ? record->n_items : 1); j++) {
            record->seats[j]->is_wanted = true;
        }
    }
    while (changes) {
        for (i = 0, changes = false; i < N_LANE_KINDS; i++) {
            changes = (lanes->programs[i].narrow != NULL && find_needed(&lanes->programs[i])) || changes;
        }
    }
    for (i = 0; i < N_LANE_KINDS; i++) {
        if (lanes->programs[i].narrow != NULL) {
            leave_out_unwanted(&lanes->programs[i]);
        }
    }
}

/* What somebody wants is of one type in all lanes. */
static bool wants_one_type(struct mdf_sweep_lanes *lanes)
{
    for (size_t i = 0; i < N_LANE_KINDS; i++) {
        const struct lane_program *program = &lanes->programs[i];

        for (size_t k = 0; program->narrow != NULL && k < program->narrow->n_outputs; k++) {
            if (program->narrow->outputs[k].has_other && program->outputs[k]->is_wanted) {
                return refuse(lanes, MDF_REFUSED_NOT_ONE_TYPE);
            }
        }
    }
    return true;
}

/* A seat that each instance leaves what it has come to in, when it has begun by itself. */
static void add_begun(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot, const struct mdf_value *form)
{
    struct lane_seat *seat = find_seat(lanes, slot);

    if (seat == NULL) {
        seat = make_seat(lanes, slot);
        seat->form = *form;
        seat->form.data = NULL;
        seat->form.buffer = NULL;
        seat->is_written = seat->varies = seat->is_begun = true;
    }
}

/* What evaluations find in slots that others write, and what is recorded of nodes that do not run any more. */
static bool add_all_begun(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_lowered *narrow = lanes->programs[LANES_MANY].narrow;

    for (size_t i = 0; i < narrow->n_inputs; i++) {
        const struct mdf_lowered_value *value = &narrow->values[narrow->inputs[i]];

        if (mdf_whole_may_write(lanes->state, value->source)) {
            add_begun(lanes, value->source, &value->form);
        }
    }
    for (size_t i = 0; i < lanes->sweep->n_records; i++) {
        const struct mdf_value *value =
            mdf_state_output(lanes->state, lanes->sweep->records[i].node, lanes->sweep->records[i].output);

        if (value->kind != MDF_KIND_TENSOR || value->rank >= MDF_INLINE_RANK || value->dtype == MDF_DTYPE_STRING) {
            return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
        }
        if (mdf_whole_may_write(lanes->state, value)) { /* else it is not as it was in the instance that was looked at */
            add_begun(lanes, value, value);
        }
    }
    return true;
}

/* Evaluations from the third on follow each other in any order. */
static bool connect_steady(struct mdf_sweep_lanes *lanes)
{
    struct lane_program *programs = lanes->programs;
    bool changes = true;
    size_t i;

    for (i = LANES_SINGLE; i <= LANES_MANY; i++) {
        if (programs[i].narrow != NULL && !connect(lanes, &programs[i])) {
            return false;
        }
    }
    while (changes) {
        for (i = LANES_SINGLE, changes = false; i <= LANES_MANY; i++) {
            changes = (programs[i].narrow != NULL && find_unknown(lanes, &programs[i], true)) || changes;
        }
    }
    for (changes = true; changes;) {
        for (i = LANES_SINGLE, changes = false; i <= LANES_MANY; i++) {
            changes = (programs[i].narrow != NULL && mark(&programs[i], true)) || changes;
        }
    }
    return true;
}

static bool connect_all(struct mdf_sweep_lanes *lanes)
{
    struct lane_program *programs = lanes->programs;

    for (size_t i = LANES_FIRST; i <= LANES_SECOND && programs[i].narrow != NULL; i++) {
        if (!connect(lanes, &programs[i])) {
            return false;
        }
        if (i == LANES_SECOND) {
            find_unknown(lanes, &programs[i], false);
        }
        note_written(&programs[i]);
        mark(&programs[i], false);
    }
    return connect_steady(lanes);
}

/* Makes all programs for lanes, once the narrow ones are there. */
static bool prepare(struct mdf_sweep_lanes *lanes)
{
    enum { N_COUNTERS = 2 };
    struct lane_program *programs = lanes->programs;
    size_t n_seats = lanes->state->program->n_parameters + lanes->state->program->n_ports + N_COUNTERS;

    n_seats += lanes->sweep->n_records;
    for (size_t i = 0; i < N_LANE_KINDS; i++) {
        n_seats += programs[i].narrow == NULL ? 0 : programs[i].narrow->n_inputs + programs[i].narrow->n_outputs;
    }
    lanes->seats = mdf_arena_array(&lanes->arena, n_seats, sizeof *lanes->seats);
    if (lanes->seats == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    if (lanes->begins_alone && programs[LANES_MANY].narrow == NULL) {
        return refuse(lanes, MDF_REFUSED_ENDS_EARLY);
    }
    if (!add_all_swept(lanes) || !add_counters(lanes) || (lanes->begins_alone && !add_all_begun(lanes)) || !connect_all(lanes) ||
        !find_recorded(lanes) || !find_stop(lanes)) {
        return false;
    }
    find_wanted(lanes);
    if (!wants_one_type(lanes)) {
        return false;
    }
    for (size_t i = 0; i < N_LANE_KINDS; i++) {
        if (programs[i].narrow != NULL && !widen(lanes, &programs[i])) {
            return false;
        }
    }
    return true;
}

/* Whether the instance has gone through all kinds of evaluations that there are. */
static bool has_seen_all(const struct mdf_sweep_lanes *lanes)
{
    return lanes->begins_alone ? lanes->programs[LANES_MANY].narrow != NULL
                               : lanes->n_seen > LANES_SINGLE || lanes->n_seen == lanes->sweep->n_steps;
}

/* An instance may have ended before it had shown all: the first, the second, the fourth and so on are looked at. */
bool mdf_sweep_lanes_want_to_learn(struct mdf_sweep_lanes *lanes)
{
    if (lanes->is_ready || lanes->refusal.reason != MDF_REFUSED_NOT) {
        return false;
    }
    lanes->n_asked++;
    return (lanes->n_asked & (lanes->n_asked - 1)) == 0;
}

mdf_status mdf_sweep_lanes_learn(struct mdf_sweep_lanes *lanes, size_t number, const struct mdf_sweep_target *target,
                                 mdf_error *error)
{
    struct mdf_shared_state *shared = lanes->state->shared;
    mdf_status status;

    forget(lanes);
    shared->look = look;
    shared->look_context = lanes;
    status = mdf_sweep_run_instance(lanes->sweep, lanes->state, number, target, error);
    shared->look = NULL;
    lanes->is_ready = status == MDF_OK && has_seen_all(lanes) && lanes->refusal.reason == MDF_REFUSED_NOT && prepare(lanes);
    return status;
}
