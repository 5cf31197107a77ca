/* One end of the RDMA probe as a program of its own, the other end in another process,
 * namespace or machine; their texts go over a TCP connection. Prints the readings:
 *
 *	rdma_end 0|1 ADDRESS PORT [NAME=VALUE...]
 *
 * 0 listens there, is the first of the pair and prints; 1 connects. */
#include "tests/vm/print_readings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_S 60

extern const struct probe probe_rdma;

static int texts; /* the connection */

static enum status send_text(struct probe_ctx *ctx, int to, const char *text)
{
	uint32_t len = htonl((uint32_t)strlen(text));

	(void)ctx;
	(void)to;
	if (send(texts, &len, sizeof(len), MSG_NOSIGNAL) != sizeof(len) ||
	    send(texts, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		return ST_IO;
	return ST_OK;
}

static enum status recv_text(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	struct pollfd p = {.fd = texts, .events = POLLIN};
	uint32_t len;
	char *room;

	(void)from;
	if (poll(&p, 1, (int)(seconds * 1000)) == 0)
		return ST_TIMEOUT;
	if (recv(texts, &len, sizeof(len), MSG_WAITALL) != sizeof(len))
		return ST_IO;
	len = ntohl(len);
	room = arena_alloc(ctx->arena, len + 1);
	if (len > PEER_TEXT_MAX || recv(texts, room, len, MSG_WAITALL) != (ssize_t)len)
		return ST_IO;
	*text = room;
	return ST_OK;
}

static int meet(int rank, const char *address, int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, peer = -1;

	inet_pton(AF_INET, address, &at.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (rank == 0 && bind(fd, (void *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0)
		peer = accept(fd, NULL, NULL);
	for (int i = 0; rank == 1 && i < 10 * WAIT_S && peer < 0; i++) {
		if (connect(fd, (void *)&at, sizeof(at)) == 0)
			peer = fd;
		else
			usleep(100000);
	}
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return peer;
}

int main(int argc, char **argv)
{
	static const char *const nodes[] = {"node0", "node1"};
	static struct harness h;

	if (argc < 4) {
		fprintf(stderr, "rdma_end 0|1 ADDRESS PORT [NAME=VALUE...]\n");
		return 3;
	}
	harness_init(&h, &probe_rdma);
	for (int i = 4; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return 3;
		*equals = '\0';
		harness_set(&h, argv[i], equals + 1);
	}
	h.ctx.self_index = atoi(argv[1]);
	h.ctx.node = nodes[h.ctx.self_index];
	h.ctx.peers = nodes;
	h.ctx.n_peers = 2;
	h.ctx.subject_id = "node0|node1";
	h.ctx.send_text = send_text;
	h.ctx.recv_text = recv_text;
	h.ctx.deadline_ns = clock_now(&clock_system) + 300 * NS_PER_S;
	texts = meet(h.ctx.self_index, argv[2], atoi(argv[3]));
	if (texts < 0) {
		fprintf(stderr, "the other end was not met\n");
		return 2;
	}
	harness_run(&h, ST_OK);
	print_readings(&h);
	harness_release(&h);
	return 0;
}
