/* mutate_tree.c - see mutate_tree.h. */
#include "fuzz/mutate_tree.h"

#include "fuzz/words.h"
#include "mdf_c/document/document.h"

#include <string.h>

enum { MOST_PLACES = 20000, MOST_UNPACKED = 256, MOST_TREE_CHANGES = 4 };
#define MOST_TREE_BYTES ((size_t)1 << 26)

/* A value of the tree, and what it lies in. */
struct place {
    struct mdf_node *node, *parent; /* parent NULL: the whole document */
    size_t index;                   /* in the parent */
};

struct tree {
    struct random_source *random;
    struct mdf_arena *arena;
    struct mdf_node *root;
    struct place *places;
    size_t n_places, capacity;
};

/* ------------------------------------------------------------------ walking */

/* A short array of numbers becomes a list, each item of which can be changed. */
static void unpack(struct tree *tree, struct mdf_node *node)
{
    size_t n = mdf_node_length(node), i;
    struct mdf_node *items;

    if (node->kind != MDF_NODE_NUMBERS || n > MOST_UNPACKED) {
        return;
    }
    items = mdf_arena_array(tree->arena, n, sizeof *items);
    for (i = 0; items != NULL && i < n; i++) {
        mdf_node_item(node, i, &items[i]);
    }
    if (items != NULL) {
        node->kind = MDF_NODE_LIST;
        node->as.list.items = items;
        node->as.list.n = n;
    }
}

static struct mdf_node *child(const struct mdf_node *node, size_t index)
{
    return node->kind == MDF_NODE_LIST ? &node->as.list.items[index] : &node->as.object.entries[index].value;
}

static size_t n_children(const struct mdf_node *node)
{
    return node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_OBJECT ? mdf_node_length(node) : 0;
}

static void collect(struct tree *tree, struct mdf_node *node, struct mdf_node *parent, size_t index)
{
    size_t i;

    if (tree->n_places == MOST_PLACES) {
        return;
    }
    tree->places[tree->n_places++] = (struct place){node, parent, index};
    unpack(tree, node);
    for (i = 0; i < n_children(node); i++) {
        collect(tree, child(node, i), node, i);
    }
}

static bool find_places(struct tree *tree)
{
    tree->n_places = 0;
    if (tree->places == NULL) {
        tree->places = mdf_arena_array(tree->arena, MOST_PLACES, sizeof *tree->places);
    }
    if (tree->places == NULL) {
        return false;
    }
    collect(tree, tree->root, NULL, 0);
    return true;
}

static const struct place *pick(const struct tree *tree)
{
    return &tree->places[random_below(tree->random, tree->n_places)];
}

/* A value with children of its own: what a part of the tree becomes when it is taken into another place. */
static struct mdf_node copy(struct tree *tree, const struct mdf_node *node)
{
    struct mdf_node made = *node;
    size_t n = n_children(node), i;

    if (n == 0) {
        return made;
    }
    if (node->kind == MDF_NODE_LIST) {
        made.as.list.items = mdf_arena_array(tree->arena, n, sizeof *made.as.list.items);
        made.as.list.n = made.as.list.items != NULL ? n : 0;
    } else {
        made.as.object.entries = mdf_arena_array(tree->arena, n, sizeof *made.as.object.entries);
        made.as.object.n = made.as.object.entries != NULL ? n : 0;
        made.as.object.order = NULL;
    }
    for (i = 0; i < mdf_node_length(&made); i++) {
        if (node->kind == MDF_NODE_OBJECT) {
            made.as.object.entries[i] = node->as.object.entries[i];
        }
        *child(&made, i) = copy(tree, child(node, i));
    }
    return made;
}

static size_t depth_of(const struct mdf_node *node)
{
    size_t deepest = 0, i;

    for (i = 0; i < n_children(node); i++) {
        size_t depth = depth_of(child(node, i));

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* ------------------------------------------------------------------ odd values */

static void set_string(struct tree *tree, struct mdf_node *node, const char *bytes, size_t length)
{
    char *text = mdf_arena_text(tree->arena, bytes, length);

    if (text != NULL) {
        *node = (struct mdf_node){.kind = MDF_NODE_STRING};
        node->as.string.bytes = text;
        node->as.string.length = length;
    }
}

static void set_odd(struct tree *tree, struct mdf_node *node)
{
    struct mdf_node odd = {.kind = MDF_NODE_NULL};
    const char *word;
    char text[WORD_SIZE];

    switch (random_below(tree->random, 9)) {
    case 0:
        break;
    case 1:
        odd.kind = MDF_NODE_BOOL;
        odd.as.truth = random_below(tree->random, 2) != 0;
        break;
    case 2:
        odd.kind = MDF_NODE_LIST;
        break;
    case 3:
        odd.kind = MDF_NODE_OBJECT;
        break;
    case 4:
        odd.kind = MDF_NODE_REAL;
        odd.as.real = random_real(tree->random);
        break;
    case 5:
    case 6:
        odd.kind = MDF_NODE_INT;
        odd.as.integer = random_integer(tree->random);
        break;
    default:
        word = random_below(tree->random, 2) == 0 ? random_fragment(tree->random) : random_word(tree->random, text);
        set_string(tree, node, word, strlen(word));
        return;
    }
    *node = odd;
}

static void change_string(struct tree *tree, struct mdf_node *node)
{
    struct mdf_text text;

    mdf_text_init(&text, tree->arena->memory);
    mdf_text_append(&text, node->as.string.bytes, node->as.string.length);
    change_expression(tree->random, &text);
    if (!text.failed) {
        set_string(tree, node, text.bytes, text.length);
    }
    mdf_text_release(&text);
}

/* A little different from what it was. */
static void change_value(struct tree *tree, struct mdf_node *node)
{
    static const int steps[] = {1, -1, 2, -2, 10};
    int step = steps[random_below(tree->random, sizeof steps / sizeof *steps)];

    if (node->kind == MDF_NODE_INT) {
        node->as.integer = (int64_t)((uint64_t)node->as.integer + (uint64_t)(int64_t)step);
    } else if (node->kind == MDF_NODE_REAL && node->digits == NULL) {
        node->as.real *= step;
    } else if (node->kind == MDF_NODE_BOOL) {
        node->as.truth = !node->as.truth;
    } else if (node->kind == MDF_NODE_STRING && random_below(tree->random, 3) != 0) {
        change_string(tree, node);
    } else {
        set_odd(tree, node);
    }
}

/* ------------------------------------------------------------------ lists and objects */

static void take_away(const struct place *place)
{
    struct mdf_node *parent = place->parent;

    if (parent != NULL && parent->kind == MDF_NODE_LIST) {
        memmove(parent->as.list.items + place->index, parent->as.list.items + place->index + 1,
                (parent->as.list.n - place->index - 1) * sizeof *parent->as.list.items);
        parent->as.list.n--;
    } else if (parent != NULL) {
        memmove(parent->as.object.entries + place->index, parent->as.object.entries + place->index + 1,
                (parent->as.object.n - place->index - 1) * sizeof *parent->as.object.entries);
        parent->as.object.n--;
        parent->as.object.order = NULL;
    }
}

/* A key that the document has elsewhere, or one that MDF knows. */
static const char *other_key(const struct tree *tree)
{
    size_t i;

    for (i = 0; i < 10; i++) {
        const struct place *place = pick(tree);

        if (place->parent != NULL && place->parent->kind == MDF_NODE_OBJECT) {
            return place->parent->as.object.entries[place->index].key;
        }
    }
    return random_key(tree->random);
}

static const char *some_key(const struct tree *tree)
{
    return random_below(tree->random, 2) == 0 ? random_key(tree->random) : other_key(tree);
}

/* One value more, at the end of a list or object. */
static void add(struct tree *tree, struct mdf_node *target, const struct mdf_node *value)
{
    size_t n = n_children(target);

    if (target->kind == MDF_NODE_LIST) {
        struct mdf_node *items = mdf_arena_array(tree->arena, n + 1, sizeof *items);

        if (items != NULL) {
            if (n > 0) { /* an empty list may have no items */
                memcpy(items, target->as.list.items, n * sizeof *items);
            }
            items[n] = copy(tree, value);
            target->as.list.items = items;
            target->as.list.n = n + 1;
        }
    } else if (target->kind == MDF_NODE_OBJECT) {
        struct mdf_node_entry *entries = mdf_arena_array(tree->arena, n + 1, sizeof *entries);

        if (entries != NULL) {
            if (n > 0) {
                memcpy(entries, target->as.object.entries, n * sizeof *entries);
            }
            entries[n] = (struct mdf_node_entry){.key = some_key(tree), .value = copy(tree, value)};
            target->as.object.entries = entries;
            target->as.object.n = n + 1;
            target->as.object.order = NULL;
        }
    }
}

static void rename_entry(const struct tree *tree, const struct place *place)
{
    if (place->parent != NULL && place->parent->kind == MDF_NODE_OBJECT) {
        place->parent->as.object.entries[place->index].key = some_key(tree);
        place->parent->as.object.order = NULL;
    }
}

static void wrap(struct tree *tree, struct mdf_node *node)
{
    struct mdf_node list = {.kind = MDF_NODE_LIST};

    add(tree, &list, node);
    *node = list;
}

/* Two values of one list or object change places. */
static void exchange(const struct tree *tree, const struct place *place)
{
    if (place->parent != NULL) {
        struct mdf_node *other = child(place->parent, random_below(tree->random, n_children(place->parent)));
        struct mdf_node kept = *other;

        *other = *place->node;
        *place->node = kept;
    }
}

static void change_tree(struct tree *tree)
{
    const struct place *place = pick(tree);

    switch (random_below(tree->random, 12)) {
    case 0:
        set_odd(tree, place->node);
        break;
    case 1:
    case 2:
        *place->node = copy(tree, pick(tree)->node);
        break;
    case 3:
        take_away(place);
        break;
    case 4:
        add(tree, place->parent != NULL ? place->parent : place->node, place->node);
        break;
    case 5:
        add(tree, place->node, pick(tree)->node);
        break;
    case 6:
        rename_entry(tree, place);
        break;
    case 7:
        exchange(tree, place);
        break;
    case 8:
        if (random_below(tree->random, 2) == 0) {
            wrap(tree, place->node);
        } else if (n_children(place->node) > 0) {
            *place->node = *child(place->node, 0);
        }
        break;
    default:
        change_value(tree, place->node);
    }
}

/* ------------------------------------------------------------------ documents */

typedef void tree_change(struct tree *tree, const struct mdf_node *other);

static void change_some(struct tree *tree, const struct mdf_node *other)
{
    size_t n = random_below(tree->random, 2) == 0 ? 1 : 1 + random_below(tree->random, MOST_TREE_CHANGES), i;

    (void)other;
    for (i = 0; i < n && find_places(tree); i++) {
        change_tree(tree);
    }
}

/* A value of another document comes in. */
static void take_in(struct tree *tree, const struct mdf_node *other)
{
    struct mdf_node taken = *other;
    const struct place *place;

    while (n_children(&taken) > 0 && random_below(tree->random, 4) != 0) {
        taken = *child(&taken, random_below(tree->random, n_children(&taken)));
    }
    if (find_places(tree)) {
        place = pick(tree);
        if (random_below(tree->random, 2) == 0) {
            add(tree, place->node, &taken);
        } else {
            *place->node = copy(tree, &taken);
        }
    }
}

static bool change_document(struct random_source *random, const char *format, struct mdf_text *bytes, tree_change *change,
                            const struct mdf_node *other)
{
    struct tree tree = {.random = random};
    struct mdf_document *document;
    struct mdf_memory memory;
    struct mdf_text written;
    mdf_error ignored = {0};
    bool done = false;

    mdf_memory_init(&memory, NULL, MOST_TREE_BYTES);
    document = mdf_document_parse(&memory, format, "input", bytes->bytes, bytes->length, NULL, &ignored);
    if (document == NULL) {
        return false;
    }
    tree.arena = &document->arena;
    tree.root = &document->root;
    change(&tree, other);
    mdf_text_init(&written, bytes->memory);
    done = depth_of(&document->root) < MDF_DOCUMENT_MAX_DEPTH && mdf_document_write(&document->root, format, &written, &ignored);
    mdf_document_free(document);
    if (done) {
        mdf_text_release(bytes);
        *bytes = written;
    } else {
        mdf_text_release(&written);
    }
    return done;
}

bool mutate_tree(struct random_source *random, const char *format, struct mdf_text *bytes)
{
    return change_document(random, format, bytes, change_some, NULL);
}

bool graft_tree(struct random_source *random, const char *format, struct mdf_text *bytes, const void *other, size_t size)
{
    struct mdf_document *document;
    struct mdf_memory memory;
    mdf_error ignored = {0};
    bool done;

    mdf_memory_init(&memory, NULL, MOST_TREE_BYTES);
    document = mdf_document_parse(&memory, format, "input", other, size, NULL, &ignored);
    done = document != NULL && change_document(random, format, bytes, take_in, &document->root);
    mdf_document_free(document);
    return done;
}
