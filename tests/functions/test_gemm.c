/* test_gemm.c - matrix products against their definition, on random sizes, strides and elements; the same bits with matrices that
 * are kept packed, and with any number of threads. */
#include "functions/products/gemm/gemm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 400, N_SIZES = 60 };

struct fixture {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    struct mdf_value scratch, kept_a, kept_b;
};

static void begin(struct fixture *fixture, int n_threads)
{
    memset(fixture, 0, sizeof *fixture);
    mdf_memory_init(&fixture->memory, NULL, 0);
    fixture->context.memory = &fixture->memory;
    fixture->context.n_threads = n_threads;
    fixture->call.context = &fixture->context;
}

static void end(struct fixture *fixture)
{
    mdf_value_clear(&fixture->memory, &fixture->scratch);
    mdf_value_clear(&fixture->memory, &fixture->kept_a);
    mdf_value_clear(&fixture->memory, &fixture->kept_b);
}

static float *make_numbers(size_t n, unsigned *seed)
{
    float *numbers = malloc((n > 0 ? n : 1) * sizeof *numbers);

    for (size_t i = 0; i < n; i++) {
        numbers[i] = (float)(rand_r(seed) % 2001 - 1000) / 1000;
    }
    return numbers;
}

/* A product of m by k by n elements: with `turned` an operand lies by columns. */
static struct mdf_product describe(size_t m, size_t k, size_t n, bool turned_a, bool turned_b, const float *a, const float *b)
{
    struct mdf_product product = {.dtype = MDF_DTYPE_FLOAT32, .m = m, .k = k, .n = n, .a = a, .b = b, .alpha = 1};

    product.a_row = turned_a ? 1 : (int64_t)k;
    product.a_column = turned_a ? (int64_t)m : 1;
    product.b_row = turned_b ? 1 : (int64_t)n;
    product.b_column = turned_b ? (int64_t)k : 1;
    product.c_row = (int64_t)n;
    return product;
}

static void check_against_definition(const struct mdf_product *product, const float *c)
{
    const float *a = product->a, *b = product->b;

    for (size_t i = 0; i < product->m; i++) {
        for (size_t j = 0; j < product->n; j++) {
            double sum = product->start == NULL ? 0 : (double)((const float *)product->start)[i];

            for (size_t p = 0; p < product->k; p++) {
                sum += product->alpha * (double)a[(int64_t)i * product->a_row + (int64_t)p * product->a_column] *
                       (double)b[(int64_t)p * product->b_row + (int64_t)j * product->b_column];
            }
            /* Each of k roundings is of a sum that may be as large as k. */
            cr_assert(fabs((double)c[i * product->n + j] - sum) <= 1e-7 * (double)(product->k + 1) * (double)(product->k + 1) ||
                          fabs((double)c[i * product->n + j] - sum) <= 1e-4,
                      "%zu by %zu by %zu, element %zu, %zu", product->m, product->k, product->n, i, j);
        }
    }
}

static void multiply(int n_threads, struct mdf_product product, bool keep_a, bool keep_b, float *c)
{
    struct fixture fixture;

    begin(&fixture, n_threads);
    memset(c, 0x7f, product.m * product.n * sizeof *c);
    product.c = c;
    cr_assert(!keep_a || mdf_product_keep_a(&fixture.call, &fixture.kept_a, true, &product));
    cr_assert(!keep_b || mdf_product_keep_b(&fixture.call, &fixture.kept_b, true, &product));
    cr_assert(mdf_multiply(&fixture.call, &fixture.scratch, &product));
    end(&fixture);
}

static void check_size(size_t m, size_t k, size_t n, unsigned *seed)
{
    float *a = make_numbers(m * k, seed), *b = make_numbers(k * n, seed), *start = make_numbers(m, seed);
    float *c = make_numbers(m * n, seed), *other = make_numbers(m * n, seed);
    unsigned form = (unsigned)rand_r(seed) % 8;
    struct mdf_product product = describe(m, k, n, (form & 1) != 0, (form & 2) != 0, a, b);
    bool is_packed = mdf_product_is_packed(&product);

    product.start = (form & 4) != 0 ? start : NULL;
    multiply(1, product, false, false, c);
    check_against_definition(&product, c);
    for (int keep = 0; keep < 4; keep++) {
        multiply(keep % 2 + 1, product, keep % 2 == 1, keep >= 2, other);
        check_against_definition(&product, other);
        cr_assert(!is_packed || memcmp(c, other, m * n * sizeof *c) == 0, "%zu by %zu by %zu, kept %d", m, k, n, keep);
    }
    multiply(3, product, false, false, other);
    cr_assert(memcmp(c, other, m * n * sizeof *c) == 0, "%zu by %zu by %zu on three threads", m, k, n);
    free(a);
    free(b);
    free(c);
    free(start);
    free(other);
}

Test(gemm, products_are_what_they_are_defined_as)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 12, 13, 16, 31, 32, 33, 48, 64, 100, 129, 257, 300};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned seed = 1;

    for (size_t i = 0; i < N; i++) {
        check_size(sizes[i], 5, 40, &seed);
        check_size(1, sizes[i], 70, &seed);
        check_size(2, 65, sizes[i], &seed);
        check_size(20, sizes[i], 20, &seed);
    }
    for (size_t n = 2; n < 12; n++) { /* kept ones are turned */
        check_size(300, 300, n, &seed);
    }
    for (size_t n = 3; n < 140; n += 17) { /* A as it lies, in blocks */
        check_size(23, 600, n, &seed);
    }
    for (size_t i = 0; i < N_SIZES; i++) {
        check_size(sizes[(size_t)rand_r(&seed) % N], sizes[(size_t)rand_r(&seed) % N], sizes[(size_t)rand_r(&seed) % N], &seed);
    }
}

/* What is kept is used where the same elements are asked for in the same form, and only there. */
Test(gemm, what_is_kept_is_recognised)
{
    float a[64 * 64] = {0}, b[64 * 64] = {0}, c[64 * 64];
    struct mdf_product first = describe(64, 64, 64, false, false, a, b), second = describe(64, 64, 64, false, true, a, b);
    struct fixture fixture;

    begin(&fixture, 1);
    for (size_t i = 0; i < 64 * 64; i++) {
        a[i] = i % 65 == 0; /* the identity */
        b[i] = (float)i;
    }
    first.c = second.c = c;
    cr_assert(mdf_product_keep_b(&fixture.call, &fixture.kept_b, true, &first));
    b[1] = -1; /* a constant does not do this: so it shows what is read */
    first.packed_b = NULL;
    cr_assert(mdf_product_keep_b(&fixture.call, &fixture.kept_b, true, &first));
    cr_assert(mdf_multiply(&fixture.call, &fixture.scratch, &first) && c[1] == 1);
    cr_assert(mdf_product_keep_b(&fixture.call, &fixture.kept_b, true, &second));
    cr_assert(mdf_multiply(&fixture.call, &fixture.scratch, &second) && c[1] == 64 && c[64] == -1);
    cr_assert(mdf_product_keep_b(&fixture.call, &fixture.kept_b, false, &first));
    cr_assert(mdf_multiply(&fixture.call, &fixture.scratch, &first) && c[1] == -1);
    end(&fixture);
}

Test(gemm, infinities_and_nan_come_through)
{
    float a[13 * 40] = {0}, b[40 * 50] = {0}, c[13 * 50];
    struct mdf_product product = describe(13, 40, 50, false, false, a, b);

    for (size_t i = 0; i < 13 * 40; i++) {
        a[i] = 1;
    }
    for (size_t i = 0; i < 40 * 50; i++) {
        b[i] = i % 50 == 3 ? NAN : i == 7 ? INFINITY : 1;
    }
    multiply(1, product, false, false, c);
    for (size_t i = 0; i < 13 * 50; i++) {
        cr_assert(i % 50 == 3 ? isnan(c[i]) : i % 50 == 7 ? isinf(c[i]) : c[i] == 40);
    }
}
