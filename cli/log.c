/* SPDX-License-Identifier: MIT */
/* `bailiwick log` and `bailiwick log verify`: the audit log, for people. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "audit/audit.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "policy/policy.h"

static const char help[] =
	"usage: bailiwick log [OPTION ...] [FILE]\n"
	"       bailiwick log verify [-p POLICY] [FILE]\n"
	"\n"
	"Print the audit log FILE and its rotated files, the oldest record first; without FILE,\n"
	"the log that the policy names. With `verify`, check that no line of it was changed,\n"
	"removed or moved.\n"
	"\n"
	"  -f, --follow         go on, and print records as they are written\n"
	"      --agent AGENT    only what this address, one of this network, or the agent of\n"
	"                       this name asked\n"
	"      --verdict WORD   only allow, deny, observe or error\n"
	"      --name NAME      only this name and the names below it\n"
	"      --since WHEN     only from then on: 2026-11-30, \"2026-11-30 12:34:56\" (UTC),\n"
	"                       or 90s, 5m, 2h, 7d, 1w ago\n"
	"      --json           print the lines as they are in the file\n"
	"  -p, --policy POLICY  the policy file that names the log\n"
	"      --help           print this help\n"
	"\n"
	"Exit status: 0, or the chain is whole; 1 if it is broken, or a line is no record; 2 if\n"
	"the log could not be read.\n";

struct options {
	const char *policy;
	bool follow, json;
	const char *verdict;  /* NULL: any */
	struct network agent; /* family 0: any */
	const char *who;      /* NULL: any */
	struct name name;     /* len 0: any */
	int64_t since_ms;
};

/* How often a log that is followed is looked at. */
static const struct timespec follow_pause = { .tv_nsec = 200L * 1000 * 1000 };

/*
 * Printing
 */

static bool is_wanted(const struct options *options, const struct audit_entry *entry)
{
	const struct audit_record *record = &entry->record;

	if (entry->time_ms < options->since_ms)
		return false;
	if (options->verdict != NULL &&
	    (record->verdict == NULL || strcmp(record->verdict, options->verdict) != 0))
		return false;
	if (options->agent.address.family != 0 &&
	    (record->agent == NULL || !network_contains(&options->agent, record->agent)))
		return false;
	if (options->who != NULL && (record->who == NULL || strcmp(record->who, options->who) != 0))
		return false;
	if (options->name.len != 0 &&
	    (record->name == NULL || (!name_equal(record->name, &options->name) &&
				      !name_is_below(record->name, &options->name))))
		return false;
	return strcmp(record->action, "continue") != 0;
}

/* Print @line if it is wanted. Gives CLI_NO, said so, if it is no record. */
static int print_line(const struct options *options, const struct audit_line *line)
{
	OWN(audit_entry_done) struct audit_entry entry = { .seq = 0 };

	if (!line->whole || audit_entry_parse(line->text, line->len, &entry) < 0) {
		cli_print_text(stderr, line->path);
		fprintf(stderr, ":%" PRIu64 ": this line is no record\n", line->number);
		return CLI_NO;
	}
	if (!is_wanted(options, &entry))
		return CLI_OK;
	if (!options->json) {
		cli_print_entry(stdout, &entry);
		return CLI_OK;
	}
	fwrite(line->text, 1, line->len, stdout); /* a record is printable ASCII */
	putchar('\n');
	return CLI_OK;
}

static void own_reader(struct audit_reader **reader)
{
	audit_reader_close(*reader);
}

static int say_error(const struct err *err)
{
	fputs("bailiwick log: ", stderr);
	cli_print_text(stderr, err->text);
	putc('\n', stderr);
	return CLI_ERROR;
}

static int print_log(const struct options *options, const char *path)
{
	OWN(own_reader) struct audit_reader *reader = NULL;
	struct audit_line line;
	int status = CLI_OK;
	struct err err;
	int r;

	if (audit_reader_open(path, &reader, &err) < 0)
		return say_error(&err);
	for (;;) {
		while ((r = audit_reader_next(reader, &line)) > 0)
			if (print_line(options, &line) != CLI_OK)
				status = CLI_NO;
		if (r < 0) {
			err_set(&err, r, "%s could not be read: %s", path, strerror(-r));
			return say_error(&err);
		}
		if (!options->follow && audit_reader_rest(reader, &line) &&
		    print_line(options, &line) != CLI_OK)
			status = CLI_NO;
		if (!options->follow || fflush(stdout) != 0)
			return status;
		nanosleep(&follow_pause, NULL);
	}
}

/*
 * Verifying
 */

static void print_fault(void *arg, const char *path, uint64_t line, bool told, const char *text)
{
	(void)arg;
	cli_print_text(stdout, path);
	if (line > 0)
		printf(":%" PRIu64, line);
	fputs(told ? ": note: " : ": ", stdout);
	cli_print_text(stdout, text);
	putchar('\n');
}

static int verify_log(const char *path)
{
	struct audit_summary summary;
	struct err err;

	if (audit_verify(path, print_fault, NULL, &summary, &err) < 0)
		return say_error(&err);
	printf("%" PRIu64 " lines, records %" PRIu64 " to %" PRIu64, summary.lines,
	       summary.first_seq, summary.last_seq);
	if (summary.missing > 0)
		printf(", %" PRIu64 " of them not written", summary.missing);
	if (summary.breaks == 0)
		puts(": the chain is whole");
	else
		printf(": the chain is broken, %" PRIu64 " fault%s\n", summary.breaks,
		       summary.breaks == 1 ? "" : "s");
	return summary.breaks == 0 ? CLI_OK : CLI_NO;
}

/*
 * Options
 */

/* Parse @text as so long ago: a number and a unit. False: it is none. */
static bool parse_ago(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	char *end;
	long long count;

	errno = 0;
	count = strtoll(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno != 0 || end[0] == '\0' || end[1] != '\0')
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].letter == end[0]) {
			if (count > now_ms / 1000 / units[i].seconds)
				count = now_ms / 1000 / units[i].seconds;
			*ret_ms = now_ms - count * units[i].seconds * 1000;
			return true;
		}
	return false;
}

/* Parse @text as a date, or a date and time, in UTC. False: it is none. */
static bool parse_date(const char *text, int64_t *ret_ms)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d" };
	const char *rest = NULL;
	struct tm tm = { 0 };
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]) && rest == NULL; i++) {
		tm = (struct tm){ 0 };
		rest = strptime(text, forms[i], &tm);
	}
	if (rest == NULL)
		return false;
	if (rest[0] == '.' && i <= 2) /* behind seconds: as in the log itself */
		rest += 1 + strspn(rest + 1, "0123456789");
	if (strcmp(rest, "") != 0 && strcmp(rest, "Z") != 0)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

static bool parse_since(const char *text, int64_t *ret_ms)
{
	return parse_ago(text, (int64_t)time(NULL) * 1000, ret_ms) || parse_date(text, ret_ms);
}

static bool is_verdict(const char *word)
{
	return strcmp(word, "allow") == 0 || strcmp(word, "deny") == 0 ||
	       strcmp(word, "observe") == 0 || strcmp(word, "error") == 0;
}

enum { OPT_AGENT = 256, OPT_VERDICT, OPT_NAME, OPT_SINCE, OPT_JSON };

/* Take the option @c with @value. False, said so: the value is wrong, or there is no such option. */
static bool take_option(struct options *options, int c, char *value)
{
	const char *wrong = NULL;

	switch (c) {
	case 'f':
		options->follow = true;
		break;
	case 'p':
		options->policy = value;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_AGENT:
		options->who = network_parse(value, &options->agent) < 0 ? value : NULL;
		if (options->who != NULL && strpbrk(value, "/: ") != NULL)
			wrong = "is no address, network or agent's name";
		break;
	case OPT_VERDICT:
		options->verdict = value;
		if (!is_verdict(value))
			wrong = "is no verdict: allow, deny, observe or error";
		break;
	case OPT_NAME:
		if (name_parse(value, &options->name) < 0)
			wrong = "is no name";
		break;
	case OPT_SINCE:
		if (!parse_since(value, &options->since_ms))
			wrong = "is no time or duration";
		break;
	default:
		return false; /* getopt_long() has said why */
	}
	if (wrong != NULL) {
		fputs("bailiwick log: ", stderr);
		cli_print_text(stderr, value);
		fprintf(stderr, " %s\n", wrong);
	}
	return wrong == NULL;
}

static bool parse_options(int argc, char **argv, struct options *ret_options)
{
	static const struct option longs[] = {
		{ "follow", no_argument, NULL, 'f' },
		{ "policy", required_argument, NULL, 'p' },
		{ "agent", required_argument, NULL, OPT_AGENT },
		{ "verdict", required_argument, NULL, OPT_VERDICT },
		{ "name", required_argument, NULL, OPT_NAME },
		{ "since", required_argument, NULL, OPT_SINCE },
		{ "json", no_argument, NULL, OPT_JSON },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "fp:", longs, NULL)) >= 0)
		if (!take_option(ret_options, c, optarg))
			return false;
	if (argc - optind > 1)
		fputs("bailiwick log: one FILE at a time\n", stderr);
	return argc - optind <= 1;
}

static void own_policy(struct policy **policy)
{
	policy_unref(*policy);
}

/* The log that the policy @given names, which the caller frees. Gives an exit status. */
static int find_log(const char *given, char **ret_path)
{
	OWN(own_policy) struct policy *policy = NULL;
	int status = cli_load_policy(&cli_log, given, &policy);

	if (status != CLI_OK)
		return CLI_ERROR;
	if (policy_audit(policy)->log == NULL) {
		fputs("bailiwick log: the policy names no log in [audit]; name a FILE\n", stderr);
		return CLI_ERROR;
	}
	*ret_path = strdup(policy_audit(policy)->log);
	return CLI_OK;
}

static int run_log(int argc, char **argv)
{
	bool verify = argc > 1 && strcmp(argv[1], "verify") == 0;
	struct options options = { .policy = NULL };
	OWN(own_free) char *path = NULL;

	if (verify) {
		argc--;
		argv++;
	}
	if (!parse_options(argc, argv, &options))
		return cli_usage(&cli_log);
	if (optind < argc)
		path = strdup(argv[optind]);
	else if (find_log(options.policy, &path) != CLI_OK)
		return CLI_ERROR;
	if (path == NULL)
		return say_error(&(struct err){ -ENOMEM, "no memory" });
	return cli_finish(verify ? verify_log(path) : print_log(&options, path));
}

const struct cli_command cli_log = {
	.name = "log",
	.summary = "print, follow or verify the audit log",
	.help = help,
	.run = run_log,
};
