/* SPDX-License-Identifier: MIT */
#include "resolver/reply.h"

#include <stdlib.h>
#include <string.h>

/* A reply with room for everything, and the addresses at @addresses in it. */
static struct reply *allocate(unsigned n_addresses, const struct address *addresses,
			      size_t links_len)
{
	size_t addresses_len = n_addresses * sizeof(addresses[0]);
	struct reply *reply = malloc(sizeof(*reply) + addresses_len + links_len);

	if (reply == NULL)
		return NULL;
	reply->n_addresses = (uint16_t)n_addresses;
	reply->links_len = (uint16_t)links_len;
	if (n_addresses > 0)
		memcpy(reply->addresses, addresses, addresses_len);
	return reply;
}

struct reply *reply_new(uint8_t rcode, uint32_t ttl_s, const struct name *links, unsigned n_links,
			const struct address *addresses, unsigned n_addresses)
{
	size_t links_len = 0;

	for (unsigned i = 0; i < n_links; i++)
		links_len += links[i].len;

	struct reply *reply = allocate(n_addresses, addresses, links_len);

	if (reply == NULL)
		return NULL;
	reply->ttl_s = ttl_s;
	reply->rcode = rcode;
	reply->n_links = (uint16_t)n_links;

	uint8_t *to = (uint8_t *)&reply->addresses[n_addresses];

	for (unsigned i = 0; i < n_links; i++) {
		memcpy(to, links[i].wire, links[i].len);
		to += links[i].len;
	}
	return reply;
}

struct reply *reply_with(const struct reply *reply, const struct address *addresses,
			 unsigned n_addresses, uint32_t ttl_s)
{
	struct reply *copy = allocate(n_addresses, addresses, reply->links_len);

	if (copy == NULL)
		return NULL;
	copy->ttl_s = ttl_s;
	copy->rcode = reply->rcode;
	copy->n_links = reply->n_links;
	memcpy(&copy->addresses[n_addresses], reply_links(reply), reply->links_len);
	return copy;
}
