/* The sketches of all groups in one file, so that what several runs counted can be united later. Little-endian:
 *
 *     8 bytes  "SKLNGRP1"; an image does not begin so, since there is no kind 'G'
 *     for each group, in ascending order of names:
 *         u32      length of the name
 *         n bytes  name: a canonical key of sql_key.h, 'n' for the group of NULL, or nothing for all rows
 *         u32      length of the image
 *         n bytes  image: docs/FORMAT.md, sealed
 *     u64      XXH3-64, seed 0, of all bytes before
 *
 * The same groups with the same values make the same bytes, however they were put together. */

#ifndef DISTINCT_GROUPS_FILE_H
#define DISTINCT_GROUPS_FILE_H

#include "groups.h"
#include "image_file.h"
#include "parts.h"
#include "support.h"

#define GROUPS_MAGIC "SKLNGRP1"
enum { GROUPS_MAGIC_LEN = 8, GROUPS_CHECKSUM_LEN = 8 };

/* As save_image does for images: only a file of groups is replaced. */
static inline void check_may_replace_groups(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT) return;
        die("cannot save to %s: %s", path, strerror(errno));
    }
    char magic[GROUPS_MAGIC_LEN] = {0};
    FILE *file = S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    bool is_ours = file != NULL && fread(magic, sizeof magic, 1, file) == 1 &&
                   memcmp(magic, GROUPS_MAGIC, sizeof magic) == 0;
    if (file != NULL) fclose(file);
    if (!is_ours) die("cannot save to %s: it exists and is not a file of groups", path);
}

static inline int compare_groups(const void *left, const void *right)
{
    const struct group *const *a = left, *const *b = right;
    return compare_names(&(*a)->name, &(*b)->name);
}

static inline void save_groups(const struct groups *groups, const char *path)
{
    struct group **sorted = allocate(groups->n, sizeof *sorted);
    for (size_t i = 0; i < groups->n; i++) sorted[i] = groups->all[i];
    qsort(sorted, groups->n, sizeof *sorted, compare_groups);
    struct buffer out = {0};
    buffer_append(&out, GROUPS_MAGIC, GROUPS_MAGIC_LEN);
    for (size_t i = 0; i < groups->n; i++) {
        const void *image;
        size_t len;
        check_skl(skl_hll_seal(&sorted[i]->sketch), "cannot seal a sketch");
        check_skl(skl_hll_image(&sorted[i]->sketch, &image, &len), "cannot save a sketch");
        put_part(&out, sorted[i]->name.bytes, sorted[i]->name.len);
        put_part(&out, image, len);
    }
    uint64_t checksum;
    check_skl(skl_hash_bytes(out.bytes, out.len, 0, &checksum), "cannot hash the file");
    put_le(&out, checksum, GROUPS_CHECKSUM_LEN);
    check_may_replace_groups(path);
    save_image(path, out.bytes, out.len);
    free(out.bytes);
    free(sorted);
}

/* Checks what belongs to the whole file, and leaves the groups. */
static inline struct parts open_parts(const char *path, const struct mapped_image *file)
{
    struct parts parts = {.path = path, .at = file->bytes, .len = file->len};
    size_t magic_len = parts.len < GROUPS_MAGIC_LEN ? parts.len : GROUPS_MAGIC_LEN;
    if (parts.len == 0 || memcmp(parts.at, GROUPS_MAGIC, magic_len) != 0) die("%s: not a file of groups", path);
    if (parts.len < GROUPS_MAGIC_LEN + GROUPS_CHECKSUM_LEN) die("%s: damaged: it is cut short", path);
    parts.len -= GROUPS_CHECKSUM_LEN;
    uint64_t checksum;
    check_skl(skl_hash_bytes(parts.at, parts.len, 0, &checksum), path);
    if (checksum != get_le(parts.at + parts.len, GROUPS_CHECKSUM_LEN))
        die("%s: damaged: it is cut short, or does not match its checksum", path);
    take_bytes(&parts, GROUPS_MAGIC_LEN);
    return parts;
}

static inline bool is_name(const unsigned char *name, size_t len)
{
    if (len == 0) return true;
    switch (name[0]) {
    case 'n': return len == 1;
    case 'i': return len == 9;
    case 'r': return len == 9 && (get_le(name + 1, 8) & INT64_MAX) <= UINT64_C(0x7ff) << 52; /* not NaN */
    default: return name[0] == 't' || name[0] == 'b';
    }
}

/* Adds one image to its group. The first image of all gives the precision, unless --p did. */
static inline void merge_group(struct groups *groups, const char *path, const struct group *source, bool is_folding)
{
    skl_hll_info info = {.struct_size = sizeof info};
    check_skl(skl_hll_get_info(&source->sketch, &info), path);
    if (info.hash_id != SKL_HASH_XXH3 || info.seed != key_seed(AFFINITY_NONE))
        die("%s: its sketches are of values in another form: of another program", path);
    if (groups->params.p == 0) groups_set_precision(groups, info.p);
    if (info.p < groups->params.p || (info.p > groups->params.p && !is_folding))
        die("%s: a sketch of precision %u among those of %u: --p %u makes all alike", path, (unsigned)info.p,
            (unsigned)groups->params.p, (unsigned)(info.p < groups->params.p ? info.p : groups->params.p));
    uint32_t target = groups_find(groups, source->name.bytes, source->name.len);
    check_skl(skl_hll_merge_folding(groups->sketches[target], &source->sketch), path);
}

/* Unites the groups with those of a file. Where `is_folding`, its precision may be greater than that of the groups. */
static inline void load_groups(struct groups *groups, const char *path, bool is_folding)
{
    struct mapped_image file = map_image(path);
    struct parts parts = open_parts(path, &file);
    struct group last = {0};
    for (size_t i = 0; parts.len > 0; i++) {
        struct group group = {0};
        size_t image_len;
        group.name.bytes = take_part(&parts, &group.name.len);
        if (!is_name(group.name.bytes, group.name.len)) die("%s: damaged: a name that no value has", path);
        if (i > 0 && compare_names(&last.name, &group.name) >= 0) die("%s: damaged: the names are not in order", path);
        const unsigned char *image = take_part(&parts, &image_len);
        skl_status status = skl_hll_view(&group.sketch, image, image_len, SKL_OPEN_STRICT);
        if (status != SKL_OK) die("%s: damaged: group %zu: %s", path, i + 1, skl_status_string(status));
        merge_group(groups, path, &group, is_folding);
        last = group;
    }
    unmap_image(&file);
}

#endif
