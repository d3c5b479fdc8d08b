/* yaml_scalar.h - what a scalar of YAML 1.1 means, by the rules of PyYAML's SafeLoader. */
#ifndef MDF_DOCUMENT_YAML_SCALAR_H
#define MDF_DOCUMENT_YAML_SCALAR_H

#include "mdf_c/document/document.h"

enum mdf_yaml_type {
    MDF_YAML_STRING,
    MDF_YAML_NULL,
    MDF_YAML_BOOL,
    MDF_YAML_INT,
    MDF_YAML_REAL,
    MDF_YAML_TIMESTAMP, /* read as a string, but not by others */
    MDF_YAML_MERGE,     /* << : as a key it merges, else a string */
    MDF_YAML_VALUE      /* = : a string */
};

/* The type of a plain scalar without a tag. */
enum mdf_yaml_type mdf_yaml_resolve(const char *text, size_t length);

enum mdf_yaml_outcome {
    MDF_YAML_DONE,
    MDF_YAML_MALFORMED, /* the text is none of that type */
    MDF_YAML_TOO_LARGE, /* a whole number past 64 bits that is not decimal */
    MDF_YAML_OUT_OF_MEMORY
};

/* Fills in a node's kind and value from a text that is taken to be of a type; what must be kept goes to the arena. */
enum mdf_yaml_outcome mdf_yaml_construct(struct mdf_node *node, enum mdf_yaml_type type, const char *text, size_t length,
                                         struct mdf_arena *arena);

#endif
