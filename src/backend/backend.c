/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

#ifdef SHOAL_HAVE_ONEDNN
#include "backend/onednn/onednn.h"
#endif
#include "backend/portable/portable.h"

const sh_backend *const *sh_backend_all(void)
{
    static const sh_backend *const all[] = {
#ifdef SHOAL_HAVE_ONEDNN
        &sh_onednn_backend,
#endif
        &sh_portable_backend,
        NULL,
    };
    return all;
}

sh_status sh_backend_choose(sh_backend_list *list, const char *name)
{
    sh_backend_list chosen = {.count = 0};
    const bool any = name == NULL || *name == '\0';
    bool found = any;
    char names[128] = "";
    size_t used = 0;
    for (const sh_backend *const *all = sh_backend_all(); *all != NULL; all++) {
        const bool named = !any && strcmp((*all)->name, name) == 0;
        if (!(*all)->available())
            continue;
        found |= named;
        if (any || named || *all == &sh_portable_backend)
            chosen.items[chosen.count++] = *all;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used == 0 ? "" : ", ", (*all)->name);
    }
    if (!found)
        return sh_fail(SH_INVALID, "backend '%s' is not available here; there is: %s", name, names);
    *list = chosen;
    return SH_OK;
}

void sh_backend_enter_thread(const sh_backend_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->enter_thread != NULL)
            list->items[i]->enter_thread();
}

bool sh_layout_same(const sh_layout *a, const sh_layout *b)
{
    if (a->owner != b->owner)
        return false;
    return a->owner == NULL || a->owner->same_layout(a, b);
}
