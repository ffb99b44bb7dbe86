"""The figures of the four papers Espalier joins, on one command: data, a drawing, what the paper says, a verdict.

    figure ──► way (real · emulated · simulated · counted) ──► points ──► verdict
                                                                  └──► CSV, JSON, SVG, PNG, page

A `Figure` (figure.py) is a title, the paper's statement, and one or more ways to come by data, each with a judge: a
pure function of the data. All figures are in `registry.py`, one folder per paper (smp, groups, trees, leaders).
Verdicts follow from the stored points alone, so a page can be written again from them on another machine.
espalier.draw has the diagrams and the page.
"""
