/* source_region.c - a lowered region as statements of C. See source_writer.h. */
#include "mdf_c/lowered/accepted.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/source/source_writer.h"
#include "mdf_c/tensor/rows.h"

#include <string.h>

/* ------------------------------------------------------------------ element ops */

static bool express(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, struct mdf_source_expression *expression)
{
    const char *operands[MDF_MAX_OPERANDS] = {"", "", ""};
    bool done;

    for (size_t i = 0; i < op->n_in; i++) {
        operands[i] = mdf_source_element(writer, op->in[i], "i");
    }
    writer->is_alone = !writer->has_lanes;
    done = mdf_source_express(writer, op, (mdf_dtype)writer->lowered->values[op->out].form.dtype, operands, expression);
    writer->is_alone = false;
    return done;
}

/* A state as it was, or by a jump what it is next. */
static void write_accepted(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *name)
{
    bool is_turned = mdf_lowered_is_state(writer->loop, op->in[1]);
    const char *condition = mdf_source_element(writer, op->in[0], "0");

    mdf_source_line(writer, "%s %s = %s;", mdf_source_type((mdf_dtype)writer->lowered->values[op->out].form.dtype), name,
                    mdf_source_element(writer, op->in[is_turned ? 1 : 2], "0"));
    mdf_source_open(writer, is_turned ? "if (!(%s))" : "if (%s)", condition);
    mdf_source_use(writer, "jump");
    mdf_source_line(writer, "MDF_JUMP;");
    mdf_source_line(writer, "%s = %s;", name, mdf_source_element(writer, op->in[is_turned ? 2 : 1], "0"));
    mdf_source_close(writer);
}

static bool write_scalar_op(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    struct mdf_source_value *own = &writer->values[op->out];
    mdf_dtype dtype = (mdf_dtype)writer->lowered->values[op->out].form.dtype;
    struct mdf_source_expression expression;

    if (!own->is_live && !mdf_source_op_may_bail_out(writer->lowered, op)) {
        return true;
    }
    if (own->is_live && !writer->has_lanes && mdf_lowered_is_accepted_late(writer->loop, op)) {
        own->name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, op->out));
        write_accepted(writer, op, own->name);
        return true;
    }
    if (!express(writer, op, &expression)) {
        return false;
    }
    own->name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, op->out));
    mdf_source_define(writer, dtype, own->name, &expression, false);
    if (!own->is_live) {
        mdf_source_line(writer, "(void)%s;", own->name);
    }
    return true;
}

void mdf_source_write_array_copy(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const char *to, *from;

    if (!writer->values[op->out].is_live) {
        return;
    }
    mdf_source_declare_result(writer, op->out);
    to = writer->values[op->out].name;
    from = mdf_source_address(writer, op->in[0]);
    if (strcmp(to, from) != 0 && writer->lowered->values[op->out].form.length > 0) {
        mdf_source_line(writer, "memcpy(%s, %s, %zu * sizeof *%s);", to, from, writer->lowered->values[op->out].form.length, to);
    }
}

/* ------------------------------------------------------------------ IF */

static bool has_live_merges(const struct mdf_source_writer *writer, const struct mdf_lowered_if *branches)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        if (writer->values[branches->merges[i].out].is_live) {
            return true;
        }
    }
    return false;
}

static void declare_merges(struct mdf_source_writer *writer, const struct mdf_lowered_if *branches)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        mdf_lowered_id id = branches->merges[i].out;
        const struct mdf_lowered_value *value = &writer->lowered->values[id];
        const char *type = mdf_source_type((mdf_dtype)value->form.dtype);

        if (writer->values[id].is_live && !value->is_in_place) {
            writer->values[id].name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, id));
            mdf_source_line(writer, value->is_scalar ? "%s %s;" : "const %s *%s;", type, writer->values[id].name);
        }
    }
}

static bool write_branch(struct mdf_source_writer *writer, const struct mdf_lowered_if *branches, bool is_then)
{
    if (!mdf_source_write_region(writer, is_then ? &branches->then : &branches->otherwise)) {
        return false;
    }
    for (size_t i = 0; i < branches->n_merges; i++) {
        mdf_lowered_id out = branches->merges[i].out, from = is_then ? branches->merges[i].then : branches->merges[i].otherwise;

        if (writer->lowered->values[out].is_in_place) {
            writer->values[out].name = mdf_source_address(writer, from);
        } else if (writer->values[out].is_live) {
            mdf_source_line(writer, "%s = %s;", writer->values[out].name,
                            writer->lowered->values[out].is_scalar ? mdf_source_element(writer, from, "0")
                                                                   : mdf_source_address(writer, from));
        }
    }
    return true;
}

static bool write_if(struct mdf_source_writer *writer, const struct mdf_lowered_if *branches)
{
    bool has_else = branches->otherwise.n_ops > 0 || has_live_merges(writer, branches);

    declare_merges(writer, branches);
    mdf_source_open(writer, "if (%s)", mdf_source_element(writer, branches->condition, "0"));
    if (!write_branch(writer, branches, true)) {
        return false;
    }
    if (has_else) {
        writer->depth--;
        mdf_source_line(writer, "} else {");
        writer->depth++;
        if (!write_branch(writer, branches, false)) {
            return false;
        }
    }
    mdf_source_close(writer);
    return true;
}

/* ------------------------------------------------------------------ regions */

static bool write_op(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    writer->origin = op->origin != NULL ? op->origin : writer->origin;
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        return mdf_source_write_call(writer, op);
    case MDF_LOWERED_NEST:
        return mdf_source_write_nest(writer, op->of.nest);
    case MDF_LOWERED_IF:
        return write_if(writer, op->of.branches);
    case MDF_LOWERED_LOOP:
        return mdf_source_write_loop(writer, op->of.loop);
    MDF_LOWERED_CASES_OF_ELEMENTS:
        break;
    }
    if (op->code == MDF_LOWERED_COPY && !writer->lowered->values[op->out].is_scalar) {
        mdf_source_write_array_copy(writer, op);
        return true;
    }
    if (op->code == MDF_LOWERED_PUT) {
        mdf_source_write_put(writer, op);
        return true;
    }
    if (!writer->lowered->values[op->out].is_scalar) {
        return mdf_source_refuse(writer, "an operation on arrays stands alone");
    }
    return write_scalar_op(writer, op);
}

bool mdf_source_write_region(struct mdf_source_writer *writer, const struct mdf_lowered_region *region)
{
    size_t last, n_beside;

    for (size_t i = 0; i < region->n_ops; i = last + 1) {
        n_beside = mdf_source_write_beside(writer, &region->ops[i], region->n_ops - i);
        if (n_beside > 0) {
            last = i + n_beside - 1;
            continue;
        }
        last = mdf_source_last_put_made_there(writer, region, i);
        for (size_t k = i + 1; k <= last; k++) { /* where it is that the nest writes */
            if (!write_op(writer, &region->ops[k])) {
                return false;
            }
        }
        if (!write_op(writer, &region->ops[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the whole */

/* Whether what is in a slot may be overwritten when its new value is made; *is_input: something reads it until then. */
static bool may_overwrite(struct mdf_source_writer *writer, const struct mdf_source_slot *slot, mdf_lowered_id made,
                          bool *is_input)
{
    const struct mdf_lowered *lowered = writer->lowered;

    *is_input = false;
    for (size_t i = 0; i < lowered->n_inputs; i++) {
        mdf_lowered_id id = lowered->inputs[i];

        if (lowered->values[id].is_scalar || writer->find_slot(writer->slot_context, lowered->values[id].source) != slot) {
            continue;
        }
        *is_input = true;
        if (!mdf_lowered_may_overwrite(lowered, &lowered->region, id, made)) {
            return false;
        }
        for (size_t j = 0; j < lowered->n_outputs; j++) {
            if (lowered->outputs[j].id == id) {
                return false;
            }
        }
    }
    return true;
}

/* Stacks of loops that do not say how often they run have the items that their slots had when the program was evaluated; what
 * such a stack is called only the output knows. */
static void count_open_items(struct mdf_source_writer *writer)
{
    const struct mdf_lowered *lowered = writer->lowered;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_lowered_value *value = &lowered->values[lowered->outputs[i].id];
        size_t axis = mdf_source_open_axis(&value->form), n = 1, d;
        struct mdf_value there;

        for (d = 0; d < value->form.rank; d++) {
            n *= d == axis ? 1 : (size_t)mdf_source_shape(&value->form)[d];
        }
        if (!value->is_scalar && value->place == MDF_LOWERED_RESULT && value->form.length == 0 && value->form.rank > 0 && n > 0 &&
            mdf_array_form(lowered->outputs[i].slot, &there)) {
            writer->values[lowered->outputs[i].id].n_items = there.length / n;
        }
    }
}

/* Arrays that end up in a slot are computed there, where that disturbs nobody. */
static void place_outputs(struct mdf_source_writer *writer)
{
    const struct mdf_lowered *lowered = writer->lowered;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        mdf_lowered_id id = lowered->outputs[i].id;
        const struct mdf_source_slot *slot = writer->find_slot(writer->slot_context, lowered->outputs[i].slot);
        const struct mdf_lowered_value *value = &lowered->values[id];
        bool takes_input;

        if (slot == NULL || slot->is_scalar || value->is_scalar || value->place != MDF_LOWERED_RESULT ||
            writer->values[id].is_buffered || slot->dtype != (mdf_dtype)value->form.dtype ||
            slot->length != mdf_source_length(writer, id) || mdf_lowered_find_maker(&lowered->region, id) == SIZE_MAX ||
            !may_overwrite(writer, slot, id, &takes_input)) {
            continue;
        }
        writer->values[id].name = slot->name;
        writer->values[id].is_buffered = true;
        writer->values[id].takes_input = takes_input;
    }
}

static bool store_output(struct mdf_source_writer *writer, const struct mdf_lowered_output *output)
{
    const struct mdf_source_slot *slot = writer->find_slot(writer->slot_context, output->slot);
    const struct mdf_lowered_value *value = &writer->lowered->values[output->id];
    bool is_same = slot != NULL && slot->dtype == (mdf_dtype)value->form.dtype;
    bool is_known =
        is_same || (slot != NULL && mdf_source_computes(slot->dtype) && mdf_source_computes((mdf_dtype)value->form.dtype));
    bool fills = writer->is_first && is_known && value->form.length == 1 && slot != NULL && slot->length > 1 &&
                 (is_same || mdf_dtype_kind(slot->dtype) == 'f');
    const char *name, *cast;

    if (slot == NULL || (slot->length == 0 && value->form.kind == MDF_KIND_LIST)) {
        return true;
    }
    if (slot->truth != NULL) {
        mdf_source_line(writer, "%s = %s;", slot->truth,
                        output->is_optional ? mdf_source_element(writer, output->is_there, "0")
                        : value->form.kind == MDF_KIND_NONE ? "false"
                                                            : "true");
    }
    if (value->form.kind == MDF_KIND_NONE) {
        return true;
    }
    cast = is_known ? mdf_source_cast(writer, (mdf_dtype)value->form.dtype, slot->dtype) : "";
    if (fills) { /* what is an array in all later runs */
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", slot->length);
        mdf_source_line(writer, "%s[i] = %s%s;", slot->name, cast, mdf_source_element(writer, output->id, "0"));
        mdf_source_close(writer);
        return true;
    }
    if (!is_known || slot->length != mdf_source_length(writer, output->id) ||
        (!is_same && slot->length != 1 && mdf_dtype_kind(slot->dtype) != 'f')) {
        return mdf_source_refuse(writer, "the shape or type of '%s' is not the same in every evaluation", slot->hint);
    }
    if (slot->is_scalar) {
        mdf_source_line(writer, "%s = %s%s;", slot->name, cast, mdf_source_element(writer, output->id, "0"));
        return true;
    }
    if (!is_same) { /* whole numbers that are real ones later */
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", slot->length);
        mdf_source_line(writer, "%s[i] = %s%s;", slot->name, cast, mdf_source_element(writer, output->id, "i"));
        mdf_source_close(writer);
        return true;
    }
    name = mdf_source_address(writer, output->id);
    if (strcmp(name, slot->name) != 0 && slot->length > 0) {
        mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", slot->name, name, slot->name);
    }
    return true;
}

/* All arrays of numbers that are written out have elements that C has. (Constants that are none are looked at where they are
 * read.) */
static bool check_types(struct mdf_source_writer *writer)
{
    for (mdf_lowered_id id = 0; id < writer->lowered->n_values; id++) {
        const struct mdf_lowered_value *value = &writer->lowered->values[id];

        if (writer->values[id].is_live && value->place != MDF_LOWERED_CONSTANT &&
            mdf_source_type((mdf_dtype)value->form.dtype) == NULL) {
            return mdf_source_refuse(writer, "elements of type %s", mdf_dtype_name((mdf_dtype)value->form.dtype));
        }
    }
    return true;
}

bool mdf_source_write_lowered(struct mdf_source_writer *writer, const struct mdf_lowered *lowered)
{
    const struct mdf_origin *origin = writer->origin;

    writer->lowered = lowered;
    writer->values = mdf_arena_array(&writer->arena, lowered->n_values, sizeof *writer->values);
    writer->n_reads = mdf_lowered_count_reads(lowered, &writer->arena);
    if (writer->values == NULL || writer->n_reads == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    mdf_source_mark_live(writer);
    if (!check_types(writer)) {
        return false;
    }
    count_open_items(writer);
    place_outputs(writer);
    if (!mdf_source_name_values(writer) || !mdf_source_write_region(writer, &lowered->region)) {
        return false;
    }
    writer->origin = origin;
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (!store_output(writer, &lowered->outputs[i])) {
            return false;
        }
    }
    return writer->error->code == MDF_OK && (!writer->body.failed || mdf_source_out_of_memory(writer));
}
