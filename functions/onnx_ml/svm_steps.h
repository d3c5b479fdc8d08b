/* svm_steps.h - the arithmetic of support vector machines: svm_steps_routine.inc, with the functions of float32 that it calls. */
#ifndef MDF_FUNCTIONS_ONNX_ML_SVM_STEPS_H
#define MDF_FUNCTIONS_ONNX_ML_SVM_STEPS_H

#include "functions/elements/vectors/vector_math.h"
#include "functions/onnx_ml/scores.h"

#define ON_ONE(name, id)                                                                                              \
    static inline float name(float x)                                                                                 \
    {                                                                                                                 \
        mdf_vector_math()->loops[MDF_VECTORS_##id##_FLOAT32](&x, (const void *[]){&x}, (const size_t[]){1}, 1, NULL); \
        return x;                                                                                                     \
    }

/* Those of generated C, by the same name. */
ON_ONE(mdf_exp_float32, exponential)
ON_ONE(mdf_tanh_float32, tangent_hyperbolic)

#undef ON_ONE

#include "functions/onnx_ml/svm_steps_routine.inc"

#endif
