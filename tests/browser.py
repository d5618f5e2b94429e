"""A browser, Debian's Chromium, driven by WebDriver with nothing but Python."""

import base64
import json
import pathlib
import time
import urllib.error
import urllib.request

ENTER, ARROW_LEFT, ARROW_RIGHT, HOME, END = "\ue007", "\ue012", "\ue014", "\ue011", "\ue010"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Stale(RuntimeError):
    """A page has drawn an element anew since it was found."""


class Browser:
    """A session. No name but 127.0.0.1 is found, so nothing can leave the machine unseen."""

    def __init__(self, driver, screenshots=""):
        self.driver, self.screenshots = driver, screenshots
        self.until(lambda: self._call("GET", "/status"), "chromedriver does not answer", (urllib.error.URLError, ConnectionError))
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        found = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + found["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.screenshot("failed.png")
        self._call("DELETE", self.session)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.driver + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            kind = Stale if '"stale element reference"' in said else RuntimeError
            raise kind(f"{method} {path}: {said[:500]}") from None

    @staticmethod
    def until(found, what, passing=(), patience=30):
        """Waits until something is true, for so many seconds at the most, and gives it back."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                value = found()
            except passing:
                value = None
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"after {patience} s: {what}")

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def script(self, text, *arguments):
        """The value of an expression in the page."""
        return self._call("POST", self.session + "/execute/sync", {"script": "return " + text, "args": list(arguments)})

    def waits_for(self, text, what=None):
        """The value of an expression in the page, once it is true."""
        return self.until(lambda: self.script(text), what or text)

    def text(self, selector):
        return self.script("document.querySelector(arguments[0])?.textContent", selector)

    def count(self, selector):
        return self.script("document.querySelectorAll(arguments[0]).length", selector)

    def find(self, selector):
        return self._call("POST", self.session + "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def _to_element(self, selector, what, body):
        """Does something to an element; to the new one if the page draws it anew meanwhile."""

        def done():
            self._call("POST", f"{self.session}/element/{self.find(selector)}/{what}", body)
            return True

        self.until(done, f"{selector} is drawn anew all the time", Stale)

    def click(self, selector):
        """Clicks as a person does: on what can be seen there."""
        self._to_element(selector, "click", {})

    def type(self, selector, text):
        self._to_element(selector, "value", {"text": text})

    def clear(self, selector):
        self._to_element(selector, "clear", {})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def cdp(self, command, **parameters):
        return self._call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def media(self, **features):
        """Emulates what a reader prefers: `media(prefers_color_scheme="dark")`."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", features=named)

    def screenshot(self, name, height=None):
        """Of the whole page, or of so much of its top, smaller."""
        if self.screenshots:
            width = self.script("document.documentElement.clientWidth")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 0.75}} if height else {}
            picture = self.cdp("Page.captureScreenshot", captureBeyondViewport=True, **clip)["data"]
            (pathlib.Path(self.screenshots) / name).write_bytes(base64.b64decode(picture))

    def _log(self, kind):
        return self._call("POST", self.session + "/se/log", {"type": kind})

    def console(self):
        return self._log("browser")

    def requests(self):
        """The addresses that pages asked for."""
        messages = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        return [it["params"]["request"]["url"] for it in messages if it["method"] == "Network.requestWillBeSent"]


def check(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"
