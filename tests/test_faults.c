/* test_faults.c - what is said of a model that can not be loaded, compiled or evaluated: the whole line, with file, line, column
 * and the place in the model. One model a row, in YAML; a row fails as soon as a word or a position changes. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
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

static const struct {
    const char *model, *said;
} faults[] = {
    {PORT("\"x.foo\""), "m.yaml:3:75: error: node 'n', output port 'o': 'foo' is not an attribute of an array"},
    {PORT("\"(x+1).shapee\""),
     "m.yaml:3:75: error: node 'n', output port 'o': 'shapee' is not an attribute of an array; did you mean 'shape'?"},
    {PORT("\"(x+1).sum\""), "m.yaml:3:75: error: node 'n', output port 'o': 'sum' is a method of arrays: call it"},
    {PORT("\"(x+1).summ()\""),
     "m.yaml:3:75: error: node 'n', output port 'o': 'summ' is not a method of an array; did you mean 'sum'?"},
    {PORT("\"(x+1)(2)\""), "m.yaml:3:75: error: node 'n', output port 'o': a value can not be called"},
    {PORT("\"x(2)\""), "m.yaml:3:75: error: node 'n', output port 'o': 'x' is a value, which can not be called"},
    {PORT("\"math.sin(1,2)\""), "m.yaml:3:75: error: node 'n', output port 'o': math.sin takes at most 1 argument"},
    {PORT("\"numpy.sum(x, a=x)\""), "m.yaml:3:75: error: node 'n', output port 'o': numpy.sum got two values for argument 'a'"},
    {PORT("\"numpy.sum(x, 0, axis=0)\""),
     "m.yaml:3:75: error: node 'n', output port 'o': numpy.sum got two values for argument 'axis'"},
    {PORT("\"numpy.sum(x, axsi=0)\""), "m.yaml:3:75: error: node 'n', output port 'o': numpy.sum has no argument 'axsi'; its "
                                       "arguments are: a axis= dtype= keepdims="},
    {PORT("\"math.atan2(1)\""), "m.yaml:3:75: error: node 'n', output port 'o': math.atan2 needs the argument 'x'"},
    {PORT("\"...\""), "m.yaml:3:75: error: node 'n', output port 'o': a slice or '...' stands outside a subscript"},
    {PORT("\"1 if x > 0 else 2\""), "m.yaml:3:75: error: node 'n', output port 'o': the truth of an array with several elements "
                                    "(bool[2]) is ambiguous: use numpy.any or numpy.all"},
    {PORT("\"[i for i in 3]\""),
     "m.yaml:3:75: error: node 'n', output port 'o': a comprehension can not go through int64 scalar"},
    {NODE("input_ports: {x: {default_value: [1.5, 2]}}, functions: {f: {function: 'onnx::TopK',\n"
          " args: {X: x, K: \"[1]\"}}}, output_ports: {o: {value: 'f[2]'}}"),
     "m.yaml:4:54: error: node 'n', output port 'o': 'f' has 2 outputs: there is no output 2"},
    {CALL("'onnx::Add',\n"
          " args: {A: x}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Add needs the input 'B'"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: \"[]\", axis: 0}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Concat takes at least 1 input, not 0"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: \"[x, x]\", axis: bla}"),
     "m.yaml:4:33: error: node 'n', function 'f': name 'bla' is not known here; did you mean 'all'?"},
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
     "m.yaml:4:40: error: node 'n', function 'f', attribute 'body': the body 'body' has 1 inputs, but onnx::Loop with 0 state "
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
     "m.yaml:3:28: error: node 'n', parameter 'p': name 'q' is not known here"},
    {NODE("parameters: {p: {value: '1/0'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '/': division by zero"},
    {NODE("parameters: {p: {value: 'numpy.zeros(3) + numpy.zeros(4)'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '+': shapes do not broadcast: float64[3] and float64[4]"},
    {NODE("parameters: {p: {value: 'q'}, q: {value: 'p'}}, output_ports: {o: {value: 1}}"),
     "m.yaml:3:37: error: node 'n', parameter 'q', parameter 'p', parameter 'q': 'q' needs its own value (through what it refers "
     "to) before it has one: give it a default_initial_value"},
    {PARAMETERS("p: {value: null}, q: {value: 'p + 1'}"),
     "m.yaml:3:46: error: node 'n', parameter 'q': the parameter 'p' has no value; give it a value, or a default_initial_value"},
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
     "m.yaml:1:130: error: condition of node 'n': EveryNCalls: the graph has no node 'm'; did you mean 'n'?"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: {type: EvryNCalls, "
     "dependency: n, n: 2}}}}}}}",
     "m.yaml:1:103: error: condition of node 'n': unknown condition 'EvryNCalls'; did you mean 'EveryNCalls'?"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {n: {type: EveryNCalls, "
     "dependency: n}}}}}}}",
     "m.yaml:1:96: error: condition of node 'n': EveryNCalls: the argument 'n' is missing"},
    {"{m: {graphs: {g: {nodes: {n: {output_ports: {o: {value: 1}}}}, conditions: {node_specific: {nn: {type: Always}}}}}}}",
     "m.yaml:1:97: error: condition of node 'nn': the graph has no node 'nn'; did you mean 'n'?"},
    {"{m: {graphs: {g: {nodes: {a: {input_ports: {i: {}}, output_ports: {o: {value: i}}}, b: {input_ports: {i: {}}, "
     "output_ports: {o: {value: i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}, d: {sender: b, "
     "receiver: a, sender_port: o, receiver_port: i}}}}}}",
     "m.yaml:1:5: error: nodes wait for each other in a circle: 'a', 'b'; give an input port on the circle a default_value"},
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
     "m.yaml:3:27: error: node 'n', function 'f': name 'b' is not known here; did you mean 'a'?"},
    {NODE("functions: {f: {args: {a: 1}}}, output_ports: {o: {value: f}}"),
     "m.yaml:3:19: error: node 'n', function 'f': has neither a function nor a value"},
    {NODE("input_ports: {x: {type: int64, default_value: [1.5]}}, output_ports: {o: {value: x}}"),
     "m.yaml:3:21: error: node 'n', input port 'x': a value with a fraction (float64[1]) does not fit the declared type int64"},
    {"{m: {graphs: {g: {nodes: {a: {output_ports: {o: {value: '[1, 2]'}}}, b: {input_ports: {i: {}}, output_ports: {o: {value: "
     "i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i, parameters: {weight: [1,2,3]}}}}}}}",
     "m.yaml:1:220: error: node 'b', input port 'i', edge 'e': operator '*': shapes do not broadcast: int64[3] and int64[2]"},
    {"{m: {graphs: {g: {nodes: {a: {output_ports: {o: {value: '[1, 2]'}}}, b: {input_ports: {i: {}}, output_ports: {o: {value: "
     "i}}}}, edges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i, parameters: {weight: heavy}}}}}}}",
     "m.yaml:1:220: error: node 'b', input port 'i', edge 'e': name 'heavy' is not known here"},
    {PORT("\"(x+1).shape()\""),
     "m.yaml:3:75: error: node 'n', output port 'o': 'shape' is an attribute of arrays, not a method: leave out the ()"},
    {CALL(
         "'onnx::Loop',\n"
         " args: {M: 3, v_initial: [x],\n"
         " body: {metadata: {inputs: [i, c, a], outputs: [c, o]}, nodes: {k: {input_ports: {i: {}, c: {}, a: {}, b: {}}, "
         "output_ports: {o: {value: \"b\"}}}, l: {input_ports: {b: {}}, output_ports: {p: {value: \"b\"}}}}, edges: {e: {sender: "
         "k, receiver: l, sender_port: o, receiver_port: b}, d: {sender: l, receiver: k, sender_port: p, receiver_port: b}}}}"),
     "m.yaml:5:167: error: node 'n', function 'f', attribute 'body', node 'k', input port 'b', node 'l', input port 'b': nodes "
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
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '*': a list that is ragged, or not of numbers, is no array"},
    {PARAMETERS("p: {value: '[1, 2][5]'}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '[]': index 5 is out of range for 2 items"},
    {NODE("parameters: {p: {value: {a: 1}}, q: {value: \"p['b']\"}}, output_ports: {o: {value: q}}"),
     "m.yaml:3:48: error: node 'n', parameter 'q': operator '[]': the object has no key 'b'"},
    {PARAMETERS("p: {value: 'math.log(-1)'}"), "m.yaml:3:28: error: node 'n', parameter 'p': math.log: math domain error"},
    {PARAMETERS("p: {value: 'int([1,2])'}"), "m.yaml:3:28: error: node 'n', parameter 'p': int: does not apply to a list"},
    {PARAMETERS("p: {value: 'numpy.ones(6).reshape(4, 2)'}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': numpy.ndarray.reshape: 6 elements do not fit the new shape"},
    {PARAMETERS("p: {value: 'numpy.ones((2,3)) @ numpy.ones((2,3))'}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '@': float64[2,3] and float64[2,3] can not be multiplied as "
     "matrices"},
    {CALL("'onnx::MatMul',\n"
          " args: {A: 'numpy.ones((2, 3))', B: x}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::MatMul: float64[2,3] and float64[2] can not be multiplied as matrices"},
    {CALL("'onnx::Concat',\n"
          " args: {inputs: '[x, x]', axis: 3}"),
     "m.yaml:3:64: error: node 'n', function 'f': onnx::Concat: axis 3 is out of range for an array of rank 1"},
    {PARAMETERS("p: {value: '[i for i in range(10**12)]'}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': range: a range of more than 10000000 numbers"},
    {PARAMETERS("p: {value: '10**400'}"), "m.yaml:3:28: error: node 'n', parameter 'p': operator '**': the result is too large"},
    {PARAMETERS("p: {value: \"1 + 'a'\"}"),
     "m.yaml:3:28: error: node 'n', parameter 'p': operator '+': does not apply to an int and a string"},
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
     "m.yaml:2:1: error: found character that cannot start any token (while scanning for the next token, which begins at 2:1); "
     "YAML is not indented with tabs"},
    {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": -}}}}}",
     "m.yaml:1:40: error: graph 'g', node 'n': must be an object, not a string"},
};

/* What loading, compiling and one evaluation say; "" where all goes well. */
static void judge(const char *text, char *said, size_t size)
{
    mdf_options options = {0};
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
         "m.yaml:1:57: error: node 'n', output port 'o': max takes at most 64 arguments: give it a list"},
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
