/* typed_constants.c - constants whose type and shape the model states: {"type", "shape", "data"}, or a value beside a
 * declaration. What is read is of that very type and shape; numbers that the type can not hold are an error. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

bool is_typed_form(const struct mdf_node *node)
{
    return node->kind == MDF_NODE_OBJECT && mdf_node_get(node, "type") != NULL && mdf_node_get(node, "data") != NULL &&
           node->as.object.n == 2 + (size_t)(mdf_node_get(node, "shape") != NULL);
}

/* Whether a declaration says all sizes. */
static bool has_full_shape(const struct mdf_declaration *declaration)
{
    for (size_t i = 0; i < declaration->rank; i++) {
        if (declaration->shape[i] < 0) {
            return false;
        }
    }
    return declaration->has_shape;
}

static bool make_array(struct target *target, const struct mdf_node *data, const struct mdf_declaration *declaration,
                       struct mdf_value *value)
{
    struct compiler *compiler = target->compiler;
    bool has_shape = has_full_shape(declaration);

    if (mdf_node_to_array(compiler->memory, compiler->model->document, data, declaration->type.dtype,
                          has_shape ? declaration->rank : 0, has_shape ? declaration->shape : NULL, value, compiler->error)) {
        value->strength = MDF_STRENGTH_TYPED;
        return true;
    }
    compile_error(compiler, MDF_VALUE, "the value does not fit its type and shape"); /* where nothing more exact is said */
    mdf_error_in(compiler->error, "%s", compiler->path);
    return false;
}

bool compile_typed_form(struct target *target, const struct mdf_node *node, struct mdf_value *value)
{
    struct compiler *compiler = target->compiler;
    struct mdf_declaration declaration = {0};

    if (mdf_model_read_declaration(&compiler->scratch, compiler->model->document, &compiler->warnings, node, &declaration,
                                   compiler->error) != MDF_OK) {
        return false;
    }
    if (declaration.type.dtype == MDF_DTYPE_NONE || declaration.type.sequence) {
        compile_error(compiler, MDF_TYPE, "\"type\" must name an element type, as \"float32\" does");
        return false;
    }
    return make_array(target, mdf_node_get(node, "data"), &declaration, value);
}

bool compile_declared_constant(struct target *target, const struct mdf_node *node, const struct mdf_declaration *declaration,
                               struct mdf_value *value)
{
    struct compiler *compiler = target->compiler;
    struct mdf_context context = {.memory = compiler->memory};
    bool is_text = node->kind == MDF_NODE_STRING && declaration->type.dtype != MDF_DTYPE_STRING;
    struct mdf_value constant = {0};
    bool done;

    if (declaration->type.exact && !declaration->type.sequence && has_full_shape(declaration) && !is_text &&
        !is_typed_form(node)) {
        return make_array(target, node, declaration, value);
    }
    if (!compile_constant(target, node, &constant)) {
        return false;
    }
    if (declaration->type.dtype == MDF_DTYPE_NONE) {
        mdf_value_swap(value, &constant);
        return true;
    }
    done = mdf_declare_value(&context, value, &constant, &declaration->type, false);
    mdf_value_clear(compiler->memory, &constant);
    if (!done) {
        mdf_value_clear(compiler->memory, value);
        compile_error(compiler, context.error.code, "%s", context.error.message);
    }
    return done;
}
