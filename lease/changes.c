/* SPDX-License-Identifier: MIT */
#include "lease/changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <linux/filter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/own.h"
#include "lease/attr.h"

enum {
	EVENT_BYTES = 65536, /* more than nf_tables puts into one message */
	WANTED_BUFFER_BYTES = 8 << 20,
	/* In each of nf_tables' messages the first two attributes are these. */
	ATTR_TABLE = NFTA_SET_ELEM_LIST_TABLE,
	ATTR_SET = NFTA_SET_ELEM_LIST_SET,
};

/*
 * Let nothing through that came by the socket with number @port: those are our own writes, and
 * the loop need not wake up for them. All messages in one datagram have the same origin.
 */
static int ignore_port(int fd, uint32_t port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct nlmsghdr, nlmsg_pid)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0)
		return -errno;
	return 0;
}

int changes_open(const struct channel *channel)
{
	OWN(own_close)
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
	const struct sockaddr_nl anywhere = { .nl_family = AF_NETLINK };
	int group = NFNLGRP_NFTABLES, bytes = WANTED_BUFFER_BYTES;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0)
		return -errno;

	int r = ignore_port(fd, mnl_socket_get_portid(channel->socket));

	if (r < 0)
		return r;
	/* Without a port of its own it would never hear of anything, and not say so. */
	if (bind(fd, (const struct sockaddr *)&anywhere, sizeof(anywhere)) < 0)
		return -errno;
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return -errno;
	return steal_fd(fd);
}

/* The text of attribute @type of an event, or "". */
static const char *find_text(const struct nlmsghdr *header, uint16_t type)
{
	const struct nlattr *attr = attr_find(header, sizeof(struct nfgenmsg), type);

	if (attr == NULL || mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
		return "";
	return mnl_attr_get_str(attr);
}

/* What a change of @type does to our own table. */
static unsigned judge_own(uint16_t type, bool rules)
{
	switch (type) {
	case NFT_MSG_NEWSETELEM:
	case NFT_MSG_DELSETELEM:
		return NETLINK_TOUCHED_ELEMENTS;
	case NFT_MSG_NEWTABLE:
	case NFT_MSG_DELTABLE:
	case NFT_MSG_NEWSET:
	case NFT_MSG_DELSET:
		return NETLINK_TOUCHED_RULESET | NETLINK_TOUCHED_ELEMENTS;
	case NFT_MSG_NEWCHAIN:
	case NFT_MSG_DELCHAIN:
	case NFT_MSG_NEWRULE:
	case NFT_MSG_DELRULE:
	case NFT_MSG_DELOBJ:
		return rules ? NETLINK_TOUCHED_RULESET | NETLINK_TOUCHED_ELEMENTS : 0;
	default:
		return 0;
	}
}

/* What a change of @type does to a set that others own; @set is what it is about. */
static unsigned judge_pushed(uint16_t type, const char *set, const struct netlink_set *pushed)
{
	switch (type) {
	case NFT_MSG_NEWTABLE:
	case NFT_MSG_DELTABLE:
		return NETLINK_TOUCHED_ELEMENTS;
	case NFT_MSG_NEWSET:
	case NFT_MSG_DELSET:
	case NFT_MSG_DELSETELEM:
		return strcmp(set, pushed->name) == 0 ? NETLINK_TOUCHED_ELEMENTS : 0;
	default:
		return 0;
	}
}

static unsigned judge_event(const struct nlmsghdr *header, const struct netlink_set *sets,
			    size_t n_sets, bool rules)
{
	const struct nfgenmsg *nfgen = mnl_nlmsg_get_payload(header);
	uint16_t type = NFNL_MSG_TYPE(header->nlmsg_type);
	unsigned touched = 0;

	if (NFNL_SUBSYS_ID(header->nlmsg_type) != NFNL_SUBSYS_NFTABLES ||
	    mnl_nlmsg_get_payload_len(header) < sizeof(*nfgen))
		return 0;

	const char *table = find_text(header, ATTR_TABLE);

	for (size_t i = 0; i < n_sets; i++) {
		if (sets[i].family != nfgen->nfgen_family || strcmp(sets[i].table, table) != 0)
			continue;
		touched |= sets[i].own ? judge_own(type, rules)
				       : judge_pushed(type, find_text(header, ATTR_SET), &sets[i]);
	}
	return touched;
}

unsigned changes_read(int events, const struct netlink_set *sets, size_t n_sets, bool rules)
{
	uint8_t bytes[EVENT_BYTES] __attribute__((aligned(8)));
	unsigned touched = 0;

	for (;;) {
		ssize_t n = recv(events, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
		const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)bytes;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return touched;
		/* Something was lost, or cannot be read: it may have been anything. */
		if (n < 0 || (size_t)n > sizeof(bytes))
			touched |= NETLINK_TOUCHED_ELEMENTS | NETLINK_TOUCHED_RULESET;
		if (n < 0 && errno != ENOBUFS)
			return touched;
		if (n < 0 || (size_t)n > sizeof(bytes))
			continue;
		for (; mnl_nlmsg_ok(header, left); header = mnl_nlmsg_next(header, &left))
			touched |= judge_event(header, sets, n_sets, rules);
	}
}
