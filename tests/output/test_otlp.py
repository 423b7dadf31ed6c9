#!/usr/bin/env python3
"""-f otlp, decoded by protoc with the fields of opentelemetry-proto 1.11.0, and read by the rules in profiles.proto: entries 0 are empty, no
entry twice, none unused, each sample has as many values as it says. The sums are those of jsonl."""
import collections
import json
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, have, run  # noqa: E402
import varint  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-perf", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
os.utime("perf.data", (1e9, 1e9))
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"
# message: (number, type, name), * repeated
SCHEMA = {
    "ProfilesData": "1 *ResourceProfiles resource_profiles, 2 ProfilesDictionary dictionary",
    "ProfilesDictionary": "1 *Mapping mapping_table, 2 *Location location_table, 3 *Function function_table, 4 *Link link_table, 5 *string string_table, "
                          "6 *KeyValueAndUnit attribute_table, 7 *Stack stack_table",
    "ResourceProfiles": "1 Resource resource, 2 *ScopeProfiles scope_profiles, 3 string schema_url",
    "Resource": "1 *KeyValue attributes, 2 uint32 dropped_attributes_count",
    "ScopeProfiles": "1 InstrumentationScope scope, 2 *Profile profiles, 3 string schema_url",
    "InstrumentationScope": "1 string name, 2 string version, 3 *KeyValue attributes, 4 uint32 dropped_attributes_count",
    "KeyValue": "1 string key, 2 AnyValue value, 3 int32 key_strindex",
    "AnyValue": "1 string string_value, 2 bool bool_value, 3 int64 int_value, 4 double double_value, 7 bytes bytes_value, 8 int32 string_value_strindex",
    "Profile": "1 ValueType sample_type, 2 *Sample samples, 3 fixed64 time_unix_nano, 4 uint64 duration_nano, 5 ValueType period_type, 6 int64 period, "
               "7 bytes profile_id, 8 uint32 dropped_attributes_count, 9 string original_payload_format, 10 bytes original_payload, 11 *int32 attribute_indices",
    "Link": "1 bytes trace_id, 2 bytes span_id",
    "ValueType": "1 int32 type_strindex, 2 int32 unit_strindex",
    "Sample": "1 int32 stack_index, 2 *int32 attribute_indices, 3 int32 link_index, 4 *int64 values, 5 *fixed64 timestamps_unix_nano",
    "Mapping": "1 uint64 memory_start, 2 uint64 memory_limit, 3 uint64 file_offset, 4 int32 filename_strindex, 5 *int32 attribute_indices",
    "Stack": "1 *int32 location_indices",
    "Location": "1 int32 mapping_index, 2 uint64 address, 3 *Line lines, 4 *int32 attribute_indices",
    "Line": "1 int32 function_index, 2 int64 line, 3 int64 column",
    "Function": "1 int32 name_strindex, 2 int32 system_name_strindex, 3 int32 filename_strindex, 4 int64 start_line",
    "KeyValueAndUnit": "1 int32 key_strindex, 2 AnyValue value, 3 int32 unit_strindex",
}
FIELDS = {m: {int(n): (kind, name) for n, kind, name in (part.split() for part in fields.split(", "))} for m, fields in SCHEMA.items()}


def decode(b, message="ProfilesData"):
    """A message as a dictionary; a field that is not in the schema is an error."""
    out = {name: [] if kind[0] == "*" else decode(b"", kind) if kind in FIELDS and message not in ("KeyValueAndUnit", "KeyValue") else None if kind in FIELDS
           else "" if kind == "string" else b"" if kind == "bytes" else 0 for kind, name in FIELDS[message].values()}
    for number, v in varint.fields(b):
        kind, name = FIELDS[message][number]
        many, kind = kind[0] == "*", kind.lstrip("*")
        if kind in FIELDS:
            v = [decode(v, kind)]
        elif kind == "string":
            v = [v.decode()]
        elif many and isinstance(v, bytes):
            numbers, i = [], 0
            while i < len(v):
                n, i = varint.get(v, i)
                numbers.append(n - (1 << 64) if n >> 63 else n)
            v = numbers
        else:
            v = [v]
        if message == "AnyValue":
            out["set"] = name
        if many:
            out[name] += v
        else:
            out[name] = v[0]
    return out


def otlp(*options, path="perf.data", bare=BARE):
    run([RESOLVE, *bare, "-o", "x.otlp", *options, path])
    return decode(open("x.otlp", "rb").read())


def broken(p):
    """The first rule of profiles.proto that is not kept."""
    d = p["dictionary"]
    sizes = {name: len(d[name]) for _, name in FIELDS["ProfilesDictionary"].values()}
    if d["string_table"][0] != "" or d["stack_table"][0]["location_indices"] or any(d["mapping_table"][0].values()) or any(d["location_table"][0].values()) or \
            any(d["function_table"][0].values()) or d["attribute_table"][0]["key_strindex"] or d["link_table"] != [{"trace_id": bytes(16), "span_id": bytes(8)}]:
        return "an entry 0 is not empty"
    for name in sizes:
        if len({repr(x) for x in d[name]}) != len(d[name]):
            return f"{name}: an entry twice"
    used = collections.defaultdict(set)

    def use(table, ids):
        used[table].update(ids)
        return all(0 <= i < sizes[table] for i in ids)

    good = [use("string_table", [m["filename_strindex"]]) and use("attribute_table", m["attribute_indices"]) for m in d["mapping_table"]]
    good += [use("mapping_table", [x["mapping_index"]]) and use("attribute_table", x["attribute_indices"]) and
             use("function_table", [line["function_index"] for line in x["lines"]]) for x in d["location_table"]]
    good += [use("string_table", [f["name_strindex"], f["system_name_strindex"], f["filename_strindex"]]) for f in d["function_table"]]
    good += [use("string_table", [a["key_strindex"], a["unit_strindex"]]) for a in d["attribute_table"]]
    good += [use("location_table", s["location_indices"]) for s in d["stack_table"]]
    for r in p["resource_profiles"]:
        for profile in (x for s in r["scope_profiles"] for x in s["profiles"]):
            for kind in ("sample_type", "period_type"):
                good.append(use("string_table", profile[kind].values()))
            good.append(use("attribute_table", profile["attribute_indices"]))
            identities = set()
            for s in profile["samples"]:
                good += [use("stack_table", [s["stack_index"]]), use("attribute_table", s["attribute_indices"])]
                if len(s["values"]) != 1 or s["timestamps_unix_nano"]:
                    return "a sample has another shape"
                identities.add((s["stack_index"], tuple(s["attribute_indices"])))
                keys = [d["attribute_table"][a]["key_strindex"] for a in s["attribute_indices"]]
                if len(set(keys)) != len(keys):
                    return "a key twice"
            if len(identities) != len(profile["samples"]):
                return "equal samples are not one"
    for name in set(sizes) - {"link_table"}:
        if set(range(1, sizes[name])) - used[name]:
            return f"{name}: not used: {sorted(set(range(1, sizes[name])) - used[name])[:3]}"
    return "" if all(good) else "an index leads nowhere"


def profiles(p):
    """{(type, unit): {(names root first): value}}, and the attributes of the samples."""
    d, out, attributes = p["dictionary"], {}, collections.Counter()
    strings = d["string_table"]
    for profile in p["resource_profiles"][0]["scope_profiles"][0]["profiles"]:
        sums = collections.Counter()
        for s in profile["samples"]:
            names = [strings[d["function_table"][line["function_index"]]["name_strindex"]]
                     for at in d["stack_table"][s["stack_index"]]["location_indices"] for line in d["location_table"][at]["lines"]]
            sums[tuple(names[::-1])] += s["values"][0]
            for a in s["attribute_indices"]:
                a = d["attribute_table"][a]
                attributes[strings[a["key_strindex"]], a["value"][a["value"]["set"]]] += 1
        out[strings[profile["sample_type"]["type_strindex"]], strings[profile["sample_type"]["unit_strindex"]]] = sums
    return out, attributes


def named(*options):
    """{names root first: weight} by jsonl, whose names are whole, too; code without a name is None."""
    out = collections.Counter()
    for line in run([RESOLVE, "-f", "jsonl", *options]).stdout.splitlines():
        s = json.loads(line)
        out[tuple(f.get("sym") for f in s["stack"][::-1])] += s["period"]
    return out


def unnamed(stacks):
    """The same of other stacks."""
    out = collections.Counter()
    for names, weight in stacks.items():
        out[tuple(None if re.fullmatch(r"\[[^ ]*\]", n) else n for n in names)] += weight
    return out


p = otlp()
tap.check(not broken(p), "the rules of profiles.proto", broken(p))
sums, attributes = profiles(p)
tap.check(list(sums) == [("cpu", "nanoseconds"), ("samples", "count")], "one type of value in each profile, the main one first", list(sums))
want = named(*BARE, "perf.data")
have_sums = unnamed(sums["cpu", "nanoseconds"])
tap.check(have_sums == want and len(want) > 3, "the stacks and sums of jsonl", have_sums - want, want - have_sums)
profile = p["resource_profiles"][0]["scope_profiles"][0]["profiles"][0]
tap.check(profile["duration_nano"] > 0 and profile["period"] > 0, "duration and period", {k: v for k, v in profile.items() if k != "samples"})
keys = {k for k, _ in attributes}
tap.check({"thread.name", "process.pid"} <= keys, "attributes of samples", keys)
facts = {a["key"]: a["value"]["string_value"] for a in p["resource_profiles"][0]["resource"]["attributes"]}
tap.check(facts.get("os.type") == "linux" and facts.get("host.arch") in ("amd64", "arm64"), "the resource", facts)
ids = {p["dictionary"]["string_table"][p["dictionary"]["attribute_table"][a]["key_strindex"]] for m in p["dictionary"]["mapping_table"] for a in m["attribute_indices"]}
tap.check(ids == {"process.executable.build_id.gnu"}, "build ids of mappings", ids)
first = open("x.otlp", "rb").read()
otlp("-j", "1")
tap.check(first == open("x.otlp", "rb").read(), "the same bytes in each run")
_, attributes = profiles(otlp("--with-tid"))
tap.check("thread.id" in {k for k, _ in attributes}, "--with-tid")

lines = []
for task, event, weight in [("1/1", "cycles", 10), ("1/1", "cycles", 10), ("2/3", "cycles", 7), ("2/3", "page-faults", 1)]:
    lines.append(f"p {task} 5.000000: {weight} {event}: \n\t401000 leaf+0x0 (/bin/p)\n\t402000 main+0x1 (/bin/p)\n\n")
with open("events.txt", "w") as f:
    f.write("".join(lines))
p = otlp(path="events.txt", bare=("-q",))
sums, attributes = profiles(p)
tap.check(not broken(p) and sums == {("cycles", "count"): {("main", "leaf"): 27}, ("page-faults", "count"): {("main", "leaf"): 1},
                                     ("cycles_sample", "count"): {("main", "leaf"): 3}, ("page-faults_sample", "count"): {("main", "leaf"): 1}},
          "several events", broken(p), sums)
tap.check(attributes["process.pid", 1] == 2 and attributes["process.pid", 2] == 4, "samples of different processes stay apart", attributes)

if not have("protoc"):
    tap.skip("protoc", "none here")
else:
    with open("p.proto", "w") as f:
        f.write('syntax = "proto3";\n' + "".join(
            f"message {m} {{\n" + ("oneof value {\n" if m == "AnyValue" else "") +
            "".join(f"  {'repeated ' * (kind[0] == '*')}{kind.lstrip('*')} {name} = {n};\n" for n, (kind, name) in fields.items()) +
            ("}\n" if m == "AnyValue" else "") + "}\n" for m, fields in FIELDS.items()))
    text = run(["sh", "-c", "protoc --decode ProfilesData p.proto < x.otlp"]).stdout
    unknown = re.findall(r"^\s*\d+[:{ ].*", text, re.M)
    tap.check(text.count("samples {") == sum(len(x["samples"]) for x in p["resource_profiles"][0]["scope_profiles"][0]["profiles"]) and not unknown,
              "protoc: every field is known", unknown[:3], text[:200])
tap.end()
