/* profile.c - see profile.h. The place that runs is `open`; a call, node or body that begins is a child of it. */
#include "mdf_c/run/profile.h"

#include "mdf_c/tensor/entries.h"

#include "mdf_c/base/name_table.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ measuring */

static struct mdf_profile_place *add_place(struct mdf_profile *profile)
{
    struct mdf_profile_place *places = profile->places;

    if (profile->n_places == profile->capacity) {
        places = mdf_memory_grow(&profile->shared->memory, places, &profile->capacity, profile->n_places + 1, sizeof *places);
        if (places == NULL) {
            return NULL;
        }
        profile->places = places;
    }
    return &places[profile->n_places++];
}

/* The child of the open place for these; SIZE_MAX: memory ran out. */
static size_t child_for(struct mdf_profile *profile, enum mdf_place_kind kind, const char *name, const void *code, size_t at)
{
    size_t parent = profile->open, i, last = SIZE_MAX;
    struct mdf_profile_place *place;

    for (i = parent != SIZE_MAX ? profile->places[parent].first_child : 0; i < profile->n_places;
         i = profile->places[i].next_sibling) {
        place = &profile->places[i];
        if (place->kind == kind && place->code == code && place->at == at) {
            return i;
        }
        last = i;
    }
    place = add_place(profile);
    if (place == NULL) {
        return SIZE_MAX;
    }
    i = profile->n_places - 1;
    *place = (struct mdf_profile_place){kind, name, parent != SIZE_MAX ? parent : i, SIZE_MAX, SIZE_MAX, code, at, 0, 0, 0, 0, 0};
    if (last != SIZE_MAX) {
        profile->places[last].next_sibling = i;
    } else if (parent != SIZE_MAX) {
        profile->places[parent].first_child = i;
    }
    return i;
}

void mdf_profile_begin(struct mdf_profile *profile, enum mdf_place_kind kind, const char *name, const void *code, size_t at)
{
    size_t place;

    if (profile == NULL || profile->failed) {
        return;
    }
    place = child_for(profile, kind, name, code, at);
    if (place == SIZE_MAX) {
        profile->failed = true;
        return;
    }
    profile->open = place;
    profile->places[place].start_s = mdf_clock_s();
}

void mdf_profile_end(struct mdf_profile *profile)
{
    struct mdf_profile_place *place;
    double time_s;

    if (profile == NULL || profile->failed || profile->open == SIZE_MAX) {
        return;
    }
    place = &profile->places[profile->open];
    time_s = mdf_clock_s() - place->start_s;
    place->n_runs++;
    place->total_s += time_s;
    if (place->parent == profile->open) {
        profile->open = SIZE_MAX;
    } else {
        profile->open = place->parent;
        profile->places[place->parent].children_s += time_s;
    }
}

void mdf_profile_end_all(struct mdf_profile *profile)
{
    while (profile != NULL && !profile->failed && profile->open != SIZE_MAX) {
        mdf_profile_end(profile);
    }
}

void mdf_profile_drop(struct mdf_profile *profile)
{
    if (profile != NULL && !profile->failed) {
        profile->open = profile->places[profile->open].parent;
    }
}

/* The name of a call, once. */
static void name_call(struct mdf_profile *profile, const struct mdf_operator *operator)
{
    struct mdf_profile_place *place = &profile->places[profile->open];
    char title[MDF_OPERATOR_TITLE_SIZE];

    if (place->name == NULL) {
        mdf_operator_title(operator, title);
        place->name = mdf_arena_printf(&profile->shared->execution.arena, "%s", title);
        profile->failed = place->name == NULL;
    }
}

/* Nodes of a body are not run one by one: what is known of them is their calls. */
static bool call_begins(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at)
{
    struct mdf_profile *profile = (struct mdf_profile *)onlooker;
    const struct mdf_code *code = mdf_frame_code(frame);
    const char *node = mdf_body_node_at(code, at);

    if (node != NULL) {
        mdf_profile_begin(profile, MDF_PLACE_NODE, node, node, 0);
    }
    mdf_profile_begin(profile, MDF_PLACE_CALL, NULL, code, at);
    if (!profile->failed) {
        name_call(profile, code->calls[code->instructions[at].target].operator);
    }
    return true;
}

static bool call_ends(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at, bool was_fast)
{
    struct mdf_profile *profile = (struct mdf_profile *)onlooker;

    if (!profile->failed) {
        profile->places[profile->open].n_lowered += was_fast;
    }
    mdf_profile_end(profile);
    if (mdf_body_node_at(mdf_frame_code(frame), at) != NULL) {
        mdf_profile_end(profile);
    }
    return true;
}

static bool body_begins(struct mdf_onlooker *onlooker, struct mdf_frame *body)
{
    const struct mdf_code *code = mdf_frame_code(body);

    mdf_profile_begin((struct mdf_profile *)onlooker, MDF_PLACE_BODY, code->id, code, 0);
    return true;
}

static bool body_ends(struct mdf_onlooker *onlooker, struct mdf_frame *body)
{
    (void)body;
    mdf_profile_end((struct mdf_profile *)onlooker);
    return true;
}

bool mdf_profile_start(struct mdf_state *state)
{
    struct mdf_shared_state *shared = state->shared;
    struct mdf_profile *profile = mdf_memory_allocate_zeroed(&shared->memory, 1, sizeof *profile);

    if (profile == NULL) {
        return false;
    }
    profile->shared = shared;
    profile->open = SIZE_MAX;
    profile->onlooker = (struct mdf_onlooker){call_begins, call_ends, body_begins, body_ends, shared->execution.onlookers};
    shared->execution.onlookers = &profile->onlooker;
    shared->profile = profile;
    return true;
}

void mdf_profile_release(struct mdf_shared_state *shared)
{
    if (shared->profile != NULL) {
        mdf_value_clear(&shared->memory, &shared->profile->told);
        mdf_memory_release(&shared->memory, shared->profile->places);
        mdf_memory_release(&shared->memory, shared->profile);
        shared->profile = NULL;
    }
}

/* ------------------------------------------------------------------ telling */

static bool is_lowered(const struct mdf_profile_place *place)
{
    return place->n_lowered > 0;
}

static uint64_t n_runs(const struct mdf_profile *profile, const struct mdf_profile_place *place)
{
    const struct mdf_profile_place *parent = &profile->places[place->parent];

    return place->kind == MDF_PLACE_NODE && parent->kind == MDF_PLACE_BODY ? parent->n_runs : place->n_runs;
}

static double self_s(const struct mdf_profile_place *place)
{
    return place->total_s - place->children_s;
}

static const char *suffix_of(const struct mdf_profile_place *place)
{
    return is_lowered(place) ? place->n_lowered == place->n_runs ? " (lowered)" : " (partly lowered)" : "";
}

/* Appends the names from the outermost node on, parted by `mark`; with `calls` those of calls too, and that of the graph. */
static void append_path(const struct mdf_profile *profile, size_t index, const char *mark, bool calls, struct mdf_text *text)
{
    size_t path[64], n = 0;

    for (size_t at = index; n < sizeof path / sizeof *path; at = profile->places[at].parent) {
        if (calls || profile->places[at].kind == MDF_PLACE_NODE || profile->places[at].kind == MDF_PLACE_BODY) {
            path[n++] = at;
        }
        if (profile->places[at].parent == at) {
            break;
        }
    }
    for (size_t at = n; at-- > 0;) {
        const struct mdf_profile_place *place = &profile->places[path[at]];
        const char *c;

        for (c = place->name; *c != '\0'; c++) { /* names may have any character; the marks of folded stacks must not be in one */
            mdf_text_append(text, strchr(calls ? ";\n\r" : "\n\r", *c) != NULL ? "_" : c, 1);
        }
        mdf_text_append_string(text, place->kind == MDF_PLACE_CALL ? suffix_of(place) : "");
        mdf_text_append_string(text, at > 0 ? mark : "");
    }
}

/* The name of the row that a place belongs to. */
static bool name_row(const struct mdf_profile *profile, size_t index, struct mdf_text *text)
{
    const struct mdf_profile_place *place = &profile->places[index];

    text->length = 0;
    if (place->kind == MDF_PLACE_CALL) {
        mdf_text_printf(text, "%s%s", place->name, suffix_of(place));
    } else {
        append_path(profile, index, "/", false, text);
    }
    mdf_text_append(text, "", 1);
    return !text->failed;
}

static int compare_rows(const void *a, const void *b)
{
    const struct mdf_profile_row *x = a, *y = b;

    return x->time_s > y->time_s ? -1 : x->time_s < y->time_s;
}

/* The place of the number, from 1, of the row of a name, which is added where there is none; NULL: refused. */
static const size_t *row_number(struct name_table *names, struct mdf_arena *arena, const char *name, struct mdf_profile_row *rows,
                                size_t *n_rows)
{
    size_t *number = name_table_find(names, name);
    const char *kept = number == NULL ? mdf_arena_printf(arena, "%s", name) : NULL;

    if (number == NULL && kept != NULL) {
        number = name_table_add(names, arena, kept);
        if (number != NULL) {
            rows[(*n_rows)++].name = kept;
            *number = *n_rows;
        }
    }
    return number;
}

/* The rows of one kind, those with most time first, in the arena. False: refused. */
static bool profile_rows(const struct mdf_profile *profile, struct mdf_arena *arena, enum mdf_place_kind kind,
                         struct mdf_profile_row **rows, size_t *n_rows)
{
    struct name_table names = {0};
    struct mdf_text name;
    bool done;
    const size_t *number;

    mdf_text_init(&name, &profile->shared->memory);
    *n_rows = 0;
    *rows = mdf_arena_array(arena, profile->n_places, sizeof **rows);
    done = *rows != NULL && !profile->failed;
    for (size_t i = 0; i < profile->n_places && done; i++) {
        const struct mdf_profile_place *place = &profile->places[i];
        struct mdf_profile_row *row;

        if (place->kind != kind || place->n_runs == 0) {
            continue;
        }
        number = name_row(profile, i, &name) ? row_number(&names, arena, name.bytes, *rows, n_rows) : NULL;
        if (number == NULL) {
            done = false;
            break;
        }
        row = &(*rows)[*number - 1];
        row->n_runs += n_runs(profile, place);
        row->time_s += kind == MDF_PLACE_CALL ? self_s(place) : place->total_s;
        row->self_s += self_s(place);
    }
    mdf_text_release(&name);
    if (done && *n_rows > 1) {
        qsort(*rows, *n_rows, sizeof **rows, compare_rows);
    }
    return done;
}

static const struct {
    enum mdf_place_kind kind;
    const char *name, *title;
} tables[] = {{MDF_PLACE_NODE, "nodes", "node"}, {MDF_PLACE_CALL, "operators", "operator"}, {MDF_PLACE_BODY, "bodies", "body"}};

enum { N_TABLES = sizeof tables / sizeof *tables };

static double total_s(const struct mdf_profile *profile)
{
    return profile->n_places > 0 ? profile->places[0].total_s : 0;
}

static bool add_row(struct mdf_memory *memory, struct mdf_value *list, const char *name, uint64_t n, double time_s, double self)
{
    struct mdf_value row = {0};

    return mdf_entry_text(memory, &row, "name", name) && mdf_entry_integer(memory, &row, "calls", (int64_t)n) &&
           mdf_entry_real(memory, &row, "time_s", time_s) && mdf_entry_real(memory, &row, "self_s", self) &&
           mdf_list_take(memory, list, &row);
}

static bool add_places(const struct mdf_profile *profile, struct mdf_memory *memory, struct mdf_value *list)
{
    struct mdf_text path;
    bool done = true;

    mdf_text_init(&path, memory);
    for (size_t i = 0; i < profile->n_places && done; i++) {
        const struct mdf_profile_place *place = &profile->places[i];

        if (place->n_runs > 0) {
            path.length = 0;
            append_path(profile, i, ";", true, &path);
            mdf_text_append(&path, "", 1);
            done = !path.failed && add_row(memory, list, path.bytes, n_runs(profile, place), place->total_s, self_s(place));
        }
    }
    mdf_text_release(&path);
    return done;
}

bool mdf_profile_value(const struct mdf_profile *profile, struct mdf_value *value)
{
    struct mdf_memory *memory = &profile->shared->memory;
    uint64_t n_evaluations = profile->n_places > 0 ? profile->places[0].n_runs : 0;
    struct mdf_arena arena;
    bool done;

    mdf_arena_init(&arena, memory);
    mdf_value_clear(memory, value);
    done = !profile->failed && mdf_entry_real(memory, value, "total_s", total_s(profile)) &&
           mdf_entry_integer(memory, value, "evaluations", (int64_t)n_evaluations);
    for (size_t i = 0; i < N_TABLES && done; i++) {
        struct mdf_profile_row *rows;
        struct mdf_value list = {0};
        size_t n;

        done = profile_rows(profile, &arena, tables[i].kind, &rows, &n) && mdf_value_make_list(memory, &list, 0) != NULL;
        for (size_t j = 0; done && j < n; j++) {
            done = add_row(memory, &list, rows[j].name, rows[j].n_runs, rows[j].time_s, rows[j].self_s);
        }
        done = done && mdf_entry_take(memory, value, tables[i].name, &list);
        mdf_value_clear(memory, &list);
    }
    if (done) {
        struct mdf_value list = {0};

        done = mdf_value_make_list(memory, &list, 0) != NULL && add_places(profile, memory, &list) &&
               mdf_entry_take(memory, value, "places", &list);
        mdf_value_clear(memory, &list);
    }
    mdf_arena_release(&arena);
    return done;
}

bool mdf_profile_table(const struct mdf_profile *profile, struct mdf_text *text)
{
    uint64_t n_evaluations = profile->n_places > 0 ? profile->places[0].n_runs : 0;
    double whole_s = total_s(profile), in_nodes_s = profile->n_places > 0 ? profile->places[0].children_s : 0;
    struct mdf_arena arena;
    bool done = true;

    mdf_arena_init(&arena, &profile->shared->memory);
    mdf_text_printf(text, "%" PRIu64 " evaluations, %.6f s; inputs, order and conditions %.6f s\n", n_evaluations, whole_s,
                    whole_s - in_nodes_s);
    for (size_t i = 0; i < N_TABLES && done; i++) {
        struct mdf_profile_row *rows;
        size_t n;

        done = profile_rows(profile, &arena, tables[i].kind, &rows, &n);
        if (done && n > 0) {
            mdf_text_printf(text, "%12s %6s %12s %12s  %s\n", "time s", "%", "own time s", "calls", tables[i].title);
        }
        for (size_t j = 0; done && j < n; j++) {
            mdf_text_printf(text, "%12.6f %6.1f %12.6f %12" PRIu64 "  %s\n", rows[j].time_s,
                            whole_s > 0 ? 100 * rows[j].time_s / whole_s : 0, rows[j].self_s, rows[j].n_runs, rows[j].name);
        }
    }
    mdf_arena_release(&arena);
    return done && !text->failed;
}

bool mdf_profile_folded(const struct mdf_profile *profile, struct mdf_text *text)
{
    for (size_t i = 0; i < profile->n_places; i++) {
        if (profile->places[i].n_runs > 0) {
            append_path(profile, i, ";", true, text);
            mdf_text_printf(text, " %.0f\n", 1e9 * (self_s(&profile->places[i]) > 0 ? self_s(&profile->places[i]) : 0));
        }
    }
    return !profile->failed && !text->failed;
}
