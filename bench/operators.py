#!/usr/bin/env python3
"""Times the heaviest ONNX operators, and graphs like squeezenet, mobilenetv2 and resnet, here and in ONNX Runtime.

usage: bench/operators.py [--library build/libmdf.so] [--seconds S] [--markdown FILE] [NAME ...]

Each case is a model with random weights that both run, with 1 and with 2 threads. The four take turns in one process, round by
round; of each the shortest time counts (with one thread the processor's), since whatever else the machine does only adds to it. Neither copies its inputs. Results are compared first. What
is printed is a ratio: the time taken here over ONNX Runtime's with as many threads; below 1 is faster. NAME picks cases that have
it in their name. Needs the Python packages numpy, onnx and onnxruntime.
"""
import argparse
import ctypes
import math
import os
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
THREADS = (1, 2)
DTYPES = ["bool", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64",
          "float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16",
          "bfloat16", "float32", "float64", "complex64", "complex128"]  # in the order of enum mdf_dtype


# ---------------------------------------------------------------------- this engine, through its C interface

class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_int), ("column", ctypes.c_int), ("file", ctypes.c_char * 256),
                ("path", ctypes.c_char * 512), ("message", ctypes.c_char * 1024)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_size_t), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("graph", ctypes.c_char_p), ("float32", ctypes.c_bool), ("max_iterations", ctypes.c_uint64),
                ("max_passes", ctypes.c_uint64), ("max_memory_bytes", ctypes.c_size_t), ("seed", ctypes.c_uint64),
                ("n_threads", ctypes.c_int), ("allocator", ctypes.c_void_p), ("warning", ctypes.c_void_p),
                ("warning_context", ctypes.c_void_p), ("plain", ctypes.c_bool),
                ("loop_condition", ctypes.c_int), ("time_limit_s", ctypes.c_double)]


def open_library(path):
    library = ctypes.CDLL(path)
    for name in ("mdf_model_load_bytes", "mdf_compile", "mdf_state_new", "mdf_result_at"):
        getattr(library, name).restype = ctypes.c_void_p
    library.mdf_value_tensor.restype = ctypes.c_bool
    return library


class Engine:
    """A model, ready to run."""

    def __init__(self, library, model, feeds, n_threads):
        self.library, self.error = library, Error()
        text = model.SerializeToString()
        options = Options(size=ctypes.sizeof(Options), n_threads=n_threads)
        self.model = self.check(library.mdf_model_load_bytes(text, ctypes.c_size_t(len(text)), b"onnx", b"model", None,
                                                             ctypes.byref(self.error)))
        self.program = self.check(library.mdf_compile(ctypes.c_void_p(self.model), ctypes.byref(options),
                                                      ctypes.byref(self.error)))
        self.state = ctypes.c_void_p(self.check(library.mdf_state_new(ctypes.c_void_p(self.program), ctypes.byref(self.error))))
        self.feeds = []
        for name, array in feeds.items():
            shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
            tensor = Tensor(DTYPES.index(array.dtype.name), array.ndim, shape, array.ctypes.data)
            self.feeds.append((name.encode(), tensor, array))
        self.n_results = len(model.graph.output)

    def check(self, result):
        if not result:
            raise RuntimeError(self.error.message.decode())
        return result

    def run(self):
        for name, tensor, _ in self.feeds:
            if self.library.mdf_lend_input(self.state, name, ctypes.byref(tensor), ctypes.byref(self.error)) != 0:
                raise RuntimeError(self.error.message.decode())
        if self.library.mdf_evaluate(self.state, ctypes.c_double(math.nan), ctypes.byref(self.error)) != 0:
            raise RuntimeError(self.error.message.decode())

    def results(self):
        arrays = []
        for i in range(self.n_results):
            value, tensor = self.library.mdf_result_at(self.state, ctypes.c_size_t(i)), Tensor()
            assert self.library.mdf_value_tensor(ctypes.c_void_p(value), ctypes.byref(tensor))
            shape, dtype = tensor.shape[:tensor.rank], np.dtype(DTYPES[tensor.dtype])
            n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            arrays.append(np.frombuffer(ctypes.string_at(tensor.data, n_bytes), dtype).reshape(shape))
        return arrays

    def close(self):
        self.library.mdf_state_free(self.state)
        self.library.mdf_program_free(ctypes.c_void_p(self.program))
        self.library.mdf_model_free(ctypes.c_void_p(self.model))


class Runtime:
    """The same in ONNX Runtime."""

    def __init__(self, model, feeds, n_threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.feeds = feeds

    def run(self):
        self.outputs = self.session.run(None, self.feeds)

    def results(self):
        return self.outputs

    def close(self):
        del self.session


# ---------------------------------------------------------------------- models

class Graph:
    """Collects nodes, weights and inputs; random numbers are the same in each run."""

    def __init__(self, seed=1):
        self.nodes, self.weights, self.inputs, self.feeds, self.random = [], [], [], {}, np.random.default_rng(seed)

    def name(self):
        return f"v{len(self.nodes) + len(self.weights) + len(self.inputs)}"

    def numbers(self, shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def input(self, array):
        name, array = self.name(), np.ascontiguousarray(array)
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        self.feeds[name] = array
        return name

    def weight(self, array):
        name = self.name()
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def node(self, operator, inputs, n_outputs=1, **attributes):
        names = [f"{self.name()}_{i}" for i in range(n_outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if n_outputs == 1 else names

    def model(self, outputs, opset=OPSET):
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "graph", self.inputs, results, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model)
        for result in model.graph.output:
            if not result.type.HasField("tensor_type"):
                result.type.tensor_type.elem_type = TensorProto.FLOAT
        return model


def one(operator, inputs, weights=(), n_outputs=1, opset=OPSET, **attributes):
    """A model of one node: arrays that are inputs, then arrays that are weights (None: omitted)."""
    graph = Graph()
    names = [graph.input(array) for array in inputs] + ["" if array is None else graph.weight(array) for array in weights]
    outputs = graph.node(operator, names, n_outputs, **attributes)
    return graph.model([outputs] if n_outputs == 1 else outputs, opset), graph.feeds


def numbers(*shape, scale=1.0, seed=7):
    return (np.random.default_rng(seed + len(shape)).standard_normal(shape) * scale).astype(np.float32)


def matmul(m, k, n):
    return one("MatMul", [numbers(m, k)], [numbers(k, n, scale=k ** -0.5)])


def batched(b, m, k, n):
    return one("MatMul", [numbers(b, m, k), numbers(b, k, n, scale=k ** -0.5, seed=8)])


def gemm(m, k, n):
    return one("Gemm", [numbers(m, k)], [numbers(n, k, scale=k ** -0.5), numbers(n)], transB=1)


def conv(batch, channels, size, outputs, kernel, stride=1, group=1, rank=2, operator="Conv"):
    fan_in = channels // group * kernel ** rank
    weights = (channels, outputs // group) if operator == "ConvTranspose" else (outputs, channels // group)
    return one(operator, [numbers(batch, channels, *[size] * rank)],
               [numbers(*weights, *[kernel] * rank, scale=fan_in ** -0.5), numbers(outputs)], strides=[stride] * rank,
               pads=[kernel // 2] * 2 * rank, group=group)


def depthwise(channels, size, rows, columns, gap=1, stride=1):
    pads = [gap * (rows // 2), gap * (columns // 2)] * 2
    return one("Conv", [numbers(1, channels, size, size)], [numbers(channels, 1, rows, columns, scale=(rows * columns) ** -0.5)],
               pads=pads, dilations=[gap] * 2, strides=[stride] * 2, group=channels)


def recurrent(operator, steps, batch, n_input, hidden):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    attributes = {"linear_before_reset": 1} if operator == "GRU" else {}
    return one(operator, [numbers(steps, batch, n_input)],
               [numbers(1, gates * hidden, n_input, scale=n_input ** -0.5),
                numbers(1, gates * hidden, hidden, scale=hidden ** -0.5), numbers(1, 2 * gates * hidden)],
               n_outputs=2, hidden_size=hidden, **attributes)


def pool(operator, kernel, stride, channels=64, size=112):
    attributes = {} if operator.startswith("Global") else {"kernel_shape": [kernel] * 2, "strides": [stride] * 2,
                                                           "pads": [kernel // 2] * 4}
    return one(operator, [numbers(1, channels, size, size)], **attributes)


def attention(batch, heads, queries, keys, columns):
    arrays = [numbers(batch, heads, n, columns, seed=i) for i, n in enumerate((queries, keys, keys))]
    return one("Attention", arrays, opset=23)


def resize(mode, size_in, size_out, channels=32, **attributes):
    return one("Resize", [numbers(1, channels, size_in, size_in)],
               [None, None, np.array([1, channels, size_out, size_out], np.int64)], mode=mode, **attributes)


def grid_sample(mode, channels=16, size=64):
    grid = np.random.default_rng(1).uniform(-1.1, 1.1, (1, size, size, 2)).astype(np.float32)
    return one("GridSample", [numbers(1, channels, size, size), grid], mode=mode)


def einsum(equation, *shapes):
    return one("Einsum", [numbers(*shape, seed=i) for i, shape in enumerate(shapes)], equation=equation)


def norm(operator, shape, n):
    n_weights = {"BatchNormalization": 4}.get(operator, 2)
    attributes = {"axis": -1} if operator == "LayerNormalization" else {}
    return one(operator, [numbers(*shape)], [np.abs(numbers(n, seed=i)) + 0.5 for i in range(n_weights)], **attributes)


def unary(operator, n=1 << 18, **attributes):
    return one(operator, [numbers(n // 512, 512, scale=3)], **attributes)


def dft(batch, n):
    return one("DFT", [numbers(batch, n, 1)], [None, np.array(1, np.int64)])


def top_k(rows, n, k):
    return one("TopK", [numbers(rows, n)], [np.array([k], np.int64)], n_outputs=2)


def bytes_(dtype, *shape):
    info = np.iinfo(dtype)
    return np.random.default_rng(len(shape)).integers(info.min, info.max + 1, shape, dtype)


def whole(dtype, *shape):
    return np.random.default_rng(len(shape)).integers(-100, 100, shape, dtype)


def indices(n, *shape):
    return np.random.default_rng(3).integers(0, n, shape)


def integer_product(m, k, n):
    return one("MatMulInteger", [bytes_(np.uint8, m, k)], [bytes_(np.int8, k, n)])


def quantised_conv(channels, size, outputs, kernel, group=1):
    scales = [np.float32(0.02), np.uint8(128)], [np.float32(0.01), np.int8(0), np.float32(0.5), np.uint8(120)]
    weights = bytes_(np.int8, outputs, channels // group, kernel, kernel)
    return one("QLinearConv", [bytes_(np.uint8, 1, channels, size, size)], [*scales[0], weights, *scales[1]],
               pads=[kernel // 2] * 4, group=group)


def boxes(n, size):
    corners = np.sort(np.random.default_rng(4).random((n, 2, 2)).astype(np.float32) * size, axis=1)
    return corners.reshape(n, 4)


def suppression(n):
    scores = np.random.default_rng(5).random((1, 4, n)).astype(np.float32)
    return one("NonMaxSuppression", [boxes(n, 1)[None], scores], [np.array(100), np.float32(0.5), np.float32(0.1)])


# ---------------------------------------------------------------------- networks

class Network(Graph):
    """A graph over an image; `self.x` is the latest value, of `self.n` channels."""

    def __init__(self):
        super().__init__()
        self.n, self.x = 3, self.input(self.numbers((1, 3, 224, 224)))

    def conv(self, n, kernel, stride=1, group=1):
        fan_in = self.n // group * kernel ** 2
        weights = self.weight(self.numbers((n, self.n // group, kernel, kernel), (2 / fan_in) ** 0.5))
        self.x = self.node("Conv", [self.x, weights, self.weight(self.numbers(n, 0.1))], strides=[stride] * 2,
                           pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2, group=group)
        self.n = n
        return self

    def relu(self):
        self.x = self.node("Relu", [self.x])
        return self

    def clip(self):
        self.x = self.node("Clip", [self.x, self.weight(np.float32(0)), self.weight(np.float32(6))])
        return self

    def max_pool(self, pad):
        self.x = self.node("MaxPool", [self.x], kernel_shape=[3, 3], strides=[2, 2], pads=[pad] * 4)
        return self

    def classify(self):
        self.x = self.node("Flatten", [self.node("GlobalAveragePool", [self.x])])
        self.x = self.node("Gemm", [self.x, self.weight(self.numbers((1000, self.n), self.n ** -0.5)),
                                    self.weight(self.numbers(1000))], transB=1)
        return self.model([self.x]), self.feeds


def squeezenet():
    net = Network().conv(64, 3, 2).relu().max_pool(0)
    for squeeze, expand, pools in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1), (48, 192, 0), (48, 192, 0),
                                   (64, 256, 0), (64, 256, 0)):
        inner = net.conv(squeeze, 1).relu().x
        left = net.conv(expand, 1).relu().x
        net.x, net.n = inner, squeeze
        right = net.conv(expand, 3).relu().x
        net.x, net.n = net.node("Concat", [left, right], axis=1), 2 * expand
        if pools:
            net.max_pool(0)
    net.conv(1000, 1).relu()
    net.x = net.node("Softmax", [net.node("Flatten", [net.node("GlobalAveragePool", [net.x])])])
    return net.model([net.x]), net.feeds


def mobilenetv2():
    net = Network().conv(32, 3, 2).clip()
    for expand, channels, repeats, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            before, n_before = net.x, net.n
            if expand > 1:
                net.conv(net.n * expand, 1).clip()
            net.conv(net.n, 3, stride if i == 0 else 1, net.n).clip().conv(channels, 1)
            if i > 0 and n_before == channels:
                net.x = net.node("Add", [before, net.x])
    return net.conv(1280, 1).clip().classify()


def resnet18():
    net = Network().conv(64, 7, 2).relu().max_pool(1)
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for first in (True, False):
            before, n_before = net.x, net.n
            net.conv(channels, 3, stride if first else 1).relu().conv(channels, 3)
            after = net.x
            if first and n_before != channels:
                net.x, net.n = before, n_before
                before = net.conv(channels, 1, stride).x
            net.x, net.n = net.node("Add", [after, before]), channels
            net.relu()
    return net.classify()


CASES = {
    "MatMul 16x16x16": lambda: matmul(16, 16, 16),
    "MatMul 1x64x64": lambda: matmul(1, 64, 64),
    "MatMul 16x64x64": lambda: matmul(16, 64, 64),
    "MatMul 64x64x64": lambda: matmul(64, 64, 64),
    "MatMul 1x512x512": lambda: matmul(1, 512, 512),
    "MatMul 16x512x512": lambda: matmul(16, 512, 512),
    "MatMul 256x256x256": lambda: matmul(256, 256, 256),
    "MatMul 512x512x512": lambda: matmul(512, 512, 512),
    "MatMul 1024x1024x1024": lambda: matmul(1024, 1024, 1024),
    "MatMul 32 of 64x64x64": lambda: batched(32, 64, 64, 64),
    "MatMul 4096x3x3": lambda: matmul(4096, 3, 3),
    "MatMul 1000x64x10": lambda: matmul(1000, 64, 10),
    "MatMul 128x256x128 of int32": lambda: one("MatMul", [whole(np.int32, 128, 256), whole(np.int32, 256, 128)]),
    "Gemm 1x1024x1000": lambda: gemm(1, 1024, 1000),
    "Gemm 128x768x768": lambda: gemm(128, 768, 768),
    "Conv 3x3 3>64 s2 of 224": lambda: conv(1, 3, 224, 64, 3, 2),
    "Conv 7x7 3>64 s2 of 224": lambda: conv(1, 3, 224, 64, 7, 2),
    "Conv 3x3 64>64 of 56": lambda: conv(1, 64, 56, 64, 3),
    "Conv 3x3 256>256 of 14": lambda: conv(1, 256, 14, 256, 3),
    "Conv 3x3 64>256 of 13": lambda: conv(1, 64, 13, 256, 3),
    "Conv 3x3 256>512 s2 of 14": lambda: conv(1, 256, 14, 512, 3, 2),
    "Conv 3x3 512>512 of 7": lambda: conv(1, 512, 7, 512, 3),
    "Conv 1x1 64>256 of 56": lambda: conv(1, 64, 56, 256, 1),
    "Conv 1x1 960>160 of 7": lambda: conv(1, 960, 7, 160, 1),
    "Conv 1x1 320>1280 of 7": lambda: conv(1, 320, 7, 1280, 1),
    "Conv 3x3 depthwise 144 of 56": lambda: conv(1, 144, 56, 144, 3, 1, 144),
    "Conv 7x7 depthwise 96 of 56": lambda: conv(1, 96, 56, 96, 7, 1, 96),
    "Conv 3x3 depthwise 144 s2 of 56": lambda: conv(1, 144, 56, 144, 3, 2, 144),
    "Conv 5x5 depthwise 240 of 28": lambda: conv(1, 240, 28, 240, 5, 1, 240),
    "Conv 7x7 depthwise 64 s2 of 56": lambda: depthwise(64, 56, 7, 7, stride=2),
    "Conv 7x7 depthwise 512 of 7": lambda: depthwise(512, 7, 7, 7),
    "Conv 5x5 depthwise 64 of 56, with gaps": lambda: depthwise(64, 56, 5, 5, gap=2),
    "Conv 7x1 depthwise 64 of 56": lambda: depthwise(64, 56, 7, 1),
    "Conv 1x7 depthwise 64 of 56": lambda: depthwise(64, 56, 1, 7),
    "Conv 3x3 8 groups 128 of 28": lambda: conv(1, 128, 28, 128, 3, 1, 8),
    "Conv 3 1-d 64>64 of 4096": lambda: conv(1, 64, 4096, 64, 3, rank=1),
    "Conv 15 1-d 1>32 of 16000": lambda: conv(1, 1, 16000, 32, 15, rank=1),
    "Conv 3x3x3 3-d 16>32 of 24": lambda: conv(1, 16, 24, 32, 3, rank=3),
    "ConvTranspose 3x3 s2 64>32 of 28": lambda: conv(1, 64, 28, 32, 3, 2, operator="ConvTranspose"),
    "MaxPool 3x3 s2": lambda: pool("MaxPool", 3, 2),
    "MaxPool 5x5 s1": lambda: pool("MaxPool", 5, 1, 32, 56),
    "MaxPool 7x7 of planes of 7": lambda: pool("MaxPool", 7, 1, 512, 7),
    "GlobalMaxPool of planes of 7": lambda: pool("GlobalMaxPool", 0, 0, 512, 7),
    "AveragePool 3x3 s2": lambda: pool("AveragePool", 3, 2),
    "AveragePool 7x7 of 7": lambda: one("AveragePool", [numbers(1, 512, 7, 7)], kernel_shape=[7, 7]),
    "GlobalAveragePool": lambda: pool("GlobalAveragePool", 0, 0, 512, 28),
    "LSTM 50 steps, batch 1, hidden 64": lambda: recurrent("LSTM", 50, 1, 64, 64),
    "LSTM 50 steps, batch 16, hidden 256": lambda: recurrent("LSTM", 50, 16, 256, 256),
    "GRU 50 steps, batch 1, hidden 128": lambda: recurrent("GRU", 50, 1, 64, 128),
    "GRU 50 steps, batch 16, hidden 256": lambda: recurrent("GRU", 50, 16, 256, 256),
    "RNN 50 steps, batch 1, hidden 64": lambda: recurrent("RNN", 50, 1, 64, 64),
    "Attention 8 heads, 128 by 128, 64": lambda: attention(1, 8, 128, 128, 64),
    "Attention 12 heads, 512 by 512, 64": lambda: attention(1, 12, 512, 512, 64),
    "Attention 8 heads, 1 by 512, 64": lambda: attention(1, 8, 1, 512, 64),
    "Softmax 1024x1024": lambda: one("Softmax", [numbers(1024, 1024)]),
    "Softmax 64 channels of 56, axis 1": lambda: one("Softmax", [numbers(1, 64, 56, 56)], axis=1),
    "LogSoftmax 256x1000": lambda: one("LogSoftmax", [numbers(256, 1000)]),
    "LayerNormalization 512x768": lambda: norm("LayerNormalization", (512, 768), 768),
    "BatchNormalization 512x256": lambda: norm("BatchNormalization", (512, 256), 256),
    "BatchNormalization 64 of 56": lambda: norm("BatchNormalization", (1, 64, 56, 56), 64),
    "InstanceNormalization 64 of 56": lambda: norm("InstanceNormalization", (1, 64, 56, 56), 64),
    "Resize nearest 56>112": lambda: resize("nearest", 56, 112, nearest_mode="floor",
                                            coordinate_transformation_mode="asymmetric"),
    "Resize linear 56>112": lambda: resize("linear", 56, 112),
    "Resize linear 112>70": lambda: resize("linear", 112, 70),
    "Resize cubic 56>112": lambda: resize("cubic", 56, 112),
    "GridSample linear": lambda: grid_sample("linear"),
    "GridSample nearest": lambda: grid_sample("nearest"),
    "GridSample cubic": lambda: grid_sample("cubic"),
    "Einsum bij,bjk->bik": lambda: einsum("bij,bjk->bik", (8, 64, 96), (8, 96, 64)),
    "Einsum bhid,bhjd->bhij": lambda: einsum("bhid,bhjd->bhij", (1, 8, 128, 64), (1, 8, 128, 64)),
    "Einsum ijk->ij": lambda: einsum("ijk->ij", (64, 128, 64)),
    "Einsum ijk->ik": lambda: einsum("ijk->ik", (64, 128, 64)),
    "DFT 64 of 1024": lambda: dft(64, 1024),
    "DFT 64 of 1000": lambda: dft(64, 1000),
    "TopK 10 of 256x1000": lambda: top_k(256, 1000, 10),
    "ReduceSum 1024x1024, axis 1": lambda: one("ReduceSum", [numbers(1024, 1024)], [np.array([1], np.int64)]),
    "ReduceSum 8192x64, axis 1": lambda: one("ReduceSum", [numbers(8192, 64)], [np.array([1], np.int64)]),
    "ReduceMean 1024x1024, axis 0": lambda: one("ReduceMean", [numbers(1024, 1024)], [np.array([0], np.int64)]),
    "Transpose 0,2,3,1 of 64x56x56": lambda: one("Transpose", [numbers(1, 64, 56, 56)], perm=[0, 2, 3, 1]),
    "Transpose 2,0,1 of 64x128x64": lambda: one("Transpose", [numbers(64, 128, 64)], perm=[2, 0, 1]),
    "Exp": lambda: unary("Exp"),
    "Tanh": lambda: unary("Tanh"),
    "Sigmoid": lambda: unary("Sigmoid"),
    "Erf": lambda: unary("Erf"),
    "Gelu": lambda: unary("Gelu"),
    "Elu": lambda: unary("Elu"),
    "Mish": lambda: unary("Mish"),
    "LeakyRelu": lambda: unary("LeakyRelu"),
    "Sin": lambda: unary("Sin"),
    "Atan": lambda: unary("Atan"),
    "Log": lambda: one("Log", [np.abs(numbers(512, 512)) + np.float32(0.01)]),
    "Floor": lambda: unary("Floor"),
    "Asin": lambda: one("Asin", [np.tanh(numbers(512, 512))]),
    "Acos": lambda: one("Acos", [np.tanh(numbers(512, 512))]),
    "Sinh": lambda: unary("Sinh"),
    "Acosh": lambda: one("Acosh", [1 + np.abs(numbers(512, 512))]),
    "Exp of float64": lambda: one("Exp", [numbers(512, 512).astype(np.float64)]),
    "Tanh of float64": lambda: one("Tanh", [numbers(512, 512).astype(np.float64)]),
    "Sin of float64": lambda: one("Sin", [numbers(512, 512).astype(np.float64)]),
    "Softmax 512x512 of float64": lambda: one("Softmax", [numbers(512, 512).astype(np.float64)]),
    "ReduceLogSumExp of float64": lambda: one("ReduceLogSumExp", [numbers(512, 512).astype(np.float64)], [np.array([1], np.int64)]),
    "SoftmaxCrossEntropyLoss 1024x1000": lambda: one("SoftmaxCrossEntropyLoss", [numbers(1024, 1000), indices(1000, 1024)]),
    "And": lambda: one("And", [numbers(512, 512) > 0, numbers(512, 512, seed=9) > 0]),
    "Pow to 3": lambda: one("Pow", [numbers(512, 512), np.float32(3)]),
    "Add": lambda: one("Add", [numbers(512, 512), numbers(512, 512, seed=9)]),
    "Add of a row": lambda: one("Add", [numbers(512, 512)], [numbers(512)]),
    "Pow of float64": lambda: one("Pow", [np.abs(numbers(512, 512)).astype(np.float64), numbers(512, 512, seed=9).astype(np.float64)]),
    "Pow": lambda: one("Pow", [np.abs(numbers(512, 512)), numbers(512, 512, seed=9)]),
    "Pow of int64 to int32": lambda: one("Pow", [whole(np.int64, 512, 512), whole(np.int32, 512, 512) % 8]),
    "Where": lambda: one("Where", [numbers(512, 512) > 0, numbers(512, 512), numbers(512, 512, seed=9)]),
    "Cast to float16": lambda: unary("Cast", to=TensorProto.FLOAT16),
    "Cast to int32": lambda: unary("Cast", to=TensorProto.INT32),
    "Cast of float64 to float16": lambda: one("Cast", [numbers(512, 512).astype(np.float64)], to=TensorProto.FLOAT16),
    "Cast of uint8 to bool": lambda: one("Cast", [bytes_(np.uint8, 512, 512)], to=TensorProto.BOOL),
    "Cast of int32 to int8": lambda: one("Cast", [whole(np.int32, 512, 512)], to=TensorProto.INT8),
    "Max of three": lambda: one("Max", [numbers(512, 512, seed=i) for i in range(3)]),
    "Equal of float64": lambda: one("Equal", [numbers(512, 512).astype(np.float64), numbers(512, 512, seed=9).astype(np.float64)]),
    "Sign of float64": lambda: one("Sign", [numbers(512, 512).astype(np.float64)]),
    "Clip of float64": lambda: one("Clip", [numbers(512, 512).astype(np.float64)], [np.float64(-1), np.float64(1)]),
    "Div of int32": lambda: one("Div", [whole(np.int32, 512, 512), np.abs(whole(np.int32, 512, 512)) + 1]),
    "CumSum": lambda: one("CumSum", [numbers(512, 512)], [np.array(1)]),
    "ReduceMax 1024x1024, axis 1": lambda: one("ReduceMax", [numbers(1024, 1024)], [np.array([1])]),
    "ReduceMax 64x128x64, axis 1": lambda: one("ReduceMax", [numbers(64, 128, 64)], [np.array([1])]),
    "ReduceMax 512x512 of uint8, axis 1": lambda: one("ReduceMax", [bytes_(np.uint8, 512, 512)], [np.array([1])]),
    "ReduceSum 1024x512 of float64, axis 0": lambda: one("ReduceSum", [numbers(1024, 512).astype(np.float64)], [np.array([0])]),
    "ReduceMax 1024x512 of int32, axis 1": lambda: one("ReduceMax", [whole(np.int32, 1024, 512)], [np.array([1])]),
    "CumSum, axis 0": lambda: one("CumSum", [numbers(512, 512)], [np.array(0)]),
    "CumSum of int64": lambda: one("CumSum", [whole(np.int64, 512, 512)], [np.array(1)]),
    "ArgMax": lambda: one("ArgMax", [numbers(512, 512)], axis=1),
    "ArgMax of int64": lambda: one("ArgMax", [whole(np.int64, 512, 512)], axis=1),
    "TopK 10 of 256x1000 of float16": lambda: one("TopK", [numbers(256, 1000).astype(np.float16)], [np.array([10])], n_outputs=2),
    "Hardmax, axis 0": lambda: one("Hardmax", [numbers(512, 512)], axis=0),
    "LpNormalization, axis 0": lambda: one("LpNormalization", [numbers(512, 512)], axis=0, p=1),
    "Gather 4096 rows of 64": lambda: one("Gather", [numbers(10000, 64)], [indices(10000, 4096)]),
    "GatherElements": lambda: one("GatherElements", [numbers(512, 512), indices(512, 512, 512)], axis=1),
    "ScatterElements": lambda: one("ScatterElements", [numbers(512, 512), np.argsort(numbers(512, 512), axis=1),
                                                       numbers(512, 512, seed=9)], axis=1),
    "Concat": lambda: one("Concat", [numbers(64, 256, 28), numbers(64, 256, 28, seed=9)], axis=1),
    "Pad, reflected": lambda: one("Pad", [numbers(1, 64, 56, 56)], [np.array([0, 0, 1, 1] * 2)], mode="reflect"),
    "Transpose 1,0 of 512x512": lambda: one("Transpose", [numbers(512, 512)], perm=[1, 0]),
    "Transpose 0,3,1,2 of 224x224x3": lambda: one("Transpose", [numbers(1, 224, 224, 3)], perm=[0, 3, 1, 2]),
    "Transpose 0,2,3,1 of 64x56x56 of uint8": lambda: one("Transpose", [bytes_(np.uint8, 1, 64, 56, 56)], perm=[0, 2, 3, 1]),
    "Transpose 1,0 of 512x512 of float16": lambda: one("Transpose", [numbers(512, 512).astype(np.float16)], perm=[1, 0]),
    "Transpose 0,2,3,1 of 64x56x56 of int64": lambda: one("Transpose", [whole(np.int64, 1, 64, 56, 56)], perm=[0, 2, 3, 1]),
    "GroupNormalization 64 of 56": lambda: one("GroupNormalization", [numbers(1, 64, 56, 56)], [numbers(64), numbers(64)],
                                               opset=21, num_groups=8),
    "MeanVarianceNormalization": lambda: one("MeanVarianceNormalization", [numbers(4, 16, 56, 56)]),
    "STFT of 16000": lambda: one("STFT", [numbers(1, 16000, 1)], [np.array(128), np.hanning(512).astype(np.float32)]),
    "RoiAlign 64 of 7x7": lambda: one("RoiAlign", [numbers(1, 64, 56, 56), boxes(64, 50)], [np.zeros(64, np.int64)],
                                      output_height=7, output_width=7, sampling_ratio=2),
    "NonMaxSuppression of 1000": lambda: suppression(1000),
    "DeformConv 3x3 16 of 28": lambda: one("DeformConv", [numbers(1, 16, 28, 28)], [numbers(16, 16, 3, 3),
                                                                                    numbers(1, 18, 26, 26)], opset=22),
    "QuantizeLinear": lambda: one("QuantizeLinear", [numbers(512, 512)], [np.float32(0.02), np.uint8(128)]),
    "DequantizeLinear": lambda: one("DequantizeLinear", [bytes_(np.uint8, 512, 512)], [np.float32(0.02), np.uint8(128)]),
    "MatMulInteger 256x256x256": lambda: integer_product(256, 256, 256),
    "MatMulInteger 1x512x512": lambda: integer_product(1, 512, 512),
    "QLinearConv 3x3 64>64 of 56": lambda: quantised_conv(64, 56, 64, 3),
    "QLinearConv 1x1 64>256 of 28": lambda: quantised_conv(64, 28, 256, 1),
    "QLinearConv 3x3 depthwise 96 of 56": lambda: quantised_conv(96, 56, 96, 3, 96),
    "squeezenet-like": squeezenet,
    "mobilenetv2-like": mobilenetv2,
    "resnet18-like": resnet18,
}


# ---------------------------------------------------------------------- measuring

# Results may differ by this much, relative to the largest element: both sum float32 in orders of their own.
TOLERANCE = 1e-4
# ONNX Runtime sums transforms whose length is no power of 2 term by term, with float32 angles; numpy's float64 transform shows the
# difference to be its own.
# Quantised results may differ by a step, where one engine rounds in float32 and the other in float64: one of some 140 that there are
# to the largest element.
TOLERANCES = {"DFT 64 of 1000": 1e-3, "QLinearConv": 1e-2}


def tolerance_of(name):
    return next((t for begin, t in TOLERANCES.items() if name.startswith(begin)), TOLERANCE)


def differ(a, b):
    """The largest difference, relative to the largest element."""
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if x.shape != y.shape:
            return math.inf
        worst = max(worst, float(np.max(np.abs(x - y), initial=0) / max(1e-30, np.max(np.abs(y), initial=0))))
    return worst


def time_runs(run, n, n_threads):
    """Seconds of one run: of one thread its processor time, which others on the machine disturb least."""
    clock = time.thread_time if n_threads == 1 else time.perf_counter
    start = clock()
    for _ in range(n):
        run()
    return max(clock() - start, 1e-9) / n


def measure(library, name, seconds):
    """Ratios by number of threads, and the largest difference between results."""
    model, feeds = CASES[name]()
    runners = {(who, n): Engine(library, model, feeds, n) if who == "here" else Runtime(model, feeds, n)
               for n in THREADS for who in ("here", "there")}
    best = {}
    for key, runner in runners.items():
        runner.run()
        runner.run()
        best[key] = time_runs(runner.run, 1, key[1])
    same = all(np.array_equal(a, b, equal_nan=True)
               for a, b in zip(runners["here", 1].results(), runners["here", 2].results(), strict=True))
    difference = differ(runners["here", 1].results(), runners["there", 1].results()) if same else math.inf
    end, n_rounds = time.perf_counter() + seconds, 0
    while n_rounds < 5 or time.perf_counter() < end:
        for key, runner in runners.items():
            # Threads wait for work in a loop, for a while: let them fall asleep before somebody else's turn, which wakes its own.
            time.sleep(0.05)
            runner.run()
            best[key] = min(best[key], time_runs(runner.run, max(1, min(100, int(0.003 / best[key]))), key[1]))
        n_rounds += 1
    for runner in runners.values():
        runner.close()
    return {n: best["here", n] / best["there", n] for n in THREADS}, difference, best["there", 1], n_rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(os.path.dirname(__file__), "..", "build", "libmdf.so"))
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case, at least")
    parser.add_argument("--markdown", help="write the table to this file too")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    library = open_library(os.path.abspath(arguments.library))
    names = [name for name in CASES if not arguments.names or any(part in name for part in arguments.names)]
    lines = ["| case | 1 thread | 2 threads | largest difference |", "|---|---:|---:|---:|"]
    print("\n".join(lines), flush=True)
    wrong, ratios = 0, {n: [] for n in THREADS}
    for name in names:
        ratio, difference, _, _ = measure(library, name, arguments.seconds)
        lines.append(f"| {name} | " + " | ".join(f"{ratio[n]:.2f}" for n in THREADS) + f" | {difference:.0e} |")
        print(lines[-1], flush=True)
        wrong += not difference < tolerance_of(name)
        for n in THREADS:
            ratios[n].append(ratio[n])
    lines.append("| geometric mean | " + " | ".join(f"{math.exp(np.mean(np.log(ratios[n]))):.2f}" for n in THREADS) + " | |")
    print(lines[-1])
    if arguments.markdown:
        with open(arguments.markdown, "w", encoding="utf-8") as file:
            file.write(f"# Operators and networks: time here over ONNX Runtime {onnxruntime.__version__}'s\n\nMade by "
                       "`bench/operators.py --markdown`; the shortest of many runs that took turns in one process, random weights, "
                       "float32; with one\nthread its processor time. Below 1 is faster. The difference is the largest one, relative "
                       "to the largest element.\n\n")
            file.write("\n".join(lines) + "\n")
    if wrong:
        sys.exit(f"{wrong} results differ")


if __name__ == "__main__":
    main()
