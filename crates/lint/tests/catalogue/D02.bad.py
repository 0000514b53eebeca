class DS(Dataset):
    def __getitem__(self, i):
        return self.x[i].to("cuda")
loader = DataLoader(DS(), num_workers=4)
