/* changeable.c - parameters that each state may set for itself: where the model has a constant, they have a slot of the outermost
 * unit, which holds that constant until another value is set. Comes in: the names that were asked for; goes out:
 * program->parameters. Holds afterwards: nothing that was worked out while compiling depends on the value of such a parameter. */
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* A field of the model whose value is in a slot instead. */
struct changeable {
    const struct mdf_node *field;
    mdf_operand slot; /* of compiler->root_unit */
};

static const struct changeable *find(const struct compiler *compiler, const struct mdf_node *field)
{
    const struct changeable *items = compiler->changeables.items;

    for (size_t i = 0; i < compiler->changeables.n; i++) {
        if (items[i].field == field) {
            return &items[i];
        }
    }
    return NULL;
}

/* Whether someone asked for the parameter; the request is met then. */
static bool is_wanted(struct compiler *compiler, const char *node, const char *id)
{
    bool found = false;

    for (size_t i = 0; i < compiler->n_wanted; i++) {
        if (mdf_part_is_named(node, id, compiler->wanted[i])) {
            compiler->is_met[i] = found = true;
        }
    }
    return found;
}

static bool is_constant(const struct mdf_node *field)
{
    return mdf_value_is_constant(field) && (field->kind != MDF_NODE_OBJECT || is_typed_form(field));
}

/* A slot of the outermost unit; what is known of it is what holds for any value of it. */
static mdf_operand new_slot(struct target *root, mdf_operand constant, const struct mdf_declaration *declaration)
{
    unsigned flags = (unit_flags(root->unit, constant) & OPERAND_MAY_BE_LIST) | OPERAND_IS_FIXED;
    mdf_operand slot = unit_new_slot(root, flags);
    struct mdf_static_type type = mdf_static_unknown;

    if (slot != MDF_NO_OPERAND && declaration->type.exact && !declaration->type.sequence && !declaration->type.optional) {
        type.kind = MDF_STATIC_TENSOR;
        type.dtype = declaration->type.dtype;
        unit_set_type(root->unit, slot, &type);
    }
    return slot;
}

static bool keep_texts(struct compiler *compiler, struct mdf_program_parameter *parameter, const char *node, const char *id)
{
    parameter->node = node != NULL ? mdf_arena_text(compiler->arena, node, strlen(node)) : NULL;
    parameter->id = mdf_arena_text(compiler->arena, id, strlen(id));
    if (parameter->id == NULL || (node != NULL && parameter->node == NULL)) {
        compile_out_of_memory(compiler);
        return false;
    }
    return true;
}

/* Gives the constant in `field` a slot. `target` is where names in it are looked up. */
static bool add(struct target *target, const char *node, const char *id, const struct mdf_node *field,
                const struct mdf_declaration *declaration)
{
    struct compiler *compiler = target->compiler;
    struct target root = {compiler, compiler->root_unit, NULL};
    struct mdf_program_parameter parameter = {.default_value = MDF_NO_OPERAND};
    struct mdf_value constant = {0};
    struct changeable changeable = {field, MDF_NO_OPERAND};

    if (find(compiler, field) != NULL) {
        return true; /* a body that several nodes run, or one that is compiled again */
    }
    if (!keep_texts(compiler, &parameter, node, id) || !compile_declared_constant(target, field, declaration, &constant)) {
        return false;
    }
    parameter.default_value = unit_add_constant(&root, &constant, constant.kind == MDF_KIND_LIST ? OPERAND_MAY_BE_LIST : 0);
    if (parameter.default_value == MDF_NO_OPERAND) {
        return false;
    }
    parameter.slot = changeable.slot = new_slot(&root, parameter.default_value, declaration);
    parameter.origin = compiler->origins[compiler->origin];
    return changeable.slot != MDF_NO_OPERAND && keep_declaration(compiler, declaration, &parameter.declaration) &&
           list_add(compiler, &compiler->parameters, &parameter, sizeof parameter) &&
           list_add(compiler, &compiler->changeables, &changeable, sizeof changeable);
}

bool keep_changeable(struct target *target, const struct mdf_graph_node *node, const struct mdf_parameter *parameter,
                     bool is_literal, bool is_text)
{
    static const struct mdf_declaration undeclared = {.type = {.dtype = MDF_DTYPE_NONE}};
    const char *id = parameter->definition.id;
    const struct mdf_node *value = parameter->definition.value,
                          *field = is_constant(value) ? value : parameter->default_initial_value;

    if (!is_wanted(target->compiler, node->id, id)) {
        return true;
    }
    if (!is_constant(field) || is_text) {
        place_at(target->compiler, value != NULL ? value : parameter->definition.source);
        compile_error(target->compiler, MDF_MODEL,
                      "'%s.%s' can not be kept changeable: only a number or an array of numbers can, as value or as "
                      "default_initial_value; name what it is computed from instead",
                      node->id, id);
        return false;
    }
    if (field->is_spent) {
        place_at(target->compiler, field);
        compile_error(
            target->compiler, MDF_UNSUPPORTED,
            "'%s.%s' can not be kept changeable: PsyNeuLink's dialect has made other parts of the model of it, which would "
            "not follow; set it in a run of its own, as --set does",
            node->id, id);
        return false;
    }
    return add(target, node->id, id, field, is_literal ? &parameter->declaration : &undeclared);
}

bool keep_graph_changeable(struct target *target, const char *id, const struct mdf_node *field,
                           const struct mdf_declaration *declaration)
{
    if (!is_wanted(target->compiler, NULL, id)) {
        return true;
    }
    if (!is_constant(field)) {
        compile_error(target->compiler, MDF_MODEL,
                      "'%s' can not be kept changeable: only a number or an array of numbers can; name what it is computed from "
                      "instead",
                      id);
        return false;
    }
    return add(target, NULL, id, field, declaration);
}

bool is_changeable(const struct compiler *compiler, const struct mdf_node *field)
{
    return find(compiler, field) != NULL;
}

mdf_operand changeable_operand(struct target *target, const struct mdf_node *field)
{
    const struct changeable *found = find(target->compiler, field);

    return found == NULL ? MDF_NO_OPERAND : unit_capture(target, target->unit, target->compiler->root_unit, found->slot);
}

const struct mdf_value *changeable_of_one_shape(struct compiler *compiler, mdf_operand slot)
{
    struct mdf_program_parameter *parameters = compiler->parameters.items;

    for (size_t i = 0; i < compiler->parameters.n; i++) {
        if (parameters[i].slot == slot) {
            parameters[i].keeps_shape = true;
            return unit_constant(compiler->root_unit, parameters[i].default_value);
        }
    }
    return NULL;
}

bool all_changeables_are_met(struct compiler *compiler)
{
    size_t i;

    for (i = 0; i < compiler->n_wanted && compiler->is_met[i]; i++) {
    }
    if (i < compiler->n_wanted) {
        mdf_refuse_parameter(&compiler->scratch, compiler->model->document, compiler->wanted[i], compiler->error);
    }
    return i == compiler->n_wanted;
}
