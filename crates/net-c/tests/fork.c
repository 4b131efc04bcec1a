/* A run that is copied in the middle, whose copy and original go on alike, and its packets. */
#include "sojourn_net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SCENARIO[] =
    "format = 'sojourn-scenario/1'\n"
    "name = 'fork'\n"
    "duration = '4s'\n"
    "[dumbbell]\n"
    "rtt = '40ms'\n"
    "qdisc = 'fq_codel'\n"
    "up = { rate = '20mbit', loss = '0.1%' }\n"
    "down = { rate = '20mbit' }\n"
    "[[flow]]\n"
    "name = 'echo'\n"
    "direction = 'up'\n"
    "app = 'outside'\n"
    "[[flow]]\n"
    "name = 'cubic'\n"
    "direction = 'up'\n"
    "app = 'bulk'\n";

/* Sends a datagram back, a byte longer each time, and a new one when none came for a second. */
struct echo {
    uint64_t wakes;
    size_t size;
    unsigned heard;
    int has_one;
};

static int copies;

static void input(void *self, const struct sojourn_datagram *datagram, uint64_t now) {
    struct echo *echo = self;
    echo->size = datagram->size + 1;
    echo->heard++;
    echo->has_one = 1;
    echo->wakes = now + 1000000000;
}

static void timeout(void *self, uint64_t now) {
    struct echo *echo = self;
    echo->has_one = 1;
    echo->wakes = now + 1000000000;
}

static int output(void *self, struct sojourn_datagram *datagram, uint64_t now) {
    struct echo *echo = self;
    (void)now;
    if (!echo->has_one) {
        return 0;
    }
    echo->has_one = 0;
    memset(datagram->data, 7, echo->size);
    datagram->size = echo->size;
    return 1;
}

static uint64_t next_timeout(void *self) {
    return ((struct echo *)self)->wakes;
}

static void *copy(void *self) {
    struct echo *made = malloc(sizeof *made);
    if (made != NULL) {
        memcpy(made, self, sizeof *made);
        copies++;
    }
    return made;
}

static void free_copy(void *self) {
    copies--;
    free(self);
}

static void must(int holds) {
    if (!holds) {
        fprintf(stderr, "%s\n", sojourn_net_error());
        exit(EXIT_FAILURE);
    }
}

/* Takes a network to its end. Prints how often its first stack has heard something, and the
 * digest. */
static void finish(struct sojourn_net *net, const struct echo *first) {
    must(sojourn_net_run_until(net, SOJOURN_NEVER) == 0);
    printf("%u heard, ", first->heard);
    const char *digest = strstr(sojourn_net_finish(net), "\"digest\"");
    printf("%.*s\n", (int)strcspn(digest, ",\n"), digest);
}

int main(int count, char **words) {
    struct echo first = {1000000000, 100, 0, 1}, second = {SOJOURN_NEVER, 0, 0, 0};
    struct sojourn_stack ends[2] = {
        {&first, input, timeout, output, next_timeout, copy, free_copy},
        {&second, input, timeout, output, next_timeout, copy, free_copy},
    };
    struct sojourn_net *net = sojourn_net_new(SCENARIO, 7, 1 << 20);
    must(net != NULL && sojourn_net_attach(net, "echo", ends) == 0);
    must(sojourn_net_run_until(net, 1500000000) == 0);
    void *selves[2] = {NULL, NULL};
    struct sojourn_net *other = sojourn_net_fork(net, selves);
    must(other != NULL && copies == 2 && selves[1] != NULL && selves[1] != &second);
    struct sojourn_net *third = sojourn_net_fork(other, NULL);
    must(third != NULL && copies == 4);
    must(strstr(sojourn_net_finish(third), "sojourn-summary/1") != NULL && copies == 2);
    /* The copy first: it must leave the original alone. */
    const struct echo *copied = selves[0];
    must(copied != &first && copied->heard == first.heard);
    finish(other, copied);
    must(copies == 0);
    must(sojourn_net_run_until(net, 3000000000) == 0);
    must(count == 2 && sojourn_net_capture(net, words[1]) == 0);
    finish(net, &first);
    return EXIT_SUCCESS;
}
