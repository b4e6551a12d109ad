/* SPDX-License-Identifier: MIT */
/* Bells: what another thread rings is heard on the loop. */
#include <pthread.h>
#include "base/loop.h"
#include "tests/unit/test.h"

struct listener {
	struct loop *loop;
	struct loop_bell bell;
	pthread_t heard_on;
	unsigned n_heard;
};

static void hear(struct loop_bell *bell)
{
	struct listener *listener = list_owner(bell, struct listener, bell);

	listener->heard_on = pthread_self();
	listener->n_heard++;
	loop_bell_stop(bell);
	loop_stop(listener->loop);
}

static void *ring_often(void *arg)
{
	struct loop_bell *bell = arg;

	for (unsigned i = 0; i < 100; i++)
		loop_bell_ring(bell);
	return NULL;
}

static void bells_are_heard_on_the_loop(void **state)
{
	struct listener listener = { .n_heard = 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(loop_new(&listener.loop), 0);
	assert_int_equal(loop_bell_start(listener.loop, &listener.bell, hear), 0);
	assert_int_equal(pthread_create(&thread, NULL, ring_often, &listener.bell), 0);
	pthread_join(thread, NULL);
	assert_int_equal(listener.n_heard, 0);
	loop_run(listener.loop);
	/* Stopped by its own callback: the other rings are forgotten. */
	assert_int_equal(listener.n_heard, 1);
	assert_true(pthread_equal(listener.heard_on, pthread_self()));
	loop_bell_stop(&listener.bell);
	loop_free(listener.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bells_are_heard_on_the_loop) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
