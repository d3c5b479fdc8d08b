/* combinations.c - PsyNeuLink's functions that combine the items of an array: those along its first axis. */
#include "functions/psyneulink/psyneulink.h"

/* What the ports of a node give, as PsyNeuLink's exporter puts it together, has an axis of one element behind the first: it goes.
 */
#define ITEMS                                                                \
    {"all", "numpy.asarray(variable0)"},                                     \
    {                                                                        \
        "items", "all[:, 0] if all.ndim == 3 and all.shape[1] == 1 else all" \
    }

/* Weights and exponents of linearcombination are one an item, however they are written. */
#define COLUMN(name) "numpy.reshape(" name ", (-1, 1)) if numpy.asarray(" name ").ndim == 1 else " name
static const struct mdf_function_step linear_steps[] = {
    ITEMS,
    {"x", "items ** (" COLUMN("exponents") ") * (" COLUMN("weights") ") if items.ndim > 1 else items"},
    {"both_zero", "numpy.logical_and(x[0] == 0, x[1] == 0) if operation == 'cross-entropy' else False"},
    {"combined", "x if items.ndim < 2 else numpy.sum(x, axis=0) if operation == 'sum' else "
                 "numpy.prod(x, axis=0) if operation == 'product' else "
                 "x[0] * numpy.where(both_zero, 0.0, numpy.log(numpy.where(both_zero, 1.0, x[1])))"},
    {"value", "combined * scale + offset"},
    {NULL, NULL}};

static const struct mdf_function_step reduce_steps[] = {
    ITEMS,
    {"x", "numpy.atleast_2d(items ** exponents * weights)"},
    {"value", "(numpy.sum(x, axis=1) if operation == 'sum' else numpy.prod(x, axis=1)) * scale + offset"},
    {NULL, NULL}};

static const struct mdf_function_step means_steps[] = {
    {"x", "numpy.mean(numpy.reshape(variable0, (len(variable0), -1)), axis=1) ** exponents * weights"},
    {"value", "(numpy.sum(x, axis=0) if operation == 'sum' else numpy.prod(x, axis=0)) * scale + offset"},
    {NULL, NULL}};

static const struct mdf_function_step concatenate_steps[] = {
    ITEMS, {"value", "numpy.hstack(items) * scale + offset"}, {NULL, NULL}};

static const struct mdf_function_step rearrange_steps[] = {
    ITEMS,
    {"x", "numpy.atleast_2d(items)"},
    {"rows", "[numpy.hstack([x[i] for i in item]) for item in arrangement] if numpy.asarray(arrangement).size > 0 else "
             "[numpy.hstack(x)]"},
    {"value", "numpy.array(rows) * scale + offset"},
    {NULL, NULL}};

/* The temporal difference of a sample and its reward; there is none at the start. */
static const struct mdf_function_step prediction_steps[] = {
    {"sample", "numpy.ravel(variable0[0])"},
    {"reward", "numpy.ravel(variable0[1])"},
    {"value", "numpy.append(0.0, reward[1:] + gamma * sample[1:] - sample[:-1])"},
    {NULL, NULL}};

/* The first item, once for each control signal. */
static const struct mdf_function_step allocation_steps[] = {
    {"value", "numpy.repeat(numpy.atleast_1d(variable0)[:1], num_control_signals, axis=0)"}, {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_combinations[] = {
    {"linearcombination", "variable0 weights=1 exponents=1 scale=1.0 offset=0.0 operation:sum,product,cross-entropy", NULL, NULL,
     linear_steps, "value"},
    {"reduce", "variable0 weights=1 exponents=1 scale=1.0 offset=0.0 operation:sum,product", NULL, NULL, reduce_steps, "value"},
    {"combinemeans", "variable0 weights=1 exponents=1 scale=1.0 offset=0.0 operation:sum,product", NULL, NULL, means_steps,
     "value"},
    {"concatenate", "variable0 scale=1.0 offset=0.0", NULL, NULL, concatenate_steps, "value"},
    {"rearrange", "variable0 arrangement=[] scale=1.0 offset=0.0", NULL, NULL, rearrange_steps, "value"},
    {"predictionerrordeltafunction", "variable0 gamma=1.0", NULL, NULL, prediction_steps, "value"},
    {"defaultallocationfunction", "variable0 num_control_signals=1", NULL, NULL, allocation_steps, "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
