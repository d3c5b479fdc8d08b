/* run_into_store.c - a sweep whose results go to a folder in chunks of instances.
 *
 * What is held in memory is one chunk's. The form of results is that of the first instances, which each call evaluates, as a
 * sweep that is held as a whole does; so a chunk has the same bits whichever call evaluates it, and one that is there need not be
 * evaluated. */
#include "mdf_c/base/hash.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/cli/sweep/sweep_run.h"
#include "mdf_c/cli/sweep/sweep_store.h"
#include "mdf_c/run/sweep/sweep.h"
#include "mdf_c/model/model.h"
#include "mdf_c/values/values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* So many chunks at least, that little is lost with one; none of more bytes; but in each enough instances to keep threads busy.
 */
enum { LEAST_CHUNKS = 128, MOST_CHUNK_BYTES = 1 << 22, LEAST_INSTANCES = 64 };

struct store_run {
    struct sweep_run *run;
    struct sweep_store store;
    struct store_array *arrays; /* of the swept names, step, time, seed, and of the recorded ports */
    struct mdf_value *values;   /* of each */
    size_t n_arrays, n_whole;   /* the first of them, which are one chunk each */
    bool is_reduced;            /* what is recorded is told of many instances together, at the end; chunks go to STORE_REDUCED */
    const char **told;          /* names of the arrays that get it */
    size_t chunk, n_chunks;
    size_t first_chunk, last_chunk; /* of this part */
    struct mdf_hash hash;
};

bool is_store(const char *path)
{
    return path != NULL && mdf_ends_with(path, ".zarr");
}

/* ------------------------------------------------------------------ what it is a store of */

static void add_value(struct mdf_hash *hash, const char *name, const struct mdf_value *value)
{
    mdf_hash_add_text(hash, name);
    mdf_hash_add(hash, &value->dtype, sizeof value->dtype);
    mdf_hash_add(hash, &value->strength, sizeof value->strength);
    if (value->kind == MDF_KIND_TENSOR) {
        mdf_hash_add(hash, mdf_value_shape(value), value->rank * sizeof(int64_t));
        mdf_hash_add(hash, value->data, value->length * mdf_dtype_size((mdf_dtype)value->dtype));
    }
}

static void add_option_texts(struct mdf_hash *hash, const struct option_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++) {
        mdf_hash_add_text(hash, texts->items[i]);
    }
}

static bool add_model(struct store_run *store, const mdf_model *model)
{
    struct mdf_text text;
    bool done;

    mdf_text_init(&text, store->run->memory);
    done = mdf_document_write(&model->document->root, "json", &text, store->run->error);
    if (done) {
        mdf_hash_add(&store->hash, text.bytes, text.length);
    } else {
        mdf_memory_error(store->run->memory, store->run->error); /* where the writer has not said anything */
    }
    mdf_text_release(&text);
    return done;
}

/* All that decides what bits an instance gives. */
static bool hash_sweep(struct store_run *store, const mdf_model *model)
{
    const struct sweep_run *run = store->run;
    const struct sweep_file *file = &run->file;
    const mdf_options *library = &run->options->library;
    const uint64_t numbers[] = {library->float32,
                                (uint64_t)library->loop_condition,
                                (uint64_t)library->dialect,
                                (uint64_t)library->scheduling_mode,
                                (uint64_t)library->method,
                                library->seed,
                                run->asked.n_steps,
                                run->asked.record_every,
                                file->is_grid,
                                file->by_step,
                                (uint64_t)store->store.codec};
    const double tolerances[] = {library->rtol, library->atol, library->max_step};

    store->hash = mdf_hash_begin();
    mdf_hash_add_text(&store->hash, MDF_VERSION);
    mdf_hash_add(&store->hash, numbers, sizeof numbers);
    mdf_hash_add(&store->hash, &run->asked.dt, sizeof run->asked.dt);
    mdf_hash_add(&store->hash, tolerances, sizeof tolerances);
    mdf_hash_add_text(&store->hash, mdf_program_graph_id(run->program));
    for (size_t i = 0; i < file->n_swept; i++) {
        add_value(&store->hash, file->swept[i].name, &file->swept[i].values);
    }
    for (size_t i = 0; i < file->n_given; i++) {
        add_value(&store->hash, file->given[i].name, &file->given[i].values);
    }
    for (size_t i = 0; i < run->inputs.single.length; i++) {
        add_value(&store->hash, mdf_value_key(&run->inputs.single, i), mdf_value_item(&run->inputs.single, i));
    }
    add_value(&store->hash, "seeds", &file->seeds);
    mdf_hash_add_text(&store->hash, file->stop_when != NULL ? file->stop_when : "");
    for (size_t i = 0; i < file->n_axes; i++) {
        mdf_hash_add_text(&store->hash, file->axes[i].name);
        mdf_hash_add(&store->hash, &file->axes[i].length, sizeof file->axes[i].length);
    }
    for (size_t i = 0; i < run->asked.n_reductions; i++) {
        mdf_hash_add(&store->hash, &run->asked.reductions[i].record, sizeof run->asked.reductions[i].record);
        mdf_hash_add(&store->hash, &run->asked.reductions[i].kind, sizeof run->asked.reductions[i].kind);
        mdf_hash_add(&store->hash, run->asked.reductions[i].points,
                     run->asked.reductions[i].n_points * sizeof *run->asked.reductions[i].points);
    }
    mdf_hash_add(&store->hash, run->asked.is_reduced, run->asked.n_reductions > 0 ? file->n_axes * sizeof(bool) : 0);
    add_option_texts(&store->hash, &run->options->settings);
    return add_model(store, model);
}

static void append_names(struct mdf_text *text, const char *key, const struct sweep_column *columns, size_t n)
{
    mdf_text_printf(text, ", \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        mdf_write_json_string(text, columns[i].name, strlen(columns[i].name));
    }
    mdf_text_append_string(text, "]");
}

static void append_optional(struct mdf_text *text, const char *key, const char *string)
{
    mdf_text_printf(text, ", \"%s\": ", key);
    if (string != NULL) {
        mdf_write_json_string(text, string, strlen(string));
    } else {
        mdf_text_append_string(text, "null");
    }
}

/* Names and lengths: of the instances, or of the cells that are told. */
static void append_axes(struct mdf_text *text, const struct sweep_report *report)
{
    mdf_text_append_string(text, ", \"axes\": [");
    for (size_t i = 0; i < report->n_axes; i++) {
        mdf_text_append_string(text, i > 0 ? ", [" : "[");
        mdf_write_json_string(text, report->axes[i].name, strlen(report->axes[i].name));
        mdf_text_printf(text, ", %zu]", report->axes[i].length);
    }
    mdf_text_append_string(text, "]");
}

static bool write_attributes(struct store_run *store, const struct sweep_report *report, const mdf_model *model)
{
    struct sweep_run *run = store->run;
    struct mdf_text text;
    bool done = hash_sweep(store, model);

    mdf_text_init(&text, run->memory);
    mdf_text_printf(&text,
                    "%s{\"mdf_sweep\": {\"fingerprint\": \"%016" PRIx64 "%016" PRIx64 "\", \"instances\": %zu, \"chunk\": %zu, "
                    "\"chunks\": %zu, \"combine\": \"%s\", \"every\": %" PRIu64,
                    store->store.is_v3 ? "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": " : "", store->hash.a,
                    store->hash.b, run->file.n_instances, store->chunk, store->n_chunks, report->combine, report->every);
    append_optional(&text, "model", report->model);
    append_optional(&text, "graph", report->graph);
    append_axes(&text, report);
    append_names(&text, "swept", report->swept, report->n_swept);
    if (store->is_reduced) {
        append_names(&text, "points", report->points, report->n_points);
    }
    append_names(&text, "recorded", report->recorded, report->n_recorded);
    mdf_text_append_string(&text, store->store.is_v3 ? "}}}\n" : "}}\n");
    store->store.attributes = text.failed || !done ? NULL : mdf_arena_text(&run->file.arena, text.bytes, text.length);
    mdf_text_release(&text);
    return store->store.attributes != NULL || (done ? sweep_out_of_memory(run) : false);
}

/* ------------------------------------------------------------------ its arrays */

static struct store_array *add_array(struct store_run *store, const char *name, const struct mdf_value *value,
                                     const char *const *axes, size_t n_axes)
{
    struct store_array *array = &store->arrays[store->n_arrays];

    store->values[store->n_arrays++] = *value;
    *array = (struct store_array){
        .name = name, .dtype = (mdf_dtype)value->dtype, .rank = value->rank, .chunk = 1, .axes = axes, .n_axes = n_axes};
    if (value->rank > 0) {
        memcpy(array->shape, mdf_value_shape(value), value->rank * sizeof *array->shape);
        array->chunk = (size_t)array->shape[0];
    }
    return array;
}

/* One that grows by chunks. */
static struct store_array *add_chunked(struct store_run *store, const char *name, const struct mdf_value *value)
{
    static const char *const axes[] = {"instance", "step"};
    struct store_array *array = add_array(store, name, value, axes, 1);

    array->shape[0] = (int64_t)store->run->file.n_instances;
    array->chunk = store->chunk;
    return array;
}

/* What an axis is called: as the array of its values, where it is of one swept name. */
static const char *axis_name(const struct sweep_report *report, size_t axis)
{
    static const char prefix[] = "swept.";
    const char *name = report->axes[axis].name;

    for (size_t i = 0; i < report->n_swept; i++) {
        const char *column = report->swept[i].name;
        bool is_prefixed = strncmp(column, prefix, sizeof prefix - 1) == 0 && strcmp(column + sizeof prefix - 1, name) == 0;

        if (report->swept[i].axis == axis && is_prefixed) {
            return column;
        }
    }
    return name;
}

static bool list_rows(struct store_run *store, const struct sweep_report *report)
{
    static const char *const step_axis = "step";
    struct sweep_run *run = store->run;
    int64_t *shape = mdf_arena_array(&run->file.arena, 2, sizeof *shape);
    int64_t *steps = mdf_arena_array(&run->file.arena, report->n_rows, sizeof *steps);
    double *times = mdf_arena_array(&run->file.arena, report->n_rows, sizeof *times);
    struct mdf_value value = {0};

    if (shape == NULL || steps == NULL || times == NULL) {
        return sweep_out_of_memory(run);
    }
    shape[0] = (int64_t)report->n_rows;
    for (size_t row = 0; row < report->n_rows; row++) {
        steps[row] = (int64_t)sweep_step_of(report, row);
        times[row] = sweep_time_of(report, row);
    }
    mdf_value_borrow_tensor(run->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, shape, steps);
    add_array(store, "step", &value, &step_axis, 1);
    mdf_value_borrow_tensor(run->memory, &value, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, shape, times);
    add_array(store, "time", &value, &step_axis, 1);
    return true;
}

static bool list_chunked(struct store_run *store, const struct sweep_report *report)
{
    struct sweep_run *run = store->run;
    int64_t *shape = mdf_arena_array(&run->file.arena, 1, sizeof *shape);
    struct mdf_value seeds = {0};
    struct store_array *array;

    if (shape == NULL) {
        return sweep_out_of_memory(run);
    }
    *shape = (int64_t)run->capacity;
    mdf_value_borrow_tensor(run->memory, &seeds, MDF_DTYPE_UINT64, MDF_STRENGTH_TYPED, 1, shape, run->seeds);
    add_chunked(store, "seed", &seeds);
    for (size_t i = 0; i < report->n_recorded; i++) {
        const struct mdf_value *values = &report->recorded[i].values;

        if (values->rank > STORE_DEEPEST_RANK) {
            mdf_error_set(run->error, MDF_LIMIT, "'%s' has more axes than the %d that an array of Zarr has",
                          report->recorded[i].name, (int)STORE_DEEPEST_RANK);
            return false;
        }
        array = add_chunked(store, report->recorded[i].name, values);
        if (report->every > 0 && !report->recorded[i].is_once) {
            array->n_axes++;
        } else { /* the axis of the one row is left out */
            array->rank--;
            memmove(&array->shape[1], &array->shape[2], (array->rank - 1) * sizeof *array->shape);
        }
    }
    return true;
}

/* What is told of cells: for each of their axes one, of the steps, of one value, and of points. */
static bool list_reduced(struct store_run *store, const struct sweep_report *report)
{
    struct sweep_run *run = store->run;
    const char **axes = mdf_arena_array(&run->file.arena, report->n_axes + 1, sizeof *axes);

    store->told = mdf_arena_array(&run->file.arena, report->n_recorded, sizeof *store->told);
    if (axes == NULL || store->told == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < report->n_axes; i++) {
        axes[i] = axis_name(report, i);
    }
    axes[report->n_axes] = "step";
    for (size_t i = 0; i < report->n_points; i++) {
        add_array(store, report->points[i].name, &report->points[i].values, NULL, 0);
    }
    store->n_whole = store->n_arrays;
    for (size_t i = 0; i < report->n_recorded; i++) {
        const struct sweep_column *column = &report->recorded[i];
        bool has_steps = report->every > 0 && !column->is_once;
        size_t rank = report->n_axes + (has_steps ? 1 : 0) + column->values.rank - 2, n = 0;
        struct store_array *array;

        if (rank > STORE_DEEPEST_RANK) {
            return sweep_usage(run, "what is told has more axes than an array of Zarr");
        }
        array = add_array(store, column->name, &column->values, axes, report->n_axes + (has_steps ? 1 : 0));
        array->rank = rank;
        for (size_t j = 0; j < report->n_axes; j++) {
            array->shape[n++] = (int64_t)report->axes[j].length;
        }
        if (has_steps) {
            array->shape[n++] = (int64_t)report->n_rows;
        }
        for (size_t j = 2; j < column->values.rank; j++) {
            array->shape[n++] = mdf_value_shape(&column->values)[j];
        }
        array->chunk = rank > 0 ? (size_t)array->shape[0] : 1;
        store->told[i] = column->name;
    }
    return true;
}

static bool list_arrays(struct store_run *store, const struct sweep_report *report)
{
    struct sweep_run *run = store->run;
    size_t most = report->n_swept + report->n_recorded + report->n_points + 3;
    const char **axes = mdf_arena_array(&run->file.arena, report->n_swept, sizeof *axes);

    store->arrays = mdf_arena_array(&run->file.arena, most, sizeof *store->arrays);
    store->values = mdf_arena_array(&run->file.arena, most, sizeof *store->values);
    if (store->arrays == NULL || store->values == NULL || axes == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < report->n_swept; i++) {
        if (report->swept[i].values.rank > STORE_DEEPEST_RANK) {
            return sweep_usage(run, "swept values have more axes than an array of Zarr");
        }
        axes[i] = axis_name(report, report->swept[i].axis);
        add_array(store, report->swept[i].name, &report->swept[i].values, &axes[i], 1);
    }
    if (!list_rows(store, report)) {
        return false;
    }
    store->n_whole = store->n_arrays;
    return store->is_reduced ? list_reduced(store, report) : list_chunked(store, report);
}

/* ------------------------------------------------------------------ running */

/* How many instances a chunk has. */
static void choose_chunk(struct store_run *store, uint64_t n_parts)
{
    struct sweep_run *run = store->run;
    size_t n_least = n_parts > LEAST_CHUNKS ? (size_t)n_parts : LEAST_CHUNKS, most_bytes = 1, n, most, i;

    for (i = 0; i < run->asked.n_records; i++) {
        mdf_tensor form = {0};
        size_t bytes = mdf_sweep_n_rows(run->sweep), j;

        mdf_sweep_form(run->sweep, i, &form);
        for (j = 0; j < form.rank; j++) {
            bytes *= (size_t)form.shape[j];
        }
        bytes *= mdf_dtype_size(form.dtype);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    n = (run->file.n_instances + n_least - 1) / n_least;
    most = store->is_reduced ? SIZE_MAX : MOST_CHUNK_BYTES / most_bytes;
    n = n < most ? n : most;
    n = n > LEAST_INSTANCES ? n : LEAST_INSTANCES;
    n = run->options->n_chunk > 0 ? (size_t)run->options->n_chunk : n;
    store->chunk = n < run->file.n_instances ? n : run->file.n_instances;
    store->n_chunks = (run->file.n_instances + store->chunk - 1) / store->chunk;
}

/* What has come of a chunk of which only reductions are told. */
static const struct store_array reduced_parts = {.name = STORE_REDUCED, .rank = 1};

static bool write_reduced(struct store_run *store, size_t chunk)
{
    struct sweep_run *run = store->run;
    size_t n = mdf_sweep_save_reduced(run->sweep, NULL, 0);
    void *bytes = n > 0 ? mdf_memory_allocate(run->memory, n) : NULL;
    bool done;

    if (bytes == NULL || mdf_sweep_save_reduced(run->sweep, bytes, n) != n) {
        mdf_memory_release(run->memory, bytes);
        return sweep_out_of_memory(run);
    }
    done = write_chunk_bytes(&store->store, &reduced_parts, chunk, bytes, n);
    mdf_memory_release(run->memory, bytes);
    return done;
}

static bool has_whole_chunk(struct store_run *store, size_t chunk, bool *has)
{
    if (store->is_reduced) {
        return has_chunk(&store->store, &reduced_parts, chunk, has);
    }
    *has = true;
    for (size_t i = store->n_whole; i < store->n_arrays && *has; i++) {
        if (!has_chunk(&store->store, &store->arrays[i], chunk, has)) {
            return false;
        }
    }
    return true;
}

static bool write_chunks(struct store_run *store, size_t chunk, size_t n)
{
    if (store->is_reduced) {
        return write_reduced(store, chunk);
    }
    tell_stopped_times(store->run);
    for (size_t i = store->n_whole; i < store->n_arrays; i++) {
        if (!write_chunk(&store->store, &store->arrays[i], chunk, &store->values[i], n)) {
            return false;
        }
    }
    return true;
}

static bool run_chunk(struct store_run *store, size_t chunk, void *const *arrays)
{
    struct sweep_run *run = store->run;
    size_t first = chunk * store->chunk, left = run->file.n_instances - first, n = left < store->chunk ? left : store->chunk;
    mdf_status status;

    mdf_sweep_free(run->sweep);
    take_instances(run, first, n);
    run->sweep = mdf_sweep_new(run->program, &run->asked, run->error);
    if (run->sweep == NULL) {
        return false;
    }
    run->sweep->n_lanes = (size_t)run->options->n_lanes;
    status = mdf_sweep_run(run->sweep, store->is_reduced ? NULL : arrays, run->error);
    if (status == MDF_INTERRUPTED && mdf_clock_s() >= run->end_s) {
        *run->error = (mdf_error){0};
        mdf_error_set(run->error, MDF_LIMIT,
                      "the time limit has passed: %zu of %zu chunks are there, and --resume goes on with them",
                      chunk - store->first_chunk, store->last_chunk - store->first_chunk);
        return false;
    }
    return status == MDF_OK && write_chunks(store, chunk, n);
}

static bool run_chunks(struct store_run *store, void *const *arrays)
{
    struct sweep_run *run = store->run;
    bool has, done = true;

    start_progress(&run->bar, run->options->progress, (double)((store->last_chunk - store->first_chunk) * store->chunk));
    for (size_t chunk = store->first_chunk; chunk < store->last_chunk && done; chunk++) {
        run->n_before = (chunk - store->first_chunk) * store->chunk;
        done = has_whole_chunk(store, chunk, &has) && (has || run_chunk(store, chunk, arrays));
    }
    end_progress(&run->bar);
    return done;
}

static bool make_reduced_folder(struct store_run *store)
{
    struct mdf_text path;
    bool done;

    mdf_text_init(&path, store->run->memory);
    mdf_text_printf(&path, "%s/%s", store->store.path, STORE_REDUCED);
    done = path.failed ? sweep_out_of_memory(store->run) : make_folder(path.bytes, true, store->run->error);
    mdf_text_release(&path);
    return done;
}

/* Once all chunks are there, by whatever calls: what they come to. */
static bool finish(struct store_run *store)
{
    bool has = true;

    for (size_t chunk = 0; chunk < store->n_chunks && has && store->is_reduced; chunk++) {
        if (!has_whole_chunk(store, chunk, &has)) {
            return false;
        }
    }
    return !store->is_reduced || !has ||
           finish_reduced(&store->store, store->n_chunks, store->told, store->run->asked.n_reductions);
}

/* The store at the path: the one that is there, where this is to go on with it, or a new one. */
static bool open_store(struct store_run *store)
{
    bool resumes = store->run->options->resume, is_there;

    if (!resumes && !make_folder(store->store.path, false, store->run->error)) {
        mdf_error_append(store->run->error, " (--resume goes on with one that is there)");
        return false;
    }
    if (!check_store(&store->store, &is_there)) {
        return false;
    }
    if (!is_there && !make_store(&store->store, store->arrays, store->n_arrays)) {
        return false;
    }
    for (size_t i = 0; i < store->n_whole && !is_there; i++) {
        if (!write_chunk(&store->store, &store->arrays[i], 0, &store->values[i], store->arrays[i].chunk)) {
            return false;
        }
    }
    if (store->is_reduced) {
        return make_reduced_folder(store) &&
               sweep_out_chunks(&store->store, &reduced_parts, store->first_chunk, store->last_chunk) &&
               (is_there || finish_store(&store->store));
    }
    for (size_t i = store->n_whole; i < store->n_arrays; i++) {
        if (!sweep_out_chunks(&store->store, &store->arrays[i], store->first_chunk, store->last_chunk)) {
            return false;
        }
    }
    return is_there || finish_store(&store->store);
}

static bool fill_store(struct store_run *store, const mdf_model *model, void **arrays)
{
    struct sweep_run *run = store->run;
    struct sweep_column *swept = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *swept);
    struct sweep_column *recorded = mdf_arena_array(&run->file.arena, run->asked.n_records + 2, sizeof *recorded);
    struct sweep_report report;

    if (swept == NULL || recorded == NULL) {
        return sweep_out_of_memory(run);
    }
    if (!keep_forms(run) || !hold_instances(run, store->chunk)) {
        return false;
    }
    if (store->is_reduced ? !describe_reduced(run, &report) : !make_results(run, arrays) || !name_columns(run, swept, recorded)) {
        return false;
    }
    if (!store->is_reduced) {
        report = describe_sweep(run, swept, recorded);
    }
    return list_arrays(store, &report) && write_attributes(store, &report, model) && open_store(store) &&
           run_chunks(store, arrays) && finish(store);
}

bool run_into_store(struct sweep_run *run, const mdf_model *model)
{
    struct store_run store = {.run = run,
                              .is_reduced = run->file.n_reductions > 0,
                              .store = {run->memory, run->options->output_path, NULL, run->error, run->options->zarr_format == 3,
                                        (enum store_codec)run->options->compress}};
    void **arrays = mdf_arena_array(&run->file.arena, run->asked.n_records, sizeof *arrays);
    uint64_t part = 1, n_parts = 1;
    double limit_s = run->options->library.time_limit_s;

    if (arrays == NULL) {
        return sweep_out_of_memory(run);
    }
    if (run->options->part != NULL) {
        read_part(run->options->part, &part, &n_parts);
    }
    run->end_s = limit_s > 0 ? mdf_clock_s() + limit_s : INFINITY;
    run->sweep = mdf_sweep_new(run->program, &run->asked, run->error);
    if (run->sweep == NULL) {
        return false;
    }
    choose_chunk(&store, n_parts);
    store.first_chunk = (size_t)((double)store.n_chunks * (double)(part - 1) / (double)n_parts);
    store.last_chunk = part == n_parts ? store.n_chunks : (size_t)((double)store.n_chunks * (double)part / (double)n_parts);
    return fill_store(&store, model, arrays);
}
