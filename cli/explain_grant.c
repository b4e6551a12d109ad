/* SPDX-License-Identifier: MIT */
#include "cli/explain_grant.h"

#include <stdio.h>
#include <time.h>
#include "base/own.h"
#include "cli/cli.h"

json_t *explain_text(const char *text)
{
	OWN(own_free) char *escaped = cli_escape(text);

	return json_string(escaped != NULL ? escaped : "out of memory");
}

static json_t *time_to_json(int64_t time_s)
{
	time_t time = time_s;
	char text[32];
	struct tm tm;

	if (gmtime_r(&time, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%MZ", &tm) == 0)
		return json_null();
	return json_string(text);
}

/* Say of a grant with hours when they end, or when they begin next. */
static void add_hours(json_t *object, const struct policy_grant *grant, int64_t now_s)
{
	int64_t opens_s = policy_grant_opens(grant, now_s);

	if (grant->n_hours == 0)
		return;
	if (opens_s == now_s)
		json_object_set_new(object, "until",
				    time_to_json(policy_grant_until(grant, now_s)));
	else if (opens_s != INT64_MAX)
		json_object_set_new(object, "opens", time_to_json(opens_s));
}

json_t *explain_grant(const struct policy_grant *grant, int64_t now_s)
{
	json_t *object;

	if (grant == NULL)
		return json_null();
	object = json_pack("{s:s, s:s, s:s, s:o, s:i}", "label", grant->label, "owner",
			   grant->owner, "reason", grant->reason, "file",
			   explain_text(grant->place.file), "line", (int)grant->place.line);
	if (grant->expires_s != INT64_MAX) {
		time_t expires = grant->expires_s;
		char text[16];
		struct tm tm;

		if (gmtime_r(&expires, &tm) != NULL &&
		    strftime(text, sizeof(text), "%Y-%m-%d", &tm) > 0)
			json_object_set_new(object, "expires", json_string(text));
	}
	add_hours(object, grant, now_s);
	return object;
}

void explain_budget(json_t *object, const struct policy_grant *grant,
		    const struct policy_verdict *verdict, const struct name *name)
{
	const struct policy_rate *rate = &grant->budget.rate;
	char text[NAME_TEXT_SIZE];
	struct name domain;
	const uint8_t *wire;
	size_t len;

	if (verdict->domain_labels != 0) {
		wire = name_suffix(name, (unsigned)name->labels - verdict->domain_labels, &len);
		if (name_from_wire(wire, len, &domain) == 0)
			name_print(&domain, text);
		json_object_set_new(object, "domain", json_string(text));
		json_object_set_new(object, "max_names", json_integer(grant->budget.names));
		json_object_set_new(object, "max_labels", json_integer(grant->budget.labels));
	}
	if (rate->actions != 0) {
		snprintf(text, sizeof(text), "%u/%c", rate->actions,
			 rate->window_ms == 1000 ? 's' : 'm');
		json_object_set_new(object, "max_rate", json_string(text));
	}
}

const char *explain_member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

void explain_print_grant(const json_t *grant)
{
	const char *expires = explain_member(grant, "expires");

	printf("grant     %s\n", explain_member(grant, "label"));
	printf("          owner: %s\n", explain_member(grant, "owner"));
	printf("          reason: %s\n", explain_member(grant, "reason"));
	printf("          expires: %s\n", *expires ? expires : "never");
	if (*explain_member(grant, "until") != '\0')
		printf("          hours: until %s\n", explain_member(grant, "until"));
	if (*explain_member(grant, "opens") != '\0')
		printf("          hours: closed until %s\n", explain_member(grant, "opens"));
	if (json_object_get(grant, "domain") != NULL)
		printf("          a minute: %d names and %d bytes of new labels in %s\n",
		       (int)json_integer_value(json_object_get(grant, "max_names")),
		       (int)json_integer_value(json_object_get(grant, "max_labels")),
		       explain_member(grant, "domain"));
	if (json_object_get(grant, "max_rate") != NULL)
		printf("          questions: %s\n", explain_member(grant, "max_rate"));
}
