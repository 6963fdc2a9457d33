"""What a source distribution and a wheel hold, and what a package index will show."""

from __future__ import annotations

import os
import re
import runpy
import sys
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import setuptools
from setuptools import Distribution
from setuptools.command.egg_info import manifest_maker

import evenhand

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
    written |= {"CITATION.cff", "MANIFEST.in", "constraints.txt", "pyproject.toml", "setup.py"}
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


def test_what_pages_link_to_is_there() -> None:
    names = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
    for page in (*(ROOT / name for name in names), *(ROOT / "docs").rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
            linked = page.parent / target if target else page
            assert linked.exists(), f"{page.name} links to {target}"
            if anchor and linked.suffix == ".md":
                assert anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_version_and_authors_come_from_one_place() -> None:
    """pyproject.toml has them; what cannot read it says the same."""
    cited = (ROOT / "CITATION.cff").read_text()
    head = cited.partition("references:")[0]
    assert re.findall(r"^version: (.+)$", head, re.M) == [PROJECT["version"]]
    assert re.findall(r"^license: (.+)$", head, re.M) == [PROJECT["license"]]
    names = [author["name"] for author in PROJECT["authors"]]
    assert re.findall(r"^  - name: (.+)$", head, re.M) == names
    assert re.findall(r"^  - (?!name)(.+)$", head, re.M) == PROJECT["keywords"]
    changes = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert changes[0] == PROJECT["version"]
    assert (
        f"evenhand {PROJECT['version']}" in (ROOT / "docs" / "research" / "proofs.md").read_text()
    )
    assert evenhand.__version__ == version("evenhand")
    assert "__version__" in dir(evenhand)


@pytest.fixture
def setup_py(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what setup.py defines, with nothing compiled."""
    monkeypatch.setitem(sys.modules, "Cython.Build", SimpleNamespace(cythonize=lambda *a, **k: []))
    monkeypatch.setattr(setuptools, "setup", lambda **_: None)
    return runpy.run_path(str(ROOT / "setup.py"))


def test_kernels_name_no_folder_of_the_machine_that_built_them(setup_py: dict[str, Any]) -> None:
    """Two Pythons in two folders would build other bytes, and tell strangers where they were."""
    command = setup_py["Kernels"](Distribution())
    linker = ["cc", "-shared", "-L/home/me/lib", "-Wl,-rpath,/home/me/lib", "-Wl,-O1"]
    command.compiler = SimpleNamespace(compiler_type="unix", linker_so=linker)
    command.extensions = []
    command.build_extensions()
    assert command.compiler.linker_so == ["cc", "-shared", "-L/home/me/lib", "-Wl,-O1"]


def test_a_compiler_without_vectors_is_refused_in_words(setup_py: dict[str, Any]) -> None:
    command = setup_py["Kernels"](Distribution())
    command.compiler = SimpleNamespace(compiler_type="msvc")
    with pytest.raises(SystemExit, match="inside WSL"):
        command.build_extensions()


def test_a_source_archive_is_the_same_bytes_whenever_it_is_made(
    setup_py: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same files, written at another time, in another order and by somebody else."""
    sdist = setup_py["DatedSdist"]
    made = []
    for day, names in ((10**9, "abc"), (11 * 10**8, "cba")):
        tree = tmp_path / str(day) / "thing-1.0"
        (tree / "inner").mkdir(parents=True)
        for name in names:
            file = tree / "inner" / name
            file.write_text(name * 3)
            file.chmod(0o664 if day == 10**9 else 0o644)
            os.utime(file, (day, day))
        monkeypatch.chdir(tree.parent)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1200000000")
        command = sdist(Distribution())
        path = Path(command.make_archive("dist/thing-1.0", "gztar", base_dir="thing-1.0"))
        made.append(path.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(path) as archive:
        assert archive.getnames() == [f"thing-1.0/inner/{name}" for name in "abc"]
        assert {member.mtime for member in archive} == {1200000000}
        member = archive.extractfile("thing-1.0/inner/b")
        assert member is not None
        assert member.read() == b"bbb"
