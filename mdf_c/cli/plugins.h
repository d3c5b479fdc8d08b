/* plugins.h - the option --plugin: functions of shared libraries, for models to call. */
#ifndef MDF_CLI_PLUGINS_H
#define MDF_CLI_PLUGINS_H

#include "mdf_c/cli/options.h"

/* Loads those that options->plugins names, for options->library; an exit status. */
int load_plugins(struct run_options *options, mdf_error *error);
void release_plugins(struct run_options *options);

#endif
