/* decode_jpeg.c - JPEG, by libjpeg, with its smooth upsampling. */
#include "functions/image/image.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#define FUNCTIONS(X)          \
    X(jpeg_std_error)         \
    X(jpeg_CreateDecompress)  \
    X(jpeg_mem_src)           \
    X(jpeg_read_header)       \
    X(jpeg_start_decompress)  \
    X(jpeg_read_scanlines)    \
    X(jpeg_finish_decompress) \
    X(jpeg_destroy_decompress)

struct jpeg_library {
    FUNCTIONS(MDF_LATE_POINTER)
};

static const char *const names[] = {FUNCTIONS(MDF_LATE_NAME)};

/* libjpeg reports a fault by a call that must not return. */
struct faults {
    struct jpeg_error_mgr manager;
    jmp_buf back;
};

static void leave(j_common_ptr file)
{
    longjmp(((struct faults *)file->err)->back, 1);
}

static void say_nothing(j_common_ptr file)
{
    (void)file;
}

/* Colours other than these, as the four of print, libjpeg does not turn into red, green, blue. */
static bool is_convertible(J_COLOR_SPACE space)
{
    return space == JCS_GRAYSCALE || space == JCS_RGB || space == JCS_YCbCr;
}

/* Reads the file that `file` was opened for; longjmp leads out of here. */
static bool read_rows(const struct jpeg_library *jpeg, struct jpeg_decompress_struct *file, struct mdf_image *image)
{
    jpeg->jpeg_mem_src(file, image->bytes, image->n_bytes);
    if (jpeg->jpeg_read_header(file, TRUE) != JPEG_HEADER_OK || !is_convertible(file->jpeg_color_space)) {
        return false;
    }
    file->out_color_space = JCS_RGB;
    file->mem->max_memory_to_use = 1 << 28; /* of progressive files, whose coefficients are all kept */
    jpeg->jpeg_start_decompress(file);
    if (!mdf_image_make(image, file->output_width, file->output_height)) {
        return false;
    }
    while (file->output_scanline < file->output_height) {
        JSAMPROW row = image->pixels + (size_t)file->output_scanline * image->width * 3;

        if (file->err->num_warnings > 0 && file->output_scanline == 0) {
            return false; /* corrupt from the start */
        }
        jpeg->jpeg_read_scanlines(file, &row, 1);
    }
    return jpeg->jpeg_finish_decompress(file);
}

bool mdf_image_decode_jpeg(struct mdf_image *image)
{
    struct jpeg_decompress_struct file;
    struct faults faults;
    struct jpeg_library jpeg;
    volatile bool done = false;

    if (!mdf_image_load_library(image, MDF_LATE_JPEG, names, sizeof names / sizeof *names, &jpeg)) {
        return false;
    }
    file.err = jpeg.jpeg_std_error(&faults.manager);
    faults.manager.error_exit = leave;
    faults.manager.output_message = say_nothing;
    if (setjmp(faults.back) == 0) {
        jpeg.jpeg_CreateDecompress(&file, JPEG_LIB_VERSION, sizeof file);
        done = read_rows(&jpeg, &file, image);
    }
    jpeg.jpeg_destroy_decompress(&file);
    return done;
}
