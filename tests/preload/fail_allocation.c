/* fail_allocation.c - an object for LD_PRELOAD that runs a program again and again, and in each run lets another allocation fail.
 *
 *   FAIL_ALLOCATION=FIRST:LAST:STEP:once|on  which: the FIRST-th, the FIRST+STEP-th ... (LAST 0: to the last that there is); that
 * one alone, or all from there on FAIL_ALLOCATION_SECONDS=20               stop after so long; the runs that there was time for
 * are told
 *
 * The process forks before main; a child is a run, the first one without a failure, whose output and blocks the others are held
 * to. A run must end by itself, without a signal; with exit status 1 or 2 and a message, or with 0 and the same output; and must
 * hold no more blocks in the end than the first. What does not is told on standard error, with a last line that sums up; the exit
 * status says whether all did.
 *
 * Without FAIL_ALLOCATION the process arms it itself (fail_allocation_arm), for the calls of one of its objects:
 * tests/calls/failing_calls.py. */
#define _GNU_SOURCE

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TOLD = 12, MOST_OUTPUT = 1 << 20, MOST_SAID = 160, RUN_SECONDS = 20 };

/* glibc's own, which the functions below stand before. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_long n_calls, n_blocks;
static long fail_at; /* 0: none fails */
static long n_left;  /* blocks that may be left */
static bool is_armed, fails_once;
static const char *object; /* whose calls count; NULL: all */
static atomic_uintptr_t object_start, object_end;

void fail_allocation_arm(const char *whose, long at, bool once);
long fail_allocation_disarm(void);
long fail_allocation_blocks(void);

/* ------------------------------------------------------------------ the functions */

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t end = 0;
    int i;

    (void)size;
    (void)context;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, object) == NULL) {
        return 0;
    }
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t part_end = info->dlpi_addr + part->p_vaddr + part->p_memsz;

        end = part->p_type == PT_LOAD && part_end > end ? part_end : end;
    }
    object_end = end;
    object_start = info->dlpi_addr;
    return 1;
}

static bool counts(const void *caller)
{
    if (object == NULL) {
        return true;
    }
    if (object_start == 0) {
        dl_iterate_phdr(note_object, NULL);
    }
    return object_start != 0 && (uintptr_t)caller >= object_start && (uintptr_t)caller < object_end;
}

/* Counts a call for a new or moved block, and says whether it fails. */
static bool fails(const void *caller)
{
    long call;

    if (!is_armed || !counts(caller)) {
        return false;
    }
    call = ++n_calls;
    if (fail_at == 0 || (fails_once ? call != fail_at : call < fail_at)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void *counted(void *block, const void *caller)
{
    n_blocks += block != NULL && counts(caller);
    return block;
}

void *malloc(size_t size)
{
    const void *caller = __builtin_return_address(0);

    return fails(caller) ? NULL : counted(__libc_malloc(size), caller);
}

void *calloc(size_t n, size_t size)
{
    const void *caller = __builtin_return_address(0);

    return fails(caller) ? NULL : counted(__libc_calloc(n, size), caller);
}

void *realloc(void *block, size_t size)
{
    const void *caller = __builtin_return_address(0);
    void *moved = fails(caller) ? NULL : __libc_realloc(block, size);

    return block == NULL ? counted(moved, caller) : moved;
}

void *memalign(size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    return fails(caller) ? NULL : counted(__libc_memalign(alignment, size), caller);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    return fails(caller) ? NULL : counted(__libc_memalign(alignment, size), caller);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (fails(caller)) {
        return ENOMEM;
    }
    *block = counted(__libc_memalign(alignment, size), caller);
    return *block != NULL ? 0 : ENOMEM;
}

void free(void *block)
{
    n_blocks -= block != NULL && counts(__builtin_return_address(0));
    __libc_free(block);
}

/* ------------------------------------------------------------------ for who arms it in one process */

void fail_allocation_arm(const char *whose, long at, bool once)
{
    object = whose;
    fail_at = at;
    fails_once = once;
    n_calls = 0;
    is_armed = true;
}

/* Returns the calls since it was armed. */
long fail_allocation_disarm(void)
{
    is_armed = false;
    return n_calls;
}

long fail_allocation_blocks(void)
{
    return n_blocks;
}

/* ------------------------------------------------------------------ runs */

/* What one run left, in memory that it shares with its parent. */
struct run {
    long n_calls, n_blocks;
};

static struct run *shared;

__attribute__((destructor)) static void report(void)
{
    if (is_armed && shared != NULL) {
        shared->n_calls = n_calls;
        shared->n_blocks = n_blocks;
    }
}

struct trial {
    struct run first, now;
    size_t n_first, n_now; /* bytes of standard output */
    char *first_output, *output;
    char said[MOST_SAID];
    size_t n_said;
    int status;
};

struct sums {
    long n_tried, n_done, n_refused, n_crashed, n_hung, n_silent, n_leaked, n_other, n_told;
};

static size_t read_file(int file, char *bytes, size_t most)
{
    ssize_t n = pread(file, bytes, most, 0);

    return n > 0 ? (size_t)n : 0;
}

/* Forks. Returns true in the child, which goes on to main; false in the parent, once the child has ended. */
static bool run(struct trial *trial, long n)
{
    int output = memfd_create("output", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC);
    pid_t child;

    *shared = (struct run){-1, -1};
    child = fork();
    if (child == 0) {
        dup2(output, STDOUT_FILENO);
        dup2(errors, STDERR_FILENO);
        alarm(RUN_SECONDS);
        fail_at = n;
        n_calls = n_blocks = 0;
        is_armed = true;
        return true;
    }
    waitpid(child, &trial->status, 0);
    trial->now = *shared;
    trial->n_now = read_file(output, trial->output, MOST_OUTPUT);
    trial->n_said = read_file(errors, trial->said, MOST_SAID - 1);
    trial->said[trial->n_said] = '\0';
    close(output);
    close(errors);
    return false;
}

static void tell(struct sums *sums, long *sum, long n, const struct trial *trial, const char *what)
{
    ++*sum;
    if (sums->n_told++ < MOST_TOLD) {
        dprintf(STDERR_FILENO, "allocation %ld: %s (status %d, %ld blocks, %ld without a failure): %s\n", n, what, trial->status,
                trial->now.n_blocks, trial->first.n_blocks, trial->said);
    }
}

/* Counts a run by how it ended. */
static void judge(struct sums *sums, long n, const struct trial *trial)
{
    int status = trial->status;

    sums->n_tried++;
    if (WIFSIGNALED(status)) {
        tell(sums, WTERMSIG(status) == SIGALRM ? &sums->n_hung : &sums->n_crashed, n, trial, strsignal(WTERMSIG(status)));
        return;
    }
    if (WEXITSTATUS(status) > 2) {
        tell(sums, &sums->n_crashed, n, trial, "ends oddly");
    } else if (WEXITSTATUS(status) > 0 && trial->n_said == 0) {
        tell(sums, &sums->n_silent, n, trial, "says nothing");
    } else if (WEXITSTATUS(status) > 0) {
        sums->n_refused++;
    } else if (trial->n_now != trial->n_first || memcmp(trial->output, trial->first_output, trial->n_now) != 0) {
        tell(sums, &sums->n_other, n, trial, "other output");
    } else {
        sums->n_done++;
    }
    if (trial->now.n_blocks > trial->first.n_blocks + n_left) {
        tell(sums, &sums->n_leaked, n, trial, "leaks");
    }
}

static _Noreturn void finish(const struct sums *sums, const struct trial *trial, const char *how)
{
    bool good = sums->n_tried == sums->n_done + sums->n_refused && sums->n_leaked == 0;

    dprintf(STDERR_FILENO,
            "%ld of %ld allocations fail (%s): %ld refused, %ld done all the same, %ld crashed, %ld hung, %ld silent, %ld other "
            "output, %ld leaked\n",
            sums->n_tried, trial->first.n_calls, how, sums->n_refused, sums->n_done, sums->n_crashed, sums->n_hung,
            sums->n_silent, sums->n_other, sums->n_leaked);
    _exit(good ? 0 : 1);
}

__attribute__((constructor(65535))) static void begin(void)
{
    const char *plan = getenv("FAIL_ALLOCATION"), *seconds = getenv("FAIL_ALLOCATION_SECONDS"),
               *left = getenv("FAIL_ALLOCATION_LEFT");
    struct trial trial = {.n_first = 0};
    struct sums sums = {0};
    long first, last, step, n;
    time_t end = time(NULL) + (seconds != NULL ? atol(seconds) : 3600);
    char how[8];

    if (plan == NULL || sscanf(plan, "%ld:%ld:%ld:%7s", &first, &last, &step, how) != 4 || step < 1) {
        return;
    }
    unsetenv("LD_PRELOAD"); /* children are programs of others */
    fails_once = strcmp(how, "once") == 0;
    n_left = left != NULL ? atol(left) : 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trial.output = mmap(NULL, 2 * MOST_OUTPUT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    trial.first_output = trial.output + MOST_OUTPUT;
    if (shared == MAP_FAILED || trial.output == MAP_FAILED || run(&trial, 0)) {
        return;
    }
    trial.first = trial.now;
    trial.n_first = trial.n_now;
    memcpy(trial.first_output, trial.output, trial.n_now);
    if (trial.status != 0 || trial.first.n_calls <= 0) {
        dprintf(STDERR_FILENO, "without a failure: status %d: %s\n", trial.status, trial.said);
        _exit(1);
    }
    last = last == 0 || last > trial.first.n_calls ? trial.first.n_calls : last;
    for (n = first; n <= last && time(NULL) < end; n += step) {
        if (run(&trial, n)) {
            return;
        }
        judge(&sums, n, &trial);
    }
    finish(&sums, &trial, how);
}
