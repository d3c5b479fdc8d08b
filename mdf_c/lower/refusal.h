/* refusal.h - why instructions do not run in a faster way: what mdf-run --explain tells. */
#ifndef MDF_LOWER_REFUSAL_H
#define MDF_LOWER_REFUSAL_H

#include "mdf_c/code/code.h"

/* X(NAME, what is in the way, what the user of a model can do about it or NULL) */
#define MDF_REFUSAL_LIST(X)                                                                                                \
    X(OUT_OF_MEMORY, "memory was refused", "allow more with --max-memory")                                                 \
    /* values */                                                                                                           \
    X(NO_NUMBERS, "a value that is a list, an object, text or nothing",                                                    \
      "give numbers and arrays to what is computed often: onnx::Concat in place of lists")                                 \
    X(MANY_AXES, "an array of more than eight axes", "join axes with onnx::Reshape")                                       \
    X(WIDE_NUMBER, "complex numbers of 16 bytes", "declare them complex64, if their precision does")                       \
    X(NOT_ALWAYS_THERE, "a value that is not always computed", NULL)                                                       \
    X(NOT_ONE_TYPE, "a value that is not always computed, or not always of one type and shape",                            \
      "let all sides of a condition, or all values of min and max, be of the same type: 0.0, not 0, beside a real number") \
    X(NOT_ONE_STRENGTH,                                                                                                    \
      "a number that one side of a condition computes as Python's and the other as an array's, used where these differ",   \
      "let both sides be computed alike: numpy.divide(a, b) in place of a / b, or a parameter of a declared type")         \
    X(OPEN_LENGTH, "an array whose length is known only when its Loop has ended, read beside the Loop",                    \
      "give the Loop a constant trip count and no condition")                                                              \
    X(LEFT_OUT, "an operand that is left out", NULL)                                                                       \
    X(LIST_TO_ARRAY, "a list that is made an array in each evaluation", "use onnx::Concat, or an array of the file")       \
    X(NO_FIT, "a value that does not fit its declared type", "declare the type that the value has")                        \
    X(NARROWING, "a conversion to a declared type that may not be possible", "declare the type that the value has")        \
    X(CONVERSION, "a conversion between types that is not lowered", NULL)                                                  \
    X(CONDITION_OF_SEVERAL, "a condition of several elements", NULL)                                                       \
    /* instructions */                                                                                                     \
    X(BACKWARDS, "a list comprehension", "write it with operators on whole arrays")                                        \
    X(LIST, "a list that is made in each evaluation", "write it with operators on whole arrays")                           \
    X(UNKNOWN_PLACE, "a sequence that is cut or changed at a place that is not known before",                              \
      "give the position, or the lengths of all parts, as constants")                                                      \
    X(CHANGING_LIST, "a sequence whose arrays differ in type or shape", "let all arrays of a sequence have one shape")     \
    X(NESTED_GRAPH, "a graph within a node", "write its nodes into the graph around it")                                   \
    X(NOT_SAID, "something that is not lowered", NULL)                                                                     \
    /* calls */                                                                                                            \
    X(WRONG_INPUTS, "inputs that do not fit an operator", NULL)                                                            \
    X(CONVERTED_INPUT, "an input whose conversion depends on its elements",                                                \
      "give the input in the type that the operator takes (--typed shows types)")                                          \
    X(FAILING_CALL, "a call that fails on values of these types and shapes", NULL)                                         \
    X(CUSTOM, "a custom function, which is called as it is",                                                               \
      "write it with functions of the engine, or name its kernel in C: c_name of mdf_function")                            \
    X(RANDOM, "random numbers", NULL)                                                                                      \
    /* Loop, Scan, If */                                                                                                   \
    X(CHANGING_STATE, "a state whose type or shape changes from one run of the body to the next",                          \
      "begin it in the type and shape that the body gives: 0.0, not 0, where reals are added")                             \
    X(GROWN, "an operator on an array that grows from run to run, which has no form for any length",                       \
      "put functions of elements, folds along one axis, or an item by its number in its place; or begin with an array of " \
      "full length, and put items into it with onnx::ScatterND")                                                           \
    X(CHANGING_ITEM, "what a body gives to a scan output changing its type or shape in the first runs", NULL)              \
    X(OTHER_BOUND, "a trip count or condition of another type than int64 and bool",                                        \
      "write int(...) around the trip count, bool(...) around the condition")                                              \
    X(ENDLESS, "a loop that never ends", NULL)                                                                             \
    X(SCAN_AXIS, "a scan along an axis that is not there, or of nothing", NULL)                                            \
    X(SCAN_LENGTHS, "scan inputs of different lengths", NULL)                                                              \
    X(OTHER_LENGTHS, "sequence_lens that are no list of int64 or int32, one for each sequence of the batch", NULL)         \
    X(OTHER_CONDITION, "a condition of another type than bool", NULL)                                                      \
    X(DIFFERENT_BRANCHES, "branches whose results differ in type or shape", "let both give the same type and shape")       \
    X(BODIES, "an operator with bodies that is not lowered", NULL)                                                         \
    /* conditions of nodes */                                                                                              \
    X(FRACTIONAL_COUNT, "a count compared with a number that is not whole", "compare it with a whole number")              \
    X(WATCHED_ELEMENT, "a condition on an element of an array", "let a port of its own have that element")                 \
    X(WATCHED_NOTHING, "a condition on a value that is not there", NULL)                                                   \
    X(CONDITIONS, "conditions that are not lowered", NULL)                                                                 \
    X(FEW_PASSES, "an evaluation of one pass at most", NULL)                                                               \
    X(MANY_NODES, "conditions of more than 62 nodes (and, with absolute time, layers)", NULL)                              \
    /* instances side by side */                                                                                           \
    X(LANES_PLACE, "an element whose place in an array differs between instances", NULL)                                   \
    X(LANES_CALL, "a kernel that gets other values in each instance", NULL)                                                \
    X(LANES_STACK, "what a Loop stacks, of runs whose number differs between instances", NULL)                             \
    X(LANES_CONDITIONS, "conditions of nodes", NULL)                                                                       \
    X(ENDS_EARLY, "instances that stop before the third step", NULL)                                                       \
    X(LANES_STEPS, "steps of a solver, which each instance has its own of", NULL)                                          \
    X(LANES_EMPTY, "an array without elements that differs between instances", NULL)                                       \
    /* when it is worth while */                                                                                           \
    X(PLAIN, "--plain (mdf_options.plain)", "leave it out")                                                                \
    X(TOO_EARLY, "types and shapes that are not stable: it is lowered when it runs for the third time",                    \
      "evaluate more often (-n)")                                                                                          \
    X(NODES_WAIT, "nodes that have not run yet", NULL)                                                                     \
    X(ONLY_KERNELS, "nothing but kernels, which run as fast by themselves", NULL)                                          \
    X(LONG_ARRAYS, "long arrays, through which kernels go on several threads", NULL)                                       \
    X(LARGE_GRAPH, "arrays of more than 65,536 elements in all: its nodes are lowered one by one", NULL)                   \
    X(GIVEN_BESIDE_EDGE, "an input that is given to a port which an edge fills as well", NULL)                             \
    X(GIVEN_ONCE, "an input that is given for one run of a node that may run several times",                               \
      "declare the port as an input of the graph (metadata inputs)")                                                       \
    X(OTHER_FORMS, "types or shapes that keep changing between evaluations", "give inputs of one type and shape")          \
    X(LEAVES,                                                                                                              \
      "what the fast way does not cover, too often: a division by zero, a whole number past 64 bits, "                     \
      "a result that is not finite, the branch of another shape",                                                          \
      NULL)                                                                                                                \
    X(IDLE, "an evaluation in which nothing runs", NULL)                                                                   \
    X(LEFT,                                                                                                                \
      "what the fast way does not cover, in the last evaluation: the first run of a node, a division by zero, a whole "    \
      "number past 64 bits, a result that is not finite",                                                                  \
      NULL)                                                                                                                \
    X(WITHIN_NODE, "its place within a node: it is lowered with the graph around", "see why that is not")                  \
    X(BRANCHES, "branches, which are lowered with what is around them only", NULL)                                         \
    X(INTERRUPTED, "an interruption", NULL)                                                                                \
    X(UNSOUND, "a mistake in the engine: what it made does not hold what it has to", "report it, with the model")

enum mdf_refusal_reason {
    MDF_REFUSED_NOT, /* it was not */
#define MDF_REFUSAL_ENUM(name, text, cure) MDF_REFUSED_##name,
    MDF_REFUSAL_LIST(MDF_REFUSAL_ENUM)
#undef MDF_REFUSAL_ENUM
};

enum { MDF_REFUSAL_DETAIL = 120 };

struct mdf_refusal {
    enum mdf_refusal_reason reason;
    const char *operator;            /* that is called there; NULL: none */
    const struct mdf_origin *origin; /* of the instruction; NULL: none. It lives with the program */
    char detail[MDF_REFUSAL_DETAIL]; /* the value that it is about; "" */
};

/* NULL for MDF_REFUSED_NOT. */
const char *mdf_refusal_text(enum mdf_refusal_reason reason);
/* NULL where there is nothing to do about it. */
const char *mdf_refusal_cure(enum mdf_refusal_reason reason);

#endif
