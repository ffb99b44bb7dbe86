def bench() -> None:
    raise NotImplementedError
