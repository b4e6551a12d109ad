/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include "policy/load.h"

/* Hours: what of a week, in minutes from Monday, 00:00 UTC. A week is made minute by minute. */

enum { HOURS_DAY_MIN = 24 * 60, HOURS_WEEK_MIN = 7 * HOURS_DAY_MIN };

/* Parse @text as `DAY` or `DAY-DAY`, and add a bit for each to @days, Monday the lowest. */
bool hours_parse_days(const char *text, unsigned *days);

/*
 * Parse @text as `HH:MM-HH:MM` into minutes of a day. An end that is not behind its start is on the
 * next day; 24:00 is an end alone. False if it is none.
 */
bool hours_parse_times(const char *text, unsigned *ret_from, unsigned *ret_to);

/* Set the minutes from @from up to @to of each of the @days in @week, which goes round. */
void hours_mark(bool week[HOURS_WEEK_MIN], unsigned days, unsigned from, unsigned to);

/*
 * Gather the minutes that are set in @week into @ret_n hours, which @load keeps. None are all of
 * them: a grant without hours.
 */
struct policy_hours *hours_collect(struct load *load, const bool week[HOURS_WEEK_MIN],
				   unsigned *ret_n);
