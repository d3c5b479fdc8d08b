/* operator_call.h - one call of an ONNX operator in a model of its own, for suites whose cases are calls and their answers. */
#ifndef MDF_TESTS_OPERATOR_CALL_H
#define MDF_TESTS_OPERATOR_CALL_H

enum { OPERATOR_CALL_TEXT_SIZE = 4096 };

/* The model, for printf: opset, opset of ai.onnx.ml, function, what stands between the braces of args, the value of its port "o"
 * (the function is "f", an output of several "f[1]"). */
#define OPERATOR_CALL_FORM                                                                               \
    "{\"m\": {\"onnx_opset_version\": \"%s\", \"metadata\": {\"opset_imports\": {\"ai.onnx.ml\": %s}}, " \
    "\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"f\": {\"function\": \"%s\", \"args\": " \
    "{%s}}}, \"output_ports\": {\"o\": {\"value\": \"%s\"}}}}}}}}"

/* Evaluates the call; `text` gets the output as JSON, or the message of the error. */
void call_operator(const char *opset, const char *ml_opset, const char *function, const char *args, const char *output,
                   char text[OPERATOR_CALL_TEXT_SIZE]);

#endif
