/* Any sequence of calls on a few handles of all kinds, taken from the bytes of the input: fine ones, and ones with a
 * wrong pointer, length, number or handle. What a caller promises (the Requires of the header) is kept, all else
 * is tried. After each call: a known status; nothing changed that was not to change, and nothing at all after an
 * error; every key that went in is in.
 *
 * FUZZ_TRACE=1 prints the calls. */
#define _DEFAULT_SOURCE /* posix_memalign */
#include "world.h"

/* For stream.c. */
extern unsigned long num_calls, statuses[32];
unsigned long num_calls, statuses[32];

/* One call in the making. */
struct turn {
    struct input *in;
    unsigned target;    /* a slot */
    const struct kind *kind;
    bool bad;           /* something is wrong with it: it must be refused */
    bool may_stop;      /* may also stop half way */
    unsigned owners;    /* slots whose memory it may move: bits */
    int status;
};

#define CALL(turn, call) (before_call(), forbid(), (turn)->status = (call), allow(), called((turn), #call))

static void called(struct turn *turn, const char *call)
{
    static int trace = -1;
    const int status = turn->status;
    const bool stopped = turn->may_stop && (status == SKL_ERR_NEED_SPACE || status == SKL_ERR_NO_MEMORY);
    doing = call;
    if (trace < 0) {
        trace = getenv("FUZZ_TRACE") != NULL;
    }
    if (trace) {
        fprintf(stderr, "%s %u: %s = %d\n", turn->kind->name, turn->target, call, status);
    }
    REQUIRE(status <= 1 && status >= SKL_ERR_NEED_SPACE);
    num_calls++;
    statuses[status > 0 ? 31 : -status]++;
    REQUIRE(!turn->bad || status < 0);
    after_call(status < 0 && !stopped, turn->owners);
}

/* ---- arguments ---- */

static void *handle_at(unsigned slot)
{
    return &world.handles[slot].handle;
}

/* Now and then something that is no handle, or one of another kind. */
static void *or_bad(struct turn *turn, void *handle)
{
    union handle *other;
    unsigned i;
    if (!one_in(turn->in, 32)) {
        return handle;
    }
    switch (below(turn->in, 4)) {
    case 0:
        turn->bad = true;
        return NULL;
    case 1:
        turn->bad = true;
        return (char *)handle + 1 + below(turn->in, 7);
    case 2:
        for (i = 0; i < SLOTS; i++) {
            if (slots[i].kind != NULL && slots[i].kind != turn->kind) {
                turn->bad = true;
                return handle_at(i);
            }
        }
        return handle;
    default:
        other = give(sizeof *other, 8);
        memset(other, (int)byte(turn->in), sizeof *other);
        turn->bad = true;
        return other;
    }
}

/* Somewhere to put a handle, or now and then nowhere. */
static void *or_nowhere(struct turn *turn, void *place)
{
    if (!one_in(turn->in, 64)) {
        return place;
    }
    turn->bad = true;
    return byte(turn->in) & 1 ? NULL : (char *)place + 1;
}

/* A pointer to something that is aligned to more than a byte, now and then NULL or beside it. */
static void *or_beside(struct turn *turn, void *pointer)
{
    if (!one_in(turn->in, 64)) {
        return pointer;
    }
    turn->bad = true;
    return byte(turn->in) & 1 ? NULL : (char *)pointer + 1;
}

/* One that may as well be NULL. */
static void *optional(struct turn *turn, void *pointer)
{
    if (one_in(turn->in, 4)) {
        return NULL;
    }
    if (one_in(turn->in, 64)) {
        turn->bad = true;
        return (char *)pointer + 1;
    }
    return pointer;
}

/* A slot of the kind, from a number on; SLOTS if there is none. */
static unsigned slot_of(const struct kind *kind, unsigned from)
{
    unsigned i;
    for (i = 0; i < SLOTS; i++) {
        if (slots[(from + i) % SLOTS].kind == kind) {
            return (from + i) % SLOTS;
        }
    }
    return SLOTS;
}

/* The call changes the target. */
static void *target(struct turn *turn)
{
    struct slot *slot = &slots[turn->target];
    changing(handle_at(turn->target), sizeof(union handle));
    if (!slot->writable) {
        turn->bad = true;
    } else if (!slot->owned) {
        changing(slot->image, slot->len);
    }
    turn->owners |= 1u << turn->target;
    return or_bad(turn, handle_at(turn->target));
}

static const void *reader(struct turn *turn)
{
    return or_bad(turn, handle_at(turn->target));
}

static uint64_t key_of(struct input *in)
{
    const unsigned choice = below(in, 8);
    return choice == 0 ? word(in) : choice == 1 ? UINT64_MAX << below(in, 64) : skl_hash_mix(byte(in));
}

/* What went in. */
static void inserted(struct turn *turn, uint64_t hash, uint64_t count)
{
    remember(&slots[turn->target].shadow, hash, count);
}

static bool takes_keys(const struct turn *turn)
{
    return slots[turn->target].about.hash_id != SKL_HASH_CALLER;
}

/* A key for the target, in one of the forms that calls take it in. */
struct one_key {
    enum { AS_HASH, AS_NUMBER, AS_BYTES } form;
    uint64_t number, hash;
    const unsigned char *bytes;
    size_t len;
};

/* Some bytes, now and then NULL. */
static void take_bytes(struct turn *turn, struct one_key *key)
{
    unsigned char *bytes;
    size_t i;
    key->len = below(turn->in, 40);
    key->bytes = bytes = give(key->len, 1);
    for (i = 0; i < key->len; i++) {
        bytes[i] = (unsigned char)(key->number >> i % 8 * 8);
    }
    REQUIRE(skl_hash_bytes(bytes, key->len, slots[turn->target].about.seed, &key->hash) == SKL_OK);
    if (one_in(turn->in, 16)) {
        key->bytes = NULL;
        turn->bad = turn->bad || key->len > 0;
    }
}

static struct one_key take_key(struct turn *turn)
{
    struct one_key key;
    memset(&key, 0, sizeof key);
    key.number = key.hash = key_of(turn->in);
    key.form = below(turn->in, 3);
    if (key.form == AS_BYTES) {
        take_bytes(turn, &key);
    } else if (key.form == AS_NUMBER) {
        key.hash = skl_hash_u64(key.number, slots[turn->target].about.seed);
    }
    turn->bad = turn->bad || (key.form != AS_HASH && !takes_keys(turn));
    return key;
}

/* ---- life cycle ---- */

static void verify(unsigned slot)
{
    const struct slot *it = &slots[slot];
    if (it->kind != NULL && !it->spoiled) {
        doing = "verifying";
        it->kind->verify(handle_at(slot), &it->shadow);
        checked_answers(it->kind, handle_at(slot));
    }
}

static void free_slot(struct turn *turn)
{
    struct slot *slot = &slots[turn->target];
    static const union handle empty;
    void *handle;
    if (slot->kind != NULL) {
        new_turn();
        turn->bad = false;
        turn->owners = 1u << turn->target;
        handle = changing(handle_at(turn->target), sizeof(union handle));
        CALL(turn, (slot->kind->free(handle), 0));
        REQUIRE(memcmp(handle, &empty, sizeof empty) == 0);
        REQUIRE(pools[turn->target].memory[0] == NULL);
        memset(slot, 0, sizeof *slot);
    }
    new_turn();
}

/* A slot has become a sketch of the kind. */
static void made(struct turn *turn, bool foreign, bool writable, bool owned, unsigned char *image, size_t len)
{
    struct slot *slot = &slots[turn->target];
    memset(slot, 0, sizeof *slot);
    slot->kind = turn->kind;
    slot->writable = writable;
    slot->owned = owned;
    slot->image = owned ? NULL : image;
    slot->half = owned || image < world.memory[turn->target][1] ? 0 : 1;
    slot->len = owned ? 0 : len;
    doing = "asking a new sketch about itself";
    REQUIRE(turn->kind->about(handle_at(turn->target), &slot->about) == SKL_OK);
    start_shadow(&slot->shadow, &slot->about);
    slot->shadow.foreign = foreign;
    REQUIRE(foreign || slot->about.total == 0);
}

static void op_init(struct turn *turn)
{
    union params *params;
    uint64_t bytes = 0;
    size_t len, shift;
    unsigned char *memory;
    bool fine;
    free_slot(turn);
    params = give(sizeof *params, 8);
    turn->kind->shape(turn->in, params);
    fine = turn->kind->required_bytes(params, &bytes) == SKL_OK;
    shift = byte(turn->in) & 15;
    len = (size_t)bytes;
    if (turn->kind->has_room && one_in(turn->in, 2)) {
        len += 64 * below(turn->in, 8);
        fine = false; /* perhaps */
    }
    if (one_in(turn->in, 16)) {
        len = below(turn->in, ROOM);
        fine = false;
    }
    if (len > ROOM - 16) {
        len = ROOM - 16;
        fine = false;
    }
    memory = changing(world.memory[turn->target][0] + shift, len);
    changing(handle_at(turn->target), sizeof(union handle));
    if (one_in(turn->in, 64)) {
        CALL(turn, turn->kind->init(handle_at(turn->target), NULL, len, params));
        REQUIRE(turn->status < 0);
        return;
    }
    CALL(turn, turn->kind->init(or_nowhere(turn, handle_at(turn->target)), memory, len, or_beside(turn, params)));
    REQUIRE(!fine || turn->bad || turn->status == SKL_OK);
    if (turn->status == SKL_OK) {
        made(turn, false, true, false, memory, len);
    }
}

static void op_new(struct turn *turn)
{
    union params *params;
    skl_allocator *allocator;
    uint64_t bytes = 0;
    bool fine;
    free_slot(turn);
    params = give(sizeof *params, 8);
    turn->kind->shape(turn->in, params);
    fine = turn->kind->required_bytes(params, &bytes) == SKL_OK && bytes + 64 <= MOST_OWNED;
    changing(handle_at(turn->target), sizeof(union handle));
    allocator = give(sizeof *allocator, 8);
    allocator->alloc = allocate;
    allocator->free = release;
    allocator->ctx = &pools[turn->target];
    turn->owners = 1u << turn->target;
    pools[turn->target].deny = one_in(turn->in, 32);
    fine = fine && !pools[turn->target].deny;
    if (one_in(turn->in, 64)) {
        allocator->alloc = NULL;
        turn->bad = true;
    } else if (one_in(turn->in, 64)) {
        allocator->free = NULL;
        turn->bad = true;
    }
    if (fine && !turn->bad && one_in(turn->in, 8)) { /* the C library's */
        CALL(turn, turn->kind->make(handle_at(turn->target), params, NULL));
    } else {
        CALL(turn, turn->kind->make(or_nowhere(turn, handle_at(turn->target)), or_beside(turn, params), allocator));
    }
    REQUIRE(!fine || turn->bad || turn->status == SKL_OK);
    if (turn->status == SKL_OK) {
        made(turn, false, true, true, NULL, 0);
    }
}

static void op_free(struct turn *turn)
{
    if (one_in(turn->in, 8)) {
        CALL(turn, (turn->kind->free(NULL), 0));
        if (slots[turn->target].kind == NULL) {
            CALL(turn, (turn->kind->free(handle_at(turn->target)), 0));
        }
        return;
    }
    free_slot(turn);
}

/* Opens a copy of the image of some slot, of raw bytes, or of an image that was changed. */
static void op_open(struct turn *turn)
{
    struct input *in = turn->in;
    const unsigned from = below(in, SLOTS), changed = below(in, 4), how = byte(in);
    const uint32_t flags = one_in(in, 32) ? byte(in) : how & 3;
    const size_t shift = how >> 2 & 15;
    const struct slot *source = &slots[from];
    const bool own_half = from == turn->target && source->kind != NULL && !source->owned;
    unsigned char *image = world.memory[turn->target][own_half ? 1 - source->half : 0] + shift;
    size_t len = 0, room = 0, i;
    const void *where = NULL;
    uint64_t answers = 0;
    bool exact = false, write = byte(in) & 1;
    struct shadow shadow;
    struct about about;
    memset(&shadow, 0, sizeof shadow);
    memset(&about, 0, sizeof about);
    if (source->kind != NULL && !one_in(in, 16)) {
        turn->kind = source->kind;
        REQUIRE(source->kind->image(handle_at(from), &where, &len) == SKL_OK);
        if (len > ROOM - 16) {
            return;
        }
        memcpy(image, where, len);
        exact = changed != 0 && !source->spoiled && !source->unchecked;
        shadow = source->shadow;
        REQUIRE(source->kind->about(handle_at(from), &about) == SKL_OK);
        answers = exact ? source->kind->answers(handle_at(from)) : 0;
    } else {
        len = below(in, 400);
        for (i = 0; i < len; i++) {
            image[i] = (unsigned char)byte(in);
        }
    }
    if (changed == 0 && len > 0) {
        for (i = 1 + below(in, 3); i > 0; i--) {
            const unsigned at = below(in, 4) != 0 && len >= 64 ? below(in, 64) : below(in, (unsigned)len);
            image[at] = (unsigned char)byte(in);
        }
        if (byte(in) & 1) {
            reseal(image, len);
        } else if (byte(in) & 1) {
            unseal(image, len);
        }
    }
    if (one_in(in, 16)) {
        len = below(in, (unsigned)len + 1);
        exact = false;
    }
    if (own_half) {
        const int half = source->half;
        free_slot(turn);
        slots[turn->target].half = 1 - half;
    } else {
        free_slot(turn);
    }
    exact = exact && (flags & ~3u) == 0 && (about.is_sealed || flags & SKL_OPEN_ALLOW_UNSEALED);
    if (write && turn->kind->has_room && one_in(in, 4)) {
        room = below(in, 6) * 64u;
        room = len + room > ROOM - 16 ? 0 : room;
        memset(image + len, 0, room);
        exact = exact && room == 0; /* perhaps */
    }
    changing(handle_at(turn->target), sizeof(union handle));
    if (write) {
        changing(image, len + room);
        CALL(turn, turn->kind->open(or_nowhere(turn, handle_at(turn->target)), image, len + room, len, flags));
    } else {
        reading(image, len);
        CALL(turn, turn->kind->view(or_nowhere(turn, handle_at(turn->target)), image, len, flags));
    }
    REQUIRE(!exact || turn->bad || turn->status == SKL_OK);
    if (turn->status == SKL_OK) {
        made(turn, true, write, false, image, len + room);
        slots[turn->target].unchecked = !exact && (flags & SKL_OPEN_SKIP_PAYLOAD_CHECK);
        if (exact) {
            slots[turn->target].shadow = shadow;
            verify(turn->target);
            REQUIRE(!about.is_sealed || turn->kind->answers(handle_at(turn->target)) == answers);
        }
    }
}

/* ---- calls of every kind on a sketch ---- */

static void op_insert(struct turn *turn)
{
    void *handle = target(turn);
    const struct one_key key = take_key(turn);
    pools[turn->target].deny = one_in(turn->in, 32);
    if (key.form == AS_HASH) {
        CALL(turn, turn->kind->insert_hash(handle, key.number));
    } else if (key.form == AS_NUMBER) {
        CALL(turn, turn->kind->insert_u64(handle, key.number));
    } else {
        CALL(turn, turn->kind->insert(handle, key.bytes, key.len));
    }
    if (turn->status == SKL_OK) {
        inserted(turn, key.hash, 1);
    }
}

/* A batch in some kind of array, and what it holds. */
enum { MOST_KEYS = 100 };
struct batch {
    skl_keys *keys;
    size_t n;
    uint64_t hashes[MOST_KEYS];
    bool valid[MOST_KEYS];
};

static void fill_batch(struct turn *turn, struct batch *batch)
{
    struct input *in = turn->in;
    const uint64_t seed = slots[turn->target].about.seed;
    const unsigned kind = below(in, 5), wrong = one_in(in, 16) ? 1 + below(in, 9) : 0;
    const size_t n = below(in, MOST_KEYS + 1);
    const unsigned start = byte(in);
    unsigned char *bytes = NULL, *validity = NULL;
    uint64_t *numbers = NULL;
    size_t i, used = 0;
    skl_keys *keys = batch->keys = give(sizeof *keys, 8);
    memset(keys, 0, sizeof *keys);
    batch->n = keys->n = n;
    keys->kind = kind;
    if (byte(in) & 1) {
        validity = give((n + 7) / 8, 1);
        for (i = 0; i < (n + 7) / 8; i++) {
            validity[i] = (unsigned char)(byte(in) | 0x0f);
        }
        keys->validity = validity;
    }
    for (i = 0; i < n; i++) {
        batch->valid[i] = validity == NULL || (validity[i / 8] >> i % 8 & 1) != 0;
        batch->hashes[i] = skl_hash_mix(start + i * i % 61);
    }
    if (kind <= SKL_KEYS_U64) {
        numbers = give(8 * n, 8);
        for (i = 0; i < n; i++) {
            numbers[i] = batch->hashes[i];
            batch->hashes[i] = kind == SKL_KEYS_U64 ? skl_hash_u64(numbers[i], seed) : numbers[i];
        }
        keys->data = numbers;
    } else {
        const size_t width = kind == SKL_KEYS_BYTES32 ? 4 : 8;
        unsigned char *offsets = give(width * (n + (kind != SKL_KEYS_POINTERS && n > 0)), width);
        const unsigned char **pointers = kind == SKL_KEYS_POINTERS ? give(n * sizeof *pointers, 8) : NULL;
        for (i = 0; i < n; i++) {
            used += (start + i) % 20;
        }
        bytes = give(used, 1);
        keys->data = kind == SKL_KEYS_POINTERS ? (const void *)pointers : bytes;
        keys->data_len = kind == SKL_KEYS_POINTERS ? 0 : used;
        keys->offsets = offsets;
        used = 0;
        for (i = 0; i < n; i++) {
            const size_t len = (start + i) % 20;
            const uint64_t number = kind == SKL_KEYS_POINTERS ? len : used;
            memcpy(bytes + used, &"a key, of which some are prefixes"[start % 3], len);
            if (kind == SKL_KEYS_BYTES32) {
                ((uint32_t *)(void *)offsets)[i] = (uint32_t)number;
                ((uint32_t *)(void *)offsets)[i + 1] = (uint32_t)(number + len);
            } else {
                ((uint64_t *)(void *)offsets)[i] = number;
                if (kind == SKL_KEYS_BYTES64) {
                    ((uint64_t *)(void *)offsets)[i + 1] = number + len;
                } else {
                    pointers[i] = bytes + used;
                    if (!batch->valid[i]) {
                        pointers[i] = (const unsigned char *)(uintptr_t)number;
                        ((uint64_t *)(void *)offsets)[i] = UINT64_MAX;
                    }
                }
            }
            REQUIRE(skl_hash_bytes(bytes + used, len, seed, &batch->hashes[i]) == SKL_OK);
            used += len;
        }
        if (n > 0 && validity == NULL && kind != SKL_KEYS_POINTERS && wrong == 9) { /* offsets that go back */
            memset(offsets, 0xff, width);
            turn->bad = true;
        }
    }
    if (n > 0 && kind != SKL_KEYS_HASHES && !takes_keys(turn)) {
        turn->bad = true;
    }
    switch (n == 0 ? 0 : wrong) {
    case 1:
        keys->kind = 5 + byte(in);
        turn->bad = true;
        break;
    case 2:
        keys->reserved = 1 + byte(in);
        turn->bad = true;
        break;
    case 3:
        keys->n = SIZE_MAX - below(in, 2);
        turn->bad = true;
        break;
    case 4:
        turn->bad = turn->bad || kind <= SKL_KEYS_U64 || kind == SKL_KEYS_POINTERS || keys->data_len > 0;
        keys->data = NULL;
        break;
    case 5:
        turn->bad = turn->bad || kind >= SKL_KEYS_BYTES32;
        keys->offsets = NULL;
        break;
    case 6:
        if (kind <= SKL_KEYS_U64 || kind == SKL_KEYS_POINTERS) {
            keys->data = (const char *)keys->data + 1;
            turn->bad = true;
        }
        break;
    case 7:
        if (kind >= SKL_KEYS_BYTES32) {
            keys->offsets = (const char *)keys->offsets + 1;
            turn->bad = true;
        }
        break;
    case 8:
        if (keys->data_len > 0 && validity == NULL) {
            keys->data_len--;
            turn->bad = true;
        }
        break;
    default:
        break;
    }
}

static void op_insert_batch(struct turn *turn)
{
    struct batch batch;
    void *handle = target(turn);
    size_t *consumed = result(sizeof *consumed, 8), first, i;
    fill_batch(turn, &batch);
    *consumed = first = one_in(turn->in, 4) ? below(turn->in, (unsigned)batch.n + 2) : 0;
    turn->bad = turn->bad || (turn->kind->has_room && first > batch.n);
    turn->may_stop = true;
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, turn->kind->insert_batch(handle, batch.keys, consumed));
    if (turn->status == SKL_OK) {
        REQUIRE(*consumed == batch.n);
        first = turn->kind->has_room ? first : 0;
    }
    REQUIRE(*consumed >= first || turn->status < 0);
    for (i = first; i < *consumed && i < batch.n; i++) {
        if (batch.valid[i]) {
            inserted(turn, batch.hashes[i], 1);
        }
    }
}

/* Many keys at once: what makes sketches grow. */
static void op_insert_many(struct turn *turn)
{
    enum { MANY = 1000 };
    skl_keys *keys = give(sizeof *keys, 8);
    uint64_t *hashes = give(MANY * sizeof *hashes, 8);
    const size_t n = below(turn->in, MANY + 1);
    const uint64_t start = byte(turn->in);
    size_t *consumed, i, first = 0, remembered = 0;
    void *handle = target(turn);
    memset(keys, 0, sizeof *keys);
    keys->n = n;
    keys->data = hashes;
    for (i = 0; i < n; i++) {
        hashes[i] = skl_hash_mix(start * 256 + i);
    }
    consumed = result(sizeof *consumed, 8);
    *consumed = 0;
    turn->may_stop = true;
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, turn->kind->insert_batch(handle, keys, consumed));
    for (i = first; i < *consumed; i += 1 + n / 8) {
        inserted(turn, hashes[i], 1);
        remembered++;
    }
    slots[turn->target].shadow.total = capped(slots[turn->target].shadow.total, *consumed - remembered, UINT64_MAX);
}

/* A source for the target: another slot of its kind, or the target itself. */
static const void *source_of(struct turn *turn, unsigned *slot)
{
    *slot = slot_of(turn->kind, below(turn->in, SLOTS));
    return *slot == SLOTS ? NULL : or_bad(turn, handle_at(*slot));
}

static void joined(struct turn *turn, unsigned source)
{
    if (source != turn->target) {
        slots[turn->target].spoiled |= slots[source].spoiled;
        remember_all(&slots[turn->target].shadow, &slots[source].shadow);
    }
}

static void op_merge(struct turn *turn)
{
    unsigned other;
    void *handle = target(turn);
    const void *source = source_of(turn, &other);
    if (source == NULL || other == SLOTS) {
        source = NULL;
        turn->bad = true;
    }
    turn->bad = turn->bad || (other == turn->target && !turn->kind->merging_twice_is_harmless);
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, turn->kind->merge(handle, source));
    if (turn->status == SKL_OK) {
        joined(turn, other);
    }
}

static void op_clear(struct turn *turn)
{
    void *handle = target(turn);
    CALL(turn, turn->kind->clear(handle));
    if (turn->status == SKL_OK) {
        forget_all(&slots[turn->target].shadow);
    }
}

static void op_seal(struct turn *turn)
{
    const uint64_t answers = slots[turn->target].spoiled ? 0 : turn->kind->answers(handle_at(turn->target));
    void *handle = target(turn);
    CALL(turn, turn->kind->seal(handle));
    if (turn->status == SKL_OK && !slots[turn->target].spoiled) {
        REQUIRE(turn->kind->answers(handle_at(turn->target)) == answers);
    }
}

static void op_image(struct turn *turn)
{
    const struct slot *slot = &slots[turn->target];
    const void **where = result(sizeof *where, 8), *image;
    size_t *len = result(sizeof *len, 8);
    const void *handle = reader(turn);
    *where = NULL;
    *len = 0;
    CALL(turn, turn->kind->image(handle, or_beside(turn, where), or_beside(turn, len)));
    if (turn->status == SKL_OK && slot->kind == turn->kind) {
        image = *where;
        REQUIRE(image != NULL && *len >= 64 && *len % 64 == 0);
        REQUIRE(slot->owned || (image == slot->image && *len <= slot->len));
    }
}

static void op_level(struct turn *turn)
{
    const int level = one_in(turn->in, 8) ? (int)(uint32_t)word(turn->in) : (int)below(turn->in, 6);
    void *handle = or_bad(turn, changing(handle_at(turn->target), sizeof(union handle)));
    CALL(turn, turn->kind->set_simd_level(handle, level));
    if (level < SKL_SIMD_PORTABLE || level > SKL_SIMD_AVX512VBMI) {
        REQUIRE(turn->status < 0);
    }
}

static void op_verify(struct turn *turn)
{
    verify(turn->target);
}

/* Bytes that change under a handle: wrong answers from then on, and no access outside. */
static void op_spoil(struct turn *turn)
{
    struct slot *slot = &slots[turn->target];
    const void *where = NULL;
    unsigned char *image;
    size_t len = 0, i;
    REQUIRE(slot->kind->image(handle_at(turn->target), &where, &len) == SKL_OK);
    image = (unsigned char *)(uintptr_t)where;
    if (one_in(turn->in, 4) && len > 0) {
        for (i = 1 + below(turn->in, 8); i > 0; i--) {
            image[below(turn->in, len > 65536 ? 65536 : (unsigned)len)] = (unsigned char)byte(turn->in);
        }
        slot->spoiled = true;
    }
}

/* What concerns the whole process: the level of handles that are made from then on, and texts for any number. */
static void op_process(struct turn *turn)
{
    const int number = one_in(turn->in, 8) ? (int)(uint32_t)word(turn->in) : (int)below(turn->in, 6);
    CALL(turn, skl_simd_set_level(number));
    REQUIRE(turn->status != SKL_OK || skl_simd_level() == number);
    REQUIRE(strlen(skl_simd_name(number)) > 0 && strlen(skl_status_string(number)) > 0);
    REQUIRE(strlen(skl_status_string(~number)) > 0);
}

/* ---- calls of one kind ---- */

#include "calls_bloom.h"
#include "calls_hll.h"
#include "calls_cms.h"
#include "calls_topk.h"

/* What is done, how often, and with which kind: NULL for every one. */
enum { ON_ANY_SLOT, ON_A_SKETCH, WITH_KEYS /* a sketch that takes keys alone */ };
static const struct op {
    void (*run)(struct turn *);
    int on;
    int weight;
    const char *kind;
} ops[] = {
    {op_init, ON_ANY_SLOT, 8, NULL},
    {op_new, ON_ANY_SLOT, 6, NULL},
    {op_open, ON_ANY_SLOT, 16, NULL},
    {op_free, ON_ANY_SLOT, 2, NULL},
    {op_insert, WITH_KEYS, 16, NULL},
    {op_insert_batch, WITH_KEYS, 16, NULL},
    {op_insert_many, WITH_KEYS, 6, NULL},
    {op_merge, WITH_KEYS, 10, NULL},
    {op_clear, ON_A_SKETCH, 2, NULL},
    {op_seal, ON_A_SKETCH, 8, NULL},
    {op_image, ON_A_SKETCH, 3, NULL},
    {op_level, WITH_KEYS, 4, NULL},
    {op_verify, ON_A_SKETCH, 4, NULL},
    {op_spoil, ON_A_SKETCH, 2, NULL},
    {op_process, ON_ANY_SLOT, 3, NULL},
    {bloom_look_up, ON_A_SKETCH, 10, "bloom"},
    {bloom_look_up_batch, ON_A_SKETCH, 12, "bloom"},
    {bloom_select, ON_A_SKETCH, 6, "bloom"},
    {bloom_in_each, ON_A_SKETCH, 6, "bloom"},
    {bloom_seen, ON_A_SKETCH, 6, "bloom"},
    {bloom_intersection, ON_A_SKETCH, 5, "bloom"},
    {bloom_structures, ON_A_SKETCH, 4, "bloom"},
    {bloom_parameters, ON_ANY_SLOT, 4, "bloom"},
    {bloom_payload, ON_ANY_SLOT, 4, "bloom"},
    {hll_growth, ON_A_SKETCH, 10, "hll"},
    {hll_grouped, ON_A_SKETCH, 6, "hll"},
    {hll_hashes, ON_A_SKETCH, 6, "hll"},
    {hll_folding, ON_A_SKETCH, 8, "hll"},
    {hll_many, ON_A_SKETCH, 8, "hll"},
    {hll_overlap, ON_A_SKETCH, 8, "hll"},
    {hll_structures, ON_A_SKETCH, 6, "hll"},
    {hll_parameters, ON_ANY_SLOT, 3, "hll"},
    {cms_count, ON_A_SKETCH, 14, "cms"},
    {cms_count_batch, ON_A_SKETCH, 12, "cms"},
    {cms_look_up, ON_A_SKETCH, 8, "cms"},
    {cms_look_up_batch, ON_A_SKETCH, 10, "cms"},
    {cms_product, ON_A_SKETCH, 6, "cms"},
    {cms_aging, ON_A_SKETCH, 8, "cms"},
    {cms_structures, ON_A_SKETCH, 4, "cms"},
    {cms_parameters, ON_ANY_SLOT, 4, "cms"},
    {topk_count, ON_A_SKETCH, 24, "topk"},
    {topk_hold, ON_A_SKETCH, 12, "topk"},
    {topk_recount, ON_A_SKETCH, 8, "topk"},
    {topk_join, ON_A_SKETCH, 10, "topk"},
    {topk_order, ON_A_SKETCH, 4, "topk"},
    {topk_structures, ON_A_SKETCH, 5, "topk"},
    {topk_parameters, ON_ANY_SLOT, 3, "topk"},
};

/* An operation for a number below 65536, by weight. */
static const struct op *op_of(unsigned number)
{
    unsigned total = 0, i;
    for (i = 0; i < sizeof ops / sizeof *ops; i++) {
        total += (unsigned)ops[i].weight;
    }
    number = number * total / 65536;
    for (i = 0; number >= (unsigned)ops[i].weight; i++) {
        number -= (unsigned)ops[i].weight;
    }
    return &ops[i];
}

static void run(struct input *in)
{
    const struct op *op = op_of(below(in, 65536));
    const unsigned choice = byte(in);
    struct turn turn;
    unsigned i;
    memset(&turn, 0, sizeof turn);
    new_turn();
    turn.in = in;
    turn.target = choice % SLOTS;
    turn.kind = &kinds[choice / SLOTS % KINDS];
    for (i = 0; i < KINDS && op->kind != NULL; i++) {
        if (strcmp(kinds[i].name, op->kind) == 0) {
            turn.kind = &kinds[i];
        }
    }
    if (op->on == WITH_KEYS && turn.kind->insert == NULL) {
        return;
    }
    if (op->on != ON_ANY_SLOT) {
        turn.target = slot_of(turn.kind, turn.target);
        if (turn.target == SLOTS) {
            return;
        }
    }
    op->run(&turn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    struct turn turn;
    in.at = data;
    in.left = size;
    make_world();
    REQUIRE(skl_simd_set_level(skl_simd_detected()) == SKL_OK);
    while (in.left > 0) {
        run(&in);
    }
    memset(&turn, 0, sizeof turn);
    for (turn.target = 0; turn.target < SLOTS; turn.target++) {
        turn.kind = slots[turn.target].kind;
        verify(turn.target);
        turn.owners = 0;
        free_slot(&turn);
    }
    return 0;
}
