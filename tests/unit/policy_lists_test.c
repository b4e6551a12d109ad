/* SPDX-License-Identifier: MIT */
/* Lists of denied names: their forms, what is wrong with them and where, and what they decide. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/own.h"
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 }; /* 2026-12-01 */

#define POLICY                                                      \
	"[policy]\nowner = o\n"                                     \
	"[allow a]\nowner = o\nreason = r\nreviewed = 2026-11-30\n" \
	"host = *.example.com ok.example.com *.xn--mller-kva.example\n"

struct world {
	char folder[64];
	struct policy *policy;
	struct policy_faults faults;
	struct err err;
	int r;
};

static const char *const file_names[] = { "main.ini", "a.list", "b.list" };

static int make_world(void **state)
{
	static struct world world;

	world = (struct world){ .folder = "/tmp/bailiwick-lists-XXXXXX" };
	*state = &world;
	return mkdtemp(world.folder) == NULL;
}

static void unload(struct world *w)
{
	policy_faults_done(&w->faults);
	policy_unref(w->policy);
	w->policy = NULL;
}

static int remove_world(void **state)
{
	struct world *w = *state;
	char path[128];

	unload(w);
	for (size_t i = 0; i < LENGTH(file_names); i++) {
		snprintf(path, sizeof(path), "%s/%s", w->folder, file_names[i]);
		unlink(path);
	}
	return rmdir(w->folder);
}

static void write_bytes(struct world *w, const char *name, const void *bytes, size_t len)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", w->folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void load(struct world *w, const char *policy)
{
	char path[128];

	unload(w);
	write_bytes(w, "main.ini", policy, strlen(policy));
	snprintf(path, sizeof(path), "%s/main.ini", w->folder);
	w->r = policy_load(path, NOW, &w->policy, &w->faults, &w->err);
}

/* Load a policy whose [deny] has @len bytes of @list as its list. */
static void load_bytes(struct world *w, const void *list, size_t len)
{
	write_bytes(w, "a.list", list, len);
	load(w, POLICY "[deny l]\nlist = a.list\n");
}

static void load_list(struct world *w, const char *list)
{
	load_bytes(w, list, strlen(list));
}

static bool has_fault(const struct world *w, bool warning, const char *file, unsigned line,
		      const char *part)
{
	for (size_t i = 0; i < w->faults.n; i++) {
		const struct policy_fault *fault = &w->faults.faults[i];

		if (fault->line == line && fault->warning == warning &&
		    strcmp(strrchr(fault->file, '/') + 1, file) == 0 &&
		    strstr(fault->text, part) != NULL)
			return true;
	}
	for (size_t i = 0; i < w->faults.n; i++)
		print_message("# %s:%u: %s\n", w->faults.faults[i].file, w->faults.faults[i].line,
			      w->faults.faults[i].text);
	return false;
}

static struct policy_verdict judge(const struct world *w, const char *text)
{
	const struct address client = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return policy_judge_name(w->policy, policy_agent_find(w->policy, &client, NULL), &name, 1,
				 NOW);
}

/* Check that @text is denied by line @line of the file @file. */
static void assert_denied(const struct world *w, const char *text, const char *file, unsigned line)
{
	struct policy_verdict verdict = judge(w, text);

	assert_int_equal(verdict.reason, POLICY_REASON_DENIED);
	assert_string_equal(strrchr(verdict.place.file, '/') + 1, file);
	assert_int_equal(verdict.place.line, line);
}

static void assert_allowed(const struct world *w, const char *text)
{
	if (judge(w, text).code != POLICY_ALLOW)
		fail_msg("%s is denied: %s", text, policy_reason_word(judge(w, text).reason));
}

static void plain_names_are_denied(void **state)
{
	struct world *w = *state;

	load_list(w, "# names\n! and\n; more\n\nads.example.com\n"
		     "  *.Track.Example.COM. \t# why\nm\xc3\xbc.m\xc3\xbcller.example\n"
		     "under_score.example.com;x\nads.example.com\n");
	assert_int_equal(w->r, 0);
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "ads.example.com", "a.list", 5);
	assert_denied(w, "ADS.example.com", "a.list", 5);
	assert_denied(w, "a.b.track.example.com", "a.list", 6);
	assert_denied(w, "xn--m-eha.xn--mller-kva.example", "a.list", 7);
	assert_denied(w, "under_score.example.com", "a.list", 8);
	assert_allowed(w, "x.ads.example.com");
	assert_allowed(w, "track.example.com");
}

static void hosts_files_deny_names_but_those_of_the_machine(void **state)
{
	struct world *w = *state;

	load_list(w, "127.0.0.1 localhost localhost.localdomain\n::1 ip6-loopback localhost\n"
		     "255.255.255.255\tbroadcasthost\nfe80::1%lo0 localhost\nff02::1 ip6-allnodes\n"
		     "0.0.0.0 0.0.0.0\n0.0.0.0 a.example.com b.example.com # c.example.com\n"
		     ":: d.example.com\n127.0.0.1\tE.example.com#\n::1 *.f.example.com\n");
	assert_int_equal(w->r, 0);
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "a.example.com", "a.list", 7);
	assert_denied(w, "b.example.com", "a.list", 7);
	assert_denied(w, "d.example.com", "a.list", 8);
	assert_denied(w, "e.example.com", "a.list", 9);
	assert_denied(w, "x.f.example.com", "a.list", 10);
	assert_allowed(w, "c.example.com");
	assert_int_equal(judge(w, "localhost").special, POLICY_SPECIAL_LOCALHOST);
	assert_int_equal(judge(w, "ip6-loopback").reason, POLICY_REASON_NOT_LISTED);
}

#define ZONE_HEAD                                                                  \
	"$TTL 1h\n@ IN SOA localhost. root.localhost. ( 1 2h ; serial\n 3 4 5 )\n" \
	"  IN NS localhost.\n"

static void zones_deny_their_owners(void **state)
{
	struct world *w = *state;

	load_list(w, ZONE_HEAD "bad.example.com CNAME .\n*.bad2.example.com 60 IN CNAME *.\n"
			       "; c\ndrop.example.com IN 60 cname RPZ-drop.\n"
			       "zero.example.com A 0.0.0.0\n AAAA ::\n"
			       "esc\\097ped.example.com CNAME ( .\n )\n"
			       "rpz-ip.example.com TYPE5 .\n");
	assert_int_equal(w->r, 0);
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "bad.example.com", "a.list", 5);
	assert_allowed(w, "x.bad.example.com");
	assert_denied(w, "x.bad2.example.com", "a.list", 6);
	assert_allowed(w, "bad2.example.com");
	assert_denied(w, "drop.example.com", "a.list", 8);
	assert_denied(w, "zero.example.com", "a.list", 9);
	assert_denied(w, "escaped.example.com", "a.list", 12);
	assert_denied(w, "rpz-ip.example.com", "a.list", 13);
}

static void a_zone_has_its_own_name(void **state)
{
	struct world *w = *state;

	load_list(w, "$ORIGIN .\nrpz.test 60 IN SOA a. b. 1 2 3 4 5\n\tNS a.\n\tTXT \"v ; (\"\n"
		     "$ORIGIN com.rpz.test.\na.example CNAME .\n*.b.example CNAME .\n"
		     "c.example.com.rpz.test. CNAME .\n@ RRSIG x\n");
	assert_int_equal(w->r, 0);
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "a.example.com", "a.list", 6);
	assert_denied(w, "x.b.example.com", "a.list", 7);
	assert_denied(w, "c.example.com", "a.list", 8);
	load_list(w, "rpz.test. IN SOA a. b. 1 2 3 4 5\na.example.com CNAME .\n"
		     "b.example.com. CNAME .\n");
	assert_int_equal(w->r, -EINVAL);
	assert_true(has_fault(w, false, "a.list", 3, "not in the zone"));
	load_list(w, "@ SOA a. b. 1 2 3 4 5\nb.example.com. CNAME .\n");
	assert_true(has_fault(w, false, "a.list", 2, "ends in a dot"));
	load_list(w, "$ORIGIN rpz.test.\na.example.com CNAME .\nx.test. SOA a. b. 1 2 3 4 5\n");
	assert_true(has_fault(w, false, "a.list", 3, "this SOA says"));
}

static void what_a_zone_cannot_do_here_is_said(void **state)
{
	struct world *w = *state;

	load_list(w, ZONE_HEAD "a.example.com CNAME garden.example.\nb.example.com A 10.0.0.1\n"
			       "c.example.com CNAME rpz-passthru.\n"
			       "d.example.com CNAME d.example.com.\n*.e.example.com CNAME .\n");
	assert_int_equal(w->r, 0);
	assert_int_equal(w->faults.n, 2);
	assert_true(has_fault(w, true, "a.list", 5, "the data is not answered"));
	assert_true(has_fault(w, true, "a.list", 7, "an exception"));
	assert_denied(w, "a.example.com", "a.list", 5);
	assert_denied(w, "b.example.com", "a.list", 6);
	assert_allowed(w, "c.example.com");
	assert_allowed(w, "d.example.com");
}

struct bad {
	const char *list;
	unsigned line;
	const char *part;
};

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct bad bad[] = {
		{ "", 0, "holds no name" },
		{ "# nothing\n", 0, "holds no name" },
		{ "127.0.0.1 localhost\n", 0, "holds no name" },
		{ "a.example.com\nb.example.com c.example.com\n", 2, "holds one name" },
		{ "a.example.com\n0.0.0.0 b.example.com\n", 2, "line 1 has a name alone" },
		{ "\n0.0.0.0 b.example.com\na.example.com\n", 3, "is since line 2" },
		{ "0.0.0.0 a.example.com\n0.0.0.0 # x\n", 2, "no name stands behind" },
		{ "0.0.0.0 a.example.com\n10.0.0.1 nas\n", 2, "leads somewhere" },
		{ "a.example.com\n1.2.3.4\n", 2, "an address is denied" },
		{ "a.example.com\n10.0.0.0/8\n", 2, "an address is denied" },
		{ "a..example.com\n", 1, "is no name" },
		{ ".example.com\n", 1, "is no name" },
		{ "a*.example.com\n", 1, "stands only as the whole first label" },
		{ "x\nhttps://example.com/\n", 2, "is a URL" },
		{ "x\ny\x01\n", 2, "a control character" },
		{ "x\r\ny\rz\r\n", 2, "a carriage return" },
		{ "x\ny\xff\n", 2, "no UTF-8" },
		{ "[Adblock Plus]\n||a^\n||b^\n", 1, "filter rules" },
		{ "\xff\xfex\n", 1, "UTF-16" },
		{ "\x1f\x8b\x08\n", 1, "compressed" },
		{ ZONE_HEAD "32.4.3.2.1.rpz-ip CNAME .\n", 5, "`rpz-ip`" },
		{ ZONE_HEAD "ns.example.rpz-nsdname CNAME .\n", 5, "`rpz-nsdname`" },
		{ ZONE_HEAD "a CNAME\n", 5, "has no data" },
		{ ZONE_HEAD "a CNAME . .\n", 5, "has one name" },
		{ ZONE_HEAD "a BOGUS .\n", 5, "no record type" },
		{ ZONE_HEAD "a CH CNAME .\n", 5, "no record type" },
		{ ZONE_HEAD "a..b CNAME .\n", 5, "is no name" },
		{ ZONE_HEAD "a CNAME ( .\n", 5, "not closed" },
		{ ZONE_HEAD "a CNAME . )\n", 5, "closes nothing" },
		{ ZONE_HEAD "a TXT \"x\n", 5, "quote" },
		{ ZONE_HEAD "$INCLUDE x\n", 5, "only `$ORIGIN" },
		{ ZONE_HEAD "$GENERATE 1-9 a$ CNAME .\n", 5, "only `$ORIGIN" },
		{ "$ORIGIN a..b.\na CNAME .\n", 1, "is no origin" },
		{ "$TTL 60\n CNAME .\n", 2, "has no owner" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < LENGTH(bad); i++) {
		load_list(w, bad[i].list);
		assert_int_equal(w->r, -EINVAL);
		if (!has_fault(w, false, "a.list", bad[i].line, bad[i].part))
			fail_msg("no fault `%s` of: %s", bad[i].part, bad[i].list);
	}
}

/* Put @part to @at, without a NUL. */
static void put(char *at, const char *part)
{
	while (*part != '\0')
		*at++ = *part++;
}

static void bytes_and_ends_of_lines(void **state)
{
	static const char nul[] = "a.example.com\nb\0c.example.com\n";
	struct world *w = *state;
	OWN(own_free) char *text = malloc(40000);

	load_list(w, "\xef\xbb\xbf"
		     "a.example.com\r\nb.example.com\r\n");
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "a.example.com", "a.list", 1);
	assert_denied(w, "b.example.com", "a.list", 2);
	load_list(w, "a.example.com\nb.example.com");
	assert_int_equal(w->r, 0);
	assert_true(has_fault(w, true, "a.list", 2, "has no end"));
	assert_denied(w, "b.example.com", "a.list", 2);
	load_bytes(w, nul, sizeof(nul) - 1);
	assert_true(has_fault(w, false, "a.list", 2, "a NUL byte"));
	/* The longest line, and one byte more, whose tail must not be a line of its own. */
	assert_non_null(text);
	memset(text, ' ', 40000);
	put(text, "a.example.com");
	put(text + 16384, "\nok.net\n");
	load_bytes(w, text, 16392);
	assert_int_equal(w->faults.n, 0);
	assert_denied(w, "a.example.com", "a.list", 1);
	memset(text + 16384, ' ', 100);
	put(text + 16385, "b.example.com\nc.example.com\n");
	load_bytes(w, text, 16413);
	assert_true(has_fault(w, false, "a.list", 1, "longer than 16384 bytes"));
	assert_int_equal(w->faults.n, 1);
}

static void lists_that_cannot_be_read(void **state)
{
	struct world *w = *state;
	char path[128];

	load(w, POLICY "[deny l]\nlist = a.list\n");
	assert_true(has_fault(w, false, "main.ini", 9, "could not be read: No such file"));
	load(w, POLICY "[deny l]\nlist = .\n");
	assert_true(has_fault(w, false, "main.ini", 9, "no regular file"));
	load(w, POLICY "[deny l]\nlist = /dev/zero\n");
	assert_true(has_fault(w, false, "main.ini", 9, "no regular file"));
	snprintf(path, sizeof(path), "%s/b.list", w->folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	load(w, POLICY "[deny l]\nlist = b.list\n");
	assert_true(has_fault(w, false, "main.ini", 9, "no regular file"));
	unlink(path);
	write_bytes(w, "b.list", "x\n", 2);
	assert_int_equal(truncate(path, (256 << 20) + 1), 0);
	load(w, POLICY "[deny l]\nlist = b.list\n");
	assert_true(has_fault(w, false, "main.ini", 9, "more than 256 MiB"));
	load(w, POLICY "[deny l]\nreason = x\n");
	assert_true(has_fault(w, false, "main.ini", 8, "needs `host` or `list`"));
	unload(w);
	w->r = policy_load_text("t", "[deny l]\nlist = a\n", 18, NOW, &w->policy, &w->faults,
				&w->err);
	assert_int_equal(w->r, -EINVAL);
}

static void the_first_source_that_denies_is_named(void **state)
{
	static const char first[] = "x.example.com\ny.example.com\n*.z.example.com\n";
	static const char second[] = "y.example.com\na.z.example.com\nok.example.com\n"
				     "q.example.com\n";
	struct world *w = *state;

	write_bytes(w, "a.list", first, sizeof(first) - 1);
	write_bytes(w, "b.list", second, sizeof(second) - 1);
	load(w, POLICY "[deny one]\nhost = x.example.com\nlist = a.list\n         b.list\n"
		       "[deny two]\nhost = q.example.com *.q.example.com\nlist = b.list\n");
	assert_int_equal(w->r, 0);
	/* A name that is also listed is no warning; one that a grant lists is. */
	assert_int_equal(w->faults.n, 1);
	assert_true(has_fault(w, true, "b.list", 3, "is not denied: the grant `a` lists it"));
	assert_denied(w, "x.example.com", "main.ini", 8);
	assert_denied(w, "y.example.com", "a.list", 2);
	assert_denied(w, "a.z.example.com", "a.list", 3);
	assert_denied(w, "q.example.com", "b.list", 4);
	assert_denied(w, "x.q.example.com", "main.ini", 12);
	assert_allowed(w, "ok.example.com");
}

static void everything_may_be_denied_but_exact_hosts(void **state)
{
	static const char *const lists[] = { "*\n", "0.0.0.0 *\n",
					     "@ SOA . . 1 2 3 4 5\n* CNAME .\n" };
	struct world *w = *state;

	for (size_t i = 0; i < LENGTH(lists) + 1; i++) {
		if (i < LENGTH(lists))
			load_list(w, lists[i]);
		else
			load(w, POLICY "[deny l]\nhost = *\n");
		assert_int_equal(w->r, 0);
		assert_allowed(w, "ok.example.com");
		assert_int_equal(judge(w, "x.example.com").reason, POLICY_REASON_DENIED);
		assert_int_equal(judge(w, "other.net").reason, POLICY_REASON_DENIED);
		assert_true(judge(w, "example.com").exists);
		assert_true(has_fault(w, true, "main.ini", 7, "`*.example.com` can never match"));
	}
}

#define DOH POLICY "[resolver]\ndoh_list = a.list\n"

static void a_list_of_doh_names_beats_exact_hosts(void **state)
{
	static const char list[] = "ok.example.com\n*.r.example.com\ntarget.net\n";
	struct world *w = *state;
	struct policy_verdict asked;
	struct name target;

	write_bytes(w, "a.list", list, sizeof(list) - 1);
	load(w, DOH);
	assert_int_equal(w->r, 0);
	assert_true(has_fault(w, true, "main.ini", 7, "it is on a `doh_list`"));
	assert_int_equal(judge(w, "ok.example.com").reason, POLICY_REASON_DOH);
	assert_int_equal(judge(w, "a.r.example.com").reason, POLICY_REASON_DOH);
	assert_int_equal(judge(w, "target.net").reason, POLICY_REASON_DOH);
	assert_int_equal(judge(w, "target.net").place.line, 9);
	assert_allowed(w, "r.example.com");
	asked = judge(w, "x.example.com");
	assert_int_equal(name_parse("target.net", &target), 0);
	assert_int_equal(policy_judge_target(w->policy, &asked, &target).reason, POLICY_REASON_DOH);
	assert_int_equal(name_parse("x.target.net", &target), 0);
	assert_int_equal(policy_judge_target(w->policy, &asked, &target).code, POLICY_ALLOW);
	load(w, DOH "doh = permit\n");
	assert_true(has_fault(w, true, "main.ini", 9, "no effect with `doh = permit`"));
	assert_allowed(w, "ok.example.com");
	load(w, DOH "[allow b]\nowner = o\nreason = r\nhost = ok.example.com\ndoh = yes\n");
	assert_allowed(w, "ok.example.com");
}

#define LISTS(test) cmocka_unit_test_setup_teardown(test, make_world, remove_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTS(plain_names_are_denied),
		LISTS(hosts_files_deny_names_but_those_of_the_machine),
		LISTS(zones_deny_their_owners),
		LISTS(a_zone_has_its_own_name),
		LISTS(what_a_zone_cannot_do_here_is_said),
		LISTS(what_is_wrong_is_told_with_its_line),
		LISTS(bytes_and_ends_of_lines),
		LISTS(lists_that_cannot_be_read),
		LISTS(the_first_source_that_denies_is_named),
		LISTS(everything_may_be_denied_but_exact_hosts),
		LISTS(a_list_of_doh_names_beats_exact_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
