/** Which addresses belong to the public internet (IANA's special-purpose registries, RFC 6890). */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** `elsewhere` is whatever is neither public nor this machine: private networks, link-local and the like. */
export type Reach = "public" | "loopback" | "elsewhere";

const special4 = subnets("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Public by number, but the wire server of every machine at one large host.
  "168.63.129.16/32",
]);
const loopback4 = subnets("ipv4", ["127.0.0.0/8"]);

/** Within global unicast, what is not global: the rest of the space is not unicast at all. */
const special6 = subnets("ipv6", [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  "2001::/23",
  "2001:db8::/32",
  // 6to4 leads to whatever IPv4 address stands in it.
  "2002::/16",
  "3fff::/20",
]);
const unicast6 = subnets("ipv6", ["2000::/3"]);

const mappedPrefix = "0:0:0:0:0:ffff";
/** Translators lead to the IPv4 address in it; 64:ff9b:1::/48 may be translated to anything. */
const nat64Prefix = "64:ff9b:0:0:0:0";

/** @param address - as DNS or a socket gives it; what is no address is `elsewhere` */
export function reachOf(address: string): Reach {
  if (isIPv4(address)) {
    if (loopback4.check(address, "ipv4")) return "loopback";
    return special4.check(address, "ipv4") ? "elsewhere" : "public";
  }
  // A zone is of this machine's own networks.
  if (!isIPv6(address) || address.includes("%")) return "elsewhere";
  const groups = groupsOf(address);
  const prefix = groups.slice(0, 6).map(hex).join(":");
  if (prefix === mappedPrefix || prefix === nat64Prefix) {
    const reach = reachOf(embedded(groups));
    return reach === "loopback" && prefix === nat64Prefix ? "elsewhere" : reach;
  }
  if (groups.every((group, at) => group === (at === 7 ? 1 : 0))) return "loopback";
  const isGlobal = unicast6.check(address, "ipv6") && !special6.check(address, "ipv6");
  return isGlobal ? "public" : "elsewhere";
}

function subnets(family: "ipv4" | "ipv6", list: readonly string[]): BlockList {
  const found = new BlockList();
  for (const subnet of list) {
    const [net = "", bits = ""] = subnet.split("/");
    found.addSubnet(net, Number(bits), family);
  }
  return found;
}

/** The eight groups of an IPv6 address, however it is written. */
function groupsOf(address: string): number[] {
  // URLs write the dotted end in hexadecimal, and everything in its shortest form.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const before = read(head);
  const after = tail === undefined ? [] : read(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function read(part: string): number[] {
  return part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
}

const hex = (group: number): string => group.toString(16);

/** The IPv4 address in the last two groups. */
function embedded([, , , , , , high = 0, low = 0]: readonly number[]): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
