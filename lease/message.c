/* SPDX-License-Identifier: MIT */
#include "lease/message.h"

#include <errno.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include "base/own.h"

void message_fail(struct messages *m, int status)
{
	if (m->status == 0)
		m->status = status;
}

/* Say what the refused message is about. */
static void name_refused(struct messages *m)
{
	char line[256] = "";

	if (m->rule == NULL) {
		err_set(m->what, m->what->code, "the %s %s", m->kind, m->name);
		return;
	}
	FILE *out = fmemopen(line, sizeof(line) - 1, "w");

	if (out != NULL) {
		rule_print(m->ruleset, m->rule, out);
		fclose(out);
	}
	err_set(m->what, m->what->code, "the rule `%s` of the chain %s", line, m->name);
}

struct nlmsghdr *message_begin(struct messages *m, uint16_t type, uint16_t flags)
{
	int r = m->status == 0 ? transaction_reserve(&m->t) : m->status;

	if (r < 0) {
		message_fail(m, r);
		return NULL;
	}
	return transaction_put(&m->t, type, NFPROTO_INET, flags);
}

void message_put(struct messages *m, const struct nlmsghdr *header)
{
	transaction_take(&m->t, header);
	if (m->refused > 0 && header->nlmsg_seq - m->t.first_seq == m->refused)
		name_refused(m);
}

bool message_made(struct messages *m, const void *object)
{
	if (object == NULL)
		message_fail(m, -ENOMEM);
	return object != NULL;
}

static void own_udata(struct nftnl_udata_buf *const *udata)
{
	if (*udata != NULL)
		nftnl_udata_buf_free(*udata);
}

/* What the kernel does not need to know of a set, but nft does to show it. */
static void set_key_order(struct messages *m, struct nftnl_set *set, uint32_t order)
{
	OWN(own_udata) struct nftnl_udata_buf *udata = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);

	if (!message_made(m, udata))
		return;
	nftnl_udata_put_u32(udata, NFTNL_UDATA_SET_KEYBYTEORDER, order);
	if (nftnl_set_set_data(set, NFTNL_SET_USERDATA, nftnl_udata_buf_data(udata),
			       nftnl_udata_buf_len(udata)) < 0)
		message_fail(m, -ENOMEM);
}

struct nftnl_set *message_set_new(struct messages *m, const char *name, uint32_t flags,
				  uint32_t type, uint32_t order, uint32_t key_bytes)
{
	struct nftnl_set *set = nftnl_set_alloc();

	if (!message_made(m, set))
		return NULL;
	nftnl_set_set_str(set, NFTNL_SET_TABLE, m->ruleset->table);
	nftnl_set_set_str(set, NFTNL_SET_NAME, name);
	nftnl_set_set_u32(set, NFTNL_SET_FAMILY, NFPROTO_INET);
	nftnl_set_set_u32(set, NFTNL_SET_ID, ++m->n_sets);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, flags);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, type);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, key_bytes);
	set_key_order(m, set, order);
	return set;
}

void message_set_put(struct messages *m, struct nftnl_set *set, uint32_t size)
{
	struct nlmsghdr *header = message_begin(m, NFT_MSG_NEWSET, NLM_F_CREATE);

	if (header == NULL)
		return;
	nftnl_set_set_u32(set, NFTNL_SET_DESC_SIZE, size);
	nftnl_set_nlmsg_build_payload(header, set);
	message_put(m, header);
}

struct nftnl_set_elem *message_element_add(struct messages *m, struct nftnl_set *set,
					   const void *key, uint32_t key_bytes)
{
	struct nftnl_set_elem *element = nftnl_set_elem_alloc();

	if (!message_made(m, element))
		return NULL;
	nftnl_set_elem_add(set, element);
	if (nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key, key_bytes) < 0)
		message_fail(m, -ENOMEM);
	return element;
}

/* They may need several messages. */
void message_elements_put(struct messages *m, const struct nftnl_set *set)
{
	struct nftnl_set_elems_iter *more = nftnl_set_elems_iter_create(set);
	int left = 1;

	if (!message_made(m, more))
		return;
	while (left > 0) {
		struct nlmsghdr *header = message_begin(m, NFT_MSG_NEWSETELEM, NLM_F_CREATE);

		if (header == NULL)
			break;
		left = nftnl_set_elems_nlmsg_build_payload_iter(header, more);
		message_put(m, header);
	}
	nftnl_set_elems_iter_destroy(more);
}
