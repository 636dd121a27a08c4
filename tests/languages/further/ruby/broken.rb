puts twice(gets)
