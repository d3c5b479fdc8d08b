/* sweep_file.c - see sweep_file.h. A key of the file is a row of the table: what it is called, who reads it. */
#include "mdf_c/cli/sweep/sweep_keys.h"

#include "mdf_c/base/error.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <string.h>

bool sweep_key_fault(const struct sweep_reading *reading, const struct mdf_node *node, const char *key, const char *must)
{
    mdf_node_error(reading->document, node, reading->error, MDF_VALUE, "'%s'%s must be %s, not %s", key, reading->of, must,
                   mdf_node_describe(node));
    return false;
}

struct sweep_place sweep_place_of(const struct mdf_node *node)
{
    return (struct sweep_place){mdf_position(node->line), mdf_position(node->column)};
}

bool sweep_unknown_key(const struct sweep_reading *reading, const struct mdf_node_entry *entry, const char *what,
                       const char *const *known, size_t n_known)
{
    struct mdf_node place = entry->value;
    struct mdf_nearest nearest;

    place.line = entry->line;
    place.column = entry->column;
    mdf_nearest_begin(&nearest, entry->key);
    mdf_node_error(reading->document, &place, reading->error, MDF_NAME, "%s no key '%s'; there are ", what, entry->key);
    for (size_t i = 0; i < n_known; i++) {
        mdf_nearest_offer(&nearest, known[i]);
        mdf_error_append(reading->error, "%s%s", i == 0 ? "" : i + 1 == n_known ? " and " : ", ", known[i]);
    }
    mdf_error_suggest(reading->error, mdf_nearest_result(&nearest));
    return false;
}

/* A word that must be one of some. */
static bool word_fault(const struct sweep_reading *reading, const struct mdf_node *node, const char *key, const char *must,
                       const char *const *words, size_t n_words)
{
    struct mdf_nearest nearest;

    if (node->kind != MDF_NODE_STRING) {
        return sweep_key_fault(reading, node, key, must);
    }
    mdf_nearest_begin(&nearest, node->as.string.bytes);
    for (size_t i = 0; i < n_words; i++) {
        mdf_nearest_offer(&nearest, words[i]);
    }
    mdf_node_error(reading->document, node, reading->error, MDF_VALUE, "'%s' must be %s, not '%s'", key, must,
                   node->as.string.bytes);
    mdf_error_suggest(reading->error, mdf_nearest_result(&nearest));
    return false;
}

bool sweep_keys_out_of_memory(const struct sweep_reading *reading)
{
    mdf_memory_error(reading->sweep->memory, reading->error);
    return false;
}

const char *sweep_keep_text(const struct sweep_reading *reading, const char *text)
{
    const char *kept = mdf_arena_text(&reading->sweep->arena, text, strlen(text));

    if (kept == NULL) {
        sweep_keys_out_of_memory(reading);
    }
    return kept;
}

/* ------------------------------------------------------------------ what is swept and what is given */

static bool read_parameters(const struct sweep_reading *reading, const struct mdf_node *node)
{
    struct sweep_file *sweep = reading->sweep;

    if (node->kind != MDF_NODE_OBJECT || (node->as.object.n == 0 && mdf_node_get(&reading->document->root, "trials") == NULL)) {
        return sweep_key_fault(reading, node, "parameters", "an object {NAME: values}");
    }
    sweep->swept = mdf_arena_array(&sweep->arena, node->as.object.n, sizeof *sweep->swept);
    if (sweep->swept == NULL) {
        return sweep_keys_out_of_memory(reading);
    }
    for (size_t i = 0; i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];
        struct sweep_entry *made = &sweep->swept[sweep->n_swept++];

        made->name = sweep_keep_text(reading, entry->key);
        made->place = (struct sweep_place){mdf_position(entry->line), mdf_position(entry->column)};
        if (made->name == NULL || !read_sweep_distribution(reading->document, &entry->value, entry->key, &made->distribution,
                                                           &made->is_drawn, reading->error)) {
            return false;
        }
        if (!made->is_drawn &&
            !read_sweep_values(sweep->memory, reading->document, &entry->value, entry->key, &made->values, reading->error)) {
            return false;
        }
    }
    return true;
}

static bool read_given(const struct sweep_reading *reading, const struct mdf_node *node, const char *name,
                       struct mdf_value *value)
{
    if (mdf_read_value(reading->sweep->memory, reading->document, node, value, reading->error) != MDF_OK) {
        return false;
    }
    if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
        mdf_node_error(reading->document, node, reading->error, MDF_VALUE,
                       "input '%s' of a sweep must be a number or an array of numbers", name);
        return false;
    }
    return true;
}

/* One input of all steps, stacked. */
static bool stack(const struct sweep_reading *reading, const struct mdf_node *list, struct sweep_entry *entry)
{
    struct mdf_memory *memory = reading->sweep->memory;
    struct mdf_value value = {0}, rows = {0};
    size_t n = mdf_node_length(list), i;
    struct mdf_value *items = mdf_value_make_list(memory, &rows, n);
    bool done = items != NULL;
    struct mdf_node item;
    int made;

    for (i = 0; i < n && done; i++) {
        const struct mdf_node *given = mdf_node_item(list, i, &item) ? mdf_node_get(&item, entry->name) : NULL;

        if (given == NULL || item.as.object.n != reading->sweep->n_given) {
            mdf_node_error(
                reading->document, list, reading->error, MDF_VALUE,
                "inputs by step must be objects with the same names: those of step %zu are others than those of step 1", i + 1);
            done = false;
        } else {
            done = read_given(reading, given, entry->name, &value) && mdf_value_share(memory, &items[i], &value);
        }
        mdf_value_clear(memory, &value);
    }
    made = done ? mdf_value_from_nested_list(memory, &entry->values, &rows) : 0;
    mdf_value_clear(memory, &rows);
    if (done && made == 0) {
        mdf_node_error(reading->document, list, reading->error, MDF_SHAPE,
                       "the values of input '%s' must have one shape in all steps", entry->name);
    }
    return made > 0 || sweep_keys_out_of_memory(reading);
}

static bool read_inputs(const struct sweep_reading *reading, const struct mdf_node *node)
{
    struct sweep_file *sweep = reading->sweep;
    struct mdf_node first = *node;

    sweep->inputs_place = sweep_place_of(node);
    sweep->by_step = node->kind == MDF_NODE_LIST;
    if ((sweep->by_step && !mdf_node_item(node, 0, &first)) || first.kind != MDF_NODE_OBJECT) {
        return sweep_key_fault(reading, node, "inputs", "an object {NAME: value}, or a list of such objects, one a step");
    }
    sweep->n_given_steps = sweep->by_step ? mdf_node_length(node) : 0;
    sweep->given = mdf_arena_array(&sweep->arena, first.as.object.n, sizeof *sweep->given);
    if (sweep->given == NULL) {
        return sweep_keys_out_of_memory(reading);
    }
    sweep->n_given = first.as.object.n;
    for (size_t i = 0; i < sweep->n_given; i++) {
        const struct mdf_node_entry *entry = &first.as.object.entries[i];

        sweep->given[i].name = sweep_keep_text(reading, entry->key);
        sweep->given[i].place = (struct sweep_place){mdf_position(entry->line), mdf_position(entry->column)};
        if (sweep->given[i].name == NULL ||
            !(sweep->by_step ? stack(reading, node, &sweep->given[i])
                             : read_given(reading, &entry->value, entry->key, &sweep->given[i].values))) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the other keys */

static const char *const combinations[] = {"zip", "grid"};

const char *sweep_combination(const struct sweep_file *sweep)
{
    return combinations[sweep->is_grid];
}

static bool read_combine(const struct sweep_reading *reading, const struct mdf_node *node)
{
    const char *text = node->kind == MDF_NODE_STRING ? node->as.string.bytes : "";
    size_t i;

    for (i = 0; i < 2 && strcmp(combinations[i], text) != 0; i++) {
    }
    reading->sweep->is_grid = i == 1;
    return i < 2 || word_fault(reading, node, "combine", "grid (each value with each) or zip (one by one)", combinations, 2);
}

static bool read_steps(const struct sweep_reading *reading, const struct mdf_node *node)
{
    if (node->kind != MDF_NODE_INT || node->as.integer < 1) {
        return sweep_key_fault(reading, node, "steps", "a whole number, at least 1");
    }
    reading->sweep->n_steps = (uint64_t)node->as.integer;
    return true;
}

static bool read_every(const struct sweep_reading *reading, const struct mdf_node *node)
{
    if (node->kind != MDF_NODE_INT || node->as.integer < 0) {
        return sweep_key_fault(reading, node, "every", "a whole number k (record each k-th step), or 0 (only the last)");
    }
    reading->sweep->every = (uint64_t)node->as.integer;
    reading->sweep->has_every = true;
    reading->sweep->every_place = sweep_place_of(node);
    return true;
}

static bool read_dt(const struct sweep_reading *reading, const struct mdf_node *node)
{
    if (node->kind != MDF_NODE_INT && node->kind != MDF_NODE_REAL) {
        return sweep_key_fault(reading, node, "dt", "a number");
    }
    reading->sweep->dt = node->kind == MDF_NODE_INT ? (double)node->as.integer : node->as.real;
    return isfinite(reading->sweep->dt) || sweep_key_fault(reading, node, "dt", "a finite number");
}

static bool read_record(const struct sweep_reading *reading, const struct mdf_node *node)
{
    struct mdf_text names;
    bool done = true;

    reading->sweep->record_place = sweep_place_of(node);
    if (node->kind == MDF_NODE_STRING) {
        reading->sweep->record = sweep_keep_text(reading, node->as.string.bytes);
        return reading->sweep->record != NULL;
    }
    mdf_text_init(&names, reading->sweep->memory);
    for (size_t i = 0; node->kind == MDF_NODE_LIST && i < node->as.list.n && done; i++) {
        done = node->as.list.items[i].kind == MDF_NODE_STRING;
        mdf_text_printf(&names, "%s%s", i > 0 ? "," : "", done ? node->as.list.items[i].as.string.bytes : "");
    }
    if (names.failed) {
        done = sweep_keys_out_of_memory(reading);
    } else if (!done || names.length == 0) {
        done = sweep_key_fault(reading, node, "record", "a list of output ports, each PORT or NODE.PORT");
    } else {
        reading->sweep->record = sweep_keep_text(reading, names.bytes);
        done = reading->sweep->record != NULL;
    }
    mdf_text_release(&names);
    return done;
}

static bool read_seeds(const struct sweep_reading *reading, const struct mdf_node *node)
{
    struct mdf_value *seeds = &reading->sweep->seeds;

    reading->sweep->seeds_place = sweep_place_of(node);
    if (mdf_read_value(reading->sweep->memory, reading->document, node, seeds, reading->error) != MDF_OK) {
        return false;
    }
    return (seeds->kind == MDF_KIND_TENSOR && seeds->dtype == MDF_DTYPE_INT64) ||
           sweep_key_fault(reading, node, "seeds",
                           "a whole number, from which each instance gets a seed, or a list of them, one an instance");
}

static bool read_stop_when(const struct sweep_reading *reading, const struct mdf_node *node)
{
    if (node->kind != MDF_NODE_STRING) {
        return sweep_key_fault(reading, node, "stop_when", "an expression over output ports");
    }
    mdf_node_place(reading->document, node, node->as.string.bytes, 0, &reading->sweep->stop_when_place.line,
                   &reading->sweep->stop_when_place.column);
    reading->sweep->stop_when = sweep_keep_text(reading, node->as.string.bytes);
    return reading->sweep->stop_when != NULL;
}

static bool read_count(const struct sweep_reading *reading, const struct mdf_node *node, const char *key, size_t *count)
{
    if (node->kind != MDF_NODE_INT || node->as.integer < 1) {
        return sweep_key_fault(reading, node, key, "a whole number, at least 1");
    }
    *count = (size_t)node->as.integer;
    return true;
}

static bool read_trials(const struct sweep_reading *reading, const struct mdf_node *node)
{
    return read_count(reading, node, "trials", &reading->sweep->n_trials);
}

static bool read_samples(const struct sweep_reading *reading, const struct mdf_node *node)
{
    return read_count(reading, node, "samples", &reading->sweep->n_samples);
}

static bool read_sampling(const struct sweep_reading *reading, const struct mdf_node *node)
{
    static const char *const names[] = {"random", "sobol", "latin_hypercube"}; /* in the order of mdf_sampling */
    size_t i = node->kind == MDF_NODE_STRING ? MDF_FIND_WORD(node->as.string.bytes, names) : SIZE_MAX;

    reading->sweep->sampling = (mdf_sampling)i;
    return i != SIZE_MAX ||
           word_fault(reading, node, "sampling", "random, sobol or latin_hypercube", names, sizeof names / sizeof *names);
}

static bool read_sample_seed(const struct sweep_reading *reading, const struct mdf_node *node)
{
    if (node->kind != MDF_NODE_INT) {
        return sweep_key_fault(reading, node, "sample_seed", "a whole number");
    }
    reading->sweep->sample_seed = (uint64_t)node->as.integer;
    return true;
}

static bool read_reduce(const struct sweep_reading *reading, const struct mdf_node *node)
{
    return read_sweep_reduce(reading->sweep, reading->document, node, reading->error);
}

static const struct {
    const char *key;
    bool (*read)(const struct sweep_reading *reading, const struct mdf_node *node);
} keys[] = {{"parameters", read_parameters},
            {"inputs", read_inputs},
            {"combine", read_combine},
            {"steps", read_steps},
            {"dt", read_dt},
            {"record", read_record},
            {"every", read_every},
            {"seeds", read_seeds},
            {"trials", read_trials},
            {"stop_when", read_stop_when},
            {"samples", read_samples},
            {"sampling", read_sampling},
            {"sample_seed", read_sample_seed},
            {"reduce", read_reduce}};

enum { N_KEYS = sizeof keys / sizeof *keys };

static bool unknown_key(const struct sweep_reading *reading, const struct mdf_node_entry *entry)
{
    const char *names[N_KEYS];

    for (size_t i = 0; i < N_KEYS; i++) {
        names[i] = keys[i].key;
    }
    return sweep_unknown_key(reading, entry, "a sweep has", names, N_KEYS);
}

static bool read_entries(const struct sweep_reading *reading)
{
    const struct mdf_node *root = &reading->document->root;
    size_t j;

    for (size_t i = 0; root->kind == MDF_NODE_OBJECT && i < root->as.object.n; i++) {
        const struct mdf_node_entry *entry = &root->as.object.entries[i];

        for (j = 0; j < N_KEYS && strcmp(keys[j].key, entry->key) != 0; j++) {
        }
        if (j == N_KEYS ? !unknown_key(reading, entry) : !keys[j].read(reading, &entry->value)) {
            return false;
        }
    }
    if (root->kind != MDF_NODE_OBJECT || (mdf_node_get(root, "parameters") == NULL && mdf_node_get(root, "trials") == NULL)) {
        mdf_node_error(
            reading->document, root, reading->error, MDF_VALUE,
            "a sweep is an object with at least \"parameters\": {NAME: values}, NAME being NODE.PARAMETER, or an input, or "
            "\"trials\": how many");
        return false;
    }
    return true;
}

bool read_sweep_file(struct sweep_file *sweep, struct mdf_memory *memory, const char *path, const mdf_options *options,
                     mdf_error *error)
{
    const struct mdf_warnings warnings = {options->warning, options->warning_context};
    struct sweep_reading reading = {.sweep = sweep, .of = "", .error = error};
    struct mdf_document *document;
    bool done;

    memset(sweep, 0, sizeof *sweep);
    sweep->memory = memory;
    sweep->is_grid = true;
    sweep->dt = NAN;
    mdf_arena_init(&sweep->arena, memory);
    document = mdf_document_load(memory, path, mdf_format_of_path(path) != NULL ? NULL : "json", &warnings, error);
    if (document == NULL) {
        return false;
    }
    reading.document = document;
    done = read_entries(&reading) && make_sweep_axes(sweep, path, error);
    mdf_document_free(document);
    return done;
}

void release_sweep_file(struct sweep_file *sweep)
{
    for (size_t i = 0; i < sweep->n_swept; i++) {
        mdf_value_clear(sweep->memory, &sweep->swept[i].values);
    }
    for (size_t i = 0; i < sweep->n_given; i++) {
        mdf_value_clear(sweep->memory, &sweep->given[i].values);
    }
    for (size_t i = 0; i < sweep->n_reductions; i++) {
        mdf_value_clear(sweep->memory, &sweep->reductions[i].points);
    }
    mdf_value_clear(sweep->memory, &sweep->seeds);
    mdf_arena_release(&sweep->arena);
}
