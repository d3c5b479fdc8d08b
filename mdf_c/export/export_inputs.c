/* export_inputs.c - the inputs of the graph: a port to which no edge leads is one. */
#include "mdf_c/export/exporter.h"

#include "mdf_c/code/operands.h"
#include "schemas/onnx_names.h"

enum { MOST_COPIES = 4 };

/* What is known of all ports and slots before the first input is added. */
struct inputs {
    struct name_table same, named; /* how many ports that are not fed have an id; the port of an input, counted from 1 */
    mdf_dtype *types;             /* of each slot: what the first call that takes it needs of it; NONE: reals, or there is none */
    size_t *copies, *next_copy;   /* of each slot, of each instruction: what copies it, and the next that does; counted from 1 */
};

void export_put_input(struct exporter *exporter, const char *name, const struct symbol *symbol, const struct mdf_value *value)
{
    struct mdf_text message;

    mdf_text_init(&message, exporter->memory);
    export_put_value(&message, name, symbol, true);
    onnx_put_message(&exporter->main->inputs, GRAPH_INPUT, &message);
    if (value != NULL) {
        onnx_put_tensor(&message, name, value);
        onnx_put_message(&exporter->initializers, GRAPH_INITIALIZER, &message);
    }
    mdf_text_release(&message);
}

/* The element type that a call needs of a slot, which says nothing of its own: that of all reals, unless they are not allowed. */
static mdf_dtype type_of_formal(const struct mdf_code_call *call, size_t input, mdf_dtype real)
{
    static const mdf_dtype others[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, MDF_DTYPE_BOOL, MDF_DTYPE_INT32, MDF_DTYPE_UINT8};
    mdf_dtype_set allowed;

    if (call->operator->form == MDF_FORM_LOOP && input < 2) {
        return input == 0 ? MDF_DTYPE_INT64 : MDF_DTYPE_BOOL;
    }
    if (call->operator->form == MDF_FORM_IF) {
        return MDF_DTYPE_BOOL;
    }
    if (call->signature == NULL || input >= call->signature->n_inputs) {
        return real;
    }
    allowed = call->signature->inputs[input].tensors;
    for (size_t i = 0; (allowed & MDF_DTYPE_BIT(real)) == 0 && i < sizeof others / sizeof *others; i++) {
        if ((allowed & MDF_DTYPE_BIT(others[i])) != 0) {
            return others[i];
        }
    }
    return real;
}

static void note_type(const struct mdf_program *program, struct inputs *inputs, const struct mdf_code_call *call, size_t input)
{
    mdf_operand operand = call->inputs[input];
    mdf_dtype dtype = type_of_formal(call, input, program->real);

    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && dtype != program->real &&
        inputs->types[MDF_OPERAND_INDEX(operand)] == MDF_DTYPE_NONE) {
        inputs->types[MDF_OPERAND_INDEX(operand)] = dtype;
    }
}

static void note_uses(const struct mdf_program *program, struct inputs *inputs)
{
    const struct mdf_code *code = program->code;

    for (size_t i = 0; i < code->n_calls; i++) {
        for (size_t j = 0; j < code->calls[i].n_inputs; j++) {
            note_type(program, inputs, &code->calls[i], j);
        }
    }
    for (size_t i = code->n_instructions; i-- > 0;) { /* the first is found first */
        const struct mdf_instruction *instruction = &code->instructions[i];

        if (mdf_hands_on(instruction) && MDF_OPERAND_KIND(instruction->b) == MDF_OPERAND_SLOT) {
            size_t *first = &inputs->copies[MDF_OPERAND_INDEX(instruction->b)];

            inputs->next_copy[i] = *first;
            *first = i + 1;
        }
    }
}

static bool look_over(struct exporter *exporter, struct inputs *inputs)
{
    const struct mdf_program *program = exporter->program;
    struct mdf_arena *arena = &exporter->arena;
    size_t n_slots = program->code->n_slots, *n_same;

    *inputs = (struct inputs){.types = mdf_arena_array(arena, n_slots, sizeof *inputs->types),
                              .copies = mdf_arena_array(arena, n_slots, sizeof *inputs->copies),
                              .next_copy = mdf_arena_array(arena, program->code->n_instructions, sizeof *inputs->next_copy)};
    if (inputs->types == NULL || inputs->copies == NULL || inputs->next_copy == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < n_slots; i++) {
        inputs->types[i] = MDF_DTYPE_NONE;
    }
    note_uses(program, inputs);
    for (size_t i = 0; i < program->n_ports; i++) {
        if (program->ports[i].is_fed) {
            continue;
        }
        n_same = name_table_add(&inputs->same, arena, program->ports[i].id);
        if (n_same == NULL) {
            return export_out_of_memory(exporter);
        }
        ++*n_same;
    }
    return true;
}

/* What the graph calls the input: the name of its interface, else PORT, or NODE.PORT where several have that name. */
static const char *input_name(struct exporter *exporter, const struct inputs *inputs, const struct mdf_program_port *port)
{
    if (port->input_name != NULL) {
        return port->input_name;
    }
    return *name_table_find(&inputs->same, port->id) > 1 && port->node != SIZE_MAX
               ? mdf_arena_printf(&exporter->arena, "%s.%s", exporter->program->nodes[port->node].id, port->id)
               : port->id;
}

/* The element type that the first call that takes a slot, or a copy of it, needs of it, where that is no real. */
static mdf_dtype type_of_use(const struct mdf_program *program, const struct inputs *inputs, mdf_operand slot, int depth)
{
    mdf_dtype dtype = inputs->types[MDF_OPERAND_INDEX(slot)];
    size_t copy = inputs->copies[MDF_OPERAND_INDEX(slot)];

    dtype = dtype == MDF_DTYPE_NONE ? program->real : dtype;
    for (; copy > 0 && depth > 0 && dtype == program->real; copy = inputs->next_copy[copy - 1]) {
        dtype = type_of_use(program, inputs, program->code->instructions[copy - 1].a, depth - 1);
    }
    return dtype;
}

static bool add_input(struct exporter *exporter, struct inputs *inputs, size_t index)
{
    const struct mdf_program_port *port = &exporter->program->ports[index];
    const struct mdf_declaration *declaration = &port->declaration;
    struct symbol *slot = &exporter->environment->slots[MDF_OPERAND_INDEX(port->slot)], constant, given;
    const char *name = input_name(exporter, inputs, port);
    size_t *same = name != NULL ? name_table_add(&inputs->named, &exporter->arena, name) : NULL;
    const struct mdf_value *value = NULL;
    size_t *number;

    exporter->at = &port->origin;
    if (same == NULL) {
        return export_out_of_memory(exporter);
    }
    if (*same > 0) { /* an input that several ports have is one */
        *slot = exporter->environment->slots[MDF_OPERAND_INDEX(exporter->program->ports[*same - 1].slot)];
        return true;
    }
    *same = index + 1;
    if (declaration->type.map) {
        return export_refuse(exporter, "an input that is an object");
    }
    if (declaration->type.optional && (declaration->type.dtype == MDF_DTYPE_NONE || port->default_value != MDF_NO_OPERAND)) {
        return export_refuse(exporter, "an input that is optional, without a type of its elements or with a default value");
    }
    if (port->is_required && declaration->type.dtype != MDF_DTYPE_NONE && declaration->type.exact && !declaration->type.sequence &&
        !declaration->type.optional && !declaration->has_shape) { /* of an .onnx file it may be any */
        return export_refuse(exporter, "the input '%s' has a type and no shape, which onnx.checker asks for: declare its shape", name);
    }
    *slot = (struct symbol){.kind = declaration->type.sequence ? SYMBOL_SEQUENCE : SYMBOL_TENSOR,
                            .dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype
                                                                               : type_of_use(exporter->program, inputs, port->slot, MOST_COPIES),
                            .strength = declaration->type.exact                                ? MDF_STRENGTH_TYPED
                                        : declaration->has_shape && declaration->rank > 0 ? MDF_STRENGTH_LITERAL
                                                                                          : MDF_STRENGTH_PYTHON,
                            .has_shape = declaration->has_shape || !declaration->type.optional, /* of what has none: one number */
                            .is_optional = declaration->type.optional,
                            .rank = declaration->has_shape ? declaration->rank : 0,
                            .shape = declaration->shape};
    if (port->default_value != MDF_NO_OPERAND) {
        const struct symbol *found = export_operand(exporter, exporter->environment, port->default_value, &constant);

        if (found == NULL || !export_declare(exporter, exporter->main, found, &declaration->type, &given) ||
            !export_as_array(exporter, exporter->main, &given, &constant)) {
            return false;
        }
        value = constant.constant;
        slot->dtype = constant.dtype;
        slot->strength = constant.strength;
        if (!declaration->has_shape) {
            slot->rank = constant.rank;
            slot->shape = constant.shape;
        }
    }
    number = name_table_add(&exporter->names, &exporter->arena, name);
    if (number == NULL) {
        return export_out_of_memory(exporter);
    }
    *number = 1;
    slot->name = name;
    export_put_input(exporter, name, slot, value);
    return true;
}

bool export_inputs(struct exporter *exporter)
{
    struct inputs inputs;

    if (!look_over(exporter, &inputs)) {
        return false;
    }
    for (size_t i = 0; i < exporter->program->n_ports; i++) {
        if (!exporter->program->ports[i].is_fed && !add_input(exporter, &inputs, i)) {
            return false;
        }
    }
    return true;
}
