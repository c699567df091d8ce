#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The files for Debian agree with the build. The package itself is built by `make deb`, which takes minutes.

load ../cli/common

@test "nothing yet" { skip "no files yet"; }
