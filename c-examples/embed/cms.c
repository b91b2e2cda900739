/* The statements that came most often, over two nodes: each counts its own in a few kilobytes and holds the texts of the ten
 * most frequent; one takes the other in. Uses the installed library only; cms.txt is what it prints. */
#include <sketchline.h>

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 2, STATEMENTS = 1000, ROUNDS = 3000, TOP = 10 };

static void check(skl_status status, const char *what)
{
    if (status == SKL_OK) return;
    fprintf(stderr, "%s: %s\n", what, skl_status_string(status));
    exit(1);
}

static size_t text_of(int statement, char text[32])
{
    return (size_t)snprintf(text, 32, "SELECT %d", statement);
}

/* Statement s came with every (s + 1)-th round: the first most often. */
static uint64_t exact(int statement, int rounds)
{
    return (uint64_t)(rounds / (statement + 1));
}

int main(void)
{
    skl_cms_params shape;
    skl_topk_params top_shape;
    check(skl_cms_params_for_error(SKL_CMS_ROWS, 4, 0.002, 0.01, &shape), "params");
    check(skl_topk_params_for(TOP, 31, &top_shape), "params");
    printf("%lu bytes per node\n", (unsigned long)(shape.image_bytes + top_shape.image_bytes));

    skl_cms counts[NODES];
    skl_topk tops[NODES];
    for (int node = 0; node < NODES; node++) {
        check(skl_cms_new(&counts[node], &shape, NULL), "new");
        check(skl_topk_new(&tops[node], &top_shape, NULL), "new");
        for (int round = 1; round <= ROUNDS * (node + 1); round++) {
            for (int statement = 0; statement < STATEMENTS; statement++) {
                char text[32];
                if (round % (statement + 1) != 0) continue;
                const size_t len = text_of(statement, text);
                check(skl_topk_add(&tops[node], &counts[node], text, len, 1, NULL), "add");
            }
        }
    }
    check(skl_cms_merge(&counts[0], &counts[1]), "merge counts");
    check(skl_topk_merge(&tops[0], &tops[1], &counts[0]), "merge texts");
    check(skl_topk_sort(&tops[0]), "sort");
    for (size_t i = 0; i < 3; i++) {
        skl_topk_entry entry;
        entry.struct_size = sizeof entry;
        check(skl_topk_get(&tops[0], i, &entry), "get");
        printf("%.*s\n", (int)entry.kept_bytes, (const char *)entry.key);
    }

    /* Never too low, and rarely higher than promised. */
    int too_low = 0, too_high = 0;
    for (int statement = 0; statement < STATEMENTS; statement++) {
        char text[32];
        uint64_t estimate;
        skl_cms_bounds bounds;
        bounds.struct_size = sizeof bounds;
        const uint64_t truth = exact(statement, ROUNDS) + exact(statement, 2 * ROUNDS);
        check(skl_cms_estimate(&counts[0], text, text_of(statement, text), &estimate), "estimate");
        check(skl_cms_get_bounds(&counts[0], estimate, &bounds), "bounds");
        too_low += estimate < truth;
        too_high += (double)estimate > (double)truth + bounds.error;
    }
    printf("too low: %d, higher than promised: %s\n", too_low, too_high <= STATEMENTS / 100 ? "few" : "many");
    for (int node = 0; node < NODES; node++) {
        skl_cms_free(&counts[node]);
        skl_topk_free(&tops[node]);
    }
    return 0;
}
