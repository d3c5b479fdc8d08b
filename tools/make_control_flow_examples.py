#!/usr/bin/env python3
"""Makes examples/control_flow: programs of ONNX, written below in ONNX's own text form, as MDF.

Each is checked by onnx.checker, and evaluated by onnxruntime, by onnx.reference and by plain Python, which must agree. It is converted
with mdf-convert; what mdf-run prints for the file, and for the .onnx that it came from, must agree too. What onnxruntime gives is
written to tests/data/control_flow_answers.json, which tests/programs/test_examples.c compares with.

Needs the packages onnx, onnxruntime and numpy, and the programs in $BUILD (default: build). Run from the root of the tree:

    python3 tools/make_control_flow_examples.py
"""

import collections
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnx.reference
import onnxruntime

FOLDER = pathlib.Path("examples/control_flow")
EXPECTED = pathlib.Path("tests/data/control_flow_answers.json")
BUILD = pathlib.Path(os.environ.get("BUILD", "build"))

# Sums of float32 come out differently in the last digits, by their order.
RTOL, ATOL = 1e-5, 1e-6

Program = collections.namedtuple("Program", "name suffix text opset reference answer")
PROGRAMS = []


def program(suffix, text, opset=21, reference=True):
    """Registers a program: `text` in ONNX's text form (doc_string, then the graph), and the function that computes the same plainly.
    `reference`: onnx.reference runs it as ONNX says. (Its Scan has no directions and no version 8, its Loop adds an axis to scan outputs
    of scalars and does nothing without cond, its bodies have no strings.)"""

    def register(answer):
        PROGRAMS.append(Program(answer.__name__, suffix, text, opset, reference, answer))
        return answer

    return register


# ---------------------------------------------------------------- Scan

GRU_WEIGHTS = "float[2, 9] W = {1, 0.5, 0, -1, 1, 0.5, 2, 0, -1,  0, 1, -0.5, 1, 0.5, 1, -1, 2, 0.5}, " \
    "float[3, 9] R = {0.5, 0, 0, 1, 0, 0, 1, 0, 0.5,  0, 0.5, 0, 0, 1, 0, 0, 1, 0,  0, 0, 0.5, 0, 0, 1, -0.5, 0, 1}, " \
    "float[9] b = {0, 0, 0, 1, 1, 1, 0, 0.5, 0}"


@program("json", """
    doc_string: "a GRU as a Scan: the state h runs through the body, which sees one row of x at a time"
    gru (float[T, 2] x) => (float[3] h_last, float[T, 3] h_all)
    <float[4, 2] x = {1, 0, 0, 1, 1, 1, -1, 0}, float[3] h_first = {0, 0, 0}, float one = {1}, """ + GRU_WEIGHTS + """>
    {
        [run] h_last, h_all = Scan (h_first, x) <num_scan_inputs = 1, body = cell (float[3] h, float[2] x_t)
            => (float[3] h_next, float[3] h_seen)
        {
            [from_x] x_W = MatMul (x_t, W)
            [with_bias] x_gates = Add (x_W, b)
            [split_x] x_z, x_r, x_n = Split <num_outputs = 3, axis = 0> (x_gates)
            [from_h] h_gates = MatMul (h, R)
            [split_h] h_z, h_r, h_n = Split <num_outputs = 3, axis = 0> (h_gates)
            [update_sum] z_sum = Add (x_z, h_z)
            [update] z = Sigmoid (z_sum)
            [reset_sum] r_sum = Add (x_r, h_r)
            [reset] r = Sigmoid (r_sum)
            [forget] h_kept = Mul (r, h_n)
            [candidate_sum] n_sum = Add (x_n, h_kept)
            [candidate] n = Tanh (n_sum)
            [share_of_old] z_h = Mul (z, h)
            [rest] z_rest = Sub (one, z)
            [share_of_new] z_n = Mul (z_rest, n)
            [mix] h_next = Add (z_h, z_n)
            [record] h_seen = Identity (h_next)
        }>
    }""")
def gru(x, W, R, b, h_first, **_):
    # ONNX's own GRU, whose weights are [1, 3 * hidden, input].
    node = onnx.helper.make_node("GRU", ["x", "W", "R", "B"], ["all"], hidden_size=3, linear_before_reset=1)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "xWRB"],
        [onnx.helper.make_tensor_value_info("all", onnx.TensorProto.FLOAT, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    bias = np.concatenate([b, np.zeros(9, np.float32)])
    h = run_onnxruntime(model, {"x": x[:, None], "W": W.T[None], "R": R.T[None], "B": bias[None]})["all"].reshape(-1, 3)
    return {"h_last": h[-1], "h_all": h}


@program("yaml", """
    doc_string: "a bidirectional RNN as one Scan, which reads the same sequence from both ends at once"
    bidirectional_rnn (float[T, 2] x) => (float[T, 4] y)
    <float[3, 2] x = {1, 0, 0, 1, -1, 2}, float[2] start = {0, 0},
     float[2, 2] W_forward = {0.5, -0.5, 1, 0}, float[2, 2] R_forward = {0.5, 0, 0.25, 0.5},
     float[2, 2] W_backward = {1, 0, -0.5, 0.5}, float[2, 2] R_backward = {0, 0.5, -0.5, 0}>
    {
        [run] f_end, b_end, f_all, b_all = Scan (start, start, x, x) <num_scan_inputs = 2, scan_input_directions = [0, 1],
            scan_output_directions = [0, 1], body = cells (float[2] f, float[2] b, float[2] from_front, float[2] from_back)
            => (float[2] f_next, float[2] b_next, float[2] f_seen, float[2] b_seen)
        {
            [forward_input] f_W = MatMul (from_front, W_forward)
            [forward_state] f_R = MatMul (f, R_forward)
            [forward_sum] f_sum = Add (f_W, f_R)
            [forward] f_next = Tanh (f_sum)
            [backward_input] b_W = MatMul (from_back, W_backward)
            [backward_state] b_R = MatMul (b, R_backward)
            [backward_sum] b_sum = Add (b_W, b_R)
            [backward] b_next = Tanh (b_sum)
            [record_forward] f_seen = Identity (f_next)
            [record_backward] b_seen = Identity (b_next)
        }>
        [join] y = Concat <axis = 1> (f_all, b_all)
    }""", reference=False)
def bidirectional_rnn(x, start, W_forward, R_forward, W_backward, R_backward):
    def pass_over(rows, W, R):
        h, seen = start, []
        for row in rows:
            h = np.tanh(row @ W + h @ R)
            seen.append(h)
        return seen

    backward = pass_over(x[::-1], W_backward, R_backward)[::-1]
    return {"y": np.concatenate([pass_over(x, W_forward, R_forward), backward], axis=1)}


@program("json", """
    doc_string: "a Kalman filter as a Scan with two matrices as states: position and speed from noisy positions"
    kalman_filter (double[T] measured) => (double[2, 1] x_last, double[2, 2] P_last, double[T, 2] track)
    <double[5] measured = {1.1, 1.9, 3.2, 3.9, 5.1}, double[2, 1] x_first = {0, 0}, double[2, 2] P_first = {10, 0, 0, 10},
     double[2, 2] A = {1, 1, 0, 1}, double[1, 2] H = {1, 0}, double[2, 2] Q = {0.01, 0, 0, 0.01}, double[1, 1] noise = {0.25},
     int64[1] two = {2}>
    {
        [transpose_A] A_T = Transpose (A)
        [transpose_H] H_T = Transpose (H)
        [filter] x_last, P_last, track = Scan (x_first, P_first, measured) <num_scan_inputs = 1,
            body = step (double[2, 1] x, double[2, 2] P, double z) => (double[2, 1] x_next, double[2, 2] P_next, double[2] estimate)
        {
            [predict_x] x_predicted = MatMul (A, x)
            [move_P] A_P = MatMul (A, P)
            [move_P_back] A_P_A = MatMul (A_P, A_T)
            [predict_P] P_predicted = Add (A_P_A, Q)
            [expect] z_expected = MatMul (H, x_predicted)
            [compare] surprise = Sub (z, z_expected)
            [project] P_H = MatMul (P_predicted, H_T)
            [project_again] H_P_H = MatMul (H, P_H)
            [uncertainty] S = Add (H_P_H, noise)
            [gain] K = Div (P_H, S)
            [correction] K_surprise = MatMul (K, surprise)
            [correct_x] x_next = Add (x_predicted, K_surprise)
            [seen_part] H_P = MatMul (H, P_predicted)
            [known_now] K_H_P = MatMul (K, H_P)
            [correct_P] P_next = Sub (P_predicted, K_H_P)
            [record] estimate = Reshape (x_next, two)
        }>
    }""")
def kalman_filter(measured, x_first, P_first, A, H, Q, noise, two):
    x, P, track = x_first, P_first, []
    for z in measured:
        x, P = A @ x, A @ P @ A.T + Q
        K = P @ H.T / (H @ P @ H.T + noise)
        x, P = x + K @ (z - H @ x), P - K @ H @ P
        track.append(x.reshape(2))
    return {"x_last": x, "P_last": P, "track": np.array(track)}


@program("json", """
    doc_string: "the Viterbi algorithm as two Scans: one forward over what was seen, one back over the best predecessors"
    viterbi (int64[T] seen) => (int64[T] path, float[1] log_probability)
    <int64[6] seen = {0, 1, 2, 2, 0, 0}, float[2] log_start = {-0.5, -0.9},
     float[2, 2] log_move = {-0.4, -1.2, -0.9, -0.5}, float[3, 2] log_emit = {-0.7, -2.3, -0.9, -1.2, -2.3, -0.5},
     int64[1] last_axis = {1}, int64[1] first_axis = {0}>
    {
        [forward] log_end, predecessors = Scan (log_start, seen) <num_scan_inputs = 1,
            body = extend (float[2] log_before, int64 symbol) => (float[2] log_after, int64[2] best)
        {
            [as_column] log_column = Unsqueeze (log_before, last_axis)
            [all_moves] log_moves = Add (log_column, log_move)
            [best_move] log_best = ReduceMax <keepdims = 0> (log_moves, first_axis)
            [best_state] best = ArgMax <axis = 0, keepdims = 0> (log_moves)
            [emission] log_symbol = Gather (log_emit, symbol)
            [step] log_after = Add (log_best, log_symbol)
        }>
        [best_end] end = ArgMax <axis = 0, keepdims = 0> (log_end)
        [end_probability] log_probability = ReduceMax (log_end, first_axis)
        [back] before_first, path = Scan (end, predecessors) <num_scan_inputs = 1, scan_input_directions = [1],
            scan_output_directions = [1], body = follow (int64 state, int64[2] best_of_each) => (int64 previous, int64 here)
        {
            [trace] previous = Gather (best_of_each, state)
            [record] here = Identity (state)
        }>
    }""", reference=False)
def viterbi(seen, log_start, log_move, log_emit, **_):
    best = None
    for path in itertools.product(range(2), repeat=len(seen) + 1):  # the state before the first symbol, then one each
        score = log_start[path[0]] + sum(log_move[a, b] + log_emit[symbol, b] for a, b, symbol in zip(path, path[1:], seen))
        best = max(best or (score, path), (score, path))
    return {"path": np.array(best[1][1:]), "log_probability": np.array([best[0]])}


@program("json", """
    doc_string: "the edit distance of two words as a Scan in a Scan: a row for each letter of a, in it a cell for each letter of b"
    edit_distance (string[N] a, string[M] b) => (int64[1] distance, int64[N, K] table)
    <string[6] a = {"k", "i", "t", "t", "e", "n"}, string[7] b = {"s", "i", "t", "t", "i", "n", "g"},
     int64 one = {1}, int64 zero = {0}, int64[1] front = {0}, int64[1] second = {1}, int64[1] last = {-1}, int64[1] end = {1000000}>
    {
        [letters_of_b] n_b = Size (b)
        [cells] n_cells = Add (n_b, one)
        [first_row] row_0 = Range (zero, n_cells, one)
        [rows] last_row, table = Scan (row_0, a) <num_scan_inputs = 1,
            body = fill_row (int64[K] above, string letter_a) => (int64[K] row, int64[K] row_seen)
        {
            [above_left] diagonal = Slice (above, front, last)
            [right_above] up = Slice (above, second, end)
            [corner] corner_above = Gather (above, zero)
            [delete_all] left_edge = Add (corner_above, one)
            [cells_of_row] right_edge, inner = Scan (left_edge, b, diagonal, up) <num_scan_inputs = 3,
                body = fill_cell (int64 left, string letter_b, int64 diagonal_cell, int64 up_cell) => (int64 cell, int64 cell_seen)
            {
                [same] is_same = Equal (letter_a, letter_b)
                [price] cost = Where (is_same, zero, one)
                [replace] by_replacing = Add (diagonal_cell, cost)
                [insert] by_inserting = Add (left, one)
                [delete] by_deleting = Add (up_cell, one)
                [cheapest] cell = Min (by_replacing, by_inserting, by_deleting)
                [record_cell] cell_seen = Identity (cell)
            }>
            [edge_as_list] edge = Unsqueeze (left_edge, front)
            [whole_row] row = Concat <axis = 0> (edge, inner)
            [record_row] row_seen = Identity (row)
        }>
        [last_cell] distance = Slice (last_row, last, end)
    }""", reference=False)
def edit_distance(a, b, **_):
    table = [list(range(len(b) + 1))]
    for i, letter_a in enumerate(a):
        row = [i + 1]
        for j, letter_b in enumerate(b):
            row.append(min(table[-1][j] + (letter_a != letter_b), row[-1] + 1, table[-1][j + 1] + 1))
        table.append(row)
    return {"distance": np.array(table[-1][-1:]), "table": np.array(table[1:])}


@program("yaml", """
    doc_string: "running means of a batch of sequences of different lengths, by the Scan of version 8; behind each end is zero"
    ragged_means (float[B, T] x, int64[B] lengths) => (float[B] sums, float[B, T] means)
    <float[3, 4] x = {2, 4, 6, 8, 1, 3, 0, 0, 5, 0, 0, 0}, int64[3] lengths = {4, 2, 1}, float[3] zeros = {0, 0, 0},
     float one = {1}>
    {
        [run] sums, counts, means = Scan (lengths, zeros, zeros, x) <num_scan_inputs = 1,
            body = step (float sum, float count, float value) => (float next_sum, float next_count, float mean)
        {
            [add] next_sum = Add (sum, value)
            [tally] next_count = Add (count, one)
            [divide] mean = Div (next_sum, next_count)
        }>
    }""", opset=8, reference=False)
def ragged_means(x, lengths, **_):
    means = np.zeros_like(x)
    for row, length, mean in zip(x, lengths, means):
        mean[:length] = np.cumsum(row[:length]) / np.arange(1, length + 1)
    return {"sums": np.array([row[:length].sum() for row, length in zip(x, lengths)]), "means": means}


# ---------------------------------------------------------------- Loop and If


@program("json", """
    doc_string: "the Collatz sequence as a while Loop with an If in its body; the path is a scan output, as long as it gets"
    collatz (int64 n) => (int64[steps] path, int64 highest)
    <int64 n = {6}, int64 one = {1}, int64 two = {2}, int64 three = {3}>
    {
        [begin] is_one = Equal (n, one)
        [begin_at_all] is_more = Not (is_one)
        [follow] last, highest, path = Loop ("", is_more, n, n) <body = step (int64 i, bool going, int64 number, int64 high)
            => (bool more, int64 next, int64 higher, int64 next_seen)
        {
            [remainder] rest = Mod (number, two)
            [is_odd] odd = Cast <to = 9> (rest)
            [is_even] even = Not (odd)
            [choose] next = If (even) <
                then_branch = halve () => (int64 half) { [half_of] half = Div (number, two) },
                else_branch = climb () => (int64 up) { [triple] tripled = Mul (three, number)
                                                       [plus_one] up = Add (tripled, one) }>
            [keep_highest] higher = Max (high, next)
            [at_one] done = Equal (next, one)
            [go_on] more = Not (done)
            [record] next_seen = Identity (next)
        }>
    }""", reference=False)
def collatz(n, **_):
    path = [int(n)]
    while path[-1] != 1:
        path.append(path[-1] // 2 if path[-1] % 2 == 0 else 3 * path[-1] + 1)
    return {"path": np.array(path[1:]), "highest": np.array(max(path))}


@program("json", """
    doc_string: "the Mandelbrot set on a grid, as a Loop with trip count and condition: it ends early once every point has escaped"
    mandelbrot (float[1, W] x, float[H, 1] y, int64 limit) => (int64[H, W] counts)
    <float[1, 9] x = {-2, -1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2}, float[5, 1] y = {1.1, 0.55, 0, -0.55, -1.1}, int64 limit = {20},
     float two = {2}, float four = {4}, bool go = {1}>
    {
        [grid] c = Add (x, y)
        [zeros_of_grid] zero = Sub (c, c)
        [no_counts] counts_0 = Cast <to = 7> (zero)
        [iterate] real_last, imaginary_last, counts = Loop (limit, go, zero, zero, counts_0) <
            body = square_and_add (int64 i, bool going, float[H, W] real, float[H, W] imaginary, int64[H, W] count)
            => (bool any_inside, float[H, W] next_real, float[H, W] next_imaginary, int64[H, W] next_count)
        {
            [real_squared] real_2 = Mul (real, real)
            [imaginary_squared] imaginary_2 = Mul (imaginary, imaginary)
            [radius] radius_2 = Add (real_2, imaginary_2)
            [is_inside] inside = LessOrEqual (radius_2, four)
            [inside_as_number] inside_number = Cast <to = 7> (inside)
            [tally] next_count = Add (count, inside_number)
            [remaining] n_inside = ReduceMax <keepdims = 0> (inside_number)
            [go_on] any_inside = Cast <to = 9> (n_inside)
            [new_real] real_difference = Sub (real_2, imaginary_2)
            [shift_real] real_moved = Add (real_difference, x)
            [cross] cross_product = Mul (real, imaginary)
            [twice] cross_twice = Mul (two, cross_product)
            [shift_imaginary] imaginary_moved = Add (cross_twice, y)
            [stay_if_escaped] next_real = Where (inside, real_moved, real)
            [stay_if_escaped_too] next_imaginary = Where (inside, imaginary_moved, imaginary)
        }>
    }""")
def mandelbrot(x, y, limit, **_):
    counts = np.zeros((y.size, x.size), np.int64)
    for row, imaginary in enumerate(y.ravel()):
        for column, real in enumerate(x.ravel()):
            z = 0
            while abs(z) <= 2 and counts[row, column] < limit:
                z = z * z + complex(real, imaginary)
                counts[row, column] += 1
    return {"counts": counts}


@program("yaml", """
    doc_string: "greedy decoding as a Loop: the most likely word follows, said words lose, the text is a sequence that grows"
    greedy_decoding (string first, int64 at_most) => (seq(string) words, string[n] text)
    <string first = {"the"}, int64 at_most = {12}, string[6] vocabulary = {"the", "cat", "saw", "a", "bird", "."},
     float[6, 6] scores = {-9, 3, -9, -9, 2, -9,  -9, -9, 3, -9, -9, 1,  2, -9, -9, 1, -9, -9,
                           -9, 2, -9, -9, 3, -9,  -9, -9, 1, -9, -9, 2,  -9, -9, -9, -9, -9, -9},
     string stop = {"."}, float penalty = {2}, float zero = {0}, bool go = {1}>
    {
        [none] empty = SequenceEmpty <dtype = 8> ()
        [begin] begun = SequenceInsert (empty, first)
        [is_first] where_first = Equal (vocabulary, first)
        [first_number] first_one_hot = Cast <to = 1> (where_first)
        [nothing_said] no_penalties = Mul (first_one_hot, zero)
        [first_token] token_0 = ArgMax <axis = 0, keepdims = 0> (first_one_hot)
        [decode] last_token, last_penalties, words = Loop (at_most, go, token_0, no_penalties, begun) <
            body = say_next (int64 i, bool going, int64 token, float[6] penalties, seq(string) said)
            => (bool more, int64 next_token, float[6] next_penalties, seq(string) said_now)
        {
            [score] row = Gather (scores, token)
            [discourage] row_now = Sub (row, penalties)
            [best] next_token = ArgMax <axis = 0, keepdims = 0> (row_now)
            [best_word] word = Gather (vocabulary, next_token)
            [append] said_now = SequenceInsert (said, word)
            [is_word] where_word = Equal (vocabulary, word)
            [one_hot] word_one_hot = Cast <to = 1> (where_word)
            [weigh] new_penalty = Mul (word_one_hot, penalty)
            [remember] next_penalties = Add (penalties, new_penalty)
            [is_stop] stopped = Equal (word, stop)
            [go_on] more = Not (stopped)
        }>
        [join] text = ConcatFromSequence <axis = 0, new_axis = 1> (words)
    }""", reference=False)
def greedy_decoding(first, at_most, vocabulary, scores, penalty, **_):
    vocabulary = list(vocabulary)
    words, penalties = [str(first)], np.zeros(6)
    while words[-1] != "." and len(words) <= at_most:
        token = int(np.argmax(scores[vocabulary.index(words[-1])] - penalties))
        penalties[token] += penalty
        words.append(vocabulary[token])
    return {"words": [np.array(word) for word in words], "text": np.array(words)}


@program("yaml", """
    doc_string: "beam search as a Loop whose state gets a column longer in each iteration: the two best ways through a graph"
    beam_search (int64 n_steps) => (int64[2, n] ways, float[2] scores)
    <int64 n_steps = {4}, int64[2, 1] starts = {0, 0}, float[2] start_scores = {0, -1000},
     float[3, 3] log_moves = {-1.5, -0.5, -1.75, -0.25, -2, -2.25, -1, -0.75, -3}, int64 n_places = {3}, int64[1] n_beams = {2},
     int64[1] flat = {-1}, int64[1] last_axis = {1}, int64 last = {-1}>
    {
        [search] ways, scores = Loop (n_steps, "", starts, start_scores) <
            body = extend (int64 i, bool going, int64[2, n] beams, float[2] before) => (bool go_on, int64[2, m] longer, float[2] best)
        {
            [ends] last_places = Gather <axis = 1> (beams, last)
            [moves] moves_from_ends = Gather (log_moves, last_places)
            [as_column] before_column = Unsqueeze (before, last_axis)
            [all_scores] candidates = Add (before_column, moves_from_ends)
            [in_one_list] candidate_list = Reshape (candidates, flat)
            [two_best] best, best_at = TopK (candidate_list, n_beams)
            [parents] parent = Div (best_at, n_places)
            [new_places] place = Mod (best_at, n_places)
            [beams_of_parents] kept = Gather (beams, parent)
            [places_as_column] place_column = Unsqueeze (place, last_axis)
            [append] longer = Concat <axis = 1> (kept, place_column)
            [always] go_on = Identity (going)
        }>
    }""", reference=False)
def beam_search(n_steps, starts, start_scores, log_moves, **_):
    beams = [(float(score), list(start)) for score, start in zip(start_scores, starts)]
    for _ in range(int(n_steps)):
        longer = [(score + log_moves[way[-1], place], way + [place]) for score, way in beams for place in range(3)]
        beams = sorted(longer, key=lambda beam: -beam[0])[:2]
    return {"ways": np.array([way for _, way in beams]), "scores": np.array([score for score, _ in beams])}


@program("yaml", """
    doc_string: "the largest eigenvalue by power iteration, as a Loop that ends when it changes no more, after at_most iterations at the latest"
    power_iteration (double[N, N] A, double tolerance, int64 at_most) => (double eigenvalue, double[N] eigenvector, int64 iterations)
    <double[3, 3] A = {2, 1, 0, 1, 3, 1, 0, 1, 4}, double tolerance = {1e-12}, int64 at_most = {500}, double[3] start = {1, 1, 1},
     double nothing = {0}, int64 none = {0}, int64 one = {1}, bool go = {1}>
    {
        [iterate] eigenvalue, eigenvector, iterations = Loop (at_most, go, nothing, start, none) <
            body = improve (int64 i, bool going, double value, double[N] vector, int64 n)
            => (bool more, double next_value, double[N] next_vector, int64 next_n)
        {
            [apply] A_v = MatMul (A, vector)
            [squares] A_v_squared = Mul (A_v, A_v)
            [sum] length_squared = ReduceSum <keepdims = 0> (A_v_squared)
            [length] next_value = Sqrt (length_squared)
            [normalize] next_vector = Div (A_v, next_value)
            [difference] change = Sub (next_value, value)
            [size] change_size = Abs (change)
            [go_on] more = Greater (change_size, tolerance)
            [tally] next_n = Add (n, one)
        }>
    }""")
def power_iteration(A, tolerance, at_most, start, **_):
    values, vectors = np.linalg.eigh(A)
    vector = vectors[:, -1] * np.sign(vectors[0, -1])
    value, now, n = 0.0, start, 0
    while n < at_most:
        now, n = A @ now, n + 1
        previous, value = value, np.linalg.norm(now)
        now = now / value
        if abs(value - previous) <= tolerance:
            break
    return {"eigenvalue": np.array(values[-1]), "eigenvector": vector, "iterations": np.array(n)}


# ---------------------------------------------------------------- making, checking


def parse(text, opset):
    """The model of a program; a graph of its name, its doc_string in the model."""
    doc_string, graph = text.strip().split("\n", 1)
    ir_version = 10 if opset > 8 else 4  # 4 is the first with default values of inputs that are no constants
    model = onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}], {doc_string.strip()}>\n{graph}')
    onnx.checker.check_model(model, full_check=True)
    return model


def run_onnxruntime(model, inputs=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs or {})))


def run_reference(model, constants):
    evaluator = onnx.reference.ReferenceEvaluator(model)
    inputs = {value.name: constants[value.name] for value in model.graph.input}
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


def run_mdf(path):
    printed = subprocess.run([BUILD / "mdf-run", "--typed", path], check=True, capture_output=True, text=True).stdout
    return json.loads(printed)["results"]


def typed(value):
    """A result as `mdf-run --typed` writes it."""
    if isinstance(value, list):
        return {"sequence": [typed(item) for item in value]}
    array = np.asarray(value)
    names = {"O": "string", "U": "string"}
    return {"type": names.get(array.dtype.kind, array.dtype.name), "shape": list(array.shape), "data": array.ravel().tolist()}


def plain(value):
    """A result as `mdf-run` writes it."""
    return [plain(item) for item in value] if isinstance(value, list) else np.asarray(value).tolist()


def compare(what, got, want):
    """Fails unless `got`, in mdf-run's typed form, has the values of `want`."""
    if "sequence" in want:
        assert len(got["sequence"]) == len(want["sequence"]), what
        for item, wanted in zip(got["sequence"], want["sequence"]):
            compare(what, item, wanted)
        return
    assert got["shape"] == want["shape"], f"{what}: shape {got['shape']}, not {want['shape']}"
    if want["type"].startswith("float"):
        np.testing.assert_allclose(got["data"], want["data"], RTOL, ATOL, err_msg=what)
    else:
        assert got["data"] == want["data"], f"{what}: {got['data']}, not {want['data']}"


def make(one, scratch):
    """Writes one example; returns the results that it must print."""
    model = parse(one.text, one.opset)
    onnx_path, path = scratch / f"{one.name}.onnx", FOLDER / f"{one.name}.{one.suffix}"
    onnx.save(model, onnx_path)
    constants = {constant.name: onnx.numpy_helper.to_array(constant) for constant in model.graph.initializer}
    results = run_onnxruntime(model)
    expected = {name: typed(value) for name, value in results.items()}

    def check(what, got):
        assert got.keys() == expected.keys(), f"{one.name}, {what}: {list(got)}, not {list(expected)}"
        for name in expected:
            compare(f"{one.name}, {what}, {name}", got[name], expected[name])

    check("plain Python", {name: typed(value) for name, value in one.answer(**constants).items()})
    if one.reference:
        check("onnx.reference", {name: typed(value) for name, value in run_reference(model, constants).items()})
    subprocess.run([BUILD / "mdf-convert", onnx_path, path], check=True)
    check("mdf-run of the .onnx", run_mdf(onnx_path))
    check("mdf-run", run_mdf(path))
    return {name: plain(value) for name, value in results.items()}


def main():
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        expected = {f"control_flow/{one.name}.{one.suffix}": make(one, pathlib.Path(scratch)) for one in PROGRAMS}
    lines = (f'"{path}": {json.dumps({"results": results})}' for path, results in sorted(expected.items()))
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
