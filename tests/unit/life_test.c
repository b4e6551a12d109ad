/* SPDX-License-Identifier: MIT */
/* A small life on a real loop, for each rule that base/life.h states. */
#include "base/life.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

/*
 * A caller: it waits to be greeted, chats as long as it hears something, and says goodbye.
 *
 *   state     what it waits for             then
 *   WAITING   to be greeted, 60 ms in all   chat
 *   CHATTING  the next word, 120 ms for each  stay; on the last one, leave
 *   LEAVING   nothing but its deadline       done
 */
enum { WAITING = 1, CHATTING, LEAVING, N_STATES };
enum { TRACE_SIZE = 512 };
enum { GREETED = LIFE_FIRST_OWN_EVENT, HEARD, N_EVENTS };

static const char *const event_names[N_EVENTS] = {
	[LIFE_TIMEOUT] = "TIMEOUT", [LIFE_ERROR] = "ERROR", [LIFE_CANCEL] = "CANCEL",
	[GREETED] = "GREETED",      [HEARD] = "HEARD",
};

struct caller {
	struct life life;
	struct loop_timer talker; /* the other side */
	unsigned n_words, n_freed, n_timeouts;
	int last_status;
	unsigned stay_on_timeout; /* how often WAITING answers TIMEOUT by staying */
	uint64_t freed_at_ms;
	char *trace; /* what happened; apart, since life_kind's trace() gets a const life */
};

static struct caller *caller_of(struct life *life)
{
	return list_owner(life, struct caller, life);
}

static unsigned end(struct life *life, int status)
{
	caller_of(life)->last_status = status;
	return LIFE_DEAD;
}

static unsigned wait_more(struct life *life, int status)
{
	struct caller *caller = caller_of(life);

	caller->n_timeouts++;
	caller->last_status = status;
	return caller->n_timeouts <= caller->stay_on_timeout ? WAITING : LIFE_DEAD;
}

static unsigned chat(struct life *life, int status)
{
	(void)life, (void)status;
	return CHATTING;
}

static unsigned hear(struct life *life, int status)
{
	struct caller *caller = caller_of(life);

	(void)status;
	return --caller->n_words > 0 ? CHATTING : LEAVING;
}

static unsigned stay(struct life *life, int status)
{
	(void)status;
	return life->state;
}

#define END_ON_TROUBLE [LIFE_ERROR] = end, [LIFE_CANCEL] = end

static const struct life_state states[N_STATES] = {
	[LIFE_DEAD] = { .name = "DEAD" },
	[WAITING] = { "WAITING",
		      60,
		      false,
		      { [LIFE_TIMEOUT] = wait_more,
			END_ON_TROUBLE,
			[GREETED] = chat,
			[HEARD] = stay } },
	[CHATTING] = { "CHATTING",
		       120,
		       true,
		       { [LIFE_TIMEOUT] = end, END_ON_TROUBLE, [HEARD] = hear } },
	[LEAVING] = { "LEAVING", 60, false, { [LIFE_TIMEOUT] = end, END_ON_TROUBLE } },
};

static void trace(const struct life *life, const char *event, const char *to, int status)
{
	const struct caller *caller = (const struct caller *)(const void *)life;
	size_t used = strlen(caller->trace);

	(void)status;
	snprintf(caller->trace + used, TRACE_SIZE - used, "%s-%s->%s ",
		 life->kind->states[life->state].name, event, to);
}

static void free_caller(struct life *life)
{
	struct caller *caller = caller_of(life);

	caller->n_freed++;
	caller->freed_at_ms = loop_exact_us(life->loop) / 1000;
	loop_timer_stop(&caller->talker);
	loop_stop(life->loop);
}

static const struct life_kind kind = {
	.name = "caller",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = free_caller,
	.trace = trace,
};

/* Start @caller on a loop of its own, let the loop serve it to its end; give how long it lived. */
static uint64_t live(struct caller *caller, void (*talk)(struct loop_timer *timer), uint64_t ms)
{
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	uint64_t born_ms = loop_exact_us(loop) / 1000;

	life_start(&caller->life, &kind, WAITING, loop);
	if (talk != NULL)
		loop_timer_start(loop, &caller->talker, ms, talk);
	loop_run(loop);
	assert_int_equal(caller->n_freed, 1);
	assert_int_equal(caller->life.state, LIFE_DEAD);
	loop_free(loop); /* asserts that no timer was left */
	return caller->freed_at_ms - born_ms;
}

static void deadline_ends_it(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 1 };
	uint64_t ms = live(&caller, NULL, 0);

	(void)state;
	assert_in_range(ms, 55, 1000);
	assert_int_equal(caller.last_status, -ETIMEDOUT);
	assert_string_equal(said, "WAITING-TIMEOUT->DEAD ");
}

static void hear_every_20_ms(struct loop_timer *timer)
{
	struct caller *caller = list_owner(timer, struct caller, talker);

	loop_timer_start(timer->loop, timer, 20, hear_every_20_ms);
	life_event(&caller->life, HEARD, 0);
}

/* WAITING hears something all the time and stays; its deadline is from entering all the same. */
static void staying_does_not_renew_a_deadline(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 1 };
	uint64_t ms = live(&caller, hear_every_20_ms, 20);

	(void)state;
	assert_in_range(ms, 55, 1000);
	assert_string_equal(said, "WAITING-TIMEOUT->DEAD ");
}

static void greet_then_hear(struct loop_timer *timer)
{
	struct caller *caller = list_owner(timer, struct caller, talker);

	loop_timer_start(timer->loop, timer, 20, hear_every_20_ms);
	life_event(&caller->life, GREETED, 0);
}

/* CHATTING is idle: eight words in 160 ms, though it would wait but 60 ms for each. */
static void events_renew_an_idle_deadline(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 8 };

	(void)state;
	/* LEAVING expects no word: the ninth ends it. */
	assert_in_range(live(&caller, greet_then_hear, 1), 150, 2000);
	assert_string_equal(said, "WAITING-GREETED->CHATTING CHATTING-HEARD->LEAVING "
				  "LEAVING-HEARD->UNEXPECTED ");
}

static void greet(struct loop_timer *timer)
{
	life_event(&list_owner(timer, struct caller, talker)->life, GREETED, 0);
}

static void an_idle_deadline_ends_too(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 8 };

	(void)state;
	assert_in_range(live(&caller, greet, 1), 55, 1000);
	assert_string_equal(said, "WAITING-GREETED->CHATTING CHATTING-TIMEOUT->DEAD ");
}

static void greet_twice(struct loop_timer *timer)
{
	greet(timer);
	greet(timer);
}

static void an_unexpected_event_ends_it(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 1 };

	(void)state;
	live(&caller, greet_twice, 1);
	assert_string_equal(said, "WAITING-GREETED->CHATTING CHATTING-GREETED->UNEXPECTED ");
}

static void cancel(struct loop_timer *timer)
{
	life_event(&list_owner(timer, struct caller, talker)->life, LIFE_CANCEL, -ECANCELED);
}

static void steps_are_told_the_status(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .n_words = 1 };

	(void)state;
	live(&caller, cancel, 1);
	assert_int_equal(caller.last_status, -ECANCELED);
	assert_string_equal(said, "WAITING-CANCEL->DEAD ");
}

/* A step that answers TIMEOUT by staying gets its deadline anew, and is not forgotten. */
static void staying_at_the_deadline_gets_another(void **state)
{
	char said[TRACE_SIZE] = "";
	struct caller caller = { .trace = said, .stay_on_timeout = 2 };

	(void)state;
	assert_in_range(live(&caller, NULL, 0), 170, 2000);
	assert_int_equal(caller.n_timeouts, 3);
}

static void kinds_are_complete(void **state)
{
	struct life_state changed[N_STATES];
	const char *names[N_EVENTS];
	struct life_kind other = kind;

	(void)state;
	assert_true(life_kind_complete(&kind));
	other.states = changed;
	other.event_names = names;
	for (unsigned fault = 0; fault < 7; fault++) {
		memcpy(changed, states, sizeof(changed));
		memcpy(names, event_names, sizeof(names));
		other.n_events = N_EVENTS;
		switch (fault) {
		case 0:
			changed[CHATTING].name = NULL;
			break;
		case 1:
			changed[LEAVING].deadline_ms = 0;
			break;
		case 2:
			changed[WAITING].on[LIFE_TIMEOUT] = NULL;
			break;
		case 3:
			changed[LEAVING].on[LIFE_ERROR] = NULL;
			break;
		case 4:
			changed[LEAVING].on[LIFE_CANCEL] = NULL;
			break;
		case 5:
			names[HEARD] = NULL;
			break;
		case 6:
			other.n_events = LIFE_MAX_EVENTS + 1;
			break;
		default:
			fail();
		}
		if (life_kind_complete(&other))
			fail_msg("fault %u was not found", fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadline_ends_it),
		cmocka_unit_test(staying_does_not_renew_a_deadline),
		cmocka_unit_test(events_renew_an_idle_deadline),
		cmocka_unit_test(an_idle_deadline_ends_too),
		cmocka_unit_test(an_unexpected_event_ends_it),
		cmocka_unit_test(steps_are_told_the_status),
		cmocka_unit_test(staying_at_the_deadline_gets_another),
		cmocka_unit_test(kinds_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
