/* model_schema.h - the JSON Schema of MDF models, as mdf-run --schema prints it and schemas/mdf.schema.json holds it. */
#ifndef MDF_WRITE_MODEL_SCHEMA_H
#define MDF_WRITE_MODEL_SCHEMA_H

#include "mdf_c/base/text.h"

/* Appends the schema (draft 7, https://json-schema.org): what editors complete and mark in a model of JSON or YAML. */
void mdf_write_model_schema(struct mdf_text *text);

#endif
