/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The border to the queue library: rust/src/lib.rs, where each function is explained. */
#ifndef SOJOURN_LIBRARY_H
#define SOJOURN_LIBRARY_H

#include <linux/types.h>

/* Bytes of a packet that are looked at. */
#define SOJOURN_FRONT	128

/* Results of sojourn_new() and sojourn_change(). */
#define SOJOURN_DONE		0
#define SOJOURN_NO_DISCIPLINE	1
#define SOJOURN_NO_MEMORY	2

struct sojourn_memory;

struct sojourn_link {
	u64	seed;
	u32	mtu;
	u32	link_header;
};

struct sojourn_memory *sojourn_arena(void *at, size_t bytes, void *call);
int sojourn_new(struct sojourn_memory *memory, const char *text, size_t len,
		const struct sojourn_link *link, char *room, size_t room_len);
void sojourn_end(struct sojourn_memory *memory);
size_t sojourn_used(struct sojourn_memory *memory);
bool sojourn_can_take(struct sojourn_memory *memory, size_t bytes, size_t at_once);
bool sojourn_reads(struct sojourn_memory *memory);
void sojourn_enqueue(struct sojourn_memory *memory, size_t skb, u32 len, u64 now, u64 facts);
void sojourn_enqueue_read(struct sojourn_memory *memory, size_t skb, const u8 *front, u64 lengths,
			  u64 now, u64 facts);
size_t sojourn_dequeue(struct sojourn_memory *memory, u64 now, u64 *next);
int sojourn_change(struct sojourn_memory *memory, const char *text, size_t len, u64 now);
void sojourn_reset(struct sojourn_memory *memory);
size_t sojourn_show(struct sojourn_memory *memory, u16 handle, u64 now, char *room,
		    size_t room_len);
size_t sojourn_check(const char *text, size_t len, u64 packets, char *room, size_t room_len);

/* What the library calls. */
struct sojourn_memory *sojourn_kernel_arena(void);
void *sojourn_kernel_alloc(size_t size);
void sojourn_kernel_free(void *at);
const u8 *sojourn_kernel_front(size_t skb, u8 *room, size_t *len);
bool sojourn_kernel_set_ce(size_t skb);
void sojourn_kernel_clear_dscp(size_t skb);
u32 sojourn_kernel_mark(size_t skb);
bool sojourn_kernel_inside(size_t skb, u32 inside[3]);
u16 sojourn_kernel_class(size_t skb);
void sojourn_kernel_free_skb(size_t skb);
void sojourn_kernel_dropped(void *call, size_t skb, u32 reason);
void sojourn_kernel_panic(const char *text, size_t len) __noreturn;

#endif
