/* onnx_schema.h - what ONNX says is legal: the signature of every operator in every version, as data.
 *
 * The rows (onnx_schema_data.inc) are generated from the onnx Python package by generate_onnx_schema.py and committed. */
#ifndef MDF_SCHEMAS_ONNX_SCHEMA_H
#define MDF_SCHEMAS_ONNX_SCHEMA_H

#include "mdf_c/base/error.h"
#include "mdf_c/tensor/dtype.h"

enum mdf_formal_option { MDF_FORMAL_SINGLE, MDF_FORMAL_OPTIONAL, MDF_FORMAL_VARIADIC };

/* A formal input or output. */
struct mdf_formal {
    const char *name;
    const char *type;           /* name of a type constraint ("T"), or a type ("tensor(int64)") */
    uint8_t option;             /* enum mdf_formal_option */
    int variable;               /* formals with the same number >= 0 have one type; -1: a type of its own, or each of VARIADIC */
    mdf_dtype_set tensor_types; /* element types allowed as tensor(...) */
    mdf_dtype_set sequence_types; /* ... as seq(tensor(...)) */
    mdf_dtype_set optional_types; /* ... as optional(tensor(...)) or optional(seq(tensor(...))) */
    bool maps;                    /* map(...) or seq(map(...)) is allowed */
};

enum mdf_schema_attribute_type {
    MDF_ATTRIBUTE_FLOAT = 1, /* numbers are those of AttributeProto.AttributeType */
    MDF_ATTRIBUTE_INT = 2,
    MDF_ATTRIBUTE_STRING = 3,
    MDF_ATTRIBUTE_TENSOR = 4,
    MDF_ATTRIBUTE_GRAPH = 5,
    MDF_ATTRIBUTE_FLOATS = 6,
    MDF_ATTRIBUTE_INTS = 7,
    MDF_ATTRIBUTE_STRINGS = 8,
    MDF_ATTRIBUTE_TENSORS = 9,
    MDF_ATTRIBUTE_GRAPHS = 10,
    MDF_ATTRIBUTE_SPARSE_TENSOR = 11,
    MDF_ATTRIBUTE_SPARSE_TENSORS = 12,
    MDF_ATTRIBUTE_TYPE = 13
};

struct mdf_schema_attribute {
    const char *name;
    uint8_t type; /* enum mdf_schema_attribute_type */
    bool required;
    bool has_default; /* of the scalar types and INTS, FLOATS, STRINGS */
    int64_t default_int;
    double default_float;
    const char *default_string;
    const int64_t *default_ints; /* n_default of them */
    const double *default_floats;
    const char *const *default_strings;
    size_t n_default;
};

struct mdf_schema {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int since;
    bool deprecated;
    size_t n_inputs, n_outputs, n_attributes; /* formals */
    const struct mdf_formal *inputs, *outputs;
    const struct mdf_schema_attribute *attributes;
    size_t min_inputs, max_inputs, min_outputs, max_outputs; /* SIZE_MAX: any number */
};

/* The schema of an operator at an opset version: the newest not newer than `opset`; where the operator was born later, its
 * first one. NULL where the domain has no such operator. Domain "ai.onnx" is "". */
const struct mdf_schema *mdf_schema_find(const char *domain, const char *name, int opset);
/* The domain that a function of a model is of, "" for "onnx::NAME", "ai.onnx.ml" for "ai.onnx.ml::NAME", and its name in it; NULL
 * where it is of none that the data has. */
const char *mdf_schema_split(const char *function, const char **name);
/* What stands before "::" in a model: the domain, or "onnx". */
const char *mdf_schema_prefix(const struct mdf_schema *schema);
/* The schema of an operator whose name no other domain has, in whichever it is; as mdf_schema_find. */
/* The version of a domain that has only one; 0: it has several, or there is no such domain. */
int mdf_schema_only_version(const char *domain);
const struct mdf_schema *mdf_schema_find_anywhere(const char *name, int version);
/* The attribute, or input, of a schema by name; NULL, or SIZE_MAX. */
const struct mdf_schema_attribute *mdf_schema_attribute(const struct mdf_schema *schema, const char *name);
size_t mdf_schema_input(const struct mdf_schema *schema, const char *name);
/* Number of the first value that a body yields for an output of the call: what comes before it, the condition of an operator that
 * runs its body while one holds, only its runs see. */
size_t mdf_schema_first_yield(const struct mdf_schema *schema);
/* Formal of actual input (output) number `i`, the variadic one for all from its place on; NULL past the last. */
const struct mdf_formal *mdf_schema_actual_input(const struct mdf_schema *schema, size_t i);
const struct mdf_formal *mdf_schema_actual_output(const struct mdf_schema *schema, size_t i);
/* Row number `i` of the data, sorted by domain, name and version; NULL past the last. */
const struct mdf_schema *mdf_schema_at(size_t i);
/* Newest opset version of the default domain in the data. */
int mdf_schema_newest_opset(void);
/* Offers the names of all operators of a domain to a search for the nearest. */
void mdf_schema_offer(const char *domain, struct mdf_nearest *nearest);

#endif
