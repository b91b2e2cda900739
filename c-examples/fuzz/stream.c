/* stream CALLS [SEED [FOLDER]]: so many calls of calls.c, from bytes of splitmix64, without libFuzzer; and how they
 * ended. The bytes are also written to the folder, for libFuzzer to start from. */
#include "fuzz.h"

extern unsigned long num_calls, statuses[32];

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void keep(const char *folder, unsigned long number, const unsigned char *bytes, size_t len)
{
    char path[300];
    FILE *file;
    snprintf(path, sizeof path, "%s/stream-%lu", folder, number);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    unsigned char input[1024];
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    const unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    unsigned long inputs = 0;
    size_t i;
    if (wanted == 0 || argc > 4) {
        fprintf(stderr, "usage: stream CALLS [SEED [FOLDER]]\n");
        return 2;
    }
    for (; num_calls < wanted; inputs++) {
        for (i = 0; i < sizeof input; i += 8) {
            put_u64(input + i, next(&state));
        }
        if (argc > 3) {
            keep(argv[3], inputs, input, sizeof input);
        }
        LLVMFuzzerTestOneInput(input, sizeof input);
    }
    printf("%lu calls in %lu sequences\n%10lu   1 a key was found, or a counter stopped\n", num_calls, inputs, statuses[31]);
    for (i = 0; i < 31; i++) {
        if (statuses[i] != 0) {
            printf("%10lu %3d %s\n", statuses[i], -(int)i, skl_status_string(-(int)i));
        }
    }
    return 0;
}
