"""The page in a real browser: no errors, links, filters, widths, keyboard, accessibility."""

import shutil
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium")
WIDTHS = (360, 1280)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(params=["light", "dark"])
def page(request, browser, page_path):
    context = browser.new_context(color_scheme=request.param)
    opened = context.new_page()
    opened.problems = []
    opened.on("console", lambda said: opened.problems.append(said.text))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("requestfailed", lambda request: opened.problems.extend(_missing(request)))
    opened.goto(page_path.as_uri())
    yield opened
    assert opened.problems == []
    context.close()


def _missing(request) -> list[str]:
    """Name a file that is not there; a picture may still be on its way when a page is left."""
    return [] if request.failure == "net::ERR_ABORTED" else [request.url]


def _shown(page) -> list[str]:
    return page.eval_on_selector_all(
        "article", "all => all.filter(one => !one.hidden).map(one => one.id)"
    )


def test_filters_leave_what_they_name_and_stand_in_the_address(page):
    everything = _shown(page)
    page.select_option("form.filter select[name=paper]", "LWC")
    chosen = _shown(page)
    assert set(chosen) < set(everything)
    assert all(name.startswith("LWC") for name in chosen)
    assert "paper=LWC" in page.url
    page.reload()
    assert _shown(page) == chosen
    page.click("form.filter button")
    # Not wait_for_function(): where it has to wait it evaluates text, which the page forbids.
    sync_api.expect(page.locator("article:not([hidden])")).to_have_count(len(everything))


def test_a_count_of_verdicts_leads_to_its_claims(page):
    link = page.locator(".counts tbody a[href*='verdict']").first
    wanted = link.get_attribute("href")
    link.click()
    rows = page.eval_on_selector_all(
        "#claims tbody tr", "all => all.filter(one => !one.hidden).map(one => one.dataset.verdict)"
    )
    assert len(rows) == int(link.inner_text())
    assert all(verdict.replace(" ", "%20") in wanted for verdict in rows)


def test_two_engines_are_compared_on_all_panels(page):
    page.select_option("form.compare select[name=first]", "leveldb")
    page.select_option("form.compare select[name=second]", "ldc")
    cells = page.locator("#compared tbody tr")
    assert cells.count() > 0
    assert page.inner_text("#pairs") == f"{cells.count()} cells have both"
    assert "NaN" not in page.inner_text("#compared")


def _lay_out_everything(page) -> None:
    """Show what is out of sight, too: it would be neither as wide as it is nor looked into."""
    page.add_style_tag(content="article { content-visibility: visible !important; }")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["index.html", "runs.html"])
def test_nothing_is_wider_than_the_window(page, page_path, width, name):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(page_path.with_name(name).as_uri())
    _lay_out_everything(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_the_filter_can_be_reached_by_keyboard(page):
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "paper":
            break
    else:
        pytest.fail("the filter was not reached")
    page.keyboard.type("LD")
    assert all(name.startswith("LDC") for name in _shown(page))


@pytest.mark.parametrize("name", ["index.html", "runs.html"])
def test_axe_finds_nothing(page, page_path, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.goto(page_path.with_name(name).as_uri())
    _lay_out_everything(page)
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_pictures_have_a_size_before_they_come(page):
    sizes = page.eval_on_selector_all(
        "article img", "all => all.map(one => one.getAttribute('width'))"
    )
    assert sizes
    assert all(sizes)


def test_every_link_leads_somewhere(page, page_path):
    targets = page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
    for target in {target.split("#")[0] for target in targets}:
        assert target.startswith("file://"), target
        assert Path(target.removeprefix("file://")).exists(), target
