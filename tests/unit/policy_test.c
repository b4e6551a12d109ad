/* SPDX-License-Identifier: MIT */
/* The policy file: what is read from it, and what is refused, and in which line. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 }; /* 2026-12-01 */

#define GRANT    "[allow a]\nowner = o\nreason = r\nreviewed = 2026-11-30\n"
#define OWNER    "[policy]\nowner = o\n"
#define NUMBERED "[allow g%u]\nowner = o\nreason = r\nhost = a.example 8.8.8.8\n"

struct loaded {
	struct policy *policy;
	struct policy_faults faults;
	struct err err;
	int r;
};

static struct loaded load_bytes(const char *text, size_t len)
{
	struct loaded l = { .policy = NULL };

	l.r = policy_load_text("p.ini", text, len, NOW, &l.policy, &l.faults, &l.err);
	assert_true((l.r == 0) == (l.policy != NULL));
	assert_true((l.r == 0) == (l.faults.n_errors == 0));
	return l;
}

static struct loaded load(const char *text)
{
	return load_bytes(text, strlen(text));
}

static void unload(struct loaded *l)
{
	policy_faults_done(&l->faults);
	policy_unref(l->policy);
}

static bool has_fault(const struct loaded *l, bool warning, unsigned line, const char *part)
{
	for (size_t i = 0; i < l->faults.n; i++) {
		const struct policy_fault *f = &l->faults.faults[i];

		if (f->line == line && f->warning == warning && strstr(f->text, part) != NULL)
			return true;
		print_message("# %s:%u: %s\n", f->file, f->line, f->text);
	}
	print_message("# wanted in line %u: %s\n", line, part);
	return false;
}

static void expect_fault_bytes(const char *text, size_t len, unsigned line, const char *part)
{
	struct loaded l = load_bytes(text, len);

	assert_int_equal(l.r, -EINVAL);
	assert_true(has_fault(&l, false, line, part));
	unload(&l);
}

static void expect_fault(const char *text, unsigned line, const char *part)
{
	expect_fault_bytes(text, strlen(text), line, part);
}

static void expect_warning(const char *text, unsigned line, const char *part)
{
	struct loaded l = load(text);

	assert_int_equal(l.r, 0);
	assert_true(has_fault(&l, true, line, part));
	unload(&l);
}

/* Load @text, which must have neither a fault nor a warning. */
static struct loaded load_clean(const char *text)
{
	struct loaded l = load(text);

	for (size_t i = 0; i < l.faults.n; i++)
		print_message("# %u: %s\n", l.faults.faults[i].line, l.faults.faults[i].text);
	assert_int_equal(l.r, 0);
	assert_int_equal(l.faults.n, 0);
	return l;
}

static enum policy_code code_of(const struct policy *policy, const char *text)
{
	const struct address client = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return policy_judge_name(policy, policy_agent_find(policy, &client, NULL), &name, 1, NOW)
		.code;
}

static const struct policy_grant *only_grant(const struct policy *policy)
{
	size_t n;
	const struct policy_grant *const *grants = policy_grants(policy, &n);

	assert_int_equal(n, 1);
	return grants[0];
}

static void an_empty_policy_is_good_and_allows_nothing(void **state)
{
	struct loaded l = load("");

	(void)state;
	assert_int_equal(l.r, 0);
	assert_int_equal(code_of(l.policy, "example.com"), POLICY_DENY);
	unload(&l);
}

static void every_value_is_read(void **state)
{
	struct loaded l = load_clean(
		"[policy]\nname = n\nowner = o\nreview_every = 90d\n" GRANT
		"host = a.example 192.0.2.0/24\nport = 443 80/tcp 444-446 5000/udp\ntype = AAAA\n"
		"expires = 2027-02-28\naddress = 192.0.2.1 2001:db8::1\nprivate = yes\n"
		"doh = yes\n"
		"[resolver]\nlisten = 127.0.0.2 [::1]:5353\nclients = 10.0.0.0/8\n"
		"upstream = 9.9.9.9 [2620:fe::fe]:5300\nttl_min = 2s\nttl_max = 2h\ncache = 7\n"
		"[nftables]\ntable = inet x-y\nmanage = chains\ninterface = veth0 br-1\n"
		"push = ip fw a\n  inet fw b\nsize = 9\ngrace = 3m\n"
		"[audit]\nlog = /x/y\non_failure = continue\nsync = yes\nrotate = 2MiB\nkeep = "
		"3\n");
	const struct policy_grant *grant = only_grant(l.policy);
	const struct policy_resolver *resolver = policy_resolver(l.policy);
	const struct policy_nftables *nftables = policy_nftables(l.policy);
	const struct policy_audit *audit = policy_audit(l.policy);

	(void)state;
	assert_string_equal(policy_name(l.policy), "n");
	assert_string_equal(grant->label, "a");
	assert_string_equal(grant->owner, "o");
	assert_string_equal(grant->reason, "r");
	assert_int_equal(grant->n_ports, 3);
	assert_int_equal(grant->ports[0].from, 80);
	assert_int_equal(grant->ports[1].from, 443);
	assert_int_equal(grant->ports[1].to, 446);
	assert_int_equal(grant->ports[2].protocol, IPPROTO_UDP);
	assert_int_equal(grant->n_types, 1);
	assert_int_equal(grant->types[0], 28);
	assert_int_equal(grant->expires_s, 1803772800);
	assert_int_equal(grant->n_pins, 2);
	assert_int_equal(grant->n_literals, 1);
	assert_true(grant->allow_private && grant->allow_doh);
	assert_int_equal(resolver->n_listen, 2);
	assert_int_equal(resolver->listen[0].port, 53);
	assert_int_equal(resolver->listen[1].port, 5353);
	assert_false(resolver->upstream_auto);
	assert_int_equal(resolver->n_upstreams, 2);
	assert_int_equal(resolver->upstreams[1].endpoint.port, 5300);
	assert_int_equal(resolver->ttl_min_s, 2);
	assert_int_equal(resolver->ttl_max_s, 7200);
	assert_int_equal(resolver->cache_entries, 7);
	assert_string_equal(nftables->table, "x-y");
	assert_int_equal(nftables->manage, POLICY_MANAGE_CHAINS);
	assert_int_equal(nftables->n_interfaces, 2);
	assert_string_equal(nftables->interfaces[1], "br-1");
	assert_int_equal(nftables->n_pushes, 2);
	assert_string_equal(nftables->pushes[1].set, "b");
	assert_int_equal(nftables->size, 9);
	assert_int_equal(nftables->grace_s, 180);
	assert_string_equal(audit->log, "/x/y");
	assert_int_equal(audit->on_failure, POLICY_ON_FAILURE_CONTINUE);
	assert_int_equal(audit->sync, POLICY_SYNC_YES);
	assert_int_equal(audit->rotate_bytes, 2 << 20);
	assert_int_equal(audit->keep, 3);
	unload(&l);
}

static void defaults_are_those_of_the_manual(void **state)
{
	struct loaded l = load_clean(OWNER GRANT "host = a.example\n");
	const struct policy_grant *grant = only_grant(l.policy);
	const struct policy_resolver *resolver = policy_resolver(l.policy);
	const struct policy_nftables *nftables = policy_nftables(l.policy);
	const struct policy_audit *audit = policy_audit(l.policy);

	(void)state;
	assert_string_equal(policy_name(l.policy), "");
	assert_int_equal(grant->n_ports, 1);
	assert_int_equal(grant->ports[0].from, 443);
	assert_int_equal(grant->ports[0].protocol, IPPROTO_TCP);
	assert_int_equal(grant->n_types, 2);
	assert_true(grant->expires_s == INT64_MAX);
	assert_false(grant->allow_private || grant->allow_doh);
	assert_int_equal(resolver->n_listen, 2);
	assert_true(resolver->upstream_auto);
	assert_int_equal(resolver->n_upstreams, 0);
	assert_int_equal(resolver->ttl_min_s, 5);
	assert_int_equal(resolver->ttl_max_s, 3600);
	assert_int_equal(resolver->cache_entries, 10000);
	assert_int_equal(resolver->stale_s, 3600);
	assert_string_equal(nftables->family, "inet");
	assert_string_equal(nftables->table, "bailiwick");
	assert_int_equal(nftables->manage, POLICY_MANAGE_SETS);
	assert_int_equal(nftables->size, 65536);
	assert_int_equal(nftables->grace_s, 60);
	assert_null(audit->log);
	assert_int_equal(audit->on_failure, POLICY_ON_FAILURE_DENY);
	assert_int_equal(audit->sync, POLICY_SYNC_NO);
	assert_int_equal(audit->rotate_bytes, 0);
	assert_int_equal(audit->keep, 10);
	unload(&l);
}

static void a_mark_and_crlf_are_read(void **state)
{
	struct loaded l = load("\xef\xbb\xbf[allow]\r\n");

	(void)state;
	assert_true(has_fault(&l, false, 1, "needs a label"));
	unload(&l);
	l = load("\xef\xbb\xbf[allow a]\r\nowner = o\r\nreason = r\r\nhost = ok.example.com");
	assert_int_equal(l.r, 0);
	assert_int_equal(code_of(l.policy, "ok.example.com"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "bad.example.com"), POLICY_DENY);
	unload(&l);
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static const char utf16[] = "\xff\xfe[\0a\0]\0\n";
	static const char nul[] = OWNER GRANT "host = a\0b.example\n";

	(void)state;
	expect_fault_bytes(utf16, sizeof(utf16) - 1, 1, "UTF-16");
	expect_fault_bytes("\xfe\xff\0[", 4, 1, "UTF-16");
	expect_fault_bytes(nul, sizeof(nul) - 1, 7, "NUL");
	expect_fault("[allow a]\rowner = o\rreason = r\r", 1, "carriage return");
	expect_fault("[policy]\nname = a\rb\n", 2, "carriage return");
	expect_fault("[policy]\nname = a\x1b[2J\n", 2, "control character");
	expect_fault("[policy]\nname = a\x01\n", 2, "control character");
	expect_fault("[policy]\nname = a\x7f\n", 2, "control character");
	expect_fault("[policy]\nname = a\xc2\x85z\n", 2, "control character");
	expect_fault("[policy]\nname = a\xff\n", 2, "no UTF-8");
	expect_fault("[policy]\nname = a\xc0\x80\n", 2, "no UTF-8");
	expect_fault("[policy]\nname = a\xed\xa0\x80\n", 2, "no UTF-8");
	expect_fault("[policy]\nname = a\xf4\x90\x80\x80\n", 2, "no UTF-8");
	expect_fault("[policy]\nname = a\xe2\x82", 2, "no UTF-8");
	expect_fault("[policy]\nname = a\xe2\x80\xae"
		     "b\n",
		     2, "direction");
	expect_fault("; \x01\n", 1, "control character");
}

/* @count bytes @byte behind @before, and @after behind them; the caller frees it. */
static char *padded(const char *before, char byte, size_t count, const char *after)
{
	size_t size = strlen(before) + count + strlen(after) + 1;
	char *text = malloc(size);
	char *at;

	assert_non_null(text);
	at = stpcpy(text, before);
	memset(at, byte, count);
	snprintf(at + count, strlen(after) + 1, "%s", after);
	return text;
}

static void a_long_line_is_never_cut(void **state)
{
	/* Whatever the buffer, the tail of the comment is blanks and then a host. */
	OWN(own_free)
	char *comment = padded(OWNER GRANT "# note", ' ', 70000,
			       "host = bad.example.com\nhost = ok.example\n");
	OWN(own_free)
	char *fits = padded(OWNER GRANT "# note", ' ', 10000,
			    "host = bad.example.com\nhost = ok.example\n");
	OWN(own_free) char *mebibyte = padded("", 'a', 1 << 20, "");
	OWN(own_free) char *reason = padded("[policy]\nowner = ", 'x', 5000, "=evil\n");
	struct loaded l;

	(void)state;
	expect_fault(comment, 7, "longer than");
	expect_fault(mebibyte, 1, "longer than");
	l = load_clean(fits);
	assert_int_equal(code_of(l.policy, "bad.example.com"), POLICY_DENY);
	assert_int_equal(code_of(l.policy, "ok.example"), POLICY_ALLOW);
	unload(&l);
	l = load_clean(reason);
	unload(&l);
}

/* Names n0001.example to @count, @between each; the caller frees it. */
static char *many_names(const char *before, unsigned count, const char *between)
{
	size_t size = strlen(before) + count * (20 + strlen(between)) + 1;
	char *text = malloc(size);
	char *at = text;

	assert_non_null(text);
	at = stpcpy(at, before);
	for (unsigned i = 1; i <= count; i++)
		at += sprintf(at, "%sn%04u.example", i > 1 ? between : "", i);
	return text;
}

static void long_lists_are_read_in_full(void **state)
{
	OWN(own_free) char *one_line = many_names(OWNER GRANT "host = ", 300, " ");
	OWN(own_free) char *lines = many_names(OWNER GRANT "host =\n  ", 1000, "\n  ");
	OWN(own_free) char *commas = many_names(OWNER GRANT "host = ", 300, ",");
	struct loaded l = load_clean(one_line);
	char name[32];

	(void)state;
	for (unsigned i = 1; i <= 300; i++) {
		snprintf(name, sizeof(name), "n%04u.example", i);
		assert_int_equal(code_of(l.policy, name), POLICY_ALLOW);
	}
	assert_int_equal(code_of(l.policy, "n0301.example"), POLICY_DENY);
	unload(&l);
	l = load_clean(lines);
	for (unsigned i = 1; i <= 1000; i++) {
		snprintf(name, sizeof(name), "n%04u.example", i);
		assert_int_equal(code_of(l.policy, name), POLICY_ALLOW);
	}
	unload(&l);
	expect_fault(commas, 7, "separated by blanks");
}

static void sections_are_read_whole(void **state)
{
	(void)state;
	expect_fault("[policy]\nname = a\n[deny\nhost = b.example\n", 3, "not closed");
	expect_fault("[policy] x\n", 1, "behind the section's `]`");
	expect_fault("[policy]name = x\n", 1, "behind the section's `]`");
	expect_fault("[]\n", 1, "1 to 49 bytes");
	expect_fault("[allow 1234567890123456789012345678901234567890123456789]\n", 1,
		     "1 to 49 bytes");
	expect_fault("[allow a\"b]\n", 1, "label");
	expect_fault("[allow]\n", 1, "needs a label");
	expect_fault("[audit x]\n", 1, "takes no label");
	expect_fault("[allow a]\n", 1, "needs `host`");
	expect_fault("[nftable]\n", 1, "[nftables]");
	expect_fault("[proxy]\n", 1, "no section [proxy]");
	expect_fault("[agents x]\nclient = 10.0.0.0/8\n", 1, "the nearest is [agent]");
	expect_fault(OWNER GRANT "host = b.example\n" GRANT "host = c.example\n", 8, "line 3");
	expect_fault("[audit]\n[audit]\n", 2, "stands twice");
	/* Keys of a section that is no good belong to none, least of all to the one before. */
	expect_fault(OWNER "[deny\nname = x\n", 3, "not closed");
}

static void keys_are_read_whole(void **state)
{
	struct loaded l;

	(void)state;
	expect_fault("name = x\n", 1, "before the first section");
	expect_fault("[policy]\nname\n", 2, "no `key = value`");
	expect_fault("[policy]\nname : x\n", 2, "no `key = value`");
	expect_fault("[policy]\n= x\n", 2, "1 to 49 bytes");
	expect_fault("[policy]\nname =\n", 2, "no value");
	expect_fault("[policy]\nname = ; comment\n", 2, "no value");
	expect_fault("[policy]\nname = \"\"\n", 2, "no value");
	expect_fault("[policy]\nname = a\nname = b\n", 3, "stands twice");
	expect_fault("[policy]\nName = a\n", 2, "nearest is `name`");
	expect_fault("[policy]\nmode = learn\n", 2, "none of: enforce observe");
	expect_fault(GRANT "hots = a.example\n", 5, "nearest is `host`");
	expect_fault(GRANT "method = GET\n", 5, "no key `method`");
	expect_fault("[deny a]\nlists = x\nhost = a.example\n", 2, "no key `lists`");
	expect_fault("[policy]\n12345678901234567890123456789012345678901234567890 = x\n", 2,
		     "1 to 49 bytes");
	expect_fault("[policy]\n  name = x\n", 2, "indented line");
	expect_fault("[policy]\nname = x\n  owner = y\n", 3, "indented line");
	/* A fault does not move what follows it to another key. */
	l = load("[policy]\nname\n  b\nowner = o\n");
	assert_int_equal(l.faults.n_errors, 1);
	unload(&l);
}

static void quotes_and_comments_are_told_apart(void **state)
{
	struct loaded l = load_clean("; c\n# c\n  ; c\n[policy] ; c\n"
				     "name = \"a ;b \"\"c\"\" \" ; c\nowner = x;y # z ; c\n");

	(void)state;
	assert_string_equal(policy_name(l.policy), "a ;b \"c\" ");
	unload(&l);
	l = load_clean("[policy]\nowner = o\nname = one\n  ; between\n\n\ttwo ; c\n  three\n");
	assert_string_equal(policy_name(l.policy), "one two three");
	unload(&l);
	expect_fault("[policy]\nname = \"a\n", 2, "not closed");
	expect_fault("[policy]\nname = \"a\" b\n", 2, "behind the value's closing quote");
	expect_fault("[policy]\nname = \"a\\\"b\"\n", 2, "behind the value's closing quote");
}

static const struct {
	const char *host, *part;
} bad_hosts[] = {
	{ "127.1", "neither a name nor an address" },
	{ "0x7f.1", "neither a name nor an address" },
	{ "0x7f000001", "neither a name nor an address" },
	{ "2130706433", "neither a name nor an address" },
	{ "017700000001", "neither a name nor an address" },
	{ "1.2.3.4.", "neither a name nor an address" },
	{ "1.2.3.256", "neither a name nor an address" },
	{ "a.0x", "neither a name nor an address" },
	{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", "neither a name nor an address" },
	{ "wild.*.com", "whole first label" },
	{ "*wild.example.com", "whole first label" },
	{ "*.*", "whole first label" },
	{ "*.*.example.com", "whole first label" },
	{ "example.*", "whole first label" },
	{ "**", "whole first label" },
	{ "*.", "no name" },
	{ ".", "no name" },
	{ "..", "no name" },
	{ "a..example", "no name" },
	{ ".example", "no name" },
	{ "a.example..", "no name" },
	{ "a\\.b.example", "no name" },
	{ "a%b.example", "no name" },
	{ "a&b.example", "no name" },
	{ "https://a.example/", "URL" },
	{ "a.example:443", "port" },
	{ "[::1]", "without brackets" },
	{ "a.example,b.example", "separated by blanks" },
	{ "a.example/24", "no network" },
	{ "10.0.0.0/33", "no network" },
	{ "10.0.0.1/8", "bits set" },
	{ "fe80::1%eth0", "neither a name nor an address" },
	{ "a234567890123456789012345678901234567890123456789012345678901234.example", "no name" },
	{ "a\xc2\xa0z.example", "" },
	{ "10.0.0.0/8", "private = yes" },
	{ "8.0.0.0/5", "private = yes" },
	{ "::ffff:8.8.8.8", "private = yes" },
	{ "64:ff9b::a00:0/104", "private = yes" },
	{ "2002:7f00::/24", "private = yes" },
	{ "0.0.0.0/0", "wide = yes" },
	{ "::/0", "wide = yes" },
	{ "*", "wide = yes" },
	{ "*.com", "wide = yes" },
	{ "*.co.uk", "wide = yes" },
	{ "*.github.io", "wide = yes" },
	{ "*.COM.", "wide = yes" },
	{ "*.xn--p1ai", "wide = yes" },
	{ "*.\xd1\x80\xd1\x84", "wide = yes" },
	{ "*.internal", "wide = yes" },
};

static void hosts_that_are_none_are_refused(void **state)
{
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bad_hosts) / sizeof(bad_hosts[0]); i++) {
		snprintf(text, sizeof(text), GRANT "port = 443\nhost = fine.example\n  %s\n",
			 bad_hosts[i].host);
		expect_fault(text, 7, bad_hosts[i].part);
	}
}

static void hosts_are_read(void **state)
{
	struct loaded l = load_clean(OWNER GRANT
				     "host = Example.COM. _x.a.example -b.example b\xc3\xbc"
				     "cher.example "
				     "*.W\xc3\xbcste.example xn--fa-hia.example 8.8.8.0/24 8.8.8.9 "
				     "2606:4700::1 3com.example 1.2.3.4.example\n"
				     "[nftables]\nmanage = chains\ninterface = eth0\n");

	(void)state;
	assert_int_equal(code_of(l.policy, "example.com"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "_X.a.example"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "-b.example"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "xn--bcher-kva.example"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "a.xn--wste-0ra.example"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "xn--wste-0ra.example"), POLICY_DENY);
	assert_int_equal(code_of(l.policy, "1.2.3.4.example"), POLICY_ALLOW);
	assert_int_equal(only_grant(l.policy)->n_literals, 3);
	unload(&l);
	/* Nontransitional: the sharp s stays what it is. */
	l = load_clean(OWNER GRANT "host = fa\xc3\x9f.example\n");
	assert_int_equal(code_of(l.policy, "xn--fa-hia.example"), POLICY_ALLOW);
	assert_int_equal(code_of(l.policy, "fass.example"), POLICY_DENY);
	unload(&l);
}

static void the_longest_name_is_a_host(void **state)
{
	char label[64], name[256], text[512];
	struct loaded l;

	(void)state;
	memset(label, 'a', 63);
	label[63] = '\0';
	snprintf(name, sizeof(name), "%s.%s.%s.%.61s", label, label, label, label);
	assert_int_equal(strlen(name), 253);
	snprintf(text, sizeof(text), OWNER GRANT "host = %s\n", name);
	l = load_clean(text);
	assert_int_equal(code_of(l.policy, name), POLICY_ALLOW);
	unload(&l);
	snprintf(text, sizeof(text), OWNER GRANT "host = %sa\n", name);
	expect_fault(text, 7, "no name");
}

static const struct {
	const char *line, *part;
} bad_values[] = {
	{ "port = 0", "no port" },
	{ "port = 65536", "no port" },
	{ "port = +443", "no port" },
	{ "port = 443-", "no port" },
	{ "port = 444-443", "no port" },
	{ "port = 443x", "no port" },
	{ "port = 443/", "/tcp or /udp" },
	{ "port = 443/tls", "/tcp or /udp" },
	{ "port = 80/http", "/tcp or /udp" },
	{ "port = 53", "53 is never" },
	{ "port = 50-60/udp", "53 is never" },
	{ "port = 853/udp", "853 is never" },
	{ "port = 1000-1256", "at most 256" },
	{ "type = HTTPS", "only A and AAAA" },
	{ "type = ANY", "only A and AAAA" },
	{ "type = TXT", "only A and AAAA" },
	{ "type = TYPE65", "only A and AAAA" },
	{ "type = NOSUCH", "no record type" },
	{ "expires = 2027-02-30", "no date" },
	{ "expires = 2027-2-3", "no date" },
	{ "expires = 27-02-28", "no date" },
	{ "expires = 2027-02-28T00:00", "no date" },
	{ "expires = 2027-02-28 2027-03-01", "one value" },
	{ "address = 10.1", "no address" },
	{ "address = 10.0.0.0/8", "no address" },
	{ "private = maybe", "none of: no yes" },
	{ "private = YES", "none of: no yes" },
	{ "private = n", "none of: no yes" },
	{ "[resolver]\nttl_min = 5", "no duration" },
	{ "[resolver]\nttl_min = 5x", "no duration" },
	{ "[resolver]\nttl_min = -5s", "no duration" },
	{ "[resolver]\nttl_min = 1500ms", "out of range" },
	{ "[resolver]\nttl_min = 2d", "out of range" },
	{ "[resolver]\nttl_max = 0", "out of range" },
	{ "[resolver]\nttl_max = 99999999999999999999999s", "no duration" },
	{ "[resolver]\nttl_max = 18446744073709551615d", "out of range" },
	{ "[resolver]\nttl_min = 2h", "longer than `ttl_max`" },
	{ "[resolver]\ncache = 1k", "no number" },
	{ "[resolver]\ncache = 10000001", "out of range" },
	{ "[resolver]\nlisten = localhost", "no endpoint" },
	{ "[resolver]\nlisten = ::1:53x", "no endpoint" },
	{ "[resolver]\nclients = 10.0.0.1/8", "bits set" },
	{ "[resolver]\nclients = x", "no network" },
	{ "[resolver]\nupstream = tls://dns.quad9.net", "is no upstream" },
	{ "[resolver]\nupstream = auto 9.9.9.9", "stands alone" },
	{ "[resolver]\nupstream = 127.0.0.1", "ask itself" },
	{ "[resolver]\ndoh = off", "none of" },
	{ "[nftables]\ntable = ip x", "inet NAME" },
	{ "[nftables]\ntable = inet", "inet NAME" },
	{ "[nftables]\ntable = inet a b", "inet NAME" },
	{ "[nftables]\ntable = inet {x", "inet NAME" },
	{ "[nftables]\nmanage = chains", "needs `interface`" },
	{ "[nftables]\ninterface = a/b", "no interface" },
	{ "[nftables]\ninterface = a234567890123456", "no interface" },
	{ "[nftables]\npush = ip x", "FAMILY TABLE SET" },
	{ "[nftables]\npush = arp x y", "FAMILY TABLE SET" },
	{ "[nftables]\npush = ip x y z", "FAMILY TABLE SET" },
	{ "max_names = 0", "out of range" },
	{ "max_names = 1001", "out of range" },
	{ "max_names = 10", "below a wildcard" },
	{ "max_labels = 10", "below a wildcard" },
	{ "max_labels = 0", "out of range" },
	{ "max_rate = 5", "is no rate" },
	{ "max_rate = 5/h", "is no rate" },
	{ "max_rate = 0/s", "is no rate" },
	{ "max_rate = 5/s 6/m", "takes one value" },
	{ "[nftables]\nsize = 0", "out of range" },
	{ "[audit]\nlog = audit.log", "no absolute path" },
	{ "[audit]\nrotate = 10MB", "no size" },
	{ "[audit]\nrotate = 100", "no size" },
	{ "[audit]\nkeep = 0", "out of range" },
	{ "[deny x]\nhost = 192.0.2.1", "no name" },
};

static void values_out_of_range_are_refused(void **state)
{
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++) {
		unsigned line = bad_values[i].line[0] == '[' ? 7 : 6;

		snprintf(text, sizeof(text), GRANT "host = a.example\n%s\n", bad_values[i].line);
		expect_fault(text, line, bad_values[i].part);
	}
}

static void every_fault_is_told_at_once(void **state)
{
	struct loaded l =
		load("[polcy]\n[allow a]\nowner = o\nhots = x\nhost = 127.1 *.* ok.example\n"
		     "port = 53 x\n");

	(void)state;
	assert_int_equal(l.r, -EINVAL);
	assert_int_equal(l.faults.n_errors, 7);
	for (size_t i = 0; i + 1 < l.faults.n; i++)
		assert_true(l.faults.faults[i].line <= l.faults.faults[i + 1].line);
	unload(&l);
}

static void faults_have_a_limit(void **state)
{
	enum { LINES = 5000 };
	OWN(own_free) char *text = malloc(LINES * 2 + 1);
	struct loaded l;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < LINES; i++)
		memcpy(text + 2 * i, "x\n", 3);
	l = load(text);
	assert_int_equal(l.faults.n_errors, LINES);
	assert_int_equal(l.faults.n, 1001);
	unload(&l);
}

static void warnings_are_told(void **state)
{
	(void)state;
	expect_warning("[policy]\nname = x\n", 1, "no `owner`");
	expect_warning("[allow a]\nowner = o\nreason = r\nhost = a.example\n", 1, "never");
	expect_warning(
		"[allow a]\nowner = o\nreason = r\nhost = a.example\nreviewed = 2026-10-31\n", 5,
		"more than 30 days ago");
	expect_warning(
		"[allow a]\nowner = o\nreason = r\nhost = a.example\nreviewed = 2026-12-02\n", 5,
		"future");
	expect_warning(GRANT "host = a.example\nexpires = 2026-12-01\n", 6, "has expired");
	expect_warning(GRANT "host = a.example\nexpires = 2026-12-14\n", 6, "within 14 days");
	expect_warning(GRANT "host = *.com\nwide = yes\n", 5, "public suffix");
	expect_warning(GRANT "host = 9.9.9.9\n", 5, "public DNS resolver");
	expect_warning(GRANT "host = 9.9.9.7\n", 1, "`manage = chains` only");
	expect_warning(GRANT "host = a.example A.example.\n", 5, "twice");
	expect_warning(GRANT "host = 8.8.8.8 8.8.8.8\n", 1, "twice");
	expect_warning(GRANT "host = x.localhost\n", 5, "can never match");
	expect_warning(GRANT "host = a.onion\n", 5, "can never match");
	expect_warning(GRANT "host = dns.google\n", 5, "can never match");
	expect_warning(GRANT "host = *.b.example\n[deny d]\nhost = *.b.example\n", 5,
		       "can never match");
	expect_warning(GRANT "host = *.b.example\n[deny d]\nhost = *.example\n", 5,
		       "can never match");
	expect_warning(GRANT "host = b.example\n[deny d]\nhost = b.example\n", 7, "is not denied");
	expect_warning("[deny d]\nhost = b.example b.example\n", 2, "twice");
	expect_warning(GRANT "host = 8.8.8.8\naddress = 9.9.9.9\n", 6, "no effect");
	expect_warning("[nftables]\ninterface = a\n", 2, "no effect");
	expect_warning("[nftables]\nmanage = no\nsize = 5\n", 3, "no effect");
	expect_warning("[nftables]\nmanage = no\ntable = inet x\n", 3, "no effect");
	expect_warning("[nftables]\nmanage = no\ngrace = 5s\n", 3, "no effect");
}

static void more_grants_than_fit_on_a_host_are_refused(void **state)
{
	char text[8192];
	size_t len = 0;

	(void)state;
	for (unsigned i = 0; i < 17; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, NUMBERED, i);
	for (unsigned line = 1; line <= 4; line += 3) /* its literal, its host */
		expect_fault(text, 16 * 4 + line, "more than 16 grants");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_policy_is_good_and_allows_nothing),
		cmocka_unit_test(every_value_is_read),
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(a_mark_and_crlf_are_read),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(a_long_line_is_never_cut),
		cmocka_unit_test(long_lists_are_read_in_full),
		cmocka_unit_test(sections_are_read_whole),
		cmocka_unit_test(keys_are_read_whole),
		cmocka_unit_test(quotes_and_comments_are_told_apart),
		cmocka_unit_test(hosts_that_are_none_are_refused),
		cmocka_unit_test(hosts_are_read),
		cmocka_unit_test(the_longest_name_is_a_host),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(every_fault_is_told_at_once),
		cmocka_unit_test(faults_have_a_limit),
		cmocka_unit_test(warnings_are_told),
		cmocka_unit_test(more_grants_than_fit_on_a_host_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
