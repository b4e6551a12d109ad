/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "policy/policy.h"
#include "resolver/answer.h"
#include "resolver/listen.h"
#include "resolver/question.h"
#include "resolver/resolver.h"

/* How a query ends: what goes to the client, and what to the log. */
struct ending {
	struct answer answer;
	const char *verdict;       /* "allow", "deny", "observe" or "error" */
	const char *reason;        /* a word ... */
	const char *sentence;      /* ... and what it means; NULL: no Extended DNS Error is told */
	struct policy_place place; /* the policy line that would have to change, if one would */
	const struct policy_grant *grant;
	const struct origin *origins; /* where each address is; NULL: nobody has looked */
	bool silent;                  /* nothing goes to the client */
};

/*
 * Write the one record of the query that @client, who is @agent (NULL: a stranger, or nobody has
 * looked), asked of @resolver at @began_us, @question, and answer it as @ending says. What cannot be recorded is not answered with anything but SERVFAIL.
 */
void ending_tell(struct resolver *resolver, struct client *client, const struct policy_agent *agent,
		 const struct question *question, uint64_t began_us, const struct ending *ending);
