/* compile_runs.h - commands that suites of generated source run, in a folder of the test's own. */
#ifndef MDF_TESTS_COMPILE_RUNS_H
#define MDF_TESTS_COMPILE_RUNS_H

enum { COMPILE_OUTPUT_SIZE = 1 << 22 };

extern char compile_folder[];
void compile_set_up(void);
void compile_tear_down(void);

/* mdf-run --compile keeps libraries in the folder of what is built, as a user's does in the cache: who runs the suites again
 * waits for the C compiler only where the source, or the compiler, is another one. compile_set_up asks for it. */
void compile_keep_libraries(void);
/* From here on in the test's folder, where there are none. */
void compile_begin_without_libraries(void);

/* The system's compiler, without optimising: where what it makes of a source is not what is tested. */
extern const char compile_quick[];

/* Runs a command ("$BUILD/" may be in it); its exit status. What it prints is left in `output`. */
__attribute__((format(printf, 2, 3))) int compile_run(char *output, const char *format, ...);
/* COMPILE_OUTPUT_SIZE bytes, which the caller frees. */
char *compile_new_output(void);
/* What mdf-compile writes of a model; the caller frees it. */
char *compile_source_of(const char *model);
void compile_write_file(const char *name, const char *text);

#endif
