/* operator.h - the operator table: one row an operator, from which everything else follows.
 *
 * ONNX operators: what is legal (formals, arity, types, attributes with defaults, by version) stands in schemas/; a row
 * here adds what happens: the kernel for the versions [since, until], and where the kernel wants its attributes. A family
 * is a file that ends in its table; functions/kernel/registry.c lists the tables.
 *
 * Python functions (numpy.sum, math.sin, abs, the operators of expressions) have their formals in the row. */
#ifndef MDF_FUNCTIONS_KERNEL_OPERATOR_H
#define MDF_FUNCTIONS_KERNEL_OPERATOR_H

#include "functions/kernel/call.h"

/* How an attribute reaches a kernel: by name into a field of its settings struct. Where neither the model nor the schema
 * gives a value, the field gets the "not given" value in brackets. */
enum mdf_setting_type {
    MDF_SETTING_INT,     /* int64_t             [MDF_NOT_GIVEN] */
    MDF_SETTING_FLOAT,   /* double              [NaN] */
    MDF_SETTING_STRING,  /* const char *        [NULL] */
    MDF_SETTING_INTS,    /* struct mdf_ints     [items NULL] */
    MDF_SETTING_FLOATS,  /* struct mdf_floats   [items NULL] */
    MDF_SETTING_STRINGS, /* struct mdf_strings  [items NULL] */
    MDF_SETTING_DTYPE,   /* mdf_dtype, from ONNX's number or a type's name   [MDF_DTYPE_NONE] */
    MDF_SETTING_VALUE,   /* const struct mdf_value *: an array   [NULL] */
    MDF_SETTING_GRAPH    /* the body's position in call->bodies is the order of such rows; the field is a size_t, unused */
};

#define MDF_NOT_GIVEN INT64_MIN

/* Of a setting that says yes or no: no where it is not given. */
static inline bool mdf_is_set(int64_t setting)
{
    return setting != 0 && setting != MDF_NOT_GIVEN;
}

struct mdf_ints {
    const int64_t *items;
    size_t n;
};

struct mdf_floats {
    const double *items;
    size_t n;
};

struct mdf_strings {
    const char *const *items;
    size_t n;
};

struct mdf_setting {
    const char *name; /* of the attribute; NULL ends the table */
    enum mdf_setting_type type;
    size_t offset; /* of the field */
};

enum mdf_operator_flags {
    MDF_OPERATOR_PURE = 0,
    MDF_OPERATOR_RANDOM = 1,       /* draws random numbers: never folded at compile time */
    MDF_OPERATOR_KEEPS_INPUTS = 2, /* takes inputs of any kind as they are: no conversion of literals to a shared type */
    MDF_OPERATOR_METHOD = 4,       /* Python: may be called as a method of its first argument, "m.sum()" */
    MDF_OPERATOR_INFERS = 8, /* ONNX: has no training yet: a call in a later version's form is the same, without its training */
    MDF_OPERATOR_MAPS = 16,  /* the body takes as many inputs as the call, and yields its outputs */
    MDF_OPERATOR_MODIFIES = 32,       /* bodies may be left out; each takes one array and yields one; outputs are the schema's */
    MDF_OPERATOR_DERIVES = 64,        /* stands for code that the compiler makes from the rules for derivatives */
    MDF_OPERATOR_KEEPS_SCALARS = 128, /* ONNX: a bare number is not an array of one, which means something else */
    MDF_OPERATOR_NEEDS_AXIS = 256,    /* ONNX: a number without axes that has no declared type is an array of one */
    MDF_OPERATOR_TRUTH = 512,         /* Python: the result of values that are no arrays is a bool */
    MDF_OPERATOR_CUSTOM = 1024,       /* a function that was registered (functions/custom/custom.h) */
    MDF_OPERATOR_ALIKE = 2048, /* Python: all arguments and the result have one unit, where no element or fold says it */
    /* A mask: is called where the model says it, and no more. */
    MDF_OPERATOR_AS_WRITTEN = MDF_OPERATOR_RANDOM | MDF_OPERATOR_CUSTOM
};

struct mdf_element;
struct mdf_fold;
struct mdf_move;
struct mdf_routine;

/* How the gradient of output 0, `dy`, reaches an input: an expression (functions/kernel/derivatives.h). */
struct mdf_derivative {
    int input;              /* its number; MDF_DERIVATIVE_ANY: any */
    const char *expression; /* NULL: nothing does, the result does not change with it */
};

enum { MDF_DERIVATIVE_ANY = -1, MDF_DERIVATIVE_END = -2 };

#define MDF_DERIVATIVES(...)         \
    (const struct mdf_derivative[])  \
    {                                \
        __VA_ARGS__,                 \
        {                            \
            MDF_DERIVATIVE_END, NULL \
        }                            \
    }

/* What an operator computes, as expressions (docs/expressions.md) of what a rule for a derivative sees: derivatives are made of
 * these, where there are no rules. Each step has a name that later ones may use. */
struct mdf_meaning_step {
    const char *name; /* NULL ends the list; of a scan the names of what it ends as and of what it stacks, blanks between them */
    const char *expression;
    const struct mdf_meaning_scan *scan; /* in the place of an expression */
};

/* A Scan: in its steps, states and items of what is scanned have names of their own, "NAME:OUTER NAME:OUTER". */
struct mdf_meaning_scan {
    const char *states, *scanned;
    const struct mdf_meaning_step *steps;
    const char *yields; /* what the states become, then what is stacked */
};

struct mdf_meaning {
    const char *outputs; /* of each output the step that computes it, blanks between them; "-": it changes with no input */
    const struct mdf_meaning_step *steps;
    const struct mdf_operator *helper; /* what they call "places": a row that gets the call's settings; NULL: none */
};

#define MDF_MEANING(outputs, helper, ...) \
    (&(const struct mdf_meaning){outputs, (const struct mdf_meaning_step[]){__VA_ARGS__, {NULL, NULL, NULL}}, helper})

/* What mdf_c/source writes for a call, where neither its element nor its fold nor its move says it. */
enum mdf_form {
    MDF_FORM_NONE,
    MDF_FORM_OF_SHAPE, /* the result follows from the shape of the one input */
    MDF_FORM_FILL,     /* the input is the shape of the result, and all that counts */
    MDF_FORM_OF_NUMBERS, /* all follows from attributes and a few numbers, which stay what they are in C source */
    MDF_FORM_MATMUL,
    MDF_FORM_DOT, /* numpy's: as MATMUL up to two axes */
    MDF_FORM_GEMM,
    MDF_FORM_PRODUCT_OF_LINES, /* of inputs 0 and 1 as rows, as long as input 2 is high and wide: the first turned, by the other */
    MDF_FORM_EINSUM,
    MDF_FORM_SOFTMAX,
    MDF_FORM_LOG_SOFTMAX,
    MDF_FORM_HARDMAX,
    MDF_FORM_GATHER,
    MDF_FORM_GATHER_ELEMENTS,
    MDF_FORM_SLICE,
    MDF_FORM_CONCATENATE,
    MDF_FORM_SCATTER_ELEMENTS,
    MDF_FORM_SCATTER_ND,
    MDF_FORM_CLIP,
    MDF_FORM_BOUNDS,          /* numpy's: lower bounds are inputs 1 and 3, upper ones 2 and 4, as they have two names */
    MDF_FORM_LEAST,           /* Python's, of several numbers: the first of those that are equal */
    MDF_FORM_GREATEST,
    MDF_FORM_QUOTIENT,        /* Python's, of whole numbers too */
    MDF_FORM_NUMBER,          /* Python's int and float */
    MDF_FORM_FLOOR,           /* a real number rounded, as one of Python's ints: math.floor */
    MDF_FORM_CEILING,
    MDF_FORM_DECIMALS,        /* numpy.round: its element, of multiples of a power of ten, which input 1 says */
    MDF_FORM_INTERPOLATE,     /* numpy.interp: at x, of the points xp, fp; beyond their ends the inputs 3 and 4 */
    MDF_FORM_NEAREST,         /* the even one of two: round, without digits */
    MDF_FORM_VARIADIC,        /* its element, folded over all operands from the left */
    MDF_FORM_MEAN,            /* ... and divided by their number */
    MDF_FORM_GATHER_FEATURES, /* of the last axis, by indices in a row */
    MDF_FORM_BINARIZER,       /* features one by one, in rows (mdf_c/lower/nests/lower_features.c) */
    MDF_FORM_SCALER,
    MDF_FORM_IMPUTER,
    MDF_FORM_NORMALIZER,
    MDF_FORM_ONE_HOT,
    MDF_FORM_LAYER_NORM, /* lines brought to mean 0 and variance 1 (mdf_c/lower/nests/lower_norms.c) */
    MDF_FORM_RMS_NORM,
    MDF_FORM_INSTANCE_NORM,
    MDF_FORM_BATCH_NORM,
    MDF_FORM_LP_NORM,
    MDF_FORM_POOL,        /* windows folded (mdf_c/lower/nests/lower_pools.c), as the routine plans them */
    MDF_FORM_POOL_PLANES, /* the same of whole planes */
    MDF_FORM_CONVOLUTION, /* sums of products along windows (mdf_c/lower/nests/lower_convolution.c), as the routine plans them */
    MDF_FORM_LIST,       /* of the inputs: what [a, b] makes */
    MDF_FORM_OUTPUTS,    /* the same of the outputs of a call, but those at the end that it has not made */
    MDF_FORM_LIST_ITEM,  /* of a list too: one of its items */
    MDF_FORM_LIST_ARRAY, /* of a list too: an array of its items */
    MDF_FORM_IF,         /* control flow: the lowered form has it too */
    MDF_FORM_LOOP,
    MDF_FORM_SCAN,
    MDF_FORM_SEQUENCE_MAP, /* of sequences, which are rows of an array in the lowered form */
    MDF_FORM_SEQUENCE_CONSTRUCT,
    MDF_FORM_SEQUENCE_INSERT,
    MDF_FORM_SEQUENCE_ERASE,
    MDF_FORM_SEQUENCE_AT,
    MDF_FORM_SEQUENCE_LENGTH,
    MDF_FORM_SEQUENCE_SPLIT,
    MDF_FORM_SEQUENCE_JOIN,
    MDF_FORM_OPTIONAL,     /* what may not be there (mdf_c/lower/lists/lower_optional.c), made of what is */
    MDF_FORM_OPTIONAL_HAS, /* whether it is there */
    MDF_FORM_OPTIONAL_GET  /* what is there */
};

/* What a call comes to where the lists that it gets are written out, so that their items are known: in derivatives, and in
 * expressions that have the lists as their arguments (mdf_c/plan/traced/unrolled.c); in lowered forms
 * (mdf_c/lower/lists/lower_made_list.c). */
enum mdf_written_out {
    MDF_WRITTEN_OUT_NOT,
    MDF_WRITTEN_OUT_CHOICES,   /* of lists of conditions and values, and another value: one `where` within the other */
    MDF_WRITTEN_OUT_ITEMS,     /* a list of the same items */
    MDF_WRITTEN_OUT_BACKWARD,  /* of them from the last to the first */
    MDF_WRITTEN_OUT_NUMBERED,  /* of pairs: a number, which input 1 begins with, and an item */
    MDF_WRITTEN_OUT_TOGETHER,  /* of lists: the first items of all inputs, the second ones, as long as all have one */
    MDF_WRITTEN_OUT_ARGUMENTS, /* several items are arguments of the function itself */
    MDF_WRITTEN_OUT_SUM,       /* 0 and all items, added one by one */
    MDF_WRITTEN_OUT_PRODUCT,   /* 1 and all items, multiplied; this and what follows in lowered forms alone */
    MDF_WRITTEN_OUT_ANY,       /* whether one of them is true */
    MDF_WRITTEN_OUT_ALL,
    MDF_WRITTEN_OUT_SORTED,
    MDF_WRITTEN_OUT_CONTAINED, /* of a list that is input 1: whether input 0 equals one of its items; whether none */
    MDF_WRITTEN_OUT_NOT_CONTAINED
};

/* Columns from `fold` on are named where a row has them. */
struct mdf_operator {
    const char *name; /* ONNX: "Gather"; Python: "numpy.sum", "math.sin", "abs", "operator.add"; NULL ends a table */
    int since, until; /* ONNX: versions of the schema [since, until] that the kernel serves; Python: 0 */
    mdf_kernel kernel; /* Python: NULL: a call is compiled to its meaning, whose steps see the formals by their names */
    const struct mdf_setting *settings; /* NULL: none */
    size_t settings_size;
    unsigned flags;
    const char *formals; /* Python: "a axis= keepdims=": names in order, '=' where it may be left out, "*args" for any number.
                            ONNX: NULL (schemas/ has them) */
    const struct mdf_element *element; /* the function of elements that it computes (functions/elements/element.h); NULL: none */
    const struct mdf_element *(*element_of)(const void *settings); /* the same where attributes choose it */
    const struct mdf_fold *fold; /* what it makes of many elements (functions/kernel/fold.h); NULL: it is no reduction */
    const struct mdf_move *move; /* how it moves elements (functions/kernel/move.h); NULL: it makes others */
    const struct mdf_derivative *derivatives; /* the first row for an input counts; NULL: as element and move say */
    const struct mdf_meaning *meaning;        /* what derivatives are made of where these say nothing; NULL: nothing */
    enum mdf_form form;                       /* in C; NONE: as element, fold and move say */
    unsigned by_form; /* inputs of which type and shape count, and no element: bit i is input i (mdf_counts_by_form) */
    const struct mdf_routine *routine; /* a call as a function of plain C (functions/kernel/routine.h); NULL: there is none */
    const struct mdf_operator
        *of_items;                /* Python, of a list in input 0: the same with its items as inputs; NULL: there is none */
    enum mdf_written_out written_out; /* Python, of lists */
    const char *nodes; /* Python: the same as nodes of ONNX, where element, fold and move do not say it (mdf_c/export/export_writing.h);
                          NULL: they do, or there are none */
    const struct mdf_rule *infer; /* ONNX: what is known of its results before it runs; NULL: as element and fold say */
    const char *called; /* Python: what mathematics and other languages call it, between blanks, " ln "; NULL: nothing else */
};

/* Whether of an input only type and shape count. */
static inline bool mdf_counts_by_form(const struct mdf_operator *row, size_t input)
{
    return (input == 0 && (row->form == MDF_FORM_OF_SHAPE || row->form == MDF_FORM_OPTIONAL_HAS)) ||
           (input < 8 * sizeof row->by_form && (row->by_form >> input & 1) != 0);
}

/* The row of a Python function; behind the formals come other columns. */
#define MDF_FUNCTION(name, kernel, flags, ...)                                        \
    {                                                                                 \
        name, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS | (flags), __VA_ARGS__ \
    }

/* The kernel row for an ONNX operator at a schema version (not an opset version); NULL where there is none. No two domains of
 * ONNX have operators of one name. */
const struct mdf_operator *mdf_operator_onnx(const char *name, int schema_version);
/* What a call of an operator is called for people: "onnx::Gather", "numpy.sum", "+". */
enum { MDF_OPERATOR_TITLE_SIZE = 96 };
void mdf_operator_title(const struct mdf_operator *operator, char text[MDF_OPERATOR_TITLE_SIZE]);
/* The row of a Python function by its dotted name; NULL where there is none. "np." is not an alias. */
const struct mdf_operator *mdf_operator_python(const char *name);
/* The row of a method of arrays: "sum" for "m.sum()"; of an attribute without call: "shape", "T", "size", "ndim", "real". */
const struct mdf_operator *mdf_operator_method(const char *name);
const struct mdf_operator *mdf_operator_attribute(const char *name);
/* What the columns of a row come to: in what form a call stands in lowered programs, whether it has one in generated C, and what
 * it hands back to its inputs. For docs/operators.md, and tests/data/missing_columns.txt, which has the reason for each that is
 * missing. */
struct mdf_operator_ways {
    const char *lowered;    /* "op", "product", "control", or "call" of the kernel */
    bool has_c;             /* also where it is nothing but a constant, and folded before */
    const char *derivative; /* "yes"; "0": the result does not change with any input; NULL: there is none */
};
struct mdf_operator_ways mdf_operator_ways(const struct mdf_operator *row);
/* How an operator of ONNX infers what is known of its results; NULL: by its schema alone. */
const struct mdf_rule *mdf_operator_rule(const struct mdf_operator *row);
/* Row number `i` of all of the Python functions, methods and attributes included; NULL behind the last. */
const struct mdf_operator *mdf_operator_python_at(size_t i);
/* Offers all names of the Python functions, or of methods or attributes of arrays, to a search for the nearest. */
void mdf_operator_offer_python(struct mdf_nearest *nearest);
/* The Python function that is called so without its module, or elsewhere: "numpy.log" for "ln"; NULL: none is. */
const struct mdf_operator *mdf_operator_called(const char *name);
void mdf_operator_offer_methods(struct mdf_nearest *nearest);
void mdf_operator_offer_attributes(struct mdf_nearest *nearest);

#endif
