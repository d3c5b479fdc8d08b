/* test_fuzz.c - a little of what "make check-fuzz" does, in seconds: hostile inputs made of the tests' own models; and the inputs
 * that the fuzzers keep (fuzz/corpus), among them all that once showed a fault. */
#include "fuzz/mutate.h"
#include "fuzz/targets.h"
#include "mdf_c/values/values.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1000, N_FLIPS = 1200, N_MUTATIONS = 800, N_TRUNCATED = 10, MOST_TRUNCATED_BYTES = 1 << 11 };

struct file {
    char path[300];
    const char *format;
    void *bytes;
    size_t size;
};

static struct mdf_memory memory;
static struct file files[MOST_FILES];
static size_t n_files;

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void add_folder(const char *folder, const char *suffix)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    mdf_error error = {0};

    cr_assert_not_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        struct file *file = &files[n_files];

        if (strlen(entry->d_name) > 200 || strstr(entry->d_name, suffix) == NULL || strstr(entry->d_name, "too_far") != NULL) {
            continue; /* the last takes half a second to reach its limit */
        }
        snprintf(file->path, sizeof file->path, "%s/%s", folder, entry->d_name);
        file->format = mdf_format_of_path(file->path);
        cr_assert(n_files < MOST_FILES && file->format != NULL);
        cr_assert(mdf_read_file(&memory, file->path, &file->bytes, &file->size, &error) == MDF_OK, "%s", error.message);
        n_files++;
    }
    closedir(directory);
    qsort(files, n_files, sizeof *files, compare_files);
}

static void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
    n_files = 0;
}

static void tear_down(void)
{
    while (n_files > 0) {
        mdf_memory_release(&memory, files[--n_files].bytes);
    }
    cr_assert_eq(atomic_load(&memory.used_bytes), 0);
}

TestSuite(fuzz, .init = set_up, .fini = tear_down, .timeout = 120);

/* `number` is that of the input, for finding it again. */
static void expect_no_fault(const struct file *file, size_t number, const struct mdf_text *input, size_t *n_evaluated)
{
    struct complaint complaint;

    *n_evaluated += try_input(input->bytes, input->length, file->format, 0.1, &complaint) == OUTCOME_EVALUATED;
    cr_expect(complaint.text[0] == '\0', "%s, input %zu: %s", file->path, number, complaint.text);
}

typedef void change(struct random_source *random, const char *format, struct mdf_text *input);

static void flip(struct random_source *random, const char *format, struct mdf_text *input)
{
    (void)format;
    flip_bytes(random, input);
}

static void try_many(size_t n, change *change_input)
{
    size_t n_evaluated = 0, i;

    for (i = 0; i < n; i++) {
        struct random_source random = {i};
        const struct file *file = &files[random_below(&random, n_files)];
        struct mdf_text input;

        mdf_text_init(&input, &memory);
        mdf_text_append(&input, file->bytes, file->size);
        change_input(&random, file->format, &input);
        expect_no_fault(file, i, &input, &n_evaluated);
        mdf_text_release(&input);
    }
    cr_expect_gt(n_evaluated, n / 100); /* else little was tried */
}

Test(fuzz, prefixes_of_files)
{
    size_t n_evaluated = 0, n_tried = 0, i, length;

    add_folder("tests/data/onnx", ".onnx");
    for (i = 0; i < n_files && n_tried < N_TRUNCATED; i++) {
        if (files[i].size < MOST_TRUNCATED_BYTES && files[i].size > 100) {
            for (length = 0; length < files[i].size; length++) {
                struct mdf_text input;

                mdf_text_init(&input, &memory);
                mdf_text_append(&input, files[i].bytes, length);
                expect_no_fault(&files[i], length, &input, &n_evaluated);
                mdf_text_release(&input);
            }
            n_tried++;
        }
    }
    cr_expect_eq(n_tried, N_TRUNCATED);
}

Test(fuzz, bytes_of_onnx_files)
{
    add_folder("tests/data/onnx", ".onnx");
    try_many(N_FLIPS, flip);
}

Test(fuzz, messages_of_onnx_files)
{
    add_folder("tests/data/onnx", ".onnx");
    try_many(N_MUTATIONS, mutate);
}

/* Tries all files of a folder; how many. */
static size_t try_folder(const struct fuzz_target *target, const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;

    cr_assert_not_null(directory, "%s", folder);
    while ((entry = readdir(directory)) != NULL) {
        struct complaint complaint;
        mdf_error error = {0};
        char path[600];
        void *bytes;
        size_t size;

        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            cr_assert(mdf_read_file(&memory, path, &bytes, &size, &error) == MDF_OK, "%s", error.message);
            target->try_input(target, bytes, size, &complaint);
            cr_expect(complaint.text[0] == '\0', "%s: %s", path, complaint.text);
            mdf_memory_release(&memory, bytes);
            n++;
        }
    }
    closedir(directory);
    return n;
}

Test(fuzz, kept_inputs_show_no_fault)
{
    size_t i;

    for (i = 0; i < n_fuzz_targets; i++) {
        char folder[100];

        snprintf(folder, sizeof folder, "fuzz/corpus/%s", fuzz_targets[i].name);
        cr_expect_gt(try_folder(&fuzz_targets[i], folder), 4, "%s", folder);
    }
}

Test(fuzz, words_of_texts)
{
    add_folder("examples", ".json");
    add_folder("examples", ".yaml");
    try_many(N_MUTATIONS / 4, mutate);
}
