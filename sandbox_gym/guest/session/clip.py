"""Output of any length in bounded memory: the head, the tail, and how many bytes lie between."""


class Clip:
    """Keeps at most `limit` bytes of what is added: the first half and the last half, or, `head_only`, the first."""

    def __init__(self, limit, head_only=False):
        self._head_room = limit if head_only else limit // 2
        self._tail_room = limit - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data):
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        over = len(self._tail) - self._tail_room
        if over > 0:
            self.dropped += over
            del self._tail[:over]

    def take(self):
        """(head, tail) as one body and its two sizes and the count between; empty afterwards."""
        sizes = [len(self._head), len(self._tail), self.dropped]
        body = bytes(self._head + self._tail)
        self._head, self._tail, self.dropped = bytearray(), bytearray(), 0
        return body, sizes
