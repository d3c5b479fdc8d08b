/* lower_convolution.c - NEST ops for convolutions: products of weights and of what windows meet, summed. See compose.h.
 *
 * Sizes, and the order of sums, are those that the routine of the row plans (functions/windows/windows_routine.inc): channel by
 * channel, tap by tap, with fused products where the kernel has these. Left to the kernel, or its routine, are rows of padding
 * that it leaves out, sums in several blocks, and what has one window, whose output channels no vector would go along. */
#include "mdf_c/lower/nests/compose.h"

#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"

/* What the plan has in front of the axes. */
enum { BATCHES, GROUPS, CHANNELS, OUTPUTS, RANK, BLOCK, IS_FUSED, SKIPS_ROWS, IS_DOT, FIRST_AXIS };

struct convolution {
    struct composing *composing;
    struct mdf_routine_plan plan;
    struct compose_windows windows;
    uint8_t batch, group, output, channel; /* axes */
    uint8_t along[MDF_INLINE_RANK];
};

static int64_t number(const struct convolution *convolution, size_t i)
{
    return convolution->plan.whole[i];
}

/* Whether windows reach beyond the array along an axis but the last. */
static bool meets_rows_of_padding(const struct compose_windows *windows)
{
    bool does = false;

    for (size_t i = 0; i + 1 < windows->rank; i++) {
        const int64_t *axis = windows->numbers + 6 * i;

        does = does || axis[5] > 0 || (axis[1] - 1) * axis[3] + (axis[2] - 1) * axis[4] >= axis[0];
    }
    return does;
}

static bool is_in_order(const struct convolution *convolution)
{
    const struct mdf_value *weights = convolution->composing->trial->effective[1], *result = convolution->composing->result;
    int64_t n_outputs = number(convolution, GROUPS) * number(convolution, OUTPUTS);
    int64_t n_products = (int64_t)weights->length / n_outputs;

    return n_products > 1 && (int64_t)result->length > number(convolution, BATCHES) * n_outputs &&
           n_products <= number(convolution, BLOCK) && number(convolution, IS_DOT) == 0 &&
           (number(convolution, SKIPS_ROWS) == 0 || !meets_rows_of_padding(&convolution->windows));
}

static void begin_axes(struct convolution *convolution)
{
    struct nest_draft *draft = convolution->composing->draft;

    convolution->batch = draft_axis(draft, number(convolution, BATCHES));
    convolution->group = draft_axis(draft, number(convolution, GROUPS));
    convolution->output = draft_axis(draft, number(convolution, OUTPUTS));
    for (size_t i = 0; i < convolution->windows.rank; i++) {
        convolution->along[i] = draft_axis(draft, mdf_value_shape(convolution->composing->result)[i + 2]);
    }
    convolution->channel = draft_axis(draft, number(convolution, CHANNELS));
}

static uint8_t load_met(struct convolution *convolution)
{
    const uint8_t outer[] = {convolution->batch, convolution->group, convolution->channel};
    const int64_t planes[] = {number(convolution, GROUPS) * number(convolution, CHANNELS), number(convolution, CHANNELS), 1};

    return compose_meet(&convolution->windows, 3, outer, planes, convolution->along);
}

/* An input whose elements lie one behind the other along some axes, the last of which goes fastest. */
static uint8_t load_along(struct convolution *convolution, size_t input, size_t n, const uint8_t *axes)
{
    struct composing *composing = convolution->composing;
    struct mdf_nest_view view = {.id = composing->trial->ids[input], .at = MDF_NEST_NONE};
    int64_t strides[MDF_NEST_MOST_AXES], stride = 1;

    for (size_t i = n; i-- > 0;) {
        strides[i] = stride;
        stride *= axes[i] == DRAFT_NO_AXIS ? 1 : (int64_t)composing->draft->extents[axes[i]];
    }
    return composing->draft->has_failed ? 0 : draft_load_elements(composing->lowering, composing->draft, &view, n, axes, strides);
}

static uint8_t sum_products(struct convolution *convolution)
{
    struct composing *composing = convolution->composing;
    struct compose_windows *windows = &convolution->windows;
    uint8_t axes[MDF_NEST_MOST_AXES] = {convolution->group, convolution->output, convolution->channel};
    uint8_t met = load_met(convolution), weight, product, sum, start = MDF_NEST_NONE;
    size_t n = 3;

    for (size_t i = 0; i < windows->n_taps && n < MDF_NEST_MOST_AXES; i++) {
        axes[n++] = windows->taps[i];
    }
    weight = load_along(convolution, 1, n, axes);
    if (composing->trial->n > 2 && composing->trial->ids[2] != MDF_LOWERED_NONE) {
        start = load_along(convolution, 2, 2, axes);
    }
    product = compose_apply(composing, MDF_ELEMENT(multiply), weight, met);
    if (composing->draft->has_failed) {
        return 0;
    }
    sum = convolution->channel == DRAFT_NO_AXIS
              ? draft_fold(composing->draft, MDF_NEST_SUM, product, windows->n_taps, windows->taps, 1)
              : draft_fold(composing->draft, MDF_NEST_SUM, product, n - 2, axes + 2, 1);
    if (!composing->draft->has_failed) {
        struct mdf_nest_step *step = &composing->draft->steps[sum].step;

        step->is_fused = number(convolution, IS_FUSED) != 0;
        step->has_start = start != MDF_NEST_NONE;
        if (step->has_start) {
            step->in[step->n_in++] = start;
        }
    }
    return sum;
}

static bool plan(struct convolution *convolution)
{
    const struct trial *trial = convolution->composing->trial;
    struct mdf_call form = trial->call;
    struct mdf_error kept = form.context->error;
    bool is_planned;

    form.context->error = (struct mdf_error){0};
    is_planned = trial->source->operator->routine->plan(&form, &convolution->plan);
    form.context->error = kept;
    return is_planned && convolution->composing->result->dtype == trial->effective[0]->dtype &&
           convolution->composing->result->dtype == trial->effective[1]->dtype;
}

mdf_lowered_id compose_convolution(struct composing *composing)
{
    struct convolution convolution = {.composing = composing, .plan = {.arena = &composing->lowering->scratch}};
    int64_t lying[MDF_INLINE_RANK], strides[MDF_INLINE_RANK + 1];
    uint8_t axes[MDF_INLINE_RANK + 1], sum;
    size_t rank = composing->result->rank;

    if (!plan(&convolution)) {
        return MDF_LOWERED_NONE;
    }
    convolution.windows =
        (struct compose_windows){.composing = composing, .rank = rank - 2, .numbers = convolution.plan.whole + FIRST_AXIS};
    if (!is_in_order(&convolution) || !compose_surround(&convolution.windows, 0)) {
        return MDF_LOWERED_NONE;
    }
    begin_axes(&convolution);
    sum = sum_products(&convolution);
    mdf_strides(rank, mdf_value_shape(composing->result), lying);
    axes[0] = convolution.batch;
    axes[1] = convolution.group;
    axes[2] = convolution.output;
    strides[0] = lying[0];
    strides[1] = lying[1] * number(&convolution, OUTPUTS);
    strides[2] = lying[1];
    for (size_t i = 2; i < rank; i++) {
        axes[i + 1] = convolution.along[i - 2];
        strides[i + 1] = lying[i];
    }
    return composing->draft->has_failed
               ? MDF_LOWERED_NONE
               : lowering_add_nest_of(composing->lowering, composing->draft, sum, composing->result, rank + 1, axes, strides);
}
