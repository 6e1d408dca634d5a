/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/yaml_calls.h"

#include <yaml.h>

#include "base/library.h"

#define LIST(VALUE, NOTHING)                                                                       \
    NOTHING(yaml_document_delete, (yaml_document_t * a), (a))                                      \
    VALUE(yaml_node_t *, yaml_document_get_node, (yaml_document_t * a, int b), (a, b))             \
    VALUE(yaml_node_t *, yaml_document_get_root_node, (yaml_document_t * a), (a))                  \
    NOTHING(yaml_parser_delete, (yaml_parser_t * a), (a))                                          \
    VALUE(int, yaml_parser_initialize, (yaml_parser_t * a), (a))                                   \
    VALUE(int, yaml_parser_load, (yaml_parser_t * a, yaml_document_t * b), (a, b))                 \
    NOTHING(yaml_parser_set_input_string, (yaml_parser_t * a, const unsigned char *b, size_t c),   \
            (a, b, c))
SH_LIBRARY_FUNCTIONS(LIST)

sh_status sh_yaml_load(void)
{
    static sh_library library = SH_LIBRARY("libyaml-0.so.2", "libyaml-0-2", names);
    return sh_library_load_once(&calls, &library);
}
