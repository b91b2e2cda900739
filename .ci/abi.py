#!/usr/bin/env python3
"""Both sides of the C boundary as text, for .ci/abi.sh to compare. ABI is what abidw writes.

abi.py stubs                  C that defines every function whose prototype is in the preprocessed header on stdin
abi.py describe ABI [RUST...] functions, structures and enumerations, one fact a line. Those of the library: with its
                              sources, since enumerations are mostly missing from its debug information
abi.py asserts ABI RUST...    the library's structures and enumerations as assertions in C; readelf's dump on stdin
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def stubs(header):
    enums = re.findall(r"^enum (skl_\w+)", header, re.MULTILINE)
    print('#include "sketchline.h"')
    for prototype in re.findall(r"^[a-z][^;{}()]*?\bskl_\w+\([^;{}]*\);", header, re.MULTILINE):
        print(prototype[:-1], "{ __builtin_trap(); }")
    # Enumerations, which no prototype names: else they would not be in the ABI.
    print(f"void every_enum({', '.join(f'enum {name} *{name}_, {name} {name}_value' for name in enums)}) {{")
    print("    __builtin_trap();\n}")


def asserts(abi, dump):
    print("#include <stddef.h>")
    print("#ifdef __cplusplus\n#define _Static_assert static_assert\n#define _Alignof alignof\n#endif")

    def claim(condition):
        print(f'_Static_assert({condition}, "so it is in the library");')

    for struct in abi.structs():
        name = struct.get("name")
        claim(f"sizeof({name}) == {int(struct.get('size-in-bits')) // 8}")
        for field, at, _ in abi.fields(struct):
            claim(f"offsetof({name}, {field}) == {at}")
    # abidw leaves alignment out.
    for name, align in sorted(set(re.findall(
            r"DW_TAG_structure_type\)\n(?:(?!DW_TAG|DW_AT_name).)*DW_AT_name[^\n]*: (skl_\w+)\n"
            r"(?:(?!DW_TAG).)*?DW_AT_alignment *: (\d+)", dump, re.DOTALL))):
        claim(f"_Alignof({name}) == {align}")
    for name, (signed, bits, values) in abi.reprs.items():
        claim(f"sizeof({name}) == {bits // 8}")
        claim(f"(({name})-1 < ({name})0) == {int(signed)}")
        for value, number in values:
            claim(f"{value} == {number}")


class Abi:
    def __init__(self, path, sources):
        self.reprs = reprs(sources)
        self.root = ElementTree.parse(path).getroot()
        # A type may be declared in one place and defined in another, under one id.
        self.types = {}
        for element in self.root.iter():
            if "id" in element.attrib and element.get("is-declaration-only") != "yes":
                self.types[element.get("id")] = element

    def type(self, id_):
        """What a caller in any language would have to agree with: not whether a number is called u64 or uint64_t."""
        element = self.types[id_]
        tag, name = element.tag, element.get("name", "")
        if tag in ("typedef-decl", "qualified-type-def"):
            return self.type(element.get("type-id"))
        if tag == "pointer-type-def":
            return f"pointer to {self.type(element.get('type-id'))}"
        if tag == "array-type-def":
            lengths = " x ".join(subrange.get("length") for subrange in element.iter("subrange"))
            return f"{lengths} of {self.type(element.get('type-id'))}"
        if tag == "function-type":
            return "function"
        if tag == "enum-decl" and name in self.reprs:
            signed, bits, _ = self.reprs[name]
            return f"{'signed' if signed else 'unsigned'} of {bits} bits"
        if tag == "enum-decl":
            # `c_void` is an enumeration to Rust.
            return "void" if name == "c_void" else self.type(element.find("underlying-type").get("type-id"))
        if tag == "class-decl":
            # `Option<extern "C" fn ...>` is a function pointer that may be NULL.
            return "pointer to function" if re.match(r"Option<.*\bfn\(", name) else name
        if name == "void":
            return "void"
        bits = element.get("size-in-bits")
        if re.search(r"float|double|^f\d", name):
            return f"float of {bits} bits"
        # `char` is signed or not as the machine likes.
        if re.fullmatch("char|i8|u8|(un)?signed char", name):
            return "byte"
        return f"{'unsigned' if re.match('u', name) else 'signed'} of {bits} bits"

    def describe(self):
        for function in self.root.iter("function-decl"):
            name = function.get("elf-symbol-id", "").partition("@")[0]
            if name.startswith("skl_"):
                parameters = [self.type(each.get("type-id")) for each in function.findall("parameter")]
                returns = function.find("return")
                result = "void" if returns is None else self.type(returns.get("type-id"))
                yield f"function {name}: {', '.join(parameters) or 'nothing'} -> {result}"
        for struct in self.structs():
            name = struct.get("name")
            yield f"struct {name}: {int(struct.get('size-in-bits')) // 8} bytes"
            for field, at, type_ in self.fields(struct):
                yield f"struct {name}: at {at:3} {field}: {self.type(type_)}"
        for name, (signed, bits, values) in self.reprs.items():
            yield f"enum {name}: {'signed' if signed else 'unsigned'} of {bits} bits"
            for value, number in values:
                yield f"enum {name}: {value} = {number}"
        if self.reprs:
            return
        # C before C23: the type is an integer, whatever the compiler makes of the enum.
        typedefs = {each.get("name"): each for each in self.types.values() if each.tag == "typedef-decl"}
        for enum in self.types.values():
            name = enum.get("name", "")
            if enum.tag == "enum-decl" and name.startswith("skl_"):
                yield f"enum {name}: {self.type(typedefs[name].get('id'))}"
                for each in enum.findall("enumerator"):
                    yield f"enum {name}: {each.get('name')} = {each.get('value')}"

    def structs(self):
        by_name = {each.get("name"): each for each in self.types.values() if each.tag == "class-decl"}
        return [by_name[name] for name in sorted(by_name) if re.fullmatch(r"skl_\w+", name)]

    @staticmethod
    def fields(struct):
        for member in struct.iter("data-member"):
            field = member.find("var-decl")
            yield field.get("name"), int(member.get("layout-offset-in-bits")) // 8, field.get("type-id")


def reprs(sources):
    """Of each public enumeration: whether it is signed, its bits, names and numbers."""
    found = {}
    for path in sources:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for sign, bits, name, body in re.findall(
                r"#\[repr\(([iu])(\d+)\)\]\s*(?:#\[[^\n]*\]\s*)*pub enum (skl_\w+) \{(.*?)\n\}", text, re.DOTALL):
            found[name] = sign == "i", int(bits), re.findall(r"^ *(\w+) = (-?\d+),", body, re.MULTILINE)
    return found


command, *arguments = sys.argv[1:]
if command == "stubs":
    stubs(sys.stdin.read())
elif command == "asserts":
    asserts(Abi(arguments[0], arguments[1:]), sys.stdin.read())
else:
    print("\n".join(sorted(set(Abi(arguments[0], arguments[1:]).describe()))))
