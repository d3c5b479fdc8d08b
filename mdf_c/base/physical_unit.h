/* physical_unit.h - units of measurement as texts: "mV", "uF/cm^2", "kg.m/s2". */
#ifndef MDF_BASE_PHYSICAL_UNIT_H
#define MDF_BASE_PHYSICAL_UNIT_H

#include <stdbool.h>

/* Powers of the SI's base units, in the order that FMI has them. */
enum mdf_base_unit {
    MDF_UNIT_KG,
    MDF_UNIT_M,
    MDF_UNIT_S,
    MDF_UNIT_A,
    MDF_UNIT_K,
    MDF_UNIT_MOL,
    MDF_UNIT_CD,
    MDF_UNIT_RAD,
    MDF_BASE_UNITS
};

/* factor times the base units to their powers. Degrees Celsius are kelvins with an offset. */
struct mdf_physical_unit {
    double factor;
    int powers[MDF_BASE_UNITS];
    double offset; /* of its zero, in base units; 0 of all that is no single symbol */
};

/* Reads a unit: symbols of the table in physical_unit.c, of the SI with its prefixes, with powers (m2, m^2, m**2, s-1), in
 * products (space, ., *) and quotients (/, which holds for the next symbol, or parenthesis); "1" and "" have none. False: it is
 * not known. */
bool mdf_read_physical_unit(const char *text, struct mdf_physical_unit *unit);
/* Whether both are powers of the same base units; `with_factor`: and as large. An angle is a number. */
bool mdf_same_physical_unit(const struct mdf_physical_unit *a, const struct mdf_physical_unit *b, bool with_factor);
/* unit times other to a power. */
void mdf_multiply_physical_unit(struct mdf_physical_unit *unit, const struct mdf_physical_unit *other, int power);

#endif
