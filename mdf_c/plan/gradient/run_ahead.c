/* run_ahead.c - see run_ahead.h.
 *
 * Comes in: programs whose conditions are compiled, and the evaluations that are asked for. Goes out: a sequence of sets.
 * Equal sets are one item, so that what repeats is found by comparing pointers. */
#include "mdf_c/plan/gradient/run_ahead.h"

#include "mdf_c/base/text.h"
#include "mdf_c/plan/conditions/known_course.h"

#include <string.h>

/* Sets in all; sets in a block that is looked for; rounds of looking, of which each finds blocks of blocks; sets whose code is
 * written. */
enum { MOST_SETS = 1 << 22, LONGEST_BLOCK = 64, MOST_ROUNDS = 8, MOST_WRITTEN = 4096 };

/* One graph. */
struct walk {
    struct ahead *ahead;
    size_t frame;
    struct mdf_course course;
    bool *has_run;
    uint8_t *n_runs;        /* of each node, up to 2 */
    struct ahead_run *runs; /* the set under way */
    bool *brings;           /* of each edge */
    struct list items;      /* const struct ahead_item *: of the evaluation under way; of the outermost graph, of all */
};

struct ahead {
    struct tracer *tracer;
    struct compiler *compiler;
    struct walk *walks; /* of each frame */
    bool has_dt;
    size_t n_sets;
    struct name_table known; /* keys of items: their numbers, from 1 */
    struct list items;       /* const struct ahead_item * */
    struct mdf_text key;
};

static void *new_array(struct ahead *ahead, size_t n, size_t size)
{
    void *items = mdf_arena_array(&ahead->compiler->scratch, n + 1, size);

    if (items == NULL) {
        compile_out_of_memory(ahead->compiler);
    }
    return items;
}

/* ------------------------------------------------------------------ items */

/* The item of the key; NULL: there is none yet, or the error is set. */
static const struct ahead_item *find_item(struct ahead *ahead)
{
    const size_t *place = ahead->key.failed ? NULL : name_table_find(&ahead->known, ahead->key.bytes);

    return place != NULL ? ((const struct ahead_item *const *)ahead->items.items)[*place - 1] : NULL;
}

static const struct ahead_item *add_item(struct ahead *ahead, struct ahead_item made)
{
    struct compiler *compiler = ahead->compiler;
    struct ahead_item *item = new_array(ahead, 1, sizeof *item);
    const char *key = ahead->key.failed ? NULL : mdf_arena_text(&compiler->scratch, ahead->key.bytes, ahead->key.length);
    size_t *place = key != NULL ? name_table_add(&ahead->known, &compiler->scratch, key) : NULL;

    if (place == NULL) {
        compile_out_of_memory(compiler);
    }
    if (item == NULL || place == NULL || !list_add(compiler, &ahead->items, &item, sizeof item)) {
        return NULL;
    }
    *item = made;
    *place = ahead->items.n;
    return item;
}

static void begin_key(struct ahead *ahead, const char *kind)
{
    ahead->key.length = 0;
    mdf_text_printf(&ahead->key, "%s", kind);
}

static void write_items(struct ahead *ahead, uint64_t times, const struct ahead_item *const *items, size_t n)
{
    begin_key(ahead, "block");
    mdf_text_printf(&ahead->key, " %llu", (unsigned long long)times);
    for (size_t i = 0; i < n; i++) {
        mdf_text_printf(&ahead->key, " %p", (const void *)items[i]);
    }
}

/* A block of items, several times. */
static const struct ahead_item *repeat(struct ahead *ahead, const struct ahead_item *const *items, size_t n, uint64_t times)
{
    const struct ahead_item *item, **kept;
    struct ahead_sequence *block;

    write_items(ahead, times, items, n);
    item = find_item(ahead);
    if (item != NULL) {
        return item;
    }
    block = new_array(ahead, 1, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    kept = new_array(ahead, n, sizeof *kept);
    if (kept == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(kept, items, n * sizeof *kept);
    }
    *block = (struct ahead_sequence){kept, n};
    return add_item(ahead, (struct ahead_item){.block = block, .times = times});
}

/* How many items from `at` on are blocks of `size`, one like the other. */
static size_t count_covered(const struct ahead_item *const *items, size_t n, size_t at, size_t size)
{
    size_t i = at + size;

    while (i < n && items[i] == items[i - size]) {
        i++;
    }
    return (i - at) / size * size;
}

/* The same sequence with blocks in the place of what repeats. */
static bool find_blocks(struct ahead *ahead, const struct ahead_item *const *items, size_t n, struct list *found)
{
    for (size_t at = 0; at < n;) {
        size_t best = 0, best_covered = 0;
        const struct ahead_item *item = items[at];

        for (size_t size = 1; size <= LONGEST_BLOCK && at + 3 * size <= n && best_covered < n - at; size++) {
            size_t covered = count_covered(items, n, at, size);

            if (covered >= 3 * size && covered > best_covered) {
                best = size;
                best_covered = covered;
            }
        }
        if (best > 0) {
            item = repeat(ahead, items + at, best, best_covered / best);
        }
        if (item == NULL || !list_add(ahead->compiler, found, &item, sizeof item)) {
            return false;
        }
        at += best > 0 ? best_covered : 1;
    }
    return true;
}

/* One item is as good as its sequence: equal sequences are one. NULL: the error is set. */
static const struct ahead_sequence *compress(struct ahead *ahead, const struct list *list)
{
    struct list items = *list;
    const struct ahead_item *whole;

    for (size_t round = 0, before = SIZE_MAX; round < MOST_ROUNDS && items.n < before; round++) {
        struct list found = {0};

        before = items.n;
        if (!find_blocks(ahead, items.items, items.n, &found)) {
            return NULL;
        }
        items = found;
    }
    if (items.n > MOST_WRITTEN) {
        trace_refuse(ahead->tracer, "conditions under which the order of nodes does not repeat itself");
        return NULL;
    }
    whole = repeat(ahead, items.items, items.n, 1);
    return whole != NULL ? whole->block : NULL;
}

/* What one evaluation of a graph within a node comes to: it is one of few. */
static const struct ahead_sequence *compress_inner(struct ahead *ahead, const struct list *list)
{
    const struct ahead_sequence *sequence;
    const struct ahead_item *item;

    write_items(ahead, 0, list->items, list->n); /* as they are */
    item = find_item(ahead);
    if (item != NULL) {
        return item->block;
    }
    sequence = compress(ahead, list);
    if (sequence == NULL) {
        return NULL;
    }
    write_items(ahead, 0, list->items, list->n);
    item = add_item(ahead, (struct ahead_item){.block = sequence, .times = 1});
    return item != NULL ? item->block : NULL;
}

/* ------------------------------------------------------------------ sets */

static bool walk_evaluation(struct walk *walk);

/* The walk through the graph within a node; NULL: it has none. */
static struct walk *inner_walk(const struct walk *walk, const struct mdf_program_node *node)
{
    const struct trace_frame *frames = walk->ahead->tracer->frames;
    const struct unit *from = frames[walk->frame].from;

    for (size_t at = node->first; node->has_graph && at < node->end; at++) {
        const struct mdf_instruction *instruction = (const struct mdf_instruction *)from->instructions.items + at;

        for (size_t i = 1; instruction->opcode == MDF_OPCODE_GRAPH && i < walk->ahead->tracer->n_frames; i++) {
            if (frames[i].outer == walk->frame && frames[i].body == instruction->target) {
                return &walk->ahead->walks[i];
            }
        }
    }
    return NULL;
}

/* What a node finds that runs now. */
static bool begin_run(struct walk *walk, size_t number, bool *brings, struct ahead_run *run)
{
    const struct mdf_program_node *node = &walk->course.program->nodes[number];
    bool is_first_in_evaluation = walk->course.program->schedule == NULL || walk->course.counts[MDF_SCOPE_UPDATE][number] <= 1;

    if (node->finished != MDF_NO_OPERAND && node->has_graph) {
        return trace_refuse(walk->ahead->tracer, "nodes with a graph that run until they are finished, under conditions");
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &walk->course.program->edges[node->edges[i]];

        brings[i] = walk->has_run[edge->sender] || edge->has_initial;
    }
    *run = (struct ahead_run){.node = number,
                              .is_first = !walk->has_run[number],
                              .resets = node->reset < node->initial && is_first_in_evaluation,
                              .has_read = !is_first_in_evaluation && node->n_ports > 0,
                              .brings = brings};
    return true;
}

static bool end_run(struct walk *walk, struct ahead_run *run)
{
    struct walk *inner = inner_walk(walk, &walk->course.program->nodes[run->node]);

    if (inner != NULL) {
        inner->items.n = 0;
        if (!walk_evaluation(inner)) {
            return false;
        }
        run->inner = compress_inner(walk->ahead, &inner->items);
    }
    return inner == NULL || run->inner != NULL;
}

static void write_key(struct walk *walk, const struct ahead_set *set)
{
    struct mdf_text *key = &walk->ahead->key;

    begin_key(walk->ahead, "set");
    mdf_text_printf(key, " %zu %d", walk->frame, set->has_dt);
    for (size_t i = 0; i < set->n_runs; i++) {
        const struct ahead_run *run = &set->runs[i];

        mdf_text_printf(key, " %zu %d %d %d %p ", run->node, walk->n_runs[run->node], run->resets, run->has_read,
                        (const void *)run->inner);
        for (size_t k = 0; k < walk->course.program->nodes[run->node].n_edges; k++) {
            mdf_text_printf(key, "%d", run->brings[k]);
        }
    }
}

/* With what the walk writes over. */
static struct ahead_set *copy_set(struct walk *walk, const struct ahead_set *set)
{
    struct ahead_set *copy = new_array(walk->ahead, 1, sizeof *copy);
    struct ahead_run *runs = new_array(walk->ahead, set->n_runs, sizeof *runs);

    for (size_t i = 0; copy != NULL && runs != NULL && i < set->n_runs; i++) {
        size_t n = walk->course.program->nodes[set->runs[i].node].n_edges;
        bool *brings = new_array(walk->ahead, n, sizeof *brings);

        if (brings == NULL) {
            return NULL;
        }
        if (n > 0) {
            memcpy(brings, set->runs[i].brings, n * sizeof *brings);
        }
        runs[i] = set->runs[i];
        runs[i].brings = brings;
    }
    if (copy == NULL || runs == NULL) {
        return NULL;
    }
    *copy = *set;
    copy->runs = runs;
    return copy;
}

static bool keep_set(struct walk *walk, const struct ahead_set *set)
{
    struct ahead *ahead = walk->ahead;
    const struct ahead_item *item;
    struct ahead_set *kept;

    if (++ahead->n_sets > MOST_SETS) {
        return trace_refuse(ahead->tracer, "conditions under which so many sets of nodes run");
    }
    write_key(walk, set);
    item = find_item(ahead);
    if (item == NULL) {
        kept = copy_set(walk, set);
        if (kept == NULL) {
            return false;
        }
        item = add_item(ahead, (struct ahead_item){.set = kept, .times = 1});
    }
    return item != NULL && list_add(ahead->compiler, &walk->items, &item, sizeof item);
}

/* Nodes of the layer that are in the set, or all of them, run. */
static bool run_set(struct walk *walk, const struct mdf_program_layer *layer)
{
    struct ahead_run *runs = walk->runs;
    struct ahead_set set = {.has_dt = walk->ahead->has_dt, .takes_first = layer->takes_first, .runs = runs};
    bool *brings = walk->brings;

    for (size_t i = 0; i < layer->n_nodes; i++) {
        size_t node = layer->nodes[i];

        if (!walk->course.in_set[node]) {
            continue;
        }
        if (!begin_run(walk, node, brings, &runs[set.n_runs++])) {
            return false;
        }
        brings += walk->course.program->nodes[node].n_edges;
        walk->has_run[node] = walk->has_run[node] || !layer->takes_first; /* what follows sees that */
    }
    for (size_t i = 0; i < set.n_runs; i++) {
        if (!end_run(walk, &runs[i])) {
            return false;
        }
    }
    if (set.n_runs > 0 && !keep_set(walk, &set)) {
        return false;
    }
    for (size_t i = 0; i < set.n_runs; i++) {
        size_t node = runs[i].node;

        walk->has_run[node] = true;
        walk->n_runs[node] = walk->n_runs[node] == 0 ? 1 : 2;
        walk->course.in_set[node] = false;
        walk->course.last_sets[node] = walk->course.n_sets;
    }
    return true;
}

/* ------------------------------------------------------------------ passes */

static bool end_set(struct walk *walk)
{
    return mdf_course_end_set(&walk->course) || trace_refuse(walk->ahead->tracer, "times that can not be counted exactly");
}

static bool walk_pass(struct walk *walk)
{
    const struct mdf_program *program = walk->course.program;
    size_t n_in_pass = 0;

    mdf_course_begin_pass(&walk->course);
    for (size_t i = 0; i < program->n_layers && !walk->course.is_broken; i++) {
        size_t n;

        if (mdf_course_is_over(&walk->course)) {
            break;
        }
        n = mdf_course_make_set(&walk->course, &program->layers[i]);
        n_in_pass += n;
        if (n > 0 || program->schedule->is_absolute) {
            walk->course.n_sets++;
            if (!run_set(walk, &program->layers[i]) || !end_set(walk)) {
                return false;
            }
        }
    }
    if (n_in_pass == 0 && !program->schedule->is_absolute) {
        walk->course.n_sets++;
        return end_set(walk);
    }
    return true;
}

static bool walk_scheduled(struct walk *walk)
{
    struct ahead *ahead = walk->ahead;

    mdf_course_begin_update(&walk->course);
    while (!walk->course.is_broken && !mdf_course_is_over(&walk->course)) {
        if (!walk_pass(walk)) {
            return false;
        }
        walk->course.clocks[MDF_CLOCK_PASSES_IN_UPDATE]++;
        walk->course.clocks[MDF_CLOCK_PASSES_IN_LIFE]++;
        if (walk->course.clocks[MDF_CLOCK_PASSES_IN_UPDATE] >= walk->course.program->max_passes ||
            walk->course.clocks[MDF_CLOCK_PASSES_IN_LIFE] > MOST_SETS) {
            return trace_refuse(ahead->tracer, "conditions by which so many passes are made");
        }
    }
    walk->course.clocks[MDF_CLOCK_UPDATES]++;
    mdf_course_holds(&walk->course, walk->course.program->schedule->end_of_sequence); /* which counts for an NWhen in it */
    return !walk->course.is_broken || trace_refuse(ahead->tracer, "conditions that look at values");
}

/* Each node once, layer by layer. */
static bool walk_layers(struct walk *walk)
{
    for (size_t i = 0; i < walk->course.program->n_layers; i++) {
        const struct mdf_program_layer *layer = &walk->course.program->layers[i];

        for (size_t k = 0; k < layer->n_nodes; k++) {
            walk->course.in_set[layer->nodes[k]] = true;
        }
        if (!run_set(walk, layer)) {
            return false;
        }
    }
    return true;
}

static bool walk_evaluation(struct walk *walk)
{
    return walk->course.program->schedule != NULL ? walk_scheduled(walk) : walk_layers(walk);
}

/* ------------------------------------------------------------------ all */

static bool begin_walk(struct ahead *ahead, size_t frame)
{
    struct walk *walk = &ahead->walks[frame];
    const struct mdf_program *program = ahead->tracer->frames[frame].program;
    size_t n = program->n_nodes;

    *walk = (struct walk){.ahead = ahead, .frame = frame};
    if (!mdf_course_begin(&walk->course, program, &ahead->compiler->scratch)) {
        return compile_out_of_memory(ahead->compiler) != MDF_NO_OPERAND;
    }
    walk->has_run = new_array(ahead, n, sizeof *walk->has_run);
    walk->n_runs = new_array(ahead, n, sizeof *walk->n_runs);
    walk->runs = new_array(ahead, n, sizeof *walk->runs);
    walk->brings = new_array(ahead, program->n_edges, sizeof *walk->brings);
    return walk->has_run != NULL && walk->n_runs != NULL && walk->runs != NULL && walk->brings != NULL;
}

/* Sets whose code is written, those within graphs within nodes among them. */
static size_t count_written(const struct ahead_sequence *sequence)
{
    size_t n = 0;

    for (size_t i = 0; i < sequence->n && n <= MOST_WRITTEN; i++) {
        const struct ahead_item *item = sequence->items[i];

        n += item->block != NULL ? count_written(item->block) : 1;
        for (size_t k = 0; item->set != NULL && k < item->set->n_runs; k++) {
            n += item->set->runs[k].inner != NULL ? count_written(item->set->runs[k].inner) : 0;
        }
    }
    return n;
}

static const struct ahead_sequence *find_all(struct ahead *ahead, const struct mdf_gradient_request *request)
{
    const struct ahead_sequence *all;

    ahead->walks = new_array(ahead, ahead->tracer->n_frames, sizeof *ahead->walks);
    for (size_t i = 0; i < ahead->tracer->n_frames; i++) {
        if (ahead->walks == NULL || !begin_walk(ahead, i)) {
            return NULL;
        }
    }
    for (uint64_t step = 0; step < request->n_steps; step++) {
        ahead->has_dt = step > 0 && request->has_dt;
        if (!walk_evaluation(&ahead->walks[0])) {
            return NULL;
        }
    }
    all = compress(ahead, &ahead->walks[0].items);
    if (all != NULL && count_written(all) > MOST_WRITTEN) {
        trace_refuse(ahead->tracer, "conditions under which the order of nodes does not repeat itself");
        return NULL;
    }
    return all;
}

const struct ahead_sequence *ahead_find(struct tracer *tracer, const struct mdf_gradient_request *request, const bool **has_run)
{
    struct ahead ahead = {.tracer = tracer, .compiler = tracer->target.compiler};
    const struct ahead_sequence *all;

    mdf_text_init(&ahead.key, ahead.compiler->memory);
    all = find_all(&ahead, request);
    mdf_text_release(&ahead.key);
    *has_run = all != NULL ? ahead.walks[0].has_run : NULL;
    return all;
}

bool ahead_is_needed(const struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        if (tracer->frames[i].program->schedule != NULL || tracer->frames[i].program->takes_first) {
            return true;
        }
    }
    return false;
}
