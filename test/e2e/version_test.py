#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program starts, says its version, and refuses what it does not know."""

import harness


class Version(harness.Case):
    def test_names_the_version(self):
        result = self.shoal("version")
        self.assertRegex(result.out, r"^shoal \d+\.\d+\.\d+")
        self.assertEqual(result.err, "")

    def test_refuses_an_unknown_command(self):
        result = self.shoal("flounder", status=2)
        self.assertEqual(result.out, "")
        self.assertIn("flounder", result.err)


if __name__ == "__main__":
    harness.main()
