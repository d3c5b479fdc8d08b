/* programs.h - the programs, which are one executable under several names: what each of them does with its command line. All return the
 * exit status. */
#ifndef MDF_CLI_PROGRAMS_H
#define MDF_CLI_PROGRAMS_H

int run_program(int argc, char **argv);     /* mdf-run */
int convert_program(int argc, char **argv); /* mdf-convert */
int compile_program(int argc, char **argv); /* mdf-compile */
int fmu_program(int argc, char **argv);     /* mdf-fmu */
int merge_program(int argc, char **argv);   /* mdf-merge */
int diff_program(int argc, char **argv);    /* mdf-diff */

#endif
