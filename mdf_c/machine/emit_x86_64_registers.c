/* emit_x86_64_registers.c - see emit_x86_64.h. Gives groups of values registers: those first that the innermost loops need most.
 * A group takes a register in which nothing lives at the same time; what finds none stays in its leader's cell. */
#include "mdf_c/machine/emit_x86_64.h"

#include <stdlib.h>
#include <string.h>

/* A C function keeps the second ones. */
static const uint8_t changed_registers[] = {RSI, RDI, R8, R9, R10, R11}, kept_registers[] = {R12, R13, R14, R15};

struct candidate {
    float density;
    uint8_t depth;
    uint32_t leader;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->depth != right->depth) {
        return left->depth > right->depth ? -1 : 1;
    }
    if (left->density < right->density || left->density > right->density) {
        return left->density > right->density ? -1 : 1;
    }
    return left->leader < right->leader ? -1 : 1;
}

/* The place of the first interval that ends at `start` or later. */
static size_t find_interval(const struct register_plan *plan, uint32_t start)
{
    size_t low = 0, high = plan->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (plan->intervals[middle].end < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* 1: taken, 0: not free, -1: no memory. */
static int take(struct emission *emission, struct register_plan *plan, const struct life *life, uint32_t leader)
{
    size_t at = find_interval(plan, life->group_start);
    struct interval *grown;

    if (at < plan->n && plan->intervals[at].start <= life->group_end) {
        return 0;
    }
    if (plan->n == plan->capacity) {
        grown = mdf_memory_grow(emission->memory, plan->intervals, &plan->capacity, plan->n + 1, sizeof *grown);
        if (grown == NULL) {
            return -1;
        }
        plan->intervals = grown;
    }
    memmove(plan->intervals + at + 1, plan->intervals + at, (plan->n - at) * sizeof *plan->intervals);
    plan->intervals[at] = (struct interval){life->group_start, life->group_end, leader};
    plan->n++;
    return 1;
}

static bool take_any(struct emission *emission, struct register_plan *plans, const uint8_t *numbers, size_t n, uint32_t leader)
{
    struct life *life = &emission->lives[leader];

    for (size_t i = 0; i < n && life->number == NO_REGISTER; i++) {
        uint8_t number = numbers != NULL ? numbers[i] : (uint8_t)i;
        int taken = take(emission, &plans[number], life, leader);

        if (taken < 0) {
            return false;
        }
        life->number = taken > 0 ? number : NO_REGISTER;
    }
    return true;
}

/* How often C functions are called during a life, about. */
static double calls_during(const struct emission *emission, const double *calls, const struct life *life)
{
    uint32_t first = (life->group_start + N_MOMENTS - 1) / N_MOMENTS, last = life->group_end / N_MOMENTS;
    uint32_t end = life->group_end < LATE ? 0 : (life->group_end - LATE) / N_MOMENTS + 1;

    end -= end == last + 1 && emission->steps[last].clobbers_last; /* it ends before that */
    return end > first ? calls[end] - calls[first] : 0;
}

static bool place(struct emission *emission, const double *calls, uint32_t leader)
{
    struct life *life = &emission->lives[leader];
    double n_calls = calls_during(emission, calls, life);
    bool is_worth_it = n_calls <= 0 || (double)life->weight > 2 * n_calls, done = true;

    if (life->kind == LIFE_GENERAL && n_calls > 0) {
        done = take_any(emission, emission->general, kept_registers, sizeof kept_registers, leader);
    }
    if (life->kind == LIFE_GENERAL && is_worth_it) {
        bool taken = life->number != NO_REGISTER;

        done = done && take_any(emission, emission->general, changed_registers, sizeof changed_registers, leader);
        life->keeps_cell = !taken && n_calls > 0;
        done = done && take_any(emission, emission->general, kept_registers, sizeof kept_registers, leader);
    } else if (life->kind == LIFE_REAL && is_worth_it) {
        done = take_any(emission, emission->real, NULL, N_REAL_REGISTERS, leader);
        life->keeps_cell = n_calls > 0;
    }
    return done;
}

/* Sums, up to each step, of how often the steps before it call C functions. */
static double *count_calls(struct emission *emission)
{
    double *calls = mdf_memory_allocate_zeroed(emission->memory, emission->n_steps + 1, sizeof *calls);

    for (size_t i = 0; calls != NULL && i < emission->n_steps; i++) {
        const struct step *step = &emission->steps[i];
        size_t outer = step->depth - (size_t)step->clobbers_last, depth = outer < 8 ? outer : 8;

        calls[i + 1] = calls[i] + (step->clobbers ? (double)(UINT64_C(1) << 3 * depth) : 0);
    }
    return calls;
}

static bool is_candidate(const struct life *life, uint32_t id)
{
    /* Inputs can be read from their cells as well as loaded. */
    return life->group == id && life->kind != LIFE_NONE && life->group_start != UINT32_MAX && !life->is_deferred &&
           (life->n_uses > 0 || life->group_end > life->group_start) && !(life->is_input && life->depth == 0);
}

bool emission_allocate(struct emission *emission)
{
    struct candidate *candidates = mdf_memory_allocate_zeroed(emission->memory, emission->n_lives + 1, sizeof *candidates);
    double *calls = count_calls(emission);
    bool done = candidates != NULL && calls != NULL;
    size_t n = 0;

    for (size_t i = 0; done && i < emission->n_lives; i++) {
        const struct life *life = &emission->lives[i];

        if (is_candidate(life, (uint32_t)i)) {
            candidates[n++] = (struct candidate){life->weight / (float)(life->group_end - life->group_start + N_MOMENTS),
                                                 life->depth, (uint32_t)i};
        }
    }
    if (done) {
        qsort(candidates, n, sizeof *candidates, compare_candidates);
    }
    for (size_t i = 0; done && i < n; i++) {
        done = place(emission, calls, candidates[i].leader);
    }
    mdf_memory_release(emission->memory, candidates);
    mdf_memory_release(emission->memory, calls);
    return done;
}

/* Loads what a register holds across the step that is being emitted, if the step has used it for something else. */
static void restore_register(struct emission *emission, const struct register_plan *plan)
{
    uint32_t at = emission->at * N_MOMENTS;
    size_t i = find_interval(plan, at + LATE);
    bool is_touched = i < plan->n && (emission->assembler->touched >> emission->lives[plan->intervals[i].leader].number & 1) != 0;

    if (is_touched && plan->intervals[i].start <= at) {
        uint32_t leader = plan->intervals[i].leader;
        const struct life *life = &emission->lives[leader];
        bool is_float = life->kind == LIFE_REAL && life->size == 4;

        if (life->kind == LIFE_REAL) {
            assemble_vector(emission->assembler, is_float ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, life->number, 0,
                            emission_cell(emission, leader));
        } else {
            assemble_load(emission->assembler, life->size, life->number, emission_cell(emission, leader));
        }
    }
}

void emission_restore(struct emission *emission)
{
    for (size_t i = 0; i < sizeof changed_registers; i++) {
        restore_register(emission, &emission->general[changed_registers[i]]);
    }
    for (size_t i = 0; i < N_REAL_REGISTERS; i++) {
        restore_register(emission, &emission->real[i]);
    }
}
