def f(function): return lambda x: function(2 * x)
