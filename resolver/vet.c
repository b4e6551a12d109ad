/* SPDX-License-Identifier: MIT */
#include "resolver/vet.h"

#include <errno.h>
#include <string.h>
#include "resolver/wire.h"

/* The TTL of a negative answer whose SOA is missing, and the most for one that has it. */
enum { NEGATIVE_TTL_S = 10, NEGATIVE_TTL_MAX_S = 900 };

struct walk {
	const struct message *message;
	struct name at; /* where the chain has led */
	struct name links[LIMIT_CHAIN];
	unsigned n_links;
	struct address addresses[LIMIT_ANSWER_ADDRESSES];
	unsigned n_addresses;
	uint32_t ttl_s;
};

static const struct message_record *find_record(const struct walk *walk, uint16_t type)
{
	for (unsigned i = 0; i < walk->message->n_records; i++) {
		const struct message_record *record = &walk->message->records[i];

		if (record->type == type && name_equal(&record->owner, &walk->at))
			return record;
	}
	return NULL;
}

static const struct message_record *find_dname(const struct walk *walk)
{
	for (unsigned i = 0; i < walk->message->n_records; i++) {
		const struct message_record *record = &walk->message->records[i];

		if (record->type == WIRE_DNAME && name_is_below(&walk->at, &record->owner))
			return record;
	}
	return NULL;
}

/* The name that @dname makes of where the chain is (RFC 6672, 2.2). */
static int substitute(const struct walk *walk, const struct message_record *dname,
		      struct name *ret_name)
{
	size_t kept = (size_t)walk->at.len - dname->owner.len;

	if (kept + dname->target.len > NAME_WIRE_MAX)
		return -EBADMSG;
	memcpy(ret_name->wire, walk->at.wire, kept);
	memcpy(ret_name->wire + kept, dname->target.wire, dname->target.len);
	ret_name->len = (uint8_t)(kept + dname->target.len);
	ret_name->labels = (uint8_t)(walk->at.labels - dname->owner.labels + dname->target.labels);
	return 0;
}

static void shorten_ttl(struct walk *walk, uint32_t ttl_s)
{
	if (ttl_s < walk->ttl_s)
		walk->ttl_s = ttl_s;
}

/* Go one link on. Gives 1, 0 at the chain's end, or a negative errno. */
static int follow_link(struct walk *walk)
{
	const struct message_record *link = find_record(walk, WIRE_CNAME);
	const struct message_record *dname = link == NULL ? find_dname(walk) : NULL;
	struct name next;

	if (link == NULL && dname == NULL)
		return 0;
	if (walk->n_links == LIMIT_CHAIN)
		return -ELOOP;
	if (link != NULL)
		next = link->target;
	else if (substitute(walk, dname, &next) < 0)
		return -EBADMSG;
	walk->at = walk->links[walk->n_links++] = next;
	shorten_ttl(walk, link != NULL ? link->ttl_s : dname->ttl_s);
	return 1;
}

static bool has_address(const struct walk *walk, const struct address *address)
{
	for (unsigned i = 0; i < walk->n_addresses; i++)
		if (address_equal(&walk->addresses[i], address))
			return true;
	return false;
}

static void take_addresses(struct walk *walk, uint16_t type)
{
	for (unsigned i = 0; i < walk->message->n_records; i++) {
		const struct message_record *record = &walk->message->records[i];

		if (record->type != type || !name_equal(&record->owner, &walk->at) ||
		    walk->n_addresses == LIMIT_ANSWER_ADDRESSES ||
		    has_address(walk, &record->address))
			continue;
		walk->addresses[walk->n_addresses++] = record->address;
		shorten_ttl(walk, record->ttl_s);
	}
}

static uint32_t between(uint32_t value, uint32_t least, uint32_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

int vet_chain(const struct message *message, const struct name *name, uint16_t type,
	      uint32_t ttl_min_s, uint32_t ttl_max_s, struct reply **ret_reply)
{
	struct walk walk = { .message = message, .at = *name, .ttl_s = UINT32_MAX };
	struct reply *reply;
	int r;

	do {
		r = follow_link(&walk);
	} while (r > 0);
	if (r < 0)
		return r;

	/* Whoever says that the name does not exist says nothing of its addresses. */
	if (message->rcode != WIRE_NXDOMAIN)
		take_addresses(&walk, type);
	if (walk.n_addresses == 0) {
		shorten_ttl(&walk, message->has_soa ? message->negative_ttl_s : NEGATIVE_TTL_S);
		shorten_ttl(&walk, NEGATIVE_TTL_MAX_S);
	}
	reply = reply_new((uint8_t)message->rcode, between(walk.ttl_s, ttl_min_s, ttl_max_s),
			  walk.links, walk.n_links, walk.addresses, walk.n_addresses);
	if (reply == NULL)
		return -ENOMEM;
	*ret_reply = reply;
	return 0;
}

static struct policy_verdict judge_links(const struct policy *policy,
					 const struct policy_verdict *verdict,
					 const struct reply *reply)
{
	struct cursor links = cursor_over(reply_links(reply), reply->links_len);
	struct policy_verdict judged = *verdict;
	struct name target;

	while (judged.code == POLICY_ALLOW && name_read(&links, &target) == 0)
		judged = policy_judge_target(policy, &judged, &target);
	return judged;
}

void vet_reply(const struct policy *policy, const struct policy_verdict *verdict,
	       const struct reply *reply, struct vetted *ret_vetted)
{
	struct policy_verdict judged = { .code = POLICY_DENY }, observed = judged;
	struct origin origin = { .asn = 0 };

	ret_vetted->has_origins = policy_has_geo(policy);
	ret_vetted->n_addresses = 0;
	ret_vetted->verdict = judge_links(policy, verdict, reply);
	if (ret_vetted->verdict.code != POLICY_ALLOW)
		return;
	for (unsigned i = 0; i < reply->n_addresses; i++) {
		if (ret_vetted->has_origins)
			origin = policy_origin_find(policy, &reply->addresses[i]);
		judged = policy_judge_origin(policy, &ret_vetted->verdict, &reply->addresses[i],
					     &origin);
		if (judged.code != POLICY_ALLOW)
			continue;
		ret_vetted->addresses[ret_vetted->n_addresses] = reply->addresses[i];
		ret_vetted->origins[ret_vetted->n_addresses] = origin;
		ret_vetted->verdicts[ret_vetted->n_addresses++] = judged;
		if (judged.observed)
			observed = judged;
	}
	if (reply->n_addresses > 0 && ret_vetted->n_addresses == 0)
		ret_vetted->verdict = judged;
	else if (observed.observed) {
		ret_vetted->verdict.observed = true;
		ret_vetted->verdict.reason = observed.reason;
	}
}
