print("correct", flush=True)
