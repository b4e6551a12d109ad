/* SPDX-License-Identifier: MIT */
/*
 * The life of a query
 *
 *            a message came: read it, judge it, and answer at once if       query_receive
 *            the policy, a pin, or the cache and standing leases can
 *   ASKING   an upstream must be asked                                      take_reply
 *   REFRESHING  the same, and if it takes long, what was known will do      answer_stale
 *   LEASING  the kernel must open the addresses first                       answer_leased
 *
 * A query that need not wait is answered in one go, from query_receive() to
 * finish(), and makes no life. Nothing is asked of an upstream before
 * policy_judge_name() has said allow, so a denied name carries nothing out.
 * There are two ways to an answer with addresses: lease_grant() said that
 * their leases stand, or it said so later, in LEASING. Every query that is
 * answered leaves one record, written by finish().
 */
#include "resolver/query.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/life.h"
#include "base/own.h"
#include "resolver/ending.h"
#include "resolver/vet.h"
#include "resolver/wire.h"
#include "resolver/worker.h"

enum state { DEAD = LIFE_DEAD, ASKING, REFRESHING, LEASING, N_STATES };
enum event { REPLIED = LIFE_FIRST_OWN_EVENT, LEASED, N_EVENTS };

enum {
	PIN_TTL_S = 60,
	STALE_TTL_S = 30,         /* RFC 8767, 4 ... */
	STALE_RECHECK_MS = 30000, /* ... and 5: for how long a failure need not be seen again */
};

struct query {
	struct life life;
	struct list node; /* in resolver->queries, while it waits */
	struct resolver *resolver;
	struct policy *policy; /* the generation it began with; a reference while it waits */
	const struct policy_agent *agent;
	struct client client;
	struct question question;
	struct policy_verdict verdict;
	uint64_t began_us;
	bool recorded;
	struct upstream_wait upstream;
	const struct reply *reply; /* REPLIED: what came, valid during the event */
	struct lease_ask ask;
	struct reply
		*joined; /* what leads to target, which is asked for in place of the name: ours */
	struct name target;
	bool stale;            /* some of what is answered has had its time */
	struct reply *leasing; /* what is answered once its leases stand: ours */
};
static_assert(offsetof(struct query, life) == 0, "query_of() casts");

static life_step_fn take_reply, answer_stale, answer_leased, answer_trouble, give_up;

#define ALWAYS \
	[LIFE_TIMEOUT] = answer_trouble, [LIFE_ERROR] = answer_trouble, [LIFE_CANCEL] = give_up

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[ASKING] = { "ASKING", 4500, false, { ALWAYS, [REPLIED] = take_reply } },
	[REFRESHING] = { "REFRESHING",
			 1800,
			 false,
			 { [LIFE_TIMEOUT] = answer_stale,
			   [LIFE_ERROR] = answer_trouble,
			   [LIFE_CANCEL] = give_up,
			   [REPLIED] = take_reply } },
	[LEASING] = { "LEASING", 1500, false, { ALWAYS, [LEASED] = answer_leased } },
};
static_assert(sizeof(states) / sizeof(states[0]) == N_STATES, "a state has no row");

static const char *const event_names[] = {
	[LIFE_TIMEOUT] = "TIMEOUT", [LIFE_ERROR] = "ERROR", [LIFE_CANCEL] = "CANCEL",
	[REPLIED] = "REPLIED",      [LEASED] = "LEASED",
};
static_assert(sizeof(event_names) / sizeof(event_names[0]) == N_EVENTS, "an event has no name");

/* What a step may ask for; each is answered by one event. */
static int ask_upstream(struct query *q, const struct name *name); /* REPLIED */

static void finish(struct query *q, const struct ending *ending);

static struct query *query_of(struct life *life)
{
	return (struct query *)life;
}

/*
 * The ways out.
 */

static unsigned end(struct query *q, struct ending ending)
{
	finish(q, &ending);
	return DEAD;
}

static unsigned refuse_message(struct query *q, enum question_fault fault)
{
	return end(q, ending_of_fault(fault, q->question.cookie_is_bad));
}

static unsigned deny(struct query *q, const struct policy_verdict *verdict)
{
	return end(q, ending_of_denial(verdict));
}

/* What @question is a key to, in the cache and upstream. */
static uint32_t kind_of(const struct question *question)
{
	return question->type | (question->dnssec_ok ? ASK_DO : 0) |
	       (question->flags & WIRE_CD ? ASK_CD : 0);
}

/* Whether @q is told that @reply is authentic, if it is (RFC 6840, 5.7 and 5.8). */
static bool wants_ad(const struct query *q, const struct reply *reply)
{
	return reply->flags & REPLY_AUTHENTIC &&
	       (q->question.dnssec_ok || q->question.flags & WIRE_AD);
}

/* What @reply says, with the addresses that are in it: all its leases stand. */
static unsigned answer_reply(struct query *q, const struct reply *reply,
			     const struct address *addresses, unsigned n_addresses,
			     const struct origin *origins, uint32_t ttl_s)
{
	bool observed = q->verdict.observed;
	bool edited = n_addresses != reply->n_addresses || reply->flags & REPLY_EDITED;

	struct ending ending = {
		.answer = { .rcode = reply->rcode,
			    .chain = reply,
			    .edited = edited,
			    .authentic = !edited && wants_ad(q, reply),
			    .addresses = addresses,
			    .n_addresses = n_addresses,
			    .ttl_s = ttl_s,
			    .soa = n_addresses == 0 && reply->rcode != WIRE_YXDOMAIN,
			    .ede = WIRE_EDE_NONE },
		.verdict = observed ? "observe" : "allow",
		.reason = policy_reason_word(observed ? q->verdict.reason : POLICY_REASON_GRANTED),
		.grant = policy_verdict_grant(&q->verdict),
		.origins = origins,
	};

	if (q->stale) {
		ending.answer.authentic = false;
		ending.answer.ede =
			reply->rcode == WIRE_NXDOMAIN ? WIRE_EDE_STALE_NXDOMAIN : WIRE_EDE_STALE;
		if (!observed)
			ending.reason = "stale";
		ending.sentence = "no upstream server answered, and this was known before";
	}
	finish(q, &ending);
	return DEAD;
}

static unsigned fail_audit(struct query *q)
{
	return end(q,
		   ending_of_failure(WIRE_EDE_OTHER, "audit", "the audit log cannot be written"));
}

static unsigned fail_mirror(struct query *q, int status)
{
	return end(q, ending_of_mirror(status));
}

static unsigned fail_busy(struct query *q)
{
	return end(q, ending_of_upstream(-EBUSY));
}

static unsigned fail_upstream(struct query *q, int status)
{
	return end(q, ending_of_upstream(status));
}

/*
 * The way of an allowed name.
 */

/* Whether one more query may become a life; this one may be one already. */
static bool may_wait(const struct query *q)
{
	const struct resolver *resolver = q->resolver;

	return resolver->spare != q || resolver->n_queries < LIMIT_QUERIES_UNDER_WAY;
}

/* What was known of the name that is asked for; NULL: nothing that may be used yet. */
static const struct reply *find_stale(struct query *q, uint64_t *ret_failed_ms)
{
	struct resolver *resolver = q->resolver;
	const struct name *name = q->joined != NULL ? &q->target : &q->question.name;
	uint64_t stale_ms = policy_resolver(q->policy)->stale_s * UINT64_C(1000);

	return stale_ms == 0
		       ? NULL
		       : cache_find_stale(resolver->cache, name, kind_of(&q->question),
					  loop_now_ms(resolver->loop), stale_ms, ret_failed_ms);
}

static const struct reply *use_stale(struct query *q, const struct reply *stale,
				     uint32_t *ret_left_s)
{
	q->stale = true;
	*ret_left_s = STALE_TTL_S;
	return stale;
}

/*
 * Of the name that is asked for, @known (a failure) or nothing is known that has its time: ask an
 * upstream, or take what was known before.
 */
static const struct reply *look_further(struct query *q, const struct name *name,
					const struct reply *known, uint32_t *ret_left_s,
					unsigned *ret_state)
{
	uint64_t failed_ms;
	const struct reply *stale = find_stale(q, &failed_ms);

	if (stale != NULL && (known != NULL || failed_ms < STALE_RECHECK_MS))
		return use_stale(q, stale, ret_left_s);
	if (known != NULL) {
		*ret_state = end(q, ending_of_failure(WIRE_EDE_CACHED_ERROR, "upstream-failed",
						      "the upstream servers failed a moment ago"));
		return NULL;
	}
	int r = ask_upstream(q, name);

	if (r < 0 && stale != NULL)
		return use_stale(q, stale, ret_left_s);
	/* What a chain leads to has the time that is left of the first wait. */
	if (r == 0)
		*ret_state = stale != NULL && q->joined == NULL ? REFRESHING : ASKING;
	else
		*ret_state = fail_upstream(q, r);
	return NULL;
}

/*
 * Look up what is known of @name, which is asked for, and ask an upstream if nothing is.
 *
 * Gives  NULL if there is nothing to tell yet, and the next state in @ret_state.
 */
static const struct reply *look_up(struct query *q, const struct name *name, uint32_t *ret_left_s,
				   unsigned *ret_state)
{
	const struct reply *known = cache_find(q->resolver->cache, name, kind_of(&q->question),
					       loop_now_ms(q->resolver->loop), ret_left_s);

	if (known != NULL && known->rcode != WIRE_SERVFAIL)
		return known;
	return look_further(q, name, known, ret_left_s, ret_state);
}

/* Tell the client what of @reply the policy permits, once its leases stand. */
static unsigned tell(struct query *q, const struct reply *reply, uint32_t left_s)
{
	struct vetted vetted;
	int64_t now_s = loop_wall_s(q->resolver->loop);

	vet_reply(q->policy, &q->verdict, reply, &vetted);
	if (vetted.verdict.code != POLICY_ALLOW)
		return deny(q, &vetted.verdict);
	q->verdict.observed = vetted.verdict.observed;
	q->verdict.reason = vetted.verdict.reason;

	uint32_t ttl_s = lease_ttl(&vetted.verdict, left_s, now_s);

	if (vetted.n_addresses == 0)
		return answer_reply(q, reply, NULL, 0, NULL, ttl_s);
	/* The log may have gone down while an upstream was asked: nothing opens unrecorded. */
	if (audit_ready(q->resolver->audit) < 0)
		return fail_audit(q);

	struct lease_wanted wanted = {
		.agent = q->client.address,
		.name = &q->question.name,
		.addresses = vetted.addresses,
		.verdicts = vetted.verdicts,
		.n_addresses = vetted.n_addresses,
		.ttl_s = q->stale ? STALE_TTL_S : reply->ttl_s,
		.now_s = now_s,
	};
	int r = lease_grant(q->resolver->leases, &q->ask, q->policy, &wanted);

	if (r == 0)
		return answer_reply(q, reply, vetted.addresses, vetted.n_addresses,
				    vetted.has_origins ? vetted.origins : NULL, ttl_s);
	if (r != -EINPROGRESS)
		return fail_mirror(q, r);
	if (may_wait(q))
		q->leasing = reply_with(reply, vetted.addresses, vetted.n_addresses, ttl_s);
	if (q->leasing != NULL)
		return LEASING;
	lease_ask_drop(&q->ask);
	return fail_busy(q);
}

/* Judge what @q's chain has led to: a link may be denied, and a special name is nobody's to tell. */
static struct policy_verdict judge_target(struct query *q)
{
	struct policy_verdict verdict = vet_links(q->policy, &q->verdict, q->joined);
	struct policy_verdict as_asked;

	if (verdict.code != POLICY_ALLOW)
		return verdict;
	as_asked = policy_judge_name(q->policy, q->agent, &q->target, q->question.type,
				     loop_wall_s(q->resolver->loop));
	if (as_asked.reason != POLICY_REASON_SPECIAL)
		return verdict;
	as_asked.exists = true; /* the name that was asked for does */
	return as_asked;
}

/*
 * @reply is a part of a chain: put it behind what came before, and go where it leads, which is
 * asked for only because an allowed name leads there and no link is denied.
 *
 * Gives  true if the target is to be looked up; else false, and the next state in @ret_state.
 */
static bool follow(struct query *q, const struct reply *reply, uint32_t left_s, unsigned *ret_state)
{
	struct reply *before = q->joined;

	if (before != NULL && before->n_links + reply->n_links > LIMIT_CHAIN) {
		*ret_state = fail_upstream(q, -EREMOTEIO);
		return false;
	}
	q->joined = before != NULL ? reply_join(before, reply, left_s)
				   : reply_with(reply, NULL, 0, left_s);
	free(before);
	if (q->joined == NULL) {
		*ret_state = fail_busy(q);
		return false;
	}
	if (!(q->joined->flags & REPLY_PARTIAL)) {
		*ret_state = tell(q, q->joined, q->joined->ttl_s);
		return false;
	}
	if (!reply_leads_on(q->joined, &q->question.name, &q->target)) {
		*ret_state = fail_upstream(q, -EREMOTEIO);
		return false;
	}

	struct policy_verdict verdict = judge_target(q);

	if (verdict.code != POLICY_ALLOW || verdict.reason == POLICY_REASON_SPECIAL) {
		*ret_state = deny(q, &verdict);
		return false;
	}
	return true;
}

/* Serve the client @reply, which may live for @left_s seconds: all that is to be told, or a part. */
static unsigned serve(struct query *q, const struct reply *reply, uint32_t left_s)
{
	unsigned state = DEAD;

	if (q->joined == NULL && !(reply->flags & REPLY_PARTIAL))
		return tell(q, reply, left_s);
	while (reply != NULL && follow(q, reply, left_s, &state))
		reply = look_up(q, &q->target, &left_s, &state);
	return state;
}

/* Serve the client what was known, if something was (RFC 8767); else tell that it failed. */
static unsigned serve_stale(struct query *q, int status)
{
	uint64_t failed_ms;
	uint32_t left_s;
	const struct reply *stale = find_stale(q, &failed_ms);

	if (stale == NULL)
		return fail_upstream(q, status);
	stale = use_stale(q, stale, &left_s);
	return serve(q, stale, left_s);
}

/* A pinned name is answered here: its grants' addresses of the asked family. */
static unsigned serve_pins(struct query *q)
{
	struct address pins[LIMIT_ANSWER_ADDRESSES];
	uint8_t family = q->question.type == WIRE_A ? 4 : 6;
	unsigned n = policy_verdict_pins(&q->verdict, family, pins, LIMIT_ANSWER_ADDRESSES);
	OWN(own_free) struct reply *reply = reply_new(WIRE_NOERROR, PIN_TTL_S, NULL, 0, pins, n);

	return reply != NULL ? serve(q, reply, PIN_TTL_S) : fail_busy(q);
}

/* Whether the name that was judged is one of a grant, or this very host. */
static bool has_records(const struct policy_verdict *verdict)
{
	return verdict->code == POLICY_ALLOW || verdict->reason == POLICY_REASON_TYPE ||
	       verdict->special == POLICY_SPECIAL_LOCALHOST;
}

static const struct policy_agent *find_agent(const struct query *q)
{
	char name[IF_NAMESIZE];
	const char *interface =
		policy_wants_interface(q->policy) ? client_interface(&q->client, name) : NULL;

	return policy_agent_find(q->policy, &q->client.address, interface);
}

/* The whole of a query that has been read. Gives the state to wait in, or DEAD: answered. */
static unsigned begin(struct query *q)
{
	struct resolver *resolver = q->resolver;
	struct loop *loop = resolver->loop;
	const struct question *question = &q->question;
	const struct reply *known;
	unsigned state;
	uint32_t left_s;

	if (upstreams_recognize(resolver->upstreams, &question->name))
		return end(q, ending_of_failure(WIRE_EDE_OTHER, "loop",
						"an upstream server asks this resolver"));
	q->agent = find_agent(q);
	q->verdict = q->agent != NULL ? policy_judge_name(q->policy, q->agent, &question->name,
							  question->type, loop_wall_s(loop))
				      : policy_judge_stranger(q->policy);
	if (question->type == WIRE_ANY && has_records(&q->verdict))
		return end(q, ending_of_any(&q->verdict));
	if (q->verdict.special == POLICY_SPECIAL_LOCALHOST)
		return end(q, ending_of_localhost(question->type));
	if (q->verdict.code != POLICY_ALLOW)
		return deny(q, &q->verdict);
	if (audit_ready(resolver->audit) < 0)
		return fail_audit(q);
	/* Before the cache is looked at: that a name is known says something, too. */
	if (q->verdict.metered)
		q->verdict = budgets_charge(resolver->budgets, policy_agent_name(q->agent),
					    &q->verdict, &question->name, loop_now_ms(loop));
	policy_verdict_observe(q->policy, &q->verdict);
	if (q->verdict.code != POLICY_ALLOW)
		return deny(q, &q->verdict);
	if (policy_verdict_is_pinned(&q->verdict))
		return serve_pins(q);
	known = look_up(q, &question->name, &left_s, &state);
	return known != NULL ? serve(q, known, left_s) : state;
}

static unsigned take_reply(struct life *life, int status)
{
	struct query *q = query_of(life);

	if (status < 0)
		return serve_stale(q, status);
	return serve(q, q->reply, q->reply->ttl_s);
}

/* The upstream goes on being asked, for those who come later (RFC 8767, 5). */
static unsigned answer_stale(struct life *life, int status)
{
	struct query *q = query_of(life);

	upstream_forget(&q->upstream);
	return serve_stale(q, status);
}

static unsigned answer_leased(struct life *life, int status)
{
	struct query *q = query_of(life);
	const struct reply *reply = q->leasing;

	if (status < 0)
		return fail_mirror(q, status);
	return answer_reply(q, reply, reply->addresses, reply->n_addresses, NULL, reply->ttl_s);
}

static unsigned answer_trouble(struct life *life, int status)
{
	struct query *q = query_of(life);

	if (life->state == LEASING)
		return fail_mirror(q, status);
	upstream_forget(&q->upstream);
	return serve_stale(q, status);
}

/*
 * The record and the answer.
 */

static void finish(struct query *q, const struct ending *ending)
{
	assert(!q->recorded);
	q->recorded = true;
	ending_tell(q->resolver, &q->client, q->agent, &q->question, q->began_us, ending);
}

/* The client is gone, or we are leaving: there is nobody to answer. */
static unsigned give_up(struct life *life, int status)
{
	static const struct ending cancelled = {
		.verdict = "error",
		.reason = "cancelled",
		.silent = true,
	};
	(void)status;
	finish(query_of(life), &cancelled);
	return DEAD;
}

/*
 * The loop. A callback notes what it was given and names the event; it
 * decides nothing.
 */

static void on_reply(struct upstream_wait *wait, const struct reply *reply, int status)
{
	struct query *q = list_owner(wait, struct query, upstream);

	q->reply = reply;
	life_event(&q->life, REPLIED, status);
}

static void on_leased(struct lease_ask *ask, int status)
{
	life_event(&list_owner(ask, struct query, ask)->life, LEASED, status);
}

static int ask_upstream(struct query *q, const struct name *name)
{
	if (!may_wait(q))
		return -EBUSY;
	return upstream_ask(q->resolver->upstreams, name, kind_of(&q->question), &q->upstream);
}

/*
 * Birth and death.
 */

static void query_free(struct life *life)
{
	struct query *q = query_of(life);
	struct resolver *resolver = q->resolver;

	assert(q->recorded);
	upstream_forget(&q->upstream);
	lease_ask_drop(&q->ask);
	client_release(&q->client);
	list_drop(&q->node);
	resolver->n_queries--;
	free(q->leasing);
	free(q->joined);
	policy_unref(q->policy);
	free(q);
}

static const struct life_kind query_kind = {
	.name = "query",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = query_free,
};

/* The query waits from here on, and is a life. */
static void start_waiting(struct query *q, unsigned state)
{
	struct resolver *resolver = q->resolver;

	resolver->spare = NULL;
	resolver->n_queries++;
	list_add(&resolver->queries, &q->node);
	policy_ref(q->policy);
	client_hold(&q->client);
	life_start(&q->life, &query_kind, state, resolver->loop);
}

static struct query *take_spare(struct resolver *resolver, const struct client *client)
{
	struct query *q = resolver->spare;

	if (q == NULL) {
		assert(life_kind_complete(&query_kind));
		q = resolver->spare = malloc(sizeof(*q));
	}
	if (q == NULL)
		return NULL;
	list_init(&q->node);
	q->resolver = resolver;
	q->policy = resolver->policy;
	q->agent = NULL;
	q->client = *client;
	q->verdict = (struct policy_verdict){ .code = POLICY_DENY };
	q->began_us = loop_exact_us(resolver->loop);
	q->recorded = false;
	upstream_wait_init(&q->upstream, on_reply);
	q->ask = (struct lease_ask){ .desk = resolver->desk, .done = on_leased };
	q->leasing = NULL;
	q->joined = NULL;
	q->stale = false;
	return q;
}

void query_receive(struct resolver *resolver, const struct client *client, const uint8_t *bytes,
		   size_t len)
{
	struct query *q = take_spare(resolver, client);
	unsigned state;

	if (q == NULL)
		return; /* no memory: silence is closed */
	enum question_fault fault = question_read(bytes, len, client_is_tcp(client), &q->question);

	if (fault == QUESTION_DROP)
		return;
	if (q->question.cookie_len > 0)
		cookie_renew(&resolver->cookie_key, &client->address, loop_wall_s(resolver->loop),
			     &q->question);
	state = fault == QUESTION_FINE ? begin(q) : refuse_message(q, fault);
	if (state != DEAD)
		start_waiting(q, state);
	else if (q->joined != NULL)
		free(q->joined);
}

void query_cancel(struct client *client)
{
	life_event(&list_owner(client, struct query, client)->life, LIFE_CANCEL, -ECANCELED);
}

void query_end_all(struct resolver *resolver)
{
	while (!list_empty(&resolver->queries))
		life_event(&list_owner(resolver->queries.next, struct query, node)->life,
			   LIFE_CANCEL, -ECANCELED);
	free(resolver->spare);
	resolver->spare = NULL;
}
