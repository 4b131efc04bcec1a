/* QUIC (ngtcp2, GnuTLS) beside a CUBIC flow of Sojourn, over three queues, with ECN.
 *
 *     cargo build --release -p sojourn-net-c
 *     cc crates/net-c/examples/quic.c crates/net-c/stacks/ngtcp2.c -Icrates/net-c/include \
 *         -Icrates/net-c/stacks -Ltarget/release -lsojourn_net_c -lngtcp2_crypto_gnutls -lngtcp2 \
 *         -lgnutls -o quic && LD_LIBRARY_PATH=target/release ./quic crates/net/tests/data */
#include "ngtcp2.h"
#include "sojourn_net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SCENARIO[] =
    "format = 'sojourn-scenario/1'\n"
    "name = 'quic-beside-cubic'\n"
    "duration = '10s'\n"
    "[dumbbell]\n"
    "rtt = '40ms'\n"
    "qdisc = '%s'\n"
    "up = { rate = '20mbit' }\n"
    "down = { rate = '20mbit' }\n"
    "[[flow]]\n"
    "name = 'quic'\n"
    "direction = 'up'\n"
    "app = 'outside'\n"
    "[[flow]]\n"
    "name = 'cubic'\n"
    "direction = 'up'\n"
    "app = 'bulk'\n"
    "tcp = { ecn = true }\n";

int main(int count, char **words) {
    static const char *const QUEUES[] = {"fq_codel", "codel ecn", "dualpi2"};
    for (size_t i = 0; i < sizeof QUEUES / sizeof *QUEUES; i++) {
        char text[sizeof SCENARIO + 32];
        snprintf(text, sizeof text, SCENARIO, QUEUES[i]);
        struct sojourn_net *net = sojourn_net_new(text, 1, 0);
        struct quic *client = quic_client(), *server = quic_server(count > 1 ? words[1] : ".");
        struct sojourn_stack ends[2] = {quic_stack(client), quic_stack(server)};
        if (net == NULL || sojourn_net_attach(net, "quic", ends) != 0 ||
            sojourn_net_run_until(net, SOJOURN_NEVER) != 0) {
            fprintf(stderr, "%s\n", sojourn_net_error());
            return EXIT_FAILURE;
        }
        double mbit = 8e-6 * (double)quic_received(server) / 10;
        const char *digest = strstr(sojourn_net_finish(net), "\"digest\"");
        printf("%-10s quic %6.2f Mbit/s, %.*s\n", QUEUES[i], mbit, (int)strcspn(digest, ",\n"),
               digest);
        quic_free(client);
        quic_free(server);
    }
    return EXIT_SUCCESS;
}
