class Solution:
    def greet(self, name): return 'hello ' + name
