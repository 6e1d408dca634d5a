/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted token prints as text that is accepted as the same token. */
#include "net/token.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_token token, again;
    memset(&token, 0, sizeof token);
    memset(&again, 0, sizeof again);
    if (sh_token_parse(&token, (const char *)data, size) != SH_OK)
        return 0;
    char text[SH_TOKEN_TEXT];
    if (sh_token_print(text, &token) != SH_OK ||
        sh_token_parse(&again, text, strlen(text)) != SH_OK ||
        memcmp(&token, &again, sizeof token) != 0)
        abort();
    return 0;
}
