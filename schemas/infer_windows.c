/* infer_windows.c - shapes of what windows give: pools, convolutions; of recurrent networks, attention and losses. See
 * infer_shapes.c.
 *
 * Source: the texts of the operators (https://onnx.ai/onnx/operators/). */
#include "schemas/infer_parts.h"

enum { N_OUTER = 2 }; /* batches and channels, in front of the axes that windows go along */
enum { LARGEST = INT32_MAX };

static const char *text(const struct mdf_inference *inference, const char *name)
{
    const char *const *items;
    size_t n;

    return inference->attribute_texts(inference, name, &items, &n) && n == 1 ? items[0] : "";
}

/* Number i of an attribute that is a list; -1: it is none that a window may have. */
static int64_t number(const struct mdf_inference *inference, const char *name, size_t i, int64_t otherwise)
{
    const int64_t *items;
    size_t n;

    if (!inference->attribute(inference, name, &items, &n)) {
        return otherwise;
    }
    return i < n && items[i] >= 0 && items[i] <= LARGEST ? items[i] : -1;
}

/* How a window lies along one axis of so many. */
struct along {
    int64_t stride, extent, pads; /* -1: not known */
    bool same;                    /* as many windows as strides */
};

static struct along read_along(const struct mdf_inference *inference, size_t axis, size_t n_axes, int64_t kernel)
{
    const char *mode = text(inference, "auto_pad");
    int64_t dilation = number(inference, "dilations", axis, 1), begin = number(inference, "pads", axis, 0),
            end = number(inference, "pads", axis + n_axes, 0);
    struct along along = {.stride = number(inference, "strides", axis, 1), .same = strncmp(mode, "SAME", 4) == 0};

    along.pads = strcmp(mode, "VALID") == 0 ? 0 : begin < 0 || end < 0 ? -1 : begin + end;
    along.extent = kernel < 1 || kernel > LARGEST || dilation < 1 ? -1 : (kernel - 1) * dilation + 1;
    return along;
}

static int64_t count_windows(const struct mdf_inference *inference, const struct along *along, size_t axis, int64_t size)
{
    int64_t room, count, begin = number(inference, "pads", axis, 0);
    bool ceil_mode = integer(inference, "ceil_mode", 0) > 0;

    if (size < 0 || size > LARGEST || along->stride < 1) {
        return -1;
    }
    if (along->same) {
        return (size + along->stride - 1) / along->stride;
    }
    room = size + along->pads - along->extent;
    if (along->extent < 0 || along->pads < 0 || room < 0) {
        return -1;
    }
    count = (ceil_mode ? room + along->stride - 1 : room) / along->stride + 1;
    return ceil_mode && (count - 1) * along->stride >= size + (along->pads == 0 ? 0 : begin) ? count - 1 : count;
}

/* `kernel`: what says the sizes of windows from its axis 2 on; NULL: an attribute does. `channels`: of the result. */
static bool infer_windows(struct mdf_inference *inference, const struct mdf_static_type *kernel, int64_t channels)
{
    const struct mdf_static_type *source = input(inference, 0);

    if (!source->has_shape || source->rank <= N_OUTER || (kernel != NULL && kernel->has_shape && kernel->rank != source->rank)) {
        return true;
    }
    for (size_t i = 0; i < inference->n_outputs && done(inference); i++) {
        int64_t *shape = open_as(inference, i, source);

        if (shape == NULL) {
            break;
        }
        shape[1] = channels;
        for (size_t j = 0; j + N_OUTER < source->rank; j++) {
            int64_t size = kernel == NULL      ? number(inference, "kernel_shape", j, -1)
                           : kernel->has_shape ? kernel->shape[j + N_OUTER]
                                               : -1;
            struct along along = read_along(inference, j, source->rank - N_OUTER, size);

            shape[j + N_OUTER] = count_windows(inference, &along, j, source->shape[j + N_OUTER]);
        }
    }
    return done(inference);
}

static bool infer_pool(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);

    return infer_windows(inference, NULL, source->has_shape && source->rank > 1 ? source->shape[1] : -1);
}

static bool infer_conv_by(struct mdf_inference *inference, size_t weights)
{
    const struct mdf_static_type *kernel = input(inference, weights);

    return infer_windows(inference, kernel, kernel->has_shape && kernel->rank > 0 ? kernel->shape[0] : -1);
}

static bool infer_conv(struct mdf_inference *inference)
{
    return infer_conv_by(inference, 1);
}

static bool infer_qlinear_conv(struct mdf_inference *inference)
{
    return infer_conv_by(inference, 3);
}

static int64_t transposed_size(const struct mdf_inference *inference, const struct along *along, size_t axis, int64_t size)
{
    int64_t more = number(inference, "output_padding", axis, 0), given = number(inference, "output_shape", axis, -2), sum;

    if (given != -2) {
        return given;
    }
    if (size < 0 || size > LARGEST || along->stride < 1) {
        return -1;
    }
    if (along->same) {
        return size * along->stride;
    }
    sum = (size - 1) * along->stride + more + along->extent - along->pads;
    return along->extent < 0 || along->pads < 0 || more < 0 || size == 0 || sum < 0 ? -1 : sum;
}

static bool infer_conv_transpose(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0), *kernel = input(inference, 1);
    int64_t *shape;

    if (!source->has_shape || source->rank <= N_OUTER) {
        return true;
    }
    shape = open_shape(inference, 0, source->rank);
    if (shape == NULL || !kernel->has_shape || kernel->rank != source->rank) {
        return done(inference);
    }
    shape[0] = source->shape[0];
    shape[1] = size_times(kernel->shape[1], integer(inference, "group", 1));
    for (size_t i = 0; i + N_OUTER < source->rank; i++) {
        struct along along = read_along(inference, i, source->rank - N_OUTER, kernel->shape[i + N_OUTER]);

        shape[i + N_OUTER] = transposed_size(inference, &along, i, source->shape[i + N_OUTER]);
    }
    return true;
}

/* One number for each plane. */
static bool infer_planes(struct mdf_inference *inference)
{
    int64_t *shape = open_as(inference, 0, input(inference, 0));

    for (size_t i = N_OUTER; shape != NULL && i < input(inference, 0)->rank; i++) {
        shape[i] = 1;
    }
    return done(inference);
}

/* ------------------------------------------------------------------ products by parts of calls */

/* All outputs of a network over a sequence, its last state, and its last cell. */
static bool infer_recurrent(struct mdf_inference *inference)
{
    const struct mdf_static_type *x = input(inference, 0), *r = input(inference, 2);
    bool batch_first = integer(inference, "layout", 0) > 0, known = x->has_shape && x->rank == 3;
    int64_t hidden = integer(inference, "hidden_size", r->has_shape && r->rank == 3 ? r->shape[2] : -1);
    int64_t n_directions = strcmp(text(inference, "direction"), "bidirectional") == 0 ? 2 : 1;
    int64_t batch = known ? x->shape[batch_first ? 0 : 1] : -1, length = known ? x->shape[batch_first ? 1 : 0] : -1;

    for (size_t i = 0; i < inference->n_outputs && done(inference); i++) {
        int64_t *shape = open_shape(inference, i, i == 0 ? 4 : 3), *last = shape;

        if (shape == NULL) {
            break;
        }
        if (i == 0 && !batch_first) {
            *last++ = length;
        }
        *last++ = batch_first ? batch : n_directions;
        if (i == 0 && batch_first) {
            *last++ = length;
        }
        *last++ = batch_first ? n_directions : batch;
        *last = hidden < 0 ? -1 : hidden;
    }
    return done(inference);
}

/* Heads of columns: [batch, head, row, column], or [batch, row, head * column] of as many heads as an attribute says. */
struct heads {
    int64_t batch, n, rows, columns; /* -1: not known */
};

static struct heads read_heads(const struct mdf_inference *inference, size_t i, const char *attribute)
{
    const struct mdf_static_type *x = input(inference, i);
    int64_t n = integer(inference, attribute, -1);

    if (x->has_shape && x->rank == 4) {
        return (struct heads){x->shape[0], x->shape[1], x->shape[2], x->shape[3]};
    }
    return x->has_shape && x->rank == 3
               ? (struct heads){x->shape[0], n, x->shape[1], n > 0 && x->shape[2] >= 0 ? x->shape[2] / n : -1}
               : (struct heads){-1, n, -1, -1};
}

static bool give_sizes(struct mdf_inference *inference, size_t i, size_t rank, const int64_t *sizes)
{
    int64_t *shape = open_shape(inference, i, rank);

    if (shape != NULL) {
        memcpy(shape, sizes, rank * sizeof *shape);
    }
    return done(inference);
}

/* A row of values for each query, as these lie. */
static bool give_attended(struct mdf_inference *inference, const struct heads *q, const struct heads *v)
{
    const struct mdf_static_type *x = input(inference, 0);

    return !x->has_shape || x->rank < 3 || x->rank > 4 ||
           (x->rank == 4 ? give_sizes(inference, 0, 4, (const int64_t[]){q->batch, q->n, q->rows, v->columns})
                         : give_sizes(inference, 0, 3, (const int64_t[]){q->batch, q->rows, size_times(q->n, v->columns)}));
}

/* Beside it all keys and values so far, and a score of each query for each of them. */
static bool infer_attention(struct mdf_inference *inference)
{
    enum { PAST_KEYS = 4 };
    struct heads q = read_heads(inference, 0, "q_num_heads"), k = read_heads(inference, 1, "kv_num_heads"),
                 v = read_heads(inference, 2, "kv_num_heads");
    const struct mdf_static_type *past = input(inference, PAST_KEYS);
    bool has_past = PAST_KEYS < inference->n_inputs && past->kind != MDF_STATIC_OMITTED;
    int64_t before = !has_past ? 0 : past->has_shape && past->rank == 4 ? past->shape[2] : -1;
    int64_t total = k.rows < 0 || before < 0 ? -1 : k.rows + before;

    q.batch = q.batch < 0 ? k.batch : q.batch;
    return give_attended(inference, &q, &v) && give_sizes(inference, 1, 4, (const int64_t[]){k.batch, k.n, total, k.columns}) &&
           give_sizes(inference, 2, 4, (const int64_t[]){k.batch, k.n, total, v.columns}) &&
           give_sizes(inference, 3, 4, (const int64_t[]){q.batch, q.n, q.rows, total});
}

/* Beside it the state, of keys by values. */
static bool infer_linear_attention(struct mdf_inference *inference)
{
    struct heads q = read_heads(inference, 0, "q_num_heads"), k = read_heads(inference, 1, "kv_num_heads"),
                 v = read_heads(inference, 2, "kv_num_heads");

    return give_attended(inference, &q, &v) && give_sizes(inference, 1, 4, (const int64_t[]){k.batch, k.n, k.columns, v.columns});
}

/* Beside what is like the input, as many of its last elements as the kernel looks back. */
static bool infer_causal_conv(struct mdf_inference *inference)
{
    const struct mdf_static_type *kernel = input(inference, 1);
    int64_t *shape = open_as(inference, 1, input(inference, 0));

    if (shape != NULL && input(inference, 0)->rank == 3) {
        shape[2] = kernel->has_shape && kernel->rank == 3 && kernel->shape[2] > 0 ? kernel->shape[2] - 1 : -1;
    }
    give_shape(inference, 0, input(inference, 0));
    return done(inference);
}

/* A loss for each label, or one of all; beside it what the scores came to. */
static bool infer_loss(struct mdf_inference *inference)
{
    const char *reduction = text(inference, "reduction");

    give_shape(inference, 1, input(inference, 0));
    if (strcmp(reduction, "none") == 0) {
        give_shape(inference, 0, input(inference, 1));
    } else {
        open_shape(inference, 0, 0);
    }
    return done(inference);
}

const struct mdf_rule mdf_rule_attention = {.outputs = infer_attention};
const struct mdf_rule mdf_rule_causal_conv = {.outputs = infer_causal_conv};
const struct mdf_rule mdf_rule_linear_attention = {.outputs = infer_linear_attention};
const struct mdf_rule mdf_rule_loss = {.outputs = infer_loss};
const struct mdf_rule mdf_rule_conv = {.outputs = infer_conv};
const struct mdf_rule mdf_rule_conv_transpose = {.outputs = infer_conv_transpose};
const struct mdf_rule mdf_rule_planes = {.outputs = infer_planes};
const struct mdf_rule mdf_rule_pool = {.outputs = infer_pool};
const struct mdf_rule mdf_rule_qlinear_conv = {.outputs = infer_qlinear_conv};
const struct mdf_rule mdf_rule_recurrent = {.outputs = infer_recurrent};
