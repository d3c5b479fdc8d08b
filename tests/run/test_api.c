/* test_api.c - the parts of the public interface that bindings use: values made by the caller, values that outlive an evaluation,
 * parts of nodes, many steps in one call, schedules at once, forms of operators. */
#include "mdf_c/mdf.h"
#include "mdf_c/plan/program.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
};

static void begin(struct fixture *fixture, const char *model)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->model = mdf_model_load_bytes(model, strlen(model), "json", "model.json", NULL, &fixture->error);
    fixture->program = fixture->model != NULL ? mdf_compile(fixture->model, NULL, &fixture->error) : NULL;
    fixture->state = fixture->program != NULL ? mdf_state_new(fixture->program, &fixture->error) : NULL;
    cr_assert_not_null(fixture->state, "%s", fixture->error.message);
}

static void end(struct fixture *fixture)
{
    mdf_state_free(fixture->state);
    mdf_program_free(fixture->program);
    mdf_model_free(fixture->model);
}

static double number_in(const mdf_value *value)
{
    mdf_tensor tensor;

    cr_assert(value != NULL && mdf_value_tensor(value, &tensor));
    return tensor.dtype == MDF_DTYPE_INT64 ? (double)*(const int64_t *)tensor.data : *(const double *)tensor.data;
}

#define COUNTER                                                                                                                 \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"functions\": {\"f\": {\"value\": \"x * " \
    "2\"}, \"t\": "                                                                                                             \
    "{\"function\": \"onnx::TopK\", \"args\": {\"X\": \"[x, 1.0]\", \"K\": 1}}}, \"parameters\": {\"k\": {\"value\": \"k + "    \
    "f\", "                                                                                                                     \
    "\"default_initial_value\": 0}}, \"output_ports\": {\"k\": {\"value\": \"k\"}, \"a\": {\"value\": \"t[0]\"}, \"b\": "       \
    "{\"value\": "                                                                                                              \
    "\"t[1]\"}}}}}}}}"
#define ECHO                                                                                                                 \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"y\": {\"value\": " \
    "\"x\"}}}}}}}}"

#define COUNTER_OF_ARRAYS                                                                                                  \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"k\": {\"value\": " \
    "\"k + x\", \"default_initial_value\": 0}}, \"output_ports\": {\"k\": {\"value\": \"k\"}}}}}}}}"

Test(api, values_of_parts_are_found_by_position)
{
    struct fixture fixture;

    begin(&fixture, COUNTER);
    cr_assert_eq(mdf_program_n_parts(fixture.program, 0, MDF_PART_FUNCTION), 2);
    cr_assert_str_eq(mdf_program_part_id(fixture.program, 0, MDF_PART_FUNCTION, 1), "t");
    cr_assert_eq(mdf_program_part_n_values(fixture.program, 0, MDF_PART_FUNCTION, 1), 2);
    cr_assert_str_eq(mdf_program_part_id(fixture.program, 0, MDF_PART_PARAMETER, 0), "k");
    cr_assert_null(mdf_program_part_id(fixture.program, 0, MDF_PART_PARAMETER, 1));
    cr_assert_eq(mdf_program_n_parts(fixture.program, 7, MDF_PART_INPUT), 0);
    cr_assert_null(mdf_part_at(fixture.state, 0, MDF_PART_PARAMETER, 0, 0), "the node has not run");
    cr_assert_eq(mdf_set_input_json(fixture.state, "x", "3.0", NULL), MDF_OK);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK);
    cr_assert_eq(number_in(mdf_part_at(fixture.state, 0, MDF_PART_INPUT, 0, 0)), 3);
    cr_assert_eq(number_in(mdf_part_at(fixture.state, 0, MDF_PART_FUNCTION, 0, 0)), 6);
    cr_assert_eq(number_in(mdf_part_at(fixture.state, 0, MDF_PART_FUNCTION, 1, 1)), 0);
    cr_assert_eq(number_in(mdf_part_at(fixture.state, 0, MDF_PART_PARAMETER, 0, 0)), 6);
    cr_assert_eq(mdf_part_at(fixture.state, 0, MDF_PART_OUTPUT, 0, 0), mdf_output(fixture.state, "n", "k"));
    cr_assert_null(mdf_part_at(fixture.state, 0, MDF_PART_OUTPUT, 0, 1));
    end(&fixture);
}

/* What the caller makes may be released as soon as it is set. */
Test(api, made_values_of_every_kind_pass_through)
{
    static const int64_t shape[] = {2};
    static const float singles[] = {1.5f, 2.5f};
    static const char *const texts[] = {"a", "b"}, *const keys[] = {"p", "q"};
    const mdf_tensor numbers = {MDF_DTYPE_FLOAT32, 1, shape, singles}, words = {MDF_DTYPE_STRING, 1, shape, texts};
    mdf_value *items[] = {mdf_value_new_tensor(&numbers, NULL), mdf_value_new_tensor(&words, NULL)};
    mdf_value *list = mdf_value_new_list((const mdf_value *const *)items, 2, NULL);
    mdf_value *dict = mdf_value_new_dict(keys, (const mdf_value *const *)items, 2, NULL);
    struct fixture fixture;
    const mdf_value *echo;
    mdf_tensor tensor;

    begin(&fixture, ECHO);
    mdf_value_free(items[0]);
    mdf_value_free(items[1]);
    cr_assert_eq(mdf_set_input_value(fixture.state, "x", list, NULL), MDF_OK);
    mdf_value_free(list);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
    echo = mdf_output(fixture.state, "n", "y");
    cr_assert_eq(mdf_value_kind(echo), MDF_KIND_LIST);
    cr_assert(mdf_value_tensor(mdf_value_item(echo, 0), &tensor) && ((const float *)tensor.data)[1] == 2.5f);
    cr_assert(mdf_value_tensor(mdf_value_item(echo, 1), &tensor));
    cr_assert_str_eq(((const char *const *)tensor.data)[1], "b");
    cr_assert_eq(mdf_set_input_value(fixture.state, "x", dict, NULL), MDF_OK);
    mdf_value_free(dict);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
    echo = mdf_output(fixture.state, "n", "y");
    cr_assert_eq(mdf_value_kind(echo), MDF_KIND_DICT);
    cr_assert_str_eq(mdf_value_key(echo, 1), "q");
    end(&fixture);
}

/* What a file says comes with the places where it stands. */
Test(api, files_are_read_with_places)
{
    char path[] = "/tmp/mdf_placed_XXXXXX.yaml";
    int handle = mkstemps(path, 5);
    FILE *file = fdopen(handle, "w");
    mdf_error error = {0};
    const mdf_value *entry, *inner;
    mdf_tensor tensor;
    mdf_value *root;

    fputs("a: text\nb:\n  - [1, 2]\n  - {c: true}\n", file);
    fclose(file);
    root = mdf_value_read_file(path, NULL, NULL, &error);
    cr_assert_not_null(root, "%s", error.message);
    inner = mdf_value_item(root, 2);
    cr_assert_eq(mdf_value_kind(inner), MDF_KIND_DICT);
    cr_assert_str_eq(mdf_value_key(inner, 1), "b");
    entry = mdf_value_item(inner, 1);
    cr_assert(mdf_value_tensor(mdf_value_item(entry, 0), &tensor) && *(const int64_t *)tensor.data == 2); /* the key's line */
    entry = mdf_value_item(mdf_value_item(mdf_value_item(mdf_value_item(entry, 2), 2), 1), 2);            /* {c: true} */
    entry = mdf_value_item(entry, 0);
    cr_assert(mdf_value_tensor(mdf_value_item(entry, 1), &tensor) && *(const int64_t *)tensor.data == 6); /* the key's column */
    entry = mdf_value_item(entry, 2);
    cr_assert(mdf_value_tensor(mdf_value_item(entry, 1), &tensor) && *(const int64_t *)tensor.data == 9); /* the value's */
    cr_assert(mdf_value_tensor(mdf_value_item(entry, 2), &tensor) && *(const bool *)tensor.data);
    mdf_value_free(root);
    unlink(path);
    cr_assert_null(mdf_value_read_file(path, "json", NULL, &error));
    cr_assert_eq(error.code, MDF_FILE);
    error = (mdf_error){0};
    cr_assert_null(mdf_value_read_file("a.onnx", NULL, NULL, &error));
    cr_assert_eq(error.code, MDF_USAGE);
}

/* Objects that are alike give their numbers at once; any other list, and too little room, nothing. */
Test(api, tables)
{
    static const char *const keys[] = {"p", "q"}, *const turned[] = {"q", "p"};
    mdf_value *numbers[3], *texts[2], *rows[3], *list;
    int64_t found[4] = {0};
    mdf_dtype dtype = MDF_DTYPE_NONE;

    for (int64_t i = 0; i < 3; i++) {
        numbers[i] = mdf_value_new_integer(i + 1, NULL);
    }
    texts[0] = texts[1] = mdf_value_new_text("t", NULL);
    rows[0] = mdf_value_new_dict(keys, (const mdf_value *const *)numbers, 2, NULL);
    rows[1] = mdf_value_new_dict(keys, (const mdf_value *const *)&numbers[1], 2, NULL);
    rows[2] = mdf_value_new_dict(turned, (const mdf_value *const *)numbers, 2, NULL);
    list = mdf_value_new_list((const mdf_value *const *)rows, 2, NULL);
    cr_assert(mdf_value_table(list, &dtype, NULL, 0) && dtype == MDF_DTYPE_INT64);
    cr_expect(mdf_value_has_keys(list, keys, 2) && mdf_value_has_keys(rows[2], turned, 2));
    cr_expect(!mdf_value_has_keys(list, turned, 2) && !mdf_value_has_keys(list, keys, 1) && !mdf_value_has_keys(numbers[0], keys, 2));
    cr_expect(!mdf_value_table(list, &dtype, found, sizeof found - 1));
    cr_assert(mdf_value_table(list, &dtype, found, sizeof found));
    cr_expect(found[0] == 1 && found[1] == 2 && found[2] == 2 && found[3] == 3);
    mdf_value_free(list);
    list = mdf_value_new_list((const mdf_value *const *)rows, 3, NULL);
    cr_expect(!mdf_value_has_keys(list, keys, 2));
    cr_expect(!mdf_value_table(list, &dtype, NULL, 0), "the keys stand in another order");
    mdf_value_free(list);
    mdf_value_free(rows[2]);
    rows[2] = mdf_value_new_dict(keys, (const mdf_value *const *)texts, 2, NULL);
    list = mdf_value_new_list((const mdf_value *const *)&rows[2], 1, NULL);
    cr_expect(!mdf_value_table(list, &dtype, NULL, 0) && !mdf_value_table(rows[0], &dtype, NULL, 0));
    mdf_value_free(list);
    for (size_t i = 0; i < 3; i++) {
        mdf_value_free(rows[i]);
        mdf_value_free(numbers[i]);
    }
    mdf_value_free(texts[0]);
}

/* Each evaluation is as the first of a new state; one with inputs of its own goes on. */
Test(api, inputs_are_set_and_evaluated_in_one_call)
{
    static const int64_t shape[] = {2};
    static const double ones[] = {1, 1};
    static const char *const names[] = {"x", "n.x"}, *const unknown[] = {"x", "z"}, *const none[] = {"x", NULL};
    const mdf_tensor values[] = {{MDF_DTYPE_FLOAT64, 0, NULL, ones}, {MDF_DTYPE_FLOAT64, 1, shape, ones}};
    struct fixture fixture;
    mdf_tensor results[1] = {{0}}, other;

    begin(&fixture, COUNTER_OF_ARRAYS);
    cr_expect(!mdf_results_locate(fixture.state, results, 1), "the node has not run");
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(mdf_evaluate_anew(fixture.state, 0, names, values, 2, &fixture.error), MDF_OK, "%s", fixture.error.message);
        cr_expect_eq(number_in(mdf_result_at(fixture.state, 0)), 1, "the last of one port counts, and no sum is left");
    }
    cr_assert(mdf_value_tensor(mdf_result_at(fixture.state, 0), &results[0]) && results[0].rank == 1);
    cr_expect(!mdf_results_locate(fixture.state, results, 0));
    cr_assert_eq(mdf_set_inputs(fixture.state, names, values, 2, &fixture.error), MDF_OK);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK);
    results[0].data = NULL;
    cr_assert(mdf_results_locate(fixture.state, results, 1));
    cr_expect_eq(*(const double *)results[0].data, 2);
    other = results[0];
    other.rank = 0;
    cr_expect(!mdf_results_locate(fixture.state, &other, 1), "another shape");
    other = results[0];
    other.dtype = MDF_DTYPE_INT64;
    cr_expect(!mdf_results_locate(fixture.state, &other, 1), "another type");
    other.rank = SIZE_MAX;
    cr_expect(mdf_results_locate(fixture.state, &other, 1), "any value");
    cr_expect_eq(other.data, mdf_result_at(fixture.state, 0));
    cr_expect_eq(mdf_set_inputs(fixture.state, unknown, values, 2, NULL), MDF_NAME);
    cr_expect_eq(mdf_evaluate_anew(fixture.state, 0, unknown, values, 2, NULL), MDF_NAME);
    cr_expect_eq(mdf_set_inputs(fixture.state, none, values, 2, NULL), MDF_USAGE);
    cr_expect_eq(mdf_evaluate_anew(fixture.state, 0, none, values, 2, NULL), MDF_USAGE);
    cr_expect_eq(mdf_evaluate_anew(fixture.state, 0, NULL, NULL, 0, NULL), MDF_OK, "no inputs");
    end(&fixture);
}

#define SUM_WITH_TWO                                                                                                         \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"y\": {\"value\": " \
    "\"x * 2 + [1, 2]\"}}}}}}}}"

/* What evaluations as new prepare is used by later ones; nothing else outlasts them. */
Test(api, evaluations_as_new_are_lowered)
{
    static const int64_t two[] = {2}, three[] = {3}, integers[] = {3, 4};
    static const double reals[] = {0.5, 0.25, 0};
    static const char *const names[] = {"x"};
    const mdf_tensor values[] = {{MDF_DTYPE_FLOAT64, 1, two, reals}, {MDF_DTYPE_INT64, 1, two, integers}},
                     wrong = {MDF_DTYPE_FLOAT64, 1, three, reals};
    struct fixture fixture;
    char text[256];
    mdf_tensor y;

    begin(&fixture, SUM_WITH_TWO);
    for (int i = 0; i < 12; i++) {
        bool is_integer = i / 4 == 1;

        cr_assert_eq(mdf_evaluate_anew(fixture.state, 0, names, &values[is_integer], 1, &fixture.error), MDF_OK);
        cr_assert(mdf_value_tensor(mdf_output(fixture.state, "n", "y"), &y));
        cr_expect_eq(y.dtype, is_integer ? MDF_DTYPE_INT64 : MDF_DTYPE_FLOAT64);
        cr_expect(is_integer ? ((const int64_t *)y.data)[1] == 10 : ((const double *)y.data)[1] == 2.5, "evaluation %d", i);
        if (i == 3) {
            mdf_explain(fixture.state, text, sizeof text);
            cr_expect_eq(strncmp(text, "graph 'g': lowered", 18), 0, "%s", text);
        }
    }
    cr_expect_eq(mdf_evaluate_anew(fixture.state, 0, names, &wrong, 1, NULL), MDF_SHAPE);
    cr_expect_eq(mdf_value_kind(mdf_output(fixture.state, "n", "y")), MDF_KIND_NONE, "one that failed leaves a new state");
    cr_expect_eq(mdf_evaluate_anew(fixture.state, 0, names, values, 1, NULL), MDF_OK);
    end(&fixture);
}

#define TWO_IN_A_ROW                                                                                                             \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"value\": \"x * " \
    "x\"}}, "                                                                                                                    \
    "\"output_ports\": {\"y\": {\"value\": \"p\"}}}, \"b\": {\"input_ports\": {\"y\": {}}, \"output_ports\": {\"z\": "           \
    "{\"value\": "                                                                                                               \
    "\"y + 2\"}}}}, \"edges\": {\"e\": {\"sender\": \"a\", \"sender_port\": \"y\", \"receiver\": \"b\", \"receiver_port\": "     \
    "\"y\"}}}}}}"

/* Of graphs in which nothing is left for a later evaluation: what a state found out is of use to the next one from the start. */
Test(api, a_new_state_is_lowered_from_its_first_evaluation)
{
    enum { N_LIVES = 12 };
    static const int64_t shapes[] = {3, 5};
    static const double reals[] = {0.5, 0.25, 2, 4, 8};
    static const int64_t integers[] = {3, 4, 5};
    struct fixture fixture;
    char text[64];
    mdf_tensor z;

    begin(&fixture, TWO_IN_A_ROW);
    for (int life = 0; life < N_LIVES; life++) {
        bool is_integer = life / 4 == 1, is_longer = life / 4 == 2;
        const mdf_tensor x = {is_integer ? MDF_DTYPE_INT64 : MDF_DTYPE_FLOAT64, 1, &shapes[is_longer],
                              is_integer ? (const void *)integers : reals};

        cr_expect_eq(mdf_value_kind(mdf_output(fixture.state, "b", "z")), MDF_KIND_NONE, "nothing has run in life %d", life);
        cr_expect_eq(mdf_schedule_n_sets(fixture.state), 0);
        cr_assert_eq(mdf_set_input(fixture.state, "x", &x, NULL), MDF_OK);
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
        cr_assert(mdf_value_tensor(mdf_output(fixture.state, "b", "z"), &z));
        cr_expect_eq(z.shape[0], *x.shape);
        cr_expect(is_integer ? ((const int64_t *)z.data)[2] == 27 : ((const double *)z.data)[2] == 6, "life %d", life);
        cr_expect_eq(mdf_schedule_n_sets(fixture.state), 2);
        cr_expect_eq(mdf_schedule_node(fixture.state, 0, 0), 0);
        cr_expect_eq(mdf_schedule_node(fixture.state, 1, 0), 1);
        mdf_explain(fixture.state, text, sizeof text);
        cr_expect_eq(strncmp(text, "graph 'g': lowered", 18) == 0, life >= 2, "life %d: %s", life, text);
        mdf_state_free(fixture.state);
        fixture.state = mdf_state_new(fixture.program, &fixture.error);
        cr_assert_not_null(fixture.state);
    }
    end(&fixture);
}

/* Whose memory a program keeps for the next one. */
Test(api, new_states_are_new_where_others_were_freed)
{
    static const int64_t shape[] = {4};
    static const double numbers[] = {1, 2, 3, 4};
    const mdf_tensor x = {MDF_DTYPE_FLOAT64, 1, shape, numbers};
    struct fixture fixture;
    mdf_tensor tensor;

    begin(&fixture, COUNTER_OF_ARRAYS);
    for (int life = 0; life < 4; life++) {
        cr_expect_eq(mdf_value_kind(mdf_output(fixture.state, "n", "k")), MDF_KIND_NONE, "nothing has run");
        cr_expect_eq(mdf_schedule_n_sets(fixture.state), 0);
        for (int i = 0; i < 3 + life; i++) {
            cr_assert_eq(mdf_lend_input(fixture.state, "x", &x, NULL), MDF_OK);
            cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
            cr_assert(mdf_value_tensor(mdf_output(fixture.state, "n", "k"), &tensor));
            cr_expect_eq(((const double *)tensor.data)[3], 4 * (i + 1), "life %d, evaluation %d", life, i);
        }
        mdf_state_interrupt(fixture.state);
        mdf_state_limit_time(fixture.state, 1e-9);
        mdf_state_free(fixture.state);
        fixture.state = mdf_state_new(fixture.program, &fixture.error);
        cr_assert_not_null(fixture.state);
    }
    end(&fixture);
}

/* What is large, or has failed, is not kept: memory goes back. */
Test(api, large_states_are_released)
{
    static const int64_t small[] = {4}, large[] = {1 << 21}, other[] = {3};
    static double numbers[1 << 21];
    const mdf_tensor values[] = {
        {MDF_DTYPE_FLOAT64, 1, small, numbers}, {MDF_DTYPE_FLOAT64, 1, large, numbers}, {MDF_DTYPE_FLOAT64, 1, other, numbers}};
    struct fixture fixture;

    begin(&fixture, COUNTER_OF_ARRAYS);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(mdf_set_input(fixture.state, "x", &values[i], NULL), MDF_OK);
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
        mdf_state_free(fixture.state);
        cr_expect_eq(atomic_load(&fixture.program->spares->states[0]) != NULL, i == 0);
        fixture.state = mdf_state_new(fixture.program, &fixture.error);
    }
    for (int i = 0; i < 3; i += 2) {
        cr_assert_eq(mdf_set_input(fixture.state, "x", &values[i], NULL), MDF_OK);
        cr_expect_eq(mdf_evaluate(fixture.state, NAN, NULL), i == 0 ? MDF_OK : MDF_SHAPE);
    }
    mdf_state_free(fixture.state);
    cr_expect_null(atomic_load(&fixture.program->spares->states[0]), "one that failed");
    fixture.state = NULL;
    end(&fixture);
}

/* A lent array is looked at where it is when the evaluation begins, and never written; what is set afterwards goes elsewhere. */
Test(api, lent_inputs_are_not_copied)
{
    enum { N = 1 << 16 }; /* large beside what lowering needs in passing */
    static const int64_t shape[] = {N}, thin[] = {1, 1, N / 2, 1, 2};
    static double numbers[N];
    static unsigned char bytes[sizeof numbers + 1];
    const mdf_tensor lent = {MDF_DTYPE_FLOAT64, 1, shape, numbers}, of_five_axes = {MDF_DTYPE_FLOAT64, 5, thin, numbers},
                     unaligned = {MDF_DTYPE_FLOAT64, 1, shape, bytes + 1};
    struct fixture fixture;
    mdf_tensor tensor;
    size_t peak;

    begin(&fixture, COUNTER_OF_ARRAYS);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(mdf_lend_input(fixture.state, "x", &lent, NULL), MDF_OK);
        numbers[N - 1] = 1 + i;
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
        cr_assert(mdf_value_tensor(mdf_part_at(fixture.state, 0, MDF_PART_INPUT, 0, 0), &tensor));
        cr_expect_eq(tensor.data, numbers);
        cr_assert(mdf_value_tensor(mdf_output(fixture.state, "n", "k"), &tensor));
        cr_expect_eq(((const double *)tensor.data)[N - 1], (i + 1) * (i + 2) / 2.0, "sums");
    }
    peak = mdf_state_peak_bytes(fixture.state);
    memcpy(bytes + 1, numbers, sizeof numbers);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(mdf_set_input(fixture.state, "x", &lent, NULL), MDF_OK);
        numbers[N - 1] = 1000;
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
        cr_assert(mdf_value_tensor(mdf_part_at(fixture.state, 0, MDF_PART_INPUT, 0, 0), &tensor));
        cr_expect_eq(((const double *)tensor.data)[N - 1], i == 0 ? 4 : 1000, "a copy");
    }
    cr_expect_gt(mdf_state_peak_bytes(fixture.state), peak + sizeof numbers - 1);
    cr_expect_eq(numbers[N - 1], 1000);
    /* What can not be looked at where it is is copied. */
    cr_assert_eq(mdf_lend_input(fixture.state, "x", &unaligned, NULL), MDF_OK);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
    cr_assert(mdf_value_tensor(mdf_part_at(fixture.state, 0, MDF_PART_INPUT, 0, 0), &tensor));
    cr_expect_eq(((const double *)tensor.data)[N - 1], 4);
    cr_assert_eq(mdf_lend_input(fixture.state, "x", &of_five_axes, NULL), MDF_OK);
    cr_assert_eq(mdf_lend_input(fixture.state, "y", &lent, NULL), MDF_NAME);
    end(&fixture);
}

Test(api, scalars_and_literals_have_their_types)
{
    static const int64_t shape[] = {2};
    static const int64_t integers[] = {1, 2};
    const mdf_tensor tensor = {MDF_DTYPE_INT64, 1, shape, integers}, untyped = {MDF_DTYPE_NONE, 0, NULL, NULL};
    static const mdf_dtype expected[] = {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_BOOL, MDF_DTYPE_STRING, MDF_DTYPE_INT64};
    mdf_value *values[] = {mdf_value_new_real(0.5, NULL), mdf_value_new_integer(3, NULL), mdf_value_new_truth(true, NULL),
                           mdf_value_new_text("t", NULL), mdf_value_new_literal(&tensor, NULL)};
    mdf_value *none = mdf_value_new_none(NULL);
    mdf_error error = {0};
    mdf_tensor read;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cr_assert(mdf_value_tensor(values[i], &read));
        cr_assert_eq(read.dtype, expected[i]);
        mdf_value_free(values[i]);
    }
    cr_assert_eq(mdf_value_kind(none), MDF_KIND_NONE);
    mdf_value_free(none);
    cr_assert_null(mdf_value_new_tensor(&untyped, &error));
    cr_assert_eq(error.code, MDF_USAGE);
    mdf_value_free(NULL);
}

/* No string is NULL, nor one that a Scan of version 8 puts behind the end of a sequence. */
Test(api, padding_is_empty_strings)
{
    struct fixture fixture;
    mdf_tensor tensor;

    begin(
        &fixture,
        "{\"m\": {\"onnx_opset_version\": \"8\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": "
        "\"numpy.array([['a', 'b'], ['c', 'd']])\"}, \"s\": {\"function\": \"onnx::Scan\", \"args\": {\"sequence_lens\": [0, 1], "
        "\"initial_state_and_scan_inputs\": \"[x]\", \"num_scan_inputs\": 1, \"body\": {\"b\": {\"metadata\": {\"inputs\": "
        "[\"v\"], \"outputs\": [\"v\"]}, \"nodes\": {}}}}}}, \"output_ports\": {\"k\": {\"value\": \"s\"}}}}}}}}");
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
    cr_assert(mdf_value_tensor(mdf_output(fixture.state, "n", "k"), &tensor));
    cr_assert(tensor.dtype == MDF_DTYPE_STRING && tensor.rank == 2);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(((const char *const *)tensor.data)[i], i == 2 ? "c" : "");
    }
    end(&fixture);
}

Test(api, a_kept_value_outlives_later_evaluations)
{
    struct fixture fixture;
    mdf_value *kept;

    begin(&fixture, COUNTER);
    mdf_set_input_json(fixture.state, "x", "1.0", NULL);
    mdf_evaluate(fixture.state, NAN, NULL);
    kept = mdf_value_keep(mdf_output(fixture.state, "n", "k"), &fixture.error);
    mdf_set_input_json(fixture.state, "x", "1.0", NULL);
    mdf_evaluate(fixture.state, NAN, NULL);
    cr_assert_eq(number_in(kept), 2);
    cr_assert_eq(number_in(mdf_output(fixture.state, "n", "k")), 4);
    mdf_value_free(kept);
    end(&fixture);
}

Test(api, series_give_each_step_its_own_inputs)
{
    double values[4] = {0}, given[4] = {1, 10, 100, 1000};
    const mdf_record record = {.node = 0, .output = 0, .dtype = MDF_DTYPE_FLOAT64, .size_bytes = sizeof(double), .data = values};
    mdf_series series = {"x", {MDF_DTYPE_FLOAT64, 0, NULL, given}, sizeof(double)};
    struct fixture fixture;
    uint64_t n_done, n_recorded;
    mdf_error error = {0};

    begin(&fixture, COUNTER);
    cr_assert_eq(mdf_evaluate_series(fixture.state, &series, 1, 4, NAN, NAN, 0, &record, 1, &n_done, &n_recorded, &fixture.error),
                 MDF_OK);
    cr_assert(n_done == 4 && n_recorded == 4);
    cr_assert_eq(values[1] - values[0], 20);
    cr_assert_eq(values[3] - values[2], 2000);
    cr_assert_eq(mdf_evaluate_series(fixture.state, &series, 1, 4, NAN, NAN, 0, NULL, 0, &n_done, &n_recorded, &fixture.error),
                 MDF_OK);
    cr_assert_eq(number_in(mdf_output(fixture.state, "n", "k")), values[3] + 2222, "each step is run");
    series.name = "no_such";
    cr_assert_eq(mdf_evaluate_series(fixture.state, &series, 1, 4, NAN, NAN, 0, NULL, 0, &n_done, &n_recorded, &error), MDF_NAME);
    cr_assert_eq(n_done, 0);
    series = (mdf_series){"x", {MDF_DTYPE_STRING, 0, NULL, given}, 0};
    error.code = MDF_OK;
    cr_assert_eq(mdf_evaluate_series(fixture.state, &series, 1, 4, NAN, NAN, 0, NULL, 0, &n_done, &n_recorded, &error),
                 MDF_USAGE);
    cr_assert(strstr(error.message, "input 0") != NULL, "%s", error.message);
    end(&fixture);
}

Test(api, steps_repeat_the_inputs_and_write_values_down)
{
    double values[4] = {0};
    mdf_record record = {.node = 0, .output = 0, .dtype = MDF_DTYPE_FLOAT64, .size_bytes = sizeof(double), .data = values};
    struct fixture fixture;
    uint64_t n_done, n_recorded;

    begin(&fixture, COUNTER);
    mdf_set_input_json(fixture.state, "x", "1.0", NULL);
    cr_assert_eq(mdf_evaluate_steps(fixture.state, 4, NAN, NAN, 0, &record, 1, &n_done, &n_recorded, &fixture.error), MDF_OK);
    cr_assert(n_done == 4 && n_recorded == 4);
    cr_assert_eq(values[0], 2);
    cr_assert_eq(values[3], 8);
    record.dtype = MDF_DTYPE_FLOAT32; /* not the form that the port has */
    record.size_bytes = sizeof(float);
    cr_assert_eq(mdf_evaluate_steps(fixture.state, 4, NAN, NAN, 0, &record, 1, &n_done, &n_recorded, &fixture.error), MDF_OK);
    cr_assert(n_done == 1 && n_recorded == 0);
    cr_assert_eq(number_in(mdf_output(fixture.state, "n", "k")), 8, "the inputs of earlier steps are spent");
    cr_assert_eq(mdf_evaluate_steps(fixture.state, UINT64_MAX, NAN, NAN, 1e-3, NULL, 0, &n_done, &n_recorded, &fixture.error),
                 MDF_OK);
    cr_assert(n_done > 0 && n_recorded == n_done, "the time was up");
    mdf_state_interrupt(fixture.state);
    cr_assert_eq(mdf_evaluate_steps(fixture.state, 9, NAN, NAN, 0, NULL, 0, &n_done, &n_recorded, &fixture.error),
                 MDF_INTERRUPTED);
    cr_assert_eq(n_done, 0);
    mdf_state_interrupt(fixture.state);
    mdf_state_forget_interrupt(fixture.state);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, NULL), MDF_OK);
    end(&fixture);
}

/* What was lowered for evaluations without a time increment is not run for those with one, be it of an earlier life. */
Test(api, steps_have_their_increment)
{
    struct fixture fixture;
    uint64_t n_done, n_recorded;

    begin(&fixture, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"default_initial_value\": 1.0, "
                    "\"time_derivative\": \"k\"}}, \"output_ports\": {\"k\": {\"value\": \"k\"}}}}}}}}");
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
    }
    for (int life = 0; life < 3; life++) {
        cr_assert_eq(mdf_evaluate_steps(fixture.state, 21, NAN, 0.5, 0, NULL, 0, &n_done, &n_recorded, &fixture.error), MDF_OK);
        cr_expect_float_eq(number_in(mdf_output(fixture.state, "n", "k")), pow(1.5, 20), 1e-9, "life %d", life);
        cr_assert_eq(mdf_state_reset(fixture.state, 0, &fixture.error), MDF_OK);
    }
    end(&fixture);
}

static void count_warning(void *count, const mdf_error *warning)
{
    cr_expect_neq(warning->code, MDF_OK);
    ++*(size_t *)count;
}

/* Who wants to know first whether there is anything gives no function. */
Test(api, what_a_run_is_warned_of_is_counted)
{
    const char *const given[] = {"x"};
    struct fixture fixture;
    size_t n_called = 0;

    begin(&fixture,
          "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"k\": "
          "{\"default_initial_value\": 1.0, \"time_derivative\": \"x\"}}, \"output_ports\": {\"k\": {\"value\": \"k\"}}}}}}}}");
    cr_expect_eq(mdf_check_run(fixture.program, NULL, 0, 2, NAN, NULL, NULL), 2);
    cr_expect_eq(mdf_check_run(fixture.program, NULL, 0, 2, NAN, count_warning, &n_called), 2);
    cr_expect_eq(n_called, 2);
    cr_expect_eq(mdf_check_run(fixture.program, given, 1, 2, NAN, NULL, NULL), 1);
    cr_expect_eq(mdf_check_run(fixture.program, NULL, 0, 2, 0.5, NULL, NULL), 1);
    cr_expect_eq(mdf_check_run(fixture.program, given, 1, 1, NAN, NULL, NULL), 0);
    end(&fixture);
}

/* 'b' has not run when 'a' fails: what it was given is not kept for the evaluation after that. */
Test(api, an_evaluation_that_fails_spends_its_inputs)
{
    static const char text[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {"
                               "\"a\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"p\": {\"value\": \"1 / (1 - x)\"}}},"
                               "\"b\": {\"input_ports\": {\"y\": {}}, \"output_ports\": {\"q\": {\"value\": \"y\"}}}}}}}}";
    struct fixture fixture;
    mdf_tensor tensor;

    begin(&fixture, text);
    cr_assert_eq(mdf_set_input_json(fixture.state, "x", "1", NULL), MDF_OK);
    cr_assert_eq(mdf_set_input_json(fixture.state, "y", "7", NULL), MDF_OK);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, NULL), MDF_VALUE);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, NULL), MDF_OK);
    cr_assert(mdf_value_tensor(mdf_output(fixture.state, "b", "q"), &tensor));
    cr_assert_eq(tensor.dtype, MDF_DTYPE_FLOAT64);
    cr_assert_eq(*(const double *)tensor.data, 0);
    end(&fixture);
}

/* A sequence where an operator wants an array is made one, before it turns out to be of another type: the next call has its own. */
Test(api, an_evaluation_that_fails_leaves_none_of_its_inputs)
{
    static const char text[] =
        "{\"m\": {\"onnx_opset_version\": \"15\", \"graphs\": {\"g\": {\"nodes\": {\"s\": {\"input_ports\": {\"x\": {\"type\": \"float64\", \"shape\": [1, 2]}}, "
        "\"parameters\": {\"p\": {\"function\": \"onnx::SequenceConstruct\", \"args\": {\"inputs\": \"[x]\"}}}, \"output_ports\": {\"q\": {\"value\": \"p\"}}}, "
        "\"n\": {\"input_ports\": {\"k\": {\"type\": \"int64\", \"shape\": []}}, \"parameters\": {\"f\": {\"value\": 4, \"metadata\": {\"type\": \"int64\", "
        "\"shape\": []}}, \"p\": {\"function\": \"onnx::Mod\", \"args\": {\"A\": \"k\", \"B\": \"f\"}}}, \"output_ports\": {\"r\": {\"value\": \"p\"}}}}}}}}";
    struct fixture fixture;

    begin(&fixture, text);
    mdf_state_free(fixture.state);
    mdf_program_free(fixture.program);
    fixture.program = mdf_compile(fixture.model, &(mdf_options){.plain = true}, NULL); /* lowered, calls are no more */
    fixture.state = mdf_state_new(fixture.program, NULL);
    for (int i = 0; i < 3; i++) {
        mdf_tensor tensor;

        mdf_set_input_json(fixture.state, "k", "7", NULL);
        mdf_set_input_json(fixture.state, "x", "[[0.5, 1.5]]", NULL);
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, NULL), MDF_OK);
        cr_assert(mdf_value_tensor(mdf_output(fixture.state, "n", "r"), &tensor));
        cr_expect_eq(*(const int64_t *)tensor.data, 3);
        mdf_set_input_json(fixture.state, "x", "[[0.5, 1.5]]", NULL);
        mdf_set_input_value(fixture.state, "k", mdf_output(fixture.state, "s", "q"), NULL);
        cr_expect_eq(mdf_evaluate(fixture.state, NAN, NULL), MDF_TYPE);
    }
    end(&fixture);
}

Test(api, a_schedule_is_read_at_once)
{
    size_t words[3] = {9, 9, 9};
    struct fixture fixture;

    begin(&fixture, ECHO);
    mdf_evaluate(fixture.state, NAN, NULL);
    cr_assert_eq(mdf_schedule_read(fixture.state, words, 2), 3, "all that it would take");
    cr_assert(words[0] == 1 && words[1] == 1 && words[2] == 9);
    cr_assert_eq(mdf_schedule_read(fixture.state, words, 3), 3);
    cr_assert_eq(words[2], 0);
    end(&fixture);
}

Test(api, operators_tell_their_form)
{
    char text[256], small[8];
    size_t n = 0;

    cr_assert_eq(mdf_onnx_operator_form("Gemm", 15, text, sizeof text), strlen(text));
    cr_assert_str_eq(text, "A B C? | Y | alpha beta transA transB ");
    cr_assert_eq(mdf_onnx_operator_form("Gemm", 15, small, sizeof small), strlen(text));
    cr_assert_str_eq(small, "A B C? ");
    cr_assert(mdf_onnx_operator_form("Scan", 15, text, sizeof text) > 0 &&
              strncmp(text, "initial_state_and_scan_inputs* | ", 33) == 0);
    cr_assert_eq(mdf_onnx_operator_form("Gem", 15, text, sizeof text), 0);
    cr_assert_str_eq(text, "");
    for (const char *last = "", *name; (name = mdf_onnx_operator_name(n)) != NULL; n++, last = name) {
        cr_assert(strcmp(last, name) < 0, "%s before %s", last, name);
    }
    cr_assert_gt(n, 150);
}
