// SPDX-License-Identifier: GPL-2.0
/*
 * A linear policy of learn.py as a congestion control of Linux. learn.py --control puts in the
 * weights, and `sojourn kernel build --control` compiles it into a guest's kernel.
 *
 * It decides at the first ACK that is 10 ms or more behind the last decision. Window and pacing
 * hold until then, also in recovery; a timeout leaves one segment. Numbers have 16 bits behind the
 * point.
 *
 * Differs from the environment: that decides every 10 ms, whether there are ACKs or not.
 */
#ifndef POLICY_ALONE
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/tcp.h>
#endif

#define ONE		65536
#define EVERY_US	10000
#define FEATURES	5

/* Windows' exponent, and that of pacing. */
static const s32 weights[2][FEATURES] = {WEIGHTS};
/* The hyperbolic tangent at multiples of 1/8, up to 4. */
static const s32 tanh_at[33] = {TANH};

static s32 policy_tanh(s64 x)
{
	u64 size = x < 0 ? -x : x;
	u32 place = size / (ONE / 8);
	s64 part = size % (ONE / 8);
	s64 result;

	if (place >= 32)
		result = tanh_at[32];
	else
		result = tanh_at[place] +
			 (tanh_at[place + 1] - tanh_at[place]) * part / (ONE / 8);
	return x < 0 ? -result : result;
}

/* Two to the power of x, which is between -1 and 1. */
static u32 policy_exp2(s32 x)
{
	u64 part = x < 0 ? x + ONE : x;
	u64 sum = ONE + ((part * (45581 + ((part * (14816 + ((part * 5139) >> 16))) >> 16))) >> 16);

	return x < 0 ? sum / 2 : sum;
}

/* The factor of the window, and windows in a round trip. */
static void policy_decide(const s32 *features, u32 *factor, u32 *pacing)
{
	s64 sums[2] = {0, 0};
	int output, input;

	for (output = 0; output < 2; output++)
		for (input = 0; input < FEATURES; input++)
			sums[output] += (s64)weights[output][input] * features[input];
	*factor = policy_exp2(policy_tanh(sums[0] >> 16) / 5);
	*pacing = policy_exp2(policy_tanh(sums[1] >> 16));
}

#ifndef POLICY_ALONE
struct own {
	u64	window;
	u64	decided_us;
	u64	rtt_sum_us;
	u32	rtts;
	u32	rtt_us;
	u32	pacing;
	/* The connection's counters at the last decision. */
	u32	delivered;
	u32	lost;
	u32	marked;
};

static void own_count(const struct tcp_sock *tp, struct own *ca)
{
	ca->decided_us = tp->tcp_mstamp;
	ca->delivered = tp->delivered;
	ca->lost = tp->lost;
	ca->marked = tp->delivered_ce;
	ca->rtt_sum_us = 0;
	ca->rtts = 0;
}

static void own_decide(const struct tcp_sock *tp, struct own *ca)
{
	u32 delivered = tp->delivered - ca->delivered;
	u32 lost = tp->lost - ca->lost;
	u32 marked = tp->delivered_ce - ca->marked;
	u32 lowest = tcp_min_rtt(tp);
	s32 features[FEATURES] = {0, 0, 0, 0, ONE};
	u32 factor;
	u64 used;

	if (ca->rtts)
		ca->rtt_us = div_u64(ca->rtt_sum_us, ca->rtts);
	if (ca->rtt_us > lowest)
		features[0] = 4 * div_u64((u64)(ca->rtt_us - lowest) << 16, ca->rtt_us);
	if (lost)
		features[1] = 10 * div_u64((u64)lost << 16, lost + delivered);
	if (marked)
		features[2] = div_u64((u64)marked << 16, max(delivered, marked));
	used = div64_u64((u64)tcp_packets_in_flight(tp) << 32, ca->window);
	features[3] = min_t(u64, used, ONE);
	policy_decide(features, &factor, &ca->pacing);
	ca->window = clamp_t(u64, (ca->window * factor) >> 16, ONE, (u64)ONE << 16);
	own_count(tp, ca);
}

static void own_apply(struct sock *sk, const struct own *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 srtt = tp->srtt_us >> 3;
	u64 rate;

	tcp_snd_cwnd_set(tp, min_t(u32, ca->window >> 16, tp->snd_cwnd_clamp));
	if (!srtt)
		return;
	rate = ((ca->window >> 4) * tp->mss_cache * ca->pacing) >> 16;
	rate = div_u64(rate * USEC_PER_SEC, srtt) >> 12;
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, max_t(u64, rate, 1), READ_ONCE(sk->sk_max_pacing_rate)));
}

static void own_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct own *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* The ACK of a SYN-ACK comes before own_init(). */
	if (!ca->window)
		return;
	if (rs->rtt_us > 0) {
		ca->rtt_sum_us += rs->rtt_us;
		ca->rtts++;
	}
	if (tp->tcp_mstamp - ca->decided_us >= EVERY_US)
		own_decide(tp, ca);
	own_apply(sk, ca);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void own_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
static void own_cong_control(struct sock *sk, const struct rate_sample *rs)
#endif
{
	own_ack(sk, rs);
}

static void own_set_state(struct sock *sk, u8 state)
{
	struct own *ca = inet_csk_ca(sk);

	if (state == TCP_CA_Loss && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)
		ca->window = ONE;
}

static u32 own_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 own_undo_cwnd(struct sock *sk)
{
	const struct own *ca = inet_csk_ca(sk);

	return ca->window >> 16;
}

static u32 own_min_tso_segs(struct sock *sk)
{
	return 1;
}

static void own_init(struct sock *sk)
{
	struct own *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(ca, 0, sizeof(*ca));
	ca->window = (u64)tcp_snd_cwnd(tp) << 16;
	ca->pacing = 2 * ONE;
	ca->rtt_us = tp->srtt_us >> 3;
	own_count(tp, ca);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	own_apply(sk, ca);
}

static struct tcp_congestion_ops own __read_mostly = {
	.init		= own_init,
	.cong_control	= own_cong_control,
	.set_state	= own_set_state,
	.ssthresh	= own_ssthresh,
	.undo_cwnd	= own_undo_cwnd,
	.min_tso_segs	= own_min_tso_segs,
	.owner		= THIS_MODULE,
	.name		= "own",
};

static int __init own_register(void)
{
	BUILD_BUG_ON(sizeof(struct own) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&own);
}
module_init(own_register);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A learned congestion control");
#endif
