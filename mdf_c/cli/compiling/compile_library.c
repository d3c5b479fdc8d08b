/* compile_library.c - see compile_library.h. No shell takes part. */
#include "mdf_c/cli/compiling/compile_library.h"

#include "mdf_c/cli/compiling/child.h"
#include "mdf_c/values/new_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No contraction, no reordering, and no functions of math.h at compile time, where compilers round better than the library does:
 * results are those of mdf-run. Loops over elements become vectors of what the processor has. */
#define NO_BUILTIN(function) "-fno-builtin-" function, "-fno-builtin-" function "f"
const char *const same_bits_flags[] = {"-std=gnu11",
                                       "-O3",
                                       "-ffp-contract=off",
                                       "-fno-math-errno",
                                       "-fno-trapping-math",
                                       NO_BUILTIN("exp"),
                                       NO_BUILTIN("exp2"),
                                       NO_BUILTIN("expm1"),
                                       NO_BUILTIN("log"),
                                       NO_BUILTIN("log2"),
                                       NO_BUILTIN("log10"),
                                       NO_BUILTIN("log1p"),
                                       NO_BUILTIN("pow"),
                                       NO_BUILTIN("cbrt"),
                                       NO_BUILTIN("hypot"),
                                       NO_BUILTIN("sin"),
                                       NO_BUILTIN("cos"),
                                       NO_BUILTIN("tan"),
                                       NO_BUILTIN("asin"),
                                       NO_BUILTIN("acos"),
                                       NO_BUILTIN("atan"),
                                       NO_BUILTIN("atan2"),
                                       NO_BUILTIN("sinh"),
                                       NO_BUILTIN("cosh"),
                                       NO_BUILTIN("tanh"),
                                       NO_BUILTIN("asinh"),
                                       NO_BUILTIN("acosh"),
                                       NO_BUILTIN("atanh"),
                                       NO_BUILTIN("erf"),
                                       NO_BUILTIN("erfc"),
                                       NULL};
/* Of a library that this project loads, on this machine; and of one for any machine of its kind, with what it exports marked. */
static const char *const own_flags[] = {"-march=native", "-DMDF_COMPILED"};
static const char *const portable_flags[] = {"-fvisibility=hidden"};
static const char *const library_flags[] = {"-fPIC", "-fno-semantic-interposition", "-shared", "-x", "c", "-"};
/* gcc 12.2 with AVX-512 copies some constants wrongly in pieces of 32 bytes (it broadcasts their first half). Totals that were
 * set to 0 in pieces of 16 would then be waited for by vectors that are larger: loops do that, as they are. Other compilers do not
 * know these flags, and are then called without. */
static const char *const careful_flags[] = {"-mmove-max=128", "-mstore-max=128", "-fno-tree-loop-distribute-patterns"};

enum {
    N_SAME_BITS = sizeof same_bits_flags / sizeof *same_bits_flags - 1,
    N_OWN = sizeof own_flags / sizeof *own_flags,
    N_PORTABLE = sizeof portable_flags / sizeof *portable_flags,
    N_LIBRARY = sizeof library_flags / sizeof *library_flags,
    N_CAREFUL = sizeof careful_flags / sizeof *careful_flags,
    N_MOST = N_SAME_BITS + N_OWN + N_LIBRARY + N_CAREFUL
};

/* All flags, in order; how many. `arguments` has room for N_MOST. */
static size_t list_flags(const char **arguments, enum library_kind kind, bool is_careful)
{
    const struct {
        const char *const *flags;
        size_t n;
    } lists[] = {{careful_flags, is_careful ? N_CAREFUL : 0},
                 {same_bits_flags, N_SAME_BITS},
                 {kind == LIBRARY_OWN ? own_flags : portable_flags, kind == LIBRARY_OWN ? N_OWN : N_PORTABLE},
                 {library_flags, N_LIBRARY}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (lists[i].n > 0) {
            memcpy(arguments + n, lists[i].flags, lists[i].n * sizeof *arguments);
        }
        n += lists[i].n;
    }
    return n;
}

/* ------------------------------------------------------------------ the compiler's words */

/* The words of $CC: a program, and what it is always given. */
struct compiler {
    struct mdf_memory *memory;
    char *text; /* all words, each with its end */
    const char **words;
    size_t n;
};

/* Splits as a shell does: at white space that is not quoted. False: a quote is open. */
static bool split(const char *named, struct compiler *compiler)
{
    char *out = compiler->text, quote = '\0';
    bool is_open = false; /* a word is */

    for (; *named != '\0'; named++) {
        if (quote == '\0' && strchr(" \t\n", *named) != NULL) {
            *out = '\0';
            out += is_open;
            is_open = false;
            continue;
        }
        if (!is_open) {
            compiler->words[compiler->n++] = out;
            is_open = true;
        }
        if (quote != '\0' ? *named == quote : *named == '\'' || *named == '"') {
            quote = quote != '\0' ? '\0' : *named;
        } else {
            named += *named == '\\' && quote != '\'' && named[1] != '\0';
            *out++ = *named;
        }
    }
    *out = '\0';
    return quote == '\0';
}

/* Whether the whole text is the name of one program, spaces included. */
static bool is_program(const char *named)
{
    return strchr(named, '/') != NULL ? access(named, X_OK) == 0 : child_is_installed(named);
}

static void release(struct compiler *compiler)
{
    mdf_memory_release(compiler->memory, compiler->text);
    mdf_memory_release(compiler->memory, compiler->words);
}

static mdf_status find_compiler(struct mdf_memory *memory, struct compiler *compiler, mdf_error *error)
{
    const char *set = getenv("CC"), *named = set != NULL && set[strspn(set, " \t\n")] != '\0' ? set : "cc";
    size_t size = strlen(named) + 1;

    *compiler = (struct compiler){.memory = memory};
    compiler->text = mdf_memory_allocate_zeroed(memory, size, 1);
    compiler->words = mdf_memory_allocate_zeroed(memory, size, sizeof *compiler->words);
    if (compiler->text == NULL || compiler->words == NULL) {
        release(compiler);
        return mdf_memory_error(memory, error);
    }
    if (is_program(named)) {
        memcpy(compiler->text, named, size);
        compiler->words[compiler->n++] = compiler->text;
    } else if (!split(named, compiler)) {
        release(compiler);
        return mdf_error_set(error, MDF_USAGE, "a quote is not closed in CC=%s", named);
    }
    return MDF_OK;
}

/* Calls the compiler with its own words and more of them. */
static mdf_status call(const struct compiler *compiler, const char *const *more, size_t n_more, const struct mdf_text *input,
                       struct mdf_text *output, mdf_error *error)
{
    const char **arguments = mdf_memory_allocate_zeroed(compiler->memory, compiler->n + n_more + 1, sizeof *arguments);
    mdf_status status;

    if (arguments == NULL) {
        return mdf_memory_error(compiler->memory, error);
    }
    memcpy(arguments, compiler->words, compiler->n * sizeof *arguments);
    memcpy(arguments + compiler->n, more, n_more * sizeof *arguments);
    status = run_child(arguments, input, output, error);
    mdf_memory_release(compiler->memory, arguments);
    return status;
}

/* ------------------------------------------------------------------ compiling */

static mdf_status run_compiler(const struct compiler *compiler, const struct mdf_text *source, const char *target,
                               enum library_kind kind, bool is_careful, mdf_error *error)
{
    const char *arguments[N_MOST + 3];
    size_t n = list_flags(arguments, kind, is_careful);
    struct mdf_text output;
    mdf_status status;

    arguments[n++] = "-o";
    arguments[n++] = target;
    arguments[n++] = "-lm";
    mdf_text_init(&output, compiler->memory);
    status = call(compiler, arguments, n, source, &output, error);
    mdf_text_release(&output);
    return status;
}

static mdf_status compile_to(struct mdf_memory *memory, const struct mdf_text *source, const char *target, enum library_kind kind,
                             mdf_error *error)
{
    struct compiler compiler;
    mdf_error first = {0};
    mdf_status status = find_compiler(memory, &compiler, error);

    if (status != MDF_OK) {
        return status;
    }
    status = run_compiler(&compiler, source, target, kind, true, &first);
    if (status != MDF_OK) {
        status = run_compiler(&compiler, source, target, kind, false, error);
    }
    release(&compiler);
    return status;
}

static mdf_status compile_file(struct mdf_memory *memory, const struct mdf_text *source, const char *path, enum library_kind kind,
                               library_seal seal, void *context, mdf_error *error)
{
    struct mdf_new_file file;
    mdf_status status = mdf_new_file_open(&file, memory, path, error);

    if (status != MDF_OK) {
        return status;
    }
    if (file.temporary == NULL) {
        status = mdf_error_set(error, MDF_FILE, "%s can not be written: it is no regular file", path);
    } else {
        status = compile_to(memory, source, file.temporary, kind, error);
    }
    if (status == MDF_OK && seal != NULL) {
        status = seal(context, file.temporary, error);
    }
    if (status == MDF_OK) {
        status = mdf_new_file_commit(&file, error);
    }
    mdf_new_file_abandon(&file);
    return status;
}

mdf_status compile_sealed_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, library_seal seal,
                                  void *context, mdf_error *error)
{
    return compile_file(memory, source, path, LIBRARY_OWN, seal, context, error);
}

mdf_status compile_library(struct mdf_memory *memory, const struct mdf_text *source, const char *path, enum library_kind kind,
                           mdf_error *error)
{
    return compile_file(memory, source, path, kind, NULL, NULL, error);
}

mdf_status hash_compiler(struct mdf_memory *memory, struct mdf_hash *hash, mdf_error *error)
{
    static const char *const question[] = {"--version"};
    struct mdf_text nothing, version;
    struct compiler compiler;
    mdf_status status = find_compiler(memory, &compiler, error);
    const char *flags[N_MOST];
    size_t n;

    if (status != MDF_OK) {
        return status;
    }
    mdf_text_init(&nothing, memory);
    mdf_text_init(&version, memory);
    status = call(&compiler, question, 1, &nothing, &version, error);
    for (size_t i = 0; i < compiler.n; i++) {
        mdf_hash_add_text(hash, compiler.words[i]);
    }
    mdf_hash_add(hash, version.bytes, version.length);
    n = list_flags(flags, LIBRARY_OWN, true);
    for (size_t i = 0; i < n; i++) {
        mdf_hash_add_text(hash, flags[i]);
    }
    mdf_text_release(&version);
    release(&compiler);
    return status;
}
