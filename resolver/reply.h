/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"
#include "base/cursor.h"
#include "base/limits.h"
#include "base/name.h"

/*
 * What a reply is an answer to: a type, and in which form it was asked for (RFC 4035, 3.2). The
 * form is as much a part of it as the type: who did not ask with DO never gets what was fetched
 * with it, and the other way round.
 */
enum {
	ASK_TYPE = 0xffff,
	ASK_DO = 0x10000, /* with signatures */
	ASK_CD = 0x20000, /* and unchecked */
};

enum {
	REPLY_AUTHENTIC = 1, /* its upstream validated it, and is trusted to say so */
	REPLY_EDITED = 2,    /* it was not answered with these addresses: nothing proves them */
	REPLY_PROVED = 4,    /* its proof lies behind the links */
	REPLY_PARTIAL = 8,   /* nothing is said of the last link's target: it can be asked for */
};

/*
 * What is known of one question: the CNAME links from the name that was asked
 * to the last one, in order, and the addresses of that last name. One block of
 * memory, never changed once it is made.
 *
 * Behind the addresses lie the targets of the links, n_links names in wire
 * form, one behind the other. Behind these lies its proof, if it has one.
 */
struct reply {
	uint32_t ttl_s; /* the smallest of all its records, or of the negative answer */
	uint16_t n_links, n_addresses;
	uint16_t links_len; /* bytes of all the links' targets */
	/* NOERROR or NXDOMAIN: that of the last name (RFC 6604, 3); SERVFAIL: nobody could say. */
	uint8_t rcode;
	uint8_t flags; /* of enum REPLY_... */
	struct address addresses[];
};

/* The first link's target in @reply; the others follow. */
static inline const uint8_t *reply_links(const struct reply *reply)
{
	return (const uint8_t *)&reply->addresses[reply->n_addresses];
}

/* The proof of @reply, as proof_next() reads it; empty if it has none. */
struct cursor reply_proof(const struct reply *reply);

/* How many bytes @reply takes. */
size_t reply_size(const struct reply *reply);

/*
 * Make a reply of @rcode with a TTL of @ttl_s, of @n_links links (their targets in @links) and
 * @n_addresses addresses at @addresses.
 *
 * Gives  memory for the caller to free(); NULL if there is none.
 */
struct reply *reply_new(uint8_t rcode, uint32_t ttl_s, const struct name *links, unsigned n_links,
			const struct address *addresses, unsigned n_addresses);

/*
 * Give @reply, or a copy in its place, the @len bytes of proof at @proof. Gives memory as
 * reply_new(); without any, @reply is freed.
 */
struct reply *reply_prove(struct reply *reply, const uint8_t *proof, size_t len);

/*
 * A copy of @reply with a TTL of @ttl_s and with the @n_addresses addresses at @addresses in place
 * of its own; if they are fewer, it is REPLY_EDITED. Gives memory as reply_new().
 */
struct reply *reply_with(const struct reply *reply, const struct address *addresses,
			 unsigned n_addresses, uint32_t ttl_s);

/*
 * What @first and @second say together, with a TTL of @ttl_s at most, where @first is
 * REPLY_PARTIAL and @second tells of its last link's target. Gives memory as reply_new().
 */
struct reply *reply_join(const struct reply *first, const struct reply *second, uint32_t ttl_s);

/*
 * Take the target of the last link of @reply, which answers for @asked, into @ret_name. False if
 * it has no link, or if that leads back to @asked or to where an earlier one has led.
 */
bool reply_leads_on(const struct reply *reply, const struct name *asked, struct name *ret_name);
