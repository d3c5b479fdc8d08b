/* test_prepared_product.c - prepared products have the bits of mdf_multiply, for any sizes, on any number of rows at once, with
 * any number of threads. */
#include "functions/products/prepared_product.h"

#include "functions/products/gemm/gemm.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    struct mdf_value scratch;
};

static void begin(struct fixture *fixture, int n_threads)
{
    memset(fixture, 0, sizeof *fixture);
    mdf_memory_init(&fixture->memory, NULL, 0);
    fixture->context.memory = &fixture->memory;
    fixture->context.n_threads = n_threads;
    fixture->call.context = &fixture->context;
}

/* Elements of all sizes, so that the order of sums shows in their last bits. In memory of just their size. */
static void *make_elements(mdf_dtype dtype, size_t n, unsigned *seed)
{
    float *floats = malloc(n * mdf_dtype_size(dtype));
    double *doubles = (double *)(void *)floats;

    for (size_t i = 0; i < n; i++) {
        int drawn = rand_r(seed);
        double number = (double)(drawn % 2001 - 1000) / (1 + (drawn >> 12) % 997);

        if (dtype == MDF_DTYPE_FLOAT32) {
            floats[i] = (float)number;
        } else {
            doubles[i] = number;
        }
    }
    return floats;
}

static void copy_rows(void *to, size_t n_rows, const void *row, size_t n_bytes)
{
    for (size_t i = 0; i < n_rows; i++) {
        memcpy((char *)to + i * n_bytes, row, n_bytes);
    }
}

/* n_products products of m rows each, one by one by mdf_multiply. */
static void multiply_each(struct mdf_product product, size_t n_products, const char *a, const void *start, char *c)
{
    size_t size = mdf_dtype_size(product.dtype), n_bytes = product.n * size;
    struct fixture fixture;

    begin(&fixture, 1);
    for (size_t i = 0; i < n_products; i++) {
        product.a = a + i * product.m * product.k * size;
        product.c = c + i * product.m * n_bytes;
        product.add = start != NULL;
        if (start != NULL) {
            copy_rows(product.c, product.m, start, n_bytes);
        }
        cr_assert(mdf_multiply(&fixture.call, &fixture.scratch, &product));
    }
    mdf_value_clear(&fixture.memory, &fixture.scratch);
}

static void multiply_all(const struct mdf_prepared_product *prepared, const struct mdf_product *product, size_t n_rows,
                         const void *a, const void *start, void *c, int n_threads)
{
    void *panels = prepared->is_laid_out ? malloc(prepared->n_bytes) : NULL;
    struct fixture fixture;

    begin(&fixture, n_threads);
    if (prepared->is_laid_out) {
        mdf_lay_out_matrix(prepared, product->b, product->b_row, product->b_column, panels);
    }
    mdf_multiply_prepared(&fixture.context, prepared, panels != NULL ? panels : product->b, n_rows, a, start, c);
    free(panels);
}

static void check_size(mdf_dtype dtype, size_t m, size_t k, size_t n, bool is_turned, unsigned *seed)
{
    size_t n_products = 1 + (size_t)rand_r(seed) % 5, n_rows = n_products * m, n_bytes = n_rows * n * mdf_dtype_size(dtype);
    void *a = make_elements(dtype, n_rows * k, seed), *b = make_elements(dtype, k * n, seed);
    void *start = make_elements(dtype, n, seed), *want = malloc(n_bytes), *got = malloc(n_bytes);
    struct mdf_product product = {.dtype = dtype, .m = m, .k = k, .n = n, .b = b, .alpha = 1};
    struct mdf_prepared_product prepared;

    product.a_row = (int64_t)k;
    product.a_column = 1;
    product.b_row = is_turned ? 1 : (int64_t)n;
    product.b_column = is_turned ? (int64_t)k : 1;
    product.c_row = (int64_t)n;
    if (mdf_prepare_product(&prepared, dtype, m, n, k, !is_turned)) {
        for (int i = 0; i < 4; i++) {
            const void *from = i % 2 == 0 ? NULL : start;

            multiply_each(product, n_products, a, from, want);
            memset(got, 0x7f, n_bytes);
            multiply_all(&prepared, &product, n_rows, a, from, got, i < 2 ? 1 : 3);
            cr_assert(memcmp(got, want, n_bytes) == 0, "%zu times %zu by %zu by %zu of %s, form %d", n_products, m, k, n,
                      mdf_dtype_name(dtype), i);
        }
    } else {
        cr_assert(n == 1 || (is_turned && !mdf_product_is_packed(&product)), "%zu by %zu by %zu", m, k, n);
    }
    free(a);
    free(b);
    free(start);
    free(want);
    free(got);
}

Test(prepared_product, has_the_bits_of_a_product)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 129, 160, 257, 300, 520};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned seed = 1;

    for (size_t i = 0; i < 4 * N * N; i++) {
        size_t m = i % 3 == 0 ? 1 : sizes[(size_t)rand_r(&seed) % 12], k = sizes[(size_t)rand_r(&seed) % N];

        check_size(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, m, k, sizes[i / 4 % N], i % 5 == 0, &seed);
    }
}

Test(prepared_product, no_product_without_elements_or_of_other_types)
{
    struct mdf_prepared_product prepared;

    cr_expect_not(mdf_prepare_product(&prepared, MDF_DTYPE_INT64, 3, 3, 3, true));
    cr_expect_not(mdf_prepare_product(&prepared, MDF_DTYPE_FLOAT32, 0, 3, 3, true));
    cr_expect_not(mdf_prepare_product(&prepared, MDF_DTYPE_FLOAT32, 3, 0, 3, true));
    cr_expect_not(mdf_prepare_product(&prepared, MDF_DTYPE_FLOAT32, 3, 3, 0, true));
    cr_expect_not(mdf_prepare_product(&prepared, MDF_DTYPE_FLOAT64, 3, SIZE_MAX / 2, 16, true));
}
