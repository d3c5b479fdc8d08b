/* progress_bar.c - see progress_bar.h. Without --progress the bar appears on a terminal only, and only in runs that have
 * taken a second. */
#include "mdf_c/cli/reports/progress_bar.h"

#include "mdf_c/base/stop.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };

static const double first_s = 1.0, interval_s = 0.1;

void start_progress(struct progress_bar *bar, enum progress wish, double n_total)
{
    bar->enabled = wish == PROGRESS_ON || (wish == PROGRESS_AUTOMATIC && isatty(STDERR_FILENO));
    bar->visible = false;
    bar->n_total = n_total;
    bar->start_s = bar->enabled ? mdf_clock_s() : 0;
    bar->next_s = bar->start_s + (wish == PROGRESS_ON ? 0 : first_s);
}

void show_progress(struct progress_bar *bar, double n_done)
{
    double now_s = bar->enabled ? mdf_clock_s() : 0,
           share = bar->n_total > 0 ? n_done / bar->n_total : 1; /* of nothing all is done */
    int n_marks = (int)(share * BAR_WIDTH), i;

    if (!bar->enabled || now_s < bar->next_s) {
        return;
    }
    bar->next_s = now_s + interval_s;
    bar->visible = true;
    fputs("\r[", stderr);
    for (i = 0; i < BAR_WIDTH; i++) {
        fputc(i < n_marks ? '#' : ' ', stderr);
    }
    fprintf(stderr, "] %3d %%  %.0f s left ", (int)(share * 100), n_done > 0 ? (now_s - bar->start_s) * (1 / share - 1) : 0);
    fflush(stderr);
}

void end_progress(struct progress_bar *bar)
{
    if (bar->visible) {
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 30, "");
    }
    bar->visible = false;
}
