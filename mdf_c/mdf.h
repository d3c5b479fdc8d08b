/* mdf.h - the public interface of mdf_c, a native engine for MDF (ModECI Model Description Format) models.
 *
 * Life of an evaluation: a file is loaded into a model, a model is compiled into a program, a state is
 * made from a program, inputs are set, the state is evaluated, outputs are read.
 *
 *   mdf_model (a read model) -> mdf_program (immutable; share it between threads) -> mdf_state (one thread's buffers)
 *
 * Ownership: what a function named *_load_*, *_compile, *_new or *_parse_* returns belongs to the caller, who
 * releases it with the matching *_free. A program does not need its model any more; a state needs its program
 * to live. Pointers that getters return (names, values, tensors) belong to the object they were asked of and
 * stay valid until that object is evaluated again or released.
 *
 * Errors: a function that can fail takes a nullable mdf_error as its last argument. The first error wins: a call whose
 * error is already set runs all the same, and leaves that error as it is; what the call returns tells how it went. The
 * library never prints, exits or aborts.
 *
 * Misuse does no harm: NULL for an object, a name or an array, a position past the end, an enumerator that does not exist,
 * sizes that are negative or overflow. Then
 *   - what returns a status returns MDF_USAGE, and sets that error;
 *   - what makes something returns NULL, and sets it too;
 *   - what only asks returns NULL, 0 or false (other answers stand at the function);
 *   - what returns nothing, a *_free first of all, does nothing.
 * NULL is allowed for `error`, for `options`, for every place where something is to be written (`tensor`, `n_done`, ...),
 * for an array of no items, and where a function says so. What the library can not see, and the caller answers for: a
 * pointer to what was released or to less than it should, and two threads that use one state, sweep or value.
 *
 * Options: a struct of options begins with its size, so that it can grow. 0 stands for the fields of this header, so that a
 * zero-initialised struct will do; a program that may meet a newer shared library says `sizeof`. Fields that a caller's
 * header does not have yet are zero. A caller whose header has more fields than the library knows gets MDF_USAGE where one
 * of these is not zero. Other structs stay as they are.
 */
#ifndef MDF_H
#define MDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MDF_API __attribute__((visibility("default")))
#else
#define MDF_API
#endif

/* Of this header. The number rises with every version: MDF_VERSION_NUMBER >= 10203 is version 1.2.3 or later. */
#define MDF_VERSION "0.1.0"
#define MDF_VERSION_MAJOR 0
#define MDF_VERSION_MINOR 1
#define MDF_VERSION_PATCH 0
#define MDF_VERSION_NUMBER (MDF_VERSION_MAJOR * 10000 + MDF_VERSION_MINOR * 100 + MDF_VERSION_PATCH)

/* Of the library that the program runs with: MDF_VERSION and MDF_VERSION_NUMBER as they were when it was built. */
MDF_API const char *mdf_version(void);
MDF_API int mdf_version_number(void);

/* ------------------------------------------------------------------ errors */

/* Status codes and their texts, one row each. */
#define MDF_STATUS_LIST(X)                         \
    X(OK, "no error")                              \
    X(OUT_OF_MEMORY, "out of memory")              \
    X(LIMIT, "a limit was exceeded")               \
    X(FILE, "a file could not be read or written") \
    X(SYNTAX, "the document is malformed")         \
    X(MODEL, "the model is invalid")               \
    X(EXPRESSION, "an expression is invalid")      \
    X(TYPE, "a value has the wrong type")          \
    X(SHAPE, "a value has the wrong shape")        \
    X(VALUE, "a value is out of range")            \
    X(NAME, "a name is not known")                 \
    X(UNSUPPORTED, "not supported")                \
    X(USAGE, "the library was called wrongly")     \
    X(INTERRUPTED, "interrupted")

typedef enum mdf_status {
#define MDF_STATUS_ENUM(name, text) MDF_##name,
    MDF_STATUS_LIST(MDF_STATUS_ENUM)
#undef MDF_STATUS_ENUM
} mdf_status;

/* Where and why something failed. Zero-initialise it before the first call. */
typedef struct mdf_error {
    mdf_status code;    /* MDF_OK: no error so far */
    int line, column;   /* 1-based position in the file; 0: unknown */
    char file[256];     /* the file, as the caller named it; "" unknown */
    char path[512];     /* the place in the model: "node 'B', parameter 'B_out'"; "" unknown */
    char message[1024]; /* one sentence, without the position */
} mdf_error;

/* The text of a status code; "unknown status" for what is none. */
MDF_API const char *mdf_status_text(mdf_status status);

/* Writes "file:line:column: error: path: message" (parts that are unknown are left out) into `text`, always
 * terminated; returns the length that the whole text has. `text` may be NULL; the text of a NULL error is empty. */
MDF_API size_t mdf_error_format(const mdf_error *error, char *text, size_t size);

/* Receives each warning while a model is loaded or compiled; `warning` is only valid during the call. */
typedef void (*mdf_warning_handler)(void *context, const mdf_error *warning);

/* What a call that loads, compiles or checks found, in full: see docs/diagnostics.md. With such a list in its options it goes on
 * after an error in one part of a model, and tells up to MDF_MOST_ERRORS that do not only follow from one another; without, the
 * first one ends it. */
typedef struct mdf_diagnostics mdf_diagnostics;

enum { MDF_MOST_ERRORS = 20 };

typedef enum mdf_severity { MDF_SEVERITY_ERROR, MDF_SEVERITY_WARNING } mdf_severity;

/* One of them. Texts belong to the list. */
typedef struct mdf_diagnostic {
    mdf_severity severity;
    const char *code;          /* a word: of an error its status ("name", "model"), of a warning what it is of ("unused-parameter") */
    int line, column;          /* 1-based position in the file, column in characters; 0: unknown */
    int end_column;            /* behind the last character of what the error is about, in the same line; 0: unknown */
    const char *file, *path;   /* as in mdf_error; "": unknown */
    const char *message;       /* one sentence, with what is suggested */
    const char *suggestion;    /* the name that was probably meant; NULL: none */
    const char *source;        /* the line of the file, or a part of a long one; NULL: unknown */
    int source_column;         /* where in `source` the column is, 1-based */
} mdf_diagnostic;

/* What mdf_diagnostic_format writes. */
enum {
    MDF_FORMAT_LINE = 0,   /* as mdf_error_format, with "warning" where it is one */
    MDF_FORMAT_SOURCE = 1, /* and the line of the file, with the place marked under it, where these are known */
    MDF_FORMAT_COLOR = 2,  /* coloured, for a terminal */
    MDF_FORMAT_JSON = 4    /* an object of JSON in one line, in place of all this */
};

/* ------------------------------------------------------------------ memory */

/* Where memory comes from. All three functions are required; `reallocate` follows realloc, `release` free. */
typedef struct mdf_allocator {
    void *(*allocate)(void *context, size_t size_bytes);
    void *(*reallocate)(void *context, void *block, size_t size_bytes);
    void (*release)(void *context, void *block);
    void *context;
} mdf_allocator;

/* ------------------------------------------------------------------ diagnostics */

/* An empty list, in the memory of `allocator` (NULL: malloc). It may serve several calls, one after the other, of one thread. */
MDF_API mdf_diagnostics *mdf_diagnostics_new(const mdf_allocator *allocator, mdf_error *error);
MDF_API void mdf_diagnostics_free(mdf_diagnostics *list);
MDF_API void mdf_diagnostics_clear(mdf_diagnostics *list);
/* Warnings in the order in which they came, errors in that of the file. */
MDF_API size_t mdf_diagnostics_length(const mdf_diagnostics *list);
MDF_API size_t mdf_diagnostics_n_errors(const mdf_diagnostics *list);
/* Number `index`; false past the end. It is valid until the list is used again. */
MDF_API bool mdf_diagnostics_get(const mdf_diagnostics *list, size_t index, mdf_diagnostic *diagnostic);
/* Writes one as text, of one line or several (flags from above), without a line break at the end; always terminated within `size`
 * bytes; returns the length that the whole has. `text` may be NULL. */
MDF_API size_t mdf_diagnostic_format(const mdf_diagnostic *diagnostic, unsigned flags, char *text, size_t size);

/* ------------------------------------------------------------------ element types and values */

/* X(ENUM, numpy / ml_dtypes name, size in bytes as held in memory, kind: b bool, i int, u unsigned, f float,
 *   c complex, s string, TensorProto.DataType of ONNX). 4-bit and 2-bit types are held one element a byte. */
#define MDF_DTYPE_LIST(X)                            \
    X(BOOL, "bool", 1, 'b', 9)                       \
    X(INT2, "int2", 1, 'i', 26)                      \
    X(INT4, "int4", 1, 'i', 22)                      \
    X(INT8, "int8", 1, 'i', 3)                       \
    X(INT16, "int16", 2, 'i', 5)                     \
    X(INT32, "int32", 4, 'i', 6)                     \
    X(INT64, "int64", 8, 'i', 7)                     \
    X(UINT2, "uint2", 1, 'u', 25)                    \
    X(UINT4, "uint4", 1, 'u', 21)                    \
    X(UINT8, "uint8", 1, 'u', 2)                     \
    X(UINT16, "uint16", 2, 'u', 4)                   \
    X(UINT32, "uint32", 4, 'u', 12)                  \
    X(UINT64, "uint64", 8, 'u', 13)                  \
    X(FLOAT4E2M1FN, "float4_e2m1fn", 1, 'f', 23)     \
    X(FLOAT8E4M3FN, "float8_e4m3fn", 1, 'f', 17)     \
    X(FLOAT8E4M3FNUZ, "float8_e4m3fnuz", 1, 'f', 18) \
    X(FLOAT8E5M2, "float8_e5m2", 1, 'f', 19)         \
    X(FLOAT8E5M2FNUZ, "float8_e5m2fnuz", 1, 'f', 20) \
    X(FLOAT8E8M0, "float8_e8m0fnu", 1, 'f', 24)      \
    X(FLOAT16, "float16", 2, 'f', 10)                \
    X(BFLOAT16, "bfloat16", 2, 'f', 16)              \
    X(FLOAT32, "float32", 4, 'f', 1)                 \
    X(FLOAT64, "float64", 8, 'f', 11)                \
    X(COMPLEX64, "complex64", 8, 'c', 14)            \
    X(COMPLEX128, "complex128", 16, 'c', 15)         \
    X(STRING, "string", sizeof(void *), 's', 8)

typedef enum mdf_dtype {
#define MDF_DTYPE_ENUM(name, text, size, kind, onnx) MDF_DTYPE_##name,
    MDF_DTYPE_LIST(MDF_DTYPE_ENUM)
#undef MDF_DTYPE_ENUM
        MDF_DTYPE_COUNT,
    MDF_DTYPE_NONE = MDF_DTYPE_COUNT /* no type: not declared, or not known */
} mdf_dtype;

/* numpy's name of an element type; "none" for MDF_DTYPE_NONE and what is no type. */
MDF_API const char *mdf_dtype_name(mdf_dtype dtype);
/* Bytes per element in memory; 0 for MDF_DTYPE_NONE and what is no type. */
MDF_API size_t mdf_dtype_size(mdf_dtype dtype);

/* A view of a dense row-major array. Strings: `data` is an array of `const char *`, UTF-8, none of them NULL. */
typedef struct mdf_tensor {
    mdf_dtype dtype;
    size_t rank;          /* at most 2^32 - 1 */
    const int64_t *shape; /* `rank` sizes; may be NULL for rank 0 */
    const void *data;     /* may be NULL where there are no elements */
} mdf_tensor;

typedef enum mdf_kind {
    MDF_KIND_NONE,   /* no value: an empty optional, a port of a node that has never run */
    MDF_KIND_TENSOR, /* an array; rank 0 is a scalar */
    MDF_KIND_LIST,   /* a sequence of values, tuples included */
    MDF_KIND_DICT    /* an object with string keys */
} mdf_kind;

/* Any value that a port, parameter or function can hold. */
typedef struct mdf_value mdf_value;

/* MDF_KIND_NONE for NULL. */
MDF_API mdf_kind mdf_value_kind(const mdf_value *value);
/* The array that a value of kind TENSOR holds, borrowed. False for any other kind. */
MDF_API bool mdf_value_tensor(const mdf_value *value, mdf_tensor *tensor);
/* Items of a list or entries of an object; 0 for any other kind. */
MDF_API size_t mdf_value_length(const mdf_value *value);
/* Item or entry number `index`; NULL past the end. */
MDF_API const mdf_value *mdf_value_item(const mdf_value *value, size_t index);
/* Key of entry number `index` of an object; NULL otherwise. */
MDF_API const char *mdf_value_key(const mdf_value *value, size_t index);
/* Whether an object, or each item of a list that is not empty, has these keys, in this order, and no others. */
MDF_API bool mdf_value_has_keys(const mdf_value *value, const char *const *keys, size_t n);
/* Of a list of objects with the same keys in the same order, whose entries are numbers of one type without axes (onnx::ZipMap
 * makes such): this type, and the numbers, those of one object after those of the other, in `numbers`, which is NULL or has
 * `size_bytes` bytes. False for any other value, and where there is less room. */
MDF_API bool mdf_value_table(const mdf_value *list, mdf_dtype *dtype, void *numbers, size_t size_bytes);

/* Values that the caller makes: of kind NONE; an array (copied); a number, truth or text as Python has them, or, with
 * mdf_value_new_literal, an array of numbers as a model's file has it, which take the type of what they meet in an operator; a
 * list or an object of `n` values (copied). NULL on error. A list of arrays is an ONNX sequence. */
MDF_API mdf_value *mdf_value_new_none(mdf_error *error);
MDF_API mdf_value *mdf_value_new_tensor(const mdf_tensor *tensor, mdf_error *error);
MDF_API mdf_value *mdf_value_new_literal(const mdf_tensor *tensor, mdf_error *error);
MDF_API mdf_value *mdf_value_new_real(double real, mdf_error *error);
MDF_API mdf_value *mdf_value_new_integer(int64_t integer, mdf_error *error);
MDF_API mdf_value *mdf_value_new_truth(bool truth, mdf_error *error);
MDF_API mdf_value *mdf_value_new_text(const char *text, mdf_error *error);
MDF_API mdf_value *mdf_value_new_list(const mdf_value *const *items, size_t n, mdf_error *error);
MDF_API mdf_value *mdf_value_new_dict(const char *const *keys, const mdf_value *const *items, size_t n, mdf_error *error);
/* A value that a state holds, as it is now: without copying where that is possible, and unchanged by later evaluations. Release
 * it before the state. */
MDF_API mdf_value *mdf_value_keep(const mdf_value *value, mdf_error *error);
/* Releases a value that the caller made; never one that a getter returned. */
MDF_API void mdf_value_free(mdf_value *value);

/* ------------------------------------------------------------------ operators */

/* Name of ONNX operator number `index` ("Gemm"), in alphabetical order; NULL past the last. */
MDF_API const char *mdf_onnx_operator_name(size_t index);
/* The form of an ONNX operator at an opset version as text: names of inputs, "|", of outputs, "|", of attributes, each followed
 * by a space; '?' after the name of an optional one, '*' after that of one that stands for any number: "A B C? | Y | alpha beta
 * ". Always terminated within `size` bytes; returns the length that the whole text has, 0 where there is no such operator. */
MDF_API size_t mdf_onnx_operator_form(const char *name, int opset, char *text, size_t size);

/* ------------------------------------------------------------------ options */

/* What becomes of the condition that the body of a Loop yields where the Loop has no condition input. */
typedef enum mdf_loop_condition {
    MDF_LOOP_CONDITION_UNSAID,   /* as STANDARD, with a warning where it matters: the condition is not known to be always true; as OBEY
                                    where there is no trip count either, and nothing else would end the loop */
    MDF_LOOP_CONDITION_STANDARD, /* it is ignored, as ONNX's text has it */
    MDF_LOOP_CONDITION_OBEY      /* the loop ends where it is false, as in ONNX Runtime */
} mdf_loop_condition;

/* What a document means: docs/dialects.md. UNSAID: PSYNEULINK where PsyNeuLink wrote it (`generating_application`), else
 * REFERENCE, as the Python engine of MDF has it. */
typedef enum mdf_dialect { MDF_DIALECT_UNSAID, MDF_DIALECT_REFERENCE, MDF_DIALECT_PSYNEULINK } mdf_dialect;

/* Which nodes are looked at together: graph-scheduler's SchedulingMode (docs/scheduling.md, Exact time). UNSAID: as the graph's
 * conditions say, else STANDARD. Graphs within nodes say it themselves. */
typedef enum mdf_scheduling_mode {
    MDF_SCHEDULING_MODE_UNSAID,
    MDF_SCHEDULING_MODE_STANDARD,
    MDF_SCHEDULING_MODE_EXACT_TIME
} mdf_scheduling_mode;

/* How parameters with a time_derivative are solved: docs/time.md. X(ENUM, name). */
#define MDF_METHOD_LIST(X)                         \
    X(EULER, "euler") /* node by node, as MDF's reference */ \
    X(EXPONENTIAL_EULER, "exponential_euler")      \
    X(HEUN, "heun")                                \
    X(RK4, "rk4")                                  \
    X(DOPRI5, "dopri5")                            \
    X(CVODE_ADAMS, "cvode_adams")                  \
    X(CVODE_BDF, "cvode_bdf")

typedef enum mdf_method {
#define MDF_METHOD_ENUM(name, text) MDF_METHOD_##name,
    MDF_METHOD_LIST(MDF_METHOD_ENUM)
#undef MDF_METHOD_ENUM
} mdf_method;

/* A set of custom functions: see "custom functions" below. */
typedef struct mdf_functions mdf_functions;

typedef struct mdf_options {
    size_t size;                    /* sizeof(mdf_options), or 0: see the top of this page */
    const char *graph;              /* id of the graph to run; NULL: the first that no other uses as a body */
    bool float32;                   /* reals without a declared type are float32 */
    uint64_t max_iterations;        /* bound on the iterations of one Loop; 0: none, and an endless Loop is refused */
    uint64_t max_passes;            /* bound on the passes of one evaluation of a graph with conditions; 0: a million */
    size_t max_memory_bytes;        /* bound on what a model, what is compiled of it, and one state may hold together; 0: what the
                                       machine has (docs/limits.md), SIZE_MAX: none */
    uint64_t seed;                  /* for random functions */
    int n_threads;                  /* 0: all cores; negative ones are refused */
    const mdf_allocator *allocator; /* NULL: malloc */
    mdf_warning_handler warning;    /* NULL: warnings are dropped */
    void *warning_context;
    bool plain; /* nothing is fused or made machine code: the same results, more slowly (docs/speed.md) */
    mdf_loop_condition loop_condition;
    /* Bound in seconds on each call that loads, compiles, evaluates once or many times, makes or runs a sweep: it ends with
     * MDF_LIMIT, within a fifth of a second. 0: none. See mdf_state_limit_time and docs/limits.md. */
    double time_limit_s;
    mdf_dialect dialect;
    /* Other values of parameters, as if the model's file had them: JSON, an object {NAME: value}, NAME being NODE.PARAMETER, or
     * PARAMETER for every one of that name. A value stands in the place of the constant that the file has, as the parameter's
     * value or, where that is computed, as its default_initial_value. NULL: none. See docs/parameters.md. */
    const char *parameters;
    mdf_scheduling_mode scheduling_mode;
    const mdf_functions *functions; /* that models may call besides the engine's own; NULL: none */
    /* Receives errors and warnings in full; see mdf_diagnostics. `warning` is called all the same. The mdf_error gets the first
     * error in the order of the file. NULL: none. */
    mdf_diagnostics *diagnostics;
    /* An expression over output ports, NODE.PORT, or PORT where there is one of that name: of a sweep (mdf_sweep_new) an instance
     * ends with the evaluation after which it holds. One number, true unless it is 0. NULL: none. See docs/sweeps.md. */
    const char *stop_when;
    mdf_method method;
    /* Of methods with steps of their own (dopri5, cvode_*): the error of a step is at most rtol * |value| + atol, 0: 1e-6 and 1e-9;
     * no step is longer than max_step, 0: none is too long. More than step_limit steps in one evaluation are an error, 0: 100,000. */
    double rtol, atol, max_step;
    uint64_t step_limit;
} mdf_options;

/* ------------------------------------------------------------------ custom functions */

/* Functions of the caller's own, or of a plugin, that models call by their name: "mylab::saturate" as a function, or
 * mylab.saturate(x, limit=2) in an expression. A set of them is given to mdf_compile in mdf_options.functions; there is no other
 * registry, and none that programs share without being told to. See docs/plugins.md.
 *
 * Functions may be added to a set at any time, by any thread; what a program calls is what was there when it was compiled. A
 * program keeps its set, and the set its plugins: both may be released in any order. */
MDF_API mdf_functions *mdf_functions_new(const mdf_allocator *allocator, mdf_error *error); /* NULL: malloc */
MDF_API void mdf_functions_free(mdf_functions *functions);

/* One call, as a kernel sees it. Later versions may add fields at its end; `size` says which are there. */
typedef struct mdf_function_call {
    size_t size;   /* sizeof(mdf_function_call) of the engine */
    void *context; /* that of the mdf_function */
    size_t n_inputs, n_outputs;
    /* In the arguments' order, of the types that these declare; MDF_DTYPE_NONE: no value, only for one that is None by default. */
    const mdf_tensor *inputs;
    /* Where the elements of each output go; NULL: not made yet. Of what is made, `forms` has type and shape. */
    void *const *outputs;
    const mdf_tensor *forms;
    /* Makes an output: its elements, which the kernel then writes; NULL where it is refused: return any status then. */
    void *(*make)(struct mdf_function_call *call, size_t output, mdf_dtype dtype, size_t rank, const int64_t *shape);
    /* Says why the call fails: `return call->fail(call, MDF_VALUE, "the limit is below 0");` The message is copied. */
    mdf_status (*fail)(struct mdf_function_call *call, mdf_status status, const char *message);
    void *engine; /* not for the kernel */
} mdf_function_call;

/* MDF_OK, or what call->fail returned. Several threads may be in it at once, unless the function is MDF_FUNCTION_SERIAL. */
typedef mdf_status (*mdf_function_kernel)(mdf_function_call *call);

enum {
    MDF_FUNCTION_MAKES_OUTPUTS = 1, /* the kernel itself makes each output, as only it knows its type and shape */
    MDF_FUNCTION_SERIAL = 2,        /* one call at a time, whatever the number of threads and states */
    MDF_FUNCTION_REPLACES = 4       /* another function of that name gives way; without it that is refused */
};

/* Zero-initialise it. All texts are copied. */
typedef struct mdf_function {
    size_t size;      /* sizeof(mdf_function), or 0: see the top of this page */
    const char *name; /* "DOMAIN::NAME"; names of ONNX, numpy, math and the engine's other domains are refused */
    /* Each "NAME", "NAME: TYPE", "NAME = DEFAULT" or "NAME: TYPE = DEFAULT", behind the last one NULL; at most 32. What is given
     * is converted to the TYPE, where that loses nothing but the precision of reals; DEFAULT is an expression without names. */
    const char *const *arguments;
    /* Each "NAME" or "NAME: TYPE", behind the last one NULL; at most 32. Without a TYPE it is that of the first argument. NULL:
     * one output, "output". */
    const char *const *outputs;
    mdf_function_kernel kernel; /* finds all outputs made, unless it makes them itself */
    /* Makes the outputs before each call of the kernel. It is called while a model is compiled too, where types and shapes are
     * known already: the data of inputs is NULL then, but for constants. NULL: outputs have the shape of the first argument. */
    mdf_function_kernel shapes;
    /* For gradients (ai.onnx.preview.training::Gradient). Its inputs are those of the function and, behind them, the gradient of
     * each output (zeros where nothing depends on it); output i, of the type and shape of input i, is the gradient of input
     * i. NULL: there is none. */
    mdf_function_kernel derivative;
    unsigned flags;
    void *context;                  /* for call->context */
    void (*release)(void *context); /* called once nothing can call the function any more; NULL: nothing is to be done */
    /* For C source (mdf-compile, mdf-run --compile): the kernel's name in C; NULL: models that call the function have no form in C.
     * Who names it promises that results hang on the inputs alone, so that the kernel may also be called beforehand, and more or
     * less often than the model says. Not with `context` or MDF_FUNCTION_SERIAL. */
    const char *c_name;
    /* C that defines the kernel, and what it calls besides math.h and string.h: MDF_FUNCTION_SOURCE makes it. NULL: the source that
     * is written declares the kernel, `mdf_status NAME(mdf_function_call *call)`, and has to be linked with it. */
    const char *c_source;
} mdf_function;

/* Functions of C, and the same as the text NAME, a `static const char []`. No line in it may begin with '#'. */
#define MDF_FUNCTION_SOURCE(name, ...) __VA_ARGS__ static const char name[] = #__VA_ARGS__

/* Adds a function to a set. Where it is refused, `release` is not called. */
MDF_API mdf_status mdf_register_function(mdf_functions *functions, const mdf_function *function, mdf_error *error);

/* Loads a shared library that brings functions, and has it add them to a set. A plugin is code of the process that loads it: load
 * only what you trust. No model can name one. */
MDF_API mdf_status mdf_load_plugin(mdf_functions *functions, const char *path, mdf_error *error);

/* What a plugin needs of the engine: it is not linked with it. */
typedef struct mdf_plugin_host {
    size_t size;              /* sizeof(mdf_plugin_host) of the engine; later versions may add fields at its end */
    int version_number;       /* MDF_VERSION_NUMBER of the engine */
    mdf_functions *functions; /* for register_function */
    mdf_error *error;         /* the same */
    mdf_status (*register_function)(mdf_functions *functions, const mdf_function *function, mdf_error *error);
} mdf_plugin_host;

/* What a plugin exports: the number of this interface, and what adds its functions and returns MDF_OK, or what register_function
 * returned:
 *
 *     MDF_PLUGIN_EXPORT const int mdf_plugin_interface = MDF_PLUGIN_INTERFACE;
 *     MDF_PLUGIN_EXPORT mdf_status mdf_plugin_register(const mdf_plugin_host *host) { ... } */
#define MDF_PLUGIN_INTERFACE 1
#ifdef __cplusplus
#define MDF_PLUGIN_EXPORT extern "C" MDF_API
#else
#define MDF_PLUGIN_EXPORT MDF_API
#endif

/* ------------------------------------------------------------------ models */

typedef struct mdf_model mdf_model;

/* Reads a model file. The format follows the suffix: .json, .yaml, .yml, .bson, .onnx (see docs/onnx.md). Weights of a big ONNX
 * file stay in it: replace such a file, but do not change it in place, while the model or a program of it lives. */
MDF_API mdf_model *mdf_model_load_file(const char *path, mdf_error *error);
/* The same with a format ("json", "yaml", "bson", "onnx"; NULL: by suffix) and options (bounds, allocator and warnings are used;
 * may be NULL). */
MDF_API mdf_model *mdf_model_load_file_as(const char *path, const char *format, const mdf_options *options, mdf_error *error);
/* Reads a model from memory; `name` stands for the file in messages, and may be NULL. */
MDF_API mdf_model *mdf_model_load_bytes(const void *bytes, size_t size_bytes, const char *format, const char *name,
                                        const mdf_options *options, mdf_error *error);
/* What a file of JSON, YAML or BSON says, with its places, for programs whose own files lie beside models (mdf-fit): a list of the line, the
 * column (1-based; 0: the format has none) and what stands there, which is a number, text, truth, array of numbers, nothing, a list of
 * such lists, or an object whose entries are lists of the line and column of the key and such a list. `format` NULL: by suffix. Of the
 * options max_memory_bytes and those of warnings count. NULL on error. */
MDF_API mdf_value *mdf_value_read_file(const char *path, const char *format, const mdf_options *options, mdf_error *error);
/* Writes a model; the format follows the suffix, .onnx as mdf_model_save_onnx. The file appears whole or not at all. Arrays of a megabyte and more of a model
 * that came from ONNX go into an archive PATH.npz beside it (docs/onnx.md, Weights beside the model). */
MDF_API mdf_status mdf_model_save_file(const mdf_model *model, const char *path, mdf_error *error);
/* The same; arrays of at least `beside_bytes` bytes go beside it, whatever the model came from. SIZE_MAX: none. */
MDF_API mdf_status mdf_model_save_file_parted(const mdf_model *model, const char *path, size_t beside_bytes, mdf_error *error);
/* Compiles a graph of a model and writes it as an .onnx file, which has no more than what one evaluation computes (docs/onnx.md,
 * Writing ONNX). MDF_UNSUPPORTED, with the place in the model, where something has no form in ONNX. `options` may be NULL. */
MDF_API mdf_status mdf_model_save_onnx(const mdf_model *model, const char *path, const mdf_options *options, mdf_error *error);
MDF_API const char *mdf_model_id(const mdf_model *model);
MDF_API size_t mdf_model_n_graphs(const mdf_model *model);
MDF_API const char *mdf_model_graph_id(const mdf_model *model, size_t index);
/* A graph of a model (NULL: the one that runs where none is asked for), with its bodies, as a text for Graphviz's program dot.
 * `detail`: 1 names of nodes, 2 ports, parameters and functions too, 3 all, 0: 2, or 1 for large graphs. Written to `text`,
 * always terminated within `size` bytes; returns the length that the whole has. 0, and an empty text, where there is no such
 * graph or detail, and where memory is refused. */
MDF_API size_t mdf_model_dot(const mdf_model *model, const char *graph, int detail, char *text, size_t size);
MDF_API void mdf_model_free(mdf_model *model);
/* Adds an error or warning that came without the list, of an evaluation say; `model` (may be NULL) has the text of the file. */
MDF_API mdf_status mdf_diagnostics_add(mdf_diagnostics *list, const mdf_model *model, mdf_severity severity,
                                       const mdf_error *diagnostic, mdf_error *error);

/* ------------------------------------------------------------------ programs */

typedef struct mdf_program mdf_program;

/* Compiles one graph of a model: names resolved, expressions parsed, attributes read, bodies wired. `options` may be NULL. */
MDF_API mdf_program *mdf_compile(const mdf_model *model, const mdf_options *options, mdf_error *error);
/* The same; parameters of these names (NODE.PARAMETER; PARAMETER: every one of that name, in any node, and the graph's) are kept
 * changeable: each state may set them with mdf_set_parameter, and nothing is worked out from the values that the model gives
 * them, which hold until then. Only numbers and arrays of numbers can be kept so, as a parameter's value or as its
 * default_initial_value; the names need not outlive the call. */
MDF_API mdf_program *mdf_compile_changeable(const mdf_model *model, const char *const *parameters, size_t n_parameters,
                                            const mdf_options *options, mdf_error *error);
/* Compiles the derivatives of a value by parameters into a program of their own. One evaluation of it is n_steps (at least 1)
 * evaluations of the graph in a row, the first without a time increment, the later ones with that of mdf_evaluate, where dt, which
 * says only whether there is one, is no NaN. It has one node, "gradient", with the output ports "value", what `of` (a result, PORT or
 * NODE.PORT) then holds, and for each of the parameters (names as mdf_compile_changeable has them) its name: the derivative of value,
 * or of the sum of its elements, by the parameter, in the parameter's shape and type; 0 by what does not change it. Parameters may be
 * set as of other programs; inputs are the graph's, and hold for all steps. What can not be derived is refused: MDF_UNSUPPORTED. */
MDF_API mdf_program *mdf_compile_gradient(const mdf_model *model, const char *of, const char *const *parameters,
                                          size_t n_parameters, uint64_t n_steps, double dt, const mdf_options *options,
                                          mdf_error *error);
/* Products of derivatives by vectors. */
typedef enum mdf_vector_product {
    MDF_VECTOR_JACOBIAN, /* ports as of mdf_compile_gradient: the vector is "cotangent", which has value's shape, times the derivatives of
                           value by the parameter */
    MDF_JACOBIAN_VECTOR, /* ports "value" and "tangent": how value changes with the parameters, in the direction that the vector
                           "direction.NODE.PARAMETER" of each, in its shape, is */
    MDF_HESSIAN_VECTOR  /* ports "value" and the names of the parameters: how the derivatives of (the sum of) value by them change in
                           that direction: the Hessian times the vector */
} mdf_vector_product;
/* The same program for these. The vectors are parameters of it, to be set by mdf_set_parameter; until then they are 1 in all elements. */
MDF_API mdf_program *mdf_compile_vector_product(const mdf_model *model, mdf_vector_product what, const char *of,
                                            const char *const *parameters, size_t n_parameters, uint64_t n_steps, double dt,
                                            const mdf_options *options, mdf_error *error);
MDF_API void mdf_program_free(mdf_program *program);
MDF_API const char *mdf_program_model_id(const mdf_program *program);
MDF_API const char *mdf_program_graph_id(const mdf_program *program);
MDF_API size_t mdf_program_n_nodes(const mdf_program *program);
MDF_API const char *mdf_program_node_id(const mdf_program *program, size_t node);
MDF_API size_t mdf_program_n_outputs(const mdf_program *program, size_t node);
MDF_API const char *mdf_program_output_id(const mdf_program *program, size_t node, size_t output);
/* The parts of a node whose values can be looked at, in the order of the file. */
typedef enum mdf_part { MDF_PART_INPUT, MDF_PART_FUNCTION, MDF_PART_PARAMETER, MDF_PART_OUTPUT, MDF_PART_COUNT } mdf_part;
MDF_API size_t mdf_program_n_parts(const mdf_program *program, size_t node, mdf_part kind);
MDF_API const char *mdf_program_part_id(const mdf_program *program, size_t node, mdf_part kind, size_t part);
/* How many values a part has: more than one for a function of several outputs, 0 for a part that is never computed. */
MDF_API size_t mdf_program_part_n_values(const mdf_program *program, size_t node, mdf_part kind, size_t part);
/* Whether conditions decide which nodes run; else every evaluation runs the same sets of nodes. */
MDF_API bool mdf_program_is_scheduled(const mdf_program *program);
/* The layers of the consideration queue (see docs/scheduling.md), in order, and the nodes of each. SIZE_MAX: there is none. */
MDF_API size_t mdf_program_n_layers(const mdf_program *program);
MDF_API size_t mdf_program_layer_size(const mdf_program *program, size_t layer);
MDF_API size_t mdf_program_layer_node(const mdf_program *program, size_t layer, size_t entry);
/* What the graph as a whole takes and yields (see docs/control-flow.md, Interface). */
MDF_API size_t mdf_program_n_graph_inputs(const mdf_program *program);
MDF_API const char *mdf_program_graph_input_name(const mdf_program *program, size_t index);
MDF_API size_t mdf_program_n_results(const mdf_program *program);
MDF_API const char *mdf_program_result_name(const mdf_program *program, size_t index);
/* Tells, before a run, what it would quietly take. `warning` is called, with `context`, for each input port that is 0 because
 * neither an edge nor a default_value feeds it, nor an input of the `n_given` names (as mdf_set_input takes them); and where
 * there are more steps than one and no time increment (`dt` NaN) for a parameter with a time_derivative, which then stands still.
 * `warning` may be NULL. Returns how many there are. */
MDF_API size_t mdf_check_run(const mdf_program *program, const char *const *given, size_t n_given, uint64_t n_steps, double dt,
                             mdf_warning_handler warning, void *context);

/* Compiles a model's graph and looks it over, without running it: what mdf_compile warns of, and ports that nothing feeds or reads,
 * parameters and functions that nothing uses, types and shapes that do not fit each other, conditions that can not be meant
 * (docs/diagnostics.md). All goes to `options->diagnostics` and to `options->warning`; `given` names inputs that a run sets, as
 * mdf_set_input has them, `n_steps` and `dt` (NaN: none) are what it is run with. MDF_OK where there are no errors, whatever the
 * warnings. `options` may be NULL. */
MDF_API mdf_status mdf_check(const mdf_model *model, const char *const *given, size_t n_given, uint64_t n_steps, double dt,
                             const mdf_options *options, mdf_error *error);

/* ------------------------------------------------------------------ evaluation */

/* While a state is evaluated, by this thread (in a function of the caller's that is called meanwhile) or by another, what would
 * change it gives MDF_USAGE, and it has no values and no sets; it may be interrupted. After fork, both processes may go on with
 * the states that they have. */
typedef struct mdf_state mdf_state;

MDF_API mdf_state *mdf_state_new(const mdf_program *program, mdf_error *error);
/* A state that is being evaluated, by a thread here or of the process that this one was forked from, is left as it is. The
 * program keeps the memory of a few small states (up to 8 MB each) that are freed, for the next that are new. */
MDF_API void mdf_state_free(mdf_state *state);
/* Makes a state as it was when it was new, with another seed for random functions; its memory stays for later use. */
MDF_API mdf_status mdf_state_reset(mdf_state *state, uint64_t seed, mdf_error *error);
/* Makes `target` go on from where `source` is: values, clocks and counts, random numbers, parameters and inputs that are set but
 * not spent. Both are of one program, else MDF_USAGE. Evaluations of either then give the same bits, and change nothing in the
 * other: a copy is a snapshot to come back to, or a simulation that begins there. `target` keeps its memory and what it has
 * prepared; time limits and requests to stop are each state's own. Where memory is refused, `target` is as new. */
MDF_API mdf_status mdf_state_copy(mdf_state *target, mdf_state *source, mdf_error *error);
/* Sets a parameter that was kept changeable, before the first evaluation or the first after a reset. Numbers of type float64,
 * int64 and bool are taken as if they stood in the model; others keep their type. MDF_NAME where no such parameter has that name.
 */
MDF_API mdf_status mdf_set_parameter(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error);

/* Sets an input for the next evaluation, which spends it, also where it fails: NAME is PORT (every port of that name, in any
 * node) or NODE.PORT. The tensor is copied. MDF_NAME where no port has that name. */
MDF_API mdf_status mdf_set_input(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error);
/* mdf_set_input for each of `n`, in one call. */
MDF_API mdf_status mdf_set_inputs(mdf_state *state, const char *const *names, const mdf_tensor *values, size_t n,
                                  mdf_error *error);
/* The same as mdf_set_input without a copy where that is possible: `value->data` is looked at where it lies, and has to stay
 * there unchanged until that input is set or lent again and an evaluation has begun, or until the state is freed. */
MDF_API mdf_status mdf_lend_input(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error);
/* The same from a value of any kind (an output of another state, say). */
MDF_API mdf_status mdf_set_input_value(mdf_state *state, const char *name, const mdf_value *value, mdf_error *error);
/* The same from JSON text: numbers, booleans, strings, nested lists, or the typed forms of the command line. */
MDF_API mdf_status mdf_set_input_json(mdf_state *state, const char *name, const char *json, mdf_error *error);

/* Evaluates the graph once. `dt` is the time increment in the model's unit of time (seconds by MDF's documentation);
 * NaN: none (time derivatives take their initial values). */
MDF_API mdf_status mdf_evaluate(mdf_state *state, double dt, mdf_error *error);

/* mdf_state_reset, mdf_set_inputs and mdf_evaluate (without a time increment), in one call. What an evaluation of a graph without
 * conditions and initial values has prepared is used again. Where it fails, the state is as new. */
MDF_API mdf_status mdf_evaluate_anew(mdf_state *state, uint64_t seed, const char *const *names, const mdf_tensor *values,
                                     size_t n, mdf_error *error);

/* A port whose values mdf_evaluate_steps writes down: after step s its elements go to data + s * size_bytes. */
typedef struct mdf_record {
    size_t node, output;
    mdf_dtype dtype; /* of a number, with the shape below; a value of another form ends the evaluation of steps */
    size_t rank;
    const int64_t *shape;
    size_t size_bytes; /* of one value, as type and shape have it */
    void *data;        /* room for all steps */
} mdf_record;

/* Evaluates the graph up to `n_steps` times, each time with the inputs that were set before the call (they are spent when it
 * ends), and stops early after about `budget_s` seconds (0: never). The first evaluation gets `first_dt`, each other `dt`; NaN is
 * none. *n_done is the number of evaluations that were done. A value that does not have the form of its record ends the call with
 * MDF_OK after that evaluation; *n_recorded, else equal to *n_done, does not count it. */
MDF_API mdf_status mdf_evaluate_steps(mdf_state *state, uint64_t n_steps, double first_dt, double dt, double budget_s,
                                      const mdf_record *records, size_t n_records, uint64_t *n_done, uint64_t *n_recorded,
                                      mdf_error *error);

/* An input that changes from step to step: that of step s is of the type and shape of `value`, and lies s * step_bytes behind its
 * data. It is no text. */
typedef struct mdf_series {
    const char *name; /* as of mdf_set_input */
    mdf_tensor value;
    size_t step_bytes;
} mdf_series;

/* The same where inputs change: each step is given its own value of these. */
MDF_API mdf_status mdf_evaluate_series(mdf_state *state, const mdf_series *inputs, size_t n_inputs, uint64_t n_steps,
                                       double first_dt, double dt, double budget_s, const mdf_record *records, size_t n_records,
                                       uint64_t *n_done, uint64_t *n_recorded, mdf_error *error);

/* Value of an output port after the last evaluation; NULL where there is no such port. */
MDF_API const mdf_value *mdf_output(const mdf_state *state, const char *node, const char *port);
/* The same by position. */
MDF_API const mdf_value *mdf_output_at(const mdf_state *state, size_t node, size_t output);
/* A result of the graph, by position. */
MDF_API const mdf_value *mdf_result_at(const mdf_state *state, size_t index);
/* Whether the graph's results are `n` arrays of the types and shapes that `arrays` has, from an earlier mdf_value_tensor, say; if
 * so, their `data` is written there. Where `rank` is SIZE_MAX it is any value: that is written, a const mdf_value *. */
MDF_API bool mdf_results_locate(const mdf_state *state, mdf_tensor *arrays, size_t n);

/* Value number `index` of a part of a node after the last evaluation; of an input port, the value that the node used last, or,
 * where it did not run in that evaluation, would have used. NULL where there is no such part or value, and where the node has
 * never run. */
MDF_API const mdf_value *mdf_part_at(const mdf_state *state, size_t node, mdf_part kind, size_t part, size_t index);

/* Execution sets of the last evaluation, in the order they ran: number of sets, size of one, node of one entry. */
MDF_API size_t mdf_schedule_n_sets(const mdf_state *state);
MDF_API size_t mdf_schedule_set_size(const mdf_state *state, size_t set);
MDF_API size_t mdf_schedule_node(const mdf_state *state, size_t set, size_t entry); /* SIZE_MAX: there is none */

/* All of it at once: the number of sets, then for each set its size and its nodes, into `words`, which has room for `n_words`.
 * Returns how many words the whole takes; 0 for a NULL state, else at least 1. */
MDF_API size_t mdf_schedule_read(const mdf_state *state, size_t *words, size_t n_words);

/* The pass that a set belongs to, counted from 0 (without conditions there is one pass), and the absolute time of the set in
 * milliseconds; NaN where no condition is one of time, and where there is no such set. */
MDF_API uint64_t mdf_schedule_pass(const mdf_state *state, size_t set);
MDF_API double mdf_schedule_time_ms(const mdf_state *state, size_t set);

/* Which way the graph, its nodes and the bodies in them ran in the last evaluation (step by step, lowered, as machine code, ...)
 * and why not a faster one, as text of several lines (docs/explain.md). Written to `text`, always terminated within `size` bytes;
 * returns the length that the whole has. 0, and an empty text, for a state that is being evaluated, and where memory is refused.
 */
MDF_API size_t mdf_explain(const mdf_state *state, char *text, size_t size);

/* Looking inside. Before the first evaluation, or the first after a reset (else MDF_USAGE), a state is told to keep what its
 * evaluations do, as one or more of these. It then runs more slowly, to the same bits: docs/inside.md. */
enum { MDF_INSPECT_BODIES = 1, MDF_INSPECT_PROFILE = 2 };
MDF_API mdf_status mdf_state_inspect(mdf_state *state, unsigned what, mdf_error *error);
/* INSPECT_BODIES: values in bodies of Scan, Loop and If in the last evaluation, by iteration: {NODE: [{"operator", "body",
 * "iterations": [{"inputs": {NAME: value}, "outputs": {NODE: {PORT: value}}, "bodies": {NODE: ...}}, ...]}, ...]}, "bodies" where
 * nodes of the body have bodies themselves. NULL where they are not kept. */
MDF_API const mdf_value *mdf_state_bodies(const mdf_state *state);
/* INSPECT_PROFILE: where the time of all evaluations so far went: {"total_s", "evaluations", "nodes", "operators", "bodies",
 * "places"}, the last four lists of {"name", "calls", "time_s", "self_s"}; the self_s of all places add up to total_s. NULL where
 * it is not kept, and where memory is refused. */
MDF_API const mdf_value *mdf_state_profile(mdf_state *state);
/* The same as lines "graph;node;operator NANOSECONDS" for a flame graph, as mdf_explain writes a text. */
MDF_API size_t mdf_state_profile_stacks(const mdf_state *state, char *text, size_t size);

/* Most bytes that the state held at any time. */
MDF_API size_t mdf_state_peak_bytes(const mdf_state *state);
/* Asks a running evaluation of `state` to stop with MDF_INTERRUPTED; may be called from a signal handler or another thread. */
MDF_API void mdf_state_interrupt(mdf_state *state);
/* Takes back a request to stop that came too late for the evaluation that it was meant for. */
MDF_API void mdf_state_forget_interrupt(mdf_state *state);
/* From now on SIGINT asks `state` to stop, once the handler that there is has heard it; NULL: none, and that handler is alone
 * again. For hosts whose handlers wait until a call has ended, and would not be able to ask. Gives the state that was asked so far
 * (NULL: none), which is set again at the end. Nothing where SIGINT has no handler. Of one thread of the process at a time. */
MDF_API mdf_state *mdf_ctrl_c_asks(mdf_state *state);
/* From this moment on all evaluations of `state` together have so many seconds, in place of the time_limit_s that each call has
 * by the program's options; past them every one ends with MDF_LIMIT. 0: each has its own again. */
MDF_API void mdf_state_limit_time(mdf_state *state, double seconds);

/* ------------------------------------------------------------------ sweeps */

/* A sweep evaluates one program many times (instances), on several threads, with other values of its changeable parameters (see
 * mdf_compile_changeable), other inputs and another seed in each. What an instance gives is what a new state gives with these
 * values and that seed: the same bits whatever the number of threads. See docs/sweeps.md. */
typedef struct mdf_sweep mdf_sweep;

/* Leading axes of an array of values, before those of one value; of both, the one of instances is first. */
enum {
    MDF_SWEEP_PER_INSTANCE = 1, /* one for each instance; without it all instances have the same */
    MDF_SWEEP_PER_STEP = 2,     /* of inputs: one for each step; without it a value is given in each step */
    MDF_SWEEP_TYPED = 4 /* values keep their type; without it float64, int64 and bool are as numbers that stand in a model */
};
/* Beside MDF_SWEEP_PER_INSTANCE, of instances that are a grid: one value for each position along its axis number `axis`. */
#define MDF_SWEEP_ALONG(axis) (((unsigned)(axis) + 1u) << 8)

/* Values of a changeable parameter, or of an input: names as for mdf_set_parameter and mdf_set_input. */
typedef struct mdf_sweep_values {
    const char *name;
    unsigned axes;     /* flags from above */
    mdf_tensor values; /* of numbers; its data is borrowed while the sweep lives */
} mdf_sweep_values;

/* What a sweep tells of many instances together, in place of the values of each: numbers that come out the same to the last bit
 * in whatever order and parts the instances are evaluated (docs/sweeps.md). */
typedef enum mdf_sweep_reduction_kind {
    MDF_REDUCTION_COUNT,     /* how many values there are, int64 */
    MDF_REDUCTION_MEAN,      /* float64: the exact sum, rounded once, over their number */
    MDF_REDUCTION_VAR,       /* float64: the mean of the squares of how far they are from the mean, by exact sums */
    MDF_REDUCTION_QUANTILES, /* float64, at each of the points, which are from 0 to 1: off by 1/2048 of a value at most */
    MDF_REDUCTION_HISTOGRAM  /* int64: the values between each two of the points, which ascend; of the last two, that included */
} mdf_sweep_reduction_kind;

/* Instead of a record: the step and the time after which mdf_options.stop_when ended an instance; of those only that it ended. */
#define MDF_REDUCED_STOPPED_STEP (SIZE_MAX - 1)
#define MDF_REDUCED_STOPPED_TIME SIZE_MAX

typedef struct mdf_sweep_reduction {
    size_t record; /* of which record, or one of the above */
    mdf_sweep_reduction_kind kind;
    const double *points;
    size_t n_points;
} mdf_sweep_reduction;

/* Zero-initialise it. Arrays are borrowed while mdf_sweep_new runs; what values and `seeds` point to, while the sweep lives. */
typedef struct mdf_sweep_options {
    size_t size; /* sizeof(mdf_sweep_options), or 0: see the top of this page */
    size_t n_instances;
    size_t first_instance; /* the number that the first has in messages, and for its seed: of a sweep that is cut into parts */
    const mdf_sweep_values *parameters, *inputs;
    size_t n_parameters, n_inputs;
    const mdf_record *records; /* node and output of the ports that are recorded; type and shape, where the type is not
                                  MDF_DTYPE_NONE; else these are found by evaluating the first instance */
    size_t n_records;
    uint64_t n_steps;      /* evaluations of each instance */
    double dt;             /* of all but the first; NaN: none */
    uint64_t record_every; /* k: after the first step, which has the initial values, and each k-th from there; 0: after the last only */
    const uint64_t *seeds; /* of each instance; NULL: mdf_sweep_seed(seed, first_instance + i) */
    uint64_t seed;
    int n_threads; /* 0: all cores; negative ones are refused */
    /* Called ten times a second, and at the end, by the thread that called mdf_sweep_new (where that evaluates the first
     * instance) or mdf_sweep_run; false asks to stop. May be NULL. */
    bool (*progress)(void *context, size_t n_done, size_t n_instances);
    void *progress_context;
    /* The instances are a part of a grid, those from number first_instance on, its last axis changing fastest: the lengths of its
     * axes. NULL: they are not. See MDF_SWEEP_ALONG. */
    const size_t *grid;
    size_t n_grid;
    /* [n_instances]: gets the step, counted from 1, after which each ended because mdf_options.stop_when held; -1: that did not
     * end it. An instance that has ended has the values of its last step in all rows of later ones. NULL: not wanted. */
    int64_t *stopped_steps;
    const mdf_sweep_reduction *reductions;
    size_t n_reductions;
    /* Of each axis of the grid: reductions go over it, NULL: over all. What is reduced has a cell for each position along the
     * others together, the last of these changing fastest. */
    const bool *is_reduced;
    /* So many instances are evaluated side by side, in vector registers (the next lower power of two, at most 64); 1: one by one;
     * 0: as many as pay. The same bits either way: docs/sweeps.md. */
    size_t n_lanes;
} mdf_sweep_options;

/* Checks all that is asked for; `options` must not be NULL. The program must live as long as the sweep. */
MDF_API mdf_sweep *mdf_sweep_new(const mdf_program *program, const mdf_sweep_options *options, mdf_error *error);
MDF_API void mdf_sweep_free(mdf_sweep *sweep); /* one that is running is left as it is */
/* Steps of each instance that are recorded. */
MDF_API size_t mdf_sweep_n_rows(const mdf_sweep *sweep);
/* Type and shape of one value of record number `record`; false where there is none, or no instance to find it. A narrower value
 * (an initial 0 before reals) is widened, a single number fills the shape, and a node that has not run yet gives NaN. */
MDF_API bool mdf_sweep_form(const mdf_sweep *sweep, size_t record, mdf_tensor *form);
/* Type of reduction number `reduction`, and its shape: [cells, rows, shape of one value, points where there are], of a histogram
 * one less than points; false where there is none. */
MDF_API bool mdf_sweep_reduced_form(const mdf_sweep *sweep, size_t reduction, mdf_tensor *form);
/* Evaluates all instances. arrays[record] is the caller's, of shape [instances, rows, shape of one value], row-major. On
 * MDF_INTERRUPTED, and on an error, which is that of the first instance that fails, its rows are written in part. MDF_USAGE
 * where it is running already. `arrays` may be NULL where there are reductions: then no instance's values are kept. */
MDF_API mdf_status mdf_sweep_run(mdf_sweep *sweep, void *const *arrays, mdf_error *error);
/* Instances that are done, while the sweep runs or after it; asks a running sweep to stop. Any thread may call them, and a signal
 * handler. */
MDF_API size_t mdf_sweep_n_done(const mdf_sweep *sweep);
MDF_API void mdf_sweep_interrupt(mdf_sweep *sweep);
/* Whether the instances of the last mdf_sweep_run were evaluated side by side, and why not, as mdf_explain writes a text. 0, and an
 * empty text, while the sweep is running. */
MDF_API size_t mdf_explain_sweep(const mdf_sweep *sweep, char *text, size_t size);
/* What a reduction has come to, of all instances that the sweep has evaluated, however often it ran, and of those that were
 * added: into the caller's array of the form that mdf_sweep_reduced_form tells. Of no values it is NaN, or 0 where it counts. */
MDF_API mdf_status mdf_sweep_reduced(const mdf_sweep *sweep, size_t reduction, void *array, mdf_error *error);
/* All reductions as they are, as bytes that any machine reads: up to `size` into the caller's `bytes`, which may be NULL. Returns
 * how many there are; 0 where memory was refused, or where there are no reductions. */
MDF_API size_t mdf_sweep_save_reduced(const mdf_sweep *sweep, void *bytes, size_t size);
/* Adds what a sweep with the same reductions, of other instances, has saved. */
MDF_API mdf_status mdf_sweep_add_reduced(mdf_sweep *sweep, const void *bytes, size_t size, mdf_error *error);
/* The seed of an instance: number `instance` + 1 of the numbers that SplitMix64 gives from `seed`. */
MDF_API uint64_t mdf_sweep_seed(uint64_t seed, uint64_t instance);

/* How the values of parameters are drawn; `a` and `b` are the ends of the uniform one (b is never drawn), mean and standard
 * deviation of the normal one, and of the logarithm of the lognormal one. */
typedef enum mdf_distribution_kind {
    MDF_DISTRIBUTION_UNIFORM,
    MDF_DISTRIBUTION_NORMAL,
    MDF_DISTRIBUTION_LOGNORMAL
} mdf_distribution_kind;
typedef struct mdf_distribution {
    mdf_distribution_kind kind;
    double a, b;
} mdf_distribution;

typedef enum mdf_sampling {
    MDF_SAMPLING_RANDOM, /* each by itself */
    MDF_SAMPLING_SOBOL,  /* the points of Sobol's sequence, by the directions of Joe and Kuo; a seed shifts them, 0 does not */
    MDF_SAMPLING_LATIN_HYPERCUBE, /* of n_samples layers of equal probability of each distribution, one point is in each */
} mdf_sampling;

/* Points of as many axes as there are distributions: values is [n_distributions, n_samples]. The same on all machines, but for
 * the last bits of logarithms and exponentials. See docs/sensitivity.md. */
MDF_API mdf_status mdf_sample(mdf_sampling sampling, uint64_t seed, const mdf_distribution *distributions, size_t n_distributions,
                              size_t n_samples, double *values, mdf_error *error);

#ifdef __cplusplus
}
#endif

#endif
