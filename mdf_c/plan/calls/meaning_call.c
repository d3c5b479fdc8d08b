/* meaning_call.c - calls of functions of expressions that have no kernel: what they mean is written out in their place.
 *
 * Comes in: a function's row and the operands of a call. Goes out: the code of the row's meaning, whose steps see the formals by
 * their names, in a scope of their own; of what is None, it is known when that is compiled. */
#include "mdf_c/expression/expression.h"
#include "mdf_c/plan/call_arguments.h"

/* Every node of a tree stands where the call does that it comes of. */
static void place_tree(struct mdf_expression *tree, size_t offset)
{
    size_t n = mdf_expression_n_items(tree);

    for (size_t i = 0; i < n; i++) {
        if (tree->as.list.items[i] != NULL) {
            place_tree(tree->as.list.items[i], offset);
        }
    }
    tree->offset = tree->word = offset;
}

/* The steps of a meaning, which see the names of a scope; the last one is the result. */
static mdf_operand compile_steps(struct target *target, const struct mdf_meaning_step *step)
{
    struct compiler *compiler = target->compiler;

    for (;; step++) {
        size_t offset;
        struct mdf_expression *tree = mdf_expression_parse(&compiler->scratch, step->expression, &offset, compiler->error);
        bool is_last = step[1].name == NULL;
        mdf_operand operand = MDF_NO_OPERAND;

        if (tree != NULL) {
            place_tree(tree, compiler->offset);
            operand = compile_tree(target, tree);
        }
        if (is_last || operand == MDF_NO_OPERAND) {
            return operand;
        }
        if (!scope_bind(compiler, target->scope, step->name, operand)) {
            return MDF_NO_OPERAND;
        }
    }
}

mdf_operand compile_meaning(struct target *target, const struct call_arguments *arguments)
{
    struct compiler *compiler = target->compiler;
    const struct mdf_code_call *derived = compiler->derived;
    struct scope scope = {.unit = target->unit};
    struct target inner = {compiler, target->unit, &scope};
    struct mdf_value none = {0};
    mdf_operand result;
    bool derives = compiler->derives;

    for (size_t i = 0; i < arguments->formals.n; i++) {
        const struct call_formal *formal = &arguments->formals.items[i];
        const char *name = mdf_arena_printf(&compiler->scratch, "%.*s", (int)formal->length, formal->name);
        mdf_operand operand = i < arguments->n ? arguments->operands[i] : MDF_NO_OPERAND;

        operand = operand != MDF_NO_OPERAND ? operand : unit_add_constant(target, &none, 0);
        if (name == NULL || operand == MDF_NO_OPERAND || !scope_bind(compiler, &scope, name, operand)) {
            return name == NULL ? compile_out_of_memory(compiler) : MDF_NO_OPERAND;
        }
    }
    compiler->derives = true;
    compiler->derived = NULL;
    result = compile_steps(&inner, arguments->row->meaning->steps);
    compiler->derives = derives;
    compiler->derived = derived;
    return result;
}
