/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "tls/private.h"
#include <openssl/err.h>
#include <openssl/x509.h>

void tls_print_error(char *text, size_t size)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	snprintf(text, size, "%s", reason != NULL ? reason : "OpenSSL gives no reason");
	ERR_clear_error();
}

static int fail(struct err *err, const char *what, const char *path)
{
	char text[128];

	tls_print_error(text, sizeof(text));
	return err_set(err, -EINVAL, "%s %s: %s", what, path, text);
}

/* What holds for either side. */
static SSL_CTX *new_ssl(bool server)
{
	SSL_CTX *ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

	if (ssl == NULL)
		return NULL;
	SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
	return ssl;
}

static struct tls_context *new_context(bool server, const char *protocol)
{
	struct tls_context *context = calloc(1, sizeof(*context));
	size_t len = protocol != NULL ? strlen(protocol) : 0;

	if (context == NULL)
		return NULL;
	context->server = server;
	context->ssl = new_ssl(server);
	if (context->ssl == NULL || len >= sizeof(context->protocol)) {
		tls_context_free(context);
		return NULL;
	}
	if (len > 0) {
		context->protocol[0] = (uint8_t)len;
		for (size_t i = 0; i < len; i++)
			context->protocol[1 + i] = (uint8_t)protocol[i];
		context->protocol_len = (unsigned)len + 1;
	}
	return context;
}

void tls_context_free(struct tls_context *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->ssl);
	free(context);
}

/*
 * Whom a client trusts.
 */

static int count_authorities(X509_STORE *store)
{
	return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

/* True if @name is one of those that openssl-rehash(1) gives: a hash and a number. */
static bool is_hashed(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n == 8 && name[n] == '.' && name[n + 1] != '\0' &&
	       name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0';
}

/* Read all that OpenSSL would look for in the folder @path when it needs it. */
static void load_folder(X509_STORE *store, const char *path)
{
	char file[PATH_MAX];
	const struct dirent *entry;
	DIR *folder = opendir(path);

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) /* NOLINT(concurrency-mt-unsafe) */
		if (is_hashed(entry->d_name) &&
		    snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) < (int)sizeof(file))
			X509_STORE_load_file(store, file);
	closedir(folder);
	ERR_clear_error(); /* one that cannot be read is one that is not trusted */
}

static const char *path_of(const char *variable, const char *otherwise)
{
	const char *path = secure_getenv(variable);

	return path != NULL ? path : otherwise;
}

static int load_system(X509_STORE *store, struct err *err)
{
	const char *file = path_of(X509_get_default_cert_file_env(), X509_get_default_cert_file());
	const char *folder = path_of(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());

	X509_STORE_load_file(store, file);
	load_folder(store, folder);
	if (count_authorities(store) == 0)
		return err_set(
			err, -ENOENT,
			"this system has no certificate authorities, neither in %s nor in %s: "
			"install its package of them (ca-certificates)",
			file, folder);
	return 0;
}

/* Keep the session for the next connection to the same server. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls_ticket *ticket = SSL_get_app_data(ssl);

	if (ticket == NULL)
		return 0;
	SSL_SESSION_free(ticket->session);
	ticket->session = session;
	return 1;
}

void tls_ticket_forget(struct tls_ticket *ticket)
{
	SSL_SESSION_free(ticket->session);
	ticket->session = NULL;
}

int tls_client_context_new(const char *ca_file, const char *protocol,
			   struct tls_context **ret_context, struct err *err)
{
	struct tls_context *context = new_context(false, protocol);
	X509_STORE *store;
	int r = 0;

	if (context == NULL)
		return err_set(err, -ENOMEM, "no memory for TLS");
	store = SSL_CTX_get_cert_store(context->ssl);
	if (ca_file == NULL)
		r = load_system(store, err);
	else if (X509_STORE_load_file(store, ca_file) != 1 || count_authorities(store) == 0)
		r = fail(err, "there are no certificates to be read in", ca_file);
	if (r < 0) {
		tls_context_free(context);
		return r;
	}
	SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(context->ssl,
				       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context->ssl, on_session);
	*ret_context = context;
	return 0;
}

/*
 * Who a server is.
 */

/* A client that speaks something else is refused (RFC 7301, 3.2); one that does not say is not. */
static int choose_protocol(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *in,
			   unsigned in_len, void *arg)
{
	const struct tls_context *context = arg;

	(void)ssl;
	for (unsigned i = 0; i < in_len; i += 1u + in[i])
		if (i + context->protocol_len <= in_len &&
		    memcmp(in + i, context->protocol, context->protocol_len) == 0) {
			*out = in + i + 1;
			*out_len = in[i];
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_server_context_new(const char *cert_file, const char *key_file, const char *protocol,
			   struct tls_context **ret_context, struct err *err)
{
	struct tls_context *context = new_context(true, protocol);
	int r = 0;

	if (context == NULL)
		return err_set(err, -ENOMEM, "no memory for TLS");
	if (SSL_CTX_use_certificate_chain_file(context->ssl, cert_file) != 1)
		r = fail(err, "the certificate cannot be read from", cert_file);
	else if (SSL_CTX_use_PrivateKey_file(context->ssl, key_file, SSL_FILETYPE_PEM) != 1)
		r = fail(err, "the key cannot be read, or is another certificate's, in", key_file);
	if (r < 0) {
		tls_context_free(context);
		return r;
	}
	if (context->protocol_len > 0)
		SSL_CTX_set_alpn_select_cb(context->ssl, choose_protocol, context);
	*ret_context = context;
	return 0;
}
