/* unrolled.c - comprehensions whose number of items is known, where derivatives are made of the code: all items one behind the
 * other, and a list of them, which have derivatives.
 *
 * Comes in: the tree of a comprehension. Goes out: the list; or nothing, and no code, where something that it goes through has a
 * length that is not known before, or a test is not known: then it is gone through item by item. */
#include "functions/kernel/derivatives.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

enum { MOST_ITEMS = 1000 }; /* of one comprehension, that are written out */

/* ------------------------------------------------------------------ values that are known */

struct search {
    mdf_operand operand;
    size_t n;
};

static bool count_writer(void *context, mdf_operand operand)
{
    struct search *search = context;

    search->n += operand == search->operand;
    return false;
}

/* The instruction that alone writes an operand; NULL: there is none. */
static const struct mdf_instruction *find_writer(struct unit *unit, mdf_operand operand)
{
    struct search search = {operand, 0};
    size_t writer = SIZE_MAX;

    for (size_t i = unit_position(unit); MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && i-- > 0;) {
        size_t n = search.n;

        mdf_any_written(unit_instruction(unit, i), unit->calls.items, count_writer, &search);
        writer = search.n > n ? i : writer;
    }
    return search.n == 1 ? unit_instruction(unit, writer) : NULL;
}

static const struct mdf_code_call *find_call(struct unit *unit, mdf_operand operand)
{
    const struct mdf_instruction *writer = find_writer(unit, operand);

    return writer != NULL && writer->opcode == MDF_OPCODE_CALL ? (const struct mdf_code_call *)unit->calls.items + writer->target
                                                               : NULL;
}

/* What is in the place of an operand that is a copy, or of one around: *unit is where that stands. */
static mdf_operand find_source(struct unit **unit, mdf_operand operand)
{
    const struct mdf_instruction *writer;

    for (;;) {
        if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
            operand = ((const mdf_operand *)(*unit)->captures.items)[MDF_OPERAND_INDEX(operand)];
            *unit = (*unit)->outer;
            continue;
        }
        writer = find_writer(*unit, operand);
        if (writer == NULL || (writer->opcode != MDF_OPCODE_COPY && writer->opcode != MDF_OPCODE_BORROW)) {
            return operand;
        }
        operand = writer->b;
    }
}

/* The value that a changeable parameter has by default, whose shape it keeps then; NULL: the operand is none. */
static const struct mdf_value *keep_shape(struct target *target, mdf_operand operand)
{
    struct unit *unit = target->unit;
    mdf_operand source = find_source(&unit, operand);

    return unit == target->compiler->root_unit ? changeable_of_one_shape(target->compiler, source) : NULL;
}

static bool know(struct target *target, mdf_operand operand, struct mdf_value *value);

/* An array of the operand's shape, for a function that looks at nothing else. */
static bool know_shape(struct target *target, mdf_operand operand, struct mdf_value *value)
{
    struct mdf_static_type type = unit_type(target->unit, operand);
    const struct mdf_value *changeable = keep_shape(target, operand);
    bool is_known = type.kind == MDF_STATIC_TENSOR && type.has_shape && type.value == NULL;

    for (size_t i = 0; is_known && i < type.rank; i++) {
        is_known = type.shape[i] >= 0;
    }
    if (changeable != NULL) {
        return mdf_value_share(target->compiler->memory, value, changeable);
    }
    return is_known ? mdf_value_make_tensor(target->compiler->memory, value, MDF_DTYPE_BOOL, type.rank, type.shape) != NULL
                    : know(target, operand, value);
}

/* Runs a call of what is known, alone. What goes wrong in it is told when the model runs. */
static bool know_result(struct target *target, const struct mdf_code_call *call, struct mdf_value *value)
{
    struct compiler *compiler = target->compiler;
    mdf_error before = *compiler->error;
    struct unit unit = {0};
    struct scope scope = {.unit = &unit};
    struct target alone = {compiler, &unit, &scope};
    mdf_operand *inputs = mdf_arena_array(&compiler->scratch, call->n_inputs + 1, sizeof *inputs), result = MDF_NO_OPERAND;
    struct mdf_code *code;
    bool is_known = inputs != NULL;

    for (size_t i = 0; is_known && i < call->n_inputs; i++) {
        struct mdf_value input = {0};
        bool is_shape = i == 0 && call->operator->form == MDF_FORM_OF_SHAPE;

        inputs[i] = MDF_NO_OPERAND;
        if (call->inputs[i] != MDF_NO_OPERAND) {
            is_known = is_shape ? know_shape(target, call->inputs[i], &input) : know(target, call->inputs[i], &input);
            inputs[i] = is_known ? unit_add_constant(&alone, &input, 0) : MDF_NO_OPERAND;
            is_known = inputs[i] != MDF_NO_OPERAND;
        }
    }
    if (is_known) {
        result = unit_call_row(&alone, call->operator, call->settings, inputs, call->n_inputs);
    }
    code = result == MDF_NO_OPERAND ? NULL : unit_finish(compiler, &unit);
    is_known = code != NULL && compile_run_alone(compiler, code, result, value);
    if (code != NULL) {
        mdf_code_clear(compiler->memory, code);
    }
    unit_clear(compiler, &unit);
    if (!is_known && before.code == MDF_OK && compiler->error->code != MDF_OUT_OF_MEMORY) {
        *compiler->error = before;
    }
    return is_known;
}

static bool know(struct target *target, mdf_operand operand, struct mdf_value *value)
{
    const struct mdf_value *constant = unit_constant(target->unit, operand);
    const struct mdf_code_call *call = constant == NULL ? find_call(target->unit, operand) : NULL;

    if (constant != NULL) {
        return mdf_value_share(target->compiler->memory, value, constant);
    }
    return call != NULL && call->n_outputs == 1 && call->n_bodies == 0 &&
           (call->operator->flags &(MDF_OPERATOR_RANDOM | MDF_OPERATOR_CUSTOM | MDF_OPERATOR_DERIVES)) == 0 &&
           know_result(target, call, value);
}

/* ------------------------------------------------------------------ items */

/* What a for clause goes through. */
struct items {
    size_t n;
    mdf_operand all;
    const mdf_operand *listed; /* operands of a list that is made of them; NULL: it is not */
    struct mdf_value known;    /* a list that is known; nothing: it is not */
};

static bool any_left_out(const struct mdf_code_call *call)
{
    size_t i = 0;

    while (i < call->n_inputs && call->inputs[i] != MDF_NO_OPERAND) {
        i++;
    }
    return i < call->n_inputs;
}

/* How many parts a call makes of arrays: as many as it gets, or as a number or places to cut at say. */
static bool count_parts(struct target *target, const struct mdf_code_call *call, size_t *n)
{
    struct mdf_value sections = {0};
    int64_t number = -1;

    *n = call->n_inputs;
    if (call->operator->formals[0] == '*') {
        return !any_left_out(call);
    }
    if (call->n_inputs < 2 || call->inputs[1] == MDF_NO_OPERAND || !know(target, call->inputs[1], &sections)) {
        return false;
    }
    if (sections.kind == MDF_KIND_LIST || (sections.kind == MDF_KIND_TENSOR && sections.rank == 1)) {
        number = (int64_t)sections.length + 1;
    } else if (sections.kind == MDF_KIND_TENSOR && sections.rank == 0 && sections.dtype == MDF_DTYPE_INT64) {
        memcpy(&number, sections.data, sizeof number);
    }
    mdf_value_clear(target->compiler->memory, &sections);
    *n = (size_t)number;
    return number >= 0;
}

static bool find_items(struct target *target, mdf_operand operand, struct items *items)
{
    const struct mdf_code_call *call = find_call(target->unit, operand);
    const struct mdf_value *changeable;
    struct mdf_static_type type = unit_type(target->unit, operand);

    *items = (struct items){.all = operand};
    if (call != NULL && (call->operator->form == MDF_FORM_LIST || call->operator->form == MDF_FORM_OUTPUTS)) {
        items->listed = call->inputs;
        items->n = call->n_inputs;
        return !any_left_out(call);
    }
    if (know(target, operand, &items->known)) {
        items->n = items->known.kind == MDF_KIND_LIST                              ? items->known.length
                   : items->known.kind == MDF_KIND_TENSOR && items->known.rank > 0 ? (size_t)mdf_value_shape(&items->known)[0]
                                                                                   : SIZE_MAX;
        return items->n != SIZE_MAX;
    }
    if (call != NULL && call->operator->derivatives == mdf_derivatives_parts) {
        return count_parts(target, call, &items->n);
    }
    changeable = keep_shape(target, operand);
    if (changeable != NULL && changeable->kind == MDF_KIND_TENSOR && changeable->rank > 0) {
        items->n = (size_t)mdf_value_shape(changeable)[0];
        return true;
    }
    items->n =
        type.kind == MDF_STATIC_TENSOR && type.has_shape && type.rank > 0 && type.shape[0] >= 0 ? (size_t)type.shape[0] : 0;
    return items->n > 0;
}

static mdf_operand item_of(struct target *target, const struct items *items, size_t i)
{
    struct mdf_value copy = {0};

    if (items->listed != NULL) {
        return items->listed[i];
    }
    if (items->known.kind != MDF_KIND_LIST) {
        return compile_item(target, items->all, (int64_t)i);
    }
    return mdf_value_share(target->compiler->memory, &copy, &mdf_value_items(&items->known)[i])
               ? unit_add_constant(target, &copy, 0)
               : compile_out_of_memory(target->compiler);
}

mdf_operand compile_listed_item(struct target *target, mdf_operand all, int64_t index)
{
    const struct mdf_code_call *call = find_call(target->unit, all);
    int64_t n = call != NULL && call->operator->form == MDF_FORM_LIST ? (int64_t)call->n_inputs : 0;

    return index >= -n && index < n ? call->inputs[index < 0 ? index + n : index] : MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ clauses */

struct unrolling {
    const struct mdf_expression *tree;
    struct list elements; /* mdf_operand */
    size_t n;             /* items that there have been */
    bool is_known;
};

static bool write_clauses(struct target *target, struct unrolling *unrolling, size_t clause, size_t item);

static bool write_test(struct target *target, struct unrolling *unrolling, size_t clause, size_t item, mdf_operand test)
{
    struct mdf_value value = {0};
    bool truth = false, done;

    unrolling->is_known = know(target, test, &value) && value.kind == MDF_KIND_TENSOR && value.rank == 0 &&
                          (value.dtype == MDF_DTYPE_BOOL || value.dtype == MDF_DTYPE_INT64);
    for (size_t i = 0; unrolling->is_known && i < mdf_dtype_size((mdf_dtype)value.dtype); i++) {
        truth = truth || ((const unsigned char *)value.data)[i] != 0;
    }
    done = unrolling->is_known && (!truth || write_clauses(target, unrolling, clause + 1, item + 1));
    mdf_value_clear(target->compiler->memory, &value);
    return done;
}

static bool write_items(struct target *target, struct unrolling *unrolling, size_t clause, size_t item, mdf_operand all)
{
    struct items items;
    bool done = find_items(target, all, &items) && items.n <= MOST_ITEMS - unrolling->n;

    unrolling->is_known = done;
    unrolling->n += done ? items.n : 0;
    for (size_t i = 0; done && i < items.n; i++) {
        struct scope scope = {.outer = target->scope, .unit = target->unit};
        struct target inner = {target->compiler, target->unit, &scope};
        mdf_operand element = item_of(target, &items, i);

        done = element != MDF_NO_OPERAND && compile_bind_item(&inner, unrolling->tree->as.list.items[item], element) &&
               write_clauses(&inner, unrolling, clause + 1, item + 2);
    }
    mdf_value_clear(target->compiler->memory, &items.known);
    return done;
}

static bool write_clauses(struct target *target, struct unrolling *unrolling, size_t clause, size_t item)
{
    struct mdf_expression *const *items = unrolling->tree->as.list.items;
    char kind = unrolling->tree->clauses[clause];
    mdf_operand operand = compile_tree(target, items[kind == '\0' ? 0 : kind == 'f' ? item + 1 : item]);

    if (operand == MDF_NO_OPERAND) {
        return false;
    }
    if (kind == '\0') {
        return list_add(target->compiler, &unrolling->elements, &operand, sizeof operand);
    }
    return kind == 'f' ? write_items(target, unrolling, clause, item, operand)
                       : write_test(target, unrolling, clause, item, operand);
}

bool compile_unrolled(struct target *target, const struct mdf_expression *tree, mdf_operand *list)
{
    struct unrolling unrolling = {.tree = tree, .is_known = true};
    size_t before = unit_position(target->unit);

    *list = MDF_NO_OPERAND;
    if (write_clauses(target, &unrolling, 0, 1)) {
        *list = unit_call_python(target, PYTHON_LIST, unrolling.elements.items, unrolling.elements.n);
        return true;
    }
    if (target->compiler->error->code == MDF_OK && !unrolling.is_known) {
        target->unit->instructions.n = before;
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ functions of lists */

/* Lists that a call gets, and the items of what it makes. */
struct written_out {
    struct items *lists;
    size_t n_lists;
    struct list items; /* mdf_operand */
};

static bool find_lists(struct target *target, const mdf_operand *inputs, size_t n, struct written_out *written)
{
    written->lists = mdf_arena_array(&target->compiler->scratch, n + 1, sizeof *written->lists);
    if (written->lists == NULL) {
        return compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < n; i++) {
        if (inputs[i] == MDF_NO_OPERAND) {
            return false;
        }
        written->n_lists++;
        if (!find_items(target, inputs[i], &written->lists[i]) || written->lists[i].n > MOST_ITEMS) {
            return false;
        }
    }
    return true;
}

static bool add_item(struct target *target, struct written_out *written, mdf_operand item)
{
    return list_add_operand(target->compiler, &written->items, item);
}

static bool add_pair(struct target *target, struct written_out *written, const mdf_operand *pair, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pair[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return add_item(target, written, unit_call_python(target, PYTHON_LIST, pair, n));
}

static bool add_together(struct target *target, struct written_out *written)
{
    mdf_operand *together = mdf_arena_array(&target->compiler->scratch, written->n_lists + 1, sizeof *together);
    size_t n = written->n_lists > 0 ? written->lists[0].n : 0;

    for (size_t k = 0; k < written->n_lists; k++) {
        n = written->lists[k].n < n ? written->lists[k].n : n;
    }
    for (size_t i = 0; together != NULL && i < n; i++) {
        for (size_t k = 0; k < written->n_lists; k++) {
            together[k] = item_of(target, &written->lists[k], i);
        }
        if (!add_pair(target, written, together, written->n_lists)) {
            return false;
        }
    }
    return together != NULL || compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
}

/* The number that counting begins with. */
static bool find_start(struct target *target, const mdf_operand *inputs, size_t n_inputs, int64_t *start)
{
    struct mdf_value value = {0};
    bool is_known = true;

    *start = 0;
    if (n_inputs > 1 && inputs[1] != MDF_NO_OPERAND) {
        is_known =
            know(target, inputs[1], &value) && value.kind == MDF_KIND_TENSOR && value.rank == 0 && value.dtype == MDF_DTYPE_INT64;
        if (is_known) {
            memcpy(start, value.data, sizeof *start);
        }
        mdf_value_clear(target->compiler->memory, &value);
    }
    return is_known && *start >= -INT32_MAX && *start <= INT32_MAX;
}

static bool add_numbered(struct target *target, struct written_out *written, int64_t start)
{
    for (size_t i = 0; i < written->lists[0].n; i++) {
        const mdf_operand pair[] = {unit_add_int(target, start + (int64_t)i), item_of(target, &written->lists[0], i)};

        if (!add_pair(target, written, pair, 2)) {
            return false;
        }
    }
    return true;
}

static bool add_items(struct target *target, struct written_out *written, bool backward)
{
    size_t n = written->lists[0].n;

    for (size_t i = 0; i < n; i++) {
        if (!add_item(target, written, item_of(target, &written->lists[0], backward ? n - 1 - i : i))) {
            return false;
        }
    }
    return true;
}

/* The value whose condition is the first that holds, else the last one. */
static mdf_operand choose(struct target *target, const struct written_out *written, mdf_operand otherwise)
{
    mdf_operand chosen = otherwise != MDF_NO_OPERAND ? otherwise : unit_add_int(target, 0);

    for (size_t i = written->lists[0].n; chosen != MDF_NO_OPERAND && i-- > 0;) {
        const mdf_operand three[] = {item_of(target, &written->lists[0], i), item_of(target, &written->lists[1], i), chosen};

        chosen = three[0] != MDF_NO_OPERAND && three[1] != MDF_NO_OPERAND ? unit_call_python(target, PYTHON_WHERE, three, 3)
                                                                          : MDF_NO_OPERAND;
    }
    return chosen;
}

static mdf_operand add_up(struct target *target, const struct written_out *written)
{
    mdf_operand sum = unit_add_int(target, 0);

    for (size_t i = 0; sum != MDF_NO_OPERAND && i < written->lists[0].n; i++) {
        sum = unit_call_two(target, PYTHON_ADD, sum, item_of(target, &written->lists[0], i));
    }
    return sum;
}

static bool write_out(struct target *target, enum mdf_written_out how, struct written_out *written, int64_t start)
{
    switch (how) {
    case MDF_WRITTEN_OUT_ITEMS:
    case MDF_WRITTEN_OUT_ARGUMENTS:
        return add_items(target, written, false);
    case MDF_WRITTEN_OUT_BACKWARD:
        return add_items(target, written, true);
    case MDF_WRITTEN_OUT_NUMBERED:
        return add_numbered(target, written, start);
    case MDF_WRITTEN_OUT_TOGETHER:
        return add_together(target, written);
    case MDF_WRITTEN_OUT_NOT:
    case MDF_WRITTEN_OUT_CHOICES:
    case MDF_WRITTEN_OUT_SUM:
    case MDF_WRITTEN_OUT_PRODUCT:
    case MDF_WRITTEN_OUT_ANY:
    case MDF_WRITTEN_OUT_ALL:
    case MDF_WRITTEN_OUT_SORTED:
    case MDF_WRITTEN_OUT_CONTAINED:
    case MDF_WRITTEN_OUT_NOT_CONTAINED:
        break;
    }
    return false;
}

/* Whether it is known what stands in the lists. */
static bool is_known_list(struct target *target, const struct mdf_operator *row, const mdf_operand *inputs, size_t n_inputs,
                          struct written_out *written, int64_t *start)
{
    bool chooses = row->written_out == MDF_WRITTEN_OUT_CHOICES, together = row->written_out == MDF_WRITTEN_OUT_TOGETHER;
    size_t n = together ? n_inputs : chooses ? 2 : 1;

    return n_inputs >= n && n > 0 && find_lists(target, inputs, n, written) &&
           (!chooses || (written->lists[0].n == written->lists[1].n && written->lists[0].n > 0)) &&
           (row->written_out != MDF_WRITTEN_OUT_ARGUMENTS || (n_inputs == 1 && written->lists[0].n > 1)) &&
           (row->written_out != MDF_WRITTEN_OUT_SUM || n_inputs == 1 || inputs[1] == MDF_NO_OPERAND) &&
           (row->written_out != MDF_WRITTEN_OUT_NUMBERED || find_start(target, inputs, n_inputs, start));
}

/* Functions of lists that stand in the expression that are written out in any code, and not only where derivatives are made of it. */
static bool is_written_out_at_once(const struct mdf_operator *row)
{
    return row->written_out == MDF_WRITTEN_OUT_CHOICES || row->written_out == MDF_WRITTEN_OUT_ARGUMENTS ||
           row->written_out == MDF_WRITTEN_OUT_SUM;
}

bool compile_written_out(struct target *target, const struct mdf_operator *row, const mdf_operand *inputs, size_t n_inputs,
                         bool are_there, mdf_operand *result)
{
    struct written_out written = {0};
    int64_t start = 0;
    bool done;

    if (row->written_out == MDF_WRITTEN_OUT_NOT || row->written_out > MDF_WRITTEN_OUT_SUM ||
        (target->compiler->gradient == NULL && !(are_there && is_written_out_at_once(row)))) {
        return false;
    }
    done = is_known_list(target, row, inputs, n_inputs, &written, &start);
    *result = MDF_NO_OPERAND;
    if (done && row->written_out == MDF_WRITTEN_OUT_CHOICES) {
        *result = choose(target, &written, n_inputs > 2 ? inputs[2] : MDF_NO_OPERAND);
    } else if (done && row->written_out == MDF_WRITTEN_OUT_SUM) {
        *result = add_up(target, &written);
    } else if (done && write_out(target, row->written_out, &written, start)) {
        *result = row->written_out == MDF_WRITTEN_OUT_ARGUMENTS
                      ? unit_call_row(target, row, NULL, written.items.items, written.items.n)
                      : unit_call_python(target, PYTHON_LIST, written.items.items, written.items.n);
    }
    for (size_t i = 0; i < written.n_lists; i++) {
        mdf_value_clear(target->compiler->memory, &written.lists[i].known);
    }
    return done || target->compiler->error->code != MDF_OK;
}
