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

/* The ways out that need nothing but to know what happened: what to tell, and what to record. */

/* A message that is no question that could be judged: @fault; a cookie alone that is bad or not. */
struct ending ending_of_fault(enum question_fault fault, bool cookie_is_bad);

/*
 * A denial: NXDOMAIN, or NODATA where something of the name exists, since caches take NXDOMAIN as
 * speaking for all that lies below (RFC 8020, 2). Either way with an SOA (RFC 2308, 3); but a
 * stranger is refused.
 */
struct ending ending_of_denial(const struct policy_verdict *verdict);

/* Who asks an existing name, of @verdict, for ANY gets a record that says nothing (RFC 8482, 4.2). */
struct ending ending_of_any(const struct policy_verdict *verdict);

/* `localhost` and below, asked for @type, are this very host, wherever it is asked (RFC 6761, 6.3). */
struct ending ending_of_localhost(uint16_t type);

/* SERVFAIL, with an Extended DNS Error of code @ede that says @sentence; @reason is its word. */
struct ending ending_of_failure(int ede, const char *reason, const char *sentence);

/* The mirror failed with @status. */
struct ending ending_of_mirror(int status);

/* The upstream side failed with @status; -EBUSY: too much is under way. */
struct ending ending_of_upstream(int status);
