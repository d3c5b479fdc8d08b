/* lower_scope.c - which value an operand has, so far, in a scope: see lowering.h. What is met for the first time comes from the
 * scope around, at last from the frame. */
#include "mdf_c/lower/lowering.h"

#include <string.h>

/* ------------------------------------------------------------------ scopes */

static struct binding *find_binding(const struct scope *scope, mdf_operand operand)
{
    size_t at = (operand * UINT32_C(2654435769)) & (scope->capacity - 1);

    while (scope->bindings[at].operand != MDF_NO_OPERAND && scope->bindings[at].operand != operand) {
        at = (at + 1) & (scope->capacity - 1);
    }
    return &scope->bindings[at];
}

static struct binding *new_bindings(struct lowering *lowering, size_t capacity)
{
    struct binding *bindings = mdf_arena_array(&lowering->scratch, capacity, sizeof *bindings);

    for (size_t i = 0; bindings != NULL && i < capacity; i++) {
        bindings[i].operand = MDF_NO_OPERAND;
    }
    if (bindings == NULL) {
        lowering_out_of_memory(lowering);
    }
    return bindings;
}

static bool grow_scope(struct lowering *lowering, struct scope *scope)
{
    struct scope grown = *scope;

    grown.capacity = scope->capacity < 16 ? 32 : 2 * scope->capacity;
    grown.bindings = new_bindings(lowering, grown.capacity);
    if (grown.bindings == NULL) {
        return false;
    }
    for (size_t i = 0; i < scope->capacity; i++) {
        if (scope->bindings[i].operand != MDF_NO_OPERAND) {
            *find_binding(&grown, scope->bindings[i].operand) = scope->bindings[i];
        }
    }
    *scope = grown;
    return true;
}

static bool put_binding(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id, bool is_written)
{
    struct binding *binding;

    if (2 * (scope->n + 1) > scope->capacity && !grow_scope(lowering, scope)) {
        return false;
    }
    binding = find_binding(scope, operand);
    if (binding->operand == MDF_NO_OPERAND) {
        *binding = (struct binding){.operand = operand};
        scope->n++;
    }
    binding->id = id;
    binding->is_written = binding->is_written || is_written;
    return true;
}

/* ------------------------------------------------------------------ rooms */

/* The room that has a slot, or a constant, which is numbered through all of them. */
static const struct mdf_lowering_room *room_of(const struct lowering *lowering, mdf_operand place)
{
    const struct mdf_lowering_room *rooms = lowering->request->rooms;
    bool is_slot = MDF_OPERAND_KIND(place) == MDF_OPERAND_SLOT;
    size_t i = lowering->request->n_rooms - 1;

    while (i > 0 && MDF_OPERAND_INDEX(place) < (is_slot ? rooms[i].first_slot : rooms[i].first_constant)) {
        i--;
    }
    return &rooms[i];
}

/* The number through all rooms of what the scope's code calls `operand`: what a graph takes from the one around stands there. */
static mdf_operand place_of(const struct scope *scope, mdf_operand operand)
{
    const struct mdf_lowering_room *room = scope->room;

    while (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE && room != NULL && room->outer != NULL) {
        operand = mdf_frame_code(room->frame)->captures[MDF_OPERAND_INDEX(operand)];
        room = room->outer;
    }
    if (room == NULL || operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        return operand;
    }
    return operand + (mdf_operand)(MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT ? room->first_slot : room->first_constant);
}

struct binding *lowering_find_own(const struct scope *scope, mdf_operand place)
{
    struct binding *binding = scope->capacity > 0 ? find_binding(scope, place) : NULL;

    return binding != NULL && binding->operand == place ? binding : NULL;
}

const struct binding *lowering_find_at(const struct scope *scope, mdf_operand place)
{
    const struct binding *binding = NULL;

    for (; scope != NULL && binding == NULL; scope = scope->base) {
        binding = lowering_find_own(scope, place);
    }
    return binding;
}

const struct binding *lowering_find_bound(const struct scope *scope, mdf_operand operand)
{
    return lowering_find_at(scope, place_of(scope, operand));
}

bool lowering_read_as(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    return put_binding(lowering, scope, place_of(scope, operand), id, false);
}

struct mdf_value *lowering_slot(const struct lowering *lowering, const struct scope *scope, mdf_operand place)
{
    const struct mdf_lowering_room *room;
    size_t index = MDF_OPERAND_INDEX(place), n_slots;

    while (scope->frame == NULL) {
        scope = scope->outer;
    }
    if (scope->room == NULL) {
        return mdf_frame_slot(scope->frame, place);
    }
    room = room_of(lowering, place);
    index -= room->first_slot;
    n_slots = mdf_frame_code(room->frame)->n_slots;
    return index < n_slots ? mdf_frame_slot(room->frame, MDF_OPERAND(MDF_OPERAND_SLOT, index)) : &room->counters[index - n_slots];
}

static const struct mdf_value *constant_at(const struct lowering *lowering, const struct scope *scope, mdf_operand place)
{
    const struct mdf_lowering_room *room = scope->room == NULL ? NULL : room_of(lowering, place);

    return room == NULL ? &scope->code->constants[MDF_OPERAND_INDEX(place)]
                        : &mdf_frame_code(room->frame)->constants[MDF_OPERAND_INDEX(place) - room->first_constant];
}

bool lowering_bind_any_at(struct lowering *lowering, struct scope *scope, mdf_operand place, mdf_lowered_id id)
{
    return put_binding(lowering, scope, place, id, true);
}

bool lowering_bind_at(struct lowering *lowering, struct scope *scope, mdf_operand place, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && lowering_bind_any_at(lowering, scope, place, id);
}

bool lowering_bind_any(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    return lowering_bind_any_at(lowering, scope, place_of(scope, operand), id);
}

bool lowering_bind(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    return lowering_bind_at(lowering, scope, place_of(scope, operand), id);
}

bool lowering_bind_borrowed(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    mdf_operand place = place_of(scope, operand);

    if (!lowering_bind_at(lowering, scope, place, id)) {
        return false;
    }
    lowering_find_own(scope, place)->is_borrowed = true;
    return true;
}

/* ------------------------------------------------------------------ values of operands */

static mdf_lowered_id find_value(struct lowering *lowering, struct scope *scope, mdf_operand place);

/* An input that is not always left with one strength. */
static void meet_either(struct lowering *lowering, const struct mdf_value *value, mdf_lowered_id id)
{
    const struct mdf_lowering_request *request = lowering->request;
    const struct mdf_either *either =
        request != NULL && request->find_either != NULL ? request->find_either(request->context, value) : NULL;

    if (either != NULL && either->is_there) {
        lowering_mark_either(lowering, id, either->stronger, either->weaker, MDF_LOWERED_NONE);
    }
}

/* The value of a place that has not been met in its scope. */
static mdf_lowered_id meet(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    const struct mdf_value *value;
    mdf_lowered_id id;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        return lowering_add_constant(lowering, constant_at(lowering, scope, operand), true);
    }
    if (scope->repetition != NULL) {
        return lowering_meet_repeated(lowering, scope->repetition, operand);
    }
    if (scope->frame == NULL) {
        if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
            return find_value(lowering, scope->outer, place_of(scope->outer, scope->code->captures[MDF_OPERAND_INDEX(operand)]));
        }
        lowering_fail(lowering, MDF_REFUSED_NOT_ALWAYS_THERE);
        return MDF_LOWERED_NONE;
    }
    value = MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT ? lowering_slot(lowering, scope, operand)
                                                          : mdf_frame_value(scope->frame, operand);
    if (lowering->stays != NULL && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && lowering->stays[MDF_OPERAND_INDEX(operand)]) {
        return lowering_add_constant(lowering, value, true);
    }
    if (value->kind == MDF_KIND_LIST && value->dtype != MDF_DTYPE_NONE) {
        id = lowering_meet_sequence(lowering, value);
        if (id != MDF_LOWERED_NONE || lowering_has_failed(lowering)) {
            return id;
        }
    }
    id = lowering_meet_optional(lowering, value);
    if (id != MDF_LOWERED_NONE || lowering_has_failed(lowering)) {
        return id;
    }
    id = lowering_add_value(lowering, MDF_LOWERED_INPUT, value);
    if (id != MDF_LOWERED_NONE) {
        lowering->lowered->values[id].source = value;
        meet_either(lowering, value, id);
    }
    return id;
}

static bool is_input(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct fact *fact = &lowering->facts[id];
    mdf_lowered_id made = fact->is_sequence ? fact->rows : fact->is_optional ? fact->content : id;

    return lowering->lowered->values[made].place == MDF_LOWERED_INPUT;
}

static mdf_lowered_id find_value(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    const struct binding *binding;
    mdf_lowered_id id;

    if (operand == MDF_NO_OPERAND) {
        lowering_fail(lowering, MDF_REFUSED_LEFT_OUT);
        return operand;
    }
    binding = lowering_find_at(scope, operand);
    if (binding != NULL) {
        if (binding->id == MDF_LOWERED_NONE) {
            lowering_fail(lowering, MDF_REFUSED_NOT_ONE_TYPE);
        }
        return binding->id;
    }
    id = meet(lowering, scope, operand);
    if (id == MDF_LOWERED_NONE || !put_binding(lowering, scope, operand, id, false)) {
        return MDF_LOWERED_NONE;
    }
    find_binding(scope, operand)->is_input = is_input(lowering, id);
    return id;
}

/* For those who take values of one strength. */
static mdf_lowered_id of_one_strength(struct lowering *lowering, mdf_lowered_id id)
{
    if (id == MDF_LOWERED_NONE || !lowering_is_either(lowering, id)) {
        return id;
    }
    lowering_fail(lowering, MDF_REFUSED_NOT_ONE_STRENGTH);
    return MDF_LOWERED_NONE;
}

mdf_lowered_id lowering_either_value_at(struct lowering *lowering, struct scope *scope, mdf_operand place)
{
    mdf_lowered_id id = find_value(lowering, scope, place);

    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    return id;
}

mdf_lowered_id lowering_value_at(struct lowering *lowering, struct scope *scope, mdf_operand place)
{
    return of_one_strength(lowering, lowering_either_value_at(lowering, scope, place));
}

mdf_lowered_id lowering_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = lowering_value_at(lowering, scope, place_of(scope, operand));

    if (id != MDF_LOWERED_NONE && lowering->facts[id].growth != NULL) { /* which no op makes: see lowering_operand */
        lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
        return MDF_LOWERED_NONE;
    }
    return id;
}

mdf_lowered_id lowering_any_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    return of_one_strength(lowering, lowering_either_value_of(lowering, scope, operand));
}

mdf_lowered_id lowering_either_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = find_value(lowering, scope, place_of(scope, operand));

    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open && lowering->facts[id].other.kind == MDF_KIND_NONE) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    return id;
}
