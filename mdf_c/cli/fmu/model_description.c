/* model_description.c - modelDescription.xml of an FMU, as the schemas of FMI 2.0 and 3.0 have it (https://fmi-standard.org). */
#include "mdf_c/cli/fmu/fmu.h"

#include "mdf_c/base/physical_unit.h"
#include "mdf_c/mdf.h"
#include "mdf_c/tensor/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ texts */

/* A text in an attribute. Control characters, which XML has no place for, are spaces. */
static void append_escaped(struct mdf_text *text, const char *string)
{
    for (; *string != '\0'; string++) {
        switch (*string) {
        case '&':
            mdf_text_append_string(text, "&amp;");
            break;
        case '<':
            mdf_text_append_string(text, "&lt;");
            break;
        case '>':
            mdf_text_append_string(text, "&gt;");
            break;
        case '"':
            mdf_text_append_string(text, "&quot;");
            break;
        default:
            mdf_text_append(text, (unsigned char)*string < ' ' || *string == 0x7f ? " " : string, 1);
            break;
        }
    }
}

static void append_attribute(struct mdf_text *text, const char *name, const char *value)
{
    mdf_text_printf(text, " %s=\"", name);
    append_escaped(text, value);
    mdf_text_append_string(text, "\"");
}

static void append_real(struct mdf_text *text, double value)
{
    char digits[MDF_NUMBER_TEXT_SIZE];

    if (isinf(value)) {
        mdf_text_append_string(text, value > 0 ? "INF" : "-INF");
    } else {
        mdf_format_float64(value, digits);
        mdf_text_append_string(text, digits);
    }
}

static void append_element(struct mdf_text *text, const struct fmu_variable *variable, size_t i)
{
    const char *element = (const char *)variable->start + i * mdf_dtype_size(variable->dtype);

    switch (mdf_dtype_kind(variable->dtype)) {
    case 'f':
        append_real(text, mdf_element_to_double(variable->dtype, element));
        break;
    case 'b':
        mdf_text_append_string(text, *(const bool *)element ? "true" : "false");
        break;
    default:
        if (variable->dtype == MDF_DTYPE_UINT64) {
            uint64_t whole;

            memcpy(&whole, element, sizeof whole);
            mdf_text_printf(text, "%" PRIu64, whole);
        } else if (variable->dtype == MDF_DTYPE_INT64) {
            int64_t whole;

            memcpy(&whole, element, sizeof whole);
            mdf_text_printf(text, "%" PRId64, whole);
        } else {
            mdf_text_printf(text, "%.0f", mdf_element_to_double(variable->dtype, element));
        }
        break;
    }
}

/* ------------------------------------------------------------------ variables */

static bool is_real(const struct fmu_variable *variable)
{
    return mdf_dtype_kind(variable->dtype) == 'f';
}

static const char *causality(const struct fmu_variable *variable)
{
    static const char *const words[] = {"independent", "input", "parameter", "output", "local", "local", "local", "parameter"};

    return words[variable->kind];
}

static const char *variability(const struct fmu_variable *variable)
{
    return variable->kind == FMU_PARAMETER || variable->kind == FMU_SEED ? (variable->is_tunable ? "tunable" : "fixed")
           : is_real(variable)                                           ? "continuous"
                                                                         : "discrete";
}

/* NULL: it follows from the causality. */
static const char *initial(const struct fmu_variable *variable)
{
    return variable->kind == FMU_PARAMETER || variable->kind == FMU_SEED ? "exact"
           : variable->kind == FMU_TIME || variable->kind == FMU_INPUT   ? NULL
           : variable->kind == FMU_STATE && variable->start != NULL      ? "exact"
                                                                         : "calculated";
}

static const char *type_name(const struct fmu *fmu, mdf_dtype dtype)
{
    if (fmu->version == 2) {
        return mdf_dtype_kind(dtype) == 'f' ? "Real" : mdf_dtype_kind(dtype) == 'b' ? "Boolean" : "Integer";
    }
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        return "Float32";
    case MDF_DTYPE_INT8:
        return "Int8";
    case MDF_DTYPE_UINT8:
        return "UInt8";
    case MDF_DTYPE_INT16:
        return "Int16";
    case MDF_DTYPE_UINT16:
        return "UInt16";
    case MDF_DTYPE_INT32:
        return "Int32";
    case MDF_DTYPE_UINT32:
        return "UInt32";
    case MDF_DTYPE_INT64:
        return "Int64";
    case MDF_DTYPE_UINT64:
        return "UInt64";
    case MDF_DTYPE_BOOL:
        return "Boolean";
    default:
        return "Float64";
    }
}

static void append_properties(struct mdf_text *text, const struct fmu_variable *variable)
{
    append_attribute(text, "causality", causality(variable));
    append_attribute(text, "variability", variability(variable));
    if (initial(variable) != NULL) {
        append_attribute(text, "initial", initial(variable));
    }
}

/* [2,1] of the element, counted from 1, row by row; nothing of a scalar. */
static void append_subscript(struct mdf_text *text, const struct fmu_variable *variable, size_t element)
{
    size_t rest = variable->n_elements;

    for (size_t axis = 0; axis < variable->rank; axis++) {
        rest /= (size_t)variable->shape[axis];
        mdf_text_printf(text, "%s%zu", axis == 0 ? "[" : ",", element / rest % (size_t)variable->shape[axis] + 1);
    }
    mdf_text_append_string(text, variable->rank > 0 ? "]" : "");
}

/* The name of one element; of derivatives the subscript stands within der(). */
static void append_element_name(struct mdf_text *text, const struct fmu *fmu, const struct fmu_variable *variable, size_t element)
{
    const struct fmu_variable *named = variable->kind == FMU_DERIVATIVE ? &fmu->variables[variable->of] : variable;

    mdf_text_append_string(text, " name=\"");
    mdf_text_append_string(text, named == variable ? "" : "der(");
    append_escaped(text, named->name);
    append_subscript(text, variable, element);
    mdf_text_append_string(text, named == variable ? "\"" : ")\"");
}

/* What a real variable is measured in, and the size of its values. */
static void append_measure(struct mdf_text *text, const struct fmu_variable *variable)
{
    if (variable->unit != NULL && is_real(variable)) {
        append_attribute(text, "unit", variable->unit);
    }
    if (variable->nominal > 0 && is_real(variable)) {
        mdf_text_append_string(text, " nominal=\"");
        append_real(text, variable->nominal);
        mdf_text_append_string(text, "\"");
    }
}

/* FMI 2: a variable for each element; its number, counted from 1, is one more than its reference. */
static void append_scalars(struct mdf_text *text, const struct fmu *fmu, const struct fmu_variable *variable)
{
    for (size_t i = 0; i < variable->n_elements; i++) {
        mdf_text_append_string(text, "    <ScalarVariable");
        append_element_name(text, fmu, variable, i);
        mdf_text_printf(text, " valueReference=\"%zu\"", variable->reference + i);
        append_properties(text, variable);
        mdf_text_printf(text, "><%s", type_name(fmu, variable->dtype));
        append_measure(text, variable);
        if (variable->start != NULL) {
            mdf_text_append_string(text, " start=\"");
            append_element(text, variable, i);
            mdf_text_append_string(text, "\"");
        }
        if (variable->kind == FMU_DERIVATIVE) {
            mdf_text_printf(text, " derivative=\"%zu\"", fmu->variables[variable->of].reference + i + 1);
        }
        mdf_text_append_string(text, "/></ScalarVariable>\n");
    }
}

/* FMI 3: one variable, with dimensions. */
static void append_array(struct mdf_text *text, const struct fmu *fmu, const struct fmu_variable *variable)
{
    mdf_text_printf(text, "    <%s", type_name(fmu, variable->dtype));
    append_attribute(text, "name", variable->name);
    mdf_text_printf(text, " valueReference=\"%u\"", variable->reference);
    append_properties(text, variable);
    append_measure(text, variable);
    for (size_t i = 0; variable->start != NULL && i < variable->n_elements; i++) {
        mdf_text_append_string(text, i == 0 ? " start=\"" : " ");
        append_element(text, variable, i);
    }
    mdf_text_append_string(text, variable->start != NULL ? "\"" : "");
    if (variable->kind == FMU_DERIVATIVE) {
        mdf_text_printf(text, " derivative=\"%u\"", fmu->variables[variable->of].reference);
    }
    mdf_text_append_string(text, variable->rank > 0 ? ">" : "/>\n");
    for (size_t i = 0; i < variable->rank; i++) {
        mdf_text_printf(text, "<Dimension start=\"%lld\"/>", (long long)variable->shape[i]);
    }
    if (variable->rank > 0) {
        mdf_text_printf(text, "</%s>\n", type_name(fmu, variable->dtype));
    }
}

static void append_variables(struct mdf_text *text, const struct fmu *fmu)
{
    mdf_text_append_string(text, "  <ModelVariables>\n");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        if (fmu->version == 2) {
            append_scalars(text, fmu, &fmu->variables[i]);
        } else {
            append_array(text, fmu, &fmu->variables[i]);
        }
    }
    mdf_text_append_string(text, "  </ModelVariables>\n");
}

/* ------------------------------------------------------------------ structure */

/* Which variables stand in a part of the structure. */
typedef bool chosen(const struct fmu_variable *variable);

static bool is_output(const struct fmu_variable *variable)
{
    return variable->kind == FMU_OUTPUT;
}

static bool is_derivative(const struct fmu_variable *variable)
{
    return variable->kind == FMU_DERIVATIVE;
}

static bool is_indicator(const struct fmu_variable *variable)
{
    return variable->kind == FMU_INDICATOR;
}

static bool is_unknown_at_first(const struct fmu_variable *variable)
{
    return is_output(variable) || is_derivative(variable) || (variable->kind == FMU_STATE && variable->start == NULL);
}

/* FMI 3 has an element for each variable; FMI 2 one for each scalar, within one for all. */
static void append_part(struct mdf_text *text, const struct fmu *fmu, const char *all, const char *each, chosen *is_chosen)
{
    size_t n = 0;

    for (size_t i = 0; i < fmu->n_variables; i++) {
        const struct fmu_variable *variable = &fmu->variables[i];

        if (!is_chosen(variable)) {
            continue;
        }
        if (n++ == 0 && fmu->version == 2) {
            mdf_text_printf(text, "    <%s>\n", all);
        }
        for (size_t k = 0; fmu->version == 2 && k < variable->n_elements; k++) {
            mdf_text_printf(text, "      <Unknown index=\"%zu\"/>\n", variable->reference + k + 1);
        }
        if (fmu->version == 3) {
            mdf_text_printf(text, "    <%s valueReference=\"%u\"/>\n", each, variable->reference);
        }
    }
    if (n > 0 && fmu->version == 2) {
        mdf_text_printf(text, "    </%s>\n", all);
    }
}

static void append_structure(struct mdf_text *text, const struct fmu *fmu)
{
    mdf_text_append_string(text, "  <ModelStructure>\n");
    append_part(text, fmu, "Outputs", "Output", is_output);
    append_part(text, fmu, "Derivatives", "ContinuousStateDerivative", is_derivative);
    append_part(text, fmu, "InitialUnknowns", "InitialUnknown", is_unknown_at_first);
    if (fmu->version == 3) {
        append_part(text, fmu, "", "EventIndicator", is_indicator);
    }
    mdf_text_append_string(text, "  </ModelStructure>\n");
}

/* ------------------------------------------------------------------ the head */

static void append_source_files(struct mdf_text *text, const struct fmu *fmu, const char *kind)
{
    if (fmu->version == 2) {
        mdf_text_printf(text, ">\n    <SourceFiles>\n      <File name=\"fmu.c\"/>\n    </SourceFiles>\n  </%s>\n", kind);
    } else {
        mdf_text_append_string(text, "/>\n");
    }
}

static void append_kinds(struct mdf_text *text, const struct fmu *fmu)
{
    const char *state = fmu->version == 2 ? "FMUstate" : "FMUState",
               *memory = fmu->version == 2 ? " canNotUseMemoryManagementFunctions=\"true\"" : "";

    if (fmu->has_derivatives) {
        mdf_text_printf(text, "  <ModelExchange modelIdentifier=\"%s\"%s canGetAndSet%s=\"true\" canSerialize%s=\"true\"",
                        fmu->identifier, memory, state, state);
        if (fmu->has_tangents) {
            mdf_text_append_string(text, fmu->version == 2
                                             ? " providesDirectionalDerivative=\"true\""
                                             : " providesDirectionalDerivatives=\"true\" providesAdjointDerivatives=\"true\"");
        }
        append_source_files(text, fmu, "ModelExchange");
    }
    if (fmu->has_co_simulation) {
        mdf_text_printf(text,
                        "  <CoSimulation modelIdentifier=\"%s\"%s canGetAndSet%s=\"true\" canSerialize%s=\"true\" "
                        "canHandleVariableCommunicationStepSize=\"true\"",
                        fmu->identifier, memory, state, state);
        if (fmu->version == 3) {
            mdf_text_append_string(text, " fixedInternalStepSize=\"");
            append_real(text, fmu->dt);
            mdf_text_append_string(text, "\" hasEventMode=\"true\" mightReturnEarlyFromDoStep=\"true\" "
                                         "providesIntermediateUpdate=\"true\" canReturnEarlyAfterIntermediateUpdate=\"true\"");
        }
        append_source_files(text, fmu, "CoSimulation");
    }
}

/* What the unit is in those of the SI, where it is known. */
static void append_base_unit(struct mdf_text *text, const char *name)
{
    static const char *const bases[] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
    struct mdf_physical_unit unit;

    if (!mdf_read_physical_unit(name, &unit)) {
        mdf_text_append_string(text, "/>\n");
        return;
    }
    mdf_text_append_string(text, "><BaseUnit");
    for (size_t i = 0; i < MDF_BASE_UNITS; i++) {
        if (unit.powers[i] != 0) {
            mdf_text_printf(text, " %s=\"%d\"", bases[i], unit.powers[i]);
        }
    }
    mdf_text_append_string(text, " factor=\"");
    append_real(text, unit.factor);
    if (unit.offset != 0) {
        mdf_text_append_string(text, "\" offset=\"");
        append_real(text, unit.offset);
    }
    mdf_text_append_string(text, "\"/></Unit>\n");
}

static void append_units(struct mdf_text *text, const struct fmu *fmu)
{
    size_t k;

    mdf_text_append_string(text, "  <UnitDefinitions>\n");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        const char *unit = fmu->variables[i].unit;

        for (k = 0; unit != NULL && k < i && (fmu->variables[k].unit == NULL || strcmp(fmu->variables[k].unit, unit) != 0); k++) {
        }
        if (unit != NULL && k == i) {
            mdf_text_append_string(text, "    <Unit");
            append_attribute(text, "name", unit);
            append_base_unit(text, unit);
        }
    }
    mdf_text_append_string(text, "  </UnitDefinitions>\n");
}

static void append_experiment(struct mdf_text *text, const struct fmu *fmu)
{
    mdf_text_append_string(text, "  <DefaultExperiment startTime=\"0\" stopTime=\"");
    append_real(text, 100 * fmu->dt);
    mdf_text_append_string(text, "\" stepSize=\"");
    append_real(text, fmu->dt);
    mdf_text_append_string(text, "\"/>\n");
}

void fmu_append_description(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_printf(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"%d.0\"", fmu->version);
    append_attribute(text, "modelName", fmu->title);
    append_attribute(text, fmu->version == 2 ? "guid" : "instantiationToken", fmu->token);
    append_attribute(text, "generationTool", "mdf-fmu " MDF_VERSION);
    append_attribute(text, "variableNamingConvention", fmu->is_structured ? "structured" : "flat");
    if (fmu->version == 2) {
        mdf_text_printf(text, " numberOfEventIndicators=\"%zu\"", fmu->n_indicators);
    }
    mdf_text_append_string(text, ">\n");
    append_kinds(text, fmu);
    append_units(text, fmu);
    mdf_text_append_string(text, "  <LogCategories>\n    <Category name=\"logStatusError\"/>\n  </LogCategories>\n");
    append_experiment(text, fmu);
    append_variables(text, fmu);
    append_structure(text, fmu);
    mdf_text_append_string(text, "</fmiModelDescription>\n");
}
