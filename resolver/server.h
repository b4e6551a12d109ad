/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
#include "policy/policy.h"
#include "resolver/resolvconf.h"
#include "tls/tls.h"

/*
 * The upstream servers: which there are, and what is known of each.
 *
 * A server is down from when it did not answer until it answers again; one
 * that is down is asked after all others. probe.c asks it meanwhile, so that
 * no client has to wait to find out, and asks each server whether what is
 * sent to it comes back to us.
 */
enum {
	SERVERS_MAX = POLICY_UPSTREAMS_MAX, /* in use at once, also of resolv.conf */
	SERVER_TEXT_SIZE = 6 + ENDPOINT_TEXT_SIZE + 1 + 256,
};

struct stream;
struct probe;
struct servers;

struct server {
	struct list node; /* in servers->all */
	struct servers *servers;
	struct endpoint endpoint;
	bool tls;
	const char *name;  /* that its certificate must have; NULL: its address */
	bool listed;       /* in use; one that is not goes with its last user */
	unsigned place;    /* in the order in which they are asked, from 0 */
	unsigned n_users;  /* tries, streams and probes */
	bool down;         /* it did not answer what was last asked */
	bool ourselves;    /* what it is sent comes back to us */
	bool told;         /* people were told that it is down, and not yet that it is not */
	int told_status;   /* why, then ... */
	uint64_t told_ms;  /* ... and when */
	uint64_t heard_ms; /* when it last answered */
	/*
	 * It answered FORMERR to a query with OPT, or did not give the name back in the case that
	 * it was sent in. Not for ever: one forged answer must not take a defence away for good.
	 */
	uint64_t no_edns_until_ms, one_case_until_ms;
	struct stream *stream; /* the connection that is kept; NULL: none is */
	struct tls_ticket ticket;
	struct loop_timer next_probe;
	unsigned probe_wait_ms; /* while it is down: until the next one */
	struct probe *probe;    /* under way */
};

/* Whether nobody can have changed on the way what @server says of itself: whether it validated. */
static inline bool server_is_trusted(const struct server *server)
{
	return server->tls || address_is_loopback(&server->endpoint.address);
}

/* The probes that are under way on all threads, so that each knows them at its door. */
enum { PROBE_SLOTS = 256 };
struct probe_board {
	_Atomic uint64_t names[PROBE_SLOTS]; /* hashes; 0: the slot is free */
	_Atomic bool seen[PROBE_SLOTS];      /* it came to a door */
};

struct servers {
	struct loop *loop;
	struct policy *policy; /* a reference */
	const struct policy_resolver *settings;
	struct tls_context *tls; /* NULL: no server is asked by TLS */
	struct list all;         /* of struct server */
	struct list streams;     /* of struct stream */
	unsigned n_listed;
	unsigned n_sockets, max_sockets;      /* of all tries and streams */
	struct probe_board own_board, *board; /* the first thread's is everybody's */
	bool watching;                        /* servers_watch() was called */
	uint64_t look_ms;                     /* when resolv.conf is looked at again */
	struct resolvconf_stamp stamp;        /* as it was then */
	void (*report)(void *arg, const char *text);
	void *report_arg;
};

/*
 * Make the servers of [resolver] in @policy, or of the host's resolv.conf if it says `auto`, on
 * @loop. What people should know of them goes to @report with @arg.
 *
 * Fails  -EINVAL and @err: one of them is an address that [resolver] listens on; what
 *        tls_client_context_new() says; -ENOMEM.
 * Owns   the caller calls servers_close(), also after a failure.
 */
int servers_open(struct servers *servers, struct loop *loop, struct policy *policy,
		 void (*report)(void *arg, const char *text), void *arg, struct err *err)
	__attribute__((warn_unused_result));

/* End every probe and stream of @servers and free them. Given no try is under way. */
void servers_close(struct servers *servers);

/* Probe @servers from now on. */
void servers_watch(struct servers *servers);

/* Read resolv.conf anew if @servers are of it, it has changed, and it was not looked at just now. */
void servers_look(struct servers *servers);

/* Take one of the sockets that all users of @servers share. Fails -EBUSY. */
int servers_take_socket(struct servers *servers) __attribute__((warn_unused_result));

/* Give one back to @servers. */
void servers_give_socket(struct servers *servers);

/* Note one more user of @server. */
void server_use(struct server *server);

/* Note one user less of @server, which may be gone when this returns. */
void server_release(struct server *server);

/* Note that @server answered. */
void server_heard(struct server *server);

/*
 * Note that @server did not answer what it was sent at @since_ms, and why: @status. If it has
 * answered anything since, that was only slow.
 */
void server_failed(struct server *server, uint64_t since_ms, int status);

/* Note in words why @server is not trusted: @reason is OpenSSL's. */
void server_untrusted(struct server *server, const char *reason);

/* Note whether what @server is sent comes back to us. */
void server_set_ourselves(struct server *server, bool ourselves);

/* Write @server into @text as a policy has it. */
void server_print(const struct server *server, char text[SERVER_TEXT_SIZE]);
