/* export_code.c - instructions, one after the other, on symbols. A jump that hangs on a value that is not known becomes an If; what
 * is known beforehand is followed, so that loops of comprehensions over known lists are unrolled. */
#include "mdf_c/export/exporter.h"

#include "functions/python/python.h"

#include <string.h>

enum { MOST_STEPS = 200000 }; /* of unrolled comprehensions too */

/* ------------------------------------------------------------------ graphs */

struct onnx_graph *export_begin_graph(struct exporter *exporter, struct onnx_graph *outer, const char *name)
{
    struct onnx_graph *graph = mdf_arena_allocate(&exporter->arena, sizeof *graph);

    if (graph == NULL) {
        export_out_of_memory(exporter);
        return NULL;
    }
    graph->outer = outer;
    graph->name = name;
    mdf_text_init(&graph->nodes, exporter->memory);
    mdf_text_init(&graph->inputs, exporter->memory);
    mdf_text_init(&graph->outputs, exporter->memory);
    graph->next = exporter->graphs;
    exporter->graphs = graph;
    return graph;
}

/* The value that a node of the graph has made is an output itself; of what comes from elsewhere, or is one already, an Identity
 * makes one. */
bool export_graph_output(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol)
{
    size_t *number = symbol->graph == graph && symbol->name != NULL
                         ? name_table_add(&graph->output_names, &exporter->arena, symbol->name)
                         : NULL;
    struct symbol made = *symbol;
    struct mdf_text message;

    if ((number == NULL || *number > 0) && !export_identity(exporter, graph, symbol, &made)) {
        return false;
    }
    if (number != NULL) {
        *number = 1;
    }
    mdf_text_init(&message, exporter->memory);
    export_put_value(&message, made.name, &made, graph->outer == NULL || graph->is_scan);
    onnx_put_message(&graph->outputs, GRAPH_OUTPUT, &message);
    mdf_text_release(&message);
    return true;
}

void export_end_graph(struct exporter *exporter, struct onnx_graph *graph, struct mdf_text *message)
{
    (void)exporter;
    mdf_text_append(message, graph->nodes.bytes, graph->nodes.length);
    onnx_put_string(message, GRAPH_NAME, graph->name);
    mdf_text_append(message, graph->inputs.bytes, graph->inputs.length);
    mdf_text_append(message, graph->outputs.bytes, graph->outputs.length);
    message->failed |= graph->nodes.failed || graph->inputs.failed || graph->outputs.failed;
}

/* ------------------------------------------------------------------ operands */

struct environment *export_environment(struct exporter *exporter, const struct mdf_code *code, const struct environment *outer,
                                       struct onnx_graph *graph)
{
    struct environment *made = mdf_arena_allocate(&exporter->arena, sizeof *made);

    if (made != NULL) {
        *made = (struct environment){code, mdf_arena_array(&exporter->arena, code->n_slots, sizeof *made->slots), outer, graph};
    }
    if (made == NULL || made->slots == NULL) {
        export_out_of_memory(exporter);
        return NULL;
    }
    return made;
}

/* A slot that nothing has written in this evaluation holds what the last one left: a state. Initial values are looked for among what
 * is known before the first evaluation. */
static const struct symbol *read_state(struct exporter *exporter, const struct environment *environment, size_t slot)
{
    if (environment->outer == NULL && !exporter->is_first_run) {
        return export_state(exporter, slot);
    }
    return environment == exporter->first ? &exporter->environment->slots[slot] : &environment->slots[slot];
}

const struct symbol *export_operand(struct exporter *exporter, const struct environment *environment, mdf_operand operand,
                                    struct symbol *constant)
{
    size_t index = MDF_OPERAND_INDEX(operand);

    switch ((enum mdf_operand_kind)MDF_OPERAND_KIND(operand)) {
    case MDF_OPERAND_SLOT:
        return environment->slots[index].kind != SYMBOL_UNKNOWN ? &environment->slots[index]
                                                                : read_state(exporter, environment, index);
    case MDF_OPERAND_CONSTANT:
        return symbol_of_value(exporter, &environment->code->constants[index], constant) ? constant : NULL;
    case MDF_OPERAND_CAPTURE:
        return export_operand(exporter, environment->outer, environment->code->captures[index], constant);
    }
    return NULL;
}

static bool get(struct exporter *exporter, const struct environment *environment, mdf_operand operand, struct symbol *symbol)
{
    struct symbol constant;
    const struct symbol *found = export_operand(exporter, environment, operand, &constant);

    if (found != NULL) {
        *symbol = *found;
    }
    return found != NULL;
}

static struct symbol *slot_of(const struct environment *environment, mdf_operand operand)
{
    return &environment->slots[MDF_OPERAND_INDEX(operand)];
}

/* ------------------------------------------------------------------ instructions without jumps */

static bool run_call(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call)
{
    struct symbol *inputs = mdf_arena_array(&exporter->arena, call->n_inputs, sizeof *inputs);
    struct symbol *outputs = mdf_arena_array(&exporter->arena, call->n_outputs, sizeof *outputs);

    if (inputs == NULL || outputs == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] == MDF_NO_OPERAND) {
            inputs[i] = (struct symbol){.kind = SYMBOL_NOTHING};
        } else if (!get(exporter, environment, call->inputs[i], &inputs[i])) {
            return false;
        }
    }
    if (!(call->operator->since > 0 ? export_onnx_call(exporter, environment, call, inputs, outputs)
                                    : export_python_call(exporter, environment->graph, call, inputs, outputs))) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND) {
            *slot_of(environment, call->outputs[i]) = outputs[i];
        }
    }
    return true;
}

bool export_declare(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *source,
                    const struct mdf_declared_type *type, struct symbol *result)
{
    struct mdf_value sample = {0}, declared = {0};
    struct symbol array = *source;
    bool done;

    if ((source->kind == SYMBOL_LIST || source->stands_for_list) && !type->sequence && type->dtype != MDF_DTYPE_NONE &&
        !export_as_array(exporter, graph, source, &array)) {
        return false;
    }
    *result = array;
    if (array.kind != SYMBOL_TENSOR || array.dtype == MDF_DTYPE_NONE) {
        return true;
    }
    exporter->context.error.code = MDF_OK;
    done = symbol_sample(exporter, &array, &sample) &&
           (mdf_declare_value(&exporter->context, &declared, &sample, type, false) ||
            export_refuse(exporter, "%s", exporter->context.error.message)) &&
           export_cast(exporter, graph, &array, (mdf_dtype)declared.dtype, result);
    if (done) {
        result->strength = declared.strength;
    }
    mdf_value_clear(exporter->memory, &sample);
    mdf_value_clear(exporter->memory, &declared);
    return done;
}

static bool declare(struct exporter *exporter, struct environment *environment, const struct mdf_instruction *instruction)
{
    struct symbol source, result;
    bool done = get(exporter, environment, instruction->b, &source) &&
                export_declare(exporter, environment->graph, &source, &environment->code->declarations[instruction->c], &result);

    if (done) {
        *slot_of(environment, instruction->a) = result;
    }
    return done;
}

static bool append(struct exporter *exporter, struct environment *environment, const struct mdf_instruction *instruction)
{
    struct symbol *list = slot_of(environment, instruction->a);
    struct symbol *items = mdf_arena_array(&exporter->arena, list->n_items + 1, sizeof *items);

    if (items == NULL) {
        return export_out_of_memory(exporter);
    }
    if (list->n_items > 0) {
        memcpy(items, list->items, list->n_items * sizeof *items);
    }
    if (!get(exporter, environment, instruction->b, &items[list->n_items])) {
        return false;
    }
    *list = (struct symbol){.kind = SYMBOL_LIST, .items = items, .n_items = list->n_items + 1};
    return true;
}

/* The next item of what a comprehension goes through, which must be known. */
static bool next_item(struct exporter *exporter, struct environment *environment, const struct mdf_instruction *instruction,
                      bool *more)
{
    struct symbol iterable, counter;
    int64_t index = 0;
    struct mdf_value *value;

    if (!get(exporter, environment, instruction->b, &iterable) || !get(exporter, environment, instruction->c, &counter)) {
        return false;
    }
    if ((iterable.kind != SYMBOL_LIST && iterable.constant == NULL) || counter.constant == NULL ||
        !mdf_value_to_int64(counter.constant, &index)) {
        return export_refuse(exporter, "a comprehension goes through what is not a list of known length");
    }
    *more = (size_t)index < (iterable.kind == SYMBOL_LIST ? iterable.n_items : mdf_python_length(iterable.constant));
    if (*more) {
        if (iterable.kind == SYMBOL_LIST) {
            *slot_of(environment, instruction->a) = iterable.items[index];
        } else {
            value = export_make(exporter);
            if (value == NULL || !mdf_python_item(exporter->memory, value, iterable.constant, (size_t)index)) {
                return export_out_of_memory(exporter);
            }
            if (!symbol_of_value(exporter, value, slot_of(environment, instruction->a))) {
                return false;
            }
        }
        value = export_make(exporter);
        if (value == NULL || !mdf_value_make_int(exporter->memory, value, index + 1)) {
            return export_out_of_memory(exporter);
        }
        return symbol_of_value(exporter, value, slot_of(environment, instruction->c));
    }
    return true;
}

/* ------------------------------------------------------------------ jumps */

/* The truth of a symbol, where it is known. */
static bool truth_of(const struct symbol *symbol, bool *truth)
{
    int known = symbol->kind == SYMBOL_NOTHING ? 0
                : symbol->kind == SYMBOL_LIST  ? symbol->n_items > 0
                : symbol->constant != NULL     ? mdf_value_truth(symbol->constant)
                                               : -1;

    *truth = known == 1;
    return known >= 0;
}

static bool is_jump(const struct mdf_instruction *instruction)
{
    return instruction->opcode == MDF_OPCODE_JUMP;
}

/* Instructions of a branch, on a copy of the slots. */
static struct symbol *run_branch(struct exporter *exporter, const struct environment *environment, struct onnx_graph *graph,
                                 size_t first, size_t end)
{
    struct environment branch = *environment;

    branch.graph = graph;
    branch.slots = mdf_arena_array(&exporter->arena, environment->code->n_slots, sizeof *branch.slots);
    if (branch.slots == NULL) {
        export_out_of_memory(exporter);
        return NULL;
    }
    memcpy(branch.slots, environment->slots, environment->code->n_slots * sizeof *branch.slots);
    return export_instructions(exporter, &branch, first, end) ? branch.slots : NULL;
}

static bool is_same(const struct symbol *a, const struct symbol *b)
{
    return a->kind == b->kind && a->name == b->name && a->constant == b->constant && a->items == b->items;
}

/* What the two ways leave in a slot, as one value: an output of the If. */
static bool merge(struct exporter *exporter, struct onnx_graph *const *graphs, const struct symbol *a, const struct symbol *b,
                  struct symbol *result)
{
    const struct symbol *ways[] = {a, b};
    struct symbol arrays[2], cast;
    mdf_dtype dtype;

    for (size_t i = 0; i < 2; i++) {
        if (!export_as_array(exporter, graphs[i], ways[i], &arrays[i])) {
            return false;
        }
    }
    dtype = arrays[0].dtype == arrays[1].dtype ? arrays[0].dtype : export_common_type(exporter, &arrays[0], &arrays[1]);
    if (arrays[0].kind != SYMBOL_TENSOR || arrays[1].kind != SYMBOL_TENSOR || dtype == MDF_DTYPE_NONE) {
        return export_refuse(exporter, "the two ways of a choice have values of different kinds");
    }
    for (size_t i = 0; i < 2; i++) {
        if (!export_cast(exporter, graphs[i], &arrays[i], dtype, &cast) ||
            !export_graph_output(exporter, graphs[i], &cast)) {
            return false;
        }
    }
    *result = arrays[0];
    result->constant = NULL;
    result->dtype = dtype;
    result->stands_for_list = symbol_is_list(a) || symbol_is_list(b);
    result->strength = arrays[0].strength > arrays[1].strength ? arrays[0].strength : arrays[1].strength;
    if (!arrays[0].has_shape || !arrays[1].has_shape || arrays[0].rank != arrays[1].rank ||
        (arrays[0].rank > 0 && memcmp(arrays[0].shape, arrays[1].shape, arrays[0].rank * sizeof *arrays[0].shape) != 0)) {
        result->has_shape = false;
        result->rank = 0;
    }
    return true;
}

/* A choice: [first, other) where the value is true, [other, end) where it is not. */
static bool choose(struct exporter *exporter, struct environment *environment, const struct symbol *value, size_t first,
                   size_t other, size_t end, bool is_turned)
{
    struct onnx_graph *graphs[] = {export_begin_graph(exporter, environment->graph, "then"),
                                   export_begin_graph(exporter, environment->graph, "else")};
    const char **outputs = mdf_arena_array(&exporter->arena, environment->code->n_slots, sizeof *outputs), *condition;
    struct symbol *ways[2], array, truth;
    struct mdf_text attributes, message;
    size_t n = 0;
    bool done;

    if (graphs[0] == NULL || graphs[1] == NULL || outputs == NULL) {
        return export_out_of_memory(exporter);
    }
    if (value->stands_for_list) {
        return export_refuse(exporter, "whether a list has items is not known before it runs");
    }
    if (!export_as_array(exporter, environment->graph, value, &array) ||
        !export_cast(exporter, environment->graph, &array, MDF_DTYPE_BOOL, &truth)) {
        return false;
    }
    condition = symbol_name(exporter, &truth);
    ways[0] = run_branch(exporter, environment, graphs[0], is_turned ? other : first, is_turned ? end : other);
    ways[1] = ways[0] != NULL ? run_branch(exporter, environment, graphs[1], is_turned ? first : other, is_turned ? other : end)
                              : NULL;
    if (condition == NULL || ways[1] == NULL) {
        return false;
    }
    for (size_t i = 0; i < environment->code->n_slots; i++) {
        const struct symbol *a = &ways[0][i], *b = &ways[1][i];

        if (is_same(a, b)) {
            environment->slots[i] = *a;
        } else if (a->kind == SYMBOL_UNKNOWN || b->kind == SYMBOL_UNKNOWN) {
            environment->slots[i] = (struct symbol){.kind = SYMBOL_UNKNOWN}; /* a value of one way only: the other does not read it */
        } else {
            struct symbol merged;

            if (!merge(exporter, graphs, a, b, &merged)) {
                return false;
            }
            merged.name = export_name(exporter, "choice");
            merged.graph = environment->graph;
            if (merged.name == NULL) {
                return false;
            }
            environment->slots[i] = merged;
            outputs[n++] = merged.name;
        }
    }
    if (n == 0) {
        return true;
    }
    mdf_text_init(&attributes, exporter->memory);
    mdf_text_init(&message, exporter->memory);
    for (size_t i = 0; i < 2; i++) {
        export_end_graph(exporter, graphs[i], &message);
        export_attribute_graph(&attributes, i == 0 ? "then_branch" : "else_branch", &message);
    }
    done = export_node(exporter, environment->graph, "", "If", &condition, 1, outputs, n, &attributes);
    mdf_text_release(&message);
    mdf_text_release(&attributes);
    return done;
}

/* A conditional jump at `at`: followed where its value is known; else the instructions up to its target are one way, and those that
 * the last of them jumps over the other. *next: where to go on. */
static bool jump_if(struct exporter *exporter, struct environment *environment, size_t at, size_t *next)
{
    const struct mdf_instruction *instructions = environment->code->instructions, *jump = &instructions[at];
    bool on_truth = jump->opcode == MDF_OPCODE_JUMP_IF, truth;
    size_t target = jump->target, end = target;
    struct symbol value;

    if (!get(exporter, environment, jump->a, &value)) {
        return false;
    }
    if (truth_of(&value, &truth)) {
        *next = truth == on_truth ? target : at + 1;
        return true;
    }
    if (value.kind != SYMBOL_TENSOR || target <= at) {
        return export_refuse(exporter, "a comprehension hangs on a value that is not known");
    }
    if (target > at + 1 && is_jump(&instructions[target - 1]) && instructions[target - 1].target >= target) {
        end = instructions[target - 1].target;
    }
    *next = end;
    return choose(exporter, environment, &value, at + 1, end > target ? target : end, end, on_truth);
}

static bool run_one(struct exporter *exporter, struct environment *environment, size_t at, size_t *next)
{
    const struct mdf_instruction *instruction = &environment->code->instructions[at];
    struct symbol value;
    bool more;

    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return run_call(exporter, environment, &environment->code->calls[instruction->target]);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
        if (!get(exporter, environment, instruction->b, &value)) {
            return false;
        }
        *slot_of(environment, instruction->a) = value;
        return true;
    case MDF_OPCODE_ARRAY:
        return get(exporter, environment, instruction->b, &value) &&
               export_as_array(exporter, environment->graph, &value, slot_of(environment, instruction->a));
    case MDF_OPCODE_DECLARE:
        return declare(exporter, environment, instruction);
    case MDF_OPCODE_SWAP:
        value = *slot_of(environment, instruction->a);
        *slot_of(environment, instruction->a) = *slot_of(environment, instruction->b);
        *slot_of(environment, instruction->b) = value;
        return true;
    case MDF_OPCODE_JUMP:
        *next = instruction->target;
        return true;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        return jump_if(exporter, environment, at, next);
    case MDF_OPCODE_JUMP_WITHOUT_DT: /* without one it is 0 */
        return true;
    case MDF_OPCODE_LIST:
        *slot_of(environment, instruction->a) = (struct symbol){.kind = SYMBOL_LIST};
        return true;
    case MDF_OPCODE_APPEND:
        return append(exporter, environment, instruction);
    case MDF_OPCODE_NEXT:
        if (!next_item(exporter, environment, instruction, &more)) {
            return false;
        }
        *next = more ? *next : instruction->target;
        return true;
    case MDF_OPCODE_GRAPH:
    case MDF_OPCODE_YIELD:
        return export_refuse(exporter, "the node has a graph of its own");
    }
    return true;
}

bool export_instructions(struct exporter *exporter, struct environment *environment, size_t first, size_t end)
{
    size_t at = first, next;

    while (at < end) {
        next = at + 1;
        exporter->at = &environment->code->origins[environment->code->instructions[at].origin];
        if (exporter->n_steps++ > MOST_STEPS) {
            return export_refuse(exporter, "unrolled, it would have too many nodes");
        }
        if (!run_one(exporter, environment, at, &next)) {
            return false;
        }
        at = next;
    }
    return true;
}
