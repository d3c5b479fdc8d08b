/* memories.c - PsyNeuLink's functions that remember entries: a cue retrieves the entry that is nearest to it, then is stored
 * itself.
 *
 * The state is the array of entries, the oldest first: (entries, fields, elements), the cue's own shape behind the first axis.
 * Where two entries are as near as each other one is drawn, unless the oldest or the newest is asked for. */
#include "functions/psyneulink/psyneulink.h"
#include "functions/python/python_values.h"

/* Distances by `metric` along the last axis, as objectives.c has them of two arrays. */
#define EPSILON "2.220446049250313e-16"
#define NOT_ZERO(x) "numpy.where(" x " == 0, " EPSILON ", " x ")"
#define SUM(x) "numpy.sum(" x ", axis=-1)"
#define CENTRED(v) "(" v " - numpy.mean(" v ", axis=-1, keepdims=True))"
#define COSINE(a, b) "numpy.sqrt(" SUM(a " ** 2") ") * numpy.sqrt(" SUM(b " ** 2") ")"
#define SPREAD(a, b) "numpy.sqrt(" SUM(CENTRED(a) " ** 2") " * " SUM(CENTRED(b) " ** 2") ")"
#define RAW_DISTANCE(a, b)                                                                                                     \
    "(" SUM("numpy.fabs(" a " - " b                                                                                            \
            ")") " if metric == 'difference' else "                                                                            \
                 "numpy.max(numpy.fabs(" a " - " b "), axis=-1) if metric == 'max_abs_diff' else "                             \
                 "1.0 - " SUM("numpy.abs(" a " - " b ")") " / 4.0 if metric == 'normed_L0_similarity' else " SUM(              \
                     a " * " b) " if metric == 'dot_product' else "                                                            \
                                "numpy.sqrt(" SUM(                                                                             \
                                    "(" b " - " a                                                                              \
                                    ") ** 2") ") if metric == 'euclidean' else "                                               \
                                              "1.0 - numpy.fabs(" SUM(a " * " b) " / (" NOT_ZERO(COSINE(                       \
                                                  a, b)) ")) if metric == 'cosine' else "                                      \
                                                         "1.0 - numpy.fabs(" SUM(CENTRED(a) " * " CENTRED(b)) " / (" NOT_ZERO( \
                                                             SPREAD(a, b)) ")) if metric == 'correlation' else "               \
                                                                           "-" SUM(NOT_ZERO(a) " * numpy.log(" NOT_ZERO(       \
                                                                               b) ")") " if metric == 'cross-entropy' else "   \
                                                                                       "-" SUM(a " * " b) " / 2.0)"
#define LENGTH(a)                                                                                          \
    "((" a ".shape[-1] ** 2.0 if metric == 'energy' else " a ".shape[-1]) if normalize and metric not in " \
    "('max_abs_diff', 'correlation', 'cosine') else 1)"
#define DISTANCE(a, b) RAW_DISTANCE(a, b) " / " LENGTH(a)

/* Of entries with their fields in the last axis but one: the mean by weights of fields; entries as a whole where all weigh the
 * same. */
#define ENTRY_DISTANCE(a, b) SUM("numpy.where(weights != 0, " DISTANCE(a, b) " * weights, 0.0)") " / n_weighted"

#define HAPPENS(probability) "(" probability " == 1.0 or (" probability " > 0.0 and " probability " > numpy.random.random()))"
#define ONE_OF(candidates, select)                                                                            \
    candidates "[0] if len(" candidates ") == 1 or " select " == 'oldest' else " candidates "[-1] if " select \
               " == 'newest' else " candidates "[int(numpy.random.random() * len(" candidates "))]"

/* Which entries are picked by their distances; there is at least one. */
#define PICK(distances)                                                                                               \
    {"sizes", "numpy.abs(" distances ") if 'abs' in selection.lower() else " distances},                              \
        {"hits", "numpy.flatnonzero(sizes == (numpy.min(sizes) if 'min' in selection.lower() else numpy.max(sizes)))" \
                 " if retrieves else numpy.arange(1)"},                                                               \
    {                                                                                                                 \
        "candidates", "hits[:1] if selection.startswith('arg') else hits"                                             \
    }

/* What is remembered from the beginning was stored, too, one entry after the other. */
#define BEGIN(twins, allowed)                                                                                                   \
    {"begun", "True"},                                                                                                          \
    {                                                                                                                           \
        "memory", "given if " allowed " == 1 or is_begun or len(given) < 2 else psyneulink.insist(given, "                      \
                  "not numpy.any(numpy.triu(" twins ", 1)), 'the initializer has entries that are duplicates: leave them out')" \
    }
#define AFTER(allowed, overwritten, entry)                                                                                \
    {"n_matches", "numpy.count_nonzero(matches)"},                                                                        \
        {"stored",                                                                                                        \
         "memory if not stores or (n_matches > 0 and " allowed " == 0) else numpy.concatenate((memory, [" entry "])) if " \
         "n_matches == 0 or " allowed " == 1 else psyneulink.insist(" overwritten ", n_matches == 1, "                    \
         "'an entry is to overwrite its duplicate, of which there are several')"},                                        \
    {                                                                                                                     \
        "remembered", "stored[-max_entries:]"                                                                             \
    }

/* What the ports of a node give, as the exporter puts it together, has an axis of one element behind the first: it goes. */
#define CUE                                                                \
    {"all", "numpy.atleast_2d(variable0) * 1.0"},                          \
    {                                                                      \
        "cue", "all[:, 0] if all.ndim == 3 and all.shape[1] == 1 else all" \
    }

static const struct mdf_function_state memory_states[] = {
    {"previous_value", "initializer previous_value", "numpy.zeros(0)", "remembered"},
    {"is_begun", "is_begun", "False", "begun"},
    {NULL, NULL, NULL, NULL}};

static const struct mdf_function_step addressable_steps[] = {
    CUE,
    {"given", "numpy.reshape(previous_value, (-1, cue.shape[0], cue.shape[1]))[-max_entries:] + (0.0 if is_begun else noise)"},
    {"fields", "numpy.atleast_1d(distance_field_weights)"},
    {"is_whole", "bool(numpy.all(fields == fields[0]))"},
    {"weights", "fields[:1] if is_whole else fields"},
    {"n_weighted", "1 if is_whole else numpy.count_nonzero(fields)"},
    {"n_parts", "1 if is_whole else cue.shape[0]"},
    {"all_given", "numpy.reshape(given, (len(given), n_parts, cue.size // n_parts))"},
    BEGIN(ENTRY_DISTANCE("all_given[:, None]", "all_given[None]") " <= duplicate_threshold", "duplicate_entries_allowed"),
    {"known", "numpy.reshape(memory, (len(memory), n_parts, cue.size // n_parts))"},
    {"asked", "numpy.reshape(cue, (1, n_parts, cue.size // n_parts))"},
    {"retrieves", "bool(numpy.any(fields)) and " HAPPENS("retrieval_prob") " and len(memory) > 0"},
    {"distances", ENTRY_DISTANCE("asked", "known") " if retrieves else numpy.zeros(1)"},
    PICK("distances"),
    {"selected",
     "psyneulink.insist(candidates, False, 'a selection function that may find several entries sums them up, which is not "
     "covered: allow duplicates, or take an arg_ mode') if retrieves and duplicate_entries_allowed == 0 and "
     "selection.startswith('MAX') else candidates"},
    {"picked", "known[selected] if retrieves else asked"},
    {"is_confused", "duplicate_entries_allowed == 0 and len(selected) > 1 and bool(numpy.any(numpy.triu(" ENTRY_DISTANCE(
                        "picked[:, None]", "picked[None]") " <= duplicate_threshold, 1)))"},
    {"value", "memory[" ONE_OF("selected", "equidistant_entries_select") "] if retrieves and not is_confused else 0.0 * cue"},
    {"stores", HAPPENS("storage_prob")},
    {"entry", "cue + noise"},
    {"new", "numpy.reshape(entry, (1, n_parts, cue.size // n_parts))"},
    {"matches",
     ENTRY_DISTANCE("new", "known") " <= duplicate_threshold if stores and len(memory) > 0 else numpy.zeros(1, dtype=bool)"},
    AFTER("duplicate_entries_allowed", "numpy.where(numpy.reshape(matches, (-1, 1, 1)), entry, memory)", "entry"),
    {NULL, NULL}};

/* An entry is a key and a value; cues are keys, and duplicates have the same key to the last bit. */
static const struct mdf_function_step dictionary_steps[] = {
    CUE,
    {"given", "numpy.reshape(previous_value, (-1, 2, cue.shape[1]))[-max_entries:] * 1.0"},
    BEGIN("numpy.all(given[:, None, 0] == given[None, :, 0], axis=-1)", "duplicate_keys"),
    {"keys", "memory[:, 0]"},
    {"retrieves", HAPPENS("retrieval_prob") " and len(memory) > 0"},
    {"asked", "cue[:1]"},
    {"distances", DISTANCE("asked", "keys") " if retrieves else numpy.zeros(1)"},
    PICK("distances"),
    {"is_confused", "duplicate_keys == 0 and len(candidates) > 1 and bool(numpy.any(numpy.all(keys[candidates[1:]] == "
                    "keys[candidates[:1]], axis=-1)))"},
    {"value", "memory[" ONE_OF("candidates", "equidistant_keys_select") "] if retrieves and not is_confused else 0.0 * cue"},
    {"stores", HAPPENS("storage_prob")},
    {"entry", "numpy.stack((cue[0] * rate + noise, cue[1]))"},
    {"matches", "numpy.all(keys == entry[0], axis=-1) if stores and len(memory) > 0 else numpy.zeros(1, dtype=bool)"},
    AFTER("duplicate_keys", "numpy.where(numpy.reshape(matches, (-1, 1, 1)), entry, memory)", "entry"),
    {NULL, NULL}};

/* A matrix with an entry in each row, that is told what to do: to score the entries by a query, to retrieve what the scores that
 * it is given make of them, to store the query in place of one. variable0 is query, scores, and which entry is the weakest. */
static const struct mdf_function_state matrix_states[] = {
    {"previous_memory", "memory previous_memory", "numpy.zeros((0, 0))", "memory_after"}, {NULL, NULL, NULL, NULL}};
static const struct mdf_function_step matrix_steps[] = {
    {"query", "numpy.ravel(variable0[0]) * 1.0"},
    {"given_scores", "numpy.ravel(variable0[1]) * 1.0"},
    {"weakest", "int(numpy.ravel(variable0[2])[0])"},
    {"known", "previous_memory * 1.0"},
    {"lengths", "numpy.sqrt(numpy.sum(known ** 2, axis=1))"},
    {"asked", "query / numpy.sqrt(numpy.sum(query ** 2)) if normalize_memories and numpy.any(query) else query"},
    {"keys", "known / numpy.reshape(lengths, (-1, 1)) if normalize_memories and numpy.any(known) else known"},
    {"is_scoring", "operation == 'COMPUTE_SCORES'"},
    {"scores", "keys @ asked if is_scoring else given_scores"},
    {"norms", "lengths if is_scoring else numpy.zeros(len(known))"},
    {"entry", "given_scores @ known if operation in ('ACCESS_MEMORY', 'retrieve') else query"},
    {"stores", "operation == 'ACCESS_MEMORY' and " HAPPENS("storage_prob")},
    {"memory_after", "numpy.where(numpy.reshape(numpy.arange(len(known)), (-1, 1)) == weakest, query, known * (1 - decay_rate)) "
                     "if stores else known"},
    {NULL, NULL}};

/* memory_matrix with variable0 in place of its weakest column, or row where `axis` is 1. */
static const struct mdf_function_step storage_steps[] = {
    {"entry", "numpy.ravel(variable0) * 1.0"},
    {"known", "memory_matrix * (decay_rate if decay_rate != 0 else 1.0)"},
    {"place", "storage_location if storage_location >= 0 else numpy.argmin(numpy.sqrt(numpy.sum(known ** 2, axis=axis)))"},
    {"stored", "numpy.where(numpy.arange(known.shape[1]) == place, numpy.reshape(entry, (-1, 1)), known) if axis == 0 else "
               "numpy.where(numpy.reshape(numpy.arange(known.shape[0]), (-1, 1)) == place, entry, known)"},
    {"value", "stored if " HAPPENS("storage_prob") " else memory_matrix * 1.0"},
    {NULL, NULL}};

/* value where truth holds, else an error that says why not. */
static bool insist(struct mdf_call *call)
{
    bool holds;
    size_t length;
    const char *text;

    if (!mdf_python_truth(call, 1, false, &holds)) {
        return false;
    }
    if (!holds) {
        text = mdf_python_text(call->inputs[2], &length);
        return mdf_call_error(call, MDF_VALUE, "%.*s", (int)length, text);
    }
    return mdf_value_copy(call->context->memory, call->outputs[0], call->inputs[0]) || mdf_call_out_of_memory(call);
}

const struct mdf_operator mdf_operators_python_psyneulink_memories[] = {
    {"psyneulink.insist", 0, 0, insist, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "value truth message"},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};

/* Texts of duplicate_entries_allowed and duplicate_keys beside true and false. */
static const struct mdf_function_step duplicates_keywords[] = {{"overwrite", "2"}, {NULL, NULL}};

#define NEAREST                                                                                                            \
    " metric|distance_function.metadata.metric:cosine,difference,max_abs_diff,normed_L0_similarity,dot_product,euclidean," \
    "correlation,cross-entropy,energy normalize|distance_function.metadata.normalize=False "                               \
    "distance_type|distance_function.metadata.type:Distance "                                                              \
    "selection|selection_function.metadata.mode:MIN_INDICATOR,MIN_ABS_INDICATOR,MAX_INDICATOR,MAX_ABS_INDICATOR,"          \
    "arg_min_indicator,arg_min_abs_indicator,arg_max_indicator,arg_max_abs_indicator "                                     \
    "selection_type|selection_function.metadata.type:OneHot"

const struct mdf_defined_function mdf_psyneulink_memories[] = {
    {"contentaddressablememory",
     "variable0 retrieval_prob=1.0 storage_prob=1.0 noise=0.0 distance_field_weights=1 duplicate_entries_allowed=False "
     "duplicate_threshold=" EPSILON " equidistant_entries_select:random,oldest,newest max_entries=1000" NEAREST,
     duplicates_keywords, memory_states, addressable_steps, "value"},
    {"dictionarymemory",
     "variable0 retrieval_prob=1.0 storage_prob=1.0 rate=1.0 noise=0.0 duplicate_keys=False "
     "equidistant_keys_select:random,oldest,newest max_entries=1000" NEAREST,
     duplicates_keywords, memory_states, dictionary_steps, "value"},
    {"matrixmemory",
     "variable0 operation:COMPUTE_SCORES,ACCESS_MEMORY,retrieve normalize_memories=True scores_metric:dot_product "
     "decay_rate=0.0 storage_prob=1.0",
     NULL, matrix_states, matrix_steps, "entry scores norms"},
    {"emstorage", "variable0 memory_matrix axis=0 storage_location=-1 storage_prob=1.0 decay_rate=0.0", NULL, NULL, storage_steps,
     "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
