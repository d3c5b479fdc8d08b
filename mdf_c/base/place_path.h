/* place_path.h - the path of a place in a model, "graph 'g', node 'n'", as errors tell it. */
#ifndef MDF_BASE_PLACE_PATH_H
#define MDF_BASE_PLACE_PATH_H

#include <stddef.h>

/* Adds what 'id' to the path, which has room for `size` bytes: cut after a whole character where there is no room, and in front of
 * what is no UTF-8. Returns the length before, where the path is cut off again when the place is left. */
size_t mdf_place_path_enter(char *path, size_t size, const char *what, const char *id);

#endif
