/* SPDX-License-Identifier: MIT */
#include "lease/commit.h"

#include <errno.h>
#include <string.h>

/* Each full set, lost table or lost answer costs a try. */
enum { TRIES = 6 };

static int load_ruleset(struct commit *commit)
{
	int r = netlink_load(commit->netlink, commit->ruleset, &commit->events, &commit->err);

	if (r == 0)
		commit->loaded = true;
	return r;
}

/* Put the writes that did not fit into their sets behind the others. Gives how many others. */
static unsigned put_full_last(struct netlink_write *writes, unsigned n)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n; i++) {
		struct netlink_write write = writes[i];

		if (write.status == -ENFILE)
			continue;
		writes[i] = writes[kept];
		writes[kept++] = write;
	}
	return kept;
}

static bool own_set_is_gone(const struct netlink_write *writes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (writes[i].status == -ENOENT && writes[i].set->own)
			return true;
	return false;
}

/* Write the first @n, which may get fewer, until they stand. */
static int write_until_done(struct commit *commit, unsigned *n)
{
	int r = 0;

	for (unsigned tries = 0; tries<TRIES && * n> 0; tries++) {
		r = netlink_write(commit->netlink, commit->writes, *n);
		if (r == 0)
			return 0;
		/* To write twice does no harm, so what became of a lost answer need not be known. */
		if (r == -ENOBUFS && tries == 0)
			continue;
		if (r == -ENFILE) {
			*n = put_full_last(commit->writes, *n);
			r = 0;
			continue;
		}
		if (r != -ENOENT || commit->loaded || commit->ruleset == NULL ||
		    !own_set_is_gone(commit->writes, *n))
			return r;
		r = load_ruleset(commit);
		if (r < 0)
			return r;
	}
	return *n == 0 ? 0 : r < 0 ? r : -EAGAIN;
}

/* Say which set it was that failed with @status. */
static void name_culprit(struct commit *commit, int status)
{
	for (unsigned i = 0; i < commit->n_writes; i++) {
		const struct netlink_set *set = commit->writes[i].set;

		if (commit->writes[i].status != status)
			continue;
		err_set(&commit->err, status, "cannot write to the set %s of table %s: %s",
			set->name, set->table, strerror(-status));
		return;
	}
	err_set(&commit->err, status, "cannot write to the nftables sets: %s", strerror(-status));
}

void commit_run(struct loop_errand *errand)
{
	struct commit *commit = list_owner(errand, struct commit, errand);
	unsigned n = commit->n_writes;
	int r = 0;

	commit->err.text[0] = '\0';
	if (commit->load)
		r = load_ruleset(commit);
	if (r == 0)
		r = write_until_done(commit, &n);
	if (r < 0 && commit->err.text[0] == '\0')
		name_culprit(commit, r);
	commit->status = r;
}
