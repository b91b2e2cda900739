// sketchline.hpp: life cycle, views, errors. Compiles as C++11 to C++23, with and without exceptions.

#include "sketchline.hpp"

#include <stdlib.h> // aligned_alloc, which std has from C++17 on

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#if __cplusplus >= 201703L
#include <string_view>
#endif
#if __cplusplus >= 202002L
#include <span>
#endif

using sketchline::Answer;
using sketchline::Bloom;
using sketchline::BloomReader;
using sketchline::BloomView;
using sketchline::Bytes;
using sketchline::CountMin;
using sketchline::CountMinView;
using sketchline::HyperLogLog;
using sketchline::HyperLogLogView;
using sketchline::Keys;
using sketchline::Status;
using sketchline::TopK;
using sketchline::TopKView;

static long checks, failures;

static void check_at(int line, bool holds, const char *text)
{
    checks++;
    if (!holds && failures++ < 10) std::printf("cpp.cpp:%d: failed: %s\n", line, text);
}

#define CHECK(...) check_at(__LINE__, static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#define REFUSES(error, ...) check_at(__LINE__, Status(__VA_ARGS__) == Status(error), #__VA_ARGS__)

static_assert(!std::is_copy_constructible<Bloom>::value && !std::is_copy_assignable<Bloom>::value, "move-only");
static_assert(!std::is_copy_constructible<HyperLogLog>::value, "move-only");
static_assert(!std::is_copy_constructible<CountMin>::value && !std::is_copy_constructible<TopK>::value, "move-only");
static_assert(std::is_nothrow_move_assignable<CountMin>::value && std::is_nothrow_move_assignable<TopK>::value, "");
static_assert(sizeof(CountMin) == sizeof(skl_cms) && sizeof(TopKView) == sizeof(skl_topk), "a handle, no more");
static_assert(!std::is_copy_constructible<BloomReader>::value, "no slice of an owner");
static_assert(std::is_nothrow_move_constructible<Bloom>::value && std::is_nothrow_move_assignable<Bloom>::value, "");
static_assert(std::is_copy_constructible<BloomView>::value && std::is_copy_assignable<HyperLogLogView>::value, "");
static_assert(sizeof(Bloom) == sizeof(skl_bloom) && sizeof(HyperLogLogView) == sizeof(skl_hll), "a handle, no more");
static_assert(!std::is_convertible<Status, bool>::value && !std::is_convertible<Answer, bool>::value, "explicit");
static_assert(!std::is_constructible<Bytes, std::nullptr_t>::value && !std::is_constructible<Bytes, int>::value, "");
static_assert(!std::is_constructible<Bytes, std::vector<std::uint64_t>>::value, "bytes only");
static_assert(sketchline::bitmap_words(0) == 0 && sketchline::bitmap_words(64) == 1, "");
static_assert(sketchline::bitmap_words(65) == 2 && sketchline::bitmap_words(SIZE_MAX) == SIZE_MAX / 64 + 1, "");

// An allocator that counts what it gave and took back.
struct Counting {
    long given, taken;
    bool refuses;
};

static void *give(void *ctx, std::size_t size, std::size_t align)
{
    Counting *counting = static_cast<Counting *>(ctx);
    if (counting->refuses) return nullptr;
    counting->given++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void take(void *ctx, void *memory, std::size_t, std::size_t)
{
    static_cast<Counting *>(ctx)->taken++;
    free(memory);
}

static Bloom::Params bloom_params()
{
    Bloom::Params params = Bloom::Params();
    CHECK(Bloom::params_for_fpr(1000, 0.01, params));
    return params;
}

static HyperLogLog::Params hll_params()
{
    HyperLogLog::Params params = HyperLogLog::Params();
    CHECK(HyperLogLog::params_for(12, params));
    return params;
}

static Bloom filter_of(const char *key)
{
    Bloom filter;
    CHECK(filter.create(bloom_params()));
    CHECK(filter.insert(key));
    return filter;
}

template <class Sketch> static void self_move(Sketch &sketch, Sketch &same) { sketch = std::move(same); }

// Every call on an empty sketch answers, and no look-up says no.
static void empty(Bloom &filter)
{
    Bloom other = filter_of("x");
    Bloom::Info info;
    skl_bloom_estimate estimate;
    const void *image;
    std::size_t len, count;
    const std::uint64_t one[1] = {1};
    std::uint64_t bits[1];
    std::uint32_t selected[1];
    const Keys keys = Keys::u64({one, 1});
    REFUSES(SKL_ERR_HANDLE, filter.insert("alice"));
    REFUSES(SKL_ERR_HANDLE, filter.insert_u64(1));
    REFUSES(SKL_ERR_HANDLE, filter.insert_hash(1));
    REFUSES(SKL_ERR_HANDLE, filter.insert_hashes(one, 1));
    REFUSES(SKL_ERR_HANDLE, filter.insert_batch(keys));
    REFUSES(SKL_ERR_HANDLE, filter.union_with(other));
    REFUSES(SKL_ERR_HANDLE, other.union_with(filter));
    REFUSES(SKL_ERR_HANDLE, filter.intersect(other));
    REFUSES(SKL_ERR_HANDLE, filter.clear());
    REFUSES(SKL_ERR_HANDLE, filter.seal());
    REFUSES(SKL_ERR_HANDLE, filter.image(image, len));
    REFUSES(SKL_ERR_HANDLE, filter.info(info));
    REFUSES(SKL_ERR_HANDLE, filter.estimate(estimate));
    REFUSES(SKL_ERR_HANDLE, filter.set_simd_level(SKL_SIMD_PORTABLE));
    REFUSES(SKL_ERR_HANDLE, filter.contains_hashes(one, 1, bits));
    REFUSES(SKL_ERR_HANDLE, filter.contains_batch(keys, bits));
    REFUSES(SKL_ERR_HANDLE, filter.count_batch(keys, count));
    REFUSES(SKL_ERR_HANDLE, filter.select_batch(keys, selected, count));
    REFUSES(SKL_ERR_HANDLE, filter.contains("alice").status());
    CHECK(filter.contains("alice") && filter.contains_u64(1) && filter.contains_hash(1));
    filter.reset();
}

static void empty(HyperLogLog &sketch)
{
    HyperLogLog other, scratch;
    CHECK(other.create(hll_params()) && scratch.create(hll_params()));
    HyperLogLog::Info info;
    skl_hll_overlap overlap;
    double estimate, lower, upper;
    std::uint64_t bytes;
    const std::uint64_t one[1] = {1};
    Bytes image;
    REFUSES(SKL_ERR_HANDLE, sketch.insert("alice"));
    REFUSES(SKL_ERR_HANDLE, sketch.insert_u64(1));
    REFUSES(SKL_ERR_HANDLE, sketch.insert_hash(1));
    REFUSES(SKL_ERR_HANDLE, sketch.insert_hashes({one, 1}));
    REFUSES(SKL_ERR_HANDLE, sketch.insert_batch(Keys::hashes({one, 1})));
    REFUSES(SKL_ERR_HANDLE, sketch.estimate(estimate));
    REFUSES(SKL_ERR_HANDLE, sketch.estimate_bounds(2, estimate, lower, upper));
    REFUSES(SKL_ERR_HANDLE, sketch.grown_bytes(bytes));
    REFUSES(SKL_ERR_HANDLE, sketch.grown_bytes(other, bytes));
    REFUSES(SKL_ERR_HANDLE, sketch.merge(other));
    REFUSES(SKL_ERR_HANDLE, other.merge(sketch));
    REFUSES(SKL_ERR_HANDLE, sketch.merge_folding(other));
    REFUSES(SKL_ERR_HANDLE, HyperLogLog::overlap(sketch, other, scratch, overlap));
    REFUSES(SKL_ERR_HANDLE, sketch.clear());
    REFUSES(SKL_ERR_HANDLE, sketch.seal());
    REFUSES(SKL_ERR_HANDLE, sketch.image(image));
    CHECK(image.size() == 0);
    REFUSES(SKL_ERR_HANDLE, sketch.info(info));
}

static void moves()
{
    Bloom never;
    empty(never);
    Bloom a = filter_of("alice");
    Bloom b = std::move(a);
    empty(a);
    CHECK(b.contains("alice") && !b.contains("bob"));
    self_move(b, b);
    CHECK(b.contains("alice") && !b.contains("bob"));
    Bloom c = filter_of("bob");
    c = std::move(b); // frees what c had
    empty(b);
    CHECK(c.contains("alice") && !c.contains("bob"));
    b = std::move(never);
    empty(b);
    std::swap(b, c);
    empty(c);
    CHECK(b.contains("alice"));
    c = filter_of("carol"); // a moved-from sketch can be used again
    CHECK(c.contains("carol"));
    std::vector<Bloom> many;
    for (int i = 0; i < 20; i++) many.push_back(filter_of("alice"));
    for (const Bloom &filter : many) CHECK(filter.contains("alice") && !filter.contains("bob"));
    c.reset();
    empty(c);

    HyperLogLog h, i;
    empty(h);
    CHECK(i.create(hll_params()) && i.insert("alice"));
    h = std::move(i);
    empty(i);
    self_move(h, h);
    for (std::uint64_t key = 0; key < 100000; key++) CHECK(h.insert_u64(key)); // grows after the move
    double estimate = 0;
    CHECK(h.estimate(estimate) && std::fabs(estimate - 100001) < 5000);
}

static void allocators()
{
    Counting counting = {0, 0, false};
    const skl_allocator allocator = {give, take, &counting};
    {
        Bloom a, b;
        CHECK(a.create(bloom_params(), &allocator) && b.create(bloom_params(), &allocator));
        CHECK(a.create(bloom_params(), &allocator)); // again: what it had is freed
        CHECK(counting.given == 3 && counting.taken == 1);
        CHECK(a.insert("alice"));
        counting.refuses = true;
        REFUSES(SKL_ERR_NO_MEMORY, a.create(bloom_params(), &allocator));
        CHECK(a.contains("alice") && !a.contains("bob")); // as it was
        Bloom::Params wrong = bloom_params();
        wrong.num_probes = 17;
        REFUSES(SKL_ERR_ARGUMENT, a.create(wrong));
        CHECK(a.contains("alice") && !a.contains("bob"));
        b = std::move(a);
        CHECK(counting.taken == 2);
        counting.refuses = false;
        HyperLogLog h;
        CHECK(h.create(hll_params(), &allocator));
    }
    CHECK(counting.given == 4 && counting.taken == 4);
}

static void bloom_views()
{
    std::uint64_t bytes = 0;
    CHECK(Bloom::required_bytes(bloom_params(), bytes));
    std::vector<unsigned char> memory(bytes), again(bytes);
    Bloom filter;
    CHECK(filter.init(memory.data(), memory.size(), bloom_params()) && filter.insert("alice"));
    BloomView view;
    REFUSES(SKL_ERR_UNSEALED, view.open(memory));
    CHECK(view.contains("bob")); // an empty view: maybe
    CHECK(view.open(memory, SKL_OPEN_ALLOW_UNSEALED | SKL_OPEN_SKIP_PAYLOAD_CHECK));
    CHECK(filter.seal());
    CHECK(view.open(memory.data(), memory.size()));
    const void *image = nullptr;
    std::size_t len = 0;
    CHECK(view.image(image, len) && image == memory.data() && len == bytes);
    BloomView copy = view;
    view = BloomView();
    CHECK(copy.contains("alice") && !copy.contains("bob"));
    Bloom::Info info;
    CHECK(copy.info(info) && info.is_sealed == 1 && info.num_inserted == 1 && info.image_bytes == bytes);
    CHECK(copy.set_simd_level(SKL_SIMD_PORTABLE) && copy.contains("alice"));

    Bloom other = filter_of("bob");
    CHECK(other.union_with(copy) && other.contains("alice") && other.contains("bob"));
    CHECK(other.intersect(copy) && other.contains("alice") && !other.contains("bob"));
    REFUSES(SKL_ERR_NULL, other.open(nullptr, 64));
    CHECK(other.contains("alice")); // as it was
    again = memory;
    CHECK(other.open(again.data(), again.size()) && other.insert("carol"));
    CHECK(copy.open(again, SKL_OPEN_ALLOW_UNSEALED | SKL_OPEN_SKIP_PAYLOAD_CHECK) && copy.contains("carol"));
    again[0] ^= 1;
    REFUSES(SKL_ERR_MAGIC, copy.open(again));
    REFUSES(SKL_ERR_READ_ONLY, skl_bloom_insert_u64(copy.handle(), 1));

    Bloom::Params explicitly;
    double fpr = 0;
    CHECK(Bloom::params_explicit(16, 8, explicitly) && Bloom::predict_fpr(explicitly, 100, fpr) && fpr > 0);
    CHECK(Bloom::params_for_bytes(100, 1024, explicitly) && explicitly.payload_bytes <= 1024);
    REFUSES(SKL_ERR_UNREACHABLE, Bloom::params_for_bits_per_key(100, 65, explicitly));
    CHECK(filter.create(explicitly)); // memory is the caller's again
    REFUSES(SKL_ERR_INCOMPATIBLE, filter.union_with(other));
}

static void bloom_keys()
{
    Bloom filter = filter_of("alice");
    const std::string text = "a longer key";
    const std::vector<unsigned char> binary = {0, 1, 2};
    const std::array<char, 2> two = {{'a', 'b'}};
    CHECK(filter.insert(text) && filter.insert(binary) && filter.insert(two) && filter.insert(nullptr, 0));
    CHECK(filter.contains(text.data(), text.size()) && filter.contains("\0\1\2", 3) && filter.contains("ab"));
    CHECK(filter.contains("") && filter.contains(Bytes()) && !filter.contains("b"));
    const char *no_text = nullptr;
    REFUSES(SKL_ERR_NULL, filter.insert(no_text));
    CHECK(filter.contains(no_text)); // an error is "maybe"
    REFUSES(SKL_ERR_NULL, filter.contains(nullptr, 5).status());
#if __cplusplus >= 201703L
    CHECK(filter.insert(std::string_view("viewed!", 6)) && filter.contains("viewed") && !filter.contains("viewed!"));
#endif
#if __cplusplus >= 202002L
    const std::byte raw[2] = {std::byte(7), std::byte(8)};
    CHECK(filter.insert(std::span<const std::byte>(raw)) && filter.contains("\7\10"));
#endif

    std::vector<std::uint64_t> numbers, hashes(100), bits(2);
    for (std::uint64_t i = 0; i < 100; i++) numbers.push_back(i * i + 1);
    const Keys keys = Keys::u64(numbers);
    CHECK(sketchline::hash_batch(keys, 0, hashes.data()) && hashes[3] == skl_hash_u64(10, 0));
    std::uint64_t hash = 0;
    CHECK(sketchline::hash_bytes("alice", 0, hash) && filter.contains_hash(hash));
    CHECK(filter.insert_hashes({hashes.data(), 50}) && filter.insert_batch(keys, bits.data()));
    CHECK(sketchline::bit(bits.data(), 49) && !sketchline::bit(bits.data(), 99));
    CHECK(filter.contains_hashes(hashes, bits) && bits[0] == ~std::uint64_t(0) && bits[1] == (std::uint64_t(1) << 36) - 1);
    CHECK(filter.contains_batch(keys, bits) && sketchline::bit(bits.data(), 99));
    std::vector<std::uint64_t> short_bits(1, 42);
    REFUSES(SKL_ERR_NO_SPACE, filter.contains_hashes(hashes, short_bits));
    REFUSES(SKL_ERR_NO_SPACE, filter.contains_batch(keys, short_bits));
    CHECK(short_bits[0] == 42);
#if __cplusplus >= 202002L
    CHECK(filter.contains_hashes(std::span<const std::uint64_t>(hashes), std::span<std::uint64_t>(bits)));
#endif
    std::size_t count = 0;
    CHECK(filter.count_batch(keys, count) && count == 100);
    std::vector<std::uint32_t> selected(100);
    CHECK(filter.select_batch(keys, selected.data(), count) && count == 100 && selected[99] == 99);
    const std::uint32_t candidates[2] = {7, 5};
    CHECK(filter.select_batch(keys, candidates, 2, selected.data(), count) && count == 2 && selected[0] == 7);

    const std::uint32_t offsets32[3] = {0, 2, 5};
    const std::int64_t offsets64[3] = {0, 2, 5};
    const void *pointers[2] = {"xy", "zzz"};
    const std::size_t lengths[2] = {2, 3};
    const std::uint8_t second_only = 2;
    CHECK(filter.clear() && !filter.contains("zzz"));
    CHECK(filter.insert_batch(Keys::bytes("xyzzz", offsets32, 2, &second_only)));
    CHECK(filter.contains("zzz") && !filter.contains("xy"));
    CHECK(filter.count_batch(Keys::bytes("xyzzz", offsets64, 2), count) && count == 1);
    CHECK(filter.count_batch(Keys::pointers(pointers, lengths, 2), count) && count == 1);
    REFUSES(SKL_ERR_KEYS, filter.insert_batch(Keys::bytes("xy", offsets32, 2)));
    skl_bloom_estimate estimate;
    CHECK(filter.estimate(estimate) && estimate.num_keys > 0.5 && estimate.num_keys < 1.5);

    Bloom other = filter_of("xy");
    const skl_bloom *each[2] = {filter.handle(), other.handle()};
    std::uint64_t bitmaps[2] = {0, 0};
    CHECK(Bloom::contains_batch_in_each({each, 2}, Keys::pointers(pointers, lengths, 2), bitmaps));
    CHECK(bitmaps[0] == 2 && bitmaps[1] == 1);

    std::vector<unsigned char> payload(640);
    namespace bare = sketchline::bloom_payload;
    CHECK(bare::insert_hash(payload.data(), 640, 8, 77) && bare::insert_hashes(payload.data(), 640, 8, hashes));
    CHECK(bare::contains_hash(payload.data(), 640, 8, 77) && bare::contains_hash(payload.data(), 639, 8, 77));
    REFUSES(SKL_ERR_LENGTH, bare::contains_hash(payload.data(), 639, 8, 77).status());
    CHECK(bare::contains_hashes(payload.data(), 640, 8, hashes, bits.data()) && sketchline::bit(bits.data(), 0));
}

static void hll_sketches()
{
    std::vector<std::uint64_t> hashes;
    for (std::uint64_t i = 0; i < 20000; i++) hashes.push_back(skl_hash_u64(i, 0));
    HyperLogLog a, b, scratch;
    CHECK(a.create(hll_params()) && b.create(hll_params()) && scratch.create(hll_params()));
    CHECK(a.insert_hashes({hashes.data(), 10000}) && b.insert_batch(Keys::hashes({hashes.data() + 5000, 15000})));
    CHECK(a.insert(std::string("alice")) && a.insert_hash(1));
    skl_hll_overlap overlap;
    CHECK(HyperLogLog::overlap(a, b, scratch, overlap) && std::fabs(overlap.union_keys - 20000) < 2000);
    double estimate = 0, lower = 0, upper = 0;
    CHECK(a.estimate_bounds(2, estimate, lower, upper) && lower < estimate && estimate < upper);

    // Memory of the caller, and growing there.
    std::uint64_t bytes = 0;
    CHECK(HyperLogLog::required_bytes(hll_params(), bytes));
    std::vector<unsigned char> memory(bytes), more;
    HyperLogLog c;
    CHECK(c.init(memory.data(), memory.size(), hll_params()));
    std::size_t consumed = 0;
    int moved = 0;
    Status status;
    while ((status = c.insert_hashes(hashes.data(), hashes.size(), consumed)) == Status(SKL_ERR_NEED_SPACE)) {
        CHECK(c.grown_bytes(bytes));
        more.assign(bytes, 0);
        CHECK(c.move_to(more.data(), more.size()));
        memory.swap(more);
        if (++moved > 100) break;
    }
    CHECK(status && consumed == hashes.size() && moved > 0);
    CHECK(c.grown_bytes(a, bytes) && c.merge(a) && c.merge_folding(b));
    const skl_hll *sources[2] = {a.handle(), b.handle()};
    CHECK(c.merge_many({sources, 2}) && c.estimate(estimate) && std::fabs(estimate - 20000) < 2000);

    HyperLogLogView view;
    Bytes image;
    CHECK(c.seal() && c.image(image) && view.open(image));
    HyperLogLogView copy(view);
    double viewed = 0;
    CHECK(copy.estimate(viewed) && viewed == estimate);
    CHECK(scratch.clear() && scratch.merge(copy) && scratch.estimate(viewed) && viewed == estimate);
    HyperLogLog::Info info;
    CHECK(copy.info(info) && info.p == 12 && info.form == SKL_HLL_DENSE && info.is_sealed == 1);
    REFUSES(SKL_ERR_READ_ONLY, skl_hll_insert_u64(copy.handle(), 1));
    REFUSES(SKL_ERR_LENGTH, view.open(image.data(), image.size() - 1));
    CHECK(view.estimate(viewed)); // as it was
    more.assign(image.data(), image.data() + image.size());
    CHECK(c.open(more.data(), more.size(), more.size()) && c.insert_u64(1));
    REFUSES(SKL_ERR_KIND, BloomView().open(image));

    skl_hll *sketches[2] = {a.handle(), b.handle()};
    const std::uint32_t groups[3] = {0, 1, 1};
    consumed = 0;
    CHECK(a.clear() && HyperLogLog::insert_grouped({sketches, 2}, groups, hashes.data(), 3, consumed));
    CHECK(consumed == 3 && a.estimate(estimate) && estimate > 0.5 && estimate < 1.5);
}

static CountMin::Params cms_params()
{
    CountMin::Params params = CountMin::Params();
    CHECK(CountMin::params_explicit(SKL_CMS_ROWS, 4, 1000, 4, params));
    return params;
}

static TopK::Params topk_params()
{
    TopK::Params params = TopK::Params();
    CHECK(TopK::params_for(2, 4, params));
    return params;
}

static void count_min_adds()
{
    CountMin sketch, other;
    std::uint64_t estimate = 0;
    REFUSES(SKL_ERR_HANDLE, sketch.add("alice"));
    CHECK(sketch.create(cms_params()) && other.create(cms_params()));
    const std::string alice = "alice";
    CHECK(sketch.add("alice") && sketch.add(alice, 2) && sketch.add({"alice and more", 5}, 4, estimate));
    CHECK(estimate == 7 && sketch.estimate("alice", estimate) && estimate == 7);
    CHECK(sketch.estimate({"alice and more", 5}, estimate) && estimate == 7);
    CHECK(sketch.add_u64(1) && sketch.add_u64(1, 2, estimate) && estimate == 3);
    CHECK(sketch.estimate_u64(1, estimate) && estimate == 3);
    const std::uint64_t hash = skl_hash_u64(1, 0);
    CHECK(sketch.add_hash(hash) && sketch.add_hash(hash, 2, estimate) && estimate == 6);
    CHECK(sketch.estimate_hash(hash, estimate) && estimate == 6);

    const std::vector<std::uint64_t> keys = {1, 2, 1}, counts = {1, 10, 100};
    const std::vector<std::uint64_t> hashes = {hash, skl_hash_u64(2, 0), hash};
    std::array<std::uint64_t, 3> estimates = {{0, 0, 0}};
    CHECK(other.add_batch(Keys::u64(keys)) && other.add_batch(Keys::u64(keys), counts));
    CHECK(other.estimate_batch(Keys::u64(keys), estimates) && estimates[0] == 103 && estimates[1] == 11);
    CHECK(other.add_hashes(hashes) && other.add_hashes(hashes, counts));
    CHECK(other.estimate_hashes(hashes, estimates) && estimates[0] == 206 && estimates[1] == 22);
    REFUSES(SKL_ERR_KEYS, other.add_batch(Keys::u64(keys), {counts.data(), 2}));
    REFUSES(SKL_ERR_KEYS, other.add_hashes(hashes, {counts.data(), 2}));
    REFUSES(SKL_ERR_NO_SPACE, other.estimate_batch(Keys::u64(keys), {estimates.data(), 2}));
    REFUSES(SKL_ERR_NO_SPACE, other.estimate_hashes(hashes, {estimates.data(), 2}));
    CHECK(CountMin::inner_product(sketch, other, estimate) && estimate == 6 * 206);
    CHECK(sketch.merge(other) && sketch.estimate_u64(1, estimate) && estimate == 212);

    CHECK(!sketch.add_u64(3, UINT32_MAX - 1).saturated());
    const Status full = sketch.add_u64(3, 2, estimate);
    CHECK(full && full.saturated() && full != Status() && estimate == UINT32_MAX);
    skl_cms_bounds bounds;
    CHECK(sketch.bounds(estimate, bounds) && bounds.is_saturated == 1);
}

static void count_min_life()
{
    CountMin sketch;
    CountMin::Params params = cms_params();
    std::uint64_t bytes = 0, estimate = 0, halvings = 0;
    CHECK(CountMin::params_for_error(SKL_CMS_TWO_LINE, 8, 0.001, 0.14, params) && params.delta < 0.14);
    CHECK(CountMin::params_for_bytes(SKL_CMS_ROWS, 4, 4096, 4, params) && params.width == 256);
    CHECK(CountMin::required_bytes(params, bytes) && bytes == params.image_bytes);
    std::vector<unsigned char> memory(bytes);
    CHECK(sketch.init(memory.data(), memory.size(), params) && sketch.add("alice", 8));
    CountMin moved(std::move(sketch));
    REFUSES(SKL_ERR_HANDLE, sketch.add("alice"));
    CHECK(moved.halve() && moved.estimate("alice", estimate) && estimate == 4);
    skl_cms_window window = {60, 0};
    CHECK(moved.window_advance(window, 60) && moved.estimate("alice", estimate) && estimate == 2);
    CHECK(moved.window_advance(window, 120, halvings) && halvings == 1);
    CHECK(moved.estimate("alice", estimate) && estimate == 1);

    CountMinView view;
    Bytes image;
    CHECK(moved.seal() && moved.image(image) && view.open(image));
    CountMinView copy(view);
    CHECK(copy.estimate("alice", estimate) && estimate == 1);
    REFUSES(SKL_ERR_READ_ONLY, skl_cms_add_u64(copy.handle(), 1, 1, nullptr));
    std::vector<unsigned char> again(image.data(), image.data() + image.size());
    CHECK(sketch.open(again.data(), again.size()) && sketch.add("alice", 1, estimate) && estimate == 2);
    CountMin::Info info;
    CHECK(sketch.info(info) && info.width == 256 && info.total == 2);
    CHECK(sketch.set_simd_level(SKL_SIMD_PORTABLE) && sketch.clear() && sketch.estimate("alice", estimate));
    CHECK(estimate == 0);
}

static void top_keys()
{
    CountMin sketch, other;
    TopK top, more;
    std::uint64_t estimate = 0;
    bool held = false;
    CHECK(sketch.create(cms_params()) && other.create(cms_params()));
    CHECK(top.create(topk_params()) && more.create(topk_params()));
    CHECK(top.add(sketch, "alice", 3) && top.add(sketch, "bob", 5, estimate) && estimate == 5);
    CHECK(top.add(sketch, "carol") && top.sort());
    skl_topk_entry entry;
    CHECK(top.get(0, entry) && entry.count == 5 && entry.key_bytes == 3 && std::memcmp(entry.key, "bob", 3) == 0);
    CHECK(top.get(1, entry) && entry.key_bytes == 5 && entry.kept_bytes == 4 && std::memcmp(entry.key, "alic", 4) == 0);
    REFUSES(SKL_ERR_ARGUMENT, top.get(2, entry));

    std::uint64_t hash = 0;
    CHECK(sketchline::hash_bytes("dave", 0, hash) && top.offer("dave", hash, 1, held) && !held);
    CHECK(top.offer("dave", hash, 4, held) && held);
    held = false;
    REFUSES(SKL_ERR_HANDLE, TopK().offer("dave", hash, 4, held));
    CHECK(!held && top.refresh(sketch)); // nobody counted dave
    CHECK(more.add(other, "erin", 9) && sketch.merge(other) && top.merge(more, sketch) && top.sort());
    CHECK(top.get(0, entry) && std::memcmp(entry.key, "erin", 4) == 0);

    TopKView view;
    Bytes image;
    TopK::Info info;
    CHECK(top.seal() && top.image(image) && view.open(image) && view.info(info) && info.num_keys == 2);
    TopK moved = std::move(top);
    REFUSES(SKL_ERR_HANDLE, top.sort());
    CHECK(moved.clear() && moved.info(info) && info.num_keys == 0);
}

// Who frees what, of the counting sketches: as allocators() and moves() for the others.
static void counting_owners()
{
    Counting counting = {0, 0, false};
    const skl_allocator allocator = {give, take, &counting};
    std::uint64_t estimate = 0;
    TopK::Info info = TopK::Info();
    {
        CountMin a, b;
        TopK s, t;
        CHECK(a.create(cms_params(), &allocator) && b.create(cms_params(), &allocator));
        CHECK(s.create(topk_params(), &allocator) && t.create(topk_params(), &allocator));
        CHECK(a.create(cms_params(), &allocator) && s.create(topk_params(), &allocator));
        CHECK(counting.given == 6 && counting.taken == 2);
        CHECK(s.add(a, "alice", 3));
        counting.refuses = true;
        REFUSES(SKL_ERR_NO_MEMORY, a.create(cms_params(), &allocator));
        REFUSES(SKL_ERR_NO_MEMORY, s.create(topk_params(), &allocator));
        REFUSES(SKL_ERR_NULL, a.open(nullptr, 64));
        REFUSES(SKL_ERR_NULL, s.open(nullptr, 64));
        CHECK(a.estimate("alice", estimate) && estimate == 3); // as they were
        CHECK(s.info(info) && info.num_keys == 1);
        self_move(a, a);
        self_move(s, s);
        CHECK(a.estimate("alice", estimate) && estimate == 3 && s.info(info) && info.num_keys == 1);
        b = std::move(a); // frees what b had
        t = std::move(s);
        CHECK(counting.taken == 4);
        REFUSES(SKL_ERR_HANDLE, a.estimate("alice", estimate));
        REFUSES(SKL_ERR_HANDLE, s.info(info));
        REFUSES(SKL_ERR_HANDLE, s.add(b, "alice"));
        REFUSES(SKL_ERR_HANDLE, t.add(a, "alice"));
        REFUSES(SKL_ERR_HANDLE, t.refresh(a));
        REFUSES(SKL_ERR_HANDLE, b.merge(a));
        CHECK(b.estimate("alice", estimate) && estimate == 3 && t.info(info) && info.num_keys == 1);
        t.reset();
        CHECK(counting.taken == 5);
        REFUSES(SKL_ERR_HANDLE, t.seal());
    }
    CHECK(counting.given == 6 && counting.taken == 6);
}

// Exactly the bytes that required_bytes says, between bytes that stay as they are.
static void top_keys_in_place()
{
    enum { BESIDE = 64 };
    CountMin sketch;
    TopK top;
    std::uint64_t bytes = 0, estimate = 0;
    CHECK(sketch.create(cms_params()));
    CHECK(TopK::required_bytes(topk_params(), bytes) && bytes == topk_params().image_bytes);
    std::vector<unsigned char> memory(bytes + 2 * BESIDE, 0xa5);
    unsigned char *const place = memory.data() + BESIDE;
    REFUSES(SKL_ERR_LENGTH, top.init(place, bytes - 1, topk_params()));
    REFUSES(SKL_ERR_LENGTH, top.init(place, bytes + 1, topk_params()));
    CHECK(top.init(place, bytes, topk_params()));
    for (std::uint64_t i = 0; i < 100; i++) {
        const std::string key = "key " + std::to_string(i);
        CHECK(top.add(sketch, key, i + 1));
    }
    TopKView view;
    REFUSES(SKL_ERR_UNSEALED, view.open(place, bytes));
    CHECK(top.seal() && view.open(place, bytes));
    TopKView copy(view);
    view = TopKView();
    skl_topk_entry entry;
    REFUSES(SKL_ERR_HANDLE, view.get(0, entry));
    CHECK(copy.get(0, entry) && entry.count == 100 && entry.key_bytes == 6 && entry.kept_bytes == 4);
    CHECK(entry.key > place && static_cast<const unsigned char *>(entry.key) + entry.kept_bytes <= place + bytes);
    REFUSES(SKL_ERR_READ_ONLY, skl_topk_sort(copy.handle()));
    REFUSES(SKL_ERR_KIND, CountMinView().open(place, bytes));

    TopK again;
    std::vector<unsigned char> image(place, place + bytes);
    CHECK(again.open(image.data(), image.size()) && again.add(sketch, {"key 0 and more", 5}, 1000) && again.sort());
    CHECK(again.get(0, entry) && entry.count == 1001 && entry.key_bytes == 5);
    CHECK(again.merge(copy, sketch));
    image[0] ^= 1;
    REFUSES(SKL_ERR_MAGIC, again.open(image.data(), image.size()));

    // A count that has stopped is told of here, too, and the key is held.
    CHECK(!top.add(sketch, "full", UINT32_MAX - 1).saturated());
    const Status full = top.add(sketch, "full", 5, estimate);
    CHECK(full && full.saturated() && estimate == UINT32_MAX && top.sort());
    CHECK(top.get(0, entry) && entry.count == UINT32_MAX && !top.sort().saturated());
    CHECK(sketch.estimate("full", estimate).saturated() && estimate == UINT32_MAX);
    // 1 of offer is "held", and not SKL_SATURATED.
    bool held = false;
    CHECK(!top.offer("more", 7, UINT32_MAX, held).saturated() && held);

    CountMin::Params seeded = cms_params();
    seeded.seed = 1;
    CHECK(sketch.create(seeded));
    REFUSES(SKL_ERR_INCOMPATIBLE, top.add(sketch, "alice"));
    REFUSES(SKL_ERR_INCOMPATIBLE, top.refresh(sketch));
    for (std::size_t i = 0; i < BESIDE; i++) CHECK(memory[i] == 0xa5 && place[bytes + i] == 0xa5);
}

static void errors()
{
    Status status;
    CHECK(status && status.ok() && status.code() == SKL_OK);
    status = SKL_ERR_KIND;
    CHECK(!status && !status.ok() && status != Status() && std::string(status.text()).size() > 10);
    CHECK(!Answer(0) && Answer(1) && Answer(SKL_ERR_NULL) && Answer(SKL_ERR_NULL).status().code() == SKL_ERR_NULL);
    CHECK(Answer(1).status() && Answer(0).status());
#ifdef __cpp_exceptions
    Bloom filter = sketchline::make<Bloom>(bloom_params());
    sketchline::check(filter.insert("alice"));
    CHECK(sketchline::check(filter.contains("alice")) && !sketchline::check(filter.contains("bob")));
    int thrown = 0;
    try {
        sketchline::check(filter.contains(nullptr, 5));
    } catch (const sketchline::Error &error) {
        thrown += error.status() == Status(SKL_ERR_NULL);
    }
    try {
        Bloom::Params wrong = bloom_params();
        wrong.num_blocks = 0;
        filter = sketchline::make<Bloom>(wrong);
    } catch (const std::exception &error) {
        thrown += std::string(error.what()) == skl_status_string(SKL_ERR_ARGUMENT);
    }
    CHECK(thrown == 2 && filter.contains("alice") && !filter.contains("bob"));
    CHECK(sketchline::make<HyperLogLog>(hll_params()).insert_u64(1));
#endif
}

int main()
{
    moves();
    allocators();
    bloom_views();
    bloom_keys();
    hll_sketches();
    count_min_adds();
    count_min_life();
    top_keys();
    counting_owners();
    top_keys_in_place();
    errors();
    std::printf("cpp (%ld): %ld checks, %ld failed\n", static_cast<long>(__cplusplus), checks, failures);
    return failures == 0 && checks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
