/* source_nest_few.c - the largest or smallest of up to four reals in a row, without a loop. The numbers are loaded one by one:
 * what was just stored one by one is late where vectors are loaded of it. No choice asks for NaN, which is looked for behind all.
 */
#include "mdf_c/source/nests/nest_text.h"

enum { MOST_FEW = 4, MOST_FOLDS = 4 };

/* Whether a fold has so few numbers, loaded for it alone: what they are needed for besides, or made of, would be vectors. */
static bool is_few(const struct nest_text *text, size_t step, size_t axis)
{
    const struct mdf_nest_step *fold = step_of(text, step);

    return (fold->fold == MDF_NEST_MAXIMUM || fold->fold == MDF_NEST_MINIMUM) && fold->level == axis && has_lanes(text, step) &&
           step_of(text, fold->in[0])->kind == MDF_NEST_LOAD && text->plan->n_uses[fold->in[0]] == 1 && !fold->has_start &&
           !is_whole((mdf_dtype)fold->operand_dtype) && fold->lanes >= text->nest->extents[axis];
}

const struct nest_event *nest_text_end_of_few(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event = opens + 1;
    size_t n = text->nest->extents[opens->index], n_folds = 0;

    if (n < 2 || n > MOST_FEW || is_open_axis(text, opens->index)) {
        return NULL;
    }
    for (; event->kind != NEST_CLOSE; event++) {
        bool is_fold = event->kind == NEST_TAKE && is_few(text, event->index, opens->index);

        if (!is_fold && (event->kind != NEST_COMPUTE || step_of(text, event->index)->kind == MDF_NEST_STORE)) {
            return NULL;
        }
        n_folds += is_fold;
    }
    return n_folds > 0 && n_folds <= MOST_FOLDS ? event : NULL;
}

bool nest_text_begins_few(const struct nest_text *text)
{
    const struct nest_event *event = text->event;

    for (; event != NULL && event->kind == NEST_BEGIN; event++) {
    }
    return event != NULL && event->kind == NEST_OPEN && nest_text_end_of_few(text, event) != NULL;
}

/* A helper that takes the numbers, in the order in which lanes are joined (source_nest_folds.c), where the later NaN stays. */
static const char *helper_of_few(struct nest_text *text, size_t step, size_t n)
{
    static const char letters[] = "abcd";
    static const char *const last_none[] = {
        "b != b ? b : ", "b != b ? b : c != c ? c : ", "d != d ? d : b != b ? b : c != c ? c : "};
    const struct mdf_nest_step *fold = step_of(text, step);
    const char *sign = fold->fold == MDF_NEST_MAXIMUM ? ">" : "<", *type = type_of(text, step), *arguments = "", *is_none = "",
               *name;
    struct mdf_source_writer *writer = text->writer;

    mdf_source_use(writer, "item"); /* MDF_LIKELY */
    for (size_t i = 0; i < n; i++) {
        arguments = mdf_source_text(writer, "%s%s%s %c", arguments, i > 0 ? ", " : "", type, letters[i]);
        is_none = mdf_source_text(writer, "%s%s(%c != %c)", is_none, i > 0 ? " | " : "", letters[i], letters[i]);
    }
    name = mdf_source_text(writer, "%s_of_few_%zu_%s", fold->fold == MDF_NEST_MAXIMUM ? "largest" : "smallest", n,
                           mdf_dtype_name((mdf_dtype)fold->operand_dtype));
    return mdf_source_helper(
        writer, name,
        mdf_source_text(writer,
                        "/* One of them; NaN where one is. */\n"
                        "static inline %s mdf_%s(%s)\n{\n    const %s even = %s, odd = %s, either = odd %s even ? odd : even;\n\n"
                        "    if (MDF_LIKELY((%s) == 0)) {\n        return either;\n    }\n    return %sa;\n}\n",
                        type, name, arguments, type, n > 2 ? mdf_source_text(writer, "c %s a ? c : a", sign) : "a",
                        n > 3 ? mdf_source_text(writer, "d %s b ? d : b", sign) : "b", sign, is_none, last_none[n - 2]));
}

bool nest_text_write_few(struct nest_text *text, const struct nest_event *opens)
{
    struct mdf_source_writer *writer = text->writer;
    const char *index = text->axes[opens->index].index, *numbers[MDF_NEST_MOST_STEPS] = {NULL};
    const struct nest_event *event;
    size_t n = text->nest->extents[opens->index];
    bool done = true;

    nest_text_close_group(text);
    for (size_t i = 0; i < n; i++) {
        text->axes[opens->index].index = mdf_source_text(writer, "%zu", i);
        for (event = opens + 1; done && event->kind != NEST_CLOSE; event++) {
            if (event->kind == NEST_TAKE) {
                const char *number = mdf_source_name(writer, &writer->locals, "number"), *before = numbers[event->index];

                mdf_source_line(writer, "const %s %s = %s;", type_of(text, event->index), number,
                                nest_text_operand(text, step_of(text, event->index)->in[0]));
                numbers[event->index] = before == NULL ? number : mdf_source_text(writer, "%s, %s", before, number);
            } else {
                done = nest_text_compute(text, event->index);
            }
        }
    }
    text->axes[opens->index].index = index;
    for (event = opens + 1; done && event->kind != NEST_CLOSE; event++) {
        if (event->kind == NEST_TAKE) {
            mdf_source_line(writer, "const %s %s = %s(%s);", type_of(text, event->index), text->registers[event->index].total,
                            helper_of_few(text, event->index, n), numbers[event->index]);
        } else {
            text->registers[event->index].name = NULL;
        }
    }
    return done;
}
