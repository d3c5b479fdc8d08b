/* setting.h - an attribute of a call by its name, as the table of its operator lays it out. */
#ifndef MDF_FUNCTIONS_KERNEL_SETTING_H
#define MDF_FUNCTIONS_KERNEL_SETTING_H

#include "functions/kernel/operator.h"
#include "schemas/inference.h"

/* The field of an attribute in the settings of a call; NULL: the operator has none of that name, or the call no settings. */
const void *mdf_setting_field(const struct mdf_operator *row, const void *settings, const char *name);
/* The same of one type only. */
const void *mdf_setting_field_of_type(const struct mdf_operator *row, const void *settings, const char *name,
                                      enum mdf_setting_type type);

/* Lets a rule of inference see the attributes of a call. */
void mdf_setting_show(struct mdf_inference *inference, const struct mdf_operator *row, const void *settings);

#endif
