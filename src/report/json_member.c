/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_member.h"

#include <math.h>

const char *sh_member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

double sh_member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}
