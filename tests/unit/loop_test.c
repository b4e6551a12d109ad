/* SPDX-License-Identifier: MIT */
/* base/loop.c with the real libuv. */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/test.h"

enum { TOO_LONG_MS = 5000 };

/* A loop with an alarm: a test that would wait for ever fails instead. */
struct bench {
	struct loop *loop;
	struct loop_timer alarm;
	char said[128]; /* what happened, a letter each */
};

static void ring(struct loop_timer *timer)
{
	loop_stop(timer->loop);
	fail_msg("nothing came within %d ms", TOO_LONG_MS);
}

static void say(struct bench *bench, char letter)
{
	size_t used = strlen(bench->said);

	assert_true(used + 1 < sizeof(bench->said));
	bench->said[used] = letter;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL || loop_new(&bench->loop) < 0)
		return -1;
	loop_timer_start(bench->loop, &bench->alarm, TOO_LONG_MS, ring);
	*state = bench;
	return 0;
}

/* Every test ends here: loop_free() asserts that nothing was left open or running. */
static int tear_down(void **state)
{
	struct bench *bench = *state;

	loop_timer_stop(&bench->alarm);
	loop_free(bench->loop);
	free(bench);
	return 0;
}

/*
 * Timers.
 */

struct lettered {
	struct loop_timer timer;
	struct loop_task task;
	struct bench *bench;
	char letter;
	unsigned again; /* how often more */
	struct lettered *victim;
};

static void fire(struct loop_timer *timer)
{
	struct lettered *it = list_owner(timer, struct lettered, timer);

	say(it->bench, it->letter);
	if (it->victim != NULL)
		loop_timer_stop(&it->victim->timer);
	if (it->again > 0) {
		it->again--;
		loop_timer_start(timer->loop, timer, 1, fire);
	} else if (it->letter == 'z') {
		loop_stop(timer->loop);
	}
}

static void timers_fire_in_order(void **state)
{
	struct bench *bench = *state;
	struct lettered a = { .bench = bench, .letter = 'a' }, b = a, c = a, z = a;

	b.letter = 'b', c.letter = 'c', z.letter = 'z';
	loop_timer_start(bench->loop, &z.timer, 60, fire);
	loop_timer_start(bench->loop, &b.timer, 30, fire);
	loop_timer_start(bench->loop, &a.timer, 10, fire);
	loop_timer_start(bench->loop, &c.timer, 5, fire);
	loop_timer_start(bench->loop, &c.timer, 45, fire); /* set anew */
	loop_run(bench->loop);
	assert_string_equal(bench->said, "abcz");
}

static void timers_are_not_early(void **state)
{
	struct bench *bench = *state;
	struct lettered z = { .bench = bench, .letter = 'z' };
	uint64_t before_us = loop_now_ms(bench->loop) * 1000; /* a timer counts from the turn */

	loop_timer_start(bench->loop, &z.timer, 50, fire);
	loop_run(bench->loop);
	assert_true(loop_exact_us(bench->loop) - before_us >= 50000);
	assert_true(loop_now_ms(bench->loop) <= loop_exact_us(bench->loop) / 1000);
	assert_in_range(loop_wall_s(bench->loop), time(NULL) - 2, time(NULL) + 2);
}

static void timers_start_anew_and_stop_others(void **state)
{
	struct bench *bench = *state;
	struct lettered a = { .bench = bench, .letter = 'a', .again = 3 }, b = a, z = a;

	b.letter = 'b', b.again = 0;
	z.letter = 'z', z.again = 0;
	a.victim = &b;
	loop_timer_start(bench->loop, &a.timer, 1, fire);
	loop_timer_start(bench->loop, &b.timer, 20, fire);
	loop_timer_start(bench->loop, &z.timer, 40, fire);
	loop_run(bench->loop);
	assert_string_equal(bench->said, "aaaaz");
	loop_timer_stop(&b.timer); /* twice is harmless */
}

static void fire_at_once(struct loop_timer *timer)
{
	loop_timer_start(timer->loop, timer, 0, fire_at_once);
}

/* A timer that always starts itself anew with 0 leaves room for the others. */
static void an_eager_timer_does_not_stop_the_loop(void **state)
{
	struct bench *bench = *state;
	struct lettered z = { .bench = bench, .letter = 'z' };
	struct loop_timer eager = { .fire = NULL };

	loop_timer_start(bench->loop, &eager, 0, fire_at_once);
	loop_timer_start(bench->loop, &z.timer, 20, fire);
	loop_run(bench->loop);
	assert_string_equal(bench->said, "z");
	loop_timer_stop(&eager);
}

/*
 * What is done at the end of a turn.
 */

static void run_task(struct loop_task *task)
{
	struct lettered *it = list_owner(task, struct lettered, task);

	say(it->bench, it->letter);
	if (it->victim != NULL)
		loop_defer_stop(&it->victim->task);
	if (it->again > 0) {
		it->again--;
		loop_defer(it->bench->loop, task, run_task);
	} else if (it->letter == 'z') {
		loop_stop(it->bench->loop);
	}
}

static void tasks_run_once_in_order(void **state)
{
	struct bench *bench = *state;
	struct lettered a = { .bench = bench, .letter = 'a' }, b = a, c = a, z = a;

	b.letter = 'b', c.letter = 'c', z.letter = 'z';
	a.victim = &c;
	list_init(&a.task.node);
	list_init(&b.task.node);
	list_init(&c.task.node);
	list_init(&z.task.node);
	loop_defer(bench->loop, &b.task, run_task);
	loop_defer(bench->loop, &a.task, run_task);
	loop_defer(bench->loop, &c.task, run_task); /* which a stops */
	loop_defer(bench->loop, &b.task, run_task); /* which is under way already */
	loop_defer(bench->loop, &z.task, run_task);
	assert_string_equal(bench->said, ""); /* never before loop_defer() returns */
	loop_run(bench->loop);
	assert_string_equal(bench->said, "baz");
}

/* The loop must not fall asleep over a task that a task left; the alarm would tell. */
static void tasks_may_defer_themselves(void **state)
{
	struct bench *bench = *state;
	struct lettered z = { .bench = bench, .letter = 'z', .again = 9 };
	uint64_t before_us = loop_exact_us(bench->loop);

	list_init(&z.task.node);
	loop_defer(bench->loop, &z.task, run_task);
	loop_run(bench->loop);
	assert_string_equal(bench->said, "zzzzzzzzzz");
	assert_true(loop_exact_us(bench->loop) - before_us < 1000000);
}

/* A plain socket of the test's own, on a port that the kernel picks. */
static int serve(int type, struct endpoint *ret_endpoint)
{
	struct sockaddr_storage sockaddr;
	struct endpoint any;
	socklen_t len;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(endpoint_parse("127.0.0.1", 0, &any), 0);
	len = endpoint_to_sockaddr(&any, &sockaddr);
	assert_int_equal(bind(fd, (struct sockaddr *)&sockaddr, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 4), 0);
	len = sizeof(sockaddr);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sockaddr, &len), 0);
	*ret_endpoint = endpoint_from_sockaddr(&sockaddr);
	return fd;
}

/*
 * Descriptors.
 */

struct pipe_end {
	struct loop_watch watch;
	struct bench *bench;
	int fd;
	unsigned events;
};

static void note_ready(struct loop_watch *watch, unsigned events)
{
	struct pipe_end *end = list_owner(watch, struct pipe_end, watch);

	end->events = events;
	loop_watch_stop(watch);
	loop_stop(end->bench->loop);
}

static void watches_tell_what_is_ready(void **state)
{
	struct bench *bench = *state;
	struct pipe_end end = { .bench = bench };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(loop_watch_start(bench->loop, &end.watch, fds[0], LOOP_READ, note_ready),
			 0);
	/* Changing what is watched needs no new watch. */
	assert_int_equal(loop_watch_start(bench->loop, &end.watch, fds[0], LOOP_WRITE, note_ready),
			 0);
	loop_run(bench->loop);
	assert_int_equal(end.events, LOOP_WRITE);

	assert_int_equal(loop_watch_start(bench->loop, &end.watch, fds[0], LOOP_READ, note_ready),
			 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	loop_run(bench->loop);
	assert_int_equal(end.events, LOOP_READ);
	loop_watch_stop(&end.watch); /* twice is harmless */

	/* The same descriptor may be closed and its number used again at once. */
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(loop_watch_start(bench->loop, &end.watch, fds[0], LOOP_READ, note_ready),
			 0);
	close(fds[1]);
	loop_run(bench->loop);
	assert_true(end.events & LOOP_READ);
	close(fds[0]);
}

/* A socket with an error is ready for what is watched, and for nothing else. */
static void a_broken_descriptor_is_ready_for_what_is_watched(void **state)
{
	static const unsigned wanted[] = { LOOP_READ, LOOP_WRITE, LOOP_READ | LOOP_WRITE };
	struct bench *bench = *state;
	struct endpoint server;
	struct sockaddr_storage to;
	socklen_t len;

	close(serve(SOCK_DGRAM, &server));
	len = endpoint_to_sockaddr(&server, &to);
	for (size_t i = 0; i < LENGTH(wanted); i++) {
		struct pipe_end end = { .bench = bench };
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(fd, (struct sockaddr *)&to, len), 0);
		assert_int_equal(send(fd, "x", 1, 0), 1); /* which ICMP refuses */
		assert_int_equal(
			loop_watch_start(bench->loop, &end.watch, fd, wanted[i], note_ready), 0);
		loop_run(bench->loop);
		assert_int_equal(end.events, wanted[i]);
		close(fd);
	}
}

static void a_file_cannot_be_watched(void **state)
{
	struct bench *bench = *state;
	struct loop_watch watch = { .handle = NULL };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(loop_watch_start(bench->loop, &watch, fd, LOOP_READ, note_ready), -EPERM);
	assert_null(watch.handle);
	close(fd);
}

/*
 * Errands.
 */

struct errand {
	struct loop_errand errand;
	struct bench *bench;
	struct loop_errand_thread **thread;
	char letter;
	unsigned run_ms;
	bool ran, free_thread;
};

static void run_errand(struct loop_errand *errand)
{
	struct errand *it = list_owner(errand, struct errand, errand);

	usleep(it->run_ms * 1000);
	it->ran = true;
}

static void errand_done(struct loop_errand *errand)
{
	struct errand *it = list_owner(errand, struct errand, errand);

	say(it->bench, it->letter);
	if (it->free_thread) {
		loop_errand_thread_free(*it->thread);
		*it->thread = NULL;
		it->letter = 'z';
	}
	if (it->letter == 'z')
		loop_stop(it->bench->loop);
}

static void start_errand(struct loop_errand_thread *thread, struct errand *it)
{
	it->errand = (struct loop_errand){ .run = run_errand, .done = errand_done };
	loop_errand_start(thread, &it->errand);
}

static void errands_are_done_in_order(void **state)
{
	struct bench *bench = *state;
	struct loop_errand_thread *thread;
	struct errand a = { .bench = bench, .letter = 'a', .run_ms = 20 }, b = a, z = a;

	b.letter = 'b', b.run_ms = 0;
	z.letter = 'z', z.run_ms = 10;
	assert_int_equal(loop_errand_thread_new(bench->loop, "errands", &thread), 0);
	start_errand(thread, &a);
	start_errand(thread, &b);
	start_errand(thread, &z);
	assert_string_equal(bench->said, "");
	loop_run(bench->loop);
	assert_string_equal(bench->said, "abz");
	loop_errand_thread_free(thread);
	loop_errand_thread_free(NULL);
}

/* Freed while one runs: that one ends, the others do not begin, and nobody hears of any. */
static void freeing_waits_for_the_errand_under_way(void **state)
{
	struct bench *bench = *state;
	struct loop_errand_thread *thread;
	struct lettered z = { .bench = bench, .letter = 'z' };
	struct errand a = { .bench = bench, .letter = 'a', .run_ms = 100 }, b = a;

	assert_int_equal(loop_errand_thread_new(bench->loop, "errands", &thread), 0);
	start_errand(thread, &a);
	start_errand(thread, &b);
	usleep(30000);
	loop_errand_thread_free(thread);
	assert_true(a.ran);
	assert_false(b.ran);
	loop_timer_start(bench->loop, &z.timer, 20, fire);
	loop_run(bench->loop);
	assert_string_equal(bench->said, "z");
}

/* Freed by the first done() of several that are ready: the others are not told any more. */
static void a_done_may_free_the_thread(void **state)
{
	struct bench *bench = *state;
	struct loop_errand_thread *thread;
	struct errand a = { .bench = bench, .letter = 'a', .thread = &thread, .free_thread = true };
	struct errand b = { .bench = bench, .letter = 'b' };

	assert_int_equal(loop_errand_thread_new(bench->loop, "errands", &thread), 0);
	start_errand(thread, &a);
	start_errand(thread, &b);
	usleep(30000); /* both have run */
	loop_run(bench->loop);
	assert_true(b.ran);
	assert_null(thread);
	assert_string_equal(bench->said, "a");
}

/*
 * Signals.
 */

struct waiter {
	struct loop_signal signal;
	struct bench *bench;
};

static void note_signal(struct loop_signal *signal)
{
	struct waiter *waiter = list_owner(signal, struct waiter, signal);

	say(waiter->bench, 's');
	loop_signal_stop(signal);
	loop_stop(waiter->bench->loop);
}

static void send_signal(struct loop_timer *timer)
{
	(void)timer;
	raise(SIGUSR1);
}

static void signals_are_heard_on_the_loop(void **state)
{
	struct waiter waiter = { .bench = *state };
	struct loop_timer later = { .fire = NULL };
	struct loop *loop = waiter.bench->loop;

	assert_int_equal(loop_signal_start(loop, &waiter.signal, SIGUSR1, note_signal), 0);
	loop_timer_start(loop, &later, 5, send_signal);
	loop_run(loop);
	assert_string_equal(waiter.bench->said, "s");
	loop_signal_stop(&waiter.signal); /* twice is harmless */
	assert_int_equal(loop_signal_start(loop, &waiter.signal, 4711, note_signal), -EINVAL);
	assert_null(waiter.signal.handle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(timers_fire_in_order),
		TEST(timers_are_not_early),
		TEST(timers_start_anew_and_stop_others),
		TEST(an_eager_timer_does_not_stop_the_loop),
		TEST(tasks_run_once_in_order),
		TEST(tasks_may_defer_themselves),
		TEST(watches_tell_what_is_ready),
		TEST(a_broken_descriptor_is_ready_for_what_is_watched),
		TEST(a_file_cannot_be_watched),
		TEST(errands_are_done_in_order),
		TEST(freeing_waits_for_the_errand_under_way),
		TEST(a_done_may_free_the_thread),
		TEST(signals_are_heard_on_the_loop),
	};

	loop_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
