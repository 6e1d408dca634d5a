/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/key.h"

typedef struct entry {
    struct entry *next;
    sh_mail mail;
} entry;

struct sh_mailbox {
    int fd; /* readable while entries wait */
    pthread_mutex_t lock;
    entry *first, **last; /* guarded by lock, like all below */
    uint32_t count;
    bool lost;
};

sh_status sh_mailbox_new(sh_mailbox **mailbox)
{
    sh_mailbox *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a mailbox");
    fresh->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (fresh->fd < 0) {
        const int error = errno;
        free(fresh);
        return sh_fail_errno(error, "making a mailbox");
    }
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->last = &fresh->first;
    *mailbox = fresh;
    return SH_OK;
}

void sh_mailbox_free(sh_mailbox *mailbox)
{
    if (mailbox == NULL)
        return;
    for (entry *each = mailbox->first, *next; each != NULL; each = next) {
        next = each->next;
        sh_mail_drop(&each->mail);
        free(each);
    }
    pthread_mutex_destroy(&mailbox->lock);
    close(mailbox->fd);
    free(mailbox);
}

void sh_mail_drop(sh_mail *mail)
{
    sh_key_free(mail->data, mail->data_bytes);
    mail->data = NULL;
}

void sh_mailbox_post(sh_mailbox *mailbox, const sh_mail *mail)
{
    const uint64_t one = 1;
    entry *fresh = malloc(sizeof *fresh);
    pthread_mutex_lock(&mailbox->lock);
    if (fresh == NULL || mailbox->count == SH_MAILBOX_MAX) {
        mailbox->lost = true;
        free(fresh);
        sh_mail_drop(&(sh_mail){.data = mail->data, .data_bytes = mail->data_bytes});
    } else {
        *fresh = (entry){.mail = *mail};
        *mailbox->last = fresh;
        mailbox->last = &fresh->next;
        mailbox->count++;
    }
    pthread_mutex_unlock(&mailbox->lock);
    const ssize_t wrote = write(mailbox->fd, &one, sizeof one);
    (void)wrote;
}

void sh_mailbox_post_text(sh_mailbox *mailbox, sh_mail_kind kind, sh_status status,
                          const char *text)
{
    sh_mail mail = {.kind = kind, .status = status};
    snprintf(mail.text, sizeof mail.text, "%s", text);
    sh_mailbox_post(mailbox, &mail);
}

static bool take(sh_mailbox *mailbox, sh_mail *mail, bool *lost)
{
    pthread_mutex_lock(&mailbox->lock);
    entry *first = mailbox->first;
    *lost = mailbox->lost;
    if (first != NULL) {
        mailbox->first = first->next;
        if (mailbox->first == NULL)
            mailbox->last = &mailbox->first;
        mailbox->count--;
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (first == NULL)
        return false;
    *mail = first->mail;
    free(first);
    return true;
}

bool sh_mailbox_take(sh_mailbox *mailbox, sh_mail *mail)
{
    uint64_t drained;
    bool lost;
    if (!take(mailbox, mail, &lost))
        return false;
    const ssize_t got = read(mailbox->fd, &drained, sizeof drained);
    (void)got;
    return true;
}

sh_status sh_mailbox_wait(sh_mailbox *mailbox, sh_mail *mail, const sh_stop *stop,
                          uint32_t timeout_ms)
{
    for (;;) {
        bool lost;
        uint64_t drained;
        struct pollfd fds[] = {{.fd = mailbox->fd, .events = POLLIN},
                               {.fd = sh_stop_fd(stop), .events = POLLIN}};
        const int ready = poll(fds, 2, timeout_ms == 0 ? -1 : (int)timeout_ms);
        if (ready < 0 && errno != EINTR)
            return sh_fail_errno(errno, "waiting for mail");
        if (ready == 0)
            return sh_fail(SH_LIMIT, "nothing came within %u ms", timeout_ms);
        if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
            const ssize_t got = read(mailbox->fd, &drained, sizeof drained);
            (void)got;
            if (take(mailbox, mail, &lost))
                return SH_OK;
            if (lost)
                return sh_fail(SH_NO_MEMORY, "mail was lost: no memory, or too much at once");
        }
        if (sh_stop_requested(stop))
            return sh_fail(SH_STOPPED, "stopped on request");
    }
}
