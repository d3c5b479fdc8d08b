/* yaml_outline.h - the text of a YAML file with one word in place of each long run of numbers.
 *
 * libyaml takes far longer over a token than it takes to read a number. A run is what stands between the brackets of a list of
 * plain numbers, or of lists of them ("[1.5, -2]", "[[1, 2], [3, 4]]"), or the lines of a block list of them from the first
 * number on
 * ("- 1.5\n  - -2"). All that can be seen here is how a run looks, not whether it is such a list: the same characters may stand
 * in a comment, in quotes, in a block of text. libyaml decides that. Where the word comes out of it as a scalar of its own,
 * directly in a list, the characters of the run would have come out as the items of that list: it was in the state in which an
 * item is expected, and each character of the run is then read in one way only (docs/decisions/yaml-and-bson.md). Where each word
 * of the outline comes out so, the outline stands for the file. Where one does not, or where anything is wrong with the file, it
 * must be read as it is. */
#ifndef MDF_DOCUMENT_YAML_OUTLINE_H
#define MDF_DOCUMENT_YAML_OUTLINE_H

#include "mdf_c/document/tree_builder.h"

/* Stands for a run; a file that has it is not outlined. */
#define MDF_YAML_RUN_WORD "~run~of~numbers"

struct mdf_yaml_run {
    const char *begin, *end; /* in the file */
};

struct mdf_yaml_outline {
    struct mdf_text text;
    struct mdf_yaml_run *runs;
    size_t n_runs, capacity;
};

/* Makes the outline of a file; false where it is not worth it, or memory ran out (no error is set). To be released in both cases.
 */
bool mdf_yaml_outline_make(struct mdf_memory *memory, const char *bytes, size_t size_bytes, struct mdf_yaml_outline *outline);
void mdf_yaml_outline_release(struct mdf_yaml_outline *outline);

/* Adds the numbers of a run to the list that is open. *line and *column are those of its beginning, and then those of its end. */
bool mdf_yaml_run_add(struct mdf_tree *tree, const struct mdf_yaml_run *run, uint32_t *line, uint32_t *column);

#endif
