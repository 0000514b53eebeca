"""Hooks: the places in torch and in the frameworks where remedies act. Each is set once, whoever needs it first."""
