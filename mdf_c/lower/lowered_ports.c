/* lowered_ports.c - what goes in and out of a lowered form: forms of inputs are compared, elements taken, and results put into
 * the frame's slots. See lowered_run.h.
 *
 * In the first run, inputs and outputs are laid out as flat tables, so that a scalar costs a few loads each way. Nothing in a
 * slot changes before all that is needed for the outputs has been allocated. */
#include "mdf_c/lower/lowered_parts.h"

#include "mdf_c/lower/emit.h"

#include <assert.h>
#include <string.h>

static_assert(offsetof(struct mdf_value, length) == sizeof(uint64_t),
              "kind, type, strength and rank are the first word of a value");

struct input {
    const struct mdf_value *source;
    uint64_t head; /* the first word that the source has to have */
    size_t length;
    const int64_t *shape; /* NULL: it follows from rank and length */
    mdf_lowered_id id;
    uint8_t size; /* bytes of a scalar */
};

struct scalar_output {
    struct mdf_value *slot;
    uint64_t head;
    void *place; /* in the slot's own memory, while outputs are put there; NULL: it has none */
    mdf_lowered_id id;
    uint8_t size;
};

enum way {
    WAY_KEEP, /* the slot has it already */
    WAY_GIVE, /* the array and the slot change places, */
    WAY_SWAP, /* and then the array and `spare` */
    WAY_COPY  /* the slot and `spare` change places */
};

struct array_output {
    const struct mdf_lowered_output *output;
    bool is_remade; /* a CALL or LOOP makes the array anew, whatever is there */
    enum way way;   /* while outputs are put there */
    struct mdf_value spare;
};

struct mdf_lowered_ports {
    struct input *inputs; /* scalars of 8 bytes, other scalars, arrays */
    size_t n_words, n_scalars, n_inputs;
    struct scalar_output *scalars;
    struct mdf_value *spares; /* of `scalars` */
    size_t n_scalar_outputs;
    struct array_output *arrays;
    size_t n_arrays;
};

static uint64_t head_of(const struct mdf_value *value)
{
    uint64_t head;

    memcpy(&head, value, sizeof head);
    return head;
}

static bool has_shape(const struct mdf_value *value, const int64_t *shape)
{
    const int64_t *sizes = mdf_value_shape(value);
    size_t i;

    for (i = 0; i < value->rank; i++) {
        if (sizes[i] != shape[i]) {
            return false;
        }
    }
    return true;
}

static bool has_form(const struct mdf_value *value, const struct mdf_value *form)
{
    return head_of(value) == head_of(form) && value->length == form->length && has_shape(value, mdf_value_shape(form));
}

static void copy_element(void *target, const void *source, size_t size)
{
    switch (size) {
    case 8:
        memcpy(target, source, 8);
        break;
    case 4:
        memcpy(target, source, 4);
        break;
    case 1:
        memcpy(target, source, 1);
        break;
    default:
        memcpy(target, source, size);
    }
}

/* ------------------------------------------------------------------ tables */

/* Inputs of one kind come one after the other: 0: scalars of 8 bytes, 1: other scalars, 2: arrays. */
static size_t add_inputs(const struct mdf_lowered *lowered, struct mdf_lowered_ports *ports, int kind)
{
    size_t i;

    for (i = 0; i < lowered->n_inputs; i++) {
        mdf_lowered_id id = lowered->inputs[i];
        const struct mdf_lowered_value *value = &lowered->values[id];
        size_t size = mdf_lowered_element_size(lowered, id);

        if ((value->is_scalar ? size != sizeof(uint64_t) : 2) != kind) {
            continue;
        }
        ports->inputs[ports->n_inputs++] =
            (struct input){.source = value->source,
                           .head = head_of(&value->form),
                           .length = value->form.length,
                           .shape = value->is_scalar || value->form.rank < 2 ? NULL : mdf_value_shape(&value->form),
                           .id = id,
                           .size = (uint8_t)size};
    }
    return ports->n_inputs;
}

/* Whether a CALL or LOOP of the whole region makes an array anew in each run. */
static bool is_remade(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    size_t i, j;

    if (lowered->values[id].place == MDF_LOWERED_PARAMETER) {
        return true;
    }
    for (i = 0; i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];

        for (j = 0; op->code == MDF_LOWERED_CALL && j < op->of.call->n_outputs; j++) {
            if (op->of.call->outputs[j] == id) {
                return true;
            }
        }
        for (j = 0; op->code == MDF_LOWERED_LOOP && j < op->of.loop->n_stacks; j++) {
            if (op->of.loop->stacks[j].stack == id) {
                return true;
            }
        }
    }
    return false;
}

static void add_outputs(const struct mdf_lowered *lowered, struct mdf_lowered_ports *ports)
{
    size_t i;

    for (i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_lowered_output *output = &lowered->outputs[i];

        if (lowered->values[output->id].is_scalar) {
            ports->scalars[ports->n_scalar_outputs++] =
                (struct scalar_output){.slot = output->slot,
                                       .head = head_of(&lowered->values[output->id].form),
                                       .id = output->id,
                                       .size = (uint8_t)mdf_lowered_element_size(lowered, output->id)};
        } else {
            ports->arrays[ports->n_arrays++] =
                (struct array_output){.output = output, .is_remade = is_remade(lowered, output->id)};
        }
    }
}

static bool make_ports(struct mdf_lowered *lowered)
{
    struct mdf_arena *arena = &lowered->arena;
    struct mdf_lowered_ports *ports = mdf_arena_allocate(arena, sizeof *ports);

    if (ports == NULL) {
        return false;
    }
    ports->inputs = mdf_arena_array(arena, lowered->n_inputs, sizeof *ports->inputs);
    ports->scalars = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->scalars);
    ports->spares = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->spares);
    ports->arrays = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->arrays);
    if (ports->inputs == NULL || ports->scalars == NULL || ports->spares == NULL || ports->arrays == NULL) {
        return false;
    }
    ports->n_words = add_inputs(lowered, ports, 0);
    ports->n_scalars = add_inputs(lowered, ports, 1);
    add_inputs(lowered, ports, 2);
    add_outputs(lowered, ports);
    lowered->ports = ports;
    return true;
}

/* ------------------------------------------------------------------ in */

/* False: another form. */
static bool take_inputs(struct mdf_lowered *lowered)
{
    const struct mdf_lowered_ports *ports = lowered->ports;
    const struct input *input = ports->inputs, *words_end = input + ports->n_words;
    const struct input *scalars_end = input + ports->n_scalars, *end = input + ports->n_inputs;

    for (; input < words_end; input++) {
        if (head_of(input->source) != input->head || input->source->length != 1) {
            return false;
        }
        memcpy(&lowered->cells[input->id], input->source->data, sizeof(uint64_t));
    }
    for (; input < scalars_end; input++) {
        if (head_of(input->source) != input->head || input->source->length != 1) {
            return false;
        }
        copy_element(&lowered->cells[input->id], input->source->data, input->size);
    }
    for (; input < end; input++) {
        if (head_of(input->source) != input->head || input->source->length != input->length ||
            (input->shape != NULL && !has_shape(input->source, input->shape))) {
            return false;
        }
        lowered->arrays[input->id].data = input->source->data;
    }
    return true;
}

/* ------------------------------------------------------------------ out */

/* Memory for the scalars whose slot has none of its own. */
static bool prepare_scalars(struct mdf_lowered *lowered)
{
    struct mdf_lowered_ports *ports = lowered->ports;
    size_t i;

    for (i = 0; i < ports->n_scalar_outputs; i++) {
        struct scalar_output *output = &ports->scalars[i];
        struct mdf_value *slot = output->slot;

        output->place = head_of(slot) == output->head && slot->length == 1 ? mdf_value_own_elements(slot) : NULL;
        if (output->place == NULL) {
            if (!mdf_lowered_make_array(lowered, output->id, &ports->spares[i], SIZE_MAX)) {
                return false;
            }
            copy_element(ports->spares[i].data, &lowered->cells[output->id], output->size);
        }
    }
    return true;
}

static bool prepare_array(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_value view = lowered->arrays[output->output->id], *slot = output->output->slot;

    if (output->output->gives && mdf_value_own_elements(&view) != NULL) {
        output->way = WAY_GIVE;
        if (output->is_remade || (has_form(slot, &view) && mdf_value_own_elements(slot) != NULL)) {
            return true;
        }
        output->way = WAY_SWAP;
        return mdf_lowered_make_array(lowered, output->output->id, &output->spare, SIZE_MAX);
    }
    if (has_form(slot, &view) && slot->data == view.data) {
        output->way = WAY_KEEP;
        return true;
    }
    output->way = WAY_COPY;
    view.buffer = NULL;
    return mdf_value_copy_apart(lowered->context->memory, &output->spare, &view);
}

/* What came out of a slot is kept for the next time where it is memory that nobody else has. */
static void keep_memory(struct mdf_lowered *lowered, struct mdf_value *value)
{
    if (mdf_value_own_elements(value) == NULL) {
        mdf_value_clear(lowered->context->memory, value);
    }
}

static void put_array(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_value *array = &lowered->arrays[output->output->id], *slot = output->output->slot;

    switch (output->way) {
    case WAY_KEEP:
        break;
    case WAY_GIVE:
        mdf_value_swap(slot, array);
        keep_memory(lowered, array);
        break;
    case WAY_SWAP:
        mdf_value_swap(slot, array);
        mdf_value_swap(array, &output->spare);
        mdf_value_clear(lowered->context->memory, &output->spare);
        break;
    case WAY_COPY:
        mdf_value_swap(slot, &output->spare);
        keep_memory(lowered, &output->spare);
        break;
    }
}

/* What is copied may lie in a slot, by way of an input: all copies are made before any slot changes. */
static bool put_outputs(struct mdf_lowered *lowered)
{
    struct mdf_lowered_ports *ports = lowered->ports;
    size_t i;

    if (!prepare_scalars(lowered)) {
        return false;
    }
    for (i = 0; i < ports->n_arrays; i++) {
        if (!prepare_array(lowered, &ports->arrays[i])) {
            return false;
        }
    }
    for (i = 0; i < ports->n_scalar_outputs; i++) {
        struct scalar_output *output = &ports->scalars[i];

        if (output->place != NULL) {
            copy_element(output->place, &lowered->cells[output->id], output->size);
        } else {
            mdf_value_swap(output->slot, &ports->spares[i]);
            mdf_value_clear(lowered->context->memory, &ports->spares[i]);
        }
    }
    for (i = 0; i < ports->n_arrays; i++) {
        put_array(lowered, &ports->arrays[i]);
    }
    return true;
}

/* ------------------------------------------------------------------ all of it */

static bool run(struct mdf_lowered *lowered)
{
    return lowered->code != NULL ? lowered->code(lowered->cells, lowered->arrays) == 0
                                 : mdf_lowered_run_region(lowered, &lowered->region);
}

enum mdf_lowered_outcome mdf_lowered_run(struct mdf_lowered *lowered)
{
    if (lowered->ports == NULL && !make_ports(lowered)) {
        return MDF_LOWERED_LEFT;
    }
    if (!take_inputs(lowered)) {
        return MDF_LOWERED_OTHER_FORM;
    }
    if (run(lowered) && put_outputs(lowered)) {
        return MDF_LOWERED_DONE;
    }
    memset(&lowered->context->error, 0, sizeof lowered->context->error); /* a kernel's; it comes again */
    return MDF_LOWERED_LEFT;
}

/* ------------------------------------------------------------------ release */

static void release_calls(struct mdf_memory *memory, const struct mdf_lowered_region *region)
{
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        switch (op->code) {
        case MDF_LOWERED_CALL:
            for (j = 0; j < MDF_CALL_SCRATCH; j++) {
                mdf_value_clear(memory, &op->of.call->call.scratch[j]);
            }
            break;
        case MDF_LOWERED_IF:
            release_calls(memory, &op->of.branches->then);
            release_calls(memory, &op->of.branches->otherwise);
            break;
        case MDF_LOWERED_LOOP:
            release_calls(memory, &op->of.loop->body);
            break;
        default:
            break;
        }
    }
}

static void release_ports(struct mdf_memory *memory, struct mdf_lowered_ports *ports)
{
    size_t i;

    for (i = 0; i < ports->n_scalar_outputs; i++) {
        mdf_value_clear(memory, &ports->spares[i]);
    }
    for (i = 0; i < ports->n_arrays; i++) {
        mdf_value_clear(memory, &ports->arrays[i].spare);
    }
}

void mdf_lowered_release(struct mdf_lowered *lowered)
{
    struct mdf_memory *memory;
    struct mdf_arena arena;
    size_t i;

    if (lowered == NULL) {
        return;
    }
    memory = lowered->context->memory;
    mdf_lowered_unmap(lowered);
    release_calls(memory, &lowered->region);
    for (i = 0; lowered->arrays != NULL && i < lowered->n_values; i++) {
        mdf_value_clear(memory, &lowered->arrays[i]);
    }
    if (lowered->ports != NULL) {
        release_ports(memory, lowered->ports);
    }
    arena = lowered->arena;
    mdf_arena_release(&arena);
}
