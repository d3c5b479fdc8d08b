/* list.c - a list that grows, in the compiler's scratch. See compiler.h. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

bool list_add(struct compiler *compiler, struct list *list, const void *item, size_t item_size)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity < 4 ? 8 : list->capacity * 2;
        void *grown = mdf_arena_array(&compiler->scratch, capacity, item_size);

        if (grown == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        if (list->n > 0) {
            memcpy(grown, list->items, list->n * item_size);
        }
        list->items = grown;
        list->capacity = capacity;
    }
    memcpy((char *)list->items + list->n * item_size, item, item_size);
    list->n++;
    return true;
}

bool list_add_operand(struct compiler *compiler, struct list *list, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && list_add(compiler, list, &operand, sizeof operand);
}

bool list_add_operands(struct compiler *compiler, struct list *list, const mdf_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!list_add_operand(compiler, list, operands[i])) {
            return false;
        }
    }
    return true;
}

int compare_numbers(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return x < y ? -1 : x > y;
}
