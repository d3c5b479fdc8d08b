/* unknown_arguments.c - warns of what stands in args though the function has no argument of that name.
 *
 * A name that a later argument reads is a step on the way and no mistake. Nor are those that PsyNeuLink's exporter writes for
 * all parameters of its classes, where their values have no effect (functions/psyneulink/exported_arguments.c). */
#include "functions/psyneulink/psyneulink.h"
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <string.h>

/* Whether another argument's value names `key`. */
static bool is_read(struct compiler *compiler, const struct mdf_node *args, const char *key)
{
    struct list names = {0};
    size_t i;

    for (i = 0; i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];

        if (strcmp(entry->key, key) != 0 && !collect_names(compiler, &entry->value, &names)) {
            return true; /* the error is set */
        }
    }
    return names_contain(&names, key);
}

/* Whether a value is nothing but `number`: one, or a list of such. */
static bool is_all(struct compiler *compiler, const struct mdf_node *node, double number)
{
    struct mdf_value value = {0};
    bool same;
    size_t i;

    if (!mdf_node_to_value(compiler->memory, &value, node, false, compiler->error)) {
        return false;
    }
    same = value.kind == MDF_KIND_TENSOR && mdf_dtype_kind((mdf_dtype)value.dtype) != 's';
    for (i = 0; same && i < value.length; i++) {
        same =
            mdf_element_to_double((mdf_dtype)value.dtype, (const char *)value.data + i * mdf_dtype_size(value.dtype)) == number;
    }
    mdf_value_clear(compiler->memory, &value);
    return same;
}

/* What PsyNeuLink's exporter writes beside the arguments of a function. */
static bool is_without_effect(struct compiler *compiler, const char *function, const struct mdf_node_entry *entry)
{
    const struct mdf_exported_argument *argument = mdf_psyneulink_exported_argument(function, entry->key);

    return argument != NULL && (argument->any_value || is_all(compiler, &entry->value, argument->value));
}

/* "; did you mean 'x'?", or what there is to choose from. */
static void advise(const struct list *known, const char *key, char *text, size_t size)
{
    const char *const *names = known->items, *guess;
    struct mdf_nearest nearest;
    size_t used, i;

    mdf_nearest_begin(&nearest, key);
    for (i = 0; i < known->n; i++) {
        mdf_nearest_offer(&nearest, names[i]);
    }
    guess = mdf_nearest_result(&nearest);
    if (guess != NULL) {
        snprintf(text, size, "; did you mean '%s'?", guess);
        return;
    }
    snprintf(text, size, " (it has %s", known->n > 0 ? "" : "none");
    for (i = 0; i < known->n; i++) {
        used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    used = strlen(text);
    snprintf(text + used, size - used, ")");
}

void warn_unknown_arguments(struct compiler *compiler, const struct mdf_definition *definition, const struct list *known)
{
    const struct mdf_node *args = definition->args;
    char advice[400];
    size_t i;

    for (i = 0; args != NULL && i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];

        if (!names_contain(known, entry->key) && !is_read(compiler, args, entry->key) &&
            !is_without_effect(compiler, definition->function, entry)) {
            struct place place = place_enter(compiler, "argument", entry->key, &entry->value);

            advise(known, entry->key, advice, sizeof advice);
            compile_warning(compiler, "function '%s' has no such argument: it is ignored%s", definition->function, advice);
            place_leave(compiler, place);
        }
    }
}
