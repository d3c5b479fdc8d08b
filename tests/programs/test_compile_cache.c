/* test_compile_cache.c - mdf-run --compile: what it keeps is found again, and takes nothing from others; which compilers it
 * calls. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(compile_cache, .init = compile_set_up, .fini = compile_tear_down);

/* A run finds what an earlier one has compiled; a folder that others may write is not used. */
Test(compile_cache, cache)
{
    /* What may befall a file of the cache. Each is another file afterwards, so that it is seen whether it was replaced. */
    static const char *const damages[] = {
        "head -c 4000 *.so > x && mv x *.so && chmod 700 *.so",
        "echo garbage > x && mv x $(ls *.so) && chmod 700 *.so",
        "cp *.so x && printf X | dd of=x bs=1 seek=5000 conv=notrunc 2>/dev/null && mv x *.so && chmod 700 *.so",
        "cp *.so x && mv x $(ls *.so) && chmod 720 *.so",
        "touch x && mv x $(ls *.so)",
        "umask 0 && cp /lib/x86_64-linux-gnu/libm.so.6 x 2>/dev/null || echo x > x; mv x $(ls *.so)",
    };
    char *output = compile_new_output(), path[256];
    struct stat before, after;
    size_t i;

    compile_begin_without_libraries();
    cr_assert_eq(setenv("CC", compile_quick, 1), 0);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile examples/newton_sqrt.json && ls %s/mdf_c/*.so", compile_folder),
                 0);
    cr_expect_eq(compile_run(output, "ls %s/mdf_c", compile_folder), 0);
    cr_assert(strlen(output) == 36 && strcmp(output + 32, ".so\n") == 0, "the cache holds %s", output);
    output[35] = '\0';
    snprintf(path, sizeof path, "%s/mdf_c/%s", compile_folder, output);
    cr_assert(stat(path, &before) == 0);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile examples/newton_sqrt.json"), 0);
    cr_assert(stat(path, &after) == 0);
    cr_expect(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec, "it is compiled again");
    cr_assert(chmod(path, 0666) == 0);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile examples/newton_sqrt.json"), 0);
    cr_expect(stat(path, &after) == 0 && before.st_ino != after.st_ino, "a file that others may write is used");
    for (i = 0; i < sizeof damages / sizeof *damages; i++) {
        cr_assert_eq(compile_run(output, "cd %s/mdf_c && %s", compile_folder, damages[i]), 0, "%s", output);
        cr_assert(stat(path, &before) == 0);
        cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile examples/newton_sqrt.json --quiet 2>&1"), 0, "%s: %s",
                     damages[i], output);
        cr_expect(stat(path, &after) == 0 && before.st_ino != after.st_ino, "%s: it is used", damages[i]);
        cr_expect_eq(after.st_mode & 07777, 0700, "others may write %s", path);
        cr_expect_eq(compile_run(output, "ls %s/mdf_c | wc -l | grep -qx 1", compile_folder), 0, "something is left");
    }
    snprintf(path, sizeof path, "%s/mdf_c", compile_folder);
    cr_assert(chmod(path, 0777) == 0);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile examples/newton_sqrt.json 2>&1"), 1);
    cr_expect(strstr(output, "nobody else may write") != NULL, "%s", output);
    free(output);
}

/* CC may be a program with arguments, or one whose path has spaces; what can not be kept is compiled for the run alone. */
Test(compile_cache, compilers_and_places)
{
    static const char *const commands[] = {
        "CC='gcc -O1'",
        "CC=' gcc  -O1 \"-DA=b c\" '",
        "CC=\"$XDG_CACHE_HOME/my tools/cc\"",
        "CC=\"'$XDG_CACHE_HOME/my tools/cc' -O1\"",
        "CC=\"$XDG_CACHE_HOME/my\\ tools/cc -O1\"",
        "CC=tests/random/cc_fast.sh TMPDIR=$XDG_CACHE_HOME XDG_CACHE_HOME=/proc/none",
        "CC=tests/random/cc_fast.sh TMPDIR=$XDG_CACHE_HOME XDG_CACHE_HOME=/dev/null",
    };
    char *output = compile_new_output();
    size_t i;

    compile_begin_without_libraries();
    cr_assert_eq(
        compile_run(output, "mkdir \"$XDG_CACHE_HOME/my tools\" && ln -s $PWD/%s \"$XDG_CACHE_HOME/my tools/cc\"", compile_quick),
        0);
    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        cr_expect_eq(compile_run(output, "%s $BUILD/mdf-run --compile examples/newton_sqrt.json 2>&1", commands[i]), 0, "%s: %s",
                     commands[i], output);
    }
    cr_expect_eq(compile_run(output, "CC='gcc \"-O1' $BUILD/mdf-run --compile examples/newton_sqrt.json 2>&1"), 1);
    cr_expect(strstr(output, "a quote is not closed in CC") != NULL, "%s", output);
    cr_expect_eq(compile_run(output, "ls %s | grep mdf_c_", compile_folder), 1, "something is left: %s", output);
    free(output);
}

/* Many runs at once that all find an empty cache. */
Test(compile_cache, runs_side_by_side_share_the_cache)
{
    char *output = compile_new_output();

    compile_begin_without_libraries();
    cr_assert_eq(setenv("CC", compile_quick, 1), 0);
    cr_expect_eq(compile_run(output,
                             "for i in 1 2 3 4; do $BUILD/mdf-run --compile examples/newton_sqrt.json --quiet >%s/$i & done; "
                             "wait; cmp %s/1 %s/2 && cmp %s/1 %s/3 && cmp %s/1 %s/4 && ls %s/mdf_c | wc -l",
                             compile_folder, compile_folder, compile_folder, compile_folder, compile_folder, compile_folder,
                             compile_folder, compile_folder),
                 0, "%s", output);
    cr_expect_str_eq(output, "1\n");
    free(output);
}
