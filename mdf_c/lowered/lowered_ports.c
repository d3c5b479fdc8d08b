/* lowered_ports.c - what goes in and out of a lowered form: forms of inputs are compared, elements taken, and results put into
 * the frame's slots. See lowered_run.h.
 *
 * In the first run, inputs and outputs are laid out as flat tables, so that a scalar costs a few loads each way. The slot of a
 * scalar becomes a view of a word that is written for it at the end of each run; the memory that the slot had is kept, and comes
 * back when the lowered form does not run or is released. Nothing in a slot changes before all that is needed for the outputs has
 * been allocated. */
#include "functions/sampling/random_marks.h"
#include "mdf_c/lowered/code_price.h"
#include "mdf_c/lowered/lowered_parts.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"

#include <assert.h>
#include <string.h>

static_assert(offsetof(struct mdf_value, length) == sizeof(uint64_t),
              "kind, type, strength and rank are the first word of a value");

struct scalar_input {
    const struct mdf_value *source;
    uint64_t head; /* the first word that the source has to have */
    uint64_t *cell;
    size_t size; /* bytes */
};

struct array_input {
    const struct mdf_value *source;
    const struct mdf_value *form;
    mdf_lowered_id id;
    void *rows; /* memory for the items of a source that is a list, where they do not lie one behind the other; else NULL */
};

struct scalar_output {
    struct mdf_value *slot;
    const uint64_t *cell;
    uint64_t word; /* that the slot looks at */
    mdf_lowered_id id;
    const uint64_t *truth; /* where it does not hold, the slot gets `other_element`, as `other` says; NULL: there is none */
    const struct mdf_value *other;
    const void *other_element;
};

enum way {
    WAY_KEEP,  /* the slot has it already */
    WAY_GIVE,  /* the array and the slot change places, */
    WAY_SWAP,  /* and then the array and `spare` */
    WAY_WRITE, /* elements are written where the slot has its own */
    WAY_COPY,  /* the slot and `spare` change places */
    WAY_SHARE  /* the same of a list whose items lie in `whole` */
};

struct array_output {
    const struct mdf_lowered_output *output;
    bool is_remade; /* a CALL or LOOP makes the array anew, whatever is there */
    enum way way;   /* while outputs are put there */
    struct mdf_value spare;
    struct mdf_value whole; /* of WAY_SHARE: the array whose memory the list keeps, which somebody else holds until then */
};

/* From so many bytes on a result is made where the slot has the one before: two places that take turns need twice the cache. */
enum { LARGE_RESULT_BYTES = 32 * 1024 };

struct mdf_lowered_ports {
    struct scalar_input *scalar_inputs; /* of 8 bytes: [0, n_input_words) */
    size_t n_input_words, n_scalar_inputs;
    struct array_input *array_inputs;
    size_t n_array_inputs;
    struct scalar_output *scalar_outputs;
    struct mdf_value *spares;          /* of scalar outputs: what a slot has when it does not look at the word */
    size_t n_scalar_outputs, n_others; /* which of them have */
    struct array_output *array_outputs;
    size_t n_array_outputs;
    bool has_remade;                /* one of them is_remade and given to its slot */
    struct mdf_random_marks *marks; /* where generators were when it began; NULL: it draws nothing */
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

    for (size_t i = 0; i < value->rank; i++) {
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

static bool is_word(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return mdf_lowered_element_size(lowered, id) == sizeof(uint64_t);
}

/* The scalars that are words, or those that are not. */
static void add_scalar_inputs(const struct mdf_lowered *lowered, struct mdf_lowered_ports *ports, bool words)
{
    for (size_t i = 0; i < lowered->n_inputs; i++) {
        mdf_lowered_id id = lowered->inputs[i];

        if (lowered->values[id].is_scalar && is_word(lowered, id) == words && !lowered->values[id].is_list) {
            ports->scalar_inputs[ports->n_scalar_inputs++] = (struct scalar_input){.source = lowered->values[id].source,
                                                                                   .head = head_of(&lowered->values[id].form),
                                                                                   .cell = &lowered->cells[id],
                                                                                   .size = mdf_lowered_element_size(lowered, id)};
        }
    }
}

static bool add_array_inputs(struct mdf_lowered *lowered, struct mdf_lowered_ports *ports)
{
    for (size_t i = 0; i < lowered->n_inputs; i++) {
        mdf_lowered_id id = lowered->inputs[i];
        const struct mdf_lowered_value *value = &lowered->values[id];
        struct array_input input = {.source = value->source, .form = &value->form, .id = id};

        if (value->is_list) {
            input.rows =
                value->is_scalar ? &lowered->cells[id] : mdf_arena_allocate(&lowered->arena, mdf_lowered_size(lowered, id));
            if (input.rows == NULL) {
                return false;
            }
        }
        if (!value->is_scalar || value->is_list) {
            ports->array_inputs[ports->n_array_inputs++] = input;
        }
    }
    return true;
}

/* Whether a CALL or LOOP of the whole region makes an array anew in each run. */
static bool is_remade(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    if (lowered->values[id].place == MDF_LOWERED_PARAMETER) {
        return true;
    }
    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];

        for (size_t j = 0; op->code == MDF_LOWERED_CALL && j < op->of.call->n_outputs; j++) {
            if (op->of.call->outputs[j] == id && op->of.call->draw == NULL && op->of.call->routine == NULL) {
                return true;
            }
        }
        for (size_t j = 0; op->code == MDF_LOWERED_LOOP && j < op->of.loop->n_stacks; j++) {
            if (op->of.loop->stacks[j].stack == id) {
                return true;
            }
        }
    }
    return false;
}

static void add_scalar_outputs(const struct mdf_lowered *lowered, struct mdf_lowered_ports *ports)
{
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        mdf_lowered_id id = lowered->outputs[i].id;

        if (lowered->values[id].is_scalar && lowered->outputs[i].n_items == 0 && !lowered->outputs[i].is_list &&
            !lowered->outputs[i].is_optional) {
            struct scalar_output *output = &ports->scalar_outputs[ports->n_scalar_outputs++];

            *output = (struct scalar_output){.slot = lowered->outputs[i].slot, .cell = &lowered->cells[id], .id = id};
            if (lowered->outputs[i].has_other) {
                output->truth = &lowered->cells[lowered->outputs[i].is_strong];
                output->other = &lowered->values[lowered->outputs[i].other].form;
                output->other_element = lowered->values[lowered->outputs[i].other].place == MDF_LOWERED_CONSTANT
                                            ? output->other->data
                                            : &lowered->cells[lowered->outputs[i].other];
                ports->n_others++;
            }
        }
    }
}

static void add_array_outputs(const struct mdf_lowered *lowered, struct mdf_lowered_ports *ports)
{
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_lowered_output *output = &lowered->outputs[i];

        if (!lowered->values[output->id].is_scalar || output->n_items > 0 || output->is_list || output->is_optional) {
            ports->array_outputs[ports->n_array_outputs++] =
                (struct array_output){.output = output, .is_remade = is_remade(lowered, output->id)};
            ports->has_remade = ports->has_remade || ((output->gives || output->is_list) &&
                                                      ports->array_outputs[ports->n_array_outputs - 1].is_remade);
        }
    }
}

/* Whether a call in it draws random numbers: where it bails out, generators go back to where they were. */
static bool draws_in(const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_CALL && op->operator!= NULL &&(op->operator->flags & MDF_OPERATOR_RANDOM) != 0) {
            return true;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (draws_in(inner)) {
                return true;
            }
        }
    }
    return false;
}

static bool make_ports(struct mdf_lowered *lowered)
{
    struct mdf_arena *arena = &lowered->arena;
    struct mdf_lowered_ports *ports = mdf_arena_allocate(arena, sizeof *ports);

    if (ports == NULL) {
        return false;
    }
    ports->scalar_inputs = mdf_arena_array(arena, lowered->n_inputs, sizeof *ports->scalar_inputs);
    ports->array_inputs = mdf_arena_array(arena, lowered->n_inputs, sizeof *ports->array_inputs);
    ports->scalar_outputs = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->scalar_outputs);
    ports->spares = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->spares);
    ports->array_outputs = mdf_arena_array(arena, lowered->n_outputs, sizeof *ports->array_outputs);
    if (ports->scalar_inputs == NULL || ports->array_inputs == NULL || ports->scalar_outputs == NULL || ports->spares == NULL ||
        ports->array_outputs == NULL) {
        return false;
    }
    add_scalar_inputs(lowered, ports, true);
    ports->n_input_words = ports->n_scalar_inputs;
    add_scalar_inputs(lowered, ports, false);
    if (!add_array_inputs(lowered, ports)) {
        return false;
    }
    if (draws_in(&lowered->region)) {
        ports->marks = mdf_arena_allocate(arena, sizeof *ports->marks);
        if (ports->marks == NULL) {
            return false;
        }
    }
    add_scalar_outputs(lowered, ports);
    add_array_outputs(lowered, ports);
    lowered->ports = ports;
    return true;
}

/* ------------------------------------------------------------------ in */

static inline bool is_scalar_of(const struct mdf_value *value, uint64_t head)
{
    return head_of(value) == head && value->length == 1;
}

/* False: another form. */
static inline bool take_words(const struct scalar_input *input, const struct scalar_input *end)
{
    for (; input < end; input++) {
        const struct mdf_value *source = input->source;

        if (!is_scalar_of(source, input->head)) {
            return false;
        }
        memcpy(input->cell, source->data, sizeof *input->cell);
    }
    return true;
}

static bool take_scalars(const struct scalar_input *input, const struct scalar_input *end)
{
    for (; input < end; input++) {
        if (!is_scalar_of(input->source, input->head)) {
            return false;
        }
        copy_element(input->cell, input->source->data, input->size);
    }
    return true;
}

/* The items of a list, which are arrays of one form, one behind the other; NULL: it is another list. */
static void *take_list(const struct array_input *input)
{
    const struct mdf_value *items = input->source->kind == MDF_KIND_LIST ? mdf_value_items(input->source) : NULL;
    struct mdf_value item = *input->form;
    size_t n_bytes, n = (size_t)input->form->shape.sizes[0], i;
    bool is_one = true;

    if (items == NULL || input->source->length != n || input->source->dtype != item.dtype) {
        return NULL;
    }
    item.rank--;
    item.length /= n;
    n_bytes = item.length * mdf_dtype_size((mdf_dtype)item.dtype);
    for (i = 0; i < n; i++) {
        if (head_of(&items[i]) != head_of(&item) || items[i].length != item.length ||
            !has_shape(&items[i], input->form->shape.sizes + 1)) {
            return NULL;
        }
        is_one = is_one && (const char *)items[i].data == (const char *)items[0].data + i * n_bytes;
    }
    if (is_one && input->form->length > 1) {
        return items[0].data;
    }
    for (i = 0; i < n; i++) {
        memcpy((char *)input->rows + i * n_bytes, items[i].data, n_bytes);
    }
    return input->rows;
}

static bool take_arrays(struct mdf_lowered *lowered, const struct array_input *input, const struct array_input *end)
{
    for (; input < end; input++) {
        if (input->rows != NULL) {
            lowered->arrays[input->id].data = take_list(input);
            if (lowered->arrays[input->id].data == NULL) {
                return false;
            }
            continue;
        }
        if (!has_form(input->source, input->form)) {
            return false;
        }
        lowered->arrays[input->id].data = input->source->data;
    }
    return true;
}

static inline bool take_inputs(struct mdf_lowered *lowered)
{
    const struct mdf_lowered_ports *ports = lowered->ports;

    return take_words(ports->scalar_inputs, ports->scalar_inputs + ports->n_input_words) &&
           take_scalars(ports->scalar_inputs + ports->n_input_words, ports->scalar_inputs + ports->n_scalar_inputs) &&
           take_arrays(lowered, ports->array_inputs, ports->array_inputs + ports->n_array_inputs);
}

/* ------------------------------------------------------------------ memory of the results before */

/* Whether an input looks at any of those bytes. */
static bool is_read(const struct mdf_lowered *lowered, const char *bytes, size_t n_bytes)
{
    const struct mdf_lowered_ports *ports = lowered->ports;

    for (size_t i = 0; i < ports->n_array_inputs; i++) {
        mdf_lowered_id id = ports->array_inputs[i].id;
        const char *input = lowered->arrays[id].data;

        if (input < bytes + n_bytes && bytes < input + mdf_lowered_size(lowered, id)) {
            return true;
        }
    }
    return false;
}

/* A list of which only `list` has the items, which lie in one array: that is its last item, behind those that it tells of, so
 * that nobody takes the others for its own. NULL: it is none. */
static struct mdf_value *shared_items(const struct mdf_value *list)
{
    struct mdf_buffer *buffer = list->buffer;
    bool is_own = list->kind == MDF_KIND_LIST && buffer != NULL && list->length > 0 &&
                  atomic_load_explicit(&buffer->n_owners, memory_order_acquire) == 1 && buffer->store == NULL &&
                  list->data == (char *)buffer->data + buffer->offset && buffer->n_owned == list->length + 1;

    return is_own ? list->data : NULL;
}

/* The array that the list of the time before last lay in is there to be written anew. */
static void take_array_of_list(struct mdf_lowered *lowered, const struct array_output *output)
{
    struct mdf_value *items = shared_items(&output->spare), *array = &lowered->arrays[output->output->id], *last;

    if (items != NULL) {
        last = &items[output->spare.length];
        if (mdf_value_own_elements(array) == NULL) {
            mdf_value_swap(array, last);
        }
        mdf_value_clear(lowered->context->memory, last);
    }
}

/* Takes large results back from slots whose elements only this form makes, to be written anew where they are. */
static void take_results(struct mdf_lowered *lowered)
{
    struct mdf_lowered_ports *ports = lowered->ports;

    for (size_t i = 0; i < ports->n_array_outputs; i++) {
        const struct array_output *output = &ports->array_outputs[i];
        struct mdf_value *slot = output->output->slot, *array = &lowered->arrays[output->output->id];
        const char *elements = output->is_remade && output->output->gives ? mdf_value_own_elements(slot) : NULL;
        size_t n_bytes = elements == NULL ? 0 : slot->length * mdf_dtype_size((mdf_dtype)slot->dtype);

        if (output->output->is_list) {
            take_array_of_list(lowered, output);
            continue;
        }
        if (n_bytes >= LARGE_RESULT_BYTES && slot->dtype != MDF_DTYPE_STRING && !is_read(lowered, elements, n_bytes)) {
            mdf_value_swap(slot, array);
            mdf_value_clear(lowered->context->memory, slot);
        }
    }
}

/* ------------------------------------------------------------------ out */

/* A slot's own memory is kept for when it looks at the word no longer; where it has none of the right form, some is made. */
static bool prepare_scalar(const struct mdf_lowered *lowered, const struct scalar_output *output, struct mdf_value *spare)
{
    if (output->truth != NULL) { /* room for any scalar */
        return mdf_value_own_elements(spare) != NULL ||
               mdf_value_make_tensor(lowered->context->memory, spare, MDF_DTYPE_INT64, 0, NULL) != NULL;
    }
    return mdf_value_own_elements(spare) != NULL ||
           (has_form(output->slot, &lowered->values[output->id].form) && mdf_value_own_elements(output->slot) != NULL) ||
           mdf_lowered_make_array(lowered, output->id, spare);
}

static inline bool prepare_scalars(const struct mdf_lowered *lowered, const struct mdf_lowered_ports *ports)
{
    const struct scalar_output *output = ports->scalar_outputs, *end = output + ports->n_scalar_outputs;

    for (; output < end; output++) {
        if (output->slot->data != &output->word &&
            !prepare_scalar(lowered, output, &ports->spares[output - ports->scalar_outputs])) {
            return false;
        }
    }
    return true;
}

static void attach(const struct mdf_lowered *lowered, struct scalar_output *output, struct mdf_value *spare)
{
    struct mdf_value *slot = output->slot;

    if (output->truth == NULL && has_form(slot, &lowered->values[output->id].form) && mdf_value_own_elements(slot) != NULL) {
        mdf_value_swap(slot, spare);
    }
    mdf_value_clear(lowered->context->memory, slot);
    *slot = lowered->values[output->id].form;
    slot->data = &output->word;
}

static void take_type(struct mdf_value *value, const struct mdf_value *from)
{
    value->dtype = from->dtype;
    value->strength = from->strength;
}

/* Values of either type are of one of them now. */
static void put_others(const struct mdf_lowered *lowered, const struct mdf_lowered_ports *ports)
{
    struct scalar_output *output = ports->scalar_outputs, *end = output + ports->n_scalar_outputs;

    for (; output < end; output++) {
        bool is_other = output->truth != NULL && !*(const bool *)output->truth;

        if (output->truth != NULL) {
            take_type(output->slot, is_other ? output->other : &lowered->values[output->id].form);
        }
        if (is_other) {
            memcpy(&output->word, output->other_element, mdf_dtype_size((mdf_dtype)output->other->dtype));
        }
    }
}

static inline void put_scalars(const struct mdf_lowered *lowered, const struct mdf_lowered_ports *ports)
{
    struct scalar_output *output = ports->scalar_outputs, *end = output + ports->n_scalar_outputs;

    for (; output < end; output++) {
        output->word = *output->cell;
        if (output->slot->data != &output->word) {
            attach(lowered, output, &ports->spares[output - ports->scalar_outputs]);
        }
    }
}

/* Slots have memory of their own again, which is there. */
static void detach_scalars(const struct mdf_lowered *lowered)
{
    const struct mdf_lowered_ports *ports = lowered->ports;
    const struct scalar_output *output = ports->scalar_outputs, *end = output + ports->n_scalar_outputs;

    for (; output < end; output++) {
        struct mdf_value *spare = &ports->spares[output - ports->scalar_outputs];

        if (output->slot->data == &output->word) {
            if (output->truth != NULL) {
                take_type(spare, output->slot);
            }
            memcpy(spare->data, &output->word, mdf_dtype_size((mdf_dtype)output->slot->dtype));
            mdf_value_swap(output->slot, spare);
            memset(spare, 0, sizeof *spare);
        }
    }
}

/* The list of what lies in an array that the slot, or nobody, will have: items borrow from it, and the list keeps it. */
static bool prepare_rows(struct mdf_lowered *lowered, struct array_output *output, size_t n)
{
    struct mdf_memory *memory = lowered->context->memory;
    const struct mdf_value *array = &lowered->arrays[output->output->id], *form = &lowered->values[output->output->item].form;
    size_t n_bytes = mdf_lowered_size(lowered, output->output->item), i;
    struct mdf_value *items = output->spare.length == n ? shared_items(&output->spare) : NULL;

    if (items == NULL || !has_form(items, form)) { /* another lowered form may have made it */
        mdf_value_clear(memory, &output->spare);
        items = mdf_value_make_list(memory, &output->spare, n + 1);
        if (items == NULL) {
            return false;
        }
        output->spare.length = n;
        for (i = 0; i < n; i++) {
            items[i] = *form;
        }
    }
    for (i = 0; i < n; i++) {
        items[i].data = (char *)array->data + i * n_bytes;
    }
    output->spare.dtype = form->dtype;
    output->whole = *array;
    output->way = WAY_SHARE;
    return true;
}

/* The list of what lies in an array, each in memory of its own: that of the list of the time before last, where nobody has it. */
static bool prepare_list(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_memory *memory = lowered->context->memory;
    const struct mdf_value *array = &lowered->arrays[output->output->id], *form = &lowered->values[output->output->item].form;
    size_t n_bytes = mdf_lowered_size(lowered, output->output->item), n = array->length / form->length, i;
    struct mdf_value *items;

    if (output->is_remade && array->buffer != NULL && n > 0 && form->rank <= MDF_INLINE_RANK) {
        return prepare_rows(lowered, output, n);
    }
    items = output->spare.length == n && output->spare.kind == MDF_KIND_LIST ? mdf_value_own_items(&output->spare) : NULL;
    if (items == NULL) {
        mdf_value_clear(memory, &output->spare);
        items = mdf_value_make_list(memory, &output->spare, n);
    }
    for (i = 0; i < n && items != NULL; i++) {
        if (!mdf_lowered_make_array(lowered, output->output->item, &items[i])) {
            return false;
        }
        memcpy(items[i].data, (const char *)array->data + i * n_bytes, n_bytes);
    }
    output->spare.dtype = form->dtype;
    output->way = WAY_COPY;
    return items != NULL;
}

/* An item of a list; the first makes room for all of them. */
static bool prepare_item(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_memory *memory = lowered->context->memory;
    struct mdf_value *list = &output[-(ptrdiff_t)output->output->index].spare, *item;
    mdf_lowered_id id = output->output->id;
    const void *elements = lowered->values[id].is_scalar ? (const void *)&lowered->cells[id] : lowered->arrays[id].data;

    output->way = output->output->index == 0 ? WAY_COPY : WAY_KEEP;
    if (output->output->index == 0) {
        mdf_value_clear(memory, list);
        if (mdf_value_make_list(memory, list, output->output->n_items) == NULL) {
            return false;
        }
        list->dtype = (uint8_t)output->output->list_dtype;
    }
    item = (struct mdf_value *)list->data; /* which only this list has */
    if (!mdf_lowered_make_array(lowered, id, &item[output->output->index])) {
        return false;
    }
    memcpy(item[output->output->index].data, elements, mdf_lowered_size(lowered, id));
    return true;
}

/* What may not be there: a copy, or nothing. */
static bool prepare_optional(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_value view = lowered->arrays[output->output->id];

    output->way = WAY_COPY;
    if (!*(const bool *)&lowered->cells[output->output->is_there]) {
        mdf_value_clear(lowered->context->memory, &output->spare);
        return true;
    }
    view.buffer = NULL;
    return mdf_value_copy_apart(lowered->context->memory, &output->spare, &view);
}

static bool prepare_array(struct mdf_lowered *lowered, struct array_output *output)
{
    struct mdf_value view = lowered->arrays[output->output->id], *slot = output->output->slot;

    if (output->output->is_optional) {
        return prepare_optional(lowered, output);
    }

    if (output->output->is_list) {
        return prepare_list(lowered, output);
    }
    if (output->output->n_items > 0) {
        return prepare_item(lowered, output);
    }
    if (output->output->gives && mdf_value_own_elements(&view) != NULL) {
        output->way = WAY_GIVE;
        if (output->is_remade || (has_form(slot, &view) && mdf_value_own_elements(slot) != NULL)) {
            return true;
        }
        output->way = WAY_SWAP;
        return mdf_lowered_make_array(lowered, output->output->id, &output->spare);
    }
    if (has_form(slot, &view) && slot->data == view.data) {
        output->way = WAY_KEEP;
        return true;
    }
    if (mdf_value_own_elements(&view) != NULL && has_form(slot, &view) && mdf_value_own_elements(slot) != NULL) {
        output->way = WAY_WRITE; /* made here, of memory that no slot has: it lasts until slots change */
        return true;
    }
    output->way = WAY_COPY;
    view.buffer = NULL;
    return mdf_value_copy_apart(lowered->context->memory, &output->spare, &view);
}

/* What came out of a slot is kept for the next time where it is memory that nobody else has. */
static void keep_memory(struct mdf_lowered *lowered, struct mdf_value *value)
{
    if (mdf_value_own_elements(value) == NULL && mdf_value_own_items(value) == NULL) {
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
    case WAY_WRITE:
        memcpy(slot->data, array->data,
               array->length * mdf_dtype_size((mdf_dtype)array->dtype)); /* of a stack more than its form has */
        break;
    case WAY_COPY:
        mdf_value_swap(slot, &output->spare);
        keep_memory(lowered, &output->spare);
        break;
    case WAY_SHARE:
        mdf_value_share(lowered->context->memory, (struct mdf_value *)output->spare.data + output->spare.length, &output->whole);
        mdf_value_swap(slot, &output->spare);
        if (shared_items(&output->spare) == NULL) {
            mdf_value_clear(lowered->context->memory, &output->spare);
        }
        break;
    }
}

/* What is copied may lie in a slot, by way of an input: all copies are made before any slot changes. */
static inline bool put_outputs(struct mdf_lowered *lowered)
{
    struct mdf_lowered_ports *ports = lowered->ports;

    if (!prepare_scalars(lowered, ports)) {
        return false;
    }
    for (size_t i = 0; i < ports->n_array_outputs; i++) {
        if (!prepare_array(lowered, &ports->array_outputs[i])) {
            return false;
        }
    }
    put_scalars(lowered, ports);
    if (ports->n_others > 0) {
        put_others(lowered, ports);
    }
    for (size_t i = 0; i < ports->n_array_outputs; i++) {
        put_array(lowered, &ports->array_outputs[i]);
    }
    return true;
}

/* ------------------------------------------------------------------ all of it */

static bool run(struct mdf_lowered *lowered)
{
    return lowered->code != NULL ? lowered->code(lowered->cells, lowered->arrays) == 0
                                 : mdf_lowered_run_region(lowered, &lowered->region);
}

void mdf_lowered_detach(struct mdf_lowered *lowered)
{
    if (lowered->ports != NULL) {
        detach_scalars(lowered);
    }
}

enum mdf_lowered_outcome mdf_lowered_run(struct mdf_lowered *lowered)
{
    if (lowered->ports == NULL && !make_ports(lowered)) {
        return MDF_LOWERED_BAILED_OUT;
    }
    if (!take_inputs(lowered)) {
        detach_scalars(lowered);
        return MDF_LOWERED_OTHER_FORM;
    }
    if (lowered->ports->has_remade) {
        take_results(lowered);
    }
    if (lowered->ports->marks != NULL && !mdf_random_mark(lowered->ports->marks, lowered->context)) {
        detach_scalars(lowered);
        return MDF_LOWERED_BAILED_OUT;
    }
    if (run(lowered) && !mdf_stop_is_untold(lowered->context->stop) && put_outputs(lowered)) {
        return MDF_LOWERED_DONE;
    }
    if (lowered->ports->marks != NULL) {
        mdf_random_return(lowered->ports->marks, lowered->context);
    }
    detach_scalars(lowered);
    memset(&lowered->context->error, 0, sizeof lowered->context->error); /* a kernel's; it comes again */
    return mdf_code_pays(lowered) ? MDF_LOWERED_PAYS : MDF_LOWERED_BAILED_OUT;
}

/* ------------------------------------------------------------------ release */

static void release_calls(struct mdf_memory *memory, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        for (size_t j = 0; op->code == MDF_LOWERED_CALL && j < MDF_CALL_SCRATCH; j++) {
            mdf_value_clear(memory, &op->of.call->call.scratch[j]);
        }
        for (size_t j = 0; op->code == MDF_LOWERED_LOOP && j < op->of.loop->n_products; j++) {
            mdf_value_clear(memory, &op->of.loop->products[j]->panels);
            mdf_value_clear(memory, &op->of.loop->products[j]->results);
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            release_calls(memory, inner);
        }
    }
}

static void release_ports(struct mdf_memory *memory, struct mdf_lowered_ports *ports)
{
    for (size_t i = 0; i < ports->n_scalar_outputs; i++) {
        mdf_value_clear(memory, &ports->spares[i]);
    }
    for (size_t i = 0; i < ports->n_array_outputs; i++) {
        mdf_value_clear(memory, &ports->array_outputs[i].spare);
    }
    if (ports->marks != NULL) {
        mdf_random_marks_release(ports->marks, memory);
    }
}

void mdf_lowered_release(struct mdf_lowered *lowered)
{
    struct mdf_lowered_kept *kept;
    struct mdf_memory *memory;
    struct mdf_arena arena;

    if (lowered == NULL) {
        return;
    }
    memory = lowered->context->memory;
    mdf_lowered_detach(lowered);
    if (lowered->release_code != NULL) {
        lowered->release_code(lowered);
    }
    release_calls(memory, &lowered->region);
    for (size_t i = 0; lowered->arrays != NULL && i < lowered->n_values; i++) {
        mdf_value_clear(memory, &lowered->arrays[i]);
    }
    if (lowered->ports != NULL) {
        release_ports(memory, lowered->ports);
    }
    for (kept = lowered->kept; kept != NULL; kept = kept->next) {
        mdf_value_clear(memory, &kept->value);
    }
    arena = lowered->arena;
    mdf_arena_release(&arena);
}
