"""Drives a browser through the dashboard, by WebDriver: python3 dashboard.py DRIVER PROGRAM DIRECTORY [SCREENSHOTS]."""

import base64
import json
import pathlib
import random
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

driver, program, directory, screenshots = sys.argv[1:5]
directory = pathlib.Path(directory)
PATIENCE = 120
HOSTILE = "<script>alert(1)</script>\"'\u202eevil & more"


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(driver + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["value"]


def until(what, condition, patience=PATIENCE):
    """The first answer of a condition that is true."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            answer = condition()
        except (urllib.error.URLError, ConnectionError):
            answer = None
        if answer:
            return answer
        time.sleep(0.2)
    raise SystemExit(f"dashboard.py: in vain waited {patience} s: {what}")


until("chromedriver listens", lambda: call("GET", "/status"))
arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
session = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]


def script(text):
    return call("POST", session + "/execute/sync", {"script": "return " + text, "args": []})


def press(*keys):
    actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    call("POST", session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})


def screenshot(name):
    if screenshots:
        height = min(4000, script("document.documentElement.scrollHeight"))
        width = script("innerWidth")
        size(width, height)
        image = base64.b64decode(call("GET", session + "/screenshot"))
        (pathlib.Path(screenshots) / name).write_bytes(image)
        size(width, 900)


def command(name, params):
    call("POST", session + "/goog/cdp/execute", {"cmd": name, "params": params})


def size(width, height):
    command("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def scheme(name):
    command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})


def go(url):
    call("POST", session + "/url", {"url": url})


def check(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"


def text(panel):
    return script(f"document.querySelector('[data-panel={panel}]')?.textContent") or ""


def points():
    """How many points the residual curves have together."""
    lines = "[...document.querySelectorAll('[data-panel=residuals] polyline')]"
    return script(f"{lines}.map((it) => it.getAttribute('points').split(' ').length).reduce((a, b) => a + b, 0)")


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
    size(1200, 900)
    for path in ["/v1/jobs", "/v1/workers", "/v1/jobs/1", "/v1/jobs/1/events", "/v1/jobs/1/history", "/v1/live", "/v1/jobs/1/live"]:
        check(path + " without token", fetch(page + path)[0], 401)
        check(path + " with another", fetch(page + path, token="x" * 32)[0], 401)
    check("an order without token", fetch(page + "/v1/jobs/1/cancel", "POST")[0], 401)
    check("a job that is none", fetch(page + "/v1/jobs/7", token=token)[0], 404)
    check("what is no job", fetch(page + "/v1/jobs/x", token=token)[0], 404)
    check("an order that is none", fetch(page + "/v1/jobs/7/solve", "POST", token)[0], 404)
    check("the name of another host", fetch(page + "/v1/jobs", token=token, headers={"Host": "example.org"})[0], 403)
    check("an order of another page", fetch(page + "/v1/jobs/1/cancel", "POST", token, {"Origin": "http://example.org"})[0], 403)
    go(page + "/")
    until("the page asks for the token", lambda: script("document.querySelector('#sign-in') !== null"))
    check("panels without token", script("document.querySelectorAll('table').length"), 0)

    # A job waits for workers, under a hostile name.
    game = ["finkel", "--pieces", "4"]
    job = ask("submit", *game, "--checkpoint-every", "1s", "--name", HOSTILE, *reach).strip()
    check("the job's number", job, "1")
    script("document.querySelector('#token').focus()")
    press(*token, "\ue007")
    until("the job is listed", lambda: "waiting for workers" in text("jobs"))
    shown = script("document.querySelector('[data-panel=jobs] bdi').textContent")
    check("the hostile name", shown, HOSTILE.replace("\u202e", "\\u{202e}"))
    check("scripts of the name", script("document.querySelectorAll('[data-panel] script').length"), 0)
    screenshot("dashboard-jobs.png")
    script("document.querySelector('[data-panel=jobs] a').click()")
    until("the job is shown", lambda: "none has ever connected" in text("job"))
    check("stones", script("document.querySelectorAll('.stones g').length"), 10)

    # It is paused and resumed from the page.
    def button(name):
        return f"[...document.querySelectorAll('button')].find((it) => it.textContent === '{name}')"
    until("it can be paused", lambda: script(f"!{button('pause')}.disabled"))
    script(f"{button('pause')}.click()")
    until("it is paused", lambda: "paused" in text("job") and script(f"!{button('resume')}.disabled"))

    # Two workers; one is killed while residuals fall.
    def worker(name):
        return start("worker", "--dir", name, "--name", name, "--coordinator", f"127.0.0.1:{at}", "--memory", "1GiB", "--threads", "1", *secret)
    one, two = worker("one"), worker("two")
    until("both workers are shown", lambda: "one" in text("workers") and "two" in text("workers"))
    script(f"{button('resume')}.click()")
    first = until("residuals are drawn", points)
    until("the curves grow", lambda: points() > first)
    until("the last step begins", lambda: script("document.querySelector('[data-step=\"4-4\"]').dataset.state") in ("running", "proving"))
    screenshot("dashboard-running.png")
    two.kill()
    until("the loss is said", lambda: "worker two is gone" in text("events"))
    until("time is told by worker", lambda: "one" in text("time") and "sweeping" in text("time"))
    screenshot("dashboard-lost.png")
    two = worker("two")
    until("its return is said", lambda: "worker two is here" in text("events"))
    until("it is solved", lambda: script("document.querySelectorAll('.stones g[data-state=solved]').length") == 10)
    until("the end is shown", lambda: "job 1 solved" in text("events"))
    check("the state", script("document.querySelector('[data-panel=job] .state').textContent"), "solved")
    check("the message of a solved job", script("document.querySelector('[data-message]')"), None)
    assert "1.0e-12" in text("plan"), text("plan")
    assert points() > first and script("document.querySelectorAll('[data-panel=proofs] polyline').length") == 10
    assert "paused (asked by the page)" in text("events"), text("events")
    screenshot("dashboard-solved.png")

    # Steps are chosen by keyboard.
    script("document.querySelector('[data-step=\"4-4\"]').focus()")
    press("\ue007")
    check("the step that is chosen", script("document.querySelector('.stones [aria-pressed=true]').dataset.step"), "4-4")
    check("its curve is in front", script("document.querySelectorAll('[data-panel=residuals] .picked').length > 0"), True)
    press(" ")
    check("no step is chosen", script("document.querySelectorAll('.stones [aria-pressed=true]').length"), 0)

    # Narrow and dark.
    scheme("dark")
    size(390, 900)
    time.sleep(0.5)
    check("nothing is wider than the screen", script("document.documentElement.scrollWidth <= innerWidth"), True)
    screenshot("dashboard-narrow.png")
    scheme("light")
    size(1200, 900)

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
    go((directory / "report.html").as_uri())
    check("stones of the report", script("document.querySelectorAll('.stones g[data-state=solved]').length"), 10)
    check("the name in the report", script("document.querySelector('[data-panel=job] bdi').textContent"), HOSTILE.replace("\u202e", "\\u{202e}"))
    assert points() > first
    screenshot("report.png")

    errors = [it["message"] for it in call("POST", session + "/se/log", {"type": "browser"}) if it["level"] == "SEVERE"]
    errors = [it for it in errors if "401" not in it and "ERR_CONNECTION_REFUSED" not in it and "ERR_INCOMPLETE_CHUNKED" not in it]
    check("errors of the page", errors, [])
    asked = set()
    for entry in call("POST", session + "/se/log", {"type": "performance"}):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.add(re.sub(r"^(\w+://[^/]*).*", r"\1", message["params"]["request"]["url"]))
    check("who was asked", {it for it in asked if it not in (page, "file://")}, set())
    print("dashboard.py: passed")
except BaseException:
    for number in range(len(running)):
        print((directory / f"log-{number}").read_text()[-2000:], file=sys.stderr)
    if screenshots:
        screenshot("dashboard-failed.png")
    raise
finally:
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()
    call("DELETE", session)
