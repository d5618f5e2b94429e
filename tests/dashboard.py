"""Drives a browser through the dashboard: python3 dashboard.py DRIVER PROGRAM DIRECTORY [SCREENSHOTS]."""

import json
import pathlib
import random
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

from browser import ENTER, Browser, check

driver, program, directory, screenshots = sys.argv[1:5]
directory = pathlib.Path(directory)
HOSTILE = "<script>alert(1)</script>\"'\u202eevil & more"

running = []


def start(*arguments):
    log = open(directory / f"log-{len(running)}", "w")
    process = subprocess.Popen([program, *arguments], cwd=directory, stderr=log, stdout=log)
    running.append(process)
    return process


def ask(*arguments):
    return subprocess.run([program, *arguments], cwd=directory, check=True, capture_output=True, text=True).stdout


def fetch(url, method="GET", token=None, headers=None):
    """The status of a request."""
    headers = dict(headers or {}, **({"Authorization": f"Bearer {token}"} if token else {}))
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ports(count):
    first = random.randrange(30000, 39000)
    return range(first, first + count)


with Browser(driver, screenshots) as browser:

    def until(what, condition):
        """The first answer of a condition that is true."""
        return browser.until(condition, what, (urllib.error.URLError, ConnectionError), patience=300)

    def text(panel):
        return browser.text(f"[data-panel={panel}]") or ""

    def points():
        """How many points the residual curves have together."""
        lines = "[...document.querySelectorAll('[data-panel=residuals] polyline')]"
        return browser.script(f"{lines}.map((it) => it.getAttribute('points').split(' ').length).reduce((a, b) => a + b, 0)")

    try:
        at, http, metrics = ports(3)
        token = "0123456789abcdef0123456789abcdef"
        (directory / "token").write_text(token)
        secret = ["--token-file", "token"]
        reach = ["--coordinator", f"127.0.0.1:{at}", *secret]
        page = f"http://127.0.0.1:{http}"
        start("coordinator", "--dir", "c", "--listen", f"127.0.0.1:{at}", "--http", f"127.0.0.1:{http}", "--metrics", f"127.0.0.1:{metrics}",
              "--lease", "2s", "--lost-after", "3s", "--split-above", "1000", *secret)
        until("the page is there", lambda: fetch(page + "/")[0] == 200)

        # Nothing is told without the token.
        browser.size(1200, 900)
        for path in ["/v1/jobs", "/v1/workers", "/v1/jobs/1", "/v1/jobs/1/events", "/v1/jobs/1/history", "/v1/live", "/v1/jobs/1/live"]:
            check(path + " without token", fetch(page + path)[0], 401)
            check(path + " with another", fetch(page + path, token="x" * 32)[0], 401)
        check("an order without token", fetch(page + "/v1/jobs/1/cancel", "POST")[0], 401)
        check("a job that is none", fetch(page + "/v1/jobs/7", token=token)[0], 404)
        check("what is no job", fetch(page + "/v1/jobs/x", token=token)[0], 404)
        check("an order that is none", fetch(page + "/v1/jobs/7/solve", "POST", token)[0], 404)
        check("the name of another host", fetch(page + "/v1/jobs", token=token, headers={"Host": "example.org"})[0], 403)
        check("an order of another page", fetch(page + "/v1/jobs/1/cancel", "POST", token, {"Origin": "http://example.org"})[0], 403)
        browser.open(page + "/")
        until("the page asks for the token", lambda: browser.script("document.querySelector('#sign-in') !== null"))
        check("panels without token", browser.script("document.querySelectorAll('table').length"), 0)

        # A job waits for workers, under a hostile name.
        game = ["finkel", "--pieces", "5"]
        job = ask("submit", *game, "--checkpoint-every", "1s", "--name", HOSTILE, *reach).strip()
        check("the job's number", job, "1")
        browser.script("document.querySelector('#token').focus()")
        browser.press(*token, ENTER)
        until("the job is listed", lambda: "waiting for workers" in text("jobs"))
        shown = browser.script("document.querySelector('[data-panel=jobs] bdi').textContent")
        check("the hostile name", shown, HOSTILE.replace("\u202e", "\\u{202e}"))
        check("scripts of the name", browser.script("document.querySelectorAll('[data-panel] script').length"), 0)
        browser.screenshot("dashboard-jobs.png")
        browser.script("document.querySelector('[data-panel=jobs] a').click()")
        until("the job is shown", lambda: "none has ever connected" in text("job"))
        check("stones", browser.script("document.querySelectorAll('.stones g').length"), 15)

        # It is paused and resumed from the page.
        def button(name):
            return f"[...document.querySelectorAll('button')].find((it) => it.textContent === '{name}')"
        until("it can be paused", lambda: browser.script(f"{button('pause')}?.disabled === false"))
        browser.script(f"{button('pause')}.click()")
        until("it is paused", lambda: "paused" in text("job") and browser.script(f"{button('resume')}?.disabled === false"))

        # Two workers; one is killed while residuals fall.
        def worker(name):
            return start("worker", "--dir", name, "--name", name, "--coordinator", f"127.0.0.1:{at}", "--memory", "1GiB", "--threads", "1", *secret)
        one, two = worker("one"), worker("two")
        until("both workers are shown", lambda: "one" in text("workers") and "two" in text("workers"))
        browser.script(f"{button('resume')}.click()")
        first = until("residuals are drawn", points)
        until("the curves grow", lambda: points() > first)
        until("time is told by worker", lambda: "one" in text("time") and "sweeping" in text("time"))
        browser.screenshot("dashboard-running.png")
        two.kill()
        until("the loss is said", lambda: "worker two is gone" in text("events"))
        browser.screenshot("dashboard-lost.png")
        two = worker("two")
        until("its return is said", lambda: "worker two is here" in text("events"))
        until("it is solved", lambda: browser.script("document.querySelectorAll('.stones g[data-state=solved]').length") == 15)
        until("the end is shown", lambda: "job 1 solved" in text("events"))
        check("the state", browser.script("document.querySelector('[data-panel=job] .state').textContent"), "solved")
        check("the message of a solved job", browser.script("document.querySelector('[data-message]')"), None)
        assert "1.0e-12" in text("plan"), text("plan")
        assert points() > first and browser.script("document.querySelectorAll('[data-panel=proofs] polyline').length") == 15
        assert "paused (asked by the page)" in text("events"), text("events")
        browser.screenshot("dashboard-solved.png")

        # Steps are chosen by keyboard.
        browser.script("document.querySelector('[data-step=\"5-5\"]').focus()")
        browser.press(ENTER)
        check("the step that is chosen", browser.script("document.querySelector('.stones [aria-pressed=true]').dataset.step"), "5-5")
        check("its curve is in front", browser.script("document.querySelectorAll('[data-panel=residuals] .picked').length > 0"), True)
        browser.press(" ")
        check("no step is chosen", browser.script("document.querySelectorAll('.stones [aria-pressed=true]').length"), 0)

        # Narrow and dark.
        browser.media(prefers_color_scheme="dark")
        browser.size(390, 900)
        time.sleep(0.5)
        check("nothing is wider than the screen", browser.script("document.documentElement.scrollWidth <= innerWidth"), True)
        browser.screenshot("dashboard-narrow.png")
        browser.media(prefers_color_scheme="light")
        browser.size(1200, 900)

        # After a restart it is all there, and `events` says the same.
        events = json.loads(ask("events", "1", "--json", *reach))["events"]
        kinds = {event["kind"] for event in events}
        assert {"submitted", "paused", "resumed", "begun", "over", "step-solved", "worker", "solved"} <= kinds, kinds
        told = json.loads(fetch(page + "/v1/jobs/1/events", token=token)[1])["events"]
        check("events by HTTP", told, events)
        assert "worker two is gone" in ask("events", "1", *reach)
        before = json.loads(fetch(page + "/v1/jobs/1/history", token=token)[1])
        running[0].terminate()
        check("the coordinator's exit", running[0].wait(timeout=30), 0)
        running[0] = start("coordinator", "--dir", "c", "--listen", f"127.0.0.1:{at}", "--http", f"127.0.0.1:{http}", *secret)
        until("the page is there again", lambda: fetch(page + "/")[0] == 200)
        check("the history after a restart", json.loads(fetch(page + "/v1/jobs/1/history", token=token)[1]), before)

        # A report is one file, and asks for nothing.
        ask("report", "1", "--html", "report.html", *reach)
        browser.open((directory / "report.html").as_uri())
        check("stones of the report", browser.script("document.querySelectorAll('.stones g[data-state=solved]').length"), 15)
        check("the name in the report", browser.script("document.querySelector('[data-panel=job] bdi').textContent"), HOSTILE.replace("\u202e", "\\u{202e}"))
        assert points() > first
        browser.screenshot("report.png")

        errors = [it["message"] for it in browser.console() if it["level"] == "SEVERE"]
        errors = [it for it in errors if "401" not in it and "ERR_CONNECTION_REFUSED" not in it and "ERR_INCOMPLETE_CHUNKED" not in it]
        check("errors of the page", errors, [])
        asked = {re.sub(r"^(\w+://[^/]*).*", r"\1", url) for url in browser.requests()}
        check("who was asked", {it for it in asked if it not in (page, "file://")}, set())
        print("dashboard.py: passed")
    except BaseException:
        for number in range(len(running)):
            print((directory / f"log-{number}").read_text()[-2000:], file=sys.stderr)
        raise
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
