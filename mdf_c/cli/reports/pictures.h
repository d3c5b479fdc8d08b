/* pictures.h - a model's graph (--graph-image) and a run's recorded values (--plot) as picture files. See
 * docs/decisions/pictures.md. */
#ifndef MDF_CLI_PICTURES_H
#define MDF_CLI_PICTURES_H

#include "mdf_c/cli/reports/run_report.h"

/* What is wrong with the name of such a file; NULL: nothing. */
const char *graph_image_fault(const char *path);
const char *plot_fault(const char *path);

/* Whether the programs that the wanted pictures need are there; else the error is set. */
int check_picture_programs(const struct run_options *options, mdf_error *error);
/* Draws the graph that is to be run. The file appears whole or not at all, as that of a plot. */
int write_graph_image(struct mdf_memory *memory, const struct run_options *options, const mdf_model *model, mdf_error *error);
/* Draws what was recorded. */
int write_plot(struct mdf_memory *memory, const struct run_report *report, const mdf_model *model, mdf_error *error);

#endif
