/* source_nest_parts.c - a nest as C, as one or in parts: rows in groups (nest_rows.h), and pieces of an axis (nest_pieces.h). */
#include "mdf_c/source/nests/nest_pieces.h"
#include "mdf_c/source/nests/nest_rows.h"
#include "mdf_c/source/nests/nest_text.h"

static bool write_part(struct mdf_source_writer *writer, const struct mdf_lowered_nest *rows)
{
    struct nest_plan plan;
    struct nest_text text = {.writer = writer, .nest = rows, .plan = &plan};

    nest_plan_make(&plan, rows, mdf_source_live_steps(writer, rows));
    return nest_text_write(&text);
}

/* Rows of an axis in groups, and those that are left. */
static bool write_rows(struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest, size_t axis)
{
    struct mdf_lowered_nest rows = *nest;
    bool done;

    rows.steps = mdf_arena_array(&writer->arena, MDF_NEST_MOST_STEPS, sizeof *rows.steps);
    if (rows.steps == NULL) {
        return false;
    }
    nest_rows_together(nest, axis, &rows);
    done = write_part(writer, &rows);
    if (nest_rows_rest(nest, axis, &rows)) {
        done = done && write_part(writer, &rows);
    }
    return done;
}

/* A nest that is in no pieces. */
static bool write_whole(struct mdf_source_writer *writer, struct mdf_lowered_nest *nest, struct nest_text *text)
{
    struct nest_plan plan;
    size_t axis;

    nest_plan_make(&plan, nest, mdf_source_live_steps(writer, nest));
    text->plan = &plan;
    axis = nest_rows_axis(&plan);
    return axis < nest->n_axes ? write_rows(writer, nest, axis) : nest_text_write(text);
}

/* One of the pieces of an axis: what is found where it begins is known, and its places are in range. */
static bool write_piece(struct mdf_source_writer *writer, const struct nest_pieces *pieces, const struct nest_piece *piece)
{
    struct nest_plan plan;
    struct nest_text text = {.writer = writer, .nest = &piece->nest, .plan = &plan, .first = piece->from};
    bool done;

    mdf_source_open(writer, "if (%s < %s)", piece->from, piece->to);
    text.count = mdf_source_name(writer, &writer->locals, "count");
    mdf_source_line(writer, "const size_t %s = %s - %s;", text.count, piece->to, piece->from);
    mdf_source_blank(writer);
    for (size_t i = 0; i < piece->nest.n_steps; i++) {
        text.registers[i].place = piece->places[i] != MDF_NEST_NONE ? pieces->lines[piece->places[i]].begin : NULL;
    }
    nest_plan_make(&plan, &piece->nest, mdf_source_live_steps(writer, &piece->nest));
    done = nest_text_write(&text);
    mdf_source_free_name(writer, &writer->locals, text.count);
    mdf_source_close(writer);
    return done;
}

/* In pieces where all of their places are in range, else as it stands. */
static bool write_pieces(struct mdf_source_writer *writer, struct mdf_lowered_nest *nest, const struct nest_pieces *pieces)
{
    struct nest_text text = {.writer = writer, .nest = nest};
    bool done = true;

    mdf_source_open(writer, "if (%s)", pieces->condition);
    for (size_t i = 0; done && i < pieces->n; i++) {
        done = write_piece(writer, pieces, &pieces->all[i]);
    }
    mdf_source_close(writer);
    mdf_source_open(writer, "else");
    done = done && write_whole(writer, nest, &text);
    mdf_source_close(writer);
    mdf_source_close(writer);
    return done;
}

bool mdf_source_write_nest(struct mdf_source_writer *writer, const struct mdf_lowered_nest *lowered)
{
    struct mdf_lowered_nest sized = *lowered;
    struct nest_text text = {.writer = writer, .nest = &sized};
    struct mdf_nest_set live = mdf_source_live_steps(writer, &sized);
    struct nest_pieces *pieces;

    if (mdf_nest_set_is_empty(&live)) {
        return true;
    }
    if (sized.is_open && !nest_text_open_extent(&text, &sized)) {
        return false;
    }
    if (!nest_pieces_make(writer, &sized, &pieces)) {
        return false;
    }
    return pieces != NULL ? write_pieces(writer, &sized, pieces) : write_whole(writer, &sized, &text);
}
