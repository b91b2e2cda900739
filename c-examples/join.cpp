// A hash join with a Bloom filter of the build side in front: the probe side's keys are looked up in batches, and only
// those that may have a partner reach the hash table. `join --help` lists the options.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>
#include <vector>

#include "sketchline.hpp"

namespace {

const char usage[] = "usage: join [OPTION...]\n"
                     "Joins two generated tables by a 64-bit key, without and with a Bloom filter of the build side.\n"
                     "  --build N    rows of the build side, 1 to 100000000 (1000000)\n"
                     "  --probe N    rows of the probe side, 1 to 100000000 (4000000)\n"
                     "  --hits N     per cent of the probe side that have a partner, 0 to 100 (5)\n"
                     "  --bits N     bits of filter per row of the build side, 1 to 64 (10)\n"
                     "  --help       this\n";

struct Options {
    std::uint64_t build = 1000000, probe = 4000000, hits = 5, bits = 10;
};

[[noreturn]] void die(const char *what, const char *why)
{
    std::fprintf(stderr, "join: %s: %s\n", what, why);
    std::exit(EXIT_FAILURE);
}

void check(sketchline::Status status, const char *what)
{
    if (!status) die(what, status.text());
}

std::uint64_t number(const char *option, const char *text, std::uint64_t least, std::uint64_t most)
{
    if (text == nullptr) die(option, "a number is missing after it");
    char *end = nullptr;
    errno = 0;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most) {
        char why[100];
        std::snprintf(why, sizeof why, "needs a whole number from %llu to %llu", static_cast<unsigned long long>(least),
                      static_cast<unsigned long long>(most));
        die(option, why);
    }
    return value;
}

Options parse(char **arguments)
{
    Options options;
    for (; *arguments != nullptr; arguments += 2) {
        const char *option = arguments[0];
        if (std::strcmp(option, "--help") == 0) {
            std::fputs(usage, stdout);
            std::exit(EXIT_SUCCESS);
        } else if (std::strcmp(option, "--build") == 0) {
            options.build = number(option, arguments[1], 1, 100000000);
        } else if (std::strcmp(option, "--probe") == 0) {
            options.probe = number(option, arguments[1], 1, 100000000);
        } else if (std::strcmp(option, "--hits") == 0) {
            options.hits = number(option, arguments[1], 0, 100);
        } else if (std::strcmp(option, "--bits") == 0) {
            options.bits = number(option, arguments[1], 1, 64);
        } else {
            die(option, "no such option; join --help lists them");
        }
    }
    return options;
}

// Row i of the build side has the key mix(i); mix is a bijection, so that a probe key of mix(i) with i beyond the build
// side has no partner.
std::uint64_t build_key(std::uint64_t i) { return skl_hash_mix(i); }

std::vector<std::uint64_t> probe_keys(const Options &options)
{
    std::vector<std::uint64_t> keys;
    keys.reserve(options.probe);
    for (std::uint64_t i = 0; i < options.probe; i++) {
        const std::uint64_t random = skl_hash_u64(i, 1);
        const bool hit = random % 100 < options.hits;
        keys.push_back(build_key(hit ? random / 100 % options.build : options.build + i));
    }
    return keys;
}

struct Joined {
    std::uint64_t rows = 0, sum = 0; // joined rows, and the sum of their values
    std::uint64_t probed = 0;        // rows that were looked for in the hash table
    double seconds = 0;
};

typedef std::unordered_map<std::uint64_t, std::uint64_t> Table;

void probe(const Table &table, std::uint64_t key, Joined &joined)
{
    joined.probed++;
    const Table::const_iterator found = table.find(key);
    if (found == table.end()) return;
    joined.rows++;
    joined.sum += found->second;
}

double seconds_since(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Joined join_plainly(const Table &table, const std::vector<std::uint64_t> &keys)
{
    const auto start = std::chrono::steady_clock::now();
    Joined joined;
    for (std::uint64_t key : keys) probe(table, key, joined);
    joined.seconds = seconds_since(start);
    return joined;
}

Joined join_filtered(const Table &table, const sketchline::BloomReader &filter, const std::vector<std::uint64_t> &keys)
{
    const auto start = std::chrono::steady_clock::now();
    const std::size_t batch = 4096;
    std::uint32_t selected[batch];
    Joined joined;
    for (std::size_t first = 0; first < keys.size(); first += batch) {
        const std::size_t n = keys.size() - first < batch ? keys.size() - first : batch;
        std::size_t count = 0;
        check(filter.select_batch(sketchline::Keys::u64({keys.data() + first, n}), selected, count), "look-up");
        for (std::size_t i = 0; i < count; i++) probe(table, keys[first + selected[i]], joined);
    }
    joined.seconds = seconds_since(start);
    return joined;
}

void print(const char *name, const Joined &joined)
{
    std::printf("%-16s %10llu rows probed, %10llu joined, %7.0f ms\n", name,
                static_cast<unsigned long long>(joined.probed), static_cast<unsigned long long>(joined.rows),
                1000 * joined.seconds);
}

} // namespace

int main(int, char **argv)
{
    std::set_new_handler([] { die("memory", "not enough for so many rows"); });
    const Options options = parse(argv + 1);

    Table table;
    table.reserve(options.build);
    std::vector<std::uint64_t> built;
    built.reserve(options.build);
    for (std::uint64_t i = 0; i < options.build; i++) {
        built.push_back(build_key(i));
        table.emplace(built.back(), i);
    }

    const auto start = std::chrono::steady_clock::now();
    sketchline::Bloom filter;
    sketchline::Bloom::Params params;
    check(sketchline::Bloom::params_for_bits_per_key(options.build, static_cast<double>(options.bits), params),
          "parameters");
    check(filter.create(params), "filter");
    check(filter.insert_batch(sketchline::Keys::u64(built)), "insert");
    const double building = seconds_since(start);

    const std::vector<std::uint64_t> keys = probe_keys(options);
    const Joined plain = join_plainly(table, keys), filtered = join_filtered(table, filter, keys);
    if (plain.rows != filtered.rows || plain.sum != filtered.sum) die("filtered", "the two joins differ");

    std::printf("build side: %llu rows, filter %llu bytes, built in %.0f ms, %.2f %% false positives predicted\n",
                static_cast<unsigned long long>(options.build), static_cast<unsigned long long>(params.image_bytes),
                1000 * building, 100 * params.predicted_fpr);
    print("without filter:", plain);
    print("with filter:", filtered);
    const double saved = plain.seconds - filtered.seconds - building;
    std::printf("%llu look-ups fewer; %s, the building of the filter included: %.0f ms\n",
                static_cast<unsigned long long>(plain.probed - filtered.probed), saved < 0 ? "lost" : "saved",
                1000 * (saved < 0 ? -saved : saved));
    return EXIT_SUCCESS;
}
