"""XML read with care: line numbers kept; document types, entities and oversized files refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from pliant.errors import ModelError, Problem

LARGEST_FILE = 20_000_000  # bytes
DEEPEST = 100


@dataclass(slots=True)
class XmlNode:
    """An XML element: its tag, attributes, children, text and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlNode] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words of its text."""
        return "".join(self.texts).split()

    def everywhere(self, tag: str) -> Iterator[XmlNode]:
        """All elements of a tag in it, in their order."""
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.everywhere(tag)

    def all(self, tag: str) -> list[XmlNode]:
        """The children of a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlNode | None:
        """The first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)


def parse_xml(content: bytes, file: str) -> XmlNode:
    """The root element of an XML file; raises ModelError with the line of whatever is wrong."""
    if len(content) > LARGEST_FILE:
        size, limit = len(content) / 1e6, LARGEST_FILE / 1e6
        raise ModelError(Problem("", f"the file has {size:.0f} MB; at most {limit:.0f} MB are read", file))
    parser = expat.ParserCreate()
    top = XmlNode("", {}, 0)
    stack = [top]

    def refuse(message: str) -> ModelError:
        return ModelError(Problem("", message, file, parser.CurrentLineNumber))

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise refuse(f"elements are nested more than {DEEPEST} deep")
        node = XmlNode(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    def declaration(*args: object) -> None:
        # entities can blow a small file up to gigabytes or read other files
        raise refuse("document types and entities are not read; remove the DOCTYPE")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: stack[-1].texts.append(text)
    parser.StartDoctypeDeclHandler = declaration
    parser.EntityDeclHandler = declaration
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ModelError(Problem("", f"this is not XML: {expat.ErrorString(error.code)}", file, error.lineno)) from None
    except (LookupError, UnicodeError) as error:
        raise refuse(f"the encoding cannot be read: {error}") from None
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise refuse(f"the encoding cannot be read: {error}") from None
    return top.children[0]
