"""Drives a browser through the explorer: python3 explorer.py DRIVER OPEN GUARDED DIRECTORY RECORD HOSTILE [SCREENSHOTS]."""

import json
import pathlib
import sys
import time
import urllib.parse

from browser import Browser, check

driver, base, guarded, directory, record, hostile, screenshots = sys.argv[1:8]
best = json.loads(pathlib.Path(directory, "best.json").read_text())
review = json.loads(pathlib.Path(directory, "review.json").read_text().splitlines()[-1])
record = pathlib.Path(record).read_text()


def percent(value, decimals=10):
    return f"{value:.{decimals}f} %"


with Browser(driver, screenshots) as browser:

    def leads_to(address):
        """The address of the page is written a little later than the page."""
        browser.waits_for(f"decodeURIComponent(location.hash) === '{address}'", address)

    def settled():
        """Waits until the table has answered."""
        browser.waits_for("!document.querySelector('#chance').textContent.includes('…') && document.querySelector('#board svg') !== null")

    def pieces(player):
        return browser.count(f'#board [data-piece="{player}"]')

    def fits(width):
        time.sleep(0.3)
        found = browser.script("document.documentElement.scrollWidth")
        assert found <= width, f"the page is {found} pixels wide on a screen of {width}"

    browser.size(1280, 1000)
    browser.open(base + "#table=finkel-2")
    browser.waits_for("document.querySelectorAll('#rolls tr[data-roll]').length === 5")
    check("squares", browser.count("#board [data-square]"), 20)
    browser.screenshot("explorer-start.png")

    # A position is set up by clicking, and its value is that of `best`.
    browser.click("#edit")
    for square, clicks in [("A1", 1), ("B4", 1), ("B5", 1), ("B5", 1), ("B8", 1)]:  # 4 and 8 of light, which has no more, and 12 of dark
        for _ in range(clicks):
            browser.click(f'[data-square="{square}"]')
    browser.click("#edit")
    settled()
    check("the position", browser.script("document.getElementById('position').value"), "4,8/12")
    check("the value", browser.text("#value"), percent(best["percent"]))
    check("pieces", (pieces("light"), pieces("dark")), (2, 1))
    for roll in best["rolls"]:
        browser.click(f'[data-roll="{roll["roll"]}"]')
        browser.waits_for("document.querySelector('#words').textContent.includes('points of')")
        found = browser.script("[...document.querySelectorAll('.move')].map((it) => it.title)")
        check(f"moves for {roll['roll']}", found, [percent(move["percent"]) for move in roll["moves"]])
        check("arrows", browser.count("#board .arrow"), len(roll["moves"]))
        luck = f"{abs(roll['luck_points']):.2f} points"
        assert luck in browser.text("#words"), (luck, browser.text("#words"))
    browser.click('[data-roll="2"]')
    browser.waits_for("document.querySelectorAll('.move').length > 1")
    browser.screenshot("explorer-moves.png")
    browser.media(prefers_color_scheme="dark")
    browser.screenshot("explorer-dark.png")
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")

    # The address leads back to it.
    leads_to("#table=finkel-2&position=4,8/12&turn=light&roll=2")
    link = browser.script("location.href")
    browser.open("about:blank")
    browser.open(link)
    browser.waits_for("document.querySelectorAll('.move').length > 1")
    check("the value by its address", browser.text("#value"), percent(best["percent"]))

    # Dark's turn: the same pieces, seen by dark.
    browser.click("#swap")
    leads_to("#table=finkel-2&position=12/4,8&turn=dark")

    # Positions are typed in any way that the tables read; what is none is said.
    for typed, read in [("A1,B4/C2", "4,8/3"), ("start", "-/-")]:
        browser.clear("#position")
        browser.type("#position", typed)
        browser.click("#typed button")
        browser.waits_for(f"decodeURIComponent(location.hash).includes('position={read}&')", typed)
    browser.clear("#position")
    browser.type("#position", "4,x/3")
    browser.click("#typed button")
    assert "`x` is not a path position" in browser.waits_for("!document.querySelector('#problem').hidden && document.querySelector('#problem').textContent")
    check("errors of the network alone", [it["source"] for it in browser.console()], ["network"])

    # Keys work outside of fields, and only there.
    browser.click("#start")
    settled()
    browser.clear("#position")
    browser.type("#position", "2")
    check("a digit in a field", browser.script("document.getElementById('position').value"), "2")
    check("no roll by it", browser.count('#dice [data-roll="2"][aria-pressed="true"]'), 0)
    browser.script("document.activeElement.blur()")
    browser.press("2")
    browser.waits_for("document.querySelector('#dice [data-roll=\"2\"]').ariaPressed === 'true'")
    browser.waits_for("document.querySelector('.move.best') !== null")
    browser.press("b")
    browser.waits_for("location.hash.includes('turn=dark')")
    browser.press("k")
    browser.waits_for("location.hash.includes('turn=light')")
    browser.press("j")
    browser.waits_for("location.hash.includes('turn=dark')")
    check("a step on", pieces("light"), 1)

    # A game to its end, against the perfect player; moves are clicked on the board where they can be.
    browser.click("#start")
    browser.script("document.getElementById('dark').value = 'perfect', document.getElementById('dark').dispatchEvent(new Event('change'))")
    for turn in range(1000):
        settled()
        if "has won" in browser.text("#chance"):
            break
        if "to roll" in browser.text('[data-tray="dark"]'):
            time.sleep(0.05)
        elif browser.count('#dice [data-roll="any"][aria-pressed="true"]'):
            browser.click("#throw")
        elif browser.script("!document.getElementById('pass').hidden"):
            browser.click("#pass")
        elif browser.count("#moves .move"):
            browser.script("(document.querySelector('#board .square.open') ? document.querySelector('#board .square.open').dispatchEvent(new MouseEvent('click')) : document.querySelector('#moves .move').click())")
        if turn == 12:
            browser.screenshot("explorer-game.png")
    assert "has won" in browser.text("#chance"), browser.text("#chance")
    winner = browser.text("#chance").split()[0]
    points = browser.script("document.querySelector('#graph polyline').getAttribute('points').split(' ')")
    assert len(points) > 10, points
    check("two pieces of the winner scored", f"{winner}: 0 in hand, 2 scored" in browser.text(f'[data-tray="{winner}"]'), True)
    browser.screenshot("explorer-won.png")
    browser.click("#back")
    browser.waits_for("!document.querySelector('#chance').textContent.includes('has won')")
    browser.script("document.getElementById('dark').value = 'you', document.getElementById('dark').dispatchEvent(new Event('change'))")

    # A review is stepped through.
    escaped = hostile.replace('"', '\\"')
    browser.script("document.getElementById('record').value = arguments[0]", f'[Event "{escaped}"]\n[Site "<script>alert(2)</script>"]\n{record}')
    browser.click("#review")
    actions = review["actions"]
    browser.waits_for("document.querySelector('#account tr[data-at]') !== null")
    check("lines", browser.count("#account tr[data-at]"), len(actions))
    for at in range(len(actions)):
        browser.waits_for(f"document.querySelector('#account tr.here')?.dataset.at === '{at}'", f"step {at}")
        settled()
        words = browser.waits_for("document.querySelector('#words').textContent")
        assert words.startswith(f"{actions[at]['player']} has rolled {actions[at]['roll']}"), words
        if actions[at]["better"]:
            assert f"loses {actions[at]['loss_points']:.2f} points" in words, words
            browser.screenshot("explorer-review.png")
        browser.press("j")
    browser.waits_for("document.querySelector('#chance').textContent.includes('has won')")
    if any(action["move_mark"] for action in actions):
        browser.press("m")
        browser.waits_for("document.querySelector('#words').textContent.includes('better is')")
    browser.click('#account tr[data-at="2"]')
    browser.waits_for("document.querySelector('#account tr.here')?.dataset.at === '2'")

    # Hostile names are text.
    assert hostile in browser.text("#metadata") and "<script>alert(2)</script>" in browser.text("#metadata")
    check("marks of direction end with their text", browser.count("#metadata bdi"), 6)
    check("names of tables", hostile in browser.script("[...document.querySelectorAll('#tables option')].map((it) => it.textContent)"), True)
    browser.open("about:blank")
    browser.open(base + "#table=" + urllib.parse.quote(hostile))
    browser.waits_for("document.querySelectorAll('#rolls tr[data-roll]').length === 5")
    check("the table", browser.script("document.getElementById('tables').value"), hostile)
    check("nothing became markup", browser.count("img, iframe, object, script:not([type=module])"), 0)

    # The picture of docs/EXPLORER.md.
    browser.open("about:blank")
    browser.open(base + "#table=finkel-2")
    settled()
    browser.script("document.getElementById('record').value = arguments[0]", record)
    browser.click("#review")
    worst = max(range(len(actions)), key=lambda at: actions[at]["loss_points"])
    browser.waits_for("document.querySelector('#account tr[data-at]') !== null")
    browser.script("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click'))", f'#account tr[data-at="{worst}"]')
    browser.waits_for("document.querySelector('#words').textContent.includes('better is')")
    browser.script("scrollTo(0, 0)")
    browser.screenshot("explorer.png", browser.script("document.querySelector('#graph').getBoundingClientRect().bottom + 8"))

    # Other boards: paths that visit a square twice, squares that no built-in board has.
    browser.open(base + "#table=murray-1&position=start")
    settled()
    browser.click("#edit")
    twice = browser.script("(async () => { const { tables } = await (await fetch('/v1/tables')).json(); const path = tables.find((it) => it.name === 'murray-1').board.paths.light; return path.find((it, at) => path.indexOf(it) !== at); })()")
    for visit in ["1", "2"]:
        browser.click(f'[data-square="{twice}"]')
        browser.waits_for(f"document.querySelector('#board .lap.light')?.textContent === '{visit}'")
    browser.click("#edit")
    settled()
    browser.screenshot("explorer-murray.png")
    browser.open(base + "#table=own&position=start")
    settled()
    about = browser.text("#about")
    assert about.startswith("own-board, 2 pieces"), about
    browser.click('[data-roll="1"]')
    browser.waits_for("document.querySelector('#words').textContent.includes('points of')")
    browser.screenshot("explorer-own.png")

    # A narrow screen.
    browser.size(360, 740)
    for table in ["own", "murray-1", "finkel-2"]:
        browser.open(f"{base}#table={table}&position=start&roll=1")
        settled()
        fits(360)
    browser.screenshot("explorer-narrow.png")
    browser.size(1280, 1000)

    # No request left the machine, and no script failed.
    loaded = browser.script("performance.getEntriesByType('resource').map((it) => it.name)")
    assert loaded and all(it.startswith(base) for it in loaded), loaded
    check("the console", browser.console(), [])

    # A server with a token shows nothing without it.
    browser.open(guarded)
    browser.waits_for("document.querySelector('#sign-in') !== null")
    text = browser.script("document.body.innerText + document.querySelector('#tables').innerHTML")
    assert "finkel" not in text, text
    browser.type("#token", "0123456789abcdef-wrong")
    browser.click("#sign-in button")
    browser.waits_for("document.querySelector('#sign-in')?.textContent.includes('not the token')")
    browser.screenshot("explorer-token.png")
    browser.type("#token", "0123456789abcdef-secret")
    browser.click("#sign-in button")
    browser.waits_for("document.querySelectorAll('#rolls tr[data-roll]').length === 5")
    # Nor does the address keep it.
    browser.open("about:blank")
    browser.script("sessionStorage.clear()") if browser.script("location.protocol") != "about:" else None
    browser.open(guarded + "#token=0123456789abcdef-secret&table=finkel-2&position=4,8/12")
    settled()
    check("the value with a token", browser.text("#value"), percent(best["percent"]))
    browser.waits_for("!location.href.includes('secret')")
print("the explorer shows values, plays, reviews, fits a narrow screen, and asks nothing of any other host")
