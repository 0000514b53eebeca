class DS(Dataset):
    def __init__(self, p):
        self.items = json.load(open(p))
