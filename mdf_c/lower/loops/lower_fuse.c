/* lower_fuse.c - loops of a region that run equally often become one loop: where the second goes through what the first yields,
 * an item is used while it is there, and need not be stacked if nobody else reads it; where they only go through the same, or
 * wait for what they compute, they are computed side by side. See lowering.h.
 *
 * All ops of a region give the same in any order in which each stands behind what it reads: what stands between the two and needs
 * the first moves behind both, all else in front. */
#include "mdf_c/lower/loops/lower_fuse.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

enum {
    LARGEST_TOGETHER = 128 * 1024 /* bytes that both go through in a run: they have to stay in a cache */
};

static const char *const goes_the_other_way = "it goes through the items the other way round";
static const char *const needs_all = "it needs what the other one has made of all items";
static const char *const is_multiplied = "it multiplies the items by a matrix, many of them at once";
static const char *const is_large = "what both go through in a run is larger than a cache";
static const char *const calls_for_items = "a function between them takes less for all items at once than for one by one";
static const char *const gains_nothing = "they share only what they read, and neither waits for what it computes";

/* ------------------------------------------------------------------ which loops */

struct fusion {
    struct lowering *lowering;
    struct region *region;
    size_t first, second; /* the ops */
    bool *follows;        /* of each value: it depends on what the first loop makes */
    bool *is_seen;        /* of each value: its bytes have been counted */
    size_t capacity;      /* of both */
    size_t n_bytes;
    struct absorption between; /* what becomes a part of the first */
};

static const struct mdf_lowered_loop *loop_at(const struct fusion *fusion, size_t at)
{
    const struct mdf_lowered_op *op = &fusion->region->ops[at];

    return op->code == MDF_LOWERED_LOOP ? op->of.loop : NULL;
}

bool lowering_is_counted(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    if (loop->condition != MDF_LOWERED_NONE || loop->next_condition != MDF_LOWERED_NONE ||
        (loop->n_runs == SIZE_MAX && loop->trip_count == MDF_LOWERED_NONE)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].appends || loop->stacks[i].is_put) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        if (lowered->values[loop->states[i].parameter].open_axes != 0) {
            return false;
        }
    }
    return true;
}

/* Whether nothing but its bounds and its body says what it does: no condition, no state that grows. */
static bool is_plain(const struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    return loop != NULL && loop->n_runs >= 2 && lowering_is_counted(lowering->lowered, loop);
}

static bool run_equally_often(const struct mdf_lowered_loop *a, const struct mdf_lowered_loop *b)
{
    return a->n_runs == b->n_runs && a->trip_count == b->trip_count && a->n_padded == b->n_padded && a->limit == b->limit;
}

/* The stack of the first loop that a row of the second goes through; NULL: none. */
static const struct mdf_lowered_stack *stack_of(const struct mdf_lowered_loop *first, const struct mdf_lowered_rows *rows)
{
    for (size_t i = 0; i < first->n_stacks; i++) {
        if (first->stacks[i].stack == rows->source) {
            return &first->stacks[i];
        }
    }
    return NULL;
}

static const struct mdf_lowered_rows *same_rows(const struct mdf_lowered_loop *loop, const struct mdf_lowered_rows *rows)
{
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (loop->rows[i].source == rows->source && loop->rows[i].is_reversed == rows->is_reversed) {
            return &loop->rows[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ what depends on what */

/* How often an op reads what depends on the first loop. */
static size_t count_following(const struct fusion *fusion, const struct mdf_lowered_op *op)
{
    return mdf_lowered_count_marked(op, fusion->follows);
}

static bool follow(struct fusion *fusion)
{
    struct lowering *lowering = fusion->lowering;
    size_t n = lowering->lowered->n_values;

    if (fusion->capacity < n + MOST_ABSORBED) {
        fusion->capacity = 2 * n + MOST_ABSORBED;
        fusion->follows = mdf_arena_array(&lowering->scratch, fusion->capacity, sizeof *fusion->follows);
        fusion->is_seen = mdf_arena_array(&lowering->scratch, fusion->capacity, sizeof *fusion->is_seen);
        if (fusion->follows == NULL || fusion->is_seen == NULL) {
            return lowering_out_of_memory(lowering);
        }
    }
    memset(fusion->follows, 0, fusion->capacity * sizeof *fusion->follows);
    mdf_lowered_mark_following(&(const struct mdf_lowered_region){fusion->region->ops, fusion->region->n_ops}, fusion->first,
                               fusion->second, fusion->follows);
    fusion->between = (struct absorption){.lowering = lowering,
                                          .region = fusion->region,
                                          .first = fusion->first,
                                          .second = fusion->second,
                                          .follows = fusion->follows,
                                          .n_values = n};
    return true;
}

/* ------------------------------------------------------------------ what is worth it */

static void count_bytes(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct fusion *fusion = context;
    const struct mdf_value *form = &fusion->lowering->lowered->values[id].form;

    (void)is_aliased;
    if (!fusion->is_seen[id] && form->kind == MDF_KIND_TENSOR) {
        fusion->is_seen[id] = true;
        fusion->n_bytes += form->length * mdf_dtype_size((mdf_dtype)form->dtype);
    }
}

/* Whether what the bodies of both look at in a run stays in a cache. */
static bool fit_together(struct fusion *fusion)
{
    memset(fusion->is_seen, 0, fusion->capacity * sizeof *fusion->is_seen);
    fusion->n_bytes = 0;
    for (size_t i = fusion->first; i <= fusion->second; i += fusion->second - fusion->first) {
        const struct mdf_lowered_region *body = &loop_at(fusion, i)->body;

        for (size_t j = 0; j < body->n_ops; j++) {
            mdf_lowered_visit_reads(&body->ops[j], count_bytes, fusion);
        }
    }
    return fusion->n_bytes <= LARGEST_TOGETHER;
}

/* Whether each op of a body computes so little that a processor has time for another one. */
static bool is_short(const struct lowering *lowering, const struct mdf_lowered_region *body)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < body->n_ops; i++) {
        const struct mdf_lowered_op *op = &body->ops[i];

        if (op->code == MDF_LOWERED_CALL || op->code == MDF_LOWERED_LOOP ||
            (op->code == MDF_LOWERED_NEST && mdf_nest_count(op->of.nest, 0, op->of.nest->n_axes) > FEW_ELEMENTS) ||
            (op->out != MDF_LOWERED_NONE && lowering->lowered->values[op->out].form.length > FEW_ELEMENTS)) {
            return false;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!is_short(lowering, inner)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether there is anything to tell of the two. */
static bool are_related(struct fusion *fusion)
{
    const struct mdf_lowered_loop *first = loop_at(fusion, fusion->first), *second = loop_at(fusion, fusion->second);

    for (size_t i = 0; i < second->n_rows; i++) {
        const struct mdf_lowered_rows other = {second->rows[i].source, MDF_LOWERED_NONE, !second->rows[i].is_reversed};

        if (fusion->follows[second->rows[i].source] || same_rows(first, &second->rows[i]) != NULL ||
            same_rows(first, &other) != NULL) {
            return true;
        }
    }
    return count_following(fusion, &fusion->region->ops[fusion->second]) > 0;
}

/* Whether what the second goes through, and depends on the first, is what that stacks, or is made of it item by item. */
static bool are_items(struct fusion *fusion)
{
    const struct mdf_lowered_loop *second = loop_at(fusion, fusion->second);

    for (size_t i = 0; i < second->n_rows; i++) {
        if (fusion->follows[second->rows[i].source] &&
            absorption_item(&fusion->between, second->rows[i].source, second->rows[i].is_reversed) == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* Why the two stay apart; NULL: they become one. */
static const char *find_obstacle(struct fusion *fusion)
{
    const struct mdf_lowered_loop *first = loop_at(fusion, fusion->first), *second = loop_at(fusion, fusion->second);
    size_t n_following = count_following(fusion, &fusion->region->ops[fusion->second]), n_yielded = 0, i;

    for (i = 0; i < second->n_rows; i++) {
        const struct mdf_lowered_stack *stack = stack_of(first, &second->rows[i]);

        if (stack != NULL && stack->is_reversed != second->rows[i].is_reversed) {
            return goes_the_other_way;
        }
        if (fusion->follows[second->rows[i].source] &&
            lowering_multiplies_items(fusion->lowering, second, second->rows[i].parameter)) {
            return is_multiplied;
        }
        n_yielded += fusion->follows[second->rows[i].source];
    }
    if (n_following > n_yielded || !are_items(fusion)) {
        return fusion->between.is_short ? calls_for_items : needs_all;
    }
    if (!fit_together(fusion)) {
        return is_large;
    }
    return n_yielded > 0 || (is_short(fusion->lowering, &first->body) && is_short(fusion->lowering, &second->body))
               ? NULL
               : gains_nothing;
}

/* ------------------------------------------------------------------ one loop of both */

static void replace(struct lowering *lowering, struct mdf_lowered_op *op, mdf_lowered_id from, mdf_lowered_id to)
{
    mdf_lowered_replace_reads(op, from, to);
    for (size_t i = 0; i < lowering->lowered->n_values; i++) {
        if (lowering->facts[i].view.is_there && lowering->facts[i].view.id == from) {
            lowering->facts[i].view.id = to;
        }
    }
}

/* Both have a parameter of one meaning, which one of the two has already, or gets. */
static void share(struct lowering *lowering, struct mdf_lowered_op *second, mdf_lowered_id *first, mdf_lowered_id other)
{
    if (*first == MDF_LOWERED_NONE) {
        *first = other;
    } else if (other != MDF_LOWERED_NONE) {
        replace(lowering, second, other, *first);
    }
}

/* What the second goes through: what the first yields, the same as the first, or something else. */
static void add_rows(struct lowering *lowering, struct mdf_lowered_loop *both, const struct mdf_lowered_loop *first,
                     struct mdf_lowered_op *second)
{
    const struct mdf_lowered_loop *loop = second->of.loop;

    both->n_rows = first->n_rows;
    for (size_t i = 0; i < loop->n_rows; i++) {
        const struct mdf_lowered_rows rows = loop->rows[i], *same = same_rows(both, &rows);
        const struct mdf_lowered_stack *stack = stack_of(first, &rows);

        if (stack != NULL) {
            replace(lowering, second, rows.parameter, stack->item);
        } else if (same != NULL) {
            replace(lowering, second, rows.parameter, same->parameter);
        } else {
            both->rows[both->n_rows++] = rows;
        }
    }
}

/* NULL: memory ran out. */
static struct mdf_lowered_loop *join_loops(struct lowering *lowering, const struct mdf_lowered_loop *first,
                                           struct mdf_lowered_op *second_op)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_loop *both = mdf_arena_allocate(arena, sizeof *both), *second = second_op->of.loop;

    if (both == NULL) {
        return NULL;
    }
    *both = *first;
    both->rows = lowering_join_arrays(arena, first->rows, first->n_rows, second->rows, second->n_rows, sizeof *both->rows);
    if (both->rows == NULL) {
        return NULL;
    }
    add_rows(lowering, both, first, second_op);
    share(lowering, second_op, &both->number, second->number);
    share(lowering, second_op, &both->is_going_on, second->is_going_on);
    both->n_states += second->n_states;
    both->n_stacks += second->n_stacks;
    both->body.n_ops += second->body.n_ops;
    both->states =
        lowering_join_arrays(arena, first->states, first->n_states, second->states, second->n_states, sizeof *both->states);
    both->stacks =
        lowering_join_arrays(arena, first->stacks, first->n_stacks, second->stacks, second->n_stacks, sizeof *both->stacks);
    both->body.ops = lowering_join_arrays(arena, first->body.ops, first->body.n_ops, second->body.ops, second->body.n_ops,
                                          sizeof *both->body.ops);
    return both->states == NULL || both->stacks == NULL || both->body.ops == NULL ? NULL : both;
}

/* Its loops are joined in turn, and its nests. */
static bool complete_body(struct lowering *lowering, const struct region *around, struct mdf_lowered_region *body)
{
    struct region region = {.outer = lowering->region,
                            .kind = REGION_BODY,
                            .depth = around->depth + 1,
                            .ops = body->ops,
                            .n_ops = body->n_ops,
                            .capacity = body->n_ops};

    if (!lowering_complete_region(lowering, &region)) {
        return false;
    }
    *body = (struct mdf_lowered_region){region.ops, region.n_ops};
    return true;
}

/* The ops in their new order: what does not need the first loop, both, what needs it. */
static bool fuse(struct fusion *fusion)
{
    struct lowering *lowering = fusion->lowering;
    struct region *region = fusion->region;
    size_t first = fusion->first, second = fusion->second, n_late = 0, n = first;
    struct mdf_lowered_op both = region->ops[first];
    struct mdf_lowered_op *late = mdf_arena_array(&lowering->scratch, second - first, sizeof *late);

    if (!absorption_commit(&fusion->between)) {
        return false;
    }
    both.of.loop = join_loops(lowering, region->ops[first].of.loop, &region->ops[second]);
    if (late == NULL || both.of.loop == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (!complete_body(lowering, region, &both.of.loop->body)) {
        return false;
    }
    for (size_t i = first + 1; i < second; i++) {
        if (absorption_has(&fusion->between, i)) {
            continue;
        }
        if (count_following(fusion, &region->ops[i]) > 0) {
            late[n_late++] = region->ops[i];
        } else {
            region->ops[n++] = region->ops[i];
        }
    }
    region->ops[n++] = both;
    memcpy(region->ops + n, late, n_late * sizeof *late);
    n += n_late;
    memmove(region->ops + n, region->ops + second + 1, (region->n_ops - second - 1) * sizeof *region->ops);
    region->n_ops -= second + 1 - n;
    fusion->second = n;
    return true;
}

/* ------------------------------------------------------------------ all of a region */

struct mdf_lowered_pair *lowering_pair(struct lowering *lowering, const struct mdf_lowered_op *first,
                                       const struct mdf_lowered_op *second)
{
    struct mdf_lowered_pair *pair = lowering->lowered->pairs;

    while (pair != NULL && (pair->first != first->origin || pair->second != second->origin)) {
        pair = pair->next;
    }
    if (pair == NULL) {
        pair = mdf_arena_allocate(&lowering->lowered->arena, sizeof *pair);
        if (pair == NULL) {
            lowering_out_of_memory(lowering);
            return NULL;
        }
        *pair = (struct mdf_lowered_pair){.next = lowering->lowered->pairs, .first = first->origin, .second = second->origin};
        lowering->lowered->pairs = pair;
    }
    return pair;
}

static bool note_pair(const struct fusion *fusion, const char *why_apart)
{
    const struct mdf_lowered_op *ops = fusion->region->ops;
    struct mdf_lowered_pair *pair = lowering_pair(fusion->lowering, &ops[fusion->first], &ops[fusion->second]);

    if (pair != NULL) {
        pair->why_apart = why_apart;
    }
    return pair != NULL;
}

/* Whether the second goes through something that depends on the first. */
static bool goes_through_items(const struct fusion *fusion)
{
    const struct mdf_lowered_loop *second = loop_at(fusion, fusion->second);
    size_t i;

    for (i = 0; i < second->n_rows && !fusion->follows[second->rows[i].source]; i++) {
    }
    return i < second->n_rows;
}

/* Joins the second loop to one in front of it, the nearest that it can be joined to: of those that yield its items, or of all. */
static bool join_to_first(struct fusion *fusion, bool yields_items, bool *is_joined)
{
    const struct mdf_lowered_loop *second = loop_at(fusion, fusion->second);

    *is_joined = false;
    for (fusion->first = fusion->second; fusion->first-- > 0 && !*is_joined;) {
        const struct mdf_lowered_loop *first = loop_at(fusion, fusion->first);
        const char *why_apart;

        if (!is_plain(fusion->lowering, first) || !run_equally_often(first, second)) {
            continue;
        }
        if (!follow(fusion)) {
            return false;
        }
        if (yields_items && !goes_through_items(fusion)) {
            continue;
        }
        why_apart = find_obstacle(fusion);
        if ((why_apart == NULL || are_related(fusion)) && !note_pair(fusion, why_apart)) {
            return false;
        }
        *is_joined = why_apart == NULL;
        if (*is_joined && !fuse(fusion)) {
            return false;
        }
    }
    return true;
}

static bool find_first(struct fusion *fusion, bool *is_joined)
{
    return join_to_first(fusion, true, is_joined) && (*is_joined || join_to_first(fusion, false, is_joined));
}

static bool fuse_loops(struct lowering *lowering, struct region *region)
{
    struct fusion fusion = {.lowering = lowering, .region = region};
    size_t n_loops = 0;
    bool is_joined;

    for (size_t i = 0; i < region->n_ops; i++) {
        n_loops += region->ops[i].code == MDF_LOWERED_LOOP;
    }
    if (n_loops < 2 || lowering->draws) { /* random numbers are drawn in the order of the model */
        return true;
    }
    for (fusion.second = 1; fusion.second < region->n_ops; fusion.second += !is_joined) {
        is_joined = false;
        if (is_plain(lowering, loop_at(&fusion, fusion.second)) && !find_first(&fusion, &is_joined)) {
            return false;
        }
    }
    return true;
}

bool lowering_complete_region(struct lowering *lowering, struct region *region)
{
    if (!fuse_loops(lowering, region) || !lowering_map_loops(lowering, region) ||
        !lowering_vectorise_outer_loops(lowering, region)) {
        return false;
    }
    lowering_copy_first(lowering, region);
    return lowering_share_ops(lowering, region) && lowering_group(lowering, region);
}
