import signal
signal.alarm(0)
for n in range(1, 32):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
