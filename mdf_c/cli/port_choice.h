/* port_choice.h - output ports that an option names: NAME,NAME,... */
#ifndef MDF_CLI_PORT_CHOICE_H
#define MDF_CLI_PORT_CHOICE_H

#include "mdf_c/values/values.h"

/* All output ports, or those that are chosen, in the order of the model. */
struct port_choice {
    struct mdf_memory *memory;
    const mdf_program *program;
    struct mdf_column *columns;
    size_t *outputs; /* of each column, the number of the output port in its node */
    size_t n_columns;
};

/* `names` NULL: all. `option` is what they were given to ("--record"), for messages. Returns EXIT_DONE, or the exit status with the
 * error set; release the choice in either case. */
int choose_ports(struct port_choice *choice, struct mdf_memory *memory, const mdf_program *program, const char *option,
                 const char *names, mdf_error *error);
void release_ports(struct port_choice *choice);

#endif
