/* SPDX-License-Identifier: MIT */
/* The lease table in trouble: failures, full sets, others who write; and its limits and modes. */
#include "lease/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/lease_world.h"
#include "tests/unit/test.h"

/*
 * Trouble.
 */

static void failure_is_told_and_mended(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 300 }), 0);
	w->failure = -EPERM;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 300,
									 .address = "192.0.2.2" }),
				 -EPERM);
	assert_int_equal(w->n_reports, 1);
	assert_int_equal(w->report_status, -EPERM);
	assert_false(lease_table_status(w->table).up);

	/* Nobody asks: it tries again by itself, but not all the time. */
	unsigned n_writes = w->n_writes;

	for (unsigned i = 0; i < 2000; i++) {
		scripted_pass(w->loop, 1);
		world_settle(w);
	}
	assert_in_range(w->n_writes - n_writes, 3, 5);
	w->failure = 0;
	w->n_elements = 0;
	scripted_pass(w->loop, 500);
	world_settle(w);
	assert_int_equal(w->n_reports, 2);
	assert_int_equal(w->report_status, 0);
	assert_true(lease_table_status(w->table).up);
	assert_int_equal(world_alive(w), 2);
	assert_int_equal(world_grant(w, &ask, (struct world_wish){ .ttl_s = 300 }), 0);
}

/* Also who came while the batch was under way, and found his element in it. */
static void failure_ends_all_who_wait(void **state)
{
	struct world *w = *state;
	struct world_ask first = { .n_done = 0 }, second = { .n_done = 0 };

	world_grant(w, &first, (struct world_wish){ .ttl_s = 60 });
	w->failure_once = -EIO;
	assert_true(world_run(w));
	world_grant(w, &second, (struct world_wish){ .ttl_s = 600 });
	world_finish(w);
	assert_int_equal(first.status, -EIO);
	assert_int_equal(second.status, -EIO);
	assert_int_equal(first.n_done + second.n_done, 2);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 600 }), 0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 600000 + WORLD_GRACE_MS);
}

/* What was acknowledged before a failure is not known to stand after it. */
static void recovery_writes_everything_again(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 300 }), 0);
	w->failure_once = -EIO;
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .ttl_s = 300, .address = "192.0.2.2" }),
		-EIO);
	w->n_elements = 0;
	assert_int_equal(
		world_grant(w, &ask, (struct world_wish){ .ttl_s = 300, .address = "192.0.2.3" }),
		-EINPROGRESS);
	world_settle(w);
	assert_int_equal(ask.status, 0);
	assert_int_equal(world_alive(w), 3);
}

static void full_set_fails_only_what_does_not_fit(void **state)
{
	struct world *w = *state;
	struct world_ask two = { .n_done = 0 }, three = { .n_done = 0 };

	w->capacity = 4;
	assert_int_equal(world_grant_many(w, &two, 0, 2), -EINPROGRESS);
	assert_int_equal(world_grant_many(w, &three, 10, 3), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(two.n_done, 1);
	assert_int_equal(two.status, 0);
	assert_int_equal(three.n_done, 1);
	assert_int_equal(three.status, -ENFILE);
	assert_int_equal(world_alive(w), 4);
	/* A person is told, but not for each answer. */
	assert_int_equal(w->n_reports, 1);
	assert_int_equal(w->report_status, -ENFILE);
	assert_int_equal(world_grant_many(w, &three, 10, 3), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(three.status, -ENFILE);
	assert_int_equal(w->n_reports, 1);
	assert_true(lease_table_status(w->table).up);
	assert_int_equal(world_grant_many(w, &two, 0, 2), 0);
	w->capacity = 5;
	assert_int_equal(world_grant_many(w, &three, 10, 3), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(three.status, 0);
}

static void lost_answer_is_asked_for_again(void **state)
{
	struct world *w = *state;

	w->failure_once = -ENOBUFS;
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	assert_int_equal(w->n_writes, 2);
	w->failure = -ENOBUFS;
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .ttl_s = 60, .address = "192.0.2.2" }),
		-ENOBUFS);
}

static void lost_table_is_loaded_again(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	assert_int_equal(w->n_loads, 1);
	w->gone = true;
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .ttl_s = 60, .address = "192.0.2.2" }), 0);
	assert_int_equal(w->n_loads, 2);
	assert_int_equal(world_alive(w), 2);
	assert_int_equal(w->n_reports, 1);
	assert_true(lease_table_status(w->table).up);
}

static void what_others_delete_is_restored(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	world_grant_many(w, &ask, 0, 10);
	world_settle(w);
	w->n_elements = 5;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	assert_false(lease_table_status(w->table).up);
	assert_int_equal(world_grant_many(w, &ask, 0, 10), -EINPROGRESS);
	world_settle(w);
	assert_int_equal(world_alive(w), 10);
	assert_int_equal(w->n_loads, 1);
	assert_int_equal(w->n_reports, 1);
	assert_int_equal(w->report_status, 0);

	/* Without an ask, too. */
	scripted_pass(w->loop, 1000);
	w->n_elements = 0;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	world_settle(w);
	assert_int_equal(world_alive(w), 10);
	assert_int_equal(lease_table_status(w->table).n_restores, 2);
}

/* However many names share it, and in whatever order they came. */
static void restored_element_keeps_its_longest_lease(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "a.example", .ttl_s = 600 }), 0);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .name = "b.example", .ttl_s = 5 }),
			 0);
	w->n_elements = 0;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	world_settle(w);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 600000 + WORLD_GRACE_MS);
}

static void touched_ruleset_is_loaded_again(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), 0);
	w->touched = NETLINK_TOUCHED_RULESET | NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	world_settle(w);
	assert_int_equal(w->n_loads, 2);
	assert_int_equal(world_alive(w), 1);
	assert_int_equal(w->n_reports, 1);
	assert_true(lease_table_status(w->table).up);
}

/* What the batch before had opened is not the dropped one's to close; see close() in the world. */
static void batch_that_is_dropped_at_the_end_closes_nothing(void **state)
{
	struct world *w = *state;
	static struct world_ask ask; /* until the table is freed */

	w->touched = NETLINK_TOUCHED_RULESET;
	lease_table_poll(w->table, NULL);
	world_settle(w);
	assert_int_equal(w->n_loads, 2);
	ask = (struct world_ask){ .n_done = 0 };
	world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 });
	scripted_turn(w->loop);
	assert_non_null(w->errand);
	w->drops = true;
}

/* The acknowledgement is older than what somebody did: it says nothing any more. */
static void change_during_a_commit_voids_its_acknowledgement(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 });
	assert_true(world_run(w));
	w->n_elements = 0;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	world_finish(w);
	assert_int_equal(ask.n_done, 0);
	world_settle(w);
	assert_int_equal(ask.n_done, 1);
	assert_int_equal(ask.status, 0);
	assert_int_equal(world_alive(w), 1);
}

/* The same while nothing could be written before: the first success must not hide it. */
static void change_during_the_recovery_is_not_hidden(void **state)
{
	struct world *w = *state;
	struct world_ask ask = { .n_done = 0 };

	w->failure_once = -EIO;
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 60 }), -EIO);
	world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 });
	assert_true(world_run(w));
	w->n_elements = 0;
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	world_finish(w);
	assert_int_equal(ask.n_done, 0);
	world_settle(w);
	assert_int_equal(ask.status, 0);
	assert_int_equal(world_alive(w), 1);
}

static void two_writers_do_not_chase_each_other(void **state)
{
	struct world *w = *state;
	unsigned before;

	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 3600 }), 0);
	before = w->n_writes;
	for (unsigned i = 0; i < 1000; i++) {
		w->n_elements = 0;
		w->touched = NETLINK_TOUCHED_ELEMENTS;
		lease_table_poll(w->table, NULL);
		world_settle(w);
		scripted_pass(w->loop, 1);
		world_settle(w);
	}
	assert_in_range(w->n_writes - before, 8, 12);

	/* But who asks does not wait for that. */
	w->touched = NETLINK_TOUCHED_ELEMENTS;
	lease_table_poll(w->table, NULL);
	before = w->n_writes;
	assert_int_equal(world_grant_now(w, (struct world_wish){ .ttl_s = 3600 }), 0);
	assert_int_equal(w->n_writes, before + 1);
}

/*
 * Limits.
 */

static void names_of_one_element_are_limited(void **state)
{
	struct world *w = *state;
	char name[64];

	for (unsigned i = 0; i <= LIMIT_LEASES_PER_ELEMENT; i++) {
		snprintf(name, sizeof(name), "n%u.example.com", i);
		assert_int_equal(
			world_grant_now(w, (struct world_wish){ .name = name, .ttl_s = 60 }),
			i < LIMIT_LEASES_PER_ELEMENT ? 0 : -ENFILE);
	}
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .name = "n0.example.com", .ttl_s = 60 }),
		0);
	assert_int_equal(world_grant_now(w, (struct world_wish){ .name = name,
								 .ttl_s = 60,
								 .address = "192.0.2.2" }),
			 0);
}

/*
 * Other modes.
 */

static void without_a_mirror_everything_stands_at_once(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	static const struct policy_port all[] = { { 1, 256, IPPROTO_TCP } };
	static const struct policy_grant wide = { .ports = all,
						  .n_ports = 1,
						  .expires_s = INT64_MAX };
	struct world_ask ask = { .n_done = 0 };
	struct world_seen seen = { .n = 0 };
	char address[32];
	int r = 0;

	(void)state;
	assert_non_null(w);
	world_open(w);
	assert_int_equal(w->n_open, 0);
	assert_int_equal(world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 }), 0);
	lease_table_poll(w->table, NULL);
	lease_table_visit(w->table, world_see, &seen);
	assert_int_equal(seen.n_standing, 1);
	assert_true(lease_table_status(w->table).up);

	/* The table is limited, and nothing alive is put out of it. */
	for (unsigned i = 0; i < LIMIT_LEASES / 256 && r == 0; i++) {
		snprintf(address, sizeof(address), "198.18.%u.%u", i / 256, i % 256);
		r = world_grant(
			w, &ask,
			(struct world_wish){ .ttl_s = 300, .address = address, .grant = &wide });
	}
	assert_int_equal(r, -ENFILE);
	assert_int_equal(lease_table_status(w->table).n_leases, LIMIT_LEASES);
	assert_int_equal(world_grant(w, &ask, (struct world_wish){ .ttl_s = 60 }), 0);
	scripted_pass(w->loop, 61000);
	scripted_pass(w->loop, 300000);
	assert_int_equal(lease_table_status(w->table).n_leases, 0);
	assert_int_equal(lease_table_status(w->table).n_elements, 0);
	world_close(w);
	free(w);
}

static void pushed_elements_are_shared_by_agents(void **state)
{
	static const struct policy_push pushes[] = {
		{ .family = "ip", .table = "fw", .set = "plain" },
		{ .family = "ip", .table = "fw", .set = "tuples" }
	};
	struct world *w = calloc(1, sizeof(*w));
	struct world_ask ask = { .n_done = 0 };

	(void)state;
	assert_non_null(w);
	w->policy.nftables.pushes = pushes;
	w->policy.nftables.n_pushes = 2;
	world_open(w);
	assert_int_equal(w->n_loads, 0);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .agent = "10.0.0.2", .ttl_s = 300 }), 0);
	assert_int_equal(world_alive(w), 2);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .agent = "10.0.0.3", .ttl_s = 60 }), 0);
	assert_int_equal(world_alive(w), 2);
	assert_int_equal(w->n_writes, 1);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 300000);
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .agent = "10.0.0.4", .ttl_s = 900 }), 0);
	assert_int_equal(world_left_ms(w, "192.0.2.1"), 900000);
	assert_int_equal(
		world_grant(w, &ask, (struct world_wish){ .address = "2001:db8::1", .ttl_s = 60 }),
		0);
	assert_int_equal(w->n_writes, 2);

	/* They are nobody's but the set's owner's: a table of ours is not made. */
	w->gone = true;
	assert_int_equal(
		world_grant_now(w, (struct world_wish){ .address = "192.0.2.2", .ttl_s = 60 }),
		-ENOENT);
	assert_int_equal(w->n_loads, 0);
	world_close(w);
	free(w);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(failure_is_told_and_mended),
		WITH_WORLD(failure_ends_all_who_wait),
		WITH_WORLD(recovery_writes_everything_again),
		WITH_WORLD(full_set_fails_only_what_does_not_fit),
		WITH_WORLD(lost_answer_is_asked_for_again),
		WITH_WORLD(lost_table_is_loaded_again),
		WITH_WORLD(what_others_delete_is_restored),
		WITH_WORLD(restored_element_keeps_its_longest_lease),
		WITH_WORLD(touched_ruleset_is_loaded_again),
		WITH_WORLD(batch_that_is_dropped_at_the_end_closes_nothing),
		WITH_WORLD(change_during_a_commit_voids_its_acknowledgement),
		WITH_WORLD(change_during_the_recovery_is_not_hidden),
		WITH_WORLD(two_writers_do_not_chase_each_other),
		WITH_WORLD(names_of_one_element_are_limited),
		cmocka_unit_test(without_a_mirror_everything_stands_at_once),
		cmocka_unit_test(pushed_elements_are_shared_by_agents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
