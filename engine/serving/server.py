"""Starting and stopping the server, which runs in a thread of its own, for a command or a notebook."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

import uvicorn

from ...analyses.contract import OptionError, OptionSet
from ...corpora_loaders import AttentionologyError
from ...extractors import AnyModel, Encoder, ModelError, as_encoder
from ...extractors.model.named import load_encoder
from ..results.run import Run
from .application import Service
from .guards import LOOPBACK, Guard
from .live_model import LiveModel, ServedModel
from .served_run import ServedRun

_SECONDS_TO_START = 30.0

_ALIVE: WeakValueDictionary[tuple[Any, ...], LiveModel] = WeakValueDictionary()
"""The models that servers of this process have loaded for runs, by what was asked for, as long as they serve: a
notebook has a server for each run that a cell shows, and most of its runs are of one model."""


class ServerError(AttentionologyError):
    """The server cannot be started."""


class Serving:
    """A server that is running. It ends with `stop`, or at the end of a ``with`` block.

    Args:
        service: what it serves.
        host, port, notes: as those of `start`.
        framed: whether pages of this machine may show its page in a frame, as a notebook does.

    Attributes:
        address: the address of the page, with the token that every request needs.
        notes: what a person should know: models of runs that could not be loaded.
        service: what it serves.
    """

    def __init__(
        self, service: Service, host: str, port: int, notes: Sequence[str] = (), *, framed: bool = False
    ) -> None:
        self.notes = tuple(notes)
        self.service = service
        token = secrets.token_urlsafe(24)
        bound = _bind(host, port)
        is_local = host in LOOPBACK
        hosts = LOOPBACK if is_local else (*LOOPBACK, host.lower(), socket.gethostname().lower())
        shown = host if is_local or host not in ("0.0.0.0", "::") else socket.gethostname()  # noqa: S104  # compared
        name = f"[{shown}]" if ":" in shown else shown
        self.address = f"http://{name}:{bound.getsockname()[1]}/{token}/"
        guard = Guard(service.application(), token, hosts, any_address=not is_local, framed=framed)
        # No log: it would have addresses with the token, and messages with words.
        config = uvicorn.Config(
            guard,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(bound,), name="attentionology-server", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the server has ended."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # a wait without an end could not be interrupted on Windows

    def stop(self) -> None:
        """End the server: no request is answered any more, and its port is free."""
        self._server.should_exit = True
        self._thread.join(_SECONDS_TO_START)
        self.service.close()

    def _run(self, bound: socket.socket) -> None:
        """Run the server, in its thread."""
        with bound:
            asyncio.run(self._server.serve(sockets=[bound]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Serving({self.address})"


def start(
    runs: Sequence[Run | str | Path] = (),
    models: Sequence[Encoder | str | Path] = (),
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    device: str = "cpu",
) -> Serving:
    """Start a server that draws sentences for the page of some runs.

    Args:
        runs: the runs, or their folders. The model of each is loaded if it is still there.
        models: further models: encoders, folders, names on the Hugging Face Hub, or ``"demo"``. One that a run was made
            with is that of the run.
        host: the name or number of this machine by which the server is reached. By default, only programs of this
            machine reach it.
        port: the port; 0 for one that is free.
        device: the device to compute on.

    Raises:
        ServerError: the port is taken, or the host is none of this machine.
        OptionError: there is neither a run nor a model.
        ModelError: one of the models cannot be loaded.
        StateError: a folder has no run, or a damaged one.
    """
    _bind(host, port).close()  # before anything slow happens
    service, notes = service_of(runs, models, device=device)
    return Serving(service, host, port, notes)


def service_of(
    runs: Sequence[ServedRun | Run | str | Path] = (),
    models: Sequence[AnyModel] = (),
    *,
    device: str = "cpu",
) -> tuple[Service, list[str]]:
    """Load runs and models, and return what serves them, and notes on models of runs that could not be loaded."""
    if not runs and not models:
        raise OptionError("give a run or a model to serve")
    served = [run if isinstance(run, ServedRun) else ServedRun(run) for run in runs]
    notes: list[str] = []
    given = [
        load_encoder(str(model), device=device) if isinstance(model, str | Path) else as_encoder(model)
        for model in models
    ]
    further = list(given)
    loaded: list[ServedModel] = []
    for position, run in enumerate(served):
        recorded = run.run.record["model"].get("weights_sha256")
        encoder = next((each for each in given if each.weights_sha256() == recorded), None)
        try:
            model = _model_of(run.run, device, loaded) if encoder is None else _live(encoder, loaded, run.run.options)
        except AttentionologyError as error:
            if encoder is not None:
                raise
            notes.append(f"The model of {run.run.folder or run.run.titles.model} is not loaded: {error}")
            continue
        further = [each for each in further if each is not encoder]
        loaded.append(ServedModel(model, position))
    loaded += [ServedModel(_live(encoder, loaded)) for encoder in further]
    return Service(served, loaded), notes


def _live(encoder: Encoder, others: Sequence[ServedModel], options: OptionSet | None = None) -> LiveModel:
    """Return a model that draws, which shares the encoder of another one that reads texts in the same way."""

    def reading(each: Encoder) -> tuple[str, str | None, str]:
        return each.weights_sha256(), each.prepended, str(each.dtype)

    same = next((other.model for other in others if reading(other.model.encoder) == reading(encoder)), None)
    return LiveModel(encoder, options) if same is None else same.like(options or OptionSet())


def _model_of(run: Run, device: str, others: Sequence[ServedModel]) -> LiveModel:
    """Return the model that a run was made with, which is loaded unless a server of this process has it.

    Raises:
        ModelError: it is not there, or not the same any more.
    """
    options, recorded = run.record["options"], run.record["model"]
    if not options.get("model"):
        raise ModelError("the record of the run does not name it")
    name, revision = options["model"], recorded.get("revision") or options.get("revision")
    prepend: str = options.get("prepend") or "auto"
    dtype: Any = options.get("dtype") or "float32"
    asked = (name, revision, device, prepend, dtype, recorded.get("weights_sha256"))
    alive = _ALIVE.get(asked)
    if alive is not None:
        return alive.like(run.options)
    encoder = load_encoder(name, revision=revision, device=device, prepend=prepend, dtype=dtype)
    if encoder.weights_sha256() != recorded.get("weights_sha256"):
        raise ModelError(f"{encoder.label}: its weights are not those that the run was made with")
    model = _ALIVE[asked] = _live(encoder, others, run.options)
    return model


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address, which no other program has."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServerError(f"--host {host}: {error.strerror or error}") from error
    try:
        if os.name == "posix":  # elsewhere, two programs could then have one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an earlier server's port is free at once
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        why = error.strerror or error
        raise ServerError(f"cannot listen at {host}, port {port}: {why}; choose another --port") from error
    return bound
