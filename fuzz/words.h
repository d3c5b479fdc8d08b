/* words.h - words that mean something to the library, for mutators: an input with one of them gets further than one with noise.
 */
#ifndef FUZZ_WORDS_H
#define FUZZ_WORDS_H

#include "fuzz/mutate.h"

/* A key of MDF's objects: "input_ports", "kwargs". */
const char *random_key(struct random_source *random);
/* Part of an expression, with names of random_name in it. */
const char *random_fragment(struct random_source *random);
/* A name that models of the corpus give to ports, parameters and nodes: "x". */
const char *random_name(struct random_source *random);
/* A word that the value of a key may be: a function, a type, a kind of condition. It may lie in `text`. */
enum { WORD_SIZE = 160 };
const char *random_word(struct random_source *random, char text[WORD_SIZE]);
/* A number at the edge of some type. */
int64_t random_integer(struct random_source *random);
double random_real(struct random_source *random);

#endif
