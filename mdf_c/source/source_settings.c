/* source_settings.c - attributes of a call by name, as the settings table of its operator lays them out. */
#include "mdf_c/source/source_writer.h"

#include <math.h>
#include <string.h>

/* The field of an attribute; NULL: there is none of that name and type. */
static const void *find(const struct mdf_operator *operator, const void * settings, const char *name, enum mdf_setting_type type)
{
    const struct mdf_setting *setting;

    for (setting = operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (setting->type == type && strcmp(setting->name, name) == 0) {
            return (const char *)settings + setting->offset;
        }
    }
    return NULL;
}

bool mdf_source_real_setting(const struct mdf_operator *operator, const void * settings, const char *name, double *real)
{
    const double *field = find(operator, settings, name, MDF_SETTING_FLOAT);

    if (field == NULL || isnan(*field)) {
        return false;
    }
    *real = *field;
    return true;
}
