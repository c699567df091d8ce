// SPDX-License-Identifier: MIT
/*
 * The program's own code, as opposed to the system's: what comes with the compiler and the C
 * library, in which nobody mends a finding. Libraries of others count as own code.
 */
#ifndef HEADROOM_SHOW_OWN_H
#define HEADROOM_SHOW_OWN_H

#include <stdbool.h>

/*
 * Is a function of that name, file and module (path) the system's: headers below /usr/include or
 * of a compiler; the libraries of C, C++, Fortran, OpenMP and Rust; what runs before main? Where
 * neither file nor module says so, as in static programs without lines, its name may. Each may be
 * NULL: not known.
 */
bool own_is_system(const char *function, const char *file, const char *module);

/* Is the module (path, or NULL) what divides work among the threads of OpenMP, in which they wait for each other? */
bool own_is_team_runtime(const char *module);

#endif
