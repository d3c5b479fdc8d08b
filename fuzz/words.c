/* words.c - see words.h. */
#include "fuzz/words.h"

#include "mdf_c/mdf.h"
#include "schemas/onnx_schema.h"

#include <math.h>
#include <stdio.h>

#define N_OF(table) (sizeof(table) / sizeof *(table))

static const char *const keys[] = {"format",
                                   "graphs",
                                   "nodes",
                                   "edges",
                                   "input_ports",
                                   "output_ports",
                                   "parameters",
                                   "functions",
                                   "conditions",
                                   "function",
                                   "args",
                                   "value",
                                   "default_initial_value",
                                   "time_derivative",
                                   "shape",
                                   "type",
                                   "reduce",
                                   "id",
                                   "sender",
                                   "receiver",
                                   "sender_port",
                                   "receiver_port",
                                   "metadata",
                                   "body",
                                   "then_branch",
                                   "else_branch",
                                   "num_scan_inputs",
                                   "test",
                                   "node_specific",
                                   "termination",
                                   "kwargs",
                                   "dependency",
                                   "dependencies",
                                   "n",
                                   "time_scale",
                                   "comparator",
                                   "threshold",
                                   "axis",
                                   "axes",
                                   "keepdims",
                                   "to",
                                   "data",
                                   "onnx_opset_version",
                                   "graph",
                                   "environment_state_update",
                                   "environment_sequence",
                                   "weight",
                                   "metadata_props",
                                   "A",
                                   "B",
                                   "X",
                                   "Y",
                                   "x",
                                   "y",
                                   "combine",
                                   "steps",
                                   "dt",
                                   "record",
                                   "every",
                                   "seeds",
                                   "inputs",
                                   "linspace",
                                   "logspace",
                                   "range",
                                   "sequence",
                                   "variable0",
                                   "slope",
                                   "intercept",
                                   "captures"};

static const char *const names[] = {"x",      "y",   "k", "a", "b", "A",     "B", "input",
                                    "output", "out", "s", "i", "n", "state", "t", "dt"};

static const char *const fragments[] = {"x + y",
                                        "x * 2",
                                        "-x",
                                        "not x",
                                        "x if y else k",
                                        "x and y",
                                        "x or k",
                                        "x ** 2",
                                        "x // 3",
                                        "x % 2",
                                        "1 << x",
                                        "x >> 1",
                                        "~x",
                                        "x & 1",
                                        "x | y",
                                        "x ^ y",
                                        "x @ y",
                                        "x < y <= k",
                                        "x == y",
                                        "x != 0",
                                        "x in k",
                                        "x is None",
                                        "k[0]",
                                        "k[-1]",
                                        "k[::-1]",
                                        "k[1:]",
                                        "k[..., None]",
                                        "k[x > 0]",
                                        "[x, y]",
                                        "(x,)",
                                        "{'a': x}",
                                        "[i for i in k]",
                                        "[i * j for i in k for j in k if i]",
                                        "sum(k)",
                                        "len(k)",
                                        "range(3)",
                                        "range(10**9)",
                                        "max(k)",
                                        "min(x, y)",
                                        "abs(x)",
                                        "round(x, 1)",
                                        "int(x)",
                                        "float(x)",
                                        "bool(x)",
                                        "str(x)",
                                        "divmod(x, 3)",
                                        "pow(x, 2, 5)",
                                        "sorted(k)",
                                        "list(zip(k, k))",
                                        "list(enumerate(k))",
                                        "tuple(k)",
                                        "k.shape",
                                        "k.T",
                                        "k.sum()",
                                        "k.astype('int8')",
                                        "k.reshape(-1)",
                                        "math.sin(x)",
                                        "math.factorial(5)",
                                        "math.comb(5, 2)",
                                        "math.gcd(4, 6)",
                                        "math.exp(x)",
                                        "math.pi",
                                        "math.inf",
                                        "numpy.array([1., 2.])",
                                        "numpy.zeros((2, 3))",
                                        "numpy.ones(3)",
                                        "numpy.eye(2)",
                                        "numpy.dot(k, k)",
                                        "numpy.sum(k, axis=0)",
                                        "numpy.where(k > 1, k, 0)",
                                        "numpy.tanh(k)",
                                        "numpy.clip(k, 0, 1)",
                                        "numpy.concatenate([k, k])",
                                        "numpy.linspace(0, 1, 5)",
                                        "numpy.arange(3)",
                                        "numpy.outer(k, k)",
                                        "numpy.linalg.inv(numpy.eye(2))",
                                        "numpy.random.rand(2)",
                                        "numpy.int8(x)",
                                        "numpy.cumsum(k)",
                                        "numpy.einsum('i,i->', k, k)",
                                        "numpy.tile(k, 2)",
                                        "numpy.nan",
                                        "numpy.reshape(k, (3, 1))",
                                        "'a' + 'b'",
                                        "'%d' % 3",
                                        "'a' * 3",
                                        "None",
                                        "True",
                                        "1e308",
                                        "2**63",
                                        "10**400",
                                        "0.1",
                                        "1_000",
                                        "0x10",
                                        "1e-320",
                                        "'\\u00e9'",
                                        "lambda: 0",
                                        "f'{x}'",
                                        "x[0][0]",
                                        "((x))",
                                        "x, y",
                                        "x.real",
                                        "x:=1",
                                        "*k"};

static const char *const words[] = {"float",
                                    "double",
                                    "int64",
                                    "int32",
                                    "int8",
                                    "uint8",
                                    "bool",
                                    "string",
                                    "float16",
                                    "bfloat16",
                                    "complex64",
                                    "float8_e4m3fn",
                                    "uint2",
                                    "seq(tensor(float))",
                                    "optional(tensor(int64))",
                                    "tensor(float)",
                                    "None",
                                    "Always",
                                    "Never",
                                    "All",
                                    "Any",
                                    "Not",
                                    "NWhen",
                                    "EveryNCalls",
                                    "AtNCalls",
                                    "AfterNCalls",
                                    "AtPass",
                                    "AfterPass",
                                    "EveryNPasses",
                                    "JustRan",
                                    "AllHaveRun",
                                    "WhenFinished",
                                    "Threshold",
                                    "TimeInterval",
                                    "BeforeNodes",
                                    "AfterNode",
                                    "AddEdgeTo",
                                    "RemoveEdgeFrom",
                                    "AfterNCallsCombined",
                                    "AtTrialStart",
                                    "ENVIRONMENT_STATE_UPDATE",
                                    "PASS",
                                    "linear",
                                    "logistic",
                                    "exponential",
                                    "cosine",
                                    "sin",
                                    "MatMul",
                                    "Relu",
                                    "change_goal",
                                    "drift_diffusion_integrator",
                                    "add",
                                    "ModECI MDF v0.4",
                                    "grid",
                                    "zip",
                                    "ai.onnx.ml",
                                    "onnx::Loop",
                                    "onnx::Scan",
                                    "onnx::If",
                                    "psyneulink::Linear"};

static const int64_t integers[] = {0,         1,          2,         3,         4,         -1,        -2,        7,
                                   8,         16,         31,        32,        63,        64,        127,       128,
                                   255,       256,        -128,      -129,      32767,     65535,     1000000,   INT32_MAX,
                                   INT32_MIN, UINT32_MAX, 1LL << 32, 1LL << 40, 1LL << 53, INT64_MAX, INT64_MIN, INT64_MAX - 1};

static const double reals[] = {0.0,    -0.0,  0.1,  0.5,    1.0,   1.5,    -1.0,  2.0,    3.0,  1e-5,
                               1e-320, 1e308, 1e30, -1e308, 4.2e9, 9.3e18, 65504, 3.4e38, 1e16, 123456.789};

const char *random_key(struct random_source *random)
{
    return keys[random_below(random, N_OF(keys))];
}

const char *random_fragment(struct random_source *random)
{
    return fragments[random_below(random, N_OF(fragments))];
}

const char *random_name(struct random_source *random)
{
    return names[random_below(random, N_OF(names))];
}

static size_t n_schemas(void)
{
    size_t n = 0;

    while (mdf_schema_at(n) != NULL) {
        n++;
    }
    return n;
}

const char *random_word(struct random_source *random, char text[WORD_SIZE])
{
    const struct mdf_schema *schema;

    switch (random_below(random, 4)) {
    case 0:
        return random_name(random);
    case 1:
        return words[random_below(random, N_OF(words))];
    case 2:
        return mdf_dtype_name((mdf_dtype)random_below(random, MDF_DTYPE_COUNT));
    default:
        schema = mdf_schema_at(random_below(random, n_schemas()));
        snprintf(text, WORD_SIZE, "%s::%s", mdf_schema_prefix(schema), schema->name);
        return text;
    }
}

int64_t random_integer(struct random_source *random)
{
    return integers[random_below(random, N_OF(integers))];
}

double random_real(struct random_source *random)
{
    switch (random_below(random, 8)) {
    case 0:
        return (double)NAN;
    case 1:
        return random_below(random, 2) == 0 ? (double)INFINITY : -(double)INFINITY;
    default:
        return reals[random_below(random, N_OF(reals))];
    }
}
