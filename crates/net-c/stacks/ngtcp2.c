/* QUIC by ngtcp2 and GnuTLS as a stack of a simulated network: one connection, over which the
 * client sends a stream that always has data. To be copied into your own project, and changed
 * there. An error of the libraries ends the program, as an assertion would. */
#include "ngtcp2.h"
#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 1000000000ULL

struct quic {
    ngtcp2_conn *conn;
    ngtcp2_crypto_conn_ref ref;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    /* The addresses are the network's; QUIC only needs some that stay. */
    struct sockaddr_in address;
    ngtcp2_path path;
    int is_server;
    int64_t stream;
    /* Bytes that may go before the next turn, as the pacer says. */
    size_t burst;
    uint64_t received;
};

/* Ends the program when a library says that something is wrong. */
static void check(long code, const char *what) {
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, ngtcp2_strerror((int)code));
        abort();
    }
}

static void draw(uint8_t *to, size_t size, const ngtcp2_rand_ctx *context) {
    (void)context;
    check(gnutls_rnd(GNUTLS_RND_RANDOM, to, size), "gnutls_rnd");
}

static int new_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t size, void *own) {
    (void)conn, (void)own;
    draw(id->data, size, NULL);
    id->datalen = size;
    draw(token, NGTCP2_STATELESS_RESET_TOKENLEN, NULL);
    return 0;
}

static int stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset,
                       const uint8_t *data, size_t size, void *own, void *of_stream) {
    (void)flags, (void)offset, (void)data, (void)of_stream;
    struct quic *quic = own;
    quic->received += size;
    ngtcp2_conn_extend_max_stream_offset(conn, stream, size);
    ngtcp2_conn_extend_max_offset(conn, size);
    return 0;
}

static ngtcp2_conn *conn_of(ngtcp2_crypto_conn_ref *ref) {
    return ((struct quic *)ref->user_data)->conn;
}

static const ngtcp2_callbacks CALLBACKS = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_stream_data = stream_data,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .rand = draw,
    .get_new_connection_id = new_id,
    .update_key = ngtcp2_crypto_update_key_cb,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};

static ngtcp2_cid drawn_id(void) {
    ngtcp2_cid id;
    uint8_t data[16];
    draw(data, sizeof data, NULL);
    ngtcp2_cid_init(&id, data, sizeof data);
    return id;
}

static struct quic *new_quic(unsigned flags) {
    static const char PRIORITY[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:"
                                   "-CIPHER-ALL:+AES-128-GCM:%DISABLE_TLS13_COMPAT_MODE";
    static const gnutls_datum_t ALPN = {(unsigned char *)"sojourn", 7};
    struct quic *quic = calloc(1, sizeof *quic);
    if (quic == NULL) {
        abort();
    }
    quic->stream = -1;
    quic->address.sin_family = AF_INET;
    quic->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    quic->path.local.addr = quic->path.remote.addr = (ngtcp2_sockaddr *)&quic->address;
    quic->path.local.addrlen = quic->path.remote.addrlen = sizeof quic->address;
    quic->ref = (ngtcp2_crypto_conn_ref){conn_of, quic};
    check(gnutls_init(&quic->session, flags), "gnutls_init");
    check(gnutls_priority_set_direct(quic->session, PRIORITY, NULL), "the priority");
    check(gnutls_alpn_set_protocols(quic->session, &ALPN, 1, GNUTLS_ALPN_MANDATORY), "ALPN");
    check(gnutls_certificate_allocate_credentials(&quic->credentials), "credentials");
    gnutls_session_set_ptr(quic->session, &quic->ref);
    return quic;
}

static void begin(struct quic *quic, const ngtcp2_pkt_hd *first, uint64_t now) {
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = now;
    ngtcp2_transport_params params;
    ngtcp2_transport_params_default(&params);
    params.initial_max_streams_uni = 1;
    params.initial_max_stream_data_uni = params.initial_max_data = 1 << 26;
    params.max_idle_timeout = 60 * SECONDS;
    ngtcp2_cid own = drawn_id(), peer = drawn_id();
    if (first == NULL) {
        check(ngtcp2_conn_client_new(&quic->conn, &peer, &own, &quic->path, NGTCP2_PROTO_VER_V1,
                                     &CALLBACKS, &settings, &params, NULL, quic),
              "a client");
    } else {
        params.original_dcid = first->dcid;
        check(ngtcp2_conn_server_new(&quic->conn, &first->scid, &own, &quic->path, first->version,
                                     &CALLBACKS, &settings, &params, NULL, quic),
              "a server");
    }
    ngtcp2_conn_set_tls_native_handle(quic->conn, quic->session);
    quic->burst = SIZE_MAX;
}

struct quic *quic_client(void) {
    struct quic *quic = new_quic(GNUTLS_CLIENT);
    check(ngtcp2_crypto_gnutls_configure_client_session(quic->session), "TLS of a client");
    gnutls_credentials_set(quic->session, GNUTLS_CRD_CERTIFICATE, quic->credentials);
    begin(quic, NULL, 0);
    return quic;
}

struct quic *quic_server(const char *folder) {
    struct quic *quic = new_quic(GNUTLS_SERVER | GNUTLS_NO_TICKETS);
    char certificate[512], key[512];
    snprintf(certificate, sizeof certificate, "%s/cert.der", folder);
    snprintf(key, sizeof key, "%s/key.der", folder);
    check(gnutls_certificate_set_x509_key_file(quic->credentials, certificate, key,
                                               GNUTLS_X509_FMT_DER),
          certificate);
    check(ngtcp2_crypto_gnutls_configure_server_session(quic->session), "TLS of a server");
    gnutls_credentials_set(quic->session, GNUTLS_CRD_CERTIFICATE, quic->credentials);
    quic->is_server = 1;
    return quic;
}

static void input(void *self, const struct sojourn_datagram *datagram, uint64_t now) {
    struct quic *quic = self;
    ngtcp2_pkt_hd first;
    if (quic->conn == NULL) {
        if (ngtcp2_accept(&first, datagram->data, datagram->size) != 0) {
            return;
        }
        begin(quic, &first, now);
    }
    ngtcp2_pkt_info info = {.ecn = datagram->ecn};
    check(ngtcp2_conn_read_pkt(quic->conn, &quic->path, &info, datagram->data, datagram->size, now),
          "a datagram");
}

static void timeout(void *self, uint64_t now) {
    struct quic *quic = self;
    check(ngtcp2_conn_handle_expiry(quic->conn, now), "a timer");
    quic->burst = ngtcp2_conn_get_send_quantum(quic->conn);
}

static int output(void *self, struct sojourn_datagram *datagram, uint64_t now) {
    static uint8_t zeros[16384];
    struct quic *quic = self;
    if (quic->conn == NULL) {
        return 0;
    }
    if (!quic->is_server && quic->stream < 0 && ngtcp2_conn_get_handshake_completed(quic->conn)) {
        ngtcp2_conn_open_uni_stream(quic->conn, &quic->stream, NULL);
    }
    ngtcp2_vec data = {zeros, sizeof zeros};
    ngtcp2_pkt_info info = {0};
    ngtcp2_ssize taken = 0, size = 0;
    size_t most = ngtcp2_conn_get_max_tx_udp_payload_size(quic->conn);
    int64_t stream = quic->is_server ? -1 : quic->stream;
    if (quic->burst >= most) {
        size = ngtcp2_conn_writev_stream(quic->conn, NULL, &info, datagram->data, most, &taken, 0,
                                         stream, &data, stream >= 0, now);
        if (size == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            size = ngtcp2_conn_writev_stream(quic->conn, NULL, &info, datagram->data, most, &taken,
                                             0, -1, NULL, 0, now);
        }
        check(size, "to send");
    }
    if (size == 0) {
        ngtcp2_conn_update_pkt_tx_time(quic->conn, now);
        quic->burst = ngtcp2_conn_get_send_quantum(quic->conn);
        return 0;
    }
    quic->burst -= (size_t)size;
    datagram->size = (size_t)size;
    datagram->ecn = (uint8_t)info.ecn;
    return 1;
}

static uint64_t next_timeout(void *self) {
    struct quic *quic = self;
    return quic->conn == NULL ? SOJOURN_NEVER : ngtcp2_conn_get_expiry(quic->conn);
}

struct sojourn_stack quic_stack(struct quic *quic) {
    /* Neither ngtcp2 nor GnuTLS can copy a connection. */
    return (struct sojourn_stack){quic, input, timeout, output, next_timeout, NULL, NULL};
}

uint64_t quic_received(const struct quic *quic) {
    return quic->received;
}

void quic_free(struct quic *quic) {
    ngtcp2_conn_del(quic->conn);
    gnutls_deinit(quic->session);
    gnutls_certificate_free_credentials(quic->credentials);
    free(quic);
}
