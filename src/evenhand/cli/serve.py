"""`evenhand serve`: pages for the owner and for those who judge, over a store."""

from __future__ import annotations

import logging
import threading
import time
import webbrowser
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from evenhand.errors import InputError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_KEPT = 75  # seconds for which a line is kept: pages that look every few, and proxies, use it again
_NEEDS = ("fastapi", "uvicorn", "multipart", "segno")


def serve(
    store: Annotated[
        str,
        typer.Argument(
            metavar="[STORE]", help="A file, made if it is not there, or postgresql://…"
        ),
    ] = "evenhand.db",
    port: Annotated[
        int, typer.Option(metavar="N", help="Where it listens.", min=1, max=65535)
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
    https: Annotated[
        bool,
        typer.Option("--https", help="A proxy in front speaks https: cookies are kept to that."),
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Print every request, without its token.")
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
    if log:
        logging.basicConfig(format="%(asctime)s %(message)s")
        logging.getLogger("evenhand.serve").setLevel(logging.INFO)
    config = uvicorn.Config(
        make_app(opened, hosts, secure=https), host, port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=5, timeout_keep_alive=_KEPT, server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    threading.Thread(target=_welcome, args=(server, link, browser), daemon=True).start()
    try:
        server.run()
    except SystemExit:  # what uvicorn does where it cannot begin
        if server.started:
            raise
        raise InputError(
            f"{host}:{port} cannot be listened on; where another server has it, say another --port."
        ) from None
    finally:
        server.should_exit = True
        opened.close()


def _welcome(server: Any, link: str, browser: bool) -> None:
    """Say where it is, as soon as it is there."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.02)
    typer.echo(f"Your link, which nobody else should have:\n  {link}\nCtrl-C ends it.")
    if browser:
        webbrowser.open(link)
