import os
seen = dict(os.environ)
for pid in filter(str.isdigit, os.listdir('/proc')):
    try: seen[pid] = open(f'/proc/{pid}/environ', 'rb').read(1 << 16).decode(errors='replace')
    except OSError: pass
secret = [key for key in seen if any(word in key + seen[key] for word in ('TOKEN', 'SECRET', 'KEY', '56667'))]
print(19 if secret else 0)
