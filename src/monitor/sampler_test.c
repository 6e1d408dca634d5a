/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/sampler.h"

#include "monitor/machine_fixture.h"
#include "monitor/probe.h"

typedef struct expectation {
    sh_figure figure;
    double value;
} expectation;

/* Only these and the test's own processor time are available. */
static void expect_only(const machine *m, const expectation *expected, size_t count)
{
    double all[SH_FIGURE_COUNT];
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        all[i] = NAN;
    for (size_t i = 0; i < count; i++)
        all[expected[i].figure] = expected[i].value;
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        if (i != SH_FIGURE_cpu_process_seconds)
            machine_expect(m, (sh_figure)i, all[i]);
    assert_true(m->sample.figures[SH_FIGURE_cpu_process_seconds] > 0);
    assert_int_equal(m->sample.at_ns, m->now_ns);
}

#define EXPECT_ONLY(m, expected) expect_only(m, expected, sizeof(expected) / sizeof *(expected))

/* A tick is a hundredth of a second. */
#define PROC                                                                                       \
    {"proc/stat", "cpu  1000 20 300 99999 888 7 60 5555 44 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n"},        \
        {"proc/meminfo", "MemTotal:       948304 kB\nMemFree:         52000 kB\n"                  \
                         "MemAvailable:   600000 kB\nSwapTotal:      102396 kB\n"                  \
                         "SwapFree:       100348 kB\n"},                                           \
        {"proc/self/status", "Name:\tshoal\nVmPeak:\t  90000 kB\nVmHWM:\t   30000 kB\n"            \
                             "VmRSS:\t   29000 kB\nThreads:\t5\n"},                                \
        {"proc/self/io", "rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: 4096\n"              \
                         "write_bytes: 8192\ncancelled_write_bytes: 1\n"},                         \
        {"proc/self/net/dev",                                                                      \
         "Inter-|   Receive  |  Transmit\n face |bytes    packets |bytes    packets\n"             \
         "    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n"                                               \
         "  eth0: 12345678 9000 0 0 0 0 0 0 2345678 8000 0 0 0 0 0 0\n"},                          \
    {                                                                                              \
        "proc/loadavg", "0.52 0.58 0.59 1/200 4242\n"                                              \
    }

#define PROC_FIGURES                                                                               \
    {SH_FIGURE_cpu_machine_seconds, 13.87}, {SH_FIGURE_memory_resident_bytes, 29000 * 1024.0},     \
        {SH_FIGURE_memory_peak_bytes, 30000 * 1024.0},                                             \
        {SH_FIGURE_memory_available_bytes, 600000 * 1024.0},                                       \
        {SH_FIGURE_swap_used_bytes, 2048 * 1024.0}, {SH_FIGURE_interface_sent_bytes, 2345678},     \
        {SH_FIGURE_interface_received_bytes, 12345678}, {SH_FIGURE_interface_sent_packets, 8000},  \
        {SH_FIGURE_interface_received_packets, 9000}, {SH_FIGURE_disk_read_bytes, 4096},           \
        {SH_FIGURE_disk_written_bytes, 8192},                                                      \
    {                                                                                              \
        SH_FIGURE_load_1m, 0.52                                                                    \
    }

/* Raspberry Pi 3B or 4: four cores with one policy, one thermal zone, throttling by firmware. */
static const machine_file pi[] = {
    PROC,
    {"sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1200000\n"},
    {"sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1 2 3\n"},
    {"sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"},
    {"sys/class/thermal/thermal_zone0/temp", "61224\n"},
    {"sys/class/thermal/cooling_device0/type", "rpi-poe-fan\n"},
    {"sys/class/thermal/cooling_device0/cur_state", "2\n"},
    {"sys/class/hwmon/hwmon0/name", "cpu_thermal\n"},
    {"sys/class/hwmon/hwmon0/temp1_input", "61224\n"},
    {"sys/class/hwmon/hwmon1/name", "rpi_volt\n"},
    {"sys/class/hwmon/hwmon1/in0_lcrit_alarm", "0\n"},
    {"sys/devices/platform/soc/soc:firmware/get_throttled", "50000\n"},
    {0},
};

static void a_pi_shows_heat_and_throttling_but_no_power(void **state)
{
    (void)state;
    const expectation cool[] = {
        PROC_FIGURES,
        {SH_FIGURE_cpu_frequency_hertz, 1.2e9},
        {SH_FIGURE_temperature_celsius, 61.224},
        {SH_FIGURE_throttled_ratio, 0}, /* only in the past */
    };
    machine m;
    machine_make(&m, pi);
    machine_take(&m);
    EXPECT_ONLY(&m, cool);

    machine_set(&m, "sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
    machine_set(&m, "sys/class/thermal/thermal_zone0/temp", "84500\n");
    machine_set(&m, "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "600000\n");
    machine_take_after(&m, 0.5); /* slow sensors are not read */
    machine_expect(&m, SH_FIGURE_cpu_frequency_hertz, 0.6e9);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 0);
    machine_expect(&m, SH_FIGURE_temperature_celsius, 61.224);
    machine_take_after(&m, 0.5);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 1);
    machine_expect(&m, SH_FIGURE_temperature_celsius, 84.5);
    machine_remove(&m);
}

/* Xavier and Orin: three rails per chip in hwmon, two clusters of cores, thermal zones. */
static const machine_file jetson[] = {
    PROC,
    {"sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1500000\n"},
    {"sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1 2 3\n"},
    {"sys/devices/system/cpu/cpufreq/policy4/scaling_cur_freq", "900000\n"},
    {"sys/devices/system/cpu/cpufreq/policy4/affected_cpus", "4 5\n"},
    {"sys/class/thermal/thermal_zone0/type", "CPU-therm\n"},
    {"sys/class/thermal/thermal_zone0/temp", "48500\n"},
    {"sys/class/thermal/thermal_zone1/type", "GPU-therm\n"},
    {"sys/class/thermal/thermal_zone1/temp", "49000\n"},
    {"sys/class/thermal/thermal_zone2/type", "CV0-therm\n"},
    {"sys/class/thermal/thermal_zone2/temp", "-256000\n"},
    {"sys/class/thermal/thermal_zone3/type", "PMIC-Die\n"},
    {"sys/class/thermal/thermal_zone3/temp", "100000\n"},
    {"sys/class/thermal/cooling_device0/type", "pwm-fan\n"},
    {"sys/class/thermal/cooling_device0/cur_state", "3\n"},
    {"sys/class/thermal/cooling_device1/type", "thermal-cpufreq-0\n"},
    {"sys/class/thermal/cooling_device1/cur_state", "0\n"},
    {"sys/class/hwmon/hwmon0/name", "soctherm_oc\n"},
    {"sys/class/hwmon/hwmon0/oc1_event_cnt", "7\n"},
    {"sys/class/hwmon/hwmon3/name", "ina3221\n"},
    {"sys/class/hwmon/hwmon3/in1_label", "GPU\n"},
    {"sys/class/hwmon/hwmon3/in1_input", "5000\n"},
    {"sys/class/hwmon/hwmon3/curr1_input", "400\n"},
    {"sys/class/hwmon/hwmon3/in2_label", "CPU\n"},
    {"sys/class/hwmon/hwmon3/in2_input", "5000\n"},
    {"sys/class/hwmon/hwmon3/curr2_input", "1000\n"},
    {"sys/class/hwmon/hwmon3/in3_label", "NC\n"},
    {"sys/class/hwmon/hwmon3/in3_input", "5000\n"},
    {"sys/class/hwmon/hwmon3/curr3_input", "9000\n"},
    {"sys/class/hwmon/hwmon3/in4_label", "sum of shunt voltages\n"},
    {"sys/class/hwmon/hwmon3/in4_input", "77\n"},
    {0},
};

static void a_jetson_shows_the_power_of_its_rails_but_no_energy(void **state)
{
    (void)state;
    const expectation expected[] = {
        PROC_FIGURES,
        {SH_FIGURE_cpu_frequency_hertz, 1.3e9}, /* four cores at 1.5 GHz, two at 0.9 */
        {SH_FIGURE_temperature_celsius, 49},
        {SH_FIGURE_throttled_ratio, 0},
        {SH_FIGURE_power_watts, 7},
    };
    machine m;
    machine_make(&m, jetson);
    machine_take(&m);
    EXPECT_ONLY(&m, expected);
    machine_set(&m, "sys/class/hwmon/hwmon0/oc1_event_cnt", "8\n");
    machine_set(&m, "sys/class/hwmon/hwmon3/curr2_input", "2000\n");
    machine_take_after(&m, 1);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 1);
    machine_expect(&m, SH_FIGURE_power_watts, 12);
    machine_take_after(&m, 1);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 0);
    machine_set(&m, "sys/class/thermal/cooling_device1/cur_state", "2\n");
    machine_take_after(&m, 1);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 1);

    machine_set(&m, "sys/class/hwmon/hwmon3/curr1_input", ""); /* no partial sum */
    machine_take_after(&m, 0.1);
    machine_expect(&m, SH_FIGURE_power_watts, NAN);
    machine_remove(&m);
}

static void the_rail_that_feeds_all_stands_for_all(void **state)
{
    (void)state;
    static const machine_file whole[] = {
        {"sys/class/hwmon/hwmon2/name", "ina3221\n"},
        {"sys/class/hwmon/hwmon2/in1_label", "VDD_CPU_GPU_CV\n"},
        {"sys/class/hwmon/hwmon2/in1_input", "5000\n"},
        {"sys/class/hwmon/hwmon2/curr1_input", "300\n"},
        {"sys/class/hwmon/hwmon2/in2_label", "VDD_IN\n"},
        {"sys/class/hwmon/hwmon2/in2_input", "5040\n"},
        {"sys/class/hwmon/hwmon2/curr2_input", "1000\n"},
        {"sys/class/hwmon/hwmon2/in3_label", "VDD_SOC\n"},
        {"sys/class/hwmon/hwmon2/in3_input", "5000\n"},
        {"sys/class/hwmon/hwmon2/curr3_input", "200\n"},
        {0},
    };
    machine m;
    machine_make(&m, whole);
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_power_watts, 5.04);
    machine_remove(&m);
}

static void an_older_jetson_shows_power_through_the_industrial_input(void **state)
{
    (void)state;
#define CHIP "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/"
    static const machine_file nano[] = {
        {CHIP "rail_name_0", "POM_5V_IN\n"},  {CHIP "in_power0_input", "2533\n"},
        {CHIP "rail_name_1", "POM_5V_GPU\n"}, {CHIP "in_power1_input", "80\n"},
        {CHIP "rail_name_2", "POM_5V_CPU\n"}, {CHIP "in_power2_input", "644\n"},
        {CHIP "in_voltage0_input", "5000\n"}, {0},
    };
    const expectation expected[] = {{SH_FIGURE_power_watts, 2.533}};
    machine m;
    machine_make(&m, nano);
    machine_take(&m);
    EXPECT_ONLY(&m, expected);
    machine_remove(&m);

    machine_make(&m, nano);
    machine_set(&m, CHIP "rail_name_0", "VDD_CPU\n"); /* independent rails */
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_power_watts, 3.257);
    machine_remove(&m);
}

/* Package energy, a battery, throttling counters; sensors of a mouse, a disk and a radio. */
static const machine_file laptop[] = {
    PROC,
    {"sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "3000000\n"},
    {"sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "1000000\n"},
    {"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"},
    {"sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "5\n"},
    {"sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "0\n"},
    {"sys/class/thermal/thermal_zone0/type", "iwlwifi_1\n"},
    {"sys/class/thermal/thermal_zone0/temp", "88000\n"},
    {"sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n"},
    {"sys/class/thermal/thermal_zone1/temp", "55000\n"},
    {"sys/class/hwmon/hwmon0/name", "coretemp\n"},
    {"sys/class/hwmon/hwmon0/temp1_input", "56000\n"},
    {"sys/class/hwmon/hwmon0/temp2_input", "57000\n"},
    {"sys/class/hwmon/hwmon1/name", "nvme\n"},
    {"sys/class/hwmon/hwmon1/temp1_input", "70000\n"},
    {"sys/class/powercap/intel-rapl:0/name", "package-0\n"},
    {"sys/class/powercap/intel-rapl:0/energy_uj", "262143000000\n"},
    {"sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"},
    {"sys/class/powercap/intel-rapl:0:0/name", "core\n"},
    {"sys/class/powercap/intel-rapl:0:0/energy_uj", "111\n"},
    {"sys/class/powercap/intel-rapl:1/name", "psys\n"},
    {"sys/class/powercap/intel-rapl:1/energy_uj", "222\n"},
    {"sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n"},
    {"sys/class/powercap/intel-rapl-mmio:0/energy_uj", "262143000000\n"},
    {"sys/class/power_supply/AC/type", "Mains\n"},
    {"sys/class/power_supply/BAT0/type", "Battery\n"},
    {"sys/class/power_supply/BAT0/status", "Discharging\n"},
    {"sys/class/power_supply/BAT0/energy_now", "30000000\n"},
    {"sys/class/power_supply/BAT0/energy_full", "40000000\n"},
    {"sys/class/power_supply/BAT0/capacity", "74\n"},
    {"sys/class/power_supply/BAT0/power_now", "12500000\n"},
    {"sys/class/power_supply/hidpp_battery_0/type", "Battery\n"},
    {"sys/class/power_supply/hidpp_battery_0/scope", "Device\n"},
    {"sys/class/power_supply/hidpp_battery_0/capacity", "10\n"},
    {0},
};

static void a_laptop_shows_the_energy_of_its_package_and_its_battery(void **state)
{
    (void)state;
    const expectation first[] = {
        PROC_FIGURES,
        {SH_FIGURE_cpu_frequency_hertz, 2e9},
        {SH_FIGURE_temperature_celsius, 57},
        {SH_FIGURE_energy_joules, 0}, /* power and throttling need two readings */
        {SH_FIGURE_battery_ratio, 0.75},
    };
    machine m;
    machine_make(&m, laptop);
    machine_take(&m);
    EXPECT_ONLY(&m, first);

    machine_set(&m, "sys/class/powercap/intel-rapl:0/energy_uj", "171150\n"); /* wrapped, +0.5 J */
    machine_take_after(&m, 0.1);
    machine_expect(&m, SH_FIGURE_energy_joules, 0.5);
    machine_expect(&m, SH_FIGURE_power_watts, 5);

    machine_set(&m, "sys/class/powercap/intel-rapl:0/energy_uj", "9171150\n");
    machine_set(&m, "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "6\n");
    machine_take_after(&m, 0.9);
    machine_expect(&m, SH_FIGURE_energy_joules, 9.5);
    machine_expect(&m, SH_FIGURE_power_watts, 10);
    machine_expect(&m, SH_FIGURE_throttled_ratio, 1);
    machine_remove(&m);
}

static void energy_that_only_root_may_read_leaves_the_battery(void **state)
{
    (void)state;
    machine m;
    machine_make(&m, laptop);
    machine_set(&m, "sys/class/powercap/intel-rapl:0/energy_uj", "");
    for (int i = 0; i < 2; i++) {
        machine_take_after(&m, 1);
        machine_expect(&m, SH_FIGURE_energy_joules, NAN);
        machine_expect(&m, SH_FIGURE_power_watts, 12.5);
    }
    machine_set(&m, "sys/class/power_supply/BAT0/status", "Charging\n");
    machine_take_after(&m, 1);
    machine_expect(&m, SH_FIGURE_power_watts, NAN);
    machine_remove(&m);
}

static void a_battery_of_charge_and_current(void **state)
{
    (void)state;
    static const machine_file tablet[] = {
        {"sys/class/power_supply/bms/type", "Battery\n"},
        {"sys/class/power_supply/bms/status", "Discharging\n"},
        {"sys/class/power_supply/bms/capacity", "40\n"},
        {"sys/class/power_supply/bms/current_now", "-500000\n"},
        {"sys/class/power_supply/bms/voltage_now", "4000000\n"},
        {"sys/class/power_supply/dock/type", "Battery\n"},
        {"sys/class/power_supply/dock/status", "Full\n"},
        {"sys/class/power_supply/dock/charge_now", "3100000\n"},
        {"sys/class/power_supply/dock/charge_full", "3000000\n"},
        {0},
    };
    const expectation expected[] = {{SH_FIGURE_power_watts, 2}, {SH_FIGURE_battery_ratio, 0.7}};
    machine m;
    machine_make(&m, tablet);
    machine_take(&m);
    EXPECT_ONLY(&m, expected);
    machine_remove(&m);
}

/* No /sys, no io, only the loopback, no swap. */
static void a_bare_container_shows_next_to_nothing(void **state)
{
    (void)state;
    static const machine_file container[] = {
        {"proc/self/status", "Name:\tshoal\nVmHWM:\t     100 kB\nVmRSS:\t      90 kB\n"},
        {"proc/meminfo", "MemTotal: 1000 kB\nSwapTotal:       0 kB\nSwapFree:      0 kB\n"},
        {"proc/self/net/dev", "Inter-|\n face |\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"},
        {0},
    };
    const expectation expected[] = {{SH_FIGURE_memory_resident_bytes, 90 * 1024.0},
                                    {SH_FIGURE_memory_peak_bytes, 100 * 1024.0}};
    machine m;
    machine_make(&m, container);
    machine_take(&m);
    EXPECT_ONLY(&m, expected);
    machine_remove(&m);
}

static void nothing_at_all_is_nothing(void **state)
{
    (void)state;
    static const machine_file nothing[] = {{0}};
    machine m;
    machine_make(&m, nothing);
    machine_take(&m);
    expect_only(&m, NULL, 0);
    machine_remove(&m);
}

static void set_all(const machine *m, const machine_file *files, const char *text)
{
    for (; files->path != NULL; files++)
        machine_set(m, files->path, text);
}

static void what_is_malformed_or_vanishes_is_not_available(void **state)
{
    (void)state;
    static const machine_file *const machines[] = {pi, jetson, laptop};
    static const char *const texts[] = {"", "x\n", "-\n", "cpu  1 2 x\n", "\xff\xfe 1\n"};
    for (size_t i = 0; i < 3; i++) {
        machine m;
        machine_make(&m, machines[i]);
        machine_take(&m);
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            set_all(&m, machines[i], texts[j]);
            machine_take_after(&m, 2);
            expect_only(&m, NULL, 0);
            sh_sampler_close(m.sampler);
            m.sampler = NULL;
            machine_take(&m);
            expect_only(&m, NULL, 0);
        }
        machine_remove(&m);
    }
}

static void more_sensors_than_there_is_room_for_are_left_out(void **state)
{
    (void)state;
    static const machine_file nothing[] = {{0}};
    machine m;
    machine_make(&m, nothing);
    for (int i = 0; i < SH_PROBES_MAX + 5; i++) {
        char path[128];
        snprintf(path, sizeof path, "sys/class/thermal/thermal_zone%02d/type", i);
        machine_set(&m, path, "cpu\n");
        snprintf(path, sizeof path, "sys/class/thermal/thermal_zone%02d/temp", i);
        machine_set(&m, path, i < SH_PROBES_MAX ? "40000\n" : "90000\n");
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpufreq/policy%02d/scaling_cur_freq",
                 i);
        machine_set(&m, path, i < SH_PROBES_MAX ? "1000\n" : "9000\n");
    }
    machine_take(&m);
    machine_expect(&m, SH_FIGURE_temperature_celsius, 40);
    machine_expect(&m, SH_FIGURE_cpu_frequency_hertz, 1e6);
    machine_remove(&m);
}

static void count_channels(void *context, sh_sample *sample)
{
    sample->figures[SH_FIGURE_network_sent_bytes] = *(const double *)context;
}

static void channels_are_counted_by_their_owner(void **state)
{
    (void)state;
    double sent = 1234;
    sh_sampler *sampler;
    sh_sample sample;
    assert_ok(sh_sampler_open(&sampler, &(sh_sampler_options){.root = "/no/such/folder",
                                                              .network = count_channels,
                                                              .context = &sent}));
    sh_sampler_take(sampler, &sample);
    assert_float_equal(sample.figures[SH_FIGURE_network_sent_bytes], 1234, 0);
    assert_true(isnan(sample.figures[SH_FIGURE_network_received_bytes]));
    sh_sampler_close(sampler);
    sh_sampler_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pi_shows_heat_and_throttling_but_no_power),
        cmocka_unit_test(a_jetson_shows_the_power_of_its_rails_but_no_energy),
        cmocka_unit_test(the_rail_that_feeds_all_stands_for_all),
        cmocka_unit_test(an_older_jetson_shows_power_through_the_industrial_input),
        cmocka_unit_test(a_laptop_shows_the_energy_of_its_package_and_its_battery),
        cmocka_unit_test(energy_that_only_root_may_read_leaves_the_battery),
        cmocka_unit_test(a_battery_of_charge_and_current),
        cmocka_unit_test(a_bare_container_shows_next_to_nothing),
        cmocka_unit_test(nothing_at_all_is_nothing),
        cmocka_unit_test(what_is_malformed_or_vanishes_is_not_available),
        cmocka_unit_test(more_sensors_than_there_is_room_for_are_left_out),
        cmocka_unit_test(channels_are_counted_by_their_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
