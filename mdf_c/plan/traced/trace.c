/* trace.c - see trace.h.
 *
 * Comes in: the code of a graph's nodes, whose slots are written again in each evaluation. Goes out: code in which each operand
 * is written once. Where the ways behind a jump meet, what both wrote is copied to one slot. */
#include "mdf_c/plan/traced/trace.h"

#include "mdf_c/code/operands.h"
#include "mdf_c/plan/gradient/gradient.h"
#include "mdf_c/plan/gradient/loop_segments.h"

#include <string.h>

static bool out_of_memory(struct tracer *tracer)
{
    compile_out_of_memory(tracer->target.compiler);
    return false;
}

bool trace_refuse(struct tracer *tracer, const char *what)
{
    compile_error(tracer->target.compiler, MDF_UNSUPPORTED, "%s of a graph with %s", tracer->purpose, what);
    return false;
}

/* ------------------------------------------------------------------ operands */

mdf_operand *trace_new_operands(struct compiler *compiler, size_t n, mdf_operand value)
{
    mdf_operand *operands = mdf_arena_array(&compiler->scratch, n, sizeof *operands);

    for (size_t i = 0; operands != NULL && i < n; i++) {
        operands[i] = value;
    }
    if (operands == NULL) {
        compile_out_of_memory(compiler);
    }
    return operands;
}

static mdf_operand copy_constant(struct tracer *tracer, mdf_operand operand)
{
    mdf_operand *kept = &tracer->constants[MDF_OPERAND_INDEX(operand)];
    const struct mdf_value *value = (const struct mdf_value *)tracer->from->constants.items + MDF_OPERAND_INDEX(operand);
    struct mdf_value copy = {0};

    if (*kept == TRACE_NOT_SEEN) {
        if (!mdf_value_copy(tracer->target.compiler->memory, &copy, value)) {
            return compile_out_of_memory(tracer->target.compiler);
        }
        *kept = unit_add_constant(&tracer->target, &copy, unit_flags(tracer->from, operand));
    }
    return *kept;
}

/* What a graph within a node sees of the graph around it. */
static mdf_operand outer_operand(struct tracer *tracer, mdf_operand capture)
{
    size_t frame = tracer->frame;
    const struct mdf_code *code = tracer->frames[frame].code;
    mdf_operand operand;

    trace_enter(tracer, tracer->frames[frame].outer);
    operand = trace_operand(tracer, code->captures[MDF_OPERAND_INDEX(capture)]);
    trace_enter(tracer, frame);
    return operand;
}

mdf_operand trace_operand(struct tracer *tracer, mdf_operand operand)
{
    size_t slot = MDF_OPERAND_INDEX(operand);

    if (operand == MDF_NO_OPERAND) {
        return operand;
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        return tracer->target.unit != tracer->from ? copy_constant(tracer, operand) : operand;
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        return outer_operand(tracer, operand);
    }
    if (!tracer->is_written[slot]) {
        return unit_capture(&tracer->target, tracer->target.unit, tracer->from, operand);
    }
    if (tracer->now[slot] == TRACE_NOT_SEEN && tracer->read_before != NULL) {
        mdf_operand *before = &tracer->before[slot];

        *before = *before == TRACE_NOT_SEEN ? tracer->read_before(tracer, slot) : *before;
        if (*before == MDF_NO_OPERAND) {
            return *before;
        }
        tracer->now[slot] = *before;
    }
    if (tracer->now[slot] == TRACE_NOT_CLEAR || tracer->now[slot] == TRACE_NOT_SEEN) {
        return compile_error(tracer->target.compiler, MDF_UNSUPPORTED, "%s of a graph that reads a value before it has one",
                             tracer->purpose);
    }
    return tracer->now[slot];
}

/* A new slot for the value of one of the graph. */
static mdf_operand new_value(struct tracer *tracer, mdf_operand of)
{
    mdf_operand slot = unit_new_slot(&tracer->target, unit_flags(tracer->from, of) & (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL));

    if (slot != MDF_NO_OPERAND) {
        tracer->now[MDF_OPERAND_INDEX(of)] = slot;
    }
    return slot;
}

/* ------------------------------------------------------------------ instructions */

static const struct mdf_instruction *instruction_at(const struct tracer *tracer, size_t at)
{
    return unit_instruction(tracer->from, at);
}

/* The bodies of a call with captures of what holds their values here. */
static bool copy_bodies(struct tracer *tracer, struct mdf_code_call *call)
{
    struct compiler *compiler = tracer->target.compiler;
    uint32_t *indices = mdf_arena_array(compiler->arena, call->n_bodies, sizeof *indices);

    for (size_t i = 0; indices != NULL && i < call->n_bodies; i++) {
        struct mdf_code *copy;
        mdf_operand *captures;

        indices[i] = call->bodies[i];
        if (indices[i] == UINT32_MAX) {
            continue;
        }
        copy = unit_copy_code(compiler, ((struct mdf_code **)tracer->from->bodies.items)[indices[i]]);
        if (copy == NULL) {
            return false;
        }
        indices[i] = (uint32_t)tracer->target.unit->bodies.n;
        if (!list_add(compiler, &tracer->target.unit->bodies, &copy, sizeof copy)) {
            mdf_code_clear(compiler->memory, copy);
            return false;
        }
        captures = mdf_arena_array(compiler->arena, copy->n_captures, sizeof *captures);
        if (captures == NULL) {
            return out_of_memory(tracer);
        }
        for (size_t k = 0; k < copy->n_captures; k++) {
            captures[k] = trace_operand(tracer, copy->captures[k]);
            if (captures[k] == MDF_NO_OPERAND) {
                return false;
            }
        }
        copy->captures = captures;
    }
    call->bodies = indices;
    return indices != NULL || out_of_memory(tracer);
}

/* A call, of which that with the number `from` is traced. */
static bool emit_in_segments(struct tracer *tracer, uint32_t from, const struct mdf_code_call *call)
{
    const struct mdf_code_call *traced = (const struct mdf_code_call *)tracer->from->calls.items + from;
    const mdf_operand *inputs = traced->inputs;
    struct mdf_static_type *types = mdf_arena_array(&tracer->target.compiler->scratch, call->n_inputs + 1, sizeof *types);

    for (size_t i = 0; types != NULL && i < call->n_inputs; i++) {
        types[i] = traced->inputs[i] != MDF_NO_OPERAND ? unit_type(tracer->from, traced->inputs[i]) : mdf_static_unknown;
    }
    return types != NULL ? segments_emit_call(&tracer->target, call,
                                              &(struct traced_call){tracer->from, inputs, types, tracer->bound_bytes})
                         : out_of_memory(tracer);
}

/* `keeps_outputs`: they are written where they are now; else each has a slot of its own. */
static bool trace_call(struct tracer *tracer, const struct mdf_instruction *instruction, bool keeps_outputs)
{
    struct mdf_code_call call = ((const struct mdf_code_call *)tracer->from->calls.items)[instruction->target];
    size_t n = call.n_inputs + call.n_outputs;
    mdf_operand *operands = trace_new_operands(tracer->target.compiler, n, MDF_NO_OPERAND);

    if (operands == NULL) {
        return false;
    }
    for (size_t i = 0; i < call.n_inputs; i++) {
        operands[i] = trace_operand(tracer, call.inputs[i]);
        if (operands[i] == MDF_NO_OPERAND && call.inputs[i] != MDF_NO_OPERAND) {
            return false;
        }
    }
    if (!copy_bodies(tracer, &call)) {
        return false;
    }
    for (size_t i = 0; i < call.n_outputs; i++) {
        mdf_operand output = call.outputs[i];

        operands[call.n_inputs + i] = output == MDF_NO_OPERAND ? output
                                      : keeps_outputs          ? tracer->now[MDF_OPERAND_INDEX(output)]
                                                               : new_value(tracer, output);
        if (operands[call.n_inputs + i] == MDF_NO_OPERAND && output != MDF_NO_OPERAND) {
            return false;
        }
    }
    call.inputs = operands;
    call.outputs = operands + call.n_inputs;
    return tracer->bound_bytes > 0 && !keeps_outputs ? emit_in_segments(tracer, instruction->target, &call)
                                                     : unit_emit_call(&tracer->target, &call);
}

static bool trace_swap(struct tracer *tracer, const struct mdf_instruction *instruction)
{
    mdf_operand a = trace_operand(tracer, instruction->a), b = trace_operand(tracer, instruction->b);

    tracer->now[MDF_OPERAND_INDEX(instruction->a)] = b;
    tracer->now[MDF_OPERAND_INDEX(instruction->b)] = a;
    return a != MDF_NO_OPERAND && b != MDF_NO_OPERAND;
}

static const struct mdf_declared_type *declared(const struct tracer *tracer, const struct mdf_instruction *instruction)
{
    return (const struct mdf_declared_type *)tracer->from->declarations.items + instruction->c;
}

static bool trace_move(struct tracer *tracer, const struct mdf_instruction *instruction)
{
    struct mdf_instruction kept = *instruction;
    mdf_operand source = trace_operand(tracer, kept.b), *now = &tracer->now[MDF_OPERAND_INDEX(kept.a)];

    if (source == MDF_NO_OPERAND) {
        return false;
    }
    if (kept.opcode == MDF_OPCODE_DECLARE) {
        struct mdf_declared_type type = *declared(tracer, &kept); /* the list of declarations grows */

        *now = unit_declare(&tracer->target, source, &type);
        return *now != MDF_NO_OPERAND;
    }
    if (kept.opcode != MDF_OPCODE_ARRAY) {
        *now = source; /* what is written once is not written over */
        return true;
    }
    return new_value(tracer, kept.a) != MDF_NO_OPERAND && unit_emit(&tracer->target, MDF_OPCODE_ARRAY, *now, source, 0);
}

static bool trace_list(struct tracer *tracer, const struct mdf_instruction *instruction)
{
    mdf_operand list = new_value(tracer, instruction->a);

    return list != MDF_NO_OPERAND && unit_emit(&tracer->target, MDF_OPCODE_LIST, list, 0, 0);
}

static bool trace_append(struct tracer *tracer, const struct mdf_instruction *instruction)
{
    mdf_operand list = trace_operand(tracer, instruction->a), item = trace_operand(tracer, instruction->b);

    return list != MDF_NO_OPERAND && item != MDF_NO_OPERAND && unit_emit(&tracer->target, MDF_OPCODE_APPEND, list, item, 0);
}

/* ------------------------------------------------------------------ jumps */

static bool note_write(void *context, mdf_operand slot)
{
    ((bool *)context)[MDF_OPERAND_INDEX(slot)] = true;
    return false;
}

bool *trace_writes(struct tracer *tracer, size_t first, size_t end)
{
    bool *is_written = mdf_arena_array(&tracer->target.compiler->scratch, tracer->n_slots, sizeof *is_written);

    if (is_written == NULL) {
        out_of_memory(tracer);
        return NULL;
    }
    for (size_t i = first; i < end; i++) {
        mdf_any_written(instruction_at(tracer, i), tracer->from->calls.items, note_write, is_written);
    }
    return is_written;
}

bool trace_has_value(const struct tracer *tracer, size_t slot)
{
    return trace_is_clear(tracer->now[slot]);
}

mdf_operand *trace_copy_operands(struct tracer *tracer, const mdf_operand *operands)
{
    mdf_operand *copy = trace_new_operands(tracer->target.compiler, tracer->n_slots, MDF_NO_OPERAND);

    if (copy != NULL) {
        memcpy(copy, operands, tracer->n_slots * sizeof *copy);
    }
    return copy;
}

/* An instruction of what is gone through item by item: its results go where they are. */
static bool trace_repeated(struct tracer *tracer, size_t at, size_t first, size_t new_first)
{
    struct mdf_instruction kept = *instruction_at(tracer, at);
    mdf_operand a, b = MDF_NO_OPERAND;

    switch ((enum mdf_opcode)kept.opcode) {
    case MDF_OPCODE_CALL:
        return trace_call(tracer, &kept, true);
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_NEXT:
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_APPEND:
        break;
    default:
        return trace_refuse(tracer, "such a comprehension");
    }
    a = kept.opcode == MDF_OPCODE_JUMP ? 0 : trace_operand(tracer, kept.a);
    if (kept.opcode == MDF_OPCODE_NEXT || kept.opcode == MDF_OPCODE_COPY || kept.opcode == MDF_OPCODE_BORROW ||
        kept.opcode == MDF_OPCODE_ARRAY || kept.opcode == MDF_OPCODE_APPEND) {
        b = trace_operand(tracer, kept.b);
        if (b == MDF_NO_OPERAND) {
            return false;
        }
    }
    if (a == MDF_NO_OPERAND || !unit_emit(&tracer->target, (enum mdf_opcode)kept.opcode, a, b == MDF_NO_OPERAND ? 0 : b,
                                          kept.opcode == MDF_OPCODE_NEXT ? tracer->now[MDF_OPERAND_INDEX(kept.c)] : 0)) {
        return false;
    }
    unit_instruction(tracer->target.unit, unit_position(tracer->target.unit) - 1)->target =
        (uint32_t)(kept.target - first + new_first);
    return true;
}

/* A slot that is written again and again gets one of its own. */
static bool own_slot(struct tracer *tracer, size_t slot)
{
    mdf_operand before = tracer->now[slot], own = new_value(tracer, MDF_OPERAND(MDF_OPERAND_SLOT, slot));

    return own != MDF_NO_OPERAND && (!trace_is_clear(before) || unit_emit(&tracer->target, MDF_OPCODE_COPY, own, before, 0));
}

static bool trace_repetition(struct tracer *tracer, size_t first, size_t end)
{
    const bool *is_written = trace_writes(tracer, first, end);
    size_t new_first;

    for (size_t i = 0; is_written != NULL && i < tracer->n_slots; i++) {
        if (is_written[i] && !own_slot(tracer, i)) {
            return false;
        }
    }
    new_first = unit_position(tracer->target.unit);
    for (size_t i = first; is_written != NULL && i < end; i++) {
        if (!trace_repeated(tracer, i, first, new_first)) {
            return false;
        }
    }
    return is_written != NULL;
}

static bool trace_jump(struct tracer *tracer, size_t at, size_t *next)
{
    struct region region = gradient_find_region(tracer->from, at);

    *next = region.end;
    return trace_choice(tracer, at, region.first_end, region.second, region.end);
}

/* The frame of a graph within a node; SIZE_MAX: it has none. */
static size_t find_frame(const struct tracer *tracer, uint32_t body)
{
    size_t i = 1;

    while (i < tracer->n_frames && (tracer->frames[i].outer != tracer->frame || tracer->frames[i].body != body)) {
        i++;
    }
    return i < tracer->n_frames ? i : SIZE_MAX;
}

/* A graph within a node, all of whose nodes run. */
static bool trace_graph(struct tracer *tracer, uint32_t body)
{
    size_t frame = tracer->frame, inner = find_frame(tracer, body);
    bool done;

    if (inner == SIZE_MAX) {
        return trace_refuse(tracer, "graphs within its nodes");
    }
    trace_enter(tracer, inner);
    done = tracer->trace_inner != NULL ? tracer->trace_inner(tracer) : trace_nodes(tracer, tracer->is_first);
    trace_enter(tracer, frame);
    return done;
}

/* What it has of an output port then. */
static bool trace_yield(struct tracer *tracer, const struct mdf_instruction *instruction)
{
    size_t frame = tracer->frame, inner = find_frame(tracer, instruction->target);
    mdf_operand value;

    if (inner == SIZE_MAX) {
        return trace_refuse(tracer, "graphs within its nodes");
    }
    trace_enter(tracer, inner);
    value = trace_operand(tracer, tracer->frames[inner].code->yields[instruction->c]);
    trace_enter(tracer, frame);
    tracer->now[MDF_OPERAND_INDEX(instruction->a)] = value;
    return value != MDF_NO_OPERAND;
}

bool trace_one(struct tracer *tracer, size_t at, size_t *next)
{
    struct mdf_instruction instruction = *instruction_at(tracer, at);

    *next = at + 1;
    tracer->target.compiler->origin = instruction.origin;
    switch ((enum mdf_opcode)instruction.opcode) {
    case MDF_OPCODE_CALL:
        return trace_call(tracer, &instruction, false);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return trace_move(tracer, &instruction);
    case MDF_OPCODE_SWAP:
        return trace_swap(tracer, &instruction);
    case MDF_OPCODE_LIST:
        return trace_list(tracer, &instruction);
    case MDF_OPCODE_APPEND:
        return trace_append(tracer, &instruction);
    case MDF_OPCODE_JUMP:
        *next = instruction.target;
        return true;
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        *next = tracer->has_dt ? at + 1 : instruction.target;
        return true;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        return trace_jump(tracer, at, next);
    case MDF_OPCODE_NEXT:
        *next = instruction.target;
        return trace_repetition(tracer, at, instruction.target);
    case MDF_OPCODE_GRAPH:
        return trace_graph(tracer, instruction.target);
    case MDF_OPCODE_YIELD:
        break;
    }
    return trace_yield(tracer, &instruction);
}

bool trace_range(struct tracer *tracer, size_t first, size_t end)
{
    size_t at = first, next;

    for (; at < end; at = next) {
        if (!trace_one(tracer, at, &next)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

const struct mdf_program *trace_program(const struct tracer *tracer)
{
    return tracer->frames != NULL ? tracer->frames[tracer->frame].program : tracer->target.compiler->program;
}

static bool trace_node(struct tracer *tracer, const struct mdf_program_node *node, bool is_first)
{
    if (node->has_graph && tracer->frames == NULL) {
        return trace_refuse(tracer, "graphs within its nodes");
    }
    if (node->finished != MDF_NO_OPERAND && tracer->repeat == NULL) {
        return trace_refuse(tracer, "nodes that run until they are finished");
    }
    if (!trace_ports(tracer, node)) {
        return false;
    }
    return trace_range(tracer, node->first, node->initial) && (!is_first || trace_range(tracer, node->initial, node->main)) &&
           trace_range(tracer, node->main, node->end) && (node->finished == MDF_NO_OPERAND || tracer->repeat(tracer, node));
}

bool trace_nodes(struct tracer *tracer, bool is_first)
{
    const struct mdf_program *program = trace_program(tracer);

    tracer->is_first = is_first;
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t k = 0; k < program->layers[i].n_nodes; k++) {
            if (!trace_node(tracer, &program->nodes[program->layers[i].nodes[k]], is_first)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the beginning */

static bool begin_frame(struct tracer *tracer)
{
    struct compiler *compiler = tracer->target.compiler;

    tracer->now = trace_new_operands(compiler, tracer->n_slots, TRACE_NOT_SEEN);
    tracer->before = trace_new_operands(compiler, tracer->n_slots, TRACE_NOT_SEEN);
    tracer->constants = trace_new_operands(compiler, tracer->from->constant_facts.n, TRACE_NOT_SEEN);
    tracer->marks = mdf_arena_array(&compiler->scratch, tracer->n_slots + 1, sizeof *tracer->marks);
    if (tracer->marks == NULL) {
        return out_of_memory(tracer);
    }
    return tracer->now != NULL && tracer->before != NULL && tracer->constants != NULL;
}

/* A tracer that begins where another stands has frames of its own. */
bool trace_begin(struct tracer *tracer)
{
    struct trace_frame *frames = mdf_arena_array(&tracer->target.compiler->scratch, tracer->n_frames + 1, sizeof *frames);

    if (frames == NULL) {
        return out_of_memory(tracer);
    }
    for (size_t i = 0; i < tracer->n_frames; i++) {
        frames[i] = tracer->frames[i];
        frames[i].is_fed =
            mdf_arena_array(&tracer->target.compiler->scratch, frames[i].program->n_ports + 1, sizeof *frames[i].is_fed);
        tracer->from = frames[i].from;
        tracer->n_slots = frames[i].n_slots;
        if (frames[i].is_fed == NULL || !begin_frame(tracer)) {
            return frames[i].is_fed != NULL ? false : out_of_memory(tracer);
        }
        if (tracer->frames[i].is_fed != NULL) { /* it begins amid the run of a node */
            memcpy(frames[i].is_fed, tracer->frames[i].is_fed, frames[i].program->n_ports * sizeof *frames[i].is_fed);
        }
        frames[i].now = tracer->now;
        frames[i].before = tracer->before;
        frames[i].constants = tracer->constants;
        frames[i].marks = tracer->marks;
    }
    if (tracer->n_frames == 0) {
        return begin_frame(tracer);
    }
    tracer->frames = frames;
    trace_enter(tracer, 0);
    return true;
}

/* ------------------------------------------------------------------ frames */

void trace_enter(struct tracer *tracer, size_t frame)
{
    const struct trace_frame *entered = &tracer->frames[frame];

    tracer->frame = frame;
    tracer->from = entered->from;
    tracer->is_written = entered->is_written;
    tracer->n_slots = entered->n_slots;
    tracer->now = entered->now;
    tracer->before = entered->before;
    tracer->constants = entered->constants;
    tracer->marks = entered->marks;
}

static struct unit *find_unit(const struct compiler *compiler, const struct mdf_code *code)
{
    const struct nested_unit *nested = compiler->nested.items;
    size_t i = 0;

    while (i < compiler->nested.n && nested[i].code != code) {
        i++;
    }
    return i < compiler->nested.n ? nested[i].unit : NULL;
}

/* Nothing but its code writes the slots of a graph within a node. */
static const bool *all_written(struct tracer *tracer, size_t n)
{
    bool *is_written = mdf_arena_array(&tracer->target.compiler->scratch, n + 1, sizeof *is_written);

    for (size_t i = 0; is_written != NULL && i < n; i++) {
        is_written[i] = true;
    }
    return is_written;
}

static bool add_inner_frames(struct tracer *tracer, struct list *frames, size_t outer)
{
    struct unit *from = ((const struct trace_frame *)frames->items)[outer].from;

    for (size_t i = 0; i < from->bodies.n; i++) {
        const struct mdf_code *code = ((struct mdf_code **)from->bodies.items)[i];
        struct trace_frame frame = {.outer = outer, .body = (uint32_t)i, .code = code, .program = code->program};

        if (code->program == NULL) {
            continue;
        }
        frame.from = find_unit(tracer->target.compiler, code);
        if (frame.from == NULL) {
            return trace_refuse(tracer, "graphs within its nodes");
        }
        frame.n_slots = frame.from->slot_facts.n;
        frame.is_written = all_written(tracer, frame.n_slots);
        if (frame.is_written == NULL) {
            return out_of_memory(tracer);
        }
        if (!list_add(tracer->target.compiler, frames, &frame, sizeof frame)) {
            return false;
        }
    }
    return true;
}

bool trace_find_frames(struct tracer *tracer)
{
    struct list frames = {0};
    const struct trace_frame outermost = {.program = tracer->target.compiler->program,
                                          .from = tracer->from,
                                          .is_written = tracer->is_written,
                                          .n_slots = tracer->n_slots};

    if (!list_add(tracer->target.compiler, &frames, &outermost, sizeof outermost)) {
        return false;
    }
    for (size_t i = 0; i < frames.n; i++) {
        if (!add_inner_frames(tracer, &frames, i)) {
            return false;
        }
    }
    tracer->frames = frames.items;
    tracer->n_frames = frames.n;
    return true;
}
