/* emit_x86_64_condition.c - see emit_x86_64.h. Comparisons as flags, masks or bool values; jumps and choices that depend on them.
 */
#include "mdf_c/lowered/accepted.h"
#include "mdf_c/machine/emit_x86_64.h"

/* NaN sets the flags of below, equal and parity; so "less" is asked as the other way round "above". Tests are in the order of the
 * codes. */
static struct machine_test compare_reals(struct emission *emission, const struct mdf_lowered_op *op)
{
    static const struct machine_test tests[] = {{IF_EQUAL, AND_NO_PARITY}, {IF_NOT_EQUAL, OR_PARITY},
                                                {IF_ABOVE, PARITY_ANY},    {IF_ABOVE_OR_EQUAL, PARITY_ANY},
                                                {IF_ABOVE, PARITY_ANY},    {IF_ABOVE_OR_EQUAL, PARITY_ANY}};
    bool swaps = op->code == MDF_LOWERED_LESS || op->code == MDF_LOWERED_LESS_EQUAL;
    uint8_t first = emission_real(emission, op->in[swaps ? 1 : 0], SECOND_SCRATCH_REAL);
    struct machine_operand second = emission_operand(emission, op->in[swaps ? 0 : 1]);

    assemble_vector(emission->assembler, op->dtype == MDF_DTYPE_FLOAT32 ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE, 16, first, 0,
                    second);
    return tests[op->code - MDF_LOWERED_EQUAL];
}

static struct machine_test compare_operands(struct emission *emission, const struct mdf_lowered_op *op)
{
    static const enum machine_condition conditions[] = {IF_EQUAL,         IF_NOT_EQUAL, IF_LESS,
                                                        IF_LESS_OR_EQUAL, IF_GREATER,   IF_GREATER_OR_EQUAL};
    static const enum machine_condition of_naturals[] = {IF_EQUAL,          IF_NOT_EQUAL, IF_BELOW,
                                                         IF_BELOW_OR_EQUAL, IF_ABOVE,     IF_ABOVE_OR_EQUAL};
    bool is_signed = machine_is_signed(op->dtype) || !machine_is_whole(op->dtype);
    unsigned i = op->code - (unsigned)MDF_LOWERED_EQUAL;
    struct machine_test test = {is_signed ? conditions[i] : of_naturals[i], PARITY_ANY};
    unsigned size = machine_whole_size(op->dtype);
    struct machine_operand second;
    int32_t number;
    uint8_t first;

    if (mdf_dtype_is_real(op->dtype)) {
        return compare_reals(emission, op);
    }
    if (machine_is_whole(op->dtype) && mdf_dtype_size((mdf_dtype)op->dtype) == 1) { /* what is above them does not matter */
        first = emission_general(emission, op->in[0], RAX);
        if (emission_small_constant(emission, op->in[1], &number)) {
            assemble_with_number(emission->assembler, NUMBER_COMPARE, 1, in_register(first), (int8_t)(uint8_t)number);
        } else {
            assemble_general(emission->assembler, GENERAL_COMPARE_BYTE, 4, first,
                             in_register(emission_general(emission, op->in[1], RCX)));
        }
        return test;
    }
    first = emission_whole_number(emission, op->in[0], RAX);
    if (emission_small_constant(emission, op->in[1], &number)) {
        if (number == 0) {
            assemble_general(emission->assembler, GENERAL_TEST, size, first, in_register(first));
        } else {
            assemble_with_number(emission->assembler, NUMBER_COMPARE, size, in_register(first), number);
        }
        return test;
    }
    second = mdf_dtype_size((mdf_dtype)op->dtype) < 4 ? in_register(emission_whole_number(emission, op->in[1], RCX))
                                                      : emission_operand(emission, op->in[1]);
    assemble_general(emission->assembler, GENERAL_COMPARE, size, first, second);
    return test;
}

/* `target` becomes 1 or 0; changes rax and rcx. */
static void make_bool(struct emission *emission, struct machine_test test, uint8_t target)
{
    struct assembler *assembler = emission->assembler;

    assemble_set_if(assembler, test.condition, RAX);
    if (test.parity != PARITY_ANY) {
        assemble_set_if(assembler, test.parity == OR_PARITY ? IF_PARITY : IF_NO_PARITY, RCX);
        assemble_general(assembler, test.parity == OR_PARITY ? GENERAL_OR : GENERAL_AND, 4, RAX, in_register(RCX));
    }
    assemble_general(assembler, GENERAL_LOAD_BYTE, 4, target, in_register(RAX));
}

void emission_comparison(struct emission *emission, const struct mdf_lowered_op *op)
{
    uint8_t target = emission_target(emission, op->out, RAX);

    make_bool(emission, compare_operands(emission, op), target);
    emission_finish(emission, op->out, target);
}

static struct machine_test opposite_of(struct machine_test test)
{
    test.condition ^= 1;
    test.parity = test.parity == AND_NO_PARITY ? OR_PARITY : test.parity == OR_PARITY ? AND_NO_PARITY : PARITY_ANY;
    return test;
}

void emission_jump_on(struct emission *emission, struct machine_test test, machine_label label)
{
    struct assembler *assembler = emission->assembler;
    machine_label past;

    if (test.parity == AND_NO_PARITY) {
        past = new_label(assembler);
        assemble_jump_if(assembler, IF_PARITY, past);
        assemble_jump_if(assembler, test.condition, label);
        bind_label(assembler, past);
        return;
    }
    assemble_jump_if(assembler, test.condition, label);
    if (test.parity == OR_PARITY) {
        assemble_jump_if(assembler, IF_PARITY, label);
    }
}

bool emission_compare(struct emission *emission, mdf_lowered_id condition, struct machine_test *test)
{
    const struct mdf_lowered_op *op = emission_deferred(emission, condition);
    bool found = op != NULL &&
                 (op->code == MDF_LOWERED_NOT ? emission_compare(emission, op->in[0], test) : emission_is_comparison(op->code));

    if (found) {
        *test = op->code == MDF_LOWERED_NOT ? opposite_of(*test) : compare_operands(emission, op);
    }
    return found;
}

void emission_jump(struct emission *emission, mdf_lowered_id condition, bool when, machine_label label)
{
    struct machine_test test;
    const struct mdf_lowered_op *op = emission_deferred(emission, condition);
    struct assembler *assembler = emission->assembler;
    machine_label past;
    uint8_t number;

    if (op == NULL) {
        number = emission_general(emission, condition, RAX);
        assemble_general(assembler, GENERAL_TEST, 4, number, in_register(number));
        assemble_jump_if(assembler, when ? IF_NOT_EQUAL : IF_EQUAL, label);
    } else if (op->code == MDF_LOWERED_NOT) {
        emission_jump(emission, op->in[0], !when, label);
    } else if (op->code == MDF_LOWERED_AND || op->code == MDF_LOWERED_OR) {
        if ((op->code == MDF_LOWERED_OR) == when) { /* each of the two is enough */
            emission_jump(emission, op->in[0], when, label);
            emission_jump(emission, op->in[1], when, label);
        } else {
            past = new_label(assembler);
            emission_jump(emission, op->in[0], !when, past);
            emission_jump(emission, op->in[1], when, label);
            bind_label(assembler, past);
        }
    } else {
        test = compare_operands(emission, op);
        emission_jump_on(emission, when ? test : opposite_of(test), label);
    }
}

/* ------------------------------------------------------------------ choices */

static uint8_t vector_comparison(unsigned code)
{
    static const uint8_t comparisons[] = {VECTOR_EQUAL,      VECTOR_NOT_EQUAL, VECTOR_LESS,
                                          VECTOR_LESS_EQUAL, VECTOR_GREATER,   VECTOR_GREATER_EQUAL};

    return comparisons[code - MDF_LOWERED_EQUAL];
}

static bool is_mask_of_two(unsigned code)
{
    return code == MDF_LOWERED_AND || code == MDF_LOWERED_OR;
}

/* The third scratch register becomes all ones or all zeros, in its first `size` bytes. Changes rax, rcx and the second; of AND
 * and OR the first too. */
static void make_mask(struct emission *emission, mdf_lowered_id condition, unsigned size)
{
    const struct mdf_lowered_op *op = emission_deferred(emission, condition);
    struct assembler *assembler = emission->assembler;

    if (op != NULL && is_mask_of_two(op->code)) { /* of two comparisons: emit_x86_64_lives.c */
        make_mask(emission, op->in[0], size);
        emission_move_real(emission, SCRATCH_REAL, THIRD_SCRATCH_REAL);
        make_mask(emission, op->in[1], size);
        assemble_vector(assembler, op->code == MDF_LOWERED_AND ? VECTOR_AND : VECTOR_OR, 16, THIRD_SCRATCH_REAL,
                        THIRD_SCRATCH_REAL, in_register(SCRATCH_REAL));
        return;
    }
    if (op != NULL && mdf_dtype_is_real(op->dtype)) {
        unsigned real = op->dtype == MDF_DTYPE_FLOAT32 ? OF_FLOAT : OF_DOUBLE;
        uint8_t first = emission_real(emission, op->in[0], SECOND_SCRATCH_REAL);

        assemble_vector_with_number(assembler, VECTOR_COMPARE | real, 16, THIRD_SCRATCH_REAL, first,
                                    emission_operand(emission, op->in[1]), vector_comparison(op->code));
        if (op->dtype == MDF_DTYPE_FLOAT32 && size == 8) {
            assemble_vector_with_number(assembler, VECTOR_SHUFFLE_INTS, 16, THIRD_SCRATCH_REAL, 0,
                                        in_register(THIRD_SCRATCH_REAL), 0);
        }
        return;
    }
    if (op != NULL) {
        make_bool(emission, compare_operands(emission, op), RAX);
    } else {
        emission_load_general(emission, condition, RAX);
    }
    assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RAX));
    assemble_vector(assembler, VECTOR_FROM_GENERAL_8, 16, THIRD_SCRATCH_REAL, 0, in_register(RAX));
}

/* A choice of the smaller or the larger one of two reals. */
struct extreme {
    unsigned code;  /* VECTOR_MINIMUM, VECTOR_MAXIMUM */
    bool swaps;     /* of two that are equal it is the first, which is the second operand then */
    bool keeps_nan; /* the first that is NaN is chosen; else what the instruction has: the second operand where one is NaN */
};

/* Whether a condition is that the first one is NaN. */
static bool asks_for_nan(const struct mdf_lowered_op *op, mdf_lowered_id first)
{
    return op != NULL && op->code == MDF_LOWERED_NOT_EQUAL && op->in[0] == first && op->in[1] == first;
}

/* first < second ? first : second, and the same with >; or with `first is not first ||` behind the comparison, then also with <=
 * and >=. */
static bool find_extreme(const struct emission *emission, const struct mdf_lowered_op *select, struct extreme *extreme)
{
    const struct mdf_lowered_op *test = emission_deferred(emission, select->in[0]);
    mdf_lowered_id first = select->in[1], second = select->in[2];
    bool is_strict;

    *extreme = (struct extreme){.keeps_nan = test != NULL && test->code == MDF_LOWERED_OR &&
                                             asks_for_nan(emission_deferred(emission, test->in[1]), first)};
    if (extreme->keeps_nan) {
        test = emission_deferred(emission, test->in[0]);
    }
    if (test == NULL || !emission_is_comparison(test->code) || test->dtype != select->dtype || test->in[0] != first ||
        test->in[1] != second || test->code == MDF_LOWERED_EQUAL || test->code == MDF_LOWERED_NOT_EQUAL) {
        return false;
    }
    is_strict = test->code == MDF_LOWERED_LESS || test->code == MDF_LOWERED_GREATER;
    extreme->code = test->code == MDF_LOWERED_LESS || test->code == MDF_LOWERED_LESS_EQUAL ? VECTOR_MINIMUM : VECTOR_MAXIMUM;
    extreme->swaps = !is_strict;
    return is_strict || extreme->keeps_nan;
}

static unsigned order_of(bool is_float)
{
    return is_float ? VECTOR_ORDER_FLOAT : VECTOR_ORDER_DOUBLE;
}

/* What a choice of the smaller or the larger one of two reals does where one of them is NaN. */
static void emit_nan(struct emission *emission, const struct late_case *late)
{
    emission_move_real(emission, late->chosen, late->first);
    assemble_vector(emission->assembler, order_of(late->is_float), 16, late->first, 0, in_register(late->first));
    assemble_jump_if(emission->assembler, IF_PARITY, late->back);
    emission_move_real(emission, late->chosen, late->second);
}

/* NaN is looked for beside the choice, by a jump that is never taken: nobody waits for it. */
static void select_extreme(struct emission *emission, const struct mdf_lowered_op *op, struct extreme extreme)
{
    bool is_float = op->dtype == MDF_DTYPE_FLOAT32;
    struct assembler *assembler = emission->assembler;
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);
    uint8_t first = emission_real(emission, op->in[1], SECOND_SCRATCH_REAL);
    uint8_t second = emission_real(emission, op->in[2], THIRD_SCRATCH_REAL);
    uint8_t chosen = target == first || target == second ? SCRATCH_REAL : target;
    struct late_case nan = {.emit = emit_nan, .first = first, .second = second, .chosen = chosen, .is_float = is_float};

    assemble_vector(assembler, extreme.code | (is_float ? OF_FLOAT : OF_DOUBLE), 16, chosen, extreme.swaps ? second : first,
                    in_register(extreme.swaps ? first : second));
    if (extreme.keeps_nan) {
        assemble_vector(assembler, order_of(is_float), 16, first, 0, in_register(second));
        emission_jump_late(emission, IF_PARITY, nan);
    }
    emission_move_real(emission, target, chosen);
    emission_finish(emission, op->out, target);
}

/* Whether a choice is that of a loop's state which begins anew, from a constant, once it has come somewhere. */
static bool is_reset(const struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_op *test = emission_maker(emission, op->in[0]);
    bool then = emission_is_constant(emission, op->in[1]), otherwise = emission_is_constant(emission, op->in[2]);
    mdf_lowered_id kept = op->in[then ? 2 : 1];

    return then != otherwise && emission->lives[op->out].becomes > 0 && test != NULL && emission_is_comparison(test->code) &&
           (test->in[0] == kept || test->in[1] == kept);
}

/* By a jump: a processor that foresees it does not wait for the comparison before it goes on with the next run. */
static void select_reset(struct emission *emission, const struct mdf_lowered_op *op)
{
    bool then = emission_is_constant(emission, op->in[1]);
    machine_label past = new_label(emission->assembler);

    emission_load_real(emission, op->in[then ? 2 : 1], SCRATCH_REAL);
    emission_jump(emission, op->in[0], !then, past);
    emission_load_real(emission, op->in[then ? 1 : 2], SCRATCH_REAL);
    bind_label(emission->assembler, past);
    emission_finish(emission, op->out, SCRATCH_REAL);
}

static bool is_accepted_late(const struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct step *loop = emission->n_loops == 0 ? NULL : &emission->steps[emission->loops[emission->n_loops - 1]];

    return loop != NULL && mdf_lowered_is_accepted_late(loop->op->of.loop, op);
}

/* By jumps past what is chosen, but for what lies in the result's place already. */
static void select_by_jump(struct emission *emission, const struct mdf_lowered_op *op)
{
    machine_label past = new_label(emission->assembler), other = new_label(emission->assembler);
    bool copies_then = emission_copies(emission, op->out, op->in[1]);
    bool copies_otherwise = emission_copies(emission, op->out, op->in[2]);

    emission_jump(emission, op->in[0], !copies_then, copies_then && copies_otherwise ? other : past);
    if (copies_then) {
        emission_copy(emission, op->out, op->in[1]);
    }
    if (copies_then && copies_otherwise) {
        assemble_jump(emission->assembler, past);
        bind_label(emission->assembler, other);
    }
    if (copies_otherwise) {
        emission_copy(emission, op->out, op->in[2]);
    }
    bind_label(emission->assembler, past);
}

/* Whether a value is a constant all of whose bits are 0. */
static bool is_zero(const struct emission *emission, mdf_lowered_id id)
{
    return emission_is_constant(emission, id) && emission_constant(emission, id) == 0;
}

/* One of the two is 0: of the other one stays what the mask says. */
static void select_or_zero(struct emission *emission, const struct mdf_lowered_op *op)
{
    bool is_otherwise = is_zero(emission, op->in[1]);
    unsigned code = is_otherwise ? VECTOR_AND_NOT : VECTOR_AND;
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);

    make_mask(emission, op->in[0], op->dtype == MDF_DTYPE_FLOAT32 ? 4 : 8);
    assemble_vector(emission->assembler, code, 16, target, THIRD_SCRATCH_REAL,
                    in_register(emission_real(emission, op->in[is_otherwise ? 2 : 1], SECOND_SCRATCH_REAL)));
    emission_finish(emission, op->out, target);
}

static void select_real(struct emission *emission, const struct mdf_lowered_op *op)
{
    bool is_float = op->dtype == MDF_DTYPE_FLOAT32;
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL), otherwise;
    struct machine_operand then;

    make_mask(emission, op->in[0], is_float ? 4 : 8);
    otherwise = emission_real(emission, op->in[2], SECOND_SCRATCH_REAL);
    then = emission_operand(emission, op->in[1]);
    if (then.kind != IN_REGISTER) { /* sixteen bytes are read of it */
        emission_load_real(emission, op->in[1], SCRATCH_REAL);
        then = in_register(SCRATCH_REAL);
    }
    assemble_vector_with_number(emission->assembler, is_float ? VECTOR_BLEND_FLOATS : VECTOR_BLEND_DOUBLES, 16, target, otherwise,
                                then, THIRD_SCRATCH_REAL << 4);
    emission_finish(emission, op->out, target);
}

/* The condition as flags. Changes rax and rcx. */
static struct machine_test test_condition(struct emission *emission, mdf_lowered_id condition)
{
    const struct mdf_lowered_op *op = emission_deferred(emission, condition);
    uint8_t number;

    if (op != NULL) {
        return compare_operands(emission, op);
    }
    number = emission_general(emission, condition, RAX);
    assemble_general(emission->assembler, GENERAL_TEST, 4, number, in_register(number));
    return (struct machine_test){IF_NOT_EQUAL, PARITY_ANY};
}

static void select_whole(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct machine_test test = test_condition(emission, op->in[0]);
    uint8_t number, target = emission_target(emission, op->out, RDX);
    bool is_then_there = test.parity == PARITY_ANY && target != RDX && emission_general_is(emission, op->in[1], target);
    bool turns = test.parity == AND_NO_PARITY || is_then_there; /* not equal, or unordered: the other one */
    mdf_lowered_id then = op->in[turns ? 2 : 1], otherwise = op->in[turns ? 1 : 2];

    test = turns ? opposite_of(test) : test;
    number = emission_general(emission, then, RCX);
    target = number == target ? RDX : target;
    emission_load_general(emission, otherwise, target);
    assemble_general(emission->assembler, GENERAL_MOVE_IF + test.condition, 8, target, in_register(number));
    if (test.parity == OR_PARITY) {
        assemble_general(emission->assembler, GENERAL_MOVE_IF + IF_PARITY, 8, target, in_register(number));
    }
    emission_finish(emission, op->out, target);
}

void emission_select(struct emission *emission, const struct mdf_lowered_op *op)
{
    struct extreme extreme;

    if (mdf_dtype_is_real(op->dtype) && find_extreme(emission, op, &extreme)) {
        select_extreme(emission, op, extreme);
    } else if (is_accepted_late(emission, op) || (!mdf_dtype_is_real(op->dtype) && is_reset(emission, op))) {
        select_by_jump(emission, op);
    } else if (is_reset(emission, op)) {
        select_reset(emission, op);
    } else if (mdf_dtype_is_real(op->dtype) && (is_zero(emission, op->in[1]) || is_zero(emission, op->in[2]))) {
        select_or_zero(emission, op);
    } else if (mdf_dtype_is_real(op->dtype)) {
        select_real(emission, op);
    } else {
        select_whole(emission, op);
    }
}

void emission_cast_condition(struct emission *emission, const struct mdf_lowered_op *op)
{
    bool is_float = emission->lives[op->out].size == 4;
    uint8_t target = emission_target(emission, op->out, SCRATCH_REAL);
    uint64_t one = is_float ? UINT64_C(0x3F800000) : UINT64_C(0x3FF0000000000000);

    make_mask(emission, op->in[0], is_float ? 4 : 8);
    assemble_vector(emission->assembler, VECTOR_AND, 16, target, THIRD_SCRATCH_REAL,
                    constant_operand(emission->assembler, one, is_float ? 4 : 8));
    emission_finish(emission, op->out, target);
}
