"""Results that are wrong: every method, every leg, every transport, and the client goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import frozen

from antiphon.engine.client import Client
from antiphon.engine.errors import AntiphonError, CallError, PeerError
from tests.hostile.lies import FAMILIES, RESULTS, Lie
from tests.hostile.methods import METHODS, Method
from tests.hostile.plays import CARRIERS, Entry, playing, says

LONGEST = 5000
"""Characters of an error, whatever a server makes it tell."""


def _check(error: AntiphonError, lie: Lie) -> None:
    assert type(error) is lie.error
    assert isinstance(error, CallError)
    assert isinstance(error, PeerError)
    assert re.search(lie.match, str(error))
    assert str(error).isprintable()
    assert len(str(error)) < LONGEST


def _name(lie: Lie) -> str:
    return lie.name


@frozen
class Scene:
    """A lie at one leg of a method."""

    method: Method
    leg: int
    lie: Lie

    def script(self) -> list[Entry]:
        """Honest legs, the lie, and one honest call."""
        honest = self.method.legs
        told = [*honest[: self.leg], self.lie.tell(honest[self.leg])]
        if self.lie.error is None:
            told += honest[self.leg + 1 :]
        return says(self.method.name, *told, self.method.good)

    async def play(self, client: Client) -> None:
        try:
            await self._play(client)
        except BaseException as failure:
            failure.add_note(f"{self.lie.name}: leg {self.leg} of {self.method.name}")
            raise

    async def _play(self, client: Client) -> None:
        if self.lie.error is None:
            await self.method.ask(client)  # it does no harm
        else:
            with pytest.raises(AntiphonError) as caught:
                await self.method.ask(client)
            _check(caught.value, self.lie)
            assert isinstance(caught.value, CallError)
            # What would be needed to go on elsewhere is not lost.
            assert self.leg == 0 or caught.value.interim is not None
        await self.method.ask(client)


@pytest.mark.parametrize("lie", RESULTS, ids=_name)
async def test_a_wrong_result_of_any_method_at_any_leg_is_told(lie: Lie, tmp_path: Path) -> None:
    methods = [METHODS[name] for name in lie.where]
    scenes = [Scene(method, leg, lie) for method in methods for leg in range(len(method.legs))]
    script = [entry for scene in scenes for entry in scene.script()]
    async with playing("memory", script, tmp_path) as (client, _):
        for scene in scenes:
            await scene.play(client)


def _chosen(number: int, lie: Lie) -> Scene:
    """By turns another method, and another leg of it."""
    method = METHODS[lie.where[number % len(lie.where)]]
    return Scene(method, number // len(lie.where) % len(method.legs), lie)


@pytest.mark.parametrize("carrier", [name for name in CARRIERS if name != "memory"])
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_client_outlives_all_wrong_results_on_one_connection(
    family: str, carrier: str, tmp_path: Path
) -> None:
    first = [*CARRIERS].index(carrier)
    scenes = [_chosen(number, lie) for number, lie in enumerate(FAMILIES[family], first)]
    script = [entry for scene in scenes for entry in scene.script()]
    async with playing(carrier, script, tmp_path) as (client, play):
        for scene in scenes:
            await scene.play(client)
    assert carrier != "body" or play.connections == 1  # none was given up that could go on
