/* strings.c - arrays of strings: StringConcat, StringSplit, StringNormalizer.
 *
 * Comes in: strings in UTF-8. Goes out: strings joined by pairs, cut at a delimiter or at white space, or without stop words and
 * in one case. Bytes that are not UTF-8 are kept as they are. Case changes letter by letter, by Unicode's simple mappings,
 * whatever `locale` says. Source: ONNX StringConcat 20, StringSplit 20 (Python's str.split), StringNormalizer 10. */
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"

#include "mdf_c/base/text.h"

#include <string.h>

enum { STRINGS_PER_LOOK = 1 << 10 };

static const struct mdf_value *string_tensor(struct mdf_call *call, size_t i)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);

    if (value != NULL && value->dtype != MDF_DTYPE_STRING) {
        mdf_call_error(call, MDF_TYPE, "input %zu must be strings, not %s", i, mdf_dtype_name((mdf_dtype)value->dtype));
        return NULL;
    }
    return value;
}

static const char *string_at(const struct mdf_value *strings, size_t i)
{
    const char *string = ((char *const *)strings->data)[i];

    return string != NULL ? string : "";
}

static size_t length_at(const struct mdf_value *strings, size_t i)
{
    const char *string = ((char *const *)strings->data)[i];

    return string != NULL ? mdf_string_length(string) : 0;
}

/* Writes a new string into an empty place of an array. */
static bool write_string(struct mdf_call *call, char **place, const char *bytes, size_t length)
{
    *place = mdf_string_new(call->context->memory, bytes, length);
    return *place != NULL ? true : mdf_call_out_of_memory(call);
}

/* ------------------------------------------------------------------ StringConcat */

/* Offset of element `i` of the output in an input that is broadcast to it. */
static size_t broadcast_offset(size_t i, size_t rank, const int64_t *shape, const struct mdf_value *input)
{
    size_t offset = 0, stride = 1;

    for (size_t axis = rank; axis-- > 0;) {
        size_t index = i % (size_t)shape[axis], back = rank - axis;

        i /= (size_t)shape[axis];
        if (back <= input->rank) {
            size_t size = (size_t)mdf_value_shape(input)[input->rank - back];

            offset += size == 1 ? 0 : index * stride;
            stride *= size;
        }
    }
    return offset;
}

static bool string_concat(struct mdf_call *call)
{
    const struct mdf_value *a = string_tensor(call, 0), *b = a != NULL ? string_tensor(call, 1) : NULL;
    struct mdf_text text;
    struct mdf_box box;
    int64_t *shape;
    size_t rank, n;
    char **target;
    bool done = true;

    if (b == NULL) {
        return false;
    }
    rank = a->rank > b->rank ? a->rank : b->rank;
    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    if (!mdf_broadcast_shape(a->rank, mdf_value_shape(a), b->rank, mdf_value_shape(b), shape)) {
        char a_text[96], b_text[96];

        mdf_value_describe(a, a_text, sizeof a_text);
        mdf_value_describe(b, b_text, sizeof b_text);
        return mdf_call_error(call, MDF_SHAPE, "%s and %s do not broadcast", a_text, b_text);
    }
    target = mdf_call_output(call, 0, MDF_DTYPE_STRING, rank, shape);
    if (target == NULL) {
        return false;
    }
    n = mdf_axes_product(shape, 0, rank);
    mdf_text_init(&text, call->context->memory);
    for (size_t i = 0; done && i < n; i++) {
        size_t from_a = broadcast_offset(i, rank, shape, a), from_b = broadcast_offset(i, rank, shape, b);

        text.length = 0;
        mdf_text_append(&text, string_at(a, from_a), length_at(a, from_a));
        mdf_text_append(&text, string_at(b, from_b), length_at(b, from_b));
        done = text.failed ? mdf_call_out_of_memory(call) : write_string(call, &target[i], text.bytes, text.length);
    }
    mdf_text_release(&text);
    return done;
}

/* ------------------------------------------------------------------ letters */

/* The code point at `bytes`, of which there are `length` > 0; *n_bytes it takes. A byte that is not UTF-8 stands for itself,
 * above all code points. */
static uint32_t decode(const char *bytes, size_t length, size_t *n_bytes)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = (uint8_t)bytes[0];
    size_t n = first < 0x80                    ? 1
               : first >= 0xc2 && first < 0xe0 ? 2
               : first >= 0xe0 && first < 0xf0 ? 3
               : first >= 0xf0 && first < 0xf5 ? 4
                                               : 0;
    uint32_t letter = n < 2 ? first : first & (0x7fu >> n);

    *n_bytes = 1;
    for (size_t i = 1; i < n; i++) {
        if (i >= length || ((uint8_t)bytes[i] & 0xc0) != 0x80) {
            return 0x80000000u | first;
        }
        letter = letter << 6 | ((uint8_t)bytes[i] & 0x3f);
    }
    if (n == 0 || letter < smallest[n] || letter > 0x10ffff) {
        return 0x80000000u | first;
    }
    *n_bytes = n;
    return letter;
}

static void encode(struct mdf_text *text, uint32_t letter)
{
    char bytes[4];
    size_t n = letter < 0x80 || letter >= 0x80000000u ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;

    if (n == 1) {
        bytes[0] = (char)(letter & 0xff);
    } else {
        for (size_t i = n; i-- > 1; letter >>= 6) {
            bytes[i] = (char)(0x80 | (letter & 0x3f));
        }
        bytes[0] = (char)((0xf00u >> n & 0xff) | letter);
    }
    mdf_text_append(text, bytes, n);
}

/* White space as Python's str.split has it. */
static bool is_space(uint32_t letter)
{
    return (letter >= 0x09 && letter <= 0x0d) || (letter >= 0x1c && letter <= 0x20) || letter == 0x85 || letter == 0xa0 ||
           letter == 0x1680 || (letter >= 0x2000 && letter <= 0x200a) || letter == 0x2028 || letter == 0x2029 ||
           letter == 0x202f || letter == 0x205f || letter == 0x3000;
}

/* Letters first, first + step, ..., last have their other case `difference` further on. */
struct case_range {
    uint32_t first, last, step;
    int32_t difference;
};

#include "functions/text/case_ranges.inc"

static uint32_t change_case(uint32_t letter, bool upper)
{
    const struct case_range *ranges = upper ? to_upper : to_lower;
    size_t n = upper ? sizeof to_upper / sizeof *to_upper : sizeof to_lower / sizeof *to_lower;

    for (size_t i = 0; i < n && ranges[i].first <= letter; i++) {
        if (letter <= ranges[i].last && (letter - ranges[i].first) % ranges[i].step == 0) {
            return (uint32_t)((int64_t)letter + ranges[i].difference);
        }
    }
    return letter;
}

/* ------------------------------------------------------------------ StringSplit */

struct split_settings {
    const char *delimiter;
    int64_t most_cuts;
};

static const struct mdf_setting split_table[] = {{"delimiter", MDF_SETTING_STRING, offsetof(struct split_settings, delimiter)},
                                                 {"maxsplit", MDF_SETTING_INT, offsetof(struct split_settings, most_cuts)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* A string on its way through the cuts. */
struct cutter {
    const char *bytes; /* what is left */
    size_t length;
    const char *delimiter; /* NULL: white space */
    size_t delimiter_length;
    uint64_t cuts_left;
    bool done;
};

static struct cutter start_cuts(const struct split_settings *settings, const char *bytes, size_t length)
{
    struct cutter cutter = {bytes, length, settings->delimiter, 0, UINT64_MAX, false};

    if (cutter.delimiter != NULL && cutter.delimiter[0] == '\0') {
        cutter.delimiter = NULL;
    }
    cutter.delimiter_length = cutter.delimiter != NULL ? strlen(cutter.delimiter) : 0;
    if (settings->most_cuts >= 0) {
        cutter.cuts_left = (uint64_t)settings->most_cuts;
    }
    return cutter;
}

static void advance(struct cutter *cutter, size_t n)
{
    cutter->bytes += n;
    cutter->length -= n;
}

/* Where the next delimiter begins; the length where there is none. */
static size_t find_delimiter(const struct cutter *cutter)
{
    for (size_t i = 0; i + cutter->delimiter_length <= cutter->length; i++) {
        if (memcmp(cutter->bytes + i, cutter->delimiter, cutter->delimiter_length) == 0) {
            return i;
        }
    }
    return cutter->length;
}

/* Length of the text before the first letter that is (is not) white space. */
static size_t span(const struct cutter *cutter, bool space)
{
    size_t i = 0, n_bytes;

    while (i < cutter->length && is_space(decode(cutter->bytes + i, cutter->length - i, &n_bytes)) == space) {
        i += n_bytes;
    }
    return i;
}

/* The next piece; false when there is none left. */
static bool next_piece(struct cutter *cutter, const char **piece, size_t *length)
{
    if (cutter->delimiter == NULL) {
        advance(cutter, span(cutter, true));
        cutter->done = cutter->length == 0;
    }
    if (cutter->done) {
        return false;
    }
    *piece = cutter->bytes;
    *length = cutter->cuts_left == 0 ? cutter->length : cutter->delimiter != NULL ? find_delimiter(cutter) : span(cutter, false);
    cutter->done = *length == cutter->length;
    advance(cutter, cutter->done ? cutter->length : *length + cutter->delimiter_length);
    cutter->cuts_left--;
    return true;
}

static size_t count_pieces(const struct split_settings *settings, const struct mdf_value *strings, size_t i)
{
    struct cutter cutter = start_cuts(settings, string_at(strings, i), length_at(strings, i));
    const char *piece;
    size_t length, n = 0;

    while (next_piece(&cutter, &piece, &length)) {
        n++;
    }
    return n;
}

/* Output 0: the pieces of each string, filled up with empty strings to `n_most`. */
static bool output_pieces(struct mdf_call *call, const struct mdf_value *strings, size_t n_most)
{
    const struct split_settings *settings = call->settings;
    size_t rank = (size_t)strings->rank + 1;
    struct mdf_box box;
    int64_t *shape;
    char **target;

    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    memcpy(shape, mdf_value_shape(strings), strings->rank * sizeof *shape);
    shape[rank - 1] = (int64_t)n_most;
    target = mdf_call_output(call, 0, MDF_DTYPE_STRING, rank, shape);
    if (target == NULL) {
        return false;
    }
    for (size_t i = 0; i < strings->length; i++) {
        struct cutter cutter = start_cuts(settings, string_at(strings, i), length_at(strings, i));
        const char *piece;
        size_t length, n = 0;

        while (next_piece(&cutter, &piece, &length)) {
            if (!write_string(call, &target[i * n_most + n++], piece, length)) {
                return false;
            }
        }
        if (!mdf_elements_fill(call, MDF_DTYPE_STRING, &target[i * n_most + n], n_most - n, NULL)) {
            return false;
        }
    }
    return true;
}

static bool string_split(struct mdf_call *call)
{
    const struct split_settings *settings = call->settings;
    const struct mdf_value *strings = string_tensor(call, 0);
    int64_t *counts;
    size_t n, n_most = 0;

    if (strings == NULL) {
        return false;
    }
    for (size_t i = 0; i < strings->length; i++) {
        if (mdf_should_stop_at(call->context, i, STRINGS_PER_LOOK)) {
            return false; /* n_most is not that of all strings */
        }
        n = count_pieces(settings, strings, i);
        n_most = n > n_most ? n : n_most;
    }
    if (mdf_call_result(call, 0) != NULL && !output_pieces(call, strings, n_most)) {
        return false;
    }
    counts = mdf_call_output(call, 1, MDF_DTYPE_INT64, strings->rank, mdf_value_shape(strings));
    for (size_t i = 0; counts != NULL && i < strings->length && !mdf_should_stop_at(call->context, i, STRINGS_PER_LOOK); i++) {
        counts[i] = (int64_t)count_pieces(settings, strings, i);
    }
    return counts != NULL;
}

/* ------------------------------------------------------------------ StringNormalizer */

struct normalizer_settings {
    const char *case_change;
    int64_t case_sensitive;
    struct mdf_strings stop_words;
};

static const struct mdf_setting normalizer_table[] = {
    {"case_change_action", MDF_SETTING_STRING, offsetof(struct normalizer_settings, case_change)},
    {"is_case_sensitive", MDF_SETTING_INT, offsetof(struct normalizer_settings, case_sensitive)},
    {"stopwords", MDF_SETTING_STRINGS, offsetof(struct normalizer_settings, stop_words)},
    {NULL, MDF_SETTING_INT, 0}};

/* Equal, where letters of different case count as equal unless `case_sensitive`. */
static bool equal_words(const char *a, size_t a_length, const char *b, size_t b_length, bool case_sensitive)
{
    size_t i = 0, j = 0, a_bytes, b_bytes;

    if (case_sensitive) {
        return a_length == b_length && memcmp(a, b, a_length) == 0;
    }
    while (i < a_length && j < b_length) {
        if (change_case(decode(a + i, a_length - i, &a_bytes), false) !=
            change_case(decode(b + j, b_length - j, &b_bytes), false)) {
            return false;
        }
        i += a_bytes;
        j += b_bytes;
    }
    return i == a_length && j == b_length;
}

static bool is_stop_word(const struct normalizer_settings *settings, const struct mdf_value *strings, size_t i)
{
    for (size_t k = 0; k < settings->stop_words.n; k++) {
        const char *word = settings->stop_words.items[k];

        if (equal_words(string_at(strings, i), length_at(strings, i), word, strlen(word), settings->case_sensitive == 1)) {
            return true;
        }
    }
    return false;
}

enum case_change { CASE_KEPT, CASE_LOWER, CASE_UPPER };

static bool read_case_change(struct mdf_call *call, enum case_change *change)
{
    const struct normalizer_settings *settings = call->settings;
    const char *name = settings->case_change != NULL ? settings->case_change : "NONE";

    *change = strcmp(name, "LOWER") == 0 ? CASE_LOWER : strcmp(name, "UPPER") == 0 ? CASE_UPPER : CASE_KEPT;
    return *change != CASE_KEPT || strcmp(name, "NONE") == 0
               ? true
               : mdf_call_error(call, MDF_VALUE, "case_change_action '%s' is none of LOWER, UPPER, NONE", name);
}

/* Appends a string in another case to an empty text. */
static void append_in_case(struct mdf_text *text, const char *bytes, size_t length, bool upper)
{
    size_t n_bytes;

    text->length = 0;
    mdf_text_append(text, "", 0);
    for (size_t i = 0; i < length; i += n_bytes) {
        encode(text, change_case(decode(bytes + i, length - i, &n_bytes), upper));
    }
}

/* The strings that stay, in the wanted case, into the output's elements. */
static bool write_normalized(struct mdf_call *call, const struct mdf_value *strings, enum case_change change,
                             const uint64_t *kept, size_t n, char **target)
{
    struct mdf_text text;
    bool done = true;

    mdf_text_init(&text, call->context->memory);
    for (size_t i = 0; done && i < n; i++) {
        size_t from = (size_t)kept[i];

        if (change == CASE_KEPT) {
            mdf_elements_copy(call, MDF_DTYPE_STRING, &target[i], mdf_element_at(MDF_DTYPE_STRING, strings->data, from), 1);
            continue;
        }
        append_in_case(&text, string_at(strings, from), length_at(strings, from), change == CASE_UPPER);
        done = text.failed ? mdf_call_out_of_memory(call) : write_string(call, &target[i], text.bytes, text.length);
    }
    mdf_text_release(&text);
    return done;
}

static bool string_normalizer(struct mdf_call *call)
{
    const struct mdf_value *strings = string_tensor(call, 0);
    int64_t shape[2] = {1, 1};
    enum case_change change;
    uint64_t *kept;
    size_t n = 0;
    char **target;

    if (strings == NULL || !read_case_change(call, &change)) {
        return false;
    }
    if (strings->rank != 1 && !(strings->rank == 2 && mdf_value_shape(strings)[0] == 1)) {
        char text[96];

        mdf_value_describe(strings, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "the input must be a row of strings, [C] or [1, C], not %s", text);
    }
    kept = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, strings->length + 1);
    if (kept == NULL) {
        return false;
    }
    for (size_t i = 0; i < strings->length; i++) {
        if (mdf_should_stop_at(call->context, i, STRINGS_PER_LOOK)) {
            return false;
        }
        if (!is_stop_word(call->settings, strings, i)) {
            kept[n++] = i;
        }
    }
    shape[strings->rank - 1] = n > 0 ? (int64_t)n : 1;
    target = mdf_call_output(call, 0, MDF_DTYPE_STRING, strings->rank, shape);
    if (target == NULL) {
        return false;
    }
    return n > 0 ? write_normalized(call, strings, change, kept, n, target)
                 : mdf_elements_fill(call, MDF_DTYPE_STRING, target, 1, NULL);
}

const struct mdf_operator mdf_operators_text[] = {
    {"StringConcat", 20, 99, string_concat, NULL, 0, MDF_OPERATOR_PURE, NULL, .infer = &mdf_rule_broadcast},
    {"StringSplit", 20, 99, string_split, split_table, sizeof(struct split_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_text_parts},
    {"StringNormalizer", 10, 99, string_normalizer, normalizer_table, sizeof(struct normalizer_settings), MDF_OPERATOR_PURE,
     NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
