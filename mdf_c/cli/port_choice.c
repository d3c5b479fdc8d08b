/* port_choice.c - see port_choice.h. */
#include "mdf_c/cli/port_choice.h"

#include "mdf_c/base/text.h"
#include "mdf_c/cli/command_line.h"
#include "mdf_c/plan/program.h"

#include <stdio.h>
#include <string.h>

static int out_of_memory(const struct port_choice *choice, mdf_error *error)
{
    mdf_memory_error(choice->memory, error);
    return EXIT_MODEL;
}

/* ------------------------------------------------------------------ all */

/* What the graph says that it yields an output port as; NULL: it does not, or that is what the column of times is called. */
static const char *result_name(const mdf_program *program, size_t node, size_t output)
{
    for (size_t i = 0; program->declares_results && i < program->n_results; i++) {
        const struct mdf_program_result *result = &program->results[i];

        if (result->node == node && result->output == output) {
            return strcmp(result->name, MDF_TIME_COLUMN) != 0 ? result->name : NULL;
        }
    }
    return NULL;
}

static int list_ports(struct port_choice *choice, mdf_error *error)
{
    const mdf_program *program = choice->program;
    size_t n_nodes = mdf_program_n_nodes(program), n = 0, node, i;

    for (node = 0; node < n_nodes; node++) {
        n += mdf_program_n_outputs(program, node);
    }
    choice->columns = mdf_memory_allocate_zeroed(choice->memory, n, sizeof *choice->columns);
    choice->outputs = mdf_memory_allocate_zeroed(choice->memory, n, sizeof *choice->outputs);
    if (choice->columns == NULL || choice->outputs == NULL) {
        return out_of_memory(choice, error);
    }
    for (node = 0; node < n_nodes; node++) {
        for (i = 0; i < mdf_program_n_outputs(program, node); i++) {
            choice->columns[choice->n_columns] = (struct mdf_column){
                node, mdf_program_node_id(program, node), mdf_program_output_id(program, node, i), result_name(program, node, i)};
            choice->outputs[choice->n_columns++] = i;
        }
    }
    return EXIT_DONE;
}

/* ------------------------------------------------------------------ by name */

/* Whether one of the names, `length` bytes long, is NODE.PORT or PORT. */
static bool names_port(const char *name, size_t length, const char *node, const char *port)
{
    size_t n_node = strlen(node), n_port = strlen(port);

    if (length == n_port && memcmp(name, port, length) == 0) {
        return true;
    }
    return length == n_node + 1 + n_port && memcmp(name, node, n_node) == 0 && name[n_node] == '.' &&
           memcmp(name + n_node + 1, port, n_port) == 0;
}

/* The body that has a name, an input's or an output port's; NULL: none. Bodies are nested to a limit. */
static const struct mdf_code *find_in_bodies(const struct mdf_code *code, const char *name, size_t length)
{
    const struct mdf_code *found = NULL;

    for (size_t i = 0; i < code->n_bodies && found == NULL; i++) {
        const struct mdf_code *body = code->bodies[i];

        for (size_t j = 0; j < body->n_names && found == NULL; j++) {
            const struct mdf_body_name *inner = &body->names[j];

            if (names_port(name, length, inner->node != NULL ? inner->node : "", inner->id)) {
                found = body;
            }
        }
        found = found != NULL ? found : find_in_bodies(body, name, length);
    }
    return found;
}

/* Adds the nearest name; where none is near, and they are few, all of them. */
static void suggest_ports(const struct port_choice *choice, const char *name, size_t length, mdf_error *error)
{
    struct mdf_nearest nearest;
    char wanted[64];

    snprintf(wanted, sizeof wanted, "%.*s", (int)(length < sizeof wanted ? length : sizeof wanted - 1), name);
    mdf_nearest_begin(&nearest, wanted);
    for (size_t i = 0; i < choice->n_columns; i++) {
        mdf_nearest_offer(&nearest, choice->columns[i].port_id);
    }
    mdf_error_suggest(error, mdf_nearest_result(&nearest));
    for (size_t i = 0; mdf_nearest_result(&nearest) == NULL && choice->n_columns <= 12 && i < choice->n_columns; i++) {
        mdf_error_append(error, "%s%s.%s", i == 0 ? "; there are: " : ", ", choice->columns[i].node_id,
                         choice->columns[i].port_id);
    }
}

/* The node that has a parameter or a function of the name; its id and that of the part. NULL: none has. */
static const char *find_part(const mdf_program *program, const char *name, size_t length, const char **id)
{
    static const mdf_part kinds[] = {MDF_PART_PARAMETER, MDF_PART_FUNCTION};

    for (size_t node = 0; node < mdf_program_n_nodes(program); node++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            for (size_t i = 0; i < mdf_program_n_parts(program, node, kinds[k]); i++) {
                *id = mdf_program_part_id(program, node, kinds[k], i);
                if (names_port(name, length, mdf_program_node_id(program, node), *id)) {
                    return mdf_program_node_id(program, node);
                }
            }
        }
    }
    return NULL;
}

static int unknown_port(const struct port_choice *choice, const char *option, const char *name, size_t length, mdf_error *error)
{
    const struct mdf_code *body = find_in_bodies(choice->program->code, name, length);
    const char *part, *node = body == NULL ? find_part(choice->program, name, length, &part) : NULL;

    if (body != NULL) {
        mdf_error_set(error, MDF_NAME,
                      "%s: '%.*s' is inside the body '%s', whose values change from iteration to iteration: --trace-bodies tells "
                      "them all",
                      option, (int)length, name, body->id);
    } else if (node != NULL) {
        mdf_error_set(error, MDF_NAME, "%s: '%.*s' is no output port: give node '%s' one with the value '%s', which is told then",
                      option, (int)length, name, node, part);
    } else {
        mdf_error_set(error, MDF_NAME, "%s: no output port is named '%.*s'", option, (int)length, name);
        suggest_ports(choice, name, length, error);
    }
    return EXIT_USAGE;
}

/* Marks the ports that one name stands for. */
static int mark_name(const struct port_choice *choice, const char *option, bool *wanted, const char *name, size_t length,
                     mdf_error *error)
{
    size_t n_found = 0, n_exact = 0;

    for (size_t i = 0; i < choice->n_columns; i++) {
        const struct mdf_column *column = &choice->columns[i];
        bool is_result = column->result != NULL && mdf_bytes_are(name, length, column->result);

        if (is_result || names_port(name, length, column->node_id, column->port_id)) {
            wanted[i] = true;
            n_found++;
            n_exact += is_result || length > strlen(column->port_id);
        }
    }
    if (n_found == 0) {
        return unknown_port(choice, option, name, length, error);
    }
    if (n_found > 1 && n_exact == 0) {
        mdf_error_set(error, MDF_NAME, "%s: %zu output ports are named '%.*s': say NODE.%.*s", option, n_found, (int)length, name,
                      (int)length, name);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* Leaves the columns that are named. */
static int keep_named(struct port_choice *choice, const char *option, const char *name, mdf_error *error)
{
    bool *wanted = mdf_memory_allocate_zeroed(choice->memory, choice->n_columns, sizeof *wanted);
    int exit_status = EXIT_DONE;
    size_t n = 0, length;

    if (wanted == NULL) {
        return out_of_memory(choice, error);
    }
    while (exit_status == EXIT_DONE) {
        length = strcspn(name, ",");
        exit_status = mark_name(choice, option, wanted, name, length, error);
        if (name[length] == '\0') {
            break;
        }
        name += length + 1;
    }
    for (size_t i = 0; i < choice->n_columns; i++) {
        if (wanted[i]) {
            choice->columns[n] = choice->columns[i];
            choice->outputs[n++] = choice->outputs[i];
        }
    }
    choice->n_columns = n;
    mdf_memory_release(choice->memory, wanted);
    return exit_status;
}

int choose_ports(struct port_choice *choice, struct mdf_memory *memory, const mdf_program *program, const char *option,
                 const char *names, mdf_error *error)
{
    int exit_status;

    *choice = (struct port_choice){.memory = memory, .program = program};
    exit_status = list_ports(choice, error);
    return exit_status == EXIT_DONE && names != NULL ? keep_named(choice, option, names, error) : exit_status;
}

void release_ports(struct port_choice *choice)
{
    if (choice->memory != NULL) {
        mdf_memory_release(choice->memory, choice->columns);
        mdf_memory_release(choice->memory, choice->outputs);
    }
    *choice = (struct port_choice){0};
}
