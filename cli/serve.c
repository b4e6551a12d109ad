/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "audit/audit.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "lease/lease.h"
#include "policy/policy.h"
#include "resolver/resolver.h"

/* The gateway: everything that runs while it serves. */
struct serve {
	struct loop *loop;
	struct policy *policy;
	struct audit *audit;
	struct lease_table *leases;
	struct resolver *resolver;
	struct loop_signal on_term, on_int, on_hup;
};

/* Called by the log's thread, too: one write, so that lines do not mix. */
static void say(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "bailiwick serve: %s\n", text);
}

/* Write a record about the gateway itself; what it says goes to standard error as well. */
static int note(struct serve *serve, const char *action, const char *text)
{
	struct audit_record record = { .action = action, .generation = 1, .detail = text };
	uint64_t id;

	say(NULL, text);
	return audit_write(serve->audit, &record, &id);
}

static void on_mirror(void *arg, int status, const char *text)
{
	struct serve *serve = arg;

	(void)status;
	/* While the log is down as well, the answers are withheld for that. */
	if (note(serve, "mirror", text) < 0)
		say(NULL, "the line above could not be written to the audit log");
}

static void on_upstream(void *arg, const char *text)
{
	if (note(arg, "upstream", text) < 0)
		say(NULL, "the line above could not be written to the audit log");
}

static void on_stop(struct loop_signal *signal)
{
	loop_stop(*(struct loop **)signal->arg);
}

static void on_hangup(struct loop_signal *signal)
{
	audit_reopen(*(struct audit **)signal->arg);
}

/*
 * Make the process one that a flood or a closed pipe does not end. Each try towards an upstream has
 * a socket of its own, so the usual 1024 descriptors are few: take as many as we may have.
 */
static void harden_process(void)
{
	struct rlimit files;

	signal(SIGPIPE, SIG_IGN); /* standard error may be read by a program that ends */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		say(NULL, "the limit of open files could not be raised");
}

static int open_audit(struct serve *serve, struct err *err)
{
	const struct policy_audit *settings = policy_audit(serve->policy);
	const struct audit_config config = {
		.path = settings->log,
		.on_failure = settings->on_failure == POLICY_ON_FAILURE_CONTINUE ? AUDIT_CONTINUE
										 : AUDIT_DENY,
		.sync = settings->sync == POLICY_SYNC_YES,
		.rotate_bytes = settings->rotate_bytes,
		.keep = settings->keep,
		.report = say,
	};

	return audit_open(&config, &serve->audit, err);
}

static int catch_signals(struct serve *serve, struct err *err)
{
	int r;

	serve->on_term.arg = serve->on_int.arg = &serve->loop;
	serve->on_hup.arg = &serve->audit;
	r = loop_signal_start(serve->loop, &serve->on_term, SIGTERM, on_stop);
	if (r == 0)
		r = loop_signal_start(serve->loop, &serve->on_int, SIGINT, on_stop);
	if (r == 0)
		r = loop_signal_start(serve->loop, &serve->on_hup, SIGHUP, on_hangup);
	return r < 0 ? err_set(err, r, "signals cannot be caught: %s", strerror(-r)) : 0;
}

/* Say what is served, in one line that a script can wait for. */
static int announce(struct serve *serve, struct err *err)
{
	char text[512] = "serving DNS on";
	char printed[ENDPOINT_TEXT_SIZE];
	struct endpoint endpoint;
	size_t n_grants;

	policy_grants(serve->policy, &n_grants);
	for (unsigned i = 0; resolver_endpoint(serve->resolver, i, &endpoint); i++) {
		size_t used = strlen(text);

		endpoint_print(&endpoint, printed);
		snprintf(text + used, sizeof(text) - used, " %s", printed);
	}
	size_t used = strlen(text);

	snprintf(text + used, sizeof(text) - used, ", %zu grant%s%s%s", n_grants,
		 n_grants == 1 ? "" : "s",
		 resolver_has_upstream(serve->resolver) ? "" : ", and no upstream server to ask",
		 policy_observes(serve->policy) ? "; NOTHING IS ENFORCED" : "");
	if (note(serve, "start", text) < 0 ||
	    (policy_observes(serve->policy) &&
	     note(serve, "observe",
		  "nothing is enforced: the policy says mode = observe, and what it does not "
		  "allow is let through and recorded") < 0))
		return err_set(err, -EIO, "the audit log cannot be written");
	return 0;
}

/*
 * Everything in the order in which it needs what came before, and in which a start that fails
 * disturbs nobody: the log, the door, the sets. Nothing comes through the door before the loop runs.
 */
static int start(struct serve *serve, struct err *err)
{
	int r;

	harden_process();
	r = open_audit(serve, err);
	if (r < 0)
		return r;
	r = loop_new(&serve->loop);
	if (r < 0)
		return err_set(err, r, "the event loop cannot be made: %s", strerror(-r));
	r = catch_signals(serve, err);
	if (r < 0)
		return r;
	r = resolver_open(serve->loop, serve->policy, serve->audit, on_upstream, serve,
			  &serve->resolver, err);
	if (r < 0)
		return r;
	r = lease_table_new(serve->loop, serve->policy, on_mirror, serve, &serve->leases, err);
	if (r < 0)
		return r;
	r = resolver_serve(serve->resolver, serve->leases, err);
	if (r < 0)
		return r;
	return announce(serve, err);
}

static void stop(struct serve *serve)
{
	resolver_stop(serve->resolver);
	lease_table_free(serve->leases);
	loop_signal_stop(&serve->on_term);
	loop_signal_stop(&serve->on_int);
	loop_signal_stop(&serve->on_hup);
	loop_free(serve->loop);
	audit_close(serve->audit);
}

static int serve_policy(struct policy *policy)
{
	struct serve serve = { .policy = policy };
	struct err err;
	int status = CLI_OK;

	if (start(&serve, &err) < 0) {
		say(NULL, err.text);
		status = CLI_ERROR;
	} else {
		loop_run(serve.loop);
		/* The records of queries that are cut short come before the last one. */
		resolver_stop(serve.resolver);
		serve.resolver = NULL;
		if (note(&serve, "stop", "stopped by a signal") < 0)
			status = CLI_ERROR;
	}
	stop(&serve);
	return status;
}

static int print_ruleset(const struct policy *policy)
{
	struct err err;

	if (lease_ruleset_print(policy, stdout, &err) == 0)
		return cli_finish(CLI_OK);
	say(NULL, err.text);
	return CLI_ERROR;
}

static int run_serve(int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "print-ruleset", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	const char *arg_policy = NULL;
	bool arg_print_ruleset = false;
	struct policy *policy = NULL;
	int option, status;

	while ((option = getopt_long(argc, argv, "p:", options, NULL)) != -1) {
		if (option == 'p')
			arg_policy = optarg;
		else if (option == 'r')
			arg_print_ruleset = true;
		else
			return cli_usage(&cli_serve);
	}
	if (optind < argc)
		return cli_usage(&cli_serve);
	status = cli_load_policy(&cli_serve, arg_policy, &policy);
	if (status != CLI_OK)
		return status;
	status = arg_print_ruleset ? print_ruleset(policy) : serve_policy(policy);
	policy_unref(policy);
	return status;
}

const struct cli_command cli_serve = {
	.name = "serve",
	.summary = "answer DNS for what a policy allows, and open the network to it",
	.help = "usage: bailiwick serve [-p FILE] [--print-ruleset]\n"
		"\n"
		"Answer DNS in the foreground for the names that the policy allows, and put each\n"
		"answered address into the nftables sets before the answer leaves.\n"
		"\n"
		"  -p, --policy FILE  the policy file\n"
		"  --print-ruleset    print the nftables ruleset that would be loaded, and end\n"
		"\n"
		"SIGTERM and SIGINT end it; SIGHUP opens the audit log anew.\n",
	.run = run_serve,
};
