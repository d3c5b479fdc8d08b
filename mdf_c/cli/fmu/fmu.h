/* fmu.h - a model as a Functional Mock-up Unit, of FMI 2.0 or 3.0: what its variables are, and the texts that it is made of.
 *
 * Comes in: a state whose types and shapes are known, as mdf_c/source writes it. Goes out: modelDescription.xml, and one C source
 * that needs C11 and libm: the compiled model, a table of variables, and the functions of FMI over both (mdf_c/cli/fmu/runtime).
 */
#ifndef MDF_CLI_FMU_FMU_H
#define MDF_CLI_FMU_FMU_H

#include "mdf_c/base/arena.h"
#include "mdf_c/base/name_table.h"
#include "mdf_c/base/text.h"
#include "mdf_c/run/state.h"

/* As the runtime has them. */
enum fmu_kind { FMU_TIME, FMU_INPUT, FMU_PARAMETER, FMU_OUTPUT, FMU_STATE, FMU_DERIVATIVE, FMU_INDICATOR, FMU_SEED };

struct fmu_variable {
    enum fmu_kind kind;
    const char *name; /* unique */
    const char *unit; /* NULL: none is given */
    double nominal;   /* the size of its values, as the model's metadata say; 0: they do not */
    mdf_dtype dtype;
    size_t rank;
    const int64_t *shape;
    size_t n_elements;
    size_t
        index; /* of the model's inputs, parameters or outputs; of states, derivatives and indicators, of their first element */
    const void *start; /* elements; NULL: it is computed */
    bool is_tunable;   /* a parameter that may be set between steps */
    bool is_count;     /* an output that counts the events of a node's metadata */
    bool has_initial;  /* a state that has the value of parameter `initial` at first */
    size_t initial;
    mdf_dtype initial_dtype;
    size_t of;                        /* of a derivative: the variable that is its state */
    unsigned reference, n_references; /* from `reference` on */
};

struct fmu {
    struct mdf_arena arena;
    int version;            /* 2 or 3, of FMI */
    const char *identifier; /* of the model */
    const char *model_name; /* in C source: MODEL_NAME_step */
    const char *title;
    char token[40];
    double dt;
    bool draws; /* random numbers */
    bool has_derivatives, has_co_simulation; /* the kinds that it can be: of which at least one */
    bool has_tangents;                       /* derivatives of the right-hand side and outputs in a direction */
    struct fmu_variable *variables;
    size_t n_variables, capacity;
    size_t n_states, n_indicators;
    bool *is_reset;       /* of each indicator: its condition gives a state another value; */
    bool *is_timed;       /* it depends on clocks alone */
    size_t *counted_by; /* of each element of the states that counts or times events of metadata: 1 + the indicator of these; else 0 */
    bool *is_clock;       /* of each element of the states: its derivative is a number */
    bool has_timed;
    const char *left_out; /* a parameter that FMI 2 has no type for; NULL: none */
    bool is_structured;   /* all names follow FMI's rules for such; else they are any texts */
    struct name_table names;
};

/* Makes initial values of states real numbers, where the model has whole ones. For a state before its first evaluation. */
bool fmu_prepare(struct mdf_state *state, mdf_error *error);
/* Lists the variables. False: the error is set. */
bool fmu_collect(struct fmu *fmu, const mdf_model *model, struct mdf_state *state, mdf_error *error);
/* --- fmu_timed.c: whether a condition of a parameter depends on nothing but numbers and clocks, which are parameters with a number
 * as their time derivative. */
bool fmu_is_timed(struct mdf_arena *arena, const struct mdf_graph_node *node, const char *parameter, const char *condition);
bool fmu_is_clock(const struct mdf_graph_node *node, const char *parameter);

/* Appends what stands behind the model's own source. */
void fmu_append_source(const struct fmu *fmu, struct mdf_text *text);
void fmu_append_description(const struct fmu *fmu, struct mdf_text *text);
/* How it is built from source: FMI 3's list, and for CMake. */
void fmu_append_build_description(const struct fmu *fmu, struct mdf_text *text);
void fmu_append_cmake(const struct fmu *fmu, struct mdf_text *text);

#endif
