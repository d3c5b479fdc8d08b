/* mdf_merge.c - the program mdf-merge: the parts of a sweep, each a folder that mdf-run --part wrote, as one. See
 * docs/man/mdf-merge.1.
 *
 * All is looked at before anything is written: parts of one sweep have the same attributes, byte by byte, and each chunk must be
 * in one of them; in several it must be the same. The result's .zattrs, without which it is no result, is its last file. */
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/sweep/sweep_store.h"
#include "mdf_c/document/document.h"
#include "mdf_c/values/values.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: mdf-merge OUT.zarr PART.zarr...\n"
    "Puts the parts of a sweep (mdf-run --sweep --part I/N -o PART.zarr) together in a new folder. Parts of\n"
    "different sweeps are refused, and so are parts that lack a chunk or do not agree.\n"
    MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

static const struct option_row rows[] = {
    COMMON_ROWS,
};

static const struct command_line line = {"mdf-merge", help, rows, sizeof rows / sizeof *rows};

struct merge {
    struct mdf_memory memory;
    const char *target;
    char *const *parts;
    size_t n_parts;
    bool is_v3; /* the parts are of version 3 of Zarr */
    mdf_error error;
};

static const char *attributes_file(const struct merge *merge)
{
    return merge->is_v3 ? STORE_V3 : STORE_ATTRIBUTES;
}

static bool fault(struct merge *merge, const char *path, const char *what)
{
    mdf_error_set(&merge->error, MDF_FILE, "%s", what);
    mdf_error_at(&merge->error, path, 0, 0);
    return false;
}

/* ------------------------------------------------------------------ files */

static bool start_path(struct merge *merge, struct mdf_text *path, const char *folder, const char *array, const char *file)
{
    mdf_text_init(path, &merge->memory);
    mdf_text_printf(path, "%s%s%s%s%s", folder, array[0] != '\0' ? "/" : "", array, file[0] != '\0' ? "/" : "", file);
    return !path->failed || mdf_memory_error(&merge->memory, &merge->error) == MDF_OK;
}

struct contents {
    void *bytes;
    size_t size_bytes;
};

static bool read_contents(struct merge *merge, const char *path, struct contents *contents)
{
    return mdf_read_file(&merge->memory, path, &contents->bytes, &contents->size_bytes, &merge->error) == MDF_OK;
}

static bool read_at(struct merge *merge, const char *folder, const char *array, const char *file, struct contents *contents)
{
    struct mdf_text path;
    bool done = start_path(merge, &path, folder, array, file) && read_contents(merge, path.bytes, contents);

    mdf_text_release(&path);
    return done;
}

static bool are_same(const struct contents *a, const struct contents *b)
{
    return a->size_bytes == b->size_bytes && (a->size_bytes == 0 || memcmp(a->bytes, b->bytes, a->size_bytes) == 0);
}

static bool exists(struct merge *merge, const char *folder, const char *array, const char *file)
{
    struct mdf_text path;
    bool found = start_path(merge, &path, folder, array, file) && access(path.bytes, F_OK) == 0;

    mdf_text_release(&path);
    return found;
}

/* The number of the first part before `n` that has a file; `n`: none has. */
static size_t first_with(struct merge *merge, size_t n, const char *array, const char *file)
{
    size_t i;

    for (i = 0; i < n && !exists(merge, merge->parts[i], array, file); i++) {
    }
    return i;
}

/* What is done to each file of a folder. */
typedef bool (*file_visitor)(struct merge *merge, size_t part, const char *array, const char *file);

static bool visit_files(struct merge *merge, size_t part, const char *array, file_visitor visit)
{
    struct mdf_text path;
    struct dirent *entry;
    DIR *folder = NULL;
    bool done = start_path(merge, &path, merge->parts[part], array, "");

    if (done && (folder = opendir(path.bytes)) == NULL) {
        done = fault(merge, path.bytes, "the folder can not be read");
    }
    while (done && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !mdf_ends_with(entry->d_name, ".new")) {
            done = visit(merge, part, array, entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    mdf_text_release(&path);
    return done;
}

/* ------------------------------------------------------------------ looking */

static bool check_same_file(struct merge *merge, size_t part, const char *array, const char *file)
{
    size_t other = first_with(merge, part, array, file);
    struct contents ours = {0}, others = {0};
    bool done = true;

    if (other < part) {
        done =
            read_at(merge, merge->parts[part], array, file, &ours) && read_at(merge, merge->parts[other], array, file, &others);
        if (done && !are_same(&ours, &others)) {
            mdf_error_set(&merge->error, MDF_VALUE, "%s/%s is another one than in %s: the parts do not agree", array, file,
                          merge->parts[other]);
            mdf_error_at(&merge->error, merge->parts[part], 0, 0);
            done = false;
        }
    }
    mdf_memory_release(&merge->memory, ours.bytes);
    mdf_memory_release(&merge->memory, others.bytes);
    return done;
}

/* A file of the group, no folder of an array. */
static bool is_of_group(const char *file)
{
    return strcmp(file, STORE_V3) == 0 || (file[0] == '.' && strcmp(file, STORE_REDUCED) != 0);
}

static bool check_array(struct merge *merge, size_t part, const char *array, const char *file)
{
    (void)array;
    return is_of_group(file) || visit_files(merge, part, file, check_same_file);
}

static bool check_attributes(struct merge *merge)
{
    struct contents first = {0}, other = {0};
    bool done = read_at(merge, merge->parts[0], "", attributes_file(merge), &first);

    for (size_t i = 1; i < merge->n_parts && done; i++) {
        done = read_at(merge, merge->parts[i], "", attributes_file(merge), &other);
        if (done && !are_same(&first, &other)) {
            mdf_error_set(&merge->error, MDF_VALUE, "this is no part of the sweep that %s is one of (compare %s in them)",
                          merge->parts[0], attributes_file(merge));
            mdf_error_at(&merge->error, merge->parts[i], 0, 0);
            done = false;
        }
        mdf_memory_release(&merge->memory, other.bytes);
        other.bytes = NULL;
    }
    mdf_memory_release(&merge->memory, first.bytes);
    return done;
}

static struct mdf_document *load_object(struct merge *merge, const char *array, const char *file)
{
    struct mdf_document *document = NULL;
    struct mdf_text path;

    if (start_path(merge, &path, merge->parts[0], array, file)) {
        document = mdf_document_load(&merge->memory, path.bytes, "json", NULL, &merge->error);
    }
    if (document != NULL && document->root.kind != MDF_NODE_OBJECT) {
        fault(merge, path.bytes, "this is no object");
        mdf_document_free(document);
        document = NULL;
    }
    mdf_text_release(&path);
    return document;
}

/* What the store says of its sweep. */
static const struct mdf_node *sweep_of(const struct merge *merge, const struct mdf_document *document)
{
    const struct mdf_node *attributes = merge->is_v3 ? mdf_node_get(&document->root, "attributes") : &document->root;

    return attributes != NULL && attributes->kind == MDF_NODE_OBJECT ? mdf_node_get(attributes, "mdf_sweep") : NULL;
}

static int64_t integer_of(const struct mdf_node *object, const char *key)
{
    const struct mdf_node *node = mdf_node_get(object, key);

    return node != NULL && node->kind == MDF_NODE_INT && node->as.integer > 0 ? node->as.integer : 0;
}

static size_t rank_of(struct merge *merge, const char *array)
{
    struct mdf_document *document = load_object(merge, array, merge->is_v3 ? STORE_V3 : STORE_ARRAY);
    const struct mdf_node *shape = document != NULL ? mdf_node_get(&document->root, "shape") : NULL;
    size_t rank = shape != NULL ? mdf_node_length(shape) : 0;

    if (document != NULL && rank == 0) {
        fault(merge, merge->parts[0], "an array has no shape");
    }
    mdf_document_free(document);
    return rank;
}

/* Whether only what many instances come to together is told. */
static bool is_reduced(const struct mdf_node *sweep)
{
    return mdf_node_get(sweep, "points") != NULL;
}

/* Whether some part has each chunk of an array. */
static bool check_chunks(struct merge *merge, const char *array, const struct mdf_node *sweep)
{
    int64_t n_chunks = integer_of(sweep, "chunks"), chunk;
    size_t rank = is_reduced(sweep) ? 1 : rank_of(merge, array), n_having, i;
    struct mdf_text name;
    bool done = rank > 0;

    for (chunk = 0; chunk < n_chunks && done; chunk++) {
        mdf_text_init(&name, &merge->memory);
        mdf_text_printf(&name, "%" PRId64, chunk);
        for (i = 1; i < rank; i++) {
            mdf_text_append_string(&name, ".0");
        }
        n_having = name.failed ? merge->n_parts : first_with(merge, merge->n_parts, array, name.bytes);
        if (n_having == merge->n_parts) {
            mdf_error_set(&merge->error, MDF_VALUE,
                          "no part has chunk %" PRId64 " of '%s', the instances from %" PRId64
                          " on: a part is missing, or not done (mdf-run --resume goes on with it)",
                          chunk, array, chunk * integer_of(sweep, "chunk"));
            done = false;
        }
        mdf_text_release(&name);
    }
    return done;
}

static bool check_whole(struct merge *merge)
{
    struct mdf_document *document = load_object(merge, "", attributes_file(merge));
    const struct mdf_node *sweep = document != NULL ? sweep_of(merge, document) : NULL, *recorded = NULL;
    struct mdf_node item;
    bool done = document != NULL;

    if (sweep != NULL && sweep->kind == MDF_NODE_OBJECT && integer_of(sweep, "chunks") > 0) {
        recorded = mdf_node_get(sweep, "recorded");
    }
    if (done && (recorded == NULL || recorded->kind != MDF_NODE_LIST)) {
        done = fault(merge, merge->parts[0], "these are no results of a sweep by mdf-run");
    }
    if (done && is_reduced(sweep)) {
        done = check_chunks(merge, STORE_REDUCED, sweep);
        recorded = NULL;
    } else {
        done = done && check_chunks(merge, "seed", sweep);
    }
    for (size_t i = 0; done && recorded != NULL && i < mdf_node_length(recorded); i++) {
        done = mdf_node_item(recorded, i, &item) && item.kind == MDF_NODE_STRING
                   ? check_chunks(merge, item.as.string.bytes, sweep)
                   : fault(merge, merge->parts[0], "a name of what was recorded is no text");
    }
    mdf_document_free(document);
    return done;
}

/* ------------------------------------------------------------------ writing */

static bool copy_file(struct merge *merge, size_t part, const char *array, const char *file)
{
    struct contents contents = {0};
    struct mdf_text path;
    bool done = start_path(merge, &path, merge->target, array, file);

    if (done && access(path.bytes, F_OK) != 0) {
        done = read_at(merge, merge->parts[part], array, file, &contents) &&
               save_lasting(&merge->memory, path.bytes, contents.bytes, contents.size_bytes, &merge->error);
    }
    mdf_memory_release(&merge->memory, contents.bytes);
    mdf_text_release(&path);
    return done;
}

static bool copy_array(struct merge *merge, size_t part, const char *array, const char *file)
{
    struct mdf_text path;
    bool done;

    if (is_of_group(file)) {
        return strcmp(file, attributes_file(merge)) == 0 || copy_file(merge, part, array, file);
    }
    done = start_path(merge, &path, merge->target, file, "") && make_folder(path.bytes, true, &merge->error) &&
           visit_files(merge, part, file, copy_file) && sync_folder(path.bytes, &merge->error);
    mdf_text_release(&path);
    return done;
}

/* What the chunks of all parts come to together. */
static bool finish(struct merge *merge)
{
    struct mdf_document *document = load_object(merge, "", attributes_file(merge));
    const struct mdf_node *sweep = document != NULL ? sweep_of(merge, document) : NULL;
    const struct mdf_node *recorded = sweep != NULL ? mdf_node_get(sweep, "recorded") : NULL;
    const struct sweep_store store = {
        .memory = &merge->memory, .path = merge->target, .error = &merge->error, .is_v3 = merge->is_v3};
    size_t n = recorded != NULL ? mdf_node_length(recorded) : 0, i;
    const char **names = mdf_memory_allocate_zeroed(&merge->memory, n, sizeof *names);
    bool done = document != NULL && (names != NULL || mdf_memory_error(&merge->memory, &merge->error) == MDF_OK);
    struct mdf_node item;

    for (i = 0; i < n && done; i++) {
        done = mdf_node_item(recorded, i, &item) && item.kind == MDF_NODE_STRING;
        names[i] = done ? item.as.string.bytes : NULL;
    }
    done = done && (!is_reduced(sweep) || finish_reduced(&store, (size_t)integer_of(sweep, "chunks"), names, n));
    mdf_memory_release(&merge->memory, names);
    mdf_document_free(document);
    return done;
}

static bool perform(struct merge *merge)
{
    bool done;

    merge->is_v3 = exists(merge, merge->parts[0], "", STORE_V3);
    done = check_attributes(merge);

    for (size_t part = 0; part < merge->n_parts && done; part++) {
        done = visit_files(merge, part, "", check_array);
    }
    done = done && check_whole(merge) && make_folder(merge->target, false, &merge->error);
    for (size_t part = 0; part < merge->n_parts && done; part++) {
        done = visit_files(merge, part, "", copy_array);
    }
    return done && finish(merge) && copy_file(merge, 0, "", attributes_file(merge)) && sync_folder(merge->target, &merge->error);
}

int merge_program(int argc, char **argv)
{
    struct merge merge = {0};
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, &merge, &n_names, &exit_status);
    bool done;

    if (names == NULL) {
        return exit_status;
    }
    if (n_names < 2) {
        return usage_error(&line, "a folder to make and the parts are needed");
    }
    mdf_memory_init(&merge.memory, NULL, 0);
    merge.target = names[0];
    merge.parts = names + 1;
    merge.n_parts = n_names - 1;
    done = perform(&merge);
    if (!done) {
        print_error(&merge.error, merge.target);
    }
    return done ? EXIT_DONE : EXIT_MODEL;
}
