/* rewriting.c - see rewriting.h. */
#include "mdf_c/dialect/rewriting.h"

#include "mdf_c/document/tree_builder.h"
#include "mdf_c/expression/scanner.h"

#include <string.h>

static void out_of_memory(struct rewriting *rewriting)
{
    rewriting->failed = true;
    mdf_error_set(rewriting->error, MDF_OUT_OF_MEMORY, "out of memory");
}

void rewriting_refuse(struct rewriting *rewriting, const struct mdf_node *place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    mdf_error_set_v(rewriting->error, MDF_MODEL, format, arguments);
    va_end(arguments);
    mdf_error_at(rewriting->error, mdf_node_file(rewriting->document, place), mdf_position(place->line), mdf_position(place->column));
    rewriting->failed = true;
}

/* ------------------------------------------------------------------ copies */

/* Entries have room for the next power of two. */
static size_t room_for(size_t n)
{
    size_t room = 1;

    while (room < n) {
        room *= 2;
    }
    return room;
}

/* Collections that a file may have as lists of objects with an id. */
static bool is_collection(const char *key)
{
    static const char *const names[] = {"graphs", "nodes", "edges", "input_ports", "functions", "parameters", "output_ports"};

    return MDF_FIND_WORD(key, names) != SIZE_MAX;
}

static bool is_list_of_named(const struct mdf_node *source)
{
    for (size_t i = 0; source->kind == MDF_NODE_LIST && i < source->as.list.n; i++) {
        if (rewriting_text(mdf_node_get(&source->as.list.items[i], "id")) == NULL) {
            return false;
        }
    }
    return source->kind == MDF_NODE_LIST && source->as.list.n > 0;
}

static bool make_room(struct rewriting *rewriting, struct mdf_node *object, size_t n)
{
    struct mdf_node_entry *entries = mdf_arena_array(rewriting->arena, room_for(n), sizeof *entries);

    if (entries == NULL) {
        out_of_memory(rewriting);
        return false;
    }
    if (object->as.object.n > 0) {
        memcpy(entries, object->as.object.entries, object->as.object.n * sizeof *entries);
    }
    object->as.object.entries = entries;
    object->as.object.order = NULL;
    return true;
}

static struct mdf_node copy_named_list(struct rewriting *rewriting, const struct mdf_node *source)
{
    struct mdf_node object = rewriting_make_object(source);

    for (size_t i = 0; i < source->as.list.n; i++) {
        const struct mdf_node *item = &source->as.list.items[i];

        rewriting_put(rewriting, &object, rewriting_text(mdf_node_get(item, "id")), rewriting_copy(rewriting, item));
    }
    return object;
}

struct mdf_node rewriting_copy(struct rewriting *rewriting, const struct mdf_node *source)
{
    struct mdf_node copy = *source;

    if (source->kind != MDF_NODE_OBJECT || !make_room(rewriting, &copy, source->as.object.n)) {
        return copy;
    }
    for (size_t i = 0; i < copy.as.object.n; i++) {
        struct mdf_node_entry *entry = &copy.as.object.entries[i];

        entry->value = is_collection(entry->key) && is_list_of_named(&entry->value) ? copy_named_list(rewriting, &entry->value)
                                                                                    : rewriting_copy(rewriting, &entry->value);
    }
    return copy;
}

/* ------------------------------------------------------------------ objects */

static size_t place_of(const struct mdf_node *object, const char *key)
{
    size_t i;

    for (i = 0; i < object->as.object.n && strcmp(object->as.object.entries[i].key, key) != 0; i++) {
    }
    return i;
}

size_t rewriting_n_entries(const struct mdf_node *object)
{
    return object != NULL && object->kind == MDF_NODE_OBJECT ? object->as.object.n : 0;
}

struct mdf_node *rewriting_find(struct mdf_node *object, const char *key)
{
    size_t place = rewriting_n_entries(object) > 0 ? place_of(object, key) : 0;

    return place < rewriting_n_entries(object) && object->as.object.entries[place].value.kind != MDF_NODE_NULL
               ? &object->as.object.entries[place].value
               : NULL;
}

struct mdf_node *rewriting_find_path(struct mdf_node *object, const char *path)
{
    char key[64];
    const char *end;

    for (; object != NULL; path = end + 1) {
        end = strchr(path, '.');
        if (end == NULL) {
            return rewriting_find(object, path);
        }
        memcpy(key, path, (size_t)(end - path));
        key[end - path] = '\0';
        object = rewriting_find(object, key);
    }
    return NULL;
}

void rewriting_put(struct rewriting *rewriting, struct mdf_node *object, const char *key, struct mdf_node value)
{
    size_t place, n;

    if (object == NULL || object->kind != MDF_NODE_OBJECT) {
        return;
    }
    place = place_of(object, key);
    n = object->as.object.n;
    if (rewriting->failed || (place == n && (n & (n - 1)) == 0 && !make_room(rewriting, object, n + 1))) {
        return;
    }
    if (place == n) {
        object->as.object.entries[place] = (struct mdf_node_entry){.key = key, .line = value.line, .column = value.column};
        object->as.object.n++;
    }
    object->as.object.entries[place].value = value;
}

struct mdf_node *rewriting_object(struct rewriting *rewriting, struct mdf_node *object, const char *key)
{
    struct mdf_node *found = rewriting_find(object, key);

    if (found == NULL) {
        rewriting_put(rewriting, object, key, rewriting_make_object(object));
        found = rewriting_find(object, key);
    }
    return found != NULL && found->kind == MDF_NODE_OBJECT ? found : NULL;
}

void rewriting_remove(struct mdf_node *object, const char *key)
{
    size_t place = rewriting_n_entries(object) > 0 ? place_of(object, key) : 0;

    if (place < rewriting_n_entries(object)) {
        memmove(&object->as.object.entries[place], &object->as.object.entries[place + 1],
                (object->as.object.n - place - 1) * sizeof *object->as.object.entries);
        object->as.object.n--;
    }
}

void rewriting_rename(struct mdf_node *object, const char *key, const char *name)
{
    size_t place = rewriting_n_entries(object) > 0 ? place_of(object, key) : 0;

    if (place < rewriting_n_entries(object)) {
        object->as.object.entries[place].key = name;
    }
}

/* ------------------------------------------------------------------ values */

const char *rewriting_text(const struct mdf_node *node)
{
    return node != NULL && node->kind == MDF_NODE_STRING ? node->as.string.bytes : NULL;
}

bool rewriting_is(const struct mdf_node *node, const char *text)
{
    return rewriting_text(node) != NULL && strcmp(rewriting_text(node), text) == 0;
}

bool rewriting_number(const struct mdf_node *node, double *number)
{
    if (node == NULL || (node->kind != MDF_NODE_INT && node->kind != MDF_NODE_REAL)) {
        return false;
    }
    *number = node->kind == MDF_NODE_INT ? (double)node->as.integer : node->as.real;
    return true;
}

bool rewriting_is_number(const struct mdf_node *node, double number)
{
    double own;

    return rewriting_number(node, &own) && own == number;
}

size_t rewriting_n_elements(const struct mdf_node *numbers)
{
    size_t n = 1;

    for (size_t i = 0; numbers != NULL && numbers->kind == MDF_NODE_NUMBERS && i < numbers->as.numbers.rank; i++) {
        n *= (size_t)numbers->as.numbers.shape[i];
    }
    return n;
}

const char *rewriting_print(struct rewriting *rewriting, const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = mdf_arena_vprintf(rewriting->arena, format, arguments);
    va_end(arguments);
    if (text == NULL) {
        out_of_memory(rewriting);
    }
    return text != NULL ? text : "";
}

static struct mdf_node make(const struct mdf_node *place, enum mdf_node_kind kind)
{
    return (struct mdf_node){.kind = (uint8_t)kind, .is_given = place->is_given, .line = place->line, .column = place->column};
}

struct mdf_node rewriting_make_text(struct rewriting *rewriting, const struct mdf_node *place, const char *format, ...)
{
    struct mdf_node node = make(place, MDF_NODE_STRING);
    va_list arguments;

    va_start(arguments, format);
    node.as.string.bytes = mdf_arena_vprintf(rewriting->arena, format, arguments);
    va_end(arguments);
    if (node.as.string.bytes == NULL) {
        out_of_memory(rewriting);
        node.as.string.bytes = "";
    }
    node.as.string.length = strlen(node.as.string.bytes);
    return node;
}

struct mdf_node rewriting_make_int(const struct mdf_node *place, int64_t integer)
{
    struct mdf_node node = make(place, MDF_NODE_INT);

    node.as.integer = integer;
    return node;
}

struct mdf_node rewriting_make_real(const struct mdf_node *place, double real)
{
    struct mdf_node node = make(place, MDF_NODE_REAL);

    node.as.real = real;
    return node;
}

struct mdf_node rewriting_make_object(const struct mdf_node *place)
{
    return make(place, MDF_NODE_OBJECT);
}

struct mdf_node rewriting_make_matrix(struct rewriting *rewriting, const struct mdf_node *place, size_t n_rows, size_t n_columns,
                                      double **elements)
{
    struct mdf_node node = make(place, MDF_NODE_NUMBERS);
    int64_t *shape = mdf_arena_array(rewriting->arena, 2, sizeof *shape);

    *elements = mdf_arena_array(rewriting->arena, (n_rows > 0 ? n_rows : 1) * n_columns, sizeof **elements);
    if (shape == NULL || *elements == NULL) {
        out_of_memory(rewriting);
        return rewriting_make_int(place, 0);
    }
    node.packed_dtype = MDF_DTYPE_FLOAT64;
    node.as.numbers.rank = n_rows > 0 ? 2 : 1;
    node.as.numbers.shape = shape;
    node.as.numbers.elements = *elements;
    shape[0] = (int64_t)(n_rows > 0 ? n_rows : n_columns);
    shape[1] = (int64_t)n_columns;
    return node;
}

enum { MOST_AXES = 8 };

/* The sizes of nested lists, by their first items; false: they are nested too deep. */
static bool find_sizes(const struct mdf_node *numbers, int64_t sizes[MOST_AXES], size_t *rank)
{
    struct mdf_node item = *numbers;

    for (*rank = 0; item.kind == MDF_NODE_LIST || item.kind == MDF_NODE_NUMBERS; ++*rank) {
        struct mdf_node list = item;

        if (*rank == MOST_AXES) {
            return false;
        }
        sizes[*rank] = (int64_t)mdf_node_length(&list);
        if (!mdf_node_item(&list, 0, &item)) {
            item = (struct mdf_node){.kind = MDF_NODE_REAL}; /* an empty list */
        }
    }
    return true;
}

/* Writes the numbers of nested lists; false: they are no numbers, or no lists of these sizes. */
static bool write_reals(const struct mdf_node *numbers, const int64_t *sizes, size_t rank, double **elements)
{
    struct mdf_node item;

    if (rank == 0) {
        return rewriting_number(numbers, (*elements)++);
    }
    if ((numbers->kind != MDF_NODE_LIST && numbers->kind != MDF_NODE_NUMBERS) || (int64_t)mdf_node_length(numbers) != sizes[0]) {
        return false;
    }
    for (size_t i = 0; i < (size_t)sizes[0]; i++) {
        if (!mdf_node_item(numbers, i, &item) || !write_reals(&item, sizes + 1, rank - 1, elements)) {
            return false;
        }
    }
    return true;
}

struct mdf_node rewriting_make_reals(struct rewriting *rewriting, const struct mdf_node *numbers)
{
    struct mdf_node reals = make(numbers, MDF_NODE_NUMBERS);
    int64_t sizes[MOST_AXES], *shape;
    size_t n = 1, rank;
    double *elements, *next;

    if (numbers->kind == MDF_NODE_INT) {
        return rewriting_make_real(numbers, (double)numbers->as.integer);
    }
    if ((numbers->kind != MDF_NODE_LIST && (numbers->kind != MDF_NODE_NUMBERS || numbers->packed_dtype != MDF_DTYPE_INT64)) ||
        !find_sizes(numbers, sizes, &rank)) {
        return *numbers;
    }
    for (size_t i = 0; i < rank; i++) {
        n *= (size_t)sizes[i];
    }
    shape = mdf_arena_array(rewriting->arena, rank, sizeof *shape);
    elements = next = mdf_arena_array(rewriting->arena, n, sizeof *elements);
    if (shape == NULL || elements == NULL) {
        out_of_memory(rewriting);
        return *numbers;
    }
    if (!write_reals(numbers, sizes, rank, &next)) {
        return *numbers;
    }
    memcpy(shape, sizes, rank * sizeof *shape);
    reals.packed_dtype = MDF_DTYPE_FLOAT64;
    reals.as.numbers.rank = rank;
    reals.as.numbers.shape = shape;
    reals.as.numbers.elements = elements;
    return reals;
}

/* ------------------------------------------------------------------ expressions */

/* The next place of the name as a word, not behind a point, at or after `position`; false: there is none, or the text is none. */
static bool find_word(struct mdf_scanner *scanner, const char *name, size_t *offset)
{
    size_t length = strlen(name);
    bool is_attribute = false;

    for (; scanner->token.kind != MDF_TOKEN_END; mdf_scanner_advance(scanner)) {
        const struct mdf_token *token = &scanner->token;

        if (token->kind == MDF_TOKEN_NAME && !is_attribute && token->length == length &&
            memcmp(scanner->text + token->offset, name, length) == 0 && !mdf_scanner_before_equals(scanner)) {
            *offset = token->offset;
            mdf_scanner_advance(scanner);
            return true;
        }
        is_attribute = mdf_scanner_at(scanner, ".");
    }
    return false;
}

bool rewriting_mentions(struct rewriting *rewriting, const char *expression, const char *name)
{
    struct mdf_scanner scanner;
    mdf_error ignored = {0};
    size_t offset;

    mdf_scanner_init(&scanner, rewriting->arena, expression, &ignored);
    return find_word(&scanner, name, &offset);
}

const char *rewriting_replace(struct rewriting *rewriting, const char *expression, const char *name, const char *words)
{
    struct mdf_scanner scanner;
    mdf_error ignored = {0};
    const char *text = "";
    size_t offset, done = 0;

    mdf_scanner_init(&scanner, rewriting->arena, expression, &ignored);
    while (find_word(&scanner, name, &offset)) {
        text = rewriting_print(rewriting, "%s%.*s%s", text, (int)(offset - done), expression + done, words);
        done = offset + strlen(name);
    }
    return done == 0 ? expression : rewriting_print(rewriting, "%s%s", text, expression + done);
}
