/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "policy/compile.h"
#include "policy/value.h"

/* Type the keys that stand in @section. */
static void type_entries(struct load *load, const struct read_section *section, struct draft *draft)
{
	const struct schema_section *schema = draft->schema;

	for (struct read_entry *e = section->entries; e != NULL; e = e->next) {
		const struct schema_key *row = schema_key_find(schema, e->key);
		unsigned *line = row != NULL ? &draft->lines[row - schema->keys] : NULL;

		if (row == NULL) {
			load_fault(load, e->place, "[%s] has no key `%s`; the nearest is `%s`",
				   schema->name, e->key, schema_key_nearest(schema, e->key));
		} else if (*line != 0) {
			load_fault(load, e->place,
				   "`%s` stands twice in this section, first in "
				   "line %u",
				   e->key, *line);
		} else if (section->included && row->type != VALUE_FILES &&
			   strcmp(schema->name, "policy") == 0) {
			load_fault(load, e->place,
				   "`%s` stands in the first file; one that is included may only "
				   "include others",
				   e->key);
		} else {
			*line = e->place.line;
			value_parse(load, row, e, draft);
		}
	}
}

/* Give the keys that do not stand in the section their defaults, and miss those it must have. */
static void type_defaults(struct load *load, struct draft *draft)
{
	for (unsigned i = 0; i < draft->schema->n_keys; i++) {
		const struct schema_key *row = &draft->schema->keys[i];

		if (draft->lines[i] != 0)
			continue;
		if (row->required)
			load_fault(load, draft->place, "[%s %s] needs `%s`", draft->schema->name,
				   draft->label, row->key);
		value_default(load, row, draft);
	}
}

/* The draft of @section, or of one that does not stand in the file @main if it is NULL. */
static void *make_draft(struct load *load, const struct schema_section *schema,
			const struct read_section *section, const char *main)
{
	struct draft *draft = load_scratch(load, schema->size);

	if (draft == NULL)
		return NULL;
	draft->schema = schema;
	draft->place = section != NULL ? section->place : (struct policy_place){ main, 0 };
	draft->label = section != NULL ? load_keep_text(load, section->label) : "";
	if (draft->label == NULL)
		return NULL;
	if (section != NULL)
		type_entries(load, section, draft);
	type_defaults(load, draft);
	return draft;
}

/* The schema of @section; NULL, and a fault, if its name or its label is not right. */
static const struct schema_section *check_section(struct load *load,
						  const struct read_section *section)
{
	static const char label_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789_.-";
	const struct schema_section *schema = schema_section_find(section->name);
	const char *label = section->label;

	if (schema == NULL)
		load_fault(load, section->place, "there is no section [%s]; the nearest is [%s]",
			   section->name, schema_section_nearest(section->name));
	else if (schema->labelled && *label == '\0')
		load_fault(load, section->place, "[%s] needs a label, as in [%s NAME]",
			   schema->name, schema->name);
	else if (!schema->labelled && *label != '\0')
		load_fault(load, section->place, "[%s] takes no label", schema->name);
	else if (label[strspn(label, label_bytes)] != '\0')
		load_fault(load, section->place,
			   "the label `%s` is not of letters, digits, `_`, `-` and `.`", label);
	else
		return schema;
	return NULL;
}

struct sortable {
	const struct read_section *section;
	size_t order;
};

static int compare_sections(const void *a, const void *b)
{
	const struct sortable *x = a, *y = b;
	int names = strcmp(x->section->name, y->section->name);
	int labels = names ? names : strcmp(x->section->label, y->section->label);

	if (labels != 0)
		return labels;
	return x->order < y->order ? -1 : 1;
}

/* Say of the second of each two sections of one name and label where the first stands. */
static void find_doubles(struct load *load, const struct read_section *first, size_t n)
{
	struct sortable *all = load_scratch(load, n * sizeof(*all));
	const struct sortable *head = all;
	size_t i = 0;

	if (all == NULL)
		return;
	for (const struct read_section *s = first; s != NULL; s = s->next, i++)
		all[i] = (struct sortable){ s, i };
	qsort(all, n, sizeof(*all), compare_sections);
	for (i = 1; i < n; i++) {
		const struct read_section *s = all[i].section;

		if (strcmp(s->name, head->section->name) != 0 ||
		    strcmp(s->label, head->section->label) != 0)
			head = &all[i];
		else if (!s->included || strcmp(s->name, "policy") != 0)
			load_fault(load, s->place, "[%s%s%s] stands twice, first in %s, line %u",
				   s->name, *s->label ? " " : "", s->label,
				   head->section->place.file, head->section->place.line);
	}
}

/* Where the draft of the section of @schema, which stands once, belongs. */
static void **single_draft(struct drafts *drafts, const struct schema_section *schema)
{
	const struct {
		const char *name;
		void **draft;
	} singles[] = {
		{ "policy", (void **)&drafts->policy },
		{ "resolver", (void **)&drafts->resolver },
		{ "nftables", (void **)&drafts->nftables },
		{ "audit", (void **)&drafts->audit },
		{ "geo", (void **)&drafts->geo },
	};

	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if (strcmp(singles[i].name, schema->name) == 0)
			return singles[i].draft;
	return NULL;
}

static void add_draft(struct load *load, const struct schema_section *schema,
		      const struct read_section *section, struct drafts *drafts)
{
	void *draft = make_draft(load, schema, section, section->place.file);
	void **single = single_draft(drafts, schema);

	if (draft == NULL)
		return;
	if (single != NULL) {
		/* The first file's, before those of an included file, which say nothing else. */
		if (*single == NULL || !section->included)
			*single = draft;
	} else if (strcmp(schema->name, "allow") == 0) {
		drafts->allows[drafts->n_allows++] = draft;
	} else if (strcmp(schema->name, "agent") == 0) {
		drafts->agents[drafts->n_agents++] = draft;
	} else {
		drafts->denies[drafts->n_denies++] = draft;
	}
}

void draft_all(struct load *load, const struct read_document *document, const char *main,
	       struct drafts *ret_drafts)
{
	static const char *const singles[] = { "policy", "resolver", "nftables", "audit", "geo" };
	struct drafts drafts = { .policy = NULL };
	size_t n = 0;

	for (const struct read_section *s = document->sections; s != NULL; s = s->next)
		n++;
	drafts.allows = load_scratch(load, n * sizeof(void *));
	drafts.denies = load_scratch(load, n * sizeof(void *));
	drafts.agents = load_scratch(load, n * sizeof(void *));
	if (drafts.allows == NULL || drafts.denies == NULL || drafts.agents == NULL)
		return;
	if (n > 1)
		find_doubles(load, document->sections, n);
	for (const struct read_section *s = document->sections; s != NULL; s = s->next) {
		const struct schema_section *schema = check_section(load, s);

		if (schema != NULL)
			add_draft(load, schema, s, &drafts);
	}
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		const struct schema_section *schema = schema_section_find(singles[i]);
		void **single = single_draft(&drafts, schema);

		if (*single == NULL)
			*single = make_draft(load, schema, NULL, main);
	}
	*ret_drafts = drafts;
}
