/* SPDX-License-Identifier: MIT */
#include "cli/print.h"

#include <inttypes.h>
#include <stdint.h>

/* Print @byte on @out; give how many columns it takes. */
static size_t print_byte(FILE *out, uint8_t byte)
{
	if (byte < ' ' || byte > '~') {
		fprintf(out, "\\x%02x", byte);
		return 4;
	}
	putc(byte, out);
	return 1;
}

void cli_print_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		print_byte(out, (uint8_t)*text);
}

/*
 * Print @text, which was read from a line, in a column of @width, after a blank; "-" for NULL. A
 * byte over 0x7e stands in the line as a character of Latin-1, and is shown as that byte again.
 */
static void print_column(FILE *out, const char *text, size_t width)
{
	size_t printed = 0;

	putc(' ', out);
	if (text == NULL)
		text = "-";
	while (*text != '\0') {
		uint8_t lead = (uint8_t)text[0], next = (uint8_t)text[1];

		if ((lead == 0xc2 || lead == 0xc3) && next >= 0x80 && next <= 0xbf) {
			printed += print_byte(out, (uint8_t)(lead << 6 | (next & 0x3f)));
			text += 2;
		} else {
			printed += print_byte(out, lead);
			text++;
		}
	}
	for (; printed < width; printed++)
		putc(' ', out);
}

static void print_origin(FILE *out, const struct origin *origin)
{
	if (origin->country[0] == '\0' && origin->asn == 0)
		return;
	fputs(" (", out);
	cli_print_text(out, origin->country);
	if (origin->asn != 0)
		fprintf(out, "%sAS%u", origin->country[0] != '\0' ? " " : "", origin->asn);
	putc(')', out);
}

static void print_addresses(FILE *out, const struct audit_record *record)
{
	char text[ADDRESS_TEXT_SIZE];

	for (unsigned i = 0; i < record->n_addresses; i++) {
		address_print(&record->addresses[i], text);
		fprintf(out, "%s%s", i > 0 ? ", " : " -> ", text);
		if (record->origins != NULL)
			print_origin(out, &record->origins[i]);
	}
}

void cli_print_entry(FILE *out, const struct audit_entry *entry)
{
	const struct audit_record *record = &entry->record;
	char time_text[AUDIT_TIME_SIZE], agent[ADDRESS_TEXT_SIZE], name[NAME_TEXT_SIZE];

	audit_time_print(entry->time_ms, time_text);
	fprintf(out, "%s #%-7" PRIu64, time_text, entry->seq);
	if (record->agent != NULL)
		address_print(record->agent, agent);
	if (record->name != NULL)
		name_print(record->name, name);
	print_column(out, record->verdict, 5);
	print_column(out, record->action, 6);
	print_column(out, record->agent != NULL ? agent : NULL, 15);
	print_column(out, record->type, 5);
	print_column(out, record->name != NULL ? name : NULL, 32);
	print_column(out, record->reason, 0);
	if (record->grant != NULL) {
		fputs(" by", out);
		print_column(out, record->grant, 0);
	}
	if (record->who != NULL) {
		fputs(" as", out);
		print_column(out, record->who, 0);
	}
	if (record->rcode != NULL)
		print_column(out, record->rcode, 0);
	print_addresses(out, record);
	if (record->timed)
		fprintf(out, " %" PRIu64 ".%03" PRIu64 " ms", record->duration_us / 1000,
			record->duration_us % 1000);
	if (record->detail != NULL) {
		putc(':', out);
		print_column(out, record->detail, 0);
	}
	putc('\n', out);
}
