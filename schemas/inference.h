/* inference.h - what is known of values before a model runs: element types and shapes, through operators.
 *
 * Comes in: one call of an ONNX operator, with what is known of its inputs. Goes out: what is known of its outputs, or an error
 * where the call can not run whatever the values are. "Not known" is always a right answer: rules only say what holds for
 * sure. A literal without a declared type has no known type here, because it takes the type of what it meets.
 *
 * Source: https://onnx.ai/onnx/repo-docs/ShapeInference.html and the text of each operator. */
#ifndef MDF_SCHEMAS_INFERENCE_H
#define MDF_SCHEMAS_INFERENCE_H

#include "mdf_c/base/arena.h"
#include "mdf_c/tensor/value.h"
#include "schemas/onnx_schema.h"

enum mdf_static_kind { MDF_STATIC_UNKNOWN, MDF_STATIC_OMITTED, MDF_STATIC_TENSOR, MDF_STATIC_SEQUENCE };

/* What is known of a value. All zero but `dtype`: nothing (mdf_static_unknown). */
struct mdf_static_type {
    enum mdf_static_kind kind;
    mdf_dtype dtype; /* of elements; MDF_DTYPE_NONE: not known */
    bool has_shape;  /* of an array; a sequence never has one */
    size_t rank;
    const int64_t *shape;          /* -1: an axis of unknown size */
    const struct mdf_value *value; /* the value itself, where it is a constant; else NULL */
};

extern const struct mdf_static_type mdf_static_unknown;

/* A body graph of the call, given to and back from whoever compiles it. */
struct mdf_static_body {
    struct mdf_static_type *formals; /* what the operator hands in */
    size_t n_formals;
    const struct mdf_static_type *yields;   /* what the body yields, the condition of a Loop among them */
    const struct mdf_static_type *promised; /* the same where states keep the shapes that bodies declare */
    size_t n_yields;
};

enum { MDF_STATIC_BODIES = 2 }; /* of one call, at most */

struct mdf_inference {
    const struct mdf_schema *schema;
    const struct mdf_rule *rule; /* NULL: none */
    struct mdf_arena *arena;     /* shapes of results lie here */
    const struct mdf_static_type *inputs;
    size_t n_inputs;
    struct mdf_static_type *outputs; /* all unknown at first */
    size_t n_outputs;
    struct mdf_static_body bodies[MDF_STATIC_BODIES];
    size_t n_bodies;
    /* An attribute as whole numbers: false where it is not given. A single INT is a list of one. */
    bool (*attribute)(const struct mdf_inference *inference, const char *name, const int64_t **items, size_t *n);
    /* The same as reals, as texts. */
    bool (*attribute_reals)(const struct mdf_inference *inference, const char *name, const double **items, size_t *n);
    bool (*attribute_texts)(const struct mdf_inference *inference, const char *name, const char *const **items, size_t *n);
    /* An attribute as an array; NULL where it is not given. */
    const struct mdf_value *(*attribute_value)(const struct mdf_inference *inference, const char *name);
    /* An attribute as an element type; MDF_DTYPE_NONE where it is not given. */
    mdf_dtype (*attribute_dtype)(const struct mdf_inference *inference, const char *name);
    const void *context, *settings; /* of these */
    mdf_status status;              /* of the error */
    char message[400];              /* one sentence, without position */
};

/* Fills in what is known of the formal inputs of Scan's and Loop's body (bodies[0].formals, n_formals of them). False: the call
 * is wrong, or memory ran out (status, message). */
bool mdf_infer_formals(struct mdf_inference *inference);
/* Fills in what is known of the outputs; for Scan, Loop and If from what the bodies yield. False as above. */
bool mdf_infer_outputs(struct mdf_inference *inference);

/* How many outputs a call of an operator with a variadic output has, as far as its inputs and attributes say: 0: they do not.
 * MDF_SOME_OUTPUTS: one for each number of an array that is not known yet. */
size_t mdf_infer_output_count(const struct mdf_inference *inference);

#define MDF_SOME_OUTPUTS SIZE_MAX

/* --- what rules share */

/* Sets the error; returns false. */
bool mdf_infer_error(struct mdf_inference *inference, mdf_status status, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
/* "float32[2,?]", "seq(float32)", "an unknown type" */
void mdf_static_describe(const struct mdf_static_type *type, char *text, size_t size);
/* Gives a type a shape of `rank` axes, all unknown, and returns them for filling in; NULL with the error set. */
int64_t *mdf_infer_shape(struct mdf_inference *inference, struct mdf_static_type *type, size_t rank);
/* Kinds or element types that can not be the same; shapes that can not. */
bool mdf_static_types_differ(const struct mdf_static_type *a, const struct mdf_static_type *b);
bool mdf_static_shapes_differ(const struct mdf_static_type *a, const struct mdf_static_type *b);
/* Both are known of one value, and do not differ: the result knows all that either does. False: out of memory. */
bool mdf_static_merge(struct mdf_arena *arena, const struct mdf_static_type *a, const struct mdf_static_type *b,
                      struct mdf_static_type *result);
/* A value is one or the other: the result knows what both say. False: out of memory. */
bool mdf_static_union(struct mdf_arena *arena, const struct mdf_static_type *a, const struct mdf_static_type *b,
                      struct mdf_static_type *result);

/* --- rules: what is special to an operator, beside its schema; a column of its row */

struct mdf_rule {
    bool (*outputs)(struct mdf_inference *inference);       /* shapes and types; NULL: the types that the schema says */
    bool (*formals)(struct mdf_inference *inference);       /* of a body; NULL: it takes no inputs, or there is none */
    size_t (*count)(const struct mdf_inference *inference); /* of outputs, one of which is variadic; NULL: 0 */
};

extern const struct mdf_rule mdf_rule_adam, mdf_rule_affine_grid, mdf_rule_arg, mdf_rule_attention, mdf_rule_causal_conv,
    mdf_rule_col2im, mdf_rule_dft, mdf_rule_grid_sample, mdf_rule_linear_attention, mdf_rule_loss, mdf_rule_mel_weights,
    mdf_rule_resize, mdf_rule_stft, mdf_rule_text_parts, mdf_rule_batch_norm, mdf_rule_bit_cast, mdf_rule_broadcast,
    mdf_rule_cast, mdf_rule_cast_like, mdf_rule_center_crop_pad, mdf_rule_compress, mdf_rule_concat, mdf_rule_constant,
    mdf_rule_constant_of_shape, mdf_rule_conv, mdf_rule_conv_transpose, mdf_rule_counted, mdf_rule_depth_to_space, mdf_rule_det,
    mdf_rule_einsum, mdf_rule_expand, mdf_rule_flatten, mdf_rule_gather, mdf_rule_gather_elements, mdf_rule_gather_nd,
    mdf_rule_gemm, mdf_rule_if, mdf_rule_layer_norm, mdf_rule_like, mdf_rule_loop, mdf_rule_matmul, mdf_rule_moved,
    mdf_rule_non_zero, mdf_rule_one_hot, mdf_rule_pad, mdf_rule_planes, mdf_rule_pool, mdf_rule_qlinear_conv,
    mdf_rule_qlinear_matmul, mdf_rule_range, mdf_rule_rank, mdf_rule_recurrent, mdf_rule_reduce, mdf_rule_reshape, mdf_rule_same,
    mdf_rule_same_of_all, mdf_rule_scalar, mdf_rule_scan, mdf_rule_sequence, mdf_rule_sequence_empty, mdf_rule_sequence_item,
    mdf_rule_sequence_map, mdf_rule_sequence_of, mdf_rule_shape_of, mdf_rule_slice, mdf_rule_space_to_depth, mdf_rule_split,
    mdf_rule_squeeze, mdf_rule_suppression, mdf_rule_tile, mdf_rule_top, mdf_rule_transpose, mdf_rule_unique, mdf_rule_unsqueeze,
    mdf_rule_with_scalars;

#endif
