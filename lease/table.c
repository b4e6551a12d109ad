/* SPDX-License-Identifier: MIT */
/*
 * The table: which leases there are, and until when.
 *
 * A lease hangs from the element of its (agent, address, protocol, port); the
 * sets of others have elements of their own, which take no notice of agents.
 * Ends only move later, so whatever ends does so by its place in a heap.
 */
#include "lease/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/own.h"
#include "lease/guard.h"
#include "lease/map.h"
#include "lease/mirror.h"
#include "lease/table.h"

enum {
	MS = 1000,          /* in a second */
	END_AT_ONCE = 4096, /* leases that end in one turn of the loop */
	LEAST_MS = 1000,    /* a TTL of 0 must do for one connection, without any grace too */
	BUSY_MS = 50,       /* until an element is asked again that could not be dropped */
};

struct lease {
	struct map_node node; /* by element, grant and name */
	struct heap_node end; /* no later than until_ms */
	struct element *element;
	struct policy *policy; /* in which grant lies */
	const struct policy_grant *grant;
	uint64_t until_ms;
	uint64_t ttl_ms; /* the longest that it was granted for */
	uint8_t name_len;
	uint8_t name_wire[];
};

struct lease_table {
	struct guard guard;
	struct policy *policy; /* whose [nftables] the mirror serves */
	struct mirror *mirror; /* NULL: the policy wants none */
	uint64_t grace_ms, seed;
	struct map elements, leases;
	struct heap element_ends, lease_ends;
	struct loop_timer timer;
	uint64_t timer_ms; /* when it fires; UINT64_MAX: never */
};

/*
 * Elements.
 */

/* The element of our own for a lease. */
static struct element_key key_of_own(const struct address *agent, const struct address *address,
				     uint8_t protocol, uint16_t port)
{
	struct element_key key = { .protocol = protocol, .port = port };

	key.agent = *agent;
	key.address = *address;
	/* Only over IPv4 does a host connect from the very address that it asked from. */
	if (agent->family == 4 && address->family == 4)
		key.set = MIRROR_LEASE4;
	else
		key.set = address->family == 4 ? MIRROR_ETHER4 : MIRROR_ETHER6;
	return key;
}

/* The element in @set, which is of others and has @number, for the lease of @own. */
static struct element_key key_of_pushed(const struct netlink_set *set, size_t number,
					const struct element_key *own)
{
	struct element_key key = { .set = (uint8_t)number, .address = own->address };

	if (set->form == NETLINK_FORM_TUPLE) {
		key.protocol = own->protocol;
		key.port = own->port;
	}
	return key;
}

static struct element *find_element(const struct lease_table *table, const struct element_key *key,
				    uint64_t hash)
{
	struct map_node *node = map_find(&table->elements, hash);

	for (; node != NULL; node = map_find_next(node)) {
		struct element *element = list_owner(node, struct element, node);

		if (memcmp(&element->key, key, sizeof(*key)) == 0)
			return element;
	}
	return NULL;
}

static bool is_mirrored(const struct lease_table *table, const struct element *element)
{
	return table->mirror != NULL && mirror_writes(table->mirror, element->key.set);
}

static int make_element(struct lease_table *table, const struct element_key *key, uint64_t hash,
			const struct name *name, struct element **ret_element)
{
	OWN(own_free) struct element *element = calloc(1, sizeof(*element) + name->len);
	int r;

	if (element == NULL)
		return -ENOMEM;
	element->key = *key;
	element->name_len = name->len;
	memcpy(element->name_wire, name->wire, name->len);
	r = map_add(&table->elements, &element->node, hash);
	if (r < 0)
		return r;
	r = heap_add(&table->element_ends, &element->end, table->guard.now_ms);
	if (r < 0) {
		map_drop(&table->elements, &element->node);
		return r;
	}
	if (is_mirrored(table, element))
		mirror_add(table->mirror, element);
	*ret_element = steal_ptr(element);
	return 0;
}

/* The element of @key, made if there is none. */
static int obtain_element(struct lease_table *table, const struct element_key *key,
			  const struct name *name, struct element **ret_element)
{
	uint64_t hash = hash_bytes(table->seed, key, sizeof(*key));
	struct element *element = find_element(table, key, hash);

	if (element == NULL)
		return make_element(table, key, hash, name, ret_element);
	*ret_element = element;
	return 0;
}

/* Let @element stand until @until_ms at least, and @ask wait for that. */
static int hold_element(struct lease_table *table, struct element *element, uint64_t until_ms,
			struct lease_ask *ask)
{
	if (element->until_ms < until_ms)
		element->until_ms = until_ms;
	if (element->end.key <= table->guard.now_ms)
		heap_move(&table->element_ends, &element->end, element->until_ms);
	return is_mirrored(table, element) ? mirror_want(table->mirror, element, until_ms, ask) : 0;
}

/*
 * Leases.
 */

static uint64_t hash_lease(const struct lease_table *table, const struct element *element,
			   const struct policy_grant *grant, const struct name *name)
{
	uint64_t of_grant = hash_bytes(table->seed, &grant, sizeof(grant));

	return hash_bytes(element->node.hash ^ of_grant, name->wire, name->len);
}

static struct lease *find_lease(const struct lease_table *table, const struct element *element,
				const struct policy_grant *grant, const struct name *name,
				uint64_t hash)
{
	struct map_node *node = map_find(&table->leases, hash);

	for (; node != NULL; node = map_find_next(node)) {
		struct lease *lease = list_owner(node, struct lease, node);

		if (lease->element == element && lease->grant == grant &&
		    lease->name_len == name->len &&
		    memcmp(lease->name_wire, name->wire, name->len) == 0)
			return lease;
	}
	return NULL;
}

static int make_lease(struct lease_table *table, struct element *element, struct policy *policy,
		      const struct policy_grant *grant, const struct name *name, uint64_t hash,
		      struct lease **ret_lease)
{
	OWN(own_free) struct lease *lease = NULL;
	int r;

	if (table->leases.n >= LIMIT_LEASES || element->n_leases >= LIMIT_LEASES_PER_ELEMENT)
		return -ENFILE;
	lease = calloc(1, sizeof(*lease) + name->len);
	if (lease == NULL)
		return -ENOMEM;
	lease->element = element;
	lease->grant = grant;
	lease->name_len = name->len;
	memcpy(lease->name_wire, name->wire, name->len);
	r = map_add(&table->leases, &lease->node, hash);
	if (r < 0)
		return r;
	r = heap_add(&table->lease_ends, &lease->end, table->guard.now_ms);
	if (r < 0) {
		map_drop(&table->leases, &lease->node);
		return r;
	}
	lease->policy = policy_ref(policy);
	element->n_leases++;
	*ret_lease = steal_ptr(lease);
	return 0;
}

/* How long a lease of @grant may be that begins at @now_s. */
static uint64_t left_of_grant_ms(const struct policy_grant *grant, int64_t now_s)
{
	int64_t until_s = policy_grant_until(grant, now_s);

	if (until_s == INT64_MAX)
		return UINT64_MAX;
	return until_s > now_s ? (uint64_t)(until_s - now_s) * MS : 0;
}

/*
 * Renew @lease if it is due: once a quarter of its TTL has passed, or when hardly more than the
 * TTL is left of it. The TTL is the longest that it was ever granted for: an answer from a cache
 * has less, and a lease must outlive what others got before.
 */
static void renew_lease(struct lease_table *table, struct lease *lease,
			const struct lease_wanted *wanted)
{
	uint64_t now_ms = table->guard.now_ms;
	uint64_t ttl_ms = wanted->ttl_s > 0 ? (uint64_t)wanted->ttl_s * MS : LEAST_MS;
	uint64_t left_ms = lease->until_ms > now_ms ? lease->until_ms - now_ms : 0;
	uint64_t may_ms = left_of_grant_ms(lease->grant, wanted->now_s);

	if (lease->ttl_ms < ttl_ms)
		lease->ttl_ms = ttl_ms;

	uint64_t length_ms = lease->ttl_ms + table->grace_ms;

	if (left_ms >= length_ms - lease->ttl_ms / 4 && left_ms >= ttl_ms + table->grace_ms / 2)
		return;
	if (length_ms > may_ms)
		length_ms = may_ms;
	if (lease->until_ms < now_ms + length_ms)
		lease->until_ms = now_ms + length_ms;
	if (lease->end.key <= now_ms)
		heap_move(&table->lease_ends, &lease->end, lease->until_ms);
}

static int obtain_lease(struct lease_table *table, struct element *element, struct policy *policy,
			const struct policy_grant *grant, const struct name *name,
			struct lease **ret_lease)
{
	uint64_t hash = hash_lease(table, element, grant, name);
	struct lease *lease = find_lease(table, element, grant, name, hash);

	if (lease == NULL)
		return make_lease(table, element, policy, grant, name, hash, ret_lease);
	*ret_lease = lease;
	return 0;
}

/*
 * The end of leases and elements.
 */

static void drop_lease(struct lease_table *table, struct lease *lease)
{
	map_drop(&table->leases, &lease->node);
	heap_drop(&table->lease_ends, &lease->end);
	lease->element->n_leases--;
	policy_unref(lease->policy);
	free(lease);
}

static void drop_element(struct lease_table *table, struct element *element)
{
	map_drop(&table->elements, &element->node);
	heap_drop(&table->element_ends, &element->end);
	free(element);
}

/* End the first lease of the heap if its time has come. False if not. */
static bool end_lease(struct lease_table *table, uint64_t now_ms)
{
	struct heap_node *first = heap_first(&table->lease_ends);

	if (first == NULL || first->key > now_ms)
		return false;
	struct lease *lease = list_owner(first, struct lease, end);

	if (lease->until_ms > now_ms)
		heap_move(&table->lease_ends, first, lease->until_ms);
	else
		drop_lease(table, lease);
	return true;
}

/* The same for elements. One that still has leases, or is being written, is asked again later. */
static bool end_element(struct lease_table *table, uint64_t now_ms)
{
	struct heap_node *first = heap_first(&table->element_ends);

	if (first == NULL || first->key > now_ms)
		return false;
	struct element *element = list_owner(first, struct element, end);

	if (element->until_ms > now_ms)
		heap_move(&table->element_ends, first, element->until_ms);
	else if (element->n_leases > 0 || (is_mirrored(table, element) && mirror_drop(element) < 0))
		heap_move(&table->element_ends, first, now_ms + BUSY_MS);
	else
		drop_element(table, element);
	return true;
}

static void on_end(struct loop_timer *timer);

/* Let the timer fire at the first end. */
static void set_timer(struct lease_table *table)
{
	const struct heap_node *lease = heap_first(&table->lease_ends);
	const struct heap_node *element = heap_first(&table->element_ends);
	uint64_t now_ms = table->guard.now_ms;
	uint64_t first_ms = UINT64_MAX;

	if (lease != NULL)
		first_ms = lease->key;
	if (element != NULL && element->key < first_ms)
		first_ms = element->key;
	if (first_ms >= table->timer_ms)
		return;
	if (!guard_is_home(&table->guard)) {
		guard_call_home(&table->guard);
		return;
	}
	table->timer_ms = first_ms;
	loop_timer_start(table->guard.home.loop, &table->timer,
			 first_ms > now_ms ? first_ms - now_ms : 0, on_end);
}

static void on_end(struct loop_timer *timer)
{
	struct lease_table *table = list_owner(timer, struct lease_table, timer);
	uint64_t now_ms;
	unsigned n = 0;

	guard_enter(&table->guard, table->guard.home.loop);
	now_ms = table->guard.now_ms;
	table->timer_ms = UINT64_MAX;
	while (n < END_AT_ONCE && end_lease(table, now_ms))
		n++;
	while (n < END_AT_ONCE && end_element(table, now_ms))
		n++;
	set_timer(table);
	guard_leave(&table->guard);
	guard_tell(&table->guard.home);
}

/* Do at home what was left to be done there. */
static void on_called(struct loop_bell *bell)
{
	struct lease_desk *home = list_owner(bell, struct lease_desk, bell);
	struct lease_table *table = list_owner(home->guard, struct lease_table, guard);

	guard_enter(home->guard, home->loop);
	set_timer(table);
	if (table->mirror != NULL)
		mirror_work(table->mirror);
	guard_leave(home->guard);
	guard_tell(home);
}

/*
 * Granting.
 */

/* One thing to lease: for one grant, one address and one port. */
struct part {
	struct policy *policy;
	const struct policy_grant *grant;
	const struct lease_wanted *wanted;
	const struct address *address;
	uint8_t protocol;
	uint16_t port;
};

/* Have it in the sets of others, too. */
static int push_part(struct lease_table *table, struct lease_ask *ask, const struct part *part,
		     const struct element_key *own, uint64_t until_ms)
{
	const struct netlink_set *sets;
	size_t n_sets = 0;
	int all = 0;

	if (table->mirror == NULL)
		return 0;
	sets = mirror_pushed(table->mirror, &n_sets);
	for (size_t i = 0; i < n_sets; i++) {
		struct element *element;

		if (sets[i].version != part->address->family)
			continue;
		struct element_key key = key_of_pushed(&sets[i], MIRROR_OWN_SETS + i, own);
		int r = obtain_element(table, &key, part->wanted->name, &element);

		if (r == 0)
			r = hold_element(table, element, until_ms, ask);
		if (r < 0 && r != -EINPROGRESS)
			return r;
		if (r < 0)
			all = r;
	}
	return all;
}

static int grant_part(struct lease_table *table, struct lease_ask *ask, const struct part *part)
{
	struct element_key key =
		key_of_own(&part->wanted->agent, part->address, part->protocol, part->port);
	struct element *element;
	struct lease *lease;
	int r = obtain_element(table, &key, part->wanted->name, &element);

	if (r < 0)
		return r;
	r = obtain_lease(table, element, part->policy, part->grant, part->wanted->name, &lease);
	if (r < 0)
		return r;
	renew_lease(table, lease, part->wanted);
	/* The grant may have ended since it was judged; the element may stand for another lease. */
	if (lease->until_ms <= table->guard.now_ms)
		return -ETIME;
	r = hold_element(table, element, lease->until_ms, ask);
	if (r < 0 && r != -EINPROGRESS)
		return r;

	int pushed = push_part(table, ask, part, &key, lease->until_ms);

	return pushed < 0 ? pushed : r;
}

/* Each port of @part's grant. Gives 0, -EINPROGRESS, or why not. */
static int grant_ports(struct lease_table *table, struct lease_ask *ask, struct part *part)
{
	const struct policy_grant *grant = part->grant;
	int all = 0;

	for (unsigned i = 0; i < grant->n_ports; i++) {
		part->protocol = grant->ports[i].protocol;
		for (unsigned port = grant->ports[i].from; port <= grant->ports[i].to; port++) {
			part->port = (uint16_t)port;

			int r = grant_part(table, ask, part);

			if (r < 0 && r != -EINPROGRESS)
				return r;
			if (r < 0)
				all = r;
		}
	}
	return all;
}

static int grant_all(struct lease_table *table, struct lease_ask *ask, struct policy *policy,
		     const struct lease_wanted *wanted)
{
	struct part part = { .policy = policy, .wanted = wanted };
	int all = 0;

	for (unsigned i = 0; i < wanted->n_addresses; i++) {
		const struct policy_verdict *verdict = &wanted->verdicts[i];

		part.address = &wanted->addresses[i];
		for (unsigned j = 0; j < verdict->n_grants; j++) {
			if (!(verdict->allowing & 1u << j))
				continue;
			part.grant = verdict->grants[j];

			int r = grant_ports(table, ask, &part);

			if (r < 0 && r != -EINPROGRESS)
				return r;
			if (r < 0)
				all = r;
		}
	}
	return all;
}

int lease_grant(struct lease_table *table, struct lease_ask *ask, struct policy *policy,
		const struct lease_wanted *wanted)
{
	assert(ask->waits.next == NULL);
	assert(ask->done != NULL);
	assert(wanted->name->len > 0);

	if (ask->desk == NULL)
		ask->desk = &table->guard.home;
	ask->guard = &table->guard;
	guard_enter(&table->guard, ask->desk->loop);

	int r = grant_all(table, ask, policy, wanted);

	set_timer(table);
	guard_leave(&table->guard);
	/* What was leased before something failed stays: the policy allows it. */
	if (r == 0)
		ask->guard = NULL;
	else if (r != -EINPROGRESS)
		lease_ask_drop(ask);
	return r;
}

uint32_t lease_ttl(const struct policy_verdict *verdict, uint32_t ttl_s, int64_t now_s)
{
	for (unsigned i = 0; i < verdict->n_grants; i++) {
		int64_t until_s;

		if (!(verdict->allowing & 1u << i))
			continue;
		until_s = policy_grant_until(verdict->grants[i], now_s);
		if (until_s == INT64_MAX)
			continue;
		if (until_s <= now_s)
			return 0;
		if (until_s - now_s < ttl_s)
			ttl_s = (uint32_t)(until_s - now_s);
	}
	return ttl_s;
}

void lease_table_poll(struct lease_table *table, struct lease_desk *desk)
{
	if (table->mirror == NULL)
		return;
	guard_enter(&table->guard, desk != NULL ? desk->loop : table->guard.home.loop);
	mirror_poll(table->mirror);
	guard_leave(&table->guard);
}

int lease_desk_open(struct lease_table *table, struct loop *loop, struct lease_desk **ret_desk)
{
	OWN(own_free) struct lease_desk *desk = malloc(sizeof(*desk));
	int r;

	if (desk == NULL)
		return -ENOMEM;
	r = guard_desk_open(&table->guard, desk, loop);
	if (r == 0)
		*ret_desk = steal_ptr(desk);
	return r;
}

void lease_desk_close(struct lease_desk *desk)
{
	if (desk == NULL)
		return;
	guard_desk_close(desk);
	free(desk);
}

/*
 * Looking at it.
 */

struct lease_status lease_table_status(struct lease_table *table)
{
	struct lease_status status = { .up = true };

	guard_enter(&table->guard, table->guard.home.loop);
	if (table->mirror != NULL)
		mirror_status(table->mirror, &status);
	status.n_leases = table->leases.n;
	status.n_elements = table->elements.n;
	guard_leave(&table->guard);
	return status;
}

static bool element_stands(const struct lease_table *table, const struct element *element,
			   uint64_t until_ms)
{
	return !is_mirrored(table, element) || mirror_stands(table->mirror, element, until_ms);
}

/* Whether @lease stands, in the sets of others too. */
static bool lease_stands(const struct lease_table *table, const struct lease *lease)
{
	const struct netlink_set *sets = NULL;
	size_t n_sets = 0;

	if (!element_stands(table, lease->element, lease->until_ms))
		return false;
	if (table->mirror != NULL)
		sets = mirror_pushed(table->mirror, &n_sets);
	for (size_t i = 0; i < n_sets; i++) {
		if (sets[i].version != lease->element->key.address.family)
			continue;
		struct element_key key =
			key_of_pushed(&sets[i], MIRROR_OWN_SETS + i, &lease->element->key);
		const struct element *element =
			find_element(table, &key, hash_bytes(table->seed, &key, sizeof(key)));

		if (element == NULL || !element_stands(table, element, lease->until_ms))
			return false;
	}
	return true;
}

/* Tell @visit of @lease if it has not ended. False: it wants no more. */
static bool visit_lease(const struct lease_table *table, const struct lease *lease,
			lease_visit_fn *visit, void *arg)
{
	const struct element_key *key = &lease->element->key;
	uint64_t now_ms = table->guard.now_ms;
	struct name name;

	if (lease->until_ms <= now_ms ||
	    name_from_wire(lease->name_wire, lease->name_len, &name) < 0)
		return true;
	return visit(arg, &key->agent, &key->address, key->protocol, key->port, &name, lease->grant,
		     lease->until_ms - now_ms, lease_stands(table, lease));
}

void lease_table_visit(struct lease_table *table, lease_visit_fn *visit, void *arg)
{
	struct map_node *node = NULL;

	guard_enter(&table->guard, table->guard.home.loop);
	while ((node = map_walk(&table->leases, node)) != NULL)
		if (!visit_lease(table, list_owner(node, const struct lease, node), visit, arg))
			break;
	guard_leave(&table->guard);
}

/*
 * Birth and death.
 */

int table_new(struct loop *loop, struct policy *policy, enum netlink_refresh refresh,
	      lease_report_fn *report, void *arg, struct lease_table **ret_table, struct err *err)
{
	struct lease_table *table = calloc(1, sizeof(*table));
	int r;

	if (table == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	guard_init(&table->guard, loop);
	table->policy = policy_ref(policy);
	table->seed = hash_seed();
	table->timer_ms = UINT64_MAX;
	table->grace_ms = (uint64_t)policy_nftables(policy)->grace_s * MS;
	r = guard_listen(&table->guard, on_called);
	if (r < 0)
		err_set(err, r, "the lease table cannot be made: %s", strerror(-r));
	else
		r = mirror_new(&table->guard, policy, refresh, report, arg, &table->mirror, err);
	if (r < 0) {
		lease_table_free(table);
		return r;
	}
	*ret_table = table;
	return 0;
}

int lease_table_new(struct loop *loop, struct policy *policy, lease_report_fn *report, void *arg,
		    struct lease_table **ret_table, struct err *err)
{
	return table_new(loop, policy, NETLINK_REFRESH_PROBE, report, arg, ret_table, err);
}

void lease_table_free(struct lease_table *table)
{
	struct map_node *node;

	if (table == NULL)
		return;
	mirror_free(table->mirror);
	loop_timer_stop(&table->timer);
	while ((node = map_walk(&table->leases, NULL)) != NULL)
		drop_lease(table, list_owner(node, struct lease, node));
	while ((node = map_walk(&table->elements, NULL)) != NULL)
		drop_element(table, list_owner(node, struct element, node));
	map_done(&table->leases);
	map_done(&table->elements);
	heap_done(&table->lease_ends);
	heap_done(&table->element_ends);
	policy_unref(table->policy);
	guard_done(&table->guard);
	free(table);
}
