/* hashes.c - a number of 32 bits for each element's bytes: MurmurHash3.
 *
 * Comes in: numbers of 4 or 8 bytes, hashed as they lie in the memory of a machine whose lowest byte is the first, or strings.
 * Goes out: uint32, or int32 with the same bits. Source: MurmurHash3 of ONNX Runtime's com.microsoft, version 1; Appleby,
 * MurmurHash3_x86_32 (public domain). */
#include "functions/kernel/operator.h"

#include <string.h>

struct hash_settings {
    int64_t seed, positive;
};

static const struct mdf_setting hash_table[] = {{"seed", MDF_SETTING_INT, offsetof(struct hash_settings, seed)},
                                                {"positive", MDF_SETTING_INT, offsetof(struct hash_settings, positive)},
                                                {NULL, MDF_SETTING_INT, 0}};

static uint32_t rotate(uint32_t word, unsigned n)
{
    return word << n | word >> (32 - n);
}

static uint32_t scramble(uint32_t word)
{
    return rotate(word * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
}

static uint32_t read_word(const unsigned char *bytes, size_t n)
{
    uint32_t word = 0;

    for (size_t i = 0; i < n; i++) {
        word |= (uint32_t)bytes[i] << (8 * i);
    }
    return word;
}

static uint32_t hash(const unsigned char *bytes, size_t n, uint32_t seed)
{
    uint32_t state = seed;
    size_t i;

    for (i = 0; i + 4 <= n; i += 4) {
        state = rotate(state ^ scramble(read_word(bytes + i, 4)), 13) * 5 + UINT32_C(0xe6546b64);
    }
    if (i < n) {
        state ^= scramble(read_word(bytes + i, n - i));
    }
    state ^= (uint32_t)n;
    state = (state ^ state >> 16) * UINT32_C(0x85ebca6b);
    state = (state ^ state >> 13) * UINT32_C(0xc2b2ae35);
    return state ^ state >> 16;
}

/* The bytes of a number, the lowest first. */
static uint32_t hash_number(const void *element, size_t size, uint32_t seed)
{
    unsigned char bytes[8];
    uint64_t wide;
    uint32_t narrow;

    memcpy(&narrow, element, sizeof narrow);
    memcpy(&wide, size == 8 ? element : &(uint64_t){0}, sizeof wide);
    wide = size == 8 ? wide : narrow;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(wide >> (8 * i));
    }
    return hash(bytes, size, seed);
}

static bool hashes(struct mdf_call *call)
{
    const struct hash_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    bool is_text = x != NULL && x->dtype == MDF_DTYPE_STRING;
    size_t size = x == NULL || is_text ? 0 : mdf_dtype_size((mdf_dtype)x->dtype);
    uint32_t *target, seed = (uint32_t)settings->seed;

    if (x == NULL) {
        return false;
    }
    if (!is_text && size != 4 && size != 8) {
        return mdf_call_error(call, MDF_TYPE, "X is %s; it has to have strings, or numbers of 4 or 8 bytes",
                              mdf_dtype_name((mdf_dtype)x->dtype));
    }
    target = mdf_call_output(call, 0, settings->positive == 1 ? MDF_DTYPE_UINT32 : MDF_DTYPE_INT32, x->rank, mdf_value_shape(x));
    for (size_t i = 0; target != NULL && i < x->length; i++) {
        const char *text = is_text ? ((char *const *)x->data)[i] : NULL;

        target[i] = is_text ? hash((const unsigned char *)text, text == NULL ? 0 : mdf_string_length(text), seed)
                            : hash_number((const char *)x->data + i * size, size, seed);
    }
    return target != NULL;
}

const struct mdf_operator mdf_operators_hashes[] = {
    {"MurmurHash3", 1, 99, hashes, hash_table, sizeof(struct hash_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
