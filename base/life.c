/* SPDX-License-Identifier: MIT */
#include "base/life.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

static void on_deadline(struct loop_timer *timer)
{
	life_event(list_owner(timer, struct life, timer), LIFE_TIMEOUT, -ETIMEDOUT);
}

static void enter(struct life *life, unsigned state)
{
	const struct life_state *row = &life->kind->states[state];

	if (state == LIFE_DEAD) {
		life->state = LIFE_DEAD;
		loop_timer_stop(&life->timer);
		life->kind->free(life);
		return;
	}
	/* A step that stays although the time was up waits once more: nothing waits for ever. */
	if (state != life->state || row->idle || !heap_holds(&life->timer.node))
		loop_timer_start(life->loop, &life->timer, row->deadline_ms, on_deadline);
	life->state = state;
}

void life_start(struct life *life, const struct life_kind *kind, unsigned state, struct loop *loop)
{
	assert(state != LIFE_DEAD && state < kind->n_states);
	life->kind = kind;
	life->loop = loop;
	life->state = LIFE_DEAD;
	life->stepping = false;
	life->timer = (struct loop_timer){ .loop = loop };
	enter(life, state);
}

void life_event(struct life *life, unsigned event, int status)
{
	const struct life_kind *kind = life->kind;

	assert(life->state != LIFE_DEAD && !life->stepping);
	assert(event < kind->n_events);
	/* cppcheck-suppress AssignmentIntegerToAddress ; it takes the table for one of integers */
	life_step_fn *step = kind->states[life->state].on[event];
	unsigned next = LIFE_DEAD;

	if (step != NULL) {
		life->stepping = true;
		next = step(life, status);
		life->stepping = false;
	}
	assert(next < kind->n_states);
	if (kind->trace != NULL && (next != life->state || step == NULL))
		kind->trace(life, kind->event_names[event],
			    step != NULL ? kind->states[next].name : "UNEXPECTED", status);
	enter(life, next);
}

bool life_kind_complete(const struct life_kind *kind)
{
	if (kind->n_events < LIFE_FIRST_OWN_EVENT || kind->n_events > LIFE_MAX_EVENTS)
		return false;
	for (unsigned e = 0; e < kind->n_events; e++)
		if (kind->event_names[e] == NULL)
			return false;
	for (unsigned s = LIFE_DEAD + 1; s < kind->n_states; s++) {
		const struct life_state *state = &kind->states[s];

		if (state->name == NULL || state->deadline_ms == 0)
			return false;
		for (unsigned e = 0; e < LIFE_FIRST_OWN_EVENT; e++)
			if (state->on[e] == NULL)
				return false;
	}
	return true;
}
