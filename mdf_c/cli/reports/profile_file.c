/* profile_file.c - see profile_file.h. */
#include "mdf_c/cli/reports/profile_file.h"

#include "mdf_c/cli/command_line.h"
#include "mdf_c/run/profile.h"
#include "mdf_c/values/values.h"

#include <stdio.h>
#include <string.h>

static bool write_json(const struct mdf_profile *profile, struct mdf_text *text)
{
    struct mdf_value value = {0};
    bool done = mdf_profile_value(profile, &value) && mdf_write_json_value(text, &value, false, NULL) == MDF_OK;

    mdf_text_append_string(text, "\n");
    mdf_value_clear(&profile->shared->memory, &value);
    return done && !text->failed;
}

/* Numbers of the places from the outermost one to `place`. */
static void append_stack(const struct mdf_profile *profile, size_t place, struct mdf_text *text)
{
    if (profile->places[place].parent != place) {
        append_stack(profile, profile->places[place].parent, text);
        mdf_text_append_string(text, ",");
    }
    mdf_text_printf(text, "%zu", place);
}

/* https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources: each place is a frame, and a sample of its own time. */
static bool write_speedscope(const struct mdf_profile *profile, struct mdf_text *text)
{
    double total_s = profile->n_places > 0 ? profile->places[0].total_s : 0;
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_append_string(text, "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", \"shared\": {\"frames\": [");
    for (size_t i = 0; i < profile->n_places; i++) {
        mdf_text_append_string(text, i > 0 ? ", {\"name\": " : "{\"name\": ");
        mdf_write_json_string(text, profile->places[i].name, strlen(profile->places[i].name));
        mdf_text_append_string(text, "}");
    }
    mdf_format_float64(total_s, number);
    mdf_text_printf(text,
                    "]}, \"profiles\": [{\"type\": \"sampled\", \"name\": \"mdf-run\", \"unit\": \"seconds\", \"startValue\": 0, "
                    "\"endValue\": %s, \"samples\": [",
                    number);
    for (size_t i = 0; i < profile->n_places; i++) {
        mdf_text_append_string(text, i > 0 ? ", [" : "[");
        append_stack(profile, i, text);
        mdf_text_append_string(text, "]");
    }
    mdf_text_append_string(text, "], \"weights\": [");
    for (size_t i = 0; i < profile->n_places; i++) {
        double self_s = profile->places[i].total_s - profile->places[i].children_s;

        mdf_format_float64(self_s > 0 ? self_s : 0, number);
        mdf_text_printf(text, "%s%s", i > 0 ? ", " : "", number);
    }
    mdf_text_append_string(text, "]}]}\n");
    return !profile->failed && !text->failed;
}

/* The first suffix that fits counts. */
static const struct {
    const char *suffix;
    bool (*write)(const struct mdf_profile *profile, struct mdf_text *text);
} writers[] = {{".speedscope.json", write_speedscope},
               {".json", write_json},
               {".folded", mdf_profile_folded},
               {".txt", mdf_profile_table}};

enum { N_WRITERS = sizeof writers / sizeof *writers };

static size_t writer_of(const char *path)
{
    size_t i = 0;

    while (i < N_WRITERS && !mdf_ends_with(path, writers[i].suffix)) {
        i++;
    }
    return i;
}

const char *profile_fault(const char *path)
{
    return writer_of(path) < N_WRITERS ? NULL
                                       : "must be a file .json, .folded (stacks for a flame graph), .speedscope.json or .txt";
}

int write_profile(struct mdf_memory *memory, mdf_state *state, const char *path, mdf_error *error)
{
    const struct mdf_profile *profile = state->shared->profile;
    mdf_status status = MDF_OK;
    struct mdf_text text;

    mdf_text_init(&text, memory);
    if (!(path != NULL ? writers[writer_of(path)].write : mdf_profile_table)(profile, &text)) {
        status = mdf_memory_error(memory, error);
    } else if (path != NULL) {
        status = mdf_save_file(memory, path, text.bytes, text.length, error);
    } else {
        fwrite(text.bytes, 1, text.length, stderr);
    }
    mdf_text_release(&text);
    return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}
