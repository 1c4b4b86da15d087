"""The application of the server: a page, its data, and what the page asks of models and runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ...analyses.coreference.decisions import DIRECTIONS
from ...analyses.shared.picks import READINGS
from ...corpora_loaders import AttentionologyError, Corpus
from ...reports.explorer.data import Bench, DrawnSentence, Explorer, HeadName, Live, LiveModel, plain_json
from ...reports.page import read_bundle, served_page
from ...storage.characters import visible
from .bodies import choice, field, optional, place, read_body, texts
from .concordance import Question, uses
from .errors import ChangedError, RequestError, StaleError
from .guards import tell
from .live_model import MOST_PIECES, ServedModel, lock_of
from .mention_uses import COREFERENCE, uses_of_mentions
from .served_run import ServedRun
from .texts import TypedSentence, typed_texts
from .turns import Turns

SLOTS = ("A", "B")
_LONGEST_PAGE = 40
_JSON = "application/json"


class Service:
    """What the page may ask: the runs that it shows, and the models that draw."""

    def __init__(self, runs: Sequence[ServedRun], models: Sequence[ServedModel]) -> None:
        self.runs, self.models = tuple(runs), tuple(models)
        # Two that share an encoder, because their runs were made with one model, take turns.
        turns = {id(loaded.model.encoder): Turns(lock_of(loaded.model.encoder)) for loaded in models}
        self._turns = [turns[id(loaded.model.encoder)] for loaded in models]
        self._streams: dict[str, int] = {}  # the number of the newest stream of each slot
        self._numbers = count(1)
        # The names of heads in the data of the page, and these data as JSON.
        self._written: tuple[tuple[tuple[HeadName, ...], ...], str] = ((), "")
        self._writing = asyncio.Lock()

    def application(self) -> Starlette:
        """Return the application, whose paths have no token; see `Guard`."""
        script, styles = read_bundle("explorer.js"), read_bundle("page.css") + read_bundle("explorer.css")
        names = [run.explorer.model for run in self.runs] + [loaded.model.encoder.name for loaded in self.models]
        page = served_page(" and ".join(dict.fromkeys(names)))

        def file(content: str, kind: str) -> Any:
            async def answer(_request: Request) -> Response:
                return Response(content, media_type=kind)

            return answer

        async def answer_failure(_request: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 500
            if status == 500:
                tell(error)
            message = {404: "There is nothing at this address.", 405: "This is not asked in this way."}
            text = message.get(status, "The server has failed at this request; its terminal says where.")
            return JSONResponse({"error": text}, status)

        async def answer_refusal(_request: Request, error: Exception) -> Response:
            status = error.status if isinstance(error, RequestError) else 400
            now = error.now if isinstance(error, ChangedError) else {}
            return JSONResponse({"error": visible(str(error)), **now}, status)

        routes = [
            Route("/", file(page, "text/html")),
            Route("/page.js", file(script, "text/javascript")),
            Route("/page.css", file(styles, "text/css")),
            Route("/bench.json", self.bench),
            Route("/draw", self.draw, methods=["POST"]),
            Route("/concordance", self.concordance, methods=["POST"]),
            Route("/heads", self.name_heads, methods=["PUT"]),
        ]
        handlers: Mapping[Any, Any] = {
            AttentionologyError: answer_refusal,
            HTTPException: answer_failure,
            Exception: answer_failure,
        }
        application = Starlette(routes=routes, exception_handlers=handlers)
        application.router.redirect_slashes = False
        return application

    def close(self) -> None:
        """Give up all that waits."""
        for turns in self._turns:
            turns.close()

    async def bench(self, _request: Request) -> Response:
        """Answer with the data of the page."""
        async with self._writing:
            explorers = [run.explorer for run in self.runs]
            names: tuple[tuple[HeadName, ...], ...] = tuple(explorer.names for explorer in explorers)
            written_names, text = self._written
            if not text or written_names != names:
                text = await run_in_threadpool(self._bench_json, explorers)
                self._written = names, text
        return Response(text, media_type=_JSON)

    async def draw(self, request: Request) -> Response:
        """Draw what was typed, or a sentence of a run."""
        body = read_body(await request.body())
        slot, number = _slot(body), self._number(body, "model", len(self.models))
        model = self.models[number].model
        kinds = texts(body, "kinds") or list(model.kinds[:1])
        off = {place(name, model.shape) for name in texts(body, "off")}
        model.check_kinds(kinds, off)
        text, name = optional(body, "text", str), optional(body, "sentence", str)
        if (text is None) == (name is None):
            raise RequestError("The request needs either “text”, or “run” and “sentence”.")
        run = None if name is None else self.runs[self._number(body, "run", len(self.runs))]

        def draw_text() -> str:
            if run is None or name is None:
                typed = typed_texts(text or "")
            else:
                typed = [TypedSentence(run.sentence(name, model.encoder))]
            answers: list[DrawnSentence] = [model.draw(each, kinds, off) for each in typed]
            return plain_json({"sentences": answers})

        return Response(await self._turns[number].take(slot, draw_text), media_type=_JSON)

    async def concordance(self, request: Request) -> Response:
        """Stream the uses of a head in the corpus of a run, as lines of JSON."""
        body = read_body(await request.body())
        number = self._number(body, "run", len(self.runs))
        slot, run = f"{_slot(body)}/concordance", self.runs[number]
        loaded = next((index for index, each in enumerate(self.models) if each.run == number), None)
        if loaded is None:
            raise RequestError("The model of this run is not loaded, so the page has the stored sentences alone.", 409)
        model, turns = self.models[loaded].model, self._turns[loaded]
        relation = optional(body, "relation", str)
        of_mentions = relation == COREFERENCE
        question = Question(
            place(field(body, "head", str), model.shape),
            choice(body, "kind", model.kinds),
            relation,
            choice(body, "direction", DIRECTIONS if of_mentions else READINGS),
        )
        self._streams[slot] = stream = next(self._numbers)

        def read() -> Corpus:
            return run.windows(model.encoder) if of_mentions else run.corpus()

        corpus = await turns.take(slot, read, patient=True)

        async def lines() -> AsyncIterator[str]:
            found = (uses_of_mentions if of_mentions else uses)(model, corpus, question)
            try:
                yield _line({"read": 0, "of": len(corpus)})
                while self._streams.get(slot) == stream:
                    batch = await turns.take(slot, lambda: next(found, None), patient=True)
                    if batch is None:
                        yield _line({"read": len(corpus), "of": len(corpus)})  # with those that are too long
                        return
                    n_read, of_batch = batch
                    yield "".join(map(_line, [*of_batch, {"read": n_read, "of": len(corpus)}]))
                raise StaleError
            except AttentionologyError as error:
                yield _line({"error": visible(str(error))})
            finally:
                if self._streams.get(slot) == stream:
                    del self._streams[slot]

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def name_heads(self, request: Request) -> Response:
        """Keep the names of the heads of a run, if they have not changed since the page has got its own."""
        body = read_body(await request.body())
        run = self.runs[self._number(body, "run", len(self.runs))]
        async with self._writing:
            names = await run_in_threadpool(run.name_heads, field(body, "names", list), field(body, "base", list))
        return Response(plain_json({"names": names}), media_type=_JSON)

    def _bench_json(self, explorers: Sequence[Explorer]) -> str:
        """Return the data of the page as JSON."""
        models = tuple(
            LiveModel(
                name=loaded.model.encoder.name,
                layers=loaded.model.encoder.n_layers,
                heads=loaded.model.encoder.n_heads,
                causal=loaded.model.encoder.causal,
                kinds=loaded.model.kinds,
                predicts=loaded.model.lm is not None,
                run=loaded.run,
            )
            for loaded in self.models
        )
        most = min((loaded.model.most_pieces for loaded in self.models), default=MOST_PIECES)
        return plain_json(Bench(tuple(explorers), Live(models, most)))

    def _number(self, body: Mapping[str, Any], name: str, n: int) -> int:
        """Return a field that counts the runs or the models from 0."""
        number = field(body, name, int)
        if not 0 <= number < n:
            raise RequestError(f"There is no {name} {number}; this server has {n}, counted from 0.")
        return number


def _slot(body: Mapping[str, Any]) -> str:
    """Return whose request it is: a slot of a page. Several pages may be open, each with a name of its own."""
    page = optional(body, "page", str) or ""
    if len(page) > _LONGEST_PAGE:
        raise RequestError(f"“page” has at most {_LONGEST_PAGE} characters.")
    return f"{page}/{choice(body, 'slot', SLOTS)}"


def _line(value: object) -> str:
    """Return a line of JSON."""
    return f"{plain_json(value)}\n"
