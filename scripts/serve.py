"""``attentionology serve``: a page on this machine on which sentences are typed and drawn at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.numbers import Count
from ..analyses.shared.option_types import Device
from ..extractors.model.named import DEMO
from ..reports.streams import complain, say

_LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Serve:
    """Open a page on which sentences are typed and drawn at once, beside the results of runs.

    The command loads the models once, prints the address of the page, and runs until Ctrl-C. Open the address in a
    browser on this machine. On the page, type a sentence, and see the maps of all heads in the time of a forward pass:

    - two sentences, with ||| between them, are drawn side by side, and so are two models or two kinds of maps;
    - a word in brackets, [are], is masked. If the model has a language-model head, the page shows what it predicts;
    - a head can be switched off, to see what changes in later layers and in the prediction;
    - rows of CoNLL-U can be pasted, and are drawn with their trees.

    For each RUN, its model is loaded again, and the page also shows its measures, every use of a head in its whole
    corpus, and the names that you give to heads, which are kept in the file heads.json of its folder. Nothing else is
    written.
    """

    run_folders: Annotated[Positional[tuple[str, ...]], arg(metavar="RUN [RUN ...]")] = ()
    """The folders of runs of analyze."""

    model: Annotated[tuple[str, ...], arg(metavar="MODEL [MODEL ...]")] = ()
    """Further models, each a folder, an id on the Hugging Face Hub, or 'demo'. Without a run, the demo model is loaded
    by default."""

    port: Count = 0
    """The port of the page. By default, one that is free is chosen."""

    host: Annotated[str, arg(metavar="HOST")] = "127.0.0.1"
    """The name or number under which this machine listens. By default, only programs on this machine can reach the
    page. With another host such as 0.0.0.0, everybody in the network can who knows the address that is printed, and
    what you type goes through the network without encryption. For a machine that you reach by ssh, a tunnel is better:
    ssh -L 8000:127.0.0.1:8000 MACHINE, and --port 8000 there."""

    device: Device = "cpu"

    def run(self, command: str = "") -> int:
        """Serve the page until the command is interrupted, and return the exit status."""
        if self.port > 65535:
            raise OptionError(f"--port must be at most 65535, not {self.port}")
        from ..engine.serving.server import start  # it imports torch

        models = self.model or (() if self.run_folders else (DEMO,))
        serving = start(self.run_folders, models, host=self.host, port=self.port, device=self.device)
        with serving:
            for note in serving.notes:
                complain(f"attentionology: {note}", 0)
            if self.host not in _LOCAL:
                say(
                    f"With --host {self.host}, everybody in the network who knows the address can use the page, and "
                    "what you type is not encrypted."
                )
            say(f"Open {serving.address} in a browser. Ctrl-C ends the server.")
            try:
                serving.wait()
            except KeyboardInterrupt:
                return 0
        return complain("attentionology: the server has ended by itself", 1)
