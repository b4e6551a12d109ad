/* SPDX-License-Identifier: MIT */
#include "lease/encode.h"

#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>
#include "base/own.h"
#include "lease/expression.h"
#include "lease/message.h"

enum {
	/* nft's data types, and how it makes one of several. */
	TYPE_IPV4 = 7,
	TYPE_IPV6 = 8,
	TYPE_ETHER = 9,
	TYPE_PROTOCOL = 12,
	TYPE_PORT = 13,
	TYPE_LINK = 20,
	TYPE_BITS = 6,
	/* What parts of a key take: a multiple of 4. */
	LINK_BYTES = 4,
	ETHER_BYTES = 8,
	PROTOCOL_BYTES = 4,
	PORT_BYTES = 4,
};

/*
 * Tables, counters, chains.
 */

static void own_table(struct nftnl_table *const *table)
{
	if (*table != NULL)
		nftnl_table_free(*table);
}

static void own_counter(struct nftnl_obj *const *counter)
{
	if (*counter != NULL)
		nftnl_obj_free(*counter);
}

static void own_chain(struct nftnl_chain *const *chain)
{
	if (*chain != NULL)
		nftnl_chain_free(*chain);
}

static void put_table(struct messages *m, uint16_t type, uint16_t flags)
{
	OWN(own_table) struct nftnl_table *table = nftnl_table_alloc();
	struct nlmsghdr *header = message_begin(m, type, flags);

	m->kind = "table";
	m->name = m->ruleset->table;
	if (!message_made(m, table) || header == NULL)
		return;
	nftnl_table_set_str(table, NFTNL_TABLE_NAME, m->ruleset->table);
	nftnl_table_nlmsg_build_payload(header, table);
	message_put(m, header);
}

static void put_counter(struct messages *m, const char *name)
{
	OWN(own_counter) struct nftnl_obj *counter = nftnl_obj_alloc();
	struct nlmsghdr *header = message_begin(m, NFT_MSG_NEWOBJ, NLM_F_CREATE);

	m->kind = "counter";
	m->name = name;
	if (!message_made(m, counter) || header == NULL)
		return;
	nftnl_obj_set_str(counter, NFTNL_OBJ_TABLE, m->ruleset->table);
	nftnl_obj_set_str(counter, NFTNL_OBJ_NAME, name);
	nftnl_obj_set_u32(counter, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
	nftnl_obj_set_u64(counter, NFTNL_OBJ_CTR_PKTS, 0);
	nftnl_obj_set_u64(counter, NFTNL_OBJ_CTR_BYTES, 0);
	nftnl_obj_nlmsg_build_payload(header, counter);
	message_put(m, header);
}

static void put_chain(struct messages *m, const struct ruleset_chain *spec)
{
	OWN(own_chain) struct nftnl_chain *chain = nftnl_chain_alloc();
	struct nlmsghdr *header = message_begin(m, NFT_MSG_NEWCHAIN, NLM_F_CREATE);

	m->kind = "chain";
	m->name = spec->name;
	if (!message_made(m, chain) || header == NULL)
		return;
	nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, m->ruleset->table);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, spec->name);
	if (spec->hook != NULL) {
		nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, spec->hook->type);
		nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, spec->hook->hook_number);
		nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, spec->hook->priority_number);
		nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	}
	nftnl_chain_nlmsg_build_payload(header, chain);
	message_put(m, header);
}

/*
 * Sets by name.
 */

static void own_set(struct nftnl_set *const *set)
{
	if (*set != NULL)
		nftnl_set_free(*set);
}

static void put_set(struct messages *m, const struct ruleset_set *spec)
{
	uint32_t ip = spec->version == 4 ? TYPE_IPV4 : TYPE_IPV6;
	uint32_t ip_bytes = spec->version == 4 ? 4 : 16;
	uint32_t agent = spec->ether ? TYPE_LINK << TYPE_BITS | TYPE_ETHER : ip;
	uint32_t agent_bytes = spec->ether ? LINK_BYTES + ETHER_BYTES : ip_bytes;
	uint32_t type = agent << TYPE_BITS | ip;
	uint32_t bytes = agent_bytes + ip_bytes;

	type = (type << TYPE_BITS | TYPE_PROTOCOL) << TYPE_BITS | TYPE_PORT;
	bytes += PROTOCOL_BYTES + PORT_BYTES;

	OWN(own_set)
	struct nftnl_set *set =
		message_set_new(m, spec->name, NFT_SET_TIMEOUT, type, MESSAGE_ORDER_MIXED, bytes);

	m->kind = "set";
	m->name = spec->name;
	if (set != NULL)
		message_set_put(m, set, m->ruleset->set_size);
}

/* Delete all elements of a set by name. */
static void flush_set(struct messages *m, const struct ruleset_set *spec)
{
	OWN(own_set) struct nftnl_set *set = nftnl_set_alloc();
	struct nlmsghdr *header = message_begin(m, NFT_MSG_DELSETELEM, 0);

	m->kind = "emptying of the set";
	m->name = spec->name;
	if (!message_made(m, set) || header == NULL)
		return;
	nftnl_set_set_str(set, NFTNL_SET_TABLE, m->ruleset->table);
	nftnl_set_set_str(set, NFTNL_SET_NAME, spec->name);
	nftnl_set_elems_nlmsg_build_payload(header, set);
	message_put(m, header);
}

/*
 * The whole.
 */

static void own_udata(struct nftnl_udata_buf *const *udata)
{
	if (*udata != NULL)
		nftnl_udata_buf_free(*udata);
}

static void own_rule(struct nftnl_rule *const *rule)
{
	if (*rule != NULL)
		nftnl_rule_free(*rule);
}

static void set_comment(struct messages *m, struct nftnl_rule *rule, const char *grant)
{
	OWN(own_udata) struct nftnl_udata_buf *udata = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
	char comment[NFTNL_UDATA_COMMENT_MAXLEN];

	if (!message_made(m, udata))
		return;
	snprintf(comment, sizeof(comment), "grant %s", grant);
	nftnl_udata_put_strz(udata, NFTNL_UDATA_RULE_COMMENT, comment);
	if (nftnl_rule_set_data(rule, NFTNL_RULE_USERDATA, nftnl_udata_buf_data(udata),
				nftnl_udata_buf_len(udata)) < 0)
		message_fail(m, -ENOMEM);
}

static void put_rule(struct messages *m, const char *chain, const struct rule *spec)
{
	OWN(own_rule) struct nftnl_rule *rule = nftnl_rule_alloc();

	if (!message_made(m, rule))
		return;
	m->name = chain;
	m->rule = spec;
	nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, m->ruleset->table);
	nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
	for (const struct rule_part *part = spec->parts; part->kind != RULE_END; part++)
		expression_add(m, rule, part);
	if (spec->grant != NULL)
		set_comment(m, rule, spec->grant);

	struct nlmsghdr *header = message_begin(m, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);

	if (header == NULL)
		return;
	nftnl_rule_nlmsg_build_payload(header, rule);
	message_put(m, header);
	m->rule = NULL;
}

/* What a rule names must be there before it, and chains may name each other. */
static void put_ruleset(struct messages *m)
{
	const struct ruleset *ruleset = m->ruleset;

	put_table(m, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	if (ruleset->whole) {
		put_table(m, NFT_MSG_DELTABLE, 0);
		put_table(m, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	}
	for (unsigned i = 0; i < ruleset->n_counters; i++)
		put_counter(m, ruleset->counters[i]);
	for (unsigned i = 0; i < ruleset->n_sets; i++)
		put_set(m, &ruleset->sets[i]);
	for (unsigned i = 0; i < ruleset->n_chains; i++)
		put_chain(m, &ruleset->chains[i]);
	for (unsigned i = 0; i < ruleset->n_chains; i++)
		for (size_t j = 0; j < ruleset->chains[i].n_rules; j++)
			put_rule(m, ruleset->chains[i].name, &ruleset->chains[i].rules[j]);
	for (unsigned i = 0; i < ruleset->n_sets && !ruleset->whole; i++)
		flush_set(m, &ruleset->sets[i]);
}

/* The first error of the transaction: its number, and that of the message. */
struct refusal {
	int error;
	uint32_t message;
};

static void note_refusal(void *arg, uint32_t i, int error)
{
	struct refusal *refusal = (struct refusal *)arg;

	if (refusal->error == 0)
		*refusal = (struct refusal){ error, i };
}

/* Say what was refused: it is found by encoding everything once more. */
static int say_refusal(struct channel *channel, const struct ruleset *ruleset,
		       const struct refusal *refusal, struct err *err)
{
	struct err what;
	struct messages m = { .ruleset = ruleset,
			      .t = transaction_begin(channel),
			      .refused = refusal->message,
			      .what = &what };

	err_set(&what, refusal->error, "the transaction");
	put_ruleset(&m);
	return err_set(err, refusal->error, "cannot load the ruleset: nf_tables refused %s: %s%s",
		       what.text, strerror(-refusal->error),
		       refusal->error == -EPERM ? " (CAP_NET_ADMIN is needed)" : "");
}

int encode_load(struct channel *channel, const struct ruleset *ruleset, struct err *err)
{
	struct messages m = { .ruleset = ruleset, .t = transaction_begin(channel) };
	struct refusal refusal = { .error = 0 };
	int r;

	put_ruleset(&m);
	r = m.status;
	if (r == 0)
		r = transaction_commit(&m.t, note_refusal, &refusal);
	if (refusal.error < 0)
		return say_refusal(channel, ruleset, &refusal, err);
	if (r == -EMSGSIZE)
		return err_set(
			err, r,
			"cannot load the ruleset: its %zu bytes are more than may be sent at "
			"once; raise the sysctl net.core.wmem_max",
			m.t.used);
	return r < 0 ? err_set(err, r, "cannot load the ruleset: %s", strerror(-r)) : 0;
}
