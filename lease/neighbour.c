/* SPDX-License-Identifier: MIT */
#include "lease/neighbour.h"

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include "lease/attr.h"

/* As large as the kernel makes one message (NLMSG_GOODSIZE with 8 KiB). */
enum { REPLY_BYTES = 8192 };

/*
 * Send @request and receive its one answer into @reply. rtnetlink answers these two within
 * send(), so an empty queue is no answer.
 */
static const struct nlmsghdr *ask(int route, const struct nlmsghdr *request, uint16_t type,
				  uint8_t reply[REPLY_BYTES])
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)reply;
	ssize_t n;

	if (send(route, request, request->nlmsg_len, 0) < 0)
		return NULL;
	n = recv(route, reply, REPLY_BYTES, MSG_DONTWAIT);
	if (n < 0 || !mnl_nlmsg_ok(header, (int)n) || header->nlmsg_type != type)
		return NULL;
	return header;
}

static int family_of(const struct address *address)
{
	return address->family == 4 ? AF_INET : AF_INET6;
}

/* The link on which @address is a neighbour; 0 if it is none. */
static uint32_t find_link(int route, const struct address *address, uint8_t reply[REPLY_BYTES])
{
	uint8_t buffer[256] __attribute__((aligned(8)));
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	const struct nlattr *attr;

	header->nlmsg_type = RTM_GETROUTE;
	header->nlmsg_flags = NLM_F_REQUEST;
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(header, sizeof(*rtm));

	rtm->rtm_family = (unsigned char)family_of(address);
	rtm->rtm_dst_len = (unsigned char)(address_len(address) * 8);
	mnl_attr_put(header, RTA_DST, address_len(address), address->bytes);

	const struct nlmsghdr *answer = ask(route, header, RTM_NEWROUTE, reply);

	if (answer == NULL || attr_find(answer, sizeof(*rtm), RTA_GATEWAY) != NULL ||
	    attr_find(answer, sizeof(*rtm), RTA_VIA) != NULL)
		return 0;
	attr = attr_find(answer, sizeof(*rtm), RTA_OIF);
	return attr != NULL ? mnl_attr_get_u32(attr) : 0;
}

bool neighbour_find(int route, const struct address *address, struct neighbour *ret_neighbour)
{
	uint8_t reply[REPLY_BYTES] __attribute__((aligned(8)));
	uint8_t buffer[256] __attribute__((aligned(8)));
	uint32_t link = find_link(route, address, reply);
	const struct nlattr *attr;

	if (link == 0)
		return false;
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);

	header->nlmsg_type = RTM_GETNEIGH;
	header->nlmsg_flags = NLM_F_REQUEST;
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(header, sizeof(*ndm));

	ndm->ndm_family = (unsigned char)family_of(address);
	ndm->ndm_ifindex = (int)link;
	mnl_attr_put(header, NDA_DST, address_len(address), address->bytes);

	const struct nlmsghdr *answer = ask(route, header, RTM_NEWNEIGH, reply);

	if (answer == NULL)
		return false;
	ndm = mnl_nlmsg_get_payload(answer);
	if (ndm->ndm_state & (NUD_FAILED | NUD_INCOMPLETE | NUD_NOARP))
		return false;
	attr = attr_find(answer, sizeof(*ndm), NDA_LLADDR);
	if (attr == NULL || mnl_attr_get_payload_len(attr) != NEIGHBOUR_ETHER_LEN)
		return false;
	ret_neighbour->link = link;
	memcpy(ret_neighbour->ether, mnl_attr_get_payload(attr), NEIGHBOUR_ETHER_LEN);
	return true;
}
