/* SPDX-License-Identifier: MIT */
#include "policy/value_word.h"

#include <string.h>

struct policy_place value_here(const struct value *v)
{
	return (struct policy_place){ v->file, v->line };
}

/* The next word of @v; NULL behind the last. One that no message could quote is a fault. */
const char *value_next_word(struct value *v)
{
	enum { WORD_MAX = 1024 };

	while (v->piece != NULL) {
		char *word = strtok_r(v->rest, " \t", &v->rest);

		v->line = v->piece->line;
		if (word != NULL && strlen(word) <= WORD_MAX)
			return word;
		if (word != NULL) {
			load_fault(v->load, value_here(v),
				   "a word of %zu bytes is too long; items of a list are "
				   "separated by blanks",
				   strlen(word));
			continue;
		}
		v->piece = v->piece->next;
		v->rest = v->piece != NULL ? v->piece->text : NULL;
	}
	return NULL;
}

/* The only word of @v; NULL, and a fault, if there are more. */
const char *value_only_word(struct value *v)
{
	const char *word = value_next_word(v);

	if (value_next_word(v) == NULL)
		return word;
	load_fault(v->load, value_here(v), "`%s` takes one value", v->row->key);
	return NULL;
}

/* How many words @v has, at least; each is followed by a blank or an end. */
size_t value_count_words(const struct value *v)
{
	size_t n = 0;

	for (const struct read_piece *p = v->piece; p != NULL; p = p->next)
		for (const char *at = p->text; *at != '\0';) {
			at += strspn(at, " \t");
			n += *at != '\0';
			at += strcspn(at, " \t");
		}
	return n;
}

/* Make room in @list for as many items of @size bytes as @v has words. */
bool value_make_room(struct value *v, struct value_list *list, size_t size)
{
	list->items = load_keep(v->load, value_count_words(v) * size);
	list->n = 0;
	return list->items != NULL;
}

/* Drop what stands twice in @list, whose items have @size bytes, and tell of it. */
void value_drop_doubles(struct value *v, struct value_list *list, size_t size)
{
	unsigned n = 0;
	char *items = list->items;

	for (unsigned i = 0; i < list->n; i++) {
		bool twice = false;

		for (unsigned j = 0; j < n && !twice; j++)
			twice = memcmp(items + j * size, items + i * size, size) == 0;
		if (!twice)
			memmove(items + n++ * size, items + i * size, size);
	}
	if (n < list->n)
		load_warn(v->load, value_here(v), "`%s` lists the same value twice", v->row->key);
	list->n = n;
}
