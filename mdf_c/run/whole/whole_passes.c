/* whole_passes.c - see whole_schedule.h. Sets, passes and an evaluation as scheduler.c runs them: a loop over passes, in which
 * each node's instructions are one side of a condition. An evaluation of no pass, of very many passes, and the first run of a
 * node bail out. */
#include "mdf_c/run/whole/whole_schedule.h"

/* One in which nothing can ever end is found so late. */
enum { MOST_PASSES = 1 << 20 };
/* Nodes of a layer that decide on each other are asked again, as often as there are nodes. */
enum { MOST_MUTUAL = 4 };

struct pass {
    const struct mdf_whole_schedule *whole;
    struct lowering *lowering;
    struct scope *scope;
    mdf_lowered_id goes_on; /* the evaluation is not over */
    mdf_lowered_id any;     /* a node has run in it */
    mdf_lowered_id mask;    /* NONE: not asked for */
    mdf_lowered_id *in;     /* of each node: it is in the set of its layer */
    bool has_mask;
    bool counts_sets; /* something hangs on how many sets there were */
};

bool mdf_whole_has_mask(const struct mdf_program *program)
{
    return program->n_nodes + (program->schedule->is_absolute ? program->n_layers : 0) <= MDF_MASK_BITS;
}

/* ------------------------------------------------------------------ sets */

/* The update is over, or, should it not be, the sequence. */
static mdf_lowered_id check_over(const struct mdf_whole_schedule *whole, struct scope *scope, mdf_lowered_id reached)
{
    mdf_lowered_id update = mdf_whole_check(whole, scope, whole->schedule->end_of_update, reached), sequence;

    if (update == MDF_LOWERED_NONE) {
        return update;
    }
    sequence = mdf_whole_check(whole, scope, whole->schedule->end_of_sequence,
                               mdf_term_and(whole->lowering, reached, mdf_term_not(whole->lowering, update)));
    return sequence == MDF_LOWERED_NONE ? sequence : mdf_term_or(whole->lowering, update, sequence);
}

/* Counts a run of a node where it is put into a set (`now`). */
static bool count_run(const struct pass *pass, struct scope *scope, size_t node, mdf_lowered_id now)
{
    const struct mdf_whole_schedule *whole = pass->whole;
    const struct mdf_schedule_node *own = &whole->schedule->nodes[node];
    mdf_lowered_id number = mdf_term_number(pass->lowering, now);

    if (!mdf_whole_add(whole, scope, MDF_COUNTER_COUNTS_IN_PASS, node, number) ||
        !mdf_whole_add(whole, scope, MDF_COUNTER_COUNTS_IN_UPDATE, node, number) ||
        !mdf_whole_add(whole, scope, MDF_COUNTER_COUNTS_IN_LIFE, node, number)) {
        return false;
    }
    for (uint32_t i = own->first_usable; i < own->first_usable + own->n_usables; i++) {
        const struct mdf_usable *usable = &whole->schedule->usables[i];
        mdf_lowered_id mark;

        if (!mdf_whole_is_kept(whole, MDF_COUNTER_MARKS, i)) {
            continue;
        }
        mark = mdf_whole_value(whole, scope, MDF_COUNTER_COUNTS_IN_UPDATE, usable->dependency);
        if (usable->own) {
            mark = mdf_term_compute(pass->lowering, MDF_LOWERED_SUBTRACT, false, mark, mdf_term_whole(pass->lowering, 1));
        }
        mark = mdf_term_choose(pass->lowering, now, mark, mdf_whole_value(whole, scope, MDF_COUNTER_MARKS, i));
        if (!mdf_whole_set(whole, scope, MDF_COUNTER_MARKS, i, mark)) {
            return false;
        }
    }
    return true;
}

bool mdf_whole_is_mutual(const struct mdf_schedule *schedule, const struct mdf_program_layer *layer)
{
    for (size_t i = 0; layer->n_nodes > 1 && i < layer->n_nodes; i++) {
        for (size_t j = 0; j < layer->n_nodes; j++) {
            if (mdf_whole_depends(schedule, schedule->nodes[layer->nodes[i]].condition, layer->nodes[j])) {
                return true;
            }
        }
    }
    return false;
}

/* No node decides on another: each is asked once, and counted where it runs. */
static bool make_simple_set(struct pass *pass, const struct mdf_program_layer *layer)
{
    for (size_t i = 0; i < layer->n_nodes; i++) {
        size_t node = layer->nodes[i];
        mdf_lowered_id holds =
            mdf_whole_check(pass->whole, pass->scope, pass->whole->schedule->nodes[node].condition, pass->goes_on);

        pass->in[node] = holds == MDF_LOWERED_NONE ? holds : mdf_term_and(pass->lowering, pass->goes_on, holds);
        if (pass->in[node] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* Nodes are put into the set, and counted, in rounds, until a round adds none. */
static bool make_mutual_set(struct pass *pass, const struct mdf_program_layer *layer)
{
    struct lowering *lowering = pass->lowering;
    mdf_lowered_id asks = pass->goes_on;

    for (size_t i = 0; i < layer->n_nodes; i++) {
        pass->in[layer->nodes[i]] = mdf_term_truth(lowering, false);
    }
    for (size_t round = 0; round < layer->n_nodes; round++) {
        mdf_lowered_id adds = mdf_term_truth(lowering, false);

        for (size_t i = 0; i < layer->n_nodes; i++) {
            size_t node = layer->nodes[i];
            mdf_lowered_id reached = mdf_term_and(lowering, asks, mdf_term_not(lowering, pass->in[node]));
            mdf_lowered_id now = mdf_whole_check(pass->whole, pass->scope, pass->whole->schedule->nodes[node].condition, reached);

            now = now == MDF_LOWERED_NONE ? now : mdf_term_and(lowering, reached, now);
            if (now == MDF_LOWERED_NONE || !count_run(pass, pass->scope, node, now)) {
                return false;
            }
            pass->in[node] = mdf_term_or(lowering, pass->in[node], now);
            adds = mdf_term_or(lowering, adds, now);
        }
        asks = adds;
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

struct owner {
    const struct mdf_state *state;
    const struct repetition *passes;
    const struct scope *side;
    size_t node;
    bool has_mask; /* a single evaluation, which sets all slots itself */
};

/* Whether the node leaves the same in a slot that only the outside looks at as in one that it reads itself when it runs again. It
 * does so whenever it runs: so the slot need not be followed, and is set once, behind all passes. */
static bool is_alias(const struct owner *owner, mdf_operand slot)
{
    struct mdf_whole *whole = owner->state->whole;
    mdf_operand alias;

    if (owner->has_mask || whole == NULL || whole->inner_readers[MDF_OPERAND_INDEX(slot)] != MDF_READ_BY_NOBODY) {
        return false;
    }
    alias =
        lowering_alias(owner->side, slot, owner->passes->states, owner->state->program->code->n_slots); /* not of graphs within */
    if (alias != MDF_NO_OPERAND) {
        whole->aliases[MDF_OPERAND_INDEX(slot)] = alias;
        whole->has_alias[MDF_OPERAND_INDEX(slot)] = whole->is_kept[MDF_OPERAND_INDEX(slot)] = true;
    }
    return alias != MDF_NO_OPERAND;
}

/* Only the node itself looks at the slot, and not at what it left there the last time. */
static bool is_own(const void *opaque, mdf_operand slot)
{
    const struct owner *owner = opaque;
    const struct mdf_whole *whole = owner->state->shared->outermost->whole;
    const struct mdf_lowering_room *room = owner->state->room;
    size_t index = MDF_OPERAND_INDEX(slot), n_slots = owner->state->program->code->n_slots;

    if (owner->passes->states[index] != 0 || index < room->first_slot) {
        return false;
    }
    if (index >= room->first_slot + n_slots) { /* a counter, or in a graph within */
        return index >= room->first_slot + n_slots + mdf_whole_n_counters(owner->state->program) &&
               whole->readers[index] != MDF_READ_BY_ALL;
    }
    return whole->readers[index] == owner->node + 1 || whole->readers[index] == MDF_READ_BY_NOBODY || is_alias(owner, slot);
}

/* What a node does when its set runs. */
enum part { TAKES = 1, RUNS = 2 };

static bool belongs_to_nobody(const void *owner, mdf_operand slot)
{
    (void)owner;
    (void)slot;
    return false;
}

/* Values that begin anew in each evaluation, in the node's first run in it. */
static bool reset_node(struct pass *pass, struct scope *scope, size_t node)
{
    const struct mdf_program_node *own = &pass->whole->program->nodes[node];
    mdf_lowered_id is_first;
    struct region region;
    struct scope side;

    if (own->reset == own->initial) {
        return true;
    }
    is_first = mdf_term_compute(pass->lowering, MDF_LOWERED_EQUAL, false,
                                mdf_whole_value(pass->whole, scope, MDF_COUNTER_COUNTS_IN_UPDATE, node),
                                mdf_term_whole(pass->lowering, 1));
    if (is_first == MDF_LOWERED_NONE) {
        return false;
    }
    lowering_begin_side(pass->lowering, scope, &side, &region);
    return lowering_run(pass->lowering, &side, own->reset, own->initial) &&
           lowering_end_side(pass->lowering, scope, &side, is_first, belongs_to_nobody, NULL);
}

static bool run_side(struct pass *pass, struct scope *scope, size_t node, bool counts, unsigned parts)
{
    const struct mdf_state *state = pass->whole->state;
    bool repeats = state->program->nodes[node].finished != MDF_NO_OPERAND;

    if (!state->has_run[node]) {
        return lowering_bail_out(pass->lowering);
    }
    if (repeats && parts != (TAKES | RUNS)) { /* it takes what edges bring before each run, others after their set has */
        return lowering_fail(pass->lowering, MDF_REFUSED_CONDITIONS);
    }
    if ((parts & TAKES) != 0 && !repeats && !mdf_whole_lower_edges(pass->lowering, scope, state, node)) {
        return false;
    }
    if ((parts & RUNS) == 0) {
        return true;
    }
    if ((counts && !count_run(pass, scope, node, mdf_term_truth(pass->lowering, true))) || !reset_node(pass, scope, node)) {
        return false;
    }
    return repeats ? mdf_whole_lower_repeated(pass->lowering, scope, state, node)
                   : mdf_whole_lower_node(pass->lowering, scope, state, node);
}

static bool run_node(struct pass *pass, size_t node, bool counts, unsigned parts)
{
    struct scope side;
    struct owner owner = {pass->whole->state, pass->scope->repetition, &side, node, pass->has_mask};
    struct region region;

    if (mdf_term_is(pass->lowering, pass->in[node], false)) {
        return true;
    }
    if (mdf_term_is(pass->lowering, pass->in[node], true)) {
        return run_side(pass, pass->scope, node, counts, parts);
    }
    lowering_begin_side(pass->lowering, pass->scope, &side, &region);
    return run_side(pass, &side, node, counts, parts) &&
           lowering_end_side(pass->lowering, pass->scope, &side, pass->in[node],
                             parts == (TAKES | RUNS) ? is_own : belongs_to_nobody, &owner);
}

/* The nodes of a set: each takes and runs; or all take before one of them runs, where it matters. */
static bool run_set(struct pass *pass, const struct mdf_program_layer *layer, bool counts)
{
    for (unsigned parts = layer->takes_first ? TAKES : TAKES | RUNS; parts != 0; parts = parts == TAKES ? RUNS : 0) {
        for (size_t i = 0; i < layer->n_nodes; i++) {
            if (!run_node(pass, layer->nodes[i], counts, parts)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ a layer */

static bool add_to_mask(struct pass *pass, mdf_lowered_id truth, size_t bit)
{
    mdf_lowered_id number;

    if (!pass->has_mask) {
        return true;
    }
    number = mdf_term_compute(pass->lowering, MDF_LOWERED_MULTIPLY, false, mdf_term_number(pass->lowering, truth),
                              mdf_term_whole(pass->lowering, (int64_t)1 << bit));
    pass->mask = mdf_term_compute(pass->lowering, MDF_LOWERED_ADD, false, pass->mask, number);
    return pass->mask != MDF_LOWERED_NONE;
}

/* The set's number and time; `opens`: there is one. */
static bool count_set(struct pass *pass, mdf_lowered_id opens)
{
    mdf_lowered_id number = mdf_term_number(pass->lowering, opens);

    return mdf_whole_add(pass->whole, pass->scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_SETS_IN_UPDATE, number) &&
           mdf_whole_add(pass->whole, pass->scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_SETS_IN_LIFE, number);
}

static bool advance_time(struct pass *pass, mdf_lowered_id opens)
{
    const struct mdf_schedule *schedule = pass->whole->schedule;
    mdf_lowered_id ticks, time;

    if (!schedule->is_absolute) {
        return true;
    }
    ticks = mdf_term_choose(pass->lowering, opens, mdf_term_whole(pass->lowering, schedule->interval),
                            mdf_term_whole(pass->lowering, 0));
    time = mdf_term_compute(pass->lowering, MDF_LOWERED_ADD_EXACT, false,
                            mdf_whole_value(pass->whole, pass->scope, MDF_COUNTER_TIME, 0), ticks);
    return mdf_whole_set(pass->whole, pass->scope, MDF_COUNTER_TIME, 0, time);
}

/* Which set each node was in last. */
static bool note_sets(struct pass *pass, const struct mdf_program_layer *layer, mdf_lowered_id opens)
{
    const struct mdf_whole_schedule *whole = pass->whole;

    if (!mdf_whole_add(whole, pass->scope, MDF_COUNTER_N_SETS, 0, mdf_term_number(pass->lowering, opens))) {
        return false;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        size_t node = layer->nodes[i];

        if (mdf_whole_is_kept(whole, MDF_COUNTER_LAST_SETS, node) &&
            !mdf_whole_set(whole, pass->scope, MDF_COUNTER_LAST_SETS, node,
                           mdf_term_choose(pass->lowering, pass->in[node],
                                           mdf_whole_value(whole, pass->scope, MDF_COUNTER_N_SETS, 0),
                                           mdf_whole_value(whole, pass->scope, MDF_COUNTER_LAST_SETS, node)))) {
            return false;
        }
    }
    return true;
}

/* Whether a condition may say something else once the nodes of a layer have run, and their set is over. */
static bool may_change(const struct mdf_whole_schedule *whole, uint32_t index, const struct mdf_program_layer *layer)
{
    if (mdf_whole_looks_beyond_runs(whole->schedule, index)) {
        return true;
    }
    for (size_t j = 0; j < layer->n_nodes; j++) {
        if (mdf_whole_depends(whole->schedule, index, layer->nodes[j])) {
            return true;
        }
    }
    return false;
}

/* Whether the evaluation is over must be asked before a layer: when the pass begins it has just been, but for runs in the pass,
 * of which there are none now; and of an NWhen each time. */
static bool may_be_over(const struct mdf_whole_schedule *whole, size_t layer)
{
    uint32_t ends[2] = {whole->schedule->end_of_update, whole->schedule->end_of_sequence}, i, j;

    for (i = 0; i < 2; i++) {
        for (j = ends[i]; j < whole->schedule->conditions[ends[i]].end; j++) {
            if (whole->schedule->conditions[j].kind == MDF_CONDITION_N_WHEN) {
                return true;
            }
        }
        if (layer == 0 ? mdf_whole_looks_at_pass(whole->schedule, ends[i])
                       : may_change(whole, ends[i], &whole->program->layers[layer - 1])) {
            return true;
        }
    }
    return false;
}

static bool run_layer(struct pass *pass, size_t index)
{
    const struct mdf_program_layer *layer = &pass->whole->program->layers[index];
    bool is_absolute = pass->whole->schedule->is_absolute, mutual = mdf_whole_is_mutual(pass->whole->schedule, layer);
    mdf_lowered_id over = may_be_over(pass->whole, index) ? check_over(pass->whole, pass->scope, pass->goes_on)
                                                          : mdf_term_truth(pass->lowering, false);
    mdf_lowered_id any = mdf_term_truth(pass->lowering, false), opens;

    if (over == MDF_LOWERED_NONE || (mutual && layer->n_nodes > MOST_MUTUAL)) {
        return lowering_fail(pass->lowering, MDF_REFUSED_CONDITIONS);
    }
    pass->goes_on = mdf_term_and(pass->lowering, pass->goes_on, mdf_term_not(pass->lowering, over));
    if (!(mutual ? make_mutual_set(pass, layer) : make_simple_set(pass, layer))) {
        return false;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        any = pass->counts_sets ? mdf_term_or(pass->lowering, any, pass->in[layer->nodes[i]]) : any;
        if (!add_to_mask(pass, pass->in[layer->nodes[i]], layer->nodes[i])) {
            return false;
        }
    }
    opens = is_absolute ? pass->goes_on : any;
    pass->any = pass->counts_sets ? mdf_term_or(pass->lowering, pass->any, any) : any;
    if ((is_absolute && !add_to_mask(pass, opens, pass->whole->program->n_nodes + index)) || !note_sets(pass, layer, opens)) {
        return false;
    }
    return run_set(pass, layer, !mutual) && count_set(pass, opens) && advance_time(pass, opens);
}

/* ------------------------------------------------------------------ a pass */

static bool reset_counts(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind)
{
    mdf_lowered_id zero = mdf_term_whole(whole->lowering, 0);

    for (size_t i = 0; i < mdf_whole_n_of(whole->program, kind); i++) {
        if (!mdf_whole_set(whole, scope, kind, i, zero)) {
            return false;
        }
    }
    return zero != MDF_LOWERED_NONE;
}

static bool run_pass(struct pass *pass)
{
    struct lowering *lowering = pass->lowering;
    mdf_lowered_id idle, one = mdf_term_whole(lowering, 1);

    pass->goes_on = mdf_term_truth(lowering, true);
    pass->any = mdf_term_truth(lowering, false);
    pass->mask = pass->has_mask ? mdf_term_whole(lowering, 0) : MDF_LOWERED_NONE;
    if (!reset_counts(pass->whole, pass->scope, MDF_COUNTER_COUNTS_IN_PASS)) {
        return false;
    }
    for (size_t i = 0; i < pass->whole->program->n_layers; i++) {
        if (!run_layer(pass, i)) {
            return false;
        }
    }
    idle = pass->whole->schedule->is_absolute || !pass->counts_sets ? mdf_term_truth(lowering, false)
                                                                    : mdf_term_not(lowering, pass->any);
    return mdf_whole_add(pass->whole, pass->scope, MDF_COUNTER_N_SETS, 0, mdf_term_number(lowering, idle)) &&
           count_set(pass, idle) &&
           mdf_whole_add(pass->whole, pass->scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_PASSES_IN_UPDATE, one) &&
           mdf_whole_add(pass->whole, pass->scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_PASSES_IN_LIFE, one);
}

/* ------------------------------------------------------------------ an evaluation */

static bool begin_update(const struct mdf_whole_schedule *whole, struct scope *scope)
{
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id zero = mdf_term_whole(lowering, 0), time, start;

    if (!reset_counts(whole, scope, MDF_COUNTER_COUNTS_IN_PASS) || !reset_counts(whole, scope, MDF_COUNTER_COUNTS_IN_UPDATE) ||
        !reset_counts(whole, scope, MDF_COUNTER_MARKS) ||
        !mdf_whole_set(whole, scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_PASSES_IN_UPDATE, zero) ||
        !mdf_whole_set(whole, scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_SETS_IN_UPDATE, zero)) {
        return false;
    }
    if (!whole->schedule->is_absolute) {
        return true;
    }
    time = mdf_whole_value(whole, scope, MDF_COUNTER_TIME, 0);
    start = mdf_term_whole(lowering, whole->schedule->start);
    return mdf_whole_set(
        whole, scope, MDF_COUNTER_TIME, 0,
        mdf_term_choose(lowering, mdf_term_compute(lowering, MDF_LOWERED_LESS, false, time, start), start, time));
}

/* The loop goes on while the evaluation is not over. */
static bool run_passes(struct pass *pass, struct repetition *passes, mdf_lowered_id over, const bool *leaves,
                       mdf_lowered_id *mask)
{
    const struct mdf_whole_schedule *whole = pass->whole;
    struct lowering *lowering = pass->lowering;
    uint64_t most = whole->program->max_passes - 1;

    passes->loop->condition = mdf_term_not(lowering, over);
    passes->loop->limit = most < MOST_PASSES ? most : MOST_PASSES;
    pass->scope = &passes->body;
    if (passes->loop->condition == MDF_LOWERED_NONE || !run_pass(pass)) {
        return false;
    }
    over = check_over(whole, pass->scope, mdf_term_truth(lowering, true));
    passes->loop->next_condition = over == MDF_LOWERED_NONE ? over : mdf_term_not(lowering, over);
    if (passes->loop->next_condition == MDF_LOWERED_NONE) {
        return false;
    }
    if (mask != NULL) {
        *mask = lowering_stack_repeated(lowering, passes, pass->mask);
    }
    return (mask == NULL || *mask != MDF_LOWERED_NONE) && lowering_end_repetition(lowering, passes, leaves);
}

/* Of evaluations in a row only the one behind them sets what nodes show that run in each: which it does not where nothing runs in
 * it, so that they have to leave that. */
static const bool *keep_for_idle(const struct mdf_whole_schedule *whole)
{
    struct mdf_whole *all = whole->state->shared->outermost->whole;

    for (size_t i = 0; i < all->n_slots; i++) {
        all->is_kept[i] = all->is_kept[i] || all->is_observed[i];
    }
    all->may_be_idle = true;
    return all->is_observed;
}

bool mdf_whole_lower_passes(const struct mdf_whole_schedule *whole, struct scope *scope, const bool *leaves, mdf_lowered_id *mask)
{
    struct lowering *lowering = whole->lowering;
    const struct mdf_program *program = whole->program;
    struct repetition passes = mdf_whole_repetition(whole->state);
    struct pass pass = {.whole = whole,
                        .lowering = lowering,
                        .has_mask = mask != NULL,
                        .counts_sets = mdf_whole_is_kept(whole, MDF_COUNTER_N_SETS, 0) ||
                                       mdf_whole_is_kept(whole, MDF_COUNTER_CLOCKS, MDF_CLOCK_SETS_IN_UPDATE) ||
                                       mdf_whole_is_kept(whole, MDF_COUNTER_CLOCKS, MDF_CLOCK_SETS_IN_LIFE)};
    mdf_lowered_id always = mdf_term_truth(lowering, true), over;

    pass.in = mdf_arena_array(&lowering->scratch, program->n_nodes, sizeof *pass.in);
    if (pass.in == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (program->max_passes < 2) {
        return lowering_fail(lowering, MDF_REFUSED_FEW_PASSES);
    }
    if (!begin_update(whole, scope)) {
        return false;
    }
    over = check_over(whole, scope, always);
    leaves = over != MDF_LOWERED_NONE && !lowering_is_constant(lowering, over) && mask == NULL ? keep_for_idle(whole) : leaves;
    if (over == MDF_LOWERED_NONE || !lowering_bail_out_if(lowering, over) ||
        !lowering_begin_repetition(lowering, scope, &passes) || !run_passes(&pass, &passes, over, leaves, mask)) {
        return false;
    }
    return mdf_whole_add(whole, scope, MDF_COUNTER_CLOCKS, MDF_CLOCK_UPDATES, mdf_term_whole(lowering, 1)) &&
           mdf_whole_check(whole, scope, whole->schedule->end_of_sequence, always) !=
               MDF_LOWERED_NONE; /* asked once more, as it counts for an NWhen in it */
}
