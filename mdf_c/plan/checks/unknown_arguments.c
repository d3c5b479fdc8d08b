/* unknown_arguments.c - warns of what stands in args though the function has no argument of that name.
 *
 * A name that a later argument reads is a step on the way and no mistake. Nor are those that PsyNeuLink's exporter writes for
 * all parameters of its classes, where their values have no effect (functions/psyneulink/exported_arguments.c). */
#include "functions/psyneulink/psyneulink.h"
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <string.h>

/* The names that values of other arguments hold. */
static bool find_read(struct compiler *compiler, const struct mdf_node *args, struct name_table *read)
{
    for (size_t i = 0; i < args->as.object.n; i++) {
        struct list names = {0};

        if (!collect_names(compiler, &args->as.object.entries[i].value, &names)) {
            return false;
        }
        for (size_t j = 0; j < names.n; j++) {
            const char *name = ((const char *const *)names.items)[j];

            if (strcmp(name, args->as.object.entries[i].key) != 0 && name_table_add(read, &compiler->scratch, name) == NULL) {
                compile_out_of_memory(compiler);
                return false;
            }
        }
    }
    return true;
}

/* Whether a value is nothing but `number`: one, or a list of such. */
static bool is_all(struct compiler *compiler, const struct mdf_node *node, double number)
{
    struct mdf_value value = {0};
    bool same;

    if (!mdf_node_to_value(compiler->memory, &value, node, false, compiler->error)) {
        return false;
    }
    same = value.kind == MDF_KIND_TENSOR && mdf_dtype_kind((mdf_dtype)value.dtype) != 's';
    for (size_t i = 0; same && i < value.length; i++) {
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
    size_t used;

    mdf_nearest_begin(&nearest, key);
    for (size_t i = 0; i < known->n; i++) {
        mdf_nearest_offer(&nearest, names[i]);
    }
    guess = mdf_nearest_result(&nearest);
    if (guess != NULL) {
        snprintf(text, size, "; did you mean '%s'?", guess);
        return;
    }
    snprintf(text, size, " (it has %s", known->n > 0 ? "" : "none");
    for (size_t i = 0; i < known->n; i++) {
        used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    used = strlen(text);
    snprintf(text + used, size - used, ")");
}

static void warn_of(struct compiler *compiler, const struct mdf_definition *definition, const struct list *known,
                    const struct mdf_node_entry *entry)
{
    struct place place = place_enter(compiler, "argument", entry->key, &entry->value);
    char advice[400];

    advise(known, entry->key, advice, sizeof advice);
    compile_warning(compiler, "function '%s' has no such argument: it is ignored%s", definition->function, advice);
    place_leave(compiler, place);
}

mdf_operand lacks_argument(struct compiler *compiler, const struct mdf_definition *definition, const char *function,
                           const char *name)
{
    size_t n = definition->args != NULL ? mdf_node_length(definition->args) : 0, i;

    for (i = 0; i < n; i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];
        struct mdf_nearest nearest;
        struct place place;

        mdf_nearest_begin(&nearest, entry->key);
        mdf_nearest_offer(&nearest, name);
        if (strcmp(entry->key, name) == 0 || mdf_nearest_result(&nearest) == NULL) {
            continue;
        }
        place = place_at_key(compiler, entry);
        compile_error(compiler, MDF_NAME, "function '%s' has no argument '%s'; did you mean '%s'?", function, entry->key, name);
        place_leave(compiler, place);
        return MDF_NO_OPERAND;
    }
    return compile_error(compiler, MDF_MODEL, "function '%s' needs the argument '%s': give it in args", function, name);
}

void warn_unknown_arguments(struct compiler *compiler, const struct mdf_definition *definition, const struct list *known)
{
    const struct mdf_node *args = definition->args;
    struct name_table read = {0};
    bool has_read = false; /* most functions have no unknown arguments, and do not need it */

    for (size_t i = 0; args != NULL && i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];

        if (names_contain(known, entry->key)) {
            continue;
        }
        if (!has_read && !find_read(compiler, args, &read)) {
            return; /* the error is set */
        }
        has_read = true;
        if (name_table_find(&read, entry->key) == NULL && !is_without_effect(compiler, definition->function, entry)) {
            warn_of(compiler, definition, known, entry);
        }
    }
}
