"""`evenhand serve`: pages for the owner and for those who judge, over a store."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from typing import Annotated

import typer

from evenhand.errors import InputError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NEEDS = ("fastapi", "uvicorn", "jinja2", "multipart", "segno")


def serve(
    store: Annotated[
        str,
        typer.Argument(
            metavar="[STORE]", help="A file, made if it is not there, or postgresql://…"
        ),
    ] = "evenhand.db",
    port: Annotated[
        int, typer.Option(metavar="N", help="Where it listens.", min=0, max=65535)
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="On which address; others than this machine's need --public."
        ),
    ] = "127.0.0.1",
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Let others reach it. What they send is read by whoever is between, unless a "
            "proxy in front speaks https.",
        ),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the owner's page in a browser.")
    ] = True,
) -> None:
    """Serve pages: for you, who own the scores, and for those who judge.

    Prints your link, which nobody else should have, and opens it. Ctrl-C ends it; everything that
    was acknowledged is in the store.

    **Examples**

    `evenhand serve`

    `evenhand serve prizes.db --port 9000 --no-open`
    """
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise InputError(
            f"pages need {', '.join(missing)}, which are not installed: "
            "pip install 'evenhand[serve]'."
        )
    if host not in _LOOPBACK and not public:
        raise InputError(
            f"--host {host} would let others reach this server. If that is what you want, say "
            "--public; have a proxy in front that speaks https."
        )
    import uvicorn  # noqa: PLC0415 # an extra

    from evenhand.campaigns.stores import open_store  # noqa: PLC0415 # as above
    from evenhand.serve import make_app  # noqa: PLC0415 # as above
    from evenhand.serve.access import grant  # noqa: PLC0415 # as above

    opened = open_store(store)
    token = grant(opened, "owner")
    hosts = [] if public else [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    link = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}/enter/{token}"
    typer.echo(f"Your link, which nobody else should have:\n  {link}\nCtrl-C ends it.")
    if browser:
        webbrowser.open(link)
    config = uvicorn.Config(
        make_app(opened, hosts), host, port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=5, server_header=False,
    )  # fmt: skip
    uvicorn.Server(config).run()
