// SPDX-License-Identifier: MIT
/*
 * Drives cJSON: reads a list of orders and adds them up, as its interface invites one to: orders [COUNT]
 *
 * cJSON_GetArrayItem looks like an access to an array; it goes along a list.
 */
#include "cJSON.h"

#include <stdio.h>
#include <stdlib.h>

static char *make_text(int count)
{
    char *text = malloc((size_t)count * 64 + 16), *at = text;
    if (!text)
        return NULL;
    *at++ = '[';
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s{\"customer\":\"c%d\",\"pieces\":%d,\"price\":%d.25}", i ? "," : "",
                      i % 997, i % 13, i % 101);
    *at++ = ']';
    *at = '\0';
    return text;
}

static double price_of(const cJSON *order)
{
    return cJSON_GetObjectItem(order, "pieces")->valuedouble *
           cJSON_GetObjectItem(order, "price")->valuedouble;
}

static double add_up(const cJSON *orders)
{
    double sum = 0;
    for (int i = 0; i < cJSON_GetArraySize(orders); i++)
        sum += price_of(cJSON_GetArrayItem(orders, i));
    return sum;
}

int main(int argc, char **argv)
{
    char *text = make_text(argc > 1 ? atoi(argv[1]) : 20000);
    cJSON *orders = text ? cJSON_Parse(text) : NULL;
    if (!orders) {
        fputs("orders: not enough memory\n", stderr);
        return 1;
    }
    printf("%.2f\n", add_up(orders));
    cJSON_Delete(orders);
    free(text);
    return 0;
}
