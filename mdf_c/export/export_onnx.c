/* export_onnx.c - see export_onnx.h. The graph: its inputs, its nodes in their order, what is kept from one evaluation to the next,
 * its results. */
#include "mdf_c/export/exporter.h"

#include "mdf_c/run/state.h"
#include "schemas/onnx_names.h"

#include <math.h>
#include <string.h>

enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { OPSET_OF_EXPRESSIONS = 18, OPSET_OF_IDENTITY_OF_SEQUENCES = 14, MOST_DOMAINS = 8, MOST_TRIES = 12 };

/* ------------------------------------------------------------------ versions */

static void note_opsets(const struct mdf_code *code, int model_opset, int *opset, bool *has_calls)
{
    for (size_t i = 0; i < code->n_calls; i++) {
        const struct mdf_operator *row = code->calls[i].operator;
        const struct mdf_schema *schema = row->since > 0 ? mdf_schema_find("", row->name, model_opset) : NULL;

        if (schema != NULL) {
            *has_calls = true;
            *opset = schema->since > *opset ? schema->since : *opset;
        }
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        note_opsets(code->bodies[i], model_opset, opset, has_calls);
    }
}

/* The model's, or that of an operator that is born later; where there is none of ONNX's, one that has all that expressions need. */
static int find_opset(const struct exporter *exporter, int least)
{
    int opset = exporter->model->opset > least ? exporter->model->opset : least;
    bool has_calls = false;

    note_opsets(exporter->program->code, opset, &opset, &has_calls);
    return has_calls || opset > OPSET_OF_EXPRESSIONS ? opset : OPSET_OF_EXPRESSIONS;
}

static int ir_version(int opset)
{
    return opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : opset == 23 ? 11 : 12;
}

/* ------------------------------------------------------------------ states */

static void label_slot(struct exporter *exporter, mdf_operand operand, const char *node, const char *id)
{
    struct slot_label *label = operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT
                                   ? &exporter->labels[MDF_OPERAND_INDEX(operand)]
                                   : NULL;

    if (label != NULL && label->id == NULL) {
        *label = (struct slot_label){node, id};
    }
}

/* Which slots hold ports and parameters. */
static bool label_slots(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;

    exporter->labels = mdf_arena_array(&exporter->arena, program->code->n_slots, sizeof *exporter->labels);
    for (size_t i = 0; exporter->labels != NULL && i < program->n_nodes; i++) {
        const struct mdf_program_node *node = &program->nodes[i];
        const struct mdf_program_parts *parts = &node->parts[MDF_PART_PARAMETER];

        for (size_t j = node->first_port; j < node->first_port + node->n_ports; j++) {
            label_slot(exporter, program->ports[j].slot, node->id, program->ports[j].id);
        }
        for (size_t j = 0; j < parts->n; j++) {
            if (parts->items[j].n_operands == 1) {
                label_slot(exporter, parts->items[j].operands[0], node->id, parts->items[j].id);
            }
        }
    }
    return exporter->labels != NULL;
}

/* NODE.PARAMETER of a slot. */
static const char *name_state(struct exporter *exporter, size_t slot)
{
    const struct slot_label *label = &exporter->labels[slot];

    return export_name(exporter,
                       label->id != NULL ? mdf_arena_printf(&exporter->arena, "%s.%s", label->node, label->id) : "state");
}

/* The time increment: 0, which stands for none, unless it is given. */
static const struct symbol *add_increment(struct exporter *exporter, struct symbol *slot)
{
    struct symbol zero;
    const char *name = export_name(exporter, "dt");

    if (name == NULL || !symbol_of_real(exporter, 0, exporter->program->real, &zero)) {
        return NULL;
    }
    *slot = zero;
    slot->name = name;
    slot->constant = NULL;
    slot->strength = MDF_STRENGTH_PYTHON;
    export_put_input(exporter, name, slot, zero.constant);
    return slot;
}

/* A state whose initial value is known: the default of its input. */
static const struct symbol *begin_with(struct exporter *exporter, const char *name, const struct symbol *initial, struct symbol *slot)
{
    *slot = *initial;
    slot->name = name;
    slot->constant = NULL;
    export_put_input(exporter, name, slot, initial->constant);
    return slot;
}

/* Whether this is the first evaluation: an input that is true unless it is given. */
static const struct symbol *ask_whether_first(struct exporter *exporter)
{
    struct symbol *is_first = &exporter->is_first;
    struct mdf_value *truth;
    const char *name;

    if (is_first->kind != SYMBOL_UNKNOWN) {
        return is_first;
    }
    truth = export_make(exporter);
    name = export_name(exporter, "first");
    if (truth == NULL || name == NULL || !mdf_value_make_bool(exporter->memory, truth, true) ||
        !symbol_of_value(exporter, truth, is_first)) {
        export_out_of_memory(exporter);
        return NULL;
    }
    is_first->name = name;
    is_first->constant = NULL;
    export_put_input(exporter, name, is_first, truth);
    return is_first;
}

/* The same where the initial value hangs on inputs: it counts in the first evaluation, later what is handed on. */
static const struct symbol *begin_with_computed(struct exporter *exporter, const char *name, const struct symbol *initial,
                                                struct symbol *slot)
{
    const struct symbol *inputs[] = {ask_whether_first(exporter), initial, slot};
    struct symbol zeros, chosen;

    if (!symbol_has_full_shape(initial)) {
        export_refuse(exporter, "a state whose initial value is computed from inputs, in a shape that is not known");
        return NULL;
    }
    if (inputs[0] == NULL || !symbol_of_zeros(exporter, initial, &zeros) || begin_with(exporter, name, &zeros, slot) == NULL ||
        !export_op(exporter, exporter->main, "Where", inputs, 3, NULL, initial, &chosen)) {
        return NULL;
    }
    *slot = chosen;
    return slot;
}

const struct symbol *export_state(struct exporter *exporter, size_t index)
{
    struct symbol *slot = &exporter->environment->slots[index], initial = exporter->first->slots[index], array;
    struct exported_state *state = &exporter->states[exporter->n_states];

    if (index == 0) {
        return add_increment(exporter, slot);
    }
    if (initial.kind == SYMBOL_UNKNOWN || !export_as_array(exporter, exporter->main, &initial, &array)) {
        export_refuse(exporter, "a value of the evaluation before is read, which has no initial value");
        return NULL;
    }
    if (array.kind != SYMBOL_TENSOR) {
        export_refuse(exporter, "a state that is no array");
        return NULL;
    }
    if (exporter->state_types[index] != MDF_DTYPE_NONE) {
        initial = array;
        if (!export_cast(exporter, exporter->main, &initial, exporter->state_types[index], &array)) {
            return NULL;
        }
    }
    *state = (struct exported_state){.slot = index, .name = name_state(exporter, index), .dtype = array.dtype};
    if (state->name == NULL) {
        return NULL;
    }
    exporter->n_states++;
    if ((array.constant != NULL ? begin_with : begin_with_computed)(exporter, state->name, &array, slot) == NULL) {
        return NULL;
    }
    slot->stands_for_list = symbol_is_list(&exporter->first->slots[index]);
    return slot;
}

/* ------------------------------------------------------------------ outputs */

/* A checker wants at least the rank of each output: where it is not known, that which is declared, or which the value has in an
 * evaluation. */
static bool find_rank(struct exporter *exporter, const struct mdf_declaration *declared, const struct mdf_value *value,
                      struct symbol *symbol)
{
    int64_t *shape;

    if (symbol->kind != SYMBOL_TENSOR) {
        return true;
    }
    if (symbol->dtype == MDF_DTYPE_NONE) {
        symbol->dtype = declared != NULL && declared->type.exact ? declared->type.dtype
                        : value != NULL && value->kind == MDF_KIND_TENSOR ? (mdf_dtype)value->dtype
                                                                          : MDF_DTYPE_NONE;
    }
    if (!symbol->has_shape && declared != NULL && declared->has_shape) {
        symbol->has_shape = true;
        symbol->rank = declared->rank;
        symbol->shape = declared->shape;
    }
    if ((symbol->has_shape || symbol->is_optional) && symbol->dtype != MDF_DTYPE_NONE) {
        return true;
    }
    if (value != NULL && (value->kind == MDF_KIND_LIST || value->kind == MDF_KIND_DICT)) {
        return export_refuse(exporter, "a result of maps, as ZipMap's, is not written: take the array that they are made of");
    }
    if (value == NULL || value->kind != MDF_KIND_TENSOR || symbol->dtype == MDF_DTYPE_NONE) {
        return export_refuse(exporter, "type or number of axes of a result is not known: declare them");
    }
    shape = mdf_arena_array(&exporter->arena, value->rank, sizeof *shape);
    for (size_t i = 0; shape != NULL && i < value->rank; i++) {
        shape[i] = -1;
    }
    symbol->has_shape = true;
    symbol->rank = value->rank;
    symbol->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* Keeps the names of results, which are asked for by them, from what is written before; those of inputs are taken. */
static bool keep_result_names(struct exporter *exporter)
{
    bool done = true;

    for (size_t i = 0; i < exporter->program->n_results && done; i++) {
        const char *name = exporter->program->results[i].name;

        if (name_table_find(&exporter->names, name) == NULL) {
            size_t *is_kept = name_table_add(&exporter->kept_names, &exporter->arena, name);

            done = (is_kept != NULL || export_out_of_memory(exporter)) && export_name(exporter, name) != NULL;
            if (done) {
                *is_kept = 1;
            }
        }
    }
    return done;
}

static const char *name_of_result(struct exporter *exporter, const char *wanted)
{
    size_t *is_kept = name_table_find(&exporter->kept_names, wanted);

    if (is_kept == NULL || *is_kept == 0) {
        return export_name(exporter, wanted);
    }
    *is_kept = 0;
    return wanted;
}

/* `value`: what it has been in an evaluation; NULL: that is not known. */
static bool put_array(struct exporter *exporter, const char *wanted, const struct symbol *symbol,
                       const struct mdf_declaration *declared, const struct mdf_value *value)
{
    const char *name = name_of_result(exporter, wanted), *source;
    struct mdf_text message;
    struct symbol array;
    bool done;

    if (name == NULL || !export_as_array(exporter, exporter->main, symbol, &array) || !find_rank(exporter, declared, value, &array)) {
        return false;
    }
    if (array.kind != SYMBOL_TENSOR && array.kind != SYMBOL_SEQUENCE) {
        return export_refuse(exporter, "the result '%s' is nothing that ONNX has", wanted);
    }
    if (array.kind == SYMBOL_SEQUENCE && exporter->opset < OPSET_OF_IDENTITY_OF_SEQUENCES) {
        return export_ask_opset(exporter, OPSET_OF_IDENTITY_OF_SEQUENCES, "a result that is a sequence");
    }
    if (array.is_optional && exporter->opset < EXPORT_OPSET_OF_OPTIONALS) {
        return export_ask_opset(exporter, EXPORT_OPSET_OF_OPTIONALS, "a result that may not be there");
    }
    source = symbol_name(exporter, &array);
    done = source != NULL && export_node(exporter, exporter->main, "", ONNX_IDENTITY, &source, 1, &name, 1, NULL);
    mdf_text_init(&message, exporter->memory);
    export_put_value(&message, name, &array, true);
    onnx_put_message(&exporter->main->outputs, GRAPH_OUTPUT, &message);
    mdf_text_release(&message);
    return done;
}

/* Whether the items of a list are one array for sure. */
static bool is_array(const struct symbol *symbol)
{
    if (symbol->kind != SYMBOL_LIST || symbol->constant != NULL) {
        return true;
    }
    for (size_t i = 0; i < symbol->n_items; i++) {
        const struct symbol *item = &symbol->items[i], *first = &symbol->items[0];

        if (item->kind != first->kind || !is_array(item) ||
            (item->kind == SYMBOL_TENSOR && (!item->has_shape || !symbol_has_shape_of(item, first)))) {
            return false;
        }
    }
    return true;
}

/* The same; a list whose items are no one array is an output for each of them, NAME.0, NAME.1, ... */
static bool put_output(struct exporter *exporter, const char *wanted, const struct symbol *symbol,
                       const struct mdf_declaration *declared, const struct mdf_value *value)
{
    bool has_items = value != NULL && value->kind == MDF_KIND_LIST && value->length == symbol->n_items, done = true;

    if (is_array(symbol)) {
        return put_array(exporter, wanted, symbol, declared, value);
    }
    for (size_t i = 0; i < symbol->n_items && done; i++) {
        const char *name = mdf_arena_printf(&exporter->arena, "%s.%zu", wanted, i);

        done = name != NULL ? put_output(exporter, name, &symbol->items[i], NULL, has_items ? &mdf_value_items(value)[i] : NULL)
                            : export_out_of_memory(exporter);
    }
    return done;
}

/* What the graph's interface declares of a result; NULL: nothing. */
static const struct mdf_declaration *declaration_of(const struct exporter *exporter, size_t result)
{
    const struct mdf_graph *graph = mdf_model_find_graph(exporter->model, exporter->program->graph_id);

    return graph != NULL && graph->declares_outputs && result < graph->n_outputs ? &graph->outputs[result].declaration : NULL;
}

static bool put_result(struct exporter *exporter, const char *name, size_t node, const struct mdf_program_output *output,
                       const struct mdf_declaration *declared, const struct mdf_value *value)
{
    mdf_operand operand = exporter->runs[node] ? output->operand : output->initial; /* it has what it began with */
    struct symbol constant;
    const struct symbol *symbol;

    if (operand == MDF_NO_OPERAND) {
        return export_refuse(exporter, "node '%s', of which '%s' is a result, never runs", exporter->program->nodes[node].id, name);
    }
    symbol = export_operand(exporter, exporter->environment, operand, &constant);
    return symbol != NULL && put_output(exporter, name, symbol, declared, value);
}

/* Of a graph that has no results, as an edge leads from each port: all ports. */
static bool add_ports(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;
    bool done = true;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t j = 0; j < program->nodes[i].n_outputs && exporter->runs[i] && done; j++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[j];
            const char *name = mdf_arena_printf(&exporter->arena, "%s.%s", program->nodes[i].id, output->id);

            export_is_about(exporter, program->nodes[i].id, output->id);
            done = name != NULL ? put_result(exporter, name, i, output, NULL,
                                             exporter->state != NULL ? mdf_frame_value(exporter->state->frame, output->operand) : NULL)
                                : export_out_of_memory(exporter);
        }
    }
    return done;
}

static bool add_results(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;
    bool done = true;

    exporter->at = NULL;
    for (size_t i = 0; i < program->n_results && done; i++) {
        const struct mdf_program_result *result = &program->results[i];
        const struct mdf_value *value = exporter->state != NULL ? mdf_state_result(exporter->state, i) : NULL;
        struct symbol constant;
        const struct symbol *symbol;

        if (result->output != SIZE_MAX) {
            export_is_about(exporter, program->nodes[result->node].id, program->nodes[result->node].outputs[result->output].id);
            done = put_result(exporter, result->name, result->node, &program->nodes[result->node].outputs[result->output],
                              declaration_of(exporter, i), value);
        } else {
            symbol = export_operand(exporter, exporter->environment, program->ports[result->node].slot, &constant);
            done = symbol != NULL && put_output(exporter, result->name, symbol, declaration_of(exporter, i), value);
        }
    }
    if (done && program->n_results == 0) {
        done = add_ports(exporter);
    }
    export_is_about(exporter, NULL, NULL);
    return done && (exporter->main->outputs.length > 0 ||
                    export_refuse(exporter, "the graph yields nothing: give a node an output port with a value"));
}

static bool put_no_longer_first(struct exporter *exporter)
{
    struct mdf_value *truth = export_make(exporter);
    struct symbol symbol;

    return (truth != NULL && mdf_value_make_bool(exporter->memory, truth, false)) || export_out_of_memory(exporter)
               ? symbol_of_value(exporter, truth, &symbol) &&
                     put_output(exporter, mdf_arena_printf(&exporter->arena, "%s.next", exporter->is_first.name), &symbol, NULL, NULL)
               : false;
}

/* Whether a state has another shape later than at first: as far as the next one's is known, or as one evaluation tells (NULL: none
 * did), as branches of unequal shapes leave it open. */
static bool changes_shape(const struct symbol *first, const struct symbol *next, const struct mdf_value *value)
{
    if (next->has_shape) {
        return !symbol_has_shape_of(next, first);
    }
    return value != NULL && value->kind == MDF_KIND_TENSOR &&
           !symbol_has_shape_of(&(struct symbol){.rank = value->rank, .shape = mdf_value_shape(value)}, first);
}

/* What a state is in the next evaluation. *is_settled: of the type that it is now. */
static bool add_next_states(struct exporter *exporter, mdf_dtype *types, bool *is_settled)
{
    *is_settled = true;
    for (size_t i = 0; i < exporter->n_states; i++) {
        const struct exported_state *state = &exporter->states[i];
        const struct slot_label *label = &exporter->labels[state->slot];
        struct symbol next, now = {.kind = SYMBOL_TENSOR, .dtype = state->dtype}, cast;
        const struct mdf_value *value =
            exporter->state != NULL ? mdf_frame_value(exporter->state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, state->slot)) : NULL;

        export_is_about(exporter, label->node, label->id);
        if ((state->late != NULL && !export_bring_late(exporter, state->late)) ||
            !export_as_array(exporter, exporter->main, &exporter->environment->slots[state->slot], &next)) {
            return false;
        }
        if (changes_shape(&exporter->first->slots[state->slot], &next, value)) {
            exporter->at = NULL;
            return export_refuse(exporter, "the state '%s' changes its shape: begin it in the shape that it has later", state->name);
        }
        now.strength = next.strength;
        if (next.dtype != state->dtype) {
            mdf_dtype common = export_common_type(exporter, &now, &next);

            if (common == MDF_DTYPE_NONE) {
                exporter->at = NULL;
                return export_refuse(exporter, "the state '%s' changes its type: begin it in the type that it has later", state->name);
            }
            *is_settled = *is_settled && common == state->dtype;
            types[state->slot] = common;
        }
        if (!export_cast(exporter, exporter->main, &next, types[state->slot] != MDF_DTYPE_NONE ? types[state->slot] : next.dtype, &cast) ||
            !put_output(exporter, mdf_arena_printf(&exporter->arena, "%s.next", state->name), &cast, NULL,
                        value)) {
            return false;
        }
    }
    return exporter->is_first.kind == SYMBOL_UNKNOWN || put_no_longer_first(exporter);
}

/* ------------------------------------------------------------------ the whole */

static bool build(struct exporter *exporter, mdf_dtype *types, bool *is_settled)
{
    exporter->main = export_begin_graph(exporter, NULL, exporter->program->graph_id);
    exporter->environment = export_environment(exporter, exporter->program->code, NULL, exporter->main);
    exporter->first = export_environment(exporter, exporter->program->code, NULL, exporter->main);
    exporter->states = mdf_arena_array(&exporter->arena, exporter->program->code->n_slots, sizeof *exporter->states);
    exporter->domain_names = mdf_arena_array(&exporter->arena, MOST_DOMAINS, sizeof *exporter->domain_names);
    if (exporter->main == NULL || exporter->environment == NULL || exporter->first == NULL || exporter->states == NULL ||
        exporter->domain_names == NULL || !label_slots(exporter)) {
        return export_out_of_memory(exporter);
    }
    return export_inputs(exporter) && keep_result_names(exporter) && export_nodes(exporter) && add_results(exporter) &&
           add_next_states(exporter, types, is_settled);
}

static void put_opset(struct mdf_text *bytes, const char *domain, int64_t version)
{
    struct mdf_text opset;

    mdf_text_init(&opset, bytes->memory);
    onnx_put_string(&opset, OPSET_DOMAIN, domain);
    onnx_put_integer(&opset, OPSET_VERSION, version);
    onnx_put_message(bytes, MODEL_OPSET, &opset);
    mdf_text_release(&opset);
}

static void put_model(struct exporter *exporter, struct mdf_text *bytes)
{
    struct mdf_text graph;

    mdf_text_init(&graph, exporter->memory);
    export_end_graph(exporter, exporter->main, &graph);
    mdf_text_append(&graph, exporter->initializers.bytes, exporter->initializers.length);
    graph.failed |= exporter->initializers.failed;
    onnx_put_integer(bytes, MODEL_IR, ir_version(exporter->opset));
    onnx_put_string(bytes, MODEL_PRODUCER, "mdf_c");
    onnx_put_string(bytes, MODEL_PRODUCER_VERSION, MDF_VERSION);
    onnx_put_message(bytes, MODEL_GRAPH, &graph);
    put_opset(bytes, "", exporter->opset);
    for (size_t i = 0; i < exporter->n_domains; i++) {
        put_opset(bytes, exporter->domain_names[i], (int64_t)*name_table_find(&exporter->domains, exporter->domain_names[i]));
    }
    mdf_text_release(&graph);
}

static void begin(struct exporter *exporter, const struct mdf_model *model, const struct mdf_program *program,
                  struct mdf_memory *memory, const mdf_dtype *types, int least_opset, mdf_error *error)
{
    *exporter = (struct exporter){.model = model, .program = program, .memory = memory, .error = error, .state_types = types};
    mdf_arena_init(&exporter->arena, memory);
    mdf_text_init(&exporter->initializers, memory);
    exporter->context.memory = memory;
    exporter->context.real = program->real;
    exporter->context.n_threads = 1;
    exporter->opset = find_opset(exporter, least_opset);
}

static void end(struct exporter *exporter)
{
    struct onnx_graph *graph;

    for (graph = exporter->graphs; graph != NULL; graph = graph->next) {
        mdf_text_release(&graph->nodes);
        mdf_text_release(&graph->inputs);
        mdf_text_release(&graph->outputs);
    }
    for (size_t i = 0; i < exporter->n_made; i++) {
        mdf_value_clear(exporter->memory, exporter->made[i]);
    }
    mdf_memory_release(exporter->memory, exporter->made);
    mdf_memory_release(exporter->memory, exporter->written);
    mdf_memory_release(exporter->memory, exporter->written_names);
    mdf_text_release(&exporter->initializers);
    mdf_arena_release(&exporter->arena);
}

/* Makes `ones` an array of ones; of strings each is "1", which is a number too where one is read from it. */
static bool make_ones(struct mdf_memory *memory, mdf_dtype dtype, size_t rank, const int64_t *shape, struct mdf_value *ones)
{
    char *elements = mdf_value_make_tensor(memory, ones, dtype, rank, shape);
    struct mdf_value one = {0}, real = {0};
    bool done = elements != NULL;

    if (dtype == MDF_DTYPE_STRING) {
        for (size_t i = 0; done && i < ones->length; i++) {
            done = (((char **)elements)[i] = mdf_string_new(memory, "1", 1)) != NULL;
        }
        return done;
    }
    done = done && mdf_value_make_double(memory, &real, 1) && mdf_value_convert(memory, &one, &real, dtype);
    for (size_t i = 0; done && i < ones->length; i++) {
        memcpy(elements + i * mdf_dtype_size(dtype), one.data, mdf_dtype_size(dtype));
    }
    mdf_value_clear(memory, &one);
    mdf_value_clear(memory, &real);
    return done;
}

/* Gives ones to the inputs that must be given. */
static bool give_ones(struct mdf_state *state, struct mdf_memory *memory)
{
    const struct mdf_program *program = state->program;
    bool done = true;

    for (size_t i = 0; i < program->n_ports && done; i++) {
        const struct mdf_declaration *declaration = &program->ports[i].declaration;
        mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype : program->real;
        int64_t *shape = mdf_memory_allocate_zeroed(memory, declaration->rank + 1, sizeof *shape);
        struct mdf_value ones = {0};

        if (!program->ports[i].is_required || declaration->type.sequence || declaration->type.optional || declaration->type.map) {
            mdf_memory_release(memory, shape);
            continue;
        }
        for (size_t j = 0; shape != NULL && j < declaration->rank && declaration->has_shape; j++) {
            shape[j] = declaration->shape[j] < 0 ? 1 : declaration->shape[j];
        }
        done = shape != NULL && make_ones(memory, dtype, declaration->has_shape ? declaration->rank : 0, shape, &ones) &&
               mdf_state_set_port(state, i, &ones);
        mdf_value_clear(memory, &ones);
        mdf_memory_release(memory, shape);
    }
    return done;
}

/* The model as it runs without inputs but those that it must have; NULL: it does not. */
static struct mdf_state *evaluate(const struct mdf_program *program, struct mdf_memory *memory)
{
    struct mdf_state *state = mdf_state_create(program, NULL);

    if (state != NULL && (!give_ones(state, memory) || mdf_state_evaluate(state, NAN, NULL) != MDF_OK)) {
        mdf_state_release(state);
        state = NULL;
    }
    return state;
}

/* A state may begin as a whole number and go on as a real one: then it is a real one from the beginning, and all is done again; so it
 * is where a call needs a newer opset than the model names. */
mdf_status mdf_export_onnx(const struct mdf_model *model, const struct mdf_program *program, struct mdf_text *bytes,
                           mdf_error *error)
{
    struct mdf_memory *memory = bytes->memory;
    mdf_dtype *types = mdf_memory_allocate_zeroed(memory, program->code->n_slots + 1, sizeof *types);
    struct mdf_state *state = evaluate(program, memory);
    bool is_settled = false, done = types != NULL;
    mdf_error own = {0};
    int opset = 0;

    for (size_t i = 0; types != NULL && i <= program->code->n_slots; i++) {
        types[i] = MDF_DTYPE_NONE;
    }
    for (size_t tries = 0; done && !is_settled && tries < MOST_TRIES; tries++) {
        struct exporter exporter;

        begin(&exporter, model, program, memory, types, opset, &own);
        exporter.state = state;
        done = build(&exporter, types, &is_settled);
        if (!done && exporter.wanted_opset > exporter.opset) {
            opset = exporter.wanted_opset;
            own = (mdf_error){0};
            done = true;
        }
        if (done && is_settled) {
            put_model(&exporter, bytes);
        }
        end(&exporter);
    }
    mdf_state_release(state);
    mdf_memory_release(memory, types);
    if (types == NULL || bytes->failed) {
        return mdf_memory_error(memory, error);
    }
    if (done && !is_settled) {
        mdf_error_set(&own, MDF_UNSUPPORTED, "this can not be written as ONNX: the types of its states do not settle");
    }
    if (own.code != MDF_OK && error != NULL && error->code == MDF_OK) {
        *error = own;
    }
    return own.code;
}
