/* name_list.c - see name_list.h. */
#include "mdf_c/cli/compiling/name_list.h"

#include <string.h>

const char **read_name_list(struct mdf_arena *arena, const char *text, size_t *n)
{
    const char **names = mdf_arena_array(arena, strlen(text) + 1, sizeof *names);
    size_t length;

    for (*n = 0; names != NULL && *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (length == 0) {
            continue;
        }
        names[*n] = mdf_arena_text(arena, text, length);
        if (names[(*n)++] == NULL) {
            return NULL;
        }
    }
    return names;
}
