/* A simulated network for stacks in C: hosts, links, the queues of Sojourn, and its TCP flows as
 * cross traffic, around a stack that does no I/O of its own. See docs/net.md.
 *
 * Build: cargo build --release -p sojourn-net-c
 * Link:  cc app.c -Icrates/net-c/include -Ltarget/release -lsojourn_net_c
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

/* One end of a flow. For each turn: input for each datagram that has come, or timeout; then output
 * until it returns 0; then next_timeout. When its flow starts the last two. No call may call the
 * network. `self` is yours, and must outlive the network. */
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
    /* Frees a copy by fork, when its network is freed or finished. May be NULL. */
    void (*free)(void *self);
};

struct sojourn_net;

/* The network of a scenario's text (format sojourn-scenario/1) with a seed. NULL when the text
 * cannot be read: sojourn_net_error() says why. */
struct sojourn_net *sojourn_net_new(const char *scenario, uint64_t seed);

/* Puts two stacks at the ends of a flow with app = "outside": where it comes from, and where it
 * goes to. Of a flow with `count` those of the first instance without stacks. 0, or -1. */
int sojourn_net_attach(struct sojourn_net *net, const char *flow,
                       const struct sojourn_stack stacks[2]);

/* Takes the run to a time, or to its end with SOJOURN_NEVER. 0, or -1. */
int sojourn_net_run_until(struct sojourn_net *net, uint64_t until);

/* The simulated time. */
uint64_t sojourn_net_now(const struct sojourn_net *net);

/* A copy of the network and its stacks, which both continue as this one alone would have. NULL when
 * a stack cannot be copied. The copy records no packets. */
struct sojourn_net *sojourn_net_fork(const struct sojourn_net *net);

/* The self of a stack, in the order of sojourn_net_attach: the first pair has 0 and 1. NULL beyond
 * the last. For copies, whose selves nobody else has. */
void *sojourn_net_self(const struct sojourn_net *net, size_t number);

/* Keeps the packets at all hosts in memory from now on, up to so many bytes. 0, or -1. */
int sojourn_net_record(struct sojourn_net *net, size_t most);

/* Writes what was recorded so far into a file, as pcapng. 0, or -1. */
int sojourn_net_capture(const struct sojourn_net *net, const char *path);

/* What went wrong in the last call of this thread that returned NULL or -1. Valid until the next
 * call. */
const char *sojourn_net_error(void);

/* Ends the run and frees the network. Returns the summary as JSON (sojourn-summary/1, see
 * docs/results.md), with the digest of sizes and times. Free it with sojourn_net_free_text. */
char *sojourn_net_finish(struct sojourn_net *net);

void sojourn_net_free_text(char *text);

/* Frees a network that has not been finished. */
void sojourn_net_free(struct sojourn_net *net);

#ifdef __cplusplus
}
#endif

#endif
