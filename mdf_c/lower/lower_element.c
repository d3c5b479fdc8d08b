/* lower_element.c - a function of elements that is made of others, as the ops of these: x / (1 + x * x) as a product, a sum and a
 * quotient, which join those of their neighbours in one loop; where operands repeat along axes, as the steps of a nest.
 *
 * In: a call that was found to run the loop of a function of elements.def that has no code of its own. Out: ops for its
 * expression, of which the last has the call's result; nothing where a helper or a function of math.h without a code is called, or
 * where the ops do not give the kernel's first element. Both sides of a choice are computed. Words are those of elements.def. */
#include "functions/elements/element.h"
#include "functions/elements/where.h"
#include "mdf_c/base/text.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_run.h"

#include <float.h>
#include <string.h>

enum { MAX_NODES = 32, MAX_DEPTH = 24, NO_NODE = -1 };

enum node_kind { NODE_OPERAND, NODE_CONSTANT, NODE_OP };

/* A part of an expression. */
struct node {
    enum node_kind kind;
    enum mdf_lowered_code code;
    mdf_dtype dtype;                /* of the operands */
    bool is_truth;                  /* else of the function's type */
    bool is_array;                  /* as long as the result; else a scalar */
    int n_in, in[MDF_MAX_OPERANDS]; /* of an operand in[0]: which */
    uint64_t cell;                  /* on the examples' first elements */
};

struct reading {
    const struct trial *trial;
    mdf_dtype dtype;
    const char *at;
    struct node nodes[MAX_NODES];
    int n_nodes, depth;
    bool is_number[2]; /* of each operand: it is a constant, and not NaN */
};

static int read_choice(struct reading *reading);

/* ------------------------------------------------------------------ nodes */

/* The node's number; parts that occur again are the same node. NO_NODE: there are too many. */
static int add_node(struct reading *reading, const struct node *node)
{
    for (int i = 0; i < reading->n_nodes; i++) {
        const struct node *other = &reading->nodes[i];

        if (other->kind == node->kind && other->code == node->code && other->dtype == node->dtype && other->n_in == node->n_in &&
            memcmp(other->in, node->in, sizeof node->in) == 0 &&
            (node->kind != NODE_CONSTANT || other->cell == node->cell)) {
            return i;
        }
    }
    if (reading->n_nodes == MAX_NODES) {
        return NO_NODE;
    }
    reading->nodes[reading->n_nodes] = *node;
    return reading->n_nodes++;
}

static int add_constant_node(struct reading *reading, double number)
{
    struct node node = {.kind = NODE_CONSTANT, .dtype = reading->dtype};
    float narrow = (float)number;

    if (mdf_dtype_kind(reading->dtype) != 'f') {
        return NO_NODE;
    }
    if (reading->dtype == MDF_DTYPE_FLOAT32) {
        memcpy(&node.cell, &narrow, sizeof narrow);
    } else {
        memcpy(&node.cell, &number, sizeof number);
    }
    return add_node(reading, &node);
}

static int add_operand_node(struct reading *reading, int which)
{
    const struct mdf_elementwise_trace *trace = &reading->trial->trace;
    struct node node = {.kind = NODE_OPERAND, .dtype = reading->dtype, .in = {which}};

    if ((size_t)which >= trace->n_operands || trace->operands[which]->dtype != reading->dtype) {
        return NO_NODE;
    }
    node.is_array = trace->operands[which]->length == reading->trial->results[0].length;
    memcpy(&node.cell, trace->operands[which]->data, mdf_dtype_size(reading->dtype));
    return add_node(reading, &node);
}

/* Whether the last node asks whether a constant is NaN, which it is not. */
static bool asks_in_vain(const struct reading *reading, int node)
{
    const struct node *test = &reading->nodes[node], *of = &reading->nodes[test->in[0]];

    return node == reading->n_nodes - 1 && test->kind == NODE_OP && test->code == MDF_LOWERED_NOT_EQUAL &&
           test->in[0] == test->in[1] && of->kind == NODE_OPERAND && of->in[0] < 2 && reading->is_number[of->in[0]];
}

/* An op of nodes, which are to be truths, or numbers; NO_NODE where one of them is not there, or is something else. */
static int add_op_node(struct reading *reading, enum mdf_lowered_code code, bool of_truths, bool is_truth, int n_in,
                       const int *in)
{
    struct node node = {.kind = NODE_OP, .code = code, .is_truth = is_truth, .n_in = n_in};
    const uint64_t *cells[MDF_MAX_OPERANDS] = {NULL};
    bool is_constant = true;

    node.dtype = of_truths ? MDF_DTYPE_BOOL : reading->dtype;
    if (mdf_dtype_kind(node.dtype) != 'f' && !of_truths && !is_truth && code != MDF_LOWERED_SELECT) {
        return NO_NODE; /* of whole numbers the larger, and the like: what C says of others need not be what is meant */
    }
    for (int i = 0; i < n_in; i++) {
        bool wants_truth = of_truths || (code == MDF_LOWERED_SELECT && i == 0);

        if (in[i] == NO_NODE || reading->nodes[in[i]].is_truth != wants_truth) {
            return NO_NODE;
        }
        node.in[i] = in[i];
        node.is_array = node.is_array || reading->nodes[in[i]].is_array;
        is_constant = is_constant && reading->nodes[in[i]].kind == NODE_CONSTANT;
        cells[i] = &reading->nodes[in[i]].cell;
    }
    if (!mdf_lowered_compute(code, node.dtype, cells, &node.cell)) {
        return NO_NODE;
    }
    if (code == MDF_LOWERED_OR && asks_in_vain(reading, in[1])) {
        reading->n_nodes--;
        return in[0];
    }
    if (is_constant && !is_truth) {
        node = (struct node){.kind = NODE_CONSTANT, .dtype = node.dtype, .cell = node.cell};
    }
    return add_node(reading, &node);
}

/* ------------------------------------------------------------------ expressions */

/* Whether the word comes next, and goes past it. */
static bool skip(struct reading *reading, const char *word)
{
    size_t n = strlen(word);

    while (*reading->at == ' ') {
        reading->at++;
    }
    if (strncmp(reading->at, word, n) != 0) {
        return false;
    }
    reading->at += n;
    return true;
}

/* The rest of what is in parentheses. */
static int close_after(struct reading *reading, int node)
{
    return skip(reading, ")") ? node : NO_NODE;
}

/* The rest of MATH(name)(argument). */
static int read_function(struct reading *reading)
{
    static const struct {
        const char *name;
        enum mdf_lowered_code code;
    } functions[] = {{"fabs", MDF_LOWERED_ABSOLUTE},
                     {"sqrt", MDF_LOWERED_SQUARE_ROOT},
                     {"floor", MDF_LOWERED_FLOOR},
                     {"ceil", MDF_LOWERED_CEILING}};
    size_t length = strcspn(reading->at, ")"), i;

    for (i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, reading->at, length) == 0) {
            int argument;

            reading->at += length;
            argument = skip(reading, ")(") ? close_after(reading, read_choice(reading)) : NO_NODE;
            return add_op_node(reading, functions[i].code, false, false, 1, &argument);
        }
    }
    return NO_NODE;
}

static int read_setting(struct reading *reading)
{
    const struct mdf_code_call *source = reading->trial->source;
    char name[32];
    size_t length = strcspn(reading->at, ")");
    const double *number;

    if (length >= sizeof name) {
        return NO_NODE;
    }
    memcpy(name, reading->at, length);
    name[length] = '\0';
    reading->at += length;
    number = mdf_code_setting(source, name);
    return number != NULL ? close_after(reading, add_constant_node(reading, *number)) : NO_NODE;
}

static int read_number(struct reading *reading)
{
    size_t length = strspn(reading->at, "0123456789.");
    double number = mdf_parse_real(reading->at, length);

    if (length == 0) {
        return NO_NODE;
    }
    reading->at += length;
    reading->at += *reading->at == 'f';
    return add_constant_node(reading, number);
}

static int read_operand(struct reading *reading)
{
    int node;

    if (skip(reading, "(ELEMENT)")) {
        node = read_operand(reading);
        return node != NO_NODE && !reading->nodes[node].is_truth ? node : NO_NODE;
    }
    if (skip(reading, "-")) {
        node = read_operand(reading);
        return add_op_node(reading, MDF_LOWERED_NEGATE, false, false, 1, &node);
    }
    if (skip(reading, "!")) {
        node = read_operand(reading);
        return add_op_node(reading, MDF_LOWERED_NOT, true, true, 1, &node);
    }
    if (skip(reading, "(")) {
        return close_after(reading, read_choice(reading));
    }
    return skip(reading, "MATH(")      ? read_function(reading)
           : skip(reading, "SETTING(") ? read_setting(reading)
           : skip(reading, "A")        ? add_operand_node(reading, 0)
           : skip(reading, "B")        ? add_operand_node(reading, 1)
                                       : read_number(reading);
}

/* Operators of two operands; a level of precedence after the other, those that bind most tightly first. */
static const struct infix {
    const char *symbol;
    enum mdf_lowered_code code;
    int level;
    bool of_truths, is_truth;
} infixes[] = {{"*", MDF_LOWERED_MULTIPLY, 0, false, false},   {"/", MDF_LOWERED_DIVIDE, 0, false, false},
               {"+", MDF_LOWERED_ADD, 1, false, false},        {"-", MDF_LOWERED_SUBTRACT, 1, false, false},
               {"<=", MDF_LOWERED_LESS_EQUAL, 2, false, true}, {">=", MDF_LOWERED_GREATER_EQUAL, 2, false, true},
               {"==", MDF_LOWERED_EQUAL, 2, false, true},      {"!=", MDF_LOWERED_NOT_EQUAL, 2, false, true},
               {"<", MDF_LOWERED_LESS, 2, false, true},        {">", MDF_LOWERED_GREATER, 2, false, true},
               {"&&", MDF_LOWERED_AND, 3, true, true},         {"||", MDF_LOWERED_OR, 4, true, true}};
enum { N_INFIXES = sizeof infixes / sizeof *infixes, LAST_LEVEL = 4 };

static const struct infix *find_infix(struct reading *reading, int level)
{
    for (size_t i = 0; i < N_INFIXES; i++) {
        if (infixes[i].level == level && skip(reading, infixes[i].symbol)) {
            return &infixes[i];
        }
    }
    return NULL;
}

static bool is_truth_node(const struct reading *reading, int node)
{
    return node != NO_NODE && reading->nodes[node].is_truth;
}

/* Two truths that are added are not 0 where one of them holds. */
static int read_sum_of_truths(struct reading *reading, const int in[2])
{
    return skip(reading, "!= 0") ? add_op_node(reading, MDF_LOWERED_OR, true, true, 2, in) : NO_NODE;
}

static int read_infix(struct reading *reading, int level)
{
    int in[2] = {level == 0 ? read_operand(reading) : read_infix(reading, level - 1), NO_NODE};
    const struct infix *infix = NULL;

    while (in[0] != NO_NODE && (infix = find_infix(reading, level)) != NULL) {
        in[1] = level == 0 ? read_operand(reading) : read_infix(reading, level - 1);
        in[0] = infix->code == MDF_LOWERED_ADD && is_truth_node(reading, in[0]) && is_truth_node(reading, in[1])
                    ? read_sum_of_truths(reading, in)
                    : add_op_node(reading, infix->code, infix->of_truths, infix->is_truth, 2, in);
    }
    return in[0];
}

static int read_choice(struct reading *reading)
{
    int in[3] = {NO_NODE, NO_NODE, NO_NODE};

    if (++reading->depth > MAX_DEPTH) {
        return NO_NODE;
    }
    in[0] = read_infix(reading, LAST_LEVEL);
    if (in[0] != NO_NODE && skip(reading, "?")) {
        in[1] = read_choice(reading);
        in[2] = skip(reading, ":") ? read_choice(reading) : NO_NODE;
        in[0] = add_op_node(reading, MDF_LOWERED_SELECT, false, false, 3, in);
    }
    reading->depth--;
    return in[0];
}

/* The node of the whole expression; NO_NODE: it is not made of codes, or comes to something else than the kernel. */
static int read_expression(struct reading *reading, const char *text)
{
    const struct mdf_value *result = &reading->trial->results[0];
    int root;

    reading->at = text;
    root = read_choice(reading);
    skip(reading, "");
    return root != NO_NODE && *reading->at == '\0' && reading->nodes[root].kind == NODE_OP && reading->nodes[root].is_array &&
                   root == reading->n_nodes - 1 &&
                   result->dtype == (reading->nodes[root].is_truth ? MDF_DTYPE_BOOL : reading->dtype) &&
                   memcmp(&reading->nodes[root].cell, result->data, mdf_dtype_size((mdf_dtype)result->dtype)) == 0
               ? root
               : NO_NODE;
}

/* ------------------------------------------------------------------ ops */

mdf_loop lowering_loop_of(enum mdf_lowered_code of, mdf_dtype dtype)
{
    static const struct {
        enum mdf_element_id id;
        unsigned kinds;
        enum mdf_lowered_code code;
    } codes[] = {
#define CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#include "functions/elements/elements.def"
#define NUMBER_CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#include "functions/elements/elements.def"
    };

    for (size_t i = 0; of != MDF_LOWERED_SELECT && i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == of && (codes[i].kinds & mdf_element_kind(dtype)) != 0 &&
            mdf_element_operations[codes[i].id].loops[dtype] != NULL) {
            return mdf_element_operations[codes[i].id].loops[dtype];
        }
    }
    return of == MDF_LOWERED_SELECT ? mdf_where.loops[dtype] : NULL;
}

/* Ops for all nodes; the value of the last. `examples`: of a number and of a truth, as long as the result. */
static mdf_lowered_id add_nodes(struct lowering *lowering, const struct reading *reading, const struct mdf_lowered_op *call,
                                const struct mdf_value examples[2])
{
    mdf_lowered_id ids[MAX_NODES];

    for (int i = 0; i < reading->n_nodes; i++) {
        const struct node *node = &reading->nodes[i];
        struct mdf_lowered_op op = {.code = (uint8_t)node->code, .dtype = (uint8_t)node->dtype, .n_in = (uint8_t)node->n_in};
        struct mdf_value constant = {0}, scalar = {0};
        const struct mdf_value *example = &scalar;

        if (node->kind == NODE_OPERAND) {
            ids[i] = call->in[node->in[0]];
            continue;
        }
        if (node->kind == NODE_CONSTANT) {
            mdf_value_borrow_tensor(lowering->memory, &constant, node->dtype, MDF_STRENGTH_TYPED, 0, NULL, &node->cell);
            ids[i] = lowering_add_constant(lowering, &constant, false);
            continue;
        }
        for (int j = 0; j < node->n_in; j++) {
            op.in[j] = ids[node->in[j]];
        }
        op.loop = lowering_loop_of(node->code, node->dtype);
        mdf_value_borrow_tensor(lowering->memory, &scalar, node->is_truth ? MDF_DTYPE_BOOL : reading->dtype, MDF_STRENGTH_TYPED,
                                0, NULL, &node->cell);
        if (i == reading->n_nodes - 1) {
            example = &reading->trial->results[0];
        } else if (node->is_array) {
            example = &examples[node->is_truth];
        }
        ids[i] = lowering_add_element_op(lowering, op, example);
        if (ids[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    return ids[reading->n_nodes - 1];
}

/* The function whose loop a call ran: the operator's, or the one that its kernel chose; with a constant second operand what that
 * comes to. */
static const struct mdf_element *element_of(const struct lowering *lowering, const struct trial *trial,
                                            const struct mdf_lowered_op *op)
{
    const struct mdf_operation *operation = trial->trace.operation, *first = mdf_element_operations;
    const struct mdf_element *element = mdf_element_of(trial->source->operator, trial->source->settings), *simpler = NULL;
    double number;

    if (trial->trace.n_calls == 1 && operation >= first && operation < first + MDF_ELEMENT_COUNT) {
        element = &mdf_elements[operation - first];
    }
    if (op->n_in == 2 && lowering_is_constant(lowering, op->in[1]) &&
        mdf_value_is_scalar(lowering_example(lowering, op->in[1])) &&
        mdf_value_to_double(lowering_example(lowering, op->in[1]), &number)) {
        simpler = mdf_element_with_constant(element, number);
    }
    return simpler != NULL ? simpler : element;
}

static bool is_composed_type(mdf_dtype dtype)
{
    return lowering_casts(dtype) && dtype != MDF_DTYPE_BOOL;
}

/* Whether a value is a constant number, and not NaN. */
static bool is_number(const struct lowering *lowering, mdf_lowered_id id)
{
    double number;

    return lowering_is_constant(lowering, id) && mdf_value_is_scalar(lowering_example(lowering, id)) &&
           mdf_value_to_double(lowering_example(lowering, id), &number) && number == number;
}

/* Reads what an op is made of; false: it is called. */
static bool reads_as_composed(struct reading *reading, const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_element *element = element_of(lowering, reading->trial, op);
    const struct mdf_element_form *form;

    for (size_t i = 0; i < op->n_in && i < 2; i++) {
        reading->is_number[i] = is_number(lowering, op->in[i]);
    }
    if (op->code != MDF_LOWERED_ELEMENTS || lowering->is_for_source || element == NULL || !is_composed_type(reading->dtype) ||
        reading->trial->results[0].length >= MDF_LOWER_LONG ||
        op->loop != reading->trial->trace.operation->loops[reading->dtype]) {
        return false;
    }
    form = mdf_element_form(element, reading->dtype);
    return form != NULL && form->refused == NULL && read_expression(reading, form->text) != NO_NODE;
}

mdf_lowered_id lowering_composed(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_op *op)
{
    const struct mdf_value *result = &trial->results[0];
    struct reading reading = {.trial = trial, .dtype = (mdf_dtype)op->dtype};
    struct mdf_value examples[2] = {{0}, {0}};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (!reads_as_composed(&reading, lowering, op)) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_value_make_tensor(lowering->memory, &examples[0], reading.dtype, result->rank, mdf_value_shape(result)) == NULL ||
        mdf_value_make_tensor(lowering->memory, &examples[1], MDF_DTYPE_BOOL, result->rank, mdf_value_shape(result)) == NULL) {
        lowering_out_of_memory(lowering);
    } else {
        memset(examples[0].data, 0, result->length * mdf_dtype_size(reading.dtype));
        memset(examples[1].data, 0, result->length);
        id = add_nodes(lowering, &reading, op, examples);
    }
    mdf_value_clear(lowering->memory, &examples[0]);
    mdf_value_clear(lowering->memory, &examples[1]);
    return id;
}

/* A step for a node, of the steps before it. */
static uint8_t draft_node(struct lowering *lowering, struct nest_draft *draft, const struct node *node, const uint8_t *steps)
{
    struct mdf_lowered_op op = {.code = (uint8_t)node->code, .dtype = (uint8_t)node->dtype, .n_in = (uint8_t)node->n_in};
    struct mdf_value constant = {0};
    uint8_t in[MDF_MAX_OPERANDS] = {0};
    unsigned axes = 0;

    if (node->kind == NODE_CONSTANT) {
        mdf_value_borrow_tensor(lowering->memory, &constant, node->dtype, MDF_STRENGTH_TYPED, 0, NULL, &node->cell);
        return draft_load(lowering, draft, lowering_add_constant(lowering, &constant, false), NULL);
    }
    for (int i = 0; i < node->n_in; i++) {
        in[i] = steps[node->in[i]];
        axes |= draft->steps[in[i]].axes;
    }
    op.loop = lowering_loop_of(node->code, node->dtype);
    return draft_element(draft, &op, node->is_truth ? MDF_DTYPE_BOOL : draft->steps[in[node->n_in - 1]].step.dtype, in, axes);
}

mdf_lowered_id lowering_composed_nest(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_op *op)
{
    const struct mdf_value *result = &trial->results[0];
    struct reading reading = {.trial = trial, .dtype = (mdf_dtype)op->dtype};
    uint8_t axes[MDF_INLINE_RANK], aligned[MDF_INLINE_RANK], steps[MAX_NODES] = {0};
    struct nest_draft *draft;

    if (result->rank > MDF_INLINE_RANK || result->length <= 1 || !reads_as_composed(&reading, lowering, op)) {
        return MDF_LOWERED_NONE;
    }
    draft = draft_new(lowering);
    for (size_t i = 0; draft != NULL && i < result->rank; i++) {
        axes[i] = draft_axis(draft, mdf_value_shape(result)[i]);
    }
    for (int k = 0; draft != NULL && k < reading.n_nodes && !draft->has_failed; k++) {
        const struct node *node = &reading.nodes[k];

        if (node->kind != NODE_OPERAND) {
            steps[k] = draft_node(lowering, draft, node, steps);
        } else if (draft_align(lowering_example(lowering, op->in[node->in[0]]), result, axes, aligned)) {
            steps[k] = draft_load(lowering, draft, op->in[node->in[0]], aligned);
        } else {
            return MDF_LOWERED_NONE;
        }
    }
    return draft == NULL || lowering_has_failed(lowering)
               ? MDF_LOWERED_NONE
               : lowering_add_nest(lowering, draft, steps[reading.n_nodes - 1], result, axes);
}

/* Bails out where a number has no finite value: Python refuses that, and arithmetic does not. */
static bool bail_out_past_reals(struct lowering *lowering, mdf_lowered_id id)
{
    static const double largest = DBL_MAX;
    static const bool truth = false;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_ABSOLUTE, .dtype = MDF_DTYPE_FLOAT64, .n_in = 1, .in = {id}};
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &largest);
    id = lowering_add_element_op(lowering, op, &value);
    op = (struct mdf_lowered_op){.code = MDF_LOWERED_GREATER, .dtype = MDF_DTYPE_FLOAT64, .n_in = 2, .in = {id}};
    op.in[1] = lowering_add_constant(lowering, &value, false);
    if (op.in[0] == MDF_LOWERED_NONE || op.in[1] == MDF_LOWERED_NONE) {
        return false;
    }
    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &truth);
    return lowering_bail_out_if(lowering, lowering_add_element_op(lowering, op, &value));
}

mdf_lowered_id lowering_composed_number(struct lowering *lowering, struct trial *trial, const struct mdf_lowered_op *op)
{
    static const uint64_t zero = 0;
    const struct mdf_element *element = element_of(lowering, trial, op);
    const struct mdf_element_form *form = element == NULL ? NULL : mdf_element_form(element, MDF_DTYPE_FLOAT64);
    struct reading reading = {.trial = trial, .dtype = MDF_DTYPE_FLOAT64};
    struct mdf_value examples[2] = {{0}, {0}};
    mdf_lowered_id id;

    if (lowering->is_for_source || form == NULL || form->refused != NULL || op->dtype != MDF_DTYPE_FLOAT64 ||
        (op->code == MDF_LOWERED_FUNCTION && element == trial->source->operator->element)) {
        return MDF_LOWERED_NONE;
    }
    trial->trace.n_operands = op->n_in;
    for (size_t i = 0; i < op->n_in; i++) {
        trial->trace.operands[i] = trial->effective[i];
    }
    if (read_expression(&reading, form->text) == NO_NODE) {
        return MDF_LOWERED_NONE;
    }
    mdf_value_borrow_tensor(lowering->memory, &examples[0], MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &zero);
    mdf_value_borrow_tensor(lowering->memory, &examples[1], MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &zero);
    id = add_nodes(lowering, &reading, op, examples);
    return id == MDF_LOWERED_NONE || trial->results[0].dtype == MDF_DTYPE_BOOL || bail_out_past_reals(lowering, id)
               ? id
               : MDF_LOWERED_NONE;
}
