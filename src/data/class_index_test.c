/* SPDX-License-Identifier: Apache-2.0 */
#include "data/class_index.h"

#include "data/classes_fixture.h"
#include "data/delivery_fixture.h"

static void samples_stand_with_their_class(void **state)
{
    (void)state;
    static const int32_t classes[] = {4, 1, 4, 4, 0, 1};
    static const uint32_t first[] = {4}, second[] = {1, 5}, third[] = {0, 2, 3};
    static const uint32_t *const samples[] = {first, second, third};
    classes_set set;
    sh_class_index *index;
    classes_init(&set, classes, 6, 6);
    assert_ok(sh_class_index_new(&index, &set.base));
    assert_int_equal(sh_class_index_classes(index), 3); /* 2, 3 and 5 are empty */
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(sh_class_index_count(index, k), k + 1);
        for (uint32_t i = 0; i <= k; i++)
            assert_int_equal(sh_class_index_sample(index, k, i), samples[k][i]);
    }
    sh_class_index_free(index);
    sh_class_index_free(NULL);
}

static void files_of_every_kind_are_read(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        sh_class_index *index;
        sh_dataset *data = set_open(&s, kind);
        const sh_dataset_info *info = sh_dataset_about(data);
        uint8_t sample[SET_IMAGE_MOST];
        uint32_t found = 0;
        int32_t before = -1;
        assert_ok(sh_class_index_new(&index, data));
        for (uint32_t k = 0; k < sh_class_index_classes(index); k++) {
            const uint32_t count = sh_class_index_count(index, k);
            int32_t class = before, own = -1;
            assert_int_not_equal(count, 0);
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t number = sh_class_index_sample(index, k, i);
                assert_true(i == 0 || number > sh_class_index_sample(index, k, i - 1));
                assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, number, sample, &class));
                assert_true(class > before);
                assert_true(i == 0 || class == own);
                own = class;
            }
            before = own;
            found += count;
        }
        assert_int_equal(found, info->count[SH_SPLIT_TRAIN]);
        sh_class_index_free(index);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
}

static void other_targets_have_no_classes(void **state)
{
    (void)state;
    classes_set set;
    sh_class_index *index = NULL;
    classes_init(&set, NULL, 6, 6);
    set.base.info.target = SH_TARGET_NUMBERS;
    assert_fails(sh_class_index_new(&index, &set.base), SH_INVALID,
                 "classes has no classes but targets for regression");
    assert_null(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_stand_with_their_class),
        cmocka_unit_test(files_of_every_kind_are_read),
        cmocka_unit_test(other_targets_have_no_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
