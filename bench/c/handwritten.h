/* handwritten.h - what a C programmer would write for each workload of workloads.py by hand: the measure of what is possible.
 *
 * All have one signature: sizes, inputs and outputs in the order in which workloads.py names them; arrays are dense, scalars lie
 * in memory like arrays. None allocates more than once a call, checks anything, or uses more than one thread. */
#ifndef BENCH_HANDWRITTEN_H
#define BENCH_HANDWRITTEN_H

#include <stdint.h>

#define HANDWRITTEN(name) void name(const int64_t *size, const void *const *in, void *const *out)

HANDWRITTEN(logistic_f32);
HANDWRITTEN(logistic_f64);
HANDWRITTEN(fibonacci);
HANDWRITTEN(collatz);
HANDWRITTEN(newton);
HANDWRITTEN(dispatch);

HANDWRITTEN(cumulative_sum);
HANDWRITTEN(integrate_and_fire_f32);
HANDWRITTEN(integrate_and_fire_f64);
HANDWRITTEN(mandelbrot);
HANDWRITTEN(drift_diffusion);
HANDWRITTEN(filters);
HANDWRITTEN(map_and_fold);
HANDWRITTEN(both_ways);

HANDWRITTEN(elman);
HANDWRITTEN(elman_layers);
HANDWRITTEN(gru);
HANDWRITTEN(matrix_products);

/* The models of bench/models: size[0] steps of in[0], a double; the outputs are doubles, named in mdf_workloads.py. */
HANDWRITTEN(fitzhugh_nagumo);
HANDWRITTEN(izhikevich);
HANDWRITTEN(newton_cooling);
HANDWRITTEN(integrate_and_fire_net);
HANDWRITTEN(switched_rlc);
HANDWRITTEN(every_n_calls);

#endif
