// Sketchline for C++11 and later: a header over sketchline.h, one C call per operation. MIT OR Apache-2.0.
//
// sketchline.h says what each function does, under its C name; here is only what C++ adds.
//
// - Bloom, HyperLogLog, CountMin, TopK: move-only. Their memory is their own (create), or the caller's (init, open),
//   who then keeps it where it is for as long as the sketch is used. All of them start empty: calls on an empty or
//   moved-from sketch answer SKL_ERR_HANDLE. create, init and open may be called again; if they fail, the sketch is as
//   it was.
// - BloomView and so on: read an image in place. They can be copied, as pointers can.
// - BloomReader and so on: what the two have in common. Functions that only read a sketch take these.
// - Status: true if all is well, also where a count stands at its greatest value (saturated). Nothing here throws but
//   what is in `#if` at the end, for those who have exceptions.
//   Outputs are the last arguments, written only on success.
// - Answer, of contains: true is "maybe", false "certainly not"; an error is "maybe", as in C.
// - Keys are a pointer and a length, or anything with data() and size() of bytes (std::string, std::string_view,
//   std::vector<unsigned char>, std::span<const std::byte>), or a text that ends in 0. Arrays are {pointer, length}, or
//   anything with data() and size() (std::vector, std::array, std::span).
// - const functions may run at the same time as each other.
// - skl_hash_u64 and the like, of plain numbers and without a status, are called as they are.

#ifndef SKETCHLINE_HPP
#define SKETCHLINE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sketchline.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#include <exception>
#endif

#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#define SKETCHLINE_NODISCARD [[nodiscard]]
#else
#define SKETCHLINE_NODISCARD
#endif

namespace sketchline {

/// What a function answers.
class SKETCHLINE_NODISCARD Status {
public:
    constexpr Status(skl_status code = SKL_OK) noexcept : code_(code) {}
    constexpr bool ok() const noexcept { return code_ >= 0; }
    constexpr explicit operator bool() const noexcept { return ok(); }
    /// All is well, but the count may be too low: SKL_SATURATED.
    constexpr bool saturated() const noexcept { return code_ == SKL_SATURATED; }
    constexpr skl_status code() const noexcept { return code_; }
    /// One English sentence. Static, never freed.
    const char *text() const noexcept { return skl_status_string(code_); }

private:
    skl_status code_;
};

constexpr bool operator==(Status a, Status b) noexcept { return a.code() == b.code(); }
constexpr bool operator!=(Status a, Status b) noexcept { return a.code() != b.code(); }

/// What a look-up answers. An error is "maybe": who forgets to check reads a row too many and never loses one.
class SKETCHLINE_NODISCARD Answer {
public:
    constexpr explicit Answer(int answer) noexcept : answer_(answer) {}
    constexpr bool maybe() const noexcept { return answer_ != 0; }
    constexpr explicit operator bool() const noexcept { return maybe(); }
    constexpr Status status() const noexcept { return answer_ < 0 ? static_cast<skl_status>(answer_) : SKL_OK; }

private:
    int answer_;
};

/// An array that somebody else owns.
template <class T> class Slice {
public:
    constexpr Slice(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Container, class = typename std::enable_if<std::is_convertible<
                                   decltype(std::declval<Container &>().data()), T *>::value>::type>
    Slice(Container &&container) noexcept : data_(container.data()), size_(container.size()) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }

private:
    T *data_;
    std::size_t size_;
};

/// Bytes that somebody else owns: a key, or an image.
class Bytes {
public:
    constexpr Bytes() noexcept : data_(nullptr), size_(0) {}
    constexpr Bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// A text that ends in 0, without the 0. NULL gives a key that every function refuses with SKL_ERR_NULL.
    Bytes(const char *text) noexcept : data_(text), size_(text != nullptr ? std::strlen(text) : 1) {}
    Bytes(std::nullptr_t) = delete; // and so insert(0), which is not insert_u64(0), does not compile
    template <class Container,
              class = typename std::enable_if<sizeof(*std::declval<const Container &>().data()) == 1>::type>
    Bytes(const Container &container) noexcept : data_(container.data()), size_(container.size()) {}
    const unsigned char *data() const noexcept { return static_cast<const unsigned char *>(data_); }
    constexpr std::size_t size() const noexcept { return size_; }

private:
    const void *data_;
    std::size_t size_;
};

/// Words of a bitmap for n keys, and one of its bits.
constexpr std::size_t bitmap_words(std::size_t n) noexcept { return n / 64 + (n % 64 != 0 ? 1 : 0); }
constexpr bool bit(const std::uint64_t *bitmap, std::size_t i) noexcept
{
    return (bitmap[i / 64] >> i % 64 & 1) != 0;
}

/// A batch of keys in somebody else's memory. `validity` is NULL, or an Arrow bitmap: a key with bit 0 is SQL's NULL.
class Keys {
public:
    static Keys hashes(Slice<const std::uint64_t> hashes, const std::uint8_t *validity = nullptr) noexcept
    {
        return Keys(SKL_KEYS_HASHES, hashes.size(), hashes.data(), 0, nullptr, validity);
    }
    static Keys u64(Slice<const std::uint64_t> keys, const std::uint8_t *validity = nullptr) noexcept
    {
        return Keys(SKL_KEYS_U64, keys.size(), keys.data(), 0, nullptr, validity);
    }
    /// n keys: key i is data from offsets[i] up to offsets[i + 1] (Arrow Binary, Utf8 and their Large kin).
    static Keys bytes(Bytes data, const std::uint32_t *offsets, std::size_t n,
                      const std::uint8_t *validity = nullptr) noexcept
    {
        return Keys(SKL_KEYS_BYTES32, n, data.data(), data.size(), offsets, validity);
    }
    static Keys bytes(Bytes data, const std::int64_t *offsets, std::size_t n,
                      const std::uint8_t *validity = nullptr) noexcept
    {
        return Keys(SKL_KEYS_BYTES64, n, data.data(), data.size(), offsets, validity);
    }
    static Keys pointers(const void *const *keys, const std::size_t *lengths, std::size_t n,
                         const std::uint8_t *validity = nullptr) noexcept
    {
        return Keys(SKL_KEYS_POINTERS, n, keys, 0, lengths, validity);
    }
    explicit Keys(const skl_keys &keys) noexcept : keys_(keys) {}
    const skl_keys *get() const noexcept { return &keys_; }
    std::size_t size() const noexcept { return keys_.n; }

private:
    Keys(skl_keys_kind kind, std::size_t n, const void *data, std::size_t data_len, const void *offsets,
         const std::uint8_t *validity) noexcept
        : keys_{kind, 0, n, data, data_len, offsets, validity}
    {
    }
    skl_keys keys_;
};

namespace detail {

/// A handle, and what every sketch can be asked. C names the C functions of one kind of sketch.
template <class C> class Reader {
public:
    typedef C Functions;
    typedef typename C::Handle Handle;
    typedef typename C::Info Info;

    Reader() noexcept : handle_() {}
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    /// For what takes C handles: insert_grouped, merge_many, contains_batch_in_each, and C itself.
    const Handle *handle() const noexcept { return &handle_; }
    Handle *handle() noexcept { return &handle_; }

    Status image(const void *&image, std::size_t &len) const noexcept { return C::image(&handle_, &image, &len); }
    Status image(Bytes &bytes) const noexcept
    {
        const void *image = nullptr;
        std::size_t len = 0;
        const Status status = C::image(&handle_, &image, &len);
        if (status) bytes = Bytes(image, len);
        return status;
    }
    Status info(Info &info) const noexcept
    {
        info.struct_size = sizeof info;
        return C::get_info(&handle_, &info);
    }
    Status set_simd_level(int level) noexcept { return C::set_simd_level(&handle_, level); }

protected:
    Handle handle_;
};

/// Reads an image in place, and owns nothing.
template <class Reader> class View : public Reader {
    typedef typename Reader::Functions C;

public:
    View() noexcept {}
    View(const View &other) noexcept : Reader() { this->handle_ = other.handle_; }
    View &operator=(const View &other) noexcept
    {
        this->handle_ = other.handle_;
        return *this;
    }
    /// The image stays where it is while the view is used.
    Status open(const void *image, std::size_t len, std::uint32_t flags = SKL_OPEN_STRICT) noexcept
    {
        return C::view(&this->handle_, image, len, flags);
    }
    Status open(Bytes image, std::uint32_t flags = SKL_OPEN_STRICT) noexcept
    {
        return open(image.data(), image.size(), flags);
    }
};

/// A sketch to write to. Frees what it owns.
template <class Reader> class Owner : public Reader {
    typedef typename Reader::Functions C;

public:
    typedef typename C::Params Params;

    Owner() noexcept {}
    Owner(Owner &&other) noexcept { take(other); }
    Owner &operator=(Owner &&other) noexcept
    {
        if (this != &other) {
            C::release(&this->handle_);
            take(other);
        }
        return *this;
    }
    ~Owner() { C::release(&this->handle_); }

    /// In memory of its own. The hooks must not throw.
    Status create(const Params &params, const skl_allocator *allocator = nullptr) noexcept
    {
        typename C::Handle made = {};
        return replace(C::create(&made, &params, allocator), made);
    }
    /// In memory of the caller, which is zeroed.
    Status init(void *memory, std::size_t len, const Params &params) noexcept
    {
        typename C::Handle made = {};
        return replace(C::init(&made, memory, len, &params), made);
    }
    /// An image in memory of the caller, to change it in place.
    Status open(void *image, std::size_t len, std::uint32_t flags = SKL_OPEN_STRICT) noexcept
    {
        typename C::Handle made = {};
        return replace(C::open(&made, image, len, flags), made);
    }
    static Status required_bytes(const Params &params, std::uint64_t &bytes) noexcept
    {
        return C::required_bytes(&params, &bytes);
    }
    /// Empty again, as after the constructor.
    void reset() noexcept { C::release(&this->handle_); }
    Status clear() noexcept { return C::clear(&this->handle_); }
    Status seal() noexcept { return C::seal(&this->handle_); }

protected:
    Status replace(Status status, const typename C::Handle &made) noexcept
    {
        if (status) {
            C::release(&this->handle_);
            this->handle_ = made;
        }
        return status;
    }

private:
    void take(Owner &other) noexcept
    {
        this->handle_ = other.handle_;
        other.handle_ = typename C::Handle();
    }
};

struct BloomFunctions {
    typedef skl_bloom Handle;
    typedef skl_bloom_params Params;
    typedef skl_bloom_info Info;
    static constexpr auto create = skl_bloom_new;
    static constexpr auto init = skl_bloom_init;
    static constexpr auto release = skl_bloom_free;
    static constexpr auto view = skl_bloom_view;
    static constexpr auto open = skl_bloom_open;
    static constexpr auto required_bytes = skl_bloom_required_bytes;
    static constexpr auto clear = skl_bloom_clear;
    static constexpr auto seal = skl_bloom_seal;
    static constexpr auto image = skl_bloom_image;
    static constexpr auto get_info = skl_bloom_get_info;
    static constexpr auto set_simd_level = skl_bloom_set_simd_level;
};

struct HyperLogLogFunctions {
    typedef skl_hll Handle;
    typedef skl_hll_params Params;
    typedef skl_hll_info Info;
    static constexpr auto create = skl_hll_new;
    static constexpr auto init = skl_hll_init;
    static constexpr auto release = skl_hll_free;
    static constexpr auto view = skl_hll_view;
    static constexpr auto required_bytes = skl_hll_required_bytes;
    static constexpr auto clear = skl_hll_clear;
    static constexpr auto seal = skl_hll_seal;
    static constexpr auto image = skl_hll_image;
    static constexpr auto get_info = skl_hll_get_info;
    static constexpr auto set_simd_level = skl_hll_set_simd_level;
};

struct CountMinFunctions {
    typedef skl_cms Handle;
    typedef skl_cms_params Params;
    typedef skl_cms_info Info;
    static constexpr auto create = skl_cms_new;
    static constexpr auto init = skl_cms_init;
    static constexpr auto release = skl_cms_free;
    static constexpr auto view = skl_cms_view;
    static constexpr auto open = skl_cms_open;
    static constexpr auto required_bytes = skl_cms_required_bytes;
    static constexpr auto clear = skl_cms_clear;
    static constexpr auto seal = skl_cms_seal;
    static constexpr auto image = skl_cms_image;
    static constexpr auto get_info = skl_cms_get_info;
    static constexpr auto set_simd_level = skl_cms_set_simd_level;
};

struct TopKFunctions {
    typedef skl_topk Handle;
    typedef skl_topk_params Params;
    typedef skl_topk_info Info;
    static constexpr auto create = skl_topk_new;
    static constexpr auto init = skl_topk_init;
    static constexpr auto release = skl_topk_free;
    static constexpr auto view = skl_topk_view;
    static constexpr auto open = skl_topk_open;
    static constexpr auto required_bytes = skl_topk_required_bytes;
    static constexpr auto clear = skl_topk_clear;
    static constexpr auto seal = skl_topk_seal;
    static constexpr auto image = skl_topk_image;
    static constexpr auto get_info = skl_topk_get_info;
};

} // namespace detail

class BloomReader : public detail::Reader<detail::BloomFunctions> {
public:
    Answer contains(const void *key, std::size_t len) const noexcept
    {
        return Answer(skl_bloom_contains(&handle_, key, len));
    }
    Answer contains(Bytes key) const noexcept { return contains(key.data(), key.size()); }
    Answer contains_u64(std::uint64_t key) const noexcept { return Answer(skl_bloom_contains_u64(&handle_, key)); }
    Answer contains_hash(std::uint64_t hash) const noexcept { return Answer(skl_bloom_contains_hash(&handle_, hash)); }

    /// Bitmaps have bitmap_words(n) words. SKL_ERR_NO_SPACE where a Slice has fewer.
    Status contains_hashes(const std::uint64_t *hashes, std::size_t n, std::uint64_t *bitmap) const noexcept
    {
        return skl_bloom_contains_hashes(&handle_, hashes, n, bitmap);
    }
    Status contains_hashes(Slice<const std::uint64_t> hashes, Slice<std::uint64_t> bitmap) const noexcept
    {
        if (bitmap.size() < bitmap_words(hashes.size())) return SKL_ERR_NO_SPACE;
        return contains_hashes(hashes.data(), hashes.size(), bitmap.data());
    }
    Status contains_batch(const Keys &keys, std::uint64_t *bitmap) const noexcept
    {
        return skl_bloom_contains_batch(&handle_, keys.get(), bitmap);
    }
    Status contains_batch(const Keys &keys, Slice<std::uint64_t> bitmap) const noexcept
    {
        return bitmap.size() < bitmap_words(keys.size()) ? SKL_ERR_NO_SPACE : contains_batch(keys, bitmap.data());
    }
    Status count_batch(const Keys &keys, std::size_t &count) const noexcept
    {
        return skl_bloom_count_batch(&handle_, keys.get(), &count);
    }
    /// Of all keys; `selected` has room for as many.
    Status select_batch(const Keys &keys, std::uint32_t *selected, std::size_t &count) const noexcept
    {
        return select_batch(keys, nullptr, keys.size(), selected, count);
    }
    Status select_batch(const Keys &keys, const std::uint32_t *candidates, std::size_t n, std::uint32_t *selected,
                        std::size_t &count) const noexcept
    {
        return skl_bloom_select_batch(&handle_, keys.get(), candidates, n, selected, &count);
    }
    /// `filters` are what handle() gives.
    static Status contains_batch_in_each(Slice<const skl_bloom *const> filters, const Keys &keys,
                                         std::uint64_t *bitmaps) noexcept
    {
        return skl_bloom_contains_batch_in_each(filters.data(), filters.size(), keys.get(), bitmaps);
    }
    Status estimate(skl_bloom_estimate &estimate) const noexcept
    {
        estimate.struct_size = sizeof estimate;
        return skl_bloom_get_estimate(&handle_, &estimate);
    }
};

typedef detail::View<BloomReader> BloomView;

class Bloom : public detail::Owner<BloomReader> {
public:
    static Status params_for_fpr(std::uint64_t keys, double fpr, Params &params) noexcept
    {
        return skl_bloom_params_for_fpr(keys, fpr, &params);
    }
    static Status params_for_bits_per_key(std::uint64_t keys, double bits, Params &params) noexcept
    {
        return skl_bloom_params_for_bits_per_key(keys, bits, &params);
    }
    static Status params_for_bytes(std::uint64_t keys, std::uint64_t payload_bytes, Params &params) noexcept
    {
        return skl_bloom_params_for_bytes(keys, payload_bytes, &params);
    }
    static Status params_explicit(std::uint64_t num_blocks, std::uint32_t num_probes, Params &params) noexcept
    {
        return skl_bloom_params_explicit(num_blocks, num_probes, &params);
    }
    static Status predict_fpr(const Params &params, std::uint64_t keys, double &fpr) noexcept
    {
        return skl_bloom_predict_fpr(&params, keys, &fpr);
    }

    Status insert(const void *key, std::size_t len) noexcept { return skl_bloom_insert(&handle_, key, len); }
    Status insert(Bytes key) noexcept { return insert(key.data(), key.size()); }
    Status insert_u64(std::uint64_t key) noexcept { return skl_bloom_insert_u64(&handle_, key); }
    Status insert_hash(std::uint64_t hash) noexcept { return skl_bloom_insert_hash(&handle_, hash); }
    Status insert_hashes(const std::uint64_t *hashes, std::size_t n) noexcept
    {
        return skl_bloom_insert_hashes(&handle_, hashes, n);
    }
    Status insert_hashes(Slice<const std::uint64_t> hashes) noexcept
    {
        return insert_hashes(hashes.data(), hashes.size());
    }
    /// `seen` is NULL or has bitmap_words(keys.size()) words.
    Status insert_batch(const Keys &keys, std::uint64_t *seen = nullptr) noexcept
    {
        return skl_bloom_insert_batch(&handle_, keys.get(), seen);
    }
    /// skl_bloom_union; `union` is a word of C++.
    Status union_with(const BloomReader &source) noexcept { return skl_bloom_union(&handle_, source.handle()); }
    Status intersect(const BloomReader &source) noexcept { return skl_bloom_intersect(&handle_, source.handle()); }
};

/// Blocks without a header.
namespace bloom_payload {

inline Status insert_hash(void *payload, std::size_t len, std::uint32_t num_probes, std::uint64_t hash) noexcept
{
    return skl_bloom_payload_insert_hash(payload, len, num_probes, hash);
}
inline Status insert_hashes(void *payload, std::size_t len, std::uint32_t num_probes,
                            Slice<const std::uint64_t> hashes) noexcept
{
    return skl_bloom_payload_insert_hashes(payload, len, num_probes, hashes.data(), hashes.size());
}
inline Answer contains_hash(const void *payload, std::size_t len, std::uint32_t num_probes,
                            std::uint64_t hash) noexcept
{
    return Answer(skl_bloom_payload_contains_hash(payload, len, num_probes, hash));
}
/// `bitmap` has bitmap_words(hashes.size()) words.
inline Status contains_hashes(const void *payload, std::size_t len, std::uint32_t num_probes,
                              Slice<const std::uint64_t> hashes, std::uint64_t *bitmap) noexcept
{
    return skl_bloom_payload_contains_hashes(payload, len, num_probes, hashes.data(), hashes.size(), bitmap);
}

} // namespace bloom_payload

class HyperLogLogReader : public detail::Reader<detail::HyperLogLogFunctions> {
public:
    Status estimate(double &estimate) const noexcept { return skl_hll_estimate(&handle_, &estimate); }
    Status estimate_bounds(std::uint32_t sigmas, double &estimate, double &lower, double &upper) const noexcept
    {
        return skl_hll_estimate_bounds(&handle_, sigmas, &estimate, &lower, &upper);
    }
    Status grown_bytes(std::uint64_t &bytes) const noexcept { return skl_hll_grown_bytes(&handle_, nullptr, &bytes); }
    Status grown_bytes(const HyperLogLogReader &source, std::uint64_t &bytes) const noexcept
    {
        return skl_hll_grown_bytes(&handle_, &source.handle_, &bytes);
    }
};

typedef detail::View<HyperLogLogReader> HyperLogLogView;

class HyperLogLog : public detail::Owner<HyperLogLogReader> {
public:
    static Status params_for(std::uint32_t p, Params &params) noexcept { return skl_hll_params_for(p, &params); }

    /// An image in memory of the caller, to change it in place; what follows `image_len` is room to grow.
    Status open(void *memory, std::size_t len, std::size_t image_len, std::uint32_t flags = SKL_OPEN_STRICT) noexcept
    {
        skl_hll made = {};
        return replace(skl_hll_open(&made, memory, len, image_len, flags), made);
    }
    /// skl_hll_move: to other memory of the caller.
    Status move_to(void *memory, std::size_t len) noexcept { return skl_hll_move(&handle_, memory, len); }
    Status insert(const void *key, std::size_t len) noexcept { return skl_hll_insert(&handle_, key, len); }
    Status insert(Bytes key) noexcept { return insert(key.data(), key.size()); }
    Status insert_u64(std::uint64_t key) noexcept { return skl_hll_insert_u64(&handle_, key); }
    Status insert_hash(std::uint64_t hash) noexcept { return skl_hll_insert_hash(&handle_, hash); }
    /// Without `consumed`, a batch that stopped half way is given again: keys that are in already do no harm.
    Status insert_batch(const Keys &keys) noexcept
    {
        std::size_t consumed = 0;
        return insert_batch(keys, consumed);
    }
    Status insert_batch(const Keys &keys, std::size_t &consumed) noexcept
    {
        return skl_hll_insert_batch(&handle_, keys.get(), &consumed);
    }
    Status insert_hashes(Slice<const std::uint64_t> hashes) noexcept
    {
        std::size_t consumed = 0;
        return insert_hashes(hashes.data(), hashes.size(), consumed);
    }
    Status insert_hashes(const std::uint64_t *hashes, std::size_t n, std::size_t &consumed) noexcept
    {
        return skl_hll_insert_hashes(&handle_, hashes, n, &consumed);
    }
    /// `sketches` are what handle() gives.
    static Status insert_grouped(Slice<skl_hll *const> sketches, const std::uint32_t *groups,
                                 const std::uint64_t *hashes, std::size_t n, std::size_t &consumed) noexcept
    {
        return skl_hll_insert_grouped(sketches.data(), sketches.size(), groups, hashes, n, &consumed);
    }
    Status merge(const HyperLogLogReader &source) noexcept { return skl_hll_merge(&handle_, source.handle()); }
    Status merge_folding(const HyperLogLogReader &source) noexcept
    {
        return skl_hll_merge_folding(&handle_, source.handle());
    }
    /// `sources` are what handle() gives.
    Status merge_many(Slice<const skl_hll *const> sources) noexcept
    {
        return skl_hll_merge_many(&handle_, sources.data(), sources.size());
    }
    /// `scratch` is cleared, and holds the union afterwards.
    static Status overlap(const HyperLogLogReader &a, const HyperLogLogReader &b, HyperLogLog &scratch,
                          skl_hll_overlap &overlap) noexcept
    {
        overlap.struct_size = sizeof overlap;
        return skl_hll_get_overlap(a.handle(), b.handle(), &scratch.handle_, &overlap);
    }
};

class CountMinReader : public detail::Reader<detail::CountMinFunctions> {
public:
    Status estimate(Bytes key, std::uint64_t &estimate) const noexcept
    {
        return skl_cms_estimate(&handle_, key.data(), key.size(), &estimate);
    }
    Status estimate_u64(std::uint64_t key, std::uint64_t &estimate) const noexcept
    {
        return skl_cms_estimate_u64(&handle_, key, &estimate);
    }
    Status estimate_hash(std::uint64_t hash, std::uint64_t &estimate) const noexcept
    {
        return skl_cms_estimate_hash(&handle_, hash, &estimate);
    }
    /// SKL_ERR_NO_SPACE where `estimates` is shorter than the batch.
    Status estimate_batch(const Keys &keys, Slice<std::uint64_t> estimates) const noexcept
    {
        if (estimates.size() < keys.size()) return SKL_ERR_NO_SPACE;
        return skl_cms_estimate_batch(&handle_, keys.get(), estimates.data());
    }
    Status estimate_hashes(Slice<const std::uint64_t> hashes, Slice<std::uint64_t> estimates) const noexcept
    {
        if (estimates.size() < hashes.size()) return SKL_ERR_NO_SPACE;
        return skl_cms_estimate_hashes(&handle_, hashes.data(), hashes.size(), estimates.data());
    }
    Status bounds(std::uint64_t estimate, skl_cms_bounds &bounds) const noexcept
    {
        bounds.struct_size = sizeof bounds;
        return skl_cms_get_bounds(&handle_, estimate, &bounds);
    }
    static Status inner_product(const CountMinReader &a, const CountMinReader &b, std::uint64_t &product) noexcept
    {
        return skl_cms_inner_product(a.handle(), b.handle(), &product);
    }
};

typedef detail::View<CountMinReader> CountMinView;

/// A key is Bytes here, also where it is a pointer and a length: {key, len}. Three numbers in a row would be guesswork.
class CountMin : public detail::Owner<CountMinReader> {
public:
    static Status params_for_error(skl_cms_layout layout, std::uint32_t counter_bytes, double epsilon, double delta,
                                   Params &params) noexcept
    {
        return skl_cms_params_for_error(layout, counter_bytes, epsilon, delta, &params);
    }
    static Status params_for_bytes(skl_cms_layout layout, std::uint32_t counter_bytes, std::uint64_t payload_bytes,
                                   std::uint32_t depth, Params &params) noexcept
    {
        return skl_cms_params_for_bytes(layout, counter_bytes, payload_bytes, depth, &params);
    }
    static Status params_explicit(skl_cms_layout layout, std::uint32_t counter_bytes, std::uint64_t width,
                                  std::uint32_t depth, Params &params) noexcept
    {
        return skl_cms_params_explicit(layout, counter_bytes, width, depth, &params);
    }

    Status add(Bytes key, std::uint64_t count = 1) noexcept
    {
        return skl_cms_add(&handle_, key.data(), key.size(), count, nullptr);
    }
    Status add(Bytes key, std::uint64_t count, std::uint64_t &estimate) noexcept
    {
        return skl_cms_add(&handle_, key.data(), key.size(), count, &estimate);
    }
    Status add_u64(std::uint64_t key, std::uint64_t count = 1) noexcept
    {
        return skl_cms_add_u64(&handle_, key, count, nullptr);
    }
    Status add_u64(std::uint64_t key, std::uint64_t count, std::uint64_t &estimate) noexcept
    {
        return skl_cms_add_u64(&handle_, key, count, &estimate);
    }
    Status add_hash(std::uint64_t hash, std::uint64_t count = 1) noexcept
    {
        return skl_cms_add_hash(&handle_, hash, count, nullptr);
    }
    Status add_hash(std::uint64_t hash, std::uint64_t count, std::uint64_t &estimate) noexcept
    {
        return skl_cms_add_hash(&handle_, hash, count, &estimate);
    }
    /// Each key once, or key i as often as counts[i] says. SKL_ERR_KEYS where there are fewer counts than keys.
    Status add_batch(const Keys &keys) noexcept { return skl_cms_add_batch(&handle_, keys.get(), nullptr); }
    Status add_batch(const Keys &keys, Slice<const std::uint64_t> counts) noexcept
    {
        return counts.size() < keys.size() ? SKL_ERR_KEYS : skl_cms_add_batch(&handle_, keys.get(), counts.data());
    }
    Status add_hashes(Slice<const std::uint64_t> hashes) noexcept
    {
        return skl_cms_add_hashes(&handle_, hashes.data(), hashes.size(), nullptr);
    }
    Status add_hashes(Slice<const std::uint64_t> hashes, Slice<const std::uint64_t> counts) noexcept
    {
        if (counts.size() < hashes.size()) return SKL_ERR_KEYS;
        return skl_cms_add_hashes(&handle_, hashes.data(), hashes.size(), counts.data());
    }
    Status merge(const CountMinReader &source) noexcept { return skl_cms_merge(&handle_, source.handle()); }
    Status halve(std::uint32_t times = 1) noexcept { return skl_cms_halve(&handle_, times); }
    /// Halves once per period of the window that has passed.
    Status window_advance(skl_cms_window &window, std::uint64_t now) noexcept
    {
        return skl_cms_window_advance(&window, &handle_, now, nullptr);
    }
    Status window_advance(skl_cms_window &window, std::uint64_t now, std::uint64_t &halvings) noexcept
    {
        return skl_cms_window_advance(&window, &handle_, now, &halvings);
    }
};

class TopKReader : public detail::Reader<detail::TopKFunctions> {
public:
    Status get(std::size_t i, skl_topk_entry &entry) const noexcept
    {
        entry.struct_size = sizeof entry;
        return skl_topk_get(&handle_, i, &entry);
    }
    /// There are no kernels to choose among.
    Status set_simd_level(int level) = delete;
};

typedef detail::View<TopKReader> TopKView;

/// The most frequent keys of a CountMin.
class TopK : public detail::Owner<TopKReader> {
public:
    static Status params_for(std::uint32_t k, std::uint32_t max_key_bytes, Params &params) noexcept
    {
        return skl_topk_params_for(k, max_key_bytes, &params);
    }
    Status add(CountMin &sketch, Bytes key, std::uint64_t count = 1) noexcept
    {
        return skl_topk_add(&handle_, sketch.handle(), key.data(), key.size(), count, nullptr);
    }
    Status add(CountMin &sketch, Bytes key, std::uint64_t count, std::uint64_t &estimate) noexcept
    {
        return skl_topk_add(&handle_, sketch.handle(), key.data(), key.size(), count, &estimate);
    }
    Status offer(Bytes key, std::uint64_t hash, std::uint64_t estimate, bool &held) noexcept
    {
        const int answer = skl_topk_offer(&handle_, key.data(), key.size(), hash, estimate);
        if (answer < 0) return static_cast<skl_status>(answer);
        held = answer == 1;
        return Status();
    }
    Status refresh(const CountMinReader &sketch) noexcept { return skl_topk_refresh(&handle_, sketch.handle()); }
    /// `sketch` has taken in that of `source` before.
    Status merge(const TopKReader &source, const CountMinReader &sketch) noexcept
    {
        return skl_topk_merge(&handle_, source.handle(), sketch.handle());
    }
    Status sort() noexcept { return skl_topk_sort(&handle_); }
};

inline Status hash_bytes(Bytes key, std::uint64_t seed, std::uint64_t &hash) noexcept
{
    return skl_hash_bytes(key.data(), key.size(), seed, &hash);
}
/// `hashes` has room for keys.size() numbers.
inline Status hash_batch(const Keys &keys, std::uint64_t seed, std::uint64_t *hashes) noexcept
{
    return skl_hash_batch(keys.get(), seed, hashes);
}

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)

class Error : public std::exception {
public:
    explicit Error(Status status) noexcept : status_(status) {}
    Status status() const noexcept { return status_; }
    const char *what() const noexcept override { return status_.text(); }

private:
    Status status_;
};

inline void check(Status status)
{
    if (!status) throw Error(status);
}
/// True is "maybe", false "certainly not".
inline bool check(Answer answer)
{
    check(answer.status());
    return answer.maybe();
}
/// make<Bloom>(params): create, or throw.
template <class Sketch>
Sketch make(const typename Sketch::Params &params, const skl_allocator *allocator = nullptr)
{
    Sketch sketch;
    check(sketch.create(params, allocator));
    return sketch;
}

#endif

} // namespace sketchline

#undef SKETCHLINE_NODISCARD

#endif // SKETCHLINE_HPP
