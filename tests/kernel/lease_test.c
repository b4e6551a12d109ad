/* SPDX-License-Identifier: MIT */
/* The lease table on the real kernel, in a network namespace of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/loop.h"
#include "base/own.h"
#include "lease/lease.h"
#include "lease/table.h"
#include "tests/kernel/tap.h"
#include "tests/unit/fake_policy.h"

struct world {
	struct policy policy;
	struct loop *loop;
	struct lease_table *table;
	struct lease_ask ask;
	struct loop_timer patience;
	unsigned n_done, n_reports;
	int status, report_status;
	char report[256];
};

static void on_report(void *arg, int status, const char *text)
{
	struct world *w = (struct world *)arg;

	w->n_reports++;
	w->report_status = status;
	snprintf(w->report, sizeof(w->report), "%s", text);
}

static void on_done(struct lease_ask *ask, int status)
{
	struct world *w = list_owner(ask, struct world, ask);

	w->n_done++;
	w->status = status;
	loop_stop(w->loop);
}

static void on_patience_over(struct loop_timer *timer)
{
	loop_stop(list_owner(timer, struct world, patience)->loop);
}

/* Serve the loop until an ask is done, or for @ms. */
static void serve(struct world *w, unsigned ms)
{
	loop_timer_start(w->loop, &w->patience, ms, on_patience_over);
	loop_run(w->loop);
	loop_timer_stop(&w->patience);
}

/* The same; the loop's clock stood still while nobody served it, so one turn comes first. */
static void pass(struct world *w, unsigned ms)
{
	serve(w, 1);
	serve(w, ms);
}

static const struct policy_port https[] = { { 443, 443, IPPROTO_TCP } };
static const struct policy_grant plain = {
	.label = "plain", .ports = https, .n_ports = 1, .expires_s = INT64_MAX
};
static const struct policy_grant *const grants[] = { &plain };

static void open_world(struct world *w, enum netlink_refresh refresh)
{
	struct err err = { .code = 0 };
	int r;

	w->policy.nftables.family = "inet";
	w->policy.nftables.table = "bailiwick";
	if (w->policy.nftables.size == 0)
		w->policy.nftables.size = 1000;
	w->policy.nftables.grace_s = 20;
	w->ask.done = on_done;
	if (loop_new(&w->loop) < 0)
		abort();
	r = table_new(w->loop, &w->policy, refresh, on_report, w, &w->table, &err);
	tap_ok(r == 0, "the table is made: %s", r < 0 ? err.text : "yes");
	if (r < 0)
		exit(tap_end());
}

static void close_world(struct world *w)
{
	lease_table_free(w->table);
	tap_ok(w->policy.refs == 0, "no reference to the policy is left");
	loop_free(w->loop);
}

/* Ask for leases, and wait for what comes. */
static int grant(struct world *w, const char *agent, const char *address, uint32_t ttl_s)
{
	const struct policy_verdict verdict = {
		.code = POLICY_ALLOW, .grants = grants, .n_grants = 1, .allowing = 1
	};
	struct address to;
	struct name name;
	struct lease_wanted wanted = { .name = &name,
				       .addresses = &to,
				       .verdicts = &verdict,
				       .n_addresses = 1,
				       .ttl_s = ttl_s };
	int r;

	if (address_parse(agent, &wanted.agent) < 0 || address_parse(address, &to) < 0 ||
	    name_parse("www.example.com", &name) < 0)
		abort();
	lease_table_poll(w->table, NULL);
	r = lease_grant(w->table, &w->ask, &w->policy, &wanted);
	if (r != -EINPROGRESS)
		return r;
	w->n_done = 0;
	serve(w, 3000);
	return w->n_done == 1 ? w->status : -EBUSY;
}

static const char list4[] = "nft list set inet bailiwick lease4";
static const char list6[] = "nft list set inet bailiwick lease6";

/* How many whole seconds are left of the element with @key in the set listed by @command; or -1. */
static long expires_s(const char *command, const char *key)
{
	OWN(own_free) char *list = tap_read(command);
	const char *at = list != NULL ? strstr(list, key) : NULL;
	char *end;

	at = at != NULL ? strstr(at, "expires ") : NULL;
	if (at == NULL)
		return -1;
	long left = strtol(at + strlen("expires "), &end, 10);

	return *end == 'm' && end[1] != 's' ? left * 60 + strtol(end + 1, NULL, 10) : left;
}

static void leases_come_and_are_kept(enum netlink_refresh refresh)
{
	struct world w = { .policy.nftables.manage = POLICY_MANAGE_SETS };

	open_world(&w, refresh);
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == 0, "a lease stands");
	tap_ok(tap_says(list4, "10.0.0.2 . 192.0.2.1 . tcp . 443 timeout"), "nft lists it");
	tap_ok(tap_says(list4, "comment \"www.example.com\""), "with its name");
	tap_ok(lease_table_status(w.table).n_commits == 1, "one commit");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 59) == 0 &&
		       lease_table_status(w.table).n_commits == 1,
	       "the same again needs no commit");
	tap_ok(grant(&w, "fd00::2", "2001:db8::1", 60) == 0 &&
		       tap_says(list6, "fd00::2 . 2001:db8::1 . tcp . 443"),
	       "IPv6 the same");
	tap_ok(grant(&w, "127.0.0.1", "2001:db8::1", 60) == 0 &&
		       tap_says(list6, "::ffff:127.0.0.1 . 2001:db8::1 . tcp . 443"),
	       "an agent without a link-layer address shows in the other family's set");
	close_world(&w);
}

static void refresh_moves_the_end(enum netlink_refresh refresh)
{
	struct world w = { .policy.nftables.manage = POLICY_MANAGE_SETS };
	long before, after;

	open_world(&w, refresh);
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 1) == 0, "a lease of a short TTL");
	pass(&w, 1500);
	pass(&w, 1);
	before = expires_s(list4, "192.0.2.1");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 1) == 0, "granted again");
	after = expires_s(list4, "192.0.2.1");
	tap_ok(before >= 0 && after > before, "its end has moved later: %ld s, then %ld s", before,
	       after);
	close_world(&w);
}

static void what_others_take_comes_back(void)
{
	struct world w = { .policy.nftables.manage = POLICY_MANAGE_SETS };

	open_world(&w, NETLINK_REFRESH_PROBE);
	grant(&w, "10.0.0.2", "192.0.2.1", 60);
	grant(&w, "10.0.0.2", "192.0.2.2", 60);
	tap_sh("nft delete element inet bailiwick lease4 "
	       "'{ 10.0.0.2 . 192.0.2.1 . tcp . 443 }'");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == 0 && tap_says(list4, ". 192.0.2.1 ."),
	       "an element that was deleted is there before the next answer");
	pass(&w, 50);
	tap_ok(w.n_reports == 1 && w.report_status == 0, "which is reported once: %s", w.report);

	tap_sh("nft flush set inet bailiwick lease4");
	pass(&w, 250);
	tap_ok(tap_says(list4, ". 192.0.2.1 .") && tap_says(list4, ". 192.0.2.2 ."),
	       "a flushed set is filled again without an ask");

	tap_sh("nft flush ruleset");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == 0 && tap_says(list4, ". 192.0.2.1 ."),
	       "so is a set whose table was deleted");
	pass(&w, 250);
	tap_ok(tap_says(list4, ". 192.0.2.2 ."), "and the rest follows");
	tap_ok(lease_table_status(w.table).up, "the mirror is up again");
	close_world(&w);
}

static void full_set_refuses_only_what_does_not_fit(void)
{
	struct world w = { .policy.nftables = { .manage = POLICY_MANAGE_SETS, .size = 2 } };

	open_world(&w, NETLINK_REFRESH_PROBE);
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == 0, "the first fits");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.2", 60) == 0, "the second fits");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.3", 60) == -ENFILE, "the third does not");
	tap_ok(lease_table_status(w.table).up, "but that is no failure of the mirror");
	close_world(&w);
	tap_sh("nft flush ruleset");
}

static void pushes_go_to_sets_of_others(void)
{
	static const struct policy_push pushes[] = {
		{ "ip", "fw", "allow", { "policy.ini", 7 } },
		{ "inet", "fw", "allow6", { "policy.ini", 8 } },
		{ "inet", "fw", "tuple", { "policy.ini", 9 } },
	};
	struct world w = { .policy.nftables = {
				   .manage = POLICY_MANAGE_NO, .pushes = pushes, .n_pushes = 3 } };

	tap_sh("nft 'table ip fw { set allow { type ipv4_addr; flags timeout; }; }; table inet fw "
	       "{ "
	       "set allow6 { type ipv6_addr; flags timeout; }; set tuple { type ipv4_addr . "
	       "inet_proto . inet_service; flags timeout; }; }'");
	open_world(&w, NETLINK_REFRESH_PROBE);
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == 0, "a lease that is pushed stands");
	tap_ok(tap_says("nft list set ip fw allow", "192.0.2.1 timeout"), "in a set of addresses");
	tap_ok(tap_says("nft list set inet fw tuple", "192.0.2.1 . tcp . 443 timeout"),
	       "in a set of addresses and ports");
	tap_ok(grant(&w, "10.0.0.2", "2001:db8::1", 60) == 0 &&
		       tap_says("nft list set inet fw allow6", "2001:db8::1 timeout"),
	       "in a set of IPv6 addresses");
	tap_ok(tap_sh("nft list table inet bailiwick 2>/dev/null") != 0, "no table of our own");
	tap_sh("nft delete table ip fw");
	tap_ok(grant(&w, "10.0.0.2", "192.0.2.1", 60) == -ENOENT, "no answer while one is gone");
	tap_ok(!lease_table_status(w.table).up && w.report_status == -ENOENT, "it is reported: %s",
	       w.report);
	tap_sh("nft 'table ip fw { set allow { type ipv4_addr; flags timeout; }; }'");
	pass(&w, 900);
	tap_ok(tap_says("nft list set ip fw allow", "192.0.2.1 timeout"),
	       "it comes back by itself");
	tap_ok(lease_table_status(w.table).up && w.report_status == 0, "which is reported: %s",
	       w.report);
	close_world(&w);
	tap_sh("nft flush ruleset");
}

static void bad_pushes_are_refused(void)
{
	static const struct {
		const char *set, *says;
	} bad[] = {
		{ "type ipv4_addr; flags interval, timeout;", "interval" },
		{ "type ipv4_addr;", "flags timeout" },
		{ "type inet_service; flags timeout;", "key must be" },
		{ "type ipv4_addr . inet_service; flags timeout;", "key must be" },
	};
	static const struct policy_push push = { "ip", "fw", "allow", { "policy.ini", 7 } };
	struct policy policy = { .nftables = { .family = "inet",
					       .table = "bailiwick",
					       .pushes = &push,
					       .n_pushes = 1,
					       .size = 10 } };
	struct loop *loop;

	if (loop_new(&loop) < 0)
		abort();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct lease_table *table;
		struct err err = { .code = 0 };

		tap_sh("nft 'table ip fw { set allow { %s }; }'", bad[i].set);
		int r = lease_table_new(loop, &policy, on_report, NULL, &table, &err);

		tap_ok(r == -EINVAL && strstr(err.text, bad[i].says) != NULL &&
			       strstr(err.text, "policy.ini:7") != NULL,
		       "refused: %s", err.text);
		tap_sh("nft flush ruleset");
	}
	tap_ok(policy.refs == 0, "nothing is left of it");
	loop_free(loop);
}

int main(void)
{
	tap_unshare();
	leases_come_and_are_kept(NETLINK_REFRESH_PROBE);
	leases_come_and_are_kept(NETLINK_REFRESH_RENEW);
	refresh_moves_the_end(NETLINK_REFRESH_PROBE);
	refresh_moves_the_end(NETLINK_REFRESH_RENEW);
	what_others_take_comes_back();
	full_set_refuses_only_what_does_not_fit();
	pushes_go_to_sets_of_others();
	bad_pushes_are_refused();
	return tap_end();
}
