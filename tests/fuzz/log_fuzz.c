/* SPDX-License-Identifier: MIT */
/* Lines of a log: what is read writes again, and what is shown holds no byte but printable ones. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "audit/record.h"
#include "cli/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct audit_entry *entry)
{
	const struct record_stamp stamp = { entry->seq, entry->time_ms, entry->mono_us };
	static char line[LIMIT_AUDIT_LINE_BYTES];
	struct audit_entry again;
	size_t len;

	len = record_format(&entry->record, &stamp, entry->prev, line);
	assert(audit_entry_parse(line, len - 1, &again) == 0);
	assert(again.seq == entry->seq && again.time_ms == entry->time_ms);
	assert(again.record.n_addresses == entry->record.n_addresses);
	assert((again.record.name != NULL) == (entry->record.name != NULL));
	if (again.record.name != NULL)
		assert(name_equal(again.record.name, entry->record.name));
	audit_entry_done(&again);
}

static void check_shown(const struct audit_entry *entry)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert(out != NULL);
	cli_print_entry(out, entry);
	assert(fclose(out) == 0);
	assert(len > 0 && text[len - 1] == '\n');
	for (size_t i = 0; i + 1 < len; i++)
		assert(text[i] >= ' ' && text[i] <= '~');
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char head[CHAIN_HEAD_BYTES + 1];
	struct audit_entry entry;
	struct chain_link link;

	if (size > 0 && data[size - 1] == '\n')
		size--;
	if (audit_entry_parse((const char *)data, size, &entry) == 0) {
		check_again(&entry);
		check_shown(&entry);
		audit_entry_done(&entry);
	}
	if (chain_head_parse((const char *)data, size, &link) == 0) {
		chain_head_print(&link, head);
		assert(memcmp(head, data, size) == 0);
	}
	return 0;
}
