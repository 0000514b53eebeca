class DS(Dataset):
    def __getitem__(self, i):
        return self.x[i]
loader = DataLoader(DS(), num_workers=4, pin_memory=True)
