/* SPDX-License-Identifier: MIT */
/* tls/ with itself, over a socket on a real loop: who is verified, and who is not. */
#include "tls/tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/unit/test.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { TOO_LONG_MS = 10000, LARGE = 200000 };

static struct {
	char folder[64], ca[96], cert[96], key[96], old[96];
	EVP_PKEY *pkey; /* of all: who signs and for whom is told by the names */
} files;

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);

	assert_non_null(extension);
	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
}

/* Write a certificate to @path: of a server with @names, or of the authority if that is NULL. */
static void make_cert(const char *path, const char *names, long until_s)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_NAME_new(), *issuer = X509_NAME_new();
	FILE *file = fopen(path, "we");

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), random());
	X509_gmtime_adj(X509_getm_notBefore(cert), -7200);
	X509_gmtime_adj(X509_getm_notAfter(cert), until_s);
	X509_NAME_add_entry_by_txt(issuer, "CN", MBSTRING_ASC, (const uint8_t *)"test CA", -1, -1,
				   0);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				   (const uint8_t *)(names != NULL ? "server" : "test CA"), -1, -1,
				   0);
	X509_set_subject_name(cert, name);
	X509_set_issuer_name(cert, issuer);
	X509_set_pubkey(cert, files.pkey);
	if (names != NULL)
		add_extension(cert, cert, NID_subject_alt_name, names);
	else
		add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(cert, files.pkey, EVP_sha256()) > 0);
	assert_non_null(file);
	PEM_write_X509(file, cert);
	fclose(file);
	X509_free(cert);
	X509_NAME_free(name);
	X509_NAME_free(issuer);
}

static int make_files(void **state)
{
	(void)state;
	snprintf(files.folder, sizeof(files.folder), "/tmp/tls_test.XXXXXX");
	if (mkdtemp(files.folder) == NULL)
		return -1;
	snprintf(files.ca, sizeof(files.ca), "%s/ca", files.folder);
	snprintf(files.cert, sizeof(files.cert), "%s/cert", files.folder);
	snprintf(files.old, sizeof(files.old), "%s/old", files.folder);
	snprintf(files.key, sizeof(files.key), "%s/key", files.folder);
	files.pkey = EVP_EC_gen("P-256");
	FILE *file = fopen(files.key, "we");

	PEM_write_PrivateKey(file, files.pkey, NULL, NULL, 0, NULL, NULL);
	fclose(file);
	make_cert(files.ca, NULL, 3600);
	make_cert(files.cert, "DNS:dot.example.net,IP:127.0.0.1", 3600);
	make_cert(files.old, "DNS:dot.example.net", -3600);
	return 0;
}

static int drop_files(void **state)
{
	(void)state;
	unlink(files.ca);
	unlink(files.cert);
	unlink(files.old);
	unlink(files.key);
	EVP_PKEY_free(files.pkey);
	return rmdir(files.folder);
}

/* A client and a server on one loop. */
struct bench {
	struct loop *loop;
	struct loop_timer alarm;
	struct loop_watch watch;
	int listener;
	struct tls_context *theirs, *ours;
	struct tls_server whom;
	struct tls_ticket ticket;
	struct tls client, server;
	bool opened, resumed;
	size_t heard; /* by the client */
	long ended;   /* what the client was told at the end; 1: nothing */
	char reason[160];
};

static void ring(struct loop_timer *timer)
{
	loop_stop(timer->loop);
	fail_msg("nothing came within %d ms", TOO_LONG_MS);
}

static void server_opened(struct tls *tls)
{
	(void)tls;
}

/* The server sends back what it hears, and closes once it was asked to. */
static void server_heard(struct tls *tls, const uint8_t *bytes, long len)
{
	bool bye = len > 0 && bytes[len - 1] == '!';

	if (len > 0)
		assert_int_equal(tls_write(tls, bytes, (size_t)len), 0);
	if (len <= 0 || bye)
		tls_close(tls);
}

static void on_accept(struct loop_watch *watch, unsigned events)
{
	struct bench *b = list_owner(watch, struct bench, watch);
	int fd = accept4(b->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	assert_true(fd >= 0);
	tls_close(&b->server);
	assert_int_equal(
		tls_accept(b->loop, &b->server, b->theirs, fd, server_opened, server_heard), 0);
}

static void client_opened(struct tls *tls)
{
	static uint8_t bytes[LARGE];
	struct bench *b = list_owner(tls, struct bench, client);

	b->opened = true;
	b->resumed = tls_is_resumed(tls);
	bytes[LARGE - 1] = '!';
	assert_int_equal(tls_write(tls, bytes, sizeof(bytes)), 0);
}

static void client_heard(struct tls *tls, const uint8_t *bytes, long len)
{
	struct bench *b = list_owner(tls, struct bench, client);

	(void)bytes;
	if (len > 0) {
		b->heard += (size_t)len;
		return;
	}
	b->ended = len;
	snprintf(b->reason, sizeof(b->reason), "%s", tls_reason(tls));
	tls_close(tls);
	loop_stop(b->loop);
}

static void start(struct bench *b, const char *cert, const char *protocol)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound = { .ss_family = 0 };
	socklen_t len = sizeof(bound);
	struct err err;

	*b = (struct bench){ .ended = 1 };
	assert_int_equal(loop_new(&b->loop), 0);
	loop_timer_start(b->loop, &b->alarm, TOO_LONG_MS, ring);
	b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b->listener, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(b->listener, 4), 0);
	assert_int_equal(getsockname(b->listener, (struct sockaddr *)&bound, &len), 0);
	assert_int_equal(loop_watch_start(b->loop, &b->watch, b->listener, LOOP_READ, on_accept),
			 0);
	assert_int_equal(tls_server_context_new(cert, files.key, protocol, &b->theirs, &err), 0);
	assert_int_equal(tls_client_context_new(files.ca, "dot", &b->ours, &err), 0);
	b->whom = (struct tls_server){ b->ours, endpoint_from_sockaddr(&bound), "dot.example.net",
				       &b->ticket };
}

static void connect_once(struct bench *b)
{
	b->opened = false;
	b->heard = 0;
	b->ended = 1;
	assert_int_equal(tls_open(b->loop, &b->client, &b->whom, client_opened, client_heard), 0);
	assert_false(b->opened);
	loop_run(b->loop);
}

static void stop(struct bench *b)
{
	tls_close(&b->client);
	tls_close(&b->server);
	tls_ticket_forget(&b->ticket);
	tls_context_free(b->ours);
	tls_context_free(b->theirs);
	loop_watch_stop(&b->watch);
	loop_timer_stop(&b->alarm);
	close(b->listener);
	loop_free(b->loop);
}

static void a_verified_server_is_talked_to_and_resumed(void **state)
{
	struct bench b;

	(void)state;
	start(&b, files.cert, "dot");
	for (unsigned i = 0; i < 3; i++) {
		connect_once(&b);
		assert_true(b.opened);
		assert_int_equal(b.heard, LARGE);
		assert_int_equal(b.ended, 0);
		assert_int_equal(b.resumed, i > 0);
	}
	/* Without a name, its address is verified. */
	b.whom.name = NULL;
	b.whom.ticket = NULL;
	connect_once(&b);
	assert_int_equal(b.heard, LARGE);
	stop(&b);
}

static void expect_untrusted(struct bench *b, const char *reason)
{
	connect_once(b);
	assert_false(b->opened);
	assert_int_equal(b->heard, 0);
	assert_int_equal(b->ended, -EKEYREJECTED);
	if (strstr(b->reason, reason) == NULL)
		fail_msg("%s", b->reason);
	stop(b);
}

static void another_name_is_not_trusted(void **state)
{
	struct bench b;

	(void)state;
	start(&b, files.cert, "dot");
	b.whom.name = "other.example.net";
	expect_untrusted(&b, "ostname mismatch");
	start(&b, files.old, "dot");
	b.whom.name = NULL;
	expect_untrusted(&b, ""); /* expired, or no such address: either will do */
}

static void an_expired_certificate_is_not_trusted(void **state)
{
	struct bench b;

	(void)state;
	start(&b, files.old, "dot");
	expect_untrusted(&b, "expired");
}

static void another_authority_is_not_trusted(void **state)
{
	struct bench b;
	struct err err;
	int r;

	(void)state;
	start(&b, files.cert, "dot");
	tls_context_free(b.ours);
	r = tls_client_context_new(NULL, "dot", &b.ours, &err);
	if (r == -ENOENT) { /* a system that trusts nobody */
		b.ours = NULL;
		stop(&b);
		skip();
	}
	assert_int_equal(r, 0);
	b.whom.context = b.ours;
	expect_untrusted(&b, "certificate");
}

static void another_protocol_is_refused(void **state)
{
	struct bench b;

	(void)state;
	start(&b, files.cert, "h2");
	connect_once(&b);
	assert_false(b.opened);
	assert_int_equal(b.ended, -EPROTO);
	assert_string_not_equal(b.reason, "");
	stop(&b);
}

static void what_cannot_be_read_is_told(void **state)
{
	struct tls_context *context;
	struct err err;

	(void)state;
	assert_int_equal(tls_client_context_new("/nowhere", "dot", &context, &err), -EINVAL);
	assert_non_null(strstr(err.text, "/nowhere"));
	assert_int_equal(tls_client_context_new(files.key, "dot", &context, &err), -EINVAL);
	assert_int_equal(tls_server_context_new(files.cert, files.cert, NULL, &context, &err),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verified_server_is_talked_to_and_resumed),
		cmocka_unit_test(another_name_is_not_trusted),
		cmocka_unit_test(an_expired_certificate_is_not_trusted),
		cmocka_unit_test(another_authority_is_not_trusted),
		cmocka_unit_test(another_protocol_is_refused),
		cmocka_unit_test(what_cannot_be_read_is_told),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
