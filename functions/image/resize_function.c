/* resize_function.c - see mdf_resize_function in resize.h. */
#include "functions/image/resize.h"

#include <string.h>

#include <math.h>

#include "functions/image/resize_places_routine.inc"

#define ROUTINES "functions/image/resize_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/image/resize_axes_routine.inc"
#include "functions/kernel/routine_reals.inc"

mdf_routine_function mdf_resize_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_ELEMENTS = 1 << 10 };

    if (strcmp(plan->function, "resize_in_region") == 0) {
        return plan->whole[6] > MOST_ELEMENTS ? NULL : MDF_ROUTINE_OF_REALS(plan, resize_in_region);
    }
    if (plan->whole[1] > MOST_ELEMENTS) {
        return NULL;
    }
    return strcmp(plan->function, "resize") == 0              ? MDF_ROUTINE_OF_REALS(plan, resize)
           : strcmp(plan->function, "resize_to_nearest") == 0 ? MDF_ROUTINE_OF_REALS(plan, resize_to_nearest)
           : strcmp(plan->function, "resize_region") == 0     ? MDF_ROUTINE_OF_REALS(plan, resize_region)
                                                              : MDF_ROUTINE_OF_REALS(plan, resize_region_to_nearest);
}
