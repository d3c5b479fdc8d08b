/* error.h - setting and extending the caller's mdf_error. The first error wins; position and path are filled in
 * by whoever knows them while the error travels up, never overwritten. All functions take a NULL error. What a file says may be in
 * the texts: control characters become visible (mdf_c/base/utf8.h), so that an error is one line and harmless to a terminal. */
#ifndef MDF_BASE_ERROR_H
#define MDF_BASE_ERROR_H

#include "mdf_c/base/printf_like.h"
#include "mdf_c/mdf.h"

#include <stdarg.h>
#include <stddef.h>

/* Sets code and message where none is set; returns `status`. */
mdf_status mdf_error_set(mdf_error *error, mdf_status status, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
mdf_status mdf_error_set_v(mdf_error *error, mdf_status status, const char *format, va_list arguments) MDF_PRINTF_LIKE(3, 0);
/* Adds a file position where none is set. `file` may be NULL. */
void mdf_error_at(mdf_error *error, const char *file, int line, int column);
/* Adds the place inside the model where none is set. */
void mdf_error_in(mdf_error *error, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
/* Adds text behind the message: "(iteration 3)". */
void mdf_error_append(mdf_error *error, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

/* Adds "; did you mean 'GUESS'?" behind the message; NULL: nothing. */
void mdf_error_suggest(mdf_error *error, const char *guess);

/* Adds "what 'id'" to the path of a place in a model, "graph 'g', node 'n'", which has room for `size` bytes: cut after a whole
 * character where there is no room, and in front of what is no UTF-8. Returns the length before, where the path is cut off again
 * when the place is left. */
size_t mdf_place_path_enter(char *path, size_t size, const char *what, const char *id);

/* The candidate nearest to `name` by edit distance, NULL where none is near: for "did you mean". */
struct mdf_nearest {
    const char *name;
    const char *best;
    size_t best_distance;
};
void mdf_nearest_begin(struct mdf_nearest *nearest, const char *name);
void mdf_nearest_offer(struct mdf_nearest *nearest, const char *candidate);
const char *mdf_nearest_result(const struct mdf_nearest *nearest);

#endif
