/* emit_x86_64_nest_registers.c - see emit_x86_64_nest.h. Where the values of a nest lie, and about how long its code takes.
 *
 * A value has one register for all of its life, or none: then it lies in its slot, or is loaded again for each use. Where all
 * find a register, all registers are given away; else some are kept for what is loaded. */
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <string.h>

static const uint8_t pointer_registers[] = {RDX, RSI, RDI, R8, R9, R10, R12, R13, R14, R15};

/* ------------------------------------------------------------------ order */

static void unite(struct mdf_nest_set *set, const struct mdf_nest_set *other)
{
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) {
        set->words[i] |= other->words[i];
    }
}

/* Numbers all nodes in the order of the code, which goes into `order`; notes the pointers that each block uses. */
static uint32_t number_nodes(struct nest_code *code, uint32_t block, uint32_t *order, uint32_t at)
{
    for (size_t i = 0; i < code->blocks[block].n_nodes; i++) {
        uint32_t number = code->blocks[block].nodes[i];
        struct nest_node *node = &code->nodes[number];

        order[at] = number;
        node->at = at++;
        node->first = 2 * node->at + 1;
        node->last = node->first + (node->is_kept ? 1 : 0);
        if (node->code == NODE_LOOP) {
            at = number_nodes(code, node->body, order, at);
            unite(&code->blocks[block].pointers, &code->blocks[node->body].pointers);
        } else if ((node->code == NODE_LOAD || node->code == NODE_STORE) && !node->place.is_cell) {
            mdf_nest_set_add(&code->blocks[block].pointers, node->place.pointer);
            code->pointers[node->place.pointer].weight += code->blocks[block].runs;
        }
    }
    code->blocks[block].end = at;
    return at;
}

/* Until when a value has to be kept for a use: what is made outside of a loop, until the loop's end. */
static uint32_t end_of_use(const struct nest_code *code, const struct nest_node *made, const struct nest_node *user)
{
    uint32_t block = user->block;

    if (block == made->block) {
        return 2 * user->at + (user->code == NODE_LOAD ? 1 : 0);
    }
    while (code->blocks[block].parent != made->block) {
        block = code->blocks[block].parent;
    }
    return 2 * code->blocks[block].end;
}

/* What it costs where the value has no register, for each time that it is read. */
static double spill_cost(const struct nest_node *node)
{
    return node->code == NODE_NUMBER ? 0.25 : node->code == NODE_LOAD ? 0.5 : 0.75;
}

size_t nest_memory_input(const struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    if (machine_is_whole(step->operand_dtype) && node->code == NODE_ELEMENT && step->kind == MDF_NEST_ELEMENT) {
        bool takes_memory = step->code == MDF_LOWERED_ADD || step->code == MDF_LOWERED_SUBTRACT ||
                            step->code == MDF_LOWERED_AND || step->code == MDF_LOWERED_OR ||
                            step->code == MDF_LOWERED_EXCLUSIVE_OR ||
                            (step->code == MDF_LOWERED_MULTIPLY && machine_whole_size(step->operand_dtype) == 4);

        return takes_memory && node->n_in == 2 && !machine_is_short(step->operand_dtype) ? 1 : SIZE_MAX;
    }
    if (!mdf_dtype_is_real(step->operand_dtype)) {
        return SIZE_MAX;
    }
    if (node->code == NODE_TAKE) {
        return node->n_in < 4 && step->fold <= MDF_NEST_PRODUCT && !node->is_in_turn ? node->n_in - 1u : SIZE_MAX;
    }
    if (node->code != NODE_ELEMENT) {
        return SIZE_MAX;
    }
    if (step->kind == MDF_NEST_FOLD) {
        return node->n_in == 2 && step->fold <= MDF_NEST_PRODUCT ? 1 : SIZE_MAX;
    }
    if (step->code == MDF_LOWERED_CAST) {
        return step->operand_dtype == MDF_DTYPE_FLOAT32 && step->dtype == MDF_DTYPE_FLOAT64 ? 0 : SIZE_MAX;
    }
    if (step->code == MDF_LOWERED_ADD && node->n_in == 3) {
        return SIZE_MAX;
    }
    return step->code == MDF_LOWERED_ADD || step->code == MDF_LOWERED_SUBTRACT || step->code == MDF_LOWERED_MULTIPLY ||
                   step->code == MDF_LOWERED_DIVIDE
               ? 1
               : SIZE_MAX;
}

/* Loads that one node of the same block needs, which may read them itself. */
static void find_reads(struct nest_code *code, const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct nest_node *user = &code->nodes[order[i]];

        for (uint32_t k = 0; k < user->n_in; k++) {
            struct nest_node *made = &code->nodes[user->in[k]];

            made->is_read = made->n_uses == 1 && k == nest_memory_input(code, user) && made->code == NODE_LOAD &&
                            made->block == user->block && nest_is_loaded_again(made) && nest_lies_in_memory(code, made);
            made->is_spilled = made->is_read;
        }
    }
}

static void find_lives(struct nest_code *code, const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct nest_node *user = &code->nodes[order[i]];

        for (uint32_t k = 0; k < user->n_in; k++) {
            struct nest_node *made = &code->nodes[user->in[k]];
            uint32_t end = end_of_use(code, made, user);

            made->n_uses++;
            made->last = end > made->last ? end : made->last;
            made->weight += code->blocks[user->block].runs * spill_cost(made);
        }
    }
}

/* ------------------------------------------------------------------ vector registers */

static bool has_value(const struct nest_node *node)
{
    return node->code != NODE_STORE && node->code != NODE_CALL && node->code != NODE_LOOP && node->code != NODE_TAKE &&
           node->code != NODE_COUNT;
}

bool nest_is_loaded_again(const struct nest_node *node)
{
    return node->code == NODE_NUMBER ||
           (node->code == NODE_LOAD && node->n_in == 0 && node->place.kind != PLACE_LANES && !node->is_overwritten);
}

bool nest_is_loaded_together(const struct nest_code *code, const struct nest_node *node)
{
    const struct nest_node *first = node->loaded_with != NO_NODE ? &code->nodes[node->loaded_with] : node;
    size_t i;

    for (i = 0; i < first->n_together && code->nodes[first->together[i]].number != NO_REGISTER; i++) {
    }
    return first->n_together > 0 && i == first->n_together;
}

static void spill(struct nest_node *node)
{
    node->is_spilled = true;
    node->number = NO_REGISTER;
}

/* What a register for the value saves; `shares`: for each node of the code during which it keeps others from it. */
static double worth_of(const struct nest_node *node, bool shares)
{
    return shares ? node->weight / (node->last - node->first + 1) : node->weight;
}

/* A free register for a value, or that of one which matters less, or none. */
static void give_register(struct nest_code *code, uint32_t number, bool shares, uint32_t *holders)
{
    struct nest_node *node = &code->nodes[number];
    double worth = 0, lowest = worth_of(node, shares);
    size_t least = code->n_registers;

    for (size_t i = 0; i < code->n_registers; i++) {
        if (holders[i] != NO_NODE && code->nodes[holders[i]].last < node->first) {
            holders[i] = NO_NODE;
        }
        if (holders[i] == NO_NODE) {
            least = i;
            break;
        }
        worth = worth_of(&code->nodes[holders[i]], shares);
        if (worth < lowest) {
            lowest = worth;
            least = i;
        }
    }
    if (least == code->n_registers) {
        spill(node);
        return;
    }
    if (holders[least] != NO_NODE) {
        spill(&code->nodes[holders[least]]);
    }
    holders[least] = number;
    node->number = (uint8_t)least;
}

static bool give_registers(struct nest_code *code, const uint32_t *order, uint32_t n, bool shares)
{
    uint32_t holders[16];
    bool all = true;

    memset(holders, 0xFF, sizeof holders);
    for (uint32_t i = 0; i < n; i++) {
        struct nest_node *node = &code->nodes[order[i]];

        if (node->code == NODE_CALL) {
            for (uint32_t k = 0; k < code->n_registers; k++) {
                if (holders[k] != NO_NODE && code->nodes[holders[k]].last > 2 * node->at) {
                    spill(&code->nodes[holders[k]]);
                }
                holders[k] = NO_NODE;
            }
        } else if (has_value(node) && node->last > node->first && !node->is_read) {
            node->is_spilled = false;
            give_register(code, order[i], shares, holders);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        all = all && (!code->nodes[order[i]].is_spilled || code->nodes[order[i]].is_read);
    }
    return all;
}

/* Whether a step is emitted without the second and third scratch register. */
static bool is_simple(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];

    if (nest_only_places(code->emission->lowered, code->nest, i)) {
        return true;
    }
    if (!mdf_dtype_is_real(step->dtype) ||
        (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && !nest_has_outer_index(code, step))) {
        return false;
    }
    if (step->kind == MDF_NEST_ELEMENT) {
        return mdf_dtype_is_real(step->operand_dtype) && (step->code <= MDF_LOWERED_CEILING || step->code == MDF_LOWERED_CAST);
    }
    return step->kind != MDF_NEST_FOLD || step->fold <= MDF_NEST_PRODUCT;
}

static bool has_wide_nodes(const struct nest_code *code)
{
    size_t i;

    for (i = 0; i < code->n_nodes && code->nodes[i].n_in <= 2; i++) {
    }
    return i < code->n_nodes;
}

/* How many registers there are for values; which one joins take. */
static unsigned count_registers(struct nest_code *code)
{
    bool joins = false;

    code->join_register = THIRD_SCRATCH_REAL;
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        if (!code->steps[i].call.is_called && !is_simple(code, i)) {
            return N_REAL_REGISTERS;
        }
    }
    for (size_t i = 0; i < code->n_nodes; i++) {
        const struct nest_node *node = &code->nodes[i];

        joins = joins || node->code == NODE_JOIN ||
                (node->code == NODE_TAKE && (node->active < code->shape.lanes || node->active >= MASKED));
    }
    code->join_register = SECOND_SCRATCH_REAL;
    return joins ? SECOND_SCRATCH_REAL : SCRATCH_REAL;
}

static void give_slots(struct nest_code *code)
{
    for (size_t i = 0; i < code->n_nodes; i++) {
        struct nest_node *node = &code->nodes[i];

        if ((node->is_spilled && !nest_is_loaded_again(node)) || node->is_in_turn) {
            node->slot = code->n_slots++;
        }
    }
}

/* ------------------------------------------------------------------ general registers */

static bool moves(const struct nest_code *code, const struct nest_block *block, size_t pointer)
{
    return mdf_nest_set_has(&block->pointers, pointer) && code->pointers[pointer].strides[block->axis] != 0;
}

static void give_pointers(struct nest_code *code)
{
    double counters[MDF_NEST_MOST_AXES + 1] = {0};

    for (size_t i = 1; i < code->n_blocks; i++) {
        counters[code->blocks[i].depth] += code->blocks[i].runs;
        for (size_t k = 0; k < code->n_pointers; k++) {
            code->pointers[k].weight += moves(code, &code->blocks[i], k) ? code->blocks[i].runs : 0;
        }
    }
    memset(code->counters, NO_REGISTER, sizeof code->counters);
    for (size_t n = 0; n < sizeof pointer_registers; n++) {
        struct nest_pointer *pointer = NULL;
        size_t depth = 0;

        for (size_t i = 1; i <= MDF_NEST_MOST_AXES; i++) {
            depth = code->counters[i] == NO_REGISTER && counters[i] > counters[depth] ? i : depth;
        }
        for (size_t i = 0; i < code->n_pointers; i++) {
            if (code->pointers[i].number == NO_REGISTER && !nest_is_fixed(&code->pointers[i]) &&
                (pointer == NULL || code->pointers[i].weight > pointer->weight)) {
                pointer = &code->pointers[i];
            }
        }
        if (pointer != NULL && pointer->weight >= counters[depth]) {
            pointer->number = pointer_registers[n];
        } else if (depth > 0) {
            code->counters[depth] = pointer_registers[n];
        }
    }
}

/* ------------------------------------------------------------------ cost */

static bool is_slow(const struct mdf_nest_step *step)
{
    return step->code == MDF_LOWERED_DIVIDE || step->code == MDF_LOWERED_DIVIDE_NONZERO || step->code == MDF_LOWERED_SQUARE_ROOT;
}

/* Of an element from each of several lanes that are apart. */
static double lanes_cost(const struct nest_code *code, const struct nest_node *node)
{
    if (nest_is_loaded_together(code, node)) {
        return node->n_in > 0 ? 4 * node->active : nest_vector_size(code, node->dtype) == 32 ? 4 : 3;
    }
    return 2 * node->active * (node->n_in > 0 ? 3 : 1);
}

/* In about half of a cycle each. */
static double node_cost(const struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    if (has_value(node) && node->last == node->first && !node->is_spilled) { /* nothing reads it: it is not emitted */
        return 0;
    }
    switch ((enum node_code)node->code) {
    case NODE_LOAD:
        if (node->is_read) {
            return 0;
        }
        return node->place.kind == PLACE_LANES ? lanes_cost(code, node) : node->n_in > 0 ? 6 : 1;
    case NODE_STORE:
        return node->place.kind == PLACE_LANES ? 3 * node->active : 2;
    case NODE_ELEMENT:
    case NODE_TAKE:
        if (step->kind == MDF_NEST_ELEMENT) {
            return is_slow(step) ? 10 : 1;
        }
        return node->is_in_turn ? 2 + node->active : nest_finds_index(step) ? 7 : step->fold >= MDF_NEST_MAXIMUM ? 3 : 1;
    case NODE_JOIN:
        return 12;
    case NODE_CALL:
        return 60 + 3 * (double)code->steps[node->step].call.n;
    case NODE_LOOP:
        return 6;
    case NODE_NUMBER:
    case NODE_TOTAL:
    case NODE_COUNT:
        break;
    }
    return 1;
}

/* Of bringing an operand to a register, or of reading it in memory. */
static double read_cost(const struct nest_code *code, const struct nest_node *node, size_t k)
{
    const struct nest_node *operand = &code->nodes[node->in[k]];

    return !operand->is_spilled ? 0 : k == nest_memory_input(code, node) && nest_lies_in_memory(code, operand) ? 0.4 : 1;
}

/* Of one run of a block: instructions, or what one total has to wait for, whichever takes longer. */
static double block_cost(const struct nest_code *code, uint32_t block)
{
    double sum = block == 0 ? 0 : 3, longest = 0;

    for (size_t i = 0; i < code->blocks[block].n_nodes; i++) {
        const struct nest_node *node = &code->nodes[code->blocks[block].nodes[i]];
        double chain = 0;

        sum += node_cost(code, node) + (node->is_spilled && !nest_is_loaded_again(node) ? 2 : 0);
        for (size_t k = 0; k < node->n_in; k++) {
            sum += read_cost(code, node, k);
        }
        if (node->code != NODE_TAKE || code->nodes[node->in[0]].block == block) {
            continue;
        }
        for (size_t j = 0; j < code->blocks[block].n_nodes; j++) {
            const struct nest_node *other = &code->nodes[code->blocks[block].nodes[j]];

            chain += other->code == NODE_TAKE && other->in[0] == node->in[0] ? (other->is_in_turn ? 8 * other->active : 8) : 0;
        }
        longest = chain > longest ? chain : longest;
    }
    for (size_t k = 0; block > 0 && k < code->n_pointers; k++) {
        sum += moves(code, &code->blocks[block], k) ? 0.7 : 0;
    }
    return sum > longest ? sum : longest;
}

static double cost_of(const struct nest_code *code)
{
    double sum = 0;

    for (uint32_t block = 0; block < code->n_blocks; block++) {
        sum += block_cost(code, block) * code->blocks[block].runs;
    }
    return sum;
}

/* Where not all values find a register, there are two ways to choose: what keeps a register for long may take it from many
 * others, or be read so often that it is worth it. */
static void choose_values(struct nest_code *code, const uint32_t *order, uint32_t n)
{
    code->n_registers -= has_wide_nodes(code) ? 4 : 2;
    give_registers(code, order, n, false);
    code->cost = cost_of(code);
    give_registers(code, order, n, true);
    if (code->cost < cost_of(code)) {
        give_registers(code, order, n, false);
    }
}

bool nest_find_places(struct nest_code *code)
{
    uint32_t *order = mdf_memory_allocate_zeroed(code->memory, code->n_nodes, sizeof *order), n;

    if (order == NULL) {
        return false;
    }
    n = number_nodes(code, 0, order, 0);
    find_lives(code, order, n);
    find_reads(code, order, n);
    code->n_registers = count_registers(code);
    code->spills = !give_registers(code, order, n, false);
    if (code->spills) {
        choose_values(code, order, n);
    }
    give_slots(code);
    give_pointers(code);
    code->cost = cost_of(code);
    mdf_memory_release(code->memory, order);
    return true;
}
