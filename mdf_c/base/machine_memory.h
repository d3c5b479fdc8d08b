/* machine_memory.h - how much memory a process may have on this machine. */
#ifndef MDF_BASE_MACHINE_MEMORY_H
#define MDF_BASE_MACHINE_MEMORY_H

#include "mdf_c/base/memory.h"

#include <stddef.h>

/* The physical memory, or what control groups (of a container, a service) allow this process where that is less; 0: not known. */
size_t mdf_machine_memory(void);

/* The bound that a caller's max_memory_bytes stands for, as struct mdf_memory has it: 0 is what the machine has,
 * MDF_MEMORY_OF_MACHINE here, SIZE_MAX none, which is 0 here. */
size_t mdf_memory_bound(size_t max_memory_bytes);

#endif
