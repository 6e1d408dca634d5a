/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/action.h"

const char *sh_news_name(sh_news news)
{
    static const char *const names[] = {
#define NEWS_NAME(name, text) [SH_NEWS_##name] = (text),
        SH_NEWS_MAP(NEWS_NAME)
#undef NEWS_NAME
    };
    return names[news];
}
