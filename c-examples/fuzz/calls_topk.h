/* Included by calls.c: calls that only top-k has, most of them together with a Count-Min sketch. */

/* What a top-k holds, where all of it is known to be right. */
enum { MOST_HELD = 128 };
struct top {
    bool known;
    size_t n;
    uint32_t k, max_key_bytes;
    uint64_t hashes[MOST_HELD], counts[MOST_HELD];
};

static struct top topk_read(unsigned slot)
{
    skl_topk_info info;
    skl_topk_entry entry;
    struct top top;
    size_t i;
    memset(&top, 0, sizeof top);
    top.n = topk_len(handle_at(slot), &info);
    top.k = info.k;
    top.max_key_bytes = info.max_key_bytes;
    top.known = !slots[slot].spoiled && !slots[slot].shadow.foreign && top.n <= MOST_HELD;
    entry.struct_size = sizeof entry;
    for (i = 0; top.known && i < top.n; i++) {
        REQUIRE(skl_topk_get(handle_at(slot), i, &entry) == SKL_OK);
        top.hashes[i] = entry.hash;
        top.counts[i] = entry.count;
    }
    return top;
}

/* Which entry it is, or how many there are. */
static size_t topk_find(const struct top *top, uint64_t hash)
{
    size_t i = 0;
    while (i < top->n && top->hashes[i] != hash) {
        i++;
    }
    return i;
}

static uint64_t topk_least(const struct top *top)
{
    uint64_t least = UINT64_MAX;
    size_t i;
    for (i = 0; i < top->n; i++) {
        least = top->counts[i] < least ? top->counts[i] : least;
    }
    return least;
}

/* One key was offered: in place of its own entry, a free one, or one of the least; or not. */
static void topk_offered(unsigned slot, const struct top *was, const struct one_key *key, uint64_t estimate, bool held)
{
    const struct top is = topk_read(slot);
    const size_t at = topk_find(&is, key->hash), had = topk_find(was, key->hash);
    skl_topk_entry entry;
    size_t i;
    if (!was->known || !is.known) {
        return;
    }
    if (!held) {
        REQUIRE(estimate == 0 || (was->n == was->k && estimate <= topk_least(was)));
        REQUIRE(is.n == was->n && memcmp(is.hashes, was->hashes, sizeof is.hashes) == 0);
        REQUIRE(memcmp(is.counts, was->counts, sizeof is.counts) == 0);
        return;
    }
    REQUIRE(at < is.n && is.counts[at] == estimate);
    for (i = 0; i < is.n; i++) {
        REQUIRE(i == at || (is.hashes[i] == was->hashes[i] && is.counts[i] == was->counts[i]));
    }
    if (had < was->n) {
        REQUIRE(at == had && is.n == was->n);
        return;
    }
    REQUIRE(was->n < was->k ? at == was->n && is.n == was->n + 1
                            : is.n == was->n && was->counts[at] == topk_least(was) && estimate > was->counts[at]);
    entry.struct_size = sizeof entry;
    REQUIRE(skl_topk_get(handle_at(slot), at, &entry) == SKL_OK && entry.key_bytes == key->len);
    REQUIRE(entry.kept_bytes == (key->len < is.max_key_bytes ? key->len : is.max_key_bytes));
    REQUIRE(entry.kept_bytes == 0 || memcmp(entry.key, key->bytes, entry.kept_bytes) == 0);
}

static const struct kind *kind_named(const char *name)
{
    unsigned i = 0;
    while (strcmp(kinds[i].name, name) != 0) {
        i++;
    }
    return &kinds[i];
}

static bool same_hashing(unsigned one, unsigned two)
{
    return slots[one].about.seed == slots[two].about.seed && slots[one].about.hash_id == slots[two].about.hash_id;
}

/* A Count-Min sketch, to change or to read, that need not fit. */
static void *beside(struct turn *turn, unsigned *slot, bool to_change)
{
    const struct kind *kind = turn->kind;
    const unsigned top = turn->target;
    void *handle = NULL;
    turn->kind = kind_named("cms");
    *slot = slot_of(turn->kind, below(turn->in, SLOTS));
    turn->bad = turn->bad || *slot == SLOTS || !same_hashing(top, *slot);
    if (*slot != SLOTS) {
        turn->target = *slot;
        handle = to_change ? target(turn) : or_bad(turn, handle_at(*slot));
    }
    turn->kind = kind;
    turn->target = top;
    return handle;
}

static void topk_count(struct turn *turn)
{
    const unsigned top = turn->target;
    const struct top was = topk_read(top);
    void *handle = target(turn), *sketch;
    uint64_t *estimate = optional(turn, result(sizeof *estimate, 8));
    const uint64_t count = count_of(turn->in);
    struct one_key key;
    unsigned counting;
    memset(&key, 0, sizeof key);
    key.number = skl_hash_mix(below(turn->in, 16));
    sketch = beside(turn, &counting, true);
    take_bytes(turn, &key);
    turn->bad = turn->bad || !takes_keys(turn);
    CALL(turn, skl_topk_add(handle, sketch, key.bytes, key.len, count, estimate));
    if (turn->status >= SKL_OK) {
        const uint64_t now = cms_count_in(counting, key.hash);
        struct top is = topk_read(top);
        const size_t at = topk_find(&is, key.hash);
        turn->target = counting;
        inserted(turn, key.hash, count);
        cms_answered(turn, counting, now);
        REQUIRE(estimate == NULL || *estimate == now);
        topk_offered(top, &was, &key, now, at < is.n && is.counts[at] == now);
    }
}

static void topk_hold(struct turn *turn)
{
    const struct top was = topk_read(turn->target);
    void *handle = target(turn);
    const uint64_t estimate = count_of(turn->in);
    struct one_key key;
    memset(&key, 0, sizeof key);
    key.number = word(turn->in);
    take_bytes(turn, &key);
    key.hash = one_in(turn->in, 2) ? key.hash : skl_hash_mix(below(turn->in, 16));
    CALL(turn, skl_topk_offer(handle, key.bytes, key.len, key.hash, estimate));
    if (turn->status >= SKL_OK) {
        topk_offered(turn->target, &was, &key, estimate, turn->status == 1);
    }
}

/* Every key that was there is what it is in the sketch, or gone. */
static void topk_recount(struct turn *turn)
{
    const struct top was = topk_read(turn->target);
    void *handle = target(turn);
    unsigned counting;
    const void *sketch = beside(turn, &counting, false);
    struct top is;
    size_t i, left = 0;
    CALL(turn, skl_topk_refresh(handle, sketch));
    is = topk_read(turn->target);
    for (i = 0; turn->status == SKL_OK && was.known && i < was.n; i++) {
        const uint64_t estimate = cms_count_in(counting, was.hashes[i]);
        const size_t at = topk_find(&is, was.hashes[i]);
        REQUIRE(estimate == 0 ? at == is.n : at < is.n && is.counts[at] == estimate);
        left += estimate > 0;
    }
    REQUIRE(turn->status != SKL_OK || !was.known || is.n == left);
}

/* The greatest of both stay. */
static void topk_join(struct turn *turn)
{
    const struct top was = topk_read(turn->target);
    void *handle = target(turn);
    unsigned other, counting;
    const void *source = source_of(turn, &other), *sketch = beside(turn, &counting, false);
    const struct top theirs = topk_read(other);
    struct top is;
    size_t i;
    turn->bad = turn->bad || other == turn->target || !same_hashing(turn->target, other) ||
                theirs.max_key_bytes < was.max_key_bytes;
    CALL(turn, skl_topk_merge(handle, source, sketch));
    if (turn->status != SKL_OK) {
        return;
    }
    joined(turn, other);
    is = topk_read(turn->target);
    if (!was.known || !theirs.known || !is.known) {
        return;
    }
    for (i = 0; i < is.n; i++) {
        REQUIRE(topk_find(&was, is.hashes[i]) < was.n || topk_find(&theirs, is.hashes[i]) < theirs.n);
        REQUIRE(is.counts[i] == cms_count_in(counting, is.hashes[i]));
    }
    for (i = 0; i < was.n + theirs.n; i++) {
        const uint64_t hash = i < was.n ? was.hashes[i] : theirs.hashes[i - was.n];
        const uint64_t estimate = cms_count_in(counting, hash);
        REQUIRE(topk_find(&is, hash) < is.n || estimate == 0 || (is.n == is.k && estimate <= topk_least(&is)));
    }
}

static void topk_order(struct turn *turn)
{
    const uint64_t answers = topk_answers(handle_at(turn->target));
    void *handle = target(turn);
    CALL(turn, skl_topk_sort(handle));
    REQUIRE(slots[turn->target].spoiled || topk_answers(handle_at(turn->target)) == answers);
    if (turn->status == SKL_OK && !slots[turn->target].spoiled) {
        topk_is_sorted(handle_at(turn->target));
    }
}

static void topk_structures(struct turn *turn)
{
    const void *handle = reader(turn);
    skl_topk_info *info = result(sizeof *info, 8), fine;
    skl_topk_entry *entry = result(sizeof *entry, 8);
    const size_t n = topk_len(handle_at(turn->target), &fine);
    const size_t i = one_in(turn->in, 8) ? (size_t)word(turn->in) : below(turn->in, (unsigned)fine.k + 1);
    const bool wrong = one_in(turn->in, 8);
    info->struct_size = wrong ? byte(turn->in) / 4 : sizeof *info;
    entry->struct_size = wrong ? byte(turn->in) / 4 : sizeof *entry;
    if (byte(turn->in) & 1) {
        turn->bad = turn->bad || info->struct_size != sizeof *info;
        CALL(turn, skl_topk_get_info(handle, or_beside(turn, info)));
        REQUIRE(turn->status != SKL_OK || (info->num_keys <= info->k && info->k <= 65536));
    } else {
        turn->bad = turn->bad || entry->struct_size != sizeof *entry || i >= n;
        CALL(turn, skl_topk_get(handle, i, or_beside(turn, entry)));
        REQUIRE(turn->status != SKL_OK || entry->kept_bytes <= fine.max_key_bytes);
    }
}

static void topk_parameters(struct turn *turn)
{
    skl_topk_params *params = result(sizeof *params, 8);
    const uint32_t k = (uint32_t)word(turn->in) >> below(turn->in, 32);
    const uint32_t max_key_bytes = (uint32_t)word(turn->in) >> below(turn->in, 32);
    turn->bad = k < 1 || k > 65536 || max_key_bytes > 65536;
    CALL(turn, skl_topk_params_for(k, max_key_bytes, or_beside(turn, params)));
    REQUIRE(turn->bad || params->image_bytes == 64 + ((uint64_t)k * (20 + max_key_bytes) + 63) / 64 * 64);
}
