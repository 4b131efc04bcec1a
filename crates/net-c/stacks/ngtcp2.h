/* QUIC by ngtcp2 as a stack of a simulated network. */
#ifndef STACK_NGTCP2_H
#define STACK_NGTCP2_H

#include "sojourn_net.h"

struct quic;

/* An end that connects, and sends a stream that always has data. */
struct quic *quic_client(void);

/* An end that is connected to. The folder has cert.der and key.der. */
struct quic *quic_server(const char *folder);

/* Its calls. */
struct sojourn_stack quic_stack(struct quic *quic);

/* Bytes of the stream that have come. */
uint64_t quic_received(const struct quic *quic);

void quic_free(struct quic *quic);

#endif
