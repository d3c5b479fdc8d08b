/* test_moves.c - positions that lie evenly are views: transposed, reversed, repeated; others, and those with gaps, are none. */
#include "functions/kernel/move.h"

#include <criterion/criterion.h>

enum { MOST = 12 };

static const struct {
    const char *what;
    size_t n;
    int64_t positions[MOST];
    size_t n_axes; /* SIZE_MAX: no view */
    int64_t sizes[3], strides[3];
} cases[] = {
    {"one element", 1, {5}, 0, {0}, {0}},
    {"in order", 6, {2, 3, 4, 5, 6, 7}, 1, {6}, {1}},
    {"reversed", 4, {7, 5, 3, 1}, 1, {4}, {-2}},
    {"repeated", 6, {4, 4, 4, 4, 4, 4}, 1, {6}, {0}},
    {"rows repeated", 6, {0, 1, 2, 0, 1, 2}, 2, {2, 3}, {0, 1}},
    {"transposed", 6, {0, 3, 1, 4, 2, 5}, 2, {3, 2}, {1, 3}},
    {"three axes", 8, {0, 1, 10, 11, 100, 101, 110, 111}, 3, {2, 2, 2}, {100, 10, 1}},
    {"uneven", 5, {0, 1, 2, 4, 5}, SIZE_MAX, {0}, {0}},
    {"two pieces of different lengths", 5, {0, 1, 7, 8, 9}, SIZE_MAX, {0}, {0}},
    {"a gap that goes on evenly", 2, {0, MDF_POSITION_NONE}, SIZE_MAX, {0}, {0}},
    {"nothing but gaps", 2, {MDF_POSITION_NONE, MDF_POSITION_NONE}, SIZE_MAX, {0}, {0}},
};

Test(moves, positions_that_lie_evenly_are_views)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct mdf_view view;
        bool is_view = mdf_view_of(cases[k].positions, cases[k].n, &view);

        cr_expect_eq(is_view, cases[k].n_axes != SIZE_MAX, "%s", cases[k].what);
        if (!is_view || cases[k].n_axes == SIZE_MAX) {
            continue;
        }
        cr_expect_eq(view.n_axes, cases[k].n_axes, "%s", cases[k].what);
        cr_expect_eq(view.offset, cases[k].positions[0], "%s", cases[k].what);
        for (size_t axis = 0; axis < cases[k].n_axes; axis++) {
            cr_expect(view.sizes[axis] == cases[k].sizes[axis] && view.strides[axis] == cases[k].strides[axis], "%s",
                      cases[k].what);
        }
    }
}
