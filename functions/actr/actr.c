/* actr.c - the functions of ACT-R models: memory that is asked for a chunk, productions that match, one that is chosen, and what
 * it puts into the buffers.
 *
 * Come in: chunks, patterns and productions as objects, lists of them. Go out: new ones; what comes in is never changed, where
 * the source writes into it (change_goal into the goal, match_production bindings into its production). What is missing or of the
 * wrong kind is an error that names it. Source: modeci_mdf.functions.actr of MDF 0.4.15. */
#include "functions/actr/actr.h"
#include "functions/actr/patterns.h"

#include <string.h>

/* Scratch values. 0 takes an output that nobody reads. */
enum { SCRATCH_BINDINGS = 1, SCRATCH_MATCHES = 2, SCRATCH_ITEM = 3 };

static bool make_empty_object(struct mdf_call *call)
{
    struct mdf_object_maker maker;

    return mdf_object_begin(&maker, call, mdf_call_target(call, 0), 0);
}

/* ------------------------------------------------------------------ texts */

static bool run_chunk_to_string(struct mdf_call *call)
{
    return mdf_check_words(call, call->inputs[0], "the chunk", mdf_words_of_chunk) &&
           mdf_join_words(call, call->inputs[0], mdf_words_of_chunk, false);
}

static bool run_pattern_to_string(struct mdf_call *call)
{
    return mdf_check_words(call, call->inputs[0], "the pattern", mdf_words_of_pattern) &&
           mdf_join_words(call, call->inputs[0], mdf_words_of_pattern, true);
}

/* ------------------------------------------------------------------ the goal and the memory */

/* "pattern curr_goal": the goal with the pattern's slots. A goal that is 0, as a parameter is before it has a value, has none. */
static bool run_change_goal(struct mdf_call *call)
{
    const struct mdf_value *pattern = call->inputs[0], *goal = call->inputs[1];
    struct mdf_value *merged = &call->scratch[SCRATCH_ITEM];
    struct mdf_object_maker maker;
    double number;

    if (mdf_value_is_scalar(goal) && mdf_value_to_double(goal, &number) && number == 0) {
        return make_empty_object(call);
    }
    if (!mdf_check_object(call, pattern, "the pattern") || !mdf_check_object(call, goal, "the goal") ||
        !mdf_object_begin(&maker, call, merged, goal->length + pattern->length) || !mdf_object_put_all(&maker, goal) ||
        !mdf_object_put_all(&maker, pattern) || !mdf_object_begin(&maker, call, mdf_call_target(call, 0), merged->length)) {
        return false;
    }
    for (size_t i = 0; i < merged->length; i++) {
        if (!mdf_span_equal(mdf_span_of_value(mdf_object_key(merged, i)), mdf_span_of("buffer")) &&
            !mdf_object_put(&maker, mdf_object_key(merged, i), mdf_object_value(merged, i))) {
            return false;
        }
    }
    return true;
}

/* Text number `i` of a list of texts, which may be an array of them; NULL where it is none. */
static const char *text_at(const struct mdf_value *texts, size_t i)
{
    if (texts->kind == MDF_KIND_LIST && i < texts->length) {
        return mdf_value_to_string(&mdf_value_items(texts)[i]);
    }
    return texts->kind == MDF_KIND_TENSOR && texts->dtype == MDF_DTYPE_STRING && texts->rank == 1 && i < texts->length
               ? ((char *const *)texts->data)[i]
               : NULL;
}

static bool put_text(struct mdf_object_maker *maker, struct mdf_span key, struct mdf_span text)
{
    struct mdf_memory *memory = maker->call->context->memory;
    struct mdf_value key_value = {0}, value = {0};
    bool made = mdf_value_make_string(memory, &key_value, key.bytes, key.length) &&
                mdf_value_make_string(memory, &value, text.bytes, text.length);
    bool done = made ? mdf_object_put(maker, &key_value, &value) : mdf_call_out_of_memory(maker->call);

    mdf_value_clear(memory, &key_value);
    mdf_value_clear(memory, &value);
    return done;
}

/* A chunk as the request gets it: its type under ISA, its other slots under the names that `types` gives them. */
static bool name_slots(struct mdf_call *call, const struct mdf_value *chunk, const struct mdf_value *types)
{
    struct mdf_object_maker maker;
    struct mdf_span type, slot;
    const struct mdf_value *names;
    const char *name;
    bool has_names;
    size_t n = mdf_chunk_length(chunk, &has_names), i;

    if (has_names || !mdf_chunk_slot(chunk, 0, &type)) {
        return mdf_call_error(call, MDF_VALUE, "the chunk that matches %s",
                              has_names ? "has slots with names of their own" : "is empty");
    }
    names = mdf_object_find(types, type);
    if (names == NULL && n > 1) {
        return mdf_call_error(call, MDF_VALUE, "types has no entry '%.*s', the type of the chunk that matches",
                              (int)(type.length < 60 ? type.length : 60), type.bytes);
    }
    if (!mdf_object_begin(&maker, call, mdf_call_target(call, 0), n) || !put_text(&maker, mdf_span_of("ISA"), type)) {
        return false;
    }
    for (i = 1; i < n; i++) {
        name = text_at(names, i - 1);
        if (name == NULL) {
            return mdf_call_error(call, MDF_VALUE, "the entry '%.*s' of types has no text for slot %zu of a chunk with %zu",
                                  (int)(type.length < 60 ? type.length : 60), type.bytes, i, n - 1);
        }
        if (!mdf_chunk_slot(chunk, i, &slot) || !put_text(&maker, mdf_span_of(name), slot)) {
            return false;
        }
    }
    return true;
}

/* "pattern dm_chunks types": the first chunk in memory that matches; an empty object where none does, or nothing is asked. */
static bool run_retrieve_chunk(struct mdf_call *call)
{
    const struct mdf_value *pattern = call->inputs[0], *chunks = call->inputs[1], *types = call->inputs[2];
    struct mdf_match match = {pattern, {NULL, true}};
    bool is_match = false;

    if (mdf_object_is_empty(pattern)) {
        return make_empty_object(call);
    }
    if (!mdf_check_pattern(call, pattern, "the pattern") || !mdf_check_objects(call, chunks, "dm_chunks") ||
        !mdf_check_object(call, types, "types")) {
        return false;
    }
    for (size_t i = 0; i < chunks->length; i++) {
        if (!mdf_check_chunk(call, &mdf_value_items(chunks)[i], "a chunk in memory")) {
            return false;
        }
    }
    for (size_t i = 0; i < chunks->length && !is_match; i++) {
        match.chunk.object = &mdf_value_items(chunks)[i];
        if (!mdf_match_patterns(call, &match, 1, &call->scratch[SCRATCH_BINDINGS], &is_match)) {
            return false;
        }
    }
    return is_match ? name_slots(call, match.chunk.object, types) : make_empty_object(call);
}

/* ------------------------------------------------------------------ productions that match */

/* What the buffers hold: the goal and what was retrieved, or an object with an entry for each buffer. */
struct buffers {
    struct mdf_chunk goal, retrieval;
    const struct mdf_value *context; /* NULL: the two above */
};

static struct mdf_chunk find_buffer(const struct buffers *buffers, struct mdf_span name)
{
    const struct mdf_value *object;

    if (buffers->context == NULL) {
        return mdf_span_equal(name, mdf_span_of("goal"))        ? buffers->goal
               : mdf_span_equal(name, mdf_span_of("retrieval")) ? buffers->retrieval
                                                                : (struct mdf_chunk){NULL, true};
    }
    object = mdf_object_find(buffers->context, name);
    return (struct mdf_chunk){object != NULL && object->kind == MDF_KIND_DICT ? object : NULL, false};
}

/* The name of the buffer that a side of a production is for; bytes NULL with the error set. */
static struct mdf_span buffer_of(struct mdf_call *call, const struct mdf_value *side)
{
    const struct mdf_value *buffer = mdf_object_need(call, side, "a side of the production", "buffer");
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (buffer != NULL && !mdf_python_is_string(buffer)) {
        mdf_call_error(call, MDF_TYPE, "entry 'buffer' of a side of the production is %s, not a string",
                       mdf_python_kind(buffer, text));
        buffer = NULL;
    }
    return buffer != NULL ? mdf_span_of_value(buffer) : (struct mdf_span){NULL, 0};
}

/* The patterns of a production's left side beside the chunks that they are for; of several for one buffer the last. */
static bool collect_matches(struct mdf_call *call, const struct mdf_value *sides, const struct buffers *buffers,
                            struct mdf_match *matches, size_t *n_matches)
{
    size_t n = 0, k;

    for (size_t i = 0; i < sides->length; i++) {
        const struct mdf_value *pattern = &mdf_value_items(sides)[i];
        struct mdf_span buffer = buffer_of(call, pattern);

        if (buffer.bytes == NULL || !mdf_check_pattern(call, pattern, "a pattern of the production")) {
            return false;
        }
        for (k = 0; k < n && !mdf_span_equal(buffer_of(call, matches[k].pattern), buffer); k++) {
        }
        matches[k] = (struct mdf_match){pattern, find_buffer(buffers, buffer)};
        n = k == n ? n + 1 : n;
    }
    *n_matches = n;
    return true;
}

/* Whether a production matches; its bindings are then in scratch value SCRATCH_BINDINGS. */
static bool match_production(struct mdf_call *call, const struct mdf_value *production, const struct buffers *buffers,
                             bool *is_match)
{
    const struct mdf_value *sides = mdf_object_need(call, production, "the production", "lhs");
    struct mdf_match *matches;
    int64_t size;
    size_t n;

    if (sides == NULL || !mdf_check_objects(call, sides, "the left side (lhs) of the production")) {
        return false;
    }
    if (sides->length > MDF_ACTR_MOST_WORDS) {
        return mdf_call_error(call, MDF_LIMIT, "a production has more than %d patterns", MDF_ACTR_MOST_WORDS);
    }
    size = (int64_t)(sides->length * sizeof *matches);
    matches = mdf_value_make_tensor(call->context->memory, &call->scratch[SCRATCH_MATCHES], MDF_DTYPE_UINT8, 1, &size);
    if (matches == NULL) {
        return mdf_call_out_of_memory(call);
    }
    return collect_matches(call, sides, buffers, matches, &n) &&
           mdf_match_patterns(call, matches, n, &call->scratch[SCRATCH_BINDINGS], is_match);
}

/* "production context". */
static bool run_match_production(struct mdf_call *call)
{
    static const struct mdf_words_of all = {0, NULL};
    const struct mdf_value *production = call->inputs[0], *context = call->inputs[1];
    struct buffers buffers = {.context = context};
    bool is_match = false;

    if (!mdf_check_object(call, production, "the production") || !mdf_check_object(call, context, "the context")) {
        return false;
    }
    for (size_t i = 0; i < context->length; i++) {
        const struct mdf_value *buffer = mdf_object_value(context, i);

        if (buffer->kind != MDF_KIND_NONE && !mdf_check_words(call, buffer, "a buffer of the context", all)) {
            return false;
        }
    }
    return match_production(call, production, &buffers, &is_match) &&
           mdf_python_make_bool(call, mdf_call_target(call, 0), is_match);
}

/* The names and values in scratch value SCRATCH_BINDINGS as an object. */
static bool make_bindings(struct mdf_call *call, struct mdf_value *target)
{
    const struct mdf_value *bindings = &call->scratch[SCRATCH_BINDINGS];
    struct mdf_object_maker maker;

    if (!mdf_object_begin(&maker, call, target, bindings->length / 2)) {
        return false;
    }
    for (size_t i = 0; i + 1 < bindings->length; i += 2) {
        if (!mdf_object_put(&maker, &mdf_value_items(bindings)[i], &mdf_value_items(bindings)[i + 1])) {
            return false;
        }
    }
    return true;
}

/* Adds a production to the output, with its bindings. */
static bool add_production(struct mdf_call *call, const struct mdf_value *production)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value key = {0}, bindings = {0}, *item = &call->scratch[SCRATCH_ITEM];
    struct mdf_object_maker maker;
    bool done = mdf_value_make_string(memory, &key, "bindings", strlen("bindings")) || mdf_call_out_of_memory(call);

    done = done && make_bindings(call, &bindings) && mdf_object_begin(&maker, call, item, production->length + 1) &&
           mdf_object_put_all(&maker, production) && mdf_object_put(&maker, &key, &bindings) &&
           (mdf_value_append(memory, mdf_call_target(call, 0), item) || mdf_call_out_of_memory(call));
    mdf_value_clear(memory, &key);
    mdf_value_clear(memory, &bindings);
    return done;
}

/* "productions goal retrieval": those that match, each with its bindings. */
static bool run_pattern_matching(struct mdf_call *call)
{
    const struct mdf_value *productions = call->inputs[0], *goal = call->inputs[1], *retrieval = call->inputs[2];
    struct buffers buffers = {{goal, true}, {mdf_object_is_empty(retrieval) ? NULL : retrieval, true}, NULL};

    if (!mdf_check_objects(call, productions, "productions") || !mdf_check_chunk(call, goal, "the goal") ||
        !mdf_check_chunk(call, retrieval, "the retrieval") || mdf_python_make_list(call, mdf_call_target(call, 0), 0) == NULL) {
        return false;
    }
    for (size_t i = 0; i < productions->length; i++) {
        const struct mdf_value *production = &mdf_value_items(productions)[i];
        bool is_match = false;

        if (!match_production(call, production, &buffers, &is_match) || (is_match && !add_production(call, production))) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the production that fires */

/* "productions": one of them at random, as Python's random.choice; an empty object where there is none. */
static bool run_conflict_resolution(struct mdf_call *call)
{
    const struct mdf_value *productions = call->inputs[0];

    if (!mdf_check_objects(call, productions, "productions")) {
        return false;
    }
    if (productions->length == 0) {
        return make_empty_object(call);
    }
    return mdf_call_output_copy(
        call, 0, &mdf_value_items(productions)[mdf_twister_below(mdf_random_as_python(call->context), productions->length)]);
}

/* The last of a production's right sides that is for a buffer; *found NULL where none is. */
static bool find_side(struct mdf_call *call, const struct mdf_value *production, struct mdf_span buffer,
                      const struct mdf_value **found)
{
    const struct mdf_value *sides = mdf_object_need(call, production, "the production", "rhs");

    *found = NULL;
    if (sides == NULL || !mdf_check_objects(call, sides, "the right side (rhs) of the production")) {
        return false;
    }
    for (size_t i = 0; i < sides->length; i++) {
        struct mdf_span name = buffer_of(call, &mdf_value_items(sides)[i]);

        if (name.bytes == NULL) {
            return false;
        }
        if (mdf_span_equal(name, buffer)) {
            *found = &mdf_value_items(sides)[i];
        }
    }
    return true;
}

/* What a value without its "=" is bound to; NULL where no variable is called so. */
static const struct mdf_value *find_binding(const struct mdf_value *bindings, struct mdf_span value)
{
    size_t k, n;

    for (size_t i = 0; i < bindings->length; i++) {
        struct mdf_span name = mdf_span_of_value(mdf_object_key(bindings, i));

        for (k = 0, n = 0; k < value.length; k++) {
            if (value.bytes[k] == '=') {
                continue;
            }
            if (n >= name.length || name.bytes[n] != value.bytes[k]) {
                break;
            }
            n++;
        }
        if (k == value.length && n == name.length) {
            return mdf_object_value(bindings, i);
        }
    }
    return NULL;
}

/* A side of a production with its variables replaced by what they are bound to. */
static bool bind_side(struct mdf_call *call, const struct mdf_value *side, const struct mdf_value *bindings)
{
    static const struct mdf_words_of all = {0, NULL};
    struct mdf_object_maker maker;

    if (!mdf_check_words(call, side, "the right side (rhs) of the production", all) ||
        !mdf_object_begin(&maker, call, mdf_call_target(call, 0), side->length)) {
        return false;
    }
    for (size_t i = 0; i < side->length; i++) {
        const struct mdf_value *value = mdf_object_value(side, i);
        const struct mdf_value *bound = find_binding(bindings, mdf_span_of_value(value));

        if (!mdf_object_put(&maker, mdf_object_key(side, i), bound != NULL ? bound : value)) {
            return false;
        }
    }
    return true;
}

static bool update(struct mdf_call *call, struct mdf_span buffer)
{
    const struct mdf_value *production = call->inputs[0], *side, *bindings;

    if (!mdf_check_object(call, production, "the production")) {
        return false;
    }
    if (production->length == 0) {
        return make_empty_object(call);
    }
    if (!find_side(call, production, buffer, &side)) {
        return false;
    }
    if (side == NULL) {
        return make_empty_object(call);
    }
    bindings = mdf_object_need(call, production, "the production", "bindings");
    return bindings != NULL && mdf_check_object(call, bindings, "the entry 'bindings' of the production") &&
           bind_side(call, side, bindings);
}

/* "production buffer". */
static bool run_update_buffer(struct mdf_call *call)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (!mdf_python_is_string(call->inputs[1])) {
        return mdf_call_error(call, MDF_TYPE, "the buffer is %s, not a string", mdf_python_kind(call->inputs[1], text));
    }
    return update(call, mdf_span_of_value(call->inputs[1]));
}

static bool run_update_goal(struct mdf_call *call)
{
    return update(call, mdf_span_of("goal"));
}

static bool run_update_retrieval(struct mdf_call *call)
{
    return update(call, mdf_span_of("retrieval"));
}

/* "production": whether none was chosen. */
static bool run_check_termination(struct mdf_call *call)
{
    return mdf_python_make_bool(call, mdf_call_target(call, 0), mdf_object_is_empty(call->inputs[0]));
}

/* ------------------------------------------------------------------ tables */

#define ROW(name, kernel, flags, formals)                                                 \
    {                                                                                     \
        "actr." name, 0, 0, kernel, NULL, 0, (flags) | MDF_OPERATOR_KEEPS_INPUTS, formals \
    }

const struct mdf_operator mdf_operators_python_actr[] = {
    ROW("chunk_to_string", run_chunk_to_string, 0, "chunk"),
    ROW("pattern_to_string", run_pattern_to_string, 0, "pattern"),
    ROW("change_goal", run_change_goal, 0, "pattern curr_goal"),
    ROW("retrieve_chunk", run_retrieve_chunk, 0, "pattern dm_chunks types"),
    ROW("match_production", run_match_production, 0, "production context"),
    ROW("pattern_matching_function", run_pattern_matching, 0, "productions goal retrieval"),
    ROW("conflict_resolution_function", run_conflict_resolution, MDF_OPERATOR_RANDOM, "productions"),
    ROW("update_buffer", run_update_buffer, 0, "production buffer"),
    ROW("update_goal", run_update_goal, 0, "production"),
    ROW("update_retrieval", run_update_retrieval, 0, "production"),
    ROW("check_termination", run_check_termination, 0, "production"),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};

#define CALL(name, formals) \
    static const struct mdf_function_step name##_steps[] = {{"result", "actr." #name "(" formals ")"}, {NULL, NULL}}
CALL(chunk_to_string, "chunk");
CALL(pattern_to_string, "pattern");
CALL(change_goal, "pattern, curr_goal");
CALL(retrieve_chunk, "pattern, dm_chunks, types");
CALL(match_production, "production, context");
CALL(pattern_matching_function, "productions, goal, retrieval");
CALL(conflict_resolution_function, "productions");
CALL(update_buffer, "production, buffer");
CALL(update_goal, "production");
CALL(update_retrieval, "production");
CALL(check_termination, "production");

#define DEFINED(name, arguments)                             \
    {                                                        \
#name, arguments, NULL, NULL, name##_steps, "result" \
    }

const struct mdf_defined_function mdf_actr_functions[] = {DEFINED(chunk_to_string, "chunk"),
                                                          DEFINED(pattern_to_string, "pattern"),
                                                          DEFINED(change_goal, "pattern curr_goal"),
                                                          DEFINED(retrieve_chunk, "pattern dm_chunks types"),
                                                          DEFINED(match_production, "production context"),
                                                          DEFINED(pattern_matching_function, "productions goal retrieval"),
                                                          DEFINED(conflict_resolution_function, "productions"),
                                                          DEFINED(update_buffer, "production buffer"),
                                                          DEFINED(update_goal, "production"),
                                                          DEFINED(update_retrieval, "production"),
                                                          DEFINED(check_termination, "production"),
                                                          {NULL, NULL, NULL, NULL, NULL, NULL}};
