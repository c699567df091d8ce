// SPDX-License-Identifier: MIT
/*
 * A light pulse through glass: Maxwell's equations in two dimensions on a staggered grid (Yee
 * 1966), as in the fdtd-2d kernel of PolyBench but with a material in it: fields [ROWS COLUMNS
 * STEPS]
 *
 * Every step updates both components of the electric field from the magnetic one, then the
 * magnetic from both. Written as textbooks do, each update is a sweep over the grid, and all fields
 * pass through the caches twice or three times a step. With -DFIXED rows of different updates and
 * steps follow each other as soon as what they need is there. Each value is computed from
 * the same values by the same operations, so the results are the same to the last bit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps between two measurements; nothing looks at the fields in between. */
enum { MEASURED_EVERY = 10 };

/*
 * FIXED: how many steps move over the grid together, as rows right behind each other. Their
 * rows must fit in the second-level cache: four fields of (this + 2) rows of 12 KB. With 1 only the
 * sweeps of one step are fused.
 */
#ifndef STEPS_TOGETHER
#define STEPS_TOGETHER MEASURED_EVERY
#endif

struct grid {
    int rows;
    int columns;
    double *electric_x;
    double *electric_y;
    double *magnetic;
    double *speed; /* half of the reciprocal of the permittivity, by cell */
};

static double *allocate(size_t count)
{
    double *values = calloc(count, sizeof(double));
    if (!values) {
        fprintf(stderr, "fields: not enough memory\n");
        exit(1);
    }
    return values;
}

/* Air with a round lens of glass in the middle; its edge is smooth over a few cells. */
static void place_lens(struct grid *grid)
{
    double radius = grid->rows / 5.0;
    for (int i = 0; i < grid->rows; i++)
        for (int j = 0; j < grid->columns; j++) {
            double down = i - grid->rows / 2.0, across = j - grid->columns / 2.0;
            double inside = radius - sqrt(down * down + across * across);
            double glass = inside > 3 ? 1 : inside < 0 ? 0 : inside / 3;
            grid->speed[(size_t)i * grid->columns + j] = 0.5 / (1 + 1.25 * glass);
        }
}

static struct grid create_grid(int rows, int columns)
{
    size_t cells = (size_t)rows * columns;
    struct grid grid = {rows,           columns, allocate(cells), allocate(cells), allocate(cells),
                        allocate(cells)};
    place_lens(&grid);
    return grid;
}

static void free_grid(struct grid *grid)
{
    free(grid->electric_x);
    free(grid->electric_y);
    free(grid->magnetic);
    free(grid->speed);
}

/* The updates, one row each. */

static void electric_y_row(struct grid *grid, int row)
{
    size_t start = (size_t)row * grid->columns;
    double *restrict field = grid->electric_y + start;
    const double *restrict speed = grid->speed + start;
    const double *restrict here = grid->magnetic + start;
    const double *restrict above = here - grid->columns;
    for (int j = 0; j < grid->columns; j++)
        field[j] -= speed[j] * (here[j] - above[j]);
}

static void electric_x_row(struct grid *grid, int row)
{
    size_t start = (size_t)row * grid->columns;
    double *restrict field = grid->electric_x + start;
    const double *restrict speed = grid->speed + start;
    const double *restrict magnetic = grid->magnetic + start;
    for (int j = 1; j < grid->columns; j++)
        field[j] -= speed[j] * (magnetic[j] - magnetic[j - 1]);
}

static void magnetic_row(struct grid *grid, int row)
{
    size_t start = (size_t)row * grid->columns;
    double *restrict field = grid->magnetic + start;
    const double *restrict across = grid->electric_x + start;
    const double *restrict here = grid->electric_y + start;
    const double *restrict below = here + grid->columns;
    for (int j = 0; j < grid->columns - 1; j++)
        field[j] -= 0.7 * (across[j + 1] - across[j] + below[j] - here[j]);
}

/* The source: the first row's field is prescribed, a packet of waves. */
static void inject_pulse(struct grid *grid, int step)
{
    double phase = (step - 40) / 16.0;
    double value = exp(-phase * phase) * cos(step * 0.4);
    for (int j = 0; j < grid->columns; j++)
        grid->electric_y[j] = value;
}

#ifndef FIXED

static void update_electric_y(struct grid *grid)
{
    for (int i = 1; i < grid->rows; i++)
        electric_y_row(grid, i);
}

static void update_electric_x(struct grid *grid)
{
    for (int i = 0; i < grid->rows; i++)
        electric_x_row(grid, i);
}

static void update_magnetic(struct grid *grid)
{
    for (int i = 0; i < grid->rows - 1; i++)
        magnetic_row(grid, i);
}

static void advance(struct grid *grid, int first_step, int steps)
{
    for (int step = first_step; step < first_step + steps; step++) {
        inject_pulse(grid, step);
        update_electric_y(grid);
        update_electric_x(grid);
        update_magnetic(grid);
    }
}

#else

/* All updates of a step that become possible with this row: the magnetic field needs the row below
 * it. */
static void visit_row(struct grid *grid, int row, int step)
{
    if (row == 0)
        inject_pulse(grid, step);
    else
        electric_y_row(grid, row);
    electric_x_row(grid, row);
    if (row > 0)
        magnetic_row(grid, row - 1);
}

/* A step may visit a row once the step before has visited the next one. */
static void advance_together(struct grid *grid, int first_step, int steps)
{
    for (int front = 0; front < grid->rows + steps - 1; front++)
        for (int behind = 0; behind < steps; behind++)
            if (front - behind >= 0 && front - behind < grid->rows)
                visit_row(grid, front - behind, first_step + behind);
}

static void advance(struct grid *grid, int first_step, int steps)
{
    for (int done = 0; done < steps; done += STEPS_TOGETHER)
        advance_together(grid, first_step + done,
                         steps - done < STEPS_TOGETHER ? steps - done : STEPS_TOGETHER);
}

#endif

static double energy(const struct grid *grid)
{
    double sum = 0;
    for (size_t cell = 0; cell < (size_t)grid->rows * grid->columns; cell++)
        sum += grid->electric_x[cell] * grid->electric_x[cell] +
               grid->electric_y[cell] * grid->electric_y[cell] +
               grid->magnetic[cell] * grid->magnetic[cell];
    return sum / 2;
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 1500;
    int columns = argc > 2 ? atoi(argv[2]) : 1500;
    int steps = argc > 3 ? atoi(argv[3]) : 300;
    if (rows < 2 || columns < 2 || steps < 0) {
        fprintf(stderr, "usage: fields [ROWS COLUMNS STEPS]\n");
        return 2;
    }
    struct grid grid = create_grid(rows, columns);
    for (int step = 0; step < steps; step += MEASURED_EVERY) {
        advance(&grid, step, steps - step < MEASURED_EVERY ? steps - step : MEASURED_EVERY);
        printf("step %d: energy %.17g\n", step, energy(&grid));
    }
    free_grid(&grid);
    return 0;
}
