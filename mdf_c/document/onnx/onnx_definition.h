/* onnx_definition.h - operators that are defined by others of ONNX: rows of texts (onnx_definitions.c), and what makes a function
 * of one for a call (onnx_definition.c), as a model might bring it along itself.
 *
 * A step is "NAME, NAME = CALL" or "NAME = NAME"; a name may get another value in a later step. A call is
 * "Operator(ARGUMENT, ..., attribute=VALUE, ...)" of ONNX, or of com.microsoft with "::" before it; an argument is a name, a
 * call, a number or a list of whole numbers (constants: int64, with a point float32), or "@attribute", the call's attribute as a
 * constant. The value of an attribute is a number, a 'text', or "@attribute": left out where the call does not give it and it has
 * no default, with
 * "?" behind also where it is 0. "if CONDITION & ...: STEP" is a step only where the conditions hold: NAME (the call has that
 * input),
 * @attribute (given, and neither 0 nor empty), @attribute=VALUE, rank(INPUT)=N, type(INPUT)=WORD (where these are known), "!"
 * before for the opposite. "refuse WORDS" is an error. Steps that no output needs are left out. */
#ifndef MDF_DOCUMENT_ONNX_DEFINITION_H
#define MDF_DOCUMENT_ONNX_DEFINITION_H

enum { ONNX_DEFINITION_OPSET = 25 }; /* of ONNX's operators in steps */

struct onnx_definition {
    const char *domain, *name;                 /* of domain "": where the opset has no such operator */
    const char *inputs, *outputs, *attributes; /* with blanks between; "alpha=1.0": a default */
    const char *const *steps;                  /* NULL ends them */
};

/* The rows; a name of NULL ends them. */
extern const struct onnx_definition mdf_onnx_definitions[];

#endif
