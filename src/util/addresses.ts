/** Which addresses belong to the public internet (IANA's special-purpose registries, RFC 6890). */

/** `elsewhere` is whatever is neither public nor this machine: private networks, link-local and the like. */
export type Reach = "public" | "loopback" | "elsewhere";

/** The groups that an address begins with, and how many of their bits count. */
interface Subnet {
  readonly groups: readonly number[];
  readonly bits: number;
}

const special4 = [
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
].map(toSubnet);
const loopback4 = toSubnet("127.0.0.0/8");

/** Within global unicast, what is not global: the rest of the space is not unicast at all. */
const special6 = [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  "2001::/23",
  "2001:db8::/32",
  // 6to4 leads to whatever IPv4 address stands in it.
  "2002::/16",
  "3fff::/20",
].map(toSubnet);
const unicast6 = toSubnet("2000::/3");

const mapped = toSubnet("::ffff:0:0/96");
/** Translators lead to the IPv4 address in it; 64:ff9b:1::/48 may be translated to anything. */
const nat64 = toSubnet("64:ff9b::/96");

/** @param address - as DNS or a socket gives it; what is no address is `elsewhere` */
export function reachOf(address: string): Reach {
  const groups = groupsOf(address);
  if (groups === undefined) return "elsewhere";
  return groups.length === 2 ? reachOf4(groups) : reachOf6(groups);
}

/**
 * What the host of a URL reaches where it is an address, in whatever spelling: the URL has made one
 * of them. Undefined for a name, of which only DNS can tell.
 *
 * @param hostname - as `URL` gives it, with the brackets of an IPv6 address
 */
export function reachOfHost(hostname: string): Reach | undefined {
  if (hostname.startsWith("[")) return reachOf(hostname.slice(1, -1));
  return groupsOf4(hostname) === undefined ? undefined : reachOf(hostname);
}

function reachOf4(groups: readonly number[]): Reach {
  if (isIn(groups, loopback4)) return "loopback";
  return special4.some((subnet) => isIn(groups, subnet)) ? "elsewhere" : "public";
}

function reachOf6(groups: readonly number[]): Reach {
  if (isIn(groups, mapped)) return reachOf4(groups.slice(6));
  if (isIn(groups, nat64)) return reachOf4(groups.slice(6)) === "public" ? "public" : "elsewhere";
  if (groups.every((group, at) => group === (at === 7 ? 1 : 0))) return "loopback";
  const isGlobal = isIn(groups, unicast6) && !special6.some((subnet) => isIn(groups, subnet));
  return isGlobal ? "public" : "elsewhere";
}

function toSubnet(text: string): Subnet {
  const [net = "", bits = ""] = text.split("/");
  return { groups: groupsOf(net) ?? [], bits: Number(bits) };
}

function isIn(address: readonly number[], { groups, bits }: Subnet): boolean {
  return groups.every((group, at) => {
    const counted = Math.min(16, Math.max(0, bits - 16 * at));
    return (group ^ (address[at] ?? 0)) >> (16 - counted) === 0;
  });
}

/** Groups of 16 bits: two of an IPv4 address, eight of an IPv6 address. A zone makes it no address. */
function groupsOf(address: string): readonly number[] | undefined {
  return groupsOf4(address) ?? groupsOf6(address);
}

function groupsOf4(address: string): readonly number[] | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})(?:\.|$)){4}$/.test(address) || address.endsWith(".")) {
    return undefined;
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = address.split(".").map(Number);
  if (Math.max(first, second, third, fourth) > 255) return undefined;
  return [first * 256 + second, third * 256 + fourth];
}

function groupsOf6(address: string): readonly number[] | undefined {
  const url = `http://[${address}]`;
  if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(url)) return undefined;
  // URLs write the dotted end in hexadecimal, and everything in its shortest form.
  const [head = "", tail] = new URL(url).hostname.slice(1, -1).split("::");
  const before = read(head);
  const after = tail === undefined ? [] : read(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function read(part: string): number[] {
  return part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
}
