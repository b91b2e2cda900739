// RocksDB's FastLocalBloom for C: its own inline functions, in the loops that its filter policy puts around them
// (filter_policy.cc: look-ups prepare up to 32 keys, then probe them; inserts prepare 8 keys ahead).
// The low half of a hash picks the line, the high half the bits, as there.

#include "util/bloom_impl.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

using Bloom = ROCKSDB_NAMESPACE::FastLocalBloomImpl;

namespace {
uint32_t line_half(uint64_t hash) { return static_cast<uint32_t>(hash); }
uint32_t bits_half(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
}  // namespace

extern "C" {

int rocksdb_num_probes(int millibits_per_key) { return Bloom::ChooseNumProbes(millibits_per_key); }

// How many hashes may be contained, asked one by one.
size_t rocksdb_contains(const char* data, uint32_t len, int num_probes, const uint64_t* hashes, size_t n) {
  size_t hits = 0;
  for (size_t i = 0; i < n; i++) {
    hits += Bloom::HashMayMatch(line_half(hashes[i]), bits_half(hashes[i]), len, num_probes, data);
  }
  return hits;
}

// The same, prepared and then probed in groups of 32 (MultiGetContext::MAX_BATCH_SIZE).
size_t rocksdb_contains_batch(const char* data, uint32_t len, int num_probes, const uint64_t* hashes, size_t n) {
  constexpr size_t kGroup = 32;
  uint32_t offsets[kGroup];
  bool may_match[kGroup];
  size_t hits = 0;
  for (; n > 0; hashes += std::min(n, kGroup), n -= std::min(n, kGroup)) {
    const size_t group = std::min(n, kGroup);
    for (size_t i = 0; i < group; i++) {
      Bloom::PrepareHash(line_half(hashes[i]), len, data, &offsets[i]);
    }
    for (size_t i = 0; i < group; i++) {
      may_match[i] = Bloom::HashMayMatchPrepared(bits_half(hashes[i]), num_probes, data + offsets[i]);
    }
    for (size_t i = 0; i < group; i++) {
      hits += may_match[i];
    }
  }
  return hits;
}

// One by one.
void rocksdb_insert(char* data, uint32_t len, int num_probes, const uint64_t* hashes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    Bloom::AddHash(line_half(hashes[i]), bits_half(hashes[i]), len, num_probes, data);
  }
}

// Each line prepared 8 keys before it is written to.
void rocksdb_insert_batch(char* data, uint32_t len, int num_probes, const uint64_t* hashes, size_t n) {
  constexpr size_t kAhead = 8;
  uint32_t offsets[kAhead];
  const size_t first = std::min(n, kAhead);
  const auto prepare = [&](size_t i) { Bloom::PrepareHash(line_half(hashes[i]), len, data, &offsets[i % kAhead]); };
  const auto add = [&](size_t i) {
    Bloom::AddHashPrepared(bits_half(hashes[i]), num_probes, data + offsets[i % kAhead]);
  };
  for (size_t i = 0; i < first; i++) prepare(i);
  for (size_t i = first; i < n; i++) {
    add(i - kAhead);
    prepare(i);
  }
  for (size_t i = n - first; i < n; i++) add(i);
}
}
