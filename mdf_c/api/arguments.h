/* arguments.h - what callers of the public interface can get wrong, told as MDF_USAGE before it does harm: see "Misuse" and
 * "Options" in mdf.h. Every function of mdf.h that fails looks at its arguments with these. */
#ifndef MDF_API_ARGUMENTS_H
#define MDF_API_ARGUMENTS_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

/* The caller's error where none is set in it, else NULL: the first error wins, and nothing is added to it. */
mdf_error *mdf_unset_error(mdf_error *error);

/* Whether an argument is not NULL; else the error names it. */
#define MDF_GIVEN(argument, error) mdf_argument_given((argument), #argument, __func__, (error))
bool mdf_argument_given(const void *argument, const char *name, const char *function, mdf_error *error);

/* Whether `items` has `n` pointers, none of them NULL; `what` they are. */
bool mdf_arguments_given(const void *const *items, size_t n, const char *what, mdf_error *error);

/* Why a tensor can not be read; NULL where it can. */
const char *mdf_tensor_fault(const mdf_tensor *tensor);
struct mdf_memory;
struct mdf_value;
/* The elements of one of texts, which are plain, as strings of a value's own. False: out of memory. */
bool mdf_copy_texts(struct mdf_memory *memory, struct mdf_value *target, const mdf_tensor *source);
/* Why values can not be written down as a record says, in so many steps; NULL where they can. */
const char *mdf_record_fault(const mdf_record *record, uint64_t n_steps);

/* Whether an allocator is whole; NULL is. */
bool mdf_check_allocator(const mdf_allocator *allocator, mdf_error *error);
/* The caller's options with all fields of this library; NULL stands for zeros. */
bool mdf_read_options(const mdf_options *given, mdf_options *options, mdf_error *error);
bool mdf_read_function(const mdf_function *given, mdf_function *function, mdf_error *error);
bool mdf_read_sweep_options(const mdf_sweep_options *given, mdf_sweep_options *options, mdf_error *error);

/* Writes a text (NULL: none) into the caller's, terminated within `size` bytes; `text` may be NULL. Returns the length that the
 * whole has; 0 where memory was refused. */
size_t mdf_give_text(const struct mdf_text *whole, char *text, size_t size);

/* A state that is freed is not asked by Ctrl-C any more. */
void mdf_ctrl_c_forget(mdf_state *state);

#endif
