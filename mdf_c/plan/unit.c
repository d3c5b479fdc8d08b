/* unit.c - emission of instructions, operands and messages. See compiler.h. */
#include "mdf_c/base/error.h"
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ messages */

mdf_operand compile_out_of_memory(struct compiler *compiler)
{
    mdf_memory_error(compiler->memory, compiler->error);
    return MDF_NO_OPERAND;
}

/* Where what is being compiled is written. */
static void find_place(const struct compiler *compiler, int *line, int *column)
{
    *line = *column = 0;
    if (compiler->at != NULL && compiler->text != NULL) {
        mdf_node_place(compiler->model->document, compiler->at, compiler->text, compiler->offset, line, column);
    } else if (compiler->at != NULL) {
        *line = (int)compiler->at->line;
        *column = (int)compiler->at->column;
    }
}

mdf_operand compile_error(struct compiler *compiler, mdf_status status, const char *format, ...)
{
    char message[900];
    va_list arguments;
    int line, column;

    if (compiler->error->code == MDF_OK && (compiler->arena->has_refused || compiler->scratch.has_refused)) {
        return compile_out_of_memory(compiler); /* what seems to be wrong may be missing for want of memory */
    }
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    compiler->failed_offset = compiler->error->code == MDF_OK ? compiler->offset : compiler->failed_offset;
    mdf_error_set(compiler->error, status, "%s", message);
    find_place(compiler, &line, &column);
    mdf_error_at(compiler->error, mdf_node_file(compiler->model->document, compiler->at), line, column);
    mdf_error_in(compiler->error, "%s", compiler->path);
    return MDF_NO_OPERAND;
}

void compile_warning(struct compiler *compiler, const char *format, ...)
{
    char message[900];
    va_list arguments;
    int line, column;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    find_place(compiler, &line, &column);
    mdf_warn(&compiler->warnings, mdf_node_file(compiler->model->document, compiler->at), line, column, compiler->path, "%s",
             message);
}

void compile_finding(struct compiler *compiler, const char *code, const char *format, ...)
{
    mdf_error warning = {0};
    va_list arguments;
    int line, column;

    va_start(arguments, format);
    mdf_error_set_v(&warning, MDF_MODEL, format, arguments);
    va_end(arguments);
    find_place(compiler, &line, &column);
    mdf_error_at(&warning, mdf_node_file(compiler->model->document, compiler->at), line, column);
    mdf_error_in(&warning, "%s", compiler->path);
    mdf_warn_of(&compiler->receiver, code, &warning);
}

void pass_warning_once(void *context, const mdf_error *warning)
{
    struct compiler *compiler = context;
    bool has_position = warning->line > 0; /* else the path has to tell one from another */
    const char *text = mdf_arena_printf(&compiler->scratch, "%d:%d %s %s", warning->line, warning->column,
                                        has_position ? "" : warning->path, warning->message);
    size_t *count = text != NULL ? name_table_add(&compiler->warned, &compiler->scratch, text) : NULL;

    if (count == NULL || *count == 0) {
        mdf_warn_of(&compiler->receiver, "model", warning);
    }
    if (count != NULL) {
        *count = 1;
    }
}

static bool add_origin(struct compiler *compiler, const struct mdf_origin *origin)
{
    struct list list = {compiler->origins, compiler->n_origins, compiler->origin_capacity};

    if (!list_add(compiler, &list, origin, sizeof *origin)) {
        return false; /* the compilation fails, at the latest when it is done */
    }
    compiler->origins = list.items;
    compiler->n_origins = list.n;
    compiler->origin_capacity = list.capacity;
    return true;
}

/* The name of a file, kept: nearly all origins have that of the one before. */
static const char *keep_file(struct compiler *compiler, const char *file)
{
    const struct mdf_origin *last = compiler->n_origins > 0 ? &compiler->origins[compiler->n_origins - 1] : NULL;

    return last != NULL && strcmp(last->file, file) == 0 ? last->file : mdf_arena_text(compiler->arena, file, strlen(file));
}

static void set_origin(struct compiler *compiler, const struct mdf_node *node)
{
    struct mdf_origin origin = {keep_file(compiler, mdf_node_file(compiler->model->document, node)), 0, 0, NULL};

    compiler->at = node;
    compiler->text = NULL;
    if (node != NULL) {
        origin.line = (int)node->line;
        origin.column = (int)node->column;
    }
    origin.path = mdf_arena_text(compiler->arena, compiler->path, strlen(compiler->path));
    if (origin.path != NULL && origin.file != NULL && add_origin(compiler, &origin)) {
        compiler->origin = (uint32_t)(compiler->n_origins - 1);
    }
}

/* The origin of an instruction that is made of a part of an expression: of the same path, at the word of that part. */
static uint32_t origin_of_word(struct compiler *compiler)
{
    struct mdf_origin origin;
    const struct mdf_origin *last;

    if (compiler->at == NULL || compiler->text == NULL || compiler->n_origins == 0) {
        return compiler->origin;
    }
    origin = compiler->origins[compiler->origin];
    last = &compiler->origins[compiler->n_origins - 1];
    mdf_node_place(compiler->model->document, compiler->at, compiler->text, compiler->offset, &origin.line, &origin.column);
    if (last->path == origin.path && last->line == origin.line && last->column == origin.column) {
        return (uint32_t)(compiler->n_origins - 1);
    }
    return add_origin(compiler, &origin) ? (uint32_t)(compiler->n_origins - 1) : compiler->origin;
}

struct place place_enter(struct compiler *compiler, const char *what, const char *id, const struct mdf_node *node)
{
    struct place place = place_here(compiler);

    mdf_place_path_enter(compiler->path, sizeof compiler->path, what, id);
    set_origin(compiler, node);
    return place;
}

struct place place_at(struct compiler *compiler, const struct mdf_node *node)
{
    struct place place = place_here(compiler);

    set_origin(compiler, node);
    return place;
}

struct place place_at_key(struct compiler *compiler, const struct mdf_node_entry *entry)
{
    struct mdf_node *key = mdf_arena_allocate(&compiler->scratch, sizeof *key);

    if (key != NULL) {
        *key = (struct mdf_node){
            .kind = MDF_NODE_NULL, .is_given = entry->value.is_given, .line = entry->line, .column = entry->column};
    }
    return place_at(compiler, key != NULL ? key : &entry->value);
}

struct place place_here(const struct compiler *compiler)
{
    return (struct place){strlen(compiler->path), compiler->origin, compiler->at, compiler->text, compiler->offset};
}

struct mdf_origin place_origin(const struct compiler *compiler)
{
    return compiler->origin < compiler->n_origins ? compiler->origins[compiler->origin] : (struct mdf_origin){0};
}

void place_leave(struct compiler *compiler, struct place place)
{
    compiler->path[place.path_length] = '\0';
    compiler->origin = place.origin;
    compiler->at = place.at;
    compiler->text = place.text;
    compiler->offset = place.offset;
}

bool compile_recover(struct compiler *compiler, struct place place)
{
    bool is_told = compiler->error->code == MDF_OK && compiler->n_taken > 0; /* it follows from what has been taken */

    if (compiler->arena->has_refused || compiler->scratch.has_refused ||
        (!is_told && !mdf_diagnostics_take(compiler->list, compiler->error))) {
        return false;
    }
    compiler->n_taken += !is_told;
    place_leave(compiler, place);
    return true;
}

mdf_operand unit_unknown(struct target *target)
{
    return unit_new_slot(target, OPERAND_MAY_BE_LIST | OPERAND_IS_UNKNOWN);
}

/* ------------------------------------------------------------------ operands */

static mdf_operand add_operand(struct target *target, struct list *facts_list, enum mdf_operand_kind kind, unsigned flags)
{
    struct operand_facts facts = {flags, target->unit->owner, mdf_static_unknown, mdf_static_unknown, false};

    if (facts_list->n >= MDF_OPERAND_LIMIT) {
        return compile_error(target->compiler, MDF_LIMIT, "the graph is too large");
    }
    return list_add(target->compiler, facts_list, &facts, sizeof facts) ? MDF_OPERAND(kind, facts_list->n - 1) : MDF_NO_OPERAND;
}

mdf_operand unit_new_slot(struct target *target, unsigned flags)
{
    return add_operand(target, &target->unit->slot_facts, MDF_OPERAND_SLOT, flags);
}

static struct operand_facts *facts_of(const struct unit *unit, mdf_operand operand)
{
    const struct list *lists[] = {&unit->slot_facts, &unit->constant_facts, &unit->capture_facts};

    return (struct operand_facts *)lists[MDF_OPERAND_KIND(operand)]->items + MDF_OPERAND_INDEX(operand);
}

/* What a constant shows of its type. A bare number may yet stand for an array of one; no literal has an element type for sure. */
static bool type_of_value(struct compiler *compiler, const struct mdf_value *value, struct mdf_static_type *type)
{
    bool typed = value->strength == MDF_STRENGTH_TYPED;
    int64_t *shape;

    *type = mdf_static_unknown;
    if (value->kind != MDF_KIND_TENSOR || (value->rank == 0 && !typed)) {
        return true;
    }
    shape = mdf_arena_array(&compiler->scratch, value->rank, sizeof *shape);
    if (shape == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (value->rank > 0) {
        memcpy(shape, mdf_value_shape(value), value->rank * sizeof *shape);
    }
    *type = (struct mdf_static_type){
        MDF_STATIC_TENSOR, typed ? (mdf_dtype)value->dtype : MDF_DTYPE_NONE, true, value->rank, shape, NULL};
    return true;
}

mdf_operand unit_add_constant(struct target *target, struct mdf_value *value, unsigned flags)
{
    struct mdf_static_type type;
    mdf_operand operand;

    if (value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_BOOL) {
        flags |= OPERAND_IS_BOOL;
    }
    if (value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_FLOAT64 && value->strength != MDF_STRENGTH_TYPED &&
        target->compiler->real == MDF_DTYPE_FLOAT32) {
        struct mdf_value single = {0};

        if (!mdf_value_convert(target->compiler->memory, &single, value, MDF_DTYPE_FLOAT32)) {
            mdf_value_clear(target->compiler->memory, value);
            return compile_out_of_memory(target->compiler);
        }
        mdf_value_swap(value, &single);
        mdf_value_clear(target->compiler->memory, &single);
    }
    if (!type_of_value(target->compiler, value, &type) ||
        !list_add(target->compiler, &target->unit->constants, value, sizeof *value)) {
        mdf_value_clear(target->compiler->memory, value);
        return MDF_NO_OPERAND;
    }
    memset(value, 0, sizeof *value);
    operand = add_operand(target, &target->unit->constant_facts, MDF_OPERAND_CONSTANT, flags);
    if (operand != MDF_NO_OPERAND) {
        facts_of(target->unit, operand)->type = type;
    }
    return operand;
}

mdf_operand unit_add_int(struct target *target, int64_t integer)
{
    struct mdf_value value = {0};

    return mdf_value_make_int(target->compiler->memory, &value, integer) ? unit_add_constant(target, &value, 0)
                                                                         : compile_out_of_memory(target->compiler);
}

mdf_operand unit_add_bool(struct target *target, bool truth)
{
    struct mdf_value value = {0};

    if (!mdf_value_make_bool(target->compiler->memory, &value, truth)) {
        return compile_out_of_memory(target->compiler);
    }
    value.strength = MDF_STRENGTH_TYPED;
    return unit_add_constant(target, &value, OPERAND_IS_BOOL);
}

mdf_operand unit_add_string(struct target *target, const char *text)
{
    struct mdf_value value = {0};

    return mdf_value_make_string(target->compiler->memory, &value, text, strlen(text)) ? unit_add_constant(target, &value, 0)
                                                                                       : compile_out_of_memory(target->compiler);
}

unsigned unit_flags(const struct unit *unit, mdf_operand operand)
{
    return facts_of(unit, operand)->flags;
}

void unit_set_owner(struct unit *unit, mdf_operand slot, size_t owner)
{
    facts_of(unit, slot)->owner = owner;
}

/* The same in every run: a constant, or a parameter that is set before the first. */
static bool is_steady(const struct unit *unit, mdf_operand operand)
{
    while (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        operand = ((const mdf_operand *)unit->captures.items)[MDF_OPERAND_INDEX(operand)];
        unit = unit->outer;
    }
    return MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT || (unit_flags(unit, operand) & OPERAND_IS_FIXED) != 0;
}

bool unit_is_foreign(const struct unit *unit, mdf_operand operand)
{
    const struct operand_facts *facts = facts_of(unit, operand);

    return !is_steady(unit, operand) && (MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT ||
                                         (facts->flags & OPERAND_IS_FOREIGN) != 0 || facts->owner != unit->owner);
}

const struct mdf_value *unit_constant(const struct unit *unit, mdf_operand operand)
{
    while (unit != NULL && operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        operand = ((const mdf_operand *)unit->captures.items)[MDF_OPERAND_INDEX(operand)];
        unit = unit->outer;
    }
    if (unit == NULL || operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) != MDF_OPERAND_CONSTANT) {
        return NULL;
    }
    return (const struct mdf_value *)unit->constants.items + MDF_OPERAND_INDEX(operand);
}

struct mdf_static_type unit_type(const struct unit *unit, mdf_operand operand)
{
    struct mdf_static_type type;

    while (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        operand = ((const mdf_operand *)unit->captures.items)[MDF_OPERAND_INDEX(operand)];
        unit = unit->outer;
    }
    type = facts_of(unit, operand)->type;
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        type.value = (const struct mdf_value *)unit->constants.items + MDF_OPERAND_INDEX(operand);
    }
    return type;
}

static const struct operand_facts *original_facts(const struct unit *unit, mdf_operand operand)
{
    while (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
        operand = ((const mdf_operand *)unit->captures.items)[MDF_OPERAND_INDEX(operand)];
        unit = unit->outer;
    }
    return facts_of(unit, operand);
}

bool unit_has_promise(const struct unit *unit, mdf_operand operand)
{
    return original_facts(unit, operand)->has_promise;
}

struct mdf_static_type unit_promised_type(const struct unit *unit, mdf_operand operand)
{
    return unit_has_promise(unit, operand) ? original_facts(unit, operand)->promised : unit_type(unit, operand);
}

void unit_promise_type(struct unit *unit, mdf_operand slot, const struct mdf_static_type *type)
{
    facts_of(unit, slot)->promised = *type;
    facts_of(unit, slot)->has_promise = true;
}

void unit_take_promise(struct unit *unit, mdf_operand slot, mdf_operand from)
{
    const struct operand_facts *facts = original_facts(unit, from);

    if (facts->has_promise) {
        unit_promise_type(unit, slot, &facts->promised);
    }
}

void unit_set_type(struct unit *unit, mdf_operand slot, const struct mdf_static_type *type)
{
    facts_of(unit, slot)->type = *type;
}

mdf_operand unit_capture(struct target *target, struct unit *unit, struct unit *from, mdf_operand operand)
{
    mdf_operand *captures, outer, capture;
    unsigned flags;

    if (unit == from || operand == MDF_NO_OPERAND) {
        return operand;
    }
    outer = unit_capture(target, unit->outer, from, operand);
    captures = unit->captures.items;
    for (size_t i = 0; i < unit->captures.n; i++) {
        if (captures[i] == outer) {
            return MDF_OPERAND(MDF_OPERAND_CAPTURE, i);
        }
    }
    if (outer == MDF_NO_OPERAND) {
        return outer;
    }
    flags = unit_flags(unit->outer, outer) & ~(unsigned)OPERAND_MUTABLE;
    if (!list_add(target->compiler, &unit->captures, &outer, sizeof outer)) {
        return MDF_NO_OPERAND;
    }
    capture = add_operand(target, &unit->capture_facts, MDF_OPERAND_CAPTURE, flags);
    unit->captures.n -= capture == MDF_NO_OPERAND; /* there are as many as facts of them */
    return capture;
}

/* ------------------------------------------------------------------ instructions */

size_t unit_position(const struct unit *unit)
{
    return unit->instructions.n;
}

struct mdf_instruction *unit_instruction(struct unit *unit, size_t index)
{
    return (struct mdf_instruction *)unit->instructions.items + index;
}

/* What looks at a value changes when that does. */
static void note_view(struct unit *unit, mdf_operand view, mdf_operand of)
{
    unsigned *flags = &facts_of(unit, view)->flags;

    if ((*flags & OPERAND_MUTABLE) == 0 && (unit_flags(unit, of) & OPERAND_MUTABLE) != 0) {
        *flags |= OPERAND_MUTABLE | OPERAND_IS_VIEW;
    }
    *flags |= unit_is_foreign(unit, of) ? OPERAND_IS_FOREIGN : 0u;
}

bool unit_emit(struct target *target, enum mdf_opcode opcode, mdf_operand a, mdf_operand b, mdf_operand c)
{
    struct mdf_instruction instruction = {(uint8_t)opcode, a, b, c, 0, origin_of_word(target->compiler)};

    if (opcode == MDF_OPCODE_BORROW || opcode == MDF_OPCODE_ARRAY || opcode == MDF_OPCODE_DECLARE) {
        note_view(target->unit, a, b);
    }
    return list_add(target->compiler, &target->unit->instructions, &instruction, sizeof instruction);
}

mdf_operand unit_own_copy(struct target *target, mdf_operand operand)
{
    struct mdf_static_type type = unit_type(target->unit, operand);
    mdf_operand copy =
        unit_new_slot(target, unit_flags(target->unit, operand) & ~(unsigned)(OPERAND_IS_FOREIGN | OPERAND_MUTABLE));

    if (copy == MDF_NO_OPERAND || !unit_emit(target, MDF_OPCODE_COPY, copy, operand, 0)) {
        return MDF_NO_OPERAND;
    }
    type.value = NULL;
    unit_set_type(target->unit, copy, &type);
    return copy;
}

size_t unit_emit_jump(struct target *target, enum mdf_opcode opcode, mdf_operand a)
{
    return unit_emit(target, opcode, a, 0, 0) ? target->unit->instructions.n - 1 : SIZE_MAX;
}

void unit_land(struct unit *unit, size_t jump)
{
    unit_instruction(unit, jump)->target = (uint32_t)unit->instructions.n;
}

static const mdf_operand *keep_operands(struct compiler *compiler, const mdf_operand *operands, size_t n)
{
    mdf_operand *kept = mdf_arena_array(compiler->arena, n, sizeof *kept);

    if (kept != NULL && n > 0) {
        memcpy(kept, operands, n * sizeof *kept);
    }
    return kept;
}

bool unit_emit_call(struct target *target, const struct mdf_code_call *call)
{
    struct mdf_code_call kept = *call;
    struct mdf_instruction instruction = {
        MDF_OPCODE_CALL, 0, 0, 0, (uint32_t)target->unit->calls.n, origin_of_word(target->compiler)};

    kept.inputs = keep_operands(target->compiler, call->inputs, call->n_inputs);
    kept.outputs = keep_operands(target->compiler, call->outputs, call->n_outputs);
    if (kept.inputs == NULL || kept.outputs == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    return list_add(target->compiler, &target->unit->calls, &kept, sizeof kept) &&
           list_add(target->compiler, &target->unit->instructions, &instruction, sizeof instruction);
}

bool unit_is_jump(const struct mdf_instruction *instruction)
{
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
    case MDF_OPCODE_NEXT:
        return true;
    default:
        return false;
    }
}

bool unit_put_first(struct compiler *compiler, struct unit *unit, const struct list *first)
{
    struct list all = *first;

    if (first->n == 0) {
        return true;
    }
    for (size_t i = 0; i < unit->instructions.n; i++) {
        struct mdf_instruction instruction = ((const struct mdf_instruction *)unit->instructions.items)[i];

        instruction.target += unit_is_jump(&instruction) ? (uint32_t)first->n : 0;
        if (!list_add(compiler, &all, &instruction, sizeof instruction)) {
            return false;
        }
    }
    unit->instructions = all;
    return true;
}

const struct mdf_code_call *unit_find_list(struct unit *unit, size_t first, size_t end, mdf_operand operand)
{
    for (; end > first; end--) {
        const struct mdf_instruction *instruction = unit_instruction(unit, end - 1);
        const struct mdf_code_call *call = (const struct mdf_code_call *)unit->calls.items + instruction->target;

        bool is_list = instruction->opcode == MDF_OPCODE_CALL &&
                       (call->operator->form == MDF_FORM_LIST || call->operator->form == MDF_FORM_OUTPUTS);

        if (is_list && call->outputs[0] == operand) {
            return call;
        }
    }
    return NULL;
}

/* Whether a Python function may give a list, or a boolean, for sure. */
static unsigned flags_of_result(const struct mdf_operator *row)
{
    if ((row->flags & MDF_OPERATOR_TRUTH) != 0) {
        return OPERAND_IS_BOOL;
    }
    return strncmp(row->name, "numpy.", 6) == 0 || strncmp(row->name, "math.", 5) == 0 ? 0 : OPERAND_MAY_BE_LIST;
}

mdf_operand unit_call_row(struct target *target, const struct mdf_operator *row, const void *settings, const mdf_operand *inputs,
                          size_t n)
{
    mdf_operand slot = unit_new_slot(target, flags_of_result(row));
    struct mdf_code_call call = {
        .operator= row, .settings = settings, .inputs = inputs, .n_inputs = n, .outputs = &slot, .n_outputs = 1};

    return slot != MDF_NO_OPERAND && unit_emit_call(target, &call) ? slot : MDF_NO_OPERAND;
}

mdf_operand unit_call_into(struct target *target, const struct mdf_operator *row, const mdf_operand *inputs, size_t n,
                           mdf_operand slot)
{
    struct mdf_code_call call = {.operator= row, .inputs = inputs, .n_inputs = n, .outputs = &slot, .n_outputs = 1};

    return slot != MDF_NO_OPERAND && unit_emit_call(target, &call) ? slot : MDF_NO_OPERAND;
}

mdf_operand unit_call_python(struct target *target, const char *name, const mdf_operand *inputs, size_t n)
{
    const struct mdf_operator *row = mdf_operator_python(name);

    return row != NULL ? unit_call_row(target, row, NULL, inputs, n)
                       : compile_error(target->compiler, MDF_NAME, "function '%s' is not known", name);
}

mdf_operand unit_call_two(struct target *target, const char *name, mdf_operand a, mdf_operand b)
{
    const mdf_operand pair[2] = {a, b};

    return a == MDF_NO_OPERAND || b == MDF_NO_OPERAND ? MDF_NO_OPERAND : unit_call_python(target, name, pair, 2);
}

/* A value of a declared type has that type for sure where a width is named. */
static void note_declared(struct unit *unit, mdf_operand source, const struct mdf_declared_type *declared, mdf_operand slot)
{
    struct mdf_static_type type = unit_type(unit, source);

    type.value = NULL;
    if (declared->optional || !declared->exact) {
        type = mdf_static_unknown;
    } else {
        type.kind = declared->sequence ? MDF_STATIC_SEQUENCE : MDF_STATIC_TENSOR;
        type.dtype = declared->dtype;
    }
    unit_set_type(unit, slot, &type);
    if (unit_has_promise(unit, source) && type.kind == MDF_STATIC_TENSOR) {
        type = unit_promised_type(unit, source);
        type.dtype = declared->dtype;
        unit_promise_type(unit, slot, &type);
    }
}

mdf_operand unit_declare(struct target *target, mdf_operand source, const struct mdf_declared_type *type)
{
    mdf_operand into = unit_new_slot(target, unit_flags(target->unit, source));

    if (into == MDF_NO_OPERAND) {
        return MDF_NO_OPERAND;
    }
    note_declared(target->unit, source, type, into);
    return list_add(target->compiler, &target->unit->declarations, type, sizeof *type) &&
                   unit_emit(target, MDF_OPCODE_DECLARE, into, source, (mdf_operand)(target->unit->declarations.n - 1))
               ? into
               : MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ finished units */

bool unit_keep_list(struct compiler *compiler, const struct list *list, size_t item_size, void *items, size_t *n)
{
    void *kept = mdf_arena_array(compiler->arena, list->n, item_size);

    if (kept == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (list->n > 0) {
        memcpy(kept, list->items, list->n * item_size);
    }
    memcpy(items, &kept, sizeof kept);
    *n = list->n;
    return true;
}

struct mdf_code *unit_finish(struct compiler *compiler, struct unit *unit)
{
    struct mdf_code *code = mdf_arena_allocate(compiler->arena, sizeof *code);

    if (code == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    if (!unit_keep_list(compiler, &unit->instructions, sizeof(struct mdf_instruction), &code->instructions,
                        &code->n_instructions) ||
        !unit_keep_list(compiler, &unit->calls, sizeof(struct mdf_code_call), &code->calls, &code->n_calls) ||
        !unit_keep_list(compiler, &unit->captures, sizeof(mdf_operand), &code->captures, &code->n_captures) ||
        !unit_keep_list(compiler, &unit->bodies, sizeof(struct mdf_code *), &code->bodies, &code->n_bodies) ||
        !unit_keep_list(compiler, &unit->declarations, sizeof(struct mdf_declared_type), &code->declarations,
                        &code->n_declarations) ||
        !unit_keep_list(compiler, &unit->constants, sizeof(struct mdf_value), &code->constants, &code->n_constants)) {
        return NULL;
    }
    code->n_slots = unit->slot_facts.n;
    unit->constants.n = unit->bodies.n = 0; /* they belong to the code now */
    return code;
}

struct mdf_code *unit_copy_code(struct compiler *compiler, const struct mdf_code *code)
{
    struct mdf_code *copy = mdf_arena_allocate(compiler->arena, sizeof *copy);

    if (copy != NULL) {
        *copy = *code;
        copy->constants = mdf_arena_array(compiler->arena, code->n_constants, sizeof *copy->constants);
        copy->bodies = mdf_arena_array(compiler->arena, code->n_bodies, sizeof *copy->bodies);
        copy->n_constants = copy->n_bodies = 0;
    }
    if (copy == NULL || copy->constants == NULL || copy->bodies == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    for (; copy->n_constants < code->n_constants; copy->n_constants++) {
        if (!mdf_value_copy(compiler->memory, &copy->constants[copy->n_constants], &code->constants[copy->n_constants])) {
            compile_out_of_memory(compiler);
            mdf_code_clear(compiler->memory, copy);
            return NULL;
        }
    }
    for (; copy->n_bodies < code->n_bodies; copy->n_bodies++) {
        copy->bodies[copy->n_bodies] = unit_copy_code(compiler, code->bodies[copy->n_bodies]);
        if (copy->bodies[copy->n_bodies] == NULL) {
            mdf_code_clear(compiler->memory, copy);
            return NULL;
        }
    }
    return copy;
}

void unit_clear(struct compiler *compiler, struct unit *unit)
{
    for (size_t i = 0; i < unit->constants.n; i++) {
        mdf_value_clear(compiler->memory, (struct mdf_value *)unit->constants.items + i);
    }
    for (size_t i = 0; i < unit->bodies.n; i++) {
        mdf_code_clear(compiler->memory, ((struct mdf_code **)unit->bodies.items)[i]);
    }
    unit->constants.n = unit->bodies.n = 0;
}
