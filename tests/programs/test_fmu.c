/* test_fmu.c - models as FMUs: the libraries in them are loaded and called as an importer does, and have to give the bits of the
 * engine. Whether descriptions are what the standard asks for is asked of FMPy (python/tests/test_fmu.py). */
#include "mdf_c/base/store.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "mdf_c/values/zip_reader.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/mdf_test_fmu_XXXXXX";

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    setenv("CC", "tests/random/cc_fast.sh", 1); /* the optimiser is not what is tested */
}

static void tear_down(void)
{
    char command[200];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

TestSuite(fmu, .init = set_up, .fini = tear_down);

/* Calls mdf-fmu; what it writes goes to folder/out.fmu, messages to folder/messages. */
static int call(const char *arguments)
{
    const char *build = getenv("BUILD");
    char command[600];
    int status;

    snprintf(command, sizeof command, "%s/mdf-fmu %s -o %s/out.fmu >%s/messages 2>&1", build != NULL ? build : "build", arguments,
             folder, folder);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *messages(void)
{
    static char text[4000];
    char path[200];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/messages", folder);
    file = fopen(path, "r");
    cr_assert(file != NULL);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* The bytes of an entry, terminated; free them. NULL: there is none. */
static char *unpack(const char *name, size_t *size)
{
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct mdf_store *store;
    struct mdf_zip zip;
    const struct mdf_zip_entry *entry;
    char path[200], *copy = NULL;
    size_t n;
    void *bytes;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    snprintf(path, sizeof path, "%s/out.fmu", folder);
    cr_assert_eq(mdf_read_file(&memory, path, &bytes, &n, NULL), MDF_OK);
    store = mdf_store_allocate(&memory, n);
    cr_assert(store != NULL);
    memcpy(mdf_store_bytes(store), bytes, n);
    cr_assert_eq(mdf_zip_open(&arena, store, &zip, NULL), MDF_OK);
    entry = mdf_zip_find(&zip, name, "");
    if (entry != NULL) {
        copy = malloc(entry->size + 1);
        cr_assert(copy != NULL && mdf_zip_unpack(&zip, entry, copy, NULL) == MDF_OK);
        copy[entry->size] = '\0';
        *size = entry->size;
    }
    mdf_store_release(store);
    mdf_memory_release(&memory, bytes);
    mdf_arena_release(&arena);
    return copy;
}

static bool description_has(const char *text)
{
    size_t size;
    char *description = unpack("modelDescription.xml", &size);
    bool has = description != NULL && strstr(description, text) != NULL;

    free(description);
    return has;
}

/* The value of the attribute valueReference of the variable of that name. */
static unsigned reference_of(const char *name)
{
    size_t size;
    char *description = unpack("modelDescription.xml", &size), quoted[200], *at;
    unsigned reference = 0;

    snprintf(quoted, sizeof quoted, " name=\"%s\" valueReference=\"", name);
    at = strstr(description, quoted);
    cr_assert(at != NULL, "there is no variable %s", name);
    reference = (unsigned)strtoul(at + strlen(quoted), NULL, 10);
    free(description);
    return reference;
}

/* ------------------------------------------------------------------ an importer */

typedef void logger(void *environment, const char *name, int status, const char *category, const char *message, ...);

struct callbacks {
    logger *logger;
    void *(*allocate)(size_t n, size_t size);
    void (*release)(void *memory);
    void (*step_finished)(void *environment, int status);
    void *environment;
};

struct fmu {
    void *library;
    struct callbacks callbacks;
    char token[64];
    void *instance;
};

static char told[400];

static void tell2(void *environment, const char *name, int status, const char *category, const char *message, ...)
    __attribute__((format(printf, 5, 6)));

static void tell2(void *environment, const char *name, int status, const char *category, const char *message, ...)
{
    va_list arguments;

    (void)environment;
    (void)name;
    (void)status;
    (void)category;
    va_start(arguments, message);
    vsnprintf(told, sizeof told, message, arguments);
    va_end(arguments);
}

static void tell3(void *environment, int status, const char *category, const char *message)
{
    (void)environment;
    (void)status;
    (void)category;
    snprintf(told, sizeof told, "%s", message);
}

static void *find(const struct fmu *fmu, const char *name)
{
    void *function = dlsym(fmu->library, name);

    cr_assert(function != NULL, "%s is not exported", name);
    return function;
}

/* dlsym gives an object pointer. */
#define FUNCTION(fmu, name, type) (*(__typeof__(type) **)&(void *){find(fmu, name)})

static void load(struct fmu *fmu, const char *entry, const char *token_name)
{
    size_t size;
    static int n_loaded;
    char *library = unpack(entry, &size), *description, path[200], *at;
    FILE *file;

    cr_assert(library != NULL, "%s is not there", entry);
    snprintf(path, sizeof path, "%s/library_%d.so", folder, n_loaded++);
    file = fopen(path, "w");
    cr_assert(file != NULL && fwrite(library, 1, size, file) == size && fclose(file) == 0);
    free(library);
    fmu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert(fmu->library != NULL, "%s", dlerror());
    description = unpack("modelDescription.xml", &size);
    at = strstr(description, token_name);
    cr_assert(at != NULL);
    sscanf(at + strlen(token_name) + 2, "%63[^\"]", fmu->token);
    free(description);
}

static void begin2(struct fmu *fmu, const char *entry, int kind)
{
    load(fmu, entry, "guid");
    fmu->callbacks = (struct callbacks){tell2, calloc, free, NULL, NULL};
    fmu->instance = FUNCTION(fmu, "fmi2Instantiate",
                             void *(const char *, int, const char *, const char *, const struct callbacks *, int, int))(
        "test", kind, fmu->token, "", &fmu->callbacks, 0, 0);
    cr_assert(fmu->instance != NULL, "%s", told);
    cr_assert_eq(
        FUNCTION(fmu, "fmi2SetupExperiment", int(void *, int, double, double, int, double))(fmu->instance, 0, 0, 0, 0, 0), 0);
    cr_assert_eq(FUNCTION(fmu, "fmi2EnterInitializationMode", int(void *))(fmu->instance), 0);
}

static void begin3(struct fmu *fmu, const char *entry)
{
    load(fmu, entry, "instantiationToken");
    fmu->instance = FUNCTION(fmu, "fmi3InstantiateCoSimulation",
                             void *(const char *, const char *, const char *, bool, bool, bool, bool, const uint32_t *, size_t,
                                    void *, void (*)(void *, int, const char *, const char *),
                                    void *))("test", fmu->token, "", false, false, false, false, NULL, 0, NULL, tell3, NULL);
    cr_assert(fmu->instance != NULL, "%s", told);
    cr_assert_eq(FUNCTION(fmu, "fmi3EnterInitializationMode",
                          int(void *, bool, double, double, bool, double))(fmu->instance, false, 0, 0, false, 0),
                 0);
}

static int call_simply(struct fmu *fmu, const char *name)
{
    return FUNCTION(fmu, name, int(void *))(fmu->instance);
}

static int step2(struct fmu *fmu, double time, double size)
{
    return FUNCTION(fmu, "fmi2DoStep", int(void *, double, double, int))(fmu->instance, time, size, 1);
}

static int step3(struct fmu *fmu, double time, double size)
{
    bool needed, ends, early;
    double last;
    int status = FUNCTION(fmu, "fmi3DoStep", int(void *, double, double, bool, bool *, bool *, bool *, double *))(
        fmu->instance, time, size, true, &needed, &ends, &early, &last);

    cr_expect(status != 0 || (!needed && !ends && !early && fabs(last - (time + size)) < 1e-12));
    return status;
}

static double real2(struct fmu *fmu, const char *name)
{
    unsigned reference = reference_of(name);
    double value = -1;

    cr_expect_eq(
        FUNCTION(fmu, "fmi2GetReal", int(void *, const unsigned *, size_t, double *))(fmu->instance, &reference, 1, &value), 0,
        "%s: %s", name, told);
    return value;
}

static int set_real2(struct fmu *fmu, const char *name, double value)
{
    unsigned reference = reference_of(name);

    return FUNCTION(fmu, "fmi2SetReal", int(void *, const unsigned *, size_t, const double *))(fmu->instance, &reference, 1,
                                                                                               &value);
}

static int access3(struct fmu *fmu, const char *function, const char *name, void *values, size_t n)
{
    uint32_t reference = reference_of(name);

    return FUNCTION(fmu, function, int(void *, const uint32_t *, size_t, void *, size_t))(fmu->instance, &reference, 1, values,
                                                                                          n);
}

static void end(struct fmu *fmu, const char *free_instance)
{
    FUNCTION(fmu, free_instance, void(void *))(fmu->instance);
    dlclose(fmu->library);
}

/* ------------------------------------------------------------------ the engine beside it */

struct beside {
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
};

static void begin_beside(struct beside *beside, const char *path)
{
    mdf_error error = {0};

    beside->model = mdf_model_load_file(path, &error);
    beside->program = beside->model != NULL ? mdf_compile(beside->model, NULL, &error) : NULL;
    beside->state = beside->program != NULL ? mdf_state_new(beside->program, &error) : NULL;
    cr_assert(beside->state != NULL, "%s", error.message);
}

static void end_beside(struct beside *beside)
{
    mdf_state_free(beside->state);
    mdf_program_free(beside->program);
    mdf_model_free(beside->model);
}

static double real_beside(const struct beside *beside, const char *node, const char *port)
{
    mdf_tensor tensor;

    cr_assert(mdf_value_tensor(mdf_output(beside->state, node, port), &tensor));
    return *(const double *)tensor.data;
}

#if defined __x86_64__ && defined __linux__

/* ------------------------------------------------------------------ co-simulation */

Test(fmu, steps_have_the_bits_of_the_engine)
{
    struct beside beside;
    struct fmu fmu = {0};
    int i;

    cr_assert_eq(call("examples/fitzhugh_nagumo.yaml --dt 0.05"), 0, "%s", messages());
    begin_beside(&beside, "examples/fitzhugh_nagumo.yaml");
    begin2(&fmu, "binaries/linux64/fitzhugh_nagumo.so", 1);
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    for (i = 0; i <= 200; i++) {
        cr_assert_eq(mdf_evaluate(beside.state, i == 0 ? NAN : 0.05, NULL), MDF_OK);
        cr_expect_eq(real2(&fmu, "membrane.V"), real_beside(&beside, "membrane", "V"), "step %d", i);
        cr_expect_eq(real2(&fmu, "membrane.W"), real_beside(&beside, "membrane", "W"), "step %d", i);
        cr_assert_eq(step2(&fmu, i * 0.05, 0.05), 0, "%s", told);
    }
    cr_expect_float_eq(real2(&fmu, "time"), 201 * 0.05, 1e-12);
    end(&fmu, "fmi2FreeInstance");
    end_beside(&beside);
}

Test(fmu, a_step_may_be_several_of_the_model_and_no_part_of_one)
{
    struct beside beside;
    struct fmu fmu = {0};
    int i;

    cr_assert_eq(call("examples/cooling.yaml --dt 0.1 --kind co-simulation"), 0);
    begin_beside(&beside, "examples/cooling.yaml");
    begin2(&fmu, "binaries/linux64/cooling.so", 1);
    cr_expect_neq(step2(&fmu, 0, 0.1), 0, "initialization has not ended");
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    for (i = 0; i <= 30; i++) {
        mdf_evaluate(beside.state, i == 0 ? NAN : 0.1, NULL);
    }
    cr_expect_eq(step2(&fmu, 0, 2.0), 0, "%s", told);
    cr_expect_neq(step2(&fmu, 2.0, 0.25), 0);
    cr_expect(strstr(told, "a multiple of the model's own, 0.10000000000000001 s") != NULL, "%s", told);
    cr_expect_neq(step2(&fmu, 2.0, -0.5), 0);
    cr_expect_neq(step2(&fmu, 2.0, NAN), 0);
    cr_expect_eq(step2(&fmu, 2.0, 1.0), 0);
    cr_expect_eq(real2(&fmu, "cup.temperature"), real_beside(&beside, "cup", "temperature"));
    end(&fmu, "fmi2FreeInstance");
    end_beside(&beside);
}

Test(fmu, parameters_are_set_before_and_between_steps)
{
    struct fmu fmu = {0};
    double x = 50;
    int i;

    cr_assert_eq(call("examples/cooling.yaml --dt 1 --kind co-simulation"), 0);
    begin2(&fmu, "binaries/linux64/cooling.so", 1);
    cr_expect_eq(set_real2(&fmu, "cup.temperature_parameter", x), 0, "%s", told);
    cr_expect_eq(set_real2(&fmu, "cup.room", 0), 0);
    cr_expect_eq(real2(&fmu, "cup.temperature"), x, "outputs follow in initialization");
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    cr_expect_neq(set_real2(&fmu, "cup.temperature_parameter", 1), 0);
    cr_expect(strstr(told, "fixed") != NULL);
    cr_expect_neq(set_real2(&fmu, "cup.temperature", 1), 0);
    cr_expect(strstr(told, "computed") != NULL);
    for (i = 0; i < 3; i++) {
        cr_expect_eq(step2(&fmu, i, 1), 0);
        x = x + (0 - x) / 300.0 * 1.0;
    }
    cr_expect_eq(set_real2(&fmu, "cup.time_constant", 10), 0);
    cr_expect_eq(step2(&fmu, 3, 1), 0);
    x = x + (0 - x) / 10.0 * 1.0;
    cr_expect_eq(real2(&fmu, "cup.temperature"), x);
    cr_expect_eq(call_simply(&fmu, "fmi2Reset"), 0);
    cr_expect_eq(real2(&fmu, "cup.temperature"), 90);
    cr_expect_eq(real2(&fmu, "cup.room"), 20);
    end(&fmu, "fmi2FreeInstance");
}

Test(fmu, arrays_and_all_types)
{
    struct fmu fmu = {0};
    float x[] = {1, 2, 3, -1, 0.5F, 4}, z[6], total;
    double gain[] = {2, 3, 4};
    int64_t count = 0, n = 5, big = 0, start = 100;
    bool off = false, on = false, is_more = false;
    size_t i;

    cr_assert_eq(call("tests/data/fmu/types.json --fmi 3"), 0, "%s", messages());
    begin3(&fmu, "binaries/x86_64-linux/types_and_names.so");
    cr_expect_eq(access3(&fmu, "fmi3SetFloat32", "'a node'.x", x, 6), 0, "%s", told);
    cr_expect_eq(access3(&fmu, "fmi3SetFloat64", "'a node'.gain", gain, 3), 0, "%s", told);
    cr_expect_eq(access3(&fmu, "fmi3SetInt64", "'a node'.n", &n, 1), 0);
    cr_expect_eq(access3(&fmu, "fmi3SetInt64", "'a node'.count_parameter", &start, 1), 0);
    cr_expect_eq(access3(&fmu, "fmi3SetBoolean", "'a node'.on", &on, 1), 0);
    cr_expect_eq(call_simply(&fmu, "fmi3ExitInitializationMode"), 0);
    cr_expect_eq(step3(&fmu, 0, 1), 0, "%s", told);
    cr_expect_eq(step3(&fmu, 1, 3), 0, "%s", told);
    cr_expect_eq(access3(&fmu, "fmi3GetFloat32", "'a node'.z", z, 6), 0);
    for (i = 0; i < 6; i++) {
        cr_expect_eq(z[i], x[i] * (float)gain[i % 3]);
    }
    cr_expect_eq(access3(&fmu, "fmi3GetFloat32", "'a node'.total", &total, 1), 0);
    cr_expect_eq(total, 2 + 6 + 12 - 2 + 1.5F + 16);
    cr_expect_eq(access3(&fmu, "fmi3GetInt64", "'a node'.count", &count, 1), 0);
    cr_expect_eq(count, 100 + 5 * 5);
    cr_expect_eq(access3(&fmu, "fmi3GetInt64", "'a node'.big", &big, 1), 0);
    cr_expect_eq(big, INT64_C(15000000000));
    cr_expect_eq(access3(&fmu, "fmi3GetBoolean", "'a node'.off", &off, 1), 0);
    cr_expect(off);
    cr_expect_eq(access3(&fmu, "fmi3GetBoolean", "'a node'.'it\\'s &lt;b&gt; &amp; \\&quot;c\\&quot;'", &is_more, 1), 0);
    cr_expect(is_more);
    cr_expect_neq(access3(&fmu, "fmi3GetFloat64", "'a node'.z", z, 6), 0, "another type");
    cr_expect_neq(access3(&fmu, "fmi3GetFloat32", "'a node'.z", z, 5), 0, "too few values");
    cr_expect_neq(access3(&fmu, "fmi3SetFloat64", "'a node'.gain", z, 4), 0, "too many values");
    end(&fmu, "fmi3FreeInstance");
}

Test(fmu, whole_numbers_that_fmi_2_can_not_hold)
{
    struct fmu fmu = {0};
    unsigned reference;
    int value = 7;

    cr_assert_eq(call("tests/data/fmu/types.json"), 0);
    cr_expect(strstr(messages(), "'a node'.big_parameter") != NULL, "%s", messages());
    begin2(&fmu, "binaries/linux64/types_and_names.so", 1);
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    reference = reference_of("'a node'.big");
    cr_expect_neq(
        FUNCTION(&fmu, "fmi2GetInteger", int(void *, const unsigned *, size_t, int *))(fmu.instance, &reference, 1, &value), 0);
    cr_expect(strstr(told, "32 bits") != NULL, "%s", told);
    reference = reference_of("'a node'.count");
    cr_expect_eq(
        FUNCTION(&fmu, "fmi2GetInteger", int(void *, const unsigned *, size_t, int *))(fmu.instance, &reference, 1, &value), 0);
    cr_expect_eq(value, 3);
    cr_expect_eq(set_real2(&fmu, "'a node'.x[2,3]", 10), 0);
    cr_expect_eq(step2(&fmu, 0, 1), 0);
    cr_expect_eq(real2(&fmu, "'a node'.z[2,3]"), 20);
    cr_expect_eq(real2(&fmu, "'a node'.z[2,2]"), -5);
    end(&fmu, "fmi2FreeInstance");
}

/* ------------------------------------------------------------------ states that are set again */

Test(fmu, states_are_taken_and_set_again)
{
    struct fmu fmu = {0}, other = {0};
    void *state = NULL, *restored = NULL;
    char bytes[20000];
    double at_5, at_10;
    size_t size = 0;
    int i;

    cr_assert_eq(call("tests/data/fmu/pid.yaml --dt 0.5"), 0, "%s", messages());
    begin2(&fmu, "binaries/linux64/pid.so", 1);
    cr_expect_eq(set_real2(&fmu, "pid.measured", 50), 0);
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    for (i = 0; i < 5; i++) {
        cr_expect_eq(step2(&fmu, i * 0.5, 0.5), 0);
    }
    at_5 = real2(&fmu, "pid.power");
    cr_expect_eq(FUNCTION(&fmu, "fmi2GetFMUstate", int(void *, void **))(fmu.instance, &state), 0);
    for (; i < 10; i++) {
        cr_expect_eq(step2(&fmu, i * 0.5, 0.5), 0);
    }
    at_10 = real2(&fmu, "pid.power");
    cr_expect_neq(at_5, at_10);
    cr_expect_eq(FUNCTION(&fmu, "fmi2SerializedFMUstateSize", int(void *, void *, size_t *))(fmu.instance, state, &size), 0);
    cr_assert(size > 0 && size <= sizeof bytes, "%zu", size);
    cr_expect_eq(FUNCTION(&fmu, "fmi2SerializeFMUstate", int(void *, void *, char *, size_t))(fmu.instance, state, bytes, size),
                 0);
    cr_expect_eq(FUNCTION(&fmu, "fmi2SetFMUstate", int(void *, void *))(fmu.instance, state), 0);
    cr_expect_eq(real2(&fmu, "pid.power"), at_5);
    begin2(&other, "binaries/linux64/pid.so", 1);
    cr_expect_eq(FUNCTION(&other, "fmi2DeSerializeFMUstate", int(void *, const char *, size_t, void **))(other.instance, bytes,
                                                                                                         size, &restored),
                 0);
    cr_expect_eq(FUNCTION(&other, "fmi2SetFMUstate", int(void *, void *))(other.instance, restored), 0);
    for (i = 5; i < 10; i++) {
        cr_expect_eq(step2(&other, i * 0.5, 0.5), 0, "%s", told);
        cr_expect_eq(step2(&fmu, i * 0.5, 0.5), 0, "%s", told);
    }
    cr_expect_eq(real2(&other, "pid.power"), at_10);
    cr_expect_eq(real2(&fmu, "pid.power"), at_10);
    bytes[3] ^= 1;
    cr_expect_neq(FUNCTION(&other, "fmi2DeSerializeFMUstate", int(void *, const char *, size_t, void **))(other.instance, bytes,
                                                                                                          size, &restored),
                  0);
    FUNCTION(&fmu, "fmi2FreeFMUstate", int(void *, void **))(fmu.instance, &state);
    FUNCTION(&other, "fmi2FreeFMUstate", int(void *, void **))(other.instance, &restored);
    cr_expect(state == NULL && restored == NULL);
    end(&other, "fmi2FreeInstance");
    end(&fmu, "fmi2FreeInstance");
}

/* ------------------------------------------------------------------ model exchange */

Test(fmu, derivatives_are_the_right_hand_side)
{
    struct fmu fmu = {0};
    double states[2] = {1.5, -0.25}, derivatives[2], v = states[0], w = states[1];

    cr_assert_eq(call("examples/fitzhugh_nagumo.yaml --dt 0.05 --kind model-exchange"), 0);
    cr_expect(!description_has("<CoSimulation"));
    begin2(&fmu, "binaries/linux64/fitzhugh_nagumo.so", 0);
    cr_expect_eq(set_real2(&fmu, "membrane.v", 0.5), 0, "%s", told);
    cr_expect_eq(real2(&fmu, "membrane.V"), 0.5, "an output in initialization");
    cr_expect_eq(call_simply(&fmu, "fmi2ExitInitializationMode"), 0);
    cr_expect_eq(call_simply(&fmu, "fmi2EnterContinuousTimeMode"), 0);
    cr_expect_eq(FUNCTION(&fmu, "fmi2GetContinuousStates", int(void *, double *, size_t))(fmu.instance, derivatives, 2), 0);
    cr_expect(derivatives[0] == 0.5 && derivatives[1] == 0);
    cr_expect_eq(FUNCTION(&fmu, "fmi2SetContinuousStates", int(void *, const double *, size_t))(fmu.instance, states, 2), 0);
    cr_expect_eq(FUNCTION(&fmu, "fmi2GetDerivatives", int(void *, double *, size_t))(fmu.instance, derivatives, 2), 0);
    cr_expect_eq(derivatives[0], v - v * v * v / 3 - w + 0.8);
    cr_expect_eq(derivatives[1], 0.08 * (v + 0.7 - 0.8 * w), "with the v that was set, not one that a step has made");
    cr_expect_eq(real2(&fmu, "membrane.V"), v);
    cr_expect_eq(real2(&fmu, "der(membrane.w)"), derivatives[1]);
    cr_expect_eq(set_real2(&fmu, "membrane.current", 0), 0);
    cr_expect_eq(FUNCTION(&fmu, "fmi2GetDerivatives", int(void *, double *, size_t))(fmu.instance, derivatives, 2), 0);
    cr_expect_eq(derivatives[0], v - v * v * v / 3 - w + 0);
    cr_expect_neq(FUNCTION(&fmu, "fmi2GetDerivatives", int(void *, double *, size_t))(fmu.instance, derivatives, 1), 0);
    cr_expect_neq(step2(&fmu, 0, 0.05), 0, "this is no co-simulation");
    end(&fmu, "fmi2FreeInstance");
}

/* mdf-compile --derivatives, which FMUs are made of. */
Test(fmu, the_right_hand_side_as_a_function)
{
    const char *build = getenv("BUILD");
    char command[400], path[200];
    double states[2] = {-0.5, -2}, derivatives[2], indicator = 0;
    size_t (*size)(void);
    struct fmu fmu = {0};
    void *state;

    snprintf(path, sizeof path, "%s/ball.so", folder);
    snprintf(command, sizeof command, "%s/mdf-compile tests/data/fmu/ball.yaml --dt 1 --derivatives -o %s",
             build != NULL ? build : "build", path);
    cr_assert_eq(system(command), 0);
    fmu.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert(fmu.library != NULL, "%s", dlerror());
    size = FUNCTION(&fmu, "ball_size", size_t(void));
    state = malloc(size());
    cr_assert(state != NULL);
    FUNCTION(&fmu, "ball_init", void(void *))(state);
    cr_expect_eq(FUNCTION(&fmu, "ball_step", int(void *, double))(state, NAN), 0);
    cr_expect_eq(FUNCTION(&fmu, "ball_derivatives", int(void *, const double *, double *))(state, states, derivatives), 0);
    FUNCTION(&fmu, "ball_indicators", void(void *, double *))(state, &indicator);
    cr_expect(indicator == 1 && derivatives[0] == -2 && derivatives[1] == 0, "it is on the ground, and falls: held, to go up");
    FUNCTION(&fmu, "ball_get_states", void(void *, double *))(state, states);
    cr_expect(states[0] == -0.5 && states[1] == -2, "they are as they were set");
    cr_expect_eq(FUNCTION(&fmu, "ball_step", int(void *, double))(state, 0), 0);
    FUNCTION(&fmu, "ball_get_states", void(void *, double *))(state, states);
    cr_expect(states[0] == -0.5 && states[1] == 1.4);
    cr_expect_eq(FUNCTION(&fmu, "ball_derivatives", int(void *, const double *, double *))(state, states, derivatives), 0);
    FUNCTION(&fmu, "ball_indicators", void(void *, double *))(state, &indicator);
    cr_expect(indicator == -1 && derivatives[0] == 1.4 && derivatives[1] == -9.81);
    states[1] = -2;
    cr_expect_eq(FUNCTION(&fmu, "ball_act", int(void *, double *))(state, states), 0);
    cr_expect(states[0] == -0.5 && states[1] == 1.4);
    FUNCTION(&fmu, "ball_clear_direction", void(void *))(state);
    FUNCTION(&fmu, "ball_set_direction", void(void *, int, size_t, size_t, double))(state, 0, 0, 1, 2.5);
    cr_expect_eq(FUNCTION(&fmu, "ball_tangents", int(void *, double *))(state, derivatives), 0);
    cr_expect(derivatives[0] == 2.5 && derivatives[1] == 0, "the height changes by the speed");
    cr_expect_eq(FUNCTION(&fmu, "ball_tangent_of_output", double(const void *, size_t, size_t))(state, 1, 0), 2.5);
    free(state);
    dlclose(fmu.library);
}

/* ------------------------------------------------------------------ the archive */

Test(fmu, sources_come_with_it)
{
    size_t size;
    char *text;

    cr_assert_eq(call("examples/cooling.yaml --dt 1 --fmi 3 --source-only --name my_cup"), 0);
    cr_expect(unpack("binaries/x86_64-linux/my_cup.so", &size) == NULL);
    text = unpack("sources/buildDescription.xml", &size);
    cr_expect(text != NULL && strstr(text, "modelIdentifier=\"my_cup\"") != NULL && strstr(text, "-ffp-contract=off") != NULL);
    free(text);
    text = unpack("sources/CMakeLists.txt", &size);
    cr_expect(text != NULL && strstr(text, "add_library(my_cup SHARED fmu.c)") != NULL);
    free(text);
    text = unpack("sources/fmu.c", &size);
    cr_expect(text != NULL && strstr(text, "fmi3DoStep") != NULL);
    free(text);
}

#endif

/* What is written without a complaint of the compiler, as a source that others build with other flags. */
Test(fmu, the_source_has_no_warnings)
{
    static const char *const arguments[] = {"examples/cooling.yaml --dt 1",
                                            "tests/data/fmu/types.json --fmi 3",
                                            "examples/traffic_light.yaml --tunable none",
                                            "examples/traffic_light.yaml --tunable none --fmi 3",
                                            "tests/data/fmu/ball.yaml --dt 1",
                                            "tests/data/fmu/ball.yaml --dt 1 --fmi 3"};
    char command[400], path[200];
    size_t i, size;

    for (i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        char options[300], *text;
        FILE *file;

        snprintf(options, sizeof options, "%s --source-only", arguments[i]);
        cr_assert_eq(call(options), 0, "%s", messages());
        text = unpack("sources/fmu.c", &size);
        snprintf(path, sizeof path, "%s/fmu.c", folder);
        file = fopen(path, "w");
        cr_assert(file != NULL && fwrite(text, 1, size, file) == size && fclose(file) == 0);
        free(text);
        snprintf(command, sizeof command, "${CC:-cc} -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror %s", path);
        cr_expect_eq(system(command), 0, "%s", arguments[i]);
    }
}

/* ------------------------------------------------------------------ what is refused */

Test(fmu, what_is_refused)
{
    static const struct {
        const char *arguments;
        int status;
        const char *message;
    } cases[] = {
        {"examples/cooling.yaml", 2, "--dt says how large its own steps are"},
        {"examples/cooling.yaml --dt -1", 2, "--dt says how large its own steps are"},
        {"examples/cooling.yaml --dt 1 --fmi 4", 2, "--fmi must be 2 or 3"},
        {"examples/recurrence.yaml --kind model-exchange", 1, "it keeps a value from one evaluation to the next"},
        {"examples/slow_and_fast.yaml --kind model-exchange", 1, "conditions decide which nodes run"},
        {"examples/race.yaml --dt 1 --kind model-exchange", 1, "a node has a graph of its own"},
        {"examples/drift_diffusion.yaml --kind model-exchange", 1, "it draws random numbers"},
        {"tests/data/fmu/pid.yaml --dt 1 --kind model-exchange", 1, "it keeps a value from one evaluation to the next"},
        {"tests/data/compile/no_form.yaml", 1, "it can not be written as C: there is no form in C of the operator numpy.unique"},
        {"examples/cooling.yaml --dt 1 --tunable cup.rom", 2, "did you mean 'cup.room'?"},
        {"no_such_model.yaml", 1, "there is no such file"},
        {"tests/data/fmu/halves.yaml --inputs tests/data/fmu/halves.json", 1,
         "input 'x' is of type float16, for which FMI has no variable: "
         "give its port a default_value"},
        {"tests/data/fmu/sequence.yaml --inputs tests/data/fmu/sequence.json", 1,
         "input 'x' is a sequence, for which FMI has no variable: "
         "give its port a default_value"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(call(cases[i].arguments), cases[i].status, "%s: %s", cases[i].arguments, messages());
        cr_expect(strstr(messages(), cases[i].message) != NULL, "%s: %s", cases[i].arguments, messages());
    }
}

/* For processors that FMI has no name of, an FMU has its source only, which needs none. */
Test(fmu, without_a_compiler)
{
#if defined __linux__ && (defined __x86_64__ || defined __aarch64__)
    bool has_library = true;
#else
    bool has_library = false;
#endif

    setenv("CC", "/no/such/compiler", 1);
    cr_expect_eq(call("examples/cooling.yaml --dt 1 --fmi 3"), has_library ? 1 : 0);
    cr_expect(!has_library || strstr(messages(), "--source-only") != NULL, "%s", messages());
    cr_expect_eq(call("examples/cooling.yaml --dt 1 --source-only"), 0);
}
