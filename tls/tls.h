/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/loop.h"

/*
 * TLS over a stream of the loop, on either side, by OpenSSL: at least TLS 1.2
 * (RFC 8446, RFC 9325), without renegotiation or compression. A client
 * verifies who the server is before a byte of its owner leaves, always:
 * there is no switch that turns it off.
 *
 * context.c makes what many connections share: whom we trust, or who we are.
 * stream.c is one connection: bytes from the socket go into OpenSSL by a memory
 * BIO, and what it wants sent comes out of another, so that nothing blocks
 * and nothing but base/loop.h is asked for bytes. The rules of the loop hold:
 * no callback before a call returns, and none after tls_close().
 */
struct tls_context;
struct tls_stream; /* the inside of a connection */

/*
 * Make what clients share: servers are verified against the authorities in the PEM file @ca_file,
 * or if it is NULL against the system's; @protocol is the ALPN protocol they speak (RFC 7301), or
 * NULL. The authorities are read here and never again: a process that has given up the file system
 * still verifies.
 *
 * Fails  -EINVAL and @err: the file holds no certificate; what opening it says; -ENOENT: the system
 *        has no authorities; -ENOMEM.
 * Owns   the caller calls tls_context_free().
 */
int tls_client_context_new(const char *ca_file, const char *protocol,
			   struct tls_context **ret_context, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Make what servers share: the certificate, with those that lead to its authority, and the key in
 * the PEM files @cert_file and @key_file; @protocol as for clients.
 *
 * Fails  -EINVAL and @err: they cannot be read or do not fit; -ENOMEM.
 * Owns   the caller calls tls_context_free().
 */
int tls_server_context_new(const char *cert_file, const char *key_file, const char *protocol,
			   struct tls_context **ret_context, struct err *err)
	__attribute__((warn_unused_result));

/* Free @context; NULL is allowed. Connections under way keep what they need of it. */
void tls_context_free(struct tls_context *context);

/* What a later connection to the same server begins with (RFC 8446, 2.2). All zero is nothing. */
struct tls_ticket {
	void *session;
};

/* Forget what is in @ticket. */
void tls_ticket_forget(struct tls_ticket *ticket);

/* Whom to connect to. All of it stays in place until tls_close(). */
struct tls_server {
	struct tls_context *context;
	struct endpoint endpoint;
	const char *name;          /* in its certificate; NULL: the address is (iPAddress) */
	struct tls_ticket *ticket; /* NULL: none is kept */
};

/* A connection, inside its owner. All zero is a closed one. */
struct tls {
	struct tls_stream *stream; /* NULL: closed */
	/* Later, once: the other side is verified, and may be written to. */
	void (*opened)(struct tls *tls);
	/*
	 * Later: @len bytes at @bytes came, valid during the call. Or nothing more comes, and @tls
	 * must be closed: @len is 0: the other side said goodbye; -EKEYREJECTED: it is not who it
	 * should be; -EPROTO: it does not keep to TLS; -ECONNABORTED: it went without a goodbye;
	 * or what the socket says. tls_reason() has it in words.
	 */
	void (*heard)(struct tls *tls, const uint8_t *bytes, long len);
};

/*
 * Connect @tls on @loop to @server.
 *
 * Later  @opened, then @heard; or @heard alone with why not.
 * Fails  what connecting says; -ENOMEM.
 */
int tls_open(struct loop *loop, struct tls *tls, const struct tls_server *server,
	     void (*opened)(struct tls *tls),
	     void (*heard)(struct tls *tls, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/*
 * Serve the client on @fd, a connected socket that does not block, on @loop, as @context says.
 *
 * Owns   @fd from here on, also if it fails.
 * Later  as tls_open().
 */
int tls_accept(struct loop *loop, struct tls *tls, struct tls_context *context, int fd,
	       void (*opened)(struct tls *tls),
	       void (*heard)(struct tls *tls, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/*
 * Send the @len bytes at @bytes on @tls, which was opened. They are copied.
 *
 * Fails  as loop_tcp_write(): @tls is of no use any more.
 */
int tls_write(struct tls *tls, const uint8_t *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Why @tls was last told that nothing more comes, in words; "" if it was not. Until tls_close(). */
const char *tls_reason(const struct tls *tls);

/* True if @tls began with a ticket that the server took. */
bool tls_is_resumed(const struct tls *tls);

/* Close @tls, with a goodbye if it was opened; nothing happens if it is closed. */
void tls_close(struct tls *tls);
