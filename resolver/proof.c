/* SPDX-License-Identifier: MIT */
#include "resolver/proof.h"

#include <string.h>

enum { HEAD = 6 }; /* place, type, owner_len, data_len */

void proof_add(struct proof_draft *draft, const struct proof_record *record)
{
	size_t len = HEAD + (size_t)record->owner_len + record->data_len;
	uint8_t *at = draft->bytes + draft->used;

	if (draft->full || sizeof(draft->bytes) - draft->used < len) {
		draft->full = true;
		return;
	}
	at[0] = record->place;
	at[1] = (uint8_t)(record->type >> 8);
	at[2] = (uint8_t)record->type;
	at[3] = record->owner_len;
	at[4] = (uint8_t)(record->data_len >> 8);
	at[5] = (uint8_t)record->data_len;
	if (record->owner_len > 0)
		memcpy(at + HEAD, record->owner, record->owner_len);
	memcpy(at + HEAD + record->owner_len, record->data, record->data_len);
	draft->used += len;
}

bool proof_next(struct cursor *proof, struct proof_record *ret_record)
{
	if (cursor_left(proof) == 0)
		return false;
	ret_record->place = cursor_u8(proof);
	ret_record->type = cursor_u16(proof);
	ret_record->owner_len = cursor_u8(proof);
	ret_record->data_len = cursor_u16(proof);
	ret_record->owner = cursor_take(proof, ret_record->owner_len);
	ret_record->data = cursor_take(proof, ret_record->data_len);
	return !proof->broken;
}

static void add_section(struct proof_draft *draft, struct cursor from, bool authority,
			unsigned n_links)
{
	struct proof_record record;

	while (proof_next(&from, &record)) {
		if ((record.place == PROOF_AUTHORITY) != authority)
			continue;
		if (!authority)
			record.place = (uint8_t)(record.place + proof_before(n_links));
		proof_add(draft, &record);
	}
}

void proof_join(struct proof_draft *draft, struct cursor first, struct cursor second,
		unsigned n_links)
{
	add_section(draft, first, false, 0);
	add_section(draft, second, false, n_links);
	add_section(draft, first, true, 0);
	add_section(draft, second, true, 0);
}
