/* A simulated network for stacks in C: hosts, links, the queues of Sojourn, and its TCP flows as
 * cross traffic, around a stack that does no I/O of its own. See docs/net.md.
 *
 * Build: cargo build --release -p sojourn-net-c
 * Link:  cc app.c -Icrates/net-c/include -Ltarget/release -lsojourn_net_c
 *
 * Eight calls: new, attach, run_until, wake, fork, capture, finish, error.
 *
 * All times are nanoseconds since the start of the run. A network and its stacks belong to one
 * thread. Simulated time passes in sojourn_net_run_until only. */
#ifndef SOJOURN_NET_H
#define SOJOURN_NET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The latest time: run until the end; from next_timeout: only datagrams matter. */
#define SOJOURN_NEVER UINT64_MAX
/* The most bytes that a datagram has. */
#define SOJOURN_MOST 65000

/* A datagram: what UDP carries, the two bits of the ECN field, and the TTL. */
struct sojourn_datagram {
    uint8_t *data;
    size_t size;
    uint8_t ecn;
    uint8_t ttl;
};

/* One end of a flow. A turn is input with a datagram that has come, or timeout; then output until it
 * returns 0; then next_timeout. The turn when its flow starts has the last two, and so has the one
 * after sojourn_net_wake. No call may call the network. `self` is yours, and must outlive the
 * network. */
struct sojourn_stack {
    void *self;
    /* A datagram has come. Its bytes are valid during the call. */
    void (*input)(void *self, const struct sojourn_datagram *datagram, uint64_t now);
    /* The time has come that next_timeout asked for. */
    void (*timeout)(void *self, uint64_t now);
    /* Writes the next datagram into data, which has room for SOJOURN_MOST bytes; sets size, and
     * ecn and ttl where they are not 0 and 64. Returns 1, or 0 when there is nothing more now. */
    int (*output)(void *self, struct sojourn_datagram *datagram, uint64_t now);
    /* When timeout is to be called at the latest, or SOJOURN_NEVER. */
    uint64_t (*next_timeout)(void *self);
    /* For sojourn_net_fork, which returns a copy of self that continues as self would have. NULL,
     * here or as what it returns: this stack cannot be copied. */
    void *(*fork)(void *self);
    /* Frees a copy by fork, when its network is finished. May be NULL. */
    void (*free)(void *self);
};

struct sojourn_net;

/* The network of a scenario's text (format sojourn-scenario/1) with a seed. Keeps the packets at all
 * hosts in memory, up to `record` bytes of them, for sojourn_net_capture; 0 keeps none. NULL when
 * the text cannot be read: sojourn_net_error() says why. */
struct sojourn_net *sojourn_net_new(const char *scenario, uint64_t seed, size_t record);

/* Puts two stacks at the ends of a flow with app = "outside": where it comes from, and where it
 * goes to. Of a flow with `count` those of the first instance without stacks. 0, or -1. */
int sojourn_net_attach(struct sojourn_net *net, const char *flow,
                       const struct sojourn_stack stacks[2]);

/* Takes the run to a time, or to its end with SOJOURN_NEVER. 0, or -1. */
int sojourn_net_run_until(struct sojourn_net *net, uint64_t until);

/* The stack with this self was given something to send between two calls of sojourn_net_run_until:
 * it is asked for it as soon as time goes on. 0, or -1. */
int sojourn_net_wake(struct sojourn_net *net, void *self);

/* A copy of the network and its stacks, which both continue as this one alone would have. Writes the
 * selves of the copies into `selves`, two for each call of sojourn_net_attach, unless it is NULL.
 * NULL when a stack cannot be copied. The copy records no packets. */
struct sojourn_net *sojourn_net_fork(const struct sojourn_net *net, void **selves);

/* Writes what was recorded so far into a file, as pcapng. 0, or -1. */
int sojourn_net_capture(const struct sojourn_net *net, const char *path);

/* Frees the network and returns the summary of its run as JSON (sojourn-summary/1, see
 * docs/results.md), with the digest of sizes and times: of the run so far, if it is not over. Valid
 * until this thread finishes another network. */
const char *sojourn_net_finish(struct sojourn_net *net);

/* What went wrong in the last call of this thread that returned NULL or -1. Valid until the next
 * call. */
const char *sojourn_net_error(void);

#ifdef __cplusplus
}
#endif

#endif
