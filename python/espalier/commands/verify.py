def verify() -> None:
    raise NotImplementedError
