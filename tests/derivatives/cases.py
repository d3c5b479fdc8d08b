"""Calls of operators at points where they have derivatives. Inputs are a, b, c, ...: a shape, or a shape with bounds, or an array; those whose
names begin with k are not derived by."""
import numpy as np


def whole(*items):
    return np.array(items, dtype=np.int64)


def call(args, result="p", opset="28", **shapes):
    return {"args": args, "shapes": shapes, "result": result, "opset": opset}


def unary(key, low=-0.9, high=0.9, **more):
    return [call({key: "a", **more}, a=((2, 3), low, high))]


M = (2, 3)
CONV = {"X": "a", "W": "b"}
LINEAR = {"query": "a", "key": "b", "value": "c", "q_num_heads": 4, "kv_num_heads": 2}
MACHINE = {"X": "a", "support_vectors": [0.3, -0.2, 0.8, 0.1, 0.5, -0.6, -0.4, 0.2, 0.7, 0.9, -0.1, 0.4], "kernel_params": [0.7, 0.4, 3.0]}
RNN = {"X": "a", "W": "b", "R": "c"}


def recurrent(gates, n_activations, **more):
    shapes = {"a": (4, 2, 3), "b": (1, gates * 2, 3), "c": (1, gates * 2, 2), "d": (1, 2 * gates * 2), "e": (1, 2, 2)}
    both = {"a": (4, 2, 3), "b": (2, gates * 2, 3), "c": (2, gates * 2, 2), "d": (2, 2 * gates * 2), "e": (2, 2, 2)}
    first = {"a": (2, 4, 3), "b": (2, gates * 2, 3), "c": (2, gates * 2, 2), "d": (2, 2 * gates * 2), "e": (2, 2, 2)}
    given = {**RNN, "hidden_size": 2, "B": "d", "initial_h": "e"}
    weigh = "numpy.append(numpy.ravel(p[0]), p[1])"
    return [call({**RNN, "hidden_size": 2}, "p[0]", **{k: shapes[k] for k in "abc"}),
            call({**given, **more}, weigh, **shapes),
            call({**given, "direction": "reverse", "sequence_lens": [2, 4]}, weigh, **shapes),
            call({**given, "direction": "bidirectional", "clip": 0.4}, weigh, **both),
            call({**given, "direction": "bidirectional", "layout": 1, "activations": (["Tanh", "Sigmoid", "Softsign"] * 2)[:n_activations] * 2}, weigh, **first)]


OPERATORS = {
    "Conv": [
        call(CONV, a=(1, 2, 5), b=(3, 2, 2)),
        call({**CONV, "B": "c", "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}, a=(2, 2, 5, 6), b=(3, 2, 2, 2), c=(3,)),
        call({**CONV, "group": 2, "auto_pad": "SAME_UPPER"}, a=(1, 4, 5, 4), b=(2, 2, 3, 3)),
        call(CONV, a=(1, 1, 3, 3, 3), b=(2, 1, 2, 2, 2))],
    "ConvTranspose": [
        call(CONV, a=(1, 2, 4), b=(2, 3, 2)),
        call({**CONV, "B": "c", "pads": [1, 0, 0, 1], "strides": [2, 1], "dilations": [1, 2], "output_padding": [1, 0]}, a=(2, 2, 3, 3), b=(2, 3, 2, 2), c=(3,)),
        call({**CONV, "group": 2, "strides": [2, 2], "auto_pad": "SAME_LOWER"}, a=(1, 4, 3, 3), b=(4, 1, 3, 3))],
    "AveragePool": [
        call({"X": "a", "kernel_shape": [2, 2]}, a=(1, 2, 4, 4)),
        call({"X": "a", "kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "strides": [2, 1], "count_include_pad": 1}, a=(1, 2, 4, 4)),
        call({"X": "a", "kernel_shape": [3], "pads": [1, 1], "ceil_mode": 1, "strides": [2]}, a=(1, 2, 6))],
    "MaxPool": [
        call({"X": "a", "kernel_shape": [2, 2]}, "p[0]", a=(1, 2, 4, 4)),
        call({"X": "a", "kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "strides": [2, 1], "dilations": [1, 2]}, "p[0]", a=(1, 2, 5, 5))],
    "LpPool": [call({"X": "a", "kernel_shape": [2, 2]}, a=(1, 2, 4, 4)), call({"X": "a", "kernel_shape": [2], "p": 3, "pads": [1, 0]}, a=(1, 2, 5))],
    "GlobalMaxPool": [call({"X": "a"}, a=(2, 2, 3, 2))],
    "GlobalLpPool": [call({"X": "a"}, a=(2, 2, 3, 2)), call({"X": "a", "p": 3}, a=(2, 2, 3))],
    "Dropout": [
        call({"data": "a", "ratio": 0.3}, a=(2, 3)),
        call({"data": "a", "training_mode": False}, a=(2, 3)),
        call({"data": "a", "is_test": 1}, opset="6", a=(2, 3)),
        call({"data": "a"}, opset="10", a=(2, 3))],
    "MaxUnpool": [call({"X": "a", "I": "k", "kernel_shape": [2, 2], "strides": [2, 2]}, a=(1, 1, 2, 2), k=np.array([[[[5, 7], [13, 15]]]]))],
    "Col2Im": [call({"input": "a", "image_shape": "k", "block_shape": "kb", "pads": [1, 0, 0, 1], "strides": [2, 1]}, a=(1, 8, 9), k=whole(5, 3), kb=whole(2, 2))],
    "BatchNormalization": [
        call({"X": "a", "scale": "b", "B": "c", "input_mean": "d", "input_var": "e"}, a=(2, 3, 2), b=(3,), c=(3,), d=(3,), e=((3,), 0.5, 1.5)),
        call({"X": "a", "scale": "b", "B": "c", "input_mean": "d", "input_var": "e", "training_mode": 1}, "numpy.append(numpy.ravel(p[0]), numpy.append(p[1], p[2]))", a=(2, 3, 4), b=(3,),
             c=(3,), d=(3,), e=((3,), 0.5, 1.5)),
        call({"X": "a", "scale": "b", "B": "c", "mean": "d", "var": "e"}, opset="8", a=(2, 3, 2, 2), b=(3,), c=(3,), d=(3,), e=((3,), 0.5, 1.5))],
    "GroupNormalization": [call({"X": "a", "scale": "b", "bias": "c", "num_groups": 2}, a=(2, 4, 3), b=(4,), c=(4,)),
                           call({"X": "a", "scale": "b", "bias": "c", "num_groups": 2}, opset="20", a=(2, 4, 3), b=(2,), c=(2,))],
    "LRN": [call({"X": "a", "size": 3, "alpha": 0.5}, a=(2, 5, 3)), call({"X": "a", "size": 2, "alpha": 0.5, "beta": 0.5, "bias": 2.0}, a=(1, 4, 2, 2))],
    "MeanVarianceNormalization": [call({"X": "a"}, a=(2, 3, 2, 2)), call({"X": "a", "axes": [1]}, a=(2, 3, 2))],
    "NegativeLogLikelihoodLoss": [
        call({"input": "a", "target": "k"}, a=(3, 4), k=whole(1, 0, 3)),
        call({"input": "a", "target": "k", "weight": "b", "reduction": "sum"}, a=(2, 3, 2), b=((3,), 0.5, 1), k=np.array([[0, 2], [1, 1]])),
        call({"input": "a", "target": "k", "weight": "b", "ignore_index": 2}, a=(2, 3, 2), b=((3,), 0.5, 1), k=np.array([[0, 2], [1, 1]])),
        call({"input": "a", "target": "k", "reduction": "none"}, a=(2, 3, 2), k=np.array([[0, 2], [1, 1]]))],
    "SoftmaxCrossEntropyLoss": [
        call({"scores": "a", "labels": "k"}, "p[0]", a=(3, 4), k=whole(1, 0, 3)),
        call({"scores": "a", "labels": "k", "weights": "b", "ignore_index": 0}, "p[0]", a=(2, 3, 2), b=((3,), 0.5, 1), k=np.array([[0, 2], [1, 1]])),
        call({"scores": "a", "labels": "k", "reduction": "none"}, "numpy.append(numpy.ravel(p[0]), p[1])", a=(2, 3, 2), k=np.array([[0, 2], [1, 1]]))],
    "TopK": [call({"X": "a", "K": "k"}, "p[0]", a=(3, 5), k=whole(2)), call({"X": "a", "K": "k", "axis": 0, "largest": 0}, "p[0]", a=(4, 2, 3), k=whole(3))],
    "Unique": [call({"X": "a"}, "p[0]", a=(5,)), call({"X": "a", "axis": 1}, "p[0]", a=(2, 3)), call({"X": "a", "sorted": 0}, "p[0]", a=(2, 3))],
    "Det": [call({"X": "a"}, a=(3, 3)), call({"X": "a"}, a=(2, 2, 2))],
    "CumProd": [call({"x": "a", "axis": "k"}, a=(2, 4), k=np.array(1)), call({"x": "a", "axis": "k", "exclusive": 1, "reverse": 1}, a=(3, 2), k=np.array(0)),
                call({"x": "a * (a > -0.5)", "axis": "k"}, a=(2, 4), k=np.array(1))],
    "Einsum": [
        call({"equation": "ij,jk->ik", "Inputs": "[a, b]"}, a=(2, 3), b=(3, 4)), call({"equation": "bij,bjk", "Inputs": "[a, b]"}, a=(2, 2, 3), b=(2, 3, 2)),
        call({"equation": "...ij,...j->...i", "Inputs": "[a, b]"}, a=(2, 2, 3), b=(1, 3)), call({"equation": "ij->j", "Inputs": "[a]"}, a=(2, 3)),
        call({"equation": "i,ij,jk,k->", "Inputs": "[a, b, c, d]"}, a=(2,), b=(2, 3), c=(3, 2), d=(2,))],
    "ScatterElements": [
        call({"data": "a", "indices": "k", "updates": "b", "axis": 1}, a=(2, 4), b=(2, 2), k=np.array([[1, 3], [0, 2]])),
        *(call({"data": "a", "indices": "k", "updates": "b", "reduction": how}, a=(4, 2), b=((3, 2), 0.3, 0.9), k=np.array([[1, 3], [0, 2], [1, 1]])) for how in ("add", "mul", "max", "min"))],
    "Scatter": [call({"data": "a", "indices": "k", "updates": "b", "axis": 1}, opset="9", a=(2, 4), b=(2, 2), k=np.array([[1, 3], [0, 2]]))],
    "ScatterND": [
        call({"data": "a", "indices": "k", "updates": "b"}, a=(4, 3), b=(2, 3), k=np.array([[3], [1]])),
        *(call({"data": "a", "indices": "k", "updates": "b", "reduction": how}, a=(4, 3), b=((3,), 0.3, 0.9), k=np.array([[3, 0], [1, 2], [3, 0]])) for how in ("add", "mul", "max", "min"))],
    "TensorScatter": [call({"past_cache": "a", "update": "b", "write_indices": "k"}, a=(2, 1, 4, 2), b=(2, 1, 2, 2), k=whole(1, 2)),
                      call({"past_cache": "a", "update": "b", "write_indices": "k", "mode": "circular"}, a=(2, 1, 4, 2), b=(2, 1, 2, 2), k=whole(3, 2))],
    "Optional": [call({"input": "a"}, a=(2, 3))],
    "OptionalGetElement": [call({"input": "a * a"}, a=(2, 3))],
    "OneHot": [call({"indices": "k", "depth": 4, "values": "a"}, a=(2,), k=whole(1, 3, 0))],
    "Range": [call({"start": "a", "limit": 5.0, "delta": "b"}, a=((), 0.1, 0.2), b=((), 0.4, 0.6))],
    "AffineGrid": [call({"theta": "a", "size": "k"}, a=(2, 2, 3), k=whole(2, 1, 3, 4)), call({"theta": "a", "size": "k", "align_corners": 1}, a=(1, 3, 4), k=whole(1, 1, 2, 3, 2))],
    "DFT": [
        call({"input": "a"}, a=(1, 5, 1)), call({"input": "a", "dft_length": "k", "axis": 1}, a=(1, 4, 2, 2), k=np.array(6)), call({"input": "a", "onesided": 1}, a=(2, 6, 1)),
        call({"input": "a", "inverse": 1}, a=(1, 5, 2)), call({"input": "a", "dft_length": "k"}, opset="17", a=(1, 5, 2), k=np.array(3))],
    "STFT": [call({"signal": "a", "frame_step": 2, "frame_length": 4}, a=(2, 10, 1)), call({"signal": "a", "frame_step": 3, "window": "b"}, a=(1, 11, 1), b=((5,), 0.2, 1))],
    "Resize": [
        *(call({"X": "a", "scales": "k", "mode": mode}, a=(1, 2, 3, 4), k=np.array([1.0, 1.0, 1.6, 2.0])) for mode in ("linear", "nearest", "cubic")),
        call({"X": "a", "sizes": "k", "mode": "linear", "coordinate_transformation_mode": "align_corners"}, a=(2, 1, 5), k=whole(2, 1, 3)),
        call({"X": "a", "sizes": "k", "mode": "cubic", "antialias": 1, "axes": [1, 2], "exclude_outside": 1}, a=(2, 5, 4), k=whole(3, 7)),
        call({"X": "a", "scales": [1.0, 2.0], "mode": "nearest"}, opset="10", a=(2, 3)),
        call({"X": "a", "roi": "kr", "sizes": "k", "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 2.0}, a=(4, 4), k=whole(3, 5),
             kr=np.array([-0.2, 0.1, 0.8, 0.9]))],
    "Upsample": [call({"X": "a", "scales": [1.0, 2.0, 1.5], "mode": "linear"}, opset="8", a=(1, 2, 3)), call({"X": "a", "scales": [2.0, 1.0]}, opset="9", a=(2, 3))],
    "GridSample": [
        *(call({"X": "a", "grid": "b", "padding_mode": pad, "align_corners": corners}, a=(2, 2, 4, 3), b=((2, 2, 3, 2), -1.3, 1.3)) for pad in ("zeros", "border", "reflection") for corners in (0, 1)),
        call({"X": "a", "grid": "b", "mode": "nearest"}, a=(1, 2, 4, 3), b=((1, 2, 2, 2), -1.2, 1.2)), call({"X": "a", "grid": "b"}, a=(1, 1, 3, 2, 3), b=((1, 2, 1, 2, 3), -1.1, 1.1))],
    "RoiAlign": [call({"X": "a", "rois": "b", "batch_indices": "k", "output_height": 2, "output_width": 3, **more}, a=(2, 2, 6, 7), b=np.array([[0.4, 0.7, 5.1, 4.6], [1.3, 0.2, 6.3, 3.9]]), k=whole(1, 0))
                 for more in ({"sampling_ratio": 2}, {}, {"coordinate_transformation_mode": "output_half_pixel", "spatial_scale": 0.8})],
    "Attention": [
        call({"Q": "a", "K": "b", "V": "c"}, "p[0]", a=(1, 2, 3, 4), b=(1, 2, 5, 4), c=(1, 2, 5, 2)),
        call({"Q": "a", "K": "b", "V": "c", "attn_mask": "d", "softcap": 1.5, "scale": 0.7}, "p[0]", a=(1, 2, 3, 4), b=(1, 2, 5, 4), c=(1, 2, 5, 2), d=(3, 5)),
        call({"Q": "a", "K": "b", "V": "c", "is_causal": 1, "q_num_heads": 4, "kv_num_heads": 2}, "p[0]", a=(2, 3, 8), b=(2, 3, 4), c=(2, 3, 4)),
        call({"Q": "a", "K": "b", "V": "c", "past_key": "d", "past_value": "e", "attn_mask": "k"}, "numpy.append(numpy.ravel(p[0]), numpy.append(p[1], p[2]))", a=(1, 1, 2, 3), b=(1, 1, 2, 3), c=(1, 1, 2, 2),
             d=(1, 1, 2, 3), e=(1, 1, 2, 2), k=np.array([[True, True, False, True], [True, False, True, True]]))],
    "RotaryEmbedding": [call({"X": "a", "cos_cache": "b", "sin_cache": "c", "position_ids": "k"}, a=(1, 2, 3, 4), b=(5, 2), c=(5, 2), k=np.array([[0, 4, 2]])),
                        call({"X": "a", "cos_cache": "b", "sin_cache": "c", "interleaved": 1, "num_heads": 2, "rotary_embedding_dim": 4}, a=(1, 3, 12), b=(1, 3, 2), c=(1, 3, 2))],
    "CausalConvWithState": [
        call({"input": "a", "weight": "b"}, "p[0]", a=(2, 3, 5), b=(3, 1, 4)),
        call({"input": "a", "weight": "b", "bias": "c", "past_state": "d", "activation": "silu"}, "numpy.append(numpy.ravel(p[0]), p[1])", a=(1, 2, 4), b=(2, 1, 3), c=(2,), d=(1, 2, 2)),
        call({"input": "a", "weight": "b"}, "p[0]", a=(1, 2, 3), b=(2, 1, 1))],
    "LinearAttention": [
        call({**LINEAR, "update_rule": "linear"}, "p[0]", a=(2, 3, 8), b=(2, 3, 4), c=(2, 3, 6)),
        call({**LINEAR, "update_rule": "gated", "decay": "d", "past_state": "e", "scale": 0.7}, "numpy.append(numpy.ravel(p[0]), p[1])", a=(1, 3, 8), b=(1, 3, 4), c=(1, 3, 4), d=(1, 3, 4),
             e=(1, 2, 2, 2)),
        call({**LINEAR, "update_rule": "delta", "beta": "d"}, "numpy.append(numpy.ravel(p[0]), p[1])", a=(1, 4, 8), b=(1, 4, 4), c=(1, 4, 4), d=((1, 4, 1), 0.1, 0.9)),
        call({**LINEAR, "update_rule": "gated_delta", "decay": "d", "beta": "e"}, "p[0]", a=(2, 3, 8), b=(2, 3, 4), c=(2, 3, 4), d=(2, 3, 2), e=((2, 3, 2), 0.1, 0.9))],
    "DeformConv": [
        call({**CONV, "offset": "c"}, a=(1, 2, 4, 4), b=(2, 2, 2, 2), c=((1, 8, 3, 3), -0.9, 0.9)),
        call({**CONV, "offset": "c", "B": "d", "mask": "e", "offset_group": 2, "group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}, a=(2, 4, 4, 5), b=(2, 2, 2, 2),
             c=((2, 16, 3, 4), -1.4, 1.4), d=(2,), e=((2, 8, 3, 4), 0.2, 1))],
    "MaxRoiPool": [call({"X": "a", "rois": "kr", "pooled_shape": [2, 2], "spatial_scale": 0.5}, a=(2, 2, 5, 6), kr=np.array([[1.0, 0, 0, 8, 7], [0, 3, 2, 11, 9], [1, 1, 1, 2, 2]]))],
    "RNN": recurrent(1, 1),
    "GRU": recurrent(3, 2, linear_before_reset=1),
    "LSTM": recurrent(4, 3, input_forget=1)
            + [call({**RNN, "hidden_size": 2, "B": "d", "initial_h": "e", "initial_c": "f", "P": "g"}, "numpy.append(numpy.ravel(p[0]), numpy.append(p[1], p[2]))", a=(3, 2, 3), b=(1, 8, 3),
                    c=(1, 8, 2), d=(1, 16), e=(1, 2, 2), f=(1, 2, 2), g=(1, 6))],
}

EXPRESSIONS = {
    "numpy.vecdot": [("numpy.vecdot(a, b)", {"a": M, "b": (3,)})],
    "numpy.matvec": [("numpy.matvec(a, b)", {"a": M, "b": (3,)})],
    "numpy.vecmat": [("numpy.vecmat(b, a)", {"a": M, "b": (2,)})],
    "numpy.matrix_transpose": [("numpy.matrix_transpose(a)", {"a": M})],
    "numpy.diagflat": [("numpy.diagflat(a, 1)", {"a": (2, 2)})],
    "numpy.trapezoid": [("numpy.trapezoid(a, b)", {"a": M, "b": (3,)}), ("numpy.trapezoid(a, dx=0.5, axis=0)", {"a": M})],
    "numpy.vdot": [("numpy.vdot(a, b)", {"a": M, "b": M})],
    "numpy.inner": [("numpy.inner(a, b)", {"a": M, "b": (4, 3)}), ("numpy.inner(a, b)", {"a": (3,), "b": (3,)}), ("numpy.inner(a, b)", {"a": (), "b": (3,)})],
    "numpy.tensordot": [("numpy.tensordot(a, b)", {"a": (2, 3, 4), "b": (3, 4)}), ("numpy.tensordot(a, b, 1)", {"a": (2, 3), "b": (3, 4)}),
                        ("numpy.tensordot(a, b, [[0, 2], [2, 0]])", {"a": (2, 3, 4), "b": (4, 5, 2)}), ("numpy.tensordot(a, b, 0)", {"a": (2,), "b": (3,)})],
    "numpy.kron": [("numpy.kron(a, b)", {"a": (2, 2), "b": (2, 3)}), ("numpy.kron(a, b)", {"a": (2,), "b": (2, 3)})],
    "numpy.cross": [("numpy.cross(a, b)", {"a": (3,), "b": (3,)}), ("numpy.cross(a, b)", {"a": (2, 3), "b": (3,)})],
    "numpy.trace": [("numpy.trace(a)", {"a": (3, 3)}), ("numpy.trace(a, 1)", {"a": (3, 4)})],
    "numpy.convolve": [(f"numpy.convolve(a, b, '{mode}')", {"a": (5,), "b": (n,)}) for mode in ("full", "same", "valid") for n in (2, 3, 7)],
    "numpy.correlate": [(f"numpy.correlate(a, b, '{mode}')", {"a": (5,), "b": (n,)}) for mode in ("full", "same", "valid") for n in (2, 3, 7)],
    "numpy.split": [("numpy.concatenate(numpy.split(a, [1, 2], 1), 1) * 2", {"a": (2, 4)}), ("numpy.split(a, 2)[1] * numpy.split(a, 2)[-2]", {"a": (4, 3)}), ("numpy.split(a, [1, 2], axis=1)[2]", {"a": (2, 4)})],
    "numpy.array_split": [("numpy.array_split(a, 3)[0]", {"a": (4, 2)})],
    "operator.meshgrid_ij": [("numpy.meshgrid(a, b, indexing='ij')[0] * numpy.exp(numpy.meshgrid(a, b, indexing='ij')[1])", {"a": (3,), "b": (2,)})],
    "numpy.meshgrid": [("numpy.meshgrid(a, b)[0] * numpy.exp(numpy.meshgrid(a, b)[1])", {"a": (3,), "b": (2,)})],
    "numpy.sort": [("numpy.sort(a)", {"a": M}), ("numpy.sort(a, 0)", {"a": (4, 2)})],
    "numpy.cumprod": [("numpy.cumprod(a)", {"a": M}), ("numpy.cumprod(a, 1)", {"a": (2, 3, 2)})],
    "numpy.diff": [("numpy.diff(a)", {"a": (2, 4)}), ("numpy.diff(a, 2)", {"a": (5,)}), ("numpy.diff(a, axis=0)", {"a": (3, 2)})],
    "operator.refuse": [("numpy.quantile(a, b)", {"a": (5,), "b": ((), 0.2, 0.7)})],
    "numpy.nanmedian": [("numpy.nanmedian(numpy.where(a > b, a, numpy.nan), 1)", {"a": (2, 5), "b": np.array([[0.0], [0.0]])})],
    "numpy.nanquantile": [("numpy.nanquantile(a, 0.3, 0)", {"a": (4, 2)})],
    "numpy.nanpercentile": [("numpy.nanpercentile(a, [20, 70], method='midpoint')", {"a": (6,)})],
    "numpy.quantile": [("numpy.quantile(a, 0.3)", {"a": (5,)}), ("numpy.quantile(a, [0.1, 0.7], 0)", {"a": (5, 2)})],
    "numpy.percentile": [("numpy.percentile(a, 30)", {"a": (5,)}), ("numpy.percentile(a, 40, axis=1, keepdims=True)", {"a": (2, 4)})],
    "numpy.median": [("numpy.median(a)", {"a": (5,)}), ("numpy.median(a, 1)", {"a": (2, 4)}), ("numpy.median(a, axis=0, keepdims=True)", {"a": (4, 2)})],
    "numpy.gradient": [("numpy.gradient(a)", {"a": (5,)}), ("numpy.gradient(a, b, axis=0)", {"a": (4, 2), "b": ()})],
    "numpy.delete": [("numpy.delete(a, 1)", {"a": (4,)}), ("numpy.delete(a, -1, 0)", {"a": M})],
    "numpy.einsum": [("numpy.einsum('ij,jk->ik', a, b)", {"a": M, "b": (3, 2)}), ("numpy.einsum('i,ij->j', a, 2 * k)", {"a": (2,), "k": np.array([[2, 0], [1, 1]])})],
    "numpy.insert": [("numpy.insert(a, 1, b)", {"a": (4,), "b": (2,)}), ("numpy.insert(a, -1, b, 1)", {"a": M, "b": ()})],
    "numpy.pad": [("numpy.pad(a, 1)", {"a": M}), ("numpy.pad(a, ((0, 2), (1, 0)), 'reflect')", {"a": M}), ("numpy.pad(b, 2, constant_values=a)", {"b": (3,), "a": (2,)})],
    "operator.pad": [("numpy.pad(b, (2, 5), 'symmetric')", {"b": (3,)}), ("numpy.pad(b, (1, 4), 'wrap')", {"b": (3,)})],
    "operator.norm_of_lines": [("numpy.linalg.norm(a, -numpy.inf, 1)", {"a": M}), ("numpy.linalg.norm(a, 2, 0)", {"a": M})],
    "operator.norm_of_powers": [("numpy.linalg.norm(a, 2.5)", {"a": (4,)})],
    "operator.norm_of_matrix": [("numpy.linalg.norm(a, 1)", {"a": M}), ("numpy.linalg.norm(a, -math.inf)", {"a": M})],
    "operator.log_to_base": [("math.log(a, b)", {"a": ((), 0.2, 0.7), "b": ((), 1.5, 3.0)})],
    "math.modf": [("math.modf(a)[0] * a", {"a": ((), 1.2, 1.7)})],
    "divmod": [("divmod(a, b)[1] * a", {"a": ((), 3.2, 3.3), "b": ((), 1.2, 1.3)})],
    "operator.insert": [("numpy.insert(a, 0, b, 0)", {"a": M, "b": (3,)})],
    "operator.with_axes": [("numpy.array(a, ndmin=2)", {"a": (3,)})],
    "numpy.rot90": [("numpy.rot90(a)", {"a": M}), ("numpy.rot90(a, 2)", {"a": M})],
    "numpy.take_along_axis": [("numpy.take_along_axis(a, k, 1)", {"a": (2, 3), "k": np.array([[2, 0], [1, 1]])})],
    "numpy.cov": [("numpy.cov(a)", {"a": (2, 4)}), ("numpy.cov(a, b, rowvar=False)", {"a": (4, 2), "b": (4,)})],
    "numpy.corrcoef": [("numpy.corrcoef(a, b)[0, 1]", {"a": (4,), "b": (4,)})],
    "numpy.unique": [("numpy.unique(a)", {"a": M})],
    "numpy.bincount": [("numpy.bincount(k, a)", {"a": (4,), "k": whole(0, 2, 2, 1)})],
    "numpy.interp": [("numpy.interp(a, b, c)", {"a": ((4,), 0.1, 2.9), "b": np.array([0.0, 1.1, 2.0, 3.0]), "c": (4,)}),
                     ("numpy.interp(a, b, c, left=0.5)", {"a": ((4,), -2, 4), "b": np.array([0.0, 1.1, 2.0]), "c": (3,)})],
    "numpy.nanprod": [("numpy.nanprod(numpy.where(a < 0.5, a, numpy.nan), 1)", {"a": M})],
    "numpy.nanvar": [("numpy.nanvar(numpy.where(a < 0.5, a, numpy.nan), 1)", {"a": (2, 4)})],
    "numpy.nanstd": [("numpy.nanstd(numpy.where(a < 0.5, a, numpy.nan), ddof=1)", {"a": (2, 4)})],
    "numpy.average": [("numpy.average(a)", {"a": M}), ("numpy.average(a, weights=b)", {"a": M, "b": (M, 0.2, 1)}), ("numpy.average(a, axis=1, weights=b)", {"a": M, "b": ((3,), 0.2, 1)}),
                      ("numpy.average(a, axis=0, weights=b)", {"a": M, "b": ((2,), 0.2, 1)})],
    "operator.norm_root": [("numpy.linalg.norm(a, axis=0)", {"a": M})],
    "operator.sum_where": [("numpy.sum(a, 1, where=b > 0)", {"a": M, "b": M})],
    "operator.prod_where": [("numpy.prod(a, where=b > 0)", {"a": M, "b": M})],
    "operator.mean_where": [("numpy.mean(a, 0, where=b > -1)", {"a": M, "b": M})],
    "operator.ravel_columns": [("numpy.ravel(a, 'F')", {"a": M})],
    "operator.reshape_columns": [("numpy.reshape(a, (-1, 2), 'F')", {"a": (2, 4)})],
    "numpy.histogram": [("numpy.histogram(a, 2, weights=b)[0]", {"a": (4,), "b": (4,)}), ("numpy.histogram(a, 3)[1]", {"a": (4,)})],
    "numpy.linalg.matrix_power": [(f"numpy.linalg.matrix_power(a + 2 * numpy.eye(2), {n})", {"a": (2, 2)}) for n in (0, 1, 3, -2)],
    "numpy.linalg.norm": [("numpy.linalg.norm(a)", {"a": M}), ("numpy.linalg.norm(a, axis=1)", {"a": M}), ("numpy.linalg.norm(a, 1)", {"a": (4,)}), ("numpy.linalg.norm(a, numpy.inf, 0)", {"a": M}),
                          ("numpy.linalg.norm(a, 3, axis=1)", {"a": M}), ("numpy.linalg.norm(a, 'fro')", {"a": M})],
    "numpy.full": [("numpy.full([2, 2], a)", {"a": ()})],
    "numpy.full_like": [("numpy.full_like(b, a)", {"a": (), "b": M})],
    "numpy.arange": [("numpy.arange(a, 3.0, b)", {"a": ((), 0.1, 0.2), "b": ((), 0.7, 0.8)})],
    "numpy.linspace": [("numpy.linspace(a, b, 5)", {"a": (), "b": ()}), ("numpy.linspace(a, b, 4, endpoint=False)", {"a": (), "b": ()})],
    "numpy.logspace": [("numpy.logspace(a, b, 5)", {"a": (), "b": ()})],
    "numpy.float64": [("numpy.float64(a) * a", {"a": M})],
    "numpy.select": [("numpy.select([a > 0, a < -0.5], [a * b, b * b], a * 3)", {"a": M, "b": (3,)}), ("numpy.select([a > t for t in [0.5, 0]], [a * t for t in [2, 3]])", {"a": M})],
    "zip": [("sum([x * y * n for x, y, n in zip(a, b, range(1, 9))])", {"a": (3,), "b": (4,)}), ("numpy.array([x * y for x, y in zip(a, numpy.split(b, 2))])", {"a": (2,), "b": (4, 3)})],
    "enumerate": [("sum([x * i for i, x in enumerate(a, 2) if i != 3])", {"a": M}), ("numpy.stack([numpy.sin(p) * i for i, p in enumerate(numpy.array_split(a, 2, 1))])", {"a": (2, 4)})],
    "reversed": [("sum([x * i for i, x in enumerate(reversed(a))])", {"a": (4,)})],
    "list": [("numpy.array(list(a)) * 2", {"a": (4,)})], "tuple": [("sum([p[0] * p[1] for p in tuple(zip(a, b))])", {"a": (3,), "b": (3,)})],
    "numpy.nan_to_num": [("numpy.nan_to_num(numpy.where(a > 0, a, numpy.nan))", {"a": M})],
    "math.gamma": [("math.gamma(a)", {"a": ((), 0.5, 3)})],
    "math.lgamma": [("math.lgamma(a)", {"a": ((), 0.5, 3)}), ("math.lgamma(a)", {"a": ((), -0.9, -0.2)}), ("math.lgamma(a)", {"a": ((), 11, 14)})],
    "math.ldexp": [("math.ldexp(a, 3)", {"a": ()})],
    "math.remainder": [("math.remainder(a, b)", {"a": ((), 2, 2.5), "b": ((), 0.9, 1.1)})],
    "math.fsum": [("math.fsum(a)", {"a": (4,)}), ("math.fsum([a, b])", {"a": (), "b": ()})],
    "math.dist": [("math.dist(a, b)", {"a": (3,), "b": (3,)}), ("math.dist([a, b], [0.3, 2.0])", {"a": (), "b": ()})],
    "math.prod": [("math.prod(a)", {"a": (4,)}), ("math.prod([a, b, 2.0])", {"a": (), "b": ()})],
    "sum": [("sum(a)", {"a": (4,)}), ("sum([a, b, a])", {"a": M, "b": M}), ("sum([a, b], a)", {"a": (), "b": ()})],
    "min": [("min(a, b)", {"a": (), "b": ()}), ("min(a)", {"a": (4,)}), ("min([a, b])", {"a": (), "b": ()})],
    "max": [("max(a, b, 0.2)", {"a": (), "b": ()}), ("max(a)", {"a": (4,)})],
    "numpy.ndarray.tolist": [("numpy.array(a.tolist()) * a", {"a": M})],
    "numpy.ndarray.item": [("a.item() * a", {"a": (1,)}), ("a.item(2) * a", {"a": (4,)})],
    "numpy.concatenate": [("numpy.concatenate([a, b * 2], 1)", {"a": M, "b": (2, 1)})],
    "numpy.stack": [("numpy.stack([a, b, a])", {"a": M, "b": M}), ("numpy.stack(numpy.split(a, 2, 1))", {"a": (3, 4)})],
}

OPERATORS.update({
    **{name: unary("X") for name in ("Abs", "Neg", "Reciprocal", "Sigmoid", "Softplus", "Relu", "LeakyRelu", "ThresholdedRelu", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Swish", "Mish", "Gelu")},
    **{name: unary("input") for name in ("Identity", "Acos", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan", "Tanh", "Erf", "Exp", "Softsign")},
    "Acosh": unary("input", 1.1, 3), "Log": unary("input", 0.3, 2), "Sqrt": unary("X", 0.3, 2), "Shrink": unary("input", -2, 2, lambd=0.7, bias=0.2),
    **{name: [call({"A": "a", "B": "b"}, a=M, b=((3,), 0.4, 1))] for name in ("Add", "Sub", "Mul", "Div")},
    "Pow": [call({"X": "a", "Y": "b"}, a=(M, 0.4, 1), b=(3,))], "Mod": [call({"A": "a", "B": "b", "fmod": 1}, a=(M, 1.2, 1.8), b=((), 0.99, 1.01))],
    "PRelu": [call({"X": "a", "slope": "b"}, a=M, b=(3,))], "SwiGLU": [call({"A": "a", "B": "b"}, a=M, b=M)],
    **{name: [call({"data_0": "[a, b, a]"}, a=M, b=(3,))] for name in ("Sum", "Mean", "Max", "Min")},
    "Where": [call({"condition": "a > 0", "X": "a * a", "Y": "b"}, a=M, b=(3,))], "Clip": [call({"input": "a", "min": "b", "max": 0.5}, a=M, b=((), -0.5, -0.4))],
    "Cast": [call({"input": "a", "to": 11}, a=M)], "CastLike": [call({"input": "a", "target_type": "b"}, a=M, b=M)],
    "MatMul": [call({"A": "a", "B": "b"}, a=(2, 2, 3), b=(3, 4))], "Gemm": [call({"A": "a", "B": "b", "C": "c", "alpha": 0.5, "transA": 1}, a=(3, 2), b=(3, 4), c=(4,))],
    "CumSum": [call({"x": "a", "axis": "k", "exclusive": 1}, a=M, k=np.array(1)), call({"x": "a", "axis": "k", "reverse": 1}, a=M, k=np.array(0))],
    **{f"Reduce{name}": [call({"data": "a", "axes": [1]}, a=((2, 3, 2), 0.2, 1)), call({"data": "a", "keepdims": 0}, a=(M, 0.2, 1))]
       for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
    **{name: [call({"input": "a", "axis": 1}, a=(2, 3, 2))] for name in ("Softmax", "LogSoftmax", "LpNormalization", "Flatten")},
    "LayerNormalization": [call({"X": "a", "Scale": "b", "B": "c"}, a=(2, 4), b=(4,), c=(4,))], "RMSNormalization": [call({"X": "a", "scale": "b"}, a=(2, 4), b=(4,))],
    "InstanceNormalization": [call({"input": "a", "scale": "b", "B": "c"}, a=(2, 2, 4), b=(2,), c=(2,))], "GlobalAveragePool": [call({"X": "a"}, a=(2, 2, 3))],
    "Reshape": [call({"data": "a", "shape": [3, 2]}, a=M)], "Transpose": [call({"data": "a", "perm": [1, 0]}, a=M)], "Expand": [call({"input": "a", "shape": [2, 3, 2]}, a=(3, 1))],
    "Tile": [call({"input": "a", "repeats": [2, 2]}, a=M)], "Concat": [call({"inputs": "[a, b, a]", "axis": 1}, a=M, b=(2, 1))], "Unsqueeze": [call({"data": "a", "axes": [0]}, a=M)],
    "Squeeze": [call({"data": "a", "axes": [0]}, a=(1, 3))], "Slice": [call({"data": "a", "starts": [0], "ends": [3], "axes": [1], "steps": [2]}, a=(2, 4))],
    "Split": [call({"input": "a", "axis": 1, "num_outputs": 2}, "p[1] * p[0]", a=(2, 4))], "Gather": [call({"data": "a", "indices": [2, 0, 2], "axis": 1}, a=M)],
    "GatherElements": [call({"data": "a", "indices": [[1, 1, 0]], "axis": 0}, a=M)], "GatherND": [call({"data": "a", "indices": [[1, 2], [1, 2]]}, a=M)],
    "Compress": [call({"input": "a", "condition": [False, True], "axis": 0}, a=M)], "Pad": [call({"data": "a", "pads": [1, 0, 0, 2], "constant_value": "b"}, a=M, b=()),
                                                                                     call({"data": "a", "pads": [1, 0, 0, 2], "mode": "reflect"}, a=M)],
    "Trilu": [call({"input": "a", "upper": 0}, a=(3, 3))], "DepthToSpace": [call({"input": "a", "blocksize": 2}, a=(1, 4, 2, 1))],
    "SpaceToDepth": [call({"input": "a", "blocksize": 2}, a=(1, 1, 2, 4))], "ReverseSequence": [call({"input": "a", "sequence_lens": [1, 2]}, a=(2, 2))],
    "CenterCropPad": [call({"input_data": "a", "shape": [3, 2]}, a=M)],
    "ai.onnx.ml::Scaler": [call({"X": "a", "offset": [0.5, 0.1, 0.2], "scale": [2.0, 3.0, 0.5]}, a=M)],
    "ai.onnx.ml::Imputer": [call({"X": "a", "imputed_value_floats": [0.5], "replaced_value_float": 9.0}, a=M)],
    "ai.onnx.ml::Normalizer": [call({"X": "a", "norm": norm}, a=(M, 0.2, 1)) for norm in ("MAX", "L1", "L2")],
    "ai.onnx.preview::FlexAttention": [
        call({"Q": "a", "K": "b", "V": "c"}, a=(1, 2, 3, 4), b=(1, 2, 5, 4), c=(1, 2, 5, 2)),
        call({"Q": "a", "K": "b", "V": "c", "scale": 0.7}, a=(2, 4, 3, 4), b=(2, 2, 5, 4), c=(2, 2, 5, 2))],
    "ai.onnx.ml::LinearRegressor": [
        call({"X": "a", "coefficients": [0.5, -1.0, 2.0, 0.3, 0.7, -0.2], "intercepts": [0.1, 0.2], "targets": 2}, a=M),
        call({"X": "a", "coefficients": [0.2, -0.1, 0.1, 0.1, 0.1, -0.2], "intercepts": [0.5, 0.4], "targets": 2, "post_transform": "PROBIT"}, a=M)],
    "ai.onnx.ml::LinearClassifier": [
        *(call({"X": "a", "coefficients": [0.5, -1.0, 2.0, 0.3, 0.7, -0.2], "intercepts": [0.1, 0.2], "classlabels_ints": [3, 5], "post_transform": how}, "p[1]", a=M)
          for how in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")),
        call({"X": "a", "coefficients": [0.5, -1.0, 2.0], "intercepts": [0.1], "classlabels_ints": [3, 5], "post_transform": "SOFTMAX"}, "p[1]", a=M)],
    "ai.onnx.ml::SVMRegressor": [
        *(call({**MACHINE, "coefficients": [0.5, -0.8, 0.3, 0.6], "n_supports": 4, "rho": [0.2], "kernel_type": kernel}, a=M) for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")),
        call({"X": "a", "coefficients": [0.5, -0.8, 0.3], "rho": [0.2], "post_transform": "LOGISTIC"}, a=M)],
    "ai.onnx.ml::SVMClassifier": [
        call({**MACHINE, "coefficients": [0.5, -0.8, 0.3, 0.6, -0.4, 0.9, 0.1, -0.7], "vectors_per_class": [1, 2, 1], "rho": [0.2, -0.1, 0.3], "classlabels_ints": [0, 1, 2], "kernel_type": "RBF"}, "p[1]",
             a=M),
        call({**MACHINE, "coefficients": [0.5, -0.8, 0.3, 0.6], "vectors_per_class": [2, 2], "rho": [0.2], "classlabels_ints": [0, 1], "kernel_type": "POLY", "post_transform": "LOGISTIC"}, "p[1]", a=M),
        call({"X": "a", "coefficients": [0.5, -0.8, 0.3, 0.2, 0.4, 0.1], "rho": [0.2], "classlabels_ints": [0, 1]}, "p[1]", a=M)],
    "com.microsoft::Inverse": [call({"X": "a"}, a=(2, 3, 3))],
    "com.microsoft::CDist": [call({"A": "a", "B": "b", "metric": metric}, a=(2, 3), b=(4, 3)) for metric in ("euclidean", "sqeuclidean")],
    "com.microsoft::ConvTransposeWithDynamicPads": [call({**CONV, "Pads": "k", "B": "c", "strides": [2, 1]}, a=(2, 2, 3, 3), b=(2, 3, 2, 2), c=(3,), k=whole(1, 0, 0, 1))],
    "ai.onnx.ml::ArrayFeatureExtractor": [call({"X": "a", "Y": [1, 0]}, a=(2, 3))],
})

SMOOTH = "sin cos tan sinh cosh tanh arcsin asin arccos acos arctan atan arcsinh asinh arctanh atanh exp exp2 expm1 square negative positive abs absolute fabs degrees rad2deg radians deg2rad sinc"
POSITIVE = "log log2 log10 log1p sqrt cbrt reciprocal"
MOVES = {"reshape": "[3, 2]", "ravel": "", "expand_dims": "0", "squeeze": "", "atleast_1d": "", "atleast_2d": "", "atleast_3d": "", "broadcast_to": "[2, 2, 3]", "transpose": "", "permute_dims": "",
         "swapaxes": "0, 1", "moveaxis": "0, 1", "flip": "", "fliplr": "", "flipud": "", "roll": "1", "tile": "2", "repeat": "2", "diagonal": "", "diag": "", "tril": "", "triu": "", "take": "[2, 0, 2], 1",
         "copy": "", "conj": "", "conjugate": "", "array": "", "asarray": "", "asanyarray": "", "ascontiguousarray": "", "double": "", "astype": "'float64'"}
PAIRS = "add subtract multiply divide true_divide maximum minimum fmax fmin arctan2 atan2 hypot copysign logaddexp logaddexp2 heaviside"
FOLDS = "sum prod mean var std max amax min amin ptp nansum nanmean nanmax nanmin"
EXPRESSIONS.update({
    **{f"numpy.{name}": [(f"numpy.{name}(a)", {"a": (M, -0.9, 0.9)})] for name in SMOOTH.split()},
    **{f"numpy.{name}": [(f"numpy.{name}(a)", {"a": (M, 0.3, 2)})] for name in POSITIVE.split()},
    **{f"numpy.{name}": [(f"numpy.{name}(a)", {"a": (M, 1.1, 2)})] for name in ("arccosh", "acosh")},
    **{f"numpy.{name}": [(f"numpy.{name}({', '.join(['a'] + [more] * (more != ''))}) * 1.5", {"a": M})] for name, more in MOVES.items()},
    **{f"numpy.{name}": [(f"numpy.{name}(a, b)", {"a": M, "b": (3,)})] for name in PAIRS.split()},
    **{f"numpy.{name}": [(f"numpy.{name}(a, b)", {"a": (M, 0.4, 1), "b": (3,)})] for name in ("power", "pow", "float_power")},
    **{f"numpy.{name}": [(f"numpy.{name}(a, b)", {"a": (M, 1.2, 1.8), "b": ((), 0.99, 1.01)})] for name in ("mod", "remainder", "fmod")},
    **{f"numpy.{name}": [(f"numpy.{name}(a)", {"a": M}), (f"numpy.{name}(a, 1)", {"a": M}), (f"numpy.{name}(a, axis=0, keepdims=True)", {"a": M})] for name in FOLDS.split()},
    **{f"numpy.{name}": [(f"numpy.{name}([a, b])", {"a": M, "b": M})] for name in ("concat", "vstack", "hstack", "dstack", "column_stack")},
    "numpy.append": [("numpy.append(a, b)", {"a": M, "b": (2,)})], "numpy.where": [("numpy.where(a > 0, a * a, b)", {"a": M, "b": (3,)})], "numpy.clip": [("numpy.clip(a, b, 0.6)", {"a": M, "b": ((), -0.5, -0.4)})],
    "numpy.cumsum": [("numpy.cumsum(a)", {"a": M}), ("numpy.cumsum(a, 1)", {"a": M})], "numpy.dot": [("numpy.dot(a, b)", {"a": M, "b": (3, 2)}), ("numpy.dot(a, b)", {"a": (3,), "b": (3,)})],
    "numpy.matmul": [("numpy.matmul(a, b)", {"a": (2, 2, 3), "b": (3, 2)}), ("numpy.matmul(a, b)", {"a": (3,), "b": (3, 2)})], "numpy.outer": [("numpy.outer(a, b)", {"a": (2,), "b": (3,)})],
    "numpy.linalg.det": [("numpy.linalg.det(a)", {"a": (2, 3, 3)})], "numpy.linalg.inv": [("numpy.linalg.inv(a + 2 * numpy.eye(2))", {"a": (2, 2)})],
    "numpy.linalg.solve": [("numpy.linalg.solve(a + 2 * numpy.eye(2), b)", {"a": (2, 2), "b": (2, 3)})],
    **{f"numpy.ndarray.{name}": [(f"a.{name}({more}) * 1.5", {"a": M})] for name, more in {"copy": "", "flatten": "", "reshape": "3, 2", "transpose": ""}.items()},
    "T": [("a.T * 1.5", {"a": M})], "real": [("a.real * a", {"a": M})], "abs": [("abs(a)", {"a": M})], "float": [("float(a) * a", {"a": ()})],
    **{f"math.{name}": [(f"math.{name}(a)", {"a": ((), -0.9, 0.9)})] for name in
       ["acos", "asin", "asinh", "atan", "atanh", "cos", "cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "radians", "sin", "sinh", "tan", "tanh"]},
    **{f"math.{name}": [(f"math.{name}(a)", {"a": ((), 0.3, 2)})] for name in ["cbrt", "log", "log10", "log1p", "log2", "sqrt"]},
    "math.acosh": [("math.acosh(a)", {"a": ((), 1.1, 2)})],
    "pow": [("pow(a, b)", {"a": ((), 1.2, 1.8), "b": ((), 0.9, 1.1)})],
    **{f"math.{name}": [(f"math.{name}(a, b)", {"a": ((), 1.2, 1.8), "b": ((), 0.9, 1.1)})] for name in ["atan2", "copysign", "fmod", "hypot", "pow"]},
    **{f"operator.{name}": [(f"a {sign} b", {"a": (M, 1.2, 1.8), "b": ((), 0.99, 1.01)})] for name, sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "pow": "**"}.items()},
    "operator.matmul": [("a @ b", {"a": M, "b": (3, 2)})], "operator.neg": [("-a", {"a": M})], "operator.pos": [("+a", {"a": M})], "operator.getitem": [("a[:, ::-1] * a[1]", {"a": M})],
})

# What is looked at elsewhere: control flow by tests/run/test_gradient_program.c and tests/random/check_gradients.py; random draws by python/tests/test_gradients.py; what has fewer digits than
# differences need; whole numbers; neighbours of a number.
ELSEWHERE = {"If", "Loop", "Scan", "build_outputs", "numpy.random.normal", "numpy.random.uniform", "numpy.float16", "numpy.half", "numpy.float32", "numpy.single", "BitShift", "IsInf", "numpy.nextafter",
             "math.nextafter", "build_list", "build_tuple"}

# What is computed in float32: differences have fewer digits.
ROUGH = {"RotaryEmbedding", "ai.onnx.ml::Scaler", "ai.onnx.ml::Imputer", "ai.onnx.ml::Normalizer", "ai.onnx.ml::LinearRegressor", "ai.onnx.ml::LinearClassifier", "ai.onnx.ml::SVMRegressor", "ai.onnx.ml::SVMClassifier",
         "CausalConvWithState", "LinearAttention"}
