/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "base/address.h"
#include "base/limits.h"
#include "base/name.h"

/*
 * What is known of one question: the CNAME links from the name that was asked
 * to the last one, in order, and the addresses of that last name. One block of
 * memory, never changed once it is made.
 *
 * Behind the addresses lie the targets of the links, n_links names in wire
 * form, one behind the other.
 */
struct reply {
	uint32_t ttl_s; /* the smallest of all its records, or of the negative answer */
	uint16_t n_links, n_addresses;
	uint16_t links_len; /* bytes of all the links' targets */
	/* NOERROR or NXDOMAIN: that of the last name (RFC 6604, 3); SERVFAIL: nobody could say. */
	uint8_t rcode;
	struct address addresses[];
};

/* How many bytes @reply takes. */
static inline size_t reply_size(const struct reply *reply)
{
	return sizeof(*reply) + reply->n_addresses * sizeof(reply->addresses[0]) + reply->links_len;
}

/* The first link's target in @reply; the others follow. */
static inline const uint8_t *reply_links(const struct reply *reply)
{
	return (const uint8_t *)&reply->addresses[reply->n_addresses];
}

/*
 * Make a reply of @rcode with a TTL of @ttl_s, of @n_links links (their targets in @links) and
 * @n_addresses addresses at @addresses.
 *
 * Gives  memory for the caller to free(); NULL if there is none.
 */
struct reply *reply_new(uint8_t rcode, uint32_t ttl_s, const struct name *links, unsigned n_links,
			const struct address *addresses, unsigned n_addresses);

/*
 * A copy of @reply with a TTL of @ttl_s and with the @n_addresses addresses at @addresses in place
 * of its own. Gives memory as reply_new().
 */
struct reply *reply_with(const struct reply *reply, const struct address *addresses,
			 unsigned n_addresses, uint32_t ttl_s);
