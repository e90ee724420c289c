"""A TCP relay that a test can cut, mend and listen to."""

import socket
import threading


class Proxy:
    """Passes bytes between whoever connects to `port` and 127.0.0.1:`target`."""

    def __init__(self, test, target):
        self.target = target
        self.recorded = bytearray()
        self.lock = threading.Lock()
        self.whole = True
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        test.addCleanup(self.close)

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if not self.whole:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self.target), timeout=10)
                    far.settimeout(None)
                except OSError:
                    near.close()
                    continue
                self.pairs.add((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                with self.lock:
                    self.recorded += data
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()

    def cut(self):
        """Ends all connections; new ones are refused until mend()."""
        with self.lock:
            self.whole = False
            for pair in self.pairs:
                for end in pair:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            self.pairs.clear()

    def mend(self):
        with self.lock:
            self.whole = True

    def close(self):
        self.cut()
        self.listener.close()
