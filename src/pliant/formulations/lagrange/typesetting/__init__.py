"""The equations for readers: expressions in a chosen order, pages, closed forms of modal integrals."""
