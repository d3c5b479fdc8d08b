/* element.c - elements.def as tables: what there is, and as text. See element.h. */
#include "functions/elements/element.h"

const struct mdf_element mdf_elements[MDF_ELEMENT_COUNT] = {
#define FUNCTION(id, base, n_operands) \
    {MDF_ELEMENT_##id, MDF_ELEMENT_##id == MDF_ELEMENT_##base ? NULL : &mdf_elements[MDF_ELEMENT_##base], n_operands},
#include "functions/elements/elements.def"
};

static const struct mdf_element_form forms[] = {
#define UNARY(id, kinds, ...) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, #__VA_ARGS__, NULL, NULL},
#define ONLY_TEXT(id, kinds, ...) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, #__VA_ARGS__, NULL, NULL},
#define REFUSING_TEXT(id, kinds, condition, why, ...) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, #__VA_ARGS__, #condition, why},
#include "functions/elements/elements.def"
};

unsigned mdf_element_kind(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        return dtype == MDF_DTYPE_FLOAT32 ? MDF_ELEMENTS_FLOAT32 : dtype == MDF_DTYPE_FLOAT64 ? MDF_ELEMENTS_FLOAT64 : 0;
    case 'i':
        return MDF_ELEMENTS_SIGNED;
    case 'u':
        return MDF_ELEMENTS_UNSIGNED;
    case 'b':
        return MDF_ELEMENTS_BOOL;
    default: /* complex numbers, strings */
        return 0;
    }
}

const struct mdf_element_form *mdf_element_form(const struct mdf_element *element, mdf_dtype dtype)
{
    unsigned kind = mdf_element_kind(dtype);
    size_t i;

    for (; element != NULL; element = element->base) {
        for (i = 0; i < sizeof forms / sizeof *forms; i++) {
            if (forms[i].id == element->id && (forms[i].kinds & kind) != 0) {
                return &forms[i];
            }
        }
    }
    return NULL;
}
