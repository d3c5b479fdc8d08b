/* test_einsum.c - Einsum against its definition: the sum over all labels that the result has not, on random equations of one to
 * three terms with repeated labels, axes of size 1 and operands that lie in any order. Elements are small whole numbers: sums are
 * exact. */
#include "tests/kernel_fixture.h"

enum { N_CASES = 600, N_LABELS = 6, MAX_TERMS = 3, MAX_RANK = 5 };

struct equation {
    size_t n_terms, n_result;
    size_t ranks[MAX_TERMS];
    char terms[MAX_TERMS][MAX_RANK], result[N_LABELS];
    int64_t sizes[N_LABELS];
    char text[64];
};

static bool has(const char *labels, size_t n, char label)
{
    return memchr(labels, label, n) != NULL;
}

static void pick_equation(struct equation *equation)
{
    size_t at = 0;

    memset(equation, 0, sizeof *equation);
    equation->n_terms = (size_t)pick(1, MAX_TERMS);
    for (size_t label = 0; label < N_LABELS; label++) {
        equation->sizes[label] = pick(0, 60) == 0 ? 0 : pick(0, 4) == 0 ? pick(10, 40) : pick(1, 4);
    }
    for (size_t term = 0; term < equation->n_terms; term++) {
        equation->ranks[term] = (size_t)pick(0, 20) == 0 ? 0 : (size_t)pick(1, 4);
        for (size_t i = 0; i < equation->ranks[term]; i++) {
            char label = (char)('a' + pick(0, N_LABELS - 1));

            while (has(equation->terms[term], i, label) && pick(0, 9) != 0) { /* seldom twice */
                label = (char)('a' + pick(0, N_LABELS - 1));
            }
            equation->text[at++] = equation->terms[term][i] = label;
            if (pick(0, 1) == 0 && equation->n_result < N_LABELS && !has(equation->result, equation->n_result, label)) {
                size_t to = (size_t)pick(0, (int64_t)equation->n_result++);

                memmove(equation->result + to + 1, equation->result + to, equation->n_result - 1 - to);
                equation->result[to] = label;
            }
        }
        equation->text[at++] = term + 1 < equation->n_terms ? ',' : '-';
    }
    equation->text[at++] = '>';
    memcpy(equation->text + at, equation->result, equation->n_result);
}

/* The product of the elements that the terms have at some index of the labels. */
static double term_product(const struct fixture *fixture, const struct equation *equation, const int64_t *index)
{
    double product = 1;

    for (size_t term = 0; term < equation->n_terms; term++) {
        const int64_t *shape = mdf_value_shape(&fixture->inputs[term]);
        int64_t offset = 0;

        for (size_t i = 0; i < equation->ranks[term]; i++) {
            offset = offset * shape[i] + (shape[i] == 1 ? 0 : index[equation->terms[term][i] - 'a']);
        }
        product *= (double)((const float *)fixture->inputs[term].data)[offset];
    }
    return product;
}

/* All products, each added to the element of the result that it belongs to. */
static double *sum_products(const struct fixture *fixture, const struct equation *equation, size_t n_result)
{
    double *sums = calloc(n_result + 1, sizeof *sums);
    int64_t index[N_LABELS] = {0}, n_all = 1;
    char labels[MAX_TERMS * MAX_RANK];
    size_t n_labels = 0;

    for (size_t term = 0; term < equation->n_terms; term++) {
        for (size_t i = 0; i < equation->ranks[term]; i++) {
            char label = equation->terms[term][i];

            if (!has(labels, n_labels, label)) {
                labels[n_labels++] = label;
                n_all *= equation->sizes[label - 'a'];
            }
        }
    }
    for (int64_t at = 0; at < n_all; at++) {
        int64_t rest = at, offset = 0;

        for (size_t i = 0; i < n_labels; rest /= equation->sizes[labels[i] - 'a'], i++) {
            index[labels[i] - 'a'] = rest % equation->sizes[labels[i] - 'a'];
        }
        for (size_t i = 0; i < equation->n_result; i++) {
            offset = offset * equation->sizes[equation->result[i] - 'a'] + index[equation->result[i] - 'a'];
        }
        sums[offset] += term_product(fixture, equation, index);
    }
    return sums;
}

/* The inputs; some of their axes are of size 1 where those of their labels are not. */
static void add_inputs(struct fixture *fixture, struct equation *equation)
{
    int64_t sizes[N_LABELS];

    for (size_t label = 0; label < N_LABELS; label++) {
        sizes[label] = equation->sizes[label];
        equation->sizes[label] = 1;
    }
    for (size_t term = 0; term < equation->n_terms; term++) {
        int64_t shape[MAX_RANK];
        float *elements;

        for (size_t i = 0; i < equation->ranks[term]; i++) {
            size_t label = (size_t)(equation->terms[term][i] - 'a');

            shape[i] = pick(0, 9) == 0 ? 1 : sizes[label];
            equation->sizes[label] = shape[i] == 1 ? equation->sizes[label] : shape[i];
        }
        elements = add_input(fixture, equation->ranks[term], shape, false);
        for (size_t i = 0; i < fixture->inputs[term].length; i++) {
            elements[i] = (float)pick(-3, 3);
        }
    }
}

static void check_equation(void)
{
    struct equation equation;
    struct fixture fixture;
    size_t n_result = 1;
    double *sums;

    pick_equation(&equation);
    begin(&fixture, "Einsum", 12);
    *(const char **)field(&fixture, "equation") = equation.text;
    add_inputs(&fixture, &equation);
    for (size_t i = 0; i < equation.n_result; i++) {
        n_result *= (size_t)equation.sizes[equation.result[i] - 'a'];
    }
    run(&fixture);
    cr_assert(fixture.output.length == n_result && fixture.output.rank == equation.n_result, "%s", equation.text);
    sums = sum_products(&fixture, &equation, n_result);
    for (size_t i = 0; i < n_result; i++) {
        cr_assert((double)((const float *)fixture.output.data)[i] == sums[i], "%s: element %zu is %g, not %g", equation.text, i,
                  (double)((const float *)fixture.output.data)[i], sums[i]);
    }
    free(sums);
    end(&fixture);
}

Test(einsum, random_equations)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_equation();
    }
}
