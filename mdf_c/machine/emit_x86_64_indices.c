/* emit_x86_64_indices.c - see emit_x86_64.h. Numbers of elements, which may be counted from the end: what is known of them
 * before, and code that finds out the rest. */
#include "mdf_c/base/sizes.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

/* ------------------------------------------------------------------ what is known of an index */

const struct machine_range machine_any_number = {INT64_MIN, INT64_MAX};

static const int64_t far_away = INT64_MAX / 4; /* what is nearer neither wraps when it is added, nor its sums */

static bool is_between(struct machine_range range, int64_t least, int64_t most)
{
    return range.least >= least && range.most <= most;
}

static struct machine_range range_of(const struct emission *emission, mdf_lowered_id id, size_t n_steps);

/* Of the number of a loop around: it is not negative, and below the number of runs, of which something may be known. */
static struct machine_range range_of_number(const struct emission *emission, mdf_lowered_id id, size_t n_steps)
{
    for (size_t at = 0; at < emission->n_steps; at++) {
        const struct mdf_lowered_loop *loop = emission->steps[at].kind == STEP_LOOP ? emission->steps[at].op->of.loop : NULL;

        if (loop != NULL && loop->number == id) {
            int64_t n_runs = loop->n_runs > 0 && loop->n_runs < INT32_MAX ? (int64_t)loop->n_runs : far_away;

            if (loop->n_runs == SIZE_MAX && loop->trip_count != MDF_LOWERED_NONE) {
                n_runs = mdf_smaller(n_runs, mdf_larger(1, range_of(emission, loop->trip_count, n_steps).most));
            }
            return (struct machine_range){0, n_runs - 1};
        }
    }
    return machine_any_number;
}

/* Of a choice: between what both are; of the smaller or the larger one of two more is known. */
static struct machine_range range_of_choice(const struct emission *emission, const struct mdf_lowered_op *op,
                                            struct machine_range a, struct machine_range b)
{
    const struct mdf_lowered_op *test = emission_maker(emission, op->in[0]);
    bool is_less, is_greater, is_same, is_turned;

    if (test != NULL && test->n_in == 2) {
        is_less = test->code == MDF_LOWERED_LESS || test->code == MDF_LOWERED_LESS_EQUAL;
        is_greater = test->code == MDF_LOWERED_GREATER || test->code == MDF_LOWERED_GREATER_EQUAL;
        is_same = test->in[0] == op->in[1] && test->in[1] == op->in[2];
        is_turned = test->in[0] == op->in[2] && test->in[1] == op->in[1];
        if ((is_less && is_same) || (is_greater && is_turned)) {
            return (struct machine_range){mdf_smaller(a.least, b.least), mdf_smaller(a.most, b.most)};
        }
        if ((is_greater && is_same) || (is_less && is_turned)) {
            return (struct machine_range){mdf_larger(a.least, b.least), mdf_larger(a.most, b.most)};
        }
    }
    return (struct machine_range){mdf_smaller(a.least, b.least), mdf_larger(a.most, b.most)};
}

static struct machine_range range_of_remainder(bool is_floored, struct machine_range a, struct machine_range b)
{
    if (b.least != b.most || b.least <= 0) {
        return machine_any_number;
    }
    return (struct machine_range){is_floored || a.least >= 0 ? 0 : 1 - b.least, b.least - 1};
}

struct machine_range machine_range_of_sum(struct machine_range a, struct machine_range b)
{
    return is_between(a, -far_away, far_away) && is_between(b, -far_away, far_away)
               ? (struct machine_range){a.least + b.least, a.most + b.most}
               : machine_any_number;
}

struct machine_range machine_range_of_product(struct machine_range a, struct machine_range b)
{
    return is_between(a, 0, INT32_MAX) && is_between(b, 0, INT32_MAX) ? (struct machine_range){a.least * b.least, a.most * b.most}
                                                                      : machine_any_number;
}

/* Of what a nest of one point loads from 0, 1, 2, ...: the index, which is one of that. */
static struct machine_range range_of_loaded(const struct emission *emission, const struct mdf_lowered_nest *nest,
                                            mdf_lowered_id id)
{
    for (size_t i = 0; i < nest->n_steps && emission_is_point(emission->lowered, nest); i++) {
        const struct mdf_nest_step *load = &nest->steps[nest->steps[i].in[0]];

        if (nest->steps[i].kind == MDF_NEST_STORE && nest->steps[i].view.id == id && load->kind == MDF_NEST_LOAD &&
            mdf_nest_loads_its_index(emission->lowered, load)) {
            return (struct machine_range){0, load->view.at_limit - 1};
        }
    }
    return machine_any_number;
}

/* Of an int64, what can be told from constants, loops' numbers, and a few ops on them. */
static struct machine_range range_of(const struct emission *emission, mdf_lowered_id id, size_t n_steps)
{
    const struct mdf_lowered_op *op = emission_maker(emission, id);
    struct machine_range a, b;

    if (emission->lowered->values[id].form.dtype != MDF_DTYPE_INT64 || !emission->lowered->values[id].is_scalar) {
        return machine_any_number;
    }
    if (emission_is_constant(emission, id)) {
        a.least = a.most = (int64_t)emission_constant(emission, id);
        return a;
    }
    if (op == NULL || n_steps == 0) {
        return op == NULL && n_steps > 0 ? range_of_number(emission, id, n_steps - 1) : machine_any_number;
    }
    if (op->code == MDF_LOWERED_CAST) {
        return op->dtype == MDF_DTYPE_BOOL ? (struct machine_range){0, 1} : machine_any_number;
    }
    if (op->code == MDF_LOWERED_COPY) {
        return range_of(emission, op->in[0], n_steps - 1);
    }
    if (op->code == MDF_LOWERED_NEST) {
        return range_of_loaded(emission, op->of.nest, id);
    }
    if (op->code != MDF_LOWERED_ADD && op->code != MDF_LOWERED_SUBTRACT && op->code != MDF_LOWERED_MULTIPLY &&
        op->code != MDF_LOWERED_REMAINDER && op->code != MDF_LOWERED_FLOOR_REMAINDER && op->code != MDF_LOWERED_SELECT) {
        return machine_any_number;
    }
    a = range_of(emission, op->in[op->n_in - 2], n_steps - 1);
    b = range_of(emission, op->in[op->n_in - 1], n_steps - 1);
    if (op->code == MDF_LOWERED_SELECT) {
        return range_of_choice(emission, op, a, b);
    }
    if (op->code == MDF_LOWERED_ADD) {
        return machine_range_of_sum(a, b);
    }
    if (op->code == MDF_LOWERED_MULTIPLY) {
        return machine_range_of_product(a, b);
    }
    if (op->code == MDF_LOWERED_SUBTRACT) {
        return b.least == INT64_MIN ? machine_any_number : machine_range_of_sum(a, (struct machine_range){-b.most, -b.least});
    }
    return range_of_remainder(op->code == MDF_LOWERED_FLOOR_REMAINDER, a, b);
}

struct machine_range emission_range(const struct emission *emission, mdf_lowered_id id)
{
    return range_of(emission, id, MOST_STEPS_BACK);
}

/* ------------------------------------------------------------------ numbers that are indices, and nothing else */

/* Whether what a step of a nest of one point reads is only stored in an array that nobody reads there: who puts something at such
 * a place has the number itself. */
static bool is_stored_unread(const struct emission *emission, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_STORE && !emission->lowered->values[step->view.id].is_scalar &&
           !emission->lives[step->view.id].is_read;
}

static void note_index(struct emission *emission, mdf_lowered_id id, int64_t limit)
{
    struct life *life = &emission->lives[id];

    life->n_as_index += limit == 0 || life->index_limit == 0 || life->index_limit == limit;
    life->index_limit = life->index_limit == 0 ? limit : life->index_limit;
}

/* Notes a number that step `i` of a nest of one point loads, where that is an index of one array, or several of one length. */
static void note_loaded(struct emission *emission, const struct mdf_lowered_nest *nest, size_t i)
{
    int64_t limit = 0;

    for (size_t k = i + 1; k < nest->n_steps; k++) {
        const struct mdf_nest_step *step = &nest->steps[k];
        bool is_index = step->kind == MDF_NEST_LOAD && step->view.at == i;

        if ((memchr(step->in, (int)i, step->n_in) != NULL && !is_stored_unread(emission, step)) ||
            (is_index && limit != 0 && limit != step->view.at_limit)) {
            return;
        }
        limit = is_index ? step->view.at_limit : limit;
    }
    note_index(emission, nest->steps[i].view.id, limit);
}

static void note_indices(struct emission *emission, const struct mdf_lowered_op *op)
{
    for (size_t i = 0; op->code == MDF_LOWERED_PUT && emission_puts_in_place(emission->lowered, op) && i < op->of.put->n_indices;
         i++) {
        mdf_lowered_id id = emission_index_number(emission, op, i);

        if (id != MDF_LOWERED_NONE) {
            note_index(emission, id, op->of.put->limits[i]);
        }
    }
    for (size_t i = 0;
         op->code == MDF_LOWERED_NEST && emission_is_point(emission->lowered, op->of.nest) && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD && emission->lowered->values[op->of.nest->steps[i].view.id].is_scalar) {
            note_loaded(emission, op->of.nest, i);
        }
    }
}

void emission_find_indices(struct emission *emission)
{
    for (emission->at = 0; emission->at < emission->n_steps; emission->at++) {
        if (emission->steps[emission->at].kind == STEP_OP) {
            note_indices(emission, emission->steps[emission->at].op);
        }
    }
    for (size_t i = 0; i < emission->n_lives; i++) {
        struct life *life = &emission->lives[i];

        life->index_limit = life->n_as_index == life->n_uses ? life->index_limit : 0;
        if (life->group != i) {
            life->index_limit = emission->lives[life->group].index_limit = 0;
        }
    }
}

/* Whether the register that has a number may have it counted from the beginning from now on: nobody looks at it as something
 * else. */
static bool may_be_counted(const struct emission *emission, mdf_lowered_id id, int64_t limit)
{
    const struct life *life = &emission->lives[id];

    return life->index_limit == limit && limit > 0 && life->kind == LIFE_GENERAL && life->number != NO_REGISTER &&
           !life->keeps_cell && !emission_is_constant(emission, id);
}

/* ------------------------------------------------------------------ code */

/* Whether code in front, in this region or around it, has found what the register of a number has to be from 0 on, and below
 * `limit`; else it will have. */
static bool was_checked(struct emission *emission, mdf_lowered_id id, int64_t limit)
{
    size_t i;

    for (i = 0; i < emission->n_checked; i++) {
        if (emission->checked[i].id == id && emission->checked[i].limit <= limit) {
            return true;
        }
    }
    if (i < MOST_CHECKED) {
        emission->checked[emission->n_checked++] = (struct checked_index){id, limit};
    }
    return false;
}

/* An index that is not negative: bails out past the limit. */
static void check_upper(struct emission *emission, uint8_t number, int64_t limit)
{
    assemble_with_number(emission->assembler, NUMBER_COMPARE, 8, in_register(number), (int32_t)limit);
    assemble_jump_if(emission->assembler, IF_ABOVE_OR_EQUAL, emission->bail_out);
}

/* An index that is not from 0 on is counted from the end, if it can. */
static void emit_index(struct emission *emission, const struct late_case *late)
{
    struct assembler *assembler = emission->assembler;

    assemble_with_number(assembler, NUMBER_ADD, 8, in_register(late->first), late->limit); /* what was past it still is */
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(late->first), late->limit);
    assemble_jump_if(assembler, IF_ABOVE_OR_EQUAL, emission->bail_out);
}

static void check_number(struct emission *emission, uint8_t number, int64_t limit)
{
    assemble_with_number(emission->assembler, NUMBER_COMPARE, 8, in_register(number), (int32_t)limit);
    emission_jump_late(emission, IF_ABOVE_OR_EQUAL,
                       (struct late_case){.emit = emit_index, .first = number, .limit = (int32_t)limit});
}

void emission_check_index(struct emission *emission, uint8_t number, int64_t limit, struct machine_range range)
{
    if (range.least < 0) {
        check_number(emission, number, limit);
    } else if (range.most >= limit) {
        check_upper(emission, number, limit);
    }
}

uint8_t emission_find_index(struct emission *emission, mdf_lowered_id id, int64_t limit, uint8_t free)
{
    struct machine_range range = emission_range(emission, id);
    bool may_be_negative = range.least < 0;
    uint8_t number;

    if (may_be_negative && !may_be_counted(emission, id, limit)) {
        emission_load_general(emission, id, free);
        check_number(emission, free, limit);
        return free;
    }
    number = emission_general(emission, id, free);
    if ((may_be_negative || range.most >= limit) && !was_checked(emission, id, limit)) {
        emission_check_index(emission, number, limit, range);
    }
    return number;
}
