#!/usr/bin/python3
"""Two crawlers with one filter on a site that is served here: SOCKET as the argument. Each page
links to others, many links to one page; each is fetched exactly once, by either of them."""
import collections
import http.server
import os
import subprocess
import sys
import tempfile
import threading

PAGES = 200
CRAWL = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "site"

    def parse(self, response):
        yield from response.follow_all(css="a")

where, socket, start = sys.argv[1:]
Spider.start_urls = [where + start]
process = CrawlerProcess({
    "DUPEFILTER_CLASS": "resp_scrapy.OrbloomDupeFilter",
    "ORBLOOM_RESP": socket, "ORBLOOM_FILTER": "crawl",
    "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
    "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "RETRY_ENABLED": False,
})
process.crawl(Spider)
process.start()
"""
fetched = collections.Counter()
lock = threading.Lock()


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with lock:
            fetched[self.path] += 1
        page = int(self.path.rsplit("-", 1)[1])
        links = {(page * factor + 1) % PAGES for factor in (1, 2, 3, 7)}
        text = "".join(f'<a href="/page-{to}">{to}</a>' for to in links).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def crawl(where, start):
    path = os.pathsep.join(["client/examples", os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen([sys.executable, "-c", CRAWL, where, sys.argv[1], start],
                            env={**os.environ, "PYTHONPATH": path, "no_proxy": "*"})


site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{site.server_port}"
# Scrapy does not filter the first page: each crawler has its own, that no link leads to.
crawlers = [crawl(address, f"/start-{PAGES + number}") for number in (0, 1)]
codes = [crawler.wait(timeout=150) for crawler in crawlers]
assert codes == [0, 0], codes
again = crawl(address, f"/start-{PAGES + 2}").wait(timeout=100)
assert again == 0, again
pages = {path: count for path, count in fetched.items() if path.startswith("/page")}
assert len(pages) == PAGES, f"{PAGES - len(pages)} pages were never fetched"
twice = {path: count for path, count in pages.items() if count != 1}
assert not twice, twice
print(len(pages), "pages, each once")
