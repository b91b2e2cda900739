/* Included by calls.c: calls that only Bloom filters have. */

/* What a look-up of one hash answers, from a handle that is fine. */
static bool bloom_has(unsigned slot, uint64_t hash)
{
    return skl_bloom_contains_hash(handle_at(slot), hash) == 1;
}

static void bloom_look_up(struct turn *turn)
{
    const void *handle = reader(turn);
    const struct one_key key = take_key(turn);
    if (key.form == AS_HASH) {
        CALL(turn, skl_bloom_contains_hash(handle, key.number));
    } else if (key.form == AS_NUMBER) {
        CALL(turn, skl_bloom_contains_u64(handle, key.number));
    } else {
        CALL(turn, skl_bloom_contains(handle, key.bytes, key.len));
    }
    REQUIRE(turn->status < 0 || turn->status == (int)bloom_has(turn->target, key.hash));
}

/* The bits of a batch are those of single look-ups, and 0 behind them. */
static void bloom_compare(const struct turn *turn, unsigned slot, const struct batch *batch, const uint64_t *bitmap)
{
    size_t i;
    for (i = 0; turn->status == SKL_OK && i < (batch->n + 63) / 64 * 64; i++) {
        const bool expected = i < batch->n && batch->valid[i] && bloom_has(slot, batch->hashes[i]);
        REQUIRE((bitmap[i / 64] >> i % 64 & 1) == (uint64_t)expected);
    }
}

static void bloom_look_up_batch(struct turn *turn)
{
    struct batch batch;
    const void *handle = reader(turn);
    uint64_t *bitmap;
    size_t *count, i;
    fill_batch(turn, &batch);
    if (byte(turn->in) & 1) {
        bitmap = result((batch.n + 63) / 64 * 8, 8);
        CALL(turn, skl_bloom_contains_batch(handle, batch.keys, batch.n > 0 ? or_beside(turn, bitmap) : bitmap));
        bloom_compare(turn, turn->target, &batch, bitmap);
    } else {
        count = result(sizeof *count, 8);
        CALL(turn, skl_bloom_count_batch(handle, batch.keys, or_beside(turn, count)));
        for (i = 0; turn->status == SKL_OK && i < batch.n; i++) {
            *count -= batch.valid[i] && bloom_has(turn->target, batch.hashes[i]);
        }
        REQUIRE(turn->status != SKL_OK || *count == 0);
    }
    if (turn->status == SKL_OK && batch.keys->kind == SKL_KEYS_HASHES && batch.keys->validity == NULL) {
        new_turn();
        fill_batch(turn, &batch);
        turn->bad = false;
        bitmap = result((MOST_KEYS + 63) / 64 * 8, 8);
        CALL(turn, skl_bloom_contains_hashes(handle_at(turn->target), batch.hashes, 7, bitmap));
        REQUIRE(turn->status == SKL_OK);
    }
}

static void bloom_select(struct turn *turn)
{
    struct batch batch;
    const void *handle = reader(turn);
    const bool all = (byte(turn->in) & 1) != 0, in_place = (byte(turn->in) & 1) != 0;
    size_t *count = result(sizeof *count, 8), n, i, expected = 0;
    uint32_t *candidates, *selected, chosen[MOST_KEYS];
    fill_batch(turn, &batch);
    n = all || batch.n == 0 ? batch.n : below(turn->in, MOST_KEYS);
    candidates = in_place ? result(n * 4, 4) : give(n * 4, 4);
    selected = in_place ? candidates : result(n * 4, 4);
    for (i = 0; i < n; i++) {
        candidates[i] = chosen[i] = all ? (uint32_t)i : (uint32_t)(i * 7 % batch.n);
    }
    if (!all && n > 0 && one_in(turn->in, 16)) {
        candidates[n - 1] = (uint32_t)batch.n + byte(turn->in);
        turn->bad = true;
    }
    if (all && one_in(turn->in, 16)) {
        n++;
        turn->bad = true;
    }
    CALL(turn, skl_bloom_select_batch(handle, batch.keys, all ? NULL : candidates, n, selected, or_beside(turn, count)));
    if (turn->status == SKL_OK) {
        for (i = 0; i < n; i++) {
            if (batch.valid[chosen[i]] && bloom_has(turn->target, batch.hashes[chosen[i]])) {
                REQUIRE(expected < *count && selected[expected] == chosen[i]);
                expected++;
            }
        }
        REQUIRE(expected == *count);
    }
}

static void bloom_in_each(struct turn *turn)
{
    struct batch batch;
    const skl_bloom **handles = give(8 * sizeof *handles, 8);
    const size_t n = below(turn->in, 9);
    unsigned chosen[8];
    size_t i, words;
    uint64_t *bitmaps;
    for (i = 0; i < n; i++) {
        chosen[i] = slot_of(turn->kind, i == 0 ? turn->target : below(turn->in, SLOTS));
        handles[i] = or_bad(turn, handle_at(chosen[i]));
    }
    turn->target = n > 0 ? chosen[0] : turn->target;
    fill_batch(turn, &batch);
    if (n == 0) {
        turn->bad = false;
    }
    words = (batch.n + 63) / 64;
    bitmaps = result(n * words * 8, 8);
    CALL(turn, skl_bloom_contains_batch_in_each(handles, n, batch.keys, bitmaps));
    for (i = 0; i < n; i++) {
        bloom_compare(turn, chosen[i], &batch, bitmaps + i * words);
    }
}

/* Inserts and tells what had been there. */
static void bloom_seen(struct turn *turn)
{
    struct batch batch;
    void *handle = target(turn);
    bool known[MOST_KEYS];
    uint64_t *seen;
    size_t i;
    fill_batch(turn, &batch);
    for (i = 0; i < batch.n; i++) {
        known[i] = batch.valid[i] && bloom_has(turn->target, batch.hashes[i]);
    }
    seen = result((batch.n + 63) / 64 * 8, 8);
    CALL(turn, skl_bloom_insert_batch(handle, batch.keys, seen));
    if (turn->status == SKL_OK) {
        for (i = 0; i < (batch.n + 63) / 64 * 64; i++) {
            const bool bit = (seen[i / 64] >> i % 64 & 1) != 0;
            REQUIRE(bit ? i < batch.n && batch.valid[i] : i >= batch.n || !known[i]);
        }
        for (i = 0; i < batch.n; i++) {
            if (batch.valid[i]) {
                inserted(turn, batch.hashes[i], 1);
            }
        }
    }
}

static void bloom_intersection(struct turn *turn)
{
    unsigned other, i, j, kept = 0;
    void *handle = target(turn);
    const void *source = source_of(turn, &other);
    struct shadow *shadow = &slots[turn->target].shadow;
    turn->bad = turn->bad || source == NULL;
    CALL(turn, skl_bloom_intersect(handle, source));
    if (turn->status == SKL_OK && other != turn->target) {
        slots[turn->target].spoiled |= slots[other].spoiled;
        for (i = 0; i < shadow->n; i++) {
            for (j = 0; j < slots[other].shadow.n && slots[other].shadow.hashes[j] != shadow->hashes[i]; j++) {
            }
            if (j < slots[other].shadow.n) {
                shadow->counts[kept] = shadow->counts[i];
                shadow->hashes[kept++] = shadow->hashes[i];
            }
        }
        shadow->n = kept;
    }
}

static void bloom_structures(struct turn *turn)
{
    const void *handle = reader(turn);
    skl_bloom_info *info = result(sizeof *info, 8);
    skl_bloom_estimate *estimate = result(sizeof *estimate, 8);
    const bool wrong = one_in(turn->in, 8);
    info->struct_size = wrong ? byte(turn->in) / 4 : sizeof *info;
    estimate->struct_size = wrong ? byte(turn->in) / 16 : sizeof *estimate;
    turn->bad = turn->bad || wrong;
    if (byte(turn->in) & 1) {
        CALL(turn, skl_bloom_get_info(handle, or_beside(turn, info)));
        REQUIRE(turn->status != SKL_OK || info->image_bytes == 64 * (info->num_blocks + 1));
    } else {
        CALL(turn, skl_bloom_get_estimate(handle, or_beside(turn, estimate)));
        REQUIRE(turn->status != SKL_OK || (estimate->fill >= 0 && estimate->fill <= 1));
    }
}

static void bloom_parameters(struct turn *turn)
{
    skl_bloom_params *params = result(sizeof *params, 8), *fine = give(sizeof *fine, 8);
    union params shape;
    const uint64_t keys = word(turn->in) >> below(turn->in, 64), number = word(turn->in);
    double value, *fpr = result(sizeof *fpr, 8);
    memcpy(&value, &number, sizeof value);
    if (byte(turn->in) & 1) {
        value = (double)(number >> 11) / 9007199254740992.0;
    }
    switch (below(turn->in, 8)) { /* the first takes a millisecond */
    case 0:
        if (one_in(turn->in, 16)) {
            CALL(turn, skl_bloom_params_for_fpr(keys, value, or_beside(turn, params)));
            REQUIRE(turn->status != SKL_OK || params->predicted_fpr <= value);
        }
        break;
    case 1:
        if (one_in(turn->in, 16)) {
            CALL(turn, skl_bloom_params_for_bits_per_key(keys, value * 64, or_beside(turn, params)));
        }
        break;
    case 2:
        if (one_in(turn->in, 16)) {
            CALL(turn, skl_bloom_params_for_bytes(keys, number >> below(turn->in, 64), or_beside(turn, params)));
        }
        break;
    case 3:
        CALL(turn, skl_bloom_params_explicit(keys, byte(turn->in) & 31, or_beside(turn, params)));
        REQUIRE(turn->status != SKL_OK || params->payload_bytes == 64 * keys);
        break;
    default:
        bloom_shape(turn->in, &shape);
        *fine = shape.bloom;
        CALL(turn, skl_bloom_predict_fpr(or_beside(turn, fine), keys, or_beside(turn, fpr)));
        REQUIRE(turn->status != SKL_OK || (*fpr >= 0 && *fpr <= 1));
        break;
    }
}

/* Blocks without a header, at any address. */
static void bloom_payload(struct turn *turn)
{
    const size_t len = one_in(turn->in, 4) ? below(turn->in, 600) : 64 * (1 + below(turn->in, 8));
    const uint32_t num_probes = one_in(turn->in, 8) ? byte(turn->in) : 1 + below(turn->in, 16);
    const bool fine = len > 0 && len % 64 == 0 && num_probes >= 1 && num_probes <= 16;
    const size_t n = below(turn->in, MOST_KEYS);
    unsigned char *payload = result(len, 1);
    uint64_t *hashes = give(n * 8, 8), *bitmap;
    size_t i, missing = 0;
    for (i = 0; i < n; i++) {
        hashes[i] = skl_hash_mix(i + len);
    }
    turn->bad = !fine;
    if (byte(turn->in) & 1) {
        for (i = 0; i < n; i++) {
            CALL(turn, skl_bloom_payload_insert_hash(payload, len, num_probes, hashes[i]));
            REQUIRE(turn->status == SKL_OK || !fine);
        }
    } else {
        CALL(turn, skl_bloom_payload_insert_hashes(payload, len, num_probes, hashes, n));
        REQUIRE(turn->status == SKL_OK || !fine);
    }
    bitmap = result((n + 63) / 64 * 8, 8);
    CALL(turn, skl_bloom_payload_contains_hashes(payload, len, num_probes, hashes, n, bitmap));
    for (i = 0; fine && i < n; i++) {
        missing += (bitmap[i / 64] >> i % 64 & 1) == 0;
        REQUIRE(skl_bloom_payload_contains_hash(payload, len, num_probes, hashes[i]) == 1);
    }
    REQUIRE(missing == 0);
}
