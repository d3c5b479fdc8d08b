/* recurrent.c - recurrent networks: RNN, GRU, LSTM, LSTMOfRoundedStates.
 *
 * Comes in: X [steps, batch, n], weights W [directions, gates, n], R [directions, gates, hidden], and optionally biases, lengths,
 * initial states, peepholes. Goes out: the hidden state of each step Y [steps, directions, batch, hidden], 0 after a member's
 * end, and the last states. Layout 1 has the batch first. The products with W are done for all steps at once. States are
 * rounded for what they are multiplied with where a quantised network is meant: to what DynamicQuantizeLinear and
 * DequantizeLinear make of those of the whole batch. Source: the ONNX operators, all versions; DynamicQuantizeLSTM of ONNX
 * Runtime. */
#include "functions/recurrent/recurrent.h"

#include "functions/kernel/workspace.h"
#include "functions/products/gemm/gemm.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "functions/elements/element_helpers.h"
#include "functions/quantised/rounded_routine.inc"

struct recurrent_settings {
    struct mdf_strings activations;
    struct mdf_floats alphas, betas;
    double clip;
    const char *direction;
    int64_t hidden_size, layout, linear_before_reset, input_forget;
};

static const struct mdf_setting recurrent_table[] = {
    {"activations", MDF_SETTING_STRINGS, offsetof(struct recurrent_settings, activations)},
    {"activation_alpha", MDF_SETTING_FLOATS, offsetof(struct recurrent_settings, alphas)},
    {"activation_beta", MDF_SETTING_FLOATS, offsetof(struct recurrent_settings, betas)},
    {"clip", MDF_SETTING_FLOAT, offsetof(struct recurrent_settings, clip)},
    {"direction", MDF_SETTING_STRING, offsetof(struct recurrent_settings, direction)},
    {"hidden_size", MDF_SETTING_INT, offsetof(struct recurrent_settings, hidden_size)},
    {"layout", MDF_SETTING_INT, offsetof(struct recurrent_settings, layout)},
    {"linear_before_reset", MDF_SETTING_INT, offsetof(struct recurrent_settings, linear_before_reset)},
    {"input_forget", MDF_SETTING_INT, offsetof(struct recurrent_settings, input_forget)},
    {NULL, MDF_SETTING_INT, 0}};

/* Those of elements.def, with their parameters' defaults. */
static const struct {
    const char *name;
    struct activation activation;
} known_activations[] = {
#define ACTIVATION(name, n_parameters, a, b, id) \
    {name, {MDF_ELEMENT(id), &mdf_element_operations[MDF_ELEMENT_##id], {.alpha = a, .beta = b}, n_parameters}},
#include "functions/elements/elements.def"
};

enum cell_kind { CELL_PLAIN, CELL_GRU, CELL_LSTM };

enum { MAX_DIRECTIONS = 2, MAX_ACTIVATIONS = 3, MAX_GATES = 4, N_ARRAYS = 24, MEMBERS_PER_LOOK = 1 << 10 };

/* What all directions share. */
struct network {
    const struct mdf_context *context;
    enum cell_kind kind;
    size_t n_gates, n_activations, n_directions;
    size_t n_steps, n_batch, n_input, n_hidden;
    bool batch_first, linear_before_reset, input_forget, first_is_reverse, rounds_states;
    double clip; /* infinity: none */
    struct activation activations[MAX_DIRECTIONS * MAX_ACTIVATIONS];
    const int64_t *lengths; /* of the members of the batch; NULL: all steps */
    const char *x, *weights, *recurrence, *biases, *first_hidden, *first_cells, *peepholes; /* the last four may be NULL */
    char *y, *last_hidden, *last_cells;                                                     /* NULL: not wanted */
    char *inputs;                                                                           /* X W^T + biases, all steps */
};

/* One direction under way. */
struct pass {
    const struct activation *activations;
    const void *biases, *peepholes;
    void *hidden, *cells;                              /* states, [batch, hidden] */
    void *products;                                    /* H R^T */
    void *reset, *reset_products;                      /* of a GRU: r H, and its product */
    void *rounded;                                     /* states as bytes have them */
    struct mdf_value *kept, *kept_hidden, *kept_input; /* R (of a GRU its last gate may be apart) and W, packed */
    size_t direction;
    bool is_reverse;
};

#define ELEMENT float
#define DTYPE MDF_DTYPE_FLOAT32
#define NAME(x) x##_float32
#include "functions/recurrent/recurrent_steps.inc"
#define ELEMENT double
#define DTYPE MDF_DTYPE_FLOAT64
#define NAME(x) x##_float64
#include "functions/recurrent/recurrent_steps.inc"

typedef void (*step_function)(const struct network *network, const struct pass *pass, size_t member, const void *input);

/* ------------------------------------------------------------------ attributes */

static bool find_activation(struct mdf_call *call, const char *name, struct activation *activation)
{
    for (size_t i = 0; i < sizeof known_activations / sizeof *known_activations; i++) {
        if (strcasecmp(name, known_activations[i].name) == 0) {
            *activation = known_activations[i].activation;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "the activation '%s' is not known", name);
}

/* Parameters are handed out, in order, to the activations that have them. */
static bool read_activations(struct mdf_call *call, struct network *network)
{
    static const char *const gate = "Sigmoid", *const other = "Tanh"; /* where none is named: of the first, of the others */
    const struct recurrent_settings *settings = call->settings;
    size_t n = network->n_directions * network->n_activations, n_alphas = 0, n_betas = 0;
    bool given = settings->activations.items != NULL && settings->activations.n > 0;

    if (given && settings->activations.n < n) {
        return mdf_call_error(call, MDF_VALUE, "activations has %zu names, not %zu", settings->activations.n, n);
    }
    for (size_t i = 0; i < n; i++) {
        struct activation *activation = &network->activations[i];
        const char *standard = network->kind != CELL_PLAIN && i % network->n_activations == 0 ? gate : other;

        if (!find_activation(call, given ? settings->activations.items[i] : standard, activation)) {
            return false;
        }
        if (activation->n_parameters > 0 && settings->alphas.items != NULL && n_alphas < settings->alphas.n) {
            activation->settings.alpha = settings->alphas.items[n_alphas++];
        }
        if (activation->n_parameters > 1 && settings->betas.items != NULL && n_betas < settings->betas.n) {
            activation->settings.beta = settings->betas.items[n_betas++];
        }
    }
    return true;
}

static bool read_settings(struct mdf_call *call, enum cell_kind kind, struct network *network)
{
    static const size_t n_gates[] = {1, 3, 4}, n_activations[] = {1, 2, 3};
    const struct recurrent_settings *settings = call->settings;
    const char *direction = settings->direction == NULL ? "forward" : settings->direction;

    memset(network, 0, sizeof *network);
    network->context = call->context;
    network->kind = kind;
    network->n_gates = n_gates[kind];
    network->n_activations = n_activations[kind];
    network->n_directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    network->first_is_reverse = strcmp(direction, "reverse") == 0;
    /* "foward" is the default of GRU 1, as the standard spells it. */
    if (network->n_directions == 1 && !network->first_is_reverse && strcmp(direction, "forward") != 0 &&
        strcmp(direction, "foward") != 0) {
        return mdf_call_error(call, MDF_VALUE, "direction is '%s', not forward, reverse or bidirectional", direction);
    }
    network->batch_first = settings->layout == 1;
    network->linear_before_reset = kind == CELL_GRU && mdf_is_set(settings->linear_before_reset);
    network->input_forget = kind == CELL_LSTM && mdf_is_set(settings->input_forget);
    network->clip = isnan(settings->clip) || settings->clip <= 0 ? INFINITY : settings->clip;
    return read_activations(call, network);
}

/* ------------------------------------------------------------------ inputs and outputs */

static bool read_sizes(struct mdf_call *call, struct network *network)
{
    const struct recurrent_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0), *weights = mdf_call_tensor(call, 1),
                           *recurrence = mdf_call_tensor(call, 2);

    if (x == NULL || weights == NULL || recurrence == NULL) {
        return false;
    }
    if (x->rank != 3 || recurrence->rank != 3) {
        return mdf_call_error(call, MDF_SHAPE, "X has rank %u and R rank %u, not 3", x->rank, recurrence->rank);
    }
    network->n_steps = (size_t)mdf_value_shape(x)[network->batch_first ? 1 : 0];
    network->n_batch = (size_t)mdf_value_shape(x)[network->batch_first ? 0 : 1];
    network->n_input = (size_t)mdf_value_shape(x)[2];
    network->n_hidden = (size_t)mdf_value_shape(recurrence)[2];
    if (settings->hidden_size != MDF_NOT_GIVEN && settings->hidden_size != (int64_t)network->n_hidden) {
        return mdf_call_error(call, MDF_SHAPE, "hidden_size is %lld, but R is for %zu", (long long)settings->hidden_size,
                              network->n_hidden);
    }
    /* Keeps every product of sizes below in range. */
    if (network->n_hidden > INT32_MAX || network->n_batch > INT32_MAX || network->n_steps > INT32_MAX) {
        return mdf_call_error(call, MDF_LIMIT, "%zu steps of %zu members with %zu hidden units are too many", network->n_steps,
                              network->n_batch, network->n_hidden);
    }
    return true;
}

static bool check_input(struct mdf_call *call, size_t i, const char *name, int64_t first, int64_t second, int64_t third)
{
    const int64_t shape[3] = {first, second, third};

    return mdf_call_input(call, i) == NULL ||
           (mdf_call_tensor(call, i) != NULL && mdf_workspace_check_shape(call, name, call->inputs[i], third < 0 ? 2 : 3, shape));
}

static bool check_inputs(struct mdf_call *call, const struct network *network)
{
    int64_t directions = (int64_t)network->n_directions, hidden = (int64_t)network->n_hidden, batch = (int64_t)network->n_batch;
    int64_t gates = (int64_t)network->n_gates * hidden;
    int64_t first = network->batch_first ? batch : directions, second = network->batch_first ? directions : batch;

    return check_input(call, 1, "W", directions, gates, (int64_t)network->n_input) &&
           check_input(call, 2, "R", directions, gates, hidden) && check_input(call, 3, "B", directions, 2 * gates, -1) &&
           check_input(call, 5, "initial_h", first, second, hidden) &&
           (network->kind != CELL_LSTM ||
            (check_input(call, 6, "initial_c", first, second, hidden) && check_input(call, 7, "P", directions, 3 * hidden, -1)));
}

static bool read_lengths(struct mdf_call *call, struct network *network)
{
    size_t n;

    if (mdf_call_input(call, 4) == NULL) {
        return true;
    }
    network->lengths = mdf_call_integers(call, 4, 1, &n);
    if (network->lengths == NULL) {
        return false;
    }
    if (n != network->n_batch) {
        return mdf_call_error(call, MDF_SHAPE, "sequence_lens has %zu numbers for a batch of %zu", n, network->n_batch);
    }
    for (size_t i = 0; i < n; i++) {
        if (network->lengths[i] < 0 || network->lengths[i] > (int64_t)network->n_steps) {
            return mdf_call_error(call, MDF_VALUE, "sequence_lens[%zu] is %lld, but there are %zu steps", i,
                                  (long long)network->lengths[i], network->n_steps);
        }
    }
    return true;
}

/* An input that may be omitted; false with the error set. */
static bool read_optional(struct mdf_workspace *workspace, size_t i, const char **elements)
{
    *elements = mdf_call_input(workspace->call, i) == NULL ? NULL : mdf_workspace_input(workspace, i);
    return *elements != NULL || mdf_call_input(workspace->call, i) == NULL;
}

static bool read_inputs(struct mdf_workspace *workspace, struct network *network)
{
    network->x = mdf_workspace_input(workspace, 0);
    network->weights = mdf_workspace_input(workspace, 1);
    network->recurrence = mdf_workspace_input(workspace, 2);
    return network->x != NULL && network->weights != NULL && network->recurrence != NULL &&
           read_optional(workspace, 3, &network->biases) && read_optional(workspace, 5, &network->first_hidden) &&
           (network->kind != CELL_LSTM ||
            (read_optional(workspace, 6, &network->first_cells) && read_optional(workspace, 7, &network->peepholes)));
}

static bool make_outputs(struct mdf_workspace *workspace, struct network *network)
{
    int64_t steps = (int64_t)network->n_steps, directions = (int64_t)network->n_directions, batch = (int64_t)network->n_batch,
            hidden = (int64_t)network->n_hidden;
    const int64_t steps_first[] = {steps, directions, batch, hidden}, batch_first[] = {batch, steps, directions, hidden},
                  last_batch_first[] = {batch, directions, hidden};
    mdf_dtype dtype = (mdf_dtype)workspace->call->inputs[0]->dtype;
    char **targets[] = {&network->y, &network->last_hidden, &network->last_cells};

    for (size_t i = 0; i < (network->kind == CELL_LSTM ? 3 : 2); i++) {
        const int64_t *shape = i == 0 ? (network->batch_first ? batch_first : steps_first)
                                      : (network->batch_first ? last_batch_first : steps_first + 1);

        if (mdf_call_result(workspace->call, i) != NULL) {
            *targets[i] = mdf_workspace_output(workspace, i, dtype, i == 0 ? 4 : 3, shape);
            if (*targets[i] == NULL) {
                return false;
            }
        }
    }
    return network->y == NULL || mdf_memory_zero(workspace->call->context->memory, network->y,
                                                 mdf_call_result(workspace->call, 0)->length * mdf_dtype_size(workspace->dtype));
}

/* ------------------------------------------------------------------ steps */

static const char *direction_part(const char *elements, size_t direction, size_t n_bytes)
{
    return elements == NULL ? NULL : elements + direction * n_bytes;
}

/* Where the state of a member lies in an array of initial or last states. */
static size_t state_offset(const struct network *network, size_t direction, size_t member)
{
    return (network->batch_first ? member * network->n_directions + direction : direction * network->n_batch + member) *
           network->n_hidden;
}

/* Copies the states of all members from an array of initial states (NULL: zeros). */
static void load_states(const struct network *network, size_t direction, size_t size_bytes, const char *initial, char *states)
{
    size_t n_bytes = network->n_hidden * size_bytes;

    for (size_t member = 0; member < network->n_batch && !mdf_should_stop_at(network->context, member, MEMBERS_PER_LOOK);
         member++) {
        if (initial == NULL) {
            memset(states + member * n_bytes, 0, n_bytes);
        } else {
            memcpy(states + member * n_bytes, initial + state_offset(network, direction, member) * size_bytes, n_bytes);
        }
    }
}

static void store_states(const struct network *network, size_t direction, size_t size_bytes, const char *states, char *last)
{
    size_t n_bytes = network->n_hidden * size_bytes;

    for (size_t member = 0; last != NULL && member < network->n_batch; member++) {
        memcpy(last + state_offset(network, direction, member) * size_bytes, states + member * n_bytes, n_bytes);
    }
}

/* A step of all members of the batch. */
struct stepping {
    const struct network *network;
    const struct pass *pass;
    size_t i, size_bytes;
    step_function step;
    bool keeps;
};

/* Rough time of a gate of one unit, to judge what is worth a thread. */
static const double gate_ns = 0.8;

static void step_range(void *context, size_t first, size_t last)
{
    const struct stepping *stepping = context;
    const struct network *network = stepping->network;
    const struct pass *pass = stepping->pass;
    size_t n_bytes = network->n_hidden * stepping->size_bytes, i = stepping->i;

    for (size_t member = first; member < last; member++) {
        size_t length = network->lengths != NULL ? (size_t)network->lengths[member] : network->n_steps, at, row, y_row;

        if (i >= length) {
            continue;
        }
        at = pass->is_reverse ? length - 1 - i : i;
        row = network->batch_first ? member * network->n_steps + at : at * network->n_batch + member;
        stepping->step(network, pass, member, network->inputs + row * network->n_gates * n_bytes);
        if (stepping->keeps && network->y != NULL) {
            y_row = network->batch_first ? (member * network->n_steps + at) * network->n_directions + pass->direction
                                         : (at * network->n_directions + pass->direction) * network->n_batch + member;
            memcpy(network->y + y_row * n_bytes, (const char *)pass->hidden + member * n_bytes, n_bytes);
        }
    }
}

/* Applies `step` to each member that has a step number `i`; afterwards, with `keeps`, copies its state to Y. */
static void step_members(const struct network *network, const struct pass *pass, size_t i, size_t size_bytes, step_function step,
                         bool keeps)
{
    struct stepping stepping = {network, pass, i, size_bytes, step, keeps};

    mdf_parallel_for(network->context, network->n_batch, gate_ns * (double)(network->n_gates * network->n_hidden), step_range,
                     &stepping);
}

/* A product of rows with transposed weights: target (+)= rows weights^T. */
static struct mdf_product transposed_product(mdf_dtype dtype, size_t m, size_t n, size_t k, const void *rows, const void *weights,
                                             void *target)
{
    struct mdf_product product = {.dtype = dtype, .m = m, .n = n, .k = k, .a = rows, .b = weights, .c = target, .alpha = 1};

    product.a_row = product.b_column = (int64_t)k;
    product.a_column = product.b_row = 1;
    product.c_row = (int64_t)n;
    return product;
}

/* Numbers as 256 levels have them. */
static void round_states(const float *states, size_t n, float *rounded)
{
    float lowest = 0, largest = 0, scale, zero;

    for (size_t i = 0; i < n; i++) {
        lowest = fminf(lowest, states[i]);
        largest = fmaxf(largest, states[i]);
    }
    scale = (largest == lowest ? 1 : largest - lowest) / 255;
    zero = (float)mdf_quantize_whole(-lowest / scale, 0, 0, 255);
    for (size_t i = 0; i < n; i++) {
        rounded[i] = ((float)mdf_quantize_whole(states[i] / scale, zero, 0, 255) - zero) * scale;
    }
}

static bool run_steps(struct mdf_workspace *workspace, const struct network *network, const struct pass *pass,
                      struct mdf_value *scratch)
{
    bool is_float32 = workspace->dtype == MDF_DTYPE_FLOAT32, is_constant = mdf_call_is_constant(workspace->call, 2),
         resets_first = network->kind == CELL_GRU && !network->linear_before_reset;
    size_t n = network->n_hidden, n_products = (resets_first ? 2 : network->n_gates) * n,
           size_bytes = mdf_dtype_size(workspace->dtype);
    const char *weights = direction_part(network->recurrence, pass->direction, network->n_gates * n * n * size_bytes);
    struct mdf_product product =
        transposed_product(workspace->dtype, network->n_batch, n_products, n,
                           network->rounds_states ? pass->rounded : pass->hidden, weights, pass->products);
    const char *hidden_weights = weights + (resets_first ? 2 * n * n * size_bytes : 0);
    struct mdf_product reset_product =
        transposed_product(workspace->dtype, network->n_batch, n, n, pass->reset, hidden_weights, pass->reset_products);
    static const step_function float32_steps[] = {step_plain_float32, step_gru_float32, step_lstm_float32},
                               float64_steps[] = {step_plain_float64, step_gru_float64, step_lstm_float64};

    if (!mdf_product_keep_b(workspace->call, pass->kept, is_constant, &product) ||
        (resets_first && !mdf_product_keep_b(workspace->call, pass->kept_hidden, is_constant, &reset_product))) {
        return false;
    }
    for (size_t i = 0; i < network->n_steps; i++) {
        if (network->rounds_states) {
            round_states(pass->hidden, network->n_batch * n, pass->rounded);
        }
        if (mdf_should_stop(workspace->call->context) || !mdf_multiply(workspace->call, scratch, &product)) {
            return false;
        }
        if (network->kind == CELL_GRU) {
            step_members(network, pass, i, size_bytes, is_float32 ? reset_gru_float32 : reset_gru_float64, false);
        }
        if (resets_first && !mdf_multiply(workspace->call, scratch, &reset_product)) {
            return false;
        }
        step_members(network, pass, i, size_bytes, (is_float32 ? float32_steps : float64_steps)[network->kind], true);
    }
    return true;
}

/* X W^T + biases, for all steps. */
static bool multiply_inputs(struct mdf_workspace *workspace, const struct network *network, const struct pass *pass,
                            struct mdf_value *scratch)
{
    size_t n = network->n_gates * network->n_hidden;
    const char *weights =
        direction_part(network->weights, pass->direction, n * network->n_input * mdf_dtype_size(workspace->dtype));
    struct mdf_product product = transposed_product(workspace->dtype, network->n_steps * network->n_batch, n, network->n_input,
                                                    network->x, weights, network->inputs);

    product.add = true;
    (workspace->dtype == MDF_DTYPE_FLOAT32 ? fill_biases_float32 : fill_biases_float64)(network, pass->biases, network->inputs);
    if (mdf_product_is_packed(&product) &&
        !mdf_product_keep_b(workspace->call, pass->kept_input, mdf_call_is_constant(workspace->call, 1), &product)) {
        return false;
    }
    return mdf_multiply(workspace->call, scratch, &product);
}

static bool run_directions(struct mdf_workspace *workspace, struct network *network)
{
    size_t n = network->n_hidden, size_bytes = mdf_dtype_size(workspace->dtype), n_state = network->n_batch * n;
    struct mdf_value *input_scratch = mdf_workspace_value(workspace), *step_scratch = mdf_workspace_value(workspace);
    struct pass pass;
    char *states;

    if (n_state == 0) {
        return true;
    }
    states = mdf_workspace_matrix(workspace, workspace->dtype, n_state, MAX_GATES + 5);
    network->inputs =
        mdf_workspace_matrix(workspace, workspace->dtype, network->n_steps * network->n_batch, network->n_gates * n);
    if (input_scratch == NULL || step_scratch == NULL || states == NULL || network->inputs == NULL) {
        return false;
    }
    pass.hidden = states;
    pass.cells = states + n_state * size_bytes;
    pass.reset = states + 2 * n_state * size_bytes;
    pass.reset_products = states + 3 * n_state * size_bytes;
    pass.products = states + 4 * n_state * size_bytes;
    pass.rounded = states + (MAX_GATES + 4) * n_state * size_bytes;
    for (pass.direction = 0; pass.direction < network->n_directions; pass.direction++) {
        pass.kept = mdf_workspace_value(workspace);
        pass.kept_hidden = mdf_workspace_value(workspace);
        pass.kept_input = mdf_workspace_value(workspace);
        if (pass.kept_input == NULL) {
            return false;
        }
        pass.is_reverse = pass.direction == 1 || network->first_is_reverse;
        pass.activations = network->activations + pass.direction * network->n_activations;
        pass.biases = direction_part(network->biases, pass.direction, 2 * network->n_gates * n * size_bytes);
        pass.peepholes = direction_part(network->peepholes, pass.direction, 3 * n * size_bytes);
        load_states(network, pass.direction, size_bytes, network->first_hidden, pass.hidden);
        load_states(network, pass.direction, size_bytes, network->first_cells, pass.cells);
        if (!multiply_inputs(workspace, network, &pass, input_scratch) || !run_steps(workspace, network, &pass, step_scratch)) {
            return false;
        }
        store_states(network, pass.direction, size_bytes, pass.hidden, network->last_hidden);
        store_states(network, pass.direction, size_bytes, pass.cells, network->last_cells);
    }
    return true;
}

static bool run_network(struct mdf_call *call, enum cell_kind kind, bool rounds_states)
{
    struct mdf_workspace workspace;
    struct network network;

    if (!read_settings(call, kind, &network)) {
        return false;
    }
    network.rounds_states = rounds_states;
    return read_sizes(call, &network) && check_inputs(call, &network) && read_lengths(call, &network) &&
           mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)call->inputs[0]->dtype), N_ARRAYS) &&
           read_inputs(&workspace, &network) && make_outputs(&workspace, &network) && run_directions(&workspace, &network) &&
           mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: recurrent_routine.inc */

static void plan_numbers(const struct mdf_call *call, const struct network *network, mdf_dtype dtype, int64_t *whole)
{
    size_t n = network->n_gates * network->n_hidden;
    struct mdf_product product =
        transposed_product(dtype, network->n_steps * network->n_batch, n, network->n_input, NULL, NULL, NULL);

    product.add = true;
    whole[0] = (int64_t)network->kind;
    whole[1] = (int64_t)network->n_directions;
    whole[2] = (int64_t)network->n_steps;
    whole[3] = (int64_t)network->n_batch;
    whole[4] = (int64_t)network->n_input;
    whole[5] = (int64_t)network->n_hidden;
    whole[6] = network->batch_first;
    whole[7] = network->linear_before_reset;
    whole[8] = network->input_forget;
    whole[9] = network->first_is_reverse;
    whole[10] = mdf_call_input(call, 4) != NULL && call->inputs[4]->dtype == MDF_DTYPE_INT64;
    whole[11] = mdf_product_routine(mdf_product_order(&product), dtype);
    whole[12] = mdf_product_routine(MDF_PRODUCT_IN_BLOCKS, dtype); /* as the weights are kept packed */
    whole[13] = (int64_t)network->n_gates;
    whole[14] = (int64_t)network->n_activations;
}

static bool plan_network(struct mdf_call *call, enum cell_kind kind, struct mdf_routine_plan *plan)
{
    mdf_dtype dtype = (mdf_dtype)call->inputs[0]->dtype;
    struct mdf_element_settings *settings;
    struct network network;
    size_t n;

    settings = mdf_arena_array(plan->arena, MDF_ROUTINE_FUNCTIONS, sizeof *settings);
    if (settings == NULL || !read_settings(call, kind, &network) || !read_sizes(call, &network) ||
        !mdf_routine_room(plan, 17, 1) || !mdf_dtype_is_real(dtype) ||
        (mdf_call_input(call, 4) != NULL && call->inputs[4]->dtype != MDF_DTYPE_INT64 &&
         call->inputs[4]->dtype != MDF_DTYPE_INT32)) {
        return false;
    }
    plan->function = "recurrent";
    plan->dtype = dtype;
    plan_numbers(call, &network, dtype, plan->whole);
    plan->real[0] = network.clip;
    n = network.n_gates * network.n_hidden;
    plan->work_bytes = mdf_dtype_size(dtype) *
                       ((network.n_steps * network.n_batch + network.n_input + network.n_hidden + 2) * n + 4 * network.n_hidden);
    plan->kept_bytes = mdf_recurrent_kept_bytes(call);
    plan->n_functions = network.n_directions * network.n_activations;
    for (size_t i = 0; i < plan->n_functions; i++) {
        settings[i] = network.activations[i].settings;
        plan->functions[i] = network.activations[i].element;
        plan->function_settings[i] = &settings[i];
    }
    return true;
}

#define RECURRENT_ROUTINE(plan_of)                                                                 \
    (&(const struct mdf_routine){plan_of, .why = other_length, .function = mdf_recurrent_function, \
                                 .prepare = mdf_recurrent_prepare})

static bool plan_rnn(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_network(call, CELL_PLAIN, plan);
}

static bool plan_gru(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_network(call, CELL_GRU, plan);
}

static bool plan_lstm(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_network(call, CELL_LSTM, plan);
}

static const char other_length[] = "a sequence is longer than there are steps, or of negative length";

static bool rnn(struct mdf_call *call)
{
    return run_network(call, CELL_PLAIN, false);
}

static bool gru(struct mdf_call *call)
{
    return run_network(call, CELL_GRU, false);
}

static bool lstm(struct mdf_call *call)
{
    return run_network(call, CELL_LSTM, false);
}

static bool lstm_of_rounded_states(struct mdf_call *call)
{
    return run_network(call, CELL_LSTM, true);
}

#include "functions/recurrent/recurrent_meaning.inc"

const struct mdf_operator mdf_operators_recurrent[] = {
    {"RNN", 1, 99, rnn, recurrent_table, sizeof(struct recurrent_settings), MDF_OPERATOR_PURE, NULL, .meaning = &plain_meaning,
     .routine = RECURRENT_ROUTINE(plan_rnn), .infer = &mdf_rule_recurrent},
    {"GRU", 1, 99, gru, recurrent_table, sizeof(struct recurrent_settings), MDF_OPERATOR_PURE, NULL, .meaning = &gru_meaning,
     .routine = RECURRENT_ROUTINE(plan_gru), .infer = &mdf_rule_recurrent},
    {"LSTM", 1, 99, lstm, recurrent_table, sizeof(struct recurrent_settings), MDF_OPERATOR_PURE, NULL, .meaning = &lstm_meaning,
     .routine = RECURRENT_ROUTINE(plan_lstm), .infer = &mdf_rule_recurrent},
    {"LSTMOfRoundedStates", 1, 99, lstm_of_rounded_states, recurrent_table, sizeof(struct recurrent_settings), MDF_OPERATOR_PURE},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
