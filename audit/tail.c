/* SPDX-License-Identifier: MIT */
#include "audit/tail.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include "audit/audit.h"
#include "base/limits.h"
#include "base/own.h"

/* Room for the last line and one before it, both at their longest. */
enum { TAIL_BYTES = 2 * LIMIT_AUDIT_LINE_BYTES };

static int read_end(int fd, char *bytes, size_t *ret_len)
{
	struct stat st;
	size_t len = 0;
	off_t start;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	start = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	do {
		n = pread(fd, bytes + len, TAIL_BYTES - len, start + (off_t)len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0 && len < TAIL_BYTES);
	*ret_len = len;
	return 0;
}

/* Where the line begins whose text ends before @end. */
static size_t line_start(const char *bytes, size_t end)
{
	const char *newline = end > 0 ? memrchr(bytes, '\n', end) : NULL;

	return newline != NULL ? (size_t)(newline - bytes) + 1 : 0;
}

bool tail_link(struct chain_hasher *hasher, const char *text, size_t len,
	       struct chain_link *ret_link)
{
	OWN(audit_entry_done) struct audit_entry entry = { .seq = 0 };

	if (audit_entry_parse(text, len, &entry) < 0)
		return false;
	ret_link->seq = entry.seq;
	if (strcmp(entry.record.action, "continue") == 0)
		memcpy(ret_link->hash, entry.prev, sizeof(entry.prev));
	else
		chain_hash(hasher, text, len, ret_link->hash);
	return true;
}

int tail_read(int fd, struct chain_hasher *hasher, enum tail_state *ret_state,
	      struct chain_link *ret_link)
{
	OWN(own_free) char *bytes = malloc(TAIL_BYTES);
	struct chain_link last = chain_start(), before;
	size_t len = 0, end, start;
	bool torn;
	int r;

	if (bytes == NULL)
		return -ENOMEM;
	r = read_end(fd, bytes, &len);
	if (r < 0)
		return r;
	if (len == 0) {
		*ret_state = TAIL_EMPTY;
		*ret_link = last;
		return 0;
	}
	torn = bytes[len - 1] != '\n';
	end = torn ? len : len - 1;
	start = line_start(bytes, end);
	if (!torn && tail_link(hasher, bytes + start, end - start, &last)) {
		*ret_state = TAIL_RECORD;
		*ret_link = last;
		return 0;
	}
	chain_hash(hasher, bytes + start, end - start, last.hash);
	while (last.seq == 0 && start > 0) {
		end = start - 1;
		start = line_start(bytes, end);
		if (tail_link(hasher, bytes + start, end - start, &before))
			last.seq = before.seq;
	}
	*ret_state = torn ? TAIL_TORN : TAIL_FOREIGN;
	*ret_link = last;
	return 0;
}
