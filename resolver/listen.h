/* SPDX-License-Identifier: MIT */
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/list.h"

/*
 * Where clients come in: UDP and TCP on each address of [resolver] listen.
 * Datagrams are read and answered in batches (recvmmsg, sendmmsg), and
 * answered from the address that they were sent to, also on a wildcard
 * listener. A TCP connection (RFC 7766) is a life, in connection.c.
 */
struct resolver;
struct listeners;
struct door;       /* one UDP socket */
struct connection; /* one TCP connection */

/* Whom an answer goes to, inside the query. */
struct client {
	struct address address;
	uint32_t interface;            /* its number here, by which the query came; 0: not known */
	struct door *door;             /* UDP: by which socket; NULL: TCP */
	struct connection *connection; /* TCP: on which; NULL once it is gone, or UDP */
	struct list held;              /* among its connection's queries under way */
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} peer;
	union {
		struct in_pktinfo in;
		struct in6_pktinfo in6;
	} local; /* the address that was asked, for the answer's source */
};

/*
 * Listen on the addresses of the policy of @resolver, and hand what comes to query_receive().
 *
 * Fails  -errno and @err: which address, and why.
 * Owns   the caller calls listeners_free().
 */
int listeners_new(struct resolver *resolver, struct listeners **ret_listeners, struct err *err)
	__attribute__((warn_unused_result));

/* Close everything of @listeners and free it; NULL is allowed. */
void listeners_free(struct listeners *listeners);

/* Put endpoint number @i of @listeners into @ret_endpoint; false behind the last. */
bool listeners_endpoint(const struct listeners *listeners, unsigned i,
			struct endpoint *ret_endpoint);

/*
 * Send the @len bytes at @bytes to @client. A client that is gone, or does not read, does not get
 * them, and nobody is told.
 */
void client_answer(struct client *client, const uint8_t *bytes, size_t len);

/*
 * Note that @client's query is under way from here to client_release(): if its connection ends
 * before, query_cancel(@client) is called.
 */
void client_hold(struct client *client);

/* The query of @client has ended. Nothing happens if it is not held. */
void client_release(struct client *client);

/*
 * Put the name of the interface by which @client's query came (TCP: its connection) into @ret_name.
 *
 * Gives  @ret_name; NULL if it is not known, or gone. Costs a system call.
 */
const char *client_interface(const struct client *client, char ret_name[IF_NAMESIZE]);

/* True if @client asks over TCP. */
static inline bool client_is_tcp(const struct client *client)
{
	return client->door == NULL;
}
