/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/arguments.h"

typedef struct values {
    bool quiet, count_given, steps_given, lr_given;
    uint32_t count, lanes, nesterov, wait;
    uint64_t steps, memory;
    float lr, momentum;
    const char *name;
    char optimizer[9];
} values;

#define FIELD(member) offsetof(values, member)

static const sh_option options[] = {
    {SH_OPTION_FLAG, .name = "quiet", .offset = FIELD(quiet)},
    {SH_OPTION_U32, .letter = 'n', .name = "batch-size", .value = "N", .offset = FIELD(count),
     .min = 1, .given = FIELD(count_given)},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .offset = FIELD(lanes), .min = 1, .max = 64},
    {SH_OPTION_U64, .name = "steps", .value = "N", .offset = FIELD(steps),
     .given = FIELD(steps_given)},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES", .offset = FIELD(memory), .min = 1024},
    {SH_OPTION_FLOAT, .name = "lr", .value = "X", .offset = FIELD(lr), .given = FIELD(lr_given)},
    {SH_OPTION_FLOAT, .name = "momentum", .value = "X", .offset = FIELD(momentum), .max = 1,
     .below = true},
    {SH_OPTION_TEXT, .name = "name", .value = "NAME", .offset = FIELD(name), .max = 8},
    {SH_OPTION_FLAG, .name = "local", .offset = FIELD(quiet), .hidden = true},
    {SH_OPTION_NAME, .name = "optimizer", .value = "NAME", .offset = FIELD(optimizer), .max = 8},
    {SH_OPTION_SWITCH, .name = "nesterov", .offset = FIELD(nesterov)},
    {SH_OPTION_U32, .name = "wait", .value = "[SECONDS]", .alone = "9", .offset = FIELD(wait),
     .min = 1},
    {.kind = SH_OPTION_END},
};

#define WORDS_MAX 66

typedef const char *words[WORDS_MAX];

static sh_status parse(sh_arguments *arguments, values *into, const char *const *in)
{
    static const char *positionals[WORDS_MAX];
    char *argv[WORDS_MAX];
    int argc = 0;
    arguments->positionals = positionals;
    for (; argc < WORDS_MAX && in[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)in[argc];
    sh_message_set("");
    memset(into, 0, sizeof *into);
    return sh_arguments_parse(arguments, options, into, argc, argv);
}

static void stores_values_of_every_kind(void **state)
{
    (void)state;
    sh_arguments arguments;
    values got;
    const words in = {"--quiet",    "--batch-size", "4294967295",
                      "--lanes=64", "--steps",      "18446744073709551615",
                      "--lr",       "1e-4",         "--momentum=.5",
                      "--name",     "-pi",          "--optimizer",
                      "lookmeup",   "--nesterov"};
    assert_ok(parse(&arguments, &got, in));
    assert_true(got.quiet);
    assert_int_equal(got.count, UINT32_MAX);
    assert_int_equal(got.lanes, 64);
    assert_true(got.steps == UINT64_MAX);
    assert_true(got.lr == 1e-4f);
    assert_true(got.momentum == 0.5f);
    assert_string_equal(got.name, "-pi");
    assert_string_equal(got.optimizer, "lookmeup");
    assert_int_equal(got.nesterov, 1);
    assert_true(got.count_given && got.steps_given && got.lr_given);
    assert_int_equal(arguments.positional_count, 0);
}

static void reads_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        {"1024", 1024},
        {"96M", UINT64_C(96) << 20},
        {"2G", UINT64_C(2) << 30},
        {"3KiB", UINT64_C(3072)},
        {"1T", UINT64_C(1) << 40},
        {"16777215T", UINT64_C(16777215) << 40},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sh_arguments arguments;
        values got;
        const words in = {"--memory", sizes[i].text};
        assert_ok(parse(&arguments, &got, in));
        assert_true(got.memory == sizes[i].bytes);
    }
}

static void positionals_stand_anywhere(void **state)
{
    (void)state;
    static const struct {
        words in;
        words expected;
        uint32_t count;
    } cases[] = {
        {{"a", "--batch-size", "7", "b"}, {"a", "b"}, 7},
        {{"--batch-size=7", "a", "-"}, {"a", "-"}, 7},
        {{"a", "-n", "7", "b"}, {"a", "b"}, 7},
        {{"-n=7"}, {NULL}, 7},
        {{"--batch-size=7", "--", "--quiet", "--", "-x"}, {"--quiet", "--", "-x"}, 7},
        {{"a", "--batch-size", "5", "--batch-size", "7"}, {"a"}, 7},
        {{""}, {""}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_arguments arguments;
        values got;
        assert_ok(parse(&arguments, &got, cases[i].in));
        size_t count = 0;
        for (; cases[i].expected[count] != NULL; count++)
            assert_string_equal(arguments.positionals[count], cases[i].expected[count]);
        assert_int_equal(arguments.positional_count, count);
        assert_int_equal(got.count, cases[i].count);
        assert_true(got.count_given == (cases[i].count != 0));
        assert_false(got.steps_given || got.lr_given);
        assert_false(got.quiet);
    }
}

static void help_comes_before_mistakes(void **state)
{
    (void)state;
    static const words asking[] = {{"--help"}, {"-h"}, {"--batch-size", "0", "--help"}};
    sh_arguments arguments;
    values got;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        assert_ok(parse(&arguments, &got, asking[i]));
        assert_true(arguments.help);
    }
    const words positional = {"--", "--help"};
    assert_ok(parse(&arguments, &got, positional));
    assert_false(arguments.help);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        words in;
        const char *message;
    } cases[] = {
        {{"--batch-size", "0"}, "--batch-size 0: must be at least 1"},
        {{"--batch-size", "4294967296"}, "--batch-size 4294967296: must be at most 4294967295"},
        {{"--batch-size", "99999999999999999999"},
         "--batch-size 99999999999999999999: must be at most 4294967295"},
        {{"--batch-size", "12x"}, "--batch-size 12x: must be a whole number, at least 1"},
        {{"--batch-size", "-1"}, "--batch-size -1: must be a whole number, at least 1"},
        {{"--batch-size", "+1"}, "--batch-size +1: must be a whole number, at least 1"},
        {{"--batch-size", " 1"}, "--batch-size  1: must be a whole number, at least 1"},
        {{"--batch-size", "1.5"}, "--batch-size 1.5: must be a whole number, at least 1"},
        {{"--batch-size", "1e3"}, "--batch-size 1e3: must be a whole number, at least 1"},
        {{"--batch-size", "0x10"}, "--batch-size 0x10: must be a whole number, at least 1"},
        {{"--batch-size="}, "--batch-size : must be a whole number, at least 1"},
        {{"--batch-size"}, "--batch-size: needs a value, N"},
        {{"--batch-size", "--quiet"}, "--batch-size: needs a value, N"},
        {{"--lanes", "65"}, "--lanes 65: must be at most 64"},
        {{"--steps", "18446744073709551616"},
         "--steps 18446744073709551616: must be at most 18446744073709551615"},
        {{"--memory", "1023"}, "--memory 1023: must be at least 1024"},
        {{"--memory", "96X"}, "--memory 96X: must be a size such as 96M or 2G"},
        {{"--memory", "96MB"}, "--memory 96MB: must be a size such as 96M or 2G"},
        {{"--memory", "M"}, "--memory M: must be a size such as 96M or 2G"},
        {{"--memory", "16777216T"}, "--memory 16777216T: must be at most 18446744073709551615"},
        {{"--lr", "-0.1"}, "--lr -0.1: must be at least 0"},
        {{"--lr", "nan"}, "--lr nan: must be a number, such as 0.01 or 1e-4"},
        {{"--lr", "inf"}, "--lr inf: must be a number, such as 0.01 or 1e-4"},
        {{"--lr", "0x1p3"}, "--lr 0x1p3: must be a number, such as 0.01 or 1e-4"},
        {{"--lr", "0.1.2"}, "--lr 0.1.2: must be a number, such as 0.01 or 1e-4"},
        {{"--lr", "e"}, "--lr e: must be a number, such as 0.01 or 1e-4"},
        {{"--lr="}, "--lr : must be a number, such as 0.01 or 1e-4"},
        {{"--lr", "1e99"}, "--lr 1e99: does not fit a 32-bit floating-point number"},
        {{"--lr", "1e-99"}, "--lr 1e-99: does not fit a 32-bit floating-point number"},
        {{"--momentum", "1"}, "--momentum 1: must be below 1"},
        {{"--name="}, "--name: must not be empty"},
        {{"--name", "123456789"}, "--name 123456789: must have at most 8 bytes"},
        {{"--name", "a\033[2J"}, "--name: must not contain control characters"},
        {{"--quiet=1"}, "--quiet: takes no value"},
        {{"--bach-size", "1"}, "unknown option --bach-size; did you mean --batch-size?"},
        {{"--batch=1"}, "unknown option --batch; did you mean --batch-size?"},
        {{"-quiet"}, "unknown option -quiet; did you mean --quiet?"},
        {{"--locla"}, "unknown option --locla"}, /* hidden options are not suggested */
        {{"--=1"}, "unknown option --"},
        {{"-q"}, "unknown option -q"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_arguments arguments;
        values got;
        assert_int_not_equal(parse(&arguments, &got, cases[i].in), SH_OK);
        assert_string_equal(sh_message(), cases[i].message);
    }
}

static void an_endless_argument_is_cut(void **state)
{
    (void)state;
    char page[5000], option[5000];
    memset(page, 'x', sizeof page - 1);
    page[sizeof page - 1] = '\0';
    memcpy(option, page, sizeof option);
    option[0] = option[1] = '-';
    const words cases[] = {{"--batch-size", page}, {option}, {"--lr", page}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_arguments arguments;
        values got;
        assert_int_not_equal(parse(&arguments, &got, cases[i]), SH_OK);
        assert_in_range(strlen(sh_message()), 100, 300);
    }
}

static void a_value_may_be_left_out_where_there_is_one_for_that(void **state)
{
    (void)state;
    static const struct {
        words in;
        uint32_t wait;
        size_t positionals;
    } cases[] = {
        {{"--wait"}, 9, 0},
        {{"--wait", "30"}, 30, 0},
        {{"--wait=30", "a"}, 30, 1},
        {{"--wait", "shoal://a"}, 9, 1},
        {{"--wait", "-"}, 9, 1},
        {{"--wait", "--quiet"}, 9, 0},
        {{"a", "--wait", "3", "b"}, 3, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_arguments arguments;
        values got;
        assert_ok(parse(&arguments, &got, cases[i].in));
        assert_int_equal(got.wait, cases[i].wait);
        assert_int_equal(arguments.positional_count, cases[i].positionals);
    }
    sh_arguments arguments;
    values got;
    assert_fails(parse(&arguments, &got, (const words){"--wait", "3s"}), SH_INVALID,
                 "--wait 3s: must be a whole number");
    assert_fails(parse(&arguments, &got, (const words){"--wait=a"}), SH_INVALID,
                 "--wait a: must be a whole number");
}

static void shows_defaults(void **state)
{
    (void)state;
    const values chosen = {.count = 64, .steps = 1, .lr = 0.01f, .name = "x", .optimizer = "sgd"};
    static const struct {
        size_t option;
        const char *text;
    } cases[] = {{0, ""}, {1, "64"}, {3, "1"}, {5, "0.01"}, {7, ""}, {9, "sgd"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        sh_option_default(&options[cases[i].option], &chosen, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_values_of_every_kind),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(positionals_stand_anywhere),
        cmocka_unit_test(help_comes_before_mistakes),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(an_endless_argument_is_cut),
        cmocka_unit_test(a_value_may_be_left_out_where_there_is_one_for_that),
        cmocka_unit_test(shows_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
