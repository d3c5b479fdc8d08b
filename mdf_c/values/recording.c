/* recording.c - what ports held, step by step. See values.h.
 *
 * A value is a header word and its elements, padded to whole words. The header says what follows: nothing, an array of
 * numbers of one of the forms in the form table, or the number of a value among `others`. So a real number takes two words
 * however many steps there are, and any step can be looked at. */
#include "mdf_c/values/values.h"

#include <math.h>
#include <string.h>

enum tag { TAG_NOTHING, TAG_NUMBERS, TAG_OTHER };
enum { TAG_BITS = 2 };

struct mdf_recorded_form {
    mdf_dtype dtype;
    uint8_t strength;
    size_t rank;
    int64_t *shape;
};

mdf_status mdf_recording_init(struct mdf_recording *recording, struct mdf_memory *memory, const struct mdf_column *columns,
                              size_t n_columns, mdf_error *error)
{
    memset(recording, 0, sizeof *recording);
    recording->memory = memory;
    recording->columns = columns;
    recording->n_columns = n_columns;
    recording->column_forms = mdf_memory_allocate_zeroed(memory, n_columns, sizeof *recording->column_forms);
    if (recording->column_forms == NULL) {
        return mdf_memory_error(memory, error);
    }
    for (size_t i = 0; i < n_columns; i++) {
        recording->column_forms[i] = SIZE_MAX;
    }
    return MDF_OK;
}

void mdf_recording_release(struct mdf_recording *recording)
{
    struct mdf_memory *memory = recording->memory;

    for (size_t i = 0; i < recording->n_forms; i++) {
        mdf_memory_release(memory, recording->forms[i].shape);
    }
    for (size_t i = 0; i < recording->n_others; i++) {
        mdf_value_clear(memory, &recording->others[i]);
    }
    mdf_memory_release(memory, recording->words);
    mdf_memory_release(memory, recording->forms);
    mdf_memory_release(memory, recording->column_forms);
    mdf_memory_release(memory, recording->others);
    mdf_memory_release(memory, recording->value_places);
    mdf_memory_release(memory, recording->times);
    mdf_memory_release(memory, recording->schedule_words);
    mdf_memory_release(memory, recording->schedules);
    memset(recording, 0, sizeof *recording);
}

/* Room for `added` more items in an array of the recording; the array, moved or not, or NULL. */
static void *reserve(struct mdf_recording *recording, void *items, size_t n, size_t added, size_t *capacity, size_t item_size)
{
    size_t needed;

    if (!mdf_size_add(n, added, &needed)) {
        return NULL;
    }
    if (items != NULL && needed <= *capacity) {
        return items;
    }
    return mdf_memory_grow(recording->memory, items, capacity, needed, item_size);
}

mdf_status mdf_recording_begin_step(struct mdf_recording *recording, double time, mdf_error *error)
{
    double *times = reserve(recording, recording->times, recording->n_steps, 1, &recording->times_capacity, sizeof *times);

    if (times == NULL) {
        return mdf_memory_error(recording->memory, error);
    }
    recording->times = times;
    times[recording->n_steps++] = time;
    return MDF_OK;
}

/* ------------------------------------------------------------------ values */

static bool has_form(const struct mdf_recorded_form *form, const struct mdf_value *value)
{
    return form->dtype == (mdf_dtype)value->dtype && form->strength == value->strength && form->rank == value->rank &&
           (form->rank == 0 || memcmp(form->shape, mdf_value_shape(value), form->rank * sizeof *form->shape) == 0);
}

/* The number of the form that a value in `column` has; SIZE_MAX when out of memory. A column whose form comes and goes
 * adds a form at each change. */
static size_t find_form(struct mdf_recording *recording, size_t column, const struct mdf_value *value)
{
    struct mdf_recorded_form form = {(mdf_dtype)value->dtype, value->strength, value->rank, NULL}, *forms;
    size_t last = recording->column_forms[column];

    if (last != SIZE_MAX && has_form(&recording->forms[last], value)) {
        return last;
    }
    forms = reserve(recording, recording->forms, recording->n_forms, 1, &recording->forms_capacity, sizeof *forms);
    if (forms == NULL) {
        return SIZE_MAX;
    }
    recording->forms = forms;
    form.shape = mdf_memory_allocate_zeroed(recording->memory, form.rank, sizeof *form.shape);
    if (form.shape == NULL) {
        return SIZE_MAX;
    }
    if (form.rank > 0) {
        memcpy(form.shape, mdf_value_shape(value), form.rank * sizeof *form.shape);
    }
    forms[recording->n_forms] = form;
    recording->column_forms[column] = recording->n_forms;
    return recording->n_forms++;
}

/* Appends a header word and `n_bytes` of elements. */
static bool add_words(struct mdf_recording *recording, enum tag tag, size_t number, const void *elements, size_t n_bytes)
{
    size_t n_words = 1 + n_bytes / sizeof(uint64_t) + (n_bytes % sizeof(uint64_t) != 0);
    uint64_t *words =
        reserve(recording, recording->words, recording->n_words, n_words, &recording->words_capacity, sizeof *words);
    size_t *places =
        reserve(recording, recording->value_places, recording->n_values, 1, &recording->values_capacity, sizeof *places);

    recording->words = words != NULL ? words : recording->words;
    recording->value_places = places != NULL ? places : recording->value_places;
    if (words == NULL || places == NULL) {
        return false;
    }
    places[recording->n_values++] = recording->n_words;
    words[recording->n_words] = (uint64_t)number << TAG_BITS | tag;
    if (n_bytes > 0) {
        memcpy(&words[recording->n_words + 1], elements, n_bytes);
    }
    recording->n_words += n_words;
    return true;
}

static bool add_other(struct mdf_recording *recording, const struct mdf_value *value)
{
    struct mdf_value *others =
        reserve(recording, recording->others, recording->n_others, 1, &recording->others_capacity, sizeof *others);

    if (others == NULL) {
        return false;
    }
    recording->others = others;
    memset(&others[recording->n_others], 0, sizeof *others);
    recording->n_others++;
    return mdf_value_copy_apart(recording->memory, &others[recording->n_others - 1], value) &&
           add_words(recording, TAG_OTHER, recording->n_others - 1, NULL, 0);
}

mdf_status mdf_recording_add_value(struct mdf_recording *recording, const struct mdf_value *value, mdf_error *error)
{
    bool done;

    if (value == NULL || value->kind == MDF_KIND_NONE) {
        done = add_words(recording, TAG_NOTHING, 0, NULL, 0);
    } else if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
        done = add_other(recording, value);
    } else {
        size_t form = find_form(recording, recording->n_values % recording->n_columns, value);

        done = form != SIZE_MAX &&
               add_words(recording, TAG_NUMBERS, form, value->data, value->length * mdf_dtype_size((mdf_dtype)value->dtype));
    }
    return done ? MDF_OK : mdf_memory_error(recording->memory, error);
}

struct mdf_value mdf_recording_value(const struct mdf_recording *recording, size_t step, size_t column)
{
    const uint64_t *word = &recording->words[recording->value_places[step * recording->n_columns + column]];
    size_t number = (size_t)(*word >> TAG_BITS);
    struct mdf_value value = {0};

    if ((*word & ((1 << TAG_BITS) - 1)) == TAG_OTHER) {
        return recording->others[number];
    }
    if ((*word & ((1 << TAG_BITS) - 1)) == TAG_NUMBERS) {
        const struct mdf_recorded_form *form = &recording->forms[number];

        mdf_value_borrow_tensor(recording->memory, &value, form->dtype, (enum mdf_strength)form->strength, form->rank,
                                form->shape, word + 1);
    }
    return value;
}

/* ------------------------------------------------------------------ schedules */

mdf_status mdf_recording_add_schedule(struct mdf_recording *recording, const size_t *words, size_t n_words, mdf_error *error)
{
    size_t *schedules =
        reserve(recording, recording->schedules, recording->n_schedules, 1, &recording->schedules_capacity, sizeof *schedules);
    size_t last, *copy;

    if (schedules == NULL) {
        return mdf_memory_error(recording->memory, error);
    }
    recording->schedules = schedules;
    last = recording->n_schedules > 0 ? schedules[recording->n_schedules - 1] : 0;
    if (recording->n_schedules == 0 || recording->n_schedule_words - last != n_words ||
        memcmp(&recording->schedule_words[last], words, n_words * sizeof *words) != 0) {
        copy = reserve(recording, recording->schedule_words, recording->n_schedule_words, n_words,
                       &recording->schedule_words_capacity, sizeof *copy);
        if (copy == NULL) {
            return mdf_memory_error(recording->memory, error);
        }
        recording->schedule_words = copy;
        last = recording->n_schedule_words;
        memcpy(&copy[last], words, n_words * sizeof *words);
        recording->n_schedule_words += n_words;
    }
    schedules[recording->n_schedules++] = last;
    return MDF_OK;
}

const size_t *mdf_recording_schedule(const struct mdf_recording *recording, size_t step)
{
    return step < recording->n_schedules ? &recording->schedule_words[recording->schedules[step]] : NULL;
}

void mdf_append_column_name(struct mdf_text *text, const struct mdf_column *column)
{
    if (column->result != NULL) {
        mdf_text_append_string(text, column->result);
    } else {
        mdf_text_printf(text, "%s.%s", column->node_id, column->port_id);
    }
}

bool mdf_report_has_times(const struct mdf_report *report)
{
    return report->trace && report->recording->n_steps > 0 && !isnan(report->recording->times[0]);
}
