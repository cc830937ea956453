"""A filter of requests for Scrapy, shared by all crawlers of a cluster: in settings.py

    DUPEFILTER_CLASS = "resp_scrapy.OrbloomDupeFilter"
    ORBLOOM_RESP = "/run/orbloom/resp.sock"     # or "HOST:PORT"
    ORBLOOM_FILTER = "crawl-2024"               # one filter a crawl: drop it to crawl anew

A request is seen by whoever asks first, in any crawler; the others leave it out. Not sure counts
as new: a page is fetched twice rather than never. Crawlers block while they ask, so let a router
be near. What a crawler had queued when it was killed is not fetched by the others.
"""
import logging

import redis
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import RequestFingerprinter

logger = logging.getLogger(__name__)


class OrbloomDupeFilter(BaseDupeFilter):
    def __init__(self, where, name, fingerprinter):
        if where.startswith("/"):
            self.redis = redis.Redis(unix_socket_path=where, socket_timeout=10)
        else:
            host, port = where.rsplit(":", 1)
            self.redis = redis.Redis(host=host, port=int(port), socket_timeout=10)
        self.name = name
        self.fingerprinter = fingerprinter

    @classmethod
    def from_crawler(cls, crawler):
        settings = crawler.settings
        fingerprinter = getattr(crawler, "request_fingerprinter", None) or RequestFingerprinter()
        return cls(settings["ORBLOOM_RESP"], settings["ORBLOOM_FILTER"], fingerprinter)

    def request_seen(self, request):
        try:
            return self.redis.bf().add(self.name, self.fingerprinter.fingerprint(request)) == 0
        except redis.RedisError as error:
            logger.warning("not sure, so it is fetched: %s: %s", request, error)
            return False

    def log(self, request, spider):
        spider.crawler.stats.inc_value("dupefilter/filtered", spider=spider)
