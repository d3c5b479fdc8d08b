/* test_verify.c - mdf_lowered_verify tells nests that hold what nest.h says from those that do not. */
#include "tests/support/lowered_builder.h"
#include "mdf_c/lowered/verify.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 4, N_STEPS = 5 };

/* y[i] = the sum over j of x[i, j] x[i, j]. */
static void write_steps(struct mdf_nest_step steps[N_STEPS], mdf_lowered_id x, mdf_lowered_id y)
{
    const struct mdf_nest_step all[N_STEPS] = {
        {.kind = MDF_NEST_LOAD, .level = 2, .dtype = MDF_DTYPE_FLOAT64, .view = {.id = x, .strides = {COLUMNS, 1}}},
        {.kind = MDF_NEST_ELEMENT,
         .level = 2,
         .dtype = MDF_DTYPE_FLOAT64,
         .n_in = 2,
         .in = {0, 0},
         .code = MDF_LOWERED_MULTIPLY,
         .operand_dtype = MDF_DTYPE_FLOAT64},
        {.kind = MDF_NEST_FOLD,
         .level = 1,
         .dtype = MDF_DTYPE_FLOAT64,
         .n_in = 1,
         .in = {1},
         .operand_dtype = MDF_DTYPE_FLOAT64,
         .fold = MDF_NEST_SUM,
         .lanes = 1},
        {.kind = MDF_NEST_STORE, .level = 1, .dtype = MDF_DTYPE_FLOAT64, .n_in = 1, .in = {2}, .view = {.id = y, .strides = {1}}},
        {.kind = MDF_NEST_LOAD, .level = 0, .dtype = MDF_DTYPE_FLOAT64, .view = {.id = x}}};
    size_t i;

    memcpy(steps, all, sizeof all);
    for (i = 0; i < N_STEPS; i++) {
        steps[i].view.at = MDF_NEST_NONE;
    }
}

/* Whether the nest holds after `spoil`; why not must be `what`. */
static bool holds(void (*spoil)(struct mdf_lowered_nest *nest, mdf_lowered_id y), const char *what)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    static const size_t extents[] = {ROWS, COLUMNS};
    struct mdf_nest_step steps[N_STEPS];
    struct mdf_lowered_nest *nest;
    struct mdf_text why;
    struct build b;
    mdf_lowered_id y;
    bool result;
    size_t i;

    build_begin(&b, NULL);
    write_steps(steps, build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 2, shape, NULL)),
                y = build_result(&b, MDF_DTYPE_FLOAT64, 1, shape));
    nest = build_nest(&b, &b.lowered->region, 2, extents);
    for (i = 0; i < N_STEPS; i++) {
        build_nest_step(&b, nest, steps[i]);
    }
    build_output(&b, build_slot(&b), y);
    build_finish(&b);
    if (spoil != NULL) {
        spoil(nest, y);
    }
    mdf_text_init(&why, &b.memory);
    result = mdf_lowered_verify(b.lowered, &why);
    cr_expect(result || strncmp(why.bytes, what, strlen(what)) == 0, "%s: %s", what, why.bytes);
    mdf_text_release(&why);
    build_end(&b);
    return result;
}

static void reach_too_far(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[0].view.first = 1;
}

static void begin_before(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[0].view.strides[1] = -1;
}

static void take_a_stride_past_the_level(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[4].view.strides[0] = 1;
}

static void read_what_comes_later(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[1].in[1] = 2;
}

static void read_another_type(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[1].operand_dtype = MDF_DTYPE_FLOAT32;
}

static void fold_nothing(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].level = 2;
}

static void fold_in_three_lanes(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].lanes = 3;
}

static void fold_in_blocks_of_four_lanes(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].lanes = 4;
    nest->steps[2].order = MDF_NEST_IN_BLOCKS;
}

static void fuse_a_sum_of_no_product(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].is_fused = true;
    nest->steps[1].code = MDF_LOWERED_ADD;
}

static void begin_without_a_register(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].has_start = true;
}

static void sum_few_elements_in_depths(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[2].order = MDF_NEST_IN_DEPTHS;
}

static void store_twice(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[3].view.strides[0] = 0;
}

static void load_what_is_stored(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    nest->steps[4].view.id = y;
}

static void index_by_a_real(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[4].view.at = 0;
    nest->steps[4].view.at_limit = 2;
}

static void have_an_axis_of_one(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->extents[1] = 1;
}

static void have_no_function(struct mdf_lowered_nest *nest, mdf_lowered_id y)
{
    (void)y;
    nest->steps[1].code = MDF_LOWERED_COPY;
}

Test(verify, nests)
{
    static const struct {
        void (*spoil)(struct mdf_lowered_nest *nest, mdf_lowered_id y);
        const char *what;
    } cases[] = {{reach_too_far, "a view beyond its value"},
                 {begin_before, "a view beyond its value"},
                 {take_a_stride_past_the_level, "a stride past the level"},
                 {read_what_comes_later, "an operand of no such level"},
                 {read_another_type, "an operand of another type"},
                 {fold_nothing, "an operand of no such level"},
                 {fold_in_three_lanes, "a fold that there is not"},
                 {fold_in_blocks_of_four_lanes, "a fold that there is not"},
                 {fuse_a_sum_of_no_product, "a fold that there is not"},
                 {begin_without_a_register, "a fold that there is not"},
                 {sum_few_elements_in_depths, "a fold that there is not"},
                 {store_twice, "a store of elements that are there already"},
                 {load_what_is_stored, "a store of no register"},
                 {index_by_a_real, "an index that is none"},
                 {have_an_axis_of_one, "an axis of one index"},
                 {have_no_function, "an element function that there is not"}};
    size_t i;

    cr_expect(holds(NULL, ""));
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_not(holds(cases[i].spoil, cases[i].what), "%s", cases[i].what);
    }
}

/* ------------------------------------------------------------------ draws */

static double draw_uniform(struct mdf_twister *twister, double low, double high)
{
    return low + (high - low) * mdf_twister_uniform(twister);
}

static void draw_more_than_there_is_room_for(struct mdf_lowered_draw *draw)
{
    draw->n = 3;
}

static void draw_by_nothing(struct mdf_lowered_draw *draw)
{
    draw->drawing.number = NULL;
}

static void read_what_the_call_does_not(struct mdf_lowered_draw *draw)
{
    draw->seed = draw->out;
}

static void be_masked_by_a_number(struct mdf_lowered_draw *draw)
{
    draw->mask = draw->settings[0];
}

static void have_lanes_without_generators(struct mdf_lowered_draw *draw)
{
    draw->n_lanes = 2;
}

/* A number between 1 and 3; what is sound is run, too. */
static bool draws(void (*spoil)(struct mdf_lowered_draw *draw))
{
    struct mdf_lowered_draw draw = {.drawing = {.number = draw_uniform, .defaults = {0, 3}}, .n = 1, .n_lanes = 1};
    struct mdf_value *slot;
    mdf_lowered_id low, out;
    struct mdf_text why;
    struct build b;
    bool result;

    build_begin(&b, NULL);
    mdf_random_begin(&b.context, 1);
    low = build_whole(&b, 1);
    out = build_result(&b, MDF_DTYPE_FLOAT64, 0, NULL);
    draw.seed = draw.settings[1] = draw.mask = MDF_LOWERED_NONE;
    draw.settings[0] = low;
    draw.out = out;
    build_call(&b, &b.lowered->region, NULL, NULL, 1, &low, 1, &out)->draw = &draw;
    build_output(&b, slot = build_slot(&b), out);
    build_finish(&b);
    if (spoil != NULL) {
        spoil(&draw);
    }
    mdf_text_init(&why, &b.memory);
    result = mdf_lowered_verify(b.lowered, &why);
    cr_expect(result || strncmp(why.bytes, "a draw of other numbers", 23) == 0, "%s", why.bytes);
    if (result) {
        cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect(build_element_of(slot, 0) > 1 && build_element_of(slot, 0) < 3);
    }
    mdf_text_release(&why);
    build_end(&b);
    return result;
}

Test(verify, draws)
{
    void (*const spoils[])(struct mdf_lowered_draw *draw) = {draw_more_than_there_is_room_for, draw_by_nothing,
                                                             read_what_the_call_does_not, be_masked_by_a_number,
                                                             have_lanes_without_generators};
    size_t i;

    cr_expect(draws(NULL));
    for (i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        cr_expect_not(draws(spoils[i]), "%zu", i);
    }
}

/* ------------------------------------------------------------------ open axes */

/* y[i] = x[i, 1] x[i, 1], of which the number of rows is known only when it runs. */
static bool open_holds(void (*spoil)(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x), const char *what)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    static const size_t extents[] = {ROWS};
    struct mdf_nest_step steps[N_STEPS];
    struct mdf_lowered_nest *nest;
    struct mdf_lowered_value *values;
    struct mdf_text why;
    struct build b;
    mdf_lowered_id x, y;
    bool result;

    build_begin(&b, NULL);
    x = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 2, shape, NULL));
    y = build_result(&b, MDF_DTYPE_FLOAT64, 1, shape);
    write_steps(steps, x, y);
    steps[0].level = steps[1].level = 1;
    steps[0].view.first = 1;
    steps[0].view.strides[1] = 0;
    steps[3].in[0] = 1;
    nest = build_nest(&b, &b.lowered->region, 1, extents);
    build_nest_step(&b, nest, steps[0]);
    build_nest_step(&b, nest, steps[1]);
    build_nest_step(&b, nest, steps[3]);
    build_output(&b, build_slot(&b), y);
    build_finish(&b);
    values = b.lowered->values;
    values[x].open_axes = values[y].open_axes = 1;
    values[x].form.shape.sizes[0] = values[y].form.shape.sizes[0] = 0;
    values[x].form.length = values[y].form.length = 0;
    nest->is_open = true;
    if (spoil != NULL) {
        spoil(nest, &values[x]);
    }
    mdf_text_init(&why, &b.memory);
    result = mdf_lowered_verify(b.lowered, &why);
    cr_expect(result || strncmp(why.bytes, what, strlen(what)) == 0, "%s: %s", what, why.bytes);
    mdf_text_release(&why);
    values[x].form.shape.sizes[0] = values[y].form.shape.sizes[0] = ROWS;
    build_end(&b);
    return result;
}

static void close_axis(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)x;
    nest->is_open = false;
}

static void open_another_axis(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)x;
    nest->open_axis = 1;
}

static void skip_rows(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)x;
    nest->steps[0].view.strides[0] = 2 * COLUMNS;
}

static void look_past_the_row(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)x;
    nest->steps[0].view.first = COLUMNS;
}

static void open_the_columns(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)nest;
    x->open_axes = 2;
    x->form.shape.sizes[0] = ROWS;
    x->form.shape.sizes[1] = 0;
}

static void read_nothing_open(struct mdf_lowered_nest *nest, struct mdf_lowered_value *x)
{
    (void)nest;
    x->open_axes = 0;
    x->form.shape.sizes[0] = ROWS;
    x->form.length = ROWS * COLUMNS;
}

Test(verify, open_axes)
{
    cr_expect(open_holds(NULL, ""));
    cr_expect_not(open_holds(close_axis, "reads what has no known shape"));
    cr_expect_not(open_holds(open_another_axis, "an open axis of no value"));
    cr_expect_not(open_holds(skip_rows, "a view that does not go along the open axis"));
    cr_expect_not(open_holds(look_past_the_row, "a view beyond its value"));
    cr_expect_not(open_holds(open_the_columns, "a view that does not go along the open axis"));
    cr_expect_not(open_holds(read_nothing_open, "an open axis of no value"));
}
