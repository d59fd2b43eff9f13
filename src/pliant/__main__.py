"""``python -m pliant``: the command line without the console script."""

from pliant.cli.app import main

if __name__ == "__main__":
    main()
