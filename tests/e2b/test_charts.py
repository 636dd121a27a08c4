"""matplotlib's figures as the SDK's charts, in the code interpreter's image."""

from __future__ import annotations

import pytest
from e2b_code_interpreter import Sandbox
from e2b_code_interpreter.charts import BoxAndWhiskerChart, ChartType, SuperChart

pytestmark = pytest.mark.timeout(1800)

CHARTS = {
    ChartType.LINE: "plt.plot([1, 2], [3, 4], label='a')",
    ChartType.SCATTER: "plt.scatter([1, 2], [3, 4])",
    ChartType.BAR: "plt.bar(['a', 'b'], [3, 4])",
    ChartType.PIE: "plt.pie([3, 1], labels=['a', 'b'])",
    ChartType.BOX_AND_WHISKER: "plt.boxplot([[85, 90, 78, 92, 88], [75, 82, 88, 79, 86]], patch_artist=True)",
    ChartType.SUPERCHART: "_, axes = plt.subplots(1, 2)\naxes[0].plot([1], [2])\naxes[1].scatter([1], [2])",
}


@pytest.mark.extended
@pytest.mark.parametrize("pool", ["docker"], indirect=True)  # of the image: this machine may have no matplotlib
def test_figures_have_their_chart_and_images_are_shown(box: Sandbox) -> None:
    for kind, code in CHARTS.items():
        found = box.run_code(f"import matplotlib.pyplot as plt\n{code}\nplt.show()").results[-1]
        assert found.chart is not None
        assert (found.chart.type, bool(found.png), bool(found.text)) == (kind, True, True)
    for last in ("image", "image.show()", "image.save('saved.png')"):
        found = box.run_code(f"from PIL import Image\nimage = Image.new('RGB', (4, 4))\n{last}").results[0]
        assert found.png
    found = box.run_code("import plotly.express as px\npx.bar(x=[1], y=[2])").results[-1]
    assert "application/vnd.plotly.v1+json" in (found.extra or {})


BOXES = """
import matplotlib.pyplot as plt
_, axes = plt.subplots(1, 2)
rows = [[*range(1, 12), 40, 41, 42], [5], [7, 7, 7], [2, 3, 4]]
axes[0].boxplot(rows, labels=list("abcd"), {options})
axes[0].set_title("boxes")
axes[0].set_ylabel("weight (kg)")
axes[1].plot([1, 2], [3, 4])
plt.show()
"""


@pytest.mark.extended
@pytest.mark.parametrize("pool", ["docker"], indirect=True)
@pytest.mark.parametrize(
    "options",
    [
        "",
        "patch_artist=True",
        "vert=False",
        "notch=True, showmeans=True",
        "showcaps=False, meanline=True, showmeans=True",
    ],
)
def test_every_form_of_box_plots(box: Sandbox, options: str) -> None:
    chart = box.run_code(BOXES.replace("{options}", options)).results[0].chart
    assert isinstance(chart, SuperChart)
    boxes, line = chart.elements
    assert (line.type, boxes.type, boxes.title) == (ChartType.LINE, ChartType.BOX_AND_WHISKER, "boxes")
    assert isinstance(boxes, BoxAndWhiskerChart)
    assert (boxes.y_label, boxes.y_unit) == ("weight (kg)", "kg")
    first, *others = boxes.elements
    quartiles = (first.min, first.first_quartile, first.median, first.third_quartile, first.max)
    assert (first.label, quartiles, first.outliers) == ("a", (1, 4.25, 7.5, 10.75, 11), [40, 41, 42])
    assert [(one.label, one.min, one.median, one.max) for one in others] == [
        ("b", 5, 5, 5), ("c", 7, 7, 7), ("d", 2, 3, 4)
    ]  # fmt: skip
    assert not any(one.outliers for one in others)
