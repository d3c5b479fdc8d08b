/* dump.h - the forms that a state has of its model, as text: mdf-run --dump. docs/explain.md says how they read. */
#ifndef MDF_RUN_DUMP_H
#define MDF_RUN_DUMP_H

#include "mdf_c/base/text.h"
#include "mdf_c/run/state.h"

/* Instructions; lowered forms; loop nests in them; layers and conditions; machine code. */
enum mdf_dump { MDF_DUMP_CODE, MDF_DUMP_LOWERED, MDF_DUMP_NESTS, MDF_DUMP_SCHEDULE, MDF_DUMP_MACHINE };

/* Lowered forms and machine code are those that the last evaluations have made. False: memory ran out. */
bool mdf_state_dump(struct mdf_text *text, const struct mdf_state *state, enum mdf_dump what);

/* Of a sweep, before it runs: the forms by which a thread's instances were evaluated side by side are added to the text when it
 * has run. */
struct mdf_sweep;
struct mdf_sweep_dump {
    struct mdf_text *text;
    enum mdf_dump what; /* lowered forms, nests in them, machine code */
    bool has_forms, failed;
};
void mdf_sweep_dump(struct mdf_sweep *sweep, struct mdf_sweep_dump *dump);

/* The state of the graph within a node whose frame is `frame`; NULL: it is none. */
const struct mdf_state *mdf_state_of_frame(const struct mdf_state *state, const struct mdf_frame *frame);

#endif
