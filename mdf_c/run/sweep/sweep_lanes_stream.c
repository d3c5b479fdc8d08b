/* sweep_lanes_stream.c - see sweep_lanes.h. Lanes of which each goes on by itself: one whose instance has ended gets the next.
 *
 * Instances begin in groups, in the seats of all lanes, from which those that go on are put aside meanwhile (`kept`). Then those
 * that have begun wait (`fresh`) until a lane is empty, and take its place. Where all lanes are in the same step, as an input has
 * other values in each, the next group begins when all of one have ended. */
#include "mdf_c/run/sweep/sweep_lanes_parts.h"

#include <string.h>

enum { LEAST_AT_ONCE = 8, MOST_AT_ONCE = 1 << 14 };

/* ------------------------------------------------------------------ lanes change places */

static bool has_same_form(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == MDF_KIND_TENSOR && b->kind == MDF_KIND_TENSOR && a->dtype == b->dtype && a->rank == b->rank &&
           a->length == b->length;
}

static size_t size_of(const struct mdf_value *value)
{
    return value->length * mdf_dtype_size((mdf_dtype)value->dtype);
}

/* Copies all lanes, into memory that is there already where it has the form. */
static bool copy_lanes(const struct mdf_sweep_lanes *lanes, struct mdf_value *target, const struct mdf_value *source)
{
    if (!has_same_form(target, source) || mdf_value_own_elements(target) == NULL) {
        return mdf_value_copy_apart(lanes_memory(lanes), target, source);
    }
    memcpy(target->data, source->data, size_of(source));
    return true;
}

/* Whether somebody looks at what lanes differ in; nothing may be there before the first evaluations of the last kind. */
static bool is_moved(const struct lane_seat *seat)
{
    return seat->is_wanted && seat->varies && seat->value.kind == MDF_KIND_TENSOR;
}

static bool keep_live(struct mdf_sweep_lanes *lanes)
{
    bool done = true;

    for (size_t i = 0; i < lanes->n_seats && done; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        done = !is_moved(seat) || copy_lanes(lanes, &seat->kept, &seat->value);
    }
    return done;
}

/* Those that have begun wait, those that went on are there again. */
static bool bring_back_live(struct mdf_sweep_lanes *lanes)
{
    bool done = true;

    for (size_t i = 0; i < lanes->n_seats && done; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (is_moved(seat)) {
            done = has_same_form(&seat->value, &seat->kept) && copy_lanes(lanes, &seat->fresh, &seat->value) &&
                   copy_lanes(lanes, &seat->value, &seat->kept);
        }
    }
    return done;
}

/* Seats that have one value for all at first get it for each lane. */
static bool spread_all(struct mdf_sweep_lanes *lanes)
{
    bool done = true;

    for (size_t i = 0; i < lanes->n_seats && done; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        done = !is_moved(seat) || seat->has_lanes || lanes_spread(lanes, seat);
    }
    return done;
}

/* Which lanes get what waits. */
struct moves {
    size_t n, to[MDF_SWEEP_MOST_LANES], from[MDF_SWEEP_MOST_LANES];
};

static void move_elements(const struct mdf_sweep_lanes *lanes, const struct moves *moves, struct mdf_value *target,
                          const struct mdf_value *source)
{
    size_t n = target->length >> lanes->lane_bits, n_lanes = lanes->n_lanes, size = mdf_dtype_size((mdf_dtype)target->dtype), i, j;

    for (i = 0; i < n; i++) {
        char *to = (char *)target->data + i * n_lanes * size;
        const char *from = (const char *)source->data + i * n_lanes * size;

        for (j = 0; j < moves->n && size == sizeof(uint64_t); j++) {
            memcpy(to + moves->to[j] * sizeof(uint64_t), from + moves->from[j] * sizeof(uint64_t), sizeof(uint64_t));
        }
        for (; j < moves->n; j++) {
            memcpy(to + moves->to[j] * size, from + moves->from[j] * size, size);
        }
    }
}

static bool move_lanes(struct mdf_sweep_lanes *lanes, const struct moves *moves)
{
    for (size_t i = 0; i < lanes->n_seats; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (is_moved(seat) && seat->fresh.kind == MDF_KIND_TENSOR) {
            if (!has_same_form(&seat->value, &seat->fresh) || !lanes_own(lanes, &seat->value)) {
                return false;
            }
            move_elements(lanes, moves, &seat->value, &seat->fresh);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ beginning */

/* Where no lane goes on, all that have begun take their places as they are. */
static void take_all_places(struct mdf_sweep_lanes *lanes)
{
    struct lane *left = lanes->lanes;

    lanes->lanes = lanes->fresh;
    lanes->fresh = left;
}

/* What has begun by itself is in the lanes. */
static bool bring_all(struct mdf_sweep_lanes *lanes)
{
    bool done = true;

    for (size_t i = 0; i < lanes->n_seats && done; i++) {
        struct lane_seat *seat = &lanes->seats[i];

        if (seat->fresh.kind == MDF_KIND_TENSOR) {
            done = copy_lanes(lanes, &seat->value, &seat->fresh);
            seat->has_lanes = true;
        }
    }
    return done;
}

static bool begin_group(struct mdf_sweep_lanes *lanes, size_t first, size_t n)
{
    bool any = lanes_any_lives(lanes, lanes->lanes);

    if (lanes->begins_alone) {
        lanes->first = first;
        lanes->n_begun = n;
        if (!lanes_begin_alone(lanes, lanes->fresh, first, n)) {
            return false;
        }
        if (any || !lanes_any_lives(lanes, lanes->fresh)) {
            return true;
        }
        take_all_places(lanes);
        return bring_all(lanes) && lanes_imitate(lanes, lanes->lanes);
    }
    if ((any && !keep_live(lanes)) || !lanes_begin(lanes, lanes->fresh, first, n) || !spread_all(lanes)) {
        return false;
    }
    lanes->first = first;
    lanes->n_begun = n;
    if (any) {
        return bring_back_live(lanes);
    }
    take_all_places(lanes);
    return lanes_imitate(lanes, lanes->lanes);
}

/* Nothing can be told of those that are in lanes, or wait: they are handed on. */
static void fail_all(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    lanes_fail(lanes, lanes->lanes);
    lanes_fail(lanes, lanes->fresh);
    lanes_settle(lanes, lanes->lanes, feed);
    lanes_settle(lanes, lanes->fresh, feed);
    lanes->n_live = 0;
}

/* Instances that wait go to empty lanes. */
static bool fill(struct mdf_sweep_lanes *lanes)
{
    size_t lane = 0;
    struct moves moves = {0};

    for (; lanes->next_fresh < lanes->n_lanes; lanes->next_fresh++) {
        struct lane *from = &lanes->fresh[lanes->next_fresh], left;

        if (from->state != LANE_LIVE) {
            continue;
        }
        while (lane < lanes->n_lanes && lanes->lanes[lane].state == LANE_LIVE) {
            lane++;
        }
        if (lane == lanes->n_lanes) {
            break;
        }
        left = lanes->lanes[lane];
        lanes->lanes[lane] = *from;
        *from = left;
        moves.to[moves.n] = lane;
        moves.from[moves.n++] = lanes->next_fresh;
    }
    lanes->n_live += moves.n;
    return moves.n == 0 || move_lanes(lanes, &moves);
}

static bool has_room(const struct mdf_sweep_lanes *lanes)
{
    return lanes->n_live < (lanes->is_in_step ? 1 : lanes->n_lanes);
}

/* Begins the next instances that there are. False: there are none. */
static bool begin_next(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    size_t first, n = feed->take(feed->context, lanes->n_lanes, &first), i;

    if (n == 0) {
        return false;
    }
    lanes->next_fresh = 0;
    if (!begin_group(lanes, first, n)) {
        fail_all(lanes, feed);
    }
    for (i = 0, lanes->n_live = 0; i < lanes->n_lanes; i++) {
        lanes->n_live += lanes->lanes[i].state == LANE_LIVE;
    }
    lanes_settle(lanes, lanes->lanes, feed); /* some may have ended already */
    lanes_settle(lanes, lanes->fresh, feed);
    return true;
}

/* Fills all lanes, while there are instances. */
static void refill(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    lanes_settle(lanes, lanes->lanes, feed);
    do {
        if (!fill(lanes)) {
            fail_all(lanes, feed);
        }
    } while (lanes->is_ready && has_room(lanes) && begin_next(lanes, feed));
}

/* ------------------------------------------------------------------ going on */

/* How many steps come next, from a number on: at most up to one that is recorded. */
static uint64_t count_steps(const struct mdf_sweep_lanes *lanes, uint64_t step)
{
    uint64_t n = mdf_sweep_has_series(lanes->sweep) ? 1 : mdf_sweep_count_unseen(lanes->sweep, step) + 1;

    return n < lanes->at_once ? n : lanes->at_once;
}

/* None of the steps has been taken yet. Where all lanes take as many, they are as many as that takes which has come farthest: those
 * that are recorded are the last, or all lanes are in step. */
static bool set_steps(struct mdf_sweep_lanes *lanes)
{
    int64_t *steps = lanes->steps->value.data;
    uint64_t farthest = 0;

    for (size_t i = 0; i < lanes->n_lanes; i++) {
        bool lives = lanes->lanes[i].state == LANE_LIVE;

        if (lanes->steps->varies) {
            steps[i] = lives ? (int64_t)count_steps(lanes, lanes->lanes[i].step) : 0;
        } else if (lives && lanes->lanes[i].step > farthest) {
            farthest = lanes->lanes[i].step;
        }
    }
    lanes->n_steps = (int64_t)count_steps(lanes, farthest);
    if (!lanes->steps->varies && lanes->n_live < lanes->n_lanes && !lanes_imitate(lanes, lanes->lanes)) {
        return false;
    }
    if (lanes->taken != NULL && lanes_own(lanes, &lanes->taken->value)) {
        memset(lanes->taken->value.data, 0, lanes->n_lanes * sizeof *steps);
    }
    return lanes->taken == NULL || mdf_value_own_elements(&lanes->taken->value) != NULL;
}

static bool set_series(struct mdf_sweep_lanes *lanes)
{
    size_t i;

    if (!mdf_sweep_has_series(lanes->sweep)) {
        return true;
    }
    for (i = 0; lanes->lanes[i].state != LANE_LIVE; i++) {
    }
    return lanes_set_swept(lanes, lanes->first, lanes->n_begun, lanes->lanes[i].step);
}

/* Evaluations that lanes did without an instance are few, and so are looks at them. */
static void choose_at_once(struct mdf_sweep_lanes *lanes, uint64_t n_used, uint64_t n_run)
{
    enum { MOST_IDLE = 6, FEW_IDLE = 32 };
    uint64_t n_idle = n_run - n_used;

    if (n_idle * MOST_IDLE > n_run && lanes->at_once > LEAST_AT_ONCE) {
        lanes->at_once /= 2;
    } else if (n_idle * FEW_IDLE < n_run && lanes->at_once < MOST_AT_ONCE) {
        lanes->at_once *= 2;
    }
}

static bool go_on(struct mdf_sweep_lanes *lanes)
{
    lanes->drawing = lanes->lanes;
    if (!set_steps(lanes) || !set_series(lanes) || !lanes_run_program(lanes, LANES_MANY) ||
        !lanes_take_stock(lanes, lanes->lanes, lanes->taken != NULL ? lanes->taken->value.data : NULL, (uint64_t)lanes->n_steps)) {
        return false;
    }
    choose_at_once(lanes, lanes->n_used, lanes->most_taken * lanes->n_lanes);
    return true;
}

void lanes_run_stream(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed)
{
    for (lanes->n_live = 0, refill(lanes, feed); lanes->n_live > 0; refill(lanes, feed)) {
        if (!lanes->is_ready || atomic_load_explicit(&lanes->sweep->interrupted, memory_order_relaxed) || !go_on(lanes)) {
            fail_all(lanes, feed);
        }
    }
}
