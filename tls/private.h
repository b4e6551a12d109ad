/* SPDX-License-Identifier: MIT */
#pragma once

#include <openssl/ssl.h>
#include "tls/tls.h"

/* What context.c makes and stream.c uses. */
struct tls_context {
	SSL_CTX *ssl;
	bool server;
	uint8_t protocol[32]; /* in ALPN's form: behind its length; empty: none */
	unsigned protocol_len;
};

/* Put OpenSSL's newest error into words, at most @size bytes of them in @text. */
void tls_print_error(char *text, size_t size);
