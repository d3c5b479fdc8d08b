/* test_element_oracles.c - operators of single elements, and those that move elements, against their definitions: operands of all
 * shapes that broadcast, rank 0 to 5, arrays without elements, infinities, NaN and the ends of integer types; axes in any order,
 * from the end to the front, by steps. */
#include "functions/elements/element_helpers.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 5, N_CASES = 150 };

/* ------------------------------------------------------------------ operands that broadcast */

/* Shapes of some operands that broadcast to `result`; its rank. */
static size_t pick_shapes(size_t n_operands, int64_t shapes[][MAX_RANK], size_t *ranks, int64_t *result)
{
    size_t rank = (size_t)kernel_pick(0, MAX_RANK), least = rank;
    bool all_one[MAX_RANK];

    for (size_t i = 0; i < rank; i++) {
        result[i] = kernel_pick(0, 25) == 0 ? 0 : kernel_pick(0, 9) == 0 ? kernel_pick(17, 40) : kernel_pick(1, 4);
        all_one[i] = true;
    }
    for (size_t k = 0; k < n_operands; k++) {
        ranks[k] = k + 1 == n_operands && least < rank ? rank : (size_t)kernel_pick(0, (int64_t)rank);
        least = k == 0 ? ranks[0] : ranks[k] > least ? ranks[k] : least;
        for (size_t i = 0; i < ranks[k]; i++) {
            size_t axis = rank - ranks[k] + i;

            shapes[k][i] = kernel_pick(0, 2) == 0 ? 1 : result[axis];
            all_one[axis] = all_one[axis] && shapes[k][i] == 1;
        }
    }
    for (size_t i = 0; i < rank; i++) { /* what no operand has */
        result[i] = all_one[i] ? 1 : result[i];
    }
    return least < rank ? least : rank;
}

/* The element of an operand that stands at an index of the result. */
static size_t broadcast_place(const struct mdf_value *operand, size_t rank, const int64_t *index)
{
    const int64_t *shape = mdf_value_shape(operand);
    size_t place = 0;

    for (size_t i = 0; i < operand->rank; i++) {
        place = place * (size_t)shape[i] + (shape[i] == 1 ? 0 : (size_t)index[rank - operand->rank + i]);
    }
    return place;
}

/* One function of two numbers, of reals and of integers as they wrap; NULL: not of those. */
struct binary {
    const char *name;
    int version;
    double (*real)(double x, double y);
    int64_t (*whole)(int64_t x, int64_t y);
};

static double add_reals(double x, double y)
{
    return x + y;
}

static int64_t add_wholes(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static double subtract_reals(double x, double y)
{
    return x - y;
}

static int64_t subtract_wholes(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static double multiply_reals(double x, double y)
{
    return x * y;
}

static int64_t multiply_wholes(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static double divide_reals(double x, double y)
{
    return x / y;
}

/* Toward 0; the least number by -1 wraps. */
static int64_t divide_wholes(int64_t x, int64_t y)
{
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static double larger_real(double x, double y)
{
    return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
}

static int64_t larger_whole(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static double lesser_real(double x, double y)
{
    return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
}

static int64_t lesser_whole(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static double equal_reals(double x, double y)
{
    return x == y;
}

static int64_t equal_wholes(int64_t x, int64_t y)
{
    return x == y;
}

static double is_less_real(double x, double y)
{
    return x < y;
}

static int64_t is_less_whole(int64_t x, int64_t y)
{
    return x < y;
}

static double is_at_least_real(double x, double y)
{
    return x >= y;
}

static int64_t is_at_least_whole(int64_t x, int64_t y)
{
    return x >= y;
}

/* The sign is that of the divisor. */
static int64_t remainder_of(int64_t x, int64_t y)
{
    int64_t rest = y == -1 ? 0 : x % y;

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static int64_t and_bits(int64_t x, int64_t y)
{
    return x & y;
}

static int64_t exclusive_or_bits(int64_t x, int64_t y)
{
    return x ^ y;
}

static double bent(double x, double slope)
{
    return x < 0 ? x * slope : x;
}

static const struct binary binaries[] = {{"Add", 14, add_reals, add_wholes},
                                         {"Sub", 14, subtract_reals, subtract_wholes},
                                         {"Mul", 14, multiply_reals, multiply_wholes},
                                         {"Div", 14, divide_reals, divide_wholes},
                                         {"Max", 13, larger_real, larger_whole},
                                         {"Min", 13, lesser_real, lesser_whole},
                                         {"Equal", 13, equal_reals, equal_wholes},
                                         {"Less", 13, is_less_real, is_less_whole},
                                         {"GreaterOrEqual", 16, is_at_least_real, is_at_least_whole},
                                         {"Mod", 13, NULL, remainder_of},
                                         {"BitwiseAnd", 18, NULL, and_bits},
                                         {"BitwiseXor", 18, NULL, exclusive_or_bits},
                                         {"PRelu", 16, bent, NULL}};

/* An integer result in the type's bits. */
static int64_t wrapped(mdf_dtype dtype, int64_t number)
{
    int64_t result = 0;

    mdf_convert_elements(dtype, &result, MDF_DTYPE_INT64, &number, 1, false);
    return mdf_element_to_int64(dtype, &result);
}

static double in_type(mdf_dtype dtype, double number)
{
    return dtype == MDF_DTYPE_FLOAT32 ? (double)(float)number : number;
}

static void without_zeros(struct mdf_value *array)
{
    const int64_t one = 1;

    for (size_t i = 0; i < array->length; i++) {
        if (kernel_number(array, i) == 0) {
            mdf_convert_elements((mdf_dtype)array->dtype, (char *)array->data + i * mdf_dtype_size((mdf_dtype)array->dtype),
                                 MDF_DTYPE_INT64, &one, 1, false);
        }
    }
}

static void check_binary(const struct binary *binary, mdf_dtype dtype)
{
    bool is_real = mdf_dtype_kind(dtype) == 'f';
    int64_t shapes[2][MAX_RANK], result[MAX_RANK], index[MAX_RANK];
    struct mdf_value *operands[2];
    struct kernel_call call;
    size_t ranks[2], rank;

    do {
        rank = pick_shapes(2, shapes, ranks, result);
    } while (ranks[0] < rank && ranks[1] < rank);
    kernel_begin(&call, binary->name, binary->version);
    for (size_t i = 0; i < 2; i++) {
        operands[i] = kernel_add(&call, dtype, ranks[i], shapes[i], NUMBERS_WILD, false);
    }
    if (!is_real && (strcmp(binary->name, "Div") == 0 || strcmp(binary->name, "Mod") == 0)) {
        without_zeros(operands[1]);
    }
    mdf_broadcast_shape(ranks[0], shapes[0], ranks[1], shapes[1], result);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        size_t x, y;

        kernel_index(rank, result, i, index);
        x = broadcast_place(operands[0], rank, index);
        y = broadcast_place(operands[1], rank, index);
        if (is_real) {
            kernel_check(&call, 0, i, in_type(dtype, binary->real(kernel_number(operands[0], x), kernel_number(operands[1], y))),
                         0);
        } else {
            int64_t whole = binary->whole(kernel_whole(operands[0], x), kernel_whole(operands[1], y));

            cr_assert_eq(kernel_whole(&call.outputs[0], i), wrapped((mdf_dtype)call.outputs[0].dtype, whole), "%s of %s",
                         binary->name, mdf_dtype_name(dtype));
        }
    }
    kernel_end(&call);
}

Test(element_oracles, two_operands)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT8,   MDF_DTYPE_UINT8,
                                       MDF_DTYPE_INT16,   MDF_DTYPE_INT32,   MDF_DTYPE_UINT32, MDF_DTYPE_INT64};

    for (size_t i = 0; i < N_CASES; i++) {
        for (size_t k = 0; k < sizeof binaries / sizeof *binaries; k++) {
            mdf_dtype dtype = dtypes[i % (sizeof dtypes / sizeof *dtypes)];

            if (mdf_dtype_kind(dtype) == 'f' ? binaries[k].real != NULL : binaries[k].whole != NULL) {
                check_binary(&binaries[k], dtype);
            }
        }
    }
}

/* Three operands and more, folded from the left; of one shape these go through all elements once. */
static void check_folded(const struct binary *binary, mdf_dtype dtype)
{
    const struct mdf_value *operands[5];
    size_t n_operands = (size_t)kernel_pick(3, 5), rank = kernel_pick(0, 9) == 0 ? 0 : 1;
    int64_t n = kernel_pick(0, 1) == 0 ? kernel_pick(0, 40) : kernel_pick(1000, 9000), one = 1;
    bool is_real = mdf_dtype_kind(dtype) == 'f', has_one = kernel_pick(0, 3) == 0;
    struct kernel_call call;

    kernel_begin(&call, binary->name, 13);
    for (size_t i = 0; i < n_operands; i++) {
        operands[i] = kernel_add(&call, dtype, rank, has_one && i == 1 ? &one : &n, NUMBERS_WILD, false);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, &n);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        double real = is_real ? kernel_number(operands[0], i) : 0;
        int64_t whole = is_real ? 0 : kernel_whole(operands[0], i);

        for (size_t k = 1; k < n_operands; k++) {
            size_t at = operands[k]->length == 1 ? 0 : i;

            if (is_real) {
                real = in_type(dtype, binary->real(real, kernel_number(operands[k], at)));
            } else {
                whole = wrapped(dtype, binary->whole(whole, kernel_whole(operands[k], at)));
            }
        }
        if (is_real) {
            kernel_check(&call, 0, i, real, 0);
        } else {
            cr_assert_eq(kernel_whole(&call.outputs[0], i), whole, "%s of %s", binary->name, mdf_dtype_name(dtype));
        }
    }
    kernel_end(&call);
}

Test(element_oracles, several_operands)
{
    static const struct binary folds[] = {
        {"Max", 13, larger_real, larger_whole}, {"Min", 13, lesser_real, lesser_whole}, {"Sum", 13, add_reals, add_wholes}};
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT16, MDF_DTYPE_INT8, MDF_DTYPE_INT64};

    for (size_t i = 0; i < N_CASES; i++) {
        const struct binary *fold = &folds[i % (sizeof folds / sizeof *folds)];
        mdf_dtype dtype = dtypes[i / 3 % (sizeof dtypes / sizeof *dtypes)];

        check_folded(fold, i % 3 == 2 && dtype != MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT32 : dtype);
    }
}

static void check_where(mdf_dtype dtype)
{
    int64_t shapes[3][MAX_RANK], result[MAX_RANK], partly[MAX_RANK], index[MAX_RANK];
    const struct mdf_value *operands[3];
    size_t ranks[3], rank;
    struct kernel_call call;

    do {
        rank = pick_shapes(3, shapes, ranks, result);
    } while (ranks[0] < rank && ranks[1] < rank && ranks[2] < rank);
    kernel_begin(&call, "Where", 16);
    for (size_t i = 0; i < 3; i++) {
        operands[i] = kernel_add(&call, i == 0 ? MDF_DTYPE_BOOL : dtype, ranks[i], shapes[i], NUMBERS_WILD, false);
    }
    mdf_broadcast_shape(ranks[0], shapes[0], ranks[1], shapes[1], partly);
    mdf_broadcast_shape(ranks[0] > ranks[1] ? ranks[0] : ranks[1], partly, ranks[2], shapes[2], result);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        const struct mdf_value *from;

        kernel_index(rank, result, i, index);
        from = kernel_whole(operands[0], broadcast_place(operands[0], rank, index)) != 0 ? operands[1] : operands[2];
        kernel_check(&call, 0, i, kernel_number(from, broadcast_place(from, rank, index)), 0);
    }
    kernel_end(&call);
}

static void check_expand(mdf_dtype dtype)
{
    int64_t shapes[2][MAX_RANK], result[MAX_RANK], index[MAX_RANK];
    const struct mdf_value *x;
    size_t ranks[2], rank;
    struct kernel_call call;

    do {
        rank = pick_shapes(2, shapes, ranks, result);
    } while (ranks[0] < rank && ranks[1] < rank);
    kernel_begin(&call, "Expand", 13);
    x = kernel_add(&call, dtype, ranks[0], shapes[0], NUMBERS_WILD, false);
    kernel_add_integers(&call, shapes[1], ranks[1]);
    mdf_broadcast_shape(ranks[0], shapes[0], ranks[1], shapes[1], result);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(rank, result, i, index);
        kernel_check(&call, 0, i, kernel_number(x, broadcast_place(x, rank, index)), 0);
    }
    kernel_end(&call);
}

/* One type of each size of elements. */
static const mdf_dtype sizes[] = {MDF_DTYPE_UINT8, MDF_DTYPE_FLOAT16, MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, MDF_DTYPE_COMPLEX128};

enum { N_SIZES = sizeof sizes / sizeof *sizes };

Test(element_oracles, choices_and_repetition)
{
    for (size_t i = 0; i < N_CASES * N_SIZES; i++) {
        check_where(sizes[i % N_SIZES]);
        check_expand(sizes[i % N_SIZES]);
    }
}

/* ------------------------------------------------------------------ elements that move */

/* A call on one array, and where each element of its result comes from. */
struct move {
    struct kernel_call call;
    const struct mdf_value *x;
    int64_t shape[MAX_RANK], result[MAX_RANK];
    size_t rank;
};

static void begin_move(struct move *move, const char *name, int version, mdf_dtype dtype, size_t least_rank, bool may_be_empty)
{
    kernel_begin(&move->call, name, version);
    move->rank = (size_t)kernel_pick((int64_t)least_rank, MAX_RANK);
    for (size_t i = 0; i < move->rank; i++) {
        move->shape[i] = may_be_empty && kernel_pick(0, 25) == 0 ? 0
                         : kernel_pick(0, 9) == 0                ? kernel_pick(9, 40)
                                                                 : kernel_pick(1, 5);
    }
    memcpy(move->result, move->shape, sizeof move->shape);
    move->x = kernel_add(&move->call, dtype, move->rank, move->shape, NUMBERS_WILD, false);
}

/* Runs the call; element i of the result is that at `origin` of x. */
static void end_move(struct move *move, void (*origin)(const void *context, size_t rank, const int64_t *index, int64_t *from),
                     const void *context)
{
    int64_t index[MAX_RANK], from[MAX_RANK];

    kernel_run(&move->call);
    kernel_check_shape(&move->call, 0, move->rank, move->result);
    for (size_t i = 0; i < move->call.outputs[0].length; i++) {
        kernel_index(move->rank, move->result, i, index);
        origin(context, move->rank, index, from);
        kernel_check(&move->call, 0, i, kernel_number(move->x, kernel_place(move->rank, move->shape, from)), 0);
    }
    kernel_end(&move->call);
}

static void from_other_axes(const void *context, size_t rank, const int64_t *index, int64_t *from)
{
    const int64_t *order = context;

    for (size_t i = 0; i < rank; i++) {
        from[order[i]] = index[i];
    }
}

static void check_transpose(mdf_dtype dtype)
{
    int64_t order[MAX_RANK];
    struct move move;

    begin_move(&move, "Transpose", 21, dtype, 0, true);
    for (size_t i = 0; i < move.rank; i++) {
        size_t other = (size_t)kernel_pick(0, (int64_t)i);

        order[i] = order[other];
        order[other] = (int64_t)i;
    }
    for (size_t i = 0; i < move.rank; i++) {
        move.result[i] = move.shape[order[i]];
    }
    kernel_set_ints(&move.call, "perm", order, move.rank);
    end_move(&move, from_other_axes, order);
}

/* Of each axis, from where on and by which step. */
struct steps {
    int64_t first[MAX_RANK], step[MAX_RANK];
};

static void from_steps(const void *context, size_t rank, const int64_t *index, int64_t *from)
{
    const struct steps *steps = context;

    for (size_t i = 0; i < rank; i++) {
        from[i] = steps->first[i] + index[i] * steps->step[i];
    }
}

/* Ends and starts far outside, from the end, and backward. */
static void check_slice(mdf_dtype dtype)
{
    static const int64_t far[] = {INT64_MIN, -100, 100, INT64_MAX};
    int64_t starts[MAX_RANK], ends[MAX_RANK], axes[MAX_RANK], by[MAX_RANK];
    struct steps steps;
    struct move move;
    size_t n = 0;

    begin_move(&move, "Slice", 13, dtype, 1, true);
    for (size_t i = 0; i < move.rank; i++) {
        int64_t size = move.shape[i], low, high, start, end, step;

        steps.first[i] = 0;
        steps.step[i] = 1;
        if (kernel_pick(0, 2) == 0) {
            continue;
        }
        start = kernel_pick(0, 4) == 0 ? far[kernel_pick(0, 3)] : kernel_pick(-size - 1, size + 1);
        end = kernel_pick(0, 4) == 0 ? far[kernel_pick(0, 3)] : kernel_pick(-size - 1, size + 1);
        step = kernel_pick(0, 1) == 1 ? kernel_pick(1, 3) : -kernel_pick(1, 3);
        starts[n] = start;
        ends[n] = end;
        by[n] = step;
        axes[n++] = kernel_pick(0, 1) == 1 ? (int64_t)i : (int64_t)i - (int64_t)move.rank;
        low = step > 0 ? 0 : -1;
        high = step > 0 ? size : size - 1;
        start += start < 0 ? size : 0;
        end += end < 0 ? size : 0;
        start = start < 0 ? 0 : start; /* by the text, also backward */
        start = start > high ? high : start;
        end = end < low ? low : end > high ? high : end;
        steps.first[i] = start;
        steps.step[i] = step;
        move.result[i] = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
        move.result[i] = move.result[i] < 0 ? 0 : move.result[i];
    }
    kernel_add_integers(&move.call, starts, n);
    kernel_add_integers(&move.call, ends, n);
    kernel_add_integers(&move.call, axes, n);
    kernel_add_integers(&move.call, by, n);
    end_move(&move, from_steps, &steps);
}

static void from_repeated(const void *context, size_t rank, const int64_t *index, int64_t *from)
{
    const int64_t *shape = context;

    for (size_t i = 0; i < rank; i++) {
        from[i] = index[i] % shape[i];
    }
}

static void check_tile(mdf_dtype dtype)
{
    int64_t repeats[MAX_RANK];
    struct move move;

    begin_move(&move, "Tile", 13, dtype, 1, true);
    for (size_t i = 0; i < move.rank; i++) {
        repeats[i] = kernel_pick(0, 20) == 0 ? 0 : kernel_pick(1, 3);
        move.result[i] *= repeats[i];
    }
    kernel_add_integers(&move.call, repeats, move.rank);
    end_move(&move, from_repeated, move.shape);
}

enum padding { PAD_EDGE, PAD_REFLECT, PAD_WRAP };

struct pads {
    enum padding kind;
    int64_t before[MAX_RANK], shape[MAX_RANK];
};

static int64_t mirrored(int64_t place, int64_t size)
{
    int64_t turn = 2 * (size - 1);

    if (turn == 0) {
        return 0;
    }
    place = (place % turn + turn) % turn;
    return place < size ? place : turn - place;
}

static void from_padded(const void *context, size_t rank, const int64_t *index, int64_t *from)
{
    const struct pads *pads = context;

    for (size_t i = 0; i < rank; i++) {
        int64_t place = index[i] - pads->before[i], size = pads->shape[i];

        from[i] = pads->kind == PAD_EDGE   ? (place < 0       ? 0
                                              : place >= size ? size - 1
                                                              : place)
                  : pads->kind == PAD_WRAP ? (place % size + size) % size
                                           : mirrored(place, size);
    }
}

/* Negative pads cut off. */
static void check_pad(enum padding kind, mdf_dtype dtype)
{
    static const char *const modes[] = {"edge", "reflect", "wrap"};
    int64_t numbers[2 * MAX_RANK];
    struct pads pads = {.kind = kind};
    struct move move;

    begin_move(&move, "Pad", 21, dtype, 1, false);
    for (size_t i = 0; i < move.rank; i++) {
        int64_t most = kind == PAD_REFLECT ? move.shape[i] - 1 : move.shape[i] > 4 ? 4 : move.shape[i];

        pads.before[i] = numbers[i] = kernel_pick(0, 3) == 0 ? -kernel_pick(0, (move.shape[i] - 1) / 2) : kernel_pick(0, most);
        numbers[i + move.rank] = kernel_pick(0, 3) == 0 ? -kernel_pick(0, (move.shape[i] - 1) / 2) : kernel_pick(0, most);
        if (kind != PAD_EDGE && (numbers[i] < 0 || numbers[i + move.rank] < 0)) {
            pads.before[i] = numbers[i] = numbers[i + move.rank] = 0; /* what is cut off first would be repeated */
        }
        pads.shape[i] = move.shape[i];
        move.result[i] += numbers[i] + numbers[i + move.rank];
    }
    kernel_set_text(&move.call, "mode", modes[kind]);
    kernel_add_integers(&move.call, numbers, 2 * move.rank);
    end_move(&move, from_padded, &pads);
}

static void check_pad_constant(mdf_dtype dtype)
{
    int64_t numbers[2 * MAX_RANK], index[MAX_RANK];
    const struct mdf_value *filler;
    struct move move;

    begin_move(&move, "Pad", 21, dtype, 0, true);
    for (size_t i = 0; i < 2 * move.rank; i++) {
        numbers[i] = kernel_pick(-move.shape[i % move.rank] / 2, 3);
        move.result[i % move.rank] += numbers[i];
    }
    kernel_add_integers(&move.call, numbers, 2 * move.rank);
    filler = kernel_add(&move.call, dtype, 0, NULL, NUMBERS_WILD, true);
    kernel_run(&move.call);
    kernel_check_shape(&move.call, 0, move.rank, move.result);
    for (size_t i = 0; i < move.call.outputs[0].length; i++) {
        bool inside = true;

        kernel_index(move.rank, move.result, i, index);
        for (size_t axis = 0; axis < move.rank; axis++) {
            index[axis] -= numbers[axis];
            inside = inside && index[axis] >= 0 && index[axis] < move.shape[axis];
        }
        kernel_check(&move.call, 0, i,
                     inside ? kernel_number(move.x, kernel_place(move.rank, move.shape, index)) : kernel_number(filler, 0), 0);
    }
    kernel_end(&move.call);
}

/* Indices of any rank, from the front and from the end. */
static void check_gather(mdf_dtype dtype)
{
    int64_t shape[2] = {kernel_pick(0, 4), kernel_pick(1, 4)}, result[MAX_RANK + 2], index[MAX_RANK + 2], from[MAX_RANK];
    size_t rank = (size_t)kernel_pick(0, 2), axis;
    struct mdf_value *indices;
    struct move move;

    begin_move(&move, "Gather", 13, dtype, 1, false);
    axis = (size_t)kernel_pick(0, (int64_t)move.rank - 1);
    kernel_set_int(&move.call, "axis", (int64_t)axis - (kernel_pick(0, 1) == 1 ? (int64_t)move.rank : 0));
    indices = kernel_add(&move.call, MDF_DTYPE_INT64, rank, shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    for (size_t i = 0; i < indices->length; i++) {
        ((int64_t *)indices->data)[i] = kernel_pick(-move.shape[axis], move.shape[axis] - 1);
    }
    memcpy(result, move.shape, axis * sizeof *result);
    memcpy(result + axis, shape, rank * sizeof *result);
    memcpy(result + axis + rank, move.shape + axis + 1, (move.rank - axis - 1) * sizeof *result);
    kernel_run(&move.call);
    kernel_check_shape(&move.call, 0, move.rank + rank - 1, result);
    for (size_t i = 0; i < move.call.outputs[0].length; i++) {
        int64_t number;

        kernel_index(move.rank + rank - 1, result, i, index);
        number = ((const int64_t *)indices->data)[kernel_place(rank, shape, index + axis)];
        memcpy(from, index, axis * sizeof *from);
        from[axis] = number < 0 ? number + move.shape[axis] : number;
        memcpy(from + axis + 1, index + axis + rank, (move.rank - axis - 1) * sizeof *from);
        kernel_check(&move.call, 0, i, kernel_number(move.x, kernel_place(move.rank, move.shape, from)), 0);
    }
    kernel_end(&move.call);
}

/* More parts than are taken at once, the last of which are fewer. */
Test(element_oracles, gathers_of_many_parts)
{
    int64_t shape[] = {3001, 5, 2}, n = 3, index[3];
    struct kernel_call call;
    const struct mdf_value *x;
    struct mdf_value *indices;

    kernel_begin(&call, "Gather", 13);
    x = kernel_add(&call, MDF_DTYPE_FLOAT32, 3, shape, NUMBERS_WILD, false);
    indices = kernel_add(&call, MDF_DTYPE_INT64, 1, &n, NUMBERS_SHORT, false);
    memcpy(indices->data, (const int64_t[]){4, -5, 1}, sizeof(int64_t[3]));
    kernel_set_int(&call, "axis", 1);
    kernel_run(&call);
    shape[1] = n;
    kernel_check_shape(&call, 0, 3, shape);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(3, shape, i, index);
        index[1] = (const int64_t[]){4, 0, 1}[index[1]];
        kernel_check(&call, 0, i, kernel_number(x, kernel_place(3, (const int64_t[]){3001, 5, 2}, index)), 0);
    }
    kernel_end(&call);
}

static void check_concat(mdf_dtype dtype)
{
    const struct mdf_value *parts[3];
    int64_t index[MAX_RANK];
    struct move move;
    size_t n, axis;

    begin_move(&move, "Concat", 13, dtype, 1, true);
    axis = (size_t)kernel_pick(0, (int64_t)move.rank - 1);
    n = (size_t)kernel_pick(1, 3);
    parts[0] = move.x;
    for (size_t i = 1; i < n; i++) {
        int64_t shape[MAX_RANK];

        memcpy(shape, move.shape, sizeof shape);
        shape[axis] = kernel_pick(0, 4);
        move.result[axis] += shape[axis];
        parts[i] = kernel_add(&move.call, dtype, move.rank, shape, NUMBERS_WILD, false);
    }
    kernel_set_int(&move.call, "axis", (int64_t)axis - (kernel_pick(0, 1) == 1 ? (int64_t)move.rank : 0));
    kernel_run(&move.call);
    kernel_check_shape(&move.call, 0, move.rank, move.result);
    for (size_t i = 0; i < move.call.outputs[0].length; i++) {
        size_t part = 0;

        kernel_index(move.rank, move.result, i, index);
        while (index[axis] >= mdf_value_shape(parts[part])[axis]) {
            index[axis] -= mdf_value_shape(parts[part++])[axis];
        }
        kernel_check(&move.call, 0, i, kernel_number(parts[part], kernel_place(move.rank, mdf_value_shape(parts[part]), index)),
                     0);
    }
    kernel_end(&move.call);
}

Test(element_oracles, moved_elements)
{
    for (size_t i = 0; i < N_CASES; i++) {
        mdf_dtype dtype = sizes[i % N_SIZES];

        check_transpose(dtype);
        check_slice(dtype);
        check_tile(dtype);
        check_pad(PAD_EDGE, dtype);
        check_pad(PAD_REFLECT, dtype);
        check_pad(PAD_WRAP, dtype);
        check_pad_constant(dtype);
        check_gather(dtype);
        check_concat(dtype);
    }
}

/* ------------------------------------------------------------------ one operand */

/* In the elements' type, so that the bits are the same. */
static double hard_sigmoid(mdf_dtype dtype, double x, double alpha, double beta)
{
    double y = dtype == MDF_DTYPE_FLOAT32 ? (double)((float)x * (float)alpha + (float)beta) : x * alpha + beta;

    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static void check_hard_sigmoid(mdf_dtype dtype, int64_t n)
{
    const double alpha = (double)kernel_pick(-20, 20) / 10, beta = (double)kernel_pick(-20, 20) / 10;
    const struct mdf_value *x;
    struct kernel_call call;

    kernel_begin(&call, "HardSigmoid", 6);
    *(double *)kernel_field(&call, "alpha") = alpha;
    *(double *)kernel_field(&call, "beta") = beta;
    x = kernel_add(&call, dtype, 1, &n, NUMBERS_WILD, false);
    kernel_run(&call);
    kernel_check_shape(&call, 0, 1, &n);
    for (size_t i = 0; i < x->length; i++) {
        kernel_check(&call, 0, i, hard_sigmoid(dtype, kernel_number(x, i), alpha, beta), 0);
    }
    kernel_end(&call);
}

Test(element_oracles, bounded_lines)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_hard_sigmoid(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, kernel_pick(0, i % 5 == 0 ? 1500 : 40));
    }
}

/* ------------------------------------------------------------------ remainders */

static uint64_t random_bits(void)
{
    enum { MOST = (1 << 22) - 1 };

    return (uint64_t)kernel_pick(0, MOST) << 42 ^ (uint64_t)kernel_pick(0, MOST) << 21 ^ (uint64_t)kernel_pick(0, MOST);
}

/* Of any bits; of an exponent that is not far from that of x; or what x is nearly a multiple of. */
static double divisor_for(size_t i, double x)
{
    double any, near;
    uint64_t bits = random_bits();

    memcpy(&any, &bits, sizeof any);
    near = ldexp(frexp(any, &(int){0}), ilogb(x) % 2000 + (int)kernel_pick(-60, 10));
    return i % 3 == 0   ? any
           : i % 3 == 1 ? near
                        : nextafter(x / (double)kernel_pick(1, 10000), kernel_pick(0, 1) == 1 ? INFINITY : 0);
}

/* To the last bit what fmod gives, for any bits, in either type. */
Test(element_oracles, remainders_are_the_c_librarys)
{
    for (size_t i = 0; i < 300000; i++) {
        uint64_t bits = random_bits();
        double x, y, found, wanted;
        float narrow_found, narrow_wanted;

        memcpy(&x, &bits, sizeof x);
        x = i % 2 == 0 ? x : ldexp(frexp(x, &(int){0}), (int)kernel_pick(-160, 160));
        y = divisor_for(i, x);
        found = mdf_remainder_float64(x, y);
        wanted = fmod(x, y);
        cr_assert(memcmp(&found, &wanted, sizeof found) == 0 || (isnan(found) && isnan(wanted)), "%a by %a: %a", x, y, found);
        narrow_found = mdf_remainder_float32((float)x, (float)y);
        narrow_wanted = fmodf((float)x, (float)y);
        cr_assert(memcmp(&narrow_found, &narrow_wanted, sizeof narrow_found) == 0 ||
                      (isnan(narrow_found) && isnan(narrow_wanted)),
                  "%a by %a: %a", (double)(float)x, (double)(float)y, (double)narrow_found);
    }
}
