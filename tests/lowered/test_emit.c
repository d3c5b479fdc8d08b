/* test_emit.c - machine code for lowered regions: random programs give what the plain form gives, bit for bit. */
#include "mdf_c/machine/emit.h"

#include "mdf_c/base/processor.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { LARGEST_POOL = 512, LARGEST_N_RESULTS = 24 };

static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, MDF_DTYPE_INT64, MDF_DTYPE_BOOL};

/* A program that is being made, and what it has made so far. */
struct generator {
    struct build build;
    uint64_t random;
    size_t length;                  /* of its arrays */
    mdf_dtype types[COUNT(dtypes)]; /* of its values */
    mdf_lowered_id pool[LARGEST_POOL];
    size_t n_pool;
    size_t budget; /* ops that may still be made */
    bool only_scalars;
    bool only_common; /* ops that are done on several elements at a time */
};

static uint64_t draw(struct generator *generator, uint64_t n)
{
    generator->random ^= generator->random << 13;
    generator->random ^= generator->random >> 7;
    generator->random ^= generator->random << 17;
    return (generator->random * UINT64_C(0x2545F4914F6CDD1D) >> 20) % n;
}

/* ------------------------------------------------------------------ values */

static void draw_element(struct generator *generator, mdf_dtype dtype, void *element)
{
    static const double reals[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   2.5,
                                   1e-310,
                                   1e300,
                                   -1e300,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   1e10,
                                   -2147483649.0,
                                   9223372036854775807.0,
                                   -9223372036854775808.0};
    static const int64_t wholes[] = {0,  1,         -1,        2,         -2,        3,          7,  -7,
                                     10, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000000007, 63, 64};
    bool is_extreme = draw(generator, 4) == 0;
    double real = is_extreme ? reals[draw(generator, COUNT(reals))] : ((double)draw(generator, 2001) - 1000) / 64;
    int64_t whole = is_extreme ? wholes[draw(generator, COUNT(wholes))] : (int64_t)draw(generator, 201) - 100;
    float single = (float)real;
    uint8_t truth = whole & 1;

    if (dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64) {
        memcpy(element, dtype == MDF_DTYPE_FLOAT32 ? (const void *)&single : (const void *)&real, mdf_dtype_size(dtype));
    } else if (dtype == MDF_DTYPE_BOOL) {
        memcpy(element, &truth, sizeof truth);
    } else {
        mdf_convert_elements(dtype, element, MDF_DTYPE_INT64, &whole, 1, false);
    }
}

static void fill(struct generator *generator, mdf_dtype dtype, void *elements, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        draw_element(generator, dtype, (char *)elements + i * mdf_dtype_size(dtype));
    }
}

static const struct mdf_value *form_of(const struct generator *generator, mdf_lowered_id id)
{
    return &generator->build.lowered->values[id].form;
}

static bool is_scalar(const struct generator *generator, mdf_lowered_id id)
{
    return generator->build.lowered->values[id].is_scalar;
}

static mdf_lowered_id keep(struct generator *generator, mdf_lowered_id id)
{
    if (generator->n_pool < LARGEST_POOL) {
        generator->pool[generator->n_pool++] = id;
    }
    return id;
}

/* A constant or an input of a shape. */
static mdf_lowered_id make_value(struct generator *generator, mdf_dtype dtype, size_t rank, const int64_t *shape, bool is_input)
{
    static double elements[8 * 1000];
    size_t n;

    cr_assert(mdf_shape_n_elements(rank, shape, &n) && n <= COUNT(elements));
    fill(generator, dtype, elements, n);
    return is_input ? build_input(&generator->build, build_array(&generator->build, dtype, rank, shape, elements))
                    : build_constant(&generator->build, dtype, rank, shape, elements);
}

static mdf_lowered_id pick(struct generator *generator, mdf_dtype dtype, bool scalar)
{
    int64_t length = (int64_t)generator->length;
    size_t tries;

    for (tries = 0; tries < 24 && generator->n_pool > 0; tries++) {
        size_t from_end = draw(generator, draw(generator, 2) == 0 ? generator->n_pool : 1 + generator->n_pool / 8);
        mdf_lowered_id id = generator->pool[generator->n_pool - 1 - from_end];

        if (form_of(generator, id)->dtype == dtype && is_scalar(generator, id) == scalar) {
            return id;
        }
    }
    return make_value(generator, dtype, scalar ? 0 : 1, &length, false);
}

/* ------------------------------------------------------------------ ops */

static bool fits(enum mdf_lowered_code code, mdf_dtype dtype, bool scalar)
{
    bool real = dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64, truth = dtype == MDF_DTYPE_BOOL;

    if (code <= MDF_LOWERED_ABSOLUTE) {
        return !truth;
    }
    if (code <= MDF_LOWERED_CEILING) {
        return real;
    }
    if (code <= MDF_LOWERED_FLOOR_REMAINDER) {
        return !real && !truth;
    }
    if (code <= MDF_LOWERED_NEGATE_EXACT) {
        return dtype == MDF_DTYPE_INT64 && scalar;
    }
    if (code == MDF_LOWERED_EQUAL || code == MDF_LOWERED_NOT_EQUAL) {
        return true;
    }
    return code <= MDF_LOWERED_GREATER_EQUAL ? !truth
           : code <= MDF_LOWERED_NOT         ? !real
           : code <= MDF_LOWERED_SHIFT_RIGHT ? !real && !truth
                                             : code == MDF_LOWERED_SELECT;
}

/* Mostly one with which nothing leaves. */
static mdf_lowered_id pick_divisor(struct generator *generator, mdf_dtype dtype, bool scalar)
{
    static const int64_t wholes[] = {2, 3, 7, -3, 8, 1, 10, 1000000007, -16, 641, INT32_MAX, 5, 6, -1, 1 << 30};
    static const double reals[] = {2, -0.1, 3, 1e10, INFINITY};
    int64_t whole = wholes[draw(generator, COUNT(wholes))], element = 0;
    double real = reals[draw(generator, COUNT(reals))];
    float single = (float)real;

    if (draw(generator, 20) == 0) {
        return pick(generator, dtype, scalar);
    }
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        return build_constant(&generator->build, dtype, 0, NULL, &single);
    case MDF_DTYPE_FLOAT64:
        return build_constant(&generator->build, dtype, 0, NULL, &real);
    default:
        mdf_convert_elements(dtype, &element, MDF_DTYPE_INT64, &whole, 1, false);
        return build_constant(&generator->build, dtype, 0, NULL, &element);
    }
}

/* By how many bits: mostly as many as there are. */
static mdf_lowered_id pick_count(struct generator *generator, mdf_dtype dtype, bool scalar)
{
    int64_t whole = (int64_t)draw(generator, draw(generator, 4) == 0 ? 300 : 8 * mdf_dtype_size(dtype) + 1), element = 0;

    if (draw(generator, 4) == 0) {
        return pick(generator, dtype, scalar);
    }
    mdf_convert_elements(dtype, &element, MDF_DTYPE_INT64, &whole, 1, false);
    return draw(generator, 2) == 0 || generator->build.n_slots > 30
               ? build_constant(&generator->build, dtype, 0, NULL, &element)
               : build_input(&generator->build, build_array(&generator->build, dtype, 0, NULL, &element));
}

static bool is_shift(enum mdf_lowered_code code)
{
    return code == MDF_LOWERED_SHIFT_LEFT || code == MDF_LOWERED_SHIFT_RIGHT || code == MDF_LOWERED_SHIFT_LEFT_EXACT ||
           code == MDF_LOWERED_SHIFT_RIGHT_EXACT;
}

static bool is_division(enum mdf_lowered_code code)
{
    return code == MDF_LOWERED_DIVIDE_NONZERO || (code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_FLOOR_REMAINDER);
}

/* A random op whose result has the type given, or any where that is NONE. */
static mdf_lowered_id make_element(struct generator *generator, struct mdf_lowered_region *region, mdf_dtype wanted, bool scalar)
{
    mdf_lowered_id in[3];
    enum mdf_lowered_code code;
    mdf_dtype dtype;
    size_t i;

    do {
        code = (enum mdf_lowered_code)draw(generator, MDF_LOWERED_CAST);
        dtype = generator->types[draw(generator, COUNT(dtypes))];
    } while (!fits(code, dtype, scalar) || (wanted != MDF_DTYPE_NONE && build_result_type(code, dtype) != wanted) ||
             (generator->only_common && code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_FLOOR_REMAINDER) ||
             (code >= MDF_LOWERED_ADD_EXACT && code <= MDF_LOWERED_NEGATE_EXACT && draw(generator, 4) != 0));
    for (i = 0; i < build_n_operands(code); i++) {
        bool takes_scalar = scalar || draw(generator, 4) == 0;

        in[i] = code == MDF_LOWERED_SELECT && i == 0 ? pick(generator, MDF_DTYPE_BOOL, takes_scalar)
                : is_division(code) && i == 1        ? pick_divisor(generator, dtype, takes_scalar)
                : is_shift(code) && i == 1           ? pick_count(generator, dtype, takes_scalar)
                                                     : pick(generator, dtype, takes_scalar);
    }
    return build_element(&generator->build, region, code, dtype, in);
}

/* Both parts of a number without sign, joined: mostly it is rotated, by other numbers of bits now and then not. */
static mdf_lowered_id make_rotation(struct generator *generator, struct mdf_lowered_region *region, bool scalar)
{
    static const enum mdf_lowered_code joins[] = {MDF_LOWERED_OR, MDF_LOWERED_EXCLUSIVE_OR, MDF_LOWERED_ADD};
    mdf_dtype dtype = draw(generator, 2) == 0 ? MDF_DTYPE_UINT32 : MDF_DTYPE_UINT64;
    int64_t width = dtype == MDF_DTYPE_UINT32 ? 32 : 64, left = (int64_t)draw(generator, (uint64_t)width + 1),
            right = width - left + (draw(generator, 8) == 0);
    mdf_lowered_id number = pick(generator, dtype, scalar), parts[2], in[2] = {number};

    in[1] = build_constant(&generator->build, dtype, 0, NULL, &left);
    parts[0] = build_element(&generator->build, region, MDF_LOWERED_SHIFT_LEFT, dtype, in);
    in[1] = build_constant(&generator->build, dtype, 0, NULL, &right);
    in[0] = draw(generator, 8) == 0 ? pick(generator, dtype, scalar) : number;
    parts[1] = build_element(&generator->build, region, MDF_LOWERED_SHIFT_RIGHT, dtype, in);
    if (draw(generator, 8) == 0) {
        keep(generator, parts[draw(generator, 2)]);
    }
    if (draw(generator, 2) == 0) {
        mdf_lowered_id first = parts[0];

        parts[0] = parts[1];
        parts[1] = first;
    }
    return build_element(&generator->build, region, joins[draw(generator, 3)], dtype, parts);
}

static bool has_naturals(const struct generator *generator)
{
    size_t i;

    for (i = 0; i < COUNT(dtypes) && generator->types[i] != MDF_DTYPE_UINT32 && generator->types[i] != MDF_DTYPE_UINT64; i++) {
    }
    return i < COUNT(dtypes);
}

static bool is_real(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64;
}

static mdf_lowered_id make_cast(struct generator *generator, struct mdf_lowered_region *region, bool scalar)
{
    mdf_dtype from = generator->types[draw(generator, COUNT(dtypes))], to = generator->types[draw(generator, COUNT(dtypes))];

    bool is_cut = to == MDF_DTYPE_INT32 || to == MDF_DTYPE_INT64 || to == MDF_DTYPE_UINT64;

    if (is_real(from) && !is_real(to) && to != MDF_DTYPE_BOOL && (generator->only_common || !is_cut || draw(generator, 8) != 0)) {
        to = MDF_DTYPE_FLOAT64; /* the others leave often, and only some are there */
    }
    if (generator->only_common && mdf_dtype_size(from) == 8 && !is_real(from) && is_real(to)) {
        to = MDF_DTYPE_INT32;
    }
    return build_cast(&generator->build, region, to, pick(generator, from, scalar));
}

static bool twice_plus_one(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const double *in = operands[0];
    double *out = target;
    size_t i;

    (void)settings;
    for (i = 0; i < n; i++) {
        out[i] = 2 * in[i * steps[0]] + 1;
    }
    return true;
}

static double wave(double x)
{
    return isfinite(x) ? sin(x) : 0.25;
}

static double lean(double a, double b)
{
    return isfinite(a) && isfinite(b) ? a * 0.25 - b * 0.125 : 3;
}

static mdf_lowered_id make_function(struct generator *generator, struct mdf_lowered_region *region)
{
    mdf_lowered_id a = pick(generator, MDF_DTYPE_FLOAT64, true), b = pick(generator, MDF_DTYPE_FLOAT64, true);

    switch (draw(generator, 3)) {
    case 0:
        return build_function(&generator->build, region, wave, a);
    case 1:
        return build_function_of_two(&generator->build, region, lean, a, b);
    default:
        return build_elements(&generator->build, region, twice_plus_one, NULL, MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64, 1, &a);
    }
}

/* Outputs: the first input plus one, and the second one's elements. */
static bool kernel(struct mdf_call *call)
{
    double *sum = mdf_call_output(call, 0, MDF_DTYPE_FLOAT64, 0, NULL);

    if (sum == NULL) {
        return false;
    }
    *sum = *(const double *)call->inputs[0]->data + 1;
    return mdf_call_output_copy(call, 1, call->inputs[1]);
}

static void make_call(struct generator *generator, struct mdf_lowered_region *region)
{
    int64_t length = (int64_t)generator->length;
    mdf_lowered_id in[2] = {pick(generator, MDF_DTYPE_FLOAT64, true),
                            pick(generator, MDF_DTYPE_FLOAT32, generator->only_scalars)};
    mdf_lowered_id out[2] = {build_result(&generator->build, MDF_DTYPE_FLOAT64, 0, NULL),
                             build_result(&generator->build, MDF_DTYPE_FLOAT32, generator->only_scalars ? 0 : 1, &length)};

    build_call(&generator->build, region, kernel, NULL, 2, in, 2, out);
    keep(generator, out[0]);
    keep(generator, out[1]);
}

static mdf_lowered_id make_group(struct generator *generator, struct mdf_lowered_region *region, mdf_dtype wanted)
{
    struct build_group *group = build_group(&generator->build, region, generator->length);
    size_t n = 1 + draw(generator, draw(generator, 8) == 0 ? 40 : 6), i;
    mdf_lowered_id result;

    generator->only_common = draw(generator, 4) != 0;

    for (i = 0; i < n; i++) {
        if (has_naturals(generator) && draw(generator, 6) == 0) {
            keep(generator, make_rotation(generator, &group->body, false));
        } else if (draw(generator, 5) == 0) {
            keep(generator, make_cast(generator, &group->body, false));
        } else if (!generator->only_common && draw(generator, 4) == 0) {
            mdf_lowered_id in = pick(generator, MDF_DTYPE_FLOAT64, false);

            keep(generator, build_elements(&generator->build, &group->body, twice_plus_one, NULL, MDF_DTYPE_FLOAT64,
                                           MDF_DTYPE_FLOAT64, 1, &in));
        } else {
            keep(generator, make_element(generator, &group->body, MDF_DTYPE_NONE, false));
        }
    }
    result = keep(generator, make_element(generator, &group->body, wanted, false));
    generator->only_common = false;
    return result;
}

/* ------------------------------------------------------------------ structured ops */

static void make_region(struct generator *generator, struct mdf_lowered_region *region, size_t depth);

static void make_if(struct generator *generator, struct mdf_lowered_region *region, size_t depth)
{
    struct mdf_lowered_if *branches = build_if(&generator->build, region, pick(generator, MDF_DTYPE_BOOL, true));
    size_t n_merges = draw(generator, 4), mark = generator->n_pool, i;
    mdf_lowered_id then[4], otherwise[4];
    mdf_dtype types[4];
    bool scalars[4];

    make_region(generator, &branches->then, depth + 1);
    for (i = 0; i < n_merges; i++) {
        types[i] = generator->types[draw(generator, COUNT(dtypes))];
        scalars[i] = generator->only_scalars || draw(generator, 4) != 0;
        then[i] = pick(generator, types[i], scalars[i]);
    }
    generator->n_pool = mark;
    make_region(generator, &branches->otherwise, depth + 1);
    for (i = 0; i < n_merges; i++) {
        otherwise[i] = pick(generator, types[i], scalars[i]);
    }
    generator->n_pool = mark;
    for (i = 0; i < n_merges; i++) {
        keep(generator, build_merge(&generator->build, branches, then[i], otherwise[i]));
    }
}

/* How often the loop runs; *n_rows: items that rows have, SIZE_MAX: no rows. */
static struct mdf_lowered_loop *begin_loop(struct generator *generator, struct mdf_lowered_region *region, size_t *n_rows)
{
    size_t n_runs = draw(generator, 6), kind = draw(generator, 5);
    struct mdf_lowered_loop *loop = build_loop(&generator->build, region, kind < 2 ? n_runs : SIZE_MAX);

    *n_rows = kind < 2 || kind == 3 ? n_runs : SIZE_MAX;
    if (kind == 2) {
        loop->trip_count = build_whole(&generator->build, draw(generator, 8) == 0 ? -5 : (int64_t)n_runs);
        loop->limit = draw(generator, 3) == 0 ? 2 + draw(generator, 8) : 0;
    } else if (kind == 3) {
        mdf_lowered_id count = build_whole(&generator->build, (int64_t)n_runs);

        loop->trip_count = build_copy(&generator->build, region, count);
        /* The loop stands behind the copy. */
        struct mdf_lowered_op op = region->ops[region->n_ops - 1];
        region->ops[region->n_ops - 1] = region->ops[region->n_ops - 2];
        region->ops[region->n_ops - 2] = op;
        loop->limit = draw(generator, 4) == 0 ? 3 : 0;
    } else if (kind == 4) {
        loop->limit = 12; /* ended by its condition, or left */
    }
    return loop;
}

static void make_rows(struct generator *generator, struct mdf_lowered_loop *loop, size_t n_rows)
{
    int64_t shape[2] = {(int64_t)n_rows, (int64_t)generator->length};
    mdf_dtype dtype = generator->types[draw(generator, COUNT(dtypes))];
    size_t rank = generator->only_scalars || generator->length * n_rows == 0 ? 1 : 1 + draw(generator, 2);
    mdf_lowered_id source = make_value(generator, dtype, rank, shape, draw(generator, 2) == 0 && generator->build.n_slots < 32);

    keep(generator, build_rows(&generator->build, loop, source, draw(generator, 3) == 0));
}

static void make_next(struct generator *generator, struct mdf_lowered_loop *loop, mdf_lowered_id parameter)
{
    mdf_dtype dtype = (mdf_dtype)form_of(generator, parameter)->dtype;
    bool scalar = is_scalar(generator, parameter);
    mdf_lowered_id next;

    if (draw(generator, 4) == 0) {
        next = build_copy(&generator->build, &loop->body, pick(generator, dtype, scalar));
    } else if (scalar) {
        next = make_element(generator, &loop->body, dtype, true);
    } else {
        next = make_group(generator, &loop->body, dtype);
    }
    build_next(&generator->build, loop, parameter, next);
}

static void make_stacks(struct generator *generator, struct mdf_lowered_loop *loop, mdf_lowered_id *kept, size_t *n_kept)
{
    bool is_known = (loop->n_runs != SIZE_MAX || loop->n_padded > 0) && loop->condition == MDF_LOWERED_NONE;
    bool may_reverse = loop->n_padded == 0 && is_known;
    size_t n = draw(generator, 3), i;

    for (i = 0; i < n; i++) {
        bool scalar = generator->only_scalars || draw(generator, 2) == 0,
             is_group = !scalar && is_known && draw(generator, 2) == 0;
        mdf_dtype dtype = generator->types[draw(generator, COUNT(dtypes))];
        mdf_lowered_id item = is_group ? make_group(generator, &loop->body, dtype) : pick(generator, dtype, scalar);

        kept[(*n_kept)++] = build_stack(&generator->build, loop, item, may_reverse && draw(generator, 3) == 0);
    }
}

static void make_loop(struct generator *generator, struct mdf_lowered_region *region, size_t depth, mdf_lowered_id *stacks,
                      size_t *n_stacks)
{
    mdf_lowered_id condition = pick(generator, MDF_DTYPE_BOOL, true), initial[4], parameters[4];
    size_t n_states = draw(generator, 4), mark = generator->n_pool, i, n_rows, kept;
    struct mdf_lowered_loop *loop;

    for (i = 0; i < n_states; i++) {
        initial[i] =
            pick(generator, generator->types[draw(generator, COUNT(dtypes))], generator->only_scalars || draw(generator, 3) != 0);
    }
    loop = begin_loop(generator, region, &n_rows);
    for (i = 0; i < n_states; i++) {
        parameters[i] = keep(generator, build_state(&generator->build, loop, initial[i]));
    }
    if (draw(generator, 2) == 0) {
        keep(generator, build_number(&generator->build, loop));
    }
    if (draw(generator, 3) == 0) {
        keep(generator, build_going_on(&generator->build, loop));
    }
    for (i = draw(generator, 3); i > 0 && n_rows != SIZE_MAX; i--) {
        make_rows(generator, loop, n_rows);
    }
    make_region(generator, &loop->body, depth + 1);
    if ((loop->n_runs == SIZE_MAX && draw(generator, 2) == 0) || loop->limit == 12) {
        build_condition(&generator->build, loop, draw(generator, 4) == 0 ? condition : build_bool(&generator->build, true),
                        pick(generator, MDF_DTYPE_BOOL, true));
    } else if (loop->trip_count != MDF_LOWERED_NONE && loop->limit == 0 && draw(generator, 2) == 0) {
        loop->n_padded = 2 + draw(generator, 6);
    }
    for (i = 0; i < n_states; i++) {
        make_next(generator, loop, parameters[i]);
    }
    kept = *n_stacks;
    if (kept < 8) {
        make_stacks(generator, loop, stacks, n_stacks);
    }
    generator->n_pool = mark;
    for (i = 0; i < n_states; i++) {
        keep(generator, parameters[i]);
    }
}

static mdf_lowered_id all_stacks[16];
static size_t n_all_stacks;

static void make_op(struct generator *generator, struct mdf_lowered_region *region, size_t depth)
{
    size_t kind = draw(generator, 100);
    size_t n_stacks = 0;
    mdf_lowered_id stacks[16];

    if (kind < 8 && depth < 3) {
        make_if(generator, region, depth);
    } else if (kind < 16 && depth < 3) {
        make_loop(generator, region, depth, depth == 0 ? all_stacks : stacks, depth == 0 ? &n_all_stacks : &n_stacks);
    } else if (kind < 30 && !generator->only_scalars) {
        make_group(generator, region, generator->types[draw(generator, COUNT(dtypes))]);
    } else if (kind < 33) {
        make_call(generator, region);
    } else if (kind < 38) {
        keep(generator, make_function(generator, region));
    } else if (kind < 48) {
        keep(generator, make_cast(generator, region, true));
    } else if (kind < 50) {
        keep(generator, build_copy(&generator->build, region,
                                   pick(generator, generator->types[draw(generator, COUNT(dtypes))],
                                        generator->only_scalars || draw(generator, 2) == 0)));
    } else if (kind < 56 && has_naturals(generator)) {
        keep(generator, make_rotation(generator, region, true));
    } else {
        keep(generator, make_element(generator, region, MDF_DTYPE_NONE, true));
    }
}

static void make_region(struct generator *generator, struct mdf_lowered_region *region, size_t depth)
{
    size_t n = draw(generator, depth == 0 ? 20 : 9), i;

    for (i = 0; i < n && generator->budget > 0; i++) {
        generator->budget--;
        make_op(generator, region, depth);
    }
}

static size_t make_program(struct generator *generator)
{
    struct build *build = &generator->build;
    int64_t length = (int64_t)generator->length;
    size_t i, n = 0, n_results;

    build_begin(build, NULL);
    generator->budget = 60;
    n_all_stacks = 0;
    for (i = 0; i < 12; i++) {
        keep(generator, make_value(generator, generator->types[i % COUNT(dtypes)], generator->only_scalars || i % 3 != 0 ? 0 : 1,
                                   &length, true));
    }
    make_region(generator, &build->lowered->region, 0);
    n_results = generator->n_pool < LARGEST_N_RESULTS ? generator->n_pool : LARGEST_N_RESULTS;
    for (i = 0; i < n_results && build->n_slots < BUILD_SLOTS / 2 - 2; i++) {
        build_output(build, build_slot(build), generator->pool[generator->n_pool - 1 - i]);
        n++;
    }
    for (i = 0; i < n_all_stacks && build->n_slots < BUILD_SLOTS / 2 - 2; i++) {
        build_output(build, build_slot(build), all_stacks[i]);
        n++;
    }
    build_finish(build);
    return n;
}

/* ------------------------------------------------------------------ comparison */

static bool check_seed(uint64_t seed, size_t length, bool only_scalars, bool has_wholes)
{
    static const mdf_dtype wholes[] = {MDF_DTYPE_INT8,  MDF_DTYPE_INT16,  MDF_DTYPE_INT32,  MDF_DTYPE_INT64,
                                       MDF_DTYPE_UINT8, MDF_DTYPE_UINT16, MDF_DTYPE_UINT32, MDF_DTYPE_UINT64};
    static struct generator generator;
    bool done;
    size_t i;

    memset(&generator, 0, sizeof generator);
    generator.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    generator.length = length;
    generator.only_scalars = only_scalars;
    memcpy(generator.types, dtypes, sizeof dtypes);
    if (has_wholes) {
        for (i = 1; i < 4; i++) {
            generator.types[i] = wholes[draw(&generator, COUNT(wholes))];
        }
        generator.types[0] = dtypes[draw(&generator, 2)];
    }
    make_program(&generator);
    done = build_check_code(&generator.build, seed);
    build_end(&generator.build);
    return done;
}

/* MDF_SEEDS=100000 MDF_FROM=7000000: other ones, and more. */
static size_t from_environment(const char *name, size_t usual)
{
    return getenv(name) != NULL ? strtoul(getenv(name), NULL, 10) : usual;
}

Test(emit, random_programs_of_scalars)
{
    size_t seed, n_done = 0, n = from_environment("MDF_SEEDS", 1000), first = from_environment("MDF_FROM", 1);

    for (seed = first; seed < first + n; seed++) {
        n_done += check_seed(seed, 0, true, false);
    }
    cr_assert_gt(n_done, n / 4, "only %zu did not bail out", n_done);
}

Test(emit, random_programs_of_whole_numbers)
{
    static const size_t lengths[] = {2, 5, 8, 23, 64, 100, 131};
    size_t seed, n_done = 0, n = from_environment("MDF_SEEDS", 1000), first = from_environment("MDF_FROM", 200001);

    for (seed = first; seed < first + n; seed++) {
        n_done += check_seed(seed, seed % 2 == 0 ? 0 : lengths[seed / 2 % COUNT(lengths)], seed % 2 == 0, true);
    }
    cr_assert_geq(n_done, n / 3, "only %zu did not bail out", n_done);
}

Test(emit, random_programs_of_arrays)
{
    static const size_t lengths[] = {0, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100, 513, 1000};
    size_t seed, n_done = 0, n = from_environment("MDF_SEEDS", 500), first = from_environment("MDF_FROM", 100001);

    for (seed = first; seed < first + n; seed++) {
        n_done += check_seed(seed, lengths[seed % COUNT(lengths)], false, false);
    }
    cr_assert_gt(n_done, n / 8, "only %zu did not bail out", n_done);
}

/* ------------------------------------------------------------------ refused memory */

static size_t n_left;

static void *allocate_some(void *context, size_t size)
{
    (void)context;
    return n_left > 0 && n_left-- > 0 ? malloc(size) : NULL;
}

static void *reallocate_some(void *context, void *block, size_t size)
{
    (void)context;
    return n_left > 0 && n_left-- > 0 ? realloc(block, size) : NULL;
}

static void release_all(void *context, void *block)
{
    (void)context;
    free(block);
}

/* Whichever allocation is the first that fails: there is no code then, and nothing leaks. */
Test(emit, refused_memory)
{
    static const mdf_allocator allocator = {allocate_some, reallocate_some, release_all, NULL};
    static struct generator generator;
    struct mdf_memory memory;
    struct mdf_arena own;
    size_t n;

    generator.random = 12345;
    generator.length = 9;
    make_program(&generator);
    own = generator.build.lowered->arena;
    mdf_memory_init(&memory, &allocator, 0);
    for (n = 0; n < 2000 && generator.build.lowered->code == NULL; n++) {
        n_left = n;
        mdf_arena_init(&generator.build.lowered->arena, &memory); /* it has what the code works in */
        mdf_lowered_emit(generator.build.lowered);
        mdf_arena_release(&generator.build.lowered->arena);
        cr_assert_eq(atomic_load(&memory.used_bytes), (size_t)0, "%zu allocations: something leaks", n);
    }
    if (mdf_has_avx2()) {
        cr_assert(n > 5 && n < 2000, "code with %zu allocations", n);
    }
    generator.build.lowered->arena = own;
    build_end(&generator.build);
}
