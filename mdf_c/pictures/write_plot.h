/* write_plot.h - recorded values over time as a picture, in the language of gnuplot.
 *
 * Comes in: a recording. Goes out: a script, with its data in it, for the program gnuplot, which writes the picture to standard
 * output. */
#ifndef MDF_PICTURES_WRITE_PLOT_H
#define MDF_PICTURES_WRITE_PLOT_H

#include "mdf_c/values/values.h"

/* What gnuplot makes of it. */
enum mdf_plot_format {
    MDF_PLOT_SVG,
    MDF_PLOT_PNG,
    MDF_PLOT_PDF,
    MDF_PLOT_SCRIPT /* nothing yet: the script names no kind of picture, and shows on the screen */
};

struct mdf_plot {
    const struct mdf_recording *recording;
    const char *title;
    const char *const *units; /* of each column; NULL entries: none */
    enum mdf_plot_format format;
};

/* Appends the script: a panel for each node and unit, with a line for each number of its ports; an array of many numbers has a
 * panel of its own, in which colour stands for the value. The horizontal axis is time, or the number of the step where steps have
 * no time. What holds no real numbers is left out; MDF_VALUE where nothing is left. Long recordings are thinned to what the eye
 * can tell apart: of each short stretch of time a line keeps the least and the greatest value. */
mdf_status mdf_write_plot(struct mdf_text *script, const struct mdf_plot *plot, mdf_error *error);

#endif
