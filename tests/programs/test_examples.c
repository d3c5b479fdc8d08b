/* test_examples.c - every model below examples/ prints what it must, and no warning, with the options of its row in a README
 * there. The answers are in tests/data, computed without this engine: see tests/answers/generate_example_answers.py and
 * tools/make_control_flow_examples.py.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { LINE_SIZE = 1024, OUTPUT_SIZE = 1 << 20 };

/* Models hold float32 or float64; sums of float32 in another order differ in the last of seven digits, as exp and tanh do between
 * libraries. What is nearly zero is compared with one millionth. */
static const double tolerance = 1e-5, smallest = 0.1;

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *tree = json_load_file(path, 0, &error);

    cr_assert_not_null(tree, "%s: %s", path, error.text);
    return tree;
}

/* What a command prints, which the caller frees; it must end well. */
static char *output_of(const char *command)
{
    FILE *stream = popen(command, "r");
    char *text = calloc(OUTPUT_SIZE, 1);
    size_t n;
    int status;

    cr_assert(stream != NULL && text != NULL);
    n = fread(text, 1, OUTPUT_SIZE - 1, stream);
    cr_assert(n < OUTPUT_SIZE - 1, "%s prints more than this test reads", command);
    status = pclose(stream);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d", command, status);
    return text;
}

/* Reals within the tolerance; whole numbers, texts, truth and lengths equal; of objects, what `want` has. */
static bool matches(const json_t *got, json_t *want)
{
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_real(got) && json_is_real(want)) {
        double x = json_real_value(got), y = json_real_value(want);

        return fabs(x - y) <= tolerance * fmax(fabs(y), smallest);
    }
    if (json_is_array(got) && json_is_array(want)) {
        bool same = json_array_size(got) == json_array_size(want);

        json_array_foreach(want, i, item)
        {
            same = same && matches(json_array_get(got, i), item);
        }
        return same;
    }
    if (json_is_object(got) && json_is_object(want)) {
        bool same = true;

        json_object_foreach(want, key, item)
        {
            same = same && matches(json_object_get(got, key), item);
        }
        return same;
    }
    return json_equal(got, want);
}

static void run_example(const char *file, const char *options, json_t *answer)
{
    const char *build = getenv("BUILD");
    char command[2 * LINE_SIZE], *output, *wanted;
    json_t *got;

    snprintf(command, sizeof command, "%s/mdf-run --quiet --strict %s examples/%s </dev/null", build != NULL ? build : "build",
             options, file);
    output = output_of(command);
    got = json_loads(output, 0, NULL);
    wanted = json_dumps(answer, JSON_ENCODE_ANY);
    cr_expect(got != NULL && matches(got, answer), "%s: prints\n%.2000s\nnot\n%.2000s", file, output, wanted);
    json_decref(got);
    free(wanted);
    free(output);
}

/* The line up to a tab or its end, which it ends there; *line moves behind it. */
static char *next_field(char **line)
{
    char *field = *line;

    *line += strcspn(field, "\t\n");
    if (**line != '\0') {
        *(*line)++ = '\0';
    }
    return field;
}

Test(examples, give_their_answers)
{
    json_t *answers = load("tests/data/example_answers.json"), *more = load("tests/data/control_flow_answers.json");
    FILE *list = popen("tools/list_examples.sh examples/README.md examples/*/README.md", "r");
    char line[LINE_SIZE];
    size_t n = 0;

    cr_assert(list != NULL && json_object_update(answers, more) == 0);
    while (fgets(line, sizeof line, list) != NULL) {
        char *at = line, *file = next_field(&at), *shows = next_field(&at), *options = next_field(&at);
        json_t *answer = json_object_get(answers, file);

        cr_expect(shows[0] != '\0', "%s: its row does not say what it shows", file);
        cr_expect(answer != NULL, "%s has no answer in tests/data/example_answers.json", file);
        if (answer != NULL) {
            run_example(file, options, answer);
        }
        n++;
    }
    pclose(list);
    cr_expect_geq(n, json_object_size(answers), "only %zu examples are in the tables", n);
    json_decref(answers);
    json_decref(more);
}

/* Every file below examples/ is a row of a table, so that it is run above and under valgrind; what is fitted is run by python/tests. */
Test(examples, all_are_listed)
{
    char *missing =
        output_of("bash -c 'comm -13 <(tools/list_examples.sh examples/README.md examples/*/README.md | cut -f 1 | sort -u) "
                  "<(cd examples && find . -type f ! -name README.md ! -path \"./plugin/*\" ! -path \"./fitting/*\" | cut -c 3- | sort)'");

    cr_expect_str_empty(missing, "in no table of a README: %s", missing);
    free(missing);
}
