/* gradient_models.h - models that tests/run/test_gradient_program.c derives: what of them by what, over how many steps. */
#ifndef TESTS_GRADIENT_MODELS_H
#define TESTS_GRADIENT_MODELS_H

#include <stdint.h>

enum { MOST_PARAMETERS = 4 };

/* A graph `g` of nodes and edges, and other graphs, with ' for "; the last node of interest has the port that is derived. */
static const struct model {
    const char *name, *nodes, *edges, *bodies, *of;
    const char *parameters[MOST_PARAMETERS];
    uint64_t n_steps;
    double dt;              /* 0: none */
    const char *conditions; /* NULL: none */
} models[] = {
    {"a state that begins as a whole number, and is stacked",
     "'n': {'parameters': {'a': {'value': 0.5}, "
     "'p': {'function': 'onnx::Loop', 'args': {'M': 4, 'cond': true, 'v_initial': [0], 'body': 'b'}}}, "
     "'output_ports': {'y': {'value': 'p[0] + numpy.sum(p[1] * p[1])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'h'], 'outputs': ['c', 'h2', 'h']}, 'nodes': {'m': {'input_ports': {'h': {}}, "
     "'output_ports': {'h2': {'value': 'h * h + a'}}}}}",
     "y",
     {"n.a"},
     1,
     0},
    {"a transposed convolution in a Loop, by which the products of its second order have the form of places",
     "'n': {'parameters': {'a': {'value': [[[0.3, -0.2, 0.7], [0.1, 0.4, -0.5]]]}, 'k': {'value': [[[0.2, 0.6]], [[-0.4, "
     "0.5]]]}, "
     "'p': {'function': 'onnx::Loop', 'args': {'M': 2, 'cond': true, 'v_initial': '[a]', 'body': 'b'}}}, "
     "'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'h'], 'outputs': ['c', 'h2']}, 'nodes': {'m': {'input_ports': {'h': {}}, "
     "'parameters': {'q': {'function': 'onnx::ConvTranspose', 'args': {'X': 'h', 'W': 'k'}}}, "
     "'output_ports': {'h2': {'value': 'h * numpy.tanh(numpy.sum(q * q))'}}}}}",
     "y",
     {"n.a", "n.k"},
     1,
     0},
    {"a Loop that gathers different columns by their places",
     "'n': {'parameters': {'a': {'value': [[0.3, -0.2, 0.7], [0.1, 0.4, -0.5]]}, "
     "'p': {'function': 'onnx::Loop', 'args': {'M': 2, 'cond': true, 'v_initial': '[a]', 'body': 'b'}}}, "
     "'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'h'], 'outputs': ['c', 'h2']}, 'nodes': {'m': {'input_ports': {'h': {}}, "
     "'parameters': {'q': {'function': 'onnx::Unique', 'args': {'X': 'h', 'axis': 1}}}, "
     "'output_ports': {'h2': {'value': 'h + 0.1 * numpy.tanh(q[0] * [1, 2, 3])'}}}}}",
     "y",
     {"n.a"},
     1,
     0},
    {"a Scan's scan output",
     "'n': {'parameters': {'w': {'value': [0.3, -0.2, 0.7]}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4, 0.6], [0.9, 0.8, "
     "-0.7]]}, "
     "'p': {'function': 'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[w * 0.5, x]', 'num_scan_inputs': 1, 'body': "
     "'b'}}}, "
     "'output_ports': {'y': {'value': 'numpy.sum(p[1] * [1, 2, 3]) + p[0][1]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['h', 'x'], 'outputs': ['h2', 'o']}, 'nodes': {'m': {'input_ports': {'h': {}, 'x': {}}, "
     "'output_ports': {'h2': {'value': 'numpy.tanh(w * h + x)'}, 'o': {'value': 'h * x'}}}}}",
     "y",
     {"n.w", "n.x"},
     1,
     0},
    {"a Scan backward along the last axis",
     "'n': {'parameters': {'w': {'value': [0.3, -0.2]}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4, 0.6]]}, "
     "'p': {'function': 'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[w, x]', 'num_scan_inputs': 1, 'body': 'b', "
     "'scan_input_axes': [-1], 'scan_input_directions': [1], 'scan_output_axes': [1], 'scan_output_directions': [1]}}}, "
     "'output_ports': {'y': {'value': 'numpy.sum(p[1] * [[1, 2, 3], [4, 5, 6]])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['h', 'x'], 'outputs': ['h2', 'o']}, 'nodes': {'m': {'input_ports': {'h': {}, 'x': {}}, "
     "'output_ports': {'h2': {'value': 'numpy.sin(h) + x'}, 'o': {'value': 'h * x'}}}}}",
     "y",
     {"n.w", "n.x"},
     1,
     0},
    {"a Loop with a trip count and a condition, that reads by its number",
     "'n': {'parameters': {'w': {'value': [0.3, -0.2, 0.7]}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4, 0.6], [0.9, 0.8, "
     "-0.7]]}, "
     "'p': {'function': 'onnx::Loop', 'args': {'M': 3, 'cond': true, 'v_initial': '[w]', 'body': 'b'}}}, "
     "'output_ports': {'y': {'value': 'p[1] * p[0][2]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2', 'o']}, 'nodes': {'m': {'input_ports': {'i': {}, 'c': "
     "{}, "
     "'s': {}}, 'output_ports': {'c2': {'value': 'c and i < 10'}, 's2': {'value': 'numpy.sin(s) * w + x[i]'}, 'o': {'value': 's "
     "* s'}}}}}",
     "y",
     {"n.w", "n.x"},
     1,
     0},
    {"a Loop that ends by its condition",
     "'n': {'parameters': {'a': {'value': 2.0}, 's': {'value': 1}, 'p': {'function': 'onnx::Loop', 'args': {'M': 50, 'cond': "
     "true, "
     "'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports': {'s': {}}, "
     "'parameters': "
     "{'x': {'value': '0.5 * (s + a / s)'}}, 'output_ports': {'c2': {'value': 'abs(x * x - a) > 1e-12'}, 's2': {'value': "
     "'x'}}}}}",
     "y",
     {"n.a"},
     1,
     0},
    {"a Loop of no iterations",
     "'n': {'parameters': {'a': {'value': 2.0}, 's': {'value': 1.5}, 'p': {'function': 'onnx::Loop', 'args': {'M': 0, 'cond': "
     "true, "
     "'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports': {'s': {}}, "
     "'output_ports': {'c2': {'value': 'True'}, 's2': {'value': 's * a'}}}}}",
     "y",
     {"n.a", "n.s"},
     1,
     0},
    {"states that change smoothly through others only",
     "'n': {'parameters': {'a': {'value': 1.2}, 'd': {'value': 0.7}, 'p': {'function': 'onnx::Loop', 'args': {'M': 4, 'cond': "
     "true, "
     "'v_initial': '[1.0, 2.0]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p[0] + p[1]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's', 't'], 'outputs': ['c2', 's2', 't2']}, 'nodes': {'m': {'input_ports': {'s': "
     "{}, 't': "
     "{}}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'value': 't * a'}, 't2': {'value': 's + d'}}}}}",
     "y",
     {"n.a", "n.d"},
     1,
     0},
    {"If, the first branch",
     "'n': {'parameters': {'a': {'value': [0.5, 0.6]}, 'b': {'value': 2.0}, 'p': {'function': 'onnx::If', 'args': {'cond': 'b > "
     "0', "
     "'then_branch': 't', 'else_branch': 'e'}}}, 'output_ports': {'y': {'value': 'p * [1, 2]'}}}",
     "",
     "'t': {'nodes': {'m': {'output_ports': {'o': {'value': 'a * a'}}}}}, 'e': {'nodes': {'m': {'output_ports': {'o': {'value': "
     "'numpy.exp(a) * b'}}}}}",
     "y",
     {"n.a", "n.b"},
     1,
     0},
    {"If, the second branch",
     "'n': {'parameters': {'a': {'value': [0.5, 0.6]}, 'b': {'value': -2.0}, 'p': {'function': 'onnx::If', 'args': {'cond': 'b > "
     "0', "
     "'then_branch': 't', 'else_branch': 'e'}}}, 'output_ports': {'y': {'value': 'p * [1, 2]'}}}",
     "",
     "'t': {'nodes': {'m': {'output_ports': {'o': {'value': 'a * a'}}}}}, 'e': {'nodes': {'m': {'output_ports': {'o': {'value': "
     "'numpy.exp(a) * b'}}}}}",
     "y",
     {"n.a", "n.b"},
     1,
     0},
    {"a Scan and an If in a Loop",
     "'n': {'parameters': {'w': {'value': [0.3, -0.2]}, 'x': {'value': [[0.1, 0.2], [0.5, -0.4]]}, 'p': {'function': "
     "'onnx::Loop', "
     "'args': {'M': 3, 'cond': true, 'v_initial': '[w]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'numpy.sum(p[1]) * "
     "p[0]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2', 'o']}, 'nodes': {'m': {'input_ports': {'i': {}, 's': "
     "{}}, "
     "'parameters': {'r': {'function': 'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[s, x]', 'num_scan_inputs': 1, "
     "'body': "
     "'k'}}, 'u': {'function': 'onnx::If', 'args': {'cond': 'i > 0', 'then_branch': 't', 'else_branch': 'e'}}}, 'output_ports': "
     "{'c2': "
     "{'value': 'True'}, 's2': {'value': 'u + w * s'}, 'o': {'value': 'numpy.sum(u)'}}}}}, "
     "'k': {'metadata': {'inputs': ['h', 'x'], 'outputs': ['h2']}, 'nodes': {'m': {'input_ports': {'h': {}, 'x': {}}, "
     "'output_ports': "
     "{'h2': {'value': 'numpy.tanh(s * h + x)'}}}}}, "
     "'t': {'nodes': {'m': {'output_ports': {'o': {'value': 'r * x[0]'}}}}}, 'e': {'nodes': {'m': {'output_ports': {'o': "
     "{'value': 'r * "
     "r * s'}}}}}",
     "y",
     {"n.w", "n.x"},
     1,
     0},
    {"what a condition chooses, in a body and outside",
     "'n': {'parameters': {'a': {'value': 0.4}, 'd': {'value': 1.0}, 'q': {'value': 'a * d if a > d else (d * d if d > 0.5 else "
     "a)'}, "
     "'p': {'function': 'onnx::Loop', 'args': {'M': 5, 'cond': true, 'v_initial': '[q]', 'body': 'b'}}}, 'output_ports': {'y': "
     "{'value': "
     "'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports': {'s': {}}, "
     "'parameters': "
     "{'x': {'value': 's * a if s > 0.5 and s < 100 else s + d'}}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'value': "
     "'x'}}}}}",
     "y",
     {"n.a", "n.d"},
     1,
     0},
    {"a time derivative over steps",
     "'n': {'parameters': {'k': {'value': 0.3}, 't': {'default_initial_value': 90.0, 'time_derivative': 'k * (20.0 - t)'}}, "
     "'output_ports': {'y': {'value': 't'}}}",
     "",
     "",
     "y",
     {"n.k", "n.t"},
     12,
     0.25},
    {"two that depend on each other, over steps",
     "'n': {'parameters': {'a': {'value': 0.7}, 'i': {'value': [0.5, 0.8]}, 'v': {'default_initial_value': [0, 0], "
     "'time_derivative': 'v - v "
     "** 3 / 3 - w + i'}, 'w': {'default_initial_value': [0.0, 0.1], 'time_derivative': '0.08 * (v + a - 0.8 * w)'}}, "
     "'output_ports': {'y': "
     "{'value': 'v * [1, 2]'}}}",
     "",
     "",
     "y",
     {"n.a", "n.i", "n.w"},
     40,
     0.1},
    {"a condition of a parameter: reset at a threshold",
     "'n': {'parameters': {'gain': {'value': 2.0}, 'low': {'value': 0.1}, 'v': {'default_initial_value': 0, 'time_derivative': "
     "'gain * (1.5 - "
     "v)', 'conditions': [{'id': 'r', 'test': 'v >= 1.0', 'value': 'low'}]}}, 'output_ports': {'y': {'value': 'v'}}}",
     "",
     "",
     "y",
     {"n.gain", "n.low"},
     23,
     0.07},
    {"a state without time, by a value of its own",
     "'n': {'parameters': {'rate': {'value': 0.05}, 's': {'default_initial_value': 1.0, 'value': 's * (1 + rate)'}}, "
     "'output_ports': {'y': "
     "{'value': 's'}}}",
     "",
     "",
     "y",
     {"n.rate", "n.s"},
     9,
     0},
    {"nodes in a row, edges with weights, several edges into one port",
     "'a': {'parameters': {'k': {'value': [0.5, -0.25]}, 's': {'default_initial_value': [1.0, 2.0], 'value': 's * k + 0.5'}}, "
     "'output_ports': "
     "{'o': {'value': 's'}}}, 'b': {'parameters': {'c': {'value': [3.0, 1.0]}}, 'output_ports': {'o': {'value': 'c * c'}}}, 'm': "
     "{'input_ports': {'i': {'reduce': 'add'}}, 'parameters': {'g': {'value': 1.5}}, 'output_ports': {'y': {'value': "
     "'numpy.sin(g * i)'}}}",
     "'e': {'sender': 'a', 'sender_port': 'o', 'receiver': 'm', 'receiver_port': 'i', 'parameters': {'weight': 0.5}}, 'f': "
     "{'sender': 'b', "
     "'sender_port': 'o', 'receiver': 'm', 'receiver_port': 'i'}",
     "",
     "m.y",
     {"a.k", "b.c", "m.g", "a.s"},
     5,
     0},
    {"a node that feeds itself",
     "'n': {'input_ports': {'i': {'default_value': 0.2}}, 'parameters': {'w': {'value': 0.9}}, 'output_ports': {'y': {'value': "
     "'numpy.tanh(w * i + 0.1)'}}}",
     "'e': {'sender': 'n', 'sender_port': 'y', 'receiver': 'n', 'receiver_port': 'i'}",
     "",
     "y",
     {"n.w"},
     6,
     0},
    {"a state that only the arms of a choice read",
     "'n': {'parameters': {'q': {'value': 0.5}, 'z': {'default_initial_value': 0.7, 'value': 'z * q if q > 0.3 else z * 3'}}, "
     "'output_ports': {'y': {'value': 'z * q'}}}",
     "",
     "",
     "y",
     {"n.q", "n.z"},
     4,
     0},
    {"a Loop within each step, and a choice between slots",
     "'n': {'parameters': {'a': {'value': 0.9}, 's': {'default_initial_value': 0.5, 'value': 'l * a if l > 0.2 else l + 1.0'}, "
     "'l': "
     "{'function': 'onnx::Loop', 'args': {'M': 3, 'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': {'y': "
     "{'value': 's * "
     "s'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports': {'s': {}}, "
     "'output_ports': "
     "{'c2': {'value': 'True'}, 's2': {'value': 'numpy.cos(s) * a'}}}}}",
     "y",
     {"n.a"},
     7,
     0},
    {"matrices that a loop multiplies by, before and behind",
     "'n': {'parameters': {'h': {'value': [0.2, -0.1, 0.4]}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4,"
     " 0.6], [0.9, 0.8, -0.7]]}, 'w': {'value': [[0.3, -0.2, 0.1, 0.4, 0.2], [0.6, 0.5, -0.4, -0.1, 0.3], "
     "[-0.3, 0.2, 0.7, 0.1, -0.6]]}, 'u': {'value': [[0.1, 0.7], [0.5, -0.3], [0.2, 0.4], [-0.6, 0.1], [0."
     "3, 0.3]]}, 'p': {'function': 'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[h, x]', 'num_"
     "scan_inputs': 1, 'body': 'b'}}}, 'output_ports': {'y': {'value': 'numpy.sum(p[1] * p[1]) + p[0][1]'}"
     "}}",
     "",
     "'b': {'metadata': {'inputs': ['s', 't'], 'outputs': ['o', 'q']}, 'nodes': {'m': {'input_ports': {'s'"
     ": {}, 't': {}}, 'parameters': {'a': {'value': 'numpy.tanh(numpy.matmul(numpy.matmul(t + s, w), u))'}"
     "}, 'output_ports': {'o': {'value': 'a[0] * t + s * 0.5'}, 'q': {'value': 'a'}}}}}",
     "y",
     {"n.w", "n.u", "n.h", "n.x"},
     1,
     0},
    {"a matrix before a vector, and before a matrix",
     "'n': {'parameters': {'h': {'value': [0.2, -0.1]}, 'x': {'value': [[[0.1, 0.2], [0.5, -0.4], [0.3, 0."
     "1]], [[0.9, 0.8], [-0.7, 0.2], [0.4, 0.6]]]}, 'w': {'value': [[0.3, -0.2, 0.5], [0.6, 0.5, -0.1]]}, "
     "'u': {'value': [[0.1, 0.7], [0.5, -0.3]]}, 'p': {'function': 'onnx::Scan', 'args': {'initial_state_a"
     "nd_scan_inputs': '[h, x]', 'num_scan_inputs': 1, 'body': 'b'}}}, 'output_ports': {'y': {'value': 'nu"
     "mpy.sum(p[1] * [[1, 2], [3, 4]]) + p[0][1]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['s', 't'], 'outputs': ['o', 'q']}, 'nodes': {'m': {'input_ports': {'s'"
     ": {}, 't': {}}, 'parameters': {}, 'output_ports': {'o': {'value': 'numpy.sin(numpy.matmul(u, s))'}, "
     "'q': {'value': 'numpy.matmul(w, t) * s'}}}}}",
     "y",
     {"n.w", "n.u", "n.h", "n.x"},
     1,
     0},
    {"vectors that a loop multiplies by",
     "'n': {'parameters': {'h': {'value': 0.2}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4, 0.6], [0.9, "
     "0.8, -0.7]]}, 'v': {'value': [0.3, -0.2, 0.5]}, 'u': {'value': [0.6, 0.5, -0.1]}, 'p': {'function': "
     "'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[h, x]', 'num_scan_inputs': 1, 'body': 'b'}"
     "}}, 'output_ports': {'y': {'value': 'numpy.sum(p[1]) * p[0]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['s', 't'], 'outputs': ['o', 'q']}, 'nodes': {'m': {'input_ports': {'s'"
     ": {}, 't': {}}, 'parameters': {}, 'output_ports': {'o': {'value': 's * numpy.matmul(t, v) + 1.0'}, '"
     "q': {'value': 'numpy.matmul(u, numpy.reshape(t, [3, 1]) * t) + s'}}}}}",
     "y",
     {"n.v", "n.u", "n.h", "n.x"},
     1,
     0},
    {"matrices of three axes that a loop multiplies by",
     "'n': {'parameters': {'h': {'value': [0.2, -0.1, 0.4]}, 'x': {'value': [[[0.1, 0.2, -0.3]], [[0.5, -0"
     ".4, 0.6]]]}, 'w': {'value': [[[0.3, -0.2], [0.6, 0.5], [-0.3, 0.2]], [[0.1, 0.4], [0.7, -0.6], [0.2,"
     " 0.3]]]}, 'u': {'value': [[[0.1, 0.7, 0.2]], [[0.5, -0.3, 0.6]]]}, 'p': {'function': 'onnx::Scan', '"
     "args': {'initial_state_and_scan_inputs': '[h, x]', 'num_scan_inputs': 1, 'body': 'b'}}}, 'output_por"
     "ts': {'y': {'value': 'numpy.sum(p[1] * p[1]) + p[0][1]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['s', 't'], 'outputs': ['o', 'q']}, 'nodes': {'m': {'input_ports': {'s'"
     ": {}, 't': {}}, 'parameters': {}, 'output_ports': {'o': {'value': 's * 0.5 + numpy.sum(numpy.matmul("
     "u, s))'}, 'q': {'value': 'numpy.matmul(s, w) + numpy.sum(numpy.matmul(t, w), 1) + numpy.sum(numpy.ma"
     "tmul(u, numpy.reshape(t, [3, 1])))'}}}}}",
     "y",
     {"n.w", "n.u", "n.h", "n.x"},
     1,
     0},
    {"a product of what is scanned backward along the last axis",
     "'n': {'parameters': {'h': {'value': [0.2, -0.1, 0.4]}, 'x': {'value': [[0.1, 0.2, -0.3], [0.5, -0.4,"
     " 0.6], [0.9, 0.8, -0.7]]}, 'w': {'value': [[0.3, -0.2, 0.1], [0.6, 0.5, -0.4], [-0.3, 0.2, 0.7]]}, '"
     "p': {'function': 'onnx::Scan', 'args': {'initial_state_and_scan_inputs': '[h, x]', 'num_scan_inputs'"
     ": 1, 'body': 'b', 'scan_input_axes': [1], 'scan_input_directions': [1], 'scan_output_axes': [1]}}}, "
     "'output_ports': {'y': {'value': 'numpy.sum(p[1] * p[1])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['s', 't'], 'outputs': ['o', 'q']}, 'nodes': {'m': {'input_ports': {'s'"
     ": {}, 't': {}}, 'parameters': {'a': {'value': 'numpy.matmul(t, w) + numpy.exp(s)'}}, 'output_ports':"
     " {'o': {'value': 'a'}, 'q': {'value': 'a * t'}}}}}",
     "y",
     {"n.w", "n.h", "n.x"},
     1,
     0},
    {"a product in a loop of no iterations",
     "'n': {'parameters': {'w': {'value': [[0.3, -0.2], [0.6, 0.5]]}, 's': {'value': [1.5, 0.5]}, 'p': {'f"
     "unction': 'onnx::Loop', 'args': {'M': 0, 'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_p"
     "orts': {'y': {'value': 'numpy.sum(p * [1, 2])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports"
     "': {'i': {}, 'c': {}, 's': {}}, 'parameters': {}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'"
     "value': 'numpy.matmul(s, w)'}}}}}",
     "y",
     {"n.w", "n.s"},
     1,
     0},
    {"a product where a condition chooses",
     "'n': {'parameters': {'w': {'value': [[0.3, -0.2], [0.6, 0.5]]}, 's': {'value': [1.5, 0.5]}, 'p': {'f"
     "unction': 'onnx::Loop', 'args': {'M': 4, 'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_p"
     "orts': {'y': {'value': 'numpy.sum(p * [1, 2])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports"
     "': {'i': {}, 'c': {}, 's': {}}, 'parameters': {'a': {'value': 'numpy.matmul(s, w) if i != 1 else num"
     "py.matmul(w, s) + s'}}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'value': 'a'}}}}}",
     "y",
     {"n.w", "n.s"},
     1,
     0},
    {"what has another shape in each iteration",
     "'n': {'parameters': {'a': {'value': 0.3}, 'x': {'value': [0.1, 0.2, -0.3, 0.4]}, 'p': {'function': '"
     "onnx::Loop', 'args': {'M': 3, 'cond': true, 'v_initial': '[a]', 'body': 'b'}}}, 'output_ports': {'y'"
     ": {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports"
     "': {'i': {}, 'c': {}, 's': {}}, 'parameters': {}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'"
     "value': 'numpy.sum(numpy.exp(x[0:i + 1] * s))'}}}}}",
     "y",
     {"n.a", "n.x"},
     1,
     0},
    {"a state that begins as a whole number",
     "'n': {'parameters': {'a': {'value': 0.3}, 'p': {'function': 'onnx::Loop', 'args': {'M': 5, 'cond': t"
     "rue, 'v_initial': '[1]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports"
     "': {'i': {}, 'c': {}, 's': {}}, 'parameters': {}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'"
     "value': 'numpy.exp(-a * s) * s + numpy.sin(a * (i + 1))'}}}}}",
     "y",
     {"n.a"},
     1,
     0},
    {"states that are read for their form alone",
     "'n': {'parameters': {'a': {'value': [0.3, 0.4]}, 'd': {'value': 0.5}, 'p': {'function': 'onnx::Loop'"
     ", 'args': {'M': 4, 'cond': true, 'v_initial': '[a, [0.5, 1.0]]', 'body': 'b'}}}, 'output_ports': {'y"
     "': {'value': 'numpy.sum(p[0] * p[1])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's', 't'], 'outputs': ['c2', 's2', 't2']}, 'nodes': {'m': {'"
     "input_ports': {'i': {}, 'c': {}, 's': {}, 't': {}}, 'parameters': {}, 'output_ports': {'c2': {'value"
     "': 'True'}, 's2': {'value': 's * d + t'}, 't2': {'value': 't - 0.5 * d'}}}}}",
     "y",
     {"n.a", "n.d"},
     1,
     0},
    {"a product in a loop in a loop",
     "'n': {'parameters': {'w': {'value': [[0.3, -0.2], [0.6, 0.5]]}, 's': {'value': [1.5, 0.5]}, 'p': {'f"
     "unction': 'onnx::Loop', 'args': {'M': 3, 'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_p"
     "orts': {'y': {'value': 'numpy.sum(p * [1, 2])'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 's'], 'outputs': ['c2', 's2']}, 'nodes': {'m': {'input_ports"
     "': {'i': {}, 'c': {}, 's': {}}, 'parameters': {'k': {'function': 'onnx::Loop', 'args': {'M': 2, 'con"
     "d': true, 'v_initial': '[s]', 'body': 'kk'}}}, 'output_ports': {'c2': {'value': 'True'}, 's2': {'val"
     "ue': 'numpy.tanh(numpy.matmul(k, w))'}}}}}, 'kk': {'metadata': {'inputs': ['j', 'd', 'r'], 'outputs'"
     ": ['d2', 'r2']}, 'nodes': {'m': {'input_ports': {'r': {}}, 'output_ports': {'d2': {'value': 'True'},"
     " 'r2': {'value': 'numpy.cos(numpy.matmul(w, r)) + s'}}}}}",
     "y",
     {"n.w", "n.s"},
     1,
     0},
    {"a graph within a node, with states and a derivative in time, over steps",
     "'A': {'parameters': {'a': {'value': 0.9}, 'u': {'value': 'u * 0.5 + a', 'default_initial_value': 0.2}}, 'output_ports': "
     "{'o': {'value': 'u'}}}, "
     "'B': {'input_ports': {'x': {}}, 'parameters': {'w': {'value': 0.7}}, 'output_ports': {'z': {'value': 'k.q * 2 + c.o'}}, "
     "'edges': {'e': {'sender': 'c', 'sender_port': 'o', 'receiver': 'k', 'receiver_port': 'y'}}, 'nodes': {'c': {'input_ports': "
     "{'x': {}}, 'parameters': {'s': {'value': 's * w + numpy.tanh(x)', 'default_initial_value': 0.1}}, 'output_ports': {'o': "
     "{'value': 's * s'}}}, 'k': {'input_ports': {'y': {}}, 'parameters': {'d': {'default_initial_value': 0.3, "
     "'time_derivative': 'y - d'}}, 'output_ports': {'q': {'value': 'd'}}}}}, "
     "'n': {'input_ports': {'i': {}}, 'parameters': {'acc': {'value': 'acc + i', 'default_initial_value': 0.0}}, 'output_ports': "
     "{'y': {'value': 'acc'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'B', 'receiver_port': 'x'}, 'f': {'sender': 'B', 'sender_port': 'z', "
     "'receiver': 'n', 'receiver_port': 'i'}",
     "",
     "y",
     {"A.a", "A.u", "B.w"},
     9,
     0.1},
    {"a graph within a graph within a node, and edges back",
     "'A': {'input_ports': {'v': {'default_value': 0.4}}, 'parameters': {'a': {'value': 0.9}}, 'output_ports': {'o': {'value': "
     "'numpy.sin(a + v)'}}}, "
     "'n': {'input_ports': {'x': {}, 'p': {'default_value': 1.5}}, 'parameters': {'w': {'value': [0.7, -0.3]}}, 'output_ports': "
     "{'y': "
     "{'value': 'r'}}, 'nodes': {'M': {'input_ports': {'x': {}, 'p': {}}, 'output_ports': {'r': {'value': 'c.o'}}, 'nodes': "
     "{'c': "
     "{'input_ports': {'x': {}, 'p': {}, 'h': {'shape': '(2,)', 'default_value': [0.0, 0.0]}}, 'parameters': {'s': {'value': 's "
     "* 0.5 "
     "+ w * x * p + h', 'default_initial_value': [0.1, 0.2]}}, 'output_ports': {'o': {'value': 'numpy.sum(s * [1, 2])'}, 'all': "
     "{'value': 's'}}}, 'd': {'input_ports': {'i': {}}, 'output_ports': {'t': {'value': 'numpy.tanh(i)'}}}}, 'edges': {'g': "
     "{'sender': 'c', 'sender_port': 'all', 'receiver': 'd', 'receiver_port': 'i'}, 'h': {'sender': 'd', 'sender_port': 't', "
     "'receiver': 'c', 'receiver_port': 'h', 'parameters': {'weight': 0.3}}}}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}, 'f': {'sender': 'n', 'sender_port': 'y', "
     "'receiver': 'A', 'receiver_port': 'v'}",
     "",
     "y",
     {"A.a", "n.w"},
     6,
     0},
    {"nodes that run after so many calls of others, in each evaluation",
     "'A': {'input_ports': {'v': {'default_value': 0.0}}, 'parameters': {'a': {'value': 0.9}, 'u': {'value': 'u * 0.7 + a + v * "
     "0.1', "
     "'default_initial_value': 0.2}}, 'output_ports': {'o': {'value': 'numpy.sin(u)'}}}, "
     "'B': {'input_ports': {'x': {}}, 'parameters': {'w': {'value': 0.6}, 's': {'value': 's * w + x', 'default_initial_value': "
     "0.1}}, "
     "'output_ports': {'o': {'value': 's'}}}, "
     "'n': {'input_ports': {'i': {}, 'z': {}}, 'parameters': {'t': {'value': 't * 0.5 + numpy.tanh(i) * 0.3 + z', "
     "'default_initial_value': 0.05}}, 'output_ports': {'y': {'value': 't * t'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'B', 'receiver_port': 'x'}, 'f': {'sender': 'B', 'sender_port': 'o', "
     "'receiver': 'n', 'receiver_port': 'i'}, 'g': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'z'}, "
     "'h': {'sender': 'n', 'sender_port': 'y', 'receiver': 'A', 'receiver_port': 'v'}",
     "",
     "y",
     {"A.a", "B.w", "A.u"},
     12,
     0,
     "'B': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'A', 'n': 2}}, 'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': "
     "'B', 'n': 3}}"},
    {"blocks of calls that are longer than what is looked for at once",
     "'A': {'input_ports': {'v': {'default_value': 0.0}}, 'parameters': {'a': {'value': 0.9}, 'u': {'value': 'u * 0.7 + a + v * "
     "0.1', "
     "'default_initial_value': 0.2}}, 'output_ports': {'o': {'value': 'numpy.sin(u)'}}}, "
     "'B': {'input_ports': {'x': {}}, 'parameters': {'w': {'value': 0.6}, 's': {'value': 's * w + x', 'default_initial_value': "
     "0.1}}, "
     "'output_ports': {'o': {'value': 's'}}}, "
     "'n': {'input_ports': {'i': {}, 'z': {}}, 'parameters': {'t': {'value': 't * 0.5 + numpy.tanh(i) * 0.3 + z', "
     "'default_initial_value': 0.05}}, 'output_ports': {'y': {'value': 't * t'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'B', 'receiver_port': 'x'}, 'f': {'sender': 'B', 'sender_port': 'o', "
     "'receiver': 'n', 'receiver_port': 'i'}, 'g': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'z'}, "
     "'h': {'sender': 'n', 'sender_port': 'y', 'receiver': 'A', 'receiver_port': 'v'}",
     "",
     "y",
     {"A.a", "B.w", "A.u"},
     3,
     0,
     "'B': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'A', 'n': 70}}, 'n': {'type': 'EveryNCalls', 'kwargs': "
     "{'dependency': "
     "'B', 'n': 2}}"},
    {"conditions of conditions, a node that ran last, and one that starts late",
     "'A': {'input_ports': {'v': {'default_value': 0.0}}, 'parameters': {'a': {'value': 0.9}, 'u': {'value': 'u * 0.7 + a + v * "
     "0.1', "
     "'default_initial_value': 0.2}}, 'output_ports': {'o': {'value': 'numpy.sin(u)'}}}, "
     "'B': {'input_ports': {'x': {}}, 'parameters': {'w': {'value': 0.6}, 's': {'value': 's * w + x', 'default_initial_value': "
     "0.1}}, "
     "'output_ports': {'o': {'value': 's'}}}, "
     "'n': {'input_ports': {'i': {}, 'z': {}}, 'parameters': {'t': {'value': 't * 0.5 + numpy.tanh(i) * 0.3 + z', "
     "'default_initial_value': 0.05}}, 'output_ports': {'y': {'value': 't * t'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'B', 'receiver_port': 'x'}, 'f': {'sender': 'B', 'sender_port': 'o', "
     "'receiver': 'n', 'receiver_port': 'i'}, 'g': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'z'}, "
     "'h': {'sender': 'n', 'sender_port': 'y', 'receiver': 'A', 'receiver_port': 'v'}",
     "",
     "y",
     {"A.a", "B.w", "A.u"},
     7,
     0,
     "'B': {'type': 'All', 'kwargs': {'dependencies': [{'type': 'AfterNCalls', 'kwargs': {'dependency': 'A', 'n': 2}}, {'type': "
     "'Not', "
     "'kwargs': {'condition': {'type': 'AtPass', 'kwargs': {'n': 4}}}}]}}, 'n': {'type': 'JustRan', 'kwargs': {'dependency': "
     "'B'}}"},
    {"conditions in a graph within a node, whose node runs on a condition",
     "'A': {'parameters': {'a': {'value': 0.9}, 'u': {'value': 'u * 0.7 + a', 'default_initial_value': 0.2}}, 'output_ports': "
     "{'o': "
     "{'value': 'numpy.sin(u)'}}}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'w': {'value': 0.6}}, 'output_ports': {'y': {'value': 'd.o'}}, 'nodes': "
     "{'p': "
     "{'input_ports': {'x': {}}, 'parameters': {'q': {'value': 'q * w + x', 'default_initial_value': 0.0}}, 'output_ports': "
     "{'o': "
     "{'value': 'q'}}}, 'd': {'input_ports': {'i': {}}, 'parameters': {'m': {'value': 'm * 0.2 + i', 'default_initial_value': "
     "0.3}}, "
     "'output_ports': {'o': {'value': 'm'}}}}, 'edges': {'e': {'sender': 'p', 'sender_port': 'o', 'receiver': 'd', "
     "'receiver_port': "
     "'i'}}, 'conditions': {'node_specific': {'d': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'p', 'n': 3}}}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}",
     "",
     "y",
     {"A.a", "n.w", "A.u"},
     9,
     0,
     "'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'A', 'n': 2}}"},
    {"a node that runs until it is finished",
     "'A': {'input_ports': {'v': {'default_value': 0.0}}, 'parameters': {'a': {'value': 0.9}, 'thr': {'value': 2.0}, 'u': "
     "{'value': 'u * "
     "0.7 + a + 0.05 * v', 'default_initial_value': 0.2, 'reset': 'environment_state_update'}}, 'functions': {'is_finished': "
     "{'value': 'u "
     "> thr'}}, 'output_ports': {'o': {'value': 'u * u'}}, 'repeat_until_finished': 50}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'t': {'value': 't * 0.5 + numpy.sin(x)', 'default_initial_value': 0.1}}, "
     "'output_ports': {'y': {'value': 't * t'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}, 's': {'sender': 'A', 'sender_port': 'o', "
     "'receiver': 'A', 'receiver_port': 'v', 'feedback': true}",
     "",
     "y",
     {"A.a", "A.u"},
     6,
     0},
    {"the same under a condition",
     "'A': {'input_ports': {'v': {'default_value': 0.0}}, 'parameters': {'a': {'value': 0.9}, 'thr': {'value': 2.0}, 'u': "
     "{'value': 'u * "
     "0.7 + a + 0.05 * v', 'default_initial_value': 0.2, 'reset': 'environment_state_update'}}, 'functions': {'is_finished': "
     "{'value': 'u "
     "> thr'}}, 'output_ports': {'o': {'value': 'u * u'}}, 'repeat_until_finished': 50}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'t': {'value': 't * 0.5 + numpy.sin(x)', 'default_initial_value': 0.1}}, "
     "'output_ports': {'y': {'value': 't * t'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}, 's': {'sender': 'A', 'sender_port': 'o', "
     "'receiver': 'A', 'receiver_port': 'v', 'feedback': true}",
     "",
     "y",
     {"A.a", "A.u"},
     6,
     0,
     "'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'A', 'n': 2}}"},
    {"what does not change with a parameter, and whole numbers",
     "'n': {'parameters': {'a': {'value': 0.9}, 'k': {'value': 3}, 's': {'value': '[x * k for x in range(4)][2] + "
     "math.floor(a)'}}, "
     "'output_ports': {'y': {'value': 's * 1.0 + k'}}}",
     "",
     "",
     "y",
     {"n.a"},
     2,
     0},
    {"a node that waits for a value",
     "'A': {'parameters': {'k': {'value': 0.7}, 'u': {'value': 'u + k * numpy.cos(u)', 'default_initial_value': 0.5}}, "
     "'output_ports': {'o': {'value': 'u'}}}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'s': {'value': 's * 0.5 + x * x', 'default_initial_value': 0.2}}, "
     "'output_ports': {'y': {'value': 's'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}",
     "",
     "y",
     {"A.k", "A.u", "n.s"},
     4,
     0,
     "'n': {'type': 'Threshold', 'kwargs': {'dependency': 'A', 'parameter': 'u', 'threshold': 1.1, 'comparator': '>'}}"},
    {"evaluations that end by a value",
     "'A': {'parameters': {'k': {'value': 0.7}, 'u': {'value': 'u + k * numpy.cos(u)', 'default_initial_value': 0.5}}, "
     "'output_ports': {'o': {'value': 'u'}}}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'s': {'value': 's * 0.5 + x * x', 'default_initial_value': 0.2}}, "
     "'output_ports': {'y': {'value': 's'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}",
     "",
     "y",
     {"A.k", "A.u", "n.s"},
     3,
     0,
     "'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'A', 'n': 2}}}, 'termination': {'environment_state_update': {'type': "
     "'Any', 'kwargs': {'dependencies': [{'type': 'All', 'kwargs': {'dependencies': [{'type': 'Threshold', 'kwargs': "
     "{'dependency': "
     "'n', 'parameter': 's', 'threshold': 0.9, 'comparator': '>='}}, {'type': 'AfterPass', 'kwargs': {'n': 1}}]}}, {'type': "
     "'AfterNPasses', 'kwargs': {'n': 9}}]}}"},
    {"a node that waits for another to be finished, in time",
     "'A': {'parameters': {'v': {'default_initial_value': [0.1, -0.2], 'time_derivative': '1 - v * k'}, 'k': {'value': 0.4}, "
     "'is_finished': {'value': "
     "'v[0] > 0.45'}}, 'output_ports': {'o': {'value': 'v'}}}, "
     "'n': {'input_ports': {'x': {'shape': [2]}}, 'parameters': {'w': {'value': [[1.5, 0.5], [-0.3, 0.8]]}}, 'output_ports': "
     "{'y': {'value': "
     "'numpy.matmul(w, numpy.sin(x))'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}",
     "",
     "y",
     {"A.k", "A.v"},
     8,
     0.1,
     "'n': {'type': 'WhenFinished', 'kwargs': {'dependency': 'A'}}}, 'termination': {'environment_state_update': {'type': "
     "'AfterNPasses', 'kwargs': {'n': 1}}"},
};

/* Those that draw random numbers which ways back have to draw again. */
static const struct model drawing_models[] = {
    {"steps that draw until a value ends the evaluation",
     "'n': {'parameters': {'k': {'value': 0.4}, 's': {'value': 0.3}, 'u': {'value': 'u + k + s * numpy.random.normal(0.0, 1.0)', "
     "'default_initial_value': 0.0}}, 'output_ports': {'y': {'value': 'u * k'}}}",
     "",
     "",
     "y",
     {"n.k", "n.s"},
     3,
     0,
     "}, 'termination': {'environment_state_update': {'type': 'Threshold', 'kwargs': {'dependency': 'n', 'parameter': 'u', "
     "'threshold': 1.1, 'comparator': '>'}}"},
    {"two nodes that draw, of which one waits for a value",
     "'A': {'parameters': {'k': {'value': 0.4}, 'u': {'value': 'u + k * numpy.random.normal(0.0, 1.0)', 'default_initial_value': "
     "0.1}}, 'output_ports': {'o': {'value': 'u'}}}, "
     "'n': {'input_ports': {'x': {}}, 'parameters': {'a': {'value': 0.7}, 'v': {'value': '0.9 * v + a * x * "
     "numpy.random.uniform(0.5, 1.5)', 'default_initial_value': 0.2}}, 'output_ports': {'y': {'value': 'v'}}}",
     "'e': {'sender': 'A', 'sender_port': 'o', 'receiver': 'n', 'receiver_port': 'x'}",
     "",
     "y",
     {"A.k", "n.a", "A.u", "n.v"},
     4,
     0,
     "'n': {'type': 'Any', 'kwargs': {'dependencies': [{'type': 'Threshold', 'kwargs': {'dependency': 'A', 'parameter': 'u', "
     "'threshold': 0.05, 'comparator': '>'}}, {'type': 'AfterPass', 'kwargs': {'n': 2}}]}}}, "
     "'termination': {'environment_state_update': {'type': 'AfterPass', 'kwargs': {'n': 4}}"},
    {"a draw in a branch, and one behind it",
     "'n': {'parameters': {'a': {'value': 2.0}, 'p': {'function': 'onnx::If', 'args': {'cond': 'a > 0', 'then_branch': 'b', "
     "'else_branch': 'b'}}, 'q': {'value': 'a * numpy.random.normal(0.0, 1.0)'}}, 'output_ports': {'y': {'value': 'p * q'}}}",
     "",
     "'b': {'nodes': {'m': {'parameters': {'r': {'function': 'onnx::RandomNormal', 'args': {'shape': [3], 'dtype': 11}}}, "
     "'output_ports': {'o': {'value': 'r * a * a'}}}}}",
     "y",
     {"n.a"},
     3,
     0},
    {"draws in a Loop within a Loop, and behind it",
     "'n': {'parameters': {'a': {'value': 0.5}, 'x0': {'value': [0.1, 0.2]}, 'p': {'function': 'onnx::Loop', 'args': {'M': 5, "
     "'v_initial': '[x0]', 'body': 'outer'}}}, 'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'outer': {'metadata': {'inputs': ['i', 'c', 'z'], 'outputs': ['c', 'w']}, 'nodes': {'m': {'input_ports': {'z': {}, 'i': "
     "{}, "
     "'c': {}}, 'parameters': {'q': {'function': 'onnx::Loop', 'args': {'M': 3, 'v_initial': '[z]', 'body': 'inner'}}}, "
     "'output_ports': {'w': {'value': 'q * numpy.random.uniform(0.5, 1.5)'}}}}}, "
     "'inner': {'metadata': {'inputs': ['i2', 'c2', 'zz'], 'outputs': ['c2', 'ww']}, 'nodes': {'m2': {'input_ports': {'zz': {}, "
     "'i2': {}, 'c2': {}}, 'output_ports': {'ww': {'value': 'numpy.sin(zz * a * numpy.random.normal(1.0, 0.2)) + 0.3 * zz'}}}}}",
     "y",
     {"n.a", "n.x0"},
     3,
     0},
};

#endif
