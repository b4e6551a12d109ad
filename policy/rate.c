/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy/policy.h"

int policy_rate_parse(const char *text, struct policy_rate *ret_rate)
{
	enum { ACTIONS_MAX = 1000000, DIGITS_MAX = 7 };
	size_t digits = strspn(text, "0123456789");
	unsigned long actions = strtoul(text, NULL, 10);
	bool minute = strcmp(text + digits, "/m") == 0;

	if (digits == 0 || digits > DIGITS_MAX || actions == 0 || actions > ACTIONS_MAX ||
	    (!minute && strcmp(text + digits, "/s") != 0))
		return -EINVAL;
	*ret_rate = (struct policy_rate){ (uint32_t)actions, minute ? 60000 : 1000 };
	return 0;
}
