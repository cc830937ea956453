/* lag.h - what several links know of how far sites are, put together, and as JSON.
 *
 * Each link knows of the streams that it receives and sends: what one has applied is here, and what
 * one link there has is there.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_SITE_LAG_H
#define ORBLOOM_PROTO_SITE_LAG_H

#include "base/json.h"
#include "proto/site/message.h"

/* What another link knows of the same filter and site. */
void site_lag_join(struct site_lag *self, const struct site_lag *other);

/* What is waited for, for people; "": nothing. */
const char *site_lag_words_of(uint32_t wait);

/* A member of an open object. */
void site_lag_json(struct json *json, const struct site_lag *self);

#endif
