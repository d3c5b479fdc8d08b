/* options.h - the command line of mdf-run. */
#ifndef MDF_CLI_OPTIONS_H
#define MDF_CLI_OPTIONS_H

#include "mdf_c/cli/command_line.h"
#include "mdf_c/mdf.h"
#include "mdf_c/pictures/write_dot.h"

/* Of --dump. */
enum dump { DUMP_NOTHING, DUMP_CODE, DUMP_LOWERED, DUMP_NESTS, DUMP_SCHEDULE, DUMP_MACHINE, DUMP_C };

enum progress { PROGRESS_AUTOMATIC, PROGRESS_ON, PROGRESS_OFF };

/* Texts are borrowed from the command line. */
struct run_options {
    const char *model_path;                   /* "-": standard input */
    const char *format;                       /* NULL: by suffix */
    struct option_texts inputs;               /* NAME=VALUE, in order */
    struct option_texts plugins;              /* shared libraries with functions */
    struct option_texts settings;             /* of --set: NODE.PARAMETER=VALUE or @FILE, in order */
    const char *inputs_path;                  /* NULL: none */
    const char *output_path;                  /* NULL: standard output */
    const char *graph_image_path, *plot_path; /* NULL: none */
    enum mdf_detail graph_detail;
    const char *sweep_path; /* NULL: one evaluation */
    bool resume;            /* goes on with the store that is there */
    const char *part;       /* I/N; NULL: all of the sweep */
    uint64_t n_lanes;       /* instances of a sweep side by side; 0: as many as pay */
    int compress;           /* enum store_codec */
    int zarr_format;        /* 2, 3; 0: not said */
    uint64_t n_chunk;       /* instances of a chunk of a store; 0: chosen */
    const char *record;     /* NAME,NAME,...; NULL: all ports */
    const char *gradient, *gradient_of; /* RESULT,... and NODE.PARAMETER,...; NULL: none */
    uint64_t n_steps, n_repeats;
    double dt; /* NaN: none */
    const char *watch;             /* NAME,NAME,...; NULL: none */
    struct optional_text profile;  /* its text: the file, by check_together */
    struct optional_text stats;    /* its text: "text" or "json" */
    bool trace_bodies;
    bool trace, schedule, typed, check, strict, time, compile, explain;
    enum dump dump;
    enum progress progress;
    mdf_options library; /* what goes to mdf_compile */
};

/* Of --loop-condition, from MDF_LOOP_CONDITION_STANDARD on. */
extern const char *const loop_condition_words[], *const dialect_words[], *const scheduling_mode_words[];

/* Reads the command line. False: the program ends with *exit_status; what is to be said has been said. */
bool parse_run_options(int argc, char **argv, struct run_options *options, int *exit_status);
/* I/N as numbers; false: it is no such text. */
bool read_part(const char *text, uint64_t *part, uint64_t *n_parts);
void release_run_options(struct run_options *options);

#endif
