/* lower_written_out.c - for C source, a Loop whose states, or whose parts that its number says, have other shapes from run to
 * run, for which no form of any length stands: its runs, one behind the other, each with the shapes that it has. See
 * lower_loops.h.
 *
 * In: a Loop that has been refused as one. There are as many runs as on the examples. Where a trip count or a condition says so
 * that is not known beforehand, it bails out wherever these say something else. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { MOST_OPS = 8192 }; /* of all runs of one Loop */

/* Whether shapes are known to change from run to run: that of an array that grows, or of what the loop's number says. */
static bool changes_shapes(enum mdf_refusal_reason why)
{
    return why == MDF_REFUSED_GROWN || why == MDF_REFUSED_OPEN_LENGTH;
}

bool loop_may_be_written_out(const struct lowering *lowering)
{
    enum mdf_refusal_reason why = lowering->refusal.reason;

    return lowering->is_for_source &&
           (changes_shapes(why) || why == MDF_REFUSED_CHANGING_STATE || why == MDF_REFUSED_CHANGING_ITEM);
}

/* ------------------------------------------------------------------ how often */

/* Values that an example hangs on. */
struct origins {
    bool *is_asked;
    bool any; /* an op makes one that is asked for */
};

static void note_result(void *context, mdf_lowered_id id)
{
    struct origins *origins = context;

    origins->any = origins->any || origins->is_asked[id];
}

static void note_read(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct origins *origins = context;

    (void)is_aliased;
    origins->is_asked[id] = true;
}

bool lowering_is_example_true(struct lowering *lowering, mdf_lowered_id id)
{
    struct origins origins = {.is_asked =
                                  mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *origins.is_asked)};
    const struct region *region;

    if (origins.is_asked == NULL) {
        return lowering_out_of_memory(lowering);
    }
    origins.is_asked[id] = true;
    for (region = lowering->region; region != NULL; region = region->outer) {
        for (size_t i = region->n_ops; i-- > 0;) {
            const struct mdf_lowered_op *op = &region->ops[i];

            origins.any = false;
            mdf_lowered_visit_results(op, note_result, &origins);
            if (origins.any && (op->code == MDF_LOWERED_LOOP || op->code == MDF_LOWERED_IF)) {
                return false;
            }
            if (origins.any) {
                mdf_lowered_visit_reads(op, note_read, &origins);
            }
        }
        if (region->kind == REGION_BODY) {
            return false;
        }
    }
    return true;
}

/* A condition stays what it is on the examples. */
static bool settle_condition(struct lowering *lowering, mdf_lowered_id condition, bool *holds)
{
    *holds = *(const bool *)lowering_example(lowering, condition)->data;
    return lowering_is_constant(lowering, condition) ||
           (lowering_is_example_true(lowering, condition) &&
            lowering_bail_out_if(lowering, *holds ? mdf_term_not(lowering, condition) : condition));
}

/* So does a trip count. */
static bool settle_count(struct lowering *lowering, struct loop_bounds *bounds)
{
    mdf_lowered_id count = bounds->trip_count;
    int64_t n;

    if (count == MDF_LOWERED_NONE) {
        return true;
    }
    n = *(const int64_t *)lowering_example(lowering, count)->data;
    if (!lowering_is_constant(lowering, count) &&
        (!lowering_is_example_true(lowering, count) ||
         !lowering_bail_out_if(lowering,
                               mdf_term_compute(lowering, MDF_LOWERED_NOT_EQUAL, false, count, mdf_term_whole(lowering, n))))) {
        return false;
    }
    bounds->trip_count = MDF_LOWERED_NONE;
    bounds->n_runs = n < 0 ? 0 : (size_t)n;
    return true;
}

/* ------------------------------------------------------------------ the runs */

static bool has_same_shape(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == b->kind && (a->kind != MDF_KIND_TENSOR || mdf_value_has_shape_of(a, b));
}

/* One run, after which `condition` says whether there is another one; *changes: a state has another shape than before. */
static bool write_run(struct loop *loop, struct loop_bounds *bounds, size_t n_states, bool has_condition, bool *changes)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id *before = mdf_arena_array(&lowering->scratch, n_states, sizeof *before);

    if (before == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(before, loop->initial, n_states * sizeof *before);
    bounds->condition = mdf_term_truth(lowering, true);
    if (bounds->condition == MDF_LOWERED_NONE || !loop_peel(loop, bounds, n_states)) {
        return false;
    }
    bounds->condition = has_condition ? bounds->condition : MDF_LOWERED_NONE;
    for (size_t i = 0; i < n_states; i++) {
        *changes =
            *changes || !has_same_shape(lowering_example(lowering, before[i]), lowering_example(lowering, loop->initial[i]));
    }
    return true;
}

/* Runs until the examples say that there is none; where it is not known that shapes change, those of states have to. */
static bool write_runs(struct loop *loop, struct loop_bounds *bounds, size_t n_states, bool changes)
{
    struct lowering *lowering = loop->lowering;
    const struct region *region = lowering->region;
    bool has_condition = bounds->condition != MDF_LOWERED_NONE, goes_on = true;
    size_t first_op = region->n_ops;

    if (!settle_count(lowering, bounds) || (bounds->n_runs > MOST_WRITTEN_OUT && !has_condition)) {
        return false;
    }
    while (bounds->n_runs > 0) {
        if (has_condition && !settle_condition(lowering, bounds->condition, &goes_on)) {
            return false;
        }
        if (!goes_on) {
            break;
        }
        if (loop->n_peeled == MOST_WRITTEN_OUT || region->n_ops - first_op > MOST_OPS || bounds->limit == 1 ||
            (loop->n_peeled == MOST_PEELED && !changes) || !write_run(loop, bounds, n_states, has_condition, &changes)) {
            return false;
        }
    }
    return true;
}

bool loop_write_out(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                    enum mdf_refusal_reason why)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[0]];
    size_t n_states = source->n_inputs > LOOP_FIRST_STATE ? source->n_inputs - LOOP_FIRST_STATE : 0;
    struct loop loop = {.lowering = lowering, .outer = scope, .source = source, .body = body};
    struct loop_bounds bounds;

    if (body->program != NULL || !loop_read_bounds(&loop, &bounds) || !loop_read_initial(&loop, LOOP_FIRST_STATE, n_states) ||
        !write_runs(&loop, &bounds, n_states, changes_shapes(why))) {
        return false;
    }
    loop.n_outputs = body->n_yields - LOOP_FIRST_YIELD;
    return (loop.n_peeled > 0 || loop.n_outputs == n_states) && loop_join_runs(&loop, n_states, 0, NULL) &&
           loop_bind_results(&loop);
}
