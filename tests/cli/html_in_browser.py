#!/usr/bin/env python3
"""Opens an HTML report in headless Chromium, without network: its charts are drawn, no error is logged.

Usage: html_in_browser.py WRITE_HTML_REPORT REPORT [PNG]. The report stands there as measured, and a
tenth faster as predicted, each with a second rank. With PNG it also takes a picture.
Exits 77 (skipped) without Chromium or plotly.js.
"""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHARTS = ("phases", "memory", "kinds")


def chromium(browser: str, folder: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile",
         "--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000",
         "--window-size=1120,1500", *words],
        capture_output=True, text=True, timeout=300, check=False)


def scaled(value, factor: float):
    """Times of a report, its numbers that are no counts."""
    if isinstance(value, dict):
        return {key: scaled(entry, factor) for key, entry in value.items()}
    return value * factor


def pair_of(report: dict) -> list[dict]:
    """Predicted and measured, with a slower second rank."""
    second = copy.deepcopy(report["ranks"][0])
    second.update(rank=1, device="older_core")
    report["ranks"][0]["represents"] = second["represents"] = 1
    report["ranks"].append(second)
    predicted = copy.deepcopy(report)
    predicted["kind"] = "predicted"
    del predicted["step_time_us"]["samples"]
    for key in ("median", "p10", "p90"):
        predicted["step_time_us"][key] *= 0.9
    for rank in predicted["ranks"]:
        rank["phases_us"] = scaled(rank["phases_us"], 0.9)
    for operation in predicted["operations"]:
        operation["time_us"] = scaled(operation["time_us"], 0.9)
    return [predicted, report]


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        print("skipped: no chromium (apt-get install chromium)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        files = []
        for report in pair_of(json.loads(pathlib.Path(sys.argv[2]).read_text())):
            files.append(pathlib.Path(folder) / f"{report['kind']}.json")
            files[-1].write_text(json.dumps(report))
        wrote = subprocess.run([sys.argv[1], page, *files], capture_output=True, text=True,
                               check=False)
        if "needs plotly.js" in wrote.stderr:
            print("skipped: " + wrote.stderr)
            return 77
        if wrote.returncode != 0:
            print(wrote.stderr)
            return 1
        ran = chromium(browser, folder, "--dump-dom", page.as_uri())
        console = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
        # The charts of the page stand before its data; what the library's own text says is cut.
        body = ran.stdout[ran.stdout.find("<body"):]
        faults = ["logged: " + line for line in console]
        for chart in CHARTS:
            drawn = re.search(rf'<div[^>]*id="{chart}"[^>]*>.*?class="main-svg"', body, re.S)
            bars = body.count('class="point"')
            if not drawn or bars == 0:
                faults.append(f"the chart {chart} is not drawn")
        if len(sys.argv) > 3:
            chromium(browser, folder, f"--screenshot={sys.argv[3]}", page.as_uri())
        print(f"{page.stat().st_size} bytes, {body.count(chr(34) + 'point' + chr(34))} bars, "
              f"{len(console)} lines in the console")
        for fault in faults:
            print("WRONG " + fault)
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
