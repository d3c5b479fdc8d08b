/* zip_library.h - libzip, which is loaded where an archive is read or written (late_library.h). */
#ifndef MDF_VALUES_ZIP_LIBRARY_H
#define MDF_VALUES_ZIP_LIBRARY_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/late_library.h"

#include <zip.h>

#define MDF_ZIP_FUNCTIONS(X)    \
    X(zip_open)                 \
    X(zip_open_from_source)     \
    X(zip_close)                \
    X(zip_discard)              \
    X(zip_strerror)             \
    X(zip_error_init_with_code) \
    X(zip_error_strerror)       \
    X(zip_error_fini)           \
    X(zip_get_num_entries)      \
    X(zip_get_name)             \
    X(zip_stat_index)           \
    X(zip_fopen_index)          \
    X(zip_fread)                \
    X(zip_fclose)               \
    X(zip_file_add)             \
    X(zip_file_set_mtime)       \
    X(zip_set_file_compression) \
    X(zip_source_buffer)        \
    X(zip_source_buffer_create) \
    X(zip_source_open)          \
    X(zip_source_read)          \
    X(zip_source_close)         \
    X(zip_source_keep)          \
    X(zip_source_free)

struct mdf_zip_library {
    MDF_ZIP_FUNCTIONS(MDF_LATE_POINTER)
};

mdf_status mdf_zip_library_load(struct mdf_zip_library *library, mdf_error *error);

#endif
