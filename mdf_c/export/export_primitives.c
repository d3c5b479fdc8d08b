/* export_primitives.c - the operators that the exporter itself puts between those of a model: types, shapes, rows. */
#include "mdf_c/export/exporter.h"
#include "schemas/onnx_names.h"

#include <string.h>

bool export_identity(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, struct symbol *result)
{
    return symbol->is_optional && exporter->opset < EXPORT_OPSET_OF_OPTIONALS
               ? export_ask_opset(exporter, EXPORT_OPSET_OF_OPTIONALS, "a result that may not be there")
               : export_op(exporter, graph, ONNX_IDENTITY, &symbol, 1, NULL, symbol, result);
}

bool export_reshape(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, const int64_t *shape,
                    size_t rank, const struct symbol *like, struct symbol *result)
{
    struct symbol listed;
    const struct symbol *inputs[] = {symbol, &listed};

    return symbol_of_integers(exporter, shape, rank, &listed) &&
           export_op(exporter, graph, ONNX_RESHAPE, inputs, 2, NULL, like, result);
}

bool export_concat(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *const *rows, size_t n,
                   const struct symbol *like, struct symbol *result)
{
    struct mdf_text attributes;
    bool done;

    mdf_text_init(&attributes, exporter->memory);
    export_attribute_integer(&attributes, "axis", 0);
    done = export_op(exporter, graph, ONNX_CONCAT, rows, n, &attributes, like, result);
    mdf_text_release(&attributes);
    return done;
}

bool export_gather(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *rows, const struct symbol *places,
                   const struct symbol *like, struct symbol *result)
{
    const struct symbol *inputs[] = {rows, places};

    return export_op(exporter, graph, ONNX_GATHER, inputs, 2, NULL, like, result);
}

bool export_cast(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, mdf_dtype dtype,
                 struct symbol *result)
{
    const struct symbol *input = symbol;
    struct symbol like = *symbol;
    struct mdf_text attributes;
    bool done;

    if (symbol->kind != SYMBOL_TENSOR || symbol->dtype == dtype) {
        *result = *symbol;
        return symbol->kind == SYMBOL_TENSOR || export_refuse(exporter, "a list or nothing stands where ONNX wants an array");
    }
    if (symbol->is_optional) {
        return export_refuse(exporter, "what may not be there, in another type");
    }
    if (symbol->constant != NULL && symbol->dtype != MDF_DTYPE_STRING && dtype != MDF_DTYPE_STRING) {
        struct mdf_value *value = export_make(exporter);

        if (value == NULL || !mdf_value_convert(exporter->memory, value, symbol->constant, dtype)) {
            return export_out_of_memory(exporter);
        }
        value->strength = symbol->strength;
        return symbol_of_value(exporter, value, result);
    }
    like.dtype = dtype;
    mdf_text_init(&attributes, exporter->memory);
    export_attribute_integer(&attributes, "to", mdf_dtype_to_onnx(dtype));
    done = export_op(exporter, graph, "Cast", &input, 1, &attributes, &like, result);
    mdf_text_release(&attributes);
    return done;
}

/* Items of one type and shape, each with a new first axis, in a row. */
static bool stack(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *items, size_t n, mdf_dtype dtype,
                  struct symbol *result)
{
    const struct symbol **rows = mdf_arena_array(&exporter->arena, n, sizeof *rows);
    struct symbol *made = mdf_arena_array(&exporter->arena, 2 * n, sizeof *made), axis, like;
    int64_t *shape = mdf_arena_array(&exporter->arena, items[0].rank + 1, sizeof *shape);
    static const int64_t first = 0;

    if (rows == NULL || made == NULL || shape == NULL) {
        return export_out_of_memory(exporter);
    }
    if (!symbol_of_integers(exporter, &first, 1, &axis)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct symbol *inputs[] = {&made[i], &axis};

        if (!export_cast(exporter, graph, &items[i], dtype, &made[i]) ||
            !export_op(exporter, graph, "Unsqueeze", inputs, 2, NULL, &made[i], &made[n + i])) {
            return false;
        }
        rows[i] = &made[n + i];
    }
    like = made[0];
    shape[0] = (int64_t)n;
    if (items[0].rank > 0) {
        memcpy(shape + 1, items[0].shape, items[0].rank * sizeof *shape);
    }
    like.shape = shape;
    like.rank = items[0].rank + 1;
    like.strength = MDF_STRENGTH_LITERAL;
    return export_concat(exporter, graph, rows, n, &like, result);
}

static bool have_one_shape(const struct symbol *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind != SYMBOL_TENSOR || !items[i].has_shape || items[i].rank != items[0].rank ||
            (items[0].rank > 0 && memcmp(items[i].shape, items[0].shape, items[0].rank * sizeof *items[0].shape) != 0)) {
            return false;
        }
    }
    return true;
}

bool export_as_array(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, struct symbol *result)
{
    struct mdf_value *value;
    struct symbol *items;
    mdf_dtype common;

    *result = *symbol;
    result->stands_for_list = false;
    if (symbol->kind != SYMBOL_LIST) {
        return true;
    }
    if (symbol->constant != NULL) {
        value = export_make(exporter);
        if (value == NULL || mdf_value_from_nested_list(exporter->memory, value, symbol->constant) <= 0) {
            return export_refuse(exporter, "a list is no array: its items differ in shape, or are no numbers");
        }
        return symbol_of_value(exporter, value, result);
    }
    items = mdf_arena_array(&exporter->arena, symbol->n_items, sizeof *items);
    if (items == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < symbol->n_items; i++) {
        if (!export_as_array(exporter, graph, &symbol->items[i], &items[i])) {
            return false;
        }
    }
    if (symbol->n_items == 0 || !have_one_shape(items, symbol->n_items)) {
        return export_refuse(exporter, "a list is no array: the shapes of its items differ, or are not known");
    }
    common = export_common_type_of_all(exporter, items, symbol->n_items);
    return common != MDF_DTYPE_NONE ? stack(exporter, graph, items, symbol->n_items, common, result)
                                    : export_refuse(exporter, "the items of a list have no common type");
}
