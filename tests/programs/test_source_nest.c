/* test_source_nest.c - loop nests as C source: random ones, and those of well known loops, are compiled by the system's compiler
 * and have the bits of the plain way of running them (lowered_nest.c). */
#include "mdf_c/source/nests/nest_rows.h"
#include "mdf_c/source/source_writer.h"

#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VALUES = 24 };

static const struct mdf_nest_set all_steps = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

/* One nest: what it loads and stores lies in slots of the frame; a slot may be both. */
struct nest_case {
    struct build build;
    struct mdf_lowered_nest *nest;
    struct mdf_value *slots[MOST_VALUES];
    struct mdf_source_slot places[MOST_VALUES]; /* the same in generated code */
    char names[MOST_VALUES][32];
    size_t n_slots, number;
};

/* ------------------------------------------------------------------ numbers that do not depend on the library */

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % n;
}

/* Reals of some size, now and then one that is none; whole numbers that are small. */
static void fill(struct mdf_value *array)
{
    size_t i;

    for (i = 0; i < array->length; i++) {
        double real = draw(60) == 0 ? (draw(2) == 0 ? (double)NAN : (double)-INFINITY) : ((double)draw(20001) - 10000) / 1234;
        int64_t whole = (int64_t)draw(9) - 3;
        char *at = (char *)array->data + i * mdf_dtype_size((mdf_dtype)array->dtype);

        if (mdf_dtype_kind((mdf_dtype)array->dtype) == 'f') {
            mdf_convert_elements((mdf_dtype)array->dtype, at, MDF_DTYPE_FLOAT64, &real, 1, false);
        } else {
            mdf_convert_elements((mdf_dtype)array->dtype, at, MDF_DTYPE_INT64, &whole, 1, false);
        }
    }
}

/* ------------------------------------------------------------------ building */

static void begin_case(struct nest_case *test, size_t number, size_t n_axes, const size_t *extents)
{
    memset(test, 0, sizeof *test);
    test->number = number;
    build_begin(&test->build, NULL);
    test->nest = build_nest(&test->build, &test->build.lowered->region, n_axes, extents);
}

static void add_slot(struct nest_case *test, struct mdf_value *slot, mdf_dtype dtype, size_t length)
{
    size_t n = test->n_slots++;

    cr_assert_lt(n, (size_t)MOST_VALUES);
    snprintf(test->names[n], sizeof test->names[n], "nest_%zu_slot_%zu", test->number, n);
    test->slots[n] = slot;
    test->places[n] = (struct mdf_source_slot){.name = test->names[n], .hint = "x", .dtype = dtype, .length = length};
}

static mdf_lowered_id input(struct nest_case *test, mdf_dtype dtype, size_t length)
{
    int64_t shape = (int64_t)length;
    struct mdf_value *slot = build_array(&test->build, dtype, length > 1, &shape, NULL);

    fill(slot);
    add_slot(test, slot, dtype, length);
    return build_input(&test->build, slot);
}

static uint8_t load(struct nest_case *test, mdf_lowered_id id, size_t level, int64_t first, const int64_t *strides)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD,
                                 .level = (uint8_t)level,
                                 .dtype = test->build.lowered->values[id].form.dtype,
                                 .view = {.id = id, .first = first, .at = MDF_NEST_NONE}};

    memcpy(step.view.strides, strides, level * sizeof *strides);
    return build_nest_step(&test->build, test->nest, step);
}

static const struct mdf_nest_step *step_of(const struct nest_case *test, uint8_t step)
{
    return &test->nest->steps[step];
}

static uint8_t element(struct nest_case *test, enum mdf_lowered_code code, uint8_t a, uint8_t b)
{
    size_t n = build_n_operands(code);
    uint8_t level = step_of(test, a)->level, dtype = step_of(test, a)->dtype;

    level = n > 1 && step_of(test, b)->level > level ? step_of(test, b)->level : level;
    return build_nest_step(&test->build, test->nest,
                           (struct mdf_nest_step){.kind = MDF_NEST_ELEMENT,
                                                  .level = level,
                                                  .dtype = (uint8_t)build_result_type(code, (mdf_dtype)dtype),
                                                  .operand_dtype = dtype,
                                                  .n_in = (uint8_t)n,
                                                  .in = {a, b},
                                                  .code = (uint8_t)code});
}

static uint8_t cast(struct nest_case *test, uint8_t a, mdf_dtype to)
{
    return build_nest_step(&test->build, test->nest,
                           (struct mdf_nest_step){.kind = MDF_NEST_ELEMENT,
                                                  .level = step_of(test, a)->level,
                                                  .dtype = (uint8_t)to,
                                                  .operand_dtype = step_of(test, a)->dtype,
                                                  .n_in = 1,
                                                  .in = {a},
                                                  .code = MDF_LOWERED_CAST});
}

static uint8_t fold(struct nest_case *test, enum mdf_nest_fold kind, uint8_t of, size_t level, unsigned lanes)
{
    return build_nest_step(&test->build, test->nest,
                           (struct mdf_nest_step){.kind = MDF_NEST_FOLD,
                                                  .level = (uint8_t)level,
                                                  .dtype = kind > MDF_NEST_MINIMUM ? MDF_DTYPE_INT64 : step_of(test, of)->dtype,
                                                  .operand_dtype = step_of(test, of)->dtype,
                                                  .n_in = 1,
                                                  .in = {of},
                                                  .fold = (uint8_t)kind,
                                                  .lanes = (uint8_t)lanes});
}

/* In an array of its own, with its axes in the order `order` (NULL: as they are); or where a slot is (`slot` not NULL). */
static void store(struct nest_case *test, uint8_t of, const size_t *order, struct mdf_value *slot)
{
    const struct mdf_nest_step *from = step_of(test, of);
    struct mdf_nest_step step = {
        .kind = MDF_NEST_STORE, .level = from->level, .dtype = from->dtype, .n_in = 1, .in = {of}, .view.at = MDF_NEST_NONE};
    int64_t length = 1;
    size_t i;

    for (i = from->level; i-- > 0;) {
        size_t axis = order != NULL ? order[i] : i;

        step.view.strides[axis] = length;
        length *= (int64_t)test->nest->extents[axis];
    }
    step.view.id = build_result(&test->build, (mdf_dtype)from->dtype, length > 1, &length);
    if (slot == NULL) {
        slot = build_slot(&test->build);
        add_slot(test, slot, (mdf_dtype)from->dtype, (size_t)length);
    }
    build_output(&test->build, slot, step.view.id);
    build_nest_step(&test->build, test->nest, step);
}

/* ------------------------------------------------------------------ as C */

static const struct mdf_source_slot *find_slot(void *context, const struct mdf_value *value)
{
    struct nest_case *test = context;
    size_t i;

    for (i = 0; i < test->n_slots && test->slots[i] != value; i++) {
    }
    return i < test->n_slots ? &test->places[i] : NULL;
}

/* Slots as arrays of the file, and the function nest_NUMBER. */
static void write_case(FILE *file, struct nest_case *test)
{
    struct mdf_source_writer writer;
    const struct mdf_source_helper *helper;
    mdf_error error = {0};
    char name[32];
    size_t i;

    mdf_source_begin(&writer, &test->build.plain, &error);
    snprintf(name, sizeof name, "nest_%zu", test->number);
    writer.work_name = mdf_source_text(&writer, "%s_work", name);
    writer.find_slot = find_slot;
    writer.slot_context = test;
    cr_assert(mdf_source_write_lowered(&writer, test->build.lowered), "nest %zu: %s", test->number, error.message);
    for (i = 0; i < test->n_slots; i++) {
        fprintf(file, "extern %s %s[%zu];\n%s %s[%zu];\n", mdf_source_type(test->places[i].dtype), test->names[i],
                test->places[i].length, mdf_source_type(test->places[i].dtype), test->names[i], test->places[i].length);
    }
    fprintf(file, "%s", writer.constants.bytes != NULL ? writer.constants.bytes : "");
    for (helper = writer.helpers; helper != NULL; helper = helper->next) {
        fprintf(file, "#ifndef HAS_%s\n#define HAS_%s\n%s#endif\n", helper->name, helper->name, helper->definition);
    }
    if (writer.work.length > 0) {
        fprintf(file, "static struct {\n%s} %s_work;\n", writer.work.bytes, name);
    }
    fprintf(file, "const char *%s(void);\nconst char *%s(void)\n{\n%s%s    return NULL;\n}\n\n", name, name,
            writer.declarations.bytes != NULL ? writer.declarations.bytes : "", writer.body.bytes);
    mdf_source_end(&writer);
}

/* As a user's compiler does it, whose vectors bring out what an order or an alias has wrong; or in a fifth of the time. */
static const char in_vectors[] = "-O1 -ftree-vectorize", as_written[] = "-O0", without_types[] = "-O0 -DMDF_HAS_VECTORS=0";

/* Compiles the file with warnings as errors, and loads it. */
static void *load_library(const char *source, const char *how)
{
    const char *compiler = getenv("CC") != NULL ? getenv("CC") : "cc";
    char command[512], library[256];
    void *handle;

    snprintf(library, sizeof library, "%s.so", source);
    snprintf(command, sizeof command,
             "%s -std=c11 %s -ffp-contract=off -Wall -Wextra -pedantic -Werror -fPIC -shared -o %s %s -lm", compiler, how,
             library, source);
    cr_assert_eq(system(command), 0, "%s", command);
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(handle);
    unlink(library);
    return handle;
}

/* NaN is NaN, whichever. */
static bool is_same(const struct mdf_value *array, const void *elements, size_t i)
{
    size_t size = mdf_dtype_size((mdf_dtype)array->dtype);
    const char *a = (const char *)array->data + i * size, *b = (const char *)elements + i * size;
    bool is_real = mdf_dtype_kind((mdf_dtype)array->dtype) == 'f';

    return memcmp(a, b, size) == 0 || (is_real && isnan(mdf_element_to_double((mdf_dtype)array->dtype, a)) &&
                                       isnan(mdf_element_to_double((mdf_dtype)array->dtype, b)));
}

/* Runs both, and compares all slots; or both refuse. */
static void compare_case(void *library, struct nest_case *test)
{
    const char *(*run)(void);
    void *found, *elements[MOST_VALUES];
    enum mdf_lowered_outcome outcome;
    const char *message;
    char name[32];
    size_t i, k;

    for (i = 0; i < test->n_slots; i++) {
        elements[i] = dlsym(library, test->names[i]);
        cr_assert_not_null(elements[i]);
        if (test->slots[i]->kind == MDF_KIND_TENSOR) {
            memcpy(elements[i], test->slots[i]->data, test->slots[i]->length * mdf_dtype_size((mdf_dtype)test->slots[i]->dtype));
        }
    }
    snprintf(name, sizeof name, "nest_%zu", test->number);
    found = dlsym(library, name);
    cr_assert_not_null(found);
    memcpy(&run, &found, sizeof run);
    build_finish(&test->build);
    outcome = mdf_lowered_run(test->build.lowered);
    message = run();
    cr_expect_eq(outcome == MDF_LOWERED_DONE, message == NULL, "nest %zu: %d, %s", test->number, (int)outcome,
                 message != NULL ? message : "done");
    for (i = 0; message == NULL && i < test->n_slots; i++) {
        for (k = 0; k < test->slots[i]->length; k++) {
            if (!is_same(test->slots[i], elements[i], k)) {
                cr_expect(false, "nest %zu, slot %zu, element %zu of %zu", test->number, i, k, test->slots[i]->length);
                break;
            }
        }
    }
}

/* Writes, compiles and compares n nests that `make` makes, each from its number, from `first` on. */
static void check_cases(size_t first, size_t n, const char *how, void (*make)(struct nest_case *test, size_t number))
{
    struct nest_case *cases = calloc(n, sizeof *cases);
    char path[] = "/tmp/mdf_nest_XXXXXX.c";
    int descriptor = mkstemps(path, 2);
    FILE *file = fdopen(descriptor, "w");
    void *library;
    size_t i;

    cr_assert_not_null(cases);
    cr_assert_not_null(file);
    fprintf(file, "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    for (i = 0; i < n; i++) {
        make(&cases[i], first + i);
        write_case(file, &cases[i]);
    }
    cr_assert_eq(fclose(file), 0);
    library = load_library(path, how);
    for (i = 0; i < n; i++) {
        compare_case(library, &cases[i]);
        build_end(&cases[i].build);
    }
    dlclose(library);
    if (getenv("KEEP_NESTS") == NULL) {
        unlink(path);
    }
    free(cases);
}

/* ------------------------------------------------------------------ random nests */

/* A view that goes through all elements of an array that has some of the axes, in any order, forwards or backwards. */
static uint8_t random_load(struct nest_case *test, mdf_dtype dtype)
{
    size_t level = draw(4) == 0 ? draw(test->nest->n_axes + 1) : test->nest->n_axes, i;
    size_t turn = draw(level + 1);
    int64_t strides[MDF_NEST_MOST_AXES] = {0}, first = 0, length = 1;

    for (i = level; i-- > 0;) {
        size_t axis = (i + turn) % level;

        if (draw(4) != 0) {
            strides[axis] = length;
            length *= (int64_t)test->nest->extents[axis];
        }
    }
    for (i = 0; i < level; i++) {
        if (draw(8) == 0) {
            first += strides[i] * ((int64_t)test->nest->extents[i] - 1);
            strides[i] = -strides[i];
        }
    }
    return load(test, input(test, dtype, (size_t)length), level, first, strides);
}

/* Elements that an index picks: often one that is not there. */
static uint8_t random_gather(struct nest_case *test, mdf_dtype dtype, uint8_t index)
{
    size_t level = step_of(test, index)->level;
    int64_t strides[MDF_NEST_MOST_AXES] = {0};
    uint8_t step;

    level += draw(test->nest->n_axes - level + 1);
    if (level > 0) {
        strides[level - 1] = 6;
    }
    step = load(test, input(test, dtype, (level > 0 ? test->nest->extents[level - 1] : 1) * 6), level, 0, strides);
    test->nest->steps[step].view.at = index;
    test->nest->steps[step].view.at_stride = 1;
    test->nest->steps[step].view.at_limit = 6;
    return step;
}

/* A sum of products, as those of matrices: fused, in blocks, beginning with something. */
static uint8_t random_products(struct nest_case *test, mdf_dtype dtype, const uint8_t *of_type, size_t n)
{
    uint8_t product = element(test, MDF_LOWERED_MULTIPLY, of_type[draw(n)], of_type[draw(n)]), sum, start = of_type[draw(n)];
    size_t level = step_of(test, product)->level;
    struct mdf_nest_step *step;

    if (level == 0) {
        return product;
    }
    sum = fold(test, MDF_NEST_SUM, product, level - 1, 1);
    step = &test->nest->steps[sum];
    step->is_fused = mdf_dtype_kind(dtype) == 'f' && draw(2) == 0;
    if (test->nest->extents[level - 1] > MDF_NEST_DEPTH && draw(4) > 0) {
        step->order = MDF_NEST_IN_DEPTHS;
    }
    if (step_of(test, start)->level < level) {
        step->has_start = true;
        step->in[step->n_in++] = start;
    }
    return sum;
}

static uint8_t random_step(struct nest_case *test, mdf_dtype dtype, const uint8_t *of_type, size_t n)
{
    static const enum mdf_lowered_code real[] = {MDF_LOWERED_ADD,        MDF_LOWERED_SUBTRACT, MDF_LOWERED_MULTIPLY,
                                                 MDF_LOWERED_DIVIDE,     MDF_LOWERED_NEGATE,   MDF_LOWERED_ABSOLUTE,
                                                 MDF_LOWERED_SQUARE_ROOT};
    static const enum mdf_lowered_code whole[] = {MDF_LOWERED_ADD, MDF_LOWERED_SUBTRACT, MDF_LOWERED_MULTIPLY, MDF_LOWERED_NEGATE,
                                                  MDF_LOWERED_ABSOLUTE};
    bool is_real = mdf_dtype_kind(dtype) == 'f';
    uint8_t a = of_type[draw(n)], b = of_type[draw(n)];
    size_t level = step_of(test, a)->level;

    if (draw(5) == 0) {
        return random_products(test, dtype, of_type, n);
    }
    if (draw(2) == 0 && level > 0) {
        size_t to = draw(3) == 0 ? draw(level) : level - 1;
        unsigned lanes = to == level - 1 && draw(2) == 0 ? 1u << draw(7) : 1;
        enum mdf_nest_fold kind = (enum mdf_nest_fold)draw(MDF_NEST_MINIMUM + 1);

        return fold(test, kind, a, to, lanes);
    }
    if (!is_real && draw(20) == 0) {
        return element(test, MDF_LOWERED_QUOTIENT, a, b);
    }
    return element(test, is_real ? real[draw(sizeof real / sizeof *real)] : whole[draw(sizeof whole / sizeof *whole)], a, b);
}

static bool is_used(const struct nest_case *test, uint8_t step)
{
    size_t i;

    for (i = 0; i < test->nest->n_steps; i++) {
        const struct mdf_nest_step *user = &test->nest->steps[i];

        if ((user->kind != MDF_NEST_LOAD && memchr(user->in, step, user->n_in) != NULL) ||
            (user->kind == MDF_NEST_LOAD && user->view.at == step)) {
            return true;
        }
    }
    return false;
}

/* What a sum alone may read. */
static bool is_term(const struct nest_case *test, size_t step)
{
    size_t i;

    for (i = step + 1; i < test->nest->n_steps; i++) {
        const struct mdf_nest_step *fold = &test->nest->steps[i];

        if ((fold->is_fused || fold->has_start) && fold->in[0] == step) {
            return true;
        }
    }
    return false;
}

/* Whatever is not used is stored, with its axes in any order. */
static void store_rest(struct nest_case *test)
{
    size_t n = test->nest->n_steps, i, k;

    for (i = 0; i < n; i++) {
        size_t level = test->nest->steps[i].level, order[MDF_NEST_MOST_AXES], turn = draw(level + 1);

        for (k = 0; k < level; k++) {
            order[k] = (k + turn) % level;
        }
        if ((!is_used(test, (uint8_t)i) || draw(8) == 0) && test->nest->steps[i].kind != MDF_NEST_LOAD && !is_term(test, i)) {
            store(test, (uint8_t)i, draw(3) == 0 ? order : NULL, NULL);
        }
    }
}

static void make_random(struct nest_case *test, size_t number)
{
    static const size_t sizes[] = {2, 3, 4, 5, 8, 16, 19};
    static const mdf_dtype types[] = {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_INT32};
    mdf_dtype dtype;
    size_t extents[MDF_NEST_MOST_AXES], n_axes, n_steps, n = 0, i;
    uint8_t of_type[MDF_NEST_MOST_STEPS];

    seed = number + 1;
    dtype = types[draw(sizeof types / sizeof *types)];
    n_axes = 1 + draw(4);
    for (i = 0; i < n_axes; i++) {
        extents[i] = sizes[draw(sizeof sizes / sizeof *sizes)];
    }
    if (draw(3) == 0) {
        extents[draw(n_axes)] = draw(2) == 0 ? (draw(2) == 0 ? 300 : 512) : 131;
    }
    begin_case(test, number, n_axes, extents);
    for (i = 0; i < 3; i++) {
        of_type[n++] = random_load(test, dtype);
    }
    n_steps = 4 + draw(10);
    if (draw(4) == 0) {
        of_type[n++] = random_gather(test, dtype, random_load(test, MDF_DTYPE_INT64));
    }
    for (i = 0; i < n_steps; i++) {
        of_type[n] = random_step(test, dtype, of_type, n);
        n++;
    }
    if (draw(3) == 0 && step_of(test, of_type[n - 1])->level > 0) {
        fold(test, (enum mdf_nest_fold)(MDF_NEST_FIRST_MAXIMUM + draw(4)), of_type[n - 1],
             step_of(test, of_type[n - 1])->level - 1u, 1);
    }
    if (dtype != MDF_DTYPE_FLOAT64) {
        cast(test, of_type[draw(n)], MDF_DTYPE_FLOAT64);
    }
    store_rest(test);
}

Test(source_nest, random_nests)
{
    check_cases(0, 30, in_vectors, make_random);
    check_cases(40, 120, as_written, make_random);
}

/* ------------------------------------------------------------------ well known ones */

enum { HEADS = 3, VALUES = 20, KEYS = 6 };

/* A state S[h, v, k] is weakened, read by a key, and gets what is missing of a value; in place. Its order of axes is given. */
static void make_delta_rule(struct nest_case *test, size_t number, const int64_t strides[3])
{
    const int64_t by_head[3] = {1}, by_key[3] = {KEYS, 0, 1}, by_value[3] = {VALUES, 1};
    mdf_lowered_id state;
    uint8_t old, key, weakened, held, missing, added;

    begin_case(test, number, 3, (const size_t[]){HEADS, VALUES, KEYS});
    state = input(test, MDF_DTYPE_FLOAT32, (size_t)HEADS * VALUES * KEYS);
    old = load(test, state, 3, 0, strides);
    key = load(test, input(test, MDF_DTYPE_FLOAT32, (size_t)HEADS * KEYS), 3, 0, by_key);
    weakened = element(test, MDF_LOWERED_MULTIPLY, old, load(test, input(test, MDF_DTYPE_FLOAT32, HEADS), 1, 0, by_head));
    held = fold(test, MDF_NEST_SUM, element(test, MDF_LOWERED_MULTIPLY, weakened, key), 2, 1);
    missing = element(test, MDF_LOWERED_SUBTRACT,
                      load(test, input(test, MDF_DTYPE_FLOAT32, (size_t)HEADS * VALUES), 2, 0, by_value), held);
    added = element(test, MDF_LOWERED_ADD, weakened, element(test, MDF_LOWERED_MULTIPLY, missing, key));
    store(test, added, NULL, test->slots[0]);
    memcpy(test->nest->steps[test->nest->n_steps - 1].view.strides, strides, 3 * sizeof *strides);
    store(test, fold(test, MDF_NEST_SUM, element(test, MDF_LOWERED_MULTIPLY, added, key), 2, 1), NULL, NULL);
}

/* As softmax, with divisions in place of exp: what is summed is kept for the division by its sum. */
static void make_shares(struct nest_case *test, size_t number, bool along_rows)
{
    const int64_t rows[2] = {300, 1}, columns[2] = {1, 7};
    uint8_t x, share;

    begin_case(test, number, 2, along_rows ? (const size_t[]){7, 300} : (const size_t[]){300, 7});
    x = load(test, input(test, MDF_DTYPE_FLOAT64, 2100), 2, 0, along_rows ? rows : columns);
    if (!along_rows) {
        memcpy(test->nest->steps[x].view.strides, (const int64_t[]){1, 300}, 2 * sizeof(int64_t));
    }
    x = element(test, MDF_LOWERED_SUBTRACT, x, fold(test, MDF_NEST_MAXIMUM, x, 1, along_rows ? 64 : 1));
    share = element(test, MDF_LOWERED_DIVIDE, element(test, MDF_LOWERED_DIVIDE, x, x), x);
    store(test, element(test, MDF_LOWERED_DIVIDE, share, fold(test, MDF_NEST_SUM, share, 1, along_rows ? 16 : 1)), NULL, NULL);
}

/* Products of matrices, whose sums go through rows of the second one: its columns are the vector axis, in tiles or not. */
static void make_product(struct nest_case *test, size_t number, size_t n_columns)
{
    const int64_t by_row[3] = {5, 0, 1}, by_column[3] = {0, 1, (int64_t)n_columns};
    uint8_t a, b, total;

    begin_case(test, number, 3, (const size_t[]){7, n_columns, 5});
    a = load(test, input(test, MDF_DTYPE_FLOAT32, 35), 3, 0, by_row);
    b = load(test, input(test, MDF_DTYPE_FLOAT32, 5 * n_columns), 3, 0, by_column);
    total = fold(test, MDF_NEST_SUM, element(test, MDF_LOWERED_MULTIPLY, a, b), 2, 1);
    store(test, element(test, MDF_LOWERED_NEGATE, total, total), NULL, NULL);
}

/* The index of an extreme, along rows or along columns. */
static void make_index(struct nest_case *test, size_t number)
{
    const int64_t strides[2] = {number % 2 == 0 ? 30 : 1, number % 2 == 0 ? 1 : 40};

    begin_case(test, number, 2, (const size_t[]){40, 30});
    store(test,
          fold(test, (enum mdf_nest_fold)(MDF_NEST_FIRST_MAXIMUM + number % 4),
               load(test, input(test, number % 3 == 0 ? MDF_DTYPE_INT32 : MDF_DTYPE_FLOAT32, 1200), 2, 0, strides), 1, 1),
          NULL, NULL);
}

/* Of all rows to one, their elements apart: sums in few lanes, with more elements than lanes or fewer. */
static void make_distances(struct nest_case *test, size_t number)
{
    static const size_t lengths[] = {4, 5, 8, 3, 11, 16};
    size_t n = lengths[number % 6];
    const int64_t rows[2] = {1, 300}, row[2] = {0, 1};
    uint8_t apart;

    begin_case(test, number, 2, (const size_t[]){300, n});
    apart = load(test, input(test, MDF_DTYPE_FLOAT32, 300 * n), 2, 0, rows);
    apart = element(test, MDF_LOWERED_SUBTRACT, apart, load(test, input(test, MDF_DTYPE_FLOAT32, n), 2, 0, row));
    store(test, fold(test, MDF_NEST_SUM, element(test, MDF_LOWERED_MULTIPLY, apart, apart), 1, number % 2 == 0 ? 8 : 4), NULL,
          NULL);
}

/* The last two axes of an array in turn, alone or of each of some matrices; sizes that tiles divide, or not. */
static void make_turned(struct nest_case *test, size_t number)
{
    static const size_t sizes[][2] = {{13, 21}, {16, 32}, {300, 9}, {9, 300}};
    const size_t *size = sizes[number % 4], n_axes = number % 8 < 4 ? 2 : 3;
    const size_t extents[3] = {3, size[0], size[1]};
    const int64_t strides[3] = {(int64_t)(size[0] * size[1]), 1, (int64_t)size[0]};

    begin_case(test, number, n_axes, extents + 3 - n_axes);
    store(test,
          load(test, input(test, number % 3 == 0 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32, 3 * size[0] * size[1]), n_axes, 0,
               strides + 3 - n_axes),
          NULL, NULL);
}

static void make_known(struct nest_case *test, size_t number)
{
    static const int64_t keys_last[3] = {VALUES * KEYS, KEYS, 1}, values_last[3] = {VALUES * KEYS, 1, VALUES};
    static const size_t columns[] = {8, 20, 128, 129, 256, 1000};

    seed = number + 1;
    if (number < 2) {
        make_delta_rule(test, number, number == 0 ? keys_last : values_last);
    } else if (number < 4) {
        make_shares(test, number, number == 2);
    } else if (number < 10) {
        make_product(test, number, columns[number - 4]);
    } else if (number < 22) {
        make_index(test, number);
    } else if (number < 28) {
        make_distances(test, number);
    } else {
        make_turned(test, number);
    }
}

Test(source_nest, known_nests)
{
    check_cases(0, 36, in_vectors, make_known);
}

/* Sums whose lanes are joined without vectors as types. */
Test(source_nest, known_nests_without_types_of_vectors)
{
    check_cases(0, 36, without_types, make_known);
}

/* ------------------------------------------------------------------ plans */

static size_t count_events(const struct nest_plan *plan, enum nest_event_kind kind)
{
    size_t n = 0, i;

    for (i = 0; i < plan->n_events; i++) {
        n += plan->events[i].kind == kind;
    }
    return n;
}

Test(source_nest, the_vector_axis_is_where_elements_are_adjacent)
{
    struct nest_case test;
    struct nest_plan plan;

    make_product(&test, 0, 20);
    nest_plan_make(&plan, test.nest, all_steps);
    cr_expect_eq(plan.vector, (size_t)1);
    cr_expect_eq(count_events(&plan, NEST_TILE), (size_t)0);
    build_end(&test.build);
    make_product(&test, 0, 129);
    nest_plan_make(&plan, test.nest, all_steps);
    cr_expect_eq(count_events(&plan, NEST_TILE), (size_t)1);
    build_end(&test.build);
}

/* Rows of a product have their right factor in common, where that is large: they are taken together, and the last ones alone.
 * (The known nests have such.) */
Test(source_nest, rows_that_share_a_factor_are_taken_together)
{
    static struct mdf_nest_step steps[MDF_NEST_MOST_STEPS];
    struct nest_case test;
    struct nest_plan plan;

    make_product(&test, 0, 20);
    nest_plan_make(&plan, test.nest, all_steps);
    cr_expect_eq(nest_rows_axis(&plan), test.nest->n_axes);
    build_end(&test.build);
    make_product(&test, 0, 128);
    nest_plan_make(&plan, test.nest, all_steps);
    cr_expect_eq(nest_rows_axis(&plan), (size_t)0);
    for (size_t n_rows = 4; n_rows <= 7; n_rows++) {
        struct mdf_lowered_nest rows = *test.nest;

        test.nest->extents[0] = n_rows;
        rows.steps = steps;
        nest_rows_together(test.nest, 0, &rows);
        cr_expect_eq(rows.extents[0], (size_t)1);
        cr_expect_eq(rows.n_steps, 4 * test.nest->n_steps - 3); /* the load of the factor is one */
        cr_expect_eq(nest_rows_rest(test.nest, 0, &rows), n_rows > 4);
        cr_expect_eq(rows.extents[0], n_rows - 4);
        cr_expect_eq(rows.steps[0].view.first, 4 * test.nest->steps[0].view.strides[0]);
    }
    build_end(&test.build);
}

/* What is turned goes through few columns of all rows at a time, some more where something is computed too; not where there are
 * few. */
Test(source_nest, what_is_turned_has_tiles_around_its_rows)
{
    const int64_t by_column[2] = {1, 40};
    struct nest_case test;
    struct nest_plan plan;
    size_t number, n_columns;

    for (number = 28; number < 36; number++) {
        make_known(&test, number);
        nest_plan_make(&plan, test.nest, all_steps);
        cr_expect_eq(plan.vector, test.nest->n_axes - 1);
        cr_expect_eq(plan.tile, (size_t)NEST_TURNED_LENGTH);
        cr_expect_eq(plan.events[test.nest->n_axes - 2].kind, NEST_TILE);
        cr_expect_eq(count_events(&plan, NEST_TILE), (size_t)1);
        build_end(&test.build);
    }
    for (n_columns = 8; n_columns <= 24; n_columns += 8) {
        uint8_t turned;

        begin_case(&test, 0, 2, (const size_t[]){40, n_columns});
        turned = load(&test, input(&test, MDF_DTYPE_FLOAT32, 40 * n_columns), 2, 0, by_column);
        turned = element(&test, MDF_LOWERED_NEGATE, turned, turned);
        store(&test, turned, NULL, NULL);
        nest_plan_make(&plan, test.nest, all_steps);
        cr_expect_eq(plan.tile, (size_t)(n_columns == 8 ? NEST_TILE_LENGTH : NEST_TURNED_COMPUTED));
        cr_expect_eq(count_events(&plan, NEST_TILE), (size_t)(n_columns == 24));
        build_end(&test.build);
    }
}

/* Sums of few elements, or in few lanes, have their lanes for each of many rows. */
Test(source_nest, rows_have_lanes_side_by_side)
{
    static const size_t lanes[] = {8, 4, 4, 4, 8, 4};
    struct nest_case test;
    struct nest_plan plan;
    size_t number, i;

    for (number = 22; number < 28; number++) {
        make_known(&test, number);
        nest_plan_make(&plan, test.nest, all_steps);
        cr_expect_eq(plan.vector, (size_t)0);
        for (i = 0; i < test.nest->n_steps; i++) {
            cr_expect(test.nest->steps[i].kind != MDF_NEST_FOLD || nest_plan_lanes(&plan, i) == lanes[number - 22], "%zu: %zu",
                      number, nest_plan_lanes(&plan, i));
        }
        build_end(&test.build);
    }
}

Test(source_nest, what_costs_little_is_made_again)
{
    struct nest_case test;
    struct nest_plan plan;
    size_t i;

    make_known(&test, 0);
    nest_plan_make(&plan, test.nest, all_steps);
    for (i = 0; i < test.nest->n_steps; i++) {
        cr_expect(plan.kept[i] == MDF_NEST_NONE || test.nest->steps[i].level < 3, "step %zu", i);
    }
    build_end(&test.build);
    make_known(&test, 2);
    nest_plan_make(&plan, test.nest, all_steps);
    cr_expect_eq(count_events(&plan, NEST_KEEP), (size_t)1);
    build_end(&test.build);
}
