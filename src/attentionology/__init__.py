"""What do the attention heads of a transformer encoder know about language?"""
