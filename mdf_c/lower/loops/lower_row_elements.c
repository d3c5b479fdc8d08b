/* lower_row_elements.c - an element of a row of a table, as table[i][j] takes it: it is loaded from the table, and the row is not
 * made, which a run would store as a vector for nothing but that. See lowering.h.
 *
 * A NEST of a loop's body that loads a row at an index, and nothing else, and NESTs of one point behind it, each of which loads
 * an element of it at an index: these find the place among all elements, of two indices that are brought to their axes as
 * GatherND's are. The index of the row is asked there. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include "functions/elements/element.h"

#include <string.h>

/* A row of `n` elements. */
struct row {
    struct mdf_nest_view from; /* the table; its `at` is not used */
    mdf_lowered_id index, id;
    int64_t n;
};

static bool is_number_load(const struct lowering *lowering, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE && step->dtype == MDF_DTYPE_INT64 &&
           lowering->lowered->values[step->view.id].is_scalar;
}

/* Whether a nest loads, at an index that is a number, what it stores, and nothing else. */
static bool loads_at_number(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    const struct mdf_nest_step *steps = nest->steps;

    return nest->n_steps == 3 && !nest->is_open && is_number_load(lowering, &steps[0]) && steps[1].kind == MDF_NEST_LOAD &&
           steps[1].view.at == 0 && steps[2].kind == MDF_NEST_STORE && steps[2].in[0] == 1 && steps[2].view.at == MDF_NEST_NONE &&
           steps[2].view.first == 0;
}

static bool is_row(const struct lowering *lowering, const struct mdf_lowered_op *op, struct row *row)
{
    const struct mdf_lowered_nest *nest = op->code == MDF_LOWERED_NEST ? op->of.nest : NULL;
    const struct mdf_nest_step *load = nest != NULL ? &nest->steps[1] : NULL;
    const struct mdf_lowered_value *values = lowering->lowered->values;

    if (nest == NULL || !loads_at_number(lowering, nest) || nest->n_axes != 1 || nest->extents[0] < 2 || load->level != 1 ||
        load->view.strides[0] != 1 || nest->steps[2].view.strides[0] != 1) {
        return false;
    }
    *row = (struct row){load->view, nest->steps[0].view.id, nest->steps[2].view.id, (int64_t)nest->extents[0]};
    return load->view.at_stride >= row->n && load->view.at_limit >= 2 && load->view.at_limit <= DRAFT_LONGEST_AXIS &&
           row->n <= DRAFT_LONGEST_AXIS && !values[load->view.id].is_scalar && values[load->view.id].open_axes == 0 &&
           values[row->id].form.length == nest->extents[0];
}

/* Whether an op loads one element of the row at an index. */
static bool takes_element(const struct lowering *lowering, const struct mdf_lowered_op *op, const struct row *row)
{
    const struct mdf_lowered_nest *nest = op->code == MDF_LOWERED_NEST ? op->of.nest : NULL;

    return nest != NULL && loads_at_number(lowering, nest) && mdf_nest_count(nest, 0, nest->n_axes) == 1 &&
           nest->steps[1].view.id == row->id && nest->steps[1].view.first == 0 && nest->steps[1].view.at_stride == 1 &&
           nest->steps[1].view.at_limit == row->n && lowering->lowered->values[nest->steps[2].view.id].is_scalar;
}

/* How many elements are taken of the row that op number `first` loads, by ops behind it, before something is put anywhere. */
static size_t count_taken(const struct lowering *lowering, const struct mdf_lowered_region *body, size_t first,
                          const struct row *row)
{
    size_t n = 0;

    for (size_t i = first + 1; i < body->n_ops && body->ops[i].code != MDF_LOWERED_PUT; i++) {
        n += takes_element(lowering, &body->ops[i], row);
    }
    return n;
}

/* The register of an index, from 0 on. */
static uint8_t bring_to_axis(struct lowering *lowering, struct nest_draft *draft, mdf_lowered_id index, int64_t size)
{
    int64_t *numbers = mdf_arena_array(&lowering->scratch, (size_t)size, sizeof *numbers), i;
    struct mdf_nest_view view = {.at = draft_load(lowering, draft, index, NULL), .at_stride = 1, .at_limit = size};

    for (i = 0; numbers != NULL && i < size; i++) {
        numbers[i] = i;
    }
    view.id = numbers != NULL ? lowering_add_wholes(lowering, numbers, (size_t)size, 1) : MDF_LOWERED_NONE;
    draft->has_failed = draft->has_failed || view.id == MDF_LOWERED_NONE;
    return draft->has_failed ? 0 : draft_load_elements(lowering, draft, &view, 0, NULL, NULL);
}

static struct mdf_lowered_nest *load_from_table(struct lowering *lowering, const struct row *row,
                                                const struct mdf_lowered_nest *nest)
{
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_nest_view from = row->from;
    uint8_t in[2];

    if (draft == NULL) {
        return NULL;
    }
    in[0] = bring_to_axis(lowering, draft, row->index, row->from.at_limit);
    in[1] = draft_number(lowering, draft, MDF_DTYPE_INT64, (double)row->from.at_stride);
    in[0] = draft_apply(lowering, draft, MDF_ELEMENT(multiply), in);
    in[1] = bring_to_axis(lowering, draft, nest->steps[0].view.id, row->n);
    from.at = draft_apply(lowering, draft, MDF_ELEMENT(add), in);
    from.at_stride = 1;
    from.at_limit = (row->from.at_limit - 1) * row->from.at_stride + row->n;
    if (draft->has_failed) {
        return NULL;
    }
    draft_store_elements(lowering, draft, draft_load_elements(lowering, draft, &from, 0, NULL, NULL), &nest->steps[2].view, 0,
                         NULL, NULL);
    return draft_finish(lowering, draft);
}

static bool look_at_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_region *body = &region->ops[*at].of.loop->body;
    size_t *n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch), i, k;
    struct row row;

    if (n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < body->n_ops; i++) {
        if (!is_row(lowering, &body->ops[i], &row) || lowering->facts[row.id].is_watched || n_reads[row.id] == 0 ||
            n_reads[row.id] != count_taken(lowering, body, i, &row)) {
            continue;
        }
        for (k = i + 1; k < body->n_ops; k++) {
            if (takes_element(lowering, &body->ops[k], &row)) {
                struct mdf_lowered_nest *nest = load_from_table(lowering, &row, body->ops[k].of.nest);

                if (nest == NULL) {
                    return !lowering_has_failed(lowering);
                }
                body->ops[k].of.nest = nest;
            }
        }
        lowering->facts[row.id].is_nested = false;
        body->n_ops--;
        memmove(&body->ops[i], &body->ops[i + 1], (body->n_ops - i) * sizeof *body->ops);
        i--;
    }
    return true;
}

bool lowering_take_row_elements(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, look_at_loop);
}
