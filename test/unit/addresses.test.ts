/** Which addresses are public, which are this machine, and which are neither. */
import { BlockList, isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { reachOf, reachOfHost } from "../../src/util/addresses.ts";

const isPublic = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  ...["126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255"],
  ...["172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"],
  ...["203.0.112.255", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::200e"],
  ...["2001:4860:4860::8888", "::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8"],
  ...["64:ff9b::808:808", "2003::1", "3ffe::1"],
];
const isLoopback = ["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"];
const isElsewhere = [
  ...["0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255"],
  ...["100.100.100.200", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1"],
  ...["172.31.255.255", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1"],
  ...["192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9"],
  ...["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ...["::", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:a00:1"],
  ...["::ffff:169.254.169.254", "::ffff:0:8.8.8.8", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1"],
  ...["64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "64:ff9b:1:ffff::1", "100::1", "2001::1"],
  ...["2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1"],
  ...["2001:db8::1", "2002:808:808::1", "2002:7f00:1::1", "2002:a00:1::", "3fff::1", "5f00::1"],
  ...["4000::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1"],
  ...["fec0::1", "ff02::1", "ff0e::1", "localhost", "8.8.8", "0x7f000001", "2130706433", ""],
];

test.each([
  ...isPublic.map((address) => [address, "public"] as const),
  ...isLoopback.map((address) => [address, "loopback"] as const),
  ...isElsewhere.map((address) => [address, "elsewhere"] as const),
])("the address %j is %s", (address, reach) => {
  expect(reachOf(address)).toBe(reach);
});

test.each([
  ["https://127.1/", "loopback"],
  ["https://2130706433/", "loopback"],
  ["https://0x7f.0.0.1/", "loopback"],
  ["https://0177.0.0.1./", "loopback"],
  ["https://[::1]/", "loopback"],
  ["https://[::ffff:7f00:1]/", "loopback"],
  ["https://0/", "elsewhere"],
  ["https://[::]/", "elsewhere"],
  ["https://192.168.1.1./", "elsewhere"],
  ["https://[64:ff9b::a9fe:a9fe]/", "elsewhere"],
  ["https://8.8.8.8/", "public"],
  ["https://[2606:4700::1111]/", "public"],
  ["https://localhost/", undefined],
  ["https://1.2.3.4.example.com/", undefined],
  ["https://a.b/", undefined],
])("the host of %s reaches what is %s", (url, reach) => {
  expect(reachOfHost(new URL(url).hostname)).toBe(reach);
});

test("subnets hold what the platform's own lists hold", () => {
  const special = [
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
    ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"],
    ...["198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32"],
  ];
  const list = new BlockList();
  for (const range of special) {
    const [net = "", bits = ""] = range.split("/");
    list.addSubnet(net, Number(bits), "ipv4");
  }
  const near = [0, 10, 100, 127, 169, 172, 192, 198, 203, 224].map((first) => fc.constant(first));
  const byte = fc.integer({ min: 0, max: 255 });
  const address = fc.tuple(fc.oneof(byte, ...near), byte, byte, byte).map((all) => all.join("."));
  fc.assert(
    fc.property(address, (each) => {
      expect(reachOf(each) === "public").toBe(!list.check(each, "ipv4"));
      expect(reachOf(`::ffff:${each}`)).toBe(reachOf(each));
    }),
  );
});

test("nothing is taken for public that the platform takes for no address", () => {
  const text = fc.string({ unit: fc.constantFrom(..."0123456789abcf:.%x"), maxLength: 20 });
  fc.assert(
    fc.property(fc.oneof(text, fc.ipV4(), fc.ipV4Extended(), fc.ipV6()), (each) => {
      if (isIPv4(each) || isIPv6(each)) return;
      expect(reachOf(each)).toBe("elsewhere");
    }),
    { numRuns: 1_000 },
  );
});
