/* The table that prefilter.c builds where it is not given one, and files of keys. */

#ifndef PREFILTER_DEMO_TABLE_H
#define PREFILTER_DEMO_TABLE_H

#include <inttypes.h>

#include "sql_key.h"
#include "support.h"

/* One key per line. All bytes before the newline are the key, CR and NUL too; an empty line is the empty key; the
 * last line may do without its newline. */
struct key_file {
    const char *path;
    FILE *file;
    char *line;
    size_t capacity;
};

static inline struct key_file key_file_open(const char *path)
{
    struct key_file keys = {.path = path, .file = fopen(path, "rb")};
    if (keys.file == NULL) die("cannot read %s: %s", path, strerror(errno));
    return keys;
}

/* False at the end of the file. The bytes last until the next call. */
static inline bool key_file_next(struct key_file *keys, struct sql_value *value)
{
    errno = 0;
    ssize_t len = getline(&keys->line, &keys->capacity, keys->file);
    if (len < 0 && !feof(keys->file)) die("cannot read %s: %s", keys->path, strerror(errno));
    if (len < 0) return false;
    if (keys->line[len - 1] == '\n') len--;
    *value = (struct sql_value){.type = SQLITE_TEXT, .bytes = keys->line, .len = (size_t)len};
    return true;
}

static inline void key_file_close(struct key_file *keys)
{
    fclose(keys->file);
    free(keys->line);
}

/* Made-up keys: number i of a seed, "user-" and 16 hex digits. No two are equal. */
enum { MADE_UP_KEY_LEN = 21 };

static inline uint64_t made_up_number(uint64_t seed, uint64_t i)
{
    return mix64(mix64(seed) + i);
}

static inline void made_up_key(uint64_t number, char text[MADE_UP_KEY_LEN + 1])
{
    snprintf(text, MADE_UP_KEY_LEN + 1, "user-%016" PRIx64, number);
}

static inline int compare_u64(const void *left, const void *right)
{
    uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
    return (l > r) - (l < r);
}

static inline void insert_row(sqlite3_stmt *insert, const struct sql_value *key)
{
    bind_value(insert, 1, key);
    if (sqlite3_step(insert) != SQLITE_DONE)
        check_sql(sqlite3_db_handle(insert), sqlite3_reset(insert), "cannot build the table");
    sqlite3_reset(insert);
}

/* In the order of the keys, which is how a B-tree is built quickly. */
static inline void insert_made_up_rows(sqlite3_stmt *insert, uint64_t rows, uint64_t seed)
{
    uint64_t *numbers = allocate(rows, sizeof *numbers);
    for (uint64_t i = 0; i < rows; i++) numbers[i] = made_up_number(seed, i);
    qsort(numbers, rows, sizeof *numbers, compare_u64);
    struct progress progress = {.what = "building the table", .total = rows};
    for (uint64_t i = 0; i < rows; i++) {
        char text[MADE_UP_KEY_LEN + 1];
        made_up_key(numbers[i], text);
        insert_row(insert, &(struct sql_value){.type = SQLITE_TEXT, .bytes = text, .len = MADE_UP_KEY_LEN});
        progress_step(&progress, i);
    }
    progress_end(&progress);
    free(numbers);
}

static inline void insert_rows_of_file(sqlite3_stmt *insert, const char *path)
{
    struct key_file keys = key_file_open(path);
    struct sql_value key;
    while (key_file_next(&keys, &key)) insert_row(insert, &key);
    key_file_close(&keys);
}

/* Builds kv(key, value) in the empty file `path`, with the keys of a file or, if that is NULL, made-up ones. There
 * is no journal, since the file is nobody's until it is complete. */
static inline void build_table(const char *path, const char *key_path, uint64_t rows, uint64_t seed)
{
    sqlite3 *db = open_sqlite(path, SQLITE_OPEN_READWRITE);
    run_sql(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                "PRAGMA cache_size = -65536; BEGIN;"
                "CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID");
    sqlite3_stmt *insert = prepare_and_free(db, sqlite3_mprintf("INSERT OR IGNORE INTO kv VALUES (?1, ?2)"));
    unsigned char value[100];
    memset(value, 0x5a, sizeof value);
    check_sql(db, sqlite3_bind_blob(insert, 2, value, sizeof value, SQLITE_STATIC), "SQLite");
    if (key_path != NULL) {
        insert_rows_of_file(insert, key_path);
    } else {
        insert_made_up_rows(insert, rows, seed);
    }
    sqlite3_finalize(insert);
    check_sql(db, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), "cannot build the table");
    check_sql(db, sqlite3_close(db), "SQLite");
}

/* The same in a file that is to stay: under its name once it is complete and on the disk, and never over another
 * file (link, unlike rename, refuses that). */
static inline void build_table_to_keep(const char *path, const char *key_path, uint64_t rows, uint64_t seed)
{
    if (access(path, F_OK) == 0) die("%s exists: name its --table and --column, or another file", path);
    int file = temporary_open(TEMPORARY_DATABASE, path);
    if (file < 0) die("cannot make %s: %s", path, strerror(errno));
    const char *temporary = temporary_files[TEMPORARY_DATABASE];
    build_table(temporary, key_path, rows, seed);
    if (!set_usual_mode(file) || fsync(file) != 0 || link(temporary, path) != 0 || !sync_directory_of(path))
        die("cannot make %s: %s", path, strerror(errno));
    close(file);
    temporary_end(TEMPORARY_DATABASE, false);
}

/* The same in a file that goes when the program does. Answers its name. */
static inline const char *build_temporary_table(const char *key_path, uint64_t rows, uint64_t seed)
{
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == 0) directory = "/tmp";
    struct buffer prefix = {0};
    buffer_append(&prefix, directory, strlen(directory));
    buffer_append(&prefix, "/prefilter-", sizeof "/prefilter-");
    int file = temporary_open(TEMPORARY_DATABASE, (const char *)prefix.bytes);
    if (file < 0) die("cannot make a temporary file in %s (TMPDIR): %s", directory, strerror(errno));
    close(file);
    free(prefix.bytes);
    build_table(temporary_files[TEMPORARY_DATABASE], key_path, rows, seed);
    return temporary_files[TEMPORARY_DATABASE];
}

#endif
