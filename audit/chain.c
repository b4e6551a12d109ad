/* SPDX-License-Identifier: MIT */
#include "audit/chain.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"

enum { HASH_BYTES = 32, SEQ_DIGITS = 20 };
static_assert(CHAIN_HASH_SIZE == 2 * HASH_BYTES + 1, "a hash is written with two digits a byte");
static_assert(CHAIN_HEAD_BYTES == SEQ_DIGITS + 1 + 2 * HASH_BYTES + 1, "see chain_head_print()");

struct chain_hasher {
	EVP_MD *sha256; /* looked up once: that takes longer than to hash a line */
	EVP_MD_CTX *context;
};

struct chain_link chain_start(void)
{
	struct chain_link link = { .seq = 0 };

	memset(link.hash, '0', sizeof(link.hash) - 1);
	return link;
}

struct chain_hasher *chain_hasher_new(void)
{
	struct chain_hasher *hasher = calloc(1, sizeof(*hasher));

	if (hasher == NULL)
		return NULL;
	hasher->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	hasher->context = EVP_MD_CTX_new();
	if (hasher->sha256 != NULL && hasher->context != NULL &&
	    EVP_DigestInit_ex2(hasher->context, hasher->sha256, NULL) == 1)
		return hasher;
	chain_hasher_free(hasher);
	return NULL;
}

void chain_hasher_free(struct chain_hasher *hasher)
{
	if (hasher == NULL)
		return;
	EVP_MD_CTX_free(hasher->context);
	EVP_MD_free(hasher->sha256);
	free(hasher);
}

void chain_hash(struct chain_hasher *hasher, const char *line, size_t len,
		char ret_hash[CHAIN_HASH_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t hash[HASH_BYTES];
	bool hashed;

	hashed = EVP_DigestInit_ex2(hasher->context, hasher->sha256, NULL) == 1 &&
		 EVP_DigestUpdate(hasher->context, line, len) == 1 &&
		 EVP_DigestFinal_ex(hasher->context, hash, NULL) == 1;
	assert(hashed); /* a context that was set up once needs no memory */
	for (size_t i = 0; i < HASH_BYTES; i++) {
		ret_hash[i * 2] = digits[hash[i] >> 4];
		ret_hash[i * 2 + 1] = digits[hash[i] & 15];
	}
	ret_hash[CHAIN_HASH_SIZE - 1] = '\0';
}

void chain_head_print(const struct chain_link *link, char text[CHAIN_HEAD_BYTES + 1])
{
	int len =
		snprintf(text, CHAIN_HEAD_BYTES + 1, "%020" PRIu64 " %s\n", link->seq, link->hash);

	assert(len == CHAIN_HEAD_BYTES);
}

bool chain_is_hash(const char *text)
{
	return strspn(text, "0123456789abcdef") == CHAIN_HASH_SIZE - 1 &&
	       text[CHAIN_HASH_SIZE - 1] == '\0';
}

int chain_head_parse(const char *text, size_t len, struct chain_link *ret_link)
{
	char copy[CHAIN_HEAD_BYTES + 1], again[CHAIN_HEAD_BYTES + 1];
	struct chain_link link;

	if (len != CHAIN_HEAD_BYTES)
		return -EBADMSG;
	memcpy(copy, text, CHAIN_HEAD_BYTES);
	copy[CHAIN_HEAD_BYTES - 1] = '\0';
	memcpy(link.hash, copy + SEQ_DIGITS + 1, sizeof(link.hash));
	if (!chain_is_hash(link.hash))
		return -EBADMSG;
	errno = 0;
	link.seq = strtoull(copy, NULL, 10);
	if (errno != 0)
		return -EBADMSG;
	chain_head_print(&link, again);
	if (memcmp(again, text, CHAIN_HEAD_BYTES) != 0)
		return -EBADMSG;
	*ret_link = link;
	return 0;
}
