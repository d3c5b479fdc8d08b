/* products.c - times products of matrices, C = A B in float32 with one thread, here and in libraries that are named.
 *
 * usage: products [openblas=LIBRARY] [onednn=LIBRARY] [packed=LIBRARY]
 *
 * Each LIBRARY is a shared one: with cblas_sgemm and cblas_sgemv; with dnnl_sgemm; with `float *pack64(int k, int n, const float
 * *b)` and `void mul_packed(int m, int k, int n, const float *a, const float *packed, float *c)`, which adds to C. B is a
 * constant, as weights are: what can be packed before is. All take turns; the shortest time counts. Prints a table of ratios, the
 * time here over each library's. OpenBLAS takes the variables OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS, oneDNN OMP_NUM_THREADS.
 * Build with make && cc -O2 -I. bench/products.c build/libmdf.a -ldl -lm -lpthread -o products */
#define _GNU_SOURCE
#include "functions/products/gemm/gemm.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, N_PEERS = 3, ROUNDS = 40 };

typedef void (*sgemm_function)(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a, int lda,
                               const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*sgemv_function)(int order, int turn, int m, int n, float alpha, const float *a, int lda, const float *x,
                               int step_x, float beta, float *y, int step_y);
typedef int (*dnnl_function)(char turn_a, char turn_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                             const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

static struct {
    sgemm_function sgemm;
    sgemv_function sgemv;
    dnnl_function dnnl;
    float *(*pack)(int k, int n, const float *b);
    void (*multiply_packed)(int m, int k, int n, const float *a, const float *packed, float *c);
} peers;

static const char *const peer_names[N_PEERS] = {"openblas", "onednn", "packed"};

/* One product under way. */
struct problem {
    int m, k, n;
    float *a, *b, *c, *packed;
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    struct mdf_value scratch, kept;
    struct mdf_product product;
};

static void run_here(struct problem *problem)
{
    mdf_multiply(&problem->call, &problem->scratch, &problem->product);
}

static void run_openblas(struct problem *problem)
{
    if (problem->m == 1) {
        peers.sgemv(ROW_MAJOR, TRANSPOSE, problem->k, problem->n, 1, problem->b, problem->n, problem->a, 1, 0, problem->c, 1);
    } else {
        peers.sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, problem->m, problem->n, problem->k, 1, problem->a, problem->k,
                    problem->b, problem->n, 0, problem->c, problem->n);
    }
}

static void run_onednn(struct problem *problem)
{
    peers.dnnl('N', 'N', problem->m, problem->n, problem->k, 1, problem->a, problem->k, problem->b, problem->n, 0, problem->c,
               problem->n);
}

static void run_packed(struct problem *problem)
{
    memset(problem->c, 0, (size_t)problem->m * (size_t)problem->n * sizeof *problem->c);
    peers.multiply_packed(problem->m, problem->k, problem->n, problem->a, problem->packed, problem->c);
}

static void (*const runs[N_PEERS])(struct problem *problem) = {run_openblas, run_onednn, run_packed};

static bool is_there(int peer)
{
    return peer == 0 ? peers.sgemm != NULL : peer == 1 ? peers.dnnl != NULL : peers.pack != NULL;
}

static float *make_numbers(int rows, int columns)
{
    size_t n = (size_t)rows * (size_t)columns;
    float *numbers = malloc(n * sizeof *numbers);

    for (size_t i = 0; i < n; i++) {
        numbers[i] = (float)(rand() % 2001 - 1000) / 1000;
    }
    return numbers;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one run, over as many as take a while. */
static double time_run(void (*run)(struct problem *problem), struct problem *problem, int n)
{
    double start = seconds();

    for (int i = 0; i < n; i++) {
        run(problem);
    }
    return (seconds() - start) / n;
}

static void measure(int m, int k, int n)
{
    struct problem problem = {.m = m, .k = k, .n = n};
    double best, others[N_PEERS] = {INFINITY, INFINITY, INFINITY}, difference = 0;
    float *result = make_numbers(m, n);
    int n_runs;

    problem.a = make_numbers(m, k);
    problem.b = make_numbers(k, n);
    problem.c = make_numbers(m, n);
    problem.packed = peers.pack != NULL ? peers.pack(k, n, problem.b) : NULL;
    mdf_memory_init(&problem.memory, NULL, 0);
    problem.context.memory = &problem.memory;
    problem.context.n_threads = 1;
    problem.call.context = &problem.context;
    problem.product = (struct mdf_product){.dtype = MDF_DTYPE_FLOAT32,
                                           .m = (size_t)m,
                                           .k = (size_t)k,
                                           .n = (size_t)n,
                                           .a = problem.a,
                                           .b = problem.b,
                                           .c = problem.c,
                                           .a_row = k,
                                           .a_column = 1,
                                           .b_row = n,
                                           .b_column = 1,
                                           .c_row = n,
                                           .alpha = 1};
    if (mdf_product_is_packed(&problem.product)) {
        mdf_product_keep_b(&problem.call, &problem.kept, true, &problem.product);
    }
    run_here(&problem);
    memcpy(result, problem.c, (size_t)m * (size_t)n * sizeof *result);
    best = time_run(run_here, &problem, 3);
    n_runs = (int)(1e-3 / best) + 1;
    for (int round = 0; round < ROUNDS; round++) {
        double time_s = time_run(run_here, &problem, n_runs);

        best = time_s < best ? time_s : best;
        for (int peer = 0; peer < N_PEERS; peer++) {
            if (is_there(peer)) {
                time_s = time_run(runs[peer], &problem, n_runs);
                others[peer] = time_s < others[peer] ? time_s : others[peer];
                for (size_t i = 0; round == 0 && i < (size_t)m * (size_t)n; i++) {
                    difference = fmax(difference, fabs((double)(problem.c[i] - result[i])));
                }
            }
        }
    }
    printf("| %d x %d x %d |", m, k, n);
    for (int peer = 0; peer < N_PEERS; peer++) {
        if (is_there(peer)) {
            printf(" %.2f |", best / others[peer]);
        }
    }
    printf(" %.0e |\n", difference);
    fflush(stdout);
    free(problem.a);
    free(problem.b);
    free(problem.c);
    free(problem.packed);
    free(result);
    mdf_value_clear(&problem.memory, &problem.scratch);
    mdf_value_clear(&problem.memory, &problem.kept);
}

static bool open_peer(const char *argument)
{
    const char *path = strchr(argument, '=');
    void *library = path != NULL ? dlopen(path + 1, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (library == NULL) {
        fprintf(stderr, "%s: %s\n", argument, path != NULL ? dlerror() : "NAME=LIBRARY is expected");
        return false;
    }
    if (strncmp(argument, "openblas=", 9) == 0) {
        peers.sgemm = (sgemm_function)dlsym(library, "cblas_sgemm");
        peers.sgemv = (sgemv_function)dlsym(library, "cblas_sgemv");
        return peers.sgemm != NULL && peers.sgemv != NULL;
    }
    if (strncmp(argument, "onednn=", 7) == 0) {
        peers.dnnl = (dnnl_function)dlsym(library, "dnnl_sgemm");
        return peers.dnnl != NULL;
    }
    peers.pack = (float *(*)(int, int, const float *))dlsym(library, "pack64");
    peers.multiply_packed = (void (*)(int, int, int, const float *, const float *, float *))dlsym(library, "mul_packed");
    return peers.pack != NULL && peers.multiply_packed != NULL;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {4, 8, 16, 32, 64, 128, 256, 512}, large[] = {768, 1024, 2048};

    for (int i = 1; i < argc; i++) {
        if (!open_peer(argv[i])) {
            return 2;
        }
    }
    printf("| m x k x n |");
    for (int peer = 0; peer < N_PEERS; peer++) {
        printf(is_there(peer) ? " %s |" : "", peer_names[peer]);
    }
    printf(" largest difference |\n|---|");
    for (int peer = 0; peer < N_PEERS; peer++) {
        printf(is_there(peer) ? "---:|" : "");
    }
    printf("---:|\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        measure(1, sizes[i], sizes[i]);
        measure(16, sizes[i], sizes[i]);
        measure(sizes[i], sizes[i], sizes[i]);
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        measure(large[i], large[i], large[i]);
    }
    return 0;
}
