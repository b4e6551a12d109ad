/* SPDX-License-Identifier: MIT */
/*
 * When a grant allows: what ends it, its `expires` and its `hours`, is asked
 * here alone, by who judges and by who keeps leases.
 */
#include "policy/hours.h"

#include <string.h>

static const int64_t minute_s = 60;
static const int64_t day_s = (int64_t)HOURS_DAY_MIN * 60;
static const int64_t week_s = (int64_t)HOURS_WEEK_MIN * 60;

/* The second of the week, from Monday, 00:00 UTC. */
static int64_t second_of_week(int64_t now_s)
{
	/* The first day of 1970 was a Thursday. */
	int64_t second = (now_s % week_s + 3 * day_s) % week_s;

	return second < 0 ? second + week_s : second;
}

/*
 * When the hours of @grant that @now_s lies in end; @now_s if it lies in none. Hours that touch
 * over the week's end go on.
 */
static int64_t hours_end(const struct policy_grant *grant, int64_t now_s)
{
	int64_t second = second_of_week(now_s);
	const struct policy_hours *first = &grant->hours[0];

	for (unsigned i = 0; i < grant->n_hours; i++) {
		int64_t from_s = grant->hours[i].from_min * minute_s;
		int64_t to_s = grant->hours[i].to_min * minute_s;

		if (second < from_s || second >= to_s)
			continue;
		if (to_s == week_s && first->from_min == 0)
			to_s += first->to_min * minute_s;
		return now_s + (to_s - second);
	}
	return now_s;
}

int64_t policy_grant_until(const struct policy_grant *grant, int64_t now_s)
{
	int64_t until_s;

	if (grant->n_hours == 0 || grant->expires_s <= now_s)
		return grant->expires_s;
	until_s = hours_end(grant, now_s);
	return until_s < grant->expires_s ? until_s : grant->expires_s;
}

int64_t policy_grant_opens(const struct policy_grant *grant, int64_t now_s)
{
	int64_t second = second_of_week(now_s);
	int64_t opens_s = INT64_MAX;

	if (policy_grant_until(grant, now_s) > now_s)
		return now_s;
	for (unsigned i = 0; i < grant->n_hours; i++) {
		int64_t from_s = grant->hours[i].from_min * minute_s;
		int64_t wait_s = from_s - second + (from_s < second ? week_s : 0);

		if (now_s + wait_s < opens_s)
			opens_s = now_s + wait_s;
	}
	return opens_s < grant->expires_s ? opens_s : INT64_MAX;
}

/*
 * From text.
 */

static int parse_day(const char *text)
{
	static const char names[] = "MonTueWedThuFriSatSun";

	for (int i = 0; i < 7; i++)
		if (strncmp(text, names + 3 * (ptrdiff_t)i, 3) == 0)
			return i;
	return -1;
}

bool hours_parse_days(const char *text, unsigned *days)
{
	int first = parse_day(text);
	int last = first;

	if (first >= 0 && text[3] == '-') {
		last = parse_day(text + 4);
		text += 4;
	}
	if (first < 0 || last < 0 || text[3] != '\0')
		return false;
	for (int day = first;; day = (day + 1) % 7) {
		*days |= 1u << day;
		if (day == last)
			return true;
	}
}

/* Parse `HH:MM` at @text into @ret_min; give what is behind it, NULL if it is none. */
static const char *parse_time(const char *text, unsigned *ret_min)
{
	static const char digits[] = "0123456789";
	unsigned hour, minute;

	if (strspn(text, digits) != 2 || text[2] != ':' || strspn(text + 3, digits) != 2)
		return NULL;
	hour = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
	minute = (unsigned)(text[3] - '0') * 10 + (unsigned)(text[4] - '0');
	if (minute > 59 || hour > 24 || (hour == 24 && minute > 0))
		return NULL;
	*ret_min = hour * 60 + minute;
	return text + 5;
}

bool hours_parse_times(const char *text, unsigned *ret_from, unsigned *ret_to)
{
	unsigned from, to;
	const char *at = parse_time(text, &from);

	if (at == NULL || *at != '-')
		return false;
	at = parse_time(at + 1, &to);
	if (at == NULL || *at != '\0' || from == HOURS_DAY_MIN || from == to)
		return false;
	*ret_from = from;
	*ret_to = to > from ? to : to + HOURS_DAY_MIN;
	return true;
}

void hours_mark(bool week[HOURS_WEEK_MIN], unsigned days, unsigned from, unsigned to)
{
	for (unsigned day = 0; day < 7; day++)
		for (unsigned i = from; i < to && (days & 1u << day); i++)
			week[(day * HOURS_DAY_MIN + i) % HOURS_WEEK_MIN] = true;
}

/* The next minute from @at on that is @set; the week's end if there is none. */
static unsigned find_minute(const bool *week, unsigned at, bool set)
{
	while (at < HOURS_WEEK_MIN && week[at] != set)
		at++;
	return at;
}

struct policy_hours *hours_collect(struct load *load, const bool week[HOURS_WEEK_MIN],
				   unsigned *ret_n)
{
	struct policy_hours *hours;
	unsigned n = 0, from, to;

	*ret_n = 0;
	for (from = find_minute(week, 0, true); from < HOURS_WEEK_MIN;
	     from = find_minute(week, to, true), n++)
		to = find_minute(week, from, false);
	hours = load_keep(load, n * sizeof(*hours));
	if (hours == NULL || find_minute(week, 0, false) == HOURS_WEEK_MIN)
		return NULL;
	for (from = find_minute(week, 0, true); from < HOURS_WEEK_MIN;
	     from = find_minute(week, to, true)) {
		to = find_minute(week, from, false);
		hours[(*ret_n)++] = (struct policy_hours){ (uint16_t)from, (uint16_t)to };
	}
	return hours;
}
