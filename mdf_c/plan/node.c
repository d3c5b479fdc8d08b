/* node.c - a node as instructions, in the order of the reference: what the ports bring; in the first run initial values;
 * functions, which see the parameters' previous values; parameters in the order written, each seeing the new values of earlier
 * ones; output ports, which see the new values. */
#include "mdf_c/plan/node_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ items after those that they need */

/* An item that waits for those that it needs. They wait in a list and not on the stack: a chain of them may be long. */
struct visit {
    struct item *item;
    struct place place;
    struct list needed; /* struct item *, in the order in which they are compiled */
    size_t next;
};

/* What is made of items, each after those that it needs. */
struct making {
    bool (*find_needed)(struct node_builder *builder, const struct item *item, struct list *needed);
    bool (*make)(struct node_builder *builder, struct target *target, struct item *item);
    enum item_progress *(*progress)(struct item *item);
    const char *circle; /* when it is that an item needs itself, for the error, which goes on with who reads whom */
    const char *cure;   /* how it ends */
};

/* Who reads whom, from an item around to itself. */
static void tell_circle(struct node_builder *builder, const struct making *making, const struct item *item,
                        const struct list *visits)
{
    const struct visit *visit = visits->items;
    char readers[400] = "";
    size_t first = 0, used = 0;

    while (first + 1 < visits->n && visit[first].item != item) {
        first++;
    }
    for (size_t i = first + 1; i < visits->n && used < sizeof readers - 1; i++) {
        used += (size_t)snprintf(readers + used, sizeof readers - used, "'%.60s', which reads ", visit[i].item->definition->id);
    }
    place_leave(builder->compiler, visit[first].place); /* the circle stands at its beginning, not all around it */
    node_enter_item(builder, item);
    if (visits->n - first <= 1) {
        compile_error(builder->compiler, MDF_MODEL, "'%s' needs its own value%s: it reads itself; %s", item->definition->id,
                      making->circle, making->cure);
    } else {
        compile_error(builder->compiler, MDF_MODEL, "'%s' needs its own value%s: '%s' reads %s'%s'; %s", item->definition->id,
                      making->circle, item->definition->id, readers, item->definition->id, making->cure);
    }
}

/* Begins with an item that is not made yet. */
static bool begin_visit(struct node_builder *builder, const struct making *making, struct item *item, struct list *visits)
{
    struct visit visit = {.item = item, .place = node_enter_item(builder, item)};
    enum item_progress *progress = making->progress(item);

    if (*progress == ITEM_DONE) {
        place_leave(builder->compiler, visit.place);
        return true;
    }
    if (*progress == ITEM_STARTED) {
        tell_circle(builder, making, item, visits);
        return false;
    }
    *progress = ITEM_STARTED;
    return making->find_needed(builder, item, &visit.needed) && list_add(builder->compiler, visits, &visit, sizeof visit);
}

/* What could not be made is unknown from then on. */
static bool skip_item(struct node_builder *builder, struct target *target, const struct visit *visit)
{
    return compile_recover(builder->compiler, visit->place) &&
           (visit->item->needs_initial || node_bind_unknown(builder, target, visit->item));
}

/* Makes an item, and before it all that it needs. */
static bool make_item(struct node_builder *builder, struct target *target, const struct making *making, struct item *item)
{
    struct list visits = {0};
    struct visit *visit;

    if (!begin_visit(builder, making, item, &visits)) {
        return false;
    }
    while (visits.n > 0) {
        visit = (struct visit *)visits.items + visits.n - 1;
        if (visit->next < visit->needed.n) {
            item = ((struct item *const *)visit->needed.items)[visit->next++];
            if (!begin_visit(builder, making, item, &visits)) {
                return false;
            }
            continue;
        }
        if (!making->make(builder, target, visit->item) && !skip_item(builder, target, visit)) {
            return false;
        }
        *making->progress(visit->item) = ITEM_DONE;
        place_leave(builder->compiler, visit->place);
        visits.n--;
    }
    return true;
}

/* The items that names refer to, in the order of the file: their numbers. */
static bool find_items(struct compiler *compiler, const struct name_table *numbers, const struct list *names, struct list *found)
{
    for (size_t i = 0; i < names->n; i++) {
        size_t number = node_item_number(numbers, ((const char *const *)names->items)[i]);

        if (number != SIZE_MAX && !list_add(compiler, found, &number, sizeof number)) {
            return false;
        }
    }
    if (found->n > 1) {
        qsort(found->items, found->n, sizeof(size_t), compare_numbers);
    }
    return true;
}

/* ------------------------------------------------------------------ initial values */

static bool add_item(struct node_builder *builder, struct list *items, struct item *item)
{
    return list_add(builder->compiler, items, &item, sizeof item);
}

/* All that the initial value of an item refers to: first what has a value before it is computed. */
static bool find_needed_initials(struct node_builder *builder, const struct item *item, struct list *needed)
{
    struct list names = {.items = item->names.items, .n = item->n_initial_names}, initial_names = {0}, parameters = {0},
                functions = {0};
    const size_t *numbers;

    if (item->is_stateful) {
        if (!node_add_names(builder->compiler, item->parameter->default_initial_value, &initial_names)) {
            return false;
        }
        names = initial_names;
    }
    if (!find_items(builder->compiler, &builder->parameter_numbers, &names, &parameters) ||
        !find_items(builder->compiler, &builder->function_numbers, &names, &functions)) {
        return false;
    }
    numbers = parameters.items;
    for (size_t i = 0; i < parameters.n; i++) {
        if (builder->parameters[numbers[i]].needs_initial && !add_item(builder, needed, &builder->parameters[numbers[i]])) {
            return false;
        }
    }
    for (size_t i = 0; i < functions.n; i++) {
        if (!add_item(builder, needed, &builder->functions[((const size_t *)functions.items)[i]])) {
            return false;
        }
    }
    for (size_t i = 0; i < parameters.n; i++) {
        struct item *read = &builder->parameters[numbers[i]];

        if (!read->needs_initial && !read->is_literal && !read->is_void && !add_item(builder, needed, read)) {
            return false;
        }
    }
    return true;
}

mdf_operand node_initial_of_state(struct target *target, const struct item *item)
{
    struct mdf_value zero = {0};

    if (item->parameter->default_initial_value != NULL) {
        return compile_value(target, item->parameter->default_initial_value);
    }
    return mdf_value_make_double(target->compiler->memory, &zero, 0.0) ? unit_add_constant(target, &zero, 0)
                                                                       : compile_out_of_memory(target->compiler);
}

/* A value before the first run, computed from initial values. `target` has a scope in which functions have theirs. */
static bool make_initial(struct node_builder *builder, struct target *target, struct item *item)
{
    struct outcome outcome;
    mdf_operand operand;

    if (item->is_stateful) {
        operand = node_initial_of_state(target, item);
    } else {
        if (!compile_definition(target, item->definition, &item->usage, &outcome)) {
            return false;
        }
        if (!item->needs_initial) {
            return scope_bind_outcome(builder->compiler, target->scope, item->definition->id, &outcome);
        }
        operand = scope_as_operand(target, &outcome);
    }
    return operand != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_COPY, item->slot, operand, 0);
}

static enum item_progress *initial_progress(struct item *item)
{
    return &item->initial_progress;
}

static const struct making initials = {find_needed_initials, make_initial, initial_progress, " to begin with",
                                       "give it a default_initial_value"};

static bool compile_initials(struct node_builder *builder)
{
    struct scope scope = {.outer = &builder->scope, .unit = builder->target.unit};
    struct target target = {builder->compiler, builder->target.unit, &scope};

    for (size_t i = 0; i < builder->node->n_parameters; i++) {
        if (builder->parameters[i].needs_initial && !make_item(builder, &target, &initials, &builder->parameters[i])) {
            return false;
        }
    }
    return true;
}

/* Parameters that have their initial value again in each evaluation. */
static bool compile_resets(struct node_builder *builder)
{
    struct scope scope = {.outer = &builder->scope, .unit = builder->target.unit};
    struct target target = {builder->compiler, builder->target.unit, &scope};

    for (size_t i = 0; i < builder->node->n_parameters; i++) {
        struct item *item = &builder->parameters[i];
        mdf_operand operand;

        if (item->parameter->reset == NULL || !item->is_stateful) {
            continue;
        }
        operand = node_initial_of_state(&target, item);
        if (operand == MDF_NO_OPERAND || !unit_emit(&target, MDF_OPCODE_COPY, item->slot, operand, 0)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ functions */

/* The value of a function or parameter is another's, which may change: a parameter that gets its new value later in the run; with
 * conditions, which look at values between two runs, also what others write. */
static bool must_be_kept(const struct node_builder *builder, mdf_operand operand)
{
    return (unit_flags(builder->target.unit, operand) & OPERAND_MUTABLE) != 0 ||
           (builder->graph->is_scheduled && unit_is_foreign(builder->target.unit, operand));
}

static bool find_needed_functions(struct node_builder *builder, const struct item *item, struct list *needed)
{
    struct list numbers = {0};

    if (!find_items(builder->compiler, &builder->function_numbers, &item->names, &numbers)) {
        return false;
    }
    for (size_t i = 0; i < numbers.n; i++) {
        if (!add_item(builder, needed, &builder->functions[((const size_t *)numbers.items)[i]])) {
            return false;
        }
    }
    return true;
}

static bool make_function(struct node_builder *builder, struct target *target, struct item *item)
{
    struct outcome outcome;
    mdf_operand copy;

    if (item->definition->is_broken) {
        return node_bind_unknown(builder, target, item);
    }
    if (!compile_definition(target, item->definition, &item->usage, &outcome)) {
        return false;
    }
    if (!outcome.several && must_be_kept(builder, outcome.outputs[0])) {
        copy = unit_own_copy(target, outcome.outputs[0]); /* the previous value, not the one to come */
        return copy != MDF_NO_OPERAND && scope_bind(builder->compiler, &builder->scope, item->definition->id, copy);
    }
    return scope_bind_outcome(builder->compiler, &builder->scope, item->definition->id, &outcome);
}

static enum item_progress *function_progress(struct item *item)
{
    return &item->progress;
}

static const struct making functions = {find_needed_functions, make_function, function_progress, "",
                                        "a value of the run before is that of a parameter with a default_initial_value"};

/* ------------------------------------------------------------------ parameters */

/* Notes where a condition has its test. */
static bool note_event(struct node_builder *builder, const struct item *item, const struct mdf_parameter_condition *condition,
                       mdf_operand test)
{
    struct compiler *compiler = builder->compiler;
    const char *id = item->definition->id;
    struct mdf_program_event event = {builder->index, mdf_arena_text(compiler->arena, id, strlen(id)),
                                      mdf_arena_text(compiler->arena, condition->id, strlen(condition->id)), test,
                                      compiler->origins[compiler->origin]};

    if (builder->target.unit != compiler->root_unit || MDF_OPERAND_KIND(test) != MDF_OPERAND_SLOT) {
        return true; /* of a graph within a node; always the same */
    }
    if (event.parameter == NULL || event.id == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    return list_add(compiler, &compiler->events, &event, sizeof event);
}

/* Whether a condition holds, or one before it. */
static bool add_test(struct target *target, mdf_operand test, mdf_operand *holds)
{
    *holds = *holds == MDF_NO_OPERAND ? test : unit_call_two(target, PYTHON_EITHER, *holds, test);
    return *holds != MDF_NO_OPERAND;
}

/* Each condition that holds replaces the value, elementwise; a later one sees what earlier ones made. *holds: whether one does;
 * NULL: nobody asks. */
static mdf_operand compile_conditions(struct node_builder *builder, const struct item *item, mdf_operand value,
                                      mdf_operand *holds)
{
    mdf_operand triple[3];

    for (size_t i = 0; i < item->parameter->n_conditions; i++) {
        const struct mdf_parameter_condition *condition = &item->parameter->conditions[i];
        struct place place = place_enter(builder->compiler, "condition", condition->id, condition->source);

        if (condition->test == NULL) {
            compile_warning(builder->compiler, "it has no 'test': it never holds");
            place_leave(builder->compiler, place);
            continue;
        }
        triple[0] = compile_value(&builder->target, condition->test);
        triple[1] = triple[0] == MDF_NO_OPERAND ? triple[0] : compile_value(&builder->target, condition->value);
        triple[2] = value;
        if (triple[1] == MDF_NO_OPERAND && compile_recover(builder->compiler, place)) {
            continue;
        }
        if (triple[1] == MDF_NO_OPERAND) {
            return triple[1];
        }
        value = unit_call_python(&builder->target, PYTHON_WHERE, triple, 3);
        if (value == MDF_NO_OPERAND || !note_event(builder, item, condition, triple[0]) ||
            (holds != NULL && !add_test(&builder->target, triple[0], holds))) {
            return MDF_NO_OPERAND;
        }
        place_leave(builder->compiler, place);
    }
    return value;
}

/* A slot that the last instruction has just computed into: nobody else knows it, and it borrows nothing. */
static bool is_fresh(const struct unit *unit, mdf_operand operand, size_t n_slots_before)
{
    const struct mdf_instruction *last;

    if (unit->instructions.n == 0 || MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT ||
        MDF_OPERAND_INDEX(operand) < n_slots_before) {
        return false;
    }
    last = (const struct mdf_instruction *)unit->instructions.items + unit->instructions.n - 1;
    if (last->opcode == MDF_OPCODE_CALL) {
        return ((const struct mdf_code_call *)unit->calls.items)[last->target].outputs[0] == operand;
    }
    return last->opcode == MDF_OPCODE_COPY && last->a == operand;
}

static bool bind_result(struct node_builder *builder, const struct item *item, const struct outcome *outcome, mdf_operand operand,
                        size_t n_slots_before)
{
    struct target *target = &builder->target;

    if (!item->needs_initial) {
        if (!outcome->several && must_be_kept(builder, operand)) {
            operand = unit_own_copy(target, operand);
        }
        return outcome->several
                   ? scope_bind_outcome(builder->compiler, &builder->scope, item->definition->id, outcome)
                   : operand != MDF_NO_OPERAND && scope_bind(builder->compiler, &builder->scope, item->definition->id, operand);
    }
    if (operand == item->slot) {
        return true;
    }
    return is_fresh(target->unit, operand, n_slots_before) ? unit_emit(target, MDF_OPCODE_SWAP, item->slot, operand, 0)
                                                           : unit_emit(target, MDF_OPCODE_COPY, item->slot, operand, 0);
}

static bool compile_parameter(struct node_builder *builder, struct item *item)
{
    struct target *target = &builder->target;
    size_t n_slots_before = target->unit->slot_facts.n;
    struct place place = node_enter_item(builder, item);
    struct outcome outcome = {&item->slot, 1, false};
    bool is_integral = false;
    mdf_operand operand;

    if (item->definition->value != NULL || item->definition->function != NULL) {
        struct mdf_definition definition = *item->definition;

        definition.function = definition.value != NULL ? NULL : definition.function; /* of the two, a parameter's value wins */
        struct target look = {builder->compiler, target->unit,
                              node_is_level(builder, item) ? &builder->before_conditions : &builder->scope};

        if (!compile_definition(&look, &definition, &item->usage, &outcome)) {
            return false;
        }
        if (outcome.several && !item->needs_initial && item->parameter->n_conditions == 0) {
            place_leave(builder->compiler, place);
            return bind_result(builder, item, &outcome, MDF_NO_OPERAND, 0);
        }
        operand = scope_as_operand(target, &outcome);
    } else if (item->parameter->time_derivative != NULL) {
        is_integral = true;
        operand = node_compile_derivative(builder, item);
    } else {
        operand = item->slot;
    }
    outcome.several = false;
    if (operand != MDF_NO_OPERAND) {
        bool is_located = is_integral && node_leaves_conditions_to_solver(builder->compiler),
             is_looked_at = is_integral && builder->compiler->has_right_side;
        mdf_operand before = operand, holds = MDF_NO_OPERAND;

        operand = compile_conditions(builder, item, operand, is_located || is_looked_at ? &holds : NULL);
        if (is_looked_at && !is_located && operand != MDF_NO_OPERAND && operand != before) {
            node_note_condition(builder, operand, holds);
        }
        if (is_located && operand != MDF_NO_OPERAND && operand != before) {
            operand = node_leave_to_solver(builder, before, operand, holds);
        } else if (operand != before &&
                   !scope_bind(builder->compiler, &builder->before_conditions, item->definition->id, before)) {
            return false;
        }
    }
    if (operand != MDF_NO_OPERAND && item->parameter->declaration.type.dtype != MDF_DTYPE_NONE) {
        operand = unit_declare(target, operand, &item->parameter->declaration.type);
    }
    if (operand == MDF_NO_OPERAND || !bind_result(builder, item, &outcome, operand, n_slots_before)) {
        return false;
    }
    place_leave(builder->compiler, place);
    return true;
}

/* ------------------------------------------------------------------ output ports */

/* Where all output ports hold the bare id of one function with as many outputs, port i is output i. */
static bool is_output_by_position(struct node_builder *builder, size_t index, mdf_operand *operand)
{
    const struct mdf_node *value = builder->node->output_ports[index].value;
    struct outcome outcome;
    struct usage usage;

    if (value == NULL || value->kind != MDF_NODE_STRING || !scope_find(&builder->target, value->as.string.bytes, &outcome) ||
        !outcome.several || outcome.n_outputs != builder->node->n_output_ports) {
        return false;
    }
    if (!find_usage(builder->compiler, builder->node, value->as.string.bytes, &usage) || usage.n_ports != outcome.n_outputs) {
        return false;
    }
    *operand = outcome.outputs[index];
    return true;
}

static bool compile_output(struct node_builder *builder, size_t index)
{
    const struct mdf_output_port *port = &builder->node->output_ports[index];
    struct place place = place_enter(builder->compiler, "output port", port->id, port->source);
    struct target *target = &builder->target;
    struct mdf_value nothing = {0};
    size_t n_slots_before = target->unit->slot_facts.n;
    mdf_operand reserved = builder->plan->output_is_reserved[index] ? builder->plan->outputs[index] : MDF_NO_OPERAND, operand;

    if (!is_output_by_position(builder, index, &operand)) {
        operand = port->value != NULL ? compile_value(target, port->value) : unit_add_constant(target, &nothing, 0);
        if (port->value == NULL) {
            compile_warning(builder->compiler, "it has no 'value': nothing comes out of it");
        }
    }
    if (operand != MDF_NO_OPERAND && port->declaration.type.exact && !port->declaration.type.sequence) {
        operand = unit_declare(target, operand, &port->declaration.type);
    }
    if (operand != MDF_NO_OPERAND && reserved != MDF_NO_OPERAND) {
        operand = unit_emit(target, MDF_OPCODE_COPY, reserved, operand, 0) ? reserved : MDF_NO_OPERAND;
    } else if (operand != MDF_NO_OPERAND &&
               ((builder->graph->keeps_outputs && unit_is_foreign(target->unit, operand)) ||
                ((port->initial != NULL || builder->compiler->model->dialect == MDF_DIALECT_PSYNEULINK) &&
                 !is_fresh(target->unit, operand, n_slots_before)))) {
        operand = unit_own_copy(target, operand); /* what stays while the node does not run, or is there before it has */
    }
    builder->plan->outputs[index] = operand;
    place_leave(builder->compiler, place);
    return operand != MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ the node */

/* What says that the node need not run again. */
static bool find_finished(struct node_builder *builder)
{
    struct outcome outcome;

    builder->plan->finished = MDF_NO_OPERAND;
    if (builder->node->repeat == NULL) {
        return true;
    }
    if (!scope_find(&builder->target, "is_finished", &outcome) || outcome.several) {
        place_at(builder->compiler, builder->node->repeat);
        compile_error(builder->compiler, MDF_MODEL, "it is to run until it is finished: give it a function 'is_finished'");
        return false;
    }
    builder->plan->finished = outcome.outputs[0];
    return true;
}

static bool skip_port(struct node_builder *builder, size_t index, struct place place)
{
    mdf_operand operand = compile_recover(builder->compiler, place) ? unit_unknown(&builder->target) : MDF_NO_OPERAND;

    return operand != MDF_NO_OPERAND &&
           scope_bind(builder->compiler, &builder->scope, builder->node->input_ports[index].id, operand);
}

static bool skip_output(struct node_builder *builder, size_t index, struct place place)
{
    if (!compile_recover(builder->compiler, place)) {
        return false;
    }
    builder->plan->outputs[index] = unit_unknown(&builder->target);
    return builder->plan->outputs[index] != MDF_NO_OPERAND;
}

static bool compile_parts(struct node_builder *builder)
{
    const struct mdf_graph_node *node = builder->node;
    struct node_plan *plan = builder->plan;
    struct unit *unit = builder->target.unit;
    struct place place = place_here(builder->compiler);

    plan->first = unit_position(unit);
    for (size_t i = 0; i < node->n_input_ports; i++) {
        if (!node_bind_port(builder, i) && !skip_port(builder, i, place)) {
            return false;
        }
    }
    warn_of_names_in_lists(builder->compiler, node);
    if (!node_describe_items(builder) || !node_bind_parameters(builder)) {
        return false;
    }
    plan->reset = unit_position(unit);
    if (!compile_resets(builder)) {
        return false;
    }
    plan->initial = unit_position(unit);
    if (!compile_initials(builder)) {
        return false;
    }
    plan->main = unit_position(unit);
    for (size_t i = 0; i < node->n_functions; i++) {
        if (!make_item(builder, &builder->target, &functions, &builder->functions[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        struct item *item = &builder->parameters[i];

        if (!item->is_literal && !item->is_void && !compile_parameter(builder, item) &&
            !(compile_recover(builder->compiler, place) &&
              (item->needs_initial || node_bind_unknown(builder, &builder->target, item)))) {
            return false;
        }
    }
    if (node->graph != NULL && !compile_nested(&builder->target, node, builder->graph->is_body)) {
        return false;
    }
    for (size_t i = 0; i < node->n_output_ports; i++) {
        if (!compile_output(builder, i) && !skip_output(builder, i, place)) {
            return false;
        }
    }
    plan->end = unit_position(unit);
    return find_finished(builder);
}

bool compile_node(struct graph_builder *graph, size_t index)
{
    const struct mdf_graph_node *node = expand_states(graph->compiler, &graph->graph->nodes[index]),
                                *outer_node = graph->compiler->node;
    size_t outer_index = graph->current_node, outer_owner = graph->unit->owner;
    struct node_builder *builder = mdf_arena_allocate(&graph->compiler->scratch, sizeof *builder);
    struct place place;
    bool done;

    if (builder == NULL || node == NULL) {
        compile_out_of_memory(graph->compiler);
        return false;
    }
    if (mdf_stop_is_asked(graph->compiler->stop)) {
        mdf_stop_tell(graph->compiler->stop, graph->compiler->error);
        mdf_error_in(graph->compiler->error, "node '%s'", node->id);
        return false;
    }
    place = place_enter(graph->compiler, "node", node->id, node->source);
    node = node_expand_events(graph->compiler, node);
    if (node == NULL) {
        return false;
    }
    builder->graph = graph;
    builder->compiler = graph->compiler;
    builder->node = node;
    builder->plan = &graph->nodes[index];
    builder->index = index;
    builder->scope.outer = &graph->scope;
    builder->scope.unit = graph->unit;
    builder->before_conditions.outer = &builder->scope;
    builder->before_conditions.unit = graph->unit;
    builder->target = (struct target){graph->compiler, graph->unit, &builder->scope};
    builder->plan->scope = &builder->scope;
    builder->plan->progress = NODE_STARTED;
    graph->current_node = index;
    graph->unit->owner = index + 1;
    graph->compiler->node = node;
    done = compile_parts(builder);
    builder->plan->progress = NODE_DONE;
    graph->current_node = outer_index;
    graph->unit->owner = outer_owner;
    graph->compiler->node = outer_node;
    place_leave(graph->compiler, place);
    return done;
}
