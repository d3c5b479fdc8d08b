/* criterion_start.c - in place of libgit2, which Criterion loads in each of its processes for the differences of texts in a form
 * of assertions that suites do not have. Half of the time of most tests went into finding its fifteen libraries, and it reads all
 * certificates of the machine.
 */
#include <stddef.h>

int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(const void *a, size_t a_size, const char *a_path, const void *b, size_t b_size, const char *b_path,
                     const void *options, void *file, void *binary, void *hunk, void *line, void *payload);

int git_libgit2_init(void)
{
    return 1;
}

int git_libgit2_shutdown(void)
{
    return 0;
}

/* An error: no difference is shown. */
int git_diff_buffers(const void *a, size_t a_size, const char *a_path, const void *b, size_t b_size, const char *b_path,
                     const void *options, void *file, void *binary, void *hunk, void *line, void *payload)
{
    (void)a, (void)a_size, (void)a_path, (void)b, (void)b_size, (void)b_path;
    (void)options, (void)file, (void)binary, (void)hunk, (void)line, (void)payload;
    return -1;
}
