/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/device_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "base/test.h"

/* Root may access everything, so it switches to another user. */
static void a_file_that_others_own_is_found(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], closed[SCRATCH_BYTES + 8], open_to_all[SCRATCH_BYTES + 8];
    scratch_make(folder);
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(closed, sizeof closed, "%s/closed", folder);
    snprintf(open_to_all, sizeof open_to_all, "%s/open", folder);
    close(open(closed, O_CREAT | O_WRONLY, 0600));
    close(open(open_to_all, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(chmod(closed, 0444), 0);
    assert_int_equal(chmod(open_to_all, 0666), 0);
    const uid_t user = geteuid();
    if (user == 0)
        assert_int_equal(seteuid(65534), 0);
    const char *none = sh_gpu_forbidden_file((const char *[]){"/missing", open_to_all, NULL});
    const char *found = sh_gpu_forbidden_file((const char *[]){open_to_all, closed, NULL});
    if (user == 0)
        assert_int_equal(seteuid(0), 0);
    scratch_remove(folder);
    assert_null(none);
    assert_ptr_equal(found, closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_that_others_own_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
