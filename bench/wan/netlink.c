/* Builds messages with attributes, sends them, and reads what the kernel says of each. */
#include "bench/wan/netlink.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void *end_of(struct netlink_message *self)
{
    return (char *)self + NLMSG_ALIGN(self->header.nlmsg_len);
}

void netlink_begin(struct netlink_message *self, unsigned short type, unsigned short flags,
                   const void *body, size_t size)
{
    assert(size <= sizeof self->rest);

    *self = (struct netlink_message){
        .header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
                   .nlmsg_type = type,
                   .nlmsg_flags = (unsigned short)(flags | NLM_F_REQUEST | NLM_F_ACK)}};
    memcpy(NLMSG_DATA(&self->header), body, size);
}

struct rtattr *netlink_append(struct netlink_message *self, unsigned short type, const void *data,
                              size_t size)
{
    struct rtattr *attribute = end_of(self);

    assert(NLMSG_ALIGN(self->header.nlmsg_len) + RTA_SPACE(size) <= sizeof *self);

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size > 0) {
        memcpy(RTA_DATA(attribute), data, size);
    }
    self->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(self->header.nlmsg_len) +
                                        RTA_ALIGN(attribute->rta_len));
    return attribute;
}

void netlink_close_nest(struct netlink_message *self, struct rtattr *nest)
{
    nest->rta_len = (unsigned short)((char *)end_of(self) - (char *)nest);
}

bool netlink_send(const struct netlink_message *self)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    char buffer[sizeof *self * 2];
    struct nlmsgerr error = {.error = -EIO};
    ssize_t size = -1;

    if (fd >= 0 && send(fd, self, self->header.nlmsg_len, 0) >= 0) {
        size = recv(fd, buffer, sizeof buffer, 0);
    }
    if (size >= (ssize_t)(sizeof(struct nlmsghdr) + sizeof error)) {
        memcpy(&error, buffer + sizeof(struct nlmsghdr), sizeof error);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = -error.error;
    return error.error == 0;
}
