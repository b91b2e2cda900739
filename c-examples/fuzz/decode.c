/* Images that come from anywhere. The first two bytes of the input are options, the rest is the image:
 *
 *   byte 0  0-1  flags of the open    2  right length in the header    3  right checksums    4  taken as in use
 *           5    taken as a bare payload, too
 *   byte 1  0-3  address modulo 16    4-5  lines of room behind it (of kinds that grow)
 *
 * What opens is used: asked, inserted into, merged with itself, in all ways of its kind, sealed and opened again. Each copy is exactly as long
 * as it says, so that AddressSanitizer sees every byte beyond. */
#include "kinds.h"

/* Of decoders that took this input; for mutate.c. */
extern unsigned decode_opened;
unsigned decode_opened;

/* Some bytes at an address of our choice, that end where the allocation ends. */
struct copy {
    unsigned char *allocated, *bytes;
};

static struct copy copied(const void *bytes, size_t len, size_t room, size_t shift)
{
    struct copy copy;
    copy.allocated = malloc(shift + len + room + (shift + len + room == 0));
    REQUIRE(copy.allocated != NULL);
    copy.bytes = copy.allocated + shift;
    if (len > 0) {
        memcpy(copy.bytes, bytes, len);
    }
    memset(copy.bytes + len, 0, room);
    return copy;
}

/* Seals what was changed; it must open as what it was. */
static void reopens(const struct kind *kind, void *handle, size_t shift)
{
    union handle again;
    const void *image = NULL;
    size_t len = 0;
    struct copy copy;
    doing = "sealing and opening again";
    REQUIRE(kind->seal(handle) == SKL_OK);
    REQUIRE(kind->image(handle, &image, &len) == SKL_OK);
    copy = copied(image, len, 0, shift);
    REQUIRE(kind->view(&again, copy.bytes, len, SKL_OPEN_STRICT) == SKL_OK);
    REQUIRE(checked_answers(kind, &again) == checked_answers(kind, handle));
    kind->free(&again);
    free(copy.allocated);
}

static void change(const struct kind *kind, const void *view, const unsigned char *image, size_t len, uint32_t flags,
                   size_t room, size_t shift)
{
    union handle writer;
    struct copy copy = copied(image, len, room, shift);
    struct shadow shadow;
    struct about about;
    const void *where = NULL;
    size_t where_len = 0, i;
    uint64_t key = get_u64(image + 56);
    int status;
    doing = "opening to write what could be viewed";
    status = kind->open(&writer, copy.bytes, len + room, len, flags);
    if (room > 0 && status != SKL_OK) { /* a form that has no room */
        memset(&writer, 0, sizeof writer);
        REQUIRE(kind->seal(&writer) == SKL_ERR_HANDLE);
        room = 0;
        free(copy.allocated);
        copy = copied(image, len, 0, shift);
        status = kind->open(&writer, copy.bytes, len, len, flags);
    }
    REQUIRE(status == SKL_OK);
    REQUIRE(room > 0 || memcmp(copy.bytes, image, len) == 0);
    REQUIRE(checked_answers(kind, &writer) == checked_answers(kind, view));

    if (kind->merge != NULL) {
        doing = "merging with itself";
        status = kind->merge(&writer, view);
        REQUIRE(status == SKL_OK || !kind->merging_twice_is_harmless);
        if (kind->merging_twice_is_harmless) {
            REQUIRE(kind->seal(&writer) == SKL_OK);
            REQUIRE(kind->image(&writer, &where, &where_len) == SKL_OK && where_len >= 64);
            if (image[6] & 1) { /* in use, it may have been in another order and have had room */
                REQUIRE(where_len == len && memcmp(copy.bytes + 64, image + 64, len - 64) == 0);
            }
        }
        REQUIRE(kind->merge(&writer, &writer) <= SKL_OK);
    }
    REQUIRE(kind->about(&writer, &about) == SKL_OK);
    start_shadow(&shadow, &about);
    shadow.foreign = true;

    doing = "inserting into what was opened";
    for (i = 0; kind->insert != NULL && i < 24; i++) {
        key = i % 4 == 3 ? key : skl_hash_mix(key + i);
        if (kind->insert_hash(&writer, key) == SKL_OK) {
            remember(&shadow, key, 1);
        }
        if (kind->insert_u64(&writer, key) == SKL_OK) {
            REQUIRE(about.hash_id == SKL_HASH_XXH3);
            remember(&shadow, skl_hash_u64(key, about.seed), 1);
        }
    }
    kind->verify(&writer, &shadow);
    /* Until the first change, a seal that was taken unchecked stays, right or wrong. */
    if (kind->insert != NULL || (flags & SKL_OPEN_SKIP_PAYLOAD_CHECK) == 0) {
        reopens(kind, &writer, shift);
    }
    kind->verify(&writer, &shadow);
    if (kind->use != NULL) {
        kind->use(&writer, view);
        reopens(kind, &writer, shift);
    }
    REQUIRE(kind->clear(&writer) == SKL_OK);
    reopens(kind, &writer, shift);
    kind->free(&writer);
    free(copy.allocated);
}

static void payload(const unsigned char *image, size_t len, size_t shift)
{
    struct copy copy = copied(image, len, 0, shift);
    const uint32_t num_probes = len > 0 ? image[0] % 20u : 0;
    const bool fine = len > 0 && len % 64 == 0 && num_probes >= 1 && num_probes <= 16;
    uint64_t hashes[9], bitmap = 0;
    unsigned i;
    doing = "a bare payload";
    for (i = 0; i < 9; i++) {
        hashes[i] = skl_hash_mix(i + len);
    }
    REQUIRE((skl_bloom_payload_insert_hash(copy.bytes, len, num_probes, hashes[0]) == SKL_OK) == fine);
    REQUIRE((skl_bloom_payload_insert_hashes(copy.bytes, len, num_probes, hashes, 9) == SKL_OK) == fine);
    REQUIRE((skl_bloom_payload_contains_hashes(copy.bytes, len, num_probes, hashes, 9, &bitmap) == SKL_OK) == fine);
    REQUIRE(!fine || bitmap == 0x1ff);
    REQUIRE(fine ? skl_bloom_payload_contains_hash(copy.bytes, len, num_probes, hashes[8]) == 1
                 : skl_bloom_payload_contains_hash(copy.bytes, len, num_probes, hashes[8]) < 0);
    REQUIRE(fine || len == 0 || memcmp(copy.bytes, image, len) == 0);
    free(copy.allocated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    struct copy image;
    unsigned options, where, i;
    uint32_t flags;
    in.at = data;
    in.left = size;
    options = byte(&in);
    where = byte(&in);
    flags = options & 3;
    decode_opened = 0;
    image = copied(in.at, in.left, 0, where & 15);
    if (options & 4 && in.left >= 64) {
        put_u64(image.bytes + 16, in.left - 64);
    }
    if (options & 8) {
        reseal(image.bytes, in.left);
    }
    if (options & 16) {
        unseal(image.bytes, in.left);
    }
    for (i = 0; i < KINDS; i++) {
        union handle view, before;
        int status;
        memset(&view, 0, sizeof view);
        before = view;
        doing = kinds[i].name;
        status = kinds[i].view(&view, image.bytes, in.left, flags);
        REQUIRE(status <= 0 && status >= SKL_ERR_NEED_SPACE);
        if (status == SKL_OK) {
            decode_opened++;
            change(&kinds[i], &view, image.bytes, in.left, flags, kinds[i].has_room ? (where >> 4 & 3) * 64 : 0,
                   where & 15);
            kinds[i].free(&view);
        } else {
            REQUIRE(memcmp(&view, &before, sizeof view) == 0);
            REQUIRE(kinds[i].open(&view, image.bytes, in.left, in.left, flags) == status);
            REQUIRE(memcmp(&view, &before, sizeof view) == 0);
        }
    }
    REQUIRE(decode_opened <= 1);
    if (options & 32) {
        payload(image.bytes, in.left, where & 15);
    }
    free(image.allocated);
    return 0;
}
