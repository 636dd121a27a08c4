import os
os.environ['PYTEST_ADDOPTS'] = '--collect-only'
os.environ['PYTHONSTARTUP'] = '/tmp/x'
print(0)
