// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counts what a qdisc costs a packet: instructions, in a guest of `qemu -icount shift=0`, whose
 * rdtsc counts them exactly. On any other machine the figures are cycles.
 *
 *   echo 'DEVICE ROUNDS BACKLOG HASH' > /sys/module/cost/parameters/run
 *
 * enqueues BACKLOG packets at the root qdisc of DEVICE and dequeues them again, ROUNDS times. The
 * packets are UDP of 32 flows. With HASH 1 they have skb->hash already, as if a network card or a
 * socket had set it; with 0 a qdisc that wants it has to dissect them. Reading the file gives the
 * instructions of an enqueue and of a dequeue. Only the two calls are counted.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <asm/msr.h>
#include <net/ip.h>
#include <net/pkt_sched.h>

#define COST_FLOWS	32
#define COST_BYTES	500
#define COST_BACKLOG	512

static char cost_result[64];
static struct sk_buff *cost_in[COST_BACKLOG], *cost_out[COST_BACKLOG];

static struct sk_buff *cost_packet(struct net_device *dev, unsigned int flow)
{
	struct sk_buff *skb = alloc_skb(COST_BYTES, GFP_KERNEL);
	struct udphdr *udp;
	struct iphdr *ip;
	struct ethhdr *eth;

	if (!skb)
		return NULL;
	eth = skb_put_zero(skb, COST_BYTES);
	eth->h_proto = htons(ETH_P_IP);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	ip = ip_hdr(skb);
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->tot_len = htons(COST_BYTES - ETH_HLEN);
	ip->protocol = IPPROTO_UDP;
	ip->saddr = htonl(0x0a000001 + flow % 4);
	ip->daddr = htonl(0x0a000101 + flow % 8);
	ip_send_check(ip);
	skb_set_transport_header(skb, ETH_HLEN + sizeof(*ip));
	udp = udp_hdr(skb);
	udp->source = htons(1000 + flow);
	udp->dest = htons(443);
	udp->len = htons(COST_BYTES - ETH_HLEN - sizeof(*ip));
	skb->protocol = htons(ETH_P_IP);
	skb->dev = dev;
	return skb;
}

/* One round; returns whether each packet came out again. */
static bool cost_round(struct Qdisc *q, unsigned int backlog, u64 *enqueued, u64 *dequeued)
{
	struct sk_buff *to_free = NULL;
	unsigned int i, out = 0;
	u64 start, middle, end;

	spin_lock_bh(qdisc_lock(q));
	start = rdtsc_ordered();
	for (i = 0; i < backlog; i++)
		q->enqueue(cost_in[i], q, &to_free);
	middle = rdtsc_ordered();
	for (i = 0; i < backlog; i++)
		cost_out[i] = q->dequeue(q);
	end = rdtsc_ordered();
	spin_unlock_bh(qdisc_lock(q));
	*enqueued += middle - start;
	*dequeued += end - middle;
	kfree_skb_list(to_free);
	for (i = 0; i < backlog; i++)
		if (cost_out[i])
			cost_in[out++] = cost_out[i];
	memset(cost_in + out, 0, (backlog - out) * sizeof(*cost_in));
	return out == backlog;
}

static int cost_of(struct net_device *dev, unsigned int rounds, unsigned int backlog, bool hash)
{
	struct Qdisc *q = rtnl_dereference(dev->qdisc);
	u64 enqueued = 0, dequeued = 0, packets = (u64)rounds * backlog;
	unsigned int i, round;
	int err = 0;

	for (i = 0; i < backlog && !err; i++) {
		cost_in[i] = cost_packet(dev, i % COST_FLOWS);
		err = cost_in[i] ? 0 : -ENOMEM;
	}
	/* The first round takes the memory that later ones reuse. */
	for (round = 0; round <= rounds && !err; round++) {
		for (i = 0; i < backlog; i++) {
			memset(cost_in[i]->cb, 0, sizeof(cost_in[i]->cb));
			qdisc_skb_cb(cost_in[i])->pkt_len = cost_in[i]->len;
			skb_clear_hash(cost_in[i]);
			if (hash)
				skb_set_hash(cost_in[i], (i % COST_FLOWS + 1) * 0x9e3779b1,
					     PKT_HASH_TYPE_L4);
		}
		if (round == 1)
			enqueued = dequeued = 0;
		if (!cost_round(q, backlog, &enqueued, &dequeued))
			err = -EIO;
		cond_resched();
	}
	for (i = 0; i < backlog; i++)
		kfree_skb(cost_in[i]);
	memset(cost_in, 0, sizeof(cost_in));
	if (!err)
		scnprintf(cost_result, sizeof(cost_result), "%llu %llu\n", enqueued / packets,
			  dequeued / packets);
	return err;
}

static int cost_set(const char *value, const struct kernel_param *kp)
{
	unsigned int rounds, backlog, hash;
	struct net_device *dev;
	char name[IFNAMSIZ];
	int err = -ENODEV;

	if (sscanf(value, "%15s %u %u %u", name, &rounds, &backlog, &hash) != 4 || !rounds ||
	    !backlog || backlog > COST_BACKLOG)
		return -EINVAL;
	rtnl_lock();
	dev = __dev_get_by_name(&init_net, name);
	if (dev)
		err = cost_of(dev, rounds, backlog, hash);
	rtnl_unlock();
	return err;
}

static int cost_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", cost_result);
}

static const struct kernel_param_ops cost_ops = {
	.set = cost_set,
	.get = cost_get,
};
module_param_cb(run, &cost_ops, NULL, 0600);
MODULE_PARM_DESC(run, "DEVICE ROUNDS BACKLOG HASH");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Cost of a qdisc, in instructions a packet");
