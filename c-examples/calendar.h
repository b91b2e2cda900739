/* Seconds since 1970 and what they are called, in UTC. C99 has no function from a date to seconds. */

#ifndef PIPELINE_CALENDAR_H
#define PIPELINE_CALENDAR_H

#include "support.h"

enum { DAY_SECONDS = 86400 };

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct date {
    unsigned year, month, day; /* from 1 */
};

/* Years begin in March here, so that the leap day is the last; 400 of them have 146,097 days, and 1970-01-01 is the
 * 719,468th after 0000-03-01. */
static inline uint64_t day_of_date(struct date date)
{
    uint64_t year = date.year - (date.month <= 2), in_era = year % 400;
    uint64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3U : 9U)) + 2) / 5 + date.day - 1;
    return year / 400 * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + day_of_year - 719468;
}

static inline struct date date_of_day(uint64_t day)
{
    day += 719468;
    uint64_t era = day / 146097, in_era = day % 146097;
    uint64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    uint64_t day_of_year = in_era - (365 * year + year / 4 - year / 100), month = (5 * day_of_year + 2) / 153;
    struct date date = {.day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1),
                        .month = (unsigned)(month < 10 ? month + 3 : month - 9)};
    date.year = (unsigned)(year + 400 * era + (date.month <= 2));
    return date;
}

enum { DATE_TEXT_LEN = 10 };

static inline void date_text(uint64_t day, char text[DATE_TEXT_LEN + 1])
{
    struct date date = date_of_day(day);
    snprintf(text, DATE_TEXT_LEN + 1, "%04u-%02u-%02u", date.year % 10000, date.month % 100, date.day % 100);
}

#endif
