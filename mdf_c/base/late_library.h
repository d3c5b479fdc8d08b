/* late_library.h - libraries of others that few runs need, loaded when one is first needed: with all that they need in turn,
 * loading them at the start of a program takes longer than it takes to run most models.
 *
 * A library is a list of its functions, FUNCTIONS(X) with one X(function) each, and a struct of pointers to them. Their types are
 * those that the library's header declares:
 *
 *     struct webp_library { FUNCTIONS(MDF_LATE_POINTER) };
 *     static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)}; */
#ifndef MDF_BASE_LATE_LIBRARY_H
#define MDF_BASE_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define MDF_LATE_POINTER(function) __typeof__(function) *function;
#define MDF_LATE_NAME(function) #function,

/* Loads a library by the name that the system's loader knows it by (build/generated/late_libraries.h has those that the build
 * found), and sets `pointers`, a struct of n pointers to functions. It stays loaded until the program ends. False where it is not
 * there, or has no such functions. */
bool mdf_late_library_load(const char *file, const char *const *names, size_t n, void *pointers);

#endif
