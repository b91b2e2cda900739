/* Included by calls.c: calls that only Count-Min has. */

static uint64_t count_of(struct input *in)
{
    const unsigned choice = below(in, 8);
    return choice == 0 ? word(in) >> below(in, 64) : choice == 1 ? UINT32_MAX - byte(in) : choice == 2 ? 0 : byte(in);
}

/* What a handle that is fine estimates. */
static uint64_t cms_count_in(unsigned slot, uint64_t hash)
{
    return cms_has(handle_at(slot), hash, slots[slot].about.cap);
}

/* The status is that of an estimate. */
static void cms_answered(const struct turn *turn, unsigned slot, uint64_t estimate)
{
    REQUIRE(turn->status == (estimate == slots[slot].about.cap ? SKL_SATURATED : SKL_OK));
}

static void cms_count(struct turn *turn)
{
    void *handle = target(turn);
    const struct one_key key = take_key(turn);
    const uint64_t count = count_of(turn->in), cap = slots[turn->target].about.cap;
    const uint64_t before_it = cms_count_in(turn->target, key.hash);
    uint64_t *estimate = optional(turn, result(sizeof *estimate, 8));
    if (key.form == AS_HASH) {
        CALL(turn, skl_cms_add_hash(handle, key.number, count, estimate));
    } else if (key.form == AS_NUMBER) {
        CALL(turn, skl_cms_add_u64(handle, key.number, count, estimate));
    } else {
        CALL(turn, skl_cms_add(handle, key.bytes, key.len, count, estimate));
    }
    if (turn->status >= SKL_OK) {
        const uint64_t now = cms_count_in(turn->target, key.hash);
        inserted(turn, key.hash, count);
        cms_answered(turn, turn->target, now);
        REQUIRE(now >= capped(before_it, count, cap) && (estimate == NULL || *estimate == now));
    }
}

static void cms_count_batch(struct turn *turn)
{
    struct batch batch;
    const bool hashes = one_in(turn->in, 3), counted = one_in(turn->in, 2);
    void *handle = target(turn);
    uint64_t *counts, greatest = 0;
    const uint64_t *given_counts;
    size_t i;
    fill_batch(turn, &batch);
    given_counts = counts = give(batch.n * 8, 8);
    for (i = 0; i < batch.n; i++) {
        counts[i] = counted ? count_of(turn->in) : 1;
    }
    if (!counted) {
        given_counts = NULL;
    } else if (batch.n > 0 && one_in(turn->in, 64)) {
        given_counts = (const uint64_t *)(const void *)((const char *)counts + 1);
        turn->bad = true;
    }
    if (hashes && batch.keys->kind == SKL_KEYS_HASHES && batch.keys->reserved == 0 && batch.keys->n == batch.n) {
        for (i = 0; i < batch.n; i++) {
            batch.valid[i] = true;
        }
        CALL(turn, skl_cms_add_hashes(handle, batch.keys->data, batch.n, given_counts));
    } else {
        CALL(turn, skl_cms_add_batch(handle, batch.keys, given_counts));
    }
    for (i = 0; turn->status >= SKL_OK && i < batch.n; i++) {
        if (batch.valid[i]) {
            const uint64_t now = cms_count_in(turn->target, batch.hashes[i]);
            inserted(turn, batch.hashes[i], counts[i]);
            greatest = now > greatest ? now : greatest;
        }
    }
    /* A later key may have stopped a counter of one before. */
    REQUIRE(turn->status != SKL_SATURATED || greatest == slots[turn->target].about.cap);
}

static void cms_look_up(struct turn *turn)
{
    const void *handle = reader(turn);
    const struct one_key key = take_key(turn);
    uint64_t *estimate = result(sizeof *estimate, 8);
    if (key.form == AS_HASH) {
        CALL(turn, skl_cms_estimate_hash(handle, key.number, or_beside(turn, estimate)));
    } else if (key.form == AS_NUMBER) {
        CALL(turn, skl_cms_estimate_u64(handle, key.number, or_beside(turn, estimate)));
    } else {
        CALL(turn, skl_cms_estimate(handle, key.bytes, key.len, or_beside(turn, estimate)));
    }
    if (turn->status >= SKL_OK) {
        REQUIRE(*estimate == cms_count_in(turn->target, key.hash));
        cms_answered(turn, turn->target, *estimate);
    }
}

static void cms_look_up_batch(struct turn *turn)
{
    struct batch batch;
    const bool hashes = one_in(turn->in, 3);
    const void *handle = reader(turn);
    uint64_t *estimates, greatest = 0;
    size_t i;
    fill_batch(turn, &batch);
    estimates = result(batch.n * 8, 8);
    if (hashes && batch.keys->kind == SKL_KEYS_HASHES && batch.keys->reserved == 0 && batch.keys->n == batch.n) {
        for (i = 0; i < batch.n; i++) {
            batch.valid[i] = true;
        }
        CALL(turn, skl_cms_estimate_hashes(handle, batch.keys->data, batch.n, estimates));
    } else {
        CALL(turn, skl_cms_estimate_batch(handle, batch.keys, batch.n > 0 ? or_beside(turn, estimates) : estimates));
    }
    for (i = 0; turn->status >= SKL_OK && i < batch.n; i++) {
        REQUIRE(estimates[i] == (batch.valid[i] ? cms_count_in(turn->target, batch.hashes[i]) : 0));
        greatest = estimates[i] > greatest ? estimates[i] : greatest;
    }
    if (turn->status >= SKL_OK) {
        cms_answered(turn, turn->target, greatest);
    }
}

/* At least the greatest product of the counts of one key, and the same the other way round. */
static void cms_product(struct turn *turn)
{
    const unsigned one = turn->target, two = slot_of(turn->kind, below(turn->in, SLOTS));
    const void *a = or_bad(turn, handle_at(one)), *b = or_bad(turn, handle_at(two));
    const struct shadow *left = &slots[one].shadow, *right = &slots[two].shadow;
    uint64_t *product = result(sizeof *product, 8), again = 0;
    unsigned i, j;
    CALL(turn, skl_cms_inner_product(a, b, or_beside(turn, product)));
    if (turn->status == SKL_OK) {
        REQUIRE(skl_cms_inner_product(handle_at(two), handle_at(one), &again) == SKL_OK && again == *product);
        for (i = 0; i < left->n && !slots[one].spoiled && !slots[two].spoiled; i++) {
            for (j = 0; j < right->n; j++) {
                if (left->hashes[i] == right->hashes[j] && left->counts[i] > 0) {
                    REQUIRE(*product / left->counts[i] >= right->counts[j] || *product == UINT64_MAX);
                }
            }
        }
    }
}

static void cms_aging(struct turn *turn)
{
    void *handle = target(turn);
    skl_cms_window *window = result(sizeof *window, 8);
    uint64_t *halvings = result(sizeof *halvings, 8), times = one_in(turn->in, 8) ? word(turn->in) : byte(turn->in) % 4;
    uint64_t now, started;
    if (byte(turn->in) & 1) {
        times = (uint32_t)times;
        CALL(turn, skl_cms_halve(handle, (uint32_t)times));
    } else {
        window->period = one_in(turn->in, 16) ? 0 : one_in(turn->in, 16) ? word(turn->in) : 1 + byte(turn->in);
        window->started = started = one_in(turn->in, 8) ? word(turn->in) : 1000;
        now = one_in(turn->in, 8) ? word(turn->in) : started + times * window->period;
        times = window->period > 0 && now > started ? (now - started) / window->period : 0;
        turn->bad = turn->bad || window->period == 0;
        halvings = optional(turn, halvings);
        CALL(turn, skl_cms_window_advance(or_beside(turn, window), handle, now, halvings));
        if (turn->status == SKL_OK) {
            REQUIRE(window->started == started + times * window->period && (halvings == NULL || *halvings == times));
        }
    }
    if (turn->status == SKL_OK) {
        age(&slots[turn->target].shadow, times);
    }
}

static void cms_structures(struct turn *turn)
{
    const void *handle = reader(turn);
    skl_cms_info *info = result(sizeof *info, 8);
    skl_cms_bounds *bounds = result(sizeof *bounds, 8);
    const bool wrong = one_in(turn->in, 8);
    const uint64_t estimate = count_of(turn->in);
    info->struct_size = wrong ? byte(turn->in) / 4 : sizeof *info;
    bounds->struct_size = wrong ? byte(turn->in) / 8 : sizeof *bounds;
    if (byte(turn->in) & 1) {
        turn->bad = turn->bad || info->struct_size != sizeof *info;
        CALL(turn, skl_cms_get_info(handle, or_beside(turn, info)));
        REQUIRE(turn->status != SKL_OK || (info->depth >= 1 && info->depth <= 16 && info->width >= 1));
    } else {
        turn->bad = turn->bad || bounds->struct_size != sizeof *bounds;
        CALL(turn, skl_cms_get_bounds(handle, estimate, or_beside(turn, bounds)));
        REQUIRE(turn->status != SKL_OK || (bounds->estimate == estimate && bounds->lower >= 0));
    }
}

static void cms_parameters(struct turn *turn)
{
    skl_cms_params *params = result(sizeof *params, 8);
    const uint32_t layout = one_in(turn->in, 16) ? byte(turn->in) : byte(turn->in) & 1;
    const uint32_t counter_bytes = one_in(turn->in, 16) ? byte(turn->in) : byte(turn->in) & 1 ? 8 : 4;
    const uint32_t depth = one_in(turn->in, 2) ? 4 : byte(turn->in) & 31;
    const uint64_t number = word(turn->in), size = number >> below(turn->in, 64);
    uint64_t bytes = 0;
    double epsilon, delta = (double)byte(turn->in) / 255;
    memcpy(&epsilon, &number, sizeof epsilon);
    if (byte(turn->in) & 1) {
        epsilon = (double)(size >> 11) / 9007199254740992.0;
    }
    turn->bad = layout > 1 || (counter_bytes != 4 && counter_bytes != 8);
    switch (below(turn->in, 3)) {
    case 0:
        CALL(turn, skl_cms_params_for_error(layout, counter_bytes, epsilon, delta, or_beside(turn, params)));
        REQUIRE(turn->status != SKL_OK || (params->epsilon <= epsilon && params->delta <= delta));
        break;
    case 1:
        CALL(turn, skl_cms_params_for_bytes(layout, counter_bytes, size, depth, or_beside(turn, params)));
        REQUIRE(turn->status != SKL_OK || params->image_bytes - 64 <= size);
        break;
    default:
        CALL(turn, skl_cms_params_explicit(layout, counter_bytes, size, depth, or_beside(turn, params)));
        REQUIRE(turn->status != SKL_OK || (params->width >= size && params->depth == depth));
        break;
    }
    if (turn->status == SKL_OK) {
        REQUIRE(skl_cms_required_bytes(params, &bytes) == SKL_OK && bytes == params->image_bytes);
    }
}
