#!/usr/bin/env python3
"""Reads the golden images from docs/FORMAT.md alone; shares nothing with the library.

    python3 .ci/format.py core/tests/data
"""
import pathlib
import struct
import sys

M32, M64 = 2**32 - 1, 2**64 - 1
P32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def fold(a, b):
    product = (a & M64) * (b & M64)
    return product >> 64 ^ product & M64


def avalanche(h, steps, last=32):
    h &= M64
    for shift, factor in steps:
        h = (h ^ h >> shift) * factor & M64
    return h ^ h >> last


XXH64 = (33, P64[1]), (29, P64[2])
XXH3 = (37, MX[0]),


def xxh3(data, seed=0):
    """XXH3-64: section "XXH3 Algorithm Description" of xxHash's doc/xxhash_spec.md."""
    size = len(data)
    if size < 4:
        if size == 0:
            return avalanche(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64), XXH64)
        packed = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return avalanche(packed ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed, XXH64)
    if size <= 8:
        seed ^= int.from_bytes(struct.pack("<I", seed & M32), "big") << 32
        h = u32(data, size - 4) + (u32(data, 0) << 32) ^ (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & M64
        h ^= (h << 49 | h >> 15) & M64 ^ (h << 24 | h >> 40) & M64
        h = h * MX[1] & M64
        h = (h ^ (h >> 35) + size) * MX[1] & M64
        return h ^ h >> 28
    if size <= 16:
        low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & M64
        high = u64(data, size - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & M64
        return avalanche(size + int.from_bytes(struct.pack("<Q", low), "big") + high + fold(low, high), XXH3)
    if size <= 240:
        def mix(at, secret):
            return fold(u64(data, at) ^ u64(SECRET, secret) + seed & M64,
                        u64(data, at + 8) ^ u64(SECRET, secret + 8) - seed & M64)
        h = size * P64[0]
        if size <= 128:
            for i in range((size + 31) // 32):
                h += mix(16 * i, 32 * i) + mix(size - 16 * i - 16, 32 * i + 16)
            return avalanche(h, XXH3)
        h = avalanche(h + sum(mix(16 * i, 16 * i) for i in range(8)), XXH3)
        h += sum(mix(16 * i, 16 * i - 125) for i in range(8, size // 16)) + mix(size - 16, 119)
        return avalanche(h, XXH3)
    secret = b"".join(struct.pack("<Q", u64(SECRET, 8 * i) + (-seed if i % 2 else seed) & M64) for i in range(24))
    lanes = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def accumulate(stripe, at):
        for i in range(8):
            value = u64(data, stripe + 8 * i)
            key = value ^ u64(secret, at + 8 * i)
            lanes[i ^ 1] = lanes[i ^ 1] + value & M64
            lanes[i] = lanes[i] + (key & M32) * (key >> 32) & M64
    for n in range((size - 1) // 64):
        accumulate(64 * n, 8 * (n % 16))
        if n % 16 == 15:
            lanes = [(x ^ x >> 47 ^ u64(secret, 128 + 8 * i)) * P32[0] & M64 for i, x in enumerate(lanes)]
    accumulate(size - 64, 121)
    folds = (fold(lanes[i] ^ u64(secret, 11 + 8 * i), lanes[i + 1] ^ u64(secret, 19 + 8 * i)) for i in range(0, 8, 2))
    return avalanche(size * P64[0] + sum(folds), XXH3)


SALT = 0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31
LANES = [bytes.fromhex(row) for row in (
    "0101010101010101", "0305090305091103", "070b0d1315192507", "0f171b1d272b2d35",
    "1f2f373b3d575b1f", "3f5f6f3f5f6f773f", "7f7f7f7f7f7f7f7f", "ffffffffffffffff")]


def probe(h, num_blocks, num_probes):
    """The block of a hash, and its bits there."""
    g, turn = h & M32, h >> 3 & 7
    bits = set()
    for first, shift in (0, 32), (8, 24):
        if num_probes > first:
            lanes = LANES[min(num_probes - first, 8) - 1][g & 7]
            bits |= {64 * i + (g * SALT[i] >> shift) % 64 for i in range(8) if lanes >> (i - turn) % 8 & 1}
    return (h >> 32) * num_blocks >> 32, bits


def decode(image):
    """The fields of a sealed Bloom image, and its blocks as sets of bits."""
    magic, kind, version, flags, hash_id, seed, payload_bytes, inserted = struct.unpack_from("<4s4B3Q", image)
    num_blocks, num_probes, zero, capacity, payload_sum, header_sum = struct.unpack_from("<IB3s3Q", image, 32)
    assert (magic, kind, version, flags, zero) == (b"SKLN", 1, 1, 1, bytes(3)) and 1 <= num_probes <= 16
    assert len(image) - 64 == payload_bytes == 64 * num_blocks > 0
    assert header_sum == xxh3(image[:56]) and payload_sum == xxh3(image[64:])
    blocks = [{bit for bit in range(512) if image[at + bit // 8] >> bit % 8 & 1} for at in range(64, len(image), 64)]
    return (num_blocks, num_probes, ("xxh3", "caller")[hash_id - 1], seed, capacity, inserted), blocks


def hashes(form, numbers, seed):
    """The hashes of a key set of images.txt."""
    if form == "numbers":
        return [xxh3(struct.pack("<Q", i), seed) for i in range(*numbers)]
    if form == "prefixes":
        return [xxh3(bytes(i & 255 for i in range(size)), seed) for size in numbers]
    splitmix64 = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)
    return [avalanche((i + 1) * 0x9E3779B97F4A7C15, splitmix64, 31) for i in range(*numbers)]


def decode_hll(image):
    """The fields of a sealed HyperLogLog image, and its tokens or registers."""
    magic, kind, version, flags, hash_id, seed, payload_bytes, zero = struct.unpack_from("<4s4B3Q", image)
    p, form, mode, zero_byte, num_tokens, martingale, payload_sum, header_sum = struct.unpack_from("<4BI3Q", image, 32)
    assert (magic, kind, version, flags, zero, zero_byte) == (b"SKLN", 2, 1, 1, 0, 0) and 4 <= p <= 18
    assert len(image) - 64 == payload_bytes and (mode, martingale) == (0, 0)
    assert header_sum == xxh3(image[:56]) and payload_sum == xxh3(image[64:])
    if form == 0:
        values = [u32(image, 64 + 4 * i) for i in range(num_tokens)]
        used = 4 * num_tokens
        assert all(a >> 6 < b >> 6 for a, b in zip(values, values[1:]))
    else:
        bits = int.from_bytes(image[64:], "little")
        values = [bits >> 6 * i & 63 for i in range(2 ** p)]
        used = 2 ** p * 3 // 4
    assert payload_bytes == max(64, -(-used // 64) * 64) and not any(image[64 + used:])
    return (p, ("sparse", "dense")[form], seed), values


def rank(h, p):
    """1 + trailing zeros of what is above the low p bits, at most 65 - p."""
    rest = h >> p | 1 << 64 - p
    return (rest & -rest).bit_length()


def check_hll(folder):
    images = 0
    for line in (folder / "images.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        file, p, form, seed, num_keys = line.split()
        fields, values = decode_hll((folder / file).read_bytes())
        assert fields == (int(p), form, int(seed)), (file, fields)
        at = 26 if form == "sparse" else int(p)
        ranks = {}
        for h in hashes("numbers", [int(num_keys)], int(seed)):
            index = h & 2 ** at - 1
            ranks[index] = max(ranks.get(index, 0), rank(h, at))
        expected = [i << 6 | ranks[i] for i in sorted(ranks)] if form == "sparse" else [ranks.get(i, 0) for i in range(2 ** at)]
        assert values == expected, file
        images += 1
    assert images and images == len(list(folder.glob("*.skln"))), "images.txt and the files differ"
    print(f"{images} golden HyperLogLog images decoded")


C = [int(x, 16) for x in (
    "e220a8397b1dcdaf 6e789e6aa1b965f5 06c45d188009454f f88bb8a8724c81ed 1b39896a51a8749b 53cb9f0c747ea2eb "
    "2c829abe1f4532e1 c584133ac916ab3d 3ee5789041c98ac3 f3b8488c368cb0a7 657eecdd3cb13d09 c2d326e0055bdef7 "
    "8621a03fe0bbdb7b 8e1f7555983aa92f b54e0f1600cc4d19 84bb3f97971d80ab").split()]


def columns(h, layout, size, depth, width_bytes):
    """The counters of a hash, as numbers among all of the payload."""
    per_line = 64 // width_bytes
    x = [h * c & M64 for c in C]
    scaled = [(x >> 32) * size >> 32 for x in x]
    if layout == "rows":
        row = -(-size // per_line) * per_line
        return [i * row + scaled[i] for i in range(depth)]
    half = per_line // 2
    return [(j * size + scaled[j]) * per_line + at for j in range(2)
            for at in (x[j] >> 16 & half - 1, half + (x[j] >> 19 & half - 1))]


def add(counters, at, count, most, conservative):
    """Counts a key whose counters are `at`."""
    target = min(count + min(counters[i] for i in at), most)
    for i in at:
        counters[i] = max(counters[i], target) if conservative else min(counters[i] + count, most)


def decode_cms(image):
    """The fields of a sealed Count-Min image, and its counters."""
    magic, kind, version, flags, hash_id, seed, payload_bytes, zero = struct.unpack_from("<4s4B3Q", image)
    size, depth, layout, width_bytes, mode, total, payload_sum, header_sum = struct.unpack_from("<I4B3Q", image, 32)
    assert (magic, kind, version, flags, zero) == (b"SKLN", 3, 1, 1, 0) and size and layout < 2 and mode < 2
    assert width_bytes in (4, 8) and (depth == 4 if layout else 1 <= depth <= 16)
    lines = 2 * size if layout else depth * -(-size * width_bytes // 64)
    assert len(image) - 64 == payload_bytes == 64 * lines
    assert header_sum == xxh3(image[:56]) and payload_sum == xxh3(image[64:])
    counters = [int.from_bytes(image[at:at + width_bytes], "little") for at in range(64, len(image), width_bytes)]
    if not layout:
        row = len(counters) // depth
        assert not any(counter for i, counter in enumerate(counters) if i % row >= size), "padding"
    names = ("rows", "two-line")[layout], ("plain", "conservative")[mode], ("xxh3", "caller")[hash_id - 1]
    return (*names, seed, size, depth, 8 * width_bytes, total), counters


def check_cms(folder):
    images = 0
    for line in (folder / "images.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        file, layout, mode, hashing, *numbers = line.split()
        seed, size, depth, bits, num_keys, count, halvings = map(int, numbers)
        fields, counters = decode_cms((folder / file).read_bytes())
        keys = hashes("numbers" if hashing == "xxh3" else "hashes", [num_keys], seed)
        expected, most, total = [0] * len(counters), 2 ** bits - 1, 0
        cells = [columns(h, layout, size, depth, bits // 8) for h in keys]
        for i, at in enumerate(cells):
            add(expected, at, (i + 1) * count, most, mode == "conservative")
            total = min(total + (i + 1) * count, M64)
        assert fields == (layout, mode, hashing, seed, size, depth, bits, total >> halvings), (file, fields)
        assert counters == [counter >> halvings for counter in expected], file
        for i, at in enumerate(cells):
            assert min(counters[i] for i in at) >= min((i + 1) * count, most) >> halvings, f"{file} is too low"
        images += 1
    assert images and images == len(list(folder.glob("*.skln"))), "images.txt and the files differ"
    print(f"{images} golden Count-Min images decoded")


def decode_topk(image):
    """The fields of a sealed top-k image, and its entries: count, hash, length, bytes that were kept."""
    magic, kind, version, flags, hash_id, seed, payload_bytes, zero = struct.unpack_from("<4s4B3Q", image)
    k, most, zeros, payload_sum, header_sum = struct.unpack_from("<2I3Q", image, 32)
    assert (magic, kind, version, flags, hash_id, zero, zeros) == (b"SKLN", 7, 1, 1, 1, 0, 0)
    assert 1 <= k <= 65536 and most <= 65536 and len(image) - 64 == payload_bytes == -(-k * (20 + most) // 64) * 64
    assert header_sum == xxh3(image[:56]) and payload_sum == xxh3(image[64:])
    entries = []
    for i in range(k):
        key = image[64 + 20 * k + most * i:][:most]
        size = u32(image, 64 + 16 * k + 4 * i)
        entry = u64(image, 64 + 8 * k + 8 * i), u64(image, 64 + 8 * i), size, key[:size]
        assert not any(key[size:]) and (entry[0] or not (entry[1] or size)), "free bytes"
        entries.append(entry)
    assert not any(image[64 + (20 + most) * k:])
    held = [entry for entry in entries if entry[0]]
    assert held == entries[:len(held)] and held == sorted(held, key=lambda entry: (-entry[0], entry[1]))
    return (k, most, seed), held


def check_topk(folder):
    images = 0
    for line in (folder / "images.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        file, *numbers = line.split()
        k, most, seed, num_keys = map(int, numbers)
        fields, entries = decode_topk((folder / file).read_bytes())
        assert fields == (k, most, seed), (file, fields)
        sketch, keys = [0] * 4 * 4096, [bytes(range(i)) for i in range(num_keys)]
        cells = [columns(xxh3(key, seed), "rows", 4096, 4, 4) for key in keys]
        for i, at in enumerate(cells):
            add(sketch, at, 1 + 7 * i % 10, 2 ** 32 - 1, False)
        known = {(min(sketch[i] for i in at), xxh3(key, seed), len(key), key[:most]) for key, at in zip(keys, cells)}
        assert len(entries) == min(k, num_keys) and set(entries) <= known, file
        assert all(other[0] <= entries[-1][0] for other in known - set(entries)), f"{file} lacks a key"
        images += 1
    assert images and images == len(list(folder.glob("*.skln"))), "images.txt and the files differ"
    print(f"{images} golden top-k images decoded")


def main(folder):
    images = 0
    for line in (folder / "images.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        file, num_blocks, num_probes, scheme, seed, capacity, form, *numbers = line.split()
        num_blocks, num_probes, seed, capacity = map(int, (num_blocks, num_probes, seed, capacity))
        keys = hashes(form, list(map(int, numbers)), seed)
        fields, blocks = decode((folder / file).read_bytes())
        assert fields == (num_blocks, num_probes, scheme, seed, capacity, len(keys)), (file, fields)
        expected = [set() for _ in blocks]
        for key in keys:
            block, bits = probe(key, num_blocks, num_probes)
            assert bits <= blocks[block], f"{file} lacks a key"
            expected[block] |= bits
        assert blocks == expected, f"{file} has a bit of no key"
        images += 1
    assert images and images == len(list(folder.glob("*.skln"))), "images.txt and the files differ"
    print(f"{images} golden images decoded")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
    check_hll(pathlib.Path(sys.argv[1]) / "hll")
    check_cms(pathlib.Path(sys.argv[1]) / "cms")
    check_topk(pathlib.Path(sys.argv[1]) / "topk")
