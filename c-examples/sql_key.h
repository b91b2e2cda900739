/* SQL keys as keys of a filter: what SQL calls equal must be equal bytes, or rows are lost.
 *
 * A value becomes a type byte and canonical bytes, all numbers little-endian:
 *
 *     'i'  8 bytes  an integer, or a real that equals a 64-bit integer (42.0 = 42, -0.0 = 0)
 *     'r'  8 bytes  any other real, as IEEE 754 (NaN does not exist in SQLite: it is stored as NULL)
 *     't'  n bytes  text in UTF-8, NUL bytes and all; text is never equal to a number or a blob
 *     'b'  n bytes  a blob
 *
 * SQLite compares integers with reals exactly, so nothing is rounded: 9007199254740993 is not 9007199254740992.0.
 *
 * Before that comes the affinity of the column, which `column = ?` gives to the value that is looked up: '42' is 42
 * where the column is INTEGER or REAL, and 42 is '42' where it is TEXT. SQLite itself does both conversions here.
 *
 * NULL is equal to nothing, not even to NULL, so it has no key. Collations other than BINARY call different bytes
 * equal, in ways that only they know: such columns are refused. So are databases in UTF-16, where text that is not
 * well-formed changes when it is bound. */

#ifndef PREFILTER_SQL_KEY_H
#define PREFILTER_SQL_KEY_H

#include <sqlite3.h>

#include "support.h"

struct sql_value {
    int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT or SQLITE_BLOB */
    union {
        sqlite3_int64 integer;
        double real;
        const void *bytes; /* never NULL */
    };
    size_t len;
};

/* Every function here ends the program when SQLite fails; a server would pass the error on. */
static inline void check_sql(sqlite3 *db, int status, const char *what)
{
    if (status != SQLITE_OK && status != SQLITE_ROW && status != SQLITE_DONE)
        die("%s: %s", what, db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(status));
}

/* Opens a file by its plain name: "./" keeps SQLite from reading more into ":memory:" or "file:". */
static inline sqlite3 *open_sqlite(const char *path, int flags)
{
    char *plain_path = sqlite3_mprintf("%s%s", path[0] == '/' ? "" : "./", path);
    if (plain_path == NULL) die("out of memory");
    sqlite3 *db;
    if (sqlite3_open_v2(plain_path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        die("cannot open %s: %s", path, sqlite3_errmsg(db));
    sqlite3_free(plain_path);
    return db;
}

/* Takes text from sqlite3_mprintf, whose %w quotes names, and frees it. */
static inline sqlite3_stmt *prepare_and_free(sqlite3 *db, char *sql)
{
    if (sql == NULL) die("out of memory");
    sqlite3_stmt *statement = NULL;
    check_sql(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL), "SQLite");
    sqlite3_free(sql);
    return statement;
}

static inline void run_sql(sqlite3 *db, const char *sql)
{
    check_sql(db, sqlite3_exec(db, sql, NULL, NULL, NULL), "SQLite");
}

/* The bytes belong to the statement, until its next step. */
static inline struct sql_value value_of_column(sqlite3_stmt *statement, int column)
{
    struct sql_value value = {.type = sqlite3_column_type(statement, column)};
    if (value.type == SQLITE_INTEGER) {
        value.integer = sqlite3_column_int64(statement, column);
    } else if (value.type == SQLITE_FLOAT) {
        value.real = sqlite3_column_double(statement, column);
    } else {
        value.bytes = value.type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, column)
                                                : sqlite3_column_blob(statement, column);
        value.len = (size_t)sqlite3_column_bytes(statement, column);
        if (value.bytes == NULL && value.len > 0) die("out of memory");
        if (value.bytes == NULL) value.bytes = "";
    }
    return value;
}

/* The bytes are not copied: they must last until something else is bound. */
static inline void bind_value(sqlite3_stmt *statement, int i, const struct sql_value *value)
{
    int status;
    if (value->type == SQLITE_INTEGER) {
        status = sqlite3_bind_int64(statement, i, value->integer);
    } else if (value->type == SQLITE_FLOAT) {
        status = sqlite3_bind_double(statement, i, value->real);
    } else if (value->type == SQLITE_TEXT) {
        status = sqlite3_bind_text64(statement, i, value->bytes, value->len, SQLITE_STATIC, SQLITE_UTF8);
    } else {
        status = sqlite3_bind_blob64(statement, i, value->bytes, value->len, SQLITE_STATIC);
    }
    check_sql(sqlite3_db_handle(statement), status, "cannot bind a key");
}

/* The column that the keys are from. */

/* As far as comparisons tell them apart: INTEGER and REAL compare as NUMERIC does. */
enum affinity { AFFINITY_NONE, AFFINITY_TEXT, AFFINITY_NUMERIC };

struct key_column {
    const char *table, *name;
    enum affinity affinity;
};

/* SELECT of what is in `what`, for a row whose key is the parameter. Names are quoted, and the column is
 * qualified: SQLite takes a lone "name" that it does not know for a string. */
static inline char *lookup_sql(const struct key_column *column, const char *what)
{
    return sqlite3_mprintf("%sSELECT key_table.* FROM main.\"%w\" AS key_table WHERE key_table.\"%w\" = ?1", what,
                           column->table, column->name);
}

static inline char *distinct_keys_sql(const struct key_column *column, const char *what)
{
    return sqlite3_mprintf("SELECT %s FROM (SELECT DISTINCT key_table.\"%w\" AS key FROM main.\"%w\" AS key_table "
                           "WHERE key_table.\"%w\" IS NOT NULL)",
                           what, column->name, column->table, column->name);
}

static inline uint64_t count_sql(sqlite3 *db, char *sql)
{
    sqlite3_stmt *statement = prepare_and_free(db, sql);
    check_sql(db, sqlite3_step(statement), "SQLite");
    uint64_t count = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

static inline void refuse_utf16(sqlite3 *db)
{
    sqlite3_stmt *statement = prepare_and_free(db, sqlite3_mprintf("PRAGMA main.encoding"));
    check_sql(db, sqlite3_step(statement), "SQLite");
    const char *encoding = (const char *)sqlite3_column_text(statement, 0);
    if (encoding == NULL || strcmp(encoding, "UTF-8") != 0)
        die("the database is in %s: only UTF-8 has a canonical form here", encoding != NULL ? encoding : "?");
    sqlite3_finalize(statement);
}

/* The columns of views and virtual tables compare as their makers like. */
static inline void refuse_all_but_tables(sqlite3 *db, const char *table)
{
    sqlite3_stmt *statement = prepare_and_free(
        db, sqlite3_mprintf("SELECT type = 'table' AND rootpage > 0 FROM main.sqlite_master "
                            "WHERE type IN ('table', 'view') AND name = %Q COLLATE NOCASE",
                            table));
    int status = sqlite3_step(statement);
    check_sql(db, status, "SQLite");
    if (status == SQLITE_DONE) die("there is no table \"%s\"", table);
    if (!sqlite3_column_int(statement, 0)) die("\"%s\" is a view or a virtual table, not a table", table);
    sqlite3_finalize(statement);
}

/* `column = ?` compares with the collation of the column whichever index it uses, so that this is the one to look
 * at; an index with another collation does not serve such look-ups. */
static inline void refuse_collations(sqlite3 *db, const struct key_column *column)
{
    const char *type, *collation;
    int not_null, primary_key, autoincrement;
    if (sqlite3_table_column_metadata(db, "main", column->table, column->name, &type, &collation, &not_null,
                                      &primary_key, &autoincrement) != SQLITE_OK)
        die("the table \"%s\" has no column \"%s\"", column->table, column->name);
    if (sqlite3_stricmp(collation, "BINARY") != 0)
        die("the column \"%s\" has the collation %s, under which different bytes can be equal: a filter over bytes "
            "would lose rows",
            column->name, collation);
}

static inline void refuse_full_scans(sqlite3 *db, const struct key_column *column)
{
    sqlite3_stmt *statement = prepare_and_free(db, lookup_sql(column, "EXPLAIN QUERY PLAN "));
    check_sql(db, sqlite3_step(statement), "SQLite");
    const char *plan = (const char *)sqlite3_column_text(statement, 3);
    bool is_scan = plan != NULL && strncmp(plan, "SCAN", 4) == 0;
    sqlite3_finalize(statement);
    if (!is_scan) return;
    char *index = sqlite3_mprintf("CREATE INDEX \"%w_%w\" ON \"%w\" (\"%w\")", column->table, column->name,
                                  column->table, column->name);
    die("no index on \"%s\": each look-up would scan the whole table (%s)", column->name, index);
}

/* SQLite's own word: the columns of CREATE TABLE AS are declared by the affinities of its SELECT (TEXT, NUM, INT,
 * REAL or nothing). That knows of STRICT tables and of rowid, which the declared type alone does not. */
static inline enum affinity affinity_of(sqlite3 *db, const struct key_column *column)
{
    sqlite3_stmt *statement = prepare_and_free(
        db, sqlite3_mprintf("CREATE TEMP TABLE prefilter_affinity AS SELECT key_table.\"%w\" AS key "
                            "FROM main.\"%w\" AS key_table LIMIT 0",
                            column->name, column->table));
    check_sql(db, sqlite3_step(statement), "SQLite");
    sqlite3_finalize(statement);
    const char *type = NULL;
    check_sql(db,
              sqlite3_table_column_metadata(db, "temp", "prefilter_affinity", "key", &type, NULL, NULL, NULL, NULL),
              "SQLite");
    enum affinity affinity = AFFINITY_NUMERIC;
    if (type == NULL || type[0] == 0) affinity = AFFINITY_NONE;
    if (type != NULL && strcmp(type, "TEXT") == 0) affinity = AFFINITY_TEXT;
    run_sql(db, "DROP TABLE temp.prefilter_affinity");
    return affinity;
}

/* Looks the column up, and ends the program if no filter can stand in front of it. */
static inline struct key_column inspect_column(sqlite3 *db, const char *table, const char *name)
{
    struct key_column column = {.table = table, .name = name};
    refuse_utf16(db);
    refuse_all_but_tables(db, table);
    refuse_collations(db, &column);
    refuse_full_scans(db, &column);
    column.affinity = affinity_of(db, &column);
    return column;
}

/* Making keys. */

struct key_maker {
    enum affinity affinity;
    sqlite3 *db; /* empty, in memory: for its conversions */
    sqlite3_stmt *convert;
    struct buffer key;
};

/* SQL: numeric(X) is X with numeric affinity: a number if it is text that looks like one, otherwise X itself.
 * (CAST would make 0 of other text.) */
static inline void numeric(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_value_numeric_type(values[0]);
    sqlite3_result_value(context, values[0]);
}

static inline struct key_maker key_maker_new(enum affinity affinity)
{
    struct key_maker maker = {.affinity = affinity};
    check_sql(NULL, sqlite3_open(":memory:", &maker.db), "SQLite");
    check_sql(maker.db,
              sqlite3_create_function_v2(maker.db, "numeric", 1, SQLITE_UTF8, NULL, numeric, NULL, NULL, NULL),
              "SQLite");
    const char *sql = affinity == AFFINITY_TEXT ? "SELECT CAST(?1 AS TEXT)" : "SELECT numeric(?1)";
    maker.convert = prepare_and_free(maker.db, sqlite3_mprintf("%s", sql));
    return maker;
}

static inline void key_maker_free(struct key_maker *maker)
{
    sqlite3_finalize(maker->convert);
    sqlite3_close(maker->db);
    free(maker->key.bytes);
}

static inline bool needs_conversion(enum affinity affinity, int type)
{
    switch (affinity) {
    case AFFINITY_NONE: return false;
    case AFFINITY_TEXT: return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    default: return type == SQLITE_TEXT;
    }
}

static inline void put_key(struct buffer *key, char type, const void *bytes, size_t len)
{
    key->len = 0;
    buffer_append(key, &type, 1);
    buffer_append(key, bytes, len);
}

static inline void put_number(struct buffer *key, char type, uint64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    put_key(key, type, bytes, sizeof bytes);
}

static inline void put_real(struct buffer *key, double real)
{
    const double two_to_63 = 9223372036854775808.0;
    if (real >= -two_to_63 && real < two_to_63 && (double)(sqlite3_int64)real == real) {
        put_number(key, 'i', (uint64_t)(sqlite3_int64)real);
    } else {
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        put_number(key, 'r', bits);
    }
}

/* The canonical key of a value that is stored in the column or looked up there; valid until the next call. */
static inline const struct buffer *make_key(struct key_maker *maker, const struct sql_value *value)
{
    struct sql_value converted = *value;
    bool is_converted = needs_conversion(maker->affinity, value->type);
    if (is_converted) {
        bind_value(maker->convert, 1, value);
        check_sql(maker->db, sqlite3_step(maker->convert), "cannot convert a key");
        converted = value_of_column(maker->convert, 0);
    }
    switch (converted.type) {
    case SQLITE_INTEGER: put_number(&maker->key, 'i', (uint64_t)converted.integer); break;
    case SQLITE_FLOAT: put_real(&maker->key, converted.real); break;
    case SQLITE_TEXT: put_key(&maker->key, 't', converted.bytes, converted.len); break;
    default: put_key(&maker->key, 'b', converted.bytes, converted.len); break;
    }
    if (is_converted) sqlite3_reset(maker->convert);
    return &maker->key;
}

/* The seed of the filters names this form of keys and the affinity, so that an image over keys of another form is
 * recognised for what it is. */
static inline uint64_t key_seed(enum affinity affinity)
{
    return UINT64_C(0x53514b6579203100) + (uint64_t)affinity; /* "SQKey 1" */
}

#endif
