#!/usr/bin/env python3
"""Writes onnx_schema_data.inc: the signature of every ONNX operator in every version, as C data.

Comes in: the schemas of the installed onnx package, with their history, and those of microsoft() below. Goes out: the arrays
that onnx_schema.c includes, sorted by domain, name and version; equal arrays and type sets are written once, under the name of
their first user.
The output depends on the onnx package and this file alone.

    generate_onnx_schema.py           writes the file
    generate_onnx_schema.py --check   fails where the committed file is not what it would write
"""
import argparse
import pathlib
import re
import sys

import numpy
import onnx.defs
import onnx.helper

TARGET = pathlib.Path(__file__).with_name("onnx_schema_data.inc")
LINE_LENGTH = 130
ANY_NUMBER = 2**31 - 1  # what the onnx package says for "no bound"

DTYPES = {  # element types as ONNX spells them -> as mdf.h does, in its order
    "bool": "BOOL", "int2": "INT2", "int4": "INT4", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "uint2": "UINT2", "uint4": "UINT4", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "float4e2m1": "FLOAT4E2M1FN", "float8e4m3fn": "FLOAT8E4M3FN", "float8e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8e5m2": "FLOAT8E5M2", "float8e5m2fnuz": "FLOAT8E5M2FNUZ", "float8e8m0": "FLOAT8E8M0", "float16": "FLOAT16",
    "bfloat16": "BFLOAT16", "float": "FLOAT32", "double": "FLOAT64", "complex64": "COMPLEX64",
    "complex128": "COMPLEX128", "string": "STRING",
}  # fmt: skip
WITHOUT_DTYPE = {"float6e2m3", "float6e3m2"}  # the engine has no such elements: a formal does not allow them
ORDER = list(DTYPES)
WRAPPER = re.compile(r"^(?:(tensor)|(seq\(tensor)|(optional\(tensor)|(optional\(seq\(tensor))\((\w+)\)+$")
OPTIONS = {"Single": "SINGLE", "Optional": "OPTIONAL", "Variadic": "VARIADIC"}


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_bool(truth):
    return "true" if truth else "false"


def wrap(parts, first, rest):
    """Joins words to lines that begin with `first`, then `rest`."""
    lines, line = [], first
    for part in parts:
        if len(line) + len(part) > LINE_LENGTH and line.strip():
            lines.append(line.rstrip())
            line = rest
        line += part + " "
    return lines + [line.rstrip()]


def type_sets(types):
    """Splits type strings into element types as tensor, sequence and optional; whether maps are among them."""
    sets, maps = (set(), set(), set()), False
    for text in types:
        match = WRAPPER.match(text)
        if match is None and (text.startswith("map(") or text.startswith("seq(map(")):
            maps = True
        elif match is None:
            sys.exit(f"type '{text}' is not understood: extend type_sets")
        elif match.group(5) not in WITHOUT_DTYPE:
            tensor, sequence = match.group(1), match.group(2)
            sets[0 if tensor else 1 if sequence else 2].add(match.group(5))
    return tuple(tuple(sorted(s, key=ORDER.index)) for s in sets), maps


class Data:
    """The parts of the file that rows share, each named after its first user."""

    def __init__(self):
        self.sets, self.arrays = {(): "0"}, {}
        self.set_lines, self.array_lines = [], []

    def type_set(self, elements, name):
        if elements not in self.sets:
            assert name not in self.sets.values()
            self.sets[elements] = name
            words = [f"TYPE({DTYPES[e]}) |" for e in elements]
            words[-1] = words[-1][:-2] + ","
            self.set_lines += wrap(words, f"    {name} = ", "        ")
        return self.sets[elements]

    def array(self, c_type, items, name):
        """An array of initialisers (each a list of lines); its name, or NULL where it is empty."""
        key = (c_type, tuple(items))
        if not items:
            return "NULL"
        if key not in self.arrays:
            self.arrays[key] = name
            whole = f"static const {c_type} {name}[] = {{{' '.join(item.strip() for item in items)[:-1]}}};"
            fits = len(whole) <= LINE_LENGTH and "\n" not in whole
            self.array_lines += [whole] if fits else [f"static const {c_type} {name}[] = {{", *items, "};"]
        return self.arrays[key]


def number_variables(schema):
    """Numbers for the type constraints that bind several values to one type; those of one single value have none."""
    uses = {}
    for formal in [*schema.inputs, *schema.outputs]:
        if formal.option.name == "Variadic":
            uses[formal.type_str] = uses.get(formal.type_str, 0) + (2 if formal.is_homogeneous else 0)
        else:
            uses[formal.type_str] = uses.get(formal.type_str, 0) + 1
    names = {constraint.type_param_str for constraint in schema.type_constraints}
    return {name: i for i, name in enumerate(name for name, n in uses.items() if n > 1 and name in names)}


def formal_item(data, schema, formal, variables):
    (tensors, sequences, optionals), maps = type_sets(formal.types)
    word = re.sub(r"\W+", "_", formal.type_str).strip("_")
    name = f"{schema.name}_{schema.since_version}_{word}"
    heterogeneous = formal.option.name == "Variadic" and not formal.is_homogeneous
    fields = [
        c_text(formal.name),
        c_text(formal.type_str),
        "MDF_FORMAL_" + OPTIONS[formal.option.name],
        str(-1 if heterogeneous else variables.get(formal.type_str, -1)),
        data.type_set(tensors, name),
        data.type_set(sequences, name + "_sequence"),
        data.type_set(optionals, name + "_optional"),
        c_bool(maps),
    ]
    while fields[-1] in ("0", "false"):  # which is what C takes where nothing stands
        fields.pop()
    return "\n".join(wrap([field + "," for field in fields[:-1]] + [fields[-1] + "},"], "    {", "     "))


def c_real(value):
    """The decimal number that the standard states: the shortest that names this float32."""
    return str(numpy.float32(value))


def attribute_default(data, name, kind, proto):
    """Designated initialisers of an attribute's default value."""
    lists = {
        "INTS": ("int64_t", "default_ints", [str(i) for i in proto.ints]),
        "FLOATS": ("double", "default_floats", [c_real(f) for f in proto.floats]),
        "STRINGS": ("char *const", "default_strings", [c_text(s.decode()) for s in proto.strings]),
    }
    if kind == "INT":
        return [".has_default = true", f".default_int = {proto.i}"]
    if kind == "FLOAT":
        return [".has_default = true", f".default_float = {c_real(proto.f)}"]
    if kind == "STRING":
        return [".has_default = true", f".default_string = {c_text(proto.s.decode())}"]
    if kind not in lists:
        sys.exit(f"default of {name}, of type {kind}, is not understood: extend attribute_default")
    c_type, field, items = lists[kind]
    array = data.array(c_type, wrap([item + "," for item in items], "    ", "    ") if items else [], name)
    return [".has_default = true", f".{field} = {array}", f".n_default = {len(items)}"]


def attribute_item(data, schema, attribute):
    kind = attribute.type.name.replace("TYPE_PROTO", "TYPE")
    fields = [f".name = {c_text(attribute.name)}", f".type = MDF_ATTRIBUTE_{kind}"]
    if attribute.required:
        fields.append(".required = true")
    if attribute.default_value.type:
        name = f"{schema.name}_{schema.since_version}_{attribute.name}"
        fields += attribute_default(data, name, kind, attribute.default_value)
    return "\n".join(wrap([field + "," for field in fields[:-1]] + [fields[-1] + "},"], "    {", "     "))


def c_count(n):
    return "SIZE_MAX" if n == ANY_NUMBER else str(n)


def schema_row(data, schema):
    variables = number_variables(schema)
    prefix = f"{schema.name}_{schema.since_version}"
    inputs = [formal_item(data, schema, formal, variables) for formal in schema.inputs]
    outputs = [formal_item(data, schema, formal, variables) for formal in schema.outputs]
    attributes = [attribute_item(data, schema, schema.attributes[name]) for name in sorted(schema.attributes)]
    fields = [
        c_text(schema.domain),
        c_text(schema.name),
        str(schema.since_version),
        c_bool(schema.deprecated),
        str(len(inputs)),
        str(len(outputs)),
        str(len(attributes)),
        data.array("struct mdf_formal", inputs, prefix + "_inputs"),
        data.array("struct mdf_formal", outputs, prefix + "_outputs"),
        data.array("struct mdf_schema_attribute", attributes, prefix + "_attributes"),
        c_count(schema.min_input),
        c_count(schema.max_input),
        c_count(schema.min_output),
        c_count(schema.max_output),
    ]
    return "\n".join(wrap([field + "," for field in fields[:-1]] + [fields[-1] + "},"], "    {", "     "))


def microsoft():
    """Operators of ONNX Runtime's domain com.microsoft, version 1, that exporters write; of those that ONNX has by another
    name none. Source: ContribOperators.md of ONNX Runtime."""
    schema, default = onnx.defs.OpSchema, onnx.helper.make_attribute
    optional, ints = schema.FormalParameterOption.Optional, schema.AttrType.INTS

    def formal(name, type_str, option=schema.FormalParameterOption.Single):
        return schema.FormalParameter(name, type_str, param_option=option)

    def operator(name, inputs, outputs, types, attributes=()):
        constraints = [(variable, [f"tensor({t})" for t in allowed], "") for variable, allowed in types.items()]
        found = {"inputs": inputs, "outputs": outputs, "type_constraints": constraints, "attributes": attributes}
        return schema(name, "com.microsoft", 1, **found)

    def attribute(name, value=None):
        return schema.Attribute(name, ints, required=False) if value is None else schema.Attribute(name, default(name, value))

    words, reals = ["int32", "uint32", "int64", "uint64", "float", "double", "string"], ["float16", "float", "double"]
    kinds = {"mark": schema.AttrType.INT, "mincharnum": schema.AttrType.INT, "pad_value": schema.AttrType.STRING}
    required = [schema.Attribute(name, kind, required=True) for name, kind in kinds.items()]
    windows = [attribute(name) for name in ("kernel_shape", "output_padding", "dilations", "strides")]
    lstm = onnx.defs.get_schema("LSTM", 7)
    convolved = [formal("X", "T"), formal("W", "T"), formal("Pads", "tensor(int64)", optional), formal("B", "T", optional)]
    return [
        operator("CDist", [formal("A", "T"), formal("B", "T")], [formal("C", "T")], {"T": ["float", "double"]},
                 [attribute("metric", "sqeuclidean")]),
        operator("ConvTransposeWithDynamicPads", convolved, [formal("Y", "T")], {"T": reals},
                 [*windows, attribute("auto_pad", "NOTSET"), attribute("group", 1)]),
        operator("Inverse", [formal("X", "T")], [formal("Y", "T")], {"T": reals}),
        operator("LSTMOfRoundedStates", lstm.inputs, lstm.outputs, {"T": ["float"], "T1": ["int32"]}, list(lstm.attributes.values())),
        operator("MurmurHash3", [formal("X", "T1")], [formal("Y", "T2")], {"T1": words, "T2": ["int32", "uint32"]},
                 [attribute("seed", 0), attribute("positive", 1)]),
        operator("Tokenizer", [formal("X", "T")], [formal("Y", "T")], {"T": ["string"]},
                 [*required, schema.Attribute("separators", schema.AttrType.STRINGS, required=False),
                  schema.Attribute("tokenexp", schema.AttrType.STRING, required=False)]),
    ]  # fmt: skip


def generate():
    schemas = [*onnx.defs.get_all_schemas_with_history(), *microsoft()]
    schemas.sort(key=lambda schema: (schema.domain.encode(), schema.name.encode(), schema.since_version))
    data = Data()
    rows = [schema_row(data, schema) for schema in schemas]
    lines = [
        f"/* onnx_schema_data.inc - the schemas of onnx {onnx.__version__}, written by generate_onnx_schema.py. Do not edit.",
        " *",
        " * Rows are sorted by domain, name and version. What several rows share is named after the first of them. */",
        "",
        f"enum {{ NEWEST_OPSET = {onnx.defs.onnx_opset_version()} }};",
        "",
        "#define TYPE(name) MDF_DTYPE_BIT(MDF_DTYPE_##name)",
        "enum {",
        *data.set_lines,
        "};",
        "#undef TYPE",
        "",
        "/* Formals: name, type, option, variable, types of tensors, of sequences, of optionals, maps allowed. */",
        *data.array_lines,
        "",
        "/* Operators: domain, name, since, deprecated; number of inputs, of outputs, of attributes; these;",
        " * fewest and most inputs, fewest and most outputs. */",
        "static const struct mdf_schema schemas[] = {",
        *rows,
        "};",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with the committed file")
    text = generate()
    if not parser.parse_args().check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET} is stale: run {sys.argv[0]}")


if __name__ == "__main__":
    main()
