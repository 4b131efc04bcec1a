// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queue library as a qdisc of Linux: the kernel's side.
 *
 * A qdisc of the kind `sojourn` runs the discipline whose string its option is. What it decides is
 * the library's (rust/); here is what only the kernel can do: memory, packets, the watchdog, locks
 * and netlink.
 *
 * All memory of a qdisc is one piece, taken when it is made, from which the library allocates. The
 * library runs for one qdisc at a time on a processor: sojourn_on() says for which. Making one
 * may sleep and is done outside of any lock; then sojourn_begin() says it for the task.
 */
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif
#include "library.h"

#define SOJOURN_TEXT_MAX	1024
#define SOJOURN_STATS_MAX	8192
/* Memory of a packet while a change moves it from queue to queue: bytes, as the library doubles. */
#define SOJOURN_MOVED		256
#define SOJOURN_MEMORY_MAX	(64 << 20)

static unsigned int memory_mib = 4;
module_param_named(memory, memory_mib, uint, 0644);
MODULE_PARM_DESC(memory, "memory of a qdisc at least, in MiB, from 1 to 64");

struct sojourn_sched {
	struct sojourn_memory	*memory;
	struct Qdisc		*sch;
	/* Of the call of the library that is under way: where drops go, and which packet is offered,
	 * until it is dropped. */
	struct sk_buff		**to_free;
	struct sk_buff		*offered;
	/* Drops of others than that one. */
	unsigned int		packets;
	unsigned int		bytes;
	/* The device's packets have no Ethernet header; the library is shown one before them. */
	bool			bare;
	/* When packets may leave. */
	u64			next;
	struct qdisc_watchdog	watchdog;
	/* What a dequeue drops. */
	struct sk_buff		*dropped;
	/* Whether the library is shown each packet's first bytes: it wants them, and they are in the
	 * packet as it knows them. Else it asks for them. */
	bool			reads;
};

static DEFINE_PER_CPU(struct sojourn_sched *, sojourn_on_cpu);
static DEFINE_MUTEX(sojourn_mutex);
static struct sojourn_memory *sojourn_in_task;

/* Says for which qdisc the library runs, where softirqs are off: so all of the kernel calls the two
 * functions for packets, under the lock of the root. */
static __always_inline void sojourn_on(struct sojourn_sched *q)
{
	lockdep_assert_in_softirq();
	this_cpu_write(sojourn_on_cpu, q);
}

static void sojourn_enter(struct sojourn_sched *q)
{
	local_bh_disable();
	sojourn_on(q);
}

static void sojourn_leave(void)
{
	local_bh_enable();
}

static void sojourn_begin(struct sojourn_memory *memory)
{
	mutex_lock(&sojourn_mutex);
	sojourn_in_task = memory;
}

static void sojourn_finish(void)
{
	sojourn_in_task = NULL;
	mutex_unlock(&sojourn_mutex);
}

struct sojourn_memory *sojourn_kernel_arena(void)
{
	return in_softirq() ? this_cpu_read(sojourn_on_cpu)->memory : sojourn_in_task;
}

void *sojourn_kernel_alloc(size_t size)
{
	if (in_softirq())
		return kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	/* The library cannot go on without, and the task that makes a qdisc can wait. */
	return kvmalloc(size, GFP_KERNEL | __GFP_NOFAIL);
}

void sojourn_kernel_free(void *at)
{
	kvfree(at);
}

/* Whether packets of a device begin with an Ethernet header. */
static bool sojourn_has_ethernet(const struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER || dev->type == ARPHRD_LOOPBACK;
}

/* The first bytes of a packet of a device without Ethernet, behind a header that says what follows:
 * no addresses, and the protocol. Returns how many there are. */
static noinline unsigned int sojourn_bare_front(const struct sk_buff *skb, u8 *room)
{
	struct ethhdr *header = (struct ethhdr *)room;
	unsigned int offset = skb_network_offset(skb);
	unsigned int len = min_t(unsigned int, skb->len - offset, SOJOURN_FRONT - ETH_HLEN);

	memset(header, 0, ETH_HLEN);
	header->h_proto = skb->protocol;
	return skb_copy_bits(skb, offset, room + ETH_HLEN, len) ? 0 : ETH_HLEN + len;
}

/* `room` has SOJOURN_FRONT bytes, and so many are asked for. */
const u8 *sojourn_kernel_front(size_t at, u8 *room, size_t *len)
{
	struct sk_buff *skb = (struct sk_buff *)at;

	if (unlikely(this_cpu_read(sojourn_on_cpu)->bare)) {
		*len = sojourn_bare_front(skb, room);
		return room;
	}
	*len = min_t(size_t, *len, skb->len);
	if (likely(skb_headlen(skb) >= *len))
		return skb->data;
	if (skb_copy_bits(skb, 0, room, *len))
		*len = 0;
	return room;
}

bool sojourn_kernel_set_ce(size_t skb)
{
	return INET_ECN_set_ce((struct sk_buff *)skb);
}

void sojourn_kernel_clear_dscp(size_t at)
{
	struct sk_buff *skb = (struct sk_buff *)at;
	int offset = skb_network_offset(skb);

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (!skb_try_make_writable(skb, offset + sizeof(struct iphdr)))
			ipv4_change_dsfield(ip_hdr(skb), INET_ECN_MASK, 0);
		break;
	case htons(ETH_P_IPV6):
		if (!skb_try_make_writable(skb, offset + sizeof(struct ipv6hdr)))
			ipv6_change_dsfield(ipv6_hdr(skb), INET_ECN_MASK, 0);
		break;
	}
}

u32 sojourn_kernel_mark(size_t skb)
{
	return ((struct sk_buff *)skb)->mark;
}

/* Source, destination and ports before a translation, as sch_cake takes them: IPv4 alone. The
 * function of netfilter's that looks them up is always in the kernel, and asks nf_conntrack if that
 * is loaded. */
bool sojourn_kernel_inside(size_t at, u32 inside[3])
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	struct sk_buff *skb = (struct sk_buff *)at;
	struct nf_conntrack_tuple tuple = {};
	/* What is found by the packet's addresses is the tuple of the other direction. */
	bool back = !skb_nfct(skb);

	if (skb_protocol(skb, true) != htons(ETH_P_IP) || !nf_ct_get_tuple_skb(&tuple, skb))
		return false;
	inside[0] = ntohl(back ? tuple.dst.u3.ip : tuple.src.u3.ip);
	inside[1] = ntohl(back ? tuple.src.u3.ip : tuple.dst.u3.ip);
	inside[2] = ntohs(back ? tuple.dst.u.all : tuple.src.u.all) << 16
		    | ntohs(back ? tuple.src.u.all : tuple.dst.u.all);
	return true;
#else
	return false;
#endif
}

u16 sojourn_kernel_class(size_t skb)
{
	u32 priority = ((struct sk_buff *)skb)->priority;
	struct Qdisc *sch = this_cpu_read(sojourn_on_cpu)->sch;

	return TC_H_MAJ(priority) == sch->handle ? TC_H_MIN(priority) : 0;
}

void sojourn_kernel_free_skb(size_t skb)
{
	kfree_skb((struct sk_buff *)skb);
}

void sojourn_kernel_dropped(void *call, size_t at, u32 reason)
{
	struct sk_buff *skb = (struct sk_buff *)at;
	struct sojourn_sched *q = call;
	struct Qdisc *sch = q->sch;

	sch->q.qlen--;
	sch->qstats.backlog -= qdisc_pkt_len(skb);
	qdisc_qstats_drop(sch);
	if (skb == q->offered) {
		q->offered = NULL;
	} else {
		q->packets++;
		q->bytes += qdisc_pkt_len(skb);
	}
	__qdisc_drop(skb, q->to_free);
}

/* A broken invariant of the library: there is no way on. */
void sojourn_kernel_panic(const char *text, size_t len)
{
	pr_emerg("sch_sojourn: %.*s\n", (int)len, text);
	BUG();
}

/* What the library is told of a packet beside its length: its memory, and its hash over addresses
 * and ports, which Linux's own flow queues take too. */
static __always_inline u64 sojourn_facts(const struct sk_buff *skb)
{
	u64 facts = skb->truesize;

	if (likely(skb->l4_hash || skb->sw_hash))
		facts |= (u64)skb->hash << 32;
	return facts;
}

/* Offers a packet with its first bytes. Those that are not in one piece the library finds itself. */
static noinline void sojourn_offer_read(struct sojourn_sched *q, struct sk_buff *skb, u64 now)
{
	unsigned int len = min_t(unsigned int, skb->len, SOJOURN_FRONT);

	if (unlikely(skb_headlen(skb) < len))
		len = 0;
	sojourn_enqueue_read(q->memory, (size_t)skb, skb->data,
			     (u64)len << 32 | qdisc_pkt_len(skb), now, sojourn_facts(skb));
}

/* Offers a packet that is not a super-packet; returns whether it was taken. */
static __always_inline bool sojourn_offer(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	u64 now = ktime_get_ns();

	q->offered = skb;
	sch->q.qlen++;
	sch->qstats.backlog += len;
	if (q->reads)
		sojourn_offer_read(q, skb, now);
	else
		sojourn_enqueue(q->memory, (size_t)skb, len, now, sojourn_facts(skb));
	return q->offered;
}

/* What follows when the library has dropped packets of those that it holds: while the parent knows
 * of a packet here, as HTB asks. */
static noinline void sojourn_dropped_held(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sk_buff *dropped = q->dropped;
	unsigned int packets = q->packets, bytes = q->bytes;

	q->dropped = NULL;
	q->packets = q->bytes = 0;
	qdisc_tree_reduce_backlog(sch, packets, bytes);
	kfree_skb_list(dropped);
}

/* Offers the segments of a super-packet; a discipline then decides on packets as the wire has them. */
static noinline int sojourn_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch,
					     struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int whole = qdisc_pkt_len(skb), packets = 0, bytes = 0;
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sk_buff *segments, *next;

	segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segments)) {
		qdisc_qstats_drop(sch);
		return __qdisc_drop(skb, to_free), NET_XMIT_DROP;
	}
	sojourn_on(q);
	q->to_free = to_free;
	skb_list_walk_safe(segments, segments, next) {
		unsigned int len = segments->len;

		skb_mark_not_on_list(segments);
		qdisc_skb_cb(segments)->pkt_len = len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
		qdisc_skb_cb(segments)->pkt_segs = 1;
#endif
		if (sojourn_offer(sch, segments)) {
			packets++;
			bytes += len;
		}
	}
	consume_skb(skb);
	/* A parent counts the one that it has given. */
	if (packets) {
		q->packets += 1 - packets;
		q->bytes += whole - bytes;
	}
	sojourn_dropped_held(sch);
	return packets ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

static int sojourn_qdisc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	bool taken;

	if (unlikely(skb_is_gso(skb)))
		return sojourn_enqueue_segments(skb, sch, to_free);
	sojourn_on(q);
	q->to_free = to_free;
	taken = sojourn_offer(sch, skb);
	if (unlikely(q->packets))
		sojourn_dropped_held(sch);
	return taken ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

static struct sk_buff *sojourn_qdisc_dequeue(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	sojourn_on(q);
	q->to_free = &q->dropped;
	q->offered = NULL;
	skb = (struct sk_buff *)sojourn_dequeue(q->memory, ktime_get_ns(), &q->next);
	if (likely(skb)) {
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		_bstats_update(&sch->bstats, qdisc_pkt_len(skb), 1);
	} else if (q->next) {
		qdisc_qstats_overlimit(sch);
		qdisc_watchdog_schedule_ns(&q->watchdog, q->next);
	}
	if (unlikely(q->packets))
		sojourn_dropped_held(sch);
	return skb;
}

/* The string of an option, which may end with a zero; that of none is `fq_codel`. */
static const char *sojourn_text(const struct nlattr *opt, size_t *len)
{
	if (!opt) {
		*len = strlen("fq_codel");
		return "fq_codel";
	}
	*len = strnlen(nla_data(opt), nla_len(opt));
	return nla_data(opt);
}

/* Gives up what is in a memory, which need not be the qdisc's own. */
static void sojourn_free(struct sojourn_memory *memory)
{
	struct sojourn_sched q = { .memory = memory };

	sojourn_enter(&q);
	sojourn_end(memory);
	sojourn_leave();
	vfree(memory);
}

/* A qdisc in memory of its own: as much as its string takes twice over. */
static struct sojourn_memory *sojourn_make(struct Qdisc *sch, const struct nlattr *opt,
					   struct netlink_ext_ack *extack)
{
	size_t bytes = (size_t)clamp(memory_mib, 1U, 64U) << 20, len;
	const char *text = sojourn_text(opt, &len);
	struct sojourn_link link = {
		.seed = get_random_u64(),
		.mtu = psched_mtu(qdisc_dev(sch)),
		/* As skb_network_offset() of packets without tags: PPP adds its header later. */
		.link_header = sojourn_has_ethernet(qdisc_dev(sch)) ? ETH_HLEN : 0,
	};
	char why[160];

	if (len > SOJOURN_TEXT_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "a string of more than 1024 bytes");
		return ERR_PTR(-EINVAL);
	}
	for (; bytes <= SOJOURN_MEMORY_MAX; bytes *= 2) {
		struct sojourn_memory *memory;
		void *at = vmalloc(bytes);
		int result;

		if (!at)
			return ERR_PTR(-ENOMEM);
		memory = sojourn_arena(at, bytes, qdisc_priv(sch));
		why[0] = '\0';
		sojourn_begin(memory);
		result = sojourn_new(memory, text, len, &link, why, sizeof(why) - 1);
		sojourn_finish();
		if (result == SOJOURN_DONE)
			return memory;
		sojourn_free(memory);
		if (result == SOJOURN_NO_DISCIPLINE) {
			why[sizeof(why) - 1] = '\0';
			pr_info("sch_sojourn: %s\n", why);
			NL_SET_ERR_MSG_MOD(extack, "not a discipline's string; dmesg says why");
			return ERR_PTR(-EINVAL);
		}
	}
	NL_SET_ERR_MSG_MOD(extack, "the discipline takes more than 32 MiB of memory");
	return ERR_PTR(-ENOMEM);
}

static int sojourn_qdisc_init(struct Qdisc *sch, struct nlattr *opt,
			      struct netlink_ext_ack *extack)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sojourn_memory *memory;

	q->sch = sch;
	q->bare = !sojourn_has_ethernet(qdisc_dev(sch));
	qdisc_watchdog_init(&q->watchdog, sch);
	memory = sojourn_make(sch, opt, extack);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	q->memory = memory;
	q->reads = !q->bare && sojourn_reads(memory);
	return 0;
}

/* Tries the string on its own first: in the live qdisc's memory there must be no surprise. */
static int sojourn_qdisc_change(struct Qdisc *sch, struct nlattr *opt,
				struct netlink_ext_ack *extack)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	struct sojourn_memory *trial = sojourn_make(sch, opt, extack);
	size_t len, used, moved;
	const char *text = sojourn_text(opt, &len);
	int err = -ENOMEM;

	if (IS_ERR(trial))
		return PTR_ERR(trial);
	used = sojourn_used(trial);
	sojourn_free(trial);
	sch_tree_lock(sch);
	moved = (size_t)sch->q.qlen * SOJOURN_MOVED;
	sojourn_enter(q);
	if (sojourn_can_take(q->memory, 2 * (used + moved), moved))
		err = sojourn_change(q->memory, text, len, ktime_get_ns()) ? -EINVAL : 0;
	q->reads = !q->bare && sojourn_reads(q->memory);
	sojourn_leave();
	sch_tree_unlock(sch);
	if (err == -ENOMEM)
		NL_SET_ERR_MSG_MOD(extack, "no memory to change it; replace it, or load with memory=");
	/* What waits may be due sooner. */
	if (!err)
		qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
	return err;
}

static void sojourn_qdisc_reset(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (q->memory) {
		sojourn_enter(q);
		sojourn_reset(q->memory);
		sojourn_leave();
	}
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

static void sojourn_qdisc_destroy(struct Qdisc *sch)
{
	struct sojourn_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (q->memory)
		sojourn_free(q->memory);
	q->memory = NULL;
}

/* The string of the qdisc, or its statistics as JSON for a handle: to be freed, as long as `len`. */
static char *sojourn_shown(struct Qdisc *sch, u16 handle, size_t room, size_t *len)
{
	struct sojourn_sched *q = qdisc_priv(sch);
	char *text = kvmalloc(room, GFP_KERNEL);

	if (!text)
		return NULL;
	sch_tree_lock(sch);
	sojourn_enter(q);
	*len = sojourn_show(q->memory, handle, ktime_get_ns(), text, room - 1);
	sojourn_leave();
	sch_tree_unlock(sch);
	if (*len >= room)
		*len = 0;
	text[*len] = '\0';
	return text;
}

static int sojourn_qdisc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	size_t len;
	char *text = sojourn_shown(sch, 0, SOJOURN_TEXT_MAX, &len);
	int err;

	if (!text)
		return -ENOMEM;
	err = nla_put_string(skb, TCA_OPTIONS, text);
	kvfree(text);
	return err ? -EMSGSIZE : skb->len;
}

/* The library's report, where the message has room for it, which goes there twice. */
static int sojourn_qdisc_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	size_t len;
	char *text = sojourn_shown(sch, TC_H_MAJ(sch->handle) >> 16, SOJOURN_STATS_MAX, &len);
	int err = 0;

	if (!text)
		return 0;
	if (len && 2 * len + 256 < skb_tailroom(d->skb))
		err = gnet_stats_copy_app(d, text, len + 1);
	kvfree(text);
	return err;
}

static struct Qdisc_ops sojourn_qdisc_ops __read_mostly = {
	.id		= "sojourn",
	.priv_size	= sizeof(struct sojourn_sched),
	.enqueue	= sojourn_qdisc_enqueue,
	.dequeue	= sojourn_qdisc_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= sojourn_qdisc_init,
	.change		= sojourn_qdisc_change,
	.reset		= sojourn_qdisc_reset,
	.destroy	= sojourn_qdisc_destroy,
	.dump		= sojourn_qdisc_dump,
	.dump_stats	= sojourn_qdisc_dump_stats,
	.owner		= THIS_MODULE,
};

/* `echo 'PACKETS STRING' > parameters/check`, then read what the discipline has decided. */
static char sojourn_checked[256];

static int sojourn_check_set(const char *value, const struct kernel_param *kp)
{
	struct sojourn_memory *memory;
	size_t bytes = 8 << 20, len;
	unsigned long packets;
	char *end;
	void *at;

	packets = simple_strtoul(value, &end, 10);
	if (!packets || *end++ != ' ')
		return -EINVAL;
	len = strcspn(end, "\n");
	at = vmalloc(bytes);
	if (!at)
		return -ENOMEM;
	memory = sojourn_arena(at, bytes, NULL);
	sojourn_begin(memory);
	len = sojourn_check(end, len, packets, sojourn_checked, sizeof(sojourn_checked) - 1);
	sojourn_checked[len] = '\0';
	sojourn_finish();
	vfree(at);
	return 0;
}

static int sojourn_check_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", sojourn_checked);
}

static const struct kernel_param_ops sojourn_check_ops = {
	.set = sojourn_check_set,
	.get = sojourn_check_get,
};
module_param_cb(check, &sojourn_check_ops, NULL, 0600);
MODULE_PARM_DESC(check, "packets and a discipline's string: decides on a made sequence");

static int __init sojourn_module_init(void)
{
	return register_qdisc(&sojourn_qdisc_ops);
}

static void __exit sojourn_module_exit(void)
{
	unregister_qdisc(&sojourn_qdisc_ops);
}

module_init(sojourn_module_init)
module_exit(sojourn_module_exit)
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Sojourn's queue disciplines (experimental)");
