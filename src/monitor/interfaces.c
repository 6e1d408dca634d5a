/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/interfaces.h"

#include <math.h>
#include <string.h>

#include "monitor/numbers.h"

/* Received bytes, packets and six more, then the same of sent. */
enum { RECEIVED_BYTES, RECEIVED_PACKETS, SENT_BYTES = 8, SENT_PACKETS, COLUMNS_READ };

static bool add_columns(sh_interfaces *sums, const char *at)
{
    double columns[COLUMNS_READ];
    for (int i = 0; i < COLUMNS_READ; i++) {
        columns[i] = sh_numbers_next(&at);
        if (!(columns[i] >= 0))
            return false;
    }
    sums->received_bytes += columns[RECEIVED_BYTES];
    sums->received_packets += columns[RECEIVED_PACKETS];
    sums->sent_bytes += columns[SENT_BYTES];
    sums->sent_packets += columns[SENT_PACKETS];
    return true;
}

bool sh_interfaces_sum(sh_interfaces *sums, const char *text)
{
    sh_interfaces found = {0};
    size_t count = 0, line = 0;
    for (const char *at = text; *at != '\0'; line++) {
        const char *end = at + strcspn(at, "\n");
        if (line >= 2) { /* after the headings */
            const char *name = at + strspn(at, " ");
            const char *colon = name + strcspn(name, ":\n");
            if (*colon != ':')
                return false;
            const bool loopback = colon - name == 2 && memcmp(name, "lo", 2) == 0;
            if (!loopback && !add_columns(&found, colon + 1))
                return false;
            count += !loopback;
        }
        at = *end == '\n' ? end + 1 : end;
    }
    if (count == 0)
        return false;
    *sums = found;
    return true;
}
