/* lowered_builder.h - small programs in the lowered form (mdf_c/lowered/lowered.h), built op by op: for the tests of what runs
 * them.
 *
 *   struct build b;
 *   build_begin(&b, NULL);
 *   x = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 0, NULL, &one));
 *   y = build_element(&b, &b.lowered->region, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, (mdf_lowered_id[]){x, x});
 *   build_output(&b, build_slot(&b), y);
 *   build_finish(&b);
 *   mdf_lowered_run(b.lowered);
 *   build_end(&b);
 *
 * Whatever goes wrong in building is a failed assertion. */
#ifndef MDF_TESTS_LOWERED_BUILDER_H
#define MDF_TESTS_LOWERED_BUILDER_H

#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/nest.h"

enum { BUILD_SLOTS = 64 };

/* Element ops over arrays of n elements: they become a NEST of one axis when the program is finished. */
struct build_group {
    struct mdf_lowered_region body; /* to be filled */
    size_t n;
    struct mdf_lowered_nest *nest;
};

struct build {
    struct mdf_memory plain;  /* of the program itself: never refuses */
    struct mdf_memory memory; /* of values, from the allocator given */
    struct mdf_context context;
    struct mdf_lowered *lowered;
    struct mdf_value slots[BUILD_SLOTS];
    size_t n_slots;
    uint8_t strength;                  /* of the values that are made next; TYPED at first */
    const struct build_group **makers; /* of each value: the group that makes it, or NULL */
    bool *is_copied, *is_stored;       /* of each value: a COPY makes it; it has memory */
    struct build_group **groups;
    size_t n_groups;
    bool is_unplanned; /* loops have two buffers for each state, and copy the items of stacks */
};

void build_begin(struct build *build, const mdf_allocator *allocator);
/* Gives everything back, and asserts that nothing is held any more. */
void build_end(struct build *build);

/* --- the frame's side */
/* A slot that holds nothing. */
struct mdf_value *build_slot(struct build *build);
/* A slot that holds an array in memory of its own; `elements` NULL: zeros. */
struct mdf_value *build_array(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape, const void *elements);
/* Element `i` of an array, as float64. */
double build_element_of(const struct mdf_value *array, size_t i);

/* --- values */
/* An input of the form that `source` has now. */
mdf_lowered_id build_input(struct build *build, const struct mdf_value *source);
mdf_lowered_id build_constant(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape, const void *elements);
/* Scalars of rank 0. */
mdf_lowered_id build_real(struct build *build, double real);
mdf_lowered_id build_whole(struct build *build, int64_t whole);
mdf_lowered_id build_bool(struct build *build, bool truth);
/* A result that an op is still to be written for. */
mdf_lowered_id build_result(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape);

/* --- ops; `region` is &build->lowered->region, &loop->body, &branches->then, ..., or &group->body */
/* How many operands a code of an element op has; the type of its result. */
size_t build_n_operands(enum mdf_lowered_code code);
mdf_dtype build_result_type(enum mdf_lowered_code code, mdf_dtype dtype);
/* An element op other than CAST, FUNCTION, ELEMENTS, COPY, on build_n_operands(code) operands; its result. In a group's body
 * the result is an array. */
mdf_lowered_id build_element(struct build *build, struct mdf_lowered_region *region, enum mdf_lowered_code code, mdf_dtype dtype,
                             const mdf_lowered_id *in);
/* ELEMENTS, with a result of type `result`. */
mdf_lowered_id build_elements(struct build *build, struct mdf_lowered_region *region, mdf_loop loop, const void *settings,
                              mdf_dtype dtype, mdf_dtype result, size_t n_in, const mdf_lowered_id *in);
mdf_lowered_id build_cast(struct build *build, struct mdf_lowered_region *region, mdf_dtype to, mdf_lowered_id in);
mdf_lowered_id build_function(struct build *build, struct mdf_lowered_region *region, double (*function)(double),
                              mdf_lowered_id in);
mdf_lowered_id build_function_of_two(struct build *build, struct mdf_lowered_region *region, double (*function)(double, double),
                                     mdf_lowered_id a, mdf_lowered_id b);
mdf_lowered_id build_copy(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id in);
/* One element of `whole`, of one axis, at an index. */
mdf_lowered_id build_put(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id whole, mdf_lowered_id element,
                         mdf_lowered_id index);
/* Element ops over arrays of n elements; the body is to be filled. What anything outside of it uses is stored. */
struct build_group *build_group(struct build *build, struct mdf_lowered_region *region, size_t n);
/* A group of a single element op on arrays of one shape. */
mdf_lowered_id build_group_element(struct build *build, struct mdf_lowered_region *region, enum mdf_lowered_code code,
                                   mdf_dtype dtype, const mdf_lowered_id *in);
/* A CALL; `outputs` are from build_result. */
struct mdf_lowered_call *build_call(struct build *build, struct mdf_lowered_region *region, mdf_kernel kernel,
                                    const void *settings, size_t n_inputs, const mdf_lowered_id *inputs, size_t n_outputs,
                                    const mdf_lowered_id *outputs);
/* A NEST, whose steps are to be added: each is given as it is to be, but that ELEMENT steps, of codes up to SELECT, get their
 * loop. Returns its number. */
struct mdf_lowered_nest *build_nest(struct build *build, struct mdf_lowered_region *region, size_t n_axes, const size_t *extents);
uint8_t build_nest_step(struct build *build, struct mdf_lowered_nest *nest, struct mdf_nest_step step);
/* An IF, whose branches are to be filled. */
struct mdf_lowered_if *build_if(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id condition);
mdf_lowered_id build_merge(struct build *build, struct mdf_lowered_if *branches, mdf_lowered_id then, mdf_lowered_id otherwise);
/* A LOOP of n_runs runs (SIZE_MAX: as trip_count, condition, ... say, which are to be set; n_padded before there are stacks),
 * whose body is to be filled. */
struct mdf_lowered_loop *build_loop(struct build *build, struct mdf_lowered_region *region, size_t n_runs);
/* Sets the condition, and the one that each run yields. */
void build_condition(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id condition, mdf_lowered_id next);
/* The parameters of a loop's body. */
mdf_lowered_id build_number(struct build *build, struct mdf_lowered_loop *loop);
mdf_lowered_id build_going_on(struct build *build, struct mdf_lowered_loop *loop);
mdf_lowered_id build_state(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id initial);
mdf_lowered_id build_rows(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id source, bool is_reversed);
/* What the state with that parameter becomes. */
void build_next(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id parameter, mdf_lowered_id next);
/* A stack of what `item` is in each run, its id. */
mdf_lowered_id build_stack(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id item, bool is_reversed);

/* --- the whole */
void build_output(struct build *build, struct mdf_value *slot, mdf_lowered_id id);
/* Loops are planned, and there is memory for it all; then it can be run. mdf_lowered_emit is not called. */
void build_finish(struct build *build);
/* Takes what a run has left in a slot, apart: a number there lies in the program, and is another one after the next run. */
void build_take(struct build *build, struct mdf_value *target, struct mdf_value *slot);
/* Whether two tensors are the same in type, shape, strength and every bit. */
bool build_same(const struct mdf_value *a, const struct mdf_value *b);
/* Runs the program as it stands and as machine code, twice, which have to give the same bits; whether it was done. */
bool build_check_code(struct build *build, uint64_t seed);

#endif
