/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/name.h"
#include "tls/private.h"
#include <openssl/err.h>
#include <openssl/x509v3.h>

enum { PIECE_BYTES = 16384 }; /* the most that is in one record (RFC 8446, 5.1) */

/*
 * Apart from the struct tls in its owner, so that an owner may close it, and go away, from within a
 * callback: what is under way here still has something to stand on.
 */
struct tls_stream {
	struct tls *owner; /* NULL: closed */
	SSL *ssl;
	BIO *in, *out; /* the SSL's: what came, and what is to be sent */
	struct loop_tcp tcp;
	bool opened, busy;
	char reason[160];
};

static void stream_free(struct tls_stream *stream)
{
	loop_tcp_close(&stream->tcp);
	SSL_free(stream->ssl);
	free(stream);
}

/* Send what OpenSSL wants sent. */
static int flush(struct tls_stream *stream)
{
	uint8_t bytes[PIECE_BYTES];
	int n, r = 0;

	while (r == 0 && (n = BIO_read(stream->out, bytes, sizeof(bytes))) > 0)
		r = loop_tcp_write(&stream->tcp, bytes, (size_t)n);
	return r;
}

/* Tell the owner that nothing more comes. */
static void end(struct tls_stream *stream, long status)
{
	stream->owner->heard(stream->owner, NULL, status);
}

static void end_broken(struct tls_stream *stream, long status)
{
	if (status == 0)
		status = -ECONNABORTED;
	snprintf(stream->reason, sizeof(stream->reason), "%s",
		 status == -ECONNABORTED ? "it went without a goodbye" : strerror((int)-status));
	end(stream, status);
}

/* Tell the owner why OpenSSL does not go on. */
static void end_failed(struct tls_stream *stream, int error)
{
	long verified = SSL_get_verify_result(stream->ssl);
	int status = -EPROTO;

	if (error == SSL_ERROR_ZERO_RETURN) {
		snprintf(stream->reason, sizeof(stream->reason), "it said goodbye");
		end(stream, 0);
		return;
	}
	if (verified != X509_V_OK) {
		snprintf(stream->reason, sizeof(stream->reason), "its certificate: %s",
			 X509_verify_cert_error_string(verified));
		status = -EKEYREJECTED;
		ERR_clear_error();
	} else {
		tls_print_error(stream->reason, sizeof(stream->reason));
	}
	end(stream, status);
}

/* Go on with the handshake. Gives true once it is done and the owner has been told. */
static bool shake_hands(struct tls_stream *stream)
{
	ERR_clear_error();
	int n = SSL_do_handshake(stream->ssl);
	int error = SSL_get_error(stream->ssl, n);
	int r = flush(stream); /* an alert tells the other side why */

	if (n != 1 && error != SSL_ERROR_WANT_READ) {
		end_failed(stream, error);
		return false;
	}
	if (r < 0) {
		end_broken(stream, r);
		return false;
	}
	if (n != 1)
		return false;
	stream->opened = true;
	stream->owner->opened(stream->owner);
	return true;
}

/* Read all that came. */
static void read_all(struct tls_stream *stream)
{
	uint8_t bytes[PIECE_BYTES];

	while (stream->owner != NULL) {
		ERR_clear_error();
		int n = SSL_read(stream->ssl, bytes, sizeof(bytes));
		int error = SSL_get_error(stream->ssl, n);
		int r = flush(stream);

		if (n > 0) {
			stream->owner->heard(stream->owner, bytes, n);
			continue;
		}
		if (error != SSL_ERROR_WANT_READ)
			end_failed(stream, error);
		else if (r < 0)
			end_broken(stream, r);
		return;
	}
}

static void on_tcp(struct loop_tcp *tcp, const uint8_t *bytes, long len)
{
	struct tls_stream *stream = list_owner(tcp, struct tls_stream, tcp);

	stream->busy = true;
	if (len <= 0)
		end_broken(stream, len);
	else if (BIO_write(stream->in, bytes, (int)len) != len)
		end_broken(stream, -ENOMEM);
	else if (stream->opened || shake_hands(stream))
		read_all(stream);
	stream->busy = false;
	if (stream->owner == NULL)
		stream_free(stream);
}

static struct tls_stream *stream_new(struct tls *tls, const struct tls_context *context)
{
	struct tls_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->owner = tls;
	stream->ssl = SSL_new(context->ssl);
	stream->in = BIO_new(BIO_s_mem());
	stream->out = BIO_new(BIO_s_mem());
	if (stream->ssl == NULL || stream->in == NULL || stream->out == NULL) {
		BIO_free(stream->in);
		BIO_free(stream->out);
		stream_free(stream);
		return NULL;
	}
	SSL_set_bio(stream->ssl, stream->in, stream->out);
	return stream;
}

/* Say whom @stream must come out at: nothing goes on without it. */
static bool set_server(struct tls_stream *stream, const struct tls_server *server)
{
	X509_VERIFY_PARAM *wanted = SSL_get0_param(stream->ssl);
	const struct address *address = &server->endpoint.address;
	char name[NAME_TEXT_SIZE];
	size_t len;

	SSL_set_hostflags(stream->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (server->name == NULL)
		return X509_VERIFY_PARAM_set1_ip(wanted, address->bytes, address_len(address)) == 1;
	len = strlen(server->name);
	if (len > 0 && server->name[len - 1] == '.')
		len--; /* neither a certificate nor a hello has it (RFC 6066, 3) */
	if (len == 0 || len >= sizeof(name))
		return false;
	memcpy(name, server->name, len);
	name[len] = '\0';
	return SSL_set1_host(stream->ssl, name) == 1 &&
	       SSL_set_tlsext_host_name(stream->ssl, name) == 1;
}

/* Begin with what the last connection left: once, so that nobody can tell the two are of one. */
static void use_ticket(struct tls_stream *stream, struct tls_ticket *ticket)
{
	SSL_set_app_data(stream->ssl, ticket);
	if (ticket == NULL || ticket->session == NULL)
		return;
	SSL_set_session(stream->ssl, ticket->session);
	tls_ticket_forget(ticket);
}

int tls_open(struct loop *loop, struct tls *tls, const struct tls_server *server,
	     void (*opened)(struct tls *tls),
	     void (*heard)(struct tls *tls, const uint8_t *bytes, long len))
{
	const struct tls_context *context = server->context;
	struct tls_stream *stream = stream_new(tls, context);
	int r;

	if (stream == NULL)
		return -ENOMEM;
	*tls = (struct tls){ stream, opened, heard };
	SSL_set_connect_state(stream->ssl);
	if (!set_server(stream, server) ||
	    (context->protocol_len > 0 &&
	     SSL_set_alpn_protos(stream->ssl, context->protocol, context->protocol_len) != 0))
		r = -ENOMEM;
	else
		r = loop_tcp_open(loop, &stream->tcp, &server->endpoint, on_tcp);
	if (r == 0) {
		use_ticket(stream, server->ticket);
		SSL_do_handshake(stream->ssl); /* writes the hello, and waits */
		r = flush(stream);
	}
	if (r < 0)
		tls_close(tls);
	return r;
}

int tls_accept(struct loop *loop, struct tls *tls, struct tls_context *context, int fd,
	       void (*opened)(struct tls *tls),
	       void (*heard)(struct tls *tls, const uint8_t *bytes, long len))
{
	struct tls_stream *stream = stream_new(tls, context);
	int r;

	*tls = (struct tls){ stream, opened, heard };
	if (stream == NULL) {
		close(fd);
		return -ENOMEM;
	}
	SSL_set_accept_state(stream->ssl);
	r = loop_tcp_adopt(loop, &stream->tcp, fd, on_tcp);
	if (r < 0)
		tls_close(tls);
	return r;
}

int tls_write(struct tls *tls, const uint8_t *bytes, size_t len)
{
	struct tls_stream *stream = tls->stream;

	assert(stream->opened && len > 0 && len <= INT32_MAX);
	ERR_clear_error();
	if (SSL_write(stream->ssl, bytes, (int)len) != (int)len)
		return -EPROTO;
	return flush(stream);
}

const char *tls_reason(const struct tls *tls)
{
	return tls->stream->reason;
}

bool tls_is_resumed(const struct tls *tls)
{
	return SSL_session_reused(tls->stream->ssl) == 1;
}

void tls_close(struct tls *tls)
{
	struct tls_stream *stream = tls->stream;

	if (stream == NULL)
		return;
	tls->stream = NULL;
	stream->owner = NULL;
	SSL_set_app_data(stream->ssl, NULL);
	if (stream->opened && stream->tcp.open) {
		SSL_shutdown(stream->ssl);
		int r = flush(stream);

		(void)r; /* who has gone needs no goodbye */
		ERR_clear_error();
	}
	if (!stream->busy)
		stream_free(stream);
	else
		loop_tcp_close(&stream->tcp);
}
