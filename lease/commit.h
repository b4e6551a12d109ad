/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/limits.h"
#include "base/loop.h"
#include "lease/netlink.h"

/*
 * What the mirror's thread does with one batch: the errand, with all that it
 * may touch. The mirror fills it in, starts it, and reads it when it is done.
 */
struct commit {
	struct loop_errand errand;
	struct netlink *netlink;
	const struct ruleset *ruleset; /* our own; NULL: we have none */
	bool load;                     /* load it before anything is written */

	unsigned n_writes;
	struct netlink_write writes[LIMIT_BATCH_ELEMENTS];

	/* What became of it. */
	int status;     /* 0: every write has its status; else nothing of it stands, and why */
	struct err err; /* a sentence for that */
	bool loaded;    /* the ruleset is new: what was in its sets before is gone ... */
	int events;     /* ... and this tells of changes from there on; the mirror's to close */
};

/* Do @errand, a struct commit's. */
void commit_run(struct loop_errand *errand);
