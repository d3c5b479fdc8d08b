/* completion.c - see completion.h. What follows an option is completed with its words, with files where it may be a file, or with
 * nothing. */
#include "mdf_c/cli/completion.h"

#include <string.h>

const char *const completion_shells[] = {"bash", "zsh", "fish", NULL};

/* What may stand behind an option. */
enum follower { FOLLOWS_NOTHING, FOLLOWS_WORD, FOLLOWS_FILE, FOLLOWS_OTHER };

static enum follower follower_of(const struct option_row *row)
{
    switch (row->argument) {
    case ARGUMENT_FLAG:
    case ARGUMENT_CHOICE:
    case ARGUMENT_JSON:
    case ARGUMENT_OPTIONAL:
    case ARGUMENT_HELP:
    case ARGUMENT_VERSION:
    case ARGUMENT_PAGE:
        return FOLLOWS_NOTHING;
    case ARGUMENT_WORD:
    case ARGUMENT_COLOR:
    case ARGUMENT_COMPLETION:
        return FOLLOWS_WORD;
    case ARGUMENT_TEXT:
    case ARGUMENT_TEXTS:
        return FOLLOWS_FILE;
    case ARGUMENT_COUNT:
    case ARGUMENT_INTEGER:
    case ARGUMENT_BYTES:
    case ARGUMENT_SECONDS:
    case ARGUMENT_REAL:
    case ARGUMENT_POSITIVE:
        return FOLLOWS_OTHER;
    }
    return FOLLOWS_OTHER;
}

/* "_mdf_run" of "mdf-run". */
static void append_function(struct mdf_text *text, const char *program)
{
    mdf_text_append_string(text, "_");
    for (; *program != '\0'; program++) {
        mdf_text_append(text, *program == '-' ? "_" : program, 1);
    }
}

static void append_words(struct mdf_text *text, const struct option_row *row)
{
    for (size_t i = 0; row->words[i] != NULL; i++) {
        mdf_text_printf(text, "%s%s", i > 0 ? " " : "", row->words[i]);
    }
}

/* "--output|-o" */
static void append_bash_pattern(struct mdf_text *text, const struct option_row *row)
{
    mdf_text_printf(text, "--%s", row->name);
    if (row->letter != '\0') {
        mdf_text_printf(text, "|-%c", row->letter);
    }
}

static void write_bash(struct mdf_text *text, const struct command_line *line)
{
    mdf_text_printf(text, "# bash completion for %s; made by %s --completion bash\n", line->program, line->program);
    append_function(text, line->program);
    mdf_text_append_string(text, "()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n\n    case $before in\n");
    for (size_t i = 0; i < line->n_rows; i++) {
        const struct option_row *row = &line->rows[i];
        enum follower follower = follower_of(row);

        if (follower == FOLLOWS_NOTHING) {
            continue;
        }
        mdf_text_append_string(text, "    ");
        append_bash_pattern(text, row);
        mdf_text_append_string(text, ") ");
        if (follower == FOLLOWS_WORD) {
            mdf_text_append_string(text, "mapfile -t COMPREPLY < <(compgen -W \"");
            append_words(text, row);
            mdf_text_append_string(text, "\" -- \"$word\")");
        } else if (follower == FOLLOWS_FILE) {
            mdf_text_append_string(text, "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")");
        } else {
            mdf_text_append_string(text, "COMPREPLY=()");
        }
        mdf_text_append_string(text, "; return;;\n");
    }
    mdf_text_append_string(text, "    esac\n    if [[ $word == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"");
    for (size_t i = 0; i < line->n_rows; i++) {
        mdf_text_printf(text, "%s--%s", i > 0 ? " " : "", line->rows[i].name);
    }
    mdf_text_append_string(text, "\" -- \"$word\")\n    else\n        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n"
                                 "complete -o filenames -F ");
    append_function(text, line->program);
    mdf_text_printf(text, " %s\n", line->program);
}

static void append_zsh_row(struct mdf_text *text, const struct option_row *row)
{
    enum follower follower = follower_of(row);
    const char *repeats = row->argument == ARGUMENT_TEXTS ? "*" : "";

    if (row->letter != '\0' && *repeats == '\0') {
        mdf_text_printf(text, " \\\n    '(-%c --%s)'{-%c,--%s}'", row->letter, row->name, row->letter, row->name);
    } else if (row->letter != '\0') {
        mdf_text_printf(text, " \\\n    '*'{-%c,--%s}'", row->letter, row->name);
    } else {
        mdf_text_printf(text, " \\\n    '%s--%s", repeats, row->name);
    }
    if (follower == FOLLOWS_WORD) {
        mdf_text_printf(text, ":%s:(", row->name);
        append_words(text, row);
        mdf_text_append_string(text, ")");
    } else if (follower == FOLLOWS_FILE) {
        mdf_text_printf(text, ":%s:_files", row->name);
    } else if (follower == FOLLOWS_OTHER) {
        mdf_text_printf(text, ":%s:", row->name);
    }
    mdf_text_append_string(text, "'");
}

static void write_zsh(struct mdf_text *text, const struct command_line *line)
{
    mdf_text_printf(text, "#compdef %s\n# made by %s --completion zsh\n_arguments -s", line->program, line->program);
    for (size_t i = 0; i < line->n_rows; i++) {
        append_zsh_row(text, &line->rows[i]);
    }
    mdf_text_append_string(text, " \\\n    '*:file:_files'\n");
}

static void write_fish(struct mdf_text *text, const struct command_line *line)
{
    mdf_text_printf(text, "# fish completion for %s; made by %s --completion fish\n", line->program, line->program);
    for (size_t i = 0; i < line->n_rows; i++) {
        const struct option_row *row = &line->rows[i];
        enum follower follower = follower_of(row);

        mdf_text_printf(text, "complete -c %s -l %s", line->program, row->name);
        if (row->letter != '\0') {
            mdf_text_printf(text, " -s %c", row->letter);
        }
        if (follower == FOLLOWS_WORD) {
            mdf_text_append_string(text, " -x -a '");
            append_words(text, row);
            mdf_text_append_string(text, "'");
        } else {
            mdf_text_append_string(text, follower == FOLLOWS_FILE ? " -r -F" : follower == FOLLOWS_OTHER ? " -x" : "");
        }
        mdf_text_append_string(text, "\n");
    }
}

bool write_completion(struct mdf_text *text, const struct command_line *line, const char *shell)
{
    static void (*const writers[])(struct mdf_text * text, const struct command_line *line) = {write_bash, write_zsh, write_fish};

    for (size_t i = 0; completion_shells[i] != NULL; i++) {
        if (strcmp(completion_shells[i], shell) == 0) {
            writers[i](text, line);
            return true;
        }
    }
    return false;
}
