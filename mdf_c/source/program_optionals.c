/* program_optionals.c - slots that nodes do not always leave with a value (ONNX's optionals): such a slot has the memory of what
 * may be there, and a field of the state beside it says whether it is. See program_writer.h. */
#include "mdf_c/source/program_writer.h"

#include "mdf_c/lower/lower.h"

bool mdf_source_may_have_optionals(const struct mdf_source_program *program)
{
    /* All nodes run in each evaluation, so that what is lowered is all that gives slots values. */
    return program->n_graphs == 1 && program->n_lanes == 0 && !program->has_derivatives &&
           program->graph->program->schedule == NULL;
}

bool mdf_source_note_optional(struct mdf_source_program *program, const struct mdf_lowered_output *output,
                              const struct mdf_value *form, size_t slot)
{
    static const bool is_there = true;
    struct mdf_optional *optional = &program->graph->optionals[slot].of;
    const struct mdf_value *content = form->kind == MDF_KIND_NONE ? output->slot : form;
    void *zeros;

    if (!output->is_optional &&
        (content->kind != MDF_KIND_TENSOR || (form->kind == content->kind && output->slot->kind != MDF_KIND_NONE))) {
        return true;
    }
    program->graph->changes[slot] = true;
    if (optional->is_one) {
        return true;
    }
    zeros = mdf_arena_array(&program->writer.arena, content->length + 1, mdf_dtype_size((mdf_dtype)content->dtype));
    if (zeros == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    optional->is_one = program->has_new_either = true;
    mdf_value_borrow_tensor(&program->graph->state->shared->memory, &optional->truth, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL,
                            &is_there);
    mdf_value_borrow_tensor(&program->graph->state->shared->memory, &optional->content, (mdf_dtype)content->dtype,
                            (enum mdf_strength)content->strength, content->rank, mdf_value_shape(content), zeros);
    return true;
}

const struct mdf_optional *mdf_source_find_optional(void *context, const struct mdf_value *value)
{
    const struct mdf_source_program *program = context;
    const struct mdf_source_graph *graph = mdf_source_graph_of(program, value);

    return graph != NULL ? &graph->optionals[value - graph->values].of : NULL;
}

const struct mdf_value *mdf_source_slot_value(struct mdf_source_program *program, const struct mdf_value *value)
{
    const struct mdf_optional *optional = mdf_source_find_optional(program, value);

    return optional != NULL && optional->is_one ? &optional->content : value;
}

void mdf_source_make_truth(struct mdf_source_program *program, size_t slot)
{
    struct mdf_source_writer *writer = &program->writer;
    struct mdf_source_slot *own = &program->graph->slots[slot], *truth = &program->graph->optionals[slot].truth;
    const char *member = mdf_source_name(writer, &program->members, mdf_source_text(writer, "%s_is_there", own->hint));

    *truth = (struct mdf_source_slot){.name = mdf_source_text(writer, "s->%s", member),
                                      .hint = member,
                                      .dtype = MDF_DTYPE_BOOL,
                                      .length = 1,
                                      .is_scalar = true};
    own->truth = truth->name;
    mdf_text_printf(&program->fields, "    %s %s;\n", mdf_source_type(MDF_DTYPE_BOOL), member);
}

const struct mdf_source_slot *mdf_source_find_truth(const struct mdf_source_program *program, const struct mdf_value *value)
{
    const struct mdf_source_graph *graph = program->graph;

    for (size_t i = 0; i < graph->program->code->n_slots; i++) {
        if (&graph->optionals[i].of.truth == value) {
            return &graph->optionals[i].truth;
        }
    }
    return NULL;
}
