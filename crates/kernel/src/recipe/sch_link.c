// SPDX-License-Identifier: GPL-2.0
/*
 * A link that sends at the opportunities of a trace, as two queueing disciplines at the two ends of
 * a cable: `link_start` takes a packet from its child when the link may start to send it, and
 * `link_end`, behind the cable, gives it to its child when its last byte has been sent. Both know
 * the trace and compute the same times from the same packets.
 *
 * At an opportunity 1500 bytes of IP packets may leave. A packet leaves with the one that carries
 * its last byte; what is left of that one serves packets that wait right then, and an opportunity
 * that finds nothing is lost. The trace repeats after its last time, and counts from the start of
 * the run. Before and after a trace a link may have a constant rate, or no limit at all.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

/* Bytes of IP packets that may leave at one opportunity, and those of a frame that are not of one. */
#define OPPORTUNITY	1500
#define HEADER		14

/* What a change says. A trace comes in pieces, in so many messages, and the last one says how the
 * link sends from then on.
 */
enum {
	LINK_UNSPEC,
	LINK_COUNT,	/* u32: opportunities of a trace that will come */
	LINK_TIMES,	/* u32[]: some more of them, in milliseconds, not decreasing */
	LINK_RATE,	/* u64: bit/s; zero for that trace, or for no limit when none has come */
	LINK_ZERO,	/* u64: the start of the run, in nanoseconds on CLOCK_MONOTONIC */
	__LINK_MAX,
};

static const struct nla_policy link_policy[__LINK_MAX] = {
	[LINK_COUNT]	= { .type = NLA_U32 },
	[LINK_TIMES]	= { .type = NLA_BINARY },
	[LINK_RATE]	= { .type = NLA_U64 },
	[LINK_ZERO]	= { .type = NLA_U64 },
};

struct link_trace {
	u32	*times;
	u32	count;
};

struct link {
	struct Qdisc		*child;
	struct qdisc_watchdog	watchdog;
	struct link_trace	trace;
	struct link_trace	coming;
	u32			come;
	u64			zero;
	u64			rate;
	/* What the packets so far took beyond whole nanoseconds, times the rate. */
	u64			carried;
	/* The next opportunity: rounds of the trace before it, and its place in the trace. */
	u64			round;
	u32			index;
	/* Time and rest of the last one that was used. */
	u64			used;
	u32			rest;
	/* When all that was started has been sent. */
	u64			free_at;
	/* Of link_start, for what time the timer was set, which comes up to a microsecond later. */
	u64			due;
	/* Of link_end, what has not been sent yet. */
	struct sk_buff_head	sending;
};

struct link_skb_cb {
	u64	sent_at;
};

static struct link_skb_cb *link_skb_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct link_skb_cb));
	return (struct link_skb_cb *)qdisc_skb_cb(skb)->data;
}

static u64 link_period(const struct link *link)
{
	return link->trace.times[link->trace.count - 1] * (u64)NSEC_PER_MSEC;
}

static u64 link_opportunity(const struct link *link)
{
	u64 within = link->trace.times[link->index] * (u64)NSEC_PER_MSEC;

	return link->zero + link->round * link_period(link) + within;
}

static void link_next(struct link *link)
{
	if (++link->index == link->trace.count) {
		link->index = 0;
		link->round++;
	}
}

/* Passes over the opportunities before now. */
static void link_skip_to(struct link *link, u64 now)
{
	u64 round = now > link->zero ? (now - link->zero) / link_period(link) : 0;

	/* The last opportunity of a round comes together with the start of the next one. */
	if (round > link->round + 1) {
		link->round = round - 1;
		link->index = 0;
	}
	while (link_opportunity(link) < now)
		link_next(link);
}

/* When a packet may start that waits. */
static u64 link_may_start(struct link *link, u64 now)
{
	if (!link->trace.count || (link->used >= now && link->rest))
		return max(now, link->used);
	link_skip_to(link, now);
	return link_opportunity(link);
}

/* When a packet has been sent that starts now. */
static u64 link_finish(struct link *link, u64 now, u32 len)
{
	u32 left = len > HEADER ? len - HEADER : 1;

	if (link->rate) {
		link->carried += len * 8 * (u64)NSEC_PER_SEC;
		now += link->carried / link->rate;
		link->carried %= link->rate;
	}
	if (!link->trace.count)
		return now;
	if (link->used < now) {
		link->rest = 0;
		link_skip_to(link, now);
	}
	while (left > link->rest) {
		left -= link->rest;
		link->used = link_opportunity(link);
		link->rest = OPPORTUNITY;
		link_next(link);
	}
	link->rest -= left;
	return link->used;
}

/* A packet of the child's leaves. */
static struct sk_buff *link_leave(struct Qdisc *sch, struct sk_buff *skb)
{
	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_bstats_update(sch, skb);
	}
	return skb;
}

static int link_start_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			      struct sk_buff **to_free)
{
	struct link *link = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret = qdisc_enqueue(skb, link->child, to_free);

	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *link_start_dequeue(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);
	u64 now = ktime_get_ns(), at;
	struct sk_buff *skb;

	if (link->due > now)
		return NULL;
	if (link->due)
		now = link->due;
	at = link_may_start(link, max(now, link->free_at));
	if (at > now) {
		link->due = sch->q.qlen ? at : 0;
		if (link->due)
			qdisc_watchdog_schedule_ns(&link->watchdog, at);
		return NULL;
	}
	skb = link->child->dequeue(link->child);
	if (skb)
		link->free_at = link_finish(link, now, qdisc_pkt_len(skb));
	else
		/* What comes later has not waited at that time. */
		link->due = 0;
	return link_leave(sch, skb);
}

static int link_end_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			    struct sk_buff **to_free)
{
	struct link *link = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	/* What starts does so at an opportunity, which is a whole millisecond. */
	if (link->trace.count && now > link->zero)
		now -= (now - link->zero) % NSEC_PER_MSEC;
	link->free_at = link_finish(link, max(now, link->free_at), qdisc_pkt_len(skb));
	link_skb_cb(skb)->sent_at = link->free_at;
	__skb_queue_tail(&link->sending, skb);
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *link_end_dequeue(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = skb_peek(&link->sending)) && link_skb_cb(skb)->sent_at <= now) {
		unsigned int len = qdisc_pkt_len(skb);
		struct sk_buff *to_free = NULL;
		int ret;

		__skb_unlink(skb, &link->sending);
		ret = qdisc_enqueue(skb, link->child, &to_free);
		kfree_skb_list(to_free);
		if (ret != NET_XMIT_SUCCESS) {
			if (net_xmit_drop_count(ret))
				qdisc_qstats_drop(sch);
			sch->qstats.backlog -= len;
			sch->q.qlen--;
		}
	}
	if (skb)
		qdisc_watchdog_schedule_ns(&link->watchdog, link_skb_cb(skb)->sent_at);
	return link_leave(sch, link->child->dequeue(link->child));
}

static void link_forget(struct link_trace *trace)
{
	kvfree(trace->times);
	trace->times = NULL;
	trace->count = 0;
}

/* The link sends in another way from now on. What is being sent is sent as it began. */
static void link_take_over(struct Qdisc *sch, u64 rate, u64 zero)
{
	struct link *link = qdisc_priv(sch);

	sch_tree_lock(sch);
	swap(link->trace, link->coming);
	link->rate = rate;
	link->zero = zero;
	link->carried = 0;
	link->round = 0;
	link->index = 0;
	link->used = 0;
	link->rest = 0;
	link->due = 0;
	sch_tree_unlock(sch);
	link_forget(&link->coming);
	/* What waits may be due sooner. */
	local_bh_disable();
	__netif_schedule(qdisc_root_sleeping(sch));
	local_bh_enable();
}

static int link_change(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct link *link = qdisc_priv(sch);
	struct link_trace *coming = &link->coming;
	struct nlattr *tb[__LINK_MAX];
	int err;

	err = nla_parse_nested_deprecated(tb, __LINK_MAX - 1, opt, link_policy, extack);
	if (err < 0)
		return err;
	if (tb[LINK_COUNT]) {
		u32 count = nla_get_u32(tb[LINK_COUNT]);

		link_forget(coming);
		link->come = 0;
		coming->times = kvmalloc_array(count, sizeof(u32), GFP_KERNEL);
		if (!coming->times)
			return -ENOMEM;
		coming->count = count;
	}
	if (tb[LINK_TIMES]) {
		u32 more = nla_len(tb[LINK_TIMES]) / sizeof(u32);

		if (more > coming->count - link->come)
			return -EINVAL;
		memcpy(coming->times + link->come, nla_data(tb[LINK_TIMES]), more * sizeof(u32));
		link->come += more;
	}
	if (tb[LINK_RATE] && tb[LINK_ZERO]) {
		/* A round of no length would never end. */
		if (coming->count && (link->come != coming->count ||
				      !coming->times[coming->count - 1]))
			return -EINVAL;
		link_take_over(sch, nla_get_u64(tb[LINK_RATE]), nla_get_u64(tb[LINK_ZERO]));
		link->come = 0;
	}
	return 0;
}

static int link_init(struct Qdisc *sch, struct nlattr *opt,
		     struct netlink_ext_ack *extack)
{
	struct link *link = qdisc_priv(sch);

	qdisc_watchdog_init(&link->watchdog, sch);
	__skb_queue_head_init(&link->sending);
	link->child = &noop_qdisc;
	return opt ? link_change(sch, opt, extack) : 0;
}

static void link_reset(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);

	qdisc_reset(link->child);
	__skb_queue_purge(&link->sending);
	link->due = 0;
	qdisc_watchdog_cancel(&link->watchdog);
}

static void link_destroy(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);

	qdisc_watchdog_cancel(&link->watchdog);
	qdisc_put(link->child);
	link_forget(&link->trace);
	link_forget(&link->coming);
}

static int link_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *new,
		      struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct link *link = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &link->child);
	return 0;
}

static struct Qdisc *link_leaf(struct Qdisc *sch, unsigned long class)
{
	struct link *link = qdisc_priv(sch);

	return link->child;
}

static unsigned long link_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void link_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int link_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	struct link *link = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = link->child->handle;
	return 0;
}

static const struct Qdisc_class_ops link_class_ops = {
	.graft		= link_graft,
	.leaf		= link_leaf,
	.find		= link_find,
	.walk		= link_walk,
	.dump		= link_dump_class,
};

static struct Qdisc_ops link_start_ops = {
	.cl_ops		= &link_class_ops,
	.id		= "link_start",
	.priv_size	= sizeof(struct link),
	.enqueue	= link_start_enqueue,
	.dequeue	= link_start_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= link_init,
	.reset		= link_reset,
	.destroy	= link_destroy,
	.change		= link_change,
	.owner		= THIS_MODULE,
};

static struct Qdisc_ops link_end_ops = {
	.cl_ops		= &link_class_ops,
	.id		= "link_end",
	.priv_size	= sizeof(struct link),
	.enqueue	= link_end_enqueue,
	.dequeue	= link_end_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= link_init,
	.reset		= link_reset,
	.destroy	= link_destroy,
	.change		= link_change,
	.owner		= THIS_MODULE,
};

static int __init link_register(void)
{
	int err = register_qdisc(&link_start_ops);

	return err ? err : register_qdisc(&link_end_ops);
}
module_init(link_register);
MODULE_LICENSE("GPL");
