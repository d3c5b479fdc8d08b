/* test_failing.c - what the programs do where memory or a file is refused: whichever allocation fails, and whichever call that
 * changes a file. A short form of "make check-failing". The machine is made to refuse by objects for LD_PRELOAD (tests/preload).
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 14, COMMAND_SIZE = 1024, MOST_CALLS = 60, MOST_STORE_CALLS = 200 };

/* A folder of the test's own; in memory where the system has such folders, as thousands of files are written and taken away. */
static char folder[64];

static void set_up(void)
{
    setenv("BUILD", "build", 0);
    snprintf(folder, sizeof folder, "%s/mdf_failing_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    cr_assert(mkdtemp(folder) != NULL && setenv("FOLDER", folder, 1) == 0 && setenv("XDG_CACHE_HOME", folder, 1) == 0);
}

static void tear_down(void)
{
    cr_assert(system("rm -r $FOLDER") == 0);
}

TestSuite(failing, .init = set_up, .fini = tear_down);

/* Runs a command of the shell, which may use $BUILD and $FOLDER. Returns its exit status, negative for a signal, and what it
 * prints, standard error too. */
static int run(const char *command, char text[TEXT_SIZE])
{
    char whole[COMMAND_SIZE + 16];
    FILE *stream;
    size_t n;
    int status;

    snprintf(whole, sizeof whole, "{ %s; } 2>&1", command);
    stream = popen(whole, "r");
    cr_assert(stream != NULL);
    n = fread(text, 1, TEXT_SIZE - 1, stream);
    text[n] = '\0';
    status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* These sanitizers have an allocator of their own, and will not be preceded. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* ------------------------------------------------------------------ memory */

Test(failing, any_allocation_may_fail)
{
    /* Every STEP-th allocation: all of them take minutes. */
    static const char *const rows[] = {
        "$BUILD/mdf-run examples/slow_and_fast.yaml --trace -n 2",
        "$BUILD/mdf-convert examples/elman_rnn.json $FOLDER/a.bson",
        "$BUILD/mdf-convert examples/cooling.yaml $FOLDER/a.json",
        "$BUILD/mdf-convert --weights-beside 1 examples/elman_rnn.json $FOLDER/a.yaml",
        "$BUILD/mdf-run $FOLDER/a.bson",
        "$BUILD/mdf-run tests/data/onnx/loop_grows.onnx -i m=3 -i c=true -i x=[1]",
        "$BUILD/mdf-run tests/data/failing/libraries.json",
        "$BUILD/mdf-compile examples/newton_sqrt.json -o $FOLDER/a.h",
    };
    char command[COMMAND_SIZE], text[TEXT_SIZE];
    size_t i;

    for (i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "%s > $FOLDER/out", rows[i / 2]);
        cr_assert_eq(run(command, text), 0, "%s: %s", command, text);
        snprintf(command, sizeof command,
                 "FAIL_ALLOCATION=%zu:0:%d:%s LD_PRELOAD=$BUILD/tests/preload/fail_allocation.so %s > $FOLDER/out", 1 + i % 2, 13,
                 i % 2 == 0 ? "once" : "on", rows[i / 2]);
        cr_expect_eq(run(command, text), 0, "%s: %s", rows[i / 2], text);
    }
}

/* ------------------------------------------------------------------ files */

/* What a command writes over a file that says "old", or that `old` makes. What is seen of it, in the file or by `look`, is that
 * of the old files or that of the new ones. */
struct writing {
    const char *file, *command, *old, *look;
};

static const struct writing writings[] = {
    {"a.json", "$BUILD/mdf-convert examples/cooling.yaml $FOLDER/a.json", NULL, NULL},
    {"a.yaml", "$BUILD/mdf-convert examples/elman_rnn.json $FOLDER/a.yaml", NULL, NULL},
    {"a.bson", "$BUILD/mdf-convert examples/elman_rnn.json $FOLDER/a.bson", NULL, NULL},
    {"a.csv", "$BUILD/mdf-run examples/newton_sqrt.json -o $FOLDER/a.csv", NULL, NULL},
    {"b.json", "$BUILD/mdf-run examples/newton_sqrt.json -o $FOLDER/b.json", NULL, NULL},
    {"a.npz", "$BUILD/mdf-run examples/elman_rnn.json -o $FOLDER/a.npz", NULL,
     "[ -s $FOLDER/a.npz ] && head -c 2 $FOLDER/a.npz"}, /* it knows the time */
    {"a.dot", "$BUILD/mdf-run --quiet examples/cooling.yaml --graph-image $FOLDER/a.dot", NULL, NULL},
    {"a.c", "$BUILD/mdf-compile examples/newton_sqrt.json -o $FOLDER/a.c", NULL, NULL},
    {"b.h", "$BUILD/mdf-compile examples/newton_sqrt.json -o $FOLDER/b.h",
     "$BUILD/mdf-compile examples/cooling.yaml -o $FOLDER/b.h", "cat $FOLDER/b.c $FOLDER/b.h"},
    {"p.json", "$BUILD/mdf-convert --weights-beside 1 $FOLDER/other.json $FOLDER/p.json",
     "$BUILD/mdf-convert --weights-beside 1 $FOLDER/first.json $FOLDER/p.json", "$BUILD/mdf-run $FOLDER/p.json"},
};

/* Two models that differ in an array. */
static void write_models(void)
{
    static const char *const files[][2] = {{"first", "0.5"}, {"other", "0.25"}};
    char path[128];
    size_t i;

    for (i = 0; i < 2; i++) {
        FILE *file;

        snprintf(path, sizeof path, "%s/%s.json", folder, files[i][0]);
        file = fopen(path, "w");
        cr_assert_not_null(file);
        fprintf(file,
                "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"a\": {\"value\": [1.5, 2.5]}, \"b\": "
                "{\"value\": [%s, 4.0]}}, \"output_ports\": {\"o\": {\"value\": \"a + b\"}}}}}}}}",
                files[i][1]);
        cr_assert_eq(fclose(file), 0);
    }
}

/* What the files say; a byte of zero as one of 1. */
static void look_at(const struct writing *writing, char text[TEXT_SIZE])
{
    char path[128];
    FILE *file;
    size_t n;

    if (writing->look != NULL) {
        cr_assert_eq(run(writing->look, text), 0, "%s: %s", writing->look, text);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, writing->file);
    file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    n = fread(text, 1, TEXT_SIZE - 1, file);
    fclose(file);
    text[n] = '\0';
    for (char *at = text; at < text + n; at++) {
        *at = *at == '\0' ? '\1' : *at;
    }
}

/* Whether there are files of a writing that did not end; takes them away. */
static bool take_left_files(void)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    bool found = false;

    cr_assert_not_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');

        if (end != NULL && (strcmp(end, ".new") == 0 || strcmp(end, ".old") == 0)) {
            found = true;
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    closedir(directory);
    return found;
}

/* Takes away what a writing may have left, and lays out the old files anew. */
static void begin_writing(const struct writing *writing, char text[TEXT_SIZE])
{
    char command[COMMAND_SIZE], path[128];

    take_left_files();
    if (writing->old != NULL) {
        snprintf(command, sizeof command, "rm -rf $FOLDER/p.json*; %s", writing->old);
        cr_assert_eq(run(command, text), 0, "%s: %s", command, text);
    } else {
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", folder, writing->file);
        file = fopen(path, "w");
        cr_assert(file != NULL && fputs("old\n", file) >= 0 && fclose(file) == 0, "%s", path);
    }
    look_at(writing, text);
}

/* Writes where nothing fails, and looks at the new files. */
static void write_all(const struct writing *writing, char text[TEXT_SIZE])
{
    cr_assert_eq(run(writing->command, text), 0, "%s: %s", writing->command, text);
    look_at(writing, text);
}

/* What is seen of the old files and of the new ones. */
struct sight {
    char old[TEXT_SIZE], new[TEXT_SIZE];
};

/* Lets the n-th call fail; false where the command makes fewer. */
static bool fail_at(const struct writing *writing, const struct sight *sight, const char *how, int n)
{
    bool is_killed = strcmp(how, "killed") == 0, is_old;
    char command[COMMAND_SIZE], said[TEXT_SIZE], text[TEXT_SIZE];
    int status;

    begin_writing(writing, text);
    cr_assert_str_eq(text, sight->old, "%s: %s", writing->file, text);
    snprintf(command, sizeof command, "FAIL_FILE_AT=%d FAIL_FILE_HOW=%s LD_PRELOAD=$BUILD/tests/preload/fail_file.so %s", n, how,
             writing->command);
    status = run(command, said);
    if (strstr(said, "FAIL_FILE: no such call") != NULL) {
        cr_expect_eq(status, 0, "%s: %s", command, said);
        return false;
    }
    if (is_killed) { /* a shell tells of a signal by a status past 128 */
        cr_expect(status > 128 || status < 0, "%s: status %d: %s", command, status, said);
    } else {
        cr_expect(status == 0 || (status == 1 && strstr(said, "error: ") != NULL), "%s: status %d: %s", command, status, said);
        cr_expect_not(take_left_files(), "%s leaves files", command);
    }
    look_at(writing, text);
    is_old = strcmp(text, sight->old) == 0;
    cr_expect(is_old || strcmp(text, sight->new) == 0, "%s: torn: %s", command, text);
    cr_expect(is_killed || is_old == (status != 0), "%s: status %d, and there is: %s", command, status, text);
    if (is_killed) { /* what is left of it is not in the way of the next one */
        write_all(writing, text);
        cr_expect_str_eq(text, sight->new, "after %s: %s", command, text);
    }
    return true;
}

/* Calls of each command, a STEP apart and from another one on, fail in each of the ways: commands share what writes files. (make
 * check-failing lets each call fail.) */
Test(failing, files_are_old_or_new)
{
    enum { N_HOWS = 4, STEP = 11 };
    static const char *const hows[N_HOWS] = {"full", "broken", "short", "killed"};
    static struct sight sight;
    size_t i, how;
    int n;

    write_models();
    for (i = 0; i < sizeof writings / sizeof *writings; i++) {
        begin_writing(&writings[i], sight.old);
        write_all(&writings[i], sight.new);
        cr_assert_str_neq(sight.old, sight.new, "%s", writings[i].command);
        for (how = 0; how < N_HOWS; how++) {
            bool is_pair_of_source = strcmp(writings[i].file, "b.h") == 0;

            if (is_pair_of_source && strcmp(hows[how], "killed") == 0) {
                continue; /* a header and its source see that they are not of one run: see below */
            }
            for (n = 1 + (int)((how + i) % N_HOWS); n < MOST_CALLS && fail_at(&writings[i], &sight, hows[how], n); n += STEP) {
            }
            cr_expect(n > 3 && n < MOST_CALLS, "%s: %d calls", writings[i].command, n);
        }
    }
}

/* Parts of a sweep whose n-th call fails, or is the last: --resume goes on, and all is as if nothing had happened. Calls a
 * STEP apart fail in each of the ways. */
Test(failing, a_folder_of_chunks_goes_on_after_any_call)
{
    static const char sweep[] = "$BUILD/mdf-run --quiet --sweep $FOLDER/s.yaml examples/cooling.yaml --chunk 2";
    enum { N_HOWS = 3, STEP = 8 };
    static const char *const hows[N_HOWS] = {"full", "broken", "killed"};
    char command[COMMAND_SIZE], text[TEXT_SIZE];
    size_t how;
    int n;

    snprintf(command, sizeof command,
             "echo '{parameters: {cup.time_constant: [100.0, 200.0, 300.0]}, steps: 4, dt: 1}' > $FOLDER/s.yaml && %s -o "
             "$FOLDER/all.zarr",
             sweep);
    cr_assert_eq(run(command, text), 0, "%s: %s", command, text);
    for (how = 0; how < N_HOWS; how++) {
        for (n = 1 + (int)how; n < MOST_STORE_CALLS; n += STEP) {
            snprintf(command, sizeof command,
                     "rm -rf $FOLDER/a.zarr; FAIL_FILE_AT=%d FAIL_FILE_HOW=%s LD_PRELOAD=$BUILD/tests/preload/fail_file.so %s -o "
                     "$FOLDER/a.zarr",
                     n, hows[how], sweep);
            if (run(command, text) == 0) {
                cr_expect(strstr(text, "FAIL_FILE: no such call") != NULL, "%s: goes on: %s", command, text);
                break;
            }
            snprintf(command, sizeof command,
                     "%s -o $FOLDER/a.zarr --resume && diff -r -x '*.new' "
                     "$FOLDER/all.zarr $FOLDER/a.zarr",
                     sweep);
            cr_assert_eq(run(command, text), 0, "call %d, %s: %s", n, hows[how], text);
        }
        cr_expect(n > 20 && n < MOST_STORE_CALLS, "%s: %d calls", hows[how], n);
    }
}

#endif

Test(failing, a_header_and_a_source_of_two_runs_do_not_compile)
{
    char text[TEXT_SIZE];

    cr_assert_eq(
        run("$BUILD/mdf-compile examples/newton_sqrt.json --name m -o $FOLDER/m.h && cd $FOLDER && ${CC:-cc} -c m.c -o m.o",
            text),
        0, "%s", text);
    cr_assert_eq(run("cp $FOLDER/m.h $FOLDER/kept.h; $BUILD/mdf-compile examples/cooling.yaml --name m -o $FOLDER/m.h && "
                     "cp $FOLDER/kept.h $FOLDER/m.h",
                     text),
                 0, "%s", text);
    cr_expect_neq(run("cd $FOLDER && ${CC:-cc} -c m.c -o m.o", text), 0);
    cr_expect(strstr(text, "are not of the same run") != NULL, "%s", text);
}

/* (A reader that is gone ends the program by SIGPIPE, as it ends others: nobody is left to tell.) */
Test(failing, standard_output_that_is_full)
{
    static const char *const commands[] = {"$BUILD/mdf-run examples/newton_sqrt.json",
                                           "$BUILD/mdf-run examples/slow_and_fast.yaml --schedule", "$BUILD/mdf-run --help",
                                           "$BUILD/mdf-convert --version"};
    char command[COMMAND_SIZE], text[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(command, sizeof command, "%s > /dev/full", commands[i]);
        cr_expect_eq(run(command, text), 1, "%s: %s", command, text);
        cr_expect(strstr(text, "No space left on device") != NULL, "%s: %s", command, text);
    }
}
