/* new_file.h - files that appear whole or not at all: written beside their place, then put into it. */
#ifndef MDF_VALUES_NEW_FILE_H
#define MDF_VALUES_NEW_FILE_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/memory.h"

struct mdf_new_file {
    struct mdf_memory *memory;
    const char *path; /* borrowed */
    char *temporary; /* NULL: `path` is no regular file (/dev/stdout, a pipe): there is nothing to replace, it is written directly
                      */
    int file;
};

/* Creates the file; where that fails nothing needs to be done. */
mdf_status mdf_new_file_open(struct mdf_new_file *new_file, struct mdf_memory *memory, const char *path, mdf_error *error);
mdf_status mdf_new_file_write(struct mdf_new_file *new_file, const void *bytes, size_t size_bytes, mdf_error *error);
/* Has what was written outlive the machine, too. */
mdf_status mdf_new_file_sync(struct mdf_new_file *new_file, mdf_error *error);
/* Puts the file into its place; it is closed in any case. */
mdf_status mdf_new_file_commit(struct mdf_new_file *new_file, mdf_error *error);
/* Closes the file and takes it away. Does nothing after a commit. */
void mdf_new_file_abandon(struct mdf_new_file *new_file);

#endif
