/* test_places.c - elements of a state that a loop's body takes and puts at indices that it computes: by addresses in the lowered
 * form, with the results of the plain way, also where an index counts from the end or is out of range. */
#include "mdf_c/machine/emit.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14 };

/* Six runs of a body that makes `k` of the state `s`, float32[3, 4], by `functions`, with the number i of the run. */
#define MODEL                                                                                                                   \
    "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"f\": {\"function\": " \
    "\"onnx::Cast\", \"args\": {\"input\": \"numpy.array([[0.5, -1.25, 2.0, 0.0], [-0.75, 7.0, 3.5, -2.0], [1.0, 4.0, -6.0, "   \
    "9.0]])\", \"to\": 1}}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 6, \"v_initial\": \"[f]\", \"body\": "      \
    "{\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"functions\": {%s}, \"output_ports\": {\"d\": "  \
    "{\"value\": \"c\"}, \"t\": {\"value\": \"k\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}"
#define CALL(name, function, arguments) "\"" name "\": {\"function\": \"onnx::" function "\", \"args\": {" arguments "}}"
#define BINARY(name, function, a, b) CALL(name, function, "\"A\": \"" a "\", \"B\": \"" b "\"")
#define ROW(name, of, length) CALL(name, "Reshape", "\"data\": \"" of "\", \"shape\": \"numpy.array([" length "])\"")
#define JOIN(name, a, b) CALL(name, "Concat", "\"inputs\": \"[" a ", " b "]\", \"axis\": 0")
#define INTEGERS(name, numbers) CALL(name, "Cast", "\"input\": \"numpy.array(" numbers ")\", \"to\": 7")
/* Row and column of element i, counted from the end of each where `back` is [-3, -4]. */
#define PLACE(back)                                                                                                             \
    INTEGERS("four", "4")                                                                                                       \
    "," INTEGERS("one", "1") "," INTEGERS("back", back) "," BINARY("y", "Div", "i", "four") "," CALL(                           \
        "x", "Mod",                                                                                                             \
        "\"A\": \"i\", \"B\": \"four\"") "," ROW("y1", "y", "1") "," ROW("x1", "x", "1") "," JOIN("yx", "y1",                   \
                                                                                                  "x1") "," BINARY("at", "Add", \
                                                                                                                   "yx", "back")
#define TAKE CALL("e", "GatherND", "\"data\": \"s\", \"indices\": \"at\"")
#define PUT CALL("k", "ScatterND", "\"data\": \"s\", \"indices\": \"at2\", \"updates\": \"h1\"")
#define PUT_DOUBLED BINARY("h", "Add", "e", "e") "," ROW("h1", "h", "1") "," ROW("at2", "at", "1, 2") "," PUT
/* The state as a row, and that as the state. */
#define FLAT ROW("r", "s", "12")
#define SHAPED ROW("k", "p", "3, 4")
#define NEXT INTEGERS("one", "1") "," BINARY("j", "Add", "i", "one") "," ROW("i1", "i", "1") "," ROW("j1", "j", "1")

struct place {
    const char *functions;
    bool calls, fails; /* a kernel is left among them; an index is out of range */
};

static char how[TEXT_SIZE]; /* what explain says of the last run */

static mdf_status run(struct engine *engine, const char *model, bool plain)
{
    const mdf_options options = {.plain = plain};
    mdf_status status;

    cr_assert(engine_begin(engine, model, &options), "%s: %s", model, engine->error.message);
    status = engine_evaluate(engine, 4);
    mdf_explain(engine->state, how, sizeof how);
    return status;
}

static void expect_same(const struct place *place)
{
    static char model[TEXT_SIZE];
    struct engine plain, lowered;
    mdf_tensor expected, elements;
    mdf_status status;

    cr_assert_lt(snprintf(model, sizeof model, MODEL, place->functions), TEXT_SIZE);
    status = run(&plain, model, true);
    cr_expect_eq(status != MDF_OK, place->fails, "%s: %s", place->functions, plain.error.message);
    cr_expect_eq(run(&lowered, model, false), status, "%s: %s", place->functions, lowered.error.message);
    if (status == MDF_OK) {
        cr_assert(mdf_value_tensor(mdf_output(plain.state, "n", "o"), &expected));
        cr_assert(mdf_value_tensor(mdf_output(lowered.state, "n", "o"), &elements));
        cr_assert(elements.rank == 2 && elements.shape[0] == 3 && elements.shape[1] == 4, "%s", place->functions);
        cr_expect_eq(memcmp(expected.data, elements.data, 12 * sizeof(float)), 0, "%s", place->functions);
        cr_expect_eq(strstr(how, "calls kernels") != NULL || strstr(how, "bodies step by step") != NULL, place->calls, "%s: %s",
                     place->functions, how);
    } else {
        cr_expect_str_eq(plain.error.message, lowered.error.message, "%s", place->functions);
    }
    engine_end(&plain);
    engine_end(&lowered);
}

Test(places, same_results_by_addresses)
{
    static const struct place cases[] = {
        {PLACE("[0, 0]") "," TAKE "," PUT_DOUBLED, false, false},
        {PLACE("[-3, -4]") "," TAKE "," PUT_DOUBLED, false, false},
        {PLACE("[0, 2]") "," TAKE "," PUT_DOUBLED, false, true},  /* element [0, 4] is not [1, 0] */
        {PLACE("[0, -5]") "," TAKE "," PUT_DOUBLED, false, true}, /* nor is [1, -5] [0, 3] */
        {PLACE("[-4, 0]") "," TAKE "," PUT_DOUBLED, false, true},
        /* rows */
        {INTEGERS("three", "3") "," CALL("x", "Mod", "\"A\": \"i\", \"B\": \"three\"") "," ROW(
             "at", "x", "1") "," TAKE
                             "," BINARY("h", "Add", "e", "e") "," ROW("h1", "h", "1, 4") "," ROW("at2", "at", "1, 1") "," PUT,
         false, false},
        /* two elements are taken and change places, in order; the later of two of the same place stays */
        {FLAT "," NEXT "," JOIN("at", "i1", "j1") "," CALL("e", "Gather", "\"data\": \"r\", \"indices\": \"at\"") "," CALL(
             "a", "ReduceMax",
             "\"data\": \"e\"") "," CALL("b", "ReduceMin",
                                         "\"data\": \"e\"") "," JOIN("h", "a",
                                                                     "b") "," CALL("p", "ScatterElements",
                                                                                   "\"data\": \"r\", \"indices\": \"at\", "
                                                                                   "\"updates\": \"h\"") "," SHAPED,
         false, false},
        {FLAT "," NEXT "," JOIN("at", "i1", "i1") "," CALL("e", "Gather", "\"data\": \"r\", \"indices\": \"at\"") "," CALL(
             "h", "Mul",
             "\"A\": \"e\", \"B\": \"numpy.array([2, 3], numpy.float32)\"") "," CALL("p", "ScatterElements",
                                                                                     "\"data\": \"r\", \"indices\": \"at\", "
                                                                                     "\"updates\": \"h\"") "," SHAPED,
         false, false},
        {FLAT "," NEXT "," BINARY("m", "Mul", "j", "j") "," ROW("m1", "m", "1") "," JOIN("at", "i1", "m1") "," CALL(
             "e", "Gather",
             "\"data\": \"r\", \"indices\": \"i1\"") "," JOIN("h", "e", "e") "," CALL("p", "ScatterElements",
                                                                                      "\"data\": \"r\", \"indices\": \"at\", "
                                                                                      "\"updates\": \"h\"") "," SHAPED,
         false, true},
        /* the least of three, with NaN among them: what the kernel gives */
        {FLAT
         "," NEXT
         "," CALL("a", "Gather", "\"data\": \"r\", \"indices\": \"i\"") "," CALL("b", "Gather", "\"data\": \"r\", \"indices\": \"j\"") "," BINARY(
             "z",
             "Sub", "a", "a") "," BINARY("y", "Div", "z",
                                         "z") "," CALL("e",
                                                       "Min", "\"data_0\": \"[a, y, b]\"") "," CALL("w", "Max",
                                                                                                    "\"data_0\": \"[b, a, a, "
                                                                                                    "b]\"") "," BINARY("h", "Add",
                                                                                                                       "e",
                                                                                                                       "w") "," ROW("h1",
                                                                                                                                    "h",
                                                                                                                                    "1") "," CALL("p",
                                                                                                                                                  "ScatterElements",
                                                                                                                                                  "\"data\": \"r\", \"indices\": \"i1\", \"updates\": \"h1\"") "," SHAPED,
         false, false}};

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        cr_skip(); /* what becomes a nest is another there */
    }
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_same(&cases[i]);
    }
}
