/* SPDX-License-Identifier: MIT */
#include "resolver/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/proof.h"

/* A reply with room for everything, and the addresses at @addresses in it. */
static struct reply *allocate(unsigned n_addresses, const struct address *addresses,
			      size_t links_len)
{
	size_t addresses_len = n_addresses * sizeof(addresses[0]);
	struct reply *reply = malloc(sizeof(*reply) + addresses_len + links_len);

	if (reply == NULL)
		return NULL;
	reply->flags = 0;
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

/* The length of a proof stands in front of it, at an odd address maybe. */
static size_t proof_len(const struct reply *reply)
{
	const uint8_t *at = reply_links(reply) + reply->links_len;

	return reply->flags & REPLY_PROVED ? (size_t)at[0] << 8 | at[1] : 0;
}

struct cursor reply_proof(const struct reply *reply)
{
	const uint8_t *at = reply_links(reply) + reply->links_len;

	if (!(reply->flags & REPLY_PROVED))
		return cursor_over(at, 0);
	return cursor_over(at + 2, proof_len(reply));
}

size_t reply_size(const struct reply *reply)
{
	size_t len = sizeof(*reply) + reply->n_addresses * sizeof(reply->addresses[0]);

	return len + reply->links_len + (reply->flags & REPLY_PROVED ? 2 + proof_len(reply) : 0);
}

struct reply *reply_prove(struct reply *reply, const uint8_t *proof, size_t len)
{
	size_t before = reply_size(reply);

	assert(!(reply->flags & REPLY_PROVED) && len <= LIMIT_PROOF_BYTES);

	struct reply *proved = malloc(before + 2 + len);

	if (proved != NULL)
		memcpy(proved, reply, before);
	free(reply);
	if (proved == NULL)
		return NULL;
	uint8_t *to = (uint8_t *)proved + before;

	to[0] = (uint8_t)(len >> 8);
	to[1] = (uint8_t)len;
	memcpy(to + 2, proof, len);
	proved->flags |= REPLY_PROVED;
	return proved;
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
	copy->flags = reply->flags & (uint8_t)~REPLY_PROVED;
	if (n_addresses != reply->n_addresses)
		copy->flags |= REPLY_EDITED;
	if (!(reply->flags & REPLY_PROVED))
		return copy;
	return reply_prove(copy, reply_proof(reply).at, proof_len(reply));
}

struct reply *reply_join(const struct reply *first, const struct reply *second, uint32_t ttl_s)
{
	size_t links_len = (size_t)first->links_len + second->links_len;
	struct reply *joined = allocate(second->n_addresses, second->addresses, links_len);
	struct proof_draft draft;

	if (joined == NULL)
		return NULL;
	uint8_t *links = (uint8_t *)&joined->addresses[second->n_addresses];

	memcpy(links, reply_links(first), first->links_len);
	memcpy(links + first->links_len, reply_links(second), second->links_len);
	joined->n_links = (uint16_t)(first->n_links + second->n_links);
	joined->rcode = second->rcode; /* RFC 6604, 3 */
	joined->ttl_s = first->ttl_s < ttl_s ? first->ttl_s : ttl_s;
	joined->flags = (first->flags & second->flags & REPLY_AUTHENTIC) |
			(second->flags & (REPLY_EDITED | REPLY_PARTIAL));
	draft.used = 0;
	draft.full = false;
	if ((first->flags | second->flags) & REPLY_PROVED)
		proof_join(&draft, reply_proof(first), reply_proof(second), first->n_links);
	if (draft.used == 0 || draft.full)
		return joined;
	return reply_prove(joined, draft.bytes, draft.used);
}

bool reply_leads_on(const struct reply *reply, const struct name *asked, struct name *ret_name)
{
	struct cursor last = cursor_over(reply_links(reply), reply->links_len);
	struct cursor earlier = last;
	struct name name;

	if (reply->n_links == 0)
		return false;
	for (unsigned i = 0; i < reply->n_links; i++)
		if (name_read(&last, ret_name) < 0)
			return false;
	for (unsigned i = 0; i + 1 < reply->n_links; i++)
		if (name_read(&earlier, &name) < 0 || name_equal(&name, ret_name))
			return false;
	return !name_equal(asked, ret_name);
}
