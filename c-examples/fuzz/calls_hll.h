/* Included by calls.c: calls that only HyperLogLog has. */

/* Asks how much memory is needed next, and moves there or somewhere that is wrong. */
static void hll_growth(struct turn *turn)
{
    struct slot *slot = &slots[turn->target];
    const unsigned other = slot_of(turn->kind, below(turn->in, SLOTS));
    const void *handle = reader(turn), *source = byte(turn->in) & 1 ? handle_at(other) : NULL;
    uint64_t *bytes = result(sizeof *bytes, 8), needed;
    const size_t shift = byte(turn->in) & 15;
    unsigned char *memory;
    size_t len;
    void *writer;
    bool fine;
    *bytes = 0;
    CALL(turn, skl_hll_grown_bytes(handle, source, or_beside(turn, bytes)));
    needed = *bytes;
    fine = turn->status == SKL_OK;
    REQUIRE(!fine || (needed >= 128 && needed % 64 == 0));
    new_turn();
    turn->bad = false;
    len = fine && !one_in(turn->in, 8) ? (size_t)needed : below(turn->in, ROOM);
    fine = fine && len == needed && len <= ROOM - 16 && slot->writable && !slot->owned;
    len = len > ROOM - 16 ? ROOM - 16 : len;
    memory = world.memory[turn->target][1 - slot->half] + shift;
    if (slot->owned || one_in(turn->in, 16)) {
        turn->bad = slot->owned;
    }
    writer = or_bad(turn, changing(handle_at(turn->target), sizeof(union handle)));
    changing(memory, len);
    turn->bad = turn->bad || !slot->writable;
    CALL(turn, skl_hll_move(writer, memory, len));
    REQUIRE(!fine || turn->bad || source != NULL || turn->status == SKL_OK);
    if (turn->status == SKL_OK) {
        slot->image = memory;
        slot->len = len;
        slot->half = 1 - slot->half;
        verify(turn->target);
    }
}

static void hll_grouped(struct turn *turn)
{
    skl_hll **handles = give(4 * sizeof *handles, 8);
    const size_t num_handles = 1 + below(turn->in, 4), n = below(turn->in, MOST_KEYS + 1);
    uint32_t *groups = give(n * 4, 4);
    uint64_t *hashes = give(n * 8, 8);
    size_t *consumed = result(sizeof *consumed, 8), i, first;
    const unsigned start = byte(turn->in), skip = byte(turn->in);
    unsigned chosen[4];
    bool refused = false;
    for (i = 0; i < num_handles; i++) {
        chosen[i] = turn->target = slot_of(turn->kind, below(turn->in, SLOTS));
        handles[i] = target(turn);
        pools[chosen[i]].deny = one_in(turn->in, 32);
    }
    turn->may_stop = true;
    refused = turn->bad; /* only if a hash is for that handle */
    turn->bad = false;
    for (i = 0; i < n; i++) {
        groups[i] = (uint32_t)((start + i * skip) % num_handles);
        hashes[i] = skl_hash_mix(start + i * skip);
    }
    if (n > 0 && one_in(turn->in, 16)) {
        groups[start % n] = (uint32_t)num_handles + skip;
        turn->bad = true;
    }
    *consumed = first = one_in(turn->in, 8) ? below(turn->in, MOST_KEYS) : 0;
    turn->bad = turn->bad || first > n;
    if (refused && !turn->bad) {
        return; /* handles one after the other: those before the bad one have their hashes */
    }
    CALL(turn, skl_hll_insert_grouped(handles, num_handles, groups, hashes, n, consumed));
    REQUIRE(turn->status != SKL_OK || *consumed == n);
    for (i = first; i < *consumed && i < n; i++) {
        turn->target = chosen[groups[i]];
        inserted(turn, hashes[i], 1);
    }
}

static void hll_hashes(struct turn *turn)
{
    const size_t n = below(turn->in, MOST_KEYS + 1);
    const uint64_t start = byte(turn->in);
    uint64_t *hashes = give(n * 8, 8);
    size_t *consumed = result(sizeof *consumed, 8), i;
    void *handle = target(turn);
    const bool wrong = n > 0 && one_in(turn->in, 16);
    for (i = 0; i < n; i++) {
        hashes[i] = skl_hash_mix(start + i) << (i % 8 == 7 ? start % 64 : 0);
    }
    *consumed = 0;
    turn->may_stop = true;
    turn->bad = turn->bad || wrong;
    CALL(turn, skl_hll_insert_hashes(handle, wrong ? NULL : hashes, n, or_beside(turn, consumed)));
    for (i = 0; i < *consumed; i++) {
        inserted(turn, hashes[i], 1);
    }
}

static void hll_folding(struct turn *turn)
{
    unsigned other;
    void *handle = target(turn);
    const void *source = source_of(turn, &other);
    turn->bad = turn->bad || source == NULL;
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, skl_hll_merge_folding(handle, source));
    if (turn->status == SKL_OK) {
        joined(turn, other);
    }
}

static void hll_many(struct turn *turn)
{
    const skl_hll **sources = give(40 * sizeof *sources, 8);
    const size_t n = one_in(turn->in, 8) ? 40 : below(turn->in, 6);
    unsigned chosen[40];
    size_t i;
    void *handle = target(turn);
    for (i = 0; i < n; i++) {
        chosen[i] = slot_of(turn->kind, below(turn->in, SLOTS));
        sources[i] = or_bad(turn, handle_at(chosen[i]));
        turn->bad = turn->bad || chosen[i] == turn->target;
    }
    turn->may_stop = true;
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, skl_hll_merge_many(handle, sources, n));
    for (i = 0; turn->status == SKL_OK && i < n; i++) {
        joined(turn, chosen[i]);
    }
    if (turn->status != SKL_OK) { /* some may be in */
        for (i = 0; i < n; i++) {
            slots[turn->target].spoiled |= slots[chosen[i]].spoiled;
        }
    }
}

static void hll_overlap(struct turn *turn)
{
    skl_hll_overlap *overlap = result(sizeof *overlap, 8);
    const unsigned one = slot_of(turn->kind, below(turn->in, SLOTS)), two = slot_of(turn->kind, below(turn->in, SLOTS));
    const void *a = or_bad(turn, handle_at(one)), *b = or_bad(turn, handle_at(two));
    void *scratch = target(turn);
    turn->bad = turn->bad || one == turn->target || two == turn->target;
    overlap->struct_size = sizeof *overlap;
    if (one_in(turn->in, 16)) {
        overlap->struct_size = byte(turn->in) / 8;
        turn->bad = true;
    }
    pools[turn->target].deny = one_in(turn->in, 32);
    CALL(turn, skl_hll_get_overlap(a, b, scratch, or_beside(turn, overlap)));
    if (turn->status == SKL_OK) {
        forget_all(&slots[turn->target].shadow);
        joined(turn, one);
        joined(turn, two);
        if (!slots[one].spoiled && !slots[two].spoiled) {
            REQUIRE(overlap->union_keys >= 0 && overlap->intersection >= 0 && overlap->intersection_error >= 0);
            REQUIRE(overlap->jaccard >= 0 && overlap->jaccard <= 1);
        }
    }
}

static void hll_structures(struct turn *turn)
{
    const void *handle = reader(turn);
    skl_hll_info *info = result(sizeof *info, 8);
    double *numbers = result(3 * sizeof *numbers, 8);
    const unsigned sigmas = one_in(turn->in, 8) ? byte(turn->in) : 1 + below(turn->in, 3);
    info->struct_size = sizeof *info;
    switch (below(turn->in, 3)) {
    case 0:
        if (one_in(turn->in, 8)) {
            info->struct_size = byte(turn->in) / 4;
            turn->bad = turn->bad || info->struct_size != sizeof *info;
        }
        CALL(turn, skl_hll_get_info(handle, or_beside(turn, info)));
        REQUIRE(turn->status != SKL_OK || (info->p >= 4 && info->p <= 18 && info->form <= 1));
        break;
    case 1:
        CALL(turn, skl_hll_estimate(handle, or_beside(turn, numbers)));
        break;
    default:
        turn->bad = turn->bad || sigmas < 1 || sigmas > 3;
        CALL(turn, skl_hll_estimate_bounds(handle, sigmas, numbers, or_beside(turn, numbers + 1), numbers + 2));
        break;
    }
}

static void hll_parameters(struct turn *turn)
{
    skl_hll_params *params = result(sizeof *params, 8);
    const uint32_t p = one_in(turn->in, 8) ? (uint32_t)word(turn->in) : byte(turn->in) & 31;
    turn->bad = p < 4 || p > 18;
    CALL(turn, skl_hll_params_for(p, or_beside(turn, params)));
}
