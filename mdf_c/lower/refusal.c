/* refusal.c - see refusal.h. */
#include "mdf_c/lower/refusal.h"

static const struct {
    const char *text, *cure;
} refusals[] = {{NULL, NULL},
#define MDF_REFUSAL_ROW(name, text, cure) {text, cure},
                MDF_REFUSAL_LIST(MDF_REFUSAL_ROW)
#undef MDF_REFUSAL_ROW
};

const char *mdf_refusal_text(enum mdf_refusal_reason reason)
{
    return refusals[reason].text;
}

const char *mdf_refusal_cure(enum mdf_refusal_reason reason)
{
    return refusals[reason].cure;
}
