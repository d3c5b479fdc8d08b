/* setting.c - see setting.h. */
#include "functions/kernel/setting.h"

#include <math.h>
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

/* ------------------------------------------------------------------ as rules of inference see them */

static const void *field(const struct mdf_inference *inference, const char *name, enum mdf_setting_type type)
{
    return mdf_setting_field_of_type(inference->context, inference->settings, name, type);
}

static bool read_integers(const struct mdf_inference *inference, const char *name, const int64_t **items, size_t *n)
{
    const struct mdf_ints *list = field(inference, name, MDF_SETTING_INTS);

    *items = list != NULL ? list->items : field(inference, name, MDF_SETTING_INT);
    *n = list != NULL ? list->n : 1;
    return *items != NULL && (list != NULL || **items != MDF_NOT_GIVEN);
}

static bool read_reals(const struct mdf_inference *inference, const char *name, const double **items, size_t *n)
{
    const struct mdf_floats *list = field(inference, name, MDF_SETTING_FLOATS);

    *items = list != NULL ? list->items : field(inference, name, MDF_SETTING_FLOAT);
    *n = list != NULL ? list->n : 1;
    return *items != NULL && (list != NULL || !isnan(**items));
}

static bool read_texts(const struct mdf_inference *inference, const char *name, const char *const **items, size_t *n)
{
    const struct mdf_strings *list = field(inference, name, MDF_SETTING_STRINGS);

    *items = list != NULL ? list->items : field(inference, name, MDF_SETTING_STRING);
    *n = list != NULL ? list->n : 1;
    return *items != NULL && (list != NULL || **items != NULL);
}

static mdf_dtype read_dtype(const struct mdf_inference *inference, const char *name)
{
    const mdf_dtype *dtype = field(inference, name, MDF_SETTING_DTYPE);

    return dtype != NULL ? *dtype : MDF_DTYPE_NONE;
}

static const struct mdf_value *read_value(const struct mdf_inference *inference, const char *name)
{
    const struct mdf_value *const *value = field(inference, name, MDF_SETTING_VALUE);

    return value != NULL ? *value : NULL;
}

void mdf_setting_show(struct mdf_inference *inference, const struct mdf_operator *row, const void *settings)
{
    inference->context = row;
    inference->settings = settings;
    inference->attribute = read_integers;
    inference->attribute_reals = read_reals;
    inference->attribute_texts = read_texts;
    inference->attribute_dtype = read_dtype;
    inference->attribute_value = read_value;
}
