/* SPDX-License-Identifier: MIT */
#include "resolver/vet.h"

#include <errno.h>
#include <string.h>
#include "resolver/proof.h"
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
	uint32_t signed_ttl_s; /* the smallest that was signed: no answer may say more */
	bool cut;              /* there were more addresses */
	bool partial;          /* it ends nowhere */
	struct proof_draft *draft;
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

/*
 * The nearest DNAME above where the chain is. What it stands for is made here: a CNAME besides it
 * can only say the same, as there is nothing below a DNAME (RFC 6672, 2.4).
 */
static const struct message_record *find_dname(const struct walk *walk)
{
	const struct message_record *found = NULL;

	for (unsigned i = 0; i < walk->message->n_records; i++) {
		const struct message_record *record = &walk->message->records[i];

		if (record->type == WIRE_DNAME && name_is_below(&walk->at, &record->owner) &&
		    (found == NULL || record->owner.labels > found->owner.labels))
			found = record;
	}
	return found;
}

/*
 * What proves the chain (RFC 4035, 3.1).
 */

static void add_proof(struct walk *walk, unsigned place, const struct message_proof *proof,
		      bool with_owner)
{
	proof_add(walk->draft, &(struct proof_record){
				       .place = (uint8_t)place,
				       .type = proof->type,
				       .owner = proof->owner.wire,
				       .owner_len = with_owner ? proof->owner.len : 0,
				       .data = proof->data,
				       .data_len = proof->data_len,
			       });
	if (proof->type == WIRE_RRSIG && proof->original_ttl_s < walk->signed_ttl_s)
		walk->signed_ttl_s = proof->original_ttl_s;
}

/* Add the signatures of @type at @owner of the answer section. */
static void add_signatures(struct walk *walk, unsigned place, const struct name *owner,
			   uint16_t type)
{
	for (unsigned i = 0; i < walk->message->n_proofs; i++) {
		const struct message_proof *proof = &walk->message->proofs[i];

		if (!proof->authority && proof->covered == type && name_equal(&proof->owner, owner))
			add_proof(walk, place, proof, type == WIRE_DNAME);
	}
}

static void add_dname(struct walk *walk, const struct message_record *dname)
{
	unsigned place = proof_before(walk->n_links);

	if (walk->message->n_proofs == 0)
		return;
	proof_add(walk->draft, &(struct proof_record){
				       .place = (uint8_t)place,
				       .type = WIRE_DNAME,
				       .owner = dname->owner.wire,
				       .owner_len = dname->owner.len,
				       .data = dname->target.wire,
				       .data_len = dname->target.len,
			       });
	add_signatures(walk, place, &dname->owner, WIRE_DNAME);
}

static bool is_at_or_below(const struct name *name, const struct name *zone)
{
	return name_equal(name, zone) || name_is_below(name, zone);
}

/* Whether @signature is one of a zone that the chain came through, of a name in it. */
static bool is_on_the_way(const struct walk *walk, const struct name *asked,
			  const struct message_proof *signature)
{
	const struct name *zone = &signature->signer;

	if (!is_at_or_below(&signature->owner, zone))
		return false;
	for (unsigned i = 0; i < walk->n_links; i++)
		if (is_at_or_below(&walk->links[i], zone))
			return true;
	return is_at_or_below(asked, zone);
}

/* Whether a signature of the authority section covers @proof, which may be one itself. */
static bool is_signed(const struct walk *walk, const struct name *asked,
		      const struct message_proof *proof)
{
	uint16_t type = proof->type == WIRE_RRSIG ? proof->covered : proof->type;

	if (type != WIRE_SOA && type != WIRE_NSEC && type != WIRE_NSEC3)
		return false;
	for (unsigned i = 0; i < walk->message->n_proofs; i++) {
		const struct message_proof *other = &walk->message->proofs[i];

		if (other->authority && other->type == WIRE_RRSIG && other->covered == type &&
		    name_equal(&other->owner, &proof->owner) && is_on_the_way(walk, asked, other))
			return true;
	}
	return false;
}

static void add_denials(struct walk *walk, const struct name *asked)
{
	for (unsigned i = 0; i < walk->message->n_proofs; i++) {
		const struct message_proof *proof = &walk->message->proofs[i];

		if (proof->authority && is_signed(walk, asked, proof))
			add_proof(walk, PROOF_AUTHORITY, proof, true);
	}
}

/* The name that @dname makes of where the chain is (RFC 6672, 2.2). */
static int substitute(const struct walk *walk, const struct message_record *dname,
		      struct name *ret_name)
{
	size_t kept = (size_t)walk->at.len - dname->owner.len;

	if (kept + dname->target.len > NAME_WIRE_MAX)
		return -ENAMETOOLONG;
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
	const struct message_record *dname = find_dname(walk);
	const struct message_record *link = dname == NULL ? find_record(walk, WIRE_CNAME) : NULL;
	struct name next;

	if (link == NULL && dname == NULL)
		return 0;
	if (walk->n_links == LIMIT_CHAIN)
		return -ELOOP;
	shorten_ttl(walk, link != NULL ? link->ttl_s : dname->ttl_s);
	if (link != NULL) {
		add_signatures(walk, proof_behind(walk->n_links), &walk->at, WIRE_CNAME);
		next = link->target;
	} else {
		add_dname(walk, dname);
		if (substitute(walk, dname, &next) < 0)
			return -ENAMETOOLONG;
	}
	walk->at = walk->links[walk->n_links++] = next;
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
		    has_address(walk, &record->address))
			continue;
		if (walk->n_addresses == LIMIT_ANSWER_ADDRESSES) {
			walk->cut = true;
			continue;
		}
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

/* Give @reply, made of @walk, what there is to prove it, and what its sender says of it. */
static struct reply *prove(const struct walk *walk, struct reply *reply)
{
	if (walk->cut)
		return reply;
	if (walk->message->authentic)
		reply->flags |= REPLY_AUTHENTIC;
	if (walk->draft->full || walk->draft->used == 0)
		return reply;
	if (reply->ttl_s > walk->signed_ttl_s)
		reply->ttl_s = walk->signed_ttl_s; /* RFC 4035, 5.3.3 */
	return reply_prove(reply, walk->draft->bytes, walk->draft->used);
}

/* What the chain ends with. @rcode is that of its last name (RFC 6604, 3). */
static void end_chain(struct walk *walk, const struct name *asked, uint16_t type, uint16_t rcode)
{
	const struct message *message = walk->message;

	/* Whoever says that the name does not exist says nothing of its addresses. */
	if (rcode == WIRE_NOERROR)
		take_addresses(walk, type);
	/* A denial would have an SOA (RFC 2308, 2.2). */
	walk->partial = rcode == WIRE_NOERROR && walk->n_links > 0 && walk->n_addresses == 0 &&
			!message->has_soa;
	if (walk->n_addresses == 0 && !walk->partial) {
		shorten_ttl(walk, message->has_soa ? message->negative_ttl_s : NEGATIVE_TTL_S);
		shorten_ttl(walk, NEGATIVE_TTL_MAX_S);
	}
	if (walk->n_addresses > 0)
		add_signatures(walk, proof_behind(walk->n_links), &walk->at, type);
	add_denials(walk, asked);
}

int vet_chain(const struct message *message, const struct name *name, uint16_t type,
	      uint32_t ttl_min_s, uint32_t ttl_max_s, struct reply **ret_reply)
{
	struct proof_draft draft;
	struct walk walk = {
		.message = message,
		.at = *name,
		.ttl_s = UINT32_MAX,
		.signed_ttl_s = UINT32_MAX,
		.draft = &draft,
	};
	uint16_t rcode = message->rcode;
	struct reply *reply;
	int r;

	draft.used = 0;
	draft.full = false;
	do {
		r = follow_link(&walk);
	} while (r > 0);
	if (r == -ENAMETOOLONG)
		rcode = WIRE_YXDOMAIN; /* RFC 6672, 2.2 */
	else if (r < 0)
		return r;
	end_chain(&walk, name, type, rcode);
	reply = reply_new((uint8_t)rcode, between(walk.ttl_s, ttl_min_s, ttl_max_s), walk.links,
			  walk.n_links, walk.addresses, walk.n_addresses);
	if (reply != NULL && walk.partial)
		reply->flags |= REPLY_PARTIAL;
	if (reply != NULL)
		reply = prove(&walk, reply);
	if (reply == NULL)
		return -ENOMEM;
	*ret_reply = reply;
	return 0;
}

struct policy_verdict vet_links(const struct policy *policy, const struct policy_verdict *verdict,
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
	ret_vetted->verdict = *verdict;
	if (reply->n_links > 0)
		ret_vetted->verdict = vet_links(policy, verdict, reply);
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
