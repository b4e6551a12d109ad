/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/heap.h"
#include "base/list.h"

/*
 * The event loop: clocks, timers, descriptors, sockets,
 * work for another thread, and what is done once at the end of a turn.
 *
 * Everything above base/ reaches the world through this header alone.
 * base/loop.c serves it with libuv, base/socket.c its sockets; tests/replay/
 * links a scripted one with a settable clock in place of both, and the same
 * query.c runs on it unchanged.
 *
 * Three rules hold for all of it:
 *  - a call answers by returning or by a callback later, never by a callback
 *    before it returns;
 *  - what is stopped or closed is forgotten at once: no callback comes after,
 *    and the caller may free it, also from within its own callback;
 *  - one thread has the loop; only loop_errand's run() and loop_bell_ring() are on others.
 */
struct loop;

/* Make a loop. Fails -ENOMEM or what libuv says. */
int loop_new(struct loop **ret_loop) __attribute__((warn_unused_result));

/* Free @loop; NULL is allowed. Given nothing is open, running or deferred on it any more. */
void loop_free(struct loop *loop);

/* Serve @loop until loop_stop(). */
void loop_run(struct loop *loop);

/* Let loop_run() return at the end of this turn of @loop. */
void loop_stop(struct loop *loop);

/* The monotonic time of this turn of @loop, in milliseconds. */
uint64_t loop_now_ms(const struct loop *loop);

/* The monotonic time of this very moment, in microseconds, as @loop sees it. */
uint64_t loop_exact_us(const struct loop *loop);

/* The time of day, in seconds since 1970 UTC, as @loop sees it. */
int64_t loop_wall_s(const struct loop *loop);

/* A timer, inside its owner. All zero is a stopped one. */
struct loop_timer {
	struct heap_node node;
	struct loop *loop;
	void (*fire)(struct loop_timer *timer);
};

/*
 * Let @timer call @fire once, @ms milliseconds (0 is taken as 1) from this turn of @loop; a running
 * one is set anew.
 *
 * Never  fails: memory for it is set aside as timers are added, or the process ends.
 */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t ms,
		      void (*fire)(struct loop_timer *timer));

/* Stop @timer; nothing happens if it is not running. */
void loop_timer_stop(struct loop_timer *timer);

/* Something to do at the end of a turn, inside its owner. Give it to list_init() first. */
struct loop_task {
	struct list node;
	void (*run)(struct loop_task *task);
};

/* Let @task call @run once, at the end of this turn of @loop; asked twice, it is done once. */
void loop_defer(struct loop *loop, struct loop_task *task, void (*run)(struct loop_task *task));

/* Forget @task. */
void loop_defer_stop(struct loop_task *task);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* A descriptor that is watched. All zero is a stopped one. */
struct loop_watch {
	void *handle; /* of the loop; NULL: stopped */
	void (*ready)(struct loop_watch *watch, unsigned events);
};

/*
 * Let @watch call @ready whenever @fd is ready for one of @events (LOOP_READ, LOOP_WRITE) on
 * @loop, or broken; or change the events of a watch that is running. One that is broken is ready
 * for all of @events, and for no other.
 *
 * Owns   nothing: close @fd after loop_watch_stop().
 */
int loop_watch_start(struct loop *loop, struct loop_watch *watch, int fd, unsigned events,
		     void (*ready)(struct loop_watch *watch, unsigned events))
	__attribute__((warn_unused_result));

/* Stop @watch; nothing happens if it is not running. */
void loop_watch_stop(struct loop_watch *watch);

/* A datagram socket towards one server, with a source port of its own. All zero is a closed one. */
struct loop_udp {
	struct loop *loop;
	struct loop_watch watch;
	int fd;
	bool open;
	/* @len bytes at @bytes came, which are valid during the call; or @len is a negative errno. */
	void (*heard)(struct loop_udp *udp, const uint8_t *bytes, long len);
};

/*
 * Open @udp on @loop towards @peer. The kernel takes datagrams from that endpoint only, and picks
 * a random source port (RFC 5452, 9.2).
 *
 * Later  @heard for each datagram, until loop_udp_close().
 */
int loop_udp_open(struct loop *loop, struct loop_udp *udp, const struct endpoint *peer,
		  void (*heard)(struct loop_udp *udp, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/* Send the @len bytes at @bytes as one datagram of @udp. Fails -EAGAIN and the like; never waits. */
int loop_udp_send(struct loop_udp *udp, const uint8_t *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Close @udp; nothing happens if it is closed. */
void loop_udp_close(struct loop_udp *udp);

/* A stream, to a server or from a client. All zero is a closed one. */
struct loop_tcp {
	struct loop *loop;
	struct loop_watch watch;
	int fd;
	bool open;
	uint8_t *unsent; /* what was written and the kernel has not taken yet */
	size_t n_unsent, unsent_size;
	/* As loop_udp's; @len 0: the other side has closed. Close @tcp then, as after an errno. */
	void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len);
};

/*
 * Connect @tcp on @loop to @peer. It may be written to at once.
 *
 * Later  @heard for what comes back, with a negative errno if the connection fails or breaks.
 */
int loop_tcp_open(struct loop *loop, struct loop_tcp *tcp, const struct endpoint *peer,
		  void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/*
 * Make @tcp the stream of @fd, a connected socket that does not block, on @loop.
 *
 * Owns   @fd from here on, also if it fails.
 * Later  @heard as loop_tcp_open().
 */
int loop_tcp_adopt(struct loop *loop, struct loop_tcp *tcp, int fd,
		   void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/*
 * Send the @len bytes at @bytes on @tcp, behind what was written before. They are copied.
 *
 * Fails  -ENOBUFS: more than LIMIT_STREAM_UNSENT_BYTES would wait, and the stream carries nothing
 *        of use any more, since part of them may have gone; -ENOMEM, likewise; what send() says.
 */
int loop_tcp_write(struct loop_tcp *tcp, const uint8_t *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Close @tcp; nothing happens if it is closed. */
void loop_tcp_close(struct loop_tcp *tcp);

/*
 * Work that may block, for a thread of its own: one errand at a time, in the order in which they
 * were given. loop_errand_thread is that thread; a module that needs one owns it.
 */
struct loop_errand_thread;

struct loop_errand {
	struct list node;
	void (*run)(struct loop_errand *errand);  /* on the thread: touches the errand alone */
	void (*done)(struct loop_errand *errand); /* on the loop, afterwards */
};

/* Start a thread for errands of @loop, called @name in ps. */
int loop_errand_thread_new(struct loop *loop, const char *name,
			   struct loop_errand_thread **ret_thread)
	__attribute__((warn_unused_result));

/* Give @errand to @thread. It must stay in place until its done() was called. */
void loop_errand_start(struct loop_errand_thread *thread, struct loop_errand *errand);

/*
 * Wait for the errand under way, drop the others, end @thread. NULL is allowed.
 *
 * Never  calls done() from here on.
 */
void loop_errand_thread_free(struct loop_errand_thread *thread);

/* A bell, which any thread may ring for the one that has the loop. All zero is a stopped one. */
struct loop_bell {
	void *handle; /* of the loop; NULL: stopped */
	void (*rung)(struct loop_bell *bell);
};

/* Let @bell call @rung on @loop after it was rung; several rings may be answered by one call. */
int loop_bell_start(struct loop *loop, struct loop_bell *bell, void (*rung)(struct loop_bell *bell))
	__attribute__((warn_unused_result));

/* Ring @bell, from any thread. Given no other thread stops it meanwhile. */
void loop_bell_ring(struct loop_bell *bell);

/* Stop @bell; nothing happens if it is not started. */
void loop_bell_stop(struct loop_bell *bell);

/* A signal that is waited for. All zero is a stopped one. */
struct loop_signal {
	void *handle;
	void *arg; /* its owner's */
	void (*raised)(struct loop_signal *signal);
};

/* Let @signal call @raised on @loop whenever the process gets signal number @signum. */
int loop_signal_start(struct loop *loop, struct loop_signal *signal, int signum,
		      void (*raised)(struct loop_signal *signal))
	__attribute__((warn_unused_result));

/* Stop @signal; nothing happens if it is not running. */
void loop_signal_stop(struct loop_signal *signal);
