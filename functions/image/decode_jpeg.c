/* decode_jpeg.c - JPEG, by libjpeg, with its smooth upsampling. */
#include "functions/image/image.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

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
static bool read_rows(struct jpeg_decompress_struct *file, struct mdf_image *image)
{
    jpeg_mem_src(file, image->bytes, image->n_bytes);
    if (jpeg_read_header(file, TRUE) != JPEG_HEADER_OK || !is_convertible(file->jpeg_color_space)) {
        return false;
    }
    file->out_color_space = JCS_RGB;
    file->mem->max_memory_to_use = 1 << 28; /* of progressive files, whose coefficients are all kept */
    jpeg_start_decompress(file);
    if (!mdf_image_make(image, file->output_width, file->output_height)) {
        return false;
    }
    while (file->output_scanline < file->output_height) {
        JSAMPROW row = image->pixels + (size_t)file->output_scanline * image->width * 3;

        if (file->err->num_warnings > 0 && file->output_scanline == 0) {
            return false; /* corrupt from the start */
        }
        jpeg_read_scanlines(file, &row, 1);
    }
    return jpeg_finish_decompress(file);
}

bool mdf_image_decode_jpeg(struct mdf_image *image)
{
    struct jpeg_decompress_struct file;
    struct faults faults;
    volatile bool done = false;

    file.err = jpeg_std_error(&faults.manager);
    faults.manager.error_exit = leave;
    faults.manager.output_message = say_nothing;
    if (setjmp(faults.back) == 0) {
        jpeg_create_decompress(&file);
        done = read_rows(&file, image);
    }
    jpeg_destroy_decompress(&file);
    return done;
}
