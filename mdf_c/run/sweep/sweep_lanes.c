/* sweep_lanes.c - see sweep_lanes.h.
 *
 * Evaluations are of four kinds: the first, without a time increment and with initial values; the second; from the third on those
 * that somebody looks at, and many in a row that nobody does. Each is lowered for one instance while the first instance goes
 * through it, and then for all lanes. What one leaves in a slot of the frame the next finds in a place ("seat") that stands for
 * the slot, with the values of all lanes, or the one of all. */
#include "mdf_c/run/sweep/sweep_lanes.h"

#include "mdf_c/lower/lanes/lanes.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/restart.h"
#include "mdf_c/run/whole/whole_schedule.h"

#include <math.h>
#include <string.h>

/* What stands for a slot. */
struct seat {
    const struct mdf_value *slot;
    struct mdf_value value;    /* of all lanes, or one for all */
    struct mdf_value form;     /* of a swept slot: that of one value */
    bool has_lanes;            /* as it is now */
    bool varies;               /* it may have, where evaluations of a kind begin */
    bool is_swept, is_written; /* swept: given from outside */
    bool is_series;            /* in each step */
    bool is_shared;            /* the same for all instances */
    bool is_unknown;           /* what is left there depends on a slot that has no seat: nobody may look at it */
};

enum kind { FIRST, SECOND, SINGLE, MANY, N_KINDS };

/* Evaluations of a kind. */
struct program {
    struct mdf_lowered *narrow, *wide;
    bool *varies;            /* of each narrow value */
    struct seat **inputs;    /* NULL: `fixed` */
    struct mdf_value *fixed; /* of each input: what is the same in all instances, and no evaluation before has written */
    struct seat **outputs;
    struct mdf_value **found, **goes; /* where inputs are, where outputs go */
};

struct mdf_sweep_lanes {
    const struct mdf_sweep *sweep;
    struct mdf_state *state;
    size_t n_lanes;
    struct mdf_arena arena;
    struct program programs[N_KINDS];
    struct seat *seats;
    size_t n_seats, n_swept;
    uint64_t n_seen; /* evaluations of the instance that is looked at */
    int64_t n_steps; /* of evaluations in a row */
    struct mdf_value steps, traps;
    struct seat **recorded; /* of each record; NULL: the value in `constants` */
    const struct mdf_value **constants;
    unsigned n_failed; /* groups in a row */
    bool is_ready;
    struct mdf_refusal refusal;
};

/* So many groups in which lanes do not cover something, one behind the other, are enough. */
enum { MOST_FAILED = 4 };

bool mdf_sweep_may_have_lanes(const struct mdf_sweep *sweep)
{
    return sweep->program->stop.n_ports == 0 && sweep->stopped_steps == NULL && sweep->reduced == NULL;
}

size_t mdf_sweep_count_lanes(const struct mdf_sweep *sweep)
{
    enum { LANES = 16, FEW_STEPS = 64 };
    size_t n = sweep->n_lanes, lanes = LANES;

    if (sweep->program->is_plain || !mdf_sweep_may_have_lanes(sweep)) {
        return 1;
    }
    if (n == 0 && sweep->program->real == MDF_DTYPE_FLOAT32) {
        return 1; /* some of their forms have no machine code for so many: they are slower than instances one by one */
    }
    if (n == 0) {
        bool pays = sweep->n_instances > 2 * lanes || (sweep->n_instances > 4 && sweep->n_steps > FEW_STEPS * (uint64_t)lanes);

        return pays ? lanes : 1;
    }
    for (lanes = 1; 2 * lanes <= n && lanes < MDF_SWEEP_MOST_LANES; lanes *= 2) {
    }
    return lanes;
}

static struct mdf_memory *memory_of(const struct mdf_sweep_lanes *lanes)
{
    return &lanes->state->shared->memory;
}

static bool refuse(struct mdf_sweep_lanes *lanes, enum mdf_refusal_reason reason)
{
    if (lanes->refusal.reason == MDF_REFUSED_NOT) {
        lanes->refusal = (struct mdf_refusal){.reason = reason};
    }
    return false;
}

struct mdf_sweep_lanes *mdf_sweep_lanes_new(const struct mdf_sweep *sweep, struct mdf_state *state)
{
    struct mdf_sweep_lanes *lanes = mdf_memory_allocate_zeroed(&state->shared->memory, 1, sizeof *lanes);

    if (lanes != NULL) {
        lanes->sweep = sweep;
        lanes->state = state;
        lanes->n_lanes = mdf_sweep_count_lanes(sweep);
        mdf_arena_init(&lanes->arena, &state->shared->memory);
    }
    return lanes;
}

void mdf_sweep_lanes_release(struct mdf_sweep_lanes *lanes)
{
    struct mdf_memory *memory;
    size_t i, j;

    if (lanes == NULL) {
        return;
    }
    memory = memory_of(lanes);
    for (i = 0; i < N_KINDS; i++) {
        mdf_lowered_release(lanes->programs[i].wide); /* which gives seats back the memory that they had */
        for (j = 0; lanes->programs[i].fixed != NULL && j < lanes->programs[i].narrow->n_inputs; j++) {
            mdf_value_clear(memory, &lanes->programs[i].fixed[j]);
        }
    }
    for (i = 0; i < lanes->n_seats; i++) {
        mdf_value_clear(memory, &lanes->seats[i].value);
    }
    for (i = 0; i < N_KINDS; i++) {
        mdf_lowered_release(lanes->programs[i].narrow);
    }
    mdf_value_clear(memory, &lanes->traps);
    mdf_arena_release(&lanes->arena);
    mdf_memory_release(memory, lanes);
}

bool mdf_sweep_lanes_are_ready(const struct mdf_sweep_lanes *lanes, struct mdf_refusal *refusal)
{
    *refusal = lanes->refusal;
    return lanes->is_ready;
}

/* ------------------------------------------------------------------ learning */

static bool lower(struct mdf_sweep_lanes *lanes, enum kind kind)
{
    static const enum mdf_whole_part parts[] = {MDF_WHOLE_FIRST, MDF_WHOLE_SECOND, MDF_WHOLE_SINGLE, MDF_WHOLE_MANY};
    struct program *program = &lanes->programs[kind];
    const struct mdf_value *steps;
    size_t i;

    program->narrow = mdf_whole_lower(lanes->state, parts[kind], &lanes->refusal);
    if (program->narrow == NULL) {
        return refuse(lanes, MDF_REFUSED_NOT_SAID);
    }
    program->fixed = mdf_arena_array(&lanes->arena, program->narrow->n_inputs, sizeof *program->fixed);
    program->varies = mdf_arena_array(&lanes->arena, program->narrow->n_values, sizeof *program->varies);
    if (program->fixed == NULL || program->varies == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    steps = &lanes->state->whole->counters[MDF_OPERAND_INDEX(mdf_whole_counter(lanes->state->program, MDF_COUNTER_STEPS, 0)) -
                                           lanes->state->program->code->n_slots];
    for (i = 0; i < program->narrow->n_inputs; i++) {
        const struct mdf_value *source = program->narrow->values[program->narrow->inputs[i]].source;

        if (source == steps) {
            mdf_value_borrow_tensor(memory_of(lanes), &lanes->steps, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL,
                                    &lanes->n_steps);
        } else if (!mdf_value_copy_apart(memory_of(lanes), &program->fixed[i], source)) {
            return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
        }
    }
    return true;
}

/* Called before each evaluation of the instance that is looked at; what is wrong with it, the evaluation says. */
static void look(void *context, struct mdf_state *state)
{
    struct mdf_sweep_lanes *lanes = context;
    mdf_error error = state->shared->execution.context.error;
    uint64_t seen = lanes->n_seen++;

    if (lanes->refusal.reason != MDF_REFUSED_NOT || seen > SINGLE) {
        return;
    }
    if (seen < SINGLE) {
        lower(lanes, (enum kind)seen);
    } else if (lower(lanes, SINGLE)) {
        lower(lanes, MANY);
    }
    state->shared->execution.context.error = error;
}

static struct seat *find_seat(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot)
{
    size_t i;

    for (i = 0; i < lanes->n_seats && lanes->seats[i].slot != slot; i++) {
    }
    return i < lanes->n_seats ? &lanes->seats[i] : NULL;
}

static struct seat *make_seat(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot)
{
    struct seat *seat = find_seat(lanes, slot);

    if (seat == NULL) {
        seat = &lanes->seats[lanes->n_seats++];
        seat->slot = slot;
    }
    return seat;
}

/* Slots of what is swept, as they are set now. */
static bool add_swept(struct mdf_sweep_lanes *lanes, const struct mdf_value *slot, bool is_series, bool is_shared)
{
    struct seat *seat = make_seat(lanes, slot);

    if (slot->kind != MDF_KIND_TENSOR || slot->dtype == MDF_DTYPE_STRING || slot->length == 0 || slot->rank >= MDF_INLINE_RANK) {
        return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
    }
    seat->form = *slot;
    seat->form.data = NULL;
    seat->form.buffer = NULL;
    seat->is_swept = true;
    seat->is_series = seat->is_series || is_series;
    seat->is_shared = is_shared && !seat->varies;
    seat->varies = !seat->is_shared;
    return true;
}

static bool is_swept(const struct mdf_program_parameter *parameter, const struct mdf_sweep *sweep)
{
    size_t i;

    for (i = 0; i < sweep->n_parameters; i++) {
        if (sweep->parameters[i].instance_bytes > 0 &&
            mdf_parameter_is_named(parameter->node, parameter->id, sweep->parameters[i].name)) {
            return true;
        }
    }
    return false;
}

static bool add_all_swept(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_program *program = lanes->state->program;
    const struct mdf_sweep *sweep = lanes->sweep;
    size_t i, j;

    for (i = 0; i < program->n_parameters; i++) {
        if (is_swept(&program->parameters[i], sweep) &&
            !add_swept(lanes, mdf_frame_slot(lanes->state->frame, program->parameters[i].slot), false, false)) {
            return false;
        }
    }
    for (i = 0; i < sweep->n_inputs; i++) {
        const struct mdf_swept_values *input = &sweep->inputs[i];

        for (j = 0; input->instance_bytes + input->step_bytes > 0 && j < input->n_ports; j++) {
            if (!add_swept(lanes, mdf_frame_slot(lanes->state->frame, program->ports[input->ports[j]].slot),
                           input->step_bytes > 0, input->instance_bytes == 0)) {
                return false;
            }
        }
    }
    lanes->n_swept = lanes->n_seats;
    return true;
}

/* Marks what differs, from the seats that it begins with to those that it leaves. True: a seat differs that did not. */
static bool mark(struct program *program, bool is_steady)
{
    bool changes = false;
    size_t i;

    for (i = 0; i < program->narrow->n_inputs; i++) {
        program->varies[program->narrow->inputs[i]] = program->inputs[i] != NULL && program->inputs[i]->varies;
    }
    mdf_lanes_mark(program->narrow, program->varies);
    for (i = 0; i < program->narrow->n_outputs; i++) {
        struct seat *seat = program->outputs[i];
        bool varies = program->varies[program->narrow->outputs[i].id];

        changes = changes || (varies && !seat->varies);
        seat->varies = varies || (is_steady && seat->varies);
    }
    return changes;
}

/* Whether evaluations may write a slot: then it is not as it was in the instance that was looked at. */
static bool is_ever_written(const struct mdf_sweep_lanes *lanes, const struct mdf_value *slot)
{
    size_t n = lanes->state->program->code->n_slots, i;

    for (i = 0; i < n && mdf_frame_slot(lanes->state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, i)) != slot; i++) {
    }
    return i < n && lanes->state->whole->is_written[i];
}

/* Where the inputs of a program are found, and its outputs go. */
static bool connect(struct mdf_sweep_lanes *lanes, struct program *program)
{
    const struct mdf_lowered *narrow = program->narrow;
    size_t i;

    program->inputs = mdf_arena_array(&lanes->arena, narrow->n_inputs, sizeof *program->inputs);
    program->outputs = mdf_arena_array(&lanes->arena, narrow->n_outputs, sizeof *program->outputs);
    program->found = mdf_arena_array(&lanes->arena, narrow->n_inputs, sizeof *program->found);
    program->goes = mdf_arena_array(&lanes->arena, narrow->n_outputs, sizeof *program->goes);
    if (program->inputs == NULL || program->outputs == NULL || program->found == NULL || program->goes == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    for (i = 0; i < narrow->n_inputs; i++) {
        struct seat *seat = find_seat(lanes, narrow->values[narrow->inputs[i]].source);

        program->inputs[i] = seat != NULL && (seat->is_swept || seat->is_written) ? seat : NULL;
        program->found[i] = program->inputs[i] != NULL                ? &seat->value
                            : program->fixed[i].kind == MDF_KIND_NONE ? &lanes->steps
                                                                      : &program->fixed[i];
    }
    for (i = 0; i < narrow->n_outputs; i++) {
        program->outputs[i] = make_seat(lanes, narrow->outputs[i].slot);
        program->goes[i] = &program->outputs[i]->value;
    }
    return true;
}

/* Finds what is left of values that are not those of the instance: intermediate results that an evaluation does not always write
 * have no seat, and may be read before they are written. True: a seat is unknown that was not. */
static bool find_unknown(struct mdf_sweep_lanes *lanes, struct program *program, bool is_steady)
{
    const struct mdf_lowered *narrow = program->narrow;
    bool changes = false;
    size_t i;

    memset(program->varies, 0, narrow->n_values * sizeof *program->varies);
    for (i = 0; i < narrow->n_inputs; i++) {
        program->varies[narrow->inputs[i]] = program->inputs[i] != NULL
                                                 ? program->inputs[i]->is_unknown
                                                 : is_ever_written(lanes, narrow->values[narrow->inputs[i]].source);
    }
    mdf_lanes_mark(narrow, program->varies);
    for (i = 0; i < narrow->n_outputs; i++) {
        bool is_unknown = program->varies[narrow->outputs[i].id];

        changes = changes || (is_unknown && !program->outputs[i]->is_unknown);
        program->outputs[i]->is_unknown = is_unknown || (is_steady && program->outputs[i]->is_unknown);
    }
    memset(program->varies, 0, narrow->n_values * sizeof *program->varies);
    return changes;
}

static void note_written(struct program *program)
{
    size_t i;

    for (i = 0; i < program->narrow->n_outputs; i++) {
        program->outputs[i]->is_written = true;
    }
}

static bool widen(struct mdf_sweep_lanes *lanes, struct program *program)
{
    const struct mdf_lanes_request request = {.narrow = program->narrow,
                                              .execution = &lanes->state->shared->execution,
                                              .n_lanes = lanes->n_lanes,
                                              .varies = program->varies,
                                              .inputs = program->found,
                                              .outputs = program->goes,
                                              .traps = &lanes->traps};

    program->wide = mdf_lower_lanes(&request, &lanes->refusal);
    return program->wide != NULL || refuse(lanes, MDF_REFUSED_NOT_SAID);
}

static bool find_recorded(struct mdf_sweep_lanes *lanes)
{
    const struct mdf_sweep *sweep = lanes->sweep;
    size_t i;

    lanes->recorded = mdf_arena_array(&lanes->arena, sweep->n_records, sizeof *lanes->recorded);
    lanes->constants = mdf_arena_array(&lanes->arena, sweep->n_records, sizeof *lanes->constants);
    if (lanes->recorded == NULL || lanes->constants == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    for (i = 0; i < sweep->n_records; i++) {
        const struct mdf_value *value = mdf_state_output(lanes->state, sweep->records[i].node, sweep->records[i].output);

        lanes->recorded[i] = find_seat(lanes, value);
        lanes->constants[i] = value;
        if (value->kind != MDF_KIND_TENSOR || (lanes->recorded[i] == NULL && value->buffer != NULL) ||
            (lanes->recorded[i] != NULL && lanes->recorded[i]->is_unknown)) {
            return refuse(lanes, MDF_REFUSED_NO_NUMBERS);
        }
    }
    return true;
}

/* Makes all programs for lanes, once the narrow ones are there. */
static bool prepare(struct mdf_sweep_lanes *lanes)
{
    struct program *programs = lanes->programs;
    size_t n_seats = lanes->state->program->n_parameters + lanes->state->program->n_ports, i;
    bool changes = true;

    for (i = 0; i < N_KINDS; i++) {
        n_seats += programs[i].narrow == NULL ? 0 : programs[i].narrow->n_outputs;
    }
    lanes->seats = mdf_arena_array(&lanes->arena, n_seats, sizeof *lanes->seats);
    if (lanes->seats == NULL) {
        return refuse(lanes, MDF_REFUSED_OUT_OF_MEMORY);
    }
    if (!add_all_swept(lanes)) {
        return false;
    }
    for (i = FIRST; i <= SECOND && programs[i].narrow != NULL; i++) {
        if (!connect(lanes, &programs[i])) {
            return false;
        }
        if (i == SECOND) {
            find_unknown(lanes, &programs[i], false);
        }
        note_written(&programs[i]);
        mark(&programs[i], false);
    }
    if (programs[SINGLE].narrow != NULL) {
        if (!connect(lanes, &programs[SINGLE]) || !connect(lanes, &programs[MANY])) {
            return false;
        }
        while (changes) {
            bool many = find_unknown(lanes, &programs[MANY], true);

            changes = find_unknown(lanes, &programs[SINGLE], true) || many;
        }
        for (changes = true; changes;) {
            bool many = mark(&programs[MANY], true);

            changes = mark(&programs[SINGLE], true) || many;
        }
    }
    for (i = 0; i < N_KINDS && programs[i].narrow != NULL; i++) {
        if (!widen(lanes, &programs[i])) {
            return false;
        }
    }
    return find_recorded(lanes);
}

mdf_status mdf_sweep_lanes_learn(struct mdf_sweep_lanes *lanes, size_t number, const struct mdf_sweep_target *target,
                                 mdf_error *error)
{
    struct mdf_shared_state *shared = lanes->state->shared;
    mdf_status status;

    shared->look = look;
    shared->look_context = lanes;
    status = mdf_sweep_run_instance(lanes->sweep, lanes->state, number, target, error);
    shared->look = NULL;
    lanes->is_ready = status == MDF_OK && lanes->refusal.reason == MDF_REFUSED_NOT && prepare(lanes);
    return status;
}

/* ------------------------------------------------------------------ running */

static bool has_form(const struct mdf_value *value, const struct mdf_value *form)
{
    return value->kind == form->kind && value->dtype == form->dtype && value->strength == form->strength &&
           value->rank == form->rank && value->length == form->length &&
           memcmp(mdf_value_shape(value), mdf_value_shape(form), value->rank * sizeof(int64_t)) == 0;
}

/* Elements of one value as those of a lane. */
static void put_lane(char *target, const char *source, size_t n, size_t size, size_t n_lanes, size_t lane)
{
    size_t i;

    for (i = 0; i < n; i++) {
        memcpy(target + (i * n_lanes + lane) * size, source + i * size, size);
    }
}

static void take_lane(char *target, const char *source, size_t n, size_t size, size_t n_lanes, size_t lane)
{
    size_t i;

    for (i = 0; i < n; i++) {
        memcpy(target + i * size, source + (i * n_lanes + lane) * size, size);
    }
}

static bool make_room(struct mdf_sweep_lanes *lanes, struct mdf_value *value, const struct mdf_value *form)
{
    int64_t shape[MDF_INLINE_RANK];

    return mdf_lanes_form(form, lanes->n_lanes, shape) &&
           mdf_value_make_tensor(memory_of(lanes), value, (mdf_dtype)form->dtype, form->rank + 1u, shape) != NULL;
}

static bool begin_swept(struct mdf_sweep_lanes *lanes, uint64_t step)
{
    size_t i;

    for (i = 0; i < lanes->n_swept; i++) {
        struct seat *seat = &lanes->seats[i];

        if (step > 0 && !seat->is_series) {
            continue;
        }
        seat->has_lanes = !seat->is_shared;
        if (seat->has_lanes && !make_room(lanes, &seat->value, &seat->form)) {
            return false;
        }
    }
    return true;
}

/* What an instance has been given, as the values of a lane. */
static bool take_given(struct mdf_sweep_lanes *lanes, size_t lane, uint64_t step)
{
    size_t i;

    for (i = 0; i < lanes->n_swept; i++) {
        struct seat *seat = &lanes->seats[i];

        if (step > 0 && !seat->is_series) {
            continue;
        }
        if (!has_form(seat->slot, &seat->form)) {
            return false;
        }
        if (!seat->is_shared) {
            put_lane(seat->value.data, seat->slot->data, seat->form.length, mdf_dtype_size((mdf_dtype)seat->form.dtype),
                     lanes->n_lanes, lane);
        } else if (lane == 0 && !mdf_value_copy_apart(memory_of(lanes), &seat->value, seat->slot)) {
            return false;
        }
    }
    return true;
}

/* The values of each instance in a step, brought to the types of the model by one state after the other. */
static bool set_swept(struct mdf_sweep_lanes *lanes, size_t first, size_t n, uint64_t step)
{
    size_t lane;

    if (step > 0 && !mdf_sweep_has_series(lanes->sweep)) {
        return true;
    }
    if (!begin_swept(lanes, step)) {
        return false;
    }
    for (lane = 0; lane < lanes->n_lanes; lane++) {
        size_t number = first + (lane < n ? lane : n - 1);

        if (mdf_sweep_give_values(lanes->sweep, lanes->state, number, step, NULL) != MDF_OK || !take_given(lanes, lane, step)) {
            return false;
        }
    }
    return true;
}

/* A seat that has one value for all gets it for each lane. */
static bool spread(struct mdf_sweep_lanes *lanes, struct seat *seat)
{
    struct mdf_value wide = {0};
    size_t lane;

    if (seat->value.kind != MDF_KIND_TENSOR || !make_room(lanes, &wide, &seat->value)) {
        return false;
    }
    for (lane = 0; lane < lanes->n_lanes; lane++) {
        put_lane(wide.data, seat->value.data, seat->value.length, mdf_dtype_size((mdf_dtype)wide.dtype), lanes->n_lanes, lane);
    }
    mdf_value_swap(&wide, &seat->value);
    mdf_value_clear(memory_of(lanes), &wide);
    seat->has_lanes = true;
    return true;
}

static bool run_program(struct mdf_sweep_lanes *lanes, enum kind kind)
{
    struct program *program = &lanes->programs[kind];
    size_t i;

    if (program->wide == NULL) {
        return false;
    }
    for (i = 0; i < program->narrow->n_inputs; i++) {
        if (program->inputs[i] != NULL && program->varies[program->narrow->inputs[i]] && !program->inputs[i]->has_lanes &&
            !spread(lanes, program->inputs[i])) {
            return false;
        }
    }
    mdf_lowered_emit_in_time(program->wide);
    if (mdf_lowered_run(program->wide) != MDF_LOWERED_DONE) {
        return false;
    }
    for (i = 0; i < program->narrow->n_outputs; i++) {
        program->outputs[i]->has_lanes = program->varies[program->narrow->outputs[i].id];
    }
    return true;
}

/* Lanes that have left are not followed; false: none is left. */
static bool note_traps(struct mdf_sweep_lanes *lanes, bool *is_done, size_t n)
{
    const uint8_t *traps = lanes->traps.data;
    bool any = false;
    size_t lane;

    for (lane = 0; lane < n; lane++) {
        is_done[lane] = is_done[lane] && (lanes->traps.kind != MDF_KIND_TENSOR || traps[lane] == 0);
        any = any || is_done[lane];
    }
    return any;
}

static bool write_rows(struct mdf_sweep_lanes *lanes, size_t first, size_t n, size_t row, void *const *arrays,
                       const bool *is_done)
{
    const struct mdf_sweep *sweep = lanes->sweep;
    struct mdf_value single = {0};
    bool done = true;
    size_t i, lane;

    for (i = 0; i < sweep->n_records && done; i++) {
        const struct seat *seat = lanes->recorded[i];
        const struct mdf_value *value = seat != NULL ? &seat->value : lanes->constants[i];
        size_t size = mdf_dtype_size((mdf_dtype)value->dtype);
        bool has_lanes = seat != NULL && seat->has_lanes;

        if (has_lanes) {
            done = mdf_value_make_tensor(memory_of(lanes), &single, (mdf_dtype)value->dtype, value->rank - 1u,
                                         mdf_value_shape(value)) != NULL;
        }
        for (lane = 0; lane < n && done; lane++) {
            if (has_lanes) {
                take_lane(single.data, value->data, single.length, size, lanes->n_lanes, lane);
            }
            done = !is_done[lane] ||
                   mdf_sweep_write_row(sweep, lanes->state, first + lane, row, i, has_lanes ? &single : value, arrays) == MDF_OK;
        }
    }
    mdf_value_clear(memory_of(lanes), &single);
    return done;
}

static bool run_steps(struct mdf_sweep_lanes *lanes, size_t first, size_t n, void *const *arrays, bool *is_done)
{
    enum { MOST_AT_ONCE = 1 << 14 };
    const struct mdf_sweep *sweep = lanes->sweep;
    uint64_t step;
    size_t row = 0;

    for (step = 0; step < sweep->n_steps; step++) {
        uint64_t n_left = mdf_sweep_count_unseen(sweep, step);

        if (step >= SINGLE && n_left > 0 && !mdf_sweep_has_series(sweep)) {
            lanes->n_steps = (int64_t)(n_left < MOST_AT_ONCE ? n_left : MOST_AT_ONCE);
            if (!run_program(lanes, MANY)) {
                return false;
            }
            step += (uint64_t)lanes->n_steps;
        }
        if (atomic_load_explicit(&sweep->interrupted, memory_order_relaxed) || !set_swept(lanes, first, n, step) ||
            !run_program(lanes, step < SINGLE ? (enum kind)step : SINGLE) || !note_traps(lanes, is_done, n)) {
            return false;
        }
        if (mdf_sweep_is_recorded(sweep, step) && !write_rows(lanes, first, n, row++, arrays, is_done)) {
            return false;
        }
    }
    return true;
}

void mdf_sweep_lanes_run(struct mdf_sweep_lanes *lanes, size_t first, size_t n, void *const *arrays, bool *is_done)
{
    struct mdf_state *state = lanes->state;
    size_t n_done = 0, i;
    bool done = true;

    memset(is_done, true, n);
    mdf_value_clear(memory_of(lanes), &lanes->traps);
    if (mdf_state_restart(state, 0, NULL) == MDF_OK && mdf_state_begin(state, NULL)) {
        done = run_steps(lanes, first, n, arrays, is_done);
        mdf_state_end(state);
    } else {
        done = false;
    }
    for (i = 0; i < n; i++) {
        is_done[i] = is_done[i] && done;
        n_done += is_done[i];
    }
    lanes->n_failed = n_done > 0 ? 0 : lanes->n_failed + 1;
    if (lanes->n_failed >= MOST_FAILED && !mdf_stop_is_asked(&state->shared->stop)) {
        lanes->is_ready = false;
        lanes->refusal.reason = MDF_REFUSED_LEAVES;
    }
}
