/* mutate VALUES IMAGE...: sealed images, with every byte changed in so many ways and every length cut to, through
 * decode.c; as they are, with checksums mended, and taken as in use. As they are, none may open. */
#include "fuzz.h"

extern unsigned decode_opened;

enum { MOST = 65536, WAYS = 11 };

static unsigned char input[2 + MOST];
static unsigned long images, tried, opened;

static void decode(unsigned options, size_t len)
{
    input[0] = (unsigned char)options;
    input[1] = (unsigned char)(tried & 0x3f);
    LLVMFuzzerTestOneInput(input, 2 + len);
    tried++;
    opened += decode_opened;
}

/* The way-th other value of a byte: each bit, all bits, and what counts one less or more. */
static unsigned char other(unsigned char value, int way)
{
    return (unsigned char)(way < 8 ? value ^ 1 << way : way == 8 ? ~value : way == 9 ? value + 1 : value - 1);
}

int main(int argc, char **argv)
{
    const int values = argc > 2 ? atoi(argv[1]) : 0;
    unsigned char *image = input + 2;
    int i, way;
    if (values < 1 || values > WAYS) {
        fprintf(stderr, "usage: mutate VALUES IMAGE..., with at most %d\n", WAYS);
        return 2;
    }
    for (i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t len, at;
        if (file == NULL) {
            perror(argv[i]);
            return 1;
        }
        len = fread(image, 1, MOST, file);
        fclose(file);
        images++;
        decode(0, len);
        doing = argv[i];
        REQUIRE(decode_opened == 1);
        for (at = 0; at < len; at++) {
            const unsigned char value = image[at];
            decode(0, at);
            doing = argv[i];
            REQUIRE(decode_opened == 0);
            for (way = 0; way < values; way++) {
                image[at] = other(value, (way + (int)at) % WAYS);
                decode(0, len);
                doing = argv[i];
                REQUIRE(decode_opened == 0);
                decode(8, len);
                decode(2 | 16 | 32, len);
            }
            image[at] = value;
        }
    }
    printf("%lu images, %lu inputs, of which %lu opened\n", images, tried, opened);
    return 0;
}
