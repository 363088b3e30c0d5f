"""Work in a thread of its own, while whoever asked for it goes on."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Work(threading.Thread, Generic[T]):
    """One piece of work, begun at once. What it raises comes out where its result is asked for.

    A process that ends leaves a daemon behind, and waits for any other thread.
    """

    def __init__(self, name: str, work: Callable[[], T], daemon: bool):
        # As the thread's target it is forgotten at its end, with all the memory that it holds.
        super().__init__(name=name, target=self._do, args=(work,), daemon=daemon)
        self._outcome: Future[T] = Future()
        self.start()

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._outcome.set_result(work())
        except BaseException as error:  # handed to the thread that asks for the result
            self._outcome.set_exception(error)

    def result(self) -> T:
        """Wait for the end."""
        self.join()
        return self._outcome.result()
