"""A harness's spec of a row as a recipe: what is had from where, and what is refused by its name."""

from __future__ import annotations

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.swe.building import layer_key
from sandbox_gym.verifiers.swe import Recipe, SweTask, parse_task
from tests.swe.rows import SWEBENCH

INSTALL = "python -m pip install -e ."


def task(place: str = "spec", source: str = "astropy==4.3", **spec: object) -> SweTask:
    return parse_task({**SWEBENCH, "source": source, place: {"python": "3.9", "install": INSTALL, **spec}})


def test_swebenchs_words() -> None:
    given = task(
        packages="'numpy==1.19.2' cython python=3.9",
        pip_packages=["pytest-mock"],
        pre_install=["apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y locales libpq-dev", "sed x"],
        test_cmd="pytest -rA",
    )
    assert given.recipe == Recipe(
        python="3.9",
        source="astropy==4.3",
        packages=("numpy==1.19.2", "cython", "pytest-mock"),
        system_packages=("locales", "libpq-dev"),
        install=("sed x", INSTALL),
        env={"SETUPTOOLS_SCM_PRETEND_VERSION": "4.3"},
    )
    assert (given.image, given.test_command, given.family) == ("", "pytest -rA", "swebench")


def test_swe_rebenchs_words() -> None:
    given = task("install_config", packages="requirements.txt", reqs_path=["a.txt", "b c.txt"], env_vars={"A": "b"})
    assert given.recipe is not None
    files = ("python -m pip install -r a.txt", "python -m pip install -r 'b c.txt'")
    assert given.recipe.install == (*files, INSTALL)
    assert given.recipe.env == {"SETUPTOOLS_SCM_PRETEND_VERSION": "4.3", "A": "b"}
    assert given.family == "swe_rebench"


@pytest.mark.parametrize("source", ["", "github", "astropy"])
def test_without_a_release_the_image_counts(source: str) -> None:
    assert task(source=source).recipe is None
    assert task(source=source).image


@pytest.mark.parametrize(
    ("spec", "field", "word"),
    [
        ({"packages": "environment.yml"}, "packages", "'environment.yml'"),
        ({"packages": "numpy=1.19"}, "packages", "'numpy=1.19'"),
        ({"packages": "-c conda-forge x"}, "packages", "'-c'"),
        ({"install": "conda install -y gcc"}, "install", "conda"),
        ({"pre_install": ["apt-get upgrade -y"]}, "pre_install", "as root"),
        ({"pre_install": ["dpkg -i x.deb"]}, "pre_install", "as root"),
        ({"pre_install": ["apt-get install 'x"]}, "pre_install", "No closing quotation"),
        ({"pre_install": ["apt-get install bash-"]}, "system_packages[0]", "'bash-'"),
        ({"pip_packages": ["-e git+https://x"]}, "packages[0]", "-e git"),
        ({"env_vars": {"A": 1}}, "env.A", "1"),
        ({"python": "2.7"}, "python", "2.7"),
    ],
)
def test_what_is_not_to_be_had_is_refused_by_name(spec: dict[str, object], field: str, word: str) -> None:
    row = {**SWEBENCH, "source": "astropy==4.3", "spec": {"python": "3.9", "install": INSTALL, **spec}}
    with pytest.raises(RequestError) as caught:
        parse_task(row)
    assert caught.value.field == f"row.spec.{field}"
    assert word in str(caught.value)


def test_recipes_share_an_environment_whatever_their_own_version() -> None:
    one = Recipe(source="a==1", packages=("x",), install=("y",), env={"SETUPTOOLS_SCM_PRETEND_VERSION": "1", "B": "c"})
    other = Recipe(source="b==2", packages=("x",), env={"B": "c"})
    assert layer_key(one) == layer_key(other)
    different = [Recipe(packages=("x",)), Recipe(python="3.9", packages=("x",)), Recipe(packages=("x", "y"))]
    assert len({layer_key(each) for each in (one, *different)}) == 4
