"""Drives a browser through the page of a review, by WebDriver: python3 page.py DRIVER PAGE REVIEW_JSON [SCREENSHOTS]."""

import base64
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

driver, page, review_file, screenshots = sys.argv[1:5]
review = json.loads(pathlib.Path(review_file).read_text().splitlines()[-1])
ARROW_LEFT, ARROW_RIGHT, HOME, END = "\ue012", "\ue014", "\ue011", "\ue010"


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(driver + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["value"]


def until_it_listens():
    for _ in range(300):
        try:
            return call("GET", "/status")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise SystemExit("page.py: chromedriver does not answer")


until_it_listens()
arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"]
options = {"args": arguments}
wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
session = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]


def script(text):
    return call("POST", session + "/execute/sync", {"script": "return " + text, "args": []})


def press(key):
    actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
    body = {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
    call("POST", session + "/actions", body)


def step():
    return int(script("document.body.dataset.step"))


def screenshot(name):
    if screenshots:
        image = base64.b64decode(call("GET", session + "/screenshot"))
        (pathlib.Path(screenshots) / name).write_bytes(image)


def size(width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    body = {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}
    call("POST", session + "/goog/cdp/execute", body)


def check(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"


try:
    size(1200, 900)
    call("POST", session + "/url", {"url": pathlib.Path(page).resolve().as_uri()})
    actions = review["actions"]
    count = len(actions)
    # It draws: 20 squares, as many pieces as are on the board, a point for each action and the end, a line for each action.
    check("squares", script("document.querySelectorAll('#board rect').length"), 20)
    check("pieces at the start", script("document.querySelectorAll('#board [data-piece]').length"), 0)
    points = script("document.querySelector('#graph polyline').getAttribute('points').split(' ').length")
    check("points of the graph", points, count + 1)
    check("lines", script("document.getElementById('actions').rows.length"), count + 1)
    screenshot("page-start.png")
    # It steps by keyboard.
    check("the first step", step(), 0)
    for _ in range(3):
        press(ARROW_RIGHT)
    check("three steps on", step(), 3)
    text = script("document.getElementById('step').textContent")
    assert f"4 of {count}" in text and f"rolls {actions[3]['roll']}" in text, text
    position = actions[3]["position"]
    on_board = sum(len([it for it in side.split("+")[0].split(",") if it != "-"]) for side in position.split("/"))
    check("pieces", script("document.querySelectorAll('#board [data-piece]').length"), on_board)
    press(ARROW_LEFT)
    check("one step back", step(), 2)
    press(END)
    check("the end", step(), count)
    assert "won" in script("document.getElementById('step').textContent")
    press(ARROW_RIGHT)
    check("no step beyond the end", step(), count)
    press(HOME)
    check("the start", step(), 0)
    if any(action["move_mark"] for action in actions):
        press("m")
        assert actions[step()]["move_mark"], step()
        screenshot("page-mistake.png")
    # It asks nothing of the network, and says nothing to the console.
    check("what was loaded", script("performance.getEntriesByType('resource').length"), 0)
    log = call("POST", session + "/se/log", {"type": "browser"})
    check("the console", log, [])
    # It fits a narrow screen: nothing but the list of actions, which has a bar of its own, is wider.
    size(360, 740)
    time.sleep(0.3)
    width = script("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide on a screen of 360"
    board = script("document.querySelector('#board svg').getBoundingClientRect().width")
    assert 250 < board <= 360, board
    screenshot("page-narrow.png")
finally:
    call("DELETE", session)
print("the page draws, steps by keyboard, fits a narrow screen, and asks nothing of the network")
