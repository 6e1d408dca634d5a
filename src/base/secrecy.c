/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secrecy.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

void sh_secrecy_begin(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* fails only for other values */
#endif
}
