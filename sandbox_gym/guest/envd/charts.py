"""The data of matplotlib's figures, as E2B's SDK has charts: by its own e2b_charts, but for box plots, of which that
reads few: filled ones whose whiskers all have a length, with one outlier each at most."""

import json


def chart(figure):
    """A figure's chart; {} for one without data, or where the sandbox has no e2b_charts."""
    try:
        from e2b_charts.main import is_figure_blank

        parts = figure.get_axes()
        found = [] if is_figure_blank(parts) else [_part(axes) for axes in parts]
        if len(found) > 1:
            found = [{"type": "superchart", "title": figure.get_suptitle(), "elements": found}]
        return json.loads(json.dumps(found[0], default=str)) if found else {}
    except Exception:
        return {}  # it is shown all the same


def _part(axes):
    from e2b_charts.charts.base import Chart, Chart2D
    from e2b_charts.main import get_chart_from_ax

    try:
        boxes = _boxes(axes)
        whole = Chart2D(ax=axes, type="box_and_whisker") if boxes else get_chart_from_ax(axes)
        return dict(whole.model_dump(), **({"elements": boxes} if boxes else {}))
    except Exception:
        return Chart(ax=axes, type="unknown").model_dump()


def _boxes(axes):
    """The boxes of a plot that begins with them. matplotlib draws each as an outline, two whiskers that begin at it,
    with or without two caps, the median, with or without the mean, the outliers."""
    parts = [part.get_path().vertices.tolist() for part in axes._children if hasattr(part, "get_path")]
    starts = [
        at
        for at, (outline, *lines) in enumerate(zip(parts, parts[1:], parts[2:], parts[3:]))
        if len(outline) > 4 and outline[0] == outline[-1] and all(len(line) == 2 for line in lines)
    ]
    return [_box(axes, parts[at:end]) for at, end in zip(starts, [*starts[1:], None])] if starts[:1] == [0] else []


def _box(axes, parts):
    lines = [part for part in parts[3:] if len(part) == 2]
    along = 1 if lines[0][0][1] == lines[0][1][1] else 0  # 0: it lies
    (first, low), (third, high) = ([point[along] for point in whisker] for whisker in parts[1:3])
    across = [one[along] for one, other in lines if one[along] == other[along] and one != other]
    ticks = axes.get_xticklabels() if along else axes.get_yticklabels()
    at = parts[1][0][1 - along]
    near = min(ticks, key=lambda tick: abs(tick.get_position()[1 - along] - at), default=None)
    return {
        "label": near.get_text() if near else "",
        "min": low,
        "first_quartile": first,
        "median": across[2 if len(across) > 2 else 0],
        "third_quartile": third,
        "max": high,
        "outliers": [point[along] for point in parts[-1] if not low <= point[along] <= high],
    }
