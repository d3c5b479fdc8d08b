/* test_physical_unit.c - units of measurement as texts. */
#include "mdf_c/base/physical_unit.h"

#include <criterion/criterion.h>
#include <math.h>

static bool same(const char *a, const char *b, bool with_factor)
{
    struct mdf_physical_unit of_a, of_b;

    cr_assert(mdf_read_physical_unit(a, &of_a), "%s", a);
    cr_assert(mdf_read_physical_unit(b, &of_b), "%s", b);
    return mdf_same_physical_unit(&of_a, &of_b, with_factor);
}

Test(physical_unit, forms_of_one_unit)
{
    static const char *const pairs[][2] = {
        {"V", "kg.m2/s3/A"}, {"V", "J / (A s)"}, {"mS/cm^2", "mS cm-2"}, {"uF/cm2", "\302\265F/cm**2"},
        {"1/s", "Hz"},       {"W/K", "J/(K*s)"}, {"mM", "mol/m3"},       {"h", "(min)/(1)"},
        {"N", "kg m s^-2"},  {"", "1"},          {"rad", "1"},           {"kOhm", "mV/uA"},
        {"l", "L"},          {" mV", "mV"},      {"min", "min"},         {"degC", "K"}};
    size_t i;

    for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bool is_scaled = i == 7;

        cr_expect(same(pairs[i][0], pairs[i][1], !is_scaled), "%s, %s", pairs[i][0], pairs[i][1]);
    }
}

Test(physical_unit, other_units)
{
    cr_expect(same("mV", "V", false) && !same("mV", "V", true));
    cr_expect(same("deg", "rad", false) && !same("deg", "rad", true));
    cr_expect(same("min", "s", false) && !same("min", "s", true));
    cr_expect(!same("mV", "ms", false));
    cr_expect(!same("m", "m2", false));
    cr_expect(!same("1/s", "s", false));
}

Test(physical_unit, zeros_and_sizes)
{
    struct mdf_physical_unit unit;

    cr_expect(mdf_read_physical_unit("degC", &unit) && unit.offset == 273.15 && unit.factor == 1);
    cr_expect(mdf_read_physical_unit("degC/s", &unit) && unit.offset == 0);
    cr_expect(mdf_read_physical_unit("kPa", &unit) && unit.factor == 1000 && unit.powers[MDF_UNIT_KG] == 1 &&
              unit.powers[MDF_UNIT_S] == -2);
    cr_expect(mdf_read_physical_unit("cm2", &unit) && fabs(unit.factor - 1e-4) < 1e-18);
}

Test(physical_unit, unknown_ones)
{
    static const char *const texts[] = {"furlong", "C",    "spikes/s", "mV/",           "m^",   "m^x",  "10 mV", "1.5 s",
                                        "(m",      "m)",   "m2.5",     "m10",           "^2",   "mmV",  "a.u.",  "-",
                                        "/s",      "m//s", "m+s",      "((((((m))))))", "\xff", "mmol/"};
    struct mdf_physical_unit unit;
    size_t i;

    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_expect(!mdf_read_physical_unit(texts[i], &unit), "%s", texts[i]);
    }
}
