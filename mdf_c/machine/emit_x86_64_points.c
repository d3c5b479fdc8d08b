/* emit_x86_64_points.c - see emit_x86_64.h. Single elements of arrays, at indices that are known only when it runs: a PUT of a
 * number or a short row in place, and a NEST of one point that only loads and stores numbers. Both stay within registers, as ops
 * on scalars do; others call a function, or are emitted as nests are. */
#include "mdf_c/base/sizes.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

static bool is_near(int64_t number)
{
    return number > -INT32_MAX && number < INT32_MAX;
}

static bool is_number(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    size_t size = mdf_dtype_size((mdf_dtype)lowered->values[id].form.dtype);

    return lowered->values[id].is_scalar && (size == 1 || size == 2 || size == 4 || size == 8) &&
           lowered->values[id].form.dtype != MDF_DTYPE_STRING;
}

/* ------------------------------------------------------------------ elements */

/* The element at `base` plus a number times `step` bytes plus `offset`; changes rax. */
static struct machine_operand element_at(struct emission *emission, uint8_t base, uint8_t number, int64_t step, int64_t offset)
{
    if (step == 1 || step == 2 || step == 4 || step == 8) {
        return in_memory_at(base, number, (uint8_t)step, (int32_t)offset);
    }
    assemble_multiply_by(emission->assembler, 8, RAX, in_register(number), (int32_t)step);
    return in_memory_at(base, RAX, 1, (int32_t)offset);
}

/* ------------------------------------------------------------------ PUT */

enum { PIECE_BYTES = 16, LARGE_PIECE_BYTES = 32, MOST_ROW_BYTES = 256 };

/* Whether a row is short enough to be copied piece by piece. */
static bool is_short_row(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &lowered->values[id];
    size_t n_bytes = value->is_scalar ? 0 : value->form.length * mdf_dtype_size((mdf_dtype)value->form.dtype);

    return n_bytes > 0 && n_bytes <= MOST_ROW_BYTES && n_bytes % PIECE_BYTES == 0 && value->open_axes == 0 &&
           value->form.dtype != MDF_DTYPE_STRING;
}

bool emission_puts_in_place(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_put *put = op->of.put;
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)op->dtype);
    bool fits = put->is_in_place && (is_number(lowered, op->in[1]) || is_short_row(lowered, op->in[1])) &&
                lowered->values[op->out].form.dtype == op->dtype && lowered->values[op->in[1]].form.dtype == op->dtype &&
                lowered->values[op->in[2]].form.dtype == MDF_DTYPE_INT64;

    for (size_t i = 0; i < put->n_indices; i++) {
        fits = fits && is_near(put->limits[i]) && is_near(put->steps[i] * size);
    }
    return fits && put->n_indices > 0;
}

/* The number that a nest of one point stores as element `i` of an array, and nothing else; NONE: it is none. */
static mdf_lowered_id stored_number(const struct emission *emission, const struct mdf_lowered_nest *nest, mdf_lowered_id id,
                                    size_t i)
{
    for (size_t k = 0; k < nest->n_steps; k++) {
        const struct mdf_nest_step *store = &nest->steps[k], *load = &nest->steps[store->in[0]];

        if (store->kind == MDF_NEST_STORE && store->view.id == id && store->view.first == (int64_t)i &&
            load->kind == MDF_NEST_LOAD && load->view.at == MDF_NEST_NONE && emission->lowered->values[load->view.id].is_scalar) {
            return load->view.id;
        }
    }
    return MDF_LOWERED_NONE;
}

mdf_lowered_id emission_index_number(const struct emission *emission, const struct mdf_lowered_op *op, size_t i)
{
    enum { MOST_BACK = 32 };
    mdf_lowered_id id = op->in[2], found = MDF_LOWERED_NONE;
    uint32_t at = emission->at;

    if (emission->lowered->values[id].is_scalar) {
        return id;
    }
    for (uint32_t n = 0; n < MOST_BACK && found == MDF_LOWERED_NONE && at > 0 &&
                         emission->steps[at - 1].region == emission->steps[emission->at].region;
         n++) {
        const struct step *step = &emission->steps[--at];

        if (step->kind == STEP_OP && step->op->code == MDF_LOWERED_NEST &&
            emission_is_point(emission->lowered, step->op->of.nest)) {
            found = stored_number(emission, step->op->of.nest, id, i);
        }
    }
    return found;
}

/* The register that has the number of the element, or row, along axis `i`. */
static uint8_t find_index(struct emission *emission, const struct mdf_lowered_op *op, size_t i)
{
    mdf_lowered_id id = emission_index_number(emission, op, i);

    if (id != MDF_LOWERED_NONE) {
        return emission_find_index(emission, id, op->of.put->limits[i], RAX);
    }
    assemble_load(emission->assembler, 8, RAX, emission_array_data(op->in[2]));
    assemble_load(emission->assembler, 8, RAX, in_memory(RAX, (int32_t)(8 * i)));
    emission_check_index(emission, RAX, op->of.put->limits[i], machine_any_number);
    return RAX;
}

static void store_number(struct emission *emission, mdf_lowered_id id, struct machine_operand place)
{
    unsigned size = emission->lives[id].size;
    mdf_dtype dtype = (mdf_dtype)emission->lowered->values[id].form.dtype;

    if (mdf_dtype_is_real(dtype)) {
        assemble_vector(emission->assembler, size == 4 ? VECTOR_STORE_FLOAT : VECTOR_STORE_DOUBLE, 16,
                        emission_real(emission, id, SCRATCH_REAL), 0, place);
    } else {
        assemble_store(emission->assembler, size, emission_general(emission, id, RCX), place);
    }
}

static void copy_piece(struct emission *emission, size_t at, unsigned n_bytes)
{
    assemble_vector(emission->assembler, VECTOR_LOAD, n_bytes, SCRATCH_REAL, 0, in_memory(RAX, (int32_t)at));
    assemble_vector(emission->assembler, VECTOR_STORE, n_bytes, SCRATCH_REAL, 0, in_memory(RDX, (int32_t)at));
}

/* Whether a row has memory of its own, which no array that it is put into shares: a nest in front of the PUT makes it. */
static bool is_apart(const struct emission *emission, mdf_lowered_id id)
{
    uint32_t at = emission->at;

    while (at > 0 && emission->steps[at - 1].region == emission->steps[emission->at].region) {
        const struct step *step = &emission->steps[--at];

        if (step->kind == STEP_OP && step->op->code == MDF_LOWERED_NEST && mdf_nest_stores(step->op->of.nest, id)) {
            return true;
        }
    }
    return false;
}

static void copy_forward(struct emission *emission, size_t n_bytes, unsigned piece)
{
    for (size_t at = 0; at < n_bytes; at += piece) {
        copy_piece(emission, at, piece);
    }
}

/* From the end on where the row, which may be a part of the array, lies before its place. */
static void copy_either_way(struct emission *emission, size_t n_bytes, unsigned piece)
{
    struct assembler *assembler = emission->assembler;
    machine_label backward = new_label(assembler), done = new_label(assembler);

    assemble_general(assembler, GENERAL_COMPARE, 8, RAX, in_register(RDX));
    assemble_jump_if(assembler, IF_BELOW, backward);
    copy_forward(emission, n_bytes, piece);
    assemble_jump(assembler, done);
    bind_label(assembler, backward);
    for (size_t at = n_bytes; at > 0; at -= piece) {
        copy_piece(emission, at - piece, piece);
    }
    bind_label(assembler, done);
}

/* In large pieces where it has such: a vector that has just been stored is there at once for a load of all of it. */
static void store_row(struct emission *emission, mdf_lowered_id id)
{
    const struct mdf_value *form = &emission->lowered->values[id].form;
    size_t n_bytes = form->length * mdf_dtype_size((mdf_dtype)form->dtype);
    unsigned piece = n_bytes % LARGE_PIECE_BYTES == 0 ? LARGE_PIECE_BYTES : PIECE_BYTES;

    assemble_load(emission->assembler, 8, RAX, emission_array_data(emission->lies_in[id]));
    if (is_apart(emission, id)) {
        copy_forward(emission, n_bytes, piece);
    } else {
        copy_either_way(emission, n_bytes, piece);
    }
}

/* The place of what is put; rdx is its address where it is a row. Changes rax and rdx. */
static struct machine_operand find_put_place(struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_put *put = op->of.put;
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)op->dtype);
    struct machine_operand place = in_register(RAX);
    uint8_t base = RDX, number;

    for (size_t i = 0; i < put->n_indices; i++) {
        number = find_index(emission, op, i);
        if (i == 0) {
            base = emission_array_base(emission, op->in[0], RDX);
            if (emission->lives[op->out].is_looked_at) {
                assemble_store(emission->assembler, 8, base, emission_array_data(op->out));
            }
        }
        place = element_at(emission, base, number, put->steps[i] * size, 0);
        if (i + 1 < put->n_indices || !emission->lowered->values[op->in[1]].is_scalar) {
            assemble_general(emission->assembler, GENERAL_ADDRESS, 8, RDX, place);
            base = RDX;
        }
    }
    return place;
}

/* Whether a nest stores all elements of an array by one step. */
static bool makes_all(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < nest->n_steps && !(nest->steps[i].kind == MDF_NEST_STORE && nest->steps[i].view.id == id); i++) {
    }
    return i < nest->n_steps && mdf_nest_count(nest, 0, nest->steps[i].level) == lowered->values[id].form.length;
}

/* The PUT behind a nest, which is step number `at`, whose row the nest makes where it is put; NULL: there is none. */
static const struct mdf_lowered_op *find_put_made_there(const struct emission *emission, uint32_t at)
{
    const struct step *nest = &emission->steps[at], *next = at + 1 < emission->n_steps ? nest + 1 : NULL;
    bool is_one = next != NULL && nest->kind == STEP_OP && nest->op->code == MDF_LOWERED_NEST && next->kind == STEP_OP &&
                  next->region == nest->region && next->op->code == MDF_LOWERED_PUT && next->op->of.put->is_made_there;

    return is_one && emission_puts_in_place(emission->lowered, next->op) &&
                   emission->lowered->values[next->op->in[2]].is_scalar &&
                   makes_all(emission->lowered, nest->op->of.nest, next->op->in[1])
               ? next->op
               : NULL;
}

void emission_begin_row(struct emission *emission)
{
    const struct mdf_lowered_op *put = find_put_made_there(emission, emission->at);

    if (put != NULL) {
        find_put_place(emission, put);
        assemble_store(emission->assembler, 8, RDX, emission_array_data(put->in[1]));
    }
}

void emission_put_in_place(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct machine_operand place;

    if (emission->at > 0 && find_put_made_there(emission, emission->at - 1) == op) { /* it lies where it did */
        assemble_move_address(emission->assembler, RAX, emission->lowered->arrays[op->in[1]].data);
        assemble_store(emission->assembler, 8, RAX, emission_array_data(op->in[1]));
        return;
    }
    place = find_put_place(emission, op);
    if (emission->lowered->values[op->in[1]].is_scalar) {
        store_number(emission, op->in[1], place);
    } else {
        store_row(emission, op->in[1]);
    }
}

/* ------------------------------------------------------------------ NEST */

/* Whether a step loads a number, or an element of an array by no index or a whole number. */
static bool is_covered_load(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                            const struct mdf_nest_step *step)
{
    const struct mdf_nest_view *view = &step->view;
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)step->dtype);

    if (lowered->values[view->id].is_scalar && view->at == MDF_NEST_NONE) {
        return is_number(lowered, view->id);
    }
    return !lowered->values[view->id].is_scalar && (size == 1 || size == 2 || size == 4 || size == 8) &&
           step->dtype != MDF_DTYPE_STRING && is_near(view->first * size) &&
           (view->at == MDF_NEST_NONE ||
            (nest->steps[view->at].dtype == MDF_DTYPE_INT64 && is_near(view->at_limit) && is_near(view->at_stride * size)));
}

/* What makes an index of others. */
static bool is_covered_element(const struct mdf_nest_step *step)
{
    bool is_sum = step->code == MDF_LOWERED_ADD || step->code == MDF_LOWERED_SUBTRACT || step->code == MDF_LOWERED_MULTIPLY;

    return step->dtype == MDF_DTYPE_INT64 && (is_sum ? step->operand_dtype == MDF_DTYPE_INT64
                                                     : step->code == MDF_LOWERED_CAST && step->operand_dtype == MDF_DTYPE_INT32);
}

/* What is loaded becomes a number, or an element of an array. */
static bool is_covered_store(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                             const struct mdf_nest_step *step)
{
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)step->dtype);

    return nest->steps[step->in[0]].kind == MDF_NEST_LOAD &&
           (is_number(lowered, step->view.id) || (!lowered->values[step->view.id].is_scalar && is_near(step->view.first * size)));
}

/* Which operand of two is found first and waits on the stack: the second one, or who has more numbers that wait meanwhile. */
static size_t waiting_operand(const struct mdf_nest_step *step, const uint8_t *n_waiting)
{
    return step->code != MDF_LOWERED_SUBTRACT && n_waiting[step->in[0]] > n_waiting[step->in[1]] ? 0 : 1;
}

/* How many whole numbers wait while that of each step is found; what bails out then finds the stack as it is everywhere. */
static bool have_room(const struct mdf_lowered_nest *nest, uint8_t *n_waiting)
{
    bool has_room = true;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_LOAD) {
            n_waiting[i] = step->view.at == MDF_NEST_NONE ? 0 : n_waiting[step->view.at];
        } else if (step->n_in == 2) {
            size_t first = waiting_operand(step, n_waiting);
            uint8_t before = n_waiting[step->in[first]], then = (uint8_t)(n_waiting[step->in[1 - first]] + 1);

            n_waiting[i] = before > then ? before : then;
        } else {
            n_waiting[i] = n_waiting[step->in[0]];
        }
        has_room = has_room && n_waiting[i] <= MDF_MAX_OPERANDS;
    }
    return has_room;
}

bool emission_is_point(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest)
{
    uint8_t n_waiting[MDF_NEST_MOST_STEPS];

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_covered = step->kind == MDF_NEST_LOAD ? is_covered_load(lowered, nest, step)
                          : step->kind == MDF_NEST_ELEMENT
                              ? is_covered_element(step)
                              : step->kind == MDF_NEST_STORE && is_covered_store(lowered, nest, step);

        if (!is_covered) {
            return false;
        }
    }
    return nest->n_axes == 0 && have_room(nest, n_waiting);
}

/* A nest that is emitted. */
struct point {
    struct emission *emission;
    const struct mdf_lowered_nest *nest;
    uint8_t n_waiting[MDF_NEST_MOST_STEPS];   /* of have_room */
    mdf_lowered_id held[MDF_NEST_MOST_STEPS]; /* the scalar that has become what a step loads; NONE: none has, so far */
};

static void load_whole(const struct point *point, uint8_t number, size_t n_waiting);

/* Whether a step loads a whole number of 8 bytes that is no element of an array. */
static bool loads_number(const struct point *point, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && step->dtype == MDF_DTYPE_INT64 && step->view.at == MDF_NEST_NONE &&
           point->emission->lowered->values[step->view.id].is_scalar;
}

/* Of what a step makes, looked at so many steps back. */
static struct machine_range range_of_step(const struct point *point, uint8_t number, size_t n_steps)
{
    const struct mdf_nest_step *step = &point->nest->steps[number];
    struct machine_range a, b;

    if (loads_number(point, step)) {
        return emission_range(point->emission, step->view.id);
    }
    if (step->kind == MDF_NEST_LOAD) {
        return mdf_nest_loads_its_index(point->emission->lowered, step) ? (struct machine_range){0, step->view.at_limit - 1}
                                                                        : machine_any_number;
    }
    if (step->n_in != 2 || n_steps == 0) {
        return machine_any_number;
    }
    a = range_of_step(point, step->in[0], n_steps - 1);
    b = range_of_step(point, step->in[1], n_steps - 1);
    return step->code == MDF_LOWERED_ADD        ? machine_range_of_sum(a, b)
           : step->code == MDF_LOWERED_MULTIPLY ? machine_range_of_product(a, b)
                                                : machine_any_number;
}

/* The register that has the number, from 0 on, that a view is at. */
static uint8_t find_at(const struct point *point, const struct mdf_nest_view *view, size_t n_waiting)
{
    const struct mdf_nest_step *index = &point->nest->steps[view->at];

    if (index->kind == MDF_NEST_LOAD && point->emission->lowered->values[index->view.id].is_scalar) {
        return emission_find_index(point->emission, index->view.id, view->at_limit, RAX);
    }
    load_whole(point, view->at, n_waiting);
    emission_check_index(point->emission, RAX, view->at_limit, range_of_step(point, view->at, MOST_STEPS_BACK));
    return RAX;
}

/* Where a step that loads finds its element; changes rax and rdx. */
static struct machine_operand find_element(const struct point *point, const struct mdf_nest_step *load, size_t n_waiting)
{
    struct emission *emission = point->emission;
    const struct mdf_nest_view *view = &load->view;
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)load->dtype);
    uint8_t number;

    if (view->at == MDF_NEST_NONE) {
        return in_memory(emission_array_base(emission, view->id, RDX), (int32_t)(view->first * size));
    }
    number = find_at(point, view, n_waiting);
    return element_at(emission, emission_array_base(emission, view->id, RDX), number, view->at_stride * size, view->first * size);
}

/* rax += (-=, *=) what a step loads, of loads_number; changes rdx. */
static void combine_with_number(const struct point *point, unsigned code, const struct mdf_nest_step *load)
{
    static const unsigned generals[] = {
        [MDF_LOWERED_ADD] = GENERAL_ADD, [MDF_LOWERED_SUBTRACT] = GENERAL_SUBTRACT, [MDF_LOWERED_MULTIPLY] = GENERAL_MULTIPLY};
    struct assembler *assembler = point->emission->assembler;
    uint8_t n_bits = 0;
    int32_t number;

    if (!emission_small_constant(point->emission, load->view.id, &number)) {
        assemble_general(assembler, generals[code], 8, RAX, in_register(emission_general(point->emission, load->view.id, RDX)));
        return;
    }
    while (n_bits < 31 && INT32_C(1) << n_bits < number) {
        n_bits++;
    }
    if (code != MDF_LOWERED_MULTIPLY) {
        assemble_with_number(assembler, code == MDF_LOWERED_ADD ? NUMBER_ADD : NUMBER_SUBTRACT, 8, in_register(RAX), number);
    } else if (n_bits > 0 && n_bits < 31 && INT32_C(1) << n_bits == number) {
        assemble_shift(assembler, SHIFT_LEFT, 8, RAX, n_bits);
    } else {
        assemble_multiply_by(assembler, 8, RAX, in_register(RAX), number);
    }
}

/* Whether a step loads an index, which is a number: rdx stays as it is meanwhile. */
static bool loads_index_of_number(const struct point *point, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && mdf_nest_loads_its_index(point->emission->lowered, step) &&
           loads_number(point, &point->nest->steps[step->view.at]);
}

/* rax = the whole number that a step makes, while so many wait where operands of calls are told else; changes rdx. */
static void load_whole(const struct point *point, uint8_t number, size_t n_waiting)
{
    struct emission *emission = point->emission;
    const struct mdf_nest_step *step = &point->nest->steps[number];
    struct assembler *assembler = emission->assembler;

    if (step->kind == MDF_NEST_LOAD && emission->lowered->values[step->view.id].is_scalar) {
        emission_load_general(emission, step->view.id, RAX);
    } else if (point->held[number] != MDF_LOWERED_NONE) {
        emission_load_general(emission, point->held[number], RAX);
    } else if (step->kind == MDF_NEST_LOAD && mdf_nest_loads_its_index(emission->lowered, step)) {
        assemble_move(assembler, RAX, find_at(point, &step->view, n_waiting));
    } else if (step->kind == MDF_NEST_LOAD) {
        assemble_load(assembler, (unsigned)mdf_dtype_size((mdf_dtype)step->dtype), RAX, find_element(point, step, n_waiting));
    } else if (step->n_in == 2 && loads_number(point, &point->nest->steps[step->in[1]])) {
        load_whole(point, step->in[0], n_waiting);
        combine_with_number(point, step->code, &point->nest->steps[step->in[1]]);
    } else if (step->code == MDF_LOWERED_CAST) {
        load_whole(point, step->in[0], n_waiting);
        assemble_general(assembler, GENERAL_SIGN_EXTEND, 8, RAX, in_register(RAX));
    } else {
        size_t first = waiting_operand(step, point->n_waiting);
        bool is_kept = loads_index_of_number(point, &point->nest->steps[step->in[1 - first]]);
        struct machine_operand place = is_kept ? in_register(RDX) : in_memory(RSP, (int32_t)(FRAME_POINTERS + 8 * n_waiting));

        load_whole(point, step->in[first], n_waiting);
        if (is_kept) {
            assemble_move(assembler, RDX, RAX);
        } else {
            assemble_store(assembler, 8, RAX, place);
        }
        load_whole(point, step->in[1 - first], n_waiting + 1);
        assemble_general(assembler,
                         step->code == MDF_LOWERED_ADD        ? GENERAL_ADD
                         : step->code == MDF_LOWERED_SUBTRACT ? GENERAL_SUBTRACT
                                                              : GENERAL_MULTIPLY,
                         8, RAX, place);
    }
}

/* The scalar `out` becomes the element. */
static void load_number(struct emission *emission, mdf_lowered_id out, struct machine_operand place)
{
    unsigned size = emission->lives[out].size;
    uint8_t target;

    if (emission->lives[out].kind == LIFE_REAL) {
        target = emission_target(emission, out, SCRATCH_REAL);
        assemble_vector(emission->assembler, size == 4 ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, target, 0, place);
    } else {
        target = emission_target(emission, out, RAX);
        assemble_load(emission->assembler, size, target, place);
    }
    emission_finish(emission, out, target);
}

static void emit_store(struct point *point, const struct mdf_nest_step *store)
{
    struct emission *emission = point->emission;
    const struct mdf_nest_step *load = &point->nest->steps[store->in[0]];
    struct assembler *assembler = emission->assembler;
    unsigned size = (unsigned)mdf_dtype_size((mdf_dtype)store->dtype);
    struct machine_operand place = in_memory(RDX, (int32_t)(store->view.first * (int64_t)size));

    if (!emission->lowered->values[store->view.id].is_scalar) {
        if (!emission->lives[store->view.id].is_read && emission->lowered->values[load->view.id].is_scalar) {
            return; /* who puts something at such a place has the number itself */
        }
        if (emission->lowered->values[load->view.id].is_scalar) {
            assemble_load(assembler, 8, RDX, emission_array_data(store->view.id));
            store_number(emission, load->view.id, place);
        } else {
            assemble_load(assembler, size, RAX, find_element(point, load, 0));
            assemble_load(assembler, 8, RDX, emission_array_data(store->view.id));
            assemble_store(assembler, size, RAX, place);
        }
    } else if (emission->lowered->values[load->view.id].is_scalar) {
        emission_copy(emission, store->view.id, load->view.id);
    } else {
        if (mdf_nest_loads_its_index(emission->lowered, load)) {
            emission_finish(emission, store->view.id, find_at(point, &load->view, 0));
        } else {
            load_number(emission, store->view.id, find_element(point, load, 0));
        }
        if (emission->lives[store->view.id].n_uses > 0) { /* else it is kept nowhere */
            point->held[store->in[0]] = store->view.id;
        }
    }
}

static bool is_needed(const struct mdf_lowered_nest *nest, size_t number)
{
    struct mdf_nest_set needed = {{0}};

    for (size_t i = number + 1; i < nest->n_steps; i++) {
        mdf_nest_add_operands(&nest->steps[i], &needed);
    }
    return mdf_nest_set_has(&needed, number);
}

void emission_point(struct emission *emission, const struct mdf_lowered_nest *nest)
{
    struct point point = {emission, nest, {0}, {0}};

    have_room(nest, point.n_waiting);
    for (size_t i = 0; i < nest->n_steps; i++) {
        point.held[i] = MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE) {
            emit_store(&point, &nest->steps[i]);
        } else if (nest->steps[i].kind == MDF_NEST_LOAD && nest->steps[i].view.at != MDF_NEST_NONE && !is_needed(nest, i)) {
            find_element(&point, &nest->steps[i], 0); /* an index is looked at also where nobody needs the element */
        }
    }
}

/* How often a nest of one point looks at a number as an index; SIZE_MAX: as something else, too. */
static size_t count_as_index(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    size_t n = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        bool is_index = false;

        if (nest->steps[i].kind != MDF_NEST_LOAD || nest->steps[i].view.id != id) {
            continue;
        }
        for (size_t k = i + 1; k < nest->n_steps; k++) {
            if (memchr(nest->steps[k].in, (int)i, nest->steps[k].n_in) != NULL) {
                return SIZE_MAX;
            }
            is_index = is_index || (nest->steps[k].view.at == i && nest->steps[k].view.at_limit < INT64_MAX / 4);
        }
        n += is_index;
    }
    return n;
}

bool emission_is_only_index(const struct emission *emission, mdf_lowered_id id)
{
    size_t n_left = emission->lives[id].n_uses, n;
    uint32_t at;

    for (at = emission->at + 1; n_left > 0 && at < emission->n_steps && emission->steps[at].kind <= STEP_DEFERRED; at++) {
        const struct mdf_lowered_op *op = emission->steps[at].op;

        if (emission->steps[at].kind == STEP_OP && op->code == MDF_LOWERED_NEST &&
            emission_is_point(emission->lowered, op->of.nest)) {
            n = count_as_index(op->of.nest, id);
            n_left = n > n_left ? SIZE_MAX : n_left - n;
        }
    }
    return n_left == 0 && emission->lives[id].n_uses > 0;
}
