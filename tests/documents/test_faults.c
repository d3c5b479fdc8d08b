/* test_faults.c - what is said of a model that can not be loaded, compiled or evaluated: the whole line, with file, line, column
 * and the place in the model. One model a row, in YAML; a row fails as soon as a word or a position changes. */
#include "mdf_c/mdf.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NODE(text)               \
    "{m: {graphs: {g: {nodes:\n" \
    " {n:\n"                     \
    "  {" text "}}}}}}"
/* A node with a port x of two reals, and one with the expression; the same with a function; parameters, of which p goes out. */
#define PORT(expression) NODE("input_ports: {x: {default_value: [1.5, 2]}}, output_ports: {o: {value: " expression "}}")
#define CALL(function) \
    NODE("input_ports: {x: {default_value: [1.5, 2]}}, functions: {f: {function: " function "}}, output_ports: {o: {value: f}}")
/* Node b takes a value of node a into a port of so many fields. */
#define EDGE_OF(value, port)                                                                              \
    "{m: {graphs: {g: {nodes: {a: {output_ports: {o: {value: '" value "'}}}, b: {input_ports: {i: {" port \
    "}}, output_ports: {o: "                                                                              \
    "{value: i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}}}}}}"
#define PARAMETERS(text) NODE("parameters: {" text "}, output_ports: {o: {value: p}}")

/* Three nodes with conditions; b waits for a, whose k counts its runs; t of c has several values. */
#define SCHEDULED(conditions)                                                                                                   \
    "{m: {graphs: {g: {nodes:\n {a: {parameters: {k: {value: k + 1, default_initial_value: 0}, w: {value: '[k, 2]'}},\n "       \
    "output_ports: {o: {value: k}}}, b: {input_ports: {i: {}}, output_ports: {p: {value: i}}},\n c: {functions: {t: "           \
    "{function: 'onnx::TopK', args: {X: '[1.0, 2.0]', K: 1}}}, output_ports: {q: {value: 't[0]'}}}},\n edges: {e: {sender: a, " \
    "sender_port: o, receiver: b, receiver_port: i}},\n conditions: {" conditions "}}}}}"
/* Node d has a gradient of what node f computes. */
#define GRADIENT(node, args, more)                                                                       \
    "{m: {onnx_opset_version: 20, graphs: {g: {nodes: {f: {" node "},\n d: {parameters: {q: {function: " \
    "'ai.onnx.preview.training::Gradient', args: {" args "}}}, output_ports: {z: {value: q}}}}" more "}}}}"

static const struct {
    const char *model, *said; /* a warning where there is no error */
} faults[] = {
    {PORT("\"x.foo\""), "m.yaml:3:78: error: node 'n', output port 'o': 'foo' is not an attribute of an array"},
    {PORT("\"(x+1).shapee\""),
     "m.yaml:3:82: error: node 'n', output port 'o': 'shapee' is not an attribute of an array; did you mean 'shape'?"},
    {PORT("\"(x+1).sum\""), "m.yaml:3:82: error: node 'n', output port 'o': 'sum' is a method of arrays: call it"},
    {PORT("\"(x+1).summ()\""),
     "m.yaml:3:82: error: node 'n', output port 'o': 'summ' is not a method of an array; did you mean 'sum'?"},
    {PORT("\"(x+1)(2)\""), "m.yaml:3:76: error: node 'n', output port 'o': a value can not be called"},
    {PORT("\"x(2)\""), "m.yaml:3:76: error: node 'n', output port 'o': 'x' is a value, which can not be called"},
    {PORT("\"math.sin(1,2)\""), "m.yaml:3:76: error: node 'n', output port 'o': math.sin takes at most 1 argument"},
    {PORT("\"numpy.sum(1,0,None,None,True)\""),
     "m.yaml:3:76: error: node 'n', output port 'o': numpy.sum takes 'initial' by its name only: initial=..."},
    {PORT("\"numpy.max(1,0,True)\""),
     "m.yaml:3:76: error: node 'n', output port 'o': numpy.max takes 'keepdims' by its name only: keepdims=..."},
    {PORT("\"numpy.std(1,0,None,None,1)\""),
     "m.yaml:3:76: error: node 'n', output port 'o': numpy.std takes 'keepdims' by its name only: keepdims=..."},
    {PORT("\"numpy.sum(x, a=x)\""), "m.yaml:3:76: error: node 'n', output port 'o': numpy.sum got two values for argument 'a'"},
    {PORT("\"numpy.sum(x, 0, axis=0)\""),
     "m.yaml:3:76: error: node 'n', output port 'o': numpy.sum got two values for argument 'axis'"},
    {PORT("\"numpy.sum(x, axsi=0)\""),
     "m.yaml:3:89: error: node 'n', output port 'o': numpy.sum has no argument 'axsi'; its arguments are: a axis= dtype= "
     "keepdims= initial= where=; did you mean 'axis'?"},
    {PORT("\"numpy.ravel(x, order='K')\""),
     "m.yaml:3:76: error: node 'n', output port 'o': numpy.ravel: 'order' is not supported but as C or F"},
    {PORT("\"numpy.sum(x.astype('int32', casting='safe'))\""),
     "m.yaml:3:86: error: node 'n', output port 'o': numpy.astype: 'casting' is not supported but as unsafe"},
    {PORT("\"math.atan2(1)\""), "m.yaml:3:76: error: node 'n', output port 'o': math.atan2 needs the argument 'x'"},
    {PORT("\"...\""), "m.yaml:3:76: error: node 'n', output port 'o': a slice or '...' stands outside a subscript"},
    {PORT("\"1 if x > 0 else 2\""), "m.yaml:3:83: error: node 'n', output port 'o': the truth of an array with several elements "
                                    "(bool[2]) is ambiguous: use numpy.any or numpy.all"},
    {PORT("\"[i for i in 3]\""),
     "m.yaml:3:76: error: node 'n', output port 'o': a comprehension can not go through int64 scalar"},
    {NODE("input_ports: {x: {default_value: [1.5, 2]}}, functions: {f: {function: 'onnx::TopK',\n"
          " args: {X: x, K: \"[1]\"}}}, output_ports: {o: {value: 'f[2]'}}"),
     "m.yaml:4:55: error: node 'n', output port 'o': 'f' has 2 outputs: there is no output 2"},
    {CALL("'onnx::Add',\n"
          " args: {A: x}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Add needs the input 'B'"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: \"[]\", axis: 0}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Concat takes at least 1 input, not 0"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: \"[x, x]\", axis: bla}"),
     "m.yaml:4:33: error: node 'n', function 'f': name 'bla' is not known here"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: \"[x, x]\"}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Concat needs the attribute 'axis'"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Loop needs the attribute 'body'"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, body: nosuch}"),
     "m.yaml:4:21: error: node 'n', function 'f', attribute 'body': the model has no graph 'nosuch'"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, body: g}"),
     "m.yaml:4:21: error: node 'n', function 'f', attribute 'body': graph 'g' uses itself as a body: it would never end"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, body: 7}"),
     "m.yaml:4:21: error: node 'n', function 'f', attribute 'body': attribute 'body' must be a graph, an object {ID: graph}, or "
     "the id of a graph of the model"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, v_initial: [x], body: {nodes: {k: {input_ports: {a: {}}, output_ports: {c: {value: 'a'}}}}, conditions: "
          "{node_specific: {k: {type: Always}}}}}"),
     "m.yaml:4:119: error: node 'n', function 'f', attribute 'body': the body 'body' has conditions: a body runs each of its "
     "nodes once"},
    {CALL("'onnx::Scan',\n"
          " args: {initial_state_and_scan_inputs: [x], num_scan_inputs: 3, body: {nodes: {k: {input_ports: {a: {}}, "
          "output_ports: {c: {value: 'a'}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': num_scan_inputs must be between 1 and the 1 inputs given"},
    {CALL("'onnx::Scan',\n"
          " args: {initial_state_and_scan_inputs: [x], num_scan_inputs: 0, body: {nodes: {k: {input_ports: {a: {}}, "
          "output_ports: {c: {value: 'a'}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': num_scan_inputs must be between 1 and the 1 inputs given"},
    {CALL("'onnx::Scan',\n"
          " args: {initial_state_and_scan_inputs: [x], body: {nodes: {k: {input_ports: {a: {}}, output_ports: {c: {value: "
          "'a'}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Scan needs the attribute 'num_scan_inputs'"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, v_initial: [null], body: {nodes: {k: {input_ports: {a: {}}, output_ports: {c: {value: 'a'}}}}}}"),
     "m.yaml:4:40: error: node 'n', function 'f', attribute 'body': the body 'body' has 1 input, but onnx::Loop with 0 state "
     "variables needs 2: iteration number, condition, state variables; declare them in the body, in that order: metadata "
     "{\"inputs\": [...]}"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3.5, v_initial: [x], body: {nodes: {k: {input_ports: {a: {}}, output_ports: {c: {value: 'a'}}}}}}"),
     "m.yaml:4:39: error: node 'n', function 'f', attribute 'body': the body 'body' of onnx::Loop has 0 outputs that are known "
     "to be boolean, so that its condition can not be told: declare metadata {\"outputs\": [...]} in the body, in order: "
     "condition, state variables, scan outputs"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, v_initial: [x], body: {nodes: {k: {input_ports: {a: {}}, parameters: {s: {default_initial_value: 0, "
          "value: 's + 1'}}, output_ports: {c: {value: 's'}}}}}}"),
     "m.yaml:4:88: error: node 'n', function 'f', attribute 'body', node 'k', parameter 's': a parameter that keeps its value "
     "over runs can not stand in a body: carry it as a state variable of the operator"},
    {NODE("parameters: {p: {value: 1.5, metadata: {type: int64}}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:20: error: node 'n', parameter 'p': a value with a fraction (float64 scalar) does not fit the declared type "
     "int64"},
    {NODE("parameters: {p: {value: [1,2,3], metadata: {type: float32, shape: [2]}}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': there are 3 elements where the shape has 2"},
    {NODE("parameters: {p: {value: 'q', metadata: {type: float32}}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:29: error: node 'n', parameter 'p': name 'q' is not known here"},
    {NODE("parameters: {p: {value: '1/0'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:30: error: node 'n', parameter 'p': operator '/': division by zero"},
    {NODE("parameters: {p: {value: 'numpy.zeros(3) + numpy.zeros(4)'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:44: error: node 'n', parameter 'p': operator '+': shapes do not broadcast: float64[3] and float64[4]"},
    {NODE("parameters: {p: {value: 'q'}, q: {value: 'p'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:37: error: node 'n', parameter 'q': 'q' needs its own value to begin with: 'q' reads 'p', which reads 'q'; "
     "give it a default_initial_value"},
    {PARAMETERS("p: {value: null}, q: {value: 'p + 1'}"),
     "m.yaml:3:47: error: node 'n', parameter 'q': the parameter 'p' has no value; give it a value, or a "
     "default_initial_value"},
    {NODE("parameters: {p: {}}, output_ports: {o: {value: p}}"), "m.yaml:3:43: error: node 'n', output port 'o': the parameter "
                                                                 "'p' has no value; give it a value, or a default_initial_value"},
    {NODE("parameters: {variable0: null}, functions: {f: {function: linear, args: {slope: 1, intercept: 0}}}, output_ports: {o: "
          "{value: f}}"),
     "m.yaml:3:50: error: node 'n', function 'f': the parameter 'variable0' has no value; give it a value, or a "
     "default_initial_value"},
    {NODE("parameters: {p: {}, q: {value: 1}}, output_ports: {o: {value: q}}"), ""},
    {NODE("parameters: {v: {time_derivative: '-v'}}, output_ports: {o: {value: v}}"),
     "m.yaml:3:20: error: node 'n', parameter 'v': it has a time_derivative, but nothing to start at: give it a "
     "default_initial_value"},
    {EDGE_OF("[1, 2]", "shape: [3]"),
     "m.yaml:1:91: error: node 'b', input port 'i': the port has another shape than its value: declared (3,), given (2,)"},
    {EDGE_OF("[[1, 2], [3, 4]]", "shape: '(2,)'"),
     "m.yaml:1:101: error: node 'b', input port 'i': the port has another shape than its value: declared (2,), given (2, 2)"},
    {EDGE_OF("[[1, 2]]", "type: float32, shape: [null, '3']"),
     "m.yaml:1:93: error: node 'b', input port 'i': the port has another shape than its value: declared (?, 3), given (1, 2)"},
    {EDGE_OF("[1, 2]", "shape: ['3'], default_value: 0"),
     "m.yaml:1:91: error: node 'b', input port 'i': the port has another shape than its value: declared (3,), given (2,)"},
    {EDGE_OF("300", "type: uint8"),
     "m.yaml:1:88: error: node 'b', input port 'i': a number out of bounds (int64 scalar) does not "
     "fit the declared type uint8"},
    {EDGE_OF("numpy.array([1, -1])", "type: uint64"),
     "m.yaml:1:105: error: node 'b', input port 'i': a number out of bounds (int64[2]) does not fit the declared type uint64"},
    {EDGE_OF("numpy.uint64(2) ** 63", "type: int64"), "m.yaml:1:106: error: node 'b', input port 'i': a number out of bounds "
                                                      "(uint64 scalar) does not fit the declared type int64"},
    {EDGE_OF("2.0 ** 63", "type: int64"), "m.yaml:1:94: error: node 'b', input port 'i': a number out of bounds (float64 scalar) "
                                          "does not fit the declared type int64"},
    {EDGE_OF("-2.0 ** 63", "type: int64"), ""},
    {EDGE_OF("numpy.uint64(2) ** 63", "type: uint64"), ""},
    {EDGE_OF("[255, 0]", "type: uint8"), ""},
    {EDGE_OF("[-8, 7]", "type: int4"), ""},
    {EDGE_OF("str(2)", "type: int64"),
     "m.yaml:1:91: error: node 'b', input port 'i': a text (string scalar) does not fit the declared type int64"},
    {EDGE_OF("2", "type: string"),
     "m.yaml:1:86: error: node 'b', input port 'i': a number (int64 scalar) does not fit the declared type string"},
    {EDGE_OF("[1, 2]", "shape: ['2']"), ""},
    {EDGE_OF("[1, 2]", "shape: [n]"), ""},
    {EDGE_OF("7", "shape: [3]"), ""},
    {EDGE_OF("[1, 2]", "shape: [1]"), ""},
    {EDGE_OF("[1, 2]", "shape: [4, 3]"), ""},
    {EDGE_OF("[[1, 2]]", "shape: '(2,)'"), ""},
    {NODE("input_ports: {x: {shape: [3], default_value: [1, 2]}}, output_ports: {o: {value: x}}"),
     "m.yaml:3:21: error: node 'n', input port 'x': the port has another shape than its value: declared (3,), given (2,)"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: {type: EveryNCalls, "
     "dependencies: m, n: 2}}}}}}}",
     "m.yaml:1:130: error: condition of node 'n': EveryNCalls: the graph has no node 'm'"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: {type: EvryNCalls, "
     "dependency: n, n: 2}}}}}}}",
     "m.yaml:1:103: error: condition of node 'n': unknown condition 'EvryNCalls'; did you mean 'EveryNCalls'?"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: {type: EveryNCalls, "
     "dependency: n}}}}}}}",
     "m.yaml:1:96: error: condition of node 'n': EveryNCalls: the argument 'n' is missing"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {metadata: {scheduling_mode: EXACT}}}}}}",
     "m.yaml:1:105: error: 'scheduling_mode' must be \"STANDARD\" or \"EXACT_TIME\", not EXACT"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {metadata: {scheduling_mode: 2}}}}}}",
     "m.yaml:1:105: error: 'scheduling_mode' must be \"STANDARD\" or \"EXACT_TIME\", not a number"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {nn: {type: Always}}}}}}}",
     "m.yaml:1:97: error: condition of node 'nn': the graph has no node 'nn'; did you mean 'n'?"},
    {"{m: {graphs: {g: {nodes: {a: {input_ports: {i: {}}, output_ports: {o: {value: i}}}, b: {input_ports: {i: {}}, "
     "output_ports: {o: {value: i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}, d: {sender: b, "
     "receiver: a, sender_port: o, receiver_port: i}}}}}}",
     "m.yaml:1:155: error: edge 'e': nodes wait for each other in a circle: 'a' -> 'b' by edge 'e' (1:155), 'b' -> 'a' by "
     "edge 'd' (1:218); give an input port on the circle a default_value"},
    {"{m: {onnx_opset_version: 0, graphs: {g: {nodes:\n"
     " {n:\n"
     "  {input_ports: {x: {default_value: [1.5, 2]}}, functions: {f: {function: 'onnx::Abs',\n"
     " args: {X: x}}}, output_ports: {o: {value: f}}}}}}}}",
     "m.yaml:1:26: error: onnx_opset_version must be a whole number from 1 on, as a number or a string"},
    {NODE("functions: {f: {function: logistic, args: {variable0: 1, gain: 2, bias: 3}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': function 'logistic' needs the argument 'offset': give it in args"},
    {NODE("functions: {f: {function: logistic, args: {variable0: zz, gain: 2, bias: 3, offset: 0}}}, output_ports: {o: {value: "
          "f}}"),
     "m.yaml:3:58: error: node 'n', function 'f', argument 'variable0': name 'zz' is not known here"},
    {NODE("functions: {f: {value: 'a+b', args: {a: 1}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:30: error: node 'n', function 'f': name 'b' is not known here"},
    {NODE("functions: {f: {args: {a: 1}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': has neither a function nor a value"},
    {NODE("input_ports: {x: {type: int64, default_value: [1.5]}}, output_ports: {o: {value: x}}"),
     "m.yaml:3:21: error: node 'n', input port 'x': a value with a fraction (float64[1]) does not fit the declared type int64"},
    {"m: {graphs: {g: {nodes: {n: {output_ports: {\n"
     "  o: {value: '0.5, 1', type: int64}}}}}}}",
     "m.yaml:2:6: error: node 'n', output port 'o': a value with a fraction (float64[2]) does not fit the declared type int64"},
    {"{m: {graphs: {g: {nodes: {a: {output_ports: {o: {value: '[1, 2]'}}}, b: {input_ports: {i: {}}, output_ports: {o: {value: "
     "i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i, parameters: {weight: [1,2,3]}}}}}}}",
     "m.yaml:1:220: error: node 'b', input port 'i', edge 'e': operator '*': shapes do not broadcast: int64[3] and int64[2]"},
    {"{m: {graphs: {g: {nodes: {a: {output_ports: {o: {value: '[1, 2]'}}}, b: {input_ports: {i: {}}, output_ports: {o: {value: "
     "i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i, parameters: {weight: heavy}}}}}}}",
     "m.yaml:1:220: error: node 'b', input port 'i', edge 'e': name 'heavy' is not known here"},
    {PORT("\"(x+1).shape()\""),
     "m.yaml:3:82: error: node 'n', output port 'o': 'shape' is an attribute of arrays, not a method: leave out the ()"},
    {CALL(
         "'onnx::Loop',\n"
         " args: {M: 3, v_initial: [x],\n"
         " body: {metadata: {inputs: [i, c, a], outputs: [c, o]}, nodes: {k: {input_ports: {i: {}, c: {}, a: {}, b: {}}, "
         "output_ports: {o: {value: \"b\"}}}, l: {input_ports: {b: {}}, output_ports: {p: {value: \"b\"}}}}, edges: {e: {sender: "
         "k, receiver: l, sender_port: o, receiver_port: b}, d: {sender: l, receiver: k, sender_port: p, receiver_port: b}}}}"),
     "m.yaml:5:167: error: node 'n', function 'f', attribute 'body', node 'l', input port 'b': nodes "
     "of the body depend on each other in a circle (through node 'k'); carry a value over to the next iteration as a state "
     "variable"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3, v_initial: [null, x],\n"
          " body: {metadata: {inputs: [i, c, a, b], outputs: [c, a, b]}, nodes: {k: {input_ports: {i: {}, c: {}, a: {}, b: {}}, "
          "output_ports: {o: {value: \"b\"}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Loop: state variable 0 is left out: it needs an initial value"},
    {CALL("'onnx::Scan',\n"
          " args: {initial_state_and_scan_inputs: [null, x], num_scan_inputs: 1,\n"
          " body: {metadata: {inputs: [a, b], outputs: [a, b]}, nodes: {k: {input_ports: {a: {}, b: {}}, output_ports: {o: "
          "{value: \"b\"}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Scan: input 0 is left out: a body needs all its states and scan inputs"},
    {CALL("'onnx::Loop',\n"
          " args: {M: 3.5, v_initial: [x],\n"
          " body: {metadata: {inputs: [i, c, a], outputs: [c, a]}, nodes: {k: {input_ports: {i: {}, c: {}, a: {}}, output_ports: "
          "{o: {value: \"a\"}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Loop: the trip count M must be one whole number (int64)"},
    {PARAMETERS("p: {value: {type: 'seq(tensor(float))', shape: [1], data: [1]}}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': \"type\" must name an element type, as \"float32\" does"},
    {PARAMETERS("p: {value: {type: float32, shape: [3], data: [1]}}"),
     "m.yaml:3:62: error: node 'n', parameter 'p': there is 1 element where the shape has 3"},
    {PARAMETERS("p: {value: {type: uint8, shape: [1], data: [300]}}"),
     "m.yaml:3:60: error: node 'n', parameter 'p': 300 is no uint8"},
    {PARAMETERS("p: {value: {type: uint8, shape: [1], data: [a]}}"),
     "m.yaml:3:61: error: node 'n', parameter 'p': \"data\" of type uint8 holds a string"},
    {PARAMETERS("p: {value: {type: uint8, shape: [1], data: {a: 1}}}"),
     "m.yaml:3:60: error: node 'n', parameter 'p': \"data\" holds an object"},
    {PARAMETERS("p: {value: '[[1, 2], [3]] * numpy.ones(2)'}"),
     "m.yaml:3:43: error: node 'n', parameter 'p': operator '*': a list that is ragged, or not of numbers, is no array"},
    {PARAMETERS("p: {value: '[1, 2][5]'}"),
     "m.yaml:3:29: error: node 'n', parameter 'p': operator '[]': index 5 is out of range for 2 items"},
    {NODE("parameters: {p: {value: {a: 1}}, q: {value: \"p['b']\"}}, output_ports: {o: {value: q}}"),
     "m.yaml:3:49: error: node 'n', parameter 'q': operator '[]': the object has no key 'b'"},
    {PARAMETERS("p: {value: 'math.log(-1)'}"), "m.yaml:3:29: error: node 'n', parameter 'p': math.log: math domain error"},
    {PARAMETERS("p: {value: '2 - 10,35'}"),
     "m.yaml:3:33: warning: node 'n', parameter 'p': the comma parts two values, which make a list; a number with a fraction is "
     "written with a point (10.35), and a list in brackets"},
    {PARAMETERS("p: {value: 'max(1,2)'}"), ""},
    {PARAMETERS("p: {value: 1, default_initial_value: 2, time_derivative: '3'}"),
     "m.yaml:3:20: warning: node 'n', parameter 'p': its time_derivative has no effect, as it has a value too: leave one of them "
     "out"},
    {PARAMETERS("p: {default_initial_value: [1, 2, 3], time_derivative: '[1.0, 2.0]'}"),
     "m.yaml:3:72: error: node 'n', parameter 'p', initial value and 'time_derivative': numpy.add: shapes do not broadcast: "
     "float64[3] and float64[2]"},
    {PARAMETERS("p: {value: 'int([1,2])'}"), "m.yaml:3:29: error: node 'n', parameter 'p': int: does not apply to a list"},
    {PARAMETERS("p: {value: 'numpy.ones(6).reshape(4, 2)'}"),
     "m.yaml:3:29: error: node 'n', parameter 'p': numpy.ndarray.reshape: 6 elements do not fit the new shape"},
    {PARAMETERS("p: {value: 'numpy.ones((2,3)) @ numpy.ones((2,3))'}"),
     "m.yaml:3:47: error: node 'n', parameter 'p': operator '@': float64[2,3] and float64[2,3] can not be multiplied as "
     "matrices"},
    {CALL("'onnx::MatMul',\n"
          " args: {A: 'numpy.ones((2, 3))', B: x}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::MatMul: float64[2,3] and float64[2] can not be multiplied as matrices"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: '[x, x]', axis: 3}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Concat: axis 3 is out of range for an array of rank 1"},
    {PARAMETERS("p: {value: '[i for i in range(10**12)]'}"),
     "m.yaml:3:41: error: node 'n', parameter 'p': range: a range of more than 10000000 numbers"},
    {PARAMETERS("p: {value: '10**400'}"), "m.yaml:3:31: error: node 'n', parameter 'p': operator '**': the result is too large"},
    {PARAMETERS("p: {value: \"1 + 'a'\"}"),
     "m.yaml:3:31: error: node 'n', parameter 'p': operator '+': does not apply to an int and a string"},
    {CALL("'onnx::Gather',\n"
          " args: {data: x, indices: 7}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Gather: index 7 (number 0 of the indices) is out of range for axis 0 of "
     "size 2"},
    {CALL("'onnx::Conv',\n"
          " args: {X: x, W: x}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Conv: X has rank 1 and W rank 1; both need one rank, at least 3"},
    {CALL("'onnx::Cast',\n"
          " args: {input: x, to: 77}"),
     "m.yaml:4:23: error: node 'n', function 'f': attribute 'to': no element type of ONNX has the number 77"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: '[x, x]', axis: 1.5}"),
     "m.yaml:4:33: error: node 'n', function 'f': attribute 'axis' must be a whole number, not a real number"},
    {CALL("'onnx::Reshape',\n"
          " args: {data: x, shape: '[3]'}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Reshape: float64[2] has 2 elements, the new shape has 3"},
    {CALL("'onnx::If',\n"
          " args: {cond: true, then_branch: {nodes: {k: {output_ports: {o: {value: 1}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::If needs the attribute 'else_branch'"},
    {CALL("'onnx::If',\n"
          " args: {cond: x, then_branch: {nodes: {k: {output_ports: {o: {value: 1}}}}}, else_branch: {nodes: {k: {output_ports: "
          "{o: {value: 1}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::If: the condition must be one boolean"},
    {CALL("'onnx::If',\n"
          " args: {cond: true, then_branch: {nodes: {k: {output_ports: {o: {value: 1}}}}}, else_branch: {nodes: {k: "
          "{output_ports: {o: {value: 1}, p: {value: 2}}}}}}"),
     "m.yaml:3:64: error: node 'n', function 'f': the branches of onnx::If yield 1 and 2 values: they must yield the same "
     "number"},
    {"m:\n"
     "	graphs: 3",
     "m.yaml:2:1: error: a tab stands here: YAML is indented with spaces, not with tabs"},
    {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": -}}}}}",
     "m.yaml:1:40: error: graph 'g', node 'n': must be an object, not a string"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], subject_senders: MERG}}"),
     "m.yaml:6:82: error: condition of node 'b': AfterNodes: 'subject_senders' must be an operation on sets of nodes: MERGE"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], subject_senders: 7}}"),
     "m.yaml:6:82: error: condition of node 'b': AfterNodes: 'subject_senders' must be an operation on sets of nodes: KEEP, "
     "REPLACE, DISCARD, INTERSECTION, UNION, MERGE, DIFFERENCE, INVERSE_DIFFERENCE or SYMMETRIC_DIFFERENCE"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], subject_senders: {c: MERGE}}}"),
     "m.yaml:6:82: error: condition of node 'b': AfterNodes: 'subject_senders' has no operation for node 'a'"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], subject_senders: {a: MERGE, c: MERGE}}}"),
     "m.yaml:6:82: error: condition of node 'b': AfterNodes: 'subject_senders' has an operation for a node that the condition "
     "does not name"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], owner_senders: 1}}"),
     "m.yaml:6:80: error: condition of node 'b': AfterNodes: 'owner_senders' must be an operation on sets of nodes: KEEP, "
     "REPLACE, DISCARD, INTERSECTION, UNION, MERGE, DIFFERENCE, INVERSE_DIFFERENCE or SYMMETRIC_DIFFERENCE"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [a], prune_cycles: 3}}"),
     "m.yaml:6:79: error: condition of node 'b': AfterNodes: 'prune_cycles' must be true or false, not a number"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: []}}"),
     "m.yaml:6:60: error: condition of node 'b': AfterNodes: 'nodes' must name a node"},
    {SCHEDULED("node_specific: {b: {type: AfterNode, node: [a, c]}}"),
     "m.yaml:6:58: error: condition of node 'b': AfterNode: 'node' must name one node"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [b]}}"),
     "m.yaml:6:60: error: condition of node 'b': AfterNodes: the node can not be placed beside itself"},
    {SCHEDULED("node_specific: {b: {type: AfterNodes, nodes: [nosuch]}}"),
     "m.yaml:6:61: error: condition of node 'b': AfterNodes: the graph has no node 'nosuch'"},
    {SCHEDULED("node_specific: {b: {type: RemoveEdgeFrom, node: c}}"),
     "m.yaml:6:34: warning: condition of node 'b': RemoveEdgeFrom: node 'b' does not wait for 'c'"},
    {SCHEDULED("node_specific: {b: {type: All, args: [{type: AddEdgeTo, node: a}]}}"),
     "m.yaml:6:53: error: condition of node 'b': AddEdgeTo: it changes the order of nodes; it can not be part of another "
     "condition. A node may have a list of conditions"},
    {SCHEDULED("node_specific: {b: {type: Not, condition: {type: AfterNodes, nodes: [a]}}}"),
     "m.yaml:6:57: error: condition of node 'b': AfterNodes: it changes the order of nodes; it can not be part of another "
     "condition. A node may have a list of conditions"},
    {SCHEDULED("termination: {environment_state_update: {type: AfterNodes, nodes: [a]}}"),
     "m.yaml:6:55: error: termination 'environment_state_update': AfterNodes: it changes the order of nodes; it can not end an "
     "evaluation"},
    {SCHEDULED("termination: {environment_state_update: {type: EveryNCalls, dependency: a, n: 2}}"),
     "m.yaml:6:55: error: termination 'environment_state_update': EveryNCalls: it counts runs since its node ran, and a "
     "termination has no node; use AfterNCalls"},
    {SCHEDULED("termination: {environment_state_update: {type: JustRan, dependency: a}}"),
     "m.yaml:6:55: error: termination 'environment_state_update': JustRan looks at the last execution set before there is any; "
     "let another condition go before it, as All(AfterNPasses(1), JustRan(...))"},
    {SCHEDULED("termination: {pass: {type: Always}}"),
     "m.yaml:6:35: warning: termination 'pass': no evaluation ends by this: only terminations of ENVIRONMENT_STATE_UPDATE and "
     "ENVIRONMENT_SEQUENCE are looked at"},
    {SCHEDULED("termination: {environment_state_updat: {type: Always}}"),
     "m.yaml:6:54: error: termination 'environment_state_updat': there is no time scale 'environment_state_updat'; did you mean "
     "'TimeScale.ENVIRONMENT_STATE_UPDATE'?"},
    {SCHEDULED("node_specific: 3"), "m.yaml:6:30: error: 'node_specific' must be an object, not a number"},
    {SCHEDULED("node_specific: {b: 3}"),
     "m.yaml:6:34: error: condition of node 'b': a condition is an object with a 'type' and its 'kwargs', not a number"},
    {SCHEDULED("node_specific: {b: {kind: Always}}"), "m.yaml:6:34: error: condition of node 'b': a condition is an object with "
                                                      "a 'type' and its 'kwargs', not an object without a 'type'"},
    {SCHEDULED("node_specific: {b: {type: 3}}"), "m.yaml:6:34: error: condition of node 'b': a condition is an object with a "
                                                 "'type' and its 'kwargs', not an object without a 'type'"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, n: 0}}"),
     "m.yaml:6:58: error: condition of node 'b': EveryNPasses: 'n' must not be 0: every n-th pass is meant"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, n: many}}"),
     "m.yaml:6:58: error: condition of node 'b': EveryNPasses: 'n' must be a number, not a string"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, n: 1, m: 2}}"),
     "m.yaml:6:64: error: condition of node 'b': EveryNPasses: the condition has no argument 'm'; its arguments are: n, "
     "time_scale"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, args: [1], kwargs: {n: 2}}}"),
     "m.yaml:6:61: error: condition of node 'b': EveryNPasses: the argument 'n' is given twice"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, args: [1, RUN, 3]}}"),
     "m.yaml:6:70: error: condition of node 'b': EveryNPasses: more arguments than the condition has"},
    {SCHEDULED("node_specific: {b: {type: EveryNPasses, n: 1, time_scale: EON}}"),
     "m.yaml:6:73: error: condition of node 'b': there is no time scale 'EON'; did you mean "
     "'TimeScale.ENVIRONMENT_STATE_UPDATE'?"},
    {SCHEDULED("node_specific: {b: {type: EveryNCalls, dependency: 5, n: 1}}"),
     "m.yaml:6:66: error: condition of node 'b': EveryNCalls: the graph has no node '5'"},
    {SCHEDULED("node_specific: {b: {type: Condition, func: f}}"),
     "m.yaml:6:34: error: condition of node 'b': Condition: the condition is a function of Python, which a model file can "
     "not hold: say it by conditions that it can, such as EveryNCalls, AfterNCalls, Threshold, or All, Any and Not of them"},
    {SCHEDULED("node_specific: {b: {type: While}}"),
     "m.yaml:6:34: error: condition of node 'b': Condition: the condition is a function of Python, which a model file can "
     "not hold: say it by conditions that it can, such as EveryNCalls, AfterNCalls, Threshold, or All, Any and Not of them"},
    {SCHEDULED("node_specific: {b: {type: CompositeCondition}}"),
     "m.yaml:6:34: error: condition of node 'b': CompositeCondition: the condition is a function of Python, which a model "
     "file can not hold: say it by conditions that it can, such as EveryNCalls, AfterNCalls, Threshold, or All, Any and Not "
     "of them"},
    {SCHEDULED("node_specific: {b: {type: Not}}"),
     "m.yaml:6:34: error: condition of node 'b': Not: the argument 'condition' is missing"},
    {SCHEDULED("node_specific: {b: {type: Not, condition: 5}}"),
     "m.yaml:6:57: error: condition of node 'b': Not: 'condition' must be a condition, not a number"},
    {SCHEDULED("node_specific: {b: {type: All, kwargs: {x: 5}}}"),
     "m.yaml:6:58: error: condition of node 'b': All: 'x' must be a list of conditions, not a number"},
    {SCHEDULED("node_specific: {b: {type: All, args: [5]}}"),
     "m.yaml:6:52: error: condition of node 'b': All: 'args' must be a list of conditions, not a list of numbers"},
    {SCHEDULED("node_specific: {b: {type: NWhen, condition: {type: Always}, n: x}}"),
     "m.yaml:6:78: error: condition of node 'b': NWhen: 'n' must be a number, not a string"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1, unit: 5}}"),
     "m.yaml:6:72: error: condition of node 'b': TimeInterval: 'unit', a number, is not a unit of time: s, ms, us, ns, minute, "
     "hour, day, ..."},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 0}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat' must be positive"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: -1}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat' must be positive"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: often}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat', often, can not be read as a time: the unit is not one "
     "of time: s, ms, us, ns, minute, hour, day, or their full names"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1 parsec}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat', 1 parsec, can not be read as a time: the unit is not "
     "one of time: s, ms, us, ns, minute, hour, day, or their full names"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: [1]}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat', a list, can not be read as a time: a time is a number, "
     "or a text like \"20 ms\""},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, start: 2, end: 1}}"),
     "m.yaml:6:62: error: condition of node 'b': TimeInterval: 'start' is later than 'end'"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval}}"),
     "m.yaml:6:34: error: condition of node 'b': TimeInterval: one of 'repeat', 'start' and 'end' must be given"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1, start_inclusive: 7}}"),
     "m.yaml:6:83: error: condition of node 'b': TimeInterval: 'start_inclusive' must be true or false, not a number"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1e300}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat', 1e300, can not be read as a time: the number is "
     "malformed, or has too many digits to be counted exactly"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1e-30}}"),
     "m.yaml:6:63: error: condition of node 'b': TimeInterval: 'repeat', 1e-30, can not be read as a time: the number is "
     "malformed, or has too many digits to be counted exactly"},
    {SCHEDULED("node_specific: {b: {type: TimeInterval, repeat: 1, start: 1e400}}"),
     "m.yaml:6:73: error: condition of node 'b': TimeInterval: 'start', 1e400, can not be read as a time: the number is "
     "malformed, or has too many digits to be counted exactly"},
    {SCHEDULED("termination: {environment_state_update: {type: TimeTermination}}"),
     "m.yaml:6:55: error: termination 'environment_state_update': TimeTermination: the argument 't' is missing"},
    {SCHEDULED("termination: {environment_state_update: {type: TimeTermination, t: x}}"),
     "m.yaml:6:82: error: termination 'environment_state_update': TimeTermination: 't', x, can not be read as a time: the unit "
     "is not one of time: s, ms, us, ns, minute, hour, day, or their full names"},
    {SCHEDULED("termination: {environment_state_update: {type: TimeTermination, t: 1, inclusive: 0.5}}"),
     "m.yaml:6:96: error: termination 'environment_state_update': TimeTermination: 'inclusive' must be true or false, not a real "
     "number"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: 1, comparator: '~'}}"),
     "m.yaml:6:107: error: condition of node 'b': Threshold: 'comparator' must be one of <, <=, ==, !=, >, >="},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: 1, comparator: 5}}"),
     "m.yaml:6:107: error: condition of node 'b': Threshold: 'comparator' must be one of <, <=, ==, !=, >, >="},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: big, comparator: '>'}}"),
     "m.yaml:6:92: error: condition of node 'b': Threshold: 'threshold' must be a number, not a string"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: 5, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:78: error: condition of node 'b': Threshold: 'parameter' must be the name of a port, parameter or function"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: kk, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:78: error: condition of node 'b': Threshold: node 'a' has no port, parameter or function 'kk'; did you mean 'k'?"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: c, parameter: t, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:78: error: condition of node 'b': Threshold: 't' has several values; name an output port that holds one"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: [a, c], parameter: k, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:64: error: condition of node 'b': Threshold: a node is named by its id, not by a list"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: nosuch, parameter: k, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:64: error: condition of node 'b': Threshold: the graph has no node 'nosuch'"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: w, indices: x, threshold: 1, comparator: '>'}}"),
     "m.yaml:6:90: error: condition of node 'b': Threshold: 'indices' must be whole numbers, not a string"},
    {SCHEDULED(
         "node_specific: {b: {type: Threshold, dependency: a, parameter: w, indices: [0.5], threshold: 1, comparator: '>'}}"),
     "m.yaml:6:90: error: condition of node 'b': Threshold: 'indices' must be whole numbers, not a real number"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: 1, comparator: '>', atol: 1}}"),
     "m.yaml:6:34: warning: condition of node 'b': tolerances are ignored by the comparators <, <=, > and >="},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: 1, comparator: '==', rtol: x}}"),
     "m.yaml:6:119: error: condition of node 'b': Threshold: 'rtol' must be a number, not a string"},
    {SCHEDULED("node_specific: {b: {type: Threshold, dependency: a, parameter: k, threshold: 1, comparator: '>', "
               "custom_parameter_getter: f}}"),
     "m.yaml:6:34: error: condition of node 'b': Threshold: custom_parameter_getter and custom_parameter_validator are functions "
     "of Python, which a model file can not hold"},
    {SCHEDULED("node_specific: {b: {type: WhenFinished, dependency: 3}}"),
     "m.yaml:6:67: error: condition of node 'b': WhenFinished: the graph has no node '3'"},
    {SCHEDULED("node_specific: {b: {type: AllHaveRun, dependencies: [a, 3]}}"),
     "m.yaml:6:71: error: condition of node 'b': AllHaveRun: the graph has no node '3'"},
    {SCHEDULED("node_specific: [1]"), "m.yaml:6:30: error: 'node_specific' must be an object, not a list"},
    {SCHEDULED("node_specific: {b: {type: AtPass, n: 1, time_scale: TIME_STEP}}"),
     "m.yaml:6:67: error: condition of node 'b': there is no time scale 'TIME_STEP'; did you mean "
     "'TimeScale.CONSIDERATION_SET_EXECUTION'?"},
    {SCHEDULED("node_specific: {b: {type: AtPass, n: 1, time_scale: 3}}"),
     "m.yaml:6:67: error: condition of node 'b': AtPass: 'time_scale' must be a string like \"TimeScale.LIFE\", not a number"},
    {SCHEDULED("node_specific: {b: {type: JustRan, dependency: [a, c]}}"),
     "m.yaml:6:62: error: condition of node 'b': JustRan: a node is named by its id, not by a list"},
    {SCHEDULED("node_specific: {b: {type: JustRan, dependency: []}}"),
     "m.yaml:6:62: error: condition of node 'b': JustRan: a node is named by its id, not by a list"},
    {SCHEDULED("node_specific: {b: {type: AfterNCallsCombined, dependencies: a}}"),
     "m.yaml:6:34: error: condition of node 'b': AfterNCallsCombined: the argument 'n' is missing"},
    {SCHEDULED("node_specific: {b: {type: AddEdgeTo, node: a}, a: {type: AddEdgeTo, node: b}}"),
     "m.yaml:5:13: error: edge 'e': nodes wait for each other in a circle: 'a' -> 'b' by edge 'e' (5:13), 'b' -> 'a'; give "
     "an input port on the circle a default_value (or take back the condition that closes it: BeforeNode, WithNode, "
     "AfterNode, AddEdgeTo)"},
    {SCHEDULED("node_specific: {b: [{type: AfterNode, node: c, reconnect_non_subject_receivers: 5}]}"),
     "m.yaml:6:95: error: condition of node 'b': AfterNode: 'reconnect_non_subject_receivers' must be true or false, not a "
     "number"},
    {NODE("output_ports: {o: {value: numpy.sum}}"),
     "m.yaml:3:30: error: node 'n', output port 'o': the function 'numpy.sum' is not a value: call it"},
    {NODE("output_ports: {o: {value: math.sin + 1}}"),
     "m.yaml:3:30: error: node 'n', output port 'o': the function 'math.sin' is not a value: call it"},
    {NODE("parameters: {p: {value: [[1, 2], [3]]}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': the rows of a list have different lengths: it is not an array"},
    {NODE("input_ports: {x: {shape: [null, 2], type: float32}}, output_ports: {o: {value: x}}"),
     "m.yaml:3:21: error: node 'n', input port 'x': the port has no value, and its declared shape can not be filled with zeros "
     "(an open axis, or too many elements)"},
    {NODE("parameters: {p: {value: 'a\\0b'}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:30: error: node 'n', parameter 'p': expression 'a\\0b': unexpected '\\' at column 2"},
    {NODE("functions: {f: {function: 'onnx::Split', args: {input: '[1.0, 2.0]', split: '[1, 1]'}}}, parameters: {i: {value: 0}}, "
          "output_ports: {o: {value: 'f[i]'}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Split: its outputs can not be a list, because their number is not known "
     "before it runs: index them by numbers from 0 on"},
    {"{m: {graphs: {g: {metadata: {inputs: [idle], outputs: [o]}, nodes: {n: {output_ports: {o: {value: idle}}}}}}}}",
     "m.yaml:1:39: error: the graph's input 'idle' has no value; give it one (mdf-run --input idle=VALUE), or its port a "
     "default_value"},
    {NODE("functions: {f: {function: 'onnx::If',\n args: {cond: true, then_branch: {nodes: {k: {}}}, else_branch: {nodes: {k: "
          "{}}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:34: error: node 'n', function 'f', attribute 'then_branch': the branch 'then_branch' of onnx::If yields nothing"},
    {NODE("functions: {f: {function: 'onnx::If',\n args: {cond: true, then_branch: {nodes: {k: {output_ports: {o: {value: "
          "1}}}}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::If needs the attribute 'else_branch'"},
    {NODE("functions: {f: {function: 'onnx::If',\n args: {cond: true, then_branch: {metadata: {outputs: [z]}, nodes: {k: "
          "{output_ports: {o: {value: 1}}}}}, else_branch: {nodes: {k: {output_ports: {o: {value: 1}}}}}}}}, output_ports: {o: "
          "{value: f}}"),
     "m.yaml:4:56: error: node 'n', function 'f', attribute 'then_branch', output 'z': the body 'then_branch' declares an output "
     "'z', but has neither an output port nor an input of that name"},
    {NODE("functions: {f: {function: 'onnx::If',\n args: {cond: true, then_branch: {nodes: {k: {input_ports: {zz: {}}, "
          "output_ports: {o: {value: zz}}}}}, else_branch: {nodes: {k: {output_ports: {o: {value: 1}}}}}}}}, output_ports: {o: "
          "{value: f}}"),
     "m.yaml:4:65: error: node 'n', function 'f', attribute 'then_branch', input port 'zz': nothing gives this port of the body "
     "a value: no edge, no input of the body and no outer name 'zz'"},
    {NODE("functions: {f: {function: 'onnx::Loop',\n args: {M: 3, v_initial: ['1'], body: {metadata: {inputs: [i, c, x], "
          "outputs: [d, x]}, nodes: {s: {output_ports: {d: {value: '[i, i] == 2'}}}}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: warning: node 'n', function 'f': the loop has no condition input, but its body yields a condition that may be "
     "false: it is ignored, as the ONNX standard says, where ONNX Runtime obeys it; give the loop the condition input true, or "
     "say which is meant: --loop-condition standard or obey (loop_condition)"},
    {NODE(
         "functions: {f: {function: 'onnx::Loop',\n args: {M: 3, v_initial: ['1'], body: {metadata: {inputs: [i, c, x], outputs: "
         "[d, x]}, nodes: {s: {input_ports: {i: {}}, output_ports: {d: {value: 'i < 2'}}}}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: warning: node 'n', function 'f': the loop has no condition input, but its body yields a condition that may be "
     "false: it is ignored, as the ONNX standard says, where ONNX Runtime obeys it; give the loop the condition input true, or "
     "say which is meant: --loop-condition standard or obey (loop_condition)"},
    {NODE("functions: {f: {function: 'onnx::Loop',\n args: {M: 3, v_initial: ['1'], body: {metadata: {inputs: [i, c, x], "
          "outputs: [c]}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:39: error: node 'n', function 'f', attribute 'body': the body 'body' has 1 output, but onnx::Loop with 1 state "
     "variable needs 2 or more: condition, state variables, scan outputs"},
    {NODE("functions: {f: {function: 'onnx::Loop',\n args: {M: 3, v_initial: ['1'], body: {metadata: {inputs: [i, c, x, y, z], "
          "outputs: [c, x]}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:39: error: node 'n', function 'f', attribute 'body': the body 'body' has 5 inputs, but onnx::Loop with 1 state "
     "variable needs 3: iteration number, condition, state variables"},
    {NODE("functions: {f: {function: 'onnx::Loop',\n args: {M: 3, v_initial: ['1'], body: {metadata: {inputs: [5], outputs: [c, "
          "x]}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:39: error: node 'n', function 'f', attribute 'body': the body 'body' has 0 inputs, but onnx::Loop with 1 state "
     "variable needs 3: iteration number, condition, state variables; declare them in the body, in that order: metadata "
     "{\"inputs\": [...]}"},
    {"m:\n  generating_application: PsyNeuLink v0.21\n  graphs:\n    g:\n      nodes:\n        n: {metadata: {type: "
     "RecurrentTransferMechanism, matrix: RandomConnectivityMatrix}, input_ports: {n_RECURRENT: {}}, output_ports: {o: {value: "
     "n_RECURRENT, metadata: {variable: [0.0, 0.0]}}}}\n",
     "m.yaml:6:12: error: the matrix of the recurrent projection of node 'n' is not known: give its parameter 'matrix' the "
     "elements, or let mdf_c.psyneulink export the model"},
    {"m:\n  generating_application: PsyNeuLink v0.21\n  graphs:\n    g:\n      nodes:\n        n: {metadata: {type: "
     "TransferMechanism, integrator_mode: true, termination_comparison_op: '>=', termination_measure: mode}, input_ports: {x: "
     "{}}, functions: {f: {value: x}}, parameters: {termination_threshold: {value: 1}}, output_ports: {o: {value: f}}}\n",
     "m.yaml:6:12: error: the termination measure of node 'n' is not known; use a Distance, max, min, sum, mean, or a time "
     "scale"},
    {NODE("output_ports: {o: {value: 1}}, repeat_until_finished: 0"),
     "m.yaml:3:58: error: graph 'g', node 'n': 'repeat_until_finished' is the greatest number of runs, from 1 on"},
    {NODE("output_ports: {o: {value: 1}}, repeat_until_finished: 3"),
     "m.yaml:3:58: error: node 'n': it is to run until it is finished: give it a function 'is_finished'"},
    {NODE("parameters: {p: {value: p + 1, default_initial_value: 0, reset: trial}}"),
     "m.yaml:3:68: error: graph 'g', node 'n', parameter 'p': 'reset' has one meaning, \"environment_state_update\", and this is "
     "none"},
    {NODE("functions: {f: {function: 'onnx::Loop',\n args: {M: '[1.0, 2.0]', v_initial: ['1'], body: {metadata: {inputs: [i, c, "
          "x], outputs: [c, x]}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Loop: the trip count M must be one whole number (int64)"},
    {NODE("functions: {f: {function: 'onnx::Scan',\n args: {initial_state_and_scan_inputs: ['1', '[1, 2]'], num_scan_inputs: 1, "
          "scan_input_axes: [3], body: {metadata: {inputs: [s, x], outputs: [s, x]}, nodes: {}}}}}, output_ports: {o: {value: "
          "f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Scan: axis 3 is out of range for an array of rank 1"},
    {NODE("functions: {f: {function: 'onnx::Scan',\n args: {initial_state_and_scan_inputs: ['1', '2'], num_scan_inputs: 1, body: "
          "{metadata: {inputs: [s, x], outputs: [s, x]}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Scan: scan input 0 is a scalar: it has no axis to scan"},
    {NODE("functions: {f: {function: 'onnx::Scan',\n args: {initial_state_and_scan_inputs: ['1', '[1, 2]'], num_scan_inputs: 1, "
          "body: {metadata: {inputs: [s, x], outputs: []}, nodes: {}}}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:83: error: node 'n', function 'f', attribute 'body': the body 'body' has 0 outputs, but onnx::Scan with 1 state "
     "variable and 1 scan input needs 1 or more: state variables, scan outputs"},
    {NODE("functions: {f: {function: 'onnx::Scan',\n args: {initial_state_and_scan_inputs: ['1', '[1, 2]'], num_scan_inputs: 1, "
          "scan_input_directions: [2], body: {metadata: {inputs: [s, x], outputs: [s]}, nodes: {}}}}}, output_ports: {o: {value: "
          "f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Scan: scan_input_directions must be 0 (forward) or 1 (reverse), not 2"},
    {NODE("functions: {f: {function: {name: q}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:30: error: graph 'g', node 'n', function 'f': the arguments of a function are an object"},
    {NODE("functions: {f: {function: linear, value: 3}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': function 'linear' needs the argument 'variable0': give it in args"},
    {NODE("functions: {f: {function: linear, args: 3}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:44: error: graph 'g', node 'n', function 'f': 'args' must be an object, not a number"},
    {NODE("functions: {f: {function: linear, args: {slope: 1, slop: 2, variable0: 1, intercept: 0}}}, output_ports: {o: {value: "
          "f}}"),
     "m.yaml:3:61: warning: node 'n', function 'f', argument 'slop': function 'linear' has no such argument: it is ignored; did "
     "you mean 'slope'?"},
    {NODE("functions: {f: {function: 'onnx::Clip', args: {input: 1.0, low: 2}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:63: warning: node 'n', function 'f': onnx::Clip has no input or attribute 'low'; it is ignored"},
    {NODE("functions: {f: {function: 'onnx::Constant', args: {value_int: 'k'}}}, parameters: {k: {value: k + 1, "
          "default_initial_value: 1}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:66: error: node 'n', function 'f': 'k' changes while the model runs; a constant is needed here"},
    {NODE("functions: {f: {function: 'onnx::Concat', args: {inputs: '[[1], [2]]', axis: k}}}, parameters: {k: {value: k + 1, "
          "default_initial_value: 1}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:81: error: node 'n', function 'f': 'k' changes while the model runs; a constant is needed here"},
    {NODE("functions: {f: {function: 'onnx::Concat', args: {inputs: '[[1], [2]]', axis: 0.5}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:81: error: node 'n', function 'f': attribute 'axis' must be a whole number, not a real number"},
    {NODE("functions: {f: {function: 'onnx::Transpose', args: {data: '[[1.5, 2]]', perm: [0.5, 1]}}}, output_ports: {o: {value: "
          "f}}"),
     "m.yaml:3:82: error: node 'n', function 'f': attribute 'perm' must be a list of whole numbers, not one with other items"},
    {NODE("functions: {f: {function: 'onnx::Cast', args: {input: 1.0, to: 99}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:67: error: node 'n', function 'f': attribute 'to': no element type of ONNX has the number 99"},
    {NODE("functions: {f: {function: 'onnx::Elu', args: {X: 1.0, alpha: text}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:65: error: node 'n', function 'f': name 'text' is not known here"},
    {NODE("functions: {f: {function: 'onnx::Add', args: {A: 'numpy.ones((2, 3), dtype=numpy.float32)', B: 'numpy.ones((4,), "
          "dtype=numpy.float64)'}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::Add: inputs 'A' (float32[2,3]) and 'B' (float64[4]) have different "
     "types; use Cast"},
    {NODE("functions: {f: {function: 'onnx::MatMul', args: {A: 'numpy.ones((2, 3))', B: 'numpy.ones((4, 5))'}}}, output_ports: "
          "{o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': onnx::MatMul: float64[2,3] and float64[4,5] can not be multiplied as matrices"},
    {NODE("parameters: {p: {value: 2, conditions: {c: {test: 'p > 1', value: q}}}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:70: error: node 'n', parameter 'p', condition 'c': name 'q' is not known here"},
    {NODE("parameters: {p: {value: 2, conditions: {c: {test: 'q > 1', value: 1}}}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:55: error: node 'n', parameter 'p', condition 'c': name 'q' is not known here"},
    {NODE("parameters: {v: {default_initial_value: 1, time_derivative: 'q'}}, output_ports: {o: {value: v}}"),
     "m.yaml:3:65: error: node 'n', parameter 'v': name 'q' is not known here"},
    {NODE("parameters: {v: {default_initial_value: q, time_derivative: '1'}}, output_ports: {o: {value: v}}"),
     "m.yaml:3:44: error: node 'n', parameter 'v': name 'q' is not known here"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: 'x * 2 if x[0] > 1 else x'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of what is chosen, kept or gone through item by item "
     "(node 'f', output port 'y')"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: '[i * 2 for i in x]'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of what is chosen, kept or gone through item by item "
     "(node 'f', output port 'y')"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: x * 2}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ", conditions: {node_specific: {f: {type: Always}}}"),
     "m.yaml:2:22: error: node 'd', parameter 'q': there are derivatives only in a graph without conditions"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}, k: {value: k + x, default_initial_value: 0.0}}, output_ports: {o: {value: "
              "x}, y: {value: k * 2}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of what is chosen, kept or gone through item by item "
     "(node 'f', parameter 'k')"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}, t: {function: 'onnx::BitCast', args: {input: x, to: 7}}}, output_ports: {o: "
              "{value: x}, y: {value: t}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of onnx::BitCast by its input 1 (node 'f', parameter "
     "'t')"},
    {GRADIENT(
         "parameters: {x: {value: [1.5, 2.0]}, t: {function: 'onnx::If', args: {cond: true, then_branch: b, else_branch: b}}}, "
         "output_ports: {o: {value: x}, y: {value: t}}",
         "Inputs: ['[1.0]'], xs: [o], y: y",
         "}, b: {metadata: {inputs: [], outputs: [z]}, nodes: {k: {parameters: {r: {function: 'onnx::RandomNormal', args: "
         "{shape: "
         "[1]}}}, output_ports: {z: {value: x * r}}}}"),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of a branch, or of a body within another, that draws "
     "random numbers (RandomNormal): they would have to be drawn again"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: x * 2}}",
              "Inputs: ['[1.0]'], xs: [o]", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': ai.onnx.preview.training::Gradient needs the attribute 'y'"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: x * 2}}", "Inputs: ['[1.0]'], y: y",
              ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': ai.onnx.preview.training::Gradient needs the attribute 'xs'"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: x * 2}}",
              "Inputs: ['[1.0]'], xs: [5], y: y", ""),
     "m.yaml:2:101: error: node 'd', parameter 'q': attribute 'xs' must be a list of strings, not one with other items"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: '[i * nope for i in x]'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:1:140: error: node 'f', output port 'y': name 'nope' is not known here"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: x * 2}}",
              "Inputs: ['[1.0]'], xs: [nosuch], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': the graph has no value 'nosuch' to derive by"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: 'x if x[0] > 1 else x'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of what is chosen, kept or gone through item by item "
     "(node 'f', output port 'y')"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: 'math.frexp(x[0])'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of math.frexp by its input 1 (node 'f', output port "
     "'y')"},
    {GRADIENT("parameters: {x: {value: [1.5, 2.0]}}, output_ports: {o: {value: x}, y: {value: 'x[0] and x[1]'}}",
              "Inputs: ['[1.0]'], xs: [o], y: y", ""),
     "m.yaml:2:22: error: node 'd', parameter 'q': there is no derivative of what is chosen, kept or gone through item by item "
     "(node 'f', output port 'y')"},
};

static void keep_first(void *context, const mdf_error *warning)
{
    mdf_error *first = context;

    *first = first->code == MDF_OK ? *warning : *first;
}

/* What loading, compiling and one evaluation say; "" where all goes well. */
static void judge(const char *text, char *said, size_t size)
{
    mdf_error first = {0};
    mdf_options options = {.warning = keep_first, .warning_context = &first};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "yaml", "m.yaml", &options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    if (state != NULL) {
        mdf_evaluate(state, 0, &error);
    }
    said[0] = '\0';
    if (error.code != MDF_OK) {
        mdf_error_format(&error, said, size);
    } else if (state != NULL && first.message[0] != '\0') {
        snprintf(said, size, "%s:%d:%d: warning: %s: %s", first.file, first.line, first.column, first.path, first.message);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}

Test(faults, are_told_with_their_place)
{
    char said[2600];
    size_t i;

    for (i = 0; i < sizeof faults / sizeof *faults; i++) {
        judge(faults[i].model, said, sizeof said);
        cr_expect_str_eq(said, faults[i].said, "%s\nsays      %s\nnot       %s", faults[i].model, said, faults[i].said);
    }
}

/* Where a piece of memory is refused, that is told, or the same fault: of each model some pieces, of all together any. */
Test(faults, are_not_told_where_memory_is_missing)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        expect_pieces_refused(faults[i].model,
                              &(struct piece_run){.format = "yaml", .steps = 1, .dt = 0, .first = 1 + 7 * i % 11, .stride = 11});
    }
}

/* Nothing is nested, repeated or given without bound. */
Test(faults, limits_are_told)
{
    static const struct {
        const char *before, *repeated, *middle, *after, *end, *said; /* `repeated` and `after` 101 times */
    } cases[] = {
        {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: ",
         "{type: Not, condition: ", "{type: Always}", "}", "}}}}}}",
         "condition of node 'n': conditions are nested more than 100 deep"},
        {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: \"max(0", ", 1", ")\"", "", "}}}}}}}}",
         "m.yaml:1:58: error: node 'n', output port 'o': max takes at most 64 arguments: give it a list"},
    };
    char said[2600], text[5000];
    size_t i, j;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(text, cases[i].before);
        for (j = 0; j < 101; j++) {
            strcat(text, cases[i].repeated);
        }
        strcat(text, cases[i].middle);
        for (j = 0; j < 101; j++) {
            strcat(text, cases[i].after);
        }
        strcat(text, cases[i].end);
        judge(text, said, sizeof said);
        cr_expect(strstr(said, cases[i].said) != NULL, "case %zu: %s", i, said);
    }
}
