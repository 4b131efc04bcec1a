/* Every call with what it must refuse: prints what it tells. */
#include "sojourn_net.h"
#include <stdio.h>
#include <stdlib.h>

static const char SCENARIO[] =
    "format = 'sojourn-scenario/1'\n"
    "name = 'wrong'\n"
    "duration = '1s'\n"
    "[dumbbell]\n"
    "rtt = '40ms'\n"
    "qdisc = '%s'\n"
    "up = { rate = '20mbit' }\n"
    "down = { rate = '20mbit' }\n"
    "[[flow]]\n"
    "name = 'outside'\n"
    "direction = 'up'\n"
    "app = 'outside'\n";

static void input(void *self, const struct sojourn_datagram *datagram, uint64_t now) {
    (void)self, (void)datagram, (void)now;
}

static void timeout(void *self, uint64_t now) {
    (void)self, (void)now;
}

static int output(void *self, struct sojourn_datagram *datagram, uint64_t now) {
    (void)self, (void)datagram, (void)now;
    return 0;
}

/* Asks for the time that has come, again and again. */
static uint64_t next_timeout(void *self) {
    (void)self;
    return 0;
}

static void refused(int is_refused) {
    if (!is_refused) {
        puts("not refused");
        exit(EXIT_FAILURE);
    }
    puts(sojourn_net_error());
}

int main(void) {
    char text[sizeof SCENARIO + 16];
    struct sojourn_stack one = {NULL, input, timeout, output, next_timeout, NULL, NULL};
    struct sojourn_stack ends[2] = {one, one};
    snprintf(text, sizeof text, SCENARIO, "fq_codle");
    refused(sojourn_net_new(text, 1, 0) == NULL);
    refused(sojourn_net_new(NULL, 1, 0) == NULL);
    snprintf(text, sizeof text, SCENARIO, "fq_codel");
    struct sojourn_net *net = sojourn_net_new(text, 1, 0);
    refused(sojourn_net_attach(net, "none", ends) == -1);
    if (sojourn_net_attach(net, "outside", ends) != 0) {
        return EXIT_FAILURE;
    }
    refused(sojourn_net_attach(net, "outside", ends) == -1);
    refused(sojourn_net_attach(NULL, "outside", ends) == -1);
    refused(sojourn_net_run_until(net, SOJOURN_NEVER) == -1);
    refused(sojourn_net_wake(net, text) == -1);
    refused(sojourn_net_wake(NULL, NULL) == -1);
    refused(sojourn_net_fork(net, NULL) == NULL);
    refused(sojourn_net_fork(NULL, NULL) == NULL);
    refused(sojourn_net_capture(net, "never.pcapng") == -1);
    refused(sojourn_net_finish(NULL) == NULL);
    if (sojourn_net_finish(net) == NULL) {
        return EXIT_FAILURE;
    }
    net = sojourn_net_new(text, 1, 1 << 20);
    refused(sojourn_net_capture(net, "/none/of.pcapng") == -1);
    sojourn_net_finish(net);
    return EXIT_SUCCESS;
}
