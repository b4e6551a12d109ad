/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>
#include "policy/policy.h"

/* What `bailiwick explain` says of a grant, as JSON and to people. */

/* @text, made fit for a terminal, as JSON. */
json_t *explain_text(const char *text);

/* What there is to say of @grant at @now_s; null for NULL. */
json_t *explain_grant(const struct policy_grant *grant, int64_t now_s);

/* Add to @object, which is of @grant, what an agent may ask for by it where @verdict covers @name. */
void explain_budget(json_t *object, const struct policy_grant *grant,
		    const struct policy_verdict *verdict, const struct name *name);

/* The text of the member @key of @object; "" if there is none. */
const char *explain_member(const json_t *object, const char *key);

/* Print @grant, as explain_grant() made it. */
void explain_print_grant(const json_t *grant);
