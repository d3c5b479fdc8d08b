/* custom.h - functions that the caller registered (mdf_register_function): a set of them, and a call of one.
 *
 * A function is a row like those of the engine's tables: named "DOMAIN::NAME", its formals as Python's rows have them, its kernel
 * one that calls the caller's. What is registered is never changed: a set only grows at its front, so that who has found a
 * function may use it while others are added. A set lives until the last of its owners lets go of it: who made it, and each
 * program. */
#ifndef MDF_FUNCTIONS_CUSTOM_CUSTOM_H
#define MDF_FUNCTIONS_CUSTOM_CUSTOM_H

#include "functions/kernel/operator.h"

enum { MDF_CUSTOM_MOST_VALUES = 32 }; /* arguments, and outputs, of a function */

struct mdf_custom_value {
    const char *name;
    mdf_dtype dtype;          /* MDF_DTYPE_NONE: as it comes */
    const char *default_text; /* an expression; NULL: it must be given */
};

struct mdf_custom {
    struct mdf_operator row; /* its calls have this struct as their settings */
    struct mdf_custom_value *arguments, *outputs;
    size_t n_arguments, n_outputs;
    size_t n_own; /* arguments of the function itself: of a derivative, gradients of its outputs follow */
    mdf_function_kernel kernel, shapes;
    unsigned flags;
    void *context;
    void *lock;                          /* of MDF_FUNCTION_SERIAL; NULL: none */
    const char *c_name, *c_source;       /* as in mdf_function */
    const struct mdf_custom *derivative; /* takes the arguments and a gradient of each output, gives one of each argument; NULL */
};

/* The function of that name ("DOMAIN::NAME") which was registered last; NULL where there is none, and for a NULL set. */
const struct mdf_custom *mdf_custom_find(const struct mdf_functions *functions, const char *name);
/* The same by its name in an expression, "DOMAIN.NAME". */
const struct mdf_custom *mdf_custom_find_dotted(const struct mdf_functions *functions, const char *name);
/* Offers all names to a search for the nearest: "DOMAIN::NAME", or as expressions have them. */
void mdf_custom_offer(const struct mdf_functions *functions, bool dotted, struct mdf_nearest *nearest);

/* A set with one owner; NULL: memory ran out. */
struct mdf_functions *mdf_functions_make(const mdf_allocator *allocator);
/* One more owner; the set, which may be NULL. */
struct mdf_functions *mdf_functions_share(const struct mdf_functions *functions);
/* Lets go of an owner's share: with the last of them goes the set. */
void mdf_functions_release(struct mdf_functions *functions);
/* mdf_register_function, with all fields of the function there. */
mdf_status mdf_functions_add(struct mdf_functions *functions, const mdf_function *function, mdf_error *error);
/* mdf_load_plugin; `register_function` is what the plugin calls. */
mdf_status mdf_functions_load(struct mdf_functions *functions, const char *path,
                              mdf_status (*register_function)(mdf_functions *, const mdf_function *, mdf_error *),
                              mdf_error *error);

/* Types and shapes of a call's outputs, as far as they follow from those of the inputs, all of which are known; unknown outputs
 * stay as they are. Shapes lie in the arena. False: memory ran out. */
bool mdf_custom_infer(const struct mdf_custom *custom, struct mdf_arena *arena, const struct mdf_static_type *inputs,
                      size_t n_inputs, struct mdf_static_type *outputs);

/* `take` gets the names of all kernels in C, and the identifiers that stand outside of brackets in their texts. */
void mdf_custom_identifiers(const struct mdf_functions *functions, void (*take)(void *context, const char *name, size_t length),
                            void *context);

/* --- run_custom.c */
bool mdf_custom_run(struct mdf_call *call);

/* The registered function that a call is of, by its operator and settings; NULL: it is of none. */
static inline const struct mdf_custom *mdf_custom_of(const struct mdf_operator *operator, const void *settings)
{
    return operator != NULL && operator->kernel == mdf_custom_run ? settings : NULL;
}

#endif
