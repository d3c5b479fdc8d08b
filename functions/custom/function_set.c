/* function_set.c - sets of registered functions: what is registered is checked, and kept as a row. See custom.h. */
#include "functions/custom/custom.h"

#include "functions/kernel/routine.h"
#include "mdf_c/base/text.h"
#include "schemas/onnx_schema.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct entry {
    struct entry *older;
    struct mdf_custom custom, derivative;
    pthread_mutex_t lock;
    bool has_lock;
    const char *dotted;
    void (*release)(void *context);
};

struct library {
    struct library *older;
    void *handle;
};

struct mdf_functions {
    struct mdf_memory memory;
    struct mdf_arena arena;
    pthread_mutex_t lock; /* of who adds */
    atomic_size_t n_owners;
    _Atomic(struct entry *) newest;
    struct library *libraries; /* closed once all functions are released, for the code of that may be theirs */
};

/* ------------------------------------------------------------------ sets */

struct mdf_functions *mdf_functions_make(const mdf_allocator *allocator)
{
    struct mdf_memory memory;
    struct mdf_functions *functions;

    mdf_memory_init(&memory, allocator, 0);
    functions = mdf_memory_allocate_zeroed(&memory, 1, sizeof *functions);
    if (functions != NULL && pthread_mutex_init(&functions->lock, NULL) != 0) {
        mdf_memory_release(&memory, functions);
        return NULL;
    }
    if (functions != NULL) {
        mdf_memory_init(&functions->memory, allocator, 0);
        mdf_arena_init(&functions->arena, &functions->memory);
        atomic_init(&functions->n_owners, 1);
        atomic_init(&functions->newest, NULL);
    }
    return functions;
}

struct mdf_functions *mdf_functions_share(const struct mdf_functions *functions)
{
    struct mdf_functions *shared = (struct mdf_functions *)(uintptr_t)functions;

    if (shared != NULL) {
        atomic_fetch_add(&shared->n_owners, 1);
    }
    return shared;
}

void mdf_functions_release(struct mdf_functions *functions)
{
    struct mdf_memory memory;
    struct library *library;
    struct entry *entry;

    if (functions == NULL || atomic_fetch_sub(&functions->n_owners, 1) != 1) {
        return;
    }
    for (entry = atomic_load(&functions->newest); entry != NULL; entry = entry->older) {
        if (entry->release != NULL) {
            entry->release(entry->custom.context);
        }
        if (entry->has_lock) {
            pthread_mutex_destroy(&entry->lock);
        }
    }
    for (library = functions->libraries; library != NULL; library = library->older) {
        dlclose(library->handle);
    }
    pthread_mutex_destroy(&functions->lock);
    mdf_arena_release(&functions->arena);
    mdf_memory_init(&memory, &functions->memory.allocator, 0);
    mdf_memory_release(&memory, functions);
}

static const struct entry *find(const struct mdf_functions *functions, const char *name, bool is_dotted)
{
    const struct entry *entry = functions != NULL ? atomic_load(&functions->newest) : NULL;

    while (entry != NULL && strcmp(is_dotted ? entry->dotted : entry->custom.row.name, name) != 0) {
        entry = entry->older;
    }
    return entry;
}

const struct mdf_custom *mdf_custom_find(const struct mdf_functions *functions, const char *name)
{
    const struct entry *entry = find(functions, name, false);

    return entry != NULL ? &entry->custom : NULL;
}

const struct mdf_custom *mdf_custom_find_dotted(const struct mdf_functions *functions, const char *name)
{
    const struct entry *entry = find(functions, name, true);

    return entry != NULL ? &entry->custom : NULL;
}

void mdf_custom_offer(const struct mdf_functions *functions, bool dotted, struct mdf_nearest *nearest)
{
    const struct entry *entry = functions != NULL ? atomic_load(&functions->newest) : NULL;

    for (; entry != NULL; entry = entry->older) {
        mdf_nearest_offer(nearest, dotted ? entry->dotted : entry->custom.row.name);
    }
}

/* ------------------------------------------------------------------ names */

/* Whether "DOMAIN." begins the name of a function of the engine's own. */
static bool is_own_domain(const char *domain, size_t length)
{
    const struct mdf_operator *row;

    for (size_t i = 0; (row = mdf_operator_python_at(i)) != NULL; i++) {
        if (strncmp(row->name, domain, length) == 0 && (row->name[length] == '.' || row->name[length] == '\0')) {
            return true;
        }
    }
    return strncmp(domain, "np", length) == 0 && length == 2;
}

static mdf_status check_name(const char *name, mdf_error *error)
{
    size_t domain = mdf_identifier_length(name), rest;
    const char *in_domain;

    rest = domain > 0 && strncmp(name + domain, "::", 2) == 0 ? mdf_identifier_length(name + domain + 2) : 0;
    if (rest == 0 || name[domain + 2 + rest] != '\0') {
        return mdf_error_set(error, MDF_USAGE, "'%s' is no name for a function: it is DOMAIN::NAME, two identifiers", name);
    }
    if (mdf_schema_split(name, &in_domain) != NULL || is_own_domain(name, domain)) {
        return mdf_error_set(error, MDF_USAGE, "a function '%s' can not be registered: the engine has functions of that domain",
                             name);
    }
    return MDF_OK;
}

void mdf_custom_identifiers(const struct mdf_functions *functions, void (*take)(void *context, const char *name, size_t length),
                            void *context)
{
    const struct entry *entry = functions != NULL ? atomic_load(&functions->newest) : NULL;

    for (; entry != NULL; entry = entry->older) {
        const char *at = entry->custom.c_source;

        if (entry->custom.c_name != NULL) {
            take(context, entry->custom.c_name, strlen(entry->custom.c_name));
        }
        for (int depth = 0; at != NULL && *at != '\0';) {
            size_t length = mdf_identifier_length(at);

            if (length > 0 && depth == 0) {
                take(context, at, length);
            }
            depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
            at += length > 0 ? length : 1;
        }
    }
}

/* ------------------------------------------------------------------ arguments and outputs */

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* The type at a text, up to '='; advances. */
static bool read_type(struct mdf_arena *arena, const char **text, mdf_dtype *dtype)
{
    size_t length = strcspn(*text, "=");
    struct mdf_declared_type type;
    const char *word;

    while (length > 0 && (*text)[length - 1] == ' ') {
        length--;
    }
    word = mdf_arena_text(arena, *text, length);
    if (word == NULL || !mdf_parse_type(word, &type) || type.sequence || type.optional || type.map ||
        type.dtype == MDF_DTYPE_NONE) {
        return false;
    }
    *dtype = type.dtype;
    *text = skip_blanks(*text + length);
    return true;
}

/* "NAME: TYPE = DEFAULT". */
static mdf_status read_value(struct mdf_arena *arena, const char *function, const char *text, bool is_output,
                             struct mdf_custom_value *value, mdf_error *error)
{
    const char *at = skip_blanks(text);
    size_t length = mdf_identifier_length(at);

    value->dtype = MDF_DTYPE_NONE;
    value->name = length > 0 ? mdf_arena_text(arena, at, length) : NULL;
    at = skip_blanks(at + length);
    if (length > 0 && *at == ':') {
        at = skip_blanks(at + 1);
        length = read_type(arena, &at, &value->dtype) ? length : 0;
    }
    if (length > 0 && *at == '=' && !is_output) {
        at = skip_blanks(at + 1);
        value->default_text = mdf_arena_text(arena, at, strlen(at));
        length = *at != '\0' ? length : 0;
        at += strlen(at);
    }
    if (arena->has_refused) {
        return mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (length == 0 || *at != '\0') {
        return mdf_error_set(error, MDF_USAGE, "%s: '%s' is no %s: it is NAME, NAME: TYPE%s", function, text,
                             is_output ? "output" : "argument", is_output ? "" : ", NAME = DEFAULT or NAME: TYPE = DEFAULT");
    }
    return MDF_OK;
}

static size_t count(const char *const *texts)
{
    size_t n = 0;

    while (texts != NULL && texts[n] != NULL) {
        n++;
    }
    return n;
}

/* Room for `n_more` values is left behind those that are read. */
static mdf_status read_values(struct mdf_arena *arena, const char *function, const char *const *texts, bool is_output,
                              size_t n_more, struct mdf_custom_value **values, size_t *n, mdf_error *error)
{
    *n = count(texts);
    if (*n > MDF_CUSTOM_MOST_VALUES) {
        return mdf_error_set(error, MDF_USAGE, "%s: there are %zu %s, more than %d", function, *n,
                             is_output ? "outputs" : "arguments", MDF_CUSTOM_MOST_VALUES);
    }
    *values = mdf_arena_array(arena, *n + n_more, sizeof **values);
    if (*values == NULL) {
        return mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < *n; i++) {
        if (read_value(arena, function, texts[i], is_output, &(*values)[i], error) != MDF_OK) {
            return MDF_USAGE;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp((*values)[k].name, (*values)[i].name) == 0) {
                return mdf_error_set(error, MDF_USAGE, "%s: there are two %s '%s'", function, is_output ? "outputs" : "arguments",
                                     (*values)[i].name);
            }
        }
        if (i > 0 && !is_output && (*values)[i].default_text == NULL && (*values)[i - 1].default_text != NULL) {
            return mdf_error_set(error, MDF_USAGE, "%s: the argument '%s', which has no default, follows one that has", function,
                                 (*values)[i].name);
        }
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ registration */

/* "x limit=", as rows of Python's functions have it. */
static const char *formals_of(struct mdf_arena *arena, const struct mdf_custom *custom)
{
    const char *formals = "";

    for (size_t i = 0; i < custom->n_arguments && formals != NULL; i++) {
        formals = mdf_arena_printf(arena, "%s%s%s%s", formals, i > 0 ? " " : "", custom->arguments[i].name,
                                   custom->arguments[i].default_text != NULL ? "=" : "");
    }
    return formals;
}

/* One with a form in C is a function of its inputs, like the engine's own. */
static void make_row(struct mdf_custom *custom, const char *name, const char *formals)
{
    static const struct mdf_routine in_c = {.plan = NULL, .why = "it failed"};

    custom->row = (struct mdf_operator){.name = name,
                                        .kernel = mdf_custom_run,
                                        .flags = MDF_OPERATOR_KEEPS_INPUTS | (custom->c_name == NULL ? MDF_OPERATOR_CUSTOM : 0),
                                        .routine = custom->c_name != NULL ? &in_c : NULL,
                                        .formals = formals};
}

/* The derivative is a function of the arguments and of the gradient of each output. */
static bool make_derivative(struct mdf_arena *arena, struct entry *entry, mdf_function_kernel kernel)
{
    const struct mdf_custom *of = &entry->custom;
    struct mdf_custom *made = &entry->derivative;
    size_t n = of->n_arguments + of->n_outputs;

    *made = *of;
    made->kernel = kernel;
    made->shapes = NULL;
    made->derivative = NULL;
    made->c_name = made->c_source = NULL;
    made->n_own = of->n_arguments;
    made->n_arguments = n;
    made->n_outputs = of->n_arguments;
    made->arguments = mdf_arena_array(arena, n, sizeof *made->arguments);
    made->outputs = mdf_arena_array(arena, of->n_arguments, sizeof *made->outputs);
    if (made->arguments == NULL || made->outputs == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        made->arguments[i] = i < of->n_arguments ? of->arguments[i] : of->outputs[i - of->n_arguments];
    }
    for (size_t i = 0; i < of->n_arguments; i++) {
        made->outputs[i] = (struct mdf_custom_value){of->arguments[i].name, MDF_DTYPE_NONE, NULL};
    }
    make_row(made, mdf_arena_printf(arena, "the derivative of %s", of->row.name), of->row.formals);
    return made->row.name != NULL;
}

static const char *dotted_of(struct mdf_arena *arena, const char *name)
{
    const char *colons = strstr(name, "::");

    return mdf_arena_printf(arena, "%.*s.%s", (int)(colons - name), name, colons + 2);
}

/* Everything of an entry but what is in the set's list. */
static mdf_status fill_entry(struct mdf_arena *arena, struct entry *entry, const mdf_function *function, mdf_error *error)
{
    static const char *const one_output[] = {"output", NULL};
    struct mdf_custom *custom = &entry->custom;
    const char *name = mdf_arena_text(arena, function->name, strlen(function->name));

    if (name == NULL) {
        return mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (read_values(arena, name, function->arguments, false, 0, &custom->arguments, &custom->n_arguments, error) != MDF_OK ||
        read_values(arena, name, function->outputs != NULL ? function->outputs : one_output, true, 0, &custom->outputs,
                    &custom->n_outputs, error) != MDF_OK) {
        return MDF_USAGE;
    }
    if (custom->n_outputs == 0) {
        return mdf_error_set(error, MDF_USAGE, "%s: it has no outputs", name);
    }
    if (custom->n_arguments == 0 && function->shapes == NULL && (function->flags & MDF_FUNCTION_MAKES_OUTPUTS) == 0) {
        return mdf_error_set(
            error, MDF_USAGE,
            "%s: nothing says what its outputs are like: it has no argument to be like, no function for shapes, and "
            "its kernel does not make them",
            name);
    }
    custom->kernel = function->kernel;
    custom->shapes = function->shapes;
    custom->flags = function->flags;
    custom->context = function->context;
    custom->n_own = custom->n_arguments;
    if (function->c_name != NULL) {
        custom->c_name = mdf_arena_text(arena, function->c_name, strlen(function->c_name));
        custom->c_source = function->c_source != NULL ? mdf_arena_text(arena, function->c_source, strlen(function->c_source)) : NULL;
    }
    entry->release = function->release;
    entry->dotted = dotted_of(arena, name);
    make_row(custom, name, formals_of(arena, custom));
    if (function->derivative != NULL && make_derivative(arena, entry, function->derivative)) {
        custom->derivative = &entry->derivative;
    }
    return arena->has_refused ? mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory") : MDF_OK;
}

/* What is said of its form in C. */
static mdf_status check_c(const mdf_function *function, mdf_error *error)
{
    const char *name = function->c_name;

    if (name == NULL) {
        return function->c_source == NULL ? MDF_OK
                                          : mdf_error_set(error, MDF_USAGE, "%s: it has C source, and no c_name", function->name);
    }
    if (mdf_identifier_length(name) == 0 || name[mdf_identifier_length(name)] != '\0') {
        return mdf_error_set(error, MDF_USAGE, "%s: the c_name '%s' is no name of C", function->name, name);
    }
    if (function->context != NULL || (function->flags & MDF_FUNCTION_SERIAL) != 0) {
        return mdf_error_set(error, MDF_USAGE, "%s: a function with %s has no form in C: leave c_name out", function->name,
                             function->context != NULL ? "a context" : "MDF_FUNCTION_SERIAL");
    }
    return MDF_OK;
}

static mdf_status check_function(const mdf_function *function, mdf_error *error)
{
    static const unsigned known = MDF_FUNCTION_MAKES_OUTPUTS | MDF_FUNCTION_SERIAL | MDF_FUNCTION_REPLACES;

    if (function->name == NULL || function->kernel == NULL) {
        return mdf_error_set(error, MDF_USAGE, "mdf_register_function: a function has a name and a kernel: one of them is NULL");
    }
    if ((function->flags & ~known) != 0) {
        return mdf_error_set(error, MDF_USAGE, "mdf_register_function: '%s' has flags that this library does not know",
                             function->name);
    }
    return check_name(function->name, error) == MDF_OK ? check_c(function, error) : MDF_USAGE;
}

/* With the set locked. */
static mdf_status add_entry(struct mdf_functions *functions, const mdf_function *function, mdf_error *error)
{
    struct entry *entry;
    mdf_status status;

    if ((function->flags & MDF_FUNCTION_REPLACES) == 0 && mdf_custom_find(functions, function->name) != NULL) {
        return mdf_error_set(error, MDF_USAGE, "there is a function '%s' already", function->name);
    }
    functions->arena.has_refused = false;
    entry = mdf_arena_allocate(&functions->arena, sizeof *entry);
    status = entry != NULL ? fill_entry(&functions->arena, entry, function, error)
                           : mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
    if (status != MDF_OK) {
        return status;
    }
    if ((function->flags & MDF_FUNCTION_SERIAL) != 0) {
        if (pthread_mutex_init(&entry->lock, NULL) != 0) {
            return mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        }
        entry->has_lock = true;
        entry->custom.lock = entry->derivative.lock = &entry->lock;
    }
    entry->older = atomic_load(&functions->newest);
    atomic_store(&functions->newest, entry);
    return MDF_OK;
}

mdf_status mdf_functions_add(struct mdf_functions *functions, const mdf_function *function, mdf_error *error)
{
    mdf_status status = check_function(function, error);

    if (status == MDF_OK) {
        pthread_mutex_lock(&functions->lock);
        status = add_entry(functions, function, error);
        pthread_mutex_unlock(&functions->lock);
    }
    return status;
}

/* ------------------------------------------------------------------ plugins */

static mdf_status keep_library(struct mdf_functions *functions, void *handle, mdf_error *error)
{
    struct library *library;

    pthread_mutex_lock(&functions->lock);
    library = mdf_arena_allocate(&functions->arena, sizeof *library);
    if (library != NULL) {
        library->handle = handle;
        library->older = functions->libraries;
        functions->libraries = library;
    }
    pthread_mutex_unlock(&functions->lock);
    return library != NULL ? MDF_OK : mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
}

static mdf_status refuse_plugin(const char *path, mdf_error *error, const char *why)
{
    mdf_error_set(error, MDF_FILE, "'%s' is no plugin of mdf_c: %s", path, why);
    return MDF_FILE;
}

mdf_status mdf_functions_load(struct mdf_functions *functions, const char *path,
                              mdf_status (*register_function)(mdf_functions *, const mdf_function *, mdf_error *),
                              mdf_error *error)
{
    mdf_error own = {0};
    mdf_plugin_host host = {sizeof host, MDF_VERSION_NUMBER, functions, &own, register_function};
    mdf_status (*enter)(const mdf_plugin_host *host) = NULL;
    const int *interface;
    struct mdf_text file;
    mdf_status status;
    void *handle, *entry;

    mdf_text_init(&file, &functions->memory);
    mdf_text_printf(&file, "%s%s", strchr(path, '/') == NULL ? "./" : "", path); /* a path, no name that the loader looks up */
    handle = file.failed ? NULL : dlopen(file.bytes, RTLD_NOW | RTLD_LOCAL);
    status = file.failed ? MDF_OUT_OF_MEMORY : MDF_OK;
    mdf_text_release(&file);
    if (handle == NULL) {
        return status != MDF_OK ? mdf_error_set(error, status, "out of memory")
                                : mdf_error_set(error, MDF_FILE, "the plugin '%s' can not be loaded: %s", path, dlerror());
    }
    interface = dlsym(handle, "mdf_plugin_interface");
    entry = dlsym(handle, "mdf_plugin_register");
    memcpy(&enter, &entry, sizeof enter); /* POSIX: functions have addresses like any */
    if (interface == NULL || entry == NULL) {
        status = refuse_plugin(path, error, "it does not export mdf_plugin_interface and mdf_plugin_register");
    } else if (*interface != MDF_PLUGIN_INTERFACE) {
        status = mdf_error_set(error, MDF_FILE, "the plugin '%s' was made for interface %d, and this library has interface %d",
                               path, *interface, MDF_PLUGIN_INTERFACE);
    } else {
        status = keep_library(functions, handle, error);
        handle = status == MDF_OK ? NULL : handle;
    }
    if (handle != NULL) {
        dlclose(handle);
        return status;
    }
    status = enter(&host);
    if (status != MDF_OK || own.code != MDF_OK) {
        mdf_error_set(error, own.code != MDF_OK ? own.code : status, "the plugin '%s': %s", path,
                      own.code != MDF_OK ? own.message : "it failed without saying why");
    }
    return status != MDF_OK ? status : own.code;
}
