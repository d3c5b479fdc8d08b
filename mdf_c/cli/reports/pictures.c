/* pictures.c - see pictures.h. The library writes a text in the language of Graphviz or gnuplot; those programs make the picture
 * of it. */
#include "mdf_c/cli/reports/pictures.h"

#include "mdf_c/base/text.h"
#include "mdf_c/cli/compiling/child.h"
#include "mdf_c/model/model.h"
#include "mdf_c/pictures/write_dot.h"
#include "mdf_c/pictures/write_plot.h"

#include <string.h>

/* A kind of file: what the program is told. `argument` NULL: the text itself is the file; `size` NULL: as large as it gets. */
struct image_kind {
    const char *suffix, *argument, *size;
};

struct plot_kind {
    const char *suffix;
    enum mdf_plot_format format;
};

static const struct image_kind image_kinds[] = {
    {".svg", "-Tsvg", NULL},
    {".png", "-Tpng", "-Gsize=130,130"}, /* inches, 12480 pixels: most programs show no larger one */
    {".pdf", "-Tpdf", NULL},
    {".dot", NULL, NULL},
    {".gv", NULL, NULL}};
static const struct plot_kind plot_kinds[] = {
    {".svg", MDF_PLOT_SVG}, {".png", MDF_PLOT_PNG}, {".pdf", MDF_PLOT_PDF}, {".gp", MDF_PLOT_SCRIPT}};

static const struct image_kind *image_kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof image_kinds / sizeof *image_kinds; i++) {
        if (mdf_ends_with(path, image_kinds[i].suffix)) {
            return &image_kinds[i];
        }
    }
    return NULL;
}

static const struct plot_kind *plot_kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof plot_kinds / sizeof *plot_kinds; i++) {
        if (mdf_ends_with(path, plot_kinds[i].suffix)) {
            return &plot_kinds[i];
        }
    }
    return NULL;
}

const char *graph_image_fault(const char *path)
{
    return image_kind_of(path) != NULL ? NULL : "must be a file .svg, .png, .pdf, .dot or .gv";
}

const char *plot_fault(const char *path)
{
    return plot_kind_of(path) != NULL ? NULL : "must be a file .svg, .png, .pdf or .gp";
}

/* ------------------------------------------------------------------ programs */

static int check_program(const char *option, const char *path, const char *program, const char *package, const char *text_suffix,
                         mdf_error *error)
{
    if (child_is_installed(program)) {
        return EXIT_DONE;
    }
    mdf_error_set(error, MDF_FILE,
                  "--%s %s needs the program %s, which is not installed (Debian's package %s); a file %s needs none", option,
                  path, program, package, text_suffix);
    mdf_error_at(error, "mdf-run", 0, 0);
    return EXIT_MODEL;
}

int check_picture_programs(const struct run_options *options, mdf_error *error)
{
    int exit_status = EXIT_DONE;

    if (options->graph_image_path != NULL && image_kind_of(options->graph_image_path)->argument != NULL) {
        exit_status = check_program("graph-image", options->graph_image_path, "dot", "graphviz", ".dot", error);
    }
    if (exit_status == EXIT_DONE && options->plot_path != NULL && plot_kind_of(options->plot_path)->format != MDF_PLOT_SCRIPT) {
        exit_status = check_program("plot", options->plot_path, "gnuplot", "gnuplot-nox", ".gp", error);
    }
    return exit_status;
}

/* Saves a text, or what the program makes of it where `arguments` is given. */
static int save(const char *const *arguments, const struct mdf_text *text, const char *path, mdf_error *error)
{
    struct mdf_text picture;
    mdf_status status = MDF_OK;

    mdf_text_init(&picture, text->memory);
    if (arguments != NULL) {
        status = run_child(arguments, text, &picture, error);
        text = &picture;
    }
    if (status == MDF_OK) {
        status = mdf_save_file(text->memory, path, text->bytes, text->length, error);
    }
    mdf_text_release(&picture);
    return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* ------------------------------------------------------------------ the graph */

int write_graph_image(struct mdf_memory *memory, const struct run_options *options, const mdf_model *model, mdf_error *error)
{
    const char *id = options->library.graph, *path = options->graph_image_path;
    const struct mdf_graph *graph = id != NULL ? mdf_model_find_graph(model, id) : mdf_model_main_graph(model);
    const struct image_kind *kind = image_kind_of(path);
    const char *const arguments[] = {"dot", kind->argument, kind->size, NULL};
    struct mdf_text dot;
    int exit_status = EXIT_MODEL;

    mdf_text_init(&dot, memory);
    if (mdf_write_dot(&dot, model, graph, options->graph_detail, error) == MDF_OK) {
        exit_status = save(kind->argument != NULL ? arguments : NULL, &dot, path, error);
    }
    mdf_text_release(&dot);
    return exit_status;
}

/* ------------------------------------------------------------------ the plot */

/* The unit that metadata name; NULL: none. */
static const char *unit_of(const struct mdf_node *source)
{
    const struct mdf_node *metadata = mdf_node_get(source, "metadata");
    const struct mdf_node *unit = metadata != NULL ? mdf_node_get(metadata, "unit") : NULL;

    unit = unit == NULL && metadata != NULL ? mdf_node_get(metadata, "units") : unit;
    return unit != NULL && unit->kind == MDF_NODE_STRING ? unit->as.string.bytes : NULL;
}

/* The unit of an output port, or of the parameter whose value it gives. */
static const char *unit_of_port(const struct mdf_graph_node *node, const char *id)
{
    const char *unit = NULL;

    for (size_t i = 0; i < node->n_output_ports && unit == NULL; i++) {
        const struct mdf_output_port *port = &node->output_ports[i];

        if (strcmp(port->id, id) != 0) {
            continue;
        }
        unit = unit_of(port->source);
        for (size_t j = 0; j < node->n_parameters && unit == NULL && port->value != NULL && port->value->kind == MDF_NODE_STRING;
             j++) {
            if (strcmp(node->parameters[j].definition.id, port->value->as.string.bytes) == 0) {
                unit = unit_of(node->parameters[j].definition.source);
            }
        }
    }
    return unit;
}

static void find_units(const struct run_report *report, const struct mdf_graph *graph, const char **units)
{
    for (size_t column = 0; column < report->ports.n_columns; column++) {
        for (size_t i = 0; i < graph->n_nodes; i++) {
            if (strcmp(graph->nodes[i].id, report->ports.columns[column].node_id) == 0) {
                units[column] = unit_of_port(&graph->nodes[i], report->ports.columns[column].port_id);
            }
        }
    }
}

int write_plot(struct mdf_memory *memory, const struct run_report *report, const mdf_model *model, mdf_error *error)
{
    static const char *const arguments[] = {"gnuplot", "--default-settings", NULL};
    const char *path = report->options->plot_path;
    const char **units = mdf_memory_allocate_zeroed(memory, report->ports.n_columns, sizeof *units);
    struct mdf_plot plot = {&report->recording, mdf_program_model_id(report->program), units, plot_kind_of(path)->format};
    int exit_status = EXIT_MODEL;
    struct mdf_text script;

    if (units == NULL) {
        mdf_memory_error(memory, error);
        return EXIT_MODEL;
    }
    find_units(report, mdf_model_find_graph(model, mdf_program_graph_id(report->program)), units);
    mdf_text_init(&script, memory);
    if (mdf_write_plot(&script, &plot, error) == MDF_OK) {
        exit_status = save(plot.format != MDF_PLOT_SCRIPT ? arguments : NULL, &script, path, error);
    }
    mdf_text_release(&script);
    mdf_memory_release(memory, units);
    return exit_status;
}
