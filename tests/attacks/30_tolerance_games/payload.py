print('nan')
print('inf')
