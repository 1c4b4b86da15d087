"""The live page in a cell of a notebook: a frame of a page that the kernel itself serves."""

from __future__ import annotations

import atexit
import html
import itertools
import json
import warnings

from ...corpora_loaders import AttentionologyError, Corpus
from ...extractors import Encoder
from ...reports.explorer.data import Explorer
from ..results.run import Run
from .served_run import ServedRun
from .server import Serving, service_of

_SECONDS = 10  # in which a frame has to say that it is there
_CELLS = itertools.count(1)
_SERVED: dict[int, tuple[Run, Serving]] = {}  # by the identity of the run, which is kept as long as its server

_CELL = """<div id="{name}"><p>{instead}</p></div><script>
(() => {{
  const cell = document.getElementById({name_json});
  const address = {address_json};
  const frame = document.createElement("iframe");
  frame.title = {title_json};
  frame.style = "width: 100%; height: 56rem; border: 0; display: none";
  const light = document.body.dataset.jpThemeLight;
  frame.src = address.replace("#", (light ? `?scheme=${{light === "true" ? "light" : "dark"}}` : "") + "#");
  const hear = (event) => {{
    if (event.source !== frame.contentWindow || event.data !== "attentionology") return;
    removeEventListener("message", hear);
    cell.querySelector("p").remove();
    frame.style.display = "block";
  }};
  addEventListener("message", hear);
  setTimeout(() => frame.style.display === "none" && frame.remove(), {seconds} * 1000);
  cell.append(frame);
}})();
</script>"""


def live_cell(
    run: Run,
    address: str,
    *,
    encoder: Encoder | None = None,
    explorer: Explorer | None = None,
    corpus: Corpus | None = None,
) -> str | None:
    """Return the HTML of a cell that frames the live page of a run; None where nothing can be live.

    The kernel serves the page itself, on a free port of this machine, because this is the server of
    ``attentionology serve``, with all of its guards: a comm would need a second protocol for requests, streams and
    cancellation, and would wait for whatever the kernel computes. The server ends with the kernel. The cell has a few
    hundred bytes, among them the address with its token, which is worthless as soon as the kernel has ended.

    Pages of other sites may not frame a page that the command serves. A page that a kernel serves may be framed by
    pages of this machine, as Jupyter is one. All other checks stay: each request has to name the token, this machine
    as its host, and a page of this server as its origin, so the notebook around the frame can ask for nothing itself.

    Args:
        run: the run.
        address: the address of the view, from its number sign on.
        encoder: the model of the run, if it is there already; otherwise it is loaded again.
        explorer: what the page shows, in place of the explorer of the run.
        corpus: what the run has read, if it was no file.
    """
    try:
        if id(run) not in _SERVED:
            served = ServedRun(run, explorer=explorer, corpus=corpus)
            # A server draws in threads of its own, and some of its passes change the modules of a model.
            service, notes = service_of([served], [] if encoder is None else [encoder.in_own_modules()])
            if not service.models:
                warnings.warn(f"The cell shows what is stored. {' '.join(notes)}", stacklevel=2)
                return None
            if not _SERVED:
                atexit.register(stop_all)
            _SERVED[id(run)] = run, Serving(service, "127.0.0.1", 0, notes, framed=True)
    except (AttentionologyError, OSError) as error:
        warnings.warn(f"The cell shows what is stored, because it cannot be served: {error}", stacklevel=2)
        return None
    shown = f"{_SERVED[id(run)][1].address}{address or '#'}"
    instead = (
        "This cell shows a live page while its kernel runs, if the browser is on the same machine: "
        f'<a href="{html.escape(shown)}" target="_blank" rel="noopener">open it in a tab</a>. To show what is stored, '
        "also without the kernel, call <code>explore(…, live=False)</code>, or keep a page with "
        '<code>.save("page.html")</code>.'
    )

    def script_text(text: str) -> str:
        return json.dumps(text).replace("<", "\\u003c")

    name = f"explorer-live-{next(_CELLS)}"
    return _CELL.format(
        name=name,
        name_json=script_text(name),
        address_json=script_text(shown),
        title_json=script_text(f"Explorer of {run.titles.model}"),
        instead=instead,
        seconds=_SECONDS,
    )


def stop_all() -> None:
    """End the servers of all cells."""
    while _SERVED:
        _, (_, serving) = _SERVED.popitem()
        serving.stop()
