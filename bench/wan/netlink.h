/* netlink.h - a message to the kernel about devices and routes of the present network.
 *
 * Errors:  false, with errno.
 * Owner:   a message is the caller's, in place.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_WAN_NETLINK_H
#define ORBLOOM_BENCH_WAN_NETLINK_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

enum { NETLINK_MESSAGE_BYTES = 512 };

/* What is appended must fit. */
struct netlink_message {
    struct nlmsghdr header;
    char rest[NETLINK_MESSAGE_BYTES];
};

/* RTM_..., NLM_F_... but for what each has, and the structure that this type begins with. */
void netlink_begin(struct netlink_message *self, unsigned short type, unsigned short flags,
                   const void *body, size_t size);

/* An attribute; of a nest what follows belongs to it until it is closed. */
struct rtattr *netlink_append(struct netlink_message *self, unsigned short type, const void *data,
                              size_t size);
void netlink_close_nest(struct netlink_message *self, struct rtattr *nest);

/* Send it, and hear whether it was done. */
bool netlink_send(const struct netlink_message *self);

#endif
