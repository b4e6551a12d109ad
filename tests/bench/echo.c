/* SPDX-License-Identifier: MIT */
/*
 * usage: echo PORT
 *
 * Sends every datagram that comes to 127.0.0.1:PORT back, up to 64 at a time, with the QR bit set:
 * what a DNS server on recvmmsg() and sendmmsg() would cost if an answer took no time to find.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BATCH = 64, SIZE = 4096 };

static uint8_t bytes[BATCH][SIZE];
static struct sockaddr_in peers[BATCH];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc != 2) {
		fputs("usage: echo PORT\n", stderr);
		return 2;
	}
	at.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
		perror("echo");
		return 1;
	}
	for (unsigned i = 0; i < BATCH; i++) {
		parts[i].iov_base = bytes[i];
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
		messages[i].msg_hdr.msg_name = &peers[i];
	}
	for (;;) {
		int n;

		for (unsigned i = 0; i < BATCH; i++) {
			parts[i].iov_len = SIZE;
			messages[i].msg_hdr.msg_namelen = sizeof(peers[i]);
		}
		n = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++) {
			bytes[i][2] |= 0x80;
			parts[i].iov_len = messages[i].msg_len;
		}
		sendmmsg(fd, messages, (unsigned)n, 0);
	}
}
