/* onnx_definitions.c - what operators of ONNX Runtime come to in ONNX's own: those that its optimizers, onnxscript's and tf2onnx
 * put in the place of several. How a step is read: onnx_definition.h.
 *
 * Source: ContribOperators.md of ONNX Runtime, and what its kernels for processors do. Inputs and attributes that are not listed
 * are refused. */
#include "mdf_c/document/onnx/onnx_definition.h"

#include <stddef.h>

#define STEPS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

/* What attention adds to its scores: where a key is masked, and the bias that is given. A mask is [batch], how many keys count,
 * or [batch, keys] (which of the two only its shape may say), or [batch, queries, keys]; `pad` says which keys count. */
#define MASK_STEPS(mask)                                                                                                 \
    "if " mask " & !rank(" mask ")=3: are_lengths = Less(Size(Shape(" mask ")), 2)",                                     \
        "if are_lengths: rows = Reshape(" mask ", Concat(batch, Where(are_lengths, [1], Reshape(total, [1])), axis=0))", \
        "if are_lengths: pad = And(are_lengths, Less(Range(0, total, 1), Cast(rows, to=7)))",                            \
        "if are_lengths: pad = Or(pad, And(Not(are_lengths), Greater(rows, CastLike(0, rows))))",                        \
        "if are_lengths: pad = Unsqueeze(pad, [1, 2])",                                                                  \
        "if rank(" mask ")=3: pad = Greater(Unsqueeze(" mask ", [1]), CastLike(0, " mask "))",                           \
        "if pad: bias = Where(pad, CastLike(0.0, query), CastLike(@mask_filter_value, query))",                          \
        "if !pad: bias = attention_bias", "if pad & attention_bias: bias = Add(bias, attention_bias)"

/* Heads of [batch, heads, length, size] as those of [batch, length, heads * size]. */
#define IN_ROWS(x) "Reshape(Transpose(" x ", perm=[0, 2, 1, 3]), [0, 0, -1])"

#define DEQUANTIZED(x) "DequantizeLinear(" x ", " x "_scale, " x "_zero_point)"
/* Weights of a recurrent network, with a scale for each direction, or each of its outputs, which are the last axis: as LSTM has
 * them. */
#define DEQUANTIZED_WEIGHTS(w)                                                             \
    w "_wide = Sub(Cast(" w ", to=1), Cast(Reshape(" w "_zero_point, [0, 1, -1]), to=1))", \
        w " = Transpose(Mul(" w "_wide, Reshape(" w "_scale, [0, 1, -1])), perm=[0, 2, 1])"
/* The zero point of a result, which has the type of `x`, where none is given. */
#define ZERO(y, x) "if !" y "_zero_point: " y "_zero_point = CastLike(0, " x ")"
#define QUANTIZED(y, result) y " = QuantizeLinear(" result ", " y "_scale, " y "_zero_point)"

const struct onnx_definition mdf_onnx_definitions[] = {
    /* ---- functions of elements */
    {"com.microsoft", "Gelu", "X", "Y", "", STEPS("Y = Gelu(X)")},
    {"com.microsoft", "BiasGelu", "A B", "C", "", STEPS("C = Gelu(Add(A, B))")},
    {"com.microsoft", "FastGelu", "X bias", "Y", "", STEPS("if bias: X = Add(X, bias)", "Y = Gelu(X, approximate='tanh')")},
    {"com.microsoft", "GemmFastGelu", "X W bias", "Y", "", STEPS("Y = ::FastGelu(MatMul(X, W), bias)")},
    {"com.microsoft", "QuickGelu", "X", "Y", "alpha=1.702", STEPS("Y = Swish(X, alpha=@alpha)")},
    {"com.microsoft", "BiasSplitGelu", "X bias", "Y", "",
     STEPS("left, right = Split(Add(X, bias), axis=-1, num_outputs=2)", "Y = Mul(left, Gelu(right))")},
    {"com.microsoft", "BiasAdd", "X bias skip", "Y", "", STEPS("Y = Add(Add(X, bias), skip)")},
    {"com.microsoft", "BiasSoftmax", "data bias", "output", "axis=1 is_inner_broadcast",
     STEPS("sum = Add(data, bias)", "output = Reshape(Softmax(Flatten(sum, axis=@axis), axis=1), Shape(sum))")},
    /* What is fused into products and convolutions: an activation that a text names, and its numbers. */
    {"com.microsoft", "Activation", "x alpha beta", "y", "activation=''",
     STEPS("if !@activation: y = x", "if @activation='Relu': y = Relu(x)", "if @activation='Sigmoid': y = Sigmoid(x)",
           "if @activation='Tanh': y = Tanh(x)", "if @activation='Softplus': y = Softplus(x)",
           "if @activation='Softsign': y = Softsign(x)", "if @activation='LeakyRelu': y = PRelu(x, CastLike(alpha, x))",
           "if @activation='Clip': y = Clip(x, CastLike(alpha, x), CastLike(beta, x))",
           "if @activation='HardSigmoid': y = Clip(Add(Mul(x, CastLike(alpha, x)), CastLike(beta, x)), CastLike(0, x), "
           "CastLike(1, x))")},
    {"com.microsoft", "FusedGemm", "A B C", "Y",
     "alpha=1.0 beta=1.0 transA=0 transB=0 activation='' activation_alpha=0.01 activation_beta=0.0 activation_gamma",
     STEPS("Y = ::Activation(Gemm(A, B, C, alpha=@alpha, beta=@beta, transA=@transA, transB=@transB), @activation_alpha, "
           "@activation_beta, activation=@activation)")},
    {"com.microsoft", "FusedConv", "X W B Z", "Y",
     "auto_pad dilations group kernel_shape pads strides activation='' activation_params=[0,0]",
     STEPS("Y = Conv(X, W, B, auto_pad=@auto_pad, dilations=@dilations, group=@group, kernel_shape=@kernel_shape, pads=@pads, "
           "strides=@strides)",
           "if Z: Y = Add(Y, Z)",
           "Y = ::Activation(Y, Gather(@activation_params, 0), Gather(@activation_params, -1), activation=@activation)")},
    /* ---- products */
    {"com.microsoft", "FusedMatMul", "A B", "Y", "alpha=1.0 transA=0 transB=0 transBatchA=0 transBatchB=0",
     STEPS("if @transBatchA: A = Einsum(A, equation='i...k->...ik')", "if @transBatchB: B = Einsum(B, equation='i...k->...ik')",
           "if !@transA & !@transB: Y = MatMul(A, B)", "if @transA & !@transB: Y = Einsum(A, B, equation='...ki,...kj->...ij')",
           "if !@transA & @transB: Y = Einsum(A, B, equation='...ik,...jk->...ij')",
           "if @transA & @transB: Y = Einsum(A, B, equation='...ki,...jk->...ij')",
           "if !@alpha=1: Y = Mul(Y, CastLike(@alpha, Y))")},
    {"com.microsoft", "TransposeMatMul", "A B", "Y", "alpha=1.0 transA=0 transB=0",
     STEPS("Y = ::FusedMatMul(A, B, alpha=@alpha, transA=@transA, transB=@transB)")},
    /* Whole numbers of 2, 4 or 8 bits, the lowest bits of a byte first, a scale and a zero point for each block of a row. */
    {"com.microsoft", "UnpackedBits", "packed", "unpacked", "bits",
     STEPS("if @bits=8: unpacked = packed",
           "if @bits=4: unpacked = Concat(Unsqueeze(BitwiseAnd(packed, CastLike(15, packed)), [-1]), "
           "Unsqueeze(BitShift(packed, CastLike(4, packed), direction='RIGHT'), [-1]), axis=-1)",
           "if @bits=2: shifted = BitShift(Unsqueeze(packed, [-1]), CastLike([0, 2, 4, 6], packed), direction='RIGHT')",
           "if @bits=2: unpacked = BitwiseAnd(shifted, CastLike(3, packed))")},
    {"com.microsoft", "MatMulNBits", "A B scales zero_points g_idx bias", "Y",
     "K N bits=4 block_size accuracy_level weight_prepacked=0",
     STEPS("if @weight_prepacked: refuse weights that are packed for one processor", "n = Reshape(@N, [1])",
           "if !g_idx: g_idx = Div(Range(0, @K, 1), @block_size)", "scales = Reshape(scales, Concat(n, [-1], axis=0))",
           "rows = Slice(Reshape(::UnpackedBits(B, bits=@bits), Concat(n, [-1], axis=0)), [0], Reshape(@K, [1]), [1])",
           "if !zero_points & @bits=2: zeros = CastLike(2, scales)", "if !zero_points & @bits=4: zeros = CastLike(8, scales)",
           "if !zero_points & @bits=8: zeros = CastLike(128, scales)",
           "if zero_points & !type(zero_points)=uint8: zeros = Reshape(zero_points, Concat(n, [-1], axis=0))",
           "if type(zero_points)=uint8: zeros = Reshape(::UnpackedBits(zero_points, bits=@bits), Concat(n, [-1], axis=0))",
           "if zero_points: zeros = Gather(CastLike(zeros, scales), g_idx, axis=1)",
           "weights = Mul(Sub(CastLike(rows, scales), zeros), Gather(scales, g_idx, axis=1))",
           "Y = MatMul(A, Transpose(weights, perm=[1, 0]))", "if bias: Y = Add(Y, bias)")},
    {"com.microsoft", "GatherBlockQuantized", "data indices scales zero_points", "output",
     "bits=4 block_size=128 gather_axis=0 quantize_axis=1",
     STEPS("if !type(data)=uint8 & !type(data)=int4 & !type(data)=uint4: refuse the type of data has to be known",
           "if !type(data)=uint8: whole = DequantizeLinear(data, scales, zero_points, axis=@quantize_axis, "
           "block_size=@block_size)",
           "rest = Concat(Shape(data, start=0, end=-1), [-1], axis=0)",
           "if type(data)=uint8: bytes = CastLike(Reshape(::UnpackedBits(data, bits=@bits), rest), scales)",
           "if !zero_points & @bits=4: zeros = CastLike(8, scales)", "if !zero_points & @bits=8: zeros = CastLike(128, scales)",
           "if zero_points: zeros = CastLike(Reshape(::UnpackedBits(zero_points, bits=@bits), rest), scales)",
           "blocks = Div(Range(0, Squeeze(Shape(bytes, start=-1)), 1), @block_size)",
           "if zero_points: zeros = Gather(zeros, blocks, axis=-1)",
           "if type(data)=uint8: whole = Mul(Sub(bytes, zeros), Gather(scales, blocks, axis=-1))",
           "output = Gather(whole, indices, axis=@gather_axis)")},
    /* ---- norms */
    {"", "SimplifiedLayerNormalization", "X scale", "Y inv_std_var", "axis=-1 epsilon=0.00001 stash_type=1",
     STEPS("Y = RMSNormalization(X, scale, axis=@axis, epsilon=@epsilon, stash_type=@stash_type)",
           "if @axis=-1: inv_std_var = Reciprocal(Sqrt(Add(ReduceMean(Mul(X, X), [-1]), CastLike(@epsilon, X))))")},
    {"", "LayerNormalization", "X Scale B", "Y Mean InvStdDev", "axis=-1 epsilon=0.00001 stash_type=1",
     STEPS("Y, Mean, InvStdDev = LayerNormalization(X, Scale, B, axis=@axis, epsilon=@epsilon, stash_type=@stash_type)")},
    {"com.microsoft", "SkipLayerNormalization", "input skip gamma beta bias", "output mean inv_std_var input_skip_bias_sum",
     "epsilon=0.000000000001",
     STEPS("sum = Add(input, skip)", "if bias: sum = Add(sum, bias)", "input_skip_bias_sum = sum",
           "output, mean, inv_std_var = LayerNormalization(sum, gamma, beta, axis=-1, epsilon=@epsilon)")},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", "input skip gamma bias", "output mean inv_std_var input_skip_bias_sum",
     "epsilon=0.000000000001",
     STEPS("sum = Add(input, skip)", "if bias: sum = Add(sum, bias)", "input_skip_bias_sum = sum",
           "output = RMSNormalization(sum, gamma, axis=-1, epsilon=@epsilon)")},
    {"com.microsoft", "EmbedLayerNormalization",
     "input_ids segment_ids word_embedding position_embedding segment_embedding gamma beta mask position_ids",
     "output mask_index embedding_sum", "epsilon=0.000000000001 mask_index_type",
     STEPS("if !position_ids: position_ids = Range(0, Gather(Shape(input_ids), 1), 1)",
           "sum = Add(Gather(word_embedding, input_ids), Gather(position_embedding, position_ids))",
           "if segment_ids: sum = Add(sum, Gather(segment_embedding, segment_ids))", "embedding_sum = sum",
           "output = LayerNormalization(sum, gamma, beta, axis=-1, epsilon=@epsilon)",
           "if mask: mask_index = ReduceSum(Cast(Equal(mask, CastLike(1, mask)), to=6), [1], keepdims=0)",
           "if !mask: mask_index = Expand(Cast(0, to=6), Shape(input_ids, start=0, end=1))")},
    /* ---- attention */
    {"com.microsoft", "RotaryEmbedding", "input position_ids cos_cache sin_cache", "output",
     "interleaved=0 num_heads=0 rotary_embedding_dim=0 scale=1.0 is_packed_batching=0",
     STEPS("if @is_packed_batching: refuse packed batches", "if !@scale=1: refuse a scale other than 1",
           /* one number, where the first row stands, or a number for each row */
           "if rank(input)=3: rows = Shape(input, start=0, end=2)",
           "if rank(input)=4: rows = Concat(Shape(input, start=0, end=1), Shape(input, start=2, end=3), axis=0)",
           "if !rank(input)=3 & !rank(input)=4: refuse the rank of input has to be known, and 3 or 4",
           "from_first = Less(Size(Shape(position_ids)), 2)",
           "offsets = Mul(Range(0, Gather(rows, 1), 1), Cast(from_first, to=7))",
           "positions = Expand(Add(position_ids, offsets), rows)",
           "if rank(input)=3 & !@num_heads: heads = Transpose(Reshape(input, Concat([0, 0, -1], Mul(Shape(cos_cache, start=1, "
           "end=2), 2), axis=0)), perm=[0, 2, 1, 3])",
           "if rank(input)=3 & !@num_heads: output = " IN_ROWS(
               "RotaryEmbedding(heads, cos_cache, sin_cache, positions, interleaved=@interleaved)"),
           "if rank(input)=4: output = RotaryEmbedding(input, cos_cache, sin_cache, positions, interleaved=@interleaved, "
           "rotary_embedding_dim=@rotary_embedding_dim)",
           "if rank(input)=3 & @num_heads: output = RotaryEmbedding(input, cos_cache, sin_cache, positions, "
           "interleaved=@interleaved, num_heads=@num_heads, rotary_embedding_dim=@rotary_embedding_dim)")},
    {"com.microsoft", "MultiHeadAttention", "query key value bias key_padding_mask attention_bias past_key past_value",
     "output present_key present_value", "num_heads mask_filter_value=-10000.0 scale unidirectional=0",
     STEPS(
         "if !key: packed_query, key, value = Split(query, axis=3, num_outputs=3)",
         "if packed_query: query = Reshape(packed_query, [0, 0, -1])", "if packed_query: key = Reshape(key, [0, 0, -1])",
         "if packed_query: value = Reshape(value, [0, 0, -1])", "if !value: key, value = Split(key, axis=3, num_outputs=2)",
         "if rank(key)=5: key = Reshape(key, [0, 0, -1])", "if rank(key)=5: value = Reshape(value, [0, 0, -1])",
         "if rank(key)=4: key = " IN_ROWS("key"), "if rank(value)=4: value = " IN_ROWS("value"),
         "width = Shape(query, start=2, end=3)", "if bias: query = Add(query, Slice(bias, [0], width))",
         "if bias & !rank(key)=4: key = Add(key, Slice(bias, width, Mul(width, 2)))",
         "if bias & !rank(value)=4: value = Add(value, Slice(bias, Mul(width, 2), [9223372036854775807]))",
         "total = Gather(Shape(key), 1)", "if past_key: total = Add(total, Gather(Shape(past_key), 2))",
         "batch = Shape(query, start=0, end=1)", MASK_STEPS("key_padding_mask"),
         "output, present_key, present_value = Attention(query, key, value, bias, past_key, past_value, q_num_heads=@num_heads, "
         "kv_num_heads=@num_heads, is_causal=@unidirectional, scale=@scale?)")},
    {"com.microsoft", "Attention", "input weights bias mask_index past attention_bias", "output present",
     "num_heads mask_filter_value=-10000.0 past_present_share_buffer=0 qkv_hidden_sizes scale unidirectional=0",
     STEPS(
         "rows = MatMul(input, weights)", "if bias: rows = Add(rows, bias)",
         "if @qkv_hidden_sizes: query, key, value = Split(rows, @qkv_hidden_sizes, axis=2)",
         "if !@qkv_hidden_sizes: query, key, value = Split(rows, axis=2, num_outputs=3)",
         "if past: past_key, past_value = Split(past, axis=0, num_outputs=2)", "if past: past_key = Squeeze(past_key, [0])",
         "if past: past_value = Squeeze(past_value, [0])", "total = Gather(Shape(key), 1)",
         "if past: total = Add(total, Gather(Shape(past_key), 2))", "batch = Shape(input, start=0, end=1)",
         MASK_STEPS("mask_index"),
         "output, present_key, present_value = Attention(query, key, value, bias, past_key, past_value, q_num_heads=@num_heads, "
         "kv_num_heads=@num_heads, is_causal=@unidirectional, scale=@scale?)",
         "present = Concat(Unsqueeze(present_key, [0]), Unsqueeze(present_value, [0]), axis=0)")},
    /* The keys and values of each row stand at the front of its cache, behind them those that are new; a row's queries are its
       last. */
    {"com.microsoft", "GroupQueryAttention",
     "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids attention_bias",
     "output present_key present_value",
     "num_heads kv_num_heads do_rotary=0 local_window_size=-1 rotary_interleaved=0 scale smooth_softmax=0 softcap=0.0",
     STEPS("if @smooth_softmax: refuse a smooth softmax", "query_heads = Reshape(@num_heads, [1])",
           "heads = Reshape(@kv_num_heads, [1])",
           "if !key: size = Div(Shape(query, start=2, end=3), Add(query_heads, Mul(heads, 2)))",
           "if !key: packed_query, key, value = Split(query, Concat(Mul(size, query_heads), Mul(size, heads), Mul(size, heads), "
           "axis=0), axis=2)",
           "if packed_query: query = packed_query", "batch = Shape(query, start=0, end=1)",
           "length = Shape(query, start=1, end=2)",
           "query = Transpose(Reshape(query, Concat([0, 0], query_heads, [-1], axis=0)), perm=[0, 2, 1, 3])",
           "key = Transpose(Reshape(key, Concat([0, 0], heads, [-1], axis=0)), perm=[0, 2, 1, 3])",
           "value = Transpose(Reshape(value, Concat([0, 0], heads, [-1], axis=0)), perm=[0, 2, 1, 3])",
           "lengths = Add(Reshape(Cast(seqlens_k, to=7), [-1, 1]), 1)", "before = Max(Sub(lengths, length), 0)",
           "rows = Add(before, Range(0, Squeeze(length), 1))", "positions = rows", "if position_ids: positions = position_ids",
           "if @do_rotary: query = RotaryEmbedding(query, cos_cache, sin_cache, positions, interleaved=@rotary_interleaved)",
           "if @do_rotary: key = RotaryEmbedding(key, cos_cache, sin_cache, positions, interleaved=@rotary_interleaved)",
           "total = Reshape(Cast(total_sequence_length, to=7), [1])", "present_key = key", "present_value = value",
           /* of each place of the new cache, where it comes from: the old one, or what is put behind that */
           "if past_key: cached = Shape(past_key, start=2, end=3)",
           "if past_key: places = Range(0, Squeeze(Max(cached, total)), 1)",
           "if past_key: moved = Min(Add(places, Sub(cached, before)), Sub(Add(cached, length), 1))",
           "if past_key: sources = Unsqueeze(Where(Less(places, before), places, moved), [1, 3])",
           "if past_key: sources = Expand(sources, Concat(batch, heads, [1], Shape(key, start=3), axis=0))",
           "if past_key: filled = Less(Unsqueeze(places, [0, 1, 3]), Reshape(lengths, [-1, 1, 1, 1]))",
           "zero = CastLike(0.0, query)",
           "if past_key: present_key = Where(filled, GatherElements(Concat(past_key, key, axis=2), sources, axis=2), zero)",
           "if past_key: present_value = Where(filled, GatherElements(Concat(past_value, value, axis=2), sources, axis=2), zero)",
           "from = Unsqueeze(Range(0, Squeeze(total), 1), [0, 1, 2])", "to = Unsqueeze(rows, [1, 3])",
           "seen = And(LessOrEqual(from, to), Less(from, Reshape(lengths, [-1, 1, 1, 1])))",
           "if !@local_window_size=-1: seen = And(seen, Greater(from, Sub(to, @local_window_size)))",
           "bias = Where(seen, zero, CastLike(-1.0e30, query))", "if attention_bias: bias = Add(bias, attention_bias)",
           "attended = Attention(query, Slice(present_key, [0], total, [2]), Slice(present_value, [0], total, [2]), bias, "
           "scale=@scale?, "
           "softcap=@softcap)",
           "output = " IN_ROWS("attended"))},
    {"com.microsoft", "QAttention",
     "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past", "output present",
     "num_heads mask_filter_value=-10000.0 past_present_share_buffer=0 scale unidirectional=0",
     STEPS("output, present = ::Attention(" DEQUANTIZED(
         "input") ", DequantizeLinear(weight, weight_scale, weight_zero_point, axis=1), "
                  "bias, mask_index, past, num_heads=@num_heads, mask_filter_value=@mask_filter_value, scale=@scale, "
                  "unidirectional=@unidirectional)")},
    /* ---- quantised */
    {"com.microsoft", "QuantizeLinear", "x y_scale y_zero_point", "y", "axis=1",
     STEPS("y = QuantizeLinear(x, y_scale, y_zero_point, axis=@axis)")},
    {"com.microsoft", "DequantizeLinear", "x x_scale x_zero_point", "y", "axis=1",
     STEPS("y = DequantizeLinear(x, x_scale, x_zero_point, axis=@axis)")},
    {"com.microsoft", "DynamicQuantizeMatMul", "A B b_scale b_zero_point bias", "Y", "",
     STEPS("bytes, scale, zero_point = DynamicQuantizeLinear(A)",
           "Y = Mul(Cast(MatMulInteger(bytes, B, zero_point, b_zero_point), to=1), Mul(scale, b_scale))",
           "if bias: Y = Add(Y, bias)")},
    {"com.microsoft", "DynamicQuantizeLSTM",
     "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point", "Y Y_h Y_c",
     "activations activation_alpha activation_beta clip direction='forward' hidden_size input_forget=0",
     STEPS("bytes, scale, zero_point = DynamicQuantizeLinear(X)", DEQUANTIZED_WEIGHTS("W"), DEQUANTIZED_WEIGHTS("R"),
           "Y, Y_h, Y_c = ::LSTMOfRoundedStates(DequantizeLinear(bytes, scale, zero_point), W, R, B, sequence_lens, initial_h, "
           "initial_c, P, activations=@activations?, activation_alpha=@activation_alpha?, activation_beta=@activation_beta?, "
           "clip=@clip?, direction=@direction, hidden_size=@hidden_size?, input_forget=@input_forget)")},
    {"com.microsoft", "MatMulIntegerToFloat", "A B a_scale b_scale a_zero_point b_zero_point bias", "Y", "",
     STEPS("Y = Mul(CastLike(MatMulInteger(A, B, a_zero_point, b_zero_point), a_scale), Mul(a_scale, b_scale))",
           "if bias: Y = Add(Y, bias)")},
    {"com.microsoft", "QLinearAdd", "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", "C", "",
     STEPS(ZERO("C", "A"), QUANTIZED("C", "Add(" DEQUANTIZED("A") ", " DEQUANTIZED("B") ")"))},
    {"com.microsoft", "QLinearMul", "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", "C", "",
     STEPS(ZERO("C", "A"), QUANTIZED("C", "Mul(" DEQUANTIZED("A") ", " DEQUANTIZED("B") ")"))},
    {"com.microsoft", "QLinearSigmoid", "X X_scale X_zero_point Y_scale Y_zero_point", "Y", "",
     STEPS(ZERO("Y", "X"), QUANTIZED("Y", "Sigmoid(" DEQUANTIZED("X") ")"))},
    {"com.microsoft", "QLinearLeakyRelu", "X X_scale X_zero_point Y_scale Y_zero_point", "Y", "alpha=0.01",
     STEPS(ZERO("Y", "X"), QUANTIZED("Y", "LeakyRelu(" DEQUANTIZED("X") ", alpha=@alpha)"))},
    {"com.microsoft", "QLinearConcat",
     "Y_scale Y_zero_point A A_scale A_zero_point B B_scale B_zero_point C C_scale C_zero_point D D_scale D_zero_point E E_scale "
     "E_zero_point F F_scale F_zero_point G G_scale G_zero_point H H_scale H_zero_point",
     "Y", "axis",
     STEPS("joined = " DEQUANTIZED("A"), "if B: joined = Concat(joined, " DEQUANTIZED("B") ", axis=@axis)",
           "if C: joined = Concat(joined, " DEQUANTIZED("C") ", axis=@axis)",
           "if D: joined = Concat(joined, " DEQUANTIZED("D") ", axis=@axis)",
           "if E: joined = Concat(joined, " DEQUANTIZED("E") ", axis=@axis)",
           "if F: joined = Concat(joined, " DEQUANTIZED("F") ", axis=@axis)",
           "if G: joined = Concat(joined, " DEQUANTIZED("G") ", axis=@axis)",
           "if H: joined = Concat(joined, " DEQUANTIZED("H") ", axis=@axis)", QUANTIZED("Y", "joined"))},
    {"com.microsoft", "QLinearSoftmax", "X X_scale X_zero_point Y_scale Y_zero_point", "Y", "axis=-1 opset",
     STEPS("x = " DEQUANTIZED("X"), "if !@axis=-1 & !@opset=13: refuse an axis other than the last, as before opset 13",
           QUANTIZED("Y", "Softmax(x, axis=@axis)"))},
    {"com.microsoft", "QLinearGlobalAveragePool", "X X_scale X_zero_point Y_scale Y_zero_point", "Y", "channels_last=0",
     STEPS("if @channels_last: refuse channels that stand last", QUANTIZED("Y", "GlobalAveragePool(" DEQUANTIZED("X") ")"))},
    {"com.microsoft", "QLinearAveragePool", "X X_scale X_zero_point Y_scale Y_zero_point", "Y",
     "auto_pad ceil_mode=0 channels_last=0 count_include_pad=0 kernel_shape pads strides",
     STEPS("if @channels_last: refuse channels that stand last", ZERO("Y", "X"),
           QUANTIZED(
               "Y", "AveragePool(" DEQUANTIZED(
                        "X") ", auto_pad=@auto_pad, ceil_mode=@ceil_mode, "
                             "count_include_pad=@count_include_pad, kernel_shape=@kernel_shape, pads=@pads, strides=@strides)"))},
    {"com.microsoft", "QLinearReduceMean", "X X_scale X_zero_point Y_scale Y_zero_point", "Y", "axes keepdims",
     STEPS(ZERO("Y", "X"), QUANTIZED("Y", "ReduceMean(" DEQUANTIZED("X") ", @axes, keepdims=@keepdims)"))},
    {"com.microsoft", "QLinearWhere", "condition X X_scale X_zero_point Y Y_scale Y_zero_point Z_scale Z_zero_point", "Z", "",
     STEPS(QUANTIZED("Z", "Where(condition, " DEQUANTIZED("X") ", " DEQUANTIZED("Y") ")"))},
    {"com.microsoft", "QGemm", "A A_scale A_zero_point B B_scale B_zero_point C Y_scale Y_zero_point", "Y",
     "alpha=1.0 transA=0 transB=0",
     STEPS("b = DequantizeLinear(B, B_scale, B_zero_point, axis=1)",
           "if @transB: b = DequantizeLinear(B, B_scale, B_zero_point, axis=0)",
           "if C: addend = Mul(Cast(C, to=1), Mul(Mul(A_scale, B_scale), @alpha))",
           "product = Gemm(" DEQUANTIZED("A") ", b, addend, alpha=@alpha, transA=@transA, transB=@transB)",
           "if Y_scale: " QUANTIZED("Y", "product"), "if !Y_scale: Y = product")},
    /* ---- moves */
    {"com.microsoft", "Trilu", "X k", "Y", "upper=1", STEPS("Y = Trilu(X, k, upper=@upper)")},
    {"com.microsoft", "GatherND", "data indices", "output", "", STEPS("output = GatherND(data, Cast(indices, to=7))")},
    {"com.microsoft", "ExpandDims", "X axis", "Y", "", STEPS("Y = Unsqueeze(X, Reshape(Cast(axis, to=7), [1]))")},
    {"com.microsoft", "Pad", "data pads value", "output", "mode='constant'",
     STEPS("output = Pad(data, Reshape(pads, [-1]), value, mode=@mode)")},
    {"com.microsoft", "Unique", "x", "y idx counts", "", STEPS("y, first, idx, counts = Unique(x, sorted=0)")},
    {"com.microsoft", "GridSample", "X Grid", "Y", "align_corners=0 mode='bilinear' padding_mode='zeros'",
     STEPS(
         "if @mode='bilinear': Y = GridSample(X, Grid, align_corners=@align_corners, mode='linear', padding_mode=@padding_mode)",
         "if @mode='nearest': Y = GridSample(X, Grid, align_corners=@align_corners, mode='nearest', padding_mode=@padding_mode)",
         "if @mode='bicubic': Y = GridSample(X, Grid, align_corners=@align_corners, mode='cubic', padding_mode=@padding_mode)")},
    /* A value beyond the image's last rows is the extrapolated one. */
    {"com.microsoft", "CropAndResize", "X rois batch_indices crop_size", "Y", "extrapolation_value=0.0 mode='bilinear'",
     STEPS(
         "last = Cast(Sub(Shape(X, start=2, end=4), 1), to=1)", "one = Slice(last, [0], [1])",
         "top, left, bottom, right = Split(Cast(rois, to=1), axis=1, num_outputs=4)",
         "height, width = Split(Cast(crop_size, to=1), axis=0, num_outputs=2)",
         "last_y, last_x = Split(last, axis=0, num_outputs=2)", "y = ::CropLines(top, bottom, height, last_y)",
         "x = ::CropLines(left, right, width, last_x)", "y = Unsqueeze(y, [2])", "x = Unsqueeze(x, [1])",
         "inside = And(And(GreaterOrEqual(y, 0.0), LessOrEqual(y, last_y)), And(GreaterOrEqual(x, 0.0), LessOrEqual(x, last_x)))",
         "shape = Shape(inside)", "grid_y = Expand(Sub(Div(Mul(y, 2.0), Max(last_y, 1.0)), 1.0), shape)",
         "grid_x = Expand(Sub(Div(Mul(x, 2.0), Max(last_x, 1.0)), 1.0), shape)",
         "grid = Concat(Unsqueeze(grid_x, [3]), Unsqueeze(grid_y, [3]), axis=3)", "images = Gather(X, batch_indices)",
         "if @mode='bilinear': sampled = GridSample(images, grid, align_corners=1, mode='linear', padding_mode='border')",
         "if @mode='nearest': sampled = GridSample(images, grid, align_corners=1, mode='nearest', padding_mode='border')",
         "Y = Where(Unsqueeze(inside, [1]), sampled, CastLike(@extrapolation_value, X))")},
    /* Where a box's lines lie in the image: from the first to the last of them, or one in the middle. */
    {"com.microsoft", "CropLines", "first last n image_last", "at", "",
     STEPS("lines = Unsqueeze(Range(0.0, Squeeze(n), 1.0), [0])",
           "step = Div(Mul(Sub(last, first), image_last), Max(Sub(n, 1.0), 1.0))", "from = Mul(first, image_last)",
           "middle = Mul(Mul(Add(first, last), image_last), 0.5)",
           "at = Where(Greater(n, 1.0), Add(from, Mul(lines, step)), middle)")},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
