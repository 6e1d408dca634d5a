/* SPDX-License-Identifier: Apache-2.0 */
#include "report/history_fixture.h"
#include "shoal/runs.h"

#define HEAD(started)                                                                              \
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"started\":" started "},\"traceEvents\":[\n"
#define EVENT(phase, pid, ts, name)                                                                \
    "{\"ph\":\"" phase "\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts ",\"name\":\"" name "\""
#define META(pid, key, name) EVENT("M", pid, "0.000", key) ",\"args\":{\"name\":\"" name "\"}}"
#define STEP(pid, ts, name, dur, grains, samples)                                                  \
    EVENT("X", pid, ts, name)                                                                      \
    ",\"dur\":" dur ",\"args\":{\"grains\":" grains ",\"samples\":" samples "}},\n"
#define PART(ts, name, dur) EVENT("X", "0", ts, name) ",\"dur\":" dur "}"
#define GAUGE(pid, ts, name, unit, value)                                                          \
    EVENT("C", pid, ts, name) ",\"args\":{\"" unit "\":" value "}}"
#define INSTANT(pid, ts, name, scope, text)                                                        \
    EVENT("i", pid, ts, name) ",\"s\":\"" scope "\",\"args\":{\"text\":\"" text "\"}}"
#define NEXT ",\n"
#define TAIL "\n]}\n"

#define WORK                                                                                       \
    "INSERT INTO work (step, device, at, merged, grains, samples, wall_us, data_us, forward_us,"   \
    " backward_us, sum_us, lanes_us, exchange_us, optimizer_us) VALUES "
#define STARTED(at) "INSERT INTO sessions VALUES (1, '', " at ", NULL, NULL);"
#define SAMPLES                                                                                    \
    "INSERT INTO samples (device, at, merged, cpu_process_seconds, network_sent_bytes,"            \
    " network_received_bytes, memory_resident_bytes) VALUES "

static char root[SH_PATH_BYTES], folder[SH_PATH_BYTES], path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(root);
    assert_ok(sh_path_join(path, root, "trace.json"));
    return sh_path_join(folder, root, "a") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

static sh_status export(void)
{
    return sh_run_export(&(sh_export_options){.run = folder, .table = "trace", .path = path});
}

static void expect(const char *rows, const char *text)
{
    history_make(root, "a", rows);
    assert_ok(export());
    scratch_expect(path, text);
}

static void of_nothing(void **state)
{
    (void)state;
    expect("", HEAD("0.000000") TAIL);
}

static void names_devices(void **state)
{
    (void)state;
    expect("INSERT INTO sessions VALUES (1, '', 1000, NULL, NULL), (2, '', 2000, NULL, NULL);"
           "INSERT INTO devices VALUES (0, 1, 'a\"\\' || char(10) || CAST(x'FF' AS TEXT) || '</b>',"
           " 1, 1, 0, NULL, NULL), (3, 1, 'pi1', 1, 1, 0, NULL, NULL),"
           " (3, 2, 'pi2', 1, 1, 0, NULL, NULL)",
           HEAD("1000.000000")                                //
           META("0", "process_name", "a\\\"\\\\?\?</b>") NEXT //
               META("0", "thread_name", "steps") NEXT         //
                   META("3", "process_name", "pi1,pi2") NEXT  //
                       META("3", "thread_name", "steps") TAIL);
}

/* The second step is 2 ms too early, and the third row's parts exceed its wall time. */
static void lays_parts_into_steps(void **state)
{
    (void)state;
    expect(STARTED("100") WORK
           "(1, 0, 100.010, 1, 2, 24, 10000, 1000.25, 2000, 3000, 500, 250, 3000, 249.75),"
           " (2, 0, 100.018, 1, 2, 24, 10000, 0, NULL, 4000, 0, 0, 5000, 500),"
           " (3, 0, 100.040, 1, 1, 8, 5000, 3000, 3000, 1, 0, 0, 0, 0),"
           " (7, 0, 100.100, 3, 2, 23, 10000, NULL, NULL, NULL, 2000, NULL, NULL, NULL)",
           HEAD("100.000000")                                                                   //
           STEP("0", "0.000", "step 1", "10000.000", "2", "24")                                 //
           PART("0.000", "data", "1000.250") NEXT                                               //
               PART("1000.250", "forward", "2000.000") NEXT                                     //
                   PART("3000.250", "backward", "3000.000") NEXT                                //
                       PART("6000.250", "sum", "500.000") NEXT                                  //
                           PART("6500.250", "lanes", "250.000") NEXT                            //
                               PART("6750.250", "exchange", "3000.000") NEXT                    //
                                   PART("9750.250", "optimizer", "249.750") NEXT                //
                                       STEP("0", "10000.000", "step 2", "10000.000", "2", "24") //
           PART("10000.000", "backward", "4000.000") NEXT                                       //
               PART("14000.000", "exchange", "5000.000") NEXT                                   //
                   PART("19000.000", "optimizer", "500.000") NEXT                               //
                       STEP("0", "35000.000", "step 3", "5000.000", "1", "8")                   //
           PART("35000.000", "data", "3000.000") NEXT                                           //
               PART("38000.000", "forward", "2000.000") NEXT                                    //
                   STEP("0", "70000.000", "3 steps to 7", "30000.000", "2", "23")               //
           PART("70000.000", "sum", "6000.000") TAIL);
}

/* The counters of device 0 restart at 2 s. */
static void shows_rates_of_samples(void **state)
{
    (void)state;
    expect(STARTED("50") SAMPLES
           "(0, 50, 1, 10, 5e6, 0, 32e6), (0, 51, 1, 11.5, 7.5e6, NULL, NULL),"
           " (0, 52, 1, 0.5, 1e6, 0, 1234567), (1, 50.5, 1, 100, 0, 0, NULL),"
           " (1, 51, 1, 100, 1e3, 1e3, NULL)",
           HEAD("50.000000")                                                                 //
           GAUGE("0", "0.000", "memory", "MB", "32") NEXT                                    //
               GAUGE("0", "0.000", "CPU", "cores", "1.5") NEXT                               //
                   GAUGE("0", "0.000", "network out", "MB/s", "2.5") NEXT                    //
                       GAUGE("0", "2000000.000", "memory", "MB", "1.23457") NEXT             //
                           GAUGE("1", "500000.000", "CPU", "cores", "0") NEXT                //
                               GAUGE("1", "500000.000", "network out", "MB/s", "0.002") NEXT //
                                   GAUGE("1", "500000.000", "network in", "MB/s", "0.002") TAIL);
}

static void marks_views_and_events(void **state)
{
    (void)state;
    expect(
        STARTED("1000") "INSERT INTO views VALUES (1, 1, 0, 1000.5, 1, 6, 'start'),"
                        " (1, 1, 2, 1000.5, 1, 5, 'start'), (1, 2, 0, 1003, 4, 11, 'lost \"x\"');"
                        "INSERT INTO events VALUES (1001, NULL, 'run.started', ''), (1002, 2, "
                        "'k\"', 'a\\b')",
        HEAD("1000.000000") //
        INSTANT("0", "500000.000", "view 1", "g",
                "start, from step 1, grains of devices: 0: 6, 2: 5") NEXT //
            INSTANT("0", "3000000.000", "view 2", "g",
                    "lost \\\"x\\\", from step 4, grains of devices: 0: 11") NEXT //
                INSTANT("0", "1000000.000", "run.started", "g", "") NEXT          //
                    INSTANT("2", "2000000.000", "k\\\"", "p", "a\\\\b") TAIL);
}

/* Any database gives valid JSON. */
static void stands_odd_figures(void **state)
{
    (void)state;
    expect(STARTED("-9e999") WORK "(1, 1, 9e999, 1, 0, 0, 9e999, 1, -9e999, 1, 1, 1, 1, 1),"
                                  " (2, 1, 5, -3, 0, 0, 1e6, 5e5, 0, 0, 0, 0, 0, 0);"
                                  "UPDATE work SET at = 5 WHERE step = 1;" SAMPLES
                                  "(0, 5, 1, 9e999, 0, 0, -1), (0, 6, 1, 9e999, 0, 0, 9e999);",
           HEAD("0.000000")                                           //
           STEP("1", "5000000.000", "step 1", "0.000", "0", "0")      //
           STEP("1", "5000000.000", "step 2", "0.000", "0", "0")      //
           GAUGE("0", "5000000.000", "network out", "MB/s", "0") NEXT //
               GAUGE("0", "5000000.000", "network in", "MB/s", "0") TAIL);
}

static void refuses_devices_that_cannot_be(void **state)
{
    (void)state;
    scratch_write(path, "old", 3);
    history_make(root, "a", WORK "(1, -1, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    assert_fails(export(), SH_CORRUPT, "/a: its database is damaged: it has a device -1");
    assert_ok(sh_path_join(folder, root, "b"));
    history_make(root, "b", WORK "(1, 9223372036854775807, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    assert_fails(export(), SH_CORRUPT, "it has a device 9223372036854775807");
    scratch_expect(path, "old");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(of_nothing),
        WITH_FOLDER(names_devices),
        WITH_FOLDER(lays_parts_into_steps),
        WITH_FOLDER(shows_rates_of_samples),
        WITH_FOLDER(marks_views_and_events),
        WITH_FOLDER(stands_odd_figures),
        WITH_FOLDER(refuses_devices_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
