/* conv_tiles_kernels.h - for the files of conv_tiles.c: tiles of a convolution, for each type and kind of vector. */
#ifndef MDF_FUNCTIONS_WINDOWS_CONV_TILES_KERNELS_H
#define MDF_FUNCTIONS_WINDOWS_CONV_TILES_KERNELS_H

#include "functions/products/fused_vectors.h"
#include "functions/products/fused_words.h"

/* Lanes [low, high) of a vector are windows, from window `to` on. */
struct mdf_tile_part {
    int64_t to, low, high;
};

struct mdf_tile_vector {
    int64_t first; /* where lane 0 lies, in a plane */
    const struct mdf_tile_part *parts;
    size_t n_parts;
};

/* What a tile is made from, for its group and its vectors. */
struct mdf_tile {
    size_t n_channels, n_taps, n_plane;
    size_t n_block;      /* channels that are summed in one go */
    const int64_t *taps; /* where they lie, from a window's place */
    size_t n_ahead;      /* weights that are needed soon lie so many elements behind those in use */
    const void *planes;
    const struct mdf_tile_vector *vectors;
    bool is_whole; /* all lanes of both vectors are windows, one after the other */
    int64_t y_row; /* windows of an output channel */
    const void *limits;
};

typedef void (*mdf_conv_tile_function)(const struct mdf_tile *tile, const void *packed, const void *starts, size_t n_rows,
                                       void *target);

enum { MDF_TILE_POINTS = 4, MDF_TILE_SUMS = 8 };

/* Panels one behind the other: 1, 2, 4 or 8, of so many rows each, all of which are output channels where there is more than one.
 */
struct mdf_tile_panels {
    size_t n, n_rows, n_outputs;
    const void *weights, *starts; /* a vector of the latter for each panel */
};

struct mdf_tile_kernels {
    size_t rows, lanes;
    mdf_conv_tile_function tiles[3][2]; /* of 1/3, 2/3, 3/3 of the rows; of 1, 2 vectors */
    /* Of the windows of one vector, up to MDF_TILE_POINTS, that times panels at most MDF_TILE_SUMS; NULL: there is none. */
    void (*points)(const struct mdf_tile *tile, const struct mdf_tile_panels *panels, void *target);
    void (*pack_panel)(const void *weights, size_t n, size_t n_panel, size_t k, void *packed);
};
MDF_DECLARE_FUSED(struct mdf_tile_kernels, mdf_tile_kernels);
MDF_DECLARE_WORDS(struct mdf_tile_kernels, mdf_tile_kernels);
MDF_DECLARE_PAIRS(struct mdf_tile_kernels, mdf_tile_kernels);

#endif
