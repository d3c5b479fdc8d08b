/* progress_bar.h - how far a run is, as a bar on standard error. */
#ifndef MDF_CLI_PROGRESS_BAR_H
#define MDF_CLI_PROGRESS_BAR_H

#include "mdf_c/cli/options.h"

struct progress_bar {
    bool enabled, visible;
    double n_total;
    double start_s, next_s; /* when it began; when it is drawn next */
};

void start_progress(struct progress_bar *bar, enum progress wish, double n_total);
void show_progress(struct progress_bar *bar, double n_done);
/* Takes the bar away. */
void end_progress(struct progress_bar *bar);

#endif
