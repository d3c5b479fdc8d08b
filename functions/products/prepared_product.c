/* prepared_product.c - see prepared_product.h. The kernels are instances of prepared_kernel.inc: for each type one of the widest
 * vectors that the processor has, and narrower ones for matrices of few columns. */
#include "functions/products/prepared_kernels.h"

#include "functions/products/gemm/gemm.h"

enum {
    FEW_ROWS = 2,          /* so few read B no more than once or twice: it is not laid out anew */
    SMALL_BYTES = 24 << 10 /* nor is what stays in the first-level cache as it is */
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.04;

/* Widest vectors that n columns fill, of those that the processor has. */
static const struct mdf_prepared_kernels *choose_kernels(mdf_dtype dtype, size_t n)
{
    bool is_float32 = dtype == MDF_DTYPE_FLOAT32;
#if defined(__x86_64__)
    size_t n_bytes = n * mdf_dtype_size(dtype);

    if (mdf_has_avx2() && n_bytes <= 16) {
        return is_float32 ? &mdf_prepared_kernels_float32_4 : &mdf_prepared_kernels_float64_2;
    }
    if (mdf_has_avx512() && n_bytes > 32) {
        return is_float32 ? &mdf_prepared_kernels_float32_16 : &mdf_prepared_kernels_float64_8;
    }
    if (mdf_has_avx2()) {
        return is_float32 ? &mdf_prepared_kernels_float32_8 : &mdf_prepared_kernels_float64_4;
    }
#else
    (void)n;
#endif
    return is_float32 ? &mdf_prepared_kernels_float32 : &mdf_prepared_kernels_float64;
}

bool mdf_prepare_product(struct mdf_prepared_product *product, mdf_dtype dtype, size_t m, size_t n, size_t k, bool has_rows)
{
    struct mdf_product like = {.dtype = dtype, .m = m, .n = n, .k = k, .alpha = 1};
    size_t length, columns;

    *product = (struct mdf_prepared_product){.dtype = dtype, .n = n, .k = k};
    if (!mdf_dtype_is_real(dtype) || m == 0 || n < 2 || k == 0) {
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
