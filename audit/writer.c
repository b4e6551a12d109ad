/* SPDX-License-Identifier: MIT */
/*
 * The writer of the log
 *
 * Records are packed into one of two buffers by whoever calls audit_write(),
 * under the lock. The thread takes that buffer, leaves the other one in its
 * place, and without the lock formats, chains and writes what it took, in
 * groups. A group that cannot be written stays where it is and is tried again
 * until it can; meanwhile audit_write() refuses.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "audit/audit.h"
#include "audit/record.h"
#include "audit/store.h"
#include "base/limits.h"
#include "base/own.h"

enum {
	GATHER_MS = 2,  /* after a round the thread waits so long for more, and needs no waking */
	RETRY_MS = 200, /* how often a group that failed is tried again */
	RESERVE_BYTES = 64 << 10, /* more than any record takes */
};

struct audit {
	pthread_mutex_t lock; /* for all down to the blank line */
	pthread_cond_t work;  /* something to do for the thread */
	pthread_cond_t done;  /* answered has moved */
	uint8_t *filling;     /* LIMIT_AUDIT_QUEUE_BYTES of packed records */
	size_t n_filling;
	uint64_t seq;             /* the last number that was given */
	uint64_t missing;         /* records refused since the last gap record */
	uint64_t untold;          /* records in gap records that were not reported */
	uint64_t asked, answered; /* flushes */
	bool asleep, failed, reopen, stop;

	bool writes; /* there is a log, and a thread */
	enum audit_on_failure on_failure;
	void (*report)(void *arg, const char *text);
	void *report_arg;

	/* The thread's own. */
	pthread_t thread;
	uint8_t *taken;
	size_t n_taken, taken_at;
	struct chain_hasher *hasher;
	struct store store;
	struct store_group group;
};

static void tell(const struct audit *audit, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(const struct audit *audit, const char *fmt, ...)
{
	char text[STORE_PATH_SIZE + LIMIT_AUDIT_TEXT_BYTES];
	va_list ap;

	if (audit->report == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	audit->report(audit->report_arg, text);
}

/*
 * The queue. All of this is done under the lock.
 */

static bool put_record(struct audit *audit, const struct audit_record *record,
		       struct record_stamp *stamp)
{
	size_t n;

	stamp->seq = audit->seq + 1;
	n = record_pack(record, stamp, audit->filling + audit->n_filling,
			LIMIT_AUDIT_QUEUE_BYTES - audit->n_filling);
	if (n == 0)
		return false;
	audit->n_filling += n;
	audit->seq++;
	return true;
}

/* Let a gap record stand for the records that are missing, if there are any. */
static bool put_gap(struct audit *audit)
{
	struct record_stamp stamp = record_stamp_now(0);
	char text[128];
	const struct audit_record gap = { .action = "gap",
					  .reason = "not-written",
					  .detail = text };

	if (audit->missing == 0)
		return true;
	snprintf(text, sizeof(text), "%" PRIu64 " records before this one could not be written",
		 audit->missing);
	if (!put_record(audit, &gap, &stamp))
		return false;
	audit->untold += audit->missing;
	audit->missing = 0;
	return true;
}

static int put(struct audit *audit, const struct audit_record *record, struct record_stamp *stamp)
{
	int r = 0;

	if (audit->failed)
		r = -EIO;
	else if (audit->writes &&
		 ((audit->missing > 0 && !put_gap(audit)) || !put_record(audit, record, stamp)))
		r = -ENOBUFS;
	if (r < 0)
		audit->missing++;
	if (r < 0 || !audit->writes)
		stamp->seq = ++audit->seq;
	return r;
}

int audit_write(struct audit *audit, const struct audit_record *record, uint64_t *ret_id)
{
	struct record_stamp stamp = record_stamp_now(0);
	bool wake;
	int r;

	assert(record->action != NULL);
	pthread_mutex_lock(&audit->lock);
	r = put(audit, record, &stamp);
	wake = audit->asleep;
	audit->asleep = false;
	pthread_mutex_unlock(&audit->lock);
	if (wake)
		pthread_cond_signal(&audit->work);
	if (r < 0 && audit->on_failure == AUDIT_DENY)
		return r;
	*ret_id = stamp.seq;
	return 0;
}

int audit_ready(struct audit *audit)
{
	int r = 0;

	if (audit->on_failure == AUDIT_CONTINUE)
		return 0;
	pthread_mutex_lock(&audit->lock);
	if (audit->failed)
		r = -EIO;
	else if (audit->n_filling + RESERVE_BYTES > LIMIT_AUDIT_QUEUE_BYTES)
		r = -ENOBUFS;
	pthread_mutex_unlock(&audit->lock);
	return r;
}

/*
 * The thread
 */

/* Take what is queued, if nothing is left of what was taken before. False: there is nothing. */
static bool take_queue(struct audit *audit)
{
	uint8_t *empty = audit->taken;

	if (audit->taken_at < audit->n_taken)
		return true;
	pthread_mutex_lock(&audit->lock);
	if (!audit->failed)
		(void)put_gap(audit); /* without room, this is done the next time */
	audit->taken = audit->filling;
	audit->n_taken = audit->n_filling;
	audit->taken_at = 0;
	audit->filling = empty;
	audit->n_filling = 0;
	pthread_mutex_unlock(&audit->lock);
	return audit->n_taken > 0;
}

/* Format a group of what was taken: what the buffer holds, and the file may. */
static void fill_group(struct audit *audit)
{
	struct store_group *group = &audit->group;
	uint64_t room = store_room(&audit->store);
	struct audit_record record;
	struct record_stamp stamp;
	struct name name;
	size_t used, len;
	char *line;

	group->before = group->link;
	while (audit->taken_at < audit->n_taken &&
	       group->len + LIMIT_AUDIT_LINE_BYTES <= sizeof(group->bytes)) {
		used = record_unpack(audit->taken + audit->taken_at, &stamp, &record, &name);
		line = group->bytes + group->len;
		len = record_format(&record, &stamp, group->link.hash, line);
		if (group->len > 0 && group->len + len > room)
			break;
		chain_hash(audit->hasher, line, len - 1, group->link.hash);
		group->link.seq = stamp.seq;
		group->len += len;
		audit->taken_at += used;
	}
}

static void rotate(struct audit *audit)
{
	int r = store_rotate(&audit->store, audit->hasher, &audit->group);

	if (r < 0)
		tell(audit, "the audit log %s could not be rotated and grows on: %s",
		     audit->store.path, strerror(-r));
}

static int write_all(struct audit *audit)
{
	struct store_group *group = &audit->group;
	int r;

	for (;;) {
		r = group->len > 0 ? store_write(&audit->store, group) : 0;
		if (r < 0)
			return r;
		group->len = 0;
		group->written = 0;
		if (!take_queue(audit))
			return 0;
		if (store_room(&audit->store) == 0)
			rotate(audit);
		fill_group(audit);
	}
}

/* Note how writing went, and say what changed. True: there is now a gap to write. */
static bool note_result(struct audit *audit, int r)
{
	bool changed, gap;
	uint64_t untold;

	pthread_mutex_lock(&audit->lock);
	changed = audit->failed != (r < 0);
	audit->failed = r < 0;
	gap = r == 0 && audit->missing > 0;
	untold = audit->untold;
	audit->untold = 0;
	pthread_mutex_unlock(&audit->lock);
	if (changed && r < 0)
		tell(audit, "the audit log %s cannot be written: %s; %s", audit->store.path,
		     strerror(-r),
		     audit->on_failure == AUDIT_DENY ? "all is denied until it can"
						     : "what happens until it can is not recorded");
	else if (changed)
		tell(audit, "the audit log %s is written again", audit->store.path);
	if (untold > 0)
		tell(audit, "%" PRIu64 " records are missing in the audit log %s", untold,
		     audit->store.path);
	return gap;
}

static void reopen(struct audit *audit)
{
	int r = store_reopen(&audit->store, audit->hasher, &audit->group);

	if (r < 0)
		tell(audit,
		     "the audit log %s could not be opened anew, and the old file is written on: "
		     "%s",
		     audit->store.path, strerror(-r));
}

static bool is_urgent(const struct audit *audit)
{
	return audit->asked != audit->answered || audit->reopen || audit->stop;
}

/* Wait @ms, or until something urgent comes. */
static void wait_ms(struct audit *audit, long ms)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (r == 0 && !is_urgent(audit))
		r = pthread_cond_timedwait(&audit->work, &audit->lock, &until);
}

static void wait_for_work(struct audit *audit)
{
	wait_ms(audit, audit->failed ? RETRY_MS : GATHER_MS);
	while (!is_urgent(audit) && !audit->failed && audit->n_filling == 0 &&
	       audit->missing == 0) {
		audit->asleep = true;
		pthread_cond_wait(&audit->work, &audit->lock);
	}
	audit->asleep = false;
}

static void *run(void *arg)
{
	struct audit *audit = arg;
	uint64_t asked;
	bool wants_reopen, stop = false;

	pthread_mutex_lock(&audit->lock);
	while (!stop) {
		wait_for_work(audit);
		asked = audit->asked;
		stop = audit->stop;
		wants_reopen = audit->reopen;
		audit->reopen = false;
		pthread_mutex_unlock(&audit->lock);
		if (wants_reopen)
			reopen(audit);
		while (note_result(audit, write_all(audit)))
			;
		pthread_mutex_lock(&audit->lock);
		audit->answered = asked;
		pthread_cond_broadcast(&audit->done);
	}
	pthread_mutex_unlock(&audit->lock);
	return NULL;
}

/*
 * Birth and death
 */

/* Start the thread, which gets no signals: they are the loop's. */
static int start_thread(struct audit *audit)
{
	sigset_t all, saved;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	r = pthread_create(&audit->thread, NULL, run, audit);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (r == 0)
		pthread_setname_np(audit->thread, "audit");
	return -r;
}

static void free_audit(struct audit *audit)
{
	if (audit == NULL)
		return;
	store_close(&audit->store);
	chain_hasher_free(audit->hasher);
	free(audit->filling);
	free(audit->taken);
	pthread_cond_destroy(&audit->work);
	pthread_cond_destroy(&audit->done);
	pthread_mutex_destroy(&audit->lock);
	free(audit);
}

static void own_audit(struct audit **audit)
{
	free_audit(*audit);
}

static struct audit *new_audit(const struct audit_config *config)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	pthread_condattr_t monotonic;

	if (audit == NULL)
		return NULL;
	audit->on_failure = config->on_failure;
	audit->report = config->report;
	audit->report_arg = config->report_arg;
	audit->store.fd = -1;
	audit->store.head_fd = -1;
	pthread_mutex_init(&audit->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&audit->work, &monotonic);
	pthread_cond_init(&audit->done, NULL);
	pthread_condattr_destroy(&monotonic);
	return audit;
}

/* Say in the log, and to people, what was found wrong with its files. */
static void note_found(struct audit *audit, const struct store_found *found)
{
	const struct audit_record gap = { .action = "gap",
					  .reason = found->reason,
					  .detail = found->text };
	struct record_stamp stamp = record_stamp_now(0);
	bool put;

	if (found->reason == NULL)
		return;
	put = put_record(audit, &gap, &stamp);
	assert(put); /* the queue is empty */
	tell(audit, "the audit log %s: %s", audit->store.path, found->text);
}

static int open_files(struct audit *audit, const struct audit_config *config, struct err *err)
{
	struct store_found found;
	int r;

	audit->filling = malloc(LIMIT_AUDIT_QUEUE_BYTES);
	audit->taken = malloc(LIMIT_AUDIT_QUEUE_BYTES);
	audit->hasher = chain_hasher_new();
	if (audit->filling == NULL || audit->taken == NULL || audit->hasher == NULL)
		return err_set(err, -ENOMEM, "no memory for the audit log");
	r = store_open(config, audit->hasher, &audit->store, &audit->group.link, &found, err);
	if (r < 0)
		return r;
	audit->seq = audit->group.link.seq;
	note_found(audit, &found);
	return 0;
}

int audit_open(const struct audit_config *config, struct audit **ret_audit, struct err *err)
{
	OWN(own_audit) struct audit *audit = new_audit(config);
	int r;

	if (audit == NULL)
		return err_set(err, -ENOMEM, "no memory for the audit log");
	if (config->path != NULL) {
		r = open_files(audit, config, err);
		if (r < 0)
			return r;
		r = start_thread(audit);
		if (r < 0)
			return err_set(err, r, "no thread for the audit log: %s", strerror(-r));
		audit->writes = true;
	}
	*ret_audit = steal_ptr(audit);
	return 0;
}

void audit_close(struct audit *audit)
{
	if (audit == NULL)
		return;
	if (audit->writes) {
		pthread_mutex_lock(&audit->lock);
		audit->stop = true;
		pthread_mutex_unlock(&audit->lock);
		pthread_cond_signal(&audit->work);
		pthread_join(audit->thread, NULL);
		if (audit->failed)
			tell(audit, "the audit log %s ends without its last records",
			     audit->store.path);
	}
	free_audit(audit);
}

void audit_reopen(struct audit *audit)
{
	pthread_mutex_lock(&audit->lock);
	audit->reopen = audit->writes;
	pthread_mutex_unlock(&audit->lock);
	pthread_cond_signal(&audit->work);
}

void audit_flush(struct audit *audit)
{
	uint64_t mine;

	if (!audit->writes)
		return;
	pthread_mutex_lock(&audit->lock);
	mine = ++audit->asked;
	pthread_cond_signal(&audit->work);
	while (audit->answered < mine)
		pthread_cond_wait(&audit->done, &audit->lock);
	pthread_mutex_unlock(&audit->lock);
}
