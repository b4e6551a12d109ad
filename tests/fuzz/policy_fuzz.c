/* SPDX-License-Identifier: MIT */
/*
 * Policy files: whatever is read either has faults, each with a place, or is
 * a policy whose grants allow what they list and nothing that is answered here.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "policy/policy.h"

enum { NOW = 1796083200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(const struct policy_faults *faults)
{
	size_t n_errors = 0;

	for (size_t i = 0; i < faults->n; i++) {
		assert(strcmp(faults->faults[i].file, "fuzz.ini") == 0);
		assert(faults->faults[i].text[0] != '\0');
		for (const char *at = faults->faults[i].text; *at != '\0'; at++)
			assert((unsigned char)*at >= ' ' || *at == '\t');
		n_errors += !faults->faults[i].warning;
	}
	assert(n_errors <= faults->n_errors);
}

static void check_policy(const struct policy *policy)
{
	static const char *const never[] = { "localhost", "x.invalid", "_dns.resolver.arpa",
					     "a.onion" };
	const struct address *client = &policy_resolver(policy)->listen[0].address;
	const struct policy_agent *agent = policy_agent_find(policy, client, NULL);
	const struct policy_grant *const *grants;
	struct name name;
	size_t n;

	grants = policy_grants(policy, &n);
	for (size_t i = 0; i < n; i++) {
		assert(grants[i]->place.line > 0 && *grants[i]->label != '\0');
		assert(grants[i]->n_ports > 0 && grants[i]->n_types > 0);
		for (unsigned j = 0; j < grants[i]->n_ports; j++)
			assert(grants[i]->ports[j].from <= grants[i]->ports[j].to);
	}
	for (size_t i = 0; agent != NULL && i < sizeof(never) / sizeof(never[0]); i++) {
		int r = name_parse(never[i], &name);

		assert(r == 0);
		assert(policy_judge_name(policy, agent, &name, 1, NOW).code == POLICY_DENY);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_faults faults;
	struct policy *policy = NULL;
	struct err err;
	int r = policy_load_text("fuzz.ini", (const char *)data, size, NOW, &policy, &faults, &err);

	assert((r == 0) == (policy != NULL) && (r == 0) == (faults.n_errors == 0));
	check_faults(&faults);
	if (policy != NULL)
		check_policy(policy);
	policy_unref(policy);
	policy_faults_done(&faults);
	return 0;
}
