/* print_machine.c - see print_lowered.h: machine code as hexadecimal bytes, op by op.
 *
 *   v3 float64 = add v0, v1
 *     0010  c5 fb 10 03 c5 fb 58 43 08 */
#include "mdf_c/machine/emit.h"
#include "mdf_c/lowered/print_lowered.h"

enum { BYTES_A_LINE = 16, ADDRESS_BYTES = 8 };

struct bytes {
    struct mdf_text *text;
    const struct mdf_machine_listing *listing;
    size_t next_address; /* in listing->addresses: the first that ends behind what has been printed */
};

static bool is_address(struct bytes *bytes, size_t offset)
{
    const struct mdf_machine_listing *listing = bytes->listing;

    while (bytes->next_address < listing->n_addresses && listing->addresses[bytes->next_address] + ADDRESS_BYTES <= offset) {
        bytes->next_address++;
    }
    return bytes->next_address < listing->n_addresses && listing->addresses[bytes->next_address] <= offset;
}

static void print_bytes(struct bytes *bytes, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if ((i - first) % BYTES_A_LINE == 0) {
            mdf_text_printf(bytes->text, "%s  %04zx ", i > first ? "\n" : "", i);
        }
        if (is_address(bytes, i)) {
            mdf_text_append_string(bytes->text, " ..");
        } else {
            mdf_text_printf(bytes->text, " %02x", bytes->listing->bytes[i]);
        }
    }
    mdf_text_append_string(bytes->text, first < end ? "\n" : "");
}

static void print_place(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_machine_place *place)
{
    if (place->name != NULL) {
        mdf_text_append_string(text, place->name);
    } else if (place->op != NULL) {
        mdf_lowered_op_print(text, lowered, place->op);
    }
    mdf_text_append_string(text, "\n");
}

bool mdf_machine_code_print(struct mdf_text *text, struct mdf_lowered *lowered)
{
    struct mdf_machine_listing listing;
    struct bytes bytes = {text, &listing, 0};
    bool done;

    mdf_lowered_settle_code(lowered);
    if (lowered->code == NULL) {
        mdf_text_printf(text, "no machine code: %s\n", lowered->why_no_code != NULL ? lowered->why_no_code : "");
        return !text->failed;
    }
    done = mdf_lowered_list_code(lowered, &listing);
    if (done) {
        mdf_text_append_string(text, "entry\n");
        print_bytes(&bytes, 0, listing.n_places > 0 ? listing.places[0].offset : listing.end);
    }
    for (size_t i = 0; i < listing.n_places && done; i++) {
        size_t end = i + 1 < listing.n_places ? listing.places[i + 1].offset : listing.end;

        if (listing.places[i].offset < end) {
            print_place(text, lowered, &listing.places[i]);
            print_bytes(&bytes, listing.places[i].offset, end);
        }
    }
    if (done && listing.end < listing.n_bytes) {
        mdf_text_append_string(text, "constants\n");
        print_bytes(&bytes, listing.end, listing.n_bytes);
    }
    mdf_machine_listing_release(&listing);
    return done && !text->failed;
}
