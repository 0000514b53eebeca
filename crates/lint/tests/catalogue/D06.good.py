class DS(Dataset):
    def __init__(self, p):
        self.items = np.array(json.load(open(p)), dtype=np.bytes_)
