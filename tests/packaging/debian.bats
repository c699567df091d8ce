#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The files for Debian agree with the build. The package itself is built by `make deb`, which takes minutes.

load ../cli/common

@test "the package has the program's version" {
    version=$("$HEADROOM" --version)
    grep -q "^headroom (${version#headroom }) " "$SOURCE/debian/changelog"
}

@test "the package is built with what tools/setup installs for the build, but for tests" {
    # What every Debian build has, or what comes with meson, is not named in debian/control.
    {
        sed -n '/^packages=(/,/)$/p' "$SOURCE/tools/setup"
        grep -o 'packages+=(valgrind)$' "$SOURCE/tools/setup"
    } | sed 's/^packages+*=(//; s/)$//' | tr ' ' '\n' | grep -v '^$' | grep -Evx 'gcc|libc6-dev|dpkg-dev|ninja-build' |
        sort >setup
    sed -n '/^Build-Depends:/,/^Standards/p' "$SOURCE/debian/control" | grep -v '^Standards' |
        sed 's/^Build-Depends://; s/,//; s/ //g' | grep -v '^debhelper' | sort >control
    [ "$(wc -l <control)" -ge 10 ]
    diff setup control
}

# Host code only: what tests need is not linked to the program.
@test "the program needs no library that the package is not built with" {
    readelf -d "$HEADROOM" | sed -n 's/.*NEEDED.*\[\(lib[A-Za-z]*\).*/\1/p' | sort -u >needed
    [ -s needed ]
    sort >allowed <<'END'
libZydis
libc
libdw
libelf
libisl
libm
libpfm
libsqlite
libz
END
    [ -z "$(comm -23 needed allowed)" ] || { comm -23 needed allowed; return 1; }
}

@test "every file under another licence is in debian/copyright" {
    cd "$SOURCE"
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        named=$(git grep -l 'SPDX-License-Identifier: GPL' -- src include | sed 's|/[^/]*$||' | sort -u)
    else
        named=$(grep -rl 'SPDX-License-Identifier: GPL' src include | sed 's|/[^/]*$||' | sort -u)
    fi
    [ -n "$named" ]
    for folder in $named; do
        grep -A2 "^Files: $folder/\*\$" debian/copyright | grep -q '^License: GPL-2+$' || { echo "$folder"; return 1; }
    done
}
