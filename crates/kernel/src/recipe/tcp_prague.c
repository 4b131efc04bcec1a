// SPDX-License-Identifier: GPL-2.0
/*
 * Prague: a congestion control whose window follows the share of marked packets, for queues of L4S.
 *
 * Source: draft-briscoe-iccrg-prague-congestion-control-04. Written from the draft alone:
 * - alpha is the smoothed share of marks, with a gain of 1/16; 1 at the first mark;
 * - a mark takes alpha / 2 of the window, once in a round trip;
 * - the window grows by what comes unmarked, also in the round trip that follows a reduction;
 * - 500 round trips after slow start those below 25 ms count as 25 ms, for alpha, for reductions
 *   and for growth;
 * - a loss takes half of the window, together with a mark of the same round trip;
 * - segments are paced over the round trip, in early slow start over half of it;
 * - a window below two segments holds by pacing: two may always be in flight.
 *
 * Feedback is AccECN's. Without it the connection has Reno and is not ECN-capable. Packets are
 * ECT(1): Linux 7.3 sends ECT(0) once a connection stands, which the recipe changes.
 *
 * Not here: a search for queues of classic ECN, a limit on bursts of offloads.
 */
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>
#include <net/tcp_ecn.h>

/* Windows are in 2^-24 segments, shares in 2^-24. */
#define ONE		24
#define GAIN		4
#define VIRTUAL_US	25000U
#define PATIENCE	500U
#define FLIGHT		2U
/* An eighth of a segment. */
#define LEAST		(1ULL << (ONE - 3))

struct prague {
	u64	window;
	/* The window before the last reduction by a loss, and by a mark. */
	u64	prior;
	u64	before_mark;
	/* When a mark last reduced it, and when alpha was last updated, in microseconds. */
	u64	reduced_us;
	u64	updated_us;
	u32	alpha;
	u32	ssthresh;
	u32	prior_ssthresh;
	/* Where the round trip ends, and the one that a reduction began. */
	u32	round_end;
	u32	reduced_end;
	/* The connection's counters at alpha's last update, and of marks at the last ACK. */
	u32	old_delivered;
	u32	old_marked;
	u32	last_marked;
	/* Round trips since slow start ended. */
	u32	rounds;
	u8	has_alpha:1,
		has_reduced:1;
};

static struct tcp_congestion_ops prague_reno;

static u32 prague_whole(const struct prague *ca)
{
	return max_t(u64, (ca->window + (1ULL << ONE) - 1) >> ONE, FLIGHT);
}

static bool prague_in_slow_start(const struct prague *ca)
{
	return prague_whole(ca) < ca->ssthresh;
}

static u32 prague_srtt_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, 1U);
}

/* Whether the round trip counts as a longer one. */
static bool prague_is_short(const struct prague *ca, const struct tcp_sock *tp)
{
	return ca->rounds >= PATIENCE && tp->srtt_us && prague_srtt_us(tp) < VIRTUAL_US;
}

static bool prague_is_within(const struct prague *ca, const struct tcp_sock *tp, u64 since_us)
{
	return prague_is_short(ca, tp) && tp->tcp_mstamp - since_us < VIRTUAL_US;
}

static void prague_lower_to(struct prague *ca, u64 window)
{
	ca->window = max(window, LEAST);
	ca->ssthresh = prague_whole(ca);
}

static void prague_pace(struct sock *sk, const struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 whole = prague_whole(ca);
	u64 segments = ca->window;
	u64 rate;

	if (!tp->srtt_us)
		return;
	if (segments >= (u64)FLIGHT << ONE)
		segments = (u64)max(whole, tcp_packets_in_flight(tp)) << ONE;
	rate = div64_u64((segments >> 4) * tp->mss_cache, prague_srtt_us(tp));
	rate = (rate * USEC_PER_SEC) >> (ONE - 4);
	if (whole < ca->ssthresh / 2)
		rate *= 2;
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, max_t(u64, rate, 1), READ_ONCE(sk->sk_max_pacing_rate)));
}

static void prague_observe(const struct tcp_sock *tp, struct prague *ca)
{
	u32 delivered = tp->delivered - ca->old_delivered;
	u32 marked = tp->delivered_ce - ca->old_marked;

	if (before(tp->snd_una, ca->round_end))
		return;
	ca->round_end = tp->snd_nxt;
	if (!prague_in_slow_start(ca))
		ca->rounds++;
	if (!delivered || prague_is_within(ca, tp, ca->updated_us))
		return;
	if (ca->has_alpha) {
		u64 share = div_u64((u64)min(marked, delivered) << ONE, delivered);

		ca->alpha += ((s64)share - (s64)ca->alpha) / (1 << GAIN);
	}
	ca->updated_us = tp->tcp_mstamp;
	ca->old_delivered = tp->delivered;
	ca->old_marked = tp->delivered_ce;
}

static void prague_grow(struct sock *sk, struct prague *ca, u32 unmarked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 step;

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery || !unmarked)
		return;
	/* Below two segments pacing is the limit. */
	if (!tcp_is_cwnd_limited(sk) && ca->window >= (u64)FLIGHT << ONE)
		return;
	if (prague_in_slow_start(ca)) {
		u64 end = (u64)ca->ssthresh << ONE;
		u32 most = end > ca->window ? (end - ca->window + (1ULL << ONE) - 1) >> ONE : 0;
		u32 taken = min(unmarked, most);

		ca->window += (u64)taken << ONE;
		unmarked -= taken;
	}
	step = div64_u64((u64)unmarked << (2 * ONE), max(ca->window, 1ULL << ONE));
	if (prague_is_short(ca, tp)) {
		u64 srtt = prague_srtt_us(tp);

		step = div_u64(div_u64(step * srtt, VIRTUAL_US) * srtt, VIRTUAL_US);
	}
	ca->window += step;
}

static void prague_mark(const struct tcp_sock *tp, struct prague *ca)
{
	if (ca->has_reduced &&
	    (before(tp->snd_una, ca->reduced_end) || prague_is_within(ca, tp, ca->reduced_us)))
		return;
	if (!ca->has_alpha) {
		ca->has_alpha = 1;
		ca->alpha = 1U << ONE;
	}
	ca->has_reduced = 1;
	ca->before_mark = ca->window;
	ca->reduced_us = tp->tcp_mstamp;
	ca->reduced_end = tp->snd_nxt;
	prague_lower_to(ca, ca->window - mul_u64_u32_shr(ca->window, ca->alpha, ONE + 1));
}

static void prague_loss(const struct tcp_sock *tp, struct prague *ca)
{
	u64 window = ca->window;

	ca->prior = ca->window;
	ca->prior_ssthresh = ca->ssthresh;
	/* Both signals of one round trip cost half together. */
	if (ca->has_reduced && tp->tcp_mstamp - ca->reduced_us < prague_srtt_us(tp))
		window = max(window, ca->before_mark);
	prague_lower_to(ca, min(window / 2, ca->window));
}

static void prague_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 marked = tp->delivered_ce - ca->last_marked;
	u8 state = inet_csk(sk)->icsk_ca_state;

	ca->last_marked = tp->delivered_ce;
	if (marked && state != TCP_CA_Recovery && state != TCP_CA_Loss)
		prague_mark(tp, ca);
	prague_observe(tp, ca);
	prague_grow(sk, ca, rs->acked_sacked - min(rs->acked_sacked, marked));
	tcp_snd_cwnd_set(tp, min(prague_whole(ca), tp->snd_cwnd_clamp));
	WRITE_ONCE(tp->snd_ssthresh, ca->ssthresh);
	prague_pace(sk, ca);
}

static void prague_set_state(struct sock *sk, u8 new_state)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 old_state = inet_csk(sk)->icsk_ca_state;

	if (new_state == old_state || (new_state != TCP_CA_Recovery && new_state != TCP_CA_Loss))
		return;
	prague_loss(tp, ca);
	/* After a timeout the kernel has set the window itself. */
	if (new_state == TCP_CA_Loss)
		ca->window = min(ca->window, (u64)tcp_snd_cwnd(tp) << ONE);
	WRITE_ONCE(tp->snd_ssthresh, ca->ssthresh);
}

static u32 prague_ssthresh(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	return ca->ssthresh;
}

static u32 prague_undo_cwnd(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);

	ca->window = max(ca->window, ca->prior);
	ca->ssthresh = max(ca->ssthresh, ca->prior_ssthresh);
	return max(prague_whole(ca), tcp_snd_cwnd(tcp_sk(sk)));
}

static u32 prague_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* Alpha as DCTCP tells it: in 1024ths, and disabled before the first mark. */
static size_t prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->dctcp, 0, sizeof(info->dctcp));
	info->dctcp.dctcp_enabled = ca->has_alpha;
	info->dctcp.dctcp_alpha = ca->alpha >> (ONE - 10);
	info->dctcp.dctcp_ab_ecn = tp->mss_cache * (tp->delivered_ce - ca->old_marked);
	info->dctcp.dctcp_ab_tot = tp->mss_cache * (tp->delivered - ca->old_delivered);
	*attr = INET_DIAG_DCTCPINFO;
	return sizeof(info->dctcp);
}

static void prague_init(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE && !tcp_ecn_mode_accecn(tp)) {
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &prague_reno);
		return;
	}
	memset(ca, 0, sizeof(*ca));
	ca->window = (u64)tcp_snd_cwnd(tp) << ONE;
	ca->ssthresh = tp->snd_ssthresh;
	ca->round_end = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_marked = tp->delivered_ce;
	ca->last_marked = tp->delivered_ce;
	ca->updated_us = tp->tcp_mstamp;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	prague_pace(sk, ca);
}

static struct tcp_congestion_ops prague __read_mostly = {
	.init		= prague_init,
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.ssthresh	= prague_ssthresh,
	.undo_cwnd	= prague_undo_cwnd,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static struct tcp_congestion_ops prague_reno __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "prague-reno",
};

static int __init prague_register(void)
{
	BUILD_BUG_ON(sizeof(struct prague) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&prague);
}
module_init(prague_register);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Prague congestion control");
