/* fmu_source.c - the C source of an FMU behind that of its model: the table of its variables, and the functions of FMI, which are
 * the same for all models; and how it is built. See fmu.h. */
#include "mdf_c/cli/fmu/fmu.h"

#include "mdf_c/cli/compiling/compile_library.h"
#include "mdf_c/source/source_writer.h"

#include "build/generated/fmu_texts.inc"

static void append_lines(struct mdf_text *text, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        mdf_text_append_string(text, *lines);
    }
    mdf_text_append_string(text, "\n");
}

/* ------------------------------------------------------------------ the table */

static const char *type_code(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        return "FLOAT32";
    case MDF_DTYPE_INT8:
        return "INT8";
    case MDF_DTYPE_UINT8:
        return "UINT8";
    case MDF_DTYPE_INT16:
        return "INT16";
    case MDF_DTYPE_UINT16:
        return "UINT16";
    case MDF_DTYPE_INT32:
        return "INT32";
    case MDF_DTYPE_UINT32:
        return "UINT32";
    case MDF_DTYPE_INT64:
        return "INT64";
    case MDF_DTYPE_UINT64:
        return "UINT64";
    case MDF_DTYPE_BOOL:
        return "BOOLEAN";
    default:
        return "FLOAT64";
    }
}

static void append_inputs(const struct fmu *fmu, struct mdf_text *text)
{
    size_t n = 0;

    mdf_text_append_string(text, "/* All inputs, and what they are at first. */\nstruct mdf_fmu_inputs {\n");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        if (fmu->variables[i].kind == FMU_INPUT) {
            mdf_text_printf(text, "    %s in_%zu[%zu];\n", mdf_source_type(fmu->variables[i].dtype), n++,
                            fmu->variables[i].n_elements);
        }
    }
    mdf_text_append_string(text, "    char end;\n};\n\nstatic const struct mdf_fmu_inputs mdf_fmu_start = {\n");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        const struct fmu_variable *variable = &fmu->variables[i];

        for (size_t k = 0; variable->kind == FMU_INPUT && k < variable->n_elements; k++) {
            mdf_text_append_string(text, k == 0 ? "    {" : ", ");
            mdf_source_append_literal(text, variable->dtype, (const char *)variable->start + k * mdf_dtype_size(variable->dtype));
            mdf_text_append_string(text, k + 1 == variable->n_elements ? "},\n" : "");
        }
    }
    mdf_text_append_string(text, "    0};\n\nstatic const struct mdf_fmu_input mdf_fmu_input_places[] = {\n");
    for (size_t i = n = 0; i < fmu->n_variables; i++) {
        if (fmu->variables[i].kind == FMU_INPUT) {
            mdf_text_printf(text, "    {%zu, offsetof(struct mdf_fmu_inputs, in_%zu)},\n", fmu->variables[i].index, n);
            n++;
        }
    }
    mdf_text_printf(text, "    {0, offsetof(struct mdf_fmu_inputs, end)}};\n\nenum { MDF_FMU_N_INPUTS = %zu };\n\n", n);
}

static void append_variables(const struct fmu *fmu, struct mdf_text *text)
{
    static const char *const kinds[] = {"TIME", "INPUT", "PARAMETER", "OUTPUT", "STATE", "DERIVATIVE", "INDICATOR", "SEED"};
    size_t n_inputs = 0;

    mdf_text_append_string(text, "static const struct mdf_fmu_variable mdf_fmu_variables[] = {\n");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        const struct fmu_variable *variable = &fmu->variables[i];
        size_t index = variable->kind == FMU_INPUT ? n_inputs++ : variable->index;

        mdf_text_printf(text, "    {MDF_FMU_%s, MDF_FMU_%s, %zu, %zu, %u, %u, %s, %s, %s, %zu, MDF_FMU_%s},\n",
                        kinds[variable->kind], type_code(variable->dtype), index, variable->n_elements, variable->reference,
                        variable->n_references, variable->is_tunable ? "true" : "false", variable->is_count ? "true" : "false",
                        variable->has_initial ? "true" : "false", variable->initial,
                        type_code(variable->has_initial ? variable->initial_dtype : MDF_DTYPE_FLOAT64));
    }
    mdf_text_printf(text, "};\n\nenum { MDF_FMU_N_VARIABLES = %zu };\n\n", fmu->n_variables);
}

static void append_marks(struct mdf_text *text, const char *what, const char *name, const bool *marks, size_t n)
{
    mdf_text_printf(text, "/* Of each %s. */\nstatic const bool mdf_fmu_%s[] = {", what, name);
    for (size_t i = 0; i < n; i++) {
        mdf_text_printf(text, "%s%s", marks[i] ? "true" : "false", i % 16 == 15 ? ",\n    " : ", ");
    }
    mdf_text_append_string(text, "false};\n\n");
}

static void append_counted(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_append_string(text, "/* Of each state: 1 + the event indicator of what it counts or times; 0: nothing. */\n"
                                 "static const size_t mdf_fmu_counted_by[] = {");
    for (size_t i = 0; i < fmu->n_states; i++) {
        mdf_text_printf(text, "%zu, ", fmu->counted_by[i]);
    }
    mdf_text_append_string(text, "0};\n\n");
}

/* Values of one step and tolerances, as an importer asks for them: 1 where the model does not say. */
static void append_nominals(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_append_string(text, "/* The sizes of the states' values. */\nstatic const double mdf_fmu_nominals[] = {");
    for (size_t i = 0; i < fmu->n_variables; i++) {
        const struct fmu_variable *variable = &fmu->variables[i];
        char digits[MDF_NUMBER_TEXT_SIZE];

        mdf_format_float64(variable->nominal > 0 ? variable->nominal : 1, digits);
        for (size_t k = 0; variable->kind == FMU_STATE && k < variable->n_elements; k++) {
            mdf_text_printf(text, "%s, ", digits);
        }
    }
    mdf_text_append_string(text, "1};\n\n");
}

static void append_state_tables(const struct fmu *fmu, struct mdf_text *text)
{
    append_nominals(fmu, text);
    append_marks(text, "event indicator: its condition gives a state another value", "is_reset", fmu->is_reset,
                 fmu->n_indicators);
    append_marks(text, "event indicator: its condition depends on clocks alone", "is_timed", fmu->is_timed, fmu->n_indicators);
    append_marks(text, "state: it is a clock, whose derivative is a number", "is_clock", fmu->is_clock, fmu->n_states);
    append_counted(fmu, text);
}

/* ------------------------------------------------------------------ the model's functions under one name */

static size_t most_elements(const struct fmu *fmu)
{
    size_t most = 1;

    for (size_t i = 0; i < fmu->n_variables; i++) {
        most = fmu->variables[i].kind == FMU_OUTPUT && fmu->variables[i].n_elements > most ? fmu->variables[i].n_elements : most;
    }
    return most;
}

static bool has_parameters(const struct fmu *fmu)
{
    for (size_t i = 0; i < fmu->n_variables; i++) {
        if (fmu->variables[i].kind == FMU_PARAMETER || fmu->variables[i].has_initial) {
            return true;
        }
    }
    return false;
}

static void append_settings(const struct fmu *fmu, struct mdf_text *text)
{
    char dt[MDF_NUMBER_TEXT_SIZE];

    mdf_format_float64(fmu->dt, dt);
    mdf_text_printf(text,
                    "\n/* ------------------------------------------------------------------ FMI %d.0 */\n\n"
                    "typedef struct %s mdf_fmu_model;\n"
                    "#define MDF_FMU_MODEL(function) %s_##function\n"
                    "#define MDF_FMU_TOKEN \"%s\"\n"
                    "#define MDF_FMU_DT %s\n"
                    "#define MDF_FMU_HAS_DERIVATIVES %d\n"
                    "#define MDF_FMU_HAS_TANGENTS %d\n"
                    "#define MDF_FMU_HAS_TIMED %d\n"
                    "enum { MDF_FMU_N_STATES = %zu, MDF_FMU_N_INDICATORS = %zu, MDF_FMU_MOST_ELEMENTS = %zu };\n\n",
                    fmu->version, fmu->model_name, fmu->model_name, fmu->token, dt, fmu->has_derivatives, fmu->has_tangents,
                    fmu->has_timed, fmu->n_states, fmu->n_indicators, most_elements(fmu));
}

/* `of` as the kinds of variables. */
static void append_tangent_adapters(const struct fmu *fmu, struct mdf_text *text)
{
    static const char clear[] = "static void mdf_fmu_clear_direction(mdf_fmu_model *model)\n{\n%s}\n\n",
                      set[] =
                          "static void mdf_fmu_set_direction(mdf_fmu_model *model, enum mdf_fmu_kind of, size_t index, size_t "
                          "element, double value)\n{\n%s}\n\n",
                      run[] = "static int mdf_fmu_find_tangents(mdf_fmu_model *model, double *derivatives)\n{\n%s}\n\n",
                      get[] = "static double mdf_fmu_tangent_of_output(const mdf_fmu_model *model, size_t index, size_t "
                              "element)\n{\n%s}\n\n";

    mdf_text_printf(text, clear, fmu->has_tangents ? "    MDF_FMU_MODEL(clear_direction)(model);\n" : "    (void)model;\n");
    mdf_text_printf(text, set,
                    fmu->has_tangents
                        ? "    MDF_FMU_MODEL(set_direction)(model, of == MDF_FMU_STATE ? MDF_FMU_MODEL(of_state)\n"
                          "                                        : of == MDF_FMU_INPUT ? MDF_FMU_MODEL(of_input)\n"
                          "                                                              : MDF_FMU_MODEL(of_parameter),\n"
                          "                                 index, element, value);\n"
                        : "    (void)model;\n    (void)of;\n    (void)index;\n    (void)element;\n    (void)value;\n");
    mdf_text_printf(text, run,
                    fmu->has_tangents ? "    return MDF_FMU_MODEL(tangents)(model, derivatives);\n"
                                      : "    (void)model;\n    (void)derivatives;\n    return 1;\n");
    mdf_text_printf(text, get,
                    fmu->has_tangents ? "    return MDF_FMU_MODEL(tangent_of_output)(model, index, element);\n"
                                      : "    (void)model;\n    (void)index;\n    (void)element;\n    return 0;\n");
}

/* What a model without a right-hand side lacks is never called, but there. */
static void append_adapters(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_printf(text, "static void *mdf_fmu_parameter(mdf_fmu_model *model, int parameter)\n{\n%s}\n\n",
                    has_parameters(fmu) ? "    return MDF_FMU_MODEL(parameter)(model, parameter);\n"
                                        : "    (void)model;\n    (void)parameter;\n    return NULL;\n");
    mdf_text_printf(text, "static void mdf_fmu_get_states(const mdf_fmu_model *model, double *states)\n{\n%s}\n\n",
                    fmu->has_derivatives ? "    MDF_FMU_MODEL(get_states)(model, states);\n"
                                         : "    (void)model;\n    (void)states;\n");
    mdf_text_printf(text,
                    "static int mdf_fmu_find_derivatives(mdf_fmu_model *model, const double *states, double *derivatives, double "
                    "*indicators)\n{\n%s}\n\n",
                    fmu->has_derivatives
                        ? "    int status = MDF_FMU_MODEL(derivatives)(model, states, derivatives);\n\n"
                          "    MDF_FMU_MODEL(indicators)(model, indicators);\n    return status;\n"
                        : "    (void)model;\n    (void)states;\n    (void)derivatives;\n    (void)indicators;\n    return 1;\n");
    mdf_text_printf(text, "static int mdf_fmu_act(mdf_fmu_model *model, double *states)\n{\n%s}\n\n",
                    fmu->has_derivatives ? "    return MDF_FMU_MODEL(act)(model, states);\n"
                                         : "    (void)model;\n    (void)states;\n    return 1;\n");
    append_tangent_adapters(fmu, text);
}

void fmu_append_source(const struct fmu *fmu, struct mdf_text *text)
{
    append_settings(fmu, text);
    append_lines(text, fmu_variables_lines);
    append_inputs(fmu, text);
    append_variables(fmu, text);
    append_state_tables(fmu, text);
    append_adapters(fmu, text);
    append_lines(text, fmu_instance_lines);
    append_lines(text, fmu->version == 2 ? fmi2_functions_lines : fmi3_functions_lines);
    append_lines(text, fmi_functions_lines);
}

/* ------------------------------------------------------------------ how it is built */

static void append_flags(struct mdf_text *text)
{
    const char *const *flag;

    for (flag = same_bits_flags; *flag != NULL; flag++) {
        mdf_text_printf(text, "%s%s", flag == same_bits_flags ? "" : " ", *flag);
    }
}

void fmu_append_build_description(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_printf(text,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiBuildDescription fmiVersion=\"3.0\">\n"
                    "  <BuildConfiguration modelIdentifier=\"%s\">\n"
                    "    <SourceFileSet language=\"C11\" compilerOptions=\"",
                    fmu->identifier);
    append_flags(text);
    mdf_text_append_string(text, "\">\n      <SourceFile name=\"fmu.c\"/>\n    </SourceFileSet>\n    <Library name=\"m\"/>\n"
                                 "  </BuildConfiguration>\n</fmiBuildDescription>\n");
}

void fmu_append_cmake(const struct fmu *fmu, struct mdf_text *text)
{
    mdf_text_printf(text,
                    "# Builds the FMU's library: cmake -S sources -B build && cmake --build build\n"
                    "# The flags give the results of mdf-run to the last bit.\n"
                    "cmake_minimum_required(VERSION 3.10)\nproject(%s C)\n"
                    "set(CMAKE_C_VISIBILITY_PRESET hidden)\n"
                    "add_library(%s SHARED fmu.c)\n"
                    "set_target_properties(%s PROPERTIES PREFIX \"\" C_STANDARD 11)\n"
                    "if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\")\n  target_compile_options(%s PRIVATE ",
                    fmu->identifier, fmu->identifier, fmu->identifier, fmu->identifier);
    append_flags(text);
    mdf_text_printf(text, ")\nendif()\nif(UNIX)\n  target_link_libraries(%s m)\nendif()\n", fmu->identifier);
}
