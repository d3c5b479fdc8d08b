/* fuzz.c - hostile inputs, the same ones for the same seed, all in one process: prefixes of files, files with bytes flipped,
 * files changed along their structure. Built with sanitizers by "make check-fuzz"; see fuzz/README.md.
 *
 * Inputs have numbers: first the prefixes of the files to be truncated, then the flips, then the mutations. Which one is being
 * tried stands in a file, so that it is known after a crash: --only NUMBER --keep FILE gives it again. */
#include "fuzz/mutate.h"
#include "fuzz/try_input.h"
#include "mdf_c/values/values.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char help[] = "usage: fuzz [options] FILE|FOLDER...\n"
                           "  --format NAME     only files of this format (json, yaml, bson, onnx) of the folders that follow\n"
                           "  --as NAME         those that can be loaded, written in this format\n"
                           "  --truncate N      every prefix of N of the files, spread over all\n"
                           "  --flips N         N inputs, each a file with some bytes flipped\n"
                           "  --mutations N     N inputs, each a file changed along its structure\n"
                           "  --seed N          another seed, other inputs (1)\n"
                           "  --part I/N        only inputs whose number leaves I when divided by N\n"
                           "  --only NUMBER     only this input;  --keep FILE  writes it to a file\n"
                           "  --current FILE    where the number of the input that is tried is written\n"
                           "  --time-limit S    an evaluation is interrupted after S seconds (1)\n";

enum { HANGS_AFTER_S = 60, MOST_COMPLAINTS = 20 };

struct file {
    char *path;
    const char *format;
    char *bytes;
    size_t size;
};

struct fuzz {
    struct mdf_memory memory;
    struct file *files;
    size_t n_files, capacity;
    uint64_t n_truncated, n_flips, n_mutations, seed, part, n_parts, only;
    const char *keep, *current, *format, *as;
    double time_limit_s;
    int current_file;
    size_t n_outcomes[N_OUTCOMES], n_complaints;
    double longest_s;
};

/* ------------------------------------------------------------------ files */

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* Brings a file into the wanted format; false where it can not be loaded. */
static bool convert(struct fuzz *fuzz, struct file *file)
{
    mdf_error ignored = {0};
    struct mdf_document *document =
        mdf_document_parse(&fuzz->memory, file->format, file->path, file->bytes, file->size, NULL, &ignored);
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, &fuzz->memory);
    done = document != NULL && mdf_document_write(&document->root, fuzz->as, &text, &ignored);
    mdf_document_free(document);
    if (!done) {
        mdf_text_release(&text);
        return false;
    }
    mdf_memory_release(&fuzz->memory, file->bytes);
    file->bytes = text.bytes;
    file->size = text.length;
    file->format = fuzz->as;
    return true;
}

static bool add_path(struct fuzz *fuzz, const char *path);

static bool add_folder(struct fuzz *fuzz, const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool done = folder != NULL;
    char inner[4096];

    while (done && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            done = add_path(fuzz, inner);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return done;
}

/* Files that hold no models, or not of the wanted format, are passed over. */
static bool add_path(struct fuzz *fuzz, const char *path)
{
    struct file file = {.format = mdf_format_of_path(path)};
    mdf_error error = {0};
    struct stat about;
    void *bytes;

    if (stat(path, &about) != 0) {
        return true;
    }
    if (S_ISDIR(about.st_mode)) {
        return add_folder(fuzz, path);
    }
    if (file.format == NULL || (fuzz->format != NULL && strcmp(file.format, fuzz->format) != 0)) {
        return true;
    }
    if (fuzz->n_files == fuzz->capacity) {
        struct file *grown = mdf_memory_grow(&fuzz->memory, fuzz->files, &fuzz->capacity, fuzz->n_files + 1, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        fuzz->files = grown;
    }
    if (mdf_read_file(&fuzz->memory, path, &bytes, &file.size, &error) != MDF_OK) {
        fprintf(stderr, "fuzz: %s: %s\n", path, error.message);
        return false;
    }
    file.path = strdup(path);
    file.bytes = bytes;
    if (file.path == NULL || (fuzz->as != NULL && !convert(fuzz, &file))) {
        mdf_memory_release(&fuzz->memory, file.bytes);
        free(file.path);
        return true;
    }
    fuzz->files[fuzz->n_files++] = file;
    return true;
}

/* The files whose prefixes are tried. */
static const struct file *truncated_file(const struct fuzz *fuzz, uint64_t index)
{
    return &fuzz->files[index * fuzz->n_files / fuzz->n_truncated];
}

/* ------------------------------------------------------------------ inputs */

static uint64_t n_prefixes(const struct fuzz *fuzz)
{
    uint64_t n = 0, i;

    for (i = 0; i < fuzz->n_truncated; i++) {
        n += truncated_file(fuzz, i)->size;
    }
    return n;
}

/* Makes the input of a number; the file that it comes from. */
static const struct file *make_input(struct fuzz *fuzz, uint64_t number, struct mdf_text *input)
{
    struct random_source random = {fuzz->seed * 0xd1342543de82ef95U + number};
    const struct file *file;
    uint64_t n = n_prefixes(fuzz), i;

    if (number < n) {
        for (i = 0; number >= truncated_file(fuzz, i)->size; i++) {
            number -= truncated_file(fuzz, i)->size;
        }
        file = truncated_file(fuzz, i);
        mdf_text_append(input, file->bytes, number);
        return file;
    }
    file = &fuzz->files[random_below(&random, fuzz->n_files)];
    mdf_text_append(input, file->bytes, file->size);
    if (number - n < fuzz->n_flips) {
        flip_bytes(&random, input);
    } else {
        mutate(&random, file->format, input);
    }
    return file;
}

static void keep_input(const struct fuzz *fuzz, const struct mdf_text *input)
{
    FILE *stream = fopen(fuzz->keep, "wb");

    if (stream == NULL || fwrite(input->bytes, 1, input->length, stream) != input->length || fclose(stream) != 0) {
        fprintf(stderr, "fuzz: %s can not be written\n", fuzz->keep);
    }
}

/* Of this process: others may keep the clock's. */
static double processor_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void try_number(struct fuzz *fuzz, uint64_t number)
{
    struct complaint complaint;
    struct mdf_text input;
    const struct file *file;
    double start_s = processor_seconds(), time_s;
    char line[64];
    int length;

    if (fuzz->current_file >= 0) {
        length = snprintf(line, sizeof line, "%-20" PRIu64 "\n", number);
        if (pwrite(fuzz->current_file, line, (size_t)length, 0) != length) {
            fprintf(stderr, "fuzz: %s can not be written\n", fuzz->current);
        }
    }
    mdf_text_init(&input, &fuzz->memory);
    file = make_input(fuzz, number, &input);
    if (fuzz->keep != NULL) {
        keep_input(fuzz, &input);
    }
    alarm(HANGS_AFTER_S);
    fuzz->n_outcomes[try_input(input.bytes, input.length, file->format, fuzz->time_limit_s, &complaint)]++;
    alarm(0);
    mdf_text_release(&input);
    time_s = processor_seconds() - start_s;
    fuzz->longest_s = time_s > fuzz->longest_s ? time_s : fuzz->longest_s;
    if (complaint.text[0] == '\0' && time_s > 5 * fuzz->time_limit_s + 5) {
        snprintf(complaint.text, sizeof complaint.text, "it takes %.1f s", time_s);
    }
    if (complaint.text[0] != '\0') {
        fuzz->n_complaints++;
        fprintf(stderr, "fuzz: input %" PRIu64 ", from %s: %s\n", number, file->path, complaint.text);
    }
}

static void try_all(struct fuzz *fuzz)
{
    uint64_t n = n_prefixes(fuzz) + fuzz->n_flips + fuzz->n_mutations, number;

    for (number = 0; number < n && fuzz->n_complaints < MOST_COMPLAINTS; number++) {
        if (fuzz->only != UINT64_MAX ? number == fuzz->only : number % fuzz->n_parts == fuzz->part) {
            try_number(fuzz, number);
        }
    }
    printf("%zu files; inputs refused %zu, loaded %zu, evaluated %zu; longest %.2f s; %zu faults\n", fuzz->n_files,
           fuzz->n_outcomes[OUTCOME_REFUSED], fuzz->n_outcomes[OUTCOME_LOADED], fuzz->n_outcomes[OUTCOME_EVALUATED],
           fuzz->longest_s, fuzz->n_complaints);
}

/* ------------------------------------------------------------------ the command line */

static bool take_option(struct fuzz *fuzz, const char *name, const char *value)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"--truncate", &fuzz->n_truncated},
                   {"--flips", &fuzz->n_flips},
                   {"--mutations", &fuzz->n_mutations},
                   {"--seed", &fuzz->seed},
                   {"--only", &fuzz->only}};
    char *end = NULL;
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].number = strtoull(value, &end, 10);
            return *end == '\0';
        }
    }
    if (strcmp(name, "--keep") == 0) {
        fuzz->keep = value;
    } else if (strcmp(name, "--current") == 0) {
        fuzz->current = value;
    } else if (strcmp(name, "--format") == 0) {
        fuzz->format = value;
    } else if (strcmp(name, "--as") == 0) {
        fuzz->as = value;
    } else if (strcmp(name, "--time-limit") == 0) {
        fuzz->time_limit_s = strtod(value, &end);
    } else if (strcmp(name, "--part") == 0) {
        return sscanf(value, "%" SCNu64 "/%" SCNu64, &fuzz->part, &fuzz->n_parts) == 2 && fuzz->part < fuzz->n_parts;
    } else {
        return false;
    }
    return true;
}

static bool read_arguments(struct fuzz *fuzz, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (i + 1 == argc || !take_option(fuzz, argv[i], argv[i + 1])) {
                fputs(help, stderr);
                return false;
            }
            i++;
        } else if (!add_path(fuzz, argv[i])) {
            return false;
        }
    }
    if (fuzz->n_files == 0) {
        fputs(help, stderr);
        return false;
    }
    fuzz->n_truncated = fuzz->n_truncated > fuzz->n_files ? fuzz->n_files : fuzz->n_truncated;
    qsort(fuzz->files, fuzz->n_files, sizeof *fuzz->files, compare_files);
    return true;
}

int main(int argc, char **argv)
{
    struct fuzz fuzz = {.seed = 1, .n_parts = 1, .only = UINT64_MAX, .time_limit_s = 1, .current_file = -1};
    bool done;
    size_t i;

    mdf_memory_init(&fuzz.memory, NULL, 0);
    done = read_arguments(&fuzz, argc, argv);
    if (done) {
        fuzz.current_file = fuzz.current != NULL ? open(fuzz.current, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
        try_all(&fuzz);
    }
    for (i = 0; i < fuzz.n_files; i++) {
        free(fuzz.files[i].path);
        mdf_memory_release(&fuzz.memory, fuzz.files[i].bytes);
    }
    mdf_memory_release(&fuzz.memory, fuzz.files);
    return done && fuzz.n_complaints == 0 ? 0 : 1;
}
