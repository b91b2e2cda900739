#include <cstdio>

#include "sketchline.hpp"

int main()
{
    sketchline::Bloom filter;
    sketchline::Bloom::Params params;
    sketchline::Status status = sketchline::Bloom::params_for_fpr(1000000, 0.01, params);
    if (status) status = filter.create(params);
    if (status) status = filter.insert("alice");
    if (!status) {
        std::fprintf(stderr, "%s\n", status.text());
        return 1;
    }
    std::printf("%llu bytes, at most %.2f %% false positives\n",
                static_cast<unsigned long long>(params.image_bytes), 100 * params.predicted_fpr);
    std::printf("alice: %s\n", filter.contains("alice") ? "maybe" : "no");
    std::printf("bob:   %s\n", filter.contains("bob") ? "maybe" : "no");
    return 0;
}
