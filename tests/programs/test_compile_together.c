/* test_compile_together.c - nodes that run one after the other and are one stretch of generated source. What they compute is
 * compared in test_compile.c. */
#include "tests/support/compile_runs.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile_together, .init = compile_set_up, .fini = compile_tear_down);

/* Loops of nodes that follow one another become one, with what is computed between them; not those of nodes that may refuse
 * something, are given what is computed on an edge, or keep something. */
Test(compile_together, loops_in_succession_become_one)
{
    char *output = compile_source_of("tests/data/compile/succession.yaml");

    cr_expect_eq(count_words(output, "for (int64_t run"), 6u, "%s", output);
    cr_expect_eq(count_words(output, ": done with node 'two'. */"), 3u, "%s", output);
    cr_expect(strstr(output, "/* Node 'whole'. */") != NULL && strstr(output, "/* Node 'weighted'. */") != NULL, "%s", output);
    free(output);
}

/* Elements of large arrays are moved, and functions of them computed, in one nest: in pieces of rows where they are turned. */
Test(compile_together, large_arrays_are_gone_through_once)
{
    char *output = compile_source_of("tests/data/compile/moved_together.yaml");

    cr_expect_eq(count_words(output, ": done with node 'log'. */"), 4u, "%s", output);
    cr_expect(strstr(output, "_block += 16)") != NULL && strstr(output, "root_y[i * 65 + (j_block + j)] = sqrt(array);") != NULL,
              "%s", output);
    cr_expect(strstr(output, "bounded_y[i] = y;\n            s->log_y[i] = ") != NULL, "%s", output);
    cr_expect(strstr(output, "/* Node 'some'. */") != NULL && strstr(output, "/* Node 'few'. */") != NULL, "%s", output);
    free(output);
}

/* Of two large arrays of the same elements one is stored, if nobody but the node that turns it reads the other; the other is made
 * of it when it is asked for. */
Test(compile_together, what_is_only_turned_is_not_stored)
{
    char *once = compile_source_of("-g read_once tests/data/compile/turned_unread.yaml"), *twice;

    cr_expect(strstr(once, "s->has_run[1] && make_far_columns((struct turned_unread *)s) == NULL ? s->far_columns : NULL") !=
                      NULL &&
                  strstr(once, "s->far_columns[i + j * 100] = s->turned_y[i * 90 + j];") != NULL,
              "%s", once);
    cr_expect_eq(count_words(once, "s->far_columns["), 1u, "%s", once);
    free(once);
    once = compile_source_of("-g only_turned tests/data/compile/turned_unread.yaml");
    cr_expect(strstr(once, "make_far_columns") != NULL, "%s", once);
    free(once);
    twice = compile_source_of("-g read_twice tests/data/compile/turned_unread.yaml");
    cr_expect(strstr(twice, "make_far_columns") == NULL && count_words(twice, "s->far_columns[") == 3u, "%s", twice);
    free(twice);
}

/* Large arrays of the struct, and of functions, begin where a line of the cache does if the struct does. */
Test(compile_together, large_arrays_begin_at_lines)
{
    static const char program[] =
        "#include \"m.h\"\n#include <stddef.h>\n#include <stdio.h>\n#define PLACE(of) (int)(offsetof(struct m, of) % 64)\n"
        "int main(void)\n{\n    printf(\"%d %d %d\", PLACE(root_y), PLACE(bounded_y), PLACE(log_y));\n    return 0;\n}\n";
    char *output = compile_new_output();

    compile_write_file("main.c", program);
    cr_assert_eq(compile_run(output,
                             "$BUILD/mdf-compile tests/data/compile/moved_together.yaml --name m -o %s/m.h && cd %s && "
                             "${CC:-cc} -std=c11 main.c -o main && ./main",
                             compile_folder, compile_folder),
                 0, "%s", output);
    cr_expect_str_eq(output, "0 0 0");
    free(output);
    output = compile_source_of("tests/data/compile/grown_from_none.yaml");
    cr_expect(strstr(output, "            double t_6[140];\n            char behind_t_6[32];\n") != NULL, "%s", output);
    free(output);
}
