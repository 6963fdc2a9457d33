"""What a source distribution and a wheel hold, and what a package index will show."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from setuptools import Distribution
from setuptools.command.egg_info import manifest_maker

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MADE = {".c", ".pyc", ".pyd", ".so"}  # by a compiler, not by us


def sources(*folders: str) -> set[str]:
    """Return the files that somebody wrote, as paths from the root."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in MADE and "evenhand.egg-info" not in path.parts
    }


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distribution:
    """Return what setuptools makes of pyproject.toml, with its own files kept elsewhere."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    distribution.parse_config_files()
    distribution.command_options["egg_info"] = {"egg_base": ("test", str(tmp_path))}
    distribution.get_command_obj("egg_info").ensure_finalized()
    return distribution


def test_the_source_distribution_is_whole(distribution: Distribution, tmp_path: Path) -> None:
    """Whoever unpacks it has what the repository has: tests, documents, examples, benchmarks."""
    maker = manifest_maker(distribution)
    maker.manifest = str(tmp_path / "SOURCES.txt")
    maker.run()
    shipped = {Path(name).as_posix() for name in maker.filelist.files}
    written = sources("benchmarks", "docs", "examples", "src", "tests")
    written |= {path.name for path in ROOT.glob("*.md")} | {"LICENSE", "Makefile", ".ci/run"}
    written |= {"MANIFEST.in", "constraints.txt", "pyproject.toml", "setup.py"}
    assert written <= shipped
    assert {name for name in shipped if Path(name).suffix in MADE} == set()


def test_the_wheel_has_types_data_and_what_compiled_policies_need(
    distribution: Distribution,
) -> None:
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    library = Path(build.build_lib)
    installed = {
        "src/" + Path(name).relative_to(library).as_posix()
        for name in build.get_outputs(include_bytecode=False)
    }
    kernels = {name for name in sources("src") if name.endswith(".pyx")}
    assert sources("src") - kernels == installed


def test_the_index_page_stands_on_its_own() -> None:
    """An index shows one page, from which pictures and files of the repository are out of reach."""
    page = (ROOT / PROJECT["readme"]).read_text()
    assert "![" not in page
    assert "<img" not in page
    targets = re.findall(r"\]\(([^)]*)\)", page) + re.findall(r"^\[[^]]*\]: (\S+)", page, re.M)
    assert [target for target in targets if not target.startswith("https://")] == []


def test_what_the_readme_links_to_is_there() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
