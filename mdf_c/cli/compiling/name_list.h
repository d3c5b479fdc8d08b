/* name_list.h - lists of names in options: NAME,NAME,... */
#ifndef MDF_CLI_NAME_LIST_H
#define MDF_CLI_NAME_LIST_H

#include "mdf_c/base/arena.h"

/* The names of a list, which lie in the arena with it; empty ones are left out. NULL: memory was refused. */
const char **read_name_list(struct mdf_arena *arena, const char *text, size_t *n);

#endif
