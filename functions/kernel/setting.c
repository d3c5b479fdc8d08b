/* setting.c - see setting.h. */
#include "functions/kernel/setting.h"

#include <string.h>

static const struct mdf_setting *find(const struct mdf_operator *row, const void *settings, const char *name)
{
    const struct mdf_setting *setting = settings != NULL ? row->settings : NULL;

    while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0) {
        setting++;
    }
    return setting != NULL && setting->name != NULL ? setting : NULL;
}

const void *mdf_setting_field(const struct mdf_operator *row, const void *settings, const char *name)
{
    const struct mdf_setting *setting = find(row, settings, name);

    return setting != NULL ? (const char *)settings + setting->offset : NULL;
}

const void *mdf_setting_field_of_type(const struct mdf_operator *row, const void *settings, const char *name,
                                      enum mdf_setting_type type)
{
    const struct mdf_setting *setting = find(row, settings, name);

    return setting != NULL && setting->type == type ? (const char *)settings + setting->offset : NULL;
}
