def demo() -> None:
    raise NotImplementedError
