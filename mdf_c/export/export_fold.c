/* export_fold.c - reductions of expressions as nodes of ONNX: the operator whose row has the same fold. */
#include "mdf_c/export/export_writing.h"

#include <string.h>

static bool is_same(const struct mdf_fold *onnx, const struct mdf_fold *fold)
{
    if (onnx->result != fold->result || fold->result != MDF_FOLD_TOTAL) {
        return onnx->result == fold->result;
    }
    return onnx->divides == fold->divides && !fold->skips_nan && !onnx->truths && !onnx->shifts &&
           strcmp(onnx->way->name, fold->way->name) == 0 && (onnx->after == NULL || onnx->after->id == MDF_ELEMENT_kept);
}

static const char *operator_of_fold(const struct exporter *exporter, const struct mdf_fold *fold)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row = export_row(exporter, schema);

        if (row != NULL && row->fold != NULL && is_same(row->fold, fold)) {
            return schema->name;
        }
    }
    return NULL;
}

/* The axes that a call reduces. */
struct axes {
    int64_t *items;
    size_t n; /* SIZE_MAX: all, where none are said */
    bool stay;
};

/* Of an array of known rank; of another, one axis that is known. */
static bool find_axes(struct writing *writing, const struct mdf_fold *fold, struct axes *axes)
{
    size_t rank = writing->inputs[0].rank, i;
    bool *reduced = mdf_arena_array(&writing->exporter->arena, rank + 1, sizeof *reduced), done;
    struct sampled_call sampled;

    *axes = (struct axes){mdf_arena_array(&writing->exporter->arena, rank + 1, sizeof *axes->items), SIZE_MAX, false};
    if (axes->items == NULL || reduced == NULL) {
        return export_out_of_memory(writing->exporter);
    }
    done = writing_sample(writing, true, &sampled);
    if (done && writing->inputs[0].has_shape) {
        done = fold->axes(&sampled.call, rank, reduced, &axes->stay) || writing_refuse_as_kernel(writing);
        for (i = 0, axes->n = 0; done && i < rank; i++) {
            if (reduced[i]) {
                axes->items[axes->n++] = (int64_t)i;
            }
        }
    } else if (done && !writing_are_constants(writing->inputs + 1, writing->n_inputs - 1)) {
        done = writing_refuse(writing);
    } else if (done && writing->n_inputs > 1 && writing->inputs[1].kind == SYMBOL_TENSOR) {
        done = mdf_value_to_int64(writing->inputs[1].constant, axes->items) || writing_refuse(writing);
        axes->n = 1;
    }
    writing_release(writing, &sampled);
    return done;
}

/* From which version on the axes of a reduction are an input. */
static bool axes_are_input(const struct exporter *exporter, const char *operator)
{
    const struct mdf_schema *schema = mdf_schema_find("", operator, exporter->opset);

    return schema != NULL && mdf_schema_attribute(schema, "axes") == NULL;
}

/* The place of the largest or smallest element. */
static bool write_place(struct writing *writing, const char *operator, const struct axes *axes)
{
    static const int64_t all = -1;
    struct symbol input, flat;
    const struct symbol *taken = &input;
    struct mdf_text attributes;
    bool done;

    if (!writing_cast(writing, &writing->inputs[0], writing->inputs[0].dtype, &input)) {
        return false;
    }
    if (axes->n != 1) { /* of all elements in a row */
        if (axes->stay || (axes->n != SIZE_MAX && axes->n != input.rank)) {
            return writing_refuse(writing);
        }
        if (!export_reshape(writing->exporter, writing->graph, &input, &all, 1, &input, &flat)) {
            return false;
        }
        taken = &flat;
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, "axis", axes->n == 1 ? axes->items[0] : 0);
    export_attribute_integer(&attributes, "keepdims", axes->stay);
    done = export_op(writing->exporter, writing->graph, operator, &taken, 1, &attributes, writing->result, writing->result);
    mdf_text_release(&attributes);
    return done;
}

static bool write_total(struct writing *writing, const char *operator, const struct axes *axes)
{
    struct symbol input, listed;
    const struct symbol *inputs[] = {&input, &listed};
    struct mdf_text attributes;
    size_t n_inputs = 1;
    bool done = true;

    if (!writing_cast(writing, &writing->inputs[0], writing->result->dtype, &input)) {
        return false;
    }
    if (axes->n == 0) { /* nothing is reduced */
        return export_identity(writing->exporter, writing->graph, &input, writing->result);
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, "keepdims", axes->stay);
    if (axes->n != SIZE_MAX && axes_are_input(writing->exporter, operator)) {
        done = symbol_of_integers(writing->exporter, axes->items, axes->n, &listed);
        n_inputs = 2;
    } else if (axes->n != SIZE_MAX) {
        export_attribute_integers(&attributes, "axes", axes->items, axes->n);
    }
    done = done &&
           export_op(writing->exporter, writing->graph, operator, inputs, n_inputs, &attributes, writing->result, writing->result);
    mdf_text_release(&attributes);
    return done;
}

bool writing_fold(struct writing *writing, const struct mdf_fold *fold)
{
    const char *operator= operator_of_fold(writing->exporter, fold);
    struct axes axes;

    if (operator== NULL || fold->truths || fold->fits) {
        return writing_refuse(writing);
    }
    return find_axes(writing, fold, &axes) && (fold->result == MDF_FOLD_TOTAL ? write_total(writing, operator, &axes)
                                                                              : write_place(writing, operator, &axes));
}
