"""Drives a browser through the page of a review: python3 page.py DRIVER PAGE REVIEW_JSON [SCREENSHOTS]."""

import json
import pathlib
import sys
import time

from browser import ARROW_LEFT, ARROW_RIGHT, END, HOME, Browser, check

driver, page, review_file, screenshots = sys.argv[1:5]
review = json.loads(pathlib.Path(review_file).read_text().splitlines()[-1])

with Browser(driver, screenshots) as browser:

    def step():
        return int(browser.script("document.body.dataset.step"))

    browser.size(1200, 900)
    browser.open(pathlib.Path(page).resolve().as_uri())
    actions = review["actions"]
    count = len(actions)
    # It draws: 20 squares, as many pieces as are on the board, a point for each action and the end, a line for each action.
    check("squares", browser.count("#board rect"), 20)
    check("pieces at the start", browser.count("#board [data-piece]"), 0)
    points = browser.script("document.querySelector('#graph polyline').getAttribute('points').split(' ').length")
    check("points of the graph", points, count + 1)
    check("lines", browser.script("document.getElementById('actions').rows.length"), count + 1)
    browser.screenshot("page-start.png")
    # It steps by keyboard.
    check("the first step", step(), 0)
    for _ in range(3):
        browser.press(ARROW_RIGHT)
    check("three steps on", step(), 3)
    text = browser.text("#step")
    assert f"4 of {count}" in text and f"rolls {actions[3]['roll']}" in text, text
    position = actions[3]["position"]
    on_board = sum(len([it for it in side.split("+")[0].split(",") if it != "-"]) for side in position.split("/"))
    check("pieces", browser.count("#board [data-piece]"), on_board)
    browser.press(ARROW_LEFT)
    check("one step back", step(), 2)
    browser.press(END)
    check("the end", step(), count)
    assert "won" in browser.text("#step")
    browser.press(ARROW_RIGHT)
    check("no step beyond the end", step(), count)
    browser.press(HOME)
    check("the start", step(), 0)
    if any(action["move_mark"] for action in actions):
        browser.press("m")
        assert actions[step()]["move_mark"], step()
        browser.screenshot("page-mistake.png")
    # It asks nothing of the network, and says nothing to the console.
    check("what was loaded", browser.script("performance.getEntriesByType('resource').length"), 0)
    check("the console", browser.console(), [])
    # It fits a narrow screen: nothing but the list of actions, which has a bar of its own, is wider.
    browser.size(360, 740)
    time.sleep(0.3)
    width = browser.script("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide on a screen of 360"
    board = browser.script("document.querySelector('#board svg').getBoundingClientRect().width")
    assert 250 < board <= 360, board
    browser.screenshot("page-narrow.png")
print("the page draws, steps by keyboard, fits a narrow screen, and asks nothing of the network")
