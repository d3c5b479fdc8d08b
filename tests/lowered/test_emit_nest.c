/* test_emit_nest.c - machine code of loop nests: random nests give what the interpreter gives, bit for bit, and read and write
 * nothing outside of their arrays, which end where pages end that may not be touched. So do those that are the body of a loop,
 * whose state they overwrite and whose stacks they write where that may be (loop_plan.h). */
#include "mdf_c/machine/emit.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/nest_folds.h"
#include "mdf_c/lowered/verify.h"
#include "tests/support/early_code.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { N_ELEMENTS = 6000, LARGEST_N_ELEMENTS = 20000 }; /* more than a called function has in one row: some nests */

static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, MDF_DTYPE_INT64, MDF_DTYPE_BOOL};

struct generator {
    struct build build;
    struct mdf_lowered_nest *nest;
    uint64_t random;
    bool is_float;                  /* only float32, so that vectors are as wide as they can be */
    mdf_dtype types[COUNT(dtypes)]; /* of registers, else */
    /* Of a nest that is the body of a loop: */
    struct mdf_lowered_loop *loop; /* NULL: it is none */
    mdf_dtype state_type;
    struct mdf_nest_view state; /* all elements of a state, which is stored so */
    size_t state_level;
};

static uint64_t draw(struct generator *generator, uint64_t n)
{
    generator->random ^= generator->random << 13;
    generator->random ^= generator->random >> 7;
    generator->random ^= generator->random << 17;
    return (generator->random * UINT64_C(0x2545F4914F6CDD1D) >> 20) % n;
}

static bool is_real(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64;
}

static mdf_dtype draw_type(struct generator *generator)
{
    return generator->is_float ? MDF_DTYPE_FLOAT32 : generator->types[draw(generator, COUNT(dtypes))];
}

/* ------------------------------------------------------------------ guarded memory */

enum { N_GUARDED = 16, GUARDED_BYTES = 160 * 1024, FENCE = 64 };

/* Elements that end where pages end that may not be read, or begin behind such pages. */
static char *guard_elements(size_t number, size_t n_bytes, bool at_end)
{
    static char *places[N_GUARDED];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    cr_assert(number < N_GUARDED && n_bytes <= GUARDED_BYTES);
    if (places[number] == NULL) {
        char *pages = mmap(NULL, GUARDED_BYTES + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        cr_assert(pages != MAP_FAILED);
        cr_assert_eq(mprotect(pages, page, PROT_NONE), 0);
        cr_assert_eq(mprotect(pages + page + GUARDED_BYTES, page, PROT_NONE), 0);
        places[number] = pages + page;
    }
    return places[number] + (at_end ? GUARDED_BYTES - n_bytes : 0);
}

/* Blocks with a fence behind them, which is looked at when they are given back. */
static void *fence(void *start, size_t size)
{
    char *bytes = start;

    if (bytes == NULL) {
        return NULL;
    }
    memcpy(bytes, &size, sizeof size);
    memset(bytes + 16 + size, 0xC3, FENCE);
    return bytes + 16;
}

static void *start_of(void *block)
{
    char *start = (char *)block - 16;
    size_t size, i;

    memcpy(&size, start, sizeof size);
    for (i = 0; i < FENCE; i++) {
        cr_assert_eq((unsigned char)start[16 + size + i], 0xC3, "written behind an array");
    }
    return start;
}

static void *allocate_fenced(void *context, size_t size)
{
    (void)context;
    return fence(malloc(size + 16 + FENCE), size);
}

static void *reallocate_fenced(void *context, void *block, size_t size)
{
    (void)context;
    return fence(realloc(block == NULL ? NULL : start_of(block), size + 16 + FENCE), size);
}

static void release_fenced(void *context, void *block)
{
    (void)context;
    if (block != NULL) {
        free(start_of(block));
    }
}

static const mdf_allocator fenced = {allocate_fenced, reallocate_fenced, release_fenced, NULL};

/* ------------------------------------------------------------------ views */

static void draw_element(struct generator *generator, mdf_dtype dtype, void *element)
{
    static const double reals[] = {0, -0.0, 1, -1, 0.5, 1e-310, 1e300, -1e300, INFINITY, -INFINITY, NAN};
    static const int64_t wholes[] = {0, 1, -1, 7, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000000007};
    bool is_extreme = draw(generator, 8) == 0;
    double real =
        is_extreme ? reals[draw(generator, COUNT(reals))] : ((double)draw(generator, 2001) - 1000) / 63; /* sums are rounded */
    int64_t whole = is_extreme ? wholes[draw(generator, COUNT(wholes))] : (int64_t)draw(generator, 21) - 10;
    float single = (float)real;
    uint8_t truth = whole & 1;
    const void *source = dtype == MDF_DTYPE_FLOAT32   ? (const void *)&single
                         : dtype == MDF_DTYPE_FLOAT64 ? (const void *)&real
                                                      : (const void *)&truth;

    if (is_real(dtype) || dtype == MDF_DTYPE_BOOL) {
        memcpy(element, source, mdf_dtype_size(dtype));
    } else {
        mdf_convert_elements(dtype, element, MDF_DTYPE_INT64, &whole, 1, false);
    }
}

/* Strides in a row over some of the axes below `level`, in any order, some backwards; all of them, and forwards, where `whole` is
 * set. Returns how many elements there are. */
static size_t draw_view(struct generator *generator, size_t level, bool whole, struct mdf_nest_view *view)
{
    size_t axes[MDF_NEST_MOST_AXES], i, n = 1;
    bool is_plain = draw(generator, 2) == 0;

    for (i = 0; i < level; i++) {
        size_t other = is_plain ? i : draw(generator, i + 1);

        axes[i] = axes[other];
        axes[other] = i;
    }
    *view = (struct mdf_nest_view){.at = MDF_NEST_NONE};
    for (i = level; i-- > 0;) {
        size_t extent = generator->nest->extents[axes[i]];
        size_t gap = !whole && draw(generator, 8) == 0 ? 2 : 1;

        if (!whole && draw(generator, 4) == 0) {
            continue;
        }
        n *= gap;
        view->strides[axes[i]] = (int64_t)n;
        if (!whole && draw(generator, 8) == 0) {
            view->strides[axes[i]] = -(int64_t)n;
            view->first += (int64_t)(n * (extent - 1));
        }
        n *= extent;
    }
    return n;
}

static mdf_lowered_id make_input(struct generator *generator, mdf_dtype dtype, size_t n, bool is_index, int64_t limit)
{
    static size_t number;
    struct mdf_value *slot;
    int64_t length = (int64_t)n;
    char *elements;
    size_t i, size = mdf_dtype_size(dtype);

    slot = build_array(&generator->build, dtype, n == 1 && draw(generator, 2) == 0 ? 0 : 1, &length, NULL);
    for (i = 0; i < n; i++) {
        draw_element(generator, dtype, (char *)slot->data + i * size);
        if (is_index) {
            int64_t index = (int64_t)draw(generator, (uint64_t)limit * 2) - limit;

            memcpy((char *)slot->data + i * size, &index, sizeof index);
        }
    }
    if (n * size <= GUARDED_BYTES && slot->rank > 0 && !is_index) {
        elements = guard_elements(number++ % N_GUARDED, n * size, draw(generator, 4) != 0);
        memcpy(elements, slot->data, n * size);
        slot->data = elements;
    }
    return build_input(&generator->build, slot);
}

/* ------------------------------------------------------------------ steps */

static size_t level_of(const struct generator *generator, uint8_t step)
{
    return generator->nest->steps[step].level;
}

/* A register of a type; NONE: there is none. */
static uint8_t pick(struct generator *generator, mdf_dtype dtype, size_t least_level)
{
    size_t tries;

    for (tries = 0; tries < 30 && generator->nest->n_steps > 0; tries++) {
        size_t n = generator->nest->n_steps,
               i = draw(generator, 2) == 0 ? draw(generator, n) : n - 1 - draw(generator, (n + 2) / 3);
        const struct mdf_nest_step *step = &generator->nest->steps[i];

        if (step->kind != MDF_NEST_STORE && step->dtype == dtype && step->level >= least_level) {
            return (uint8_t)i;
        }
    }
    return MDF_NEST_NONE;
}

/* An element of the state: the one that is stored at the same indices, or, now and then, another. */
static uint8_t load_state(struct generator *generator)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD,
                                 .level = (uint8_t)generator->state_level,
                                 .dtype = (uint8_t)generator->state_type,
                                 .view = generator->state};

    if (draw(generator, 12) == 0) {
        draw_view(generator, generator->state_level, true, &step.view);
        step.view.id = generator->state.id;
    }
    return build_nest_step(&generator->build, generator->nest, step);
}

static uint8_t add_load(struct generator *generator, mdf_dtype dtype)
{
    size_t level = draw(generator, 4) == 0 ? draw(generator, generator->nest->n_axes + 1) : generator->nest->n_axes, n;
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .level = (uint8_t)level, .dtype = (uint8_t)dtype};
    size_t rows = 1;
    uint8_t at = MDF_NEST_NONE;

    if (generator->loop != NULL && dtype == generator->state_type && draw(generator, 3) == 0) {
        return load_state(generator);
    }
    n = draw_view(generator, level, false, &step.view);
    if (draw(generator, 8) == 0 && level > 0 && !generator->is_float) {
        struct mdf_nest_step index = {
            .kind = MDF_NEST_LOAD, .level = (uint8_t)draw(generator, level + 1), .dtype = MDF_DTYPE_INT64};
        size_t n_index = draw_view(generator, index.level, false, &index.view);

        rows = 1 + draw(generator, 5);
        index.view.id = make_input(generator, MDF_DTYPE_INT64, n_index, true, (int64_t)rows + (draw(generator, 30) == 0 ? 1 : 0));
        at = build_nest_step(&generator->build, generator->nest, index);
        step.view.at = at;
        step.view.at_limit = (int64_t)rows;
        step.view.at_stride = (int64_t)n;
        if (draw(generator, 3) == 0) { /* the rows the other way round: each element's are side by side */
            size_t axis;

            for (axis = 0; axis < level; axis++) {
                step.view.strides[axis] *= (int64_t)rows;
            }
            step.view.first *= (int64_t)rows;
            step.view.at_stride = 1;
        }
    }
    if (n * rows == 1 && draw(generator, 2) == 0) {
        int64_t element = 0;

        draw_element(generator, dtype, &element);
        step.view.id = build_constant(&generator->build, dtype, 0, NULL, &element);
    } else {
        step.view.id = make_input(generator, dtype, n * rows, false, 0);
    }
    return build_nest_step(&generator->build, generator->nest, step);
}

/* A constant by which whole numbers are divided, or shifted. */
static uint8_t add_number(struct generator *generator, mdf_dtype dtype, bool is_divisor)
{
    static const int64_t divisors[] = {2,   3,    -3,  4,   5,   7,   -8,   10,    16,    100,
                                       127, -127, 128, 200, 255, 641, 1000, 32767, 65535, 1 << 20};
    int64_t number = is_divisor ? divisors[draw(generator, COUNT(divisors))] : (int64_t)draw(generator, 70), element = 0;
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .dtype = (uint8_t)dtype, .view.at = MDF_NEST_NONE};

    if (is_divisor && draw(generator, 4) == 0) {
        number = (int64_t)draw(generator, UINT64_C(1) << 32);
    }
    mdf_convert_elements(dtype, &element, MDF_DTYPE_INT64, &number, 1, false);
    if (is_divisor && element == 0) {
        element = 3;
    }
    step.view.id = build_constant(&generator->build, dtype, 0, NULL, &element);
    return build_nest_step(&generator->build, generator->nest, step);
}

static bool is_division(unsigned code)
{
    return code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_FLOOR_REMAINDER;
}

static uint8_t operand(struct generator *generator, mdf_dtype dtype)
{
    uint8_t step = draw(generator, 4) == 0 ? MDF_NEST_NONE : pick(generator, dtype, 0);

    return step == MDF_NEST_NONE ? add_load(generator, dtype) : step;
}

static bool twice_plus_one(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const float *in = operands[0];
    float *out = target;
    size_t i;

    (void)settings;
    for (i = 0; i < n; i++) {
        out[i] = 2 * in[i * steps[0]] + 1;
    }
    return true;
}

static bool fits(enum mdf_lowered_code code, mdf_dtype dtype)
{
    if (code <= MDF_LOWERED_ABSOLUTE) {
        return dtype != MDF_DTYPE_BOOL;
    }
    if (code <= MDF_LOWERED_CEILING) {
        return is_real(dtype);
    }
    if (code <= MDF_LOWERED_FLOOR_REMAINDER) {
        return !is_real(dtype) && dtype != MDF_DTYPE_BOOL;
    }
    if (code <= MDF_LOWERED_NEGATE_EXACT) {
        return false;
    }
    if (code <= MDF_LOWERED_NOT_EQUAL) {
        return true;
    }
    return code <= MDF_LOWERED_GREATER_EQUAL ? dtype != MDF_DTYPE_BOOL
           : code <= MDF_LOWERED_NOT         ? !is_real(dtype)
           : code <= MDF_LOWERED_SHIFT_RIGHT ? !is_real(dtype) && dtype != MDF_DTYPE_BOOL
                                             : code == MDF_LOWERED_SELECT;
}

static void add_element(struct generator *generator)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_ELEMENT, .view.at = MDF_NEST_NONE};
    mdf_dtype dtype = draw_type(generator), to = draw_type(generator);
    size_t kind = draw(generator, 16), i;
    bool by_number = false;

    if (kind == 0 && dtype == MDF_DTYPE_FLOAT32) {
        step.code = MDF_LOWERED_ELEMENTS;
        step.loop = twice_plus_one;
        step.n_in = 1;
        to = dtype;
    } else if (kind < 4 &&
               (is_real(to) || to == MDF_DTYPE_BOOL || !is_real(dtype) ||
                ((to == MDF_DTYPE_INT32 || to == MDF_DTYPE_INT64 || to == MDF_DTYPE_UINT64) && draw(generator, 30) == 0))) {
        step.code = MDF_LOWERED_CAST;
        step.n_in = 1;
    } else {
        do {
            step.code = (uint8_t)draw(generator, MDF_LOWERED_CAST);
        } while (!fits((enum mdf_lowered_code)step.code, dtype) ||
                 (step.code == MDF_LOWERED_DIVIDE_NONZERO && draw(generator, 20) != 0));
        by_number = (is_division(step.code) && draw(generator, 20) != 0) ||
                    ((step.code == MDF_LOWERED_SHIFT_LEFT || step.code == MDF_LOWERED_SHIFT_RIGHT) && draw(generator, 3) != 0);
        step.n_in = (uint8_t)build_n_operands((enum mdf_lowered_code)step.code);
        to = build_result_type((enum mdf_lowered_code)step.code, dtype);
    }
    step.dtype = (uint8_t)to;
    step.operand_dtype = (uint8_t)dtype;
    for (i = 0; i < step.n_in; i++) {
        step.in[i] = by_number && i == 1 ? add_number(generator, dtype, is_division(step.code))
                                         : operand(generator, step.code == MDF_LOWERED_SELECT && i == 0 ? MDF_DTYPE_BOOL : dtype);
        step.level = (uint8_t)(level_of(generator, step.in[i]) > step.level ? level_of(generator, step.in[i]) : step.level);
    }
    if (draw(generator, 16) == 0) {
        step.level = (uint8_t)generator->nest->n_axes;
    }
    build_nest_step(&generator->build, generator->nest, step);
}

/* Of sums and products, now and then, another order than that of lanes. */
static void draw_order(struct generator *generator, struct mdf_nest_step *fold)
{
    static const uint8_t orders[] = {MDF_NEST_IN_BLOCKS, MDF_NEST_PAIRWISE, MDF_NEST_WITH_REST};

    if (fold->fold <= MDF_NEST_PRODUCT && draw(generator, 3) == 0) {
        fold->order = orders[draw(generator, COUNT(orders))];
        fold->lanes = fold->order == MDF_NEST_WITH_REST ? 32 : 8;
    }
}

static void add_fold(struct generator *generator)
{
    static const uint8_t lanes[] = {1, 1, 1, 8, 16, 64, 2, 4};
    struct mdf_nest_step step = {.kind = MDF_NEST_FOLD, .n_in = 1, .lanes = 1, .view.at = MDF_NEST_NONE};
    mdf_dtype dtype = draw_type(generator);
    size_t level;

    dtype = mdf_nest_has_fold(MDF_NEST_SUM, dtype) ? dtype : MDF_DTYPE_FLOAT32;
    step.in[0] = pick(generator, dtype, 1);
    if (step.in[0] == MDF_NEST_NONE) {
        return;
    }
    level = level_of(generator, step.in[0]);
    step.fold = (uint8_t)draw(generator, draw(generator, 2) == 0 ? MDF_NEST_MAXIMUM : N_MDF_NEST_FOLDS);
    if (step.fold >= MDF_NEST_FIRST_MAXIMUM || draw(generator, 2) == 0) {
        step.level = (uint8_t)(level - 1);
    } else {
        step.level = (uint8_t)draw(generator, level);
    }
    if (step.level + 1u == level && step.fold < MDF_NEST_FIRST_MAXIMUM) {
        step.lanes = lanes[draw(generator, COUNT(lanes))];
        draw_order(generator, &step);
    }
    step.operand_dtype = (uint8_t)dtype;
    step.dtype = step.fold >= MDF_NEST_FIRST_MAXIMUM ? MDF_DTYPE_INT64 : (uint8_t)dtype;
    build_nest_step(&generator->build, generator->nest, step);
}

static void add_store(struct generator *generator, uint8_t register_number)
{
    const struct mdf_nest_step *source = &generator->nest->steps[register_number];
    struct mdf_nest_step step = {.kind = MDF_NEST_STORE, .n_in = 1, .in = {register_number}, .level = source->level};
    int64_t length;

    step.dtype = source->dtype;
    length = (int64_t)draw_view(generator, step.level, true, &step.view);
    step.view.id =
        build_result(&generator->build, (mdf_dtype)step.dtype, length == 1 && draw(generator, 2) == 0 ? 0 : 1, &length);
    build_nest_step(&generator->build, generator->nest, step);
    if (generator->loop == NULL) {
        build_output(&generator->build, build_slot(&generator->build), step.view.id);
    } else if (draw(generator, 2) == 0) {
        build_output(&generator->build, build_slot(&generator->build),
                     build_stack(&generator->build, generator->loop, step.view.id, draw(generator, 2) == 0));
    }
}

/* A loop around the nest, with a state that has an element for each index of the outermost axes. */
static void begin_loop(struct generator *generator)
{
    generator->state_type = draw_type(generator);
    generator->state_level = 1 + draw(generator, generator->nest->n_axes);
    generator->state.id =
        build_state(&generator->build, generator->loop,
                    make_input(generator, generator->state_type,
                               draw_view(generator, generator->state_level, true, &generator->state), false, 0));
}

/* What the state is next; false: there is no register for it. */
static bool end_loop(struct generator *generator)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_STORE,
                                 .n_in = 1,
                                 .level = (uint8_t)generator->state_level,
                                 .dtype = (uint8_t)generator->state_type,
                                 .view = generator->state};
    const struct mdf_value *form = &generator->build.lowered->values[generator->state.id].form;
    size_t i = generator->nest->n_steps;

    while (i-- > 0 && (generator->nest->steps[i].kind == MDF_NEST_STORE || generator->nest->steps[i].dtype != step.dtype ||
                       generator->nest->steps[i].level != step.level)) {
    }
    if (i == SIZE_MAX || form->rank == 0) {
        return false;
    }
    step.in[0] = (uint8_t)i;
    step.view.id = build_result(&generator->build, generator->state_type, form->rank, form->shape.sizes);
    build_nest_step(&generator->build, generator->nest, step);
    build_next(&generator->build, generator->loop, generator->state.id, step.view.id);
    build_output(&generator->build, build_slot(&generator->build), generator->state.id);
    return true;
}

/* False: it was to be the body of a loop, and can not. */
static bool make_nest(struct generator *generator, bool is_looped)
{
    static const size_t all[] = {2, 3, 4, 5, 7, 8, 9, 16, 17, 20, 33, 64, 70, 130};
    size_t n_axes = 1 + draw(generator, 4), extents[MDF_NEST_MOST_AXES], n = 1, i, n_steps, n_stores;
    size_t most = draw(generator, 16) == 0 ? LARGEST_N_ELEMENTS : N_ELEMENTS;

    for (i = 0; i < n_axes; i++) {
        do {
            extents[i] = all[draw(generator, COUNT(all))];
        } while (n * extents[i] > most && extents[i] > 2);
        n *= extents[i];
    }
    generator->loop = is_looped ? build_loop(&generator->build, &generator->build.lowered->region, 3) : NULL;
    generator->nest =
        build_nest(&generator->build, is_looped ? &generator->loop->body : &generator->build.lowered->region, n_axes, extents);
    if (is_looped) {
        begin_loop(generator);
    }
    add_load(generator, draw_type(generator));
    n_steps = 2 + draw(generator, 14);
    for (i = 0; i < n_steps && generator->nest->n_steps < 30; i++) {
        if (draw(generator, 4) == 0) {
            add_fold(generator);
        } else {
            add_element(generator);
        }
    }
    n_stores = 1 + draw(generator, 3);
    for (i = 0; i < n_stores; i++) {
        size_t last = generator->nest->n_steps - 1;

        while (generator->nest->steps[last].kind == MDF_NEST_STORE || (last > 0 && draw(generator, 3) == 0)) {
            last--;
        }
        add_store(generator, (uint8_t)last);
    }
    return !is_looped || end_loop(generator);
}

/* ------------------------------------------------------------------ comparison */

static void check_outputs(const struct mdf_lowered *lowered, const struct mdf_lowered_output *kept, uint64_t seed)
{
    size_t i;

    for (i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_value *slot = lowered->outputs[i].slot;

        cr_assert_eq(kept[i].slot->length, slot->length);
        cr_assert(mdf_elements_same((mdf_dtype)slot->dtype, kept[i].slot->data, slot->data, slot->length),
                  "seed %llu: output %zu", (unsigned long long)seed, i);
    }
}

static void begin_seed(struct generator *generator, uint64_t seed, bool is_float)
{
    memset(generator, 0, sizeof *generator);
    generator->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    generator->is_float = is_float;
    memcpy(generator->types, dtypes, sizeof dtypes);
    build_begin(&generator->build, &fenced);
}

/* The nest that has been made: whether it was done. */
static bool check_built(struct generator *generator, uint64_t seed)
{
    struct build *build = &generator->build;
    struct mdf_value values[BUILD_SLOTS] = {{0}};
    struct mdf_lowered_output kept[BUILD_SLOTS];
    enum mdf_lowered_outcome outcome;
    struct mdf_text why;
    size_t i, round;

    build_finish(build);
    mdf_text_init(&why, &build->plain);
    cr_assert(mdf_lowered_verify(build->lowered, &why), "seed %llu: %s", (unsigned long long)seed, why.bytes);
    mdf_text_release(&why);
    outcome = mdf_lowered_run(build->lowered);
    for (i = 0; outcome == MDF_LOWERED_DONE && i < build->lowered->n_outputs; i++) {
        build_take(build, &values[i], build->lowered->outputs[i].slot);
        kept[i].slot = &values[i];
    }
    mdf_lowered_emit(build->lowered);
    cr_assert(build->lowered->code != NULL || !mdf_has_avx2(), "seed %llu: no code", (unsigned long long)seed);
    for (round = 0; round < 2; round++) {
        cr_assert_eq(mdf_lowered_run(build->lowered), outcome, "seed %llu: bails out or not", (unsigned long long)seed);
        if (outcome == MDF_LOWERED_DONE) {
            check_outputs(build->lowered, kept, seed);
        }
    }
    for (i = 0; i < BUILD_SLOTS; i++) {
        mdf_value_clear(&build->memory, &values[i]);
    }
    build_end(build);
    return outcome == MDF_LOWERED_DONE;
}

static bool check_seed(uint64_t seed, bool is_float)
{
    static struct generator generator;

    begin_seed(&generator, seed, is_float);
    make_nest(&generator, false);
    return check_built(&generator, seed);
}

static void check_seeds(uint64_t first, bool is_float)
{
    size_t n_done = 0, n = getenv("MDF_SEEDS") != NULL ? (size_t)atoi(getenv("MDF_SEEDS")) : 130;
    uint64_t seed;

    first += getenv("MDF_FROM") != NULL ? (uint64_t)atoi(getenv("MDF_FROM")) : 0;
    for (seed = first; seed < first + n; seed++) {
        n_done += check_seed(seed, is_float);
    }
    cr_assert_geq(n_done, n / 2, "only %zu did not bail out", n_done);
}

/* Two or three types of whole numbers of a few or many bits, with and without sign, among reals and truths. */
Test(emit_nest, random_nests_of_whole_numbers)
{
    static const mdf_dtype wholes[] = {MDF_DTYPE_INT8,  MDF_DTYPE_UINT8,  MDF_DTYPE_INT16, MDF_DTYPE_UINT16,
                                       MDF_DTYPE_INT32, MDF_DTYPE_UINT32, MDF_DTYPE_INT64, MDF_DTYPE_UINT64};
    size_t n = getenv("MDF_SEEDS") != NULL ? (size_t)atoi(getenv("MDF_SEEDS")) : 200, n_done = 0, i;
    uint64_t seed, first = 300000 + (getenv("MDF_FROM") != NULL ? (uint64_t)atoi(getenv("MDF_FROM")) : 0);
    static struct generator generator;

    for (seed = first; seed < first + n; seed++) {
        begin_seed(&generator, seed, false);
        for (i = 1; i < 4; i++) {
            generator.types[i] = wholes[draw(&generator, seed % 3 == 0 ? COUNT(wholes) : seed % 6 < 3 ? 4 : 2)];
        }
        generator.types[0] = seed % 2 == 0 ? generator.types[1] : generator.types[0];
        make_nest(&generator, false);
        n_done += check_built(&generator, seed);
    }
    cr_assert_geq(n_done, n / 2, "only %zu did not bail out", n_done);
}

Test(emit_nest, random_nests_of_all_types)
{
    check_seeds(1, false);
}

Test(emit_nest, random_nests_of_floats)
{
    check_seeds(100000, true);
}

/* ------------------------------------------------------------------ folds of short rows */

/* Rows of `width` elements of an array with `gap` more between them, and what is folded of each: the elements, or the products of
 * their casts with themselves; in 32 lanes with a rest, or in any order. */
static void make_rows(struct generator *generator, mdf_dtype dtype, size_t n_rows, size_t width, size_t gap, bool is_squared,
                      bool has_rest)
{
    struct build *build = &generator->build;
    mdf_dtype folded = is_squared && is_real(dtype) ? MDF_DTYPE_FLOAT64 : dtype;
    struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .level = 2, .dtype = (uint8_t)dtype, .view.at = MDF_NEST_NONE};
    struct mdf_nest_step cast = {.kind = MDF_NEST_ELEMENT, .code = MDF_LOWERED_CAST, .level = 2, .n_in = 1};
    struct mdf_nest_step square = {.kind = MDF_NEST_ELEMENT, .code = MDF_LOWERED_MULTIPLY, .level = 2, .n_in = 2};
    struct mdf_nest_step fold = {.kind = MDF_NEST_FOLD, .level = 1, .n_in = 1, .view.at = MDF_NEST_NONE};
    bool is_backwards = draw(generator, 4) == 0;
    uint8_t last;

    generator->loop = NULL;
    generator->nest = build_nest(build, &build->lowered->region, 2, (size_t[]){n_rows, width});
    load.view.id = make_input(generator, dtype, n_rows * (width + gap), false, 0);
    load.view.first = is_backwards ? (int64_t)width - 1 : 0;
    load.view.strides[0] = (int64_t)(width + gap);
    load.view.strides[1] = is_backwards ? -1 : 1;
    last = build_nest_step(build, generator->nest, load);
    if (folded != dtype) {
        cast.dtype = (uint8_t)folded;
        cast.operand_dtype = (uint8_t)dtype;
        cast.in[0] = last;
        last = build_nest_step(build, generator->nest, cast);
    }
    square.dtype = square.operand_dtype = (uint8_t)folded;
    square.in[0] = square.in[1] = last;
    fold.in[0] = is_squared ? build_nest_step(build, generator->nest, square) : last;
    fold.operand_dtype = (uint8_t)folded;
    fold.fold = (uint8_t)draw(generator, has_rest ? MDF_NEST_PRODUCT + 1 : N_MDF_NEST_FOLDS);
    fold.dtype = fold.fold >= MDF_NEST_FIRST_MAXIMUM ? MDF_DTYPE_INT64 : (uint8_t)folded;
    fold.lanes = has_rest ? 32 : fold.fold < MDF_NEST_FIRST_MAXIMUM && draw(generator, 2) == 0 ? 8 : 1;
    if (has_rest) {
        fold.order = MDF_NEST_WITH_REST;
    } else {
        draw_order(generator, &fold);
    }
    add_store(generator, build_nest_step(build, generator->nest, fold));
}

Test(emit_nest, folds_of_short_rows)
{
    static const size_t widths[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 35}, rows[] = {2, 3, 4, 7, 8, 9, 17, 33, 70};
    static struct generator generator;
    uint64_t seed = 0;
    size_t width, n;
    int type;

    for (type = 0; type < 4; type++) {
        for (width = 0; width < COUNT(widths); width++) {
            for (n = 0; n < 2 * COUNT(rows); n++) {
                begin_seed(&generator, ++seed, false);
                make_rows(&generator, dtypes[type], rows[n / 2], widths[width], draw(&generator, 3), n % 2 == 1, false);
                check_built(&generator, seed);
            }
        }
    }
}

/* Folds of products of the rows of a matrix, which lies by columns, and a row: totals of many rows side by side, which are joined
 * in pairs. */
static void make_columns(struct generator *generator, mdf_dtype dtype, size_t n_rows, size_t width, uint8_t lanes)
{
    struct build *build = &generator->build;
    struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .level = 2, .dtype = (uint8_t)dtype, .view.at = MDF_NEST_NONE};
    struct mdf_nest_step multiply = {.kind = MDF_NEST_ELEMENT, .code = MDF_LOWERED_MULTIPLY, .level = 2, .n_in = 2};
    struct mdf_nest_step fold = {.kind = MDF_NEST_FOLD, .level = 1, .n_in = 1, .lanes = lanes, .view.at = MDF_NEST_NONE};

    generator->loop = NULL;
    generator->nest = build_nest(build, &build->lowered->region, 2, (size_t[]){n_rows, width});
    load.view.id = make_input(generator, dtype, n_rows * width, false, 0);
    load.view.strides[0] = 1;
    load.view.strides[1] = (int64_t)n_rows;
    multiply.in[0] = build_nest_step(build, generator->nest, load);
    load.view.id = make_input(generator, dtype, width, false, 0);
    load.view.strides[0] = 0;
    load.view.strides[1] = 1;
    multiply.in[1] = build_nest_step(build, generator->nest, load);
    multiply.dtype = multiply.operand_dtype = fold.operand_dtype = fold.dtype = (uint8_t)dtype;
    fold.in[0] = build_nest_step(build, generator->nest, multiply);
    fold.fold = (uint8_t)draw(generator, MDF_NEST_FIRST_MAXIMUM);
    fold.order = fold.fold <= MDF_NEST_PRODUCT && lanes == 32 ? MDF_NEST_WITH_REST : MDF_NEST_IN_LANES;
    add_store(generator, build_nest_step(build, generator->nest, fold));
}

Test(emit_nest, folds_of_rows_by_columns)
{
    static const size_t widths[] = {9, 16, 17, 31, 32, 33, 40, 63, 64, 65}, rows[] = {7, 16, 24, 40, 70};
    static const uint8_t lanes[] = {8, 16, 32, 64};
    static struct generator generator;
    uint64_t seed = 5000;
    size_t width, n, k;

    for (width = 0; width < COUNT(widths); width++) {
        for (n = 0; n < 2 * COUNT(rows); n++) {
            for (k = 0; k < COUNT(lanes); k++) {
                begin_seed(&generator, ++seed, false);
                make_columns(&generator, n % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, rows[n / 2], widths[width],
                             lanes[k]);
                check_built(&generator, seed);
            }
        }
    }
}

/* Orders that cut rows into halves, and rows that have a rest. */
Test(emit_nest, folds_of_long_rows)
{
    static const size_t widths[] = {31, 32, 100, 128, 129, 136, 144, 256, 300, 512, 520, 600, 1024, 1030};
    static struct generator generator;
    uint64_t seed = 1000;
    size_t width, n_rows;

    for (width = 0; width < COUNT(widths); width++) {
        for (n_rows = 2; n_rows < 12; n_rows++) {
            begin_seed(&generator, ++seed, false);
            make_rows(&generator, n_rows % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, n_rows, widths[width], 0,
                      draw(&generator, 2) == 0, false);
            check_built(&generator, seed);
        }
    }
}

/* Lanes along rows, whose rest is taken one by one. */
Test(emit_nest, folds_of_rows_with_a_rest)
{
    static const size_t widths[] = {32, 33, 34, 36, 40, 47, 48, 50, 56, 63, 65, 72, 80, 95, 100, 127, 161, 200, 301};
    static struct generator generator;
    size_t i;

    for (i = 0; i < 6 * COUNT(widths); i++) {
        begin_seed(&generator, 9000 + i, false);
        make_rows(&generator, i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, 2 + i % 6, widths[i / 6], draw(&generator, 3),
                  draw(&generator, 3) == 0, true);
        check_built(&generator, 9000 + i);
    }
}

/* ------------------------------------------------------------------ when it is made */

/* What a loop of so many runs saves by code for 33 rows of 9, as a part of what that costs. */
static double worth_of_runs(size_t n_runs)
{
    static struct generator generator;
    struct mdf_lowered_loop loop = {.n_runs = n_runs};
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .of.loop = &loop};
    struct mdf_lowered whole = {.region = {&op, 1}};
    struct mdf_code_price price;

    begin_seed(&generator, 1, false);
    make_rows(&generator, MDF_DTYPE_FLOAT32, 33, 9, 0, true, false);
    build_finish(&generator.build);
    loop.body = generator.build.lowered->region;
    __real_mdf_code_price(&whole, &price);
    build_end(&generator.build);
    return price.saved / price.to_make;
}

/* Not for a small nest that runs a few times; at once for a loop of many runs, whether their number is known or not. */
Test(emit_nest, code_is_made_where_it_pays)
{
    cr_expect_lt(worth_of_runs(1), 0.1);
    cr_expect_lt(worth_of_runs(4), 0.5);
    cr_expect_gt(worth_of_runs(1000), 1);
    cr_expect_gt(worth_of_runs(SIZE_MAX), 0.5);
}

/* Here the second run pays for it (early_code.c). */
Test(emit_nest, code_is_made_in_time)
{
    static struct generator generator;
    struct mdf_lowered *lowered;

    begin_seed(&generator, 1, false);
    make_rows(&generator, MDF_DTYPE_FLOAT32, 33, 9, 0, true, false);
    build_finish(&generator.build);
    lowered = generator.build.lowered;
    cr_expect_eq(mdf_lowered_run_in_time(lowered), MDF_LOWERED_DONE);
    cr_expect(lowered->code == NULL && !lowered->is_code_settled);
    cr_expect_eq(mdf_lowered_run_in_time(lowered), MDF_LOWERED_DONE);
    cr_expect(lowered->is_code_settled);
    cr_expect(lowered->code != NULL || !mdf_has_avx2());
    build_end(&generator.build);
}

/* ------------------------------------------------------------------ as the body of a loop */

/* A loop by a seed; false: there is none. */
static bool build_looped(struct generator *generator, uint64_t seed, bool is_float, bool is_planned)
{
    begin_seed(generator, seed, is_float);
    generator->build.is_unplanned = !is_planned;
    if (!make_nest(generator, true)) {
        build_end(&generator->build);
        return false;
    }
    build_finish(&generator->build);
    return true;
}

/* The loop as it is planned, interpreted and as machine code, against two buffers and copied items. Whether it was done, and its
 * state written in place. */
static bool check_looped(uint64_t seed, bool is_float)
{
    static struct generator plain, planned;
    enum mdf_lowered_outcome outcome;
    bool is_in_place;
    struct mdf_text why;
    size_t round, i;

    if (!build_looped(&plain, seed, is_float, false)) {
        return false;
    }
    outcome = mdf_lowered_run(plain.build.lowered);
    cr_assert(build_looped(&planned, seed, is_float, true));
    mdf_text_init(&why, &planned.build.plain);
    cr_assert(mdf_lowered_verify(planned.build.lowered, &why), "seed %llu: %s", (unsigned long long)seed, why.bytes);
    mdf_text_release(&why);
    is_in_place = planned.loop->states[0].storage == MDF_LOWERED_IN_PLACE;
    for (i = 0; i < planned.loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &planned.loop->stacks[i];

        cr_expect_eq(stack->is_direct, !planned.build.lowered->values[stack->item].is_scalar);
    }
    for (round = 0; round < 3; round++) {
        cr_assert_eq(mdf_lowered_run(planned.build.lowered), outcome, "seed %llu: bails out or not", (unsigned long long)seed);
        if (outcome == MDF_LOWERED_DONE) {
            check_outputs(planned.build.lowered, plain.build.lowered->outputs, seed);
        }
        if (round == 0) {
            mdf_lowered_emit(planned.build.lowered);
        }
    }
    build_end(&plain.build);
    build_end(&planned.build);
    return outcome == MDF_LOWERED_DONE && is_in_place;
}

static void check_loops(uint64_t first, bool is_float)
{
    size_t n_in_place = 0, n = getenv("MDF_SEEDS") != NULL ? (size_t)atoi(getenv("MDF_SEEDS")) : 130;
    uint64_t seed;

    for (seed = first; seed < first + n; seed++) {
        n_in_place += check_looped(seed, is_float);
    }
    cr_assert_geq(n_in_place, n / 20, "only %zu were written in place", n_in_place);
}

Test(emit_nest, random_nests_in_loops)
{
    check_loops(1, false);
}

Test(emit_nest, random_nests_of_floats_in_loops)
{
    check_loops(100000, true);
}
