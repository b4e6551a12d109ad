/* SPDX-License-Identifier: MIT */
/*
 * An upstream's message and what becomes of it under a policy: whatever it
 * says, the answer can be read, has only addresses that the policy permits,
 * and records that lie on the way from the question.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/answer.h"
#include "resolver/message.h"
#include "resolver/vet.h"
#include "resolver/wire.h"
#include <ldns/ldns.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW_S = 1700000000 };

static const char text[] = "[policy]\nowner = t\n"
			   "[allow all]\nowner = t\nreason = t\nwide = yes\nhost = *\n";

static struct policy *the_policy(void)
{
	static struct policy *policy;
	struct policy_faults faults = { .n = 0 };
	struct err err;

	if (policy == NULL &&
	    policy_load_text("fuzz", text, sizeof(text) - 1, NOW_S, &policy, &faults, &err) < 0)
		abort();
	policy_faults_done(&faults);
	return policy;
}

/* Where an answer has led: to @at, by way of @before. */
struct way {
	const ldns_rdf *at, *before;
};

/* Each owner is the question's name, or where the records before it led. */
static void check_owner(struct way *way, const ldns_rr *rr)
{
	const ldns_rdf *owner = ldns_rr_owner(rr);
	bool here = ldns_dname_compare(owner, way->at) == 0;
	bool above = ldns_dname_is_subdomain(way->at, owner);

	switch ((unsigned)ldns_rr_get_type(rr)) {
	case LDNS_RR_TYPE_A:
		assert(here);
		break;
	case LDNS_RR_TYPE_CNAME:
		assert(here);
		way->before = way->at;
		way->at = ldns_rr_rdf(rr, 0);
		break;
	case LDNS_RR_TYPE_DNAME:
		assert(above);
		break;
	case LDNS_RR_TYPE_RRSIG:
		assert(here || above || ldns_dname_compare(owner, way->before) == 0);
		break;
	default:
		abort(); /* a record that none asked for */
	}
}

static void check_owners(const ldns_pkt *pkt)
{
	const ldns_rr_list *answer = ldns_pkt_answer(pkt);
	const ldns_rdf *asked = ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_question(pkt), 0));
	struct way way = { asked, asked };

	for (size_t i = 0; i < ldns_rr_list_rr_count(answer); i++)
		check_owner(&way, ldns_rr_list_rr(answer, i));
}

static void check_answer(const struct question *question, const struct answer *answer, size_t limit)
{
	static uint8_t bytes[LIMIT_MESSAGE_BYTES];
	size_t len = answer_write(question, answer, bytes, limit);
	ldns_pkt *pkt = NULL;

	assert(len <= limit);
	assert(ldns_wire2pkt(&pkt, bytes, len) == LDNS_STATUS_OK);
	assert(ldns_pkt_edns(pkt) == question->edns);
	assert(!ldns_pkt_tc(pkt) || ldns_pkt_ancount(pkt) + ldns_pkt_nscount(pkt) == 0);
	assert(!(ldns_pkt_ad(pkt) && answer->edited));
	if (!ldns_pkt_tc(pkt)) {
		check_owners(pkt);
		assert(ldns_pkt_nscount(pkt) >= answer->soa);
	}
	ldns_pkt_free(pkt);
}

/* What query.c makes of @reply, in its two ways: at once, and once leases stand. */
static void tell(const struct question *question, const struct reply *reply)
{
	struct policy *policy = the_policy();
	const struct address client = { 4, { 127, 0, 0, 1 } };
	struct policy_verdict verdict = policy_judge_name(
		policy, policy_agent_find(policy, &client, NULL), &question->name, WIRE_A, NOW_S);
	struct vetted vetted;

	if (verdict.code != POLICY_ALLOW)
		return;
	vet_reply(policy, &verdict, reply, &vetted);
	if (vetted.verdict.code != POLICY_ALLOW)
		return;
	for (unsigned i = 0; i < vetted.n_addresses; i++)
		assert(address_special(&vetted.addresses[i]) == NULL);

	struct answer answer = {
		.rcode = reply->rcode,
		.chain = reply,
		.addresses = vetted.addresses,
		.n_addresses = vetted.n_addresses,
		.ttl_s = reply->ttl_s,
		.edited = vetted.n_addresses != reply->n_addresses,
		.soa = vetted.n_addresses == 0,
		.ede = WIRE_EDE_NONE,
	};
	struct reply *leased =
		reply_with(reply, vetted.addresses, vetted.n_addresses, reply->ttl_s);

	answer.authentic = !answer.edited;
	check_answer(question, &answer, LIMIT_MESSAGE_BYTES);
	check_answer(question, &answer, LIMIT_UDP_PLAIN_BYTES);
	assert(leased != NULL && !(leased->flags & REPLY_EDITED) == !answer.edited);
	answer.chain = leased;
	answer.addresses = leased->addresses;
	check_answer(question, &answer, LIMIT_UDP_ANSWER_BYTES);
	free(leased);
}

/* The reply, and the reply joined to one that leads to where it begins. */
static void tell_joined(const struct question *question, const struct reply *reply)
{
	struct reply *first = reply_new(WIRE_NOERROR, 60, &question->name, 1, NULL, 0);
	struct question other = *question;

	assert(first != NULL);
	struct reply *joined = reply_join(first, reply, reply->ttl_s);

	assert(joined != NULL);
	memcpy(other.echo, "\1x\0\0\1\0\1", 7);
	other.echo_len = 7;
	if (name_from_wire(other.echo, 3, &other.name) < 0)
		abort();
	tell(question, reply);
	tell(&other, joined);
	free(joined);
	free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question question = { .type = WIRE_A, .edns = true, .dnssec_ok = true };
	struct cursor c = cursor_over(data, size);
	struct message message;
	struct reply *reply;

	cursor_take(&c, WIRE_HEADER);
	if (message_read(data, size, true, &message) < 0)
		return 0;
	if (name_read(&c, &question.name) == 0 && message.rcode <= WIRE_RCODE &&
	    vet_chain(&message, &question.name, WIRE_A, 5, 3600, &reply) == 0) {
		question.echo_len = (uint16_t)(question.name.len + 4);
		memcpy(question.echo, question.name.wire, question.name.len);
		memcpy(question.echo + question.name.len, "\0\1\0\1", 4);
		tell_joined(&question, reply);
		free(reply);
	}
	message_done(&message);
	return 0;
}
