/* detect.c - NonMaxSuppression.
 *
 * Comes in: boxes [batches, n, 4], scores [batches, classes, n], bounds on number, overlap and score. Goes out: rows (batch,
 * class, box), for each batch and class by falling score, of the boxes that overlap none before them by more than the bound.
 * Overlap is intersection over union. Source: ONNX NonMaxSuppression, all versions. */
#include "functions/folds/ordering.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct suppression_settings {
    int64_t center_point_box;
};

static const struct mdf_setting suppression_table[] = {
    {"center_point_box", MDF_SETTING_INT, offsetof(struct suppression_settings, center_point_box)}, {NULL, MDF_SETTING_INT, 0}};

struct rectangle {
    double top, left, bottom, right, area;
};

struct suppression {
    const struct mdf_context *context;
    const double *boxes, *scores; /* of the batch, and of the class in it */
    size_t n_boxes, n_most;
    double overlap, score;
    bool by_centre;
    int64_t *order, *spare;
    uint64_t *keys; /* of the scores, that of the highest first */
    struct rectangle *selected;
};

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct rectangle rectangle_of(const struct suppression *job, int64_t box)
{
    const double *b = job->boxes + 4 * box;
    struct rectangle of;

    if (job->by_centre) {
        of = (struct rectangle){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2, 0};
    } else {
        of = (struct rectangle){smaller(b[0], b[2]), smaller(b[1], b[3]), larger(b[0], b[2]), larger(b[1], b[3]), 0};
    }
    of.area = (of.bottom - of.top) * (of.right - of.left);
    return of;
}

static bool overlap(const struct suppression *job, const struct rectangle *a, const struct rectangle *b)
{
    double height = smaller(a->bottom, b->bottom) - larger(a->top, b->top);
    double width = smaller(a->right, b->right) - larger(a->left, b->left), shared = height * width;

    if (height <= 0 || width <= 0 || a->area <= 0 || b->area <= 0) {
        return false;
    }
    return shared / (a->area + b->area - shared) > job->overlap;
}

/* Boxes of one class that stay, into the front of job->order; their number. */
static size_t select_boxes(const struct suppression *job)
{
    size_t n = 0, n_selected = 0;

    for (size_t i = 0; i < job->n_boxes; i++) {
        if (job->scores[i] > job->score) {
            job->order[n++] = (int64_t)i;
        }
    }
    mdf_order_keys(MDF_DTYPE_FLOAT64, job->scores, 1, job->n_boxes, true, MDF_NAN_LAST, job->keys);
    mdf_sort_by_keys(job->context->stop, job->order, job->spare, n, job->keys);
    for (size_t i = 0; i < n && n_selected < job->n_most && !mdf_should_stop(job->context); i++) {
        struct rectangle rectangle = rectangle_of(job, job->order[i]);
        bool free = true;

        for (size_t other = 0; free && other < n_selected; other++) {
            free = !overlap(job, &job->selected[other], &rectangle);
        }
        if (free) {
            job->selected[n_selected] = rectangle;
            job->order[n_selected++] = job->order[i];
        }
    }
    return n_selected;
}

static bool check_shapes(struct mdf_call *call, const struct mdf_value *boxes, const struct mdf_value *scores)
{
    const int64_t *box_shape = mdf_value_shape(boxes), *score_shape = mdf_value_shape(scores);
    char box_text[96], score_text[96];

    if (boxes->rank == 3 && scores->rank == 3 && box_shape[2] == 4 && box_shape[0] == score_shape[0] &&
        box_shape[1] == score_shape[2]) {
        return true;
    }
    mdf_value_describe(boxes, box_text, sizeof box_text);
    mdf_value_describe(scores, score_text, sizeof score_text);
    return mdf_call_error(call, MDF_SHAPE, "boxes are %s and scores %s; [batches, n, 4] and [batches, classes, n] are needed",
                          box_text, score_text);
}

/* The bounds, each with its default; false with the error set. */
static bool read_bounds(struct mdf_call *call, struct suppression *job)
{
    int64_t n_most = 0;

    job->overlap = 0;
    job->score = -INFINITY;
    if ((mdf_call_input(call, 2) != NULL && !mdf_call_integer(call, 2, &n_most)) ||
        (mdf_call_input(call, 3) != NULL && !mdf_call_real(call, 3, &job->overlap)) ||
        (mdf_call_input(call, 4) != NULL && !mdf_call_real(call, 4, &job->score))) {
        return false;
    }
    if (!(job->overlap >= 0 && job->overlap <= 1)) {
        return mdf_call_error(call, MDF_VALUE, "iou_threshold is %g, not in [0, 1]", job->overlap);
    }
    job->n_most = n_most < 0 ? 0 : (uint64_t)n_most < job->n_boxes ? (size_t)n_most : job->n_boxes;
    return true;
}

/* Selects for each batch and class; rows are written to `rows`, which has room for all. The number of rows. */
static size_t select_rows(struct suppression *job, const double *boxes, const double *scores, size_t n_batches, size_t n_classes,
                          int64_t *rows)
{
    size_t n_rows = 0;

    for (size_t batch = 0; batch < n_batches; batch++) {
        job->boxes = boxes + batch * job->n_boxes * 4;
        for (size_t class = 0; class < n_classes; class ++) {
            size_t n_selected;

            job->scores = scores + (batch * n_classes + class) * job->n_boxes;
            n_selected = select_boxes(job);
            for (size_t i = 0; i < n_selected; i++, n_rows++) {
                rows[3 * n_rows] = (int64_t)batch;
                rows[3 * n_rows + 1] = (int64_t) class;
                rows[3 * n_rows + 2] = job->order[i];
            }
        }
    }
    return n_rows;
}

static bool non_max_suppression(struct mdf_call *call)
{
    const struct suppression_settings *settings = call->settings;
    const struct mdf_value *boxes = mdf_call_tensor(call, 0), *scores = mdf_call_tensor(call, 1);
    struct suppression job;
    struct mdf_workspace workspace;
    size_t n_batches, n_classes, n_rows = 0, n_room;
    const double *box_elements, *score_elements;
    int64_t *rows, *target;

    if (boxes == NULL || scores == NULL || !check_shapes(call, boxes, scores)) {
        return false;
    }
    n_batches = (size_t)mdf_value_shape(scores)[0];
    n_classes = (size_t)mdf_value_shape(scores)[1];
    job.context = call->context;
    job.n_boxes = (size_t)mdf_value_shape(scores)[2];
    job.by_centre = settings->center_point_box == 1;
    if (!read_bounds(call, &job) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 7)) {
        return false;
    }
    box_elements = mdf_workspace_input(&workspace, 0);
    score_elements = mdf_workspace_input(&workspace, 1);
    job.order = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, scores->length > 0 ? job.n_boxes : 0);
    job.spare = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, scores->length > 0 ? job.n_boxes : 0);
    job.keys = mdf_workspace_array(&workspace, MDF_DTYPE_UINT64, scores->length > 0 ? job.n_boxes : 0);
    job.selected = mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT64, scores->length > 0 ? job.n_most : 0,
                                        sizeof *job.selected / sizeof(double));
    n_room = scores->length > 0 ? n_batches * n_classes * job.n_most : 0;
    rows = mdf_workspace_matrix(&workspace, MDF_DTYPE_INT64, n_room, 3);
    if (box_elements == NULL || score_elements == NULL || job.order == NULL || job.spare == NULL || job.keys == NULL ||
        job.selected == NULL || rows == NULL) {
        return false;
    }
    if (n_room > 0) {
        n_rows = select_rows(&job, box_elements, score_elements, n_batches, n_classes, rows);
    }
    target = mdf_call_output(call, 0, MDF_DTYPE_INT64, 2, (const int64_t[2]){(int64_t)n_rows, 3});
    if (target != NULL && n_rows > 0) {
        memcpy(target, rows, 3 * n_rows * sizeof *target);
    }
    return target != NULL;
}

static bool plan_suppression(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct suppression_settings *settings = call->settings;
    const int64_t *scores = mdf_value_shape(call->inputs[1]);

    for (size_t i = 3; i < 5; i++) {
        if (mdf_call_input(call, i) != NULL && call->inputs[i]->dtype != MDF_DTYPE_FLOAT32) {
            return false;
        }
    }
    if ((mdf_call_input(call, 2) != NULL && call->inputs[2]->dtype != MDF_DTYPE_INT64) || !mdf_routine_room(plan, 5, 0)) {
        return false;
    }
    plan->function = "suppress";
    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    memcpy(plan->whole, scores, 3 * sizeof *scores);
    plan->whole[3] = settings->center_point_box == 1;
    plan->whole[4] = mdf_value_shape(call->outputs[0])[0];
    plan->work_bytes = (size_t)scores[2] * (5 * sizeof(double) + sizeof(int64_t));
    return call->inputs[1]->dtype == call->inputs[0]->dtype;
}

const struct mdf_operator mdf_operators_detect[] = {
    {"NonMaxSuppression", 10, 99, non_max_suppression, suppression_table, sizeof(struct suppression_settings), MDF_OPERATOR_PURE,
     NULL,
     .routine = MDF_ROUTINE(plan_suppression, "other numbers of boxes stay than when the model was compiled, or iou_threshold is "
                                              "not in [0, 1]"),
     .infer = &mdf_rule_suppression},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
