/* emit_x86_64_lives.c - see emit_x86_64.h. From the row of steps: the life of each scalar, which conditions become flags, and
 * which values share a place because one becomes the other: a branch's result and what is merged, a state and what it is next. */
#include "mdf_c/machine/emit_x86_64.h"

static const uint32_t nowhere = UINT32_MAX;

enum {
    LARGEST_DEPTH_WEIGHED = 8, /* loops within loops */
    LARGEST_N_REPEATS = 4,     /* times that a comparison is done again rather than kept */
    LONGEST_CHAIN = 16         /* of NOT, AND, OR */
};

static uint32_t position(uint32_t step, enum moment moment)
{
    return step * N_MOMENTS + (uint32_t)moment;
}

/* ------------------------------------------------------------------ values */

static bool init_life(const struct mdf_lowered *lowered, mdf_lowered_id id, struct life *life)
{
    const struct mdf_lowered_value *value = &lowered->values[id];
    mdf_dtype dtype = (mdf_dtype)value->form.dtype;
    size_t size = mdf_dtype_size(dtype);

    if (!value->is_scalar) {
        return true;
    }
    if (value->form.kind != MDF_KIND_TENSOR || size == 0 || size > sizeof(uint64_t) || dtype == MDF_DTYPE_STRING) {
        return false;
    }
    life->size = (uint8_t)size;
    if (value->place != MDF_LOWERED_CONSTANT) {
        life->kind = mdf_dtype_is_real(dtype) ? LIFE_REAL : LIFE_GENERAL;
    }
    return true;
}

static bool init_lives(struct emission *emission)
{
    size_t n_values = emission->lowered->n_values, n_inputs;
    const mdf_lowered_id *inputs;

    emission->n_lives = n_values + emission->n_temporaries;
    emission->lives = mdf_memory_allocate_zeroed(emission->memory, emission->n_lives, sizeof *emission->lives);
    if (emission->lives == NULL) {
        return false;
    }
    for (size_t id = 0; id < emission->n_lives; id++) {
        struct life *life = &emission->lives[id];

        *life = (struct life){.number = NO_REGISTER,
                              .group = (uint32_t)id,
                              .start = nowhere,
                              .group_start = nowhere,
                              .step = nowhere,
                              .merged_at = nowhere};
        if (id < n_values ? !init_life(emission->lowered, (mdf_lowered_id)id, life) : false) {
            return false;
        }
        if (id >= n_values) {
            life->kind = LIFE_GENERAL;
            life->size = 8;
        }
    }
    inputs = emission_inputs(emission, &n_inputs);
    for (size_t i = 0; i < n_inputs; i++) {
        struct life *life = &emission->lives[inputs[i]];

        life->start = life->end = life->group_start = life->group_end = 0;
        life->is_input = true;
    }
    return true;
}

static void count(struct emission *emission, mdf_lowered_id id, enum moment moment)
{
    if (moment == DEFINITION) {
        emission->lives[id].step = emission->at;
    } else {
        emission->lives[id].n_uses++;
    }
}

static void visit_all(struct emission *emission, void (*visit)(struct emission *emission, mdf_lowered_id id, enum moment moment))
{
    emission->n_loops = 0;
    for (emission->at = 0; emission->at < emission->n_steps; emission->at++) {
        const struct step *step = &emission->steps[emission->at];

        emission_visit(emission, visit);
        if (step->kind == STEP_LOOP) {
            emission->loops[emission->n_loops++] = emission->at;
        } else if (step->kind == STEP_END_LOOP) {
            emission->n_loops--;
        }
    }
}

/* ------------------------------------------------------------------ conditions */

static bool is_logic(unsigned code)
{
    return code == MDF_LOWERED_NOT || code == MDF_LOWERED_AND || code == MDF_LOWERED_OR;
}

/* Whether a choice of reals may have a mask of two comparisons of such. */
static bool is_mask_of_two(const struct emission *emission, const struct mdf_lowered_op *op, unsigned dtype)
{
    for (size_t i = 0; i < op->n_in; i++) {
        uint32_t step = emission->lives[op->in[i]].step;
        const struct mdf_lowered_op *made = step == nowhere ? NULL : emission->steps[step].op;

        if (made == NULL || emission->steps[step].kind != STEP_OP || !emission_is_comparison(made->code) ||
            made->dtype != dtype) {
            return false;
        }
    }
    return (op->code == MDF_LOWERED_AND || op->code == MDF_LOWERED_OR) && mdf_dtype_is_real(dtype);
}

/* Notes that `id` is used as a condition by the step that is looked at, which stands in `region`. What the step `changed` writes
 * may have changed by then. It jumps, or chooses among elements of the type `chosen`. */
static void note_condition(struct emission *emission, mdf_lowered_id id, uint32_t region, uint32_t changed, bool jumps,
                           unsigned chosen, size_t length)
{
    struct life *life = id != MDF_LOWERED_NONE ? &emission->lives[id] : NULL;
    const struct step *step;

    if (life == NULL || life->kind == LIFE_NONE || life->step == nowhere || length == LONGEST_CHAIN) {
        return;
    }
    step = &emission->steps[life->step];
    if (step->kind != STEP_OP || step->region != region ||
        !(emission_is_comparison(step->op->code) ||
          (life->n_uses == 1 && (jumps ? is_logic(step->op->code) : is_mask_of_two(emission, step->op, chosen))))) {
        return;
    }
    for (size_t i = 0; i < step->op->n_in; i++) {
        if (emission->lives[step->op->in[i]].step == changed) {
            return;
        }
    }
    life->n_as_condition++;
    for (size_t i = 0; i < step->op->n_in && is_logic(step->op->code); i++) {
        note_condition(emission, step->op->in[i], region, changed, jumps, chosen, length + 1);
    }
}

/* A real that a condition becomes: 1 or 0. */
static bool is_cast_of_condition(const struct emission *emission, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_CAST && op->dtype == MDF_DTYPE_BOOL && emission->lives[op->out].kind == LIFE_REAL;
}

static void defer_conditions(struct emission *emission)
{
    for (size_t at = 0; at < emission->n_steps; at++) {
        const struct step *step = &emission->steps[at];

        if (step->kind == STEP_IF) {
            note_condition(emission, step->op->of.branches->condition, step->region, nowhere - 1, true, MDF_DTYPE_NONE, 0);
        } else if (step->kind == STEP_END_LOOP) {
            note_condition(emission, step->op->of.loop->next_condition, step->region,
                           emission_plan_loop(emission, step).may_leave_early ? nowhere - 1 : step->partner, true, MDF_DTYPE_NONE,
                           0);
        } else if (step->kind == STEP_OP && (step->op->code == MDF_LOWERED_SELECT || is_cast_of_condition(emission, step->op))) {
            note_condition(emission, step->op->in[0], step->region, nowhere - 1, false,
                           emission->lowered->values[step->op->out].form.dtype, 0);
        }
    }
    for (size_t at = 0; at < emission->n_steps; at++) {
        struct step *step = &emission->steps[at];
        struct life *life = step->kind == STEP_OP && step->op->code < MDF_LOWERED_CALL ? &emission->lives[step->op->out] : NULL;

        if (life != NULL && life->kind != LIFE_NONE && life->n_uses > 0 && life->n_as_condition == life->n_uses &&
            life->n_uses <= LARGEST_N_REPEATS) {
            life->is_deferred = true;
            step->kind = STEP_DEFERRED;
        }
    }
}

/* Both shifts of a rotation that nobody else wants are a part of what joins them. */
static void defer_rotations(struct emission *emission)
{
    for (size_t at = 0; at < emission->n_steps; at++) {
        const struct step *step = &emission->steps[at];
        mdf_lowered_id number;
        uint8_t n_bits;
        bool is_alone = step->kind == STEP_OP && step->op->code < MDF_LOWERED_CALL &&
                        emission->lives[step->op->out].kind == LIFE_GENERAL &&
                        emission_find_rotation(emission, step->op, &number, &n_bits);

        for (size_t i = 0; is_alone && i < 2; i++) {
            const struct life *life = &emission->lives[step->op->in[i]];

            is_alone = life->n_uses == 1 && !life->is_deferred && emission->steps[life->step].region == step->region;
        }
        for (size_t i = 0; is_alone && i < 2; i++) {
            emission->lives[step->op->in[i]].is_deferred = true;
            emission->steps[emission->lives[step->op->in[i]].step].kind = STEP_DEFERRED;
        }
    }
}

/* ------------------------------------------------------------------ lives */

/* The life of what is used in a loop but made before it lasts through the loop. */
static void use(struct emission *emission, struct life *life, uint32_t at)
{
    life->end = life->end > at ? life->end : at;
    for (size_t i = 0; i < emission->n_loops; i++) {
        uint32_t loop = emission->loops[i];
        uint32_t end = position(emission->steps[loop].partner, AFTER);

        if (life->start < position(loop, DEFINITION)) {
            life->end = life->end > end ? life->end : end;
            return;
        }
    }
}

static void note_use(struct life *life, uint32_t at)
{
    if (at > life->last_use) {
        life->use_before = life->last_use;
        life->last_use = at;
    }
}

/* Whether a place is behind the loop whose state a value is: what reads it there reads what the state was next, at last. */
static bool is_behind_loop(const struct life *life, uint32_t at)
{
    return life->state != 0 && at / N_MOMENTS > life->state_end / N_MOMENTS;
}

/* How often a place in so many loops is gone through, about. */
static float weight_of(size_t depth)
{
    return (float)(UINT64_C(1) << 3 * (depth < LARGEST_DEPTH_WEIGHED ? depth : LARGEST_DEPTH_WEIGHED));
}

static void live(struct emission *emission, mdf_lowered_id id, enum moment moment)
{
    struct life *life = &emission->lives[id];
    uint32_t at = position(emission->at, moment);
    size_t depth = emission->n_loops < LARGEST_DEPTH_WEIGHED ? emission->n_loops : LARGEST_DEPTH_WEIGHED;

    if (moment == DEFINITION && life->start > at) {
        life->start = at;
    }
    if (moment == DEFINITION) {
        life->end = life->end > at ? life->end : at;
    } else {
        use(emission, life, at);
    }
    if (moment != DEFINITION && !is_behind_loop(life, at)) {
        note_use(life, at);
    }
    if (!is_behind_loop(life, at)) {
        life->body_end = life->end;
    }
    life->weight += weight_of(depth);
    life->depth = life->depth > depth ? life->depth : (uint8_t)depth;
}

static uint32_t leader_of(struct emission *emission, mdf_lowered_id id)
{
    uint32_t leader = id;

    while (emission->lives[leader].group != leader) {
        leader = emission->lives[leader].group;
    }
    return emission->lives[id].group = leader;
}

static void extend(struct life *life, uint32_t start, uint32_t end)
{
    life->group_start = life->group_start < start ? life->group_start : start;
    life->group_end = life->group_end > end ? life->group_end : end;
}

static void unify(struct emission *emission, mdf_lowered_id a, mdf_lowered_id b)
{
    uint32_t leader = leader_of(emission, a), other = leader_of(emission, b);
    struct life *life = &emission->lives[leader], *joined = &emission->lives[other];

    if (leader != other) {
        joined->group = leader;
        extend(life, joined->group_start, joined->group_end);
        if (joined->state != 0 && (life->state == 0 || joined->state_end > life->state_end)) {
            life->state = joined->state;
            life->state_end = joined->state_end;
        }
        life->weight += joined->weight;
        life->depth = life->depth > joined->depth ? life->depth : joined->depth;
    }
}

/* A value's place is its group's: what a merge or a loop's end would move is there. What that was thought to need, `n` times at a
 * step, is not. */
static void save_moves(struct emission *emission, mdf_lowered_id id, uint32_t at, unsigned n)
{
    struct life *life = &emission->lives[leader_of(emission, id)];
    float saved = (float)n * weight_of(emission->steps[at].depth);

    life->weight = life->weight > 2 * saved ? life->weight - saved : life->weight / 2;
}

static bool goes_on(const struct life *group, uint32_t at)
{
    return group->state != 0 && group->state_end > at;
}

/* Whether what is merged at `at` may lie where a group lies. Where that is the place of a state of a loop around, the result must
 * be what the state is next, or be done with before states go on, and lie in the place of no other state. */
static bool may_lie_in(const struct life *result, const struct life *target, const struct life *group, uint32_t at)
{
    return !goes_on(group, at) || ((!goes_on(target, at) || target->state == group->state) &&
                                   (result->becomes == group->state || result->end < group->state_end));
}

static void seek(struct emission *emission, mdf_lowered_id id, enum moment moment)
{
    emission->is_found = emission->is_found || (moment != DEFINITION && leader_of(emission, id) == emission->sought &&
                                                position(emission->at, moment) >= emission->sought_from);
}

/* Whether what lies where a group lies is read at `from` or behind it, up to the step `last`. */
static bool is_read_from(struct emission *emission, uint32_t leader, uint32_t from, uint32_t last)
{
    emission->sought = leader;
    emission->sought_from = from;
    emission->is_found = false;
    for (emission->at = from / N_MOMENTS; emission->at <= last && !emission->is_found; emission->at++) {
        emission_visit(emission, seek);
    }
    return emission->is_found;
}

/* What a branch makes, and nothing needs besides the merge, is made where the result lies, unless that is in the place of a
 * state, or of what was there before the branches and is read by the other branch once that has written there. `first` and `last`
 * are the steps around the branch. */
static void unify_merge(struct emission *emission, mdf_lowered_id out, mdf_lowered_id value, uint32_t first, uint32_t last)
{
    struct life *life = &emission->lives[value];
    const struct life *target = &emission->lives[leader_of(emission, out)], *group = &emission->lives[leader_of(emission, value)];

    if (life->kind == LIFE_NONE || life->kind != emission->lives[out].kind || life->step == nowhere || life->step <= first ||
        life->step >= last || life->end != position(last, LATE) || life->merged_at == last || emission->lives[out].n_uses == 0 ||
        !may_lie_in(&emission->lives[out], target, group, position(last, LATE)) ||
        (group->group_start < position(first, USE) && is_read_from(emission, group->group, target->group_start, first))) {
        return;
    }
    life->merged_at = last;
    unify(emission, out, value);
    save_moves(emission, out, last, 2);
}

/* A value from before the branches that nothing needs behind the merge lies where the result lies, unless it is still read once
 * one of the branches has written there: then the branch that keeps it has nothing to do. `at` is the step that merges. */
static void unify_kept(struct emission *emission, mdf_lowered_id out, mdf_lowered_id value, uint32_t first, uint32_t at)
{
    struct life *life = &emission->lives[value];
    const struct life *result = &emission->lives[out], *group = &emission->lives[leader_of(emission, value)], *target;

    if (life->kind == LIFE_NONE || life->kind != result->kind || life->is_input || life->start == nowhere ||
        life->start >= position(first, USE) || life->body_end != position(at, LATE) || life->merged_at == at ||
        result->n_uses == 0) {
        return;
    }
    target = &emission->lives[leader_of(emission, out)];
    if (target == group || group->group_end != life->body_end || target->group_start <= position(first, AFTER) ||
        life->use_before >= target->group_start || !may_lie_in(result, target, group, position(at, LATE))) {
        return;
    }
    life->merged_at = at;
    unify(emission, out, value);
    save_moves(emission, out, at, 2);
}

/* Numbers the states of all loops. */
static void number_states(struct emission *emission)
{
    uint32_t number = 0;

    for (uint32_t at = 0; at < emission->n_steps; at++) {
        const struct mdf_lowered_loop *loop = emission->steps[at].kind == STEP_END_LOOP ? emission->steps[at].op->of.loop : NULL;

        for (size_t i = 0; loop != NULL && i < loop->n_states; i++) {
            emission->lives[loop->states[i].parameter].state = ++number;
            emission->lives[loop->states[i].parameter].state_end = position(at, USE);
            emission->lives[loop->states[i].next].becomes = number;
        }
    }
}

static void unify_states(struct emission *emission, const struct step *step, uint32_t at)
{
    const struct mdf_lowered_loop *loop = step->op->of.loop;

    for (size_t i = 0; i < loop->n_states; i++) {
        mdf_lowered_id parameter = loop->states[i].parameter, next = loop->states[i].next;
        struct life *life = &emission->lives[parameter];
        const struct life *group = &emission->lives[leader_of(emission, parameter)];
        const struct life *next_group = &emission->lives[leader_of(emission, next)];

        if (life->kind == LIFE_NONE || life->n_uses == 0) {
            continue;
        }
        if (next_group->kind == life->kind && next_group->group_start != nowhere && group->group_end < next_group->group_start) {
            unify(emission, parameter, next);
        }
        if (leader_of(emission, parameter) == leader_of(emission, next)) {
            save_moves(emission, parameter, at, 1);
        }
        extend(&emission->lives[leader_of(emission, parameter)], position(step->partner, DEFINITION),
               life->end > position(at, AFTER) ? life->end : position(at, AFTER));
    }
}

static void unify_all(struct emission *emission)
{
    for (size_t i = 0; i < emission->n_lives; i++) {
        emission->lives[i].group_start = emission->lives[i].start;
        emission->lives[i].group_end = emission->lives[i].body_end; /* more behind their loops: unify_states */
    }
    for (uint32_t at = 0; at < emission->n_steps; at++) {
        const struct step *step = &emission->steps[at];

        if (step->kind == STEP_END_IF) {
            const struct mdf_lowered_if *branches = step->op->of.branches;
            uint32_t first = step->partner, middle = emission->steps[step->partner].partner;

            for (size_t i = 0; i < branches->n_merges; i++) {
                unify_merge(emission, branches->merges[i].out, branches->merges[i].then, step->partner, middle);
                unify_merge(emission, branches->merges[i].out, branches->merges[i].otherwise, middle, at);
                unify_kept(emission, branches->merges[i].out, branches->merges[i].otherwise, first, at);
            }
        } else if (step->kind == STEP_END_LOOP) {
            unify_states(emission, step, at);
        }
    }
    for (size_t i = 0; i < emission->n_lives; i++) {
        leader_of(emission, (mdf_lowered_id)i);
    }
}

bool emission_find_lives(struct emission *emission)
{
    if (!emission_find_pointers(emission) || !init_lives(emission)) {
        return false;
    }
    emission_find_arrays(emission);
    visit_all(emission, count);
    defer_conditions(emission);
    defer_rotations(emission);
    number_states(emission);
    visit_all(emission, live);
    unify_all(emission);
    emission_find_indices(emission);
    return true;
}
