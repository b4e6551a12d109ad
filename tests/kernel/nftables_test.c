/* SPDX-License-Identifier: MIT */
/* What lease/ assumes of nf_tables, whatever the kernel is. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/name.h"
#include "base/own.h"
#include "lease/changes.h"
#include "lease/netlink.h"
#include "lease/transaction.h"
#include "tests/kernel/tap.h"

enum { MINUTE_MS = 60000, MANY = 1000 };

static const char list[] = "nft list set inet t s";

static void make_table(const char *set)
{
	tap_sh("nft 'table inet t { }; delete table inet t; table inet t { set s { %s }; }'", set);
}

/* Element number @i of the set of addresses. */
static struct transaction_element element(uint32_t i, uint64_t timeout_ms, uint32_t *key)
{
	*key = htonl(0xc6120000 + i);
	return (struct transaction_element){ .table = "t",
					     .set = "s",
					     .family = NFPROTO_INET,
					     .key = key,
					     .key_len = sizeof(*key),
					     .timeout_ms = timeout_ms };
}

static void put(struct transaction *t, uint16_t type, uint32_t i, uint64_t timeout_ms)
{
	uint32_t key;
	const struct transaction_element it = element(i, timeout_ms, &key);

	if (transaction_put_element(t, type, &it, NLM_F_CREATE | NLM_F_ACK) < 0)
		abort();
}

static int add(struct channel *channel, uint32_t i, uint64_t timeout_ms)
{
	struct transaction t = transaction_begin(channel);

	put(&t, NFT_MSG_NEWSETELEM, i, timeout_ms);
	return transaction_commit_whole(&t);
}

/* Milliseconds that the one element of the set has left. */
static long left_ms(void)
{
	OWN(own_free) char *text = tap_read(list);
	const char *at = text != NULL ? strstr(text, "expires ") : NULL;
	long left = 0;
	char *end;

	if (at == NULL)
		return -1;
	for (at += strlen("expires "); *at >= '0' && *at <= '9'; at = end) {
		long number = strtol(at, &end, 10);

		left += end[0] == 'm' && end[1] == 's' ? number
			: end[0] == 'm'                ? number * MINUTE_MS
						       : number * 1000;
		end += end[0] == 'm' && end[1] == 's' ? 2 : 1;
	}
	return left;
}

static void sleep_ms(long ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* commit() would fail with -EIO if an answer came later than sendmsg() returns. */
static void answers_are_there_at_once(struct channel *channel)
{
	unsigned n = 0;

	make_table("type ipv4_addr; flags timeout;");
	for (uint32_t i = 0; i < MANY; i++)
		n += add(channel, i, MINUTE_MS) == 0;
	tap_ok(n == MANY, "the answer lies in the queue when sendmsg() returns: %u of %d", n, MANY);
}

static void refresh_is_what_the_probe_says(struct channel *channel)
{
	struct netlink *netlink;
	struct err err;

	if (!tap_ok(netlink_open(NETLINK_REFRESH_PROBE, &netlink, &err) == 0, "the probe works"))
		return;
	bool update = netlink_refresh(netlink) == NETLINK_REFRESH_UPDATE;

	netlink_close(netlink);
	tap_ok(!tap_says("nft list tables", "probe"), "and leaves no table behind");
	make_table("type ipv4_addr; flags timeout;");
	add(channel, 1, MINUTE_MS);
	sleep_ms(300);
	long before = left_ms();

	add(channel, 1, MINUTE_MS);
	tap_ok((left_ms() > before) == update,
	       "adding again with timeout and expiration %s the end, as the probe says",
	       update ? "moves" : "does not move");
	tap_sh("nft add element inet t s '{ 198.18.0.2 timeout 1m }'");
}

static void delete_and_add_refreshes(struct channel *channel)
{
	make_table("type ipv4_addr; flags timeout;");
	add(channel, 1, MINUTE_MS);
	sleep_ms(300);
	struct transaction t = transaction_begin(channel);

	put(&t, NFT_MSG_NEWSETELEM, 1, MINUTE_MS);
	put(&t, NFT_MSG_DELSETELEM, 1, 0);
	put(&t, NFT_MSG_NEWSETELEM, 1, MINUTE_MS);
	tap_ok(transaction_commit_whole(&t) == 0 && left_ms() > MINUTE_MS - 200,
	       "add, delete, add in one transaction moves the end of an element");
	t = transaction_begin(channel);
	make_table("type ipv4_addr; flags timeout;");
	put(&t, NFT_MSG_NEWSETELEM, 1, MINUTE_MS);
	put(&t, NFT_MSG_DELSETELEM, 1, 0);
	put(&t, NFT_MSG_NEWSETELEM, 1, MINUTE_MS);
	tap_ok(transaction_commit_whole(&t) == 0 && left_ms() > MINUTE_MS - 200,
	       "and makes one that was not there");
}

struct errors {
	unsigned n, first;
	int error;
};

static void count_error(void *arg, uint32_t i, int error)
{
	struct errors *errors = (struct errors *)arg;

	if (errors->n++ == 0)
		errors->first = i;
	errors->error = error;
}

static void full_set_names_what_does_not_fit(struct channel *channel)
{
	struct errors errors = { .n = 0 };

	make_table("type ipv4_addr; flags timeout; size 3;");
	tap_ok(add(channel, 1, MINUTE_MS) == 0, "a set of 3 takes one");

	struct transaction t = transaction_begin(channel);

	for (uint32_t i = 2; i < 7; i++)
		put(&t, NFT_MSG_NEWSETELEM, i, MINUTE_MS);
	int r = transaction_commit(&t, count_error, &errors);

	tap_ok(r == 0 && errors.n == 3 && errors.first == 3 && errors.error == -ENFILE,
	       "of five more, each of the three that do not fit has its ENFILE");
	tap_ok(!tap_says(list, "198.18.0.2"), "and none of the five is there");
	add(channel, 2, MINUTE_MS);
	add(channel, 3, MINUTE_MS);
	tap_ok(add(channel, 4, MINUTE_MS) == -ENFILE, "a full set takes no other");
	tap_ok(add(channel, 2, 2ull * MINUTE_MS) == 0, "but what it has, again");
}

static void missing_set_is_enoent(struct channel *channel)
{
	make_table("type ipv4_addr; flags timeout;");
	tap_sh("nft delete set inet t s");
	tap_ok(add(channel, 1, MINUTE_MS) == -ENOENT, "a set that is missing is ENOENT");
	tap_sh("nft delete table inet t");
	tap_ok(add(channel, 1, MINUTE_MS) == -ENOENT, "so is its table");
}

static void transaction_is_all_or_nothing(struct channel *channel)
{
	make_table("type ipv4_addr; flags timeout;");
	struct transaction t = transaction_begin(channel);

	put(&t, NFT_MSG_NEWSETELEM, 1, MINUTE_MS);
	put(&t, NFT_MSG_DELSETELEM, 2, 0);
	put(&t, NFT_MSG_NEWSETELEM, 3, MINUTE_MS);
	tap_ok(transaction_commit_whole(&t) == -ENOENT && !tap_says(list, "elements"),
	       "one bad message undoes the others");
}

/* Whoever has deleted something can have been noticed by us before he goes on. */
static void changes_are_told_at_once(struct channel *channel)
{
	static const struct netlink_set set = {
		.family = NFPROTO_INET, .version = 4, .own = true, .table = "t", .name = "s"
	};
	struct channel foreign = { .seq = 0 };
	unsigned n_told = 0, n_own = 0;

	make_table("type ipv4_addr; flags timeout;");
	OWN(own_close) int events = changes_open(channel);

	if (events < 0 || channel_open(&foreign) < 0)
		abort();
	for (uint32_t i = 0; i < MANY; i++) {
		add(channel, 1, MINUTE_MS);
		n_own += changes_read(events, &set, 1, true) != 0;
		struct transaction t = transaction_begin(&foreign);

		put(&t, NFT_MSG_DELSETELEM, 1, 0);
		if (transaction_commit_whole(&t) < 0)
			abort();
		n_told += changes_read(events, &set, 1, true) == NETLINK_TOUCHED_ELEMENTS;
	}
	tap_ok(n_told == MANY, "a deletion by others is told before it returns: %u of %d", n_told,
	       MANY);
	tap_ok(n_own == 0, "our own writes are not told");
	channel_done(&foreign);
}

struct change {
	const char *command;
	unsigned with_rules, without_rules;
};

static void changes_are_judged(struct channel *channel)
{
	enum { E = NETLINK_TOUCHED_ELEMENTS, R = NETLINK_TOUCHED_RULESET };
	static const struct change changes[] = {
		{ "nft add element inet t s '{ 198.18.0.1 timeout 1m }'", E, E },
		{ "nft flush set inet t s", E, E },
		{ "nft add chain inet t c", E | R, 0 },
		{ "nft add rule inet t c accept", E | R, 0 },
		{ "nft flush chain inet t c", E | R, 0 },
		{ "nft delete chain inet t c", E | R, 0 },
		{ "nft add table inet t '{ flags dormant; }'", E | R, E | R },
		{ "nft add table inet u", 0, 0 },
		{ "nft add set inet u s '{ type ipv4_addr; }'", 0, 0 },
		{ "nft add table ip t", 0, 0 },
		{ "nft list ruleset >/dev/null", 0, 0 },
		{ "nft delete set inet t s", E | R, E | R },
		{ "nft flush ruleset", E | R, E | R },
	};
	static const struct netlink_set set = {
		.family = NFPROTO_INET, .version = 4, .own = true, .table = "t", .name = "s"
	};

	make_table("type ipv4_addr; flags timeout;");
	OWN(own_close) int with = changes_open(channel);
	OWN(own_close) int without = changes_open(channel);

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		tap_sh("%s", changes[i].command);
		tap_ok(changes_read(with, &set, 1, true) == changes[i].with_rules &&
			       changes_read(without, &set, 1, false) == changes[i].without_rules,
		       "judged: %s", changes[i].command);
	}
}

/* A flood that no buffer holds must be noticed as one. */
static void lost_changes_may_have_been_anything(struct channel *channel)
{
	static const struct netlink_set set = {
		.family = NFPROTO_INET, .version = 4, .own = true, .table = "t", .name = "s"
	};
	int bytes = 4096;

	make_table("type ipv4_addr; flags timeout;");
	OWN(own_close) int events = changes_open(channel);

	setsockopt(events, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	tap_sh("for i in 1 2 3 4 5 6 7 8; do nft add table inet u$i; done");
	tap_ok(changes_read(events, &set, 1, true) ==
		       (NETLINK_TOUCHED_ELEMENTS | NETLINK_TOUCHED_RULESET),
	       "if changes were lost, everything counts as touched");
	tap_sh("nft flush ruleset");
}

static void load_misses_no_change(struct netlink *netlink)
{
	static const struct ruleset_set sets[] = { { .name = "s", .ether = false, .version = 4 } };
	const struct ruleset ruleset = {
		.table = "t", .whole = true, .set_size = 10, .sets = sets, .n_sets = 1
	};
	static const struct netlink_set set = {
		.family = NFPROTO_INET, .version = 4, .own = true, .table = "t", .name = "s"
	};
	struct err err = { .code = 0 };
	int fd = -1;

	tap_ok(netlink_load(netlink, &ruleset, &fd, &err) == 0, "a ruleset is loaded: %s",
	       err.text);
	OWN(own_close) int events = fd;

	tap_ok(changes_read(events, &set, 1, true) == 0, "which its own events do not tell of");
	tap_sh("nft flush ruleset");
	tap_ok(changes_read(events, &set, 1, true) != 0, "but of what comes after");
}

/*
 * Keys.
 */

static int write_one(struct netlink *netlink, const struct netlink_set *set, const char *agent,
		     const char *address)
{
	struct netlink_write write = {
		.set = set, .protocol = IPPROTO_UDP, .port = 0x1234, .timeout_ms = MINUTE_MS
	};
	struct name name;

	if (address_parse(agent, &write.agent) < 0 || address_parse(address, &write.address) < 0 ||
	    name_parse("www.example.com", &name) < 0)
		abort();
	write.name_wire = name.wire;
	write.name_len = name.len;
	return netlink_write(netlink, &write, 1);
}

static void keys_are_as_nft_reads_them(struct netlink *netlink)
{
	static const struct {
		const char *type, *address, *listed;
		enum netlink_form form;
	} cases[] = {
		{ "ipv4_addr", "192.0.2.1", "{ 192.0.2.1 timeout", NETLINK_FORM_ADDRESS },
		{ "ipv6_addr", "2001:db8::1", "{ 2001:db8::1 timeout", NETLINK_FORM_ADDRESS },
		{ "ipv4_addr . inet_proto . inet_service", "192.0.2.1",
		  "{ 192.0.2.1 . udp . 4660 timeout", NETLINK_FORM_TUPLE },
		{ "ipv6_addr . inet_proto . inet_service", "2001:db8::1",
		  "{ 2001:db8::1 . udp . 4660 timeout", NETLINK_FORM_TUPLE },
		{ "ipv4_addr . ipv4_addr . inet_proto . inet_service", "192.0.2.1",
		  "{ 10.0.0.2 . 192.0.2.1 . udp . 4660 timeout", NETLINK_FORM_LEASE },
		{ "ipv6_addr . ipv6_addr . inet_proto . inet_service", "2001:db8::1",
		  "{ ::ffff:10.0.0.2 . 2001:db8::1 . udp . 4660 timeout", NETLINK_FORM_LEASE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct policy_push push = { "inet", "t", "s", { "policy.ini", 1 } };
		struct netlink_set set = { .family = NFPROTO_INET,
					   .version = strchr(cases[i].address, ':') ? 6 : 4,
					   .table = "t",
					   .name = "s",
					   .form = cases[i].form };
		struct netlink_set found = set;
		struct err err;
		char type[128];

		snprintf(type, sizeof(type), "type %s; flags timeout;", cases[i].type);
		make_table(type);
		if (cases[i].form != NETLINK_FORM_LEASE)
			tap_ok(netlink_set_find(netlink, &push, &found, &err) == 0 &&
				       found.form == set.form && found.version == set.version,
			       "found: %s", cases[i].type);
		tap_ok(write_one(netlink, &set, "10.0.0.2", cases[i].address) == 0 &&
			       tap_says(list, cases[i].listed),
		       "listed as %s", cases[i].listed);
	}
}

static void largest_batch_is_written(enum netlink_refresh refresh)
{
	static const struct netlink_set set = { .family = NFPROTO_INET,
						.version = 4,
						.table = "t",
						.name = "s",
						.form = NETLINK_FORM_ADDRESS };
	struct netlink_write *writes = calloc(LIMIT_BATCH_ELEMENTS, sizeof(*writes));
	struct netlink *netlink;
	unsigned n_full = 0, n_cancelled = 0;
	struct name name;
	struct err err;

	if (writes == NULL || netlink_open(refresh, &netlink, &err) < 0 ||
	    name_parse("a-name-as-long-as-people-have-them.example.com", &name) < 0)
		abort();
	make_table("type ipv4_addr; flags timeout;");
	for (uint32_t i = 0; i < LIMIT_BATCH_ELEMENTS; i++) {
		uint32_t bytes = htonl(0xc6120000 + i);

		writes[i] = (struct netlink_write){ .set = &set,
						    .timeout_ms = MINUTE_MS,
						    .name_wire = name.wire,
						    .name_len = name.len };
		writes[i].address = address_from_bytes((const uint8_t *)&bytes, 4);
	}
	tap_ok(netlink_write(netlink, writes, LIMIT_BATCH_ELEMENTS) == 0, "the largest batch fits");
	make_table("type ipv4_addr; flags timeout; size 10;");
	tap_ok(netlink_write(netlink, writes, LIMIT_BATCH_ELEMENTS) == -ENFILE,
	       "and if hardly any of it does, no answer is lost");
	for (unsigned i = 0; i < LIMIT_BATCH_ELEMENTS; i++) {
		n_full += writes[i].status == -ENFILE;
		n_cancelled += writes[i].status == -ECANCELED;
	}
	/* Small buffers make it several transactions, in each of which ten would have fitted. */
	tap_ok(n_cancelled >= 10 && n_cancelled % 10 == 0 &&
		       n_full + n_cancelled == LIMIT_BATCH_ELEMENTS,
	       "each has its own status");
	netlink_close(netlink);
	free(writes);
}

int main(void)
{
	struct channel channel = { .seq = 0 };
	struct netlink *netlink;
	struct err err;

	tap_unshare();
	if (channel_open(&channel) < 0 || netlink_open(NETLINK_REFRESH_PROBE, &netlink, &err) < 0)
		abort();
	answers_are_there_at_once(&channel);
	refresh_is_what_the_probe_says(&channel);
	delete_and_add_refreshes(&channel);
	full_set_names_what_does_not_fit(&channel);
	missing_set_is_enoent(&channel);
	transaction_is_all_or_nothing(&channel);
	changes_are_told_at_once(&channel);
	changes_are_judged(&channel);
	lost_changes_may_have_been_anything(&channel);
	load_misses_no_change(netlink);
	keys_are_as_nft_reads_them(netlink);
	largest_batch_is_written(NETLINK_REFRESH_UPDATE);
	largest_batch_is_written(NETLINK_REFRESH_RENEW);
	netlink_close(netlink);
	channel_done(&channel);
	return tap_end();
}
