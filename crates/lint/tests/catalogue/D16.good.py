out, _ = self.mha(q, k, v, need_weights=False)
att = F.scaled_dot_product_attention(q, k, v)
