/* element.c - elements.def as tables: what there is, and as text. See element.h. */
#include "functions/elements/element.h"

#include <string.h>

const struct mdf_element mdf_elements[MDF_ELEMENT_COUNT] = {
#define FUNCTION(id, base, n_operands) \
    {MDF_ELEMENT_##id, MDF_ELEMENT_##id == MDF_ELEMENT_##base ? NULL : &mdf_elements[MDF_ELEMENT_##base], n_operands},
#include "functions/elements/elements.def"
};

#define TEXT(id, kinds, refused, why, text) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, text, refused, why},
/* The words of float32_functions.inc, in C. */
#define EXPANDED(...) #__VA_ARGS__
#define CHOOSE(condition, a, b) ((condition) ? a : b)
#define NOT_ABOVE(limit, x) ((limit) < (x) ? (limit) : (x))
#define NOT_BELOW(limit, x) ((limit) > (x) ? (limit) : (x))

static const struct mdf_element_form forms[] = {
#define UNARY(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define BINARY(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define UNARY_GIVEN(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define BINARY_GIVEN(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define PREDICATE(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define COMPARISON(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define ONLY_TEXT(id, kinds, ...) TEXT(id, kinds, NULL, NULL, #__VA_ARGS__)
#define VECTORS(id, kind, n_operands, ...) TEXT(id, kind, NULL, NULL, EXPANDED(__VA_ARGS__))
#define REFUSING(id, kinds, condition, why, ...) TEXT(id, kinds, #condition, why, #__VA_ARGS__)
#define REFUSING_TEXT(id, kinds, condition, why, ...) TEXT(id, kinds, #condition, why, #__VA_ARGS__)
#include "functions/elements/elements.def"
};

unsigned mdf_element_kind(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        return dtype == MDF_DTYPE_FLOAT32   ? MDF_ELEMENTS_FLOAT32
               : dtype == MDF_DTYPE_FLOAT64 ? MDF_ELEMENTS_FLOAT64
               : mdf_dtype_is_half(dtype)   ? MDF_ELEMENTS_HALVES
                                            : 0;
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

const struct mdf_element *mdf_element_of(const struct mdf_operator *operator, const void * settings)
{
    return operator->element_of != NULL ? operator->element_of(settings) : operator->element;
}

const struct mdf_element_form *mdf_element_form(const struct mdf_element *element, mdf_dtype dtype)
{
    unsigned kind = mdf_element_kind(dtype);

    for (; element != NULL; element = element->base) {
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            if (forms[i].id == element->id && (forms[i].kinds & kind) != 0) {
                return &forms[i];
            }
        }
    }
    return NULL;
}

bool mdf_element_is_constant(const struct mdf_element *element, mdf_dtype dtype)
{
    const struct mdf_element_form *form = mdf_element_form(element, dtype);

    return form != NULL && (strcmp(form->text, "false") == 0 || strcmp(form->text, "true") == 0);
}

const struct mdf_element *mdf_element_with_constant(const struct mdf_element *element, double number)
{
    static const struct {
        enum mdf_element_id id;
        double number;
        const struct mdf_element *simpler;
    } rows[] = {
#define WITH_CONSTANT(id, number, other) {MDF_ELEMENT_##id, number, MDF_ELEMENT(other)},
#include "functions/elements/elements.def"
    };

    for (; element != NULL; element = element->base) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].id == element->id && rows[i].number == number) {
                return rows[i].simpler;
            }
        }
    }
    return NULL;
}

const struct mdf_element *mdf_element_of_loop(mdf_loop loop, mdf_dtype dtype)
{
    for (size_t i = 0; loop != NULL && i < MDF_ELEMENT_COUNT; i++) {
        if (mdf_element_operations[i].loops[dtype] == loop) {
            return &mdf_elements[i];
        }
    }
    return NULL;
}

const char *mdf_element_nodes(const struct mdf_element *element, unsigned kinds)
{
    static const struct {
        enum mdf_element_id id;
        unsigned kinds;
        const char *text;
    } rows[] = {
#define NODES(id, kinds, text) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, text},
#include "functions/elements/elements.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].id == element->id && (rows[i].kinds & kinds) != 0) {
            return rows[i].text;
        }
    }
    return NULL;
}

size_t mdf_element_alike(const struct mdf_element *element)
{
    static const struct {
        enum mdf_element_id id;
        size_t first;
    } rows[] = {
#define ALIKE(id, first) {MDF_ELEMENT_##id, first},
#include "functions/elements/elements.def"
    };

    for (; element != NULL; element = element->base) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].id == element->id) {
                return rows[i].first;
            }
        }
    }
    return SIZE_MAX;
}
