"""Each import of a library's module that a program does: what the import changes is told from what the program changes.

Hooks the interpreter's own loader. Knows nothing of how changes are found (library.py).
"""

import sys

from . import settings


class Imports:
    """Has the library looked at before and after each import of one of its modules, so that what an import changes is
    told from what the program changes."""

    def __init__(self, library, is_programs_path, callbacks):
        self._library, self._is_programs_path, self._callbacks = library, is_programs_path, callbacks
        self._loading = False
        self.mixed = False
        """Whether a module of the library was imported while another was changed, or got one of the program's."""
        self.count, self.added_callbacks = 0, 0
        bootstrap = sys.modules["_frozen_importlib"]
        self._load, bootstrap._load_unlocked = bootstrap._load_unlocked, self._loaded

    def _loaded(self, spec):
        folders = spec.submodule_search_locations or ()
        if any(map(self._is_programs_path, (str(spec.origin), *folders))):
            self.mixed = self.mixed or self._loading
            return self._apart(spec)
        if self._loading:
            return self._load(spec)
        before = self._before()
        self._loading = True
        try:
            return self._load(spec)
        finally:
            self._loading = False
            self._after(*before)

    def _before(self):
        try:
            self.mixed = self.mixed or not self._library.is_unchanged()
        except Exception:
            self.mixed = True  # an object of the program's is in the way
        return settings.filters(), self._callbacks()

    def _after(self, filters, callbacks):
        self.count += 1
        self.added_callbacks += self._callbacks() - callbacks
        try:
            self._library.settings.keep_filters(filters)
            self._library.remember()
        except Exception:
            self.mixed = True

    def _apart(self, spec):
        """Load a module of the program's: what it imports is looked at for itself."""
        loading, self._loading = self._loading, False
        try:
            return self._load(spec)
        finally:
            self._loading = loading
