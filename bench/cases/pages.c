// SPDX-License-Identifier: MIT
/*
 * Ranks pages by who links to them (PageRank, Page et al. 1999) on a random graph in which few
 * pages have most of the links: pages [BITS LINKS_PER_PAGE ROUNDS], with 2^BITS pages
 *
 * In the usual form every page collects from those that link to it, and each link reads a share
 * somewhere in memory. With -DFIXED the shares are first written down in bins, one for every range
 * of receiving pages, then added up bin by bin: both in order, and the sums of a bin fit in the
 * second-level cache (propagation blocking, Beamer, Asanović and Patterson 2017). A page's shares
 * are added in the order of their senders both ways, so the results are the same to the last bit.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double damping = 0.85;

/* Links as they come from a crawl: page by page, to_of[first_of[p]] to to_of[first_of[p + 1]] are
 * what p links to. */
struct crawl {
    uint32_t pages;
    uint32_t *first_of;
    uint32_t *to_of;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "pages: not enough memory\n");
        exit(1);
    }
    return memory;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/*
 * A page drawn so that the i-th most popular of n is met in proportion to 1 / sqrt(i); popular
 * pages have numbers all over the range, as they have in the order of a crawl.
 */
static uint32_t popular_page(uint64_t *state, uint32_t pages)
{
    double uniform = (double)(next_random(state) >> 11) / (double)(1ull << 53);
    uint32_t place = (uint32_t)(uniform * uniform * pages);
    return place * 2654435761u & (pages - 1);
}

static struct crawl make_crawl(unsigned bits, unsigned links_per_page)
{
    uint32_t pages = 1u << bits;
    struct crawl crawl = {pages, allocate(pages + 1, sizeof(uint32_t)),
                          allocate((size_t)pages * links_per_page, sizeof(uint32_t))};
    uint64_t state = 88172645463325252u;
    for (size_t link = 0; link < (size_t)pages * links_per_page; link++)
        crawl.first_of[popular_page(&state, pages) + 1]++;
    for (uint32_t page = 0; page < pages; page++)
        crawl.first_of[page + 1] += crawl.first_of[page];
    for (size_t link = 0; link < (size_t)pages * links_per_page; link++)
        crawl.to_of[link] = popular_page(&state, pages);
    return crawl;
}

static void free_crawl(struct crawl *crawl)
{
    free(crawl->first_of);
    free(crawl->to_of);
}

/* What a page gives to each page that it links to. */
static void divide_ranks(const struct crawl *crawl, const double *ranks, double *shares)
{
    for (uint32_t page = 0; page < crawl->pages; page++) {
        uint32_t links = crawl->first_of[page + 1] - crawl->first_of[page];
        shares[page] = links ? ranks[page] / links : 0;
    }
}

/* New ranks from what pages received; returns how much they changed. */
static double renew_ranks(uint32_t pages, const double *received, double *ranks)
{
    double change = 0;
    for (uint32_t page = 0; page < pages; page++) {
        double rank = (1 - damping) / pages + damping * received[page];
        change += fabs(rank - ranks[page]);
        ranks[page] = rank;
    }
    return change;
}

#ifndef FIXED

/* The links the other way round: from_of[first_of[p]] to from_of[first_of[p + 1]] link to p, in
 * rising order. */
struct route {
    uint32_t *first_of;
    uint32_t *from_of;
};

static struct route make_route(const struct crawl *crawl)
{
    uint32_t pages = crawl->pages, links = crawl->first_of[pages];
    struct route route = {allocate(pages + 2, sizeof(uint32_t)), allocate(links, sizeof(uint32_t))};
    uint32_t *next = route.first_of + 1;
    for (uint32_t link = 0; link < links; link++)
        next[crawl->to_of[link] + 1]++;
    for (uint32_t page = 0; page < pages; page++)
        next[page + 1] += next[page];
    for (uint32_t page = 0; page < pages; page++)
        for (uint32_t link = crawl->first_of[page]; link < crawl->first_of[page + 1]; link++)
            route.from_of[next[crawl->to_of[link]]++] = page;
    return route;
}

static void deliver(const struct crawl *crawl, struct route *route, const double *shares,
                    double *received)
{
    for (uint32_t page = 0; page < crawl->pages; page++) {
        double sum = 0;
        for (uint32_t link = route->first_of[page]; link < route->first_of[page + 1]; link++)
            sum += shares[route->from_of[link]];
        received[page] = sum;
    }
}

static void free_route(struct route *route)
{
    free(route->first_of);
    free(route->from_of);
}

#else

/* Pages of a bin: their sums take half a megabyte. */
enum { BIN_BITS = 16 };

/* A bin has a place for each link to its pages, in the order in which the links come. */
struct route {
    uint32_t bins;
    uint32_t *first_of; /* of a bin, among the places */
    uint32_t *next_of;  /* the same while shares are written down */
    uint16_t *to_of;    /* who receives what is in the place: a page of the bin */
    double *share_of;
};

static struct route make_route(const struct crawl *crawl)
{
    uint32_t pages = crawl->pages, links = crawl->first_of[pages];
    uint32_t bins = ((pages - 1) >> BIN_BITS) + 1;
    struct route route = {bins, allocate(bins + 1, sizeof(uint32_t)),
                          allocate(bins, sizeof(uint32_t)), allocate(links, sizeof(uint16_t)),
                          allocate(links, sizeof(double))};
    for (uint32_t link = 0; link < links; link++)
        route.first_of[(crawl->to_of[link] >> BIN_BITS) + 1]++;
    for (uint32_t bin = 0; bin < bins; bin++)
        route.first_of[bin + 1] += route.first_of[bin];
    memcpy(route.next_of, route.first_of, bins * sizeof(uint32_t));
    for (uint32_t link = 0; link < links; link++)
        route.to_of[route.next_of[crawl->to_of[link] >> BIN_BITS]++] = (uint16_t)crawl->to_of[link];
    return route;
}

static void write_down(const struct crawl *crawl, struct route *route, const double *shares)
{
    memcpy(route->next_of, route->first_of, route->bins * sizeof(uint32_t));
    for (uint32_t page = 0; page < crawl->pages; page++)
        for (uint32_t link = crawl->first_of[page]; link < crawl->first_of[page + 1]; link++)
            route->share_of[route->next_of[crawl->to_of[link] >> BIN_BITS]++] = shares[page];
}

static void add_up(const struct route *route, uint32_t bin, double *received)
{
    double *sums = received + ((size_t)bin << BIN_BITS);
    for (uint32_t place = route->first_of[bin]; place < route->first_of[bin + 1]; place++)
        sums[route->to_of[place]] += route->share_of[place];
}

static void deliver(const struct crawl *crawl, struct route *route, const double *shares,
                    double *received)
{
    write_down(crawl, route, shares);
    memset(received, 0, crawl->pages * sizeof(double));
    for (uint32_t bin = 0; bin < route->bins; bin++)
        add_up(route, bin, received);
}

static void free_route(struct route *route)
{
    free(route->first_of);
    free(route->next_of);
    free(route->to_of);
    free(route->share_of);
}

#endif

static void rank_pages(const struct crawl *crawl, struct route *route, int rounds, double *ranks)
{
    double *shares = allocate(crawl->pages, sizeof(double));
    double *received = allocate(crawl->pages, sizeof(double));
    for (uint32_t page = 0; page < crawl->pages; page++)
        ranks[page] = 1.0 / crawl->pages;
    for (int round = 0; round < rounds; round++) {
        divide_ranks(crawl, ranks, shares);
        deliver(crawl, route, shares, received);
        printf("round %d: change %.17g\n", round, renew_ranks(crawl->pages, received, ranks));
    }
    free(shares);
    free(received);
}

static void print_best(const double *ranks, uint32_t pages)
{
    uint32_t best = 0;
    double sum = 0;
    for (uint32_t page = 0; page < pages; page++) {
        sum += ranks[page];
        if (ranks[page] > ranks[best])
            best = page;
    }
    printf("best page %u: rank %.17g of %.17g\n", best, ranks[best], sum);
}

int main(int argc, char **argv)
{
    int bits = argc > 1 ? atoi(argv[1]) : 23;
    int links_per_page = argc > 2 ? atoi(argv[2]) : 4;
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    if (bits < 1 || bits > 26 || links_per_page < 1 || links_per_page > 31 || rounds < 0) {
        fprintf(stderr, "usage: pages [BITS LINKS_PER_PAGE ROUNDS]\n");
        return 2;
    }
    struct crawl crawl = make_crawl((unsigned)bits, (unsigned)links_per_page);
    struct route route = make_route(&crawl);
    double *ranks = allocate(crawl.pages, sizeof(double));
    rank_pages(&crawl, &route, rounds, ranks);
    print_best(ranks, crawl.pages);
    free(ranks);
    free_route(&route);
    free_crawl(&crawl);
    return 0;
}
