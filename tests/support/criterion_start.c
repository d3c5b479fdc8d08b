/* criterion_start.c - what Criterion starts in each of its processes, and no suite uses: libgit2, for the differences of texts in
 * a form of assertions that suites do not have. It reads all certificates of the machine, which takes longer than most tests. */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);

int git_libgit2_init(void)
{
    return 1;
}

int git_libgit2_shutdown(void)
{
    return 0;
}
