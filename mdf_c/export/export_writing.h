/* export_writing.h - what the files share that write a function of expressions as nodes of ONNX. Functions that return bool return
 * false with the error set. */
#ifndef MDF_EXPORT_EXPORT_WRITING_H
#define MDF_EXPORT_EXPORT_WRITING_H

#include "mdf_c/export/exporter.h"

#include "functions/elements/element.h"
#include "functions/kernel/fold.h"
#include "functions/kernel/move.h"

/* A call that is being written. */
struct writing {
    struct exporter *exporter;
    struct onnx_graph *graph;
    const struct mdf_code_call *call;
    const struct symbol *inputs; /* arrays, but where the operator takes lists */
    size_t n_inputs;
    struct symbol *result; /* its type is known already */
};

/* The call on samples of its inputs. */
struct sampled_call {
    struct mdf_value *samples; /* and scratch behind them */
    size_t n_samples;
    struct mdf_value result, *output;
    struct mdf_call call;
};

/* --- export_python.c */
/* `with_shapes`: samples of the shapes that the inputs have. To be released, whatever it returns. */
bool writing_sample(struct writing *writing, bool with_shapes, struct sampled_call *sampled);
void writing_release(struct writing *writing, struct sampled_call *sampled);
/* What a kernel said that refused samples. */
bool writing_refuse_as_kernel(struct writing *writing);
/* The function has no form. */
bool writing_refuse(struct writing *writing);
bool writing_cast(struct writing *writing, const struct symbol *symbol, mdf_dtype dtype, struct symbol *result);
bool writing_have_full_shapes(const struct symbol *inputs, size_t n);
bool writing_are_constants(const struct symbol *inputs, size_t n);

/* --- export_nodes.c */
/* The result becomes what a text makes of the inputs. In ONNX's own words, where operands are a, b, c, ... and other small letters
 * name what is used again: "r = Mod<fmod=1>(a, b); Where(Less(r, 0), b, r)". Operands and numbers are brought to the type of the
 * result; where that is bool, to the operands' common one. An operand that is left out leaves out what it would go into: of an
 * operator with several inputs the others stay. Of a function of any number of arguments the text is of two, which are taken
 * from the left. */
bool writing_nodes(struct writing *writing, const char *text);
bool writing_element(struct writing *writing, const struct mdf_element *element);

/* --- export_fold.c, export_move.c */
bool writing_fold(struct writing *writing, const struct mdf_fold *fold);
bool writing_move(struct writing *writing, const struct mdf_move *move);

#endif
