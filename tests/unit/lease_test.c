/* SPDX-License-Identifier: MIT */
/* The lease table and its mirror, on a scripted clock, thread and kernel. */
#include "lease/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/lease_world.h"
#include "tests/unit/test.h"

/*
 * When a lease stands, and for how long.
 */

static void grant_waits_for_the_kernel(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	assert_int_equal(world_grant(w, &ask, (struct world_wish){ .ttl_s = 30 }), -EINPROGRESS);
	assert_int_equal(w->n_writes, 0);
	assert_true(world_run(w));
	assert_int_equal(w->n_writes, 1);
	assert_int_equal(ask.n_done, 0);
	world_finish(w);
	assert_int_equal(ask.n_done, 1);
	assert_int_equal(ask.status, 0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 30000 + WORLD_GRACE_MS);

	const struct netlink_write *write = &world_find(w, "10.0.0.2", "192.0.2.1")->write;

	assert_string_equal(write->set->name, "lease4");
	assert_int_equal(write->protocol, IPPROTO_TCP);
	assert_int_equal(write->port, 443);
}

static void same_again_needs_no_commit(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	scripted_pass(w->loop, 5000);
	struct world_ask ask = { .n_done = 0 };

	assert_int_equal(world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 }), 0);
	assert_false(world_run(w));
	assert_int_equal(w->n_writes, 1);
}

/* An answer from the cache says less each time; the element must still move on. */
static void cached_answer_moves_the_end(void **state)
{
	struct world *w = *state;
	uint64_t before;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	scripted_pass(w->loop, 30000);
	before = world_left_ms(w, "192.0.2.1");
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 30 }), 0);
	assert_true(world_left_ms(w, "192.0.2.1") > before);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 60000 + WORLD_GRACE_MS);
}

static void lease_always_outlives_the_ttl(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < 400; i++) {
		uint32_t ttl_s = i * 7 % 90;

		assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = ttl_s }), 0);
		assert_true(world_left_ms(w, "192.0.2.1") >=
			    (uint64_t)ttl_s * 1000 + WORLD_GRACE_MS / 2);
		scripted_pass(w->loop, (uint64_t)i * 13 % 3000);
	}
}

static void second_name_does_not_shorten_the_first(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "long.example", .ttl_s = 300 }), 0);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "short.example", .ttl_s = 5 }), 0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 300000 + WORLD_GRACE_MS);
	assert_int_equal(w->n_writes, 1);
	assert_int_equal(lease_table_status(w->table).n_leases, 2);
	assert_int_equal(lease_table_status(w->table).n_elements, 1);

	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "longer.example", .ttl_s = 900 }),
		0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 900000 + WORLD_GRACE_MS);
}

static void grant_that_expires_cuts_the_lease(void **state)
{
	struct world *w = *state;
	const struct policy_port port = { 443, 443, IPPROTO_TCP };
	const struct policy_grant soon = { .label = "soon",
					   .ports = &port,
					   .n_ports = 1,
					   .expires_s = loop_wall_s(w->loop) + 10 };
	const struct world_wish wish = { .ttl_s = 60, .grant = &soon };

	assert_int_equal(world_grant_now(w, wish), 0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 10000);
	scripted_pass(w->loop, 5000);
	assert_int_equal(world_grant_now(w, wish), 0);
	assert_true(world_left_ms(w, "192.0.2.1") <= 5000);
	scripted_pass(w->loop, 5000);
	assert_null(world_find(w, NULL, "192.0.2.1"));
	assert_int_equal(world_grant_now(w, wish), -ETIME);
	assert_null(world_find(w, NULL, "192.0.2.1"));
}

/* The element stands, but not for this grant. */
static void grant_that_expired_gets_no_other_ones_lease(void **state)
{
	struct world *w = *state;
	const struct policy_port port = { 443, 443, IPPROTO_TCP };
	const struct policy_grant ended = {
		.label = "ended", .ports = &port, .n_ports = 1, .expires_s = loop_wall_s(w->loop)
	};

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60, .grant = &ended }),
			 -ETIME);
	scripted_pass(w->loop, 1);
	assert_int_equal(lease_table_status(w->table).n_leases, 1);
}

static void ttl_is_no_longer_than_the_grants(void **state)
{
	const struct policy_grant a = { .expires_s = 1100 }, b = { .expires_s = 1050 },
				  c = { .expires_s = INT64_MAX };
	const struct policy_grant *grants[] = { &a, &b, &c };
	struct policy_verdict verdict = { .grants = grants, .n_grants = 3, .allowing = 7 };

	(void)state;
	assert_int_equal(lease_ttl(&verdict, 30, 1000), 30);
	assert_int_equal(lease_ttl(&verdict, 300, 1000), 50);
	assert_int_equal(lease_ttl(&verdict, 300, 1060), 0);
	verdict.allowing = 5;
	assert_int_equal(lease_ttl(&verdict, 300, 1000), 100);
	verdict.allowing = 4;
	assert_int_equal(lease_ttl(&verdict, 300, 1000), 300);
}

static void everything_ends_in_its_time(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "c.example", .ttl_s = 30 }), 0);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "a.example", .ttl_s = 10 }), 0);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .name = "b.example",
								 .ttl_s = 20,
								 .address = "192.0.2.2" }),
			 0);
	assert_int_equal(w->policy.refs, 1 + 3);
	scripted_pass(w->loop, 10000 + WORLD_GRACE_MS - 1);
	assert_int_equal(lease_table_status(w->table).n_leases, 3);
	scripted_pass(w->loop, 1);
	assert_int_equal(lease_table_status(w->table).n_leases, 2);
	scripted_pass(w->loop, 10000);
	assert_int_equal(lease_table_status(w->table).n_leases, 1);
	assert_int_equal(lease_table_status(w->table).n_elements, 1);
	scripted_pass(w->loop, 10000);
	assert_int_equal(lease_table_status(w->table).n_leases, 0);
	assert_int_equal(lease_table_status(w->table).n_elements, 0);
	assert_int_equal(w->policy.refs, 1);
}

/* The timer must not sleep through a lease that is shorter than those before it. */
static void short_lease_after_a_long_one_ends_in_time(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 86400 }), 0);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .ttl_s = 1, .address = "192.0.2.2" }), 0);
	scripted_pass(w->loop, 1000 + WORLD_GRACE_MS);
	assert_int_equal(lease_table_status(w->table).n_leases, 1);
}

/*
 * Where a lease goes.
 */

static void sets_follow_the_families(void **state)
{
	static const struct {
		const char *agent, *address, *set;
	} cases[] = {
		{ "10.0.0.2", "192.0.2.1", "lease4" },
		{ "fd00::2", "2001:db8::1", "ether6" },
		{ "10.0.0.2", "2001:db8::1", "ether6" },
		{ "fd00::2", "192.0.2.1", "ether4" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(
			world_grant_now(w, (struct world_wish){ .agent = cases[i].agent,
								.address = cases[i].address,
								.ttl_s = 60 }),
			0);
		assert_string_equal(
			world_find(w, cases[i].agent, cases[i].address)->write.set->name,
			cases[i].set);
	}
}

static void every_port_of_the_grant_is_leased(void **state)
{
	static const struct policy_port ports[] = { { 80, 80, IPPROTO_TCP },
						    { 443, 443, IPPROTO_TCP },
						    { 443, 443, IPPROTO_UDP },
						    { 8000, 8004, IPPROTO_TCP } };
	static const struct policy_grant many = { .ports = ports,
						  .n_ports = 4,
						  .expires_s = INT64_MAX };
	struct world *w = *state;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60, .grant = &many }), 0);
	assert_int_equal(world_alive(w), 8);
	assert_int_equal(w->n_writes, 1);
}

static void grants_without_their_bit_give_nothing(void **state)
{
	static const struct policy_port port = { 22, 22, IPPROTO_TCP };
	static const struct policy_grant good = { .ports = &port,
						  .n_ports = 1,
						  .expires_s = INT64_MAX };
	static const struct policy_port other_port = { 25, 25, IPPROTO_TCP };
	static const struct policy_grant bad = { .ports = &other_port,
						 .n_ports = 1,
						 .expires_s = INT64_MAX };
	static const struct policy_grant *const both[] = { &bad, &good };
	const struct policy_verdict verdict = { .grants = both, .n_grants = 2, .allowing = 2 };
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };
	struct address address;
	struct name name;
	struct lease_wanted wanted = { .name = &name,
				       .addresses = &address,
				       .verdicts = &verdict,
				       .n_addresses = 1,
				       .ttl_s = 60 };

	world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 }); /* sets ask.done */
	world_settle(w);
	assert_int_equal(address_parse("10.0.0.3", &wanted.agent), 0);
	assert_int_equal(address_parse("192.0.2.9", &address), 0);
	assert_int_equal(name_parse("x.example", &name), 0);
	assert_int_equal(lease_grant(w->table, &ask.ask, &w->policy, &wanted), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(world_alive(w), 2);
	assert_int_equal(world_find(w, NULL, "192.0.2.9")->write.port, 22);
}

static void longest_name_is_kept_whole(void **state)
{
	static const char label[] =
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk";
	struct world *w = *state;
	struct world_seen seen = { .n = 0 };
	char text[256];
	struct name name;

	/* Three labels of 63 bytes and one of 61, their lengths and the root's: 255. */
	snprintf(text, sizeof(text), "%s.%s.%s.%.61s", label, label, label, label);
	assert_int_equal(name_parse(text, &name), 0);
	assert_int_equal(name.len, NAME_WIRE_MAX);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .name = text, .ttl_s = 60 }), 0);
	lease_table_visit(w->table, world_see, &seen);
	assert_int_equal(seen.n, 1);
	assert_true(name_equal(&seen.name, &name));
	assert_int_equal(world_find(w, NULL, "192.0.2.1")->write.name_len, NAME_WIRE_MAX);
}

static void visit_says_what_stands(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };
	struct world_seen seen = { .n = 0 };

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	assert_int_equal(
		world_grant(w, &ask, (struct world_wish){ .ttl_s = 60, .address = "192.0.2.2" }),
		-EINPROGRESS);
	lease_table_visit(w->table, world_see, &seen);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.n_standing, 1);
	assert_int_equal(seen.left_ms, 60000 + WORLD_GRACE_MS);
	lease_ask_drop(&ask.ask);
}

/*
 * Groups.
 */

static void one_turn_is_one_commit(void **state)
{
	struct world *w = *state;
	struct world_ask asks[150];

	memset(asks, 0, sizeof(asks));
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(world_grant_many(w, &asks[i], i, 1), -EINPROGRESS);
	assert_true(world_run(w));
	assert_int_equal(w->n_last, 100);
	for (unsigned i = 100; i < 150; i++)
		assert_int_equal(world_grant_many(w, &asks[i], i, 1), -EINPROGRESS);
	scripted_turn(w->loop);
	world_finish(w);
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(asks[i].n_done, i < 100);
	assert_true(world_run(w));
	assert_int_equal(w->n_last, 50);
	world_finish(w);
	assert_int_equal(w->n_writes, 2);
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(asks[i].n_done, 1);
}

static void large_ask_takes_several_batches(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	assert_int_equal(world_grant_many(w, &ask, 0, 2 * LIMIT_BATCH_ELEMENTS + 1), -EINPROGRESS);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(world_run(w));
		assert_int_equal(w->n_last, LIMIT_BATCH_ELEMENTS);
		world_finish(w);
		assert_int_equal(ask.n_done, 0);
	}
	world_settle(w);
	assert_int_equal(ask.n_done, 1);
	assert_int_equal(world_alive(w), 2 * LIMIT_BATCH_ELEMENTS + 1);
}

static void what_is_waited_for_goes_first(void **state)
{
	struct world *w = *state;
	struct world_ask many = { .n_done = 0 }, one = { .n_done = 0 };

	world_grant_many(w, &many, 0, 3 * LIMIT_BATCH_ELEMENTS);
	world_settle(w);
	w->n_elements = 0;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	assert_int_equal(world_grant_many(w, &one, 3 * LIMIT_BATCH_ELEMENTS - 1, 1), -EINPROGRESS);
	assert_true(world_run(w));
	world_finish(w);
	assert_int_equal(one.n_done, 1);
	assert_int_equal(world_alive(w), LIMIT_BATCH_ELEMENTS);
	world_settle(w);
	assert_int_equal(world_alive(w), 3 * LIMIT_BATCH_ELEMENTS);
}

/* The second asker finds that nothing is to do, but the first one's commit has not landed. */
static void second_ask_waits_for_the_same_commit(void **state)
{
	struct world *w = *state;
	struct world_ask first = { .n_done = 0 }, second = { .n_done = 0 };

	assert_int_equal(world_grant(w, &first, (struct world_wish){ .ttl_s = 60 }), -EINPROGRESS);
	assert_true(world_run(w));
	assert_int_equal(world_grant(w, &second, (struct world_wish){ .ttl_s = 60 }), -EINPROGRESS);
	scripted_turn(w->loop);
	assert_int_equal(second.n_done, 0);
	world_finish(w);
	assert_int_equal(first.n_done, 1);
	assert_int_equal(second.n_done, 1);
	assert_int_equal(w->n_writes, 1);
}

static void ask_for_longer_waits_for_the_next_commit(void **state)
{
	struct world *w = *state;
	struct world_ask first = { .n_done = 0 }, second = { .n_done = 0 };

	assert_int_equal(world_grant(w, &first, (struct world_wish){ .ttl_s = 60 }), -EINPROGRESS);
	assert_true(world_run(w));
	assert_int_equal(world_grant(w, &second, (struct world_wish){ .ttl_s = 600 }),
			 -EINPROGRESS);
	world_finish(w);
	assert_int_equal(first.n_done, 1);
	assert_int_equal(second.n_done, 0);
	world_settle(w);
	assert_int_equal(second.n_done, 1);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 600000 + WORLD_GRACE_MS);
}

/*
 * Asks.
 */

static void dropped_ask_hears_nothing(void **state)
{
	struct world *w = *state;
	struct world_ask queued = { .n_done = 0 }, under_way = { .n_done = 0 };

	world_grant_many(w, &under_way, 0, 3);
	assert_true(world_run(w));
	world_grant_many(w, &queued, 2, 3);
	lease_ask_drop(&under_way.ask);
	lease_ask_drop(&queued.ask);
	lease_ask_drop(&queued.ask);
	world_finish(w);
	world_settle(w);
	assert_int_equal(under_way.n_done + queued.n_done, 0);
	assert_int_equal(world_alive(w), 5);
	assert_int_equal(world_grant_many(w, &under_way, 0, 5), 0);
}

struct chained {
	struct world_ask ask;
	struct world *world;
	struct world_ask *victim;
	struct world_ask *next;
	unsigned n_done;
};

static void drop_and_ask(struct lease_ask *ask, int status)
{
	struct chained *it = list_owner(ask, struct chained, ask.ask);

	assert_int_equal(status, 0);
	it->n_done++;
	lease_ask_drop(&it->victim->ask);
	assert_int_equal(world_grant_many(it->world, it->next, 100, 1), -EINPROGRESS);
}

/* What an ask may do when it is told: end others that are about to be told, and ask again. */
static void done_may_drop_and_ask(void **state)
{
	struct world *w = *state;
	struct world_ask victim = { .n_done = 0 }, next = { .n_done = 0 };
	struct chained it = {
		.ask.ask.done = drop_and_ask, .world = w, .victim = &victim, .next = &next
	};

	assert_int_equal(world_grant_many(w, &it.ask, 0, 1), -EINPROGRESS);
	assert_int_equal(world_grant_many(w, &victim, 0, 1), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(it.n_done, 1);
	assert_int_equal(victim.n_done, 0);
	assert_int_equal(next.n_done, 1);
}

static void table_may_go_while_an_errand_is_under_way(void **state)
{
	struct world *w = *state;
	struct world_ask under_way = { .n_done = 0 }, queued = { .n_done = 0 };

	world_grant_many(w, &under_way, 0, 10);
	scripted_turn(w->loop);
	assert_non_null(w->errand);
	world_grant_many(w, &queued, 5, 10);
	lease_table_free(w->table);
	w->table = NULL;
	assert_int_equal(under_way.n_done + queued.n_done, 0);
	assert_null(under_way.ask.waits.next);
	assert_null(queued.ask.waits.next);
	lease_ask_drop(&under_way.ask);
}

/* It may not be freed then, and its asker must hear of it in the end. */
static void element_may_end_while_it_is_under_way(void **state)
{
	struct world *w = *state;
	struct world_ask under_way = { .n_done = 0 }, queued = { .n_done = 0 };

	world_grant(w, &under_way, (struct world_wish){ .ttl_s = 1 });
	scripted_turn(w->loop);
	assert_non_null(w->errand);
	world_grant(w, &queued, (struct world_wish){ .ttl_s = 1, .address = "192.0.2.2" });
	scripted_pass(w->loop, 3ull * WORLD_GRACE_MS);
	assert_int_equal(lease_table_status(w->table).n_leases, 0);
	assert_int_equal(lease_table_status(w->table).n_elements, 1);
	assert_int_equal(queued.n_done, 1);
	assert_int_equal(queued.status, -ETIME);
	assert_int_equal(under_way.n_done, 0);
	assert_true(world_run(w));
	world_finish(w);
	assert_int_equal(under_way.n_done, 1);
	scripted_pass(w->loop, 1000);
	assert_int_equal(lease_table_status(w->table).n_elements, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(grant_waits_for_the_kernel),
		WITH_WORLD(same_again_needs_no_commit),
		WITH_WORLD(cached_answer_moves_the_end),
		WITH_WORLD(lease_always_outlives_the_ttl),
		WITH_WORLD(second_name_does_not_shorten_the_first),
		WITH_WORLD(grant_that_expires_cuts_the_lease),
		WITH_WORLD(grant_that_expired_gets_no_other_ones_lease),
		cmocka_unit_test(ttl_is_no_longer_than_the_grants),
		WITH_WORLD(everything_ends_in_its_time),
		WITH_WORLD(short_lease_after_a_long_one_ends_in_time),
		WITH_WORLD(sets_follow_the_families),
		WITH_WORLD(every_port_of_the_grant_is_leased),
		WITH_WORLD(grants_without_their_bit_give_nothing),
		WITH_WORLD(longest_name_is_kept_whole),
		WITH_WORLD(visit_says_what_stands),
		WITH_WORLD(one_turn_is_one_commit),
		WITH_WORLD(large_ask_takes_several_batches),
		WITH_WORLD(what_is_waited_for_goes_first),
		WITH_WORLD(second_ask_waits_for_the_same_commit),
		WITH_WORLD(ask_for_longer_waits_for_the_next_commit),
		WITH_WORLD(dropped_ask_hears_nothing),
		WITH_WORLD(done_may_drop_and_ask),
		WITH_WORLD(table_may_go_while_an_errand_is_under_way),
		WITH_WORLD(element_may_end_while_it_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
