/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>
#include "base/own.h"

struct loop {
	uv_loop_t uv;
	uv_timer_t clock;    /* fires at the first deadline of timers */
	uv_prepare_t before; /* the end of a turn: before the loop sleeps ... */
	uv_check_t after;    /* ... and after it has served what woke it */
	uv_idle_t awake; /* runs while tasks are left, so that the loop does not sleep on them */
	struct heap timers;
	struct list tasks;
};

static void on_clock(uv_timer_t *clock);
static void on_before(uv_prepare_t *before);
static void on_after(uv_check_t *after);

int loop_new(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (loop == NULL)
		return -ENOMEM;
	r = uv_loop_init(&loop->uv);
	if (r < 0) {
		free(loop);
		return r;
	}
	list_init(&loop->tasks);
	uv_timer_init(&loop->uv, &loop->clock);
	uv_prepare_init(&loop->uv, &loop->before);
	uv_check_init(&loop->uv, &loop->after);
	uv_idle_init(&loop->uv, &loop->awake);
	loop->clock.data = loop->before.data = loop->after.data = loop;
	uv_prepare_start(&loop->before, on_before);
	uv_check_start(&loop->after, on_after);
	*ret_loop = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	uv_close((uv_handle_t *)&loop->clock, NULL);
	uv_close((uv_handle_t *)&loop->before, NULL);
	uv_close((uv_handle_t *)&loop->after, NULL);
	uv_close((uv_handle_t *)&loop->awake, NULL);
	/* What was closed needs a turn, or two if it was a signal; what was left open, no number. */
	for (int turn = 0; turn < 3; turn++)
		uv_run(&loop->uv, UV_RUN_NOWAIT);

	int r = uv_loop_close(&loop->uv);

	assert(r == 0 && heap_first(&loop->timers) == NULL && list_empty(&loop->tasks));
	(void)r;
	heap_done(&loop->timers);
	free(loop);
}

void loop_run(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

uint64_t loop_now_ms(const struct loop *loop)
{
	return uv_now(&loop->uv);
}

static struct timespec read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now;
}

uint64_t loop_exact_us(const struct loop *loop)
{
	struct timespec now = read_clock(CLOCK_MONOTONIC);

	(void)loop;
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int64_t loop_wall_s(const struct loop *loop)
{
	(void)loop;
	return read_clock(CLOCK_REALTIME_COARSE).tv_sec;
}

/*
 * Timers. One uv_timer_t stands for all: it is set to the first deadline.
 */

static void set_clock(struct loop *loop)
{
	const struct heap_node *first = heap_first(&loop->timers);
	uint64_t now = uv_now(&loop->uv);

	if (first == NULL)
		uv_timer_stop(&loop->clock);
	else
		uv_timer_start(&loop->clock, on_clock, first->key > now ? first->key - now : 0, 0);
}

static void on_clock(uv_timer_t *clock)
{
	struct loop *loop = clock->data;
	uint64_t now = uv_now(&loop->uv);
	struct heap_node *first;

	while ((first = heap_first(&loop->timers)) != NULL && first->key <= now) {
		struct loop_timer *timer = list_owner(first, struct loop_timer, node);

		heap_drop(&loop->timers, first);
		timer->fire(timer);
	}
	set_clock(loop);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t ms,
		      void (*fire)(struct loop_timer *timer))
{
	/* Never within this turn: a timer that starts itself anew with 0 must not stop the loop. */
	uint64_t deadline = uv_now(&loop->uv) + (ms > 0 ? ms : 1);

	timer->loop = loop;
	timer->fire = fire;
	if (heap_holds(&timer->node))
		heap_move(&loop->timers, &timer->node, deadline);
	else if (heap_add(&loop->timers, &timer->node, deadline) < 0)
		abort(); /* a life without a deadline would never end */
	if (timer->node.place == 1)
		set_clock(loop);
}

void loop_timer_stop(struct loop_timer *timer)
{
	if (heap_holds(&timer->node))
		heap_drop(&timer->loop->timers, &timer->node);
}

/*
 * The end of a turn.
 */

static void run_tasks(struct loop *loop)
{
	struct list now;
	struct list *node;

	list_init(&now);
	list_move_all(&now, &loop->tasks);
	while ((node = list_take(&now)) != NULL) {
		struct loop_task *task = list_owner(node, struct loop_task, node);

		task->run(task);
	}
}

static void on_awake(uv_idle_t *awake)
{
	(void)awake;
}

static void on_before(uv_prepare_t *before)
{
	struct loop *loop = before->data;

	run_tasks(loop);
	if (list_empty(&loop->tasks))
		uv_idle_stop(&loop->awake);
	else
		uv_idle_start(&loop->awake, on_awake);
}

static void on_after(uv_check_t *after)
{
	run_tasks(after->data);
}

void loop_defer(struct loop *loop, struct loop_task *task, void (*run)(struct loop_task *task))
{
	task->run = run;
	if (list_empty(&task->node))
		list_add(&loop->tasks, &task->node);
}

void loop_defer_stop(struct loop_task *task)
{
	list_drop(&task->node);
}

/*
 * Descriptors. libuv closes a handle later than we forget it, so the handle
 * is apart from the watch and knows it only while it runs.
 */

struct poll {
	uv_poll_t uv;
	struct loop_watch *watch;
	int wanted;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_poll(uv_poll_t *uv, int status, int events)
{
	struct poll *poll = (struct poll *)uv;
	unsigned ready = 0;

	if (poll->watch == NULL)
		return;
	/*
	 * An error on the socket (an ICMP one, say) stops a uv_poll_t; the owner decides that. It
	 * is told as what the owner waits for, whose next read or write then says which error.
	 */
	if (status < 0) {
		uv_poll_start(uv, poll->wanted, on_poll);
		events = poll->wanted;
	}
	if (events & UV_READABLE)
		ready |= LOOP_READ;
	if (events & UV_WRITABLE)
		ready |= LOOP_WRITE;
	poll->watch->ready(poll->watch, ready);
}

int loop_watch_start(struct loop *loop, struct loop_watch *watch, int fd, unsigned events,
		     void (*ready)(struct loop_watch *watch, unsigned events))
{
	struct poll *poll = watch->handle;
	int wanted =
		(events & LOOP_READ ? UV_READABLE : 0) | (events & LOOP_WRITE ? UV_WRITABLE : 0);

	watch->ready = ready;
	if (poll == NULL) {
		poll = calloc(1, sizeof(*poll));
		if (poll == NULL)
			return -ENOMEM;
		int r = uv_poll_init(&loop->uv, &poll->uv, fd);

		if (r < 0) {
			free(poll);
			return r;
		}
		poll->watch = watch;
		watch->handle = poll;
	}
	poll->wanted = wanted;

	int r = uv_poll_start(&poll->uv, wanted, on_poll);

	if (r < 0)
		loop_watch_stop(watch);
	return r;
}

void loop_watch_stop(struct loop_watch *watch)
{
	struct poll *poll = watch->handle;

	if (poll == NULL)
		return;
	poll->watch = NULL;
	watch->handle = NULL;
	uv_close((uv_handle_t *)&poll->uv, on_closed);
}

/*
 * Errands.
 */

struct loop_errand_thread {
	uv_thread_t thread;
	uv_mutex_t lock;
	uv_cond_t given;
	uv_async_t *finished;   /* apart: libuv closes it later than we forget it */
	struct list todo, done; /* under the lock */
	bool ending;            /* under the lock */
	struct list told;       /* the loop's alone: done, and about to hear of it */
	char name[16];
};

static void serve_errands(void *arg)
{
	struct loop_errand_thread *thread = arg;

	pthread_setname_np(pthread_self(), thread->name);
	uv_mutex_lock(&thread->lock);
	while (!thread->ending) {
		struct list *node = list_take(&thread->todo);

		if (node == NULL) {
			uv_cond_wait(&thread->given, &thread->lock);
			continue;
		}
		struct loop_errand *errand = list_owner(node, struct loop_errand, node);

		uv_mutex_unlock(&thread->lock);
		errand->run(errand);
		uv_mutex_lock(&thread->lock);
		list_add(&thread->done, &errand->node);
		uv_async_send(thread->finished);
	}
	uv_mutex_unlock(&thread->lock);
}

static void on_finished(uv_async_t *finished)
{
	struct loop_errand_thread *thread = finished->data;

	uv_mutex_lock(&thread->lock);
	list_move_all(&thread->told, &thread->done);
	uv_mutex_unlock(&thread->lock);
	/* A done() may free the thread, and with it the errands that were to be told after. */
	while (finished->data != NULL && !list_empty(&thread->told)) {
		struct list *node = list_take(&thread->told);
		struct loop_errand *errand = list_owner(node, struct loop_errand, node);

		errand->done(errand);
	}
}

static void close_thread(struct loop_errand_thread *thread)
{
	thread->finished->data = NULL;
	uv_close((uv_handle_t *)thread->finished, on_closed);
	uv_mutex_destroy(&thread->lock);
	uv_cond_destroy(&thread->given);
}

int loop_errand_thread_new(struct loop *loop, const char *name,
			   struct loop_errand_thread **ret_thread)
{
	OWN(own_free) struct loop_errand_thread *thread = calloc(1, sizeof(*thread));
	OWN(own_free) uv_async_t *finished = calloc(1, sizeof(*finished));
	int r;

	if (thread == NULL || finished == NULL)
		return -ENOMEM;
	strncpy(thread->name, name, sizeof(thread->name) - 1);
	list_init(&thread->todo);
	list_init(&thread->done);
	list_init(&thread->told);
	r = uv_async_init(&loop->uv, finished, on_finished);
	if (r < 0)
		return r;
	finished->data = thread;
	thread->finished = steal_ptr(finished);
	uv_mutex_init(&thread->lock);
	uv_cond_init(&thread->given);
	r = uv_thread_create(&thread->thread, serve_errands, thread);
	if (r < 0) {
		close_thread(thread);
		return r;
	}
	*ret_thread = steal_ptr(thread);
	return 0;
}

void loop_errand_start(struct loop_errand_thread *thread, struct loop_errand *errand)
{
	list_init(&errand->node);
	uv_mutex_lock(&thread->lock);
	list_add(&thread->todo, &errand->node);
	uv_cond_signal(&thread->given);
	uv_mutex_unlock(&thread->lock);
}

void loop_errand_thread_free(struct loop_errand_thread *thread)
{
	if (thread == NULL)
		return;
	uv_mutex_lock(&thread->lock);
	thread->ending = true;
	uv_cond_signal(&thread->given);
	uv_mutex_unlock(&thread->lock);
	uv_thread_join(&thread->thread);
	close_thread(thread);
	free(thread);
}

/*
 * Bells.
 */

static void on_rung(uv_async_t *uv)
{
	struct loop_bell *bell = uv->data;

	if (bell != NULL)
		bell->rung(bell);
}

int loop_bell_start(struct loop *loop, struct loop_bell *bell, void (*rung)(struct loop_bell *bell))
{
	OWN(own_free) uv_async_t *uv = calloc(1, sizeof(*uv));
	int r;

	if (uv == NULL)
		return -ENOMEM;
	r = uv_async_init(&loop->uv, uv, on_rung);
	if (r < 0)
		return r;
	uv->data = bell;
	bell->rung = rung;
	bell->handle = steal_ptr(uv);
	return 0;
}

void loop_bell_ring(struct loop_bell *bell)
{
	uv_async_send(bell->handle);
}

void loop_bell_stop(struct loop_bell *bell)
{
	uv_async_t *uv = bell->handle;

	if (uv == NULL)
		return;
	uv->data = NULL;
	bell->handle = NULL;
	uv_close((uv_handle_t *)uv, on_closed);
}

/*
 * Signals.
 */

static void on_signal(uv_signal_t *uv, int signum)
{
	struct loop_signal *signal = uv->data;

	(void)signum;
	if (signal != NULL)
		signal->raised(signal);
}

int loop_signal_start(struct loop *loop, struct loop_signal *signal, int signum,
		      void (*raised)(struct loop_signal *signal))
{
	OWN(own_free) uv_signal_t *uv = calloc(1, sizeof(*uv));
	int r;

	if (uv == NULL)
		return -ENOMEM;
	r = uv_signal_init(&loop->uv, uv);
	if (r < 0)
		return r;
	uv->data = signal;
	signal->raised = raised;
	signal->handle = steal_ptr(uv);
	r = uv_signal_start(signal->handle, on_signal, signum);
	if (r < 0)
		loop_signal_stop(signal);
	return r;
}

void loop_signal_stop(struct loop_signal *signal)
{
	uv_signal_t *uv = signal->handle;

	if (uv == NULL)
		return;
	uv->data = NULL;
	signal->handle = NULL;
	uv_close((uv_handle_t *)uv, on_closed);
}
