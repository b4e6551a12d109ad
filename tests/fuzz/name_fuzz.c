/* SPDX-License-Identifier: MIT */
/* Names: whatever is read prints, parses again, and is the same. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct name *name)
{
	char text[NAME_TEXT_SIZE];
	struct name again;

	name_print(name, text);
	assert(strlen(text) < sizeof(text));
	assert(name_parse(text, &again) == 0);
	assert(name_equal(name, &again) && name->labels == again.labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	char text[2048];
	struct name name;

	if (name_read(&c, &name) == 0)
		check_round_trip(&name);
	if (size < sizeof(text)) {
		memcpy(text, data, size);
		text[size] = '\0';
		if (name_parse(text, &name) == 0)
			check_round_trip(&name);
	}
	return 0;
}
