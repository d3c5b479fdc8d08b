/* run_ways.c - runs random models by every way that the engine has, in one process, and tells where they do not agree.
 *
 * usage: run_ways FOLDER < CASES      cases as case.c has them; FOLDER: where files of converted models may be written
 *
 * For each case it answers
 *
 *   way NAME \n                       before each way: which one it was where the process ends in it
 *   different WAY \t PLACE \t REFERENCE \t VALUE \n
 *   last PLACE VALUE \n               what the reference gave in its last step, or its error
 *   done N_WAYS \n
 *
 * MDF_RANDOM_WRONG_WAY=NAME changes the last bit of real numbers in one way's results: to see that the harness finds it. */
#include "tests/random/ways.h"

#include "mdf_c/base/stop.h"

#include <stdlib.h>
#include <string.h>

/* What its method can not solve is run as the reference does. */
static void load(struct ways *ways, struct random_case *what)
{
    mdf_options options = random_options(what);

    ways->model = mdf_model_load_bytes(ways->what->model, ways->what->size_bytes, ways->what->format, "model", &options,
                                       &ways->error);
    ways->program = ways->model != NULL ? mdf_compile(ways->model, &options, &ways->error) : NULL;
    if (ways->program == NULL && ways->error.code == MDF_UNSUPPORTED && what->method != MDF_METHOD_EULER) {
        what->method = MDF_METHOD_EULER;
        options = random_options(what);
        ways->error = (mdf_error){0};
        ways->program = mdf_compile(ways->model, &options, &ways->error);
    }
}

/* A way with a reference of its own runs the model plainly once more, for hundreds of steps: what is long by the reference, in
 * seconds, has the other ways only. */
static const double most_reference_s = 1.0;

static bool is_wanted(const struct random_way *way, const struct random_case *what, double reference_s)
{
    return ((way->flags & WAY_HAS_REFERENCE) == 0 || reference_s < most_reference_s) &&
           (way == random_ways || strcmp(what->only, "-") == 0 || strcmp(what->only, way->name) == 0) &&
           (what->keeps_nothing || (way->flags & WAY_KEEPS_NOTHING) == 0) &&
           (what->is_compiled || (way->flags & WAY_IS_COMPILED) == 0);
}

static void print_last(const struct trace *reference)
{
    size_t first = reference->n_lines, i;

    while (first > 0 && reference->lines[first - 1].phase == reference->lines[reference->n_lines - 1].phase &&
           reference->lines[first - 1].step == reference->lines[reference->n_lines - 1].step) {
        first--;
    }
    for (i = first; i < reference->n_lines; i++) {
        printf("last %s", reference->text.bytes + reference->lines[i].offset);
    }
}

static void compare(const struct random_way *way, const struct trace *trace, const struct trace *reference,
                    struct mdf_memory *memory)
{
    const struct trace_rules rules = {(way->flags & WAY_OF_LAST_STEPS) != 0, (way->flags & WAY_IS_COMPILED) != 0};
    struct mdf_text difference;

    mdf_text_init(&difference, memory);
    if (!trace_agrees(trace, reference, &rules, &difference)) {
        printf("different %s\t%s\n", way->name, difference.bytes);
    }
    mdf_text_release(&difference);
}

static void run_all(struct ways *ways, struct trace *reference, struct trace *trace, struct trace *own_reference)
{
    const char *wrong_way = getenv("MDF_RANDOM_WRONG_WAY");
    const struct random_way *way;
    double start_s = mdf_clock_s(), reference_s = 0;
    int n_ways = 0;

    trace_clear(reference);
    for (way = random_ways; way->name != NULL; way++) {
        struct trace *own = way == random_ways ? reference : trace;

        if (!is_wanted(way, ways->what, reference_s)) {
            continue;
        }
        printf("way %s\n", way->name);
        fflush(stdout);
        trace_clear(own);
        trace_clear(own_reference);
        own->is_wrong = wrong_way != NULL && strcmp(wrong_way, way->name) == 0;
        if (!way->run(ways, own)) {
            continue;
        }
        n_ways++;
        if (way == random_ways) {
            reference_s = mdf_clock_s() - start_s;
        } else {
            compare(way, own, (way->flags & WAY_HAS_REFERENCE) != 0 ? own_reference : reference, ways->memory);
        }
    }
    print_last(reference);
    printf("done %d\n", n_ways);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct random_case random_case;
    struct trace reference, trace, own_reference;
    struct mdf_memory memory;

    if (argc != 2) {
        fprintf(stderr, "usage: run_ways FOLDER < CASES\n");
        return 2;
    }
    mdf_memory_init(&memory, NULL, 0);
    trace_init(&reference, &memory);
    trace_init(&trace, &memory);
    trace_init(&own_reference, &memory);
    while (random_case_read(&random_case, stdin)) {
        struct ways ways = {.what = &random_case, .memory = &memory, .folder = argv[1], .own_reference = &own_reference};

        load(&ways, &random_case);
        for (size_t i = 0; i < random_case.n_instances; i++) {
            random_case.instances[i].method = random_case.method;
        }
        run_all(&ways, &reference, &trace, &own_reference);
        mdf_program_free(ways.program);
        mdf_model_free(ways.model);
        random_case_release(&random_case);
    }
    random_case_release(&random_case);
    trace_release(&reference);
    trace_release(&trace);
    trace_release(&own_reference);
    return 0;
}
