/* source_settings.c - attributes of a call by name, as the settings table of its operator lays them out. */
#include "functions/kernel/setting.h"
#include "mdf_c/source/source_writer.h"

#include <math.h>

bool mdf_source_real_setting(const struct mdf_operator *operator, const void * settings, const char *name, double *real)
{
    const double *field = mdf_setting_field_of_type(operator, settings, name, MDF_SETTING_FLOAT);

    if (field == NULL || isnan(*field)) {
        return false;
    }
    *real = *field;
    return true;
}
