import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseUriTemplate, type TemplateValue } from "../../src/core/uri-template.ts";

type Match = Readonly<Record<string, TemplateValue>> | undefined;

const match = (source: string, uri: string): Match => parseUriTemplate(source).match(uri);

type Row = readonly [template: string, uri: string, values: Match];

describe("parseUriTemplate", () => {
  it("gives the source and the names in order, each once", () => {
    const template = parseUriTemplate("x://{b}/{a:3}{?b,c*}{&a}");
    expect(template.source).toBe("x://{b}/{a:3}{?b,c*}{&a}");
    expect(template.variables).toEqual(["b", "a", "c"]);
  });

  it("accepts every name of the RFC and templates without variables", () => {
    expect(parseUriTemplate("{a.b_1.%20c}").variables).toEqual(["a.b_1.%20c"]);
    expect(parseUriTemplate("").variables).toEqual([]);
  });

  test.each([
    ["x://{id", 4, 'add a "}"'],
    ["x://id}", 6, '"%7D"'],
    ["x://{}", 5, "variable name"],
    ["x://{?}", 6, "variable name"],
    ["{a,}", 3, "variable name"],
    ["{a,,b}", 3, "variable name"],
    ["{a{b}}", 2, '","'],
    ["{a b}", 2, '","'],
    ["{a..b}", 2, '","'],
    ["{.a.}", 3, '","'],
    ["{a-b}", 2, '","'],
    ["{é}", 1, "variable name"],
    ["{%zz}", 1, "variable name"],
    ["{=a}", 1, "is reserved; use one of + # . / ; ? &"],
    ["{|a}", 1, "is reserved"],
    ["{!a}", 1, "is reserved"],
    ["{@a}", 1, "is reserved"],
    ["{a:0}", 2, "1 to 9999"],
    ["{a:10000}", 2, "1 to 9999"],
    ["{a:}", 2, "1 to 9999"],
    ["{a*:1}", 2, 'one "*"'],
    ["{a**}", 2, 'one "*"'],
    ["a b", 1, '"%20"'],
    ['a"', 1, '"%22"'],
    ["100%", 3, '"%25"'],
    ["a\ud800", 1, "surrogate"],
  ])("refuses %j", (source, index, advice) => {
    expect(() => parseUriTemplate(source)).toThrow(TypeError);
    expect(() => parseUriTemplate(source)).toThrow(`URI template "${source}" at index ${index}: `);
    expect(() => parseUriTemplate(source)).toThrow(advice);
  });

  it("allows 64 variables and no more", () => {
    const names = Array.from({ length: 65 }, (_, index) => `v${index}`);
    for (const operator of ["", "+", "#", ".", "/", ";", "?", "&"]) {
      const most = `{${operator}${names.slice(0, 64).join(",")}}`;
      expect(parseUriTemplate(most).variables).toHaveLength(64);
      expect(() => parseUriTemplate(`{${operator}${names.join(",")}}`)).toThrow("at most 64");
    }
  });

  it("refuses a template that would need too many states to match", () => {
    expect(() => parseUriTemplate("{?x*}".repeat(40))).toThrow("256 is the limit");
  });
});

describe("match", () => {
  const simple: readonly Row[] = [
    ["note://{id}", "note://7", { id: "7" }],
    ["note://{id}", "note://", { id: "" }],
    ["note://{id}", "nota://7", undefined],
    ["note://{id}", "note://a/b", undefined],
    ["note://{id}", "note://a?b", undefined],
    ["note://{id}", "note://a#b", undefined],
    ["note://{id}", "note://a b", undefined],
    ["note://{id}", "note://a:b@c,d;e=f!'()*+$&", { id: "a:b@c,d;e=f!'()*+$&" }],
    ["note://{id}", "note://é😀", { id: "é😀" }],
    ["note://{id}/x", "note://7/x", { id: "7" }],
    ["note://{id}/x", "note://7/y", undefined],
    ["note://x/{id}/x", "note://x/x", undefined],
    ["note://a", "note://a", {}],
    ["note://a", "note://ab", undefined],
    ["", "", {}],
    ["{a}-{b}", "x-y-z", { a: "x-y", b: "z" }],
    ["{a,b}", "1,2", { a: "1", b: "2" }],
    ["{a,b}", "1", { a: "1" }],
    ["{a,b}", "1,2,3", undefined],
    ["{a:1,b}", "123,4", undefined],
    ["{a:1,b}", "123", { b: "123" }],
    ["{a:2}{b}", "xyz", { a: "xy", b: "z" }],
    ["{a*}", "1,2,3", { a: ["1", "2", "3"] }],
    ["{a*}", "", {}],
    ["{a}{;b}", "1;b=2", { a: "1", b: "2" }],
    ["{a}{;b}", "1;c=2", { a: "1;c=2" }],
    ["{a}{;b}{&b}", "1;b=2&b=3", undefined],
    ["{a}{b,c}", "1,2", { a: "1", b: "", c: "2" }],
  ];
  const decoding: readonly Row[] = [
    ["doc://{id}", "doc://a%20b", { id: "a b" }],
    ["doc://{id}", "doc://a%2Fb", { id: "a/b" }],
    ["doc://{id}", "doc://a%252Fb", { id: "a%2Fb" }],
    ["doc://{id}", "doc://%E2%82%ac%F0%9F%98%80", { id: "€😀" }],
    ["doc://{id}", "doc://%ZZ", undefined],
    ["doc://{id}", "doc://a%2", undefined],
    ["doc://{id}", "doc://%", undefined],
    ["doc://{id}", "doc://%+1", undefined],
    ["doc://{id}", "doc://%FF", undefined],
    ["doc://{id}", "doc://%C0%AF", undefined],
    ["doc://{id}", "doc://%E0%80%AF", undefined],
    ["doc://{id}", "doc://%ED%A0%80", undefined],
    ["doc://{id}", "doc://%F4%90%80%80", undefined],
    ["doc://{id}", "doc://%E2%82", undefined],
    ["doc://{id}", "doc://\ud800", undefined],
    ["doc://{+id}", "doc://%FF", undefined],
    ["doc://{id}0", "doc://a%20", undefined],
    ["é/{id}", "é/1", { id: "1" }],
    ["é/{id}", "%c3%A9/1", { id: "1" }],
    ["%2f%ff{id}", "%2F%FF1", { id: "1" }],
    ["%2f{id}", "/1", undefined],
  ];
  const operators: readonly Row[] = [
    ["file://{+path}", "file:///a/b?c#d[]", { path: "/a/b?c#d[]" }],
    ["file://{+path}/end", "file://a/end/end", { path: "a/end" }],
    ["f:{+path}{?rev}", "f:/a/b?rev=1", { path: "/a/b", rev: "1" }],
    ["f:{+path}{?rev}", "f:/a?b", { path: "/a?b" }],
    ["f:{+path}{?rev}", "f:/a%2Fb?rev=c/d", { path: "/a/b", rev: "c/d" }],
    ["{+a}{b}", "x%2Fy", { a: "x", b: "/y" }],
    ["f:{+path}{#at}", "f:/a#b", { path: "/a", at: "b" }],
    ["x{#frag}", "x#a/b?c#d", { frag: "a/b?c#d" }],
    ["x{#frag}", "x#", { frag: "" }],
    ["x{#frag}", "x", {}],
    ["x{#a,b}", "x#1,2,3", { a: "1", b: "2,3" }],
    ["f{.ext}", "f.tar.gz", { ext: "tar.gz" }],
    ["f{.ext}", "f", {}],
    ["f{.ext*}", "f.tar.gz", { ext: ["tar", "gz"] }],
    ["f{.a,b}", "f.tar.gz.sig", { a: "tar", b: "gz.sig" }],
    ["/users{/id}", "/users/", { id: "" }],
    ["/users{/id}", "/users", {}],
    ["/users{/id}", "/users/1/2", undefined],
    ["/users{/a,b}", "/users/1/2", { a: "1", b: "2" }],
    ["/users{/id*}", "/users/1/2%2F3", { id: ["1", "2/3"] }],
    ["/users{/id*}", "/users/", { id: [""] }],
    ["/users{/id*}/x", "/users/1/x", { id: ["1"] }],
    ["x{;a,b}", "x;a=1;b", { a: "1", b: "" }],
    ["x{;a*}", "x;a=1;a=2", { a: ["1", "2"] }],
    ["x{;a*}", "x;k=1;l", { a: { k: "1", l: "" } }],
  ];
  const query: readonly Row[] = [
    ["x{?a,b}", "x?a=1&b=2", { a: "1", b: "2" }],
    ["x{?a,b}", "x?b=2&a=1", { a: "1", b: "2" }],
    ["x{?a,b}", "x?b=2", { b: "2" }],
    ["x{?a,b}", "x", {}],
    ["x{?a,b}", "x?a=1&a=1", undefined],
    ["x{?a}", "x?a=1&a=1", undefined],
    ["x{?a,b}", "x?a=1&c=2", undefined],
    ["x{?a,b}", "x?a=1&", undefined],
    ["x{?a,ab}", "x?ab=1&a=2", { a: "2", ab: "1" }],
    ["x{?a}", "x?a=", { a: "" }],
    ["x{?a}", "x?a", { a: "" }],
    ["x{?a}", "x?a=b=c,d/e?f", { a: "b=c,d/e?f" }],
    ["x{?a}", "x?a=b+c", { a: "b+c" }],
    ["x{?a}", "x?a=b%26c", { a: "b&c" }],
    ["x?f=1{&a,b}", "x?f=1&b=2", { b: "2" }],
    ["x{?a}{&b}", "x?a=1&b=2", { a: "1", b: "2" }],
    ["x{?tags*}", "x?tags=a&tags=b", { tags: ["a", "b"] }],
    ["x{?tags*}", "x?tags=a", { tags: ["a"] }],
    ["x{?tags*}", "x?k=1&l=2", { tags: { k: "1", l: "2" } }],
    ["x{?tags*}", "x?k=1&k=2", undefined],
    ["x{?tags*}", "x?k", undefined],
    ["x{?tags*}", "x?tags=1&k=2", { tags: { tags: "1", k: "2" } }],
    ["x{?a,tags*}", "x?tags=1&a=0&tags=2", { a: "0", tags: ["1", "2"] }],
    ["x{?a,tags*}", "x?k=1&a=0", { a: "0", tags: { k: "1" } }],
    ["x{?tags*}{&b}", "x?tags=1&tags=2&b=3", { tags: ["1", "2"], b: "3" }],
    ["x{?tags*}{&b}", "x?k=1&b=3", { tags: { k: "1" }, b: "3" }],
  ];
  const repeated: readonly Row[] = [
    ["{a}/{a}", "1/1", { a: "1" }],
    ["{a}/{a}", "1/2", undefined],
    ["{a}/{a}", "%41/A", { a: "A" }],
    ["{a:1}/{a}", "c/cat", { a: "cat" }],
    ["{a}/{a:1}", "cat/c", { a: "cat" }],
    ["{a:1}/{a}", "d/cat", undefined],
    ["{a:1}/{a:2}", "c/ca", { a: "ca" }],
    ["x{/a*}{?a*}", "x/1/2?a=1&a=2", { a: ["1", "2"] }],
    ["x{/a*}{?a*}", "x/1/2?a=2&a=1", undefined],
    ["{a}{/a*}", "1,2/1/2", { a: ["1", "2"] }],
  ];
  describe.each(Object.entries({ simple, decoding, operators, query, repeated }))(
    "%s",
    (_, rows) => {
      test.each(rows)("%s of %j", (template, uri, values) => {
        expect(match(template, uri)).toEqual(values);
      });
    },
  );

  it("takes any name for a variable and any key in a record", () => {
    const values = match("x://{constructor}{?__proto__*}", "x://a?__proto__=1&toString=2") ?? {};
    expect(Object.getPrototypeOf(values)).toBeNull();
    expect(Object.keys(values)).toEqual(["constructor", "__proto__"]);
    const record = Object.getOwnPropertyDescriptor(values, "__proto__")?.value;
    expect(Object.getPrototypeOf(record)).toBeNull();
    expect(Object.entries(record)).toEqual([
      ["__proto__", "1"],
      ["toString", "2"],
    ]);
    expect(Object.getPrototypeOf(match("{toString}", "a"))).toBeNull();
  });

  it("looks at 8192 characters and no more", () => {
    for (const source of ["{id}", "{id:9999}"]) {
      expect(match(source, "a".repeat(8192))).toEqual({ id: "a".repeat(8192) });
      expect(match(source, "a".repeat(8193))).toBeUndefined();
    }
  });
});

describe("properties", () => {
  const text = fc.string({ unit: "binary", maxLength: 12 });
  const ascii = fc.string({ maxLength: 12 });

  test.each([
    "x://{a}/{b}?{c}",
    "x://{a,b,c}",
    "x{/a,b,c}",
    "x{;a,b,c}",
    "x{?a,b,c}",
    "x{?a}{&b,c}",
    "x://{a}{/b}{#c:9999}",
    "x://{a}/{b}{?c}{&a}",
  ])("expand then match of %s gives the values back", (source) => {
    const template = parseUriTemplate(source);
    fc.assert(
      // Escapes in a value are kept by "#", so there they would be decoded on the way back.
      fc.property(
        fc.record({ a: text, b: text, c: text.filter((c) => !c.includes("%")) }),
        (values) => {
          expect({ ...template.match(template.expand(values)) }).toEqual(values);
        },
      ),
    );
  });

  test.each([
    "x{/a*}{?b*}",
    "x{.b}{;a*}{#c}",
    "x{?a*}{&b,c}",
    "x:{+c}",
    "{a,b,c}",
    "{a}-{b}.{c}",
    "{#b,c}",
    "{.a*}{+b}",
    "x{?b,a*,c}",
    "{b:2}{/c:3}",
    "{b}{;c}",
    "{b}{+c}{?a*}",
    "{+b,c}{;a*}",
    "{b}{&a*}{c}",
  ])("match then expand of %s gives the expanded uri back", (source) => {
    const template = parseUriTemplate(source);
    const optional = fc.option(
      text.filter((c) => !c.includes("%")),
      { nil: undefined },
    );
    const values = fc.record({ a: fc.array(text, { maxLength: 4 }), b: optional, c: optional });
    fc.assert(
      fc.property(values, ({ a, b, c }) => {
        // Only exploded lists come back as lists.
        const list = source.includes("a*") ? a.map((item) => item.replaceAll("%", "")) : a.join("");
        const uri = template.expand({ a: list, b, c });
        expect(template.expand(template.match(uri) ?? {})).toBe(uri);
      }),
    );
  });

  it("gives records back", () => {
    const template = parseUriTemplate("x{?fields*}");
    fc.assert(
      fc.property(fc.dictionary(text, text, { minKeys: 1 }), (fields) => {
        fc.pre(!Object.hasOwn(fields, "fields"));
        const { fields: found } = template.match(template.expand({ fields })) ?? {};
        expect(Object.entries(found ?? {})).toEqual(Object.entries(fields));
      }),
    );
  });

  it("never throws for any uri", () => {
    const templates = ["{a}", "{+a}x", "x{/a*}{?b*}", "{a}{b:2}{#c}", "{;a,b*}", "%ff{a}"];
    const pieces = fc.constantFrom(
      "%",
      "a",
      "x",
      "=",
      "&",
      "?",
      "/",
      ";",
      "%C3",
      "%A9",
      "é",
      "#",
      ",",
    );
    const anything = fc.oneof(
      text,
      fc.string({ unit: fc.integer({ max: 0xffff, min: 0 }).map((c) => String.fromCharCode(c)) }),
      fc.array(pieces).map((all) => all.join("")),
    );
    for (const template of templates.map(parseUriTemplate)) {
      fc.assert(fc.property(anything, (uri) => void template.match(uri)));
    }
  });

  it("matches one variable between literals as the general way does", () => {
    // A prefix longer than any uri changes nothing but the way the template is matched.
    for (const [fast, general] of [
      ["a:{id}", "a:{id:9999}"],
      ["{id}", "{id:9999}"],
      ["{+id}", "{+id:9999}"],
      ["a:{+id}/0", "a:{+id:9999}/0"],
      ["a:{id}0", "a:{id:9999}0"],
      ["é{id}", "é{id:9999}"],
    ] as const) {
      const [one, other] = [parseUriTemplate(fast), parseUriTemplate(general)];
      const middle = fc.oneof(ascii, text, fc.constantFrom("%2", "%20", "/0", "é", "%C3%A9"));
      fc.assert(
        fc.property(
          fc.constantFrom("a:", "", "é"),
          middle,
          fc.constantFrom("", "0", "/0"),
          (a, b, c) => {
            expect(one.match(a + b + c)).toEqual(other.match(a + b + c));
          },
        ),
      );
    }
  });
});

/** Each of these takes a backtracking matcher longer than the test may run. */
describe("hostile uris", () => {
  it("R099: exploded expressions match in linear time", () => {
    const path = parseUriTemplate("/users{/id*}");
    const items = "a,".repeat(40);
    expect(path.match(`/users/${items}/`)).toEqual({ id: [items, ""] });
    expect(path.match(`/users/${items}?`)).toBeUndefined();
    expect(path.match(`/users${"/a".repeat(4000)}?`)).toBeUndefined();
    const tags = parseUriTemplate("x{?tags*}");
    expect(tags.match(`x?tags=${items}/`)).toEqual({ tags: [`${items}/`] });
    expect(tags.match(`x?tags=${items}#`)).toBeUndefined();
    expect(tags.match(`x?${"tags=a&".repeat(1000)}#`)).toBeUndefined();
    expect(tags.match(`x${"?tags&k=".repeat(1000)}`)).toBeUndefined();
    const lists = parseUriTemplate("x{/a*}{/b*}{/c*}{/d*}{+e*}{+f*}");
    expect(lists.match(`x${"/a,".repeat(2000)} `)).toBeUndefined();
  });

  it("R100: several variables in a row match in linear time", () => {
    const template = parseUriTemplate("x://{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}");
    for (const count of [80, 8000]) {
      const dashes = "-".repeat(count);
      expect(template.match(`x://${dashes}/`)).toBeUndefined();
      expect(template.match(`x://${dashes}`)).toMatchObject({ a: "-".repeat(count - 7), h: "" });
    }
    const adjacent = parseUriTemplate(`x://${"{a}".repeat(8)}${"{+b:50}".repeat(8)}`);
    expect(adjacent.match(`x://${"a".repeat(8000)} `)).toBeUndefined();
  });
});
