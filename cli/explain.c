/* SPDX-License-Identifier: MIT */
/*
 * What the policy says of one name, URL or address, and why. The verdicts
 * are those of policy_judge_*(), which the daemon enforces; here they are
 * only put into words. All answers are made as JSON, from which the text for
 * people is printed, so that both say the same.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "base/limits.h"
#include "base/own.h"
#include "cli/explain_grant.h"
#include "cli/url.h"
#include "policy/policy.h"

enum { TYPE_A = 1, TYPE_AAAA = 28 };

static const char help_text[] =
	"usage: bailiwick explain [-p FILE] [--agent AGENT] [--type TYPE] [--at WHEN] [--json]\n"
	"                         NAME | NAME:PORT | URL | ADDRESS | ADDRESS:PORT\n"
	"\n"
	"Say what the policy decides, by which section, and what each layer does about it. PORT\n"
	"may be followed by /udp; an IPv6 address before a port stands in brackets.\n"
	"\n"
	"  -p, --policy FILE  the policy file\n"
	"  --agent AGENT      who asks: an agent's name, or an address; if unsaid, each agent of\n"
	"                     the policy in turn, or 127.0.0.1 where it has none\n"
	"  --client ADDRESS   the same, an address\n"
	"  --type TYPE        the record type that is asked for (A and AAAA)\n"
	"  --at WHEN          judge at the start of that day, UTC, such as 2027-02-28, or at a\n"
	"                     time of it, such as 2027-02-28T08:00\n"
	"  --json             print one JSON object\n"
	"\n"
	"The exit status is 0 if it is allowed (mode = observe: let through), 1 if it is denied "
	"(to\n"
	"one of the agents), and 2 if it could not be judged.\n";

/* What is asked. */
struct question {
	bool is_address;
	struct address address;
	struct name name;
	uint16_t port; /* 0: unsaid */
	uint8_t protocol;
	uint16_t types[2];
	unsigned n_types;
	const char *who;       /* --agent: a name; NULL: the client says */
	struct address client; /* family 0: unsaid */
	int64_t now_s;
};

/* The verdicts: on the name for each type, and on the connection, if one is asked about. */
struct verdicts {
	struct policy_verdict types[2];
	struct policy_verdict connect;
	bool has_connect;
};

static int parse_what(const char *what, struct question *q, struct err *err)
{
	char text[4096];
	struct endpoint endpoint;
	uint16_t url_port;
	char *slash;
	int port;

	if (strlen(what) >= sizeof(text))
		return err_set(err, -EINVAL, "what is asked has more than %zu bytes",
			       sizeof(text) - 1);
	memcpy(text, what, strlen(what) + 1);
	url_port = cli_cut_url(text);
	slash = strrchr(text, '/');
	q->protocol = slash != NULL && strcmp(slash, "/udp") == 0 ? IPPROTO_UDP : IPPROTO_TCP;
	if (slash != NULL && (strcmp(slash, "/udp") == 0 || strcmp(slash, "/tcp") == 0))
		*slash = '\0';
	if (endpoint_parse(text, 0, &endpoint) == 0) {
		q->is_address = true;
		q->address = endpoint.address;
		q->port = endpoint.port ? endpoint.port : url_port;
		return 0;
	}
	port = cli_cut_port(text);
	if (port < 0 || strpbrk(text, ":[]/") != NULL)
		return err_set(err, -EINVAL, "`%s` is no name, address or URL", what);
	q->port = port > 0 ? (uint16_t)port : url_port;
	return policy_name_parse(text, &q->name, err);
}

static int parse_date(const char *text, int64_t *ret_s)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);

	if (end != NULL && *end == 'T')
		end = strptime(end + 1, "%H:%M", &tm);
	if (end == NULL || *end != '\0')
		return -EINVAL;
	int day = tm.tm_mday;

	*ret_s = timegm(&tm);
	return tm.tm_mday == day ? 0 : -EINVAL; /* the 31st of a short month is another day */
}

/* Judge a connection to an address; without a port, to the first that its grants list. */
static void judge_address(const struct policy *policy, const struct policy_agent *agent,
			  struct question *q, struct verdicts *ret)
{
	bool guess = q->port == 0;

	q->port = guess ? 443 : q->port;
	ret->has_connect = true;
	ret->connect = policy_judge_connect(policy, agent, NULL, &q->address, q->protocol, q->port,
					    q->now_s);
	if (!guess || ret->connect.reason != POLICY_REASON_PORT)
		return;
	q->port = ret->connect.grants[0]->ports[0].from;
	q->protocol = ret->connect.grants[0]->ports[0].protocol;
	ret->connect = policy_judge_connect(policy, agent, NULL, &q->address, q->protocol, q->port,
					    q->now_s);
}

/* Judge @q as @agent, or as a stranger if that is NULL. */
static void judge_all(const struct policy *policy, const struct policy_agent *agent,
		      struct question *q, struct verdicts *ret)
{
	if (agent == NULL) {
		for (unsigned i = 0; i < q->n_types; i++)
			ret->types[i] = policy_judge_stranger(policy);
		ret->connect = ret->types[0];
		ret->has_connect = q->is_address || q->port != 0;
		return;
	}
	if (q->is_address) {
		judge_address(policy, agent, q, ret);
		return;
	}
	for (unsigned i = 0; i < q->n_types; i++)
		ret->types[i] = policy_judge_name(policy, agent, &q->name, q->types[i], q->now_s);
	ret->has_connect = q->port != 0;
	if (ret->has_connect)
		ret->connect = policy_judge_connect(policy, agent, &q->name, NULL, q->protocol,
						    q->port, q->now_s);
}

/* The verdict on the question as a whole: each layer that is asked about must allow it. */
static const struct policy_verdict *decide(const struct question *q, const struct verdicts *v)
{
	const struct policy_verdict *name = &v->types[0];

	if (q->is_address)
		return &v->connect;
	if (name->code == POLICY_DENY && q->n_types > 1 && v->types[1].code == POLICY_ALLOW)
		name = &v->types[1];
	return name->code == POLICY_ALLOW && v->has_connect ? &v->connect : name;
}

/* Add to @object where @address is, as far as a database knows. */
static void add_origin(json_t *object, const struct policy *policy, const struct address *address)
{
	struct origin origin = policy_origin_find(policy, address);

	if (origin.country[0] != '\0')
		json_object_set_new(object, "country", json_string(origin.country));
	if (origin.asn != 0)
		json_object_set_new(object, "asn", json_integer(origin.asn));
}

static bool allows_by(const struct policy_verdict *verdict, const struct policy_grant *grant)
{
	for (unsigned i = 0; i < verdict->n_grants; i++)
		if ((verdict->allowing & UINT32_C(1) << i) && verdict->grants[i] == grant)
			return true;
	return false;
}

/* The pins that answer @type and that a grant of @verdict permits; or, with @only, that one. */
static json_t *pins_to_json(const struct policy *policy, const struct policy_verdict *verdict,
			    uint16_t type, const struct policy_grant *only)
{
	struct address pins[LIMIT_ANSWER_ADDRESSES];
	unsigned n =
		policy_verdict_pins(verdict, type == TYPE_A ? 4 : 6, pins, LIMIT_ANSWER_ADDRESSES);
	json_t *array = json_array();

	for (unsigned i = 0; i < n; i++) {
		struct policy_verdict judged = policy_judge_address(policy, verdict, &pins[i]);
		char text[ADDRESS_TEXT_SIZE];

		if (judged.code != POLICY_ALLOW || (only != NULL && !allows_by(&judged, only)))
			continue;
		address_print(&pins[i], text);
		json_array_append_new(array, json_string(text));
	}
	return array;
}

static const char *verdict_word(const struct policy_verdict *verdict)
{
	if (verdict->observed)
		return "observe";
	return verdict->code == POLICY_ALLOW ? "allow" : "deny";
}

/* What DNS answers to a denied question, in words. */
static const char *denial_words(const struct policy_verdict *verdict)
{
	if (verdict->reason == POLICY_REASON_CLIENT)
		return "REFUSED, EDE 18 (Prohibited)";
	if (verdict->special == POLICY_SPECIAL_LOCALHOST)
		return "the loopback addresses, answered here";
	return verdict->exists ? "NODATA, EDE 15 (Blocked)" : "NXDOMAIN, EDE 15 (Blocked)";
}

static json_t *dns_to_json(const struct policy *policy, const struct question *q,
			   const struct verdicts *v)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < q->n_types && !q->is_address; i++) {
		const struct policy_verdict *verdict = &v->types[i];
		bool pinned = policy_verdict_is_pinned(verdict);
		const char *answer = pinned ? "pinned addresses"
				     : verdict->observed
					     ? "asked from an upstream, for nothing is enforced"
				     : verdict->code == POLICY_ALLOW ? "asked from an upstream"
								     : denial_words(verdict);
		char type[16];
		json_t *object;

		policy_type_print(q->types[i], type);
		object = json_pack("{s:s, s:s, s:s, s:s}", "type", type, "verdict",
				   verdict_word(verdict), "reason",
				   policy_reason_word(verdict->reason), "answer", answer);
		if (pinned)
			json_object_set_new(object, "addresses",
					    pins_to_json(policy, verdict, q->types[i], NULL));
		json_array_append_new(array, object);
	}
	return array;
}

/* Who asks; where only an agent is named, the word that stands for its address. */
static void print_client(const struct question *q, char text[ADDRESS_TEXT_SIZE])
{
	if (q->client.family != 0)
		address_print(&q->client, text);
	else
		memcpy(text, "AGENT", sizeof("AGENT"));
}

/* Add the elements that the ports of @grant open for @address to @array. */
static void add_elements(json_t *array, const struct question *q, const struct policy_grant *grant,
			 const char *address)
{
	char agent[ADDRESS_TEXT_SIZE];

	print_client(q, agent);
	for (unsigned i = 0; i < grant->n_ports; i++) {
		const struct policy_port *port = &grant->ports[i];
		OWN(own_free) char *text = NULL;

		if (asprintf(&text,
			     port->from == port->to ? "%s . %s . %s . %u" : "%s . %s . %s . %u-%u",
			     agent, address, port->protocol == IPPROTO_UDP ? "udp" : "tcp",
			     port->from, port->to) < 0)
			text = NULL;
		else
			json_array_append_new(array, json_string(text));
	}
}

/* Add what each grant that @verdict allows by opens: for @address, or for pins, or for answers. */
static void add_opened(json_t *array, const struct policy *policy, const struct question *q,
		       const struct policy_verdict *verdict, uint16_t type)
{
	bool pinned = policy_verdict_is_pinned(verdict);

	for (unsigned i = 0; i < verdict->n_grants; i++) {
		const struct policy_grant *grant = verdict->grants[i];
		char address[ADDRESS_TEXT_SIZE];
		json_t *pins;

		if (!(verdict->allowing & UINT32_C(1) << i))
			continue;
		if (q->is_address) {
			address_print(&q->address, address);
			add_elements(array, q, grant, address);
			continue;
		}
		if (!pinned) {
			add_elements(array, q, grant, type == TYPE_A ? "IPV4" : "IPV6");
			continue;
		}
		pins = pins_to_json(policy, verdict, type, grant);
		for (size_t at = 0; at < json_array_size(pins); at++)
			add_elements(array, q, grant, json_string_value(json_array_get(pins, at)));
		json_decref(pins);
	}
}

static json_t *nftables_to_json(const struct policy *policy, const struct question *q,
				const struct verdicts *v)
{
	json_t *array = json_array();

	/* An address that is a host has a rule, and that only where the rules are ours. */
	if (q->is_address && policy_nftables(policy)->manage == POLICY_MANAGE_CHAINS)
		add_opened(array, policy, q, &v->connect, 0);
	for (unsigned i = 0; i < q->n_types && !q->is_address; i++)
		add_opened(array, policy, q, &v->types[i], q->types[i]);
	return array;
}

static json_t *answer_to_json(const char *what, const struct policy *policy,
			      const struct policy_agent *agent, const struct question *q,
			      const struct verdicts *v)
{
	const struct policy_verdict *verdict = decide(q, v);
	const struct policy_grant *grant = policy_verdict_grant(verdict);
	char client[ADDRESS_TEXT_SIZE], text[NAME_TEXT_SIZE];
	json_t *object;

	if (grant == NULL && verdict->n_grants > 0)
		grant = verdict->grants[0];
	print_client(q, client);
	if (q->is_address)
		address_print(&q->address, text);
	else
		name_print(&q->name, text);
	object = json_pack(
		"{s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:o, s:o, s:o, s:n}", "asked",
		explain_text(what), q->is_address ? "address" : "name", text, "client", client,
		"verdict", verdict_word(verdict), "reason", policy_reason_word(verdict->reason),
		"sentence", policy_reason_sentence(verdict->reason), "file",
		explain_text(verdict->place.file), "line", (int)verdict->place.line, "grant",
		explain_grant(grant, q->now_s), "dns", dns_to_json(policy, q, v), "nftables",
		nftables_to_json(policy, q, v), "proxy");
	if (agent != NULL && *policy_agent_name(agent) != '\0')
		json_object_set_new(object, "agent", json_string(policy_agent_name(agent)));
	if (q->is_address)
		add_origin(object, policy, &q->address);
	if (grant != NULL)
		explain_budget(json_object_get(object, "grant"), grant, verdict, &q->name);
	if (q->port != 0) {
		json_object_set_new(object, "port", json_integer(q->port));
		json_object_set_new(object, "protocol",
				    json_string(q->protocol == IPPROTO_UDP ? "udp" : "tcp"));
	}
	return object;
}

static void print_dns(const json_t *array)
{
	if (json_array_size(array) == 0)
		puts("dns       is not asked for an address");
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *row = json_array_get(array, i);
		const json_t *pins = json_object_get(row, "addresses");

		printf("%-10s%s: %s", i == 0 ? "dns" : "", explain_member(row, "type"),
		       explain_member(row, "answer"));
		if (pins != NULL && json_array_size(pins) == 0)
			fputs(", of which none has this type: NODATA", stdout);
		for (size_t j = 0; j < json_array_size(pins); j++)
			printf("%s%s", j == 0 ? ": " : ", ",
			       json_string_value(json_array_get(pins, j)));
		putchar('\n');
	}
}

static void print_nftables(const json_t *array)
{
	if (json_array_size(array) == 0)
		puts("nftables  opens nothing");
	for (size_t i = 0; i < json_array_size(array); i++)
		printf("%-10sopens %s\n", i == 0 ? "nftables" : "",
		       json_string_value(json_array_get(array, i)));
}

static void print_answer(const json_t *answer)
{
	const json_t *grant = json_object_get(answer, "grant");
	const char *name = explain_member(answer, "name");
	const char *verdict = explain_member(answer, "verdict"),
		   *agent = explain_member(answer, "agent");
	int port = (int)json_integer_value(json_object_get(answer, "port"));

	printf("%s%s", *name ? name : explain_member(answer, "address"), port ? ", port " : "");
	if (port != 0)
		printf("%d/%s", port, explain_member(answer, "protocol"));
	printf(": %s\n", strcmp(verdict, "allow") == 0  ? "allowed"
			 : strcmp(verdict, "deny") == 0 ? "denied"
							: "let through, for nothing is enforced");
	if (*agent != '\0')
		printf("agent     %s\n", agent);
	printf("reason    %s: %s\n", explain_member(answer, "reason"),
	       explain_member(answer, "sentence"));
	printf("place     %s", explain_member(answer, "file"));
	if (json_integer_value(json_object_get(answer, "line")) != 0)
		printf(":%d", (int)json_integer_value(json_object_get(answer, "line")));
	putchar('\n');
	if (json_object_get(answer, "country") != NULL)
		printf("country   %s\n", explain_member(answer, "country"));
	if (json_object_get(answer, "asn") != NULL)
		printf("asn       AS%u\n",
		       (unsigned)json_integer_value(json_object_get(answer, "asn")));
	if (!json_is_null(grant))
		explain_print_grant(grant);
	print_dns(json_object_get(answer, "dns"));
	print_nftables(json_object_get(answer, "nftables"));
	puts("proxy     there is none yet: connections are not looked into");
}

/* Print the verdict on @q as asked by @agent, or append it to @array. Gives CLI_OK or CLI_NO. */
static int explain_to(const struct policy *policy, const char *what,
		      const struct policy_agent *agent, struct question *q, json_t *array)
{
	struct verdicts verdicts = { .has_connect = false };
	uint16_t port = q->port;
	uint8_t protocol = q->protocol;
	json_t *answer;
	int status;

	judge_all(policy, agent, q, &verdicts);
	answer = answer_to_json(what, policy, agent, q, &verdicts);
	status = decide(q, &verdicts)->code == POLICY_ALLOW ? CLI_OK : CLI_NO;
	if (array != NULL) {
		json_array_append_new(array, answer);
	} else {
		print_answer(answer);
		json_decref(answer);
	}
	q->port = port; /* it may have been guessed from a grant */
	q->protocol = protocol;
	return status;
}

static const struct policy_agent *find_named(const struct policy *policy, const char *name)
{
	const struct policy_agent *agent = NULL;

	for (size_t i = 0; (agent = policy_agent_at(policy, i)) != NULL; i++)
		if (strcmp(policy_agent_name(agent), name) == 0)
			break;
	return agent;
}

/* The verdict for whoever is asked about: CLI_OK, CLI_NO, or CLI_ERROR, said so. */
static int explain_all(const struct policy *policy, const char *what, struct question *q,
		       json_t *array)
{
	const struct policy_agent *agent =
		q->who != NULL ? find_named(policy, q->who) : policy_agent_at(policy, 0);
	int worst = CLI_OK;

	if (q->who != NULL && agent == NULL) {
		OWN(own_free) char *text = cli_escape(q->who);

		fprintf(stderr, "bailiwick explain: `%s` is no address and no agent\n",
			text != NULL ? text : "");
		return CLI_ERROR;
	}
	if (q->who == NULL && agent == NULL && q->client.family == 0)
		q->client = (struct address){ .family = 4, .bytes = { 127, 0, 0, 1 } };
	if (q->client.family != 0)
		return explain_to(policy, what, policy_agent_find(policy, &q->client, NULL), q,
				  array);
	if (q->who != NULL)
		return explain_to(policy, what, agent, q, array);
	for (size_t i = 0; (agent = policy_agent_at(policy, i)) != NULL; i++) {
		if (i > 0 && array == NULL)
			putchar('\n');
		if (explain_to(policy, what, agent, q, array) != CLI_OK)
			worst = CLI_NO;
	}
	return worst;
}

/* Print what was gathered: an object, or, of several agents, an array of them. */
static void dump(json_t *array)
{
	json_t *only = json_array_size(array) == 1 ? json_array_get(array, 0) : array;

	if (json_array_size(array) > 0) {
		json_dumpf(only, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(array);
}

static int explain(const char *path, const char *what, struct question *q, bool json)
{
	struct policy_faults faults = { .n = 0 };
	struct policy *policy = NULL;
	json_t *array = NULL;
	struct err err;
	int r = policy_load(path, q->now_s, &policy, &faults, &err);
	int status;

	policy_faults_done(&faults);
	if (r == 0)
		r = parse_what(what, q, &err);
	if (r < 0) {
		OWN(own_free) char *text = cli_escape(err.text);

		fprintf(stderr, "bailiwick explain: %s%s\n", text != NULL ? text : "out of memory",
			policy == NULL && r == -EINVAL ? "; see `bailiwick check`" : "");
		policy_unref(policy);
		return CLI_ERROR;
	}
	if (json)
		array = json_array();
	status = explain_all(policy, what, q, array);
	if (json)
		dump(array);
	policy_unref(policy);
	return cli_finish(status);
}

/* Take one option with its argument. False, said so: it is not right, or there is none such. */
static bool take_option(int option, const char *argument, struct question *q, const char **path,
			bool *json)
{
	const char *wrong = NULL;
	int type;

	switch (option) {
	case 'p':
		*path = argument;
		break;
	case 'j':
		*json = true;
		break;
	case 'g':
		q->who = address_parse(argument, &q->client) < 0 ? argument : NULL;
		break;
	case 'c':
		if (address_parse(argument, &q->client) < 0)
			wrong = "is no address";
		break;
	case 'a':
		if (parse_date(argument, &q->now_s) < 0)
			wrong = "is no date, such as 2027-02-28 or 2027-02-28T08:00";
		break;
	case 't':
		type = policy_type_parse(argument);
		q->types[0] = (uint16_t)type;
		q->n_types = 1;
		if (type < 0)
			wrong = "is no record type";
		break;
	default:
		return false;
	}
	if (wrong != NULL) {
		OWN(own_free) char *text = cli_escape(argument);

		fprintf(stderr, "bailiwick explain: `%s` %s\n", text != NULL ? text : "", wrong);
	}
	return wrong == NULL;
}

static int run_explain(int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "agent", required_argument, NULL, 'g' },
		{ "client", required_argument, NULL, 'c' },
		{ "type", required_argument, NULL, 't' },
		{ "at", required_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct question q = {
		.types = { TYPE_A, TYPE_AAAA },
		.n_types = 2,
		.now_s = time(NULL),
	};
	OWN(own_free) char *path = NULL;
	const char *given = NULL;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "p:", options, NULL)) != -1)
		if (!take_option(option, optarg, &q, &given, &json))
			return cli_usage(&cli_explain);
	if (argc - optind != 1)
		return cli_usage(&cli_explain);
	path = cli_policy_path(given);
	return path != NULL ? explain(path, argv[optind], &q, json) : CLI_ERROR;
}

const struct cli_command cli_explain = {
	.name = "explain",
	.summary = "say what the policy decides on a name, URL or address, and why",
	.help = help_text,
	.run = run_explain,
};
