/* sweep_reduce_keys.c - the key `reduce` of a sweep file: {over: [AXIS, ...], count: true, mean: [NAME, ...], var: ...,
 * quantiles: [...] or {NAME: [...]}, histogram: {NAME: edges}}. */
#include "mdf_c/cli/sweep/sweep_keys.h"

#include "mdf_c/values/values.h"

#include <string.h>

static const struct kind {
    const char *key;
    mdf_sweep_reduction_kind kind;
    bool has_points;
} kinds[] = {{"count", MDF_REDUCTION_COUNT, false},
             {"mean", MDF_REDUCTION_MEAN, false},
             {"var", MDF_REDUCTION_VAR, false},
             {"quantiles", MDF_REDUCTION_QUANTILES, true},
             {"histogram", MDF_REDUCTION_HISTOGRAM, true}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Adds a reduction of a name (NULL: of all); NULL: out of memory. */
static struct sweep_reduction *add(struct sweep_reading *reading, const struct kind *kind, const char *name,
                                   struct sweep_place place)
{
    struct sweep_file *sweep = reading->sweep;
    struct sweep_reduction *made = &sweep->reductions[sweep->n_reductions];

    made->name = name != NULL ? sweep_keep_text(reading, name) : NULL;
    made->kind = kind->kind;
    made->place = place;
    if (name != NULL && made->name == NULL) {
        return NULL;
    }
    sweep->n_reductions++;
    return made;
}

static bool read_points(struct sweep_reading *reading, const struct mdf_node *node, const struct kind *kind, const char *name,
                        struct sweep_place place)
{
    struct sweep_reduction *made = add(reading, kind, name, place);
    struct mdf_value read = {0};
    bool done =
        made != NULL && read_sweep_values(reading->sweep->memory, reading->document, node, kind->key, &read, reading->error);
    const double *points;

    if (done && (read.rank != 1 || !mdf_value_convert(reading->sweep->memory, &made->points, &read, MDF_DTYPE_FLOAT64))) {
        done =
            read.rank != 1 ? sweep_key_fault(reading, node, kind->key, "a list of numbers") : sweep_keys_out_of_memory(reading);
    }
    mdf_value_clear(reading->sweep->memory, &read);
    points = done ? made->points.data : NULL;
    for (size_t i = 0; done && i < made->points.length; i++) {
        done = kind->kind == MDF_REDUCTION_QUANTILES ? points[i] >= 0 && points[i] <= 1 : i == 0 || points[i] > points[i - 1];
        if (!done) {
            sweep_key_fault(reading, node, kind->key,
                            kind->kind == MDF_REDUCTION_QUANTILES ? "numbers from 0 to 1"
                                                                  : "edges of bins, each larger than the one before");
        }
    }
    if (done && kind->kind == MDF_REDUCTION_HISTOGRAM && made->points.length < 2) {
        done = sweep_key_fault(reading, node, kind->key, "at least two edges");
    }
    return done;
}

/* {NAME: points}, or points of all. */
static bool read_pointed(struct sweep_reading *reading, const struct mdf_node *node, const struct kind *kind)
{
    bool is_by_name = node->kind == MDF_NODE_OBJECT && !is_sweep_range(node);

    for (size_t i = 0; is_by_name && i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];
        const struct sweep_place place = {mdf_position(entry->line), mdf_position(entry->column)};

        if (!read_points(reading, &entry->value, kind, entry->key, place)) {
            return false;
        }
    }
    return is_by_name || read_points(reading, node, kind, NULL, sweep_place_of(node));
}

/* true, a name, or a list of names. */
static bool read_names(struct sweep_reading *reading, const struct mdf_node *node, const struct kind *kind)
{
    struct mdf_node item;

    if (node->kind == MDF_NODE_BOOL) {
        return !node->as.truth || add(reading, kind, NULL, sweep_place_of(node)) != NULL;
    }
    if (node->kind == MDF_NODE_STRING) {
        return add(reading, kind, node->as.string.bytes, sweep_place_of(node)) != NULL;
    }
    for (size_t i = 0; node->kind == MDF_NODE_LIST && mdf_node_item(node, i, &item); i++) {
        if (item.kind != MDF_NODE_STRING) {
            return sweep_key_fault(reading, &item, kind->key, "the name of a recorded port, stopped_step or stopped_time");
        }
        if (add(reading, kind, item.as.string.bytes, sweep_place_of(&item)) == NULL) {
            return false;
        }
    }
    return node->kind == MDF_NODE_LIST || sweep_key_fault(reading, node, kind->key, "true, or a list of names");
}

static bool read_over(struct sweep_reading *reading, const struct mdf_node *node)
{
    struct sweep_file *sweep = reading->sweep;
    size_t n = node->kind == MDF_NODE_LIST ? mdf_node_length(node) : 1, i;
    struct mdf_node item = *node;

    sweep->reduced_axes = mdf_arena_array(&sweep->arena, n, sizeof *sweep->reduced_axes);
    if (sweep->reduced_axes == NULL) {
        return sweep_keys_out_of_memory(reading);
    }
    for (i = 0; i < n; i++) {
        if ((node->kind == MDF_NODE_LIST && !mdf_node_item(node, i, &item)) || item.kind != MDF_NODE_STRING) {
            return sweep_key_fault(reading, node, "over", "the names of axes: swept names, instance, sample, trial");
        }
        sweep->reduced_axes[i] =
            (struct sweep_reduced_axis){sweep_keep_text(reading, item.as.string.bytes), sweep_place_of(&item)};
        if (sweep->reduced_axes[i].name == NULL) {
            return false;
        }
        sweep->n_reduced_axes++;
    }
    return true;
}

static bool read_entry(struct sweep_reading *reading, const struct mdf_node_entry *entry)
{
    const char *names[1 + N_KINDS] = {"over"};

    if (strcmp(entry->key, "over") == 0) {
        return read_over(reading, &entry->value);
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i].key, entry->key) == 0) {
            return kinds[i].has_points ? read_pointed(reading, &entry->value, &kinds[i])
                                       : read_names(reading, &entry->value, &kinds[i]);
        }
        names[1 + i] = kinds[i].key;
    }
    return sweep_unknown_key(reading, entry, "'reduce' has", names, 1 + N_KINDS);
}

/* At most so many reductions may come. */
static size_t count_parts(const struct mdf_node *node)
{
    size_t n = 0;

    for (size_t i = 0; i < node->as.object.n; i++) {
        const struct mdf_node *value = &node->as.object.entries[i].value;

        n += 1 + (value->kind == MDF_NODE_OBJECT ? value->as.object.n
                  : value->kind == MDF_NODE_LIST ? mdf_node_length(value)
                                                 : 0);
    }
    return n;
}

bool read_sweep_reduce(struct sweep_file *sweep, const struct mdf_document *document, const struct mdf_node *node,
                       mdf_error *error)
{
    struct sweep_reading reading = {.sweep = sweep, .document = document, .of = " of 'reduce'", .error = error};

    if (node->kind != MDF_NODE_OBJECT) {
        mdf_node_error(document, node, error, MDF_VALUE,
                       "'reduce' must be an object such as {over: [trial], mean: true, quantiles: [0.5]}, not %s",
                       mdf_node_describe(node));
        return false;
    }
    sweep->reductions = mdf_arena_array(&sweep->arena, count_parts(node), sizeof *sweep->reductions);
    if (sweep->reductions == NULL) {
        return sweep_keys_out_of_memory(&reading);
    }
    for (size_t i = 0; i < node->as.object.n; i++) {
        if (!read_entry(&reading, &node->as.object.entries[i])) {
            return false;
        }
    }
    if (sweep->n_reductions == 0) {
        mdf_node_error(document, node, error, MDF_VALUE,
                       "'reduce' asks for nothing: name count, mean, var, quantiles or histogram");
    }
    return sweep->n_reductions > 0;
}
