/* infer_shapes.c - shapes that operators give, and element types that attributes name. A rule fills in what holds for every
 * value of the inputs and leaves the rest unknown; a call that is wrong is refused by its kernel, with the sizes it has then. And
 * how many outputs there are of an operator with a variadic one. Which rule an operator has is a column of its row.
 *
 * Source: the texts of the operators (https://onnx.ai/onnx/operators/), and of those of ai.onnx.preview.training. */
#include "mdf_c/base/sizes.h"
#include "schemas/infer_parts.h"

/* ------------------------------------------------------------------ elementwise */

static bool infer_same(struct mdf_inference *inference)
{
    give_shape(inference, 0, input(inference, 0));
    return true;
}

static bool infer_broadcast(struct mdf_inference *inference)
{
    size_t rank = 0;
    int64_t *shape;

    if (mdf_schema_attribute(inference->schema, "broadcast") != NULL) {
        return infer_same(inference); /* before version 7 only the second operand stretches */
    }
    for (size_t i = 0; i < inference->n_inputs; i++) {
        if (!inference->inputs[i].has_shape) {
            return true;
        }
        rank = inference->inputs[i].rank > rank ? inference->inputs[i].rank : rank;
    }
    shape = open_shape(inference, 0, rank);
    for (size_t j = 0; shape != NULL && j < rank; j++) {
        shape[j] = 1;
        for (size_t i = 0; i < inference->n_inputs; i++) {
            const struct mdf_static_type *type = &inference->inputs[i];

            shape[j] = broadcast_size(shape[j], j + type->rank < rank ? 1 : type->shape[j + type->rank - rank]);
        }
    }
    return done(inference);
}

/* The shape of input 0, elements of the type that an attribute names. */
static bool infer_of_type(struct mdf_inference *inference, const char *attribute)
{
    mdf_dtype dtype = inference->attribute_dtype(inference, attribute);

    if (dtype != MDF_DTYPE_NONE && inference->n_outputs > 0) {
        inference->outputs[0].dtype = dtype;
    }
    return infer_same(inference);
}

static bool infer_cast(struct mdf_inference *inference)
{
    return infer_of_type(inference, "to");
}

static bool infer_like(struct mdf_inference *inference)
{
    return infer_of_type(inference, "dtype");
}

/* ------------------------------------------------------------------ made from nothing, or from sizes */

/* A number or a text, or a list of them. */
static bool constant_of_attribute(struct mdf_inference *inference)
{
    const int64_t *integers;
    const double *reals;
    const char *const *texts;
    size_t n;
    int64_t *shape;

    if (inference->attribute(inference, "value_ints", &integers, &n) ||
        inference->attribute_reals(inference, "value_floats", &reals, &n) ||
        inference->attribute_texts(inference, "value_strings", &texts, &n)) {
        shape = open_shape(inference, 0, 1);
        if (shape != NULL) {
            shape[0] = (int64_t)n;
        }
    } else if (inference->attribute(inference, "value_int", &integers, &n) ||
               inference->attribute_reals(inference, "value_float", &reals, &n) ||
               inference->attribute_texts(inference, "value_string", &texts, &n)) {
        open_shape(inference, 0, 0);
    }
    return done(inference);
}

static bool infer_constant(struct mdf_inference *inference)
{
    const struct mdf_value *value = inference->attribute_value(inference, "value");
    struct mdf_static_type *output = inference->outputs;
    int64_t *shape;

    if (inference->n_outputs == 0) {
        return true;
    }
    if (value == NULL || value->kind != MDF_KIND_TENSOR) {
        return constant_of_attribute(inference);
    }
    output->dtype = value->strength == MDF_STRENGTH_TYPED ? (mdf_dtype)value->dtype : MDF_DTYPE_NONE;
    output->value = value;
    shape = open_shape(inference, 0, value->rank);
    if (shape != NULL && value->rank > 0) {
        memcpy(shape, mdf_value_shape(value), value->rank * sizeof *shape);
    }
    return done(inference);
}

/* An array whose shape is the value of input `i`. */
static bool shape_from_value(struct mdf_inference *inference, size_t i)
{
    const struct mdf_value *value = input(inference, i)->value;
    const struct mdf_static_type *sizes = input(inference, i);
    int64_t *shape;

    if (value != NULL && value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_INT64) {
        shape = open_shape(inference, 0, value->length);
        if (shape != NULL && value->length > 0) {
            memcpy(shape, value->data, value->length * sizeof *shape);
        }
    } else if (sizes->has_shape && sizes->rank == 1 && sizes->shape[0] >= 0 && sizes->shape[0] < 64) {
        open_shape(inference, 0, (size_t)sizes->shape[0]);
    }
    return done(inference);
}

static bool infer_constant_of_shape(struct mdf_inference *inference)
{
    const struct mdf_value *value = inference->attribute_value(inference, "value");

    if (value != NULL && value->kind == MDF_KIND_TENSOR && value->strength == MDF_STRENGTH_TYPED && inference->n_outputs > 0) {
        inference->outputs[0].dtype = (mdf_dtype)value->dtype;
    }
    return shape_from_value(inference, 0);
}

/* How many indices there are from `start` to `end`, both counted from the end where they are negative. */
static int64_t cut_size(int64_t size, int64_t start, int64_t end, int64_t step)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;

    if (size <= 0 || step == 0 || step == INT64_MIN) {
        return size == 0 ? 0 : -1;
    }
    start = mdf_clamp(start < 0 ? start + size : start, step < 0 ? 0 : low, high);
    end = mdf_clamp(end < 0 ? end + size : end, low, high);
    if (step > 0) {
        return end > start ? (end - start - 1) / step + 1 : 0;
    }
    return start > end ? (start - end - 1) / -step + 1 : 0;
}

static bool infer_shape_of(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t *shape = open_shape(inference, 0, 1);

    if (shape != NULL && source->has_shape) {
        shape[0] = cut_size((int64_t)source->rank, integer(inference, "start", 0), integer(inference, "end", INT64_MAX), 1);
    }
    return done(inference);
}

static bool infer_scalar(struct mdf_inference *inference)
{
    open_shape(inference, 0, 0);
    return done(inference);
}

/* ------------------------------------------------------------------ products */

/* The sizes before the last two axes, broadcast; `rank` is of the result. */
static void broadcast_stacks(const struct mdf_static_type *a, const struct mdf_static_type *b, size_t rank, int64_t *shape)
{
    const struct mdf_static_type *pair[2] = {a, b};

    for (size_t j = 0; j + 2 < rank; j++) {
        shape[j] = 1;
        for (size_t i = 0; i < 2; i++) {
            shape[j] = broadcast_size(shape[j], j + pair[i]->rank < rank ? 1 : pair[i]->shape[j + pair[i]->rank - rank]);
        }
    }
}

static bool infer_product(struct mdf_inference *inference, size_t second)
{
    const struct mdf_static_type *a = input(inference, 0), *b = input(inference, second);
    size_t rank;
    int64_t *shape;

    if (!a->has_shape || !b->has_shape || a->rank == 0 || b->rank == 0) {
        return true;
    }
    if (a->rank == 1 || b->rank == 1) { /* a vector: its axis is not in the result */
        const struct mdf_static_type *matrix = a->rank == 1 ? b : a;

        shape = open_shape(inference, 0, a->rank + b->rank - 2);
        if (shape != NULL && matrix->rank > 1) {
            memcpy(shape, matrix->shape, (matrix->rank - 2) * sizeof *shape);
            shape[matrix->rank - 2] = matrix == b ? b->shape[b->rank - 1] : a->shape[a->rank - 2];
        }
        return done(inference);
    }
    rank = a->rank > b->rank ? a->rank : b->rank;
    shape = open_shape(inference, 0, rank);
    if (shape != NULL) {
        broadcast_stacks(a, b, rank, shape);
        shape[rank - 2] = a->shape[a->rank - 2];
        shape[rank - 1] = b->shape[b->rank - 1];
    }
    return done(inference);
}

static bool infer_matmul(struct mdf_inference *inference)
{
    return infer_product(inference, 1);
}

static bool infer_qlinear_matmul(struct mdf_inference *inference)
{
    return infer_product(inference, 3);
}

/* A number for each matrix. */
static bool infer_det(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t *shape = source->has_shape && source->rank >= 2 ? open_shape(inference, 0, source->rank - 2) : NULL;

    if (shape != NULL && source->rank > 2) {
        memcpy(shape, source->shape, (source->rank - 2) * sizeof *shape);
    }
    return done(inference);
}

/* Sizes of labels, as terms of an equation without an ellipsis name them; false: it is another one, or inputs are not known. */
static bool read_terms(const struct mdf_inference *inference, const char *equation, int64_t sizes[256], unsigned counts[256])
{
    size_t term = 0, axis = 0;

    memset(counts, 0, 256 * sizeof *counts);
    for (; *equation != '\0' && *equation != '-'; equation++) {
        const struct mdf_static_type *type = input(inference, term);
        unsigned char label = (unsigned char)*equation;

        if (label == '.') {
            return false;
        }
        if (label == ',') {
            term++;
            axis = 0;
        } else if (label != ' ') {
            if (!type->has_shape || axis >= type->rank) {
                return false;
            }
            sizes[label] = counts[label]++ == 0 ? type->shape[axis] : broadcast_size(sizes[label], type->shape[axis]);
            axis++;
        }
    }
    return true;
}

static bool infer_einsum(struct mdf_inference *inference)
{
    const char *const *equation, *arrow;
    char kept[256] = "";
    int64_t sizes[256], *shape;
    unsigned counts[256];
    size_t n, rank = 0;

    if (!inference->attribute_texts(inference, "equation", &equation, &n) || !read_terms(inference, *equation, sizes, counts)) {
        return true;
    }
    arrow = strstr(*equation, "->");
    for (size_t i = 0; arrow == NULL && i < sizeof kept; i++) { /* what occurs once, in alphabetical order */
        if (counts[i] == 1) {
            kept[rank++] = (char)i;
        }
    }
    for (size_t i = 2; arrow != NULL && arrow[i] != '\0' && rank < sizeof kept; i++) {
        if (arrow[i] != ' ') {
            kept[rank++] = arrow[i];
        }
        if (arrow[i] == '.' || (arrow[i] != ' ' && counts[(unsigned char)arrow[i]] == 0)) {
            return true;
        }
    }
    shape = open_shape(inference, 0, rank);
    for (size_t i = 0; shape != NULL && i < rank; i++) {
        shape[i] = sizes[(unsigned char)kept[i]];
    }
    return done(inference);
}

static bool infer_gemm(struct mdf_inference *inference)
{
    const struct mdf_static_type *a = input(inference, 0), *b = input(inference, 1);
    int64_t *shape = open_shape(inference, 0, 2);

    if (shape != NULL && a->has_shape && a->rank == 2) {
        shape[0] = a->shape[integer(inference, "transA", 0) != 0 ? 1 : 0];
    }
    if (shape != NULL && b->has_shape && b->rank == 2) {
        shape[1] = b->shape[integer(inference, "transB", 0) != 0 ? 0 : 1];
    }
    return done(inference);
}

/* ------------------------------------------------------------------ axes moved, added, taken away */

static bool infer_rank(struct mdf_inference *inference)
{
    if (input(inference, 0)->has_shape) {
        open_shape(inference, 0, input(inference, 0)->rank);
    }
    return done(inference);
}

static bool infer_transpose(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *order;
    int64_t *shape;
    size_t n;
    bool given = inference->attribute(inference, "perm", &order, &n);

    if (!source->has_shape || (given && n != source->rank)) {
        return true;
    }
    shape = open_shape(inference, 0, source->rank);
    for (size_t i = 0; shape != NULL && i < source->rank; i++) {
        int64_t from = given ? order[i] : (int64_t)(source->rank - 1 - i);

        shape[i] = from >= 0 && (uint64_t)from < source->rank ? source->shape[from] : -1;
    }
    return done(inference);
}

static bool infer_concat(struct mdf_inference *inference)
{
    const struct mdf_static_type *first = input(inference, 0);
    size_t place;
    int64_t *shape;

    for (size_t i = 0; i < inference->n_inputs; i++) {
        if (!inference->inputs[i].has_shape || inference->inputs[i].rank != first->rank) {
            return true;
        }
    }
    if (!first->has_shape || !place_of(integer(inference, "axis", 1), first->rank, &place)) {
        return true;
    }
    shape = open_shape(inference, 0, first->rank);
    for (size_t j = 0; shape != NULL && j < first->rank; j++) {
        shape[j] = first->shape[j];
        for (size_t i = 1; i < inference->n_inputs; i++) {
            int64_t size = inference->inputs[i].shape[j], sum;

            if (j != place) {
                shape[j] = shape[j] < 0 ? size : shape[j];
            } else {
                shape[j] = shape[j] < 0 || size < 0 || __builtin_add_overflow(shape[j], size, &sum) ? -1 : sum;
            }
        }
    }
    return done(inference);
}

/* Marks axes in `[0, rank)`; false where one is out of range. */
static bool mark_axes(const int64_t *axes, size_t n, size_t rank, bool *marks)
{
    size_t place;

    for (size_t i = 0; i < n; i++) {
        if (!place_of(axes[i], rank, &place)) {
            return false;
        }
        marks[place] = true;
    }
    return true;
}

static size_t count_marks(const bool *marks, size_t n)
{
    size_t n_marked = 0;

    for (size_t i = 0; i < n; i++) {
        n_marked += marks[i];
    }
    return n_marked;
}

static bool infer_squeeze(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *axes;
    int64_t *shape;
    size_t n, j = 0;
    bool *marks = mdf_arena_array(inference->arena, source->rank, sizeof *marks);

    if (marks == NULL) {
        return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (!source->has_shape) {
        return true;
    }
    if (!has_numbers(inference, "axes", 1)) { /* all of size 1 */
        for (size_t i = 0; i < source->rank; i++) {
            if (source->shape[i] < 0) {
                return true;
            }
            marks[i] = source->shape[i] == 1;
        }
    } else if (!numbers(inference, "axes", 1, &axes, &n) || !mark_axes(axes, n, source->rank, marks)) {
        return true;
    }
    shape = open_shape(inference, 0, source->rank - count_marks(marks, source->rank));
    for (size_t i = 0; shape != NULL && i < source->rank; i++) {
        if (!marks[i]) {
            shape[j++] = source->shape[i];
        }
    }
    return done(inference);
}

static bool infer_unsqueeze(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *axes;
    int64_t *shape;
    bool *marks;
    size_t n, rank, j = 0;

    if (!source->has_shape || !numbers(inference, "axes", 1, &axes, &n)) {
        return true;
    }
    rank = source->rank + n;
    marks = mdf_arena_array(inference->arena, rank, sizeof *marks);
    if (marks == NULL) {
        return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (!mark_axes(axes, n, rank, marks) || count_marks(marks, rank) != n) {
        return true;
    }
    shape = open_shape(inference, 0, rank);
    for (size_t i = 0; shape != NULL && i < rank; i++) {
        shape[i] = marks[i] ? 1 : source->shape[j++];
    }
    return done(inference);
}

static bool infer_reduce(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    bool keeps = integer(inference, "keepdims", 1) != 0, given = has_numbers(inference, "axes", 1), *marks;
    const int64_t *axes = NULL;
    int64_t *shape;
    size_t n = 0, j = 0;

    if (!source->has_shape || (given && !numbers(inference, "axes", 1, &axes, &n))) {
        return true;
    }
    if (n == 0 && integer(inference, "noop_with_empty_axes", 0) != 0) {
        return infer_same(inference);
    }
    marks = mdf_arena_array(inference->arena, source->rank, sizeof *marks);
    if (marks == NULL) {
        return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (!mark_axes(axes, n, source->rank, marks)) {
        return true;
    }
    for (size_t i = 0; n == 0 && i < source->rank; i++) {
        marks[i] = true;
    }
    shape = open_shape(inference, 0, keeps ? source->rank : source->rank - count_marks(marks, source->rank));
    for (size_t i = 0; shape != NULL && i < source->rank; i++) {
        if (!marks[i] || keeps) {
            shape[j++] = marks[i] ? 1 : source->shape[i];
        }
    }
    return done(inference);
}

static bool infer_arg(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    bool keeps = integer(inference, "keepdims", 1) != 0;
    size_t place, j = 0;
    int64_t *shape;

    if (!source->has_shape || !place_of(integer(inference, "axis", 0), source->rank > 0 ? source->rank : 1, &place)) {
        return true;
    }
    shape = open_shape(inference, 0, keeps || source->rank == 0 ? source->rank : source->rank - 1);
    for (size_t i = 0; shape != NULL && i < source->rank; i++) {
        if (i != place || keeps) {
            shape[j++] = i == place ? 1 : source->shape[i];
        }
    }
    return done(inference);
}

static bool infer_gather(struct mdf_inference *inference)
{
    const struct mdf_static_type *data = input(inference, 0), *indices = input(inference, 1);
    size_t place;
    int64_t *shape;

    if (!data->has_shape || !indices->has_shape || !place_of(integer(inference, "axis", 0), data->rank, &place)) {
        return true;
    }
    shape = open_shape(inference, 0, data->rank - 1 + indices->rank);
    if (shape != NULL) {
        memcpy(shape, data->shape, place * sizeof *shape);
        memcpy(shape + place, indices->shape, indices->rank * sizeof *shape);
        memcpy(shape + place + indices->rank, data->shape + place + 1, (data->rank - place - 1) * sizeof *shape);
    }
    return done(inference);
}

/* The one size that takes what is left of `whole` elements, where all others are known. */
static void fill_rest(const int64_t *sizes, size_t n, int64_t whole, int64_t *shape)
{
    int64_t product = 1;
    size_t open = n;

    for (size_t i = 0; i < n; i++) {
        if (sizes[i] == -1 && open == n) {
            open = i;
        } else {
            product = size_times(product, shape[i]);
        }
    }
    if (open < n && product > 0 && whole >= 0 && whole % product == 0) {
        shape[open] = whole / product;
    }
}

/* Sizes that a constant lists: 0 keeps the input's size, one -1 takes what is left. */
static bool infer_reshape(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    bool zero_is_zero = integer(inference, "allowzero", 0) != 0;
    const int64_t *sizes;
    int64_t *shape;
    size_t n;

    if (!numbers(inference, "shape", 1, &sizes, &n)) {
        return mdf_schema_attribute(inference->schema, "shape") != NULL || shape_from_value(inference, 1);
    }
    shape = open_shape(inference, 0, n);
    for (size_t i = 0; shape != NULL && i < n; i++) {
        if (sizes[i] == 0 && !zero_is_zero) {
            shape[i] = source->has_shape && i < source->rank ? source->shape[i] : -1;
        } else {
            shape[i] = sizes[i] < 0 ? -1 : sizes[i];
        }
    }
    if (shape != NULL && source->has_shape) {
        fill_rest(sizes, n, size_of_axes(source, 0, source->rank), shape);
    }
    return done(inference);
}

/* The size of part i of n that are as long as each other, but the last one, which may be shorter. */
static int64_t even_part(int64_t size, size_t n, size_t i)
{
    int64_t part = size < 0 ? -1 : (size + (int64_t)n - 1) / (int64_t)n, before = part * (int64_t)i;

    return part < 0 ? -1 : before + part <= size ? part : before < size ? size - before : 0;
}

static bool infer_split(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *sizes = NULL;
    size_t place, n;
    int64_t *shape;
    bool given, known;

    if (!source->has_shape || !place_of(integer(inference, "axis", 0), source->rank, &place)) {
        return true;
    }
    given = has_numbers(inference, "split", 1);
    known = given && numbers(inference, "split", 1, &sizes, &n) && n == inference->n_outputs;
    for (size_t i = 0; i < inference->n_outputs; i++) {
        shape = open_as(inference, i, source);
        if (shape == NULL) {
            return done(inference);
        }
        shape[place] = known ? sizes[i] : given ? -1 : even_part(source->shape[place], inference->n_outputs, i);
    }
    return true;
}

/* Parts of an array along axes that are constants; along all others its whole length. */
static bool infer_slice(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *axes = NULL, *starts, *ends, *steps = NULL;
    size_t n = 0, n_axes, n_ends = 0, n_steps, place;
    int64_t *shape;
    bool known;

    if (!source->has_shape) {
        return true;
    }
    shape = open_shape(inference, 0, source->rank);
    known = numbers(inference, "starts", 1, &starts, &n) && numbers(inference, "ends", 2, &ends, &n_ends) && n == n_ends;
    if (has_numbers(inference, "axes", 3) ? !numbers(inference, "axes", 3, &axes, &n_axes) : !known) {
        return done(inference);
    }
    if (has_numbers(inference, "steps", 4) && (!numbers(inference, "steps", 4, &steps, &n_steps) || n_steps != n)) {
        known = false;
    }
    n = axes != NULL ? n_axes : n;
    if (shape == NULL || (known && n != n_ends)) {
        return done(inference);
    }
    memcpy(shape, source->shape, source->rank * sizeof *shape);
    for (size_t i = 0; i < n; i++) {
        if (place_of(axes != NULL ? axes[i] : (int64_t)i, source->rank, &place)) {
            shape[place] = known ? cut_size(shape[place], starts[i], ends[i], steps != NULL ? steps[i] : 1) : -1;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ sequences */

static bool infer_sequence(struct mdf_inference *inference)
{
    const struct mdf_static_type *first = input(inference, 0), *second = input(inference, 1);

    if (inference->n_outputs > 0) {
        inference->outputs[0].kind = MDF_STATIC_SEQUENCE;
        inference->outputs[0].dtype =
            first->dtype != MDF_DTYPE_NONE || second->kind != MDF_STATIC_TENSOR ? first->dtype : second->dtype;
    }
    return true;
}

/* Of a sequence without an item, or the parts of an array. */
static bool infer_sequence_of(struct mdf_inference *inference)
{
    if (inference->n_outputs > 0) {
        inference->outputs[0].kind = MDF_STATIC_SEQUENCE;
        inference->outputs[0].dtype = input(inference, 0)->dtype;
    }
    return true;
}

static bool infer_sequence_empty(struct mdf_inference *inference)
{
    if (inference->n_outputs > 0) {
        mdf_dtype dtype = inference->attribute_dtype(inference, "dtype");

        inference->outputs[0].dtype = dtype != MDF_DTYPE_NONE ? dtype : MDF_DTYPE_FLOAT32;
    }
    return true;
}

static bool infer_sequence_item(struct mdf_inference *inference)
{
    if (inference->n_outputs > 0) {
        inference->outputs[0].dtype = input(inference, 0)->dtype;
    }
    return true;
}

/* ------------------------------------------------------------------ counts */

/* One output for each number of `split`, which is an attribute or the second input; else num_outputs of them. */
static size_t count_split(const struct mdf_inference *inference)
{
    const struct mdf_static_type *split = inference->n_inputs > 1 ? &inference->inputs[1] : NULL;
    const int64_t *items;
    size_t n;

    if (split != NULL && split->kind != MDF_STATIC_OMITTED) {
        bool is_known = split->has_shape && split->rank == 1 && split->shape[0] >= 0;

        return is_known ? (size_t)split->shape[0] : MDF_SOME_OUTPUTS;
    }
    if (mdf_schema_attribute(inference->schema, "split") != NULL && inference->attribute(inference, "split", &items, &n)) {
        return n;
    }
    if (mdf_schema_attribute(inference->schema, "num_outputs") != NULL &&
        inference->attribute(inference, "num_outputs", &items, &n) && n == 1 && items[0] > 0) {
        return (uint64_t)items[0] < MDF_SOME_OUTPUTS ? (size_t)items[0] : MDF_SOME_OUTPUTS - 1; /* more than a size holds */
    }
    return 0;
}

/* An optimiser takes R, T and some arrays for each tensor that it moves, and yields all of them but the gradients. */
static size_t count_moved(const struct mdf_inference *inference, size_t n_arrays)
{
    enum { N_BEFORE = 2 };

    return inference->n_inputs > N_BEFORE ? (inference->n_inputs - N_BEFORE) / n_arrays * (n_arrays - 1) : 0;
}

static size_t count_adam(const struct mdf_inference *inference)
{
    return count_moved(inference, 4); /* X, G, V, H */
}

static size_t count_others(const struct mdf_inference *inference)
{
    return count_moved(inference, 3); /* X, G and what is kept of gradients before */
}

/* ------------------------------------------------------------------ rules */

const struct mdf_rule mdf_rule_arg = {.outputs = infer_arg};
const struct mdf_rule mdf_rule_broadcast = {.outputs = infer_broadcast};
const struct mdf_rule mdf_rule_cast = {.outputs = infer_cast};
const struct mdf_rule mdf_rule_det = {.outputs = infer_det};
const struct mdf_rule mdf_rule_concat = {.outputs = infer_concat};
const struct mdf_rule mdf_rule_constant = {.outputs = infer_constant};
const struct mdf_rule mdf_rule_constant_of_shape = {.outputs = infer_constant_of_shape};
const struct mdf_rule mdf_rule_einsum = {.outputs = infer_einsum};
const struct mdf_rule mdf_rule_gather = {.outputs = infer_gather};
const struct mdf_rule mdf_rule_gemm = {.outputs = infer_gemm};
const struct mdf_rule mdf_rule_like = {.outputs = infer_like};
const struct mdf_rule mdf_rule_matmul = {.outputs = infer_matmul};
const struct mdf_rule mdf_rule_qlinear_matmul = {.outputs = infer_qlinear_matmul};
const struct mdf_rule mdf_rule_rank = {.outputs = infer_rank};
const struct mdf_rule mdf_rule_reduce = {.outputs = infer_reduce};
const struct mdf_rule mdf_rule_reshape = {.outputs = infer_reshape};
const struct mdf_rule mdf_rule_same = {.outputs = infer_same};
const struct mdf_rule mdf_rule_scalar = {.outputs = infer_scalar};
const struct mdf_rule mdf_rule_sequence = {.outputs = infer_sequence};
const struct mdf_rule mdf_rule_sequence_empty = {.outputs = infer_sequence_empty};
const struct mdf_rule mdf_rule_sequence_item = {.outputs = infer_sequence_item};
const struct mdf_rule mdf_rule_sequence_of = {.outputs = infer_sequence_of};
const struct mdf_rule mdf_rule_shape_of = {.outputs = infer_shape_of};
const struct mdf_rule mdf_rule_slice = {.outputs = infer_slice};
const struct mdf_rule mdf_rule_split = {.outputs = infer_split, .count = count_split};
const struct mdf_rule mdf_rule_squeeze = {.outputs = infer_squeeze};
const struct mdf_rule mdf_rule_transpose = {.outputs = infer_transpose};
const struct mdf_rule mdf_rule_unsqueeze = {.outputs = infer_unsqueeze};
const struct mdf_rule mdf_rule_adam = {.count = count_adam};
const struct mdf_rule mdf_rule_moved = {.count = count_others};
