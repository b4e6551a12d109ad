/* SPDX-License-Identifier: MIT */
#include "tests/unit/lease_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lease/table.h"
#include "tests/unit/test.h"

static struct world *the_world;

/*
 * The thread.
 */

struct loop_errand_thread {
	char nothing;
};

int loop_errand_thread_new(struct loop *loop, const char *name,
			   struct loop_errand_thread **ret_thread)
{
	(void)loop, (void)name;
	*ret_thread = calloc(1, sizeof(**ret_thread));
	return *ret_thread != NULL ? 0 : -ENOMEM;
}

void loop_errand_start(struct loop_errand_thread *thread, struct loop_errand *errand)
{
	(void)thread;
	assert_null(the_world->errand);
	the_world->errand = errand;
	the_world->ran = false;
}

/* The one under way runs to its end, as base/loop.h has it; one that has not begun is dropped. */
void loop_errand_thread_free(struct loop_errand_thread *thread)
{
	if (the_world->errand != NULL && !the_world->ran && !the_world->drops)
		the_world->errand->run(the_world->errand);
	the_world->errand = NULL;
	free(thread);
}

int loop_watch_start(struct loop *loop, struct loop_watch *watch, int fd, unsigned events,
		     void (*ready)(struct loop_watch *watch, unsigned events))
{
	(void)loop, (void)fd, (void)events;
	watch->ready = ready;
	return 0;
}

void loop_watch_stop(struct loop_watch *watch)
{
	(void)watch;
}

/*
 * The kernel.
 */

struct netlink {
	char nothing;
};

int netlink_open(enum netlink_refresh refresh, struct netlink **ret_netlink, struct err *err)
{
	(void)refresh, (void)err;
	*ret_netlink = calloc(1, sizeof(**ret_netlink));
	assert_non_null(*ret_netlink);
	the_world->n_open++;
	return 0;
}

void netlink_close(struct netlink *netlink)
{
	if (netlink == NULL)
		return;
	the_world->n_open--;
	free(netlink);
}

int netlink_set_find(struct netlink *netlink, const struct policy_push *push,
		     struct netlink_set *ret_set, struct err *err)
{
	(void)netlink, (void)err;
	*ret_set = (struct netlink_set){ .table = push->table, .name = push->set, .version = 4 };
	ret_set->form =
		strcmp(push->set, "tuples") == 0 ? NETLINK_FORM_TUPLE : NETLINK_FORM_ADDRESS;
	return 0;
}

/* In place of libc's: what is closed twice may be somebody else's by then. */
int close(int fd)
{
	long r = syscall(SYS_close, fd);

	assert_int_equal(r, 0);
	return (int)r;
}

int netlink_events_open(const struct netlink *netlink)
{
	(void)netlink;
	return eventfd(0, EFD_CLOEXEC);
}

int netlink_load(struct netlink *netlink, const struct ruleset *ruleset, int *ret_events,
		 struct err *err)
{
	(void)err;
	assert_non_null(ruleset);
	the_world->n_loads++;
	the_world->gone = false;
	the_world->n_elements = 0;
	*ret_events = netlink_events_open(netlink);
	return 0;
}

unsigned netlink_events_read(int events, const struct netlink_set *sets, size_t n_sets, bool rules)
{
	unsigned touched = the_world->touched;

	(void)events, (void)sets, (void)n_sets, (void)rules;
	the_world->touched = 0;
	return touched;
}

static bool is_same(const struct netlink_write *a, const struct netlink_write *b)
{
	return a->set == b->set && address_equal(&a->agent, &b->agent) &&
	       address_equal(&a->address, &b->address) && a->protocol == b->protocol &&
	       a->port == b->port;
}

static bool is_alive(const struct world_element *element)
{
	return element->end_ms > loop_now_ms(the_world->loop);
}

/* The place for @write: its own, or a new one, if there is room. */
static struct world_element *find_place(const struct netlink_write *write)
{
	struct world *w = the_world;
	unsigned i = 0;

	while (i < w->n_elements &&
	       !(is_alive(&w->elements[i]) && is_same(&w->elements[i].write, write)))
		i++;
	if (i < w->n_elements)
		return &w->elements[i];
	if (w->capacity > 0 && world_alive(w) >= w->capacity)
		return NULL;
	assert_true(w->n_elements < WORLD_ELEMENTS);
	return &w->elements[w->n_elements++];
}

static int give_all(struct netlink_write *writes, size_t n, int status)
{
	for (size_t i = 0; i < n; i++)
		writes[i].status = status;
	return status;
}

/* All or nothing, as in a transaction. */
int netlink_write(struct netlink *netlink, struct netlink_write *writes, size_t n)
{
	struct world *w = the_world;
	unsigned before = w->n_elements;
	int failure = w->failure_once < 0 ? w->failure_once : w->failure;

	(void)netlink;
	assert_true(n <= LIMIT_BATCH_ELEMENTS);
	w->n_writes++;
	w->n_last = (unsigned)n;
	w->failure_once = 0;
	if (failure < 0)
		return give_all(writes, n, failure);
	if (w->gone)
		return give_all(writes, n, -ENOENT);
	give_all(writes, n, -ECANCELED);
	for (size_t i = 0; i < n; i++) {
		struct world_element *place = find_place(&writes[i]);

		if (place == NULL) {
			writes[i].status = failure = -ENFILE;
			continue;
		}
		place->write = writes[i];
		place->end_ms = loop_now_ms(w->loop) + writes[i].timeout_ms;
	}
	if (failure < 0) {
		w->n_elements = before;
		return failure;
	}
	return give_all(writes, n, 0);
}

/*
 * The test's side.
 */

static void on_report(void *arg, int status, const char *text)
{
	struct world *w = (struct world *)arg;

	assert_true(strlen(text) > 10);
	w->n_reports++;
	w->report_status = status;
}

void world_open(struct world *w)
{
	struct err err = { .code = 0 };

	the_world = w;
	w->policy.nftables.family = "inet";
	w->policy.nftables.table = "bailiwick";
	w->policy.nftables.size = 65536;
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(lease_table_new(w->loop, &w->policy, on_report, w, &w->table, &err), 0);
}

void world_close(struct world *w)
{
	lease_table_free(w->table);
	assert_int_equal(w->policy.refs, 0);
	assert_int_equal(w->n_open, 0);
	loop_free(w->loop);
	the_world = NULL;
}

static void on_done(struct lease_ask *ask, int status)
{
	struct world_ask *it = list_owner(ask, struct world_ask, ask);

	it->n_done++;
	it->status = status;
}

static const struct policy_port https[] = { { 443, 443, IPPROTO_TCP } };
static const struct policy_grant plain = {
	.label = "plain", .ports = https, .n_ports = 1, .expires_s = INT64_MAX
};

static int grant(struct world *w, struct world_ask *ask, const struct world_wish *wish,
		 const struct address *addresses, unsigned n)
{
	struct policy_verdict verdicts[LIMIT_BATCH_ELEMENTS * 4];
	struct name name;
	struct lease_wanted wanted = { .name = &name,
				       .addresses = addresses,
				       .verdicts = verdicts,
				       .n_addresses = n,
				       .ttl_s = wish->ttl_s,
				       .now_s = loop_wall_s(w->loop) };

	assert_true(n <= LENGTH(verdicts));
	assert_int_equal(address_parse(wish->agent, &wanted.agent), 0);
	assert_int_equal(name_parse(wish->name, &name), 0);
	for (unsigned i = 0; i < n; i++)
		verdicts[i] = (struct policy_verdict){
			.code = POLICY_ALLOW, .grants = &wish->grant, .n_grants = 1, .allowing = 1
		};
	if (ask->ask.done == NULL)
		ask->ask.done = on_done;
	return lease_grant(w->table, &ask->ask, &w->policy, &wanted);
}

int world_grant(struct world *w, struct world_ask *ask, struct world_wish wish)
{
	struct address address;

	wish.agent = wish.agent != NULL ? wish.agent : "10.0.0.2";
	wish.address = wish.address != NULL ? wish.address : "192.0.2.1";
	wish.name = wish.name != NULL ? wish.name : "www.example.com";
	wish.grant = wish.grant != NULL ? wish.grant : &plain;
	assert_int_equal(address_parse(wish.address, &address), 0);
	return grant(w, ask, &wish, &address, 1);
}

int world_grant_many(struct world *w, struct world_ask *ask, unsigned first, unsigned n)
{
	const struct world_wish wish = { "10.0.0.2", NULL, "www.example.com", 300, &plain };
	struct address addresses[LIMIT_BATCH_ELEMENTS * 4];

	assert_true(n <= LENGTH(addresses));
	for (unsigned i = 0; i < n; i++) {
		uint32_t bytes = htonl(0xc6120000 + first + i);

		addresses[i] = address_from_bytes((const uint8_t *)&bytes, 4);
	}
	return grant(w, ask, &wish, addresses, n);
}

bool world_run(struct world *w)
{
	scripted_turn(w->loop);
	if (w->errand == NULL || w->ran)
		return false;
	w->errand->run(w->errand);
	w->ran = true;
	return true;
}

void world_finish(struct world *w)
{
	struct loop_errand *errand = w->errand;

	assert_non_null(errand);
	assert_true(w->ran);
	w->errand = NULL;
	errand->done(errand);
	scripted_turn(w->loop);
}

void world_settle(struct world *w)
{
	for (unsigned i = 0; i < 100 && world_run(w); i++)
		world_finish(w);
	assert_null(w->errand);
}

const struct world_element *world_find(const struct world *w, const char *agent,
				       const char *address)
{
	struct address from = { .family = 0 }, to;

	assert_int_equal(address_parse(address, &to), 0);
	if (agent != NULL)
		assert_int_equal(address_parse(agent, &from), 0);
	for (unsigned i = 0; i < w->n_elements; i++) {
		const struct world_element *element = &w->elements[i];

		if (is_alive(element) && address_equal(&element->write.address, &to) &&
		    (agent == NULL || address_equal(&element->write.agent, &from)))
			return element;
	}
	return NULL;
}

unsigned world_alive(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_elements; i++)
		n += is_alive(&w->elements[i]);
	return n;
}

int world_set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return -1;
	w->policy.nftables.manage = POLICY_MANAGE_SETS;
	w->policy.nftables.grace_s = WORLD_GRACE_MS / 1000;
	world_open(w);
	*state = w;
	return 0;
}

int world_tear_down(void **state)
{
	world_close(*state);
	free(*state);
	return 0;
}

uint64_t world_left_ms(struct world *w, const char *address)
{
	const struct world_element *element = world_find(w, NULL, address);

	assert_non_null(element);
	return element->end_ms - loop_now_ms(w->loop);
}

/* Grant, and let the kernel answer. */
int world_grant_now(struct world *w, struct world_wish wish)
{
	struct world_ask ask = { .n_done = 0 };
	int r = world_grant(w, &ask, wish);

	if (r != -EINPROGRESS)
		return r;
	world_settle(w);
	assert_int_equal(ask.n_done, 1);
	return ask.status;
}

bool world_see(void *arg, const struct address *agent, const struct address *address,
	       uint8_t protocol, uint16_t port, const struct name *name,
	       const struct policy_grant *grant, uint64_t left, bool stands)
{
	struct world_seen *seen = (struct world_seen *)arg;

	assert_int_equal(agent->family, 4);
	assert_int_equal(address->family, 4);
	assert_int_equal(protocol, IPPROTO_TCP);
	assert_int_equal(port, 443);
	assert_non_null(grant);
	seen->n++;
	seen->n_standing += stands;
	seen->name = *name;
	seen->left_ms = left;
	return true;
}
