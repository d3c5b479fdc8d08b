/* case.h - one case of the random-model harness: a model, and what it is given, phase by phase. See README.md. */
#ifndef MDF_TESTS_RANDOM_CASE_H
#define MDF_TESTS_RANDOM_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct random_input {
    char *name, *json;
};

/* Some evaluations, each of which gets the same inputs. */
struct random_phase {
    uint64_t n_steps;
    size_t n_inputs;
    struct random_input *inputs;
};

/* Values that a sweep gives to a parameter or an input, as mdf_sweep_values has them. */
struct random_swept {
    char *name;
    unsigned axes;
    bool is_parameter;
    char type[16]; /* of the elements, by name */
    size_t rank;
    int64_t shape[8];
    char *elements;
};

struct random_case {
    char format[8]; /* of the model: "json", "onnx", ... */
    char *model;
    size_t size_bytes;
    int method; /* mdf_method */
    double dt; /* of all evaluations but a state's first; NaN: none */
    size_t n_phases;
    struct random_phase *phases;
    bool keeps_nothing; /* no evaluation may see anything of an earlier one */
    bool is_compiled;   /* also by C source */
    char only[32];      /* the one way besides the reference; "-": all */
    size_t n_swept, n_instances;
    struct random_swept *swept;
    struct random_case *instances; /* what the instances of the sweep are by themselves */
};

/* Reads the next case; false at the end, and where what comes is none. Release it all the same. */
bool random_case_read(struct random_case *random_case, FILE *file);
void random_case_release(struct random_case *random_case);

#endif
