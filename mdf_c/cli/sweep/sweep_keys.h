/* sweep_keys.h - what readers of the keys of a sweep file share. */
#ifndef MDF_CLI_SWEEP_SWEEP_KEYS_H
#define MDF_CLI_SWEEP_SWEEP_KEYS_H

#include "mdf_c/cli/sweep/sweep_file.h"
#include "mdf_c/document/tree_builder.h"

/* A part of a sweep file that is being read. */
struct sweep_reading {
    struct sweep_file *sweep;
    const struct mdf_document *document;
    const char *of; /* " of 'reduce'": the key that the keys are in; "": the file's own */
    mdf_error *error;
};

/* Both return false, with the error set: `key` must be something else; memory ran out. */
bool sweep_key_fault(const struct sweep_reading *reading, const struct mdf_node *node, const char *key, const char *must);
bool sweep_keys_out_of_memory(const struct sweep_reading *reading);
struct sweep_place sweep_place_of(const struct mdf_node *node);
/* False, with the error set at the key, and one of the names `known` where that is near: there is no such key; `what` says so. */
bool sweep_unknown_key(const struct sweep_reading *reading, const struct mdf_node_entry *entry, const char *what,
                       const char *const *known, size_t n_known);
/* A text that lives as long as the file; NULL with the error set. */
const char *sweep_keep_text(const struct sweep_reading *reading, const char *text);

#endif
