// SPDX-License-Identifier: MIT
/*
 * Light in a room by hierarchical radiosity, with threads: written anew from the description of the
 * method (Hanrahan, Salzman, Aupperle, SIGGRAPH 1991; a program of that kind is in the SPLASH
 * suites). Small functions called very often, recursion over quadtrees, rays that decide by
 * branches: what makes counting expensive.
 *
 *     radiosity [THREADS [BOXES]]
 *
 * Threads take polygons from one queue; what they compute does not depend on who takes which, so
 * that the answer is the same every time.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLYGONS_MAX = 512, ROUNDS = 6, RAYS = 6 };

struct vector {
    double x, y, z;
};

struct link {
    struct link *next;
    struct element *from;
    double factor;
};

/* A rectangle: corner and two sides. */
struct element {
    struct vector corner, u, v, normal, middle;
    double area, reflectance, emission, radiosity, gathered;
    struct element *parts[4];
    struct link *links;
    struct polygon *polygon;
};

struct polygon {
    struct element root;
};

static struct polygon polygons[POLYGONS_MAX];
static int polygons_count;
static atomic_int next_polygon;
static pthread_barrier_t barrier;
static const double smallest_area = 0.02, coarse_factor = 0.012;

static struct vector add(struct vector a, struct vector b)
{
    return (struct vector){a.x + b.x, a.y + b.y, a.z + b.z};
}

static struct vector scale(struct vector a, double by)
{
    return (struct vector){a.x * by, a.y * by, a.z * by};
}

static struct vector subtract(struct vector a, struct vector b)
{
    return add(a, scale(b, -1));
}

static double dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static struct vector point_of(const struct element *element, double u, double v)
{
    return add(element->corner, add(scale(element->u, u), scale(element->v, v)));
}

static void begin_element(struct element *element, struct vector corner, struct vector u,
                          struct vector v)
{
    struct vector normal = cross(u, v);
    element->corner = corner;
    element->u = u;
    element->v = v;
    element->area = sqrt(dot(normal, normal));
    element->normal = scale(normal, 1 / element->area);
    element->middle = point_of(element, 0.5, 0.5);
}

static void add_polygon(struct vector corner, struct vector u, struct vector v, double reflectance,
                        double emission)
{
    if (polygons_count == POLYGONS_MAX)
        return;
    struct polygon *polygon = &polygons[polygons_count++];
    begin_element(&polygon->root, corner, u, v);
    polygon->root.reflectance = reflectance;
    polygon->root.emission = emission;
    polygon->root.radiosity = emission;
    polygon->root.polygon = polygon;
}

/* Six faces that look outward, or inward for the room itself. */
static void add_box(struct vector at, struct vector size, int inward, double reflectance)
{
    struct vector x = {size.x, 0, 0}, y = {0, size.y, 0}, z = {0, 0, size.z}, far = add(at, size);
    struct vector sides[3][2] = {{y, z}, {z, x}, {x, y}};
    for (int side = 0; side < 3; side++) {
        struct vector u = sides[side][inward ? 0 : 1], v = sides[side][inward ? 1 : 0];
        add_polygon(at, u, v, reflectance, 0);
        add_polygon(far, scale(v, -1), scale(u, -1), reflectance, 0);
    }
}

/* ---- what sees what -------------------------------------------------------------------------- */

static int hits(const struct polygon *polygon, struct vector from, struct vector along)
{
    const struct element *face = &polygon->root;
    double slope = dot(along, face->normal);
    if (fabs(slope) < 1e-12)
        return 0;
    double at = dot(subtract(face->corner, from), face->normal) / slope;
    if (at < 1e-6 || at > 1 - 1e-6)
        return 0;
    struct vector in = subtract(add(from, scale(along, at)), face->corner);
    double u = dot(in, face->u) / dot(face->u, face->u);
    if (u < 0 || u > 1)
        return 0;
    double v = dot(in, face->v) / dot(face->v, face->v);
    return v >= 0 && v <= 1;
}

static int is_free(struct vector from, struct vector to, const struct polygon *a,
                   const struct polygon *b)
{
    struct vector along = subtract(to, from);
    for (int i = 0; i < polygons_count; i++) {
        const struct polygon *polygon = &polygons[i];
        if (polygon == a || polygon == b)
            continue;
        if (hits(polygon, from, along))
            return 0;
    }
    return 1;
}

static double visibility(const struct element *a, const struct element *b)
{
    int free = 0;
    for (int ray = 0; ray < RAYS; ray++) {
        double s = (ray + 0.5) / RAYS, t = (ray * 5 % RAYS + 0.5) / RAYS;
        free += is_free(point_of(a, s, t), point_of(b, t, s), a->polygon, b->polygon);
    }
    return (double)free / RAYS;
}

/* Share of the light from a that arrives at b, and back: an estimate for discs. */
static double form_factor(const struct element *a, const struct element *b)
{
    struct vector along = subtract(b->middle, a->middle);
    double square = dot(along, along), length = sqrt(square);
    double cosine_a = dot(along, a->normal) / length, cosine_b = -dot(along, b->normal) / length;
    if (cosine_a <= 0 || cosine_b <= 0)
        return 0;
    return cosine_a * cosine_b * b->area / (M_PI * square + b->area);
}

/* ---- quadtrees ------------------------------------------------------------------------------- */

static void split(struct element *element)
{
    if (element->parts[0])
        return;
    struct vector u = scale(element->u, 0.5), v = scale(element->v, 0.5);
    for (int i = 0; i < 4; i++) {
        struct element *part = calloc(1, sizeof *part);
        if (!part)
            exit(1);
        begin_element(part, point_of(element, i & 1 ? 0.5 : 0, i & 2 ? 0.5 : 0), u, v);
        part->reflectance = element->reflectance;
        part->emission = element->emission;
        part->radiosity = element->radiosity;
        part->polygon = element->polygon;
        element->parts[i] = part;
    }
}

static void join(struct element *to, struct element *from, double factor)
{
    double seen = visibility(to, from);
    if (seen == 0)
        return;
    struct link *link = malloc(sizeof *link);
    if (!link)
        exit(1);
    *link = (struct link){to->links, from, factor * seen};
    to->links = link;
}

/* Links the receiver to the source, as coarse as the light between them allows. Splits the receiver
   alone: it belongs to the thread. */
static void refine(struct element *to, struct element *from)
{
    double factor = form_factor(to, from);
    if (factor <= 0)
        return;
    if (factor > coarse_factor && to->area > smallest_area) {
        split(to);
        for (int i = 0; i < 4; i++)
            refine(to->parts[i], from);
    } else {
        join(to, from, factor);
    }
}

static void gather(struct element *element)
{
    double sum = 0;
    for (const struct link *link = element->links; link; link = link->next)
        sum += link->factor * link->from->radiosity;
    element->gathered = sum * element->reflectance;
    for (int i = 0; i < 4 && element->parts[i]; i++)
        gather(element->parts[i]);
}

/* Down what arrived, up the mean of what leaves. */
static double push_pull(struct element *element, double from_above)
{
    double down = from_above + element->gathered, up = 0;
    if (element->parts[0]) {
        for (int i = 0; i < 4; i++)
            up += push_pull(element->parts[i], down) / 4;
    } else {
        up = down + element->emission;
    }
    element->radiosity = up;
    return up;
}

static unsigned long leaves(const struct element *element)
{
    if (!element->parts[0])
        return 1;
    unsigned long sum = 0;
    for (int i = 0; i < 4; i++)
        sum += leaves(element->parts[i]);
    return sum;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct polygon *take(void)
{
    int number = atomic_fetch_add(&next_polygon, 1);
    return number < polygons_count ? &polygons[number] : NULL;
}

/* All have come to the end of a phase; the queue is full again. */
static void meet(void)
{
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        next_polygon = 0;
    pthread_barrier_wait(&barrier);
}

static void *work(void *unused)
{
    struct polygon *polygon;
    while ((polygon = take()))
        for (int i = 0; i < polygons_count; i++)
            if (&polygons[i] != polygon)
                refine(&polygon->root, &polygons[i].root);
    meet();
    for (int round = 0; round < ROUNDS; round++) {
        while ((polygon = take()))
            gather(&polygon->root);
        meet();
        while ((polygon = take()))
            push_pull(&polygon->root, 0);
        meet();
    }
    return unused;
}

static void furnish(int boxes)
{
    add_box((struct vector){0, 0, 0}, (struct vector){10, 10, 6}, 1, 0.7);
    add_polygon((struct vector){4, 4, 5.9}, (struct vector){0, 2, 0}, (struct vector){2, 0, 0}, 0.1,
                40);
    for (int i = 0; i < boxes; i++) {
        double x = 0.7 + i % 4 * 2.3, y = 0.8 + i / 4 % 4 * 2.2, z = i / 16 * 1.7;
        add_box((struct vector){x, y, z}, (struct vector){0.9, 1.1, 0.8 + i % 3 * 0.3}, 0,
                0.3 + i % 5 * 0.1);
    }
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2, boxes = argc > 2 ? atoi(argv[2]) : 16;
    pthread_t others[64];
    if (threads < 1 || threads > 64)
        return 2;
    furnish(boxes);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, NULL))
            return 1;
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    unsigned long elements = 0;
    double light = 0;
    for (int i = 0; i < polygons_count; i++) {
        elements += leaves(&polygons[i].root);
        light += polygons[i].root.radiosity * polygons[i].root.area;
    }
    printf("%d polygons, %lu elements, light %.6f\n", polygons_count, elements, light);
    return 0;
}
