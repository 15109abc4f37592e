"""The console in a browser, with real containers: from signing up to a rollback. Its pictures are those of docs/tour.md."""
import os
import pathlib
import subprocess
import unittest

from .berthd import PROGRAM
from .certificates import serves_securely, set_dns
from .cluster import HERE, SCRIPT, page_folder, run
from .visitors import Visitors
from .world import World

SITE, DOMAIN, PAGE = "garden", "www.garden.test", "the garden is open"
VISITS = 5  # per second
LIMIT = 900  # seconds; berthd measures once a minute what containers use
SKIPPED = 77  # no browser


class Console(World):
    flags = ("--cluster-issuer", "pebble", "--dns-servers", "127.0.0.1:8053", "--traefik-metrics-url", "http://127.0.0.1:8082/metrics")

    def setUp(self):
        set_dns("set-cname", host=DOMAIN, target=f"{SITE}.apps.localhost")
        self.addCleanup(set_dns, "clear-cname", host=DOMAIN)
        with page_folder(PAGE) as folder:
            run(SCRIPT, "image", f"{SITE}:1", folder, "/bin/busybox", "sh", "-c",
                f"trap 'exit 0' TERM; /bin/busybox httpd -f -vv -p 3000 -h /www & wait")

    def test_from_an_account_to_a_rollback(self):
        build = self.cluster.state / "pages"
        build.mkdir(exist_ok=True)
        pictures = pathlib.Path(os.environ.get("BERTH_PICTURES", build / "pictures"))
        surroundings = {**os.environ, "BERTH_URL": self.berthd.url, "BERTH_DATA": str(self.berthd.data), "BERTH_SITE": SITE,
                        "BERTH_DOMAIN": DOMAIN, "BERTH_PICTURES": str(pictures)}
        with Visitors(SITE, VISITS) as visitors:
            done = subprocess.run([HERE.parent / "pages/run", PROGRAM, build, "console_cluster.mjs"], env=surroundings,
                                  capture_output=True, text=True, timeout=LIMIT, check=False)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-1000:])
        self.assertGreater(visitors.pages[PAGE], 0)
        took = serves_securely(DOMAIN, PAGE)
        print(f"      the page is served over HTTPS within {took:.1f} s of the rollback; {visitors.summary()}", flush=True)
