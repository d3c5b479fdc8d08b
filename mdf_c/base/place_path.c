/* place_path.c - see place_path.h. Every node, port and function that is read or compiled is entered: there is no printf in it.
 */
#include "mdf_c/base/place_path.h"

#include "mdf_c/base/utf8.h"

#include <string.h>

static size_t put(char *path, size_t used, size_t size, const char *text)
{
    size_t length = strlen(text), room = size - 1 - used;

    length = length < room ? length : room;
    memcpy(path + used, text, length);
    return used + length;
}

size_t mdf_place_path_enter(char *path, size_t size, const char *what, const char *id)
{
    size_t before = strlen(path), used = before;

    used = put(path, used, size, used > 0 ? ", " : "");
    used = put(path, used, size, what);
    used = put(path, used, size, " '");
    used = put(path, used, size, id);
    used = put(path, used, size, "'");
    path[before + mdf_utf8_valid_length(path + before, used - before)] = '\0';
    return before;
}
