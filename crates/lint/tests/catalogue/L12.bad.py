loss.backward(create_graph=True)
