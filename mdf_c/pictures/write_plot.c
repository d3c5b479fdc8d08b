/* write_plot.c - a recording as a script for gnuplot. See write_plot.h.
 *
 * What holds afterwards: names of the model stand between single quotes only, where gnuplot reads nothing but the end of the
 * quote: no name can become a command. Data stand in the script, so that it needs no other file.
 *
 * Each column of the recording is looked at first (how many numbers, are there any); columns that show something are put together
 * to panels; then each panel is written: its data, then the command that draws them. */
#include "mdf_c/pictures/write_plot.h"

#include "mdf_c/pictures/drawn_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MOST_LINES = 10,       /* of one panel; an array with more numbers is drawn in colours */
    MOST_STRETCHES = 1000, /* points in time that are told apart */
    MOST_ROWS = 256,       /* numbers of an array that are told apart */
    MOST_PANELS = 120,
    MOST_NAME = 32,     /* characters */
    FEW_STEPS = 60,     /* so few that each is marked by a dot */
    PANEL_HEIGHT = 200, /* pixels, as the widths */
    TITLE_HEIGHT = 40,
    WIDE_PANEL = 960,
    NARROW_PANEL = 640
};

/* What stands for a single quote: gnuplot has '' for it, but reads it otherwise at the ends of a text. */
#define QUOTE "\xe2\x80\x99"

/* What is drawn of a column. */
struct track {
    size_t n_numbers; /* the most that a value has; 0: nothing is drawn */
    bool is_bool;
    size_t rank;      /* of the first value */
    int64_t shape[4]; /* where rank <= 4 */
};

/* Columns that share a panel: from `first` on, without those of which nothing is drawn. */
struct panel {
    size_t first, end;
    bool in_colors;
};

struct plotter {
    struct mdf_text *script;
    const struct mdf_plot *plot;
    struct track *tracks;
    struct panel *panels;
    size_t n_panels, n_panels_in_all;
    size_t stretch; /* steps that fall together */
    bool has_times;
};

/* ------------------------------------------------------------------ texts */

/* Appends a name for use between single quotes, cut where it is overlong. */
static void add_name(struct mdf_text *script, const char *name)
{
    size_t length = strlen(name), shown = mdf_drawn_clip(name, length, MOST_NAME), i, n;
    const char *instead;

    for (i = 0; i < shown; i += n) {
        n = mdf_drawn_character(name + i, length - i, &instead);
        instead = name[i] == '\'' ? QUOTE : instead;
        if (instead != NULL) {
            mdf_text_append_string(script, instead);
            continue;
        }
        if (i >= 2 && memcmp(name + i - 2, "]]>", 3) == 0) {
            mdf_text_append(script, " ", 1); /* gnuplot writes "]]>" into SVG as it is, where it may not stand */
        }
        mdf_text_append(script, name + i, n);
    }
    mdf_text_append_string(script, shown < length ? MDF_DRAWN_ELLIPSIS : "");
}

/* Appends a number as gnuplot reads it; what is not finite leaves a gap. */
static void add_number(struct mdf_text *script, double number)
{
    if (isfinite(number)) {
        mdf_text_printf(script, "%.12g", number); /* more than any picture shows */
    } else {
        mdf_text_append_string(script, "NaN");
    }
}

/* ------------------------------------------------------------------ columns */

static bool is_drawn(const struct mdf_value *value)
{
    char kind = value->kind == MDF_KIND_TENSOR ? mdf_dtype_kind((mdf_dtype)value->dtype) : '?';

    return kind == 'b' || kind == 'i' || kind == 'u' || kind == 'f';
}

/* Number `index` of an array; NaN where it has none. */
static double number_at(const struct mdf_value *value, size_t index)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;

    return is_drawn(value) && index < value->length
               ? mdf_element_to_double(dtype, (const char *)value->data + index * mdf_dtype_size(dtype))
               : (double)NAN;
}

/* Whether a value has a number that can be drawn: a panel without one would be an error to gnuplot. */
static bool has_finite(const struct mdf_value *value)
{
    size_t i;

    for (i = 0; i < value->length && !isfinite(number_at(value, i)); i++) {
    }
    return i < value->length;
}

static struct track look_at(const struct mdf_recording *recording, size_t column)
{
    struct track track = {0};
    bool any_finite = false;

    for (size_t step = 0; step < recording->n_steps; step++) {
        struct mdf_value value = mdf_recording_value(recording, step, column);

        if (!is_drawn(&value)) {
            continue;
        }
        if (track.n_numbers == 0) {
            track.is_bool = mdf_dtype_kind((mdf_dtype)value.dtype) == 'b';
            track.rank = value.rank;
            if (value.rank > 0 && value.rank <= 4) {
                memcpy(track.shape, mdf_value_shape(&value), value.rank * sizeof *track.shape);
            }
        }
        track.n_numbers = value.length > track.n_numbers ? value.length : track.n_numbers;
        any_finite = any_finite || has_finite(&value);
    }
    track.n_numbers = any_finite ? track.n_numbers : 0;
    return track;
}

/* ------------------------------------------------------------------ panels */

static bool same_unit(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether a column can join the panel of one before it, which has `n_lines` already. */
static bool share_panel(const struct plotter *plotter, size_t a, size_t b, size_t n_lines)
{
    return plotter->tracks[b].n_numbers <= MOST_LINES && n_lines <= MOST_LINES - plotter->tracks[b].n_numbers &&
           plotter->tracks[a].is_bool == plotter->tracks[b].is_bool &&
           plotter->plot->recording->columns[a].node == plotter->plot->recording->columns[b].node &&
           same_unit(plotter->plot->units[a], plotter->plot->units[b]);
}

static void list_panels(struct plotter *plotter)
{
    const struct mdf_recording *recording = plotter->plot->recording;
    size_t last = SIZE_MAX, n_lines = 0;

    for (size_t column = 0; column < recording->n_columns; column++) {
        plotter->tracks[column] = look_at(recording, column);
        if (plotter->tracks[column].n_numbers == 0) {
            continue;
        }
        if (last == SIZE_MAX || !share_panel(plotter, last, column, n_lines)) {
            n_lines = 0;
            plotter->panels[plotter->n_panels++] =
                (struct panel){.first = column, .in_colors = plotter->tracks[column].n_numbers > MOST_LINES};
        }
        plotter->panels[plotter->n_panels - 1].end = column + 1;
        n_lines += plotter->tracks[column].n_numbers < MOST_LINES ? plotter->tracks[column].n_numbers : MOST_LINES;
        last = column;
    }
    plotter->n_panels_in_all = plotter->n_panels;
    plotter->n_panels = plotter->n_panels < MOST_PANELS ? plotter->n_panels : MOST_PANELS;
}

/* ------------------------------------------------------------------ data */

static double time_of(const struct plotter *plotter, size_t step)
{
    return plotter->has_times ? plotter->plot->recording->times[step] : (double)step + 1;
}

static void add_point(struct plotter *plotter, size_t step, double number)
{
    add_number(plotter->script, time_of(plotter, step));
    mdf_text_append(plotter->script, " ", 1);
    add_number(plotter->script, number);
    mdf_text_append(plotter->script, "\n", 1);
}

/* The least and the greatest number of a stretch, in the order of their steps; of a single step its number. */
static void add_stretch(struct plotter *plotter, size_t column, size_t index, size_t first, size_t end)
{
    double least = NAN, greatest = NAN, number;
    size_t least_step = first, greatest_step = first;

    for (size_t step = first; step < end; step++) {
        struct mdf_value value = mdf_recording_value(plotter->plot->recording, step, column);

        number = number_at(&value, index);
        if (isfinite(number) && !(number >= least)) {
            least = number;
            least_step = step;
        }
        if (isfinite(number) && !(number <= greatest)) {
            greatest = number;
            greatest_step = step;
        }
    }
    if (least_step < greatest_step) {
        add_point(plotter, least_step, least);
    }
    add_point(plotter, greatest_step, greatest);
    if (least_step > greatest_step) {
        add_point(plotter, least_step, least);
    }
}

static void add_line_data(struct plotter *plotter, size_t column, size_t index)
{
    size_t n_steps = plotter->plot->recording->n_steps;

    mdf_text_printf(plotter->script, "$line_%zu_%zu << EOD\n", column, index);
    for (size_t step = 0; step < n_steps; step += plotter->stretch) {
        add_stretch(plotter, column, index, step, n_steps - step > plotter->stretch ? step + plotter->stretch : n_steps);
    }
    mdf_text_append_string(plotter->script, "EOD\n");
}

/* The mean over a stretch of time and over neighbouring numbers of an array. */
static double mean_of(const struct plotter *plotter, size_t column, size_t first_step, size_t first_number, size_t n_together)
{
    const struct mdf_recording *recording = plotter->plot->recording;
    size_t n_steps = recording->n_steps - first_step, n = 0;
    double sum = 0;

    n_steps = n_steps < plotter->stretch ? n_steps : plotter->stretch;
    for (size_t step = first_step; step < first_step + n_steps; step++) {
        struct mdf_value value = mdf_recording_value(recording, step, column);

        for (size_t i = first_number; i < first_number + n_together; i++) {
            double number = number_at(&value, i);

            if (isfinite(number)) {
                sum += number;
                n++;
            }
        }
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

static void add_color_data(struct plotter *plotter, size_t column)
{
    size_t n_numbers = plotter->tracks[column].n_numbers, n_together = (n_numbers - 1) / MOST_ROWS + 1, first, step;

    mdf_text_printf(plotter->script, "$colors_%zu << EOD\n", column);
    for (first = 0; first < n_numbers && !plotter->script->failed; first += n_together) {
        for (step = 0; step < plotter->plot->recording->n_steps; step += plotter->stretch) {
            add_number(plotter->script, time_of(plotter, step));
            mdf_text_printf(plotter->script, " %zu ", first);
            add_number(plotter->script, mean_of(plotter, column, step, first, n_together));
            mdf_text_append(plotter->script, "\n", 1);
        }
    }
    mdf_text_append_string(plotter->script, "EOD\n");
}

/* ------------------------------------------------------------------ commands */

/* "port[1][0]": the name of a line. */
static void add_line_name(struct plotter *plotter, size_t column, size_t index)
{
    const struct track *track = &plotter->tracks[column];
    size_t block = track->n_numbers;

    add_name(plotter->script, plotter->plot->recording->columns[column].port_id);
    if (track->rank > 4) {
        mdf_text_printf(plotter->script, "[%zu]", index);
        return;
    }
    for (size_t i = 0; i < track->rank; i++) {
        block /= track->shape[i] > 0 ? (size_t)track->shape[i] : 1;
        mdf_text_printf(plotter->script, "[%zu]", block > 0 ? index / block : index);
        index = block > 0 ? index % block : 0;
    }
}

static void draw_lines(struct plotter *plotter, const struct panel *panel)
{
    const char *style = plotter->plot->recording->n_steps <= FEW_STEPS ? "linespoints pointtype 7 pointsize 0.4" : "lines";
    size_t n = 0;

    for (size_t column = panel->first; column < panel->end; column++) {
        for (size_t i = 0; i < plotter->tracks[column].n_numbers; i++) {
            add_line_data(plotter, column, i);
        }
    }
    mdf_text_append_string(plotter->script, "plot ");
    for (size_t column = panel->first; column < panel->end; column++) {
        for (size_t i = 0; i < plotter->tracks[column].n_numbers; i++) {
            mdf_text_printf(plotter->script, "%s$line_%zu_%zu using 1:2 with %s linetype %zu title '", n > 0 ? ", \\\n     " : "",
                            column, i, plotter->tracks[column].is_bool ? "steps" : style, n % MOST_LINES + 1);
            add_line_name(plotter, column, i);
            mdf_text_append_string(plotter->script, "'");
            n++;
        }
    }
    mdf_text_append_string(plotter->script, "\n");
}

static void draw_colors(struct plotter *plotter, const struct panel *panel)
{
    size_t n_numbers = plotter->tracks[panel->first].n_numbers;

    add_color_data(plotter, panel->first);
    mdf_text_append_string(plotter->script, "set ylabel '");
    add_name(plotter->script, plotter->plot->recording->columns[panel->first].port_id);
    mdf_text_printf(plotter->script, "'\nset yrange [-0.5:%zu.5]\nplot $colors_%zu using 1:2:3 with image notitle\n",
                    n_numbers - 1, panel->first);
}

static void draw_panel(struct plotter *plotter, const struct panel *panel, bool is_last)
{
    const char *unit = plotter->plot->units[panel->first];
    bool is_bool = plotter->tracks[panel->first].is_bool && !panel->in_colors;

    mdf_text_append_string(plotter->script, "\nset title '");
    add_name(plotter->script, plotter->plot->recording->columns[panel->first].node_id);
    mdf_text_printf(plotter->script, "'\nset xlabel '%s'\nset %s '",
                    !is_last             ? ""
                    : plotter->has_times ? "time"
                                         : "step",
                    panel->in_colors ? "cblabel" : "ylabel");
    add_name(plotter->script, unit != NULL ? unit : "");
    mdf_text_printf(plotter->script, "'\nset yrange %s\n", is_bool ? "[-0.1:1.1]" : "[*:*]");
    if (panel->in_colors) {
        draw_colors(plotter, panel);
    } else {
        draw_lines(plotter, panel);
    }
}

/* Panels side by side: the more there are. */
static size_t n_beside(const struct plotter *plotter)
{
    return plotter->n_panels <= 6 ? 1 : plotter->n_panels <= 24 ? 2 : 4;
}

static void begin_picture(struct plotter *plotter)
{
    size_t beside = n_beside(plotter), rows = (plotter->n_panels - 1) / beside + 1;
    size_t width = beside * (beside == 1 ? WIDE_PANEL : NARROW_PANEL), height = rows * PANEL_HEIGHT + TITLE_HEIGHT;

    mdf_text_append_string(plotter->script, "set encoding utf8\n");
    switch (plotter->plot->format) {
    case MDF_PLOT_SVG:
        mdf_text_printf(plotter->script, "set terminal svg size %zu,%zu noenhanced font 'Helvetica,12' background '#ffffff'\n",
                        width, height);
        break;
    case MDF_PLOT_PNG:
        mdf_text_printf(plotter->script, "set terminal pngcairo size %zu,%zu noenhanced font 'Helvetica,10'\n", width, height);
        break;
    case MDF_PLOT_PDF:
        mdf_text_printf(plotter->script, "set terminal pdfcairo size %.2fin,%.2fin noenhanced font 'Helvetica,9'\n",
                        (double)width / 96, (double)height / 96);
        break;
    case MDF_PLOT_SCRIPT:
        mdf_text_append_string(plotter->script, "set termoption noenhanced\n");
        break;
    }
    mdf_text_printf(plotter->script, "set multiplot layout %zu,%zu title '", rows, beside);
    add_name(plotter->script, plotter->plot->title);
    if (plotter->n_panels < plotter->n_panels_in_all) {
        mdf_text_printf(plotter->script, " (the first %zu of %zu panels: choose ports with --record)", plotter->n_panels,
                        plotter->n_panels_in_all);
    }
    mdf_text_append_string(plotter->script, "'\n");
}

static void set_style(struct plotter *plotter)
{
    static const char *const colors[MOST_LINES] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd",
                                                   "#17becf", "#8c564b", "#e377c2", "#bcbd22", "#7f7f7f"};

    for (size_t i = 0; i < MOST_LINES; i++) {
        mdf_text_printf(plotter->script, "set linetype %zu linecolor rgb '%s' linewidth 1.5\n", i + 1, colors[i]);
    }
    mdf_text_append_string(plotter->script,
                           "set border 3 linecolor rgb '#888888'\n"
                           "set tics nomirror textcolor rgb '#444444'\n"
                           "set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 0.7\n"
                           "set key at graph 1.02, graph 1 left top Left reverse samplen 1.5 spacing 0.9 maxcols 1\n"
                           "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
                           "set colorbox user origin graph 1.02, graph 0 size graph 0.02, graph 1\n"
                           "set lmargin 11\n"
                           "set bmargin 3\n"
                           "set rmargin 22\n"
                           "set autoscale xfix\n");
}

static mdf_status write_script(struct plotter *plotter, mdf_error *error)
{
    if (plotter->n_panels == 0) {
        return mdf_error_set(error, MDF_VALUE, "--plot: no recorded port holds real numbers: there is nothing to draw");
    }
    begin_picture(plotter);
    set_style(plotter);
    for (size_t i = 0; i < plotter->n_panels && !plotter->script->failed; i++) {
        draw_panel(plotter, &plotter->panels[i], i + n_beside(plotter) >= plotter->n_panels);
    }
    mdf_text_append_string(plotter->script, "\nunset multiplot\n");
    return plotter->script->failed ? mdf_memory_error(plotter->script->memory, error) : MDF_OK;
}

mdf_status mdf_write_plot(struct mdf_text *script, const struct mdf_plot *plot, mdf_error *error)
{
    const struct mdf_recording *recording = plot->recording;
    struct plotter plotter = {.script = script, .plot = plot};
    mdf_status status;

    plotter.stretch = recording->n_steps > MOST_STRETCHES ? (recording->n_steps - 1) / MOST_STRETCHES + 1 : 1;
    plotter.has_times = recording->n_steps > 0 && !isnan(recording->times[0]);
    plotter.tracks = mdf_memory_allocate_zeroed(script->memory, recording->n_columns, sizeof *plotter.tracks);
    plotter.panels = mdf_memory_allocate_zeroed(script->memory, recording->n_columns, sizeof *plotter.panels);
    if (plotter.tracks == NULL || plotter.panels == NULL) {
        status = mdf_memory_error(script->memory, error);
    } else {
        list_panels(&plotter);
        status = write_script(&plotter, error);
    }
    mdf_memory_release(script->memory, plotter.tracks);
    mdf_memory_release(script->memory, plotter.panels);
    return status;
}
