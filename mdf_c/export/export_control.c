/* export_control.c - If, Loop, Scan and SequenceMap as nodes of the same operators: their bodies are graphs again, whose states
 * keep one element type, which is found by going through a body more than once. */
#include "mdf_c/export/exporter.h"

#include <string.h>

enum { LOOP_TRIPS, LOOP_CONDITION, LOOP_STATES };

/* A body whose formals are `formals`; what it yields goes to `yields`, in `graph`. */
static struct onnx_graph *export_body(struct exporter *exporter, struct environment *outer, const struct mdf_code *code,
                                      const struct symbol *formals, struct symbol *yields)
{
    struct onnx_graph *graph = export_begin_graph(exporter, outer->graph, code->id);
    struct environment *inner = graph != NULL ? export_environment(exporter, code, outer, graph) : NULL;
    const struct mdf_origin *at = exporter->at;
    struct mdf_text message;

    if (inner == NULL) {
        return NULL;
    }
    if (code->program != NULL) {
        export_refuse(exporter, "a graph within a node");
        return NULL;
    }
    for (size_t i = 0; i < code->n_formals; i++) {
        const char *name = export_name(exporter, "input");
        struct symbol *slot = &inner->slots[MDF_OPERAND_INDEX(code->formals[i])];

        if (name == NULL) {
            return NULL;
        }
        *slot = formals[i];
        slot->name = name;
        slot->constant = NULL;
        slot->graph = NULL;
        mdf_text_init(&message, exporter->memory);
        export_put_value(&message, name, slot, true);
        onnx_put_message(&graph->inputs, GRAPH_INPUT, &message);
        mdf_text_release(&message);
    }
    if (!export_instructions(exporter, inner, 0, code->n_instructions)) {
        return NULL;
    }
    exporter->at = at;
    for (size_t i = 0; i < code->n_yields; i++) {
        struct symbol constant;
        const struct symbol *yield = export_operand(exporter, inner, code->yields[i], &constant);

        if (yield == NULL || !export_as_array(exporter, graph, yield, &yields[i])) {
            return NULL;
        }
    }
    return graph;
}

/* Adds the outputs of a body, those from number `first` on brought to the types of `wanted`, and the graph to the attributes. */
static bool finish_body(struct exporter *exporter, struct onnx_graph *graph, struct symbol *yields, size_t n,
                        const mdf_dtype *wanted, const char *attribute, struct mdf_text *attributes)
{
    struct mdf_text message;
    bool done = true;

    for (size_t i = 0; i < n && done; i++) {
        struct symbol cast = yields[i];

        done = (yields[i].kind != SYMBOL_TENSOR || wanted[i] == MDF_DTYPE_NONE ||
                export_cast(exporter, graph, &yields[i], wanted[i], &cast)) &&
               export_graph_output(exporter, graph, &cast);
        yields[i].dtype = cast.dtype;
    }
    mdf_text_init(&message, exporter->memory);
    export_end_graph(exporter, graph, &message);
    export_attribute_graph(attributes, attribute, &message);
    mdf_text_release(&message);
    return done;
}

static void forget_shape(struct symbol *symbol)
{
    symbol->has_shape = false;
    symbol->rank = 0;
}

/* The type of one slice of a scan input, and back. */
static void drop_axis(struct symbol *symbol, size_t n_axes)
{
    if (symbol->has_shape && symbol->rank >= n_axes) {
        symbol->rank -= n_axes;
        symbol->shape += n_axes;
    } else {
        forget_shape(symbol);
    }
}

/* Whether a Scan goes along other axes than the first. */
static bool has_axes(const struct mdf_code_call *call)
{
    const struct mdf_ints *axes = export_setting(call, "scan_input_axes");

    return axes != NULL && axes->items != NULL;
}

/* Leaves the rank. */
static bool forget_sizes(struct exporter *exporter, struct symbol *symbol)
{
    int64_t *shape = mdf_arena_array(&exporter->arena, symbol->rank, sizeof *shape);

    for (size_t i = 0; shape != NULL && i < symbol->rank; i++) {
        shape[i] = -1;
    }
    symbol->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* Sizes that are not known are those that the compiler knows. */
static bool take_sizes(struct exporter *exporter, struct symbol *yield, const struct mdf_static_type *type)
{
    int64_t *shape = mdf_arena_array(&exporter->arena, yield->rank, sizeof *shape);

    for (size_t i = 0; shape != NULL && i < yield->rank; i++) {
        shape[i] = yield->shape[i] >= 0 ? yield->shape[i] : type->shape[i];
    }
    yield->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* What the compiler knows of the shapes that a body yields, beside what is known here: a loop without iterations stacks in them.
 */
static bool take_shapes(struct exporter *exporter, const struct mdf_code *code, struct symbol *yields)
{
    for (size_t i = 0; i < code->n_yields; i++) {
        const struct mdf_static_type *type = &code->yield_types[i];

        if (yields[i].kind != SYMBOL_TENSOR || !type->has_shape) {
            continue;
        }
        if (!yields[i].has_shape) {
            yields[i].has_shape = true;
            yields[i].rank = type->rank;
            yields[i].shape = type->shape;
        } else if (yields[i].rank == type->rank && !take_sizes(exporter, &yields[i], type)) {
            return false;
        }
    }
    return true;
}

/* States of a loop keep one element type. What has no declared type takes that of what the body yields: the body is gone through
 * again until they agree. */
static bool settle_states(struct exporter *exporter, struct onnx_graph *graph, struct symbol *states, const struct symbol *yields,
                          size_t n, bool *is_settled)
{
    *is_settled = true;
    for (size_t i = 0; i < n; i++) {
        struct symbol cast;
        mdf_dtype common;

        if (states[i].is_optional != yields[i].is_optional) {
            return export_refuse(exporter, "state variable %zu may not be there, or not always", i);
        }
        if (states[i].kind != SYMBOL_TENSOR || states[i].dtype == yields[i].dtype) {
            continue;
        }
        if (yields[i].kind != SYMBOL_TENSOR ||
            (states[i].strength == MDF_STRENGTH_TYPED && yields[i].strength == MDF_STRENGTH_TYPED)) {
            return export_refuse(exporter, "state variable %zu changes its type", i);
        }
        common = export_common_type(exporter, &states[i], &yields[i]);
        if (common == MDF_DTYPE_NONE) {
            return export_refuse(exporter, "state variable %zu changes its type", i);
        }
        if (common != states[i].dtype) {
            if (!export_cast(exporter, graph, &states[i], common, &cast)) {
                return false;
            }
            cast.strength = yields[i].strength;
            states[i] = cast;
            *is_settled = false;
        }
    }
    return true;
}

/* A Loop or Scan: among the inputs of the call states stand from `first_state` on, in what the body yields behind `n_before`. */
struct exported_loop {
    const struct mdf_code_call *call;
    const struct mdf_code *code;
    bool is_loop;
    size_t first_state, n_before, n_states, n_batch_axes;
    struct symbol *inputs, *formals, *yields;
};

static bool begin_loop(struct exporter *exporter, const struct environment *environment, const struct mdf_code_call *call,
                       struct symbol *inputs, struct exported_loop *loop)
{
    const struct mdf_code *code = environment->code->bodies[call->bodies[0]];
    const int64_t *n_scan_inputs = export_setting(call, "num_scan_inputs");
    bool is_loop = call->operator->form == MDF_FORM_LOOP;

    *loop = (struct exported_loop){.call = call, .code = code, .is_loop = is_loop, .inputs = inputs};
    loop->first_state = is_loop ? LOOP_STATES : call->n_inputs - code->n_formals;
    loop->n_before = is_loop ? 1 : 0;
    loop->n_states = code->n_formals - (is_loop ? LOOP_STATES : n_scan_inputs != NULL ? (size_t)*n_scan_inputs : 0);
    loop->n_batch_axes = !is_loop && call->operator->until<9 ? 1 : 0;
    loop->formals = mdf_arena_array(&exporter->arena, code->n_formals, sizeof *loop->formals);
    loop->yields = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *loop->yields);
    return (loop->formals != NULL && loop->yields != NULL) || export_out_of_memory(exporter);
}

/* What a run of the body takes as its input `i`: of a Loop, states whose shape may change; of a Scan, one without the axes that
 * are gone through. */
static bool find_formal(struct exporter *exporter, const struct exported_loop *loop, size_t i)
{
    struct symbol *formal = &loop->formals[i];
    bool is_scanned = !loop->is_loop && i >= loop->n_states;

    if (loop->is_loop && i < LOOP_STATES) {
        *formal = (struct symbol){.kind = SYMBOL_TENSOR,
                                  .dtype = i == LOOP_TRIPS ? MDF_DTYPE_INT64 : MDF_DTYPE_BOOL,
                                  .strength = MDF_STRENGTH_TYPED,
                                  .has_shape = true};
        return true;
    }
    *formal = loop->inputs[loop->first_state + i - (loop->is_loop ? LOOP_STATES : 0)];
    if (loop->is_loop) {
        forget_shape(formal);
        return true;
    }
    drop_axis(formal, loop->n_batch_axes + (is_scanned ? 1 : 0));
    return !is_scanned || !has_axes(loop->call) || forget_sizes(exporter, formal);
}

/* The body, once the types of states have settled; NULL with the error set. */
static struct onnx_graph *export_loop_body(struct exporter *exporter, struct environment *environment,
                                           const struct exported_loop *loop)
{
    enum { MOST_ROUNDS = 6 };

    for (size_t round = 0; round < MOST_ROUNDS; round++) {
        struct onnx_graph *graph;
        bool is_settled = false;

        for (size_t i = 0; i < loop->code->n_formals; i++) {
            if (!find_formal(exporter, loop, i)) {
                return NULL;
            }
        }
        graph = export_body(exporter, environment, loop->code, loop->formals, loop->yields);
        if (graph == NULL || !settle_states(exporter, environment->graph, loop->inputs + loop->first_state,
                                            loop->yields + loop->n_before, loop->n_states, &is_settled)) {
            return NULL;
        }
        if (is_settled) {
            return graph;
        }
    }
    export_refuse(exporter, "the types of the state variables do not settle");
    return NULL;
}

/* What a Loop without a condition yields as one is ignored. */
static bool yield_true(struct exporter *exporter, struct symbol *yield)
{
    struct mdf_value *truth = export_make(exporter);

    return (truth != NULL && mdf_value_make_bool(exporter->memory, truth, true) && symbol_of_value(exporter, truth, yield)) ||
           export_out_of_memory(exporter);
}

/* The shapes of what the body yields: of a Loop, states may change theirs; what is stacked may not. */
static bool find_yielded_shapes(struct exporter *exporter, const struct exported_loop *loop)
{
    if (!take_shapes(exporter, loop->code, loop->yields)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_before + loop->n_states; i++) {
        struct symbol *yield = &loop->yields[i];

        if (loop->is_loop) {
            forget_shape(yield);
        } else if (!yield->has_shape && loop->formals[i].has_shape) {
            yield->has_shape = true;
            yield->rank = loop->formals[i].rank;
            yield->shape = loop->formals[i].shape;
        }
    }
    return true;
}

static mdf_dtype wanted_type(const struct exported_loop *loop, size_t i)
{
    if (i < loop->n_before) {
        return MDF_DTYPE_BOOL;
    }
    i -= loop->n_before;
    return i < loop->n_states ? loop->inputs[loop->first_state + i].dtype : MDF_DTYPE_NONE;
}

static void find_loop_output(const struct exported_loop *loop, size_t i, struct symbol *output)
{
    const struct symbol *yield = &loop->yields[i + loop->n_before];
    const struct symbol *state = i < loop->n_states ? &loop->inputs[loop->first_state + i] : NULL;

    *output = *yield;
    output->constant = NULL;
    output->strength = state != NULL && state->strength != MDF_STRENGTH_TYPED ? yield->strength : MDF_STRENGTH_TYPED;
    if (state != NULL && !loop->is_loop && loop->n_batch_axes == 0) {
        output->has_shape = state->has_shape;
        output->rank = state->rank;
        output->shape = state->shape;
    } else {
        forget_shape(output);
    }
}

static bool export_loop(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                        struct symbol *inputs, struct symbol *outputs, struct mdf_text *attributes)
{
    struct exported_loop loop;
    struct onnx_graph *graph;
    mdf_dtype *wanted;

    if (!begin_loop(exporter, environment, call, inputs, &loop)) {
        return false;
    }
    graph = export_loop_body(exporter, environment, &loop);
    wanted = mdf_arena_array(&exporter->arena, loop.code->n_yields, sizeof *wanted);
    if (graph == NULL || wanted == NULL) {
        return graph != NULL && export_out_of_memory(exporter);
    }
    graph->is_scan = true;
    for (size_t i = 0; i < loop.code->n_yields; i++) {
        wanted[i] = wanted_type(&loop, i);
    }
    if ((loop.is_loop && inputs[LOOP_CONDITION].kind == SYMBOL_NOTHING && !yield_true(exporter, &loop.yields[0])) ||
        !find_yielded_shapes(exporter, &loop) ||
        !finish_body(exporter, graph, loop.yields, loop.code->n_yields, wanted, "body", attributes)) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs && i + loop.n_before < loop.code->n_yields; i++) {
        find_loop_output(&loop, i, &outputs[i]);
    }
    return true;
}

static bool export_if(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                      struct symbol *outputs, struct mdf_text *attributes)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    struct symbol *yields[2];
    struct onnx_graph *graphs[2];
    mdf_dtype *wanted;
    size_t n = call->n_outputs;

    for (size_t i = 0; i < 2; i++) {
        const struct mdf_code *code = environment->code->bodies[call->bodies[i]];

        yields[i] = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *yields[i]);
        if (yields[i] == NULL) {
            return export_out_of_memory(exporter);
        }
        graphs[i] = export_body(exporter, environment, code, NULL, yields[i]);
        if (graphs[i] == NULL) {
            return false;
        }
        n = code->n_yields < n ? code->n_yields : n;
    }
    wanted = mdf_arena_array(&exporter->arena, n, sizeof *wanted);
    if (wanted == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t j = 0; j < n; j++) {
        const struct symbol *a = &yields[0][j], *b = &yields[1][j];

        wanted[j] = a->dtype == b->dtype ? a->dtype : export_common_type(exporter, a, b);
        if (a->kind != b->kind || a->is_optional != b->is_optional || (wanted[j] == MDF_DTYPE_NONE && a->kind == SYMBOL_TENSOR)) {
            return export_refuse(exporter, "the branches yield values of different types");
        }
        outputs[j] = *a;
        outputs[j].constant = NULL;
        outputs[j].dtype = wanted[j];
        outputs[j].strength = a->strength > b->strength ? a->strength : b->strength;
        if (!a->has_shape || !b->has_shape || a->rank != b->rank ||
            (a->rank > 0 && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0)) {
            forget_shape(&outputs[j]);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (!finish_body(exporter, graphs[i], yields[i], n, wanted, names[i], attributes)) {
            return false;
        }
    }
    return true;
}

/* Whether the inputs are sequences and arrays: what lists of Python are to the body is not what arrays are. */
static bool are_mapped(const struct symbol *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (inputs[i].kind != SYMBOL_SEQUENCE && (i == 0 || inputs[i].kind != SYMBOL_TENSOR || inputs[i].stands_for_list)) {
            return false;
        }
    }
    return n > 0;
}

/* A SequenceMap: a run takes an item of each sequence, and arrays as they are; what it yields are items. */
static bool export_map(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                       const struct symbol *inputs, struct symbol *outputs, struct mdf_text *attributes)
{
    const struct mdf_code *code = environment->code->bodies[call->bodies[0]];
    struct symbol *formals = mdf_arena_array(&exporter->arena, code->n_formals, sizeof *formals),
                  *yields = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *yields);
    mdf_dtype *wanted = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *wanted);
    struct onnx_graph *graph;

    if (formals == NULL || yields == NULL || wanted == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < code->n_formals && i < call->n_inputs; i++) {
        formals[i] = inputs[i];
        if (inputs[i].kind == SYMBOL_SEQUENCE) {
            formals[i].kind = SYMBOL_TENSOR;
            forget_shape(&formals[i]);
        }
    }
    for (size_t i = 0; i < code->n_yields; i++) {
        wanted[i] = MDF_DTYPE_NONE;
    }
    graph = export_body(exporter, environment, code, formals, yields);
    if (graph == NULL || !finish_body(exporter, graph, yields, code->n_yields, wanted, "body", attributes)) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs && i < code->n_yields; i++) {
        if (yields[i].kind != SYMBOL_TENSOR) {
            return export_refuse(exporter, "output %zu of the body is not an array", i + 1);
        }
        outputs[i] = yields[i];
        outputs[i].kind = SYMBOL_SEQUENCE;
        outputs[i].constant = NULL;
        outputs[i].strength = MDF_STRENGTH_TYPED;
        forget_shape(&outputs[i]);
    }
    return true;
}

/* An array of one element without its axes, as the bodies have it. */
static bool make_scalar(struct exporter *exporter, struct onnx_graph *graph, struct symbol *symbol)
{
    struct symbol result;

    if (!symbol->has_shape || symbol->rank == 0) {
        return true;
    }
    if (!export_reshape(exporter, graph, symbol, NULL, 0, symbol, &result)) {
        return false;
    }
    *symbol = result;
    symbol->rank = 0;
    symbol->shape = NULL;
    return true;
}

/* Inputs of control flow, which take what they are given. */
static bool prepare_control(struct exporter *exporter, struct onnx_graph *graph, enum mdf_form form, struct symbol *inputs,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct symbol given = inputs[i];
        mdf_dtype dtype = form == MDF_FORM_LOOP && i == LOOP_TRIPS                                            ? MDF_DTYPE_INT64
                          : (form == MDF_FORM_LOOP && i == LOOP_CONDITION) || (form == MDF_FORM_IF && i == 0) ? MDF_DTYPE_BOOL
                                                                                                              : MDF_DTYPE_NONE;

        if (given.kind == SYMBOL_NOTHING) {
            continue;
        }
        if (!export_as_array(exporter, graph, &given, &inputs[i])) {
            return false;
        }
        given = inputs[i];
        if (dtype != MDF_DTYPE_NONE &&
            (!export_cast(exporter, graph, &given, dtype, &inputs[i]) || !make_scalar(exporter, graph, &inputs[i]))) {
            return false;
        }
    }
    if (form == MDF_FORM_LOOP && inputs[LOOP_TRIPS].kind == SYMBOL_NOTHING && inputs[LOOP_CONDITION].kind == SYMBOL_NOTHING) {
        return export_refuse(exporter, "a loop with neither a trip count nor a condition never ends");
    }
    return true;
}

bool export_control(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                    struct symbol *inputs, struct symbol *outputs, struct mdf_text *attributes)
{
    enum mdf_form form = call->operator->form;

    if (form == MDF_FORM_SEQUENCE_MAP && !are_mapped(inputs, call->n_inputs)) {
        return export_refuse(exporter, "onnx::%s of what is no sequence", call->operator->name);
    }
    if (!prepare_control(exporter, environment->graph, form, inputs, call->n_inputs)) {
        return false;
    }
    switch ((int)form) {
    case MDF_FORM_IF:
        return export_if(exporter, environment, call, outputs, attributes);
    case MDF_FORM_LOOP:
    case MDF_FORM_SCAN:
        return export_loop(exporter, environment, call, inputs, outputs, attributes);
    case MDF_FORM_SEQUENCE_MAP:
        return export_map(exporter, environment, call, inputs, outputs, attributes);
    default:
        return export_refuse(exporter, "onnx::%s has a body, and is not written", call->operator->name);
    }
}
