/* test_gradient_forms.c - what the way back of a loop costs: how many nests it has, and what is in them. */
#include "mdf_c/machine/emit.h"
#include "mdf_c/mdf.h"
#include "mdf_c/run/dump.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The delta rule: S moves towards what it should give for a key. */
#define DELTA_RULE(numbers, rows)                                                                                              \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {"                                                      \
    "\"i\": {\"value\": \"numpy.reshape(numpy.arange(" numbers "), [" rows ", 32])\"}, \"q\": {\"value\": \"numpy.cos(i)\"}, " \
    "\"k\": {\"value\": \"numpy.sin(i)\"}, \"v\": {\"value\": \"numpy.sin(3 * i)\"}, "                                         \
    "\"s\": {\"value\": \"numpy.zeros([32, 32])\"}, \"scale\": {\"value\": 1.0}, "                                             \
    "\"p\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": \"[s, scale * q, scale * k, scale * " \
    "v]\", "                                                                                                                   \
    "\"num_scan_inputs\": 3, \"body\": \"cell\"}}}, "                                                                          \
    "\"output_ports\": {\"y\": {\"value\": \"numpy.sum(p[1] * p[1])\"}}}}}, "                                                  \
    "\"cell\": {\"metadata\": {\"inputs\": [\"s\", \"qt\", \"kt\", \"vt\"], \"outputs\": [\"o\", \"y\"]}, "                    \
    "\"nodes\": {\"m\": {\"input_ports\": {\"s\": {}, \"qt\": {}, \"kt\": {}, \"vt\": {}}, "                                   \
    "\"parameters\": {\"e\": {\"value\": \"0.5 * (vt - numpy.matmul(s, kt))\"}, "                                              \
    "\"a\": {\"value\": \"s + numpy.reshape(e, [-1, 1]) * kt\"}}, "                                                            \
    "\"output_ports\": {\"o\": {\"value\": \"a\"}, \"y\": {\"value\": \"numpy.matmul(a, qt)\"}}}}}}}}"

/* Two gates, by the same rows, and a matrix that both states go through. */
static const char net[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {"
    "\"i\": {\"value\": \"numpy.reshape(numpy.arange(256), [16, 16])\"}, \"w\": {\"value\": \"0.1 * numpy.sin(i)\"}, "
    "\"u\": {\"value\": \"0.1 * numpy.cos(i)\"}, \"s\": {\"value\": \"numpy.zeros([16])\"}, \"scale\": {\"value\": 1.0}, "
    "\"p\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": \"[s, scale * u]\", "
    "\"num_scan_inputs\": 1, \"body\": \"cell\"}}}, "
    "\"output_ports\": {\"y\": {\"value\": \"numpy.sum(p[0] * p[0])\"}}}}}, "
    "\"cell\": {\"metadata\": {\"inputs\": [\"s\", \"t\"], \"outputs\": [\"o\", \"q\"]}, "
    "\"nodes\": {\"m\": {\"input_ports\": {\"s\": {}, \"t\": {}}, "
    "\"parameters\": {\"r\": {\"value\": \"numpy.tanh(numpy.matmul(s, w) + t)\"}, "
    "\"a\": {\"value\": \"numpy.tanh(numpy.matmul(r * s + t, u))\"}}, "
    "\"output_ports\": {\"o\": {\"value\": \"a\"}, \"q\": {\"value\": \"r\"}}}}}}}}";

/* A matrix of whose products by a column only the form counts, and its products by a row. */
static const char unread[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {"
    "\"i\": {\"value\": \"numpy.reshape(numpy.arange(192), [6, 32])\"}, \"q\": {\"value\": \"numpy.cos(i)\"}, "
    "\"k\": {\"value\": \"numpy.sin(i)\"}, \"s\": {\"value\": \"numpy.zeros([32, 32])\"}, "
    "\"p\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": \"[s, q, k]\", "
    "\"num_scan_inputs\": 2, \"body\": \"cell\"}}}, "
    "\"output_ports\": {\"y\": {\"value\": \"numpy.sum(p[0]) + numpy.sum(p[1])\"}}}}}, "
    "\"cell\": {\"metadata\": {\"inputs\": [\"s\", \"qt\", \"kt\"], \"outputs\": [\"o\", \"z\"]}, "
    "\"nodes\": {\"m\": {\"input_ports\": {\"s\": {}, \"qt\": {}, \"kt\": {}}, "
    "\"parameters\": {\"a\": {\"value\": \"s + numpy.reshape(kt, [-1, 1]) * qt\"}}, "
    "\"output_ports\": {\"o\": {\"value\": \"a\"}, \"z\": {\"value\": \"numpy.zeros_like(numpy.matmul(a, qt)) + numpy.matmul(kt, "
    "a)\"}}}}}}}}";

static struct mdf_memory memory;
static struct mdf_text dump;

static void begin(void)
{
    mdf_memory_init(&memory, NULL, SIZE_MAX);
    mdf_text_init(&dump, &memory);
}

static void end(void)
{
    mdf_text_release(&dump);
}

TestSuite(gradient_forms, .init = begin, .fini = end);

/* Dumps the form of a gradient that has been evaluated often enough, or of the model itself where it is by nothing. */
static void dump_form(const char *text, const char *by, enum mdf_dump what)
{
    mdf_error error = {0};
    mdf_model *loaded;
    mdf_program *program;
    mdf_state *state;

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        cr_skip(); /* products are calls there */
    }
    loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
    program =
        by != NULL ? mdf_compile_gradient(loaded, "y", &by, 1, 1, (double)NAN, NULL, &error) : mdf_compile(loaded, NULL, &error);
    state = mdf_state_new(program, &error);
    cr_assert_not_null(state, "%s", error.message);
    for (size_t run = 0; run < 4; run++) {
        cr_assert_eq(mdf_state_reset(state, 0, &error), MDF_OK);
        cr_assert_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "%s", error.message);
    }
    cr_assert(mdf_state_dump(&dump, state, what));
    cr_assert(strncmp(dump.bytes, "an evaluation of graph g", 24) == 0, "%s", dump.bytes);
    *strstr(dump.bytes, "\n\n") = '\0'; /* other forms */
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(loaded);
}

/* What meets a vector is multiplied, not summed from 0 on; states, as they were and as they are next, lie in one stack, where
 * they are read. */
Test(gradient_forms, way_back_through_a_matrix_of_the_delta_rule)
{
    const char *back;

    dump_form(DELTA_RULE("192", "6"), "n.scale", MDF_DUMP_LOWERED);
    back = strstr(dump.bytes, "the last first");
    cr_assert_not_null(back, "%s", dump.bytes);
    cr_expect_eq(count_words(back, "nest over 32, 32"), 3, "%s", dump.bytes);
    cr_expect_eq(count_words(dump.bytes, "float64 scalar 0.0"), 0, "%s", dump.bytes);
    cr_expect_eq(count_words(dump.bytes, "where the state lies"), 1, "%s", dump.bytes);
    cr_expect_eq(count_words(dump.bytes, "behind the first state there"), 1, "%s", dump.bytes);
}

/* Gradients that go through a matrix have another shape there: no copies are made for that. */
Test(gradient_forms, products_read_what_they_multiply_in_its_own_shape)
{
    const char *back;

    dump_form(net, "n.scale", MDF_DUMP_LOWERED);
    back = strstr(dump.bytes, "the last first");
    cr_assert_not_null(back, "%s", dump.bytes);
    cr_expect_eq(count_words(back, "product numpy.matmul"), 2, "%s", dump.bytes);
    cr_expect_eq(count_words(back, "copy"), 0, "%s", dump.bytes);
}

/* What nothing reads does not say in which order others go through an array. */
Test(gradient_forms, nests_are_joined_once_more_where_what_kept_them_apart_is_gone)
{
    dump_form(unread, NULL, MDF_DUMP_LOWERED);
    cr_expect_eq(count_words(dump.bytes, "nest over 32, 32"), 1, "%s", dump.bytes);
}

/* States that are larger than caches come from memory a run before they are read: that of each run, once. */
Test(gradient_forms, what_is_read_backward_is_read_ahead)
{
    dump_form(DELTA_RULE("192", "6"), "n.scale", MDF_DUMP_MACHINE);
    cr_expect_leq(count_words(dump.bytes, "0f 18 "), 8, "small ones are in caches");
    end();
    begin();
    dump_form(DELTA_RULE("2560", "80"), "n.scale", MDF_DUMP_MACHINE);
    cr_expect(count_words(dump.bytes, "0f 18 ") > 64 && count_words(dump.bytes, "0f 18 ") <= 128, "%zu",
              count_words(dump.bytes, "0f 18 "));
}
