/* prepared_product.c - see prepared_product.h. The kernels are instances of prepared_kernel.inc: for each type one of the widest
 * vectors that the processor has, and narrower ones for matrices of few columns. */
#include "functions/products/prepared_product.h"

#include "functions/products/gemm.h"
#include "mdf_c/base/processor.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    DEPTH = 256,           /* rows of a block of B, as in gemm.c */
    FEW_ROWS = 2,          /* so few read B no more than once or twice: it is not laid out anew */
    SMALL_BYTES = 24 << 10 /* nor is what stays in the first-level cache as it is */
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.04;

struct mdf_prepared_kernels {
    size_t lanes, size_bytes; /* elements of a vector; bytes of an element */
    /* Columns [column, end), of whole panels but for the last. */
    void (*at_once)(const struct mdf_prepared_product *product, const void *b, size_t n_rows, size_t column, size_t end,
                    const void *a, const void *start, void *c);
    void (*in_blocks)(const struct mdf_prepared_product *product, const void *b, size_t n_rows, size_t column, size_t end,
                      const void *a, const void *start, void *c);
    void (*lay_out)(const struct mdf_prepared_product *product, const void *b, int64_t row, int64_t column, void *panels);
};

/* Of one block of B, in elements. */
struct strides {
    size_t depth;
    int64_t a_row, b_row, b_panel;
    int64_t b_block; /* where the block begins */
};

static size_t depth_of(const struct mdf_prepared_product *product)
{
    return product->in_blocks ? DEPTH : product->k;
}

/* Columns of a panel, and of all panels together. */
static size_t panel_columns(const struct mdf_prepared_product *product, size_t lanes)
{
    return product->n <= lanes ? lanes : 2 * lanes;
}

static size_t padded_columns(const struct mdf_prepared_product *product, size_t lanes)
{
    size_t n_panel = panel_columns(product, lanes);

    return (product->n + n_panel - 1) / n_panel * n_panel;
}

static inline struct strides strides_of(const struct mdf_prepared_product *product, size_t lanes, size_t first, size_t depth)
{
    struct strides strides = {.a_row = (int64_t)product->k, .b_row = (int64_t)product->n, .b_panel = (int64_t)(2 * lanes)};

    strides.depth = product->k - first < depth ? product->k - first : depth;
    strides.b_block = (int64_t)(first * product->n);
    if (product->is_laid_out) {
        strides.b_row = (int64_t)panel_columns(product, lanes);
        strides.b_panel = strides.b_row * (int64_t)strides.depth;
        strides.b_block = (int64_t)(first * padded_columns(product, lanes));
    }
    return strides;
}

#define NO_FUSED(element, vector, sums) (sums) + (element) * (vector)

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float32_16
#define ELEMENT float
#define LANES 16
#define ROWS 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_ps(_mm512_set1_ps(element), (__m512)(vector), (__m512)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx512f")))
#define NAME(x) x##_float64_8
#define ELEMENT double
#define LANES 8
#define ROWS 8
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm512_fmadd_pd(_mm512_set1_pd(element), (__m512d)(vector), (__m512d)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_8
#define ELEMENT float
#define LANES 8
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_ps(_mm256_set1_ps(element), (__m256)(vector), (__m256)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_4
#define ELEMENT double
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm256_fmadd_pd(_mm256_set1_pd(element), (__m256d)(vector), (__m256d)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float32_4
#define ELEMENT float
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm_fmadd_ps(_mm_set1_ps(element), (__m128)(vector), (__m128)(sums))
#include "functions/products/prepared_kernel.inc"
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_float64_2
#define ELEMENT double
#define LANES 2
#define ROWS 4
#define MULTIPLY_ADD(element, vector, sums) (VECTOR) _mm_fmadd_pd(_mm_set1_pd(element), (__m128d)(vector), (__m128d)(sums))
#include "functions/products/prepared_kernel.inc"
#endif
#define TARGET
#define NAME(x) x##_float32
#define ELEMENT float
#define LANES 4
#define ROWS 4
#define MULTIPLY_ADD NO_FUSED
#include "functions/products/prepared_kernel.inc"
#define TARGET
#define NAME(x) x##_float64
#define ELEMENT double
#define LANES 2
#define ROWS 4
#define MULTIPLY_ADD NO_FUSED
#include "functions/products/prepared_kernel.inc"

/* Widest vectors that n columns fill, of those that the processor has. */
static const struct mdf_prepared_kernels *choose_kernels(mdf_dtype dtype, size_t n)
{
    bool is_float32 = dtype == MDF_DTYPE_FLOAT32;
#if defined(__x86_64__)
    size_t n_bytes = n * mdf_dtype_size(dtype);

    if (mdf_has_avx2() && n_bytes <= 16) {
        return is_float32 ? &kernels_float32_4 : &kernels_float64_2;
    }
    if (mdf_has_avx512() && n_bytes > 32) {
        return is_float32 ? &kernels_float32_16 : &kernels_float64_8;
    }
    if (mdf_has_avx2()) {
        return is_float32 ? &kernels_float32_8 : &kernels_float64_4;
    }
#else
    (void)n;
#endif
    return is_float32 ? &kernels_float32 : &kernels_float64;
}

bool mdf_prepare_product(struct mdf_prepared_product *product, mdf_dtype dtype, size_t m, size_t n, size_t k, bool has_rows)
{
    struct mdf_product like = {.dtype = dtype, .m = m, .n = n, .k = k, .alpha = 1};
    size_t length, columns;

    *product = (struct mdf_prepared_product){.dtype = dtype, .n = n, .k = k};
    if ((dtype != MDF_DTYPE_FLOAT32 && dtype != MDF_DTYPE_FLOAT64) || m == 0 || n < 2 || k == 0) {
        return false;
    }
    product->in_blocks = mdf_product_is_packed(&like);
    if (!product->in_blocks && !has_rows) {
        return false;
    }
    product->kernels = choose_kernels(dtype, n);
    columns = padded_columns(product, product->kernels->lanes);
    if (!mdf_size_multiply(columns, k, &length) || !mdf_size_multiply(length, product->kernels->size_bytes, &product->n_bytes) ||
        product->n_bytes > PTRDIFF_MAX / 4) {
        return false;
    }
    product->is_laid_out = !has_rows || n % product->kernels->lanes != 0 || (m > FEW_ROWS && product->n_bytes > SMALL_BYTES);
    product->n_bytes = product->is_laid_out ? product->n_bytes : 0;
    return true;
}

void mdf_lay_out_matrix(const struct mdf_prepared_product *product, const void *b, int64_t row, int64_t column, void *panels)
{
    product->kernels->lay_out(product, b, row, column, panels);
}

struct job {
    const struct mdf_prepared_product *product;
    const void *b, *a, *start;
    void *c;
    size_t n_rows;
};

static void multiply(const struct job *job, size_t column, size_t end)
{
    const struct mdf_prepared_product *product = job->product;

    if (product->in_blocks) {
        product->kernels->in_blocks(product, job->b, job->n_rows, column, end, job->a, job->start, job->c);
    } else {
        product->kernels->at_once(product, job->b, job->n_rows, column, end, job->a, job->start, job->c);
    }
}

static void multiply_panels(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t n_panel = panel_columns(job->product, job->product->kernels->lanes), end = last * n_panel;

    multiply(job, first * n_panel, end < job->product->n ? end : job->product->n);
}

void mdf_multiply_prepared(const struct mdf_context *context, const struct mdf_prepared_product *product, const void *b,
                           size_t n_rows, const void *a, const void *start, void *c)
{
    enum { ALONE = 1 << 22 }; /* multiplications that are not worth a thread */
    struct job job = {product, b, a, start, c, n_rows};
    size_t n_panel, n_panels;

    if (context->n_threads <= 1 || n_rows * product->n < ALONE / product->k) {
        multiply(&job, 0, product->n);
        return;
    }
    n_panel = panel_columns(product, product->kernels->lanes);
    n_panels = (product->n + n_panel - 1) / n_panel;
    mdf_parallel_for(context, n_panels, multiply_ns * (double)n_rows * (double)n_panel * (double)product->k, multiply_panels,
                     &job);
}
