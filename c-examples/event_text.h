/* Events as text: the Common Log Format, and TSV with named columns. */

#ifndef PIPELINE_EVENT_TEXT_H
#define PIPELINE_EVENT_TEXT_H

#include "calendar.h"
#include "events.h"
#include "lines.h"

struct span {
    const char *bytes;
    size_t len;
};

static inline bool span_is(struct span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.bytes, text, span.len) == 0;
}

static inline struct span rest_from(struct span span, const char *at)
{
    return (struct span){at, span.len - (size_t)(at - span.bytes)};
}

/* Takes what is before the first `stop`, and that. False, and nothing taken, where there is none. */
static inline bool take_until(struct span *rest, char stop, struct span *taken)
{
    const char *end = memchr(rest->bytes, stop, rest->len);
    if (end == NULL) return false;
    *taken = (struct span){rest->bytes, (size_t)(end - rest->bytes)};
    *rest = rest_from(*rest, end + 1);
    return true;
}

/* Digits only, at most `max`. */
static inline bool number_of(struct span span, uint64_t max, uint64_t *number)
{
    if (span.len == 0 || span.len > 18) return false;
    *number = 0;
    for (size_t i = 0; i < span.len; i++) {
        if (span.bytes[i] < '0' || span.bytes[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(span.bytes[i] - '0');
    }
    return *number <= max;
}

/* What is wrong with a line. */
enum fault {
    FAULT_NONE, FAULT_TOO_LONG, FAULT_FIELDS, FAULT_TIME, FAULT_REQUEST, FAULT_CAMPAIGN, FAULT_EMPTY, FAULT_FIELD_LEN,
    NUM_FAULTS
};

static inline const char *fault_text(uint64_t fault)
{
    static const char *const texts[NUM_FAULTS] = {
        "nothing", "it is longer than 65,536 bytes", "it has not as many fields as it should", "it has no valid time",
        "it has no request in quotes", "its campaign is not a number below --campaigns",
        "its user, domain or address is empty", "a field is longer than 255 bytes"};
    return fault < NUM_FAULTS ? texts[fault] : "unknown";
}

struct text_event {
    struct span time, user, campaign, domain, address;
    uint64_t seconds, campaign_number;
};

#define MAX_TIME (UINT64_C(253402300800) - 1) /* the end of the year 9999 */

/* 10/Oct/2000:13:55:36 -0700 */
static inline bool clf_time(struct span text, uint64_t *seconds)
{
    static const char form[] = "00/AAA/0000:00:00:00 +0000";
    if (text.len != sizeof form - 1) return false;
    const char *t = text.bytes;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = t[i] >= '0' && t[i] <= '9';
        if (form[i] == '0' ? !is_digit : form[i] == '+' ? t[i] != '+' && t[i] != '-' : form[i] != 'A' && t[i] != form[i])
            return false;
    }
    struct date date = {.day = (unsigned)(10 * (t[0] - '0') + t[1] - '0'),
                        .year = (unsigned)(1000 * (t[7] - '0') + 100 * (t[8] - '0') + 10 * (t[9] - '0') + t[10] - '0')};
    for (unsigned month = 0; month < 12; month++)
        if (memcmp(month_names[month], t + 3, 3) == 0) date.month = month + 1;
    int64_t hour = 10 * (t[12] - '0') + t[13] - '0', minute = 10 * (t[15] - '0') + t[16] - '0';
    int64_t second = 10 * (t[18] - '0') + t[19] - '0';
    int64_t zone = ((10 * (t[22] - '0') + t[23] - '0') * 60 + 10 * (t[24] - '0') + t[25] - '0') * 60;
    bool is_valid = date.month > 0 && date.year >= 1970 && date.day >= 1 && date.day <= 31 && hour < 24 &&
                    minute < 60 && second <= 60;
    if (!is_valid) return false;
    int64_t local = (int64_t)day_of_date(date) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    int64_t utc = t[21] == '-' ? local + zone : local - zone;
    *seconds = (uint64_t)utc;
    return utc >= 0 && *seconds <= MAX_TIME;
}

/* The value of ?campaign= or &campaign= in an address; "0" without. */
static inline struct span campaign_of(struct span target)
{
    static const char name[] = "campaign=";
    size_t name_len = sizeof name - 1;
    for (size_t i = 1; i + name_len <= target.len; i++) {
        if (target.bytes[i - 1] != '?' && target.bytes[i - 1] != '&') continue;
        if (memcmp(target.bytes + i, name, name_len) != 0) continue;
        struct span rest = rest_from(target, target.bytes + i + name_len), value;
        return take_until(&rest, '&', &value) ? value : rest;
    }
    return (struct span){"0", 1};
}

/* The domain of http://DOMAIN:PORT/PATH; "-" of anything else. */
static inline struct span domain_of(struct span target)
{
    const char *colon = memchr(target.bytes, ':', target.len);
    if (colon == NULL || rest_from(target, colon).len < 3 || memcmp(colon, "://", 3) != 0)
        return (struct span){"-", 1};
    struct span domain = rest_from(target, colon + 3);
    domain.len = 0;
    for (const char *end = target.bytes + target.len; domain.bytes + domain.len < end; domain.len++)
        if (memchr("/?#:", domain.bytes[domain.len], 4) != NULL) break;
    return domain;
}

/* A combined log, which has more fields, will do, too. */
static inline enum fault parse_clf(struct span line, struct text_event *event)
{
    struct span ignored, request, target;
    if (!take_until(&line, ' ', &event->address) || !take_until(&line, ' ', &ignored) ||
        !take_until(&line, '[', &event->user))
        return FAULT_FIELDS;
    if (event->user.len == 0 || event->user.bytes[--event->user.len] != ' ') return FAULT_FIELDS;
    if (!take_until(&line, ']', &event->time) || !clf_time(event->time, &event->seconds)) return FAULT_TIME;
    if (!take_until(&line, '"', &ignored) || !take_until(&line, '"', &request)) return FAULT_REQUEST;
    if (!take_until(&request, ' ', &ignored)) return FAULT_REQUEST;
    if (!take_until(&request, ' ', &target)) target = request;
    if (span_is(event->user, "-")) event->user = event->address;
    event->domain = domain_of(target);
    event->campaign = campaign_of(target);
    return FAULT_NONE;
}

enum { NUM_COLUMNS = 5, MAX_TSV_COLUMNS = 1024 };

struct tsv {
    size_t columns[NUM_COLUMNS]; /* of time, user, campaign, domain and address */
    size_t num_columns;
};

static inline enum fault parse_tsv(const struct tsv *tsv, struct span line, struct text_event *event)
{
    struct span *targets[NUM_COLUMNS] = {&event->time, &event->user, &event->campaign, &event->domain,
                                         &event->address};
    size_t n = 0;
    for (bool is_last = false; !is_last; n++) {
        struct span field;
        is_last = !take_until(&line, '\t', &field);
        if (is_last) field = line;
        for (size_t i = 0; i < NUM_COLUMNS; i++)
            if (tsv->columns[i] == n) *targets[i] = field;
    }
    if (n != tsv->num_columns) return FAULT_FIELDS;
    struct span whole, time = event->time;
    if (take_until(&time, '.', &whole)) time = whole;
    return number_of(time, MAX_TIME, &event->seconds) ? FAULT_NONE : FAULT_TIME;
}

static inline enum fault check_text_event(struct text_event *event, uint64_t campaigns)
{
    if (!number_of(event->campaign, campaigns - 1, &event->campaign_number)) return FAULT_CAMPAIGN;
    const struct span spans[] = {event->user, event->domain, event->address};
    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        if (spans[i].len == 0) return FAULT_EMPTY;
        if (spans[i].len > MAX_FIELD) return FAULT_FIELD_LEN;
    }
    return FAULT_NONE;
}

/* Finds the columns that are asked for in the line of names. */

static inline size_t tsv_find(struct span header, struct span name)
{
    struct span rest = header, field;
    for (size_t column = 0;; column++) {
        bool is_last = !take_until(&rest, '\t', &field);
        if (is_last) field = rest;
        if (field.len == name.len && memcmp(field.bytes, name.bytes, name.len) == 0) return column;
        if (is_last) break;
    }
    struct buffer names = {0};
    for (size_t i = 0; i < header.len; i++)
        buffer_append(&names, header.bytes[i] == '\t' ? ", " : header.bytes + i, header.bytes[i] == '\t' ? 2 : 1);
    buffer_append(&names, "", 1);
    die("line 1: there is no column \"%.*s\", only: %s (--columns says which to take)", (int)name.len, name.bytes,
        (const char *)names.bytes);
}

static inline struct tsv tsv_open(struct lines *lines, const char *columns)
{
    static const volatile sig_atomic_t is_ended = 0;
    struct line line;
    struct tsv tsv = {.num_columns = 1};
    if (columns == NULL) columns = "time,user,campaign,domain,address";
    if (!lines_next(lines, &line, &is_ended)) die("line 1: there is no header: the input is empty");
    if (line.is_too_long) die("line 1: %s", fault_text(FAULT_TOO_LONG));
    struct span header = {line.bytes, line.len}, rest = {columns, strlen(columns)}, name;
    for (size_t i = 0; i < header.len; i++) tsv.num_columns += header.bytes[i] == '\t';
    for (size_t i = 0; i < NUM_COLUMNS; i++) {
        bool is_last = !take_until(&rest, ',', &name);
        if (is_last) name = rest;
        if (is_last != (i == NUM_COLUMNS - 1)) usage_error("--columns wants five names, not \"%s\"", columns);
        tsv.columns[i] = tsv_find(header, name);
    }
    return tsv;
}

/* Writing. */

static inline void print_tsv_event(const struct generated *event)
{
    char domain[32];
    generated_domain(event->domain, domain);
    printf("%" PRIu64 "\t%.*s\t%" PRIu32 "\t%s\t%.*s\n", event->time, event->user_len, event->user, event->campaign,
           domain, event->address_len, event->address);
}

static inline void print_clf_event(const struct generated *event)
{
    char domain[32];
    generated_domain(event->domain, domain);
    struct date date = date_of_day(event->time / DAY_SECONDS);
    unsigned second = (unsigned)(event->time % DAY_SECONDS);
    printf("%.*s - %.*s [%02u/%s/%04u:%02u:%02u:%02u +0000] \"GET http://%s/?campaign=%" PRIu32
           " HTTP/1.1\" 200 43\n",
           event->address_len, event->address, event->user_len, event->user, date.day, month_names[date.month - 1],
           date.year, second / 3600, second / 60 % 60, second % 60, domain, event->campaign);
}

static inline void print_events(const struct pipeline_options *o)
{
    struct position position = {.random = o->seed};
    struct generator generator = generator_new(o, &position);
    bool is_clf = strcmp(o->generate_only, "clf") == 0;
    struct generated event;
    if (!is_clf) puts("time\tuser\tcampaign\tdomain\taddress");
    while (!ferror(stdout) && generate(&generator, &event)) (is_clf ? print_clf_event : print_tsv_event)(&event);
}

#endif
