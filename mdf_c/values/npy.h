/* npy.h - NumPy's .npy files, for those who keep many in one archive: heads apart from elements. */
#ifndef MDF_VALUES_NPY_H
#define MDF_VALUES_NPY_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"
#include "mdf_c/tensor/value.h"

enum { MDF_NPY_DEEPEST_RANK = 64 /* NumPy's own limit */, MDF_NPY_DESCR_SIZE = 32 };

/* A file whose head has been read and borne out by its size. */
struct mdf_npy {
    const unsigned char *elements;
    size_t n_bytes; /* of all elements */
    bool swap, fortran_order;
    char kind;           /* of the descr: b i u f c U S */
    size_t element_size; /* bytes of one element in the file */
    mdf_dtype dtype;     /* in memory */
    size_t rank;
    int64_t shape[MDF_NPY_DEEPEST_RANK];
};

mdf_status mdf_npy_open(const void *bytes, size_t size_bytes, struct mdf_npy *npy, mdf_error *error);
/* Whether the elements are in the file what they are in memory, their alignment aside. */
bool mdf_npy_is_plain(const struct mdf_npy *npy);
/* Writes the elements, which are no strings, as they are in memory. */
void mdf_npy_copy(const struct mdf_npy *npy, void *target);

/* The type that NumPy can hold the elements of `dtype` in without loss, and its name: "<f8". Not of strings. */
mdf_dtype mdf_npy_dtype(mdf_dtype dtype);
void mdf_npy_describe(mdf_dtype dtype, char descr[MDF_NPY_DESCR_SIZE]);

/* Appends the head of a file of an array whose type NumPy has; its length is a multiple of 64. The elements as they are in memory
 * are to follow. */
void mdf_npy_append_head(struct mdf_text *bytes, const struct mdf_value *value);

#endif
