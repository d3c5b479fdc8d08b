/* sweep_lanes_run.c - see sweep_lanes.h. Comes in: programs for lanes, and a feed of instances; goes out: rows of each, or word
 * that it has to be evaluated by itself. */
#include "mdf_c/run/sweep/sweep_lanes_parts.h"

#include "functions/sampling/seed_several.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/restart.h"

#include <string.h>

/* So many instances of which lanes do not cover something, one behind the other, are enough: this many times the lanes. */
enum { MOST_FAILED = 4 };

/* ------------------------------------------------------------------ values with lanes */

static size_t size_of(const struct mdf_value *value)
{
    return mdf_dtype_size((mdf_dtype)value->dtype);
}

bool lanes_make_room(const struct mdf_sweep_lanes *lanes, struct mdf_value *value, const struct mdf_value *form)
{
    int64_t shape[MDF_INLINE_RANK];

    if (!mdf_lanes_form(form, lanes->n_lanes, shape)) {
        return false;
    }
    return (value->kind == MDF_KIND_TENSOR && value->dtype == form->dtype && value->strength == MDF_STRENGTH_TYPED &&
            value->rank == form->rank + 1u && memcmp(mdf_value_shape(value), shape, value->rank * sizeof *shape) == 0 &&
            mdf_value_own_elements(value) != NULL) ||
           mdf_value_make_tensor(lanes_memory(lanes), value, (mdf_dtype)form->dtype, form->rank + 1u, shape) != NULL;
}

/* n elements that lie so many bytes apart. */
static void move_apart(char *target, size_t target_step, const char *source, size_t source_step, size_t n, size_t size)
{
    if (size == sizeof(uint64_t)) { /* as most are */
        for (size_t i = 0; i < n; i++) {
            memcpy(target + i * target_step, source + i * source_step, sizeof(uint64_t));
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(target + i * target_step, source + i * source_step, size);
    }
}

/* Elements of one value as those of a lane. */
static void put_lane(const struct mdf_sweep_lanes *lanes, struct mdf_value *wide, size_t lane, const void *elements)
{
    size_t size = size_of(wide);

    move_apart((char *)wide->data + lane * size, lanes->n_lanes * size, elements, size, wide->length >> lanes->lane_bits, size);
}

static void take_lane(const struct mdf_sweep_lanes *lanes, const struct mdf_value *wide, size_t lane, char *elements)
{
    size_t size = size_of(wide);

    move_apart(elements, size, (const char *)wide->data + lane * size, lanes->n_lanes * size, wide->length >> lanes->lane_bits,
               size);
}

bool lanes_spread(const struct mdf_sweep_lanes *lanes, struct lane_seat *seat)
{
    struct mdf_value wide = {0};

    if (seat->value.kind != MDF_KIND_TENSOR || !lanes_make_room(lanes, &wide, &seat->value)) {
        return false;
    }
    for (size_t lane = 0; lane < lanes->n_lanes; lane++) {
        put_lane(lanes, &wide, lane, seat->value.data);
    }
    mdf_value_swap(&wide, &seat->value);
    mdf_value_clear(lanes_memory(lanes), &wide);
    seat->has_lanes = true;
    return true;
}

bool lanes_own(const struct mdf_sweep_lanes *lanes, struct mdf_value *wide)
{
    struct mdf_value own = {0};

    if (mdf_value_own_elements(wide) == NULL) {
        if (!mdf_value_copy_apart(lanes_memory(lanes), &own, wide)) {
            return false;
        }
        mdf_value_swap(&own, wide);
        mdf_value_clear(lanes_memory(lanes), &own);
    }
    return true;
}

/* What is in a lane, to be looked at until something else is. NULL: memory is refused. */
static const struct mdf_value *look_at_lane(struct mdf_sweep_lanes *lanes, const struct lane_seat *seat, size_t lane)
{
    const struct mdf_value *wide = &seat->value;

    if (!seat->has_lanes) {
        return wide;
    }
    if (wide->rank == 1) {
        lanes->number = (struct mdf_value){.kind = MDF_KIND_TENSOR,
                                           .dtype = wide->dtype,
                                           .strength = wide->strength,
                                           .length = 1,
                                           .data = (char *)wide->data + lane * size_of(wide)};
        return &lanes->number;
    }
    if (mdf_value_make_tensor(lanes_memory(lanes), &lanes->single, (mdf_dtype)wide->dtype, wide->rank - 1u,
                              mdf_value_shape(wide)) == NULL) {
        return NULL;
    }
    take_lane(lanes, wide, lane, lanes->single.data);
    return &lanes->single;
}

/* ------------------------------------------------------------------ what is given */

static bool begin_swept(struct mdf_sweep_lanes *lanes, uint64_t step)
{
    for (size_t i = 0; i < lanes->n_swept; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (step > 0 && !seat->is_series) {
            continue;
        }
        seat->has_lanes = !seat->is_shared;
        if (seat->has_lanes && !lanes_make_room(lanes, &seat->value, &seat->form)) {
            return false;
        }
    }
    return true;
}

/* What an instance has been given, as the values of a lane. */
static bool take_given(struct mdf_sweep_lanes *lanes, size_t lane, uint64_t step)
{
    for (size_t i = 0; i < lanes->n_swept; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (step > 0 && !seat->is_series) {
            continue;
        }
        if (!mdf_value_has_form_of(seat->slot, &seat->form)) {
            return false;
        }
        if (!seat->is_shared) {
            put_lane(lanes, &seat->value, lane, seat->slot->data);
        } else if (lane == 0 && !mdf_value_copy_apart(lanes_memory(lanes), &seat->value, seat->slot)) {
            return false;
        }
    }
    return true;
}

/* As lies in the arrays of the sweep, where it needs no other type; lanes without an instance get what the last one has. */
static void take_directly(struct mdf_sweep_lanes *lanes, struct lane_seat *seat, size_t first, size_t n, uint64_t step)
{
    struct mdf_sweep_places places = mdf_sweep_places_of(lanes->sweep, seat->given, first, step);
    bool is_word = seat->value.length == lanes->n_lanes && size_of(&seat->value) == sizeof(uint64_t); /* as most are */

    for (size_t lane = 0; lane < lanes->n_lanes; lane++) {
        if (is_word) {
            memcpy((char *)seat->value.data + lane * sizeof(uint64_t), places.at, sizeof(uint64_t));
        } else {
            put_lane(lanes, &seat->value, lane, places.at);
        }
        if (lane + 1 < n) {
            mdf_sweep_next_place(&places);
        }
    }
}

/* Else they are brought to the types of the model by one state after the other. */
bool lanes_set_swept(struct mdf_sweep_lanes *lanes, size_t first, size_t n, uint64_t step)
{
    if (step > 0 && !mdf_sweep_has_series(lanes->sweep)) {
        return true;
    }
    if (!begin_swept(lanes, step)) {
        return false;
    }
    for (size_t i = 0; i < lanes->n_swept && lanes->is_direct; i++) {
        if (step == 0 || lanes->seats[i].is_series) {
            take_directly(lanes, &lanes->seats[i], first, n, step);
        }
    }
    for (size_t lane = 0; lane < lanes->n_lanes && !lanes->is_direct; lane++) {
        size_t number = first + (lane < n ? lane : n - 1);

        if (mdf_sweep_give_values(lanes->sweep, lanes->state, number, step) != MDF_OK || !take_given(lanes, lane, step)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ programs */

bool lanes_run_program(struct mdf_sweep_lanes *lanes, enum lane_kind kind)
{
    struct lane_program *program = &lanes->programs[kind];

    if (program->wide == NULL) {
        return false;
    }
    for (size_t i = 0; i < program->narrow->n_inputs; i++) {
        if (program->inputs[i] != NULL && program->varies[program->narrow->inputs[i]] && !program->inputs[i]->has_lanes &&
            !lanes_spread(lanes, program->inputs[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < lanes->n_lanes && lanes->contexts != NULL; i++) {
        lanes->contexts[i] = lanes->drawing[i].context;
    }
    if (lanes->traps.kind == MDF_KIND_TENSOR) {
        memset(lanes->traps.data, 0, lanes->traps.length);
    }
    if (mdf_lowered_run_in_time(program->wide) != MDF_LOWERED_DONE) {
        return false;
    }
    for (size_t i = 0; i < program->narrow->n_outputs; i++) {
        program->outputs[i]->has_lanes = program->goes[i] != NULL ? program->varies[program->narrow->outputs[i].id]
                                                                  : program->outputs[i]->has_lanes;
    }
    return true;
}

/* ------------------------------------------------------------------ what comes of lanes */

static struct mdf_sweep_target target_of(const struct mdf_sweep_lanes *lanes, struct lane *of)
{
    return (struct mdf_sweep_target){.arrays = lanes->arrays != NULL ? lanes->arrays : lanes->rows,
                                     .stopped_steps = &of->stopped,
                                     .first = of->number,
                                     .first_row = lanes->arrays != NULL ? of->number : of->place};
}

/* Where a value with lanes has the form of a record, which all have but the first ones of some, its elements go there at once. */
static bool write_directly(const struct mdf_sweep_lanes *lanes, const struct mdf_sweep_target *target, const struct lane *of,
                           size_t lane, size_t record)
{
    const struct mdf_swept_record *form = &lanes->sweep->records[record];
    const struct lane_seat *seat = lanes->recorded[record].seats != NULL ? lanes->recorded[record].seats[0] : NULL;
    char *place;

    if (seat == NULL || lanes->recorded[record].n_items > 0 || !seat->has_lanes || seat->value.dtype != form->dtype || seat->value.rank != form->rank + 1 ||
        (form->rank > 0 && memcmp(mdf_value_shape(&seat->value), form->shape, form->rank * sizeof *form->shape) != 0)) {
        return false;
    }
    place = mdf_sweep_row_place(lanes->sweep, target, of->number, of->row, record);
    if (form->size_bytes == sizeof(uint64_t) && seat->value.rank == 1) { /* as most are */
        memcpy(place, (const char *)seat->value.data + lane * sizeof(uint64_t), sizeof(uint64_t));
    } else {
        take_lane(lanes, &seat->value, lane, place);
    }
    return true;
}

/* The list of what lies in a lane, as the array that it is recorded as. False: it is none, or memory is refused. */
static bool make_list_array(struct mdf_sweep_lanes *lanes, const struct lane_record *record, size_t lane, struct mdf_value *array)
{
    struct mdf_memory *memory = lanes_memory(lanes);
    struct mdf_value list = {0}, *items = mdf_value_make_list(memory, &list, record->n_items);
    bool done = items != NULL;

    for (size_t i = 0; i < record->n_items && done; i++) {
        const struct mdf_value *item = look_at_lane(lanes, record->seats[i], lane);

        done = item != NULL && mdf_value_copy_apart(memory, &items[i], item);
    }
    done = done && mdf_value_from_nested_list(memory, array, &list) > 0;
    mdf_value_clear(memory, &list);
    return done;
}

/* What a record has in a lane, in `made` where it has to be made. NULL: memory is refused, or it is no array. */
static const struct mdf_value *look_at_record(struct mdf_sweep_lanes *lanes, const struct lane_record *record, size_t lane,
                                              struct mdf_value *made)
{
    if (record->n_items > 0) {
        return make_list_array(lanes, record, lane, made) ? made : NULL;
    }
    return record->seats != NULL ? look_at_lane(lanes, record->seats[0], lane) : record->constant;
}

static bool write_record(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_target *target, const struct lane *of, size_t lane,
                         size_t record)
{
    struct mdf_value made = {0};
    const struct mdf_value *value = look_at_record(lanes, &lanes->recorded[record], lane, &made);
    bool done = value != NULL &&
                mdf_sweep_write_row(lanes->sweep, lanes->state, target, of->number, of->row, record, value) == MDF_OK;

    mdf_value_clear(lanes_memory(lanes), &made);
    return done;
}

static bool write_row(struct mdf_sweep_lanes *lanes, struct lane *of, size_t lane)
{
    const struct mdf_sweep_target target = target_of(lanes, of);

    for (size_t i = 0; i < lanes->sweep->n_records; i++) {
        if (lanes->recorded[i].is_kept && !write_directly(lanes, &target, of, lane, i) && !write_record(lanes, &target, of, lane, i)) {
            return false;
        }
    }
    of->row++;
    return true;
}

static bool is_trapped(const struct mdf_sweep_lanes *lanes, size_t lane)
{
    return lanes->traps.kind == MDF_KIND_TENSOR && ((const uint8_t *)lanes->traps.data)[lane] != 0;
}

static bool has_stopped(struct mdf_sweep_lanes *lanes, size_t lane)
{
    const struct mdf_value *value;
    double number = 0;

    if (lanes->stop == NULL) {
        return false;
    }
    if (lanes->stop->value.dtype == MDF_DTYPE_BOOL && lanes->stop->value.rank == 1) {
        return ((const uint8_t *)lanes->stop->value.data)[lane] != 0;
    }
    value = look_at_lane(lanes, lanes->stop, lane);
    return value != NULL && mdf_value_number_at(value, NULL, 0, &number) && number != 0;
}

/* Of which lanes there is more to look at than whether they go on: NULL, of all; else of those that have a truth there, or have
 * come to the last step. */
static const uint8_t *find_lanes_to_look_at(const struct mdf_sweep_lanes *lanes)
{
    static const uint8_t none[MDF_SWEEP_MOST_LANES];

    if (lanes->sweep->record_every > 0 || lanes->traps.kind == MDF_KIND_TENSOR) {
        return NULL;
    }
    return lanes->stop == NULL ? none
           : lanes->stop->value.dtype == MDF_DTYPE_BOOL && lanes->stop->value.rank == 1 ? lanes->stop->value.data
                                                                                        : NULL;
}

/* Rows of steps that it does not take have the values of its last one. */
static bool look_at(struct mdf_sweep_lanes *lanes, struct lane *of, size_t lane, uint64_t n_steps)
{
    const struct mdf_sweep *sweep = lanes->sweep;
    bool is_over;

    if (is_trapped(lanes, lane)) {
        of->state = LANE_FAILED;
        return true;
    }
    if (has_stopped(lanes, lane)) {
        of->stopped = (int64_t)of->step;
    }
    is_over = of->stopped >= 0 || of->step == sweep->n_steps;
    if (n_steps > 0 && mdf_sweep_is_recorded(sweep, of->step - 1) && !write_row(lanes, of, lane)) {
        return false;
    }
    while (is_over && of->row < sweep->n_rows) {
        if (!write_row(lanes, of, lane)) {
            return false;
        }
    }
    of->state = is_over ? LANE_DONE : LANE_LIVE;
    return true;
}

bool lanes_take_stock(struct mdf_sweep_lanes *lanes, struct lane *of, const int64_t *taken, uint64_t n_steps)
{
    const uint8_t *look = find_lanes_to_look_at(lanes);
    const uint64_t last = lanes->sweep->n_steps;
    uint64_t n_used = 0, most = 0;
    size_t n_live = 0;

    for (size_t i = 0; i < lanes->n_lanes; i++) {
        uint64_t n = taken != NULL ? (uint64_t)taken[i] : n_steps;

        if (of[i].state != LANE_LIVE) {
            continue;
        }
        n_used += n;
        most = n > most ? n : most;
        of[i].step += n;
        if ((look == NULL || look[i] != 0 || of[i].step == last || n == 0) && !look_at(lanes, &of[i], i, n)) {
            return false;
        }
        n_live += of[i].state == LANE_LIVE;
    }
    lanes->n_live = n_live;
    lanes->n_used = n_used;
    lanes->most_taken = most;
    return true;
}

void lanes_fail(const struct mdf_sweep_lanes *lanes, struct lane *of)
{
    for (size_t i = 0; i < lanes->n_lanes; i++) {
        of[i].state = of[i].state == LANE_LIVE ? LANE_FAILED : of[i].state;
    }
}

/* Evaluates an instance by itself on the state, which lanes do not need meanwhile. */
static void hand_on_failed(struct mdf_sweep_lanes *lanes, size_t number, const struct mdf_sweep_feed *feed)
{
    mdf_state_end(lanes->state);
    feed->finish(feed->context, number, NULL);
    mdf_state_begin(lanes->state, NULL);
}

void lanes_settle(struct mdf_sweep_lanes *lanes, struct lane *of, const struct mdf_sweep_feed *feed)
{
    for (size_t i = 0; i < lanes->n_lanes; i++) {
        struct lane *lane = &of[i];

        if (lane->state == LANE_LIVE || lane->state == LANE_EMPTY) {
            continue;
        }
        if (lane->state == LANE_DONE) {
            const struct mdf_sweep_target target = target_of(lanes, lane);

            lanes->n_failed = 0;
            feed->finish(feed->context, lane->number, &target);
        } else {
            lanes->n_failed++;
            hand_on_failed(lanes, lane->number, feed);
        }
        lane->state = LANE_EMPTY;
    }
    if (lanes->n_failed >= MOST_FAILED * lanes->n_lanes && !mdf_stop_is_asked(&lanes->state->shared->stop)) {
        lanes->is_ready = false;
        lanes->refusal.reason = MDF_REFUSED_LEAVES;
    }
}

/* ------------------------------------------------------------------ the first evaluations */

/* See lanes_imitate. */
static bool imitate(struct mdf_sweep_lanes *lanes, size_t lane, size_t other)
{
    for (size_t i = 0; i < lanes->n_seats; i++) {
        struct lane_seat *seat = &lanes->seats[i];
        const struct mdf_value *value;

        if (!seat->has_lanes) {
            continue;
        }
        value = lanes_own(lanes, &seat->value) ? look_at_lane(lanes, seat, other) : NULL;
        if (value == NULL) {
            return false;
        }
        put_lane(lanes, &seat->value, lane, value->data);
    }
    return true;
}

bool lanes_imitate(struct mdf_sweep_lanes *lanes, const struct lane *of)
{
    size_t live = 0;

    while (live < lanes->n_lanes && of[live].state != LANE_LIVE) {
        live++;
    }
    for (size_t i = 0; i < lanes->n_lanes && live < lanes->n_lanes; i++) {
        if (of[i].state != LANE_LIVE && !imitate(lanes, i, live)) {
            return false;
        }
    }
    return true;
}

bool lanes_any_lives(const struct mdf_sweep_lanes *lanes, const struct lane *of)
{
    size_t i;

    for (i = 0; i < lanes->n_lanes && of[i].state != LANE_LIVE; i++) {
    }
    return i < lanes->n_lanes;
}

/* Lanes without an instance draw the numbers of the last one. What stands for numpy.random is seeded where the instances before
 * have drawn from it. */
static void seed_lanes(struct mdf_sweep_lanes *lanes, const struct lane *of, size_t first, size_t n)
{
    struct mdf_twister *twisters[MDF_SWEEP_MOST_LANES];
    uint64_t seeds[MDF_SWEEP_MOST_LANES];

    for (size_t i = 0; i < lanes->n_lanes; i++) {
        lanes->has_numpy = lanes->has_numpy || of[i].context->numpy_random.is_seeded;
        of[i].context->error.code = MDF_OK;
        seeds[i] = mdf_sweep_instance_seed(lanes->sweep, first + (i < n ? i : n - 1));
        twisters[i] = &of[i].context->numpy_random;
        mdf_random_begin(of[i].context, seeds[i]);
    }
    if (lanes->has_numpy) {
        mdf_twisters_seed_as_numpy(twisters, seeds, lanes->n_lanes);
    }
}

static void begin_lanes(struct mdf_sweep_lanes *lanes, struct lane *of, size_t first, size_t n)
{
    for (size_t i = 0; i < lanes->n_lanes; i++) {
        of[i] = (struct lane){.state = i < n ? LANE_LIVE : LANE_EMPTY,
                              .number = first + i,
                              .place = of[i].place,
                              .context = of[i].context,
                              .stopped = -1};
    }
    if (lanes->contexts != NULL) {
        seed_lanes(lanes, of, first, n);
    }
    lanes->drawing = of;
}

bool lanes_begin(struct mdf_sweep_lanes *lanes, struct lane *of, size_t first, size_t n)
{
    begin_lanes(lanes, of, first, n);
    if ((!lanes->is_direct && mdf_state_restart(lanes->state, 0, NULL) != MDF_OK) || !lanes_set_swept(lanes, first, n, 0) ||
        !lanes_run_program(lanes, LANES_FIRST) || !lanes_take_stock(lanes, of, NULL, 1)) {
        return false;
    }
    if (!lanes_any_lives(lanes, of)) {
        return true;
    }
    return (!lanes->is_stream || lanes_imitate(lanes, of)) && lanes_set_swept(lanes, first, n, 1) && lanes_run_program(lanes, LANES_SECOND) && lanes_take_stock(lanes, of, NULL, 1);
}

/* ------------------------------------------------------------------ instances that begin by themselves */

/* The slots that an instance has left, as those of a lane. */
static bool take_slots(struct mdf_sweep_lanes *lanes, size_t lane)
{
    for (size_t i = 0; i < lanes->n_seats; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (!seat->is_begun && (i >= lanes->n_swept || seat->is_series || seat->is_shared)) {
            continue;
        }
        if (!mdf_value_has_form_of(seat->slot, &seat->form) || !lanes_make_room(lanes, &seat->fresh, &seat->form)) {
            return false;
        }
        put_lane(lanes, &seat->fresh, lane, seat->slot->data);
    }
    return true;
}

/* Whether evaluations from now on are those that were lowered. */
static bool holds_what_held(const struct mdf_sweep_lanes *lanes)
{
    const struct mdf_state *state = lanes->state;
    size_t n = state->program->code->n_slots;
    bool holds;

    mdf_whole_note_have_run(state, lanes->have_run);
    holds = memcmp(lanes->had_run, lanes->have_run, mdf_whole_n_nodes(state) * sizeof *lanes->had_run) == 0;
    for (size_t i = 0; i < n && holds; i++) {
        const struct mdf_value *slot = mdf_frame_slot(state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, i));

        holds = lanes->aliases[i] == MDF_NO_OPERAND || mdf_value_equal(slot, mdf_frame_slot(state->frame, lanes->aliases[i]));
    }
    return holds;
}

static void begin_alone(struct mdf_sweep_lanes *lanes, struct lane *of, size_t lane)
{
    struct mdf_sweep_target target = target_of(lanes, of);
    mdf_error error = {0};
    uint64_t at_once = 1;
    mdf_status status;

    target.at_once = &at_once;
    lanes->state->shared->is_short = true;
    status = mdf_sweep_begin_instance(lanes->sweep, lanes->state, of->number, lanes->n_alone, &target, &error);
    lanes->state->shared->is_short = false;
    if (status == MDF_OK && (of->stopped >= 0 || lanes->n_alone == lanes->sweep->n_steps)) {
        of->state = LANE_DONE;
    } else if (status != MDF_OK || !holds_what_held(lanes) || !take_slots(lanes, lane) ||
               (of->context != NULL && !mdf_random_copy(of->context, &lanes->state->shared->execution.context))) {
        of->state = LANE_FAILED;
    }
    of->step = lanes->n_alone;
    for (uint64_t step = 0; step < lanes->n_alone; step++) {
        of->row += mdf_sweep_is_recorded(lanes->sweep, step);
    }
}

bool lanes_begin_alone(struct mdf_sweep_lanes *lanes, struct lane *of, size_t first, size_t n)
{
    mdf_state_end(lanes->state);
    begin_lanes(lanes, of, first, n);
    for (size_t i = 0; i < n; i++) {
        begin_alone(lanes, &of[i], i);
    }
    return mdf_state_begin(lanes->state, NULL);
}

/* ------------------------------------------------------------------ lanes in step */

/* From the third evaluation on. */
static bool go_on(struct mdf_sweep_lanes *lanes, size_t first, size_t n)
{
    enum { MOST_AT_ONCE = 1 << 14 };
    const struct mdf_sweep *sweep = lanes->sweep;
    uint64_t n_left, n_skipped;

    for (uint64_t step = LANES_SINGLE; step < sweep->n_steps && lanes_any_lives(lanes, lanes->lanes); step++) {
        n_left = mdf_sweep_count_unseen(sweep, step);
        n_skipped = mdf_sweep_has_series(sweep) || n_left == 0 ? 0 : n_left < MOST_AT_ONCE ? n_left : MOST_AT_ONCE;
        lanes->n_steps = (int64_t)n_skipped;
        if (n_skipped > 0 && !lanes_run_program(lanes, LANES_MANY)) {
            return false;
        }
        for (size_t i = 0; i < n && n_skipped > 0; i++) {
            lanes->lanes[i].step += n_skipped;
            lanes->lanes[i].state = is_trapped(lanes, i) && lanes->lanes[i].state == LANE_LIVE ? LANE_FAILED
                                                                                              : lanes->lanes[i].state;
        }
        step += n_skipped;
        if (atomic_load_explicit(&sweep->interrupted, memory_order_relaxed) || !lanes_set_swept(lanes, first, n, step) ||
            !lanes_run_program(lanes, LANES_SINGLE) || !lanes_take_stock(lanes, lanes->lanes, NULL, 1)) {
            return false;
        }
    }
    return true;
}

static void run_in_step(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    size_t first, n;

    while (lanes->is_ready && (n = feed->take(feed->context, lanes->n_lanes, &first)) > 0) {
        if (!lanes_begin(lanes, lanes->lanes, first, n) || !go_on(lanes, first, n)) {
            lanes_fail(lanes, lanes->lanes);
        }
        lanes_settle(lanes, lanes->lanes, feed);
    }
}

void mdf_sweep_lanes_run(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    if (!mdf_state_begin(lanes->state, NULL)) {
        lanes->is_ready = false;
        lanes->refusal.reason = MDF_REFUSED_OUT_OF_MEMORY;
        return;
    }
    if (lanes->is_stream) {
        lanes_run_stream(lanes, feed);
    } else {
        run_in_step(lanes, feed);
    }
    mdf_state_end(lanes->state);
}
