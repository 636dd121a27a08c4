"""The data of matplotlib's figures, as E2B's SDK has charts: by its own e2b_charts, but for box plots, of which that
reads few: filled ones whose whiskers all have a length, with one outlier each at most."""

import json


def chart(figure):
    """A figure's chart; {} for one without data, or where the sandbox has no e2b_charts."""
    try:
        from e2b_charts.main import is_figure_blank

        parts = figure.get_axes()
        if is_figure_blank(parts):
            return {}
        found = [_part(axes) for axes in parts]
        if len(found) > 1:
            found = [{"type": "superchart", "title": figure.get_suptitle(), "elements": found}]
        return json.loads(json.dumps(found[0], default=str))
    except Exception:
        return {}  # it is shown all the same


def _part(axes):
    from e2b_charts.charts.base import Chart, Chart2D
    from e2b_charts.main import get_chart_from_ax

    try:
        boxes = _boxes(axes)
        if boxes:
            return dict(Chart2D(ax=axes, type="box_and_whisker").model_dump(), elements=boxes)
        return get_chart_from_ax(axes).model_dump()
    except Exception:
        return Chart(ax=axes, type="unknown").model_dump()


def _boxes(axes):
    """The boxes of a plot of these alone. matplotlib draws each as an outline, two whiskers that begin at it, with or
    without two caps, the median, with or without the mean, the outliers."""
    parts = [part for part in map(_points, axes._children) if part is not None]
    starts = [at for at in range(len(parts)) if _is_box(*parts[at : at + 4])]
    if not starts or starts[0]:
        return []
    return [_box(axes, parts[start:end]) for start, end in zip(starts, [*starts[1:], len(parts)])]


def _points(part):
    """The (x, y) of a line or an outline; None of what is neither, such as a text."""
    try:
        return [tuple(map(float, point)) for point in part.get_xydata()]
    except AttributeError:
        return [tuple(map(float, one)) for one in part.get_path().vertices] if hasattr(part, "get_path") else None


def _is_box(outline, *lines):
    return len(outline) >= 5 and outline[0] == outline[-1] and [len(points) for points in lines] == [2, 2, 2]


def _box(axes, parts):
    (first, low), (third, high) = parts[1:3]
    along = 1 if parts[3][0][1] == parts[3][1][1] else 0  # 0: it lies
    lines = [points for points in parts[3:] if len(points) == 2]
    across = [one[along] for one, other in lines if one[along] == other[along] and one != other]
    ticks = axes.get_xticklabels() if along else axes.get_yticklabels()
    near = min(ticks, key=lambda tick: abs(tick.get_position()[1 - along] - first[1 - along]), default=None)
    ends = (low[along], high[along])
    return {
        "label": near.get_text() if near else "",
        "min": ends[0],
        "first_quartile": first[along],
        "median": across[2 if len(across) > 2 else 0],
        "third_quartile": third[along],
        "max": ends[1],
        "outliers": [one[along] for one in parts[-1] if not ends[0] <= one[along] <= ends[1]],
    }
