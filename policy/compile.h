/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/load.h"
#include "policy/private.h"
#include "policy/read.h"
#include "policy/schema.h"

/*
 * From sections as they were read to a policy: their values are typed by the
 * schema (draft.c), checked against each other and built into the policy
 * (compile.c), and what a person may want to hear of them is said (review.c).
 */

/* The sections of all files, typed. Those that stand once are never NULL: without one, defaults. */
struct drafts {
	struct draft_policy *policy;
	struct draft_resolver *resolver;
	struct draft_nftables *nftables;
	struct draft_audit *audit;
	struct draft_geo *geo;
	struct draft_allow **allows;
	struct draft_deny **denies;
	struct draft_agent **agents;
	unsigned n_allows, n_denies, n_agents;
};

/* Type the sections of @document, which stand in the file @main and those it includes. */
void draft_all(struct load *load, const struct read_document *document, const char *main,
	       struct drafts *ret_drafts);

/* Check @drafts and build them into @policy. */
void compile_policy(struct load *load, const struct drafts *drafts, struct policy *policy);

/* Warn of what in @drafts is old, wide or without effect, as @policy would judge. */
void review_policy(struct load *load, const struct drafts *drafts, const struct policy *policy);
