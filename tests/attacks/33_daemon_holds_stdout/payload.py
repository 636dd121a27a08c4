import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            try: open('/tmp/here', 'a').write('x'); os.write(1, b'')
            except OSError: pass
            time.sleep(0.001)
    os._exit(0)

