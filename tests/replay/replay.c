/* SPDX-License-Identifier: MIT */
/*
 * Replay: runs a script of clients, upstreams and time against the real life
 * of a query. A script is lines of words; see the commands below. Each
 * command that expects something is one test.
 *
 *   policy ... end               the policy, in between
 *   query WHO ADDRESS NAME TYPE [edns] [do] [cd] [tcp]
 *                                a client asks; WHO names it from here on
 *   flood WHO N ADDRESS NAME TYPE
 *                                the same, N times
 *   answered WHO N               so many answers have come back
 *   expect WHO RCODE [tc] [ttl N] [ede N] [soa]
 *     OWNER TYPE DATA            its answer, with exactly these records, in order
 *   silence WHO                  it has no answer yet
 *   upstream udp|tcp|tls NAME TYPE [ENDPOINT]
 *                                this was sent upstream next, and is what is answered below;
 *                                probes are not counted
 *   probe udp|tcp|tls ENDPOINT   a probe was sent next, likewise
 *   probe comes back             its question comes to our own door
 *   connects tcp|tls ENDPOINT    a connection was opened next, and is what is meant below
 *   connects none                no other was
 *   opened                       the server of the connection is verified
 *   untrusted                    it is not who it should be
 *   deaf ERRNO                   the connection cannot be written to from here on
 *   hangup WHO                   the connection of its query, which waits, closes
 *   asked plain|do|cd ...        with which bits it was sent
 *   pattern yes|no               what was sent has upper-case letters in its name, or none
 *   upstream none                nothing else was sent upstream
 *   previous                     what was sent before that is what is answered below
 *   reply RCODE [tc] [no-ra] [twice] [FAULT]
 *     OWNER TTL TYPE DATA        it is answered; FAULT is one of wrong-id, wrong-case, wrong-name,
 *                                wrong-type, query, opcode, two-questions, bare, junk, half
 *   wrong N                      N datagrams come that answer nothing
 *   broken ERRNO | closed        its socket fails; its server ends the connection
 *   edns yes|no                  it has an OPT record, or none
 *   length N                     it has N bytes
 *   said TEXT                    what was last said of the upstream servers ends so
 *   unreachable ERRNO | reachable   sockets cannot be opened from here on
 *   leases stand|pend|fail       what the lease table says at once
 *   leases ack|nack              what it says to those who wait
 *   leased N                     so many addresses were leased in all
 *   audit down|up                the log
 *   record VERDICT REASON        the last record
 *   records N                    so many were written in all
 *   pass MS                      time passes
 *   date S                       the time of day is this, in seconds since 1970
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/wire.h"
#include "tests/replay/script.h"
#include "tests/replay/scripted.h"
#include "tests/replay/world.h"
#include <ldns/ldns.h> /* last: it has a bool of its own where stdbool.h did not come first */

static struct world_client *find_client(const struct script *s, const char *name)
{
	for (unsigned i = 0; i < s->world->n_clients; i++)
		if (strcmp(s->world->clients[i].name, name) == 0)
			return &s->world->clients[i];
	stop_script(s, "no such client");
	return NULL;
}

/*
 * Commands.
 */

static void do_policy(struct script *s)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	while (fgets(s->text, sizeof(s->text), s->file) != NULL && strcmp(s->text, "end\n") != 0) {
		s->line++;
		fputs(s->text, out);
	}
	s->line++;
	fclose(out);
	s->world = world_new(text, size);
	free(text);
}

/* A client called @name, at the address in word @i of @s. */
static struct world_client *add_client(struct script *s, const char *name, unsigned i)
{
	unsigned number = s->world->n_clients++;
	struct world_client *client = &s->world->clients[number];

	assert(number < WORLD_CLIENTS);
	snprintf(client->name, sizeof(client->name), "%s", name);
	if (address_parse(word_at(s, i), &client->client.address) < 0)
		stop_script(s, "not an address");
	client->client.peer.in.sin_port = (in_port_t)number;
	client->client.door = has_word(s, "tcp") ? NULL : (struct door *)(void *)client;
	client->client.connection = has_word(s, "tcp") ? (struct connection *)(void *)client : NULL;
	return client;
}

/* Let @client ask @n times for the name and type in words @i and @i + 1 of @s. */
static void ask(struct script *s, struct world_client *client, unsigned i, unsigned long n)
{
	ldns_pkt *pkt = NULL;
	uint8_t *wire = NULL;
	size_t len = 0;

	if (ldns_pkt_query_new_frm_str(&pkt, word_at(s, i),
				       ldns_get_rr_type_by_name(word_at(s, i + 1)),
				       LDNS_RR_CLASS_IN, LDNS_RD) != LDNS_STATUS_OK)
		stop_script(s, "not a query");
	ldns_pkt_set_id(pkt, (uint16_t)s->world->n_clients);
	if (has_word(s, "edns"))
		ldns_pkt_set_edns_udp_size(pkt, 1232);
	ldns_pkt_set_edns_do(pkt, has_word(s, "do"));
	ldns_pkt_set_cd(pkt, has_word(s, "cd"));
	if (ldns_pkt2wire(&wire, pkt, &len) != LDNS_STATUS_OK)
		stop_script(s, "not a query");
	while (n-- > 0)
		query_receive(&s->world->resolver, &client->client, wire, len);
	scripted_turn(s->world->loop);
	free(wire);
	ldns_pkt_free(pkt);
}

static void do_query(struct script *s)
{
	ask(s, add_client(s, word_at(s, 1), 2), 3, 1);
}

static void do_flood(struct script *s)
{
	ask(s, add_client(s, word_at(s, 1), 3), 4, strtoul(word_at(s, 2), NULL, 10));
}

static void do_answered(struct script *s)
{
	struct world_client *client = find_client(s, word_at(s, 1));
	unsigned long want = strtoul(word_at(s, 2), NULL, 10);

	check(s, client->n_answers == want, "%s has %lu answers (got %u)", client->name, want,
	      client->n_answers);
}

/* "owner TYPE data" of @rr, in lower case but for the type. */
static void print_record(const ldns_rr *rr, char *text, size_t size)
{
	char *owner = ldns_rdf2str(ldns_rr_owner(rr));
	char *type = ldns_rr_type2str(ldns_rr_get_type(rr));
	char *data = ldns_rdf2str(ldns_rr_rdf(rr, 0));

	snprintf(text, size, "%s %s %s", owner, type, data);
	free(owner);
	free(type);
	free(data);
}

static void compare_records(struct script *s, const ldns_pkt *pkt)
{
	const ldns_rr_list *answer = ldns_pkt_answer(pkt);
	size_t n = 0;

	while (next_record(s)) {
		char got[1200] = "nothing", *want = s->text + strspn(s->text, " ");

		if (n < ldns_rr_list_rr_count(answer))
			print_record(ldns_rr_list_rr(answer, n), got, sizeof(got));
		n++;
		check(s, strcasecmp(got, want) == 0, "%s (got %s)", want, got);
	}
	check(s, n == ldns_rr_list_rr_count(answer), "no record but these");
}

/* The code of the Extended DNS Error in @pkt, or -1. */
static long ede_of(const ldns_pkt *pkt)
{
	const ldns_rdf *data = ldns_pkt_edns_data(pkt);

	if (data == NULL || ldns_rdf_size(data) < 6)
		return -1;
	const uint8_t *at = ldns_rdf_data(data);

	return at[0] == 0 && at[1] == WIRE_OPTION_EDE ? at[4] << 8 | at[5] : -1;
}

static void do_expect(struct script *s)
{
	struct world_client *client = find_client(s, word_at(s, 1));
	uint16_t rcode = rcode_of(word_at(s, 2));
	long ttl = number_behind(s, "ttl"), ede = number_behind(s, "ede");
	bool tc = has_word(s, "tc"), soa = has_word(s, "soa");
	ldns_pkt *pkt = NULL;

	check(s, client->n_answers == 1, "%s has one answer (%u)", client->name, client->n_answers);
	if (client->n_answers == 0 ||
	    ldns_wire2pkt(&pkt, client->bytes, client->len) != LDNS_STATUS_OK) {
		check(s, false, "the answer can be read");
		return;
	}
	check(s, ldns_pkt_get_rcode(pkt) == rcode, "%s is told rcode %u (got %d)", client->name,
	      rcode, ldns_pkt_get_rcode(pkt));
	check(s, ldns_pkt_tc(pkt) == tc, "TC is %d", tc);
	check(s, (ldns_pkt_nscount(pkt) == 1) == soa, "there is %s SOA", soa ? "an" : "no");
	check(s, ede_of(pkt) == ede, "EDE is %ld (got %ld)", ede, ede_of(pkt));
	if (ttl >= 0 && ldns_pkt_ancount(pkt) > 0)
		check(s, ldns_rr_ttl(ldns_rr_list_rr(ldns_pkt_answer(pkt), 0)) == ttl,
		      "TTL is %ld (got %u)", ttl,
		      ldns_rr_ttl(ldns_rr_list_rr(ldns_pkt_answer(pkt), 0)));
	compare_records(s, pkt);
	ldns_pkt_free(pkt);
}

static void do_silence(struct script *s)
{
	struct world_client *client = find_client(s, word_at(s, 1));

	check(s, client->n_answers == 0, "%s has no answer", client->name);
}

static void do_hangup(struct script *s)
{
	struct world_client *client = find_client(s, word_at(s, 1));

	if (client->waiting == NULL)
		stop_script(s, "it has no query over TCP that waits");
	query_cancel(client->waiting);
}

static void do_asked(struct script *s)
{
	ldns_pkt *pkt = NULL;

	if (ldns_wire2pkt(&pkt, s->current->bytes, s->current->len) != LDNS_STATUS_OK)
		stop_script(s, "what was sent upstream is no query");
	check(s, ldns_pkt_edns_do(pkt) == has_word(s, "do"), "DO is %d", ldns_pkt_edns_do(pkt));
	check(s, ldns_pkt_cd(pkt) == has_word(s, "cd"), "CD is %d", ldns_pkt_cd(pkt));
	ldns_pkt_free(pkt);
}

static void do_leases(struct script *s)
{
	const char *what = word_at(s, 1);

	if (strcmp(what, "stand") == 0)
		s->world->lease_status = 0;
	else if (strcmp(what, "pend") == 0)
		s->world->lease_status = -EINPROGRESS;
	else if (strcmp(what, "fail") == 0)
		s->world->lease_status = -EIO;
	else if (strcmp(what, "full") == 0)
		s->world->lease_status = -ENFILE;
	else if (strcmp(what, "ack") == 0)
		world_settle_leases(s->world, 0);
	else if (strcmp(what, "nack") == 0)
		world_settle_leases(s->world, -EIO);
	else
		stop_script(s, "leases what?");
}

static void do_leased(struct script *s)
{
	unsigned want = (unsigned)strtoul(word_at(s, 1), NULL, 10);

	check(s, s->world->n_leased == want, "%u addresses were leased (got %u)", want,
	      s->world->n_leased);
}

static void do_audit(struct script *s)
{
	s->world->audit_status = strcmp(word_at(s, 1), "down") == 0 ? -EIO : 0;
}

static void do_record(struct script *s)
{
	char want[256];

	snprintf(want, sizeof(want), "%s %s", word_at(s, 1), word_at(s, 2));
	check(s, strcmp(want, s->world->record) == 0, "the record says %s (got %s)", want,
	      s->world->record);
}

static void do_records(struct script *s)
{
	unsigned want = (unsigned)strtoul(word_at(s, 1), NULL, 10);

	check(s, s->world->n_records == want, "%u records (got %u)", want, s->world->n_records);
}

static void do_pass(struct script *s)
{
	scripted_pass(s->world->loop, strtoull(word_at(s, 1), NULL, 10));
}

static void do_date(struct script *s)
{
	scripted_set_wall(s->world->loop, strtoll(word_at(s, 1), NULL, 10));
}

static const struct command {
	const char *name;
	void (*run)(struct script *s);
} commands[] = {
	{ "policy", do_policy },       { "query", do_query },
	{ "flood", do_flood },         { "answered", do_answered },
	{ "expect", do_expect },       { "silence", do_silence },
	{ "upstream", do_upstream },   { "reply", do_reply },
	{ "broken", do_broken },       { "unreachable", do_unreachable },
	{ "reachable", do_reachable }, { "leases", do_leases },
	{ "leased", do_leased },       { "audit", do_audit },
	{ "record", do_record },       { "records", do_records },
	{ "pass", do_pass },           { "date", do_date },
	{ "hangup", do_hangup },       { "asked", do_asked },
	{ "previous", do_previous },   { "pattern", do_pattern },
	{ "probe", do_probe },         { "connects", do_connects },
	{ "opened", do_opened },       { "untrusted", do_untrusted },
	{ "deaf", do_deaf },           { "closed", do_closed },
	{ "said", do_said },           { "edns", do_edns },
	{ "length", do_length },       { "wrong", do_wrong },
};

static void run_line(struct script *s)
{
	split_line(s);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, s->words[0]) == 0) {
			if (s->world == NULL && commands[i].run != do_policy)
				stop_script(s, "the policy comes first");
			commands[i].run(s);
			return;
		}
	stop_script(s, "no such command");
}

int main(int argc, char **argv)
{
	struct script s = { .path = argc > 1 ? argv[1] : "" };

	s.file = fopen(s.path, "re");
	if (s.file == NULL) {
		printf("Bail out! %s: %s\n", s.path, strerror(errno));
		return 99;
	}
	while (next_line(&s))
		run_line(&s);
	fclose(s.file);
	if (s.n_tests == 0)
		stop_script(&s, "a script without a test");
	world_free(s.world);
	printf("1..%u\n", s.n_tests);
	return 0;
}
