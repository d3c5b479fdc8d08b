/* printf_like.h - tells the compiler that a function takes a printf format and its arguments, so that it checks them. */
#ifndef MDF_BASE_PRINTF_LIKE_H
#define MDF_BASE_PRINTF_LIKE_H

#if defined(__GNUC__)
#define MDF_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define MDF_PRINTF_LIKE(text, first)
#endif

#endif
