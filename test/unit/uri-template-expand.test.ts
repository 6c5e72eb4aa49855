import { describe, expect, it, test } from "vitest";
import { parseUriTemplate, type TemplateValue } from "../../src/core/uri-template.ts";

/** The values that RFC 6570 gives at the head of section 3.2, and those of its introduction. */
const VALUES: Readonly<Record<string, TemplateValue | undefined>> = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: {},
  undef: undefined,
  username: "fred",
  term: "cat",
  q: "cat",
  lang: "en",
  query: "mycelium",
  number: "100",
  address: { city: "Newport Beach", state: "CA" },
  year: ["1965", "2000", "2012"],
};

const EXAMPLES: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "1.1, 2.4.2: introductory examples": [
    ["http://www.example.com/~{username}/", "http://www.example.com/~fred/"],
    [
      "http://www.example.com/dictionary/{term:1}/{term}",
      "http://www.example.com/dictionary/c/cat",
    ],
    ["http://www.example.com/search{?q,lang}", "http://www.example.com/search?q=cat&lang=en"],
    [
      "http://www.example.com/foo{?query,number}",
      "http://www.example.com/foo?query=mycelium&number=100",
    ],
    ["/mapper{?address*}", "/mapper?city=Newport%20Beach&state=CA"],
    ["find{?year*}", "find?year=1965&year=2000&year=2012"],
  ],
  "1.2: levels 1 to 3": [
    ["{var}", "value"],
    ["{hello}", "Hello%20World%21"],
    ["{+var}", "value"],
    ["{+hello}", "Hello%20World!"],
    ["{+path}/here", "/foo/bar/here"],
    ["here?ref={+path}", "here?ref=/foo/bar"],
    ["X{#var}", "X#value"],
    ["X{#hello}", "X#Hello%20World!"],
    ["map?{x,y}", "map?1024,768"],
    ["{x,hello,y}", "1024,Hello%20World%21,768"],
    ["{+x,hello,y}", "1024,Hello%20World!,768"],
    ["{+path,x}/here", "/foo/bar,1024/here"],
    ["{#x,hello,y}", "#1024,Hello%20World!,768"],
    ["{#path,x}/here", "#/foo/bar,1024/here"],
    ["X{.var}", "X.value"],
    ["X{.x,y}", "X.1024.768"],
    ["{/var}", "/value"],
    ["{/var,x}/here", "/value/1024/here"],
    ["{;x,y}", ";x=1024;y=768"],
    ["{;x,y,empty}", ";x=1024;y=768;empty"],
    ["{?x,y}", "?x=1024&y=768"],
    ["{?x,y,empty}", "?x=1024&y=768&empty="],
    ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
    ["{&x,y,empty}", "&x=1024&y=768&empty="],
  ],
  "3.2.1: variable expansion": [
    ["{count}", "one,two,three"],
    ["{count*}", "one,two,three"],
    ["{/count}", "/one,two,three"],
    ["{/count*}", "/one/two/three"],
    ["{;count}", ";count=one,two,three"],
    ["{;count*}", ";count=one;count=two;count=three"],
    ["{?count}", "?count=one,two,three"],
    ["{?count*}", "?count=one&count=two&count=three"],
    ["{&count*}", "&count=one&count=two&count=three"],
  ],
  "3.2.2: simple": [
    ["{half}", "50%25"],
    ["O{empty}X", "OX"],
    ["O{undef}X", "OX"],
    ["?{x,empty}", "?1024,"],
    ["?{x,undef}", "?1024"],
    ["?{undef,y}", "?768"],
    ["{var:3}", "val"],
    ["{var:30}", "value"],
    ["{list}", "red,green,blue"],
    ["{list*}", "red,green,blue"],
    ["{keys}", "semi,%3B,dot,.,comma,%2C"],
    ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
  ],
  "3.2.3: reserved": [
    ["{+half}", "50%25"],
    ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
    ["{+base}index", "http://example.com/home/index"],
    ["O{+empty}X", "OX"],
    ["O{+undef}X", "OX"],
    ["up{+path}{var}/here", "up/foo/barvalue/here"],
    ["{+path:6}/here", "/foo/b/here"],
    ["{+list}", "red,green,blue"],
    ["{+list*}", "red,green,blue"],
    ["{+keys}", "semi,;,dot,.,comma,,"],
    ["{+keys*}", "semi=;,dot=.,comma=,"],
  ],
  "3.2.4: fragment": [
    ["{#half}", "#50%25"],
    ["foo{#empty}", "foo#"],
    ["foo{#undef}", "foo"],
    ["{#path:6}/here", "#/foo/b/here"],
    ["{#list}", "#red,green,blue"],
    ["{#list*}", "#red,green,blue"],
    ["{#keys}", "#semi,;,dot,.,comma,,"],
    ["{#keys*}", "#semi=;,dot=.,comma=,"],
  ],
  "3.2.5: label": [
    ["{.who}", ".fred"],
    ["{.who,who}", ".fred.fred"],
    ["{.half,who}", ".50%25.fred"],
    ["www{.dom*}", "www.example.com"],
    ["X{.empty}", "X."],
    ["X{.undef}", "X"],
    ["X{.var:3}", "X.val"],
    ["X{.list}", "X.red,green,blue"],
    ["X{.list*}", "X.red.green.blue"],
    ["X{.keys}", "X.semi,%3B,dot,.,comma,%2C"],
    ["X{.keys*}", "X.semi=%3B.dot=..comma=%2C"],
    ["X{.empty_keys}", "X"],
    ["X{.empty_keys*}", "X"],
  ],
  "3.2.6: path segment": [
    ["{/who}", "/fred"],
    ["{/who,who}", "/fred/fred"],
    ["{/half,who}", "/50%25/fred"],
    ["{/who,dub}", "/fred/me%2Ftoo"],
    ["{/var,empty}", "/value/"],
    ["{/var,undef}", "/value"],
    ["{/var:1,var}", "/v/value"],
    ["{/list}", "/red,green,blue"],
    ["{/list*}", "/red/green/blue"],
    ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
    ["{/keys}", "/semi,%3B,dot,.,comma,%2C"],
    ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
  ],
  "3.2.7: path-style parameters": [
    ["{;who}", ";who=fred"],
    ["{;half}", ";half=50%25"],
    ["{;empty}", ";empty"],
    ["{;v,empty,who}", ";v=6;empty;who=fred"],
    ["{;v,bar,who}", ";v=6;who=fred"],
    ["{;x,y,undef}", ";x=1024;y=768"],
    ["{;hello:5}", ";hello=Hello"],
    ["{;list}", ";list=red,green,blue"],
    ["{;list*}", ";list=red;list=green;list=blue"],
    ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
    ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
  ],
  "3.2.8: query": [
    ["{?who}", "?who=fred"],
    ["{?half}", "?half=50%25"],
    ["{?x,y,undef}", "?x=1024&y=768"],
    ["{?var:3}", "?var=val"],
    ["{?list}", "?list=red,green,blue"],
    ["{?list*}", "?list=red&list=green&list=blue"],
    ["{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"],
    ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
  ],
  "3.2.9: query continuation": [
    ["{&who}", "&who=fred"],
    ["{&half}", "&half=50%25"],
    ["{&x,y,undef}", "&x=1024&y=768"],
    ["{&var:3}", "&var=val"],
    ["{&list}", "&list=red,green,blue"],
    ["{&list*}", "&list=red&list=green&list=blue"],
    ["{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"],
    ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"],
  ],
};

describe("expands the examples of RFC 6570", () => {
  for (const [section, rows] of Object.entries(EXAMPLES)) {
    test.each(rows)(`section ${section}: %s`, (template, expansion) => {
      expect(parseUriTemplate(template).expand(VALUES)).toBe(expansion);
    });
  }
});

/** Each ambiguous reading has to stand for the same URI. */
const TEXT_ONLY = Object.fromEntries(
  Object.entries(VALUES).filter(([, value]) => typeof value === "string"),
);

describe("matches the examples of RFC 6570 that hold strings", () => {
  const rows = Object.values(EXAMPLES).flat();
  test.each(rows.map(([template]) => template))("%s", (source) => {
    const template = parseUriTemplate(source);
    const uri = template.expand(TEXT_ONLY);
    const values = template.match(uri);
    expect(values).toBeDefined();
    expect(template.expand(values ?? {})).toBe(uri);
  });
});

describe("expand", () => {
  const expand = (source: string, values: Record<string, TemplateValue | undefined>): string =>
    parseUriTemplate(source).expand(values);

  it("counts a prefix in code points and never splits one", () => {
    expect(expand("{x:2}", { x: "😀éa" })).toBe("%F0%9F%98%80%C3%A9");
    expect(expand("{?x:1}", { x: "😀é" })).toBe("?x=%F0%9F%98%80");
  });

  it("counts an escape that is kept as the character it stands for", () => {
    expect(expand("{+x:2}", { x: "a%20b" })).toBe("a%20");
    expect(expand("{+x:2}", { x: "%E2%82%ACab" })).toBe("%E2%82%ACa");
    expect(expand("{+x:2}", { x: "😀éa" })).toBe("%F0%9F%98%80%C3%A9");
  });

  it("keeps whole escapes only where reserved characters are kept", () => {
    expect(expand("{+x}{#x}", { x: "%2f%zz%" })).toBe("%2f%25zz%25#%2f%25zz%25");
    expect(expand("{x}", { x: "%2f" })).toBe("%252f");
  });

  it("encodes every character that is not unreserved", () => {
    expect(expand("{x}", { x: "-._~!'()*é" })).toBe("-._~%21%27%28%29%2A%C3%A9");
  });

  it("encodes literals beyond ASCII and leaves escapes in them", () => {
    expect(expand("é/%c3{x}", { x: "1" })).toBe("%C3%A9/%c31");
  });

  it("replaces half a surrogate pair", () => {
    expect(expand("{x}{+x}", { x: "\ud800" })).toBe("%EF%BF%BD%EF%BF%BD");
  });

  it("leaves out empty lists and keeps empty members", () => {
    expect(expand("a{?x,y*}", { x: [], y: {} })).toBe("a");
    expect(expand("a{/x*}{;y*}{?z*}", { x: ["", ""], y: [""], z: { k: "" } })).toBe("a//;y?k=");
  });

  it("reads own properties only", () => {
    expect(expand("{constructor}{?toString,__proto__}", {})).toBe("");
  });

  it("refuses a prefix of a list or record", () => {
    expect(() => expand("{x:1}", { x: ["a"] })).toThrow(TypeError);
    expect(() => expand("{?x:1}", { x: { a: "b" } })).toThrow('"x:1" takes a string');
  });
});
