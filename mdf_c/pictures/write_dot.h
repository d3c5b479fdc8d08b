/* write_dot.h - a graph of a model as a picture, in the language of Graphviz (DOT).
 *
 * Comes in: a model. Goes out: a text for the program dot. Source of the look: modeci_mdf/interfaces/graphviz/exporter.py of MDF.
 */
#ifndef MDF_PICTURES_WRITE_DOT_H
#define MDF_PICTURES_WRITE_DOT_H

#include "mdf_c/model/model.h"

/* How much of a node is told. */
enum mdf_detail {
    MDF_DETAIL_AUTOMATIC, /* CONTENTS; NAMES where the graph is so large that nobody could read more */
    MDF_DETAIL_NAMES,     /* ids of nodes only */
    MDF_DETAIL_CONTENTS,  /* ports, parameters, functions and conditions too; what an edge connects and its weight */
    MDF_DETAIL_ALL        /* metadata and what functions are defined as too; long values in full */
};

/* Appends `graph`, one of the model's, with the bodies of its Scan, Loop and If and the graphs inside its nodes. Any text of the
 * model may stand in it: all is escaped. The same model gives the same text. */
mdf_status mdf_write_dot(struct mdf_text *dot, const struct mdf_model *model, const struct mdf_graph *graph,
                         enum mdf_detail detail, mdf_error *error);

#endif
