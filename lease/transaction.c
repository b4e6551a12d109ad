/* SPDX-License-Identifier: MIT */
#include "lease/transaction.h"

#include <assert.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <limits.h>
#include <linux/netfilter/nf_tables.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/own.h"

enum {
	WANTED_BUFFER_BYTES = 4 << 20, /* of sockets, and of what is sent at once */
	/* A message, and an attribute of it that is as long as its length can say. */
	MESSAGE_BYTES = 2 << 16,
	LEAST_BUFFER_BYTES = 16384,
	REPLY_BYTES = 16384,
	/* What one error takes at most of the receive buffer, as the kernel accounts it. */
	ERROR_BYTES = 1536,
	/* The same of one element, which may take three messages. */
	ELEMENT_ERROR_BYTES = 3 * ERROR_BYTES,
};

/* Make a buffer of @fd @bytes large, or as large as we may. Gives how large it is, or 0. */
static size_t set_buffer(int fd, int force, int plain, int bytes)
{
	socklen_t len = sizeof(bytes);

	/* To force is refused in a user namespace; then what the system allows must do. */
	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes)) < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, plain, &bytes, &len) < 0)
		return 0;
	return (size_t)bytes / 2; /* socket(7): it gives twice what was set */
}

int channel_open(struct channel *channel)
{
	int one = 1;

	channel->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (channel->socket == NULL || mnl_socket_bind(channel->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	/* An error then comes without the message that it is about, and many more fit. */
	if (mnl_socket_setsockopt(channel->socket, NETLINK_CAP_ACK, &one, sizeof(one)) < 0)
		return -errno;

	int fd = mnl_socket_get_fd(channel->socket);
	size_t sends = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, WANTED_BUFFER_BYTES);
	size_t receives = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, WANTED_BUFFER_BYTES);

	if (sends < LEAST_BUFFER_BYTES || receives < LEAST_BUFFER_BYTES)
		return -ENOBUFS;
	channel->batch_bytes = sends;
	channel->batch_max = receives / ELEMENT_ERROR_BYTES;
	channel->buffer_bytes = channel->batch_bytes;
	channel->buffer = malloc(channel->buffer_bytes);
	return channel->buffer != NULL ? 0 : -ENOMEM;
}

void channel_done(struct channel *channel)
{
	if (channel->socket != NULL)
		mnl_socket_close(channel->socket);
	free(channel->buffer);
	*channel = (struct channel){ .socket = NULL };
}

static int send_bytes(const struct channel *channel, const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = mnl_socket_sendto(channel->socket, bytes, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int channel_ask(struct channel *channel, const struct nlmsghdr *header, mnl_cb_t read, void *arg)
{
	uint8_t bytes[REPLY_BYTES] __attribute__((aligned(8)));
	unsigned port = mnl_socket_get_portid(channel->socket);
	int r = send_bytes(channel, header, header->nlmsg_len);

	while (r == 0) {
		ssize_t n = recv(mnl_socket_get_fd(channel->socket), bytes, sizeof(bytes),
				 MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (mnl_cb_run(bytes, (size_t)n, header->nlmsg_seq, port, read, arg) < 0)
			r = -errno;
	}
	return r;
}

/*
 * Transactions.
 */

static void *next_place(const struct transaction *t)
{
	return t->channel->buffer + t->used;
}

void transaction_take(struct transaction *t, const struct nlmsghdr *header)
{
	t->last = t->used;
	t->used += NLMSG_ALIGN(header->nlmsg_len);
	assert(t->used <= t->channel->buffer_bytes);
}

int transaction_reserve(struct transaction *t)
{
	struct channel *channel = t->channel;
	size_t wanted = t->used + 2 * (size_t)MESSAGE_BYTES; /* it, and the end */
	uint8_t *buffer;

	if (wanted <= channel->buffer_bytes)
		return 0;
	wanted *= 2;
	buffer = realloc(channel->buffer, wanted);
	if (buffer == NULL)
		return -ENOMEM;
	channel->buffer = buffer;
	channel->buffer_bytes = wanted;
	return 0;
}

struct transaction transaction_begin(struct channel *channel)
{
	struct transaction t = { .channel = channel, .first_seq = channel->seq };

	transaction_take(&t, nftnl_batch_begin(next_place(&t), channel->seq++));
	return t;
}

struct nlmsghdr *transaction_put(struct transaction *t, uint16_t type, uint16_t family,
				 uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(next_place(t), type, family, flags, t->channel->seq++);
}

/* Read all that lies in the queue. Gives 1 if one of the answers was to the message @last. */
static int read_answers(const struct transaction *t, uint32_t last, transaction_error_fn *tell,
			void *arg)
{
	uint8_t bytes[REPLY_BYTES] __attribute__((aligned(8)));
	int fd = mnl_socket_get_fd(t->channel->socket);
	int acknowledged = 0, lost = 0;

	for (;;) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)bytes;
		int left = (int)n;

		if (n < 0 && errno == EAGAIN)
			return lost < 0 ? lost : acknowledged;
		if (n < 0 && errno != ENOBUFS && errno != EINTR)
			return -errno;
		if (n < 0 && errno == ENOBUFS)
			lost = -ENOBUFS;
		for (; n > 0 && mnl_nlmsg_ok(header, left);
		     header = mnl_nlmsg_next(header, &left)) {
			if (header->nlmsg_type != NLMSG_ERROR)
				continue;
			const struct nlmsgerr *error = mnl_nlmsg_get_payload(header);

			if (header->nlmsg_seq == last)
				acknowledged = 1;
			if (error->error != 0)
				tell(arg, header->nlmsg_seq - t->first_seq, error->error);
		}
	}
}

int transaction_commit(struct transaction *t, transaction_error_fn *tell, void *arg)
{
	struct channel *channel = t->channel;
	struct nlmsghdr *last = (struct nlmsghdr *)(void *)(channel->buffer + t->last);
	uint32_t last_seq = last->nlmsg_seq;
	int r;

	last->nlmsg_flags |= NLM_F_ACK;
	transaction_take(t, nftnl_batch_end(next_place(t), channel->seq++));
	/* If it may not get as large as that, sendmsg() will say so. */
	if (t->used > channel->batch_bytes && t->used < INT_MAX)
		set_buffer(mnl_socket_get_fd(channel->socket), SO_SNDBUFFORCE, SO_SNDBUF,
			   (int)t->used);
	r = send_bytes(channel, channel->buffer, t->used);

	if (r == 0)
		r = read_answers(t, last_seq, tell, arg);
	if (r == 0)
		return -EIO;
	return r > 0 ? 0 : r;
}

static void keep_first_error(void *arg, uint32_t i, int error)
{
	int *first = (int *)arg;

	(void)i;
	if (*first == 0)
		*first = error;
}

int transaction_commit_whole(struct transaction *t)
{
	int error = 0;
	int r = transaction_commit(t, keep_first_error, &error);

	return error < 0 ? error : r;
}

/*
 * Elements.
 */

static void own_set(struct nftnl_set **set)
{
	if (*set != NULL)
		nftnl_set_free(*set);
}

static int put_comment(struct nftnl_set_elem *to, const char *comment)
{
	struct nftnl_udata_buf *udata = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);

	if (udata == NULL)
		return -ENOMEM;
	nftnl_udata_put_strz(udata, NFTNL_UDATA_SET_ELEM_COMMENT, comment);

	int r = nftnl_set_elem_set(to, NFTNL_SET_ELEM_USERDATA, nftnl_udata_buf_data(udata),
				   nftnl_udata_buf_len(udata));

	nftnl_udata_buf_free(udata);
	return r < 0 ? -ENOMEM : 0;
}

/* @element as libnftnl takes it: the one element of a set. */
static struct nftnl_set *build_element(const struct transaction_element *element)
{
	OWN(own_set) struct nftnl_set *set = nftnl_set_alloc();
	struct nftnl_set_elem *only = nftnl_set_elem_alloc();

	if (set == NULL || only == NULL) {
		if (only != NULL)
			nftnl_set_elem_free(only);
		return NULL;
	}
	nftnl_set_elem_add(set, only);
	if (nftnl_set_set_str(set, NFTNL_SET_TABLE, element->table) < 0 ||
	    nftnl_set_set_str(set, NFTNL_SET_NAME, element->set) < 0 ||
	    nftnl_set_elem_set(only, NFTNL_SET_ELEM_KEY, element->key, element->key_len) < 0)
		return NULL;
	if (element->timeout_ms > 0) {
		uint64_t expires_ms =
			element->expires_ms > 0 ? element->expires_ms : element->timeout_ms;

		nftnl_set_elem_set_u64(only, NFTNL_SET_ELEM_TIMEOUT, element->timeout_ms);
		nftnl_set_elem_set_u64(only, NFTNL_SET_ELEM_EXPIRATION, expires_ms);
	}
	if (element->comment != NULL && put_comment(only, element->comment) < 0)
		return NULL;
	return steal_ptr(set);
}

int transaction_put_element(struct transaction *t, uint16_t type,
			    const struct transaction_element *element, uint16_t flags)
{
	OWN(own_set) struct nftnl_set *set = build_element(element);
	struct nlmsghdr *header;

	if (set == NULL)
		return -ENOMEM;
	header = transaction_put(t, type, element->family, flags);
	nftnl_set_elems_nlmsg_build_payload(header, set);
	transaction_take(t, header);
	return 0;
}
