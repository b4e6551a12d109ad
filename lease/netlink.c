/* SPDX-License-Identifier: MIT */
#include "lease/netlink.h"

#include <errno.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/filter.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include "base/name.h"
#include "base/own.h"
#include "lease/changes.h"
#include "lease/encode.h"
#include "lease/key.h"
#include "lease/neighbour.h"
#include "lease/transaction.h"

enum { COMMENT_BYTES = 128 /* nft reads no longer ones */ };

struct netlink {
	struct channel channel;
	int route; /* rtnetlink */
	enum netlink_refresh refresh;
	struct address sought; /* the last that was looked up in this netlink_write() ... */
	bool found;
	struct neighbour neighbour; /* ... and what was found */
};

void netlink_close(struct netlink *netlink)
{
	if (netlink == NULL)
		return;
	channel_done(&netlink->channel);
	if (netlink->route >= 0)
		close(netlink->route);
	free(netlink);
}

static void own_netlink(struct netlink *const *netlink)
{
	netlink_close(*netlink);
}

enum netlink_refresh netlink_refresh(const struct netlink *netlink)
{
	return netlink->refresh;
}

int netlink_load(struct netlink *netlink, const struct ruleset *ruleset, int *ret_events,
		 struct err *err)
{
	OWN(own_close) int events = changes_open(&netlink->channel);
	int r;

	if (events < 0)
		return err_set(err, events, "cannot watch the ruleset: %s", strerror(-events));
	r = encode_load(&netlink->channel, ruleset, err);
	if (r == 0)
		*ret_events = steal_fd(events);
	return r;
}

int netlink_events_open(const struct netlink *netlink)
{
	return changes_open(&netlink->channel);
}

unsigned netlink_events_read(int events, const struct netlink_set *sets, size_t n_sets, bool rules)
{
	return changes_read(events, sets, n_sets, rules);
}

/*
 * Writing elements.
 */

/* How many messages write one element. */
static uint32_t messages_each(const struct netlink *netlink)
{
	return netlink->refresh == NETLINK_REFRESH_RENEW ? 3 : 1;
}

static int put_refreshed(struct netlink *netlink, struct transaction *t,
			 const struct transaction_element *element)
{
	int r = 0;

	if (netlink->refresh == NETLINK_REFRESH_RENEW) {
		const struct transaction_element bare = {
			.table = element->table,
			.set = element->set,
			.family = element->family,
			.key = element->key,
			.key_len = element->key_len,
		};

		/* Whether it was there or not: after the first add it is, and can be deleted. */
		r = transaction_put_element(t, NFT_MSG_NEWSETELEM, element, NLM_F_CREATE);
		if (r == 0)
			r = transaction_put_element(t, NFT_MSG_DELSETELEM, &bare, 0);
	}
	if (r < 0)
		return r;
	return transaction_put_element(t, NFT_MSG_NEWSETELEM, element, NLM_F_CREATE);
}

/* The link of @agent, looked up once for elements that follow each other; NULL: it has none. */
static const struct neighbour *find_neighbour(struct netlink *netlink, const struct address *agent)
{
	if (!address_equal(&netlink->sought, agent)) {
		netlink->sought = *agent;
		netlink->found = !address_is_loopback(agent) &&
				 neighbour_find(netlink->route, agent, &netlink->neighbour);
	}
	return netlink->found ? &netlink->neighbour : NULL;
}

static int put_write(struct netlink *netlink, struct transaction *t,
		     const struct netlink_write *write)
{
	const struct netlink_set *set = write->set;
	const struct neighbour *neighbour = NULL;
	struct name name;
	char comment[NAME_TEXT_SIZE] = "";

	if (set->form == NETLINK_FORM_ETHER) {
		neighbour = find_neighbour(netlink, &write->agent);
		if (neighbour == NULL)
			set = set->otherwise;
	}
	if (name_from_wire(write->name_wire, write->name_len, &name) == 0)
		name_print(&name, comment);
	comment[COMMENT_BYTES] = '\0';

	const struct key key = key_make(set, write, neighbour);
	const struct transaction_element element = {
		.table = set->table,
		.set = set->name,
		.family = set->family,
		.key = key.bytes,
		.key_len = key.len,
		.timeout_ms = write->timeout_ms,
		.comment = comment[0] != '\0' ? comment : NULL,
	};

	return put_refreshed(netlink, t, &element);
}

/* What becomes known of a transaction's writes while its answers are read. */
struct tally {
	struct netlink_write *writes;
	uint32_t n, messages_each;
	int error; /* the first that is more than a full set */
	bool full;
};

static void note_error(void *arg, uint32_t i, int error)
{
	struct tally *tally = (struct tally *)arg;
	uint32_t at = i > 0 ? (i - 1) / tally->messages_each : tally->n;
	struct netlink_write *write = at < tally->n ? &tally->writes[at] : NULL;

	/* What did not fit cannot be deleted either, and not be added again. */
	if (write != NULL && write->status == -ENFILE)
		return;
	if (write != NULL && write->status == 0)
		write->status = error;
	if (error == -ENFILE)
		tally->full = true;
	else if (tally->error == 0)
		tally->error = error;
}

/* One transaction of @n elements. */
static int write_together(struct netlink *netlink, struct netlink_write *writes, size_t n)
{
	struct tally tally = { writes, (uint32_t)n, messages_each(netlink), 0, false };
	struct transaction t = transaction_begin(&netlink->channel);
	int r = 0;

	for (size_t i = 0; i < n; i++)
		writes[i].status = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_write(netlink, &t, &writes[i]);
	if (r == 0)
		r = transaction_commit(&t, note_error, &tally);
	if (tally.error < 0)
		r = tally.error;
	else if (r == 0 && tally.full)
		r = -ENFILE;
	for (size_t i = 0; i < n && r < 0; i++)
		if (writes[i].status == 0)
			writes[i].status = -ECANCELED;
	return r;
}

int netlink_write(struct netlink *netlink, struct netlink_write *writes, size_t n)
{
	size_t fit = netlink->channel.batch_bytes / TRANSACTION_ELEMENT_BYTES - 1;
	int worst = 0;

	if (fit > netlink->channel.batch_max)
		fit = netlink->channel.batch_max;
	netlink->sought.family = 0;
	for (size_t i = 0; i < n; i += fit) {
		int r = write_together(netlink, writes + i, n - i < fit ? n - i : fit);

		if (r < 0 && (worst == 0 || worst == -ENFILE))
			worst = r;
	}
	return worst;
}

/*
 * The probe: does adding an element again move its end? The kernel's answer
 * is the same either way, so it is tried in a table made for it.
 */

enum {
	PROBE_TIMEOUT_MS = 3600000,
	PROBE_SOON_MS = 60000,
	PROBE_LATE_MS = 3000000,
};

static const char probe_set[] = "probe";
static const uint8_t probe_key[4] = { 192, 0, 2, 1 };

static int put_probe_table(struct transaction *t, uint16_t type, const char *table, uint16_t flags)
{
	struct nftnl_table *spec = nftnl_table_alloc();

	if (spec == NULL)
		return -ENOMEM;
	nftnl_table_set_str(spec, NFTNL_TABLE_NAME, table);

	struct nlmsghdr *header = transaction_put(t, type, NFPROTO_INET, flags);

	nftnl_table_nlmsg_build_payload(header, spec);
	transaction_take(t, header);
	nftnl_table_free(spec);
	return 0;
}

static int put_probe_set(struct transaction *t, const char *table)
{
	struct nftnl_set *spec = nftnl_set_alloc();

	if (spec == NULL)
		return -ENOMEM;
	nftnl_set_set_str(spec, NFTNL_SET_TABLE, table);
	nftnl_set_set_str(spec, NFTNL_SET_NAME, probe_set);
	nftnl_set_set_u32(spec, NFTNL_SET_ID, 1);
	nftnl_set_set_u32(spec, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(spec, NFTNL_SET_FLAGS, NFT_SET_TIMEOUT);
	nftnl_set_set_u32(spec, NFTNL_SET_KEY_LEN, sizeof(probe_key));

	struct nlmsghdr *header = transaction_put(t, NFT_MSG_NEWSET, NFPROTO_INET, NLM_F_CREATE);

	nftnl_set_nlmsg_build_payload(header, spec);
	transaction_take(t, header);
	nftnl_set_free(spec);
	return 0;
}

static int put_probe_element(struct transaction *t, const char *table, uint64_t expires_ms)
{
	const struct transaction_element element = {
		.table = table,
		.set = probe_set,
		.family = NFPROTO_INET,
		.key = probe_key,
		.key_len = sizeof(probe_key),
		.timeout_ms = PROBE_TIMEOUT_MS,
		.expires_ms = expires_ms,
	};

	return transaction_put_element(t, NFT_MSG_NEWSETELEM, &element, NLM_F_CREATE);
}

static int write_probe(struct channel *channel, const char *table)
{
	struct transaction t = transaction_begin(channel);
	int r = put_probe_table(&t, NFT_MSG_NEWTABLE, table, NLM_F_CREATE | NLM_F_EXCL);

	if (r == 0)
		r = put_probe_set(&t, table);
	if (r == 0)
		r = put_probe_element(&t, table, PROBE_SOON_MS);
	if (r == 0)
		r = transaction_commit_whole(&t);
	if (r < 0)
		return r;
	t = transaction_begin(channel);
	r = put_probe_element(&t, table, PROBE_LATE_MS);
	return r == 0 ? transaction_commit_whole(&t) : r;
}

static int drop_probe(struct channel *channel, const char *table)
{
	struct transaction t = transaction_begin(channel);
	int r = put_probe_table(&t, NFT_MSG_DELTABLE, table, 0);

	return r == 0 ? transaction_commit_whole(&t) : r;
}

static int keep_expiration(struct nftnl_set_elem *element, void *arg)
{
	uint64_t *expires_ms = (uint64_t *)arg;

	*expires_ms = nftnl_set_elem_get_u64(element, NFTNL_SET_ELEM_EXPIRATION);
	return 0;
}

static int read_probe_answer(const struct nlmsghdr *header, void *arg)
{
	struct nftnl_set *set = nftnl_set_alloc();

	if (set == NULL)
		return MNL_CB_ERROR;
	if (nftnl_set_elems_nlmsg_parse(header, set) == 0)
		nftnl_set_elem_foreach(set, keep_expiration, arg);
	nftnl_set_free(set);
	return MNL_CB_OK;
}

/* Read the probe's one element back. */
static int read_probe(struct channel *channel, const char *table, uint64_t *ret_expires_ms)
{
	struct nftnl_set *set = nftnl_set_alloc();
	uint8_t buffer[256] __attribute__((aligned(8)));
	int r;

	if (set == NULL)
		return -ENOMEM;
	nftnl_set_set_str(set, NFTNL_SET_TABLE, table);
	nftnl_set_set_str(set, NFTNL_SET_NAME, probe_set);

	struct nlmsghdr *header = nftnl_nlmsg_build_hdr((char *)buffer, NFT_MSG_GETSETELEM,
							NFPROTO_INET, NLM_F_DUMP, channel->seq++);

	nftnl_set_elems_nlmsg_build_payload(header, set);
	r = channel_ask(channel, header, read_probe_answer, ret_expires_ms);
	nftnl_set_free(set);
	return r;
}

static int probe_refresh(struct netlink *netlink, struct err *err)
{
	char table[64];
	uint64_t nonce = 0, expires_ms = 0;

	if (getrandom(&nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
		return err_set(err, -EIO, "no random bytes");
	snprintf(table, sizeof(table), "bailiwick-probe-%016llx", (unsigned long long)nonce);

	int r = write_probe(&netlink->channel, table);
	int read = r == 0 ? read_probe(&netlink->channel, table, &expires_ms) : r;

	if (r == 0)
		r = drop_probe(&netlink->channel, table);
	if (r == 0)
		r = read;
	if (r < 0)
		return err_set(err, r, "cannot make a table in nf_tables: %s%s", strerror(-r),
			       r == -EPERM ? " (CAP_NET_ADMIN is needed)" : "");
	netlink->refresh =
		expires_ms > PROBE_SOON_MS ? NETLINK_REFRESH_UPDATE : NETLINK_REFRESH_RENEW;
	return 0;
}

int netlink_open(enum netlink_refresh refresh, struct netlink **ret_netlink, struct err *err)
{
	OWN(own_netlink) struct netlink *netlink = calloc(1, sizeof(*netlink));
	int r;

	if (netlink == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	netlink->refresh = refresh;
	netlink->route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	r = netlink->route < 0 ? -errno : channel_open(&netlink->channel);
	if (r < 0)
		return err_set(err, r, "cannot open a netlink socket: %s", strerror(-r));
	if (refresh == NETLINK_REFRESH_PROBE) {
		r = probe_refresh(netlink, err);
		if (r < 0)
			return r;
	}
	*ret_netlink = steal_ptr(netlink);
	return 0;
}

/*
 * Sets of others.
 */

struct found {
	bool any;
	uint32_t flags, type;
};

static int read_set(const struct nlmsghdr *header, void *arg)
{
	struct found *found = (struct found *)arg;
	struct nftnl_set *set = nftnl_set_alloc();

	if (set == NULL)
		return MNL_CB_ERROR;
	if (nftnl_set_nlmsg_parse(header, set) == 0) {
		found->any = true;
		found->flags = nftnl_set_get_u32(set, NFTNL_SET_FLAGS);
		found->type = nftnl_set_get_u32(set, NFTNL_SET_KEY_TYPE);
	}
	nftnl_set_free(set);
	return MNL_CB_OK;
}

static uint8_t family_number(const char *family)
{
	if (strcmp(family, "ip") == 0)
		return NFPROTO_IPV4;
	return strcmp(family, "ip6") == 0 ? NFPROTO_IPV6 : NFPROTO_INET;
}

static int ask_for_set(struct channel *channel, const struct policy_push *push,
		       struct found *ret_found)
{
	struct nftnl_set *set = nftnl_set_alloc();
	uint8_t buffer[1024] __attribute__((aligned(8)));
	int r;

	if (set == NULL)
		return -ENOMEM;
	nftnl_set_set_str(set, NFTNL_SET_TABLE, push->table);
	nftnl_set_set_str(set, NFTNL_SET_NAME, push->set);

	struct nlmsghdr *header = nftnl_nlmsg_build_hdr(
		(char *)buffer, NFT_MSG_GETSET, family_number(push->family), 0, channel->seq++);

	nftnl_set_nlmsg_build_payload(header, set);
	r = channel_ask(channel, header, read_set, ret_found);
	nftnl_set_free(set);
	return r == 0 && !ret_found->any ? -ENOENT : r;
}

/* Why leases do not fit into a set with @flags; NULL if they do. */
static const char *find_fault(uint32_t flags)
{
	if (flags & NFT_SET_MAP || flags & NFT_SET_OBJECT)
		return "it is a map";
	if (flags & NFT_SET_CONSTANT)
		return "it is constant";
	if (flags & NFT_SET_INTERVAL)
		return "it holds intervals, in which single addresses overlap and merge; leave "
		       "`flags interval` out";
	if (!(flags & NFT_SET_TIMEOUT))
		return "its elements would never end; give it `flags timeout`";
	return NULL;
}

static int refuse(const struct policy_push *push, int code, const char *why, struct err *err)
{
	return err_set(err, code, "%s:%u: cannot push to the set %s of table %s %s: %s",
		       push->place.file, push->place.line, push->set, push->family, push->table,
		       why);
}

int netlink_set_find(struct netlink *netlink, const struct policy_push *push,
		     struct netlink_set *ret_set, struct err *err)
{
	struct netlink_set set = { .family = family_number(push->family),
				   .table = push->table,
				   .name = push->set };
	struct found found = { .any = false };
	int r;

	if (strlen(push->table) >= NFT_NAME_MAXLEN || strlen(push->set) >= NFT_NAME_MAXLEN)
		return refuse(push, -EINVAL, "the name is too long", err);
	r = ask_for_set(&netlink->channel, push, &found);
	if (r < 0)
		return refuse(push, r, r == -ENOENT ? "there is no such set" : strerror(-r), err);

	const char *fault = find_fault(found.flags);

	if (fault != NULL)
		return refuse(push, -EINVAL, fault, err);
	if (key_type_form(found.type, &set.form, &set.version) < 0)
		return refuse(push, -EINVAL,
			      "its key must be an address (`type ipv4_addr`), or address, protocol "
			      "and port (`type ipv4_addr . inet_proto . inet_service`)",
			      err);
	*ret_set = set;
	return 0;
}
